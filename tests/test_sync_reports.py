"""Syncs in `status` and `doctor`: the last one, what came in, files set aside."""

import json
import os
from pathlib import Path

import pytest
from commandline import Shell
from test_automatic_sync import auto as auto
from test_automatic_sync import by_itself, log
from test_syncing import Pair, fact, failure, sync
from test_syncing import pair as pair
from workspaces import TOKEN, Desk

from mdmem import agenthooks
from mdmem.folder import files
from mdmem.folder.files import SYNC_STATE
from mdmem.health.doctor import Finding, Level
from mdmem.memory import Memory
from mdmem.merge import setup
from mdmem.model.errors import SyncProblem, verb
from mdmem.model.pipelines import Sync
from mdmem.model.writes import Revert
from mdmem.workspace.sync_state import load_state


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
        assert note.startswith("memory/keys.md: possible secret (github-token) added by ada (")
        assert TOKEN not in note
        for _ in range(2):
            log(pair.bo)
            sync(pair.bo)
        state = load_state(pair.bo.workspace)
        assert state
        assert [each.path for each in state.incoming] == ["memory/keys.md"]
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


LINES = [f"- stone {number} was found\n" for number in range(60)]


def pushed(at: Desk, message: str = "by hand") -> str:
    commit = at.commit(message)
    at.git("push", "-q", "origin", "main")
    return commit


@pytest.fixture
def stones(pair: Pair) -> Pair:
    """Two clones with a long file and two entries of a day."""
    log(pair.ada, "amber was seen")
    log(pair.ada, "basalt was seen")
    pair.ada.write("memory/stones.md", "# Stones\n\n" + "".join(LINES))
    pair.ada.commit("stones")
    sync(pair.ada)
    sync(pair.bo)
    return pair


def keep(at: Desk, count: int) -> None:
    at.write("memory/stones.md", "# Stones\n\n" + "".join(LINES[:count]))


