"""Mutation tests: try each room's mutants on the tests that enter the changed function, and report
the mutants that no test notices.

    python tests/mutants.py [ROOM…] [--sample N] [--seed N] [--jobs N] [--seconds N] [--only WORDS]
        [--survivors] [--explained] [--again]

First the room's test files are run, to record which test runs which lines (again only for files
that have changed since). Then each mutant is tried on those tests, quick ones first, until one
fails: in memory, and what survives there in a process that loads the changed module. The outcomes
are kept in `.mutants/`: an interrupted run goes on, and a survivor is tried again when the tests
have changed. `mutants_allowed.toml` lists survivors that change nothing a test could notice, with
the reasons; they are not tried.

Why not a maintained tool: mutmut leaves out the methods of dataclasses, and copies the program to a
folder that tests which start processes do not use; cosmic-ray runs one command for every mutant,
which is all tests or too few.
"""

import argparse
import hashlib
import importlib
import json
import math
import os
import signal
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

import kept_map
import parts
from kept_map import ROOT, Map, own_tests
from mutant_children import KEPT, Child, fork, run_all
from mutant_trials import Trial, overlay, start_overlaid, try_in_memory
from mutations import Mutant, mutants

ROOMS = {
    "files": (
        "mdmem/folder/files.py",
        "mdmem/folder/layout.py",
        "mdmem/folder/journal.py",
    ),
    "repo": ("mdmem/repo/*.py",),
    "changes": (
        "mdmem/changes/*.py",
        "mdmem/changes/verbs/*.py",
        "mdmem/review/*.py",
        "mdmem/purge/*.py",
    ),
    "document": ("mdmem/text/document.py",),
    "facts": (
        "mdmem/text/facts.py",
        "mdmem/text/fact_names.py",
        "mdmem/editors/list_items.py",
    ),
}
"""The modules of each."""
STRICT = {"files", "repo", "changes"}
"""The rooms in which every survivor must be killed or explained."""
GOAL = 0.9
ALLOWED = Path(__file__).with_name("mutants_allowed.toml")
LOADED_BEFORE = ("hypothesis", "markdown_it", "git", "tantivy", "mistune", "yaml")
"""Packages that are loaded before the fork, so that not each child loads them; not mdmem, and none
that starts threads when loaded.
"""
BATCH = 100
"""The most mutants of one module that are tried in memory by one process, which first collects
their tests.
"""


KILLED, SURVIVED, UNTESTED = "killed", "survived", "untested"
LEFT = "left"
"""The outcome of a mutant that has survived in memory, and is still to be tried in a process that
loads it.
"""


@dataclass(frozen=True)
class Tried:
    """A mutant of a module and its outcome."""

    module: str
    mutant: Mutant
    outcome: str


class Tests:
    """The tests of the mutants of one module, as many as fit into so many seconds each."""

    def __init__(self, kept: Map, module: str, seconds: float) -> None:
        self._kept, self._module, self._seconds = kept, module, seconds
        self._by_function: dict[str, dict[str, float]] = {}

    def of(self, mutant: Mutant) -> dict[str, float]:
        """The tests that enter its function, in the order in which to run them, with the seconds of
        each; of code that runs once those that enter any function of the module. Last the others of
        the module's own file, which may run it in a process of their own.
        """
        name = "" if mutant.once else mutant.function
        if name not in self._by_function:
            self._by_function[name] = self._chosen(name)
        return self._by_function[name]

    def _chosen(self, name: str) -> dict[str, float]:
        functions, modules = ({f"{self._module}:{name}"}, ()) if name else ((), {self._module})
        own = own_tests(self._module)
        tests = self._kept.entering(functions, modules)
        chosen, total = dict[str, float](), 0.0
        for test in (*tests, *(test for test in self._kept.tests if test.startswith(own))):
            seconds = self._kept.tests[test].seconds
            total += seconds
            if chosen and total > self._seconds:
                break
            chosen[test] = seconds
        return chosen


