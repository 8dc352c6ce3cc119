"""Memory on any day, in a real repository; and a key with one value a month."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem.memory import Memory
from mdmem.model.searches import Hit, ListFacts, Search
from mdmem.model.writes import Remember
from mdmem.queries import fact_changes

DAYS = ["2026-01-10", "2026-02-10", "2026-03-10", "2026-04-10"]
EMPLOYERS = ["Stripe", "Linear", "Figma", "Notion"]


SEED_DATE = "2025-01-01T09:30:00+00:00"
"""A date before all others in the tests, since a commit counts from the greatest date so far."""


@pytest.fixture
def dated_desk(world: World, repository: Path) -> Desk:
    early = World(
        world.home,
        {**world.environment, "GIT_AUTHOR_DATE": SEED_DATE, "GIT_COMMITTER_DATE": SEED_DATE},
    )
    return Desk(
        world,
        desk(early, repository, seed="# Memory\n\n## Work\n\n## Home\n\n- lives in Oslo\n").root,
    )


class DatedMemory:
    """Memory that can be used on any day."""

    def __init__(self, at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = at
        self._patch = monkeypatch

    def on(self, day: str) -> Memory:
        self._patch.setenv("MDMEM_NOW", f"{day}T12:00:00" if len(day) == 10 else day)
        return Memory.open(self.at.root, os.environ)

    def search(self, query: str, day: str = "2027-01-01", **arguments: Any) -> tuple[Hit, ...]:
        return self.on(day).search(replace(Search(query), **arguments)).hits

    def texts(self, query: str, day: str = "2027-01-01", **arguments: Any) -> list[str]:
        return [hit.text for hit in self.search(query, day, **arguments)]


@pytest.fixture
def dated(dated_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> DatedMemory:
    return DatedMemory(dated_desk, monkeypatch)


def facts_saying(dated: DatedMemory, text: str) -> list[Hit]:
    """The hits of `facts --all` with a text."""
    return [
        hit
        for hit in dated.on("2027-01-01").facts(ListFacts(everything=True, limit=0)).facts
        if hit.text == text
    ]


def change_employers(dated: DatedMemory) -> list[str]:
    """Give one key four values, one a month: the ids of the facts."""
    ids = []
    for day, employer in zip(DAYS, EMPLOYERS, strict=True):
        result = dated.on(day).apply(
            Remember(f"works at {employer}", section="Work", key="employer")
        )
        ids.append(str(result.added[0]))
    return ids


@pytest.fixture(params=[1_000, 0])
def facts_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many facts of a commit are read at once; of more, file by file, or they are counted."""
    monkeypatch.setattr(fact_changes, "_MOST_AT_ONCE", request.param)
