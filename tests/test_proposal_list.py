"""The numbered list of proposals: rivals, who and when and why, at three widths, and as JSON."""

import os
from datetime import datetime
from pathlib import Path

import pytest
from commandline import MadeOnce
from conftest import World
from proposal_actions import SEED, fact, parts, propose
from workspaces import Desk, desk

from mdmem.cli import terminal
from mdmem.cli.review_room import day_text, list_text
from mdmem.memory import Memory
from mdmem.model.proposals import NumberedList
from mdmem.model.writes import Action, EditSection, Forget, Remember
from mdmem.proposals import listings

LONG = (
    "the boiler in the cellar is serviced each autumn by Nordic Heat, who have a key of their own"
)
WHY = "the invoice that came by post on Tuesday says so, and the fitter said it again on the phone"
AT_100 = """\
MEMORY.md > Facts
 1  - home: Oslo                       assistant, yesterday  (outdated: you changed this today)
    now: home: Bergen
 2  + [decision] backups go to Porto   dream2, nightly, today
 3  + the boiler in the cellar is serviced each autumn by Nordic Heat, who have a key of their own
    assistant, today   "the invoice that came by post on Tuesday says so, and the fitter said it a…"

MEMORY.md > Work
 4  employer: Stripe -> Figma    claude, yesterday   "offer letter came"
                     -> Linear   codex, 28 Feb
 5  # text
    - The office is at the harbour.
    + The office is at the station.
    codex, yesterday
7 parts in 5 proposals: {ids}
list {stamp}"""
AT_72 = """\
MEMORY.md > Facts
 1  - home: Oslo
    assistant, yesterday  (outdated: you changed this today)
    now: home: Bergen
 2  + [decision] backups go to Porto   dream2, nightly, today
 3  + the boiler in the cellar is serviced each autumn by Nordic Heat,
    who have a key of their own
    assistant, today   "the invoice that came by post on Tuesday says…"

MEMORY.md > Work
 4  employer: Stripe -> Figma    claude, yesterday   "offer letter came"
                     -> Linear   codex, 28 Feb
 5  # text
    - The office is at the harbour.
    + The office is at the station.
    codex, yesterday
7 parts in 5 proposals: {ids}
list {stamp}"""
AT_40 = """\
MEMORY.md > Facts
 1  - home: Oslo
    assistant, yesterday
    (outdated: you changed this today)
    now: home: Bergen
 2  + [decision] backups go to Porto
    dream2, nightly, today
 3  + the boiler in the cellar is
    serviced each autumn by Nordic Heat,
    who have a key of their own
    assistant, today   "the invoice th…"

MEMORY.md > Work
 4  employer: Stripe -> Figma
    claude, yesterday   "offer letter…"
                     -> Linear
    codex, 28 Feb
 5  # text
    - The office is at the harbour.
    + The office is at the station.
    codex, yesterday
7 parts in 5 proposals: {ids}
list {stamp}"""


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


