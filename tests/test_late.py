"""Late patterns: what they give, and that nothing is compiled before it is used; and the list of
what is loaded late.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TypeGuard

import pytest
from program_source import PACKAGE, modules, nodes

from mdmem.startup import late


def test_a_pattern_is_compiled_by_its_first_use(monkeypatch: pytest.MonkeyPatch):
    compiled: list[str | bytes] = []
    compile_pattern = re.compile
    monkeypatch.setattr(re, "compile", lambda text: compiled.append(text) or compile_pattern(text))
    digits = late.pattern(r"\d+")
    assert compiled == []
    assert digits.findall("a1b22") == ["1", "22"]
    assert digits.findall("333") == ["333"]
    assert digits.pattern == r"\d+"
    assert compiled == [r"\d+"], "once for each method, and not for its text"


def test_a_pattern_of_bytes():
    assert late.pattern(rb"\d").sub(b"-", b"a1") == b"a-"


def test_a_wrong_pattern_or_method_is_refused():
    with pytest.raises(re.error):
        late.pattern("(").match("a")
    assert not hasattr(late.pattern("a"), "nothing")


def test_no_group_is_repeated_possessively():
    repeated = re.compile(r"\)(?:[*+?]|\{+[0-9,]*\}+)\+")
    found = [
        f"{path}:{node.lineno}"
        for path in modules()
        for node in nodes(path)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str | bytes)
        and repeated.search(
            node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        )
    ]
    assert found == [f"{PACKAGE / 'startup/late.py'}:1"], "the docstring that says why"


def test_no_module_compiles_a_pattern_while_it_is_loaded():
    for path, tree in modules().items():
        waiting: list[ast.AST] = [tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                waiting += node.decorator_list
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "compile":
                raise AssertionError(f"{path}:{node.lineno}: {ast.unparse(node)}")
            else:
                waiting += ast.iter_child_nodes(node)


def test_the_docs_list_every_place_that_loads_late():
    loading = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        if path.parent.name != "startup" or path.stem == "late"
        for node in nodes(path)
        if _loads(node) and node.col_offset and _is_in_a_function(path, node)
    }
    listed = re.search(
        r"(?s)<!-- loaded late -->(.*?)\n\n",
        (PACKAGE.parent / "docs" / "recipes.md").read_text(encoding="utf-8"),
    )
    assert listed is not None
    assert loading == {
        name
        for row in re.findall(r"^\| (`[^|]+`) \|", listed[1], re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    }


def _is_in_a_function(path: Path, node: ast.AST) -> bool:
    return any(
        node in ast.walk(function)
        for function in nodes(path)
        if isinstance(function, ast.FunctionDef)
    )


def _loads(node: ast.AST) -> TypeGuard[ast.stmt | ast.expr]:
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.Name) and node.id == "import_module"
    )
