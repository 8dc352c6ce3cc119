"""The verbs that ask the index: search, facts, recall, tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from mdmem import secrets
from mdmem.events import Quality
from mdmem.folder import config, trust
from mdmem.index import background, ranking, results
from mdmem.index.catching_up import FreshIndex, PoolMember, fresh_index
from mdmem.index.gate import answer_quality
from mdmem.index.indexed import most_tagged
from mdmem.index.query import Filter, IndexQuery, read_syntax
from mdmem.index.ranking import Decay, Meaning
from mdmem.index.results import Match
from mdmem.index.schema import BrokenIndex
from mdmem.index.searcher import IndexSearcher
from mdmem.lookup import dates
from mdmem.model import Status
from mdmem.model.errors import HistoryProblem
from mdmem.model.searches import (
    FactList,
    Hit,
    ListFacts,
    Search,
    SearchResult,
    TagCatalogue,
)
from mdmem.model.trail import Ranges
from mdmem.past import fresh_trail
from mdmem.queries import folders, later
from mdmem.startup.records import replace
from mdmem.text.asked_days import AskedDays, asked_days
from mdmem.text.facts import OPEN_BOX, minute_of, own_text, own_words, plain_tag, split_key
from mdmem.text.terms import tells_something
from mdmem.workspace import Progress, Say, Workspace

if TYPE_CHECKING:
    from mdmem.queries.past_questions import PastQuestion
    from mdmem.queries.versions import PastState
    from mdmem.vectors.questions import AskedMeaning

T = TypeVar("T")
_MOST_LOOKED_AT = 2_000
"""Maximum hits looked at for those in a commit's own files."""
_NEAREST = 8
_MOST_READ = 100
"""Entries of the days that a question names that are looked at."""
_MOST_OF_DAYS = 8
"""Entries of the days that a question names which have none of its other words."""
_OTHERS_SHARE = 0.8
"""Of the best score, for those: enough for a block of a prompt to show them."""


def search(
    workspace: Workspace, request: Search, say: Say, progress: Progress | None = None
) -> SearchResult:
    """The entries that answer a query best; raises UsageProblem.

    `#x` and `tag:x` in it are a tag where an entry has it, else words; `[ ]` asks for open tasks.
    """
    if OPEN_BOX.strip() in request.query and not request.kind and not request.sessions:
        words = request.query.replace(OPEN_BOX.strip(), " ")
        found = search(workspace, replace(request, query=words, kind="task"), say, progress)
        return replace(found, query=request.query)
    is_plain = request.sessions or not ("#" in request.query or "tag:" in request.query)
    asked = request if is_plain else _with_tags(workspace, request, say)
    return replace(_search(workspace, asked, say, progress), query=request.query)


def _with_tags(workspace: Workspace, request: Search, say: Say) -> Search:
    named = {word: plain_tag(word) for word in request.query.split()}
    finder = fresh(workspace, say).index.finder
    tags = {
        word: tag
        for word, tag in named.items()
        if tag not in ("", word) and finder.holds(Filter(tags=(tag,), history=True))
    }
    words = " ".join(word for word in named if word not in tags)
    return replace(request, query=words, tags=(*request.tags, *tags.values()))


def _search(
    workspace: Workspace, request: Search, say: Say, progress: Progress | None
) -> SearchResult:
    if request.as_of is not None:
        index = fresh(workspace, say, progress)
        return _search_as_of(workspace, index, request, request.as_of, say=say, progress=progress)
    today = workspace.now().date()
    entry_filter = filter_of(workspace, request, today)
    index = fresh(
        workspace,
        say,
        progress,
        # a list of the entries of a day knows nothing of what is laid over the index
        current=entry_filter.only_current and not request.explain and not _days(request, today),
        in_part=request.has_words and entry_filter.only_current,
    )
    query = query_of(workspace, request, entry_filter, today)
    meaning = None if request.words_only else _meaning(workspace, index, request)
    result = _search_now(workspace, index, request, replace(query, meaning=meaning), say, progress)
    return _with_meaning(workspace, result, meaning, request.words_only)


