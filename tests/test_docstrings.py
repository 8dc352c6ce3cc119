"""A docstring begins with what its reader asks: an imperative or a noun phrase, not a clause such as "What is left of …"."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mdmem

PATHS = sorted(Path(mdmem.__file__).parent.rglob("*.py"))
CLAUSE = re.compile(r"\s*(What|Whether|That|How|As|Which|Who)\b")


def clauses(text: str) -> Iterator[str]:
    """The docstrings of a module that begin with a clause, those of attributes included."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(ast.Constant(str(docstring))) if CLAUSE.match(docstring):
                yield docstring.splitlines()[0]


def test_no_docstring_begins_with_a_clause():
    assert {str(path): lines for path in PATHS if (lines := list(clauses(path.read_text(encoding="utf-8"))))} == {}


@pytest.mark.parametrize(
    ("text", "is_clause"),
    [
        ('"""What a file holds."""', True),
        ('def f():\n    """Whether it rains."""', True),
        ('A = 1\n"""How far it is."""', True),
        ('"""Whatever fails is counted."""', False),
        ('def f():\n    """The answer."""\n    return "What is it?"', False),
    ],
)
def test_clauses(text: str, is_clause: bool) -> None:
    assert bool(list(clauses(text))) is is_clause
