"""A packed folder from elsewhere, whose settings of git name programs: reading starts none."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk

from mdmem.cli import main
from mdmem.githooks.hooks import catch_up
from mdmem.memory import Memory, adopting
from mdmem.model.reads import Initialise
from mdmem.model.writes import Log

MEMORY = "# Memory\n\n## Facts\n\n- the boiler is in the cellar\n"
NAMED = (
    *("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.pager", "core.editor"),
    *("core.askPass", "core.alternateRefsCommand", "sequence.editor", "diff.external"),
    *("diff.f.command", "diff.f.textconv", "merge.f.driver", "gpg.program", "pager.log"),
    *("uploadpack.packObjectsHook", "gc.recentObjectsHook", "remote.origin.uploadpack"),
)
"""Settings whose values are programs, beside those of filters."""
HOOKS = ("reference-transaction", "post-index-change", "pre-auto-gc", "post-checkout")
READING = (
    *("search boiler", "search --waiting boiler", "status", "show Facts", "show MEMORY.md"),
    *("history Facts", "history Facts -p", "blame Facts", "when boiler", "facts", "files"),
    *("changes", "check", "context boiler", "conflicts", "trends", "proposals", "review", "tags"),
    *("show Facts --as-of 2026-03-05", "task list", "doctor", "outline", "sync --dry-run"),
)


def program(folder: Path, name: str) -> str:
    """A program that leaves a mark with its name, and passes its input on."""
    path = folder / "programs" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\ntouch "{folder}/ran-{name}"\ncat\n')
    path.chmod(0o755)
    return str(path)


def ran(folder: Path) -> set[str]:
    return {path.name.removeprefix("ran-") for path in folder.glob("ran-*")}


def plant_filter(at: Desk, folder: Path, name: str, *where: str) -> None:
    for key in ("clean", "smudge", "process"):
        at.git("config", *where, f"filter.{name}.{key}", program(folder, f"{key}-{len(name)}"))
    at.git("config", *where, f"filter.{name}.required", "true")


@pytest.fixture
def unpacked(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A memory with pending edits, which nobody has adopted."""
    monkeypatch.delenv("MDMEM_ADOPT")
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T10:00:00")
    (tmp_path / "zip" / "memory").mkdir(parents=True)
    at = Desk(world, tmp_path / "zip")
    at.git("init", "-q")
    for name, value in (("name", "Ada"), ("email", "ada@example.org")):
        at.git("config", "--global", f"user.{name}", value)
    at.write("MEMORY.md", MEMORY)
    at.write("memory/pond.md", "# Pond\n\n- the pond is deep\n")
    at.commit()
    at.write(".gitattributes", "MEMORY.md filter=f diff=f merge=f\nmemory/*.md filter=a=b diff=f\n")
    at.commit("attributes")
    for path in ("MEMORY.md", "memory/pond.md"):  # as long as before, so that git has to read it
        at.write(path, at.read(path).replace(" is ", " IS "))
    monkeypatch.chdir(at.root)
    return at


def read_all(at: Desk) -> None:
    for words in READING:
        main(words.split())
    catch_up([at.root])


def in_settings(at: Desk, folder: Path) -> None:
    plant_filter(at, folder, "f")
    plant_filter(at, folder, "a=b")


def in_an_included_file(at: Desk, folder: Path) -> None:
    plant_filter(at, folder, "f", "-f", ".git/more")
    at.git("config", "include.path", "more")


def in_those_of_a_work_tree(at: Desk, folder: Path) -> None:
    at.git("config", "extensions.worktreeConfig", "true")
    plant_filter(at, folder, "f", "--worktree")


def in_other_programs(at: Desk, folder: Path) -> None:
    for name in NAMED:
        at.git("config", name, program(folder, name))
    at.git("config", "alias.status", f"!{program(folder, 'alias')}")
    at.git("config", "credential.helper", f"!{program(folder, 'helper')}")
    at.git("config", "core.hooksPath", str(folder / "programs"))
    for name in HOOKS:
        program(folder, name)
    for name, value in (
        ("log.showSignature", "true"),
        ("gc.auto", "1"),
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
        ("remote.origin.url", f"ext::{program(folder, 'ext')}"),
    ):
        at.git("config", name, value)


@pytest.mark.parametrize(
    "plant", [in_settings, in_an_included_file, in_those_of_a_work_tree, in_other_programs]
)
def test_reading_starts_no_program_of_the_folder(
    unpacked: Desk, tmp_path: Path, plant: Callable[[Desk, Path], None]
):
    plant(unpacked, tmp_path)
    read_all(unpacked)
    assert ran(tmp_path) == set()
    unpacked.git("status", check=False)
    assert ran(tmp_path), "git itself does"


@pytest.mark.parametrize("adopted", [True, False])
def test_the_users_own_filters_are_started(
    unpacked: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, adopted: bool
):
    if adopted:  # `git-crypt` puts them into the repository's settings
        monkeypatch.setenv("MDMEM_ADOPT", str(unpacked.root))
    where = "--local" if adopted else "--global"
    unpacked.git("config", where, "filter.f.clean", program(tmp_path, "clean"))
    assert main(["status"]) == 0
    assert ran(tmp_path) == {"clean"}


def test_a_write_starts_them_as_a_commit_by_hand_does(unpacked: Desk, tmp_path: Path):
    """Git stores the filter's output, also where nobody has adopted the folder."""
    unpacked.git("config", "filter.f.clean", "tr a-z A-Z")
    unpacked.git("config", "filter.f.smudge", "tr A-Z a-z")
    unpacked.git("config", "filter.a=b.clean", "tr a-z A-Z")
    unpacked.commit("filtered")
    before = unpacked.head()
    memory = Memory.open(unpacked.root, os.environ)
    memory.apply(Log("the pond froze"))
    assert unpacked.git("rev-parse", "HEAD^").strip() == before, "nothing was pending"
    log = unpacked.git("show", "HEAD:memory/2026-03-05.md")
    assert "THE POND FROZE" in log


def test_an_adopted_folder_starts_them(unpacked: Desk, tmp_path: Path):
    in_settings(unpacked, tmp_path)
    discovered = Memory.open(unpacked.root, os.environ).workspace.repository
    assert discovered.barred_filters == ("f", "a=b")
    adopting.initialise(Initialise(str(unpacked.root), hooks=False), os.environ)
    assert Memory.open(unpacked.root, os.environ).workspace.repository.barred_filters == ()
