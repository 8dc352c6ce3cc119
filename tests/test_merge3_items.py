"""The three-way merge of a list item, part by part; each row is tried with the sides both ways
round.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.editors.merge3.values import ItemText, merge_items

ITEMS = (
    "- pay the rent",
    "- [task] pay the rent (until 2027-01-01) #due #home <!-- c --> <!-- d --> ^p1",
    "* rent: paid\n  - beneath\n    - deep #tag\n",
    "1. #only #tags",
    "- [ ] unticked",
    "- [task]",
    "- two\n  lines #t ^b",
    "-",
    "- ```\n  code\n  ```\n  #t",
    "- x <!-- open",
    "+ (until 2027-01-01)",
)
parts = st.lists(
    st.sampled_from(
        [
            "[task] ",
            "pay",
            " rent",
            "k: v",
            " (until 2027-01-01)",
            " #a",
            " #b",
            " <!-- c -->",
            " ^p1",
            "\n  - x",
        ]
    ),
    max_size=6,
)
items = st.one_of(st.sampled_from(ITEMS), parts.map(lambda pieces: "- " + "".join(pieces)))


@given(items)
def test_an_item_is_its_parts(item: str) -> None:
    assert str(ItemText.read(item)) == item


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param("a b", "a c", "a b", ["a c"], id="one side changed it"),
        pytest.param("a b", "a c", "a c", ["a c"], id="the same change"),
        pytest.param("editor: vim", "editor: helix", "editor: vim #new", ["editor: helix #new"], id="value and tag"),
        pytest.param("editor: vim #old", "editor: helix #old", "editor: vim", ["editor: helix"], id="a part taken out is out"),
        pytest.param("x y #a #b", "x y #b #d", "x y #a #b #c", ["x y #b #c #d"], id="tags and tags"),
        pytest.param("pay", "[task] pay", "pay (until 2027-01-01)", ["[task] pay (until 2027-01-01)"], id="kind and until"),
        pytest.param("pay", "pay <!-- x -->", "pay ^p1", ["pay <!-- x --> ^p1"], id="comment and block id"),
        pytest.param("pay", "pay <!-- x -->", "pay <!-- w -->", ["pay <!-- w --> <!-- x -->"], id="two comments: one line with both"),
        pytest.param("pay <!-- o -->", "pay <!-- x -->", "pay", ["pay", "pay <!-- x -->"], id="a comment changed, and taken out"),
        pytest.param("[task] pay", "[todo] pay", "[work] pay", ["[todo] pay", "[work] pay"], id="two kinds"),
        pytest.param("pay", "pay (until 2027-01-01)", "pay (until 2027-02-01)", ["pay (until 2027-01-01)", "pay (until 2027-02-01)"], id="two untils"),
        pytest.param("pay", "pay ^b", "pay ^a", ["pay ^a", "pay ^b"], id="two block ids"),
        pytest.param("shell: bash", "shell: zsh", "shell: fish", ["shell: fish", "shell: zsh"], id="two values of a key"),
        pytest.param("a b c", "a b d", "a b e", ["a b d", "a b e"], id="other words, and others"),
        pytest.param("a\n  - x", "a b\n  - x", "a\n  - y", ["a b\n  - y"], id="words, and what stands beneath"),
        pytest.param("a\n  - x", "a\n  - x\n  - z", "a\n  - y", ["a\n  - y\n  - z"], id="one changes what stands beneath, one adds to it"),
        pytest.param("a\n  - x", "a\n  - z", "a\n  - y", ["a\n  - y", "a\n  - z"], id="the same line beneath"),
        pytest.param(None, "a #x", "A #y", ["A #x #y"], id="new on both with the same words"),
        pytest.param(None, "k: v", "k: w", ["k: v", "k: w"], id="a new key, two values"),
    ],
)  # fmt: skip
def test_what_stands_of_an_item(
    base: str | None, ours: str, theirs: str, expected: list[str]
) -> None:
    old = None if base is None else f"- {base}"
    assert list(merge_items(old, f"- {ours}", f"- {theirs}")) == [f"- {item}" for item in expected]
    assert merge_items(old, f"- {ours}", f"- {theirs}") == merge_items(
        old, f"- {theirs}", f"- {ours}"
    )


def test_a_guess_mixes_no_words_with_parts_of_another() -> None:
    old, ours, theirs = "- a b c", "- a b d", "- a b c #t"
    assert merge_items(old, ours, theirs) == ("- a b d #t",)
    assert merge_items(old, ours, theirs, is_guess=True) == ("- a b c #t", "- a b d")
    assert merge_items(old, "- a b d #u", "- a b d #t", is_guess=True) == ("- a b d #t #u",), (
        "their words are the same"
    )


@given(items, items, items, st.booleans())
def test_items_are_merged_alike_both_ways(
    base: str, ours: str, theirs: str, is_guess: bool
) -> None:
    merged = merge_items(base, ours, theirs, is_guess)
    assert merged == merge_items(base, theirs, ours, is_guess)
    assert (
        merge_items(base, ours, base, is_guess)
        == merge_items(base, ours, ours, is_guess)
        == (ours,)
    )
    texts = [ItemText.read(item) for item in merged]
    for words in {ItemText.read(item).words for item in (ours, theirs)} - {
        ItemText.read(base).words
    }:
        assert any(text.words == words for text in texts), "nobody's words go"
