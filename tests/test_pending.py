"""A person's pending edits: committed as theirs before a write of the same file, and by `save`."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import EMAIL, NAME, World
from workspaces import (
    HAND,
    MARK,
    NOW,
    SEED,
    Desk,
    append,
    code_of,
    desk,
    leave_pending_edit,
    refused,
)

from mdmem.changes import pending
from mdmem.folder.hook_files import install
from mdmem.model.errors import RefusedChange, plain
from mdmem.model.writes import Change, Log
from mdmem.repo import commits

REFUSES = "exit 1"
REFUSES_OURS = "git diff --cached | grep -q 'mark of mdmem' && exit 1\nexit 0"
LOG = "memory/2026-03-05.md"
TOKEN = "ghp_" + "Zq3vT8bN1xK6mW9cR4yF" + "7sJ2hD5gL0pA8uEi"
LONG = "# Long\n\n" + "".join(f"- fact {number}\n" for number in range(60))


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def say(_: str) -> None:
    pass


WAYS = [
    *[("MEMORY.md", way) for way in ("edited", "staged", "staged and edited again")],
    *[
        ("memory/new.md", way)
        for way in ("edited", "staged", "staged and edited again", "intended")
    ],
]


class TestPendingEdits:
    @pytest.fixture
    def pending(self, at: Desk, request: pytest.FixtureRequest) -> str:
        file, way = request.param
        at.write("other.md", "# Other\n")
        at.git("add", "other.md")
        at.write("draft.txt", "not for git\n")
        if file != "MEMORY.md":
            at.write(file, SEED.replace("- works at Stripe\n", f"- works at Stripe\n{HAND}\n"))
        leave_pending_edit(at, file, way)
        return str(file)

    @pytest.mark.parametrize("pending", WAYS, indirect=True, ids=" ".join)
    def test_are_committed_first_as_the_persons(self, at: Desk, pending: str):
        done = at.apply(append(file=pending))
        assert done.notes == (f"committed the pending edits of {pending} first, as yours",)
        assert at.subjects() == [f"{pending}: append Work", f"{pending}: edited by hand", "seed"]
        theirs = at.git("show", "--format=%an <%ae>%n%B", "HEAD~")
        assert theirs.startswith(f"{NAME} <{EMAIL}>\n")
        assert HAND in theirs
        assert "Mdmem-" not in theirs
        assert MARK not in theirs
        ours = at.git("show", "--format=%B", "HEAD")
        assert f"+{MARK}" in ours
        assert f"+{HAND}" not in ours
        assert "Mdmem-Op: append" in ours
        assert at.git("status", "--porcelain") == "A  other.md\n?? draft.txt\n"
        assert done.commit == at.git("rev-parse", "HEAD").strip()

    def test_an_agent_claims_them(self, at: Desk):
        leave_pending_edit(at, "MEMORY.md", "edited")
        done = at.apply(append(actor="agent/main"))
        assert done.notes == (
            "committed the pending edits of MEMORY.md first, as claimed by agent/main",
        )
        assert at.git("show", "-s", "--format=%an%n%B", "HEAD~") == (
            f"{NAME}\nMEMORY.md: edited by hand\n\n+ {HAND.removeprefix('- ')}\n\nMdmem-Op: save\nMdmem-Source: inferred\n"
            "Mdmem-Confidence: 0.7\nMdmem-Actor: agent/main\nMdmem-Claimed-By: agent/main\n\n"
        )

    @pytest.mark.every(3)
    @pytest.mark.parametrize("hook", [REFUSES, REFUSES_OURS], ids=["any commit", "ours only"])
    @pytest.mark.parametrize("pending", WAYS, indirect=True, ids=" ".join)
    def test_stay_as_they_were_where_a_hook_refuses(self, at: Desk, pending: str, hook: str):
        at.hook("pre-commit", hook)
        refused(at, append(file=pending), "commit-failed")

    def test_are_committed_with_all_hooks(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        orders: list[commits.CommitOrder] = []
        commit = commits.commit
        monkeypatch.setattr(
            commits,
            "commit",
            lambda repository, order: (orders.append(order), commit(repository, order))[1],
        )
        leave_pending_edit(at, "MEMORY.md", "edited")
        at.apply(append())
        assert [order.hookless for order in orders] == [False, True]

    def test_with_a_secret_are_refused_unless_it_is_let_through(self, at: Desk):
        at.write("MEMORY.md", SEED + f"- {TOKEN}\n")
        refused(at, append(), "pending-secret")
        assert at.apply(append(allow=frozenset({"secret"}))).changed

    @pytest.mark.parametrize(
        ("path", "change"), [("MEMORY.md", append()), (LOG, Log("it rained", time="09:00"))]
    )
    def test_with_conflict_markers_are_refused(self, at: Desk, path: str, change: Change):
        at.write(path, SEED + "\n<<<<<<< ours\n- a\n=======\n- b\n>>>>>>> theirs\n")
        refused(at, change, "conflict-markers")

    def test_conflict_markers_in_a_block_of_code_are_text(self, at: Desk):
        at.write("MEMORY.md", SEED + "\n```\n<<<<<<< a\n=======\n>>>>>>> b\n```\n")
        assert at.apply(append()).changed

    def test_are_refused_where_the_settings_say_so(self, at: Desk):
        at.write("mdmem.toml", 'direct_edits = "refuse"\n')
        at.commit()
        leave_pending_edit(at, "MEMORY.md", "edited")
        refused(at, append(), "pending-edits")

    @pytest.mark.parametrize("way", [["rm"], ["rm", "--cached"]], ids=["staged", "not staged"])
    def test_a_file_that_a_person_removed_is_gone_in_their_commit(self, at: Desk, way: list[str]):
        at.apply(Log("one", time="09:00"))
        at.git(*way, "-q", LOG)
        (at.root / LOG).unlink(missing_ok=True)
        at.apply(Log("two", time="09:00"))
        assert at.subjects(LOG)[:2] == [f"{LOG}: log 09:00", f"{LOG}: removed by hand"]
        assert "- one" not in at.read(LOG)
        assert at.git("status", "--porcelain") == ""

    def test_a_removal_is_taken_back_where_a_hook_refuses_ours(self, at: Desk):
        at.apply(Log("one"))
        at.git("rm", "-q", LOG)
        at.hook("pre-commit", REFUSES_OURS)
        refused(at, Log("the mark of mdmem"), "commit-failed")

    def test_an_unborn_branch_is_unborn_again_where_a_hook_refuses_ours(
        self, world: World, repository: Path
    ):
        at = Desk(world, repository)
        at.write("MEMORY.md", SEED)
        at.hook("pre-commit", REFUSES_OURS)
        refused(at, append(), "commit-failed")

    def test_below_the_top_of_the_work_tree_the_index_is_put_back_too(
        self, world: World, repository: Path
    ):
        at = desk(world, repository, "deep/er")
        leave_pending_edit(at, "MEMORY.md", "staged and edited again")
        at.hook("pre-commit", REFUSES_OURS)
        refused(at, append(), "commit-failed")


class TestSave:
    def save(self, at: Desk, text: str | None = None) -> tuple[str, ...]:
        commit, paths = pending.save(at.workspace, text, say)
        assert (commit is not None) == bool(paths)
        assert commit in (None, at.git("rev-parse", "HEAD").strip())
        return paths

    def test_everything_of_memory_and_nothing_else(self, at: Desk):
        at.write("memory/old.md", "# Old\n")
        at.write("memory/gone.md", "# Gone\n")
        at.write("memory/moved.md", "# Moved\n\nsome text that is long enough\n")
        at.commit()
        leave_pending_edit(at, "MEMORY.md", "staged and edited again")
        at.write("memory/new.md", "# New\n")
        (at.root / "memory" / "old.md").unlink()
        at.git("rm", "-q", "memory/gone.md")
        at.git("mv", "memory/moved.md", "memory/there.md")
        at.write("README.md", "# Readme\n")
        at.write("staged.txt", "x")
        at.git("add", "staged.txt")
        paths = self.save(at)
        assert sorted(paths) == sorted(
            [
                "MEMORY.md",
                *(f"memory/{name}.md" for name in ("gone", "moved", "new", "old", "there")),
            ]
        )
        assert at.git("status", "--porcelain") == "A  staged.txt\n?? README.md\n"
        assert at.subjects()[0] == "6 memory files: edited by hand"
        assert "Mdmem-" not in at.git("log", "-1", "--format=%B")

    def test_an_agent_claims_them(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("MDMEM_ACTOR", "agent/main")
        at.write("MEMORY.md", SEED.replace("Oslo", "Rome"))
        at.write("memory/new.md", "# New\n")
        self.save(at, "two of them\n")
        assert at.git("log", "-1", "--format=%B").startswith(
            "two of them\n\n- lives in Oslo\n+ lives in Rome\n+ # New\n\nMdmem-Op: save\n"
        )
        assert (
            at.git("log", "-1", "--format=%(trailers:key=Mdmem-Claimed-By,valueonly)").strip()
            == "agent/main"
        )

    def test_a_persons_actor_claims_nothing(
        self, world: World, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        settings = world.home / ".config" / "mdmem" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text('people = ["ada"]\nactor = "Ada"\n')
        at.write("MEMORY.md", SEED.replace("Oslo", "Rome"))
        self.save(at)
        assert "Mdmem-" not in at.git("log", "-1", "--format=%B")

    def test_an_actor_of_mdmems_own_is_refused(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("MDMEM_ACTOR", "dream")
        at.write("MEMORY.md", SEED.replace("Oslo", "Rome"))
        assert code_of(lambda: pending.save(at.workspace, None, say)) == "reserved-actor"

    def test_nothing_pending(self, at: Desk):
        before = at.tree_state()
        assert self.save(at) == ()
        assert at.tree_state() == before

    def test_the_message_is_theirs(self, at: Desk):
        leave_pending_edit(at, "MEMORY.md", "edited")
        self.save(at, "about Ada\n\n# more\n")
        assert at.git("log", "-1", "--format=%B") == "about Ada\n\n# more\n\n"

    def test_a_secret_in_what_is_said_is_refused(self, at: Desk):
        leave_pending_edit(at, "MEMORY.md", "edited")
        for text, actor, field in ((f"about {TOKEN}", None, "message"), ("about", TOKEN, "actor")):
            with pytest.raises(RefusedChange) as failure:
                pending.save(at.workspace, text, say, named_actor=actor)
            assert (failure.value.code, plain(failure.value.message).partition(":")[0]) == (
                "secret-found",
                field,
            )
        assert pending.save(at.workspace, f"about {TOKEN}", say, frozenset({"secret"}))[0]

    def test_nothing_is_saved_while_git_merges(self, at: Desk):
        leave_pending_edit(at, "MEMORY.md", "edited")
        at.write(".git/MERGE_HEAD", at.head())
        before = at.tree_state()
        assert code_of(lambda: pending.save(at.workspace, None, say)) == "repository-busy"
        assert at.tree_state() == before

    def test_without_an_author_it_is_the_one_of_the_settings(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        orders: list[commits.CommitOrder] = []
        commit = commits.commit
        monkeypatch.setattr(
            commits,
            "commit",
            lambda repository, order: (orders.append(order), commit(repository, order))[1],
        )
        at.git("config", "--remove-section", "user")
        at.write("mdmem.toml", 'author = "Memory <memory@example.org>"\n')
        leave_pending_edit(at, "MEMORY.md", "edited")
        pending.save(at.workspace, None, say, frozenset({"shrink"}))
        assert at.git("log", "-1", "--format=%an <%ae>") == "Memory <memory@example.org>\n"
        assert [order.allow for order in orders] == [{"shrink"}]

    def test_a_note_may_lose_what_it_likes(self, at: Desk):
        at.write("mdmem.toml", 'paths = ["notes/*.md"]\n')
        at.write("notes/long.md", LONG)
        at.commit()
        at.write("notes/long.md", "# Long\n")
        assert self.save(at) == ("notes/long.md",)

    def test_a_hook_that_refuses(self, at: Desk):
        leave_pending_edit(at, "MEMORY.md", "staged and edited again")
        at.write("memory/new.md", "# New\n")
        at.hook("commit-msg", REFUSES)
        before = at.tree_state()
        assert code_of(lambda: pending.save(at.workspace, None, say)) == "commit-failed"
        assert at.tree_state() == before

    @pytest.mark.parametrize("hooked", [False, True])
    @pytest.mark.parametrize(
        ("allow", "code", "path", "after"),
        [
            ("append", "append", LOG, "# 2026-03-05\n\n- coffee\n"),
            ("shrink", "shrink", "memory/long.md", "# Long\n"),
            ("shrink", "shrink", "memory/long.md", None),
            (None, "conflict-markers", "memory/long.md", LONG + "<<<<<<< a\n=======\n>>>>>>> b\n"),
            (None, "not-utf8", "memory/long.md", LONG.encode() + b"\xff\n"),
        ],
    )
    def test_what_the_check_refuses(
        self,
        at: Desk,
        hooked: bool,
        allow: str | None,
        code: str,
        path: str,
        after: str | bytes | None,
    ):
        at.write(LOG, "# 2026-03-05\n\n- tea\n")
        at.write("memory/long.md", LONG)
        at.commit()
        if hooked:
            install(at.workspace.repository.hooks_dir, sys.executable)
        if after is None:
            (at.root / path).unlink()
        else:
            at.write(path, after)
        before = at.tree_state()
        for other in (frozenset[str](), frozenset({"append", "shrink", "secret"} - {allow})):
            assert code_of(lambda other=other: pending.save(at.workspace, None, say, other)) == code
        assert at.tree_state() == before
        if allow:
            commit, paths = pending.save(at.workspace, None, say, frozenset({allow}))
            assert (bool(commit), paths) == (True, (path,))

    def test_a_long_file_that_is_renamed_is_not_lost(self, at: Desk):
        at.write("memory/long.md", LONG)
        at.commit()
        (at.root / "memory" / "long.md").rename(at.root / "memory" / "longer.md")
        at.write("memory/longer.md", LONG + "- more\n")
        at.write("memory/other.md", "# Other\n")
        assert sorted(self.save(at)) == ["memory/long.md", "memory/longer.md", "memory/other.md"]

    @pytest.mark.parametrize(
        ("make", "why"),
        [
            (lambda path: path.symlink_to("../MEMORY.md"), "x.md is not a regular file"),
            (
                lambda path: path.write_bytes(b"x" * 6_000_000),
                "x.md has 6,000,000 bytes; the maximum is 5,000,000",
            ),
        ],
        ids=["link", "large"],
    )
    @pytest.mark.parametrize("tracked", [False, True])
    def test_what_is_no_memory_is_named_and_left_out(
        self, at: Desk, make: Callable[[Path], object], why: str, tracked: bool
    ):
        at.write("memory/x.md", "# X\n")
        if tracked:
            at.commit()
        (at.root / "memory" / "x.md").unlink()
        make(at.root / "memory" / "x.md")
        heard: list[str] = []
        assert pending.save(at.workspace, None, heard.append) == (None, ())
        leave_pending_edit(at, "MEMORY.md", "edited")
        commit, paths = pending.save(at.workspace, None, heard.append)
        assert (bool(commit), paths) == (True, ("MEMORY.md",))
        assert heard == [f"memory/x.md is not saved: {why}"] * 2
        assert at.git("status", "--porcelain", "-uall").split()[1:] == ["memory/x.md"]

    def test_a_name_that_is_no_text(self, at: Desk):
        name = os.fsdecode(b"memory/caf\xe9.md")
        at.write(name, "# Caf\n")
        assert self.save(at) == (name,)
        assert at.git("status", "--porcelain") == ""


class TestOverlooked:
    """Files that git was told not to look at."""

    @pytest.fixture(
        params=["--assume-unchanged", "--skip-worktree", "--assume-unchanged --skip-worktree"]
    )
    def overlooked(self, at: Desk, request: pytest.FixtureRequest) -> Desk:
        at.write("memory/a.md", "# A\n\n- one\n")
        at.commit("more")
        for path in ("MEMORY.md", "memory/a.md"):
            for bit in request.param.split():
                at.git("update-index", bit, path)
        return at

    @pytest.mark.every(5)
    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize("way", [None, "edited"])
    def test_their_pending_edits_are_committed_first(
        self, overlooked: Desk, way: str | None, packed: bool
    ):
        bits = overlooked.git("ls-files", "-v")
        if packed:
            overlooked.git("gc", "-q")
        if way:
            leave_pending_edit(overlooked, "MEMORY.md", way)
        overlooked.apply(append(actor="agent/main"))
        overlooked.apply(append("- again", actor="agent/main"))
        theirs = ["MEMORY.md: edited by hand"] if way else []
        assert overlooked.subjects() == [
            "MEMORY.md: append Work",
            "MEMORY.md: append Work",
            *theirs,
            "more",
            "seed",
        ]
        assert not way or HAND in overlooked.git("show", "HEAD~2:MEMORY.md")
        assert overlooked.git("show", "HEAD:MEMORY.md") == overlooked.read("MEMORY.md")
        assert overlooked.git("ls-files", "-v") == bits

    def test_a_failure_leaves_all_as_it_was(self, overlooked: Desk):
        bits = overlooked.git("ls-files", "-v")
        leave_pending_edit(overlooked, "MEMORY.md", "edited")
        overlooked.hook("pre-commit", REFUSES_OURS)
        refused(overlooked, append(), "commit-failed")
        assert overlooked.git("ls-files", "-v") == bits

    def test_they_are_saved(self, overlooked: Desk):
        bits = overlooked.git("ls-files", "-v")
        for path in ("MEMORY.md", "memory/a.md"):
            overlooked.write(path, overlooked.read(path) + f"{HAND}\n")
        _, paths = pending.save(overlooked.workspace, None, say)
        assert sorted(paths) == ["MEMORY.md", "memory/a.md"]
        assert overlooked.git("show", "HEAD:MEMORY.md") == overlooked.read("MEMORY.md")
        assert overlooked.git("ls-files", "-v") == bits
        assert pending.save(overlooked.workspace, None, say) == (None, ())

    def test_what_is_not_checked_out_is_not_written_over(self, at: Desk):
        at.apply(Log("before"))
        at.git("update-index", "--skip-worktree", LOG)
        (at.root / LOG).unlink()
        refused(at, Log("after"), "bad-path")
