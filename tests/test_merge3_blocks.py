"""Merges inside blocks: examples with the sides both ways round, and the laws for random edits."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from block_texts import edited_lists, words
from call_counts import count_calls
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from mdmem.editors.merge3.merging import MergeResult, merge3, named_atoms
from mdmem.text.document import parse
from mdmem.text.facts import fact_id

HEAD = "# Memory\n\n"


def both_ways(base: str, ours: str, theirs: str) -> MergeResult:
    o, a, b = (f"{HEAD}{text}\n".encode() for text in (base, ours, theirs))
    result = merge3(o, a, b)
    assert result == merge3(o, b, a)
    assert merge3(o, a, o).data == merge3(o, a, a).data == a
    return result


def merged_again(base: str, ours: str, theirs: str) -> tuple[str, list[set[str]]]:
    """The same, which does not change where it is merged again with a side."""
    text, pairs = merged(base, ours, theirs)
    assert text == merged(base, text, ours)[0] == merged(base, theirs, text)[0]
    return text, pairs


def merged(base: str, ours: str, theirs: str) -> tuple[str, list[set[str]]]:
    """The block, and the pairs that are named."""
    result = both_ways(base, ours, theirs)
    assert result.data is not None, result.reason
    text = result.data.decode()
    assert text.startswith(HEAD)
    assert text.endswith("\n")
    return text[len(HEAD) : -1], [{pair[0], pair[1]} for pair in result.notes.contradictions]


def ids(*pairs: tuple[str, str]) -> list[set[str]]:
    return [{fact_id(first), fact_id(second)} for first, second in pairs]


TABLE = "| what | who |\n|---|---|\n"
PRICES = f"{TABLE}| tea | Ana |\n| rice | Bo |"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param(
            PRICES,
            PRICES.replace("Ana", "Cleo"),
            PRICES.replace("tea", "black tea"),
            PRICES.replace("tea | Ana", "black tea | Cleo"),
            id="two cells of a row",
        ),
        pytest.param(
            PRICES,
            f"{PRICES}\n| oats | Cleo |",
            f"{PRICES}\n| milk | Dan |",
            f"{PRICES}\n| milk | Dan |\n| oats | Cleo |",
            id="a row by each",
        ),
        pytest.param(
            PRICES,
            f"{TABLE}| rice | Bo |",
            PRICES.replace("Bo", "Dan"),
            f"{TABLE}| rice | Dan |",
            id="a row out, another changed",
        ),
        pytest.param(
            PRICES,
            f"{TABLE}| rice | Bo |\n| tea | Ana |",
            PRICES.replace("Ana", "Dan"),
            f"{TABLE}| rice | Bo |\n| tea | Dan |",
            id="sorted, and a cell",
        ),
        pytest.param(
            PRICES,
            "| what | who | paid |\n|---|---|---|\n| tea | Ana | yes |\n| rice | Bo | no |",
            f"{TABLE}| oats | Cleo |\n| tea | Ana |",
            "| what | who | paid |\n|---|---|---|\n| oats | Cleo |  |\n| tea | Ana | yes |\n"
            "| rice | Bo | no |",
            id="a column here; a row out and a row there",
        ),
        pytest.param(
            PRICES,
            "| what |\n|---|\n| tea |\n| rice |",
            f"{PRICES}\n| oats |  |",
            "| what |\n|---|\n| tea |\n| rice |\n| oats |",
            id="a column out",
        ),
        pytest.param(
            PRICES,
            "| what | who |\n|------|----:|\n| tea  | Ana |\n| rice | Bo  |",
            PRICES.replace("Bo", "Daniel"),
            "| what | who    |\n|------|-------:|\n| tea  | Ana    |\n| rice | Daniel |",
            id="padded here",
        ),
        pytest.param(
            PRICES,
            PRICES.replace("who", "name"),
            PRICES.replace("Bo", "Dan"),
            PRICES.replace("who", "name").replace("Bo", "Dan"),
            id="a column renamed",
        ),
    ],
)
def test_tables(base: str, ours: str, theirs: str, expected: str) -> None:
    assert merged_again(base, ours, theirs) == (expected, [])


def test_two_words_for_one_cell_are_two_rows_side_by_side() -> None:
    base = "| what | who | price |\n|---|---|---|\n| tea | Ana | 3 |\n| rice | Bo | 4 |"
    ours = base.replace("Ana", "Cleo").replace("tea", "black tea")
    theirs = base.replace("Ana", "Dan").replace("Bo", "Eve")
    both = "| black tea | Cleo | 3 |\n| black tea | Dan | 3 |\n| rice | Eve | 4 |"
    assert merged_again(base, ours, theirs) == (
        "\n".join([*base.split("\n")[:2], both]),
        ids(("black tea | Cleo | 3", "black tea | Dan | 3")),
    )


def test_a_row_that_one_side_removed_and_the_other_changed_is_kept() -> None:
    result = both_ways(PRICES, f"{TABLE}| rice | Bo |", PRICES.replace("Ana", "Dan"))
    assert result.data == f"{HEAD}{PRICES.replace('Ana', 'Dan')}\n".encode()
    assert result.notes.kept == (fact_id("tea | Dan"),)


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        pytest.param(
            PRICES.replace("who", "a"), PRICES.replace("who", "b"), "column", id="renamed"
        ),
        pytest.param(PRICES.replace("who", "what"), f"{PRICES}\n| a | b |", "one name", id="twins"),
        pytest.param(f"{PRICES}\n| a | b | c |", f"{PRICES}\n| a | b |", "more cells", id="excess"),
    ],
)
def test_tables_left_to_git(ours: str, theirs: str, reason: str) -> None:
    assert reason in both_ways(PRICES, ours, theirs).reason


rows = st.builds(lambda *cells: "| " + " | ".join(cells) + " |", words, words, words)


@given(edited_lists(rows))
@examples(200)
def test_any_edits_of_rows_are_merged_with_no_row_lost(texts: tuple[list[str], ...]) -> None:
    head = "| one | two | three |\n|---|---|---|"
    base, ours, theirs = texts
    text, _ = merged(*("\n".join([head, *lines]) for lines in texts))
    lines = text.split("\n")
    assert lines[:2] == head.split("\n")
    table = [re.findall(r"\w+", line) for line in lines[2:]]
    assert all(len(row) == 3 for row in table)
    for side in (ours, theirs):
        for row in {*side} - {*base}:
            cells = re.findall(r"\w+", row)
            for number, cell in enumerate(cells):
                assert any(other[number] == cell for other in table), "a cell that a side wrote"
    assert {*lines[2:]} >= ({*ours} & {*theirs}) - {*base}


# Nested and numbered lists, tasks.

FRUITS = "red fruit of trees", "ripe fruit of trees", "sour fruit of trees"
TREE = "- fruit\n  - apples\n  - plums\n- greens\n  - leeks\n  - kale"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param(TREE, TREE.replace("fruit", "what grows on trees"), TREE.replace("plums", "sweet plums"), TREE.replace("fruit", "what grows on trees").replace("plums", "sweet plums"), id="parent and child"),
        pytest.param(TREE, "- greens\n  - leeks\n  - plums\n  - kale\n- fruit\n  - apples", TREE.replace("plums", "sweet plums"), "- greens\n  - leeks\n  - sweet plums\n  - kale\n- fruit\n  - apples", id="moved and reworded"),
        pytest.param(TREE, TREE.replace("  -", "    -"), f"{TREE}\n  - peas", f"{TREE}\n  - peas".replace("  -", "    -"), id="indented here"),
        pytest.param(TREE, f"{TREE}\n  - peas", f"{TREE}\n  - beans", f"{TREE}\n  - beans\n  - peas", id="a child by each"),
        pytest.param(TREE, "- greens\n  - leeks\n  - kale", TREE.replace("plums", "sweet plums"), "- fruit\n  - sweet plums\n- greens\n  - leeks\n  - kale", id="parent gone, child changed"),
        pytest.param(TREE, "- greens\n  - leeks\n  - kale", TREE.replace("fruit", "fruits"), TREE.replace("fruit", "fruits"), id="all gone, parent changed"),
        pytest.param(TREE, f"{TREE}\n- roots", TREE.replace("- kale", "- kale #may"), f"{TREE} #may\n- roots", id="a tag beneath"),
        pytest.param("- a a\n\n  more of it\n\n  - b b\n- c c", "- a a\n\n  more of it\n\n  - b b #t\n- c c", "- a a\n\n  more of all\n\n  - b b\n- c c", "- a a\n\n  more of all\n\n  - b b #t\n- c c", id="a paragraph before the children"),
        pytest.param("1. one\n2. two", "1. zero\n2. one\n3. two", "1. one\n2. two #t\n3. three", "1. zero\n2. one\n3. two #t\n4. three", id="steps by each"),
        pytest.param("1. one\n1. two", "1. zero\n1. one\n1. two", "1. one\n1. two\n1. three", "1. zero\n1. one\n1. two\n1. three", id="not in order"),
        pytest.param("9. one\n   more", "9. zero\n10. one\n    more", "9. one\n   more\n10. two", "9. zero\n10. one\n    more\n11. two", id="a wider number"),
        pytest.param("", "1. one\n2. two", "1. two", "1. one\n2. two", id="a list by each"),
        pytest.param("- [ ] pay\n- [ ] call", "- [x] pay\n- [ ] call", "- [ ] pay Ana\n- [ ] call", "- [x] pay Ana\n- [ ] call", id="ticked, reworded"),
        pytest.param("- [ ] pay", "- [x] pay", "- [ ] pay #due", "- [x] pay #due", id="ticked, tagged"),
        pytest.param("- [ ] pay rent\n\n## Done", "## Done\n\n- [x] pay rent", "- [ ] pay rent to Ana\n\n## Done", "## Done\n\n- [x] pay rent to Ana", id="done, reworded"),
        pytest.param("- [ ] pay rent\n\n## Done\n\n- [x] call", "## Done\n\n- [x] pay rent\n- [x] call", "- [ ] pay rent before the end of June or July\n\n## Done\n\n- [x] call", "## Done\n\n- [x] pay rent before the end of June or July\n- [x] call", id="done, many words added"),
        pytest.param("## A\n\n- a a\n\n## B\n\n- b b", "## A\n\n- a a\n- new words\n\n## B\n\n- b b", "## A\n\n- a a\n\n## B\n\n- b b\n- new words", "## A\n\n- a a\n- new words\n\n## B\n\n- b b", id="new in two sections"),
    ],
)  # fmt: skip
def test_lists(base: str, ours: str, theirs: str, expected: str) -> None:
    assert merged_again(base, ours, theirs) == (expected, [])


def test_two_wordings_of_an_item_stand_side_by_side() -> None:
    ours, theirs = TREE.replace("leeks", "young leeks"), TREE.replace("leeks", "old leeks")
    assert merged_again(TREE, ours, theirs) == (
        TREE.replace("  - leeks", "  - old leeks\n  - young leeks"),
        ids(("old leeks", "young leeks")),
    )


def test_a_first_item_beneath_hangs_on_the_words_that_the_other_side_gave() -> None:
    base = "- a lamp\n- prefers the harbor\n- a mosaic\n"
    ours = "- a lamp\n- mirrors granite\n- a mosaic\n"
    theirs = "- a lamp\n- prefers the harbor\n  - a lantern\n- a mosaic\n"
    assert merged(base, ours, theirs)[0] == (
        "- a lamp\n- mirrors granite\n  - a lantern\n- a mosaic\n"
    )
    # two in its place: which of them it became is not told
    two = "- a lamp\n- mirrors granite\n- tests onyx\n- a mosaic\n"
    assert "- prefers the harbor\n  - a lantern\n" in merged(base, two, theirs)[0]


def test_two_wordings_of_an_item_each_have_the_items_beneath_as_that_side_has_them() -> None:
    base = "- red fruit of trees\n  - apples\n    - green\n  - plums\n  - figs\n- greens"
    ours = base.replace("red", "ripe").replace("green\n", "green ones\n")
    theirs = base.replace("red", "sour").replace("\n  - plums", "\n  - plums\n  - pears")
    theirs = theirs.replace("\n  - figs\n- greens", "\n- greens\n  - figs")
    assert merged_again(base, ours, theirs) == (
        "- ripe fruit of trees\n  - apples\n    - green ones\n  - plums\n"
        "- sour fruit of trees\n  - apples\n    - green\n  - plums\n  - pears\n"
        "- greens\n  - figs",
        ids(("ripe fruit of trees", "sour fruit of trees")),
    )


@st.composite
def edited_trees(draw: st.DrawFn) -> tuple[list[tuple[str, str]], ...]:
    """Pairs of parent and child, and two edits: other words, another parent, gone, new."""
    parents = ("fruit", "greens", "roots")
    names = draw(st.lists(words, min_size=1, max_size=6, unique=True))
    base = [(draw(st.sampled_from(parents)), name) for name in names]
    sides = []
    for side in ("x", "y"):
        edited = []
        for parent, name in base:
            edit = draw(st.sampled_from(("", "", "change", "move", "remove")))
            if edit != "remove":
                place = draw(st.sampled_from(parents)) if edit == "move" else parent
                edited.append((place, f"{name} {side}" if edit == "change" else name))
        edited += [(draw(st.sampled_from(parents)), f"new {side}")] * draw(st.integers(0, 1))
        sides.append(edited)
    return base, *sides


def tree_text(tree: list[tuple[str, str]], fruit: str = "fruit") -> str:
    return "\n".join(
        f"- {fruit if parent == 'fruit' else parent}"
        + "".join(f"\n  - {name}" for around, name in tree if around == parent)
        for parent in ("fruit", "greens", "roots")
    )


@given(edited_trees())
@examples(200)
def test_any_edits_of_nested_items_are_merged_with_none_lost_or_doubled(
    trees: tuple[list[tuple[str, str]], ...],
) -> None:
    text, _ = merged(*map(tree_text, trees))
    items = re.findall(r"- (.*)", text)
    base, ours, theirs = ({name for _, name in tree} for tree in trees)
    assert len(items) == len(set(items))
    assert {*items} >= (ours & theirs) | (ours - base) | (theirs - base)
    assert {*items} <= ours | theirs | {"fruit", "greens", "roots"}


@pytest.mark.costly
@given(edited_trees())
@examples(200)
def test_beneath_two_wordings_of_an_item_nothing_is_lost_or_doubled_in_either(
    trees: tuple[list[tuple[str, str]], ...],
) -> None:
    texts = [tree_text(tree, fruit) for tree, fruit in zip(trees, FRUITS, strict=True)]
    text, notes = merged(*texts)
    items = re.findall(r"- (.*)", text)
    base, ours, theirs = ({name for _, name in tree} for tree in trees)
    assert {*items} >= {*FRUITS[1:]} | (ours & theirs) | (ours - base) | (theirs - base)
    assert {*items} <= {*FRUITS[1:]} | ours | theirs | {"greens", "roots"}
    for tree in re.split(r"(?m)^(?=- )", text):
        beneath = re.findall(r"  - (.*)", tree)
        assert len(beneath) == len(set(beneath))
    assert ids((FRUITS[1], FRUITS[2]))[0] in notes


@given(edited_lists(words))
@examples(200)
def test_any_edits_of_a_numbered_list_are_merged_with_no_step_lost_and_in_order(
    texts: tuple[list[str], ...],
) -> None:
    base, ours, theirs = texts
    text, pairs = merged(
        *("\n".join(f"{n}. {word}" for n, word in enumerate(side, 1)) for side in texts)
    )
    steps = re.findall(r"(\d+)\. (.*)", text)
    names = [word for _, word in steps]
    assert [int(number) for number, _ in steps] == [*range(1, len(steps) + 1)]
    assert len(names) == len(set(names))
    assert {*names} >= ({*ours} & {*theirs}) | ({*ours} | {*theirs}) - {*base}
    assert {*names} <= {*ours} | {*theirs}
    assert all(pair <= {fact_id(word) for word in names} for pair in pairs)


# Front matter.


@given(edited_lists(words), st.tuples(*[st.booleans()] * 3))
@examples(200)
def test_any_edits_of_a_list_in_front_matter_are_merged_item_by_item(
    texts: tuple[list[str], ...], are_flow: tuple[bool, bool, bool]
) -> None:
    fields = (
        f"tags: [{', '.join(side)}]" if is_flow else "\n".join(["tags:", *(f"- {i}" for i in side)])
        for side, is_flow in zip(texts, are_flow, strict=True)
    )
    o, a, b = (f"---\n{field}\n---\n{HEAD}".encode() for field in fields)
    result = merge3(o, a, b)
    assert result == merge3(o, b, a)
    assert result.data is not None
    assert merge3(o, result.data, a).data == merge3(o, b, result.data).data == result.data
    base, ours, theirs = map(set, texts)
    items = re.findall(r"[a-z]+", result.data.decode().split("---")[1])[1:]
    assert len(items) == len(set(items))
    assert {*items} == (ours & theirs) | (ours - base) | (theirs - base)


# Paragraphs, quotes, fences.

PROSE = "The house is old.\nIt has two chimneys.\nThe roof leaks in winter."


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param(PROSE, PROSE.replace("old", "very old"), PROSE.replace("two", "three"), PROSE.replace("old", "very old").replace("two", "three"), id="two sentences"),
        pytest.param("It is old. It leaks.", "It is old. It leaks. Bo knows.", "It is old. It leaks. Ana knows.", "It is old. It leaks. Ana knows. Bo knows.", id="a sentence by each"),
        pytest.param("It is old.\nIt leaks.", "It is old. It leaks.", "It is old.\nIt leaks in winter.", "It is old. It leaks in winter.", id="on one line here"),
        pytest.param("It is old. It leaks. Bo knows.", "It is old. Bo knows.", "It is very old. It leaks. Bo knows.", "It is very old. Bo knows.", id="a sentence out, another changed"),
        pytest.param("它很旧。它漏水。", "它很旧。它漏水。阿波知道。", "它非常旧。它漏水。", "它非常旧。它漏水。阿波知道。", id="no spaces"),
        pytest.param("See `a. B` and 3.5. It ran.", "See `a. B` and 3.5. It ran well.", "See `a. C` and 3.5. It ran.", "See `a. C` and 3.5. It ran well.", id="code and a number"),
        pytest.param("> It is old.\n> It leaks.", "> It is very old.\n> It leaks.", "> It is old.\n> It leaks badly.", "> It is very old.\n> It leaks badly.", id="a quote"),
        pytest.param("> [!tip] Roof\n> It leaks.", "> [!tip] The roof\n> It leaks.", "> [!tip] Roof\n> It leaks.\n> Bo knows.", "> [!tip] The roof\n> It leaks.\n> Bo knows.", id="a callout"),
        pytest.param("```sh\na\nb\nc\n```", "```sh\na\nB\nc\n```", "```sh\na\nb\nC\n```", "```sh\na\nB\nC\n```", id="lines of a fence"),
        pytest.param("```\na\nb\n```", "```\nb\n```", "```\na\nB\n```", "```\nB\n```", id="a line out, another changed"),
    ],
)  # fmt: skip
def test_prose_and_fences(base: str, ours: str, theirs: str, expected: str) -> None:
    assert merged_again(base, ours, theirs) == (expected, [])


def test_equal_lines_of_a_fence_are_as_many_as_the_sides_wrote() -> None:
    base, ours, theirs = (
        f"```\n{code}\n```" for code in ("a\n}\nb\n}", "x\n}\na\n}\nb\n}", "a\n}\nb\n}\ny\n}")
    )
    assert merged_again(base, ours, theirs) == ("```\nx\n}\na\n}\nb\n}\ny\n}\n```", [])


@given(edited_lists(st.sampled_from("ab}"), is_unique=False))
@examples(200)
def test_a_fence_with_equal_lines_is_merged_for_good_or_left_to_git(
    texts: tuple[list[str], ...],
) -> None:
    base, ours, theirs = ("\n".join(["```", *lines, "```"]) for lines in texts)
    result = both_ways(base, ours, theirs)
    if result.data is None:
        assert result.reason == "equal lines of a block make its merge a guess"
    else:
        merged_again(base, ours, theirs)


def test_wrapped_prose_is_wrapped_from_the_edited_sentence_on() -> None:
    base = "The house by the lake\nis old. It has two\nchimneys and a roof.\nIt leaks."
    ours = base.replace("two", "three wide")
    theirs = base.replace("It leaks.", "It leaks in every winter.")
    assert merged_again(base, ours, theirs)[0] == (
        "The house by the lake\nis old. It has three wide\nchimneys and a roof. It\n"
        "leaks in every winter."
    )


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected", "pair"),
    [
        pytest.param("It is old. It leaks.", "It is very old. It leaks.", "It is quite old. It leaks.", "It is quite old. It is very old. It leaks.", ("It is quite old.", "It is very old."), id="a sentence"),
        pytest.param("It leaks.", "Bo mended the roof.", "Ana sold the house.", "Ana sold the house. Bo mended the roof.", ("Bo mended the roof.", "Ana sold the house."), id="all of it"),
        pytest.param("It leaks", "It leaks much", "It leaks a little", "It leaks a little\n\nIt leaks much", ("It leaks much", "It leaks a little"), id="without a full stop"),
        pytest.param("> It leaks.", "> It leaks much.", "> It leaks a little.", "> It leaks a little. It leaks much.", ("It leaks much.", "It leaks a little."), id="of a quote"),
        pytest.param("> [!tip] A\n> It leaks.", "> [!tip] C\n> It leaks.", "> [!tip] B\n> It leaks.", "> [!tip] B\n> It leaks.\n\n> [!tip] C\n> It leaks.", ("B", "C"), id="a title"),
        pytest.param("```\na\nb\n```", "```\nx\nb\nc\n```", "```\ny\nb\n```", "```\nx\nb\nc\n```\n\n```\ny\nb\n```", ("x", "y"), id="a line of a fence"),
    ],
)  # fmt: skip
def test_two_versions_of_one_atom_are_named(
    base: str, ours: str, theirs: str, expected: str, pair: tuple[str, str]
) -> None:
    assert merged_again(base, ours, theirs) == (expected, ids(pair))


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_what_is_named_is_found_with_its_line(line_end: str) -> None:
    text = f"{HEAD}> [!tip] Keys\n> Under the mat. By\n> the door.\n\n{PRICES}\n\n- a b\n  - c d\n\nIt is. So it\nis.\n"
    atoms = named_atoms(parse(text.replace("\n", line_end)))
    assert {(atom.text, atom.line) for atom in atoms if atom.id == fact_id(atom.text)} >= {
        ("Keys", 2), ("Under the mat.", 3), ("By the door.", 3), ("tea | Ana", 8), ("a b", 11), ("c d", 12),
        ("It is.", 14), ("So it is.", 14),
    }  # fmt: skip


@given(edited_lists(st.builds("The {} is {}.".format, words, words)), st.booleans())
@examples(200)
def test_any_edits_of_sentences_are_merged_with_none_lost(
    texts: tuple[list[str], ...], is_quote: bool
) -> None:
    base, ours, theirs = texts
    start = "> " if is_quote else ""
    text, _ = merged(*(start + " ".join(["It begins.", *side]) for side in texts))
    sentences = re.findall(r"The \w+ is \w+\.", text)
    assert len(sentences) == len(set(sentences))
    assert {*sentences} <= {*ours} | {*theirs}
    assert {*sentences} >= ({*ours} | {*theirs}) - {*base} | ({*ours} & {*theirs})
    assert text == start + " ".join(["It begins.", *sentences])


@given(edited_lists(words))
@examples(200)
def test_any_edits_of_lines_are_merged_with_none_lost(texts: tuple[list[str], ...]) -> None:
    base, ours, theirs = texts
    text, pairs = merged(*("\n".join(["```", *side, "```"]) for side in texts))
    blocks = text.split("\n\n")
    lines = {line for block in blocks for line in block.split("\n")} - {"```"}
    assert len(blocks) == (2 if pairs else 1)
    assert lines <= {*ours} | {*theirs}
    assert lines >= ({*ours} | {*theirs}) - {*base} | ({*ours} & {*theirs})


# What it costs.


def sentences(word: str, numbers: range) -> str:
    return " ".join(f"The {word} number {n} is in room {7 * n}." for n in numbers)


def table_of(word: str, numbers: range) -> str:
    return TABLE + "\n".join(f"| tea {n} | {word} {n * n} |" for n in numbers)


def list_of(word: str, numbers: range) -> str:
    return "\n".join(f"- shelf {n}\n  - {word} {n}" for n in numbers)


def code_of(word: str, numbers: range) -> str:
    lines = "\n".join(f"{word if n % 2 else 'run'} {n}" for n in numbers)
    return f"```\n{lines}\n```"


@pytest.mark.every(2)
@pytest.mark.costly
@pytest.mark.parametrize("block", [sentences, table_of, list_of, code_of])
def test_what_a_long_block_costs_grows_with_its_length(block: Callable[[str, range], str]) -> None:
    def calls(size: int) -> int:
        texts = [block(word, range(size)) for word in ("cup", "red cup", "tall cup")]
        return count_calls(lambda: merged(*texts))

    calls(10)
    assert calls(300) < 20 * calls(30)


@pytest.mark.parametrize("form", ["\n{}: {}", "\n# one\n{}: {}"])
def test_what_long_front_matter_costs_grows_with_its_length(form: str) -> None:
    def calls(size: int) -> int:
        texts = [
            "---"
            + "".join(form.format(f"key{n}", value + str(n)) for n in range(size))
            + "\ntags:\n"
            + "".join(f"- {n} {value if n % 2 else ''}\n" for n in range(size))
            + "---\n"
            for value in ("red", "green", "blue")
        ]
        base, ours, theirs = (text.encode() for text in texts)
        return count_calls(lambda: merge3(base, ours, theirs))

    calls(10)
    assert calls(300) < 20 * calls(30)


def test_a_list_nested_twenty_deep() -> None:
    base = "\n".join(f"{'  ' * depth}- item {depth}" for depth in range(20))
    ours, theirs = base.replace("item 7", "item 7 #t"), base.replace("item 19", "last item 19")
    both = ours.replace("item 19", "last item 19")
    assert merged_again(base, ours, theirs) == (both, [])


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected", "named"),
    [
        pytest.param(
            "> [!tip] Keys\n> They are under the mat",
            "> [!tip] Keys\n> They are under the red mat",
            "> [!tip] Keys\n> They are under the blue mat",
            "> [!tip] Keys\n> They are under the blue mat\n\n"
            "> [!tip] Keys\n> They are under the red mat",
            ids(("They are under the blue mat", "They are under the red mat")),
            id="a callout without a full stop",
        ),
        pytest.param(
            "- i1 alpha\n- i2 beta gamma",
            "- i1 alpha one\n  - i2 beta gamma",
            "- i1 alpha two\n- i2 beta delta",
            "- i1 alpha one\n  - i2 beta delta\n- i1 alpha two",
            ids(("i1 alpha one", "i1 alpha two")),
            id="moved beneath an item that both reworded, and reworded",
        ),
        pytest.param(
            "Beta iron",
            "Beta new",
            "Other iron. Third thing",
            "Beta new\n\nOther iron. Third thing",
            ids(("Beta new", "Other iron. Third thing")),
            id="sentences that only their sides can tell apart",
        ),
    ],
)
def test_both_sides_words_are_there_and_named(
    base: str, ours: str, theirs: str, expected: str, named: list[set[str]]
):
    assert merged(base, ours, theirs) == (expected, named)
    standing = {atom.id for atom in named_atoms(parse(f"{HEAD}{expected}\n"))}
    facts = {fact_id(line.lstrip(" -")) for line in expected.split("\n")}
    assert all(pair <= standing | facts for pair in named)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param(
            "| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |",
            "| a |\n|---|\n| x |\n| y |",
            "| a | b |\n|---|---|\n| x | 1 new |\n| y | 2 |",
            "| a | b |\n|---|---|\n| x | 1 new |\n| y | 2 |",
            id="a word in a column that is gone",
        ),
        pytest.param(
            "1. drain\n   - done\n2. close\n   - done",
            "1. first\n2. drain\n   - done\n3. close\n   - done",
            "1. drain\n   - done\n2. close\n   - done at noon",
            "1. first\n2. drain\n   - done\n3. close\n   - done at noon",
            id="beneath a step whose number changed",
        ),
        pytest.param(
            "".join(f"{n}. step {n}\n" for n in range(1, 9)) + "   - child",
            "1. first\n" + "".join(f"{n + 1}. step {n}\n" for n in range(1, 9)) + "   - child",
            "".join(f"{n + (n > 4)}. step {n}\n" + "5. middle\n" * (n == 4) for n in range(1, 9))
            + "   - child",
            "1. first\n2. step 1\n3. step 2\n4. step 3\n5. step 4\n6. middle\n7. step 5\n"
            "8. step 6\n9. step 7\n10. step 8\n    - child",
            id="beneath a step whose number became longer",
        ),
        pytest.param(
            "First block.\n\nOne is here. Two is there.",
            "First block.\n\nOne is here.",
            "First block.\n\nTwo is there.",
            "First block.",
            id="each side removed the other sentence",
        ),
    ],
)
def test_what_follows_from_the_other_side(base: str, ours: str, theirs: str, expected: str):
    assert merged(base, ours, theirs) == (expected, [])


def test_a_long_list_in_front_matter_with_a_note_takes_no_time():
    years = ", ".join(map(str, range(1000, 4000)))
    base = f"---\nyears: [{years}] # all\n---\n\n# M\n\n- one\n"
    result = merge3(base.encode(), base.replace("one", "two").encode(), f"{base}- x\n".encode())
    assert result.data == f"{base}- x\n".replace("one", "two").encode()


def test_a_block_that_one_side_removed_and_the_other_changed_is_named():
    base = "First block.\n\nThe roof leaks in the north"
    result = both_ways(base, "First block.", f"{base} corner")
    assert result.notes.kept == (fact_id("The roof leaks in the north corner"),)
