"""The differences of texts: a patch by lines, words for a reader, and over many revisions.

From the revisions of a section: which commit brought each line, and when it held a text. Pure.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from io import StringIO
from typing import TYPE_CHECKING

from mdmem.model import CommitId, FilePath, SectionPath
from mdmem.model.trail import Revision
from mdmem.startup.records import dataclass
from mdmem.text.document import common_ends, is_blank, split_lines

if TYPE_CHECKING:
    from mdmem.past.table import Trail

_NO_LINE_END = "\n\\ No newline at end of file\n"
_WORD = (
    r"(?s)[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    r"\U00020000-\U0003ffff]|\w+|\s+|."
)
"""A word, white space, or one sign; scripts without spaces (Thai to Khmer, Chinese) by signs.

Compiled when used (1 ms): every write loads this module, and few compare words.
"""
_LEAST_SHARED = 0.5
"""The share of equal words from which on two lines are shown as one, word by word."""
_MOST_WORDS = 2_000
"""A longer line is shown whole: comparing words takes the square of their number."""
_MOST_PAIRS = 400
"""More pairs of lines are not compared, each with each."""


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines removed and added between the common beginning and end of two texts."""
    old, new = split_lines(before), split_lines(after)
    start, end = common_ends(old, new)
    return old[start : len(old) - end], new[start : len(new) - end]


def line_difference(before: str, after: str) -> str:
    """The hunks of a diff for `git apply`; lines end at `\\n` only, and keep a `\\r`."""
    import difflib  # noqa: PLC0415 - 2 ms, only where texts are shown or reworded

    old, new = (StringIO(text).readlines() for text in (before, after))
    hunks = difflib.unified_diff(old, new, n=3)
    return "".join(
        line if line.endswith("\n") else f"{line}{_NO_LINE_END}"
        for number, line in enumerate(hunks)
        if number > 1
    )


# Word by word.


class DiffKind(StrEnum):
    KEPT = "kept"
    OUT = "out"
    IN = "in"


_Piece = tuple[DiffKind, str]


def word_difference(before: str, after: str) -> tuple[_Piece, ...]:
    """The pieces in which two texts differ: word by word in changed lines, else line by line.

    The pieces kept and out, joined, are `before`; those kept and in are `after`.
    """
    joined: list[_Piece] = []
    for kind, text in _pieces(split_lines(before), split_lines(after)):
        if text and joined and joined[-1][0] is kind:
            joined[-1] = kind, joined[-1][1] + text
        elif text:
            joined.append((kind, text))
    return tuple(joined)


def _pieces(old: Sequence[str], new: Sequence[str]) -> Iterator[_Piece]:
    start, end = common_ends(old, new)
    yield DiffKind.KEPT, "".join(old[:start])
    for old_lines, new_lines, is_same in _blocks(
        old[start : len(old) - end], new[start : len(new) - end]
    ):
        if is_same:
            yield DiffKind.KEPT, "".join(old_lines)
        else:
            yield from _replaced_lines(old_lines, new_lines)
    yield DiffKind.KEPT, "".join(old[len(old) - end :])


def _blocks(
    old: Sequence[str], new: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str], bool]]:
    import difflib  # noqa: PLC0415 - as above

    for tag, from_old, to_old, from_new, to_new in difflib.SequenceMatcher(
        None, old, new
    ).get_opcodes():
        yield old[from_old:to_old], new[from_new:to_new], tag == "equal"


def _replaced_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[_Piece]:
    next_old = next_new = 0
    for old_index, new_index, words in _similar_lines(old, new):
        yield DiffKind.OUT, "".join(old[next_old:old_index])
        yield DiffKind.IN, "".join(new[next_new:new_index])
        yield from words
        next_old, next_new = old_index + 1, new_index + 1
    yield DiffKind.OUT, "".join(old[next_old:])
    yield DiffKind.IN, "".join(new[next_new:])


def _similar_lines(
    old: Sequence[str], new: Sequence[str]
) -> Iterator[tuple[int, int, list[_Piece]]]:
    if len(old) * len(new) > _MOST_PAIRS:
        return
    next_new = 0
    for old_index, line in enumerate(old):
        for new_index in range(next_new, len(new)):
            words = _changed_words(line, new[new_index])
            if words is not None:
                yield old_index, new_index, words
                next_new = new_index + 1
                break


def _changed_words(old: str, new: str) -> list[_Piece] | None:
    old_words, new_words = re.findall(_WORD, old), re.findall(_WORD, new)
    if max(len(old_words), len(new_words)) > _MOST_WORDS:
        return None
    pieces: list[_Piece] = []
    shared = 0
    for removed, added, is_same in _blocks(old_words, new_words):
        if is_same:
            pieces.append((DiffKind.KEPT, "".join(removed)))
            shared += sum(len(word) for word in removed if not word.isspace())
        else:
            pieces += [(DiffKind.OUT, "".join(removed)), (DiffKind.IN, "".join(added))]
    longest = max(len("".join(line.split())) for line in (old, new))
    return pieces if shared >= _LEAST_SHARED * longest else None


_Line = tuple[str, int | None]
"""A line without its end, and the number of the commit that brought it in."""
_Order = Callable[[int], tuple[int, CommitId]]


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """One line of a section and its number from 1; `commit` is None if it is not committed."""

    line: int
    text: str
    commit: int | None


