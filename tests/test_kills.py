"""Work that is killed before each of its steps: the next command does the rest, nothing is lost,
doubled, half there, or another's.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from conftest import World
from dreams import MORNING, Said, curated, digested, dream, settings, waiting
from killed_write import copied, is_killed, steps_of
from proposal_actions import SEED as HOME
from proposal_actions import accept, closed, fact, parts, propose, reject
from vault import OTHER, WORDS, Vault, vault_at
from workspaces import NOW, Desk, desk

from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.pipelines import Sync
from mdmem.model.proposals import PartState
from mdmem.model.writes import Log, PurgeResult, Remember, Revert, Save, WriteOptions
from mdmem.proposals import branches, listings
from mdmem.text.facts import fact_id

MOST_STEPS = 400
CELLO, BICYCLE = "plays the cello", "rides a bicycle"
SEED = "# Memory\n\n## Facts\n\n- employer: Stripe\n- plays the cello in a quartet on Tuesdays\n\n## Work\n\n- employer: Stripe\n"
SAYINGS = (
    Said("I prefer tea over coffee", kind="preference"),
    Said("my boat lies in Bergen", line=2),
    Said("I just joined Figma", key="employer", line=3, source=Source.INFERRED),
    Said("plays the cello in a trio on Tuesdays", line=4),
    Said("please forget that my boat lies in Bergen", line=5, minute="21:00"),
    Said("never call before nine", line=6, kind="decision"),
)


def require_sound(at: Desk, status: str = "") -> None:
    """The work tree is as committed, and git finds nothing wrong."""
    assert at.git("status", "--porcelain") == status
    at.git("fsck", "--strict", "--no-dangling")


# Proposals.


def tips(at: Desk) -> dict[str, str]:
    return {ref.id: ref.tip for ref in branches.open_proposals(at.workspace).values()}


def states(at: Desk, proposal: str) -> dict[str, PartState]:
    return {part.name: part.state for part in parts(at, proposal).values()}


def proposed(*edits: Remember, world: World, repository: Path) -> Desk:
    at = desk(world, repository, seed=HOME)
    at.workspace.ensure_state()
    for edit in (fact(BICYCLE), *edits):
        propose(at, edit)
    return at


def check_proposal(copy: Desk, at: Desk, *_: object) -> None:
    (proposal,) = tips(at)
    propose(copy, fact(CELLO))
    assert states(copy, proposal) == {
        fact_id(BICYCLE): PartState.OPEN,
        fact_id(CELLO): PartState.OPEN,
    }
    assert copy.git("log", "--format=%s", f"HEAD..{tips(copy)[proposal]}").count("\n") == 2
    assert copy.head() == at.head()
    require_sound(copy)


def accept_all(at: Desk) -> None:
    (proposal,) = tips(at)
    accept(at, proposal)


def check_acceptance(copy: Desk, at: Desk, *_: object) -> None:
    (proposal,) = tips(at)
    if proposal in tips(copy):
        accept(copy, proposal)
    text = copy.read("MEMORY.md")
    assert (text.count(BICYCLE), text.count("Linear"), text.count("Stripe")) == (1, 1, 0)
    assert (tips(copy), list(closed(copy))) == ({}, [proposal])
    accepted = copy.git("log", "--format=%(trailers:key=Mdmem-Accepts,valueonly)").split("\n")
    assert sorted(filter(None, accepted)) == sorted(
        f"{proposal} {fact_id(text)}" for text in (BICYCLE, "employer: Linear")
    )
    require_sound(copy)


def reject_cello(at: Desk) -> None:
    (proposal,) = tips(at)
    reject(at, proposal, fact_id(CELLO))


def check_rejection(copy: Desk, at: Desk, *_: object) -> None:
    reject_cello(copy)
    (proposal,) = tips(at)
    assert CELLO not in copy.git("show", f"{tips(copy)[proposal]}:MEMORY.md")
    assert states(copy, proposal) == {
        fact_id(BICYCLE): PartState.OPEN,
        fact_id(CELLO): PartState.REJECTED,
    }
    assert copy.git("log", "--format=%s").count("reject") == 1
    assert copy.read("MEMORY.md") == HOME
    require_sound(copy)
    assert accept(copy, proposal).closed
    assert copy.git("for-each-ref", "refs/mdmem/scratch") == ""


# Nights.


def a_night(world: World, repository: Path) -> Desk:
    os.environ["MDMEM_NOW"] = MORNING
    settings(world, 'dream = "apply"')
    at = desk(world, repository, seed=SEED)
    digested(at, *SAYINGS)
    return at


def outcome(at: Desk) -> tuple[list[str], Counter[tuple[str | None, str | None]]]:
    """The curated lines, and the parts that wait."""
    return curated(at), Counter((part.old, part.new) for part in waiting(at))


def require_dreamt(copy: Desk, at: Desk) -> None:
    """One more night ends as one that was not killed."""
    dream(copy)
    expected = outcome(at)
    assert outcome(copy) == expected
    assert max(expected[1].values()) == 1
    assert dream(copy).commits == ()


def check_night(copy: Desk, at: Desk, whole: Desk, _: int) -> None:
    assert len(curated(whole)) == 4
    require_dreamt(copy, whole)
    assert copy.git("status", "--porcelain") == ""
    copy.apply(Revert("dream/2026-03-06"))
    assert copy.read("MEMORY.md") == at.read("MEMORY.md")


# Purges.

PURGING = ("git update-ref", "after git update-ref", "after git reflog", "git stash")
PURGING += ("after git stash",)


def two_stashes(world: World, repository: Path) -> Desk:
    vault = vault_at(world, repository)
    for words in ("a", "b"):
        vault.write("MEMORY.md", f"{OTHER}- {WORDS}\n- after\n- {words}\n")
        vault.git("stash", "push", "-q", "-m", words)
    return Desk(world, repository)


def purge(at: Desk) -> PurgeResult:
    return Vault(at.world, at.root).purge()


def check_purge(copy: Desk, at: Desk, *_: object) -> None:
    copy.git("fsck", "--full")
    head = copy.head()
    if head == at.head():
        assert copy.tree_state() == at.tree_state()
        purge(copy)
    else:
        assert purge(copy).commit == head
    stashes = copy.git("stash", "list").splitlines()
    assert stashes == ["stash@{0}: On main: b", "stash@{1}: On main: a"]
    assert copy.git("for-each-ref", "refs/mdmem") == ""
    assert set(copy.git("status", "--porcelain").splitlines()) <= {
        f"?? {path.name}" for path in copy.root.glob(".mdmem-*.tmp")
    }
    assert not [
        path for path in copy.root.glob("*") if path.is_file() and WORDS in path.read_text()
    ]
    Vault(copy.world, copy.root).assert_clean()


# Syncs.

LINES = {
    "merge": ["ada 1", "ada 2", "ada 3", "ada 4", "bo 1", "bo 2", "bo 3"],
    "forward": ["ada 1", "ada 2", "ada 3", "ada 4", "bo 3"],
}
"""Lines of the other machine, and of an agent and a person on this one."""
SYNCING = ("git fetch", "rename landing.next.json landing.json", "exchange")
SYNCING += ("git update-ref", "git update-index", "git push")


def clones(state: str, world: World, repository: Path) -> Desk:
    """A clone beside its remote and another one; both have changed the same files, and this one
    has an edit that is not committed.
    """
    folder = repository.parent / "clones"
    folder.mkdir()
    world.git(folder, "init", "-q", "--bare", "-b", "main", "origin.git")
    ada, bo = (Desk(world, folder / name) for name in ("ada", "bo"))
    for at in (ada, bo):
        name = at.root.name
        world.git(folder, "clone", "-q", "origin.git", name)
        at.git("remote", "set-url", "origin", "../origin.git")
        at.git("config", "user.name", name)
        at.git("config", "user.email", f"{name}@example.org")
        if at == ada:
            at.write("MEMORY.md", "# Memory\n\n## Facts\n\n- city: Rome\n")
            at.write("memory/gone.md", "- old\n")
            at.write("memory/pond.md", "# Pond\n\n- a carp\n")
            at.commit("seed")
            at.git("push", "-q", "origin", "main")
    sync(bo)
    agent = WriteOptions(source=Source.AUTO)
    ada.apply(Remember("ada 1 saw amber", section="Facts", options=agent))
    ada.apply(Log("ada 2 saw rain", options=agent))
    ada.write("memory/pond.md", "# Pond\n\n- a carp\n- ada 3 put a tench in\n")
    ada.write("memory/new/x.md", "- ada 4 dug a well\n")
    ada.git("rm", "-q", "memory/gone.md")
    ada.commit("more\n\nMdmem-Op: save\nMdmem-Source: auto")
    propose(ada, Remember("ada proposes this", section="Facts"))
    sync(ada)
    if state == "merge":
        propose(bo, Remember("bo proposes this", section="Facts"))
        bo.apply(Remember("bo 1 saw basalt", section="Facts"))
        bo.apply(Log("bo 2 saw snow"))
    bo.write("MEMORY.md", bo.read("MEMORY.md") + "- bo 3 typed this\n")
    bo.write("notes.txt", "not for git\n")
    return bo


def sync(at: Desk) -> None:
    Memory.open(at.root, os.environ).sync(Sync())


def go_on(at: Desk, way: int) -> None:
    """The step after the kill: a write, a person's save, or the next sync at once."""
    match way % 3:
        case 0:
            at.apply(Log("bo 4 goes on"))
        case 1:
            pond = at.root / "memory/pond.md"
            pond.write_text(pond.read_text() + "- bo 4 goes on\n")
            Memory.open(at.root, os.environ).save(Save())
        case _:
            sync(at)
            at.apply(Log("bo 4 goes on"))


