"""Current facts, and parts of blocks, that contradict each other.

A merge that keeps a row, sentence, line or item in two versions names both as it names facts, by
ids in its message. They are found in the files that its commit changed, under their names of today.
A pair is open while both are there, and no later commit says that they no longer contradict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from itertools import product

from mdmem.folder import files
from mdmem.folder.layout import ListedFile
from mdmem.index.catching_up import fresh_index
from mdmem.merge import atoms_in
from mdmem.model import FactId, FilePath, SectionPath, Status
from mdmem.model.errors import PathProblem
from mdmem.model.searches import ConflictList, ConflictView, Hit, ListFacts
from mdmem.model.trail import Mark, MarkKind
from mdmem.past.notes import parse_message
from mdmem.past.table import Trail
from mdmem.queries.past import look_back
from mdmem.queries.search import facts_in
from mdmem.repo.first_parent import changed_files
from mdmem.startup.records import dataclass
from mdmem.text.contradictions import marks_of_pairs
from mdmem.text.document import Document, parse_bytes
from mdmem.text.facts import find_held_key, normalise
from mdmem.workspace import Progress, Say, Workspace

_HitLocation = tuple[str, SectionPath]


def conflicts(workspace: Workspace, say: Say, progress: Progress | None = None) -> ConflictList:
    """Current facts that contradict each other, each pair once in a section, in file order.

    Many facts with one key are paired with the next only (`contradictions`): n - 1 pairs. Parts of
    blocks that a merge kept in two versions follow.
    """
    index = fresh_index(workspace, say, progress)
    listed = facts_in(workspace, index, ListFacts(limit=0), say, progress, contradicted=True)
    hits = sorted(listed.facts, key=lambda hit: (hit.path, hit.start_line))
    key_of = _key_reader(hits)
    by_fact: dict[FactId | None, list[Hit]] = defaultdict(list)
    by_location: dict[tuple[_HitLocation, FactId | None], list[Hit]] = defaultdict(list)
    for hit in hits:
        if hit.contradicts:
            by_fact[hit.fact].append(hit)
            by_location[_location(hit), hit.fact].append(hit)
    views: dict[Hashable, ConflictView] = {}
    for hit in hits:
        for fact in hit.contradicts:
            in_section = _first_contradicting(by_location[_location(hit), fact], hit)
            other = in_section or _first_contradicting(by_fact[fact], hit)
            if other is not None:
                pair = frozenset((hit.fact or fact, fact))
                key = key_of(hit) if in_section and key_of(hit) == key_of(other) else None
                views.setdefault(
                    (_location(hit), pair) if in_section else pair, ConflictView(hit, other, key)
                )
    with look_back(workspace, say) as past:
        parts = [
            _part_view(pair, past.time_of(pair.mark.begun))
            for pair in part_pairs(workspace, past.trail)
            if not pair.is_resolved
        ]
    return ConflictList((*views.values(), *parts), listed.stale, listed.notes, listed.building)


def _part_view(pair: PartPair, since: datetime) -> ConflictView:
    first, second = (
        Hit(
            path=part.path,
            start_line=part.line + 1,
            end_line=part.line + 1,
            section=part.document.path_at(part.line),
            kind=None,
            day=None,
            text=part.text,
            score=0.0,
            fact=part.id,
            key=None,
            tags=(),
            source=None,
            confidence=None,
            status=Status.CURRENT,
            until=None,
            commit=pair.mark.commit,
            uncommitted=False,
            contradicts=(other.id,),
            since=since,
        )
        for part, other in ((pair.first, pair.second), (pair.second, pair.first))
    )
    return ConflictView(first, second, None, is_of_parts=True)


def _first_contradicting(hits: Sequence[Hit], hit: Hit) -> Hit | None:
    return next((each for each in hits if hit.fact in each.contradicts), None)


def _key_reader(hits: Sequence[Hit]) -> Callable[[Hit], str | None]:
    """Keys as the first fact of a section writes them; some are marked only by other facts."""
    keys: dict[_HitLocation, dict[str, str]] = defaultdict(dict)
    for hit in hits:
        if hit.key is not None:
            keys[_location(hit)].setdefault(normalise(hit.key), hit.key)

    def key_of(hit: Hit) -> str | None:
        in_section = keys[_location(hit)]
        key = normalise(hit.key) if hit.key is not None else find_held_key(hit.text, in_section)
        return None if key is None else in_section[key]

    return key_of


def _location(hit: Hit) -> _HitLocation:
    return hit.path, hit.section


# Parts of blocks.


@dataclass(frozen=True, slots=True)
class NamedPart:
    """A part of a block; `line` counts from 0."""

    id: FactId
    text: str
    path: FilePath
    document: Document
    line: int


@dataclass(frozen=True, slots=True)
class PartPair:
    """Two parts of blocks, at least one of them no fact, in the order of the file; the mark."""

    first: NamedPart
    second: NamedPart
    mark: Mark
    is_resolved: bool


def part_pairs(workspace: Workspace, trail: Trail) -> Iterator[PartPair]:
    """The pairs of parts that a merge named, also those that were resolved since."""
    read = _Files(workspace, trail)
    for marks in marks_of_pairs(trail.pair_marks()).values():
        stated = [mark for mark in marks if mark.kind is MarkKind.CONTRADICTS]
        ids = (marks[0].fact, marks[0].other)
        if not stated or all(_is_current_fact(trail, each) for each in ids):
            continue
        paths = dict.fromkeys(path for mark in stated for path in read.changed_by(mark))
        parts = [part for path in paths for part in read.parts(path)]
        found = [[part for part in parts if part.id == each] for each in ids]
        nearest = min(product(*found), key=lambda pair: _distance(*pair), default=None)
        if nearest is not None:
            first, second = sorted(nearest, key=lambda part: (part.path, part.line))
            yield PartPair(first, second, stated[0], marks[-1].kind is MarkKind.RESOLVED)


def _is_current_fact(trail: Trail, fact: FactId | None) -> bool:
    return fact is not None and any(each.ended is None for each in trail.occurrences_of(fact))


def _distance(first: NamedPart, second: NamedPart) -> tuple[bool, int]:
    return first.path != second.path, abs(first.line - second.line)


class _Files:
    def __init__(self, workspace: Workspace, trail: Trail) -> None:
        self._workspace, self._trail = workspace, trail
        self._parts: dict[FilePath, list[NamedPart]] = {}

    @cached_property
    def _listed(self) -> dict[FilePath, ListedFile]:
        return self._workspace.memory_files()

    def changed_by(self, mark: Mark) -> list[FilePath]:
        """The files that the commit of a mark changed, under their names of today."""
        touched = sorted(self._trail.touched_by(((mark.begun, mark.begun),)))
        if not touched and (commit := self._trail.commit_numbered(mark.begun)):
            touched = list(filter(None, [parse_message(commit.message).path]))
        gone = [path for path in touched if path not in self._listed]
        repository = self._workspace.repository
        head = repository.head() if gone else None
        names = (
            {each.before_path: each.path for each in changed_files(repository, mark.commit, head)}
            if head
            else {}
        )
        now = (names.get(path) if path in gone else path for path in touched)
        return [path for path in now if path in self._listed]

    def parts(self, path: FilePath) -> list[NamedPart]:
        if path not in self._parts:
            self._parts[path] = list(self._read(path))
        return self._parts[path]

    def _read(self, path: FilePath) -> Iterator[NamedPart]:
        with suppress(PathProblem):  # `check` names a file that cannot be read
            document = parse_bytes(files.read(self._listed[path].full_path) or b"")
            for atom in atoms_in(document):
                yield NamedPart(
                    id=atom.id, text=atom.text, path=path, document=document, line=atom.line
                )
