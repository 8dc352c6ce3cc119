"""Reading verbs: show, outline, search, facts, status, check."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from mdmem import check, config, events, files, hookfiles, layout, repo
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
from mdmem.errors import PathProblem, RepositoryProblem, UsageProblem
from mdmem.events import Event, Outcome
from mdmem.memory.freshness import Progress, Say, fresh, is_current
from mdmem.memory.workspace import Workspace, is_marked, missing_file, open_at, read_at
from mdmem.model import (
    FileKind,
    FilePath,
    Hit,
    ListFacts,
    Outline,
    OutlineRow,
    Problem,
    Search,
    SearchResult,
    SectionView,
    Show,
    WorkspaceStatus,
)
from mdmem.search.indexer import BrokenIndex
from mdmem.search.query import Filter, Wanted

_MAX_HITS = 1000
_MAX_DAYS = 100_000


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


def _date(text: str | None, name: str) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as problem:
        raise UsageProblem(f"{name} is {text!r}, which is not a date", "Write it as 2026-11-21.") from problem


def search(workspace: Workspace, wanted: Search, say: Say, progress: Progress | None = None) -> SearchResult:
    """The entries that answer a query best, of what is current.

    Raises:
        UsageProblem: an option's value is out of its range.
    """
    if not 1 <= wanted.limit <= _MAX_HITS:
        raise UsageProblem(f"-n is {wanted.limit}, which is not from 1 to {_MAX_HITS}")
    if wanted.min_confidence is not None and not 0 <= wanted.min_confidence <= 1:
        raise UsageProblem(f"--min-confidence is {wanted.min_confidence:g}, which is not from 0 to 1")
    if wanted.recent_days is not None and not 1 <= wanted.recent_days <= _MAX_DAYS:
        raise UsageProblem(f"--recent-days is {wanted.recent_days}, which is not from 1 to {_MAX_DAYS}")
    today = workspace.now().date()
    passing = Filter(
        file=wanted.file,
        section=wanted.section,
        kind=wanted.kind,
        tags=wanted.tags,
        since=_date(wanted.since, "--since"),
        until=_date(wanted.until, "--until"),
        min_confidence=wanted.min_confidence,
        log_days_from=today - timedelta(days=wanted.recent_days - 1) if wanted.recent_days else None,
        valid_on=today,
        zone=config.zone(workspace.settings.timezone),
    )
    index = fresh(workspace, say, progress)
    asked = Wanted(wanted.query, wanted.limit, passing, today)
    try:
        hits = index.index.search(asked)
    except BrokenIndex:
        index = fresh(workspace, say, progress, full=True)
        hits = index.index.search(asked)
    return SearchResult(wanted.query, index.commit, index.stale, hits, index.notes)


def facts(workspace: Workspace, wanted: ListFacts, say: Say, progress: Progress | None = None) -> tuple[Hit, ...]:
    """The facts of memory, by path and line; those that no longer hold only if `everything` is wanted."""
    today = workspace.now().date()
    passing = Filter(
        section=wanted.section, kind=wanted.kind, tags=wanted.tags, facts_only=True, valid_on=None if wanted.everything else today
    )
    index = fresh(workspace, say, progress).index
    try:
        return index.entries(passing, today)
    except BrokenIndex:
        return fresh(workspace, say, progress, full=True).index.entries(passing, today)


def status(workspace: Workspace) -> WorkspaceStatus:
    """How the workspace stands; nothing is changed by asking."""
    listed = workspace.memory_files()
    kinds = [workspace.kind_of(path) for path in listed]
    index, current = is_current(workspace)
    pending = tuple(path for path in workspace.repository.pending() if workspace.kind_of(path).is_memory)
    both = all((workspace.root / name).exists() for name in layout.CURATED_NAMES) and len(
        {(workspace.root / name).stat().st_ino for name in layout.CURATED_NAMES}
    )
    return WorkspaceStatus(
        str(workspace.root),
        workspace.repository.branch(),
        workspace.repository.head(),
        {kind.value: kinds.count(kind) for kind in FileKind if kind.is_memory},
        pending,
        tuple((path, file.skipped) for path, file in sorted(index.seen.files.items()) if file.skipped),
        index.count,
        index.seen.commit,
        current,
        hookfiles.state(workspace.repository.hooks_dir),
        ("both MEMORY.md and memory.md are there; the first counts",) if both == 2 else (),
    )


def check_files(workspace: Workspace, named: tuple[str, ...]) -> tuple[Problem, ...]:
    """What is wrong with memory files as they are on disk; with all of them where none is named.

    Raises:
        PathProblem: a named file is not there.
    """
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
            near = difflib.get_close_matches(path, listed, n=3)
            raise PathProblem("file-not-found", f"there is no {path}", f"Did you mean {', '.join(near)}?" if near else "")
        problems += check.check_state(path, data, workspace.kind_of(path), workspace.settings)
    if not named and status(workspace).notes:
        problems.append(Problem(layout.CURATED_NAMES[1], 1, "two-curated-files", "warning", status(workspace).notes[0]))
    return tuple(problems)


def staged_problems(folder: Path, environment: Mapping[str, str]) -> tuple[Problem, ...]:
    """What is wrong with the staged changes of memory files, in every workspace of the repository that `folder` is in.

    Args:
        folder: anywhere in the work tree.
        environment: a hook's, which may name the index that is being committed (`GIT_INDEX_FILE`).
    """
    repository = repo.discover(folder)
    problems: list[Problem] = []
    settings: dict[Path, config.Settings] = {}
    for staged in repository.staged(environment.get("GIT_INDEX_FILE")):
        root = _workspace_of(repository.root, staged.path)
        if root is None:
            continue
        if root not in settings:
            settings[root] = config.load(root)
        path = FilePath(str(Path(staged.path).relative_to(root.relative_to(repository.root))))
        kind = layout.kind_of(path, root.name, settings[root].extra_paths)
        renamed = str(staged.renamed_from) if staged.renamed_from else None
        found = check.check(path, staged.before, staged.after, kind, settings[root], renamed)
        problems += [replace(p, path=staged.path) for p in found]
    return tuple(problems)


def record_refusal(folder: Path, refused: Sequence[Problem], seconds: float) -> None:
    """Add to the events of each workspace that its commit was refused.

    Args:
        folder: anywhere in the work tree.
        refused: what stood in the way; paths as `staged_problems` gives them.
        seconds: how long it took to find out.
    """
    repository = repo.discover(folder)
    codes: dict[Path, str] = {}
    for problem in refused:
        root = _workspace_of(repository.root, FilePath(problem.path))
        if root is not None:
            codes.setdefault(root, problem.code)
    for root, code in codes.items():
        events.record(open_at(root).state, Event("pre-commit", round(seconds * 1000, 1), Outcome.REFUSED, code))


def _workspace_of(root: Path, path: FilePath) -> Path | None:
    folders = (root / path).parents
    return next((folder for folder in folders if (folder == root or root in folder.parents) and is_marked(folder)), None)


def require_hooks_free(workspace: Workspace) -> None:
    """Refuse where git looks for hooks elsewhere.

    Raises:
        RepositoryProblem: `hooks-managed`, with the lines to add by hand.
    """
    import sys

    elsewhere = workspace.repository.setting("core.hooksPath")
    if elsewhere is not None:
        lines = "\n".join(f"{name}: {line}" for name, line in hookfiles.lines_to_add(sys.executable).items())
        raise RepositoryProblem(
            "hooks-managed", f"core.hooksPath is set ({elsewhere}), so hooks are managed elsewhere", f"Add there:\n{lines}"
        )
