"""A section (its facts, its versions, one version compared with now), and a fact of it (its time
and reason, earlier values, cited messages).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Any, TypeAlias

from markupsafe import Markup

from mdmem import secrets
from mdmem.model import FactId, FilePath, Op, SectionPath, Status
from mdmem.model.errors import PathProblem, SectionProblem, TranscriptProblem
from mdmem.model.history import (
    FactHistory,
    FactLink,
    Made,
    RevisionView,
    SectionHistory,
    ShowHistory,
)
from mdmem.model.reads import SectionView, Show
from mdmem.model.searches import FactList, Hit, ListFacts
from mdmem.model.sessions import ShownMessage, ShowSessions
from mdmem.model.trail import Entry
from mdmem.page import charts, rendering
from mdmem.page.charts import Period, short_day
from mdmem.page.pages import (
    MAX_CHARACTERS,
    Page,
    Piece,
    Query,
    Reader,
    SourceMark,
    difference,
    number_in,
    source_mark,
)
from mdmem.past.differences import DiffKind, word_difference
from mdmem.show.formatting import tags_behind
from mdmem.show.values import to_json
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import common_ends, join_path, parse_bytes, split_lines
from mdmem.text.facts import (
    entries,
    key_and_value,
    normalise_key,
    parse_item,
    shortened,
    shown_text,
    split_until,
)

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


_MOST_ROWS = 100
"""Maximum number of lines, so that a page has up to 2,000 elements with labels and versions."""
_MOST_INNER, _MOST_LABELS = 200, 60
_MOST_LISTED = 1_000
"""Maximum number of facts with these ids, those of subsections included."""
_VERSIONS = 20
_MOST_CHANGES = 4
_MISSING = ("section-not-found", "file-not-found")


@dataclass(frozen=True, slots=True)
class SectionLine:
    """A fact of a section, or a block of another kind, of which `text` is the Markdown."""

    text: str
    fact: FactId | None = None
    key: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()
    until: date | None = None
    since: datetime | None = None
    source: SourceMark | None = None
    contradicts: tuple[FactId, ...] = ()
    marks: tuple[str, ...] = ()
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version of a section: its number (1: the oldest), its author, and its changes."""

    number: int
    made: Made
    lines: tuple[ComparedLine, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class PastVersion:
    row: VersionRow
    lines: tuple[ComparedLine, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class _Place:
    """A section as named by its address; `alike`: the number of sections with this name."""

    path: str
    section: str | None
    nth: int | None
    alike: int = 1

    def show(self) -> Show:
        preamble = self.section is None
        return Show(file=self.path, section=self.section, nth=self.nth, preamble=preamble)

    def history(self, upto: int | None) -> ShowHistory:
        # with `nth`, the target is the name of a section, and never that of a fact
        return ShowHistory(
            target=self.section,
            file=self.path,
            nth=None if self.section is None else self.nth or 1,
            preamble=self.section is None,
            limit=_VERSIONS,
            upto=upto,
        )


def section(reader: Reader, query: Query) -> Page:
    """A section as it is now; with `at`, that version compared with now."""
    memory = reader.memory
    number = number_in(query, "at")
    named = _Place(query["path"], query.get("section") or None, number_in(query, "nth"))
    place, view = _now(reader, named)
    history = memory.history(place.history(number or number_in(query, "upto")))
    assert isinstance(history, SectionHistory)
    path, names = (view.path, view.section) if view else (history.path, history.section)
    now = read_entries(view.text if view else "")
    shown = _first_rows(now)
    listed = _facts_of(reader, path, names, shown)
    lines = _lines(shown, listed, names, reader.now().date())
    newest = number or number_in(query, "upto") or history.total
    versions = [_version_row(newest - at, each) for at, each in enumerate(history.revisions)]
    values: dict[str, Any] = {
        "path": path,
        "section": names,
        "nth": place.nth,
        "alike": place.alike,
        "view": view,
        "inner": _inner(view, names) if view else (),
        "lines": lines,
        "left_out": len(now) - len(shown),
        "facts": sum(line.is_current for line in lines),
        "over": sum(line.fact is not None and not line.is_current for line in lines),
        "notes": listed.notes,
        "history": history,
        "versions": versions,
        "newer": min(history.total, newest + _VERSIONS) if newest < history.total else 0,
        "older": newest - len(versions),
        "number": number,
        "past": _past(reader, versions[0], history.revisions[0], now) if number else None,
    }
    data = {**to_json(history), **to_json(listed), **(to_json(view) if view else {})}
    title = names[-1] if names else path.rpartition("/")[2]
    back = reader.links.section(path, names, nth=place.nth)
    return Page(template="section", title=title, values=values, data=data, tab="memory", back=back)


def _first_rows(entries: Sequence[Entry]) -> list[Entry]:
    """The entries that fit on a page; the last one may be a long block, shown in part."""
    shown: list[Entry] = []
    room = rendering.MAX_CHARACTERS
    for entry in entries[:_MOST_ROWS]:
        if room <= 0:
            break
        shown.append(entry)
        room -= 0 if entry.fact else len(entry.text)
    return shown


def _inner(view: SectionView, names: SectionPath) -> list[SectionPath]:
    return list(islice((each for each in view.subsections if each[:-1] == names), _MOST_INNER))


def _now(reader: Reader, place: _Place) -> tuple[_Place, SectionView | None]:
    """The current section, the first of several with its name; None if it was removed."""
    try:
        return place, reader.memory.show(place.show())
    except (SectionProblem, PathProblem) as problem:
        if problem.code == "section-ambiguous":
            place = replace(place, nth=1, alike=len(problem.details["sections"]))
            return place, reader.memory.show(place.show())
        if problem.code not in _MISSING:
            raise
        return place, None


def _facts_of(reader: Reader, path: str, section: SectionPath, shown: Sequence[Entry]) -> FactList:
    """The facts among some entries of a section, with any others that have their ids."""
    ids = tuple(dict.fromkeys(entry.fact for entry in shown if entry.fact))
    if not ids:
        return FactList(facts=(), total=0)
    named = join_path(section) or None
    return reader.memory.facts(ListFacts(ids=ids, file=path, section=named, limit=_MOST_LISTED))


def _lines(
    shown: Sequence[Entry], listed: FactList, section: SectionPath, today: date
) -> list[SectionLine]:
    hits = {hit.fact: hit for hit in listed.facts if hit.section == section}
    over = () if listed.stale else ("no longer current",)
    lines = []
    for entry in shown:
        hit = hits.get(entry.fact)
        if entry.fact is None or (hit and hit.status is Status.CURRENT):
            lines.append(_line_of(hit) if hit else SectionLine(text=entry.text))
            continue
        is_expired = entry.until is not None and entry.until < today
        key, value = _words(shown_text(entry))
        line = SectionLine(
            text=value,
            fact=entry.fact,
            key=key,
            kind=entry.kind,
            tags=entry.tags[:_MOST_LABELS],
            until=entry.until,
            marks=("expired",) if is_expired else over,
        )
        lines.append(line)
    return lines


def _line_of(hit: Hit) -> SectionLine:
    key, value = _words(hit.text)
    return SectionLine(
        text=value,
        fact=hit.fact,
        key=key,
        kind=hit.kind,
        tags=tags_behind(hit)[:_MOST_LABELS],
        until=hit.until,
        since=hit.since,
        source=source_mark(hit.source, hit.claimed_by) if hit.source else None,
        contradicts=hit.contradicts,
        marks=("not saved",) if hit.uncommitted else (),
        is_current=True,
    )


def _words(text: str) -> tuple[str | None, str]:
    return key_and_value(shortened(split_until(text.strip())[0], MAX_CHARACTERS))


def _version_row(number: int, revision: RevisionView) -> VersionRow:
    before, after = differing_parts(revision.before, revision.text)
    compared = compare(read_entries(before), read_entries(after), pairs_alike=True)
    changed = [line for line in compared if line.change]
    return VersionRow(
        number=number,
        made=revision.made,
        lines=tuple(changed[:_MOST_CHANGES]),
        left_out=max(0, len(changed) - _MOST_CHANGES),
    )


def _past(
    reader: Reader, row: VersionRow, revision: RevisionView, now: Sequence[Entry]
) -> PastVersion:
    then = read_entries(revision.text)
    lines = compare(then, now, reader.memory.successors)
    return PastVersion(row, tuple(lines[:_MOST_ROWS]), max(0, len(lines) - _MOST_ROWS))


# Two texts of a section compared, line by line; all of it pure.


Successors: TypeAlias = Callable[[Sequence[FactId]], Mapping[FactId, FactId]]
"""The current facts in place of some that are no longer current, as of `Memory.successors`."""
_MOST_COMPARED = 400
"""Maximum number of pairs of unmatched lines that are compared with each other."""
_LEAST_SHARED = 0.5
"""Minimum share of a line that its new form has in common with it."""
_ITEM = late.pattern(r"(?:[-*+]|\d{1,9}[.)])\s")
_MAY_REACH_FAR = late.pattern(r"```|~~~|<[!?A-Za-z]")
"""The beginnings of code and HTML, whose end may be anywhere below."""
_SIGNS = {"": "", "changed": "~", "added": "+", "removed": "−"}


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A line of two texts: `change` is changed, added or removed; empty where both have it."""

    change: str
    key: str | None
    pieces: tuple[Piece, ...]
    fact: FactId | None

    @property
    def sign(self) -> str:
        return _SIGNS[self.change]


def read_entries(text: str) -> tuple[Entry, ...]:
    return entries(parse_bytes(text.encode("utf-8", "surrogatepass")), FilePath(""))


def differing_parts(before: str, after: str) -> tuple[str, str]:
    """The whole items and blocks between the common beginning and end of two texts."""
    old, new = split_lines(before), split_lines(after)
    if _MAY_REACH_FAR.search(before) or _MAY_REACH_FAR.search(after):
        return before, after
    start, end = common_ends(old, new)
    while start and not (start < len(old) and _ITEM.match(old[start])):
        start -= 1
    while end and not _ITEM.match(old[len(old) - end]):
        end -= 1
    return "".join(old[start : len(old) - end]), "".join(new[start : len(new) - end])


def compare(
    before: Sequence[Entry],
    after: Sequence[Entry],
    successors: Successors | None = None,
    pairs_alike: bool = False,
) -> list[ComparedLine]:
    """The lines of two texts, in the order of the second one.

    A line and its new form are one row: the same fact, the same key, or its successor;
    `successors` is only called for facts without the others. With `pairs_alike`, facts are also
    paired if they share half of their text, as other blocks always are.
    """
    new_form = _pairs(before, after, successors, pairs_alike)
    old_form = {new: old for old, new in new_form.items()}
    gone: dict[int, list[int]] = {}
    place = -1
    for number in range(len(before)):
        if number in new_form:
            place = new_form[number]
        else:
            gone.setdefault(place, []).append(number)
    rows = [_row(before[number], None) for number in gone.get(-1, ())]
    for number, entry in enumerate(after):
        old = old_form.get(number)
        rows.append(_row(None if old is None else before[old], entry))
        rows += [_row(before[each], None) for each in gone.get(number, ())]
    return rows


def _pairs(
    before: Sequence[Entry],
    after: Sequence[Entry],
    successors: Successors | None,
    pairs_alike: bool,
) -> dict[int, int]:
    pairs: dict[int, int] = {}

    def match(old_name: Callable[[Entry], Hashable], new_name: Callable[[Entry], Hashable]) -> None:
        free: dict[Hashable, list[int]] = {}
        for number in _without(range(len(after)), pairs.values()):
            free.setdefault(new_name(after[number]), []).append(number)
        for number in _without(range(len(before)), pairs):
            name = old_name(before[number])
            if name is not None and free.get(name):
                pairs[number] = free[name].pop(0)

    match(_identity, _identity)
    match(_key, _key)
    unpaired = [before[number].fact for number in _without(range(len(before)), pairs)]
    facts = [fact for fact in unpaired if fact is not None]
    if successors is not None and facts:
        new_facts = successors(facts)
        match(lambda entry: entry.fact and new_facts.get(entry.fact), lambda entry: entry.fact)
    olds = _without(range(len(before)), pairs)
    news = _without(range(len(after)), pairs.values())
    if len(olds) * len(news) <= _MOST_COMPARED:
        for number in olds:
            alike = (each for each in news if _are_alike(before[number], after[each], pairs_alike))
            if (found := next(alike, None)) is not None:
                pairs[number] = found
                news.remove(found)
    return pairs


def _without(numbers: Sequence[int], taken: Collection[int]) -> list[int]:
    gone = set(taken)
    return [number for number in numbers if number not in gone]


def _identity(entry: Entry) -> Hashable:
    return entry.fact or entry.text


def _key(entry: Entry) -> Hashable:
    key = key_and_value(entry.text)[0] if entry.fact else None
    return None if key is None else normalise_key(key)


def _are_alike(old: Entry, new: Entry, as_facts: bool) -> bool:
    if (old.fact is None) is not (new.fact is None) or (old.fact and not as_facts):
        return False
    before, after = (shortened(entry.text, MAX_CHARACTERS) for entry in (old, new))
    pieces = word_difference(before, after)
    shared = sum(len(text) for kind, text in pieces if kind is DiffKind.KEPT)
    return shared >= _LEAST_SHARED * max(len(before), len(after))


def _row(old: Entry | None, new: Entry | None) -> ComparedLine:
    entry = new or old
    assert entry is not None
    key, value = _key_and_words(entry)
    shown = shortened(value, MAX_CHARACTERS)
    if old is None or new is None:
        change, kind = ("removed", DiffKind.OUT) if new is None else ("added", DiffKind.IN)
        return ComparedLine(change, key, ((kind, shown),), entry.fact)
    old_key, old_value = _key_and_words(old)
    if old_key != key:
        key, value, old_value = None, shown_text(new).strip(), shown_text(old).strip()
    if old_value == value:
        return ComparedLine("", key, ((DiffKind.KEPT, shown),), entry.fact)
    pieces = difference(*(shortened(each, MAX_CHARACTERS) for each in (old_value, value)))
    return ComparedLine("changed", key, pieces, entry.fact)


def _key_and_words(entry: Entry) -> tuple[str | None, str]:
    text = shown_text(entry).strip()
    return key_and_value(text) if entry.fact else (None, text)
