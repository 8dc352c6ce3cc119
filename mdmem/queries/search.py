"""Reading verbs that ask the index: search, facts, conflicts, status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from mdmem import config, files
from mdmem.catchup.index import FreshIndex, fresh_index, index_as_is
from mdmem.document import parse_bytes
from mdmem.errors import PathProblem
from mdmem.facts import find_held_key, normalise
from mdmem.files import ListedFile
from mdmem.model import FileKind, FilePath, SectionPath
from mdmem.model.reads import WorkspaceStatus
from mdmem.model.searches import ConflictView, Hit, ListFacts, Quality, Search, SearchResult
from mdmem.search.explanation import explain_in_words
from mdmem.search.quality import answer_quality as measured
from mdmem.search.query import Filter, IndexQuery
from mdmem.search.ranking import Decay
from mdmem.search.results import Match
from mdmem.search.searcher import BrokenIndex
from mdmem.search.snapshot import FileStamp, Snapshot
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.workspace import Progress, Say, Workspace, two_curated_hint

if TYPE_CHECKING:
    from mdmem import hookfiles, secrets
    from mdmem.catchup import background, trail_update
    from mdmem.queries import as_of, dates
else:
    hookfiles = late.module("mdmem.hookfiles")
    background = late.module("mdmem.catchup.background")
    dates = late.module("mdmem.queries.dates")
    as_of = late.module("mdmem.queries.as_of")
    trail_update = late.module("mdmem.catchup.trail_update")
    secrets = late.module("mdmem.secrets")


def search(workspace: Workspace, wanted: Search, say: Say, progress: Progress | None = None) -> SearchResult:
    """The entries that answer a query best, of what is current.

    Raises:
        UsageProblem: an option's value is out of its range.
    """
    if wanted.as_of is None:
        today = workspace.now().date()
        passing = _filter(workspace, wanted, today)
        found = fresh_index(workspace, say, progress, current=passing.only_current and not wanted.explain)
        found, matches = _matches(workspace, found, wanted, passing, today, say, progress)
        if found.behind:
            background.start_catching_up(workspace)
        hits = _holding(workspace, tuple(match.hit for match in matches), today, say)
        return SearchResult(wanted.query, found.commit, found.stale, hits, found.notes)
    found = fresh_index(workspace, say, progress)
    with trail_update.fresh_trail(workspace, say, progress) as known:
        landmark, day = as_of.resolve_as_of(workspace, known, wanted.as_of)
        passing = _filter(workspace, wanted, day, landmark.number)
        found, matches = _matches(workspace, found, wanted, passing, day, say, progress)
        hits = as_of.hits_as_of(workspace, known, landmark, day, matches)
    return SearchResult(wanted.query, landmark.commit, found.stale, hits, found.notes, wanted.as_of)


def _filter(workspace: Workspace, wanted: Search, today: date, as_of: int | None = None) -> Filter:
    since = until = None
    if wanted.since is not None or wanted.until is not None:
        since = dates.first_day(workspace, wanted.since, "since")
        until = dates.last_day(workspace, wanted.until, "until")
    return Filter(
        file=wanted.file,
        section=wanted.section,
        kind=wanted.kind,
        tags=wanted.tags,
        since=since,
        until=until,
        min_confidence=wanted.min_confidence,
        log_days_from=today - timedelta(days=wanted.recent_days - 1) if wanted.recent_days else None,
        valid_on=None if wanted.history else today,
        zone=config.zone(workspace.settings.timezone),
        history=wanted.history,
        as_of=as_of,
    )


def _matches(
    workspace: Workspace, found: FreshIndex, wanted: Search, passing: Filter, today: date, say: Say, progress: Progress | None
) -> tuple[FreshIndex, tuple[Match, ...]]:
    """The matches, and the index that gave them: built anew where the one that was there turns out to be damaged."""
    asked = IndexQuery(wanted.query, wanted.limit, passing, today, wanted.explain, _decay(workspace, wanted, today))
    try:
        matches = found.index.search(asked)
    except BrokenIndex:
        found = fresh_index(workspace, say, progress, full=True)
        matches = found.index.search(asked)
    return found, _explained(matches, wanted.query) if wanted.explain else matches


def _decay(workspace: Workspace, wanted: Search, today: date) -> Decay | None:
    """How logs lose weight with age, where the settings want it: by the real clock, or as of the day that is asked for."""
    half_life = workspace.settings.half_life_days
    if half_life is None:
        return None
    return Decay(half_life, (today if wanted.as_of is not None else _real_day(workspace)).toordinal())


def _real_day(workspace: Workspace) -> date:
    return datetime.now(config.zone(workspace.settings.timezone)).date()


def _explained(matches: tuple[Match, ...], asked: str) -> tuple[Match, ...]:
    """The matches with hits that say how their score came about."""
    return tuple(
        replace(one, hit=replace(one.hit, explanation=one.explanation and explain_in_words(one.explanation, asked, one.row.entry)))
        for one in matches
    )


def measure_answer(workspace: Workspace, wanted: Search, found: SearchResult) -> Quality:
    """What the events keep of a search. Ages are by the real clock; what was asked is kept only where the settings say so."""
    told = measured(wanted.query, found.hits, _real_day(workspace))
    told = replace(told, behind=found.stale)
    if not workspace.settings.log_queries:
        return told
    return replace(told, query=secrets.redact(wanted.query))


def _holding(workspace: Workspace, hits: tuple[Hit, ...], today: date, say: Say) -> tuple[Hit, ...]:
    """The hits without what contradicted them when they were indexed and has expired since."""
    named = {fact for hit in hits for fact in hit.contradicts}
    if not named:
        return hits
    with trail_update.fresh_trail(workspace, say) as known:
        standing = {fact: [one.entry.until for one in known.occurrences_of(fact) if one.ended is None] for fact in named}
    over = {fact for fact, until in standing.items() if until and all(day is not None and day < today for day in until)}
    return tuple(replace(hit, contradicts=tuple(fact for fact in hit.contradicts if fact not in over)) for hit in hits)


def facts(workspace: Workspace, wanted: ListFacts, say: Say, progress: Progress | None = None) -> tuple[Hit, ...]:
    """The facts of memory, by path and line; those that no longer hold only if `everything` is wanted."""
    today = workspace.now().date()
    passing = Filter(
        section=wanted.section,
        kind=wanted.kind,
        tags=wanted.tags,
        any_tags=wanted.any_tags,
        facts_only=True,
        valid_on=None if wanted.everything else today,
        history=wanted.everything,
        zone=config.zone(workspace.settings.timezone),
    )
    index = fresh_index(workspace, say, progress).index
    try:
        found = index.entries(passing, today)
    except BrokenIndex:
        found = fresh_index(workspace, say, progress, full=True).index.entries(passing, today)
    return _holding(workspace, found, today, say)


def empty_answer_notes(workspace: Workspace, file: str | None, section: str | None, say: Say) -> tuple[str, ...]:
    """A line for the user for each of these in which memory holds nothing, and never held anything."""
    if file is None and section is None:
        return ()
    index = fresh_index(workspace, say).index
    asked = (("file", file, Filter(file=file, history=True)), ("section", section, Filter(section=section, history=True)))
    return tuple(f"memory holds nothing in a {what} {name!r}" for what, name, place in asked if name is not None and not index.holds(place))


def conflicts(workspace: Workspace, say: Say, progress: Progress | None = None) -> tuple[ConflictView, ...]:
    """The current facts that contradict each other, each pair once in a section, by path and line."""
    known = facts(workspace, ListFacts(), say, progress)
    key_of = _keys(known)
    found: dict[Hashable, ConflictView] = {}
    for one in known:
        for fact in one.contradicts:
            others = [hit for hit in known if hit.fact == fact and one.fact in hit.contradicts]
            beside = [hit for hit in others if _place(hit) == _place(one)]
            pair = frozenset((one.fact or fact, fact))
            for other in (beside or others)[:1]:
                key = key_of(one) if beside and key_of(one) == key_of(other) else None
                found.setdefault((_place(one), pair) if beside else pair, ConflictView(one, other, key))
    return tuple(found.values())


def _unindexed(listed: Iterable[ListedFile], seen: Snapshot) -> Iterator[tuple[FilePath, str]]:
    """The files that cannot be indexed, and why: as the index saw them, or where they have changed since, as they are."""
    for found in listed:
        known = seen.files.get(found.path)
        if known is not None and known.stamp == FileStamp.of(found.status):
            if known.skipped:
                yield found.path, known.skipped
            continue
        try:
            parse_bytes(files.read(found.full_path) or b"")
        except PathProblem as problem:
            yield found.path, problem.message


def _place(hit: Hit) -> tuple[str, SectionPath]:
    return hit.path, hit.section


def _keys(known: Sequence[Hit]) -> Callable[[Hit], str | None]:
    """The key that a fact holds, as the first one of its section writes it; some facts hold one that only others name."""
    written: dict[tuple[str, SectionPath], dict[str, str]] = defaultdict(dict)
    for hit in known:
        if hit.key is not None:
            written[_place(hit)].setdefault(normalise(hit.key), hit.key)

    def key_of(hit: Hit) -> str | None:
        keys = written[_place(hit)]
        held = normalise(hit.key) if hit.key is not None else find_held_key(hit.text, keys)
        return None if held is None else keys[held]

    return key_of


def status(workspace: Workspace) -> WorkspaceStatus:
    """How the workspace stands; nothing is changed by asking."""
    listed = workspace.memory_files()
    kinds = [workspace.kind_of(path) for path in listed]
    index, current = index_as_is(workspace)
    pending = tuple(path for path in workspace.repository.pending() if workspace.kind_of(path).is_memory)
    return WorkspaceStatus(
        str(workspace.root),
        workspace.repository.branch(),
        workspace.repository.head(),
        {kind.value: kinds.count(kind) for kind in FileKind if kind.is_memory},
        pending,
        tuple(_unindexed(listed.values(), index.seen)),
        index.count,
        index.seen.commit,
        current,
        hookfiles.hook_states(workspace.repository.hooks_dir),
        (note,) if (note := two_curated_hint(workspace)) else (),
    )
