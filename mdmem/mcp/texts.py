"""Results as one text for a model: bounded, without secrets or terminal control. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mdmem import secrets
from mdmem.errors import json_line, printable
from mdmem.mcp.arguments import in_arguments
from mdmem.model.history import DayView
from mdmem.model.reads import Outline, SectionView
from mdmem.model.searches import BuildProgress, FactList, Hit, SearchResult
from mdmem.queries.context.parts import Paragraph, clean_line, write_block
from mdmem.show.formatting import also_notes, hit_remarks, section_line, unread_text
from mdmem.show.history import changes_text
from mdmem.text.facts import item_text

MOST_CHARACTERS = 8000
NO_MATCH = "No match."
BEHIND = "The index is behind."
_WHY_BEHIND = "the index is behind: "  # start of the core's note on why the index is behind
_RESERVED_CHARACTERS = 300  # characters reserved for the lines below a text that was cut


def clean(text: str) -> str:
    """Remove secrets, and make everything visible that could hide or steer."""
    return printable(secrets.redact(text.replace("\r\n", "\n")))


def bounded(lines: Iterable[str], how: str, last: Sequence[str] = ()) -> str:
    """Join lines up to the maximum length; a line counts the rest and says `how` to get it.

    `last` is always included.
    """
    entries = list(lines)
    room = MOST_CHARACTERS - sum(len(line) + 1 for line in last)
    shown = 0
    used = 0
    for entry in entries:
        used += len(entry) + 1
        if used > room - (_RESERVED_CHARACTERS if shown + 1 < len(entries) else 0):
            break
        shown += 1
    if shown == len(entries):
        return "\n".join((*entries, *last))
    if not shown:
        entries[0] = f"{entries[0][: room - _RESERVED_CHARACTERS].rstrip()}…"
        shown = 1
    left = len(entries) - shown
    more = [f"… {left:,} more: {how}"] if left else [f"… the rest: {how}"]
    return "\n".join((*entries[:shown], *more, *last))


def hit_line(hit: Hit) -> str:
    """An entry with its citation on one line, whatever it holds."""
    kind = f"[{hit.kind}] " if hit.kind else ""
    tags = "".join(f" #{clean_line(tag)}" for tag in hit.tags)
    marks = "".join(
        f" {mark}" for mark in ((f"[{hit.fact}]",) if hit.fact else ()) + hit_remarks(hit)
    )
    about = f" ({clean_line(hit.about)})" if hit.about else ""
    return f"- {clean_line(hit.place)} {kind}{clean_line(hit.text)}{about}{tags}{marks}"


def _notes(stale: bool, notes: Iterable[str]) -> list[str]:
    lines = [clean(in_arguments(note)) for note in notes]
    return [BEHIND, *(line.removeprefix(_WHY_BEHIND) for line in lines)] if stale else lines


def search_text(result: SearchResult) -> str:
    """The answer to a search."""
    as_of = [f"Memory as of {result.as_of}."] if result.as_of else []
    days = [
        f"{name}: {day}" for name, day in (("since", result.since), ("until", result.until)) if day
    ]
    return _listed(
        result.hits, [*as_of, *days, *_notes(result.stale, result.notes)], result.building
    )


def facts_text(listed: FactList) -> str:
    """Facts by their tags."""
    left_out = (
        [f"{len(listed.facts)} of {listed.total}: memory_search with limit"]
        if 0 < len(listed.facts) < listed.total
        else []
    )
    return _listed(listed.facts, [*left_out, *_notes(listed.stale, listed.notes)], listed.building)


def _listed(hits: Sequence[Hit], notes: Sequence[str], building: BuildProgress | None) -> str:
    empty = f"{unread_text(building)}." if building else NO_MATCH
    return bounded(
        [hit_line(hit) for hit in hits] or [empty],
        "memory_search with limit, or memory_get NAME",
        notes,
    )


def section_text(view: SectionView) -> str:
    """A section, a fact or a whole file, with its citation above it and its etag below."""
    if view.fact:
        return _fact_text(view)
    name = f" {section_line(view.section)}" if view.section else ""
    subsections = (
        [f"subsections: {'; '.join(map(section_line, view.subsections))}"]
        if view.section and view.subsections
        else []
    )
    lines = clean(view.text.strip("\r\n")).split("\n")
    below = [clean(line)[: _RESERVED_CHARACTERS * 2] for line in subsections]
    etag = view.etag if view.section else view.tree_etag
    return bounded(
        [f"# {clean_line(view.path)}:{view.start_line}{clean(name)}", *lines],
        "memory_search, or memory_get NAME of a part",
        [*below, *map(clean, also_notes(view.also)), f"etag {etag}"],
    )


def framed(parts: Mapping[str, str]) -> str:
    """Texts by their headings, in the frame of a block; their lines must be clean already."""
    return write_block(
        [Paragraph(heading, tuple(text.split("\n"))) for heading, text in parts.items()]
    )


def _fact_text(view: SectionView) -> str:
    lines = clean(view.text.strip("\r\n")).split("\n")
    first = f"- {clean_line(view.path)}:{view.start_line} {item_text(lines[0])} [{view.fact}]"
    below = (
        *map(clean, also_notes(view.also)),
        f"section {clean(section_line(view.section))}",
        f"etag {view.etag}",
    )
    return bounded([first, *lines[1:]], "memory_search", below)


def day_text(view: DayView) -> str:
    """The logs of a day, then what else changed on it."""
    lines = [
        line
        for log in view.logs
        for line in (f"# {clean_line(log.path)}", *clean(log.text.strip("\r\n")).split("\n"))
    ]
    changes = changes_text(view.changes, colour=False) if view.changes else ""
    changed = ["", "Changed:", *clean(changes).split("\n")] if changes else []
    return bounded(
        [*lines, *changed] or [f"Nothing was logged on {view.day}."], "memory_get of a file"
    )


def outline_text(outline: Outline) -> str:
    """The sections of a file, indented, each with line and etag."""
    rows = [
        f"{'  ' * (len(row.section) - 1)}- :{row.line} {clean(section_line(row.section[-1:]))}"
        f" (etag {row.etag})"
        for row in outline.sections
    ]
    return bounded([f"# {clean_line(outline.path)}", *rows], "memory_get NAME")


def failure_text(failure: Mapping[str, Any]) -> str:
    """A failure (of `errors.attempt`) as one JSON object of bounded length."""
    text = json_line(failure)
    if len(text) <= MOST_CHARACTERS:
        return text
    return json_line({name: _shortened(value) for name, value in failure.items()})


def _shortened(value: Any) -> Any:
    match value:
        case str() if len(value) > MOST_CHARACTERS // 4:
            return f"{value[: MOST_CHARACTERS // 4]}… (the rest: memory_get)"
        case list():
            return [_shortened(each) for each in value[:4]]
    return value
