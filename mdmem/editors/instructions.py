"""Mdmem's instructions to agents in a file of somebody else's."""

from __future__ import annotations

from mdmem.editors import EditResult
from mdmem.editors.section import open_block
from mdmem.model import Op
from mdmem.model.errors import SectionProblem
from mdmem.text.document import (
    Document,
    blank_line,
    closed_fences,
    is_blank,
    lines_without_ends,
    with_line_end,
)
from mdmem.text.facts import INSTRUCTIONS_BEGIN, INSTRUCTIONS_END

_DELIMITERS = (INSTRUCTIONS_BEGIN, INSTRUCTIONS_END)


def put_in(document: Document, text: str) -> EditResult:
    """Replace the instructions in a file, or append them after a blank line.

    Raises SectionProblem: `broken-delimiters`; `open-block`: inside an open fence or comment.
    """
    lines, end = document.lines, document.line_end
    added = with_line_end("\n".join((INSTRUCTIONS_BEGIN, text.strip(), INSTRUCTIONS_END)), end)
    own = find_instructions(document)
    if own is not None:
        last = lines[own.stop - 1]
        tail = last[len(last.rstrip("\r\n")) :]
        return _result(document, [*lines[: own.start], added + tail, *lines[own.stop :]])
    if document.open_line is not None:
        raise open_block(document.open_line)
    if not lines:
        return _result(document, [added + end])
    if lines[-1].endswith(("\n", "\r")):
        return _result(document, [*lines, blank_line(lines[-1], end), added + end])
    # Without a line end, so that `take_out` knows that the file had none.
    return _result(document, [*lines, end, end, added])


def take_out(document: Document) -> EditResult:
    """Remove the instructions with the blank line before; raises SectionProblem."""
    own = find_instructions(document)
    if own is None:
        return _result(document, list(document.lines))
    before, after = list(document.lines[: own.start]), list(document.lines[own.stop :])
    if before and is_blank(before[-1]) and (not after or is_blank(after[0])):
        before.pop()
        if before and not after and not document.lines[own.stop - 1].endswith(("\n", "\r")):
            before[-1] = before[-1].rstrip("\r\n")
    elif not before and after and is_blank(after[0]):
        after.pop(0)
    return _result(document, before + after)


def find_instructions(document: Document) -> range | None:
    """The lines of the instructions with delimiters, if any; raises SectionProblem."""
    if not any(delimiter in document.text for delimiter in _DELIMITERS):
        return None
    fenced = closed_fences(lines_without_ends(document.text))
    numbers = [
        number
        for number, line in enumerate(document.lines)
        if line.strip() in _DELIMITERS and number not in fenced
    ]
    if not numbers:
        return None
    if [document.lines[number].strip() for number in numbers] != list(_DELIMITERS):
        line = numbers[0] + 1
        message = f"the lines around mdmem's instructions are not one pair (from line {line} on)"
        raise SectionProblem(
            "broken-delimiters",
            message,
            f"Leave one {INSTRUCTIONS_BEGIN}, and below it one {INSTRUCTIONS_END}.",
            line=line,
        )
    return range(numbers[0], numbers[1] + 1)


def _result(document: Document, lines: list[str]) -> EditResult:
    return EditResult(text=document.bom + "".join(lines), op=Op.INIT, section=())
