"""Decisions by the numbers of a list: rivals, selections, and changes since it was shown."""

from pathlib import Path
from typing import Any

import pytest
from commandline import MadeOnce
from conftest import World
from proposal_actions import SEED, closed, fact, parts, problem, propose, reject, trailers
from workspaces import NOW, Desk, desk

from mdmem.memory import Memory
from mdmem.model.errors import MdmemError
from mdmem.model.proposals import (
    Decide,
    ItemChoice,
    LeftItem,
    ListDecision,
    NumberedList,
    PartState,
    Selection,
    parse_age,
    parse_numbers,
)
from mdmem.model.writes import Action, EditSection, Forget, Remember, WriteOptions
from mdmem.text.facts import fact_id

CELLO, CHESS = "plays the cello", "plays chess"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository, seed=SEED)


def listed(at: Desk) -> NumberedList:
    return Memory(at.workspace).proposals.standing().numbered


def decide(at: Desk, *words: str, accepts: bool = True, **fields: Any) -> ListDecision:
    choices = tuple(ItemChoice(*each, accepts=accepts) for each in parse_numbers(words))
    return Memory(at.workspace).proposals.decide(Decide(choices, accepts=accepts, **fields))


def select(at: Desk, accepts: bool = True, stamp: str | None = None, **by: Any) -> ListDecision:
    request = Decide(selection=Selection(**by), accepts=accepts, stamp=stamp)
    return Memory(at.workspace).proposals.decide(request)


