"""Digests that are killed again and again, their state deleted in between: nothing is lost, and
nothing doubled.
"""

import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import killed_digest
import pytest
from conftest import World
from pi_sessions import START, digest, write_session
from workspaces import NOW, Desk, desk

from mdmem.text.document import parse
from mdmem.text.facts import items

SESSIONS, MESSAGES = 8, 60
KILLS_AT_ONCE = 10
SAYINGS = (
    "We decided to keep pump number {}.",
    "agent: Root cause: valve number {} was closed.",
    "I prefer calls before {} o'clock and a half.",
    "ok",
    "agent: Is that all for box {}?",
    "Remember that the exam of group {0} is on {0} December.",
)


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def write_sessions(folder: Path) -> None:
    folder.mkdir()
    for session in range(SESSIONS):
        texts = [
            SAYINGS[number % len(SAYINGS)].format(session * MESSAGES + number)
            for number in range(MESSAGES)
        ]
        write_session(
            folder,
            *texts,
            session=f"{session}a1e0000",
            start=START + timedelta(hours=session),
            every=timedelta(hours=1.2),
        )


def entries(at: Desk) -> Counter[tuple[str, str]]:
    """The entries of all logs, with the day."""
    logs = sorted((at.root / "memory").glob("*.md"))
    return Counter(
        (log.stem, item.fact.text)
        for log in logs
        for item in items(parse(log.read_text(encoding="utf-8")))
    )


@pytest.mark.parametrize("kills", [4, pytest.param(200, marks=pytest.mark.slow)])
def test_nothing_is_lost_and_nothing_doubled(at: Desk, tmp_path: Path, kills: int):
    sessions = tmp_path / "sessions"
    write_sessions(sessions)
    settings = at.world.home / ".config" / "mdmem" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f'sessions = ["{sessions / killed_digest.GROWING}/*.jsonl"]\nsession_scope = "all"\n'
    )
    for first in range(0, kills, KILLS_AT_ONCE):
        count = min(KILLS_AT_ONCE, kills - first)
        program = [
            sys.executable,
            "-B",
            killed_digest.__file__,
            at.root,
            sessions,
            str(count),
            str(first),
        ]
        steps = at.world.run(
            at.root, program, environment={"MDMEM_NOW": NOW, "TZ": "UTC"}
        ).stdout.split()
        assert len(steps) == count
    left = killed_digest.rest(sessions)
    for path, lines in left.items():
        killed_digest.grow(path, lines)
    growing = sorted(left)
    digest(at, *growing)
    killed = entries(at)
    cited = at.git("log", "--format=%(trailers:key=Mdmem-Cites,valueonly)").split("\n")
    assert max(killed.values()) == 1
    assert max(Counter(filter(None, cited)).values()) == 1
    assert not digest(at, *growing).entries

    at.git(
        "checkout", "-q", "-B", "unharmed", at.git("rev-list", "--max-parents=0", "HEAD").strip()
    )
    for file in at.workspace.state.glob("*.json"):
        file.unlink()
    digest(at, *sorted(sessions.glob("*.jsonl")))
    assert killed == entries(at)
    assert len(killed) == SESSIONS * MESSAGES * 4 // len(SAYINGS)
