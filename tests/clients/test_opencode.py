"""opencode with the server: its tools are in the first request, and read and write."""

import json
from pathlib import Path

import pytest
from conftest import World
from installs import OPENCODE, install
from scripted_api import MessagesApi, blocks, texts, tool_names
from trials import BOILER, QUESTION, Trial, make_trial

from mdmem.mcp.tools import TOOLS

pytestmark = pytest.mark.clients


@pytest.fixture(scope="module")
def programs() -> Path:
    return install(OPENCODE)


@pytest.fixture
def trial(world: World, repository: Path, programs: Path) -> Trial:
    switched_off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
    return make_trial(
        world, repository, programs, {f"OPENCODE_DISABLE_{name}": "1" for name in switched_off}
    )


MODEL = {
    "name": "scripted",
    "limit": {"context": 200_000, "output": 8_000},
    "tool_call": True,
}


def set_up(trial: Trial, api: MessagesApi) -> Path:
    """The user's settings, with mdmem put in by its own command."""
    provider = {
        "npm": "@ai-sdk/anthropic",
        "name": "scripted",
        "options": {"baseURL": f"{api.address}/v1", "apiKey": "none"},
        "models": {"scripted": MODEL},
    }
    settings = {
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": {"scripted": provider},
        "autoupdate": False,
    }
    file = trial.world.home / ".config" / "opencode" / "opencode.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(settings))
    trial.run("mdmem", "init", "--for", "opencode")
    return file


def test_search_and_write_by_tool(trial: Trial):
    search = {"tool": "mdmem_memory_search", "input": {"query": "boiler serviced"}}
    log = {"tool": "mdmem_memory_log", "input": {"text": "the roof was swept"}}
    with MessagesApi([search, log, {"text": "done"}]) as api:
        set_up(trial, api)
        trial.run("opencode", "run", "look it up")
    assert {f"mdmem_{name}" for name in TOOLS} <= set(tool_names(api.requests[0]))
    read = "\n".join(texts(api.requests[-1]))
    assert f"- memory/2025-11-11.md:5 [fact] {BOILER}" in read
    assert '"changed": true' in read
    assert "Mdmem-Actor: mcp/opencode\n" in trial.git("log", "-1", "--format=%B")
    assert len(api.requests) == 3


def test_blocks_at_the_start_and_for_a_prompt_once(trial: Trial):
    with MessagesApi([{"text": "Nansen"}, {"text": "as I said"}]) as api:
        file = set_up(trial, api)
        trial.run("opencode", "run", QUESTION)
        trial.run("opencode", "run", "--continue", QUESTION)
    first, second = ("\n".join(blocks(each)) for each in api.requests[:2])
    assert "breakfast: porridge and coffee" in first
    assert BOILER in first
    assert second == first  # those of the first prompt are in the history, and no others
    trial.run("mdmem", "init", "--for", "opencode", "--undo")
    assert "mdmem" not in file.read_text()
    assert not (file.parent / "plugin").exists()
