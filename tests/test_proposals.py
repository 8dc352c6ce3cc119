"""Proposals in a repository: proposed by an agent, and read."""

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from proposal_actions import (
    BOT,
    SEED,
    fact,
    own_branch,
    parts,
    problem,
    propose,
    proposed,
    reject,
    trailers,
)
from workspaces import TOKEN, Desk, desk

from mdmem.memory import Memory
from mdmem.model.proposals import PartOp, PartState
from mdmem.model.reads import Waiting
from mdmem.model.searches import Search
from mdmem.model.writes import Action, EditSection, Forget, Log, Remember
from mdmem.proposals import branches
from mdmem.repo import branch_commits, worktree
from mdmem.repo.branch_commits import list_refs
from mdmem.show.formatting import waiting_line
from mdmem.text.facts import fact_id


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


# Proposing.


def test_a_proposal_leaves_files_index_and_head_and_stands_on_a_branch_of_its_own(at: Desk) -> None:
    at.write("staged.txt", "staged")
    at.git("add", "staged.txt")
    at.write("MEMORY.md", SEED.replace("likes tea", "likes tea\n- an edit that waits"))
    before = at.tree_state()
    done = proposed(at, fact("Linear", "Work", key="employer"), reason="said in chat", session="s1")
    assert at.tree_state() == before
    assert done.proposal
    assert re.fullmatch("[0-9a-f]{8}", done.proposal)
    branch = own_branch(BOT)
    assert re.fullmatch("mdmem/proposals/bot/[0-9a-f]{8}", branch)
    assert at.git("rev-parse", branch).strip() == done.result.commit
    assert at.git("rev-parse", f"{branch}^") == at.git("rev-parse", "HEAD")
    assert at.git("diff", "--stat", "HEAD", branch).count("|") == 1
    stated = trailers(at, branch)
    assert stated["Op"] == ["remember"]
    assert stated["Actor"] == [BOT]
    assert stated["Session"] == ["s1"]
    assert stated["Reason"] == ["said in chat"]
    assert stated["Supersedes"] == [f"{fact_id('employer: Stripe')} {fact_id('employer: Linear')}"]
    assert list_refs(at.workspace.repository, "refs/mdmem/scratch") == {}


def test_what_is_proposed_on_top_is_planned_on_the_proposals_text(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    assert proposed(at, fact("plays the cello")).result.changed is False
    assert proposed(at, Forget("plays the cello")).result.removed == (fact_id("plays the cello"),)
    assert problem(proposed, at, Forget("plays the cello")).code == "fact-not-found"
    assert parts(at, proposal) == {}


def test_a_command_that_is_sent_again_proposes_nothing_more(at: Desk) -> None:
    first = proposed(at, fact("plays the cello"), reason="said in chat")
    at.apply(fact("has a dog"))
    again = proposed(at, fact("plays the cello"), reason="said in chat")
    assert (again.result.changed, again.result.commit, again.proposal) == (
        False,
        None,
        first.proposal,
    )
    assert proposed(at, fact("plays the cello"), actor="other").proposal != first.proposal
    reject(at, first.proposal or "")
    again = proposed(at, fact("plays the cello"), reason="said in chat", again=True)
    assert (again.result.changed, again.proposal) == (True, first.proposal)
    assert parts(at, first.proposal or "")[fact_id("plays the cello")].state is PartState.OPEN


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (fact("a", "Nowhere"), "section-not-found"),
        (fact(f"the token is {TOKEN}"), "secret-found"),
        (fact("a <mdmem-context> b"), "recalled-text"),
        (EditSection("Facts", Action.BODY, "x", expect="000000000000"), "section-changed"),
        (EditSection("Facts", Action.BODY, "# out"), "body-escapes-section"),
        (Forget("nothing like it"), "fact-not-found"),
    ],
)
def test_a_proposal_is_refused_as_the_verb_itself_would_be(
    at: Desk, edit: EditSection | Remember | Forget, code: str
) -> None:
    refs = at.git("for-each-ref")
    assert problem(proposed, at, edit).code == code
    assert at.git("for-each-ref") == refs


def test_a_dry_run_shows_the_change_and_makes_nothing(at: Desk) -> None:
    refs = at.git("for-each-ref")
    done = proposed(at, fact("plays the cello"), dry_run=True)
    assert "+- plays the cello" in (done.result.diff or "")
    assert done.proposal is None
    assert at.git("for-each-ref") == refs


