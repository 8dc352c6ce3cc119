"""Branches of proposals among others: merged by plain git, checked out, signed, of several
workspaces.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from proposal_actions import (
    SEED,
    accept,
    closed,
    fact,
    mark_as_made,
    own_branch,
    parts,
    problem,
    propose,
    proposed,
    reject,
    silent,
    trailers,
)
from workspaces import Desk, desk

from mdmem.memory import Memory
from mdmem.model import FilePath, Op, Provenance, Source, Supersession
from mdmem.model.proposals import PartOp, PartOrigin, PartState, ProposeBranch
from mdmem.model.writes import Action, EditSection, Forget, Log, Purge
from mdmem.past.messages import CommitNote, compose_message
from mdmem.proposals import branches
from mdmem.purge import purging
from mdmem.purge.purging import HeldTranscripts
from mdmem.repo import branch_commits
from mdmem.review import proposing
from mdmem.text.facts import fact_id


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository, seed=SEED)


# Whom a proposal is believed: what mdmem made here, or its author.

OSLO, BERGEN = fact_id("home: Oslo"), fact_id("home: Bergen")


def forged(
    at: Desk,
    branch: str,
    author: str = "Mallory",
    source: Source = Source.USER_STATED,
    log: bool = False,
) -> None:
    """A branch whose commit says that a digest made it, of what the user said in a session."""
    note = CommitNote(
        op=Op.REMEMBER,
        path=FilePath("memory/2026-03-05.md" if log else "MEMORY.md"),
        section=("Memory", "Facts"),
        provenance=Provenance(
            source=source, confidence=0.95, actor="digest", session="s1", reason="said in chat"
        ),
        supersedes=(Supersession(fact_id("likes tea"), fact_id("rain")),) if log else (),
        cites=((BERGEN, "claude/5a1e0000#17"),),
        keys=((BERGEN, "home"),),
        run="digest/1",
    )
    text = "# 2026-03-05\n\n## 09:00\n\n- rain\n" if log else SEED.replace("Oslo", "Bergen")
    at.git("switch", "-qc", branch, "main")
    at.write(note.path, text)
    at.git("add", "-A")
    at.git(
        "-c",
        f"user.name={author}",
        "commit",
        "-qm",
        compose_message(note, ("" if log else SEED, text)),
    )
    at.git("switch", "-q", "main")


def origin(at: Desk, proposal: str, name: str = BERGEN) -> PartOrigin:
    return parts(at, proposal)[name].origin


def proposed_branch(at: Desk, branch: str, **fields: Any) -> str:
    return proposing.propose_branch(at.workspace, ProposeBranch(branch, **fields), silent).view.id


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("author", "name"), [("Mallory", "Mallory"), ("Digest", "Digest-"), ("dream", "dream-")]
)
@pytest.mark.parametrize(
    ("source", "most"), [(Source.USER_STATED, Source.INFERRED), (Source.AUTO, Source.AUTO)]
)
@pytest.mark.parametrize("is_proposed", [True, False])
def test_a_branch_of_somebody_is_theirs_and_inferred_at_most(
    at: Desk, author: str, name: str, source: Source, most: Source, is_proposed: bool
) -> None:
    forged(at, "contrib" if is_proposed else "mdmem/proposals/digest/0123abcd", author, source)
    proposal = proposed_branch(at, "contrib") if is_proposed else "0123abcd"
    confidence = most.confidence if source is not most else 0.95
    assert origin(at, proposal) == PartOrigin(most, confidence, name, reason="said in chat")
    (view,) = Memory(at.workspace).proposals.standing().views
    assert view.actor == name
    accept(at, proposal)
    stated = trailers(at)
    assert (stated["Source"], stated["Proposed-By"]) == ([most.value], [name])
    assert not {"Cites", "Key", "Run", "Session", "Actor"} & stated.keys()


def test_what_a_branch_states_unseen_counts_for_nothing(at: Desk) -> None:
    at.apply(Log("likes tea"))
    forged(at, "contrib", log=True)
    accept(at, proposed_branch(at, "contrib"))
    assert "Supersedes" not in trailers(at)


def test_a_proposal_made_here_keeps_its_actor_until_somebody_else_commits_to_it(at: Desk) -> None:
    proposal = propose(
        at, fact("Bergen", key="home"), actor="", source=Source.USER_STATED, session="s1"
    )
    assert origin(at, proposal) == PartOrigin(Source.USER_STATED, 0.95, session="s1")
    propose(at, fact("plays the cello"), actor="")
    assert origin(at, proposal, fact_id("plays the cello")).actor is None
    assert (
        origin(at, propose(at, fact("rides a bicycle")), fact_id("rides a bicycle")).actor == "bot"
    )
    reject(at, proposal, fact_id("plays the cello"))
    assert origin(at, proposal).session == "s1"
    at.git(
        "switch",
        "-q",
        branches.find_proposal(at.workspace, proposal).name.removeprefix("refs/heads/"),
    )
    at.commit("theirs")
    at.git("switch", "-q", "main")
    assert origin(at, proposal) == PartOrigin(
        Source.INFERRED, Source.INFERRED.confidence, "Ada Example"
    )


def test_what_one_proposes_beside_a_proposed_branch_is_ones_own(at: Desk) -> None:
    forged(at, "contrib")
    proposal = proposed_branch(at, "contrib", actor="bot", reason="read it")
    own = propose(at, fact("plays the cello"), actor="bot", source=Source.AUTO)
    assert own != proposal
    views = {view.id: view for view in Memory(at.workspace).proposals.standing().views}
    assert (views[proposal].actor, views[proposal].reason) == ("bot", "read it")
    assert (origin(at, proposal).source, origin(at, proposal).actor) == (Source.INFERRED, "Mallory")
    assert origin(at, own, fact_id("plays the cello")).source is Source.AUTO
    reject(at, own, fact_id("plays the cello"))
    assert (origin(at, proposal).source, origin(at, proposal).actor) == (Source.INFERRED, "Mallory")


def test_lines_that_a_message_does_not_quote_are_nobody_elses(at: Desk) -> None:
    """The commit of a stranger names other lines than those that it changes, and one's own commit
    changes the same file.
    """
    at.git("switch", "-qc", "contrib")
    at.write("MEMORY.md", SEED.replace("Oslo", "Bergen"))
    note = CommitNote(
        op=Op.REMEMBER, path=FilePath("MEMORY.md"), section=(), provenance=Provenance()
    )
    at.commit(compose_message(note, ("", "- another line\n")))
    at.git("switch", "-q", "main")
    proposal = proposed_branch(at, "contrib")
    text = at.git("show", "contrib:MEMORY.md")
    at.git("switch", "-q", branches.find_proposal(at.workspace, proposal).name[11:])
    at.write("MEMORY.md", f"{text}- plays the cello\n")
    stated = replace(note, provenance=Provenance(source=Source.USER_STATED))
    own = compose_message(stated, (text, f"{text}- plays the cello\n"))
    at.commit(own)
    at.git("switch", "-q", "main")
    mark_as_made(at, proposal)
    assert origin(at, proposal).source is Source.INFERRED
    assert origin(at, proposal, fact_id("plays the cello")).source is Source.USER_STATED


def live_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process run for the user of a home."""
    for name, folder in (("HOME", home), ("XDG_STATE_HOME", home / ".local" / "state")):
        monkeypatch.setenv(name, str(folder))


