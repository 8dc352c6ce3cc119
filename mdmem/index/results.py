"""Rows of the index to hits: one for each statement, with its status, in order. Pure."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, tzinfo
from functools import lru_cache
from pathlib import PurePath

from mdmem.index import ranking
from mdmem.index.indexed import copies_number, statement_number
from mdmem.index.query import Filter, IndexQuery
from mdmem.index.schema import NEVER, IndexRow
from mdmem.model import FactId, FileKind, SectionPath, Status
from mdmem.model.searches import Explanation, Factor, Hit, ScorePart
from mdmem.model.trail import Entry
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import (
    ABOUT_JOINT,
    entry_tags,
    is_done_task,
    is_nested,
    minute_of,
    own_words,
    parse_text,
    shown_text,
)
from mdmem.text.terms import indexed_words, stem, words_in_order

_WORD = late.pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|\w+")


def explain_in_words(explanation: Explanation, query: str, entry: Entry) -> Explanation:
    """An explanation for a person to read.

    Index terms become the words typed, or those of the entry and its headings; those of neighbours
    are not at hand, so a related one stays a stem.
    """
    typed = _by_stem([query])
    in_entry = _by_stem([entry.text, *entry.section])

    def part_in_words(part: ScorePart) -> ScorePart:
        term_word = (
            typed.get(part.query_word, part.query_word)
            if part.term == part.query_word
            else part.term
        )
        return ScorePart(
            part.field,
            in_entry.get(part.term, term_word),
            typed.get(part.query_word, part.query_word),
            part.score,
        )

    return Explanation(tuple(map(part_in_words, explanation.parts)), explanation.factors)


def _by_stem(texts: Iterable[str]) -> dict[str, str]:
    words_by_stem: dict[str, str] = {}
    for text in texts:
        for word in _WORD.findall(text):
            for indexed_word in indexed_words(word):
                words_by_stem.setdefault(stem(indexed_word), word)
    return words_by_stem


_MOMENTS_KEPT = 1024
_MOST_CURRENT = (Status.CURRENT, Status.SUPERSEDED, Status.EXPIRED, Status.REMOVED)


@dataclass(frozen=True, slots=True)
class Match:
    hit: Hit
    row: IndexRow
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A candidate with its row.

    `day` is an ordinal; `held`: query words in its text; `near`: none in its headings either;
    `copies`: the number shared with its copies (`copies_of`).
    """

    score: float
    day: int
    number: int
    row: IndexRow
    held: AbstractSet[str]
    near: bool
    copies: int = 0

    @property
    def place(self) -> tuple[str | None, str, SectionPath]:
        return (
            self.row.workspace,
            self.row.entry.path,
            () if self.row.kind is FileKind.DAILY else self.row.entry.section,
        )

    def is_beside(self, other: CandidateRow) -> bool:
        """True if another of its place is a few lines away."""
        entry, near = self.row.entry, other.row.entry
        return (
            max(entry.start_line - near.end_line, near.start_line - entry.end_line)
            <= ranking.BESIDE_LINES
        )

    def waiting_at(self, score: float) -> _Waiting:
        """Sort those waiting: the better score, the newer day, then path and line."""
        return -score, -self.day, self.row.entry.path, self.row.entry.start_line, self.number, self


_Waiting = tuple[float, int, str, int, int, CandidateRow]


