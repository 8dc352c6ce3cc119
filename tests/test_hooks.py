"""The hooks as git runs them: real commits, with a stand-in for the Python that they start or with
mdmem itself.
"""

import os
import select
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk

import mdmem
from mdmem import events
from mdmem.folder.hook_files import HOOKS, install, lines_to_add
from mdmem.githooks import hooks as githooks
from mdmem.index import catching_up

WAIT = 20
LATER = 1 << 32
"""A time that is far off, in seconds since 1970."""
CONFLICT = "<<<<<<< HEAD\n- tea\n=======\n- coffee\n>>>>>>> other\n"
BACKGROUND = HOOKS[1:]
SECRET = "pass" + "word = hunter2!xYz9"


def script(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


class Calls:
    """A stand-in for Python that says which hook it was started for; what is heard needs no waiting
    by the clock.
    """

    def __init__(self, folder: Path, before: str = "") -> None:
        self.pipe = folder / "calls"
        os.mkfifo(self.pipe)
        self._reader = os.open(self.pipe, os.O_RDWR | os.O_NONBLOCK)
        self._heard: list[str] = []
        says = f'{before}\nfor last; do :; done\necho "$last" >{shlex.quote(str(self.pipe))}\n'
        self.python = script(folder / "stand-in for 'python'", says)

    def next(self, seconds: float = WAIT) -> str:
        """The hook that was started next, or nothing."""
        if not self._heard and select.select([self._reader], [], [], seconds)[0]:
            self._heard += os.read(self._reader, 1000).decode().split()
        return self._heard.pop(0) if self._heard else ""

    def none(self) -> bool:
        return self.next(0) == ""


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return Calls(tmp_path)


def hooks(repository: Path) -> Path:
    return repository / ".git" / "hooks"


def write(repository: Path, name: str, text: str) -> None:
    path = repository / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def commit(
    world: World, repository: Path, name: str, text: str = "- tea\n", **environment: str
) -> str:
    """Commit one file and return what git and the hooks said; "refused: " is before it where the
    commit did not happen.
    """
    write(repository, name, text)
    world.git(repository, "add", name)
    done = world.git(repository, "commit", "-q", "-m", "x", check=False, environment=environment)
    return ("" if done.returncode == 0 else "refused: ") + done.stderr


class TestPreCommit:
    def test_checks_where_markdown_is_staged(self, world: World, repository: Path, calls: Calls):
        install(hooks(repository), str(calls.python))
        (hooks(repository) / "post-commit").unlink()
        for name in ("MEMORY.md", "memory/Deep/2026-03-05.MD"):
            assert commit(world, repository, name) == ""
            assert calls.next() == "pre-commit"
        world.git(repository, "mv", "MEMORY.md", "MEMORY.txt")
        world.git(repository, "commit", "-q", "-m", "x")
        assert calls.next() == "pre-commit"

    def test_starts_no_python_otherwise(self, world: World, repository: Path, calls: Calls):
        install(hooks(repository), str(calls.python))
        (hooks(repository) / "post-commit").unlink()
        write(repository, "MEMORY.md", "- not staged\n")
        assert commit(world, repository, "notes.txt") == ""
        assert calls.none()

    def test_pathspecs_made_literal_by_a_client(self, world: World, repository: Path, calls: Calls):
        install(hooks(repository), str(calls.python))
        assert commit(world, repository, "MEMORY.md", GIT_LITERAL_PATHSPECS="1") == ""
        assert calls.next() == "pre-commit"

    def test_its_own_commit_is_not_checked(self, world: World, repository: Path, calls: Calls):
        install(hooks(repository), str(calls.python))
        assert commit(world, repository, "MEMORY.md", MDMEM_COMMIT="1") == ""
        assert calls.none()

    def test_a_refusal_stops_the_commit(self, world: World, repository: Path, tmp_path: Path):
        install(hooks(repository), str(script(tmp_path / "python", "echo no >&2; exit 1\n")))
        assert commit(world, repository, "MEMORY.md") == "refused: no\n"

    def test_the_kept_hook_comes_first_and_decides(
        self, world: World, repository: Path, calls: Calls
    ):
        script(hooks(repository) / "pre-commit", "echo theirs >&2\ntest ! -e stop || exit 7\n")
        install(hooks(repository), str(calls.python))
        assert commit(world, repository, "MEMORY.md") == "theirs\n"
        assert [calls.next(), calls.next()] == ["pre-commit", "post-commit"]
        write(repository, "stop", "")
        assert commit(world, repository, "MEMORY.md", "- coffee\n") == "refused: theirs\n"
        assert calls.none()
        assert (
            commit(world, repository, "MEMORY.md", "- coffee\n", MDMEM_COMMIT="1")
            == "refused: theirs\n"
        )

    def test_a_kept_hook_that_git_would_not_run_is_not_run(
        self, world: World, repository: Path, calls: Calls
    ):
        script(hooks(repository) / "pre-commit", "exit 7\n").chmod(0o644)
        install(hooks(repository), str(calls.python))
        assert commit(world, repository, "MEMORY.md") == ""

    @pytest.mark.parametrize("broken", [None, "exit 97\n", "exit 127\n"])
    def test_without_mdmem_it_says_so_and_lets_pass(
        self, world: World, repository: Path, tmp_path: Path, broken: str | None
    ):
        python = tmp_path / "python"
        if broken:
            script(python, broken)
        tools = tools_without_mdmem(tmp_path)
        install(hooks(repository), str(python))
        printed = commit(world, repository, "MEMORY.md", PATH=str(tools))
        assert printed.startswith("mdmem: not found, so the staged memory files were not checked")
        assert printed.count("\n") == 1

    def test_another_python_is_found(
        self, world: World, repository: Path, tmp_path: Path, calls: Calls
    ):
        tools = tools_without_mdmem(tmp_path)
        (tools / "python3").unlink()
        (tools / "python3").symlink_to(calls.python)
        install(hooks(repository), str(tmp_path / "gone"))
        assert commit(world, repository, "MEMORY.md", PATH=str(tools)) == ""
        assert [calls.next(), calls.next()] == ["pre-commit", "post-commit"]

    def test_nothing_of_the_work_tree_is_imported(self, world: World, repository: Path):
        install(hooks(repository), sys.executable)
        for name in ("mdmem/__init__.py", "mdmem/githooks/__init__.py", "typing.py", "re.py"):
            write(repository, name, "raise SystemExit('imported from the work tree')\n")
        assert commit(world, repository, "README.md") == ""

    def test_a_part_of_what_is_staged(self, world: World, repository: Path, calls: Calls):
        install(hooks(repository), str(calls.python))
        write(repository, "MEMORY.md", "- tea\n")
        write(repository, "notes.txt", "x\n")
        world.git(repository, "add", ".")
        world.git(repository, "commit", "-q", "-m", "x", "--", "notes.txt")
        assert calls.next() == "post-commit"


def tools_without_mdmem(tmp_path: Path) -> Path:
    """A folder for PATH with git, a shell and a python3 that has no mdmem."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("git", "sh"):
        problems = shutil.which(name)
        assert problems
        (tools / name).symlink_to(problems)
    script(tools / "python3", f'PYTHONPATH= exec {shlex.quote(sys.executable)} -S "$@"\n')
    return tools


class TestBackground:
    def test_after_everything_that_moves_head(self, world: World, repository: Path, calls: Calls):
        install(hooks(repository), str(calls.python))
        commit(world, repository, "MEMORY.md")  # the first commit
        assert [calls.next(), calls.next()] == ["pre-commit", "post-commit"]
        commit(world, repository, "memory/a.MD")
        assert [calls.next(), calls.next()] == ["pre-commit", "post-commit"]
        world.git(repository, "commit", "-q", "--amend", "-m", "y")
        assert calls.next() == "post-commit"
        world.git(repository, "rm", "-q", "--cached", "memory/a.MD")
        world.git(repository, "tag", "with")
        world.git(repository, "commit", "-q", "--amend", "--allow-empty", "-m", "y")
        assert [calls.next(), calls.next()] == ["pre-commit", "post-rewrite"]
        world.git(repository, "checkout", "-q", "-f", "-B", "main", "with")
        assert calls.next() == "post-checkout"
        world.git(repository, "checkout", "-q", "HEAD", "--", "MEMORY.md")
        assert calls.next() == "post-checkout"
        world.git(repository, "reset", "-q", "--hard", "HEAD~1")
        world.git(repository, "merge", "-q", "--ff-only", "with")
        assert calls.next() == "post-merge"

    @pytest.mark.parametrize("pathspecs", ["", "1"])
    def test_what_has_no_markdown_starts_no_python(
        self, world: World, repository: Path, calls: Calls, pathspecs: str
    ):
        environment = {"GIT_LITERAL_PATHSPECS": pathspecs, "old": "x"}
        commit(world, repository, "MEMORY.md")
        install(hooks(repository), str(calls.python))
        commit(world, repository, "b.txt", **environment)

        def git(*words: str) -> None:
            world.git(repository, *words, environment=environment)

        git("commit", "-q", "--amend", "-m", "y")
        git("tag", "amended")
        git("checkout", "-q", "-B", "main", "HEAD~1")
        git("merge", "-q", "--ff-only", "amended")
        git("checkout", "-q", "-b", "other", "HEAD~1")
        git("commit", "-q", "--allow-empty", "-m", "z")
        git("merge", "-q", "--no-edit", "main")
        git("cherry-pick", "--allow-empty", "HEAD^")
        # a hook that is heard last ends the wait for those that would have been
        commit(world, repository, "MEMORY.md", "- coffee\n")
        assert [calls.next(), calls.next()] == ["pre-commit", "post-commit"]
        assert calls.none()

    def test_where_all_files_are_synced_any_commit_counts(
        self, world: World, repository: Path, calls: Calls
    ):
        note = repository / ".git" / "mdmem" / "sends-all"
        note.parent.mkdir()
        githooks._note_sending(repository / ".git", True)
        assert note.exists()
        install(hooks(repository), str(calls.python))
        commit(world, repository, "a.txt")
        assert calls.next() == "post-commit"
        githooks._note_sending(repository / ".git", False)
        commit(world, repository, "b.txt")
        commit(world, repository, "MEMORY.md")
        assert [calls.next(), calls.next()] == ["pre-commit", "post-commit"]
        assert calls.none()

    @pytest.mark.parametrize("strategy", ["--squash", "--no-commit"])
    def test_a_merge_that_is_committed_later(
        self, world: World, repository: Path, calls: Calls, strategy: str
    ):
        commit(world, repository, "a.txt")
        world.git(repository, "checkout", "-q", "-b", "other")
        commit(world, repository, "MEMORY.md")
        world.git(repository, "checkout", "-q", "main")
        commit(world, repository, "b.txt")
        install(hooks(repository), str(calls.python))
        world.git(repository, "merge", "-q", strategy, "other")
        if strategy == "--squash":
            assert calls.next() == "post-merge"
        world.git(repository, "commit", "-q", "--no-verify", "-m", "x")
        assert [calls.next(), calls.next()] == [".git/COMMIT_EDITMSG", "post-commit"]

    def test_its_own_commit_is_passed_over(self, world: World, repository: Path, calls: Calls):
        install(hooks(repository), str(calls.python))
        commit(world, repository, "MEMORY.md", MDMEM_COMMIT="1")
        commit(world, repository, "b.md")
        assert [calls.next(), calls.next()] == ["pre-commit", "post-commit"]
        assert calls.none()

    def test_git_does_not_wait(self, world: World, repository: Path, tmp_path: Path):
        gate = tmp_path / "gate"
        os.mkfifo(gate)
        calls = Calls(tmp_path, before=f"cat {shlex.quote(str(gate))} >/dev/null")
        install(hooks(repository), str(calls.python))
        write(repository, "MEMORY.md", "- tea\n")
        world.git(repository, "add", "MEMORY.md")
        done = world.git(repository, "commit", "-q", "--no-verify", "-m", "x")
        assert done.stderr == ""  # comes back, its output closed, while the gate holds the catch-up
        assert calls.none()
        gate.write_text("go")
        assert calls.next() == "post-commit"

    def test_no_python_is_started_where_one_waits(
        self, world: World, repository: Path, tmp_path: Path, calls: Calls
    ):
        commit(world, repository, "MEMORY.md")
        commit(world, repository, "MEMORY.md", "- coffee\n")
        install(hooks(repository), str(calls.python))
        linked = tmp_path / "linked"
        world.git(repository, "worktree", "add", "-q", linked)
        assert calls.next() == "post-checkout"
        for place, git_dir in (
            (repository, repository / ".git"),
            (linked, repository / ".git" / "worktrees" / "linked"),
        ):
            mark = git_dir / "mdmem" / "waiting"
            mark.parent.mkdir()
            mark.touch()
            os.utime(mark, (LATER, LATER))
            world.git(place, "checkout", "-q", "--detach", "HEAD~1")
            os.utime(mark, (0, 0))  # as one that was killed leaves it
            world.git(place, "checkout", "-q", "--detach", "@{1}")
            assert calls.next() == "post-checkout"
            assert calls.none()

    def test_in_a_linked_worktree(
        self, world: World, repository: Path, tmp_path: Path, calls: Calls
    ):
        commit(world, repository, "a.txt")
        script(hooks(repository) / "post-checkout", "echo theirs >&2\n")
        install(hooks(repository), str(calls.python))
        linked = tmp_path / "linked"
        assert "theirs" in world.git(repository, "worktree", "add", "-q", linked).stderr
        assert calls.next() == "post-checkout"
        assert commit(world, linked, "MEMORY.md") == ""
        assert [calls.next(), calls.next()] == ["pre-commit", "post-commit"]

    def test_the_kept_hook_gets_arguments_and_input(
        self, world: World, repository: Path, tmp_path: Path, calls: Calls
    ):
        commit(world, repository, "a.txt")
        script(
            hooks(repository) / "post-rewrite",
            f'echo "$@" >{shlex.quote(str(tmp_path / "heard"))}\ncat >>{shlex.quote(str(tmp_path / "heard"))}\n',
        )
        install(hooks(repository), str(calls.python))
        old = world.git(repository, "rev-parse", "HEAD").stdout.strip()
        world.git(repository, "commit", "-q", "--amend", "-m", "y")
        new = world.git(repository, "rev-parse", "HEAD").stdout.strip()
        assert (tmp_path / "heard").read_text() == f"amend\n{old} {new}\n"

    @pytest.mark.parametrize("environment", [{}, {"MDMEM_COMMIT": "1"}])
    def test_the_kept_hooks_status_is_passed_on(
        self, world: World, repository: Path, calls: Calls, environment: dict[str, str]
    ):
        commit(world, repository, "a.txt")
        script(hooks(repository) / "post-checkout", "exit 7\n")
        install(hooks(repository), str(calls.python))
        assert (
            world.git(
                repository, "checkout", "-q", "-b", "b", check=False, environment=environment
            ).returncode
            == 1
        )  # git makes it 1
        script(hooks(repository) / "post-checkout.before-mdmem", "exit 0\n")
        assert (
            world.git(
                repository, "checkout", "-q", "-b", "c", check=False, environment=environment
            ).returncode
            == 0
        )

    @pytest.mark.parametrize("name", BACKGROUND)
    def test_without_mdmem_it_is_silent(
        self, world: World, repository: Path, tmp_path: Path, name: str
    ):
        install(hooks(repository), str(tmp_path / "gone"))
        environment = {"PATH": str(tools_without_mdmem(tmp_path))}
        done = world.run(repository, [hooks(repository) / name, "a", "b"], environment=environment)
        assert (done.stdout, done.stderr) == ("", "")


class TestMain:
    """`mdmem.githooks` itself."""

    @pytest.fixture
    def workspace(self, world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        commit(
            world,
            repository,
            "MEMORY.md",
            "# Memory\n" + "".join(f"- fact {number}\n" for number in range(60)),
        )
        monkeypatch.chdir(repository)
        return repository

    def stage(self, world: World, workspace: Path, name: str, text: str) -> None:
        write(workspace, name, text)
        world.git(workspace, "add", name)

    def test_nothing_to_say(self, world: World, workspace: Path, capfd: pytest.CaptureFixture[str]):
        self.stage(world, workspace, "memory/topic.md", "- tea\n")
        assert githooks.main(["pre-commit"]) == 0
        assert capfd.readouterr() == ("", "")

    def test_errors_refuse(self, world: World, workspace: Path, capfd: pytest.CaptureFixture[str]):
        self.stage(world, workspace, "memory/topic.md", "# T\n\n" + CONFLICT)
        assert githooks.main(["pre-commit"]) == 1
        printed = capfd.readouterr()
        assert printed.out == ""
        assert printed.err.splitlines() == [
            "mdmem: memory/topic.md:3: unresolved conflict markers",
            "hint: Resolve the conflict and remove the markers, then stage the file again.",
        ]

    def test_warnings_are_said_and_pass(
        self, world: World, workspace: Path, capfd: pytest.CaptureFixture[str]
    ):
        self.stage(world, workspace, "memory/topic.md", "- tea\n- tea\n")
        assert githooks.main(["pre-commit"]) == 0
        assert capfd.readouterr().err.startswith("mdmem: memory/topic.md:2: warning: the fact ")

    def test_what_is_allowed_passes(
        self,
        world: World,
        workspace: Path,
        capfd: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ):
        self.stage(world, workspace, "MEMORY.md", "# Memory\n")
        assert githooks.main(["pre-commit"]) == 1
        assert "hint: If that is meant: MDMEM_ALLOW=shrink git commit …" in capfd.readouterr().err
        monkeypatch.setenv("MDMEM_ALLOW", "shrink")
        assert githooks.main(["pre-commit"]) == 0
        assert (
            capfd.readouterr().err
            == "mdmem: MEMORY.md:1: allowed: 60 of the file's 61 lines would be gone\n"
        )

    @pytest.fixture
    def squashed(self, world: World, workspace: Path) -> Path:
        """A branch that renamed the file and rewrote it is being squashed."""
        world.git(workspace, "checkout", "-q", "-b", "side")
        world.git(workspace, "mv", "MEMORY.md", "memory.md")
        world.git(workspace, "commit", "-q", "-m", "rename")
        commit(
            world,
            workspace,
            "memory.md",
            "".join(f"- rewritten {number}\n" for number in range(60)),
        )
        world.git(workspace, "checkout", "-q", "main")
        commit(world, workspace, "memory/topic.md", "- tea\n")
        world.git(workspace, "merge", "-q", "--squash", "side")
        return workspace

    def test_a_squash_may_lose_what_its_branch_lost(
        self, squashed: Path, capfd: pytest.CaptureFixture[str]
    ):
        assert githooks.main(["pre-commit"]) == 0
        assert capfd.readouterr() == ("", "")

    def test_and_no_more(self, world: World, squashed: Path, capfd: pytest.CaptureFixture[str]):
        (squashed / ".git" / "SQUASH_MSG").write_text(f"commit {'1' * 40}\n")
        assert githooks.main(["pre-commit"]) == 1
        world.git(squashed, "commit", "-q", "-m", "squashed", "--no-verify")
        world.git(squashed, "checkout", "-q", "-b", "other")
        commit(
            world, squashed, "memory.md", "".join(f"- once more {number}\n" for number in range(60))
        )
        world.git(squashed, "checkout", "-q", "main")
        world.git(squashed, "merge", "-q", "--squash", "other")
        self.stage(world, squashed, "memory.md", "- all else is gone\n")
        assert githooks.main(["pre-commit"]) == 1

    def test_an_unknown_allowance_is_wrong_usage(
        self, workspace: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ):
        monkeypatch.setenv("MDMEM_ALLOW", "all")
        assert githooks.main(["pre-commit"]) == 2
        assert "(choose from append, secret, shrink)\n" in capfd.readouterr().err

    @pytest.mark.parametrize("name", HOOKS)
    def test_its_own_commit(
        self, world: World, workspace: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ):
        self.stage(world, workspace, "MEMORY.md", CONFLICT)
        monkeypatch.setenv("MDMEM_COMMIT", "1")
        assert githooks.main([name]) == 0

    @pytest.mark.parametrize("words", [[], ["pre-push"], ["catch-up"], ["catch-up", "a", "b"]])
    def test_wrong_usage(self, words: list[str], capfd: pytest.CaptureFixture[str]):
        assert githooks.main(words) == 2
        assert "mdmem.githooks takes" in capfd.readouterr().err

    @pytest.mark.parametrize("name", BACKGROUND)
    def test_a_catch_up_leaves_its_caller(self, world: World, workspace: Path, name: str):
        """A session of its own, and none of the descriptors that it inherited."""
        program = f"""
import os
from mdmem.githooks import hooks as githooks
inherited, _ = os.pipe()
print(githooks.main([{name!r}]), os.getsid(0) == os.getpid(), os.path.exists(f"/dev/fd/{{inherited}}"))
"""
        done = world.run(
            workspace, ["sh", "-c", '"$@"; exit', "sh", sys.executable, "-P", "-c", program]
        )
        assert (done.stdout, done.stderr) == ("0 True False\n", "")

    @pytest.mark.parametrize("name", BACKGROUND)
    def test_the_index_catches_up_once_it_is_quiet(self, world: World, workspace: Path, name: str):
        at = Desk(world, workspace)
        at.workspace.ensure_state()
        mark = workspace / ".git" / "mdmem" / "waiting"
        mark.touch()
        os.utime(mark, (LATER, LATER))
        started = [sys.executable, "-P", "-m", "mdmem.githooks", name]
        world.run(workspace, started)
        assert not (at.workspace.state / "index").exists()  # that is left to the one that waits
        os.utime(mark, (0, 0))
        world.run(workspace, started)
        assert catching_up.index_as_is(at.workspace)[1]
        assert not mark.exists()

    @pytest.mark.parametrize(
        "arguments",
        [("-P", "-m", "mdmem.githooks"), ("-P", "-c", "from mdmem.githooks import start; start()")],
    )
    @pytest.mark.parametrize(("closed", "status"), [("", 1), ("2>&-", 1), ("2>&1 | cat >&2", 0)])
    def test_as_a_process(
        self, world: World, workspace: Path, arguments: tuple[str, ...], closed: str, status: int
    ):
        self.stage(world, workspace, "memory/topic.md", CONFLICT + CONFLICT)
        done = world.run(
            workspace,
            ["sh", "-c", f'"$@" {closed}', "sh", sys.executable, *arguments, "pre-commit"],
            check=False,
        )
        assert (done.returncode, done.stderr.count("unresolved conflict markers")) == (
            status,
            0 if closed == "2>&-" else 2,
        )

    @pytest.mark.parametrize("missing", ["text/check", "index/background", "repo/git_files"])
    def test_half_of_mdmem_is_none(
        self, world: World, workspace: Path, tmp_path: Path, missing: str
    ):
        half = tmp_path / "half"
        shutil.copytree(Path(mdmem.__file__).parent, half / "mdmem")
        write(half, f"mdmem/{missing}.py", "raise ImportError\n")
        install(hooks(workspace), sys.executable)
        environment = {"PYTHONPATH": str(half), "PATH": str(tools_without_mdmem(tmp_path))}
        printed = commit(world, workspace, "memory/topic.md", CONFLICT, **environment)
        assert printed.startswith("mdmem: not found, so the staged memory files were not checked")

    def test_a_real_commit(self, world: World, workspace: Path):
        install(hooks(workspace), sys.executable)
        printed = commit(world, workspace, "memory/caf\u00e9 1.md", CONFLICT)
        assert printed.startswith(
            "refused: mdmem: memory/caf\u00e9 1.md:1: unresolved conflict markers"
        )
        assert commit(world, workspace, "memory/caf\u00e9 1.md", "- tea\n") == ""

    @pytest.mark.parametrize(
        ("allow", "path", "before", "after", "printed"),
        [
            (
                "shrink",
                "MEMORY.md",
                None,
                "# Memory\n",
                "MEMORY.md:1: 60 of the file's 61 lines would be gone",
            ),
            (
                "append",
                "memory/2026-03-05.md",
                "# 2026-03-05\n\n- tea\n",
                "# 2026-03-05\n\n- coffee\n",
                "memory/2026-03-05.md:2: an earlier",
            ),
            (
                "secret",
                "memory/x.md",
                None,
                f"- {SECRET}\n",
                "memory/x.md:1: possible secret (password)",
            ),
        ],
    )
    def test_a_real_commit_that_is_allowed(
        self,
        world: World,
        workspace: Path,
        allow: str,
        path: str,
        before: str | None,
        after: str,
        printed: str,
    ):
        install(hooks(workspace), sys.executable)
        if before:
            assert commit(world, workspace, path, before) == ""
        others = ",".join({"shrink", "append", "secret"} - {allow})
        head = world.git(workspace, "rev-parse", "HEAD").stdout
        for environment in ({}, {"MDMEM_ALLOW": others}):
            refusal = commit(world, workspace, path, after, **environment)
            assert refusal.startswith(f"refused: mdmem: {printed}")
            assert f"MDMEM_ALLOW={allow} git commit" in refusal
            assert SECRET not in refusal
        assert world.git(workspace, "rev-parse", "HEAD").stdout == head
        place, _, message = printed.partition(": ")
        assert commit(world, workspace, path, after, MDMEM_ALLOW=f"{allow}, {others}").startswith(
            f"mdmem: {place}: allowed: {message}"
        )
        assert world.git(workspace, "show", f"HEAD:{path}").stdout == after

    def test_a_real_commit_that_takes_the_workspaces_mark_away(self, world: World, workspace: Path):
        at = Desk(world, workspace)
        at.workspace.ensure_state()
        assert commit(world, workspace, "memory/2026-03-05.md", "# 2026-03-05\n\n- tea\n") == ""
        install(hooks(workspace), sys.executable)
        (workspace / "MEMORY.md").unlink()
        write(workspace, "memory/2026-03-05.md", "# gone\n")
        world.git(workspace, "add", "-A")
        printed = commit(world, workspace, "memory/s.md", f"- {SECRET}\n")
        assert printed.startswith("refused: ")
        for problem in (
            "MEMORY.md:1: 61 of",
            "memory/2026-03-05.md:1: an earlier",
            "memory/s.md:1: possible secret",
        ):
            assert f"mdmem: {problem}" in printed
        assert [(event.verb, event.code) for event in events.read_events(at.workspace.state)] == [
            ("pre-commit", "shrink")
        ]

    def test_lines_added_by_hand_start_no_python_for_code(
        self, world: World, repository: Path, calls: Calls
    ):
        for name, line in lines_to_add(str(calls.python)).items():
            if name != "pre-commit":  # whose line is for any commit
                script(hooks(repository) / name, line + "\n")
        commit(world, repository, "MEMORY.md")
        assert calls.next() == "post-commit"
        commit(world, repository, "a.txt")
        commit(world, repository, "MEMORY.md", "- coffee\n")
        assert calls.next() == "post-commit"
        assert calls.none()

    def test_lines_added_by_hand_do_the_same(self, world: World, workspace: Path):
        for name, line in lines_to_add(sys.executable).items():
            script(hooks(workspace) / name, line + "\n")
        assert "conflict markers" in commit(world, workspace, "MEMORY.md", CONFLICT)
        assert world.git(workspace, "log", "--format=%s").stdout.count("x") == 1
