"""The workspace that an agent's host means: the same for its hooks and for its server."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import World
from workspaces import desk

from mdmem import agenthooks
from mdmem.mcp.door import Door
from mdmem.memory import hosts

NONE = "none"
"""No workspace: the hooks are silent, each tool says what to type."""
WRONG = "wrong"
"""One is named that is none: at the start of a session one line says so, and so does each tool."""


@pytest.fixture
def folders(world: World, tmp_path: Path) -> Mapping[str, Path]:
    """Three workspaces, each of which holds its own name; a project in none of them, and a folder
    below each of the two.
    """
    made = {"bare": tmp_path / "bare", "below-bare": tmp_path / "bare" / "src"}
    made["below-bare"].mkdir(parents=True)
    for name in ("one", "two", "own"):
        repository = tmp_path / name
        repository.mkdir()
        world.git(repository, "init", "-q")
        world.git(repository, "config", "user.name", "Ada")
        world.git(repository, "config", "user.email", "ada@example.org")
        made[name] = desk(world, repository, seed=f"# Memory\n\n- this is {name}\n").root
        made[f"below-{name}"] = repository / "src"
        made[f"below-{name}"].mkdir()
    return made


def own_setting(world: World, folder: Path) -> None:
    path = world.home / ".config" / "mdmem" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f'workspace = "{folder}"\n')


def by_hook(environment: Mapping[str, str], folder: Path) -> str:
    event = agenthooks.HookEvent(name="SessionStart", session="s1", folder=str(folder))
    text = agenthooks.answer(event, environment)
    if not text:
        return NONE
    answer = json.loads(text)
    return (
        WRONG
        if "systemMessage" in answer
        else _name_in(answer["hookSpecificOutput"]["additionalContext"])
    )


def by_server(environment: Mapping[str, str], folder: Path, named: Path | None = None) -> str:
    text, failed = Door(str(named) if named else None, environment).call_tool(
        "memory_get", {"name": "MEMORY.md"}, "probe"
    )
    if not failed:
        return _name_in(text)
    failure = json.loads(text)
    assert failure["error"] == "no-workspace"
    assert "mdmem init " in failure["hint"]
    return NONE if "or above" in failure["message"] else WRONG


def _name_in(text: str) -> str:
    return text.partition("this is ")[2].split()[0]


UNEXPANDED = "${CLAUDE_PROJECT_DIR}"
"""The value that a host hands on if it does not know the variable."""


@pytest.mark.parametrize(
    ("named", "project", "current", "own", "expected"),
    [
        # What is named, then the project, then the current folder, then the user's own.
        ("one", "two", "own", None, "one"),
        (None, "two", "own", None, "two"),
        (None, None, "own", "one", "own"),
        (None, None, "bare", "own", "own"),
        (None, "bare", "two", "own", "two"),
        # All mean a folder, which may be below a workspace.
        (None, "below-two", "bare", None, "two"),
        (None, None, "below-one", None, "one"),
        ("below-one", "two", "two", "own", "one"),
        # A host fills in the project for what is named.
        ("two", "two", "two", None, "two"),
        ("below-two", "below-two", "below-two", None, "two"),
        ("bare", "bare", "bare", "own", "own"),
        ("bare", None, "bare", "own", "own"),
        ("below-bare", "below-bare", "below-bare", "own", "own"),
        ("bare", "bare", "bare", None, NONE),
        # What is no workspace and was named by somebody: the others do not count.
        ("bare", "two", "two", "own", "own"),
        ("bare", "two", "two", None, WRONG),
        ("below-bare", "two", "two", None, WRONG),
        ("nowhere", "two", "two", "own", WRONG),
        (None, None, "bare", "bare", WRONG),
        # What the host did not fill in, or left empty.
        (UNEXPANDED, "two", "bare", None, "two"),
        (UNEXPANDED, None, "one", None, "one"),
        (UNEXPANDED, None, "bare", "own", "own"),
        (UNEXPANDED, UNEXPANDED, "bare", "own", "own"),
        (UNEXPANDED, UNEXPANDED, "bare", None, NONE),
        ("", "", "one", None, "one"),
        (None, None, "bare", None, NONE),
    ],
)
def test_both_doors_serve_the_same(
    world: World,
    folders: Mapping[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    named: str | None,
    project: str | None,
    current: str,
    own: str | None,
    expected: str,
):
    values = {"MDMEM_WORKSPACE": named, "CLAUDE_PROJECT_DIR": project}
    environment = {
        name: str(folders.get(value, value or ""))
        for name, value in values.items()
        if value is not None
    }
    environment = {**world.environment, **environment}
    if named == "nowhere":
        environment["MDMEM_WORKSPACE"] = str(folders["bare"] / "nowhere")
    if own:
        own_setting(world, folders[own])
    monkeypatch.chdir(folders[current])
    assert (by_hook(environment, folders[current]), by_server(environment, folders[current])) == (
        expected,
        expected,
    )


def test_a_server_that_is_told_its_folder(world: World, folders: Mapping[str, Path]):
    environment = {**world.environment, "MDMEM_WORKSPACE": str(folders["two"])}
    assert by_server(environment, folders["own"], named=folders["one"]) == "one"
    assert by_server(environment, folders["own"], named=folders["bare"]) == WRONG


def test_only_variables_of_ours_count_as_unset():
    environment = {
        "MDMEM_SESSION": "${X}",
        "MDMEM_ACTOR": "ada",
        "CLAUDE_PROJECT_DIR": UNEXPANDED,
        "PS1": "${X}",
    }
    assert hosts.expanded(environment) == {"MDMEM_ACTOR": "ada", "PS1": "${X}"}


@pytest.mark.parametrize(("named", "expected"), [(UNEXPANDED, "two"), (None, "one")])
def test_a_server_that_is_started_elsewhere_serves_the_folder_of_the_hosts_shell(
    world: World,
    folders: Mapping[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    named: str | None,
    expected: str,
):
    """As by Copilot CLI, in the folder of the plugin: also where that lies in a workspace."""
    monkeypatch.chdir(folders["one"])
    environment = {**world.environment, "PWD": str(folders["two"])}
    if named:
        environment["MDMEM_WORKSPACE"] = named
    assert by_server(environment, folders["one"]) == expected
