"""Writes in repositories in awkward states, and in workspaces in awkward places."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import EMAIL, NAME, World
from workspaces import (
    MARK,
    NOW,
    SEED,
    Desk,
    append,
    code_of,
    desk,
    leave_pending_edit,
    refused,
    where_modes_count,
)

from mdmem.folder.config import Settings
from mdmem.memory import Memory
from mdmem.model.searches import Search
from mdmem.model.writes import Action, EditSection, Log, Remember
from mdmem.startup.records import replace
from mdmem.workspace import open_at

LOG = "memory/2026-03-05.md"


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


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
    """With another time stamp git asks the filter already when it is asked for the status, and not
    only when it commits.
    """
    os.utime(at.root / "MEMORY.md", (0, 0))
    at.write(".gitattributes", "*.md filter=nope\n")
    at.git("config", "filter.nope.clean", "false")
    at.git("config", "filter.nope.required", "true")


def _undoing_filter(at: Desk) -> None:
    """The filter undoes the change: git has nothing to commit, and a success would be a lie."""
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
            [
                "commit.template=/nonexistent",
                "commit.cleanup=scissors",
                "commit.verbose=true",
                "core.commentChar=-",
            ],
            [
                "color.ui=always",
                "diff.noprefix=true",
                "status.showUntrackedFiles=no",
                "core.quotePath=true",
            ],
            [
                "log.showSignature=true",
                "log.date=relative",
                "diff.external=false",
                "core.pager=false",
                "alias.commit=!false",
            ],
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
        message = at.world.git(
            at.root,
            "-c",
            "core.commentChar=#",
            "log",
            "-1",
            "--no-show-signature",
            "--format=%B",
            "HEAD~",
        ).stdout
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
        world.git(
            outer,
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            at.root,
            "inner",
        )
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
        assert first.git("status", "--porcelain") == " M ../a-b/MEMORY.md\n".replace(
            "../a-b", "a-b"
        )
        second.apply(Log("x"))
        assert (
            second.git("show", "--format=", "--name-only", "HEAD") == "a-b/memory/2026-03-05.md\n"
        )
        assert first.workspace.state != second.workspace.state

    @pytest.mark.parametrize("eol", ["\r\n", "\n"])
    def test_line_ends_of_the_work_tree_stay(self, world: World, repository: Path, eol: str):
        world.git(repository, "config", "core.autocrlf", "true" if eol == "\r\n" else "input")
        at = desk(world, repository, seed=SEED.replace("\n", eol))
        at.apply(append())
        assert at.read("MEMORY.md") == SEED.replace("Stripe\n", f"Stripe\n{MARK}\n").replace(
            "\n", eol
        )
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
        "name",
        [
            "GIT_DIR",
            "GIT_INDEX_FILE",
            "GIT_WORK_TREE",
            "GIT_COMMON_DIR",
            "GIT_OBJECT_DIRECTORY",
            "GIT_NAMESPACE",
        ],
    )
    def test_what_git_sets_for_hooks_leads_nowhere(
        self, at: Desk, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
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

    @pytest.mark.parametrize("change", [append(file="memory.md"), Remember("x", file="Memory.MD")])
    def test_no_second_curated_file_is_made(self, at: Desk, change: EditSection | Remember):
        refused(at, replace(change, create=True), "bad-path")

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
        assert (
            at.git("-c", "core.quotePath=false", "show", "--format=", "--name-only")
            == f"memory/{name}\n"
        )
        assert at.git("status", "--porcelain") == "?? memory/x.md\n"


class TestSettingsThatCameByACommit:
    @pytest.mark.parametrize("bad", ["budget_lines = 'x'\n", "a = [\n", f"actor = '{'a' * 2000}'"])
    def test_the_last_readable_ones_count_and_nothing_is_written(self, at: Desk, bad: str):
        at.write("mdmem.toml", "budget_lines = 7\n")
        at.commit()
        for broken in (bad, f"# again\n{bad}"):
            at.write("mdmem.toml", broken)
            at.commit()
        assert at.workspace.settings.budget_lines == 7
        memory = Memory.open(at.root, os.environ)
        found = memory.search(Search(query="Oslo"))
        assert found.hits
        assert any("an earlier version is in use" in note for note in found.notes)
        assert any("an earlier version is in use" in note for note in memory.status().notes)
        refused(at, append(), "bad-settings")
        at.write("mdmem.toml", "budget_lines = 8\n")
        assert at.apply(append()).commit

    def test_before_the_first_there_were_none(self, at: Desk):
        at.write("mdmem.toml", "budget_lines = 'x'\n")
        at.commit()
        assert at.workspace.settings == Settings()
        refused(at, append(), "bad-settings")

    def test_a_link_counts_as_one(self, at: Desk):
        (at.root / "mdmem.toml").symlink_to("/dev/zero")
        at.commit()
        assert at.workspace.settings == Settings()

    def test_edits_that_are_not_committed_are_refused_at_once(self, at: Desk):
        at.write("mdmem.toml", "budget_lines = 7\n")
        at.commit()
        at.write("mdmem.toml", "budget_lines = 'x'\n")
        assert code_of(lambda: at.workspace) == "bad-settings"

    def test_the_users_own_are_never_replaced(self, at: Desk):
        at.write("mdmem.toml", "budget_lines = 'x'\n")
        at.commit()
        own = at.world.home / ".config" / "mdmem" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text("budget_lines = 'y'\n")
        assert code_of(lambda: at.workspace) == "bad-settings"
