"""The clients' command lines: against a scripted API, in an empty home, one process a turn."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from installs import CLAUDE_CODE, CODEX, COPILOT, GEMINI, OPENCODE, QWEN, Client
from scripted_api import ChatApi, GenerateApi, Json, MessagesApi, ResponsesApi, ScriptedApi
from terminals import type_lines
from trials import Trial

PROMPT = "PROMPT"
_ENTERS = 3
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07")


@dataclass(frozen=True)
class Driver:
    """A client's command line, what is in its home and its environment, and its names in mdmem.

    ADDRESS in a text is that of the API, FOLDER that of the trial. `begin` and `go_on` are the
    words that begin a session and go on with the last one.
    """

    client: Client
    api: type[ScriptedApi]
    begin: Sequence[str]
    go_on: Sequence[str]
    shell: tuple[str, str]
    """Its tool that runs a command, and the argument of that."""
    host: str
    """Its name in `init --for`."""
    actor: str
    """Its agent's name, in the shell."""
    tools: str
    """The prefix of the names of mdmem's tools; up to a dot, it is their namespace."""
    bridge: str | None = None
    """Its own tool by which it calls those of servers."""
    sessions: str | None = None
    """Its name in the setting `sessions`."""
    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    opened: Sequence[str] = ()
    """The words that open it at a terminal, with a prompt; none where it shows no notice there."""
    loses_prompts: bool = False
    """A resumed session lacks the first prompt, and with it the start block."""

    def set_up(self, trial: Trial, api: ScriptedApi) -> None:
        """Point the client to an API, and write its settings."""

        def filled(text: str) -> str:
            return text.replace("ADDRESS", api.address).replace("FOLDER", str(trial.folder))

        for name, text in self.variables.items():
            trial.variables[name] = filled(text)
        for name, text in self.files.items():
            path = trial.world.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(filled(text))

    def say(self, trial: Trial, prompt: str, goes_on: bool = False) -> str:
        words = self.go_on if goes_on else self.begin
        return trial.run(*(prompt if word == PROMPT else word for word in words))

    def open(self, trial: Trial, prompt: str) -> str:
        """Open it at a terminal, and press Enter at whatever it asks; returns the screen."""
        words = [prompt if word == PROMPT else word for word in self.opened]
        environment = {**trial.environment, "TERM": "xterm-256color"}
        screen = type_lines(words, trial.folder, environment, [""] * _ENTERS, lambda: _ENTERS)
        return _CONTROLS.sub(" ", screen)

    def use(self, name: str, **arguments: str) -> Json:
        """A step: the model uses a tool of mdmem."""
        if self.bridge:
            return {
                "tool": self.bridge,
                "input": {"name": self.tools + name, "arguments": arguments},
            }
        if self.tools.endswith("."):
            return {"tool": name, "namespace": self.tools.strip("."), "input": arguments}
        return {"tool": self.tools + name, "input": arguments}

    def call(self, command: str) -> Json:
        """A step: the model has a command run."""
        tool, argument = self.shell
        return {"tool": tool, "input": {argument: command, "description": "look"}}


