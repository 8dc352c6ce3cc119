"""Decisions on proposals as commands give them: names of parts, dry runs, what is refused or undone as a whole, whose words are kept."""

from pathlib import Path

import pytest
from conftest import World
from killed_write import killed_after
from proposal_actions import BOT, SEED, accept, fact, parts, problem, propose, reject, silent, trailers
from workspaces import NOW, STATE, TOKEN, Desk, append, desk

from mdmem.changes import deciding, proposing
from mdmem.facts import fact_id
from mdmem.model import Op
from mdmem.model.proposals import Accept, PartState, ProposeBranch, Reject
from mdmem.model.writes import Action, EditSection, WriteOptions

CELLO, BICYCLE = "plays the cello", "rides a bicycle"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


def from_branch(at: Desk, text: str) -> str:
    """A proposal of a branch on which the curated file has another text."""
    at.git("switch", "-q", "-c", "feature")
    at.write("MEMORY.md", text)
    at.commit("by hand")
    at.git("switch", "-q", "main")
    return proposing.propose_branch(at.workspace, ProposeBranch("feature"), silent).view.id


# Names.


def test_six_digits_of_a_name_will_do_and_five_will_not(at: Desk) -> None:
    proposal, name = propose(at, fact(CELLO)), fact_id(CELLO)
    error = problem(accept, at, proposal, name[:5])
    assert (error.code, error.message) == ("part-not-found", f"{proposal} has no part {name[:5]!r}")
    assert proposal in error.hint
    assert [view.name for view, _ in accept(at, proposal, name[:6].upper()).parts] == [name]


def test_a_section_is_named_by_its_path_its_heading_or_its_etag(at: Desk) -> None:
    proposal = propose(at, EditSection("Work", Action.REPLACE, "harbour", "station"))
    (name,) = parts(at, proposal)
    path, _, etag = name.rpartition("@")
    assert path == "Memory > Work"
    for word in (name, path, "Work", etag):
        assert [view.name for view in deciding.parts_named(at.workspace, proposal, word)] == [name]
    for word in ("Memory", "wor", etag[:8], "Memory > Work@", ""):
        assert problem(deciding.parts_named, at.workspace, proposal, word).code == "part-not-found"


def test_a_name_that_fits_several_parts(at: Desk) -> None:
    proposal = from_branch(at, f"{SEED}\n## A\n\n### Notes\n\nSome words.\n\n## B\n\n### Notes\n\nOther words.\n")
    names = sorted(name for name in parts(at, proposal) if "Notes@" in name)
    error = problem(accept, at, proposal, "Notes")
    assert (error.code, error.message, error.hint) == ("ambiguous", "'Notes' fits several parts", f"They are {', '.join(names)}.")
    assert accept(at, proposal, "Memory > A > Notes").closed is False
    assert "Other words." not in at.read("MEMORY.md")


# Dry runs.


def test_a_dry_run_shows_what_would_become_of_it(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    at.apply(fact("has a dog"))
    refs, state = at.git("for-each-ref"), at.tree_state()
    accepted = accept(at, proposal, options=WriteOptions(dry_run=True))
    rejected = deciding.reject(at.workspace, Reject(proposal, options=WriteOptions(dry_run=True)), silent)
    for decision in (accepted, rejected):
        assert (decision.proposal, decision.dry_run, decision.commits, decision.closed) == (proposal, True, (), False)
        assert [view.name for view, _ in decision.parts] == [fact_id(CELLO)]
    assert f"+- {CELLO}" in (accepted.parts[0][1].diff or "")
    assert (at.git("for-each-ref"), at.tree_state()) == (refs, state)


def test_the_answer_of_a_rejection(at: Desk) -> None:
    decision = reject(at, propose(at, fact(CELLO)))
    ((view, result),) = decision.parts
    assert (result.changed, result.path, result.section, result.op) == (True, "MEMORY.md", ("Memory", "Facts"), Op.REJECT)
    assert (result.commit,) == decision.commits
    assert (view.state, decision.dry_run) == (PartState.OPEN, False)


# What is refused, or undone as a whole.


def test_what_an_agent_may_not(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    options = WriteOptions(actor=BOT)
    refused = [
        problem(deciding.accept, at.workspace, Accept(proposal, options=options), silent),
        problem(deciding.reject, at.workspace, Reject(proposal, options=options), silent),
    ]
    assert [error.message for error in refused] == [
        f"bot is an agent, and {verb} nothing: a person decides" for verb in ("accepts", "rejects")
    ]


def test_a_secret_in_a_reason(at: Desk) -> None:
    request = Reject(propose(at, fact(CELLO)), options=WriteOptions(reason=f"the token is {TOKEN}"))
    state = at.tree_state()
    assert problem(deciding.reject, at.workspace, request, silent).code == "secret-found"
    assert at.tree_state() == state


def test_parts_are_rejected_all_or_none(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    propose(at, fact(BICYCLE, "Work"), to=proposal)
    at.hook("commit-msg", "[ ! -e .git/refuse ] || exit 1; touch .git/refuse")
    head = at.git("rev-parse", "HEAD")
    assert problem(reject, at, proposal).code == "commit-failed"
    assert at.git("rev-parse", "HEAD") == head
    assert {part.state for part in parts(at, proposal).values()} == {PartState.OPEN}
    at.hook("commit-msg", "exit 0")
    assert len(reject(at, proposal).commits) == 2


def test_one_commit_rejects_as_many_parts_as_a_message_quotes(at: Desk) -> None:
    proposal = from_branch(at, SEED + "".join(f"- keeps {number} bees\n" for number in range(21)))
    decision = reject(at, proposal)
    assert [len(trailers(at, commit)["Rejects"]) for commit in decision.commits] == [20, 1]
    assert (decision.closed, len(decision.parts)) == (True, 21)


@pytest.mark.parametrize("decide", [accept, reject])
def test_what_a_killed_write_left_is_done_first(at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decide: type) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    proposal = propose(at, fact(CELLO))
    killed = [copy for copy, _ in killed_after(at, tmp_path / "killed", append("- has a dog", "Facts"), NOW, range(0, 40, 3))]
    (copy, *_) = (copy for copy in killed if (copy.root / STATE / "write-ahead.json").exists() and "dog" in copy.read("MEMORY.md"))
    decide(copy, proposal)
    assert not (copy.root / STATE / "write-ahead.json").exists()
    assert "has a dog" in copy.git("show", "HEAD:MEMORY.md")
    assert copy.git("log", "--format=%s").splitlines()[1].startswith("MEMORY.md: append")


# Whose words are kept.


def test_the_words_of_the_decision_go_before_those_of_the_proposal(at: Desk) -> None:
    proposal = propose(at, fact(CELLO), session="s1", reason="said in chat")
    propose(at, fact(BICYCLE), to=proposal, session="s1", reason="said in chat")
    accept(at, proposal, fact_id(CELLO), options=WriteOptions(session="s2", reason="true"))
    assert (trailers(at)["Session"], trailers(at)["Reason"]) == (["s2"], ["true"])
    accept(at, proposal)
    assert (trailers(at)["Session"], trailers(at)["Reason"]) == (["s1"], ["said in chat"])
