"""Parts of blocks that a merge kept in two versions and named: rows, sentences, lines, items.

A merge names them as it names facts, by ids in its message; they are found in the files that its
commit changed, under their names of today. A pair is open while both are there, and no later commit
says that they do not contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import product

from mdmem.errors import PathProblem
from mdmem.folder import files
from mdmem.merge import atoms_in
from mdmem.model import FactId, FilePath
from mdmem.model.trail import Mark, MarkKind
from mdmem.repo.first_parent import changed_files
from mdmem.startup.records import dataclass
from mdmem.text.contradictions import marks_of_pairs
from mdmem.text.document import Document, parse_bytes
from mdmem.trail import Trail
from mdmem.workspace import Workspace


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


def open_pairs(workspace: Workspace, trail: Trail) -> Iterator[PartPair]:
    """The pairs of parts that contradict each other."""
    return (pair for pair in part_pairs(workspace, trail) if not pair.is_resolved)


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
    """The memory files, each read once and only where a mark asks for it."""

    def __init__(self, workspace: Workspace, trail: Trail) -> None:
        self._workspace, self._trail = workspace, trail
        self._listed = workspace.memory_files()
        self._parts: dict[FilePath, list[NamedPart]] = {}

    def changed_by(self, mark: Mark) -> list[FilePath]:
        """The files that the commit of a mark changed, under their names of today."""
        touched = sorted(self._trail.touched_by(((mark.begun, mark.begun),)))
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
        """All that a merge may name in a file."""
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
