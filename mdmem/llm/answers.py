"""Read the answer of a model: a JSON object with a list, by itself, in a fence, among prose, or cut at its end. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from mdmem.startup import late
from mdmem.startup.records import dataclass

_MOST_ITEMS = 200
"""The most items of a list that are looked at."""
_MOST_BEGINNINGS = 2_000
"""The most braces of a text at which an object is looked for."""
_BEGINNING = late.pattern(r"[{\[]")
_DECODER = json.JSONDecoder()


class UnreadableAnswerError(Exception):
    """There is no such object in an answer; the message says why, for the model to read."""


@dataclass(frozen=True, slots=True)
class AnswerItems:
    """The items of the list in an answer, as JSON has them; `is_cut`: the answer ended in the middle of it."""

    items: tuple[Any, ...]
    is_cut: bool = False


def read_answer(text: str, list_name: str) -> AnswerItems:
    """The answer in a text: the last object that has the list, with something in it if there is such a one; if it is cut, the items that are whole.

    Raises:
        UnreadableAnswerError
    """
    if not text.strip():
        raise UnreadableAnswerError("it is empty")
    lists = [value for value in _lists(text, list_name) if value is not None]
    if lists:
        return AnswerItems(tuple(([each for each in lists if each] or lists)[-1][:_MOST_ITEMS]))
    if items := _items_of_cut(text, list_name):
        return AnswerItems(tuple(items[:_MOST_ITEMS]), is_cut=True)
    raise UnreadableAnswerError(_complaint(text, list_name))


def _lists(text: str, list_name: str) -> Iterator[list[Any] | None]:
    """The lists of the outermost objects in a text that have one."""
    end = 0
    for count, match in enumerate(_BEGINNING.finditer(text)):
        if count > _MOST_BEGINNINGS:
            return
        if match.start() < end:
            continue
        try:
            value, end = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        yield _list_of(value, list_name)


def _list_of(value: Any, list_name: str) -> list[Any] | None:
    """The list of an object that has it; or a list of objects by itself."""
    inner = value.get(list_name) if isinstance(value, dict) else value
    if not isinstance(inner, list):
        return None
    return inner if isinstance(value, dict) or (inner and all(isinstance(item, dict) for item in inner)) else None


def _items_of_cut(text: str, list_name: str) -> list[Any]:
    """The items that are whole in a list that is not closed."""
    starts = list(re.finditer(rf'"{list_name}"\s*:\s*\[', text))
    if not starts:
        return []
    items: list[Any] = []
    position = starts[-1].end()
    while (match := re.compile(r"[\s,]*(?=\{)").match(text, position)) is not None:
        try:
            item, position = _DECODER.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            break
        items.append(item)
    return items


def _complaint(text: str, list_name: str) -> str:
    """The words of the parser; or what the object lacks."""
    start = text.find("{")
    if start < 0:
        return "it contains no JSON object"
    try:
        _DECODER.raw_decode(text, start)
    except ValueError as problem:
        return str(problem)
    except RecursionError:
        return "it is nested too deeply"
    return f'the object has no list "{list_name}"'
