"""Two ways to try a mutant on tests: in memory, with the code of its function exchanged, and with
its text in place of the module.

In memory the tests are collected once for all mutants, which makes a trial thirty times as fast;
but a test that starts mdmem in a process of its own does not see the mutant there, and code that
runs when a module is loaded cannot be exchanged. So a failure in memory counts, and what survives
is tried in a process that loads the changed text.
"""

import importlib
import inspect
import os
import pkgutil
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from kept_map import ROOT
from mutant_children import KEPT, Child, fork, run_all
from mutations import Mutant

OPTIONS = [
    *("-q", "-p", "no:cacheprovider", "--tb=line", "--rootdir", str(ROOT)),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning", "-W", "ignore::EncodingWarning"),
]

START_SECONDS = 20.0
"""The seconds that a child may take beside its tests, on a busy machine."""
SLOWER = 5.0
"""The factor by which a test may take longer there than measured."""
PASSED, FAILED, NOT_EXCHANGED = 0, 1, 72


@dataclass(frozen=True)
class Trial:
    """A mutant of a module, with the tests to run, in their order, and the seconds that
    each takes.
    """

    module: str
    mutant: Mutant
    tests: Mapping[str, float]

    @property
    def limit(self) -> float:
        """The seconds after which it is over."""
        return START_SECONDS + SLOWER * sum(self.tests.values())


# In memory.


def try_in_memory(trials: Sequence[Trial], tried: Callable[[Trial, str], None], seat: int) -> int:
    """Call `tried` with each trial and the test that fails in it, though it passes without the
    mutant: empty, or "out of time".
    """
    base = KEPT / "pytest" / str(seat)
    shutil.rmtree(base, ignore_errors=True)
    base.parent.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONPATH"] = str(ROOT)
    paths = dict.fromkeys(test.partition("::")[0] for trial in trials for test in trial.tests)
    return pytest.main(
        [*OPTIONS, "-s", "--basetemp", str(base), *paths],
        plugins=[InMemory(trials, tried, base, seat)],
    )


