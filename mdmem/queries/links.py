"""Links between notes to a heading or a block id that their note does not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from posixpath import dirname, join, normpath
from re import Match
from urllib.parse import unquote

from mdmem.folder import files
from mdmem.model import FilePath, Problem
from mdmem.model.errors import PathProblem, number_of, verb
from mdmem.model.reads import FileNames
from mdmem.model.searches import Hit, Search
from mdmem.queries.file_list import file_names
from mdmem.queries.search import search
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import Document, closed_fences, parse_bytes
from mdmem.text.terms import words_in_order
from mdmem.workspace import Say, Workspace

_LINK = late.pattern(
    r"\[\[([^\[\]|#\r\n]*)#([^\[\]|\r\n]+)(?:\|[^\[\]\r\n]*)?\]\]|\]\(([^()\s#:]*)#([^()\s]+)\)"
)
_TO_NOTE = late.pattern(r"\[\[([^\[\]|#\r\n]+)|\]\(([^()\s#:]+)")
_MOST_WITH_NAME = 100
_CODE = late.pattern(r"`[^`\n]*`")


@dataclass(frozen=True, slots=True)
class DeadLink:
    """A link in a line (from 1) of a file: as written, the file it means, and what that lacks."""

    path: FilePath
    line: int
    written: str
    target: FilePath
    part: str


def dead_links(workspace: Workspace, paths: Sequence[str] = ()) -> Iterator[DeadLink]:
    """Links of some memory files, by default of all, to missing parts of notes that are there."""
    listed = workspace.memory_files()
    names: FileNames | None = None

    @cache
    def document(path: FilePath) -> Document | None:
        try:
            return parse_bytes(files.read(listed[path].full_path) or b"")
        except PathProblem:  # `check` names it
            return None

    for path in listed:
        if (paths and path not in paths) or (read := document(path)) is None:
            continue
        for number, link in _links(read):
            name, part = unquote(link[1] or link[3] or ""), unquote(link[2] or link[4])
            names = names or file_names(workspace)
            target = names.find(name) if name.strip() else path
            linked = document(target) if target in listed else None
            if target and linked and not _has_part(linked, part.strip()):
                yield DeadLink(
                    path=path,
                    line=number,
                    written=link[0].removeprefix("]"),
                    target=target,
                    part=part,
                )


def linking_to(workspace: Workspace, path: FilePath, say: Say) -> tuple[Hit, ...]:
    """The entries of other files that link to a note, of the best hundred that have its name."""
    names = file_names(workspace)
    name = path.rpartition("/")[2].removesuffix(".md")
    hits = search(workspace, Search(query=f'"{name}"', limit=_MOST_WITH_NAME), say).hits
    return tuple(hit for hit in hits if hit.path != path and path in _linked(hit, names))


def _linked(hit: Hit, names: FileNames) -> Iterator[FilePath | None]:
    for link in _TO_NOTE.finditer(hit.text):
        name = unquote(link[1] or link[2])
        yield names.find(normpath(join(dirname(hit.path), name))) or names.find(name)


def _links(document: Document) -> Iterator[tuple[int, Match[str]]]:
    """The links to parts of notes that are not in code, each with its line (from 1)."""
    if not _LINK.search(document.text):
        return
    fenced = closed_fences([line.rstrip("\r\n") for line in document.lines])
    for number, line in enumerate(document.lines):
        if "#" in line and number not in fenced:
            yield from ((number + 1, link) for link in _LINK.finditer(_CODE.sub("", line)))


def _has_part(document: Document, part: str) -> bool:
    if part.startswith("^"):
        return any(f" {line.strip()}".endswith(f" {part}") for line in document.lines)
    words = _title_words(part)
    letters = words.replace(" ", "")  # an anchor as forges make them leaves signs out
    is_anchor = f'"{part}"' in document.text  # <a id="…">
    titles = (words_in_order(each.title).replace(" ", "") for each in document.sections)
    return is_anchor or letters in titles


def _title_words(part: str) -> str:
    """The words of the last heading of a link, by which links and headings are compared."""
    return words_in_order(part.rpartition("#")[2])


def check_links(workspace: Workspace, paths: Sequence[str]) -> Iterator[Problem]:
    """A warning for each dead link, in some files or all."""
    for link in dead_links(workspace, paths):
        yield Problem(
            path=link.path,
            line=link.line,
            code="dead-link",
            level="warning",
            message=f"{link.written} points at nothing in {link.target}",
            hint="Name a heading or a block id that is there.",
        )


def renamed_notes(workspace: Workspace, path: FilePath, title: str) -> tuple[str, ...]:
    """A line for the user on the links that pointed at a heading before it was renamed."""
    words = _title_words(title)
    dead = sum(
        link.target == path and _title_words(link.part) == words for link in dead_links(workspace)
    )
    return (
        (f"leading nowhere now: {number_of(dead, 'link')} to it; to list them: {verb('check')}",)
        if dead
        else ()
    )
