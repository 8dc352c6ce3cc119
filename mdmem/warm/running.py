"""The server that runs, if one does: found, and stopped."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import closing, suppress

from mdmem.startup.records import dataclass
from mdmem.warm import launcher

_ANSWER_SECONDS, _STOP_SECONDS, _LOOK_SECONDS = 1.0, 5.0, 0.02


@dataclass(frozen=True, slots=True)
class Server:
    """A server of this build: its process, its socket, and its memory in bytes."""

    process: int
    socket: str
    memory: int


def find() -> Server | None:
    """The server of this build. Raises PermissionError where its folder is not safe to use."""
    path = launcher.socket_path()
    if path is None:
        return None
    try:
        with closing(launcher.connect(path, _ANSWER_SECONDS)) as connection:
            process, _ = launcher.peer(connection)
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except PermissionError:
        raise
    except OSError:
        return None
    return Server(process, path, pages * os.sysconf("SC_PAGE_SIZE"))


def stop() -> Server | None:
    """Stop the server; None where none runs. Commands that have begun go on, and it waits."""
    server = find()
    if server is None:
        return None
    with suppress(ProcessLookupError):
        os.kill(server.process, signal.SIGTERM)
    ends = time.monotonic() + _STOP_SECONDS
    while os.path.lexists(server.socket) and time.monotonic() < ends:
        time.sleep(_LOOK_SECONDS)
    return server


def is_off(environment: Mapping[str, str]) -> bool:
    return environment.get("MDMEM_SERVER", "").strip().casefold() == "off"
