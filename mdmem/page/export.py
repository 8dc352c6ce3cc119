"""Export the pages of committed memory as files that need no server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mdmem import secrets
from mdmem.folder import files, layout
from mdmem.memory import Memory
from mdmem.model.errors import HistoryProblem, MdmemError, PathProblem
from mdmem.model.history import ChangeList, ShowChanges
from mdmem.model.searches import ConflictList
from mdmem.page import rendering
from mdmem.page.pages import START, ExportLinks, Frame, Reader, View, error_page, frame_of
from mdmem.page.views import front, section, timeline
from mdmem.repo import Repository, commit_seconds
from mdmem.repo.discovery import create_snapshot
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.workspace import Workspace

_STYLES = "page.css"
_MARKER = ".mdmem-export"
"""The file with the names of all others; an export may replace a folder that has it."""
_VIEWS: Mapping[str, View] = {
    "today": front.today,
    "days": timeline.timeline,
    "day": timeline.day,
    "files": front.files,
    "file": section.file,
    "section": section.section,
    "fact": section.fact,
    "commit": timeline.commit,
    "trends": timeline.trends,
}
_MANY = ("fact", "commit")
"""The most numerous kinds of pages: their list of files leaves out sections, to save room."""
_LINK = late.pattern(r'<a\b[^>]*? href="([^"]*)"')
_NOT_OF_COMMITS = ("MDMEM_ACTOR", "MDMEM_WORKSPACE", "MDMEM_NOW")


def export(memory: Memory, folder: Path, since: str | None = None) -> int:
    """Write the pages of committed memory into a folder, and return their number.

    With `since`, only the days, facts, sections and files that changed from that day on. The folder
    is replaced as a whole, or stays as it is.

    Raises PathProblem (`file-exists`: it has other files), HistoryProblem (`before-history`:
    nothing is committed), UsageProblem (`since` is not a day).
    """
    folder = folder.resolve()
    _require_replaceable(folder, folder)
    files.make_folders(folder.parent)
    new = folder.with_name(files.temporary_name())
    try:
        with _committed_memory(memory, since) as committed:
            count = _write(committed, new)
        _put(new, folder)
    finally:
        if new.exists():
            files.remove_tree(new)
    return count


# Memory as it is committed.


class _CommittedMemory(Memory):
    """The memory of a snapshot, with changes from the first day on only."""

    first: str | None = None
    """The first day in ISO form; None: all days."""

    @cached_property
    def _conflicts(self) -> ConflictList:
        return super().conflicts()

    def conflicts(self) -> ConflictList:
        return self._conflicts

    @property
    def workspace(self) -> Workspace:
        """The workspace of the snapshot, which nobody changes."""
        return self._workspace

    def changes(self, request: ShowChanges) -> ChangeList:
        if self.first and not request.commit:
            request = replace(request, since=max(request.since or "", self.first))
        return super().changes(request)


@contextmanager
def _committed_memory(memory: Memory, since: str | None) -> Iterator[_CommittedMemory]:
    """Memory as HEAD has it, without edits, proposals and sessions; its clock is HEAD's time."""
    workspace = memory.workspace
    head = workspace.repository.head()
    if head is None:
        raise HistoryProblem("before-history", "nothing is committed yet: there are no pages")
    with TemporaryDirectory(prefix="mdmem-", ignore_cleanup_errors=True) as temporary:
        root = Path(temporary) / (workspace.repository.root.name or "memory")
        snapshot = create_snapshot(workspace.repository.at_root(), head, root)
        committed = _CommittedMemory(_workspace_of(snapshot, workspace))
        committed.first = _first_day(committed, since)
        with closing(committed):
            committed.reindex(full=True)
            yield committed


