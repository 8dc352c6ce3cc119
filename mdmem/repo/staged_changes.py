"""The staged changes of Markdown files, in the simple case without git (see `git_files`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from mdmem.folder.layout import is_markdown
from mdmem.model import CommitId
from mdmem.repo import git_files

_MANY_FILES = 1000
"""From about so many files on, git is faster."""
_HEADER, _SHA1 = 12, 20
_MODE, _ID, _FLAGS, _PATH = slice(24, 28), slice(40, 60), slice(60, 62), 62
"""The positions of the fields of an index entry; see gitformat-index(5)."""
_STAGE, _LENGTH = 0x3000, 0x0FFF
"""Masks of its flags: the stage of a merge, and the length of its path."""
_UNIT = 8
"""An entry is padded with one to eight NULs, to a multiple of so many bytes."""
_FOLDER, _FILES = 0o040000, (0o100644, 0o100755)


class _NotSimpleError(Exception):
    """The case is not simple: git has to be asked."""


def staged_changes(
    git_dir: str, index_file: str, commit: CommitId
) -> list[tuple[bytes, bytes | None, bytes | None]] | None:
    """The Markdown files that differ: path, bytes in the commit, in the index (None: missing).

    None where git has to be asked: there are many files, one may have been renamed, objects are in
    packs, or the case is not simple.
    """
    try:
        old, new, skipped = _read_both(git_dir, index_file, commit)
        paths = sorted(
            path
            for path in old.keys() | new.keys()
            if old.get(path) != new.get(path) and not path.startswith(skipped)
        )
        if any(path not in old for path in paths) and any(path not in new for path in paths):
            return None
        markdown_paths = [path for path in paths if is_markdown(os.fsdecode(path))]
        return [
            (path, _content(git_dir, old.get(path)), _content(git_dir, new.get(path)))
            for path in markdown_paths
        ]
    except (_NotSimpleError, ValueError):  # ValueError: damaged
        return None


def known_paths(
    git_dir: str, index_file: str, commit: CommitId, paths: Iterable[bytes]
) -> set[bytes] | None:
    """The given paths that an index or a commit holds; None: ask git, as for `staged_changes`."""
    try:
        old, new, _ = _read_both(git_dir, index_file, commit)
        return {path for path in paths if path in new or path in old}
    except (_NotSimpleError, ValueError):
        return None


def _read_both(
    git_dir: str, index_file: str, commit: CommitId
) -> tuple[dict[bytes, tuple[int, str]], dict[bytes, tuple[int, str]], tuple[bytes, ...]]:
    """The files of a commit and of an index, and the folders left out as their trees are equal."""
    data, tree = git_files.read_bytes(index_file) or b"", git_files.tree_of(git_dir, commit)
    new, extensions = _index_entries(data)
    old, skipped = _tree_files(git_dir, tree, _cached_trees(extensions.get(b"TREE", b"")))
    return old, new, skipped


def _index_entries(data: bytes) -> tuple[dict[bytes, tuple[int, str]], dict[bytes, bytes]]:
    """The files of an index by path (mode, blob id), and the content of its extensions."""
    count = int.from_bytes(data[8:_HEADER], "big")
    if data[:8] != b"DIRC\0\0\0\2" or count >= _MANY_FILES:
        raise _NotSimpleError
    entries: dict[bytes, tuple[int, str]] = {}
    offset = _HEADER
    for _ in range(count):
        entry = data[offset : offset + _PATH]
        flags = int.from_bytes(entry[_FLAGS], "big")
        length = flags & _LENGTH
        if flags & _STAGE or length == _LENGTH:
            raise _NotSimpleError
        entries[data[offset + _PATH : offset + _PATH + length]] = (
            int.from_bytes(entry[_MODE], "big"),
            entry[_ID].hex(),
        )
        offset += (_PATH + length + _UNIT) // _UNIT * _UNIT
    extensions = git_files.extensions_from(data, offset)
    # Small letters: it changes the meaning of the entries.
    if extensions is None or any(name[:1].islower() for name, _, _ in extensions):
        raise _NotSimpleError
    return entries, {name: data[start:end] for name, start, end in extensions}


def _cached_trees(cached: bytes) -> dict[bytes, str]:
    """The tree ids in an index's extension `TREE`; the path of the root is empty."""
    trees: dict[bytes, str] = {}
    at = 0
    # For each folder to come the one that it is in, the next one last.
    above = [b""] if cached else []
    while above:
        prefix = above.pop()
        end = cached.index(b"\0", at)
        folder = prefix + cached[at:end]
        line = cached.index(b"\n", end)
        entries, subtrees = cached[end + 1 : line].split(b" ")
        at = line + 1
        if not entries.startswith(b"-"):  # otherwise git has no id for it
            trees[folder] = cached[at : at + _SHA1].hex()
            at += _SHA1
        above += [folder + b"/" if folder else b""] * int(subtrees)
    return trees


def _tree_files(
    git_dir: str, tree: str | None, same: Mapping[bytes, str]
) -> tuple[dict[bytes, tuple[int, str]], tuple[bytes, ...]]:
    """A tree's files by path (mode, blob id), and the folders left out as in `same`."""
    files: dict[bytes, tuple[int, str]] = {}
    skipped = []
    folders = [(b"", tree)]
    while folders:
        folder, name = folders.pop()
        if name is not None and name == same.get(folder.removesuffix(b"/")):
            skipped.append(folder)
            continue
        data = git_files.read_object(git_dir, name, b"tree") if name else None
        if data is None:
            raise _NotSimpleError
        for mode, last, inner in git_files.tree_entries(data):
            if int(mode, 8) == _FOLDER:
                folders.append((folder + last + b"/", inner))
            else:
                files[folder + last] = (int(mode, 8), inner)
    return files, tuple(skipped)


def _content(git_dir: str, entry: tuple[int, str] | None) -> bytes | None:
    if entry is None:
        return None
    mode, name = entry
    data = git_files.read_object(git_dir, name, b"blob") if mode in _FILES else None
    if data is None:
        raise _NotSimpleError
    return data
