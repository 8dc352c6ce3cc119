"""A version of a merge: its sections and units hold all of its text."""

from __future__ import annotations

from conftest import examples
from generated_markdown import documents
from hypothesis import given

from mdmem.editors.merge3.versions import Version
from mdmem.editors.sections import SectionParts
from mdmem.text.document import parse

TEXT = "intro\n\n# Memory\n- a\n- b #t\n\n## Work `x`\n\npara\nof two\n***\n```\n# no heading\n```\n### Deep\n# Last\n"


def version(text: str, whole: frozenset[int] = frozenset()) -> Version:
    return Version(SectionParts(parse(text)), whole)


@given(documents)
@examples(150)
def test_elements_and_gaps_are_the_text(text: str) -> None:
    document = parse(text)
    number = len(document.sections)
    for whole in (frozenset(), frozenset(range(0, number + 1, 2))):
        parts = Version(SectionParts(document), whole)
        pieces = [
            gap + parts.text_of(element)
            for gap, element in zip(parts.gaps, parts.elements, strict=False)
        ]
        assert document.bom + "".join((*parts.front, *pieces, parts.gaps[-1])) == text
        assert all(not gap.strip(" \t\r\n") for gap in parts.gaps)


def test_units_are_items_other_blocks_and_runs_of_lines_between_them() -> None:
    parts = version(TEXT)
    assert [unit.text for unit in parts.units] == [
        "intro",
        "- a",
        "- b #t",
        "para\nof two",
        "***",
        "```\n# no heading\n```",
    ]
    assert parts.section_of == [0, 1, 1, 2, 2, 2]
    assert [unit.fact.text for unit in parts.units if unit.fact] == ["a", "b"]


def test_the_own_text_of_a_section_may_be_one_unit() -> None:
    parts = version(TEXT, frozenset({1, 2, 3}))
    assert [(unit.text, unit.is_whole) for unit in parts.units][1] == ("- a\n- b #t", True)
    assert parts.units_in[3] == [], "a section without text of its own"


def test_sections_know_their_paths_and_children() -> None:
    tree = SectionParts(parse(TEXT))
    assert [tree.name(section.number)[0] for section in tree.sections] == [
        (),
        ("Memory",),
        ("Memory", "Work x"),
        ("Memory", "Work x", "Deep"),
        ("Last",),
    ]
    assert [section.children for section in tree.sections] == [[1, 4], [2], [3], [], []]
