"""The one open proposal that an actor has on a machine, and what becomes of it as memory goes on."""

from pathlib import Path

import pytest
from conftest import World
from proposal_actions import (
    BOT,
    SEED,
    accept,
    fact,
    mark_as_made,
    own_branch,
    parts,
    problem,
    propose,
    proposed,
    reject,
    trailers,
)
from workspaces import Desk, desk

from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.proposals import PartOp, PartState, PartView
from mdmem.model.writes import Action, EditSection, Forget, Log
from mdmem.proposals import branches
from mdmem.text.facts import fact_id

CELLO, BICYCLE = "plays the cello", "rides a bicycle"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


def home(value: str) -> str:
    return fact_id(f"home: {value}")


def waiting(at: Desk, proposal: str) -> dict[str, PartView]:
    return {name: part for name, part in parts(at, proposal).items() if part.state.waits}


def changes(at: Desk, proposal: str) -> list[tuple[str | None, str | None]]:
    return [(part.old, part.new) for part in waiting(at, proposal).values()]


def work(text: str, action: Action = Action.BODY, old: str = "") -> EditSection:
    if action is Action.REPLACE:
        return EditSection("Work", action, old, text)
    return EditSection("Work", action, text)


# One branch.


def test_each_actor_and_machine_has_one(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    named = {propose(at, fact(text), actor=BOT) for text in (CELLO, BICYCLE)}
    named.add(propose(at, fact(CELLO), actor="other"))
    monkeypatch.setattr("platform.node", lambda: "another machine")
    named.add(propose(at, fact(CELLO), actor=BOT))
    refs = branches.open_proposals(at.workspace)
    assert named == set(refs)
    assert sorted((ref.actor, len(parts(at, ref.id))) for ref in refs.values()) == [
        (BOT, 1),
        (BOT, 2),
        ("other", 1),
    ]
    assert len({ref.ending for ref in refs.values()}) == 2


def test_an_id_is_the_hash_of_its_branch_and_stays(at: Desk) -> None:
    first = propose(at, fact(CELLO))
    assert branches.own_branch(BOT) == (first, f"refs/heads/{own_branch(BOT)}")
    accept(at, first)
    assert branches.open_proposals(at.workspace) == {}
    assert propose(at, fact(BICYCLE)) == first
    assert [part.new for part in waiting(at, first).values()] == [BICYCLE]


@pytest.mark.parametrize("is_made_here", [True, False])
def test_a_branch_of_version_0_2_0_is_listed_and_decided(at: Desk, is_made_here: bool) -> None:
    for text in (CELLO, BICYCLE):
        propose(at, fact(text))
    at.git("branch", "-m", own_branch(BOT), "mdmem/proposals/bot/0123abcd")
    if is_made_here:
        mark_as_made(at, "0123abcd")
    (view,) = Memory(at.workspace).proposals.standing().views
    assert branches.find_proposal(at.workspace, "0123abcd").id == view.id
    assert view.parts[0].origin.actor == (BOT if is_made_here else "Ada Example")
    assert propose(at, fact("keeps bees")) != view.id
    reject(at, "0123abcd", fact_id(BICYCLE))
    assert accept(at, view.id).closed
    assert f"- {CELLO}\n" in at.read("MEMORY.md")
    assert BICYCLE not in at.read("MEMORY.md")


def test_what_was_decided_by_an_id_of_version_0_2_0_stays_decided(at: Desk) -> None:
    propose(at, fact("Bergen", key="home"))
    propose(at, fact(CELLO))
    at.git("branch", "-m", own_branch(BOT), "mdmem/proposals/bot/0123abcd")
    at.write("MEMORY.md", SEED.replace("Oslo", "Bergen"))
    note = f"Mdmem-Proposed-By: {BOT}\nMdmem-Accepts: 0123abcd {home('Bergen')}"
    at.commit(f"MEMORY.md: accept Facts\n\nMdmem-Op: accept\n{note}")
    at.apply(fact("Trondheim", key="home"))
    assert parts(at, "0123abcd")[home("Bergen")].state is PartState.ACCEPTED


# Further writes.


def test_a_newer_value_replaces_the_older_one(at: Desk) -> None:
    proposal = propose(at, fact("Bergen", key="home"))
    propose(at, fact("Kiruna", key="home"))
    assert changes(at, proposal) == [("home: Oslo", "home: Kiruna")]
    propose(at, fact("green", key="door"))
    propose(at, fact("red", key="door"))
    assert changes(at, proposal)[1:] == [(None, "door: red")]
    accept(at, proposal)
    assert at.read("MEMORY.md") == SEED.replace("Oslo", "Kiruna").replace(
        "- drives a Volvo\n", "- drives a Volvo\n- door: red\n"
    )


def test_a_newer_edit_of_a_section_builds_on_it_and_is_one_part(at: Desk) -> None:
    proposal = propose(at, work("station", Action.REPLACE, "harbour"))
    propose(at, work("It has a garden.", Action.APPEND))
    assert changes(at, proposal) == [
        (
            "The office is at the harbour.",
            "The office is at the station.\n\nIt has a garden.",
        )
    ]


def test_edits_have_nothing_to_do_with_each_other(at: Desk) -> None:
    """A fact that goes and one that comes in its section are two parts, however alike."""
    proposal = propose(at, Forget("drives a Volvo"))
    propose(at, fact("drives a red Volvo on Sundays"))
    assert sorted(part.op for part in waiting(at, proposal).values()) == [
        PartOp.ADD,
        PartOp.DELETE,
    ]


def test_a_line_of_a_days_log_that_was_taken_back_is_no_part(at: Desk) -> None:
    at.apply(Log("saw a fox", day="2026-03-05"))
    proposal = propose(at, Log("saw a badger", day="2026-03-05"))
    propose(at, fact(CELLO))
    propose(at, Forget("saw a badger"))
    assert changes(at, proposal) == [(None, CELLO)]
    propose(at, Forget("saw a fox"))
    assert set(changes(at, proposal)) == {(None, CELLO), ("saw a fox", None)}
    accept(at, proposal)
    assert "badger" not in at.read("memory/2026-03-05.md")


def test_what_was_taken_back_is_no_part(at: Desk) -> None:
    proposal = propose(at, fact("Bergen", key="home"))
    propose(at, fact("Oslo", key="home"))
    propose(at, fact(CELLO))
    assert proposed(at, Forget(CELLO)).repeats is False
    assert waiting(at, proposal) == {}


@pytest.mark.parametrize(
    "edit", [fact(CELLO), Forget("likes tea"), work("station", Action.REPLACE, "harbour")]
)
def test_what_is_proposed_already(at: Desk, edit: Forget) -> None:
    proposal = propose(at, edit)
    tip = branches.find_proposal(at.workspace, proposal).tip
    if isinstance(edit, EditSection):
        assert problem(proposed, at, edit).code == "text-not-found"
        edit = work(at.git("show", f"{tip}:MEMORY.md").partition("## Work\n\n")[2])
    again = proposed(at, edit)
    assert (again.repeats, again.proposal, again.result.changed) == (True, proposal, False)
    assert branches.find_proposal(at.workspace, proposal).tip == tip
    in_memory = proposed(at, fact("drives a Volvo"))
    assert (in_memory.repeats, in_memory.proposal, in_memory.result.changed) == (False, None, False)


# As memory goes on.


def test_it_goes_on_from_head(at: Desk) -> None:
    proposal = propose(at, fact(CELLO), source=Source.AUTO, session="s1", reason="said in chat")
    first = parts(at, proposal)[fact_id(CELLO)]
    at.apply(fact("green", key="door"))
    propose(at, fact("red", key="door"))
    assert changes(at, proposal) == [("door: green", "door: red"), (None, CELLO)]
    part = parts(at, proposal)[fact_id(CELLO)]
    assert (part.origin, part.since, part.state) == (first.origin, first.since, PartState.OPEN)
    tip = branches.find_proposal(at.workspace, proposal).tip
    assert at.git("merge-base", "HEAD", tip) == at.git("rev-parse", "HEAD")
    assert (
        at.git("log", "--format=%(trailers:key=Mdmem-Proposed,valueonly)", f"HEAD..{tip}").split()
        == [proposal] * 2
    )


@pytest.mark.parametrize("by_hand", [True, False])
def test_what_was_accepted_and_changed_later_does_not_reopen(at: Desk, by_hand: bool) -> None:
    proposal = propose(at, fact("Bergen", key="home"))
    propose(at, work("station", Action.REPLACE, "harbour"))
    propose(at, fact(CELLO))
    if by_hand:
        at.apply(fact("Bergen", key="home"))
    else:
        accept(at, proposal, home("Bergen"))
        accept(at, proposal, "Work")
        at.apply(work("It moved.", Action.APPEND))
        at.apply(work("by the river", Action.REPLACE, "at the station"))
    at.apply(fact("Trondheim", key="home"))
    states = {part.name: part.state for part in parts(at, proposal).values()}
    assert states[home("Bergen")] is PartState.ACCEPTED
    assert [
        part.new for part in waiting(at, proposal).values() if part.op is not PartOp.SECTION
    ] == [CELLO]
    propose(at, fact(BICYCLE))
    assert home("Bergen") not in waiting(at, proposal)
    if not by_hand:
        assert {part.new for part in waiting(at, proposal).values()} == {CELLO, BICYCLE}
    at.apply(Forget("home: Trondheim"))
    propose(at, fact("Bergen", key="home"))
    assert parts(at, proposal)[home("Bergen")].state is PartState.OPEN


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        (fact("Bergen", key="home"), home("Bergen")),
        (work("station", Action.REPLACE, "harbour"), "Work"),
    ],
)
def test_what_was_overtaken_stays_so_until_it_is_proposed_anew(
    at: Desk, edit: EditSection, name: str
) -> None:
    proposal = propose(at, edit)
    at.write("MEMORY.md", SEED.replace("Oslo", "Trondheim").replace("harbour", "river"))
    at.commit("by hand")
    for text in (CELLO, BICYCLE):
        propose(at, fact(text))
    assert [part.state for part in waiting(at, proposal).values()].count(PartState.OVERTAKEN) == 1
    assert problem(accept, at, proposal, name).code == "overtaken"
    anew = work("station", Action.REPLACE, "river") if name == "Work" else edit
    propose(at, anew)
    states = [part.state for part in waiting(at, proposal).values()]
    assert states == [PartState.OPEN] * 3
    accept(at, proposal)
    assert ("station" if name == "Work" else "Bergen") in at.read("MEMORY.md")
    assert ("Trondheim" if name == "Work" else "river") in at.read("MEMORY.md")


