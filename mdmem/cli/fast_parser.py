"""A parser for simple calls: loading Typer takes longer than a command takes to run.

Everything else (help, errors, unusual numbers, repeated options) is left to Typer. Tests ensure
that both parse alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mdmem.cli.call import Call
from mdmem.cli.parameters import (
    ADDED,
    COMMON,
    OPTIONAL_VALUES,
    CommandParameter,
    ParameterRow,
    ParameterTable,
    is_text,
    parameter_of,
)


def parse(words: Sequence[str], table: ParameterTable) -> Call | None:
    """Parse words into a call; None if Typer has to."""
    position = 0
    while words[position : position + 1] and words[position][:1] == "-":
        position += 2 if words[position] == "-C" else 1
    if not words[position:] or words[position] not in table:
        return None
    try:
        "".join(words).encode()  # fails, as Typer does, for bytes that are no text
        before = _values(words[:position], COMMON) if position else {}
        values = _values(words[position + 1 :], (*table[words[position]], *ADDED))
    except ValueError:
        return None
    workspace, quiet = values.pop("workspace"), values.pop("quiet")
    if before:
        workspace = before["workspace"] if workspace is None else workspace
        quiet, values["as_json"] = quiet or before["quiet"], values["as_json"] or before["as_json"]
    return Call(command=words[position], workspace=workspace, quiet=quiet, values=values)


def _values(words: Sequence[str], rows: Sequence[ParameterRow]) -> dict[str, Any]:
    """Raises ValueError for a call that is not simple."""
    parameters = [parameter_of(row) for row in rows]
    options = {flag: parameter for parameter in parameters for flag in parameter.flags}
    values: dict[str, Any] = {}
    arguments: list[str] = []
    following = iter(words)
    for word in following:
        if word == "--":
            arguments += following
        elif word == "-" or not word.startswith("-") or is_text(word, options):
            arguments.append(word)
        else:
            flag, attached = _split(word)
            _take(values, options.get(flag), attached, following)
    for parameter in parameters:
        if arguments and not parameter.flags:
            values[parameter.name] = (
                arguments if parameter.takes is list else _read(parameter.takes, arguments[0])
            )
            arguments = [] if parameter.takes is list else arguments[1:]
    if arguments or any(
        parameter.required and parameter.name not in values for parameter in parameters
    ):
        raise ValueError("a word too many or too few")
    return {
        parameter.name: values.get(parameter.name, parameter.default) for parameter in parameters
    }


def _split(word: str) -> tuple[str, str | None]:
    """An option's flag, and its value where that is in the same word: --name=value, -n5."""
    if word.startswith("--"):
        flag, equals, value = word.partition("=")
        return flag, value if equals else None
    return word[:2], word[2:] or None


def _take(
    values: dict[str, Any],
    option: CommandParameter | None,
    attached: str | None,
    following: Iterator[str],
) -> None:
    """Take the value of an option: `attached`, or else the next word, whatever it looks like."""
    if (
        option is None
        or (option.name in values and option.takes is not list)
        or (option.takes is bool and attached is not None)
    ):
        raise ValueError("an option that is unknown or repeated, or a flag with a value")
    if option.takes is bool:
        values[option.name] = True
        return
    if option.takes is tuple:
        values[option.name] = _pair(attached, following)
        return
    if attached is None and option.flags[0] in OPTIONAL_VALUES:
        raise ValueError("an option whose value may be left out")
    value = next(following, None) if attached is None else attached
    if value is None:
        raise ValueError("an option without its value")
    if option.takes is list:
        values.setdefault(option.name, []).append(value)
    else:
        values[option.name] = _read(option.takes, value)


def _pair(attached: str | None, following: Iterator[str]) -> tuple[str, str]:
    first, second = next(following, None), next(following, None)
    if attached is not None or first is None or second is None:
        raise ValueError("a pair that is not two words")
    return first, second


def _read(takes: type, word: str) -> Any:
    digits = word.replace(".", "", 1) if takes is float else word
    if takes in (int, float) and not (digits.isascii() and digits.isdigit()):
        raise ValueError(word)
    return takes(word)
