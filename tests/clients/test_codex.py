"""Codex with the plugin: asserted is what the model would have been sent, and what became of
memory.

Its hooks of a compaction are told neither of the summary nor heard by it; so nothing of a
compaction is kept, but the block comes anew.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from installs import CODEX, install
from scripted_api import Json, ResponsesApi, blocks, texts, tool_names, tools
from trials import BOILER, QUESTION, Trial, make_trial

from mdmem.mcp.tools import TOOLS

pytestmark = pytest.mark.clients
SERVER = "mcp__mdmem"
PLAIN, SEARCHING = "gpt-5", "gpt-5.5"
"""A model that is shown all tools, and one that looks for those of servers."""
MOST_TOKENS = 50_000
SETTINGS = f"""\
model = "MODEL"
model_provider = "scripted"
model_auto_compact_token_limit = {MOST_TOKENS}

[model_providers.scripted]
name = "scripted"
base_url = "ADDRESS"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""


@pytest.fixture(scope="module")
def programs() -> Path:
    return install(CODEX)


@pytest.fixture
def trial(world: World, repository: Path, programs: Path) -> Trial:
    """Codex with the plugin, in a home that holds nothing else."""
    made = make_trial(world, repository, programs, {"SCRIPTED_KEY": "none"})
    settings_file(made).parent.mkdir()
    settings_file(made).write_text(SETTINGS)
    made.run("codex", "plugin", "marketplace", "add", made.run("mdmem", "plugin").strip())
    made.run("codex", "plugin", "add", "mdmem@mdmem")
    return made


def settings_file(trial: Trial) -> Path:
    return trial.world.home / ".codex" / "config.toml"


def talk(
    trial: Trial, steps: Sequence[Json], *turns: str, resume: bool = False, model: str = PLAIN
) -> ResponsesApi:
    """A session of these turns, each a process of its own; each step is one request, and there are
    no others.
    """
    options = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
    settings = settings_file(trial).read_text()
    with ResponsesApi(steps) as api:
        settings_file(trial).write_text(
            settings.replace("ADDRESS", api.address).replace("MODEL", model)
        )
        for number, turn in enumerate(turns):
            trial.run(
                "codex", "exec", *(["resume", "--last"] if number or resume else []), *options, turn
            )
        settings_file(trial).write_text(settings)
    assert len(api.requests) == len(steps), "a turn was added, or one is missing"
    return api


def say(words: str, **values: Any) -> Json:
    return {"text": words, **values}


def call(tool: str, used: int = 100, **arguments: Any) -> Json:
    return {"tool": tool, "namespace": SERVER, "input": arguments, "used": used}


def test_start_and_prompts(trial: Trial):
    api = talk(
        trial, [say("hello"), say("Nansen"), say("fine")], "hello", QUESTION, "thanks, go on"
    )
    start, block = blocks(api.requests[-1])
    assert "breakfast: porridge and coffee" in start
    assert BOILER not in start
    assert BOILER in block
    assert [blocks(request) for request in api.requests] == [
        [start],
        [start, block],
        [start, block],
    ]
    assert "memory: Long-term memory" in "\n".join(texts(api.requests[0]))


def test_the_tools_are_there_in_the_first_request(trial: Trial):
    api = talk(trial, [say("hello")], "hello")
    assert {f"{SERVER}.{name}" for name in TOOLS} <= set(tool_names(api.requests[0]))


def test_where_tools_are_looked_for_first_they_are_found(trial: Trial):
    api = talk(trial, [{"find": "memory"}, say("done")], "hello", model=SEARCHING)
    assert "tool_search" in tool_names(api.requests[0])
    assert SERVER not in json.dumps(tools(api.requests[0]))
    output = next(item for item in api.requests[1]["input"] if item["type"] == "tool_search_output")
    assert {name for name, tool in TOOLS.items() if tool.always} <= {
        each["name"] for each in output["tools"][0]["tools"]
    }


def test_search_and_write_by_tool(trial: Trial):
    api = talk(
        trial,
        [
            call("memory_search", query="boiler serviced"),
            call("memory_log", text="the roof was swept"),
            say("done"),
        ],
        "look",
    )
    read = "\n".join(texts(api.requests[-1]))
    assert f"- memory/2025-11-11.md:5 [fact] {BOILER}" in read
    assert '"changed": true' in read
    message = trial.git("log", "-1", "--format=%B")
    assert "the roof was swept\n" in message
    assert "Mdmem-Actor: mcp/codex" in message


def test_a_resumed_one_gets_its_block_again_only_if_it_differs(trial: Trial):
    first = talk(trial, [say("hello"), say("again")], "hello", "again")
    (start,) = blocks(first.requests[-1])
    trial.run("mdmem", "log", "--fact", "the cellar is dry")
    second = talk(trial, [say("and again")], "and again", resume=True)
    assert ["the cellar is dry" in block for block in blocks(second.requests[-1])] == [False, True]
    assert blocks(second.requests[-1])[0] == start


def test_after_a_compaction_the_block_is_there_once(trial: Trial):
    before = trial.git("rev-parse", "HEAD")
    steps = [
        call("memory_search", used=MOST_TOKENS + 1, query="boiler"),
        say("done"),
        say("Nansen"),
    ]
    api = talk(trial, steps, "hello", QUESTION)
    assert "CONTEXT CHECKPOINT COMPACTION" in texts(api.asides[0])[-1]
    assert len(api.asides) == 1
    assert [len(blocks(request)) for request in api.requests] == [1, 1, 2]
    assert BOILER in blocks(api.requests[-1])[-1]
    assert trial.git("rev-parse", "HEAD") == before


def test_switched_off(trial: Trial):
    trial.variables["MDMEM_CONTEXT"] = "off"
    api = talk(trial, [say("hello"), say("Nansen")], "hello", QUESTION)
    assert [blocks(request) for request in api.requests] == [[], []]
