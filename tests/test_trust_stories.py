"""The stories of docs/trust.md, each lived once."""

import json
import os
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW

from mdmem import agenthooks
from mdmem.memory import Memory, adopt_found, find_unadopted, initialise, leave
from mdmem.model.reads import Initialise
from mdmem.model.searches import Search
from mdmem.model.writes import Remember, WriteOptions


@pytest.fixture(autouse=True)
def ada(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Ada at her machine, on which nothing is adopted."""
    monkeypatch.delenv("MDMEM_ADOPT")
    monkeypatch.setenv("MDMEM_NOW", NOW)
    world.git(world.home, "config", "--global", "user.name", "Ada")
    world.git(world.home, "config", "--global", "user.email", "ada@example.org")
    return world


def init(folder: Path, environment: Mapping[str, str] = os.environ) -> None:
    initialise(Initialise(str(folder), hooks=False), environment)


def at_home(home: Path) -> dict[str, str]:
    """The environment of somebody with another home."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return environment | {"HOME": str(home)}


def block(folder: Path, environment: Mapping[str, str] = os.environ) -> str:
    """The context that a host's session gets which begins in a folder; empty if it gets none."""
    event = agenthooks.HookEvent(
        name="SessionStart", session="s", source="startup", folder=str(folder), prompt=None
    )
    answer = agenthooks.answer(event, environment)
    return (
        json.loads(answer).get("hookSpecificOutput", {}).get("additionalContext", "")
        if answer
        else ""
    )


def remember(folder: Path, text: str) -> None:
    Memory.open(folder, os.environ).apply(Remember(text, options=WriteOptions()))


def test_a_team_in_which_everybody_trusts_everybody(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.git(tmp_path, "init", "-q", "--bare", "hub.git")
    clones = {}
    for name in ("ada", "priya"):
        world.git(tmp_path, "clone", "-q", "hub.git", name)
        clones[name] = tmp_path / name
    init(clones["ada"])
    remember(clones["ada"], "the beta ships on Friday")
    world.git(clones["ada"], "push", "-q", "origin", "main")
    priya = clones["priya"]
    world.git(priya, "config", "user.name", "Priya")
    world.git(priya, "config", "user.email", "priya@example.org")
    world.git(priya, "pull", "-q", "origin", "main")
    assert "Friday" not in block(priya)
    with monkeypatch.context() as hers:
        hers.setenv("GIT_CONFIG_GLOBAL", os.devnull)  # nothing of Ada's on Priya's machine
        init(priya)
        assert "(Ada) the beta ships on Friday" in block(priya)
    path = priya / "MEMORY.md"
    path.write_text(path.read_text() + "- the beta is called Heron\n")
    world.git(priya, "commit", "-qam", "a name")
    world.git(priya, "push", "-q", "origin", "main")
    world.git(clones["ada"], "pull", "-q", "origin", "main")
    assert "(Priya) the beta is called Heron" in block(clones["ada"])
    (hit,) = [
        each
        for each in Memory.open(clones["ada"], os.environ).search(Search("Heron")).hits
        if "Heron" in each.text
    ]
    assert (hit.source, hit.author) == ("user-stated", "Priya")


def test_two_people_on_one_machine(world: World, tmp_path: Path) -> None:
    init(tmp_path / "notes")
    remember(tmp_path / "notes", "likes tea")
    (tmp_path / "bo").mkdir()
    bo = at_home(tmp_path / "bo")
    assert "likes tea" in block(tmp_path / "notes")
    assert block(tmp_path / "notes", bo) == ""
    init(tmp_path / "notes", bo)
    assert "likes tea" in block(tmp_path / "notes", bo)


def test_a_container(world: World, tmp_path: Path) -> None:
    init(tmp_path / "notes")
    remember(tmp_path / "notes", "likes tea")
    home = tmp_path / "read-only"
    home.write_text("no folder\n")
    container = at_home(home)
    assert block(tmp_path / "notes", container) == ""
    container["MDMEM_ADOPT"] = str(tmp_path / "notes")
    assert "likes tea" in block(tmp_path / "notes", container)
    with chdir(tmp_path / "notes"):
        Memory.open(None, container).pipelines.run()


@pytest.mark.parametrize("way", ["init", "settings"])
def test_a_workspace_that_openclaw_made(world: World, way: str) -> None:
    folder = world.home / ".openclaw" / "workspace"
    (folder / "memory").mkdir(parents=True)
    made = {
        "MEMORY.md": "# Memory\n\n- likes tea\n",
        "AGENTS.md": "# Agents\n\n- be brief\n",
        "memory/2026-03-04.md": "# 2026-03-04\n\n- planted beans\n",
    }
    for name, text in made.items():
        (folder / name).write_text(text)
    world.git(folder, "init", "-q")
    world.git(folder, "add", ".")
    world.git(
        folder,
        "-c",
        "user.name=OpenClaw",
        "-c",
        "user.email=agent@openclaw.test",
        "commit",
        "-qm",
        "workspace",
    )
    assert block(folder) == ""
    if way == "init":
        init(folder)
    else:
        settings = world.home / ".config" / "mdmem" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text('adopt = ["~/.openclaw/workspace*"]\n')
    assert "likes tea" in block(folder)
    assert "planted beans" in block(folder)
    assert {name: (folder / name).read_text() for name in made} == made


def test_an_upgrade_from_0_2(world: World) -> None:
    folder = world.home / "notes"
    init(folder)
    remember(folder, "likes tea")
    leave(folder, os.environ)  # as that version left it: in no list
    event = agenthooks.HookEvent(
        name="SessionStart", session="s", source="startup", folder=str(folder), prompt=None
    )
    assert json.loads(agenthooks.answer(event, os.environ))["systemMessage"].endswith(
        "mdmem init --found"
    )
    assert "likes tea" in [
        hit.text for hit in Memory.open(folder, os.environ).search(Search("tea")).hits
    ]
    adopt_found(find_unadopted(os.environ), os.environ)
    assert "likes tea" in block(folder)
