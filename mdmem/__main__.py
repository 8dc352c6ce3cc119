"""`mdmem`, and `python -m mdmem`, as a process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from mdmem.startup import late
from mdmem.startup.launch import launch

if TYPE_CHECKING:
    from mdmem import agenthooks, cli
    from mdmem.cli.call import Call
    from mdmem.mcp import serving
    from mdmem.memtool import serving as tool_serving
else:
    agenthooks = late.module("mdmem.agenthooks")
    cli = late.module("mdmem.cli")
    serving = late.module("mdmem.mcp.serving")
    tool_serving = late.module("mdmem.memtool.serving")


def _serve(call: Call) -> int:
    """Run the server for agents."""
    return serving.serve(call.workspace, os.environ, call.values["read_only"])


def _answer_tool(call: Call) -> int:
    """Run the memory tool."""
    return tool_serving.serve(call.workspace, os.environ)


def run() -> NoReturn:
    """Run the command line of this process, and leave.

    The hook of an agent's host goes past it: it is called at each prompt, and nothing that is typed wrong may stop a session.
    """
    is_hook = sys.argv[1:2] == ["agent-hook"] and "--help" not in sys.argv
    launch(lambda: agenthooks.main() if is_hook else cli.main(rooms={"mcp": _serve, "memory-tool": _answer_tool}))


if __name__ == "__main__":
    run()
