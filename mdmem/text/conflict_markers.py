"""The markers that git leaves in a file where a merge needs a decision. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdmem.startup import late
from mdmem.text.document import Document, parse
from mdmem.text.scan import BlockKind

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


def unresolved_sets(document: Document) -> list[Markers]:
    """Find the sets outside code.

    Only top-level code is looked at: nested blocks are indented, so they hold no marker.
    """
    found = list(complete_sets(document.lines))
    code = [block for block in document.blocks if block.kind is BlockKind.CODE] if found else []
    return [
        markers
        for markers in found
        if not any(block.start <= markers[0] < block.end for block in code)
    ]


def without_markers(document: Document) -> Document:
    """The document with blank lines for the markers, and for the text that both sides replaced."""
    blank: set[int] = set()
    for ours, base, middle, theirs in unresolved_sets(document):
        blank.update((ours, theirs, *range(middle if base is None else base, middle + 1)))
    if not blank:
        return document
    lines = ("\n" if n in blank else line for n, line in enumerate(document.lines))
    return parse(document.bom + "".join(lines))
