"""Entries of a day's log: appended under the heading of their minute. What stands in the log never changes."""

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


def _last_minute(document: Document, minute: str) -> Section | None:
    """The file's last section, if it is exactly that minute's."""
    last = document.sections[-1] if document.sections else None
    return last if last and last.level == _TIME_LEVEL and last.title == minute else None


def log(document: Document, minute: str, item: str, again: bool = False) -> EditResult:
    """Append a list item (`facts.write_item`) to a log, under the heading `## HH:MM` of its minute.

    The same entry twice in a day is written once, unless `again`.

    Raises:
        SectionProblem: `open-block`: the file ends inside an open fence or comment.
    """
    if document.open_line is not None:
        line = document.open_line + 1
        message = f"the log ends inside an open fence or comment (line {line})"
        raise SectionProblem("open-block", message, "Close it with an editor.", line=line)
    same = None if again else find_same_item(document, item)
    if same is not None:
        return EditResult(text=document.text, op=Op.LOG, section=document.path_at(same.start))
    last = _last_minute(document, minute)
    if last is None:
        return EditResult(text=_new_minute(document, minute, item), op=Op.LOG, section=_minute_path(document, minute))
    # After blank lines the entry goes below them, so that the old log is a prefix of the new one.
    ends_blank = is_blank(document.lines[-1])
    text = insert_blocks(document, len(document.lines), item) if ends_blank else append_to_section(document, last, item)
    return EditResult(text=text, op=Op.LOG, section=last.path)


def _minute_path(document: Document, minute: str) -> tuple[str, ...]:
    open_titles = [s.path for s in document.sections if s.level < _TIME_LEVEL and s.tree_end == len(document.lines)]
    return (*(open_titles[-1] if open_titles else ()), minute)


def _new_minute(document: Document, minute: str, item: str) -> str:
    return insert_blocks(document, len(document.lines), f"{heading(_TIME_LEVEL, minute)}\n\n{item}")
