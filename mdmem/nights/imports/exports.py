"""The files of an export, and what is in them, piece by piece: none is in memory as a whole."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

from mdmem.model import MAX_FILE_BYTES
from mdmem.startup import late

_SUFFIXES = (".json", ".jsonl", ".md", ".txt")
"""Of the files of a folder or archive that are looked at."""
_CHUNK = 1024 * 1024
_MOST_CHARACTERS = 64 * _CHUNK
"""Of one record: the longest conversations have a few million."""
_ARRAY = late.pattern(r'\s*(?:\[|\{[^\[{]*"results"\s*:\s*\[)')
"""An array, or an object of an API with a page of results."""
_ARCHIVE = b"PK\x03\x04"
_VALUE = late.pattern(r"[^\s,]")
UNREADABLE = (
    *(OSError, EOFError, UnicodeDecodeError, zipfile.BadZipFile, zlib.error, RuntimeError),
)
"""Raised by reading a damaged, encrypted or unreadable file."""


class ExportFile(NamedTuple):
    """`of_claude`: its folder is one of Claude's memory, whose notes need not say so."""

    name: str
    modified: datetime
    open: Callable[[], IO[bytes]]
    of_claude: bool = False


def export_files(path: Path) -> Iterator[ExportFile]:
    """The file itself, those of an archive, or those of a folder. Raises: UNREADABLE."""
    if path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if member.filename.endswith(_SUFFIXES):
                    modified = datetime(*member.date_time)
                    yield ExportFile(member.filename, modified, partial(archive.open, member))
        return
    top = path if path.is_dir() else path.parent
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        name = file.relative_to(top).as_posix()
        is_looked_at = file.suffix in _SUFFIXES and not name.startswith(".") and "/." not in name
        if file.is_file() and (file == path or is_looked_at):
            folder = file.resolve().parent
            is_claude = folder.name in ("memory", "memories") or (folder / "MEMORY.md").is_file()
            modified = datetime.fromtimestamp(file.stat().st_mtime).astimezone()
            yield ExportFile(name, modified, partial(io.FileIO, file), is_claude)


def contents(file: ExportFile) -> Iterator[dict[str, Any] | str | None]:
    """The records of an array or of lines (None: one is no object), or the text of a note.

    Raises: UNREADABLE (EOFError: it is cut off, or too long; UnicodeDecodeError).
    """
    with file.open() as data:
        if data.read(len(_ARCHIVE)) == _ARCHIVE:
            raise EOFError("an archive that is cut off")
    with file.open() as data, io.TextIOWrapper(data, "utf-8-sig") as text:
        rest = text.read(_CHUNK)
        array = _ARRAY.match(rest)
        if array or rest.lstrip().startswith("{"):
            yield from _values(text, rest[array.end() :] if array else rest, array is not None)
            return
        rest += text.read(MAX_FILE_BYTES)
        if len(rest) > MAX_FILE_BYTES:
            raise EOFError("a note of more than 5 MB")
        yield rest


def _values(text: IO[str], rest: str, is_array: bool) -> Iterator[dict[str, Any] | None]:
    decoder, at = json.JSONDecoder(), 0
    while True:
        value = _VALUE.search(rest, at)
        at = value.start() if value else len(rest)
        if is_array and rest.startswith("]", at):
            return
        try:
            record, at = decoder.raw_decode(rest, at)
        except (ValueError, RecursionError):
            # as much again, so that a long record is tried few times
            more, rest, at = text.read(max(_CHUNK, len(rest) - at)), rest[at:], 0
            if not (more or rest or is_array):
                return
            if not more or len(rest) > _MOST_CHARACTERS:
                raise EOFError("cut off, or no JSON from there on") from None
            rest += more
        else:
            yield record if isinstance(record, dict) else None
