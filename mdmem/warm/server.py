"""The server of one build and user: it holds modules alone, and forks for each command.

`python -m mdmem.warm.server SOCKET LOCK`, started by the launcher; LOCK is the descriptor of a
locked file. A process of the command reads what the launcher sent, and is the plain program from
there on. The server waits for it, hands on signals, and sends its status.
"""

from __future__ import annotations

import gc
import io
import marshal
import os
import select
import signal
import socket
import sys
import time
from array import array
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from mdmem.startup import late
from mdmem.warm import launcher
from mdmem.warm.launcher import FORWARDED, GO, LENGTH_BYTES, READY, STATUS_BYTES

_IDLE_SECONDS, _LOOK_SECONDS, _REQUEST_SECONDS = 600.0, 10.0, 1.0
_LOADED = (
    *("difflib", "random", "shutil", "sqlite3", "subprocess", "tempfile", "tomllib", "zoneinfo"),
    *("mdmem.__main__", "mdmem.agenthooks", "mdmem.githooks.hooks", "mdmem.githooks.mergedriver"),
    *("mdmem.index.pages", "mdmem.past.trail_update", "mdmem.changes.apply"),
    *("mdmem.changes.repeats", "mdmem.cli", "mdmem.cli.hosting", "mdmem.cli.deciding"),
    *("mdmem.cli.maintenance", "mdmem.cli.reading"),
    *("mdmem.cli.searching", "mdmem.cli.writing", "mdmem.editors.corrections"),
    *("mdmem.memory.commit_hooks", "mdmem.memory.contexts", "mdmem.queries.history"),
    *("mdmem.queries.correctable", "mdmem.queries.past_questions"),
    *("mdmem.queries.show", "mdmem.queries.status", "mdmem.changes.verbs.edit_section"),
    *("mdmem.sessions.files", "mdmem.changes.verbs.forget", "mdmem.changes.verbs.log"),
    "mdmem.changes.verbs.remember",
)
"""Modules that everyday commands load, most of them by name. A test says what is missing."""
_MAX_DESCRIPTORS = 65_536
_BACKLOG = 128
_DESCRIPTORS = 4  # that come with a request: the streams and the folder
_CHANGED = 75  # status of a process that found another program than the one that is loaded
_UNLIKE = 76  # and of one whose caller this server cannot serve
_QUIET_SHARE = 0.1
"""Of the idle time: after so long without a command, the server ends for a caller unlike it. So
such callers soon have their own, and two that take turns do not replace it at each command.
"""
_HANDED_ON = {
    **{number: (number,) for number in FORWARDED},
    # as the kernel does where a session ends, so that a stopped process hears it
    signal.SIGHUP: (signal.SIGHUP, signal.SIGCONT),
    # SIGTSTP does not stop a process that no shell looks after
    signal.SIGTSTP: (signal.SIGSTOP,),
    signal.SIGCONT: (signal.SIGCONT,),
}
_PROCESS_FILES = ("limits", "cgroup", "oom_score_adj")
_STATUS_LINES = (
    *("Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "Seccomp_filters", "CapInh", "CapPrm"),
    *("CapEff", "CapBnd", "CapAmb", "Cpus_allowed", "Mems_allowed"),
)


def main() -> None:
    path, lock = sys.argv[1], int(sys.argv[2])
    os.closerange(3, lock)
    os.closerange(lock + 1, _MAX_DESCRIPTORS)
    os.chdir("/")
    os.umask(0o177)
    with suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    try:
        served = _Served()
        for name in _LOADED:
            import_module(name)
        _compile_patterns()
        import_module("mdmem.text.terms").fill_tables()
        server = _Server(path, lock, listener, served)
    except BaseException:
        os.unlink(path)
        raise
    os.environ.clear()  # so that no process has to
    gc.collect()
    gc.freeze()
    server.run()


def _compile_patterns() -> None:
    for module in [*sys.modules.values()]:
        for value in [*vars(module).values()] if module.__name__.startswith("mdmem.") else ():
            late.prepare(value)


class _Served:
    """The program's files and this process at its start, which callers are compared with."""

    def __init__(self) -> None:
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self._paths = [
            *(folder for folder in sys.path if folder.endswith("-packages")),
            *(
                os.path.join(folder, name)
                for folder, _, names in os.walk(package)
                for name in names
                if name.endswith(".py")
            ),
        ]
        self._stamps = [*map(_stamp, self._paths)]
        self._surroundings = _surroundings(os.getpid(), _status(os.getpid()))
        self._traits = launcher.traits()
        self._path = [*sys.path]

    def is_changed(self) -> bool:
        try:
            return any(map(int.__ne__, map(_stamp, self._paths), self._stamps))
        except FileNotFoundError:
            return True

    def is_alike(self, process: int, status: dict[str, str]) -> bool:
        """True if the kernel treats a process as it does this one."""
        return _surroundings(process, status) == self._surroundings

    def is_same_python(self, path: list[str], traits: tuple[object, ...]) -> bool:
        """True if an interpreter was started as this one; it may have a script's folder too."""
        return (
            traits == self._traits
            and [folder for folder in path if folder in self._path] == self._path
        )


def _stamp(path: str) -> int:
    seen = os.stat(path)
    return seen.st_mtime_ns ^ seen.st_ino


def _status(process: int) -> dict[str, str]:
    with open(f"/proc/{process}/status", "rb", buffering=0) as file:
        rows = file.read(1 << 16).decode().splitlines()
    return {name: value.strip() for name, _, value in (row.partition(":") for row in rows)}


def _surroundings(process: int, status: dict[str, str]) -> list[object]:
    folder = f"/proc/{process}"
    texts: list[object] = []
    for name in _PROCESS_FILES:
        with open(f"{folder}/{name}", "rb", buffering=0) as file:
            texts.append(file.read(1 << 16))
    return [
        *texts,
        *map(status.get, _STATUS_LINES),
        *(os.readlink(f"{folder}/ns/{name}") for name in sorted(os.listdir(f"{folder}/ns"))),
        os.readlink(f"{folder}/root"),
        os.getpriority(os.PRIO_PROCESS, process),
        os.sched_getscheduler(process),
    ]


class _Server:
    def __init__(self, path: str, lock: int, listener: socket.socket, served: _Served) -> None:
        self._path = path
        self._lock = lock
        self._served = served
        self._listener: socket.socket | None = listener
        self._idle = _idle_seconds()
        self._asked = time.monotonic()
        # by process; the other end of a connection may be gone before its process
        self._connections: dict[int, socket.socket] = {}
        self._begun: set[int] = set()
        self._poll = select.poll()
        self._signals, waking = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._beginnings, self._beginning = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            if number not in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, lambda number, frame: None)
        for descriptor in (listener.fileno(), self._signals, self._beginnings):
            self._poll.register(descriptor, select.POLLIN)
        self._waking = waking
        self._socket = _identity(path)
        listener.setblocking(False)

    def run(self) -> None:
        if self._listener is not None:
            self._listener.listen(_BACKLOG)
        while self._listener is not None or self._connections:
            for descriptor, events in self._poll.poll(self._patience()):
                self._attend(descriptor, events)
            self._reap()
            if self._listener is not None and self._is_over():
                self._close()

    def _patience(self) -> float | None:
        """Milliseconds until there is something to look after."""
        if self._listener is None:
            return None
        rest = self._asked + self._idle - time.monotonic()
        return 1000 * max(0.01, min(rest if not self._connections else self._idle, _LOOK_SECONDS))

    def _is_over(self) -> bool:
        is_idle = not self._connections and time.monotonic() - self._asked >= self._idle
        return is_idle or _identity(self._path) != self._socket

    def _close(self) -> None:
        if self._listener is None:
            return
        self._poll.unregister(self._listener.fileno())
        self._listener.close()
        self._listener = None
        if _identity(self._path) == self._socket:
            os.unlink(self._path)
        os.close(self._lock)

    def _attend(self, descriptor: int, events: int) -> None:
        if descriptor == self._signals:
            if signal.SIGTERM in os.read(descriptor, 4096):
                self._close()
        elif descriptor == self._beginnings:
            self._note_beginnings()
        elif self._listener is not None and descriptor == self._listener.fileno():
            self._accept(self._listener)
        else:
            for process, connection in self._connections.items():
                if connection.fileno() == descriptor:
                    self._hand_on(process, connection)

    def _note_beginnings(self) -> None:
        """From then on, what launchers send is signals."""
        with suppress(BlockingIOError):
            told = os.read(self._beginnings, 4096)
            for start in range(0, len(told), 4):
                process = int.from_bytes(told[start : start + 4], sys.byteorder)
                self._begun.add(process)
                if self._connections[process].fileno() >= 0:
                    self._poll.modify(self._connections[process].fileno(), select.POLLIN)
            self._asked = time.monotonic()

    def _hand_on(self, process: int, connection: socket.socket) -> None:
        """Signals for the process; a connection that has ended is a terminal that was closed."""
        try:
            numbers = connection.recv(64) if process in self._begun else b""
        except BlockingIOError:
            return
        except OSError:
            numbers = b""
        for number in numbers or (signal.SIGHUP,):
            for each in _HANDED_ON.get(number, ()):
                with suppress(ProcessLookupError):
                    os.killpg(process, each)
        if not numbers:
            self._poll.unregister(connection.fileno())
            connection.close()

    def _reap(self) -> None:
        while self._connections:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            self._note_beginnings()
            connection = self._connections.pop(process)
            if process in self._begun:
                self._begun.remove(process)
                self._asked = time.monotonic()
                with suppress(OSError):
                    connection.send(status.to_bytes(STATUS_BYTES, "little"))
            elif self._gives_way(os.waitstatus_to_exitcode(status)):
                self._close()
            if connection.fileno() >= 0:
                self._poll.unregister(connection.fileno())
                connection.close()

    def _gives_way(self, status: int) -> bool:
        quiet_seconds = time.monotonic() - self._asked
        return status == _CHANGED or (
            status == _UNLIKE and quiet_seconds >= self._idle * _QUIET_SHARE
        )

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:  # it has gone, or there are too many
            return
        caller, user = launcher.peer(connection)
        if user != os.getuid():
            connection.close()
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
        try:
            process = os.fork()
        except OSError:  # no room for a process
            process = -1
        if process == 0:
            self._become(connection, caller)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if process < 0:
            connection.close()
            return
        with suppress(OSError):  # it has ended, or done so itself
            os.setpgid(process, process)
        connection.setblocking(False)
        self._connections[process] = connection
        self._poll.register(connection.fileno(), 0)

    def _become(self, connection: socket.socket, caller: int) -> NoReturn:
        """Be the process of one command. What it raises is the end of it, as of any program."""
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for descriptor in (self._lock, self._signals, self._waking, self._beginnings):
            os.close(descriptor)
        if self._listener is not None:
            self._listener.close()
        for other in self._connections.values():
            other.close()
        # a catch-up that the command forks must not keep the launcher waiting
        os.register_at_fork(after_in_child=connection.close)
        connection.settimeout(_REQUEST_SECONDS)
        try:
            status = _status(caller)
            if self._served.is_changed():
                os._exit(_CHANGED)
            is_alike = self._served.is_alike(caller, status)
            request = _receive(connection)
        except OSError:
            os._exit(0)
        module, words, path, streams, blocked, variables, traits = request
        if not is_alike or not self._served.is_same_python(path, traits):
            os._exit(_UNLIKE)
        try:
            connection.send(READY)
            *standard, here = files = _receive_files(connection)
        except OSError:
            os._exit(0)
        os.write(self._beginning, os.getpid().to_bytes(4, sys.byteorder))
        os.close(self._beginning)
        launcher.CALLER.connection = connection
        os.fchdir(here)
        for number, file in enumerate(standard):
            os.dup2(file, number)
        for file in files:
            os.close(file)
        os.umask(int(status["Umask"], 8))
        os.environb.update(variables)
        time.tzset()
        sys.argv[:], sys.path[:] = words, path
        _open_streams(streams)
        _set_signals(int(status["SigIgn"], 16), blocked)
        gc.enable()
        sys.exit(import_module(module).run())


