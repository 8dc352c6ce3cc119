"""The digest of a session, started by the hooks of its host."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from workspaces import NOW, Desk, desk

from mdmem import agenthooks
from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.model.errors import RepositoryProblem
from mdmem.model.pipelines import Digest
from mdmem.nights.digest import starting

Start = Callable[..., list[Sequence[str]]]


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


@pytest.fixture
def transcript(at: Desk) -> Path:
    path = at.world.home / ".claude" / "projects" / "-importer" / "5a1e0000.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("")
    return path


@pytest.fixture
def settings(at: Desk) -> Callable[[str], None]:
    def write(text: str) -> None:
        path = at.world.home / ".config" / "mdmem" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


@pytest.fixture
def start(at: Desk, transcript: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Report an event, and return the commands that were started for it."""
    commands: list[Sequence[str]] = []

    def record(
        path: str, command: Sequence[str], environment: dict[str, str], **options: Any
    ) -> int:
        assert (environment["MDMEM_CONTEXT"], environment["MDMEM_RUN"], options["setsid"]) == (
            "off",
            "1",
            True,
        )
        commands.append(command)
        return 0

    monkeypatch.setattr(starting.os, "posix_spawn", record)

    def report(name: str, path: Path | None = transcript) -> list[Sequence[str]]:
        values = {
            "hook_event_name": name,
            "session_id": "s1",
            "cwd": str(at.root),
            "prompt": "hello",
            "transcript_path": str(path),
        }
        event = agenthooks.parse_event(json.dumps(values).encode())
        assert event is not None
        agenthooks.answer(event, os.environ)
        return [command for command in commands if "digest" in command]

    return report


@pytest.mark.parametrize("name", ["UserPromptSubmit", "PreCompact", "SessionEnd"])
def test_an_event_starts_one(
    at: Desk, transcript: Path, settings: Callable[[str], None], start: Start, name: str
):
    settings('sessions = ["claude"]\n')
    (command,) = start(name)
    assert command[3:] == [
        "mdmem",
        "-C",
        str(at.root),
        "digest",
        "--no-model",
        "--json",
        str(transcript),
    ]


@pytest.mark.parametrize("name", ["SessionStart", "PostCompact"])
def test_other_events_start_none(settings: Callable[[str], None], start: Start, name: str):
    settings('sessions = ["claude"]\n')
    assert start(name) == []


def test_at_most_once_a_minute(at: Desk, settings: Callable[[str], None], start: Start):
    settings('sessions = ["claude"]\n')
    assert len(start("UserPromptSubmit")) == len(start("PreCompact")) == 1
    (mark,) = (at.workspace.state / "digest-started").iterdir()
    os.utime(mark, (mark.stat().st_mtime - 61,) * 2)
    assert len(start("UserPromptSubmit")) == 2


def test_each_session_has_its_own_minute(
    at: Desk, transcript: Path, settings: Callable[[str], None], start: Start
):
    settings('sessions = ["claude"]\n')
    other = transcript.with_name("5a1e0001.jsonl")
    other.write_text("")
    start("UserPromptSubmit")
    assert [command[-1] for command in start("UserPromptSubmit", other)] == [
        str(transcript),
        str(other),
    ]
    for mark in (at.workspace.state / "digest-started").iterdir():
        os.utime(mark, (1, 1))
    start("PreCompact")
    assert len(list((at.workspace.state / "digest-started").iterdir())) == 1


def test_the_end_of_a_session_need_not_wait(settings: Callable[[str], None], start: Start):
    settings('sessions = ["claude"]\n')
    start("UserPromptSubmit")
    assert len(start("SessionEnd")) == 2


@pytest.mark.parametrize(
    "text", ["", 'sessions = ["codex"]\n', 'sessions = ["claude"]\ndigest = "off"\n']
)
def test_only_where_the_users_own_settings_have_it_read(
    settings: Callable[[str], None], start: Start, text: str
):
    settings(text)
    assert start("UserPromptSubmit") == []


def test_not_below_a_run(
    settings: Callable[[str], None], start: Start, monkeypatch: pytest.MonkeyPatch
):
    settings('sessions = ["claude"]\n')
    monkeypatch.setenv("MDMEM_RUN", "1")
    assert start("UserPromptSubmit") == []


def test_not_of_a_file_elsewhere(settings: Callable[[str], None], start: Start, tmp_path: Path):
    settings('sessions = ["claude"]\n')
    other = tmp_path / "other.jsonl"
    other.write_text("")
    assert start("UserPromptSubmit", other) == []


def test_of_two_one_works(at: Desk, transcript: Path):
    memory = Memory(at.workspace)
    at.workspace.ensure_state()
    with (
        files.lock(at.workspace.state / "run.lock", 0),
        pytest.raises(RepositoryProblem) as problem,
    ):
        memory.pipelines.digest(Digest(sessions=(str(transcript),)))
    assert problem.value.code == "running"
    assert memory.pipelines.digest(Digest(sessions=(str(transcript),))).figures.messages == 0
    memory.close()
