"""Commands for the server that speeds up other commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mdmem.cli.call import Answer, Call
from mdmem.startup.records import asdict
from mdmem.warm import running

if TYPE_CHECKING:
    from mdmem.cli.options import Json


def server_status(call: Call, as_json: Json = False) -> Answer:
    """Show whether a server is running.

    It keeps mdmem's modules loaded, so that commands start faster. The first command starts it, and
    it ends after ten idle minutes. To turn it off: MDMEM_SERVER=off, or server = "off" in your user
    settings.
    """
    try:
        server = running.find()
    except PermissionError as problem:
        return Answer({"server": None, "problem": str(problem)}, f"No server: {problem}")
    if server is None:
        why = " (MDMEM_SERVER=off)" if running.is_off(os.environ) else ""
        return Answer({"server": None, "problem": None}, f"No server is running{why}")
    text = (
        f"A server is running: process {server.process}, {server.memory >> 20} MiB, {server.socket}"
    )
    return Answer({"server": asdict(server), "problem": None}, text)


def server_stop(call: Call, as_json: Json = False) -> Answer:
    """Stop the server.

    Commands that have begun are finished. A later command starts another one.
    """
    try:
        server = running.stop()
    except PermissionError:
        server = None
    if server is None:
        return Answer({"stopped": None}, "No server is running")
    return Answer({"stopped": asdict(server)}, f"Stopped the server (process {server.process})")
