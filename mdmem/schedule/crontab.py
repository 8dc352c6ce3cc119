"""The line of a crontab that calls `run`, put into the lines of others and taken out of them. Pure."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from hashlib import sha256

from mdmem.errors import RepositoryProblem

_TIMES = "*/5 * * * *"
_MARKER = "# schedule of mdmem"
_DIGITS = 8


def line(program: Sequence[str], workspace: str) -> str:
    """The line for a workspace; `program` are the words that start mdmem.

    Raises:
        RepositoryProblem: `cannot-schedule`: a path has a line end.
    """
    words = (*program, "-C", workspace, "run", "--quiet")
    if any(c in word for word in words for c in "\n\r\0"):
        raise RepositoryProblem("cannot-schedule", f"cron takes no line ends, and {workspace!r} has one", "systemd takes it.")
    return f"{_TIMES} {' '.join(map(_quoted, words))} {_marker(workspace)}"


def with_line(crontab: bytes, workspace: str, added: str) -> bytes:
    """A crontab with the line of a workspace, where an earlier one stood or at the end."""
    lines = crontab.splitlines(keepends=True)
    new = os.fsencode(added) + b"\n"
    own = [number for number, each in enumerate(lines) if _is_of(each, workspace)]
    if own:
        kept = (new if number == own[0] else each for number, each in enumerate(lines) if number not in own[1:])
        return b"".join(kept)
    return crontab + (b"" if not crontab or crontab.endswith(b"\n") else b"\n") + new


def without_line(crontab: bytes, workspace: str) -> bytes:
    """A crontab without the line of a workspace."""
    return b"".join(each for each in crontab.splitlines(keepends=True) if not _is_of(each, workspace))


def _is_of(each: bytes, workspace: str) -> bool:
    return each.rstrip().endswith(_marker(workspace).encode()) and not each.lstrip().startswith(b"#")


def _marker(workspace: str) -> str:
    """A comment of the shell, by which the line of a workspace is known whatever its path holds."""
    return f"{_MARKER} {sha256(os.fsencode(workspace)).hexdigest()[:_DIGITS]}"


def _quoted(word: str) -> str:
    r"""A word for the shell that cron starts, which reads `\%` as a percent sign.

    Some crons read `\\` as one backslash, others as two: between a backslash and what follows it stand two quotes that the shell drops.
    (`shlex.quote` puts every backslash in single quotes.)
    """
    quoted = shlex.quote(word)
    return quoted.replace("\\", "\\''").replace("%", "\\%") if "\\" in quoted else quoted.replace("%", "\\%")
