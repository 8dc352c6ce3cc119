"""The answer to a change: the etag of what the edit left changed, and the difference."""

from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import Desk, append, desk

from mdmem.changes.apply import plan_diff, write_result
from mdmem.changes.file_write import Plan
from mdmem.editors import EditResult
from mdmem.model import CommitId, FactId, FilePath, Op, SectionPath, Supersession
from mdmem.model.writes import Action, EditSection, WriteResult
from mdmem.text.document import Document, parse, preamble_etag, section_etag

SEED = "above\n\n# A\n\n- a\n\n# B\n\n- b\n\n# A\n\n- c\n"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


def etags(document: Document) -> list[str]:
    return [
        preamble_etag(document),
        *(section_etag(document, section) for section in document.sections),
    ]


def plan(
    before: str | None,
    after: str,
    section: SectionPath = (),
    op: Op = Op.REPLACE,
    path: str = "MEMORY.md",
    **more: Any,
) -> Plan:
    return Plan(
        path=FilePath(path),
        full_path=Path(path),
        before=None if before is None else before.encode(),
        old=None if before is None else parse(before),
        new=parse(after),
        edit=EditResult(
            text=after, op=op, section=section, contradicts=(FactId("c"),), kept=("k",)
        ),
        **more,
    )


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
    new = EditSection(
        "A", Action.BODY, "- x", file="new.md", create=True, options=append(dry_run=True).options
    )
    assert at.apply(new).diff == "--- /dev/null\n+++ b/new.md\n@@ -0,0 +1,3 @@\n+## A\n+\n+- x\n"


@pytest.mark.parametrize(
    ("before", "after", "number"),
    [
        (None, "# A\n\n# A\n", 1),
        ("# A\n- a\n# A\n- b\n# A\n", "# A\n- a\n#  A\n- c\n# A\n", 2),
        ("# A\n- a\n# A\n- b\n# A\n- c\n", "# A\n- a\n# A\n- b\n# A\n- c\n", 3),
    ],
    ids=["new file", "from the heading on", "nothing differs"],
)
def test_of_sections_with_the_same_path_it_is_the_one_where_the_texts_differ_first(
    before: str | None, after: str, number: int
) -> None:
    assert write_result(plan(before, after, ("A",)), None).etag == etags(parse(after))[number]


@pytest.mark.parametrize(
    ("before", "after", "op", "has_etag"),
    [
        ("- a\n", "- b\n", Op.REVERT, True),
        ("- a\n", "- a\n", Op.REVERT, False),
        ("- a\n", "- a\n", Op.REPLACE, True),
    ],
)
def test_a_revert_that_changes_nothing_is_about_no_text(
    before: str, after: str, op: Op, has_etag: bool
) -> None:
    assert write_result(plan(before, after, op=op), None).etag == (
        preamble_etag(parse(after)) if has_etag else None
    )


def test_the_answer_says_what_the_plan_does_in_both_files() -> None:
    other = plan("- x\n", "", path="a.md", removed=(FactId("e"),), warnings=("odd", "even"))
    whole = plan(
        "# A\n",
        "# A\n\n- y\n",
        ("A",),
        added=(FactId("a"),),
        removed=(FactId("b"),),
        supersedes=(Supersession(FactId("b"), FactId("a")),),
        ended=(FactId("d"),),
        retracts=(FactId("r"),),
        warnings=("odd",),
        companion=other,
        notes=("a note",),
    )
    assert write_result(whole, CommitId("1234567"), "the difference", ("first",)) == WriteResult(
        changed=True,
        path="MEMORY.md",
        section=("A",),
        etag=etags(whole.new)[1],
        commit=CommitId("1234567"),
        added=(FactId("a"),),
        removed=(FactId("b"), FactId("r"), FactId("e")),
        supersedes=(Supersession(FactId("b"), FactId("a")),),
        diff="the difference",
        notes=("first", "a note"),
        warnings=("odd", "even"),
        op=Op.REPLACE,
        ended=(FactId("d"),),
        contradicts=(FactId("c"),),
        kept=("k",),
    )
    assert plan_diff(whole) == (
        "--- a/MEMORY.md\n+++ b/MEMORY.md\n@@ -1 +1,3 @@\n # A\n+\n+- y\n--- a/a.md\n+++ b/a.md\n@@ -1 +0,0 @@\n-- x\n"
    )
