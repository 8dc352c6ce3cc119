"""Current facts similar to a new line, so that its author can say what it replaces.

They come from the index as it is: none if it is behind. All of it is done while git commits, and
little text is compared, so that a write hardly waits for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from mdmem.errors import MdmemError
from mdmem.folder import files, layout
from mdmem.model import CommitId, FactId, FileKind, FilePath
from mdmem.model.writes import LikeFact
from mdmem.search.snapshot import INDEX_NAME, seen_commit
from mdmem.text.document import Document, split_lines
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem.search.indexer import SearchIndex
    from mdmem.search.schema import IndexRow

_MOST = 3
_NEAREST = 16
"""The entries of the index that are compared with the new line."""
_MOST_CHARACTERS = 6_000
"""The characters that are compared, the nearest entries first: a few milliseconds."""


class LikeSearch:
    """The search for similar facts; only the first call of `search` does anything."""

    def __init__(self, workspace: Workspace, text: str) -> None:
        self._workspace = workspace
        self._text = text
        self._commit = workspace.repository.head()
        self._rows: list[IndexRow] | None = None
        self._says_end = False

    @property
    def text(self) -> str:
        """The new line."""
        return self._text

    @property
    def ends_something(self) -> bool:
        """True if facts are resembled, and the text says that something ended."""
        return bool(self._rows) and self._says_end

    def search(self) -> None:
        """Search the index, if it has seen the newest commit."""
        if self._rows is not None:
            return
        self._rows = []
        if self._commit is None or seen_commit(self._workspace.state / INDEX_NAME) != self._commit:
            return
        try:
            self._rows = self._resembled(self._commit)
        except (MdmemError, OSError):
            return  # the catch-up after the write repairs a damaged index

    def _resembled(self, commit: CommitId) -> list[IndexRow]:
        # while git commits, and only where the index has seen all
        from mdmem.catchup.index import index_at  # noqa: PLC0415
        from mdmem.editors import corrections  # noqa: PLC0415 - as above

        seen = index_at(self._workspace, commit)
        if seen is None:
            return []
        self._says_end = corrections.ends_something(self._text)
        words = corrections.words_to_search(self._text)
        room = _MOST_CHARACTERS
        alike: list[tuple[float, IndexRow]] = []
        for row in self._nearest(seen, words):
            room -= len(row.entry.text) + len(self._text)
            if room < 0:
                break
            likeness = corrections.correction_likeness(row.entry.text, self._text)
            alike += [(likeness, row)] if likeness else []
        ranked = [row for _, row in sorted(alike, key=lambda pair: -pair[0])]
        return [row for row in ranked if row.entry.key is None or self._may_concern(row.entry.key)]

    def _may_concern(self, key: str) -> bool:
        """False for an attribute of the user where the new line is about somebody else."""
        from mdmem.extract import statements  # noqa: PLC0415 - only where a similar fact has a key

        is_of_another = statements.speaks_of_another(self._text)
        return not (is_of_another and statements.attribute_named(key) is not None)

    def _nearest(self, seen: SearchIndex, words: str) -> Iterator[IndexRow]:
        read_only = self._workspace.settings.extra_paths
        for row in seen.with_words(words, self._workspace.now().date(), _NEAREST):
            if (
                row.entry.fact
                and row.kind is not FileKind.BOOTSTRAP
                and not layout.within(row.entry.path, read_only)
            ):
                yield row

    def facts(
        self, path: FilePath, document: Document, besides: Collection[FactId]
    ) -> tuple[LikeFact, ...]:
        """The similar facts as they are now, except some; `document` is `path` after the write."""
        like: dict[FactId, LikeFact] = {}
        for row in self._rows or ():
            entry = row.entry
            if entry.fact is None or entry.fact in besides or len(like) == _MOST:
                continue
            line = self._line_now(row, document.lines if entry.path == path else None)
            if line is not None:
                in_log = row.kind is FileKind.DAILY
                like.setdefault(
                    entry.fact,
                    LikeFact(
                        fact=entry.fact, text=entry.text, path=entry.path, line=line, in_log=in_log
                    ),
                )
        return tuple(like.values())

    def _line_now(self, row: IndexRow, lines: Sequence[str] | None) -> int | None:
        entry = row.entry
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
