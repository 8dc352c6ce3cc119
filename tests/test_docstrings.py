"""A docstring begins with what its reader asks: an imperative or a noun phrase, not a clause such
as "What is left of …".
"""

import ast
import re
from collections.abc import Iterable, Iterator

import pytest
from program_source import modules, nodes

CLAUSE = re.compile(r"\s*(What|Whether|That|How|As|Which|Who)\b")


def clauses(among: Iterable[ast.AST]) -> Iterator[str]:
    """The docstrings that begin with a clause, those of attributes included."""
    for node in among:
        match node:
            case ast.Expr(ast.Constant(str(docstring))) if CLAUSE.match(docstring):
                yield docstring.splitlines()[0]


def test_no_docstring_begins_with_a_clause():
    assert {str(path): lines for path in modules() if (lines := list(clauses(nodes(path))))} == {}


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
    assert bool(list(clauses(ast.walk(ast.parse(text))))) is is_clause
