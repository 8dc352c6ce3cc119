"""What `status` says of merges and purges: as long as it is so, and never with the text."""

from __future__ import annotations

from pathlib import Path

from conftest import World
from test_two_clones import Pair, memory, pair
from workspaces import desk

from mdmem.merge import setup
from mdmem.model.writes import Purge, Remember

__all__ = ["pair"]
WORDS = "the alarm code is 4711 at home"


def notes(pair: Pair) -> tuple[str, ...]:
    return memory(pair.ada).status().notes


def purged(pair: Pair) -> None:
    pair.meet()
    memory(pair.ada).apply(Remember(WORDS, section="Work"))
    pair.meet()
    assert notes(pair) == ()
    memory(pair.ada).purge(Purge(WORDS))


def test_a_clone_without_the_driver(pair: Pair) -> None:
    assert notes(pair) == ()
    setup.remove_driver(memory(pair.ada).workspace.repository)
    (note,) = notes(pair)
    assert note.startswith("no merge driver is set here")
    pair.ada.git("remote", "remove", "origin")
    assert notes(pair) == ()


def test_a_remote_that_has_not_taken_a_purge(pair: Pair) -> None:
    purged(pair)
    (note,) = notes(pair)
    assert note.startswith("origin/main may still hold text that was purged here")
    assert "4711" not in note
    pair.ada.git("push", "-q", "--force")
    assert notes(pair) == ()
    pair.at("2026-03-09", "09:00")
    memory(pair.ada).apply(Remember("likes dark rooms", section="Work"))
    assert notes(pair) == ()


def test_a_pull_that_brings_it_back(pair: Pair) -> None:
    purged(pair)
    pair.ada.git("pull", "-q", "--no-rebase", "--no-edit", "--allow-unrelated-histories")
    assert WORDS in pair.ada.read("MEMORY.md")
    (note,) = notes(pair)
    assert note.startswith("MEMORY.md holds text that was purged")
    assert "4711" not in note


def test_purges_that_the_trail_has_and_has_not(pair: Pair) -> None:
    purged(pair)
    memory(pair.ada).reindex()
    pair.ada.git("commit", "-q", "--allow-empty", "-m", "behind it")
    assert [note.partition(" ")[0] for note in notes(pair)] == ["origin/main"]


def test_a_history_that_cannot_be_read(pair: Pair) -> None:
    purged(pair)
    for subject in ("between", "last"):
        pair.ada.git("commit", "-q", "--allow-empty", "-m", subject)
    between = pair.ada.git("rev-parse", "HEAD~1").strip()
    (pair.ada.root / ".git" / "objects" / between[:2] / between[2:]).unlink()
    assert any(
        note.startswith("cannot tell whether purged text is still there: ") for note in notes(pair)
    )


def test_a_workspace_without_a_commit(world: World, repository: Path) -> None:
    at = desk(world, repository)
    at.git("update-ref", "-d", "HEAD")
    assert memory(at).status().notes == ()