class InMemory:
    """A plugin that runs trials in place of the tests: each in a fork, with the code of the
    mutant's function exchanged.
    """

    def __init__(
        self, trials: Sequence[Trial], tried: Callable[[Trial, str], None], base: Path, seat: int
    ) -> None:
        self._trials, self._tried, self._base = trials, tried, base
        self._failed, self._log = KEPT / f"failed-{seat}", KEPT / f"child-{seat}.log"
        self._items: dict[str, pytest.Item] = {}
        self._passes: dict[str, bool] = {}
        """Of tests that have failed: whether they pass without a mutant."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        _load_all()
        self._set_up(session.items)
        for trial in self._trials:
            self._tried(trial, self._failing_test(trial))
        return True

    def _set_up(self, items: Sequence[pytest.Item]) -> None:
        """Run one test here, so that what all tests share is made once and not in each fork."""
        first = next(
            (item for item in items if "empty_repository" in getattr(item, "fixturenames", ())),
            items[0],
        )
        _run(first, next((item for item in reversed(items) if item.path != first.path), None))

    def _failing_test(self, trial: Trial) -> str:
        while True:
            tests = [
                test for test in trial.tests if test in self._items and self._passes.get(test, True)
            ]
            status = self._fork(tests, trial, trial.limit)
            if status in {None, -signal.SIGALRM}:
                return "out of time"
            if status != FAILED:
                return ""
            failed = self._failed.read_text()
            if failed not in self._passes:
                self._passes[failed] = (
                    self._fork([failed], None, START_SECONDS + SLOWER * trial.tests[failed])
                    == PASSED
                )
            if self._passes[failed]:
                return failed

    def _fork(self, tests: Sequence[str], trial: Trial | None, limit: float) -> int | None:
        """Run tests in a fork, and return its exit status, None if the time was up. The folders
        they leave are removed.
        """
        before, statuses = set(self._base.glob("*")), list[int | None]()
        run_all(
            [
                lambda _: Child(
                    fork(lambda: self._run_tests(tests, trial), self._log),
                    time.monotonic() + limit,
                    statuses.append,
                )
            ],
            1,
        )
        for left in set(self._base.glob("*")) - before:
            shutil.rmtree(left, ignore_errors=True)
        return statuses[0]

    def _run_tests(self, tests: Sequence[str], trial: Trial | None) -> int:
        """Run tests in a fork until one fails. Returns one of the statuses; the alarm ends the fork
        where a test takes too long.
        """
        if trial is not None:
            try:
                exchange(trial)
            except (LookupError, ValueError, AttributeError):
                return NOT_EXCHANGED
        items = [self._items[test] for test in tests]
        for item, following in zip(items, [*items[1:], None], strict=True):
            signal.setitimer(
                signal.ITIMER_REAL,
                START_SECONDS + SLOWER * (trial.tests[item.nodeid] if trial else 0),
            )
            if any(report.failed for report in _run(item, following)):
                self._failed.write_text(item.nodeid)
                return FAILED
        return PASSED


def _run(item: pytest.Item, following: pytest.Item | None) -> Sequence[pytest.TestReport]:
    """Run one test, and tear down what the following one does not need."""
    reports: list[pytest.TestReport] = []

    class Reports:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            reports.append(report)

    collecting = Reports()
    item.config.pluginmanager.register(collecting)
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    item.config.pluginmanager.unregister(collecting)
    return reports


def _load_all() -> None:
    """Load every module, so that not each fork does; those of extras that are not installed are
    left out.
    """
    for module in pkgutil.walk_packages([str(ROOT / "mdmem")], "mdmem."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):
                importlib.import_module(module.name)


def exchange(trial: Trial) -> None:
    """Give the function that holds a mutant's change the changed code, in this process.

    Raises LookupError, AttributeError or ValueError where that cannot be done: for code that runs
    when the module is loaded, for a function that its module does not hold by its name, and for one
    that takes other names from around it than before.
    """
    module = importlib.import_module(
        trial.module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    )
    function, name = _function_of(module, trial.mutant.function)
    codes = [
        code
        for code in _codes(compile(trial.mutant.text, function.__code__.co_filename, "exec"))
        if code.co_qualname == name
    ]
    first = function.__code__.co_firstlineno
    changed = next(
        (code for code in codes if len(codes) == 1 or code.co_firstlineno == first), None
    )
    if changed is None:
        raise LookupError(name)
    function.__code__ = changed


def _function_of(module: object, name: str) -> tuple[FunctionType, str]:
    """The function of a qualified name without what decorates it, or the one around it if it is an
    inner one, with its own name.
    """
    held, path = module, list[str]()
    for part in name.split("."):
        held = _undecorated(inspect.getattr_static(held, part))
        path.append(part)
        if isinstance(held, FunctionType):
            return held, ".".join(path)
    raise LookupError(name)


def _undecorated(held: object) -> object:
    """The function in a property, a class method, a cache or another decorator; a cache
    is emptied.
    """
    while True:
        if isinstance(held, property):
            held = held.fget
        elif isinstance(held, cached_property):
            held = held.func
        elif isinstance(held, staticmethod | classmethod):
            held = held.__func__
        elif hasattr(held, "__wrapped__"):
            if hasattr(held, "cache_clear"):
                held.cache_clear()
            held = held.__wrapped__
        else:
            return held


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


# In a process that loads the changed text.


def overlay(seat: int) -> Path:
    """Make a copy of the project out of links, in which a module can be exchanged; each seat has
    its own.
    """
    top = KEPT / "overlays" / str(seat)
    shutil.rmtree(top, ignore_errors=True)
    for path in sorted((ROOT / "mdmem").rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            link = top / path.relative_to(ROOT)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    for name in ("hooks", "templates"):
        (top / name).symlink_to(ROOT / name)
    return top


def put(top: Path, module: str, text: str | None) -> None:
    """Put a text in place of a module of an overlay, or (None) the module itself back."""
    link = top / module
    for compiled in (link.parent / "__pycache__").glob(f"{link.stem}.*.pyc"):
        compiled.unlink()
    link.unlink()
    if text is None:
        link.symlink_to(ROOT / module)
    else:
        link.write_text(text)


def start_overlaid(trial: Trial, top: Path, seat: int, done: Callable[[int | None], None]) -> Child:
    """Start the tests of a trial on an overlay; `done` gets their status, None if the time was up,
    and the module is put back before.
    """

    def put_back(status: int | None) -> None:
        put(top, trial.module, None)
        done(status)

    put(top, trial.module, trial.mutant.text)
    limit = time.monotonic() + trial.limit
    return Child(
        fork(
            lambda: _run_overlaid(top, trial.module, list(trial.tests)), KEPT / f"child-{seat}.log"
        ),
        limit,
        put_back,
    )


def _run_overlaid(top: Path, module: str, tests: Sequence[str]) -> int:
    """Run tests on an overlay. Under `-X warn_default_encoding`, a text file that is opened without
    an encoding is a failure too.
    """
    sys.path.insert(0, str(top))
    encoding = f"error::EncodingWarning:{module.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"
    os.environ["PYTHONPATH"] = str(top)
    paths = dict.fromkeys(test.partition("::")[0] for test in tests)
    only = top.with_suffix(".tests")
    only.write_text("\n".join(tests), encoding="utf-8")
    return pytest.main([*OPTIONS, "-x", "-W", encoding, f"--only={only}", *paths])
