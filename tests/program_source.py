"""The program's own source as syntax trees, parsed once for all tests that read it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import mdmem

PACKAGE = Path(mdmem.__file__).parent
PATHS = sorted(PACKAGE.rglob("*.py"))


@cache
def modules() -> dict[Path, ast.Module]:
    """The modules of the program by their paths."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in PATHS}


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a module, breadth first."""
    return tuple(ast.walk(modules()[path]))
