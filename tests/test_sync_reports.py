"""Syncs in `status` and `doctor`: the last one, secrets that came in, files set aside."""

import os
from pathlib import Path

import pytest
from test_automatic_sync import auto as auto
from test_automatic_sync import by_itself, log
from test_syncing import Pair, fact, failure, sync
from test_syncing import pair as pair
from workspaces import TOKEN, Desk

from mdmem.doctor import Finding, Level
from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.merge import setup
from mdmem.sync.sync_state import load_state
from mdmem.wording import verb


def findings(at: Desk, check: str = "sync") -> list[tuple[Level, str, str]]:
    listed: tuple[Finding, ...] = Memory.open(at.root, os.environ).examine()
    return [(each.level, each.message, each.hint) for each in listed if each.check == check]


def notes(at: Desk, word: str) -> list[str]:
    return [note for note in Memory.open(at.root, os.environ).status().notes if word in note]


class TestDoctor:
    def test_before_the_first_sync(self, pair: Pair):
        assert findings(pair.ada) == []

    def test_the_last_one(self, pair: Pair):
        sync(pair.ada)
        assert findings(pair.ada) == [(Level.OK, "synced with origin just now", "")]
        pair.ada.write("app.py", "print(1)\n")
        pair.ada.commit("wip")
        failure(pair.ada)
        message = "blocked: 1 unpushed commit changes non-memory files: app.py"
        assert findings(pair.ada) == [(Level.WARNING, message, f"To try again: {verb('sync')}")]

    def test_automatic_and_no_remote(self, auto: Pair):
        auto.ada.git("remote", "remove", "origin")
        assert by_itself(auto.ada) is None
        (first, _) = findings(auto.ada)
        assert first == (
            Level.WARNING,
            'sync = "auto", and this repository has no remote',
            f"git -C {auto.ada.root} remote add origin URL\n{verb('sync')}",
        )
        for name in ("one", "two"):
            auto.ada.git("remote", "add", name, auto.origin)
        (first, _) = findings(auto.ada)
        assert (first[0], first[1].startswith('sync = "auto", and ')) == (Level.WARNING, True)

    def test_no_merge_driver(self, pair: Pair):
        sync(pair.ada)
        setup.uninstall(pair.ada.workspace)
        ((level, _, _),) = findings(pair.ada, "merge-driver-missing")
        assert level is Level.WARNING
        assert len(notes(pair.ada, "no merge driver")) == 1

    def test_files_of_which_one_version_was_kept(self, pair: Pair):
        pair.ada.write("memory/pond.md", "# Pond\n\n- a carp\n")
        pair.ada.commit("pond")
        for at in (pair.ada, pair.bo):
            sync(at)
        pair.ada.git("rm", "-q", "memory/pond.md")
        pair.bo.write("memory/pond.md", "# Pond\n\n- a carp\n- a tench\n")
        for at, word in ((pair.ada, "terse"), (pair.bo, "kind")):
            at.write("AGENTS.md", f"Be {word}.\n")
            at.commit(word)
        sync(pair.ada)
        (aside,) = sync(pair.bo).set_aside
        kept = "memory/pond.md was removed on one machine; it is kept"
        other = (
            "AGENTS.md was changed on two machines, and one version set aside: git show"
            f" {aside.blob}"
        )
        for at in (pair.ada, pair.bo):
            sync(at)
            assert set(notes(at, "machine")) == {kept, other}
            assert {each[1] for each in findings(at) if each[0] is Level.NOTE} == {
                kept,
                other,
            }


class TestSecretsThatCameIn:
    def test_status_names_them_until_they_are_gone(self, pair: Pair):
        pair.ada.write("memory/keys.md", f"- the token is {TOKEN}\n- tea is green\n")
        pair.ada.commit("by hand")
        pair.ada.git("push", "-q", "origin", "main")
        sync(pair.bo)
        (note,) = notes(pair.bo, "secret")
        assert note.startswith("memory/keys.md: possible secret (github-token) that another")
        assert TOKEN not in note
        for _ in range(2):
            log(pair.bo)
            sync(pair.bo)
        state = load_state(pair.bo.workspace)
        assert state
        assert state.secrets == ("memory/keys.md",)
        pair.bo.write("memory/keys.md", "- tea is green\n")
        assert notes(pair.bo, "secret") == []
        files.remove_tree(pair.bo.root / "memory")
        assert notes(pair.bo, "secret") == []

    def test_not_ones_that_were_here(self, pair: Pair, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("MDMEM_ALLOW", "secret")
        pair.ada.write("MEMORY.md", f"{pair.ada.read('MEMORY.md')}- {TOKEN}\n")
        pair.ada.commit("by hand")
        sync(pair.ada)
        sync(pair.bo)
        assert notes(pair.bo, "secret")
        pair.bo.apply(fact("amber is a stone"))
        sync(pair.bo)
        sync(pair.ada)
        assert notes(pair.ada, "secret") == []

    def test_in_a_workspace_below(self, pair: Pair, tmp_path: Path):
        pair.ada.write("agents/x/MEMORY.md", f"# X\n\n- {TOKEN}\n")
        pair.ada.commit("x")
        pair.ada.git("push", "-q", "origin", "main")
        pair.bo.git("pull", "-q")
        below = Desk(pair.bo.world, pair.bo.root / "agents" / "x")
        sync(below)
        pair.ada.write("agents/x/MEMORY.md", f"# X\n\n- {TOKEN}\n- {TOKEN[:-1]}x\n")
        pair.ada.commit("y")
        pair.ada.git("push", "-q", "origin", "main")
        sync(below)
        (note,) = notes(below, "secret")
        assert note.startswith("MEMORY.md: ")
