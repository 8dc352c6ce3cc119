"""Syncs that nobody asked for, by a clock that only sleeping moves: after writes, by a run and at
the start of a session.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commandline import MadeOnce
from test_syncing import Pair, failure, name_remote, sync
from test_syncing import pair as pair
from workspaces import TOKEN, Desk

from mdmem import agenthooks, events
from mdmem.cli import main
from mdmem.folder import files
from mdmem.githooks import hooks
from mdmem.index import background
from mdmem.memory import Memory
from mdmem.model.errors import MdmemError
from mdmem.model.pipelines import SyncResult
from mdmem.model.writes import Log
from mdmem.repo import remotes
from mdmem.sync import syncing
from mdmem.workspace import sync_state
from mdmem.workspace.sync_state import load_state, state_of

MINUTE = 60.0


class Clock:
    """A fake `time`; `at` has what happens at certain moments, from the start on."""

    def __init__(self) -> None:
        self.start = self.now = time.time()
        self.at: dict[float, Callable[[], object]] = {}

    def time(self) -> float:
        return self.now

    monotonic = time

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for moment in [each for each in self.at if self.start + each <= self.now]:
            self.at.pop(moment)()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (sync_state, syncing):
        monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def auto(pair: Pair, made_once: MadeOnce) -> Pair:
    """Two clones that were synced once, and whose user wants it done without asking."""
    made_once("two clones in step", lambda: [sync(at) for at in (pair.ada, pair.bo)])
    name_remote(pair)
    settings(pair, 'sync = "auto"\n')
    return pair


def settings(pair: Pair, text: str) -> None:
    folder = pair.ada.world.home / ".config" / "mdmem"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)


def by_itself(at: Desk, **options: bool) -> SyncResult | None:
    return Memory.open(at.root, os.environ).sync_if_due(**options)


def fails(at: Desk) -> str:
    with pytest.raises(MdmemError) as problem:
        by_itself(at)
    return problem.value.code


def log(at: Desk, text: str = "amber was seen") -> None:
    at.apply(Log(text, again=True))


class TestWhenItIsDue:
    def test_not_unless_the_user_says_so(self, pair: Pair):
        log(pair.ada)
        assert by_itself(pair.ada) is None
        settings(pair, '[in."/elsewhere"]\nsync = "auto"\n')
        assert by_itself(pair.ada) is None
        settings(pair, f'[in."{pair.ada.root}"]\nsync = "auto"\n')
        done = by_itself(pair.ada)
        assert done
        assert done.pushed == 1

    def test_not_in_a_folder_that_the_user_has_not_adopted(
        self, auto: Pair, monkeypatch: pytest.MonkeyPatch
    ):
        log(auto.bo)
        sync(auto.bo)
        log(auto.ada)
        monkeypatch.setenv("MDMEM_ADOPT", str(auto.bo.root))
        assert by_itself(auto.ada) is by_itself(auto.ada, only_unsent=True) is None
        assert sync(auto.ada).pushed == 1, "typed"
        log(auto.ada)
        monkeypatch.setenv("MDMEM_ADOPT", str(auto.ada.root))
        assert by_itself(auto.ada)

    def test_after_writes_only_with_commits_to_push(self, auto: Pair):
        assert by_itself(auto.ada, only_unsent=True) is None
        log(auto.ada)
        done = by_itself(auto.ada, only_unsent=True)
        assert done
        assert done.pushed == 1
        assert by_itself(auto.bo, only_unsent=True) is None
        done = by_itself(auto.bo)
        assert done
        assert done.pulled == 1

    def test_in_step_there_is_nothing_to_send(self, auto: Pair):
        for at in (auto.ada, auto.bo):
            remote = remotes.find_remote(at.workspace.repository, "main", 1)
            assert state_of(at.workspace, remote).seen == at.workspace.repository.head()

    def test_without_a_remote(self, auto: Pair):
        auto.ada.git("remote", "remove", "origin")
        assert by_itself(auto.ada) is None

    def test_the_pauses_after_failures(self, auto: Pair, clock: Clock):
        log(auto.ada)
        auto.origin.rename(auto.origin.with_name("gone.git"))
        for pause in (1, 5, 15, 60, 60):
            assert fails(auto.ada) == "remote-unreachable"
            clock.now += pause * MINUTE - 1
            assert by_itself(auto.ada) is None
            clock.now += 2
        auto.origin.with_name("gone.git").rename(auto.origin)
        assert by_itself(auto.ada)
        auto.origin.rename(auto.origin.with_name("gone.git"))
        assert fails(auto.ada)
        clock.now += 1 * MINUTE + 1
        assert fails(auto.ada), "a success begins anew"

    def test_by_hand_it_is_tried_and_the_pauses_begin_anew(self, auto: Pair, clock: Clock):
        auto.origin.rename(auto.origin.with_name("gone.git"))
        for pause in (1, 5):
            assert fails(auto.ada)
            clock.now += pause * MINUTE + 1
        failure(auto.ada)
        state = load_state(auto.ada.workspace)
        assert state
        assert state.next == pytest.approx(clock.now + 1 * MINUTE)

    def test_a_new_url_begins_anew(self, auto: Pair, clock: Clock):
        auto.origin.rename(auto.origin.with_name("new.git"))
        assert fails(auto.ada)
        assert by_itself(auto.ada) is None
        auto.ada.git("remote", "set-url", "origin", auto.origin.with_name("new.git"))
        assert by_itself(auto.ada)

    def test_a_clock_that_was_put_back(self, auto: Pair, clock: Clock):
        auto.origin.rename(auto.origin.with_name("gone.git"))
        assert fails(auto.ada)
        clock.now -= 1_000 * MINUTE
        assert fails(auto.ada)

    def test_blocked_until_either_side_moves(self, auto: Pair, clock: Clock):
        auto.ada.write("app.py", "print(1)\n")
        auto.ada.commit("wip")
        assert fails(auto.ada) == "sync-foreign"
        clock.now += 1_000 * MINUTE
        assert by_itself(auto.ada) is None
        assert by_itself(auto.ada, only_unsent=True) is None
        log(auto.bo)
        sync(auto.bo)
        assert fails(auto.ada) == "sync-foreign", "the remote's branch moved"
        assert by_itself(auto.ada) is None
        log(auto.ada)
        assert fails(auto.ada) == "sync-foreign", "HEAD moved"
        auto.origin.rename(auto.origin.with_name("gone.git"))
        assert by_itself(auto.ada) is None, "nobody knows whether it moved"

    def test_what_waits_for_a_person_waits(self, auto: Pair):
        log(auto.ada)
        sync(auto.ada)
        first = auto.ada.git("rev-list", "--max-parents=0", "HEAD").strip()
        auto.ada.git("push", "-q", "-f", "origin", f"{first}:main")
        assert fails(auto.ada) == "remote-rewound"
        log(auto.ada)
        assert by_itself(auto.ada) is None


class TestQuiet:
    @pytest.mark.every(2)
    @pytest.mark.parametrize(
        ("writes", "seconds"), [([], 10), ([4], 14), ([4, 8], 18), (range(5, 200, 5), 60)]
    )
    def test_each_write_moves_it_on_but_not_for_long(
        self, auto: Pair, clock: Clock, writes: list[int], seconds: int
    ):
        log(auto.ada)
        clock.at = {moment: lambda: log(auto.ada) for moment in writes}
        done = by_itself(auto.ada, only_unsent=True, when_quiet=True)
        assert done
        assert clock.now - clock.start == pytest.approx(seconds, abs=1)
        assert auto.tip() == auto.ada.head()

    def test_one_waits_for_all(self, auto: Pair, clock: Clock):
        log(auto.ada)
        others: list[SyncResult | None] = []
        clock.at = {
            4: lambda: others.append(by_itself(auto.ada, only_unsent=True, when_quiet=True))
        }
        assert by_itself(auto.ada, only_unsent=True, when_quiet=True)
        assert others == [None]
        assert clock.now - clock.start == pytest.approx(10, abs=1)


class TestInTheBackground:
    def test_the_catch_up_of_a_write_starts_one(self, auto: Pair, monkeypatch: pytest.MonkeyPatch):
        started: list[tuple[Path, bool]] = []
        monkeypatch.setattr(
            background,
            "start_syncing",
            lambda workspace, when_quiet: started.append((workspace.root, when_quiet)),
        )
        monkeypatch.setattr(os, "nice", lambda _: 0)
        monkeypatch.setattr(hooks, "_detach", lambda: None)
        monkeypatch.chdir(auto.ada.root)
        for words in (["catch-up", str(auto.ada.root)], ["post-commit"]):
            assert hooks.main(words) == 0
            os.chdir(auto.ada.root)
        assert started == [(auto.ada.root, True)] * 2
        settings(auto, 'sync = "off"\n')
        assert hooks.main(["catch-up", str(auto.ada.root)]) == 0
        assert len(started) == 2

    def test_it_waits_for_a_quiet_moment(
        self, auto: Pair, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.chdir(auto.ada.root)
        log(auto.ada)
        assert hooks.main(["sync-later", str(auto.ada.root)]) == 0
        assert auto.tip() == auto.ada.head()
        began = clock.now
        assert began - clock.start == pytest.approx(10, abs=1)
        assert hooks.main(["sync-later", str(auto.ada.root)]) == 0
        assert clock.now == began, "there was nothing to wait for"

    def test_one_started_at_once(self, auto: Pair):
        log(auto.ada)
        command = [sys.executable, "-P", "-m", "mdmem.githooks", "sync", auto.ada.root]
        auto.ada.world.run(auto.ada.root, command)
        assert auto.tip() == auto.ada.head()
        (event,) = (
            each
            for each in events.read_events(auto.ada.workspace.state)
            if each.verb == "sync" and (each.figures or {}).get("automatic")
        )
        assert event.figures == {
            "pulled": 0,
            "pushed": 1,
            "merges": 0,
            "contradicts": 0,
            "kept": 0,
            "set_aside": 0,
            "retries": 0,
            "automatic": True,
        }

    @pytest.mark.parametrize(("name", "count"), [("SessionStart", 1), ("UserPromptSubmit", 0)])
    def test_the_start_of_a_session_starts_one(
        self, auto: Pair, monkeypatch: pytest.MonkeyPatch, name: str, count: int
    ):
        started: list[Path] = []
        monkeypatch.setattr(background, "start_syncing", lambda each: started.append(each.root))
        event = agenthooks.HookEvent(name=name, folder=str(auto.ada.root), prompt="what is amber?")
        for text in ('sync = "auto"\n', 'sync = "off"\n'):
            settings(auto, text)
            agenthooks.answer(event, os.environ)
        assert started == [auto.ada.root] * count

    def test_it_is_started_detached(self, auto: Pair, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.undo()
        commands: list[list[str]] = []
        monkeypatch.setattr(
            os, "posix_spawn", lambda program, words, *rest, **named: commands.append(words)
        )
        workspace = auto.ada.workspace
        background.start_syncing(workspace)
        background.start_syncing(workspace, when_quiet=True)
        with files.lock(workspace.state / "sync-queue.lock", 0):
            background.start_syncing(workspace, when_quiet=True)
        assert [words[-2:] for words in commands] == [
            ["sync", str(workspace.root)],
            ["sync-later", str(workspace.root)],
        ]


class TestRun:
    def steps(self, pair: Pair, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[Any]]:
        capsys.readouterr()
        status = main(["-C", str(pair.ada.root), "run", "--json"])
        return status, json.loads(capsys.readouterr().out)["steps"]

    def test_before_its_steps(self, auto: Pair, capsys: pytest.CaptureFixture[str]):
        log(auto.bo)
        sync(auto.bo)
        log(auto.ada, "basalt was seen")
        status, (first, second) = self.steps(auto, capsys)
        assert (status, first["step"], first["pulled"], first["pushed"]) == (0, "sync", 1, 1)
        assert second["step"] == "digest", "nothing was written, so nothing is synced again"
        assert auto.tip() == auto.ada.head()
        assert self.steps(auto, capsys)[1][0]["outcome"] == "unchanged"
        assert main(["-C", str(auto.ada.root), "run"]) == 0
        assert capsys.readouterr().out.startswith("sync: nothing new\n")

    def test_after_its_steps(
        self, auto: Pair, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(
            "mdmem.nights.digest.digesting.is_due", lambda workspace: bool(log(auto.ada))
        )
        status, steps = self.steps(auto, capsys)
        assert (status, [each["step"] for each in steps]) == (0, ["sync", "digest", "sync"])
        assert [each.get("pushed") for each in steps] == [0, None, 1]
        assert auto.tip() == auto.ada.head()

    @pytest.mark.parametrize(
        ("is_gone", "code", "status"), [(True, "remote-unreachable", 0), (False, "sync-foreign", 1)]
    )
    def test_failures(
        self,
        auto: Pair,
        capsys: pytest.CaptureFixture[str],
        is_gone: bool,
        code: str,
        status: int,
    ):
        if is_gone:
            auto.origin.rename(auto.origin.with_name("gone.git"))
        else:
            auto.ada.write("app.py", "print(1)\n")
            auto.ada.commit("wip")
        done, (first, _) = self.steps(auto, capsys)
        assert (done, first["outcome"], bool(first["message"])) == (status, code, True)
        assert [each["step"] for each in self.steps(auto, capsys)[1]] == ["digest"], "not due yet"

    def test_a_failure_shows_no_secret_of_the_remote(
        self, auto: Pair, capsys: pytest.CaptureFixture[str]
    ):
        auto.ada.git("remote", "set-url", "origin", f"/nowhere/{TOKEN}")
        _, (first, _) = self.steps(auto, capsys)
        assert "/nowhere/[REDACTED:github-token]" in first["message"]
        assert TOKEN not in str(first)

    def test_another_sync_at_work_looks_once_more(
        self, auto: Pair, capsys: pytest.CaptureFixture[str]
    ):
        folder = auto.ada.workspace.state.parent
        with files.lock(folder / "sync.lock", 0):
            status, steps = self.steps(auto, capsys)
        assert (status, [each["step"] for each in steps]) == (0, ["digest"])
        assert (folder / "sync.again").exists()
