"""A section: its facts, its versions, and one version compared with now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Any, TypeAlias

from mdmem.model import FactId, FilePath, SectionPath, Status
from mdmem.model.errors import PathProblem, SectionProblem
from mdmem.model.history import Made, RevisionView, SectionHistory, ShowHistory
from mdmem.model.reads import SectionView, Show
from mdmem.model.searches import FactList, Hit, ListFacts
from mdmem.model.trail import Entry
from mdmem.page import markdown
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
from mdmem.show.values import to_json
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import common_ends, join_path, parse_bytes, split_lines
from mdmem.text.facts import (
    entries,
    key_and_value,
    normalise_key,
    shortened,
    shown_text,
    split_until,
)

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
    room = markdown.MAX_CHARACTERS
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
        tags=hit.tags[:_MOST_LABELS],
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
