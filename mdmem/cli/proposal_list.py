"""The numbered list of proposals, in lines as wide as the terminal; only a reason is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

from mdmem.cli import terminal
from mdmem.model import FilePath, SectionPath
from mdmem.model.errors import number_of, shell_word
from mdmem.model.proposals import (
    ListedItem,
    ListedPart,
    PartOp,
    PartState,
    PartView,
    ProposalList,
    ProposalView,
)
from mdmem.past.differences import changed_lines
from mdmem.show.formatting import unreadable_line
from mdmem.show.reviews import shown_line, visible
from mdmem.text.document import join_path

_NARROW = 72
"""Below so many columns, who, when and why are a second line."""
_GAP, _INDENT = "   ", "    "
_LEAST_ABOUT = 24
"""The fewest columns for who, when and why beside a text."""
_LEAST_REASON = 12
_WEEK = 7
_SIGNS = {PartOp.ADD: "+", PartOp.CONFIRM: "=", PartOp.SECTION: "#"}


def list_text(listed: ProposalList, now: datetime, columns: int) -> str:
    numbered = listed.numbered
    lines: list[str] = []
    for place, items in groupby(numbered.items, key=lambda item: item.place):
        lines += [*([""] if lines else []), heading(*place)]
        lines += _rows(list(items), now, columns, len(str(numbered.items[-1].number)))
    if numbered.unlisted:
        lines.append(f"{numbered.unlisted:,} more not listed: decide some of these first")
    if numbered.items and listed.views:
        lines.append(_counts(listed.views, columns))
    lines += [
        f"{view.id} {shown_line(view.actor)}: nothing is open; to close it: mdmem accept"
        f" {shell_word(view.id)}"
        for view in listed.views
        if not view.waits
    ]
    lines += map(unreadable_line, listed.unreadable)
    if numbered.stamp:
        lines.append(f"list {numbered.stamp}")
    return "\n".join(lines)


def _counts(views: Sequence[ProposalView], columns: int) -> str:
    counts = {view.id: sum(part.state.waits for part in view.parts) for view in views if view.waits}
    parts, proposals = sum(counts.values()), len(counts)
    lead = f"{number_of(parts, 'part')} in {number_of(proposals, 'proposal')}: "
    names = list(counts)
    shown = next(
        (
            n
            for n in range(len(names), 1, -1)
            if len(lead) + len(", ".join(names[:n])) + 3 * (n < len(names)) <= columns
        ),
        1,
    )
    return lead + ", ".join([*names[:shown], *(["…"] if shown < len(names) else [])])


def item_text(item: ListedItem, now: datetime, columns: int) -> str:
    return "\n".join([heading(*item.place), *_rows([item], now, columns, 1)])


def heading(path: FilePath, section: SectionPath) -> str:
    """A file and a section in it, without the file's title, as in the subjects of commits."""
    return shown_line(join_path((path, *(section[1:] if len(section) > 1 else section))))


def _rows(items: Sequence[ListedItem], now: datetime, columns: int, digits: int) -> Iterator[str]:
    lead = max(2, digits) + 2
    texts = [(item, _value_texts(item)) for item in items]
    fitting = [
        terminal.width(text)
        for _, values in texts
        for text in values
        if lead + terminal.width(text) + len(_GAP) + _LEAST_ABOUT <= columns and "\n" not in text
    ]
    column = max(fitting, default=0) if columns >= _NARROW else 0
    for item, values in texts:
        for place, (text, value) in enumerate(zip(values, item.values, strict=True)):
            number = f"{'' if place else item.number:>{lead - 2}}  "
            yield from _value_rows(f"{number}{text}", value, now, columns, lead + column)


def _value_texts(item: ListedItem) -> list[str]:
    """Each value as a line; a rival of an update only as the new text, under the arrow."""
    texts: list[str] = []
    head = ""
    for value in item.values:
        view = value[0].view
        if view.op is not PartOp.UPDATE or view.old is None or view.new is None:
            texts.append(_change_text(view))
            continue
        before, new = _update(view)
        texts.append(
            f"{' ' * terminal.width(before)} -> {new}" if before == head else f"{before} -> {new}"
        )
        head = before
    return texts


def _update(view: PartView) -> tuple[str, str]:
    """The old text, and the new one; without the key (as in `key: value`) if both have the same."""
    old, new = shown_line(view.old or ""), shown_line(view.new or "")
    key, colon, _ = old.partition(": ")
    return old, new.removeprefix(f"{key}{colon}") if colon else new


