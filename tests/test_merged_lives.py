"""One fact, one life, whoever merged: beginnings and ends on the sides of a merge, undone by their
facts.
"""

import sys
from typing import Any

import pytest
from conftest import World
from dated_memory import DatedMemory
from dated_memory import dated as dated
from dated_memory import dated_desk as dated_desk
from trail_dump import dump
from workspaces import code_of

from mdmem.merge import setup
from mdmem.model import Source, Status
from mdmem.model.errors import MdmemError
from mdmem.model.history import FactHistory, FactLink, SectionHistory, ShowHistory
from mdmem.model.proposals import Propose
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import Forget, Remember, Revert, WriteOptions
from mdmem.past import fresh_trail
from mdmem.proposals.branches import find_proposal
from mdmem.show import past as shown

LATER = "2026-06-01"
HEADER = "# Memory\n\n## Work\n\n"


def chain(dated: DatedMemory, fact: str) -> tuple[FactLink, ...]:
    history = dated.on(LATER).history(ShowHistory(fact))
    assert isinstance(history, FactHistory)
    return history.chain


def days(link: FactLink) -> tuple[str, str | None]:
    return f"{link.start:%m-%d}", f"{link.end:%m-%d}" if link.end else None


def remember(dated: DatedMemory, day: str, text: str, **options: Any) -> None:
    dated.on(f"2026-{day}").apply(Remember(text, section="Work", options=WriteOptions(**options)))


def merge(dated: DatedMemory, branch: str, *options: str) -> str:
    dated.at.git("merge", "-q", "--no-edit", "--no-ff", *options, branch)
    return dated.at.git("rev-parse", "HEAD").strip()


@pytest.fixture
def at(dated: DatedMemory) -> DatedMemory:
    setup.install(dated.at.workspace, sys.executable)
    remember(dated, "01-01", "tea is green", actor="agent/seed")
    dated.at.git("branch", "side")
    return dated


@pytest.mark.parametrize("first", ["main", "side"])
def test_what_two_sides_said_is_one_fact_begun_by_the_earlier_and_confirmed_by_the_better(
    at: DatedMemory, first: str
) -> None:
    said = {
        "main": ("01-05", Source.USER_STATED, "agent/main"),
        "side": ("01-03", Source.INFERRED, "agent/side"),
    }
    for branch, (day, source, actor) in said.items():
        at.at.git("switch", "-q", branch)
        remember(at, day, "coffee is black", source=source, actor=actor)
    other = {"main": "side", "side": "main"}[first]
    at.at.git("switch", "-q", first)
    merge(at, other, "-X", "ours")
    (link,) = chain(at, "coffee is black")
    assert (days(link), link.made.source, link.made.actor) == (
        ("01-03", None),
        Source.USER_STATED,
        "agent/main",
    )
    assert [(each.actor, f"{each.time:%m-%d}") for each in link.also_by] == [
        ("agent/side", "01-03")
    ]
    assert at.texts("coffee", "2026-01-04", as_of="2026-01-04").count("coffee is black") == 1
    assert (
        len(
            [
                fact
                for fact in at.on(LATER).facts(ListFacts(everything=True)).facts
                if "coffee" in fact.text
            ]
        )
        == 1
    )


def test_of_equally_founded_ones_the_earlier_says_it_and_the_other_said_it_too(
    at: DatedMemory,
) -> None:
    for branch, day in (("main", "01-05"), ("side", "01-03")):
        at.at.git("switch", "-q", branch)
        remember(at, day, "coffee is black", actor=f"agent/{branch}")
    remember(at, "01-07", "coffee is bitter", actor="agent/side")
    merge(at, "main", "-X", "ours")
    history = at.on(LATER).history(ShowHistory("coffee is black"))
    assert isinstance(history, FactHistory)
    (link,) = history.chain
    assert (days(link), link.made.actor) == (("01-03", None), "agent/side")
    assert [(each.actor, f"{each.time:%m-%d}") for each in link.also_by] == [
        ("agent/main", "01-05")
    ]
    assert "said by" in shown.history_text(history, words=False, colour=False)
    assert chain(at, "coffee is bitter")[0].also_by == chain(at, "tea is green")[0].also_by == ()


