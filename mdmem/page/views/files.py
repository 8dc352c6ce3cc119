"""The list of memory files, and a file rendered for reading."""

from __future__ import annotations

from typing import Any

from mdmem.folder import layout
from mdmem.model import FileKind, FilePath, SectionPath
from mdmem.model.errors import PathProblem, plain
from mdmem.model.reads import FileRow, ListFiles, Outline
from mdmem.page.pages import Page, Query, Reader, kept, number_in
from mdmem.show.values import to_json
from mdmem.startup.records import dataclass
from mdmem.text import frontmatter
from mdmem.text.document import Document, Section, parse

_FILES = 20
_MOST_SECTIONS, _MOST_TAGS, _MOST_LISTED = 12, 60, 200


@dataclass(frozen=True, slots=True)
class SectionLink:
    words: str
    address: str
    level: int = 1
    facts: int | None = None


@dataclass(frozen=True, slots=True)
class FileLine:
    """A file in the list of files; `others` counts the sections that are not shown."""

    file: FileRow
    title: str
    sections: tuple[SectionLink, ...]
    others: int


def files(reader: Reader, query: Query) -> Page:
    after = number_in(query, "after") or 0
    listed = kept(reader, reader.memory.files, ListFiles(limit=_FILES, offset=after))
    tags = reader.memory.tags()
    next_page = after + _FILES
    values: dict[str, Any] = {
        "lines": [_line(reader, row) for row in listed.files],
        "total": listed.total,
        "notes": tuple(dict.fromkeys(map(plain, (*listed.notes, *tags.notes)))),
        "tags": [(each, reader.links.search(tag=each.tag)) for each in tags.tags[:_MOST_TAGS]],
        "newer": reader.links.files(after=max(0, after - _FILES)) if after else "",
        "older": reader.links.files(after=next_page) if next_page < listed.total else "",
    }
    back = reader.links.files(after=after)
    return Page(
        template="files",
        title="Memory",
        values=values,
        data={**to_json(listed), **to_json(tags)},
        tab="memory",
        back=back,
    )


def _line(reader: Reader, row: FileRow) -> FileLine:
    is_log = reader.memory.workspace.kind_of(row.path) is FileKind.DAILY
    with_facts = [part for part in row.sections if part.facts and not is_log]
    sections = (
        SectionLink(
            words=_name(part.section),
            address=reader.links.section(row.path, part.section),
            facts=part.facts,
        )
        for part in with_facts[:_MOST_SECTIONS]
    )
    return FileLine(
        file=row,
        title=row.title if row.title not in row.path else "",
        sections=tuple(sections),
        others=max(0, len(with_facts) - _MOST_SECTIONS),
    )


def _name(section: SectionPath) -> str:
    return section[-1] if section else "before the first heading"


def file(reader: Reader, query: Query) -> Page:
    """A file for reading. Raises PathProblem if it is not a memory file."""
    path = layout.parse_path(query["path"])
    if not reader.memory.workspace.kind_of(path).is_memory:
        raise PathProblem("file-not-found", f"{path} is not a file of memory", "")
    text = reader.memory.look(path)
    if not isinstance(text, str):
        raise PathProblem("file-not-found", f"{path} is a folder", "")
    document = parse(text)
    title, first = _title(document, path)
    start = first.body if first else document.front
    outline = reader.memory.outline(path)
    tags = frontmatter.tags(document)[:_MOST_TAGS]
    values: dict[str, Any] = {
        "path": path,
        "tags": [(tag, reader.links.search(tag=tag)) for tag in tags],
        "body": document.slice(start, len(document.lines)),
        "sections": _sections(reader, path, outline),
        "others": max(0, len(outline.sections) - _MOST_LISTED),
        "log_day": layout.day_of(path, reader.memory.workspace.daily),
    }
    data = {**to_json(outline), "text": text}
    return Page(
        template="file",
        title=title,
        values=values,
        data=data,
        tab="memory",
        back=reader.links.file(path),
    )


def _title(document: Document, path: FilePath) -> tuple[str, Section | None]:
    """The title of a file, and the heading it comes from, so that the page does not repeat it."""
    named = frontmatter.values(document).get("title") if document.front else None
    if isinstance(named, str) and named.strip():
        return named.strip(), None
    first = next(iter(document.sections), None)
    if first and first.title and not document.slice(document.front, first.start).strip():
        return first.title, first
    return path, None


def _sections(reader: Reader, path: FilePath, outline: Outline) -> list[SectionLink]:
    return [
        SectionLink(
            words=row.section[-1],
            address=reader.links.section(path, row.section),
            level=row.level,
        )
        for row in outline.sections[:_MOST_LISTED]
    ]
