"""Text on a terminal (lines broken between words, a pager, an editor), and messages in the words of
the command line, on standard error while a command is at work.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import TextIO

from mdmem.cli.parameter_table import TABLE
from mdmem.model import errors
from mdmem.model.errors import UsageProblem, printable
from mdmem.show.formatting import VerbatimText
from mdmem.startup import late
from mdmem.warm import launcher

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
    rows = fitted_to(text, columns)
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
    if (status := launcher.page(pager, f"{text}\n")) is not None:
        return status not in _NOT_RUN_STATUSES
    # 4 ms, only where there is more than a screen
    import subprocess  # noqa: PLC0415

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with subprocess.Popen(
            ["sh", "-c", pager],
            stdin=subprocess.PIPE,
            env=launcher.PAGER_VARIABLES | dict(os.environ),
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


def fitted_to(text: str, most: int) -> str:
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


_FIRST_MESSAGE_SECONDS = 1.5
_INTERVAL = 0.5
_CLEAR = "\r\x1b[K"
_BAR = 20


def in_flags(text: str) -> str:
    return errors.translate(text, flag, command_line)


def flag(field: str) -> str:
    """The flag of a field; if it is only an argument, its name in capitals, as in the help."""
    return _flags().get(field, field)


def command_line(verb: str, fields: Sequence[str] = ()) -> str:
    return errors.command(verb, fields, flag)


@cache
def _flags() -> dict[str, str]:
    """The flag of each field, from all commands and -C. A test ensures that no field has two."""
    flags = {"workspace": "-C DIR"}
    for rows in TABLE.values():
        for name, (*names,), *_ in rows:
            field = name.removesuffix("_")
            if names or field not in flags:
                flags[field] = names[0] if names else field.upper()
    return flags


def say(line: str) -> None:
    if _Running.progress is not None:
        _Running.progress.clear()
    print(fitted(f"mdmem: {printable(in_flags(line))}"), file=sys.stderr)


def fitted(line: str) -> str:
    return fitted_to(line, size(sys.stderr)[0]) if sys.stderr.isatty() else line


def shown(command: str, interval: float | None = _INTERVAL) -> AbstractContextManager[object]:
    """Show progress on a terminal after some seconds; without `interval` once, and what is counted.

    Nothing else may use the terminal meanwhile, such as a prompt for a signature's passphrase.
    """
    return (
        Progress(command, sys.stderr, interval=interval) if sys.stderr.isatty() else nullcontext()
    )


def count(done: int, total: int) -> None:
    if _Running.progress is not None:
        _Running.progress.count(done, total)


class _Running:
    progress: Progress | None = None


class Progress:
    """A line with the elapsed time and the count; it disappears when the command ends."""

    def __init__(
        self,
        command: str,
        stream: TextIO,
        patience: float = _FIRST_MESSAGE_SECONDS,
        interval: float | None = _INTERVAL,
    ) -> None:
        self._counts = (0, 0)
        self._command = command
        self._stream = stream
        self._patience = patience
        self._interval = interval
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._is_shown = False

    def __enter__(self) -> Progress:
        self._start = monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        _Running.progress = self
        return self

    def __exit__(self, *failure: object) -> None:
        _Running.progress = None
        self._over.set()
        self._thread.join()
        self.clear()

    def clear(self) -> None:
        with self._lock:
            if self._is_shown:
                self._stream.write(_CLEAR)
                self._stream.flush()
            self._is_shown = False

    def count(self, done: int, total: int) -> None:
        self._counts = (done, total)
        if self._interval is None and monotonic() - self._start >= self._patience:
            self._show()

    def _run(self) -> None:
        delay: float | None = self._patience
        while not self._over.wait(delay):
            delay = self._interval
            self._show()

    def _show(self) -> None:
        with self._lock:
            self._stream.write(f"{_CLEAR}{self._line()}")
            self._stream.flush()
            self._is_shown = True

    def _line(self) -> str:
        done, total = self._counts
        seconds = monotonic() - self._start
        parts = f"{seconds:.0f} s"
        if total:
            bar = "#" * (_BAR * done // total)
            left = f", {seconds * (total - done) / done:.0f} s left" if done else ""
            parts = f"[{bar:-<{_BAR}}] {done:,} of {total:,}, {parts}{left}"
        return f"mdmem {self._command}: {parts}"[: size(self._stream)[0] - 1]
