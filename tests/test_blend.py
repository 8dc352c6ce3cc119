"""Likeness and word scores in one order."""

from mdmem.index.ranking import Likeness, places


def test_an_entry_that_is_not_like_the_question_counts_as_measured():
    likeness = Likeness(low=-0.5, high=0.5, least=0.5, of_candidates={1: 0.0, 2: 0.25, 3: 0.5})
    assert likeness.shares([1, 2, 3, 4]) == [0.5, 0.75, 1.0, 0.75]
    assert Likeness(-0.5, 0.5, 0.5, {1: 0.0}).shares([1, 2]) == [0.5, 0.5]


def test_shares_reach_to_the_best_entry_of_all():
    assert Likeness(0.0, 0.25, 0.25, {1: 0.25}, [(2, 0.5), (3, 0.375)]).shares([1]) == [0.5]
    assert Likeness(0.0, 0.5, 0.5, {}).share(0.25) == 0.5
    assert Likeness(0.25, 0.25, 0.25, {}).shares([1]) == [0.0]
    assert Likeness(0.25, 0.25, 0.25, {}).share(0.25) == 0.0


def test_entries_without_a_word_go_in_front_of_less_likely_ones():
    assert places([0.9, 0.8, 0.7, 0.1], [0.5, 0.4], (4, 7)) == [(3, 0), (5, 1)]
    assert places([0.9, 0.8, 0.7, 0.6], [0.5], (4,)) == []
    assert places([], [0.5, 0.4], (4, 7)) == [(0, 0), (1, 1)]
