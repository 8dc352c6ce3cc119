"""Commits on branches that are not checked out: files, index and HEAD stay, and refs move only from
where they were.
"""

from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem.model import CommitId, FilePath
from mdmem.model.errors import RepositoryProblem
from mdmem.repo import Identity, branch_commits
from mdmem.repo.branch_commits import CommitFiles, NewCommit, StoredFile

WHO = b"Ada Example <ada@example.org> 1770000000 +0530"
LATIN, OTHER_LATIN = (
    b"Ren\xe9 <r@example.org> 1770000001 +0000",
    b"Zo\xeb <z@example.org> 1770000002 +0000",
)
DATE = "@1770000000 +0530"
BRANCH = "refs/heads/side/one"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def head(at: Desk) -> CommitId:
    return CommitId(at.git("rev-parse", "HEAD").strip())


def new_commit(
    at: Desk, message: str = "one", parent: CommitId | None = None, **files: str | None
) -> NewCommit:
    stored = {
        path.replace("_", "/").encode(): None
        if text is None
        else StoredFile("100644", text.encode())
        for path, text in files.items()
    }
    return NewCommit(
        message=message.encode(), author=WHO, committer=WHO, files=stored, parent=parent
    )


def own_commit(at: Desk, identity: Identity | None = None) -> CommitId:
    """A commit whose message has a byte of a file name that is no text."""
    files = {b"a.md": StoredFile("100644", b"- a\n")}
    return branch_commits.make_own_commit(
        at.workspace.repository,
        "x",
        "one \udce9\n",
        files,
        parent=head(at),
        date=DATE,
        identity=identity,
    )


def show(at: Desk, commit: str, path: str) -> str:
    return at.git("show", f"{commit}:{path}")


class TestMakingCommits:
    def test_files_index_and_head_stay(self, at: Desk):
        at.write("staged.md", "- staged\n")
        at.git("add", "staged.md")
        at.write("MEMORY.md", "# edited\n")
        before = at.tree_state()
        repository = at.workspace.repository
        made = branch_commits.make_commits(
            repository,
            "x",
            [new_commit(at, "one", head(at), a="- a\n"), new_commit(at, "two", b_c="- c\n")],
        )
        assert branch_commits.list_refs(repository, "refs/mdmem") == {"refs/mdmem/scratch/x": made}
        assert branch_commits.move_refs(repository, [(BRANCH, made, None)], scratch="x")
        assert at.tree_state() == before
        assert at.git("log", "--format=%s|%an|%ad", "--date=raw", "side/one").splitlines() == [
            "two|Ada Example|1770000000 +0530",
            "one|Ada Example|1770000000 +0530",
            "seed|Ada Example|1772703000 +0000",
        ]
        assert (show(at, made, "a"), show(at, made, "b/c")) == ("- a\n", "- c\n")
        assert at.git("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main", BRANCH]

    def test_names_modes_and_removals(self, at: Desk):
        at.write("run.md", "- x\n").chmod(0o755)
        at.commit("an executable file")
        name = b'a "b" \\ c\nd.md'
        files = {
            name: StoredFile("100644", b"1"),
            b"run.md": StoredFile("100755", b"2"),
            b"MEMORY.md": None,
        }
        made = branch_commits.make_commits(
            at.workspace.repository,
            "x",
            [NewCommit(message=b"m", author=WHO, committer=WHO, files=files, parent=head(at))],
        )
        rows = at.git("ls-tree", "-z", made).split("\0")
        assert [(row[:6], row.partition("\t")[2]) for row in rows if row] == [
            ("100644", name.decode()),
            ("100755", "run.md"),
        ]

    def test_a_blob_is_stored_as_git_would(self, at: Desk):
        at.write(".gitattributes", "*.md text eol=crlf\n")
        at.commit("line ends")
        repository = at.workspace.repository
        blob = branch_commits.store(repository, FilePath("a.md"), b"- a\r\n")
        files = {branch_commits.full_path(repository, FilePath("a.md")): StoredFile("100644", blob)}
        made = branch_commits.make_commits(
            repository,
            "x",
            [NewCommit(message=b"m", author=WHO, committer=WHO, files=files, parent=head(at))],
        )
        assert at.git("cat-file", "blob", f"{made}:a.md") == "- a\n"

    def test_a_parent_that_is_not_there(self, at: Desk):
        with pytest.raises(RepositoryProblem, match="git fast-import: ") as problem:
            branch_commits.make_commits(
                at.workspace.repository, "x", [new_commit(at, "one", CommitId("1" * 40), a="a")]
            )
        assert problem.value.code == "git-failed"

    def test_a_scratch_ref_that_cannot_be_written(self, at: Desk):
        at.write(".git/refs/mdmem/scratch/x.lock", "")
        with pytest.raises(RepositoryProblem, match=r"git fast-import: .*x\.lock"):
            branch_commits.make_commits(at.workspace.repository, "x", [new_commit(at, a="a")])

    @pytest.mark.parametrize(
        ("setting", "identity", "people"),
        [
            ("true", None, "Ada Example <ada@example.org> Robot <ada@example.org>"),
            (
                "true",
                Identity("Agent", "agent@example.org"),
                "Agent <agent@example.org> Agent <agent@example.org>",
            ),
            ("", None, "Ada Example <ada@example.org> Robot <ada@example.org>"),
            (
                "no",
                Identity("Agent", "agent@example.org"),
                "Agent <agent@example.org> Agent <agent@example.org>",
            ),
        ],
    )
    def test_signed_where_commits_are(
        self,
        at: Desk,
        monkeypatch: pytest.MonkeyPatch,
        setting: str,
        identity: Identity | None,
        people: str,
    ):
        """The identity is for a repository that has none; author and committer may be
        two people.
        """
        monkeypatch.setenv("GIT_COMMITTER_NAME", "Robot")
        signer = at.write(
            ".git/signer",
            '#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED " >&2\necho "signed $*"\n',
        )
        signer.chmod(0o755)
        at.git("config", "gpg.program", signer)
        at.git("config", "user.signingKey", "K1")
        if setting:
            at.git("config", "commit.gpgSign", setting)
        made = own_commit(at, identity)
        signature = [
            row
            for row in at.git("cat-file", "commit", made).splitlines()
            if row.startswith("gpgsig ")
        ]
        assert [row.endswith(" K1") for row in signature] == ([True] if setting == "true" else [])
        form = "--format=%P|%an <%ae> %cn <%ce>|%ad|%cd|%B"
        dates = "1770000000 +0530|1770000000 +0530"
        assert (
            at.git("show", "-s", "--date=raw", form, made)
            == f"{head(at)}|{people}|{dates}|one ?\n\n"
        )
        assert show(at, made, "a.md") == "- a\n"


