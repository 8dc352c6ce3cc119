"""Whose commit a line came by, in answers: the names of others than the user."""

import os
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem.memory import Memory
from mdmem.model.errors import WorkspaceProblem
from mdmem.model.prompts import BuildContext
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import Remember, WriteOptions


@pytest.fixture
def team(world: World, repository: Path) -> Desk:
    """A memory in which Priya has committed a line; the others are the user's."""
    at = desk(world, repository)
    at.git("config", "user.name", "Ada")
    at.git("config", "user.email", "ada@example.org")
    at.write("MEMORY.md", "# Memory\n\n## Facts\n\n- the beta ships on Friday\n")
    at.commit("mine")
    at.write(
        "MEMORY.md",
        "# Memory\n\n## Facts\n\n- the beta ships on Friday\n- the beta is called Heron\n",
    )
    at.git("-c", "user.name=Priya", "-c", "user.email=priya@example.org", "commit", "-qam", "hers")
    return at


def authors(at: Desk, query: str = "beta") -> dict[str, str | None]:
    hits = Memory.open(at.root, os.environ).search(Search(query)).hits
    return {hit.text: hit.author for hit in hits}


def test_a_hit_names_another_author_alone(team: Desk) -> None:
    assert authors(team) == {"the beta ships on Friday": None, "the beta is called Heron": "Priya"}


def test_facts_and_memory_as_it_was_name_them_too(team: Desk) -> None:
    memory = Memory.open(team.root, os.environ)
    assert {hit.author for hit in memory.facts(ListFacts()).facts} == {None, "Priya"}
    assert {hit.author for hit in memory.search(Search("beta", as_of="HEAD")).hits} == {
        None,
        "Priya",
    }


def test_the_user_has_the_addresses_that_their_own_settings_name(team: Desk) -> None:
    own_settings(team, 'me = ["Priya@Example.org"]\n')
    assert set(authors(team).values()) == {None}


@pytest.mark.parametrize("name", ["me", "agents"])
def test_a_workspace_does_not_say_who_anybody_is(team: Desk, name: str) -> None:
    team.write("mdmem.toml", f'{name} = ["priya@example.org"]\n')
    with pytest.raises(WorkspaceProblem, match=f"may not set {name}"):
        Memory.open(team.root, os.environ)


def test_git_is_asked_where_its_settings_include_others(team: Desk) -> None:
    team.git("config", "--unset", "user.email")
    team.git("config", "include.path", "more")
    team.write(".git/more", "[user]\n\temail = priya@example.org\n")
    assert authors(team) == {"the beta ships on Friday": "Ada", "the beta is called Heron": None}


def test_text_that_is_not_committed_has_no_author(team: Desk) -> None:
    team.write("MEMORY.md", team.read("MEMORY.md") + "- the beta is late\n")
    assert authors(team, "late")["the beta is late"] is None


def test_a_block_names_another_author(team: Desk) -> None:
    text = Memory.open(team.root, os.environ).context(BuildContext()).text
    assert "- :6 (Priya) the beta is called Heron" in text
    assert "- :5 the beta ships on Friday" in text


def test_a_block_names_who_wrote_in_a_task(team: Desk) -> None:
    memory = Memory.open(team.root, os.environ)
    memory.tasks.start("Move", "from Redis", WriteOptions())
    assert "(Priya)" not in tasks_in(memory)
    by_priya = ("-c", "user.name=Priya", "-c", "user.email=priya@example.org")
    team.write("memory/tasks.md", team.read("memory/tasks.md") + "- 2026-03-05 10:00 run it all\n")
    team.git(*by_priya, "commit", "-qam", "hers")
    assert "(Priya) Move: from Redis; last: run it all" in tasks_in(memory)


def tasks_in(memory: Memory) -> str:
    text = memory.context(BuildContext()).text
    return text.partition("## Tasks")[2]


def own_settings(at: Desk, text: str) -> None:
    path = at.world.home / ".config" / "mdmem" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def is_known(at: Desk) -> None:
    at.git("config", "--global", "user.email", "ada@example.org")


def test_the_author_that_a_workspace_names_is_nobody_in_particular(team: Desk) -> None:
    team.write("mdmem.toml", 'author = "Priya <priya@example.org>"\n')
    assert authors(team)["the beta is called Heron"] == "Priya"


def test_settings_of_a_repository_do_not_say_who_the_user_is(team: Desk) -> None:
    is_known(team)
    team.git("config", "user.email", "priya@example.org")
    assert authors(team)["the beta is called Heron"] == "Priya"
    assert authors(team)["the beta ships on Friday"] is None


def test_settings_that_the_user_includes_for_a_repository_do(team: Desk) -> None:
    is_known(team)
    hers = team.world.home / "hers"
    hers.write_text("[user]\n\temail = Priya@example.org\n")
    team.git("config", "--global", f"includeIf.gitdir:{team.root}/.path", str(hers))
    assert set(authors(team).values()) == {None}


def test_somebody_whom_git_does_not_know_is_still_told_from_others(team: Desk) -> None:
    for name in ("user.name", "user.email"):
        team.git("config", "--unset", name)
    team.write("mdmem.toml", 'author = "mdmem <mdmem@localhost>"\n')
    Memory.open(team.root, os.environ).apply(Remember("the beta has a name"))
    assert authors(team)["the beta has a name"] is None
    assert authors(team)["the beta is called Heron"] == "Priya"


def sources(at: Desk) -> dict[str, tuple[str | None, str | None]]:
    facts = Memory.open(at.root, os.environ).facts(ListFacts()).facts
    return {fact.text: (fact.source, fact.author) for fact in facts}


@pytest.mark.parametrize("named", ["Priya@example.org", " priya", "\uff30riya"])
def test_what_an_agent_commits_is_inferred(team: Desk, named: str) -> None:
    assert sources(team)["the beta is called Heron"] == ("user-stated", "Priya")
    own_settings(team, f'agents = ["{named}"]\n')
    assert sources(team) == {
        "the beta ships on Friday": ("user-stated", None),
        "the beta is called Heron": ("inferred", "Priya"),
    }
    own_settings(team, "")
    assert sources(team)["the beta is called Heron"] == ("user-stated", "Priya")


def test_what_mdmem_commits_for_an_agent_is_inferred_too(team: Desk) -> None:
    note = "MEMORY.md: remember\n\nMdmem-Op: remember\nMdmem-Source: user-stated\n"
    team.write("MEMORY.md", team.read("MEMORY.md") + "- the beta is late\n")
    author = ("-c", "user.name=Priya", "-c", "user.email=priya@example.org")
    team.git(*author, "commit", "-qam", note)
    own_settings(team, 'agents = ["priya@example.org"]\n')
    assert sources(team)["the beta is late"] == ("inferred", "Priya")


def test_the_user_is_no_agent(team: Desk) -> None:
    is_known(team)
    own_settings(team, 'agents = ["ada@example.org", "Ada", "Priya"]\nme = ["priya@example.org"]\n')
    assert set(sources(team).values()) == {("user-stated", None)}
