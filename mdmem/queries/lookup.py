"""Which fact is meant by an id, a prefix of one or a text, among those that stand in the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mdmem import files
from mdmem.addresses import join_path
from mdmem.document import Document, parse_bytes
from mdmem.editors import facts as fact_editor
from mdmem.editors.facts import SectionFactId
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


FactLocation = tuple[FilePath, Document, Item]
EDITABLE = (FileKind.EVERGREEN, FileKind.PROFILE, FileKind.BOOTSTRAP)


def locate_fact(workspace: Workspace, name: str, kinds: tuple[FileKind, ...]) -> list[FactLocation]:
    """Every place in files of these kinds where the named fact stands."""
    found = []
    for path, listed in workspace.memory_files().items():
        if workspace.kind_of(path) not in kinds:
            continue
        try:
            document = parse_bytes(files.read(listed.full_path) or b"")
        except PathProblem:
            continue
        found += [(path, document, item) for item in fact_editor.items_named(document, name)]
    return found


def require_one_location(
    workspace: Workspace, found: list[FactLocation], name: str, choice: str = "Name --file or --section."
) -> FactLocation:
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
    with trail_update.fresh_trail(workspace) as known:
        fact = recorded.fact_by_text(known, name) or recorded.fact_by_id(known, name)
        if fact is None:
            hint = recorded.similar_facts_hint(known, name) or "mdmem facts lists them with their ids."
            return FactProblem("fact-not-found", f"there is no fact {name[:80]!r}", hint)
        holding = [one.entry for one in known.occurrences_of(fact) if one.ended is None and not known.marks_of(one.number)]
    if holding:
        places = "; ".join(f"{entry.path}: {join_path(entry.section)}" for entry in holding[:8])
        return FactProblem("fact-not-found", f"there is no fact {name[:80]!r} here", f"It stands in {places}.")
    return FactProblem("fact-not-found", f"{name[:80]!r} does not hold any more", f"mdmem history {fact} tells what became of it.")


def file_of_fact(workspace: Workspace, change: Forget) -> FilePath:
    """The file that the named fact is to be taken out of; a day's log where no other file has it.

    Raises:
        FactProblem: `fact-not-found`, `fact-ambiguous`.
    """
    found = _meant(workspace, change, EDITABLE) or current_locations(workspace, _meant(workspace, change, (FileKind.DAILY,)))
    return require_one_location(workspace, found, change.fact)[0]


def _meant(workspace: Workspace, change: Forget, kinds: tuple[FileKind, ...]) -> list[FactLocation]:
    """Where the fact to be forgotten stands in files of these kinds; in its section, where one is named."""
    found = locate_fact(workspace, change.fact, kinds)
    if change.section is None:
        return found
    return [one for one in found if one[2] in _in_section(one[1], change.fact, change.section)]


def _in_section(document: Document, fact: str, address: str) -> tuple[Item, ...]:
    try:
        return fact_editor.items_named(document, fact, address)
    except SectionProblem:
        return ()


def marks_at(workspace: Workspace, found: list[FactLocation]) -> list[Mark | None]:
    """What a commit says of each of these facts, besides what stands there: superseded, or retracted."""
    marks: dict[tuple[FilePath, int], Mark | None] = {}
    meant = {item.fact.id for _, _, item in found}
    with trail_update.fresh_trail(workspace) as known:
        for path, document in {path: document for path, document, _ in found}.items():
            if not any(mark.one in meant for mark in known.marks(path)):
                continue
            listed = entries(document, path)
            joined, _ = entry_states.match_entries(known, path, listed)
            marks |= {(path, entry.start_line): one.mark for entry, one in zip(listed, joined, strict=True)}
    return [marks.get((path, item.start + 1)) for path, _, item in found]


def current_locations(workspace: Workspace, found: list[FactLocation]) -> list[FactLocation]:
    """Those of these facts that nothing has superseded or retracted."""
    return [place for place, mark in zip(found, marks_at(workspace, found), strict=True) if mark is None]


def superseded_facts(workspace: Workspace, path: FilePath, document: Document, some: Sequence[Item]) -> frozenset[SectionFactId]:
    """What is stated by these facts of a file, as far as nothing in its section states it that has not been superseded or retracted."""
    places = [(path, document, item) for item in some]
    said, holding = (
        {(document.path_at(item.start), item.fact.id) for _, _, item in found} for found in (places, current_locations(workspace, places))
    )
    return frozenset(said - holding)
