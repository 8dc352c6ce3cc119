"""Writes in real repositories: hooks, locks, dry runs, and the git processes that a
write starts.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import NAME, World
from workspaces import HAND, MARK, NOW, Desk, append, desk, gits, leave_pending_edit, refused

from mdmem.folder import files, hook_files
from mdmem.memory import Memory
from mdmem.model.errors import MdmemError
from mdmem.model.writes import Action, Change, EditSection, Forget, Log, Remember, WriteOptions
from mdmem.repo import commits, runner, worktree
from mdmem.repo.runner import GitResult

LOG = "memory/2026-03-05.md"


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


def state_but_for_the_trail(at: Desk) -> dict[str, bytes | str]:
    """The state folder without the trail, which is brought up to HEAD whenever it is read."""
    trail = {"root", "root/workspace", "root/versions.db", "root/trail.lock"}
    return {name: data for name, data in at.state().items() if name not in trail}


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


class TestHooks:
    @pytest.mark.parametrize("name", ["pre-commit", "prepare-commit-msg", "commit-msg"])
    @pytest.mark.parametrize(
        "change",
        [append(), Log("x"), append(file="memory/new.md", section="N")],
        ids=["edit", "log", "none"],
    )
    def test_one_that_refuses_leaves_all_as_it_was(
        self, at: Desk, name: str, change: EditSection | Log
    ):
        at.hook(name, "echo because of this >&2\nexit 1")
        code = (
            "file-not-found" if isinstance(change, EditSection) and change.file else "commit-failed"
        )
        refused(at, change, code)
        assert not (at.root / "memory").exists()

    @pytest.mark.parametrize("where", ["repository", "home"])
    def test_one_in_a_folder_of_the_persons_runs(self, at: Desk, where: str, tmp_path: Path):
        hook_files.install(at.root / ".git" / "hooks", "python3")
        at.git(
            "config",
            "--local" if where == "repository" else "--global",
            "core.hooksPath",
            tmp_path / "mine",
        )
        at.hook("pre-commit", "touch it.ran")
        at.apply(append())
        assert (at.root / "it.ran").exists()

    def test_one_beside_our_own_runs(self, at: Desk):
        hook_files.install(at.root / ".git" / "hooks", "python3")
        at.hook("commit-msg", "touch it.ran")
        at.apply(append())
        assert (at.root / "it.ran").exists()

    def test_our_own_alone_are_not_started(
        self, at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """git is told to look for hooks in a folder that has none."""
        hook_files.install(at.root / ".git" / "hooks", "python3")
        started: list[list[str]] = []
        converse = runner.converse

        def heard(command: list[str], *more: Any, **named: Any) -> Any:
            started.append(command)
            return converse(command, *more, **named)

        monkeypatch.setattr(runner, "converse", heard)
        at.apply(append())
        assert [
            f"core.hooksPath={os.devnull}" in command for command in started if "commit" in command
        ] == [True]

    def test_its_words_are_the_message(self, at: Desk):
        at.hook("pre-commit", "echo because of this >&2\nexit 1")
        with pytest.raises(MdmemError, match="because of this"):
            at.apply(append())

    @pytest.mark.parametrize("change", [append(), Log("x")], ids=["known file", "new file"])
    @pytest.mark.parametrize("pending", [False, True])
    def test_one_that_hangs_is_ended(self, at: Desk, change: EditSection | Log, pending: bool):
        os.mkfifo(at.root / ".git" / "never")
        at.write("mdmem.toml", "hook_timeout = 0.5\n")
        at.commit()
        if pending:
            leave_pending_edit(at, "MEMORY.md", "staged and edited again")
        at.hook("pre-commit", "exec cat .git/never")
        refused(at, change, "hook-timeout")
        assert not list((at.root / ".git").glob("*.lock"))

    @pytest.mark.parametrize("change", [append(), Log("x")], ids=["known file", "new file"])
    @pytest.mark.parametrize("hook", ["exit 1", "exec cat .git/never"], ids=["fails", "hangs"])
    @pytest.mark.parametrize("pending", [False, True])
    def test_after_the_commit_one_changes_nothing_any_more(
        self, at: Desk, change: EditSection | Log, hook: str, pending: bool
    ):
        os.mkfifo(at.root / ".git" / "never")
        at.write("mdmem.toml", "hook_timeout = 0.5\n")
        at.commit()
        if pending:
            leave_pending_edit(at, "MEMORY.md", "edited")
        at.hook("post-commit", hook)
        done = at.apply(change)
        assert done.commit == at.git("rev-parse", "HEAD").strip()
        assert at.git("status", "--porcelain", "--", done.path) == ""
        assert not (at.workspace.state / "write-ahead.json").exists()

    def test_what_one_starts_in_the_background_is_neither_waited_for_nor_ended(self, at: Desk):
        os.mkfifo(at.root / ".git" / "gate")
        at.hook(
            "post-commit",
            "sh -c 'echo $$ >.git/child; exec cat .git/gate' &\nwhile [ ! -s .git/child ]; do :; done",
        )
        assert at.apply(append()).commit
        child = int((at.root / ".git" / "child").read_text())
        os.kill(child, 0)
        os.kill(child, signal.SIGKILL)

    def test_they_see_no_standard_input_and_that_the_commit_is_ours(self, at: Desk):
        at.hook("pre-commit", 'read line && exit 1\n[ "$MDMEM_COMMIT" = 1 ] || exit 1')
        assert at.apply(append()).commit

    def test_a_message_that_a_hook_changes_is_known_again(self, at: Desk):
        os.mkfifo(at.root / ".git" / "never")
        at.write("mdmem.toml", "hook_timeout = 0.5\n")
        at.commit()
        at.hook("prepare-commit-msg", 'sed -i "1s/^/[X-1] /" "$1"')
        at.hook("post-commit", "exec cat .git/never")
        assert at.apply(append()).commit == at.git("rev-parse", "HEAD").strip()


class TestLocks:
    def test_a_branch_that_another_git_holds_is_waited_for(self, at: Desk):
        lock = at.root / ".git" / "refs" / "heads" / "main.lock"
        lock.touch()
        at.hook(
            "pre-commit",
            "[ -e .git/again ] && rm -f .git/refs/heads/main.lock\ntouch .git/again\nexit 0",
        )
        assert at.apply(append()).commit
        assert at.subjects() == ["MEMORY.md: append Work", "seed"]

    @pytest.mark.parametrize("change", [append(), Log("x")], ids=["known file", "new file"])
    def test_an_index_that_another_git_holds_is_waited_for(
        self, at: Desk, change: EditSection | Log
    ):
        lock = at.root / ".git" / "index.lock"
        lock.touch()
        record = at.workspace.state / "write-ahead.json"
        stop = threading.Event()

        def free() -> None:
            while not record.exists() and not stop.wait(0.01):
                pass
            lock.unlink()

        git_at_work = threading.Thread(target=free)
        git_at_work.start()
        try:
            done = at.apply(change)
        finally:
            stop.set()
            git_at_work.join()
        assert done.commit
        assert at.git("status", "--porcelain") == ""

    def test_a_commit_that_comes_between_is_built_upon(self, at: Desk):
        between = "[ -e .git/once ] && exit 0\ntouch .git/once\ngit update-ref HEAD $(git commit-tree -p HEAD -m theirs HEAD^{tree})"
        at.hook("pre-commit", between)
        at.apply(append())
        assert at.subjects() == ["MEMORY.md: append Work", "theirs", "seed"]

    def test_a_refusal_that_speaks_of_a_lock_is_one(self, at: Desk):
        at.hook(
            "pre-commit",
            "echo x >>.git/runs\necho \"error: 'poetry.lock' is out of date\" >&2\nexit 1",
        )
        refused(at, append(), "commit-failed")
        assert (at.root / ".git" / "runs").read_text() == "x\n"

    def test_another_mdmem_is_waited_for_and_then_named(self, at: Desk):
        at.write("mdmem.toml", "lock_timeout = 0.05\n")
        at.commit()
        at.workspace.ensure_state()
        with files.lock(at.workspace.state / "lock", 1):
            refused(at, append(), "busy")
        assert at.apply(append()).commit

    def test_two_processes_at_once(self, at: Desk):
        def log(number: int) -> str:
            command = [
                sys.executable,
                "-m",
                "mdmem",
                "log",
                f"entry {number}",
                "--time",
                "10:00",
                "--json",
            ]
            return str(
                json.loads(at.world.run(at.root, command, environment={"MDMEM_NOW": NOW}).stdout)[
                    "commit"
                ]
            )

        with (
            files.lock(state_folder(at) / "queue.lock", 1),
            ThreadPoolExecutor() as running,
        ):  # (no catching up in the background)
            ids = list(running.map(log, range(3)))
        assert sorted(ids) == sorted(at.git("log", "--format=%H", "--", LOG).split())
        assert all(f"entry {number}\n" in at.read(LOG) for number in range(3))

    def test_a_save_of_an_editor_in_between_is_kept(self, at: Desk):
        """The hook runs on the commit of the person's edits, when ours is planned and not yet
        written.
        """
        leave_pending_edit(at, "MEMORY.md", "edited")
        at.hook(
            "post-commit",
            "[ -e .git/once ] && exit 0\ntouch .git/once\nprintf '\\n- saved meanwhile\\n' >>MEMORY.md",
        )
        done = at.apply(append())
        assert done.commit
        assert "- saved meanwhile\n" in at.read("MEMORY.md")
        assert MARK in at.read("MEMORY.md")
        assert at.subjects()[0] == "MEMORY.md: append Work"
        assert "saved meanwhile" not in at.git("show", "--format=", "-U0", "HEAD")


def state_folder(at: Desk) -> Path:
    at.workspace.ensure_state()
    return at.workspace.state


class TestAsking:
    @pytest.mark.parametrize(
        "change",
        [
            append(dry_run=True),
            Log("x", options=WriteOptions(dry_run=True)),
            Remember("y", section="Work", options=WriteOptions(dry_run=True)),
            Forget("works at Stripe", options=WriteOptions(dry_run=True)),
        ],
        ids=["edit", "log", "remember", "forget"],
    )
    @pytest.mark.parametrize("used", [False, True])
    def test_a_dry_run_changes_nothing_at_all(
        self, at: Desk, change: EditSection | Log, used: bool
    ):
        at.workspace.ensure_state()
        if used:
            at.apply(append("- before"))
        leave_pending_edit(at, "MEMORY.md", "edited")
        before = at.tree_state(), state_but_for_the_trail(at)
        done = at.apply(change)
        assert done.diff
        assert done.diff.startswith("--- ")
        assert done.changed
        assert done.commit is None
        assert (at.tree_state(), state_but_for_the_trail(at)) == before
        at.write(".git/shown", done.diff)
        at.git("apply", "--check", "--unidiff-zero", ".git/shown")

    def test_what_was_read_is_what_is_changed(self, at: Desk):
        memory = Memory(at.workspace)
        etag = at.apply(append("- one")).etag
        leave_pending_edit(at, "MEMORY.md", "edited")
        with pytest.raises(MdmemError) as failure:
            at.apply(EditSection("Work", Action.APPEND, MARK, expect=etag))
        assert failure.value.code == "section-changed"
        now = failure.value.details["etag"]
        assert at.subjects()[0] == "MEMORY.md: append Work"
        assert at.apply(EditSection("Work", Action.APPEND, MARK, expect=now)).changed
        assert memory.outline().sections[1].etag != now

    def test_nothing_to_change_is_no_commit(self, at: Desk):
        leave_pending_edit(at, "MEMORY.md", "edited")
        before = at.tree_state()
        assert not at.apply(append(HAND)).changed
        assert at.tree_state() == before

    @pytest.mark.parametrize(
        ("now", "zone", "setting", "file", "heading", "stamp"),
        [
            ("2026-03-05T23:30:00", "UTC", "", "2026-03-05", "23:30", "2026-03-05T23:30:00+00:00"),
            (
                "2026-03-05T23:30:00+00:00",
                "Asia/Tokyo",
                "",
                "2026-03-06",
                "08:30",
                "2026-03-06T08:30:00+09:00",
            ),
            (
                "2026-03-05T23:30:00",
                "Asia/Tokyo",
                "",
                "2026-03-05",
                "23:30",
                "2026-03-05T23:30:00+09:00",
            ),
            (
                "2026-03-05T23:30:00Z",
                "UTC",
                "America/New_York",
                "2026-03-05",
                "18:30",
                "2026-03-05T18:30:00-05:00",
            ),
            (
                "2026-03-05T23:30:00",
                "Asia/Tokyo",
                "America/New_York",
                "2026-03-05",
                "23:30",
                "2026-03-05T23:30:00-05:00",
            ),
        ],
    )
    def test_the_day_is_the_users(
        self,
        at: Desk,
        monkeypatch: pytest.MonkeyPatch,
        now: str,
        zone: str,
        setting: str,
        file: str,
        heading: str,
        stamp: str,
    ):
        if setting:
            at.write("mdmem.toml", f'timezone = "{setting}"\n')
            at.commit()
        environment = {"MDMEM_NOW": now, "TZ": zone}
        with files.lock(state_folder(at) / "queue.lock", 1):
            at.world.run(
                at.root, [sys.executable, "-m", "mdmem", "log", "x"], environment=environment
            )
        text = at.read(f"memory/{file}.md")
        assert text.startswith(f"# {file}\n")
        assert text.endswith(f"\n## {heading}\n\n- x\n")
        stamps = at.git(
            "log", "-1", "--format=%aI %cI"
        ).split()  # some versions of git write Z for +00:00
        assert [datetime.fromisoformat(each).isoformat() for each in stamps] == [stamp, stamp]

    def test_who_commits_where_git_does_not_know(self, at: Desk):
        at.git("config", "--unset", "user.email")
        at.write("mdmem.toml", 'author = "An Agent <agent@example.org>"\n')
        at.apply(append())
        assert (
            at.git("log", "-1", "--format=%an %ae %cn %ce").strip()
            == "An Agent agent@example.org An Agent agent@example.org"
        )

    def test_whom_the_environment_names_is_enough(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        at.git("config", "--unset", "user.email")
        for role in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{role}_EMAIL", "env@example.org")
        at.apply(append())
        assert at.git("log", "-1", "--format=%an %ae").strip() == f"{NAME} env@example.org"

    def test_signing_that_works_is_done(self, at: Desk):
        signer = at.write(
            ".git/signer",
            "#!/bin/sh\necho '[GNUPG:] SIG_CREATED ' >&2\necho '-----BEGIN PGP SIGNATURE-----'\ncat >/dev/null\n",
        )
        signer.chmod(0o755)
        at.git("config", "gpg.program", str(signer))
        at.git("config", "commit.gpgsign", "true")
        at.apply(append())
        assert "gpgsig -----BEGIN PGP" in at.git("cat-file", "-p", "HEAD")


@pytest.mark.parametrize(
    "change", [append(), Log("hello")], ids=["a file that git knows", "a new one"]
)
def test_a_commit_whose_index_could_not_be_written_is_settled_by_the_next_write(
    at: Desk, monkeypatch: pytest.MonkeyPatch, change: Change
):
    """Like a full disk: git moves the branch, and then has no room for its index."""
    index = at.root / ".git" / "index"
    run, old = commits.run, index.read_bytes()

    def without_room(folder: Path, arguments: Sequence[str], *rest: Any, **named: Any) -> GitResult:
        if "reset" in arguments:
            return GitResult(128, b"", "fatal: unable to write new index file")
        done = run(folder, arguments, *rest, **named)
        if "commit" not in arguments or done.status:
            return done
        index.write_bytes(old)
        return GitResult(1, b"", "error: no room")

    for room in (commits, worktree):
        monkeypatch.setattr(room, "run", without_room)
    done = at.apply(change)
    assert done.commit == at.git("rev-parse", "HEAD").strip()
    assert at.git("status", "--porcelain")
    for room in (commits, worktree):
        monkeypatch.setattr(room, "run", run)
    assert at.apply(EditSection("Home", Action.APPEND, MARK)).commit
    assert at.git("status", "--porcelain") == ""
    assert at.git("rev-list", "--count", "HEAD").strip() == "3"


@pytest.mark.parametrize(
    ("make", "verbs"),
    [
        (lambda at: None, ["commit"]),
        (
            lambda at: at.commit(
                "many",
                *(str(at.write(f"memory/{number}.md", f"- {number}\n")) for number in range(600)),
            ),
            ["commit"],
        ),
        (lambda at: at.git("gc", "-q"), ["status", "ls-files", "commit"]),
        (
            lambda at: at.git("config", "core.worktree", ".."),
            ["rev-parse", "status", "ls-files", "config", "commit", *["rev-parse"] * 2],
        ),
    ],
    ids=["plain", "many files", "packed", "elsewhere"],
)
def test_the_gits_that_a_write_starts(
    at: Desk, monkeypatch: pytest.MonkeyPatch, make: Callable[[Desk], object], verbs: list[str]
) -> None:
    at.apply(append("- before"))
    make(at)
    started = gits(monkeypatch)
    at.apply(append())
    assert started == verbs
