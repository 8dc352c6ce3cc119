"""Current facts similar to a new line, so that its author can say what it replaces.

All of it is done while git commits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mdmem.errors import MdmemError
from mdmem.folder import files
from mdmem.model import FactId, FileKind, FilePath
from mdmem.model.trail import Entry
from mdmem.model.writes import LikeFact
from mdmem.text.document import Document, split_lines
from mdmem.workspace import Workspace

_MOST = 3


class LikeSearch:
    """The search for similar facts; only the first call of `search` does anything."""

    def __init__(self, workspace: Workspace, text: str) -> None:
        self._workspace = workspace
        self._text = text
        self._commit = workspace.repository.head()
        self._found: Sequence[Entry] | None = None
        self._says_end = False

    @property
    def text(self) -> str:
        return self._text

    @property
    def ends_something(self) -> bool:
        """True if facts are resembled, and the text says that something ended."""
        return bool(self._found) and self._says_end

    def search(self) -> None:
        """Search the index, and what has been committed since it was brought up to date."""
        if self._found is not None:
            return
        self._found = ()
        if self._commit is None:
            return
        # while git commits
        from mdmem.queries import correctable  # noqa: PLC0415

        try:
            self._found, self._says_end = correctable.similar_entries(
                self._workspace, self._commit, self._text
            )
        except (MdmemError, OSError):
            return  # the catch-up after the write repairs a damaged index

    def facts(
        self, path: FilePath, document: Document, besides: Collection[FactId]
    ) -> tuple[LikeFact, ...]:
        """The similar facts as they are now, except some; `document` is `path` after the write."""
        like: dict[FactId, LikeFact] = {}
        for entry in self._found or ():
            if entry.fact is None or entry.fact in besides or len(like) == _MOST:
                continue
            line = self._line_now(entry, document.lines if entry.path == path else None)
            if line is not None:
                in_log = self._workspace.kind_of(entry.path) is FileKind.DAILY
                like.setdefault(
                    entry.fact,
                    LikeFact(
                        fact=entry.fact, text=entry.text, path=entry.path, line=line, in_log=in_log
                    ),
                )
        return tuple(like.values())

    def _line_now(self, entry: Entry, lines: Sequence[str] | None) -> int | None:
        if lines is None:
            try:
                data = files.read(files.path_on_disk(self._workspace.root, entry.path))
            except MdmemError:
                return None
            lines = split_lines((data or b"").decode("utf-8", "replace"))
        at = entry.start_line - 1
        if at < len(lines) and lines[at].strip() == entry.first_line:
            return entry.start_line
        same = [number for number, line in enumerate(lines, 1) if line.strip() == entry.first_line]
        return min(same, key=lambda number: abs(number - entry.start_line), default=None)
