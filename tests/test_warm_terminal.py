"""At a terminal, commands with a server behind them are the same commands too."""

import fcntl
import os
import pty
import random
import shlex
import shutil
import signal
import struct
import sys
import termios
from collections.abc import Iterator, Sequence
from pathlib import Path
from select import select

import pytest
from commandline import Shell, mdmem
from conftest import TIME_LIMIT, World
from kept_state import keep_state
from warm import Served, is_alive, probe, served_in, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a server on Linux alone")
WORDS = ("quokka", "Rottnest", "harbour", "kettle", "violin", "na\u00efve", "\u65e5\u672c\u8a9e")


@pytest.fixture
def served(world: World, repository: Path) -> Iterator[Served]:
    with served_in(world, repository) as served:
        yield served


class Terminal:
    """A terminal with one command in its foreground, whose session it controls."""

    def __init__(
        self, served: Served, command: Sequence[str], size: tuple[int, int] = (80, 24), **more: str
    ) -> None:
        self.end, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        environment = {"TERM": "xterm", **more}
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        setsid = str(shutil.which("setsid"))
        self.process = served.popen([setsid, "--ctty", *command], environment, **streams)
        os.close(theirs)
        self.printed = b""

    def type(self, keys: bytes) -> None:
        os.write(self.end, keys)

    def read_to(self, text: bytes) -> bytes:
        while text not in self.printed and self._read():
            pass
        return self.printed

    def close(self) -> None:
        os.close(self.end)

    def result(self) -> tuple[int, bytes]:
        """The exit status, and all that was printed."""
        while self._read():
            pass
        self.close()
        return self.process.wait(TIME_LIMIT), self.printed

    def _read(self) -> bool:
        assert select([self.end], [], [], TIME_LIMIT)[0], f"it is silent after {self.printed!r}"
        try:
            more = os.read(self.end, 65_536)
        except OSError:  # the other side is closed
            return False
        self.printed += more
        return True


def commands(count: int) -> Iterator[tuple[list[str], dict[str, str], tuple[int, int]]]:
    """So many commands with variables and terminals; the same at each call."""
    chance = random.Random(count)

    def text() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 30)))

    kinds = {
        "log": lambda: ["log", text()],
        "fact": lambda: ["log", "--fact", f"{chance.choice(WORDS)}: {text()}"],
        "remember": lambda: ["remember", text(), "--key", chance.choice(WORDS)],
        "search": lambda: ["search", chance.choice(WORDS)],
        "all": lambda: ["search", "--history", text()],
        "json": lambda: ["show", "MEMORY.md", "--json"],
        "show": lambda: ["show", "MEMORY.md"],
        "missing": lambda: ["show", text()],
        "facts": lambda: ["facts"],
        "history": lambda: ["history", chance.choice(WORDS)],
        "outline": lambda: ["outline"],
        "context": lambda: ["context", text()],
        "forget": lambda: ["forget", chance.choice(WORDS)],
        "wrong": lambda: [chance.choice(("serach", "lgo")), text()],
        "edit": lambda: ["edit-section", "Facts", "--create", "--append", f"- {text()}"],
    }
    for _ in range(count):
        variables = {"PAGER": chance.choice(("cat", "sed s/^/p:/", "head -n 3", "false"))}
        if chance.random() < 0.3:
            variables["NO_COLOR"] = "1"
        size = chance.choice((40, 72, 100)), chance.choice((3, 24))
        yield chance.choice(list(kinds.values()))(), variables, size


