"""The verbs that read files alone: show, outline, check."""

from __future__ import annotations

from itertools import islice
from posixpath import normpath
from typing import TYPE_CHECKING

from mdmem import check, files, layout
from mdmem.addresses import find_section
from mdmem.document import Document, Section, etag, parse_bytes, preamble_etag, section_etag, tree_etag
from mdmem.errors import PathProblem, SectionProblem
from mdmem.model import CommitId, FilePath, Problem
from mdmem.model.reads import Outline, OutlineRow, SectionView, Show
from mdmem.startup import late
from mdmem.workspace import Workspace, read_committed, two_curated_hint

if TYPE_CHECKING:
    import difflib

    from mdmem.queries import suggestions
else:
    difflib = late.module("difflib")
    suggestions = late.module("mdmem.queries.suggestions")


def _path(workspace: Workspace, file: str) -> FilePath:
    """The path of a file that a user names: in the workspace, or elsewhere under its extra paths."""
    path = FilePath(normpath(file))
    return path if layout.is_outside(path) and path in workspace.memory_files() else layout.parse_path(file)


def _read_document(workspace: Workspace, file: str | None) -> tuple[FilePath, Document]:
    path = _path(workspace, file) if file is not None else workspace.curated
    data = files.read(workspace.root / path if layout.is_outside(path) else files.path_on_disk(workspace.root, path))
    if data is None:
        raise suggestions.missing_file(workspace, path)
    return path, parse_bytes(data)


def show_section(workspace: Workspace, request: Show) -> SectionView:
    """One section, the text before the first heading, or a whole file.

    Raises:
        PathProblem, SectionProblem: there is no such file or section.
    """
    path, document = _read_document(workspace, request.file)
    total = len(document.lines)
    commit, committed = (None, document) if layout.is_outside(path) else _committed(workspace, path, document)

    def view(section: Section | None, start: int, body: int, end: int, own_etag: str, whole_etag: str) -> SectionView:
        text = document.slice(body, end)
        inside = document.subsections(section) if section else document.sections
        return SectionView(
            path=path,
            section=section.path if section else (),
            level=section.level if section else 0,
            text=text,
            etag=own_etag,
            tree_etag=whole_etag,
            start_line=start + 1,
            end_line=max(start + 1, end),
            commit=commit,
            uncommitted=committed is not document and not _is_committed(document, committed, section, request),
            subsections=tuple(subsection.path for subsection in inside),
        )

    if request.preamble:
        return view(None, document.front, document.front, document.preamble_end, preamble_etag(document), etag(document, 0, total))
    if request.section is None:
        return view(None, 0, 0, total, preamble_etag(document), etag(document, 0, total))
    try:
        section = find_section(document, request.section, request.nth)
    except SectionProblem as problem:
        raise suggestions.with_suggestions(workspace, problem, request.section, request.file) from problem
    return view(section, section.start, section.body, section.end, section_etag(document, section), tree_etag(document, section))


def _committed(workspace: Workspace, path: FilePath, document: Document) -> tuple[CommitId | None, Document | None]:
    """The newest commit that touched a file, and the document that HEAD has of it: None where HEAD has none that can be read.

    Without a pending edit that is the `document` on disk itself.
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


def _is_committed(document: Document, committed: Document | None, section: Section | None, request: Show) -> bool:
    """True if what is shown is the same in the committed document: for a section, in the one with the same path and number."""
    if committed is None:
        return False
    before = section
    if section:
        number = [each for each in document.sections if each.path == section.path].index(section)
        before = next(islice((each for each in committed.sections if each.path == section.path), number, None), None)
    return (section is None or before is not None) and _shown_text(document, section, request) == _shown_text(committed, before, request)


def _shown_text(document: Document, section: Section | None, request: Show) -> str:
    """The text that is shown, without differences of line ends."""
    start, end = (document.front, document.preamble_end) if request.preamble else (0, len(document.lines))
    text = document.slice(section.start, section.end) if section else document.slice(start, end)
    return text.replace("\r\n", "\n").strip()


def outline(workspace: Workspace, file: str | None) -> Outline:
    """The sections of a file.

    Raises:
        PathProblem: there is no such file.
    """
    path, document = _read_document(workspace, file)
    rows = tuple(
        OutlineRow(
            section=section.path,
            level=section.level,
            line=section.start + 1,
            etag=section_etag(document, section),
            lines=section.end - section.start,
        )
        for section in document.sections
    )
    return Outline(path, rows)


def check_files(workspace: Workspace, names: tuple[str, ...]) -> tuple[Problem, ...]:
    """The problems of some memory files as they are on disk; without names, of all of them.

    Raises:
        PathProblem: a file is not there.
    """
    listing = workspace.memory_files()
    paths = [_path(workspace, name) for name in names] or list(listing)
    problems: list[Problem] = []
    for path in paths:
        full_path = listing[path].full_path if path in listing else files.path_on_disk(workspace.root, path)
        try:
            data = files.read(full_path)
        except PathProblem as problem:
            unreadable = Problem(path=path, line=1, code=problem.code, level="warning", message=problem.message, hint=problem.hint)
            problems.append(unreadable)
            continue
        if data is None:
            raise suggestions.missing_file(workspace, path)
        problems += check.check_file(path, data, workspace.kind_of(path), workspace.settings)
    if not names and (note := workspace.repository.under_way()):
        hint = "Finish or abort it first (git status)."
        problems.append(Problem(path=".", line=1, code="repository-busy", level="warning", message=note, hint=hint))
    if not names and (note := two_curated_hint(workspace)):
        two_files = Problem(path=layout.CURATED_NAMES[1], line=1, code="two-curated-files", level="warning", message=note)
        problems.append(two_files)
    return tuple(problems)
