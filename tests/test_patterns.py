"""No pattern of the program takes longer than its text is long: each is pumped with long runs.

A pattern cannot escape: late ones are found wherever they are kept, and every call of `re` in the
source is either evaluated here or named below with the patterns that it makes.
"""

from __future__ import annotations

import ast
import fnmatch
import gc
import importlib
import re
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from program_source import PACKAGE, modules, nodes

from mdmem import secrets
from mdmem.folder import layout
from mdmem.health import wiring
from mdmem.model.errors import PackageProblem
from mdmem.startup import late
from mdmem.text import scan

_CHARACTERS = 2_000
_SECONDS = 0.02
_PIECES = (
    *(" ", "\t", "\n", "\r\n", " \n", "\xa0", "a", "A", "1", "é", "的", "-", "*", "_", "`", "~"),
    *("#", "|", "\\", "/", "(", ")", "[", "]", "<", ">", '"', "'", ",", ".", ":", ";", "=", "@"),
    *("!", "&", "$", "^", "a ", "A ", "a,", "a.", "a: ", "1 ", "- a\n", "**a** ", "[a](b) "),
    *("<!-- ", "2026-01-02 ", "because ", "until ", "not a, ", "```\n"),
)
_ALL_METHODS = ("search", "match", "fullmatch")
_METHODS = {each: each for each in _ALL_METHODS} | dict.fromkeys(
    ("sub", "subn", "split", "findall", "finditer"), "finditer"
)
"""What a method is measured by: those that go through a text take the same way."""
_Text = str | bytes


_TEXTS = [f"a{(piece * _CHARACTERS)[:_CHARACTERS]}x" for piece in _PIECES]


@cache
def _program() -> dict[Path, ModuleType]:
    """The modules of the program by their files, loaded."""
    loaded = {}
    for path in modules():
        if path.name != "__main__.py":
            name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            with suppress(PackageProblem):  # of an extra that is not installed
                loaded[path] = importlib.import_module(name.removesuffix(".__init__"))
    return loaded


@cache
def _methods(path: Path) -> dict[str, set[str]]:
    """The methods that a module uses of what has a name."""
    used = defaultdict(set)
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and node.attr in _METHODS:
            value = node.value
            used[getattr(value, "id", "") or getattr(value, "attr", "")].add(_METHODS[node.attr])
    return used


def _late_patterns() -> Iterator[tuple[str, _Text, frozenset[str]]]:
    """Where a late pattern is, its text, and the methods that are used of it (all if unknown)."""
    names = defaultdict(set)
    for path, module in _program().items():
        for name, value in vars(module).items():
            if isinstance(value, late._LatePattern):
                names[id(value)].add((path, name))
    for value in gc.get_objects():
        if isinstance(value, late._LatePattern):
            known = sorted(names.get(id(value), ()))
            methods = {each for path, name in known for each in _methods(path).get(name, ())}
            where = f"{known[0][0].relative_to(PACKAGE)}:{known[0][1]}" if known else "unnamed"
            yield where, value.pattern, frozenset(methods or _ALL_METHODS)


def _scan_patterns() -> list[_Text]:
    texts = [value for name, value in vars(scan).items() if name.isupper() and name[0] == "_"]
    return [text for text in texts if isinstance(text, str)]


