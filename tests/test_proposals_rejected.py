"""Parts of proposals that a person rejects; what comes once more."""

from dataclasses import replace
from pathlib import Path
from typing import Any

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
    proposed,
    reject,
    trailers,
)
from workspaces import Desk, desk

from mdmem.model import CommitId, Source
from mdmem.model.errors import RepositoryProblem
from mdmem.model.proposals import PartState
from mdmem.model.writes import Forget, Remember, WriteOptions
from mdmem.proposals import branches
from mdmem.repo import branch_commits
from mdmem.text.facts import fact_id


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


# Rejecting.


def test_a_rejected_part_leaves_the_branch_and_an_empty_commit_says_so(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"))
    propose(at, fact("Linear", "Work", key="employer"))
    name = fact_id("rides a bicycle")
    decision = reject(at, proposal, name)
    assert trailers(at)["Rejects"] == [f"{proposal} {name}"]
    assert trailers(at)["Op"] == ["reject"]
    assert at.git("diff", "--stat", "HEAD~1", "HEAD") == ""
    assert not decision.closed
    branch = branches.find_proposal(at.workspace, proposal).tip
    assert "bicycle" not in at.git("show", f"{branch}:MEMORY.md")
    assert at.git("log", "--format=%s", f"HEAD..{branch}").splitlines() == [
        "MEMORY.md: remember Work",
        "MEMORY.md: remember Facts",
    ]
    assert "bicycle" not in at.git("log", "--format=%B", f"HEAD..{branch}")
    states = {part.name: part.state for part in parts(at, proposal).values()}
    assert states == {
        fact_id("plays the cello"): PartState.OPEN,
        fact_id("employer: Linear"): PartState.OPEN,
        name: PartState.REJECTED,
    }
    at.git("merge", "-q", branch)
    assert "bicycle" not in at.read("MEMORY.md")
    assert "cello" in at.read("MEMORY.md")


def test_a_failure_of_git_is_not_taken_for_a_text_that_cannot_be_edited(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"))
    failures = iter([RepositoryProblem("git-failed", "git failed")])
    make_commits = branch_commits.make_commits

    def failing_once(*arguments: Any) -> CommitId:
        for failure in failures:
            raise failure
        return make_commits(*arguments)

    monkeypatch.setattr(branch_commits, "make_commits", failing_once)
    assert problem(reject, at, proposal, fact_id("rides a bicycle")).code == "git-failed"


def test_a_rejected_text_comes_back_by_force_or_when_the_user_says_it(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    reject(at, proposal)
    assert list(closed(at)) == [proposal]
    assert branches.open_proposals(at.workspace) == {}
    assert problem(proposed, at, fact("plays the cello")).code == "already-rejected"
    assert problem(proposed, at, fact("Plays  the cello", "Work")).code == "already-rejected"
    assert (
        problem(proposed, at, fact("plays the cello"), source=Source.USER_STATED).code
        == "already-rejected"
    )
    again = propose(at, fact("plays the cello"), again=True)
    reject(at, again)
    assert propose(at, fact("plays the cello"), source=Source.USER_STATED, actor=None)


def test_the_user_saying_it_anew_opens_what_was_rejected(at: Desk) -> None:
    reject(at, propose(at, fact("plays the cello")))
    at.apply(
        replace(fact("plays the cello"), options=WriteOptions(source=Source.USER_STATED, actor=BOT))
    )
    at.apply(Forget("plays the cello"))
    assert problem(proposed, at, fact("plays the cello")).code == "already-rejected"
    at.apply(replace(fact("plays the cello"), options=WriteOptions(source=Source.USER_STATED)))
    at.apply(Forget("plays the cello"))
    assert propose(at, fact("plays the cello"))


def test_a_rejected_removal_keeps_nobody_from_saying_it(at: Desk) -> None:
    reject(at, propose(at, Forget("likes tea")))
    assert problem(proposed, at, Forget("likes tea")).code == "already-rejected"
    assert propose(at, Remember("likes tea", section="Work"))


def test_a_closed_proposal_can_be_looked_up_for_a_while(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = propose(at, fact("plays the cello"))
    reject(at, proposal)
    assert "cello" in at.git("show", f"refs/mdmem/closed/{proposal}:MEMORY.md")
    error = problem(accept, at, proposal)
    assert error.code == "proposal-not-found"
    assert f"refs/mdmem/closed/{proposal}" in error.hint
    branches.drop_old(at.workspace)
    assert list(closed(at)) == [proposal]
    monkeypatch.setattr(branches.time, "time", lambda: at.root.stat().st_mtime + 91 * 86_400)
    branches.drop_old(at.workspace)
    assert closed(at) == {}


# Once more.


def test_a_part_that_was_decided_can_be_proposed_to_the_same_once_more(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"))
    name = fact_id("rides a bicycle")
    for _ in range(2):
        commit = reject(at, proposal, name).commits[0]
        assert parts(at, proposal)[name].state is PartState.REJECTED
        propose(at, fact("rides a bicycle"), again=True)
        assert trailers(at, branches.find_proposal(at.workspace, proposal).tip)["Again"] == [commit]
        assert parts(at, proposal)[name].state is PartState.OPEN
    accept(at, proposal, name)
    assert "bicycle" in at.read("MEMORY.md")


def test_a_machines_proposal_begins_again_under_its_name(at: Desk) -> None:
    """One id stands for a machine for good, however often all of it was decided."""
    names = set()
    for number in range(2):
        proposal = propose(at, fact(f"plays {number} cellos"))
        names.add(proposal)
        accept(at, proposal)
        assert list(closed(at)) == [proposal]
    assert len(names) == 1
    assert at.read("MEMORY.md").count("cellos") == 2
