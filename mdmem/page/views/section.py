"""A section (its facts, its versions, one version compared with now), and a fact of it (its time
and reason, earlier values, cited messages).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from markupsafe import Markup

from mdmem import secrets
from mdmem.folder import layout
from mdmem.model import FactId, FilePath, Op, Status
from mdmem.model.errors import PathProblem, SectionProblem, TranscriptProblem, plain
from mdmem.model.history import (
    FactHistory,
    FactLink,
    Made,
    RevisionView,
    SectionHistory,
    ShowHistory,
)
from mdmem.model.reads import SectionView, Show
from mdmem.model.searches import FactList, Hit
from mdmem.model.sessions import ShownMessage, ShowSessions
from mdmem.model.trail import Entry
from mdmem.page import charts, rendering
from mdmem.page.pages import (
    MAX_CHARACTERS,
    Page,
    Piece,
    Query,
    Reader,
    difference,
    facts_now,
    kept,
    number_in,
)
from mdmem.past.differences import DiffKind, word_difference
from mdmem.show.values import to_json
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text import frontmatter
from mdmem.text.document import (
    Document,
    Section,
    common_ends,
    parse,
    parse_bytes,
    split_lines,
)
from mdmem.text.facts import (
    entries,
    key_and_value,
    normalise_key,
    parse_item,
    shortened,
    shown_text,
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
    removed_by: Made | None


def fact(reader: Reader, query: Query) -> Page:
    memory, links = reader.memory, reader.links
    history = kept(
        reader,
        memory.history,
        ShowHistory(target=query["id"], by_id=True, limit=_MOST_VALUES + 1),
    )
    assert isinstance(history, FactHistory)
    chain = history.chain[-_MOST_VALUES:]
    values = [_value(link, chain) for link in reversed(chain)]
    shown = next((value for value in values if value.fact.id == history.fact), None)
    text = shown.fact.text if shown else _unsaved_text(reader, history.fact)
    is_current = history.status is Status.CURRENT
    contradicting = _contradicting(reader, history.fact) if is_current else []
    return Page(
        template="fact",
        title=_cut(text) or history.fact,
        values={
            "fact": history.fact,
            "text_of_fact": text,
            "state": shown.state if shown and not is_current else history.status.value,
            "is_current": is_current,
            "can_change": history.status in (Status.CURRENT, Status.EXPIRED),
            "shown": shown,
            "values": values,
            "left_out": len(history.chain) > len(chain),
            "notes": history.notes,
            "successor": None
            if is_current
            else memory.successors([history.fact]).get(history.fact),
            "contradicting": contradicting,
            "chart": _chart(values, contradicting, reader.now()) if values else "",
            "said": _said(reader, history) if links.is_served else (),
        },
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
        removed_by=None if is_replaced else end,
    )


def _unsaved_text(reader: Reader, fact: FactId) -> str:
    view = reader.memory.show_named(Show(section=fact))
    named = view.text if isinstance(view, SectionView) and view.fact == fact else ""
    return parse_item(named).text


def _contradicting(reader: Reader, fact: FactId) -> list[Hit]:
    return [
        other
        for each in kept(reader, reader.memory.conflicts).conflicts
        for one, other in ((each.first, each.second), (each.second, each.first))
        if one.fact == fact
    ]


def _chart(values: Sequence[Value], contradicting: Sequence[Hit], now: datetime) -> Markup:
    facts = [value.fact for value in reversed(values)]
    starts = [fact.start for fact in facts] + [hit.since for hit in contradicting if hit.since]
    first = min(starts)
    length = max((now - first).total_seconds(), 1)

    def share(moment: datetime | None, otherwise: float) -> float:
        span = (moment - first).total_seconds() / length if moment else otherwise
        return min(1.0, max(0.0, span))

    rows = [
        charts.Period(
            _period_name(fact.text, fact.start, fact.end), share(fact.start, 0), share(fact.end, 1)
        )
        for fact in facts
    ]
    rows += [
        charts.Period(
            f"contradicting: {_period_name(hit.text, hit.since, None)}",
            share(hit.since, 0),
            1,
            is_contradicting=True,
        )
        for hit in contradicting
    ]
    name = f"Values over time: {'; '.join(row.label for row in rows)}"
    return charts.periods(name, rows, (charts.short_day(first.date()), "now"))


def _period_name(text: str, start: datetime | None, end: datetime | None) -> str:
    value = _cut(text, key_and_value(text)[0])
    since = charts.short_day(start.date()) if start else "not saved"
    return f"{value}, {since} to {charts.short_day(end.date()) if end else 'now'}"


def _cut(text: str, key: str | None = None) -> str:
    """A text on one line, without its key, and without secrets: one that is cut is not detected."""
    line = " ".join(secrets.redact(text).split())
    return shortened(line.removeprefix(f"{key}: ") if key else line, _TITLE)


_Messages: TypeAlias = tuple[ShownMessage, ...] | None
"""Cited lines of a session: empty if it is gone, None if they are not shown."""


def _said(reader: Reader, history: FactHistory) -> list[tuple[str, _Messages]]:
    cites = dict.fromkeys(cited for link in reversed(history.chain) for cited in link.made.cites)
    return [
        (
            cited,
            ()
            if cited in history.gone
            else _messages(reader, cited)
            if number < _MOST_SHOWN
            else None,
        )
        for number, cited in enumerate(cites)
    ]


def _messages(reader: Reader, cited: str) -> _Messages:
    asked = ShowSessions(reference=cited, limit=_MESSAGES, chars=_CHARACTERS)
    try:
        return reader.memory.pipelines.cited_messages(asked, cited)
    except (OSError, TranscriptProblem):
        return None


_MOST_INDEXED, _MOST_TAGS = 60, 40
_WITH_VERSIONS = 0.6
"""The share of a page for the text of a section; its versions need the rest."""
_VERSIONS = 20
_MISSING = ("section-not-found", "file-not-found")
_NOT_OVER = (Status.CURRENT, Status.EXPIRED)


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version of a section: its number (1: the oldest), its author, and its changed lines."""

    number: int
    made: Made
    lines: Sequence[ComparedLine]


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


