"""Results as JSON: the fields that are listed by the names of classes, which no type checker sees."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

import pytest
from program_source import modules

from mdmem.show import values
from mdmem.show.values import FIELDS, MADE, to_json


def _classes() -> Mapping[str, list[Mapping[str, str]]]:
    """The fields and properties of each class, with their types as they are written."""
    classes: dict[str, list[Mapping[str, str]]] = {}
    for tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(dict(_members(node)))
    return classes


def _members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield each.target.id, ast.unparse(each.annotation)
        elif isinstance(each, ast.FunctionDef) and each.decorator_list and each.returns:
            yield each.name, ast.unparse(each.returns)


CLASSES = _classes()


def record_of(kind: str, path: str) -> str:
    """The class of the records in a field."""
    for name in path.split("."):
        (members,) = CLASSES[kind]
        (kind,) = [word for word in re.findall(r"\w+", members[name]) if word in CLASSES]
    return kind


def kind_of(row: str) -> str:
    """The class whose fields a row lists."""
    kind, _, name = row.partition(".")
    paths = [path or word for _, word, path, *_ in map(values._parts, FIELDS[kind].split())]
    names = [word for _, word, *_ in map(values._parts, FIELDS[kind].split())]
    return record_of(kind, paths[names.index(name)]) if name else kind


@pytest.mark.parametrize("row", FIELDS)
def test_each_word_is_a_field_or_made(row: str):
    kind = kind_of(row)
    for _, name, path, _, _, looked_at in map(values._parts, FIELDS[row].split()):
        read = [] if f"{kind}.{name}" in MADE else [path or name]
        for each in (*read, *filter(None, [looked_at])):
            owner, _, last = each.rpartition(".")
            (members,) = CLASSES[record_of(kind, owner) if owner else kind]
            assert last in members, f"{row}: {each}"


def test_what_is_made_is_listed():
    listed = {
        f"{kind_of(row)}.{word}"
        for row, words in FIELDS.items()
        for _, word, *_ in map(values._parts, words.split())
    }
    assert MADE.keys() - listed == {"MessageHit"}
    assert len(CLASSES["MessageHit"]) == 1


@dataclass
class Grown:
    """A record that no answer has."""


@pytest.mark.parametrize("value", [Grown(), [Grown()], {"a": Grown()}, object(), {1, 2}])
def test_a_record_without_a_row_is_refused(value: object):
    with pytest.raises(TypeError):
        to_json(value)


def test_plain_values():
    value = {"a": (1, 2.5, None, True), "b": [date(2026, 3, 5)], "c": ()}
    assert to_json(value) == {"a": [1, 2.5, None, True], "b": ["2026-03-05"], "c": []}
