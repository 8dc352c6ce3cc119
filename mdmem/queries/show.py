"""Reading verbs that need the files alone: show, outline, check."""

from __future__ import annotations

import difflib
from itertools import islice
from posixpath import normpath

from mdmem import check, files, layout
from mdmem.addresses import find_section
from mdmem.document import Document, Section, etag, parse_bytes, preamble_etag, section_etag, tree_etag
from mdmem.errors import PathProblem
from mdmem.model import CommitId, FilePath, Problem
from mdmem.model.reads import Outline, OutlineRow, SectionView, Show
from mdmem.workspace import Workspace, missing_file, read_committed, two_curated_hint


def _path(workspace: Workspace, file: str) -> FilePath:
    """The path of a file that a user names: in the workspace, or of those that are listed under its extra paths elsewhere."""
    path = FilePath(normpath(file))
    return path if layout.is_outside(path) and path in workspace.memory_files() else layout.parse_path(file)


def _named(workspace: Workspace, file: str | None) -> tuple[FilePath, Document]:
    path = _path(workspace, file) if file is not None else workspace.curated
    data = files.read(workspace.root / path if layout.is_outside(path) else files.path_on_disk(workspace.root, path))
    if data is None:
        raise missing_file(workspace, path)
    return path, parse_bytes(data)


def show_section(workspace: Workspace, wanted: Show) -> SectionView:
    """One section, the text before the first heading, or a whole file.

    Raises:
        PathProblem, SectionProblem: there is no such file or section.
    """
    path, document = _named(workspace, wanted.file)
    total = len(document.lines)
    commit, committed = (None, document) if layout.is_outside(path) else _committed(workspace, path, document)

    def view(section: Section | None, start: int, body: int, end: int, own_etag: str, whole_etag: str) -> SectionView:
        text = document.slice(body, end)
        inside = document.subsections(section) if section else document.sections
        return SectionView(
            path,
            section.path if section else (),
            section.level if section else 0,
            text,
            own_etag,
            whole_etag,
            start + 1,
            max(start + 1, end),
            commit,
            committed is not document and not _is_committed(document, committed, section, wanted),
            tuple(s.path for s in inside),
        )

    if wanted.preamble:
        return view(None, document.front, document.front, document.preamble_end, preamble_etag(document), etag(document, 0, total))
    if wanted.section is None:
        return view(None, 0, 0, total, preamble_etag(document), etag(document, 0, total))
    section = find_section(document, wanted.section, wanted.nth)
    return view(section, section.start, section.body, section.end, section_etag(document, section), tree_etag(document, section))


def _committed(workspace: Workspace, path: FilePath, document: Document) -> tuple[CommitId | None, Document | None]:
    """The newest commit that touched a file, and what HEAD has of it, which may be the `document` that is on disk.

    The latter is None where HEAD has nothing of it, or nothing that can be read.
    """
    state = workspace.repository.state(path)
    commit = workspace.repository.last_commit(path) if state.commit else None
    if not state.pending:
        return commit, document
    data = read_committed(workspace, path, state.commit)
    try:
        return commit, None if data is None else parse_bytes(data)
    except PathProblem:
        return commit, None


def _is_committed(document: Document, committed: Document | None, section: Section | None, wanted: Show) -> bool:
    """Whether what is shown of a document stands so in a commit: of a section, in the one with the same path and number."""
    if committed is None:
        return False
    there = section
    if section:
        number = [one for one in document.sections if one.path == section.path].index(section)
        there = next(islice((one for one in committed.sections if one.path == section.path), number, None), None)
    return (section is None or there is not None) and _shown(document, section, wanted) == _shown(committed, there, wanted)


def _shown(document: Document, section: Section | None, wanted: Show) -> str:
    """What is shown, whatever ends its lines."""
    start, end = (document.front, document.preamble_end) if wanted.preamble else (0, len(document.lines))
    text = document.slice(section.start, section.end) if section else document.slice(start, end)
    return text.replace("\r\n", "\n").strip()


def outline(workspace: Workspace, file: str | None) -> Outline:
    """The sections of a file.

    Raises:
        PathProblem: there is no such file.
    """
    path, document = _named(workspace, file)
    rows = (OutlineRow(s.path, s.level, s.start + 1, section_etag(document, s), s.end - s.start) for s in document.sections)
    return Outline(path, tuple(rows))


def check_files(workspace: Workspace, named: tuple[str, ...]) -> tuple[Problem, ...]:
    """What is wrong with memory files as they are on disk; with all of them where none is named.

    Raises:
        PathProblem: a named file is not there.
    """
    listed = workspace.memory_files()
    paths = [_path(workspace, name) for name in named] or list(listed)
    problems: list[Problem] = []
    for path in paths:
        place = listed[path].full_path if path in listed else files.path_on_disk(workspace.root, path)
        try:
            data = files.read(place)
        except PathProblem as problem:
            problems.append(Problem(path, 1, problem.code, "warning", problem.message, problem.hint))
            continue
        if data is None:
            near = difflib.get_close_matches(path, listed, n=3)
            raise PathProblem("file-not-found", f"there is no {path}", f"Did you mean {', '.join(near)}?" if near else "")
        problems += check.check_file(path, data, workspace.kind_of(path), workspace.settings)
    if not named and (note := two_curated_hint(workspace)):
        problems.append(Problem(layout.CURATED_NAMES[1], 1, "two-curated-files", "warning", note))
    return tuple(problems)
