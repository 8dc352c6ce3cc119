"""Transcripts on disk: find those of a client, and read one, or what is new in it. The one module of the room that touches the world."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import translate
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from mdmem.model.sessions import ReadingStart, Transcript
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.transcripts import reading
from mdmem.transcripts.lines import whole_lines

if TYPE_CHECKING:
    from datetime import datetime

_MAGIC = late.pattern(r"[*?\[]")
_GEMINI = "gemini"
_LOCATIONS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "claude": (("CLAUDE_CONFIG_DIR", "~/.claude", "projects/*/*.jsonl"),),
    "codex": (("CODEX_HOME", "~/.codex", "sessions/*/*/*/rollout-*.jsonl"),),
    # A second dot is in the names of copies and traces that are kept beside a session.
    "openclaw": (
        ("OPENCLAW_STATE_DIR", "~/.openclaw", "agents/*/sessions/[!.]*.jsonl"),
        ("PI_CODING_AGENT_DIR", "~/.pi/agent", "sessions/*/[!.]*.jsonl"),
    ),
    _GEMINI: (("GEMINI_CLI_HOME", "~", ".gemini/tmp/*/chats/session-*.jsonl"),),
}
"""By client: the variable that names its folder, that folder without it, and the files in there."""
_ONE_DOT = frozenset({"openclaw"})
_PROJECT_FILE = ".project_root"
"""The file beside the sessions of the Gemini CLI that names their project."""
_MOST_PATH_BYTES = 4096
_HEAD_BYTES = 64 * 1024
"""The part of a file that is read first where only its header is needed."""


class TranscriptFile(NamedTuple):
    """A file that may be a transcript, as it is on disk. `modified`: in nanoseconds since 1970."""

    path: str
    device: int
    inode: int
    size: int
    modified: int


class TranscriptHead(NamedTuple):
    """The client, the session's id, the folder it works in and the time of its beginning."""

    client: str
    session: str
    project: str | None
    started: datetime | None


def find_files(sources: Iterable[str], environment: Mapping[str, str]) -> Iterator[TranscriptFile]:
    """The files of clients (by name) and of globs, each file once, by its path without links.

    Args:
        sources: names of clients, or globs; `~` is the home folder, in which globs begin that are not absolute.
        environment: `HOME`, and the variables by which clients are told where to keep their sessions.
    """
    seen: set[tuple[int, int]] = set()
    for pattern, one_dot in _patterns(sources, environment):
        for entry in _matches(pattern):
            file = _stat(entry)
            if file and (file.device, file.inode) not in seen and not (one_dot and entry.name.count(".") > 1):
                seen.add((file.device, file.inode))
                yield file


def stat_file(path: str | Path) -> TranscriptFile:
    """A transcript by its path, as it is on disk.

    Raises:
        OSError: it is not there.
    """
    status = os.stat(path)  # noqa: PTH116 - it may be a text
    return TranscriptFile(os.path.realpath(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def searched_folders(sources: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """The folders in which the files of these sources would lie, for a message that there are none."""
    return [_fixed_part(pattern)[0] for pattern, _ in _patterns(sources, environment)]


def read_file(path: str, start: ReadingStart | None = None, owners: Collection[str] = ()) -> Transcript | None:
    """Read a transcript, from `start` on where that is enough (see `reading.read`).

    Returns:
        None: it holds no whole line yet.

    Raises:
        TranscriptProblem: `unknown-format`.
        OSError: it cannot be read.
    """
    transcript: Transcript | None = None
    with Path(path).open("rb") as file:
        if start is not None:
            file.seek(start.offset)
            transcript = reading.read(file.read(), start, owners)
            file.seek(0)
        if transcript is None:
            data = file.read()
            transcript = reading.read(data, None, owners)
            if transcript is not None and start is not None and not reading.was_rewritten(data, start):
                transcript = replace(transcript, after_line=start.read_line)
    if transcript is not None and transcript.client == _GEMINI and transcript.project is None:
        return replace(transcript, project=_gemini_project(Path(path)))
    return transcript


def has_line(path: str, number: int, line_hash: str) -> bool:
    """True if the line with a number still has a hash (see `reading.line_hash`).

    Raises:
        OSError: it cannot be read.
    """
    with Path(path).open("rb") as file:
        line = next(islice(whole_lines(file.read()), number - 1, None), None)
    return line is not None and reading.line_hash(line.data) == line_hash


def read_head(path: str) -> TranscriptHead | None:
    """Read the beginning of a transcript, as far as it takes to tell whose it is.

    Returns:
        None: it holds no whole line yet.

    Raises:
        TranscriptProblem: `unknown-format`.
        OSError: it cannot be read.
    """
    with Path(path).open("rb") as file:
        data = file.read(_HEAD_BYTES)
        client_and_header = reading.read_header(data) if b"\n" in data else None
        if (client_and_header is None or None in (client_and_header[1].session, client_and_header[1].project)) and (rest := file.read()):
            client_and_header = reading.read_header(data + rest)
    if client_and_header is None:
        return None
    client, header = client_and_header
    project = header.project or (_gemini_project(Path(path)) if client == _GEMINI else None)
    return TranscriptHead(client, header.session or "", project, header.started)


def _patterns(sources: Iterable[str], environment: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    home = environment.get("HOME") or str(Path.home())
    for source in sources:
        if source in _LOCATIONS:
            for variable, folder, files in _LOCATIONS[source]:
                yield str(Path(_expanded(environment.get(variable) or folder, home)) / files), source in _ONE_DOT
        else:
            yield _expanded(source, home), False


def _expanded(path: str, home: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return str(Path(home) / path)


def _fixed_part(pattern: str) -> tuple[str, list[str]]:
    """The folder up to the first part with a wildcard, and the parts from there on."""
    parts = pattern.split("/")
    fixed = next((number for number, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
    return "/".join(parts[:fixed]) or "/", parts[fixed:]


def _matches(pattern: str) -> Iterator[os.DirEntry[str]]:
    folder, parts = _fixed_part(pattern)
    return _matches_in(os.path.realpath(folder), [re.compile(translate(part)) if part != "**" else None for part in parts])


def _matches_in(folder: str, parts: list[re.Pattern[str] | None]) -> Iterator[os.DirEntry[str]]:
    """The entries under a folder whose names match, part by part; None: folders at any depth."""
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
    return TranscriptFile(_real_path(entry), stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


def _real_path(entry: os.DirEntry[str]) -> str:
    return os.path.realpath(entry.path) if entry.is_symlink() else entry.path


def _gemini_project(path: Path) -> str | None:
    try:
        with (path.parent.parent / _PROJECT_FILE).open("rb") as file:
            project = file.read(_MOST_PATH_BYTES).decode("utf-8").strip()
    except (OSError, ValueError):
        return None
    return project or None
