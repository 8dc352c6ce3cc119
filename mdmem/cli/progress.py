"""What is said on standard error while a command is at work."""

from __future__ import annotations

import sys

from mdmem.errors import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONG_REBUILD = 200
"""From this many files on a rebuild shows its progress."""


def say(line: str) -> None:
    """A line for the user."""
    print(f"mdmem: {printable(line)}", file=sys.stderr)


class Progress:
    """A progress bar, for rebuilds that take long."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        """Show how many files are `done`."""
        if total < _LONG_REBUILD:
            return
        if self._bar is None:
            import typer  # here, so that only a long rebuild pays for loading it

            self._bar = typer.progressbar(length=total, label="indexing", file=sys.stderr)
            self._bar.__enter__()
        self._bar.update(1)
        if done >= total:
            self._bar.__exit__(None, None, None)
            self._bar = None
