"""The doctor's checks of agents' hosts: recorded folders of Claude Code, Codex and OpenClaw in a
home of its own.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commandline import Shell
from commandline import shell as shell

import mdmem

OLD = "0.0.1"
CURRENT = mdmem.__version__


def written(path: Path, values: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))
    return path


def claude(home: Path, version: str) -> None:
    entry = {"scope": "user", "installPath": "/elsewhere", "version": version}
    written(
        home / ".claude/plugins/installed_plugins.json",
        {"version": 2, "plugins": {"mdmem@mdmem": [entry], "other@x": [{}]}},
    )


def codex(home: Path, version: str) -> None:
    (home / ".codex/plugins/cache/mdmem/mdmem" / version).mkdir(parents=True)


def openclaw(home: Path, version: str = CURRENT, **settings: Any) -> None:
    written(
        home / ".openclaw/extensions/mdmem/.claude-plugin/plugin.json",
        {"name": "mdmem", "version": version},
    )
    written(
        home / ".openclaw/openclaw.json",
        {"plugins": {"entries": {"mdmem": {"enabled": True}}}, **settings},
    )


def server(folder: Path | str) -> dict[str, Any]:
    """The settings that `openclaw mcp set` makes."""
    return {
        "servers": {
            "mdmem": {"command": "mdmem", "args": ["mcp"], "env": {"MDMEM_WORKSPACE": str(folder)}}
        }
    }


def host_findings(shell: Shell) -> list[tuple[str, str, str]]:
    """Level, message and hint of each finding about hosts."""
    findings = shell.run("doctor", "--json").answer["findings"]
    return [
        (each["level"], each["message"], each["hint"])
        for each in findings
        if each["check"] == "agents"
    ]


@pytest.fixture
def home(shell: Shell) -> Path:
    shell.patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return shell.world.home


def test_none(shell: Shell):
    assert host_findings(shell) == [("ok", "the plugin is not installed in any host", "")]


@pytest.mark.parametrize(
    ("host", "name"), [(claude, "Claude Code"), (codex, "Codex"), (openclaw, "OpenClaw")]
)
class TestVersions:
    def test_in_step(self, shell: Shell, home: Path, host: Callable[[Path, str], None], name: str):
        host(home, CURRENT)
        assert ("ok", f"{name} has the plugin", "") in host_findings(shell)

    def test_behind(self, shell: Shell, home: Path, host: Callable[[Path, str], None], name: str):
        host(home, OLD)
        (hint,) = [
            hint
            for level, message, hint in host_findings(shell)
            if level == "note" and message.startswith(f"{name} has version {OLD} of the plugin")
        ]
        assert "mdmem" in hint


def test_folders_that_variables_name(shell: Shell, home: Path):
    for variable, folder, host in (
        ("CLAUDE_CONFIG_DIR", ".claude", claude),
        ("CODEX_HOME", ".codex", codex),
    ):
        host(home / "moved", CURRENT)
        shell.patch.setenv(variable, str(home / "moved" / folder))
    openclaw(home / "moved")
    shell.patch.setenv("OPENCLAW_STATE_DIR", str(home / "moved/.openclaw"))
    assert [message for _, message, _ in host_findings(shell)][:3] == [
        f"{name} has the plugin" for name in ("Claude Code", "Codex", "OpenClaw")
    ]


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", '{"plugins": 7}', '{"plugins": {"mdmem@mdmem": {}}}']
)
def test_what_a_host_keeps_may_be_anything(shell: Shell, home: Path, text: str):
    written(home / ".claude/plugins/installed_plugins.json", 0).write_text(text)
    openclaw(home)
    (home / ".openclaw/openclaw.json").write_text(text)
    assert [level for level, *_ in host_findings(shell)] == ["ok", "warning"]


def test_a_program_that_is_not_on_the_path(shell: Shell, home: Path):
    claude(home, CURRENT)
    folders = [
        folder
        for folder in os.environ["PATH"].split(os.pathsep)
        if not Path(folder, "mdmem").exists()
    ]
    shell.patch.setenv("PATH", os.pathsep.join(folders))
    assert host_findings(shell)[1][:2] == (
        "warning",
        "mdmem is not on the PATH, where the plugin looks for it",
    )


class TestOpenClaw:
    def test_a_server_without_a_workspace(self, shell: Shell, home: Path):
        openclaw(home)
        (hint,) = [
            hint
            for _, message, hint in host_findings(shell)
            if message == "OpenClaw's server of the plugin finds no workspace"
        ]
        assert f'workspace = "{shell.folder}" in {home}/.config/mdmem/config.toml names it' in hint

    def test_one_that_its_settings_name(self, shell: Shell, home: Path):
        openclaw(home, mcp=server(shell.folder))
        assert host_findings(shell)[1] == ("ok", f"OpenClaw uses {shell.folder}", "")

    def test_one_that_the_users_own_settings_name(self, shell: Shell, home: Path):
        openclaw(home)
        own = home / ".config/mdmem/config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'workspace = "{shell.folder}"\n')
        assert host_findings(shell)[1] == ("ok", f"OpenClaw uses {shell.folder}", "")

    def test_a_folder_of_one(self, shell: Shell, home: Path):
        openclaw(home, mcp=server(shell.folder / "memory"))
        assert host_findings(shell)[1] == ("ok", f"OpenClaw uses {shell.folder}/memory", "")

    def test_one_that_is_none(self, shell: Shell, home: Path):
        openclaw(home, mcp=server(home))
        assert host_findings(shell)[1] == (
            "warning",
            f"OpenClaw is set to use {home}, which is not a workspace",
            f"To create one: mdmem init {home}\nOr name another.",
        )

    def test_a_variable_that_nobody_fills_in_names_none(self, shell: Shell, home: Path):
        openclaw(home, mcp=server("${CLAUDE_PROJECT_DIR}"))
        assert host_findings(shell)[1][1] == "OpenClaw's server of the plugin finds no workspace"

    def test_switched_off(self, shell: Shell, home: Path):
        openclaw(home, plugins={"entries": {"mdmem": {"enabled": False}}})
        assert [message for _, message, _ in host_findings(shell)] == ["OpenClaw has the plugin"]


class TestInstructions:
    def test_as_they_are_now(self, shell: Shell):
        shell.run("init", "--agents", "--no-hooks")
        assert [level for level, *_ in host_findings(shell)] == ["ok"]

    def test_of_another_version(self, shell: Shell):
        shell.run("init", "--agents", "CLAUDE.md", "--no-hooks")
        path = shell.folder / "CLAUDE.md"
        path.write_text(path.read_text().replace("heartbeat", "drum"))
        assert host_findings(shell)[1] == (
            "note",
            "the instructions in CLAUDE.md are from another version",
            "To update them: mdmem init --agents CLAUDE.md",
        )

    def test_broken(self, shell: Shell):
        shell.write("AGENTS.md", "<!-- mdmem:begin -->\n")
        ((level, message, hint),) = host_findings(shell)[1:]
        assert (level, message) == (
            "warning",
            "AGENTS.md: the lines around mdmem's instructions are not one pair (from line 1 on)",
        )
        assert hint

    def test_a_link_is_passed_over(self, shell: Shell):
        (shell.folder / "AGENTS.md").symlink_to("nowhere")
        assert len(host_findings(shell)) == 1
