"""Likely secrets in what a sync brought in: it is at the remote already, so it is only reported."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from mdmem import secrets
from mdmem.changes.placing import changes_between
from mdmem.errors import PathProblem
from mdmem.folder import files
from mdmem.folder.layout import is_markdown
from mdmem.model import CommitId, FilePath
from mdmem.wording import verb
from mdmem.workspace import Workspace


def pulled_secrets(
    workspace: Workspace, before: CommitId | None, after: CommitId
) -> Iterator[FilePath]:
    """The workspace's files in which a likely secret is new after a sync."""
    repository, prefix = workspace.repository.at_root(), os.fsencode(workspace.repository.prefix)
    changes = [
        change
        for change in changes_between(repository, before, after)
        if change.path.startswith(prefix) and is_markdown(os.fsdecode(change.path))
    ]
    contents = repository.contents(
        [blob for change in changes for blob in (change.before, change.after) if blob]
    )
    for change in changes:
        old, new = (
            contents[blob].decode("utf-8", "replace").split("\n") if blob else []
            for blob in (change.before, change.after)
        )
        had = frozenset(old)
        if secrets.find("\n".join(line for line in new if line not in had)):
            yield FilePath(os.fsdecode(change.path.removeprefix(prefix)))


def secret_notes(workspace: Workspace, paths: Iterable[FilePath]) -> Iterator[str]:
    """Lines on those of some files that hold a likely secret now."""
    for path in paths:
        try:
            data = files.read(files.path_on_disk(workspace.root, path)) or b""
        except PathProblem:
            continue
        if found := secrets.find(data.decode("utf-8", "replace")):
            yield (
                f"{path}: possible secret ({found[0].kind}) that another machine sent. To remove"
                f" it from all history: {verb('forget', 'purge')}"
            )
