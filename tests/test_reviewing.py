"""A review of the files of a workspace: which of them are looked at, what the trail says of them,
and what is carried out.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, SEED, Desk, append, apply, desk

from mdmem.model.proposals import Advice, AdviceKind, ReviewResult
from mdmem.model.writes import Action, Change, EditSection, WriteOptions, WriteResult
from mdmem.review.advice import apply_safe_advice, gather_advice
from mdmem.text.facts import fact_id

NEAR = "# M\n\n- Prefers dark mode in the editor\n- Prefers the dark mode in editors\n"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def advice(at: Desk) -> tuple[Advice, ...]:
    return gather_advice(at.workspace, lambda _: None)


def applied(
    at: Desk,
    carry_out: Callable[[Change], WriteResult] | None = None,
    options: WriteOptions | None = None,
) -> ReviewResult:
    workspace = at.workspace
    return apply_safe_advice(
        workspace,
        options or WriteOptions(),
        carry_out or (lambda change: apply(workspace, change)),
        print,
    )


def test_other_files_are_left_out_and_none_after_them(at: Desk) -> None:
    at.write("AGENTS.md", "# Agents\n\n- x\n- x\n")
    at.write("MEMORY.md", b"\xff\xfe\0")
    at.write("memory/2026-03-04.md", "# 2026-03-04\n\n- x\n- x\n")
    at.write("memory/topic.md", "# T\n\n- x\n- x\n")
    at.write("USER.md", "# U\n\n- y\n- y\n")
    assert [(each.path, each.line, each.safe) for each in advice(at)] == [
        ("USER.md", 4, True),
        ("memory/topic.md", 4, True),
    ]


def test_extra_paths_are_looked_at_and_not_tidied(at: Desk) -> None:
    at.write("mdmem.toml", 'extra_paths = ["shared"]\n')
    at.write("shared/topic.md", "# T\n\n- x\n- x\n")
    (found,) = advice(at)
    assert (found.path, found.safe, found.change) == ("shared/topic.md", False, None)


def test_a_line_of_a_note_stays(at: Desk) -> None:
    at.write("mdmem.toml", 'paths = ["*.md"]\n')
    at.write("recipes.md", "# R\n\n- x\n- x\n")
    (found,) = advice(at)
    assert (found.path, found.command[1], found.safe, found.change) == (
        "recipes.md",
        "show",
        False,
        None,
    )


@pytest.mark.parametrize(
    ("day", "kinds"), [("2026-03-05", []), ("2026-03-06", [AdviceKind.EXPIRED])]
)
def test_a_fact_holds_on_its_last_day(
    at: Desk, monkeypatch: pytest.MonkeyPatch, day: str, kinds: list[AdviceKind]
) -> None:
    monkeypatch.setenv("MDMEM_NOW", f"{day}T23:59:00")
    at.write("MEMORY.md", "# M\n\n- tea (until 2026-03-05)\n")
    assert [each.kind for each in advice(at)] == kinds


def test_a_section_is_as_old_as_its_newest_text(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for day, change in (
        ("03-10", append("- more")),
        ("04-01", EditSection("Memory", Action.RENAME, "Notes")),
    ):
        monkeypatch.setenv("MDMEM_NOW", f"2026-{day}T10:00:00")
        at.apply(change)
    monkeypatch.setenv("MDMEM_NOW", "2026-09-10T10:00:00")
    assert [(each.section, each.message.partition(",")[0]) for each in advice(at)] == [
        (("Notes", "Work"), "Notes > Work was last changed on 2026-03-10"),
        (("Notes", "Home"), "Notes > Home was last changed on 2026-03-05"),
    ]


def test_only_what_is_safe_is_done_with_the_options_of_the_review(at: Desk) -> None:
    at.write("MEMORY.md", NEAR + "- tea (until 2026-01-01)\n")
    result = applied(at, options=WriteOptions(reason="tidy"))
    assert [(each.kind, done.removed) for each, done in result.done] == [
        (AdviceKind.EXPIRED, (fact_id("tea"),))
    ]
    assert [(each.kind, each.safe) for each in result.advice] == [
        (AdviceKind.NEAR_DUPLICATE, False)
    ]
    assert (at.read("MEMORY.md"), "Mdmem-Reason: tidy" in at.git("log", "-1", "--format=%B")) == (
        NEAR,
        True,
    )


def test_advice_that_stays_is_followed_once(at: Desk) -> None:
    at.write("MEMORY.md", SEED + "- tea (until 2026-01-01)\n")
    calls = []

    def refuse(change: Change) -> WriteResult:
        calls.append(change)
        assert len(calls) < 3
        return WriteResult(changed=False, path="MEMORY.md", section=(), etag=None, commit=None)

    result = applied(at, refuse)
    assert (len(calls), len(result.done)) == (1, 1)
    assert [each.kind for each in result.advice] == [AdviceKind.EXPIRED]
