"""All history rewritten by rules, with simple ones: nothing is moved yet."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import NAME, World
from vault import Vault

from mdmem import repo
from mdmem.model.errors import RepositoryProblem
from mdmem.purge import history_rewrite
from mdmem.purge.history_rewrite import (
    KEPT_STASH,
    LinkedWorktree,
    Objects,
    RewriteRules,
    RewrittenHistory,
)

RULES = RewriteRules(
    blob=lambda data, markdown: (
        data.replace(b"secret", b"MARKDOWN")
        if markdown
        else data.replace(b"secret", b"A").replace(b"hidden", b"B")
    ),
    message=lambda data: data.replace(b"secret", b"MESSAGE"),
    holds=lambda data: b"secret" in data,
    binary=lambda data: b"secret" in data,
)


@pytest.fixture
def at(world: World, repository: Path) -> Vault:
    at = Vault(world, repository)
    at.commit("seed", sub__clean="clean\n")
    return at


def rewritten(at: Vault) -> RewrittenHistory:
    objects = Objects(at.root, keep=True)
    history = history_rewrite.rewrite_history(at.repository, RULES, objects, [])
    objects.flush()
    return history


def commit_as(at: Vault, header: str, message: str = "plain") -> str:
    """A commit of what HEAD's has, with another header after the author."""
    tree, parent = at.id("HEAD^{tree}"), at.id("HEAD")
    text = (
        f"tree {tree}\nparent {parent}\nauthor Ada <a@example.org> 1 +0000\n{header}\n\n{message}\n"
    )
    at.git(
        "update-ref",
        "HEAD",
        at.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text).strip(),
    )
    return at.id("HEAD")


def test_each_use_of_a_text(at: Vault) -> None:
    """One blob may be a Markdown file, another file, a link and the target of a tag."""
    for name in ("a.md", "a.txt"):
        (at.root / name).write_bytes(b"secret")
    (at.root / "link").symlink_to("secret")
    for name in ("hidden", "hidden too"):
        (at.root / f"{name} link").symlink_to(name)
    at.commit("more", tagged="secret file")
    at.git("tag", "-a", "-m", "of a file", "file", "HEAD:tagged.md")
    history = rewritten(at)
    paths = ("a.md", "a.txt", "link", "hidden link", "tagged.md")
    shown = [
        at.git("cat-file", "blob", f"{history.renamed(at.id('HEAD'))}:{path}") for path in paths
    ]
    assert shown == ["MARKDOWN", "A", "secret", "hidden", "MARKDOWN file"]
    assert at.git("cat-file", "blob", f"{history.renamed(at.id('file'))}^{{blob}}") == "A file"
    assert set(history.trees) == {at.id("HEAD^{tree}")}
    assert (history.links, history.binaries, history.names, history.submodules) == (2, 0, 0, False)


def test_a_file_in_folders_within_folders(at: Vault) -> None:
    """So many that their trees come in the right order by their ids alone in no run."""
    path = "/".join("abcdefghijklmnopqrstuvwxyz") + "/x.md"
    at.write(path, "secret")
    at.commit("deep")
    assert (
        at.git("cat-file", "blob", f"{rewritten(at).renamed(at.id('HEAD'))}:{path}") == "MARKDOWN"
    )


def test_messages_and_people(at: Vault) -> None:
    at.git("commit", "-q", "--allow-empty", "--author=secret <a@example.org>", "-m", "of an author")
    commit_as(at, "committer secret <a@example.org> 1 +0000")
    at.git("tag", "-a", "-m", "a secret", "one", "HEAD~2")
    at.git("tag", "-a", "-m", "more secret", "two", "one")
    at.git("tag", "-a", "-m", "of a tag", "three", "two")
    history = rewritten(at)
    assert (history.commits, history.tags, history.messages, history.people) == (0, 3, 2, 2)
    assert at.git("cat-file", "tag", history.renamed(at.id("two"))).endswith("\n\nmore MESSAGE\n")


@pytest.mark.parametrize("encoding", ["x-of-nobody", "é"])
def test_a_message_in_whatever_it_says_it_is(at: Vault, encoding: str) -> None:
    commit = commit_as(
        at, f"committer {NAME} <a@example.org> 1 +0000\nencoding {encoding}", "ein secret ü"
    )
    assert at.git("cat-file", "commit", rewritten(at).renamed(commit)).endswith(
        f"encoding {encoding}\n\nein MESSAGE ü\n"
    )


def test_refs_of_any_name(at: Vault) -> None:
    """Entries of the stash that an interrupted run has kept are in the order of their numbers."""
    first = commit_as(at, f"committer {NAME} <a@example.org> 1 +0000", "secret 1")
    second = commit_as(at, f"committer {NAME} <a@example.org> 1 +0000", "secret 2")
    for name, commit in (
        ("refs/tags/\udcff", first),
        (f"{KEPT_STASH}2", first),
        (f"{KEPT_STASH}10", second),
    ):
        at.git("update-ref", name, commit)
    history = rewritten(at)
    assert set(history.moved) == {
        "refs/heads/main",
        "refs/tags/\udcff",
        f"{KEPT_STASH}2",
        f"{KEPT_STASH}10",
    }
    assert history.stash == (history.renamed(first), history.renamed(second))


def test_the_files_of_a_work_tree(at: Vault) -> None:
    """Markdown and what a killed write left beside it even where git ignores it, for that may hold
    the words too.
    """
    before = history_rewrite.worktree_files(at.root)
    for path in (
        "new.txt",
        "cut/off.MD",
        "cut/off.txt",
        "cut/.mdmem-0123456789abcdef.tmp",
        "cut/other.tmp",
    ):
        at.write(path, "x\n")
    at.write(".gitignore", "cut/\n")
    added = {".gitignore", "new.txt", "cut/off.MD", "cut/.mdmem-0123456789abcdef.tmp"}
    assert set(history_rewrite.worktree_files(at.root)) - set(before) == added


def test_work_trees_of_a_bare_repository(at: Vault, tmp_path: Path) -> None:
    """The repository itself is none."""
    at.git("clone", "-q", "--bare", at.root, tmp_path / "bare")
    for name in ("one", "two"):
        at.world.git(tmp_path / "bare", "worktree", "add", "-q", "-b", name, tmp_path / name)
    assert history_rewrite.linked_worktrees(repo.discover(tmp_path / "one")) == [
        LinkedWorktree(tmp_path / "two", "worktrees/two/HEAD", None)
    ]


def locked_and_gone(at: Vault) -> None:
    """git does not call it prunable."""
    at.git("worktree", "lock", at.root.parent / "linked")
    shutil.rmtree(at.root.parent / "linked")


@pytest.mark.parametrize(
    "spoil", [locked_and_gone, lambda at: (at.root.parent / "linked" / ".git").unlink()]
)
def test_a_work_tree_that_is_lost(at: Vault, spoil: Callable[[Vault], None]) -> None:
    at.git("worktree", "add", "-q", at.root.parent / "linked")
    spoil(at)
    with pytest.raises(RepositoryProblem) as problem:
        history_rewrite.linked_worktrees(at.repository)
    assert problem.value.code == "cannot-purge"


def test_a_partial_clone_that_has_every_object_yet(at: Vault) -> None:
    at.git("config", "core.repositoryFormatVersion", "1")
    at.git("config", "extensions.partialClone", "origin")
    with pytest.raises(RepositoryProblem, match="partial clone"):
        history_rewrite.require_rewritable(at.repository)
