"""The agent view: the block for the start of a session, or for a prompt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mdmem.model import FactId
from mdmem.model.prompts import (
    BuildContext,
    ContextBlock,
    ContextEntry,
    ContextPart,
    count_tokens,
)
from mdmem.page.pages import Page, Query, Reader
from mdmem.startup.records import dataclass, replace

_MOST_OMITTED = 30
_ENTRY = "- :"
_HEADING = "## "
_REASONS = {
    ContextPart.PROFILE: "profile",
    ContextPart.PINNED: "curated memory",
    ContextPart.TASKS: "open task",
    ContextPart.DAYS: "logged today or yesterday",
    ContextPart.FOUND: "answers the prompt",
    ContextPart.TAGS: "most used tags",
    ContextPart.NOTES: "a note on what is shown",
}
_PARTS = {
    "Profile": ContextPart.PROFILE,
    "Memory": ContextPart.PINNED,
    "Tasks": ContextPart.TASKS,
    "Today": ContextPart.DAYS,
    "Yesterday": ContextPart.DAYS,
    "Found": ContextPart.FOUND,
    "Tags": ContextPart.TAGS,
    "Notes": ContextPart.NOTES,
}


@dataclass(frozen=True, slots=True)
class BlockLine:
    text: str
    tokens: int
    reason: str
    fact: FactId | None = None
    is_heading: bool = False


@dataclass(frozen=True, slots=True)
class OmittedPart:
    reason: str
    count: int
    entries: tuple[ContextEntry, ...]


def context(reader: Reader, query: Query) -> Page:
    """The block that a session would get now. Nothing is recorded as given."""
    prompt, session = query.get("q", "").strip(), query.get("session", "").strip()
    block = reader.memory.context(
        BuildContext(prompt=prompt or None, session=session or None, preview=True)
    )
    values: dict[str, Any] = {
        "prompt": prompt,
        "session": session,
        "block": block,
        "lines": list(_lines(block)),
        "omitted": [
            OmittedPart(_REASONS[part.part], part.left_out, part.omitted[:_MOST_OMITTED])
            for part in block.parts
            if part.left_out
        ],
        "given": block.given[:_MOST_OMITTED],
    }
    return Page(
        template="context",
        title="Agent view",
        values=values,
        data=block,
        back=reader.links.context(q=prompt, session=session),
    )


def _lines(block: ContextBlock) -> Iterator[BlockLine]:
    entries = iter([entry for part in block.parts for entry in part.entries])
    part: ContextPart | None = None
    for text in block.text.split("\n") if block.text else ():
        line = BlockLine(text=text, tokens=count_tokens(text), reason="frame")
        if text.startswith(_HEADING):
            part = _PARTS.get(text.removeprefix(_HEADING).partition(" ")[0])
            line = replace(line, reason="names the file", is_heading=True)
        elif part is not None and not text.startswith("</"):
            entry = next(entries, None) if text.startswith(_ENTRY) else None
            score = f", score {entry.score:.1f}" if entry and entry.score is not None else ""
            fact = entry.fact if entry and entry.workspace is None else None
            line = replace(line, reason=f"{_REASONS[part]}{score}", fact=fact)
        yield line
