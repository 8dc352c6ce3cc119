"""Sessions of which a model reads what the rules have left."""

import os
import time
from pathlib import Path

from workspaces import Desk

KEPT = "We decided to keep the old pump of number 3."
SMALL = "The pipes behind wall {} drip slowly beside the old shelves of the damp cellar, under the stairs."
"""A sentence that the rules weigh too light for an entry."""
TALK = [KEPT, *(SMALL.format(number) for number in range(2, 12))]


def settings(at: Desk, folder: Path, *lines: str, digest: str = "model") -> None:
    path = at.world.home / ".config" / "mdmem" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n".join(
            [
                f'sessions = ["{folder}/*.jsonl"]',
                'session_scope = "all"',
                f'digest = "{digest}"',
                'dream = "off"',
                *lines,
                "",
            ]
        )
    )


def aged(path: Path, minutes: float = 20) -> Path:
    """A transcript in which nothing was said for so long."""
    os.utime(path, (time.time() - minutes * 60,) * 2)
    return path


def log_of(at: Desk) -> str:
    return "".join(path.read_text() for path in sorted((at.root / "memory").glob("*.md")))


def entries(at: Desk) -> list[str]:
    return [line for line in log_of(at).splitlines() if line.startswith("- ")]
