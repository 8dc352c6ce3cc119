"""The clients that are tried, their versions, and where they are installed: a folder of the user's
cache for each, by npm.
"""

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "mdmem", "clients")
_ENVIRONMENT = {**os.environ, "DISABLE_AUTOUPDATER": "1"}
"""The person's own environment, with npm's registry and cache. Read before a test seals
the world.
"""
_SECONDS = 900
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
        wanted = _ENVIRONMENT.get("CLIENT_VERSIONS") or "newest"
        return {"newest": self.newest, "oldest": self.oldest, "latest": "latest"}[wanted]


CLAUDE_CODE = Client("@anthropic-ai/claude-code", "claude", newest="2.1.330", oldest="2.1.197")
CODEX = Client("@openai/codex", "codex", newest="0.169.0", oldest="0.169.0")
GEMINI = Client("@google/gemini-cli", "gemini", newest="0.61.0", oldest="0.61.0")
PI = Client("@mariozechner/pi-coding-agent", "pi", newest="0.73.1", oldest="0.73.1")
OPENCODE = Client("opencode-ai", "opencode", newest="1.18.33", oldest="1.18.33")
OPENCLAW = Client("openclaw", "openclaw", newest="2026.9.6", oldest="2026.9.6", node="24.21.0")


def install(client: Client) -> Path:
    """The folder of a client's programs; the test is skipped where npm cannot bring it."""
    folder = CACHE / f"{client.package.replace('/', '+')}@{client.version}"
    programs = folder / "node_modules" / ".bin"
    if (folder / "complete").exists() and client.version != "latest":
        return programs
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"{client.package} is not installed, and there is no npm to install it with")
    folder.mkdir(parents=True, exist_ok=True)
    if client.node:
        _install_packages(
            npm,
            folder,
            f"node-{sys.platform}-{_MACHINES.get(platform.machine(), platform.machine())}@{client.node}",
        )
    _install_packages(npm, folder, f"{client.package}@{client.version}")
    if not (programs / client.program).exists():
        pytest.skip(f"{client.package} has no program {client.program}")
    (folder / "complete").touch()
    return programs


def _install_packages(npm: str, folder: Path, package: str) -> None:
    """Install a package; its own scripts run with the Node that is there already, if
    there is one.
    """
    path = os.pathsep.join((str(folder / "node_modules" / ".bin"), _ENVIRONMENT["PATH"]))
    words = [
        npm,
        "install",
        "--prefix",
        str(folder),
        "--no-audit",
        "--no-fund",
        "--loglevel",
        "error",
        package,
    ]
    try:
        done = subprocess.run(
            words,
            env=_ENVIRONMENT | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{package} did not install within {_SECONDS} s")
    if done.returncode != 0:
        pytest.skip(
            f"{package} does not install: {(done.stderr.strip().splitlines() or ['no word from npm'])[0]}"
        )
