"""One runner for the git binary: a built environment, fixed arguments, a time limit on the whole process group."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.records import dataclass

_KEPT = {
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_TEMPLATE_DIR"),
}
_FIXED = {
    "LANGUAGE": "en",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
}
_SETTINGS = (
    *("-c", "maintenance.auto=false", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"),
    *("-c", "color.ui=false", "-c", "i18n.commitEncoding=UTF-8", "-c", "i18n.logOutputEncoding=UTF-8"),
    *("-c", "advice.detachedHead=false", "-c", "core.untrackedCache=keep"),
)
DURABLE = ("-c", "core.fsync=committed,loose-object,reference,index")
"""Before a command whose work must survive a power cut."""
MARKDOWN, TEMPORARIES = ":(icase,glob)**/*.md", ":(glob)**/.mdmem-*.tmp"
"""Pathspecs: of Markdown files, and of what a write that was killed leaves beside them (the bytes from before, perhaps)."""
READ_SECONDS = 60.0
_KILL_SECONDS = 2.0
_STEP_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a git process ended."""

    status: int
    output: bytes
    words: str


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment git runs in: nothing that a hook set points it to another repository, and nothing waits for a person."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return kept | _FIXED | dict(extra or {})


def run(
    folder: Path,
    arguments: Sequence[str],
    text: bytes = b"",
    extra: Mapping[str, str] | None = None,
    seconds: float = READ_SECONDS,
) -> Outcome:
    """Run git once, in `folder`, with `text` on its standard input; its whole process group has `seconds`.

    Raises:
        RepositoryProblem: `git-missing`, or `git-timeout` where it took too long.
    """
    command = ["git", "--no-pager", *_SETTINGS, *arguments]
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(extra),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as problem:
        if not folder.is_dir():
            raise PathProblem("bad-path", f"there is no folder {folder}") from problem
        raise RepositoryProblem("git-missing", "git is not installed", "Install git.") from problem
    try:
        output, words = _finish(process, text, seconds)
    except subprocess.TimeoutExpired as problem:
        _end_group(process)
        raise RepositoryProblem("git-timeout", f"git {arguments[0]} took longer than {seconds:g} seconds") from problem
    except BaseException:
        _end_group(process)
        raise
    finally:
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream and not stream.closed:
                stream.close()
    return Outcome(process.returncode, output, words.decode("utf-8", "replace").strip())


def _finish(process: "subprocess.Popen[bytes]", text: bytes, seconds: float) -> tuple[bytes, bytes]:
    """What a process says until it ends. What a hook started in the background may keep the pipes open; that is not waited for."""
    ends = time.monotonic() + seconds
    given: bytes | None = text
    ended = False
    while True:
        try:
            return process.communicate(given, timeout=min(_STEP_SECONDS, seconds))
        except subprocess.TimeoutExpired as waiting:
            if ended:
                return waiting.output or b"", waiting.stderr or b""
            ended = process.poll() is not None
            if not ended and time.monotonic() >= ends:
                raise
        given = None


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a process and all that it started; git gets the time to take its lock files away."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=_KILL_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
