"""A record with more than four fields is built by keyword, so that a field can be added, and a
reader sees which is which.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

import program_source
from program_source import PACKAGE, nodes

MOST = 4
PATHS = [path for path in program_source.PATHS if path != PACKAGE / "cli/parameter_table.py"]


def is_record(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any(
        "dataclass" in ast.unparse(decorator) for decorator in node.decorator_list
    )


def large_records() -> Iterator[str]:
    """The names of the records with more fields than may be given by position."""
    for path in PATHS:
        for node in nodes(path):
            if (
                isinstance(node, ast.ClassDef)
                and is_record(node)
                and sum(isinstance(part, ast.AnnAssign) for part in node.body) > MOST
            ):
                yield node.name


def positional_calls(
    among: Iterable[ast.AST], records: frozenset[str]
) -> Iterator[tuple[int, str]]:
    """The lines that build one of these records with values by position."""
    for node in among:
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in records:
                yield node.lineno, name


def test_large_records_are_built_by_keyword():
    records = frozenset(large_records())
    assert {"Hit", "Search", "EditSection", "WriteResult", "Workspace"} <= records
    positional = [
        (str(path), line, name)
        for path in PATHS
        for line, name in positional_calls(nodes(path), records)
    ]
    assert positional == []


def test_a_record_stands_once():
    names = Counter(
        node.name for path in PATHS for node in nodes(path) if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in names.items() if count > 1} == set()


def test_a_value_by_position_is_seen():
    module = ast.parse("a = Hit('x', 1)\nb = searches.Hit(*row)\nc = Hit(path='x')\n")
    assert list(positional_calls(ast.walk(module), frozenset({"Hit"}))) == [(1, "Hit"), (2, "Hit")]
