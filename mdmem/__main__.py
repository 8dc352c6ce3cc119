"""`mdmem`, and `python -m mdmem`, as a process."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import NoReturn

from mdmem.startup.launch import launch

# called by hosts at each prompt, and by git for each merged file: they bypass the command line, so
# that no wrong argument stops a session or a merge
_DIRECT_COMMANDS = {"agent-hook": "mdmem.agenthooks", "merge-driver": "mdmem.mergedriver"}


def run() -> NoReturn:
    """Run the command line of this process, and leave."""
    name = (
        _DIRECT_COMMANDS.get(sys.argv[1])
        if len(sys.argv) > 1 and "--help" not in sys.argv
        else None
    )
    launch(lambda: int(import_module(name or "mdmem.cli").main()))


if __name__ == "__main__":
    run()