def file(reader: Reader, query: Query) -> Page:
    """A file for reading, or its part named by `section`; with `at`, as it was.

    Raises PathProblem if it is not a memory file.
    """
    if query.get("section"):
        return section(reader, query)
    path = _memory_path(reader, query)
    at = query.get("at", "").strip()
    view = reader.memory.show_as_of(Show(file=path), at) if at else None
    text = view.text if view else reader.memory.look(path)
    if not isinstance(text, str):
        raise PathProblem("file-not-found", f"{path} is a folder", "")
    document = parse(_readable(reader, text))
    title, first = _title(document, path)
    marks = _Marks(reader, path, is_past=bool(at))
    address = partial(reader.links.file, path, at=at)
    lines = _Range(first.body if first else document.front)
    return Page(
        template="file",
        title=title,
        values={
            **_text(reader, query, document, lines, marks, address),
            "path": path,
            "section": None,
            "tags": frontmatter.tags(document)[:_MOST_TAGS],
            "log_day": layout.day_of(path, reader.memory.workspace.daily),
            "index": document.sections[:_MOST_INDEXED],
            "section_count": len(document.sections),
            "day_shown": at,
            "notes": marks.notes,
            "linked_from": () if at else kept(reader, reader.memory.linking_to, path),
            "history": None,
        },
        data={**to_json(reader.memory.outline(path)), "text": text} if not at else view,
        tab="memory",
        back=reader.links.file(path),
        past=(view.as_of or "") if view else "",
    )


