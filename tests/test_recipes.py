"""The recipes name the files of a change, and these have what the program has."""

import re
from pathlib import Path

import pytest
from made_sessions import WRITERS as MADE_SESSIONS
from program_source import PACKAGE
from session_files import WRITERS
from test_transcripts import HEADERS
from test_transcripts_in_parts import MAKERS

from mdmem.transcripts import CLIENT_NAMES

ROOT = PACKAGE.parent


def files_of(recipe: str) -> dict[str, Path]:
    """The files that the table of a recipe names."""
    recipes = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    table = re.search(rf"(?s)\n\*\*{re.escape(recipe)}.*?\n\n(\|.*?)\n\n", recipes)
    assert table is not None
    cells = re.findall(r"^\| ([^|]+) \|", table[1], re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`([\w/]+\.\w+)`", cell)]
    return {
        name: (PACKAGE if (PACKAGE / name.partition("/")[0]).is_dir() else ROOT) / name
        for name in names
    }


class TestClient:
    FILES = files_of("A client whose transcripts are read")

    def test_is_a_module_with_its_line_in_the_list(self):
        room = (PACKAGE / "transcripts").glob("*.py")
        modules = {path.stem for path in room if "\nCLIENT = " in path.read_text(encoding="utf-8")}
        assert modules == set(CLIENT_NAMES), "mdmem/transcripts/__init__.py lists other modules"

    @pytest.mark.parametrize("client", CLIENT_NAMES)
    def test_is_in_every_file_that_the_recipe_names(self, client: str):
        texts = {
            name: path.with_stem(path.stem.replace("NAME", client)).read_text(encoding="utf-8")
            for name, path in self.FILES.items()
        }
        assert [
            f"{name} has nothing of {client}"
            for name, text in texts.items()
            if not re.search(rf"\b{client}\b", text)
        ] == []
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