def _meaning(
    workspace: Workspace, index: FreshIndex, request: Search, seconds: float | None = None
) -> AskedMeaning | None:
    """The meaning of a question for current entries of one workspace, where vectors are on.

    `seconds`: how long to wait for a vector that is not kept on disk; None: as the settings say.
    """
    if (
        workspace.settings.vectors == "off"
        or request.history
        or index.members
        or not ranking.may_be_asked(request.query)
    ):
        return None
    from mdmem.vectors.questions import AskedMeaning  # noqa: PLC0415 - only with vectors

    wait = workspace.settings.vectors_wait / 1000 if seconds is None else seconds
    return AskedMeaning(workspace, request.query, wait, is_kept=seconds is None)


def _with_meaning(
    workspace: Workspace, result: SearchResult, meaning: AskedMeaning | None, words_only: bool
) -> SearchResult:
    if words_only and workspace.settings.vectors != "off":
        return replace(result, vectors="off")
    if meaning is None:
        return result
    if meaning.is_incomplete:
        background.start_catching_up(workspace)
    notes = (meaning.note,) if meaning.note else ()
    return replace(result, vectors=meaning.state, notes=(*result.notes, *notes))


def fresh(
    workspace: Workspace,
    say: Say,
    progress: Progress | None = None,
    without_pool: bool = False,
    **how: bool,
) -> FreshIndex:
    """The index of a workspace, with those of its pool or (`without_pool`) their names alone.

    `how` is as of `fresh_index`.
    """
    if not workspace.pool:
        return fresh_index(workspace, say, progress, **how)
    # only with a pool
    from mdmem.queries import pool  # noqa: PLC0415

    if without_pool:
        missing = tuple(pool.names(workspace))
        return replace(fresh_index(workspace, say, progress, **how), missing=missing)
    return pool.fresh_indexes(workspace, say, progress, **how)


def _ask(
    workspace: Workspace,
    index: FreshIndex,
    ask: Callable[[IndexSearcher], T],
    say: Say,
    progress: Progress | None,
) -> tuple[FreshIndex, T]:
    """The index and its answer; if it is damaged, those of the same one rebuilt, with its pool."""
    try:
        return index, ask(index.index.finder)
    except BrokenIndex:
        asking = workspace if index.members else replace(workspace, added=None)
        index = fresh(asking, say, progress, full=True)
        return index, ask(index.index.finder)


def search_in(
    workspace: Workspace,
    index: FreshIndex,
    request: Search,
    say: Say,
    meaning_seconds: float = 0.0,
) -> SearchResult:
    """Search by a fresh index; adjacent entries count in full, as a block shows them together.

    `meaning_seconds`: the longest to wait for the question's vector; 0: without.
    """
    if request.as_of is not None:
        return _search_as_of(workspace, index, request, request.as_of, say=say, is_typed=False)
    today = workspace.now().date()
    query = query_of(
        workspace, request, filter_of(workspace, request, today), today, is_typed=False
    )
    meaning = _meaning(workspace, index, request, meaning_seconds) if meaning_seconds else None
    result = _search_now(workspace, index, request, replace(query, meaning=meaning), say, None)
    return _with_meaning(workspace, result, meaning, words_only=False)


def nearest_entries(
    workspace: Workspace, texts: Iterable[str], say: Say
) -> list[tuple[str, tuple[str, ...]]]:
    index = fresh_index(workspace, say, current=True)
    return [(text, nearest_in(workspace, index, text, say)) for text in texts]


def nearest_in(workspace: Workspace, index: FreshIndex, text: str, say: Say) -> tuple[str, ...]:
    return tuple(
        hit.text
        for hit in search_in(workspace, index, Search(query=text, limit=_NEAREST), say).hits
    )


