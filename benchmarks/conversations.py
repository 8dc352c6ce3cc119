"""Conversations written as daily logs, with questions, and an index of each: the data of
`blocks.py` and `gate.py`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from mdmem.folder.layout import kind_of
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.query import Filter, IndexQuery
from mdmem.index.snapshot import EMPTY_SNAPSHOT
from mdmem.model import FilePath
from mdmem.model.searches import Hit
from mdmem.text.document import parse
from mdmem.text.facts import entries

TODAY = date(2026, 6, 1)


@dataclass(frozen=True)
class Question:
    """A question about one conversation, and the lines that answer it."""

    conversation: str
    text: str
    evidence: frozenset[tuple[str, int]]


def read_questions(data: Path) -> list[Question]:
    """The questions of a data folder that have an answer (its form is told in README.md)."""
    rows = map(json.loads, (data / "queries.jsonl").read_text(encoding="utf-8").splitlines())
    return [
        Question(
            row["conversation"],
            row["question"],
            frozenset((path, line) for path, line in row["evidence_lines"]),
        )
        for row in rows
        if row["category"] != "adversarial"
    ]


def index_conversations(data: Path) -> dict[str, SearchIndex]:
    """An index of each conversation."""
    return {
        folder.name: build_index(read_files(folder))
        for folder in sorted(data.iterdir())
        if (folder / "memory").is_dir()
    }


def read_files(folder: Path) -> dict[str, str]:
    """The logs of a conversation by their paths in its workspace."""
    return {
        f"memory/{file.name}": file.read_text(encoding="utf-8")
        for file in sorted((folder / "memory").glob("*.md"))
    }


def build_index(files: Mapping[str, str]) -> SearchIndex:
    """An index of some files, in a memory without a setting of its language."""
    index = SearchIndex.in_memory()
    index.update(_pages(files.items()), (), EMPTY_SNAPSHOT)
    return index


def _pages(files: Iterable[tuple[str, str]]) -> Iterator[FileEntries]:
    for path, text in files:
        parts = entries(parse(text), FilePath(path), nested=True)
        yield FileEntries(
            FilePath(path), parts, (None,) * len(parts), (False,) * len(parts), kind_of(path)
        )


def ask(index: SearchIndex, question: str, limit: int) -> tuple[Hit, ...]:
    """The answer of an index to a question, as a block of a prompt takes it."""
    return tuple(
        match.hit
        for match in index.finder.search(
            IndexQuery(question, limit, Filter(valid_on=TODAY), TODAY, spread=False)
        )
    )
