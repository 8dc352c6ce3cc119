"""Let the user edit a text in their editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from mdmem.errors import UsageProblem


def edit_text(text: str, option: str, without: str) -> str:
    """Let the user edit a text. Errors name `option`, and `without` as another way."""
    program = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not program or not sys.stdin.isatty():
        raise UsageProblem(f"{option} needs a terminal and $EDITOR", f"Without them: {without}")
    with tempfile.TemporaryDirectory(prefix="mdmem-") as folder:
        path = Path(folder) / "section.md"
        path.write_bytes(text.encode())
        try:
            status = subprocess.run([*shlex.split(program), str(path)], check=False).returncode
        except (ValueError, OSError) as problem:
            raise UsageProblem(
                f"$EDITOR is {program!r}, which cannot be run: {problem}; nothing was changed"
            ) from problem
        if status:
            raise UsageProblem(f"{program} ended with an error; nothing was changed")
        return path.read_bytes().decode("utf-8", "surrogateescape")
