"""Check the changes of curated memory that a model suggests, one by one. What becomes of them is for the caller to decide. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from mdmem.llm.grounding import Ground, SaidLine
from mdmem.llm.requests import ConsolidateData, DayFact, MemoryEntry
from mdmem.llm.suggested_texts import RefusedItemError, require_text
from mdmem.model import FactId
from mdmem.startup.records import dataclass


class ChangeOp(StrEnum):
    """The fates of a fact that a model may suggest."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NONE = "NONE"


Sent = TypeVar("Sent")
_ON_ENTRY = (ChangeOp.UPDATE, ChangeOp.DELETE)
"""The changes of an entry that stands."""


@dataclass(frozen=True, slots=True)
class SuggestedChange:
    """A change that a model suggests and code has checked. `why` is its reason, and `text` and `why` may be empty where nothing is to be written."""

    op: ChangeOp
    fact: FactId
    old: FactId | None
    section: str | None
    key: str | None
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class CheckedChanges:
    """The changes of an answer that stand the check, one a fact at most, and why the others do not."""

    changes: tuple[SuggestedChange, ...]
    refused: tuple[str, ...]


def check_changes(items: Sequence[Any], data: ConsolidateData) -> CheckedChanges:
    """Check the items of an answer against the data of its request."""
    facts = {fact.id: fact for fact in data.facts}
    memory = {entry.id: entry for entry in data.memory}
    changes: dict[FactId, SuggestedChange] = {}
    refused: list[str] = []
    for item in items:
        try:
            change = _checked(item, facts, memory)
            if change.fact in changes:
                raise RefusedItemError("a second change of one fact")
        except RefusedItemError as problem:
            refused.append(str(problem))
        else:
            changes[change.fact] = change
    return CheckedChanges(tuple(changes.values()), tuple(refused))


def _checked(item: Any, facts: Mapping[FactId, DayFact], memory: Mapping[FactId, MemoryEntry]) -> SuggestedChange:
    if not isinstance(item, dict):
        raise RefusedItemError("not an object")
    op = next((each for each in ChangeOp if each == item.get("op")), None)
    if op is None:
        raise RefusedItemError("unknown op")
    fact, old = _sent(item.get("fact"), facts), _sent(item["old"], memory) if item.get("old") is not None else None
    if fact is None or (old is None and op in _ON_ENTRY):
        raise RefusedItemError("an id is missing")
    if op is ChangeOp.ADD:
        old = None
    is_written = op in (ChangeOp.ADD, ChangeOp.UPDATE)
    text = require_text(item.get("text")) if is_written else ""
    texts = [each.text for each in (fact, old) if each is not None]
    if ungrounded := Ground(SaidLine(each, fact.day) for each in texts).ungrounded(text) if is_written else "":
        raise RefusedItemError(f"not in the fact: {ungrounded}")
    keys = [each.key for each in (fact, old) if each is not None and each.key is not None]
    return SuggestedChange(
        op=op,
        fact=fact.id,
        old=old.id if old else None,
        section=_one_of(item.get("section"), [entry.section for entry in memory.values()], "section"),
        key=_one_of(item.get("key"), keys, "key"),
        text=text,
        why=require_text(item["why"]) if item.get("why") else "",
    )


def _sent(value: Any, sent: Mapping[FactId, Sent]) -> Sent | None:
    """The fact or entry of an id that was sent; None where there is no id."""
    if value is None:
        return None
    if not isinstance(value, str) or value not in sent:
        raise RefusedItemError("an id that was not sent")
    return sent[FactId(value)]


def _one_of(value: Any, allowed: Sequence[str], name: str) -> str | None:
    if value is None or value == "":
        return None
    if value not in allowed:
        raise RefusedItemError(f"a {name} that was not sent")
    return str(value)
