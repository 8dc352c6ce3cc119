"""The parameters of commands, as the table of them holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from mdmem.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class CommandParameter:
    """A parameter of a command; one without flags is an argument.

    `takes` is bool for a flag, list for any number of texts, tuple for two, else the type of its one value: str, int, float or an
    enumeration.
    """

    name: str
    flags: tuple[str, ...]
    takes: type
    default: Any
    required: bool


ParameterRow = tuple[str, tuple[str, ...], type, object, bool]
"""The fields of a parameter in the table, in this order."""
ParameterTable: TypeAlias = "Mapping[str, Sequence[ParameterRow]]"
"""The parameters of each command of one word."""


def parameter_of(row: ParameterRow) -> CommandParameter:
    """The parameter of a row."""
    name, flags, takes, default, required = row
    return CommandParameter(name=name, flags=flags, takes=takes, default=default, required=required)


OPTIONAL_VALUES: Mapping[str, str] = {"--agents": "AGENTS.md", "--no-agents": "AGENTS.md"}
"""The options that may stand without their value, and the value that they then have."""


def with_values(words: Sequence[str]) -> list[str]:
    """The words of a command, with the values that its options leave out."""
    complete: list[str] = []
    for number, word in enumerate(words):
        complete.append(word)
        is_last = number + 1 == len(words) or words[number + 1].startswith("-")
        if "--" not in complete and word in OPTIONAL_VALUES and is_last:
            complete.append(OPTIONAL_VALUES[word])
    return complete


COMMON: Sequence[ParameterRow] = (
    ("workspace", ("-C",), str, None, False),
    ("quiet", ("-q",), bool, False, False),
    ("as_json", ("--json",), bool, False, False),
)
"""The options that may stand before the command or behind it."""
ADDED = COMMON[:2]
"""Those of them that no command has in its signature."""