@pytest.mark.parametrize("is_gone", [True, False])
def test_an_overtaken_section_stays_though_its_section_is_gone(at: Desk, is_gone: bool) -> None:
    proposal = propose(at, work("station", Action.REPLACE, "harbour"))
    kept = SEED[: SEED.index("## Work")] if is_gone else SEED.replace("harbour", "river")
    at.write("MEMORY.md", kept)
    at.commit("by hand")
    propose(at, fact(CELLO))
    views = waiting(at, proposal)
    assert {part.op: part.state for part in views.values()} == {
        PartOp.SECTION: PartState.OVERTAKEN,
        PartOp.ADD: PartState.OPEN,
    }
    (name,) = (name for name, view in views.items() if view.op is PartOp.SECTION)
    accept(at, proposal, name, anyway=True)
    assert "The office is at the station." in at.read("MEMORY.md")


def test_workspaces_of_one_repository_share_the_proposal(at: Desk) -> None:
    (at.root / "team").mkdir()
    at.write("team/MEMORY.md", SEED)
    at.commit("a workspace for the team")
    team = Desk(at.world, at.root / "team")
    proposal = propose(at, fact(CELLO))
    assert propose(team, fact(BICYCLE)) == proposal
    for desk_ in (at, team):
        desk_.apply(fact("has a dog"))
        propose(desk_, fact("Bergen", key="home"))
    for desk_, text in ((at, CELLO), (team, BICYCLE)):
        assert set(changes(desk_, proposal)) == {(None, text), ("home: Oslo", "home: Bergen")}


