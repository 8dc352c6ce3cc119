"""Files that a person has just saved, laid over the index: a search finds them as they are, and waits for no update.

Only where that is sure to be what an update gives: what stood in such a file before keeps what the index knows of it, and what is new is
a person's own text, not committed. All else (marks, contradictions, what an edit took out and another brings back, much at once) is left
to an update.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING

from mdmem import contradictions, files, layout
from mdmem.catchup.entry_states import entry_identity
from mdmem.document import Document, parse_bytes
from mdmem.entries import entries
from mdmem.errors import PathProblem
from mdmem.model import FilePath, Source
from mdmem.model.trail import Claim, Entry
from mdmem.search.indexer import FileEntries, SearchIndex
from mdmem.search.schema import IndexRow, Lifetime
from mdmem.startup import late
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem.editors import frontmatter
else:
    frontmatter = late.module("mdmem.editors.frontmatter")


_MOST_FILES, _MOST_BYTES = 8, 100_000
"""More than this is indexed first: to score it takes longer than that."""


def overlay_unindexed(workspace: Workspace, index: SearchIndex, changed: Collection[str], gone: Collection[str]) -> SearchIndex | None:
    """The index with these files as they are now laid over it; None where it cannot be told what an update would give.

    Raises:
        BrokenIndex: the index turns out to be damaged.
    """
    if index.seen.has_pair_marks or len(changed) + len(gone) > _MOST_FILES:
        return None
    pages, left = [], _MOST_BYTES
    hidden = [*gone]
    for path in map(FilePath, changed):
        try:
            data = files.read(workspace.root / path)
            document = parse_bytes(data or b"")
        except PathProblem:
            return None
        left -= len(data or b"")
        known = index.seen.files.get(path)
        if left < 0 or layout.is_outside(path) or (known and not known.digest):
            return None
        if known and data is not None and files.digest(data) == known.digest:
            continue
        hidden.append(path)
        page = _page(workspace, index, path, entries(document, path, _tags(document)))
        if page is None:
            return None
        pages.append(page)
    return index.with_overlay(hidden, pages)


def _tags(document: Document) -> tuple[str, ...]:
    if not document.front:
        return ()
    return frontmatter.tags(document)


def _page(workspace: Workspace, index: SearchIndex, path: FilePath, listed: tuple[Entry, ...]) -> FileEntries | None:
    """The entries of a file with what the index knows of those that it has; None where that is not enough."""
    rows = index.rows(path)
    if rows is None or _contradict(workspace, listed):
        return None
    standing = [row for row in rows if row.lifetime.is_live]
    taken_out = {key for row in rows if not row.lifetime.is_live for key in _keys(row.entry)}
    if not all(map(_is_plain, standing)) or not taken_out.isdisjoint(key for entry in listed for key in _keys(entry)):
        return None
    waiting: dict[Hashable, deque[IndexRow]] = defaultdict(deque)
    for row in standing:
        same = waiting[entry_identity(row.entry)]
        if same and (same[0].origin, same[0].lifetime) != (row.origin, row.lifetime):
            return None  # which of two alike was taken out cannot be told
        same.append(row)
    found = [waiting[key].popleft() if waiting[key] else None for key in map(entry_identity, listed)]
    return FileEntries(
        path,
        listed,
        tuple(row.origin if row else None for row in found),
        tuple(row.uncommitted if row else True for row in found),
        workspace.kind_of(path),
        tuple(row.lifetime if row else Lifetime() for row in found),
    )


def _is_plain(row: IndexRow) -> bool:
    """Whether nothing became of a row: it stands, as somebody's commit or as text that is in none."""
    return row.lifetime == Lifetime(row.lifetime.begun) and row.uncommitted == (row.origin is None)


def _keys(entry: Entry) -> tuple[Hashable, ...]:
    """By what an entry is joined to one of a commit."""
    return (entry_identity(entry), (entry.section, entry.fact)) if entry.fact else (entry_identity(entry),)


def _contradict(workspace: Workspace, listed: Sequence[Entry]) -> bool:
    """Whether some entries of a file hold one key in one section."""
    if not any(entry.key for entry in listed):
        return False
    source = Source.USER_STATED
    claims = [
        Claim(
            entry.fact, entry.text, entry.key, entry.path, entry.section, entry.start_line, 0, source, source.confidence, False, entry.until
        )
        for entry in listed
        if entry.fact is not None
    ]
    return bool(contradictions.find_conflicts(claims, (), workspace.now().date()))