def blame_lines(
    revisions: Sequence[Revision], order: _Order, text: str | None = None
) -> tuple[LineOrigin, ...]:
    """Find the commit that brought in each line of a section; a line moved within it keeps its own.

    Args:
        revisions: of one section, in their order of arrival, the current one last.
        text: the section on disk, if it may differ. Blank lines at its end are left out.
    """
    lines_of: dict[int, list[_Line]] = {}
    lines: list[_Line] = []
    for revision in revisions:
        before = [lines_of[number] for number in revision.previous if number in lines_of]
        lines = lines_of[revision.number] = _with_text_of_all(
            before, revision.text, revision.begun, order
        )
    if text is not None:
        lines = _with_text(lines, text, None)
    while lines and is_blank(lines[-1][0]):
        lines.pop()
    return tuple(LineOrigin(number, line, commit) for number, (line, commit) in enumerate(lines, 1))


def _with_text_of_all(
    sides: Sequence[Sequence[_Line]], text: str, commit: int, order: _Order
) -> list[_Line]:
    """The lines after one or several sides: a line of several keeps the earliest commit."""
    ways = [_with_text(side, text, commit) for side in sides or [[]]]
    if len(ways) == 1:
        return ways[0]
    lines: list[_Line] = []
    for same in zip(*ways, strict=True):
        earlier = [number for _, number in same if number is not None and number != commit]
        lines.append((same[0][0], min(earlier, key=order, default=commit)))
    return lines


def _with_text(before: Sequence[_Line], text: str, commit: int | None) -> list[_Line]:
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    start, end = common_ends([line for line, _ in before], lines)
    earlier: dict[str, deque[int | None]] = {}
    for line, number in before[start : len(before) - end]:
        earlier.setdefault(line, deque()).append(number)
    middle = [
        (line, earlier[line].popleft() if earlier.get(line) else commit)
        for line in lines[start : len(lines) - end]
    ]
    return [*before[:start], *middle, *before[len(before) - end :]]


@dataclass(frozen=True, slots=True)
class TextPresence:
    """A period, from `came` until `went` (None: now), in which a section contained a text."""

    came: int
    went: int | None
    path: FilePath
    section: SectionPath


def text_presences(trail: Trail, text: str) -> tuple[TextPresence, ...]:
    """List the periods in which a section contained a text, oldest first.

    Renames and other changes do not end one, nor another heading in its file, nor on how many sides
    it began.
    """
    groups = _joined_revisions(trail, trail.revisions_containing(text))
    presences = [_presence(trail, group) for group in groups]
    return tuple(
        sorted(presences, key=lambda each: (trail.order(each.came), each.path, each.section))
    )


def _joined_revisions(trail: Trail, revisions: Sequence[Revision]) -> list[list[Revision]]:
    of_number = {each.number: each for each in revisions}
    of_place: dict[tuple[FilePath, int | None], list[int]] = {}
    for each in revisions:
        of_place.setdefault((each.path, each.begun), []).append(each.number)
    group_of = {number: number for number in of_number}

    def first(number: int) -> int:
        while group_of[number] != number:
            group_of[number] = number = group_of[group_of[number]]
        return number

    for each in revisions:
        before = [
            number
            for number in each.previous
            if number in of_number and _continues(trail, each, of_number[number])
        ]
        twins = of_place.get((each.path, each.ended), ())
        for number in (*before, *twins):
            group_of[first(each.number)] = first(number)
    groups: dict[int, list[Revision]] = {}
    for each in revisions:
        groups.setdefault(first(each.number), []).append(each)
    return list(groups.values())


def _continues(trail: Trail, revision: Revision, before: Revision) -> bool:
    """True unless a section was removed before it was brought back."""
    if before.ended == revision.begun:
        return True
    commit = trail.commit_numbered(revision.begun)
    ends = trail.ends_of_revision(before)
    return (
        commit is None
        or commit.is_merge
        or not any(end != revision.begun and commit.reaches(end) for end in ends)
    )


def _presence(trail: Trail, group: Sequence[Revision]) -> TextPresence:
    numbers, ends = {each.number for each in group}, {each.ended for each in group}
    came = min(
        (
            each.begun
            for each in group
            if numbers.isdisjoint(each.previous) and each.begun not in ends
        ),
        key=trail.order,
        default=group[0].begun,
    )
    live = [each for each in group if each.ended is None]
    last = live[-1] if live else max(group, key=lambda each: (trail.order(each.begun), each.number))
    return TextPresence(came, None if live else _last_end(trail, group), last.path, last.section)


def _last_end(trail: Trail, group: Sequence[Revision]) -> int:
    """The earliest end that was not undone; a merge's only where no side has one."""
    begun = [
        commit for commit in map(trail.commit_numbered, {each.begun for each in group}) if commit
    ]
    numbers = {number for each in group for number in trail.ends_of_revision(each)} - {
        each.begun for each in group
    }
    ends = [commit for commit in map(trail.commit_numbered, numbers) if commit]
    ends = [
        end
        for end in ends
        if not any(later.number != end.number and later.reaches(end.number) for later in begun)
    ] or ends
    own = [end for end in ends if not end.is_merge] or ends
    return min(
        (end.number for end in own), key=trail.order, default=max(each.ended or 0 for each in group)
    )