class Verdicts:
    """The outcomes of a room's mutants, kept from run to run until their function changes; those of
    survivors until their tests change.

    They are lines of a file, each with a key and an outcome, which several processes may append to.
    The last line of a key counts.
    """

    def __init__(self, room: str, kept: Map, seconds: float, again: bool) -> None:
        self._file = KEPT / f"{room}.jsonl"
        if again:
            self._file.unlink(missing_ok=True)
        self._kept, self._seconds = kept, seconds
        self._tests: dict[str, Tests] = {}
        self._outcomes: dict[str, str] = {}
        self.read()

    def read(self) -> None:
        """Read what processes have added."""
        if self._file.exists():
            self._outcomes = dict(json.loads(line) for line in self._file.read_text().splitlines())

    def of(self, module: str, mutant: Mutant) -> str | None:
        key = self._key(module, mutant)
        return (
            KILLED
            if self._outcomes.get(key) == KILLED
            else self._outcomes.get(f"{key}, {self._effort(module, mutant)}")
        )

    def tests(self, module: str, mutant: Mutant) -> dict[str, float]:
        """The tests to try a mutant on, with the seconds of each."""
        if module not in self._tests:
            self._tests[module] = Tests(self._kept, module, self._seconds)
        return self._tests[module].of(mutant)

    def has_survived(self, module: str, mutant: Mutant) -> bool:
        """True if a mutant has survived an earlier trial, and has not been killed since."""
        key = self._key(module, mutant)
        return key not in self._outcomes and any(
            other.startswith(f"{key}, ") for other in self._outcomes
        )

    def add(self, module: str, mutant: Mutant, outcome: str) -> None:
        """Keep an outcome for this process and all that read the file later."""
        key = self._key(module, mutant)
        kept = key if outcome == KILLED else f"{key}, {self._effort(module, mutant)}"
        self._outcomes[kept] = outcome
        with self._file.open("a") as file:
            file.write(json.dumps([kept, outcome]) + "\n")

    def _effort(self, module: str, mutant: Mutant) -> str:
        tests = self.tests(module, mutant)
        files = sorted({self._kept.files[test.partition("::")[0]].digest for test in tests})
        return digest(f"{[*tests]} {files}")

    def _key(self, module: str, mutant: Mutant) -> str:
        return f"{module} {mutant.name} {digest(mutant.context)}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def sampled(room: str, count: int | None, seed: str, only: str) -> list[tuple[str, Mutant]]:
    """A room's mutants, or so many of them, drawn by the seed."""
    paths = sorted({path for pattern in ROOMS[room] for path in ROOT.glob(pattern)})
    candidates = [
        (str(path.relative_to(ROOT)), mutant)
        for path in paths
        for mutant in mutants(path.read_text())
    ]
    candidates = [
        (module, mutant) for module, mutant in candidates if only in f"{module} {mutant.name}"
    ]
    if count is None or count >= len(candidates):
        return candidates
    drawn = sorted(candidates, key=lambda each: digest(f"{seed} {each[0]} {each[1].name}"))[:count]
    return [each for each in candidates if each in drawn]


def try_all(wanted: Sequence[tuple[str, Mutant]], verdicts: Verdicts, jobs: int) -> None:
    """Try the mutants that have no outcome yet: those that are inside a function in memory, then
    what is left.
    """
    due = [
        Trial(module, mutant, verdicts.tests(module, mutant))
        for module, mutant in wanted
        if verdicts.of(module, mutant) in {None, LEFT}
    ]
    for trial in due:
        if not trial.tests:
            verdicts.add(trial.module, trial.mutant, UNTESTED)
    in_memory = [
        trial
        for trial in due
        if trial.tests and not trial.mutant.once and verdicts.of(trial.module, trial.mutant) is None
    ]
    run_all(_memory_starts(in_memory, verdicts), jobs)
    verdicts.read()
    left = [
        trial
        for trial in due
        if trial.tests and verdicts.of(trial.module, trial.mutant) in {None, LEFT}
    ]
    tops = [overlay(seat) for seat in range(jobs)]
    run_all(_overlay_starts(left, tops, verdicts), jobs)


def _memory_starts(trials: Sequence[Trial], verdicts: Verdicts) -> Iterator[Callable[[int], Child]]:
    """The starts of processes that try mutants in memory, each those of one module, `BATCH` at
    most.
    """
    output = os.dup(1)  # that of a child is its log
    modules = [[*group] for _, group in groupby(trials, key=lambda trial: trial.module)]
    batches = [
        group[first : first + BATCH] for group in modules for first in range(0, len(group), BATCH)
    ]
    for number, batch in enumerate(batches):
        words = f"{number + 1}/{len(batches)}"

        def tried(trial: Trial, test: str, words: str = words) -> None:
            verdicts.add(trial.module, trial.mutant, KILLED if test else LEFT)
            os.write(
                output,
                f"{words} {KILLED if test else LEFT} {_words(trial)} ({test or 'in memory'})\n".encode(),
            )

        def start(
            seat: int, batch: Sequence[Trial] = batch, tried: Callable[[Trial, str], None] = tried
        ) -> Child:
            log = KEPT / f"memory-{seat}.log"

            def done(status: int | None, batch: Sequence[Trial] = batch, log: Path = log) -> None:
                if status:
                    print(
                        f"trials in memory of {batch[0].module} ended with status {status}: {log.read_text()[-2000:]}",
                        flush=True,
                    )

            return Child(fork(lambda: try_in_memory(batch, tried, seat), log), math.inf, done)

        yield start


