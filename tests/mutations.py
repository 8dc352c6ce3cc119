"""Mutants of a module: its text with one thing changed that a test should notice.

Not changed: words for people (a text with a space in it, and interpolated text), type annotations,
imports, docstrings, `__all__`.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kept_map import definitions

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_SHOWN = 70


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    `name` names the place and the change, and stays the same when other parts of the module change.
    `function` is the one that holds the change (empty: code that runs when the module is loaded),
    `line` where that begins. `once`: the code runs only once in a process, when the module is
    loaded or in the first test that calls it. `text` is the module with the change, `context` the
    unchanged function, or the unchanged lines where there is none.
    """

    name: str
    function: str
    once: bool
    line: int
    text: str
    context: str


def mutants(text: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    data, counted, made = text.encode(), Counter[str](), []
    starts = [0, *(number + 1 for number, byte in enumerate(data) if byte == ord("\n"))]
    tree = ast.parse(text)
    conditions = {id(test) for node in ast.walk(tree) for test in _conditions(node)}
    spans = {each.name: (each.first, each.last) for each in definitions(text) if each.is_function}
    rows = text.splitlines()
    for node, scope in _sites(tree):
        first, last = (
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
        )
        old = data[first:last].decode()
        for new in _replacements(node, id(node) in conditions):
            words = f"{scope.function or 'the module'}: {_short(old)} -> {_short(new)}"
            counted[words] += 1
            name = words if counted[words] == 1 else f"{words} ({counted[words]})"
            changed = (data[:first] + new.encode() + data[last:]).decode()
            end = node.end_lineno or node.lineno
            begin_context, end_context = (
                spans[scope.function] if scope.function else (node.lineno, end)
            )
            context = "\n".join(rows[begin_context - 1 : end_context])
            made.append(
                Mutant(
                    name,
                    scope.function,
                    scope.once,
                    node.lineno,
                    changed,
                    context,
                )
            )
    return made


def _short(code: str) -> str:
    words = " ".join(code.split())
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN // 2]}…{words[-_SHOWN // 2 :]}"


@dataclass(frozen=True)
class _Scope:
    """The scope of a node: its function (empty: none), and the prefix of the names of functions in
    it.
    """

    function: str = ""
    prefix: str = ""
    once: bool = True


def _sites(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, _Scope]]:
    """The nodes that may be changed."""
    waiting: list[tuple[ast.AST, _Scope]] = [(tree, _Scope())]
    while waiting:
        node, scope = waiting.pop()
        if isinstance(node, ast.expr | ast.stmt):
            yield node, scope
        waiting += [
            (child, _inside(node, child, scope)) for child in reversed(list(_code_in(node)))
        ]


def _inside(node: ast.AST, child: ast.AST, scope: _Scope) -> _Scope:
    """The scope of a child of a node. Default values belong to the surrounding code, which
    evaluates them.
    """
    if isinstance(node, ast.ClassDef):
        return replace(scope, prefix=f"{scope.prefix}{node.name}.")
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and child in node.body:
        name = f"{scope.prefix}{node.name}"
        return _Scope(
            name,
            f"{name}.",
            any("cache" in ast.unparse(each) for each in node.decorator_list),
        )
    return scope


def _code_in(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes directly in another that are code."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.Expr(ast.Constant()):
            return
        case (
            ast.If(test=ast.Name(id="TYPE_CHECKING"))
            | ast.Assign(targets=[ast.Name(id="__all__" | "TYPE_CHECKING" | "T")])
        ):
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (
                default
                for default in [*node.args.defaults, *node.args.kw_defaults]
                if default is not None
            )
            yield from node.body
        case ast.ClassDef():
            yield from node.body
        case ast.AnnAssign():
            yield from [node.value] if node.value else []
        case ast.ExceptHandler():
            yield from node.body
        case _:
            yield from ast.iter_child_nodes(node)


# What may stand in place of a node.


def _replacements(node: ast.expr | ast.stmt, is_condition: bool) -> Iterator[str]:
    if isinstance(node, ast.stmt):
        yield from _other_statements(node)
    else:
        yield from (
            f"({ast.unparse(ast.fix_missing_locations(other))})"
            for other in _other_expressions(node)
        )
        if is_condition and not isinstance(node, ast.Compare | ast.UnaryOp | ast.Constant):
            yield f"({ast.unparse(ast.UnaryOp(ast.Not(), node))})"


def _conditions(node: ast.AST) -> list[ast.expr]:
    """The conditions of a node, which decide which way it goes."""
    match node:
        case ast.If(test) | ast.While(test) | ast.IfExp(test) | ast.Assert(test):
            return [test]
        case ast.comprehension(ifs=tests):
            return tests
        case ast.match_case(guard=ast.expr() as test):
            return [test]
        case _:
            return []


def _other_statements(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Return(None | ast.Constant(None | True | False)):
            return
        case ast.Return():
            yield "return None"
        case ast.Expr(ast.Call() | ast.Await()) | ast.Raise() | ast.AugAssign() | ast.Delete():
            yield "pass"
        case ast.Continue():
            yield "break"
        case ast.Break():
            yield "pass"


def _other_expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left, operators, rights):
            for number, operator in enumerate(operators):
                yield ast.Compare(
                    left,
                    [*operators[:number], _COMPARISONS[type(operator)](), *operators[number + 1 :]],
                    rights,
                )
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.And() if isinstance(operator, ast.Or) else ast.Or(), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.BinOp(left, operator, right) if (
            type(operator) in _OPERATORS and not _is_prose(left) and not _is_prose(right)
        ):
            yield ast.BinOp(left, _OPERATORS[type(operator)](), right)
        case ast.Call(function, arguments, keywords):
            yield from (
                ast.Call(function, arguments, [other for other in keywords if other is not gone])
                for gone in keywords
                if gone.arg
            )
        case ast.Constant(value):
            yield from (ast.Constant(other) for other in _other_values(value))


def _other_values(value: object) -> Iterator[object]:
    match value:
        case bool():
            yield not value
        case int() | float():
            yield value + 1
        case str() if not _is_said(value):
            yield f"{value}XX"
        case bytes():
            yield value + b"XX"


def _is_prose(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_said(node.value)
    )


def _is_said(text: str) -> bool:
    return any(character.isspace() for character in text) and any(
        character.isalpha() for character in text
    )
