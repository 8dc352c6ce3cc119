"""Writes in real repositories: a person's pending edits, hooks, locks, awkward states, and nothing changed by what is refused."""

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
from conftest import EMAIL, NAME, World
from workspaces import HAND, MARK, NOW, SEED, Desk, append, code_of, desk, gits, leave_pending_edit, refused, where_modes_count

from mdmem import files, hookfiles
from mdmem.changes import pending
from mdmem.errors import MdmemError
from mdmem.hookfiles import install
from mdmem.memory import Memory
from mdmem.model.writes import Action, Change, EditSection, Forget, Log, Remember, WriteOptions
from mdmem.repo import commits, runner, worktree
from mdmem.repo.runner import GitResult
from mdmem.workspace import open_at

REFUSES = "exit 1"
REFUSES_OURS = "git diff --cached | grep -q 'mark of mdmem' && exit 1\nexit 0"
LOG = "memory/2026-03-05.md"
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
    *[("memory/new.md", way) for way in ("edited", "staged", "staged and edited again", "intended")],
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
        done = at.apply(append(file=pending, actor="agent/main"))
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
        assert "Mdmem-Actor: agent/main" in ours
        assert at.git("status", "--porcelain") == "A  other.md\n?? draft.txt\n"
        assert done.commit == at.git("rev-parse", "HEAD").strip()

    @pytest.mark.parametrize("hook", [REFUSES, REFUSES_OURS], ids=["any commit", "ours only"])
    @pytest.mark.parametrize("pending", WAYS, indirect=True, ids=" ".join)
    def test_stay_as_they_were_where_a_hook_refuses(self, at: Desk, pending: str, hook: str):
        at.hook("pre-commit", hook)
        refused(at, append(file=pending), "commit-failed")

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
        assert "one" not in at.read(LOG)
        assert at.git("status", "--porcelain") == ""

    def test_a_removal_is_taken_back_where_a_hook_refuses_ours(self, at: Desk):
        at.apply(Log("one"))
        at.git("rm", "-q", LOG)
        at.hook("pre-commit", REFUSES_OURS)
        refused(at, Log("the mark of mdmem"), "commit-failed")

    def test_an_unborn_branch_is_unborn_again_where_a_hook_refuses_ours(self, world: World, repository: Path):
        at = Desk(world, repository)
        at.write("MEMORY.md", SEED)
        at.hook("pre-commit", REFUSES_OURS)
        refused(at, append(), "commit-failed")

    def test_below_the_top_of_the_work_tree_the_index_is_put_back_too(self, world: World, repository: Path):
        at = desk(world, repository, "deep/er")
        leave_pending_edit(at, "MEMORY.md", "staged and edited again")
        at.hook("pre-commit", REFUSES_OURS)
        refused(at, append(), "commit-failed")


