"""Check the facts that a model suggests, one by one: what is not refused says no more than lines that were sent. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mdmem.extract.statements import attribute_named
from mdmem.llm.grounding import Ground, SaidLine
from mdmem.llm.instructions import KINDS
from mdmem.llm.requests import RequestLine
from mdmem.llm.suggested_texts import RefusedItemError, is_said, require_text
from mdmem.startup.records import dataclass

USER, OTHER, AGENT = "user", "other", "agent"
"""The speakers of lines: the user, another person in a chat of several, an agent."""
_MOST_LINES = 10
"""The most lines that one fact may name."""
_FARTHEST = 40
"""The most lines of a transcript between the first and the last of them."""


@dataclass(frozen=True, slots=True)
class SuggestedFact:
    """A fact that a model suggests and code has checked.

    - `lines`: the lines that say it, in their order. `by_person`: lines of persons alone say all of it.
    """

    lines: tuple[int, ...]
    kind: str
    key: str | None
    text: str
    by_person: bool


@dataclass(frozen=True, slots=True)
class CheckedFacts:
    """The facts of an answer that stand the check, and why the others do not."""

    facts: tuple[SuggestedFact, ...]
    refused: tuple[str, ...]


def check_facts(items: Sequence[Any], lines: Sequence[RequestLine]) -> CheckedFacts:
    """Check the items of an answer against the lines of its request."""
    by_number: dict[int, list[RequestLine]] = {}
    for line in lines:
        by_number.setdefault(line.number, []).append(line)
    facts: list[SuggestedFact] = []
    refused: list[str] = []
    for item in items:
        try:
            facts.append(_checked(item, by_number))
        except RefusedItemError as problem:
            refused.append(str(problem))
    return CheckedFacts(tuple(dict.fromkeys(facts)), tuple(refused))


def _checked(item: Any, by_number: Mapping[int, Sequence[RequestLine]]) -> SuggestedFact:
    if not isinstance(item, dict):
        raise RefusedItemError("not an object")
    numbers = _line_numbers(item.get("lines"), by_number)
    cited = [line for number in numbers for line in by_number[number]]
    kind, text, quote = item.get("kind"), require_text(item.get("text")), item.get("quote")
    if not isinstance(kind, str) or kind.strip().casefold() not in KINDS:
        raise RefusedItemError("unknown kind")
    by_person = _is_held(text, quote, [line for line in cited if line.who != AGENT])
    if not by_person:
        _require_held(text, quote, cited)
    key = item.get("key")
    named = attribute_named(key) if isinstance(key, str) else None
    return SuggestedFact(lines=numbers, kind=kind.strip().casefold(), key=named, text=text, by_person=by_person)


def _line_numbers(value: Any, sent: Collection[int]) -> tuple[int, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(number, int) and not isinstance(number, bool) for number in value):
        raise RefusedItemError("no lines")
    numbers = tuple(sorted(set(value)))
    if any(number not in sent for number in numbers):
        raise RefusedItemError("a line that was not sent")
    if len(numbers) > _MOST_LINES or numbers[-1] - numbers[0] > _FARTHEST:
        raise RefusedItemError("too many lines")
    return numbers


def _is_held(text: str, quote: Any, lines: Sequence[RequestLine]) -> bool:
    try:
        _require_held(text, quote, lines)
    except RefusedItemError:
        return False
    return True


def _require_held(text: str, quote: Any, lines: Sequence[RequestLine]) -> None:
    """Refuse a quote that is no part of a line, and a text that says more than the lines."""
    if not isinstance(quote, str) or not is_said(quote) or not any(_folded(quote) in _folded(line.text) for line in lines):
        raise RefusedItemError("a quote that is not there")
    if ungrounded := Ground(SaidLine(line.text, line.day) for line in lines).ungrounded(text):
        raise RefusedItemError(f"not in the lines: {ungrounded}")


def _folded(text: str) -> str:
    return " ".join(text.split())
