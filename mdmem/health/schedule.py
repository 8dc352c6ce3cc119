"""Schedules: a systemd timer or a cron line calls `run` every few minutes."""

from __future__ import annotations

import os
import posixpath
import shlex
import string
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from mdmem.folder import files
from mdmem.model.errors import RepositoryProblem, shell_word, verb
from mdmem.model.pipelines import CRON, SYSTEMD, Schedule, ScheduleResult, UnitFile
from mdmem.repo.runner import TimeUpError, converse
from mdmem.startup.records import replace
from mdmem.workspace import Workspace

# The texts of units and of a line for cron. Pure.

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
Description=mdmem: run the steps that are due in %f

[Service]
Type=oneshot
ExecStart={command} -C %f run --quiet
Nice=10
TimeoutStartSec=15min
"""
_TIMER = """\
{marker} mdmem-run@INSTANCE.timer
[Unit]
Description=mdmem: run the steps that are due in %f, every five minutes

[Timer]
OnCalendar=*:0/5
Persistent=true
RandomizedDelaySec=30

[Install]
WantedBy=timers.target
"""


def service_text(program: Sequence[str]) -> str:
    """The text of the service; `program` are the words that start mdmem."""
    words = (_ENV, *program) if set(program[0]) & _NOT_IN_PROGRAMS else program
    first, *others = words
    # A colon before the program: what looks like a variable in a path is none.
    return _SERVICE.format(
        marker=_UNIT_MARKER, command=" ".join(map(_quoted_for_systemd, (f":{first}", *others)))
    )


def timer_text() -> str:
    return _TIMER.format(marker=_UNIT_MARKER)


def _is_ours(text: bytes | None) -> bool:
    return text is not None and text.startswith((_UNIT_MARKER.encode(), _EARLIER_MARKER.encode()))


def timer_of(workspace: str) -> str:
    """Raises: RepositoryProblem (`cannot-schedule`: the path is too long for a name)."""
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
    """A word of a command line in a unit (systemd.service_text(5))."""
    literal = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    literal = "".join(
        c if c.isprintable() else "".join(f"\\x{byte:02x}" for byte in os.fsencode(c))
        for c in literal
    )
    return literal if literal == word and not set(word) & set(" ';") else f'"{literal}"'


_LINE_MARKER = "# schedule of mdmem"
_MARKER_DIGITS = 8


def cron_line(program: Sequence[str], workspace: str) -> str:
    """Raises: RepositoryProblem (`cannot-schedule`: a path has a line end)."""
    words = (*program, "-C", workspace, "run", "--quiet")
    if any(c in word for word in words for c in "\n\r\0"):
        raise RepositoryProblem(
            "cannot-schedule",
            f"cron takes no line ends, and {workspace!r} has one",
            "systemd takes it.",
        )
    return f"*/5 * * * * {' '.join(map(_quoted_for_cron, words))} {_line_marker(workspace)}"


def with_line(crontab: bytes, workspace: str, added: str) -> bytes:
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


# Installing and removing them.

_SECONDS = 30.0
_WANTS = "timers.target.wants"
_LINGER_HINT = "user timers stop at logout; to keep them running: loginctl enable-linger"
_PROGRAM = (sys.executable, "-P", "-m", "mdmem")


def line_by_hand(workspace: Workspace) -> str:
    """The line of a crontab, for whatever can call a program there."""
    return cron_line(_PROGRAM, str(workspace.root))


def schedule(workspace: Workspace, request: Schedule) -> ScheduleResult:
    """Raises: RepositoryProblem (`cannot-schedule`), OSError."""
    return (
        _by_systemd(workspace, request)
        if request.system == SYSTEMD
        else _by_cron(workspace, request)
    )


# systemd.


def _by_systemd(workspace: Workspace, request: Schedule) -> ScheduleResult:
    folder = _units_folder(workspace.environment)
    name = timer_of(str(workspace.root))
    unit_texts = {
        folder / SERVICE_NAME: service_text(_PROGRAM),
        folder / TIMER_NAME: timer_text(),
    }
    result = ScheduleResult(
        system=request.system,
        files=tuple(UnitFile(str(path), text) for path, text in unit_texts.items()),
        timer=name,
        changed=False,
        active=False,
        next=(verb("schedule", "install"),),
        notes=(_LINGER_HINT,),
    )
    if request.install:
        return _install_units(workspace, result)
    return _uninstall_units(workspace, result) if request.uninstall else result


def _units_folder(environment: Mapping[str, str]) -> Path:
    base = environment.get("XDG_CONFIG_HOME") or f"{environment.get('HOME') or Path.home()}/.config"
    return Path(base) / "systemd" / "user"


def _install_units(workspace: Workspace, result: ScheduleResult) -> ScheduleResult:
    before = {file: files.read(Path(str(file.path))) for file in result.files}
    for file, text in before.items():
        if text is not None and not _is_ours(text):
            raise RepositoryProblem(
                "cannot-schedule",
                f"{file.path} already exists, and is not mdmem's",
                "Move it away, or rename it.",
            )
    due = [file for file in result.files if before[file] != file.text.encode()]
    for file in due:
        path = Path(str(file.path))
        files.make_folders(path.parent)
        if not files.replace(path, file.text.encode(), before[file], files.temporary_name()):
            raise RepositoryProblem("cannot-schedule", f"{path} was changed just now", "Try again.")
    was_active = _is_enabled(workspace.environment, str(result.timer))
    failure = _systemctl(workspace.environment, "daemon-reload") or _systemctl(
        workspace.environment, "enable", "--now", str(result.timer)
    )
    return replace(
        result,
        changed=bool(due) or (not failure and not was_active),
        active=not failure,
        next=((f"systemctl --user enable --now {shell_word(result.timer)}",) if failure else ()),
        notes=(*([f"systemctl failed: {failure}"] if failure else []), *result.notes),
    )


def _uninstall_units(workspace: Workspace, result: ScheduleResult) -> ScheduleResult:
    environment, name = workspace.environment, str(result.timer)
    was_active = _is_enabled(environment, name)
    failure = _systemctl(environment, "disable", "--now", name) if was_active else ""
    wants = _units_folder(environment) / _WANTS
    (wants / name).unlink(missing_ok=True)
    others = [path for path in wants.glob("mdmem-run@*.timer") if path.name != name]
    removed = (
        []
        if others
        else [file for file in result.files if _is_ours(files.read(Path(str(file.path))))]
    )
    for file in removed:
        files.remove(Path(str(file.path)))
    if removed and not failure:
        failure = _systemctl(environment, "daemon-reload")
    return replace(
        result,
        files=tuple(removed),
        changed=was_active or bool(removed),
        active=False,
        next=(f"systemctl --user stop {shell_word(name)}",) if failure and was_active else (),
        notes=(f"systemctl failed: {failure}",) if failure and was_active else (),
    )


def _is_enabled(environment: Mapping[str, str], name: str) -> bool:
    return os.path.lexists(_units_folder(environment) / _WANTS / name)


def _systemctl(environment: Mapping[str, str], *words: str) -> str:
    """Call the user's systemd; return an error message, or an empty text."""
    try:
        status, _, errors = converse(["systemctl", "--user", *words], environment, b"", _SECONDS)
    except FileNotFoundError:
        return "not installed"
    except TimeUpError:
        return "timed out"
    return "" if status == 0 else _first_line(errors) or f"exit status {status}"