class FirstHits:
    """The first hits of a search, chosen one by one.

    A statement and its copies (`copy_rank`) are one hit. A hit beside better ones ranks lower
    (`ranking.beside_factor`), except in searches of the past, where versions belong together. Of a
    fact that several workspaces of a `pool` have, the first one's is the hit.
    """

    def __init__(self, request: IndexQuery, pool: Sequence[str | None] = (None,)) -> None:
        self.scores: dict[int, float] = {}
        self.beside: dict[int, float] = {}
        self._request = request
        self._spreads = request.spread and not request.filter.history
        self._best: dict[object, tuple[int, IndexRow]] = {}
        self._near: dict[object, tuple[int, IndexRow]] = {}
        self._of_place: dict[object, list[CandidateRow]] = {}
        self._further: dict[object, tuple[int, IndexRow]] = {}
        self._curated: dict[int, object] = {}
        """By the number of a fact with copies, the curated line that is their hit."""
        self._last = 0.0, 0
        self._pool = pool
        self._of_fact: dict[FactId | None, tuple[str | None, object]] = {}
        """In a pool: by the id of a fact, the workspace of its hit, and the hit."""

    @property
    def best(self) -> list[tuple[int, IndexRow]]:
        """Those that hold words of the query, and those that tie with the last of them."""
        return list(self._best.values())

    @property
    def near(self) -> list[tuple[int, IndexRow]]:
        """Those that hold none, if others are fewer than asked for."""
        return list(self._near.values()) if len(self._best) < self._request.limit else []

    @property
    def further(self) -> list[tuple[int, IndexRow]]:
        """Those added after the first ones, in their order."""
        return list(self._further.values())

    def add_further(self, candidate: CandidateRow) -> None:
        """Add a candidate behind the first hits, if it holds words of the query and is none."""
        identity = self._identity(candidate)
        if candidate.near or identity in self._best or identity in self._further:
            return
        self.scores[candidate.number], self.beside[candidate.number] = candidate.score, 1.0
        self._further[identity] = candidate.number, candidate.row

    def choose(
        self,
        ordered: Iterator[tuple[float, int, int]],
        read: Callable[[float, int, int], CandidateRow],
    ) -> None:
        """Choose among candidates (score, day, number; best first), reading as few as possible."""
        waiting: list[_Waiting] = []
        statements: set[object] = set()
        coming, previous = next(ordered, None), (0.0, 0)
        while coming or waiting:
            if coming and (not waiting or (-coming[0], -coming[1]) <= waiting[0][:2]):
                if self._is_full_before(*coming[:2]):
                    break
                if (
                    len(statements) >= ranking.READ_A_HIT * self._request.looked_at
                    and coming[:2] < previous
                ):
                    coming = None
                    continue
                candidate, previous = read(*coming), coming[:2]
                if not candidate.near:
                    statements.add(self._identity(candidate))
                insort(waiting, candidate.waiting_at(candidate.score))
                coming = next(ordered, None)
                continue
            negative, *_, candidate = waiting.pop(0)
            if self._is_full_before(-negative, candidate.day):
                break
            factor = self._beside(candidate)
            score = round(candidate.score * factor, ranking.SCORE_DIGITS)
            if score < -negative:
                insort(waiting, candidate.waiting_at(score))
            else:
                self._take(candidate, score, factor)

    def _is_full_before(self, score: float, day: int) -> bool:
        return len(self._best) >= self._request.limit and (score, day) < self._last

    def _beside(self, candidate: CandidateRow) -> float:
        if candidate.near or not self._spreads or self._identity(candidate) in self._best:
            return 1.0
        better = [
            other.held
            for other in self._of_place.get(candidate.place, ())
            if other.is_beside(candidate)
        ]
        return ranking.beside_factor(candidate.held, better) if better else 1.0

    def _identity(self, candidate: CandidateRow) -> object:
        if len(self._pool) == 1:
            return self._own_identity(candidate)
        row = candidate.row
        workspace, identity = self._of_fact.get(row.entry.fact, (row.workspace, None))
        return self._own_identity(candidate) if workspace == row.workspace else identity

    def _own_identity(self, candidate: CandidateRow) -> object:
        row = candidate.row
        if self._request.filter.reaches_back:
            number = statement_number(row.entry)
            return number if row.workspace is None else (row.workspace, number)
        place, copies = place_of(row), candidate.copies
        return (
            copies
            if copies and (row.kind is FileKind.DAILY or self._curated.get(copies, place) == place)
            else place
        )

    def _take(self, candidate: CandidateRow, score: float, factor: float) -> None:
        hits = self._near if candidate.near else self._best
        identity, row = self._identity(candidate), candidate.row
        if isinstance(identity, int) and row.kind is not FileKind.DAILY:
            self._curated[identity] = place_of(row)
        previous = hits.get(identity)
        if previous is None:
            self.scores[candidate.number], self.beside[candidate.number] = score, factor
            hits[identity] = candidate.number, row
            if not candidate.near:
                self._last = score, candidate.day
                self._of_place.setdefault(candidate.place, []).append(candidate)
        elif row.entry.fact is not None and self._rank(row) < self._rank(previous[1]):
            hits[identity] = previous[0], row
        else:
            return
        if row.entry.fact is not None and len(self._pool) > 1:
            self._of_fact[row.entry.fact] = row.workspace, identity

    def _rank(self, row: IndexRow) -> tuple[float, ...]:
        return self._pool.index(row.workspace), *copy_rank(row)


