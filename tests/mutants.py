"""Mutation tests: try each room's mutants on the tests that run the changed line, and report the mutants that no test notices.

    python tests/mutants.py [ROOM…] [--sample N] [--seed N] [--jobs N] [--seconds N] [--only WORDS]
        [--survivors] [--again]

First the room's test files are run, to record which test runs which lines (again only for files that have changed since). Then, for each
mutant, a child process with the mutant in place of its module runs those tests, quick ones first, until one fails. The outcomes are kept in
`.mutants/`: an interrupted run goes on, and a survivor is tried again when the tests have changed. `mutants_allowed.toml` lists survivors
that change nothing a test could notice, with the reasons.

Why not a maintained tool: mutmut leaves out the methods of dataclasses, and copies the program to a folder that tests which start processes
do not use; cosmic-ray runs one command for every mutant, which is all tests or too few.
"""

import argparse
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import tomllib
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import coverage
import pytest
from mutations import Mutant, functions, mutants

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Room:
    """Modules, and the test files that should notice a change in them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS = {
    "files": Room(
        ("mdmem/files.py", "mdmem/listing.py", "mdmem/lock_queue.py", "mdmem/write_ahead.py"),
        (
            *("test_files*", "test_listing", "test_write_ahead", "test_durability", "test_recover", "test_templates"),
            *("test_apply_overtaken", "test_unindexed", "test_two_files", "test_own_notes", "test_adopting"),
        ),
    ),
    "repo": Room(
        ("mdmem/repo/*.py",),
        (
            *("test_repo", "test_git_files", "test_locks", "test_durability", "test_recover", "test_apply*", "test_purge*", "test_doctor*"),
            *("test_history_replay", "test_hooks", "test_messages", "test_two_files", "test_pending", "test_own_notes", "test_adopting"),
            *("test_mixed_commits", "test_commits", "test_worktree", "test_first_parent", "test_git_index"),
            *("test_merge_setup", "test_merge_trailers", "test_combined_lines", "test_branch_commits", "test_proposals"),
            *("test_objects", "test_history_rewrite", "test_ref_rewrite", "test_staged_changes"),
        ),
    ),
    "changes": Room(
        ("mdmem/changes/*.py",),
        (
            *("test_apply*", "test_pending", "test_recover", "test_durability", "test_transaction", "test_write_outcome", "test_tasks"),
            *("test_changes", "test_commit_notes", "test_digest_day"),
            *("test_review", "test_contradictions", "test_purge*", "test_trail", "test_trail_update", "test_secret_writes", "test_repeats"),
            *("test_superseding", "test_weaker_sources", "test_two_files", "test_revert*", "test_refusals", "test_contradict"),
            *("test_write_answer", "test_cli_writes", "test_cli_history", "test_cli_purge", "test_proposals*", "test_memtool"),
            "test_likes",
            *("test_accepting", "test_deciding", "test_proposing", "test_instructions", "test_user_hooks", "test_foundations"),
            *("test_moves", "test_moved_paths", "test_plan", "test_edits", "test_file_write"),
        ),
    ),
    "document": Room(
        ("mdmem/document.py", "mdmem/addresses.py"), ("test_document", "test_addresses", "test_scan", "test_editors_*", "test_show")
    ),
    "facts": Room(
        ("mdmem/facts.py", "mdmem/fact_names.py", "mdmem/editors/item_labels.py", "mdmem/editors/key_values.py"),
        (
            *("test_facts", "test_editors_facts", "test_editors_key_values", "test_entries", "test_chains", "test_contradictions"),
            *("test_weaker_sources", "test_superseding", "test_repeats"),
        ),
    ),
}
STRICT = {"files", "repo", "changes"}
"""The rooms in which every survivor must be killed or explained."""
GOAL = 0.9
ALLOWED = Path(__file__).with_name("mutants_allowed.toml")
KEPT = ROOT / ".mutants"
START_SECONDS = 20.0
"""The seconds that a child may take beside its tests, on a busy machine."""
SLOWER = 5.0
"""The factor by which a test may take longer there than measured."""
MEASURING_SECONDS = 1200.0
MOST_BYTES = 4_000_000_000
"""The most memory of one process: an endless loop in a mutant could take all that there is."""
LOADED_BEFORE = ("hypothesis", "markdown_it", "git", "tantivy", "mistune", "yaml")
"""Packages that are loaded before the fork, so that not each child loads them; not mdmem, and none that starts threads when loaded."""
OPTIONS = [
    *("-q", "-p", "no:cacheprovider", "--tb=line", "--rootdir", str(ROOT)),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning", "-W", "ignore::EncodingWarning"),
]


def digest(*data: bytes) -> str:
    whole = hashlib.sha256()
    for part in data:
        whole.update(part)
    return whole.hexdigest()[:20]


# Children at work.


@dataclass(frozen=True)
class Child:
    """A process that may run until `limit`, of the monotonic clock. `done` is called with its exit status, None if the time was up."""

    number: int
    limit: float
    done: Callable[[int | None], None]


def fork(work: Callable[[], int], log: Path) -> int:
    number = os.fork()
    if number:
        return number
    status = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with log.open("wb") as output, Path(os.devnull).open("rb") as nothing:
            for stream, file in ((0, nothing), (1, output), (2, output)):
                os.dup2(file.fileno(), stream)
        os.chdir(ROOT)
        status = int(work())
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def run_all(starts: Iterable[Callable[[int], Child]], jobs: int) -> None:
    """Run children, at most `jobs` at a time. Each start is called with the number of its seat, which no other running child has."""
    waiting, children = iter(starts), dict[int, Child]()
    try:
        while True:
            for seat in sorted(set(range(jobs)).difference(children)):
                if begin := next(waiting, None):
                    children[seat] = begin(seat)
            if not children:
                return
            time.sleep(0.01)
            for seat, child in list(children.items()):
                if _has_ended(child):
                    del children[seat]
    finally:
        for child in children.values():
            os.killpg(child.number, signal.SIGKILL)


def _has_ended(child: Child) -> bool:
    ended, status = os.waitpid(child.number, os.WNOHANG)
    if ended:
        child.done(os.waitstatus_to_exitcode(status))
    elif time.monotonic() > child.limit:
        os.killpg(child.number, signal.SIGKILL)
        os.waitpid(child.number, 0)
        child.done(None)
    else:
        return False
    with suppress(ProcessLookupError):
        os.killpg(child.number, signal.SIGKILL)  # what a test has left
    return True


# Which test runs which lines.


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
        return {test: seconds for test, seconds in self._seconds.items() if test not in self._failed}


def test_files(room: Room) -> list[tuple[Path, Path]]:
    """Each test file of a room, with the path of its measurement: `.json` for times, `.lines` for coverage, `.log` for output."""
    paths = sorted({path for pattern in room.tests for path in (ROOT / "tests").glob(f"{pattern}.py")})
    return [(path, KEPT / "measured" / path.stem) for path in paths]


def measure(rooms: Iterable[Room], jobs: int) -> None:
    """Measure the test files that have changed since they were last measured."""
    every = sorted({each for room in rooms for each in test_files(room)})
    due = [(path, record) for path, record in every if _measured_digest(record) != digest(path.read_bytes())]
    modules = {str(path.relative_to(ROOT)): path.read_bytes() for path in (ROOT / "mdmem").rglob("*.py")}
    for text in modules.values():
        _keep(KEPT / "modules" / digest(text), text)
    seen = {name: digest(text) for name, text in modules.items()}

    def begin(path: Path, record: Path) -> Callable[[int], Child]:
        def start(_: int) -> Child:
            record.parent.mkdir(parents=True, exist_ok=True)
            number = fork(lambda: _measure_one(path, record, seen), record.with_suffix(".log"))
            return Child(number, time.monotonic() + MEASURING_SECONDS, lambda status: print(f"measured {path.name}: {status}", flush=True))

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
    measure = coverage.Coverage(data_file=str(lines), include=[str(ROOT / "mdmem" / "*")], config_file=False)
    stopwatch = Stopwatch(measure)
    measure.start()
    status = pytest.main([*OPTIONS, str(path)], plugins=[stopwatch])
    measure.stop()
    measure.save()
    measured = {"digest": digest(path.read_bytes()), "seconds": stopwatch.seconds, "modules": dict(modules)}
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
        """Add a measurement. Of a function that has changed since, any line counts as run by all its tests."""
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
            here = {line: measured["seconds"].keys() & contexts[line] for line in range(first, last + 1) if line in contexts}
            self._by_function.setdefault(name, set()).update(*here.values())
            now = self._now.get(name)
            if now and old_lines[first - 1 : last] == lines[now[0] - 1 : now[1]]:
                for line, tests in here.items():
                    self._by_line.setdefault((name, line - first), set()).update(tests)
            else:
                self._by_line.setdefault((name, -1), set()).update(*here.values())

    def of(self, mutant: Mutant, seconds: float) -> list[str]:
        """The tests for a mutant, in the order in which to run them, as many as fit into so many seconds.

        First those that run the line, of the module's own file before others, quick ones before slow ones. Last the other tests of that
        file, which may run the line in a process of their own.
        """
        here: set[str] = set()
        if not mutant.once:
            lines = range(mutant.line - mutant.start, mutant.last - mutant.start + 1)
            here = here.union(*(self._by_line.get((mutant.function, line), set()) for line in (*lines, -1)))
        else:
            here = here.union(*self._by_function.values())
        own = set(filter(self._is_own, self.seconds))
        ordered = sorted(here | own, key=lambda test: (test not in here, test not in own, self.seconds[test]))
        chosen, total = [], 0.0
        for test in ordered:
            total += self.seconds[test]
            if chosen and total > seconds:
                break
            chosen.append(test)
        return chosen

    def _is_own(self, test: str) -> bool:
        """True if a test is in the file that is named after the module, or in the room's first file."""
        return Path(test.partition("::")[0]).stem in self._own


