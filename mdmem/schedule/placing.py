"""Install or remove the systemd timer or cron line that calls `run`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from mdmem.errors import RepositoryProblem
from mdmem.folder import files
from mdmem.model.pipelines import CRON, SYSTEMD, Schedule, ScheduleResult, UnitFile
from mdmem.repo.runner import TimeUpError, converse
from mdmem.schedule import texts
from mdmem.wording import verb
from mdmem.workspace import Workspace

_SECONDS = 30.0
_WANTS = "timers.target.wants"
_LINGER_HINT = "user timers stop at logout; to keep them running: loginctl enable-linger"
_PROGRAM = (sys.executable, "-P", "-m", "mdmem")


def schedule(workspace: Workspace, request: Schedule) -> ScheduleResult:
    """Show how `run` is scheduled every five minutes, or install or remove that.

    Raises: RepositoryProblem (`cannot-schedule`), OSError.
    """
    return (
        _by_systemd(workspace, request)
        if request.system == SYSTEMD
        else _by_cron(workspace, request)
    )


# systemd.


def _by_systemd(workspace: Workspace, request: Schedule) -> ScheduleResult:
    folder = _units_folder(workspace.environment)
    name = texts.timer_of(str(workspace.root))
    unit_texts = {
        folder / texts.SERVICE_NAME: texts.service(_PROGRAM),
        folder / texts.TIMER_NAME: texts.timer(),
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
        if text is not None and not texts.is_ours(text):
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
    return ScheduleResult(
        system=result.system,
        files=result.files,
        timer=result.timer,
        changed=bool(due) or (not failure and not was_active),
        active=not failure,
        next=(
            (f"systemctl --user enable --now {shlex.quote(str(result.timer))}",) if failure else ()
        ),
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
        else [file for file in result.files if texts.is_ours(files.read(Path(str(file.path))))]
    )
    for file in removed:
        files.remove(Path(str(file.path)))
    if removed and not failure:
        failure = _systemctl(environment, "daemon-reload")
    return ScheduleResult(
        system=result.system,
        files=tuple(removed),
        timer=name,
        changed=was_active or bool(removed),
        active=False,
        next=(f"systemctl --user stop {shlex.quote(name)}",) if failure and was_active else (),
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
    line = texts.cron_line(_PROGRAM, root)
    changed = False
    if request.install or request.uninstall:
        before = _read_crontab(workspace.environment, line)
        after = (
            texts.with_line(before, root, line)
            if request.install
            else texts.without_line(before, root)
        )
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
    """Call crontab(1): its exit status, output and errors.

    Raises: RepositoryProblem (`cannot-schedule`: no such program, or it failed and may not).
    """
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
