"""Past memory: what was true as of a date or commit, and which version of a fact a question about
the past asks for first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from mdmem.editors.merge3.merging import merge3
from mdmem.folder import layout
from mdmem.index import pages
from mdmem.index.indexed import fact_label, fact_number, statement_number
from mdmem.index.indexer import SearchIndex
from mdmem.index.query import IndexQuery
from mdmem.index.ranking import SCORE_DIGITS
from mdmem.index.results import Match, make_hit, scored
from mdmem.index.schema import IndexRow
from mdmem.lookup import dates, lookup
from mdmem.merge import again
from mdmem.model import CommitId, FactId, FileKind, FilePath, SectionPath
from mdmem.model.errors import HistoryProblem, PathProblem, field, verb
from mdmem.model.reads import SectionView, Show
from mdmem.model.searches import Hit
from mdmem.model.trail import Entry, Occurrence, Ranges, TrailCommit, complement, intersection
from mdmem.past import file_changes, fresh_trail, lines
from mdmem.past.entry_states import identity_on_disk
from mdmem.past.file_changes import ChainLink
from mdmem.past.table import Trail, was_live
from mdmem.queries.past_questions import Asked, CalendarSpan, PastQuestion
from mdmem.repo.first_parent import merge_bases
from mdmem.startup.records import dataclass, replace
from mdmem.text import contradictions
from mdmem.text.document import Document
from mdmem.text.facts import items, normalise_key
from mdmem.text.terms import STOP_WORDS, folded, pairs, split_scripts, stem
from mdmem.workspace import Say, Workspace

if TYPE_CHECKING:
    from mdmem.past.table import Trail

_FactInSection = tuple[FilePath, SectionPath, FactId | None]


@dataclass(frozen=True, slots=True)
class PastState:
    """Memory as the commits `known` tell it.

    `commits` are the newest of these, the newest last; `is_tree`: one commit's own past. `day`
    judges expiry; `words` are those asked for, a day in words as an ISO date.
    """

    known: Ranges
    commits: tuple[CommitId, ...]
    day: date
    words: str
    is_tree: bool = False

    @property
    def commit(self) -> CommitId:
        return self.commits[-1]


def resolve_as_of(workspace: Workspace, trail: Trail, words: str) -> PastState:
    """The state of memory that a text means; raises UsageProblem, HistoryProblem."""
    if (span := dates.parse_iso(workspace, words, "as_of")) is not None:
        return _at_end_of(workspace, trail, words, span)
    commit = workspace.repository.commit_named(words)
    if commit is None and (span := dates.parse_words(workspace, words, "as_of")) is not None:
        end = span.moment.isoformat() if span.moment else span.last.isoformat()
        return replace(_at_end_of(workspace, trail, words, span), words=end)
    if commit is None or not workspace.repository.is_ancestor(commit):
        why = "is not in the history of HEAD" if commit else "is neither a date nor a commit"
        hint = workspace.shallow_hint() or f"To list commits: {verb('history')}"
        raise HistoryProblem("commit-not-found", f"{field('as_of')}: {words[:80]!r} {why}", hint)
    nearest = lines.nearest_commits(workspace, trail, commit)
    if not nearest and workspace.history_boundary is not None:
        raise HistoryProblem(
            "commit-not-found",
            f"{field('as_of')}: {words[:80]!r} is not in this clone",
            workspace.shallow_hint(),
        )
    day = max(
        (workspace.local_time(each.moment).date() for each in nearest),
        default=workspace.now().date(),
    )
    return PastState(known=_past_of(nearest), commits=(commit,), day=day, words=words, is_tree=True)


def _past_of(commits: Sequence[TrailCommit]) -> Ranges:
    last = max((each.number for each in commits), default=0)
    missing = complement((), last)
    for each in commits:
        missing = intersection(
            missing, (*each.missing, *(((each.number + 1, last),) if each.number < last else ()))
        )
    return complement(missing, last)


def _at_end_of(workspace: Workspace, trail: Trail, words: str, span: dates.DateSpan) -> PastState:
    seconds, day = dates.end_of_span(workspace, span)
    moments = trail.moments
    is_past = seconds < workspace.now().timestamp()  # what HEAD reaches is known now
    known = moments.upto(seconds if is_past else math.inf)
    if not known:
        since, hint = "nothing is committed yet", ""
        if (first := moments.first()) is not None:
            since = f"memory begins on {workspace.local_time(first):%Y-%m-%d}"
            hint = "Use that day or a later one."
        raise HistoryProblem(
            "before-history",
            f"{words} is before the first commit: {since}",
            workspace.shallow_hint() or hint,
        )
    heads = trail.heads_within(known) or tuple(filter(None, [trail.commit_numbered(known[0][0])]))
    return PastState(
        known=known, commits=tuple(each.commit for each in heads), day=day, words=words
    )


def state_and_file(
    workspace: Workspace, words: str, path: FilePath, say: Say
) -> tuple[PastState, bytes | None]:
    """The state of memory that a text means, and a file as it was; raises as `resolve_as_of`."""
    with fresh_trail(workspace, say) as trail:
        past = resolve_as_of(workspace, trail, words)
    return past, _file_of(workspace, path, past.commits)


def hits_as_of(
    workspace: Workspace, trail: Trail, past: PastState, matches: Sequence[Match]
) -> tuple[Hit, ...]:
    """Hits with lines and contradictions as of then; of one commit only its own entries."""
    paths = list(dict.fromkeys(match.row.entry.path for match in matches))
    entries: dict[FilePath, list[Entry]] = {path: [] for path in paths}
    for commit in reversed(past.commits):
        contents = workspace.repository.read(commit, paths)
        for path in paths:
            entries[path] += pages.entries_at_commit(workspace, contents, path)
    contradicting = _contradicting_facts(
        trail, past, [entry for in_file in entries.values() for entry in in_file]
    )
    hits = []
    for match in matches:
        indexed, identity = match.row.entry, identity_on_disk(match.row.entry)
        entry = next(
            (entry for entry in entries[indexed.path] if identity_on_disk(entry) == identity), None
        )
        if entry is None and past.is_tree:
            continue
        place = entry or indexed
        facts = tuple(
            dict.fromkeys(contradicting.get((indexed.path, indexed.section, indexed.fact), ()))
        )
        hits.append(
            replace(
                match.hit, start_line=place.start_line, end_line=place.end_line, contradicts=facts
            )
        )
    return tuple(hits)


def _contradicting_facts(
    trail: Trail, past: PastState, entries: Sequence[Entry]
) -> dict[_FactInSection, list[FactId]]:
    marks, day = trail.pair_marks(past.known), past.day
    by_key = contradictions.find_conflicts(
        [replace(pages.entry_claim(entry, None), time=0) for entry in entries if entry.fact],
        (),
        day,
    )
    facts = {claim.id for conflict in by_key for claim in (conflict.first, conflict.second)}
    facts |= {fact for mark in marks for fact in (mark.fact, mark.other) if fact}
    current = [
        each
        for fact in facts
        for each in trail.occurrences_of(fact)
        if was_current(trail, each, past.known)
    ]
    current.sort(
        key=lambda occurrence: (
            occurrence.entry.path,
            occurrence.entry.start_line,
            occurrence.number,
        )
    )
    claims = [pages.entry_claim(occurrence.entry, occurrence) for occurrence in current]
    contradicting: dict[_FactInSection, list[FactId]] = defaultdict(list)
    for conflict in contradictions.find_conflicts(claims, marks, day):
        for first, second in ((conflict.first, conflict.second), (conflict.second, conflict.first)):
            contradicting[first.path, first.section, first.id].append(second.id)
    return contradicting


def was_current(trail: Trail, occurrence: Occurrence, known: Ranges) -> bool:
    marks = trail.marks_of(occurrence.number, include_ended=True)
    return was_live(occurrence, known) and not any(was_live(mark, known) for mark in marks)


def show_as_of(workspace: Workspace, request: Show, as_of: str, say: Say) -> SectionView:
    """A section, the preamble or a whole file as it was; names in `request` are those of then."""
    path = lookup.memory_file(workspace, request.file) or workspace.curated
    with fresh_trail(workspace, say) as trail:
        past = resolve_as_of(workspace, trail, as_of)
        data = _file_of(workspace, path, past.commits)
        if data is None:
            message = f"there was no {path} as of {past.words}"
            raise PathProblem("file-not-found", message, f"To see what changed: {verb('changes')}")
        document = workspace.parse(path, data)
        return _view(trail, past, path, document, request)


def _file_of(workspace: Workspace, path: FilePath, commits: Sequence[CommitId]) -> bytes | None:
    repository = workspace.repository
    versions = {commit: repository.read(commit, [path])[path] for commit in commits}
    if not any(version is not None for version in versions.values()):
        return None
    newest, *others = reversed(commits)
    data = versions[newest] or b""
    for commit in others:
        version = versions[commit] or b""
        base = again.base_text(repository, merge_bases(repository, newest, commit), path)
        merged = None if base is None else merge3(base, data, version, workspace.kind_of(path)).data
        data = data if merged is None else merged  # what then is not in it follows as said by then
    return data


def _view(
    trail: Trail, past: PastState, path: FilePath, document: Document, request: Show
) -> SectionView:
    view, section = lookup.view_of(path, document, request, past.commit)
    view = replace(view, as_of=past.words, commits=past.commits)
    if past.is_tree:
        return view
    wanted = section.path if section else () if request.preamble else None
    ended, said = _differences(trail, past, path, document, wanted)
    lines = (
        range(section.body if section else view.start_line - 1, view.end_line) if view.text else ()
    )
    text = "".join(document.slice(line, line + 1) for line in lines if line not in ended)
    return replace(view, text=text, said=said)


def _differences(
    trail: Trail, past: PastState, path: FilePath, document: Document, section: SectionPath | None
) -> tuple[Collection[int], tuple[str, ...]]:
    """Lines whose facts had ended, and stated facts that the document lacks, as after a rebase."""
    occurrences = [
        each
        for each in trail.occurrences_in(path)
        if each.entry.fact and section in (None, each.entry.section)
    ]
    known = {(each.entry.section, each.entry.fact) for each in occurrences}
    live = {
        (each.entry.section, each.entry.fact) for each in occurrences if was_live(each, past.known)
    }
    places = [(item, (document.path_at(item.start), item.fact.id)) for item in items(document)]
    innermost = {line: place for item, place in places for line in range(item.start, item.end)}
    ended = {line for line, place in innermost.items() if place in known - live}
    there = {place for _, place in places}
    current = [each.entry for each in occurrences if was_current(trail, each, past.known)]
    return ended, tuple(
        entry.first_line for entry in current if (entry.section, entry.fact) not in there
    )


LOOKED_AT = 24
"""Hits among whose facts one with a past is looked for."""

_PAST_FACTOR = 1.25
"""For versions asked for by position: facts without a past are no answer then."""

_DAY = timedelta(days=1)
_NEXT_SCORE = 10**-SCORE_DIGITS
"""The least difference of two scores."""

_RowKey = tuple[FilePath, SectionPath, str, int | None]


@dataclass(frozen=True, slots=True)
class FactVersion:
    """A version of a fact: its row, and the days from `first` up to `end` (None: current)."""

    row: IndexRow
    first: date
    end: date | None

    @property
    def words(self) -> frozenset[str]:
        return _terms(self.row.entry.text)

    def days_within(self, first: date, last: date) -> int:
        end = (
            last.toordinal() + 1
            if self.end is None
            else min(self.end.toordinal(), last.toordinal() + 1)
        )
        return max(0, end - max(self.first, first).toordinal())


def put_versions_first(
    workspace: Workspace,
    trail: Trail,
    index: SearchIndex,
    matches: Sequence[Match],
    request: IndexQuery,
    readings: Sequence[PastQuestion],
) -> tuple[Match, ...]:
    """The version asked for takes the place of its chain's best match; or all versions do.

    On a day, it precedes that day's log lines if the question has all words of its key.
    """
    finder = _ChainFinder(workspace, trail, index, request)
    if len(matches) >= LOOKED_AT and any(reading.span for reading in readings):
        matches = (*matches, *_curated_matches(index, request))
    own = {_key(match.row): match for match in matches}
    ordered: dict[_RowKey, Match] = {}
    for number, match in enumerate(matches):
        is_looked_at = number < LOOKED_AT or _names_key(request.query, match.row)
        reading, versions = choose_versions(
            finder.versions(match.row) if is_looked_at else (), readings, request.today
        )
        score = match.hit.score * (_PAST_FACTOR if reading and reading.span is None else 1)
        for version in versions:
            key = _key(version.row)
            if reading and reading.span and _names_key(request.query, version.row):
                score = max(score, _best_of_logs(matches, reading.span) + _NEXT_SCORE)
            ordered.setdefault(
                key, _scored(own.get(key), match, version.row, round(score, SCORE_DIGITS), request)
            )
        ordered.setdefault(_key(match.row), match)
    return tuple(sorted(ordered.values(), key=lambda match: (match.hit.near, -match.hit.score)))[
        : request.limit
    ]


def _key(row: IndexRow) -> _RowKey:
    entry = row.entry
    return entry.path, entry.section, entry.fact or f"line {entry.start_line}", row.lifetime.begun


def _curated_matches(index: SearchIndex, request: IndexQuery) -> tuple[Match, ...]:
    """Curated matches, which a day of many log entries hides."""
    return index.finder.search(
        replace(request, limit=LOOKED_AT, filter=replace(request.filter, log_days_from=date.max))
    )


def _names_key(question: str, row: IndexRow) -> bool:
    key, colon, _ = normalise_key(row.entry.text).partition(": ")
    words = _terms(key) if colon else frozenset()
    return bool(words) and words <= _terms(question)


def _best_of_logs(matches: Sequence[Match], span: CalendarSpan) -> float:
    lines = [each.hit for each in matches if each.row.kind is FileKind.DAILY]
    return max((hit.score for hit in lines if hit.day and span.has(hit.day)), default=0)


def _scored(
    own: Match | None, place: Match, row: IndexRow, score: float, request: IndexQuery
) -> Match:
    """A version's match with its chain's best score; its own words may not match."""
    match = own or Match(
        make_hit(row, place.hit.score, request.filter, request.today), row, place.explanation
    )
    match = scored(match, score, "version")
    return replace(match, hit=replace(match.hit, near=False))


class _ChainFinder:
    def __init__(
        self, workspace: Workspace, trail: Trail, index: SearchIndex, request: IndexQuery
    ) -> None:
        self._workspace = workspace
        self._trail = trail
        self._index = index
        self._request = request
        self._moments = trail.moments
        self._versions: dict[_RowKey, tuple[FactVersion, ...]] = {}

    def versions(self, row: IndexRow) -> tuple[FactVersion, ...]:
        if row.entry.fact is None or row.lifetime.begun is None:
            return ()
        if _key(row) not in self._versions:
            versions = tuple(self._of_chain(self._chain(row)))
            self._versions |= {_key(row): versions} | {
                _key(version.row): versions for version in versions
            }
        return self._versions[_key(row)]

    def _chain(self, row: IndexRow) -> tuple[ChainLink, ...]:
        entry = row.entry
        assert entry.fact is not None  # else it has no versions
        same = [
            each for each in self._trail.occurrences_of(entry.fact) if each.entry.path == entry.path
        ]
        among = {each.number for each in same if each.begun == row.lifetime.begun} or {
            each.number for each in same
        }
        return file_changes.fact_chain(entry.fact, self._trail, among)

    def _of_chain(self, chain: Sequence[ChainLink]) -> Iterator[FactVersion]:
        if len(chain) < 2:
            return
        rows = self._rows(chain)
        spans = sorted(
            zip(chain, map(self._first_day, chain), strict=True),
            key=lambda pair: (pair[1], pair[0].start.number),
        )
        for number, (link, first) in enumerate(spans):
            row = rows(link)
            following = spans[number + 1][1] if number + 1 < len(spans) else None
            end = self._local_day(link.end.number) if link.end else None
            if end is not None and following is not None:
                end = min(end, following)
            if row is not None:
                yield FactVersion(row, first, end)

    def _rows(self, chain: Iterable[ChainLink]) -> Callable[[ChainLink], IndexRow | None]:
        numbers = {
            fact_number(link.entry.path, link.entry.section, link.id): fact_label(link.id)
            for link in chain
        }
        by_number: dict[int, list[IndexRow]] = {}
        for row in self._index.finder.occurrences(
            numbers, self._request.filter, self._request.today
        ):
            by_number.setdefault(statement_number(row.entry), []).append(row)

        def nearest(link: ChainLink) -> IndexRow | None:
            rows = by_number.get(fact_number(link.entry.path, link.entry.section, link.id), ())
            return min(
                rows,
                key=lambda row: abs((row.lifetime.begun or 0) - link.start.number),
                default=None,
            )

        return nearest

    def _first_day(self, link: ChainLink) -> date:
        day = layout.day_of(link.entry.path, self._workspace.daily)
        return day or self._local_day(link.start.number)

    def _local_day(self, number: int) -> date:
        return self._workspace.local_time(self._moments.of(number)).date()


# Which version.


def choose_versions(
    versions: Sequence[FactVersion], readings: Iterable[PastQuestion], today: date
) -> tuple[PastQuestion | None, Sequence[FactVersion]]:
    if len(versions) < 2:
        return None, ()
    chooser = _Chooser(versions, today)
    return next(
        ((reading, chosen) for reading in readings if (chosen := chooser.choose(reading))),
        (None, ()),
    )


class _Chooser:
    def __init__(self, versions: Sequence[FactVersion], today: date) -> None:
        self._versions = versions
        self._today = today
        in_all = frozenset.intersection(*(version.words for version in versions))
        self._own_words: Mapping[int, frozenset[str]] = {
            number: version.words - in_all for number, version in enumerate(versions)
        }

    def choose(self, reading: PastQuestion) -> Sequence[FactVersion]:
        versions = self._versions
        if reading.span is None and any(
            _terms(reading.cue) & version.words for version in versions
        ):
            return ()  # it speaks of the fact, and not of its past: `first name`
        match reading.asked:
            case Asked.ALL:
                return versions
            case Asked.BEFORE_VERSION:
                return self._at(self._named(reading.words)[-1:], -1)
            case Asked.AFTER_VERSION:
                return self._at(self._named(reading.words)[:1], 1)
            case Asked.HELD | Asked.HELD_BEFORE | Asked.HELD_AFTER:
                return self._of_days(reading)
            case Asked.FIRST:
                return self._at(self._named(reading.words)[:1] or [0])
            case Asked.NTH:
                return self._at([reading.number - 1])
            case Asked.BEGUN:
                return self._at(self._named(reading.words)[-1:] or [len(versions) - 1])
            case Asked.PREVIOUS:
                return versions[-2:-1] if versions[-1].end is None else versions[-1:]
            case Asked.LAST:
                return versions[-1:]

    def _at(self, numbers: Sequence[int], step: int = 0) -> Sequence[FactVersion]:
        at = [number + step for number in numbers]
        return [self._versions[number] for number in at if 0 <= number < len(self._versions)]

    def _named(self, words: str) -> list[int]:
        """Versions with most of the words that not all versions have."""
        terms = _terms(words)
        shared = {number: len(terms & own) for number, own in self._own_words.items()}
        most = max(shared.values())
        return [number for number, count in shared.items() if count == most] if most else []

    def _of_days(self, reading: PastQuestion) -> Sequence[FactVersion]:
        """The version held longest in the days of a reading; before or after, the nearest."""
        assert reading.span is not None  # it asks for days
        for year in (
            [reading.span.year]
            if reading.span.year
            else range(self._today.year, self._versions[0].first.year - 1, -1)
        ):
            first, last = reading.span.in_year(year)
            if reading.span.year is None and first > self._today:
                continue
            if reading.asked is not Asked.HELD:
                is_before = reading.asked is Asked.HELD_BEFORE
                first = last = first - _DAY if is_before else last + _DAY
            best = max(
                self._versions,
                key=lambda version: (version.days_within(first, last), version.first),
            )
            if best.days_within(first, last):
                return [best]
        return ()


def _terms(text: str) -> frozenset[str]:
    scripts = split_scripts(text)
    words = {stem(word) for word in folded(scripts.spaced) if word not in STOP_WORDS}
    return frozenset(words | {pair for run in scripts.runs for pair in pairs(run) or [run]})
