"""The layout of a workspace: kinds and days of files by their paths, and the list of its Markdown
files with what stat says of each. No file is opened.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from datetime import date
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from mdmem.model import SETTINGS_NAME, FileKind, FilePath
from mdmem.model.errors import PathProblem
from mdmem.startup import late
from mdmem.startup.records import dataclass

CURATED_NAMES = ("MEMORY.md", "memory.md")
WORKSPACE_MARKS = (SETTINGS_NAME, *CURATED_NAMES)
PROFILE_NAMES = ("USER.md", "SOUL.md", "IDENTITY.md")
BOOTSTRAP_NAMES = ("AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "CLAUDE.md")
STORE = "memory/store"
TASKS_PATH = FilePath("memory/tasks.md")
NEW_TASKS = "# Tasks\n"

DAILY, DAILY_BESIDE_CURATED = "memory/%Y-%m-%d.md", "%Y-%m-%d.md"
"""Default names of daily logs; the second where the workspace is itself called `memory`."""

DAYS_AGO = {"today": 0, "yesterday": 1}

_DAY = late.pattern(
    r"(?:^|/)memory/(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?:-[^/]+)?\.md$"
)
_DATED = late.pattern(r"(?<!\d)(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?!\d)")
_DAY_PARTS = {
    "%Y": ("year", "[0-9]" * 4),
    "%m": ("month", "[0-9]" * 2),
    "%-m": ("month", "*"),
    "%d": ("day", "[0-9]" * 2),
    "%-d": ("day", "*"),
    "%o": ("day", "*"),
    **dict.fromkeys(("%y", "%B", "%b", "%A", "%a", "%q", "%V", "%v"), ("", "*")),
}
"""Parts of a path that name a day: the number that each gives, if any, and a glob for it."""
_DATE_PART = late.pattern(r"(%[YymdBbAaqVv]|%-[md]|%\{[a-z]+:[BbAao]\})")
"""`%{de:B}` is `%B` in German, `%{de:o}` the day as an ordinal; `%q` is the quarter, `%V` the week,
and `%v` the week as Americans count: from Sunday, the first one with 1 January.
"""
_GLOB_PART = late.pattern(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])")
_FOLDERS = {"": "(?:)", "**/": "(?:[^/]+/)*", "**": ".*"}
_PROFILES = {name.casefold() for name in PROFILE_NAMES}
_BOOTSTRAPS = {name.casefold() for name in BOOTSTRAP_NAMES}
_MARKS = {name.casefold() for name in WORKSPACE_MARKS}
_MAX_PATH_BYTES, _MAX_NAME_BYTES = 1024, 255
_RESERVED_NAMES = {".gitattributes", ".gitignore", ".gitmodules", SETTINGS_NAME}
HOST_NAMES = frozenset(
    {
        # Instructions that agents' hosts read by themselves, in any folder.
        "agent.md",
        "agents.md",
        "agents.override.md",
        "claude.md",
        "claude.local.md",
        "codebuddy.md",
        "copilot-instructions.md",
        "crush.md",
        "gemini.md",
        "hermes.md",
        "iflow.md",
        "qwen.md",
        "replit.md",
        "skill.md",
        "warp.md",
        # Settings with commands that hosts, shells and hook managers run by themselves.
        "captainhook.json",
        "crush.json",
        "mise.toml",
        "mise.local.toml",
        "opencode.json",
        "opencode.jsonc",
        "lefthook.yml",
        "lefthook.yaml",
        "lefthook.toml",
        "lefthook.json",
        "prek.toml",
        "lefthook-local.yml",
        "lefthook-local.yaml",
        "lefthook-local.toml",
        "lefthook-local.json",
    }
)
"""Files that agents' tools leave alone, as those whose names begin with a dot (`.envrc`)."""
# Names that file systems take for `.git`: NTFS short names, trailing dots and spaces, streams; HFS+
# ignores some characters.
_GIT_ALIAS = late.pattern(r"(?i)^(?:\.git|git~\d+)[. ]*(?::.*)?$")
_HFS_IGNORED = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