class TestHooks:
    @pytest.mark.parametrize("name", ["pre-commit", "prepare-commit-msg", "commit-msg"])
    @pytest.mark.parametrize("change", [append(), Log("x"), append(file="memory/new.md", section="N")], ids=["edit", "log", "none"])
    def test_one_that_refuses_leaves_all_as_it_was(self, at: Desk, name: str, change: EditSection | Log):
        at.hook(name, "echo because of this >&2\nexit 1")
        code = "file-not-found" if isinstance(change, EditSection) and change.file else "commit-failed"
        refused(at, change, code)
        assert not (at.root / "memory").exists()

    @pytest.mark.parametrize("where", ["repository", "home"])
    def test_one_in_a_folder_of_the_persons_runs(self, at: Desk, where: str, tmp_path: Path):
        hookfiles.install(at.root / ".git" / "hooks", "python3")
        at.git("config", "--local" if where == "repository" else "--global", "core.hooksPath", tmp_path / "mine")
        at.hook("pre-commit", "touch it.ran")
        at.apply(append())
        assert (at.root / "it.ran").exists()

    def test_one_beside_our_own_runs(self, at: Desk):
        hookfiles.install(at.root / ".git" / "hooks", "python3")
        at.hook("commit-msg", "touch it.ran")
        at.apply(append())
        assert (at.root / "it.ran").exists()

    def test_our_own_alone_are_not_started(self, at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """git looks for them in a folder that has none."""
        hookfiles.install(at.root / ".git" / "hooks", "python3")
        started: list[list[str]] = []
        converse = runner.converse

        def heard(command: list[str], *more: Any) -> Any:
            started.append(command)
            return converse(command, *more)

        monkeypatch.setattr(runner, "converse", heard)
        at.apply(append())
        assert [f"core.hooksPath={os.devnull}" in command for command in started if "commit" in command] == [True]

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
    def test_after_the_commit_one_changes_nothing_any_more(self, at: Desk, change: EditSection | Log, hook: str, pending: bool):
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
        at.hook("post-commit", "sh -c 'echo $$ >.git/child; exec cat .git/gate' &\nwhile [ ! -s .git/child ]; do :; done")
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


def _conflict(at: Desk) -> None:
    at.git("checkout", "-qb", "side")
    at.write("MEMORY.md", SEED.replace("Oslo", "Rome"))
    at.commit("side")
    at.git("checkout", "-q", "main")
    at.write("MEMORY.md", SEED.replace("Oslo", "Bonn"))
    at.commit("main")


def _merge(at: Desk) -> None:
    _conflict(at)
    at.git("merge", "-q", "--no-commit", "-s", "ours", "side")


def _unmerged(at: Desk) -> None:
    _conflict(at)
    at.git("merge", "side", check=False)
    (at.root / ".git" / "MERGE_HEAD").unlink()


def _rebase(at: Desk) -> None:
    _conflict(at)
    at.git("rebase", "side", check=False)


def _pick(at: Desk) -> None:
    _conflict(at)
    at.git("cherry-pick", "side", check=False)


def _several_picks(at: Desk) -> None:
    _conflict(at)
    at.git("checkout", "-q", "side")
    at.write("other.txt", "x")
    at.commit("one more")
    at.git("checkout", "-q", "main")
    at.git("cherry-pick", "side~", "side", check=False)
    at.git("checkout", "-q", "--ours", "MEMORY.md")
    at.git("add", "MEMORY.md")
    at.git("commit", "-q", "--allow-empty", "-m", "resolved")


def _revert(at: Desk) -> None:
    _conflict(at)
    at.write("MEMORY.md", SEED.replace("Oslo", "Wien"))
    at.commit()
    at.git("revert", "--no-edit", "HEAD~", check=False)


def _bisect(at: Desk) -> None:
    at.git("bisect", "start")


def _detached(at: Desk) -> None:
    at.git("checkout", "-q", "--detach")


def _empty_ref(at: Desk) -> None:
    (at.root / ".git" / "refs" / "heads" / "main").write_bytes(b"")


def _broken_head(at: Desk) -> None:
    (at.root / ".git" / "HEAD").write_text("nonsense\n")


def _nobody(at: Desk) -> None:
    at.git("config", "--unset", "user.email")


def _no_key(at: Desk) -> None:
    at.git("config", "commit.gpgsign", "true")
    at.git("config", "gpg.program", "false")


def _no_filter(at: Desk) -> None:
    """With another time stamp git asks the filter already when it is asked for the status, and not only when it commits."""
    os.utime(at.root / "MEMORY.md", (0, 0))
    at.write(".gitattributes", "*.md filter=nope\n")
    at.git("config", "filter.nope.clean", "false")
    at.git("config", "filter.nope.required", "true")


def _undoing_filter(at: Desk) -> None:
    """What is committed stays as it was: git has nothing to commit, and a success would be a lie."""
    at.git("config", "filter.undo.clean", "sed '/mark of mdmem/d; ${/^$/d}'")
    (at.root / ".git" / "info" / "attributes").write_text("*.md filter=undo\n")


class TestStates:
    @pytest.mark.parametrize(
        ("state", "code"),
        [
            (_merge, "repository-busy"),
            (_unmerged, "repository-busy"),
            (_rebase, "repository-busy"),
            (_pick, "repository-busy"),
            (_several_picks, "repository-busy"),
            (_revert, "repository-busy"),
            (_bisect, "repository-busy"),
            (_detached, "detached-head"),
            (_empty_ref, "broken-repository"),
            (_broken_head, "broken-repository"),
            (_nobody, "no-identity"),
            (_no_key, "commit-failed"),
            (_no_filter, "git-failed"),
            (_undoing_filter, "commit-failed"),
        ],
    )
    def test_refused(self, at: Desk, state: Callable[[Desk], None], code: str):
        state(at)
        before = at.tree_state()
        assert code_of(lambda: at.apply(append())) == code
        assert at.tree_state() == before

    def test_a_bare_repository(self, at: Desk, tmp_path: Path):
        at.git("clone", "-q", "--bare", at.root, tmp_path / "bare")
        assert code_of(lambda: open_at(tmp_path / "bare", os.environ)) == "bare-repository"

    def test_no_repository(self, world: World, tmp_path: Path):
        (tmp_path / "MEMORY.md").write_text(SEED)
        assert code_of(lambda: open_at(tmp_path, os.environ)) == "not-a-repository"

    def test_conflict_marks_in_the_text_are_no_reason(self, at: Desk):
        at.write("MEMORY.md", SEED + "\n<<<<<<< HEAD\n")
        assert at.apply(append()).commit

    @pytest.mark.parametrize(
        "settings",
        [
            ["commit.template=/nonexistent", "commit.cleanup=scissors", "commit.verbose=true", "core.commentChar=-"],
            ["color.ui=always", "diff.noprefix=true", "status.showUntrackedFiles=no", "core.quotePath=true"],
            ["log.showSignature=true", "log.date=relative", "diff.external=false", "core.pager=false", "alias.commit=!false"],
            ["core.autocrlf=input"],
            ["core.fsmonitor=false"],
        ],
        ids=lambda listed: listed[0],
    )
    def test_settings_of_the_repository_do_not_matter(self, at: Desk, settings: list[str]):
        for setting in settings:
            at.git("config", *setting.split("=", 1))
        at.apply(append(reason="- why"))
        at.apply(Log("x"))
        message = at.world.git(at.root, "-c", "core.commentChar=#", "log", "-1", "--no-show-signature", "--format=%B", "HEAD~").stdout
        assert message.startswith(f"MEMORY.md: append Work\n\n+ {MARK.removeprefix('- ')}\n")
        assert "Mdmem-Reason: - why" in message
        assert at.git("ls-files", "memory") == f"{LOG}\n"

    def test_detached_where_the_settings_allow_it(self, at: Desk):
        at.write("mdmem.toml", "allow_detached = true\n")
        at.commit()
        _detached(at)
        assert at.apply(append()).commit

    def test_an_unborn_branch(self, world: World, repository: Path):
        at = Desk(world, repository)
        at.write("MEMORY.md", SEED)
        assert at.apply(append()).commit
        assert len(at.subjects()) == 2

    def test_a_branch_named_like_an_option(self, at: Desk):
        at.git("update-ref", "refs/heads/--amend", "HEAD")
        at.git("symbolic-ref", "HEAD", "refs/heads/--amend")
        at.apply(append())
        assert at.subjects() == ["MEMORY.md: append Work", "seed"]
        assert at.workspace.repository.branch() == "--amend"

    def test_a_linked_worktree(self, at: Desk, tmp_path: Path):
        at.git("worktree", "add", "-q", "-b", "other", tmp_path / "linked")
        linked = Desk(at.world, tmp_path / "linked")
        linked.apply(append())
        assert linked.subjects() == ["MEMORY.md: append Work", "seed"]
        assert at.subjects() == ["seed"]
        assert linked.workspace.state != at.workspace.state

    def test_a_submodule(self, at: Desk, tmp_path: Path, world: World):
        outer = tmp_path / "outer"
        world.git(tmp_path, "init", "-q", outer)
        world.git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", at.root, "inner")
        inner = Desk(world, outer / "inner")
        for name, value in (("user.name", NAME), ("user.email", EMAIL)):
            inner.git("config", name, value)
        inner.apply(append())
        assert inner.subjects() == ["MEMORY.md: append Work", "seed"]

    def test_two_workspaces_of_one_repository(self, world: World, repository: Path):
        first, second = desk(world, repository, "a b"), desk(world, repository, "a-b")
        for at in (first, second):
            leave_pending_edit(at, "MEMORY.md", "edited")
        first.apply(append())
        assert first.git("status", "--porcelain") == " M ../a-b/MEMORY.md\n".replace("../a-b", "a-b")
        second.apply(Log("x"))
        assert second.git("show", "--format=", "--name-only", "HEAD") == "a-b/memory/2026-03-05.md\n"
        assert first.workspace.state != second.workspace.state

    @pytest.mark.parametrize("eol", ["\r\n", "\n"])
    def test_line_ends_of_the_work_tree_stay(self, world: World, repository: Path, eol: str):
        world.git(repository, "config", "core.autocrlf", "true" if eol == "\r\n" else "input")
        at = desk(world, repository, seed=SEED.replace("\n", eol))
        at.apply(append())
        assert at.read("MEMORY.md") == SEED.replace("Stripe\n", f"Stripe\n{MARK}\n").replace("\n", eol)
        assert "\r" not in at.world.git(at.root, "cat-file", "-p", "HEAD:MEMORY.md").stdout
        assert at.git("status", "--porcelain") == ""

    def test_filters_run(self, at: Desk):
        at.git("config", "filter.up.clean", "tr a-z A-Z")
        at.write(".gitattributes", "memory/*.md filter=up\n")
        at.commit()
        at.apply(Log("quiet"))
        assert "QUIET" in at.git("show", f"HEAD:{LOG}")
        assert "quiet" in at.read(LOG)

    @pytest.mark.parametrize(
        "name", ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"]
    )
    def test_what_git_sets_for_hooks_leads_nowhere(self, at: Desk, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        at.git("init", "-q", tmp_path / "elsewhere")
        monkeypatch.setenv(name, str(tmp_path / "elsewhere" / ".git"))
        at.apply(append())
        monkeypatch.delenv(name)
        assert at.subjects() == ["MEMORY.md: append Work", "seed"]
        assert at.git("status", "--porcelain") == ""

    def test_an_ignored_log(self, at: Desk):
        at.write(".gitignore", "memory/\n")
        at.commit()
        refused(at, Log("x"), "ignored-path")
        at.write(LOG, "# 2026-03-05\n")
        refused(at, Log("x"), "ignored-path")
        assert at.apply(append()).commit


class TestPlaces:
    @pytest.mark.parametrize(
        ("file", "code"),
        [
            ("link.md", "bad-path"),
            ("dangling.md", "bad-path"),
            ("linked/x.md", "bad-path"),
            ("pipe.md", "bad-path"),
            ("folder.md", "bad-path"),
            ("MEMORY.md/x.md", "bad-path"),
            ("../outside.md", "bad-path"),
            ("/etc/x.md", "bad-path"),
            (".git/x.md", "bad-path"),
            ("sub/.GIT/x.md", "bad-path"),
            ("nested/deep/x.md", "bad-path"),
            ("none.md", "file-not-found"),
            ("bad.md", "unsupported-file"),
        ],
    )
    def test_refused(self, at: Desk, tmp_path: Path, file: str, code: str):
        (tmp_path / "target").mkdir()
        (tmp_path / "target" / "x.md").write_text(SEED)
        (at.root / "link.md").symlink_to("MEMORY.md")
        (at.root / "dangling.md").symlink_to("nowhere.md")
        (at.root / "linked").symlink_to(tmp_path / "target")
        os.mkfifo(at.root / "pipe.md")
        (at.root / "folder.md").mkdir()
        at.write("nested/deep/x.md", SEED)
        at.git("init", "-q", "nested")
        at.write("bad.md", b"# Work\n\ncaf\xe9\n")
        refused(at, append(file=file), code)
        assert (tmp_path / "target" / "x.md").read_text() == SEED

    @pytest.mark.parametrize("mode", [0o444, 0o600, 0o755])
    def test_the_mode_stays(self, at: Desk, mode: int):
        (at.root / "MEMORY.md").chmod(mode)
        at.apply(append())
        assert (at.root / "MEMORY.md").stat().st_mode & 0o777 == mode

    @where_modes_count
    def test_a_folder_that_cannot_be_written(self, at: Desk):
        at.apply(Log("x"))
        before = at.tree_state()
        (at.root / "memory").chmod(0o555)
        with pytest.raises(PermissionError):
            at.apply(Log("y"))
        (at.root / "memory").chmod(0o755)
        assert at.tree_state() == before

    def test_other_markdown_of_the_workspace(self, at: Desk):
        at.write("docs/notes.md", SEED)
        assert at.apply(append(file="docs/notes.md")).commit

    @pytest.mark.parametrize("name", [":(top)x.md", "*.md", "-x.md", "a b.md", "ü.md", "[a].md"])
    def test_a_name_is_no_pattern(self, at: Desk, name: str):
        at.write("memory/x.md", "# X\n")
        at.apply(EditSection("Work", Action.APPEND, MARK, file=f"memory/{name}", create=True))
        assert at.git("-c", "core.quotePath=false", "show", "--format=", "--name-only") == f"memory/{name}\n"
        assert at.git("status", "--porcelain") == "?? memory/x.md\n"


class TestLocks:
    def test_a_branch_that_another_git_holds_is_waited_for(self, at: Desk):
        lock = at.root / ".git" / "refs" / "heads" / "main.lock"
        lock.touch()
        at.hook("pre-commit", "[ -e .git/again ] && rm -f .git/refs/heads/main.lock\ntouch .git/again\nexit 0")
        assert at.apply(append()).commit
        assert at.subjects() == ["MEMORY.md: append Work", "seed"]

    @pytest.mark.parametrize("change", [append(), Log("x")], ids=["known file", "new file"])
    def test_an_index_that_another_git_holds_is_waited_for(self, at: Desk, change: EditSection | Log):
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
        at.hook("pre-commit", "echo x >>.git/runs\necho \"error: 'poetry.lock' is out of date\" >&2\nexit 1")
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
            command = [sys.executable, "-m", "mdmem", "log", f"entry {number}", "--time", "10:00", "--json"]
            return str(json.loads(at.world.run(at.root, command, environment={"MDMEM_NOW": NOW}).stdout)["commit"])

        with files.lock(state_folder(at) / "queue.lock", 1), ThreadPoolExecutor() as running:  # (no catching up in the background)
            ids = list(running.map(log, range(3)))
        assert sorted(ids) == sorted(at.git("log", "--format=%H", "--", LOG).split())
        assert all(f"entry {number}\n" in at.read(LOG) for number in range(3))

    def test_a_save_of_an_editor_in_between_is_kept(self, at: Desk):
        """The hook runs on the person's commit, when ours is drawn up already and not yet written."""
        leave_pending_edit(at, "MEMORY.md", "edited")
        at.hook("post-commit", "[ -e .git/once ] && exit 0\ntouch .git/once\nprintf '\\n- saved meanwhile\\n' >>MEMORY.md")
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
    def test_a_dry_run_changes_nothing_at_all(self, at: Desk, change: EditSection | Log, used: bool):
        if used:
            at.apply(append("- before"))
        leave_pending_edit(at, "MEMORY.md", "edited")
        before = at.tree_state(), at.state()
        done = at.apply(change)
        assert done.diff
        assert done.diff.startswith("--- ")
        assert done.changed
        assert done.commit is None
        assert (at.tree_state(), at.state()) == before
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
            ("2026-03-05T23:30:00+00:00", "Asia/Tokyo", "", "2026-03-06", "08:30", "2026-03-06T08:30:00+09:00"),
            ("2026-03-05T23:30:00", "Asia/Tokyo", "", "2026-03-05", "23:30", "2026-03-05T23:30:00+09:00"),
            ("2026-03-05T23:30:00Z", "UTC", "America/New_York", "2026-03-05", "18:30", "2026-03-05T18:30:00-05:00"),
            ("2026-03-05T23:30:00", "Asia/Tokyo", "America/New_York", "2026-03-05", "23:30", "2026-03-05T23:30:00-05:00"),
        ],
    )
    def test_the_day_is_the_users(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, now: str, zone: str, setting: str, file: str, heading: str, stamp: str
    ):
        if setting:
            at.write("mdmem.toml", f'timezone = "{setting}"\n')
            at.commit()
        environment = {"MDMEM_NOW": now, "TZ": zone}
        with files.lock(state_folder(at) / "queue.lock", 1):
            at.world.run(at.root, [sys.executable, "-m", "mdmem", "log", "x"], environment=environment)
        text = at.read(f"memory/{file}.md")
        assert text.startswith(f"# {file}\n")
        assert text.endswith(f"\n## {heading}\n\n- x\n")
        stamps = at.git("log", "-1", "--format=%aI %cI").split()  # some versions of git write Z for +00:00
        assert [datetime.fromisoformat(each).isoformat() for each in stamps] == [stamp, stamp]

    def test_who_commits_where_git_does_not_know(self, at: Desk):
        _nobody(at)
        at.write("mdmem.toml", 'author = "An Agent <agent@example.org>"\n')
        at.apply(append())
        assert at.git("log", "-1", "--format=%an %ae %cn %ce").strip() == "An Agent agent@example.org An Agent agent@example.org"

    def test_whom_the_environment_names_is_enough(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        _nobody(at)
        for role in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{role}_EMAIL", "env@example.org")
        at.apply(append())
        assert at.git("log", "-1", "--format=%an %ae").strip() == f"{NAME} env@example.org"

    def test_signing_that_works_is_done(self, at: Desk):
        signer = at.write(
            ".git/signer", "#!/bin/sh\necho '[GNUPG:] SIG_CREATED ' >&2\necho '-----BEGIN PGP SIGNATURE-----'\ncat >/dev/null\n"
        )
        signer.chmod(0o755)
        at.git("config", "gpg.program", str(signer))
        at.git("config", "commit.gpgsign", "true")
        at.apply(append())
        assert "gpgsig -----BEGIN PGP" in at.git("cat-file", "-p", "HEAD")


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
        assert sorted(paths) == sorted(["MEMORY.md", *(f"memory/{name}.md" for name in ("gone", "moved", "new", "old", "there"))])
        assert at.git("status", "--porcelain") == "A  staged.txt\n?? README.md\n"
        assert at.subjects()[0] == "6 memory files: edited by hand"
        assert "Mdmem-" not in at.git("log", "-1", "--format=%B")

    def test_nothing_pending(self, at: Desk):
        before = at.tree_state()
        assert self.save(at) == ()
        assert at.tree_state() == before

    def test_the_message_is_theirs(self, at: Desk):
        leave_pending_edit(at, "MEMORY.md", "edited")
        self.save(at, "about Ada\n\n# more\n")
        assert at.git("log", "-1", "--format=%B") == "about Ada\n\n# more\n\n"

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
    def test_what_the_check_refuses(self, at: Desk, hooked: bool, allow: str | None, code: str, path: str, after: str | bytes | None):
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
            (lambda path: path.write_bytes(b"x" * 6_000_000), "x.md has 6,000,000 bytes; 5,000,000 is the most that is edited"),
        ],
        ids=["link", "large"],
    )
    @pytest.mark.parametrize("tracked", [False, True])
    def test_what_is_no_memory_is_named_and_left_out(self, at: Desk, make: Callable[[Path], object], why: str, tracked: bool):
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


@pytest.mark.parametrize("change", [append(), Log("hello")], ids=["a file that git knows", "a new one"])
def test_a_commit_whose_index_could_not_be_written_is_settled_by_the_next_write(at: Desk, monkeypatch: pytest.MonkeyPatch, change: Change):
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
        (lambda at: at.commit("many", *(str(at.write(f"memory/{number}.md", f"- {number}\n")) for number in range(600))), ["commit"]),
        (lambda at: at.git("gc", "-q"), ["status", "ls-files", "commit"]),
        (lambda at: at.git("config", "core.worktree", ".."), ["rev-parse", "status", "ls-files", "config", "commit", *["rev-parse"] * 2]),
    ],
    ids=["plain", "many files", "packed", "elsewhere"],
)
def test_the_gits_that_a_write_starts(at: Desk, monkeypatch: pytest.MonkeyPatch, make: Callable[[Desk], object], verbs: list[str]) -> None:
    at.apply(append("- before"))
    make(at)
    started = gits(monkeypatch)
    at.apply(append())
    assert started == verbs
