"""One change taken back out of a text that has gone on since: the inverse patch, by lines."""

from collections.abc import Sequence
from dataclasses import dataclass

from mdmem.document import Document, parse, split_lines, with_line_end
from mdmem.editors import Edited
from mdmem.errors import SectionProblem
from mdmem.model import Op


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines of the changed text, from `start` up to `end`, and what stood there before the change."""

    start: int
    end: int
    before: tuple[str, ...]


def undo(now: Document, after: str, before: str, words: str | None = None) -> Edited:
    """The document without the change that made `after` of `before`; everything later stays.

    Args:
        now: the file as it is.
        after: its text just after the change.
        before: its text just before it.
        words: only the lines of the change that hold these words, or that stand where they stood.

    Raises:
        SectionProblem: `revert-conflict`, with the lines as they are (`now`) and as they would become (`then`): they were changed
            again since.
    """
    old, changed, lines = _lines(before), _lines(after), list(now.lines)
    hunks = [hunk for hunk in _hunks(changed, old) if words is None or _concerns(hunk, changed, words)]
    places = _places(changed, _lines(now.text))
    first = len(lines)
    for hunk in reversed(hunks):
        place = _place(hunk, places, len(changed), len(lines))
        if place is None:
            raise _conflict(now, hunk, changed, places)
        lines[place : place + hunk.end - hunk.start] = [with_line_end(line, now.line_end) + now.line_end for line in hunk.before]
        first = min(first, place)
    text = _ended(lines, now)
    section = parse(text).section_at(min(first, max(0, len(lines) - 1)))
    return Edited(text, Op.REVERT, section.path if section else ())


def _lines(text: str) -> list[str]:
    """Lines without their ends, and without a byte order mark."""
    return [line.rstrip("\r\n") for line in split_lines(text.removeprefix("\ufeff"))]


def _matching(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int, int]]:
    """What two lists of lines have in common: where it begins in each, and how long it is."""
    from difflib import SequenceMatcher

    top = 0
    while top < min(len(one), len(other)) and one[top] == other[top]:
        top += 1
    end = 0
    while end < min(len(one), len(other)) - top and one[-1 - end] == other[-1 - end]:
        end += 1
    middle = SequenceMatcher(None, one[top : len(one) - end], other[top : len(other) - end], autojunk=False)
    blocks = [(a + top, b + top, size) for a, b, size in middle.get_matching_blocks() if size]
    return [(0, 0, top), *blocks, (len(one) - end, len(other) - end, end)]


def _hunks(changed: Sequence[str], old: Sequence[str]) -> list[_Hunk]:
    hunks = []
    at = place = 0
    for start, other, size in _matching(changed, old):
        if start > at or other > place:
            hunks.append(_Hunk(at, start, tuple(old[place:other])))
        at, place = start + size, other + size
    return hunks


def _concerns(hunk: _Hunk, changed: Sequence[str], words: str) -> bool:
    return any(words in line for line in (*changed[hunk.start : hunk.end], *hunk.before))


def _places(changed: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """Where each line of the changed text stands now."""
    return {start + n: other + n for start, other, size in _matching(changed, now) for n in range(size)}


def _place(hunk: _Hunk, places: dict[int, int], total: int, lines: int) -> int | None:
    """Where a hunk's lines stand now; None where they were changed since."""
    if hunk.start < hunk.end:
        found = [places.get(n) for n in range(hunk.start, hunk.end)]
        start = found[0]
        return start if start is not None and found == list(range(start, start + len(found))) else None
    if hunk.start == 0:
        return 0
    if (above := places.get(hunk.start - 1)) is not None:
        return above + 1
    return lines if hunk.start == total and not places else places.get(hunk.start)


def _conflict(now: Document, hunk: _Hunk, changed: Sequence[str], places: dict[int, int]) -> SectionProblem:
    lines = _lines(now.text)
    start = max((place + 1 for n, place in places.items() if n < hunk.start), default=0)
    end = min((place for n, place in places.items() if n >= hunk.end and place >= start), default=len(lines))
    return SectionProblem(
        "revert-conflict",
        f"line {start + 1}: what the change made of it was changed again since",
        "Undo the later change first, or edit the section.",
        now="\n".join(lines[start:end]),
        then="\n".join(hunk.before),
        made="\n".join(changed[hunk.start : hunk.end]),
        line=start + 1,
    )


def _ended(lines: list[str], now: Document) -> str:
    """The lines as a text; only the last may be without a line end, if the file's last was."""
    text = now.bom + "".join(
        line if line.endswith(("\n", "\r")) or number == len(lines) - 1 else line + now.line_end for number, line in enumerate(lines)
    )
    closed = now.text.endswith(("\n", "\r")) or not now.text
    return text if closed or not text.endswith(now.line_end) else text.removesuffix(now.line_end)
