"""The work of the user's hooks, told from what somebody saves: pure, on the texts alone."""

import pytest

from mdmem.changes.file_write import (
    contains_change,
    looks_like_work_of_hook,
    reworded_problem,
    without_change,
)
from mdmem.model import FilePath

BEFORE = b"# Memory\n\n- lives in Oslo\n"
AFTER = b"# Memory\n\n- lives in Bergen\n- works at Stripe\n"


@pytest.mark.parametrize(
    ("data", "contains"),
    [
        (AFTER, True),
        (b"# Memory\n\n* lives in **Bergen**\n* works at\n  Stripe.\n", True),
        (AFTER + b"- of a person\n", True),
        (b"- works at Stripe\n- of a person\n- lives in Bergen\n", True),
        (b"# Memory\n\n- lives in Bergen\n", False),
        (AFTER + b"- lives in Oslo\n", False),
        (b"- lives in Bergenhus\n- works at Stripe\n", False),
        (BEFORE, False),
        (None, False),
    ],
)
def test_a_text_has_a_change_where_its_words_came_in_and_the_old_ones_went_out(
    data: bytes | None, contains: bool
) -> None:
    assert contains_change(data, BEFORE, AFTER) is contains


def test_lines_without_words_are_not_looked_for() -> None:
    assert contains_change(b"- a\n- b\n", b"- a\n---\n", b"- a\n\n***\n- b\n")


def test_a_line_that_went_out_and_is_meant_elsewhere_may_stay() -> None:
    assert contains_change(b"- b\n- c\n- a\n", b"- a\n- b\n", b"- b\n- c\n- a\n")


def test_no_file_has_an_empty_change() -> None:
    assert contains_change(None, None, b"---\n")


@pytest.mark.parametrize(
    ("data", "after", "is_alike"),
    [
        (b"* a\n", b"- a\n", True),
        (b"+ a\n", b"- a\n", True),
        (b"- a\n", b"* a\n", True),
        (b"= a\n", b"- a\n", False),
        (b"one two\nthree\nfour\n", b"one\ntwo   three\n\nfour\nnew\n", False),
        (b"one\ntwo three\nfour five\n", b"one two\nthree four five\n", True),
        (b"kept\nabcxx\n", b"kept\nabcde\n", True),
        (b"kept\nabcxxx\n", b"kept\nabcdef\n", False),
        (b"kept\nabcxx\nvwxaa\n", b"kept\nabcde\nvwxyz\n", True),
        (b"keptt\nabcxx\n", b"kept\nabcde\n", False),
        (b"kept\nabcxx\nmore\n", b"kept\nabcde\n", False),
    ],
)
def test_a_hook_changes_white_space_markers_and_words_of_new_lines_that_stay_alike(
    data: bytes, after: bytes, is_alike: bool
) -> None:
    assert looks_like_work_of_hook(data, b"kept\n", after) is is_alike


def test_a_change_is_taken_out_of_what_somebody_saved_with_it() -> None:
    before, after = b"# A\n\n- a\n\n# B\n\n- b\n", b"# A\n\n- a\n- ours\n\n# B\n\n- b\n"
    assert without_change(after + b"- theirs\n", before, after) == before + b"- theirs\n"
    assert without_change(b"# A\n\n- all is\n- otherwise\n", before, after) is None
    assert without_change(b"- ours\n\n\xff", None, b"- ours\n") is None


@pytest.mark.parametrize(
    ("committed", "line"),
    [
        (b"# memory\n\n* lives in **Bergen**\n- Works At Stripe\n", "# memory"),
        (b"# Memory\n\n* lives in **Bergen**\n\n- Works At Stripe\n- more\n", "- Works At Stripe"),
        (b"\xff\n", "\ufffd"),
        (b"# Memory\n", ""),
        (None, ""),
    ],
)
def test_the_failure_names_the_first_line_in_other_words(
    committed: bytes | None, line: str
) -> None:
    problem = reworded_problem(FilePath("a.md"), committed, AFTER)
    assert (problem.code, problem.message) == (
        "commit-failed",
        f"a hook changed the wording of what was written to a.md: {line}",
    )
