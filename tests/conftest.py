"""A sealed world for git: a home of its own, fixed dates, nothing inherited."""

import gc
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from mdmem.folder.trust import HOST_MARKS

os.environ.setdefault("MDMEM_SERVER", "off")  # on: `make test-server`
# A folder without certificates: each client of a model reads the system's otherwise, in 20 ms.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
pytest_plugins = ["commandline", "dated_memory", "replays"]
"""Modules with further fixtures. Named here, since the first one imports this module."""
DATE = "2026-03-05T09:30:00+00:00"
NAME = "Ada Example"
EMAIL = "ada@example.org"
TIME_LIMIT = 60
_ROOM = 2 * 1024**3
"""The free bytes in memory from which on temporary files go there; a run has a tenth of it at a
time.
"""
_WORLDS = {"world", "empty_repository"}
_COLLECTED = pytest.StashKey[float]()
_LEFT_OUT = "the time of --at-most is over"
_INHERITED = ("PATH", "PYTHONPATH", "SYSTEMROOT", "TMPDIR", "MDMEM_RECORDS")

# Property tests have the same examples in every run, and none fails because the machine is slow.
# `make explore` takes others, and more.
settings.register_profile(
    "suite",
    max_examples=25,
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("check", settings.get_profile("suite"), max_examples=10)
settings.register_profile(
    "explore", settings.get_profile("suite"), max_examples=100, derandomize=False
)
settings.load_profile("suite")


def examples(most: int) -> settings:
    """Let a property test have so many examples in `make explore`; a quarter of them in the suite,
    or 10, and a tenth in `make check`.
    """
    match settings.get_current_profile_name():
        case "suite":
            return settings(max_examples=max(most // 4, min(most, 10)))
        case "check":
            return settings(max_examples=most // 10 or 1)
    return settings(max_examples=most)


def _use_memory_for_temporary_files() -> None:
    """Put the tests' folders on the file system in memory, where nothing waits for a disk, if it
    has room and lets programs run.

    A `TMPDIR` that is set is used as it is.
    """
    memory = Path("/dev/shm")
    if "TMPDIR" in os.environ or not os.access(memory, os.W_OK):
        return
    status = os.statvfs(memory)
    if status.f_bavail * status.f_frsize >= _ROOM and not status.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)


_use_memory_for_temporary_files()


gc.disable()  # until all tests are collected


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--at-most",
        type=float,
        default=math.inf,
        metavar="SECONDS",
        help="skip the tests that are left after that time",
    )
    parser.addoption(
        "--only",
        type=Path,
        metavar="FILE",
        help="run the tests that a file names, and all of a test file that it names, in its order",
    )
    parser.addoption(
        "--record",
        type=Path,
        metavar="FILE",
        help="record which functions each test enters (see kept_map.py)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if (path := config.getoption("record")) is not None:
        config.pluginmanager.register(import_module("kept_map").Recorder(path))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that have a world, which are those that start git, and the cases that a test
    marked `every` has beside those of the suite. Leave out what `--only` does not name.
    """
    cases = Counter[str]()
    for item in items:
        if not _WORLDS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("git")
        if (mark := item.get_closest_marker("every")) is not None:
            test = item.nodeid.partition("[")[0]
            if cases[test] % mark.args[0]:
                item.add_marker("slow")
            cases[test] += 1
    if (path := config.getoption("only")) is not None:
        order = {
            line: number
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines())
        }
        places = {
            item: order.get(item.nodeid, order.get(item.nodeid.partition("::")[0]))
            for item in items
        }
        items[:] = sorted(filter(lambda item: places[item] is not None, items), key=places.get)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave out of all garbage collections what stays to the end: thousands of tests."""
    session.stash[_COLLECTED] = time.monotonic()
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000)  # a tenth of the time goes into collections otherwise


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.monotonic() - item.session.stash[_COLLECTED] > item.config.getoption("at_most"):
        pytest.skip(_LEFT_OUT)


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count what is left out, and print no letter for each: there are thousands."""
    if report.skipped and isinstance(report.longrepr, tuple) and _LEFT_OUT in report.longrepr[2]:
        return "left out", "", "LEFT OUT"
    return None


@dataclass(frozen=True)
class World:
    """A home and an environment in which neither the machine's nor the person's settings count."""

    home: Path
    environment: Mapping[str, str]

    def run(
        self,
        folder: Path,
        command: Sequence[str | Path],
        *,
        check: bool = True,
        stdin: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command; `environment` is added to the world's. With `check` a failure fails the
        test, and says why.
        """
        done = subprocess.run(
            [str(word) for word in command],
            cwd=folder,
            env={**self.environment, **(environment or {})},
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=TIME_LIMIT,
            check=False,
        )
        assert not check or done.returncode == 0, (
            f"{command} exited {done.returncode}:\n{done.stdout}{done.stderr}"
        )
        return done

    def git(
        self,
        folder: Path,
        *arguments: str | Path,
        check: bool = True,
        stdin: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run git."""
        return self.run(
            folder, ["git", *arguments], check=check, stdin=stdin, environment=environment
        )


@pytest.fixture(autouse=True, scope="session")
def _heard() -> None:
    """Have this process and its children react to Ctrl-C, Ctrl-\\ and a hang-up, even if a shell in
    the background or nohup had them ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _no_alarm() -> Iterator[None]:
    """Take out the timer by which a hook that runs in this process ends with its folder."""
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.fixture(autouse=True)
def _git_in_a_world_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have git fail in a test that is not marked as one that starts it."""
    if request.node.get_closest_marker("git") is None:
        monkeypatch.setenv("GIT_CONFIG_COUNT", "a test that starts git needs the fixture world")


@pytest.fixture(autouse=True)
def _closed_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that leaves a connection to SQLite open; Python itself warns of that from 3.13
    on.
    """
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def recorded(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", recorded)
    yield
    assert all(map(_is_closed, opened)), "a connection to SQLite stayed open"


def _is_closed(connection: sqlite3.Connection) -> bool:
    try:
        connection.cursor()
    except sqlite3.ProgrammingError:
        return True
    return False


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> World:
    """A sealed world; `os.environ` is its environment too, for code that runs in this process.

    Commands that run in this process start nothing in the background, unless the test is marked
    `background`.
    """
    if request.node.get_closest_marker("background") is None:
        keep_from_background(monkeypatch)
    return sealed_world(tmp_path, monkeypatch)


def keep_from_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands that run in this process start nothing in the background."""
    background = import_module("mdmem.index.background")
    for name in ("start_catching_up", "start_catching_up_now", "start_syncing"):
        monkeypatch.setattr(background, name, lambda workspace, **_: None)


def sealed_world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A sealed world with its home in a folder, in which every workspace is adopted and no agent's
    host has left its mark.
    """
    home = folder / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n"
    )
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ} | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "MDMEM_ADOPT": f"{folder}/**",
        "MDMEM_SERVER": os.environ["MDMEM_SERVER"],
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(folder),
        "GIT_EDITOR": "false",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_DATE": DATE,
        "GIT_COMMITTER_DATE": DATE,
    }
    for name in os.environ:
        if name.startswith(("GIT_", "MDMEM_", "XDG_", "LC_")) or name in ("NO_COLOR", *HOST_MARKS):
            monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    time.tzset()  # what an earlier test made of TZ stays otherwise
    return World(home, environment)


@pytest.fixture(scope="session")
def empty_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `repository` is a copy of."""
    folder = tmp_path_factory.mktemp("empty")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", NAME],
        ["config", "user.email", EMAIL],
    ):
        subprocess.run(["git", *words], cwd=folder, env=environment, check=True)
    for sample in (folder / ".git" / "hooks").glob(
        "*.sample"
    ):  # half of the files that are copied, and nothing runs them
        sample.unlink()
    return folder


@pytest.fixture
def repository(world: World, tmp_path: Path, empty_repository: Path) -> Path:
    """A fresh git repository whose owner has a name; no commit yet."""
    return Path(shutil.copytree(empty_repository, tmp_path / "repository"))
