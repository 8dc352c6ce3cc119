"""Trends of Markdown: lines, weeks, authors, files."""

from __future__ import annotations

from datetime import date

from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class TrendWeek:
    """A week as `2026-W10`: what its commits did, and the lines there were at its end."""

    week: str
    commits: int
    added: int
    removed: int
    lines: int


@dataclass(frozen=True, slots=True)
class TrendAuthor:
    """An author: commits, lines added and removed, and the day of the last commit."""

    name: str
    commits: int
    added: int
    removed: int
    last: date


@dataclass(frozen=True, slots=True)
class FileSize:
    """A file and its lines."""

    path: str
    lines: int


@dataclass(frozen=True, slots=True)
class MarkdownTrends:
    """The Markdown below a folder, as its branch has it.

    `commits`, `added`, `removed` and `authors` (most commits first) are of all history, `weeks` the
    last ones up to now, oldest first, `largest` the largest files. `half_life_days` is None where
    more than half of all lines are still there.
    """

    commits: int
    lines: int
    files: int
    added: int
    removed: int
    half_life_days: float | None
    weeks: tuple[TrendWeek, ...]
    authors: tuple[TrendAuthor, ...]
    largest: tuple[FileSize, ...]