def check_sync(state: str, ways: int, copy: Desk, at: Desk, whole: Desk, step: int) -> None:
    """Both are in step, each line is there once, and each is whose it was."""
    if (step + ways) % 5 == 4:
        files.remove_tree(copy.root / ".git/mdmem/root")
    go_on(copy, step + ways)
    sync(copy)
    words = [*LINES[state], "bo 4"]
    assert copy.head() == copy.git("-C", "../origin.git", "rev-parse", "main").strip()
    proposals = ("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/mdmem")
    assert copy.git(*proposals) == copy.git("-C", "../origin.git", *proposals)
    waits = [part.view.new for each in listings.read_open(copy.workspace)[0] for part in each.parts]
    assert "ada proposes this" in waits
    assert ("bo proposes this" in waits) == ("bo 1" in words)
    lines = [line for path in copy.root.rglob("*.md") for line in path.read_text().splitlines()]
    assert [word for word in words for line in lines if word in line] == words
    assert "- old" not in lines
    assert not (copy.root / "memory/gone.md").exists()
    unmarked = copy.git(
        *("log", "--no-merges", "--author=bo", "--invert-grep", "--grep=^Mdmem-Op: ", "-p")
    )
    assert not [line for line in unmarked.splitlines() if line.startswith("+") and "ada " in line]
    assert not list(copy.root.rglob(".mdmem-*"))
    assert not list((copy.root / ".git/mdmem").glob("landing*.json"))
    require_sound(copy, "?? notes.txt\n")


