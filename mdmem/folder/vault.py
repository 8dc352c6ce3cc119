"""The settings of an Obsidian vault; a file that is no JSON says nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from posixpath import normpath
from typing import Any

FOLDER = ".obsidian"
"""The folder by which Obsidian knows a vault: notes, whatever lies beside them."""
_TEMPLATES = {
    "templates.json": "folder",
    "plugins/templater-obsidian/data.json": "templates_folder",
}
_MAX_BYTES = 1_000_000


def template_folders(root: Path) -> tuple[str, ...]:
    """The folders of templates, of Obsidian itself and of Templater, relative to the vault."""
    named = (_settings(root / FOLDER / file).get(name) for file, name in _TEMPLATES.items())
    return tuple(normpath(each).lstrip("/") for each in named if isinstance(each, str) and each)


def _settings(path: Path) -> Mapping[str, Any]:
    try:
        status = path.stat()
    except OSError:
        return {}
    return _read(str(path), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _read(path: str, _time: int, size: int) -> Mapping[str, Any]:
    if size > _MAX_BYTES:
        return {}
    try:
        read = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