def test_an_end_of_one_side_counts_only_where_the_merge_took_it(at: DatedMemory) -> None:
    at.at.git("switch", "-q", "side")
    at.on("2026-01-03").apply(
        Forget("tea is green", options=WriteOptions(actor="agent/tidy", reason="old"))
    )
    at.at.git("switch", "-q", "main")
    remember(at, "01-04", "milk is white")
    at.at.git("branch", "other")
    merge(at, "side")
    (link,) = chain(at, "tea is green")
    assert (days(link), link.made.actor) == (("01-01", "01-03"), "agent/seed")
    assert link.ended_by is not None
    assert (link.ended_by.actor, link.ended_by.reason, link.ended_by.op) == (
        "agent/tidy",
        "old",
        "forget",
    )
    at.at.git("switch", "-q", "other")
    merge(at, "side", "-s", "ours")
    (link,) = chain(at, "tea is green")
    assert (days(link), link.status) == (("01-01", None), Status.CURRENT)


def test_what_only_the_merge_took_out_ended_with_it(at: DatedMemory) -> None:
    at.at.git("switch", "-q", "side")
    remember(at, "01-03", "coffee is black")
    at.at.git("switch", "-q", "main")
    remember(at, "01-04", "milk is white")
    commit = merge(at, "side", "-s", "ours")
    (link,) = chain(at, "coffee is black")
    assert link.ended_by is not None
    assert (link.ended_by.commit, link.ended_by.actor) == (commit, None)


def test_of_two_ends_the_earlier_counts_and_the_successor_is_the_other_sides(
    at: DatedMemory,
) -> None:
    at.at.git("switch", "-q", "side")
    at.on("2026-01-03").apply(Forget("tea is green", options=WriteOptions(actor="agent/tidy")))
    at.at.git("switch", "-q", "main")
    at.on("2026-01-05").apply(
        Remember("tea is white", section="Work", options=WriteOptions(supersedes="tea is green"))
    )
    at.at.git("merge", "-q", "--no-commit", "side", check=False)
    at.at.write("MEMORY.md", HEADER + "- tea is white\n\n## Home\n\n- lives in Oslo\n")
    at.at.git("commit", "-qam", "merged")
    first, second = chain(at, "tea is white")
    assert (first.text, days(first), first.status) == (
        "tea is green",
        ("01-01", "01-03"),
        Status.SUPERSEDED,
    )
    assert (second.text, days(second)) == ("tea is white", ("01-05", None))


def found(at: DatedMemory, word: str, as_of: str) -> list[str]:
    return [text for text in at.texts(word, LATER, as_of=as_of) if word in text]


def test_as_of_a_commit_is_what_that_line_knew(at: DatedMemory) -> None:
    at.at.git("switch", "-q", "side")
    at.on("2026-01-03").apply(Forget("tea is green"))
    gone = at.at.git("rev-parse", "HEAD").strip()
    at.at.git("switch", "-q", "main")
    remember(at, "01-05", "milk is white")
    here = at.at.git("rev-parse", "HEAD").strip()
    merge(at, "side")
    assert found(at, "tea", here) == ["tea is green"]
    assert found(at, "tea", gone) == found(at, "milk", gone) == []
    assert found(at, "tea", "2026-01-02") == ["tea is green"]
    assert found(at, "tea", "2026-01-04") == []
    result = at.on(LATER).search(Search("milk", as_of="2026-01-05"))
    assert result.commits == (gone, here)
    at.at.git("branch", "elsewhere", here)
    at.at.git("reset", "-q", "--hard", gone)
    with pytest.raises(MdmemError) as failure:
        at.on(LATER).search(Search("milk", as_of=here))
    assert failure.value.code == "commit-not-found"