# cron.


def _by_cron(workspace: Workspace, request: Schedule) -> ScheduleResult:
    root = str(workspace.root)
    line = cron_line(_PROGRAM, root)
    changed = False
    if request.install or request.uninstall:
        before = _read_crontab(workspace.environment, line)
        after = with_line(before, root, line) if request.install else without_line(before, root)
        changed = after != before
        if changed:
            _crontab(workspace.environment, line, "-", text=after)
    return ScheduleResult(
        system=request.system,
        files=(UnitFile(None, line),) if changed or not request.uninstall else (),
        timer=None,
        changed=changed,
        active=request.install,
        next=(
            ()
            if request.install or request.uninstall
            else (f"{verb('schedule', 'install')} {CRON}",)
        ),
    )


def _read_crontab(environment: Mapping[str, str], line: str) -> bytes:
    status, text, errors = _crontab(environment, line, "-l", may_fail=True)
    if status and b"no crontab for" not in errors:
        raise RepositoryProblem(
            "cannot-schedule", f"the crontab cannot be read: {_first_line(errors)}", _hint(line)
        )
    return b"" if status else text


def _crontab(
    environment: Mapping[str, str],
    line: str,
    *words: str,
    text: bytes = b"",
    may_fail: bool = False,
) -> tuple[int, bytes, bytes]:
    """Return exit status, output and errors. Raises: RepositoryProblem (`cannot-schedule`)."""
    try:
        status, output, errors = converse(["crontab", *words], environment, text, _SECONDS)
    except FileNotFoundError as problem:
        raise RepositoryProblem(
            "cannot-schedule", "crontab is not installed", _hint(line)
        ) from problem
    except TimeUpError as problem:
        raise RepositoryProblem(
            "cannot-schedule", "crontab took too long", _hint(line)
        ) from problem
    if status and not may_fail:
        raise RepositoryProblem(
            "cannot-schedule", f"crontab refused: {_first_line(errors)}", _hint(line)
        )
    return status, output, errors


def _hint(line: str) -> str:
    return f"The line for your crontab: {line}"


def _first_line(errors: bytes) -> str:
    return next(iter(errors.decode("utf-8", "replace").strip().splitlines()), "")
