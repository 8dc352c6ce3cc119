"""Facts that other branches have and this one never had, in `status` and at a session's start."""

import json
import os
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, desk

from mdmem import agenthooks
from mdmem.memory import Memory
from mdmem.model.reads import MoreFacts
from mdmem.model.writes import Forget, Log, Remember
from mdmem.queries import status as other_branches
from mdmem.show.reads import status_text
from mdmem.show.values import to_json


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def more(at: Desk) -> dict[str, int]:
    status = Memory.open(at.root, os.environ).status()
    assert not any("cannot tell" in note for note in status.notes)
    return {each.branch: each.count for each in status.branches}


def branch(at: Desk, name: str, *texts: str, back: str = "main") -> None:
    at.git("checkout", "-qb", name)
    for text in texts:
        Memory.open(at.root, os.environ).apply(Log(text))
    at.git("checkout", "-q", back)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of branches that each reading reads."""
    numbers: list[int] = []
    read = other_branches._read

    def recorded(workspace, head, tips):
        numbers.append(len(tips))
        return read(workspace, head, tips)

    monkeypatch.setattr(other_branches, "_read", recorded)
    return numbers


def test_they_are_counted_by_branch(at: Desk):
    assert more(at) == {}
    branch(at, "feature", "one", "two", "three")
    branch(at, "empty")
    branch(at, "fix", "one", "four")
    assert more(at) == {"feature": 3, "fix": 2}
    status = Memory.open(at.root, os.environ).status()
    assert "elsewhere  feature: 3 facts more\n" in status_text(status)
    assert {"branch": "fix", "facts": 2} in to_json(status)["branches"]
    at.git("checkout", "-q", "feature")
    assert more(at) == {"fix": 1}
    at.git("checkout", "-q", "--detach")
    assert more(at) == {"fix": 1}


def test_what_this_line_had_is_not_missing(at: Desk):
    at.apply(Remember("likes tea"))
    branch(at, "feature", "one")
    at.apply(Forget("likes tea"))
    assert more(at) == {"feature": 1}
    at.git("merge", "-q", "--squash", "feature")
    at.git("commit", "-qm", "squashed")
    assert more(at) == {}
    at.git("rm", "-q", "memory/2026-03-05.md")
    at.git("commit", "-qm", "out")
    assert more(at) == {}


def test_a_branch_is_read_again_only_when_it_moved(at: Desk, reads: list[int]):
    for number in range(5):
        branch(at, f"feature-{number}", f"fact {number}")
    assert len(more(at)) == 5
    for text in ("a", "b"):
        Memory.open(at.root, os.environ).apply(Log(text))
        assert len(more(at)) == 5
    assert reads == [5]
    at.git("checkout", "-q", "feature-3")
    Memory.open(at.root, os.environ).apply(Log("another"))
    at.git("checkout", "-q", "main")
    assert more(at)["feature-3"] == 2
    at.git("branch", "-qD", "feature-1")
    assert len(more(at)) == 4
    assert sum(reads) == 6
    assert len(more(at)) == 4
    assert sum(reads) == 6


def test_a_line_of_history_that_is_gone(at: Desk, reads: list[int]):
    """A branch that was compared with a commit which HEAD has lost is compared again."""
    at.apply(Remember("likes tea"))
    at.git("branch", "feature")
    assert more(at) == {}
    at.git("reset", "-q", "--hard", "HEAD~1")
    assert more(at) == {"feature": 1}


def test_the_newest_twenty(at: Desk, reads: list[int]):
    for number in range(23):
        at.git(
            "update-ref",
            f"refs/heads/b{number:02}",
            at.git("commit-tree", "-p", "HEAD", "-m", "x", "HEAD^{tree}").strip(),
        )
    assert more(at) == {}
    assert len(json.loads((at.workspace.state / "branches.json").read_text())[1]) == 20


def test_what_is_no_memory_of_this_workspace(world: World, repository: Path, at: Desk):
    inner = desk(world, repository, "inner")
    at.git("checkout", "-qb", "feature")
    for path in ("README.md", "AGENTS.md", "src/notes.md"):
        at.write(path, "- a fact\n- another\n")
    inner.write("memory/2026-03-01.md", "- inner\n")
    (at.root / "memory").mkdir(exist_ok=True)
    (at.root / "memory" / "bad.md").write_bytes(b"\xff- x\n")
    at.git("add", "-A")
    at.git("commit", "-qm", "x")
    at.git("checkout", "-q", "main")
    assert more(at) == {}
    assert more(inner) == {"feature": 1}


def test_the_branches_of_proposals_are_none(at: Desk):
    at.git("branch", "mdmem/proposals/x/1")
    assert more(at) == {}


def test_a_branch_that_git_cannot_read(at: Desk):
    branch(at, "feature", "one")
    tip = at.git("rev-parse", "feature").strip()
    (at.root / ".git" / "objects" / tip[:2] / tip[2:]).unlink()
    status = Memory.open(at.root, os.environ).status()
    assert status.branches == ()
    assert any(note.startswith("cannot tell what other branches hold") for note in status.notes)


@pytest.mark.parametrize("source", ["startup", "resume", "compact"])
def test_the_start_of_a_session_names_them(at: Desk, source: str):
    branch(at, "feature", "one", "two")
    at.apply(Remember("likes tea"))

    def start() -> str:
        event = agenthooks.HookEvent(
            name="SessionStart", session="s", source=source, folder=str(at.root)
        )
        return agenthooks.answer(event, os.environ)

    answer = json.loads(start())
    assert "likes tea" in answer["hookSpecificOutput"]["additionalContext"]
    assert "feature" not in answer["hookSpecificOutput"]["additionalContext"]
    assert answer.get("systemMessage") == (
        "mdmem: other branches have more memory (feature: 2 facts more)"
        if source == "startup"
        else None
    )
    own = at.world.home / ".config" / "mdmem" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('context = "off"\n')
    assert start() == ""


def test_the_start_of_a_session_names_a_few(at: Desk):
    for number in range(7):
        branch(at, f"b{number}", f"fact {number}")
    more(at)
    event = agenthooks.HookEvent(name="SessionStart", session="s", folder=str(at.root))
    told = json.loads(agenthooks.answer(event, os.environ))["systemMessage"]
    assert told.count("1 fact more, ") == 5
    assert told.endswith(", 2 others)")


def test_one_fact():
    assert MoreFacts("fix", 1).line == "fix: 1 fact more"