def on(monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    monkeypatch.setenv("MDMEM_NOW", moment)


def numbered(at: Desk) -> NumberedList:
    return Memory(at.workspace).proposals.standing().numbered


def shown(at: Desk, columns: int) -> str:
    listed = Memory(at.workspace).proposals.standing()
    return list_text(listed, at.workspace.now(), columns)


def values(at: Desk) -> list[list[list[str]]]:
    """The actors of each value of each item."""
    return [
        [[part.actor for part in value] for value in item.values] for item in numbered(at).items
    ]


@pytest.fixture
def proposed(
    at: Desk,
    monkeypatch: pytest.MonkeyPatch,
    made_once: MadeOnce,
) -> Desk:
    made_once("proposals of some days", lambda: propose_all(at, monkeypatch))
    on(monkeypatch, "2026-03-05T10:00:00")
    return at


def propose_all(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "2026-02-28T10:00:00")
    propose(at, fact("Linear", "Work", key="employer"), actor="codex")
    on(monkeypatch, "2026-03-04T09:00:00")
    propose(at, Forget("home: Oslo"), actor="assistant")
    propose(at, EditSection("Work", Action.REPLACE, "harbour", "station"), actor="codex")
    on(monkeypatch, "2026-03-04T10:00:00")
    propose(at, fact("Figma", "Work", key="employer"), actor="claude", reason="offer letter came")
    on(monkeypatch, "2026-03-05T09:00:00")
    decision = Remember("backups go to Porto", section="Facts", kind="decision")
    propose(at, decision, actor="nightly")
    on(monkeypatch, "2026-03-05T09:10:00")
    propose(at, fact(LONG), actor="assistant", reason=WHY)
    at.apply(fact("Bergen", key="home"))
    on(monkeypatch, "2026-03-05T09:30:00")
    propose(at, decision, actor="dream2")


@pytest.mark.parametrize(("columns", "text"), [(100, AT_100), (72, AT_72), (40, AT_40)])
def test_the_list(proposed: Desk, columns: int, text: str) -> None:
    listed = Memory(proposed.workspace).proposals.standing()
    ids = [view.id for view in listed.views]
    shown_ids = {100: ids, 72: ids, 40: [ids[0], "…"]}[columns]
    lines = list_text(listed, proposed.workspace.now(), columns)
    assert lines == text.format(ids=", ".join(shown_ids), stamp=listed.numbered.stamp)
    assert max(map(terminal.width, lines.split("\n"))) <= columns


def test_nothing_is_cut_but_a_reason(proposed: Desk) -> None:
    for columns in range(20, 120, 7):
        words = " ".join(shown(proposed, columns).split())
        for text in (LONG, "home: Oslo", "you changed this today", "employer: Stripe", "-> Linear"):
            assert text in words, columns
        assert "codex, 28 Feb" in words


def test_equal_lists_have_one_stamp_and_keep_no_text(proposed: Desk) -> None:
    first, second = numbered(proposed), numbered(proposed)
    assert first == second
    (path,) = (proposed.workspace.state / listings.FOLDER).iterdir()
    assert path.name == f"{first.stamp}-{os.getuid()}.json"
    assert not any(word in path.read_text() for word in ("Porto", "employer", "Facts", "bot"))
    propose(proposed, fact("plays chess"))
    assert numbered(proposed).stamp != first.stamp


def test_few_lists_are_kept(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "_MOST_KEPT", 2)
    for number in range(4):
        propose(at, fact(f"fact number {number}"))
        numbered(at)
    assert len(list((at.workspace.state / listings.FOLDER).iterdir())) == 2


def test_a_list_that_cannot_be_kept_is_shown_without_a_stamp(at: Desk) -> None:
    propose(at, fact("plays the cello"))
    at.workspace.ensure_state()
    (at.workspace.state / listings.FOLDER).write_text("in the way")
    rows = shown(at, 80).split("\n")
    assert rows[1] == " 1  + plays the cello   bot, today"
    assert [row.partition(":")[0] for row in rows[2:]] == ["1 part in 1 proposal"]


def test_the_key_of_an_update_stands_once(at: Desk) -> None:
    propose(at, fact("Bergen", key="home"))
    propose(at, EditSection("Facts", Action.REPLACE, "likes tea", "likes coffee"), actor="two")
    assert "  home: Oslo -> Bergen " in shown(at, 80)
    assert "  likes tea -> likes coffee " in shown(at, 80)


def test_headings_and_other_text(at: Desk) -> None:
    propose(at, EditSection("Garden", Action.BODY, "Roses.", create=True))
    propose(at, EditSection("Work", Action.RENAME, "Office"), actor="two")
    propose(at, EditSection("Facts", Action.DELETE), actor="three")
    lines = shown(at, 100).split("\n")
    start = lines.index("MEMORY.md > Garden")
    assert lines[start + 1 : start + 4] == [
        next(line for line in lines if line.endswith("# new section")),
        "    + Roses.",
        "    bot, today",
    ]
    assert {"    - ## Work", "    + ## Office"} <= set(lines)
    assert ["#", "section", "removed", "three,", "today"] in [line.split()[1:] for line in lines]


def test_what_an_agent_listed_is_not_this_users_list(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose(at, fact("plays the cello"))
    own = numbered(at).stamp
    propose(at, fact("plays chess"))
    monkeypatch.setenv("MDMEM_ACTOR", "bot")
    theirs = numbered(at).stamp
    newest = listings.find_shown(at.workspace, None)
    named = listings.find_shown(at.workspace, theirs)
    assert newest is not None
    assert named is not None
    assert (newest.stamp, len(newest.items)) == (own, 1)
    assert (named.stamp, len(named.items)) == (theirs, 2)


# Rivals.


def test_values_of_a_key_changes_of_a_fact_and_equal_texts_are_one_item(at: Desk) -> None:
    propose(at, fact("Linear", "Work", key="employer"), actor="one")
    propose(at, Forget("employer: Stripe"), actor="two")
    propose(at, fact("plays the cello"), actor="one")
    propose(at, fact("plays the cello"), actor="two")
    propose(at, fact("Norwegian", key="language"), actor="one")
    propose(at, fact("English", key="language"), actor="two")
    propose(at, fact("plays chess"), actor="three")
    groups = sorted(sorted(sorted(actors) for actors in item) for item in values(at))
    assert groups == [[["one"], ["two"]], [["one"], ["two"]], [["one", "two"]], [["three"]]]


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("two pills each morning", "two pills, each morning", True),
        ("two pills each morning", "each morning two pills", True),
        ("two pills each morning", "three pills each morning", False),
        ("goes to Porto on Monday", "goes to Porto on Friday", False),
        ("feeds the cat", "never feeds the cat", False),
    ],
)
def test_a_value_in_other_words_is_a_voice(at: Desk, one: str, other: str, is_one: bool) -> None:
    propose(at, fact(one, key="routine"), actor="one")
    propose(at, fact(other, key="routine"), actor="two")
    ((value, *rivals),) = values(at)
    assert (sorted(value), len(rivals)) == ((["one", "two"], 0) if is_one else (value, 1))


def test_other_labels_are_another_value(at: Desk) -> None:
    for actor, kind in (("one", "fact"), ("two", "decision")):
        edit = Remember("two pills each morning", section="Facts", key="routine", kind=kind)
        propose(at, edit, actor=actor)
    assert [len(item) for item in values(at)] == [2]


def test_several_values_of_a_key_in_one_proposal_are_no_rivals(at: Desk) -> None:
    proposal = propose(at, fact("cat", key="pet"))
    propose(at, Remember("dog", section="Facts", key="pet", also=True))
    assert len(parts(at, proposal)) == 2
    assert values(at) == [[["bot"]], [["bot"]]]


def test_the_same_in_two_sections_is_two_items(at: Desk) -> None:
    propose(at, fact("plays the cello"))
    propose(at, fact("plays the cello", "Work"))
    assert values(at) == [[["bot"]], [["bot"]]]


@pytest.mark.parametrize(
    ("day", "text"),
    [
        ("2026-03-16", "today"),
        ("2026-03-15", "yesterday"),
        ("2026-03-14", "14 Mar"),
        ("2026-01-01", "1 Jan"),
        ("2025-12-31", "31 Dec 2025"),
    ],
)
def test_days(day: str, text: str) -> None:
    assert day_text(datetime.fromisoformat(day), datetime(2026, 3, 16, 12)) == text
