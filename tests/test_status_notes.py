"""What `status` says of merges and purges: as long as it is so, and never with the text."""

from __future__ import annotations

from test_two_clones import Pair, memory, pair

from mdmem.model.writes import Purge, Remember
from mdmem.repo import merge_settings

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
    merge_settings.remove_driver(memory(pair.ada).workspace.repository)
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