_DAYS_NOTE = late.pattern(r"(?:^|/)\d{4}-\d{2}-\d{2}\.[mM][dD]$")
_COPY = late.pattern(
    r"(?i)(.*[^/])(?:(?P<sure>\.sync-conflict-\d{8}-\d{6}(?:-\w{7})?|_conflict-\d{8}-\d{6}"
    r"|[ _]\([^()/]*conflict[^()/]*\))| \(\d{1,2}\)| [2-9]|-(?:DESKTOP|LAPTOP)-\w{5,8})\.md"
)
"""Names of what Syncthing, ownCloud, and Dropbox or Nextcloud put beside a file that two devices
saved; those that OneDrive and iCloud choose count where the file is there.
"""
_FOREIGN_FOLDERS = frozenset((".trash", "node_modules", "vendor"))
_DRAWING = ".excalidraw.md"


def may_name_copies(paths: str) -> bool:
    """False if none of some joined paths is that of a conflict copy."""
    return " " in paths or "conflict" in paths or "TOP-" in paths


def conflict_copy_of(path: str) -> tuple[FilePath, bool] | None:
    """The file that a conflict copy is of, and True if its name alone says so."""
    if not may_name_copies(path):
        return None
    match = _COPY.fullmatch(path)
    return (FilePath(f"{match[1]}.md"), match["sure"] is not None) if match else None


def foreign_folder(path: str, globs: Iterable[str]) -> str | None:
    """A folder of packages or of deleted notes that a path is in, unless a glob names it."""
    within = _FOREIGN_FOLDERS.intersection(path.split("/")[:-1])
    named = {part for glob in globs for part in glob.split("/")} if within else ()
    return next(iter(within.difference(named)), None)


def is_drawing(path: str) -> bool:
    return path.endswith(_DRAWING)


def log_day(path: str, daily: str | None = None) -> date | None:
    """The day of a daily log by its path; None for any other path or an impossible date.

    `daily`: the names that the settings give to daily logs, as `log_path` takes them.
    """
    if match := _DAY.search(path):
        return _date(match)
    match = _pattern_of_days(daily).fullmatch(path) if daily else None
    if daily is None or match is None:
        return None
    numbers = match.groupdict()
    for month in (numbers["month"],) if "month" in numbers else range(1, 13):
        with suppress(ValueError):
            day = date(int(numbers["year"]), int(month), int(numbers["day"]))
            if log_path(day, daily) == path:
                return day
    return None


def day_of(path: str, daily: str | None = None) -> date | None:
    """The day that a file's path gives its entries: a daily log's, else a date in its name.

    In a folder below `memory` the name begins with it; `memory` itself has undated topics.
    """
    day = log_day(path, daily)
    if day is not None:
        return day
    folder, _, name = path.rpartition("/")
    in_memory = folder == "memory" or folder.startswith("memory/")
    match = (
        (_DATED.match(name) if folder != "memory" else None) if in_memory else _DATED.search(name)
    )
    return _date(match) if match else None


def is_days_note(path: str) -> bool:
    """True for a file whose name is a day and nothing else, as a person's daily notes have it."""
    return _DAYS_NOTE.search(path) is not None and day_of(path) is not None


def _date(match: re.Match[str]) -> date | None:
    try:
        return date(int(match["year"]), int(match["month"]), int(match["day"]))
    except ValueError:
        return None


