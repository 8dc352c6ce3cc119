"""Decisions on proposals as commands give them: names of parts, dry runs, what is refused or undone
as a whole, whose words are kept.
"""

import re
from collections.abc import Callable
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
    killed_at_the_commit,
    mark_as_made,
    parts,
    problem,
    propose,
    reject,
    silent,
    trailers,
)
from workspaces import TOKEN, Desk, desk

from mdmem.model import FilePath, Op, Provenance, Source, Supersession
from mdmem.model.errors import ProposalProblem
from mdmem.model.proposals import ListDecision, PartState, Propose, ProposeBranch
from mdmem.model.writes import Action, EditSection, PipelineNote, Remember, WriteOptions
from mdmem.past.messages import CommitNote, compose_message
from mdmem.proposals import branches, listings
from mdmem.review import deciding, proposing
from mdmem.text.facts import fact_id

CELLO, BICYCLE = "plays the cello", "rides a bicycle"
NIGHTS = ("dream/2026-03-05", "dream/2026-03-06")


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


def from_branch(at: Desk, text: str) -> str:
    """An agent's proposal of a branch on which the curated file has another text."""
    at.git("switch", "-q", "-c", "feature")
    at.write("MEMORY.md", text)
    at.commit("by hand")
    at.git("switch", "-q", "main")
    return proposing.propose_branch(
        at.workspace, ProposeBranch("feature", actor=BOT), silent
    ).view.id


def dreamt(at: Desk, edit: Remember, run: str, **note: Any) -> str:
    """Propose changes of a night in its own proposal."""
    pipeline = PipelineNote(actor="dream", run=run, **note)
    request = Propose(replace(edit, options=WriteOptions(pipeline=pipeline)))
    return proposing.propose(at.workspace, request, silent).proposal or ""


# Names.


def test_six_digits_of_a_name_will_do_and_five_will_not(at: Desk) -> None:
    proposal, name = propose(at, fact(CELLO)), fact_id(CELLO)
    error = problem(accept, at, proposal, name[:5])
    assert (error.code, error.message) == ("part-not-found", f"{proposal} has no part {name[:5]!r}")
    assert proposal in error.hint
    assert [each.part.name for each in accept(at, proposal, name[:6].upper()).accepted] == [name]


def test_a_section_is_named_by_its_path_its_heading_or_its_etag(at: Desk) -> None:
    proposal = propose(at, EditSection("Work", Action.REPLACE, "harbour", "station"))
    (name,) = parts(at, proposal)
    path, _, etag = name.rpartition("@")
    assert path == "Memory > Work"
    for word in (name, path, "Work", etag):
        assert deciding.part_to_edit(at.workspace, proposal, word, anyway=False).name == name
    for word in ("Memory", "wor", etag[:8], "Memory > Work@", ""):
        assert (
            problem(deciding.part_to_edit, at.workspace, proposal, word, False).code
            == "part-not-found"
        )


def test_a_name_that_fits_several_parts(at: Desk) -> None:
    proposal = from_branch(
        at, f"{SEED}\n## A\n\n### Notes\n\nSome words.\n\n## B\n\n### Notes\n\nOther words.\n"
    )
    names = sorted(name for name in parts(at, proposal) if "Notes@" in name)
    error = problem(accept, at, proposal, "Notes")
    assert (error.code, error.message, error.hint) == (
        "ambiguous",
        "'Notes' matches several parts",
        f"They are {', '.join(names)}.",
    )
    assert accept(at, proposal, "Memory > A > Notes").closed == ()
    assert "Other words." not in at.read("MEMORY.md")


# Nights.