# Trying a mutant.


class Chosen:
    """A plugin that runs only these tests, in this order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._order = {test: number for number, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self._order), key=lambda item: self._order[item.nodeid])


def overlay(seat: int) -> Path:
    """Make a copy of the project out of links, in which a module can be exchanged; each seat has its own."""
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


def run_tests(top: Path, module: str, tests: Sequence[str]) -> int:
    """Run tests on an overlay. Under `-X warn_default_encoding`, a text file that is opened without an encoding is a failure too."""
    sys.path.insert(0, str(top))
    encoding = f"error::EncodingWarning:{module.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"
    os.environ["PYTHONPATH"] = str(top)
    paths = dict.fromkeys(test.partition("::")[0] for test in tests)
    return pytest.main([*OPTIONS, "-x", "-W", encoding, *paths], plugins=[Chosen(tests)])


KILLED, SURVIVED, UNTESTED = "killed", "survived", "untested"


@dataclass(frozen=True)
class Tried:
    """A mutant of a module and its outcome."""

    module: str
    mutant: Mutant
    outcome: str


class Verdicts:
    """The outcomes of a room's mutants, kept from run to run until their function changes; those of survivors until the tests change."""

    def __init__(self, room: str, seconds: float, again: bool) -> None:
        self._file = KEPT / f"{room}.json"
        kept = self._file.exists() and not again
        self._outcomes: dict[str, str] = json.loads(self._file.read_text()) if kept else {}
        self._effort = f"{seconds:g} s of " + digest(*(path.read_bytes() for path, _ in test_files(ROOMS[room])))

    def of(self, module: str, mutant: Mutant) -> str | None:
        key = self._key(module, mutant)
        return KILLED if self._outcomes.get(key) == KILLED else self._outcomes.get(f"{key}, {self._effort}")

    def has_survived(self, module: str, mutant: Mutant) -> bool:
        """True if a mutant has survived an earlier trial, and has not been killed since."""
        key = self._key(module, mutant)
        return key not in self._outcomes and any(other.startswith(f"{key}, ") for other in self._outcomes)

    def add(self, module: str, mutant: Mutant, outcome: str) -> None:
        key = self._key(module, mutant)
        self._outcomes[key if outcome == KILLED else f"{key}, {self._effort}"] = outcome
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self._outcomes))
        new.replace(self._file)

    def _key(self, module: str, mutant: Mutant) -> str:
        return f"{module} {mutant.name} {digest(mutant.context.encode())}"


