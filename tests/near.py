"""Print the test files that reach, by imports, what differs from `main`, nearest first: of those as
near, the ones that name a function or class that differs. `make near` runs them (see `--at-most` in
conftest.py).
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Set
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = Path("tests")
DEFINITION = re.compile(r"^(?:@@.*@@ |[+-])\s*(?:def|class) (\w+)", re.MULTILINE)
"""In a diff: a definition that a line adds or removes, or that a change is in."""
IMPORT = re.compile(r"^ *import (.+)", re.MULTILINE)
FROM_IMPORT = re.compile(r"^ *from ([\w.]+) import (\([^)]*\)|.+)", re.MULTILINE)
NO_NAME = re.compile(r"#.*| as \w+")
TEXT = re.compile(r"""["']([\w.]+)["']""")
LOADER = re.compile(r"import_module\b|\bmodule\(")


def name(path: Path) -> str:
    """The name that a file is imported by: those of `tests` stand alone."""
    parts = path.with_suffix("").parts
    return ".".join(parts[path.is_relative_to(TESTS) :]).removesuffix(".__init__")


def base() -> str:
    """The commit where the branch left `main`."""
    return (
        _git("merge-base", "HEAD", "main", check=False)
        or _git("merge-base", "HEAD", "origin/main", check=False)
        or ["HEAD"]
    )[0]


def touched() -> Iterator[Path]:
    """Files changed since the branch left `main`: committed, staged or in the work tree."""
    for path in (
        *_git("diff", "--name-only", base()),
        *_git("ls-files", "--others", "--exclude-standard"),
    ):
        yield Path(path)


def definitions(diff: str) -> set[str]:
    """The functions and classes that a diff touches."""
    return set(DEFINITION.findall(diff))


def names_any(path: Path, definitions: Set[str]) -> bool:
    """True if a file has one of some names."""
    return not definitions.isdisjoint(re.findall(r"\w+", (ROOT / path).read_text(encoding="utf-8")))


def _git(*words: str, check: bool = True) -> list[str]:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=check
    ).stdout.splitlines()


def imported(source: str, names: Set[str], package: str) -> set[str]:
    """The modules among `names` that a module of `package` imports, at the top or late.

    A text counts that is a module's name; and in a module that calls `import_module`, or `module`
    of memory/modules.py, one that is such a name without `mdmem.` or without the package.
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


def main() -> None:
    modules, imports = imports_of_modules()
    steps = steps_to({name(path) for path in touched()}, imports)
    tests = [
        module
        for module in steps
        if modules[module].is_relative_to(TESTS) and modules[module].name.startswith("test_")
    ]
    differing = definitions("\n".join(_git("diff", "--unified=0", base(), "--", "mdmem")))
    named = {test for test in tests if names_any(modules[test], differing)}
    for test in sorted(
        tests, key=lambda test: (steps[test], test not in named, len(imports[test]), test)
    ):
        print(modules[test])
    print(f"{len(tests)} files of tests lead to what was touched", file=sys.stderr)


if __name__ == "__main__":
    main()
