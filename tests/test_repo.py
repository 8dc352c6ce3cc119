"""git: its runner, and reading and committing in real repositories."""

import contextlib
import errno
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from conftest import NAME, World
from opened_repository import change_message, head
from workspaces import SEED, Desk, desk

from mdmem import repo
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import MdmemError
from mdmem.repo import Repository, commits, first_parent, runner, worktree
from mdmem.repo.first_parent import FilePatch, parse_patches
from mdmem.startup.launch import INTERRUPTIONS

A, B = "a" * 40, "b" * 40


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def opened(at: Desk) -> Repository:
    return repo.discover(at.root)


def script(folder: Path, text: str) -> Path:
    """A `git` of our own, in a folder of its own."""
    folder.mkdir()
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return folder


def has_ended(number: int) -> bool:
    """True if a process has ended, or ends within ten seconds."""
    try:
        handle = os.pidfd_open(number)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)


class TestRunner:
    def test_the_environment_is_built(self, world: World, monkeypatch: pytest.MonkeyPatch):
        local = world.git(world.home, "rev-parse", "--local-env-vars").stdout.split()
        people = (
            f"GIT_{role}_{part}" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")
        )
        settings = (f"GIT_CONFIG_{name}" for name in ("GLOBAL", "SYSTEM", "NOSYSTEM"))
        ways = (
            "GIT_EXEC_PATH",
            "GIT_CEILING_DIRECTORIES",
            "GIT_DISCOVERY_ACROSS_FILESYSTEM",
            "GIT_TEMPLATE_DIR",
        )
        remotes = (
            *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS"),
            *("GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL_FROM_USER"),
        )
        kept = {name: f"kept {name}" for name in (*people, *settings, *ways, *remotes)}
        for name in (
            *local,
            "GIT_AUTHOR_DATE",
            "GIT_COMMITTER_DATE",
            "GIT_EDITOR",
            "GIT_PAGER",
            "GIT_EXTERNAL_DIFF",
            "GIT_TRACE",
        ):
            monkeypatch.setenv(name, "bad")
        for name, value in kept.items():
            monkeypatch.setenv(name, value)
        built = repo.environment({"EXTRA": "e"})
        assert "bad" not in built.values()
        assert kept.items() <= built.items()
        for_nobody = {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_EDITOR": ":",
            "GIT_SEQUENCE_EDITOR": ":",
            "GIT_PAGER": "cat",
            "GIT_OPTIONAL_LOCKS": "0",
        }
        assert for_nobody.items() <= built.items()
        assert built["EXTRA"] == "e"
        assert built["HOME"] == str(world.home)
        assert built["MDMEM_CONTEXT"] == "off"

    def test_the_settings_are_fixed(self, at: Desk):
        listed = (
            runner.run(at.root, ["config", "--list", "--show-scope"]).output.decode().splitlines()
        )
        assert [
            setting
            for scope, setting in (line.split("\t") for line in listed)
            if scope == "command"
        ] == [
            *("maintenance.auto=false", "core.fsmonitor=false", "core.quotepath=false"),
            *("log.showsignature=false", "color.ui=false"),
            *(
                "i18n.commitencoding=UTF-8",
                "i18n.logoutputencoding=UTF-8",
                "core.fsync=committed,loose-object,reference,index",
            ),
        ]

    def test_the_network_is_for_what_commits(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        folder = script(tmp_path / "bin", 'echo "${GIT_ALLOW_PROTOCOL-unset} $GIT_NO_LAZY_FETCH"')
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        assert runner.run(tmp_path, ["commit"], is_online=True).output == b"unset 1\n"
        monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ssh")
        assert runner.run(tmp_path, ["log"], extra={"GIT_ALLOW_PROTOCOL": "ext"}).output == b" 1\n"
        assert runner.run(tmp_path, ["commit"], is_online=True).output == b"ssh 1\n"

    def test_no_signature_is_verified_in_passing(self, at: Desk, tmp_path: Path):
        at.git("config", "log.showSignature", "true")
        at.git(
            "config",
            "gpg.program",
            str(script(tmp_path / "bin", f"touch '{tmp_path}/ran'") / "git"),
        )
        change_message(
            at,
            b"seed\n",
            b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n",
        )
        assert first_parent.read_commits(opened(at), [head(at)])[0].commit.message == "seed\n"
        assert not (tmp_path / "ran").exists()

    @pytest.mark.parametrize(
        "text",
        [
            "cat >/dev/null; exec cat never",
            "trap '' TERM; cat >/dev/null; while :; do cat never; done",
        ],
        ids=["plain", "stubborn"],
    )
    def test_one_that_hangs_is_ended_with_all_its_children(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
    ):
        os.mkfifo(tmp_path / "never")
        folder = script(
            tmp_path / "bin", f'cd "$2"\necho $$ >pid\n(exec cat never) &\necho $! >child\n{text}'
        )
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        monkeypatch.setattr(runner, "_KILL_SECONDS", 0.1)
        with pytest.raises(MdmemError) as failure:
            runner.run(tmp_path, ["x"], seconds=0.3)
        assert failure.value.code == "git-timeout"
        for name in ("pid", "child"):
            assert has_ended(int((tmp_path / name).read_text()))

    def test_all_output_is_read(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        folder = script(
            tmp_path / "bin",
            "cat\nhead -c 3000000 /dev/zero\nhead -c 200000 /dev/zero | tr '\\0' x >&2\nprintf '\\377' >&2\nexit 7",
        )
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        calls: list[str] = []
        result = runner.run(
            tmp_path, ["x"], b"y" * 1_000_000, meanwhile=lambda: calls.append("meanwhile")
        )
        assert (result.status, len(result.output), len(result.error_text)) == (
            7,
            4_000_000,
            200_001,
        )
        assert calls == ["meanwhile"]

    def test_without_a_text_there_is_nothing_to_read(self, at: Desk):
        assert (
            runner.run(at.root, ["hash-object", "--stdin"]).output
            == b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"
        )

    def test_the_end_of_its_output_is_its_end(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        """No time passes in which something else might still write."""
        monkeypatch.setattr(runner, "_QUIET_SECONDS", 60.0)
        started = time.monotonic()
        assert runner.run(at.root, ["version"]).status == 0
        assert time.monotonic() - started < 30

    def test_what_a_child_says_soon_after_its_end_is_read(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(runner, "_QUIET_SECONDS", 60.0)
        folder = script(
            tmp_path / "bin",
            "(while kill -0 $$; do :; done; head -c 1000000 /dev/zero) 2>/dev/null &\nexit 3",
        )
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        result = runner.run(tmp_path, ["x"], seconds=30)
        assert (result.status, len(result.output)) == (3, 1_000_000)

    def test_one_that_says_no_more_and_does_not_end(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        folder = script(tmp_path / "bin", "exec sleep 60 >&- 2>&-")
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        with pytest.raises(MdmemError) as failure:
            runner.run(tmp_path, ["x"], seconds=0.1)
        assert failure.value.code == "git-timeout"

    def test_one_that_lists_without_end(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """A tree of trees has more paths than any machine has memory; contents have their own
        bounds.
        """
        monkeypatch.setattr(runner, "_MOST_LISTED_BYTES", 1_000_000)
        folder = script(tmp_path / "bin", "exec head -c 3000000 /dev/zero")
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        with pytest.raises(MdmemError, match="git ls-tree lists more than 1 MB") as failure:
            runner.run(tmp_path, ["ls-tree"], seconds=30)
        assert failure.value.code == "git-failed"
        assert len(runner.run(tmp_path, ["cat-file"], seconds=30).output) == 3_000_000

    def test_one_in_another_folder_and_environment(self, world: World, tmp_path: Path):
        environment = {**world.environment, "WHO": "Ada"}
        done = runner.converse(
            ["sh", "-c", 'pwd; echo "$WHO"'], environment, b"", 20, folder=str(tmp_path)
        )
        assert done == (0, f"{tmp_path}\nAda\n".encode(), b"")

    @pytest.mark.parametrize(
        "daemon", ["exec cat never", "while :; do echo a; done"], ids=["silent", "talking"]
    )
    def test_what_goes_on_in_the_background_is_not_waited_for(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, daemon: str
    ):
        os.mkfifo(tmp_path / "never")
        folder = script(tmp_path / "bin", f'cd "$2"\necho b\n({daemon}) &\necho $! >child\nexit 3')
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        started = time.monotonic()
        result = runner.run(tmp_path, ["x"], seconds=20)
        with contextlib.suppress(ProcessLookupError):
            os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)
        assert time.monotonic() - started < 15
        assert result.status == 3
        assert b"b\n" in result.output

    def test_one_that_says_no_more_but_reads_on(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        folder = script(tmp_path / "bin", 'cd "$2"\nexec >&- 2>&-\ncat >given\nexit 4')
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        assert runner.run(tmp_path, ["x"], b"y" * 1_000_000, seconds=10).status == 4
        assert (tmp_path / "given").stat().st_size == 1_000_000

    @pytest.mark.parametrize("text", [b"a text", b"y" * 1_000_000], ids=["short", "long"])
    @pytest.mark.parametrize("is_in_memory", [True, False])
    def test_the_whole_text_is_there_before_the_start(
        self,
        world: World,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        text: bytes,
        is_in_memory: bool,
    ):
        folder = script(tmp_path / "bin", 'cd "$2"\nexec cat >received')
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        if not is_in_memory:
            monkeypatch.delattr(runner.os, "memfd_create", raising=False)
            monkeypatch.setattr(runner, "tempfile", tempfile, raising=False)

        class Ended(subprocess.Popen[bytes]):
            def __init__(self, *words: Any, **options: Any) -> None:
                super().__init__(*words, **options)
                assert has_ended(self.pid)

        monkeypatch.setattr(runner.subprocess, "Popen", Ended)
        assert runner.run(tmp_path, ["x"], text).status == 0
        assert (tmp_path / "received").read_bytes() == text

    @pytest.mark.parametrize("number", INTERRUPTIONS)
    def test_one_that_starts_as_an_interruption_comes_is_ended(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
    ):
        folder = script(tmp_path / "bin", "exec sleep 60")
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        numbers: list[int] = []

        class Interrupted(subprocess.Popen[bytes]):
            def __init__(self, *words: Any, **options: Any) -> None:
                super().__init__(*words, **options)
                numbers.append(self.pid)
                signal.raise_signal(number)

        monkeypatch.setattr(runner.subprocess, "Popen", Interrupted)
        before = signal.signal(number, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                runner.run(tmp_path, ["x"])
            assert signal.getsignal(number) is signal.default_int_handler
        finally:
            signal.signal(number, before)
        with pytest.raises(ProcessLookupError):
            os.kill(numbers[0], 0)

    def test_signals_are_as_a_program_expects_them(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        """Neither blocked, nor ignored as the interpreter ignores some; what the user has ignored
        (nohup) stays ignored.
        """
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        folder = script(tmp_path / "bin", "grep -E '^Sig(Blk|Ign):' /proc/self/status")
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        try:
            masks = dict(
                line.split() for line in runner.run(tmp_path, ["x"]).output.decode().splitlines()
            )
        finally:
            signal.signal(signal.SIGHUP, before)
        ignored = int(masks["SigIgn:"], 16)
        assert int(masks["SigBlk:"], 16) == 0
        assert [
            ignored >> number - 1 & 1 for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP)
        ] == [0, 0, 1]

    def test_outside_of_the_main_thread(self, at: Desk):
        with ThreadPoolExecutor() as threads:
            heads = list(
                threads.map(lambda _: runner.run(at.root, ["rev-parse", "HEAD"]).output, range(20))
            )
        assert set(heads) == {at.git("rev-parse", "HEAD").encode()}

    def test_where_ends_of_processes_are_ignored(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        folder = script(tmp_path / "bin", "exit 7")
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            assert runner.run(tmp_path, ["x"]).status == 7
        finally:
            signal.signal(signal.SIGCHLD, before)

    def test_what_handles_ends_of_processes_stays(self, at: Desk):
        before = signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            handler = signal.getsignal(signal.SIGCHLD)
            assert runner.run(at.root, ["version"]).status == 0
            assert signal.getsignal(signal.SIGCHLD) is handler
        finally:
            signal.signal(signal.SIGCHLD, before)

    def test_an_end_that_somebody_else_has_waited_for_is_no_success(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        folder = script(tmp_path / "bin", "exit 0")
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

        class Reaped(subprocess.Popen[bytes]):
            def __init__(self, *words: Any, **options: Any) -> None:
                super().__init__(*words, **options)
                os.waitpid(self.pid, 0)

        monkeypatch.setattr(runner.subprocess, "Popen", Reaped)
        assert runner.run(tmp_path, ["x"]).status

    def test_what_is_another_users_is_not_ended(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        folder = script(tmp_path / "bin", "exec sleep 60")
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        end = os.killpg

        def refused(number: int, _: int) -> None:
            end(number, signal.SIGKILL)
            raise PermissionError

        monkeypatch.setattr(runner.os, "killpg", refused)
        with pytest.raises(MdmemError) as failure:
            runner.run(tmp_path, ["x"], seconds=0.1)
        assert failure.value.code == "git-timeout"

    @pytest.mark.parametrize("failing", range(1, 4))
    def test_where_pipes_run_out_none_is_left_open(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
    ):
        calls, make_pipe = [], os.pipe

        def pipe() -> tuple[int, int]:
            calls.append(failing)
            if len(calls) == failing:
                raise OSError(errno.EMFILE, "Too many open files")
            return make_pipe()

        monkeypatch.setattr(runner.os, "pipe", pipe)
        before = len(list(Path("/proc/self/fd").iterdir()))
        with pytest.raises(OSError, match="Too many"):
            runner.run(tmp_path, ["x"])
        assert len(list(Path("/proc/self/fd").iterdir())) == before

    @pytest.mark.parametrize("folder", ["empty", "file", "unusable"])
    def test_without_git(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
    ):
        (tmp_path / "empty").mkdir()
        (tmp_path / "file").touch()
        (script(tmp_path / "unusable", "exit 0") / "git").chmod(0o644)
        monkeypatch.setenv("PATH", str(tmp_path / folder))
        with pytest.raises(MdmemError) as failure:
            runner.run(tmp_path, ["version"])
        assert failure.value.code == "git-missing"

    def test_without_the_folder(self, world: World, tmp_path: Path):
        with pytest.raises(MdmemError) as failure:
            runner.run(tmp_path / "none", ["version"])
        assert failure.value.code == "bad-path"

    def test_messages_are_english(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
        monkeypatch.setenv("LANGUAGE", "de")
        assert runner.environment()["LANGUAGE"] == "en"


class TestDiscover:
    @pytest.mark.parametrize("folder", ["", "sub", "sub/with blank", "ü"])
    def test_where_it_is(self, at: Desk, folder: str):
        (at.root / folder).mkdir(parents=True, exist_ok=True)
        repository = repo.discover(at.root / folder)
        assert repository.root == at.root
        assert repository.prefix == (f"{folder}/" if folder else "")
        assert repository.git_dir == repository.common_dir == at.root / ".git"
        assert repository.hooks_dir == at.root / ".git" / "hooks"

    def test_hooks_elsewhere(self, at: Desk, tmp_path: Path):
        at.git("config", "core.hooksPath", tmp_path / "hooks")
        assert opened(at).hooks_dir == tmp_path / "hooks"

    @pytest.mark.parametrize(("name", "branch"), [(None, "main"), ("trunk", "trunk")])
    def test_a_new_one_is_on_the_branch_that_the_settings_name(
        self, world: World, tmp_path: Path, name: str | None, branch: str
    ):
        world.git(tmp_path, "config", "--global", "--unset", "init.defaultBranch")
        if name:
            world.git(tmp_path, "config", "--global", "init.defaultBranch", name)
        (tmp_path / "new").mkdir()
        assert repo.create(tmp_path / "new").branch() == branch

    def test_a_folder_in_which_git_makes_none(self, tmp_path: Path):
        (tmp_path / ".git").write_text("nonsense\n")
        with pytest.raises(MdmemError, match="git init") as failure:
            repo.create(tmp_path)
        assert failure.value.code == "git-failed"

    @pytest.mark.parametrize("name", ["two\nlines", "caf\udce9"])
    def test_a_linked_work_tree_of_any_name(self, at: Desk, tmp_path: Path, name: str):
        at.git("worktree", "add", "-q", "--detach", tmp_path / name)
        repository = repo.discover(tmp_path / name)
        assert (repository.root, repository.common_dir, repository.prefix) == (
            tmp_path / name,
            at.root / ".git",
            "",
        )
        assert repository.git_dir.parent == at.root / ".git" / "worktrees"


class TestState:
    @pytest.mark.parametrize(
        ("prepare", "pending", "ignored"),
        [
            (lambda at: None, False, False),
            (lambda at: at.write("MEMORY.md", "x"), True, False),
            (lambda at: (at.root / "MEMORY.md").unlink(), True, False),
            (
                lambda at: at.git("rm", "-q", "--cached", "MEMORY.md"),
                False,
                False,
            ),  # the file is as it was committed
            (
                lambda at: (
                    at.git("rm", "-q", "--cached", "MEMORY.md"),
                    at.write("MEMORY.md", "x"),
                ),
                True,
                False,
            ),
            (lambda at: at.write("other.md", "x"), False, False),
            (lambda at: at.write(".gitignore", "*.md"), False, False),
        ],
    )
    def test_of_a_tracked_file(
        self, at: Desk, prepare: Callable[[Desk], object], pending: bool, ignored: bool
    ):
        prepare(at)
        state = opened(at).state(FilePath("MEMORY.md"))
        assert (state.commit, state.branch) == (at.git("rev-parse", "HEAD").strip(), "main")
        assert (state.pending, state.ignored) == (pending, ignored)

    def test_of_others(self, at: Desk):
        at.write(".gitignore", "ignored/\n")
        at.write("ignored/a.md", "x")
        at.write("new/a.md", "x")
        assert opened(at).state(FilePath("ignored/a.md")).ignored
        assert opened(at).state(FilePath("new/a.md")).pending
        assert not opened(at).state(FilePath("none.md")).pending

    def test_a_tag_of_the_same_name_changes_no_branch(self, at: Desk):
        at.git("tag", "main")
        assert opened(at).branch() == "main"


class TestReading:
    def test_blobs(self, world: World, repository: Path):
        at = desk(world, repository, "sub")
        at.write("memory/ü a.md", b"\xff\0\r\n")
        at.write("memory/empty.md", "")
        commit = CommitId(at.commit())
        paths = [
            FilePath(path)
            for path in (
                "MEMORY.md",
                "none.md",
                "memory/ü a.md",
                "memory",
                "odd\nname.md",
                "memory/empty.md",
            )
        ]
        assert list(opened(at).read(commit, paths).values()) == [
            SEED.encode(),
            None,
            b"\xff\0\r\n",
            None,
            None,
            b"",
        ]
        assert opened(at).read(commit, []) == {}

    def test_what_must_be_there_and_is_not(self, at: Desk):
        blob = at.git("rev-parse", "HEAD:MEMORY.md").strip()
        assert opened(at).contents([blob]) == {blob: SEED.encode()}
        with pytest.raises(MdmemError) as failure:
            opened(at).contents([blob, A])
        assert failure.value.code == "broken-repository"

    def test_the_last_commit_of_a_file(self, at: Desk):
        at.git("config", "log.showSignature", "true")
        first = at.git("rev-parse", "HEAD").strip()
        at.write("other.md", "x")
        second = at.commit()
        assert opened(at).last_commit(FilePath("MEMORY.md")) == first
        assert opened(at).last_commit(FilePath("other.md")) == second
        assert opened(at).last_commit(FilePath("none.md")) is None

    def test_history(self, world: World, repository: Path):
        at = desk(world, repository, "sub")
        at.write("memory/a.md", "- one\n- two\n- three\n- four\n")
        (repository / "outside.md").write_text("- not ours\n")
        second = at.commit("second")
        (at.root / "memory" / "a.md").rename(at.root / "memory" / "B c.MD")
        at.write("memory/B c.MD", "- one\n- two\n- three\n- five\n")
        third = at.commit("drïtte")
        (at.root / "memory" / "B c.MD").unlink()
        fourth = at.commit("fourth")
        history = list(
            first_parent.read_history(
                opened(at), first_parent.commits_reached(opened(at), CommitId(fourth))
            )
        )
        assert [(commit.commit.message, commit.commit.author) for commit in history] == [
            ("seed\n", NAME),
            ("second\n", NAME),
            ("drïtte\n", NAME),
            ("fourth\n", NAME),
        ]
        changes = [change for commit in history[1:] for change in commit.changes]
        assert [(change.path, change.before_path) for change in changes] == [
            ("memory/a.md", "memory/a.md"),
            ("memory/B c.MD", "memory/a.md"),
            ("memory/B c.MD", "memory/B c.MD"),
        ]
        blobs = [
            (change.before and opened(at).blobs([change.before])[0], change.after)
            for change in changes
        ]
        assert blobs[2] == (b"- one\n- two\n- three\n- five\n", None)
        reached = first_parent.commits_reached(opened(at), CommitId(fourth), [CommitId(second)])
        assert reached == [(third, (second,)), (fourth, (third,))]

    def test_the_newest_commits_of_a_file_and_the_first_of_several(self, at: Desk):
        repository, path = opened(at), FilePath("memory/[a].md")
        assert (
            first_parent.touching_commits(
                repository, [path], CommitId(at.git("rev-parse", "HEAD").strip())
            )
            == []
        )
        assert first_parent.newest_commits(repository, path, 3) == []
        made = []
        for number in range(4):
            at.write(path, f"- {number}\n")
            at.write("memory/a.md", f"- {number}\n")
            made.append(at.commit(path, "memory/[[]a].md"))
            at.commit("another")
        at.git("switch", "-q", "-c", "side", "HEAD~")
        at.write(path, "- aside\n")
        at.commit("aside")
        at.git("switch", "-q", "main")
        at.git("merge", "-q", "--no-ff", "-m", "merge", "side")
        merge = CommitId(at.git("rev-parse", "HEAD").strip())
        assert first_parent.newest_commits(repository, path, 3) == [merge, made[3], made[2]]
        assert first_parent.newest_commits(repository, path, 99) == [merge, *reversed(made)]
        aside = at.git("rev-parse", "side").strip()
        assert set(
            first_parent.touching_commits(repository, [path, FilePath("memory/none.md")], merge)
        ) >= {*made, aside}

    def test_nothing_was_committed_yet(self, world: World, repository: Path):
        assert first_parent.newest_commits(repo.discover(repository), FilePath("a.md"), 1) == []

    def test_a_history_that_cannot_be_read_is_no_empty_one(self, at: Desk):
        at.write("MEMORY.md", "x\n")
        head = CommitId(at.commit())
        seed = CommitId(at.git("rev-parse", "HEAD~").strip())
        (at.root / ".git" / "objects" / seed[:2] / seed[2:]).unlink()
        with pytest.raises(MdmemError) as failure:
            first_parent.commits_reached(opened(at), head)
        assert failure.value.code == "broken-repository"

    def test_from_a_boundary_on_all_files_came_with_it(self, world: World, repository: Path):
        at = desk(world, repository, "sub")
        for path in ("memory/a.MD", "c.txt"):
            at.write(path, "- a\n")
        (at.root / "link.md").symlink_to("MEMORY.md")
        (repository / "outside.md").write_text("x")
        at.git("add", "-A", repository)
        boundary = CommitId(at.commit("boundary"))
        at.write("memory/a.MD", "- b\n")
        head = CommitId(at.commit("next"))
        commits_of_both = [
            (boundary, (CommitId(at.git("rev-parse", f"{boundary}~").strip()),)),
            (head, (boundary,)),
        ]
        first, second = first_parent.read_history(opened(at), commits_of_both, boundary)
        assert (first.commit.id, first.commit.message, first.parents) == (
            boundary,
            "boundary\n",
            (),
        )
        assert {(change.path, change.before_path, change.before) for change in first.changes} == {
            (path, path, None) for path in ("MEMORY.md", "memory/a.MD")
        }
        assert {change.after for change in first.changes} == {
            at.git("rev-parse", f"{boundary}:sub/{path}").strip()
            for path in ("MEMORY.md", "memory/a.MD")
        }
        assert [(change.path, second.parents) for change in second.changes] == [
            ("memory/a.MD", (boundary,))
        ]
        (unbounded, _) = first_parent.read_history(opened(at), commits_of_both)
        assert [change.path for change in unbounded.changes] == ["memory/a.MD"]

    def test_a_file_that_two_branches_removed_has_its_last_name(self, at: Desk):
        at.write("memory/t.md", "- a\n")
        above = CommitId(at.commit("t"))
        at.git("switch", "-q", "-c", "side")
        at.git("rm", "-q", "memory/t.md")
        at.commit("gone there")
        at.git("switch", "-q", "main")
        at.git("mv", "memory/t.md", "memory/u.md")
        at.commit("moved")
        assert (
            first_parent.current_name(opened(at), FilePath("memory/t.md"), above) == "memory/u.md"
        )
        at.git("rm", "-q", "memory/u.md")
        at.commit("gone here")
        at.git("merge", "-q", "-s", "ours", "side")
        assert first_parent.current_name(opened(at), FilePath("memory/t.md"), above) in (
            "memory/t.md",
            "memory/u.md",
        )
        at.git("reset", "-q", "--hard", above)
        at.git("rm", "-q", "memory/t.md")
        at.commit("gone here too")
        at.git("merge", "-q", "side")
        assert (
            first_parent.current_name(opened(at), FilePath("memory/t.md"), above) == "memory/t.md"
        )

    def test_what_is_pending_and_tracked(self, world: World, repository: Path):
        at = desk(world, repository, "sub")
        at.write("memory/ü a.md", "x")
        at.git("config", "status.relativePaths", "false")
        (repository / "outside.md").write_text("x")
        assert opened(at).pending() == ["memory/ü a.md"]
        assert opened(at).tracked() == {"MEMORY.md"}


def test_a_patch_of_a_file_in_another_encoding():
    (patches,) = parse_patches(A.encode() + b"\n+++ a.md\n@@ -0,0 +1 @@\n+caf\xe9\n").values()
    assert [patch.added for patch in patches] == [("caf\N{REPLACEMENT CHARACTER}",)]


class TestIgnored:
    """In a workspace below the root, with rules above it, in it, and in git's own folder."""

    @pytest.fixture
    def at(self, world: World, repository: Path) -> Desk:
        at = desk(world, repository, "sub")
        (repository / ".gitignore").write_text("drafts/\n/sub/above.md\n")
        at.write(".gitignore", "*.tmp.md\n")
        (repository / ".git" / "info" / "exclude").write_text("mine.md\n")
        (repository / "outside.md").write_text("x")
        for path in (
            "drafts/a.md",
            "memory/a.md",
            "memory/a.tmp.md",
            "memory/tracked.tmp.md",
            "above.md",
            "mine.md",
            ":colon.md",
            "t.txt",
        ):
            at.write(path, "x\n")
        at.git("add", "-f", "memory/tracked.tmp.md", "t.txt")
        at.write("gone.md", "x\n")
        at.commit("more", "gone.md")
        (at.root / "gone.md").unlink()
        return at

    @pytest.mark.parametrize(
        ("paths", "expected"),
        [
            ([], set()),
            (["memory/a.md", ":colon.md", "none.md", "memory/tracked.tmp.md"], set()),
            (
                ["drafts/a.md", "drafts/none.md", "above.md", "mine.md", ":x.tmp.md"],
                {"drafts/a.md", "drafts/none.md", "above.md", "mine.md", ":x.tmp.md"},
            ),
            (
                ["memory/a.tmp.md", "memory/a.md", "memory/above.md", "\n .tmp.md"],
                {"memory/a.tmp.md", "\n .tmp.md"},
            ),
        ],
    )
    def test_of_these(self, at: Desk, paths: list[str], expected: set[str]):
        assert worktree.ignored(at.root, map(FilePath, paths)) == expected

    def test_all(self, at: Desk):
        assert worktree.ignored_paths(at.root) == {
            "drafts/",
            "memory/a.tmp.md",
            "above.md",
            "mine.md",
        }

    def test_what_git_tracks_or_would_take(self, at: Desk):
        expected = {"MEMORY.md", "memory/a.md", "memory/tracked.tmp.md", ":colon.md", "gone.md"}
        assert worktree.markdown_not_ignored(at.root) == expected

    def test_where_git_fails(self, tmp_path: Path, world: World):
        for call in (
            lambda: worktree.ignored(tmp_path, [FilePath("a.md")]),
            lambda: worktree.ignored_paths(tmp_path),
        ):
            with pytest.raises(
                MdmemError, match=r"git (check-ignore|ls-files): fatal: not a git repository"
            ) as failure:
                call()
            assert failure.value.code == "git-failed"


@pytest.mark.parametrize("folder", ["", "sub"])
def test_files_that_git_does_not_look_at(world: World, repository: Path, folder: str):
    at = desk(world, repository, folder)
    for path in ("a.md", "b.md", "memory/\u00fc [x].md", "memory/x.md"):
        at.write(path, "x\n")
    at.commit("more")
    assert worktree.read_bits(at.root) == {}
    at.git("update-index", "--assume-unchanged", "a.md", "memory/\u00fc [x].md")
    at.git("update-index", "--skip-worktree", "b.md", "memory/\u00fc [x].md")
    expected = {
        "a.md": ("assume-unchanged",),
        "b.md": ("skip-worktree",),
        "memory/\u00fc [x].md": ("assume-unchanged", "skip-worktree"),
    }
    assert worktree.read_bits(at.root) == expected
    for path in ("a.md", "b.md", "memory/\u00fc [x].md", "memory/x.md", "none.md"):
        bits = worktree.read_bits(at.root, [FilePath(path)])
        assert bits == {each: names for each, names in expected.items() if each == path}
        commits.clear_bits(opened(at), FilePath(path), bits.get(FilePath(path), ()))
    assert worktree.read_bits(at.root) == {}
    for name, names in expected.items():
        commits.set_bits(opened(at), FilePath(name), names)
    assert worktree.read_bits(at.root) == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("+++ a.md\n@@ -0,0 +1 @@\n+- x\n", [("a.md", None, ("- x",))]),
        ("+++ a b.md\t\n@@ -0,0 +1,2 @@\n+++ b\n+--- c\n", [("a b.md", None, ("++ b\n--- c",))]),
        (
            '+++ "t\\tab \\"q\\" \\303\\274.md"\n@@ -1 +1 @@\n-+++ x.md\n+y\n\\ No newline at end of file\n',
            [('t\tab "q" ü.md', None, ("y",))],
        ),
        (
            '+++ "\\a\\b\\n\\v\\f\\r\\\\.md"\n@@ -0,0 +1 @@\n+y\n',
            [("\a\b\n\v\f\r\\.md", None, ("y",))],
        ),
        ("+++ a.md\n@@ -1 +0,0 @@\n-x\n", [("a.md", None, ("",))]),
        ("+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", []),
        ("rename from a.md\nrename to b.md\n", [("b.md", "a.md", ())]),
        (
            f"+++ a.md\n@@ -0,0 +1,2 @@\n+{A}\n+diff --git x y\n",
            [("a.md", None, (f"{A}\ndiff --git x y",))],
        ),
        (
            "+++ a.md\n@@ -1 +1,2 @@\n-x\n\\ No newline at end of file\n+\ufeffx\r\n+y\rz\n",
            [("a.md", None, ("\ufeffx\r\ny\rz",))],
        ),
        ("+++ a.md\n@@ -0,0 +1 @@\n+x\n@@ -5,0 +7 @@\n+y\n", [("a.md", None, ("x", "y"))]),
        (
            "rename from a.md\nrename to b.md\n+++ b.md\n@@ -0,0 +1 @@\n+x\ndiff --git c.md c.md\n+++ c.md\n@@ -0,0 +1 @@\n+y\n",
            [("b.md", "a.md", ("x",)), ("c.md", None, ("y",))],
        ),
    ],
)
def test_patches(patch: str, expected: list[tuple[str, str | None, tuple[str, ...]]]):
    """What follows, of another commit, stays with that one."""
    text = f"{A}\ndiff --git a.md b.md\n{patch}{B}\ndiff --git c.md c.md\n+++ c.md\n@@ -0,0 +1 @@\n+c\n"
    patches = tuple(
        FilePatch(FilePath(path), FilePath(old) if old else None, added)
        for path, old, added in expected
    )
    following = {CommitId(B): (FilePatch(FilePath("c.md"), None, ("c",)),)}
    assert parse_patches(text.encode()) == ({CommitId(A): patches} if patches else {}) | following


class TestCommit:
    def commit(self, at: Desk, *paths: str) -> CommitId:
        order = commits.CommitOrder(
            paths=[FilePath(path) for path in paths],
            message="x: y\n\n# kept\n",
            date="@1770000000 +0530",
            hook_timeout=30,
        )
        return commits.commit(opened(at), order).id

    def test_of_paths(self, at: Desk):
        at.write("MEMORY.md", "x")
        at.write("new.md", "x")
        at.write("other.md", "x")
        commit = self.commit(at, "MEMORY.md", "new.md")
        assert (
            at.git("log", "-1", "--format=%H%n%B%ad %cd", "--date=raw")
            == f"{commit}\nx: y\n\n# kept\n1770000000 +0530 1770000000 +0530\n"
        )
        assert at.git("show", "--format=", "--name-only") == "MEMORY.md\nnew.md\n"
        assert at.git("status", "--porcelain") == "?? other.md\n"

    def test_of_nothing_leaves_what_is_staged(self, at: Desk):
        at.write("staged.txt", "x")
        at.git("add", "staged.txt")
        assert self.commit(at)
        assert at.git("show", "--format=", "--name-only") == ""
        assert at.git("status", "--porcelain") == "A  staged.txt\n"

    def test_of_what_did_not_change_is_no_success(self, at: Desk):
        before = at.tree_state()
        with pytest.raises(MdmemError) as failure:
            self.commit(at, "MEMORY.md")
        assert failure.value.code == "commit-failed"
        assert at.tree_state() == before

    @pytest.mark.parametrize("name", ["b.md", ":b.md"])
    def test_of_what_is_ignored_names_it(self, at: Desk, name: str):
        at.write(".gitignore", "*b.md\n")
        for new in ("a.md", name):
            at.write(new, "x")
        with pytest.raises(MdmemError) as failure:
            self.commit(at, "a.md", name)
        assert failure.value.code == "ignored-path"
        assert failure.value.message.startswith(f"git did not accept {name}: ")
        assert ".gitignore" in failure.value.hint

    @pytest.mark.parametrize("moved", [False, True])
    def test_taken_back_where_nothing_builds_on_it(self, at: Desk, moved: bool):
        before, repository, path = (
            CommitId(at.git("rev-parse", "HEAD").strip()),
            opened(at),
            FilePath("new.md"),
        )
        entry = commits.index_entry(repository, path)
        at.write("new.md", "x")
        commit = self.commit(at, "new.md")
        if moved:
            newest = at.commit()
        commits.undo_commit(repository, commit, before, path, entry)
        assert at.git("rev-parse", "HEAD").strip() == (newest if moved else before)
        assert at.read("new.md") == "x"
        assert at.git("status", "--porcelain") == ("" if moved else "?? new.md\n")


@pytest.mark.parametrize(
    ("hours", "expected"), [(0, "+0000"), (5.5, "+0530"), (-3.5, "-0330"), (14, "+1400")]
)
def test_dates_as_git_takes_them(hours: float, expected: str):
    moment = datetime(2026, 3, 5, 9, 30, tzinfo=timezone(timedelta(hours=hours)))
    assert repo.raw_date(moment) == f"@{int(moment.timestamp())} {expected}"
