"""A memory that is held open: whatever is changed between two calls, the next call has it; nothing is kept that grows."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, code_of, desk

from mdmem.memory import Memory


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@pytest.fixture
def memory(at: Desk) -> Memory:
    return Memory.open(at.root, os.environ)


# Settings.


def local_settings(at: Desk) -> Path:
    return at.root / "mdmem.toml"


def own_settings(at: Desk) -> Path:
    path = at.world.home / ".config" / "mdmem" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("settings_of", [local_settings, own_settings])
def test_settings_are_read_again_when_their_file_changes(at: Desk, memory: Memory, settings_of: Callable[[Desk], Path]) -> None:
    path = settings_of(at)
    assert memory.workspace.settings.actor is None
    for actor in ("one", "two", "six"):  # of one length, in one moment
        path.write_text(f'actor = "{actor}"\n')
        assert memory.workspace.settings.actor == actor
    path.unlink()
    assert memory.workspace.settings.actor is None


def test_settings_that_cannot_be_read_are_refused_until_they_can(at: Desk, memory: Memory) -> None:
    local_settings(at).write_text("actor = ")
    assert code_of(memory.status) == "bad-settings"
    assert code_of(memory.status) == "bad-settings"
    local_settings(at).unlink()
    memory.status()


def test_unchanged_settings_are_not_read_again(at: Desk, memory: Memory) -> None:
    workspace = memory.workspace
    while not workspace.basis:  # the files are a few milliseconds old
        workspace = memory.workspace
    at.commit("another")
    assert memory.workspace is workspace


def test_a_link_to_a_folder_outside_is_looked_at_each_time(at: Desk, world: World, repository: Path) -> None:
    inside, outside = repository / "notes", world.home / "notes"
    inside.mkdir()
    outside.mkdir()
    at = desk(world, repository, "work")
    link = repository / "link"
    link.symlink_to(inside)
    local_settings(at).write_text('extra_paths = ["../link"]\n')
    memory = Memory.open(at.root, os.environ)
    assert memory.workspace.settings.extra_paths == ("../link",)
    link.unlink()
    link.symlink_to(outside)
    assert code_of(memory.status) == "bad-settings"


def test_a_repository_that_changes_its_form_is_found_again(at: Desk, memory: Memory) -> None:
    assert memory.workspace.repository.is_simple
    at.git("config", "core.worktree", str(at.root))
    assert not memory.workspace.repository.is_simple
    at.git("config", "--unset", "core.worktree")
    assert memory.workspace.repository.is_simple
    at.git("replace", "HEAD", at.git("commit-tree", "-m", "other", "HEAD^{tree}").strip())
    assert not memory.workspace.repository.is_simple


def test_a_folder_that_becomes_a_repository_of_its_own_has_its_own_state(world: World, repository: Path) -> None:
    at = desk(world, repository, "sub")
    memory = Memory.open(at.root, os.environ)
    before = memory.workspace.state
    world.git(at.root, "init", "-q")
    assert memory.workspace.state != before
    assert memory.workspace.state.is_relative_to(at.root)
