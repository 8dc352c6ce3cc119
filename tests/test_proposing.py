"""Proposals as agents, pipelines and branches make them: whose they are, how many parts they hold,
what is refused again.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from proposal_actions import (
    BOT,
    SEED,
    fact,
    killed_at_the_commit,
    parts,
    problem,
    propose,
    proposed,
    reject,
    silent,
    trailers,
)
from workspaces import TOKEN, Desk, desk

from mdmem.model import FilePath, Op, Provenance, Source
from mdmem.model.proposals import PartState, Propose, ProposeBranch
from mdmem.model.writes import Forget, Log, PipelineNote, Remember, WriteOptions
from mdmem.past.messages import CommitNote, compose_message
from mdmem.proposals import branches, listings
from mdmem.proposals.listings import Proposal
from mdmem.review import proposing
from mdmem.text.facts import fact_id

CELLO, BICYCLE, CAT = "plays the cello", "rides a bicycle", "has a cat"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


def make_branch(
    at: Desk, *files: tuple[str, str | bytes | None], message: str = "by hand", orphan: bool = False
) -> None:
    """Make the branch `feature` with other files; None where one goes."""
    at.git("switch", "-q", *(("--orphan",) if orphan else ("-c",)), "feature")
    for path, text in files:
        if text is None:
            (at.root / path).unlink()
        else:
            at.write(path, text)
    at.commit(message)
    at.git("switch", "-q", "main")


def propose_branch(at: Desk, branch: str = "feature", **fields: Any) -> Proposal:
    return proposing.propose_branch(at.workspace, ProposeBranch(branch, **fields), silent)


def pipeline(text: str, source: Source = Source.INFERRED) -> Propose:
    options = WriteOptions(
        source=source, pipeline=PipelineNote(actor="dream", run="dream/2026-03-05")
    )
    return Propose(replace(fact(text), options=options))


# Edits.


def test_the_actor_of_the_environment_proposes(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_ACTOR", BOT)
    propose(at, fact(CELLO), actor=None)
    (ref,) = branches.open_proposals(at.workspace).values()
    assert (ref.actor, trailers(at, ref.tip)["Actor"]) == (BOT, [BOT])


def test_an_answer_names_the_proposal_that_it_is_about(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    assert proposed(at, fact(CELLO)).proposal == proposal
    for done in (
        proposed(at, fact(CELLO)),
        proposed(at, fact(BICYCLE), dry_run=True),
    ):
        assert (done.proposal, done.result.commit) == (proposal, None)
    assert proposed(at, fact("likes tea")).proposal is None


def test_a_new_file_is_quoted_as_it_comes(at: Desk) -> None:
    proposal = propose(at, Log("late", day="2026-03-04", time="12:00"))
    message = at.git("log", "-1", "--format=%B", branches.find_proposal(at.workspace, proposal).tip)
    quoted = message.partition("Mdmem-")[0].split("\n")[2:-2]
    assert (quoted[0], quoted[-2:]) == ("+ # 2026-03-04", ["+ ## 12:00", "+ late"])
    assert all(line.startswith("+ ") for line in quoted)


def test_a_proposal_holds_so_many_parts(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposing, "MOST_PARTS", 2)
    proposal = propose(at, fact(CELLO))
    propose(at, Forget("likes tea"))
    for edit in (fact(CAT), Forget("drives a Volvo")):
        error = problem(proposed, at, edit)
        assert error.code == "too-many-parts"
        assert error.message == "the proposal would have 3 parts; the maximum is 2"
    reject(at, proposal, fact_id("likes tea"))
    propose(at, fact(CAT))


def test_what_was_decided_is_proposed_once_more_by_the_decision(at: Desk) -> None:
    proposal = propose(at, fact(CELLO))
    for edit in (Forget("likes tea"), fact(BICYCLE)):
        propose(at, edit)
    (commit,) = reject(at, proposal, fact_id(CELLO), fact_id("likes tea")).commits
    for edit, again in (
        (fact(CELLO), [commit]),
        (Forget("likes tea"), [commit]),
        (fact(CAT), None),
    ):
        propose(at, edit, again=True)
        assert (
            trailers(at, branches.find_proposal(at.workspace, proposal).tip).get("Again") == again
        )


def test_a_proposal_that_moves_again_and_again(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = propose(at, fact(CELLO))
    store, moves = proposing.branch_commits.store, []

    def race(*arguments: Any) -> str:
        ref = branches.find_proposal(at.workspace, proposal)
        moves.append(at.git("commit-tree", f"{ref.tip}^{{tree}}", "-p", ref.tip, "-m", "x").strip())
        at.git("update-ref", ref.name, moves[-1])
        return store(*arguments)

    monkeypatch.setattr(proposing.branch_commits, "store", race)
    monkeypatch.setattr(proposing, "_TRIES", 2)
    assert problem(proposed, at, fact(BICYCLE)).code == "busy"
    assert len(moves) == 2
    assert set(parts(at, proposal)) == {fact_id(CELLO)}


# Proposals of pipelines.


def test_a_pipelines_own_proposal_grows(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "host_name", lambda: "0a1b2c3d")
    names = {
        proposing.propose(at.workspace, pipeline(text), silent).proposal
        for text in (CELLO, BICYCLE, BICYCLE)
    }
    (ref,) = branches.open_proposals(at.workspace).values()
    assert names == {ref.id}
    assert (ref.name, len(parts(at, ref.id))) == ("refs/heads/mdmem/proposals/dream/0a1b2c3d", 2)
    monkeypatch.setattr(branches, "MOST_PROPOSALS", 1)
    assert proposing.propose(at.workspace, pipeline(CAT), silent).result.commit
    monkeypatch.setattr(branches, "host_name", lambda: "0a1b2c3e")
    assert (
        problem(proposing.propose, at.workspace, pipeline(CAT), silent).code == "too-many-proposals"
    )


# What a person rejected.


@pytest.mark.parametrize(
    ("options", "is_refused"),
    [
        (WriteOptions(source=Source.USER_STATED), False),
        (WriteOptions(), True),
        (WriteOptions(source=Source.USER_STATED, actor=BOT), True),
    ],
)
def test_who_may_propose_what_was_rejected(
    at: Desk, options: WriteOptions, is_refused: bool
) -> None:
    reject(at, propose(at, fact(CELLO)))
    request = Propose(replace(fact(CELLO), options=options))
    if not is_refused:
        assert proposing.propose(at.workspace, request, silent).proposal
        return
    error = problem(proposing.propose, at.workspace, request, silent)
    assert (error.code, error.details) == ("already-rejected", {"fact": fact_id(CELLO)})
    assert proposing.propose(at.workspace, replace(request, again=True), silent).proposal


def test_no_pipeline_speaks_for_the_user(at: Desk) -> None:
    reject(at, propose(at, fact(CELLO)))
    assert (
        problem(proposing.propose, at.workspace, pipeline(CELLO, Source.USER_STATED), silent).code
        == "already-rejected"
    )


def test_the_user_saying_nearly_the_same_opens_it_and_nothing_else_does(at: Desk) -> None:
    reject(at, propose(at, fact(CELLO)))
    users = WriteOptions(source=Source.USER_STATED)
    at.apply(replace(fact(BICYCLE), options=users))
    at.apply(fact("plays cello"))
    assert problem(proposed, at, fact(CELLO)).code == "already-rejected"
    at.apply(Forget("plays cello"))
    at.apply(replace(fact("plays the cello."), options=users))
    at.apply(Forget("plays the cello."))
    assert propose(at, fact(CELLO))


# Branches.


def test_a_proposal_of_a_branch(at: Desk) -> None:
    make_branch(at, ("MEMORY.md", f"{SEED}- {CELLO}\n"))
    made = propose_branch(at, actor=BOT, session="s1", reason="read it")
    assert at.git("for-each-ref", "--format=%(refname)", "refs/mdmem/scratch") == ""
    assert listings.read_open(at.workspace) == ([made], ())
    assert (made.view.actor, made.view.reason, [part.new for part in made.view.parts]) == (
        BOT,
        "read it",
        [CELLO],
    )
    stated = trailers(at, made.ref.tip)
    assert (stated["Op"], stated["Actor"], stated["Session"], stated["Reason"]) == (
        ["propose"],
        [BOT],
        ["s1"],
        ["read it"],
    )
    assert at.git("rev-parse", "feature") == at.git("rev-parse", f"{made.ref.tip}^")


def test_a_branch_is_its_authors(at: Desk) -> None:
    note = CommitNote(
        op=Op.REMEMBER, path=FilePath("MEMORY.md"), section=(), provenance=Provenance(actor=BOT)
    )
    make_branch(at, ("MEMORY.md", f"{SEED}- {CELLO}\n"), message=compose_message(note))
    made = propose_branch(at)
    assert (made.ref.actor, made.view.actor) == ("Ada-Example", "Ada Example")
    assert "Actor" not in trailers(at, made.ref.tip)
    assert listings.read_open(at.workspace) == ([made], ())


def test_a_branch_of_a_remote_and_one_that_is_not_there(at: Desk) -> None:
    make_branch(at, ("MEMORY.md", f"{SEED}- {CELLO}\n"))
    at.git("update-ref", "refs/remotes/origin/theirs", "feature")
    at.git("tag", "feature", "HEAD")
    error = problem(propose_branch, at, "theirs")
    assert (error.code, error.message) == ("proposal-not-found", "no branch 'theirs'")
    assert [part.new for part in propose_branch(at, "origin/theirs").view.parts] == [CELLO]
    assert [part.new for part in propose_branch(at).view.parts] == [CELLO]
    assert problem(propose_branch, at, "main").code == "nothing-to-propose"


def test_a_branch_that_began_with_nothing(at: Desk) -> None:
    make_branch(at, ("MEMORY.md", f"{SEED}- {CELLO}\n"), orphan=True)
    made = propose_branch(at)
    assert (
        made.view.base,
        [part.new for part in made.view.parts if part.state is PartState.OPEN],
    ) == (None, [CELLO])


def test_a_branch_of_too_many_parts(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    make_branch(at, ("MEMORY.md", f"{SEED}- {CELLO}\n- {BICYCLE}\n"))
    monkeypatch.setattr(proposing, "MOST_PARTS", 1)
    assert problem(propose_branch, at).code == "too-many-parts"
    monkeypatch.setattr(proposing, "MOST_PARTS", 2)
    assert len(propose_branch(at).view.parts) == 2


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        (f"{SEED}- {CELLO}\n", fact(CELLO, "Work")),
        (SEED.replace("- likes tea\n", ""), Forget("likes tea")),
    ],
)
def test_a_branch_with_what_was_rejected(at: Desk, text: str, edit: Remember | Forget) -> None:
    make_branch(at, ("MEMORY.md", text))
    reject(at, propose(at, edit))
    assert problem(propose_branch, at).code == "already-rejected"
    assert propose_branch(at, again=True).view.waits


def test_a_branch_is_proposed_after_what_a_killed_write_left(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_branch(at, ("MEMORY.md", f"{SEED}- {CELLO}\n"))
    killed_at_the_commit(monkeypatch, lambda: at.apply(fact(BICYCLE)))
    propose_branch(at)
    assert BICYCLE in at.git("show", "HEAD:MEMORY.md")


def test_two_that_propose_a_branch_at_once(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    make_branch(at, ("MEMORY.md", f"{SEED}- {CELLO}\n"))
    make = proposing.branch_commits.make_own_commit

    def race(repository: Any, name: str, *arguments: Any, **fields: Any) -> str:
        _, branch = branches.new_branch(at.workspace, "Ada Example", "feature\0None\0None", ())
        at.git("branch", branch.removeprefix("refs/heads/"), "feature")
        return make(repository, name, *arguments, **fields)

    monkeypatch.setattr(proposing.branch_commits, "make_own_commit", race)
    assert problem(propose_branch, at).code == "busy"


# The check of a branch.


def test_what_stands_already_may_stay(at: Desk) -> None:
    standing = f"{SEED}- the token is {TOKEN}\n- a <mdmem-context> b\n"
    at.write("MEMORY.md", standing)
    at.commit()
    make_branch(at, ("MEMORY.md", f"{standing}- {CELLO}\n"))
    assert [part.new for part in propose_branch(at).view.parts] == [CELLO]


def test_a_file_that_goes_hides_no_other(at: Desk) -> None:
    make_branch(at, ("MEMORY.md", None), ("memory/a.md", f"# A\n\n- the token is {TOKEN}\n"))
    assert problem(propose_branch, at).code == "secret-found"
    assert propose_branch(at, allow=frozenset({"secret"})).view.waits


def test_a_secret_in_the_reason_of_a_branch(at: Desk) -> None:
    make_branch(at, ("MEMORY.md", f"{SEED}- {CELLO}\n"))
    assert problem(propose_branch, at, reason=f"the token is {TOKEN}").code == "secret-found"


def test_a_branch_may_shrink_a_file_and_change_a_log(at: Desk) -> None:
    lines = "".join(f"- keeps {number} bees\n" for number in range(50))
    log = "# 2026-03-04\n\n## 09:00\n\n- early\n"
    at.write("memory/a.md", f"# A\n\n{lines}")
    at.write("memory/2026-03-04.md", log)
    at.commit()
    make_branch(
        at,
        ("memory/a.md", "# A\n\n- keeps bees\n"),
        ("memory/2026-03-04.md", log.replace("early", "late")),
    )
    assert propose_branch(at).view.waits


def test_a_file_that_is_no_text_any_more(at: Desk) -> None:
    note = CommitNote(
        op=Op.CONFIRM,
        path=FilePath("MEMORY.md"),
        section=(),
        provenance=Provenance(),
        confirms=(fact_id("likes tea"),),
    )
    at.git("switch", "-q", "-c", "feature")
    at.commit(compose_message(note))
    at.write("MEMORY.md", b"# Memory\n\xff\n")
    at.commit("by hand")
    at.git("switch", "-q", "main")
    assert problem(propose_branch, at).code == "not-utf8"