@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_their_answers_and_commits(served: Served, shell: Shell, count: int):
    def story(switch: str) -> object:
        top = served.run_folder / "story"
        shutil.copytree(served.folder, top, symlinks=True)
        keep_state(top)
        told = []
        for number, (words, variables, size) in enumerate(commands(count)):
            second = f"2026-11-21T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}+00:00"
            times = dict.fromkeys(("MDMEM_NOW", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), second)
            command = mdmem("-C", str(top), *words)
            at = Terminal(served, command, size, MDMEM_SERVER=switch, **variables, **times)
            status, printed = at.result()
            # what resembles a new fact depends on how far the index is by then
            told.append((words, variables, size, status, printed.partition(b"mdmem: similar")[0]))
        log = served.run(["git", "-C", str(top), "log", "--format=%H %an %cn %s"]).stdout
        shutil.rmtree(top)
        return told, log

    cold = story("off")
    served.start()
    warm = story("on")
    assert [pair for pair in zip(warm[0], cold[0], strict=True) if pair[0] != pair[1]] == []
    assert warm == cold
    assert any(b"p:" in each[4] for each in cold[0])
    assert any(b"\x1b[" in each[4] for each in cold[0])


def test_a_key_that_interrupts(served: Served, tmp_path: Path):
    served.start()
    at = Terminal(served, probe("wait", str(tmp_path / "heard")))
    at.read_to(b"\n")
    at.type(b"\x03")
    assert at.result()[0] == 40 + signal.SIGINT
    assert (tmp_path / "heard").read_text() == f"{int(signal.SIGINT)}\n"


def test_a_window_that_is_closed(served: Served, tmp_path: Path):
    served.start()
    at = Terminal(served, probe("wait", str(tmp_path / "heard")))
    command = int(at.read_to(b"\n"))
    at.close()
    assert at.process.wait(TIME_LIMIT) == 40 + signal.SIGHUP
    assert not is_alive(command)
    assert (tmp_path / "heard").read_text() == f"{int(signal.SIGHUP)}\n"


def state_of(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("closed", [False, True])
def test_a_key_that_stops(served: Served, tmp_path: Path, closed: bool):
    served.start()
    waiting = shlex.join(probe("wait", str(tmp_path / "heard"), "0.5"))
    shell = f"set -m; {waiting}; echo stopped $?; read line; fg >/dev/null; echo ended $?"
    at = Terminal(served, ["bash", "--norc", "-c", shell])
    command = int(at.read_to(b"\n"))
    at.type(b"\x1a")
    at.read_to(b"stopped 148")  # as of SIGTSTP
    wait_until(lambda: state_of(command) == "T")
    if closed:
        at.close()
        wait_until(lambda: not is_alive(command))
        assert (tmp_path / "heard").read_text() == f"{int(signal.SIGHUP)}\n"
    else:
        at.type(b"\n")
        assert b"ended 0" in at.result()[1]
        assert (tmp_path / "heard").read_text() == "done\n"


def test_a_pager_has_the_keys(served: Served, shell: Shell):
    """Which it reads at the terminal of its session, as `less` does."""
    served.start()
    for number in range(12):
        served.mdmem("log", f"entry {number}")
    reads = "head -n 1; read key </dev/tty; echo key=$key"
    at = Terminal(served, mdmem("search", "entry"), (80, 3), PAGER=reads)
    at.read_to(b"(inferred)")
    at.type(b"\x03")  # for the pager alone, which a shell in its place does not hear
    at.type(b"q\n")
    status, printed = at.result()
    assert status == 0
    assert b"key=q" in printed
    assert b"interrupted" not in printed


@pytest.mark.parametrize("switch", ["on", "off"])
def test_a_command_that_is_ended_while_its_pager_runs(served: Served, shell: Shell, switch: str):
    served.start()
    served.mdmem("log", "tea")
    ending = "kill $PPID; sleep 0.3"  # the parent is what a person ends
    at = Terminal(served, mdmem("search", "tea"), (80, 1), PAGER=ending, MDMEM_SERVER=switch)
    status, printed = at.result()
    assert (status, printed) == (130, b"mdmem: interrupted\r\n")


@pytest.mark.parametrize("switch", ["on", "off"])
def test_a_pager_dies_by_a_closed_pipe(served: Served, shell: Shell, switch: str):
    served.start()
    served.mdmem("log", "tea")
    pager = "(yes; echo status $? >&2) | head -n 1"
    at = Terminal(served, mdmem("search", "tea"), (80, 1), PAGER=pager, MDMEM_SERVER=switch)
    assert at.result() == (0, b"y\r\nstatus 141\r\n")
