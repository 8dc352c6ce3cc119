"""Figures of Markdown from `git log -p -U0`, and how long things last. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta, tzinfo
from itertools import groupby, islice
from re import Match

from mdmem.model.history import FileSize, MarkdownTrends, TrendAuthor, TrendWeek
from mdmem.repo import commit_seconds
from mdmem.repo.first_parent import HUNK, unquoted
from mdmem.startup.records import dataclass

LOG_FORMAT = "--format=tformat:%x00%ct%x00%an"
"""The line before the patch of a commit: the committer's time, the author."""
_HOUR, _HOURS_A_DAY = 3600, 24
_LARGEST = 10
_TEXT_FILE = b"100"  # how the mode of a regular file begins; links and submodules have others
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class LineFigures:
    """Figures of lines, whatever the time is.

    `born`: hours → lines there now; `removed_at`: hours of life → lines; `weeks`: Monday (ordinal)
    → commits, added, removed; `authors`: the same, and the last commit's time; `largest`: paths
    with their lines.
    """

    born: Counter[int]
    removed_at: Counter[int]
    weeks: dict[int, list[int]]
    authors: dict[str, list[int]]
    files: int
    largest: list[tuple[str, int]]

    @property
    def last(self) -> int:
        """The time of the newest commit, in seconds since 1970; 0 without one."""
        return max((author[3] for author in self.authors.values()), default=0)

    def as_text(self) -> str:
        """One line, for `parse`."""
        maps = self.born, self.removed_at, self.weeks, self.authors
        return json.dumps([*([*each.items()] for each in maps), self.files, self.largest])

    @classmethod
    def parse(cls, text: str) -> LineFigures:
        born, removed_at, weeks, authors, files, largest = json.loads(text)
        return cls(
            born=Counter(dict(born)),
            removed_at=Counter(dict(removed_at)),
            weeks=dict(weeks),
            authors=dict(authors),
            files=int(files),
            largest=[(str(path), int(count)) for path, count in largest],
        )

    def trends(self, now: datetime, zone: tzinfo | None, weeks: int) -> MarkdownTrends:
        now_hour = int(now.timestamp()) // _HOUR
        living: Counter[int] = Counter()
        for birth, count in self.born.items():
            living[max(0, now_hour - birth)] += count
        half = half_life(self.removed_at, living)
        authors = sorted(self.authors.items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))
        return MarkdownTrends(
            commits=sum(author[0] for author in self.authors.values()),
            lines=living.total(),
            files=self.files,
            added=sum(author[1] for author in self.authors.values()),
            removed=sum(author[2] for author in self.authors.values()),
            half_life_days=None if half is None else half / _HOURS_A_DAY,
            weeks=tuple(self._last_weeks(datetime.fromtimestamp(now.timestamp(), zone), weeks)),
            authors=tuple(
                TrendAuthor(
                    name=name,
                    commits=commits,
                    added=added,
                    removed=removed,
                    last=datetime.fromtimestamp(last, zone).date(),
                )
                for name, (commits, added, removed, last) in authors
            ),
            largest=tuple(FileSize(path, count) for path, count in self.largest),
        )

    def _last_weeks(self, now: datetime, count: int) -> Iterator[TrendWeek]:
        newest = monday(now.date())
        oldest = newest - timedelta(weeks=count - 1)
        first = date.fromordinal(min(self.weeks)) if self.weeks else newest + timedelta(weeks=1)
        lines = sum(
            added - removed
            for day, (_, added, removed) in self.weeks.items()
            if day < oldest.toordinal()
        )
        day = max(oldest, first)
        while day <= newest:
            commits, added, removed = self.weeks.get(day.toordinal(), (0, 0, 0))
            lines += added - removed
            yield TrendWeek(
                week=week_name(day), commits=commits, added=added, removed=removed, lines=lines
            )
            day += timedelta(weeks=1)


