"""Add lines to the user's own settings: all other text, comments too, stays as it is."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mdmem.folder import config, files
from mdmem.model.errors import StorageProblem, WorkspaceProblem
from mdmem.startup.records import dataclass

Value = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class AddedLines:
    """An addition to the settings at `path`; `before` is None if there were none."""

    path: Path
    before: bytes | None
    after: bytes

    def take_back(self) -> None:
        """Restore the settings, if nobody has changed them since."""
        if self.before is not None:
            files.replace(self.path, self.before, self.after, files.temporary_name())
        elif files.read(self.path) == self.after:
            self.path.unlink()


def table_line(kind: str, path: Path) -> str:
    return f"[{kind}.{_written(str(path))}]"


def add_to_table(
    kind: str, folder: Path, values: Mapping[str, Value], environment: Mapping[str, str]
) -> AddedLines | None:
    """Add settings to the table of a folder; None where it has all of these names.

    A name that it has keeps its value. Raises StorageProblem (no home; changed meanwhile),
    WorkspaceProblem (`bad-settings`: nothing can be added to them).
    """
    path, before, text = _read(environment)
    wanted = tomllib.loads(text)
    at, lines = _addition(text, kind, folder, values)
    if not lines:
        return None
    wanted[kind] = {**wanted.get(kind, {})}
    wanted[kind][str(folder)] = {**values, **wanted[kind].get(str(folder), {})}
    after = f"{text[:at]}{lines}{text[at:]}"
    hint = f"Add to it, under {table_line(kind, folder)}:\n{lines}"
    return _replace(path, before, after, wanted, hint)


def table_of(kind: str, folder: Path, environment: Mapping[str, str]) -> Mapping[str, Any]:
    """The settings in the table of a folder. Raises StorageProblem."""
    found: dict[str, Any] = tomllib.loads(_read(environment)[2]).get(kind, {}).get(str(folder), {})
    return found


def lines_to_add(
    kind: str, folder: Path, values: Mapping[str, Value], environment: Mapping[str, str]
) -> str:
    """The text that `add_to_table` would add; empty for none. Raises StorageProblem."""
    return _addition(_read(environment)[2], kind, folder, values)[1]


def _addition(text: str, kind: str, folder: Path, values: Mapping[str, Value]) -> tuple[int, str]:
    """Where in the settings lines are missing, and which."""
    table = tomllib.loads(text).get(kind, {}).get(str(folder))
    lines = "".join(
        f"{name} = {_written(value)}\n"
        for name, value in values.items()
        if name not in (table or {})
    )
    if not lines:
        return 0, ""
    header = table_line(kind, folder)
    for line in re.finditer(r"(?m)^.*\n?", text):
        if line[0].startswith(header) and line[0][len(header) :].strip()[:1] in ("", "#"):
            return line.end(), lines
    if table is not None:  # it is written in another form
        return len(text), lines
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return len(text), f"{gap}{header}\n{lines}"


def add_to_list(name: str, item: str, environment: Mapping[str, str]) -> Path:
    """Put an item in front of a list. Raises as `add_to_table`."""
    path, before, text = _read(environment)
    wanted = tomllib.loads(text)
    opening, quoted = re.compile(rf"(?m)^{name}[ \t]*=[ \t]*\["), _written(item)
    after = (
        opening.sub(lambda match: f"{match[0]}{quoted}, ", text, count=1)
        if wanted.get(name)
        else f"{name} = [{quoted}]\n{text}"
    )
    wanted[name] = [item, *wanted.get(name, [])]
    return _replace(path, before, after, wanted, f"Add {quoted} to it.").path


def take_out(kind: str, folder: Path, lines: str, environment: Mapping[str, str]) -> bool:
    """Remove lines that `add_to_table` added; False if they were changed, and so stay.

    Whatever else the table has by now keeps its header.
    """
    path, before, text = _read(environment)
    own = lines.partition(f"{table_line(kind, folder)}\n")[2] or lines
    names, wanted = tomllib.loads(own), tomllib.loads(text)
    table = wanted.get(kind, {}).get(str(folder), {})
    if any(table.get(name) != value for name, value in names.items()):
        return False
    left = {name: value for name, value in table.items() if name not in names}
    removed = (own,) if left or own == lines else (lines, lines.lstrip("\n"))
    wanted[kind][str(folder)] = left
    if removed != (own,):
        del wanted[kind][str(folder)]
    for after in (each for part in removed for each in _without(text, part)):
        if (parsed := _parsed(after)) is not None and {kind: {}, **parsed} == wanted:
            return files.replace(path, after.encode(), before, files.temporary_name())
    return False


def _without(text: str, lines: str) -> Iterator[str]:
    """A text without these lines; if it has them several times, without each in turn."""
    at = text.find(lines)
    while at >= 0:
        if not at or text[at - 1] == "\n" or lines.startswith("\n"):
            yield text[:at] + text[at + len(lines) :]
        at = text.find(lines, at + 1)


def _read(environment: Mapping[str, str]) -> tuple[Path, bytes | None, str]:
    path = config.user_settings_path(environment)
    if path is None:
        raise StorageProblem("no home is known for your settings", "Set HOME.")
    path = Path(os.path.realpath(path))
    before = files.read(path)
    return path, before, (before or b"").decode()


def _replace(
    path: Path, before: bytes | None, after: str, wanted: Mapping[str, object], hint: str
) -> AddedLines:
    if _parsed(after) != wanted:
        raise WorkspaceProblem(
            "bad-settings", f"{path.name} has a form to which nothing can be added", hint
        )
    files.make_folders(path.parent)
    if not files.replace(path, after.encode(), before, files.temporary_name()):
        raise StorageProblem(f"another program changed {path}", "Try again.")
    return AddedLines(path, before, after.encode())


def _parsed(text: str) -> dict[str, Any] | None:
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(text)
    return None


def _written(value: Value) -> str:
    """A text, or a list of them, as TOML writes it."""
    text = json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")