def sampled(room: Room, count: int | None, seed: int, only: str) -> list[tuple[str, Mutant]]:
    """A room's mutants, or so many of them, drawn by the seed."""
    paths = sorted({path for pattern in room.modules for path in ROOT.glob(pattern)})
    candidates = [(str(path.relative_to(ROOT)), mutant) for path in paths for mutant in mutants(path.read_text())]
    candidates = [(module, mutant) for module, mutant in candidates if only in f"{module} {mutant.name}"]
    if count is None or count >= len(candidates):
        return candidates
    drawn = sorted(candidates, key=lambda each: digest(f"{seed} {each[0]} {each[1].name}".encode()))[:count]
    return [each for each in candidates if each in drawn]


def try_all(room: Room, wanted: Sequence[tuple[str, Mutant]], verdicts: Verdicts, jobs: int, seconds: float) -> None:
    """Try the mutants that have no outcome yet."""
    tests = {module: Tests(room, module, (ROOT / module).read_text()) for module in dict.fromkeys(module for module, _ in wanted)}
    tops = [overlay(seat) for seat in range(jobs)]
    due = [(module, mutant) for module, mutant in wanted if verdicts.of(module, mutant) is None]

    def begin(module: str, mutant: Mutant, number: int) -> Callable[[int], Child]:
        chosen = tests[module].of(mutant, seconds)

        def start(seat: int) -> Child:
            def done(status: int | None) -> None:
                put(tops[seat], module, None)
                outcome = UNTESTED if not chosen else SURVIVED if status == 0 else KILLED
                verdicts.add(module, mutant, outcome)
                how = "out of time" if status is None else f"{time.monotonic() - started:.1f} s, of {len(chosen)} tests"
                print(f"{number}/{len(due)} {outcome} {module}:{mutant.line} {mutant.name} ({how})", flush=True)

            put(tops[seat], module, mutant.text)
            expected = START_SECONDS + SLOWER * sum(tests[module].seconds[test] for test in chosen)
            started = time.monotonic()
            child = fork(lambda: run_tests(tops[seat], module, chosen) if chosen else 0, KEPT / f"child-{seat}.log")
            return Child(child, started + expected, done)

        return start

    run_all((begin(module, mutant, number + 1) for number, (module, mutant) in enumerate(due)), jobs)


