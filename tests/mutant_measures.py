"""Which test runs which lines: the measurements from which the tests of a mutant are chosen."""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import coverage
import pytest
from mutant_children import ROOT, Child, fork, run_all
from mutations import Mutant, functions

KEPT = ROOT / ".mutants"
MEASURING_SECONDS = 1200.0
OPTIONS = [
    *("-q", "-p", "no:cacheprovider", "--tb=line", "--rootdir", str(ROOT)),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning", "-W", "ignore::EncodingWarning"),
]


@dataclass(frozen=True)
class Room:
    """Modules, and the test files that should notice a change in them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


def digest(*data: bytes) -> str:
    whole = hashlib.sha256()
    for part in data:
        whole.update(part)
    return whole.hexdigest()[:20]


class Stopwatch:
    """Records for each test which lines it runs, and how long it takes."""

    def __init__(self, measure: coverage.Coverage) -> None:
        self._measure = measure
        self._failed: set[str] = set()
        self._seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if sys.gettrace() is None:  # after a RecursionError Python drops the trace function
            self._measure.stop()
            self._measure.start()
        self._measure.switch_context(item.nodeid)
        started = time.monotonic()
        try:
            return (yield)
        finally:
            self._measure.switch_context("")
            self._seconds[item.nodeid] = time.monotonic() - started

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self._failed.add(report.nodeid)

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds of each test that passed."""
        return {
            test: seconds for test, seconds in self._seconds.items() if test not in self._failed
        }


def test_files(room: Room) -> list[tuple[Path, Path]]:
    """Each test file of a room, with the path of its measurement: `.json` for times, `.lines` for
    coverage, `.log` for output.
    """
    paths = sorted(
        {path for pattern in room.tests for path in (ROOT / "tests").glob(f"{pattern}.py")}
    )
    return [(path, KEPT / "measured" / path.stem) for path in paths]


def measure(rooms: Iterable[Room], jobs: int) -> None:
    """Measure the test files that have changed since they were last measured."""
    every = sorted({each for room in rooms for each in test_files(room)})
    due = [
        (path, record)
        for path, record in every
        if _measured_digest(record) != digest(path.read_bytes())
    ]
    modules = {
        str(path.relative_to(ROOT)): path.read_bytes() for path in (ROOT / "mdmem").rglob("*.py")
    }
    for text in modules.values():
        _keep(KEPT / "modules" / digest(text), text)
    seen = {name: digest(text) for name, text in modules.items()}

    def begin(path: Path, record: Path) -> Callable[[int], Child]:
        def start(_: int) -> Child:
            record.parent.mkdir(parents=True, exist_ok=True)
            number = fork(lambda: _measure_one(path, record, seen), record.with_suffix(".log"))
            return Child(
                number,
                time.monotonic() + MEASURING_SECONDS,
                lambda status: print(f"measured {path.name}: {status}", flush=True),
            )

        return start

    run_all((begin(path, record) for path, record in due), jobs)


def _measured_digest(record: Path) -> str | None:
    try:
        return str(json.loads(record.with_suffix(".json").read_text())["digest"])
    except FileNotFoundError:
        return None


def _measure_one(path: Path, record: Path, modules: Mapping[str, str]) -> int:
    lines = record.with_suffix(".lines")
    lines.unlink(missing_ok=True)
    measure = coverage.Coverage(
        data_file=str(lines), include=[str(ROOT / "mdmem" / "*")], config_file=False
    )
    stopwatch = Stopwatch(measure)
    measure.start()
    status = pytest.main([*OPTIONS, str(path)], plugins=[stopwatch])
    measure.stop()
    measure.save()
    measured = {
        "digest": digest(path.read_bytes()),
        "seconds": stopwatch.seconds,
        "modules": dict(modules),
    }
    record.with_suffix(".json").write_text(json.dumps(measured))
    return int(status)


def _keep(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_bytes(data)


class Tests:
    """The tests that run each line of one module, by the measurements of a room's test files."""

    def __init__(self, room: Room, module: str, text: str) -> None:
        self._module = module
        self._own = {f"test_{Path(module.removesuffix('/__init__.py')).stem}", room.tests[0]}
        self._now = functions(text)
        self._by_line: dict[tuple[str, int], set[str]] = {}
        self._by_function: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        for _, record in test_files(room):
            self._add(record, text)

    def _add(self, record: Path, text: str) -> None:
        """Add a measurement. Of a function that has changed since, any line counts as run by all
        its tests.
        """
        measured = json.loads(record.with_suffix(".json").read_text())
        data = coverage.CoverageData(str(record.with_suffix(".lines")))
        data.read()
        contexts = data.contexts_by_lineno(str(ROOT / self._module))
        if not contexts or self._module not in measured["modules"]:
            return
        old = (KEPT / "modules" / measured["modules"][self._module]).read_text()
        self.seconds |= measured["seconds"]
        old_functions, old_lines, lines = functions(old), old.splitlines(), text.splitlines()
        for name, (first, last) in old_functions.items():
            here = {
                line: measured["seconds"].keys() & contexts[line]
                for line in range(first, last + 1)
                if line in contexts
            }
            self._by_function.setdefault(name, set()).update(*here.values())
            now = self._now.get(name)
            if now and old_lines[first - 1 : last] == lines[now[0] - 1 : now[1]]:
                for line, tests in here.items():
                    self._by_line.setdefault((name, line - first), set()).update(tests)
            else:
                self._by_line.setdefault((name, -1), set()).update(*here.values())

    def of(self, mutant: Mutant, seconds: float) -> list[str]:
        """The tests for a mutant, in the order in which to run them, as many as fit into so many
        seconds.

        First those that run the line, of the module's own file before others, quick ones before
        slow ones. Last the other tests of that file, which may run the line in a process of their
        own.
        """
        here: set[str] = set()
        if not mutant.once:
            lines = range(mutant.line - mutant.start, mutant.last - mutant.start + 1)
            here = here.union(
                *(self._by_line.get((mutant.function, line), set()) for line in (*lines, -1))
            )
        else:
            here = here.union(*self._by_function.values())
        own = set(filter(self._is_own, self.seconds))
        ordered = sorted(
            here | own, key=lambda test: (test not in here, test not in own, self.seconds[test])
        )
        chosen, total = [], 0.0
        for test in ordered:
            total += self.seconds[test]
            if chosen and total > seconds:
                break
            chosen.append(test)
        return chosen

    def _is_own(self, test: str) -> bool:
        """True if a test is in the file that is named after the module, or in the room's first
        file.
        """
        return any(fnmatch(Path(test.partition("::")[0]).stem, pattern) for pattern in self._own)
