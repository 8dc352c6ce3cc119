"""Syncs of clones with a bare remote: what moves, what stands, what is refused, what is said."""

import os
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from commandline import MadeOnce, Shell
from conftest import World
from proposal_actions import BOT, accept, propose, reject, silent
from workspaces import STATE, TOKEN, Desk

from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.errors import MdmemError, RefusedChange, SyncProblem
from mdmem.model.pipelines import Sync, SyncResult
from mdmem.model.proposals import ProposeBranch
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Log, Purge, Remember, WriteOptions
from mdmem.proposals import branches, listings
from mdmem.repo import remotes, runner
from mdmem.review import proposing
from mdmem.sync import syncing
from mdmem.text.facts import fact_id
from mdmem.workspace.sync_state import load_state, save_state, state_of

SEED = "# Memory\n\n## Facts\n\n- city: Rome\n"
LOG = "memory/2026-03-05.md"


@pytest.fixture(autouse=True)
def sent_to_git(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The commands that syncs give to git. Fails the test where one could lose something."""
    converse, sync_memory, commands = runner.converse, Memory.sync, []

    def recorded(command: Sequence[str], *arguments: object, **options: object) -> object:
        verb = next(word for word in command[3:] if not word.startswith("-") and "=" not in word)
        words = command[command.index(verb) :]
        assert verb not in {"reset", "stash", "clean", "checkout", "switch", "restore"}, words
        assert words[:2] != ["worktree", "add"]
        if verb != "fast-import":  # there it concerns mdmem's own ref alone
            assert not {"--force", "-f", "--mirror"}.intersection(words), words
        if verb == "push":
            assert not any(word.startswith("+") for word in words), words
        commands.append(words)
        return converse(command, *arguments, **options)

    def sync(*arguments: object) -> SyncResult:
        with monkeypatch.context() as patches:
            patches.setattr(runner, "converse", recorded)
            return sync_memory(*arguments)

    monkeypatch.setattr(Memory, "sync", sync)
    return commands


def leases(commands: Sequence[Sequence[str]]) -> list[str]:
    """The leases that pushes were given."""
    return [word for words in commands for word in words if word.startswith("--force-with-lease")]


@dataclass(frozen=True)
class Pair:
    """Two clones of one remote."""

    ada: Desk
    bo: Desk
    origin: Path

    def tip(self) -> str:
        return self.ada.world.git(self.origin, "rev-parse", "main").stdout.strip()

    def text(self, path: str) -> str:
        return self.ada.world.git(self.origin, "show", f"main:{path}").stdout


@pytest.fixture
def pair(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_once: MadeOnce
) -> Pair:
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T10:00:00")
    made = Pair(
        Desk(world, tmp_path / "ada"), Desk(world, tmp_path / "bo"), tmp_path / "origin.git"
    )
    made_once("two clones", lambda: clone(made))
    name_remote(made)
    return made


def name_remote(pair: Pair) -> None:
    """Have the clones name the folder of their remote, which may be copied, and the state of their
    last sync that remote.
    """
    for at in (pair.ada, pair.bo):
        at.git("remote", "set-url", "origin", pair.origin)
        workspace = at.workspace
        if state := load_state(workspace):
            remote = remotes.find_remote(workspace.repository, "main", 1)
            save_state(workspace, replace(state, line=state_of(workspace, remote).line))


def clone(pair: Pair) -> None:
    folder = pair.origin.parent
    pair.ada.world.git(folder, "init", "-q", "--bare", "-b", "main", pair.origin)
    for at in (pair.ada, pair.bo):
        at.world.git(folder, "clone", "-q", pair.origin, at.root)
        at.git("config", "user.name", at.root.name)
        at.git("config", "user.email", f"{at.root.name}@example.org")
        if at is pair.ada:
            at.write("MEMORY.md", SEED)
            at.write("AGENTS.md", "Be brief.\n")
            at.commit("seed")
            at.git("push", "-q", "origin", "main")


def sync(at: Desk, **options: object) -> SyncResult:
    return Memory.open(at.root, os.environ).sync(Sync(**options))


def failure(at: Desk, **options: object) -> MdmemError:
    before = at.head(), at.git("status", "--porcelain")
    with pytest.raises(MdmemError) as problem:
        sync(at, **options)
    assert (at.head(), at.git("status", "--porcelain")) == before, "nothing has changed here"
    return problem.value


def fact(text: str, **options: object) -> Remember:
    return Remember(text, section="Facts", options=WriteOptions(**options))


def diverge(pair: Pair) -> None:
    """Ada's entry and fact are at the remote, Bo's are not."""
    for at, word in ((pair.ada, "amber"), (pair.bo, "basalt")):
        at.apply(Log(f"{word} was seen"))
        at.apply(fact(f"{word} is a stone"))
    sync(pair.ada)


def test_what_both_wrote_stands_once_on_both(pair: Pair, sent_to_git: list[Sequence[str]]):
    diverge(pair)
    merged = sync(pair.bo)
    assert {"fetch", "push", "merge-tree"} <= {words[0] for words in sent_to_git}
    assert leases(sent_to_git) == []
    assert (merged.state, merged.pulled, merged.pushed) == ("synced", 2, 2)
    assert merged.merged == pair.bo.head() == pair.tip()
    again = sync(pair.ada)
    assert (again.pulled, again.pushed, again.merged) == (2, 0, None)
    assert pair.ada.head() == pair.tip()
    for word in ("amber", "basalt"):
        assert (
            pair.text(LOG).count(f"{word} was") == pair.text("MEMORY.md").count(f"{word} is") == 1
        )
    assert pair.bo.git("status", "--porcelain") == pair.ada.git("status", "--porcelain") == ""


def test_the_remotes_commit_is_the_first_parent_of_a_merge(pair: Pair):
    heads = []
    for number in range(3):
        for at in (pair.ada, pair.bo):
            at.apply(Log(f"{at.root.name} {number}"))
            sync(at)
            heads.append(pair.tip())
    line = pair.ada.world.git(pair.origin, "rev-list", "--first-parent", "main").stdout.split()
    assert set(heads) <= set(line)
    message = pair.ada.world.git(pair.origin, "log", "-1", "--format=%B").stdout
    assert message.startswith(f"sync: merge {remotes.machine_name()} into main\n\n")
    assert "Mdmem-Op: sync\nMdmem-Actor: sync\n" in message


def test_a_line_keeps_its_source_and_is_nobody_elses(pair: Pair):
    diverge(pair)
    pair.bo.apply(fact("granite is a guess", source=Source.AUTO))
    pair.ada.apply(fact("marble is certain", source=Source.USER_STATED))
    sync(pair.ada)
    sync(pair.bo)
    facts = Memory.open(pair.bo.root, os.environ).facts(ListFacts()).facts
    sources = {each.text: each.source for each in facts}
    assert sources["granite is a guess"] is Source.AUTO
    assert sources["marble is certain"] is Source.USER_STATED
    assert sources["amber is a stone"] is Source.INFERRED


def test_two_values_of_a_line_are_named(pair: Pair):
    pair.ada.apply(fact("the cellar is dry and cold"))
    sync(pair.ada)
    sync(pair.bo)
    for at, words in ((pair.ada, "warm and damp today"), (pair.bo, "locked, nobody has a key")):
        text = at.read("MEMORY.md").replace("dry and cold", words)
        at.write("MEMORY.md", text)
        at.commit("by hand")
    sync(pair.ada)
    result = sync(pair.bo)
    assert len(result.contradicts) == 1
    assert "Mdmem-Contradicts: " in pair.bo.git("log", "-1", "--format=%B")


def test_a_dry_run_changes_nothing(pair: Pair):
    diverge(pair)
    before = pair.bo.head(), pair.tip(), pair.bo.read("MEMORY.md")
    result = sync(pair.bo, dry_run=True)
    assert (result.state, result.pulled, result.merged) == ("queued", 2, None)
    assert (pair.bo.head(), pair.tip(), pair.bo.read("MEMORY.md")) == before


def test_the_first_push_makes_branch_and_upstream(pair: Pair, tmp_path: Path):
    pair.ada.world.git(tmp_path, "init", "-q", "--bare", "-b", "main", tmp_path / "new.git")
    pair.ada.git("remote", "set-url", "origin", tmp_path / "new.git")
    pair.ada.git("config", "--remove-section", "branch.main")
    assert sync(pair.ada).pushed == 1
    assert pair.ada.git("rev-parse", "main@{upstream}").strip() == pair.ada.head()


def test_pending_edits_of_what_comes_are_committed_first_and_others_stay(pair: Pair):
    pair.ada.apply(fact("amber is a stone"))
    sync(pair.ada)
    pair.bo.write("MEMORY.md", SEED + "- by hand\n")
    pair.bo.write("memory/draft.md", "- not yet\n")
    result = sync(pair.bo)
    assert (result.pulled, result.pushed) == (1, 1)
    assert {"- amber is a stone", "- by hand"} <= set(pair.text("MEMORY.md").splitlines())
    assert pair.bo.git("status", "--porcelain") == "?? memory/\n"


@pytest.mark.parametrize("which", ["unpushed", "new"])
def test_commits_of_other_files_do_not_move(pair: Pair, which: str):
    pair.ada.write("app.py", "print(1)\n")
    pair.ada.commit("wip")
    pair.ada.apply(Log("amber was seen"))
    at = pair.ada
    if which == "new":
        pair.ada.git("push", "-q", "origin", "main")
        at = pair.bo
    tip = pair.tip()
    problem = failure(at)
    assert problem.code == "sync-foreign"
    assert problem.message == f"1 {which} commit changes non-memory files: app.py"
    assert problem.details == {"paths": ["app.py"]}
    assert pair.tip() == tip


def test_a_workspace_below_brings_its_own_files_along(pair: Pair):
    pair.ada.write("agents/x/MEMORY.md", "# X\n\n- by x\n")
    pair.ada.write("agents/x/mdmem.toml", 'timezone = "Europe/Oslo"\n')
    pair.ada.write("agents/x/memory/pond.md", "- a carp\n")
    pair.ada.commit("x")
    sync(pair.ada)
    assert sync(pair.bo).pulled == 1
    for at, line in ((pair.ada, "- by ada"), (pair.bo, "- by bo")):
        at.write("agents/x/MEMORY.md", f"# X\n\n- by x\n{line}\n")
        at.commit("more")
    sync(pair.ada)
    assert sync(pair.bo).set_aside == ()
    assert sorted(pair.text("agents/x/MEMORY.md").splitlines()[2:]) == [
        "- by ada",
        "- by bo",
        "- by x",
    ]


def test_a_secret_is_not_sent(pair: Pair, monkeypatch: pytest.MonkeyPatch):
    pair.ada.write("MEMORY.md", f"{SEED}- the token is {TOKEN}\n")
    pair.ada.commit("by hand")
    pair.ada.write("MEMORY.md", SEED)
    pair.ada.commit("removed again, but still in history")
    tip = pair.tip()
    problem = failure(pair.ada)
    assert problem.code == "secret-found"
    assert TOKEN not in str(problem.message)
    assert pair.tip() == tip
    monkeypatch.setenv("MDMEM_ALLOW", "secret")
    assert sync(pair.ada).pushed == 2


def test_a_secret_in_the_message_of_a_commit_is_not_sent(pair: Pair):
    pair.ada.git("commit", "-q", "--allow-empty", "-m", f"note\n\nThe token is {TOKEN}")
    problem = failure(pair.ada)
    assert problem.code == "secret-found"
    assert TOKEN not in str(problem.message) + problem.hint


@pytest.mark.parametrize("is_octopus", [False, True])
def test_a_secret_that_only_a_merge_has_is_not_sent(pair: Pair, is_octopus: bool):
    diverge(pair)
    names = ["one", "two"] if is_octopus else ["one"]
    for name in names:
        pair.ada.git("checkout", "-q", "-b", name, "main")
        pair.ada.write(f"memory/{name}.md", f"# {name}\n\n- pond\n")
        pair.ada.commit(name)
    pair.ada.git("checkout", "-q", "main")
    pair.ada.apply(Log("later"))
    pair.ada.git("merge", "-q", "--no-commit", *names)
    pair.ada.write("memory/one.md", f"# one\n\n- pond\n- the token is {TOKEN}\n")
    pair.ada.commit("merged")
    pair.ada.write("memory/one.md", "# one\n\n- pond\n")
    pair.ada.commit("removed again")
    tip = pair.tip()
    assert failure(pair.ada).code == "secret-found"
    assert pair.tip() == tip


def test_a_file_that_is_not_merged_by_section_stands_as_at_the_remote(pair: Pair):
    for at, word in ((pair.ada, "terse"), (pair.bo, "kind")):
        at.write("AGENTS.md", f"Be {word}.\n")
        at.commit(word)
        at.apply(Log(f"be {word}"))
    sync(pair.ada)
    (aside,) = sync(pair.bo).set_aside
    assert pair.bo.read("AGENTS.md") == pair.text("AGENTS.md") == "Be terse.\n"
    assert (aside.path, pair.ada.world.git(pair.origin, "show", aside.blob).stdout) == (
        "AGENTS.md",
        "Be kind.\n",
    )
    for word in ("terse", "kind"):
        assert pair.bo.git("log", "--format=%h", f"-SBe {word}.", "--", "AGENTS.md")
        assert f"be {word}" in pair.text(LOG)
    sync(pair.ada)
    (note,) = (n for n in Memory.open(pair.ada.root, os.environ).status().notes if "AGENTS" in n)
    assert note.endswith(f"git show {aside.blob}")


def test_a_file_removed_on_one_side_and_changed_on_the_other_stays(pair: Pair):
    pair.ada.write("memory/pond.md", "# Pond\n\n- a carp\n")
    pair.ada.commit("pond")
    sync(pair.ada)
    sync(pair.bo)
    pair.ada.git("rm", "-q", "memory/pond.md")
    pair.ada.commit("gone")
    sync(pair.ada)
    pair.bo.write("memory/pond.md", "# Pond\n\n- a carp\n- a tench\n")
    pair.bo.commit("changed")
    assert sync(pair.bo).kept_files == ("memory/pond.md",)
    assert "Mdmem-Kept-File: memory/pond.md" in pair.bo.git("log", "-1", "--format=%B")


def test_somebody_who_is_faster_is_merged_with(pair: Pair, monkeypatch: pytest.MonkeyPatch):
    diverge(pair)
    push, pushes = remotes.Remote.push, []

    def push_later(remote: remotes.Remote, commit: str) -> bool:
        pushes.append(commit)
        if len(pushes) == 1:
            pair.ada.apply(Log("just now"))
            pair.ada.git("push", "-q", "origin", "main")
        return push(remote, commit)

    monkeypatch.setattr(remotes.Remote, "push", push_later)
    result = sync(pair.bo)
    assert (result.retries, result.pulled, result.pushed) == (1, 3, 2)
    assert "just now" in pair.bo.read(LOG)
    assert pair.bo.head() == pair.tip()


def test_who_writes_all_the_time_has_to_wait_in_the_end(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
):
    diverge(pair)
    combine, locked = syncing.combine, []

    def combine_while_somebody_writes(**arguments: object) -> object:
        combined = combine(**arguments)
        locked.append(files.is_locked(pair.bo.workspace.state / files.LOCK_NAME))
        if not locked[-1]:
            pair.bo.apply(Log(f"written meanwhile {len(locked)}"))
        return combined

    monkeypatch.setattr(syncing, "combine", combine_while_somebody_writes)
    result = sync(pair.bo)
    assert locked == [False, False, True]
    assert (result.pulled, result.pushed, result.merged) == (2, 4, pair.tip())
    assert pair.bo.head() == pair.tip()
    text = pair.text(LOG)
    lines = ("amber was", "basalt was", "meanwhile 1", "meanwhile 2")
    assert [text.count(line) for line in lines] == [1, 1, 1, 1]
    assert pair.bo.git("rev-list", "--count", "--merges", "HEAD").strip() == "2"
    assert pair.bo.git("status", "--porcelain") == ""
    assert not list(pair.bo.root.rglob(".mdmem-*"))


def test_it_gives_up_in_the_end(pair: Pair, monkeypatch: pytest.MonkeyPatch):
    pair.ada.apply(Log("amber was seen"))
    monkeypatch.setattr(remotes.Remote, "push", lambda *_: False)
    monkeypatch.setattr("mdmem.sync.syncing._FIRST_PAUSE", 0.001)
    problem = failure(pair.ada)
    assert problem.code == "sync-busy"
    assert problem.message.startswith("gave up after 8 concurrent pushes to origin")


@pytest.mark.parametrize("folder", ["", "agents/x"])
def test_a_second_sync_has_the_first_look_again(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, folder: str
):
    """Also one of another workspace in the same repository."""
    pair.bo.write("agents/x/MEMORY.md", "# X\n")
    pair.bo.commit("x")
    second = Desk(pair.bo.world, pair.bo.root / folder)
    diverge(pair)
    fetch, fetches = remotes.Remote.fetch, []

    def fetch_while_another_syncs(remote: remotes.Remote, *options: str) -> object:
        fetches.append(options)
        if len(fetches) == 1:
            with pytest.raises(MdmemError) as problem:
                sync(second)
            assert problem.value.code == "running"
        return fetch(remote, *options)

    monkeypatch.setattr(remotes.Remote, "fetch", fetch_while_another_syncs)
    sync(pair.bo)
    assert len(fetches) == 2


def test_a_remote_that_was_rewound_is_neither_followed_nor_overwritten(pair: Pair):
    diverge(pair)
    sync(pair.bo)
    seen = pair.tip()
    first = pair.ada.git("rev-list", "--max-parents=0", "HEAD").strip()
    pair.ada.git("push", "-q", "-f", "origin", f"{first}:main")
    pair.bo.apply(Log("later"))
    for _ in range(2):
        problem = failure(pair.bo)
        assert problem.code == "remote-rewound"
        assert (
            problem.message
            == f"origin/main was rewound: {seen[:8]}, present at {_last(pair.bo)}, is missing"
        )
    assert pair.tip() == first
    pair.bo.git("reset", "-q", "--keep", "origin/main")
    assert sync(pair.bo).state == "synced", "a person has left it here too"


def test_a_remote_that_was_rewound_before_the_first_sync(pair: Pair):
    pair.ada.apply(Log("amber was seen"))
    pair.ada.git("push", "-q", "origin", "main")
    pair.bo.git("pull", "-q", "--ff-only")
    first = pair.ada.git("rev-list", "--max-parents=0", "HEAD").strip()
    pair.ada.git("push", "-q", "-f", "origin", f"{first}:main")
    pair.bo.apply(Log("later"))
    for _ in range(2):
        assert failure(pair.bo).code == "remote-rewound"
    assert pair.tip() == first


def test_a_branch_that_the_remote_no_longer_has_can_be_put_back(pair: Pair):
    sync(pair.ada)
    pair.ada.world.git(pair.origin, "update-ref", "-d", "refs/heads/main")
    problem = failure(pair.ada)
    assert problem.code == "remote-rewound"
    assert problem.message.startswith("origin no longer has the branch main: ")
    pair.ada.git(*problem.hint.removeprefix("To put it back: git ").split())
    assert sync(pair.ada).state == "synced"


def _last(at: Desk) -> str:
    state = load_state(at.workspace)
    assert state
    assert state.last
    return f"{at.workspace.local_time(int(state.last)):%H:%M}"


CODE = "the alarm code is 4711"


def purge(at: Desk) -> None:
    Memory.open(at.root, os.environ).purge(Purge(CODE))


def assert_purged(pair: Pair, *desks: Desk) -> None:
    """Nothing of the code is at the remote's branch, or anywhere in some clones."""
    assert "4711" not in pair.ada.world.git(pair.origin, "log", "-p", "main").stdout
    for at in desks:
        assert "4711" not in at.git("log", "-p", "--all", "--reflog")
        assert not at.git("fsck", "--unreachable", "--no-reflogs")


class TestPurge:
    def test_what_came_to_the_remote_meanwhile_is_made_again(
        self, pair: Pair, sent_to_git: list[Sequence[str]]
    ):
        pair.ada.apply(fact(CODE))
        for at in (pair.ada, pair.bo):
            sync(at)
        pair.bo.apply(fact("basalt is a stone", source=Source.AUTO))
        written = pair.bo.git("log", "-1", "--format=%an %ad")
        pair.bo.apply(fact(f"remember that {CODE}"))
        sync(pair.bo)
        purge(pair.ada)
        problem = failure(pair.ada)
        assert problem.code == "purge-unpushed"
        tip = pair.tip()
        assert leases(sent_to_git) == []
        assert "4711" not in pair.ada.git("log", "-p", "HEAD")
        assert sync(pair.ada, purge=True, dry_run=True).state == "queued"
        assert sync(pair.ada, purge=True).state == "synced"
        assert leases(sent_to_git) == [f"--force-with-lease=refs/heads/main:{tip}"]
        assert_purged(pair, pair.ada)
        assert "basalt is a stone" in pair.ada.read("MEMORY.md")
        assert pair.ada.head() == pair.tip()
        assert pair.ada.git("log", "-1", "--format=%an %ad") == written
        assert "Mdmem-Source: auto" in pair.ada.git("log", "-1", "--format=%B")
        assert sync(pair.ada).pushed == 0

    def test_what_was_not_sent_is_made_again_on_the_other_machine(self, pair: Pair):
        pair.ada.apply(fact(CODE))
        for at in (pair.ada, pair.bo):
            sync(at)
        pair.bo.apply(Log("basalt was seen"))
        pair.bo.write("MEMORY.md", pair.bo.read("MEMORY.md") + "- by hand\n")
        purge(pair.ada)
        sync(pair.ada, purge=True)
        problem = failure(pair.bo)
        assert problem.code == "remote-purged"
        assert_purged(pair)
        assert sync(pair.bo, purge=True).pushed == 2
        assert_purged(pair, pair.ada, pair.bo)
        assert pair.bo.head() == pair.tip()
        assert "basalt was seen" in pair.bo.read(LOG)
        assert "- by hand" in pair.text("MEMORY.md")
        assert sync(pair.ada).pulled == 2

    def test_one_that_is_killed_is_finished_by_the_next(
        self, pair: Pair, monkeypatch: pytest.MonkeyPatch
    ):
        pair.ada.apply(fact(CODE))
        for at in (pair.ada, pair.bo):
            sync(at)
        propose(pair.bo, fact("basalt is a fish"))
        purge(pair.ada)
        sync(pair.ada, purge=True)

        def killed(*_: object) -> None:
            raise SystemExit

        with monkeypatch.context() as patches:
            patches.setattr(syncing, "forget_old", killed)
            with pytest.raises(SystemExit):
                sync(pair.bo, purge=True)
        assert "4711" not in pair.bo.git("log", "-p", "--all")
        assert sync(pair.bo).state == "synced"
        assert_purged(pair, pair.bo)

    def test_one_that_the_remote_refuses_is_sent_by_the_next_sync(
        self, pair: Pair, monkeypatch: pytest.MonkeyPatch
    ):
        pair.ada.apply(fact(CODE))
        for at in (pair.ada, pair.bo):
            sync(at)
        pair.bo.apply(fact("basalt is a fish"))
        purge(pair.ada)
        sync(pair.ada, purge=True)
        with monkeypatch.context() as patches:
            patches.setattr(syncing._Steps, "_push_purged", lambda *_: False)
            with pytest.raises(SyncProblem):
                sync(pair.bo, purge=True)
        pair.ada.apply(fact("amber is a stone"))
        sync(pair.ada)
        assert sync(pair.bo).state == "synced"
        assert_purged(pair, pair.bo)
        assert {"- basalt is a fish", "- amber is a stone"} <= {*pair.text("MEMORY.md").split("\n")}

    def test_refs_without_a_reflog_do_not_stop_it(self, pair: Pair):
        pair.ada.apply(fact(CODE))
        for at in (pair.ada, pair.bo):
            sync(at)
        purge(pair.ada)
        sync(pair.ada, purge=True)
        pair.ada.git("push", "-q", "origin", "HEAD:refs/heads/other")
        commit = pair.bo.git("rev-parse", "HEAD").strip()
        (pair.bo.root / ".git/refs/remotes/origin/other").write_text(f"{commit}\n")
        sync(pair.bo, purge=True)
        assert sync(pair.bo).state == "synced"

    def test_code_and_secrets_do_not_travel_with_it(self, pair: Pair):
        pair.ada.apply(fact(CODE))
        for at in (pair.ada, pair.bo):
            sync(at)
        purge(pair.ada)
        sync(pair.ada, purge=True)
        pair.bo.write("app.py", "print(1)\n")
        pair.bo.commit("half done")
        assert failure(pair.bo, purge=True).code == "sync-foreign"
        pair.bo.git("reset", "-q", "--hard", "HEAD~1")
        pair.bo.write("MEMORY.md", pair.bo.read("MEMORY.md") + f"- the token is {TOKEN}\n")
        pair.bo.commit("by hand")
        with pytest.raises(RefusedChange):
            sync(pair.bo, purge=True)
        assert TOKEN not in pair.ada.world.git(pair.origin, "log", "-p", "--all").stdout

    @pytest.mark.parametrize("option", ["purge", "join"])
    def test_it_is_a_persons(self, pair: Pair, monkeypatch: pytest.MonkeyPatch, option: str):
        monkeypatch.setenv("MDMEM_ACTOR", "agent/x")
        assert failure(pair.ada, **{option: True}).code == "not-allowed"

    def test_a_clone_without_mdmem_does_not_bring_it_back(self, pair: Pair):
        pair.ada.apply(fact(CODE))
        for at in (pair.ada, pair.bo):
            sync(at)
        purge(pair.ada)
        sync(pair.ada, purge=True)
        pair.bo.apply(fact("basalt is a stone"))
        pair.bo.git("pull", "-q", "--no-rebase", "--no-edit")
        pair.bo.git("push", "-q")
        assert "4711" in pair.text("MEMORY.md")
        for _ in range(2):
            assert failure(pair.ada).code == "purge-unpushed"
        assert "4711" not in pair.ada.read("MEMORY.md")
        assert sync(pair.ada, purge=True).state == "synced"
        assert_purged(pair, pair.ada)
        assert "basalt is a stone" in pair.text("MEMORY.md")
        assert sync(pair.ada).pulled == 0
        assert failure(pair.bo).code == "remote-purged"
        sync(pair.bo, purge=True)
        assert_purged(pair, pair.ada, pair.bo)
        assert pair.bo.head() == pair.tip()

    def test_messages_that_git_keeps_hold_it_no_more(self, pair: Pair):
        pair.ada.apply(fact(CODE))
        for at in (pair.ada, pair.bo):
            sync(at)
        pair.bo.git("commit", "-q", "--allow-empty", "-m", f"note\n\n- {CODE}\n- basalt")
        folder = pair.bo.root / ".git"
        (folder / "SQUASH_MSG").write_text(f"squashed\n\n+ {CODE}\n+ basalt\n")
        assert CODE in (folder / "COMMIT_EDITMSG").read_text()
        purge(pair.ada)
        sync(pair.ada, purge=True)
        sync(pair.bo, purge=True)
        assert not (folder / "COMMIT_EDITMSG").exists()
        assert (folder / "SQUASH_MSG").read_text() == "squashed\n\n+ basalt\n"
        assert_purged(pair, pair.ada, pair.bo)

    def test_who_says_it_again_knowing_of_the_purge_may(self, pair: Pair):
        pair.ada.apply(fact(CODE))
        sync(pair.ada)
        purge(pair.ada)
        sync(pair.ada, purge=True)
        sync(pair.bo)
        pair.bo.apply(fact(CODE))
        sync(pair.bo)
        assert sync(pair.ada).pulled == 1
        assert CODE in pair.ada.read("MEMORY.md")

    @pytest.mark.parametrize("more", [None, "ada", "bo"])
    def test_text_that_was_purged_on_both_machines(self, pair: Pair, more: str | None):
        pair.ada.apply(fact(CODE))
        pair.ada.apply(fact("the spare key is below the pot"))
        for at in (pair.ada, pair.bo):
            sync(at)
        for at, name in ((pair.ada, "ada"), (pair.bo, "bo")):
            purge(at)
            if name == more:
                Memory.open(at.root, os.environ).purge(Purge("the spare key is below the pot"))
            at.apply(fact(f"{name} likes basalt"))
        sync(pair.ada, purge=True)
        assert failure(pair.bo).code == "purge-unpushed"
        sync(pair.bo, purge=True)
        sync(pair.ada, purge=True)
        assert pair.ada.head() == pair.bo.head() == pair.tip()
        assert_purged(pair, pair.ada, pair.bo)
        stands = pair.text("MEMORY.md")
        assert ("spare key" in stands) is (more is None)
        assert [stands.count(f"{name} likes basalt") for name in ("ada", "bo")] == [1, 1]

    def test_without_a_purge_it_is_a_sync(self, pair: Pair):
        diverge(pair)
        assert sync(pair.bo, purge=True).pushed == 2


def test_memories_that_began_separately_are_joined_on_request(pair: Pair, repository: Path):
    other = Desk(pair.ada.world, repository)
    other.write("MEMORY.md", f"{SEED}- amber is a stone\n")
    other.commit("other")
    other.git("remote", "add", "origin", pair.origin)
    assert failure(other).code == "remote-unrelated"
    assert sync(other, join=True).merged == pair.tip()
    lines = pair.text("MEMORY.md").splitlines()
    assert lines.count("- city: Rome") == lines.count("- amber is a stone") == 1
    assert sync(pair.ada).pulled == 1


def test_a_branch_beside_that_of_another_memory_is_named_and_can_join_it(
    pair: Pair, repository: Path
):
    said: list[str] = []
    other = Desk(pair.ada.world, repository)
    other.write("MEMORY.md", f"{SEED}- amber is a stone\n")
    other.commit("other")
    other.git("branch", "-m", "master")
    other.git("remote", "add", "origin", pair.origin)
    memory = Memory.open(other.root, os.environ, say=said.append)
    assert memory.sync(Sync()).pushed > 0
    memory.sync(Sync())
    (line,) = said
    assert line.startswith("origin has a branch main, which shares no commit with master: ")
    for command in line.partition("To join them: ")[2].split("; ")[:2]:
        other.git(*command.split()[1:])
    assert Memory.open(other.root, os.environ).sync(Sync(join=True)).merged == pair.tip()
    pair.bo.git("switch", "-q", "-c", "draft")
    Memory.open(pair.bo.root, os.environ, say=said.append).sync(Sync())
    assert said == [line], "a branch of the same memory"


class TestDevices:
    """A clone without mdmem, which takes what fast-forwards and pushes the rest to a branch."""

    @pytest.fixture
    def phone(self, pair: Pair, tmp_path: Path) -> Desk:
        pair.ada.world.git(tmp_path, "clone", "-q", pair.origin, tmp_path / "phone")
        at = Desk(pair.ada.world, tmp_path / "phone")
        for name in ("name", "email"):
            at.git("config", f"user.{name}", "phone@example.org")
        return at

    def send(self, phone: Desk, path: str, text: str) -> None:
        phone.write(path, text)
        phone.commit("phone")
        phone.git("push", "-q", "origin", "HEAD:refs/heads/mdmem/in/phone")

    def test_its_branch_is_merged_and_it_goes_forward(self, pair: Pair, phone: Desk):
        pair.ada.apply(fact("amber is a stone"))
        self.send(phone, "MEMORY.md", f"{SEED}- the phone rang\n")
        before = pair.tip()
        result = sync(pair.ada)
        assert (result.taken_in, result.merged) == (("phone",), pair.tip())
        lines = pair.text("MEMORY.md").splitlines()
        assert {"- amber is a stone", "- the phone rang"} <= set(lines)
        assert before in pair.ada.git("rev-list", "--first-parent", "HEAD").split()
        phone.git("pull", "-q", "--ff-only", "origin", "main")
        assert sync(pair.ada).taken_in == (), "once"
        self.send(phone, "memory/pond.md", "- a carp\n")
        assert sync(pair.bo).taken_in == ("phone",)

    def test_one_of_other_files_and_one_of_another_memory(self, pair: Pair, phone: Desk):
        self.send(phone, "app.py", "print(1)\n")
        assert failure(pair.ada).code == "sync-foreign"
        phone.git("push", "-q", "origin", ":refs/heads/mdmem/in/phone")
        phone.git("checkout", "-q", "--orphan", "other")
        self.send(phone, "MEMORY.md", "# Other\n")
        assert sync(pair.ada).taken_in == ()


def test_a_shallow_clone_is_deepened_until_it_has_the_common_commit(pair: Pair, tmp_path: Path):
    for number in range(60):
        pair.ada.write("memory/pond.md", f"- carp {number}\n")
        pair.ada.commit(f"carp {number}")
    sync(pair.ada)
    pair.ada.world.git(
        tmp_path,
        "clone",
        "-q",
        "-c",
        "user.name=cy",
        "-c",
        "user.email=cy@example.org",
        "--depth=1",
        f"file://{pair.origin}",
        "shallow",
    )
    at = Desk(pair.ada.world, tmp_path / "shallow")
    at.apply(Log("basalt was seen"))
    for _ in range(3):
        pair.ada.apply(Log("amber was seen", again=True))
    sync(pair.ada)
    assert sync(at).merged
    assert at.head() == pair.tip()


@pytest.mark.parametrize(
    ("command", "code"),
    [(("checkout", "--detach"), "detached-head"), (("merge", "other"), "repository-busy")],
)
def test_what_is_under_way_ends_it(pair: Pair, command: tuple[str, ...], code: str):
    at = pair.ada
    at.git("checkout", "-q", "-b", "other")
    at.write("AGENTS.md", "Be kind.\n")
    at.commit("other")
    at.git("checkout", "-q", "main")
    at.write("AGENTS.md", "Be terse.\n")
    at.commit("main")
    at.git(*command, check=False)
    assert failure(at).code == code


class TestProposals:
    """Proposals travel with memory, and are decided on any machine."""

    @pytest.fixture(autouse=True)
    def _begun(self, pair: Pair) -> None:
        sync(pair.bo)

    def on(self, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
        monkeypatch.setattr(branches, "host_name", lambda: host)

    def refs(self, at: Desk) -> list[str]:
        """The branches of proposals at a clone, or at the remote, which are at one commit."""
        pattern = "refs/heads/mdmem/proposals"
        here, there = (
            at.git(*where, "for-each-ref", "--format=%(refname) %(objectname)", pattern)
            for where in ((), ("-C", "../origin.git"))
        )
        assert here == there
        return [line.partition(" ")[0] for line in here.splitlines()]

    def waiting(self, at: Desk) -> set[str]:
        found = listings.read_open(at.workspace)[0]
        views = [part.view for each in found for part in each.parts]
        return {str(view.new or view.old) for view in views if view.state.waits}

    def in_step(self, pair: Pair) -> list[str]:
        for at in (pair.ada, pair.bo, pair.ada):
            sync(at)
        assert self.waiting(pair.ada) == self.waiting(pair.bo)
        assert self.refs(pair.ada) == self.refs(pair.bo)
        return self.refs(pair.ada)

    def test_one_is_accepted_on_the_other_machine(
        self, pair: Pair, sent_to_git: list[Sequence[str]]
    ):
        name = propose(pair.ada, fact("amber is a stone"))
        assert len(self.in_step(pair)) == 1
        assert self.waiting(pair.bo) == {"amber is a stone"}
        accept(pair.bo, name)
        sync(pair.bo)
        assert self.refs(pair.bo) == []
        (lease,) = leases(sent_to_git)
        assert lease.startswith("--force-with-lease=refs/heads/mdmem/proposals/bot/")
        assert self.in_step(pair) == []
        assert "- amber is a stone" in pair.ada.read("MEMORY.md")
        assert "Mdmem-Proposed-By: ada" in pair.ada.git("log", "--format=%B")
        sync(pair.ada)
        assert self.refs(pair.ada) == []

    def test_two_machines_never_share_a_branch(self, pair: Pair, monkeypatch: pytest.MonkeyPatch):
        for at, host in ((pair.ada, "0000ada0"), (pair.bo, "0000b000")):
            self.on(monkeypatch, host)
            propose(at, fact(f"{at.root.name} was here"))
            at.git("branch", "feature")
            at.git("switch", "-q", "feature")
            at.write("memory/pond.md", "- a carp\n")
            at.commit("carp")
            at.git("switch", "-q", "main")
            proposing.propose_branch(at.workspace, ProposeBranch("feature", actor=BOT), silent)
        assert len(self.in_step(pair)) == 4
        assert self.waiting(pair.ada) >= {"ada was here", "bo was here"}

    def test_a_rejected_part_is_withdrawn_everywhere(self, pair: Pair):
        name = propose(pair.ada, fact("amber is a stone"))
        propose(pair.ada, fact("basalt is a fish"))
        self.in_step(pair)
        reject(pair.bo, name, fact_id("basalt is a fish"))
        sync(pair.bo)
        self.in_step(pair)
        assert self.waiting(pair.ada) == {"amber is a stone"}
        own = branches.own_ref(pair.ada.workspace, BOT)
        assert own
        assert own.is_own
        (ref,) = self.refs(pair.ada)
        assert "basalt" not in pair.ada.git("log", "-p", f"main..{ref}")
        reject(pair.ada, name)
        assert self.in_step(pair) == []

    def test_one_that_moved_on_both_sides_is_merged_by_its_parts(self, pair: Pair):
        name = propose(pair.ada, fact("amber is a stone"))
        propose(pair.ada, fact("basalt is a fish"))
        self.in_step(pair)
        reject(pair.bo, name, fact_id("basalt is a fish"))
        propose(pair.bo, fact("cobalt is blue"))
        propose(pair.ada, fact("dolomite is grey"))
        self.in_step(pair)
        assert self.waiting(pair.bo) == {
            *("amber is a stone", "cobalt is blue", "dolomite is grey")
        }
        assert len(self.refs(pair.bo)) == 1
        accept(pair.ada, name)
        assert self.in_step(pair) == []
        lines = pair.bo.read("MEMORY.md").splitlines()
        assert lines.count("- cobalt is blue") == lines.count("- dolomite is grey") == 1

    def test_one_that_both_began_is_merged_without_a_common_past(self, pair: Pair):
        propose(pair.ada, fact("amber is a stone"))
        propose(pair.bo, fact("basalt is a fish"))
        self.in_step(pair)
        assert self.waiting(pair.bo) == {"amber is a stone", "basalt is a fish"}

    def test_a_part_that_its_owner_replaced_stays_replaced(self, pair: Pair):
        propose(pair.ada, Remember("tea", key="drink", section="Facts"))
        self.in_step(pair)
        propose(pair.ada, Remember("cocoa", key="drink", section="Facts"))
        propose(pair.bo, fact("cobalt is blue"))
        self.in_step(pair)
        assert self.waiting(pair.bo) == {"drink: cocoa", "cobalt is blue"}

    def test_what_is_proposed_while_memory_moves_stays_in_step(self, pair: Pair):
        for number in range(2):
            propose(pair.ada, fact(f"stone {number}"))
            pair.bo.apply(fact(f"fish {number}"))
            pair.ada.apply(Log(f"rain {number}"))
            self.in_step(pair)
        assert self.waiting(pair.bo) == {f"stone {number}" for number in range(2)}

    def test_what_another_machine_proposes_is_not_trusted_more(self, pair: Pair):
        propose(pair.ada, fact("amber is a stone"), source=Source.USER_STATED, actor="dream-")
        self.in_step(pair)
        (proposal,) = listings.read_open(pair.bo.workspace)[0]
        assert not proposal.ref.is_own
        assert proposal.parts[0].view.origin.source is not Source.USER_STATED
        (own,) = listings.read_open(pair.ada.workspace)[0]
        assert own.ref.is_own

    def test_one_with_other_files_or_a_secret_stays_where_it_is(self, pair: Pair):
        for name, path in (("a/0000000a", "app.py"), ("b/0000000b", "MEMORY.md")):
            pair.ada.git("switch", "-q", "-c", f"mdmem/proposals/{name}", "main")
            pair.ada.write(path, f"{SEED}- the token is {TOKEN}\n")
            pair.ada.commit("by hand")
        pair.ada.git("switch", "-q", "main")
        said: list[str] = []
        syncing.sync(pair.ada.workspace, Sync(), said.append, None)
        assert [line.partition(": ")[2] for line in said] == [
            "it changes 1 file outside memory",
            "MEMORY.md: possible secret (github-token) in the unpushed commit "
            + pair.ada.git("rev-parse", "mdmem/proposals/b/0000000b")[:10],
        ]
        assert not pair.ada.git("-C", "../origin.git", "branch", "--list", "mdmem/*")
        pair.ada.git("push", "-q", "origin", "mdmem/proposals/a/0000000a")
        sync(pair.bo)
        assert not pair.bo.git("branch", "--list", "mdmem/*")
        assert pair.ada.git("-C", "../origin.git", "branch", "--list", "mdmem/*")

    def test_a_remote_that_refuses_them_has_memory_all_the_same(self, pair: Pair):
        hook = pair.origin / "hooks" / "update"
        hook.write_text(
            '#!/bin/sh\ncase "$1" in *mdmem*) echo "no such names" >&2; exit 1;; esac\n'
        )
        hook.chmod(0o755)
        propose(pair.ada, fact("amber is a stone"))
        pair.ada.apply(Log("rain"))
        said: list[str] = []
        assert syncing.sync(pair.ada.workspace, Sync(), said.append, None).pushed == 1
        assert pair.tip() == pair.ada.head()
        assert said == [
            "proposals stay where they are: origin refused the push: no such names"
            " error: hook declined to update " + branches.own_branch(BOT)[1]
        ]
        hook.unlink()
        assert len(self.in_step(pair)) == 1

    def test_a_name_that_git_cannot_store_here_is_left_there(self, pair: Pair):
        pair.bo.git("branch", "mdmem/proposals/x")
        pair.ada.git("push", "-q", "origin", "main:refs/heads/mdmem/proposals/x/0123abcd")
        pair.ada.git("switch", "-q", "-c", "mdmem/proposals/x/0123abcd")
        pair.ada.write("MEMORY.md", f"{SEED}- amber is a stone\n")
        pair.ada.commit("by hand")
        pair.ada.git("switch", "-q", "main")
        sync(pair.ada)
        said: list[str] = []
        syncing.sync(pair.bo.workspace, Sync(), said.append, None)
        (line,) = said
        assert line.endswith("is not synced: git cannot name a branch so")

    def test_a_branch_that_is_checked_out_is_not_moved(self, pair: Pair, tmp_path: Path):
        propose(pair.ada, fact("amber is a stone"))
        (ref,) = self.in_step(pair)
        branch = ref.removeprefix("refs/heads/")
        pair.bo.git("worktree", "add", "-q", tmp_path / "linked", branch)
        propose(pair.ada, fact("basalt is a fish"))
        sync(pair.ada)
        before = pair.bo.git("rev-parse", branch)
        sync(pair.bo)
        assert pair.bo.git("rev-parse", branch) == before
        pair.bo.git("worktree", "remove", tmp_path / "linked")
        self.in_step(pair)

    def test_a_purge_goes_through_them(self, pair: Pair):
        pair.ada.apply(fact(CODE))
        self.in_step(pair)
        name = propose(pair.ada, fact("amber is a stone"))
        reject(pair.ada, propose(pair.ada, fact("closed is closed"), actor="shut"))
        propose(pair.bo, fact("basalt is a fish"), actor="other")
        propose(pair.bo, fact(f"remember that {CODE}"), actor="other")
        self.in_step(pair)
        propose(pair.bo, fact("cobalt is blue"), actor="third")
        pair.ada.git("push", "-q", "origin", "main:refs/heads/mdmem/in/phone")
        sync(pair.bo)
        purge(pair.ada)
        assert sync(pair.ada, purge=True).state == "synced"
        assert_purged(pair, pair.ada)
        assert failure(pair.bo).code == "remote-purged"
        assert sync(pair.bo, purge=True).state == "synced"
        assert_purged(pair, pair.bo)
        self.in_step(pair)
        for at in (pair.ada, pair.bo):
            assert "4711" not in at.git("log", "-p", "--all", "--reflog")
        assert "4711" not in pair.ada.world.git(pair.origin, "log", "-p", "--all").stdout
        assert self.waiting(pair.ada) == {
            *("amber is a stone", "basalt is a fish", "cobalt is blue", "remember that [PURGED]")
        }
        own = [
            {ref.actor for ref in branches.open_proposals(at.workspace).values() if ref.is_own}
            for at in (pair.ada, pair.bo)
        ]
        assert own == [{BOT}, {"third"}]
        accept(pair.bo, name)
        self.in_step(pair)
        assert "- amber is a stone" in pair.text("MEMORY.md")

    def test_what_a_device_pushes_after_a_purge_is_taken_without_the_text(
        self, pair: Pair, tmp_path: Path
    ):
        pair.ada.apply(fact(CODE))
        self.in_step(pair)
        phone = Desk(pair.ada.world, tmp_path / "phone")
        pair.ada.world.git(tmp_path, "clone", "-q", pair.origin, "phone")
        for name in ("name", "email"):
            phone.git("config", f"user.{name}", "phone@example.org")
        purge(pair.ada)
        sync(pair.ada, purge=True)
        phone.write("memory/pond.md", f"- a carp\n- {CODE}\n")
        phone.commit("carp")
        phone.git("push", "-q", "origin", "HEAD:refs/heads/mdmem/in/phone")
        assert sync(pair.ada).taken_in == ("phone",)
        assert pair.ada.read("memory/pond.md") == "- a carp\n"
        assert "4711" not in pair.ada.world.git(pair.origin, "log", "-p", "--all").stdout
        assert sync(pair.ada).taken_in == ()

    def test_a_devices_branch_changes_nothing_of_peoples_alone_for_an_agent(
        self, pair: Pair, shell: Shell
    ):
        """A server lets the branch in, and would refuse the push of whoever merged it."""
        pair.ada.write("mdmem.toml", 'people_only = ["SOUL.md"]\n')
        pair.ada.commit("rules")
        self.in_step(pair)
        for number, message in enumerate(("x\n\nMdmem-Actor: agent/x", "by Ada")):
            pair.bo.write("SOUL.md", f"# Soul\n\n{number}\n")
            pair.bo.git("add", "-A")
            pair.bo.git("commit", "-q", "--no-verify", "-m", message)
            pair.bo.git("push", "-q", "origin", f"HEAD:refs/heads/mdmem/in/phone-{number}")
            pair.bo.git("reset", "-q", "--hard", "HEAD^")
        done = shell.run("-C", str(pair.ada.root), "sync")
        said = "mdmem/in/phone-0 was not merged: only people may change SOUL.md"
        assert (said in done.err, done.status) == (True, 0)
        assert pair.ada.read("SOUL.md") == "# Soul\n\n1\n"

    @pytest.mark.parametrize(
        "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]
    )
    def test_in_any_order_each_part_waits_until_it_is_decided(
        self, pair: Pair, monkeypatch: pytest.MonkeyPatch, seed: int
    ):
        chance, open_here, decided = random.Random(seed), set[str](), set[str]()
        for number in range(16):
            at = chance.choice((pair.ada, pair.bo))
            own = "00000aaa" if at is pair.ada else "00000bbb"
            self.on(monkeypatch, chance.choice((own, own, "0000cccc")))  # the last is of both
            waiting = [
                (each.ref.id, part.name, str(part.view.new))
                for each in listings.read_open(at.workspace)[0]
                for part in each.parts
                if part.view.state.waits and str(part.view.new) not in decided
            ]
            match chance.choice(("propose", "propose", "decide", "sync", "sync", "write")):
                case "propose":
                    propose(at, fact(f"stone {number}"), actor=chance.choice(("bot", "cat")))
                    open_here.add(f"stone {number}")
                case "decide" if waiting:
                    name, part, text = chance.choice(waiting)
                    chance.choice((accept, reject))(at, name, part)
                    decided.add(text)
                case "write":
                    at.apply(fact(f"fish {number}"))
                case _:
                    sync(at)
        self.in_step(pair)
        assert self.waiting(pair.ada) == open_here - decided
        assert pair.ada.head() == pair.bo.head()


def push_many(at: Desk, branch: str, count: int, author: str = "x") -> None:
    """Push a branch of many commits, each with a line more in a file."""
    base = at.git("rev-parse", "main").strip()
    text, stream = "", []
    for number in range(count):
        text += f"- carp {number}\n"
        message, seconds = f"carp {number}\n", 1_772_700_000 + number
        stream += [
            "commit refs/heads/many",
            *(
                f"{role} {author} <x@example.org> {seconds} +0000"
                for role in ("author", "committer")
            ),
            f"data {len(message)}\n{message}",
            *([f"from {base}"] if number == 0 else []),
            f"M 100644 inline memory/pond.md\ndata {len(text[-2000:].encode())}\n{text[-2000:]}",
        ]
    at.world.git(at.root, "fast-import", "--quiet", "--force", stdin="\n".join([*stream, ""]))
    at.git("push", "-q", "origin", f"many:refs/heads/{branch}")
    at.git("update-ref", "-d", "refs/heads/many")


class TestHostileBranches:
    """Pushes of somebody with access to the remote."""

    EVIL = "e\u202evil\u200b"

    @pytest.mark.parametrize("count", [1_200, pytest.param(10_000, marks=pytest.mark.slow)])
    def test_a_proposal_of_too_many_commits_is_not_taken(self, pair: Pair, count: int):
        push_many(pair.ada, "mdmem/proposals/x/0123abcd", count)
        diverge(pair)
        said: list[str] = []
        began = time.monotonic()
        result = syncing.sync(pair.bo.workspace, Sync(), said.append, None)
        assert time.monotonic() - began < 20
        assert (result.pulled, result.pushed) == (2, 2)
        (line,) = said
        assert line.endswith(" is not synced: more than 1,000 commits")
        assert not pair.bo.git("branch", "--list", "mdmem/*")

    @pytest.mark.parametrize("count", [1_200, pytest.param(10_000, marks=pytest.mark.slow)])
    def test_a_devices_branch_of_many_commits_is_one_merge(self, pair: Pair, count: int):
        push_many(pair.ada, "mdmem/in/phone", count)
        pair.bo.apply(Log("amber was seen"))
        began = time.monotonic()
        assert sync(pair.bo).taken_in == ("phone",)
        assert time.monotonic() - began < 60
        assert int(pair.bo.git("rev-list", "--count", "--merges", "HEAD")) == 1
        assert f"- carp {count - 1}" in pair.bo.read("memory/pond.md")

    def test_names_that_deceive_reach_no_message_and_no_file(self, pair: Pair, shell: Shell):
        author = "A\u202edA\x1b[31m"
        push_many(pair.ada, f"mdmem/in/a/{self.EVIL}/b", 1, author)
        push_many(pair.ada, f"mdmem/proposals/{self.EVIL}/0123abcd", 1, author)
        pair.bo.write("memory/pond.md/x.md", "- a folder\n")
        pair.bo.commit("a folder here, a file there")
        done = shell.run("-C", str(pair.bo.root), "sync")
        listed = shell.run("-C", str(pair.bo.root), "proposals")
        status = shell.run("-C", str(pair.bo.root), "status")
        for text in (done.out, done.err, listed.out, listed.err, status.out, status.err):
            assert not {"\u202e", "\u200b", "\x1b"} & set(text)
        assert "\u202e" not in pair.bo.git("log", "--committer=bo", "--format=%B")
        ponds = (path for path in pair.bo.root.rglob("*.md") if "pond" in str(path))
        assert {path.name for path in ponds if path.is_file()} == {"x.md", "pond~a-e-vil-b.md"}
        assert pair.bo.head() == pair.tip()


class TestStatus:
    def status(self, at: Desk) -> str | None:
        return Memory.open(at.root, os.environ).status().sync

    def test_before_the_first_sync(self, pair: Pair):
        assert self.status(pair.ada) is None

    def test_after_it(self, pair: Pair):
        sync(pair.ada)
        assert self.status(pair.ada) == "synced with origin just now"
        pair.ada.apply(Log("amber was seen"))
        assert self.status(pair.ada) == "1 commit not pushed"

    def test_queued(self, pair: Pair):
        sync(pair.ada)
        pair.ada.apply(Log("amber was seen"))
        pair.origin.rename(pair.origin.with_name("gone.git"))
        assert failure(pair.ada).code == "remote-unreachable"
        line = self.status(pair.ada)
        assert line
        assert line.startswith("1 commit not pushed; last attempt ")
        state = load_state(pair.ada.workspace)
        assert state
        assert state.tried
        assert state.next == pytest.approx(state.tried + 60, abs=1)
        failure(pair.ada)
        state = load_state(pair.ada.workspace)
        assert state
        assert (state.failures, state.error and state.error.code) == (1, "remote-unreachable")
        pair.origin.with_name("gone.git").rename(pair.origin)
        assert sync(pair.ada).pushed == 1
        assert self.status(pair.ada) == "synced with origin just now"

    def test_failing(self, pair: Pair):
        hook = pair.origin / "hooks" / "pre-receive"
        hook.write_text("#!/bin/sh\necho 'this branch is protected' >&2\nexit 1\n")
        hook.chmod(0o755)
        pair.ada.apply(Log("amber was seen"))
        failure(pair.ada)
        line = self.status(pair.ada)
        assert line
        assert line.startswith("failing since ")
        assert line.endswith(": origin refused the push: this branch is protected")

    def test_blocked(self, pair: Pair):
        pair.ada.write("app.py", "print(1)\n")
        pair.ada.commit("wip")
        failure(pair.ada)
        assert (
            self.status(pair.ada) == "blocked: 1 unpushed commit changes non-memory files: app.py"
        )


class TestCommand:
    def answer(self, shell: Shell, at: Desk, *words: str) -> Mapping[str, object]:
        return shell.run("-C", str(at.root), "sync", *words, "--json").answer

    def test_its_answer(self, pair: Pair, shell: Shell):
        diverge(pair)
        answer = dict(self.answer(shell, pair.bo))
        assert answer.pop("merged") == pair.tip()
        assert answer.pop("ms")
        assert answer == {
            "remote": "origin",
            "branch": "main",
            "state": "synced",
            "pulled": 2,
            "pushed": 2,
            "taken_in": [],
            "contradicts": [],
            "kept": [],
            "kept_files": [],
            "set_aside": [],
            "incoming": [],
            "retries": 0,
        }

    def test_its_line(self, pair: Pair, shell: Shell):
        diverge(pair)
        words = ("-C", str(pair.bo.root), "sync")
        assert shell.run(*words, "--dry-run").out == "to sync with origin: 2 to pull, 2 to push\n"
        assert shell.run(*words).out == "synced with origin: 2 pulled, 2 pushed\n"

    def test_wrong_seconds(self, pair: Pair, shell: Shell):
        assert shell.run("-C", str(pair.bo.root), "sync", "--wait", "0").status == 2


def test_the_state_may_be_deleted(pair: Pair):
    diverge(pair)
    sync(pair.bo)
    files.remove_tree(pair.bo.root / ".git" / "mdmem")
    pair.bo.apply(Log("later"))
    assert sync(pair.bo).pushed == 1


class TestTheLastMark:
    """MEMORY.md, or mdmem.toml, removed on one machine: a sync keeps what makes the workspace."""

    def removed(self, at: Desk, *paths: str) -> str:
        at.git("rm", "-q", *paths)
        return at.commit("gone")

    def test_each_clone_keeps_it_with_the_same_commit(
        self, pair: Pair, monkeypatch: pytest.MonkeyPatch
    ):
        before = pair.ada.read("MEMORY.md")
        gone = self.removed(pair.ada, "MEMORY.md")
        pair.ada.git("push", "-q", "origin", "HEAD:main")
        result = sync(pair.bo)
        assert (result.kept_files, result.pulled, result.pushed) == (("MEMORY.md",), 1, 1)
        assert pair.bo.read("MEMORY.md") == before
        assert pair.tip() == pair.bo.head()
        message = pair.bo.git("log", "-1", "--format=%s%n%b").splitlines()
        assert message[0] == "sync: keep MEMORY.md"
        assert {f"Mdmem-Reverts: {gone}", "Mdmem-Kept-File: MEMORY.md"} <= set(message)
        kept = pair.bo.head()
        pair.bo.git("reset", "-q", "--hard", f"{gone}^")
        pair.bo.git("update-ref", "-d", "refs/remotes/origin/main")
        pair.bo.world.git(pair.origin, "update-ref", "refs/heads/main", gone)
        (pair.bo.root / STATE / "sync.json").unlink()
        monkeypatch.setenv("MDMEM_NOW", "2026-03-09T10:00:00")
        pair.bo.git("config", "user.name", "Somebody Else")
        sync(pair.bo)
        assert pair.bo.head() == kept

    def test_its_facts_are_those_of_before(self, pair: Pair):
        pair.ada.apply(Remember("the boiler is old", options=WriteOptions(source=Source.INFERRED)))
        sync(pair.ada)
        sync(pair.bo)

        def facts() -> set[tuple[str, Source]]:
            listed = Memory(pair.bo.workspace).facts(ListFacts()).facts
            return {(each.text, each.source) for each in listed}

        before = facts()
        self.removed(pair.ada, "MEMORY.md")
        pair.ada.git("push", "-q", "origin", "HEAD:main")
        sync(pair.bo)
        assert facts() == before
        assert len(before) == 2

    def test_where_both_sides_wrote_and_where_a_device_removed_it(self, pair: Pair):
        pair.bo.apply(Log("amber was seen"))
        self.removed(pair.ada, "MEMORY.md")
        pair.ada.git("push", "-q", "origin", "HEAD:main")
        assert sync(pair.bo).kept_files == ("MEMORY.md",)
        pair.ada.git("pull", "-q")
        self.removed(pair.ada, "MEMORY.md")
        pair.ada.git("push", "-q", "origin", "HEAD:refs/heads/mdmem/in/phone")
        result = sync(pair.bo)
        assert (result.kept_files, result.taken_in) == (("MEMORY.md",), ("phone",))
        assert pair.bo.read("MEMORY.md") == SEED
        assert sync(pair.bo).kept_files == ()

    def test_one_of_two_marks_may_go_and_of_both_the_settings_are_kept(self, pair: Pair):
        pair.ada.write("mdmem.toml", 'language = "en"\n')
        pair.ada.commit("settings")
        sync(pair.ada)
        sync(pair.bo)
        self.removed(pair.ada, "MEMORY.md")
        pair.ada.git("push", "-q", "origin", "HEAD:main")
        assert sync(pair.bo).kept_files == ()
        assert not (pair.bo.root / "MEMORY.md").exists()
        self.removed(pair.ada, "mdmem.toml")
        pair.ada.git("push", "-q", "origin", "HEAD:main")
        assert sync(pair.bo).kept_files == ("mdmem.toml",)

    def test_a_renamed_one_was_not_removed(self, pair: Pair):
        (pair.ada.root / "notes").mkdir()
        pair.ada.git("mv", "MEMORY.md", "notes/MEMORY.md")
        pair.ada.commit("moved")
        pair.ada.git("push", "-q", "origin", "HEAD:main")
        assert sync(pair.bo).kept_files == ()
        assert not (pair.bo.root / "MEMORY.md").exists()
