"""One change undone, everything later kept."""

import pytest
from call_counts import count_calls
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from mdmem.editors.merge3 import inverse_patch
from mdmem.model.errors import SectionProblem
from mdmem.text.document import Document, parse
from mdmem.text.facts import fact_id

TITLE = "# Memory\n\n## Work\n\n"


def undone(now: str, after: str, before: str, *only: str) -> str:
    """The text without the change, or without what it did to facts with these words."""
    return inverse_patch.undo(parse(now), after, before, frozenset(map(fact_id, only)) or None).text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_neighbouring_lines_stay(end: str, bom: str) -> None:
    before = bom + TITLE + "- works at Stripe\n- likes tea\n"
    after = bom + TITLE + "- works at Linear\n- likes tea\n"
    now = bom + TITLE + "- works at Linear\n- likes coffee\n- has a cat\n"
    expected = bom + TITLE + "- works at Stripe\n- likes coffee\n- has a cat\n"
    assert undone(*(text.replace("\n", end) for text in (now, after, before))) == expected.replace(
        "\n", end
    )


def test_the_section_is_named() -> None:
    assert inverse_patch.undo(parse(TITLE + "- b\n"), TITLE + "- b\n", TITLE + "- a\n").section == (
        "Memory",
        "Work",
    )


def test_of_several_sections_the_first_is_named_and_the_text_is_parsed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[str] = []

    def parse_and_record(text: str) -> Document:
        parsed.append(text)
        return parse(text)

    before = TITLE + "- a\n\n## Home\n\n- c\n\n## Garden\n\n- e\n"
    after = before.replace("- a", "- b").replace("- c", "- d").replace("- e", "- f")
    monkeypatch.setattr(inverse_patch, "parse", parse_and_record)
    edited = inverse_patch.undo(parse(after), after, before)
    assert (edited.text, edited.section) == (before, ("Memory", "Work"))
    assert parsed == [before]


@pytest.mark.parametrize(
    ("before", "after", "now", "expected"),
    [
        ("- a\n", "- a\n- b\n", "- a\n- b\n- c\n", "- a\n- c\n"),
        ("- a\n- b\n", "- a\n", "- a\n- c\n", "- a\n- b\n- c\n"),
        ("- a\n- b\n", "- b\n", "- c\n- b\n", "- a\n- c\n- b\n"),
        ("- a\n", "", "", "- a\n"),
        ("", "- a\n", "- a\n", ""),
        ("- a", "- b", "- b", "- a"),
        ("- a\n- b", "- a", "- a", "- a\n- b"),
        ("- a\n", "- a\n- b", "- a\n- b", "- a"),
        ("- a\n\n- b\n", "- a\n", "- x\n- a\n", "- x\n- a\n\n- b\n"),
    ],
)
def test_added_lines_go_and_removed_lines_come_back(
    before: str, after: str, now: str, expected: str
) -> None:
    assert undone(now, after, before) == expected


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("- works at Figma\n- c\n", ("- works at Figma", "- works at Stripe")),
        ("- c\n", ("", "- works at Stripe")),
    ],
)
def test_lines_changed_again_are_a_conflict(now: str, expected: tuple[str, str]) -> None:
    with pytest.raises(SectionProblem) as failure:
        undone(now, "- works at Linear\n- c\n", "- works at Stripe\n- c\n")
    assert failure.value.code == "revert-conflict"
    assert (failure.value.details["now"], failure.value.details["then"]) == expected


A, B = "## A\n\n- one\n\n", "## B\n\n- b1\n- b2\n- b3\n\n"


@pytest.mark.parametrize(
    ("changed", "later"),
    [
        ("## A\n\n- one\n- wrong\n\n", ""),
        ("## A\n\n- one\n- wrong\n\n", "- later\n"),
        ("## A\n\n- wrong\n- one\n\n", "- later\n"),
        ("## A\n\n- uno\n\n", ""),
        ("## A\n\n", ""),
        ("## A\n\n- one\n- b2\n\n", ""),
    ],
)
def test_in_a_section_that_was_moved(changed: str, later: str) -> None:
    """The change is taken out of the section as it is now, wherever that stands."""
    expected, current = (
        text.removesuffix("\n") + later + "\n" if later else text for text in (A, changed)
    )
    assert (
        undone(f"# T\n\n{B}{current}", f"# T\n\n{changed}{B}", f"# T\n\n{A}{B}")
        == f"# T\n\n{B}{expected}"
    )


def test_a_moved_section_in_which_the_change_is_undone_already_stays() -> None:
    now, before = f"# T\n\n{B}{A}", f"# T\n\n{A}{B}"
    assert undone(now, before.replace("- one\n", "- one\n- wrong\n"), before) == now
    assert undone(now, before.replace("- one\n", "- uno\n"), before) == now


def test_an_added_section_goes_from_where_it_was_moved_to() -> None:
    before, added = f"# T\n\n{A}{B}", "## C\n\n- c\n\n"
    assert undone(f"# T\n\n{added}{A}{B}", f"{before}{added}", before).split() == before.split()


