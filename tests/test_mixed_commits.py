"""A commit put in the place of HEAD's newest one, with the bytes that were meant at one path: the
rest as git made it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem import repo
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import RepositoryProblem
from mdmem.repo import Identity, commits
from mdmem.repo.runner import GitResult

MESSAGE = "MEMORY.md: append Work\n\n# no comment \udcff\n\nMdmem-Op: append\n\n"
OURS, THEIRS = "# ours\n", "# ours\n\n- theirs\n"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def order(path: str = "MEMORY.md", identity: Identity | None = None) -> commits.CommitOrder:
    return commits.CommitOrder(
        paths=[FilePath(path)],
        message=MESSAGE,
        date="@1770000000 +0530",
        hook_timeout=30,
        identity=identity,
    )


def replace_newest(
    at: Desk, path: str = "MEMORY.md", data: str = OURS, identity: Identity | None = None
) -> CommitId | None:
    newest = CommitId(at.git("rev-parse", "HEAD").strip())
    return commits.replace_commit(
        repo.discover(at.root), newest, FilePath(path), data.encode(), order(path, identity)
    )


def listed(at: Desk, commit: str) -> dict[str, str]:
    """The entries of a commit's tree by path: mode, kind and id."""
    lines = at.git("ls-tree", "-r", "-t", "-z", "--full-tree", commit).split("\0")[:-1]
    return {path: entry for entry, _, path in (line.partition("\t") for line in lines)}


@pytest.mark.parametrize("folder", ["", "deep/er"])
@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md",
        "memory/a.md",
        "memory/sub folder/a.md",
        "memory/caf\N{LATIN SMALL LETTER E WITH ACUTE}/a\tb\nc.md",
    ],
)
def test_one_path_differs(world: World, repository: Path, folder: str, path: str):
    at = desk(world, repository, folder)
    for beside in ("memory/a.md", "memory/a.md.md", "memory/sub folder/b.md", "memory/a", "a.md"):
        at.write(beside, f"{beside}\n")
    at.write(path, THEIRS)
    (at.root / "run.sh").touch(0o755)
    (at.root / "link").symlink_to("MEMORY.md")
    whole = f"{folder}/{path}" if folder else path
    before = listed(at, at.commit("with theirs"))
    commit = replace_newest(at, path)
    after = listed(at, str(commit))
    above = {whole, *(str(each) for each in Path(whole).parents)}
    assert before.keys() == after.keys()
    assert {each for each in before if before[each] != after[each]} == above - {"."}
    assert at.git("cat-file", "blob", f"{commit}:{whole}") == OURS
    assert at.git("fsck", "--strict") == ""


def test_it_stands_where_the_other_stood(at: Desk):
    parent = at.git("rev-parse", "HEAD").strip()
    at.write("MEMORY.md", THEIRS)
    at.commit("with theirs")
    commit = replace_newest(at)
    assert at.git("rev-parse", "HEAD").strip() == commit
    assert (
        at.git("log", "-1", "--format=%P %ad %cd", "--date=raw")
        == f"{parent} 1770000000 +0530 1770000000 +0530\n"
    )
    assert at.git("cat-file", "commit", "HEAD").partition("\n\n")[2] == MESSAGE.replace(
        "\udcff", "?"
    )
    assert at.git("symbolic-ref", "HEAD") == "refs/heads/main\n"
    assert at.git("reflog", "-1", "--format=%gs") == "commit: MEMORY.md: append Work\n"


def test_what_differs_on_disk_is_pending_and_what_was_staged_stays(at: Desk):
    at.write("MEMORY.md", THEIRS)
    at.commit("with theirs")
    at.write("staged.md", "x\n")
    at.git("add", "staged.md")
    replace_newest(at)
    assert at.read("MEMORY.md") == THEIRS
    assert at.git("status", "--porcelain") == " M MEMORY.md\nA  staged.md\n"


def test_the_first_commit_has_no_parent(world: World, repository: Path):
    at = desk(world, repository, seed=THEIRS)
    commit = replace_newest(at)
    assert at.git("rev-list", "--parents", "--all").split() == [commit]


