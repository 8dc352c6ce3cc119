"""Make cursors again that were lost, from what commits tell: the last lines that were read of sessions, each with its hash."""

from __future__ import annotations

from pathlib import Path

from mdmem.digest.cursors import Cursor, ReadEnd, cursor_of
from mdmem.queries import digested
from mdmem.startup.records import replace
from mdmem.transcripts.files import TranscriptFile, read_head
from mdmem.transcripts.reading import line_hash
from mdmem.transcripts.records import whole_lines
from mdmem.workspace import Workspace

_Ends = dict[str, tuple[ReadEnd, ...]]


def committed_ends(workspace: Workspace) -> _Ends:
    """The last lines that were read of each session, CLIENT/SESSION, by the commits of digests."""
    ends: dict[str, list[ReadEnd]] = {}
    for name, hash_ in digested.lines_read(workspace):
        session, _, line = name.rpartition("#")
        if line.isdecimal():
            ends.setdefault(session, []).append(ReadEnd(int(line), hash_))
    return {session: tuple(dict.fromkeys(each)) for session, each in ends.items()}


def rebuilt_cursor(file: TranscriptFile, ends: _Ends) -> Cursor | None:
    """The cursor at the last line of a transcript that was read and is still the same one; None where there is none.

    Raises:
        TranscriptProblem: `unknown-format`. OSError: it cannot be read.
    """
    head = read_head(file.path)
    hashes = {(end.line, end.hash) for end in ends.get(f"{head.client}/{head.session}", ())} if head else set()
    if not hashes:
        return None
    numbers = {line for line, _ in hashes}
    read: ReadEnd | None = None
    size = last = 0
    for line in whole_lines(Path(file.path).read_bytes()):
        last = line.number
        if line.number in numbers and (line.number, line_hash(line.data)) in hashes:
            read, size = ReadEnd(line.number, line_hash(line.data)), line.offset + len(line.data) + 1
    if read is None:
        return None
    cursor = replace(cursor_of(file), read_size=size, end=read, has_entries=True, settled=True)
    return cursor if read.line == last else replace(cursor, size=size, changed=0)
