"""Messages in the words of the command line: its flags for fields, its commands for verbs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from mdmem import wording
from mdmem.cli.parameter_table import TABLE


def in_flags(text: str) -> str:
    """A message of the core in the words of the command line."""
    return wording.translate(text, flag, command_line)


def flag(field: str) -> str:
    """The flag of a field; if it is only an argument, its name in capitals, as in the help."""
    return _flags().get(field, field)


def command_line(verb: str, fields: Sequence[str] = ()) -> str:
    """A verb as a user types it."""
    return " ".join(("mdmem", verb, *map(flag, fields)))


@cache
def _flags() -> dict[str, str]:
    """The flag of each field, from all commands and -C. A test ensures that no field has two."""
    flags = {"workspace": "-C DIR"}
    for rows in TABLE.values():
        for name, (*names,), *_ in rows:
            field = name.removesuffix("_")
            if names or field not in flags:
                flags[field] = names[0] if names else field.upper()
    return flags
