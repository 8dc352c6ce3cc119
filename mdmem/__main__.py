"""`mdmem`, and `python -m mdmem`, as a process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from mdmem.startup import late
from mdmem.startup.launch import launch

if TYPE_CHECKING:
    from mdmem import agenthooks, cli, mergedriver
    from mdmem.cli.call import Call
    from mdmem.mcp import serving
    from mdmem.memtool import serving as tool_serving
else:
    agenthooks = late.module("mdmem.agenthooks")
    cli = late.module("mdmem.cli")
    mergedriver = late.module("mdmem.mergedriver")
    serving = late.module("mdmem.mcp.serving")
    tool_serving = late.module("mdmem.memtool.serving")


def _serve(call: Call) -> int:
    """Run the server for agents."""
    return serving.serve(call.workspace, os.environ, call.values["read_only"])


def _answer_tool(call: Call) -> int:
    """Run the memory tool."""
    return tool_serving.serve(call.workspace, os.environ)


_WAYS_PAST: Mapping[str, Callable[[], int]] = {"agent-hook": lambda: agenthooks.main(), "merge-driver": lambda: mergedriver.main()}
"""Commands that go past the command line, so that nothing that is typed wrong stops a session or a merge: an agent's host calls the one at each
prompt, git the other for each file that both sides changed."""


def run() -> NoReturn:
    """Run the command line of this process, and leave."""
    way = _WAYS_PAST.get(sys.argv[1]) if len(sys.argv) > 1 and "--help" not in sys.argv else None
    launch(way or (lambda: cli.main(rooms={"mcp": _serve, "memory-tool": _answer_tool})))


if __name__ == "__main__":
    run()