class LineCounter:
    """Lines over time. Its size is that of the files now, not that of their history.

    Each line is the hour in which it was added, so ages are exact to an hour. It can go on where
    another one (`figures`, and its `files_as_text`) has ended.
    """

    def __init__(
        self,
        now: datetime,
        zone: tzinfo | None,
        figures: LineFigures | None = None,
        files: str = "{}",
    ) -> None:
        self._now, self._zone = int(now.timestamp()), zone
        self._files: dict[str, list[int]] = {
            path: [hour for hour, count in runs for _ in range(count)]
            for path, runs in json.loads(files).items()
        }
        self._removed_at = figures.removed_at if figures else Counter()
        self._weeks = figures.weeks if figures else {}
        self._authors = figures.authors if figures else {}
        self.is_ahead = False
        """True if a commit's clock was ahead, so that the figures hold for this moment alone."""

    def figures(self) -> LineFigures:
        sizes = sorted((-len(lines), path) for path, lines in self._files.items())
        born: Counter[int] = Counter()
        for lines in self._files.values():
            born.update(lines)
        return LineFigures(
            born=born,
            removed_at=self._removed_at,
            weeks=self._weeks,
            authors=self._authors,
            files=len(self._files),
            largest=[(path, -count) for count, path in sizes[:_LARGEST]],
        )

    def files_as_text(self) -> str:
        """The hours of all lines by file, in one line."""
        return json.dumps(
            {
                path: [(hour, len([*run])) for hour, run in groupby(lines)]
                for path, lines in self._files.items()
            }
        )

    def read(self, output: Iterator[bytes]) -> None:
        """Count the commits of `git log --reverse -p -U0 -M` in `LOG_FORMAT`, oldest first."""
        week = author = [0, 0, 0, 0]
        path, mode, hour = "", b"", 0
        lines: list[int] = []
        for line in output:
            if line.startswith(b"@@"):
                if (hunk := HUNK.match(line)) is None:
                    continue
                removed, added = _skip_hunk(hunk, output)
                if mode.startswith(_TEXT_FILE):
                    self._replace(lines, int(hunk[2]), removed, added, hour)
                    for counts in (week, author):
                        counts[1] += added
                        counts[2] += removed
            elif line.startswith(b"\0"):
                hour, week, author = self._begin_commit(line)
            elif line.startswith(b"diff --git "):
                path = _path_of(line)
                mode = _TEXT_FILE if path in self._files else b""
                lines = self._files.get(path, [])
            elif line.startswith(b"new file mode "):
                mode = line[14:]
                if mode.startswith(_TEXT_FILE):
                    lines = self._files[path] = []
            elif line.startswith(b"deleted file mode "):
                self._files.pop(path, None)
            elif line.startswith(b"rename from "):
                path, mode = unquoted(line[12:-1]), b""
            elif line.startswith(b"rename to ") and path in self._files:
                lines = self._files.pop(path)
                path, mode = unquoted(line[10:-1]), _TEXT_FILE
                self._files[path] = lines

    def _begin_commit(self, line: bytes) -> tuple[int, list[int], list[int]]:
        time, _, name = line[1:-1].partition(b"\0")
        # A clock that was ahead must not make lines of the future.
        stated = commit_seconds(time)
        moment = min(stated, self._now)
        self.is_ahead = self.is_ahead or stated > moment
        begin = monday(datetime.fromtimestamp(moment, self._zone).date()).toordinal()
        week = self._weeks.setdefault(begin, [0, 0, 0])
        author = self._authors.setdefault(name.decode("utf-8", "replace"), [0, 0, 0, 0])
        week[0] += 1
        author[0] += 1
        author[3] = max(author[3], moment)
        return moment // _HOUR, week, author

    def _replace(self, lines: list[int], start: int, removed: int, added: int, hour: int) -> None:
        # Without new lines git names the line before.
        first = start - 1 if added else start
        if removed:
            self._removed_at.update(
                max(0, hour - birth) for birth in lines[first : first + removed]
            )
        lines[first : first + removed] = [hour] * added


def _skip_hunk(hunk: Match[bytes], output: Iterator[bytes]) -> tuple[int, int]:
    removed, added = int(hunk[1] or 1), int(hunk[3] or 1)
    left = removed + added
    while left and (lines := list(islice(output, left))):
        left -= len(lines) - sum(line.startswith(b"\\") for line in lines)
    return removed, added


def _path_of(line: bytes) -> str:
    """The path in `diff --git a/PATH b/PATH`; after a rename, which says both itself, any text."""
    names = line[11:-1]
    side = names[len(names) // 2 + 1 :]
    name = b'"' + side[3:] if side.startswith(b'"') else side[2:]
    return unquoted(name)


def half_life(ended: Mapping[int, int], living: Mapping[int, int]) -> int | None:
    """The age by which half have ended; None where fewer have. As `survival`."""
    shares = survival(ended, living)
    return next((age for age, share in shares if share <= 0.5 + _ROUNDING), None)


def survival(ended: Mapping[int, int], living: Mapping[int, int]) -> Iterator[tuple[int, float]]:
    """The ages at which some ended, and the share that outlives each.

    Both count by age. The living count for as long as they have been there: Kaplan and Meier,
    "Nonparametric estimation from incomplete observations", JASA 53 (1958), 457-481.
    """
    at_risk = sum(ended.values()) + sum(living.values())
    surviving = 1.0
    for age in sorted({*ended, *living}):
        count = ended.get(age, 0)
        if count:
            surviving *= 1 - count / at_risk
            yield age, surviving
        at_risk -= count + living.get(age, 0)


def monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def week_name(day: date) -> str:
    """A week of ISO 8601, such as `2026-W10`."""
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02}"
