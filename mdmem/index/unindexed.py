"""Lay files that a person has just saved over the index, so that a search needs no update.

Only where the result is sure to be that of an update: entries that were in such a file before keep
what the index has of them, and new ones are a person's own text, not committed. Everything else
(marks, contradictions, entries restored by an edit, much at once) is left to an update.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Hashable, Sequence

from mdmem.folder import budget, files, layout
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.schema import IndexRow, Lifetime
from mdmem.model import FileKind, FilePath, Source
from mdmem.model.errors import PathProblem
from mdmem.model.trail import Claim, Entry
from mdmem.past.entry_states import identity_on_disk
from mdmem.startup.records import replace
from mdmem.text import contradictions, frontmatter
from mdmem.text.document import parse_bytes
from mdmem.text.facts import entries
from mdmem.workspace import Workspace

_MOST_FILES, _MOST_BYTES = 8, 100_000
"""More is indexed first: scoring it would take longer."""


def overlay_unindexed(
    workspace: Workspace, index: SearchIndex, changed: Collection[str], removed: Collection[str]
) -> SearchIndex | None:
    """The index with files laid over it; None where unsure. Raises BrokenIndex (damaged)."""
    if index.seen.has_pair_marks or len(changed) + len(removed) > _MOST_FILES:
        return None
    try:
        with budget.limited(_MOST_BYTES):
            return _overlaid(workspace, index, changed, removed)
    except (PathProblem, budget.OverBudget):
        return None  # an update names the file


def _overlaid(
    workspace: Workspace, index: SearchIndex, changed: Collection[str], removed: Collection[str]
) -> SearchIndex | None:
    pages, bytes_left = [], _MOST_BYTES
    hidden = [*removed]
    for path in map(FilePath, changed):
        data = files.read(workspace.root / path)
        document = parse_bytes(data or b"")
        bytes_left -= len(data or b"")
        indexed = index.seen.files.get(path)
        if bytes_left < 0 or layout.is_outside(path) or (indexed and not indexed.digest):
            return None
        if indexed and data is not None and files.digest(data) == indexed.digest:
            continue
        hidden.append(path)
        labels = frontmatter.labels(document)
        page = _page(
            workspace, index, path, entries(document, path, labels.tags, daily=workspace.daily)
        )
        if page is None:
            return None
        pages.append(replace(page, about=labels.about))
    return index.found_by(
        index.finder.with_overlay(hidden, ((page.path, page.rows) for page in pages))
    )


def _page(
    workspace: Workspace, index: SearchIndex, path: FilePath, on_disk: tuple[Entry, ...]
) -> FileEntries | None:
    """A file's entries with what the index has of them; None where that does not suffice."""
    rows = index.finder.rows(path)
    kind = workspace.kind_of(path)
    if rows is None or (kind is not FileKind.BOOTSTRAP and _contradict(workspace, on_disk)):
        return None
    live = [row for row in rows if row.lifetime.is_live]
    removed_keys = {key for row in rows if not row.lifetime.is_live for key in _keys(row.entry)}
    if not all(map(_is_unmarked, live)) or not removed_keys.isdisjoint(
        key for entry in on_disk for key in _keys(entry)
    ):
        return None
    waiting: dict[Hashable, deque[IndexRow]] = defaultdict(deque)
    for row in live:
        equal = waiting[identity_on_disk(row.entry)]
        if equal and (equal[0].origin, equal[0].lifetime) != (row.origin, row.lifetime):
            return None  # nobody can tell which of two equal entries was removed
        equal.append(row)
    indexed = [
        waiting[key].popleft() if waiting[key] else None for key in map(identity_on_disk, on_disk)
    ]
    return FileEntries(
        path=path,
        entries=on_disk,
        origins=tuple(row.origin if row else None for row in indexed),
        uncommitted=tuple(row.uncommitted if row else True for row in indexed),
        kind=kind,
        lifetimes=tuple(row.lifetime if row else Lifetime() for row in indexed),
    )


def _is_unmarked(row: IndexRow) -> bool:
    return row.lifetime == Lifetime(begun=row.lifetime.begun) and row.uncommitted == (
        row.origin is None
    )


def _keys(entry: Entry) -> tuple[Hashable, ...]:
    return (
        (identity_on_disk(entry), (entry.section, entry.fact))
        if entry.fact
        else (identity_on_disk(entry),)
    )


def _contradict(workspace: Workspace, on_disk: Sequence[Entry]) -> bool:
    if not any(entry.key for entry in on_disk):
        return False
    source = Source.USER_STATED
    claims = [
        Claim(
            id=entry.fact,
            text=entry.text,
            key=entry.key,
            path=entry.path,
            section=entry.section,
            line=entry.start_line,
            time=0,
            source=source,
            confidence=source.confidence,
            until=entry.until,
        )
        for entry in on_disk
        if entry.fact is not None
    ]
    return bool(contradictions.find_conflicts(claims, (), workspace.now().date()))