def log_path(day: date, daily: str = DAILY) -> FilePath:
    """The log of a day by the parts of `date.strftime` that `_DAY_PARTS` has."""

    def written(part: re.Match[str]) -> str:
        if part[0].startswith("%{"):
            names = late.module(f"words.{part[0][2:-3]}").CALENDAR[part[0][-2]].split()
            month, number = day.month - 1, day.day - 1
            at = {"B": month, "b": month, "o": number}.get(part[0][-2], day.weekday())
            return str(names[at])
        if part[0] == "%q":
            return str((day.month + 2) // 3)
        if part[0] == "%v":
            return _american_week(day)
        return f"{day.year:04}" if part[0] == "%Y" else day.strftime(part[0])

    return FilePath(_DATE_PART.sub(written, daily))


def _american_week(day: date) -> str:
    to_saturday = (5 - day.weekday()) % 7
    is_of_next_year = day.month == 12 and day.day + to_saturday > 31
    return f"{1 if is_of_next_year else (int(day.strftime('%j')) + to_saturday + 6) // 7:02}"


def log_glob(daily: str) -> str:
    return "".join(_DAY_PARTS.get(_plain(part), ("", part))[1] for part in _DATE_PART.split(daily))


def _plain(part: str) -> str:
    return f"%{part[-2]}" if part.startswith("%{") else part


@lru_cache
def _pattern_of_days(daily: str) -> re.Pattern[str]:
    pattern, named = "", set[str]()
    for part in _DATE_PART.split(daily):
        plain = _plain(part)
        name, glob = _DAY_PARTS.get(plain, ("", re.escape(part)))
        digits = glob.replace("*", "[0-9]+" if name else "[^/]+") if plain in _DAY_PARTS else glob
        pattern += f"(?P<{name}>{digits})" if name and name not in named else digits
        pattern += "[^/0-9]*" if plain == "%o" else ""
        named.add(name)
    return re.compile(pattern)


def is_named_by_day(daily: str) -> bool:
    """True if a setting names a Markdown file for each day that agents' tools may make."""
    parts = list(map(_plain, _DATE_PART.findall(daily)))
    told = {*(_DAY_PARTS[part][0] or part for part in parts)}
    tells_month = not told.isdisjoint(("month", "%B", "%b"))
    if not (tells_month and told >= {"year", "day"}) or "%" in _DATE_PART.sub("", daily):
        return False
    path = log_path(date.min, daily)
    try:
        require_no_host_file(path)
        require_no_mark(path)
        return parse_path(path) == path
    except PathProblem:
        return False


def matches(path: str, globs: tuple[str, ...]) -> bool:
    """True if a path matches one of some globs, and is in no hidden folder.

    `*` and `?` stand for characters of a name, `**` for folders; a folder for all Markdown in it.
    """
    return bool(_pattern_of_globs(globs).fullmatch(path)) and not (
        path.startswith(".") or "/." in path
    )


@lru_cache
def _pattern_of_globs(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_translate(whole_glob(glob))})" for glob in globs))


def folder_matches(folder: str, glob: str) -> bool:
    """True if a glob means a folder itself: `*` is in one name, `**` stands for folders."""
    return bool(re.fullmatch(_translate(glob.rstrip("/")), folder))


def whole_glob(glob: str) -> str:
    """A glob with what it leaves out: the Markdown below a folder."""
    glob = glob.removeprefix("./").rstrip("/")
    return (
        glob
        if is_markdown(glob) or glob.endswith("*")
        else f"{glob}/**/*.md"
        if glob not in ("", ".")
        else "**/*.md"
    )


def _translate(glob: str) -> str:
    """A glob as a pattern that matches quickly however many wildcards it has.

    Where another one follows, the first place that fits is as good as any later one, so no other
    is tried (`fnmatch.translate` does the same): of `*` before any, of `**` before the next `**`.
    """
    blocks = [[""]]  # each but the first begins with `**`
    for part in _GLOB_PART.split(glob):
        if part.startswith("**"):
            blocks.append([part])
        else:
            blocks[-1].append(part)
    *earlier, (lead, *last) = blocks
    firsts = [f"(?>{_FOLDERS[lead]}?{_in_names(parts)})" for lead, *parts in earlier]
    return "".join([*firsts, _FOLDERS[lead], _in_names(last, are_last=True)])


def _in_names(parts: Iterable[str], are_last: bool = False) -> str:
    texts = [""]  # before the first star, and behind each
    for part in parts:
        if part == "*":
            texts.append("")
        elif part == "?":
            texts[-1] += "[^/]"
        else:
            texts[-1] += part if _is_set(part) else re.escape(part)
    first, *after_stars = texts
    last = [f"[^/]*{after_stars.pop()}"] if are_last and after_stars else []
    return "".join([first, *(f"(?>[^/]*?{text})" for text in after_stars), *last])


