"""The outcome of a write, as a table: what was meant, what is on disk, what git committed, what
failed.
"""

import pytest

from mdmem.changes.file_write import WriteEvidence, WriteOutcome, judge_write
from mdmem.model.errors import PathProblem, RepositoryProblem

BEFORE = b"# Memory\n\n- lives in Oslo\n"
AFTER = b"# Memory\n\n- lives in Oslo\n- works at Stripe as an engineer\n"
OTHER_FORM = b"# Memory\n\n* lives in Oslo\n* works at Stripe as an engineer\n"
OTHER_WORDS = b"# Memory\n\n- lives in Oslo\n- works at Stripe as a engineer\n"
THEIRS = b"# Memory\n\n- moved to another town long ago\n"
OURS_AND_THEIRS = AFTER + b"- a line of a person\n"

REFUSED = RepositoryProblem("commit-failed", "a hook refused")
TIMEOUT = RepositoryProblem("hook-timeout", "hooks took too long")
DISK_FULL = OSError(28, "No space left on device")
UNREADABLE = PathProblem("bad-path", "a link by now")
INTERRUPTION = KeyboardInterrupt()


@pytest.mark.parametrize(
    ("committed", "outcome", "outcome_with_hooks"),
    [
        (AFTER, WriteOutcome.COMMITTED, WriteOutcome.COMMITTED),
        (OTHER_FORM, WriteOutcome.MIXED, WriteOutcome.COMMITTED),
        (OURS_AND_THEIRS, WriteOutcome.MIXED, WriteOutcome.COMMITTED),
        (OTHER_WORDS, WriteOutcome.OVERTAKEN, WriteOutcome.REWORDED),
        (BEFORE, WriteOutcome.OVERTAKEN, WriteOutcome.OVERTAKEN),
        (THEIRS, WriteOutcome.OVERTAKEN, WriteOutcome.OVERTAKEN),
        (None, WriteOutcome.OVERTAKEN, WriteOutcome.OVERTAKEN),
    ],
    ids=[
        "as written",
        "in another form",
        "with a person's line",
        "in other words",
        "as before",
        "something else",
        "file gone",
    ],
)
def test_git_committed(
    committed: bytes | None, outcome: WriteOutcome, outcome_with_hooks: WriteOutcome
) -> None:
    for has_user_hooks, expected in ((False, outcome), (True, outcome_with_hooks)):
        evidence = WriteEvidence(
            before=BEFORE,
            after=AFTER,
            is_committed=True,
            committed=committed,
            has_user_hooks=has_user_hooks,
            on_disk=THEIRS,
        )
        assert judge_write(evidence) is expected


@pytest.mark.parametrize("committed", [AFTER, THEIRS, None])
def test_git_committed_and_the_process_was_interrupted(committed: bytes | None) -> None:
    evidence = WriteEvidence(
        before=BEFORE,
        after=AFTER,
        problem=INTERRUPTION,
        is_committed=True,
        committed=committed,
        has_user_hooks=False,
    )
    assert judge_write(evidence) is WriteOutcome.INTERRUPTED


OURS = {"as written": AFTER}
OURS_BY_A_HOOK = {"in another form": OTHER_FORM, "in other words": OTHER_WORDS}
NOT_OURS = {
    "as before": BEFORE,
    "gone": None,
    "something else": THEIRS,
    "with a person's line": OURS_AND_THEIRS,
}
SAVED_OVER = [
    (REFUSED, WriteOutcome.SAVED_OVER),
    (TIMEOUT, WriteOutcome.ABANDONED),
    (UNREADABLE, WriteOutcome.ABANDONED),
    (INTERRUPTION, WriteOutcome.ABANDONED),
    (DISK_FULL, WriteOutcome.FAILED),
]
"""The outcome of each failure where the file does not hold what was written."""


@pytest.mark.parametrize("has_user_hooks", [False, True])
@pytest.mark.parametrize(("problem", "outcome"), SAVED_OVER, ids=lambda value: type(value).__name__)
def test_git_committed_nothing(
    problem: BaseException, outcome: WriteOutcome, has_user_hooks: bool
) -> None:
    hooked = OURS_BY_A_HOOK if has_user_hooks else {}
    for name, data in (OURS | OURS_BY_A_HOOK | NOT_OURS).items():
        evidence = WriteEvidence(
            before=BEFORE, after=AFTER, problem=problem, on_disk=data, has_user_hooks=has_user_hooks
        )
        expected = WriteOutcome.FAILED if name in OURS | hooked else outcome
        assert judge_write(evidence) is expected, name


def test_a_new_file_that_was_taken_away_is_no_longer_what_was_written() -> None:
    evidence = WriteEvidence(
        before=None, after=AFTER, problem=REFUSED, on_disk=None, has_user_hooks=True
    )
    assert judge_write(evidence) is WriteOutcome.SAVED_OVER
