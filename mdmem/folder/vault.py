"""The settings of an Obsidian vault, of which those of its templates and daily notes count."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from posixpath import normpath
from re import Match
from typing import Any

from mdmem.folder import layout
from mdmem.startup import late

FOLDER = ".obsidian"
"""The folder by which Obsidian knows a vault: notes, whatever lies beside them."""
_TEMPLATES = {
    "templates.json": "folder",
    "plugins/templater-obsidian/data.json": "templates_folder",
}
_MAX_BYTES = 1_000_000


def template_folders(root: Path) -> tuple[str, ...]:
    """The folders of templates, of Obsidian itself and of Templater, relative to the vault."""
    named = ((_settings(root / FOLDER / file) or {}).get(name) for file, name in _TEMPLATES.items())
    return tuple(normpath(each).lstrip("/") for each in named if isinstance(each, str) and each)


def unreadable_settings(root: Path) -> list[str]:
    """The settings that are read here and cannot be, relative to the vault."""
    files = (root / FOLDER / file for file in _TEMPLATES)
    broken = (file for file in (*files, *daily_files(root)) if _settings(file) is None)
    return [file.relative_to(root).as_posix() for file in broken]


_MOMENT = late.pattern(r"(?s)\[([^\]]*)\]|([A-Za-z])\2*(?:(?<=[DMQWdw])o)?|.")
"""A text in brackets, a run of one letter (with `o` for ordinals), or any other character."""
_PARTS = {
    "YYYY": "%Y",
    "YY": "%y",
    "MMMM": "%B",
    "MMM": "%b",
    "MM": "%m",
    "M": "%-m",
    "DD": "%d",
    "D": "%-d",
    "Do": "%o",
    "dddd": "%A",
    "ddd": "%a",
    "Q": "%q",
    "ww": "%V",
    "HH": "%H",
    "mm": "%M",
}
_PLACE = late.pattern(r"\{\{(date|time|title)(?::([^{}\n]*))?\}\}")
_USUAL = {"date": "YYYY-MM-DD", "time": "HH:mm"}


def updates_links(root: Path) -> bool:
    """True if Obsidian changes links when what they lead to is renamed, without asking."""
    settings = _settings(root / FOLDER / "app.json") or {}
    return settings.get("alwaysUpdateLinks") is True


def daily_files(root: Path) -> tuple[Path, Path]:
    """The settings of Obsidian's own daily notes, and of Periodic Notes, which replaces them."""
    folder = root / FOLDER
    return folder / "daily-notes.json", folder / "plugins/periodic-notes/data.json"


def _daily_settings(root: Path) -> Mapping[str, Any] | None:
    own, periodic = map(_settings, daily_files(root))
    of_days = (periodic or {}).get("daily")
    return of_days if isinstance(of_days, dict) and of_days.get("enabled") else own


def daily_names(root: Path, names_in: str | None = None) -> str | None:
    """The setting `daily` that names logs as the vault's daily notes; None where it has others.

    `names_in`: the language of months and weekdays, by code, where it is not English.
    """
    settings = _daily_settings(root)
    if settings is None:
        return None
    folder, written = settings.get("folder") or "", settings.get("format") or "YYYY-MM-DD"
    if not isinstance(folder, str) or not isinstance(written, str):
        return None
    if "%" in folder or any(map(_is_unknown, _MOMENT.finditer(written))):
        return None
    return normpath(
        "/".join(filter(None, (folder.strip("/"), f"{_as_strftime(written, names_in)}.md")))
    )


def _is_unknown(part: Match[str]) -> bool:
    return "%" in part[0] or (part[2] is not None and part[0] not in _PARTS)


def _as_strftime(form: str, names_in: str | None) -> str:
    def written(part: Match[str]) -> str:
        code = _PARTS.get(part[0])
        if code is None:
            return (part[0] if part[1] is None else part[1]).replace("%", "%%")
        if code == "%o" or (names_in and code in ("%B", "%b", "%A", "%a")):
            return f"%{{{names_in or 'en'}:{code[-1]}}}"
        return "%v" if code == "%V" and not names_in else code

    return _MOMENT.sub(written, form)


def daily_template(
    root: Path, title: str, moment: datetime, names_in: str | None = None
) -> str | None:
    """The vault's template of a daily note, filled in; None where it names none that is there."""
    name = (_daily_settings(root) or {}).get("template")
    if not isinstance(name, str) or not name.strip("/"):
        return None
    path = (root / f"{name.strip('/').removesuffix('.md')}.md").resolve()
    try:
        if not path.is_relative_to(root.resolve()) or path.stat().st_size > _MAX_BYTES:
            return None
        text = path.read_bytes().decode()
    except (OSError, ValueError):
        return None

    def filled(place: Match[str]) -> str:
        form = place[2] or _USUAL.get(place[1])
        if not form or place[1] not in _USUAL:
            return title
        return moment.strftime(layout.log_path(moment, _as_strftime(form, names_in)))

    return _PLACE.sub(filled, text)


def _settings(path: Path) -> Mapping[str, Any] | None:
    """A file of settings: empty if it is not there, None if it is no JSON object or too large."""
    try:
        status = path.stat()
    except OSError:
        return {}
    return _read(str(path), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _read(path: str, _time: int, size: int) -> Mapping[str, Any] | None:
    if size > _MAX_BYTES:
        return None
    try:
        read = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None
