"""Add lines to the user's own settings: all other text, comments too, stays as it is."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

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
    return _replace(path, before, after, wanted, f"Add to it:\n{lines}")


def lines_to_add(
    kind: str, folder: Path, values: Mapping[str, Value], environment: Mapping[str, str]
) -> str:
    """The text that `add_to_table` would add; empty for none. Raises StorageProblem."""
    return _addition(_read(environment)[2], kind, folder, values)[1]


def _addition(text: str, kind: str, folder: Path, values: Mapping[str, Value]) -> tuple[int, str]:
    """Where in the settings lines are missing, and which."""
    table = tomllib.loads(text).get(kind, {}).get(str(folder), {})
    header = table_line(kind, folder)
    lines = "".join(
        f"{name} = {_written(value)}\n" for name, value in values.items() if name not in table
    )
    line = f"\n{header}\n"
    if not lines or (at := f"\n{text}".find(line)) >= 0:
        return at + len(line) - 1 if lines else 0, lines
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


def take_out(lines: str, environment: Mapping[str, str]) -> bool:
    """Remove lines that were added; False if they are not there any more as they were."""
    path, before, text = _read(environment)
    if text.count(lines) != 1:
        return False
    after = text.replace(lines, "")
    if before is not None and not after:
        path.unlink()
        return True
    return files.replace(path, after.encode(), before, files.temporary_name())


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
    parsed: object = None
    with suppress(tomllib.TOMLDecodeError):
        parsed = tomllib.loads(after)
    if parsed != wanted:
        raise WorkspaceProblem(
            "bad-settings",
            f"{path.name} has a form to which nothing can be added",
            hint,
        )
    files.make_folders(path.parent)
    if not files.replace(path, after.encode(), before, files.temporary_name()):
        raise StorageProblem(f"another program changed {path}", "Try again.")
    return AddedLines(path, before, after.encode())


def _written(value: Value) -> str:
    """A text, or a list of them, as TOML writes it."""
    text = json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")
