"""Proposals in a repository: proposed by an agent, overtaken, accepted in part, rejected, proposed again, said anew; merged by plain git."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import TOKEN, Desk, desk

from mdmem.catchup import trail_update
from mdmem.changes import deciding, proposing
from mdmem.errors import MdmemError
from mdmem.facts import fact_id
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.proposals import Accept, Decision, PartOp, PartState, PartView, Propose, ProposeBranch, ProposedWrite, Reject
from mdmem.model.reads import Waiting
from mdmem.model.searches import Search
from mdmem.model.writes import Action, EditSection, Forget, Log, Remember, WriteOptions
from mdmem.proposals import branch_changes, branches, reading
from mdmem.repo import branch_commits, worktree
from mdmem.repo.branch_commits import list_refs
from mdmem.show.formatting import waiting_line

SEED = "# Memory\n\n## Facts\n\n- home: Oslo\n- likes tea\n- drives a Volvo\n\n## Work\n\nThe office is at the harbour.\n\n- employer: Stripe\n"
BOT = "bot"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


def silent(_: str) -> None:
    pass


def propose(at: Desk, edit: EditSection | Log | Remember | Forget, to: str | None = None, again: bool = False, **options: object) -> str:
    return proposed(at, edit, to, again, **options).proposal or ""


def proposed(
    at: Desk, edit: EditSection | Log | Remember | Forget, to: str | None = None, again: bool = False, **options: object
) -> ProposedWrite:
    given = replace(edit, options=WriteOptions(**{"actor": BOT, **options}))
    return proposing.propose(at.workspace, Propose(given, to, again), silent)


def fact(text: str, section: str = "Facts", key: str | None = None) -> Remember:
    return Remember(text, section=section, key=key)


def parts(at: Desk, proposal: str) -> dict[str, PartView]:
    (read,) = reading.read_proposals(at.workspace, [branches.find_proposal(at.workspace.repository, proposal)])
    return {part.name: part for part in read.view.parts}


def accept(at: Desk, proposal: str, *names: str, **fields: object) -> Decision:
    return deciding.accept(at.workspace, Accept(proposal, tuple(names), **fields), silent)


def reject(at: Desk, proposal: str, *names: str) -> Decision:
    return deciding.reject(at.workspace, Reject(proposal, tuple(names)), silent)


def closed(at: Desk) -> dict[str, str]:
    return {name.removeprefix(branches.CLOSED): commit for name, commit in list_refs(at.workspace.repository, branches.CLOSED).items()}


def trailers(at: Desk, commit: str = "HEAD") -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for line in at.git("log", "-1", "--format=%B", commit).splitlines():
        if match := re.fullmatch(r"Mdmem-([\w-]+): (.*)", line):
            values.setdefault(match[1], []).append(match[2])
    return values


def problem(work: object, *arguments: object, **fields: object) -> MdmemError:
    with pytest.raises(MdmemError) as caught:
        work(*arguments, **fields)  # type: ignore[operator]
    return caught.value


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
    branch = f"mdmem/proposals/bot/{done.proposal}"
    assert at.git("rev-parse", branch).strip() == done.result.commit
    assert at.git("rev-parse", f"{branch}^") == at.git("rev-parse", "HEAD")
    assert at.git("diff", "--stat", "HEAD", branch).count("|") == 1
    stated = trailers(at, branch)
    assert stated["Op"] == ["remember"]
    assert stated["Actor"] == [BOT]
    assert stated["Session"] == ["s1"]
    assert stated["Reason"] == ["said in chat"]
    assert stated["Supersedes"] == [f"{fact_id('employer: Stripe')} {fact_id('employer: Linear')}"]
    assert at.git("for-each-ref", "refs/mdmem") == ""


def test_what_is_proposed_on_top_is_planned_on_the_proposals_text(at: Desk) -> None:
    one = propose(at, fact("plays the cello"))
    assert proposed(at, fact("plays the cello"), to=one).result.changed is False
    assert proposed(at, Forget("plays the cello"), to=one).result.removed == (fact_id("plays the cello"),)
    assert problem(proposed, at, Forget("plays the cello")).code == "fact-not-found"
    assert parts(at, one) == {}


def test_a_command_that_is_sent_again_proposes_nothing_more(at: Desk) -> None:
    first = proposed(at, fact("plays the cello"), reason="said in chat")
    at.apply(fact("has a dog"))
    again = proposed(at, fact("plays the cello"), reason="said in chat")
    assert (again.result.changed, again.result.commit, again.proposal) == (False, None, first.proposal)
    assert proposed(at, fact("plays the cello"), actor="other").proposal != first.proposal
    reject(at, first.proposal or "")
    assert proposed(at, fact("plays the cello"), reason="said in chat", again=True).proposal != first.proposal


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
def test_a_proposal_is_refused_as_the_verb_itself_would_be(at: Desk, edit: EditSection | Remember | Forget, code: str) -> None:
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
        name = branches.find_proposal(at.workspace.repository, proposal).name
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
    assert problem(proposed, Desk(world, folder), fact("plays the cello")).code == "nothing-committed"


# Reading.


def test_parts_tell_what_goes_what_comes_and_what_stands_there(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"), reason="said in chat")
    propose(at, fact("plays the cello"), to=proposal)
    propose(at, Forget("likes tea"), to=proposal)
    propose(at, EditSection("Work", Action.REPLACE, "harbour", "station"), to=proposal)
    propose(at, Log("met Ada", day="2026-03-04", time="10:00"), to=proposal)
    read = parts(at, proposal)
    assert {part.op for part in read.values()} == {PartOp.UPDATE, PartOp.ADD, PartOp.DELETE, PartOp.SECTION}
    update = read[fact_id("employer: Linear")]
    assert (update.old, update.new, update.standing) == ("employer: Stripe", "employer: Linear", "employer: Stripe")
    assert (update.section, update.origin.reason, update.state) == (("Memory", "Work"), "said in chat", PartState.OPEN)
    gone = read[fact_id("likes tea")]
    assert (gone.old, gone.new) == ("likes tea", None)
    (section,) = [part for part in read.values() if part.op is PartOp.SECTION]
    assert section.name.startswith("Memory > Work@")
    assert section.new == "The office is at the station."
    assert read[fact_id("met Ada")].path == "memory/2026-03-04.md"


def test_duplicates_and_contradictions_are_told(at: Desk) -> None:
    proposal = propose(at, Remember("likes tea", section="Work"))
    propose(at, Remember("employer: Linear", section="Work", also=True), to=proposal)
    read = parts(at, proposal)
    assert read[fact_id("likes tea")].duplicate_of == fact_id("likes tea")
    assert read[fact_id("employer: Linear")].contradicts == fact_id("employer: Stripe")


def test_what_is_proposed_is_no_memory(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    memory = Memory(at.workspace)
    assert memory.search(Search("cello")).hits == ()
    (hit,) = memory.proposals.search("cellos", 8)
    assert (hit.proposal, hit.part.new) == (proposal, "plays the cello")


# Deciding.


def test_accepting_is_a_commit_a_part_by_the_person(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"), source=Source.USER_STATED, reason="said in chat")
    propose(at, fact("plays the cello"), to=proposal, source=Source.AUTO, confidence=0.3)
    head = at.git("rev-parse", "HEAD").strip()
    decision = accept(at, proposal)
    assert len(decision.commits) == 2
    assert decision.closed
    assert at.git("rev-parse", "HEAD~2").strip() == head
    assert at.read("MEMORY.md") == SEED.replace("Stripe", "Linear").replace("- drives a Volvo\n", "- drives a Volvo\n- plays the cello\n")
    stated = {trailers(at, commit)["Accepts"][0].split()[1]: trailers(at, commit) for commit in decision.commits}
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
    assert branches.standing_proposals(at.workspace.repository) == {}
    assert list(closed(at)) == [proposal]
    assert at.git("status", "--porcelain") == ""


def test_a_person_vouches_or_says_it_in_their_own_words(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"), source=Source.AUTO)
    propose(at, fact("plays the cello"), to=proposal, source=Source.AUTO)
    accept(at, proposal, fact_id("employer: Linear"), vouch=True)
    assert (trailers(at)["Source"], trailers(at)["Confidence"]) == (["user-stated"], ["0.95"])
    edited = ((fact_id("plays the cello"), "plays the viola #music"),)
    decision = accept(at, proposal, edited=edited)
    assert trailers(at)["Source"] == ["user-stated"]
    assert decision.closed
    assert "- plays the viola #music\n" in at.read("MEMORY.md")
    assert "cello" not in at.read("MEMORY.md")
    with trail_update.fresh_trail(at.workspace) as trail:
        (occurrence,) = trail.occurrences_of(fact_id("plays the viola"))
    assert occurrence.origin.source is Source.USER_STATED
    assert occurrence.origin.claimed_by is None


def test_an_update_supersedes_whatever_the_sources(at: Desk) -> None:
    at.apply(Remember("Apple", section="Work", key="employer", options=WriteOptions(source=Source.USER_STATED)))
    proposal = propose(at, fact("Linear", "Work", key="employer"), source=Source.AUTO)
    accept(at, proposal)
    assert "employer: Linear" in at.read("MEMORY.md")
    assert "Apple" not in at.read("MEMORY.md")
    with trail_update.fresh_trail(at.workspace) as trail:
        assert trail.occurrences_of(fact_id("employer: Apple"))[-1].successor == fact_id("employer: Linear")


def test_an_agent_decides_nothing(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    state = at.tree_state()
    for work in (
        lambda: deciding.accept(at.workspace, Accept(proposal, options=WriteOptions(actor="other")), silent),
        lambda: deciding.reject(at.workspace, Reject(proposal, options=WriteOptions(actor=BOT)), silent),
    ):
        assert problem(work).code == "not-allowed"
    assert at.tree_state() == state
    assert parts(at, proposal)


def test_what_does_not_touch_a_part_does_not_matter(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, fact("plays the cello"), to=proposal)
    at.write("MEMORY.md", "# Memory\n\nA preface.\n\n## Work\n\n- employer: Stripe #pay\n\n## Facts\n\n- likes tea\n- has a dog\n")
    at.commit()
    assert {part.state for part in parts(at, proposal).values()} == {PartState.OPEN}
    accept(at, proposal)
    assert at.read("MEMORY.md") == (
        "# Memory\n\nA preface.\n\n## Work\n\n- employer: Linear #pay\n\n## Facts\n\n- likes tea\n- has a dog\n- plays the cello\n"
    )


def test_a_part_follows_the_heading_it_stands_under(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, fact("rides a bicycle", "Work"), to=proposal)
    at.apply(EditSection("Work", Action.RENAME, "Job"))
    accept(at, proposal)
    assert "## Job\n\nThe office is at the harbour.\n\n- employer: Linear\n- rides a bicycle\n" in at.read("MEMORY.md")


def test_an_overtaken_part_is_taken_by_its_name_alone(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, fact("plays the cello"), to=proposal)
    at.apply(Remember("Apple", section="Work", key="employer"))
    name = fact_id("employer: Linear")
    part = parts(at, proposal)[name]
    assert (part.state, part.standing) == (PartState.OVERTAKEN, "employer: Apple")
    decision = accept(at, proposal)
    assert [view.name for view in decision.overtaken] == [name]
    assert not decision.closed
    assert "employer: Apple" in at.read("MEMORY.md")
    decision = accept(at, proposal, name[:6])
    assert decision.closed
    assert "employer: Linear" in at.read("MEMORY.md")
    assert "Apple" not in at.read("MEMORY.md")
    assert trailers(at)["Supersedes"] == [f"{fact_id('employer: Apple')} {name}"]


def test_a_part_that_only_the_merge_shows_to_be_overtaken_is_left_out(at: Desk) -> None:
    """A line that comes to stand twice, where its first one has become another."""
    text = "# M\n\n## A\n\n- l: green\n- k: red\n\n## B\n\n- k: red\n- l: green\n"
    at.write("MEMORY.md", text)
    at.commit()
    at.git("switch", "-q", "-c", "feature")
    at.write("MEMORY.md", text.replace("## B\n\n", "## B\n\n- k: red #x\n") + "- plays the cello\n")
    at.commit("by hand")
    at.git("switch", "-q", "main")
    at.write("MEMORY.md", text.replace("## B\n\n- k: red\n", "## B\n\n- red #y\n"))
    at.commit()
    view = proposing.propose_branch(at.workspace, ProposeBranch("feature"), silent).view
    assert fact_id("k: red") in [part.name for part in view.in_state(PartState.OPEN)]
    accept(at, view.id)
    assert "- plays the cello\n" in at.read("MEMORY.md")
    assert "- red #y\n" in at.read("MEMORY.md")


def test_a_new_value_of_a_key_overtakes_one_that_is_proposed(at: Desk) -> None:
    proposal = propose(at, fact("cello", key="instrument"))
    at.apply(fact("viola", key="instrument"))
    (part,) = parts(at, proposal).values()
    assert (part.state, part.standing) == (PartState.OVERTAKEN, "instrument: viola")
    accept(at, proposal, part.name)
    assert "instrument: cello" in at.read("MEMORY.md")
    assert "viola" not in at.read("MEMORY.md")


def test_what_stands_already_is_not_open(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    propose(at, Forget("likes tea"), to=proposal)
    at.apply(fact("plays the cello"))
    at.apply(Forget("likes tea"))
    assert {part.state for part in parts(at, proposal).values()} == {PartState.ACCEPTED}
    assert [view.waits for view in Memory(at.workspace).proposals.standing()] == [False]


def test_parts_are_taken_all_or_none(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"), to=proposal)
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
    text = SEED.replace("harbour", "station").replace("## Facts", "## Things") + "\n## New\n\nSome words.\n\n- a fact in it\n"
    at.write("MEMORY.md", text)
    at.commit("by hand")
    at.git("switch", "-q", "main")
    at.apply(fact("has a dog"))
    view = proposing.propose_branch(at.workspace, ProposeBranch("feature", "why not"), silent).view
    assert {part.state for part in view.parts} == {PartState.OPEN}
    accept(at, view.id)
    assert at.read("MEMORY.md") == text.replace("- drives a Volvo\n", "- drives a Volvo\n- has a dog\n")


def test_prose_is_taken_with_its_paragraphs(at: Desk) -> None:
    text = "First.\n\n    code one\n\n    code two\n\nLast."
    proposal = propose(at, EditSection("New", Action.BODY, text, create=True))
    propose(at, EditSection("Work", Action.BODY, f"{text}\n\n- employer: Stripe"), to=proposal)
    assert {part.new for part in parts(at, proposal).values()} == {text}
    accept(at, proposal)
    assert at.read("MEMORY.md") == f"{SEED.replace('The office is at the harbour.', text)}\n## New\n\n{text}\n"


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
    propose(at, Forget("early"), to=proposal)
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
    propose(at, Remember("two", file="memory/a.md", section="A"), to=proposal)
    (at.root / "MEMORY.md").write_bytes(b"# Memory\n\n\xff\n")
    assert accept(at, proposal, fact_id("two")).closed is False
    for decide in (accept, reject):
        assert problem(decide, at, proposal).code == "unsupported-file"
        assert problem(decide, at, proposal, fact_id("plays the cello")).code == "unsupported-file"
    at.write("MEMORY.md", SEED)
    assert [part.state for part in parts(at, proposal).values() if part.new == "plays the cello"] == [PartState.OPEN]
    assert accept(at, proposal).closed
    assert "cello" in at.read("MEMORY.md")


# Rejecting.


def test_a_rejected_part_leaves_the_branch_and_an_empty_commit_says_so(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"), to=proposal)
    propose(at, fact("Linear", "Work", key="employer"), to=proposal)
    name = fact_id("rides a bicycle")
    decision = reject(at, proposal, name)
    assert trailers(at)["Rejects"] == [f"{proposal} {name}"]
    assert trailers(at)["Op"] == ["reject"]
    assert at.git("diff", "--stat", "HEAD~1", "HEAD") == ""
    assert not decision.closed
    branch = branches.find_proposal(at.workspace.repository, proposal).tip
    assert "bicycle" not in at.git("show", f"{branch}:MEMORY.md")
    assert at.git("log", "--format=%s", f"HEAD..{branch}").splitlines() == ["MEMORY.md: remember Work", "MEMORY.md: remember Facts"]
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


def test_a_rejected_text_comes_back_by_force_or_when_the_user_says_it(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    reject(at, proposal)
    assert list(closed(at)) == [proposal]
    assert branches.standing_proposals(at.workspace.repository) == {}
    assert problem(proposed, at, fact("plays the cello")).code == "already-rejected"
    assert problem(proposed, at, fact("Plays  the cello", "Work")).code == "already-rejected"
    assert problem(proposed, at, fact("plays the cello"), source=Source.USER_STATED).code == "already-rejected"
    again = propose(at, fact("plays the cello"), again=True)
    reject(at, again)
    assert propose(at, fact("plays the cello"), source=Source.USER_STATED, actor=None)


def test_the_user_saying_it_anew_opens_what_was_rejected(at: Desk) -> None:
    reject(at, propose(at, fact("plays the cello")))
    at.apply(replace(fact("plays the cello"), options=WriteOptions(source=Source.USER_STATED, actor=BOT)))
    at.apply(Forget("plays the cello"))
    assert problem(proposed, at, fact("plays the cello")).code == "already-rejected"
    at.apply(replace(fact("plays the cello"), options=WriteOptions(source=Source.USER_STATED)))
    at.apply(Forget("plays the cello"))
    assert propose(at, fact("plays the cello"))


def test_a_rejected_removal_keeps_nobody_from_saying_it(at: Desk) -> None:
    reject(at, propose(at, Forget("likes tea")))
    assert problem(proposed, at, Forget("likes tea")).code == "already-rejected"
    assert propose(at, Remember("likes tea", section="Work"))


def test_a_closed_proposal_can_be_looked_up_for_a_while(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = propose(at, fact("plays the cello"))
    reject(at, proposal)
    assert "cello" in at.git("show", f"refs/mdmem/closed/{proposal}:MEMORY.md")
    error = problem(accept, at, proposal)
    assert error.code == "proposal-not-found"
    assert f"refs/mdmem/closed/{proposal}" in error.hint
    branches.drop_old(at.workspace.repository)
    assert list(closed(at)) == [proposal]
    monkeypatch.setattr(branches.time, "time", lambda: at.root.stat().st_mtime + 91 * 86_400)
    branches.drop_old(at.workspace.repository)
    assert closed(at) == {}


# Merges, forges, clones.


def test_a_plain_merge_leaves_nothing_open(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, fact("plays the cello"), to=proposal)
    at.commit("something else")
    branch = branches.find_proposal(at.workspace.repository, proposal).tip
    at.git("merge", "-q", "--no-edit", branch)
    assert Memory(at.workspace).proposals.standing() == ()
    decision = accept(at, proposal)
    assert (decision.parts, decision.closed) == ((), True)
    assert branches.standing_proposals(at.workspace.repository) == {}


def test_a_squash_of_a_forge_leaves_nothing_open(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, Forget("likes tea"), to=proposal)
    at.git("merge", "-q", "--squash", branches.find_proposal(at.workspace.repository, proposal).tip)
    at.git("commit", "-q", "-m", "squashed")
    assert [view.waits for view in Memory(at.workspace).proposals.standing()] == [False]
    assert accept(at, proposal).closed


def test_two_agents_at_once_lose_nothing(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = propose(at, fact("plays the cello"))
    store = proposing.branch_commits.store
    raced: list[str] = []

    def race(*arguments: object) -> str:
        if not raced:
            raced.append("once")
            ref = branches.find_proposal(at.workspace.repository, proposal)
            at.git("update-ref", ref.name, at.git("commit-tree", f"{ref.tip}^{{tree}}", "-p", ref.tip, "-m", "x").strip())
        return store(*arguments)  # type: ignore[arg-type]

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


# Once more.


def test_a_part_that_was_decided_can_be_proposed_to_the_same_once_more(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"), to=proposal)
    name = fact_id("rides a bicycle")
    for _ in range(2):
        commit = reject(at, proposal, name).commits[0]
        assert parts(at, proposal)[name].state is PartState.REJECTED
        propose(at, fact("rides a bicycle"), to=proposal, again=True)
        assert trailers(at, branches.find_proposal(at.workspace.repository, proposal).tip)["Again"] == [commit]
        assert parts(at, proposal)[name].state is PartState.OPEN
    accept(at, proposal, name)
    assert "bicycle" in at.read("MEMORY.md")


def test_a_machines_proposal_begins_again_under_its_name(at: Desk) -> None:
    """One id stands for a machine for good, however often all of it was decided."""
    for number in range(2):
        proposal = propose(at, fact(f"plays {number} cellos"), again=True)
        ref = branches.find_proposal(at.workspace.repository, proposal)
        at.git("branch", "-m", ref.name.removeprefix("refs/heads/"), "mdmem/proposals/dream/0a1b2c3d")
        accept(at, "0a1b2c3d")
        assert list(closed(at)) == ["0a1b2c3d"]
    assert at.read("MEMORY.md").count("cellos") == 2


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
    assert [view.id for view in Memory(first.workspace).proposals.standing()] == [mine]
    assert [view.id for view in Memory(second.workspace).proposals.standing()] == [theirs]
    assert not accept(first, theirs).closed
    assert accept(second, theirs).closed
    assert "bicycle" in second.read("MEMORY.md")
    assert "bicycle" not in first.read("MEMORY.md")


# What waits.


def test_status_and_review_say_how_many_wait_and_since_when(at: Desk) -> None:
    memory = Memory(at.workspace)
    assert memory.status().waiting == Waiting()
    first = propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"), to=first)
    propose(at, Forget("likes tea"))
    at.git("branch", "mdmem/proposals/bot/0123abcd")
    oldest = at.workspace.local_time(int(at.git("log", "-1", "--format=%at", f"mdmem/proposals/bot/{first}~1")))
    assert memory.status().waiting == memory.review().waiting == Waiting(2, oldest)
    assert waiting_line(memory.status().waiting) == f"2 proposals, the oldest of {oldest.date()}"
    at.git("merge", "-q", f"mdmem/proposals/bot/{first}")
    assert memory.status().waiting.proposals == 1


def test_many_are_read_by_as_many_processes_as_few(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    run, counts = branch_commits.run, []

    def counted(*arguments: Any, **named: Any) -> Any:
        counts[-1] += 1
        return run(*arguments, **named)

    for module in (branch_commits, worktree):
        monkeypatch.setattr(module, "run", counted)
    for number in range(6):
        counts.append(0)
        propose(at, fact(f"has {number} cats"))
        counts.append(0)
        assert len(Memory(at.workspace).proposals.standing()) == number + 1
        counts.append(0)
        assert branch_changes.waiting(at.workspace).proposals == number + 1
    assert len(set(counts[4::3])) == len(set(counts[5::3])) == 1
    assert max(counts[5::3]) <= 5
