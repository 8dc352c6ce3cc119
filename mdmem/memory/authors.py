"""The author of most of a memory: asked for by `init`, and kept in the user's settings."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mdmem import repo
from mdmem.folder import config, files
from mdmem.model.errors import StorageProblem, WorkspaceProblem
from mdmem.workspace import adoption


def main_author(folder: Path, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Name and address, as `adoption.main_author` has them."""
    return adoption.main_author(repo.discover(folder), environment)


def name_author(address: str, setting: str, environment: Mapping[str, str]) -> Path:
    """Add an address to a list of the user's settings (`me`, `agents`); all else stays as it is.

    Raises WorkspaceProblem (`bad-settings`: in a form to which nothing can be added).
    """
    path = config.user_settings_path(environment)
    if path is None:
        raise StorageProblem("no home is known for your settings", "Set HOME.")
    before = files.read(path)
    text, quoted = (before or b"").decode(), json.dumps(address, ensure_ascii=False)
    wanted = tomllib.loads(text)
    has_list = bool(wanted.get(setting))
    wanted[setting] = [address, *wanted.get(setting, [])]
    opening = re.compile(rf"(?m)^{setting}[ \t]*=[ \t]*\[")
    after = (
        opening.sub(lambda match: f"{match[0]}{quoted}, ", text, count=1)
        if has_list
        else f"{setting} = [{quoted}]\n{text}"
    )
    if _parsed(after) != wanted:
        raise WorkspaceProblem(
            "bad-settings",
            f"{path.name} has {setting} in a form to which nothing can be added",
            f"Add {quoted} to it.",
        )
    files.make_folders(path.parent)
    if not files.replace(path, after.encode(), before, files.temporary_name()):
        raise StorageProblem(f"another program changed {path}", "Try again.")
    return path


def _parsed(text: str) -> dict[str, Any] | None:
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(text)
    return None
