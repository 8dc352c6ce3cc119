"""A commit of one file, written into the repository without git, which looks at every file where there are many.

It is what `git commit --only -- PATH` makes: the blob, the trees above it and the commit as loose objects, the entry in the index, the branch
(moved by compare-and-swap) and the logs of HEAD and branch. Locks are git's own, in git's order, so that git and others stand back
meanwhile; everything is on the disk before the branch moves. Wherever anything is not of the plainest kind, nothing is done, and git is to do it.
"""

from __future__ import annotations

import os
import stat
import zlib

from mdmem.library import suppress
from mdmem.model import CommitId
from mdmem.records import dataclass
from mdmem.repo import index as indexes
from mdmem.repo import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_READ_ONLY, _MODE = 0o444, 0o666
_LEVEL = 1
"""How hard zlib tries, as git's own for loose objects."""


@dataclass(frozen=True, slots=True)
class Made:
    """A commit that was made; whether the index could be written after it."""

    commit: CommitId
    is_indexed: bool


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be committed: a file as it is on the disk, with a message, by people, in the place of a commit on a branch.

    Args:
        git_dir: of the repository.
        root: of the work tree.
        path: of the file, from there.
        blob: the id that the branch, and the index, have for it.
        parent: what the branch, and with it the index, must hold.
        branch: its name.
        message: taken as it is.
        date: seconds since 1970 and offset, as `1767225600 +0100`.
        author: as `NAME <EMAIL>`.
        committer: the same.
    """

    git_dir: str
    root: str
    path: bytes
    blob: str
    parent: CommitId
    branch: str
    message: bytes
    date: bytes
    author: bytes
    committer: bytes


def commit(order: Order) -> Made | None:
    """Make the commit; None where git is to do it, and nothing has changed.

    Whether settings or hooks have a say is for the caller to know.
    """
    if any(os.path.lexists(place) for place in plain.attribute_files(order.git_dir, order.root, order.path)):
        return None  # git might store something else than the bytes on the disk
    try:
        with _Lock(f"{order.git_dir}/index") as index, _Lock(f"{order.git_dir}/refs/heads/{order.branch}") as branch:
            return _locked(order, index, branch)
    except OSError:  # also: another git holds a lock
        return None


def _locked(order: Order, index_lock: _Lock, branch_lock: _Lock) -> Made | None:
    git_dir, place = order.git_dir, os.path.join(order.root, os.fsdecode(order.path))
    if plain.head(git_dir) != (order.branch, order.parent):
        return None
    written = os.stat(f"{git_dir}/index")
    known = indexes.plain(plain.read(f"{git_dir}/index") or b"", order.path, order.blob)
    before, data, after = os.lstat(place), plain.read(place), os.lstat(place)
    if known is None or data is None or not stat.S_ISREG(after.st_mode) or before != after:
        return None
    if known.tree(b"") != plain.tree_of(git_dir, order.parent):
        return None
    blob = plain.object_id(b"blob", data)
    objects = [(blob, b"blob", data)]
    trees = dict(_trees(order, known, blob, objects))
    if b"" not in trees or trees[b""] == known.tree(b""):
        return None
    people = (b"author %s %s" % (order.author, order.date), b"committer %s %s" % (order.committer, order.date))
    head = b"\n".join((b"tree %s" % trees[b""].encode(), b"parent %s" % order.parent.encode(), *people))
    content = head + b"\n\n" + order.message
    new = CommitId(plain.object_id(b"commit", content))
    for made in (*objects, (new, b"commit", content)):
        _store(git_dir, *made)
    index_lock.write(known.changed(after, blob, trees))
    # Of files that were saved while the index was last written git looks at the bytes: by this time stamp it still does.
    os.utime(f"{git_dir}/index.lock", ns=(written.st_atime_ns, written.st_mtime_ns))
    branch_lock.write(b"%s\n" % new.encode())
    _log(order, new)
    branch_lock.put_in_place()
    _sync_folder(os.path.dirname(f"{git_dir}/refs/heads/{order.branch}"))
    try:
        index_lock.put_in_place()
    except OSError:
        return Made(new, is_indexed=False)
    return Made(new, is_indexed=True)


def _trees(order: Order, known: indexes.Index, new: str, objects: list[tuple[str, bytes, bytes]]) -> Iterator[tuple[bytes, str]]:
    """The trees above a file, from the lowest on, with its new id in it; they end where one is not known to the index, or in a pack."""
    path, old, is_folder = order.path, order.blob, False
    while path:
        path, _, name = path.rpartition(b"/")
        tree = known.tree(path)
        data = tree and plain.read_object(order.git_dir, tree, b"tree")
        at = plain.place_of(data, name, is_folder) if data else None
        if tree is None or not data or at is None or not data.startswith(bytes.fromhex(old), at):
            return
        data = data[:at] + bytes.fromhex(new) + data[at + len(new) // 2 :]
        old, new, is_folder = tree, plain.object_id(b"tree", data), True
        objects.append((new, b"tree", data))
        yield path, new


def _store(git_dir: str, name: str, kind: bytes, data: bytes) -> None:
    """Write a loose object of that name, durably, unless it is there."""
    folder = f"{git_dir}/objects/{name[:2]}"
    place = f"{folder}/{name[2:]}"
    if os.path.lexists(place):
        return
    os.makedirs(folder, exist_ok=True)
    new = f"{folder}/tmp_obj_{os.getpid()}"
    try:
        _write(new, os.O_CREAT | os.O_EXCL, _READ_ONLY, zlib.compress(b"%s %d\0%s" % (kind, len(data), data), _LEVEL))
        os.rename(new, place)
    except BaseException:
        _remove(new)
        raise


def _write(place: str, flags: int, mode: int, data: bytes | bytearray) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_CLOEXEC | flags, mode)
    try:
        _give(descriptor, data)
    finally:
        os.close(descriptor)


def _give(descriptor: int, data: bytes | bytearray) -> None:
    """Write all of it, and have it on the disk."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def _sync_folder(folder: str) -> None:
    """Have what is in a folder on the disk; where that fails the branch counts all the same, and git does not even try it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove(place: str) -> None:
    with suppress(OSError):
        os.unlink(place)


def _log(order: Order, new: CommitId) -> None:
    """Add the commit to the logs of HEAD and of the branch (git-reflog)."""
    said = b"commit: " + order.message.partition(b"\n")[0].replace(b"\t", b" ").replace(b"\r", b" ")
    words = b" ".join(word for word in said.split(b" ") if word)
    line = b"%s %s %s %s\t%s\n" % (order.parent.encode(), new.encode(), order.committer, order.date, words)
    for name in ("HEAD", f"refs/heads/{order.branch}"):
        place = f"{order.git_dir}/logs/{name}"
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "ab", buffering=0) as log:
            log.write(line)


class _Lock:
    """git's lock of one of its files: the new content in a file beside it, which nobody else has made, and which then takes its place."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._lock = f"{place}.lock"

    def __enter__(self) -> _Lock:
        os.makedirs(os.path.dirname(self._place), exist_ok=True)
        self._descriptor = os.open(self._lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
        self._is_ours = True
        return self

    def write(self, data: bytes | bytearray) -> None:
        """Have the new content on the disk."""
        _give(self._descriptor, data)

    def put_in_place(self) -> None:
        """Have the new content count."""
        os.rename(self._lock, self._place)
        self._is_ours = False

    def __exit__(self, *problem: object) -> None:
        # As long as it is open nobody takes the lock for one that was left behind.
        if self._is_ours:
            _remove(self._lock)
        os.close(self._descriptor)
