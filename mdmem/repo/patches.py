"""What commits did to files, read from git's patches."""

import os
import re

from mdmem.model import CommitId, FilePath
from mdmem.records import dataclass

_HUNK = re.compile(rb"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_OBJECT_ID = re.compile(rb"^[0-9a-f]{40}(?:[0-9a-f]{24})?$")
_QUOTED = re.compile(rb"\\([abtnvfr\"\\]|[0-7]{3})")
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r", b'"': b'"', b"\\": b"\\"}


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What one commit did to one Markdown file: the lines it brought in; `renamed_from` where the file had another name.

    `added` are lines as a document has them: without line ends (a lone CR is one too) and byte order mark.
    """

    path: FilePath
    renamed_from: FilePath | None
    added: tuple[str, ...]


def parse_patches(output: bytes) -> dict[CommitId, tuple[FilePatch, ...]]:
    """What `git diff-tree --stdin -p -U0` says, commit by commit."""
    found: dict[CommitId, list[FilePatch]] = {}
    lines = iter(output.split(b"\n"))
    commit = CommitId("")
    path = renamed_from = FilePath("")
    added: list[str] = []

    def close() -> None:
        if path:
            found.setdefault(commit, []).append(FilePatch(path, renamed_from or None, tuple(added)))

    for line in lines:
        if _OBJECT_ID.match(line):
            close()
            commit, path, renamed_from, added = CommitId(line.decode()), FilePath(""), FilePath(""), []
        elif line.startswith(b"diff --git "):
            close()
            path, renamed_from, added = FilePath(""), FilePath(""), []
        elif line.startswith(b"rename from "):
            renamed_from = _unquoted(line[12:])
        elif line.startswith(b"rename to "):
            path = _unquoted(line[10:])
        elif line.startswith(b"+++ ") and line != b"+++ /dev/null":
            path = _unquoted(line[4:].rstrip(b"\t"))
        elif match := _HUNK.match(line):
            count = int(match[1] or 1) + int(match[2] or 1)
            while count:
                body = next(lines)
                if body.startswith(b"\\"):
                    continue
                count -= 1
                if body.startswith(b"+"):
                    added += body[1:].decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r").split("\r")
    close()
    return {commit: tuple(patches) for commit, patches in found.items()}


def _unquoted(path: bytes) -> FilePath:
    if path.startswith(b'"') and path.endswith(b'"'):
        path = _QUOTED.sub(lambda m: _ESCAPES.get(m[1]) or bytes([int(m[1], 8)]), path[1:-1])
    return FilePath(os.fsdecode(path))
