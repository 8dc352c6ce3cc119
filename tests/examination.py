"""A workspace that the doctor examines, and its findings."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk
from workspaces import desk as make_desk

from mdmem.folder import hook_files
from mdmem.health import doctor
from mdmem.health.doctor import Finding, Level
from mdmem.index import catching_up
from mdmem.merge import setup

AN_HOUR, TWO_DAYS = 3600, 2 * 86_400


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="only /proc tells who has a lock"
)


@pytest.fixture
def desk(world: World, repository: Path) -> Desk:
    """A workspace in which there is nothing to find. Its hooks step aside, as for a commit of
    mdmem's own.
    """
    desk = make_desk(World(world.home, {**world.environment, "MDMEM_COMMIT": "1"}), repository)
    hook_files.install(desk.workspace.repository.hooks_dir, sys.executable)
    setup.install(desk.workspace, sys.executable)
    rebuild(desk, False)
    return desk


def rebuild(desk: Desk, full: bool) -> int:
    return catching_up.rebuild_index(desk.workspace, full, lambda _: None).index.finder.count


def examine(
    desk: Desk, fix: bool = False, history_seconds: float = doctor.HISTORY_SECONDS
) -> tuple[Finding, ...]:
    workspace = desk.workspace
    return doctor.examine(
        workspace,
        partial(catching_up.index_as_is, workspace),
        partial(rebuild, desk),
        fix,
        history_seconds,
    )


def findings_of(desk: Desk, check: str, fix: bool = False) -> list[Finding]:
    """The findings of one check that are not `ok`."""
    workspace = desk.workspace
    inspection = doctor.Inspection(
        workspace=workspace,
        open_index=partial(catching_up.index_as_is, workspace),
        rebuild_index=partial(rebuild, desk),
        fix=fix,
        history_seconds=doctor.HISTORY_SECONDS,
    )
    return [
        finding for finding in doctor.run_check(check, inspection) if finding.level is not Level.OK
    ]


def only_finding(desk: Desk, check: str, fix: bool = False) -> Finding:
    (finding,) = findings_of(desk, check, fix)
    return finding


def make_old(path: Path, seconds: float) -> Path:
    time_stamp = time.time() - seconds
    os.utime(path, (time_stamp, time_stamp), follow_symlinks=False)
    return path


@pytest.fixture
def holder(desk: Desk) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds mdmem's lock."""
    code = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(desk.workspace.state / "lock")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
