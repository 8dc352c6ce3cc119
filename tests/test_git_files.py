"""Reading a repository without git gives the same as git."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import NAME, World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workspaces import Desk, desk

from mdmem import repo
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import MdmemError
from mdmem.repo import Repository, branch_commits, git_files
from mdmem.repo.worktree import PathState

HERE = FilePath("MEMORY.md")
BLOB = "78981922613b2afb6025042ff6bd878ac1994e85"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def open_repository(at: Desk) -> Repository:
    return repo.discover(at.root)


def without_shortcuts(at: Desk) -> Repository:
    """A view of the repository that asks git for everything."""
    repository = open_repository(at)
    return replace(repository, is_simple=False)


def identities(repository: Repository) -> tuple[bytes, bytes]:
    return branch_commits.identity_lines(repository, "@1770000001 +0530", None)


class TestFind:
    @pytest.mark.parametrize("folder", ["", "sub", "sub/with blank", "ü/ß"])
    def test_as_git_finds_it(self, at: Desk, folder: str):
        full_path = at.root / folder
        full_path.mkdir(parents=True, exist_ok=True)
        repository = repo.discover(full_path)
        assert repository.is_simple
        expected = at.world.git(
            full_path, "rev-parse", "--show-toplevel", "--absolute-git-dir", "--show-prefix"
        ).stdout.split("\n")[:3]
        assert [str(repository.root), str(repository.git_dir), repository.prefix] == expected

    def test_through_a_link(self, at: Desk, tmp_path: Path):
        (at.root / "sub").mkdir()
        (tmp_path / "link").symlink_to(at.root / "sub")
        repository = repo.discover(tmp_path / "link")
        assert (repository.is_simple, repository.root, repository.prefix) == (True, at.root, "sub/")

    @pytest.mark.parametrize(
        "setting",
        [
            *(
                "core.worktree=..",
                "include.path=more",
                "includeIf.onbranch:main.path=more",
                "core.bare=true",
            ),
            *("extensions.worktreeConfig=true", "core.bare=yes", "core.repositoryFormatVersion=99"),
        ],
    )
    def test_settings_that_mean_more_are_for_git(self, at: Desk, setting: str):
        name, _, value = setting.partition("=")
        at.git("config", name, value)
        assert git_files.find_repository(str(at.root)) is None

    @pytest.mark.parametrize(
        "line",
        [
            "[core] bare = true",
            "[core]worktree=..",
            "[core",
            'bare = true x="',
            "[core]\n\tbare",
            "[a]\nx = y \\",
            "\ufeff[core]",
            "x y",
            '[a "b\\\\c"]',
            '[a "]"]',
        ],
    )
    def test_lines_that_are_not_of_the_usual_form_are_for_git(self, at: Desk, line: str):
        with (at.root / ".git" / "config").open("a") as file:
            file.write(line)
        assert git_files.find_repository(str(at.root)) is None

    def test_settings_of_the_usual_form(self, at: Desk):
        text = '; a\n\n[remote "origin"]\r\n\turl = x#"y z" ; b\n[branch.main]\n# "\n merge-x=\n[Core]\nBARE = false\n'
        with (at.root / ".git" / "config").open("a", newline="") as file:
            file.write(text)
        assert git_files.find_repository(str(at.root)) == (str(at.root), str(at.root / ".git"))

    def test_objects_that_stand_for_others_do_not_count(self, at: Desk):
        at.write("MEMORY.md", "x")
        at.commit()
        at.git("replace", "HEAD", "HEAD~1")
        assert git_files.find_repository(str(at.root)) is not None
        assert not open_repository(at).state(HERE).pending
        assert not repo.discover(at.root).pending()

    def test_what_is_no_folder_at_all_is_for_git(self, at: Desk):
        assert git_files.find_repository(str(at.root / "MEMORY.md")) is None
        with pytest.raises(MdmemError):
            repo.discover(at.root / "MEMORY.md")

    def test_what_is_no_folder_of_its_own_is_for_git(self, at: Desk, tmp_path: Path):
        at.git("worktree", "add", "-q", "--detach", tmp_path / "linked")
        assert git_files.find_repository(str(tmp_path / "linked")) is None
        assert not repo.discover(tmp_path / "linked").is_simple
        at.world.git(tmp_path, "init", "-q", "--bare", "bare.git")
        at.world.git(at.root, "init", "-q", "--bare", "bare.git")
        below = (
            at.root / ".git",
            at.root / ".git" / "refs" / "heads",
            at.root / "bare.git",
            at.root / "bare.git" / "refs",
        )
        for path in (tmp_path, tmp_path / "bare.git", *below, Path("/")):
            assert git_files.find_repository(str(path)) is None

    def test_a_repository_below_another_is_found_first(self, at: Desk):
        inner = at.root / "sub" / "inner"
        inner.mkdir(parents=True)
        at.world.git(inner, "init", "-q")
        assert git_files.find_repository(str(inner)) == (str(inner), str(inner / ".git"))

    def test_a_ceiling_is_for_git(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        (at.root / "sub").mkdir()
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(at.root))
        assert git_files.find_repository(str(at.root / "sub")) is None
        monkeypatch.chdir(at.root)
        monkeypatch.delenv("GIT_CEILING_DIRECTORIES")
        assert git_files.find_repository(str(at.root / "sub")) == (
            str(at.root),
            str(at.root / ".git"),
        )

    def test_a_search_beyond_this_disk_is_for_git(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1")
        assert git_files.find_repository(str(at.root)) is None

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder away")
    def test_a_folder_of_somebody_else_is_for_git(self, at: Desk):
        (at.root / "sub").mkdir()
        os.chown(at.root / "sub", 4321, -1)
        assert git_files.find_repository(str(at.root / "sub")) is None
        assert git_files.find_repository(str(at.root)) is not None

    @pytest.mark.parametrize("version", ["0", "1"])
    def test_one_of_either_format_without_extensions(self, at: Desk, version: str):
        at.git("config", "core.repositoryFormatVersion", version)
        assert git_files.find_repository(str(at.root)) is not None

    @pytest.mark.parametrize("name", ["HEAD", "config", "objects", "refs"])
    def test_a_broken_one_is_for_git(self, at: Desk, name: str):
        (at.root / ".git" / name).rename(at.root / ".git" / "elsewhere")
        assert git_files.find_repository(str(at.root)) is None


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
        ("sequencer", "a cherry-pick or revert"),
        ("BISECT_LOG", "a bisect"),
        ("ORIG_HEAD", None),
    ],
)
def test_what_git_is_in_the_middle_of(at: Desk, name: str, operation: str | None):
    at.write(f".git/{name}", "")
    assert git_files.operation_under_way(str(at.root / ".git")) == operation


class TestHead:
    def test_a_detached_one_is_read(self, at: Desk):
        at.git("checkout", "-q", "--detach")
        assert git_files.read_head(str(at.root / ".git")) == (
            None,
            at.git("rev-parse", "HEAD").strip(),
        )

    @pytest.mark.parametrize(
        "prepare",
        [
            lambda at: None,
            lambda at: at.git("switch", "-q", "-c", "topic/one"),
            lambda at: at.git("switch", "-q", "-c", "größer"),
            lambda at: at.git("switch", "-q", "--orphan", "empty"),
            lambda at: at.git("checkout", "-q", "--detach"),
            lambda at: at.git("pack-refs", "--all"),
            lambda at: (
                at.git("branch", "mainly"),
                at.git("tag", "-a", "-m", "x", "v1"),
                at.git("gc", "-q"),
            ),
            lambda at: (
                at.git("pack-refs", "--all"),
                at.git("commit", "-q", "--allow-empty", "-m", "x"),
            ),
            lambda at: (at.git("pack-refs", "--all"), at.git("switch", "-q", "--orphan", "ain")),
            lambda at: at.git("symbolic-ref", "HEAD", "refs/mine/main"),
        ],
    )
    def test_as_git_says_it(self, at: Desk, prepare: Callable[[Desk], object]):
        prepare(at)
        assert (open_repository(at).head(), open_repository(at).branch()) == (
            without_shortcuts(at).head(),
            without_shortcuts(at).branch(),
        )

    @pytest.mark.parametrize(
        "lines",
        ["", "# pack-refs with: peeled fully-peeled sorted \n", f"{BLOB} refs/heads/another\n"],
    )
    @pytest.mark.parametrize(
        "rest", ["", f"{BLOB} refs/heads/mainly\n", f"{BLOB} refs/tags/v1\n^{BLOB}\n"]
    )
    def test_a_packed_branch_is_read(self, at: Desk, lines: str, rest: str):
        commit = at.git("rev-parse", "HEAD").strip()
        (at.root / ".git" / "refs" / "heads" / "main").unlink()
        (at.root / ".git" / "packed-refs").write_text(f"{lines}{commit} refs/heads/main\n{rest}")
        assert git_files.read_head(str(at.root / ".git")) == ("main", commit)
        (at.root / ".git" / "packed-refs").write_text(f"{lines}a{commit} refs/heads/main\n{rest}")
        assert git_files.read_head(str(at.root / ".git")) is None

    def test_a_branch_without_a_commit_beside_packed_ones(self, at: Desk):
        at.git("pack-refs", "--all")
        at.git("symbolic-ref", "HEAD", "refs/heads/new")
        assert git_files.read_head(str(at.root / ".git")) == ("new", None)

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b"0" * 40 + b"\n",
            b"x" * 40 + b"\n",
            b"X" * 40 + b"\n",
            b"1" * 39 + b"\n",
            b"ref: refs/heads/other\n",
        ],
    )
    def test_a_branch_that_in_another_form_is_for_git(self, at: Desk, text: bytes):
        (at.root / ".git" / "refs" / "heads" / "main").write_bytes(text)
        assert git_files.read_head(str(at.root / ".git")) is None

    def test_a_branch_that_is_a_link_is_for_git(self, at: Desk):
        heads = at.root / ".git" / "refs" / "heads"
        (heads / "main").rename(heads / "other")
        (heads / "main").symlink_to("other")
        assert git_files.read_head(str(at.root / ".git")) is None

    @pytest.mark.parametrize(
        ("name", "is_simple"),
        [
            *(
                (name, True)
                for name in ("HEAD", "-a", "a.b/c", "refs/heads/main", "a.lock.b", "a_b")
            ),
            *(
                (name, False)
                for name in (
                    "a.lock",
                    ".a",
                    "a/.b",
                    "a..b",
                    "a//b",
                    "a/",
                    "/a",
                    "a.",
                    "a.lock/b",
                    "@",
                    "a@{b",
                    "ü",
                )
            ),
        ],
    )
    def test_names_of_branches(self, at: Desk, name: str, is_simple: bool):
        (at.root / ".git" / "HEAD").write_text(f"ref: refs/heads/{name}\n")
        result = at.world.git(at.root, "symbolic-ref", "HEAD", check=False)
        assert git_files.read_head(str(at.root / ".git")) == ((name, None) if is_simple else None)
        assert not is_simple or result.stdout == f"refs/heads/{name}\n"

    @pytest.mark.parametrize(
        "text",
        [
            "ref: refs/heads/../x\n",
            "ref: refs/heads/\n",
            "ref: refs/heads/a b\n",
            "ref: refs/heads/main",
            "",
            "x\n",
        ],
    )
    def test_a_head_that_in_another_form_is_for_git(self, at: Desk, text: str):
        (at.root / ".git" / "HEAD").write_text(text)
        assert git_files.read_head(str(at.root / ".git")) is None


def unmerge(at: Desk) -> None:
    entries = "".join(f"100644 {BLOB} {stage}\tother.md\n" for stage in (1, 2, 3))
    at.world.git(at.root, "hash-object", "-w", "--stdin", stdin="a\n")
    at.world.git(at.root, "update-index", "--index-info", stdin=entries)


STEPS: dict[str, Callable[[Desk], object]] = {
    "edit": lambda at: at.write("MEMORY.md", (at.root / "MEMORY.md").read_text() + "- more\n"),
    "back": lambda at: at.git("checkout", "-q", "HEAD", "--", "MEMORY.md", check=False),
    "commit": lambda at: at.git("commit", "-qam", "x", check=False),
    "only": lambda at: at.git("commit", "-qm", "x", "--only", "--", "MEMORY.md", check=False),
    "stage": lambda at: at.git("add", "MEMORY.md", check=False),
    "other": lambda at: (at.write("other.md", "a\n"), at.git("add", "other.md")),
    "intend": lambda at: (at.write("new.md", "a\n"), at.git("add", "-N", "new.md")),
    "unstage": lambda at: at.git("rm", "-q", "--cached", "MEMORY.md", check=False),
    "unmerge": unmerge,
    "mode": lambda at: (at.root / "MEMORY.md").chmod(0o755),
    "mode back": lambda at: (at.root / "MEMORY.md").chmod(0o644),
    "reset": lambda at: at.git("reset", "-q", "--hard"),
    "backwards": lambda at: at.git("reset", "-q", "--soft", "HEAD~1", check=False),
    "pack": lambda at: at.git("gc", "-q"),
    "switch": lambda at: at.git("switch", "-q", "-C", "side", check=False),
    "skip": lambda at: at.git("update-index", "--skip-worktree", "MEMORY.md", check=False),
    "assume": lambda at: at.git("update-index", "--assume-unchanged", "MEMORY.md", check=False),
    "split": lambda at: at.git("update-index", "--split-index", check=False),
    "version": lambda at: at.git("update-index", "--index-version", "4", check=False),
    "like it": lambda at: (
        at.write("sub/MEMORY.md", (at.root / "MEMORY.md").read_text()),
        at.git("add", "sub"),
    ),
    "line ends": lambda at: at.write(".gitattributes", "*.md text eol=crlf\n"),
    "carriage returns": lambda at: at.write("MEMORY.md", "# Memory\r\n\r\n- a\r\n"),
    "ident": lambda at: (
        at.write("MEMORY.md", "$Id: x $\n"),
        at.git("commit", "-qam", "x", check=False),
        at.write(".gitattributes", "*.md ident\n"),
    ),
    "filter": lambda at: (
        at.git("config", "filter.up.clean", "tr a-z A-Z"),
        at.write("sub/.gitattributes", "*.md filter=up\n"),
    ),
    "own filter": lambda at: (
        at.git("config", "filter.up.clean", "tr a-z A-Z"),
        at.write(".git/info/attributes", "*.md filter=up\n"),
    ),
    "person's filter": lambda at: (
        at.git("config", "filter.up.clean", "tr a-z A-Z"),
        (at.world.home / ".config/git").mkdir(parents=True, exist_ok=True),
        (at.world.home / ".config/git/attributes").write_text("*.md filter=up\n"),
    ),
    "unfiltered": lambda at: at.write(".git/info/attributes", ""),
    "old": lambda at: [
        os.utime(at.root / name, (1, 1))
        for name in ("MEMORY.md", "sub/MEMORY.md")
        if (at.root / name).is_file()
    ],
    "linked": lambda at: (
        (at.root / "sub").is_dir()
        and not (at.root / "sub").is_symlink()
        and [(at.root / "sub").rename(at.root / "else"), (at.root / "sub").symlink_to("else")]
    ),
    "replace": lambda at: at.git("replace", "-f", "HEAD", "HEAD~1", check=False),
    "replace no more": lambda at: at.git("replace", "-d", "HEAD", check=False),
}


def begin_again(at: Desk) -> None:
    """Bring the repository back to its first commit, whatever an earlier example did to it."""
    for path in (
        at.root / ".git/info/attributes",
        at.world.home / ".config/git/attributes",
        at.root / ".git/index",
    ):
        path.unlink(missing_ok=True)
    for name in at.git("replace", "-l").split():
        at.git("replace", "-d", name)
    shutil.rmtree(at.root / ".git" / "refs" / "replace", ignore_errors=True)
    at.git("reset", "-q", "--hard", at.git("rev-list", "--max-parents=0", "HEAD").strip())
    at.git("clean", "-fdq")


class TestState:
    @settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=6))
    def test_what_is_settled_is_so_for_git(self, at: Desk, steps: list[str]):
        begin_again(at)
        for name in steps:
            STEPS[name](at)
        by_git = without_shortcuts(at)
        for path in (HERE, FilePath("other.md"), FilePath("sub/MEMORY.md")):
            state = open_repository(at).state(path)
            if state.settled:
                expected = by_git.state(path)
                assert (state.commit, state.branch, state.tracked) == (
                    expected.commit,
                    expected.branch,
                    expected.tracked,
                )
                assert (
                    (state.pending, state.ignored)
                    == (expected.pending, expected.ignored)
                    == (False, False)
                )
                assert at.git("diff", "--cached", "--name-only") + at.git("ls-files", "-u") == ""

    @pytest.mark.parametrize(
        ("steps", "settled"),
        [
            ([], True),
            (["edit", "only"], True),
            (["edit", "commit", "switch", "edit", "only"], True),
            (["edit"], False),
            (["unmerge"], False),
            (["other"], False),
            (["intend"], False),
            (["pack"], False),
            (["mode"], False),
            (["mode", "only"], True),
            (["skip"], False),
            (["version"], False),
            (["carriage returns", "only", "line ends", "old"], False),
            (["ident", "old"], False),
            (["own filter", "old"], False),
            (["own filter", "unfiltered"], True),
            (["person's filter", "old"], False),
        ],
    )
    def test_when_it_is_settled(self, at: Desk, steps: list[str], settled: bool):
        at.git("commit", "-q", "--amend", "--no-edit")
        for name in steps:
            STEPS[name](at)
        assert open_repository(at).state(HERE).settled == settled

    @pytest.mark.parametrize(
        ("steps", "settled"), [([], True), (["linked"], False), (["filter"], False)]
    )
    def test_below_the_root_of_the_workspace(self, at: Desk, steps: list[str], settled: bool):
        STEPS["like it"](at)
        at.git("commit", "-qm", "x")
        at.git("commit", "-q", "--amend", "--no-edit")
        for name in steps:
            STEPS[name](at)
        state = open_repository(at).state(FilePath("sub/MEMORY.md"))
        assert (state.settled, state.pending) == (
            settled,
            without_shortcuts(at).state(FilePath("sub/MEMORY.md")).pending,
        )

    @pytest.mark.parametrize(
        ("name", "is_readable", "first"),
        [
            (b"UNTR", True, False),
            (b"IEOT", True, True),
            (b"link", False, True),
            (b"sdir", False, False),
            (b"news", False, False),
        ],
    )
    def test_what_git_must_know_to_read_an_index(
        self, at: Desk, name: bytes, is_readable: bool, first: bool
    ):
        at.git("commit", "-q", "--amend", "--no-edit")
        index = at.root / ".git" / "index"
        data = index.read_bytes()
        offset = data.index(b"TREE") if first else len(data) - 20
        index.write_bytes(data[:offset] + name + b"\0\0\0\3abc" + data[offset:])
        is_clean = git_files.is_clean(
            str(at.root / ".git"),
            at.git("rev-parse", "HEAD:").strip(),
            b"MEMORY.md",
            at.git("rev-parse", "HEAD:MEMORY.md").strip(),
            False,
        )
        assert is_clean == is_readable

    @pytest.mark.parametrize(
        ("path", "is_overlooked"),
        [
            ("plain.md", False),
            ("none.md", False),
            ("assumed.md", True),
            ("skipped.md", True),
            ("d/plain.md", False),
        ],
    )
    def test_a_file_that_git_does_not_look_at(self, at: Desk, path: str, is_overlooked: bool):
        for name in ("plain.md", "assumed.md", "skipped.md", "d/plain.md"):
            at.write(name, "x")
        at.commit()
        at.git("update-index", "--assume-unchanged", "assumed.md")
        at.git("update-index", "--skip-worktree", "skipped.md")
        assert git_files.may_be_overlooked(str(at.root / ".git"), path.encode()) == is_overlooked
        at.git("update-index", "--index-version", "4")
        assert git_files.may_be_overlooked(str(at.root / ".git"), path.encode())

    def test_a_file_whose_entry_is_in_the_shared_part_of_a_split_index(self, at: Desk):
        at.git("update-index", "--assume-unchanged", "MEMORY.md")
        at.git("update-index", "--split-index")
        assert git_files.may_be_overlooked(str(at.root / ".git"), b"MEMORY.md")

    def test_in_a_workspace_below_the_root(self, world: World, repository: Path):
        at = desk(world, repository, "sub")
        at.git("commit", "-q", "--amend", "--no-edit")
        expected = PathState(
            commit=open_repository(at).head(),
            branch="main",
            pending=False,
            ignored=False,
            tracked=True,
            settled=True,
            bits=(),
        )
        assert open_repository(at).state(HERE) == expected


class TestObjects:
    def test_the_blob_of_a_file_in_a_commit(self, at: Desk):
        at.write("memory/deep/er/2026-03-05.md", "- a\n")
        (at.root / "memory" / "run.md").write_text("x")
        (at.root / "memory" / "run.md").chmod(0o755)
        (at.root / "memory" / "link.md").symlink_to("run.md")
        at.git("add", ".")
        at.git("commit", "-qm", "x")
        git_dir, commit = str(at.root / ".git"), open_repository(at).head()
        assert commit is not None
        for path in ("MEMORY.md", "memory/deep/er/2026-03-05.md", "memory/run.md"):
            assert (
                git_files.blob_at(git_dir, commit, os.fsencode(path))
                == at.git("rev-parse", f"HEAD:{path}").strip()
            )
        for path in (
            "none.md",
            "memory",
            "memory/none.md",
            "memory/link.md",
            "none/MEMORY.md",
            "MEMORY.md/x",
        ):
            assert git_files.blob_at(git_dir, commit, os.fsencode(path)) is None
        at.git("gc", "-q")
        assert git_files.blob_at(git_dir, commit, b"MEMORY.md") is None

    def test_the_first_parent_of_a_commit(self, at: Desk):
        git_dir, first = str(at.root / ".git"), open_repository(at).head()
        at.git("commit", "-q", "--allow-empty", "-m", "x")
        second = open_repository(at).head()
        assert first is not None
        assert second is not None
        assert [
            git_files.has_parent(git_dir, first, parent) for parent in (None, first, second)
        ] == [True, False, False]
        assert [
            git_files.has_parent(git_dir, second, parent) for parent in (None, first, second)
        ] == [False, True, False]
        at.git("gc", "-q")
        assert [
            git_files.has_parent(git_dir, commit, parent)
            for commit, parent in ((first, None), (second, first))
        ] == [False, False]

    def test_of_files_whose_names_have_each_other_in_them(self, at: Desk):
        names = ("z.md", "copy z.md", "100644 z.md", "x 100644 z.md", "z.md 100644 z.md")
        for number, name in enumerate(names):
            at.write(f"memory/{name}", f"{number}\n")
        at.git("add", ".")
        at.git("commit", "-qm", "x")
        commit = open_repository(at).head()
        assert commit is not None
        for name in names:
            blob = git_files.blob_at(str(at.root / ".git"), commit, os.fsencode(f"memory/{name}"))
            assert blob == at.git("rev-parse", f"HEAD:memory/{name}").strip()

    @pytest.mark.parametrize(
        "damage", [lambda data: b"", lambda data: data[:-5], lambda data: b"x" + data]
    )
    def test_a_damaged_object_is_for_git(self, at: Desk, damage: Callable[[bytes], bytes]):
        commit = open_repository(at).head()
        assert commit is not None
        path = at.root / ".git" / "objects" / commit[:2] / commit[2:]
        path.chmod(0o644)
        path.write_bytes(damage(path.read_bytes()))
        assert git_files.tree_of(str(at.root / ".git"), commit) is None

    @pytest.mark.parametrize(
        "tree",
        [
            b"100644 MEMORY.md",
            b"100644 a\0" + b"x" * 20 + b"40000",
            b"100644 MEMORY.md\0short",
            b"\0",
        ],
    )
    def test_a_tree_that_is_none_is_for_git(self, at: Desk, tmp_path: Path, tree: bytes):
        (tmp_path / "tree").write_bytes(tree)
        name = at.git("hash-object", "-t", "tree", "-w", "--literally", tmp_path / "tree").strip()
        text = f"tree {name}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n"
        commit = at.world.git(
            at.root, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=text
        ).stdout.strip()
        assert git_files.blob_at(str(at.root / ".git"), CommitId(commit), b"MEMORY.md") is None


def names_a_person(at: Desk) -> bool:
    settings = git_files.read_settings(str(at.root / ".git"))
    return settings is not None and None not in (
        settings.person("AUTHOR"),
        settings.person("COMMITTER"),
    )


class TestSettings:
    @pytest.mark.parametrize(
        ("text", "is_plain"),
        [
            ("[user]\n\tname = Ada Example\n\temail = ada@example.org\n", True),
            (
                '[core]\n\tautocrlf = false\n[remote "o"]\n\turl = x\n[alias]\n\tst = status\n[filter "lfs"]\n\trequired = true\n',
                True,
            ),
            ("# a\n; b\n\n[commit]\n\tverbose = true # always\n", True),
            ('[user]\n\tname = "a" b\n', True),
            ('[core]\n\tautocrlf = "fal"se\n', True),
            ("[commit]\n\tx1 = a\n", True),
            ("[commit]\n\ta.b = c\n", False),
            ("[commit]\n\tverbose\n", False),
            ("[core]\n\tautocrlf\n", False),
            ("[include]\n\tpath = x\n", False),
            ('[includeIf "gitdir:x"]\n\tpath = x\n', False),
            ("[user] name = Ada\n", False),
            ("[user]\n\tname = Ada \\\n\tExample\n", False),
            ('[user]\n\tname = "a b\n', False),
            ("name = Ada\n", False),
        ],
    )
    def test_which_are_read_without_git(self, at: Desk, text: str, is_plain: bool):
        (at.world.home / ".gitconfig").write_text(text)
        assert (git_files.read_settings(str(at.root / ".git")) is not None) == is_plain

    @pytest.mark.parametrize(
        ("written", "value"),
        [
            ("a b", "a b"),
            ("XX", "XX"),
            ("a b  # c", "a b"),
            ("a b;c", "a b"),
            ('"a # b"', "a # b"),
            ('"a b"# c', "a b"),
            ('"a b" # c', "a b"),
            ('"a b" ; c', "a b"),
            ('""', ""),
        ],
    )
    def test_their_values_are_those_of_git(self, at: Desk, written: str, value: str):
        (at.world.home / ".gitconfig").write_text(f"[mdmem]\n\ttest = {written}\n")
        values = git_files.read_settings(str(at.root / ".git"))
        assert values is not None
        assert values.values[b"mdmem", b"test"] == value.encode()
        assert at.git("config", "mdmem.test") == f"{value}\n"

    @pytest.mark.parametrize("written", ['a "b"', '"a" b', '"a'])
    def test_a_value_of_which_a_part_is_quoted_is_for_git(self, at: Desk, written: str):
        (at.world.home / ".gitconfig").write_text(f"[mdmem]\n\ttest = {written}\n")
        values = git_files.read_settings(str(at.root / ".git"))
        assert values is None or values.values[b"mdmem", b"test"] is None

    @pytest.mark.parametrize(
        ("no_system", "system", "is_read", "expected"),
        [
            ("1", None, True, None),
            ("1", "its", True, None),
            ("", "its", True, b"yes"),
            ("0", "its", True, b"yes"),
            ("false", "its", True, b"yes"),
            ("true", "its", True, None),
            ("", "relative", False, None),
        ],
    )
    def test_of_the_system(
        self,
        at: Desk,
        monkeypatch: pytest.MonkeyPatch,
        no_system: str,
        system: str | None,
        is_read: bool,
        expected: bytes | None,
    ):
        (at.world.home / "its").write_text("[mdmem]\n\ttest = yes\n")
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", no_system)
        if system:
            monkeypatch.setenv(
                "GIT_CONFIG_SYSTEM", str(at.world.home / system) if system == "its" else system
            )
        values = git_files.read_settings(str(at.root / ".git"))
        assert (values is not None) == is_read
        if values:
            assert values.values.get((b"mdmem", b"test")) == expected

    @pytest.mark.parametrize(("folder", "is_read"), [("/usr/bin", True), ("bin", False)])
    def test_of_a_git_that_is_elsewhere(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str, is_read: bool
    ):
        """Only for some folders it is known where the system's settings are."""
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "git").symlink_to(shutil.which("git") or "")
        monkeypatch.delenv("GIT_CONFIG_NOSYSTEM")
        monkeypatch.setenv(
            "PATH", os.pathsep.join((str(tmp_path / "none"), str(tmp_path / folder), "/elsewhere"))
        )
        if is_read and not Path("/usr/bin/git").exists():
            pytest.skip("git is elsewhere here")
        assert (git_files.read_settings(str(at.root / ".git")) is not None) == is_read

    def test_the_environment_comes_first(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("GIT_AUTHOR_NAME", "Bo")
        values = git_files.read_settings(str(at.root / ".git"))
        assert values is not None
        assert (values.person("AUTHOR"), values.person("COMMITTER")) == (
            b"Bo <ada@example.org>",
            f"{NAME} <ada@example.org>".encode(),
        )
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(at.world.home / "none"))
        assert git_files.read_settings(str(at.root / ".git")) is not None
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "maybe")
        assert git_files.read_settings(str(at.root / ".git")) is None


