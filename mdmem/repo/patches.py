"""The changes of commits to files, parsed from git's patches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from re import Match

from mdmem.model import CommitId, FilePath
from mdmem.startup import late
from mdmem.startup.records import dataclass

HUNK = late.pattern(rb"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
"""The first line of a hunk: the count of removed lines, the number of the first new line, the count of new lines; no count means 1."""
_OBJECT_ID = late.pattern(rb"^[0-9a-f]{40}(?:[0-9a-f]{24})?$")
_QUOTED = late.pattern(rb"\\([abtnvfr\"\\]|[0-7]{3})")
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r", b'"': b'"', b"\\": b"\\"}


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The change of one commit to one Markdown file: the text that each hunk added, and its old name where it was renamed."""

    path: FilePath
    renamed_from: FilePath | None
    added: tuple[str, ...]


def parse_patches(output: bytes) -> dict[CommitId, tuple[FilePatch, ...]]:
    """Parse the output of `git diff-tree --stdin -p -U0`, commit by commit."""
    patches: dict[CommitId, list[FilePatch]] = {}
    lines = iter(output.split(b"\n"))
    commit = CommitId("")
    path = renamed_from = FilePath("")
    added: list[str] = []

    def close() -> None:
        if path:
            patches.setdefault(commit, []).append(FilePatch(path, renamed_from or None, tuple(added)))

    for line in lines:
        if _OBJECT_ID.match(line):
            close()
            commit, path = CommitId(line.decode()), FilePath("")
        elif line.startswith(b"diff --git "):
            close()
            path, renamed_from, added = FilePath(""), FilePath(""), []
        elif line.startswith(b"rename from "):
            renamed_from = _unquoted(line[12:])
        elif line.startswith(b"rename to "):
            path = _unquoted(line[10:])
        elif line.startswith(b"+++ ") and line != b"+++ /dev/null":
            path = _unquoted(line[4:].removesuffix(b"\t"))  # git ends a name with a blank in it so
        elif match := HUNK.match(line):
            added.append(new_lines(lines, match))
    close()
    return {commit: tuple(of_commit) for commit, of_commit in patches.items()}


def new_lines(lines: Iterator[bytes], hunk: Match[bytes]) -> str:
    """The lines that a hunk adds, without the last line end; `lines` are those after the one that `HUNK` matched."""
    added = []
    count = int(hunk[1] or 1) + int(hunk[3] or 1)
    while count:
        line = next(lines)
        count -= not line.startswith(b"\\")
        if line.startswith(b"+"):
            added.append(line[1:])
    return b"\n".join(added).decode("utf-8", "replace")


def _unquoted(path: bytes) -> FilePath:
    if path.startswith(b'"'):
        path = _QUOTED.sub(lambda m: _ESCAPES.get(m[1]) or bytes([int(m[1], 8)]), path[1:-1])
    return FilePath(os.fsdecode(path))
