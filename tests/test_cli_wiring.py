"""`init --for HOST` as a person types it, and the hosts that the doctor names."""

import json
import os
from pathlib import Path

import pytest
from commandline import Shell
from commandline import shell as shell

from mdmem.events import Event, Outcome, record_event
from mdmem.memory import Memory


@pytest.fixture
def home(shell: Shell, tmp_path: Path) -> Path:
    """A home in which no program of a host is on the PATH."""
    shell.patch.setenv("PATH", "/usr/bin:/bin")
    return shell.world.home


def host_lines(shell: Shell) -> list[tuple[str, str, str]]:
    findings = shell.run("doctor", "--json").answer["findings"]
    return [
        (each["level"], each["message"], each["hint"])
        for each in findings
        if each["check"] == "hosts"
    ]


def test_it_says_what_it_changed_and_how_to_take_it_back(shell: Shell, home: Path):
    done = shell.run("init", "--for", "windsurf")
    path = f"{home}/.codeium/windsurf"
    assert (done.status, done.out.splitlines()) == (
        0,
        [
            "Windsurf",
            f"  changed: {path}/mcp_config.json",
            f"  changed: {path}/memories/global_rules.md",
            "  To take it back: mdmem init --for windsurf --undo",
        ],
    )
    assert shell.run("init", "--for", "windsurf").out == "Windsurf: as it was\n"
    undone = shell.run("init", "--for", "windsurf", "--undo")
    assert undone.out.splitlines()[1:] == [
        f"  restored: {path}/memories/global_rules.md",
        f"  restored: {path}/mcp_config.json",
    ]
    assert not (home / ".codeium").exists()


def test_what_cannot_be_done_is_shown_with_the_lines_to_add(shell: Shell, home: Path):
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text("{")
    done = shell.run("init", "--for", "cursor")
    assert done.status == 1
    assert f"{path} stays as it is (" in done.out
    assert '"mcpServers": {' in done.out
    assert "for a project, with --project: .cursor/rules/mdmem.mdc" in done.out
    answer = shell.run("init", "--for", "cursor", "--json").answer
    assert list(answer["hosts"][0]) == ["host", "files", "commands", "problems", "notes"]


def test_all_are_those_that_are_installed(shell: Shell, home: Path):
    assert shell.run("init", "--for", "all").out == "No agent's host is installed.\n"
    (home / ".codeium/windsurf").mkdir(parents=True)
    (home / ".pi/agent").mkdir(parents=True)
    done = shell.run("init", "--for", "all", "--dry-run", "--json").answer
    assert [each["host"] for each in done["hosts"]] == ["pi", "windsurf"]
    assert done["dry_run"] is True
    shell.run("init", "--for", "all")
    assert (home / ".pi/agent/extensions/mdmem.ts").exists()
    shell.run("init", "--for", "all", "--undo")
    assert not (home / ".pi/agent/extensions").exists()


def test_no_workspace_is_made_or_adopted(shell: Shell, home: Path, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shell.patch.chdir(elsewhere)
    shell.patch.delenv("MDMEM_ADOPT", raising=False)
    assert shell.run("init", "--for", "pi").status == 0
    assert not any(elsewhere.iterdir())
    assert not (home / ".local/state/mdmem/workspaces.json").exists()


def test_projects_are_the_repository_that_it_is_typed_in(shell: Shell, home: Path):
    (shell.folder / "src").mkdir()
    shell.patch.chdir(shell.folder / "src")
    shell.run("init", "--for", "zed", "--project")
    assert "<!-- mdmem:begin -->" in (shell.folder / "AGENTS.md").read_text()
    shell.run("init", "--for", "zed", "--undo")
    assert not (shell.folder / "AGENTS.md").exists()


@pytest.mark.parametrize("variable", ["CLAUDECODE", "MDMEM_ACTOR"])
@pytest.mark.parametrize("words", [(), ("--undo",), ("--dry-run",)])
def test_an_agent_is_refused(shell: Shell, home: Path, variable: str, words: tuple[str, ...]):
    shell.patch.setenv(variable, "agent/x")
    done = shell.run("init", "--for", "cursor", *words, "--json")
    assert (done.status, json.loads(done.err)["error"]) == (1, "not-allowed")
    assert not (home / ".cursor").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--for", "emacs"),
        ("--for", "cursor", "--here"),
        ("--for", "cursor", "notes"),
        ("--for", "cursor", "--undo", "--project"),
        ("--undo",),
        ("--project",),
    ],
)
def test_wrong_usage(shell: Shell, home: Path, words: tuple[str, ...]):
    done = shell.run("init", *words)
    assert done.status == 2
    assert "--for " in done.err


class TestDoctor:
    def test_names_no_host_that_is_not_there(self, shell: Shell, home: Path):
        assert host_lines(shell) == []

    def test_names_what_a_host_has_and_lacks(self, shell: Shell, home: Path):
        (home / ".cursor").mkdir()
        assert host_lines(shell) == [
            ("ok", "Cursor does not use mdmem", "To set it up: mdmem init --for cursor")
        ]
        shell.run("init", "--for", "cursor")
        assert host_lines(shell) == [("ok", "Cursor has hooks, server", "")]
        (home / ".cursor/mcp.json").unlink()
        assert host_lines(shell) == [
            ("note", "Cursor has hooks; lacks server", "To set it up: mdmem init --for cursor")
        ]

    def test_tells_the_version_and_the_last_event(self, shell: Shell, home: Path):
        manifest = home / ".gemini/extensions/mdmem/gemini-extension.json"
        manifest.parent.mkdir(parents=True)
        manifest.write_text('{"version": "0.0.1"}')
        workspace = Memory.open(shell.folder, os.environ).workspace
        workspace.ensure_state()
        for actor in ("agent/gemini-cli", "agent/codex"):
            event = Event(verb="agent-hook", ms=1.0, outcome=Outcome.DONE, actor=actor)
            record_event(workspace.state, event)
        ((_, message, _),) = host_lines(shell)
        assert message.startswith(
            "Gemini CLI has hooks, server, instructions (plugin 0.0.1); last event 20"
        )
