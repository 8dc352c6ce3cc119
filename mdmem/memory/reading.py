"""Reading verbs: show, outline, search, facts, status, check."""

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
from mdmem.facts import normal
from mdmem.memory import moments
from mdmem.memory.freshness import Fresh, Progress, Say, fresh, is_current
from mdmem.memory.workspace import Workspace, is_marked, missing_file, open_at, read_at
from mdmem.model import (
    ConflictView,
    FactId,
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
from mdmem.search.results import Match

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
    if wanted.history and wanted.as_of is not None:
        raise UsageProblem("--history and --as-of go against each other", "--as-of asks memory as it was then.")
    found = fresh(workspace, say, progress)
    if wanted.as_of is None:
        today = workspace.now().date()
        found, matches = _matches(workspace, found, wanted, _filter(workspace, wanted, today), today, say, progress)
        hits = tuple(match.hit for match in matches)
        return SearchResult(wanted.query, found.commit, found.stale, hits, found.notes)
    from mdmem.memory import past, trail  # here, so that no other search pays for loading it

    with trail.fresh(workspace, say, progress) as known:
        landmark, day = past.at(workspace, known, wanted.as_of)
    passing = _filter(workspace, wanted, day, landmark.number)
    found, matches = _matches(workspace, found, wanted, passing, day, say, progress)
    hits = past.as_they_stood(workspace, landmark.commit, matches)
    return SearchResult(wanted.query, landmark.commit, found.stale, hits, found.notes, wanted.as_of)


def _filter(workspace: Workspace, wanted: Search, today: date, as_of: int | None = None) -> Filter:
    return Filter(
        file=wanted.file,
        section=wanted.section,
        kind=wanted.kind,
        tags=wanted.tags,
        since=moments.day(wanted.since, "--since"),
        until=moments.day(wanted.until, "--until"),
        min_confidence=wanted.min_confidence,
        log_days_from=today - timedelta(days=wanted.recent_days - 1) if wanted.recent_days else None,
        valid_on=None if wanted.history else today,
        zone=config.zone(workspace.settings.timezone),
        history=wanted.history,
        as_of=as_of,
    )


def _matches(
    workspace: Workspace, found: Fresh, wanted: Search, passing: Filter, today: date, say: Say, progress: Progress | None
) -> tuple[Fresh, tuple[Match, ...]]:
    """The matches, and the index that gave them: built anew where the one that was there turns out to be damaged."""
    asked = Wanted(wanted.query, wanted.limit, passing, today)
    try:
        return found, found.index.search(asked)
    except BrokenIndex:
        found = fresh(workspace, say, progress, full=True)
        return found, found.index.search(asked)


def facts(workspace: Workspace, wanted: ListFacts, say: Say, progress: Progress | None = None) -> tuple[Hit, ...]:
    """The facts of memory, by path and line; those that no longer hold only if `everything` is wanted."""
    today = workspace.now().date()
    passing = Filter(
        section=wanted.section,
        kind=wanted.kind,
        tags=wanted.tags,
        any_tags=wanted.any_tags,
        facts_only=True,
        valid_on=None if wanted.everything else today,
        zone=config.zone(workspace.settings.timezone),
        history=wanted.everything,
    )
    index = fresh(workspace, say, progress).index
    try:
        return index.entries(passing, today)
    except BrokenIndex:
        return fresh(workspace, say, progress, full=True).index.entries(passing, today)


def conflicts(workspace: Workspace, say: Say, progress: Progress | None = None) -> tuple[ConflictView, ...]:
    """The current facts that contradict each other, each pair once, by path and line."""
    known = facts(workspace, ListFacts(), say, progress)
    found: dict[frozenset[FactId], ConflictView] = {}
    for one in known:
        for fact in one.contradicts:
            others = [hit for hit in known if hit.fact == fact and one.fact in hit.contradicts]
            beside = [hit for hit in others if (hit.path, hit.section) == (one.path, one.section)]
            pair = frozenset((one.fact or fact, fact))
            for other in (beside or others)[:1]:
                alike = one.key is not None and other.key is not None and normal(one.key) == normal(other.key)
                found.setdefault(pair, ConflictView(one, other, one.key if beside and alike else None))
    return tuple(found.values())


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
            import difflib  # here, so that only a failure pays for loading it

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