_OPENCODE_MODEL = {
    "name": "scripted",
    "limit": {"context": 200_000, "output": 8_000},
    "tool_call": True,
}
_OPENCODE_PROVIDER = {
    "npm": "@ai-sdk/anthropic",
    "name": "scripted",
    "options": {"baseURL": "ADDRESS/v1", "apiKey": "none"},
    "models": {"scripted": _OPENCODE_MODEL},
}
_OPENCODE = {
    "model": "scripted/scripted",
    "small_model": "scripted/scripted",
    "provider": {"scripted": _OPENCODE_PROVIDER},
    "autoupdate": False,
}
_OFF = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
_KEY = "sk-ant-none-0123456789abcdefghij"
_CLAUDE = {
    "hasCompletedOnboarding": True,
    "theme": "dark",
    "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
    "projects": {"FOLDER": {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
}
_CLAUDE_TOOLS = "Bash,mcp__plugin_mdmem_mdmem"
_CODEX = """\
model = "gpt-5"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "ADDRESS"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""
_CODEX_OPTIONS = (
    "--skip-git-repo-check",
    "--dangerously-bypass-hook-trust",
    "--dangerously-bypass-approvals-and-sandbox",
)
_GEMINI = ("gemini", "--skip-trust", "-m", "gemini-2.5-flash", "-y")
_COPILOT = ("copilot", "--allow-all-paths", "-p", PROMPT)
DRIVERS = (
    Driver(
        client=CLAUDE_CODE,
        api=MessagesApi,
        begin=("claude", "-p", PROMPT, "--allowedTools", _CLAUDE_TOOLS),
        go_on=("claude", "-p", PROMPT, "--continue", "--allowedTools", _CLAUDE_TOOLS),
        shell=("Bash", "command"),
        host="claude",
        actor="claude-code",
        tools="mcp__plugin_mdmem_mdmem__",
        sessions="claude",
        files={".claude.json": json.dumps(_CLAUDE)},
        variables={
            "ANTHROPIC_API_KEY": _KEY,
            "ANTHROPIC_BASE_URL": "ADDRESS",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
        opened=("claude", PROMPT),
    ),
    Driver(
        client=CODEX,
        api=ResponsesApi,
        begin=("codex", "exec", *_CODEX_OPTIONS, PROMPT),
        go_on=("codex", "exec", "resume", "--last", *_CODEX_OPTIONS, PROMPT),
        shell=("exec_command", "cmd"),
        host="codex",
        actor="codex",
        tools="mcp__mdmem.",
        sessions="codex",
        files={".codex/config.toml": _CODEX},
        variables={"SCRIPTED_KEY": "none"},
        opened=("codex", *_CODEX_OPTIONS[1:], PROMPT),
    ),
    Driver(
        client=COPILOT,
        api=ChatApi,
        begin=_COPILOT,
        go_on=(*_COPILOT, "--continue"),
        shell=("bash", "command"),
        host="copilot",
        actor="copilot-cli",
        tools="mdmem-",
        sessions="copilot",
        variables={
            "COPILOT_PROVIDER_BASE_URL": "ADDRESS/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "gpt-4.1",
            "COPILOT_OFFLINE": "true",
            "COPILOT_ALLOW_ALL": "true",  # trusts the folder, too
            "COPILOT_AUTO_UPDATE": "false",
        },
    ),
    Driver(
        client=QWEN,
        api=ChatApi,
        begin=("qwen", "-y", PROMPT),
        go_on=("qwen", "-y", "--continue", PROMPT),
        shell=("run_shell_command", "command"),
        host="qwen",
        actor="qwen-code",
        tools="mcp__mdmem__",
        bridge="tool_call",
        sessions="qwen",
        files={".qwen/settings.json": '{"memory": {"enableManagedAutoMemory": false}}'},
        variables={
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": "ADDRESS/v1",
            "OPENAI_MODEL": "scripted",
        },
    ),
    Driver(
        client=GEMINI,
        api=GenerateApi,
        begin=(*_GEMINI, "-p", PROMPT),
        go_on=(*_GEMINI, "-r", "latest", "-p", PROMPT),
        shell=("run_shell_command", "command"),
        host="gemini",
        actor="gemini-cli",
        tools="mcp_mdmem_",
        sessions="gemini",
        files={
            ".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
        },
        variables={
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "NO_BROWSER": "1",
            "GOOGLE_GEMINI_BASE_URL": "ADDRESS",
        },
        opened=(*_GEMINI, "-i", PROMPT),
        loses_prompts=True,
    ),
    Driver(
        client=OPENCODE,
        api=MessagesApi,
        begin=("opencode", "run", PROMPT),
        go_on=("opencode", "run", "--continue", PROMPT),
        shell=("bash", "command"),
        host="opencode",
        actor="opencode",
        tools="mdmem_",
        files={".config/opencode/opencode.json": json.dumps(_OPENCODE)},
        variables={f"OPENCODE_DISABLE_{name}": "1" for name in _OFF},
        opened=("opencode", "--prompt", PROMPT),
    ),
)
