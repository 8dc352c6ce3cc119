"""Parameters, calls, and a parser for simple calls: to load Typer takes longer than most commands.

Everything else (help, errors, unusual numbers, repeated options) is left to Typer. Tests ensure
that both parse alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from mdmem.startup.records import dataclass

# the fields of CommandParameter, in their order
ParameterRow = tuple[str, tuple[str, ...], type, object, bool]
ParameterTable: TypeAlias = "Mapping[str, Sequence[ParameterRow]]"
# options whose value may be omitted, and the value then used
OPTIONAL_VALUES: Mapping[str, str] = {"--agents": "AGENTS.md", "--no-agents": "AGENTS.md"}
# may be given before the command or after it
COMMON: Sequence[ParameterRow] = (
    ("workspace", ("-C",), str, None, False),
    ("quiet", ("-q",), bool, False, False),
    ("as_json", ("--json",), bool, False, False),
)
ADDED = COMMON[:2]  # those of COMMON that no command has in its signature


@dataclass(frozen=True, slots=True)
class CommandParameter:
    """A parameter of a command; one without flags is an argument.

    `takes`: bool for a flag, list for any number of texts, tuple for two, else the type of the
    value.
    """

    name: str
    flags: tuple[str, ...]
    takes: type
    default: Any
    required: bool


def parameter_of(row: ParameterRow) -> CommandParameter:
    name, flags, takes, default, required = row
    return CommandParameter(name=name, flags=flags, takes=takes, default=default, required=required)


def with_values(words: Sequence[str]) -> list[str]:
    complete: list[str] = []
    for number, word in enumerate(words):
        complete.append(word)
        is_last = number + 1 == len(words) or words[number + 1].startswith("-")
        if "--" not in complete and word in OPTIONAL_VALUES and is_last:
            complete.append(OPTIONAL_VALUES[word])
    return complete


def is_text(word: str, flags: Collection[str]) -> bool:
    """True for a word that looks like an option but is a number, or has a space after its `-`."""
    if word.startswith("--"):
        return word != "--" and any(map(str.isspace, word.partition("=")[0]))
    if word[:1] != "-" or word == "-":
        return False
    if word[:2] in flags:
        return word[2:3].isspace()
    return word[1].isdigit() or any(map(str.isspace, word))


def value_count(takes: type) -> int:
    return 0 if takes is bool else 2 if takes is tuple else 1


def texts_last(words: Sequence[str], table: ParameterTable) -> list[str]:
    """Move texts that look like options behind `--`, where no option takes them as its value."""
    command = next((number for number, word in enumerate(words) if word in table), None)
    if command is None:
        return list(words)
    takes = {flag: row[2] for row in (*table[words[command]], *COMMON) for flag in row[1]}
    end = words.index("--") if "--" in words else len(words)
    kept, texts = list(words[: command + 1]), list[str]()
    values = 0
    for word in words[command + 1 : end]:
        (texts if not values and is_text(word, takes) else kept).append(word)
        values = values - 1 if values else value_count(takes.get(word, bool))
    return [*kept, "--", *texts, *words[end + 1 :]] if texts else list(words)


@dataclass(frozen=True, slots=True)
class Call:
    """A command as it was called: `workspace` is that of -C, `values` are parameters by name."""

    command: str
    workspace: str | None
    quiet: bool
    values: Mapping[str, Any]

    @property
    def as_json(self) -> bool:
        return bool(self.values["as_json"])


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
            flag, attached = split(word)
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


def split(word: str) -> tuple[str, str | None]:
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
