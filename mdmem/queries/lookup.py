"""Which fact is meant by an id, a prefix of one or a text, among those that stand in the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mdmem import files
from mdmem.document import Document, join_path, load
from mdmem.editors import facts as fact_editor
from mdmem.editors.facts import Statement
from mdmem.entries import entries
from mdmem.errors import FactProblem, PathProblem, SectionProblem
from mdmem.facts import Item
from mdmem.model import FileKind, FilePath
from mdmem.model.trail import Mark
from mdmem.model.writes import Forget
from mdmem.startup import late
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem.catchup import entry_states, trail_update
    from mdmem.queries import recorded
else:
    recorded = late.module("mdmem.queries.recorded")
    entry_states = late.module("mdmem.catchup.entry_states")
    trail_update = late.module("mdmem.catchup.trail_update")


Place = tuple[FilePath, Document, Item]
EDITABLE = (FileKind.EVERGREEN, FileKind.PROFILE, FileKind.BOOTSTRAP)


def occurrences(workspace: Workspace, name: str, kinds: tuple[FileKind, ...]) -> list[Place]:
    """Every place in files of these kinds where the named fact stands."""
    found = []
    for path, listed in workspace.memory_files().items():
        if workspace.kind_of(path) not in kinds:
            continue
        try:
            document = load(files.read(listed.place) or b"")
        except PathProblem:
            continue
        found += [(path, document, item) for item in fact_editor.named(document, name)]
    return found


def one_place(workspace: Workspace, found: list[Place], name: str, choice: str = "Name --file or --section.") -> Place:
    """The only one of them; where there are several, `choice` says how one is chosen.

    Raises:
        FactProblem: `fact-not-found`, `fact-ambiguous`.
    """
    if not found:
        raise _missing(workspace, name)
    if len(found) > 1:
        places = [{"path": path, "line": item.start + 1, "id": item.fact.id, "text": item.fact.text} for path, _, item in found]
        listed = "; ".join(f"{place['path']}:{place['line']}" for place in places[:8])
        raise FactProblem("fact-ambiguous", f"{name[:80]!r} stands in {len(found)} places", f"They are {listed}. {choice}", facts=places)
    return found[0]


def _missing(workspace: Workspace, name: str) -> FactProblem:
    """That no fact of that name can be meant: what became of it, or what is said in other words."""
    with trail_update.fresh(workspace) as known:
        fact = recorded.by_text(known, name) or recorded.by_id(known, name)
        if fact is None:
            hint = recorded.like(known, name) or "mdmem facts lists them with their ids."
            return FactProblem("fact-not-found", f"there is no fact {name[:80]!r}", hint)
        holding = [one.entry for one in known.having(fact) if one.ended is None and not known.marks_of(one.number)]
    if holding:
        places = "; ".join(f"{entry.path}: {join_path(entry.section)}" for entry in holding[:8])
        return FactProblem("fact-not-found", f"there is no fact {name[:80]!r} here", f"It stands in {places}.")
    return FactProblem("fact-not-found", f"{name[:80]!r} does not hold any more", f"mdmem history {fact} tells what became of it.")


def file_of_fact(workspace: Workspace, change: Forget) -> FilePath:
    """The file that the named fact is to be taken out of; a day's log where no other file has it.

    Raises:
        FactProblem: `fact-not-found`, `fact-ambiguous`.
    """
    found = _meant(workspace, change, EDITABLE) or current(workspace, _meant(workspace, change, (FileKind.DAILY,)))
    return one_place(workspace, found, change.fact)[0]


def _meant(workspace: Workspace, change: Forget, kinds: tuple[FileKind, ...]) -> list[Place]:
    """Where the fact to be forgotten stands in files of these kinds; in its section, where one is named."""
    found = occurrences(workspace, change.fact, kinds)
    if change.section is None:
        return found
    return [one for one in found if one[2] in _in_section(one[1], change.fact, change.section)]


def _in_section(document: Document, fact: str, address: str) -> tuple[Item, ...]:
    try:
        return fact_editor.named(document, fact, address)
    except SectionProblem:
        return ()


def marks_on(workspace: Workspace, found: list[Place]) -> list[Mark | None]:
    """What a commit says of each of these facts, besides what stands there: superseded, or retracted."""
    marks: dict[tuple[FilePath, int], Mark | None] = {}
    meant = {item.fact.id for _, _, item in found}
    with trail_update.fresh(workspace) as known:
        for path, document in {path: document for path, document, _ in found}.items():
            if not any(mark.one in meant for mark in known.marks(path)):
                continue
            listed = entries(document, path)
            joined, _ = entry_states.join(known, path, listed)
            marks |= {(path, entry.start_line): one.mark for entry, one in zip(listed, joined, strict=True)}
    return [marks.get((path, item.start + 1)) for path, _, item in found]


def current(workspace: Workspace, found: list[Place]) -> list[Place]:
    """Those of these facts that nothing has superseded or retracted."""
    return [place for place, mark in zip(found, marks_on(workspace, found), strict=True) if mark is None]


def over(workspace: Workspace, path: FilePath, document: Document, some: Sequence[Item]) -> frozenset[Statement]:
    """What is stated by these facts of a file, as far as nothing in its section states it that has not been superseded or retracted."""
    places = [(path, document, item) for item in some]
    said, holding = (
        {(document.path_at(item.start), item.fact.id) for _, _, item in found} for found in (places, current(workspace, places))
    )
    return frozenset(said - holding)
