"""Which unit of one version is which of another, one test for each rung."""

from __future__ import annotations

import pytest

from mdmem.editors.merge3.unit_matches import match_units
from mdmem.editors.merge3.versions import Version, match_all_sections
from mdmem.editors.sections import SectionParts
from mdmem.text.document import parse


def texts_of_triples(
    base: str, ours: str, theirs: str
) -> list[tuple[str | None, str | None, str | None]]:
    trees = [SectionParts(parse(text)) for text in (base, ours, theirs)]
    sections = match_all_sections(trees[0], (trees[1], trees[2]), lambda _: False)
    versions = [Version(tree) for tree in trees]
    matches = match_units(
        versions[0], (versions[1], versions[2]), sections, [False] * len(sections.triples)
    )
    numbers = [(triple.base, *triple.sides) for triple in matches.triples]
    return [
        tuple(
            None if n is None else version.units[n].text
            for version, n in zip(versions, row, strict=True)
        )
        for row in numbers
    ]


def became(old: str, new: str) -> str | None:
    """The unit that the first one of a text became on a side; None if it is gone."""
    first, *_ = texts_of_triples(old, new, old)
    assert texts_of_triples(old, old, new)[0] == (first[0], first[2], first[1])
    return first[1]


REST = "- the rest stays as it was\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("- a b", "- a b", "- a b", id="bytes"),
        pytest.param("- pay rent ^p1", "- something else entirely ^p1", "- something else entirely ^p1", id="block id"),
        pytest.param("- pay rent #due", "- [task] Pay  rent", "- [task] Pay  rent", id="id"),
        pytest.param("- shell: zsh", "- **shell**: fish in the morning", "- **shell**: fish in the morning", id="key"),
        pytest.param("- Ana works at Stripe in Dublin", "- Ana works at Linear in Dublin", "- Ana works at Linear in Dublin", id="likeness"),
        pytest.param("- Ana works at Stripe", "- the boiler hums at night", None, id="unlike"),
        pytest.param("- shell: zsh", "- host: zsh", None, id="another key"),
        pytest.param("some words\nof a paragraph", "some words of\na paragraph", "some words of\na paragraph", id="block: words"),
        pytest.param("one line\ntwo lines", "one line\nother lines", "one line\nother lines", id="block: half of its lines"),
        pytest.param("one line\ntwo lines\nthree", "one line\nx\ny", "one line\nx\ny", id="block: alone in its place"),
        pytest.param("one line\ntwo lines\nthree", "one line\nx\ny\n\nz", None, id="block: less than half of its lines"),
        pytest.param("one line", "```\none line\n```", None, id="block: another kind"),
    ],
)  # fmt: skip
def test_what_became_of_a_unit_of_a_section(old: str, new: str, expected: str | None) -> None:
    tail = f"\n\n## B\n\n{REST}"
    assert became(old + tail, new + tail) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("- pay rent #due", "- pay rent", "- pay rent", id="id"),
        pytest.param("- shell: zsh", "- shell: fish", "- shell: fish", id="key"),
        pytest.param("- the boiler hums at night in winter", "- the boiler hums at night in spring", "- the boiler hums at night in spring", id="likeness"),
        pytest.param("- Ana works at Stripe", "- Ben works at Stripe", None, id="less likeness"),
    ],
)  # fmt: skip
def test_what_became_of_a_fact_in_another_section(old: str, new: str, expected: str | None) -> None:
    assert became(f"# A\n{old}\n# B\n{REST}", f"# A\n# B\n{REST}{new}\n") == expected


def test_a_key_that_a_section_has_twice_tells_nothing() -> None:
    assert became("- shell: zsh by default", "- shell: fish at work\n- shell: bash at home") is None


def test_equal_units_are_matched_in_their_order() -> None:
    assert texts_of_triples("- a\n- a", "- a", "- a\n- a\n- a") == [
        ("- a", "- a", "- a"),
        ("- a", None, "- a"),
        (None, None, "- a"),
    ]


def test_what_both_sides_brought_in_is_one_by_id_and_by_key() -> None:
    base, ours, theirs = (
        REST,
        f"{REST}- new one #a\n- os: bsd\n- left alone\n",
        f"{REST}- New one #b\n- os: mac\n- right alone\n",
    )
    assert texts_of_triples(base, ours, theirs)[1:] == [
        (None, "- new one #a", "- New one #b"),
        (None, "- os: bsd", "- os: mac"),
        (None, "- left alone", None),
        (None, None, "- right alone"),
    ]