class TestPeople:
    @pytest.mark.parametrize("name", ["Ada", "Ada Ä. Example", "a.b", "x y"])
    def test_as_git_writes_them(self, at: Desk, name: str):
        at.git("config", "user.name", name)
        values = git_files.read_settings(str(at.root / ".git"))
        expected = at.git("var", "GIT_AUTHOR_IDENT").rsplit(" ", 2)[0]
        assert values is not None
        assert (values.person("AUTHOR") or b"").decode() == expected

    @pytest.mark.parametrize("name", ["Ada.", ".Ada", "A<da", "", "'Ada'", "A\\da"])
    def test_out_of_whose_names_git_takes_signs(self, at: Desk, name: str):
        at.git("config", "user.name", name)
        values = git_files.read_settings(str(at.root / ".git"))
        assert values is None or values.person("AUTHOR") is None

    @pytest.mark.parametrize(
        ("written", "name", "is_read"),
        [
            ("[Mdmem]\n\tTest = a b # c\n", "mdmem.test", True),
            ("[mdmem]\n\ttest = a\n\ttest =\n", "mdmem.Test", True),
            ("[mdmem]\n\tother = a\n", "mdmem.test", True),
            ("[mdmem]\n\ttest = a\n", "mdmem.sub.test", True),
            ('[mdmem "sub"]\n\ttest = a\n', "mdmem.test", True),
            ('[branch "Ä.b/c"]\n\tmerge = ü\n', "branch.Ä.b/c.merge", True),
            ('[branch "Main"]\n\tmerge = a\n', "branch.main.merge", True),
            ('[BRANCH "Main"]\n\tMERGE = a\n', "branch.Main.merge", True),
            ("[branch.Main]\n\tmerge = a\n", "branch.main.merge", True),
            ("[branch.Main]\n\tmerge = a\n", "branch.Main.merge", True),
            ('[mdmem]\n\ttest = a "b"\n', "mdmem.test", False),
            ("[mdmem]\n\ttest\n", "mdmem.test", False),
        ],
    )
    def test_one_setting_is_that_of_git(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, written: str, name: str, is_read: bool
    ):
        (at.world.home / ".gitconfig").write_text(written)
        value = without_shortcuts(at).setting(name)
        monkeypatch.setenv("PATH", "")
        if is_read:
            assert open_repository(at).setting(name) == value
        else:
            with pytest.raises(MdmemError):
                open_repository(at).setting(name)

    @pytest.mark.parametrize(
        ("user_config", "repository_config", "is_complete"),
        [
            ("[user]\n\tname = Ada\n\temail = ada@example.org\n", "", True),
            ('[user]\nname="Ada"\nemail=a@b ; mine\n[core]\nname = x\n', "", True),
            ("[user]\nname = Ada\n", "[user]\nemail = a@b\n", True),
            ("", "[user]\nemail = a@b\nname = Ada\n", True),
            ("[user]\n\tname = Ada\n", "", False),
            ("[user]\nname = Ada\nemail =\n", "", False),
            ("[user]\nname = Ada\nemail = # none\n", "", False),
            ("[user]\nname = Ada\nemail = a@b\n", "[user]\nname =\n", False),
            ("[core]\nname = Ada\nemail = a@b\n", "", False),
            ("[user]\nname = Ada\nemail = a@b\n[include]\npath = more\n", "", False),
            ("[user]\nname = Ada\nemail = a@b\n[author]\nname =\n", "", True),
            ('[user "x"]\nname = Ada\nemail = a@b\n', "", False),
            ("[user] name = Ada\nemail = a@b\n", "", False),
            ("[user]\nname = Ada\nemail = a@b\n", "[user]name=\n", False),
            ("[user]\nname = Ada\nemail = a@b\n", "[user] # me\nname=\n", False),
            ('[user]\nname = "" # none\nemail = a@b\n', "", False),
            ('[user]\nname = " "\nemail = a@b\n', "", False),
            ("[user]\nname = Ada\nemail\n", "", False),
            ("\ufeff[user]\nname = Ada\nemail = a@b\n", "", False),
            ("[user]\nname = Ada\remail = a@b\n", "", False),
            ("[USER]\r\nName = Ölrun\r\nEMAIL = a@b\r\n", "", True),
        ],
    )
    def test_who_commits(
        self, at: Desk, user_config: str, repository_config: str, is_complete: bool
    ):
        (at.world.home / ".gitconfig").write_bytes(user_config.encode())
        config = at.root / ".git" / "config"
        config.write_text(
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n" + repository_config
        )
        assert names_a_person(at) == is_complete
        if is_complete:
            assert without_shortcuts(at).identity_known()
            assert (
                len({identities(each) for each in (open_repository(at), without_shortcuts(at))})
                == 1
            )

    def test_in_the_file_that_the_environment_names(
        self, at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        at.git("config", "--remove-section", "user")
        (tmp_path / "other").write_text("[user]\nname = Ada\nemail = a@b\n")
        assert not open_repository(at).identity_known()
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "other"))
        assert names_a_person(at)
        assert without_shortcuts(at).identity_known()

    @pytest.mark.parametrize("name", ["GIT_CONFIG_GLOBAL", "HOME"])
    def test_what_is_not_a_whole_path_is_for_git(
        self, at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ):
        at.git("config", "--remove-section", "user")
        (tmp_path / ".gitconfig").write_text("[user]\nname = Ada\nemail = a@b\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv(name, ".gitconfig" if name == "GIT_CONFIG_GLOBAL" else ".")
        assert not names_a_person(at)

    @pytest.mark.parametrize(
        "config", ["[user]\nname = Ada\n", "[user]\nname = Ada\nemail = a@b\n"]
    )
    def test_the_address_that_the_environment_has(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, config: str
    ):
        at.git("config", "--remove-section", "user")
        (at.world.home / ".gitconfig").write_text(config)
        monkeypatch.setenv("EMAIL", "ada@example.org")
        assert names_a_person(at)
        assert without_shortcuts(at).identity_known()
        values = git_files.read_settings(str(at.root / ".git"))
        at.world.environment["EMAIL"] = "ada@example.org"
        expected = at.git("var", "GIT_AUTHOR_IDENT")
        assert values is not None
        assert values.person("AUTHOR") == expected[: expected.index(">") + 1].encode()

    def test_where_only_the_settings_are_to_count(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        at.git("config", "--remove-section", "user")
        (at.world.home / ".gitconfig").write_text("[user]\nname = Ada\nuseConfigOnly = true\n")
        monkeypatch.setenv("EMAIL", "ada@example.org")
        assert not names_a_person(at)
        assert not without_shortcuts(at).identity_known()
        at.git("config", "user.useConfigOnly", "off")
        assert names_a_person(at)
        assert without_shortcuts(at).identity_known()

    def test_the_last_word_counts(self, at: Desk):
        (at.world.home / ".gitconfig").write_text("[user]\nname = Ada\nemail = a@b\n")
        assert open_repository(at).identity_known()
        at.git("config", "user.name", "")
        assert at.world.git(at.root, "var", "GIT_AUTHOR_IDENT", check=False).returncode
        assert not open_repository(at).identity_known()
