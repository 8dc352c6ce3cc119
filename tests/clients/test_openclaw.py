"""OpenClaw with the bundle, and with the workspace as its own: its own search of what mdmem wrote;
skill, server and a turn.
"""

import json
from pathlib import Path

import pytest
from conftest import World
from installs import OPENCLAW, install
from scripted_api import MessagesApi, texts
from trials import BOILER, Trial, make_trial

from mdmem.mcp.tools import TOOLS

pytestmark = [pytest.mark.clients, pytest.mark.weekly]


@pytest.fixture(scope="module")
def programs() -> Path:
    return install(OPENCLAW)


def test_search_skill_server_and_turn(world: World, repository: Path, programs: Path):
    trial = make_trial(world, repository, programs, {})
    with MessagesApi(
        [
            {
                "tool": "tool_call",
                "input": {"id": "mdmem__memory_search", "args": {"query": "boiler serviced"}},
            },
            {
                "tool": "tool_call",
                "input": {"id": "mdmem__memory_log", "args": {"text": "the roof was swept"}},
            },
            {"text": "done"},
        ]
    ) as api:
        settings_file = world.home / ".openclaw" / "openclaw.json"
        settings_file.parent.mkdir()
        settings_file.write_text(json.dumps(settings(trial, api.address)))
        trial.run("mdmem", "log", "--fact", "the backup server stands in Porto")
        assert "the backup server stands in Porto" in trial.run(
            "openclaw", "memory", "search", "where does the backup server stand"
        )

        trial.run(
            "openclaw",
            "plugins",
            "install",
            "--force",
            "--accept-capabilities",
            trial.run("mdmem", "plugin").strip() + "/mdmem",
        )
        skill = trial.run("openclaw", "skills", "info", "memory")
        assert "Ready" in skill
        assert "Visible to model: yes" in skill

        server = {
            "command": "mdmem",
            "args": ["mcp"],
            "env": {"MDMEM_WORKSPACE": str(trial.folder)},
        }
        trial.run("openclaw", "mcp", "set", "mdmem", json.dumps(server))
        assert f"mdmem: {len(TOOLS)} tools, resources, prompts" in trial.run(
            "openclaw", "mcp", "probe"
        )

        trial.run("openclaw", "agent", "--local", "--agent", "main", "--message", "look it up")
    read = "\n".join(texts(api.requests[-1]))
    assert "<name>memory</name>" in read
    assert f"- memory/2025-11-11.md:5 [fact] {BOILER}" in read
    assert "Mdmem-Op: log\n" in trial.git("log", "-1", "--format=%B")


def settings(trial: Trial, address: str) -> dict[str, object]:
    model = {"id": "scripted", "name": "scripted", "contextWindow": 200_000, "maxTokens": 8_000}
    provider = {
        "baseUrl": address,
        "apiKey": "none",
        "api": "anthropic-messages",
        "models": [model],
    }
    defaults = {"model": {"primary": "scripted/scripted"}, "workspace": str(trial.folder)}
    return {"models": {"providers": {"scripted": provider}}, "agents": {"defaults": defaults}}