def test_a_change_of_a_side_is_undone_by_its_fact_and_a_merge_names_it(at: DatedMemory) -> None:
    at.at.git("switch", "-q", "side")
    remember(at, "01-03", "coffee is black")
    at.on("2026-01-04").apply(Forget("tea is green"))
    forgotten = at.at.git("rev-parse", "HEAD").strip()
    at.at.git("switch", "-q", "main")
    remember(at, "01-05", "milk is white")
    commit = merge(at, "side")
    with pytest.raises(MdmemError) as failure:
        at.on(LATER).apply(Revert(commit))
    assert failure.value.code == "cannot-revert"
    assert forgotten[:10] in failure.value.hint
    assert at.on(LATER).apply(Revert("tea is green")).changed
    assert "- tea is green\n" in at.at.read("MEMORY.md")
    assert "- coffee is black\n" in at.at.read("MEMORY.md")
    assert at.on(LATER).apply(Revert("coffee is black")).changed
    text = at.at.read("MEMORY.md")
    assert "coffee" not in text
    assert "- tea is green\n" in text
    assert "- milk is white\n" in text


def test_the_history_of_a_section_shows_that_it_was_taken_out_and_brought_back(
    at: DatedMemory,
) -> None:
    text = at.at.read("MEMORY.md")
    at.at.write("MEMORY.md", text.replace("## Work\n\n- tea is green\n", ""))
    at.at.commit("out")
    at.at.write("MEMORY.md", text)
    at.at.commit("back")
    history = at.on(LATER).history(ShowHistory("Work"))
    assert isinstance(history, SectionHistory)
    back, out, *earlier = history.revisions
    assert (back.before, out.text, out.before) == ("", "", "## Work\n\n- tea is green")
    assert len(earlier) == 2


def test_unknown_commits_are_not_found(at: DatedMemory) -> None:
    assert code_of(lambda: at.on(LATER).search(Search("tea", as_of="0" * 40))) == "commit-not-found"


# What was proposed.


def propose(at: DatedMemory, day: str, change: Remember | Forget) -> str:
    """Propose a change: the name of its branch."""
    memory = at.on(f"2026-{day}")
    made = memory.proposals.propose(Propose(change)).proposal or ""
    return memory.proposals.show(made).branch


