"""A purge of a repository that is not one work tree alone: linked ones, submodules, clones, an
unborn or detached HEAD.
"""

from pathlib import Path

import pytest
from conftest import EMAIL, NAME, World
from vault import OTHER, WORDS, Vault
from vault import vault as vault

from mdmem.model.errors import RepositoryProblem
from mdmem.purge.target import PURGED_MARK


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_a_detached_head_and_the_object_format(
    world: World, tmp_path: Path, algorithm: str
) -> None:
    root = tmp_path / algorithm
    world.git(tmp_path, "init", "-q", f"--object-format={algorithm}", root)
    vault = Vault(world, root)
    vault.git("config", "user.name", NAME)
    vault.git("config", "user.email", EMAIL)
    vault.commit("a", memory__deep__x=f"- {WORDS}\n")
    vault.git("tag", "-a", "-m", "t", "t")
    vault.git("switch", "-q", "--detach")
    vault.commit("b", MEMORY=WORDS)
    vault.purge()
    assert vault.git("log", "--format=%s").splitlines() == ["Purged a text from history", "b", "a"]
    assert vault.id("main") == vault.id("HEAD~2")
    assert vault.git("rev-parse", "--abbrev-ref", "HEAD").strip() == "HEAD"
    vault.assert_clean()


def test_an_unborn_branch(world: World, repository: Path) -> None:
    vault = Vault(world, repository)
    vault.write("MEMORY.md", WORDS)
    assert vault.purge().commit is None
    assert (repository / "MEMORY.md").read_text() == PURGED_MARK


def test_a_shallow_clone(vault: Vault, tmp_path: Path) -> None:
    vault.commit("last", memory__topic="# Topic\n")
    vault.git("clone", "-q", "--depth=2", f"file://{vault.root}", tmp_path / "shallow")
    clone = Vault(vault.world, tmp_path / "shallow")
    clone.git("config", "user.name", NAME)
    clone.git("config", "user.email", EMAIL)
    clone.git("symbolic-ref", "-d", "refs/remotes/origin/HEAD")
    clone.git("remote", "remove", "origin")
    assert any("shallow" in notice for notice in clone.plan().notices)
    clone.purge()
    assert clone.git("log", "--format=%s").splitlines() == [
        "Purged a text from history",
        "last",
        "hold it",
    ]
    assert (clone.root / ".git" / "shallow").read_text().split() == [clone.id("HEAD~2")]
    clone.assert_clean()


def test_linked_worktrees(vault: Vault, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    vault.git("worktree", "add", "-q", "--detach", linked)
    before = vault.tree_state()
    with pytest.raises(RepositoryProblem) as refused:
        vault.purge()
    assert refused.value.code == "cannot-purge"
    assert vault.tree_state() == before
    worktree = Vault(vault.world, linked)
    worktree.commit("clean", MEMORY=OTHER)
    vault.purge()
    assert worktree.git("log", "--format=%s").splitlines() == ["clean", "hold it", "other", "seed"]
    assert worktree.id("HEAD~1") == vault.id("HEAD~1")
    assert worktree.git("status", "--porcelain") == ""
    vault.assert_clean()


def test_a_linked_worktree_with_an_odd_name(vault: Vault, tmp_path: Path) -> None:
    vault.commit("clean", MEMORY=OTHER)
    vault.git("worktree", "add", "-q", "--detach", tmp_path / "a\nworktree b")
    vault.purge()
    assert Vault(vault.world, tmp_path / "a\nworktree b").id("HEAD") == vault.id("HEAD~1")
    vault.assert_clean()


@pytest.mark.parametrize("detached", [False, True])
def test_a_submodule(vault: Vault, tmp_path: Path, detached: bool) -> None:
    """git lists its git folder as a work tree."""
    outer = tmp_path / "outer"
    vault.world.git(tmp_path, "init", "-q", outer)
    vault.world.git(
        outer,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        vault.root,
        "inner",
    )
    inner = Vault(vault.world, outer / "inner")
    inner.git("config", "user.name", NAME)
    inner.git("config", "user.email", EMAIL)
    inner.git("remote", "remove", "origin")
    if detached:
        inner.git("checkout", "-q", "--detach")
        inner.git("branch", "-q", "-D", "main")
    inner.purge()
    assert inner.git("log", "--format=%s").splitlines() == [
        "Purged a text from history",
        "hold it",
        "other",
        "seed",
    ]
    inner.assert_clean()


def test_from_a_linked_worktree(vault: Vault, tmp_path: Path) -> None:
    vault.commit("clean", MEMORY=OTHER)
    vault.git("switch", "-q", "--detach")
    vault.git("worktree", "add", "-q", tmp_path / "linked", "main")
    worktree = Vault(vault.world, tmp_path / "linked")
    worktree.write("MEMORY.md", WORDS)
    worktree.purge()
    assert worktree.git("status", "--porcelain").splitlines() == [" M MEMORY.md"]
    assert vault.id("HEAD") == worktree.id("HEAD~1")
    assert vault.git("status", "--porcelain") == ""
    worktree.assert_clean()
