"""Plans of changes: what comes in and goes out, what is stated of it, and what the user should
know. Nothing is written.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import NOW, Desk, code_of, desk

from mdmem.changes.file_write import Plan
from mdmem.changes.plan import plan_edit
from mdmem.changes.verbs import FileEdit, InstructionsEdit, RevertEdit
from mdmem.editors import EditResult
from mdmem.model import CommitId, FactId, FilePath, Op, Source, Supersession
from mdmem.model.errors import field
from mdmem.model.writes import Action, CreateFile, EditSection, Forget, Log, Remember, WriteOptions
from mdmem.text.document import parse
from mdmem.text.facts import fact_id

SEED = "# Memory\n\n## Work\n\n- k: 1\n- tea\n"
TOPIC = FilePath("memory/topic.md")
LOG = FilePath("memory/2026-03-05.md")
TOKEN = "ghp_" + "Zq3vT8bN1xK6mW9cR4yF" + "7sJ2hD5gL0pA8uEi"
K1, K2, TEA, MILK = map(fact_id, ("k: 1", "k: 2", "tea", "milk"))
USERS = WriteOptions(source=Source.USER_STATED)


def plan(
    before: str | None,
    after: str,
    op: Op = Op.REPLACE,
    confirms: tuple[FactId, ...] = (),
    **more: Any,
) -> Plan:
    path = FilePath("MEMORY.md")
    old = None if before is None else parse(before)
    edit = EditResult(text=after, op=op, section=(), confirms=confirms)
    data = None if before is None else before.encode()
    return Plan(
        path=path, full_path=Path(path), before=data, old=old, new=parse(after), edit=edit, **more
    )


@pytest.mark.parametrize(
    ("planned", "op"),
    [
        (plan("a", "b", confirms=(TEA,)), Op.REPLACE),
        (plan("a", "a", retracts=(TEA,)), Op.REPLACE),
        (plan("a", "a", confirms=(TEA,)), Op.CONFIRM),
        (plan("a", "a"), Op.SUPERSEDE),
    ],
)
def test_the_operation_is_what_is_done_or_stated(planned: Plan, op: Op) -> None:
    assert planned.op is op


@pytest.mark.parametrize(
    ("planned", "changes"),
    [
        (plan("a", "a"), False),
        (plan("a", ""), True),
        (plan("", ""), False),
        (plan(None, ""), False),
        (plan(None, "a"), True),
        (plan(None, "", Op.MEMORY_TOOL), True),
        (plan("", "", Op.MEMORY_TOOL), False),
    ],
)
def test_an_empty_file_is_made_by_the_memory_tool_alone(planned: Plan, changes: bool) -> None:
    assert planned.changes is changes


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    at = desk(world, repository, seed=SEED)
    at.write(TOPIC, "# Topic\n\n- milk\n")
    at.commit("topic")
    return at


def said(at: Desk, edit: FileEdit, path: str = "MEMORY.md") -> dict[str, object]:
    """What a plan says, as far as it says anything."""
    made = plan_edit(at.workspace, edit, FilePath(path))
    assert made.actor == edit.options.actor
    names = (
        "added",
        "removed",
        "supersedes",
        "ended",
        "retracts",
        "marks",
        "warnings",
        "companion",
        "notes",
    )
    return {name: value for name in names if (value := getattr(made, name))}


def test_a_new_value_takes_the_place_of_the_old_one(at: Desk) -> None:
    note = f"weaker-source: replaced something the user stated with an inferred value: {K1} k: 1"
    assert said(at, Remember("k: 2", section="Work", options=WriteOptions(actor="bot"))) == {
        "added": (K2,),
        "removed": (K1,),
        "supersedes": (Supersession(K1, K2),),
        "warnings": ("weaker-source",),
        "notes": (note,),
    }
    assert "warnings" not in said(at, Remember("k: 2", section="Work", options=USERS))


def test_no_more_than_three_of_the_facts_that_go_are_named(at: Desk) -> None:
    long = "x" * 60
    at.write(TOPIC, "# Topic\n\n" + "".join(f"- {number}{long}\n" for number in range(4)))
    (note,) = plan_edit(
        at.workspace, EditSection("Topic", Action.BODY, "- y", file=TOPIC), TOPIC
    ).notes
    named = "; ".join(f"{fact_id(f'{number}{long}')} {number}{long[1:]}" for number in range(3))
    assert (
        note == f"weaker-source: replaced something the user stated with an inferred value: {named}"
        f" (if you say so yourself: {field('source')} user-stated)"
    )


def test_a_fact_of_another_file_goes_out_with_it(at: Desk) -> None:
    options = WriteOptions(supersedes="milk", actor="bot")
    plan_of_both = said(at, Remember("cream", section="Work", options=options))
    companion = plan_of_both.pop("companion")
    cream = fact_id("cream")
    assert plan_of_both.pop("notes") == (
        f"weaker-source: replaced something the user stated with an inferred value: {MILK} milk",
    )
    supersedes = (Supersession(MILK, cream),)
    assert plan_of_both == {
        "added": (cream,),
        "supersedes": supersedes,
        "marks": True,
        "warnings": ("weaker-source",),
    }
    assert isinstance(companion, Plan)
    assert (companion.path, companion.full_path, companion.before) == (
        TOPIC,
        at.root / TOPIC,
        b"# Topic\n\n- milk\n",
    )
    assert (companion.after, companion.removed, companion.actor, companion.warnings) == (
        b"# Topic\n\n",
        (MILK,),
        "bot",
        (),
    )
    assert not companion.marks


def test_what_goes_out_of_another_file_may_be_most_of_it(at: Desk) -> None:
    at.write(TOPIC, "# Topic\n\n- milk\n" + "  and more\n" * 40)
    options = replace(USERS, supersedes=fact_id("milk" + "\nand more" * 40))
    companion = plan_edit(
        at.workspace, Remember("cream", section="Work", options=options), FilePath("MEMORY.md")
    ).companion
    assert companion is not None
    assert (companion.after, companion.warnings) == (b"# Topic\n\n", ("shrink",))


def test_a_fact_ends_without_a_successor(at: Desk) -> None:
    edit = EditSection(
        "Work",
        Action.APPEND,
        "prose",
        options=WriteOptions(source=Source.USER_STATED, supersedes="tea"),
    )
    assert said(at, edit) == {"removed": (TEA,), "ended": (TEA,), "marks": True}


def test_a_line_of_a_log_counts_no_more(at: Desk) -> None:
    at.apply(Log("it rained", options=USERS))
    rained = fact_id("it rained")
    assert said(at, Forget(rained, LOG, options=USERS), LOG) == {
        "retracts": (rained,),
        "marks": True,
    }
    weaker = said(at, Forget(rained, LOG), LOG)
    assert weaker["warnings"] == ("weaker-source",)
    snow = fact_id("it snowed")
    superseding = WriteOptions(source=Source.USER_STATED, supersedes=rained)
    assert said(at, Log("it snowed", options=superseding), LOG) == {
        "added": (snow,),
        "supersedes": (Supersession(rained, snow),),
        "marks": True,
    }


def test_what_a_digest_wrote_goes_out_of_a_log(at: Desk) -> None:
    at.apply(Log("it rained", options=USERS))
    edit = RevertEdit(
        path=LOG,
        before="",
        after=at.read(LOG),
        only=frozenset({fact_id("it rained")}),
        reverts=CommitId("1234567"),
        options=USERS,
        from_log=True,
    )
    assert said(at, edit, LOG) == {"removed": (fact_id("it rained"),), "warnings": ("append",)}


def test_a_better_source_confirms(at: Desk) -> None:
    at.apply(Remember("water", section="Work"))
    assert said(at, Remember("water", section="Work", options=USERS)) == {"marks": True}


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        (CreateFile("memory/a.txt", "- a\n"), "memory/a.txt"),
        (InstructionsEdit(FilePath("AGENTS.md"), False, WriteOptions()), "AGENTS.md"),
    ],
)
def test_what_holds_no_facts_adds_none(at: Desk, edit: FileEdit, path: str) -> None:
    assert "added" not in said(at, edit, path)


def test_a_new_file_that_is_not_searched_is_told(at: Desk) -> None:
    edit = EditSection("A", Action.BODY, "prose", file="notes.md", create=True)
    plan_of_file = said(at, edit, "notes.md")
    assert plan_of_file["warnings"] == ("not-memory",)
    assert plan_of_file["notes"] == (
        "not-memory: notes.md is not searched; move it below memory/, or add it to paths in mdmem.toml",
    )
    at.write("notes.md", "# Notes\n\n## A\n")
    assert said(at, edit, "notes.md") == {}


@pytest.mark.parametrize(
    ("until", "notes"),
    [
        ("2026-03-04", ("the fact has expired already: its last day was 2026-03-04",)),
        ("2026-03-05", None),
        (None, None),
    ],
)
def test_a_fact_whose_last_day_is_past_is_told(
    at: Desk, until: str | None, notes: tuple[str, ...] | None
) -> None:
    assert said(at, Remember("cream", section="Work", until=until)).get("notes") == notes


def test_a_text_that_no_file_may_hold_is_refused(at: Desk) -> None:
    assert (
        code_of(lambda: said(at, EditSection("Work", Action.APPEND, "x" * 6_000_000)))
        == "unsupported-file"
    )


def test_the_new_line_takes_the_place_of_what_is_named(at: Desk) -> None:
    edit = EditSection(
        "Work",
        Action.APPEND,
        "- cream",
        options=WriteOptions(source=Source.USER_STATED, supersedes="tea"),
    )
    pair = Supersession(TEA, fact_id("cream"))
    assert said(at, edit) == {
        "added": (pair.new,),
        "removed": (TEA,),
        "supersedes": (pair,),
        "marks": True,
    }


def test_a_revert_supersedes_nothing(at: Desk) -> None:
    at.write("MEMORY.md", SEED.replace("k: 1", "k: 2"))
    edit = RevertEdit(
        path=FilePath("MEMORY.md"),
        before=SEED,
        after=SEED.replace("k: 1", "k: 2"),
        only=None,
        reverts=CommitId("1234567"),
        options=USERS,
        from_log=False,
    )
    assert said(at, edit) == {"added": (K1,), "removed": (K2,)}


def test_what_the_check_finds_is_refused_or_let_through_and_told(at: Desk) -> None:
    secret = EditSection("Work", Action.APPEND, f"- {TOKEN}", options=USERS)
    assert code_of(lambda: said(at, secret)) == "secret-found"
    assert said(at, replace(secret, options=replace(USERS, allow=frozenset({"secret"}))))[
        "warnings"
    ] == ("secret-found",)


def test_an_edit_that_names_its_section_may_shrink_it(at: Desk) -> None:
    at.write(TOPIC, "# Topic\n\n" + "".join(f"- {number}\n" for number in range(60)))
    made = plan_edit(
        at.workspace, EditSection("Topic", Action.BODY, "- y", file=TOPIC, options=USERS), TOPIC
    )
    assert (made.edit.text, made.warnings) == ("# Topic\n\n- y\n", ("shrink",))
    at.write("mdmem.toml", 'paths = ["notes/*.md"]\n')
    note = at.write("notes/a.md", at.read(TOPIC))
    made = plan_edit(
        at.workspace,
        EditSection("Topic", Action.BODY, "- y", file="notes/a.md", options=USERS),
        FilePath("notes/a.md"),
    )
    assert (note.exists(), made.warnings) == (True, ())
