"""The container of docs/digest.md: as written, and with what it lacks taken away here."""

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import World

from mdmem.memory import initialise
from mdmem.model.reads import Initialise

ROOT = Path(__file__).parents[1]
ROWS = [
    {"type": "user", "message": {"role": "user", "content": "We decided to keep the old pump."}},
    {"type": "user", "message": {"role": "user", "content": "I prefer calls before noon."}},
]
KNOWS_NOBODY = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "user.useConfigOnly",
    "GIT_CONFIG_VALUE_0": "true",
}
"""Settings with which git does not guess who commits, as for a user without a name."""


def words(home: Path) -> list[str]:
    """The words of the documented `docker run`, for somebody's home."""
    text = (ROOT / "docs" / "digest.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^    (docker run (?:.*\\\n)*.*)", text, re.MULTILINE)
    ids = (("$(id -u)", str(os.getuid())), ("$(id -g)", str(os.getgid())), ("$HOME", str(home)))
    for name, value in (*ids, ("\\\n", "")):
        command = command.replace(name, value)
    return shlex.split(command)


def options(command: list[str], name: str) -> Iterator[str]:
    return (value for option, value in itertools.pairwise(command) if option == name)


def write_session(home: Path, folder: Path) -> None:
    """A session of Claude Code that was held in a folder."""
    project = home / ".claude" / "projects" / str(folder).replace("/", "-")
    project.mkdir(parents=True)
    rows = [
        {
            "uuid": f"{number}",
            "parentUuid": None,
            "sessionId": "5a1e0000",
            "timestamp": f"2026-03-04T09:0{number}:00Z",
            "cwd": str(folder),
            "version": "2.1.0",
            "isSidechain": False,
            "userType": "external",
            **row,
        }
        for number, row in enumerate(ROWS)
    ]
    (project / "5a1e0000.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def home(world: World) -> Path:
    """A home with a workspace, and settings that name a client."""
    initialise(Initialise(str(world.home / "notes"), hooks=False), os.environ)
    settings = world.home / ".config" / "mdmem" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('sessions = ["claude"]\ndream = "off"\n')
    return world.home


def run(home: Path, programs: Path) -> str:
    """Run what the image runs, once, where there is nothing but what is mounted; what is logged."""
    command = words(home)
    mounted = [volume.split(":") for volume in options(command, "--volume")]
    assert all(source == target for source, target, *_ in mounted)
    for entry in home.iterdir():
        if not any(Path(target).is_relative_to(entry) for _, target, *_ in mounted):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    before = sorted(home.iterdir())
    for name, text in {
        "mdmem": f'exec "{sys.executable}" -P -m mdmem "$@"',
        "sleep": "exit 1",
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    (loop,) = re.findall(r"^CMD (.*)", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    environment = dict(value.split("=", 1) for value in options(command, "--env"))
    done = subprocess.run(
        json.loads(loop),
        cwd="/",
        env={"PATH": f"{programs}:{os.environ['PATH']}", **environment, **KNOWS_NOBODY},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=60,
    )
    assert sorted(home.iterdir()) == before
    return done.stdout


@pytest.mark.parametrize("where", ["notes", "elsewhere"])
def test_what_the_image_runs(home: Path, tmp_path: Path, where: str):
    write_session(home, home / where)
    logged = run(home, tmp_path)
    log = home / "notes" / "memory" / "2026-03-04.md"
    if where == "notes":
        assert logged.startswith("digest: 2 entries of 1 session, 2 messages (digest/")
        assert "keep the old pump" in log.read_text()
    else:
        assert "  warning: 1 session of other folders left out, and none is of this" in logged
        assert not log.exists()


@pytest.mark.slow
def test_in_a_container(home: Path):
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True).returncode:
        pytest.skip("no container engine is running")
    subprocess.run([docker, "build", "--tag", "mdmem-test", ROOT], check=True)
    write_session(home, home / "notes")
    once = [
        word
        for word in words(home)[2:-1]
        if word not in {"--detach", "--restart", "unless-stopped", "--name", "mdmem"}
    ]
    subprocess.run([docker, "run", "--rm", *once, "mdmem-test", "mdmem", "run"], check=True)
    assert "keep the old pump" in (home / "notes" / "memory" / "2026-03-04.md").read_text()
