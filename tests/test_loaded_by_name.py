"""Modules that no import shows: they are named in strings, so that no command loads another's."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

import pytest
from program_source import PATHS, nodes

from mdmem.changes.verbs import verb_of
from mdmem.model.writes import UserEdit
from mdmem.review.deciding import AcceptEdit
from mdmem.warm import server

LOADERS = {"module", "import_module", "enter"}
TABLES = {"_HOMES", "_INDEX", "_VECTORS", "_DIRECT_COMMANDS", "_ENTRY"}
"""Constants with names of modules."""
NAME = re.compile(r"[a-z_]+(?:\.[a-z_]+)+")


def named() -> Iterator[str]:
    """The names in calls that load a module, in the tables of such names, and `home` of an edit."""
    for path in PATHS:
        for node in nodes(path):
            match node:
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in LOADERS:
                    values = node.args[:1]
                case ast.Assign(targets=[target]) if TABLES & set(
                    re.findall(r"\w+", ast.unparse(target))
                ):
                    values = [node.value]
                case ast.Assign(targets=[ast.Name(id="home")]):
                    values = [node.value]
                case _:
                    continue
            for value in values:
                keys = value.keys if isinstance(value, ast.Dict) else []
                for each in ast.walk(value):
                    is_name = isinstance(each, ast.Constant) and isinstance(each.value, str)
                    if is_name and each not in keys and NAME.fullmatch(each.value):
                        yield each.value


def test_each_is_there():
    found = {name if name.startswith("mdmem") else f"mdmem.{name}" for name in named()}
    assert len(found) > 60
    assert {name for name in found if find_spec(name) is None} == set()


def test_the_server_loads_what_is_there():
    assert [name for name in server._LOADED if find_spec(name) is None] == []


@pytest.mark.parametrize("edit", [*UserEdit.__args__, AcceptEdit], ids=lambda edit: edit.verb)
def test_each_edit_has_its_verb(edit: type):
    home = getattr(edit, "home", f"changes.verbs.{edit.verb.replace('-', '_')}")
    assert verb_of(edit.__new__(edit)) is import_module(f"mdmem.{home}").VERB
