"""Addresses and the sections that they name."""

import pytest
from conftest import examples
from generated_markdown import documents
from hypothesis import given

from mdmem.model.errors import SectionProblem, field
from mdmem.text.document import (
    address_of,
    create_remedy,
    find_section,
    matching_sections,
    parse,
    similar_paths,
)

TREE = "# Memory\n\n## Work\n\n### Notes\n\n## Home\n\n### Notes\n\n# Work\n\n## a > b\n\n# a\n\n## b\n\n## **Bold** `code` [link](u)\n"


@pytest.mark.parametrize(
    ("text", "address", "expected"),
    [
        (TREE, "Home", ["Memory > Home"]),
        (TREE, "Home > Notes", ["Memory > Home > Notes"]),
        (TREE, "Memory > Home > Notes", ["Memory > Home > Notes"]),
        (TREE, "Notes", ["Memory > Work > Notes", "Memory > Home > Notes"]),
        (TREE, "Work", ["Memory > Work", "Work"]),
        (TREE, "Memory > Notes", []),
        (TREE, "Hom", []),
        (TREE, "ome", []),
        (TREE, "a > b", ["Work > a > b"]),
        (TREE, "Work > a > b", ["Work > a > b"]),
        (TREE, "home", ["Memory > Home"]),
        (TREE, " memory  >\tHOME ", ["Memory > Home"]),
        (TREE, "Bold code link", ["a > **Bold** `code` [link](u)"]),
        (TREE, "**Bold** `code` [link](u)", ["a > **Bold** `code` [link](u)"]),
        (TREE, "a > BOLD code link", ["a > **Bold** `code` [link](u)"]),
        ("#\n## A\n# B\n## A\n", " > A", [" > A"]),
        (TREE, "", []),
        (TREE, " ", []),
        ("#\n# A\n", " ", []),
        # A whole path wins over an end of one.
        ("# X\n## A\n### B\n# A\n## B\n", "A > B", ["A > B"]),
        ("# X\n## A\n### B\n# Y\n## A\n### B\n", "A > B", ["X > A > B", "Y > A > B"]),
        # A part of a heading is none, also where it holds the sign between headings.
        ("# a > b\n## c\n", "b > c", []),
        ("# a > b\n## c\n", "a > b > c", ["a > b > c"]),
        ("# T\n## a > b\n### c\n", "A > b > c", ["T > a > b > c"]),
        # The first rule with a match decides.
        ("# work\n# Work\n# *Work*\n", "Work", ["Work"]),
        ("# work\n# *Work*\n", "Work", ["*Work*"]),
        ("# work\n# WORK\n", "Work", ["work", "WORK"]),
        ("# Café\n", "Cafe\u0301", ["Café"]),
        ("# Cafe\u0301\n# Café\n", "Café", ["Café"]),
        ("# STRASSE\n", "straße", ["STRASSE"]),
        ("two\nlines\n===\n", "two lines", ["two\nlines"]),
        ("# C\\#\n", "C#", ["C\\#"]),
        ("# A\n# A\n", "A", ["A", "A"]),
        ("```\n# A\n```\n", "A", []),
    ],
)
def test_addresses(text: str, address: str, expected: list[str]) -> None:
    document = parse(text)
    assert [
        " > ".join(section.path) for section in matching_sections(document, address)
    ] == expected


@given(documents)
@examples(100)
def test_every_whole_path_finds_its_section(text: str) -> None:
    document = parse(text)
    for section in document.sections:
        address = " > ".join(section.path)
        if address.strip(" >"):
            alike = [
                s for s in document.sections if " > ".join(s.path) == address or s.title == address
            ]
            assert section in matching_sections(document, address) or any(
                s.title == address for s in alike
            )


def test_not_found_names_the_nearest() -> None:
    with pytest.raises(SectionProblem) as caught:
        find_section(parse(TREE), "Hoem")
    assert caught.value.code == "section-not-found"
    assert caught.value.marked_hint == "Did you mean Memory > Home?"
    assert caught.value.details["near"] == ["Memory > Home"]
    with pytest.raises(SectionProblem) as caught:
        find_section(parse("text\n"), "A", remedy=create_remedy())
    assert field("create") in caught.value.marked_hint
    with pytest.raises(SectionProblem) as caught:
        find_section(parse("text\n"), "A")
    assert field("create") not in caught.value.marked_hint


def test_ambiguous_lists_path_and_line_and_a_number_chooses() -> None:
    document = parse(TREE)
    with pytest.raises(SectionProblem) as caught:
        find_section(document, "Notes")
    assert caught.value.code == "section-ambiguous"
    assert caught.value.details["sections"] == [
        {"section": "Memory > Work > Notes", "line": 5},
        {"section": "Memory > Home > Notes", "line": 9},
    ]
    assert caught.value.marked_hint.endswith(f"Give the whole path or {field('nth')} N.")
    assert find_section(document, "Notes", 2).start == 8
    assert find_section(document, "Home", 1).start == 6
    for number in (0, 3, -1):
        with pytest.raises(SectionProblem) as caught:
            find_section(document, "Notes", number)
        assert caught.value.code == "section-not-found"


