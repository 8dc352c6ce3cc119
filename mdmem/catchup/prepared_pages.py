"""The pages of files as HEAD has them, prepared before the trail is there and completed by it.

Nearly all of a page comes from the file's text: reading it and bringing its words to their stems is most of the work for an index that is
built from nothing. The trail has only to say with which commit each entry came in.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Hashable, Mapping
from functools import lru_cache
from operator import add

from mdmem import files, layout, listing
from mdmem.catchup import pages
from mdmem.catchup.entry_states import entry_identity
from mdmem.document import parse_bytes
from mdmem.editors import frontmatter
from mdmem.entries import entries
from mdmem.errors import PathProblem
from mdmem.model import CommitId, FileKind, FilePath
from mdmem.model.trail import Occurrence, Origin
from mdmem.repo import first_parent
from mdmem.repo.git_files import object_id
from mdmem.search import schema
from mdmem.search.document_texts import document_text, lifetime_text, stored_row
from mdmem.search.indexer import FileTexts
from mdmem.search.labels import file_label
from mdmem.search.snapshot import SnapshotFile
from mdmem.trail import Trail
from mdmem.workspace import Workspace

_LIFETIMES_KEPT = 4096


def committed_blobs(workspace: Workspace, commit: CommitId | None) -> Mapping[FilePath, str]:
    """The blob ids of the workspace's files in a commit."""
    return first_parent.blobs(workspace.repository, commit) if commit else {}


def prepare(workspace: Workspace, path: FilePath, blob: str | None, language: str) -> tuple[SnapshotFile, FileTexts] | None:
    """Prepare a file: its documents, without origin and lifetime (`document_text`).

    It gives None where the file differs from its blob, cannot be read, or has entries that expire, or keys, which other files may contradict.

    Raises:
        OSError: the file is gone.
    """
    file, now = listing.list_file(workspace.root, path, (workspace.root / path).lstat()), time.time_ns()
    if blob is None or layout.is_outside(path):
        return None
    try:
        data = files.read(file.full_path) or b""
        if object_id(b"blob", data, len(blob)) != blob:
            return None
        document = parse_bytes(data)
    except PathProblem:
        return None
    labels = frontmatter.labels(document)
    file_entries = entries(document, path, labels.tags, daily=workspace.daily)
    if any(entry.key is not None or entry.until is not None for entry in file_entries):
        return None
    text = schema.FileText(path, file_entries, workspace.kind_of(path), labels.about)
    fields = schema.text_fields(text, language, file_label("path", path))
    return pages.snapshot_file(file, data, now), FileTexts(path, list(map(document_text, fields)))


def complete(workspace: Workspace, trail: Trail, page: FileTexts) -> FileTexts | None:
    """Complete a prepared page; None where its entries have marks, so that it has to be read.

    The trail has the commit that the page was prepared for, and no marks of facts that contradict each other.
    """
    if trail.marks(page.path, include_ended=True) or trail.promoted_in(page.path):
        return None
    kind = workspace.kind_of(page.path)
    begun, origin, count = trail.shared_origin(page.path) or (0, None, 0)
    if count == len(page.documents):
        end = _lifetime_text(kind, begun, origin)
        return FileTexts(page.path, [document + end for document in page.documents])
    occurrences = _occurrences(trail, page)
    ends = [_lifetime_text(kind, each.begun, each.origin) for each in occurrences]
    return FileTexts(page.path, list(map(add, page.documents, ends))) if len(ends) == len(page.documents) else None


@lru_cache(maxsize=_LIFETIMES_KEPT)
def _lifetime_text(kind: FileKind, begun: int, origin: Origin | None) -> str:
    return lifetime_text(schema.lifetime_fields(origin, False, kind, schema.live_since(begun), None))


def _occurrences(trail: Trail, page: FileTexts) -> list[Occurrence]:
    """The live occurrence of each entry of a prepared page, as far as there are any; equal ones in their order."""
    waiting: dict[Hashable, deque[Occurrence]] = defaultdict(deque)
    for occurrence in trail.live_occurrences(page.path):
        waiting[entry_identity(occurrence.entry)].append(occurrence)
    lifetime = schema.lifetime_fields(None, False, FileKind.EVERGREEN, schema.live_since(None), None)
    rows = (schema.parse_row(stored_row(document) + lifetime.row) for document in page.documents)
    of_each = (waiting[entry_identity(row.entry)] for row in rows)
    return [equal.popleft() for equal in of_each if equal]
