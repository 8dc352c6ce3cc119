"""The user at the other end of a connection, on systems that tell: Linux does."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""The second one has clients that connect over IPv6 to an IPv4 address."""
_ROOT = 0


def is_of_another_user(connection: socket.socket) -> bool:
    """True if the system says that neither this user nor root is at the client's end.

    Other users can read the single-use key on a browser's command line, and have received the
    cookie if they listened on the same port before, or on another one.
    """
    user = _user_of(connection)
    return user is not None and user not in (os.getuid(), _ROOT)


def _user_of(connection: socket.socket) -> int | None:
    try:
        ends = [_as_listed(end) for end in (connection.getpeername(), connection.getsockname())]
    except OSError:  # it is closed
        return None
    for table in _TABLES:
        with suppress(OSError):  # another system
            for row in table.read_text(encoding="ascii").splitlines()[1:]:
                fields = row.split()
                if [field[-len(ends[0]) :] for field in fields[1:3]] == ends:
                    return int(fields[7])
    return None


def _as_listed(end: tuple[str, int]) -> str:
    address = int.from_bytes(socket.inet_aton(end[0]), sys.byteorder)
    return f"{address:08X}:{end[1]:04X}"
