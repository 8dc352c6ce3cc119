"""What git's own files say where they are plain, without starting a git process, which costs more than all else that a small read does.

Each function answers only where nothing else than the plain reading is possible, and says None (or False: not known) for the rest, which
git is asked then: linked work trees, submodules, extensions (SHA-256, reftable), settings that name another work tree, indexes that are
split or sparse, objects in packs, objects that others stand for (git-replace). Formats: gitformat-index(5), gitrepository-layout(5),
gitformat-pack(5), git-config(1).
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import zlib
from collections.abc import Iterator

from mdmem.model import CommitId
from mdmem.repo import git_settings

_SHA1_HEX, _SHA1 = 40, 20
_BRANCH = b"ref: refs/heads/"
_BRANCH_BYTES = git_settings.LETTERS + b"/_"
_READABLE_FORMATS = (b"0", b"1")
_SAYS_MORE = (b"include", b"extensions")
"""Sections of settings, by how they begin, that would have to be read as git reads them."""
_HEADER, _ENTRY = 12, 62
"""Bytes of an index before its first entry, and of an entry before its path."""
_SLASH = ord("/")
_FLAGS_MODE, _FLAGS_ID = slice(24, 28), slice(40, 60)
_REGULAR, _EXECUTABLE = 0o100644, 0o100755
_FIRST_EXTENSIONS = (b"IEOT", b"link", b"TREE")
"""In the order in which git writes them."""
_NAME_BITS, _OTHER_BITS = 0x0FFF, 0xF000
"""Of an entry's flags: the length of its path; assumed unchanged, extended, and the stage of a merge."""


