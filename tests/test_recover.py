"""Killed at every step of a write: the next command settles what was left."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from killed_write import killed_at_every_step
from workspaces import MARK, NOW, SEED, Desk, append, apply, code_of, desk

from mdmem.changes import pending, recover
from mdmem.changes.agent_files import set_instructions
from mdmem.folder import files, journal
from mdmem.folder.journal import CommitStep, FileStep, Journal
from mdmem.model import FilePath
from mdmem.model.errors import MdmemError
from mdmem.model.writes import Change, Contradict, Log, Revert
from mdmem.repo import commits
from mdmem.repo.runner import GitResult

HAND = "- a line of Ada's"
AFTER = SEED.replace("- works at Stripe\n", f"- works at Stripe\n{MARK}\n")
MESSAGE = "MEMORY.md: append Work\n\nMdmem-Op: append\n"
TEMPORARY = ".mdmem-0123456789abcdef.tmp"
LOG = "memory/2026-03-05.md"


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def settled(at: Desk) -> None:
    """Assert that nothing of an unfinished write is left."""
    assert sorted(path.name for path in at.workspace.state.iterdir()) == ["lock", "workspace"]
    assert not list(at.root.rglob("*.tmp"))
    assert at.git("status", "--porcelain") == ""
    at.git("fsck", "--strict", "--no-dangling")


class TestKilledAtEveryStep:
    @pytest.mark.parametrize("pending", [pytest.param(False, marks=pytest.mark.slow), True])
    def test_an_edit(self, at: Desk, tmp_path: Path, pending: bool):
        if pending:
            at.write("MEMORY.md", SEED.replace("- lives", f"{HAND}\n- lives"))
        outcomes = set()
        for copy, killed in killed_at_every_step(at, tmp_path / "killed", append(), NOW):
            assert copy.read("MEMORY.md").replace(f"{MARK}\n", "") == at.read("MEMORY.md")
            copy.apply(append("- the next", "Home"))
            done = MARK in copy.read("MEMORY.md")
            expected = [
                "MEMORY.md: append Home",
                *["MEMORY.md: append Work"] * done,
                *["MEMORY.md: edited by hand"] * pending,
                "seed",
            ]
            assert copy.subjects() == expected
            if pending:
                assert HAND in copy.git("show", "--format=", f"HEAD~{1 + done}")
            if done:
                assert f"+{MARK}" in copy.git("show", "--format=", "HEAD~")
            settled(copy)
            outcomes.add((killed, done))
        assert outcomes == {(True, False), (True, True), (False, True)}

    def test_a_new_log(self, at: Desk, tmp_path: Path):
        outcomes = set()
        for copy, killed in killed_at_every_step(at, tmp_path / "killed", Log(MARK), NOW):
            copy.apply(append("- the next", "Home"))
            done = (copy.root / LOG).exists()
            assert copy.subjects() == [
                "MEMORY.md: append Home",
                *[f"{LOG}: log 10:00"] * done,
                "seed",
            ]
            settled(copy)
            outcomes.add((killed, done))
        assert outcomes == {(True, False), (True, True), (False, True)}


def test_a_git_that_outlives_mdmem(at: Desk):
    """The hook kills mdmem, not git: git commits all the same, and the next command finds that it
    is done.
    """
    at.hook("pre-commit", 'rm -f .git/hooks/pre-commit\nkill -9 "$(cat .git/mdmem.pid)"')
    words = [sys.executable, "-m", "mdmem", "edit-section", "Work", "--append", MARK]
    command = ["sh", "-c", 'echo $$ > .git/mdmem.pid; exec "$@"', "sh", *words]
    killed = at.world.run(at.root, command, check=False, environment={"MDMEM_NOW": NOW})
    assert killed.returncode == -9
    at.apply(append("- the next", "Home"))
    assert at.subjects() == ["MEMORY.md: append Home", "MEMORY.md: append Work", "seed"]
    settled(at)


def step(
    before: str | None = SEED,
    after: str = AFTER,
    path: str = "MEMORY.md",
    temporary: str = TEMPORARY,
) -> FileStep:
    digests = [
        files.digest(text.encode()) if text is not None else None for text in (before, after)
    ]
    return FileStep(FilePath(path), *digests, temporary)


def written(*steps: FileStep) -> Journal:
    return Journal(steps or (step(),), CommitStep(MESSAGE, "@1770000000 +0100"))


def leave(at: Desk, *steps: FileStep) -> None:
    at.workspace.ensure_state()
    journal.save(at.workspace.state / journal.WRITE_NAME, written(*steps))


def nothing_to_change(at: Desk) -> tuple[str, ...]:
    """Run a command that has nothing to do but to settle what was left, and return what it says."""
    heard: list[str] = []
    done = apply(at.workspace, append("- lives in Oslo", "Home"), heard.append)
    assert not done.changed
    return tuple(heard)


class TestLeft:
    def test_the_file_as_after_is_committed_as_it_was_meant(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", AFTER)
        at.write(files.backup_name(TEMPORARY), "half a fi")
        assert nothing_to_change(at) == ("finished an interrupted write of MEMORY.md",)
        assert (
            at.git("log", "-1", "--format=%B%at %ad", "--date=raw")
            == f"{MESSAGE}1770000000 1770000000 +0100\n"
        )
        settled(at)

    def test_what_is_saved_before_git_reads_it_is_left_out(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        leave(at)
        at.write("MEMORY.md", AFTER)
        run, saves = commits.run, [AFTER.replace("# Memory\n", f"# Memory\n\n{HAND}\n")]

        def overtaken(
            folder: Path, arguments: Sequence[str], *rest: Any, **named: Any
        ) -> GitResult:
            if "commit" in arguments and saves:
                at.write("MEMORY.md", saves.pop())
            return run(folder, arguments, *rest, **named)

        monkeypatch.setattr(commits, "run", overtaken)
        assert nothing_to_change(at) == ("finished an interrupted write of MEMORY.md",)
        assert at.git("show", "HEAD:MEMORY.md") == AFTER
        assert at.git("status", "--porcelain") == " M MEMORY.md\n"

    def test_what_version_0_3_left_is_finished(self, at: Desk):
        at.workspace.ensure_state()
        (at.workspace.state / journal.WRITE_NAME).write_text(
            json.dumps(asdict(step()) | asdict(written().then))
        )
        at.write("MEMORY.md", AFTER)
        assert nothing_to_change(at) == ("finished an interrupted write of MEMORY.md",)
        settled(at)

    def test_the_old_bytes_beside_it_go(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", AFTER)
        at.write(TEMPORARY, SEED)
        assert nothing_to_change(at) == ("finished an interrupted write of MEMORY.md",)
        settled(at)

    @pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "no exchange"])
    def test_what_a_person_saved_at_the_last_moment_is_put_back(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, exchange: bool
    ):
        if not exchange:
            monkeypatch.setattr(files, "_renameat2", lambda: None)
        leave(at)
        at.write("MEMORY.md", AFTER)
        saved = SEED.replace("# Memory\n", f"# Memory\n\n{HAND}\n")
        at.write(TEMPORARY, saved)
        assert nothing_to_change(at) == (
            "MEMORY.md was changed after an interrupted write; it is kept unchanged",
        )
        assert (at.root / "MEMORY.md").read_text() == saved
        assert not (at.root / TEMPORARY).exists()

    @pytest.mark.parametrize("kind", ["link", "folder", "large"])
    def test_a_save_of_another_kind_is_too(self, at: Desk, kind: str):
        leave(at)
        at.write("MEMORY.md", AFTER)
        temporary = at.root / TEMPORARY
        match kind:
            case "link":
                temporary.symlink_to("elsewhere.md")
            case "folder":
                temporary.mkdir()
            case _:
                temporary.write_bytes(b"by hand\n" * 1_000_000)
        with pytest.raises(MdmemError):
            nothing_to_change(at)
        path = at.root / "MEMORY.md"
        assert {"link": path.is_symlink, "folder": path.is_dir}.get(
            kind, lambda: path.stat().st_size == 8_000_000
        )()
        assert not os.path.lexists(temporary)

    def test_a_save_while_the_file_was_put_back_is_too(self, at: Desk):
        leave(at)
        saved = AFTER.replace("# Memory\n", f"# Memory\n\n{HAND}\n")
        at.write(files.backup_name(TEMPORARY), saved)
        assert nothing_to_change(at) == (
            "MEMORY.md was changed after an interrupted write; it is kept unchanged",
        )
        assert at.read("MEMORY.md") == saved

    def test_a_new_file_is_too(self, at: Desk):
        leave(at, step(None, "# New\n", "memory/new.md"))
        at.write("memory/new.md", "# New\n")
        assert nothing_to_change(at) == ("finished an interrupted write of memory/new.md",)
        settled(at)

    @pytest.mark.parametrize(
        ("before", "path"), [(SEED, "MEMORY.md"), (None, "memory/new.md"), (None, "none/new.md")]
    )
    def test_the_file_as_before_is_left_alone(self, at: Desk, before: str | None, path: str):
        leave(at, step(before, path=path))
        (at.root / "memory").mkdir()
        if path != "none/new.md":
            (at.root / path).with_name(TEMPORARY).write_text("half a fi")
        assert nothing_to_change(at) == ()
        assert at.subjects() == ["seed"]
        settled(at)

    def test_pending_edits_as_before_are_left_alone(self, at: Desk):
        text = SEED.replace("## Home", f"{HAND}\n\n## Home")
        leave(at, step(text))
        at.write("MEMORY.md", text)
        assert nothing_to_change(at) == ()
        assert at.subjects() == ["seed"]
        assert at.read("MEMORY.md") == text

    @pytest.mark.parametrize("text", [AFTER + "\n- saved later\n", "", None])
    def test_any_other_file_is_kept_and_said(self, at: Desk, text: str | None):
        leave(at)
        if text is None:
            (at.root / "MEMORY.md").unlink()
        else:
            at.write("MEMORY.md", text)
        before = at.tree_state()
        heard: list[str] = []
        commit, _ = pending.save(at.workspace, None, heard.append)
        assert commit
        assert heard == ["MEMORY.md was changed after an interrupted write; it is kept unchanged"]
        assert at.tree_state().files == before.files
        assert at.subjects() == ["MEMORY.md: edited by hand", "seed"]
        settled(at)

    def test_and_it_is_said(self, at: Desk):
        leave(at, step(path="memory/a.md"))
        at.write("memory/a.md", "# Other\n")
        assert nothing_to_change(at) == (
            "memory/a.md was changed after an interrupted write; it is kept unchanged",
        )

    @pytest.mark.parametrize(
        "make",
        [
            lambda place: place.symlink_to("../MEMORY.md"),
            Path.mkdir,
            os.mkfifo,
            lambda place: place.write_bytes(b"x" * 6_000_000),
        ],
        ids=["link", "folder", "pipe", "large"],
    )
    def test_what_is_no_file_any_more_does_not_stand_in_the_way(
        self, at: Desk, make: Callable[[Path], object]
    ):
        leave(at, step(path="memory/a.md"))
        (at.root / "memory").mkdir()
        make(at.root / "memory" / "a.md")
        assert nothing_to_change(at) == (
            "memory/a.md was changed after an interrupted write; it is kept unchanged",
        )
        assert not (at.workspace.state / "write-ahead.json").exists()

    def test_what_is_committed_already_is_not_committed_twice(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", AFTER)
        at.commit("done")
        assert nothing_to_change(at) == ()
        assert at.subjects() == ["done", "seed"]
        settled(at)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            '[["FileStep", {"path',
            "7",
            "null",
            json.dumps([("FileStep", asdict(step()))]),
            json.dumps([("CommitStep", asdict(written().then))]),
            '{"path": "MEMORY.md"}',
            "\udcff",
        ],
    )
    def test_a_journal_that_is_not_whole_counts_for_nothing(self, at: Desk, text: str):
        at.workspace.ensure_state()
        (at.workspace.state / "write-ahead.json").write_text(text, errors="surrogateescape")
        (at.workspace.state / TEMPORARY).write_text("half a rec")
        at.write("MEMORY.md", AFTER)
        assert nothing_to_change(at) == ()
        assert at.git("status", "--porcelain") == " M MEMORY.md\n"
        at.git("checkout", "-q", "MEMORY.md")
        settled(at)

    @pytest.mark.parametrize("path", [f"../{TEMPORARY}", f".mdmem-/../../{TEMPORARY}", "mdmem.tmp"])
    def test_the_temporary_file_is_looked_for_nowhere_else(self, at: Desk, path: str):
        leave(at, step(temporary=path))
        (at.root / ".mdmem-").mkdir()
        other = at.write(path, "not ours")
        nothing_to_change(at)
        assert other.exists()

    def test_a_hook_that_refuses_is_asked_again(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", AFTER)
        hook = at.hook("pre-commit", "exit 1")
        before = at.tree_state()
        for _ in range(2):
            with pytest.raises(MdmemError) as failure:
                nothing_to_change(at)
            assert failure.value.code == "commit-failed"
            assert at.tree_state() == before
        hook.unlink()
        assert nothing_to_change(at) == ("finished an interrupted write of MEMORY.md",)
        settled(at)

    def test_save_settles_it_too(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", AFTER)
        heard: list[str] = []
        assert pending.save(at.workspace, None, heard.append) == (None, ())
        assert heard == ["finished an interrupted write of MEMORY.md"]
        assert at.subjects() == ["MEMORY.md: append Work", "seed"]
        settled(at)

    @pytest.mark.parametrize(
        "change",
        [append(section="Wrok"), Contradict("no", "neither")],
        ids=lambda change: type(change).__name__,
    )
    def test_a_write_that_is_then_refused_says_it_too(self, at: Desk, change: Change):
        leave(at, step(path="memory/a.md"))
        at.write("memory/a.md", "# Other\n")
        heard: list[str] = []
        with pytest.raises(MdmemError):
            apply(at.workspace, change, heard.append)
        assert heard == ["memory/a.md was changed after an interrupted write; it is kept unchanged"]

    def test_instructions_that_go_with_their_file_settle_it_first(self, at: Desk):
        set_instructions(at.workspace, "AGENTS.md", False, print)
        leave(at)
        at.write("MEMORY.md", AFTER)
        assert set_instructions(at.workspace, "AGENTS.md", True, print).changed
        assert at.subjects() == [
            "AGENTS.md: init",
            "MEMORY.md: append Work",
            "AGENTS.md: init",
            "seed",
        ]

    @pytest.mark.parametrize("code", ["detached-head", "repository-busy"])
    def test_it_waits_until_git_can_take_it(self, at: Desk, code: str):
        leave(at)
        at.write("MEMORY.md", AFTER)
        if code == "detached-head":
            at.git("checkout", "-q", "--detach")
        else:
            at.write(".git/MERGE_HEAD", at.head())
        before = at.tree_state()
        assert code_of(lambda: nothing_to_change(at)) == code
        assert (at.tree_state(), journal.load(at.workspace.state / journal.WRITE_NAME)) == (
            before,
            written(),
        )

    def test_an_index_from_before_the_commit_is_renewed(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", AFTER)
        blob = at.git("hash-object", "-w", "MEMORY.md").strip()
        tree = at.world.git(
            at.root, "mktree", stdin=f"100644 blob {blob}\tMEMORY.md\n"
        ).stdout.strip()
        at.git(
            "update-ref", "HEAD", at.git("commit-tree", "-p", "HEAD", "-m", "done", tree).strip()
        )
        assert nothing_to_change(at) == ()
        assert at.subjects() == ["done", "seed"]
        settled(at)

    def test_the_author_of_the_settings_commits_it_where_git_has_none(self, at: Desk):
        at.write("mdmem.toml", 'author = "Ada <ada@example.com>"\n')
        at.commit("settings")
        leave(at)
        at.write("MEMORY.md", AFTER)
        at.git("config", "--remove-section", "user")
        assert nothing_to_change(at) == ("finished an interrupted write of MEMORY.md",)
        assert at.git("log", "-1", "--format=%an <%ae>").strip() == "Ada <ada@example.com>"

    def test_what_a_hook_makes_of_it_is_kept(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", AFTER)
        at.hook("pre-commit", "sed -i s/Stripe/Acme/ MEMORY.md\ngit add MEMORY.md")
        assert nothing_to_change(at) == ("finished an interrupted write of MEMORY.md",)
        assert (
            at.git("show", "HEAD:MEMORY.md")
            == at.read("MEMORY.md")
            == AFTER.replace("Stripe", "Acme")
        )

    @pytest.mark.parametrize(
        ("before", "committed", "left"),
        [
            (None, None, None),
            (None, SEED, AFTER),
            (SEED, SEED, SEED),
            (SEED, "# Theirs\n", AFTER),
            (SEED, None, AFTER),
        ],
    )
    def test_what_head_does_not_have_is_not_put_back(
        self, at: Desk, before: str | None, committed: str | None, left: str | None
    ):
        path = "memory/a.md"
        if committed is not None:
            at.write(path, committed)
            at.commit()
        at.write(path, AFTER)
        recover._put_back(at.workspace, step(before, path=path))
        assert (at.read(path) if (at.root / path).exists() else None) == left

    def test_a_revert_that_changes_no_text_settles_it_first(self, at: Desk):
        logged = at.apply(Log("the sky is green", kind="fact")).commit
        leave(at)
        at.write("MEMORY.md", AFTER)
        at.apply(Revert(str(logged)))
        assert at.subjects() == [
            f"{LOG}: revert 10:00",
            "MEMORY.md: append Work",
            f"{LOG}: log 10:00",
            "seed",
        ]

    def test_reading_and_dry_runs_leave_it_to_the_next_write(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", AFTER)
        before = at.tree_state(), at.state()
        assert at.apply(append("- x", dry_run=True)).diff
        assert (at.tree_state(), at.state()) == before

    def test_the_state_folder_may_go_at_any_time(self, at: Desk):
        at.apply(Log("one"))
        shutil.rmtree(at.workspace.state.parent)
        at.apply(Log("two"))
        assert at.subjects()[:2] == [f"{LOG}: log 10:00"] * 2
        settled(at)


def test_the_lock_ends_with_the_process_that_held_it(at: Desk):
    at.workspace.ensure_state()
    script = "import os, sys; from mdmem.folder import files; from pathlib import Path\nwith files.lock(Path(sys.argv[1]), 1): os._exit(9)"
    done = subprocess.run(
        [sys.executable, "-c", script, at.workspace.state / "lock"],
        env=at.world.environment,
        check=False,
    )
    assert done.returncode == 9
    assert at.apply(append()).commit
