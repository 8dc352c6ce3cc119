"""Nothing of a workspace that is not in the pool is read, by any verb, tool or door."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_table import ROWS, SECRET
from commandline import Shell
from conftest import World
from record_memory_tool import view
from test_pool import pool
from test_pool import workspaces as workspaces

from mdmem import agenthooks
from mdmem.mcp.door import Door
from mdmem.mcp.tools import PROMPTS, TOOLS
from mdmem.memory import Memory
from mdmem.memtool import Backend
from mdmem.model.reads import Show
from mdmem.queries import pool as pools


@pytest.fixture
def at(shell: Shell, world: World, workspaces: Callable[..., Path]) -> Shell:
    """A memory whose pool is the team's. Private ones lie beside, above, and in the same tree; the
    team's own pool names one of them.
    """
    secret = (f"the {SECRET} lamp #habits", f"lamp: a {SECRET}", "tea at four #habits")
    day = f"# 2026-03-05\n\n## 09:00\n\n- a {SECRET} came\n"
    profile = f"# User\n\n- name: {SECRET}\n"
    workspaces("team", "the deploy lamp is red", "tea at four #habits")
    for name in ("private", "teams"):
        workspaces(name, *secret, **{"memory/2026-03-05.md": day, "USER.md": profile})
    for folder in (shell.folder, world.home / "team"):
        (folder / "agents/other/memory").mkdir(parents=True)
        (folder / "agents/other/MEMORY.md").write_text(f"# Memory\n\n- the {SECRET} lamp\n")
        (folder / "agents/other/memory/2026-03-05.md").write_text(day)
    (world.home / "team" / "link").symlink_to(world.home / "private")
    shell.git("add", "-A")
    shell.git("commit", "-qm", "by hand")
    table = f'[in."{world.home}/team"]\npool = ["~/private"]\n[in."{shell.folder}"]'
    pool(world, "~/team", table=table)
    assert SECRET in shell.run("-C", str(world.home / "team"), "search", "lamp").out
    return shell


def test_no_command_prints_a_line_from_outside_the_pool(at: Shell):
    for command, arguments in (
        (command, arguments) for command, row in ROWS.items() for arguments in row.printing
    ):
        for form in ((), ("--json",)):
            done = at.run(*command.split(), *arguments, *form)
            printed = f"{done.out}{done.err}"
            for argument in arguments:  # what was asked is said again
                printed = printed.replace(f'"query": "{argument}"', "")
                printed = printed if argument != SECRET else printed.replace(SECRET, "", 2)
            assert SECRET not in printed, (command, arguments)


def test_no_tool_of_the_server_gives_one(at: Shell, world: World):
    door = Door(str(at.folder), world.environment)
    calls = {
        "memory_search": [
            {"query": "lamp"},
            {"tags": ["habits"]},
            {"query": "lamp", "as_of": "today"},
        ],
        "memory_get": [{}, {"name": "MEMORY.md"}, {"name": "today"}],
        "memory_context": [{}, {"prompt": "lamp", "budget": 8000}],
        "memory_remember": [{"text": "a lamp for me"}],
        "memory_log": [{"text": "the lamp went on"}],
        "memory_edit": [{"section": "Pets", "append": "- pet: lamp"}],
        "memory_forget": [{"fact": "lamp: a cello"}],
        "memory_task": [{"action": "list"}],
    }
    assert list(calls) == list(TOOLS)
    for tool, of_tool in calls.items():
        for arguments in of_tool:
            text, _ = door.call_tool(tool, arguments, "x")
            assert SECRET not in text, (tool, arguments)
    for uri in ("mdmem://context", "mdmem://file/MEMORY.md"):
        assert SECRET not in door.read_resource(uri, "x")[0]
    for uri in ("../home/private/MEMORY.md", "agents/other/MEMORY.md"):
        text, failed = door.read_resource(f"mdmem://file/{uri}", "x")
        assert failed
        assert SECRET not in text
    for prompt in PROMPTS:
        assert SECRET not in door.prompt_text(prompt, "x")[0]
    door.close(0)


def hook_texts(at: Shell, world: World) -> Iterator[str]:
    for event in (
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "which lamp is red after the deploy"},
        {"hook_event_name": "PreCompact"},
        {"hook_event_name": "PostCompact", "compact_summary": "Memory:\n- the lamp is on\n"},
    ):
        parsed = agenthooks.parse_event(
            json.dumps(
                {**event, "session_id": event["hook_event_name"], "cwd": str(at.folder)}
            ).encode()
        )
        assert parsed
        yield agenthooks.answer(parsed, world.environment)


def test_no_hook_gives_one(at: Shell, world: World):
    texts = list(hook_texts(at, world))
    assert "team:MEMORY.md" in texts[0]
    assert "team:MEMORY.md" in texts[1]
    assert all(SECRET not in text for text in texts)


def test_the_memory_tool_gives_one_of_this_workspace_alone(at: Shell, world: World):
    backend = Backend(Memory.open(at.folder, world.environment))
    for path in ("/memories", "/memories/MEMORY.md", "/memories/../../home/private/MEMORY.md"):
        assert SECRET not in backend.call(view(path))
        assert "deploy lamp" not in backend.call(view(path))


def test_a_workspace_that_left_the_pool_is_read_no_more(at: Shell, world: World):
    """In a process that stays open."""
    memory = Memory.open(at.folder, world.environment)
    request = "deploy lamp dark rooms"
    from mdmem.model.searches import Search

    def names() -> set[str | None]:
        return {hit.workspace for hit in memory.search(Search(request)).hits}

    assert "team" in names()
    pool(world)
    assert names() == {None}
    pool(world, "~/private")
    assert names() == {None, "private"}
    shutil.rmtree(world.home / "private")
    assert names() == {None}
    assert pools.names(memory.workspace) == ["private"]
    assert SECRET not in memory.show(Show(file="MEMORY.md")).text
