"""Where a purge is refused, and nothing is changed."""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from vault import OTHER, WORDS, Vault
from vault import vault as vault
from workspaces import STATE

from mdmem.folder import journal
from mdmem.folder.journal import CommitStep, FileStep, Journal
from mdmem.model import FilePath
from mdmem.model.errors import RepositoryProblem

OTHER_STATE = STATE.with_name("other")


def gone_worktree(vault: Vault) -> None:
    vault.git("worktree", "add", "-q", "--detach", vault.root.parent / "gone")
    shutil.rmtree(vault.root.parent / "gone")


def keep_all_objects(vault: Vault, value: str) -> None:
    vault.git("config", "core.repositoryFormatVersion", "1")
    vault.git("config", "extensions.preciousObjects", value)


def worktree_with_refs(vault: Vault, name: str = "refs/worktree/own") -> None:
    vault.linked().git("update-ref", name, "HEAD")


def busy_worktree(vault: Vault, verb: Sequence[str] = ("merge",)) -> None:
    """Make a linked work tree with an operation that stopped at a conflict; the main work tree is
    not busy.
    """
    worktree = vault.linked()
    worktree.commit("theirs", MEMORY="theirs\n")
    commit = worktree.id("HEAD")
    worktree.git("reset", "-q", "--hard", "HEAD~")
    worktree.commit("ours", MEMORY="ours\n")
    worktree.commit("ours again", MEMORY="ours again\n")
    vault.world.git(worktree.root, *verb, commit if verb[0] != "revert" else "HEAD~", check=False)
    assert "U" in worktree.git("status", "--porcelain")


def staged_in_worktree(vault: Vault) -> None:
    worktree = vault.linked()
    worktree.write("MEMORY.md", WORDS)
    worktree.git("add", "-A")
    worktree.write("MEMORY.md", OTHER)


def unfinished_write(vault: Vault, state: Path = OTHER_STATE) -> None:
    vault.scope().workspace.ensure_state()
    step, then = FileStep(FilePath("a.md"), None, "x", ""), CommitStep(WORDS, "")
    path = vault.root / state / journal.WRITE_NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    journal.save(path, Journal((step,), then))


@pytest.mark.parametrize(
    "arrange",
    [
        lambda vault: vault.git("replace", "HEAD", "HEAD~1"),
        lambda vault: vault.write(".git/info/grafts", vault.id("HEAD") + "\n"),
        lambda vault: vault.write(".git/objects/pack/pack-x.promisor", ""),
        *(partial(keep_all_objects, value=value) for value in ("true", "yes")),
        gone_worktree,
        *(
            partial(worktree_with_refs, name=f"refs/{folder}/own")
            for folder in ("worktree", "bisect", "rewritten")
        ),
        *(
            partial(busy_worktree, verb=verb)
            for verb in (["merge"], ["cherry-pick"], ["revert"], ["rebase"], ["rebase", "--apply"])
        ),
        staged_in_worktree,
        unfinished_write,
    ],
)
def test_what_is_refused(vault: Vault, arrange: Callable[[Vault], object]) -> None:
    arrange(vault)
    before = vault.tree_state()
    with pytest.raises(RepositoryProblem) as refused:
        vault.purge()
    assert refused.value.code in ("cannot-purge", "repository-busy")
    assert vault.tree_state() == before


def test_a_plan_where_this_workspace_has_an_unfinished_write(vault: Vault) -> None:
    """A purge settles it first."""
    unfinished_write(vault, STATE)
    assert vault.plan().has_changes
