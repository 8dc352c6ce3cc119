"""Entries of a day's log: added under the heading of their minute, or below the one of the log
behind their minute; never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mdmem.editors import EditResult
from mdmem.editors.section import append_to_section, heading, insert_blocks, open_block
from mdmem.model import Op, rules
from mdmem.text.document import Document, Section, is_blank, parse
from mdmem.text.facts import find_same_item, with_time

_TIME_LEVEL = 2
_FENCES = ("- ```", "- ~~~")


def _last_minute(document: Document, minute: str) -> Section | None:
    last = document.sections[-1] if document.sections else None
    return last if last and last.level == _TIME_LEVEL and last.title == minute else None


def log(document: Document, minute: str, item: str, again: bool = False) -> EditResult:
    """Append under `## HH:MM`, or as `- HH:MM …` to the document's timed section, once a day unless
    `again`. Raises SectionProblem (`open-block`).
    """
    if document.open_line is not None:
        raise open_block(document.open_line, "log", "Close it with an editor.")
    same = None if again else find_same_item(document, item)
    if same is not None:
        return EditResult(text=document.text, op=Op.LOG, section=document.path_at(same.start))
    if document.timed_section is not None:
        return _append_timed(document, {minute: [item]}, Op.LOG)
    last = _last_minute(document, minute)
    if last is None:
        return EditResult(
            text=insert_blocks(document, (len(document.lines), _minute_block(minute, [item]))),
            op=Op.LOG,
            section=_minute_path(document, minute),
        )
    # After blank lines the entry goes below them, so that the old log is a prefix of the new one.
    ends_blank = is_blank(document.lines[-1])
    text = (
        insert_blocks(document, (len(document.lines), item))
        if ends_blank
        else append_to_section(document, last, item)
    )
    return EditResult(text=text, op=Op.LOG, section=last.path)


def _append_timed(document: Document, entries: Mapping[str, Sequence[str]], op: Op) -> EditResult:
    timed = [
        with_time(item, f"{minute}\n  " if item.startswith(_FENCES) else f"{minute} ")
        for minute in sorted(entries)
        for item in entries[minute]
    ]
    section = document.timed_section
    assert section is not None
    text = append_to_section(document, section, "\n".join(timed))
    return EditResult(text=text, op=op, section=section.path)


def _minute_path(document: Document, minute: str) -> tuple[str, ...]:
    open_titles = [
        s.path
        for s in document.sections
        if s.level < _TIME_LEVEL and s.tree_end == len(document.lines)
    ]
    return (*(open_titles[-1] if open_titles else ()), minute)


def _minute_block(minute: str, items: Sequence[str]) -> str:
    return "\n\n".join((heading(_TIME_LEVEL, minute), "\n".join(items)))


def is_minute(section: Section) -> bool:
    return section.level == _TIME_LEVEL and rules.is_minute(section.title)


def insert(
    document: Document,
    entries: Mapping[str, Sequence[str]],
    is_place: Callable[[Section], bool] = is_minute,
) -> EditResult:
    """Insert one-line items by minute: under its last heading, else a new one in order.

    `is_place` tells such headings. Raises SectionProblem: `open-block`: a place is inside an open
    fence or comment.
    """
    if document.timed_section is not None and is_place is is_minute:
        return _append_timed(document, entries, Op.DIGEST)
    text = document.text
    present = _last_sections(document, is_place).keys() & entries.keys()
    for minute in filter(present.__contains__, entries):
        current = parse(text)
        text = append_to_section(
            current, _last_sections(current, is_place)[minute], "\n".join(entries[minute])
        )
    current = parse(text)
    blocks: dict[int, list[str]] = {}
    for minute in sorted(entries.keys() - present):
        blocks.setdefault(_line_of(current, minute, is_place), []).append(
            _minute_block(minute, entries[minute])
        )
    if blocks:
        text = insert_blocks(
            current, *((line, "\n\n".join(blocks[line])) for line in sorted(blocks))
        )
        current = parse(text)
    last = _last_sections(current, is_place)
    first, *more = (last[minute].path for minute in entries)
    return EditResult(text=text, op=Op.DIGEST, section=first, more_sections=tuple(more))


def _last_sections(document: Document, is_place: Callable[[Section], bool]) -> dict[str, Section]:
    return {section.title: section for section in document.sections if is_place(section)}


def _line_of(document: Document, minute: str, is_place: Callable[[Section], bool]) -> int:
    minutes = list(filter(is_place, document.sections))
    earlier = [section for section in minutes if section.title < minute]
    first = minutes[0].start if minutes else len(document.lines)
    line = earlier[-1].tree_end if earlier else first
    if document.open_line is not None and document.open_line < line:
        raise open_block(document.open_line, "log", "Close it with an editor.")
    return line
