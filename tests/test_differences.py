import itertools

import pytest
from conftest import examples
from generated_markdown import documents
from hypothesis import given
from hypothesis import strategies as st

from mdmem.past.differences import DiffKind, changed_lines, line_difference, word_difference
from mdmem.text.document import common_ends, split_lines


@given(
    st.text("ab", max_size=8),
    st.text("ab", max_size=600),
    st.lists(st.sampled_from("abc"), max_size=8),
    st.lists(st.sampled_from("abc"), max_size=8),
)
def test_common_ends_are_the_longest(
    start: str, end: str, left: list[str], right: list[str]
) -> None:
    old, new = ([*start, *middle, *end] for middle in (left, right))
    first, last = common_ends(old, new)
    assert old[:first] == new[:first]
    assert old[len(old) - last :] == new[len(new) - last :]
    most = min(len(old), len(new))
    assert first == most or old[first] != new[first]
    assert first + last == most or old[-1 - last] != new[-1 - last]


@given(
    st.lists(st.sampled_from("abc\n"), max_size=12).map("".join),
    st.lists(st.sampled_from("abc\n"), max_size=12).map("".join),
)
@examples(200)
def test_changed_lines_are_between_the_common_ends(before: str, after: str) -> None:
    removed, added = changed_lines(before, after)
    old, new = split_lines(before), split_lines(after)
    start = next(
        i
        for i in range(len(old) + 1)
        if old[i : i + len(removed)] == removed and old[:i] + added + old[i + len(removed) :] == new
    )
    assert old[:start] == new[:start]
    assert bool(removed or added) is (before != after)


def test_line_differences_are_hunks() -> None:
    assert (
        line_difference("# A\n\n- a\n- b\n", "# A\n\n- a\n- c")
        == "@@ -1,4 +1,4 @@\n # A\n \n - a\n-- b\n+- c\n\\ No newline at end of file\n"
    )
    assert line_difference("", "# A\n") == "@@ -0,0 +1 @@\n+# A\n"
    assert line_difference("# A\n", "# A\r\n") == "@@ -1 +1 @@\n-# A\n+# A\r\n"
    assert line_difference("# A\n", "# A\n") == ""


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("", "", []),
        ("a\n", "a\n", [("kept", "a\n")]),
        ("", "a\n", [("in", "a\n")]),
        (
            "- works at Stripe\n",
            "- works at Linear\n",
            [("kept", "- works at "), ("out", "Stripe"), ("in", "Linear"), ("kept", "\n")],
        ),
        (
            "- lives in Oslo\n",
            "- drinks tea\n",
            [("out", "- lives in Oslo\n"), ("in", "- drinks tea\n")],
        ),
        (
            "- a\n- works at Stripe\n- b\n",
            "- a\n- new\n- works at Linear\n- b\n",
            [
                ("kept", "- a\n"),
                ("in", "- new\n"),
                ("kept", "- works at "),
                ("out", "Stripe"),
                ("in", "Linear"),
                ("kept", "\n- b\n"),
            ],
        ),
        (
            "- 他住在北京\n",
            "- 他住在上海\n",
            [("kept", "- 他住在"), ("out", "北京"), ("in", "上海"), ("kept", "\n")],
        ),
    ],
)
def test_differences_by_words(before: str, after: str, pieces: list[tuple[str, str]]) -> None:
    assert [(kind.value, text) for kind, text in word_difference(before, after)] == pieces


@given(documents, documents)
@examples(200)
def test_a_difference_contains_both_texts(before: str, after: str) -> None:
    pieces = word_difference(before, after)
    assert "".join(text for kind, text in pieces if kind is not DiffKind.IN) == before
    assert "".join(text for kind, text in pieces if kind is not DiffKind.OUT) == after
    assert all(text for _, text in pieces)
    assert all(left[0] is not right[0] for left, right in itertools.pairwise(pieces))


def test_long_lines_and_many_lines_are_not_compared_by_words() -> None:
    long, longer = ("w " * 3000 + end for end in ("a\n", "b\n"))
    assert [kind for kind, _ in word_difference(long, longer)] == [DiffKind.OUT, DiffKind.IN]
    many, more = ("".join(f"line {number} {end}\n" for number in range(30)) for end in ("a", "b"))
    assert [kind for kind, _ in word_difference(many, more)] == [DiffKind.OUT, DiffKind.IN]
