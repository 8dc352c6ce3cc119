"""Commits on branches that are not checked out: files, index and HEAD stay, and refs move only from where they were."""

from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem.errors import RepositoryProblem
from mdmem.model import CommitId, FilePath
from mdmem.repo import Identity, branch_commits
from mdmem.repo.branch_commits import CommitFiles, NewCommit, StoredFile

WHO = b"Ada Example <ada@example.org> 1770000000 +0530"
DATE = "@1770000000 +0530"
BRANCH = "refs/heads/side/one"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def head(at: Desk) -> CommitId:
    return CommitId(at.git("rev-parse", "HEAD").strip())


def new_commit(at: Desk, message: str = "one", parent: CommitId | None = None, **files: str | None) -> NewCommit:
    stored = {
        path.replace("_", "/").encode(): None if text is None else StoredFile("100644", text.encode()) for path, text in files.items()
    }
    return NewCommit(message=message.encode(), author=WHO, committer=WHO, files=stored, parent=parent)


def own_commit(at: Desk, identity: Identity | None = None) -> CommitId:
    files = {b"a.md": StoredFile("100644", b"- a\n")}
    return branch_commits.make_own_commit(at.workspace.repository, "x", "one\n", files, parent=head(at), date=DATE, identity=identity)


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
            repository, "x", [new_commit(at, "one", head(at), a="- a\n"), new_commit(at, "two", b_c="- c\n")]
        )
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
        files = {name: StoredFile("100644", b"1"), b"run.md": StoredFile("100755", b"2"), b"MEMORY.md": None}
        made = branch_commits.make_commits(
            at.workspace.repository, "x", [NewCommit(message=b"m", author=WHO, committer=WHO, files=files, parent=head(at))]
        )
        rows = at.git("ls-tree", "-z", made).split("\0")
        assert [(row[:6], row.partition("\t")[2]) for row in rows if row] == [("100644", name.decode()), ("100755", "run.md")]

    def test_a_blob_is_stored_as_git_would(self, at: Desk):
        at.write(".gitattributes", "*.md text eol=crlf\n")
        at.commit("line ends")
        repository = at.workspace.repository
        blob = branch_commits.store(repository, FilePath("a.md"), b"- a\r\n")
        files = {branch_commits.full_path(repository, FilePath("a.md")): StoredFile("100644", blob)}
        made = branch_commits.make_commits(
            repository, "x", [NewCommit(message=b"m", author=WHO, committer=WHO, files=files, parent=head(at))]
        )
        assert at.git("cat-file", "blob", f"{made}:a.md") == "- a\n"

    def test_a_parent_that_is_not_there(self, at: Desk):
        with pytest.raises(RepositoryProblem, match="git fast-import: "):
            branch_commits.make_commits(at.workspace.repository, "x", [new_commit(at, "one", CommitId("1" * 40), a="a")])

    def test_an_identity_for_a_repository_without_one(self, at: Desk):
        made = own_commit(at, Identity("Agent", "agent@example.org"))
        assert at.git("show", "-s", "--format=%an <%ae> %cn <%ce>", made) == "Agent <agent@example.org> Agent <agent@example.org>\n"

    @pytest.mark.parametrize(("setting", "is_signed"), [("true", True), ("no", False)])
    def test_signed_where_commits_are(self, at: Desk, setting: str, is_signed: bool):
        signer = at.write(".git/signer", '#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED " >&2\necho "signed $*"\n')
        signer.chmod(0o755)
        at.git("config", "gpg.program", signer)
        at.git("config", "user.signingKey", "K1")
        at.git("config", "commit.gpgSign", setting)
        made = own_commit(at)
        assert ("gpgsig signed" in at.git("cat-file", "commit", made)) == is_signed
        assert at.git("show", "-s", "--format=%P %at %B", made) == f"{head(at)} 1770000000 one\n\n"
        assert show(at, made, "a.md") == "- a\n"


class TestMovingRefs:
    def test_from_where_they_were_all_or_none(self, at: Desk):
        repository, first = at.workspace.repository, head(at)
        second = at.commit("second")
        other = "refs/heads/side/two"
        assert branch_commits.move_refs(repository, [(BRANCH, first, None), (other, first, None)])
        assert not branch_commits.move_refs(repository, [(BRANCH, second, None)])
        assert not branch_commits.move_refs(repository, [(BRANCH, second, first), (other, second, CommitId(second))])
        assert branch_commits.list_refs(repository, "refs/heads/side") == {BRANCH: first, other: first}
        assert branch_commits.move_refs(repository, [(BRANCH, None, first), (other, second, first)], scratch="of-nothing")
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
        made = branch_commits.make_commits(repository, "x", [new_commit(at, "one", first, sub_a="a"), new_commit(at, "two", sub_link=None)])
        assert branch_commits.move_refs(repository, [(BRANCH, made, None)], scratch="x")
        commits = branch_commits.commits_not_in(repository, [made], first)
        assert [(commit.message, commit.author) for commit in commits.values()] == [("two", WHO), ("one", WHO)]
        assert commits[made].parents == (list(commits)[1],)
        trees = branch_commits.trees_of(repository, [None, first, made])
        assert trees[2] == commits[made].tree
        same, added, all_new = branch_commits.changed_blobs(repository, [(trees[1], trees[1]), (trees[1], trees[2]), (trees[0], trees[1])])
        assert same == []
        assert [(change.path, change.mode, change.before is None, change.is_plain) for change in added] == [
            (b"sub/a", "100644", True, True)
        ]
        assert {(change.path, change.is_plain) for change in all_new} == {(b"sub/MEMORY.md", True), (b"sub/link.md", False)}
        assert branch_commits.merge_base(repository, made, first) == first

    def test_nothing_to_read(self, at: Desk):
        repository = at.workspace.repository
        assert branch_commits.commits_not_in(repository, [], None) == {}
        assert branch_commits.changed_blobs(repository, []) == []
        assert branch_commits.trees_of(repository, []) == []
        assert branch_commits.messages_with(repository, "^x", None) == []

    def test_messages_by_a_line(self, at: Desk):
        commit = at.commit("one\n\nMdmem-Rejects: 0123abcd x")
        at.commit("another\n\nnot Mdmem-Rejects: 0123abcd y")
        rows = branch_commits.messages_with(at.workspace.repository, "^Mdmem-Rejects: ", head(at))
        assert [(name, message.split("\n")[0]) for name, _, message in rows] == [(commit, "one")]

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