def _is_set(part: str) -> bool:
    try:
        return bool(_GLOB_PART.fullmatch(part) and re.compile(part))
    except re.error:  # such as [z-a]
        return False


def is_markdown(path: str) -> bool:
    return path.endswith(".md") or path.casefold().endswith(".md")


def is_canvas(path: str) -> bool:
    return path.endswith(".canvas")


def within(path: str, folders: Iterable[str]) -> bool:
    """True if `path` is one of `folders` (which may hold files too) or lies below one."""
    return any(
        path == folder or path.startswith(folder.rstrip("/") + "/") or folder == "."
        for folder in folders
    )


def is_outside(path: str) -> bool:
    return path.startswith(("/", "../"))


def kind_of(path: str, workspace_name: str = "", extra_paths: Iterable[str] = ()) -> FileKind:
    """The kind of a Markdown file by its path; `extra_paths` are folders that the settings add.

    `workspace_name`: if its own folder is `memory`, the files next to MEMORY.md are topics.
    """
    if log_day(path):  # nine of ten files
        return FileKind.DAILY
    parts = _parts(path)
    if not is_markdown(path) or not parts:
        return FileKind.OTHER
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


def guarded_kind(path: str, kind: FileKind) -> FileKind:
    """The kind by which a change is judged: other files in `memory` are guarded like topics."""
    return (
        FileKind.EVERGREEN
        if kind is FileKind.OTHER and path.startswith("memory/") and not is_markdown(path)
        else kind
    )


def note_kind(path: str, globs: tuple[str, ...]) -> FileKind:
    """The kind of a file that only globs make memory; a bootstrap file or a profile stays one."""
    if not is_markdown(path) or not matches(path, globs):
        return FileKind.OTHER
    name = path.rpartition("/")[2]
    if name in BOOTSTRAP_NAMES:
        return FileKind.BOOTSTRAP
    return FileKind.PROFILE if name.casefold() in _PROFILES else FileKind.EVERGREEN


def note_folders(globs: Iterable[str]) -> tuple[tuple[str, bool], ...]:
    """The folders in which files may match globs, each with True if the folders below count too."""
    deep: dict[str, bool] = {}
    for glob in map(whole_glob, globs):
        fixed = _GLOB_PART.split(glob, maxsplit=1)[0].rpartition("/")[0]
        rest = glob[len(fixed) + bool(fixed) :]
        deep[fixed] = deep.get(fixed, False) or "/" in rest or "**" in rest
    return tuple(deep.items())


def file_and_section(place: str) -> tuple[str, str]:
    """The glob and the address of `FILE#SECTION`; the address is empty for a whole file."""
    file, ending, section = place.partition(".md#")
    return f"{file}{ending[:-1]}", section.strip()


def leaves_workspace(glob: str) -> bool:
    return glob.startswith(("/", "~")) or ".." in glob.split("/")


def _parts(path: str) -> list[str]:
    names = [part for part in path.split("/") if part not in ("", ".")]
    return ["", *names] if path.startswith("/") else names


def _without_ignored(part: str) -> str:
    return unicodedata.normalize("NFC", part).translate(_HFS_IGNORED)


def steers_hosts(path: str) -> bool:
    """True for a file that a host, shell or hook manager reads by itself, in any spelling."""
    names = [_folded_name(part) for part in _parts(path)]
    is_hidden = any(not name or name.startswith(".") for name in names)
    return (
        is_hidden
        or not HOST_NAMES.isdisjoint(names)
        or (len(names) == 1 and names[0] in _BOOTSTRAPS)
    )


def _folded_name(part: str) -> str:
    """A name as file systems compare it: without case, streams, final dots, what HFS+ ignores."""
    return _without_ignored(part).casefold().partition(":")[0].rstrip(". ")


