"""Messages in the words of the command line, and on standard error while a command is at work."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from time import monotonic
from typing import TextIO

from mdmem.cli import terminal
from mdmem.cli.parameter_table import TABLE
from mdmem.model import errors
from mdmem.model.errors import printable

_FIRST_MESSAGE_SECONDS = 1.5
_INTERVAL = 0.5
_CLEAR = "\r\x1b[K"


def in_flags(text: str) -> str:
    return errors.translate(text, flag, command_line)


def flag(field: str) -> str:
    """The flag of a field; if it is only an argument, its name in capitals, as in the help."""
    return _flags().get(field, field)


def command_line(verb: str, fields: Sequence[str] = ()) -> str:
    return " ".join(("mdmem", verb, *map(flag, fields)))


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
    return terminal.fitted(line, terminal.size(sys.stderr)[0]) if sys.stderr.isatty() else line


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
        seconds = f"{monotonic() - self._start:.0f} s"
        parts = f"{done:,} of {total:,}, {seconds}" if total else seconds
        return f"mdmem {self._command}: {parts}"[: terminal.size(self._stream)[0] - 1]
