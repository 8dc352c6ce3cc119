"""Digests and nights that are killed again and again, with a model and without one, their state
deleted in between: nothing is lost or doubled, and what was paid for is paid for again at most once
a kill.
"""

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import dreams
import model_sessions
import pytest
from conftest import World
from dreams import MORNING, Said, curated, digested, dream, waiting
from killed_write import copied, is_killed
from model_sessions import KEPT, SMALL, aged
from pi_sessions import START, digest, write_session
from scripted_models import MODEL, Reply, ScriptedServer, quoting, serving
from test_kills import a_night, require_dreamt
from workspaces import NOW, Desk, desk

from mdmem.llm import asking
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.text.document import parse
from mdmem.text.facts import items

SESSIONS, MESSAGES = 8, 60
SAYINGS = (
    "We decided to keep pump number {}.",
    "agent: Root cause: valve number {} was closed.",
    "I prefer calls before {} o'clock and a half.",
    "ok",
    "agent: Is that all for box {}?",
    "Remember that the exam of group {0} is on {0} December.",
)
MOST_STEPS = 45
STATED = {
    "I collect old stamps of Austria.": "collect old stamps of Austria",
    "We decided to paint the shed green.": "paint the shed green",
    "Remember that the boiler is serviced in May.": "the boiler is serviced in May",
    "I prefer calls before noon.": "prefer calls before noon",
}
"""What is said, and the words of the line that a night makes of it."""
ONCE = [
    "The archive holds maps of Oslo.",
    "The neighbours keep bees.",
    "A spare key hangs behind the clock.",
]


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def run(at: Desk, *_: object) -> None:
    """Carry out what is due."""
    with closing(Memory(at.workspace)) as memory:
        done = memory.pipelines.run()
        assert not done.failed
        assert not [step.message for step in done.steps if step.message]


def without_state(at: Desk) -> None:
    shutil.rmtree(at.workspace.state, ignore_errors=True)


def without_caches(at: Desk) -> None:
    """Without the journal, what a killed write left in a file would be the person's own edit."""
    for path in at.workspace.state.glob("*"):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "write-ahead.json":
            path.unlink()


def cited(at: Desk) -> Counter[str]:
    lines = at.git("log", "--format=%(trailers:key=Mdmem-Cites,valueonly)").split("\n")
    return Counter(filter(None, lines))


def entries(at: Desk) -> Counter[tuple[str, str]]:
    """The entries of all logs, with the day."""
    logs = sorted((at.root / "memory").glob("*.md"))
    return Counter(
        (log.stem, item.fact.text)
        for log in logs
        for item in items(parse(log.read_text(encoding="utf-8")))
    )


def write_sessions(folder: Path) -> dict[Path, list[str]]:
    """Write sessions, and tell the lines of each."""
    folder.mkdir()
    paths = [
        write_session(
            folder,
            *(
                SAYINGS[number % len(SAYINGS)].format(session * MESSAGES + number)
                for number in range(MESSAGES)
            ),
            session=f"{session}a1e0000",
            start=START + timedelta(hours=session),
            every=timedelta(hours=1.2),
        )
        for session in range(SESSIONS)
    ]
    return {path: path.read_text().splitlines(keepends=True) for path in paths}


@pytest.mark.parametrize("kills", [4, pytest.param(200, marks=pytest.mark.slow)])
def test_digests_of_growing_sessions(at: Desk, tmp_path: Path, kills: int):
    """Every other one is told the sessions' names, and the others find them by the settings."""
    lots = random.Random(7)
    growing = tmp_path / "growing"
    growing.mkdir()
    whole = write_sessions(tmp_path / "sessions")
    left = {growing / path.name: lines for path, lines in whole.items()}
    dreams.settings(at.world, f'sessions = ["{growing}/*.jsonl"]', 'session_scope = "all"')
    is_growing = True
    while kills:
        if is_growing:
            path = lots.choice([path for path, lines in left.items() if lines])
            count = lots.randint(1, 2)
            grow(path, left[path][:count])
            left[path] = left[path][count:]
        while not lots.randrange(3) and at.workspace.state.exists():
            without_state(at)
        act = run if lots.randrange(2) else digest_all
        was_killed = is_killed(partial(act, at, growing), lots.randrange(MOST_STEPS))
        kills -= was_killed
        is_growing = any(left.values()) and (not was_killed or not lots.randrange(4))
    for path, lines in left.items():
        grow(path, lines)
    digest_all(at, growing)
    killed = entries(at)
    assert max(killed.values()) == 1
    assert max(cited(at).values()) == 1
    assert not digest(at, *sorted(left)).entries

    at.git(
        "checkout", "-q", "-B", "unharmed", at.git("rev-list", "--max-parents=0", "HEAD").strip()
    )
    for file in at.workspace.state.glob("*.json"):
        file.unlink()
    digest(at, *whole)
    assert killed == entries(at)
    assert len(killed) == SESSIONS * MESSAGES * 4 // len(SAYINGS)