def test_in_several_sections_in_another_order() -> None:
    before, after = (
        f"# T\n\n{A}{B}",
        f"# T\n\n{A}{B}".replace("- one", "- uno").replace("- b2\n", ""),
    )
    now = f"# T\n\n{B}{A}".replace("- one", "- uno").replace("- b2\n", "")
    assert undone(now, after, before) == f"# T\n\n{B}{A}"


WORDS = st.sampled_from(["milk", "water", "bread"])
SECTIONS = st.lists(st.lists(WORDS, max_size=4), min_size=2, max_size=4)


def in_order(sections: list[list[str]], order: list[int]) -> str:
    lines = {
        n: "".join(f"{line}\n" if line[:1] in ("", "#") else f"- {line}\n" for line in sections[n])
        for n in order
    }
    return "# T\n\n" + "".join(f"## {'ABCD'[n]}\n\n{lines[n]}\n" for n in order)


@pytest.mark.costly
@examples(400)
@given(old=SECTIONS, data=st.data())
def test_in_sections_in_any_order(old: list[list[str]], data: st.DataObject) -> None:
    changed = data.draw(st.sets(st.integers(0, len(old) - 1), max_size=2))
    new = [
        data.draw(st.lists(WORDS, max_size=4)) if n in changed else lines
        for n, lines in enumerate(old)
    ]
    old_order, order = list(range(len(old))), data.draw(st.permutations(range(len(old))))
    try:
        result = undone(in_order(new, order), in_order(new, old_order), in_order(old, old_order))
    except SectionProblem:
        return
    assert result.split() == in_order(old, order).split()


@pytest.mark.parametrize(
    ("old", "new", "order"),
    [
        ([[], ["milk", "milk", "milk"]], [["milk", "milk", "milk"], []], [1, 0]),
        ([["bread"], ["water", "water"]], [["water", "water"], ["milk"]], [1, 0]),
        ([[], ["bread", "milk"], []], [["bread", "milk"], ["water"], []], [0, 2, 1]),
    ],
)
def test_what_went_from_one_section_to_another_moves_no_heading(
    old: list[list[str]], new: list[list[str]], order: list[int]
) -> None:
    in_file = [*range(len(old))]
    assert (
        undone(in_order(new, order), in_order(new, in_file), in_order(old, in_file)).split()
        == in_order(old, order).split()
    )


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_a_section_with_one_below_it_in_any_order(order: tuple[int, ...]) -> None:
    before = [["one", "two"], ["three", "four"]]
    after = [*before, ["five", "", "### T", "", "six"]]
    expected = in_order(before, [n for n in order if n < 2])
    assert (
        undone(
            in_order(after, list(order)), in_order(after, [0, 1, 2]), in_order(before, [0, 1])
        ).split()
        == expected.split()
    )


def test_a_removed_line_is_not_back_because_another_section_has_the_same() -> None:
    before, after = [[], ["water"], ["milk", "milk", "water"]], [[], ["water"], ["milk", "milk"]]
    assert undone(
        in_order(after, [0, 2, 1]), in_order(after, [0, 1, 2]), in_order(before, [0, 1, 2])
    ) == in_order(before, [0, 2, 1])


def test_a_change_whose_line_stands_in_another_section_is_not_undone_already() -> None:
    before, after = f"# T\n\n{A}{B}", f"# T\n\n{A}{B}".replace("- one\n", "- one\n- wrong\n")
    with pytest.raises(SectionProblem) as failure:
        undone(f"# T\n\n{B}## Elsewhere\n\n- wrong\n", after, before)
    assert (failure.value.code, failure.value.details["made"]) == ("revert-conflict", "- wrong")


@pytest.mark.parametrize(
    ("before", "after", "only", "expected"),
    [
        ("- a\n- x\n- b\n", "- a2\n- x\n- b2\n", ["b2", "b"], "- a2\n- x\n- b\n"),
        ("", "- one\n- two\n- three\n", ["two"], "- one\n- three\n"),
        ("- one\n- two\n- three\n", "", ["two"], "- two\n"),
        ("- one\n", "- uno\n- two\n", ["two"], "- uno\n"),
        ("- one\n", "- uno\n- two\n", ["one", "uno"], "- one\n- two\n"),
        ("- one\n- two\n", "- uno\n", ["two"], "- uno\n- two\n"),
        ("# A\n\n## B\n", "# A\n\n- one\n\n## B\n", ["one"], "# A\n\n## B\n"),
        ("", "- a phone\n- phone\n", ["phone"], "- a phone\n"),
        ("", "- one\n- two\n  more\n- three\n", ["two\n  more"], "- one\n- three\n"),
    ],
)
def test_only_the_lines_of_some_facts(
    before: str, after: str, only: list[str], expected: str
) -> None:
    assert undone(after, after, before, *only) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- a\n- b\n- c\n", "- a\n- c\n"),
        ("- a\n", "- a\n- b\n"),
        ("- a\n", "- b\n"),
        ("", "- a\n"),
        ("- a\n", ""),
    ],
)
def test_a_change_that_is_undone_already_stays_undone(before: str, after: str) -> None:
    assert undone(before, after, before) == before
    apart = "- x\n- y\n"
    assert (
        undone(before + apart + "- later\n", after + apart, before + apart)
        == before + apart + "- later\n"
    )