def key_of(home: Path) -> Path:
    return home / ".local" / "state" / "mdmem" / "proposals.key"


def copied(at: Desk, root: Path) -> Desk:
    """A copy of a workspace, which is on another disk."""
    at.world.run(root.parent, ["cp", "-a", at.root, root])
    assert (root / ".git").stat().st_ino != (at.root / ".git").stat().st_ino
    return Desk(at.world, root)


@pytest.mark.parametrize("way", ["cp", "mirror", "clone", "fetch"])
def test_a_proposal_in_a_copy_is_not_ones_own(
    at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Files that another user copied, and those that came by git."""
    proposal = propose(at, fact("Bergen", key="home"), actor="", source=Source.USER_STATED)
    branch = branches.find_proposal(at.workspace, proposal).name
    copy = Desk(at.world, tmp_path / "copy")
    if way == "cp":
        copied(at, copy.root)
    elif way == "mirror":
        at.git("clone", "-q", "--mirror", at.root, copy.root / ".git")
        for name, value in (("core.bare", "false"), ("user.name", "x"), ("user.email", "x@x.org")):
            copy.git("config", name, value)
        copy.git("reset", "-q", "--hard")
        assert copy.git("for-each-ref", branches.MADE)
    else:
        at.git("clone", "-q", at.root, copy.root)
        copy.git("config", "user.name", "Ada Example")
        copy.git("config", "user.email", "ada@example.org")
    if way == "clone":
        copy.git("switch", "-q", branch.removeprefix("refs/heads/"))
        copy.git("switch", "-q", "main")
    if way == "fetch":
        copy.git("fetch", "-q", "origin", f"{branch}:{branch}")
    if way in ("cp", "mirror"):
        live_in(tmp_path / "elsewhere", monkeypatch)
        own = propose(copy, fact("rides a bicycle"), actor="other")
        assert origin(copy, own, fact_id("rides a bicycle")).actor == "other"
    assert origin(copy, proposal) == PartOrigin(
        Source.INFERRED, Source.INFERRED.confidence, "Ada Example"
    )


@pytest.mark.parametrize("has_moved_alone", [True, False])
def test_a_proposal_stays_its_actors_in_a_copy_of_ones_own(
    at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_moved_alone: bool
) -> None:
    """A workspace on another disk; one that was restored with the home."""
    proposal = propose(at, fact("Bergen", key="home"), source=Source.AUTO, session="s1")
    (tmp_path / "copy").mkdir()
    copy = copied(at, tmp_path / "copy" / "notes")
    shutil.rmtree(at.root)
    if not has_moved_alone:
        home = at.world.home.rename(tmp_path / "copy" / "home")
        live_in(home, monkeypatch)
    assert origin(copy, proposal) == PartOrigin(
        Source.AUTO, Source.AUTO.confidence, "bot", session="s1"
    )
    assert propose(copy, fact("plays the cello")) == proposal
    accept(copy, proposal, BERGEN)
    assert trailers(copy)["Proposed-By"] == ["bot"]
    assert origin(copy, proposal, fact_id("plays the cello")).actor == "bot"


def test_a_mark_that_was_seen_forges_none(at: Desk) -> None:
    """It counts neither for another branch at the commit nor for another commit on the branch."""
    ref = branches.find_proposal(at.workspace, propose(at, fact("Bergen", key="home")))
    (mark,) = at.git("for-each-ref", "--format=%(refname)", branches.MADE).split()
    renamed = ref.name.replace("/bot/", "/digest/")
    at.git("update-ref", renamed, ref.tip)
    assert actors(at) == {ref.name: "bot", renamed: "Ada Example"}
    forged(at, "theirs")
    for name in (ref.name, mark):
        at.git("update-ref", name, "theirs")
    assert actors(at) == {ref.name: "Mallory", renamed: "Ada Example"}


def actors(at: Desk) -> dict[str, str | None]:
    """Who proposed the new home, by branch."""
    refs = branches.open_proposals(at.workspace).values()
    return {ref.name: origin(at, ref.id).actor for ref in refs}


def test_a_purge_leaves_a_proposal_its_actors(at: Desk) -> None:
    at.apply(fact("hates liver"))
    proposal = propose(at, fact("Bergen", key="home"))
    tip = branches.find_proposal(at.workspace, proposal).tip
    purging.run_purge(at.workspace, Purge("hates liver"), silent, lambda _: HeldTranscripts())
    assert branches.find_proposal(at.workspace, proposal).tip != tip
    assert origin(at, proposal).actor == "bot"


def test_only_a_proposal_makes_the_users_key(at: Desk) -> None:
    key = key_of(at.world.home)
    forged(at, "mdmem/proposals/digest/0123abcd")
    Memory(at.workspace).proposals.standing()
    accept(at, "0123abcd")
    assert not key.exists()
    propose(at, fact("plays the cello"))
    made = key.read_bytes()
    assert len(made) == 32
    assert key.stat().st_mode & 0o777 == 0o600
    propose(at, fact("rides a bicycle"))
    assert key.read_bytes() == made
    key.write_bytes(b"")
    assert origin(at, propose(at, fact("keeps bees"), actor="other"), fact_id("keeps bees")).actor
    assert len(key.read_bytes()) == 32


def test_without_a_key_a_proposal_is_its_authors(
    at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    live_in(tmp_path / "file", monkeypatch)
    proposal = propose(at, fact("Bergen", key="home"))
    assert propose(at, fact("plays the cello")) == proposal
    assert origin(at, proposal).actor == "Ada Example"
    at.git("branch", "contrib", own_branch("bot"))
    proposed_branch(at, "contrib", actor="other", again=True)
    assert accept(at, proposal).closed


def test_another_user_of_the_repository_leaves_the_proposal_ones_own(
    at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = propose(at, fact("Bergen", key="home"))
    live_in(tmp_path / "bo", monkeypatch)
    assert origin(at, proposal).actor == "Ada Example"
    accept(at, propose(at, fact("plays the cello"), actor="other"))
    live_in(at.world.home, monkeypatch)
    assert origin(at, proposal).actor == "bot"


def test_what_mdmem_made_here_is_forgotten_with_its_branch(at: Desk) -> None:
    closed_by_hand, proposal = (
        propose(at, fact("Bergen", key="home")),
        propose(at, fact("plays the cello"), actor="other"),
    )
    at.git("branch", "-qD", own_branch("bot"))
    accept(at, proposal)
    assert branch_commits.list_refs(at.workspace.repository, branches.MADE) == {}
    assert propose(at, fact("Bergen", key="home")) == closed_by_hand
    assert origin(at, closed_by_hand).actor == "bot"


# Merges, forges, clones.


def test_a_plain_merge_leaves_nothing_open(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, fact("plays the cello"))
    at.commit("something else")
    branch = branches.find_proposal(at.workspace, proposal).tip
    at.git("merge", "-q", "--no-edit", branch)
    assert Memory(at.workspace).proposals.standing().views == ()
    decision = accept(at, proposal)
    assert (decision.accepted, decision.closed) == ((), (proposal,))
    assert branches.open_proposals(at.workspace) == {}


def test_a_squash_of_a_forge_leaves_nothing_open(at: Desk) -> None:
    proposal = propose(at, fact("Linear", "Work", key="employer"))
    propose(at, Forget("likes tea"))
    at.git("merge", "-q", "--squash", branches.find_proposal(at.workspace, proposal).tip)
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
            ref = branches.find_proposal(at.workspace, proposal)
            at.git(
                "update-ref",
                ref.name,
                at.git("commit-tree", f"{ref.tip}^{{tree}}", "-p", ref.tip, "-m", "x").strip(),
            )
        return store(*arguments)

    monkeypatch.setattr(proposing.branch_commits, "store", race)
    propose(at, fact("rides a bicycle"))
    assert set(parts(at, proposal)) == {fact_id("plays the cello"), fact_id("rides a bicycle")}
    assert (
        len(
            at.git(
                "log",
                "--format=%h",
                f"HEAD..{branches.find_proposal(at.workspace, proposal).tip}",
            ).split()
        )
        == 3
    )


# Branches in use.


def test_a_branch_that_a_work_tree_has_is_left_alone(at: Desk, tmp_path: Path) -> None:
    proposal = propose(at, fact("plays the cello"))
    name = branches.find_proposal(at.workspace, proposal).name.removeprefix("refs/heads/")
    at.git("worktree", "add", "-q", tmp_path / "theirs", name)
    tip = at.git("rev-parse", name)
    assert problem(proposed, at, fact("rides a bicycle")).code == "checked-out"
    decision = reject(at, proposal)
    assert (len(decision.commits), decision.closed) == (1, ())
    assert at.git("rev-parse", name) == tip
    assert [part.state for part in parts(at, proposal).values()] == [PartState.REJECTED]
    at.git("worktree", "remove", tmp_path / "theirs")
    assert accept(at, proposal).closed


def test_head_on_a_proposal_stays_there(at: Desk) -> None:
    proposal = propose(at, fact("plays the cello"))
    name = branches.find_proposal(at.workspace, proposal).name.removeprefix("refs/heads/")
    at.git("switch", "-q", name)
    decision = accept(at, proposal)
    assert (decision.accepted, decision.closed) == ((), ())
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
    propose(at, fact("rides a bicycle"))
    propose(at, EditSection("Work", Action.REPLACE, "harbour", "station"))
    ref = branches.find_proposal(at.workspace, proposal)
    assert at.git("ls-tree", ref.tip, "MEMORY.md").startswith("100755 ")
    (section,) = [part.name for part in parts(at, proposal).values() if part.op is PartOp.SECTION]
    reject(at, proposal, fact_id("rides a bicycle"))
    reject(at, proposal, section)
    ref = branches.find_proposal(at.workspace, proposal)
    assert at.git("ls-tree", ref.tip, "MEMORY.md").startswith("100755 ")
    assert accept(at, proposal).closed
    assert at.git("ls-tree", "HEAD", "MEMORY.md").startswith("100755 ")


def test_a_repository_that_signs(at: Desk) -> None:
    signer = at.write(
        ".git/signer",
        '#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED " >&2\necho "signed $*"\n',
    )
    signer.chmod(0o755)
    for name, value in (
        ("gpg.program", str(signer)),
        ("user.signingKey", "K1"),
        ("commit.gpgSign", "true"),
    ):
        at.git("config", name, value)
    proposal = propose(at, fact("plays the cello"))
    propose(at, fact("rides a bicycle"))
    tip = branches.find_proposal(at.workspace, proposal).tip
    assert "gpgsig" in at.git("cat-file", "commit", tip)
    accept(at, proposal, fact_id("plays the cello"))
    reject(at, proposal)
    assert all("gpgsig" in at.git("cat-file", "commit", commit) for commit in ("HEAD", "HEAD~1"))
    assert closed(at)


# Several workspaces.


def test_a_branch_with_files_of_two_workspaces_is_decided_by_each(
    world: World, repository: Path
) -> None:
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
    assert ([part.new for part in view.parts], view.others) == (
        [f"rides to {outer.root.name}"],
        ("sub/notes/MEMORY.md",),
    )
    assert not accept(outer, view.id).closed
    assert "rides" not in inner.read("MEMORY.md")
    assert [part.new for part in parts(inner, view.id).values() if part.state.waits] == [
        "rides to notes"
    ]
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
