"""Run git with an environment of its own, fixed settings and a time limit for its group."""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mdmem.model import FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem
from mdmem.startup.launch import INTERRUPTIONS
from mdmem.startup.records import dataclass

if not hasattr(os, "memfd_create"):  # another system, or an interpreter built for an old one
    import tempfile


_QUIET_SECONDS = 0.2
_KILL_SECONDS = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0002, 0.05
_CHUNK_BYTES = 65_536
_LOST_STATUS = 255
"""The status of a process for which something else has waited: success is unknown."""
_KEPT = {
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_TEMPLATE_DIR",
    # For the user's hooks.
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ASKPASS",
    "GIT_ALLOW_PROTOCOL",
    "GIT_PROTOCOL_FROM_USER",
}
_FIXED = {
    "LANGUAGE": "en",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    # Either could make a circle of commits, or give a commit another past.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": f"{os.devnull}/none",
    "MDMEM_CONTEXT": "off",  # a hook of git may start an agent, whose session is not the user's
}
_NO_LAZY_FETCH = {"GIT_NO_LAZY_FETCH": "1"}
"""For every git process: a foreign repository can name any program as its promisor remote."""
_OFFLINE = _NO_LAZY_FETCH | {"GIT_ALLOW_PROTOCOL": ""}
"""For every git that is not `is_online`: no transport, as git before 2.39.4 ignores the above."""
_SETTINGS = tuple(
    word
    for setting in (
        "maintenance.auto=false",
        "core.fsmonitor=false",
        "core.quotePath=false",
        "log.showSignature=false",
        "color.ui=false",
        "i18n.commitEncoding=UTF-8",
        "i18n.logOutputEncoding=UTF-8",
        "core.fsync=committed,loose-object,reference,index",
    )
    for word in ("-c", setting)
)
"""Settings for every command; the last has all that git writes survive a power cut."""
_EMPTY_FILTER = {"clean": "", "smudge": "", "process": "", "required": "false"}
MARKDOWN, TEMPORARIES = ":(icase,glob)**/*.md", ":(glob)**/.mdmem-*.tmp"
"""Pathspecs: Markdown, and temporary files of a killed write (they may hold old bytes)."""
READ_SECONDS = 60.0
LACKS_VERSIONS = "this clone lacks older versions"
FETCH_VERSIONS = "To get them: git fetch --refetch --no-filter"
_LACKING = ("lazy fetching disabled", "from promisor remote")
"""The words of git on an object that it would have fetched; before 2.39.4 the second alone."""


class TimeUpError(Exception):
    """A process took too long; it and all its children are ended."""


_MOST_LISTED_BYTES = 200_000_000
"""The output of a git process, contents of files apart: the paths of a few million files."""


class TooMuchOutputError(Exception):
    """A process wrote more than it may; it and all its children are ended."""


def converse(
    command: Sequence[str],
    environment: Mapping[str, str],
    text: bytes,
    seconds: float,
    folder: str | None = None,
    meanwhile: Callable[[], None] | None = None,
    most_bytes: int | None = None,
    heed: Callable[[bytes], None] | None = None,
) -> tuple[int, bytes, bytes]:
    """Start a process (found by PATH) with `text` on its standard input, and read its output.

    The whole text is there before the start: if this process is killed, the child never takes a
    part of it for the whole. Pipes kept open by background processes are not waited for.
    `meanwhile` is called while the process works, and must be quick. `most_bytes`: of both outputs
    together (None: any number). `heed` gets what comes on standard error, as it comes.

    Returns:
        Its exit status (below zero: the signal that ended it), standard output and standard error.

    Raises:
        FileNotFoundError: the program does not exist.
        TimeUpError: it took longer than `seconds`.
        TooMuchOutputError: it wrote more than `most_bytes`.
    """
    _heed_children()
    process: subprocess.Popen[bytes] | None = None
    with (
        _pipe() as (output, their_output),
        _pipe() as (errors, their_errors),
        _text_file(text) as their_input,
    ):
        try:
            with _interruptions_held():
                process = subprocess.Popen(
                    command,
                    stdin=their_input,
                    stdout=their_output,
                    stderr=their_errors,
                    env=environment,
                    cwd=folder,
                    start_new_session=True,
                )
            their_output.close()
            their_errors.close()
            if meanwhile is not None:
                meanwhile()
            received = _read_streams(
                process, (output, errors), time.monotonic() + seconds, most_bytes, heed
            )
        except BaseException:
            if process is not None:
                _end(process)
            raise
    return process.returncode, received[0], received[1]