def _change_text(view: PartView) -> str:
    if view.op is PartOp.SECTION:
        removed, added = changed_lines(f"{view.old or ''}\n", f"{view.new or ''}\n")
        lines = [
            *(f"- {line}" for line in _visible_lines(removed)),
            *(f"+ {line}" for line in _visible_lines(added)),
        ]
        what = "section removed" if view.new is None else "text" if view.old else "new section"
        return "\n".join([f"# {what}", *lines])
    return f"{_SIGNS.get(view.op, '-')} {shown_line(view.new or view.old or '')}"


def _visible_lines(lines: Sequence[str]) -> list[str]:
    return [visible(line.rstrip("\r\n"), keep="") for line in lines if line.strip()]


def _value_rows(
    text: str, value: Sequence[ListedPart], now: datetime, columns: int, column: int
) -> Iterator[str]:
    first, *rest = text.split("\n")
    about, reason, remark = _about(value, now)
    standing = _standing(value)
    start = max(column, terminal.width(first)) + len(_GAP)
    room = columns - start - terminal.width(about) - terminal.width(remark)
    least = len(_GAP) + _LEAST_REASON if reason else 0
    if columns >= _NARROW and not rest and room >= least:
        pad = " " * (start - terminal.width(first))
        rows = [f"{first}{pad}{about}{_reason(reason, room)}{remark}"]
    else:
        room = columns - len(_INDENT) - terminal.width(about)
        is_short = room - terminal.width(remark) >= least
        reason = _reason(reason, room - terminal.width(remark) if is_short else room)
        last = f"{_INDENT}{about}{reason}"
        rows = [
            _hung(first, columns),
            *(f"{_INDENT}{line}" for line in rest),
            *([f"{last}{remark}"] if is_short else [last, f"{_INDENT}{remark.strip()}"]),
        ]
    for row in [*rows, *([f"{_INDENT}now: {standing}"] if standing else [])]:
        yield from terminal.fitted(row.rstrip(), columns).split("\n")


def _standing(value: Sequence[ListedPart]) -> str:
    view = value[0].view
    return shown_line(view.standing or "") if view.state is PartState.OVERTAKEN else ""


def _hung(row: str, columns: int) -> str:
    """A row that begins with spaces up to an arrow, moved to the left if it is too wide."""
    bare = row.lstrip(" ")
    is_rival = bare.startswith("-> ") and terminal.width(row) > columns
    return f"{_INDENT}{bare}" if is_rival else row


def _about(value: Sequence[ListedPart], now: datetime) -> tuple[str, str, str]:
    """A value's actors and day, its reason, and remarks."""
    newest = value[0]
    who = ", ".join(dict.fromkeys(shown_line(part.actor) for part in value))
    reason = next((part.view.origin.reason for part in value if part.view.origin.reason), "")
    return (
        f"{who}, {day_text(newest.since, now)}",
        shown_line(reason or ""),
        "".join(f"  ({remark})" for remark in _remarks(value, now)),
    )


def _reason(reason: str, room: int) -> str:
    room -= len(_GAP) + 2
    if not reason or room <= 0:
        return ""
    if terminal.width(reason) > room:
        while reason and terminal.width(reason) > room - 1:
            reason = reason[:-1]
        reason = f"{reason.rstrip()}…"
    return f'{_GAP}"{reason}"'


def _remarks(value: Sequence[ListedPart], now: datetime) -> Iterator[str]:
    view = value[0].view
    if all(part.view.state is PartState.OVERTAKEN for part in value):
        yield _outdated(view, now)
    if view.duplicate_of:
        yield f"already in memory: [{view.duplicate_of}]"
    if view.contradicts and view.state is PartState.OPEN:
        yield f"contradicts [{view.contradicts}]"


def _outdated(view: PartView, now: datetime) -> str:
    change = view.changed
    if change is None or change.time is None:
        return "outdated: changed, and not committed yet" if change else "outdated: changed since"
    who = "you" if change.actor is None else shown_line(change.actor)
    verb = "changed" if view.standing else "removed"
    return f"outdated: {who} {verb} this {_on_day(change.time, now)}"


def day_text(when: datetime, now: datetime) -> str:
    """A day as a list has it: today, yesterday, 14 Mar, 14 Mar 2025."""
    days = (now.date() - when.date()).days
    if days in (0, 1):
        return ("today", "yesterday")[days]
    year = "" if when.year == now.year else f" {when.year}"
    return f"{when.day} {_MONTHS[when.month - 1]}{year}"


def _on_day(when: datetime, now: datetime) -> str:
    days = (now.date() - when.date()).days
    if 1 < days < _WEEK:
        return f"on {_WEEKDAYS[when.weekday()]}"
    return day_text(when, now) if days in (0, 1) else f"on {day_text(when, now)}"


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