def _workspace_of(snapshot: Repository, workspace: Workspace) -> Workspace:
    """The workspace in a snapshot, with its settings, except folders outside of it."""
    time = commit_seconds(snapshot.git("log", "-1", "--format=%ct", "HEAD").strip())
    kept = {
        name: value for name, value in workspace.environment.items() if name not in _NOT_OF_COMMITS
    }
    inside = [path for path in workspace.settings.extra_paths if not layout.is_outside(path)]
    root = snapshot.root / workspace.repository.prefix
    root.mkdir(parents=True, exist_ok=True)
    return Workspace(
        root=root,
        repository=snapshot.at_folder(root),
        settings=replace(workspace.settings, extra_paths=tuple(inside), actor=None, pool=()),
        state=snapshot.git_dir / "mdmem" / "export",
        environment=kept | {"MDMEM_NOW": datetime.fromtimestamp(time, UTC).isoformat()},
    )


def _first_day(memory: Memory, since: str | None) -> str | None:
    if since is None:
        return None
    day = memory.changes(ShowChanges(since=since, limit=1)).since
    # `changes` names the day only if it was given in words
    return day.isoformat() if day else since.strip()


# Its pages.


def _write(memory: _CommittedMemory, folder: Path) -> int:
    """Write the first page, and every page that can be reached from it."""
    links = ExportLinks(_pages_of(memory))
    reader = Reader(memory=memory, links=links)
    frame = frame_of(reader)
    small = replace(frame, files=tuple(replace(row, sections=()) for row in frame.files))
    folder.mkdir()
    (folder / _STYLES).write_bytes(rendering.asset(_STYLES)[0])
    names, written = [START], 0
    queued = {START, _STYLES}
    while written < len(names):
        name = names[written]
        is_many = links.pages[name].kind in _MANY
        text = _page(reader, small if is_many else frame, name)
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        for linked in map(links.name_of, map(unescape, _LINK.findall(text))):
            if linked in links.pages and linked not in queued:
                queued.add(linked)
                names.append(linked)
        written += 1
    marker = "\n".join(sorted((*names, _STYLES)))
    (folder / _MARKER).write_text(f"{marker}\n", encoding="utf-8")
    return written


def _page(reader: Reader, frame: Frame, name: str) -> str:
    assert isinstance(reader.links, ExportLinks)
    reader.links.set_current(name)
    page = reader.links.pages[name]
    try:
        shown = _VIEWS[page.kind](reader, page.query)
    except MdmemError as problem:
        shown = error_page(problem, 404)
    return secrets.redact(rendering.html(reader, shown, frame))


def _pages_of(memory: _CommittedMemory) -> Callable[[str, Any], bool]:
    first = memory.first
    if first is None:
        return lambda _, what: what is not None
    changes = memory.changes(ShowChanges(limit=0)).changes
    changed: Mapping[str, set[object]] = {
        "fact": {change.fact for change in changes},
        "file": {change.path for change in changes},
        "section": {(change.path, change.section) for change in changes},
        "commit": {change.made.commit for change in changes},
    }
    return lambda kind, what: (
        what >= first if kind == "day" else what in changed[kind] if kind in changed else True
    )


# The folder.


def _require_replaceable(folder: Path, named: Path) -> None:
    """Refuse a folder with files that no export wrote. Raises PathProblem."""
    if not files.identity(str(folder)):
        return
    if not folder.is_dir():
        raise PathProblem("file-exists", f"{named} is not a folder", "Name an empty folder.")
    marker = files.read(folder / _MARKER)
    known = {_MARKER, *(marker or b"").decode("utf-8", "replace").split("\n")}
    for inner, folders, names in os.walk(folder):
        links = [each for each in folders if (Path(inner) / each).is_symlink()]
        for name in sorted((*names, *links)):
            path = (Path(inner) / name).relative_to(folder).as_posix()
            if path not in known:
                raise PathProblem(
                    "file-exists",
                    f"{named} has a file that no export wrote: {path}",
                    "Name an empty folder, a new one, or that of an earlier export.",
                )


def _put(new: Path, folder: Path) -> None:
    """Exchange the folders; `new` then has the earlier content."""
    os.sync()
    if files.move(new, folder):
        return
    new.chmod(folder.stat().st_mode & 0o7777)
    files.exchange_folders(new, folder)
    try:
        _require_replaceable(new, folder)
    except MdmemError:
        files.exchange_folders(new, folder)
        raise
