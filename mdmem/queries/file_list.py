"""The files of memory: a list with numbers of sections and facts, and the names of the files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from mdmem.folder import config, files, layout
from mdmem.index.catching_up import FreshIndex, fresh_index
from mdmem.index.snapshot import stamp_text, stamp_time
from mdmem.lookup.links import file_names
from mdmem.lookup.lookup import read_file
from mdmem.model import FileKind, FilePath
from mdmem.model.errors import PathProblem
from mdmem.model.reads import FileList, FileNames, FileRow, ListFiles, SectionCount
from mdmem.model.searches import Hit, ListFacts, Search
from mdmem.queries import own_hits
from mdmem.queries.past import look_back
from mdmem.queries.search import facts_in, search
from mdmem.queries.status import unsaved_files
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text import frontmatter
from mdmem.text.document import parse_bytes
from mdmem.workspace import Progress, Say, Workspace

_TO_NOTE = late.pattern(r"\[\[([^\[\]|#\r\n]+)|\]\(([^()\s#:]+)")
_MOST_WITH_NAME = 100


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
