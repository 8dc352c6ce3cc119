"""Recognise the work of the user's hooks in a file: a change in another form or in other words. Pure; loaded only where a file differs."""

from __future__ import annotations

from difflib import SequenceMatcher

from mdmem import history
from mdmem.document import parse_bytes
from mdmem.editors.merge3 import inverse_patch
from mdmem.errors import MdmemError, RepositoryProblem
from mdmem.model import FilePath
from mdmem.startup import late

_WORD = late.pattern(r"\w+")
_OTHER_MARKERS = ("* ", "+ ")
_ALIKE = 0.6
"""The ratio from which on two lines are alike: the one that `difflib` takes for close matches."""


def contains_change(data: bytes | None, before: bytes | None, after: bytes) -> bool:
    """True if a text has the change in it, in another form perhaps: a hook may format Markdown in its own way."""
    removed, added = _changed_lines(before, after)
    words, meant = f" {_words(data)} ", f" {_words(after)} "
    added_words, removed_words = ([f" {line_words} " for line_words in map(_words, lines) if line_words] for lines in (added, removed))
    return all(line in words for line in added_words) and not any(line in words for line in removed_words if line not in meant)


def looks_like_work_of_hook(data: bytes, before: bytes | None, after: bytes) -> bool:
    """True if a hook may have turned what was written into this, rather than somebody who saved the file meanwhile.

    All that differs then is white space, list markers, and the words of lines that the change added, which are alike.
    """
    ours, theirs = _forms(after), _forms(data)
    if "".join(ours) == "".join(theirs):
        return True
    added = set(_forms("\n".join(_changed_lines(before, after)[1])))
    return len(ours) == len(theirs) and all(
        our_line == their_line or (our_line in added and SequenceMatcher(None, our_line, their_line).ratio() >= _ALIKE)
        for our_line, their_line in zip(ours, theirs, strict=True)
    )


def without_change(data: bytes, before: bytes | None, after: bytes) -> bytes | None:
    """Take a change out of a file that somebody, or a hook, saved with it, and leave theirs; None where the two cannot be separated."""
    try:
        return inverse_patch.undo(parse_bytes(data), after.decode(), _text(before)).text.encode()
    except MdmemError:
        return None


def reworded_problem(path: FilePath, committed: bytes | None, after: bytes) -> RepositoryProblem:
    """The failure of a change that a hook put into other words."""
    lines = zip(_lines(after), _lines(committed), strict=False)
    reworded = next((their_line for our_line, their_line in lines if _words(our_line) != _words(their_line)), "")
    hint = "Use the hook's wording, or have the hook skip memory files."
    return RepositoryProblem("commit-failed", f"a hook changed the wording of what was written to {path}: {reworded}", hint)


def _changed_lines(before: bytes | None, after: bytes) -> tuple[list[str], list[str]]:
    return history.changed_lines(_text(before), _text(after))


def _lines(text: bytes | str | None) -> list[str]:
    """The lines that are not blank."""
    return [line for line in map(str.strip, _text(text).splitlines()) if line]


def _forms(text: bytes | str) -> list[str]:
    """The lines without white space, and with one sign, a dash, for all list markers."""
    return ["".join((f"-{line[1:]}" if line[:2] in _OTHER_MARKERS else line).split()) for line in _lines(text)]


def _words(text: bytes | str | None) -> str:
    """The words of a text alone, a space between them."""
    return " ".join(_WORD.findall(_text(text)))


def _text(text: bytes | str | None) -> str:
    return text if isinstance(text, str) else (text or b"").decode("utf-8", "replace")
