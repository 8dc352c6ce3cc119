"""A record with more than four fields is built by keyword, so that a field can be added, and a reader sees which is which."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import mdmem

MOST = 4


@cache
def modules() -> dict[Path, ast.Module]:
    """The modules of the program by their paths."""
    paths = sorted(Path(mdmem.__file__).parent.rglob("*.py"))
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths if path.name != "parameter_table.py"}


def is_record(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def large_records() -> Iterator[str]:
    """The names of the records with more fields than may be given by position."""
    for module in modules().values():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef) and is_record(node) and sum(isinstance(part, ast.AnnAssign) for part in node.body) > MOST:
                yield node.name


def positional_calls(module: ast.Module, records: frozenset[str]) -> Iterator[tuple[int, str]]:
    """The lines that build one of these records with values by position."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in records:
                yield node.lineno, name


def test_large_records_are_built_by_keyword():
    records = frozenset(large_records())
    assert {"Hit", "Search", "EditSection", "WriteResult", "Workspace"} <= records
    positional = [(str(path), line, name) for path, module in modules().items() for line, name in positional_calls(module, records)]
    assert positional == []


def test_a_record_stands_once():
    names = Counter(node.name for module in modules().values() for node in ast.walk(module) if isinstance(node, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1} == set()


def test_a_value_by_position_is_seen():
    module = ast.parse("a = Hit('x', 1)\nb = searches.Hit(*row)\nc = Hit(path='x')\n")
    assert list(positional_calls(module, frozenset({"Hit"}))) == [(1, "Hit"), (2, "Hit")]
