"""Branches of proposals among others: merged by plain git, checked out, signed, of several workspaces."""

from pathlib import Path
from typing import Any

import pytest
from conftest import World
from proposal_actions import SEED, accept, closed, fact, parts, problem, propose, proposed, reject, silent
from workspaces import Desk, desk

from mdmem.changes import proposing
from mdmem.facts import fact_id
from mdmem.memory import Memory
from mdmem.model.proposals import PartOp, PartState, ProposeBranch
from mdmem.model.writes import Action, EditSection, Forget
from mdmem.proposals import branches


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


# Merges, forges, clones.


def test_a_plain_merge_leaves_nothing_open(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, fact("plays the cello"), to=proposal)
    at.commit("something else")
    branch = branches.find_proposal(at.workspace.repository, proposal).tip
    at.git("merge", "-q", "--no-edit", branch)
    assert Memory(at.workspace).proposals.standing().views == ()
    decision = accept(at, proposal)
    assert (decision.parts, decision.closed) == ((), True)
    assert branches.standing_proposals(at.workspace.repository) == {}


def test_a_squash_of_a_forge_leaves_nothing_open(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, Forget("likes tea"), to=proposal)
    at.git("merge", "-q", "--squash", branches.find_proposal(at.workspace.repository, proposal).tip)
    at.git("commit", "-q", "-m", "squashed")
    assert [view.waits for view in Memory(at.workspace).proposals.standing().views] == [False]
    assert accept(at, proposal).closed