def test_the_first_item_goes_from_a_list_that_has_grown() -> None:
    """A blank line was added with it, and is below the other items now."""
    before, after = "# A\n\n<!-- c -->\n\n## B\n", "# A\n\n<!-- c -->\n\n- one\n\n## B\n"
    assert undone(after.replace("- one\n", "- one\n- two\n"), after, before) == after.replace(
        "- one\n", "- two\n"
    )


def test_the_section_that_lines_went_from_is_named() -> None:
    before, after = "# A\n\n## B\n\n## C\n", "# A\n\n## B\n\n- one\n\n## C\n"
    assert inverse_patch.undo(parse(after), after, before).section == ("A", "B")
    assert inverse_patch.undo(parse(before), before, after).section == ("A", "B")


LINES = st.lists(
    st.sampled_from(["- a\n", "- b\n", "- c\n", "\n", "## H\n", "text\n"]), max_size=8
).map("".join)


@given(before=LINES, after=LINES)
def test_at_once_it_gives_the_text_before(before: str, after: str) -> None:
    assert undone(after, after, before) == before


@given(before=LINES, after=LINES, below=LINES)
def test_lines_added_below_stay(before: str, after: str, below: str) -> None:
    apart = "- one line\n- another line\n"
    assert undone(after + apart + below, after + apart, before + apart) == before + apart + below


@given(
    before=st.lists(st.integers(0, 9), unique=True), after=st.lists(st.integers(0, 9), unique=True)
)
def test_twice_is_as_once(before: list[int], after: list[int]) -> None:
    old, new = ("".join(f"- {n}\n" for n in numbers) for numbers in (before, after))
    once = undone(new, new, old)
    assert (once, undone(once, new, old)) == (old, old)


def test_what_it_costs_grows_with_the_size_of_the_file() -> None:
    def calls(size: int) -> int:
        before = [line for n in range(size) for line in (f"## {n}", "", f"- fact {n}", "")]
        after = [*before[:-2], "- changed", ""]
        now = ["# Later", "", *after, "- later"]
        texts = ["".join(f"{line}\n" for line in lines) for lines in (now, after, before)]
        texts_undone: list[str] = []
        count = count_calls(
            lambda: texts_undone.append(
                inverse_patch.undo(parse(texts[0]), texts[1], texts[2]).text
            )
        )
        assert texts_undone[0].endswith(f"- fact {size - 1}\n\n- later\n")
        return count

    calls(10)
    assert calls(1500) < 20 * calls(150), (
        "ten times as many lines: far from a hundred times the work"
    )


@pytest.mark.parametrize(
    ("before", "after", "now", "expected"),
    [
        pytest.param(["a a", "b b", "c c"], ["a a", "c c"], ["a new", "c new"], ["b b", "a new", "c new"], id="removed"),
        pytest.param(["a a", "b b", "c c"], ["a a", "b two", "c c"], ["a new", "b two", "c new"], ["a new", "b b", "c new"], id="replaced"),
        pytest.param(["a a", "b b", "c c"], ["a a", "b two", "c c"], ["c c", "b two", "a a"], ["c c", "b b", "a a"], id="replaced, in another order"),
        pytest.param(["a a", "c c"], ["a a", "b b", "c c"], ["c new", "b b", "a new"], ["c new", "a new"], id="added"),
    ],
)  # fmt: skip
def test_a_fact_whose_neighbours_were_replaced(
    before: list[str], after: list[str], now: list[str], expected: list[str]
) -> None:
    texts = [
        TITLE + "".join(f"- {fact}\n" for fact in facts) + "\n## Home\n\n- cat: Mia\n"
        for facts in (now, after, before, expected)
    ]
    assert undone(*texts[:3], "b b", "b two") == texts[3]


def test_a_fact_of_a_section_that_is_gone_is_a_conflict() -> None:
    before, after = TITLE + "- a a\n- b b\n- c c\n", TITLE + "- a a\n- c c\n"
    now = "# Memory\n\n## Home\n\n- cat: Mia\n\n## Garden\n\n- roses\n"
    with pytest.raises(SectionProblem):
        undone(now, after, before, "b b")


def test_a_line_that_is_there_twice_is_a_conflict() -> None:
    before, after = TITLE + "- a a\n- b b\n- c c\n", TITLE + "- a a\n- b two\n- c c\n"
    now = TITLE + "- c c\n- b two\n- d d\n- b two\n- a a\n"
    with pytest.raises(SectionProblem):
        undone(now, after, before, "b b", "b two")
