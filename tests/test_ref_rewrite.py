"""Rewritten history is put in place, and what led to the old one is removed."""

import os
from pathlib import Path

import pytest
from conftest import World
from vault import FACT, OTHER, WHEN, WORDS, Vault

from mdmem.folder import files
from mdmem.model.errors import RepositoryProblem
from mdmem.purge import history_rewrite, ref_rewrite
from mdmem.purge.history_rewrite import KEPT_STASH, Objects, RewrittenHistory
from mdmem.purge.target import PURGED_MARK, purge_rules, purge_target

RULES = purge_rules(purge_target(WORDS, FACT))


@pytest.fixture
def at(world: World, repository: Path) -> Vault:
    return Vault(world, repository)


def rewritten(at: Vault) -> RewrittenHistory:
    objects = Objects(at.root, keep=True)
    history = history_rewrite.rewrite_history(at.repository, RULES, objects, [])
    objects.flush()
    return history


def test_entries_of_the_index_keep_their_flags(at: Vault) -> None:
    at.commit("hold it", a=WORDS, b=f"b {WORDS}", c=OTHER)
    at.git("update-index", "--skip-worktree", "a.md", "b.md")
    at.git("update-index", "--assume-unchanged", "a.md", "b.md")
    ref_rewrite.update_index_entries(at.repository, rewritten(at))
    assert at.git("ls-files", "-v").splitlines() == ["s a.md", "s b.md", "H c.md"]
    assert at.git("show", ":a.md", ":b.md") == f"{PURGED_MARK}b {PURGED_MARK}"


def test_an_index_keeps_no_conflict_that_is_resolved(at: Vault) -> None:
    at.commit("hold it", a=WORDS)
    blob = at.id("HEAD:a.md")
    rows = "".join(f"100644 {blob} {stage}\ta.md\n" for stage in (1, 2, 3))
    at.git("update-index", "--index-info", stdin=f"0 {'0' * 40}\ta.md\n{rows}")
    at.git("add", "a.md")
    assert blob in at.git("ls-files", "--resolve-undo")
    ref_rewrite.update_index_entries(at.repository, rewritten(at))
    assert at.git("ls-files", "--resolve-undo") == ""


def test_git_looks_at_the_files_again(at: Vault) -> None:
    at.commit("seed", MEMORY=OTHER)
    os.utime(at.root / "MEMORY.md", (0, 0))
    assert at.git("diff-files", "--name-only") == "MEMORY.md\n"
    ref_rewrite.refresh_index(at.repository)
    assert at.git("diff-files", "--name-only") == ""


def test_a_fetch_that_deepens_a_shallow_clone_meanwhile(
    at: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    shallow = at.write(".git/shallow", at.commit(f"about {WORDS}") + "\n")
    history = rewritten(at)

    def deepen() -> str:
        shallow.write_text("")
        return ".new"

    monkeypatch.setattr(files, "temporary_name", deepen)
    with pytest.raises(RepositoryProblem) as refused:
        ref_rewrite.move_refs(at.repository, history, history.moved)
    assert refused.value.code == "repository-busy"


def test_refs_of_any_name_move(at: Vault) -> None:
    at.git("update-ref", "refs/tags/\udcff", at.commit(f"about {WORDS}"))
    history = rewritten(at)
    ref_rewrite.move_refs(at.repository, history, history.moved)
    assert at.id("refs/tags/\udcff") == at.id("main") == history.moved["refs/heads/main"]


def test_notes_on_commits_that_stay_stay(at: Vault) -> None:
    at.commit("seed", MEMORY=OTHER)
    at.git("notes", "add", "-m", "a note")
    at.commit(f"about {WORDS}")
    moved = ref_rewrite.add_purge_note(
        at.repository, rewritten(at), Objects(at.root, keep=True), "note\n", WHEN, None
    )
    assert list(moved) == ["refs/heads/main"]


def test_what_leads_to_old_objects_is_removed(at: Vault, tmp_path: Path) -> None:
    """Entries of the stash are put back in the order of their numbers, with all of their words and
    their date.
    """
    at.commit("seed", MEMORY=OTHER)
    for number, message in ((2, "two\n\nlines"), (10, "ten")):
        at.write("MEMORY.md", f"{number}\n")
        at.git("stash", "push", "-q", "-m", message)
        at.git("update-ref", f"{KEPT_STASH}{number}", "refs/stash")
    date = at.git("log", "-1", "--format=%cd", "--date=raw", "refs/stash").strip().encode()
    folder = at.root / ".git"
    pointers = [
        at.write(f".git/{name}", at.id("HEAD"))
        for name in ("ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE")
    ]
    scratch = [
        at.write(f".git/{name}", f"x {WORDS}\n")
        for name in ("rr-cache/ab/preimage", "lost-found/other/ab")
    ]
    outside = tmp_path / "outside"
    outside.write_text(WORDS, encoding="utf-8")
    (folder / "LINKED_MSG").symlink_to(outside)
    (folder / "FOLDER_MSG").mkdir()
    ref_rewrite.drop_old_objects(at.repository, RULES, 0)
    assert [path for path in (*pointers, *scratch) if path.exists()] == []
    assert outside.read_text(encoding="utf-8") == WORDS
    log = (folder / "logs" / "refs" / "stash").read_bytes().splitlines()
    assert [line.partition(b"\t")[2] for line in log] == [b"On main: two lines", b"On main: ten"]
    assert all(line.partition(b"\t")[0].endswith(b" " + date) for line in log)


def test_files_of_git_that_hold_the_words(at: Vault) -> None:
    """Not those of other repositories, of objects, and those that are removed."""
    left_out = ("objects", "modules", "mdmem", "lfs", "annex", "rr-cache", "lost-found")
    for name in (
        *(f"{folder}/x" for folder in left_out),
        "hooks/objects/x",
        "worktrees/linked/x",
        f"info/{WORDS}",
    ):
        at.write(f".git/{name}", WORDS)
    assert ref_rewrite.git_files_holding(at.repository, RULES) == 3
