"""A memory, a home with nothing in it, and a client that is driven there against a scripted API."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conftest import World

NOW = "2026-03-05T10:00:00"
TODAY = "memory/2026-03-05.md"
MEMORY = "# Memory\n\n## Facts\n\n- breakfast: porridge and coffee\n- [preference] answers in short sentences\n"
YESTERDAY = "# 2026-03-04\n\n## 09:30\n\n- [fact] the heating was mended #house\n"
BOILER = "the boiler was serviced by Nansen and Sons for 340 crowns"
PAINTED = {"fence": "green", "gate": "white", "shed": "grey", "porch": "blue", "attic": "ochre"}
LONG_AGO = f"# 2025-11-11\n\n## 08:00\n\n- [fact] {BOILER} #house\n" + "".join(
    f"- [fact] the {name} was painted {colour}\n" for name, colour in PAINTED.items()
)
QUESTION = "who serviced the boiler, and for how much?"
_SECONDS = 300


@dataclass
class Trial:
    """A workspace, and the environment in which a client is started there."""

    world: World
    folder: Path
    programs: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        own = Path(sys.executable).parent
        path = os.pathsep.join((str(self.programs), str(own), self.world.environment["PATH"]))
        # Not all clients hand all variables on: the workspace is adopted by `mdmem init`.
        kept = {
            name: text for name, text in self.world.environment.items() if name != "MDMEM_ADOPT"
        }
        own_folder = {"PATH": path, "PWD": str(self.folder)}  # as a shell says it
        return {**kept, **own_folder, "MDMEM_NOW": NOW, **self.variables}

    def run(self, *command: str) -> str:
        """Run a command; what it printed. A failure fails the test, and says why."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, (
            f"{command} exited {done.returncode}:\n{done.stdout}{done.stderr}"
        )
        return done.stdout + done.stderr

    def read(self, path: str) -> str:
        full_path = self.folder / path
        return full_path.read_text(encoding="utf-8") if full_path.exists() else ""

    def git(self, *words: str) -> str:
        return self.world.git(self.folder, *words).stdout

    def converse(self, command: Sequence[str], turns: Sequence[str]) -> list[dict[str, Any]]:
        """Say each turn to a client that speaks in lines of JSON, once it has answered the one
        before; every line that it wrote.
        """
        errors = (self.world.home / "errors.txt").open("w")
        pipe = subprocess.PIPE
        client = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=pipe,
            stdout=pipe,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        limit = threading.Timer(_SECONDS, client.kill)
        limit.start()
        lines: list[dict[str, Any]] = []
        try:
            assert client.stdin is not None
            assert client.stdout is not None
            for turn in turns:
                client.stdin.write(
                    json.dumps({"type": "user", "message": {"role": "user", "content": turn}})
                    + "\n"
                )
                client.stdin.flush()
                for line in client.stdout:
                    lines.append(json.loads(line))
                    if lines[-1]["type"] == "result":
                        break
            client.stdin.close()
            lines += map(json.loads, client.stdout)
            assert client.wait() == 0, (self.world.home / "errors.txt").read_text()
            return lines
        finally:
            limit.cancel()
            client.kill()
            client.wait()
            errors.close()
            for stream in (client.stdin, client.stdout):
                if stream is not None:
                    stream.close()


def make_trial(
    world: World, repository: Path, programs: Path, variables: Mapping[str, str]
) -> Trial:
    """A workspace with a few memories, new and old."""
    trial = Trial(world, repository, programs, dict(variables))
    (repository / "memory").mkdir()
    for path, text in {
        "MEMORY.md": MEMORY,
        "memory/2026-03-04.md": YESTERDAY,
        "memory/2025-11-11.md": LONG_AGO,
    }.items():
        (repository / path).write_text(text, encoding="utf-8")
    trial.git("add", "-A")
    trial.git("commit", "-q", "-m", "first")
    trial.run("mdmem", "init")
    return trial
