"""Parts of proposals that a person accepts, whatever became of memory since; what is overtaken."""

from pathlib import Path

import pytest
from conftest import World
from proposal_actions import (
    BOT,
    SEED,
    accept,
    closed,
    fact,
    parts,
    problem,
    propose,
    reject,
    silent,
    trailers,
)
from workspaces import Desk, desk

from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.errors import UsageProblem
from mdmem.model.proposals import PartOp, PartState, ProposeBranch
from mdmem.model.writes import Action, EditSection, Forget, Log, Remember, WriteOptions
from mdmem.past import fresh_trail
from mdmem.proposals import branches
from mdmem.review import proposing
from mdmem.text.facts import fact_id


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


def test_accepting_is_a_commit_a_part_by_the_person(at: Desk) -> None:
    proposal = propose(
        at, fact("Linear", "Work", key="employer"), source=Source.USER_STATED, reason="said in chat"
    )
    propose(at, fact("plays the cello"), source=Source.AUTO, confidence=0.3)
    head = at.git("rev-parse", "HEAD").strip()
    decision = accept(at, proposal)
    assert len(decision.commits) == 2
    assert decision.closed
    assert at.git("rev-parse", "HEAD~2").strip() == head
    assert at.read("MEMORY.md") == SEED.replace("Stripe", "Linear").replace(
        "- drives a Volvo\n", "- drives a Volvo\n- plays the cello\n"
    )
    stated = {
        trailers(at, commit)["Accepts"][0].split()[1]: trailers(at, commit)
        for commit in decision.commits
    }
    update = stated[fact_id("employer: Linear")]
    assert update["Op"] == ["accept"]
    assert update["Proposal"] == [proposal]
    assert update["Proposed-By"] == [BOT]
    assert update["Source"] == ["inferred"]
    assert update["Reason"] == ["said in chat"]
    assert "Actor" not in update
    assert "Claimed-By" not in update
    assert update["Supersedes"] == [f"{fact_id('employer: Stripe')} {fact_id('employer: Linear')}"]
    assert stated[fact_id("plays the cello")]["Confidence"] == ["0.3"]
    assert branches.open_proposals(at.workspace) == {}
    assert list(closed(at)) == [proposal]
    assert at.git("status", "--porcelain") == ""


def test_a_person_vouches_or_says_it_in_their_own_words(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"), source=Source.AUTO)
    propose(at, fact("plays the cello"), source=Source.AUTO)
    accept(at, proposal, fact_id("employer: Linear"), vouch=True)
    assert (trailers(at)["Source"], trailers(at)["Confidence"]) == (["user-stated"], ["0.95"])
    edited = ((fact_id("plays the cello"), "plays the viola #music"),)
    decision = accept(at, proposal, edited=edited)
    assert trailers(at)["Source"] == ["user-stated"]
    assert decision.closed
    assert "- plays the viola #music\n" in at.read("MEMORY.md")
    assert "cello" not in at.read("MEMORY.md")
    with fresh_trail(at.workspace) as trail:
        (occurrence,) = trail.occurrences_of(fact_id("plays the viola"))
    assert occurrence.origin.source is Source.USER_STATED
    assert occurrence.origin.claimed_by is None


def test_an_update_supersedes_whatever_the_sources(at: Desk) -> None:
    at.apply(
        Remember(
            "Apple", section="Work", key="employer", options=WriteOptions(source=Source.USER_STATED)
        )
    )
    proposal = propose(at, fact("Linear", "Work", key="employer"), source=Source.AUTO)
    accept(at, proposal)
    assert "employer: Linear" in at.read("MEMORY.md")
    assert "Apple" not in at.read("MEMORY.md")
    with fresh_trail(at.workspace) as trail:
        assert trail.occurrences_of(fact_id("employer: Apple"))[-1].successor == fact_id(
            "employer: Linear"
        )


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "edit",
    [
        fact("Linear", "Work", key="employer"),
        Remember(
            "works at Linear", section="Work", options=WriteOptions(supersedes="employer: Stripe")
        ),
    ],
)
@pytest.mark.parametrize("labels", ["^job", "#work <!-- since May --> ^job"])
@pytest.mark.parametrize("is_overtaken", [False, True])
def test_labels_are_kept(at: Desk, edit: Remember, labels: str, is_overtaken: bool) -> None:
    at.write("MEMORY.md", SEED.replace("- employer: Stripe", f"- employer: Stripe {labels}"))
    at.commit()
    proposal = propose(at, edit, supersedes=edit.options.supersedes)
    if is_overtaken:
        at.write("MEMORY.md", at.read("MEMORY.md").replace("Stripe", "Apple"))
        at.commit()
    named = () if not is_overtaken else parts(at, proposal)
    accept(at, proposal, *named, anyway=is_overtaken)
    assert at.read("MEMORY.md").endswith(f"Linear {labels}\n")