def require_no_host_file(path: str) -> None:
    """Refuse a file that only people make and change. Raises PathProblem (`bad-path`)."""
    if steers_hosts(path):
        raise host_file_problem(path)


def host_file_problem(path: str) -> PathProblem:
    message = f"{path} is a file that agents' hosts or shells read"
    return PathProblem("bad-path", message, "Choose another name. Only a person changes this file.")


def require_no_mark(path: str) -> None:
    """Refuse a file that would make a folder another workspace. Raises PathProblem (`bad-path`)."""
    folder, _, name = path.rpartition("/")
    if folder and _folded_name(name) in _MARKS:
        raise PathProblem(
            "bad-path",
            f"{path} would make another workspace of {folder}",
            f"Choose another name, such as {folder}/notes.md.",
        )


def is_store(path: str) -> bool:
    """True for a file of a program's store, in which names are compared as they are written."""
    return path.startswith((f"{STORE}/", f"{STORE}."))


def parse_path(text: str) -> FilePath:
    """The path of a Markdown file, as a user writes it relative to the workspace.

    Raises PathProblem (`bad-path`, with the reason: absolute, `..`, inside `.git` in any spelling,
    control characters, too long, not Markdown).
    """
    path = parse_any_path(text)
    if not is_markdown(path.rpartition("/")[2]):
        raise _bad_path(text, "is not a Markdown file")
    return path


def _bad_path(text: str, reason: str) -> PathProblem:
    return PathProblem(
        "bad-path",
        f"{text[:80]!r} {reason}",
        "Give the path of a .md file, relative to the workspace.",
    )


def outside_problem(text: str) -> PathProblem:
    return _bad_path(text, "is outside the workspace")