@pytest.mark.parametrize("text", ["# T\n## A\n## A\n", "# A\n# B\n## A\n"])
def test_a_whole_path_is_no_advice_where_it_is_ambiguous_itself(text: str) -> None:
    with pytest.raises(SectionProblem) as caught:
        find_section(parse(text), "A")
    assert caught.value.marked_hint.endswith(f" (line 3). Give {field('nth')} N.")


def similar(titles: list[str], address: str) -> list[str]:
    return list(similar_paths(parse("".join(f"# {title}\n" for title in titles)), address))


def test_three_suggestions_at_most_the_most_alike_first() -> None:
    assert similar(["nothing", "works", "work", "worker", "working"], "wrok") == [
        "work",
        "works",
        "worker",
    ]
    assert similar(["abcd"], "abxy") == ["abcd"]  # just alike enough
    assert similar(["abcd"], "axyz") == []


def test_what_holds_the_words_or_is_held_by_them_is_suggested_too() -> None:
    assert similar(["All the plans of the coming year", "Other"], "plans") == [
        "All the plans of the coming year"
    ]
    assert similar(["Pets", "Other"], "the names of all our Pets and their ages") == ["Pets"]
    assert similar(["", "Other"], "plans") == []
    assert similar(["Plans"], " ") == []


def test_only_so_much_is_compared() -> None:
    far = ["x" * 3] * 1999 + ["needle"]
    assert similar(far, "needles") == ["needle"]
    assert similar(["x" * 3, *far], "needles") == []
    assert similar(["a" * 200 + "b" * 999], "a" * 200 + "c" * 999)
    assert similar(["zz" + "b" * 200], "q" * 200 + "b") == []


def test_one_section_by_many_names_is_suggested_once() -> None:
    assert similar_paths(parse("# plan\n## plan\n"), "plan x") == ("plan", "plan > plan")
    assert similar_paths(parse("# Plan\n# plan\n"), "plans") == ("Plan",)
    three = ("m > works", "m > worlds", "m > worker")  # each by its title and by its path
    assert (
        similar_paths(parse("# m\n## works\n## worker\n## working\n## worlds\n"), "m works")
        == three
    )


def test_long_addresses_are_cut_in_messages() -> None:
    with pytest.raises(SectionProblem) as caught:
        find_section(parse("# A\n"), "b" * 121)
    assert caught.value.message == f"no section {'b' * 120!r}"
    assert caught.value.details["near"] == []
    title = "c" * 121
    with pytest.raises(SectionProblem) as caught:
        find_section(parse(f"# {title}\n# {title}\n"), title)
    assert caught.value.message == f"2 sections are called {title[:120]!r}"
    with pytest.raises(SectionProblem) as caught:
        find_section(parse(f"# {title}\n"), title, 2)
    nth = field("nth")
    assert caught.value.message == f"{nth} must be 1: only one section is called {title[:120]!r}"
    with pytest.raises(SectionProblem) as caught:
        find_section(parse("# A\n# A\n"), "A", 0)
    assert caught.value.message == f"{nth} must be between 1 and 2: 2 sections are called 'A'"


def test_eight_sections_are_listed_at_most() -> None:
    nine = parse("".join(f"# {name}\n" for name in "ABCDEFGHI"))
    with pytest.raises(SectionProblem) as caught:
        find_section(nine, "xyz")
    listed = "Sections in this file: A; B; C; D; E; F; G; H."
    assert caught.value.marked_hint == listed
    with pytest.raises(SectionProblem) as caught:
        find_section(nine, "xyz", remedy=create_remedy())
    assert caught.value.marked_hint == f"{listed} Add {field('create')} to create the section."
    same = parse("".join(f"# {name}\n## Same\n" for name in "ABCDEFGHI"))
    with pytest.raises(SectionProblem) as caught:
        find_section(same, "Same")
    assert caught.value.marked_hint.startswith("They are A > Same (line 2); B > Same (line 4); ")
    assert caught.value.marked_hint.endswith(
        f"H > Same (line 16). Give the whole path or {field('nth')} N."
    )
    assert len(caught.value.details["sections"]) == 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n## B\n", [("A", None), ("A > B", None)]),
        ("# A\n# A\n", [("A", 1), ("A", 2)]),
        ("# A\n# A\n# A\n", [("A", 1), ("A", 2), ("A", 3)]),
        ("# A\n## B\n# A > B\n", [("A", None), None, ("A > B", None)]),
        ("# a\n# A\n", [("a", None), ("A", None)]),
    ],
)
def test_the_address_of_a_section_finds_it(
    text: str, expected: list[tuple[str, int | None] | None]
) -> None:
    document = parse(text)
    assert [address_of(document, section) for section in document.sections] == expected
    for section, address in zip(document.sections, expected, strict=True):
        assert address is None or find_section(document, *address) == section
