"""Read a model's answer, and check each fact and change that it suggests. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from mdmem import secrets
from mdmem.llm.grounding import Ground, SaidLine
from mdmem.llm.requests import (
    CONSOLIDATE,
    EXTRACT,
    KINDS,
    MOST_CHARACTERS,
    OPENING,
    PLACEHOLDERS,
    ConsolidateData,
    DayFact,
    MemoryEntry,
    RequestLine,
)
from mdmem.model import FactId
from mdmem.sessions.tags import strip_blocks
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.languages import attribute_named

_TAG = late.pattern(r"<[/!?]?[A-Za-z][^<>]*>|&(?:amp;)*(?:lt|#0*60|#x0*3c);|\{\{|\}\}|\[REDACTED:")
_WORD = late.pattern(r"\w")
_RUN_OF_WORDS = 6  # so many words in the order of the instructions are copied from them


class _RefusedItemError(Exception):
    """An item is not accepted; the message says why."""


def _require_text(value: Any) -> str:
    """The text of a suggestion, on one line. Raises _RefusedItemError if it may not be written."""
    if not isinstance(value, str) or not is_said(value):
        raise _RefusedItemError("no text")
    text = " ".join(value.split())
    if len(text) > MOST_CHARACTERS:
        raise _RefusedItemError("a text that is too long")
    if not text.isprintable():
        raise _RefusedItemError("control characters")
    if secrets.find(text, strict=True):
        raise _RefusedItemError("a secret")
    if _TAG.search(text) or strip_blocks(text) != text:
        raise _RefusedItemError("a tag")
    if (
        OPENING.partition("/")[0] in text
        or any(each in text for each in PLACEHOLDERS)
        or _repeats_instructions(text)
    ):
        raise _RefusedItemError("words of the instructions")
    return text


def _repeats_instructions(text: str) -> bool:
    words, instructions = (
        text.casefold().split(),
        f" {' '.join(f'{EXTRACT} {CONSOLIDATE}'.casefold().split())} ",
    )
    return any(
        f" {' '.join(words[at : at + _RUN_OF_WORDS])} " in instructions
        for at in range(len(words) - _RUN_OF_WORDS + 1)
    )


def is_said(text: str) -> bool:
    return _WORD.search(text) is not None


_MOST_ITEMS = 200  # of a list that are checked
_MOST_BEGINNINGS = 2_000  # braces of a text at which an object is looked for
_BEGINNING = late.pattern(r"[{\[]")
_DECODER = json.JSONDecoder()


class UnreadableAnswerError(Exception):
    """The answer has no such object; the message says why, for the model to read."""


@dataclass(frozen=True, slots=True)
class AnswerItems:
    """The list in an answer, as JSON; `is_cut`: the answer ended in the middle of it."""

    items: tuple[Any, ...]
    is_cut: bool = False


def read_answer(text: str, list_name: str) -> AnswerItems:
    """The last object that has the list, preferably not empty; of a cut one the whole items.

    Raises UnreadableAnswerError.
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
    # a list of objects alone is accepted too
    inner = value.get(list_name) if isinstance(value, dict) else value
    if not isinstance(inner, list):
        return None
    return (
        inner
        if isinstance(value, dict) or (inner and all(isinstance(item, dict) for item in inner))
        else None
    )


def _items_of_cut(text: str, list_name: str) -> list[Any]:
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


# speakers; OTHER is another person in a chat of several
USER, OTHER, AGENT = "user", "other", "agent"
_MOST_LINES = 10  # that one fact may name
_MOST_LINES_APART = 40  # lines of a transcript between the first and the last of them


@dataclass(frozen=True, slots=True)
class SuggestedFact:
    """A checked fact; `lines` say it, in their order, and `by_person`: persons alone say all."""

    lines: tuple[int, ...]
    kind: str
    key: str | None
    text: str
    by_person: bool


@dataclass(frozen=True, slots=True)
class CheckedFacts:
    facts: tuple[SuggestedFact, ...]
    refused: tuple[str, ...]


def check_facts(items: Sequence[Any], lines: Sequence[RequestLine]) -> CheckedFacts:
    by_number: dict[int, list[RequestLine]] = {}
    for line in lines:
        by_number.setdefault(line.number, []).append(line)
    facts: list[SuggestedFact] = []
    refused: list[str] = []
    for item in items:
        try:
            facts.append(_checked(item, by_number))
        except _RefusedItemError as problem:
            refused.append(str(problem))
    return CheckedFacts(tuple(dict.fromkeys(facts)), tuple(refused))


