"""The differences of two texts: their common ends, line by line as a patch, word by word for a reader. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from io import StringIO

from mdmem.document import split_lines

_CHUNK = 256
_CONTEXT_LINES = 3
_NO_LINE_END = "\n\\ No newline at end of file\n"
"""The text of a patch after a last line without a line end."""
_WORD = r"(?s)[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]|\w+|\s+|."
"""A word, white space, or one sign; scripts without spaces (Thai to Khmer, Japanese, Chinese) go sign by sign.

Compiled when it is used (1 ms): every write loads this module, and few compare words.
"""
_LEAST_SHARED = 0.5
"""The share of words from which on two lines are shown as one, word by word; other lines are shown whole, one out and one in."""
_MOST_WORDS = 2_000
"""A longer line is shown whole: comparing its words takes the square of their number."""
_MOST_PAIRS = 400
"""The most pairs of lines that are compared, each with each."""


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """Count the items that two sequences begin with in common, and those of the rest that they end with in common."""
    most = min(len(old), len(new))
    start = _common_start(old, new, most)
    return start, _common_start(old[::-1], new[::-1], most - start)


def _common_start(old: Sequence[object], new: Sequence[object], most: int) -> int:
    """Count the items, up to `most`, that two sequences begin with in common: by large chunks, then by halves."""
    start, size = 0, _CHUNK
    while size:
        while start + size <= most and old[start : start + size] == new[start : start + size]:
            start += size
        size //= 2
    return start


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went out and came in between the common beginning and the common end of two texts."""
    old, new = split_lines(before), split_lines(after)
    start, end = common_ends(old, new)
    return old[start : len(old) - end], new[start : len(new) - end]


def line_difference(before: str, after: str) -> str:
    """The hunks of a unified diff of two texts, without file names; empty where nothing differs.

    It is a patch for `git apply`: lines end at `\\n` only, and keep a `\\r` before it.
    """
    old, new = (StringIO(text).readlines() for text in (before, after))
    hunks = difflib.unified_diff(old, new, n=_CONTEXT_LINES)
    return "".join(line if line.endswith("\n") else f"{line}{_NO_LINE_END}" for number, line in enumerate(hunks) if number > 1)


# Word by word.


class DiffKind(StrEnum):
    """The fate of a piece of text."""

    KEPT = "kept"
    OUT = "out"
    IN = "in"


_Piece = tuple[DiffKind, str]


def word_difference(before: str, after: str) -> tuple[_Piece, ...]:
    """The pieces in which two texts differ: word by word in a line that was changed, line by line where lines were replaced.

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
    for old_lines, new_lines, is_same in _blocks(old[start : len(old) - end], new[start : len(new) - end]):
        if is_same:
            yield DiffKind.KEPT, "".join(old_lines)
        else:
            yield from _replaced_lines(old_lines, new_lines)
    yield DiffKind.KEPT, "".join(old[len(old) - end :])


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str], bool]]:
    """The parts of both sequences that match each other, in order, and whether they are the same."""
    for tag, from_old, to_old, from_new, to_new in difflib.SequenceMatcher(None, old, new).get_opcodes():
        yield old[from_old:to_old], new[from_new:to_new], tag == "equal"


def _replaced_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[_Piece]:
    """Lines in the place of others: similar ones word by word, those between them all out and all in."""
    next_old = next_new = 0
    for old_index, new_index, words in _similar_lines(old, new):
        yield DiffKind.OUT, "".join(old[next_old:old_index])
        yield DiffKind.IN, "".join(new[next_new:new_index])
        yield from words
        next_old, next_new = old_index + 1, new_index + 1
    yield DiffKind.OUT, "".join(old[next_old:])
    yield DiffKind.IN, "".join(new[next_new:])


def _similar_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, list[_Piece]]]:
    """The lines of which one became the other, in order: their indexes, and their difference word by word."""
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
    """The difference of two lines word by word; None where they are too different to be read as one."""
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