def test_what_supersedes_in_other_words_is_one_part(at: Desk) -> None:
    edit = Remember("Linear pays the rent", section="Work")
    proposal = propose(at, edit, supersedes="employer: Stripe")
    (part,) = parts(at, proposal).values()
    assert (part.op, part.old, part.new) == (
        PartOp.UPDATE,
        "employer: Stripe",
        "Linear pays the rent",
    )
    accept(at, proposal)
    assert "Stripe" not in at.read("MEMORY.md")


def test_an_agent_decides_nothing(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    state = at.tree_state()
    for work in (
        lambda: accept(at, proposal, options=WriteOptions(actor="other")),
        lambda: reject(at, proposal, options=WriteOptions(actor=BOT)),
    ):
        assert problem(work).code == "not-allowed"
    assert at.tree_state() == state
    assert parts(at, proposal)


def test_what_does_not_touch_a_part_does_not_matter(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, fact("plays the cello"))
    at.write(
        "MEMORY.md",
        "# Memory\n\nA preface.\n\n## Work\n\n- employer: Stripe #pay\n\n## Facts\n\n- likes tea\n- has a dog\n",
    )
    at.commit()
    assert {part.state for part in parts(at, proposal).values()} == {PartState.OPEN}
    accept(at, proposal)
    assert at.read("MEMORY.md") == (
        "# Memory\n\nA preface.\n\n## Work\n\n- employer: Linear #pay\n\n## Facts\n\n- likes tea\n- has a dog\n- plays the cello\n"
    )


def test_a_part_follows_the_heading_it_stands_under(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, fact("rides a bicycle", "Work"))
    at.apply(EditSection("Work", Action.RENAME, "Job"))
    accept(at, proposal)
    assert (
        "## Job\n\nThe office is at the harbour.\n\n- employer: Linear\n- rides a bicycle\n"
        in at.read("MEMORY.md")
    )


def test_an_overtaken_part_is_taken_by_its_name_and_anyway(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, fact("plays the cello"))
    at.apply(Remember("Apple", section="Work", key="employer"))
    name = fact_id("employer: Linear")
    part = parts(at, proposal)[name]
    assert (part.state, part.standing) == (PartState.OVERTAKEN, "employer: Apple")
    decision = accept(at, proposal)
    assert [view.name for view in decision.overtaken] == [name]
    assert not decision.closed
    assert "employer: Apple" in at.read("MEMORY.md")
    state = at.tree_state()
    for fields in ({}, {"vouch": True}, {"edited": ((name, "employer: Meta"),)}):
        assert (
            problem(accept, at, proposal, *(() if "edited" in fields else (name,)), **fields).code
            == "overtaken"
        )
    assert at.tree_state() == state
    decision = accept(at, proposal, name[:6], anyway=True)
    assert decision.closed
    assert decision.accepted[0].result.warnings == ()
    assert "employer: Linear" in at.read("MEMORY.md")
    assert "Apple" not in at.read("MEMORY.md")
    assert trailers(at)["Supersedes"] == [f"{fact_id('employer: Apple')} {name}"]


def test_what_is_taken_anyway_keeps_the_block_id_and_says_that_it_is_weaker(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    at.write("MEMORY.md", SEED.replace("- employer: Stripe", "- employer: Apple ^job"))
    at.commit()
    (done,) = accept(at, proposal, fact_id("employer: Linear"), anyway=True).accepted
    result = done.result
    assert at.read("MEMORY.md").endswith("- employer: Linear ^job\n")
    assert result.warnings == ("weaker-source",)
    assert "employer: Apple" in result.notes[0]


def test_only_what_is_named_is_taken_anyway(at: Desk) -> None:
    with pytest.raises(UsageProblem, match="anyway"):
        accept(at, propose(at, fact("plays the cello")), anyway=True)


def test_a_part_that_only_the_merge_shows_to_be_overtaken_is_left_out(at: Desk) -> None:
    """A line that stood twice, of which the proposal changes one and takes out the other, and of
    which the one is gone.
    """
    at.write("MEMORY.md", "# M\n\n## A\n\n- k: red\n\n## B\n\n- k: red\n")
    at.commit()
    at.git("switch", "-q", "-c", "feature")
    at.write("MEMORY.md", "# M\n\n## A\n\n- k: blue\n\n## B\n")
    at.commit("by hand")
    at.git("switch", "-q", "main")
    at.write("MEMORY.md", "# M\n\n## A\n\n## B\n\n- k: red\n")
    at.commit()
    view = proposing.propose_branch(at.workspace, ProposeBranch("feature"), silent).view
    assert {part.name: part.state for part in view.parts} == dict.fromkeys(
        map(fact_id, ("k: blue", "k: red")), PartState.OPEN
    )
    decision = accept(at, view.id)
    assert [(part.new, part.state) for part in decision.overtaken] == [
        ("k: blue", PartState.OVERTAKEN)
    ]
    assert [each.part.old for each in decision.accepted] == ["k: red"]
    assert "k: " not in at.read("MEMORY.md")


def test_a_new_value_of_a_key_overtakes_one_that_is_proposed(at: Desk) -> None:
    proposal = propose(at, fact("cello", key="instrument"))
    at.apply(fact("viola", key="instrument"))
    (part,) = parts(at, proposal).values()
    assert (part.state, part.standing) == (PartState.OVERTAKEN, "instrument: viola")
    assert problem(accept, at, proposal, part.name).code == "overtaken"
    accept(at, proposal, part.name, anyway=True)
    assert "instrument: cello" in at.read("MEMORY.md")
    assert "viola" not in at.read("MEMORY.md")


def test_what_stands_already_is_not_open(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    propose(at, Forget("likes tea"))
    at.apply(fact("plays the cello"))
    at.apply(Forget("likes tea"))
    assert {part.state for part in parts(at, proposal).values()} == {PartState.ACCEPTED}
    assert [view.waits for view in Memory(at.workspace).proposals.standing().views] == [False]


def test_parts_are_taken_all_or_none(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"))
    at.hook("pre-commit", "git diff --cached | grep -q bicycle && exit 1; exit 0")
    state = at.tree_state()
    assert problem(accept, at, proposal).code == "commit-failed"
    assert at.tree_state() == state
    assert len([part for part in parts(at, proposal).values() if part.state is PartState.OPEN]) == 2


def test_pending_edits_become_a_commit_of_their_own_first(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    at.write("MEMORY.md", SEED.replace("likes tea", "likes green tea"))
    accept(at, proposal)
    assert "likes green tea" in at.read("MEMORY.md")
    assert "cello" in at.read("MEMORY.md")
    assert at.git("log", "-1", "--format=%b", "HEAD~1").strip() == ""


def test_other_text_and_headings_are_parts_too(at: Desk) -> None:
    at.git("switch", "-q", "-c", "feature")
    text = (
        SEED.replace("harbour", "station").replace("## Facts", "## Things")
        + "\n## New\n\nSome words.\n\n- a fact in it\n"
    )
    at.write("MEMORY.md", text)
    at.commit("by hand")
    at.git("switch", "-q", "main")
    at.apply(fact("has a dog"))
    view = proposing.propose_branch(at.workspace, ProposeBranch("feature", "why not"), silent).view
    assert {part.state for part in view.parts} == {PartState.OPEN}
    accept(at, view.id)
    assert at.read("MEMORY.md") == text.replace(
        "- drives a Volvo\n", "- drives a Volvo\n- has a dog\n"
    )


def test_prose_is_taken_with_its_paragraphs(at: Desk) -> None:
    text = "First.\n\n    code one\n\n    code two\n\nLast."
    proposal = propose(at, EditSection("New", Action.BODY, text, create=True))
    propose(at, EditSection("Work", Action.BODY, f"{text}\n\n- employer: Stripe"))
    assert {part.new for part in parts(at, proposal).values()} == {text}
    accept(at, proposal)
    assert (
        at.read("MEMORY.md")
        == f"{SEED.replace('The office is at the harbour.', text)}\n## New\n\n{text}\n"
    )


def test_a_heading_that_goes_goes_with_its_facts(at: Desk) -> None:
    at.git("switch", "-q", "-c", "feature")
    at.write("MEMORY.md", SEED.partition("## Work")[0])
    at.commit("by hand")
    at.git("switch", "-q", "main")
    view = proposing.propose_branch(at.workspace, ProposeBranch("feature"), silent).view
    accept(at, view.id)
    assert at.read("MEMORY.md").strip() == SEED.partition("## Work")[0].strip()


def test_entries_of_a_log_go_under_their_minutes(at: Desk) -> None:
    at.write("memory/2026-03-04.md", "# 2026-03-04\n\n## 09:00\n\n- early\n\n## 12:00\n\n- noon\n")
    at.commit()
    proposal = propose(at, Log("late", day="2026-03-04", time="12:00"))
    propose(at, Forget("early"))
    at.apply(Log("evening", day="2026-03-04", time="18:00"))
    accept(at, proposal)
    assert at.read("memory/2026-03-04.md") == (
        "# 2026-03-04\n\n## 09:00\n\n- early\n\n## 12:00\n\n- noon\n- late\n\n## 18:00\n\n- evening\n"
    )
    retracting = [trailers(at, commit) for commit in at.git("log", "-3", "--format=%H").split()]
    assert [fact_id("early")] in [stated.get("Retracts") for stated in retracting]


def test_a_memory_file_that_cannot_be_read_now_closes_no_proposal(at: Desk) -> None:
    at.write("memory/a.md", "# A\n\n- one\n")
    at.commit()
    proposal = propose(at, fact("plays the cello"))
    propose(at, Remember("two", file="memory/a.md", section="A"))
    (at.root / "MEMORY.md").write_bytes(b"# Memory\n\n\xff\n")
    assert accept(at, proposal, fact_id("two")).closed == ()
    for decide in (accept, reject):
        assert problem(decide, at, proposal).code == "unsupported-file"
        assert problem(decide, at, proposal, fact_id("plays the cello")).code == "unsupported-file"
    at.write("MEMORY.md", SEED)
    assert [
        part.state for part in parts(at, proposal).values() if part.new == "plays the cello"
    ] == [PartState.OPEN]
    assert accept(at, proposal).closed
    assert "cello" in at.read("MEMORY.md")