def test_a_night_is_decided_on_by_its_name_alone(at: Desk) -> None:
    own = dreamt(at, fact(CELLO), NIGHTS[0])
    assert dreamt(at, fact("Linear", "Work", key="employer"), NIGHTS[1]) == own
    at.apply(fact("Apple", "Work", key="employer"))
    decision = accept(at, NIGHTS[0])
    assert ([each.part.new for each in decision.accepted], decision.overtaken) == ([CELLO], ())
    assert (decision.proposal, decision.closed) == (own, ())
    error = problem(accept, at, NIGHTS[0])
    assert (error.code, error.message) == (
        "proposal-not-found",
        f"no part proposed by {NIGHTS[0]} is pending",
    )
    assert [each.part.new for each in reject(at, NIGHTS[1]).rejected] == ["employer: Linear"]


def test_a_night_of_several_machines(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for machine, text in (("0a1b2c3d", CELLO), ("0a1b2c3e", BICYCLE)):
        monkeypatch.setattr("mdmem.proposals.branches.host_name", lambda name=machine: name)
        names.append(dreamt(at, fact(text), NIGHTS[0]))
    error = problem(accept, at, NIGHTS[0])
    assert (error.code, error.message) == (
        "ambiguous",
        f"{NIGHTS[0]} has parts in 2 proposals, of several machines",
    )
    assert sorted(error.hint.removeprefix("They are ").rstrip(".").split(", ")) == sorted(names)


# Dry runs.


def test_a_dry_run_shows_what_would_become_of_it(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    at.apply(fact("has a dog"))
    refs, state = at.git("for-each-ref"), at.tree_state()
    accepted = accept(at, proposal, options=WriteOptions(dry_run=True))
    rejected = reject(at, proposal, options=WriteOptions(dry_run=True))
    for decision in (accepted, rejected):
        assert (decision.proposal, decision.dry_run, decision.commits, decision.closed) == (
            proposal,
            True,
            (),
            (),
        )
        decided = (*decision.accepted, *decision.rejected)
        assert [each.part.name for each in decided] == [fact_id(CELLO)]
    assert f"+- {CELLO}" in (accepted.accepted[0].result.diff or "")
    assert (at.git("for-each-ref"), at.tree_state()) == (refs, state)


def test_the_answer_of_an_acceptance(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    propose(at, fact("Linear", "Work", key="employer"))
    at.apply(fact("Apple", "Work", key="employer"))
    decision = accept(at, proposal)
    (decided,) = decision.accepted
    assert (decided.part.name, decided.result.commit) == (fact_id(CELLO), at.head())
    assert (decision.commits, decision.dry_run, decision.closed) == ((at.head(),), False, ())
    assert [(view.new, view.state) for view in decision.overtaken] == [
        ("employer: Linear", PartState.OVERTAKEN)
    ]
    assert accept(at, proposal, fact_id("employer: Linear"), anyway=True).overtaken == ()


def test_the_answer_of_a_rejection(at: Desk) -> None:
    decision = reject(at, propose(at, fact(CELLO)))
    (decided,) = decision.rejected
    result = decided.result
    assert (result.changed, result.path, result.section, result.op) == (
        True,
        "MEMORY.md",
        ("Memory", "Facts"),
        Op.REJECT,
    )
    assert (result.commit,) == decision.commits
    assert (decided.part.state, decision.dry_run) == (PartState.OPEN, False)


# What is refused, or undone as a whole.


def test_what_an_agent_may_not(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    options = WriteOptions(actor=BOT)
    refused = [
        problem(accept, at, proposal, options=options),
        problem(reject, at, proposal, options=options),
    ]
    assert [error.message for error in refused] == [
        f"bot is an agent and cannot {verb}: a person decides" for verb in ("accept", "reject")
    ]


def test_a_secret_in_a_reason(at: Desk) -> None:
    proposal, options = propose(at, fact(CELLO)), WriteOptions(reason=f"the token is {TOKEN}")
    state = at.tree_state()
    assert problem(reject, at, proposal, options=options).code == "secret-found"
    assert at.tree_state() == state


def test_parts_are_rejected_all_or_none(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    propose(at, fact(BICYCLE, "Work"))
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
    assert (decision.closed, len(decision.rejected)) == ((proposal,), 21)


@pytest.mark.parametrize(
    ("decide", "is_acceptance"),
    [
        pytest.param(accept, True, id="an acceptance"),
        pytest.param(reject, False, id="another write"),
    ],
)
def test_what_a_killed_write_left_is_done_first(
    at: Desk,
    monkeypatch: pytest.MonkeyPatch,
    decide: Callable[[Desk, str], ListDecision],
    is_acceptance: bool,
) -> None:
    proposal = propose(at, fact(CELLO))
    killed_at_the_commit(
        monkeypatch, lambda: accept(at, proposal) if is_acceptance else at.apply(fact(BICYCLE))
    )
    text = CELLO if is_acceptance else BICYCLE
    assert (text in at.read("MEMORY.md"), text in at.git("show", "HEAD:MEMORY.md")) == (True, False)
    assert decide(at, proposal).closed
    assert text in at.git("show", "HEAD:MEMORY.md")
    assert len(at.subjects()) == (2 if is_acceptance else 3)


# The branch afterwards.


def test_what_a_rejection_leaves(at: Desk) -> None:
    proposal = from_branch(
        at,
        SEED.replace("- likes tea\n- drives a Volvo\n", f"- {CELLO}\n- {BICYCLE}\n").replace(
            "harbour", "station"
        ),
    )
    old = at.world.run(
        at.root,
        ["git", "commit-tree", "HEAD^{tree}", "-m", "x"],
        environment={"GIT_COMMITTER_DATE": "1700000000 +0000"},
    )
    at.git("update-ref", f"{branches.CLOSED}0123abcd", old.stdout.strip())
    removed = ("likes tea", "drives a Volvo")
    decision = reject(at, proposal, *map(fact_id, (CELLO, BICYCLE, *removed)))
    lines = [f"- {text}" for text in (CELLO, BICYCLE)] + [f"+ {text}" for text in removed]
    assert at.git("log", "-1", "--format=%B").partition("Mdmem-")[0].split("\n") == [
        "MEMORY.md: reject Facts",
        "",
        *lines,
        "",
        "",
    ]
    assert (trailers(at)["Proposed-By"], len(trailers(at)["Rejects"]), len(decision.commits)) == (
        ["Ada Example"],
        4,
        1,
    )
    assert [part.new for part in parts(at, proposal).values() if part.state.waits] == [
        "The office is at the station."
    ]
    assert at.git("for-each-ref", "refs/mdmem/closed", "refs/mdmem/scratch") == ""


def test_all_parts_withdrawn_close_a_proposal(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    ((read,), _) = listings.read_open(at.workspace)
    at.git("switch", "-q", read.view.branch)
    assert deciding.withdraw_parts(at.workspace, read, read.parts) is False
    at.git("switch", "-q", "main")
    assert deciding.withdraw_parts(at.workspace, read, read.parts) is True
    assert (at.subjects(), list(closed(at)), listings.read_open(at.workspace)) == (
        ["seed"],
        [proposal],
        ([], ()),
    )


def test_a_branch_that_is_made_anew_says_what_its_commits_said(at: Desk) -> None:
    old, new, tea, volvo = map(
        fact_id, ("home: Oslo", "home: Bergen", "likes tea", "drives a Volvo")
    )
    provenance = Provenance(
        source=Source.AUTO, confidence=0.3, actor=BOT, session="s1", reason="said in chat"
    )
    note = CommitNote(
        op=Op.REMEMBER,
        path=FilePath("MEMORY.md"),
        section=("Memory", "Facts"),
        provenance=provenance,
    )
    taken = replace(
        note,
        supersedes=(Supersession(old, new),),
        contradicts=((new, tea),),
        cites=((new, "claude/a#1"), (new, "claude/a#2")),
        keys=((new, "home"),),
        run="digest/1",
    )
    stated = (
        replace(note, op=Op.RETRACT, retracts=(volvo,)),
        replace(note, op=Op.CONFIRM, confirms=(tea,)),
    )
    ended = replace(note, op=Op.SUPERSEDE, ended=(fact_id("employer: Stripe"),))
    text = SEED.replace("Oslo", "Bergen")
    at.git("switch", "-q", "-c", "mdmem/proposals/bot/0123abcd")
    at.write("MEMORY.md", text)
    at.commit(compose_message(taken, (SEED, text)))
    for each in (*stated, ended):
        at.commit(compose_message(each))
    at.write("MEMORY.md", text.replace("harbour", "station"))
    at.commit("by hand")
    at.git("switch", "-q", "main")
    mark_as_made(at, "0123abcd")
    (section,) = (name for name in parts(at, "0123abcd") if "@" in name)
    reject(at, "0123abcd", section)
    messages = at.git(
        "log", "--reverse", "--format=%B%x00", "HEAD..mdmem/proposals/bot/0123abcd"
    ).split("\0")
    ended = replace(ended, op=Op.RETRACT, section=("Memory", "Work"))
    named = branches.find_proposal(at.workspace, "0123abcd").id
    expected = [
        branches.with_id(message, named)
        for message in (
            compose_message(taken, (SEED, text)),
            *map(compose_message, (*stated, ended)),
        )
    ]
    assert [message.strip() for message in messages if message.strip()] == [
        message.strip() for message in expected
    ]


# Whose words are kept.


def test_the_words_of_the_decision_go_before_those_of_the_proposal(at: Desk) -> None:
    proposal = propose(at, fact(CELLO), session="s1", reason="said in chat")
    propose(at, fact(BICYCLE), session="s1", reason="said in chat")
    accept(at, proposal, fact_id(CELLO), options=WriteOptions(session="s2", reason="true"))
    assert (trailers(at)["Session"], trailers(at)["Reason"]) == (["s2"], ["true"])
    accept(at, proposal)
    assert (trailers(at)["Session"], trailers(at)["Reason"]) == (["s1"], ["said in chat"])


class TestPartsOfOneName:
    """A line of which the proposal changes a label in one section, and which it takes out of
    another.
    """

    LINE = "- likes tea"

    @pytest.fixture
    def proposal(self, at: Desk) -> str:
        at.write("MEMORY.md", f"# M\n\n## A\n\n{self.LINE}\n\n## B\n\n{self.LINE}\n")
        at.commit()
        at.git("switch", "-q", "-c", "feature")
        at.write("MEMORY.md", f"# M\n\n## A\n\n{self.LINE} #drink\n\n## B\n")
        at.commit("by hand")
        at.git("switch", "-q", "main")
        return proposing.propose_branch(at.workspace, ProposeBranch("feature"), silent).view.id

    @pytest.mark.parametrize("decide", [accept, reject])
    def test_none_is_decided_on_alone(
        self, at: Desk, proposal: str, decide: Callable[..., ListDecision]
    ) -> None:
        head = at.head
        with pytest.raises(ProposalProblem) as refused:
            decide(at, proposal, fact_id("likes tea"))
        assert refused.value.code == "ambiguous"
        assert re.search(
            r": MEMORY\.md > M > A \(\w+\), MEMORY\.md > M > B \(\w+\)$", refused.value.message
        )
        assert at.head == head

    def test_all_are_taken_together(self, at: Desk, proposal: str) -> None:
        assert len(accept(at, proposal).accepted) == 2
        assert at.read("MEMORY.md").rstrip() == f"# M\n\n## A\n\n{self.LINE} #drink\n\n## B"

    def test_all_are_rejected_together(self, at: Desk, proposal: str) -> None:
        assert len(reject(at, proposal).rejected) == 2

    def test_none_is_taken_while_another_is_overtaken(self, at: Desk, proposal: str) -> None:
        at.write("MEMORY.md", f"# M\n\n## A\n\n- likes coffee now\n\n## B\n\n{self.LINE}\n")
        at.commit()
        before = at.read("MEMORY.md")
        decision = accept(at, proposal)
        assert (decision.accepted, len(decision.overtaken)) == ((), 1)
        assert at.read("MEMORY.md") == before
