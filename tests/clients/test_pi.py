"""Pi with mdmem's extension: blocks at the start and for a prompt, and the end of a session."""

import json
from pathlib import Path

import pytest
from conftest import World
from installs import PI, install
from scripted_api import MessagesApi, blocks
from trials import BOILER, QUESTION, make_trial

pytestmark = pytest.mark.clients


def test_blocks_at_the_start_and_for_a_prompt_once(world: World, repository: Path):
    trial = make_trial(
        world, repository, install(PI), {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}
    )
    models = world.home / ".pi" / "agent" / "models.json"
    models.parent.mkdir(parents=True)
    with MessagesApi([{"text": "Nansen"}, {"text": "as I said"}]) as api:
        provider = {
            "baseUrl": api.address,
            "apiKey": "none",
            "api": "anthropic-messages",
            "models": [{"id": "scripted"}],
        }
        models.write_text(json.dumps({"providers": {"scripted": provider}}))
        trial.run("mdmem", "init", "--for", "pi")
        command = ["pi", "-p", "--provider", "scripted", "--model", "scripted"]
        trial.run(*command, QUESTION)
        trial.run(*command, "--continue", QUESTION)
    first, second = ("\n".join(blocks(each)) for each in api.requests)
    assert "breakfast: porridge and coffee" in first
    assert BOILER in first
    assert second == first  # those of the first prompt are in the history, and no others
    events = (repository / ".git/mdmem").rglob("events.jsonl")
    lines = [line for path in events for line in path.read_text().splitlines()]
    hooks = [json.loads(line).get("hook") for line in lines]
    assert hooks.count("SessionEnd") == 2
    trial.run("mdmem", "init", "--for", "pi", "--undo")
    assert not (world.home / ".pi/agent/extensions").exists()
