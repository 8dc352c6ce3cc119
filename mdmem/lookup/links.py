"""Links between notes to a heading or a block id: those that lead nowhere, and those to rename."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import PurePath
from posixpath import dirname, relpath
from re import Match, Pattern
from urllib.parse import quote, unquote

from mdmem.folder import files, layout
from mdmem.folder.layout import ListedFile
from mdmem.model import FileKind, FilePath, Problem
from mdmem.model.errors import PathProblem, number_of, verb
from mdmem.model.reads import FileNames, fold_name
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text import frontmatter
from mdmem.text.document import (
    Document,
    closed_fences,
    parse,
    parse_bytes,
    plain_title,
    split_lines,
)
from mdmem.text.terms import words_in_order
from mdmem.workspace import Workspace

_LINK = late.pattern(
    r"`[^`\n]*`|\[\[(?P<note>[^\[\]|#\r\n]*)#(?P<part>[^\[\]|\r\n]+)(?:\|[^\[\]\r\n]*)?\]\]"
    r"|\]\((?P<file>[^()\s#:]*)#(?P<anchor>[^()\s]+)\)"
)
_NOTE = late.pattern(
    r"`[^`\n]*`|\[\[(?P<note>[^\[\]|#\r\n]+)(?=[#|\]\\])"
    r"|\]\((?P<file>[^()\s#:]+\.[mM][dD])(?=[#)])"
)
_NO_PART_OF_LINK = late.pattern(r"[\[\]#|^:]|%%")
_NO_PART_OF_ANCHOR = late.pattern(r"[^\w\s-]")
_ALIASES = ("title", "aliases")
_FRONT = b"---"


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

    @cache
    def has_part(path: FilePath, part: str) -> bool:
        linked = document(path)
        return linked is None or _has_part(linked, part)

    for path in listed:
        if paths and path not in paths:
            continue
        for number, link in _links(_text(listed[path]), _LINK):
            name, part = _target(link)
            names = names or file_names(workspace)
            target = names.find(name) if name.strip() else path
            if target in listed and not has_part(target, part.strip()):
                written = link[0].removeprefix("]")
                yield DeadLink(path=path, line=number, written=written, target=target, part=part)


def _text(file: ListedFile) -> str:
    """The text of a file; empty where it cannot be read or is not UTF-8, which `check` names."""
    with suppress(PathProblem, UnicodeDecodeError):
        return (files.read(file.full_path) or b"").decode()
    return ""


def _links(text: str, pattern: Pattern[str]) -> Iterator[tuple[int, Match[str]]]:
    """The links outside code, by a pattern of links or code; each with its line (from 1)."""
    if "[[" not in text and "](" not in text:
        return
    lines = split_lines(text)
    fenced = closed_fences([line.rstrip("\r\n") for line in lines])
    for number, line in enumerate(lines):
        if number not in fenced:
            found = (link for link in pattern.finditer(line) if link[0][0] != "`")
            yield from ((number + 1, link) for link in found)


def _changed(
    text: str, pattern: Pattern[str], change: Callable[[Match[str]], str | None]
) -> tuple[str, int]:
    """A text with links changed, where `change` says what to, and their number."""
    count, lines = 0, split_lines(text)
    for number, link in reversed(list(_links(text, pattern))):
        if (new := change(link)) is not None:
            line = lines[number - 1]
            lines[number - 1] = f"{line[: link.start()]}{new}{line[link.end() :]}"
            count += 1
    return "".join(lines), count


def _target(link: Match[str]) -> tuple[str, str]:
    """The note that a link names, empty for its own, and the part of it."""
    return unquote(link["note"] or link["file"] or ""), unquote(link["part"] or link["anchor"])


def _has_part(document: Document, part: str) -> bool:
    if part.startswith("^"):
        return any(f" {line.strip()}".endswith(f" {part}") for line in document.lines)
    letters = _letters(part.rpartition("#")[2])
    is_anchor = f'"{part}"' in document.text  # <a id="…">
    return is_anchor or any(letters == _letters(each.title) for each in document.sections)


def _letters(title: str) -> str:
    """The words of a heading, by which links and headings are compared; an anchor as forges make
    them leaves signs out.
    """
    return words_in_order(title).replace(" ", "")


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


def dead_after_rename(workspace: Workspace, path: FilePath, title: str) -> tuple[str, ...]:
    """A line for the user on the links that pointed at a heading before it was renamed."""
    letters = _letters(title)
    dead = sum(
        link.target == path and letters in map(_letters, link.part.split("#"))
        for link in dead_links(workspace)
    )
    return (
        (f"leading nowhere now: {number_of(dead, 'link')} to it; to list them: {verb('check')}",)
        if dead
        else ()
    )


def with_links(
    workspace: Workspace, path: FilePath, document: Document, text: str
) -> dict[FilePath, tuple[str, int]]:
    """The texts in which links to a heading of a document have its new title, and how many each.

    `text`: the document with the heading renamed. Logs and files that may not be written now are
    left out, and so are links that mean an equal heading above.
    """
    pairs = zip(document.sections, parse(text).sections, strict=True)
    old, new = next((a, b) for a, b in pairs if a.title != b.title)
    above = document.sections[: old.index]
    if any(_letters(each.title) == _letters(old.title) for each in above):
        return {}
    names, found = file_names(workspace), dict[FilePath, tuple[str, int]]()
    for each, file in workspace.memory_files().items():
        before = text if each == path else _text(file)
        if "#" not in before or not _may_be_edited(workspace, each):
            continue
        meant = partial(_is_meant, names, each, path)
        if (after := _renamed(before, meant, old.title, new.title))[1]:
            found[each] = after
    return found


def _is_meant(names: FileNames, linking: FilePath, target: FilePath, name: str) -> bool:
    return (names.find(name) if name.strip() else linking) == target


def _may_be_edited(workspace: Workspace, path: FilePath) -> bool:
    if workspace.kind_of(path) is FileKind.DAILY or layout.is_outside(path):
        return False
    if workspace.settings.direct_edits == "refuse" and path in workspace.repository.pending():
        return False
    return not layout.within(path, workspace.settings.extra_paths)


def _renamed(text: str, is_meant: Callable[[str], bool], old: str, new: str) -> tuple[str, int]:
    """A text whose links to a heading of the note that is meant have its new title."""
    letters = _letters(old)

    def written(link: Match[str]) -> str | None:
        name, part = _target(link)
        titles = part.split("#")
        if letters not in map(_letters, titles) or part.startswith("^") or not is_meant(name):
            return None
        group = "part" if link["part"] else "anchor"
        changed = "#".join(
            _as_written(new, title, group == "anchor") if _letters(title) == letters else title
            for title in titles
        )
        start, end = (at - link.start() for at in link.span(group))
        return f"{link[0][:start]}{changed}{link[0][end:]}"

    return _changed(text, _LINK, written)


def _as_written(title: str, before: str, is_anchor: bool) -> str:
    """A title as a link names it; an anchor as forges make them, or as Obsidian does."""
    plain = " ".join(_NO_PART_OF_LINK.sub(" ", plain_title(title)).split())
    if not is_anchor:
        return plain
    is_slug = "-" in before or before.islower()
    slug = _NO_PART_OF_ANCHOR.sub("", plain_title(title).lower()).replace(" ", "-")
    return quote(slug if is_slug else plain)


def renamed_notes(workspace: Workspace) -> FileNames:
    """The notes that git has seen under other names, by these."""
    repository, listed = workspace.repository, workspace.memory_files()
    if repository.head() is None:
        return FileNames({}, {})
    told = repository.git(
        *("log", "-z", "-M", "--format=", "--diff-filter=R", "--name-status", "HEAD")
    )
    fields = [each.removeprefix(repository.prefix) for each in os.fsdecode(told).split("\0")]
    now = dict[str, str]()
    for old, new in zip(fields[1::3], fields[2::3], strict=False):  # newest first
        now.setdefault(old, now.get(new, new))
    paths = {old: FilePath(new) for old, new in now.items() if new in listed and old not in listed}
    stems = {fold_name(old): new for old, new in paths.items()}
    return FileNames(stems, _unique((stem.rpartition("/")[2], new) for stem, new in stems.items()))


def with_renamed_notes(workspace: Workspace, renamed: FileNames) -> dict[FilePath, str]:
    """The texts in which links name renamed notes as they are called now."""
    names, found = file_names(workspace), dict[FilePath, str]()

    def written(path: FilePath, link: Match[str]) -> str | None:
        name = unquote(link["note"] or link["file"] or "").strip()
        new = None if not name or names.find(name) else renamed.find(name)
        if new is None:
            return None
        stem = PurePath(new).stem
        short = stem if names.find(stem) == new else new.removesuffix(".md")
        return f"[[{short}" if link["note"] else f"]({quote(relpath(new, dirname(path) or '.'))}"

    for path, file in workspace.memory_files().items():
        if _may_be_edited(workspace, path):
            after, count = _changed(_text(file), _NOTE, partial(written, path))
            found |= {path: after} if count else {}
    return found


# Names by which a text can mean a file.


_Stamp = tuple[int, int, int]


class _KnownAliases:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.of_file: dict[FilePath, tuple[_Stamp, tuple[str, ...]]] = {}


def file_names(workspace: Workspace) -> FileNames:
    """The names of the memory files; those that have not changed are not read again."""
    listed = {
        path: file for path, file in workspace.memory_files().items() if not layout.is_outside(path)
    }
    stems = {path: fold_name(path) for path in listed}
    names = _unique((stem.rpartition("/")[2], path) for path, stem in stems.items())
    known = workspace.resources.get(_KnownAliases)
    with known.lock:
        known.of_file = {
            path: _aliases(file, known.of_file.get(path)) for path, file in listed.items()
        }
        aliases = [
            (fold_name(name), path)
            for path, (_, of_file) in known.of_file.items()
            for name in of_file
        ]
    return FileNames(names | {stem: path for path, stem in stems.items()}, _unique(aliases))


def _aliases(
    file: ListedFile, known: tuple[_Stamp, tuple[str, ...]] | None
) -> tuple[_Stamp, tuple[str, ...]]:
    stamp = file.status.st_mtime_ns, file.status.st_ctime_ns, file.status.st_size
    if known and known[0] == stamp:
        return known
    try:
        data = files.read(file.full_path) or b""
        values = frontmatter.values(parse_bytes(data)) if data.startswith(_FRONT) else {}
    except PathProblem:
        values = {}
    by_name = {name.casefold(): value for name, value in values.items()}
    given = [by_name.get(name) for name in _ALIASES]
    names = [name for each in given for name in (each if isinstance(each, list) else [each])]
    return stamp, tuple(name for name in names if isinstance(name, str) and name.strip())


def _unique(names: Iterable[tuple[str, FilePath]]) -> dict[str, FilePath]:
    found: dict[str, set[FilePath]] = defaultdict(set)
    for name, path in names:
        found[name].add(path)
    return {name: next(iter(paths)) for name, paths in found.items() if len(paths) == 1}
