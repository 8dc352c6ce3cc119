"""Messages on standard error while a command is at work."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mdmem.cli.flags import in_flags
from mdmem.errors import printable
from mdmem.startup import late

if TYPE_CHECKING:
    import typer

    from mdmem.cli import terminal
else:
    terminal = late.module("mdmem.cli.terminal")
    typer = late.module("typer")


_LONG_REBUILD = 200
"""From this many files on a rebuild shows its progress."""


def say(line: str) -> None:
    """Print a line for the user."""
    print(fitted(f"mdmem: {printable(in_flags(line))}"), file=sys.stderr)


def fitted(line: str) -> str:
    """A line for standard error, as wide as the terminal there."""
    return terminal.fitted(line, terminal.size(sys.stderr)[0]) if sys.stderr.isatty() else line


class Progress:
    """A progress bar, for rebuilds that take long."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        """Show how many files are `done`."""
        if total < _LONG_REBUILD:
            return
        if self._bar is None:
            self._bar = typer.progressbar(length=total, label="indexing", file=sys.stderr)
            self._bar.__enter__()
        self._bar.update(1)
        if done >= total:
            self._bar.__exit__(None, None, None)
            self._bar = None
