"""A work tree as git tells of it: names of commits, settings, and when no commit may be made."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import World
from opened_repository import at as at
from opened_repository import head
from opened_repository import opened as opened
from workspaces import SEED, Desk, gits

from mdmem import repo
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import MdmemError
from mdmem.repo import Repository
from mdmem.repo.worktree import PathState

NONE = "a" * 40


class TestCommits:
    @pytest.mark.parametrize("name", ["HEAD", "main", "v1", "-v2", "@", "HEAD~0", "main@{0}"])
    def test_by_any_name_that_git_takes(self, at: Desk, opened: Repository, name: str):
        at.git("tag", "-a", "-m", "x", "v1")
        at.git("update-ref", "refs/tags/-v2", "HEAD")
        assert opened.commit_named(name) == head(at)
        assert opened.commit_named(head(at)) == opened.commit_named(head(at)[:8]) == head(at)

    def test_a_tag_is_not_taken_for_the_beginning_of_an_id(self, at: Desk, opened: Repository):
        first = head(at)
        second = at.commit("second")
        for digits in (7, 8, 12):
            at.git("tag", second[:digits], first)
            assert opened.commit_named(second[:digits]) == second
            assert opened.commit_named(f"{second[:digits]}~1") == first
        at.git("tag", "deadbeef", first)
        assert opened.commit_named("deadbeef") == first

    @pytest.mark.parametrize(
        "name",
        [
            "",
            "none",
            "-v1",
            "--all",
            "HEAD\n",
            "HEAD\0",
            "\udcff",
            "HEAD:sub/MEMORY.md",
            "HEAD^{tree}",
            NONE,
        ],
    )
    def test_none_by_another(self, at: Desk, opened: Repository, name: str):
        assert opened.commit_named(name) is None

    def test_which_are_there_and_which_lead_to_head(self, at: Desk, opened: Repository):
        first = head(at)
        at.git("switch", "-q", "-c", "side")
        side = CommitId(at.commit("side"))
        at.git("switch", "-q", "main")
        last = CommitId(at.commit("last"))
        assert [opened.has(commit) for commit in (first, side, last, CommitId(NONE))] == [
            True,
            True,
            True,
            False,
        ]
        assert [opened.is_ancestor(commit) for commit in (first, side, last, CommitId(NONE))] == [
            True,
            False,
            True,
            False,
        ]
        blob = CommitId(at.git("rev-parse", "HEAD:./MEMORY.md").strip())
        assert not opened.has(blob)

    def test_where_a_history_is_cut_off(
        self, world: World, at: Desk, opened: Repository, tmp_path: Path
    ):
        assert (opened.is_shallow(), opened.shallow_commits()) == (False, frozenset())
        boundary = at.commit("second")
        at.commit("third")
        world.git(tmp_path, "clone", "-q", "--depth=2", f"file://{opened.root}", "copy")
        copy = repo.discover(tmp_path / "copy")
        assert (copy.is_shallow(), copy.shallow_commits()) == (True, {boundary})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(
            (None, None),
            ("", ""),
            ("a b", "a b"),
            ("\N{SNOWMAN}", "\N{SNOWMAN}"),
            ("a\nb", "a\nb"),
            (" a ", " a "),
            ("a\n", "a\n"),
        ),
        ("caf\udce9", "caf\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_settings(at: Desk, opened: Repository, value: str | None, expected: str | None):
    if value is not None:
        at.git("config", "mdmem.test", value)
    assert opened.setting("mdmem.test") == expected


def test_a_branch_of_any_name_before_its_first_commit_and_after(at: Desk, opened: Repository):
    path, shown = FilePath("MEMORY.md"), "caf\N{REPLACEMENT CHARACTER}"
    at.git("symbolic-ref", "HEAD", "refs/heads/caf\udce9")
    assert (opened.state(path).commit, opened.state(path).branch, opened.branch()) == (
        None,
        shown,
        shown,
    )
    at.commit()
    assert (opened.state(path).commit, opened.state(path).branch, opened.branch()) == (
        head(at),
        shown,
        shown,
    )


@pytest.mark.parametrize(
    ("sections", "has_both"),
    [
        (("user",), True),
        (("author", "committer"), True),
        (("author",), False),
        (("committer",), False),
    ],
)
def test_who_commits(
    at: Desk,
    opened: Repository,
    monkeypatch: pytest.MonkeyPatch,
    sections: tuple[str, ...],
    has_both: bool,
):
    """Git is asked where it alone can tell, and where nobody is named."""
    at.git("config", "--remove-section", "user")
    for section in sections:
        at.git("config", f"{section}.name", "Ada")
        at.git("config", f"{section}.email", "ada@example.org")
    started = gits(monkeypatch)
    assert opened.identity_known() == has_both
    assert started == ([] if opened.is_simple and has_both else ["config"])


def test_seen_from_another_folder(at: Desk, opened: Repository):
    for name in ("a.md", "caf\udce9.md"):
        at.write(f"deep/er/{name}", "x\n")
    commit = CommitId(at.commit())
    moved = opened.at_folder(at.root / "deep" / "er")
    assert (
        moved.prefix,
        opened.at_folder(opened.root).prefix,
        opened.at_folder(at.root).prefix,
    ) == ("sub/deep/er/", "", "sub/")
    assert moved.read(commit, [FilePath("a.md"), FilePath("caf\udce9.md")]) == {
        "a.md": b"x\n",
        "caf\udce9.md": b"x\n",
    }
    assert moved.tracked() == {"a.md", "caf\udce9.md"}
    assert opened.at_folder(opened.root).read(commit, [FilePath("sub/MEMORY.md")]) == {
        "sub/MEMORY.md": SEED.encode()
    }


def test_where_hooks_are(at: Desk, opened: Repository, tmp_path: Path):
    assert opened.hooks_dir == opened.git_dir / "hooks"
    assert opened.known_hooks_dir == (opened.git_dir / "hooks" if opened.is_simple else None)
    at.git("config", "core.hooksPath", tmp_path / "elsewhere")
    assert opened.hooks_dir == tmp_path / "elsewhere"
    assert opened.known_hooks_dir is None


def by_git(at: Desk) -> Repository:
    """A view of the repository that asks git for everything."""
    return replace(repo.discover(at.root), is_simple=False)


OPERATIONS: dict[str, Callable[[Desk], object]] = {
    "merge": lambda at: at.git("merge", "-q", "side", check=False),
    "rebase": lambda at: at.git("rebase", "-q", "side", check=False),
    "a rebase": lambda at: at.git("rebase", "-q", "--apply", "side", check=False),
    "cherry-pick or revert": lambda at: (
        at.git("revert", "--no-edit", "HEAD~", "HEAD", check=False),
        at.git("commit", "-qam", "x"),
    ),
    "cherry-pick": lambda at: at.git("cherry-pick", "side", check=False),
    "revert": lambda at: at.git("revert", "--no-edit", "HEAD~", check=False),
    "bisect": lambda at: at.git("-C", "..", "bisect", "start"),
}


class TestReady:
    """A commit is made on a branch, and never while git is in the midst of something."""

    @pytest.fixture
    def at(self, at: Desk) -> Desk:
        at.git("switch", "-q", "-c", "side")
        at.write("MEMORY.md", "theirs\n")
        at.commit("side")
        at.git("switch", "-q", "main")
        for text in ("ours\n", "ours again\n"):
            at.write("MEMORY.md", text)
            at.commit("main")
        return at

    def test_it_is(self, opened: Repository):
        opened.require_ready(allow_detached=False, branch="main")
        opened.require_ready(allow_detached=True, branch=None)
        assert opened.under_way() is None

    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_an_operation_is_named(self, at: Desk, opened: Repository, operation: str):
        OPERATIONS[operation](at)
        for settled in (False, True):
            with pytest.raises(
                MdmemError, match=f"{operation} is under way in this repository"
            ) as failure:
                opened.require_ready(allow_detached=True, branch="main", settled=settled)
            assert failure.value.code == "repository-busy"

    def test_unmerged_files(self, at: Desk, opened: Repository):
        at.git("stash", "apply", check=False)
        at.git("merge", "-q", "side", check=False)
        (opened.git_dir / "MERGE_HEAD").unlink()
        with pytest.raises(MdmemError, match="unmerged files") as failure:
            opened.require_ready(allow_detached=True, branch="main")
        assert failure.value.code == "repository-busy"
        opened.require_ready(allow_detached=True, branch="main", settled=True)

    def test_no_branch(self, opened: Repository):
        with pytest.raises(MdmemError) as failure:
            opened.require_ready(allow_detached=False, branch=None)
        assert failure.value.code == "detached-head"


TEXT = "# Notes\n"
WAYS: dict[str, Callable[[Desk], object]] = {
    "write": lambda at: at.write("a.md", "- another\n"),
    "write back": lambda at: at.write("a.md", TEXT),
    "remove": lambda at: (at.root / "a.md").unlink(),
    "stage": lambda at: at.git("add", "-A"),
    "announce": lambda at: at.git("add", "-N", "a.md"),
    "forget": lambda at: at.git("rm", "-q", "--cached", "a.md"),
    "commit": lambda at: at.commit(),
    "ignore": lambda at: at.write(".gitignore", "*.md\n"),
    "assume": lambda at: at.git("update-index", "--assume-unchanged", "a.md"),
    "skip": lambda at: at.git("update-index", "--skip-worktree", "a.md"),
    "run": lambda at: (at.root / "a.md").chmod(0o755),
    "version": lambda at: at.git("update-index", "--index-version", "4"),
    "unmerge": lambda at: at.world.git(
        at.root,
        *("update-index", "--index-info"),
        stdin=f"0 {NONE}\tsub/a.md\n"
        + "".join(
            f"100644 {at.git('rev-parse', 'HEAD:./a.md').strip()} {stage}\tsub/a.md\n"
            for stage in (1, 2)
        ),
    ),
}
COMMITTED = ("write back", "commit")


class TestState:
    """Of a path in a workspace below the root, as `git status` tells it."""

    @pytest.mark.parametrize(
        ("steps", "pending", "tracked"),
        [
            ((), False, False),
            (("version",), False, False),
            (("write",), True, False),
            (("write", "announce"), True, True),
            (("write", "stage"), True, True),
            (("write", "stage", "write back"), True, True),
            (COMMITTED, False, True),
            ((*COMMITTED, "version"), False, True),
            ((*COMMITTED, "write"), True, True),
            ((*COMMITTED, "run"), True, True),
            ((*COMMITTED, "write", "stage"), True, True),
            ((*COMMITTED, "write", "stage", "write back"), False, True),
            ((*COMMITTED, "write", "stage", "run"), True, True),
            ((*COMMITTED, "remove"), True, False),
            ((*COMMITTED, "remove", "stage"), True, False),
            ((*COMMITTED, "forget"), False, False),
            ((*COMMITTED, "forget", "write"), True, False),
            ((*COMMITTED, "unmerge"), True, True),
            ((*COMMITTED, "ignore"), False, True),
            ((*COMMITTED, "write", "ignore"), True, True),
        ],
    )
    def test_of_any_path(self, at: Desk, steps: tuple[str, ...], pending: bool, tracked: bool):
        for step in steps:
            WAYS[step](at)
        expected = PathState(
            commit=head(at), branch="main", pending=pending, ignored=False, tracked=tracked
        )
        assert by_git(at).state(FilePath("a.md")) == expected

    @pytest.mark.parametrize(
        ("steps", "pending"),
        [
            (("ignore", "write"), False),
            ((*COMMITTED, "ignore", "forget"), False),
            ((*COMMITTED, "ignore", "forget", "write"), True),
        ],
    )
    def test_of_an_ignored_path(self, at: Desk, steps: tuple[str, ...], pending: bool):
        for step in steps:
            WAYS[step](at)
        expected = PathState(
            commit=head(at), branch="main", pending=pending, ignored=True, tracked=False
        )
        assert by_git(at).state(FilePath("a.md")) == expected

    @pytest.mark.parametrize(
        ("steps", "pending", "bits"),
        [
            (("assume",), False, ("assume-unchanged",)),
            (("assume", "write"), True, ("assume-unchanged",)),
            (("skip", "write"), True, ("skip-worktree",)),
            (
                ("assume", "write", "write back", "skip"),
                False,
                ("assume-unchanged", "skip-worktree"),
            ),
        ],
    )
    def test_of_a_path_that_git_does_not_look_at(
        self, at: Desk, steps: tuple[str, ...], pending: bool, bits: tuple[str, ...]
    ):
        for step in (*COMMITTED, *steps):
            WAYS[step](at)
        expected = PathState(
            commit=head(at), branch="main", pending=pending, ignored=False, tracked=True, bits=bits
        )
        assert by_git(at).state(FilePath("a.md")) == expected

    @pytest.mark.parametrize(
        ("way", "branch", "has_commit"),
        [
            (("switch", "-q", "--detach"), None, True),
            (("switch", "-q", "--orphan", "new"), "new", False),
            (("switch", "-q", "-c", "a/main"), "a/main", True),
        ],
    )
    def test_on_any_branch(
        self, at: Desk, way: tuple[str, ...], branch: str | None, has_commit: bool
    ):
        commit = head(at)
        at.git(*way)
        for repository in (by_git(at), repo.discover(at.root)):
            assert (repository.branch(), repository.head()) == (
                branch,
                commit if has_commit else None,
            )
            state = repository.state(FilePath("a.md"))
            assert (state.branch, state.commit) == (branch, commit if has_commit else None)

    def test_on_a_branch_that_cannot_be_read(self, at: Desk):
        repository = by_git(at)
        (repository.git_dir / "refs" / "heads" / "main").write_text("nonsense\n")
        for call in (repository.branch, lambda: repository.state(FilePath("a.md"))):
            with pytest.raises(
                MdmemError, match=r"^the branch that HEAD names cannot be read$"
            ) as failure:
                call()
            assert (failure.value.code, failure.value.hint) == (
                "broken-repository",
                "For details: git fsck. The last commit is in git reflog.",
            )


class TestStaged:
    def test_before_the_first_commit(self, world: World, tmp_path: Path):
        root = tmp_path / "fresh" / "sub"
        root.mkdir(parents=True)
        at = Desk(world, root)
        at.git("init", "-q", "..")
        at.write("a.MD", "a\n")
        at.write("b.txt", "b\n")
        at.write("later.md", "c\n")
        at.git("add", "a.MD", "b.txt")
        opened = repo.discover(root)
        assert [
            (file.path, file.renamed_from, file.before, file.after) for file in opened.staged(None)
        ] == [("sub/a.MD", None, None, b"a\n")]
        paths = [FilePath(path) for path in ("sub/a.MD", "sub/b.txt", "sub/later.md", "a.MD")]
        assert opened.known_to_git(paths, None) == {"sub/a.MD", "sub/b.txt"}

    def test_of_every_kind(self, at: Desk, opened: Repository):
        text = "".join(f"- line {number}\n" for number in range(20))
        for path in ("old.md", "gone.md", "changed.md", "was.md", "was.txt"):
            at.write(path, text + path)
        at.commit()
        at.git("mv", "old.md", "new.md")
        at.git("mv", "was.md", "now.txt")
        at.git("mv", "was.txt", "now.md")
        at.git("rm", "-q", "gone.md")
        at.write("changed.md", "changed\n")
        at.write("added.md", "added\n")
        at.git("add", "-A")
        at.write("changed.md", "changed again\n")
        staged = {
            file.path: (file.renamed_from, file.before, file.after) for file in opened.staged(None)
        }
        assert staged == {
            "sub/new.md": ("sub/old.md", f"{text}old.md".encode(), f"{text}old.md".encode()),
            "sub/gone.md": (None, f"{text}gone.md".encode(), None),
            "sub/changed.md": (None, f"{text}changed.md".encode(), b"changed\n"),
            "sub/added.md": (None, None, b"added\n"),
            "sub/now.txt": ("sub/was.md", f"{text}was.md".encode(), f"{text}was.md".encode()),
            "sub/now.md": ("sub/was.txt", f"{text}was.txt".encode(), f"{text}was.txt".encode()),
        }
        paths = {
            FilePath(path)
            for path in (
                "sub/old.md",
                "sub/new.md",
                "sub/gone.md",
                "sub/changed.md",
                "sub/added.md",
            )
        }
        for version in ("2", "4"):
            at.git("update-index", "--index-version", version)
            assert (
                opened.known_to_git([*paths, FilePath("sub/none.md"), FilePath("gone.md")], None)
                == paths
            )

    def test_in_an_index_of_its_own(
        self, at: Desk, opened: Repository, monkeypatch: pytest.MonkeyPatch
    ):
        """`git commit -- PATH` has one: its name is relative to the folder in which git
        runs hooks.
        """
        at.write("new.MD", "- a\n")
        at.git("add", "new.MD")
        shutil.copy(opened.git_dir / "index", opened.git_dir / "next-index")
        at.git("reset", "-q")
        monkeypatch.chdir(opened.root)
        assert opened.staged(None) == []
        assert [(file.before, file.after) for file in opened.staged(".git/next-index")] == [
            (None, b"- a\n")
        ]
        new = FilePath("sub/new.MD")
        assert opened.known_to_git([new], None) == set()
        assert opened.known_to_git([new], ".git/next-index") == {new}

    def test_in_an_index_that_is_damaged(self, opened: Repository):
        (opened.git_dir / "index").write_bytes(b"damaged")
        with pytest.raises(MdmemError, match=r"^git diff-index: ") as failure:
            opened.staged(None)
        assert failure.value.code == "git-failed"
