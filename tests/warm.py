"""A server behind commands, as tests see it: started, counted, and gone at the end."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from commandline import mdmem
from conftest import TIME_LIMIT, World

from mdmem.warm import launcher

PROBE = """
import json, os, signal, sys, time

def is_open(name):
    try:
        return not os.readlink(f"/proc/self/fd/{name}").startswith("socket")
    except OSError:  # of listdir itself
        return False

def handled_by(handler):
    return [n for n in sorted(signal.valid_signals()) if signal.getsignal(n) == handler]

def variables_of_a_child():
    with os.popen("env") as child:  # until it has ended: its pipe stays open otherwise
        return child.read()

def state():
    return {
        "argv": sys.argv[1:], "path": sys.path, "cwd": os.getcwd(), "umask": os.umask(os.umask(0)),
        "environment": dict(os.environ),
        "putenv": variables_of_a_child() if "ENV" in sys.argv else "",
        "ignored": handled_by(signal.SIG_IGN), "default": handled_by(signal.SIG_DFL),
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "streams": [
            [s.encoding, s.errors, s.newlines, s.mode, s.name, s.line_buffering, s.write_through,
             s.fileno(), type(s.buffer).__name__, s.buffer.name, s.buffer.mode, s.seekable(),
             s.isatty()]
            for s in (sys.stdin, sys.stdout, sys.stderr)
        ],
        "same": [
            sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__
        ],
        "open": sorted(n for n in os.listdir("/proc/self/fd") if is_open(n)),
        "zone": [time.tzname, time.timezone],
        "niceness": os.getpriority(os.PRIO_PROCESS, 0),
        "input": sys.stdin.read() if "READ" in sys.argv else "",
        "executable": sys.executable, "group": os.getpgrp() == os.getpid(),
    }

def run(at_end=None):
    what = sys.argv[2]
    if what == "state":
        print(json.dumps(state()))
    elif what == "parent":
        print(os.getppid())
    elif what == "exit":
        os._exit(int(sys.argv[3]))
    elif what == "die":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [int(sys.argv[3])])
        os.kill(os.getpid(), int(sys.argv[3]))
    elif what == "wait":  # what it hears goes into a file
        def hear(number, frame):
            with open(sys.argv[3], "a") as file:
                file.write(f"{number}\\\\n")
            os._exit(40 + number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, hear)
        print(os.getpid(), flush=True)
        ends = time.monotonic() + (float(sys.argv[4]) if len(sys.argv) > 4 else 60)
        while time.monotonic() < ends:  # a signal just before a sleep does not interrupt it
            time.sleep(0.01)
        with open(sys.argv[3], "a") as file:
            file.write("done\\\\n")
    elif what == "raise":
        raise LookupError("an error of the probe")
    sys.stdout.flush()
    if at_end is not None:
        at_end()
    os._exit(0)
""".replace("\\\\n", "\\n")
"""A program in the place of mdmem, which tells about its process."""
_ENTER = "from mdmem.warm.launcher import enter; enter('probe')"


def wait_until(condition: Callable[[], object]) -> None:
    ends = time.monotonic() + TIME_LIMIT
    while not condition():
        assert time.monotonic() < ends, "it took too long"
        time.sleep(0.01)


def state_of(process: int) -> str:
    """The letter of its main thread's state (proc(5)); nothing if there is no such process."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def is_alive(process: int) -> bool:
    return state_of(process) not in ("", "Z")


@dataclass
class Served:
    """Commands with a server, in an environment with a folder for sockets of its own."""

    world: World
    folder: Path
    run_folder: Path
    environment: dict[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def popen(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        **options: object,
    ) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        streams = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, "cwd": self.folder}
        process = subprocess.Popen(
            command, env={**self.environment, **(environment or {})}, **(streams | options)
        )
        self.processes.append(process)
        return process

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        **options: object,
    ) -> subprocess.CompletedProcess[bytes]:
        process = self.popen(command, environment, **({"stdin": subprocess.PIPE} | options))
        out, err = process.communicate(stdin, TIME_LIMIT)
        return subprocess.CompletedProcess(list(command), process.returncode, out, err)

    def mdmem(self, *words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
        return self.run(mdmem(*words), **options)

    def probe(self, *words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
        return self.run(probe(*words), **options)

    def start(self) -> int:
        """Have a server started, as the first command does; its process."""
        assert self.mdmem("redact").returncode == 0
        wait_until(self.server)
        return self.server()

    def server(self) -> int:
        """The process of the server that listens; 0 where there is none."""
        for path in self.sockets():
            with socket.socket(socket.AF_UNIX) as connection, suppress(OSError):
                connection.connect(str(path))
                return launcher.peer(connection)[0]
        return 0

    def sockets(self) -> list[Path]:
        return sorted(self.run_folder.glob("mdmem/*.sock"))

    def is_served(self, **options: object) -> bool:
        """True if a command runs below the server."""
        return int(self.probe("parent", **options).stdout) == self.server()


def probe(*words: str, before: str = "") -> list[str]:
    """The probe as a command; `before` is a program that runs in the launcher's process first."""
    return [sys.executable, "-P", "-c", before + _ENTER, "pre-commit", *words]


def children(process: int) -> list[int]:
    return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def descriptors(process: int) -> list[str]:
    """The open descriptors of a process; one closed while they are listed is left out."""
    links = []
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            links.append(str(descriptor.readlink()))
    return links


def catch_ups(server: int) -> list[int]:
    """The processes that commands below a server have forked, and that go on without them."""
    program, started = _program(server), set(children(server))
    return [
        process
        for process in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
        if process != server and process not in started and program and _program(process) == program
    ]


def _program(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def served_in(world: World, folder: Path) -> Iterator[Served]:
    run_folder = Path(tempfile.mkdtemp(prefix="mdmem-"))  # a socket's path is short
    library = run_folder / "library"
    library.mkdir()
    (library / "probe.py").write_text(PROBE)
    environment = {
        **world.environment,
        "MDMEM_SERVER": "on",
        "XDG_RUNTIME_DIR": str(run_folder),
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(library), world.environment.get("PYTHONPATH")))
        ),
    }
    served = Served(world, folder, run_folder, environment)
    try:
        yield served
    finally:
        for process in served.processes:
            with process:
                process.kill()
        if server := served.server():
            os.kill(server, signal.SIGTERM)
            wait_until(lambda: not is_alive(server))
        shutil.rmtree(run_folder)
