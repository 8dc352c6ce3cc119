"""Transcripts on disk: which may be read, finding them, reading one or its news. Does the I/O."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from fnmatch import translate
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from mdmem.folder import config
from mdmem.folder.config import Settings
from mdmem.model.errors import WorkspaceProblem
from mdmem.model.sessions import ReadingStart, Transcript
from mdmem.sessions import reading
from mdmem.sessions.clients import CLIENT_NAMES, CLIENTS
from mdmem.sessions.records import Client, whole_lines
from mdmem.startup import late
from mdmem.startup.records import replace

_MAGIC = late.pattern(r"[*?\[]")
_CLIENTS = {client.name: client for client in CLIENTS}
_MOST_PATH_BYTES = 4096
_HEAD_BYTES = 64 * 1024
"""Read first where only the header is needed."""
_TAILS = (64 * 1024, 1024 * 1024)
"""Read from the end of a file for the last prompts: the second where the first has too few."""
_FEW_PROMPTS = 2
"""The last one and that before: a client may have written the last one before it is answered."""


class TranscriptFile(NamedTuple):
    """A file that may be a transcript, as it is on disk. `modified`: in nanoseconds since 1970."""

    path: str
    device: int
    inode: int
    size: int
    modified: int


class TranscriptHead(NamedTuple):
    client: str
    session: str
    project: str | None
    started: datetime | None


def find_files(sources: Iterable[str], environment: Mapping[str, str]) -> Iterator[TranscriptFile]:
    """The files of clients and of globs, each once; globs begin in the home folder or at `/`."""
    seen: set[tuple[int, int]] = set()
    for pattern, one_dot in _patterns(sources, environment):
        for entry in _matches(pattern):
            if one_dot and entry.name.count(".") > 1:
                continue
            file = _stat(entry)
            if file and (file.device, file.inode) not in seen:
                seen.add((file.device, file.inode))
                yield file


def stat_file(path: str | Path) -> TranscriptFile:
    """A transcript by its path, as it is on disk (OSError: it is not there)."""
    status = os.stat(path)  # noqa: PTH116 - it may be a text
    return _file(os.path.realpath(path), status)


def searched_folders(sources: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    return [_fixed_part(pattern)[0] for pattern, _ in _patterns(sources, environment)]


def read_file(
    path: str,
    start: ReadingStart | None = None,
    owners: Collection[str] = (),
    lines: int | None = None,
) -> Transcript | None:
    """Read a transcript, from `start` on where that is enough; None: no record yet.

    `lines`: no more than so many, from the start.

    Raises TranscriptProblem: `unknown-format`. OSError: it cannot be read.
    """
    transcript: Transcript | None = None
    with Path(path).open("rb") as file:
        if start is not None:
            file.seek(start.offset)
            transcript = reading.read(file.read(), start, owners)
            file.seek(0)
        if transcript is None:
            data = file.read() if lines is None else b"".join(islice(file, lines))
            transcript = reading.read(data, None, owners)
            if transcript and start and not reading.was_rewritten(data, start):
                transcript = replace(transcript, after_line=start.read_line)
    return None if transcript is None else _completed(transcript, Path(path))


def has_line(path: str, number: int, line_hash: str) -> bool:
    """True if the line with a number still has a hash (OSError: it cannot be read)."""
    with Path(path).open("rb") as file:
        line = next(islice(whole_lines(file.read()), number - 1, None), None)
    return line is not None and reading.line_hash(line.data) == line_hash


def read_head(path: str) -> TranscriptHead | None:
    """None: no record yet. Raises TranscriptProblem (`unknown-format`), OSError."""
    with Path(path).open("rb") as file:
        data = file.read(_HEAD_BYTES)
        found = reading.read_header(data) if b"\n" in data else None
        is_whole = found is not None and None not in (found[1].session, found[1].project)
        if not is_whole and (rest := file.read()):
            found = reading.read_header(data + rest)
    if found is None:
        return None
    client, header = found
    project = header.project or _project_of(client, Path(path))
    session = header.session or _session_of(Path(path))
    return TranscriptHead(client.name, session, project, header.started)


def recent_prompts(path: str, most: int) -> list[str]:
    """Newest first, from the end alone. Raises TranscriptProblem (`unknown-format`), OSError."""
    if not Path(path).is_file():  # opening a pipe would wait for its other end
        return []
    prompts: list[str] = []
    with Path(path).open("rb") as file:
        client = reading.recognise(file.read(_HEAD_BYTES))
        if client is None:
            return []
        size = file.seek(0, os.SEEK_END)
        for tail in _TAILS:
            file.seek(max(0, size - tail))
            data = file.read(tail) if tail >= size else file.read(tail).partition(b"\n")[2]
            prompts = reading.typed_texts(client, data)
            if len(prompts) >= _FEW_PROMPTS or tail >= size:
                break
    return prompts[: -most - 1 : -1]


def require_sources(settings: Settings, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The setting `sessions`; a WorkspaceProblem (`no-sessions`) where it is empty."""
    if not settings.sessions:
        message = "no transcript source configured"
        raise WorkspaceProblem("no-sessions", message, settings_hint(environment))
    return settings.sessions