def _receive(connection: socket.socket) -> Any:
    data, length = b"", LENGTH_BYTES
    while len(data) < length:
        more = connection.recv(length - len(data))
        if not more:
            raise ConnectionError("no request")
        data += more
        if len(data) == LENGTH_BYTES:
            length += int.from_bytes(data, "little")
    return marshal.loads(data[LENGTH_BYTES:])


def _receive_files(connection: socket.socket) -> list[int]:
    """The streams and the folder, which come with the word to begin. Raises OSError."""
    size = socket.CMSG_SPACE(_DESCRIPTORS * array("i").itemsize)
    word, told, _, _ = connection.recvmsg(1, size, socket.MSG_CMSG_CLOEXEC)
    files = array("i", b"".join(rights for _, _, rights in told))
    if word != GO or len(files) != _DESCRIPTORS:
        raise ConnectionError("not to begin")
    return list(files)


def _open_streams(streams: list[tuple[str, str, bool, bool]]) -> None:
    names = ("stdin", "stdout", "stderr")
    for number, (name, told) in enumerate(zip(names, streams, strict=True)):
        encoding, errors, *buffering = told
        mode = "w" if number else "r"
        size = 0 if buffering[1] and number else -1
        binary: Any = open(number, f"{mode}b", size, closefd=False)  # noqa: SIM115
        getattr(binary, "raw", binary).name = f"<{name}>"
        stream: Any = io.TextIOWrapper(binary, encoding, errors, "\n", *buffering)
        stream.mode = mode
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _set_signals(ignored: int, blocked: list[int]) -> None:
    """Treat signals as the launcher's interpreter does; `ignored` is a mask (proc(5))."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    while ignored:
        number = ignored.bit_length()
        with suppress(OSError, ValueError):  # the C library has two signals for itself
            signal.signal(number, signal.SIG_IGN)
        ignored &= ~(1 << (number - 1))
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return seen.st_dev, seen.st_ino


def _idle_seconds() -> float:
    try:
        return float(os.environ["MDMEM_SERVER_IDLE"])
    except (KeyError, ValueError):
        return _IDLE_SECONDS


if __name__ == "__main__":
    main()
