"""Export the pages of committed memory as files that need no server."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from mdmem import secrets
from mdmem.folder import files, layout
from mdmem.memory import Memory
from mdmem.model.errors import HistoryProblem, MdmemError, PathProblem
from mdmem.model.history import ChangeList, ShowChanges
from mdmem.page import rendering
from mdmem.page.pages import Frame, Links, Reader, address_parts, error_page, frame_of
from mdmem.page.views import ROUTES
from mdmem.repo import Repository, commit_seconds
from mdmem.repo.discovery import create_snapshot
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.workspace import Workspace

START = "index.html"
_STYLES = "page.css"
_MARKER = ".mdmem-export"
"""The file with the names of all others; an export may replace a folder that has it."""
_OF_FILES = ("section", "nth", "from")
_PARAMETERS: Mapping[str, Sequence[str]] = {
    "": (),
    "days": ("before",),
    "day": (),
    "files": ("after",),
    "f": _OF_FILES,
    "s": _OF_FILES,
    "fact": (),
    "commit": (),
    "trends": (),
}
"""The kinds of pages that need no server, and the parameters of their addresses."""
_VIEWS = {
    route.split("/")[1]: (view, route.rpartition("{")[2].partition(":")[0])
    for route, view in ROUTES.items()
}
"""The view of each kind, and its name for what an address is about."""
_MANY = ("/fact/", "/commit/")
"""The most numerous kinds of pages: their list of files leaves out sections, to save room."""
_OF_CHANGES = ("/f/", "/s/", *_MANY)
_PART = late.pattern(r"[?&](?:nth|from)=[0-9]+")
_LINK = late.pattern(r'(?s)<a( class="[^"]*")? href="(/[^"]*)"([^>]*)>(.*?)</a>')
_NOT_IN_NAMES = late.pattern(r"[^a-z0-9]+")
_MOST_NAME, _DIGEST = 40, 16
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
    """Write the first page, and every page that can be reached from it, breadth first."""
    reader = Reader(memory=memory, links=Links(is_served=False))
    frame = frame_of(reader)
    small = replace(frame, files=tuple(replace(row, sections=()) for row in frame.files))
    styles = reader.links.static(rendering.asset_address(_STYLES))
    folder.mkdir()
    (folder / _STYLES).write_bytes(rendering.asset(_STYLES)[0])
    names = _Names(_changed_since(memory, reader.links))
    for address in names.addresses:
        name = names[address]
        path, up = folder / name, "../" if "/" in name else ""
        text = _page(reader, small if address.startswith(_MANY) else frame, address)
        text = text.replace(styles, up + _STYLES, 1)
        path.parent.mkdir(exist_ok=True)
        text = secrets.redact(_LINK.sub(partial(_relative, names, up), text))
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    marker = "\n".join(sorted((*(names[each] for each in names.addresses), _STYLES)))
    (folder / _MARKER).write_text(f"{marker}\n", encoding="utf-8")
    return len(names.addresses)


class _Names(dict[str, str]):
    """The names of files by address, empty for a page that is not exported.

    `addresses` are those of the exported ones; asking for a new one adds it.
    """

    def __init__(self, is_exported: Callable[[str], bool]) -> None:
        super().__init__({"/": START})
        self._is_exported = is_exported
        self.addresses = ["/"]

    def __missing__(self, address: str) -> str:
        self[address] = name = file_name(address) if self._is_exported(address) else ""
        self.addresses += [address] if name else []
        return name


def _relative(names: _Names, up: str, link: re.Match[str]) -> str:
    """A link to a file of the export, or its words."""
    looks, address, more, words = link.groups("")
    if name := names[unescape(address)]:
        return f'<a{looks} href="{up}{name}"{more}>{words}</a>'
    return f"<span{looks}>{words}</span>" if looks else words


def _page(reader: Reader, frame: Frame, address: str) -> str:
    kind, what, query = _asked(address)
    view, name = _VIEWS[kind]
    try:
        page = view(reader, {**query, name: what})
    except MdmemError as problem:
        page = error_page(problem, 404)
    return rendering.html(reader, page, frame)


def _asked(address: str) -> tuple[str, str, dict[str, str]]:
    """The kind of page that an address names, the thing that it is about, and its query."""
    path, query = address_parts(address)
    kind, _, what = path[1:].partition("/")
    return kind, unquote(what, errors="surrogateescape"), dict(query)


def file_name(address: str) -> str:
    """The name of a page's file, which is safe on any system; empty if it needs a server.

    It is unique without regard to case.
    """
    kind, what, query = _asked(address)
    if kind not in _PARAMETERS or not query.keys() <= set(_PARAMETERS[kind]):
        return ""
    if kind == "s" or "section" in query:
        words = " ".join((what, query.get("section", "")))
        return f"section/{_slug(words, (('path', what), *query.items()))}.html"
    if what:
        kind = f"{'file' if kind == 'f' else kind}/{what if kind == 'day' else _slug(what, what)}"
    return f"{'-'.join((kind, *query.values()))}.html"


def _changed_since(memory: _CommittedMemory, links: Links) -> Callable[[str], bool]:
    """Tells whether a page is about something that changed from the first day on."""
    first = memory.first
    if first is None:
        return lambda _: True
    changed = {
        address
        for change in memory.changes(ShowChanges(limit=0)).changes
        for address in (
            links.fact(change.fact),
            links.file(change.path),
            links.section(change.path, change.section),
            links.commit(change.made.commit),
        )
    }
    return lambda address: (
        address >= links.day(first)
        if address.startswith("/day/")
        else _PART.sub("", address) in changed or not address.startswith(_OF_CHANGES)
    )


def _slug(words: str, identity: object) -> str:
    """A name of small letters and digits: words to read, and a digest to tell it apart.

    It is unique without regard to case, and never a name that a system reserves.
    """
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()[:_DIGEST]
    shown = _NOT_IN_NAMES.sub("-", secrets.redact(words).casefold())[-_MOST_NAME:].strip("-")
    return f"{shown}-{digest}" if shown else digest


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