def _checked(item: Any, by_number: Mapping[int, Sequence[RequestLine]]) -> SuggestedFact:
    if not isinstance(item, dict):
        raise _RefusedItemError("not an object")
    numbers = _line_numbers(item.get("lines"), by_number)
    cited = [line for number in numbers for line in by_number[number]]
    kind, text, quote = item.get("kind"), _require_text(item.get("text")), item.get("quote")
    if not isinstance(kind, str) or kind.strip().casefold() not in KINDS:
        raise _RefusedItemError("unknown kind")
    by_person = _is_grounded(text, quote, [line for line in cited if line.who != AGENT])
    if not by_person:
        _require_grounded(text, quote, cited)
    key = item.get("key")
    return SuggestedFact(
        lines=numbers,
        kind=kind.strip().casefold(),
        key=attribute_named(key) if isinstance(key, str) else None,
        text=text,
        by_person=by_person,
    )


def _line_numbers(value: Any, sent: Collection[int]) -> tuple[int, ...]:
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(number, int) and not isinstance(number, bool) for number in value)
    ):
        raise _RefusedItemError("no lines")
    numbers = tuple(sorted(set(value)))
    if any(number not in sent for number in numbers):
        raise _RefusedItemError("a line that was not sent")
    if len(numbers) > _MOST_LINES or numbers[-1] - numbers[0] > _MOST_LINES_APART:
        raise _RefusedItemError("too many lines")
    return numbers


def _is_grounded(text: str, quote: Any, lines: Sequence[RequestLine]) -> bool:
    try:
        _require_grounded(text, quote, lines)
    except _RefusedItemError:
        return False
    return True


def _require_grounded(text: str, quote: Any, lines: Sequence[RequestLine]) -> None:
    if (
        not isinstance(quote, str)
        or not is_said(quote)
        or not any(_folded(quote) in _folded(line.text) for line in lines)
    ):
        raise _RefusedItemError("a quote that is not there")
    if ungrounded := Ground(SaidLine(line.text, line.day) for line in lines).ungrounded(text):
        raise _RefusedItemError(f"not in the lines: {ungrounded}")


def _folded(text: str) -> str:
    return " ".join(text.split())


class ChangeOp(StrEnum):
    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NONE = "NONE"


Sent = TypeVar("Sent")
_ON_ENTRY = (ChangeOp.UPDATE, ChangeOp.DELETE)  # change a current entry


@dataclass(frozen=True, slots=True)
class SuggestedChange:
    """A checked change. `why` is its reason; `text`, `why` may be empty if nothing is written."""

    op: ChangeOp
    fact: FactId
    old: FactId | None
    section: str | None
    key: str | None
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class CheckedChanges:
    """The accepted changes of an answer, at most one a fact, and why others are not."""

    changes: tuple[SuggestedChange, ...]
    refused: tuple[str, ...]


def check_changes(items: Sequence[Any], data: ConsolidateData) -> CheckedChanges:
    facts = {fact.id: fact for fact in data.facts}
    memory = {entry.id: entry for entry in data.memory}
    changes: dict[FactId, SuggestedChange] = {}
    refused: list[str] = []
    for item in items:
        try:
            change = _checked_consolidation(item, facts, memory)
            if change.fact in changes:
                raise _RefusedItemError("a second change of one fact")
        except _RefusedItemError as problem:
            refused.append(str(problem))
        else:
            changes[change.fact] = change
    return CheckedChanges(tuple(changes.values()), tuple(refused))


def _checked_consolidation(
    item: Any, facts: Mapping[FactId, DayFact], memory: Mapping[FactId, MemoryEntry]
) -> SuggestedChange:
    if not isinstance(item, dict):
        raise _RefusedItemError("not an object")
    op = next((each for each in ChangeOp if each == item.get("op")), None)
    if op is None:
        raise _RefusedItemError("unknown op")
    fact, old = (
        _find_sent(item.get("fact"), facts),
        _find_sent(item["old"], memory) if item.get("old") is not None else None,
    )
    if fact is None or (old is None and op in _ON_ENTRY):
        raise _RefusedItemError("an id is missing")
    if op is ChangeOp.ADD:
        old = None
    is_written = op in (ChangeOp.ADD, ChangeOp.UPDATE)
    text = _require_text(item.get("text")) if is_written else ""
    texts = [each.text for each in (fact, old) if each is not None]
    if ungrounded := (
        Ground(SaidLine(each, fact.day) for each in texts).ungrounded(text) if is_written else ""
    ):
        raise _RefusedItemError(f"not in the fact: {ungrounded}")
    keys = [each.key for each in (fact, old) if each is not None and each.key is not None]
    return SuggestedChange(
        op=op,
        fact=fact.id,
        old=old.id if old else None,
        section=_one_of(
            item.get("section"), [entry.section for entry in memory.values()], "section"
        ),
        key=_one_of(item.get("key"), keys, "key"),
        text=text,
        why=_require_text(item["why"]) if item.get("why") else "",
    )


def _find_sent(value: Any, sent: Mapping[FactId, Sent]) -> Sent | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in sent:
        raise _RefusedItemError("an id that was not sent")
    return sent[FactId(value)]


def _one_of(value: Any, allowed: Sequence[str], name: str) -> str | None:
    if value is None or value == "":
        return None
    if value not in allowed:
        raise _RefusedItemError(f"a {name} that was not sent")
    return str(value)
