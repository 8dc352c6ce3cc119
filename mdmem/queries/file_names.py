"""The names by which a text can mean a memory file."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable

from mdmem.errors import PathProblem
from mdmem.folder import files, layout
from mdmem.folder.listing import ListedFile
from mdmem.model import FilePath
from mdmem.model.reads import FileNames, fold_name
from mdmem.search.snapshot import stamp_text
from mdmem.text import frontmatter
from mdmem.text.document import parse_bytes
from mdmem.workspace import Workspace

_ALIASES = ("title", "aliases")
_FRONT = b"---"


class _KnownAliases:
    """The titles and aliases of files, each as it was read last."""

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