def parse_any_path(text: str) -> FilePath:
    """The path of any file or folder, as `parse_path`. Raises PathProblem (`bad-path`)."""

    def refuse(reason: str) -> PathProblem:
        return _bad_path(text, reason)

    if not text.strip():
        raise refuse("is an empty path")
    if not text.isprintable() and any(
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text
    ):
        raise refuse("contains a control character")
    if len(text.encode()) > _MAX_PATH_BYTES:
        raise refuse("is too long")
    if "\\" in text:
        raise refuse("contains a backslash")
    if text.startswith("/") or (text[1:2] == ":" and text[0].isascii() and text[0].isalpha()):
        raise refuse("is an absolute path")
    parts = _parts(text)
    if ".." in parts:
        raise outside_problem(text)
    if any(_GIT_ALIAS.match(_without_ignored(part)) for part in parts):
        raise refuse("is in git's own folder")
    if not parts:
        raise refuse("is an empty path")
    if any(len(part.encode()) > _MAX_NAME_BYTES for part in parts):
        raise refuse("contains a name that is too long")
    if any(part.casefold() in _RESERVED_NAMES or part.startswith(".mdmem-") for part in parts):
        raise refuse("is a file that controls git or mdmem")
    return FilePath("/".join(parts))


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A Markdown file of a workspace with its stat (links not followed)."""

    root: Path
    path: FilePath
    status: os.stat_result

    @property
    def full_path(self) -> Path:
        return self.root / self.path


def markdown_paths(
    root: Path,
    folders: Iterable[str],
    read_status: Callable[[os.stat_result], T],
) -> dict[str, T]:
    """List the Markdown files directly in a workspace and all below its `folders`, in no order.

    One of `folders` may be a file too; one outside the workspace keeps the path that names it.
    Symbolic links (except on the way to a folder outside), git's own folders and other repositories
    below a folder of the workspace are skipped.

    `read_status`: what to keep of a file's status; all of it would take longer than reading.
    """
    listed: dict[str, T] = {}
    for folder, deep in (("", False), *((folder, True) for folder in folders)):
        prefix = "" if folder == "." else folder.rstrip("/")
        if not _leaves_by_link(root, prefix):
            _scan(root / folder, prefix, deep, read_status, listed)
    return listed


def _leaves_by_link(root: Path, folder: str) -> bool:
    if folder.startswith("/") or ".." in folder.split("/"):
        return False
    return root.is_symlink() or any((root / each).is_symlink() for each in _folders_down_to(folder))


def _folders_down_to(folder: str) -> Iterable[str]:
    return accumulate(folder.split("/"), "{}/{}".format) if folder else ()


def _scan(
    top: Path,
    prefix: str,
    deep: bool,
    read_status: Callable[[os.stat_result], T],
    listed: dict[str, T],
) -> None:
    if prefix and is_markdown(prefix) and top.is_file():
        listed[prefix] = read_status(top.lstat())
        return
    folders = [(str(top), f"{prefix}/" if prefix else "")]
    whole = None if is_outside(prefix) else folders[0][0]
    while folders:
        folder, start = folders.pop()
        try:
            # Names are looked up from the open folder: by their whole paths it takes a fifth
            # longer.
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        try:
            if whole not in (None, folder) and os.access(".git", os.F_OK, dir_fd=descriptor):
                continue
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    name = entry.name
                    if is_markdown(name) and entry.is_file(follow_symlinks=False):
                        try:
                            listed[start + name] = read_status(entry.stat(follow_symlinks=False))
                        except FileNotFoundError:
                            continue
                    elif deep and name != ".git" and entry.is_dir(follow_symlinks=False):
                        folders.append((f"{folder}/{name}", f"{start}{name}/"))
        finally:
            os.close(descriptor)


def is_marked(folder: Path) -> bool:
    return any((folder / name).is_file() for name in WORKSPACE_MARKS)


def is_foreign(folder: Path) -> bool:
    """True for a folder that is another workspace, or another work tree."""
    return (folder / ".git").exists() or is_marked(folder)


def lies_elsewhere(root: Path, path: str) -> bool:
    """True if a folder on the way from a workspace to a file is another workspace or work tree."""
    return any(is_foreign(root / folder) for folder in _folders_down_to(path.rpartition("/")[0]))


def note_paths(
    root: Path,
    folders: Iterable[tuple[str, bool]],
    skipped: Collection[str],
    read_status: Callable[[os.stat_result], T],
) -> dict[str, T]:
    """List the Markdown files and canvases in folders with a person's notes, without hidden folders
    and links.

    Args:
        folders: each with True if the folders below it are listed too.
        skipped: paths of files, and of folders with a slash at their end.
        read_status: see `markdown_paths`.
    """
    listed: dict[str, T] = {}
    for folder, deep in folders:
        if not _leaves_by_link(root, folder) and not any(
            _is_left_out(root, each, skipped) for each in _folders_down_to(folder)
        ):
            _scan_notes(root, folder, deep, skipped, read_status=read_status, listed=listed)
    return listed


def _is_left_out(root: Path, folder: str, skipped: Collection[str]) -> bool:
    return (
        folder.rpartition("/")[2].startswith(".")
        or f"{folder}/" in skipped
        or is_foreign(root / folder)
    )


def _scan_notes(
    root: Path,
    top: str,
    deep: bool,
    skipped: Collection[str],
    read_status: Callable[[os.stat_result], T],
    listed: dict[str, T],
) -> None:
    folders = [top]
    while folders:
        folder = folders.pop()
        start = f"{folder}/" if folder else ""
        full_path = f"{root}/{folder}" if folder else str(root)
        with (
            suppress(FileNotFoundError, NotADirectoryError, PermissionError),
            os.scandir(full_path) as entries,
        ):
            for entry in entries:
                path = start + entry.name
                is_listed = is_markdown(entry.name) or is_canvas(entry.name)
                if is_listed and entry.is_file(follow_symlinks=False):
                    if path not in skipped:
                        with suppress(FileNotFoundError):
                            listed[path] = read_status(entry.stat(follow_symlinks=False))
                elif (
                    deep
                    and entry.name not in _FOREIGN_FOLDERS
                    and entry.is_dir(follow_symlinks=False)
                    and not _is_left_out(root, path, skipped)
                ):
                    folders.append(path)
