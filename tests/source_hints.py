"""The hints of the program's source: every text that a failure, a finding or a note advises with.

Each is known by the words that are the same in all its forms: `To create one: mdmem init `.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from program_source import PACKAGE, modules, nodes

from mdmem.cli.terminal import command_line, flag
from mdmem.model import errors
from mdmem.startup import late

Words = tuple[str, ...]
"""The fixed parts of a text, in their order."""

_ADVISES = late.pattern(r"\bmdmem (?:-C )?[a-z]{3}")
_NAMING = {"verb": command_line, "command": command_line, "field": flag, "option": flag}
_DEPTH = 4
_FEWEST = 8
"""The letters that a text needs to be known again."""
_PLACES = {
    name: list(inspect.signature(kind).parameters).index("hint")
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, errors.MdmemError)
}


@cache
def source_hints() -> dict[str, Words]:
    """The fixed words of each hint by a name: its module and its beginning."""
    hints: dict[str, Words] = {}
    for path, tree in modules().items():
        module = path.relative_to(PACKAGE).as_posix()
        arguments = (each for node in nodes(path) for each in _hint_arguments(node))
        advice = _advising_texts(tree)
        for node in (*(each for given in arguments for each in _resolved(given, path)), *advice):
            for words in _texts(node):
                if sum(map(len, words)) >= _FEWEST:
                    hints[f"{module}: {'…'.join(words)[:70]}"] = words
    return hints


def is_said(words: Words, text: str) -> bool:
    """True if a text has the fixed words of a hint in their order."""
    at = 0
    for each in words:
        at = text.find(each, at)
        if at < 0:
            return False
        at += len(each)
    return True


def _hint_arguments(node: ast.AST) -> Iterator[ast.expr]:
    if not isinstance(node, ast.Call):
        return
    yield from (keyword.value for keyword in node.keywords if keyword.arg == "hint")
    place = _PLACES.get(_name(node.func))
    if place is not None and len(node.args) > place:
        yield node.args[place]


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _resolved(node: ast.expr, path: Path, depth: int = 0) -> Iterator[ast.expr]:
    """The expressions whose values a hint may have."""
    found: list[ast.expr | None] = []
    if _words(node) is None and depth < _DEPTH:
        match node:
            case ast.IfExp(body=body, orelse=otherwise):
                found = [body, otherwise]
            case ast.BoolOp(values=values):
                found = [*values]
            case ast.Name(id=name):
                found = [value for target, value in _assigned(path) if target == name]
            case ast.Call(func=ast.Name(id=name)):
                found = [value for function, value in _returned(path) if function == name]
    if not found:
        yield node
    for each in filter(None, found):
        yield from _resolved(each, path, depth + 1)


@cache
def _assigned(path: Path) -> list[tuple[str, ast.expr | None]]:
    return [
        (_name(target), node.value)
        for node in nodes(path)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    ]


@cache
def _returned(path: Path) -> list[tuple[str, ast.expr | None]]:
    return [
        (function.name, node.value)
        for function in nodes(path)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Return)
    ]


def _texts(node: ast.AST) -> Iterator[Words]:
    """The texts in an expression, the widest ones."""
    if (words := _words(node)) is not None:
        yield words
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


def _words(node: ast.AST) -> Words | None:
    match node:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.JoinedStr(values=values):
            return tuple(_joined(values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            before, after = _words(left), _words(right)
            if before is None and after is None:
                return None
            before, after = before or ("", ""), after or ("", "")
            return (*before[:-1], before[-1] + after[0], *after[1:])
        case ast.Call(func=function, args=arguments) if _name(function) in _NAMING:
            if arguments and all(isinstance(each, ast.Constant) for each in arguments):
                first, *rest = (each.value for each in arguments)
                return (_NAMING[_name(function)](first, *([rest] if rest else [])),)
    return None


def _joined(values: list[ast.expr]) -> list[str]:
    parts = [""]
    for value in values:
        inner = value.value if isinstance(value, ast.FormattedValue) else value
        words = _words(inner)
        if words is None:
            parts.append("")
        else:
            parts[-1] += words[0]
            parts += words[1:]
    return parts


def _advising_texts(node: ast.AST) -> Iterator[ast.AST]:
    """The texts that name a command, except docstrings and the help of options."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        if isinstance(child, ast.Call) and _name(child.func) in ("Option", "Argument", "Annotated"):
            continue
        words = _words(child)
        if words is None:
            yield from _advising_texts(child)
        elif any(map(_ADVISES.search, words)):
            yield child
