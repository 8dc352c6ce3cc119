"""Which section of one version is which of another, one test for each rung."""

from __future__ import annotations

import pytest

from mdmem.editors.merge3.versions import match_all_sections
from mdmem.editors.sections import SectionParts
from mdmem.text.document import parse

BASE = "# M\n## Work\n- a\n- b\n## Home\n- cat\n- dog\n### Pets\n- fish\n## Empty\n"


def heads(base: str, ours: str, theirs: str) -> set[tuple[str, str, str]]:
    """The headings of each matched section in the three versions; of a section that a version
    lacks, nothing.
    """
    texts = [SectionParts(parse(text)) for text in (base, ours, theirs)]
    matches = match_all_sections(
        texts[0], (texts[1], texts[2]), lambda title: title.startswith("10:")
    )
    titles = []
    for triple in matches.triples[1:]:
        numbers = [[triple.base] if triple.base is not None else [], *triple.sides]
        titles.append(
            tuple(
                "+".join(tree.sections[n].title for n in members)
                for tree, members in zip(texts, numbers, strict=True)
            )
        )
    return set(titles)


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        pytest.param(BASE, ("Work", "Work"), id="path"),
        pytest.param(BASE.replace("## Work", "## `Work`"), ("Work", "Work"), id="plain title"),
        pytest.param(BASE.replace("### Pets\n- fish\n", "").replace("## Home", "### Pets\n- fish\n## Home"), ("Pets", "Pets"), id="moved: its title alone"),
        pytest.param(BASE.replace("## Work", "## Job"), ("Work", "Job"), id="renamed: all of its facts"),
        pytest.param(BASE.replace("## Work\n- a", "## Job\n- z"), ("Work", "Job"), id="renamed: half of its facts"),
        pytest.param(BASE.replace("## Work\n- a\n- b", "## Job\n- y\n- z"), ("Work", ""), id="less than half of its facts"),
        pytest.param(BASE.replace("## Empty", "## Void"), ("Empty", "Void"), id="renamed: empty, in its place"),
        pytest.param(BASE.replace("## Home\n", "## House\n").replace("- cat\n- dog\n", ""), ("Home", ""), id="what is in it counts less than half"),
    ],
)  # fmt: skip
def test_what_became_of_a_section(ours: str, expected: tuple[str, str]) -> None:
    matched = heads(BASE, ours, BASE)
    assert (*expected, expected[0]) in matched
    assert (expected[0], expected[0], expected[1]) in heads(BASE, BASE, ours)


def test_of_equal_titles_each_is_matched_with_its_text() -> None:
    base = "# M\n## N\n- a\n## N\n- b\n"
    swapped = "# M\n## N\n- b\n## N\n- a\n"
    trees = [SectionParts(parse(text)) for text in (base, swapped, base)]
    matches = match_all_sections(trees[0], (trees[1], trees[2]), lambda _: False)
    assert [triple.sides for triple in matches.triples] == [
        ([0], [0]),
        ([1], [1]),
        ([3], [2]),
        ([2], [3]),
    ]


def test_a_new_section_under_the_new_name_of_an_old_one_is_that() -> None:
    renamed = BASE.replace("## Work", "## Job")
    added = BASE + "## Job\n- c\n"
    assert ("Work", "Job", "Work+Job") in heads(BASE, renamed, added)


def test_new_sections_of_one_name_are_one() -> None:
    assert ("", "New", "New") in heads(BASE, BASE + "## New\n- x\n", BASE + "## New\n- y\n")


def test_minutes_of_one_title_are_one_if_the_base_has_none() -> None:
    log = "# 2026-01-01\n"
    assert heads(log, log + "## 10:00\n- x\n## 10:00\n- y\n", log + "## 10:00\n- z\n") >= {
        ("", "10:00+10:00", "10:00")
    }


def test_of_several_new_sections_of_one_name_one_is_the_renamed_one_whichever_side_is_ours() -> (
    None
):
    base = "# M\n## Work\n- a\n- b\n"
    renamed_and_added = "# M\n## Job\n- a\n- b\n## Job\n- x\n"
    added = base + "## Job\n- y\n"
    assert heads(base, renamed_and_added, added) == {
        ("M", "M", "M"),
        ("Work", "Job", "Work+Job"),
        ("", "Job", ""),
    }
    assert heads(base, added, renamed_and_added) == {
        ("M", "M", "M"),
        ("Work", "Work+Job", "Job"),
        ("", "", "Job"),
    }
