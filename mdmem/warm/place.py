"""Where the server of this build listens; for the launcher, the server and `mdmem server`.

It imports what Python has loaded at its start, and modules in C: the launcher waits for it.
"""

import _socket  # `socket` takes 8 of the 40 ms of a search by the server
import os
import stat
import sys

from mdmem import __version__

_MOST_BYTES = 107  # of a socket's path (unix(7))
_KEPT_NAMES = ("LANG", "LANGUAGE", "LOCPATH", "MDMEM_RECORDS")
_KEPT_PREFIXES = ("PYTHON", "LC_", "LD_", "MALLOC_", "GLIBC_", "COVERAGE_")
"""Variables that are read when Python, a library or a module of mdmem is loaded."""


def socket_path() -> str | None:
    """The path of the server's socket; None where there can be none."""
    if sys.platform != "linux" or os.getuid() != os.geteuid() or not sys.executable:
        return None
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    try:
        folder = f"{folder}/mdmem" if _is_own(os.lstat(folder)) else ""
    except OSError:
        folder = ""
    folder = folder or f"{os.environ.get('TMPDIR') or '/tmp'}/mdmem-{os.getuid()}"
    try:
        path = f"{folder}/{_build()}.sock"
    except OSError:  # somebody is replacing the program
        return None
    return path if path[:1] == "/" and len(os.fsencode(path)) <= _MOST_BYTES else None


def _build() -> str:
    """The name of this build: its version, the interpreter, and the program's folder."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    program, python = os.stat(package), os.lstat(sys.executable)
    told = (sys.hexversion, python.st_ino, program.st_ino, program.st_mtime_ns)
    return "-".join((__version__, *(f"{number:x}" for number in told)))


def folder_problem(path: str) -> str | None:
    """Why nobody may trust the folder of a socket. Raises FileNotFoundError: it does not exist."""
    folder = os.path.dirname(path)
    seen = os.lstat(folder)
    if not _is_own(seen):
        return f"{folder} is not a folder of your own"
    return f"{folder} is open to others" if stat.S_IMODE(seen.st_mode) != stat.S_IRWXU else None


def _is_own(seen: os.stat_result) -> bool:
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid()


def connect(path: str, seconds: float) -> _socket.socket:
    """A connection to the server; each step on it may take so many seconds.

    Raises OSError: FileNotFoundError or ConnectionRefusedError where there is no server,
    PermissionError where the folder or the server is not the user's own.
    """
    if problem := folder_problem(path):
        raise PermissionError(problem)
    connection = _socket.socket(_socket.AF_UNIX)
    try:
        connection.settimeout(seconds)
        connection.connect(path)
        if peer(connection)[1] != os.getuid():
            raise PermissionError("another user's server")
    except OSError:
        connection.close()
        raise
    return connection


def peer(connection: _socket.socket) -> tuple[int, int]:
    """Process and user at the other end of a connection."""
    told = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    return int.from_bytes(told[:4], sys.byteorder), int.from_bytes(told[4:8], sys.byteorder)


def traits() -> tuple[object, ...]:
    """Flags, options and variables of this interpreter's start. A server serves only its like."""
    names = type(sys.flags).__match_args__
    return (
        *(getattr(sys.flags, name) for name in names if name != "safe_path"),
        *sorted(f"{name}={value}" for name, value in sys._xoptions.items() if name != "utf8"),
        *sys.warnoptions,
        sys.getfilesystemencoding(),
        sys.getfilesystemencodeerrors(),
        *sorted(map("=".join, startup_variables().items())),
    )


def startup_variables() -> dict[str, str]:
    """The variables that count at the start of a process."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_KEPT_PREFIXES) or name in _KEPT_NAMES
    }
