"""Steps that are undone together, newest first."""

from collections.abc import Callable

import pytest

from mdmem.changes.recover import Transaction


@pytest.fixture
def undone() -> list[str]:
    return []


def undoing(undone: list[str], name: str, succeeds: bool = True) -> Callable[[BaseException], bool]:
    def undo(problem: BaseException) -> bool:
        undone.append(f"{name}: {problem}")
        return succeeds

    return undo


def test_what_was_done_stands_where_nothing_fails(undone: list[str]) -> None:
    with Transaction() as transaction:
        transaction.begin_write().add(undoing(undone, "file"))
    assert undone == []


def run(transaction: Transaction, problem: BaseException) -> None:
    """Let a transaction end by an exception."""
    with transaction:
        raise problem


@pytest.mark.parametrize(
    "problem",
    [ValueError("no"), KeyboardInterrupt("no")],
    ids=lambda problem: type(problem).__name__,
)
def test_all_writes_are_undone_newest_first(undone: list[str], problem: BaseException) -> None:
    transaction = Transaction()
    for number in (1, 2):
        steps = transaction.begin_write()
        steps.add(undoing(undone, f"file {number}"))
        steps.add(undoing(undone, f"commit {number}"))
    with pytest.raises(type(problem)) as failure:
        run(transaction, problem)
    assert failure.value is problem
    assert undone == ["commit 2: no", "file 2: no", "commit 1: no", "file 1: no"]


def test_a_step_that_cannot_be_undone_keeps_those_before_it(undone: list[str]) -> None:
    transaction = Transaction()
    first, second = transaction.begin_write(), transaction.begin_write()
    first.add(undoing(undone, "file 1"))
    second.add(undoing(undone, "file 2"))
    second.add(undoing(undone, "commit 2", succeeds=False))
    with pytest.raises(ValueError, match="no"):
        run(transaction, ValueError("no"))
    assert undone == ["commit 2: no", "file 1: no"]


def test_a_failing_undoing_is_what_is_raised_and_keeps_no_other_write_from_being_undone(
    undone: list[str],
) -> None:
    def fail(problem: BaseException) -> bool:
        raise OSError("the disk is full") from problem

    transaction = Transaction()
    transaction.begin_write().add(undoing(undone, "file 1"))
    steps = transaction.begin_write()
    steps.add(undoing(undone, "pending edits"))
    steps.add(fail)
    with pytest.raises(OSError, match="full") as failure:
        run(transaction, ValueError("no"))
    assert isinstance(failure.value.__cause__, ValueError)
    assert undone == ["file 1: the disk is full"]


def test_steps_that_are_kept_are_not_undone(undone: list[str]) -> None:
    transaction = Transaction()
    steps = transaction.begin_write()
    steps.add(undoing(undone, "file"))
    steps.keep()
    with pytest.raises(ValueError, match="no"):
        run(transaction, ValueError("no"))
    assert undone == []
