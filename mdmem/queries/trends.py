"""Trends over days and weeks: of facts, from the trail alone; of Markdown, from git alone."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta, tzinfo
from functools import partial
from heapq import nlargest
from itertools import accumulate
from pathlib import Path
from time import tzname
from typing import TypeVar

from mdmem.folder import config, files
from mdmem.folder.config import Settings
from mdmem.model import MAX_FILE_BYTES, CommitId, FactId, FileKind, FilePath, Source
from mdmem.model.history import (
    ActiveDay,
    ChangeKind,
    FactActivity,
    FactDay,
    FactTrends,
    MarkdownTrends,
    ShowTrends,
    TrendKind,
    TrendSection,
    TrendWriter,
)
from mdmem.model.reads import ShowFigures
from mdmem.model.rules import fold_actor
from mdmem.model.trail import FactCount, FactSpan, MarkKind
from mdmem.past import lifetimes
from mdmem.past.lifetimes import LOG_FORMAT, LineCounter, LineFigures
from mdmem.past.trail_update import is_log
from mdmem.queries.fact_changes import Maker, counts_since
from mdmem.queries.past import Past, look_back
from mdmem.repo import Repository, discovery, runner
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Say, Workspace

T = TypeVar("T")
_MOST_SECTIONS = 10
_HOUR, _HOURS_A_DAY, _UNTOUCHED_HOURS = 3600, 24, 7 * 24
_QUARTER = 900
"""No zone has its midnight between quarters of an hour of UTC."""
_EPOCH = date(1970, 1, 2)
_CURATED = (FileKind.EVERGREEN, FileKind.PROFILE)


def fact_trends(workspace: Workspace, request: ShowTrends, say: Say) -> FactTrends:
    """The facts of a workspace over the last days."""
    with look_back(workspace, say) as past:
        return _TrendReader(past, request).trends()


def activity(workspace: Workspace, request: ShowTrends, say: Say) -> FactActivity:
    """The part of the trends that needs only the changes of the period."""
    with look_back(workspace, say) as past:
        return _TrendReader(past, request).activity()


@dataclass(frozen=True, slots=True)
class _Stay:
    """The time in which a fact was current in a place (`end` None: it is), in epoch seconds."""

    begin: int
    end: int | None
    source: Source
    kind: str
    is_curated: bool

    def holds(self, moment: int) -> bool:
        return self.begin <= moment and (self.end is None or moment < self.end)


@dataclass(frozen=True, slots=True)
class _DayCounts:
    """The changes to facts on each day, by its place among the days."""

    by_maker: Counter[tuple[int, Maker]]
    by_kind: Counter[tuple[int, ChangeKind]]


class _TrendReader:
    """Reads the trends of a period; what counts as later than now counts as now."""

    def __init__(self, past: Past, request: ShowTrends) -> None:
        self._past, self._workspace, self._trail = past, past.workspace, past.trail
        self._zone = config.zone(past.workspace.settings.timezone)
        now = past.workspace.now()
        self._now, today = int(now.timestamp()), now.date()
        self._days = [today - timedelta(days=back) for back in reversed(range(request.days))]
        self._first = self._days[0].toordinal()
        self._counted_since = self._start_of(self._days[0])
        """Of what ended before, only how long it lasted is read."""
        moments = past.moments.newest(None).items()
        self._moments = {number: min(each, self._now) for number, each in moments}
        self._day_numbers: dict[int, int] = {}
        self._is_curated: dict[FilePath, bool | None] = {}

    def activity(self) -> FactActivity:
        counts = self._counts().by_maker
        people, agents = self._by_day(counts)
        first = self._index_of(min(self._moments.values(), default=self._now))
        return FactActivity(
            days=tuple(
                ActiveDay(day=day, people=people[at], agents=agents[at])
                for at, day in enumerate(self._days)
                if at >= first
            ),
            writers=self._writers(counts),
            notes=self._past.notes,
        )

    def trends(self) -> FactTrends:
        counts = self._counts()
        stays = self._stays()
        counted = [*self._counted_stays()]
        ended, living = self._curated_lives(stays.values(), counted)
        half_life = lifetimes.half_life(ended, living)
        survival = {
            -(-age // _HOURS_A_DAY): share for age, share in lifetimes.survival(ended, living)
        }
        current = [*((stay, 1) for stay in _current_stays(stays)), *counted]
        by_source = self._counted(current, lambda stay: stay.source)
        kinds = self._counted(current, lambda stay: stay.kind)
        changed, untouched = self._sections()
        return FactTrends(
            days=self._fact_days(counts, by_source),
            writers=self._writers(counts.by_maker),
            kinds=tuple(
                TrendKind(kind, days[-1], tuple(days))
                for kind, days in sorted(kinds.items(), key=lambda item: (-item[1][-1], item[0]))
            ),
            survival=tuple(survival.items()),
            half_life_days=None if half_life is None else half_life / _HOURS_A_DAY,
            changed_most=changed,
            untouched=untouched,
            current=sum(days[-1] for days in by_source.values()),
            notes=self._past.notes,
        )

    # Days and writers.

    def _fact_days(
        self,
        counts: _DayCounts,
        by_source: Mapping[Source, Sequence[int]],
    ) -> tuple[FactDay, ...]:
        none = [0] * len(self._days)
        kinds = counts.by_kind
        people, agents = self._by_day(counts.by_maker)
        contradicted = Counter(
            self._index_of(self._moments[mark.begun])
            for mark in self._trail.pair_marks()
            if mark.kind is MarkKind.CONTRADICTS and mark.begun in self._moments
        )
        return tuple(
            FactDay(
                day=day,
                added=kinds[at, ChangeKind.ADDED],
                replaced=kinds[at, ChangeKind.REPLACED],
                removed=kinds[at, ChangeKind.REMOVED],
                people=people[at],
                agents=agents[at],
                stated=by_source.get(Source.USER_STATED, none)[at],
                inferred=by_source.get(Source.INFERRED, none)[at],
                automatic=by_source.get(Source.AUTO, none)[at],
                contradicted=contradicted[at],
            )
            for at, day in enumerate(self._days)
        )

    def _counts(self) -> _DayCounts:
        counts = _DayCounts(Counter(), Counter())
        for moment, made in counts_since(self._past, self._days[0]):
            day = min(self._index_of(moment), len(self._days) - 1)
            for (maker, kind), count in made.items():
                counts.by_maker[day, maker] += count
                counts.by_kind[day, kind] += count
        return counts

    def _by_day(self, counts: Mapping[tuple[int, Maker], int]) -> tuple[Counter[int], Counter[int]]:
        """The changes of people and of agents on each day."""
        people, agents = Counter[int](), Counter[int]()
        for (day, maker), count in counts.items():
            (agents if self._workspace.is_agent(maker.actor) else people)[day] += count
        return people, agents

    def _writers(self, counts: Mapping[tuple[int, Maker], int]) -> tuple[TrendWriter, ...]:
        names: dict[tuple[str, bool], str] = {}
        own_names = self._workspace.user_names
        days: dict[tuple[str, bool], list[int]] = defaultdict(lambda: [0] * len(self._days))
        for (day, maker), count in counts.items():
            name = maker.actor or maker.author
            writer = fold_actor(name), self._workspace.is_agent(maker.actor)
            if writer[0] in own_names and not writer[1]:
                name, writer = maker.author, ("", False)
            names.setdefault(writer, name)
            days[writer][day] += count
        writers = [
            TrendWriter(names[writer], writer[1], sum(each), tuple(each))
            for writer, each in days.items()
        ]
        return tuple(sorted(writers, key=lambda writer: (-writer.count, writer.name)))

    def _index_of(self, moment: int) -> int:
        """The place of a time among the days; below 0 before them."""
        quarter = moment // _QUARTER
        if quarter not in self._day_numbers:
            day = datetime.fromtimestamp(moment, self._zone).date()
            self._day_numbers[quarter] = day.toordinal() - self._first
        return self._day_numbers[quarter]

    # Facts.

    def _stays(self) -> dict[FactId, list[_Stay]]:
        stays: dict[FactId, list[_Stay]] = defaultdict(list)
        for span in self._trail.fact_spans():
            is_curated = self._curated(span.path)
            if is_curated is not None and span.begun in self._moments:
                stays[span.fact].append(self._stay(span, is_curated, span.until))
        return stays

    def _counted_stays(self) -> Iterator[tuple[_Stay, int]]:
        """The stays of facts with one, and how many are alike."""
        is_of_log = partial(is_log, self._workspace)
        for each in self._trail.fact_counts(is_of_log, self._counted_since):
            is_curated = False if each.path is None else self._curated(each.path)
            if is_curated is not None and each.begun in self._moments:
                yield self._stay(each, is_curated), each.facts

    def _stay(
        self, span: FactSpan | FactCount, is_curated: bool, until: date | None = None
    ) -> _Stay:
        begin = self._moments[span.begun]
        end = None if span.ended is None else self._moments.get(span.ended)
        if until is not None and (over := self._end_of(until)) < self._now:
            end = over if end is None else min(end, over)
        return _Stay(
            begin=begin,
            end=None if end is None else max(begin, end),
            source=span.source,
            kind=span.kind or "",
            is_curated=is_curated,
        )

    def _end_of(self, day: date) -> int:
        """The time at which a fact until a day expires; now or later: it has not."""
        if day >= self._days[-1]:
            return self._now
        return self._start_of(max(day, _EPOCH) + timedelta(days=1))

    def _start_of(self, day: date) -> int:
        return int(datetime.combine(day, time.min, self._zone).timestamp())

    def _curated(self, path: FilePath) -> bool | None:
        """True for a curated file, False for a log; None: it has no facts."""
        if path not in self._is_curated:
            kind = self._workspace.kind_of(path)
            has_facts = kind.is_memory and kind is not FileKind.BOOTSTRAP
            self._is_curated[path] = kind in _CURATED if has_facts else None
        return self._is_curated[path]

    def _counted(
        self, stays: Iterable[tuple[_Stay, int]], key: Callable[[_Stay], T]
    ) -> dict[T, list[int]]:
        """The stays at the end of each day, by a key of theirs that any has in the period."""
        steps: dict[T, list[int]] = defaultdict(lambda: [0] * (len(self._days) + 1))
        for stay, count in stays:
            end = len(self._days) if stay.end is None else self._index_of(stay.end)
            begin = max(0, self._index_of(stay.begin))
            if begin < end:
                steps[key(stay)][begin] += count
                steps[key(stay)][end] -= count
        return {each: list(accumulate(counts[:-1])) for each, counts in steps.items()}

    def _curated_lives(
        self, facts: Iterable[Sequence[_Stay]], counted: Iterable[tuple[_Stay, int]]
    ) -> tuple[Counter[int], Counter[int]]:
        """The hours for which facts were curated: of those that ended, and of those that are."""
        ended, living = Counter[int](), Counter[int]()
        lives = [
            (life, 1)
            for stays in facts
            for life in _joined([stay for stay in stays if stay.is_curated])
        ]
        lives += [((stay.begin, stay.end), count) for stay, count in counted if stay.is_curated]
        for (begin, end), count in lives:
            age = ((self._now if end is None else end) - begin) // _HOUR
            (living if end is None else ended)[age] += count
        for path, hours, count in self._trail.ended_lives(self._counted_since):
            ended[hours] += count if self._curated(path) else 0
        return ended, living

    # Sections.

    def _sections(self) -> tuple[tuple[TrendSection, ...], tuple[TrendSection, ...]]:
        start = self._start_of(self._days[0])
        counts: list[tuple[int, int, int]] = []
        for path in filter(self._curated, self._trail.files_with_facts()):
            for lineage, numbers in self._trail.versions_of_sections(path).items():
                times = [self._moments[number] for number in numbers if number in self._moments]
                if times:
                    counts.append((sum(each >= start for each in times), max(times), lineage))
        most = nlargest(_MOST_SECTIONS, (each for each in counts if each[0]))
        untouched = [each for each in counts if each[1] < self._now - _UNTOUCHED_HOURS * _HOUR]
        longest = sorted(untouched, key=lambda each: each[1:])[:_MOST_SECTIONS]
        return tuple(map(self._section, most)), tuple(map(self._section, longest))

    def _section(self, counted: tuple[int, int, int]) -> TrendSection:
        count, last, lineage = counted
        (newest,) = self._trail.revisions(lineage, limit=1, include_unchanged=True)
        return TrendSection(
            path=newest.path,
            section=newest.section,
            count=count,
            last=self._workspace.local_time(last),
        )


def _current_stays(facts: Mapping[FactId, Sequence[_Stay]]) -> Iterator[_Stay]:
    """The stays of facts without overlaps: of several at a time, that with the strongest source."""
    for stays in facts.values():
        if len(stays) == 1:
            yield stays[0]
            continue
        ends = {stay.end for stay in stays if stay.end is not None}
        times = sorted({stay.begin for stay in stays} | ends)
        for begin, end in zip(times, [*times[1:], None], strict=True):
            holding = [stay for stay in stays if stay.holds(begin)]
            if holding:
                strongest = max(holding, key=lambda stay: stay.source.strength)
                yield replace(strongest, begin=begin, end=end)


def _joined(stays: Iterable[_Stay]) -> Iterator[tuple[int, int | None]]:
    """The times of stays that touch or overlap, as one; where it moved, a fact goes on."""
    begin, end = None, None
    for stay in sorted(stays, key=lambda stay: stay.begin):
        if begin is not None and (end is None or stay.begin <= end):
            end = None if end is None or stay.end is None else max(end, stay.end)
            continue
        if begin is not None:
            yield begin, end
        begin, end = stay.begin, stay.end
    if begin is not None:
        yield begin, end


# Markdown, of any repository; nothing is written there.


_KEPT_VERSION = 1
_MARKDOWN = ("--", "*.md")
"""The pathspec of `git ls-files`: below the folder, case counts."""
_TOO_LARGE = (
    *("rev-list", "--objects", "--first-parent", f"--filter=blob:limit={MAX_FILE_BYTES + 1}"),
    "--filter-print-omitted",
)
"""Lists versions that are larger than mdmem reads, as `~ID`; without `--text` git compares none."""
_LOG = (
    *("-c", f"core.bigFileThreshold={MAX_FILE_BYTES}"),
    *("-c", "log.showRoot=true", "log", LOG_FORMAT, "--reverse", "--first-parent"),
    *("--diff-merges=first-parent", "--no-follow", "--no-notes", "--no-show-signature"),
    # No program of the user's or the repository's runs, and none of their settings counts.
    *("--no-color", "--no-ext-diff", "--no-textconv", "--text", "--ignore-submodules=all"),
    *("-p", "-U0", "-M", "-l1000", "--inter-hunk-context=0", "--diff-algorithm=myers"),
    *("--indent-heuristic", "-O/dev/null", "--src-prefix=a/", "--dst-prefix=b/", "--relative"),
    *("--output-indicator-new=+", "--output-indicator-old=-"),
)


def markdown_trends(
    folder: Path,
    request: ShowFigures,
    environment: Mapping[str, str],
    kept: Path | None = None,
) -> MarkdownTrends:
    """The Markdown below a folder over time, read from its repository.

    `kept`: where to keep what was read, so that the next call reads only the commits since. Raises
    RepositoryProblem.
    """
    settings = Settings()
    now, zone = config.now(settings, environment), config.zone(settings.timezone)
    repository = discovery.discover(folder)
    head = repository.head()
    places = zone, environment.get("TZ"), tzname, sorted(repository.shallow_commits())
    lines = _KeptLines(kept, f"{_KEPT_VERSION} {places}", now, zone)
    if head is None or lines.figures is None or lines.commit != head:
        lines.read(repository, folder, head)
    assert lines.figures is not None  # it has just been read
    return lines.figures.trends(now, zone, request.weeks)


class _KeptLines:
    """Figures of lines in a file: a line that says of what, one with them, one with all files."""

    def __init__(self, path: Path | None, form: str, now: datetime, zone: tzinfo | None) -> None:
        self._path, self._form, self._now, self._zone = path, form, now, zone
        self.commit: CommitId | None = None
        self.figures: LineFigures | None = None
        self._files, self._has_large = "", False
        text = files.read_checked(path) if path is not None else None
        if text is not None:
            about, told, kept = text.split("\n")
            form, commit, has_large = json.loads(about)
            figures = LineFigures.parse(told)
            if form == self._form and figures.last <= now.timestamp():
                self.commit, self.figures = commit, figures
                self._files, self._has_large = kept, has_large

    def read(self, repository: Repository, folder: Path, head: CommitId | None) -> None:
        counter, large = LineCounter(self._now, self._zone), False
        if head is not None:
            old = self.commit if self._goes_on(repository, head) else None
            large = _holds_large(folder, head, old)
            if large and old and not self._has_large:  # the lines before were read in another way
                old = None
                large = _holds_large(folder, head, old)
            if old:
                large = large or self._has_large
                counter = LineCounter(self._now, self._zone, self.figures, self._files)
            words = [word for word in _LOG if word != "--text" or not large]
            with runner.output_lines(folder, [*words, *_commits(head, old)]) as lines:
                counter.read(lines)
        self.figures = counter.figures()
        if self._path is not None and not counter.is_ahead:
            about = json.dumps([self._form, head, large])
            rows = about, self.figures.as_text(), counter.files_as_text()
            with suppress(OSError):  # it is read again the next time
                files.write_checked(self._path, "\n".join(rows))

    def _goes_on(self, repository: Repository, head: CommitId) -> bool:
        """True if the branch goes on from the commit that was read."""
        if self.commit is None:
            return False
        since = head, f"^{self.commit}"
        new = repository.run("rev-list", "--first-parent", "--parents", *since)
        rows = new.output.split(b"\n")
        oldest = rows[-2].split() if new.status == 0 and len(rows) > 1 else []
        return oldest[1:2] == [self.commit.encode()]


def _commits(head: CommitId, old: CommitId | None) -> list[str]:
    return [head, *([f"^{old}"] if old else []), *_MARKDOWN]


def _holds_large(folder: Path, head: CommitId, old: CommitId | None) -> bool:
    with runner.output_lines(folder, [*_TOO_LARGE, *_commits(head, old)]) as lines:
        return sum(line.startswith(b"~") for line in lines) > 0
