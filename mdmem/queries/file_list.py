"""The files of memory: a list with numbers of sections and facts, and the names of the files."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime

from mdmem.folder import config, files, layout
from mdmem.folder.layout import ListedFile
from mdmem.index.catching_up import FreshIndex, fresh_index
from mdmem.index.snapshot import stamp_text, stamp_time
from mdmem.lookup.lookup import read_file
from mdmem.model import FileKind, FilePath
from mdmem.model.errors import PathProblem
from mdmem.model.reads import FileList, FileNames, FileRow, ListFiles, SectionCount, fold_name
from mdmem.model.searches import ListFacts
from mdmem.queries import own_hits
from mdmem.queries.past import look_back
from mdmem.queries.search import facts_in
from mdmem.queries.status import unsaved_files
from mdmem.startup.records import dataclass
from mdmem.text import frontmatter
from mdmem.text.document import parse_bytes
from mdmem.workspace import Progress, Say, Workspace


def list_files(
    workspace: Workspace, request: ListFiles, say: Say, progress: Progress | None = None
) -> FileList:
    """The files of memory, most recently changed first; only those asked for are read."""
    index = fresh_index(workspace, say, progress)
    return _FileReader(workspace, index, say).files(request)


@dataclass(frozen=True, slots=True)
class _FileReader:
    workspace: Workspace
    index: FreshIndex
    say: Say

    def files(self, request: ListFiles) -> FileList:
        changed = self._changed()
        first = request.first
        paths = sorted(changed, key=lambda path: (path != first, -(changed[path] or 0), path))
        if request.without_logs:
            paths = [path for path in paths if self.workspace.kind_of(path) is not FileKind.DAILY]
        asked = paths[request.offset :][: request.limit]
        return FileList(
            files=tuple(self._row(path, changed[path]) for path in asked),
            total=len(paths),
            stale=self.index.stale,
            notes=self.index.notes,
        )

    def _changed(self) -> dict[FilePath, float | None]:
        """When each file was committed or (if unsaved) saved last; None where only proposed."""
        stamps = self.workspace.memory_paths(stamp_text)
        unsaved = set(unsaved_files(self.workspace))
        with look_back(self.workspace, self.say) as past:
            touches = past.trail.last_touches()
            moments = past.moments.newest(None)
        own = self.workspace.contents
        changed: dict[FilePath, float | None] = dict.fromkeys(own.paths() if own else ())
        for path, stamp in stamps.items():
            name = FilePath(path)
            commit = None if name in unsaved else moments.get(touches.get(name, 0))
            changed[name] = stamp_time(stamp) if commit is None else commit
        return changed

    def _row(self, path: FilePath, changed: float | None) -> FileRow:
        zone = config.zone(self.workspace.settings.timezone)
        when = None if changed is None else datetime.fromtimestamp(changed).astimezone(zone)
        root = self.workspace.root
        try:
            full_path = root / path if layout.is_outside(path) else files.path_on_disk(root, path)
            document = parse_bytes(read_file(self.workspace, path, full_path) or b"")
        except PathProblem:  # `check` names a file that cannot be read
            return FileRow(path=path, title="", sections=(), facts=0, changed=when)
        lines = self._fact_lines(path)
        counts = Counter(document.section_at(line) for line in lines)
        return FileRow(
            path=path,
            title=frontmatter.title(document),
            sections=tuple(
                SectionCount(section.path, section.level, counts[section])
                for section in document.sections
            ),
            facts=len(lines),
            changed=when,
        )

    def _fact_lines(self, path: FilePath) -> list[int]:
        request = ListFacts(file=path, limit=0)
        listed = facts_in(self.workspace, self.index, request, self.say)
        if self.workspace.contents is not None:
            listed = own_hits.in_facts(self.workspace, request, listed)
        return [hit.start_line - 1 for hit in listed.facts if hit.path == path]


# Names by which a text can mean a file.


_ALIASES = ("title", "aliases")
_FRONT = b"---"


class _KnownAliases:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.of_file: dict[FilePath, tuple[str, tuple[str, ...]]] = {}


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
    file: ListedFile, known: tuple[str, tuple[str, ...]] | None
) -> tuple[str, tuple[str, ...]]:
    stamp = stamp_text(file.status)
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
