"""The layout of a workspace: the kind and the day of a file by its path, and paths and days as users write them. Pure; no file is opened here."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import date

from mdmem.errors import PathProblem
from mdmem.model import SETTINGS_NAME, FileKind, FilePath
from mdmem.startup import late

CURATED_NAMES = ("MEMORY.md", "memory.md")
WORKSPACE_MARKS = (SETTINGS_NAME, *CURATED_NAMES)
PROFILE_NAMES = ("USER.md", "SOUL.md", "IDENTITY.md")
BOOTSTRAP_NAMES = ("AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "CLAUDE.md")
MAX_FILE_BYTES = 5_000_000
"""Larger files are neither edited nor indexed."""

_DAY = late.pattern(r"(?:^|/)memory/(\d{4})-(\d{2})-(\d{2})(?:-[^/]+)?\.md$")
_PROFILES = {name.casefold() for name in PROFILE_NAMES}
_MAX_PATH_BYTES = 1024
# Names that file systems take for `.git`: NTFS short names, trailing dots and spaces, streams; HFS+ ignores some characters.
_GIT_ALIAS = late.pattern(r"(?i)^(?:\.git|git~\d+)[. ]*(?::.*)?$")
_HFS_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])


def day_of(path: str) -> date | None:
    """The day of a daily log; None for any other path, one with an impossible date included."""
    match = _DAY.search(path)
    if not match:
        return None
    try:
        return date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None


def log_path(day: date) -> FilePath:
    """The path of a day's log."""
    return FilePath(f"memory/{day.isoformat()}.md")


def is_markdown(path: str) -> bool:
    """True for the name of a Markdown file."""
    return path.endswith(".md") or path.casefold().endswith(".md")


def within(path: str, folders: Iterable[str]) -> bool:
    """True if `path` is one of `folders` (which may hold files too) or lies below one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") or folder == "." for folder in folders)


def is_outside(path: str) -> bool:
    """True if an extra path leaves the workspace."""
    return path.startswith(("/", "../"))


def kind_of(path: str, workspace_name: str = "", extra_paths: Iterable[str] = ()) -> FileKind:
    """The kind of a Markdown file.

    Args:
        path: relative to the workspace.
        workspace_name: the name of the workspace's own folder; if that is `memory`, the files next to MEMORY.md are topics.
        extra_paths: folders that the settings add.
    """
    parts = _parts(path)
    if not is_markdown(path) or not parts:
        return FileKind.OTHER
    if day_of(path):
        return FileKind.DAILY
    if len(parts) == 1:
        name = parts[0]
        if name in CURATED_NAMES:
            return FileKind.EVERGREEN
        if name.casefold() in _PROFILES:
            return FileKind.PROFILE
        if name in BOOTSTRAP_NAMES:
            return FileKind.BOOTSTRAP
        if workspace_name == "memory":
            return FileKind.EVERGREEN
    if parts[0] == "memory" or within(path, extra_paths):
        return FileKind.EVERGREEN
    return FileKind.OTHER


def _parts(path: str) -> list[str]:
    """The names in a path; an absolute path begins with an empty one."""
    names = [part for part in path.split("/") if part not in ("", ".")]
    return ["", *names] if path.startswith("/") else names


def _is_git_folder(part: str) -> bool:
    return bool(_GIT_ALIAS.match(unicodedata.normalize("NFC", part).translate(_HFS_IGNORED)))


def parse_path(text: str) -> FilePath:
    """The path of a Markdown file, as a user writes it relative to the workspace.

    Raises:
        PathProblem: `bad-path`, with the reason: absolute, `..`, inside `.git` in any spelling, control characters, too long, not
            Markdown.
    """

    def refuse(reason: str) -> PathProblem:
        return PathProblem(
            "bad-path", f"{text[:80]!r} is not a file of the workspace: {reason}", "Name a .md file relative to the workspace."
        )

    if not text.strip():
        raise refuse("it is empty")
    if not text.isprintable() and any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        raise refuse("it holds a control character")
    if len(text.encode()) > _MAX_PATH_BYTES:
        raise refuse("it is too long")
    if "\\" in text:
        raise refuse("it holds a backslash")
    if text.startswith("/") or (text[1:2] == ":" and text[0].isascii() and text[0].isalpha()):
        raise refuse("it is absolute")
    parts = _parts(text)
    if ".." in parts:
        raise refuse("it leaves its folder")
    if any(_is_git_folder(part) for part in parts):
        raise refuse("it lies in git's own folder")
    if not is_markdown("".join(parts[-1:])):
        raise refuse("it is not Markdown")
    return FilePath("/".join(parts))
