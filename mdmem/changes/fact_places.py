"""Places of forgotten or removed facts, log copies and similar lines; forgetting in every file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from mdmem.editors.fact_difference import fact_difference
from mdmem.model import FactId, FileKind, FilePath
from mdmem.model.writes import Forget, WriteResult
from mdmem.queries import lookup
from mdmem.queries.lookup import FactLocation
from mdmem.startup.records import replace
from mdmem.text.addresses import join_path
from mdmem.text.document import Document
from mdmem.workspace import Workspace

_MOST_FACTS, _MOST_NAMED, _QUOTED = 20, 3, 60


def forgotten_places(
    workspace: Workspace,
    edit: Forget,
    path: FilePath,
    before: Document | None,
    after: Document,
    facts: Sequence[FactId],
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """The PATH:LINEs of a forgotten line and its log copies, and of lines that still state it.

    With notes on the latter.
    """
    assert before is not None  # it contains the fact
    if not facts:
        return (), (), []
    fact = facts[0]
    is_log = workspace.kind_of(path) is FileKind.DAILY
    logs = lookup.log_copies(workspace, fact)
    own = (
        logs[:1]
        if is_log
        else [FactLocation(path, before, item) for item in fact_difference(before, after).removed]
    )
    if is_log and edit.is_of_copy:
        own = [each for each in logs if each.path == path][:1]
    elsewhere = [
        each for each in lookup.locate_fact(workspace, fact, lookup.EDITABLE) if each.path != path
    ]
    elsewhere += [] if is_log else lookup.locate_in(path, after, fact)
    copies = [each for each in logs if all(each is not one for one in own)]
    kept = copies if edit.is_of_copy else []
    forgotten = own if edit.is_of_copy else [*own, *copies]
    notes = [f"the fact is still in {_listed(map(_named_place, elsewhere))}"] if elsewhere else []
    notes += [_unchanged_note(kept)] if kept else []
    return (
        tuple(map(_place, forgotten)),
        tuple(map(_named_place, [*elsewhere, *kept])),
        notes,
    )


def still_logged(workspace: Workspace, facts: Sequence[FactId]) -> list[str]:
    """Notes on the log entries that still state some facts, one a fact."""
    copies = (lookup.log_copies(workspace, fact) for fact in facts[:_MOST_FACTS])
    return [
        _unchanged_note(logs, f' "{" ".join(logs[0].item.fact.text.split())[:_QUOTED]}"')
        for logs in islice(filter(None, copies), _MOST_NAMED)
    ]


def _unchanged_note(logs: Sequence[FactLocation], name: str = "") -> str:
    entry = f"entry{name} is" if len(logs) == 1 else f"entries{name} are"
    return f"the log {entry} unchanged and still current: {_listed(map(_place, logs))}"


def _listed(places: Iterable[str]) -> str:
    first, rest = (every := list(places))[:_MOST_NAMED], len(every) - _MOST_NAMED
    return "; ".join([*first, f"{rest} more"] if rest > 0 else first)


def every_line(workspace: Workspace, edit: Forget) -> list[Forget]:
    """Edits that forget a fact in every editable file; the edit itself where none has it.

    Raises: WorkspaceProblem (`not-allowed`: an agent asks).
    """
    workspace.require_person(workspace.given_actor(edit.options.actor), "forget every line at once")
    lines = [
        each
        for each in lookup.locations_to_forget(workspace, edit, lookup.EDITABLE)
        if edit.file in (None, each.path)
    ]
    sections = ((each, each.document.path_at(each.item.start)) for each in lines)
    every = [
        replace(edit, fact=each.item.fact.id, file=each.path, section=join_path(at) if at else None)
        for each, at in sections
    ]
    return every or [edit]


def joined_answer(results: Sequence[WriteResult]) -> WriteResult:
    """Join the answers of one change's edits."""
    forgotten = tuple(dict.fromkeys(place for each in results for place in each.forgotten))
    return replace(
        results[-1],
        forgotten=forgotten,
        removed=tuple(fact for each in results for fact in each.removed),
    )


def _place(location: FactLocation) -> str:
    return f"{location.path}:{location.item.start + 1}"


def _named_place(location: FactLocation) -> str:
    section = location.document.path_at(location.item.start)
    return f"{_place(location)}, {section[-1]}" if section else _place(location)
