"""Places of forgotten or removed facts, log copies and similar lines; forgetting in every file."""

from __future__ import annotations

from collections.abc import Sequence

from mdmem.editors.fact_difference import fact_difference
from mdmem.model import FactId, FileKind, FilePath
from mdmem.model.writes import Forget, WriteResult
from mdmem.queries import lookup
from mdmem.queries.lookup import FactLocation
from mdmem.startup.records import replace
from mdmem.text.addresses import join_path
from mdmem.text.document import Document
from mdmem.workspace import Workspace

_MOST_FACTS, _MOST_NAMED = 20, 3


def forgotten_places(
    workspace: Workspace,
    edit: Forget,
    path: FilePath,
    before: Document | None,
    after: Document,
    facts: Sequence[FactId],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The PATH:LINEs of a forgotten line and its log copies, and of other lines like it."""
    assert before is not None  # it contains the fact
    if not facts:
        return (), ()
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
    if edit.is_of_copy:
        elsewhere, copies = [*elsewhere, *copies], []
    return tuple(map(_place, (*own, *copies))), tuple(map(_named_place, elsewhere))


def still_logged(workspace: Workspace, facts: Sequence[FactId]) -> list[str]:
    """The places of log entries that still state some facts."""
    places = [
        _place(each) for fact in facts[:_MOST_FACTS] for each in lookup.log_copies(workspace, fact)
    ]
    return places[:_MOST_NAMED]


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