class TestWhatCameIn:
    def test_it_is_told_with_the_commit_that_did_most_of_it(self, stones: Pair):
        keep(stones.ada, 55)
        pushed(stones.ada)
        keep(stones.ada, 10)
        most = pushed(stones.ada)
        stones.ada.write("memory/pond.md", "- a carp\n")
        pushed(stones.ada)
        (told,) = sync(stones.bo).incoming
        assert told.line == (
            f"memory/stones.md: 50 lines removed by ada ({most[:8]}). To undo: {verb('revert')}"
            f" {most[:8]}"
        )
        assert notes(stones.bo, "stones") == [told.line]
        assert sync(stones.bo).incoming == ()
        stones.bo.apply(Revert(most[:8]))
        assert stones.bo.read("memory/stones.md").count("- stone") == 55
        assert notes(stones.bo, "stones") == []

    def test_for_seven_days(self, stones: Pair, monkeypatch: pytest.MonkeyPatch):
        keep(stones.ada, 3)
        pushed(stones.ada)
        sync(stones.bo)
        for day, count in (("12T09", 1), ("12T11", 0)):
            monkeypatch.setenv("MDMEM_NOW", f"2026-03-{day}:00:00")
            assert len(notes(stones.bo, "stones")) == count
        sync(stones.bo)
        state = load_state(stones.bo.workspace)
        assert state
        assert state.incoming == ()

    def test_entries_of_a_day_which_no_revert_brings_back(self, stones: Pair):
        path = "memory/2026-03-05.md"
        before = stones.ada.read(path)
        stones.ada.write(path, before.replace("amber", "beryl"))
        commit = pushed(stones.ada)
        (told,) = sync(stones.bo).incoming
        assert told.message == "1 earlier line removed"
        assert (told.code, told.commit, told.can_revert) == ("append", commit, False)
        command = told.undo.removeprefix("To see what was there: git ").split()
        assert stones.bo.git(*command) == before
        stones.bo.write(path, before)
        assert notes(stones.bo, "earlier line") == []

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (b"<<<<<<< a\n- a\n=======\n- b\n>>>>>>> b\n", "conflict markers added"),
            (b"- caf\xe9\n", "text that is not UTF-8 added"),
        ],
    )
    def test_what_was_added(self, stones: Pair, text: bytes, message: str):
        stones.ada.write("memory/pond.md", text)
        commit = pushed(stones.ada)
        stones.ada.write("memory/pond.md", text + b"- a carp\n")
        pushed(stones.ada)
        log(stones.bo, "chert was seen")
        (told,) = sync(stones.bo).incoming
        assert (told.path, told.message, told.commit) == ("memory/pond.md", message, commit)

    def test_only_what_came(self, stones: Pair):
        keep(stones.bo, 5)
        stones.bo.commit("here")
        stones.ada.git("mv", "memory/stones.md", "memory/rocks.md")
        stones.ada.write("notes/list.md", "".join(LINES))
        pushed(stones.ada)
        stones.ada.git("rm", "-q", "notes/list.md")
        pushed(stones.ada)
        assert sync(stones.bo, all_files=True).incoming == ()

    def test_a_merge_of_somebody_may_be_all_there_is(self, stones: Pair):
        stones.ada.git("checkout", "-q", "-b", "side", "HEAD^")
        stones.ada.write("memory/pond.md", "- a carp\n")
        stones.ada.commit("side")
        stones.ada.git("checkout", "-q", "main")
        stones.ada.git("merge", "-q", "--no-commit", "side")
        keep(stones.ada, 4)
        pushed(stones.ada, "merge")
        (told,) = sync(stones.bo).incoming
        assert (told.commit, told.line.partition(".md: ")[2].partition(". ")[0]) == (
            None,
            "56 lines removed",
        )

    def test_in_json_and_in_the_text(self, stones: Pair, shell: Shell):
        keep(stones.ada, 3)
        commit = pushed(stones.ada)
        words = ("-C", str(stones.bo.root), "sync")
        (told,) = shell.run(*words, "--json").answer["incoming"]
        assert told == {
            "path": "memory/stones.md",
            "code": "shrink",
            "message": "57 lines removed",
            "commit": commit,
            "author": "ada",
            "undo": f"To undo: mdmem revert {commit[:8]}",
        }
        keep(stones.ada, 60)
        pushed(stones.ada)
        sync(stones.bo)
        keep(stones.ada, 3)
        commit = pushed(stones.ada)
        assert f"57 lines removed by ada ({commit[:8]}). To undo: mdmem revert" in (
            shell.run(*words).err
        )

    def test_also_where_the_rest_of_the_sync_fails(
        self, stones: Pair, monkeypatch: pytest.MonkeyPatch
    ):
        keep(stones.ada, 3)
        pushed(stones.ada)
        log(stones.bo, "chert was seen")
        stones.bo.hook("pre-push", "exit 1")
        said: list[str] = []
        with pytest.raises(SyncProblem, match="pre-push hook"):
            Memory(stones.bo.workspace, said.append).sync(Sync())
        assert any("57 lines removed by ada" in line for line in said)
        assert notes(stones.bo, "57 lines")

    def test_the_next_session_begins_with_one_line(self, stones: Pair):
        keep(stones.ada, 3)
        stones.ada.write("memory/2026-03-05.md", "# 2026-03-05\n")
        pushed(stones.ada)
        event = agenthooks.HookEvent(name="SessionStart", folder=str(stones.bo.root))

        def message() -> str:
            answer = json.loads(agenthooks.answer(event, os.environ) or "{}")
            return str(answer.get("systemMessage", ""))

        assert message() == ""
        sync(stones.bo)
        assert "a sync brought in: memory/2026-03-05.md: " in message()
        assert message() == ""
        sync(stones.bo)
        assert message() == ""

    def test_the_state_of_an_earlier_version_names_files_with_secrets(self, stones: Pair):
        stones.bo.write("memory/keys.md", f"- the token is {TOKEN}\n")
        path = stones.bo.workspace.state / SYNC_STATE
        fields = json.loads(path.read_text())
        del fields["incoming"]
        path.write_text(json.dumps(fields | {"secrets": ["memory/keys.md"]}))
        assert notes(stones.bo, "possible secret")
        state = load_state(stones.bo.workspace)
        assert state
        assert state.seen == stones.bo.head()
