"""The parameters of commands, as the table of them holds them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    """The parameter of a row."""
    name, flags, takes, default, required = row
    return CommandParameter(name=name, flags=flags, takes=takes, default=default, required=required)


def with_values(words: Sequence[str]) -> list[str]:
    """Insert the values that options leave out."""
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


def _value_count(takes: type) -> int:
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
        values = values - 1 if values else _value_count(takes.get(word, bool))
    return [*kept, "--", *texts, *words[end + 1 :]] if texts else list(words)
