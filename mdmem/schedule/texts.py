"""The systemd units and the cron line that call `run`, added to a crontab or removed. Pure."""

from __future__ import annotations

import os
import posixpath
import shlex
import string
from collections.abc import Sequence
from hashlib import sha256

from mdmem.errors import RepositoryProblem

SERVICE_NAME, TIMER_NAME = "mdmem-run@.service", "mdmem-run@.timer"
_UNIT_MARKER = (
    "# Written by mdmem schedule, which will overwrite it. Put your changes in a drop-in: systemctl"
    " --user edit"
)
_EARLIER_MARKER = "# Placed by mdmem schedule, which replaces it."
_PLAIN = frozenset((string.ascii_letters + string.digits + ":_.").encode())
_MOST_NAME = 255
_ENV = "/usr/bin/env"
_NOT_IN_PROGRAMS = frozenset("\"'\\")
"""Characters that systemd takes in arguments, and not in the path of the program."""

_SERVICE = """\
{marker} mdmem-run@INSTANCE.service
[Unit]
Description=mdmem: run pending tasks in %f

[Service]
Type=oneshot
ExecStart={command} -C %f run --quiet
Nice=10
TimeoutStartSec=15min
"""
_TIMER = """\
{marker} mdmem-run@INSTANCE.timer
[Unit]
Description=mdmem: run pending tasks in %f every five minutes

[Timer]
OnCalendar=*:0/5
Persistent=true
RandomizedDelaySec=30

[Install]
WantedBy=timers.target
"""


def service(program: Sequence[str]) -> str:
    """The text of the service; `program` are the words that start mdmem."""
    words = (_ENV, *program) if set(program[0]) & _NOT_IN_PROGRAMS else program
    first, *others = words
    # A colon before the program: what looks like a variable in a path is none.
    return _SERVICE.format(
        marker=_UNIT_MARKER, command=" ".join(map(_quoted_for_systemd, (f":{first}", *others)))
    )


def timer() -> str:
    """The text of the timer."""
    return _TIMER.format(marker=_UNIT_MARKER)


def is_ours(text: bytes | None) -> bool:
    """True if mdmem has written a unit."""
    return text is not None and text.startswith((_UNIT_MARKER.encode(), _EARLIER_MARKER.encode()))


def timer_of(workspace: str) -> str:
    """A workspace's timer.

    Raises: RepositoryProblem (`cannot-schedule`: the path is too long for a name).
    """
    name = TIMER_NAME.replace("@", f"@{escape_path(workspace)}")
    if len(name) + len(".service") - len(".timer") > _MOST_NAME:
        message = f"systemd cannot name the timer of {workspace}: its path is too long"
        raise RepositoryProblem("cannot-schedule", message, "cron has no such limit.")
    return name


def escape_path(path: str) -> str:
    """A path as the instance of a unit, as `systemd-escape --path` gives it."""
    data = os.fsencode(posixpath.normpath(path).strip("/"))
    if not data:
        return "-"
    return "".join(_escaped(byte, is_first=number == 0) for number, byte in enumerate(data))


def _escaped(byte: int, is_first: bool) -> str:
    if byte == ord("/"):
        return "-"
    return chr(byte) if byte in _PLAIN and not (is_first and byte == ord(".")) else f"\\x{byte:02x}"


def _quoted_for_systemd(word: str) -> str:
    """A word of a command line in a unit (systemd.service(5))."""
    literal = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    literal = "".join(
        c if c.isprintable() else "".join(f"\\x{byte:02x}" for byte in os.fsencode(c))
        for c in literal
    )
    return literal if literal == word and not set(word) & set(" ';") else f'"{literal}"'


_LINE_MARKER = "# schedule of mdmem"
_MARKER_DIGITS = 8


def cron_line(program: Sequence[str], workspace: str) -> str:
    """A workspace's line; `program` are the words that start mdmem.

    Raises: RepositoryProblem (`cannot-schedule`: a path has a line end).
    """
    words = (*program, "-C", workspace, "run", "--quiet")
    if any(c in word for word in words for c in "\n\r\0"):
        raise RepositoryProblem(
            "cannot-schedule",
            f"cron takes no line ends, and {workspace!r} has one",
            "systemd takes it.",
        )
    return f"*/5 * * * * {' '.join(map(_quoted_for_cron, words))} {_line_marker(workspace)}"


def with_line(crontab: bytes, workspace: str, added: str) -> bytes:
    """Replace a workspace's line in a crontab, or append it."""
    lines = crontab.splitlines(keepends=True)
    new = os.fsencode(added) + b"\n"
    own = [number for number, each in enumerate(lines) if _is_of(each, workspace)]
    if own:
        kept = (
            new if number == own[0] else each
            for number, each in enumerate(lines)
            if number not in own[1:]
        )
        return b"".join(kept)
    return crontab + (b"" if not crontab or crontab.endswith(b"\n") else b"\n") + new


def without_line(crontab: bytes, workspace: str) -> bytes:
    """Remove a workspace's line from a crontab."""
    return b"".join(
        each for each in crontab.splitlines(keepends=True) if not _is_of(each, workspace)
    )


def _is_of(each: bytes, workspace: str) -> bool:
    return each.rstrip().endswith(
        _line_marker(workspace).encode()
    ) and not each.lstrip().startswith(b"#")


def _line_marker(workspace: str) -> str:
    """A shell comment that identifies the line of a workspace whatever its path holds."""
    return f"{_LINE_MARKER} {sha256(os.fsencode(workspace)).hexdigest()[:_MARKER_DIGITS]}"


def _quoted_for_cron(word: str) -> str:
    r"""A word for cron's shell; cron reads `\%` as a percent sign.

    Some crons read `\\` as one backslash, others as two: two quotes, which the shell drops,
    separate a backslash from what follows. (`shlex.quote` puts every backslash in single quotes.)
    """
    quoted = shlex.quote(word)
    return (
        quoted.replace("\\", "\\''").replace("%", "\\%")
        if "\\" in quoted
        else quoted.replace("%", "\\%")
    )
