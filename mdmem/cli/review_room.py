"""Proposals on a terminal: their numbered list, and `mdmem review`, one item at a time, decided by
a key, as in `git add -p`.

Nothing is changed before the end: `u` takes back a decision, and an interruption all of them.
"""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import TypeAlias

from mdmem.cli import terminal
from mdmem.cli.commands import Answer
from mdmem.cli.terminal import in_flags
from mdmem.cli.write_options import at_own_terminal
from mdmem.memory import Memory
from mdmem.model import FilePath, SectionPath
from mdmem.model.errors import MdmemError, number_of, outcome_of, shell_word
from mdmem.model.proposals import (
    Advice,
    Decide,
    ItemChoice,
    ListDecision,
    ListedItem,
    ListedPart,
    NumberedList,
    PartOp,
    PartState,
    PartView,
    ProposalList,
    ProposalView,
)
from mdmem.model.searches import ConflictView
from mdmem.model.writes import Change, Forget, Resolve, WriteOptions
from mdmem.past.differences import changed_lines
from mdmem.show import maintenance
from mdmem.show import reviews as show
from mdmem.show.formatting import unreadable_line
from mdmem.show.reviews import shown_line, visible
from mdmem.startup.records import dataclass, replace
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
        lines += [*([""] if lines else []), heading_of(*place)]
        lines += _rows(list(items), now, columns, len(str(numbered.items[-1].number)))
    if numbered.unlisted:
        lines.append(f"{numbered.unlisted:,} more not listed: decide some of these first")
    if numbered.items and listed.views:
        lines.append(_counts(listed.views, columns))
    lines += [
        f"{view.id} {shown_line(view.actor)}: nothing is open; to close it: mdmem review --accept"
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
    return "\n".join([heading_of(*item.place), *_rows([item], now, columns, 1)])


def heading_of(path: FilePath, section: SectionPath) -> str:
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
        yield from terminal.fitted_to(row.rstrip(), columns).split("\n")


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


_HELP = {
    "y": "accept it (of competing values the newest)",
    "n": "reject it",
    "2": "accept the second value, 3 the third",
    "e": "edit it in $EDITOR and accept that",
    "b": "keep both",
    "s": "skip it",
    "A": "accept everything in this section, except outdated items and those with several values",
    "u": "undo the last decision",
    "q": "quit, and carry out what was decided (Ctrl-C: nothing)",
}
_HELP_FOR_TWO = _HELP | {
    "1": "keep the first, forget the second (or n)",
    "2": "keep the second, forget the first (or y)",
}
_SIDES = {"n": "1", "y": "2"}
_EDIT, _ALL, _UNDO, _QUIT, _ASK = "e", "A", "u", "q", "?"
_ORDER = "yn123456789ebsAuq?"
_MOST_VALUES = 9

Outcome: TypeAlias = "ItemChoice | Change | None"
"""The choice or change that a decision leads to; None leaves things as they are."""


@dataclass(frozen=True, slots=True)
class _Card:
    """Something to decide on, as it is shown, and what each key does.

    `group` is what `A` accepts at once, if `is_plain`. `edited` is the item with a text to edit.
    """

    group: tuple[type, FilePath | str, SectionPath]
    text: str
    question: str
    keys: Mapping[str, Outcome]
    is_plain: bool = False
    edited: ListedItem | None = None

    @property
    def all_keys(self) -> tuple[str, ...]:
        named = {*self.keys, *([_EDIT] if self.edited else []), _UNDO, _QUIT, _ASK}
        named |= {_ALL} if "y" in self.keys and self.group[0] is not ConflictView else set()
        return tuple(sorted(named, key=_ORDER.index))

    @property
    def help(self) -> str:
        lines = _HELP_FOR_TWO if self.group[0] is ConflictView else _HELP
        return "\n".join(f"{key}  {lines[key]}" for key in self.all_keys if key in lines)

    @property
    def heading(self) -> str:
        return heading_of(FilePath(self.group[1]), self.group[2])


def _item_card(item: ListedItem, text: str) -> _Card:
    view = item.values[0][0].view
    keys: dict[str, Outcome] = {
        "y": ItemChoice(number=item.number),
        "n": ItemChoice(number=item.number, accepts=False),
    }
    for value in range(1, min(_MOST_VALUES, len(item.values))):
        keys[str(value + 1)] = ItemChoice(number=item.number, value=value)
    several = sum(value[0].view.new is not None for value in item.values) > 1
    if several or (view.op is PartOp.UPDATE and not item.is_rival):
        keys["b"] = ItemChoice(number=item.number, keeps=True)
    return _Card(
        group=(ListedItem, *item.place),
        text=text,
        question="Accept?",
        keys=keys | {"s": None},
        is_plain=view.state is PartState.OPEN and not item.is_rival,
        edited=item if view.new is not None else None,
    )


def _advice_card(advice: Advice) -> _Card:
    keys: dict[str, Outcome] = {"y": advice.change, "n": None} if advice.change else {}
    return _Card(
        group=(Advice, advice.path, advice.section),
        text=maintenance.advice_text(advice),
        question="Do it?" if advice.change else "To decide by hand.",
        keys=keys | {"s": None},
        is_plain=advice.safe and advice.change is not None,
    )


def _conflict_card(conflict: ConflictView) -> _Card:
    first, second = conflict.first, conflict.second
    keys: dict[str, Outcome] = dict.fromkeys("12b")
    if first.fact is not None and second.fact is not None:
        keys = {
            "1": Forget(fact=second.fact, file=second.path),
            "2": Forget(fact=first.fact, file=first.path),
            "b": Resolve(first.fact, second.fact),
        }
    question = "Which is true (b: both)?"
    if conflict.is_of_parts:
        keys = {"b": keys["b"]}
        question = "Keep both (b)? To keep one, edit the file."
    rows = (
        f" {number}  {shown_line(hit.text)}   {hit.path}:{hit.start_line}"
        for number, hit in enumerate((first, second), 1)
    )
    heading = heading_of(FilePath(first.path), first.section)
    return _Card(
        group=(ConflictView, first.path, first.section),
        text="\n".join([heading, *rows]),
        question=question,
        keys=keys | {"s": None},
    )


class _Room:
    """The cards, and the decisions so far: each on one card or more."""

    def __init__(self, cards: Sequence[_Card], columns: int) -> None:
        self._cards, self._columns = cards, columns
        self._decided: list[dict[int, Outcome]] = []

    @property
    def outcomes(self) -> list[Outcome]:
        return [outcome for decided in self._decided for outcome in decided.values()]

    def run(self) -> None:
        key = ""
        while key != _QUIT and (left := self._left()):
            card = self._cards[left[0]]
            text = f"({left[0] + 1}/{len(self._cards)}) {card.text}"
            _write(f"\n{terminal.fitted_to(text, self._columns)}\n")
            while not self._decide(left, card, key := self._ask(card.question, *card.all_keys)):
                pass

    def _left(self) -> list[int]:
        covered = {number for decided in self._decided for number in decided}
        return [number for number in range(len(self._cards)) if number not in covered]

    def _ask(self, question: str, *keys: str) -> str:
        room = self._columns - len(" y")
        key = _read_key(terminal.fitted_to(f"{question} [{','.join(keys)}]", room))
        _write(f"{key}\n")
        return key

    def _decide(self, left: Sequence[int], card: _Card, key: str) -> bool:
        """Do what a key means; False to ask again."""
        if card.group[0] is ConflictView:
            key = _SIDES.get(key, key)
        match key:
            case "q":
                return True
            case "u" if self._decided:
                self._decided.pop()
                return True
            case "u":
                _write("nothing to undo\n")
                return False
            case "e" if card.edited:
                decided = self._edited(left[0], card.edited)
            case "A" if key in card.all_keys:
                decided = self._all_like(left, card)
            case _ if key in card.keys:
                decided = {left[0]: card.keys[key]}
            case _:
                _write(f"{terminal.fitted_to(card.help, self._columns)}\n")
                return False
        self._decided += [decided] if decided else []
        return bool(decided)

    def _edited(self, number: int, item: ListedItem) -> dict[int, Outcome]:
        text = f"{item.values[0][0].view.new}\n"
        outcome = outcome_of(lambda: terminal.edit_text(text, "e", "choose y or n").strip())
        if isinstance(outcome, MdmemError):
            _write(f"{outcome.message}\n")
            return {}
        if isinstance(outcome, Exception):
            raise outcome
        return {number: ItemChoice(number=item.number, text=outcome)} if outcome else {}

    def _all_like(self, left: Sequence[int], card: _Card) -> dict[int, Outcome]:
        cards = {n: self._cards[n] for n in left if self._cards[n].group == card.group}
        plain = {number: each.keys["y"] for number, each in cards.items() if each.is_plain}
        if not plain:
            _write("nothing here is without a choice to make\n")
            return {}
        question = f"Accept {number_of(len(plain), 'item')} of {card.heading}?"
        return plain if self._ask(question, "y", "n") == "y" else {}


def is_open(memory: Memory) -> bool:
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return on_terminal and not os.environ.get("CI") and memory.workspace.actor is None


def review(memory: Memory, numbered: NumberedList, advice: Sequence[Advice]) -> Answer:
    columns, now = terminal.size(sys.stdout)[0], memory.workspace.now()
    room = _Room(
        [
            *(_item_card(e, item_text(e, now, columns)) for e in numbered.items),
            *(_conflict_card(e.conflict) if e.conflict else _advice_card(e) for e in advice),
        ],
        columns,
    )
    room.run()
    choices = [each for each in room.outcomes if isinstance(each, ItemChoice)]
    changes = [e for e in room.outcomes if e is not None and not isinstance(e, ItemChoice)]
    lines, notes = list[str](), list[str]()
    if choices or changes:
        _write(f"Carrying out {number_of(len(choices) + len(changes), 'decision')} …\n")
    if choices:
        lines.append(_summary(list(_decisions(memory, choices, numbered.stamp, notes))))
    for change in changes:
        own = replace(change, options=WriteOptions(typed=at_own_terminal()))
        outcome = outcome_of(partial(memory.apply, own))
        if isinstance(outcome, MdmemError):
            notes.append(f"{in_flags(outcome.message)}; this was left")
        elif isinstance(outcome, Exception):
            raise outcome
    if changes:
        lines.append(f"carried out {number_of(len(changes), 'change')}")
    return Answer({}, "\n".join(lines) or "nothing changed", notes)


def _decisions(
    memory: Memory, choices: Sequence[ItemChoice], stamp: str, notes: list[str]
) -> Iterator[ListDecision]:
    """Carry out choices at once, or if one is refused each by itself: none is lost by another."""
    request = Decide(choices=tuple(choices), stamp=stamp, leaves=True)
    outcome = outcome_of(partial(memory.proposals.decide, request))
    if isinstance(outcome, ListDecision):
        notes += show.list_decision_notes(outcome, accepts=True)
        yield outcome
    elif not isinstance(outcome, MdmemError):
        raise outcome
    elif len(choices) == 1:
        notes.append(f"left item {choices[0].number}: {in_flags(outcome.message)}")
    else:
        for choice in choices:
            yield from _decisions(memory, [choice], stamp, notes)


def _summary(decisions: Sequence[ListDecision]) -> str:
    counts = {
        name: sum(len(getattr(each, name)) for each in decisions)
        for name in ("accepted", "superseded", "rejected", "left")
    }
    texts = [f"{count} {name}" for name, count in counts.items() if count]
    return ", ".join(texts) or "nothing changed"


def _write(text: str) -> None:
    print(text, end="", flush=True)


def _read_key(prompt: str) -> str:
    """Prompt for a key, passed on at once; line ends are skipped, so that one may follow a key."""
    terminal_input = sys.stdin.fileno()
    before = termios.tcgetattr(terminal_input)
    try:
        tty.setcbreak(terminal_input, termios.TCSADRAIN)
        _write(f"{prompt} ")
        while (byte := os.read(terminal_input, 1)) in (b"\r", b"\n"):
            pass
    finally:
        termios.tcsetattr(terminal_input, termios.TCSADRAIN, before)
    if byte in (b"", b"\x04"):
        return _QUIT
    return byte.decode() if b" " < byte < b"\x7f" else _ASK