def employers(at: Desk, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two rivals, the newest of claude."""
    older = propose(at, fact("Linear", "Work", key="employer"), actor="codex")
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T11:00:00")
    return propose(at, fact("Figma", "Work", key="employer"), actor="claude"), older


def texts(decision: ListDecision) -> list[str | None]:
    return [each.part.new or each.part.old for each in decision.accepted]


# Numbers.


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["1"], [(1, None)]),
        (["1b"], [(1, 1)]),
        (["1", "4-6"], [(1, None), (4, None), (5, None), (6, None)]),
        (["2", "1-3"], [(2, None), (1, None), (3, None)]),
        (["999"], [(999, None)]),
    ],
)
def test_numbers(words: list[str], numbers: list[tuple[int, int | None]]) -> None:
    assert list(parse_numbers(words)) == numbers


@pytest.mark.parametrize("word", ["x", "1000", "1B", "4-", "4-2", "1b-2", "5f2c0a11", "", "-1"])
def test_what_is_no_number(word: str) -> None:
    assert problem(parse_numbers, [word]).code == "usage"


def test_ages() -> None:
    assert parse_age("30d") == 30
    for text in ("30", "d", "1m", "-1d"):
        assert problem(parse_age, text).code == "usage"


def test_numbers_are_those_of_the_newest_list(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    propose(at, fact(CELLO))
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T11:00:00")
    propose(at, fact(CHESS), actor="other")
    listed(at)
    decision = decide(at, "2")
    assert texts(decision) == [CHESS]
    assert len(decision.commits) == len(decision.closed) == 1
    assert texts(decide(at, "1")) == [CELLO]  # the numbers stay those of the list
    assert f"- {CELLO}" in at.read("MEMORY.md")
    assert listed(at).items == ()


def test_an_older_list_by_its_stamp(at: Desk) -> None:
    propose(at, fact(CHESS, "Work"))
    older = listed(at).stamp
    propose(at, fact(CELLO))
    assert [item.values[0][0].view.new for item in listed(at).items] == [CELLO, CHESS]
    assert texts(decide(at, "1", stamp=older)) == [CHESS]


def test_all_or_nothing(at: Desk) -> None:
    for text in (CELLO, CHESS):
        propose(at, fact(text))
    listed(at)
    before = at.head()
    assert problem(decide, at, "1", "3").code == "part-not-found"
    assert at.head() == before


def test_numbers_without_a_list(at: Desk) -> None:
    propose(at, fact(CELLO))
    assert problem(decide, at, "1").code == "list-not-found"
    assert texts(select(at)) == [CELLO]


# Rivals.


def test_the_newest_value_supersedes_the_others(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    newest, older = employers(at, monkeypatch)
    listed(at)
    decision = decide(at, "1")
    assert texts(decision) == ["employer: Figma"]
    assert [(proposal, part.new) for proposal, part in decision.superseded] == [
        (older, "employer: Linear")
    ]
    assert set(decision.closed) == set(closed(at)) == {newest, older}
    assert trailers(at)["Closes"] == [f"{older} {fact_id('employer: Linear')}"]
    assert "- employer: Figma\n" in at.read("MEMORY.md")


def test_the_second_value(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    newest, _ = employers(at, monkeypatch)
    listed(at)
    decision = decide(at, "1b")
    assert texts(decision) == ["employer: Linear"]
    assert [proposal for proposal, _ in decision.superseded] == [newest]
    assert "Figma" not in at.read("MEMORY.md")


def test_what_was_superseded_is_a_state_and_may_be_proposed_again(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = propose(at, fact("Linear", "Work", key="employer"), actor="codex")
    propose(at, fact(CELLO), actor="codex")
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T11:00:00")
    propose(at, fact("Figma", "Work", key="employer"), actor="claude")
    listed(at)
    decide(at, "2")
    view = parts(at, older)[fact_id("employer: Linear")]
    assert view.state is PartState.SUPERSEDED
    assert [item.values[0][0].view.new for item in listed(at).items] == [CELLO]
    again = propose(at, fact("Linear", "Work", key="employer"), actor="codex")
    assert parts(at, again)[fact_id("employer: Linear")].state is PartState.OPEN


def test_to_reject_an_item_is_to_reject_all_its_values(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    employers(at, monkeypatch)
    listed(at)
    assert len(decide(at, "1", accepts=False).rejected) == 2
    assert listed(at).items == ()


def test_to_reject_one_value(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    employers(at, monkeypatch)
    listed(at)
    (rejected,) = decide(at, "1b", accepts=False).rejected
    assert rejected.part.new == "employer: Linear"
    assert texts(decide(at, "1")) == ["employer: Figma"]  # its rival was decided, not changed


def test_a_text_of_several_is_accepted_once(at: Desk) -> None:
    first = propose(at, fact(CELLO), actor="one")
    second = propose(at, fact(CELLO), actor="two")
    listed(at)
    decision = decide(at, "1")
    assert (len(decision.commits), set(decision.closed)) == (1, {first, second})
    assert {line.split()[0] for line in trailers(at)["Accepts"]} == {first, second}


def test_a_value_in_other_words_is_accepted_once(at: Desk) -> None:
    first = propose(at, fact("two pills, each morning", key="routine"), actor="one")
    second = propose(at, fact("two pills each morning", key="routine"), actor="two")
    (item,) = listed(at).items
    newest = item.values[0][0].view.new
    decision = decide(at, "1")
    assert (len(decision.commits), set(decision.closed)) == (1, {first, second})
    assert decision.superseded == ()
    assert {line.split()[0] for line in trailers(at)["Accepts"]} == {first, second}
    assert [line for line in at.read("MEMORY.md").split("\n") if "pills" in line] == [f"- {newest}"]


def test_both_are_kept(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    employers(at, monkeypatch)
    listed(at)
    Memory(at.workspace).proposals.decide(Decide((ItemChoice(1, keeps=True),)))
    text = at.read("MEMORY.md")
    assert "- employer: Figma\n" in text
    assert "- employer: Linear\n" in text
    assert "Stripe" not in text


def test_what_it_would_replace_is_kept(at: Desk) -> None:
    propose(at, fact("Figma", "Work", key="employer"))
    listed(at)
    Memory(at.workspace).proposals.decide(Decide((ItemChoice(1, keeps=True),)))
    text = at.read("MEMORY.md")
    assert "- employer: Stripe\n" in text
    assert "- employer: Figma\n" in text
    assert Memory(at.workspace).conflicts().conflicts == ()


# What was shown.


def test_an_item_that_is_not_what_was_shown(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    propose(at, fact(CELLO))
    propose(at, fact("Linear", "Work", key="employer"), actor="codex")
    stamp = listed(at).stamp
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T11:00:00")
    propose(at, fact("Figma", "Work", key="employer"), actor="claude")
    before = at.head()
    decision = decide(at, "1", "2")
    assert decision.moved is not None
    assert (decision.stamp, decision.commits, at.head()) == (stamp, (), before)
    assert [len(item.values) for item in decision.moved.items] == [1, 2]
    assert decide(at, "1", "2").moved is None  # the list was shown again


def test_what_does_not_touch_an_item_does_not_matter(at: Desk) -> None:
    propose(at, fact(CELLO))
    listed(at)
    propose(at, fact(CHESS))
    at.apply(fact("Bergen", key="home"))
    assert texts(decide(at, "1")) == [CELLO]


def test_an_item_that_is_decided_already(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    listed(at)
    reject(at, proposal)
    assert decide(at, "1").moved is not None


def test_a_part_overtaken_since_it_was_shown(at: Desk) -> None:
    propose(at, fact("Figma", "Work", key="employer"))
    listed(at)
    at.apply(fact("Apple", "Work", key="employer"))
    error = problem(decide, at, "1")
    assert error.code == "overtaken"
    assert "employer: Apple" in error.hint
    assert "employer: Apple" in at.read("MEMORY.md")
    decision = decide(at, "1", anyway=True)
    assert "- employer: Figma\n" in at.read("MEMORY.md")
    (accepted,) = decision.accepted
    assert accepted.result.supersedes


def test_what_was_shown_as_overtaken_is_taken_by_its_number(at: Desk) -> None:
    propose(at, fact("Figma", "Work", key="employer"))
    at.apply(fact("Apple", "Work", key="employer"))
    listed(at)
    assert texts(decide(at, "1")) == ["employer: Figma"]


def test_what_was_shown_as_overtaken_and_has_changed_once_more(at: Desk) -> None:
    propose(at, fact("Figma", "Work", key="employer"))
    for name in ("Apple", "Kite"):
        at.apply(fact(name, "Work", key="employer"))
        if name == "Apple":
            listed(at)
    assert problem(decide, at, "1").code == "overtaken"


def test_a_removal_shown_as_overtaken_removes_what_is_there_only_anyway(at: Desk) -> None:
    propose(at, Forget("home: Oslo"))
    at.apply(fact("Bergen", key="home"))
    listed(at)
    before = at.head()
    error = problem(decide, at, "1")
    assert error.code == "overtaken"
    assert "home: Bergen" in error.hint
    left = (LeftItem(1, "outdated", anyway=True),)
    for decision in (decide(at, "1", leaves=True), select(at)):
        assert (decision.left, decision.commits) == (left, ())
    assert at.head() == before
    assert "- home: Bergen\n" in at.read("MEMORY.md")
    assert len(decide(at, "1", anyway=True).commits) == 1
    assert "home: Bergen" not in at.read("MEMORY.md")


@pytest.mark.parametrize("is_shown", [False, True])
def test_taking_what_is_overtaken_by_a_better_statement_says_so(at: Desk, is_shown: bool) -> None:
    propose(at, fact("Figma", "Work", key="employer"))
    listed(at)
    at.write("MEMORY.md", at.read("MEMORY.md").replace("Stripe", "Apple"))
    at.commit("by hand")
    if is_shown:
        listed(at)
    (accepted,) = decide(at, "1", anyway=not is_shown).accepted
    assert accepted.result.warnings == ("weaker-source",)


def test_what_was_accepted_and_changed_later_does_not_come_back(at: Desk) -> None:
    proposal = propose(at, fact("Figma", "Work", key="employer"))
    propose(at, fact(CELLO))
    (number,) = [i.number for i in listed(at).items if i.place[1][-1] == "Work"]
    decide(at, str(number))
    at.apply(fact("Apple", "Work", key="employer"))
    assert [item.values[0][0].view.new for item in listed(at).items] == [CELLO]
    assert parts(at, proposal)[fact_id("employer: Figma")].state is PartState.ACCEPTED


# Selections.


@pytest.fixture
def several(
    at: Desk,
    monkeypatch: pytest.MonkeyPatch,
    made_once: MadeOnce,
) -> Desk:
    """Three plain items, an overtaken one and rivals."""
    made_once("several proposals", lambda: propose_several(at, monkeypatch))
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T11:00:00")
    return at


def propose_several(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    propose(at, fact("Bergen", key="home"), actor="one")
    at.apply(fact("Trondheim", key="home"))
    propose(at, fact(CELLO), actor="one")
    propose(
        at,
        Remember("opens at nine", file="memory/shop.md", section="Hours", create=True),
        actor="two",
    )
    employers(at, monkeypatch)
    propose(at, fact(CHESS), actor="two")
    listed(at)


def test_all_but_what_is_overtaken_or_a_rival(several: Desk) -> None:
    decision = select(several)
    assert sorted(map(str, texts(decision))) == ["opens at nine", CHESS, CELLO]
    assert sorted(left.why for left in decision.left) == ["outdated", "several values"]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ({"section": "Facts"}, [CHESS, CELLO]),
        ({"section": "Memory > Facts"}, [CHESS, CELLO]),
        ({"section": "facts", "file": "./MEMORY.md"}, [CHESS, CELLO]),
        ({"section": "Facts", "file": "memory/shop.md"}, []),
        ({"file": "memory/shop.md"}, ["opens at nine"]),
        ({"actor": "two"}, ["opens at nine", CHESS]),
        ({"actor": "codex"}, ["employer: Linear"]),
        ({"actor": "nobody"}, []),
    ],
)
def test_selections(several: Desk, by: dict[str, str], expected: list[str]) -> None:
    assert sorted(map(str, texts(select(several, **by)))) == expected


def test_what_an_actor_proposed_supersedes_its_rivals(several: Desk) -> None:
    (closed_part,) = select(several, actor="codex").superseded
    assert closed_part[1].new == "employer: Figma"


def test_a_selection_is_of_what_was_shown(several: Desk) -> None:
    propose(several, fact("keeps bees"))
    decision = select(several, section="Facts")
    assert "keeps bees" not in texts(decision)
    assert "proposed since the list" in [left.why for left in decision.left]


def test_old_ones_are_rejected(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    propose(at, fact(CELLO))
    monkeypatch.setenv("MDMEM_NOW", "2026-04-20T10:00:00")
    propose(at, fact(CHESS))
    listed(at)
    (rejected,) = select(at, accepts=False, older=30).rejected
    assert rejected.part.new == CELLO
    (item,) = listed(at).items
    assert item.values[0][0].view.new == CHESS


def test_what_an_actor_proposed_is_rejected_alone(several: Desk) -> None:
    rejected = select(several, accepts=False, actor="codex").rejected
    assert [each.part.new for each in rejected] == ["employer: Linear"]


def test_what_an_actor_proposed_for_a_section_is_rejected_in_one_commit(at: Desk) -> None:
    first, second = propose(at, fact(CELLO)), propose(at, fact(CHESS))
    propose(at, fact("keeps bees"), actor="one")
    listed(at)
    decision = decide(at, "1-3", accepts=False)
    assert (len(decision.rejected), len(decision.commits)) == (3, 2)
    rejects = {line for commit in decision.commits for line in trailers(at, commit)["Rejects"]}
    assert {f"{first} {fact_id(CELLO)}", f"{second} {fact_id(CHESS)}"} < rejects
    assert first == second
    assert len(decision.closed) == 2


def test_sections_and_facts_and_removals_together(at: Desk) -> None:
    propose(at, EditSection("Work", Action.REPLACE, "harbour", "station"), actor="one")
    propose(at, Forget("likes tea"), actor="two")
    propose(at, fact(CHESS), actor="two")
    listed(at)
    assert len(select(at).commits) == 3
    text = at.read("MEMORY.md")
    assert ("station" in text, "likes tea" in text, CHESS in text) == (True, False, True)


def test_an_agent_decides_nothing(at: Desk) -> None:
    propose(at, fact(CELLO))
    listed(at)
    with pytest.raises(MdmemError) as caught:
        decide(at, "1", options=WriteOptions(actor="bot"))
    assert caught.value.code == "not-allowed"
