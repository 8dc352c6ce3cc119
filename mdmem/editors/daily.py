"""Entries of a day's log: appended under the heading of their minute, never changing what stands there."""

from __future__ import annotations

from datetime import date

from mdmem.document import Document, Section, is_blank
from mdmem.editors import EditResult
from mdmem.editors.outline import heading, insert_blocks
from mdmem.editors.section import append_to_section
from mdmem.errors import SectionProblem
from mdmem.facts import find_same_item
from mdmem.model import Op

_TIME_LEVEL = 2


def new_log(template: str, day: date) -> str:
    """The text of a day's log without entries."""
    return template.replace("{day}", day.isoformat())


def _minute(document: Document, minute: str) -> Section | None:
    """The file's last heading, if it is exactly that minute's."""
    last = document.sections[-1] if document.sections else None
    return last if last and last.level == _TIME_LEVEL and last.title == minute else None


def log(document: Document, minute: str, item: str, again: bool = False) -> EditResult:
    """The log with a list item (`facts.write`) under the heading `## HH:MM` of its minute, at the end.

    The same entry twice in a day is written once, unless `again`.

    Raises:
        SectionProblem: `open-block`: the file ends inside an open fence or comment.
    """
    line = document.open_line
    if line is not None:
        raise SectionProblem(
            "open-block", f"the log ends inside an open fence or comment (line {line + 1})", "Close it with an editor.", line=line + 1
        )
    if not again and (known := find_same_item(document, item)):
        return EditResult(document.text, Op.LOG, document.path_at(known.start))
    last = _minute(document, minute)
    if last is None:
        return EditResult(_new_minute(document, minute, item), Op.LOG, _minute_path(document, minute))
    # After blank lines the entry goes below them: what stands in a log is a prefix of what it becomes.
    ends_blank = is_blank(document.lines[-1])
    text = insert_blocks(document, len(document.lines), item) if ends_blank else append_to_section(document, last, item)
    return EditResult(text, Op.LOG, last.path)


def _minute_path(document: Document, minute: str) -> tuple[str, ...]:
    above = [s.path for s in document.sections if s.level < _TIME_LEVEL and s.tree_end == len(document.lines)]
    return (*(above[-1] if above else ()), minute)


def _new_minute(document: Document, minute: str, item: str) -> str:
    return insert_blocks(document, len(document.lines), f"{heading(_TIME_LEVEL, minute)}\n\n{item}")
