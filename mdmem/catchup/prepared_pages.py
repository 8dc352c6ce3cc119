"""The pages of files as HEAD has them, prepared before the trail is there and completed by it.

Nearly all of a page comes from the file's text: reading it and bringing its words to their stems is most of the work for an index that is
built from nothing. Where all entries of a file came in together, the trail has only to say with which commit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from mdmem import files, layout, listing
from mdmem.catchup import pages
from mdmem.document import parse_bytes
from mdmem.editors import frontmatter
from mdmem.entries import entries
from mdmem.errors import PathProblem
from mdmem.model import CommitId, FilePath
from mdmem.repo import first_parent
from mdmem.repo.git_files import object_id
from mdmem.search import schema
from mdmem.search.document_texts import document_text, lifetime_text
from mdmem.search.indexer import FileEntries, FileTexts
from mdmem.search.snapshot import SnapshotFile
from mdmem.trail import Trail
from mdmem.workspace import Workspace


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
    origins, uncommitted = (None,) * len(file_entries), (False,) * len(file_entries)
    page = FileEntries(
        path=path, entries=file_entries, origins=origins, uncommitted=uncommitted, kind=workspace.kind_of(path), about=labels.about
    )
    fields = schema.text_fields(path, page.rows, language, schema.file_label("path", path))
    return pages.snapshot_file(file, data, now), FileTexts(path, list(map(document_text, fields)))


def complete(workspace: Workspace, trail: Trail, page: FileTexts) -> FileTexts | None:
    """Complete a prepared page; None where its entries did not all come in together, or have marks, so that it has to be read.

    The trail has the commit that the page was prepared for, and no marks of facts that contradict each other.
    """
    begun, origin, count = trail.shared_origin(page.path) or (0, None, 0)
    if count != len(page.documents) or trail.marks(page.path, include_ended=True):
        return None
    lifetime = schema.lifetime_fields(origin, False, workspace.kind_of(page.path), schema.live_since(begun), None)
    end = lifetime_text(lifetime)
    return FileTexts(page.path, [document + end for document in page.documents])
