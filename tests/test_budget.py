"""The size of the program and of what a command loads, held to the numbers in budget.toml.

A figure over its number fails, and so does one 2 % below it: a budget that only forbids drifts up
to its limit. Logical lines are statements without docstrings.
"""

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from conftest import World
from program_source import PACKAGE, modules, nodes
from workspaces import Desk, desk

TESTS = Path(__file__).parent
BUDGET = tomllib.loads((TESTS / "budget.toml").read_text(encoding="utf-8"))
TOO_LOW = 0.98
MANY_BY_POSITION = 5
WRITING = ("mdmem.changes.apply", "mdmem.changes.plan", "mdmem.changes.verbs")
"""What a write is; it imports all that these import, late ones and those for types too."""
ELSEWHERE = {"mdmem.review.deciding"}
"""Loaded by the name that an edit gives."""
READING = ("index.catching_up", "search", "queries.search", "proposals", "vectors", "llm")
"""Rooms that a write does not stand on."""
COMMANDS = {
    "log": ["log", "it snowed"],
    "search": ["search", "Stripe"],
    "edit-section": ["edit-section", "Home", "--append", "- a wombat"],
}
PROBE = """
import json, os, sys
entered, functions = set(), set()
def note(frame, event, argument):
    name, code = frame.f_globals.get("__name__") or "", frame.f_code
    is_function = code.co_flags & 1 and not code.co_name.startswith("<")
    if event == "call" and is_function and name.split(".")[0] == "mdmem":
        entered.add(name)
        functions.add((name, code.co_name, code.co_firstlineno))
def end():
    sys.setprofile(None)
    loaded = [
        name for name, module in sys.modules.items()
        if name.split(".")[0] == "mdmem" and type(module).__name__ != "_LazyModule"
    ]
    with open(place, "w") as file:
        json.dump({"loaded": loaded, "entered": len(entered), "functions": len(functions)}, file)
place = os.environ.pop("BUDGET_PLACE")
sys.setprofile(note)
from mdmem.__main__ import run
run(end)
"""


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {name_of(path): path for path in modules()}


def holds(figures: Mapping[str, int], budget: Mapping[str, int]) -> None:
    assert figures.keys() == budget.keys()
    wrong = [
        f"{name}: {figures[name]}, more than {number}"
        if figures[name] > number
        else f"{name}: lower it to {figures[name]}"
        for name, number in budget.items()
        if figures[name] > number or figures[name] <= number * TOO_LOW
    ]
    assert not wrong, "\n".join(wrong)


def is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@cache
def logical_lines(name: str) -> int:
    return sum(isinstance(node, ast.stmt) and not is_docstring(node) for node in nodes(PATHS[name]))


def imported(name: str, node: ast.AST) -> set[str]:
    """The program's modules that a statement in a module names."""
    if isinstance(node, ast.Import):
        return {each.name for each in node.names} & PATHS.keys()
    if not isinstance(node, ast.ImportFrom):
        return set()
    assert not node.level, name
    base = node.module or ""
    found = {
        f"{base}.{each.name}" if f"{base}.{each.name}" in PATHS else base for each in node.names
    }
    return found & PATHS.keys()


@cache
def imports(name: str) -> set[str]:
    """What a module imports, and the packages that these are in."""
    found = {each for node in nodes(PATHS[name]) for each in imported(name, node)}
    parts = [each.split(".") for each in found]
    return found | {".".join(each[:length]) for each in parts for length in range(1, len(each))}


def reached(start: set[str]) -> set[str]:
    found, todo = set[str](), list(start)
    while todo:
        if (name := todo.pop()) not in found:
            found.add(name)
            todo += imports(name)
    return found


@cache
def longest_chain(name: str) -> int:
    return 1 + max(map(longest_chain, direct(name)), default=0)


def direct(name: str) -> set[str]:
    """What a module imports at its top."""
    top = modules()[PATHS[name]].body
    return {each for node in top for each in imported(name, node)} - {name}


def written_by_position(name: str) -> int:
    return sum(
        isinstance(node, ast.Call)
        and sum(not isinstance(each, ast.Starred) for each in node.args) >= MANY_BY_POSITION
        for node in nodes(PATHS[name])
    )


def loaded_late(name: str) -> int:
    return sum(
        bool(imported(name, inner))
        for node in nodes(PATHS[name])
        if isinstance(node, ast.FunctionDef)
        for inner in ast.walk(node)
    )


def test_the_house():
    imported = reached({name for name in PATHS if name.startswith(WRITING)} - ELSEWHERE)
    holds(
        {
            "logical-lines": sum(map(logical_lines, PATHS)),
            "modules": len(PATHS),
            "longest-chain": max(map(longest_chain, PATHS)),
            "own-late-imports": sum(map(loaded_late, PATHS)),
            "calls-of-five-by-position": sum(map(written_by_position, PATHS)),
            "json-functions": sum(
                isinstance(node, ast.FunctionDef) and node.name.endswith("_json")
                for name in PATHS
                for node in nodes(PATHS[name])
            ),
            "lines-of-tests": sum(path.read_bytes().count(b"\n") for path in TESTS.rglob("*.py")),
            "a-write-imports-modules": len(imported),
            "a-write-imports-lines": sum(map(logical_lines, imported)),
        },
        BUDGET["house"],
    )


def test_a_write_does_not_stand_on_reading():
    imported = reached({name for name in PATHS if name.startswith(WRITING)} - ELSEWHERE)
    assert not [
        name for name in imported for room in READING if f"{name}.".startswith(f"mdmem.{room}.")
    ]


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_command_loads(at: Desk, command: str, tmp_path: Path):
    place = tmp_path / "figures.json"
    environment = at.world.environment | {"BUDGET_PLACE": str(place), "MDMEM_SERVER": "off"}
    for words in (["-m", "mdmem", "reindex"], ["-c", PROBE, *COMMANDS[command]]):
        subprocess.run(
            [sys.executable, *words],
            cwd=at.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
    found = json.loads(place.read_text(encoding="utf-8"))
    lines = sum(map(logical_lines, found["loaded"]))
    figures = {
        "modules": len(found["loaded"]),
        "lines": lines,
        "entered": found["entered"],
        "functions": found["functions"],
    }
    holds(figures, BUDGET[command])
