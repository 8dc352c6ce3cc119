"""A week of one person, four clients and two time zones: what is in the logs, in MEMORY.md and proposed, against a list that was written before."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import EMAIL, NAME, keep_from_background, sealed_world
from simulated_week import Week, entries_of, live
from week_gold import FORBIDDEN, entries

KEPT = 0.9
"""The least share of the entries of the gold list."""


def new_week(folder: Path, patch: pytest.MonkeyPatch) -> Week:
    keep_from_background(patch)
    world = sealed_world(folder, patch)
    root = folder / "repository"
    root.mkdir()
    for words in (["init", "-q", "-b", "main"], ["config", "user.name", NAME], ["config", "user.email", EMAIL]):
        world.git(root, *words)
    return Week(world, root, patch)


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    with pytest.MonkeyPatch.context() as patch:
        week = new_week(tmp_path_factory.mktemp("week"), patch)
        live(week, dreams=False)
        yield week


def written_entries(week: Week) -> list[tuple[str, str, str, str]]:
    """Day, minute, source and line of each entry."""
    sources: dict[tuple[str, str], str] = {}
    for name in week.files():
        if name.startswith("memory/2026-"):
            facts = week.call("facts", "--json", "--all", "-n", "0", "--file", name).values["facts"]
            sources |= {(name, fact["text"]): fact["source"] for fact in facts}
    return [(day, minute, sources[f"memory/{day}.md", line.partition("] ")[2]], line) for day, minute, line in entries_of(week)]


def test_the_entries_of_the_week(week: Week):
    gold, written = entries(), written_entries(week)
    assert len(gold) >= 60
    assert len(set(gold)) == len(gold)
    assert sorted(set(written)) == sorted(written)
    kept = set(gold) & set(written)
    assert len(kept) >= KEPT * len(gold), sorted(set(gold) - kept)
    assert len(set(written) - kept) <= (1 - KEPT) * len(gold), sorted(set(written) - kept)


def test_nothing_forbidden_is_written(week: Week):
    memory = b"\n".join(week.files().values()).decode()
    everything = memory + week.git("log", "--all", "-p", "--format=%B")
    assert [words for words in FORBIDDEN if words in everything] == []