def test_two_agents_at_once_lose_nothing(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = propose(at, fact("plays the cello"))
    store = proposing.branch_commits.store
    raced: list[str] = []

    def race(*arguments: Any) -> str:
        if not raced:
            raced.append("once")
            ref = branches.find_proposal(at.workspace.repository, proposal)
            at.git("update-ref", ref.name, at.git("commit-tree", f"{ref.tip}^{{tree}}", "-p", ref.tip, "-m", "x").strip())
        return store(*arguments)

    monkeypatch.setattr(proposing.branch_commits, "store", race)
    propose(at, fact("rides a bicycle"), to=proposal)
    assert set(parts(at, proposal)) == {fact_id("plays the cello"), fact_id("rides a bicycle")}
    assert len(at.git("log", "--format=%h", f"HEAD..{branches.find_proposal(at.workspace.repository, proposal).tip}").split()) == 3


# Branches in use.


def test_a_branch_that_a_work_tree_has_is_left_alone(at: Desk, tmp_path: Path) -> None:
    proposal = propose(at, fact("plays the cello"))
    name = branches.find_proposal(at.workspace.repository, proposal).name.removeprefix("refs/heads/")
    at.git("worktree", "add", "-q", tmp_path / "theirs", name)
    tip = at.git("rev-parse", name)
    assert problem(proposed, at, fact("rides a bicycle"), to=proposal).code == "checked-out"
    decision = reject(at, proposal)
    assert (len(decision.commits), decision.closed) == (1, False)
    assert at.git("rev-parse", name) == tip
    assert [part.state for part in parts(at, proposal).values()] == [PartState.REJECTED]
    at.git("worktree", "remove", tmp_path / "theirs")
    assert accept(at, proposal).closed


def test_head_on_a_proposal_stays_there(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    name = branches.find_proposal(at.workspace.repository, proposal).name.removeprefix("refs/heads/")
    at.git("switch", "-q", name)
    decision = accept(at, proposal)
    assert (decision.parts, decision.closed) == ((), False)
    assert at.git("symbolic-ref", "--short", "HEAD").strip() == name
    assert "cello" in at.read("MEMORY.md")


def test_from_a_linked_work_tree(at: Desk, tmp_path: Path) -> None:
    at.git("worktree", "add", "-q", "-b", "theirs", tmp_path / "theirs")
    there = Desk(at.world, tmp_path / "theirs")
    there.apply(fact("has a dog"))
    proposal = propose(there, fact("plays the cello"))
    assert [part.name for part in accept(at, proposal).overtaken] == []
    assert "cello" in at.read("MEMORY.md")
    assert "dog" in at.read("MEMORY.md")


def test_a_detached_head_proposes_and_decides_where_it_may(at: Desk) -> None:
    at.git("checkout", "-q", "--detach")
    proposal = propose(at, fact("plays the cello"))
    assert problem(accept, at, proposal).code == "detached-head"
    assert problem(reject, at, proposal).code == "detached-head"
    assert [part.state for part in parts(at, proposal).values()] == [PartState.OPEN]
    at.git("switch", "-q", "main")
    assert accept(at, proposal).closed


def test_a_merge_under_way_keeps_nobody_from_proposing(at: Desk) -> None:
    at.write(".git/MERGE_HEAD", at.git("rev-parse", "HEAD"))
    proposal = propose(at, fact("plays the cello"))
    assert problem(accept, at, proposal).code == "repository-busy"
    assert problem(reject, at, proposal).code == "repository-busy"
    assert [part.state for part in parts(at, proposal).values()] == [PartState.OPEN]


def test_an_executable_file_stays_one(at: Desk) -> None:
    (at.root / "MEMORY.md").chmod(0o755)
    at.commit()
    proposal = propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"), to=proposal)
    propose(at, EditSection("Work", Action.REPLACE, "harbour", "station"), to=proposal)
    ref = branches.find_proposal(at.workspace.repository, proposal)
    assert at.git("ls-tree", ref.tip, "MEMORY.md").startswith("100755 ")
    (section,) = [part.name for part in parts(at, proposal).values() if part.op is PartOp.SECTION]
    reject(at, proposal, fact_id("rides a bicycle"))
    reject(at, proposal, section)
    ref = branches.find_proposal(at.workspace.repository, proposal)
    assert at.git("ls-tree", ref.tip, "MEMORY.md").startswith("100755 ")
    assert accept(at, proposal).closed
    assert at.git("ls-tree", "HEAD", "MEMORY.md").startswith("100755 ")


def test_a_repository_that_signs(at: Desk) -> None:
    signer = at.write(".git/signer", '#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED " >&2\necho "signed $*"\n')
    signer.chmod(0o755)
    for name, value in (("gpg.program", str(signer)), ("user.signingKey", "K1"), ("commit.gpgSign", "true")):
        at.git("config", name, value)
    proposal = propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"), to=proposal)
    tip = branches.find_proposal(at.workspace.repository, proposal).tip
    assert "gpgsig" in at.git("cat-file", "commit", tip)
    accept(at, proposal, fact_id("plays the cello"))
    reject(at, proposal)
    assert all("gpgsig" in at.git("cat-file", "commit", commit) for commit in ("HEAD", "HEAD~1"))
    assert closed(at)


# Several workspaces.


def test_a_branch_with_files_of_two_workspaces_is_decided_by_each(world: World, repository: Path) -> None:
    outer, inner = desk(world, repository, seed=SEED), desk(world, repository, "sub/notes", SEED)
    for each in (outer, inner):
        each.workspace.ensure_state()
        each.apply(fact("has a dog"))
    outer.git("switch", "-q", "-c", "feature")
    for each in (outer, inner):
        each.write("MEMORY.md", each.read("MEMORY.md") + f"- rides to {each.root.name}\n")
    outer.commit("by hand")
    outer.git("switch", "-q", "main")
    view = proposing.propose_branch(outer.workspace, ProposeBranch("feature"), silent).view
    assert ([part.new for part in view.parts], view.others) == ([f"rides to {outer.root.name}"], ("sub/notes/MEMORY.md",))
    assert not accept(outer, view.id).closed
    assert "rides" not in inner.read("MEMORY.md")
    assert [part.new for part in parts(inner, view.id).values() if part.state.waits] == ["rides to notes"]
    assert accept(inner, view.id).closed
    assert inner.read("MEMORY.md").endswith("- rides to notes\n")


def test_each_workspace_of_a_repository_has_its_own(world: World, repository: Path) -> None:
    first, second = desk(world, repository, "one", SEED), desk(world, repository, "two", SEED)
    for each in (first, second):
        each.workspace.ensure_state()
    mine, theirs = propose(first, fact("plays the cello")), propose(second, fact("rides a bicycle"))
    assert [view.id for view in Memory(first.workspace).proposals.standing().views] == [mine]
    assert [view.id for view in Memory(second.workspace).proposals.standing().views] == [theirs]
    assert not accept(first, theirs).closed
    assert accept(second, theirs).closed
    assert "bicycle" in second.read("MEMORY.md")
    assert "bicycle" not in first.read("MEMORY.md")
