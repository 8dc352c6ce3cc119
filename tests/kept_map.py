"""The kept map: which functions of the program each test enters, and how long it takes.

`make test` records it in `.near/map` on Python 3.12 and newer, `make map` on 3.11 too, where it
takes longer. By it `make near` and `make mutants` choose tests, and `parts.py` divides them.
"""

import ast
import gzip
import hashlib
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
MAP = ROOT / ".near" / "map"
IS_CHEAP = sys.version_info >= (3, 12)
"""Recording takes a twentieth of the time; with `settrace` on 3.11 it takes a third."""
_PROGRAM = f"{ROOT}/mdmem/"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:20]


class Row(NamedTuple):
    """What a test enters, as numbers of `Map.functions`, and the seconds that it takes."""

    seconds: float
    functions: Sequence[int]


class File(NamedTuple):
    """A test file as it was recorded: empty digest if a test of it failed."""

    digest: str
    when: float


@dataclass(frozen=True)
class Map:
    """Functions are named `mdmem/text/facts.py:Fact.key`, tests and test files as by pytest."""

    functions: list[str] = field(default_factory=list)
    tests: dict[str, Row] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)

    def is_current(self, file: str) -> bool:
        return file in self.files and self.files[file].digest == digest(ROOT / file)

    def age(self) -> str:
        days = int(time.time() - min(file.when for file in self.files.values())) // 86400
        return "today" if days < 1 else f"{days} day{'s' if days > 1 else ''} ago"

    def seconds(self) -> Mapping[str, float]:
        """The seconds of each test file."""
        total = Counter[str]()
        for test, row in self.tests.items():
            total[test.partition("::")[0]] += row.seconds
        return total

    def entering(self, functions: Collection[str], modules: Collection[str] = ()) -> list[str]:
        """The tests that enter any of some functions, then those that enter any function of some
        modules.

        Those in the test files of their modules come first, of these and of others the ones that
        enter few functions, and one case of each test before a second of any.
        """
        named, inside = set[int](), set[int]()
        for number, function in enumerate(self.functions):
            if function in functions:
                named.add(number)
            elif function.partition(":")[0] in modules:
                inside.add(number)
        own = tuple({own_tests(each.partition(":")[0]) for each in (*functions, *modules)})
        ordered = list[str]()
        for wanted in (named, inside):
            tests = (
                test for test, row in self.tests.items() if not wanted.isdisjoint(row.functions)
            )
            weights = {test: (not test.startswith(own), *self._weight(test)) for test in tests}
            cases, rounds = Counter[str](), dict[str, int]()
            for test in sorted(weights, key=weights.__getitem__):
                name = test.partition("[")[0]
                rounds[test] = cases[name]
                cases[name] += 1
            ordered += sorted(rounds, key=rounds.__getitem__)
        return list(dict.fromkeys(ordered))

    def _weight(self, test: str) -> tuple[int, float, str]:
        row = self.tests[test]
        return len(row.functions), row.seconds, test


def own_tests(module: str) -> str:
    """What the names of the test files of a module begin with."""
    return f"tests/test_{Path(module.removesuffix('/__init__.py')).stem}"


def read(path: Path = MAP) -> Map:
    """The map, an empty one where none was recorded, of the test files that are still there."""
    if not path.exists():
        return Map()
    kept = json.loads(gzip.decompress(path.read_bytes()))
    files = {name: File(*file) for name, file in kept["files"].items() if (ROOT / name).exists()}
    tests = {
        test: Row(*row) for test, row in kept["tests"].items() if test.partition("::")[0] in files
    }
    return Map(kept["functions"], tests, files)


def write(kept: Map, path: Path = MAP) -> None:
    path.parent.mkdir(exist_ok=True)
    packed = gzip.compress(json.dumps(vars(kept), separators=(",", ":")).encode(), compresslevel=6)
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(packed)
    new.replace(path)


def put_together(maps: Iterable[Map]) -> Map:
    """One map of several: a test file is taken from the first that has it."""
    whole, numbers = Map(), dict[str, int]()
    for each in maps:
        files = {name: file for name, file in each.files.items() if name not in whole.files}
        new = [numbers.setdefault(function, len(numbers)) for function in each.functions]
        whole.files.update(files)
        whole.tests.update(
            (test, Row(row.seconds, [new[number] for number in row.functions]))
            for test, row in each.tests.items()
            if test.partition("::")[0] in files
        )
    whole.functions.extend(numbers)
    return whole


@dataclass(frozen=True)
class Definition:
    """A function or class of a module by its name in the map, and its lines, decorators with it."""

    name: str
    first: int
    last: int
    is_function: bool


def definitions(text: str) -> list[Definition]:
    """The functions and classes of a module, outer ones before those in them."""
    found = list[Definition]()
    waiting: list[tuple[ast.AST, str]] = [(ast.parse(text), "")]
    for node, name in waiting:
        for child in ast.iter_child_nodes(node):
            inside = name
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = f"{name}.{child.name}".lstrip(".")
                first = min(each.lineno for each in (child, *child.decorator_list))
                is_function = not isinstance(child, ast.ClassDef)
                last = child.end_lineno or child.lineno
                found.append(Definition(inside, first, last, is_function))
            waiting.append((child, inside))
    return found


class Recorder:
    """A plug-in that records a map of the tests that run in this process."""

    def __init__(self, path: Path) -> None:
        self._path, self._map = path, Map()
        self._numbers: dict[str, int] = {}
        self._entered: set[CodeType] = set()
        self._files: dict[str, bool] = {}
        """Of each test file whether all tests have passed."""
        if IS_CHEAP:
            sys.monitoring.use_tool_id(sys.monitoring.COVERAGE_ID, "near")
            started = sys.monitoring.events.PY_START
            sys.monitoring.register_callback(sys.monitoring.COVERAGE_ID, started, self._start)
            sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, started)

    def _start(self, code: CodeType, _: int) -> object:
        """Note a function, and have each told of once a test."""
        self._entered.add(code)
        return sys.monitoring.DISABLE

    def _call(self, frame: FrameType, event: str, argument: object) -> None:
        self._entered.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._entered.clear()
        if IS_CHEAP:
            sys.monitoring.restart_events()
        else:  # anew for each test: a RecursionError takes it out
            threading.settrace(self._call)
            sys.settrace(self._call)
        started = time.monotonic()
        try:
            return (yield)
        finally:
            functions = filter(None, map(named, self._entered.copy()))
            numbers = {self._numbers.setdefault(each, len(self._numbers)) for each in functions}
            seconds = round(time.monotonic() - started, 4)
            self._map.tests[item.nodeid] = Row(seconds, sorted(numbers))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.nodeid.endswith(".py"):
            self._files[report.nodeid] = not report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._files[report.nodeid.partition("::")[0]] = False

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the map, if no test was left out."""
        if IS_CHEAP:  # before the interpreter takes its modules down
            sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, 0)
        if exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
            for name, has_passed in self._files.items():
                known = digest(ROOT / name) if has_passed else ""
                self._map.files[name] = File(known, time.time())
            self._map.functions.extend(self._numbers)
            write(self._map, self._path)


@cache
def named(code: CodeType) -> str:
    """The name of a function of the program, without what has no name of its own in it; empty for
    other code, and for what runs when a module is loaded.
    """
    if not code.co_flags & CO_OPTIMIZED or not code.co_filename.startswith(_PROGRAM):
        return ""
    path = code.co_filename.removeprefix(f"{ROOT}/")
    parts = [part for part in code.co_qualname.split(".") if not part.startswith("<")]
    return f"{path}:{'.'.join(parts)}" if parts else ""