def read_bytes(path: str) -> bytes | None:
    """The bytes of a file; None where it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return None


# Where the repository is.


def find_repository(folder: str) -> tuple[str, str] | None:
    """The root of the work tree that holds a folder (an absolute path without links), and its git folder."""
    if sys.platform != "linux" or "GIT_DISCOVERY_ACROSS_FILESYSTEM" in os.environ:
        return None  # elsewhere git compares paths without case, or in another form of Unicode
    device: int | None = None
    while folder != "/":
        try:
            here = os.stat(f"{folder}/")
            if device not in (None, here.st_dev) or here.st_uid != os.geteuid():
                return None
            device = here.st_dev
            entries = {entry for entry in (".git", "HEAD", "objects", "refs") if os.path.lexists(f"{folder}/{entry}")}
        except OSError:
            return None
        if ".git" in entries:
            return (folder, f"{folder}/.git") if _is_plain(f"{folder}/.git", device) and not _is_above_a_ceiling(folder) else None
        if "HEAD" in entries or folder.endswith("/.git"):
            return None  # in a git folder, perhaps
        folder = os.path.dirname(folder)
    return None


def _is_above_a_ceiling(folder: str) -> bool:
    ceilings = os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep)
    return any(f"{os.path.realpath(ceiling)}/".startswith(f"{folder}/") for ceiling in ceilings if ceiling)


def _is_plain(git_dir: str, device: int | None) -> bool:
    try:
        own = os.lstat(git_dir)
    except OSError:
        return False
    said = read_bytes(f"{git_dir}/config")
    return (
        stat.S_ISDIR(own.st_mode)
        and (own.st_uid, own.st_dev) == (os.geteuid(), device)
        and said is not None
        and _says_nothing_of_its_place(said)
        and os.path.isdir(f"{git_dir}/objects")
        and os.path.isdir(f"{git_dir}/refs")
        and not os.path.lexists(f"{git_dir}/commondir")
        and not os.path.lexists(f"{git_dir}/refs/replace")
        and b" refs/replace/" not in (read_bytes(f"{git_dir}/packed-refs") or b"")
        and read_head(git_dir) is not None
    )


def _says_nothing_of_its_place(text: bytes) -> bool:
    found = git_settings.parse_settings(text)
    return found is not None and not any(
        section.startswith(_SAYS_MORE)
        or (section, name) == (b"core", b"worktree")
        or ((section, name) == (b"core", b"bare") and value != b"false")
        or ((section, name) == (b"core", b"repositoryformatversion") and value not in _READABLE_FORMATS)
        for section, name, value in found
    )


# What HEAD names.


def read_head(git_dir: str) -> tuple[str | None, CommitId | None] | None:
    """The branch that HEAD is on (None: detached) and its commit (None: there is none yet)."""
    said = read_bytes(f"{git_dir}/HEAD")
    if said is None or not said.endswith(b"\n") or os.path.islink(f"{git_dir}/HEAD"):
        return None
    if (commit := _commit_id(said)) is not None:
        return None, commit
    name = said[len(_BRANCH) : -1]
    if not said.startswith(_BRANCH) or not _is_a_branch(name):
        return None
    loose = f"{git_dir}/refs/heads/{name.decode()}"
    if os.path.lexists(loose):
        commit = None if os.path.islink(loose) else _commit_id(read_bytes(loose) or b"")
        return None if commit is None else (name.decode(), commit)
    packed = read_bytes(f"{git_dir}/packed-refs")
    if packed is None:
        return None if os.path.lexists(f"{git_dir}/packed-refs") else (name.decode(), None)
    end = packed.find(b" refs/heads/" + name + b"\n")
    if end < 0:
        return name.decode(), None
    commit = _commit_id(packed[end - _SHA1_HEX : end] + b"\n") if packed[end - _SHA1_HEX - 1 : end - _SHA1_HEX] in (b"\n", b"") else None
    return None if commit is None else (name.decode(), commit)


def _is_a_branch(name: bytes) -> bool:
    """Whether git takes it for a name (it takes more: git-check-ref-format(1))."""
    parts = name.split(b"/")
    return (
        not name.strip(_BRANCH_BYTES)
        and b".." not in name
        and all(part and not part.startswith(b".") and not part.endswith((b".", b".lock")) for part in parts)
    )


def _commit_id(line: bytes) -> CommitId | None:
    word = line[:-1]
    if len(word) != _SHA1_HEX or line[-1:] != b"\n" or word.strip(b"0123456789abcdef") or not word.strip(b"0"):
        return None
    return CommitId(word.decode())


# Objects that are not in a pack yet.


def object_id(kind: bytes, data: bytes, digits: int = _SHA1_HEX) -> str:
    """The id of an object, as git names it in a repository whose ids have so many digits."""
    named = b"%s %d\0%s" % (kind, len(data), data)
    return hashlib.sha1(named, usedforsecurity=False).hexdigest() if digits == _SHA1_HEX else hashlib.sha256(named).hexdigest()


def tree_entries(tree: bytes, width: int = _SHA1) -> Iterator[tuple[bytes, bytes, str]]:
    """Mode, name and id of what a tree holds; ids have `width` bytes."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, path = tree[at:end].partition(b" ")
        at = end + 1 + width
        yield mode, path, tree[end + 1 : at].hex()


def read_object(git_dir: str, name: str, kind: bytes) -> bytes | None:
    """The bytes of an object of that kind; None where it is in a pack, or damaged."""
    packed = read_bytes(f"{git_dir}/objects/{name[:2]}/{name[2:]}")
    try:
        head, _, data = zlib.decompress(packed or b"").partition(b"\0")
    except zlib.error:
        return None
    return data if head == b"%s %d" % (kind, len(data)) else None


def tree_of(git_dir: str, commit: CommitId) -> str | None:
    """The tree of a commit."""
    data = read_object(git_dir, commit, b"commit")
    if data is None or not data.startswith(b"tree ") or data[5 + _SHA1_HEX : 6 + _SHA1_HEX] != b"\n":
        return None
    return data[5 : 5 + _SHA1_HEX].decode()


def blob_at(git_dir: str, commit: CommitId, path: bytes) -> str | None:
    """The id of the file that a commit has at a path from the root."""
    name = tree_of(git_dir, commit)
    *folders, last = path.split(b"/")
    for folder in folders:
        name = name and _entry(git_dir, name, folder, is_folder=True)
    return name and _entry(git_dir, name, last, is_folder=False)


def _entry(git_dir: str, tree: str, name: bytes, is_folder: bool) -> str | None:
    data = read_object(git_dir, tree, b"tree") or b""
    at = _place_of(data, name, is_folder)
    return None if at is None else data[at : at + _SHA1].hex()