def allowed() -> dict[str, dict[str, str]]:
    """The survivors of each module that are allowed, with the reasons."""
    return tomllib.loads(ALLOWED.read_text()) if ALLOWED.exists() else {}


def report(room: str, tried: Sequence[Tried]) -> bool:
    """Print the outcomes of a room; True if they are good enough."""
    left = [each for each in tried if each.outcome != KILLED]
    explained = allowed()
    unexplained = [each for each in left if each.mutant.name not in explained.get(each.module, {})]
    share = (len(tried) - len(left)) / max(len(tried) - len(left) + len(unexplained), 1)
    print(
        f"{room}: {len(tried)} tried, {len(tried) - len(left)} killed, {len(left) - len(unexplained)} explained, {share:.1%} of the rest killed"
    )
    for each in unexplained:
        print(f"  {each.outcome} {each.module}:{each.mutant.line} {each.mutant.name}")
    return share >= GOAL and not (room in STRICT and unexplained)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", help=f"of {', '.join(ROOMS)}; all where none is named")
    parser.add_argument("--sample", type=int, help="so many mutants of each room, chosen by the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the tests of one mutant may take together")
    parser.add_argument("--only", default="", help="mutants with these words in their module or name")
    parser.add_argument("--survivors", action="store_true", help="mutants that have survived an earlier trial, the shorter ones too")
    parser.add_argument("--again", action="store_true", help="forget the outcomes of earlier runs")
    wanted = parser.parse_args()
    rooms = wanted.rooms or list(ROOMS)
    warnings.simplefilter("ignore", EncodingWarning)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the children end too
    for name in LOADED_BEFORE:
        importlib.import_module(name)
    measure([ROOMS[room] for room in rooms], wanted.jobs)
    good = []
    for room in rooms:
        verdicts = Verdicts(room, wanted.seconds, wanted.again)
        chosen = sampled(ROOMS[room], wanted.sample, wanted.seed, wanted.only)
        if wanted.survivors:
            chosen = [each for each in chosen if verdicts.has_survived(*each)]
        try_all(ROOMS[room], chosen, verdicts, wanted.jobs, wanted.seconds)
        good.append(report(room, [Tried(module, mutant, verdicts.of(module, mutant) or UNTESTED) for module, mutant in chosen]))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
