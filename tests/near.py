"""Run the tests that are nearest to what differs from `main`, for a minute: `make near`.

First those that enter it by the kept map (kept_map.py); whole test files before them that are not as
recorded. Then, or where no map was recorded, those that reach it by imports, nearest first: of those
as near, the files that name a function or class that differs.
"""

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import kept_map
from kept_map import MAP, ROOT, Definition, Map, definitions
from parts import PROCESSES, Outcome, run, test_files

SECONDS = 60.0
TESTS = Path("tests")
IMPORT = re.compile(r"^ *import (.+)", re.MULTILINE)
FROM_IMPORT = re.compile(r"^ *from ([\w.]+) import (\([^)]*\)|.+)", re.MULTILINE)
NO_NAME = re.compile(r"#.*| as \w+")
TEXT = re.compile(r"""["']([\w.]+)["']""")
LOADER = re.compile(r"import_module\b|\bmodule\(")


# What differs.


@dataclass(frozen=True)
class Difference:
    """Where two texts of a module differ: in which functions, in which classes outside of these,
    and whether outside of functions at all.
    """

    functions: Set[str]
    classes: Set[str]
    is_outside: bool


def base() -> str:
    """The commit where the branch left `main`."""
    return (
        _git("merge-base", "HEAD", "main", check=False)
        or _git("merge-base", "HEAD", "origin/main", check=False)
        or ["HEAD"]
    )[0]


def touched(base: str) -> list[Path]:
    """Files changed since a commit: committed, staged or in the work tree."""
    changed = _git("diff", "--name-only", "--no-renames", base)
    return [Path(path) for path in (*changed, *_git("ls-files", "--others", "--exclude-standard"))]


def _git(*words: str, check: bool = True) -> list[str]:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=check
    ).stdout.splitlines()


def differences(base: str, changed: Collection[Path]) -> dict[Path, Difference]:
    """Where each changed module of the program differs from a commit."""
    return {
        path: difference(_git("show", f"{base}:{path}", check=False), _lines(path))
        for path in changed
        if path.is_relative_to("mdmem") and path.suffix == ".py"
    }


def _lines(path: Path) -> list[str]:
    """The lines of a file, none if it is gone."""
    file = ROOT / path
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def difference(old: Sequence[str], new: Sequence[str]) -> Difference:
    """Where two texts of a module differ; blank lines and comments do not count."""
    places = set[Definition | None]()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    for lines, spans in (
        (old, [slice(start, end) for _, start, end, _, _ in changes]),
        (new, [slice(start, end) for _, _, _, start, end in changes]),
    ):
        around = _places(lines)
        for span in spans:
            for line, place in zip(map(str.strip, lines[span]), around[span], strict=True):
                if line and not line.startswith("#"):
                    places.add(place)
    named = list(filter(None, places))
    functions = {each.name for each in named if each.is_function}
    classes = {each.name for each in named if not each.is_function}
    return Difference(functions, classes, bool(classes) or None in places)


def _places(lines: Sequence[str]) -> list[Definition | None]:
    """For each line of a module the innermost function or class around it."""
    places: list[Definition | None] = [None] * len(lines)
    for each in definitions("\n".join(lines)):
        places[each.first - 1 : each.last] = [each] * (each.last - each.first + 1)
    return places


# By the map.


def by_map(kept: Map, differing: Mapping[Path, Difference]) -> list[str]:
    """The test files that are not as recorded, then the tests that enter what differs."""
    known = set(kept.functions)
    functions, modules = set[str](), set[str]()
    for path, where in differing.items():
        for name in where.functions:
            entered = {f"{path}:{name}"} & known or known.intersection(
                f"{path}:{caller}" for caller in callers(_lines(path), name)
            )
            functions |= entered
            if not entered:
                modules.add(str(path))
        if where.is_outside:
            modules.add(str(path))
    stale = [file for file in test_files() if not kept.is_current(file)]
    return [*stale, *kept.entering(functions, modules)]


def unknown(kept: Map, changed: Collection[Path]) -> list[Path]:
    """The changed modules that the map says nothing of: helpers of tests, and what is new, has
    moved or has no function.
    """
    known = {function.partition(":")[0] for function in kept.functions}
    return [
        path for path in changed if str(path) not in known and not path.name.startswith("test_")
    ]


def callers(lines: Sequence[str], name: str) -> set[str]:
    """The functions of a module that name one of it."""
    word = re.compile(rf"\b{name.rpartition('.')[2]}\b")
    return {
        place.name
        for line, place in zip(lines, _places(lines), strict=True)
        if place and place.is_function and place.name != name and word.search(line)
    }


# By imports.


