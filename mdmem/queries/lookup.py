"""Find the fact that a user means by its id, a prefix of that or a text: in the files as they are, or in all that the trail has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mdmem import files
from mdmem.addresses import join_path
from mdmem.document import Document, parse_bytes
from mdmem.editors import facts as fact_editor
from mdmem.entries import entries
from mdmem.errors import FactProblem, PathProblem, SectionProblem, TextProblem
from mdmem.facts import Item, holds_key, normalise, parse_item, parse_text, write_item
from mdmem.model import FactId, FileKind, FilePath
from mdmem.model.trail import Mark
from mdmem.model.writes import Forget
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.wording import field, verb
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem import fact_names
    from mdmem.catchup import entry_states, trail_update
    from mdmem.trail import Trail
else:
    fact_names = late.module("mdmem.fact_names")
    entry_states = late.module("mdmem.catchup.entry_states")
    trail_update = late.module("mdmem.catchup.trail_update")


EDITABLE = (FileKind.EVERGREEN, FileKind.PROFILE, FileKind.BOOTSTRAP)
_MOST_NAMED = 8
_MOST_SIMILAR = 3
_QUOTED = 80


@dataclass(frozen=True, slots=True)
class FactLocation:
    """The location of a fact: its file, the document in that, and the list item."""

    path: FilePath
    document: Document
    item: Item


# In the files.


def locate_fact(workspace: Workspace, reference: str, kinds: tuple[FileKind, ...]) -> list[FactLocation]:
    """Every location of a fact in files of these kinds."""
    locations = []
    for path, full_path in _memory_paths(workspace).items():
        if workspace.kind_of(path) not in kinds:
            continue
        try:
            document = parse_bytes(read_file(workspace, path, full_path) or b"")
        except PathProblem:
            continue
        locations += [FactLocation(path, document, item) for item in fact_editor.items_named(document, reference)]
    return locations


def read_file(workspace: Workspace, path: FilePath, full_path: Path) -> bytes | None:
    """The bytes of a file, on disk or in the commit that is planned on; None where there is none."""
    return files.read(full_path) if workspace.contents is None else workspace.contents.read(path)


def _memory_paths(workspace: Workspace) -> dict[FilePath, Path]:
    """The memory files, each with its path on disk."""
    if workspace.contents is not None:
        return {path: workspace.root / path for path in workspace.contents.paths()}
    return {path: listed.full_path for path, listed in workspace.memory_files().items()}


def require_one_location(
    workspace: Workspace, locations: Sequence[FactLocation], reference: str, hint: str = f"Name {field('file')} or {field('section')}."
) -> FactLocation:
    """The only one of some locations; `hint` says how to choose among several.

    Raises:
        FactProblem: `fact-not-found`, `fact-ambiguous`.
    """
    if not locations:
        raise _not_found(workspace, reference)
    if len(locations) > 1:
        views = [
            {"path": each.path, "line": each.item.start + 1, "id": each.item.fact.id, "text": each.item.fact.text} for each in locations
        ]
        named = "; ".join(f"{view['path']}:{view['line']}" for view in views[:_MOST_NAMED])
        message = f"{reference[:_QUOTED]!r} stands in {len(locations)} places"
        raise FactProblem("fact-ambiguous", message, f"They are {named}. {hint}", facts=views)
    return locations[0]


def _not_found(workspace: Workspace, reference: str) -> FactProblem:
    """The problem of a reference that names no fact here, with what became of the fact, or facts with the same words."""
    with trail_update.fresh_trail(workspace) as trail:
        fact = fact_by_text(trail, reference) or fact_by_id(trail, reference)
        if fact is None:
            hint = _holder_hint(trail, reference) or similar_facts_hint(trail, reference) or f"{verb('facts')} lists them with their ids."
            return FactProblem("fact-not-found", f"there is no fact {reference[:_QUOTED]!r}", hint)
        current = [each.entry for each in trail.occurrences_of(fact) if each.ended is None and not trail.marks_of(each.number)]
    if current:
        named = "; ".join(f"{entry.path}: {join_path(entry.section)}" for entry in current[:_MOST_NAMED])
        return FactProblem("fact-not-found", f"there is no fact {reference[:_QUOTED]!r} here", f"It stands in {named}.")
    return FactProblem(
        "fact-not-found", f"{reference[:_QUOTED]!r} does not hold any more", f"{verb('history')} {fact} tells what became of it."
    )


def _holder_hint(trail: Trail, key: str) -> str:
    """A sentence that names the current facts with a key, for a key in the place of a fact; empty where it is none."""
    current = (each.entry for each in trail.occurrences_with_key(key) if each.ended is None and not trail.marks_of(each.number))
    texts = {entry.fact: entry.text for entry in current if _holds(entry.text, key)}
    named = "; ".join(f"{fact} {' '.join(text.split())[:_QUOTED]}" for fact, text in list(texts.items())[:_MOST_NAMED])
    return f"It is a key. Name its fact, by the id or the whole text: {named}" if named else ""


def file_of_fact(workspace: Workspace, change: Forget) -> FilePath:
    """The file from which a fact is to be forgotten; a day's log where no other file has it.

    Raises:
        FactProblem: `fact-not-found`, `fact-ambiguous`.
    """
    locations = _locations_to_forget(workspace, change, EDITABLE)
    locations = locations or current_locations(workspace, _locations_to_forget(workspace, change, (FileKind.DAILY,)))
    return require_one_location(workspace, locations, change.fact).path


def _locations_to_forget(workspace: Workspace, change: Forget, kinds: tuple[FileKind, ...]) -> list[FactLocation]:
    locations = locate_fact(workspace, change.fact, kinds)
    if change.section is None:
        return locations
    return [each for each in locations if each.item in _items_in_section(each.document, change.fact, change.section)]


def _items_in_section(document: Document, fact: str, address: str) -> tuple[Item, ...]:
    try:
        return fact_editor.items_named(document, fact, address)
    except SectionProblem:
        return ()


def marks_at(workspace: Workspace, locations: Sequence[FactLocation]) -> list[Mark | None]:
    """The mark in force at each location, superseded or retracted."""
    marks: dict[tuple[FilePath, int], Mark | None] = {}
    facts = {location.item.fact.id for location in locations}
    with trail_update.fresh_trail(workspace) as trail:
        for path, document in {location.path: location.document for location in locations}.items():
            if not any(mark.fact in facts for mark in trail.marks(path)):
                continue
            in_file = entries(document, path)
            states, _ = entry_states.match_entries(trail, path, in_file)
            marks |= {(path, entry.start_line): state.mark for entry, state in zip(in_file, states, strict=True)}
    return [marks.get((location.path, location.item.start + 1)) for location in locations]


def current_locations(workspace: Workspace, locations: Sequence[FactLocation]) -> list[FactLocation]:
    """The locations of facts that no mark has superseded or retracted there."""
    return [location for location, mark in zip(locations, marks_at(workspace, locations), strict=True) if mark is None]


# In the trail.


def fact_by_text(trail: Trail, text: str) -> FactId | None:
    """The fact that a text states, with or without its marker, kind, tags and expiry; None where memory never held it."""
    text = text.strip()
    readings = [parse_text(text).id, parse_item(text).id, *_as_written(text)]
    return next((fact for fact in readings if trail.occurrences_of(fact)), None)


def _as_written(text: str) -> list[FactId]:
    """The fact that a text would become if it was remembered or logged."""
    try:
        return [parse_item(write_item(text)).id]
    except TextProblem:
        return []


def fact_by_id(trail: Trail, reference: str) -> FactId | None:
    """The fact with this id, or with an id that begins so; None where memory never held one.

    Raises:
        FactProblem: `fact-ambiguous` where several ids begin so.
    """
    prefix = fact_names.id_prefix(reference)
    ids = trail.ids_with_prefix(prefix) if prefix else ()
    fact_names.require_unique_id(prefix, ids)
    return ids[0] if ids else None


def fact_by_key(trail: Trail, key: str, path: FilePath | None = None) -> FactId | None:
    """The current fact that holds a key (in a file), else the last one that did; None where there never was one.

    Raises:
        FactProblem: `ambiguous`: several current facts hold it.
    """
    if "\n" in key or not key.strip():
        return None
    candidates = [each for each in trail.occurrences_with_key(key) if path in (None, each.entry.path) and _holds(each.entry.text, key)]
    current = {each.entry.fact: each.entry for each in candidates if each.ended is None and not trail.marks_of(each.number)}
    if len(current) > 1:
        views = [{"path": each.path, "section": join_path(each.section), "id": each.fact, "text": each.text} for each in current.values()]
        named = "; ".join(f"{view['id']} {' '.join(str(view['text']).split())[:_QUOTED]}" for view in views[:_MOST_NAMED])
        raise FactProblem("ambiguous", f"{len(current)} current facts have the key {key[:_QUOTED]!r}", f"They are: {named}.", facts=views)
    return next(iter(current), candidates[-1].entry.fact if candidates else None)


def _holds(text: str, key: str) -> bool:
    return holds_key(parse_text(text), key)


def similar_facts_hint(trail: Trail, words: str, path: FilePath | None = None) -> str:
    """A sentence that names facts (of one file) with these words, live ones first; empty where there are none."""
    folded = normalise(words)
    matches = [
        each for each in trail.fact_occurrences() if folded and folded in normalise(each.entry.text) and path in (None, each.entry.path)
    ]
    texts = {each.entry.fact: each.entry.text for each in sorted(matches, key=lambda each: each.ended is not None)}
    named = [f"{fact} {' '.join(text.split())[:_QUOTED]}" for fact, text in list(texts.items())[:_MOST_SIMILAR]]
    return f"Facts with these words: {'; '.join(named)}" if named else ""