def place_of(row: IndexRow) -> object:
    """Equal for the lines that say a fact twice in one section."""
    entry = row.entry
    return row.workspace, entry.path, entry.section, entry.fact or entry.end_line


def copies_of(row: IndexRow) -> int:
    """The number that copies of one fact share (`labels.copies_number`); 0 for what has none."""
    if row.kind is FileKind.BOOTSTRAP:
        return 0
    return int(row.lifetime.promoted, 16) if row.lifetime.promoted else copies_number(row.entry)


def copy_rank(row: IndexRow) -> tuple[bool, int, float, int]:
    """Sort copies of a fact: curated, then the newest log line, then the first line."""
    entry, is_log = row.entry, row.kind is FileKind.DAILY
    newest = (-entry.day.toordinal(), -_newness(row)) if is_log and entry.day else (0, 0.0)
    return is_log, *newest, entry.start_line


def joined_copies(rows: Iterable[IndexRow], passing_filter: Filter, today: date) -> list[IndexRow]:
    """Rows without current copies of others; two curated lines are two facts."""
    kept: list[IndexRow] = []
    of_logs: dict[int, IndexRow] = {}
    curated: set[int] = set()
    for row in rows:
        copies = copies_of(row) if _status(row, passing_filter, today) is Status.CURRENT else 0
        if not copies or row.kind is not FileKind.DAILY:
            kept.append(row)
            curated.add(copies)
        elif copies not in of_logs or copy_rank(row) < copy_rank(of_logs[copies]):
            of_logs[copies] = row
    return [*kept, *(row for copies, row in of_logs.items() if copies not in curated)]


def best_copy(row: IndexRow, copies: Iterable[IndexRow]) -> IndexRow:
    """A row, or the curated line of whose fact it is a copy in a log."""
    if row.kind is not FileKind.DAILY or row.lifetime.status is not Status.CURRENT:
        return row
    return min(
        (each for each in copies if each.kind is not FileKind.DAILY), key=position_key, default=row
    )


def current_rows(
    rows: Iterable[IndexRow], passing_filter: Filter, today: date
) -> Iterator[IndexRow]:
    return (row for row in rows if _status(row, passing_filter, today) is Status.CURRENT)


def without_copies(
    facts: Sequence[int], logged: Sequence[int], ages: Sequence[tuple[int, float, int]]
) -> list[int]:
    """Positions of entries that are no copies: curated lines, else the newest log line.

    `facts`: the numbers that copies share, or 0. `logged`: the days of their logs, or NO_DAY.
    """
    curated = {fact for fact, day in zip(facts, logged, strict=True) if day == ranking.NO_DAY}
    newest: dict[int, int] = {}
    kept = []
    for number, (fact, day) in enumerate(zip(facts, logged, strict=True)):
        if not fact or day == ranking.NO_DAY:
            kept.append(number)
        elif fact not in curated and (fact not in newest or ages[number] < ages[newest[fact]]):
            newest[fact] = number
    return [*kept, *newest.values()]


