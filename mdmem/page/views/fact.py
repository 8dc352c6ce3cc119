"""A fact: its text, its time and reason, earlier values, and cited messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup

from mdmem import secrets
from mdmem.model import FactId, Op, Status
from mdmem.model.errors import TranscriptProblem
from mdmem.model.history import FactHistory, FactLink, Made, ShowHistory
from mdmem.model.reads import SectionView, Show
from mdmem.model.searches import Hit
from mdmem.model.sessions import ShownMessage, ShowSessions
from mdmem.page import charts
from mdmem.page.charts import Period, short_day
from mdmem.page.pages import Page, Query, Reader, SourceMark, source_mark
from mdmem.startup.records import dataclass
from mdmem.text.facts import key_and_value, parse_item, shortened

_MOST_VALUES = 50
_MOST_SHOWN = 5
"""Maximum number of citations shown with their messages; the others are only named."""
_MESSAGES, _CHARACTERS = 6, 600
_TITLE = 80


@dataclass(frozen=True, slots=True)
class Value:
    fact: FactLink
    state: str
    source: SourceMark
    removed_by: Made | None


@dataclass(frozen=True, slots=True)
class Said:
    """Cited lines of a session. There are no messages if it is gone or not shown."""

    reference: str
    messages: tuple[ShownMessage, ...] = ()
    is_gone: bool = False


def fact(reader: Reader, query: Query) -> Page:
    memory, links = reader.memory, reader.links
    history = memory.history(ShowHistory(target=query["id"], by_id=True, limit=_MOST_VALUES + 1))
    assert isinstance(history, FactHistory)
    chain = history.chain[-_MOST_VALUES:]
    values = [_value(link, chain) for link in reversed(chain)]
    shown = next((value for value in values if value.fact.id == history.fact), None)
    text = shown.fact.text if shown else _unsaved_text(reader, history.fact)
    is_current = history.status is Status.CURRENT
    contradicting = _contradicting(reader, history.fact) if is_current else []
    key, value = key_and_value(text)
    page_values: dict[str, Any] = {
        "fact": history.fact,
        "text_of_fact": text,
        "state": shown.state if shown and not is_current else history.status.value,
        "is_current": is_current,
        "can_change": history.status in (Status.CURRENT, Status.EXPIRED),
        "shown": shown,
        "values": values,
        "left_out": len(history.chain) > len(chain),
        "notes": history.notes,
        "successor": None if is_current else _successor(reader, history.fact),
        "contradicting": contradicting,
        "chart": _chart(values, contradicting, reader.now()) if values else "",
        "said": _said(reader, history) if links.is_served else (),
        "value": value if key else text,
    }
    return Page(
        template="fact",
        title=_cut(text) or history.fact,
        values=page_values,
        data=history,
        tab="memory",
        back=links.fact(history.fact),
    )


def _value(link: FactLink, chain: Sequence[FactLink]) -> Value:
    end = link.ended_by
    is_replaced = end is not None and any(each.made.commit == end.commit for each in chain)
    forgotten = link.status is Status.REMOVED and end and end.op in (Op.FORGET, Op.RETRACT)
    return Value(
        fact=link,
        state="forgotten" if forgotten else link.status.value,
        source=source_mark(link.made.source, link.made.claimed_by),
        removed_by=None if is_replaced else end,
    )


def _successor(reader: Reader, fact: FactId) -> FactId | None:
    return reader.memory.successors([fact]).get(fact)


def _unsaved_text(reader: Reader, fact: FactId) -> str:
    view = reader.memory.show_named(Show(section=fact))
    if isinstance(view, SectionView) and view.fact == fact:
        return parse_item(view.text).text
    return ""


def _contradicting(reader: Reader, fact: FactId) -> list[Hit]:
    pairs = ((each.first, each.second) for each in reader.memory.conflicts().conflicts)
    return [
        other
        for first, second in pairs
        for one, other in ((first, second), (second, first))
        if one.fact == fact
    ]


def _chart(values: Sequence[Value], contradicting: Sequence[Hit], now: datetime) -> Markup:
    facts = [value.fact for value in reversed(values)]
    starts = [fact.start for fact in facts] + [hit.since for hit in contradicting if hit.since]
    first = min(starts)
    length = max((now - first).total_seconds(), 1)

    def share(moment: datetime | None, otherwise: float) -> float:
        if moment is None:
            return otherwise
        return min(1.0, max(0.0, (moment - first).total_seconds() / length))

    rows = [
        Period(
            _period_name(fact.text, fact.start, fact.end), share(fact.start, 0), share(fact.end, 1)
        )
        for fact in facts
    ]
    rows += [
        Period(
            f"contradicting: {_period_name(hit.text, hit.since, None)}",
            share(hit.since, 0),
            1,
            is_contradicting=True,
        )
        for hit in contradicting
    ]
    name = f"Values over time: {'; '.join(row.label for row in rows)}"
    return charts.periods(name, rows, (short_day(first.date()), "now"))


def _period_name(text: str, start: datetime | None, end: datetime | None) -> str:
    value = _cut(text, key_and_value(text)[0])
    since = short_day(start.date()) if start else "not saved"
    return f"{value}, {since} to {short_day(end.date()) if end else 'now'}"


def _cut(text: str, key: str | None = None) -> str:
    """A text on one line, without its key, and without secrets: one that is cut is not detected."""
    line = " ".join(secrets.redact(text).split())
    return shortened(line.removeprefix(f"{key}: ") if key else line, _TITLE)


def _said(reader: Reader, history: FactHistory) -> list[Said]:
    cites = dict.fromkeys(cited for link in reversed(history.chain) for cited in link.made.cites)
    said = []
    for number, cited in enumerate(cites):
        if cited in history.gone:
            said.append(Said(cited, is_gone=True))
        elif number >= _MOST_SHOWN:
            said.append(Said(cited))
        else:
            said.append(_messages(reader, cited))
    return said


def _messages(reader: Reader, cited: str) -> Said:
    asked = ShowSessions(reference=cited, limit=_MESSAGES, chars=_CHARACTERS)
    try:
        messages = reader.memory.pipelines.cited_messages(asked, cited)
    except (OSError, TranscriptProblem):
        return Said(cited)
    return Said(cited, messages, is_gone=not messages)
