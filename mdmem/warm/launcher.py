"""Run a command in a process of the server of this build, or in this one.

Python's start and a hundred modules cost more than a command. The server keeps the modules; this
launcher hands it arguments, environment, folder and streams, and waits. In each case of doubt the
command runs here, as without a server: until `_GO` is sent, and never after it. It imports what
Python has loaded at its start, and modules in C.
"""

import _signal  # type: ignore[import-not-found]  # `signal` takes 3 of 17 ms here, for enums
import _socket  # `socket` takes 8: see `place`
import marshal
import os
import sys

from mdmem.warm import place

TYPE_CHECKING = False  # `typing` takes 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

READY, GO = b"r", b"g"
FORWARDED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT)
STATUS_BYTES = LENGTH_BYTES = 4
_ANSWER_SECONDS = 1.0
_LOST = 70  # exit status, where nobody knows what became of the command
_MAIN = "mdmem.__main__"
# they live long, ask, or are rare; the last row looks at the program or sets it up
_COLD_VERBS = frozenset(
    {
        *("mcp", "memory-tool", "page", "sync", "run", "digest", "dream", "reindex"),
        *("server", "doctor", "init", "schedule", "help"),
    }
)
_NEVER_ASKING = ("agent-hook", "merge-driver")
_AWAITED_HOOKS = ("pre-commit", "prepare-commit-msg")  # the others work in the background
_OWN_FILES = ("/dev/fd/", "/proc/self/", "/proc/thread-self/", "/dev/tty")
_MOST_SETTINGS = 65_536
_LOCK = ".lock"


def enter(module: str = _MAIN) -> None:
    """Run `module.run`, which leaves: in a process of the server, or in this one."""
    path = place.socket_path() if _is_for_server(module) else None
    start = None
    if path is not None:
        try:
            connection = place.connect(path, _ANSWER_SECONDS)
        except (FileNotFoundError, ConnectionRefusedError):
            start = _starter(path)
        except OSError:
            pass
        else:
            _hand_over(connection, module)
    __import__(module)
    sys.modules[module].run(start)


def _is_for_server(module: str) -> bool:
    verb = _verb(sys.argv[1:])
    if module == _MAIN:
        if not verb or verb in _COLD_VERBS:
            return False
        if verb not in _NEVER_ASKING and any(map(os.isatty, range(3))):
            return False
    elif verb not in _AWAITED_HOOKS:
        return False
    return (
        os.environ.get("MDMEM_SERVER", "").strip().casefold() != "off"
        and None not in (sys.stdin, sys.stdout, sys.stderr)
        and not any(own in word for word in sys.argv for own in _OWN_FILES)
        and not _is_off_in_settings()
    )


def _verb(words: list[str]) -> str:
    position = 0
    while words[position : position + 1] and words[position][:1] == "-":
        position += 2 if words[position] == "-C" else 1
    return words[position] if words[position:] else ""


def _is_off_in_settings() -> bool:
    """True if a line of the user's settings may say `server = "off"`. (`folder.config` parses.)"""
    home = os.environ.get("HOME") or os.environ.get("USERPROFILE")
    base = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    try:
        file = os.open(f"{base}/mdmem/config.toml", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        rows = os.read(file, _MOST_SETTINGS).splitlines()
    except OSError:
        return True
    finally:
        os.close(file)
    return any(row.strip(b" \t\"'").startswith(b"server") and b"off" in row for row in rows)


def _hand_over(connection: _socket.socket, module: str) -> None:
    """Have the server run the command, and leave as it does; return if it has not begun."""
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, FORWARDED)
    try:
        here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        connection.sendall(_request(module, list(before)))
        is_ready = connection.recv(1) == READY
    except OSError:
        is_ready = False
    if is_ready:
        try:
            _forward_signals(connection)
            connection.settimeout(None)
            # not before: a server that sleeps would keep them open
            files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2, here))
            try:
                connection.sendmsg([GO], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
            except OSError:
                _leave(None)
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
            _leave(_status(connection))
        finally:
            os._exit(_LOST)
    connection.close()
    _signal.pthread_sigmask(_signal.SIG_SETMASK, before)


def _forward_signals(connection: _socket.socket) -> None:
    def forward(number: int, frame: object) -> None:
        try:
            connection.send(bytes([number]))
        except OSError:  # it has ended
            pass

    for number in FORWARDED:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, forward)


def _request(module: str, blocked: list[int]) -> bytes:
    standard: Any = (sys.stdin, sys.stdout, sys.stderr)
    streams = [
        (each.encoding, each.errors, each.line_buffering, each.write_through) for each in standard
    ]
    told: Any = (module, sys.argv, sys.path, streams, blocked, dict(os.environb), place.traits())
    request = marshal.dumps(told)
    return len(request).to_bytes(LENGTH_BYTES, "little") + request


def _status(connection: _socket.socket) -> int | None:
    """The status as wait(2) has it; None if the server has gone, and the command's process too."""
    told = b""
    try:
        while len(told) < STATUS_BYTES and (more := connection.recv(STATUS_BYTES)):
            told += more
    except OSError:
        return None
    return int.from_bytes(told, "little") if len(told) == STATUS_BYTES else None


def _leave(status: int | None) -> None:
    if status is None:
        os.write(2, b"mdmem: the server was ended; it is unknown whether the command was done\n")
        os._exit(_LOST)
    if os.WIFEXITED(status):
        os._exit(os.WEXITSTATUS(status))
    number = os.WTERMSIG(status)
    if number not in (_signal.SIGKILL, _signal.SIGSTOP):
        _signal.signal(number, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)


def _starter(path: str) -> "Callable[[], None]":
    """A function that starts a server behind this process, unless another is being started."""

    def start() -> None:
        import fcntl  # noqa: PLC0415 - at the end of a process

        folder = os.path.dirname(path)
        try:
            if not os.path.lexists(folder):
                os.mkdir(folder, 0o700)
            if place.folder_problem(path):
                return
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
            lock = os.open(path + _LOCK, flags, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.set_inheritable(lock, True)
            null = os.open(os.devnull, os.O_RDWR)
            names = ("HOME", "MDMEM_SERVER_IDLE")
            variables = {name: os.environ[name] for name in names if name in os.environ}
            utf8 = ("-X", "utf8") if sys.flags.utf8_mode else ()
            os.posix_spawn(
                sys.executable,
                (sys.executable, "-P", *utf8, "-m", "mdmem.warm.server", path, str(lock)),
                place.startup_variables() | variables,
                file_actions=[(os.POSIX_SPAWN_DUP2, null, number) for number in range(3)],
                setsid=True,
            )
        except OSError:  # there is a server, or none can be
            pass

    return start
