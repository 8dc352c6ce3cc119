"""What is staged of Markdown files, read from git's own files without a git process, wherever these say it plainly (see `plain`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from mdmem.layout import is_markdown
from mdmem.model import CommitId
from mdmem.repo import git_files

_MANY_FILES = 1000
"""From about here on git is done with them sooner."""
_HEADER, _SHA1 = 12, 20
_MODE, _ID, _FLAGS, _PATH = slice(24, 28), slice(40, 60), slice(60, 62), 62
"""Of an index entry; see gitformat-index(5)."""
_ODD_BITS, _LENGTH = 0x7000, 0x0FFF
"""Of its flags: extended, and the stage of a merge; the length of its path."""
_UNIT = 8
"""An entry ends in one to so many NULs, so that its length is a multiple of it."""
_FOLDER, _FILES = 0o040000, (0o100644, 0o100755)


class _UnplainError(Exception):
    """git is to be asked."""


def staged_changes(git_dir: str, index_file: str, commit: CommitId) -> list[tuple[bytes, bytes | None, bytes | None]] | None:
    """The Markdown files of which an index holds something else than a commit: path, bytes in the commit and in the index (None: not there).

    None where git is to be asked: there are many files, one may have been renamed, objects are in packs, or something is not of the
    plainest kind.
    """
    try:
        old, new, skipped = _both(git_dir, index_file, commit)
        paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path) and not path.startswith(skipped))
        if any(path not in old for path in paths) and any(path not in new for path in paths):
            return None
        wanted = [path for path in paths if is_markdown(os.fsdecode(path))]
        return [(path, _content(git_dir, old.get(path)), _content(git_dir, new.get(path))) for path in wanted]
    except (_UnplainError, ValueError):  # the latter: damaged
        return None


def known_paths(git_dir: str, index_file: str, commit: CommitId, paths: Iterable[bytes]) -> set[bytes] | None:
    """Those of some paths that an index or a commit holds. None where git is to be asked, as for `changes`."""
    try:
        old, new, _ = _both(git_dir, index_file, commit)
        return {path for path in paths if path in new or path in old}
    except (_UnplainError, ValueError):
        return None


def _both(
    git_dir: str, index_file: str, commit: CommitId
) -> tuple[dict[bytes, tuple[int, str]], dict[bytes, tuple[int, str]], tuple[bytes, ...]]:
    """The paths of a commit and those of an index; and what those begin with that are left out of the commit's, as the index has the same."""
    data, tree = git_files.read_bytes(index_file) or b"", git_files.tree_of(git_dir, commit)
    new, extensions = _entries(data)
    old, skipped = _files(git_dir, tree, _cached_trees(extensions.get(b"TREE", b"")))
    return old, new, skipped


def _entries(data: bytes) -> tuple[dict[bytes, tuple[int, str]], dict[bytes, bytes]]:
    """The paths of an index, each with its mode and the id of its blob; and the content of its extensions."""
    count = int.from_bytes(data[8:_HEADER], "big")
    if data[:4] != b"DIRC" or data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3") or count >= _MANY_FILES:
        raise _UnplainError
    found: dict[bytes, tuple[int, str]] = {}
    at = _HEADER
    for _ in range(count):
        entry = data[at : at + _PATH]
        flags = int.from_bytes(entry[_FLAGS], "big")
        length = flags & _LENGTH
        if flags & _ODD_BITS or length == _LENGTH:
            raise _UnplainError
        found[data[at + _PATH : at + _PATH + length]] = (int.from_bytes(entry[_MODE], "big"), entry[_ID].hex())
        at += (_PATH + length + _UNIT) // _UNIT * _UNIT
    extensions = git_files.extensions_from(data, at)
    if extensions is None or any(name[:1].islower() for name, _, _ in extensions):  # those in small letters change what the entries mean
        raise _UnplainError
    return found, {name: data[start:end] for name, start, end in extensions}


def _cached_trees(cached: bytes) -> dict[bytes, str]:
    """The ids of the folders' trees that an index keeps in its extension `TREE`; the root's path is empty."""
    trees: dict[bytes, str] = {}
    if cached:
        _add_cached_tree(cached, 0, b"", trees)
    return trees


def _add_cached_tree(cached: bytes, at: int, above: bytes, trees: dict[bytes, str]) -> int:
    """Add the tree that stands at a place, and those below it; return the place behind them."""
    end = cached.index(b"\0", at)
    folder = above + cached[at:end]
    line = cached.index(b"\n", end)
    entries, subtrees = cached[end + 1 : line].split(b" ")
    at = line + 1
    if not entries.startswith(b"-"):  # otherwise the id is not known
        trees[folder] = cached[at : at + _SHA1].hex()
        at += _SHA1
    for _ in range(int(subtrees)):
        at = _add_cached_tree(cached, at, folder + b"/" if folder else b"", trees)
    return at


def _files(git_dir: str, tree: str | None, same: Mapping[bytes, str]) -> tuple[dict[bytes, tuple[int, str]], tuple[bytes, ...]]:
    """The paths of a tree, each with its mode and id; and what those begin with that are left out, as `same` has their folders with the same id."""
    found: dict[bytes, tuple[int, str]] = {}
    skipped = []
    waiting = [(b"", tree)]
    while waiting:
        folder, name = waiting.pop()
        if name is not None and name == same.get(folder.rstrip(b"/")):
            skipped.append(folder)
            continue
        data = git_files.read_object(git_dir, name, b"tree") if name else None
        if data is None:
            raise _UnplainError
        for mode, last, inner in git_files.tree_entries(data):
            if int(mode, 8) == _FOLDER:
                waiting.append((folder + last + b"/", inner))
            else:
                found[folder + last] = (int(mode, 8), inner)
    return found, tuple(skipped)


def _content(git_dir: str, entry: tuple[int, str] | None) -> bytes | None:
    if entry is None:
        return None
    mode, name = entry
    data = git_files.read_object(git_dir, name, b"blob") if mode in _FILES else None
    if data is None:
        raise _UnplainError
    return data