def settings_hint(environment: Mapping[str, str]) -> str:
    own_settings = config.user_settings_path(environment) or Path("config.toml")
    clients = ", ".join(CLIENT_NAMES)
    return f'Add sessions = ["claude"] to {own_settings}. Supported: {clients}.'


class Scope:
    """The sessions of some work trees, by the folder that they work in, or all."""

    def __init__(self, scope: str, folders: Iterable[Path]) -> None:
        self.is_all = scope == "all"
        self._folders = tuple(folders)
        self._answers: dict[str, bool] = {}

    def includes(self, project: str | None) -> bool:
        if self.is_all or project is None:
            return self.is_all
        if project not in self._answers:
            self._answers[project] = _lies_in(project, self._folders)
        return self._answers[project]


def _lies_in(project: str, folders: Iterable[Path]) -> bool:
    try:
        return Path(project).is_absolute() and any(
            map(Path(project).resolve().is_relative_to, folders)
        )
    except (ValueError, OSError, RuntimeError):  # no path at all, or a circle of links
        return False


def _patterns(sources: Iterable[str], environment: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    home = environment.get("HOME") or str(Path.home())
    for source in sources:
        client = _CLIENTS.get(source)
        if client is None:
            yield _expanded(source, home), False
            continue
        for place in client.places:
            named = environment.get(place.variable) if place.variable else None
            folder = _expanded(named or place.folder, home)
            yield str(Path(folder) / place.files), client.one_dot


def _expanded(path: str, home: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return str(Path(home) / path)


def _fixed_part(pattern: str) -> tuple[str, list[str]]:
    parts = pattern.split("/")
    magic = (number for number, part in enumerate(parts) if _MAGIC.search(part))
    fixed = next(magic, len(parts) - 1)
    return "/".join(parts[:fixed]) or "/", parts[fixed:]


def _matches(pattern: str) -> Iterator[os.DirEntry[str]]:
    folder, parts = _fixed_part(pattern)
    patterns = [re.compile(translate(part)) if part != "**" else None for part in parts]
    return _matches_in(os.path.realpath(folder), patterns)


def _matches_in(folder: str, parts: list[re.Pattern[str] | None]) -> Iterator[os.DirEntry[str]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    first, rest = parts[0], parts[1:]
    if first is None and rest:
        yield from _matches_in(folder, rest)
    for entry in entries:
        if first is None:
            if entry.is_dir(follow_symlinks=False):
                yield from _matches_in(entry.path, parts)
        elif first.match(entry.name):
            if not rest:
                yield entry
            elif entry.is_dir():
                yield from _matches_in(_real_path(entry), rest)


def _stat(entry: os.DirEntry[str]) -> TranscriptFile | None:
    try:
        stat = entry.stat()
    except OSError:
        return None
    if not S_ISREG(stat.st_mode):
        return None
    return _file(_real_path(entry), stat)


def _file(path: str, stat: os.stat_result) -> TranscriptFile:
    return TranscriptFile(path, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


def _real_path(entry: os.DirEntry[str]) -> str:
    return os.path.realpath(entry.path) if entry.is_symlink() else entry.path


def _completed(transcript: Transcript, path: Path) -> Transcript:
    """With what its records do not tell, but its path does."""
    if transcript.project is None:
        client = _CLIENTS[transcript.client]
        transcript = replace(transcript, project=_project_of(client, path))
    if transcript.session:
        return transcript
    session, start = _session_of(path), transcript.next_start
    return replace(
        transcript, session=session, next_start=start and replace(start, session=session)
    )


def _session_of(path: Path) -> str:
    """The file's name, on one line: a name of a session goes into commit messages."""
    name = path.stem.encode("utf-8", "replace").decode()
    return " ".join(name.split())


def _project_of(client: Client, path: Path) -> str | None:
    if client.project_file is None:
        return None
    try:
        with (path.parent.parent / client.project_file).open("rb") as file:
            project = file.read(_MOST_PATH_BYTES).decode("utf-8").strip()
    except (OSError, ValueError):
        return None
    return project or None
