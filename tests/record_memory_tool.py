"""Record anew what the memory tool of the Anthropic SDK answers: `python
tests/record_memory_tool.py` writes data/memory_tool.json.

Each vector is a state, a command, what the SDK's reference (its tool on a local folder) answers,
and the files afterwards. The sizes of folders are left out: each file system has its own. Where the
reference crashes, the vector has the class of the exception.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "memory_tool.json"
HOUSE = "# House\n\n- the key is under the mat\n- the mat is green\n- the door is red\n- the bell is broken\n"
POEM = "one\ntwo\nthree\ntwo\nfive\n"
FILES = {
    "/memories/house.md": HOUSE,
    "/memories/poem.txt": POEM,
    "/memories/empty.md": "",
    "/memories/open.md": "no line end",
    "/memories/dos.md": "first\r\nsecond\r\n",
    "/memories/.hidden.md": "hidden\n",
    "/memories/garden/roses.md": "red\n",
    "/memories/garden/beds/north.md": "beans\n" * 300,
    "/memories/garden/beds/deep/soil.md": "clay\n",
}
_FOLDER_SIZE = re.compile(r"(?m)^\S+(?=\t\S*(?:/|/memories)$)|(?<=items:\n)\S+(?=\t)")


def view(path: str, *lines: int) -> dict[str, Any]:
    return {"command": "view", "path": path} | ({"view_range": list(lines)} if lines else {})


def create(path: str, text: str) -> dict[str, Any]:
    return {"command": "create", "path": path, "file_text": text}


def put(path: str, old: str, new: str) -> dict[str, Any]:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def insert(path: str, line: int, text: str) -> dict[str, Any]:
    return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}


def delete(path: str) -> dict[str, Any]:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> dict[str, Any]:
    return {"command": "rename", "old_path": old, "new_path": new}


COMMANDS: Mapping[str, dict[str, Any]] = {
    "view the root": view("/memories"),
    "view a folder": view("/memories/garden"),
    "view a folder with a slash": view("/memories/garden/"),
    "view a file": view("/memories/house.md"),
    "view an empty file": view("/memories/empty.md"),
    "view some lines": view("/memories/house.md", 3, 4),
    "view from a line on": view("/memories/house.md", 5, -1),
    "view lines beyond the end": view("/memories/house.md", 6, 90),
    "view what is missing": view("/memories/nowhere.md"),
    "view outside": view("/etc/passwd"),
    "view above": view("/memories/../secrets"),
    "view a name that only begins so": view("/memoriesX/house.md"),
    "create a file": create("/memories/new.md", "# New\n\n- a fact\n"),
    "create a file in new folders": create("/memories/a/b/c.txt", "no line end"),
    "create an empty file": create("/memories/nothing.md", ""),
    "create what is there": create("/memories/house.md", "other\n"),
    "create what is a folder": create("/memories/garden", "other\n"),
    "replace one word": put("/memories/house.md", "under the mat", "with Ada"),
    "replace several lines": put(
        "/memories/house.md", "- the mat is green\n- the door is red\n", "- the door is blue\n"
    ),
    "replace the first line": put("/memories/poem.txt", "one", "zero\nand a half"),
    "replace what is not there": put("/memories/house.md", "in the attic", "x"),
    "replace what is there twice": put("/memories/poem.txt", "two", "x"),
    "replace by nothing": put("/memories/poem.txt", "three\n", ""),
    "replace nothing": put("/memories/house.md", "", "x"),
    "replace in what is missing": put("/memories/nowhere.md", "a", "b"),
    "replace in a folder": put("/memories/garden", "a", "b"),
    "insert at the beginning": insert("/memories/house.md", 0, "first\n"),
    "insert in the middle": insert("/memories/house.md", 3, "- the spare key is with Ada\n"),
    "insert at the end": insert("/memories/poem.txt", 5, "six\n\n"),
    "insert behind an open end": insert("/memories/open.md", 1, "closed"),
    "insert among other line ends": insert("/memories/dos.md", 1, "between"),
    "insert beyond the end": insert("/memories/poem.txt", 6, "x"),
    "insert into what is missing": insert("/memories/nowhere.md", 0, "x"),
    "delete a file": delete("/memories/poem.txt"),
    "delete a folder": delete("/memories/garden"),
    "delete what is missing": delete("/memories/nowhere.md"),
    "delete the root": delete("/memories"),
    "rename a file": rename("/memories/poem.txt", "/memories/poems/first.txt"),
    "rename to what is there": rename("/memories/poem.txt", "/memories/house.md"),
    "rename what is missing": rename("/memories/nowhere.md", "/memories/somewhere.md"),
    "rename the root": rename("/memories", "/memories/somewhere"),
    "view without a path": {"command": "view"},
    "rename a folder": rename("/memories/garden/beds", "/memories/beds"),
}


def without_folder_sizes(text: str) -> str:
    """A listing without the sizes of folders."""
    return _FOLDER_SIZE.sub("-", text)


def lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files of a state."""
    for path, text in files.items():
        full_path = folder / path.removeprefix("/")
        full_path.parent.mkdir(parents=True, exist_ok=True)
        full_path.write_bytes(text.encode())


def laid_out(folder: Path) -> dict[str, str]:
    """The files of a folder as a state has them."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        f"/memories/{path.relative_to(folder).as_posix()}": path.read_bytes().decode()
        for path in files
    }


def record() -> list[dict[str, Any]]:
    """Each vector by the reference."""
    from anthropic.lib.tools import ToolError
    from anthropic.tools import BetaLocalFilesystemMemoryTool

    vectors = []
    for name, command in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            lay_out(Path(folder), FILES)
            tool = BetaLocalFilesystemMemoryTool(folder)
            outcome: dict[str, Any]
            try:
                outcome = {"text": without_folder_sizes(str(tool.call(command))), "is_error": False}
            except ToolError as refusal:
                outcome = {"text": str(refusal), "is_error": True}
            except Exception as crash:  # noqa: BLE001 - whatever it is, it is what is recorded
                outcome = {"crash": type(crash).__name__}
            after = laid_out(Path(folder, "memories"))
        changed = {
            path: after.get(path)
            for path in sorted({*FILES, *after})
            if after.get(path) != FILES.get(path)
        }
        vectors.append({"name": name, "command": command, **outcome, "changed": changed})
    return vectors


if __name__ == "__main__":
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(
        json.dumps({"files": FILES, "vectors": record()}, indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