def names_meant(request: IndexQuery, named: Iterable[IndexRow]) -> dict[str, bool]:
    """The names of notes that a query means by an alias, or another name in their front matter.

    `named`: rows with these; True for the note of a query that is nothing else.
    """
    if request.syntax and request.syntax.is_whole:
        return {}
    asked, meant = words_in_order(request.query), dict[str, bool]()
    for row in named:
        name, aliases = _note_name(row), map(words_in_order, row.about.split(ABOUT_JOINT))
        said = [alias for alias in aliases if alias in asked]
        if said and row.entry.day is None and words_in_order(name) not in asked:
            meant[name] = asked in said
    return meant


def notes_first(found: Iterable[Match], names: Mapping[str, bool]) -> tuple[Match, ...]:
    """Entries of the notes that a query names, before lines that link there."""
    return tuple(
        sorted(found, key=lambda each: (each.hit.near, not names.get(_note_name(each.row))))
    )


def _note_name(row: IndexRow) -> str:
    return PurePath(row.entry.path).stem


def with_copies(hit: Hit, row: IndexRow, copies: Iterable[IndexRow]) -> Hit:
    """Add the places of a hit's copies in logs; rewordings only where they are cited."""
    if hit.status is not Status.CURRENT:
        return hit
    logs = [
        each
        for each in copies
        if each.kind is FileKind.DAILY and each is not row and place_of(each) != place_of(row)
    ]
    if not logs:
        return hit
    logs.sort(key=copy_rank)
    places = {
        f"{each.entry.path}:{each.entry.start_line}": each.entry.fact == hit.fact for each in logs
    }
    cites = tuple(place for place, is_same in places.items() if not is_same)
    return replace(
        hit,
        also=tuple(place for place, is_same in places.items() if is_same),
        cites=(*hit.cites, *cites),
    )


def static_factors(row: IndexRow, factors: Iterable[Factor]) -> Iterator[Factor]:
    for factor in factors:
        if factor.name != "trust":
            yield factor
            continue
        by_file = Factor("file", ranking.static_factor(row.kind, 1.0))
        by_confidence = Factor(
            "confidence",
            ranking.static_factor(
                FileKind.EVERGREEN, row.origin.confidence if row.origin else None
            ),
        )
        by_contradiction = Factor(
            "contradicted", ranking.static_factor(FileKind.EVERGREEN, 1.0, row.lifetime.weaker)
        )
        yield from (part for part in (by_file, by_confidence, by_contradiction) if part.value != 1)


def rank_key(match: Match) -> tuple[bool, float, int, int, str, int, float]:
    hit = match.hit
    status = _MOST_CURRENT.index(hit.status)
    return (
        hit.near,
        -hit.score,
        status,
        -(hit.day or date.min).toordinal(),
        hit.path,
        hit.start_line,
        -_newness(match.row),
    )


def position_key(row: IndexRow) -> tuple[str, int, float, str, str]:
    """Sort by path and line, then the later begun, text, and last commit."""
    entry = row.entry
    return entry.path, entry.start_line, -_newness(row), entry.text, row.last or ""


def age(
    day: int, seconds: int | None, begun: int, zone: tzinfo | None, today: date
) -> tuple[int, float, int]:
    """A sort key, newest first: by day, time of the commit, number of the first live commit.

    With NO_DAY it is its commit's day, or `today` while uncommitted.
    """
    if not day:
        day = (today if seconds is None else _moment(seconds, zone)).toordinal()
    return -day, -math.inf if seconds is None else -seconds, -begun


def row_age(row: IndexRow, zone: tzinfo | None, today: date) -> tuple[int, float, int]:
    day, begun = row.entry.day.toordinal() if row.entry.day else ranking.NO_DAY, row.lifetime.begun
    return age(
        day, row.origin.time if row.origin else None, NEVER if begun is None else begun, zone, today
    )