def test_what_was_proposed_counts_from_the_merge_that_brought_it(at: DatedMemory) -> None:
    options = WriteOptions(actor="agent/a")
    said = propose(at, "01-03", Remember("coffee is black", section="Work", options=options))
    ended = propose(at, "01-04", Forget("tea is green", options=WriteOptions(actor="agent/b")))
    for branch in (said, ended):
        proposal = find_proposal(at.at.workspace, branch).id
        assert f"Mdmem-Proposed: {proposal}" in at.at.git("log", "-1", "--format=%B", branch)
    remember(at, "01-05", "milk is white")
    date = "2026-01-20T12:00:00+00:00"
    later = World(
        at.at.world.home,
        {**at.at.world.environment, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
    )
    later.git(at.at.root, "-c", "user.name=Bo", "merge", "-q", "--no-edit", said)
    later.git(
        at.at.root, "merge", "-q", "-m", "Merged\n\nMdmem-Accepted-By: Cy <cy@example.org>", ended
    )
    (coffee,) = chain(at, "coffee is black")
    assert (days(coffee), coffee.made.source, coffee.made.actor, coffee.made.author) == (
        ("01-20", None),
        Source.INFERRED,
        "agent/a",
        "Bo",
    )
    (tea,) = chain(at, "tea is green")
    assert tea.ended_by is not None
    assert (days(tea), tea.ended_by.actor, tea.ended_by.author) == (
        ("01-01", "01-20"),
        "agent/b",
        "Cy",
    )
    assert "coffee is black" not in at.texts("coffee", as_of="2026-01-19")
    assert "coffee is black" in at.texts("coffee", as_of="2026-01-20")
    assert "tea is green" in at.texts("tea", as_of="2026-01-19")


def test_what_was_proposed_and_is_on_a_persons_line_counts_from_its_own_commit(
    at: DatedMemory,
) -> None:
    options = WriteOptions(actor="agent/a")
    branch = propose(at, "01-03", Remember("coffee is black", section="Work", options=options))
    at.at.git("merge", "-q", "--ff-only", branch)
    remember(at, "01-05", "milk is white")
    assert days(chain(at, "coffee is black")[0]) == ("01-03", None)
    at.at.git("switch", "-q", "side")
    remember(at, "01-06", "water is clear")
    merge(at, "main", "-X", "ours")
    assert days(chain(at, "coffee is black")[0]) == ("01-03", None)


def test_going_back_before_the_merge_of_a_proposal_and_forth_tells_the_same(
    at: DatedMemory,
) -> None:
    branch = propose(
        at,
        "01-03",
        Remember("coffee is black", section="Work", options=WriteOptions(actor="agent/a")),
    )
    remember(at, "01-05", "milk is white")
    merge(at, branch)
    workspace = at.at.workspace
    with fresh_trail(workspace) as trail:
        told = dump(trail)
    at.at.git("switch", "-q", "--detach", branch)
    assert days(chain(at, "coffee is black")[0]) == ("01-03", None)
    at.at.git("switch", "-q", "main")
    assert days(chain(at, "coffee is black")[0]) == ("03-05", None)
    with fresh_trail(workspace) as trail:
        trail.forget_dropped()
        assert dump(trail) == told


@pytest.mark.parametrize(("day", "late"), [("02-25", True), ("02-27", False)])
def test_a_branch_that_was_merged_late_is_as_said_and_names_the_merge(
    at: DatedMemory, day: str, late: bool
) -> None:
    """Merges are made on the fifth of March, at half past nine."""
    remember(at, "03-01", "milk is white")
    at.at.git("switch", "-q", "side")
    remember(at, day, "coffee is black")
    at.at.git("switch", "-q", "main")
    commit = merge(at, "side", "-X", "ours")
    memory = at.on(LATER)
    history, texts = memory.history(ShowHistory("coffee is black")), memory.when("coffee is black")
    said = f"said 2026-{day}, merged 2026-03-05 ({commit[:10]})"
    assert (said in shown.history_text(history, words=False, colour=False)) == late
    assert (said in shown.presences_text(texts)) == late
    assert isinstance(history, FactHistory)
    assert (history.chain[0].merged is not None) == (texts.stays[0].merged is not None) == late
    rows = memory.history(ShowHistory("Work"))
    assert f", {said}" in shown.history_text(rows, words=False, colour=False) or not late
    green = memory.history(ShowHistory("tea is green"))
    assert isinstance(green, FactHistory)
    assert green.chain[0].merged is None


@pytest.mark.parametrize(
    ("replaced", "end", "actor"),
    [("01-03", "01-03", "agent/main"), ("01-07", "01-05", "agent/tidy")],
)
def test_a_rebase_onto_a_removal_keeps_the_earlier_end_and_the_successor(
    at: DatedMemory, replaced: str, end: str, actor: str
) -> None:
    at.at.git("switch", "-q", "side")
    at.on("2026-01-05").apply(Forget("tea is green", options=WriteOptions(actor="agent/tidy")))
    at.at.git("switch", "-q", "main")
    remember(at, replaced, "tea is black", supersedes="tea is green", actor="agent/main")
    at.at.git("rebase", "-q", "side")
    assert "tea is green" not in at.at.read("MEMORY.md")
    green, black = chain(at, "tea is green")
    assert green.ended_by is not None
    assert (days(green), green.ended_by.actor, days(black)) == (
        ("01-01", end),
        actor,
        (replaced, None),
    )
    assert "tea is green" not in at.texts("tea", as_of="2026-01-06")
    assert ("tea is green" in at.texts("tea", as_of="2026-01-04")) == (end == "01-05")
    (stay,) = at.on("2026-01-08").when("tea is green").stays
    assert stay.ended_by is not None
    assert (f"{stay.went_at:%m-%d}", stay.ended_by.actor) == (end, actor)
