"""What the table of versions tells: the chain of a fact, who brought which line, what differs word by word, when a text stood. Pure."""

from __future__ import annotations

import difflib
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from enum import StrEnum
from io import StringIO
from typing import Protocol

from mdmem.document import is_blank, split_lines
from mdmem.history.messages import common_ends
from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source, Status
from mdmem.model.trail import Fate, MainlineCommit, Mark, MarkKind, Occurrence, Revision
from mdmem.startup.records import dataclass

_CONTEXT_LINES = 3
_NO_LINE_END = "\n\\ No newline at end of file\n"
"""How a patch says it of the line before."""
_WORD = re.compile(r"(?s)[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]|\w+|\s+|.")
"""A word, white space, or one sign; scripts without spaces (Thai to Khmer, Japanese, Chinese) go sign by sign."""
_ALIKE = 0.5
"""Two lines of which less than this is the same are shown whole, one out and one in: mixed word by word they could not be read."""
_MOST_WORDS = 2_000
"""A longer line is shown whole: to compare its words takes the square of their number."""
_MOST_PAIRS = 400
"""Where more lines stand in the place of others, they are not compared each with each."""


# The chain of a fact.


class FactTrail(Protocol):
    """What the table of versions says of facts."""

    def occurrences_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """Every occurrence of a fact, oldest first."""
        ...

    def predecessors_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """The occurrences whose place a fact took, by ending them or by a mark."""
        ...

    def marks_of(self, number: int) -> tuple[Mark, ...]:
        """The marks in force on one occurrence."""
        ...

    def commit_numbered(self, number: int) -> MainlineCommit | None:
        """The landmark with this number."""
        ...


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A fact for as long as it held in one place, moves included, and as it stood last: in `section` of `path`, brought there by `commit`.

    `end` is None for what holds still. What has expired is not judged here: it is current.
    """

    id: FactId
    text: str
    start: MainlineCommit
    end: MainlineCommit | None
    source: Source
    confidence: float
    commit: CommitId
    path: FilePath
    section: SectionPath
    status: Status
    until: date | None = None


@dataclass(frozen=True, slots=True)
class _OccurrenceRun:
    """Occurrences of which each is the one before it, moved."""

    occurrences: tuple[Occurrence, ...]
    ended: int | None
    status: Status
    successor: FactId | None

    @property
    def key(self) -> tuple[int, int]:
        """Its place among all: the landmark and the row with which it began."""
        return self.occurrences[0].begun, self.occurrences[0].number

    @property
    def place(self) -> tuple[FilePath, SectionPath]:
        """Where it stood last."""
        return _place(self.occurrences[-1])


def fact_chain(fact: FactId, known: FactTrail, among: Collection[int] | None = None) -> tuple[ChainLink, ...]:
    """What a fact replaced and what replaced it, and so on in both directions, oldest first.

    Args:
        fact: every time and place it held is a link of the chain, and so is what hangs on it.
        known: the table.
        among: the rows of the occurrences that are meant, where not all of them are.
    """
    trail = _ChainBuilder(known)
    waiting = [one for one in trail.stretches(fact) if among is None or any(each.number in among for each in one.occurrences)]
    found: dict[tuple[int, int], _OccurrenceRun] = {}
    while waiting:
        one = waiting.pop()
        if one.key not in found:
            found[one.key] = one
            waiting += [*trail.successors(one), *trail.predecessors(one)]
    return tuple(trail.link(found[key]) for key in sorted(found))


class _ChainBuilder:
    def __init__(self, known: FactTrail) -> None:
        self._known = known
        self._stretches: dict[FactId, list[_OccurrenceRun]] = {}

    def stretches(self, fact: FactId) -> list[_OccurrenceRun]:
        """Each time that a fact held somewhere, oldest first."""
        if fact not in self._stretches:
            self._stretches[fact] = [self._stretch(each) for each in _joined(self._known.occurrences_of(fact))]
        return self._stretches[fact]

    def _stretch(self, occurrences: Sequence[Occurrence]) -> _OccurrenceRun:
        last = occurrences[-1]
        marks = [mark for each in occurrences for mark in self._known.marks_of(each.number)]
        over = min((m for m in marks if m.kind in (MarkKind.SUPERSEDED, MarkKind.RETRACTED)), key=lambda mark: mark.begun, default=None)
        if over is not None:
            status = Status.SUPERSEDED if over.kind is MarkKind.SUPERSEDED else Status.REMOVED
            return _OccurrenceRun(tuple(occurrences), over.begun, status, over.other)
        if last.ended is None:
            return _OccurrenceRun(tuple(occurrences), None, Status.CURRENT, None)
        status = Status.SUPERSEDED if last.fate is Fate.SUPERSEDED else Status.REMOVED
        return _OccurrenceRun(tuple(occurrences), last.ended, status, last.successor)

    def successors(self, one: _OccurrenceRun) -> list[_OccurrenceRun]:
        """What took its place: of the times that the successor held the one that it held then, in the same section before others."""
        if one.successor is None or one.ended is None:
            return []
        at, others = one.ended, [other for other in self.stretches(one.successor) if other.key != one.key]
        then = [other for other in others if other.key[0] <= at and (other.ended is None or other.ended > at)]
        if then:
            return [max(then, key=lambda other: (other.place == one.place, other.place[0] == one.place[0], other.key))]
        return [other for other in others if other.key[0] > at][:1] or others[-1:]

    def predecessors(self, one: _OccurrenceRun) -> list[_OccurrenceRun]:
        """What it took the place of."""
        facts = {each.entry.fact for each in self._known.predecessors_of(one.occurrences[0].entry.fact or FactId(""))}
        before = [other for fact in facts if fact is not None for other in self.stretches(fact)]
        return [other for other in before if any(heir.key == one.key for heir in self.successors(other))]

    def link(self, one: _OccurrenceRun) -> ChainLink:
        """What is told of it: since when it holds, and how, where and by whom it was said last."""
        first, last = one.occurrences[0], one.occurrences[-1]
        entry, origin = last.entry, last.origin
        return ChainLink(
            entry.fact or FactId(""),
            entry.text,
            self._landmark(first.begun),
            self._landmark(one.ended) if one.ended is not None else None,
            origin.source,
            origin.confidence,
            origin.commit,
            entry.path,
            entry.section,
            one.status,
            entry.until,
        )

    def _landmark(self, number: int) -> MainlineCommit:
        found = self._known.commit_numbered(number)
        assert found is not None  # whatever begins or ends does so with a landmark of the table
        return found


def _place(one: Occurrence) -> tuple[FilePath, SectionPath]:
    return one.entry.path, one.entry.section


def _joined(occurrences: Iterable[Occurrence]) -> list[list[Occurrence]]:
    """Occurrences of one fact, oldest first, each put behind the one that moved to become it."""
    stretches: list[list[Occurrence]] = []
    for one in occurrences:
        moved = [each for each in stretches if each[-1].fate is Fate.MOVED and each[-1].ended == one.begun]
        same = [each for each in moved if _place(each[-1]) == _place(one)] or [
            each for each in moved if each[-1].entry.path == one.entry.path or each[-1].entry.section == one.entry.section
        ]
        if moved:
            (same or moved)[0].append(one)
        else:
            stretches.append([one])
    return stretches


# Line by line.


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """One line of a section, its number there from 1, without its line end. `landmark` brought it in; None: it is not committed."""

    line: int
    text: str
    landmark: int | None


def blame_lines(revisions: Iterable[Revision], text: str | None = None) -> tuple[LineOrigin, ...]:
    """Which landmark brought in each line of a section; a line that only changes its place within it stays what it is.

    Args:
        revisions: of one section, in any order.
        text: the section as it is on disk, where that may be another than its newest revision. Blank lines at its end are left out.
    """
    found: list[tuple[str, int | None]] = []
    for revision in sorted(revisions, key=lambda one: (one.begun, one.number)):
        found = _inherited(found, revision.text, revision.begun)
    if text is not None:
        found = _inherited(found, text, None)
    while found and is_blank(found[-1][0]):
        found.pop()
    return tuple(LineOrigin(number, line, landmark) for number, (line, landmark) in enumerate(found, 1))


def _inherited(before: Sequence[tuple[str, int | None]], text: str, landmark: int | None) -> list[tuple[str, int | None]]:
    """The lines of a text: those that were there before with the landmark that they had, the others with this one."""
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    start, end = common_ends([line for line, _ in before], lines)
    known: dict[str, deque[int | None]] = {}
    for line, number in before[start : len(before) - end]:
        known.setdefault(line, deque()).append(number)
    middle = [(line, known[line].popleft() if known.get(line) else landmark) for line in lines[start : len(lines) - end]]
    return [*before[:start], *middle, *before[len(before) - end :]]


def line_difference(before: str, after: str) -> str:
    """What differs between two texts as the hunks of a unified diff, without file names; empty where nothing does.

    It is a patch for `git apply`: lines end at `\\n` only, and keep a `\\r` before it.
    """
    old, new = (StringIO(text).readlines() for text in (before, after))
    hunks = difflib.unified_diff(old, new, n=_CONTEXT_LINES)
    return "".join(line if line.endswith("\n") else f"{line}{_NO_LINE_END}" for number, line in enumerate(hunks) if number > 1)


# Word by word.


class DiffKind(StrEnum):
    """What became of a stretch of text."""

    KEPT = "kept"
    OUT = "out"
    IN = "in"


def word_difference(before: str, after: str) -> tuple[tuple[DiffKind, str], ...]:
    """What differs between two texts, word by word where a line was changed and line by line where it was replaced.

    What was kept and what is out, joined, are `before`; what was kept and what is in are `after`.
    """
    old, new = split_lines(before), split_lines(after)
    found: list[tuple[DiffKind, str]] = []
    for piece, text in _pieces(old, new):
        if text and found and found[-1][0] is piece:
            found[-1] = piece, found[-1][1] + text
        elif text:
            found.append((piece, text))
    return tuple(found)


def _pieces(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[DiffKind, str]]:
    start, end = common_ends(old, new)
    yield DiffKind.KEPT, "".join(old[:start])
    for out, brought, same in _blocks(old[start : len(old) - end], new[start : len(new) - end]):
        if same:
            yield DiffKind.KEPT, "".join(out)
        else:
            yield from _replaced(out, brought)
    yield DiffKind.KEPT, "".join(old[len(old) - end :])


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str], bool]]:
    """What stands in one and in the other, in order, and whether it is the same."""
    for tag, from_old, to_old, from_new, to_new in difflib.SequenceMatcher(None, old, new).get_opcodes():
        yield old[from_old:to_old], new[from_new:to_new], tag == "equal"


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[DiffKind, str]]:
    """Lines in the place of others: those that are alike word by word, what stands between them all out and all in."""
    below = above = 0
    for at_old, at_new, words in _alike(old, new):
        yield DiffKind.OUT, "".join(old[below:at_old])
        yield DiffKind.IN, "".join(new[above:at_new])
        yield from words
        below, above = at_old + 1, at_new + 1
    yield DiffKind.OUT, "".join(old[below:])
    yield DiffKind.IN, "".join(new[above:])


def _alike(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, list[tuple[DiffKind, str]]]]:
    """The lines that became others, in order: their numbers, and how."""
    if len(old) * len(new) > _MOST_PAIRS:
        return
    after = 0
    for at_old, line in enumerate(old):
        for at_new in range(after, len(new)):
            words = _words_changed(line, new[at_new])
            if words is not None:
                yield at_old, at_new, words
                after = at_new + 1
                break


def _words_changed(old: str, new: str) -> list[tuple[DiffKind, str]] | None:
    """How one line became another, None where they are too different to be read as one."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    if max(len(before), len(after)) > _MOST_WORDS:
        return None
    found: list[tuple[DiffKind, str]] = []
    kept = 0
    for out, brought, same in _blocks(before, after):
        if same:
            found.append((DiffKind.KEPT, "".join(out)))
            kept += sum(len(word) for word in out if not word.isspace())
        else:
            found += [(DiffKind.OUT, "".join(out)), (DiffKind.IN, "".join(brought))]
    most = max(len("".join(line.split())) for line in (old, new))
    return found if kept >= _ALIKE * most else None


# When a text stood.


class TextTrail(Protocol):
    """What the table of versions says of texts."""

    def revisions_containing(self, text: str) -> tuple[Revision, ...]:
        """The revisions that hold a text, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class TextPresence:
    """A text that stands in a section from landmark `came` until landmark `went` (None: it stands); the place is its last."""

    came: int
    went: int | None
    path: FilePath
    section: SectionPath


def text_presences(known: TextTrail, text: str) -> tuple[TextPresence, ...]:
    """When a text stood where, oldest first: as long as a section holds it, under whatever name and with whatever else changing."""
    found: dict[int, list[TextPresence]] = {}
    for one in known.revisions_containing(text):
        of_section = found.setdefault(one.lineage, [])
        goes_on = of_section and of_section[-1].went == one.begun
        came = of_section.pop().came if goes_on else one.begun
        of_section.append(TextPresence(came, one.ended, one.path, one.section))
    return tuple(sorted((stay for of_section in found.values() for stay in of_section), key=lambda stay: stay.came))