def test_both_parents_of_a_merge_stay(at: Desk):
    at.git("checkout", "-q", "-b", "side")
    at.write("side.md", "x\n")
    at.commit("side")
    at.git("checkout", "-q", "main")
    at.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    parents = at.git("show", "-s", "--format=%P").strip()
    commit = replace_newest(at)
    assert at.git("show", "-s", "--format=%P", str(commit)).strip() == parents


def test_line_ends_as_git_stores_them(at: Desk):
    at.write(".gitattributes", "MEMORY.md text eol=crlf\n")
    at.write("MEMORY.md", THEIRS.replace("\n", "\r\n"))
    at.commit("with theirs")
    commit = replace_newest(at, data="a\r\nb\r\n")
    assert at.git("cat-file", "blob", f"{commit}:MEMORY.md") == "a\nb\n"


def test_the_mode_stays(at: Desk):
    (at.root / "MEMORY.md").chmod(0o755)
    at.commit("executable")
    assert listed(at, str(replace_newest(at)))["MEMORY.md"].startswith("100755 blob ")


def test_by_whom_git_does_not_know(at: Desk):
    for name in ("user.name", "user.email"):
        at.git("config", "--unset", name)
    at.git(
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@example.org",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "with theirs",
    )
    replace_newest(at, identity=Identity("Agent", "agent@example.org"))
    assert (
        at.git("show", "-s", "--format=%an <%ae> %cn <%ce>")
        == "Agent <agent@example.org> Agent <agent@example.org>\n"
    )


@pytest.mark.parametrize(
    ("setting", "is_signed"),
    [(None, False), ("true", True), ("yes", True), ("1", True), ("false", False), ("no", False)],
)
def test_signed_where_commits_are(at: Desk, setting: str | None, is_signed: bool):
    at.commit("with theirs")
    signer = at.write(
        ".git/signer",
        '#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED " >&2\necho "signed $*"\n',
    )
    signer.chmod(0o755)
    at.git("config", "gpg.program", signer)
    at.git("config", "user.signingKey", "K1")
    if setting:
        at.git("config", "commit.gpgSign", setting)
    commit = at.git("cat-file", "commit", str(replace_newest(at)))
    assert ("gpgsig signed --status-fd=2 -bsau K1\n" in commit, "gpgsig" in commit) == (
        is_signed,
        is_signed,
    )


def test_a_signer_that_fails_changes_nothing(at: Desk):
    at.commit("with theirs")
    at.git("config", "gpg.program", "false")
    at.git("config", "commit.gpgSign", "true")
    before = at.tree_state()
    with pytest.raises(RepositoryProblem, match="git commit-tree: ") as failure:
        replace_newest(at)
    assert failure.value.code == "git-failed"
    assert at.tree_state() == before


def test_a_branch_that_moves_on_meanwhile_is_left_alone(at: Desk, monkeypatch: pytest.MonkeyPatch):
    at.commit("with theirs")
    run = commits.run

    def built_on(folder: Path, arguments: Sequence[str], *rest: Any) -> GitResult:
        if arguments[0] == "update-ref":
            at.commit("on top")
        return run(folder, arguments, *rest)

    monkeypatch.setattr(commits, "run", built_on)
    assert replace_newest(at) is None
    assert at.subjects() == ["on top", "with theirs", "seed"]
    assert at.git("status", "--porcelain") == ""


def test_where_objects_are_missing(world: World, tmp_path: Path, at: Desk):
    """In a clone that has fetched the newest commit's own files only."""
    at.write("other.md", "other\n")
    at.commit("with theirs")
    at.git("config", "uploadpack.allowFilter", "true")
    copy = tmp_path / "copy"
    world.git(
        tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{at.root}", copy
    )
    world.git(copy, "config", "user.name", "x")
    world.git(copy, "config", "user.email", "x@example.org")
    world.git(copy, "config", "remote.origin.url", str(tmp_path / "gone"))
    clone = Desk(world, copy)
    commit = replace_newest(clone)
    assert clone.git("show", "-s", "--format=%s", str(commit)) == "MEMORY.md: append Work\n"