def _overlay_starts(
    trials: Sequence[Trial], tops: Sequence[Path], verdicts: Verdicts
) -> Iterator[Callable[[int], Child]]:
    """The starts of processes that try one mutant each, on the overlay of their seat."""
    for number, trial in enumerate(trials):

        def done(
            status: int | None, trial: Trial = trial, words: str = f"{number + 1}/{len(trials)}"
        ) -> None:
            outcome = SURVIVED if status == 0 else KILLED
            verdicts.add(trial.module, trial.mutant, outcome)
            print(
                f"{words} {outcome} {_words(trial)} ({'out of time' if status is None else f'{len(trial.tests)} tests'})",
                flush=True,
            )

        def start(
            seat: int, trial: Trial = trial, done: Callable[[int | None], None] = done
        ) -> Child:
            return start_overlaid(trial, tops[seat], seat, done)

        yield start


def _words(trial: Trial) -> str:
    return f"{trial.module}:{trial.mutant.line} {trial.mutant.name}"


@cache
def allowed() -> dict[str, dict[str, str]]:
    """The survivors of each module that are allowed, with the reasons."""
    return tomllib.loads(ALLOWED.read_text()) if ALLOWED.exists() else {}


def _is_allowed(module: str, mutant: Mutant) -> bool:
    return mutant.name in allowed().get(module, {})


def report(room: str, tried: Sequence[Tried], is_whole: bool) -> bool:
    """Print the outcomes of a room, and where it is whole reasons that fit no mutant; True if they
    are good enough.
    """
    killed = [each for each in tried if each.outcome == KILLED]
    explained = [each for each in tried if _is_allowed(each.module, each.mutant)]
    unexplained = [
        each
        for each in tried
        if each.outcome != KILLED and not _is_allowed(each.module, each.mutant)
    ]
    needless = [each for each in explained if each.outcome == KILLED]
    share = len(killed) / max(len(killed) + len(unexplained), 1)
    print(
        f"{room}: {len(tried)} mutants, {len(killed)} killed, {len(explained) - len(needless)} explained, {share:.1%} of the rest killed"
    )
    for words, group in ((None, unexplained), ("killed, with a needless reason", needless)):
        for each in group:
            print(f"  {words or each.outcome} {each.module}:{each.mutant.line} {each.mutant.name}")
    names = {(each.module, each.mutant.name) for each in tried}
    for module in dict.fromkeys(each.module for each in tried) if is_whole else ():
        for name in allowed().get(module, {}):
            if (module, name) not in names:
                print(f"  a reason for no mutant {module}: {name}")
    return share >= GOAL and not (room in STRICT and unexplained)


def recorded() -> Map:
    """The kept map, of all test files as they are now."""
    kept = kept_map.read()
    due = [file for file in parts.test_files() if not kept.is_current(file)]
    if due:
        parts.record(due)
        kept = kept_map.read()
    KEPT.mkdir(exist_ok=True)
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rooms", nargs="*", help=f"of {', '.join(ROOMS)}; all where none is named")
    parser.add_argument(
        "--sample", type=int, help="so many mutants of each room, chosen by the seed"
    )
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--seconds",
        type=float,
        default=180.0,
        help="how long the tests of one mutant may take together",
    )
    parser.add_argument(
        "--only", default="", help="mutants with these words in their module or name"
    )
    parser.add_argument(
        "--survivors",
        action="store_true",
        help="mutants that have survived an earlier trial, the shorter ones too",
    )
    parser.add_argument(
        "--explained", action="store_true", help="mutants that are allowed to survive too"
    )
    parser.add_argument("--again", action="store_true", help="forget the outcomes of earlier runs")
    wanted = parser.parse_args()
    rooms = wanted.rooms or list(ROOMS)
    warnings.simplefilter("ignore", EncodingWarning)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the children end too
    for name in LOADED_BEFORE:
        importlib.import_module(name)
    kept = recorded()
    good = []
    for room in rooms:
        verdicts = Verdicts(room, kept, wanted.seconds, wanted.again)
        chosen = sampled(room, wanted.sample, wanted.seed, wanted.only)
        if wanted.survivors:
            chosen = [each for each in chosen if verdicts.has_survived(*each)]
        to_try = [each for each in chosen if wanted.explained or not _is_allowed(*each)]
        try_all(to_try, verdicts, wanted.jobs)
        tried = [
            Tried(module, mutant, verdicts.of(module, mutant) or UNTESTED)
            for module, mutant in chosen
        ]
        good.append(
            report(room, tried, is_whole=not (wanted.sample or wanted.only or wanted.survivors))
        )
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