def _search_now(
    workspace: Workspace,
    index: FreshIndex,
    request: Search,
    query: IndexQuery,
    say: Say,
    progress: Progress | None,
) -> SearchResult:
    asks_now = request.has_words and not request.history
    if asks_now:
        query = replace(query, changes_within=later.LOOKED_AT)
    index, matches = _matches(workspace, index, request, query, say, progress)
    if index.behind:
        background.start_catching_up(workspace)
    if asks_now and matches and all(match.hit.near for match in matches):
        # the words of a forgotten entry of a log count for its neighbours as before
        everything = Filter(zone=query.filter.zone, history=True)
        limit = max(query.limit, later.LOOKED_AT)
        whole = replace(query, filter=everything, meaning=None, limit=limit, changes_within=0)
        index, nearest = _matches(workspace, index, request, whole, say, progress)
        if all(each.hit.near or each.hit.status is Status.REMOVED for each in nearest):
            matches = ()
    days = _days(request, query.today) if asks_now else None
    if days:
        index, matches = _days_first(
            workspace, index, query, days=days, found=matches, say=say, progress=progress
        )
    if query.syntax and request.has_words:
        found = matches
        index, more = _ask(
            workspace, index, lambda finder: finder.like_words(query, found), say, progress
        )
        matches = (*found, *more)
    hits = tuple(
        replace(hit, text=own_text(hit.text)) if hit.fact and hit.status is Status.CURRENT else hit
        for hit in (match.hit for match in matches)
    )
    if asks_now:
        hits = later.put_later_first(hits, query.limit)
    hits = completed_hits(workspace, hits, query.today, say, index.members)
    notes = (*index.notes, *_missing_past(workspace, request.history))
    if days and request.explain:
        notes = (*notes, f"days in the query: {days.first} to {days.last}")
    return SearchResult(
        query=request.query,
        commit=index.commit,
        stale=index.stale,
        hits=hits,
        notes=notes,
        since=dates.understood(request.since, query.filter.since),
        until=dates.understood(request.until, query.filter.until),
        building=index.building,
        missing=index.missing,
    )


def _days(request: Search, today: date) -> AskedDays | None:
    if not request.days or request.since is not None or request.until is not None:
        return None
    return asked_days(request.query, today)


