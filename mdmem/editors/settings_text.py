"""Entries in settings files of other programs, put in and taken out as text.

Nothing is formatted anew: an entry goes where its object, list or table begins or ends, and all
else stays as it is, byte for byte. A ValueError says why that is not possible for sure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mdmem.startup import late

Insertion = tuple[int, str]
"""An offset in a text, and what to insert there."""

_STRING = r'("(?:[^"\\]|\\.)*")'
_COMMENT = late.pattern(rf"(?s){_STRING}|\A\ufeff|//[^\n]*|/\*.*?\*/")
_TRAILING_COMMA = late.pattern(rf"{_STRING}|,(?=\s*[}}\]])")
_KEY = late.pattern(rf"[\s,]*{_STRING}\s*:\s*")
_OURS = late.pattern(r"""(?:^|[\\/"'`\s])mdmem["'\s\\]""")
_DECODER = json.JSONDecoder()


def calls_mdmem(text: str) -> bool:
    """True if a text names the program as a word, with or without its folder."""
    return _OURS.search(text) is not None


def inserted(text: str, insertions: Iterable[Insertion]) -> str:
    for offset, added in sorted(insertions, reverse=True):
        text = text[:offset] + added + text[offset:]
    return text


def without(text: str, entries: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """A text without inserted entries, and those that are not in it as they were inserted.

    The line ends and commas around an entry may have changed.
    """
    changed: list[str] = []
    for entry in sorted(set(entries), key=len, reverse=True):  # one may hold another
        core = entry.strip().rstrip(",")
        is_member, escaped = core[:1] in ('"', "{"), re.escape(core)
        if core not in text:
            changed.append(entry)
        elif entry.rstrip().endswith(",") or not re.search(rf",\s*{escaped}", text):
            text = text.replace(entry, "")
        before = ",?" if is_member else ""
        at_run = r"(?<!\s)\s*"  # tried once for a run of blanks, not at each of them
        text = re.sub(rf"{at_run}{escaped}\s*,|{before}{at_run}{escaped}", "", text)
    return text, tuple(changed)


def json_entries(text: str, wanted: Mapping[str, Any]) -> list[Insertion]:
    """The insertions for all of `wanted` that a JSON object lacks; it may have comments.

    An object with a `command`, or a list, that calls mdmem is an entry that is there.
    """
    plain = json_plain(text)
    return list(_missing(text, plain, len(plain) - len(plain.lstrip()), wanted))


def json_plain(text: str) -> str:
    """The text of an object as plain JSON, of the same length."""
    for pattern in (_COMMENT, _TRAILING_COMMA):
        text = pattern.sub(lambda match: match[1] or " " * len(match[0]), text)
    if not isinstance(json.loads(text, object_pairs_hook=_unique), dict):
        raise ValueError("it is not an object")
    return text


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name occurs twice in an object")
    return values


def _missing(text: str, plain: str, start: int, wanted: Any) -> Iterator[Insertion]:
    missing: list[str] = []
    if isinstance(wanted, list):
        present, end = _DECODER.raw_decode(plain, start)
        if not calls_mdmem(plain[start:end]):
            new = (each for each in wanted if each not in present)
            missing = [json.dumps(each, ensure_ascii=False) for each in new]
    else:
        for name, value in wanted.items():
            place = _member(plain, start, name)
            if place is None:
                missing.append(json.dumps({name: value}, ensure_ascii=False)[1:-1])
                continue
            present, end = _DECODER.raw_decode(plain, place)
            if type(present) is type(value) is list or (
                type(present) is type(value) is dict and "command" not in value
            ):
                yield from _missing(text, plain, place, value)
            elif present != value and not calls_mdmem(plain[place:end]):
                raise ValueError(f"it has another {name}")
    if missing:
        yield start + 1, _members(text, start, missing, plain[start + 1 :].lstrip()[0] in "]}")


def _member(plain: str, start: int, name: str) -> int | None:
    """Where the value of a member of an object begins."""
    position = start + 1
    while match := _KEY.match(plain, position):
        if json.loads(match[1]) == name:
            return match.end()
        position = _DECODER.raw_decode(plain, match.end())[1]
    return None


def _members(text: str, start: int, members: list[str], is_only: bool) -> str:
    """The text for new first members, spaced as the one that is first now."""
    rest = text[start + 1 :]
    lead = rest[: len(rest) - len(rest.lstrip())]
    if not is_only:
        return "".join(f"{lead}{member},{'' if lead else ' '}" for member in members)
    line = text[text.rfind("\n", 0, start) + 1 : start].lstrip("\ufeff")
    outer = _line_end(text) + line[: len(line) - len(line.lstrip())]
    inner = outer + ("\t" if "\n\t" in text else "  ")
    return inner + f",{inner}".join(members) + ("" if "\n" in lead else outer)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def yaml_entry(text: str, wanted: Mapping[str, Any]) -> list[Insertion]:
    """A first item below `NAME:`, which has to be a block at the margin, or is added at the end."""
    # it takes 20 ms, for one host
    import yaml  # noqa: PLC0415

    ((name, entry),) = wanted.items()
    try:
        values = yaml.safe_load(text) or {}
    except yaml.YAMLError as problem:
        raise ValueError("it is not one document of YAML") from problem
    there = values.get(name) if isinstance(values, dict) else None
    if isinstance(there, dict) and entry.keys() <= there.keys():
        return []
    end, item = _line_end(text), json.dumps(entry, ensure_ascii=False)[1:-1]
    heads = list(re.finditer(rf"(?m)^(?:{name}\b|[\"'{{]|---|\.\.\.).*\n?", text))
    if not heads:
        start = "" if not text or text.endswith("\n") else end
        return [(len(text), f"{start}{name}:{end}  {item}{end}")]
    after = re.compile(r"(?:[ \t]*(?:#.*)?\r?\n)*( +)\w").match(text, heads[0].end())
    if len(heads) > 1 or after is None or not re.fullmatch(rf"{name}:\s*(#.*\n?)?", heads[0][0]):
        raise ValueError(f"{name} is not a plain block")
    return [(heads[0].end(), f"{after[1]}{item}{end}")]
