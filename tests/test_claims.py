"""Commits that an agent makes with git: the hook says so in the message, and memory takes them as
claimed.
"""

import sys
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk
from workspaces import desk as make_desk

from mdmem.folder import hook_files, trust
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.searches import ListFacts

AGENT = {"MDMEM_ACTOR": "agent/x"}
CLAIM = "Mdmem-Claimed-By: agent/x"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    at = make_desk(world, repository)
    hook_files.install(at.workspace.repository.hooks_dir, sys.executable)
    return at


def list_people(at: Desk) -> None:
    settings = at.world.home / ".config/mdmem/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('people = ["ada"]\n')


def commit(at: Desk, *arguments: str, **environment: str) -> list[str]:
    """Commit what is staged, and return the trailers."""
    at.world.git(at.root, "commit", "-q", *arguments, environment=environment)
    return trailers(at)


def trailers(at: Desk, revision: str = "HEAD") -> list[str]:
    return at.git("log", "-1", "--format=%(trailers:only,unfold)", revision).split("\n")[:-2]


def add(at: Desk, line: str, path: str = "MEMORY.md") -> None:
    at.write(path, f"{at.read(path) if (at.root / path).exists() else ''}{line}\n")
    at.git("add", path)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("environment", "agent"),
    [
        (AGENT, "agent/x"),
        ({"MDMEM_ACTOR": " digest "}, "digest"),
        *(({name: "1"}, f"agent/{host}") for name, host in trust.HOST_MARKS.items()),
        ({"CLAUDECODE": "1", "MDMEM_ACTOR": "ada"}, "agent/claude-code"),
        ({"CLAUDECODE": "1", "MDMEM_ACTOR": "bot"}, "bot"),
    ],
)
def test_an_agents_commit_is_claimed(at: Desk, environment: dict[str, str], agent: str) -> None:
    list_people(at)
    add(at, "- zebras are striped")
    assert commit(at, "-m", "x", **environment) == [f"Mdmem-Claimed-By: {agent}"]
    (fact,) = [
        each for each in Memory(at.workspace).facts(ListFacts()).facts if "zebras" in each.text
    ]
    assert fact.source is Source.INFERRED


@pytest.mark.parametrize(
    "environment", [{}, {"MDMEM_ACTOR": "Ada"}, {"MDMEM_ACTOR": "\u200b"}, {"CLAUDECODE": ""}]
)
def test_a_persons_commit_is_not(at: Desk, environment: dict[str, str]) -> None:
    list_people(at)
    add(at, "- zebras are striped")
    assert commit(at, "-m", "x", **environment) == []
    (fact,) = [
        each for each in Memory(at.workspace).facts(ListFacts()).facts if "zebras" in each.text
    ]
    assert fact.source is Source.USER_STATED


def test_only_memory_is_claimed(at: Desk) -> None:
    add(at, "text", "docs/page.md")
    assert commit(at, "-m", "x", **AGENT) == []
    add(at, "- striped", "memory/zebras.md")
    assert commit(at, "-m", "x", **AGENT) == [CLAIM]


def test_a_commit_of_paths(at: Desk) -> None:
    add(at, "text", "page.txt")
    at.write("MEMORY.md", at.read("MEMORY.md") + "- zebras\n")
    assert commit(at, "-m", "x\n\nReviewed-by: Ada", "--", "MEMORY.md", **AGENT) == [
        "Reviewed-by: Ada",
        CLAIM,
    ]


def test_an_agent_cannot_state_for_the_user(at: Desk) -> None:
    add(at, "- zebras are striped")
    stated = "MEMORY.md: remember\n\n+ zebras are striped\n\nMdmem-Op: remember\nMdmem-Source: user-stated"
    assert commit(at, "-m", stated, **AGENT)[-1] == CLAIM


def test_commits_that_git_makes_again_stay_as_they_are(at: Desk) -> None:
    at.git("branch", "side")
    add(at, "- zebras", "memory/a.md")
    commit(at, "-m", "mine")
    at.git("switch", "-q", "side")
    add(at, "- lions", "memory/b.md")
    commit(at, "-m", "theirs")
    at.world.git(at.root, "cherry-pick", "main", environment=AGENT)
    assert trailers(at) == []
    at.git("reset", "-q", "--hard", "HEAD~1")
    at.world.git(at.root, "rebase", "-q", "main", environment=AGENT)
    assert CLAIM not in at.git("log", "--format=%B")


def test_what_an_agent_reverts_has_the_source_that_it_had(at: Desk) -> None:
    add(at, "- zebras")
    commit(at, "-m", "came")
    at.git("revert", "--no-edit", "HEAD")
    at.world.git(at.root, "revert", "--no-edit", "HEAD", environment=AGENT)
    (fact,) = [
        each for each in Memory(at.workspace).facts(ListFacts()).facts if "zebras" in each.text
    ]
    assert fact.source is Source.USER_STATED


def test_a_merge_that_an_agent_resolves(at: Desk) -> None:
    at.git("switch", "-qc", "side")
    add(at, "- lions", "memory/b.md")
    commit(at, "-m", "theirs")
    at.git("switch", "-q", "main")
    at.git("merge", "-q", "--no-ff", "--no-commit", "side")
    add(at, "- zebras", "memory/b.md")
    assert commit(at, "--no-edit", **AGENT) == [CLAIM]
    sources = {each.text: each.source for each in Memory(at.workspace).facts(ListFacts()).facts}
    assert (sources["lions"], sources["zebras"]) == (Source.USER_STATED, Source.INFERRED)


def test_a_line_added_by_hand_does_the_same(at: Desk) -> None:
    hook_files.uninstall(at.workspace.repository.hooks_dir)
    at.hook(
        "prepare-commit-msg",
        f"set -e\n{hook_files.lines_to_add(sys.executable)['prepare-commit-msg']}",
    )
    add(at, "- zebras")
    assert commit(at, "-m", "x") == []
    add(at, "- lions")
    assert commit(at, "-m", "x", **AGENT) == [CLAIM]
