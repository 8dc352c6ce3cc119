"""git's index as bytes: one entry and the trees that it keeps found in it, and changed in place. See gitformat-index(5)."""

from __future__ import annotations

from mdmem.digests import sha1
from mdmem.records import dataclass
from mdmem.repo.plain import extensions_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


_HEADER, _SHA1 = 12, 20
"""Bytes before the first entry, and of an id."""
_ID = 40
"""Where an entry has the id of its blob; the flags follow, which of a plain entry are the length of its path, and then that."""
_LONG = 0x0FFF
"""A path of this length or more has no length in the flags."""
_PLAIN = frozenset((b"TREE", b"REUC", b"EOIE", b"IEOT"))
"""The extensions that stay true where an entry gets another id: the others keep what is known of files on the disk, or of another index."""


@dataclass(frozen=True, slots=True)
class Index:
    """An index, the place of one entry in it, and the place of the id of each folder's tree (the root's path is empty)."""

    data: bytes
    entry: int
    trees: Mapping[bytes, int]

    def tree(self, folder: bytes) -> str | None:
        """The id of a folder's tree; None where the index does not keep it."""
        at = self.trees.get(folder)
        return None if at is None else self.data[at : at + _SHA1].hex()

    def changed(self, status: os.stat_result, blob: str, trees: Mapping[bytes, str]) -> bytearray:
        """The bytes of the index with another blob for the entry, of a file that stands so on the disk, and with other trees above it."""
        data = bytearray(self.data)
        times = (part for stamp in (status.st_ctime_ns, status.st_mtime_ns) for part in divmod(stamp, 1_000_000_000))
        known = (*times, status.st_dev, status.st_ino, None, status.st_uid, status.st_gid, status.st_size)
        for number, value in enumerate(known):
            if value is not None:  # the mode stays
                at = self.entry + 4 * number
                data[at : at + 4] = (value & 0xFFFFFFFF).to_bytes(4, "big")
        for at, name in ((self.entry + _ID, blob), *((self.trees[folder], name) for folder, name in trees.items())):
            data[at : at + _SHA1] = bytes.fromhex(name)
        data[-_SHA1:] = bytes.fromhex(sha1(memoryview(data)[:-_SHA1]))
        return data


def plain(data: bytes, path: bytes, blob: str) -> Index | None:
    """An index in which nothing is out of the ordinary; None for any other, or where it does not hold this blob for the path.

    Args:
        data: its bytes.
        path: from the root of the work tree.
        blob: the id that is known of the path.
    """
    if data[:4] != b"DIRC" or data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3") or sha1(memoryview(data)[:-_SHA1]) != data[-_SHA1:].hex():
        return None
    # Entries are not gone through one by one: that a place is one is told by the id, the length of the path, and the path.
    known = bytes.fromhex(blob) + len(path).to_bytes(2, "big") + path + b"\0"
    at, found = data.find(known), trees(data)
    if at < _HEADER + _ID or len(path) >= _LONG or data.find(known, at + 1) >= 0 or b"" not in found:
        return None
    return Index(data, at - _ID, found)


def trees(data: bytes, behind: int = _HEADER) -> dict[bytes, int]:
    """Where the ids of the folders' trees stand that an index keeps behind a place; none where there are extensions that are not plain.

    The extensions stand behind the entries, in a chain that ends where the checksum begins; git writes this one before the other plain ones.
    """
    start = data.find(b"TREE", behind)
    while start >= 0:
        if chain := extensions_from(data, start):
            found: dict[bytes, int] = {}
            if _PLAIN.issuperset(name for name, _, _ in chain):
                _find_trees(data, chain[0][1], b"", found)
            return found
        start = data.find(b"TREE", start + 1)
    return {}


def _find_trees(data: bytes, at: int, above: bytes, found: dict[bytes, int]) -> int:
    """Add where the ids of a folder's tree, and of those below it, stand; the place behind them."""
    end = data.index(b"\0", at)
    folder = above + data[at:end]
    line = data.index(b"\n", end)
    entries, below = data[end + 1 : line].split(b" ")
    at = line + 1
    if not entries.startswith(b"-"):
        found[folder] = at
        at += _SHA1
    for _ in range(int(below)):
        at = _find_trees(data, at, folder + b"/" if folder else b"", found)
    return at
