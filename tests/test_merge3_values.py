"""The three-way merge of one value; each row is tried with the sides both ways round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.editors.merge3.values import choices, merge_lines, merge_sets

few_lines = st.lists(st.sampled_from("abcdexyz"), max_size=6)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("o", "o", "o", {"o"}),
        ("o", "a", "o", {"a"}),
        ("o", "a", "a", {"a"}),
        ("o", "a", "b", {"a", "b"}),
    ],
)
def test_choices(base: str, ours: str, theirs: str, expected: set[str]) -> None:
    assert set(choices(base, ours, theirs)) == set(choices(base, theirs, ours)) == expected


def test_of_a_set_what_was_taken_out_is_out_and_what_was_added_is_sorted_behind() -> None:
    assert merge_sets(["a", "b", "c"], ["a", "c", "z"], ["a", "b", "y"]) == ["a", "y", "z"]


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param("a b c", "A b c", "a b C", "A b C", id="different lines"),
        pytest.param("a b c", "A b c", "B b c", None, id="the same line"),
        pytest.param("a b c", "a b c x", "a b c y", "a b c x y", id="both add at the end: sorted"),
        pytest.param("a b c", "a b c x", "a B c", "a B c x", id="more here, another there"),
        pytest.param("a b c", "a c", "a b C", "a C", id="gone and its neighbour changed"),
        pytest.param("a b c d", "a c d", "a b c D", "a c D", id="gone, another changed"),
        pytest.param("a b", "x a b", "a b y", "x a b y", id="before and behind"),
        pytest.param("a", "a x y", "a x", "a x y", id="one side has what the other has, and more"),
    ],
)
def test_lines(base: str, ours: str, theirs: str, expected: str | None) -> None:
    sides = [base.split(), ours.split(), theirs.split()]
    merged = merge_lines(*sides)
    assert merged == merge_lines(sides[0], sides[2], sides[1])
    assert (None if merged.pairs else merged.lines) == (expected and expected.split())


@given(few_lines, few_lines, few_lines)
def test_lines_are_merged_alike_both_ways_and_none_is_lost(
    base: list[str], ours: list[str], theirs: list[str]
) -> None:
    merged = merge_lines(base, ours, theirs)
    assert merged == merge_lines(base, theirs, ours)
    assert merge_lines(base, ours, base).lines == merge_lines(base, ours, ours).lines == ours
    assert set(merged.lines) >= {*ours, *theirs}.difference(base)
    assert set(merged.lines) <= {*ours, *theirs}