@contextmanager
def output_lines(folder: Path, arguments: Sequence[str]) -> Iterator[Iterator[bytes]]:
    """Run git offline and read its output line by line, as it comes, for as long as it takes.

    Raises RepositoryProblem (`git-missing`, `git-failed`, `missing-history`), at the end.
    """
    _heed_children()
    process: subprocess.Popen[bytes] | None = None
    with _pipe() as (output, their_output), _unnamed_file() as errors:
        try:
            with _interruptions_held():
                process = subprocess.Popen(
                    _command(folder, arguments),
                    stdin=subprocess.DEVNULL,
                    stdout=their_output,
                    stderr=errors,
                    env=environment() | _OFFLINE,
                    start_new_session=True,
                )
            their_output.close()
            yield output
            _ends_by(process, math.inf)
        except FileNotFoundError as problem:
            raise _git_missing() from problem
        except BaseException:
            if process is not None:
                _end(process)
            raise
        errors.seek(0)
        text = errors.read().decode("utf-8", "replace").strip()
        result = GitResult(process.returncode, b"", text)
        if result.status:
            raise result.failure("log")


def _command(folder: Path, arguments: Sequence[str]) -> list[str]:
    return ["git", "-C", os.fspath(folder), "--no-pager", *_SETTINGS, *arguments]


def _git_missing() -> RepositoryProblem:
    return RepositoryProblem("git-missing", "git is not installed", "Install git.")


def _heed_children() -> None:
    # SIG_IGN may be inherited; no status could be waited for with it.
    if _is_main_thread() and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def _pipe() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """A pipe, reading end first. (`Popen` leaves pipes open where it cannot make them all.)"""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as ours, os.fdopen(writing, "wb") as theirs:
        yield ours, theirs


@contextmanager
def _text_file(text: bytes) -> Iterator[IO[bytes] | int]:
    if not text:
        yield subprocess.DEVNULL
        return
    with _unnamed_file() as file:
        file.write(text)
        file.seek(0)
        yield file


def _unnamed_file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("text"), "w+b")
    return tempfile.TemporaryFile()


@contextmanager
def _interruptions_held() -> Iterator[None]:
    """Hold interruptions back until a new process is under control: it inherits blocked signals."""
    handlers = (
        {number: signal.getsignal(number) for number in INTERRUPTIONS} if _is_main_thread() else {}
    )
    held: list[int] = []
    try:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, lambda number, _: held.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
        for interruption in held:
            signal.raise_signal(interruption)


def _read_streams(
    process: subprocess.Popen[bytes],
    streams: Sequence[IO[bytes]],
    limit: float,
    most_bytes: int | None,
    heed: Callable[[bytes], None] | None,
) -> list[bytes]:
    received = {stream.fileno(): bytearray() for stream in streams}
    ended_at: float | None = None
    with selectors.DefaultSelector() as selector:
        for stream in received:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(_QUIET_SECONDS):
                if chunk := os.read(key.fd, _CHUNK_BYTES):
                    received[key.fd] += chunk
                    if heed is not None and key.fd == streams[1].fileno():
                        heed(chunk)
                else:
                    selector.unregister(key.fd)
            if most_bytes is not None and sum(map(len, received.values())) > most_bytes:
                raise TooMuchOutputError
            now = time.monotonic()
            if ended_at is not None:
                if now - ended_at >= _QUIET_SECONDS:
                    break
            elif _has_ended(process):
                ended_at = now  # its last output is in the pipes, and read in the next round
            elif now >= limit:
                raise TimeUpError
    if not _ends_by(process, limit):
        raise TimeUpError
    return [bytes(data) for data in received.values()]


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """True if a process has ended. (`Popen.poll` takes an unknown status for success.)"""
    if process.returncode is None:
        try:
            number, status = os.waitpid(process.pid, os.WNOHANG)
        except ChildProcessError:
            process.returncode = _LOST_STATUS
        else:
            process.returncode = os.waitstatus_to_exitcode(status) if number else None
    return process.returncode is not None


