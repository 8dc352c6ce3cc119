"""Stale locks of git: with real lock files, real processes and real commits; no waiting, time
stamps are set.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem.model.errors import RepositoryProblem
from mdmem.model.writes import Log
from mdmem.repo import commits

HOUR = 3600
NAMES = ["index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock"]

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="without /proc no lock can be told to be dead"
)


def lock_in(folder: Path, name: str = "index.lock", age: float = HOUR) -> Path:
    lock = folder / ".git" / name
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_bytes(b"")
    changed_at = time.time() - age
    os.utime(lock, (changed_at, changed_at))
    return lock


def folders(root: Path) -> tuple[Path, ...]:
    return root, root / ".git", root / ".git"


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(world: World) -> Iterator[Start]:
    """Starts a process that runs until its standard input is closed, and has said something."""
    started: list[subprocess.Popen[bytes]] = []

    def run(
        folder: Path, *command: str | Path, says: bytes = b"", **environment: str
    ) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=folder,
            env={**world.environment, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdin
        assert process.stdout
        process.stdin.write(says)
        process.stdin.flush()
        assert process.stdout.readline()
        return process

    yield run
    for process in started:
        process.communicate()


def git(start: Start, folder: Path, *options: str | Path, **environment: str) -> None:
    """A git process that is at work in `folder` until the test ends."""
    start(folder, "git", *options, "cat-file", "--batch", says=b"nothing\n", **environment)


def as_process(folder: Path, name: str, status: str) -> Path:
    """A process as the system shows it, without its open files; and the file by which it is known
    that it shows any.
    """
    process = folder / "7"
    for path, text in (
        (process / "comm", f"{name}\n"),
        (process / "stat", status),
        (folder / "self" / "stat", ""),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.fsencode(text))
    return process


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> float:
    """The age of a lock that is newer than every process, and old enough all the same."""
    monkeypatch.setattr(commits, "_MIN_AGE_SECONDS", -HOUR)
    return -60


class TestIsStale:
    @pytest.mark.parametrize(("age", "dead"), [(HOUR, True), (4, True), (0, False), (-HOUR, False)])
    def test_age(self, repository: Path, age: float, dead: bool):
        assert commits.is_stale_lock(lock_in(repository, age=age), folders(repository)) is dead

    def test_held_open_by_another_name(self, repository: Path, tmp_path: Path, start: Start):
        lock = lock_in(repository)
        (tmp_path / "linked").symlink_to(repository)
        program = "import sys; file = open(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
        start(repository, sys.executable, "-c", program, lock)
        assert not commits.is_stale_lock(
            tmp_path / "linked" / ".git" / lock.name, folders(repository)
        )

    @pytest.mark.parametrize("name", NAMES)
    def test_each_lock(self, repository: Path, name: str):
        assert commits.is_stale_lock(lock_in(repository, name), folders(repository))

    def test_held_open(self, repository: Path, start: Start):
        lock = lock_in(repository)
        program = "import sys; file = open(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
        process = start(repository, sys.executable, "-c", program, lock)
        assert not commits.is_stale_lock(lock, folders(repository))
        process.communicate()
        assert commits.is_stale_lock(lock, folders(repository))

    def test_a_git_that_started_after_it(self, repository: Path, start: Start):
        git(start, repository)
        assert commits.is_stale_lock(lock_in(repository), folders(repository))

    def test_nobody_at_work(self, repository: Path, ahead: float):
        assert commits.is_stale_lock(lock_in(repository, age=ahead), folders(repository))

    def test_a_git_that_started_before_it(self, repository: Path, start: Start, ahead: float):
        git(start, repository)
        assert not commits.is_stale_lock(lock_in(repository, age=ahead), folders(repository))

    def test_a_git_below(self, repository: Path, start: Start, ahead: float):
        git(start, repository / ".git" / "refs")
        assert not commits.is_stale_lock(lock_in(repository, age=ahead), folders(repository))

    def test_a_git_that_names_it(
        self, repository: Path, tmp_path: Path, start: Start, ahead: float
    ):
        git(start, tmp_path, f"--git-dir={repository / '.git'}")
        assert not commits.is_stale_lock(lock_in(repository, age=ahead), folders(repository))

    def test_a_git_whose_environment_names_it(
        self, repository: Path, tmp_path: Path, start: Start, ahead: float
    ):
        git(start, tmp_path, GIT_DIR=str(repository / ".git"))
        assert not commits.is_stale_lock(lock_in(repository, age=ahead), folders(repository))

    @pytest.mark.parametrize(
        ("options", "environment"),
        [
            (("--git-dir=../repository/.git",), {}),
            (("--git-dir", "../repository/.git"), {}),
            (("--git-dir=linked/.git",), {}),
            ((), {"GIT_DIR": "../repository/.git"}),
            ((), {"GIT_DIR": "../repository/.git", "GIT_WORK_TREE": "."}),
        ],
    )
    def test_a_git_elsewhere_with_a_relative_path(
        self,
        world: World,
        repository: Path,
        start: Start,
        ahead: float,
        options: tuple[str, ...],
        environment: dict[str, str],
    ):
        elsewhere = repository.parent / "elsewhere"
        world.git(repository.parent, "init", "-q", elsewhere)
        (elsewhere / "linked").symlink_to(repository)
        lock = lock_in(repository, age=ahead)
        git(start, elsewhere)
        assert commits.is_stale_lock(lock, folders(repository))
        git(start, elsewhere, *options, **environment)
        assert not commits.is_stale_lock(lock, folders(repository))

    def test_another_program(self, repository: Path, start: Start, ahead: float):
        start(repository, "cat", says=b"x\n")
        assert commits.is_stale_lock(lock_in(repository, age=ahead), folders(repository))

    def test_a_git_in_another_repository(
        self, world: World, repository: Path, start: Start, ahead: float
    ):
        other_root = Path(f"{repository}-other")
        world.git(repository.parent, "init", "-q", other_root)
        git(start, other_root)
        assert commits.is_stale_lock(lock_in(repository, age=ahead), folders(repository))

    def test_work_trees_share_the_locks_of_branches(
        self, world: World, repository: Path, tmp_path: Path, start: Start, ahead: float
    ):
        desk(world, repository)
        linked = tmp_path / "linked"
        world.git(repository, "worktree", "add", "-q", linked)
        lock = lock_in(repository, "packed-refs.lock", ahead)
        seen_from_linked = linked, repository / ".git" / "worktrees" / "linked", repository / ".git"
        assert commits.is_stale_lock(lock, folders(repository))
        assert commits.is_stale_lock(lock, seen_from_linked)
        git(start, linked)
        assert not commits.is_stale_lock(lock, folders(repository))

    def test_a_linked_work_tree_with_an_odd_name(
        self, world: World, repository: Path, tmp_path: Path, start: Start, ahead: float
    ):
        """Its git folder may name it relative to itself, and in bytes that are no text."""
        desk(world, repository)
        linked = tmp_path / os.fsdecode(b"linked \xff")
        world.git(repository, "worktree", "add", "-q", "--detach", linked)
        own = next((repository / ".git" / "worktrees").iterdir())
        (own / "gitdir").write_bytes(b"../../../../linked \xff/.git\n")
        git(start, linked)
        assert not commits.is_stale_lock(
            lock_in(repository, "packed-refs.lock", ahead), folders(repository)
        )

    def test_the_main_work_tree_counts_in_a_linked_one(
        self, world: World, repository: Path, tmp_path: Path, start: Start, ahead: float
    ):
        desk(world, repository)
        linked = tmp_path / "linked"
        world.git(repository, "worktree", "add", "-q", linked)
        git(start, repository)
        seen_from_linked = linked, repository / ".git" / "worktrees" / "linked", repository / ".git"
        assert not commits.is_stale_lock(
            lock_in(repository, "packed-refs.lock", ahead), seen_from_linked
        )

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
    def test_another_users(self, repository: Path):
        lock = lock_in(repository)
        os.chown(lock, 65534, -1)
        assert not commits.is_stale_lock(lock, folders(repository))

    def test_without_proc(self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(commits, "_PROCESSES", tmp_path / "proc")
        assert not commits.is_stale_lock(lock_in(repository), folders(repository))

    @pytest.mark.parametrize(
        ("later", "dead"), [(-10, False), (0.5, False), (1, False), (1.5, True)]
    )
    def test_start_times_are_those_of_a_clock_that_jumps(
        self,
        repository: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        later: float,
        dead: bool,
    ):
        """They may be a second behind the time stamp."""
        lock = lock_in(repository)
        os.utime(lock, (1_000_000, 1_000_000))
        monkeypatch.setattr(commits, "_PROCESSES", tmp_path)
        ticks = int((1000 + later) * os.sysconf("SC_CLK_TCK"))
        process = as_process(tmp_path, "git", f"7 (git) {'0 ' * 19}{ticks} 0")
        (process / "cwd").symlink_to(repository)
        for name in ("cmdline", "environ"):
            (process / name).write_text("")
        (tmp_path / "stat").write_text("cpu 1\nbtime 999000\n")
        assert commits.is_stale_lock(lock, folders(repository)) is dead

    def test_a_process_of_a_name_that_is_no_text(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """And one that ends meanwhile: it has neither files open nor a name any more."""
        monkeypatch.setattr(commits, "_PROCESSES", tmp_path)
        as_process(tmp_path, "caf\udce9", "")
        (tmp_path / "8").mkdir()
        assert commits.is_stale_lock(lock_in(repository), folders(repository))

    def test_a_process_of_which_nothing_can_be_read(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """It may be a git."""
        monkeypatch.setattr(commits, "_PROCESSES", tmp_path)
        as_process(tmp_path, "another", "")
        (tmp_path / "8" / "comm").mkdir(parents=True)
        assert not commits.is_stale_lock(lock_in(repository), folders(repository))

    def test_gone(self, repository: Path):
        assert not commits.is_stale_lock(repository / ".git" / "index.lock", folders(repository))


def test_who_holds_a_lock(repository: Path, tmp_path: Path, start: Start):
    lock = lock_in(repository)
    assert commits.lock_holder(lock) is None
    program = "import sys; file = open(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
    first = start(repository, sys.executable, "-c", program, lock)
    start(repository, sys.executable, "-c", program, lock)
    with lock.open():
        holder = commits.lock_holder(lock)
    assert holder
    assert holder.process == first.pid
    assert 0 <= holder.seconds < HOUR
    assert commits.lock_holder(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (
            "fatal: Unable to create '/a b/.git/index.lock': File exists.\n\nAnother git process",
            "/a b/.git/index.lock",
        ),
        (
            "fatal: cannot lock ref 'HEAD': Unable to create '/r/.git/refs/heads/main.lock': File exists.",
            "/r/.git/refs/heads/main.lock",
        ),
        ("fatal: something else", None),
    ],
)
def test_the_lock_that_git_names(words: str, path: str | None):
    assert commits.lock_named_in(words) == (Path(path) if path else None)


class TestWrites:
    """A write removes a stale lock; git itself would not."""

    @pytest.fixture
    def at(self, world: World, repository: Path) -> Desk:
        return desk(world, repository)

    @pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
    def test_a_stale_lock_is_removed(self, at: Desk, name: str):
        lock = lock_in(at.root, name)
        (at.root / "x").write_text("x")
        assert at.world.git(
            at.root, "commit", "-q", "--allow-empty", "-m", "x", check=False
        ).returncode
        assert at.apply(Log("met Bo")).commit
        assert not lock.exists()
        assert at.git("status", "--porcelain") == "?? x\n"
        assert len(at.subjects()) == 2

    def test_a_stale_lock_that_goes_away_meanwhile(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        lock = lock_in(at.root)

        def removed(path: Path, _: object) -> bool:
            path.unlink()
            return True

        monkeypatch.setattr(commits, "is_stale_lock", removed)
        assert at.apply(Log("met Bo")).commit
        assert not lock.exists()

    def test_a_lock_in_the_way_of_nothing_stays(self, at: Desk):
        lock = lock_in(at.root, "packed-refs.lock")
        assert at.apply(Log("met Bo")).commit
        assert lock.exists()

    def test_a_lock_in_use_is_waited_for(
        self, at: Desk, start: Start, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("mdmem.repo.commits._LOCK_SECONDS", 0)
        lock = lock_in(at.root)
        program = "import sys; file = open(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
        start(at.root, sys.executable, "-c", program, lock)
        before = at.git("rev-parse", "HEAD")
        with pytest.raises(RepositoryProblem, match=r"index\.lock") as failure:
            at.apply(Log("met Bo"))
        assert failure.value.code == "busy"
        assert lock.exists()
        assert at.git("rev-parse", "HEAD") == before
        assert not (at.root / "memory").exists()

    def test_a_lock_elsewhere_is_not_touched(self, at: Desk, tmp_path: Path):
        outside = tmp_path / "outside.lock"
        outside.write_bytes(b"")
        os.utime(outside, (0, 0))
        at.hook(
            "pre-commit",
            f"echo \"Unable to create '{outside}': File exists\" >&2; rm .git/hooks/pre-commit; exit 1",
        )
        assert at.apply(Log("met Bo")).commit
        assert outside.exists()
