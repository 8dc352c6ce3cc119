"""A word that names no section of a file: the hint says what else it names."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, append, desk

from mdmem.memory import Memory
from mdmem.model.errors import MdmemError, PathProblem, SectionProblem, plain
from mdmem.model.history import ShowBlame, ShowHistory
from mdmem.model.reads import Show

SEED = "# Memory\n\n## Work\n\n- timezone: Europe/Berlin\n"
CONFIG = "# Config\n\n## Options\n\n- limit: 3\n"

Verb = Callable[[Desk, str], object]


def _show(at: Desk, word: str) -> object:
    return Memory.open(at.root, os.environ).show_named(Show(section=word))


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


@pytest.mark.parametrize(
    ("verb", "command"),
    [
        (_show, "show memory/config.md {}"),
        (_history, "history {} file memory/config.md"),
        (_blame, "blame {} file memory/config.md"),
        (_edit, "file memory/config.md"),
    ],
)
@pytest.mark.parametrize(
    ("word", "quoted"), [("Config > Options", "'Config > Options'"), ("options", "options")]
)
def test_a_section_of_another_file(at: Desk, verb: Verb, command: str, word: str, quoted: str):
    assert hint(at, verb, word) == f"It is in memory/config.md: {command.format(quoted)}"


@pytest.mark.parametrize("verb", [_show, _history, _blame])
@pytest.mark.parametrize(
    "word", ["Yesterday", "config", "memory/config.md", "timezone", "limit: 3."]
)
def test_a_file_or_a_fact_is_read_by_its_name(at: Desk, verb: Verb, word: str):
    assert verb(at, word)


def test_neither_is_edited_as_a_section(at: Desk):
    assert hint(at, _edit, "Yesterday") == "It is a file: file memory/2026-03-04.md"
    assert hint(at, _edit, "timezone") == "It is a key: facts (key) timezone"
    assert hint(at, _edit, "limit") == "It is a key: facts (key) limit"


def test_near_names_are_named_too(at: Desk):
    at.write("memory/jobs.md", "## Works\n")
    assert (
        hint(at, _show, "Works")
        == "It is in memory/jobs.md: show memory/jobs.md Works; Did you mean Memory > Work?"
    )


def test_of_a_file_that_is_named_only_keys_are(at: Desk):
    memory = Memory.open(at.root, os.environ)
    with pytest.raises(SectionProblem) as failure:
        memory.show_named(Show(file="MEMORY.md", section="Options"))
    assert plain(failure.value.hint).startswith("Sections in MEMORY.md: Memory")


@pytest.mark.parametrize("verb", [_history, _blame])
def test_a_file_that_is_not_there(at: Desk, verb: Verb):
    with pytest.raises(PathProblem, match=r"no file 'memory/confg\.md'"):
        verb(at, "memory/confg.md")


def test_a_word_without_a_past(at: Desk):
    assert hint(at, _history, "zorro") == "To find words: search QUERY; to list sections: outline"
    assert hint(at, _history, "berlin").startswith(
        'Did you mean "timezone: Europe/Berlin"? history '
    )