def _place_of(tree: bytes, name: bytes, is_folder: bool) -> int | None:
    """Where the id of an entry stands in a tree; None where there is none of that name and kind.

    An entry stands behind the id of the one before it, which stands behind a NUL. Not each is looked at: there may be thousands.
    """
    for mode in (b"40000",) if is_folder else (b"100644", b"100755"):
        words = b"%s %s\0" % (mode, name)
        at = tree.find(words)
        while at >= 0:
            end = at + len(words)
            if (at == 0 or tree[at - _SHA1 - 1 : at - _SHA1] == b"\0") and end + _SHA1 <= len(tree):
                return end
            at = tree.find(words, at + 1)
    return None


# The index, and the file beside it.


def _attribute_files(git_dir: str, root: str, path: bytes) -> tuple[str, ...]:
    """Where git looks for the attributes of a file, unless a setting (`core.attributesFile`) names another place."""
    folders = [root, *(f"{root}/{os.fsdecode(path[:end])}" for end, byte in enumerate(path) if byte == _SLASH)]
    home = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '')}/.config"
    usual = (f"{git_dir}/info/attributes", f"{home}/git/attributes", "/etc/gitattributes", "/usr/local/etc/gitattributes")
    return (*usual, *(f"{folder}/.gitattributes" for folder in folders))


def may_be_converted(git_dir: str, root: str, path: bytes, data: bytes) -> bool:
    """Whether git may store a file as other bytes than those on disk: by a filter, or with other line ends or `$Id$`s."""
    attributes = _attribute_files(git_dir, root, path)
    return b"\r" in data or b"$Id:" in data or any(b"filter" in (read_bytes(place) or b"") for place in attributes)


def is_clean(git_dir: str, tree: str, path: bytes, blob: str, executable: bool) -> bool:
    """Whether the index holds just what a tree holds (so that nothing is staged, unmerged or to be added), and for a path this blob.

    False: not known.
    """
    data = read_bytes(f"{git_dir}/index")
    if data is None or data[:4] != b"DIRC" or data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return False
    kept = {name: data[start:end] for name, start, end in _extensions(data)}
    if any(name[:1].islower() for name in kept) or _root_tree(kept.get(b"TREE", b"")) != tree:
        return False  # those in small letters change what the entries mean
    mode = (_EXECUTABLE if executable else _REGULAR).to_bytes(4, "big")
    at = data.find(path + b"\0")
    while at >= 0:
        entry, flags = data[at - _ENTRY : at], int.from_bytes(data[at - 2 : at], "big")
        if at >= _ENTRY and flags == len(path) and entry[_FLAGS_MODE] == mode and entry[_FLAGS_ID].hex() == blob:
            return len(path) <= _NAME_BITS and not flags & _OTHER_BITS
        at = data.find(path + b"\0", at + 1)
    return False


def extensions_from(data: bytes, at: int) -> list[tuple[bytes, int, int]] | None:
    """The extensions of an index that stand at a place and behind: the name of each, and where its content starts and ends.

    None where what stands there is no chain of them that ends where the checksum begins.
    """
    end, found = len(data) - _SHA1, []
    while at + 8 <= end and data[at : at + 4].isalpha():
        start, at = at, at + 8 + int.from_bytes(data[at + 4 : at + 8], "big")
        found.append((data[start : start + 4], start + 8, at))
    return found if at == end else None


def _extensions(data: bytes) -> list[tuple[bytes, int, int]]:
    """The extensions behind the entries: from the first place at which a chain of them begins."""
    for first in _FIRST_EXTENSIONS:
        start = data.find(first, _HEADER)
        while start >= 0:
            if found := extensions_from(data, start):
                return found
            start = data.find(first, start + 1)
    return []


def _root_tree(cached: bytes) -> str | None:
    """The tree that the whole index makes, where git has kept that: path (empty), NUL, entries, trees below, id."""
    words, _, rest = cached.partition(b"\n")
    counted = words.removeprefix(b"\0").split(b" ")
    if not words.startswith(b"\0") or len(counted) != 2 or not all(count.isdigit() for count in counted):
        return None
    return rest[:_SHA1].hex()
