"""The short way in: from words to a call by the table of commands, without Typer, which takes longer to load than a command to run.

It knows what is plain. All else (help, an unknown option or one given twice, a number that is not plainly one, a word too many or too
few) it leaves to Typer, which reads the very same words and says what is wrong with them. Tests hold that the table is what Typer
knows, and that no words mean one thing here and another there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mdmem.cli.call import Call
from mdmem.cli.parameters import CommandParameter, ParameterTable, parameter_of


def parse(words: Sequence[str], table: ParameterTable) -> Call | None:
    """The call that the words make; None where it is for Typer to say."""
    workspace = None
    if len(words) > 1 and words[0] == "-C":
        workspace, words = words[1], words[2:]
    if not words or words[0] not in table:
        return None
    try:
        "".join([workspace or "", *words]).encode()  # which fails where Typer refuses: for bytes that are no text
        return Call(words[0], workspace, _values(words[1:], [parameter_of(row) for row in table[words[0]]]))
    except ValueError:
        return None


def _values(words: Sequence[str], parameters: Sequence[CommandParameter]) -> dict[str, Any]:
    """The value of each parameter.

    Raises:
        ValueError: the words are not plain.
    """
    options = {flag: parameter for parameter in parameters for flag in parameter.flags}
    given: dict[str, Any] = {}
    loose: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            loose += rest
        elif word == "-" or not word.startswith("-"):
            loose.append(word)
        else:
            flag, attached = _split(word)
            _give(given, options.get(flag), attached, rest)
    for parameter in parameters:
        if loose and not parameter.flags:
            given[parameter.name] = loose if parameter.takes is list else _read(parameter.takes, loose[0])
            loose = [] if parameter.takes is list else loose[1:]
    if loose or any(parameter.required and parameter.name not in given for parameter in parameters):
        raise ValueError("a word too many or too few")
    return {parameter.name: given.get(parameter.name, parameter.default) for parameter in parameters}


def _split(word: str) -> tuple[str, str | None]:
    """An option's flag, and its value where that is in the same word: --name=value, -n5."""
    if word.startswith("--"):
        flag, equals, value = word.partition("=")
        return flag, value if equals else None
    return word[:2], word[2:] or None


def _give(given: dict[str, Any], option: CommandParameter | None, attached: str | None, rest: Iterator[str]) -> None:
    """Take an option's value, `attached` or else the next word, whatever that looks like."""
    if option is None or (option.name in given and option.takes is not list) or (option.takes is bool and attached is not None):
        raise ValueError("an option that is unknown, given twice, or a flag with a value")
    if option.takes is bool:
        given[option.name] = True
        return
    if option.takes is tuple:
        given[option.name] = _two(attached, rest)
        return
    value = next(rest, None) if attached is None else attached
    if value is None:
        raise ValueError("an option without its value")
    if option.takes is list:
        given.setdefault(option.name, []).append(value)
    else:
        given[option.name] = _read(option.takes, value)


def _two(attached: str | None, rest: Iterator[str]) -> tuple[str, str]:
    one, other = next(rest, None), next(rest, None)
    if attached is not None or one is None or other is None:
        raise ValueError("a pair that is not two words")
    return one, other


def _read(takes: type, word: str) -> Any:
    """A word as the value of a parameter."""
    digits = word.replace(".", "", 1) if takes is float else word
    if takes in (int, float) and not (digits.isascii() and digits.isdigit()):
        raise ValueError(word)
    return takes(word)
