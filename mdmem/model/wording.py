"""Names of fields and verbs in messages, which each door says in its own words.

`field("limit")` and `verb("facts", "everything")` in a message of the core become `-n` and `mdmem
facts --all` on the command line, a server's own parameters and tools, and bare names by `plain`, as
in `str()` of a failure. Noncharacters, reserved for use within a program, enclose them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence

from mdmem.startup import late

_START, _FIELD_END, _VERB_END = "\ufdd0", "\ufdd1", "\ufdd2"
_NAMED = late.pattern(f"{_START}([a-z_, -]+)([{_FIELD_END}{_VERB_END}])")


def field(name: str) -> str:
    """A field of an argument record, in a message."""
    return f"{_START}{name}{_FIELD_END}"


def number_of(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 hit, 2 hits, 1,000 entries."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def one_of(names: Iterable[str]) -> str:
    """Alternatives in a sentence: `a`, `a or b`, `a, b or c`."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def near_names(name: str, names: Iterable[str], most: int, cutoff: float = 0.6) -> list[str]:
    """The names that one may be a misspelling of, the most similar first; see `difflib`."""
    import difflib  # noqa: PLC0415 - 2 ms, only for hints

    return difflib.get_close_matches(name, list(names), most, cutoff)


def verb(name: str, *fields: str) -> str:
    """A verb, in a message; `fields` are those that are set. Values follow by `shell_word`."""
    return f"{_START}{','.join((name, *fields))}{_VERB_END}"


def translate(
    text: str, say_field: Callable[[str], str], say_verb: Callable[[str, Sequence[str]], str]
) -> str:
    def words(match: re.Match[str]) -> str:
        name, *fields = match[1].split(",")
        return say_field(name) if match[2] == _FIELD_END else say_verb(name, fields)

    return _NAMED.sub(words, text) if _START in text else text


def plain(text: str) -> str:
    return translate(
        text,
        lambda name: name,
        lambda name, fields: f"{name} ({', '.join(fields)})" if fields else name,
    )


def typed(text: str) -> str:
    """`text` with fields and verbs as typed on the command line, for a door without one."""
    return translate(text, option, command)


def shell_word(value: object) -> str:
    """A name, path or text in a command of a message: one word for a shell, and one line."""
    text = str(value)
    if text.isprintable():
        return shlex.quote(text)
    # bash, zsh and ksh read it; it is no command in others either
    return f"$'{''.join(map(_escaped, text))}'"


def _escaped(character: str) -> str:
    if character in _ESCAPED or character.isprintable():
        return _ESCAPED.get(character, character)
    return "".join(f"\\x{byte:02x}" for byte in character.encode(errors="surrogateescape"))


_ESCAPED = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def command(name: str, fields: Sequence[str] = ()) -> str:
    return " ".join(("mdmem", name, *map(option, fields)))


def option(name: str) -> str:
    """The option of a field that messages name; the command line has a table of all of them."""
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")


# options that are not named like their fields
_OPTIONS = {
    "all_files": "--all",
    "days": "--day",
    "entry": "--from",
    "everything": "--all",
    "limit": "-n",
    "replacement": "--with",
    "tags": "--tag",
    "workspace": "-C DIR",
}