def _ends_by(process: subprocess.Popen[bytes], limit: float) -> bool:
    pause = _FIRST_PAUSE
    while not _has_ended(process):
        if time.monotonic() >= limit:
            return False
        # Not every system can signal the end of a process; the first pause is a fraction of a
        # millisecond.
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all its children, with time to remove their lock files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        # None is left, or only one that a hook started as another user.
        except (ProcessLookupError, PermissionError):
            break
        _ends_by(process, time.monotonic() + _KILL_SECONDS)
    _ends_by(process, math.inf)


@dataclass(frozen=True, slots=True)
class GitResult:
    status: int
    output: bytes
    error_text: str

    @property
    def lacks_objects(self) -> bool:
        """True if git needed an object that a partial clone has not fetched."""
        return any(words in self.error_text for words in _LACKING)

    def failure(self, command: str) -> RepositoryProblem:
        """The failure of a command: `missing-history`, or `git-failed` with what git said."""
        if self.lacks_objects:
            return RepositoryProblem("missing-history", LACKS_VERSIONS, FETCH_VERSIONS)
        return RepositoryProblem("git-failed", f"git {command}: {self.error_text}")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of git: no hook's variable redirects it, and nothing waits for a person."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT
    }
    return kept | _FIXED | dict(extra or {})


def run(
    folder: Path,
    arguments: Sequence[str],
    text: bytes = b"",
    extra: Mapping[str, str] | None = None,
    seconds: float = READ_SECONDS,
    meanwhile: Callable[[], None] | None = None,
    *,
    is_online: bool = False,
    without_filters: Sequence[str] = (),
    heed_line: Callable[[str], None] | None = None,
) -> GitResult:
    """Run git once, in `folder`, with `text` as input; its whole process group has `seconds`.

    `meanwhile` is called while git works (see `converse`). `is_online`: git may use the
    network, or runs the user's own hooks, filters and signing, which may; no other can.
    `without_filters`: the names of filters that git does not start. `heed_line` gets each line that
    ends on standard error, also of a progress that overwrites its own. Raises RepositoryProblem
    (`git-missing`, `git-timeout` where it took too long, or `git-failed` where it lists too much: a
    few small trees in one another can have a hundred million paths).
    """
    command = _command(folder, arguments)
    variables = environment(extra) | (_NO_LAZY_FETCH if is_online else _OFFLINE)
    variables |= _emptied(without_filters)
    most_bytes = None if arguments[0] == "cat-file" else _MOST_LISTED_BYTES
    try:
        status, output, errors = converse(
            command,
            variables,
            text,
            seconds,
            most_bytes=most_bytes,
            meanwhile=meanwhile,
            heed=_by_lines(heed_line) if heed_line else None,
        )
    except (FileNotFoundError, NotADirectoryError, PermissionError) as problem:
        raise _git_missing() from problem
    except TimeUpError as problem:
        raise RepositoryProblem(
            "git-timeout", f"git {arguments[0]} took longer than {seconds:g} s"
        ) from problem
    except TooMuchOutputError as problem:
        message = f"git {arguments[0]} lists more than {_MOST_LISTED_BYTES // 1_000_000} MB"
        raise RepositoryProblem("git-failed", message) from problem
    if status and not folder.is_dir():
        raise PathProblem("bad-path", f"{folder} does not exist")
    return GitResult(status, output, errors.decode("utf-8", "replace").strip())


def _by_lines(heed_line: Callable[[str], None]) -> Callable[[bytes], None]:
    rest = b""

    def heed(chunk: bytes) -> None:
        nonlocal rest
        *lines, rest = (rest + chunk).replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            heed_line(line.decode("utf-8", "replace"))

    return heed


def _emptied(filters: Sequence[str]) -> dict[str, str]:
    """Variables that empty filters. (An option `-c` would end a name at its first `=`.)"""
    if not filters:
        return {}
    settings = [
        (f"filter.{name}.{key}", value) for name in filters for key, value in _EMPTY_FILTER.items()
    ]
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def setting(folder: Path, name: str) -> str | None:
    """The value of one of git's settings as it is in a folder; None where it is not set."""
    result = run(folder, ["config", "--get", name])
    text = result.output.decode("utf-8", "replace").removesuffix("\n")
    return text if result.status == 0 else None


def literal_pathspecs(paths: Sequence[FilePath]) -> list[str]:
    """Pathspecs of exactly these paths. (git's setting for that would reach the user's hooks.)"""
    return [f":(literal){path}" for path in paths]


def parse_paths(output: bytes) -> list[FilePath]:
    return [FilePath(os.fsdecode(path)) for path in output.split(b"\0") if path]
