"""All or nothing: the steps of several writes, each with its undoing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType


class WriteSteps:
    """The steps of one write that were taken so far, each with its undoing."""

    def __init__(self) -> None:
        self._undoings: list[Callable[[BaseException], bool]] = []

    def add(self, undo: Callable[[BaseException], bool]) -> None:
        """Register how a step is undone. `undo` gets the failure, and returns False where the step cannot be undone any more."""
        self._undoings.append(undo)

    def keep(self) -> None:
        """Let the steps stand, whatever happens later."""
        self._undoings.clear()

    def undo(self, problem: BaseException) -> None:
        """Undo the steps, the newest first, up to one that cannot be undone: those before it are what it stands on."""
        while self._undoings and self._undoings.pop()(problem):
            pass


class Transaction:
    """Several writes: where the block ends by an exception, all of them are undone, the newest first."""

    def __init__(self) -> None:
        self._writes = ExitStack()

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None) -> None:
        if problem is not None:
            self._writes.__exit__(kind, problem, traceback)

    def begin_write(self) -> WriteSteps:
        """Add a write. One whose undoing fails does not keep the others from being undone."""
        steps = WriteSteps()

        def undo(_: object, problem: BaseException | None, __: object) -> None:
            if problem is not None:
                steps.undo(problem)

        self._writes.push(undo)
        return steps
