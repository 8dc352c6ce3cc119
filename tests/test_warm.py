"""Commands with a server behind them are the same commands, and it is a server for one's own."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from commandline import Shell, mdmem
from conftest import World
from kept_state import keep_state
from warm import (
    Served,
    catch_ups,
    children,
    descriptors,
    is_alive,
    probe,
    served_in,
    state_of,
    wait_until,
)

import mdmem as package
from mdmem.warm import launcher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a server on Linux alone")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
SIGNAL_OF_A_THREAD = """
import signal, sys, threading

def signal_itself():
    sys.stdin.buffer.read(1)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

threading.Thread(target=signal_itself, daemon=True).start()
"""
"""Reaches Python, and interrupts no call of the main thread, as one just before the call."""


@pytest.fixture
def served(world: World, repository: Path) -> Iterator[Served]:
    with served_in(world, repository) as served:
        yield served


@pytest.fixture
def server(served: Served) -> int:
    return served.start()


class TestProcess:
    """The process of a command, beside that of the same command without a server."""

    CIRCUMSTANCES: ClassVar[dict[str, Any]] = {
        "plain": {},
        "words": {"words": ("ENV", "--", "-x", "", "caf\u00e9 \u65e5\u672c", "a\nb")},
        "bytes": {
            "words": (os.fsdecode(b"\xff\xfe"),),
            "environment": {"RAW": os.fsdecode(b"\xff")},
        },
        "input": {"words": ("READ",), "stdin": "tea\r\nna\u00efve\n".encode()},
        "zone": {"environment": {"TZ": "Asia/Tokyo"}},
        "home": {"environment": {"HOME": "/nowhere", "MDMEM_ACTOR": "agent/a", "SHLVL": "9"}},
        "large": {"environment": {f"LARGE_{n}": "x" * 100_000 for n in range(6)}},
        "umask": {"umask": 0o077},
        "ignored": {"ignored": (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1)},
        "blocked": {"blocked": (signal.SIGUSR2, signal.SIGTERM)},
    }

    @pytest.mark.parametrize("name", CIRCUMSTANCES)
    def test_is_as_without(self, served: Served, server: int, name: str):
        options = dict(self.CIRCUMSTANCES[name])
        words, ignored = options.pop("words", ()), options.pop("ignored", ())
        blocked = options.pop("blocked", ())

        def prepare() -> None:
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, blocked)

        environment = options.pop("environment", {})
        cold, warm = (
            json.loads(
                served.probe(
                    "state",
                    *words,
                    environment=environment | {"MDMEM_SERVER": switch},
                    preexec_fn=prepare,
                    **options,
                ).stdout.splitlines()[0]
            )
            for switch in ("off", "on")
        )
        assert (cold.pop("group"), warm.pop("group")) == (False, True), "it was served"
        cold["environment"]["MDMEM_SERVER"] = "on"
        cold["putenv"] = cold["putenv"].replace("MDMEM_SERVER=off", "MDMEM_SERVER=on")
        assert sorted(cold.pop("putenv").splitlines()) == sorted(warm.pop("putenv").splitlines())
        assert warm == cold

    def test_in_a_folder_that_is_gone(self, served: Served, server: int, tmp_path: Path):
        gone = tmp_path / "gone"
        gone.mkdir()
        command = ["sh", "-c", f'rmdir "{gone}"; exec "$@"', "sh", *probe("parent")]
        done = served.run(command, cwd=gone)
        assert int(done.stdout) == server

    @pytest.mark.parametrize("status", [0, 3, 97])
    def test_its_status(self, served: Served, server: int, status: int):
        assert served.probe("exit", str(status)).returncode == status

    @pytest.mark.parametrize("number", [*SIGNALS, signal.SIGKILL, signal.SIGABRT, signal.SIGUSR1])
    def test_the_signal_it_dies_by(self, served: Served, server: int, number: int):
        assert served.probe("die", str(int(number))).returncode == -number

    def test_an_error_of_its(self, served: Served, server: int):
        done = served.probe("raise")
        assert done.returncode == 1
        assert b"LookupError: an error of the probe" in done.stderr

    @pytest.mark.parametrize("number", SIGNALS)
    def test_signals_are_handed_on(self, served: Served, server: int, tmp_path: Path, number: int):
        process = served.popen(probe("wait", str(tmp_path / "heard")))
        assert process.stdout
        assert int(process.stdout.readline()) in children(server)
        process.send_signal(number)
        assert process.wait(60) == 40 + number
        assert (tmp_path / "heard").read_text() == f"{int(number)}\n"

    def test_a_signal_that_does_not_interrupt_the_wait(
        self, served: Served, server: int, tmp_path: Path
    ):
        program = probe("wait", str(tmp_path / "heard"), before=SIGNAL_OF_A_THREAD)
        process = served.popen(program, stdin=subprocess.PIPE)
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        wait_until(lambda: state_of(process.pid) == "S")
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.wait(60) == 40 + signal.SIGTERM

    def test_what_hears_no_interruption_goes_on(self, served: Served, server: int, tmp_path: Path):
        process = served.popen(
            probe("wait", str(tmp_path / "heard"), "0.5"),
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )
        assert process.stdout
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        assert process.wait(60) == 0
        assert (tmp_path / "heard").read_text() == "done\n"


class TestKilled:
    def test_the_launcher(self, served: Served, server: int, tmp_path: Path):
        process = served.popen(probe("wait", str(tmp_path / "heard")))
        assert process.stdout
        child = int(process.stdout.readline())
        process.kill()
        process.wait(60)
        wait_until(lambda: not is_alive(child))
        assert (tmp_path / "heard").read_text() == "1\n"
        assert served.is_served()

    def test_the_command(self, served: Served, server: int, tmp_path: Path):
        process = served.popen(probe("wait", str(tmp_path / "heard")))
        assert process.stdout
        os.kill(int(process.stdout.readline()), signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
        assert served.is_served()

    def test_the_server(self, served: Served, server: int, tmp_path: Path):
        process = served.popen(probe("wait", str(tmp_path / "heard")))
        assert process.stdout
        child = int(process.stdout.readline())
        os.kill(server, signal.SIGKILL)
        wait_until(lambda: not is_alive(server))
        assert process.poll() is None
        os.kill(child, signal.SIGTERM)
        assert process.wait(60) == launcher._LOST
        assert process.stderr
        assert b"it is unknown whether the command was done" in process.stderr.read()
        assert (tmp_path / "heard").read_text() == "15\n", "the command was over by then"
        assert served.sockets(), "of one that was killed"
        assert served.start() != server

    def test_the_process_that_was_ready(self, served: Served, server: int):
        served.mdmem("server", "stop")
        path = str(next(served.run_folder.glob("mdmem/*.lock"))).removesuffix(".lock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            process = served.popen([*mdmem("redact")])
            with listener.accept()[0] as connection, connection.makefile("rb") as request:
                request.read(int.from_bytes(request.read(launcher.LENGTH_BYTES), "little"))
                connection.sendall(launcher.READY)
            assert process.wait(60) == launcher._LOST
        assert process.stdout
        assert process.stderr
        assert process.stdout.read() == b"", "it was not run here, since it may have been begun"
        assert b"it is unknown whether the command was done" in process.stderr.read()

    def test_the_server_ends_when_its_commands_have(
        self, served: Served, server: int, tmp_path: Path
    ):
        process = served.popen(probe("wait", str(tmp_path / "heard")))
        assert process.stdout
        process.stdout.readline()
        assert served.mdmem("server", "stop").stdout == (
            f"stopped the server (process {server})\n".encode()
        )
        assert served.sockets() == []
        assert is_alive(server)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 40 + signal.SIGTERM
        wait_until(lambda: not is_alive(server))


class TestCold:
    """Cases of doubt, in which a command is what it is without a server."""

    def test_another_surrounding(self, served: Served, server: int):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for prepare in (
            lambda: os.nice(1),
            lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard)),
            lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
        ):
            assert not served.is_served(preexec_fn=prepare)
        assert served.server() == server
        assert served.is_served()

    @pytest.mark.parametrize(
        "environment",
        [
            {"MDMEM_SERVER": "off"},
            {"LC_ALL": "C"},
            {"PYTHONOPTIMIZE": "1"},
            {"LD_LIBRARY_PATH": "/nowhere"},
            {"MDMEM_RECORDS": "dataclasses"},
        ],
        ids=str,
    )
    def test_another_environment(self, served: Served, server: int, environment: dict[str, str]):
        assert not served.is_served(environment=environment)
        assert served.is_served()

    @pytest.mark.parametrize("closed", ["<&-", ">&- 2>/dev/null", "2>&-"])
    def test_closed_streams(self, served: Served, server: int, closed: str, tmp_path: Path):
        command = ["sh", "-c", f'"$@" {closed}', "sh", *probe("wait", str(tmp_path / "x"), "0")]
        served.run(command)
        assert (tmp_path / "x").read_text() == "done\n"

    def test_settings(self, served: Served, server: int):
        settings = Path(served.environment["XDG_CONFIG_HOME"]) / "mdmem" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text('# the server of today\nactor = "agent/server"\nserver = "on"\n')
        assert served.is_served()
        settings.write_text('server = "off"\n')
        assert not served.is_served()

    @pytest.mark.parametrize(
        ("words", "is_warm"),
        [
            (("search", "x"), True),
            (("-C", "mcp", "--json", "log", "x"), True),
            (("-q", "mcp"), False),
            (("-C", "notes", "page"), False),
            (("-C", "search", "doctor"), False),
            (("server", "status"), False),
            (("log", "/dev/fd/63"), False),
            (("show", "--file=/proc/self/fd/7"), False),
            (("--help",), False),
            ((), False),
        ],
        ids=str,
    )
    def test_verbs(self, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], is_warm: bool):
        monkeypatch.setattr(os, "isatty", lambda descriptor: False)
        monkeypatch.setattr(sys, "argv", ["mdmem", *words])
        monkeypatch.setenv("MDMEM_SERVER", "on")
        assert launcher._is_for_server(launcher._MAIN) == is_warm
        monkeypatch.setattr(os, "isatty", lambda descriptor: True)
        assert launcher._is_for_server(launcher._MAIN) == is_warm
        for word in ("--editor", "-", "--body=-"):
            monkeypatch.setattr(sys, "argv", ["mdmem", *words, word])
            assert not launcher._is_for_server(launcher._MAIN)
        monkeypatch.setattr(os, "isatty", lambda descriptor: descriptor == 2)
        assert launcher._is_for_server(launcher._MAIN) == is_warm

    def test_folders_of_sockets(self, served: Served, server: int):
        folder = served.run_folder / "mdmem"
        folder.chmod(0o755)
        status = json.loads(served.mdmem("server", "status", "--json").stdout)
        assert status == {"server": None, "problem": f"{folder} is open to others"}
        assert int(served.probe("parent").stdout) != server
        folder.chmod(0o700)
        assert served.is_served()
        moved = folder.rename(folder.with_name("moved"))
        folder.symlink_to(moved)
        assert int(served.probe("parent").stdout) != server
        folder.unlink()
        moved.rename(folder)
        if os.getuid() == 0:
            os.chown(folder, 12345, -1)
            assert int(served.probe("parent").stdout) != server
            os.chown(folder, 0, -1)

    def test_no_folder_can_be_made(self, served: Served):
        environment = {"XDG_RUNTIME_DIR": "/nowhere", "TMPDIR": "/nowhere/either"}
        done = served.mdmem("redact", stdin=b"tea", environment=environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"tea", b"")

    def test_nobody_answers(self, served: Served, server: int):
        served.mdmem("server", "stop")
        path = str(next(served.run_folder.glob("mdmem/*.lock"))).removesuffix(".lock")
        with socket.socket(socket.AF_UNIX) as deaf:
            deaf.bind(path)
            deaf.listen()
            done = served.mdmem("redact", stdin=b"tea")
        assert (done.returncode, done.stdout) == (0, b"tea")


class TestServer:
    def test_it_ends_when_nobody_asks(self, served: Served):
        served.environment["MDMEM_SERVER_IDLE"] = "0.3"
        process = served.start()
        wait_until(lambda: not is_alive(process))
        assert served.sockets() == []

    def test_it_stays_for_a_while_when_another_environment_asks(self, served: Served):
        served.environment["MDMEM_SERVER_IDLE"] = "6000"
        process = served.start()
        served.environment["LC_ALL"] = "C"
        assert not served.is_served()
        assert served.server() == process

    @pytest.mark.costly
    def test_it_ends_when_it_is_quiet_and_another_environment_asks(self, served: Served):
        served.environment["MDMEM_SERVER_IDLE"] = "30"
        process, began = served.start(), time.monotonic()
        served.environment["LC_ALL"] = "C"
        wait_until(lambda: not served.is_served() and not is_alive(process))
        assert time.monotonic() - began < 30
        wait_until(served.is_served)  # the first one that finds nobody starts another

    def test_it_ends_when_its_socket_is_gone(self, served: Served, server: int):
        (path,) = served.sockets()
        path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
            wait_until(lambda: not is_alive(server))
        assert path.exists(), "it is another's"
        path.unlink()

    def test_it_ends_when_the_program_changes(self, served: Served):
        copy = served.run_folder / "copy"
        shutil.copytree(Path(package.__file__).parent, copy / "mdmem")
        served.environment["PYTHONPATH"] = f"{copy}{os.pathsep}{served.environment['PYTHONPATH']}"
        process = served.start()
        assert served.is_served()
        changed = copy / "mdmem" / "text" / "check.py"
        changed.write_text(changed.read_text() + "\n")
        assert int(served.probe("parent").stdout) != process
        wait_until(lambda: not is_alive(process))
        assert served.start() != process

    def test_it_has_nothing_of_its_callers(self, served: Served, tmp_path: Path):
        secret = {"SECRET": "hunter2", "MDMEM_ACTOR": "agent/a"}
        with Path(os.devnull).open() as file:
            served.mdmem("redact", environment=secret, pass_fds=[file.fileno()])
        wait_until(served.server)
        process = served.server()
        environment = Path(f"/proc/{process}/environ").read_bytes()
        assert b"hunter2" not in environment
        assert b"MDMEM_ACTOR" not in environment
        assert Path(f"/proc/{process}/cwd").resolve() == Path("/")
        assert descriptors(process).count(os.devnull) == 3
        assert len(list(Path(f"/proc/{process}/task").iterdir())) == 1
        (path,) = served.sockets()
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700

    def test_many_start_one(self, served: Served):
        processes = [served.popen(mdmem("redact")) for _ in range(8)]
        assert [process.wait(60) for process in processes] == [0] * 8
        wait_until(served.server)
        assert len(served.sockets()) == 1

    def test_many_at_once(self, served: Served, server: int, tmp_path: Path):
        processes = [served.popen(probe("exit", str(n))) for n in range(20)]
        assert [process.wait(60) for process in processes] == list(range(20))
        wait_until(lambda: not children(server))

    def test_strangers_are_not_heard(self, served: Served, server: int):
        (path,) = served.sockets()
        for sent in (b"", b"\0", b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\x7f" + b"x" * 64):
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(str(path))
                stranger.sendall(sent)
                stranger.shutdown(socket.SHUT_WR)
                with suppress(ConnectionResetError):
                    assert stranger.recv(1) == b""
        assert served.is_served()

    @pytest.mark.parametrize("count", [30, pytest.param(2_000, marks=pytest.mark.slow)])
    def test_it_does_not_grow(self, served: Served, server: int, count: int):
        def size() -> tuple[int, int]:
            """Its own memory in KB, without the pages of libraries, and its descriptors."""
            rows = Path(f"/proc/{server}/status").read_text().splitlines()
            memory = next(int(row.split()[1]) for row in rows if row.startswith("RssAnon"))
            return memory, len(descriptors(server))

        def is_idle() -> bool:
            """No connection is open: one is closed a moment after its process has gone."""
            return sum(link.startswith("socket:") for link in descriptors(server)) == 1

        for _ in range(5):
            served.probe("exit", "0")
        wait_until(is_idle)
        before = size()
        for n in range(count):
            assert served.probe("exit", str(n % 100)).returncode == n % 100
        wait_until(is_idle)
        after = size()
        assert after[1] == before[1]
        assert after[0] <= before[0] + 256
        assert before[0] <= 32 * 1024


class TestCommands:
    def test_their_answers_and_commits(self, served: Served, shell: Shell):
        plain, warm = self.story(served, "off"), self.story(served, "on")
        assert warm == plain
        assert plain[0][1][2], "something was printed"

    def story(self, served: Served, switch: str) -> object:
        top = served.run_folder / "story"
        shutil.copytree(served.folder, top, symlinks=True)
        keep_state(top)
        (top / "below").mkdir()
        told = []

        def told_by(*words: str, cwd: Path = top, stdin: bytes = b"", umask: int = -1, **more: str):
            minute = f"2026-11-21T12:{len(told):02}:00+00:00"
            names = ("MDMEM_NOW", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")
            environment = {"MDMEM_SERVER": switch, **dict.fromkeys(names, minute), **more}
            done = served.mdmem(*words, cwd=cwd, stdin=stdin, umask=umask, environment=environment)
            told.append((words, done.returncode, done.stdout, done.stderr))

        if switch == "on":
            served.start()
        told_by("remember", "the quokka lives on Rottnest", "--key", "quokka")
        told_by("log", "--fact", "it snowed", TZ="Asia/Tokyo")
        told_by("log", "-", stdin="na\u00efve\n".encode(), MDMEM_ACTOR="agent/a")
        told_by("log", "nobody else reads this", umask=0o077)
        told_by("edit-section", "Work", "--append", "- from below", cwd=top / "below")
        told_by("search", "quokka")
        told_by("search", "quokka", "--json")
        told_by("show", "Work", cwd=top / "below")
        told_by("show", "No such section")
        told_by("serach", "quokka")
        told_by("context", "where does the quokka live")
        told_by("forget", "0123456789")
        told_by("history", "quokka")
        told_by("facts", "--json")
        told_by("status", "--json", HOME=str(top / "below"))
        told_by("hooks", "status")
        git = ["git", "-C", str(top), "log", "--format=%H %an %cn %s"]
        commits = served.run(git).stdout
        modes = {
            str(path.relative_to(top)): path.stat().st_mode for path in sorted(top.rglob("*.md"))
        }
        shutil.rmtree(top)
        return told, commits, modes

    def test_a_hook_of_git(self, served: Served, server: int, shell: Shell):
        assert served.mdmem("hooks", "install").returncode == 0
        (shell.folder / "memory" / "bad.md").write_text(
            "<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> x\n"
        )
        served.run(["git", "add", "memory/bad.md"])
        before = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[8]
        done = served.run(["git", "commit", "-q", "-m", "x", "--", "memory/bad.md"])
        assert done.returncode == 1
        assert b"unresolved conflict markers" in done.stderr
        after = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[8]
        assert int(after) > int(before), "a process of the server's has ended"

    def test_twenty_writes_at_once(self, served: Served, server: int, shell: Shell):
        processes = [served.popen(mdmem("log", f"number {n} of them")) for n in range(20)]
        assert [process.wait(60) for process in processes] == [0] * 20
        text = "".join(path.read_text() for path in (served.folder / "memory").glob("2*.md"))
        assert sorted(text.count(f"number {n} of them") for n in range(20)) == [1] * 20

    def test_a_closed_pipe(self, served: Served, server: int, shell: Shell):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            assert served.mdmem("facts", stdout=writing).returncode == 0
        finally:
            os.close(writing)

    @pytest.mark.parametrize("count", [6, pytest.param(200, marks=pytest.mark.slow)])
    def test_kills(self, served: Served, server: int, shell: Shell, count: int):
        """Each command is done once or not at all, whoever is killed at whatever moment."""
        for n in range(count):
            server = served.server() or served.start()
            process = served.popen(mdmem("log", f"entry {n} of the storm"))
            time.sleep(n * 7 % 50 / 1000)  # any moment will do
            if n % 4 == 3:
                process.wait(60)  # its catch-up waits for a quiet moment, unless one does already
            victims = (
                lambda process=process: [process.pid],
                lambda process=server: children(process),
                lambda process=server: [process],
                lambda process=server: catch_ups(process),
            )[n % 4]()
            for victim in victims:
                with suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
            process.wait(60)
            wait_until(lambda process=server: not is_alive(process) or not children(process))
        assert served.mdmem("log", "entry last of the storm").returncode == 0
        found = served.mdmem("search", "storm", "-n", "1000", "--json")
        assert b"entry last of the storm" in found.stdout
        assert json.loads(found.stdout)["stale"] is False
        server = served.server() or served.start()
        wait_until(lambda: not catch_ups(server))
        text = "".join(path.read_text() for path in (served.folder / "memory").glob("2*.md"))
        assert all(text.count(f"entry {n} of the storm") <= 1 for n in range(count))
        assert served.run(["git", "fsck", "--strict"]).returncode == 0
        assert (
            served.run(["git", "status", "--porcelain", "--", "memory"]).stdout.count(b"2026") <= 1
        )


def test_the_launcher_loads_nothing():
    code = (
        "import sys; before = {*sys.modules}; import mdmem.warm.launcher;"
        " print(*{*sys.modules} - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert {*done.stdout.split()} <= {
        *("mdmem", "mdmem.warm", "mdmem.warm.launcher"),
        *("_signal", "_socket", "marshal"),
    }


def test_a_socket_has_a_short_path(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setenv("TMPDIR", "/" + "x" * 100)
    assert launcher.socket_path() is None
    monkeypatch.setenv("TMPDIR", "relative")
    assert launcher.socket_path() is None
    monkeypatch.delenv("TMPDIR")
    path = launcher.socket_path()
    assert path
    assert path.startswith(f"/tmp/mdmem-{os.getuid()}/")


LATE = """
import os, sys
from importlib import import_module
from mdmem.warm import server
for name in server._LOADED:
    import_module(name)
loaded = {*sys.modules}
def tell():
    print("late:", *sorted({*sys.modules} - loaded), flush=True)

import_module("mdmem.__main__").run(tell)
"""


def test_the_server_has_the_analyzers_of_a_search():
    code = """
from mdmem.text import terms
terms.fill_tables()
terms.TextAnalyzerBuilder = None
print(*terms.query_terms("where is the boat").words, terms.text_language(["le"], "english"))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "boat english\n"


@pytest.mark.parametrize(
    "words",
    [
        ("log", "it rained"),
        ("remember", "tea", "--key", "drink"),
        ("edit-section", "Work", "--append", "- x"),
        ("search", "dark rooms"),
        ("context", "where does the quokka live"),
        ("show", "Work"),
        ("history", "Work"),
        ("facts",),
        ("agent-hook",),
    ],
    ids=" ".join,
)
def test_the_server_has_what_everyday_commands_load(shell: Shell, words: tuple[str, ...]):
    event = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "dark rooms", "cwd": "."})
    shell.run("reindex")
    command = [sys.executable, "-c", LATE, *words]
    done = shell.world.run(shell.folder, command, stdin=event)
    assert done.stdout.splitlines()[-1] == "late:"
