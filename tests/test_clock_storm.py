"""Machines with wrong clocks that write for days and sync when they can: what is told afterwards is
the same in every clone, whenever one asks, and what git's log and sets tell.
"""

import os
import platform
import subprocess
from collections import ChainMap
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from random import Random

import pytest
from clock_replay import read_log, replay_moments
from conftest import World
from workspaces import Desk

from mdmem.memory import Memory
from mdmem.memory.adopting import initialise
from mdmem.model.errors import FactProblem
from mdmem.model.history import FactHistory, ShowHistory
from mdmem.model.pipelines import Sync
from mdmem.model.reads import Initialise
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Forget, Log, Remember

BEGIN = datetime(2026, 3, 26, 8, tzinfo=UTC)
"""Three days before clocks go forward in Europe."""
WAKES = datetime(2001, 1, 1, tzinfo=UTC)
ROUNDS = 3
"""Of writes on a day."""


@dataclass
class Machine:
    """A clone with a clock: off by `offset`, from the middle on by `later`, in a zone."""

    desk: Desk
    dates: dict[str, str]
    offset: timedelta = timedelta()
    later: timedelta | None = None
    is_board: bool = False
    zones: tuple[int, ...] = (0,)
    own: list[str] = field(default_factory=list)

    def clock(self, now: datetime, day: int, days: int) -> str:
        is_late = 2 * day >= days
        offset = self.later if is_late and self.later is not None else self.offset
        time = WAKES + (now - BEGIN) if self.is_board and not is_late else now + offset
        return time.astimezone(
            timezone(timedelta(hours=self.zones[day % len(self.zones)]))
        ).isoformat()


def machines(world: World, folder: Path, count: int) -> list[Machine]:
    kinds = [
        {"zones": (1, 1, 1, 2, 2, 2, 2)},  # it follows summer time
        {"offset": timedelta(days=3)},
        {"is_board": True},
        {"later": timedelta(days=-20), "zones": (-8, 9, 5, 0, -3)},  # it travels, and jumps back
        {"offset": timedelta(days=-400)},
    ]
    made = []
    world.git(folder, "init", "-q", "--bare", "-b", "main", folder / "origin.git")
    for number in range(count):
        dates = {"GIT_AUTHOR_DATE": BEGIN.isoformat(), "GIT_COMMITTER_DATE": BEGIN.isoformat()}
        at = Desk(
            World(world.home, ChainMap(dates, dict(world.environment))), folder / f"m{number}"
        )
        world.git(folder, "clone", "-q", folder / "origin.git", at.root)
        at.git("config", "user.name", f"m{number}")
        at.git("config", "user.email", f"m{number}@example.org")
        if not number:
            at.write("MEMORY.md", "# Memory\n\n## Facts\n\n- city: t0\n")
            at.commit("begin")
            at.git("push", "-q", "origin", "main")
        initialise(Initialise(str(at.root), hooks=False), os.environ)
        made.append(Machine(at, dates, **kinds[number]))
    return made


