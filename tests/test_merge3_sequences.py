"""The order of a merge."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.editors.merge3.sequences import matching_items, merge_order, merge_set_order

letters = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=8)
repeated = st.lists(st.sampled_from("abc"), max_size=9)


@given(repeated, repeated)
def test_matching_items_ascend_on_both_sides_and_hold_common_ends(
    left: list[str], right: list[str]
) -> None:
    pairs = matching_items(left, right)
    assert all(left[a] == right[b] for a, b in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert matching_items(left, left) == [(n, n) for n in range(len(left))]


def test_matching_items_are_told_by_those_that_stand_once() -> None:
    assert matching_items("xaybz", "paqbrs") == [(1, 1), (3, 3)]
    assert matching_items("abc", "cba") in ([(0, 2)], [(1, 1)], [(2, 0)])


def order(base: str, ours: str, theirs: str) -> str:
    merged = merge_order(base, (ours, theirs), str)
    assert merged == merge_order(base, (theirs, ours), str)
    return "".join(merged)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param("abc", "bac", "abc", "bac", id="the side that changed it"),
        pytest.param("abc", "cba", "bac", "bac", id="both: the one that sorts first"),
        pytest.param("abc", "axbc", "abc", "axbc", id="new: behind what it stood behind"),
        pytest.param("abc", "ayzbc", "axbc", "axyzbc", id="two pieces at one place"),
        pytest.param("abc", "bac", "abxc", "bxac", id="a new one follows that"),
        pytest.param("", "yz", "x", "xyz", id="at the beginning"),
    ],
)
def test_order(base: str, ours: str, theirs: str, expected: str) -> None:
    assert order(base, ours, theirs) == expected


@given(letters, letters, letters)
def test_each_stands_once_and_neighbours_stay_in_one_piece(
    base: list[str], ours: list[str], theirs: list[str]
) -> None:
    merged = merge_order(base, (ours, theirs), str)
    assert merged == merge_order(base, (theirs, ours), str)
    assert sorted(merged) == sorted({*ours, *theirs})
    for side, other in ((ours, theirs), (theirs, ours)):
        for before, behind in pairwise(side):
            if behind not in other and before not in other:
                assert merged.index(behind) == merged.index(before) + 1


def set_order(base: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    return merge_set_order(base, (ours, theirs), (str, str))


def test_of_a_set_the_base_stands_first_as_it_is_and_what_was_added_by_its_place() -> None:
    assert set_order(list("ca"), list("cad"), list("cab")) == list("cabd")
    assert set_order([], list("pbx"), list("cq")) == list("cpbqx"), "b came late: it stays behind p"


@given(letters, letters, letters)
def test_each_side_keeps_its_order_of_what_it_added_to_a_set(
    base: list[str], ours: list[str], theirs: list[str]
) -> None:
    assert set_order(base, ours, theirs) == set_order(base, theirs, ours)
    theirs = [item for item in theirs if item in base or item not in ours]
    merged = set_order(base, ours, theirs)
    for side in (ours, theirs):
        own = [item for item in side if item not in base]
        assert [item for item in merged if item in own] == own


@given(st.permutations("abcdefghij"), st.integers(0, 10), st.integers(0, 10))
def test_sets_are_merged_alike_in_any_order(items: list[str], one: int, other: int) -> None:
    low, high = sorted((one, other))
    first, second, third = items[:low], items[low:high], items[high:]
    left = set_order([], set_order([], first, second), third)
    assert left == set_order([], first, set_order([], second, third))