def section(reader: Reader, query: Query) -> Page:
    """A section, or the text before the first heading: now, or on a day; with its versions.

    `at`, a whole number, is a version, compared with now.
    """
    memory, path = reader.memory, _memory_path(reader, query)
    at = query.get("at", "").strip()
    day = "" if at.isnumeric() else at
    number = None if day else number_in({**query, "at": at}, "at")
    named = _Place(path, query.get("section") or None, number_in(query, "nth"))
    place, view = _now(reader, named)
    history = kept(reader, memory.history, place.history(number or number_in(query, "upto")))
    assert isinstance(history, SectionHistory)
    path, names = (FilePath(view.path), view.section) if view else (path, history.section)
    past_view = memory.show_as_of(place.show(), day) if day else None
    shown = _part(reader, path, place, past_view or view)
    marks = _Marks(reader, path, is_past=bool(day))
    newest = number or number_in(query, "upto") or history.total
    versions = [_version_row(newest - at, each) for at, each in enumerate(history.revisions)]
    address = partial(reader.links.section, path, names, nth=place.nth, at=day)
    text = _text(reader, query, *shown, marks, address, _WITH_VERSIONS)
    return Page(
        template="file",
        title=names[-1] if names else path.rpartition("/")[2],
        values={
            **text,
            "path": path,
            "section": names,
            "nth": place.nth,
            "alike": place.alike,
            "view": view,
            "tags": (),
            "log_day": None,
            "index": shown[1].inner[:_MOST_INDEXED],
            "section_count": len(shown[1].inner),
            "day_shown": day,
            "notes": marks.notes,
            "linked_from": (),
            "facts": len(marks.hits),
            "over": marks.over,
            "history": history,
            "versions": versions,
            "newer": min(history.total, newest + _VERSIONS) if newest < history.total else 0,
            "older": newest - len(versions),
            "number": number,
            "past": _against_now(reader, history.revisions[0], view) if number else None,
        },
        data={
            **to_json(history),
            **to_json(FactList(facts=tuple(marks.hits), total=len(marks.hits))),
            **(to_json(view) if view else {}),
        },
        tab="memory",
        back=reader.links.section(path, names, nth=place.nth),
        past=(past_view.as_of or "") if past_view else "",
    )


def _readable(reader: Reader, text: str) -> str:
    """A text without secrets for an export; unchanged for a served page."""
    return text if reader.links.is_served else secrets.redact(text)


def _memory_path(reader: Reader, query: Query) -> FilePath:
    path = layout.parse_path(query["path"])
    if not reader.memory.workspace.kind_of(path).is_memory:
        raise PathProblem("file-not-found", f"{path} is not a file of memory", "")
    return path


def _title(document: Document, path: FilePath) -> tuple[str, Section | None]:
    """The title of a file, and the heading it comes from, so that the page does not repeat it."""
    named = frontmatter.values(document).get("title") if document.front else None
    if isinstance(named, str) and named.strip():
        return named.strip(), None
    first = next(iter(document.sections), None)
    if first and first.title and not document.slice(document.front, first.start).strip():
        return first.title, first
    return path, None


@dataclass(frozen=True, slots=True)
class _Range:
    """Lines of a document (from 0) to read, `end` None: to its end; `inner`: its subsections."""

    start: int
    end: int | None = None
    inner: Sequence[Section] = ()


def _part(
    reader: Reader, path: FilePath, place: _Place, view: SectionView | None
) -> tuple[Document, _Range]:
    """A section with those in it: of the file now, else as the view of a past one has it."""
    if view is None:
        return parse(""), _Range(0)
    text = reader.memory.look(path) if view.as_of is None else view.text
    text = text if isinstance(text, str) else ""
    document = parse(_readable(reader, text))
    if view.as_of is not None:
        return document, _Range(0)
    if place.section is None:
        return document, _Range(document.front, document.preamble_end)
    alike = [each for each in document.sections if each.path == view.section]
    chosen = alike[min(place.nth or 1, len(alike)) - 1] if alike else None
    if chosen is None:  # a heading with a secret, in an export
        return parse(_readable(reader, view.text)), _Range(0)
    return document, _Range(chosen.body, chosen.tree_end, document.subsections(chosen))


