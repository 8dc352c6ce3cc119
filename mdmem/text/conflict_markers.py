"""The markers that git leaves in a file where a merge needs a decision. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdmem.startup import late

_SIGNS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
_OURS = late.pattern(r"<{7}(?: |$)")
_BASE = late.pattern(r"\|{7}(?: |$)")
_MIDDLE = late.pattern(r"={7}$")
_THEIRS = late.pattern(r">{7}(?: |$)")

Markers = tuple[int, int | None, int, int]
"""Lines (from 0) of `<<<<<<<`, `|||||||` (if any), `=======` and `>>>>>>>`."""


def complete_sets(lines: Sequence[str]) -> Iterator[Markers]:
    """Find each complete set of markers, in code too."""
    ours = base = middle = None
    for number, line in enumerate(lines):
        if line[:7] not in _SIGNS:
            continue
        words = line.rstrip("\r\n")
        if _OURS.match(words):
            ours, base, middle = number, None, None
        elif ours is None:
            continue
        elif _BASE.match(words) and middle is None:
            base = number
        elif _MIDDLE.match(words) and middle is None:
            middle = number
        elif _THEIRS.match(words) and middle is not None:
            yield ours, base, middle, number
            ours = base = middle = None
