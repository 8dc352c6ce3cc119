"""The commands of the tool, checked before anything is opened. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from mdmem.errors import MdmemError, PathProblem, UsageProblem
from mdmem.folder.layout import CURATED_NAMES, PROFILE_NAMES
from mdmem.startup.records import dataclass

ROOT = "/memories"
FOLDER = "memory"
_OWN = {name.casefold() for name in (*CURATED_NAMES, *PROFILE_NAMES)}


def is_own(name: str) -> bool:
    """True for the name of one of the workspace's own files: the curated one, a profile."""
    return name.casefold() in _OWN


def workspace_path(path: str, curated: str, names: Iterable[str]) -> str:
    """The path in the workspace that a path of the tool means.

    `names` are those in the workspace's own folder; a profile may be written in any case.
    Raises PathProblem (`bad-path`) for a path outside /memories or with forbidden characters.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise refusal("bad-path", f"Path must start with {ROOT}, got: {path}")
    if "\0" in path:
        raise PathProblem("bad-path", f"{path!r} contains a NUL character")
    parts: list[str] = []
    for part in path[len(ROOT) :].split("/"):
        plain = unquote(part)
        if plain != part and (
            "/" in plain or "\\" in plain or "\0" in plain or plain in (".", "..")
        ):
            raise _escape(path)
        if part == "..":
            if not parts:
                raise _escape(path)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if len(parts) == 1 and is_own(parts[0]):
        return _own_file(parts[0], curated, names)
    return "/".join((FOLDER, *parts))


def _own_file(name: str, curated: str, names: Iterable[str]) -> str:
    if name.casefold() == curated.casefold():
        return curated
    same = [each for each in names if each.casefold() == name.casefold()]
    usual = next(each for each in PROFILE_NAMES if each.casefold() == name.casefold())
    return name if name in same else same[0] if same else usual


def refusal(code: str, text: str) -> MdmemError:
    """A failure with exactly the reference's text."""
    return PathProblem(code, text, reference=text)


def _escape(path: str) -> MdmemError:
    return refusal("bad-path", f"Path {path} would escape {ROOT} directory")


# required arguments of each command; `view` may have a `view_range` too
_ARGUMENTS: Mapping[str, Mapping[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str, "new_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
_TYPES = {str: "a text", int: "a whole number"}


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its checked arguments."""

    name: str
    values: Mapping[str, Any]

    @property
    def path(self) -> str:
        """The path that the command is about."""
        return str(self.values["old_path" if self.name == "rename" else "path"])


def parse_command(sent: object) -> Command:
    """Check a command, ignoring unknown arguments as the reference does.

    Raises UsageProblem for missing or wrong arguments, MdmemError (`usage`) for an unknown command.
    """
    if not isinstance(sent, Mapping):
        raise UsageProblem(
            'a command is one JSON object, as in {"command": "view", "path": "/memories"}'
        )
    name = sent.get("command")
    arguments = _ARGUMENTS.get(name) if isinstance(name, str) else None
    if arguments is None:
        raise _unknown(name)
    for argument, kind in arguments.items():
        value = sent.get(argument)
        if value is None:
            raise UsageProblem(f"{name} needs {argument}", f"It takes {', '.join(arguments)}.")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UsageProblem(f"{argument} must be {_TYPES[kind]}")
    values = {argument: sent[argument] for argument in arguments}
    return Command(
        str(name),
        values | ({"view_range": _parse_range(sent.get("view_range"))} if name == "view" else {}),
    )


def _unknown(name: object) -> MdmemError:
    return (
        refusal("usage", f"Unknown command: {name}")
        if name is not None
        else UsageProblem("command is missing", f"Use one of {', '.join(_ARGUMENTS)}.")
    )


def _parse_range(value: object) -> tuple[int, int] | None:
    # None is all, also for a list of another length
    if value is None:
        return None
    if not isinstance(value, list) or not all(
        isinstance(each, int) and not isinstance(each, bool) for each in value
    ):
        raise UsageProblem(
            "view_range must be a list of two whole numbers",
            "[1, 20], or [10, -1] from line 10 to the end.",
        )
    return (value[0], value[1]) if len(value) == 2 else None