def _text(
    reader: Reader,
    query: Query,
    document: Document,
    lines: _Range,
    marks: _Marks,
    address: Callable[..., str],
    room: float = 1.0,
) -> dict[str, Any]:
    """A page of a text, from the line of the address on, and the addresses beside it."""
    end = len(document.lines) if lines.end is None else lines.end
    first = max(lines.start, (number_in(query, "from") or 1) - 1)
    address_of = rendering.Places(reader, query["path"]).address
    body = rendering.text_page(document, first, end, marks, address_of, room)
    is_long = first > lines.start or body.next_line is not None
    starts = rendering.page_starts(document.slice(0, end), lines.start, room) if is_long else ()
    before = [start for start in starts if start < first]
    return {
        "body": body,
        "is_empty": not document.slice(lines.start, end).strip(),
        "next": address(**{"from": body.next_line + 1}) if body.next_line is not None else "",
        "previous": address(**{"from": before[-1] + 1 if before[1:] else ""}) if before else "",
        "page_number": len(before) + (first in starts),
        "page_count": len(starts),
    }


class _Marks:
    """The marks of entries in the margin, from what memory knows of their facts."""

    def __init__(self, reader: Reader, path: FilePath, is_past: bool = False) -> None:
        self._reader, self._path, self._is_past = reader, path, is_past
        self._now = reader.now()
        self.hits: list[Hit] = []
        """The current facts among them."""
        self.over = 0
        self.notes: tuple[str, ...] = ()

    def __call__(self, listed: Sequence[Entry]) -> dict[int, rendering.EntryMark]:
        facts = [entry.fact for entry in listed if entry.fact]
        answer = facts_now(self._reader, facts, self._path)
        found, self.notes = answer.facts, tuple(map(plain, answer.notes))
        by_place = {(hit.fact, hit.start_line): hit for hit in found}
        by_fact = {hit.fact: hit for hit in reversed(found)}
        ended = [hit.fact for hit in found if hit.fact and hit.status is Status.SUPERSEDED]
        successors = self._reader.memory.successors(ended) if ended else {}
        marks = {}
        for entry in listed:
            hit = by_place.get((entry.fact, entry.start_line)) or by_fact.get(entry.fact)
            if entry.fact is None or hit is None:
                continue
            is_over = hit.status not in _NOT_OVER
            self.over += hit.status is not Status.CURRENT
            self.hits += [hit] if hit.status is Status.CURRENT else []
            marks[entry.end_line] = rendering.entry_mark(
                self._reader.links,
                hit,
                entry,
                successors.get(entry.fact),
                is_over and not self._is_past,
                self._now,
            )
        return marks


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


def _version_row(number: int, revision: RevisionView) -> VersionRow:
    before, after = differing_parts(revision.before, revision.text)
    compared = compare(read_entries(before), read_entries(after), pairs_alike=True)
    return VersionRow(number, revision.made, [line for line in compared if line.change])


def _against_now(reader: Reader, revision: RevisionView, view: SectionView | None) -> VersionRow:
    """A version with all of its lines, each against now."""
    now = read_entries(view.text if view else "")
    lines = compare(read_entries(revision.text), now, reader.memory.successors)
    return VersionRow(0, revision.made, lines)


# Two texts of a section compared, line by line; all of it pure.


Successors: TypeAlias = Callable[[Sequence[FactId]], Mapping[FactId, FactId]]
"""The current facts in place of some that are no longer current, as of `Memory.successors`."""
_MOST_COMPARED = 400
"""Maximum number of pairs of unmatched lines that are compared with each other."""
_LEAST_SHARED = 0.5
"""Minimum share of a line that its new form has in common with it."""
_ITEM = late.pattern(r"(?:[-*+]|\d{1,9}[.)])\s")
_MAY_REACH_FAR = late.pattern(r"```|~~~|<(?!!--.*-->)[!?A-Za-z]")
"""The beginnings of code and HTML whose end may be anywhere below."""


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A line of two texts: `change` is changed, added or removed; empty where both have it."""

    change: str
    key: str | None
    pieces: tuple[Piece, ...]
    fact: FactId | None


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
