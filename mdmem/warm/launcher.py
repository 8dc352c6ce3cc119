"""Run a command in a process of the server of this build, or in this one.

Python's start and a hundred modules cost more than a command. The server keeps the modules; this
launcher hands it arguments, environment, folder and streams, and waits. In each case of doubt the
command runs here, as without a server: until `GO` is sent, and never after it. It imports what
Python has loaded at its start, and modules in C.
"""

import _signal  # type: ignore[import-not-found]  # `signal` takes 3 of 17 ms here, for enums
import _socket  # `socket` takes 8 of the 40 ms of a search by the server
import marshal
import os
import stat
import sys

from mdmem import __version__

TYPE_CHECKING = False  # `typing` takes 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

READY, GO = b"r", b"g"
FORWARDED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT)
STATUS_BYTES = LENGTH_BYTES = _INT_BYTES = 4
# as for git's pager: leave at once if the text fits, pass colours on, do not clear the screen
PAGER_VARIABLES = {"LESS": "FRX", "LV": "-c"}
_PAGE = b"\xff" * STATUS_BYTES  # in the place of a status: a text for the pager
_RIGHTS_BYTES = _socket.CMSG_SPACE(2 * _INT_BYTES)
_ANSWER_SECONDS, _LOOK_SECONDS = 1.0, 0.5
_NOT_FOUND = 127  # of a shell's statuses
_LOST = 70  # exit status, where nobody knows what became of the command
_MAIN = "mdmem.__main__"
# they live long, ask, or are rare; the last row looks at the program or sets it up
_COLD_VERBS = frozenset(
    {
        *("mcp", "memory-tool", "page", "sync", "run", "digest", "dream", "reindex"),
        *("server", "doctor", "init", "setup", "schedule", "help"),
    }
)
# at a terminal: a person is asked, types a text, or has an editor, in their own session
_ASKING_WORDS = frozenset({"review", "accept", "reject", "--edit", "--editor", "--purge", "-"})
_AWAITED_HOOKS = ("pre-commit", "prepare-commit-msg")  # the others work in the background
_OWN_FILES = ("/dev/fd/", "/proc/self/", "/proc/thread-self/", "/dev/tty")
_MOST_SETTINGS = 65_536
_LOCK = ".lock"


def enter(module: str = _MAIN) -> None:
    """Run `module.run`, which leaves: in a process of the server, or in this one."""
    path = socket_path() if _is_for_server(module) else None
    start = None
    if path is not None:
        try:
            connection = connect(path, _ANSWER_SECONDS)
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
        if os.isatty(0) and any(w in _ASKING_WORDS or w.endswith("=-") for w in sys.argv):
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
            _forward_stops(connection)
            connection.settimeout(_LOOK_SECONDS)
            # not before: a server that sleeps would keep them open
            files = b"".join(
                number.to_bytes(_INT_BYTES, sys.byteorder) for number in (0, 1, 2, here)
            )
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
        _send(connection, number)

    for number in FORWARDED:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, forward)


def _forward_stops(connection: _socket.socket) -> None:
    """Have Ctrl-Z stop the command too, and `fg` go on with it."""

    def stop(number: int, frame: object) -> None:
        _send(connection, number)
        _signal.signal(number, _signal.SIG_DFL)
        os.kill(os.getpid(), number)
        _signal.signal(number, stop)
        _send(connection, _signal.SIGCONT)

    if _signal.getsignal(_signal.SIGTSTP) == _signal.SIG_DFL:
        _signal.signal(_signal.SIGTSTP, stop)


def _send(connection: _socket.socket, number: int) -> None:
    try:
        connection.send(bytes([number]))
    except OSError:  # it has ended
        pass


def _request(module: str, blocked: list[int]) -> bytes:
    standard: Any = (sys.stdin, sys.stdout, sys.stderr)
    streams = [
        (each.encoding, each.errors, each.line_buffering, each.write_through) for each in standard
    ]
    told: Any = (module, sys.argv, sys.path, streams, blocked, dict(os.environb), traits())
    request = marshal.dumps(told)
    return len(request).to_bytes(LENGTH_BYTES, "little") + request


def _status(connection: _socket.socket) -> int | None:
    """The status as wait(2) has it; None if the server has gone, and the command's process too."""
    try:
        told, rights = _receive(connection, STATUS_BYTES)
        while told == _PAGE:
            size, _ = _receive(connection, LENGTH_BYTES)
            command, _ = _receive(connection, int.from_bytes(size, "little"))
            _run_pager(command, *rights)
            told, rights = _receive(connection, STATUS_BYTES)
    except OSError:
        return None
    return int.from_bytes(told, "little") if len(told) == STATUS_BYTES else None


def _receive(connection: _socket.socket, size: int) -> tuple[bytes, list[int]]:
    """Read `size` bytes (fewer at the end of the stream), and the descriptors sent with them."""
    told, files = b"", b""
    while rest := size - len(told):
        try:
            more, rights, *_ = connection.recvmsg(rest, _RIGHTS_BYTES, _socket.MSG_CMSG_CLOEXEC)
        except TimeoutError:  # a signal just before the call has not interrupted it
            continue
        if not more:
            break
        told += more
        files += b"".join(each for _, _, each in rights)
    numbers = range(0, len(files), _INT_BYTES)
    return told, [int.from_bytes(files[at : at + _INT_BYTES], sys.byteorder) for at in numbers]


def _run_pager(command: bytes, text: int, answer: int) -> None:
    """Run a pager in the session of the terminal, so that keys are for it; tell its status."""
    before = _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    try:
        process = os.posix_spawnp(
            "sh",
            ["sh", "-c", os.fsdecode(command)],
            PAGER_VARIABLES | os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, text, 0)],
            setsigdef=(_signal.SIGPIPE, _signal.SIGXFSZ),  # which Python ignores
        )
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    except OSError:
        status = _NOT_FOUND
    _signal.signal(_signal.SIGINT, before)
    try:
        os.write(answer, bytes([status & 0xFF]))
    except OSError:  # the command has been ended meanwhile
        pass
    os.close(answer)
    os.close(text)


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
            if folder_problem(path):
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
                startup_variables() | variables,
                file_actions=[(os.POSIX_SPAWN_DUP2, null, number) for number in range(3)],
                setsid=True,
            )
        except OSError:  # there is a server, or none can be
            pass

    return start


# In a process of the server.


class _Caller:
    connection: "Any" = None


CALLER = _Caller()
"""The launcher that waits for this process, if one does."""


def page(command: str, text: str) -> int | None:
    """Have the launcher run a pager; its exit status, or None where no launcher waits."""
    if CALLER.connection is None:
        return None
    file = os.memfd_create("page")
    with open(file, "wb", closefd=False) as stream:
        stream.write(text.encode(errors="backslashreplace"))
    os.lseek(file, 0, os.SEEK_SET)
    told, answer = os.pipe2(os.O_CLOEXEC)
    row = os.fsencode(command)
    files = b"".join(number.to_bytes(_INT_BYTES, sys.byteorder) for number in (file, answer))
    CALLER.connection.sendmsg(
        [_PAGE + len(row).to_bytes(LENGTH_BYTES, "little") + row],
        [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)],
    )
    os.close(file)
    os.close(answer)
    status = os.read(told, 1)  # nothing: the launcher has gone
    os.close(told)
    return status[0] if status else 0


# Where the server of this build listens; for the server and `mdmem server` too

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
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_KEPT_PREFIXES) or name in _KEPT_NAMES
    }