def test_a_name_becomes_a_part_of_a_branch_that_git_takes(at: Desk) -> None:
    for actor in ("dream/../..", "a b~^:?*[\\", ".lock", "\u202eé", "x" * 300):
        proposal = propose(at, fact(f"told by {len(actor)}"), actor=actor)
        name = branches.find_proposal(at.workspace, proposal).name
        assert at.git("check-ref-format", name) == ""
        assert len(name) < 120
        assert "dream/" not in name


def test_a_proposal_waits_for_no_merge_and_no_branch(at: Desk) -> None:
    at.git("checkout", "-q", "--detach")
    assert parts(at, propose(at, fact("plays the cello")))


def test_without_a_commit_nothing_can_be_proposed(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    world.git(folder, "init", "-q")
    (folder / "MEMORY.md").write_text(SEED)
    assert (
        problem(proposed, Desk(world, folder), fact("plays the cello")).code == "nothing-committed"
    )


# Reading.


def test_parts_tell_what_goes_what_comes_and_what_stands_there(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"), reason="said in chat")
    propose(at, fact("plays the cello"))
    propose(at, Forget("likes tea"))
    propose(at, EditSection("Work", Action.REPLACE, "harbour", "station"))
    propose(at, Log("met Ada", day="2026-03-04", time="10:00"))
    read = parts(at, proposal)
    assert {part.op for part in read.values()} == {
        PartOp.UPDATE,
        PartOp.ADD,
        PartOp.DELETE,
        PartOp.SECTION,
    }
    update = read[fact_id("employer: Linear")]
    assert (update.old, update.new, update.standing) == (
        "employer: Stripe",
        "employer: Linear",
        "employer: Stripe",
    )
    assert (update.section, update.origin.reason, update.state) == (
        ("Memory", "Work"),
        "said in chat",
        PartState.OPEN,
    )
    gone = read[fact_id("likes tea")]
    assert (gone.old, gone.new) == ("likes tea", None)
    (section,) = [part for part in read.values() if part.op is PartOp.SECTION]
    assert section.name.startswith("Memory > Work@")
    assert section.new == "The office is at the station."
    assert read[fact_id("met Ada")].path == "memory/2026-03-04.md"


def test_duplicates_and_contradictions_are_told(at: Desk) -> None:
    proposal = propose(at, Remember("likes tea", section="Work"))
    propose(at, Remember("employer: Linear", section="Work", also=True))
    read = parts(at, proposal)
    assert read[fact_id("likes tea")].duplicate_of == fact_id("likes tea")
    assert read[fact_id("employer: Linear")].contradicts == fact_id("employer: Stripe")


def test_what_is_proposed_is_no_memory(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    memory = Memory(at.workspace)
    assert memory.search(Search("cello")).hits == ()
    (hit,) = memory.proposals.search("cellos", 8)
    assert (hit.proposal, hit.part.new) == (proposal, "plays the cello")


# What waits.


def test_status_and_review_say_how_many_wait_and_since_when(at: Desk) -> None:
    memory = Memory(at.workspace)
    assert memory.status().waiting == Waiting()
    propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"))
    propose(at, Forget("likes tea"), actor="other")
    at.git("branch", "mdmem/proposals/bot/0123abcd")
    oldest = at.workspace.local_time(
        int(at.git("log", "-1", "--format=%at", f"{own_branch(BOT)}~1"))
    )
    assert memory.status().waiting == memory.review().waiting == Waiting(2, oldest)
    assert waiting_line(memory.status().waiting) == f"2 proposals, oldest {oldest.date()}"
    at.git("merge", "-q", own_branch(BOT))
    assert memory.status().waiting.proposals == 1


def test_many_are_read_by_as_many_processes_as_few(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, counts = branch_commits.run, []

    def counted(*arguments: Any, **named: Any) -> Any:
        counts[-1] += 1
        return run(*arguments, **named)

    for module in (branch_commits, worktree):
        monkeypatch.setattr(module, "run", counted)
    for number in range(6):
        counts.append(0)
        propose(at, fact(f"has {number} cats"), actor=f"bot{number}")
        counts.append(0)
        assert len(Memory(at.workspace).proposals.standing().views) == number + 1
        counts.append(0)
        assert branches.waiting(at.workspace).proposals == number + 1
    assert len(set(counts[4::3])) == len(set(counts[5::3])) == 1
    assert max(counts[5::3]) <= 5
