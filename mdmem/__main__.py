"""`mdmem`, and `python -m mdmem`, as a process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

from mdmem.startup import late
from mdmem.startup.launch import launch

if TYPE_CHECKING:
    from mdmem import cli
    from mdmem.cli.call import Call
    from mdmem.mcp import serving
else:
    cli = late.module("mdmem.cli")
    serving = late.module("mdmem.mcp.serving")


def _serve(call: Call) -> int:
    """Run the server for agents."""
    return serving.serve(call.workspace, os.environ, call.values["read_only"])


def run() -> NoReturn:
    """Run the command line of this process, and leave."""
    launch(lambda: cli.main(rooms={"mcp": _serve}))


if __name__ == "__main__":
    run()
