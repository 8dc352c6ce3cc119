"""Homes as earlier versions left them (tests/data/upgrade), at a new place."""

import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from conftest import World

from mdmem.health.schedule import timer_of
from mdmem.workspace import state

ARCHIVES = ("0.2.0", "0.2-nights", "0.3", "0.3.0")
"""0.2-nights is the last version that asked for no adoption; 0.2.0 itself had no digest and no
nights. 0.3 came before the release 0.3.0, which is connected to a host, a project, a remote and
a timer.
"""
DATA = Path(__file__).parent / "data" / "upgrade"
MADE_AT, MADE_BY = "/home/ada", "/opt/mdmem/bin/python3"
AFTER = "2026-03-06T08:00:00+00:00"
"""A time after all that is in the archives."""
_NOT_CHANGED = (".claude", "objects", "index", "versions.db")
"""What names no path that counts, or is compared by its bytes."""


def unpack(archive: str, world: World, patch: pytest.MonkeyPatch) -> Path:
    """Unpack a version's home into the world's, where nothing else is adopted: the workspace.

    The paths and numbers of files that this version recorded become those of the new place, as in
    an upgrade, in which no file moves.
    """
    patch.delenv("MDMEM_ADOPT")
    patch.setenv("MDMEM_NOW", AFTER)
    with tarfile.open(DATA / f"{archive}.tar.xz") as tar:
        tar.extractall(world.home.parent, filter="tar")
    home = os.path.realpath(world.home)
    for path in world.home.rglob("*"):
        if path.is_file() and not set(_NOT_CHANGED) & set(path.relative_to(world.home).parts):
            data = path.read_bytes()
            new = data.replace(MADE_AT.encode(), home.encode())
            new = new.replace(MADE_BY.encode(), sys.executable.encode())
            if new != data:
                path.write_bytes(new)
    own = world.home / ".local/state/mdmem"
    for name in ("adopted.json", "workspaces.json"):
        _change(own / name, _number_folders)
    if (own / "state-ids").exists():
        ids = sorted(world.home.rglob(".git/mdmem/id"))
        marks = [b" ".join(state.marks(path.read_bytes(), path.parent)) for path in ids]
        (own / "state-ids").write_bytes(b"\n".join(marks) + b"\n")
    for timer in world.home.glob(".config/systemd/user/timers.target.wants/*"):
        timer.rename(timer.with_name(timer_of(f"{home}/notes")))
    _change(world.home / "notes/.git/mdmem/root/transcripts.json", _number_transcripts)
    return world.home / "notes"


def _change(path: Path, change: Any) -> None:
    if path.exists():
        values = json.loads(path.read_text())
        change(values)
        path.write_text(json.dumps(values))


def _number_folders(values: dict[str, Any]) -> None:
    for entry in values["workspaces"]:
        status = Path(entry["common_dir"]).stat()
        entry |= {"device": status.st_dev, "inode": status.st_ino}


def _number_transcripts(values: dict[str, Any]) -> None:
    cursors = values.get("values", values)["cursors"]
    for path, cursor in cursors.items():
        status = Path(path).stat()
        if isinstance(cursor, list):
            cursor[:2] = status.st_dev, status.st_ino
            cursor[3] = status.st_mtime_ns
        else:
            new = {"device": status.st_dev, "inode": status.st_ino, "changed": status.st_mtime_ns}
            cursors[path] = json.dumps(json.loads(cursor) | new, separators=(",", ":"))
