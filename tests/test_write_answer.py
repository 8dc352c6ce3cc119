"""The answer to a change: the etag of what the edit left changed, and the difference."""

from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, append, desk

from mdmem.document import Document, parse, preamble_etag, section_etag
from mdmem.model.writes import Action, EditSection

SEED = "above\n\n# A\n\n- a\n\n# B\n\n- b\n\n# A\n\n- c\n"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


def etags(document: Document) -> list[str]:
    return [preamble_etag(document), *(section_etag(document, section) for section in document.sections)]


@pytest.mark.parametrize(
    ("change", "number"),
    [
        (EditSection(None, Action.APPEND, "more"), 0),
        (EditSection("A", Action.APPEND, "- x", nth=1), 1),
        (EditSection("B", Action.APPEND, "- x"), 2),
        (EditSection("A", Action.APPEND, "- x", nth=2), 3),
        (EditSection("A", Action.APPEND, "- c", nth=2), 3),
        (EditSection("B", Action.DELETE), None),
    ],
)
def test_the_etag_is_of_what_was_edited(at: Desk, change: EditSection, number: int | None) -> None:
    done = at.apply(change)
    assert done.etag == (None if number is None else etags(parse(at.read("MEMORY.md")))[number])


def test_a_dry_run_shows_the_difference(at: Desk) -> None:
    diff = at.apply(append("- x", "B", dry_run=True)).diff or ""
    assert diff.startswith("--- a/MEMORY.md\n+++ b/MEMORY.md\n")
    assert "+- x\n" in diff
    assert at.apply(append("- b", "B", dry_run=True)).diff == ""
    new = EditSection("A", Action.BODY, "- x", file="new.md", create=True, options=append(dry_run=True).options)
    assert (at.apply(new).diff or "").startswith("--- /dev/null\n+++ b/new.md\n")