def _newness(row: IndexRow) -> float:
    return math.inf if row.lifetime.begun is None else row.lifetime.begun


def visible_rows(rows: Iterable[IndexRow], passing_filter: Filter, today: date) -> list[IndexRow]:
    """The first occurrence of each current statement, and every one no longer current."""
    past_rows: list[IndexRow] = []
    best: dict[int, IndexRow] = {}
    for row in rows:
        label = statement_number(row.entry)
        if _status(row, passing_filter, today) is not Status.CURRENT:
            past_rows.append(row)
        elif label not in best or row.entry.start_line < best[label].entry.start_line:
            best[label] = row
    return [*best.values(), *past_rows]


def _status(row: IndexRow, passing_filter: Filter, today: date) -> Status:
    """The status of an occurrence on a day; with `as_of`, later events are ignored."""
    if passing_filter.as_of is not None:
        return Status.CURRENT
    if row.lifetime.status is not Status.CURRENT:
        return row.lifetime.status
    if not row.lifetime.is_live:
        return Status.REMOVED
    return (
        Status.EXPIRED
        if row.entry.until is not None and row.entry.until < today
        else Status.CURRENT
    )


def make_hit(row: IndexRow, score: float, wanted: Filter, today: date, near: bool = False) -> Hit:
    """The hit of a row; with `as_of` its commit is the one that added it."""
    entry, origin, life = row.entry, row.origin, row.lifetime
    now = wanted.as_of is None
    brought_in = origin.commit if origin else None
    nested = parse_text(own_words(entry)) if is_nested(entry) else None
    return Hit(
        path=entry.path,
        start_line=entry.start_line,
        end_line=entry.end_line,
        section=entry.section,
        kind=entry.kind,
        day=entry.day,
        text=shown_text(entry),
        score=score,
        fact=entry.fact,
        key=nested.key if nested else entry.key,
        tags=entry_tags(entry),
        source=origin.source if origin else None,
        confidence=origin.confidence if origin else None,
        status=_status(row, wanted, today),
        until=entry.until,
        commit=(row.last or brought_in) if now else brought_in,
        uncommitted=row.uncommitted,
        superseded_by=life.superseded_by if now else None,
        contradicts=life.contradicts if now else (),
        since=_moment(origin.time, wanted.zone) if origin else None,
        near=near,
        explanation=None,
        cites=origin.cites if origin else (),
        attribute=origin.attribute if origin else None,
        author=origin.author if origin else None,
        promoted=life.promoted if now else None,
        retracted=now and life.is_live and life.status is Status.REMOVED,
        workspace=row.workspace,
        claimed_by=origin.claimed_by if origin else None,
        done=is_done_task(entry),
        item=nested.id if nested else None,
        minute=minute_of(entry),
    )


def like_match(row: IndexRow, score: float, share: float, request: IndexQuery) -> Match:
    hit = replace(make_hit(row, score, request.filter, request.today), like=True)
    factor = Factor("like", round(share, ranking.SCORE_DIGITS))
    return Match(hit, row, Explanation((), (factor,)) if request.explain else None)


def scored(match: Match, score: float, name: str) -> Match:
    """A match with another score; the change is a factor of this name."""
    explanation = match.explanation
    if explanation is not None and match.hit.score != score:
        factor = Factor(name, round(score / (match.hit.score or score), ranking.SCORE_DIGITS))
        explanation = Explanation(explanation.parts, (*explanation.factors, factor))
    return replace(match, hit=replace(match.hit, score=score), explanation=explanation)


def in_workspace(match: Match, name: str | None) -> Match:
    return replace(
        match, hit=replace(match.hit, workspace=name), row=replace(match.row, workspace=name)
    )


@lru_cache(maxsize=_MOMENTS_KEPT)
def _moment(seconds: int, zone: tzinfo | None) -> datetime:
    """Cached, since most rows of an answer share a few commits."""
    return datetime.fromtimestamp(seconds, zone).astimezone(zone)
