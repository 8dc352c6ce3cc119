"""The recipes name the files of a change, and these have what the program has."""

import ast
import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from command_table import IN_A_LOG, NEW_TEXTS, RECORDS, ROWS, UNDER_POWER_CUTS, WRITES
from made_sessions import WRITERS as MADE_SESSIONS
from program_source import PACKAGE, modules
from session_files import WRITERS
from test_transcripts import HEADERS
from test_transcripts_in_parts import MAKERS

from mdmem.model import Op
from mdmem.model.writes import Action, Change, Contradict, Resolve, Revert
from mdmem.sessions.clients import CLIENT_NAMES

ROOT = PACKAGE.parent


def files_of(recipe: str) -> dict[str, Path]:
    """The files that the table of a recipe names."""
    recipes = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    table = re.search(
        rf"(?s)\n\*\*{re.escape(recipe)}\.\*\* These (\d+) files.*?\n\n(\|.*?)\n\n", recipes
    )
    assert table is not None
    cells = re.findall(r"^\| ([^|]+) \|", table[2], re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`([\w/-]+\.\w+)`", cell)]
    assert len(names) == int(table[1]), f"the recipe's table names {len(names)} files"
    return {
        name: (PACKAGE if (PACKAGE / name.partition("/")[0]).is_dir() else ROOT) / name
        for name in names
    }


VERBS = sorted(
    set(get_args(Change)) - {Revert, Contradict, Resolve}, key=lambda kind: kind.__name__
)
"""The records of the verbs that write one file, and that are commands."""


class TestVerb:
    FILES = files_of("A verb that writes one file")
    OPERATIONS = "model/__init__.py"
    """Operations need not have the names of verbs: `edit-section` has one for each action."""

    @pytest.mark.parametrize("kind", VERBS)
    def test_is_in_every_file_that_the_recipe_names(self, kind: type[Change]):
        module = kind.verb.replace("-", "_")
        missing = [
            name
            for name, path in self.FILES.items()
            if name != self.OPERATIONS
            and not re.search(
                rf"\b({kind.__name__}|{kind.verb}|{module})\b",
                path.with_stem(path.stem.replace("NAME", module)).read_text(encoding="utf-8"),
            )
        ]
        assert not missing, f"{kind.verb} is not in {', '.join(missing)}"

    @pytest.mark.parametrize("kind", VERBS)
    def test_is_tried_by_the_tests(self, kind: type[Change]):
        tables = {
            "ROWS": ROWS.keys(),
            "RECORDS": RECORDS.keys(),
            "IN_A_LOG": {type(edit) for edit, _ in IN_A_LOG},
            "NEW_TEXTS": {type(edit) for edit, _ in NEW_TEXTS},
            "UNDER_POWER_CUTS": set(map(type, UNDER_POWER_CUTS)),
            "WRITES": {words[0] for words, _ in WRITES},
        }
        missing = [name for name, tried in tables.items() if not tried & {kind, kind.verb}]
        assert not missing, f"{kind.verb} is not in {', '.join(missing)} of tests/command_table.py"

    def test_an_operation_has_its_words(self):
        assert [op for op in Op if not op.done] == []


@pytest.mark.parametrize("action", Action)
def test_an_action_is_in_every_file_that_the_recipe_names(action: Action):
    word = re.compile(rf"\b({action.name}|{action})\b")
    files = files_of("An action of a verb").items()
    assert [name for name, path in files if not word.search(path.read_text("utf-8"))] == []


class TestDoor:
    SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    LAYERS = SETTINGS["tool"]["importlinter"]["contracts"][0]["layers"]
    DOORS = LAYERS[0].split(" | ")

    def test_every_room_has_its_line(self):
        page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
        cells = re.findall(r"^\| (`[^|]+`) \|", page, re.MULTILINE)
        listed = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
        rooms = [room for layer in self.LAYERS for room in layer.split(" | ")]
        assert sorted(listed) == sorted(rooms), "the table of rooms in docs/architecture.md"

    @pytest.mark.costly
    def test_only_people_open_what_is_not_adopted(self):
        """A door for programs opens what `memory/hosts` finds, which asks for the adoption."""
        for path, tree in modules().items():
            room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
            calls = {
                ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)
            }
            finds = {"hosts.find_host_workspace", "hosts.require_host_workspace"}
            if room in self.DOORS and room != "cli":
                assert "Memory.open" not in calls, f"{path} serves what is not adopted"
                assert "Memory.open_in" not in calls or calls & finds, f"{path} asks no adoption"


class TestClient:
    FILES = files_of("A client whose transcripts are read")

    def test_is_a_module_with_its_line_in_the_list(self):
        room = (PACKAGE / "sessions").glob("*.py")
        modules = {path.stem for path in room if "\nCLIENT = " in path.read_text(encoding="utf-8")}
        assert modules == set(CLIENT_NAMES), "mdmem/sessions/clients.py lists other modules"

    @pytest.mark.parametrize("client", CLIENT_NAMES)
    def test_is_in_every_file_that_the_recipe_names(self, client: str):
        texts = {
            name: path.with_stem(path.stem.replace("NAME", client)).read_text(encoding="utf-8")
            for name, path in self.FILES.items()
        }
        missing = [name for name, text in texts.items() if not re.search(rf"\b{client}\b", text)]
        assert not missing, f"{client} is not in {', '.join(missing)}"
        assert f"\n| `{client}`: " in texts["docs/digest.md"], "a row in docs/digest.md"

    @pytest.mark.parametrize(
        ("file", "clients"),
        [
            ("tests/made_sessions.py", MADE_SESSIONS),
            ("tests/session_files.py", WRITERS),
            ("tests/test_transcripts.py", HEADERS),
            ("tests/test_transcripts_in_parts.py", MAKERS),
        ],
    )
    def test_is_made_by_the_tests(self, file: str, clients: dict[str, object]):
        assert file in self.FILES
        assert clients.keys() == set(CLIENT_NAMES), f"{file} makes sessions of other clients"