class Storm:
    """Days of writes; `due` has the words that have to be there in the end."""

    def __init__(self, machines: list[Machine], random: Random, patch: pytest.MonkeyPatch) -> None:
        self.machines, self.random, self._patch = machines, random, patch
        self.count, self.due = 0, dict[str, bool]()

    def at(self, machine: Machine, moment: str) -> Memory:
        self._patch.setenv("MDMEM_NOW", moment)
        machine.dates.update(GIT_AUTHOR_DATE=moment, GIT_COMMITTER_DATE=moment)
        self._patch.setattr(platform, "node", lambda: machine.desk.root.name)
        return Memory.open(machine.desk.root, os.environ)

    def run(self, days: int) -> None:
        for day in range(days):
            absent = [each for each in self.machines if self.random.random() < 0.25]
            for hour in range(ROUNDS):
                now = BEGIN + timedelta(days=day, hours=3 * hour)
                for machine in self.random.sample(self.machines, len(self.machines)):
                    now += timedelta(minutes=7)
                    memory = self.at(machine, machine.clock(now, day, days))
                    self._write(machine, memory)
                    if machine not in absent and self.random.random() < 0.6:
                        memory.sync(Sync())

    def _write(self, machine: Machine, memory: Memory) -> None:
        self.count += 1
        token = f"t{self.count}x"
        mine = [each for each in machine.own if self.due.get(each)]
        kind = self.random.choice(("log", "fact", "fact", "key", "forget", "hand"))
        if kind == "forget" and mine:
            gone = self.random.choice(mine)
            memory.apply(Forget(f"{gone} is a stone"))
            self.due[gone] = False
        elif kind == "hand":
            text = machine.desk.read("MEMORY.md")
            machine.desk.write(
                "MEMORY.md", text.replace("## Facts\n\n", f"## Facts\n\n- {token} by hand\n")
            )
            machine.desk.git("commit", "-q", "-a", "-m", "by hand")
            self.due[token] = True
        elif kind == "key":
            with suppress(FactProblem):  # two sides gave it a value
                memory.apply(Remember(token, key="city", section="Facts"))
        elif kind == "log":
            memory.apply(Log(f"{token} was logged"))
            self.due[token] = True
        else:
            memory.apply(Remember(f"{token} is a stone", section="Facts"))
            machine.own.append(token)
            self.due[token] = True

    def settle(self, end: datetime) -> None:
        for _ in range(3):
            for machine in self.machines:
                self.at(machine, end.isoformat()).sync(Sync())
        assert len({each.desk.head() for each in self.machines}) == 1

    def told(self, moment: str) -> list[dict[str, FactHistory]]:
        """The histories of all facts in each clone, asked at a moment."""
        answers = []
        for machine in self.machines:
            memory = self.at(machine, moment)
            listed = memory.facts(ListFacts(everything=True, limit=10_000))
            facts = [each.fact for each in listed.facts if each.fact]
            answers.append({fact: memory.history(ShowHistory(fact, by_id=True)) for fact in facts})
        return answers


def tokens_of(at: Desk, commit: str) -> frozenset[str]:
    """The words in a commit's files."""
    command = ["git", "grep", "-h", "-o", "-w", "-E", "t[0-9]+x?", commit, "--", "*.md"]
    done = subprocess.run(command, cwd=at.root, capture_output=True, text=True, check=False)
    return frozenset(done.stdout.split())


def replayed(at: Desk) -> dict[str, tuple[int, int | None]]:
    """When each word came and went, by git's log and sets."""
    commits = read_log(at.root, dict(at.world.environment))
    moments = replay_moments(commits)
    held = {each.name: tokens_of(at, each.name) for each in commits}
    came, went = dict[str, list[int]](), dict[str, list[int]]()
    for each in commits:
        of_parents = [held[parent] for parent in each.parents]
        for token in held[each.name].difference(*of_parents):
            came.setdefault(token, []).append(moments[each.name])
        for token in frozenset().union(*of_parents) - held[each.name]:
            if len(of_parents) == 1:
                went.setdefault(token, []).append(moments[each.name])
    last = held[commits[-1].name]
    return {
        token: (min(times), None if token in last else max(min(times), min(went[token])))
        for token, times in came.items()
    }


def require_one_past(
    world: World, folder: Path, patch: pytest.MonkeyPatch, seed: int, count: int, days: int
) -> None:
    storm = Storm(machines(world, folder, count), Random(seed), patch)
    storm.run(days)
    end = BEGIN + timedelta(days=days)
    storm.settle(end)
    first = storm.machines[0].desk
    here = tokens_of(first, "HEAD")
    assert {token for token, is_due in storm.due.items() if is_due} <= here, "nothing is lost"
    assert not {token for token, is_due in storm.due.items() if not is_due} & here
    asked = [BEGIN + timedelta(days=1), end, end + timedelta(days=400)]
    answers = [each for moment in asked for each in storm.told(moment.isoformat())]
    assert len(answers[0]) >= len(here)
    assert all(each == answers[0] for each in answers[1:])
    expected = replayed(first)
    for history in answers[0].values():
        for link in history.chain:
            (token,) = [word for word in link.text.split() if word in expected]
            until = link.end and int(link.end.timestamp())
            assert (int(link.start.timestamp()), until) == expected[token], link


def test_two_days_of_three_machines(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_one_past(world, tmp_path, monkeypatch, seed=1, count=3, days=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_week_of_five_machines(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    require_one_past(world, tmp_path, monkeypatch, seed, count=5, days=7)
