"""Resolve links within memory to the pages of notes and of their sections."""

from __future__ import annotations

from functools import cached_property
from posixpath import dirname, join, normpath

from mdmem.errors import PathProblem
from mdmem.model import FilePath, SectionPath
from mdmem.model.reads import FileNames
from mdmem.page.pages import Reader


class Places:
    """Finds the pages of notes that a text links to; names are read at the first link."""

    def __init__(self, reader: Reader, path: str = "") -> None:
        self._reader = reader
        self._folder = dirname(path)
        self._path = path

    @cached_property
    def _names(self) -> FileNames:
        return self._reader.memory.file_names()

    def address(self, name: str, heading: str) -> str:
        """The page of a note, by name or by path from the text's folder; empty if there is none."""
        path: FilePath | str | None = self._path
        if name:
            beside = normpath(join(self._folder, name)) if self._folder else name
            path = self._names.find(beside) or self._names.find(name)
        if not path:
            return ""
        section = self._section(path, heading)
        links = self._reader.links
        return links.section(path, section) if section else links.file(path)

    def _section(self, path: str, heading: str) -> SectionPath | None:
        title = heading.rpartition("#")[2].strip().casefold()
        if not title or title.startswith("^"):
            return None
        try:
            rows = self._reader.memory.outline(path).sections
        except PathProblem:  # a link to the file then says why it cannot be read
            return None
        return next((row.section for row in rows if row.section[-1].casefold() == title), None)
