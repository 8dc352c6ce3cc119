"""The commands of the tool: what each needs, checked before anything is opened. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mdmem.errors import MdmemError, UsageProblem
from mdmem.memtool.paths import refusal
from mdmem.startup.records import dataclass

_ARGUMENTS: Mapping[str, Mapping[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str, "new_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
"""The commands with their arguments; all have to be there. `view` may have a `view_range` too."""
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
    """Check a command; arguments that it does not know are left out, as the reference leaves them out.

    Raises:
        UsageProblem: it is no command, lacks an argument, or has one of the wrong type.
        MdmemError: `usage`, with the text of the reference: there is no such command.
    """
    if not isinstance(sent, Mapping):
        raise UsageProblem('a command is one JSON object, as in {"command": "view", "path": "/memories"}')
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
    return Command(str(name), values | ({"view_range": _parse_range(sent.get("view_range"))} if name == "view" else {}))


def _unknown(name: object) -> MdmemError:
    return (
        refusal("usage", f"Unknown command: {name}")
        if name is not None
        else UsageProblem("command is missing", f"Use one of {', '.join(_ARGUMENTS)}.")
    )


def _parse_range(value: object) -> tuple[int, int] | None:
    """The lines that are to be shown; None is all, as is a list of another length."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(each, int) and not isinstance(each, bool) for each in value):
        raise UsageProblem("view_range must be a list of two whole numbers", "[1, 20], or [10, -1] from line 10 to the end.")
    return (value[0], value[1]) if len(value) == 2 else None