_HOSTILE = ("*a" * 30 + "b", "**/a/" * 30 + "b", "[a]*" * 30)
_GLOBS = [layout._translate(each) for each in _HOSTILE]
_WORDS = re.escape("a b " * 100)
_MADE: dict[tuple[str, str], list[_Text]] = {
    ("purge/target.py", "_pattern"): [],
    ("nights/dream/changed_values.py", "with_named_value"): [rf"(?i)(?<!\w){_WORDS}(?!\w)"],
    ("editors/section.py", "find_words"): [f"(?=({_WORDS}))"],
    ("editors/whole_file.py", "_starts"): [f"(?={_WORDS})"],
    ("editors/settings_text.py", "without"): [
        r",\s*mdmem",
        r"(?<!\s)\s*mdmem\s*,|,?(?<!\s)\s*mdmem",
    ],
    ("editors/settings_text.py", "yaml_entry"): [
        r"(?m)^(?:extensions\b|[\"'{]|---|\.\.\.).*\n?",
        r"extensions:\s*(#.*\n?)?",
    ],
    ("health/wiring.py", "_versions"): [
        host.mark for host in wiring.hosts({"HOME": "/home/ada"}).values() if host.mark
    ],
    ("folder/config.py", "_place"): [r"""\s*(?:\[+\s*)?["']?name["']?\s*[]=.]"""],
    ("folder/layout.py", "_pattern_of_days"): ["(?P<year>[0-9]{4})-a"],
    ("folder/layout.py", "_pattern_of_globs"): [*_GLOBS],
    ("folder/layout.py", "folder_matches"): [],
    ("folder/layout.py", "_is_set"): ["[a-z]"],
    ("llm/checks.py", "_items_of_cut"): [r'"facts"\s*:\s*\['],
    ("llm/checks.py", "_addresses"): [rf"(?<![\w.@-]){_WORDS}(?!/?[\w@-]|\.\w)"],
    ("folder/own_settings.py", "add_to_list"): [r"(?m)^me[ \t]*=[ \t]*\["],
    ("index/ranking.py", "_date"): [],
    ("secrets.py", "_pattern_matches"): [rule.pattern for rule in secrets.RULES],
    ("text/scan.py", "_matches"): _scan_patterns(),
    ("text/scan.py", "_end"): [],
    ("text/scan.py", "_until"): [],
    ("sessions/files.py", "_matches"): [fnmatch.translate(each) for each in _HOSTILE],
    ("sessions/tags.py", "_tag_pattern"): [],
}
"""The patterns that functions make of texts, by module and function; of what is none, nothing."""


def _uses(function: ast.FunctionDef) -> dict[str, str]:
    """The methods that a function uses, by the expression or the variable that has them."""
    uses = {
        ast.unparse(node.value): _METHODS[node.attr]
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr in _METHODS
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and (name := ast.unparse(node.targets[0])) in uses:
            uses[ast.unparse(node.value)] = uses[name]
    return uses


def _called() -> Iterator[tuple[str, str, _Text | None, frozenset[str]]]:
    """Each call of `re` in the source: module, function, the pattern if it is fixed, its methods."""
    for path, module in _program().items():
        if path.parent.name == "startup":
            continue
        for function in nodes(path):
            if not isinstance(function, ast.FunctionDef):
                continue
            uses = _uses(function)
            for node in ast.walk(function):
                if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                    continue
                if getattr(node.func.value, "id", "") != "re" or node.func.attr == "escape":
                    continue
                expression = ast.Expression(node.args[0])
                try:
                    text = eval(compile(expression, "pattern", "eval"), dict(vars(module)))
                except NameError:
                    text = None
                method = _METHODS.get(node.func.attr) or uses.get(ast.unparse(node))
                methods = frozenset([method] if method else _ALL_METHODS)
                yield path.relative_to(PACKAGE).as_posix(), function.name, text, methods


def _fixed_patterns() -> Iterator[tuple[str, _Text, frozenset[str]]]:
    for module, function, text, methods in _called():
        for each in _MADE[module, function] if text is None else [text]:
            yield f"{module}:{function}", each, methods


def _use(pattern: re.Pattern[Any], method: str, text: _Text) -> None:
    found = getattr(pattern, method)(text)
    if method == "finditer":
        deque(found, maxlen=0)


def _slowest(pattern: re.Pattern[Any], methods: Iterable[str]) -> tuple[float, str, str]:
    """The CPU seconds of the slowest use, best of ten, with its method and text."""
    worst = (0.0, "", "")
    for method, text in product(methods, _TEXTS):
        subject = text if isinstance(pattern.pattern, str) else text.encode()
        for _ in range(10):  # the machine may be busy for that long
            start = time.process_time()
            _use(pattern, method, subject)
            seconds = time.process_time() - start
            if seconds <= _SECONDS:
                break
        worst = max(worst, (seconds, method, text[:20]))
    return worst


@pytest.mark.costly
def test_no_pattern_takes_longer_than_its_text_is_long():
    slow = []
    _program()
    for where, text, methods in {*_late_patterns(), *_fixed_patterns()}:
        seconds, method, piece = _slowest(re.compile(text), sorted(methods))
        if seconds > _SECONDS:
            slow.append((where, text, method, piece, round(seconds * 1000)))
    assert slow == []
