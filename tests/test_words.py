"""The words of each language: constants alone, under the same names."""

import ast
from types import ModuleType
from typing import Any

import pytest
from program_source import modules

from mdmem.text.languages import LANGUAGES
from mdmem.words import en


def tables(language: ModuleType) -> dict[str, Any]:
    return {
        name: value for name, value in vars(language).items() if name.isupper() and name[0] != "_"
    }


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.__name__)
def test_each_language_has_the_same_tables(language: ModuleType):
    kinds = {name: type(value) for name, value in tables(language).items()}
    assert kinds == {name: type(value) for name, value in tables(en).items()}


def test_a_language_is_constants_alone():
    of_words = {path: tree for path, tree in modules().items() if path.parent.name == "words"}
    assert {path.stem for path in of_words} == {
        "__init__",
        *(each.__name__.rpartition(".")[2] for each in LANGUAGES),
    }
    for path, tree in of_words.items():
        for node in tree.body:
            is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            assert is_docstring or is_future or isinstance(node, ast.Assign | ast.AnnAssign), (
                f"{path}:{node.lineno}"
            )
