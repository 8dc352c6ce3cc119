"""Reading verbs that need the files alone: show, outline, check."""

from __future__ import annotations

from mdmem import files, layout
from mdmem.document import (
    Document,
    Section,
    decode,
    etag,
    find,
    parse,
    preamble_etag,
    section_etag,
    tree_etag,
)
from mdmem.errors import PathProblem
from mdmem.memory.workspace import Workspace, both_curated, missing_file, read_at
from mdmem.model import FilePath, Problem
from mdmem.model.reads import Outline, OutlineRow, SectionView, Show


def _named(workspace: Workspace, file: str | None) -> tuple[FilePath, Document]:
    path = layout.parse_path(file) if file is not None else workspace.curated
    data = files.read(files.locate(workspace.root, path))
    if data is None:
        raise missing_file(workspace, path)
    return path, parse(decode(data))


def show(workspace: Workspace, wanted: Show) -> SectionView:
    """One section, the text before the first heading, or a whole file.

    Raises:
        PathProblem, SectionProblem: there is no such file or section.
    """
    path, document = _named(workspace, wanted.file)
    total = len(document.lines)
    state = workspace.repository.state(path)
    commit = workspace.repository.last_commit(path) if state.commit else None
    committed = (read_at(workspace, path, state.commit) or b"").decode("utf-8", "replace") if state.pending else None

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
            committed is not None and _folded(document.slice(start, end)) not in _folded(committed),
            tuple(s.path for s in inside),
        )

    if wanted.preamble:
        return view(None, document.front, document.front, document.preamble_end, preamble_etag(document), etag(document, 0, total))
    if wanted.section is None:
        return view(None, 0, 0, total, preamble_etag(document), etag(document, 0, total))
    section = find(document, wanted.section, wanted.nth)
    return view(section, section.start, section.body, section.end, section_etag(document, section), tree_etag(document, section))


def _folded(text: str) -> str:
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
    from mdmem import check  # here, so that who only reads does not pay for loading it

    listed = workspace.memory_files()
    paths = [layout.parse_path(name) for name in named] or list(listed)
    problems: list[Problem] = []
    for path in paths:
        place = listed[path].place if path in listed else files.locate(workspace.root, path)
        try:
            data = files.read(place)
        except PathProblem as problem:
            problems.append(Problem(path, 1, problem.code, "warning", problem.message, problem.hint))
            continue
        if data is None:
            import difflib  # here, so that only a failure pays for loading it

            near = difflib.get_close_matches(path, listed, n=3)
            raise PathProblem("file-not-found", f"there is no {path}", f"Did you mean {', '.join(near)}?" if near else "")
        problems += check.check_state(path, data, workspace.kind_of(path), workspace.settings)
    if not named and (note := both_curated(workspace)):
        problems.append(Problem(layout.CURATED_NAMES[1], 1, "two-curated-files", "warning", note))
    return tuple(problems)
