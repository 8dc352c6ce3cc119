"""The bundle for agents' hosts: its files, what its skill teaches, and where it is found."""

import json
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import frontmatter
import pytest
from commandline import Shell
from commandline import shell as shell

from mdmem.agenthooks import _HANDLERS, _TIME_LIMITS
from mdmem.mcp.tools import TOOLS

BUNDLE = Path(str(files("mdmem.templates").joinpath("plugin")))
FILES = [
    ".claude-plugin/marketplace.json",
    "mdmem/.claude-plugin/plugin.json",
    "mdmem/.codex-plugin/plugin.json",
    "mdmem/.mcp.json",
    "mdmem/README.md",
    "mdmem/hooks/codex.json",
    "mdmem/hooks/hooks.json",
    "mdmem/skills/memory/SKILL.md",
]
SKILL = BUNDLE / "mdmem/skills/memory/SKILL.md"


def read(name: str) -> Any:
    return json.loads((BUNDLE / name).read_text(encoding="utf-8"))


def entries_of(hooks: Any) -> list[tuple[str, list[list[dict[str, Any]]]]]:
    return [(name, [each["hooks"] for each in listed]) for name, listed in hooks["hooks"].items()]


def test_these_are_its_files():
    assert (
        sorted(str(path.relative_to(BUNDLE)) for path in BUNDLE.rglob("*") if path.is_file())
        == FILES
    )


def test_it_says_whose_it_is():
    manifest = read("mdmem/.claude-plugin/plugin.json")
    assert (manifest["name"], manifest["license"]) == ("mdmem", "MIT")
    assert manifest["author"]["name"]


def test_codex_has_a_manifest_of_its_own_with_the_hooks_that_it_knows():
    ours, theirs = read("mdmem/.claude-plugin/plugin.json"), read("mdmem/.codex-plugin/plugin.json")
    assert theirs == ours | {
        "skills": "./skills/",
        "mcpServers": "./.mcp.json",
        "hooks": "./hooks/codex.json",
    }
    hooks, codex = read("mdmem/hooks/hooks.json"), read("mdmem/hooks/codex.json")
    del hooks["hooks"]["SessionEnd"]  # which is not known to be an event of Codex
    for name, ((entry,),) in entries_of(codex):
        assert entry.pop("timeout") >= 2 * _TIME_LIMITS.get(name, 30)
    assert codex == hooks


def test_the_marketplace_names_it():
    market = read(".claude-plugin/marketplace.json")
    (plugin,) = market["plugins"]
    assert (market["name"], plugin["name"], plugin["source"]) == ("mdmem", "mdmem", "./mdmem")
    assert plugin["description"] == read("mdmem/.claude-plugin/plugin.json")["description"]


def test_every_hook_is_answered_and_none_other():
    """By one line: Copilot CLI and Qwen Code pass over `args`."""
    hooks = read("mdmem/hooks/hooks.json")
    assert list(hooks["hooks"]) == list(_HANDLERS)
    for _, ((entry,),) in entries_of(hooks):
        assert entry == {"type": "command", "command": "mdmem agent-hook"}


def test_the_server_is_that_of_the_project():
    server = read("mdmem/.mcp.json")["mcpServers"]["mdmem"]
    assert server == {
        "command": "mdmem",
        "args": ["mcp"],
        "env": {"MDMEM_WORKSPACE": "${CLAUDE_PROJECT_DIR}"},
    }


class TestSkill:
    def test_is_short_and_says_when(self):
        text = SKILL.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 100
        head = frontmatter.loads(text).metadata
        assert head["name"] == "memory"
        assert len(str(head["description"])) <= 300
        assert head["metadata"] == {"openclaw": {"requires": {"bins": ["mdmem"]}}}

    def test_every_tool_is_named_and_none_other(self):
        named = set(re.findall(r"`(memory_\w+)", SKILL.read_text(encoding="utf-8")))
        assert named - {"memory_"} == set(TOOLS) - {"memory_context"}

    def test_the_commands_beside_the_tools_are_right(self, shell: Shell):
        commands = re.findall(r"`mdmem ([a-z-]+)", SKILL.read_text(encoding="utf-8"))
        assert len(commands) > 8
        for command in commands:
            assert shell.run(command, "--help").status == 0

    @pytest.mark.parametrize("name", ["MEMORY.md", "USER.md", "SOUL.md", "IDENTITY.md"])
    def test_it_says_what_goes_where(self, name: str):
        assert f"| {name}" in SKILL.read_text(encoding="utf-8")


def test_the_command_prints_its_folder(shell: Shell):
    shell.patch.setenv("PATH", str(Path(sys.executable).parent))
    printed = shell.run("plugin")
    assert (printed.out, printed.err) == (f"{BUNDLE}\n", "")
    assert shell.run("plugin", "--json").answer == {"plugin": str(BUNDLE)}


def test_it_says_what_a_host_would_not_find(shell: Shell):
    shell.patch.setenv("PATH", "/nowhere")
    printed = shell.run("plugin")
    assert printed.out == f"{BUNDLE}\n"
    assert f"it is in {Path(sys.executable).parent}" in printed.err
