"""The text nodes of a canvas of Obsidian, as entries of its file. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from mdmem.model import FilePath
from mdmem.model.errors import PathProblem
from mdmem.model.trail import Entry
from mdmem.startup.records import replace
from mdmem.text.document import parse
from mdmem.text.facts import entries, shown_text


def canvas_entries(data: bytes, path: FilePath) -> tuple[Entry, ...]:
    """The entries of text nodes, in the line that a node begins in; none of them is a fact.

    Raises PathProblem (`unsupported-file`).
    """
    try:
        nodes = json.loads(data or b"{}").get("nodes", [])
        texts = [(str(each["id"]), str(each["text"])) for each in nodes if each["type"] == "text"]
        return tuple(_entries(data.decode(), path, texts))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        message = "not a canvas: it is no JSON with nodes"
        raise PathProblem("unsupported-file", message) from problem


def _entries(source: str, path: FilePath, texts: list[tuple[str, str]]) -> Iterator[Entry]:
    at, line = 0, 1
    for name, text in texts:
        found = source.find(json.dumps(name, ensure_ascii=False), at)
        if found < 0:  # written otherwise: to look for each would take the square of their number
            source = ""
        line, at = line + source.count("\n", at, found), max(at, found)
        for entry in entries(parse(text), path, nested=True):
            yield replace(
                entry,
                start_line=line,
                end_line=line,
                section=(),
                text=shown_text(entry),
                key=None,
                fact=None,
            )
