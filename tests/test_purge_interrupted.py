"""A purge that is killed, or that something else overtakes: the next one completes it, and nothing
is lost.
"""

import os
import time
from pathlib import Path

import pytest
from vault import FACT, OTHER, WHEN, WORDS, Vault
from vault import vault as vault

from mdmem.model.errors import RepositoryProblem
from mdmem.purge import history_rewrite, purging, ref_rewrite
from mdmem.purge.target import purge_rules, purge_target


def test_what_another_git_has_just_written_stays(vault: Vault) -> None:
    """A git process writes objects first, and moves its ref, or writes its index, later."""
    loose = vault.git("hash-object", "-w", "--stdin", stdin="not committed yet").strip()
    old = vault.git("hash-object", "-w", "--stdin", stdin="older").strip()
    loose_file = vault.root / ".git" / "objects" / loose[:2] / loose[2:]
    later = time.time() + 60
    os.utime(loose_file, (later, later))
    packed = vault.git("hash-object", "-w", "--stdin", stdin="fetched, not committed yet").strip()
    pack = Path(
        vault.git("pack-objects", "-q", ".git/objects/pack/pack", stdin=packed + "\n").strip()
    )
    os.utime(vault.root / ".git" / "objects" / "pack" / f"pack-{pack}.pack", (later, later))
    vault.git("prune-packed")
    vault.purge()
    assert vault.git("cat-file", "blob", loose) == "not committed yet"
    assert vault.git("cat-file", "blob", packed) == "fetched, not committed yet"
    assert vault.world.git(vault.root, "cat-file", "-e", old, check=False).returncode


def prepared(vault: Vault) -> tuple[history_rewrite.RewrittenHistory, dict[str, str]]:
    """A purge that is cut short before it moves the refs."""
    repository = vault.repository
    rules = purge_rules(purge_target(WORDS, FACT))
    store = history_rewrite.Objects(repository.folder, keep=True)
    rewrite = history_rewrite.rewrite_history(repository, rules, store, ())
    moved = ref_rewrite.add_purge_note(
        repository, rewrite, store, f"note\n\n{purging.PURGE_TRAILER}\n", WHEN, None
    )
    store.flush()
    return rewrite, moved


def test_killed_while_a_stash_without_a_log_is_put_back(vault: Vault) -> None:
    for words in ("a", "b"):
        vault.write("MEMORY.md", f"{OTHER}- {WORDS}\n- after\n- {words}\n")
        vault.git("stash", "push", "-q", "-m", words)
    ref_rewrite.move_refs(vault.repository, *prepared(vault))
    (vault.root / ".git" / "logs" / "refs" / "stash").unlink()
    vault.purge()
    assert vault.git("stash", "list").splitlines() == [
        "stash@{0}: On main: b",
        "stash@{1}: On main: a",
    ]
    assert vault.git("for-each-ref", "refs/mdmem") == ""
    vault.assert_clean()


def test_a_stash_of_which_git_does_not_let_go(vault: Vault) -> None:
    vault.write("MEMORY.md", f"{OTHER}- {WORDS}\n- after\n- a\n")
    vault.git("stash", "push", "-q", "-m", "a")
    hook = vault.root / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        '#!/bin/sh\n[ "$1" = prepared ] || exit 0\n! grep -qE "^[0-9a-f]+ 0+ refs/stash$"\n'
    )
    hook.chmod(0o755)
    with pytest.raises(RepositoryProblem) as refused:
        vault.purge()
    assert (refused.value.code, refused.value.message) == ("git-failed", "git update-ref failed")
    hook.unlink()
    vault.purge()
    assert vault.git("stash", "list").splitlines() == ["stash@{0}: On main: a"]
    vault.assert_clean()


def test_a_ref_that_moves_meanwhile(vault: Vault) -> None:
    vault.git("branch", "side")
    rewrite, moved = prepared(vault)
    vault.git("update-ref", "refs/heads/side", "HEAD~1")
    before = vault.tree_state()
    with pytest.raises(RepositoryProblem) as refused:
        ref_rewrite.move_refs(vault.repository, rewrite, moved)
    assert refused.value.code == "repository-busy"
    assert vault.tree_state() == before


def test_killed_after_the_refs_moved_and_then_written_to(vault: Vault) -> None:
    """The note of the first run is no longer the newest commit, and only what is about to go still
    holds it.
    """
    ref_rewrite.move_refs(vault.repository, *prepared(vault))
    vault.git("reset", "-q", "--hard")
    vault.commit("later", memory__later="- z\n")
    plan = vault.plan()
    assert plan.has_changes
    assert plan.loose > 0
    vault.purge()
    vault.assert_clean()


def test_twice_is_once(vault: Vault) -> None:
    for words in ("a", "b"):
        vault.write("MEMORY.md", f"{OTHER}- {WORDS}\n- after\n- {words}\n")
        vault.git("stash", "push", "-q", "-m", words)
    vault.purge()
    before = vault.tree_state()
    assert not vault.plan().has_changes
    vault.purge()
    assert vault.tree_state() == before
