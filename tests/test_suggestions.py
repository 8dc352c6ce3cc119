"""A word that names no section of a file: the hint says what else it names."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, append, desk

from mdmem.errors import MdmemError, SectionProblem
from mdmem.memory import Memory
from mdmem.model.history import ShowBlame, ShowHistory
from mdmem.model.reads import Show
from mdmem.wording import plain

SEED = "# Memory\n\n## Work\n\n- timezone: Europe/Berlin\n"
CONFIG = "# Config\n\n## Options\n\n- limit: 3\n"

Verb = Callable[[Desk, str], object]


def _show(at: Desk, word: str) -> object:
    return Memory.open(at.root, os.environ).show(Show(section=word))


def _history(at: Desk, word: str) -> object:
    return Memory.open(at.root, os.environ).history(ShowHistory(word))


def _blame(at: Desk, word: str) -> object:
    return Memory.open(at.root, os.environ).blame(ShowBlame(word))


def _edit(at: Desk, word: str) -> object:
    return at.apply(append("- more", section=word))


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    at = desk(world, repository, seed=SEED)
    at.write("memory/config.md", CONFIG)
    at.write("memory/2026-03-04.md", "# 2026-03-04\n\n- rain\n")
    at.commit("more")
    return at


def hint(at: Desk, verb: Verb, word: str) -> str:
    with pytest.raises(MdmemError) as failure:
        verb(at, word)
    assert failure.value.code == "section-not-found"
    return plain(failure.value.hint)


@pytest.mark.parametrize("verb", [_show, _history, _blame, _edit])
@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Config > Options", "It stands in memory/config.md: name the file."),
        ("options", "It stands in memory/config.md: name the file."),
        ("Yesterday", "memory/2026-03-04.md is a file: name it as one."),
    ],
)
def test_what_stands_elsewhere(at: Desk, verb: Verb, word: str, expected: str):
    assert hint(at, verb, word) == expected


@pytest.mark.parametrize("verb", [_show, _blame, _edit])
def test_a_key(at: Desk, verb: Verb):
    assert hint(at, verb, "timezone") == "It is a key: facts (key) timezone."
    assert hint(at, verb, "limit") == "It is a key: facts (key) limit."


def test_near_names_are_named_too(at: Desk):
    at.write("memory/jobs.md", "## Works\n")
    assert hint(at, _show, "Works") == "It stands in memory/jobs.md: name the file. Did you mean: Memory > Work"


def test_of_a_file_that_is_named_only_keys_are(at: Desk):
    memory = Memory.open(at.root, os.environ)
    with pytest.raises(SectionProblem) as failure:
        memory.show(Show(file="MEMORY.md", section="Options"))
    assert plain(failure.value.hint).startswith("Its sections are: Memory")


def test_a_word_without_a_past(at: Desk):
    assert hint(at, _history, "zorro") == "search QUERY finds words; outline lists sections."
    assert hint(at, _history, "berlin").startswith("Facts with these words: ")
