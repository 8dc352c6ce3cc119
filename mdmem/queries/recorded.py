"""Which fact is meant by an id, a prefix of one or a text, among all that memory ever held."""

from __future__ import annotations

from mdmem.errors import TextProblem
from mdmem.facts import id_prefix, normalise, parse_item, parse_text, require_unique_id, write_item
from mdmem.model import FactId, FilePath
from mdmem.trail import Trail

_NEAR = 3
_QUOTED = 80


def fact_by_text(known: Trail, text: str) -> FactId | None:
    """The fact that a text is, with or without its marker, kind, tags and expiry."""
    said = text.strip()
    readings = [parse_text(said).id, parse_item(said).id, *_as_written(said)]
    return next((fact for fact in readings if known.occurrences_of(fact)), None)


def _as_written(text: str) -> list[FactId]:
    """The fact that a text would be if it was remembered or logged."""
    try:
        return [parse_item(write_item(text)).id]
    except TextProblem:
        return []


def fact_by_id(known: Trail, word: str) -> FactId | None:
    """The fact whose id begins so.

    Raises:
        FactProblem: `fact-ambiguous` where several do.
    """
    prefix = id_prefix(word)
    found = known.ids_with_prefix(prefix) if prefix else ()
    require_unique_id(prefix, found)
    return found[0] if found else None


def similar_facts_hint(known: Trail, word: str, path: FilePath | None = None) -> str:
    """A sentence that names facts (of one file) with these words, what holds still first; empty where there are none."""
    wanted = normalise(word)
    holding = [one for one in known.fact_occurrences() if wanted and wanted in normalise(one.entry.text) and path in (None, one.entry.path)]
    found = {one.entry.fact: one.entry.text for one in sorted(holding, key=lambda one: one.ended is not None)}
    named = [f"{fact} {' '.join(text.split())[:_QUOTED]}" for fact, text in list(found.items())[:_NEAR]]
    return f"Facts with these words: {'; '.join(named)}" if named else ""
