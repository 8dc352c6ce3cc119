"""Requests to a model, as text: the opening line, the instructions, and one line of JSON, which is data. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from mdmem import secrets
from mdmem.llm.instructions import CHANGES_SCHEMA, CONSOLIDATE, DATA_ENDS, DATA_FOLLOWS, EXTRACT, FACTS_SCHEMA, OPENING
from mdmem.model import FactId, Source
from mdmem.startup.records import dataclass, field

EXTRACT_TASK, CONSOLIDATE_TASK = "extract", "consolidate"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request: its task, its text, the name of the list in the answer, and the schema of the answer as `json.dumps` writes it."""

    task: str
    text: str
    list_name: str
    schema: str

    @property
    def size(self) -> int:
        """The bytes of the text."""
        return len(self.text.encode())

    def again(self, complaint: str) -> ModelRequest:
        """The same request, for an answer that could not be read."""
        text = f"{self.text}\n\nYour last answer could not be read: {complaint}. Answer only with one JSON object."
        return ModelRequest(self.task, text, self.list_name, self.schema)


@dataclass(frozen=True, slots=True)
class RequestLine:
    """A line of a conversation, or a part of it.

    - `number`: of the transcript; `who`: `user`, `agent`, or `other` for another person in a chat of several.
    - `day`, `minute`: when it was said, in the user's zone.
    """

    number: int
    who: str
    day: date
    minute: str
    text: str


@dataclass(frozen=True, slots=True)
class DayFact:
    """An entry of a day's log, with the ids of the entries of memory that it resembles."""

    id: FactId
    text: str
    day: date
    source: Source
    near: tuple[FactId, ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """An entry of curated memory as it stands."""

    id: FactId
    text: str
    section: str
    source: Source
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractData:
    """The data of a request for facts: lines, and as `known` the entries that were drawn from this part of the session already."""

    zone: str
    lines: tuple[RequestLine, ...]
    known: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ConsolidateData:
    """The data of a request for changes of curated memory."""

    day: date
    facts: tuple[DayFact, ...]
    memory: tuple[MemoryEntry, ...] = field(default=())


def extract_request(data: ExtractData) -> ModelRequest:
    """Ask which facts some lines state. The day is that of the first line; a line of another day has it before its time."""
    day = data.lines[0].day
    lines = [
        {
            "n": line.number,
            "who": line.who,
            "time": line.minute if line.day == day else f"{line.day.isoformat()} {line.minute}",
            "text": _without_secrets(line.text),
        }
        for line in data.lines
    ]
    entries = [{"id": fact, "text": _without_secrets(text)} for fact, text in data.known]
    values = {"task": EXTRACT_TASK, "day": day.isoformat(), "zone": data.zone, "lines": lines, "known": entries}
    return ModelRequest(EXTRACT_TASK, _text(EXTRACT, values), "facts", _schema_text(FACTS_SCHEMA))


def consolidate_request(data: ConsolidateData) -> ModelRequest:
    """Ask what becomes of new facts beside what memory holds."""
    facts = [
        {
            "id": fact.id,
            "text": _without_secrets(fact.text),
            "day": fact.day.isoformat(),
            "source": fact.source.value,
            "near": list(fact.near),
        }
        for fact in data.facts
    ]
    memory = [
        {
            "id": entry.id,
            "key": entry.key and _without_secrets(entry.key),
            "text": _without_secrets(entry.text),
            "section": _without_secrets(entry.section),
            "source": entry.source.value,
        }
        for entry in data.memory
    ]
    values = {"task": CONSOLIDATE_TASK, "day": data.day.isoformat(), "facts": facts, "memory": memory}
    return ModelRequest(CONSOLIDATE_TASK, _text(CONSOLIDATE, values), "changes", _schema_text(CHANGES_SCHEMA))


def _text(instructions: str, values: Mapping[str, Any]) -> str:
    block = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return f"{OPENING}\n\n{instructions}\n\n{DATA_FOLLOWS}\n{block}\n{DATA_ENDS}"


def _without_secrets(text: str) -> str:
    """A text as it may be sent, wherever it comes from."""
    return secrets.redact(text, strict=True)


def _schema_text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema)
