"""A MEMORY.md that was removed: named by every command, with the line that brings it back."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import World
from workspaces import SEED, Desk, desk

from mdmem.cli import main
from mdmem.memory import Memory, hosts, initialise
from mdmem.model.errors import WorkspaceProblem
from mdmem.model.reads import Initialise
from mdmem.workspace import find_workspace


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = desk(world, repository)
    made.write("MEMORY.md", SEED)
    made.write("mdmem.toml", "")
    made.commit("both marks")
    made.git("rm", "-q", "mdmem.toml")
    made.commit("one mark")
    monkeypatch.chdir(made.root)
    return made


def by_hand(at: Desk) -> None:
    (at.root / "MEMORY.md").unlink()


def by_git_rm(at: Desk) -> None:
    at.git("rm", "-q", "MEMORY.md")


def by_a_commit(at: Desk) -> None:
    by_git_rm(at)
    at.commit("gone")
    at.write("notes.md", "- later\n")
    at.commit("later")


def by_a_pull(at: Desk) -> None:
    at.git("checkout", "-qb", "theirs")
    by_git_rm(at)
    at.commit("gone")
    at.git("checkout", "-q", "-")
    at.write("notes.md", "- ours\n")
    at.commit("ours")
    at.git("merge", "-q", "--no-edit", "theirs")


def refusal(call: Callable[[], object]) -> WorkspaceProblem:
    with pytest.raises(WorkspaceProblem) as problem:
        call()
    assert problem.value.code == "no-workspace"
    return problem.value


REMOVALS = [by_hand, by_git_rm, by_a_commit, by_a_pull]


@pytest.mark.parametrize("remove", REMOVALS)
@pytest.mark.parametrize("below", ["", "sub"])
def test_the_hint_brings_it_back(
    at: Desk, monkeypatch: pytest.MonkeyPatch, remove: Callable[[Desk], None], below: str
):
    remove(at)
    (at.root / "sub").mkdir()
    monkeypatch.chdir(at.root / below)
    problem = refusal(lambda: find_workspace(None, os.environ))
    assert f"{at.root.name}/MEMORY.md was removed" in problem.message
    assert (" by Ada Example (" in problem.message) == (remove in (by_a_commit, by_a_pull))
    line = problem.hint.removeprefix("To bring it back: ")
    subprocess.run(line, shell=True, check=True)
    assert at.read("MEMORY.md") == SEED
    assert find_workspace(None, os.environ) == at.root


@pytest.mark.parametrize("remove", REMOVALS)
def test_it_is_named_at_every_door_and_from_elsewhere(
    at: Desk,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    remove: Callable[[Desk], None],
):
    remove(at)
    asked = [
        refusal(lambda: Memory.open(at.root, os.environ)),
        refusal(lambda: hosts.require_host_workspace({"CLAUDE_PROJECT_DIR": str(at.root)})),
        refusal(lambda: initialise(Initialise(hooks=False), os.environ)),
    ]
    assert all("git restore " in each.hint for each in asked)
    assert main(["search", "Stripe"]) == main(["init"]) == 1
    assert capsys.readouterr().err.count("hint: To bring it back: git restore ") == 2
    monkeypatch.chdir(tmp_path)
    line = refusal(lambda: find_workspace(at.root, os.environ)).hint.partition(": ")[2]
    assert line.startswith("git -C ")
    subprocess.run(line, shell=True, check=True)
    assert at.read("MEMORY.md") == SEED


@pytest.mark.parametrize("remove", REMOVALS)
def test_init_begins_a_new_one_if_it_is_told_so(at: Desk, remove: Callable[[Desk], None]):
    remove(at)
    before = at.tree_state()
    refusal(lambda: initialise(Initialise(hooks=False), os.environ))
    assert at.tree_state() == before
    initialise(Initialise(hooks=False, here=True), os.environ)
    assert "Stripe" not in at.read("MEMORY.md")
    assert find_workspace(None, os.environ) == at.root


def test_beside_settings_it_is_missing_until_a_commit_says_that_it_was_meant(at: Desk):
    at.write("mdmem.toml", "")
    at.commit("settings")
    by_hand(at)
    assert "git restore MEMORY.md" in refusal(lambda: initialise(Initialise(), os.environ)).hint
    at.commit("meant")
    initialise(Initialise(hooks=False), os.environ)
    assert (at.root / "MEMORY.md").exists()


@pytest.mark.parametrize("name", ["memory.md", "notes/MEMORY.md"])
def test_what_was_renamed_is_not_removed(at: Desk, name: str):
    (at.root / "notes").mkdir()
    at.git("mv", "-f", "MEMORY.md", name)
    at.commit("moved")
    at.git("rm", "-q", name)
    at.write("notes/MEMORY.md", SEED)
    at.commit("moved again")
    problem = refusal(lambda: find_workspace(None, os.environ))
    assert ("restore" in problem.hint) is False


def test_a_folder_that_never_was_one(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for folder in (tmp_path / "plain", tmp_path / "empty"):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        problem = refusal(lambda: find_workspace(None, os.environ))
        assert "no workspace in this folder" in problem.message
        if folder.name == "plain":
            world.git(tmp_path, "init", "-q", "empty")