KILLS: Mapping[str, tuple[Callable[..., Desk], Callable[[Desk], object], Callable[..., None]]] = {
    "propose": (partial(proposed), lambda at: propose(at, fact(CELLO)), check_proposal),
    "accept": (
        partial(proposed, fact("Linear", "Work", key="employer")),
        accept_all,
        check_acceptance,
    ),
    "reject": (partial(proposed, fact(CELLO)), reject_cello, check_rejection),
    "dream": (a_night, dream, check_night),
    "purge": (two_stashes, purge, check_purge),
    **{
        f"sync, {state}, {ways}": (partial(clones, state), sync, partial(check_sync, state, ways))
        for state in LINES
        for ways in range(3)
    },
}
"""How it is prepared, what is killed, and a check of what is left, where it was killed, of the
workspace as before, and of one in which it came to its end.
"""
SUITE: Mapping[str, range | Sequence[str]] = {
    **dict.fromkeys(("propose", "accept", "reject"), range(0, MOST_STEPS, 9)),
    "dream": range(3, MOST_STEPS, 13),
    "purge": PURGING,
    "sync, merge, 0": SYNCING,
}
"""The kills in the suite: before steps by their numbers, or before and after the first ones of these
names.
"""


def chosen(names: Sequence[str], some: range | Sequence[str]) -> Sequence[int]:
    if isinstance(some, range):
        return some
    return [names.index(name.removeprefix("after ")) + name.startswith("after ") for name in some]


@pytest.mark.parametrize(
    ("verb", "some"),
    [
        *SUITE.items(),
        *(pytest.param(verb, range(MOST_STEPS), marks=pytest.mark.slow) for verb in KILLS),
    ],
)
def test_killed_before_a_step(
    world: World,
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    some: range | Sequence[str],
):
    monkeypatch.setenv("MDMEM_NOW", NOW)
    prepare, act, check = KILLS[verb]
    at = prepare(world=world, repository=repository)
    folder = repository if at.root == repository else at.root.parent
    whole = copied(at, tmp_path / "whole", folder)
    names = steps_of(partial(act, whole))
    assert len(names) > (40 if verb.startswith("sync") else 8)
    for step in chosen(names, some):
        copy = copied(at, tmp_path / "killed", folder)
        was_killed = is_killed(partial(act, copy), step)
        check(copy, at, whole, step)
        files.remove_tree(tmp_path / "killed")
        if not was_killed:
            break
    assert was_killed != isinstance(some, range), "it ends within the steps that are tried"
