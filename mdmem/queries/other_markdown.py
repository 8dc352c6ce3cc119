"""The Markdown of a workspace that is no memory, and the setting that makes it so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mdmem.listing import is_foreign
from mdmem.model import FileKind, FilePath
from mdmem.repo import ignored
from mdmem.startup import late
from mdmem.workspace import Workspace

_NAMED = 3
_DAILY_NOTE = late.pattern(r"((?:.*/)?)\d{4}-\d{2}-\d{2}\.md")


def other_markdown(workspace: Workspace) -> tuple[FilePath, ...]:
    """The Markdown files of a workspace that are no memory, and could be by the setting `paths`.

    Raises:
        RepositoryProblem: git failed.
    """
    kept: dict[str, bool] = {}

    def is_own(folder: str) -> bool:
        if folder not in kept:
            above, _, name = folder.rpartition("/")
            kept[folder] = not name.startswith(".") and not is_foreign(workspace.root / folder) and (not above or is_own(above))
        return kept[folder]

    paths = sorted(map(FilePath, ignored.markdown_not_ignored(workspace.root)))
    others = (path for path in paths if not path.startswith(".") and workspace.kind_of(path) is FileKind.OTHER)
    return tuple(path for path in others if ("/" not in path or is_own(path.rpartition("/")[0])) and (workspace.root / path).is_file())


def other_markdown_note(workspace: Workspace) -> str | None:
    """A line for the user: how much Markdown is no memory, and how it becomes so; None if there is none."""
    paths = other_markdown(workspace)
    if not paths:
        return None
    more = len(paths) - _NAMED
    names = ", ".join([*paths[:_NAMED], *([f"{more:,} more"] if more > 0 else [])])
    glob = "**/*.md" if any("/" in path for path in paths) else "*.md"
    files = "1 other Markdown file is" if len(paths) == 1 else f"{len(paths):,} other Markdown files are"
    globs = ", ".join(f'"{each}"' for each in dict.fromkeys((*workspace.settings.paths, glob)))
    setting = "" if workspace.settings.daily else _daily_setting(paths)
    return f"{files} not searched ({names}). To include them: paths = [{globs}] in mdmem.toml{setting}"


def _daily_setting(paths: Iterable[FilePath]) -> str:
    """The setting that has `log` write where most of some files are daily notes; empty where there are none."""
    folders = Counter(match[1] for path in paths if (match := _DAILY_NOTE.fullmatch(path)))
    return "".join(f'; to have log write there: daily = "{folder}%Y-%m-%d.md"' for folder, _ in folders.most_common(1))