def grow(path: Path, lines: list[str]) -> None:
    with path.open("a") as file:
        file.writelines(lines)


def digest_all(at: Desk, folder: Path) -> None:
    digest(at, *sorted(folder.glob("*.jsonl")))


@pytest.mark.slow
def test_nights(world: World, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MDMEM_NOW", MORNING)
    at = a_night(world, repository)
    dream(whole := copied(at, tmp_path / "whole"))
    lots = random.Random(7)
    kills = 0
    while kills < 200:
        shutil.rmtree(tmp_path / "harmed", ignore_errors=True)
        harmed = copied(at, tmp_path / "harmed")
        for number in range(10):
            if number % 2:
                without_caches(harmed)
            kills += is_killed(partial(dream, harmed), lots.randrange(60))
        require_dreamt(harmed, whole)


def kills_of_runs(at: Desk, between: int, check: Callable[[int], None]) -> int:
    """Carry out what is due, killed after more and more steps from the first kept answer on, up to
    its end; check after each kill, and count them.
    """
    kills = 0
    while is_killed(partial(run, at), kills * between, at.workspace.state / asking.FOLDER_NAME):
        kills += 1
        check(kills)
    return kills


@pytest.mark.parametrize("between", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_digests_by_a_model(at: Desk, tmp_path: Path, between: int):
    for number in range(3):
        kept = KEPT.replace("3", str(number + 3))
        said = [kept, *(SMALL.format(number * 100 + each) for each in range(12))]
        start = START + timedelta(hours=number)
        aged(write_session(tmp_path, *said, session=f"5a1e000{number}", start=start))
    with serving(quoting) as server:

        def require_paid_once(kills: int) -> None:
            assert sum(count - 1 for count in Counter(server.prompts).values()) <= kills

        model_sessions.settings(at, tmp_path, f'model_url = "{server.url}"', 'model_name = "m"')
        assert kills_of_runs(at, between, require_paid_once) > 2
        paid = Counter(server.prompts)
    assert len(paid) == 3
    written = model_sessions.entries(at)
    assert len(set(written)) == len(written) == 3 * 13
    assert max(cited(at).values()) == 1


def adding(data: dict[str, Any], _: int) -> Reply:
    """A model that adds all."""
    changes = [{"op": "ADD", "fact": each["id"], "text": each["text"]} for each in data["facts"]]
    return Reply(json.dumps({"changes": changes}))


def repeated(server: ScriptedServer) -> int:
    """The number of requests about an entry that the model was asked about before."""
    asked: set[str] = set()
    count = 0
    for data in server.data:
        named = {fact["id"] for fact in data["facts"]}
        count += not asked.isdisjoint(named)
        asked |= named
    return count


@pytest.mark.parametrize("between", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_night_by_a_model(at: Desk, monkeypatch: pytest.MonkeyPatch, between: int):
    monkeypatch.setenv("MDMEM_NOW", MORNING)
    for number, text in enumerate(STATED, 1):
        digested(at, Said(text, minute=f"09:0{number}", line=number))
    for number, text in enumerate(ONCE, 7):
        digested(at, Said(text, minute=f"10:0{number}", line=number, source=Source.INFERRED))
    with serving(adding) as server:

        def require_paid_once(kills: int) -> None:
            assert repeated(server) <= min(kills, 5)  # the steps before the answer is kept

        dreams.settings(
            at.world,
            *(f'model_url = "{server.url}"', f'model_name = "{MODEL}"'),
            *('dream = "apply"', 'digest = "model"'),
        )
        assert kills_of_runs(at, between, require_paid_once) > 2
    assert [sum(text in line for line in curated(at)) for text in STATED.values()] == [1] * 4
    assert sorted(part.new or "" for part in waiting(at)) == sorted(
        f"[fact] {text.rstrip('.')}" for text in ONCE
    )