def _days_first(
    workspace: Workspace,
    index: FreshIndex,
    query: IndexQuery,
    days: AskedDays,
    found: Sequence[Match],
    say: Say,
    progress: Progress | None,
) -> tuple[FreshIndex, tuple[Match, ...]]:
    """First the entries of the days that a question names: those that say something in its other
    words and, where it looks back, a few others; then the rest.
    """

    def find(finder: IndexSearcher) -> tuple[Match, ...]:
        tells = tells_something(days.words, finder.lexicon.languages)
        own = _told(finder, query, days, 0) if tells else []
        if tells and not own and days.around:
            own = _told(finder, query, days, days.around)
        most = min(_MOST_OF_DAYS, query.limit // 2 if tells else query.limit)
        best = max((each.hit.score for each in (*found, *own)), default=1.0)
        first = tuple(
            _scored(each, best * (_OTHERS_SHARE + worth))
            for each, worth in _by_worth(finder, query, days, own, most=most, is_worth_asked=tells)
        )
        return _explained(first, days.words) if query.explain else first

    index, first = _ask(workspace, index, find, say, progress)
    shown = {results.place_of(each.row) for each in first}
    rest = (each for each in found if results.place_of(each.row) not in shown)
    return index, (*first, *rest)[: max(query.limit, query.looked_at)]


def _told(finder: IndexSearcher, query: IndexQuery, days: AskedDays, around: int) -> list[Match]:
    """The entries of these days, or of some around, with other words of the question."""
    span = timedelta(days=around)
    within = replace(query.filter, since=days.first - span, until=days.last + span)
    asked = replace(query, query=days.words, filter=within, meaning=None, changes_within=0)
    return [each for each in finder.search(asked) if not each.hit.near]


def _by_worth(
    finder: IndexSearcher,
    query: IndexQuery,
    days: AskedDays,
    own: Sequence[Match],
    *,
    most: int,
    is_worth_asked: bool,
) -> list[tuple[Match, float]]:
    """Entries that words found, and at most so many others of these days, with what each is worth.

    `is_worth_asked`: likeness and the kind of answer count too.
    """
    of_days = replace(query.filter, since=days.first, until=days.last)
    meaning = query.meaning if is_worth_asked else None
    is_asked = meaning is not None and (meaning.is_always_asked or not own)
    kinds = ranking.kinds_asked(query.query) if is_worth_asked else 0
    read = _MOST_READ if kinds or is_asked else most + len(own)
    lists_others = days.looks_back and not finder.is_laid_over
    listed = finder.newest(of_days, query.today, read)[0] if lists_others else ()
    if len(listed) == read and any(each.hit.day is None for each in listed):  # committed that day
        listed = finder.newest(of_days, query.today, _MOST_READ)[0]
    shown = {results.place_of(each.row) for each in own}
    others = sorted(
        (each for each in listed if results.place_of(each.row) not in shown),
        key=lambda each: (each.hit.day is None, results.position_key(each.row)),
    )
    likeness = _likeness(finder, meaning, [*own, *others]) if meaning and is_asked else {}
    best = max((each.hit.score for each in own), default=1.0)

    def worth(each: Match) -> float:
        hit = each.hit
        is_near = hit.day is not None and not days.first <= hit.day <= days.last
        return (
            hit.score / best * (ranking.NEAR_DAY_SHARE if is_near else 1.0)
            + ranking.LIKE_OF_DAY * likeness.get((hit.path, hit.start_line), 0.0)
            + ranking.KIND_OF_DAY * ranking.is_of_kind(each.row.entry, kinds)
            + ranking.HOURS_OF_DAY * _is_of(days.hours, each)
        )

    rest = sorted(((each, worth(each)) for each in others), key=itemgetter(1), reverse=True)[:most]
    return sorted((*((each, worth(each)) for each in own), *rest), key=itemgetter(1), reverse=True)


def _likeness(
    finder: IndexSearcher, meaning: Meaning, matches: Sequence[Match]
) -> dict[tuple[str, int], float]:
    """The shares of likeness of entries in the files of matches, by path and line."""
    keys = {
        (path, held[-1].start_line): key
        for path in dict.fromkeys(match.row.entry.path for match in matches)
        for key, _, held in finder.passages_of(path)
    }
    found = meaning.likeness(list(keys.values()))
    return dict(zip(keys, found.shares(list(keys.values())), strict=True)) if found else {}


def _is_of(hours: range, match: Match) -> bool:
    """True for an entry with a time of these hours."""
    minute = minute_of(match.row.entry)
    return minute is not None and int(minute[:2]) in hours


def _scored(match: Match, score: float) -> Match:
    return results.scored(match, round(score, ranking.SCORE_DIGITS), "days")


def _search_as_of(
    workspace: Workspace,
    index: FreshIndex,
    request: Search,
    words: str,
    *,
    say: Say,
    progress: Progress | None = None,
    is_typed: bool = True,
) -> SearchResult:
    past, hits = _hits_as_of(workspace, index, request, words, say, progress, is_typed)
    entry_filter = filter_of(workspace, request, past.day)
    missing = list(index.missing or ())
    notes = list(index.notes)
    for name, member in index.members.items():
        if name is not None:
            own = replace(index, index=member.index, members={})
            try:
                others = _hits_as_of(member.workspace, own, request, words, say, progress)[1]
            except HistoryProblem as problem:
                if problem.code != "before-history":
                    missing.append(name)
                    notes.append(f"{name} is missing from this answer: {problem.message}")
                continue
            hits = (*hits, *(replace(hit, workspace=name) for hit in others))
    if len(index.members) > 1:
        shown = {hit.fact: hit.workspace for hit in reversed(hits)} | {None: None}
        hits = tuple(hit for hit in hits if not hit.fact or shown[hit.fact] == hit.workspace)
        hits = tuple(sorted(hits, key=lambda hit: (hit.near, -hit.score))[: request.limit])
    return SearchResult(
        query=request.query,
        commit=past.commit,
        commits=past.commits,
        stale=index.stale,
        hits=hits,
        notes=(*notes, *_missing_past(workspace, asks_for_past=True)),
        as_of=past.words,
        since=dates.understood(request.since, entry_filter.since),
        until=dates.understood(request.until, entry_filter.until),
        building=index.building,
        missing=None if index.missing is None else tuple(missing),
    )


def _hits_as_of(
    workspace: Workspace,
    index: FreshIndex,
    request: Search,
    words: str,
    say: Say,
    progress: Progress | None,
    is_typed: bool = True,
) -> tuple[PastState, tuple[Hit, ...]]:
    # with all that reads old files
    from mdmem.queries import versions  # noqa: PLC0415

    if index.members:
        index = replace(index, index=index.members[None].index, members={})
    with fresh_trail(workspace, say, progress) as trail:
        past = versions.resolve_as_of(workspace, trail, words)
        entry_filter = filter_of(workspace, request, past.day, past.known)
        query = query_of(workspace, request, entry_filter, past.day, is_typed=is_typed)
        while True:
            index, matches = _matches(workspace, index, request, query, say, progress)
            hits = versions.hits_as_of(workspace, trail, past, matches)
            # A tree has not all that its past tells of.
            if not len(hits) < query.limit == len(matches) < _MOST_LOOKED_AT:
                return past, _with_other_authors(workspace, hits[: request.limit])
            query = replace(query, limit=4 * query.limit)


def _missing_past(workspace: Workspace, asks_for_past: bool) -> tuple[str, ...]:
    note = workspace.missing_past() or (workspace.shallow_hint() if asks_for_past else "")
    return (note,) if note else ()


def filter_of(
    workspace: Workspace, request: Search, today: date, known: Ranges | None = None
) -> Filter:
    since, until = dates.days_asked(workspace, request.since, request.until)
    return Filter(
        file=request.file,
        section=request.section,
        kind=request.kind,
        tags=request.tags,
        actor=request.actor,
        session=request.session,
        source=request.source,
        since=since,
        until=until,
        min_confidence=request.min_confidence,
        log_days_from=(
            today - timedelta(days=request.recent_days - 1) if request.recent_days else None
        ),
        valid_on=None if request.history else today,
        zone=config.zone(workspace.settings.timezone),
        history=request.history,
        as_of=known,
    )


def query_of(
    workspace: Workspace,
    request: Search,
    entry_filter: Filter,
    today: date,
    is_typed: bool = True,
) -> IndexQuery:
    """The query of a request; in one for a block, quotes and dashes are text."""
    words, syntax = read_syntax(request.query) if is_typed else (request.query, None)
    return IndexQuery(
        query=words,
        syntax=syntax,
        limit=request.limit,
        filter=entry_filter,
        today=today,
        explain=request.explain,
        decay=_decay(workspace, request, today),
        owner=tuple(name for name in workspace.settings.owner if "@" not in name),
        spread=is_typed,
    )


def _matches(
    workspace: Workspace,
    index: FreshIndex,
    request: Search,
    query: IndexQuery,
    say: Say,
    progress: Progress | None,
) -> tuple[FreshIndex, tuple[Match, ...]]:
    readings: tuple[PastQuestion, ...] = ()
    if request.history and request.limit:
        # only for questions about the past
        from mdmem.queries import past_questions, versions  # noqa: PLC0415

        readings = past_questions.read_question(request.query, query.today)
    wider = replace(query, limit=max(query.limit, versions.LOOKED_AT)) if readings else query

    def find(finder: IndexSearcher) -> tuple[Match, ...]:
        if request.has_words:
            found = finder.search(wider)
            named = [each.row for each in found if each.row.about]
            if named and (names := results.names_meant(wider, named)):
                asked = replace(wider, query=f"{wider.query} {' '.join(names)}")
                return results.notes_first(finder.search(asked), names)
            return found
        return finder.newest(query.filter, query.today, query.limit)[0]

    index, matches = _ask(workspace, index, find, say, progress)
    if readings:
        members = index.members or {None: PoolMember(workspace, index.index)}
        ordered: list[Match] = []
        for name, member in members.items():
            own = [match for match in matches if match.row.workspace == name]
            with fresh_trail(member.workspace, say, progress) as trail:
                versions_first = versions.put_versions_first(
                    member.workspace, trail, member.index, own, query, readings
                )
            ordered += (results.in_workspace(match, name) for match in versions_first)
        ordered.sort(key=lambda match: (match.hit.near, -match.hit.score))
        matches = tuple(ordered[: query.limit])
    return index, _explained(matches, request.query) if request.explain else matches


def _decay(workspace: Workspace, request: Search, today: date) -> Decay | None:
    """The weight loss of logs by age, by the real clock or the request's day."""
    half_life = workspace.settings.half_life_days
    if half_life is None:
        return None
    return Decay(
        half_life, (today if request.as_of is not None else _real_day(workspace)).toordinal()
    )


def _real_day(workspace: Workspace) -> date:
    return datetime.now(config.zone(workspace.settings.timezone)).date()


def _explained(matches: Iterable[Match], query: str) -> tuple[Match, ...]:
    def explained(match: Match) -> Match:
        in_words = match.explanation and results.explain_in_words(
            match.explanation, query, match.row.entry
        )
        return replace(match, hit=replace(match.hit, explanation=in_words))

    return tuple(map(explained, matches))


def measure_answer(workspace: Workspace, request: Search, result: SearchResult) -> Quality:
    """Figures for the event of a search; ages are by the real clock."""
    quality = replace(
        answer_quality(request.query, result.hits, _real_day(workspace)), behind=result.stale
    )
    if not workspace.settings.log_queries:
        return quality
    return replace(quality, query=secrets.redact(request.query))


def completed_hits(
    workspace: Workspace,
    hits: tuple[Hit, ...],
    today: date,
    say: Say,
    members: Mapping[str | None, PoolMember] = MappingProxyType({}),
) -> tuple[Hit, ...]:
    """Hits as an answer gives them: other authors by name, without expired contradictions."""
    if members:
        completed = {
            name: iter(
                completed_hits(
                    member.workspace,
                    tuple(hit for hit in hits if hit.workspace == name),
                    today,
                    say,
                )
            )
            for name, member in members.items()
        }
        return tuple(next(completed[hit.workspace]) for hit in hits)
    return _with_other_authors(
        workspace, _without_expired_contradictions(workspace, hits, today, say)
    )


def _with_other_authors(workspace: Workspace, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    if all(hit.author is None for hit in hits):
        return hits
    addresses = workspace.user_addresses
    return tuple(
        replace(hit, author=hit.author and trust.other_author(hit.author, addresses))
        for hit in hits
    )


def _without_expired_contradictions(
    workspace: Workspace, hits: tuple[Hit, ...], today: date, say: Say
) -> tuple[Hit, ...]:
    """Contradicting facts may have expired since they were indexed."""
    facts = {fact for hit in hits for fact in hit.contradicts}
    if not facts:
        return hits
    with fresh_trail(workspace, say) as trail:
        last_days = {
            fact: [each.entry.until for each in trail.occurrences_of(fact) if each.ended is None]
            for fact in facts
        }
    expired = {
        fact
        for fact, days in last_days.items()
        if days and all(day is not None and day < today for day in days)
    }
    return tuple(
        replace(hit, contradicts=tuple(fact for fact in hit.contradicts if fact not in expired))
        for hit in hits
    )


def facts(
    workspace: Workspace, request: ListFacts, say: Say, progress: Progress | None = None
) -> FactList:
    """Facts, newest first; those no longer current only with `everything`."""
    return facts_in(workspace, fresh(workspace, say, progress), request, say, progress)


def facts_in(
    workspace: Workspace,
    index: FreshIndex,
    request: ListFacts,
    say: Say,
    progress: Progress | None = None,
    contradicted: bool = False,
) -> FactList:
    """The same by an index that is fresh already; `contradicted`: only facts that others deny."""
    today = workspace.now().date()
    since, until = dates.days_asked(workspace, request.since, request.until)
    entry_filter = Filter(
        contradicted=contradicted,
        file=request.file,
        section=request.section,
        kind=request.kind,
        tags=request.tags,
        any_tags=request.any_tags,
        ids=request.ids,
        actor=request.actor,
        session=request.session,
        since=since,
        until=until,
        facts_only=True,
        keyed=request.key is not None,
        undone=not request.everything,
        settled=not (request.everything or request.kind or request.ids or request.key),
        valid_on=None if request.everything else today,
        expires_by=_last_day_to_expire(workspace, request),
        history=request.everything,
        zone=config.zone(workspace.settings.timezone),
    )
    limit, offset = request.limit or None, request.offset
    is_exact = request.key is None and not request.ids
    asked = (limit, offset) if is_exact else (None, 0)
    index, (matches, total) = _ask(
        workspace, index, lambda finder: finder.newest(entry_filter, today, *asked), say, progress
    )
    hits = tuple(replace(each.hit, fact=each.hit.fact or each.hit.item) for each in matches)
    if not is_exact:
        words = (own_words(match.row.entry) for match in matches)
        pairs = zip(hits, words, strict=True)
        hits = tuple(hit for hit, own in pairs if is_listed(request, hit, own))
        hits, total = hits[offset:][:limit], len(hits)
    facts = completed_hits(workspace, hits, today, say, index.members)
    notes = (*index.notes, *_missing_past(workspace, request.everything))
    return FactList(
        facts=facts,
        total=total,
        stale=index.stale,
        notes=notes,
        since=dates.understood(request.since, since),
        until=dates.understood(request.until, until),
        building=index.building,
        missing=index.missing,
    )


def is_listed(request: ListFacts, hit: Hit, words: str | None = None) -> bool:
    """True if a hit has the key and one of the ids that were asked for; labels say less.

    `words` are those of a nested item alone.
    """
    has_key = request.key is None or bool(split_key(words or hit.text, request.key)[0])
    return has_key and (not request.ids or hit.fact in request.ids)


def _last_day_to_expire(workspace: Workspace, request: ListFacts) -> date | None:
    if request.expiring is None:
        return None
    return dates.last_day_to_come(workspace, request.expiring, "expiring")


def best_tagged(listed: FactList, tags: tuple[str, ...], limit: int) -> FactList:
    """Facts with most of these tags first, otherwise in their order; `limit` 0: all."""
    return replace(listed, facts=tuple(most_tagged(listed.facts, tags)[: limit or None]))


def tag_catalogue(workspace: Workspace, say: Say, progress: Progress | None = None) -> TagCatalogue:
    """The tags of current facts, the most used first."""
    return tags_in(workspace, fresh(workspace, say, progress), say, progress)


def tags_in(
    workspace: Workspace,
    index: FreshIndex,
    say: Say,
    progress: Progress | None = None,
    past: PastState | None = None,
) -> TagCatalogue:
    today = past.day if past else workspace.now().date()
    entry_filter = Filter(
        facts_only=True,
        undone=True,
        settled=True,
        valid_on=today,
        as_of=past.known if past else None,
        zone=config.zone(workspace.settings.timezone),
    )
    index, counts = _ask(
        workspace, index, lambda finder: finder.tags(entry_filter, today), say, progress
    )
    notes = (*index.notes, *_missing_past(workspace, asks_for_past=False))
    return TagCatalogue(
        tags=counts,
        stale=index.stale,
        notes=notes,
        building=index.building,
        missing=index.missing,
    )


def empty_answer_notes(
    workspace: Workspace, file: str | None, section: str | None, say: Say
) -> tuple[str, ...]:
    """Notes if memory never had this file or section; else on Markdown that is not memory."""
    if file is None and section is None:
        note = folders.other_markdown_note(workspace)
        return (note,) if note else ()
    index = fresh(workspace, say).index
    filters = (
        ("memory file", file, Filter(file=file, history=True)),
        ("section", section, Filter(section=section, history=True)),
    )
    return tuple(
        f"no {what} {name!r}"
        for what, name, entry_filter in filters
        if name is not None and not index.finder.holds(entry_filter)
    )
