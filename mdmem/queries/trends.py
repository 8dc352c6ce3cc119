"""Trends of the Markdown in any repository, from git alone; nothing is written there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mdmem.folder import config
from mdmem.folder.config import Settings
from mdmem.history.figures import LOG_FORMAT, LineCounter
from mdmem.model.reads import ShowFigures
from mdmem.model.trends import MarkdownTrends
from mdmem.repo import discovery, runner

_MARKDOWN = "*.md"
"""The pathspec of `git ls-files`: below the folder, case counts."""
_LOG = (
    *("-c", "log.showRoot=true", "log", LOG_FORMAT, "--reverse", "--first-parent"),
    *("--diff-merges=first-parent", "--no-follow", "--no-notes", "--no-show-signature"),
    # No program of the user's or the repository's runs, and none of their settings counts.
    *("--no-color", "--no-ext-diff", "--no-textconv", "--text", "--ignore-submodules=all"),
    *("-p", "-U0", "-M", "-l1000", "--inter-hunk-context=0", "--diff-algorithm=myers"),
    *("--indent-heuristic", "-O/dev/null", "--src-prefix=a/", "--dst-prefix=b/", "--relative"),
    *("--output-indicator-new=+", "--output-indicator-old=-", "HEAD", "--", _MARKDOWN),
)


def markdown_trends(
    folder: Path, request: ShowFigures, environment: Mapping[str, str]
) -> MarkdownTrends:
    """The Markdown below a folder over time, read from its repository.

    Raises PathProblem (`bad-path`), RepositoryProblem (`not-a-repository`, `missing-history`).
    """
    repository = discovery.discover(folder)
    settings = Settings()
    counter = LineCounter(config.now(settings, environment), config.zone(settings.timezone))
    if repository.head() is not None:
        with runner.output_lines(folder, _LOG) as lines:
            counter.read(lines)
    return counter.trends(request.weeks)
