"""Start the server, or say which package is missing."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from mdmem.folder import installed
from mdmem.mcp.greeting import greet, has_line, read_line, write_line
from mdmem.memory import hosts
from mdmem.startup.launch import INTERRUPTED, INTERRUPTIONS

# of the extra; `mcp_types` exists from version 2 of the SDK
_PACKAGES = ("mcp", "mcp_types", "anyio")


def serve(
    folder: str | None, environment: Mapping[str, str], read_only: bool, write_pool: bool = False
) -> int:
    """Serve until the input ends; return the exit status. Raises PackageProblem without the SDK."""
    installed.require_packages(_PACKAGES, "the server needs the MCP SDK", "mcp")
    for number in INTERRUPTIONS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    named = Path(folder) if folder else None
    greeting = greet(
        read_line=read_line,
        write_line=write_line,
        has_line=has_line,
        read_only=read_only,
        write_pool=write_pool,
        has_memory=lambda: hosts.has_host_workspace(environment, named),
    )
    if not greeting.ended:
        # 600 ms with the SDK: the client is answered first
        from mdmem.mcp import server  # noqa: PLC0415

        server.run(folder, environment, read_only, write_pool, greeting)
    return 0


def _leave(number: int, frame: FrameType | None) -> None:
    """Leave silently at a signal before any work has begun: hosts may end a server any time."""
    os._exit(INTERRUPTED)
