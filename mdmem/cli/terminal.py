"""Text on a terminal: lines broken between words, a pager for more than a screen, an editor."""

from __future__ import annotations

import os
import signal
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TextIO

from mdmem.model.errors import UsageProblem
from mdmem.show.formatting import VerbatimText
from mdmem.startup import late

_CODE = late.pattern(r"\x1b\[[0-9;]*m")  # switches colours; takes no columns
_PIECE = late.pattern(r"\s+|(?:\x1b\[[0-9;]*m|\S)+")
_CHARACTER = late.pattern(r"\x1b\[[0-9;]*m|.")
# indentation, with the mark of a list item or of a changed line
_MARK = late.pattern(r"\s*(?:[-+*] ?|\d+\. )?")
# a first column, which continuation lines leave free
_COLUMN = late.pattern(r"\s*\S+(?: \S+)? {2,}")
_COMMAND = late.pattern(r"\s*mdmem ")
_SHELL_WORD = late.pattern(r"(?:'[^']*'|\"[^\"]*\"|\\.|[^\s'\"\\])+")
_RESET = "\x1b[0m"
# as for git's pager: leave at once if the text fits, pass colours on, do not clear the screen
_PAGER_ENVIRONMENT = {"LESS": "FRX", "LV": "-c"}
_NOT_RUN_STATUSES = (126, 127)
_CONTINUATION_INDENT = 4  # continuation indent where the first column is too wide to be left free
_NARROWEST = 10
_DEFAULT_SIZE = (80, 24)


def size(stream: TextIO) -> tuple[int, int]:
    """Columns and lines of the stream's terminal, unless COLUMNS and LINES say otherwise."""
    try:
        own = tuple(os.get_terminal_size(stream.fileno()))
    except (OSError, ValueError):
        own = (0, 0)
    named = (os.environ.get("COLUMNS", ""), os.environ.get("LINES", ""))
    wanted = (
        int(name) if name.isascii() and name.isdigit() else number
        for name, number in zip(named, own, strict=True)
    )
    columns, lines = (number or usual for number, usual in zip(wanted, _DEFAULT_SIZE, strict=True))
    return max(_NARROWEST, columns), lines


def show(text: str) -> None:
    columns, lines = size(sys.stdout)
    rows = fitted(text, columns)
    shown = text if isinstance(text, VerbatimText) else rows
    if rows.count("\n") + 2 > lines and (pager := _pager_command()) and _run_pager(pager, shown):
        return
    print(shown, flush=True)


def _pager_command() -> str:
    if os.environ.get("TERM", "dumb") == "dumb":
        return ""
    from shutil import which  # noqa: PLC0415 - 3 ms

    default = "less" if which("less") else ""
    pager = os.environ.get("MDMEM_PAGER", os.environ.get("PAGER", default)).strip()
    return "" if pager == "cat" else pager


def _run_pager(pager: str, text: str) -> bool:
    """Returns False if the pager could not be started. Interruptions are for the pager alone."""
    # 4 ms, only where there is more than a screen
    import subprocess  # noqa: PLC0415

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with subprocess.Popen(
            ["sh", "-c", pager], stdin=subprocess.PIPE, env=_PAGER_ENVIRONMENT | dict(os.environ)
        ) as process:
            try:
                process.communicate(f"{text}\n".encode(errors="backslashreplace"))
            except BrokenPipeError:  # the user left the pager before the end
                process.wait()
        return process.returncode not in _NOT_RUN_STATUSES
    finally:
        signal.signal(signal.SIGINT, before)


def edit_text(text: str, option: str, without: str) -> str:
    """Let the user edit a text. Errors name `option`, and `without` as another way."""
    program = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not program or not sys.stdin.isatty():
        raise UsageProblem(f"{option} needs a terminal and $EDITOR", f"Without them: {without}")
    # 12 modules, for an editor alone
    import shlex  # noqa: PLC0415
    import subprocess  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="mdmem-") as folder:
        path = Path(folder) / "section.md"
        path.write_bytes(text.encode())
        try:
            status = subprocess.run([*shlex.split(program), str(path)], check=False).returncode
        except (ValueError, OSError) as problem:
            raise UsageProblem(
                f"$EDITOR is {program!r}, which cannot be run: {problem}; nothing was changed"
            ) from problem
        if status:
            raise UsageProblem(f"{program} ended with an error; nothing was changed")
        return path.read_bytes().decode("utf-8", "surrogateescape")


def width(text: str) -> int:
    if text.isascii() and "\x1b" not in text:
        return len(text)
    return sum(map(_width, _CODE.sub("", text)))


def _width(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fitted(text: str, most: int) -> str:
    """Break lines wider than `most` columns between words: paths can still be copied.

    Scripts of wide characters have no spaces and break anywhere; a command can still be pasted.
    """
    return "\n".join(row for line in text.split("\n") for row in _rows(line, most))


def _rows(line: str, most: int) -> Iterable[str]:
    line = line.expandtabs() if "\t" in line else line
    if width(line) <= most:
        return (line,)
    return _command_rows(line, most) if _COMMAND.match(line) else _wrapped(line, most)


def _command_rows(line: str, most: int) -> Iterator[str]:
    """A command on several lines, as a shell reads them; a word that does not fit stays whole."""
    indent = " " * (len(line) - len(line.lstrip()))
    row = indent
    for word in _SHELL_WORD.findall(line):
        longer = f"{row}{'' if row.isspace() or not row else ' '}{word}"
        if row.strip() and width(longer) + len(" \\") > most:
            yield f"{row} \\"
            longer = f"{indent}  {word}"
        row = longer
    yield row


def _wrapped(line: str, most: int) -> Iterator[str]:
    bare = _CODE.sub("", line)
    column = _COLUMN.match(bare)
    mark = _MARK.match(bare)
    hang = width(mark[0]) if mark else 0
    if column:
        hang = width(column[0]) if 3 * width(column[0]) <= most else hang + _CONTINUATION_INDENT
    indent = " " * min(hang, most // 2)
    row, taken, colour = "", 0, ""
    for piece in _PIECE.findall(line):
        if piece.isspace():
            row, taken = row + piece, taken + len(piece)
            continue
        if taken + width(piece) > most and _CODE.sub("", row).strip():
            yield _with_reset(row.rstrip(), colour)
            row, taken = indent + colour, len(indent)
        for part in _breakable_parts(piece):
            if taken + width(part) > most and taken > len(indent):
                yield _with_reset(row, colour)
                row, taken = indent + colour, len(indent)
            row, taken = row + part, taken + width(part)
        for code in _CODE.findall(piece):
            colour = "" if code == _RESET else code
    yield row if taken <= most else row.rstrip()


def _with_reset(row: str, colour: str) -> str:
    return f"{row}{_RESET}" if colour else row


def _breakable_parts(word: str) -> Iterator[str]:
    """Split a word where it may be broken: around each wide character."""
    for is_wide, run in groupby(_CHARACTER.findall(word), lambda character: width(character) > 1):
        characters = list(run)
        yield from characters if is_wide else ["".join(characters)]
