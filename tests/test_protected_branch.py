"""Two machines whose branch takes pull requests alone, which somebody squashes."""

import os
import platform
from pathlib import Path

import pytest
from conftest import World
from test_syncing import Pair
from test_syncing import pair as pair
from workspaces import Desk

from mdmem.memory import Memory
from mdmem.model.errors import SyncProblem
from mdmem.model.pipelines import Sync, SyncResult
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Forget, Log, Remember, WriteOptions

BRANCH = 'sync_push = "branch"\n'
HOOK = """#!/bin/sh
[ -n "$FORGE" ] && exit 0
while read old new ref; do
    [ $ref = refs/heads/main ] && { echo "main is protected" >&2; exit 1; }
done
exit 0
"""


class Forge:
    """The remote of two machines, and a clone in which somebody merges pull requests."""

    def __init__(self, pair: Pair, patch: pytest.MonkeyPatch) -> None:
        self.pair, self.patch = pair, patch
        hook = pair.origin / "hooks" / "pre-receive"
        hook.write_text(HOOK)
        hook.chmod(0o755)
        world = pair.ada.world
        self._world = World(world.home, dict(world.environment) | {"FORGE": "1"})
        self.root = pair.origin.with_name("forge")
        self._world.git(pair.origin.parent, "clone", "-q", pair.origin, self.root)
        for name, value in (("name", "Forge"), ("email", "forge@example.org")):
            self._git("config", f"user.{name}", value)

    def _git(self, *words: str | Path) -> str:
        return self._world.git(self.root, *words).stdout

    def sync(self, at: Desk) -> tuple[SyncResult, list[str]]:
        """A sync of a machine that is named like its user, and what it says."""
        self.patch.setattr(platform, "node", lambda: at.root.name)
        lines: list[str] = []
        memory = Memory.open(at.root, os.environ, lines.append)
        return memory.sync(Sync()), lines

    def squash(self, branch: str) -> None:
        self._git("fetch", "-q", "--prune")
        self._git("reset", "-q", "--hard", "origin/main")
        self._git("merge", "-q", "--squash", f"origin/{branch}")
        self._git("commit", "-q", "-m", f"pull request of {branch}")
        self._git("push", "-q", "origin", "main")

    def empty(self, message: str) -> None:
        """A squash that brought no text, only what its commits said."""
        self._git("fetch", "-q")
        self._git("reset", "-q", "--hard", "origin/main")
        quoted = "".join(f"    {line}\n" for line in message.splitlines())
        self._git("commit", "-q", "--allow-empty", "-m", f"pull request\n\n{quoted}")
        self._git("push", "-q", "origin", "main")

    def texts(self) -> str:
        self._git("fetch", "-q")
        return self._git("show", "origin/main:MEMORY.md")


@pytest.fixture
def forge(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Forge:
    return Forge(pair, monkeypatch)


def remember(text: str, supersedes: str | None = None) -> Remember:
    return Remember(text, section="Facts", options=WriteOptions(supersedes=supersedes))


def settings(text: str) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"], "mdmem", "config.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def require_refused(at: Desk) -> None:
    with pytest.raises(SyncProblem) as problem:
        Memory.open(at.root, os.environ).sync(Sync())
    assert problem.value.code == "remote-refused"


def facts(at: Desk) -> list[str]:
    return sorted(each.text for each in Memory.open(at.root, os.environ).facts(ListFacts()).facts)


def status(at: Desk) -> str | None:
    return Memory.open(at.root, os.environ).status().sync


@pytest.mark.parametrize("is_by_itself", [True, False])
def test_a_week_of_two_machines_ends_with_nothing_twice(forge: Forge, is_by_itself: bool) -> None:
    ada, bo = forge.pair.ada, forge.pair.bo
    settings(BRANCH if is_by_itself else "")
    expected = {"city: Rome"}
    for day in range(6, 13):
        at, name = (ada, "ada") if day % 2 else (bo, "bo")
        forge.patch.setenv("MDMEM_NOW", f"2026-03-{day:02}T10:00:00")
        at.apply(remember(f"{name} saw heron {day}"))
        at.apply(Log(f"{name} logged heron {day}"))
        expected |= {f"{name} saw heron {day}", f"{name} logged heron {day}"}
        if day in (9, 10):  # said by the other one, and squashed
            old = f"{'bo' if name == 'ada' else 'ada'} saw heron {day - 1}"
            at.apply(Forget(old) if day == 9 else remember(f"heron of {day}", supersedes=old))
            expected = (expected - {old}) | ({f"heron of {day}"} if day == 10 else set())
        if is_by_itself:
            result, lines = forge.sync(at)
            assert result.state == "queued"
            count = 2 + (day in (9, 10))
            assert lines == [f"mdmem/in/{name} waits to be merged: {count} commits, 1 hour"]
            assert status(at) == lines[0]
        else:
            require_refused(at)
            at.git("push", "-q", "origin", f"HEAD:refs/heads/mdmem/in/{name}")
        if day == 11:  # what was sent is taken back before the squash of it comes in
            at.apply(Forget(f"{name} saw heron {day}"))
        forge.squash(f"mdmem/in/{name}")
        if day == 11:
            expected -= {f"{name} saw heron {day}"}
            forge.sync(at) if is_by_itself else require_refused(at)
            at.git("push", "-q", "origin", f"HEAD:refs/heads/mdmem/in/{name}")
            forge.squash(f"mdmem/in/{name}")
        for each in (ada, bo):
            if each is not at and day == 6 and not is_by_itself:
                require_refused(each)  # it cannot know before
            result, lines = forge.sync(each)
            assert (result.state, lines) == ("synced", []), (day, each.root.name)
            assert facts(each) == sorted(expected)
            assert (status(each) or "").startswith("synced with origin")
    assert forge.texts().count("heron of 10") == 1
    for each in (ada, bo):
        tree = each.git("rev-parse", "HEAD^{tree}", "origin/main^{tree}").split()
        assert tree[0] == tree[1]


def test_what_is_said_without_a_text_is_still_to_send(forge: Forge) -> None:
    settings(BRANCH)
    ada = forge.pair.ada
    ada.apply(Log("the boiler hums"))
    forge.sync(ada)
    forge.squash("mdmem/in/ada")
    assert forge.sync(ada)[0].state == "synced"
    ada.apply(Forget("the boiler hums"))  # a log keeps its line: a commit of trailers alone
    result, lines = forge.sync(ada)
    assert (result.state, len(lines)) == ("queued", 1)
    head = ada.git("log", "-1", "--format=%B", "--grep=Mdmem-Retracts")
    forge.empty(head)
    assert forge.sync(ada)[0].state == "synced"


def test_a_name_that_another_machine_has_gets_digits(forge: Forge) -> None:
    settings(BRANCH)
    forge.patch.setattr(platform, "node", lambda: "desk")
    for at, word in ((forge.pair.ada, "amber"), (forge.pair.bo, "basalt")):
        at.apply(remember(f"{word} is a stone"))
        lines: list[str] = []
        Memory.open(at.root, os.environ, lines.append).sync(Sync())
        assert "basalt" not in at.read("MEMORY.md") or word == "basalt", "none of others is merged"
    assert "amber" not in forge.pair.bo.read("MEMORY.md")
    names = forge.pair.bo.git("ls-remote", "--heads", "origin", "mdmem/in/*").split()[1::2]
    digits = names[1].removeprefix("refs/heads/mdmem/in/desk-")
    assert names[0] == "refs/heads/mdmem/in/desk"
    assert len(digits) == 8
    assert lines == [f"mdmem/in/desk-{digits} waits to be merged: 1 commit, 1 hour"]
