"""The marks that hosts leave in the shells they run: a command there is by the host's agent."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import World
from installs import CLAUDE_CODE, CODEX, GEMINI, OPENCODE, Client, install
from scripted_api import GenerateApi, Json, MessagesApi, ResponsesApi, ScriptedApi
from trials import Trial, make_trial

pytestmark = pytest.mark.clients
PROGRAM = Path(sys.executable).with_name("mdmem")
COMMAND = f'env > shell.txt && {PROGRAM} log "typed in a shell"'
"""The whole path: a login shell has another PATH."""
DONE: Json = {"text": "done"}
Make = Callable[..., Trial]


@pytest.fixture
def make(world: World, repository: Path) -> Make:
    def made(client: Client, **variables: str) -> Trial:
        return make_trial(world, repository, install(client), variables)

    return made


def shell(tool: str, argument: str = "command") -> Json:
    return {"tool": tool, "input": {argument: COMMAND, "description": "look"}}


def settings(trial: Trial, name: str, text: str) -> None:
    path = trial.world.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def claude(make: Make, api: ScriptedApi) -> Trial:
    variables = {"ANTHROPIC_API_KEY": "sk-ant-none", "ANTHROPIC_BASE_URL": api.address}
    variables["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
    trial = make(CLAUDE_CODE, **variables)
    trial.run("claude", "-p", "look", "--allowedTools", "Bash")
    return trial


def gemini(make: Make, api: ScriptedApi) -> Trial:
    variables = {"GEMINI_API_KEY": "none", "GEMINI_CLI_NO_RELAUNCH": "true", "NO_BROWSER": "1"}
    trial = make(GEMINI, GOOGLE_GEMINI_BASE_URL=api.address, **variables)
    auth = '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
    settings(trial, ".gemini/settings.json", auth)
    trial.run("gemini", "--skip-trust", "-m", "gemini-2.5-flash", "-y", "-p", "look")
    return trial


def codex(make: Make, api: ScriptedApi) -> Trial:
    trial = make(CODEX, SCRIPTED_KEY="none")
    provider = f'name = "scripted"\nbase_url = "{api.address}"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
    own = f'model = "gpt-5"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\n{provider}'
    settings(trial, ".codex/config.toml", own)
    unbounded = "--dangerously-bypass-approvals-and-sandbox"
    trial.run("codex", "exec", "--skip-git-repo-check", unbounded, "look")
    return trial


def opencode(make: Make, api: ScriptedApi) -> Trial:
    switched_off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
    trial = make(OPENCODE, **{f"OPENCODE_DISABLE_{name}": "1" for name in switched_off})
    model = {"name": "scripted", "limit": {"context": 200_000, "output": 8_000}, "tool_call": True}
    provider = {
        "npm": "@ai-sdk/anthropic",
        "name": "scripted",
        "options": {"baseURL": f"{api.address}/v1", "apiKey": "none"},
        "models": {"scripted": model},
    }
    name = "scripted/scripted"
    own = {"model": name, "small_model": name, "provider": {"scripted": provider}}
    settings(trial, ".config/opencode/opencode.json", json.dumps({**own, "autoupdate": False}))
    trial.run("opencode", "run", "look")
    return trial


@pytest.mark.parametrize(
    ("host", "run", "api", "step"),
    [
        ("claude-code", claude, MessagesApi, shell("Bash")),
        ("gemini-cli", gemini, GenerateApi, shell("run_shell_command")),
        ("codex", codex, ResponsesApi, shell("exec_command", "cmd")),
        ("opencode", opencode, MessagesApi, shell("bash")),
    ],
)
def test_a_command_there_is_by_the_hosts_agent(
    make: Make,
    host: str,
    run: Callable[[Make, ScriptedApi], Trial],
    api: type[ScriptedApi],
    step: Json,
):
    with api([step, DONE]) as served:
        trial = run(make, served)
    environment = trial.read("shell.txt")
    message = trial.git("log", "-1", "--format=%B")
    assert f"Mdmem-Actor: agent/{host}\n" in message, environment