def name(path: Path) -> str:
    """The name that a file is imported by: those of `tests` stand alone."""
    parts = path.with_suffix("").parts
    return ".".join(parts[path.is_relative_to(TESTS) :]).removesuffix(".__init__")


def imported(source: str, names: Set[str], package: str) -> set[str]:
    """The modules among `names` that a module of `package` imports, at the top or late.

    A text counts that is a module's name; and in a module that calls `import_module`, or `module`
    of startup/late.py, one that is such a name without `mdmem.` or without the package.
    """
    found = {each for line in IMPORT.findall(source) for each in re.findall(r"[\w.]+", line)}
    for module, named in FROM_IMPORT.findall(source):
        members = [f"{module}.{each}" for each in re.findall(r"\w+", NO_NAME.sub("", named))]
        found |= {each if each in names else module for each in members}
    texts = set(TEXT.findall(source))
    found |= {text for text in texts if "." in text}
    if LOADER.search(source):
        found |= {f"{above}.{text}" for text in texts for above in ("mdmem", package)}
    return found & names


def steps_to(changed: Set[str], imports: dict[str, set[str]]) -> dict[str, int]:
    """How many imports lead from each module to the nearest one that was changed."""
    steps = dict.fromkeys(changed & imports.keys(), 0)
    last = set(steps)
    while last:
        last = {
            module for module, others in imports.items() if module not in steps and others & last
        }
        steps |= dict.fromkeys(last, max(steps.values()) + 1)
    return steps


def imports_of_modules() -> tuple[dict[str, Path], dict[str, set[str]]]:
    """The file of each module of the program and of the tests, and the modules it imports."""
    paths = [
        path.relative_to(ROOT)
        for folder in ("mdmem", TESTS)
        for path in (ROOT / folder).rglob("*.py")
    ]
    modules = {name(path): path for path in paths}
    imports = {
        each: set(
            imported(
                (ROOT / path).read_text(encoding="utf-8"),
                modules.keys(),
                name(path.parent / "__init__.py"),
            )
        )
        for each, path in modules.items()
    }
    return modules, imports


def by_imports(changed: Collection[Path], differing: Mapping[Path, Difference]) -> list[str]:
    """The test files that lead to changed files, nearest first."""
    modules, imports = imports_of_modules()
    steps = steps_to({name(path) for path in changed}, imports)
    definitions = {
        part
        for where in differing.values()
        for each in where.functions | where.classes
        for part in each.split(".")
    }
    order = {
        str(path): (
            steps[module],
            not names_any(path, definitions),
            len(imports[module]),
            module,
        )
        for module, path in modules.items()
        if module in steps and path.is_relative_to(TESTS) and path.name.startswith("test_")
    }
    return sorted(order, key=order.__getitem__)


def names_any(path: Path, definitions: Set[str]) -> bool:
    """True if a file has one of some names."""
    return not definitions.isdisjoint(re.findall(r"\w+", (ROOT / path).read_text(encoding="utf-8")))


# The run.


def carry_out(tests: Sequence[str], seconds: float) -> Outcome:
    """Run tests and test files in their order, as many as fit into so many seconds; those of one
    file in one process.
    """
    chosen = MAP.with_name("chosen")
    chosen.parent.mkdir(exist_ok=True)
    chosen.write_text("\n".join(tests), encoding="utf-8")
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    parts = [files[number::PROCESSES] for number in range(PROCESSES)]
    return run([[f"--only={chosen}", f"--at-most={seconds}", *part] for part in parts if part])


def beside(kept: Map, files: Sequence[str], ran: Collection[str]) -> list[str]:
    """What of some test files has not run: tests, and whole files that the map does not have."""
    tests = dict[str, list[str]]()
    for test in kept.tests:
        tests.setdefault(test.partition("::")[0], []).append(test)
    every = [each for file in files for each in tests.get(file, [file])]
    done = {*ran}
    return [each for each in every if each not in done and each.partition("::")[0] not in done]


def main() -> int:
    started, start = time.monotonic(), base()
    changed, kept = touched(start), kept_map.read()
    differing = differences(start, changed)
    if kept.tests:
        tests = [*by_map(kept, differing), *by_imports(unknown(kept, changed), differing)]
        words = f"that enter what differs; map of {kept.age()}"
    else:
        tests = by_imports(changed, differing)
        words = "that lead to what differs by imports; no map yet (`make map`)"
    outcome = carry_out(tests, SECONDS) if tests else Outcome(0, Counter())
    status, left = outcome.status, outcome.counts["left out"]
    seconds = SECONDS - (time.monotonic() - started)
    if kept.tests and not status and not left and seconds > 0:
        rest = beside(kept, by_imports(changed, differing), tests)
        status = carry_out(rest, seconds).status if rest else 0
    print(f"ran {outcome.ran} of {outcome.ran + left} {words}")
    return status or int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
