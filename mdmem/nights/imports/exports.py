"""The files of an export, and their records one after another: no file is in memory as a whole."""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

from mdmem.sessions.records import parse_object
from mdmem.startup import late
from mdmem.startup.records import dataclass

_SUFFIXES = (".json", ".jsonl", ".md", ".txt")
"""Of the files of a folder or archive that are looked at."""
_CHUNK = 1024 * 1024
_MOST_CHARACTERS = 64 * _CHUNK
"""Of one record: the longest conversations have a few million."""
_ARRAY = late.pattern(r'\s*(?:\[|\{[^\[{]*"results"\s*:\s*\[)')
"""An array, or an object of an API with a page of results."""
_BETWEEN = late.pattern(r"[\s,]*")
_CLAUDE_FOLDERS, _CLAUDE_INDEX = ("memory", "memories"), "MEMORY.md"
UNREADABLE = (OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError)
"""What reading a damaged, encrypted or unreadable file raises."""

Record = dict[str, Any] | None
"""None where a record is no object."""


@dataclass(frozen=True, slots=True)
class ExportFile:
    """`of_claude`: its folder is one of Claude's memory, whose notes need not say so."""

    path: Path
    name: str
    modified: datetime
    open: Callable[[], IO[bytes]]
    of_claude: bool = False


def export_files(path: Path) -> Iterator[ExportFile]:
    """The file itself, those of an archive, or those of a folder. Raises: UNREADABLE."""
    if path.is_dir():
        for folder, below, names in os.walk(path):
            below[:] = sorted(name for name in below if not name.startswith("."))
            of_claude = Path(folder).resolve().name in _CLAUDE_FOLDERS or _CLAUDE_INDEX in names
            for name in sorted(names):
                file = Path(folder, name)
                if name.endswith(_SUFFIXES) and file.is_file():
                    yield _on_disk(file, file.relative_to(path).as_posix(), of_claude)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if member.filename.endswith(_SUFFIXES):
                    yield ExportFile(
                        path=path,
                        name=member.filename,
                        modified=datetime(*member.date_time),
                        open=partial(archive.open, member),
                    )
    else:
        parent = path.resolve().parent
        of_claude = parent.name in _CLAUDE_FOLDERS or (parent / _CLAUDE_INDEX).is_file()
        yield _on_disk(path, path.name, of_claude)


def _on_disk(path: Path, name: str, of_claude: bool) -> ExportFile:
    return ExportFile(
        path=path,
        name=name,
        modified=datetime.fromtimestamp(path.stat().st_mtime).astimezone(),
        open=lambda: path.open("rb"),
        of_claude=of_claude,
    )


def beginning(file: ExportFile, most: int) -> str:
    """Its first characters. Raises: UNREADABLE."""
    with file.open() as data, io.TextIOWrapper(data, "utf-8-sig", "replace") as text:
        return text.read(most)


def records(file: ExportFile) -> Iterator[Record]:
    """The records of an array, or of lines. Raises: UNREADABLE (EOFError: it is cut off)."""
    with file.open() as data, io.TextIOWrapper(data, "utf-8-sig", "replace") as text:
        first = text.read(_CHUNK)
        if array := _ARRAY.match(first):
            yield from _of_array(text, first[array.end() :])
            return
    with file.open() as data, io.TextIOWrapper(data, "utf-8-sig", "replace") as text:
        while line := text.readline(_MOST_CHARACTERS):
            if len(line) == _MOST_CHARACTERS:
                raise EOFError("a record of more than 64 MB")
            if line.strip():
                yield parse_object(line)


def _of_array(text: IO[str], rest: str) -> Iterator[Record]:
    decoder, at, size = json.JSONDecoder(), 0, _CHUNK
    while True:
        between = _BETWEEN.match(rest, at)
        at = between.end() if between else at
        if rest.startswith("]", at):
            return
        try:
            value, at = decoder.raw_decode(rest, at)
        except (ValueError, RecursionError):
            more = text.read(size)
            if not more or len(rest) - at > _MOST_CHARACTERS:
                raise EOFError("cut off, or no JSON from there on") from None
            rest, at = rest[at:] + more, 0
            size = max(_CHUNK, len(rest))
        else:
            size = _CHUNK
            yield value if isinstance(value, dict) else None