class TestMovingRefs:
    def test_from_where_they_were_all_or_none(self, at: Desk):
        repository, first = at.workspace.repository, head(at)
        second = at.commit("second")
        other = "refs/heads/side/tw\udcf6"
        assert branch_commits.move_refs(repository, [(BRANCH, first, None), (other, first, None)])
        assert not branch_commits.move_refs(repository, [(BRANCH, second, None)])
        assert not branch_commits.move_refs(
            repository, [(BRANCH, second, first), (other, second, CommitId(second))]
        )
        assert branch_commits.list_refs(repository, "refs/heads/side") == {
            BRANCH: first,
            other: first,
        }
        assert branch_commits.move_refs(
            repository, [(BRANCH, None, first), (other, second, first)], scratch="of-nothing"
        )
        assert branch_commits.list_refs(repository, "refs/heads/side") == {other: second}


class TestReading:
    @pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
    def test_commits_trees_and_changes(self, world: World, tmp_path: Path, algorithm: str):
        root = tmp_path / "of-an-algorithm"
        world.git(tmp_path, "init", "-q", f"--object-format={algorithm}", root)
        world.git(root, "config", "user.name", "Ada")
        world.git(root, "config", "user.email", "ada@example.org")
        at = desk(world, root, "sub")
        (root / "sub" / "link.md").symlink_to("MEMORY.md")
        first, repository = CommitId(at.commit("a link")), at.workspace.repository
        latin = NewCommit(
            message=b"tw\xf6\n\nand more\n",
            author=LATIN,
            committer=OTHER_LATIN,
            files={b"sub/MEMORY.md": StoredFile("100755", b"# Memory\n")},
            merges=first,
        )
        made = branch_commits.make_commits(
            repository, "x", [new_commit(at, "one", first, sub_a="a", sub_link=None), latin]
        )
        commits = branch_commits.commits_not_in(repository, [made], first)
        assert [
            (commit.message, commit.author, commit.committer) for commit in commits.values()
        ] == [
            ("tw\udcf6\n\nand more\n", LATIN, OTHER_LATIN),
            ("one", WHO, WHO),
        ]
        assert commits[made].parents == (list(commits)[1], first)
        trees = branch_commits.trees_of(repository, [None, first, made])
        assert trees[2] == commits[made].tree
        pairs = [
            (trees[1], trees[1]),
            (trees[1], trees[2]),
            (trees[0], trees[1]),
            (trees[2], trees[1]),
        ]
        same, added, all_new, removed = branch_commits.changed_blobs(repository, pairs)
        assert same == []
        assert [
            (change.mode, change.before is None, change.after is None) for change in removed
        ] == [
            ("100644", False, False),
            ("100644", False, True),
        ]
        assert [
            (change.path, change.mode, change.before is None, change.is_plain) for change in added
        ] == [
            (b"sub/MEMORY.md", "100755", False, True),
            (b"sub/a", "100644", True, True),
        ]
        assert {(change.path, change.is_plain) for change in all_new} == {
            (b"sub/MEMORY.md", True),
            (b"sub/link.md", False),
        }
        assert branch_commits.merge_base(repository, made, first) == first

    def test_nothing_to_read(self, at: Desk):
        repository = at.workspace.repository
        assert branch_commits.commits_not_in(repository, [], None) == {}
        assert branch_commits.changed_blobs(repository, []) == []
        assert branch_commits.trees_of(repository, []) == []
        assert branch_commits.messages_with(repository, "^x", None) == []

    def test_a_tree_that_lacks_a_part(self, at: Desk):
        row = f"040000 tree {'1' * 40}\tmemory\n"
        broken = at.world.git(at.root, "mktree", "--missing", stdin=row).stdout.strip()
        repository = at.workspace.repository
        with pytest.raises(RepositoryProblem, match="git diff-tree: ") as problem:
            branch_commits.changed_blobs(
                repository, [(broken, *branch_commits.trees_of(repository, [head(at)]))]
            )
        assert problem.value.code == "git-failed"

    def test_objects_that_are_missing(self, at: Desk):
        repository, missing = at.workspace.repository, CommitId("1" * 40)
        tree = branch_commits.trees_of(repository, [head(at)])[0]
        for read, message in (
            (
                lambda: branch_commits.trees_of(repository, [head(at), missing]),
                f"git cat-file: {missing}^{{tree}} missing",
            ),
            (
                lambda: branch_commits.changed_blobs(repository, [(missing, tree), (tree, tree)]),
                "git diff-tree: a tree is missing",
            ),
            (lambda: branch_commits.merge_base(repository, head(at), missing), "git merge-base: "),
        ):
            with pytest.raises(RepositoryProblem) as problem:
                read()
            assert (problem.value.code, problem.value.message[: len(message)]) == (
                "git-failed",
                message,
            )

    def test_commits_without_a_common_past(self, at: Desk):
        alone = CommitId(at.git("commit-tree", "-m", "alone", "HEAD^{tree}").strip())
        assert branch_commits.merge_base(at.workspace.repository, head(at), alone) is None

    def test_the_work_tree_of_a_branch(self, at: Desk, tmp_path: Path):
        for name in ("one", "two"):
            at.git("worktree", "add", "-q", "-b", name, tmp_path / name)
        repository = at.workspace.repository
        assert branch_commits.checked_out_in(repository, "refs/heads/one") == tmp_path / "one"
        assert branch_commits.checked_out_in(repository, "refs/heads/none") is None

    def test_messages_by_a_line(self, at: Desk):
        repository, text = at.workspace.repository, b"one\n\nMdmem-Rejects: 0123abcd \xe9\n"
        messages = (text, b"another\n\nnot Mdmem-Rejects: 0123abcd y\n")
        made = branch_commits.make_commits(
            repository,
            "x",
            [
                NewCommit(message=message, author=WHO, committer=LATIN, files={})
                for message in messages
            ],
        )
        ((name, time, message),) = branch_commits.messages_with(
            repository, "^Mdmem-Rejects: ", made
        )
        assert (name, time, message) == (
            at.git("rev-parse", f"{made}^").strip(),
            1770000001,
            text.decode("utf-8", "surrogateescape"),
        )

    def test_the_files_of_a_commit(self, at: Desk):
        at.write("memory/a.md", "- a\n").chmod(0o755)
        at.write("code.py", "x")
        files = CommitFiles(at.workspace.repository, CommitId(at.commit("more")))
        at.write("memory/a.md", "- changed\n")
        assert sorted(files.paths()) == ["MEMORY.md", "memory/a.md"]
        path, missing = FilePath("memory/a.md"), FilePath("memory/b.md")
        assert (files.read(path), files.read(missing)) == (b"- a\n", None)
        assert files.read_all([path, missing]) == {path: b"- a\n", missing: None}
        assert (files.mode(path), files.mode(missing)) == ("100755", "100644")