def test_a_section_that_was_rejected_may_be_proposed_once_more(at: Desk) -> None:
    edit = work("station", Action.REPLACE, "harbour")
    proposal = propose(at, edit)
    propose(at, fact(CELLO))
    (commit,) = reject(at, proposal, "Work").commits
    assert [part.new for part in waiting(at, proposal).values()] == [CELLO]
    propose(at, edit, again=True)
    assert trailers(at, own_branch(BOT))["Again"] == [commit]
    assert {part.op for part in waiting(at, proposal).values()} == {PartOp.ADD, PartOp.SECTION}
    at.apply(fact("has a dog"))
    propose(at, fact(BICYCLE))
    assert PartOp.SECTION in {part.op for part in waiting(at, proposal).values()}


def test_what_cannot_be_kept_on_head_is_not_lost(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    open_block = SEED.replace("- drives a Volvo\n", "- drives a Volvo\n\n```\nhalf\n")
    at.write("MEMORY.md", open_block)
    at.commit("by hand")
    elsewhere = Log(BICYCLE, day="2026-03-05")
    assert problem(propose, at, elsewhere).code == "open-block"
    assert [part.new for part in waiting(at, proposal).values()] == [CELLO]
    at.write("MEMORY.md", open_block + "```\n")
    at.commit("by hand again")
    propose(at, elsewhere)
    assert {part.new for part in waiting(at, proposal).values()} == {CELLO, BICYCLE}


def test_what_is_removed_in_one_file_stays_in_the_others(at: Desk) -> None:
    at.apply(Log("likes tea", day="2026-03-04"))
    proposal = propose(at, EditSection("Facts", Action.REPLACE, "- likes tea\n", ""))
    at.apply(fact("has a dog"))
    propose(at, fact(CELLO))
    accept(at, proposal)
    assert trailers(at, "HEAD~1").get("Only", trailers(at).get("Only")) == ["true"]
