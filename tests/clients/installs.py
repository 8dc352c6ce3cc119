"""The clients that are tried, their versions, and where they are installed: a folder of the user's
cache for each, by npm.
"""

import platform
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from npm_packages import CACHE, ENVIRONMENT, install_package

_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Client:
    """A program of npm. `newest` is the version that is tried, `oldest` the first that was seen to
    work.
    """

    package: str
    program: str
    newest: str
    oldest: str
    node: str = ""
    """The version of Node that it needs, where that may be newer than the machine's."""

    @property
    def version(self) -> str:
        """The one to try: `CLIENT_VERSIONS` is newest, oldest, or `latest`, which npm has now."""
        wanted = ENVIRONMENT.get("CLIENT_VERSIONS") or "newest"
        return {"newest": self.newest, "oldest": self.oldest, "latest": "latest"}[wanted]


CLAUDE_CODE = Client("@anthropic-ai/claude-code", "claude", newest="2.1.332", oldest="2.1.197")
CODEX = Client("@openai/codex", "codex", newest="0.171.0", oldest="0.169.0")
GEMINI = Client("@google/gemini-cli", "gemini", newest="0.61.0", oldest="0.61.0")
COPILOT = Client("@github/copilot", "copilot", newest="1.0.102", oldest="1.0.102", node="24.21.0")
QWEN = Client("@qwen-code/qwen-code", "qwen", newest="0.24.4", oldest="0.24.4", node="24.21.0")
PI = Client("@mariozechner/pi-coding-agent", "pi", newest="0.73.1", oldest="0.73.1")
OPENCODE = Client("opencode-ai", "opencode", newest="1.18.33", oldest="1.18.33")
OPENCLAW = Client("openclaw", "openclaw", newest="2026.9.6", oldest="2026.9.6", node="24.21.0")


@cache
def install(client: Client) -> Path:
    """The folder of a client's programs; the test is skipped where npm cannot bring it."""
    folder = CACHE / f"{client.package.replace('/', '+')}@{client.version}"
    programs = folder / "node_modules" / ".bin"
    if (folder / "complete").exists() and client.version != "latest":
        return programs
    if client.node:
        machine = _MACHINES.get(platform.machine(), platform.machine())
        install_package(folder, f"node-{sys.platform}-{machine}@{client.node}")
    install_package(folder, f"{client.package}@{client.version}")
    if not (programs / client.program).exists():
        pytest.skip(f"{client.package} has no program {client.program}")
    (folder / "complete").touch()
    return programs
