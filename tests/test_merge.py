"""One change taken back, everything later kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.document import parse
from mdmem.editors import merge
from mdmem.errors import SectionProblem

TITLE = "# Memory\n\n## Work\n\n"


def undone(now: str, after: str, before: str, words: str | None = None) -> str:
    return merge.undo(parse(now), after, before, words).text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_lines_beside_it_stay_as_they_are(end: str, bom: str) -> None:
    before = bom + TITLE + "- works at Stripe\n- likes tea\n"
    after = bom + TITLE + "- works at Linear\n- likes tea\n"
    now = bom + TITLE + "- works at Linear\n- likes coffee\n- has a cat\n"
    wanted = bom + TITLE + "- works at Stripe\n- likes coffee\n- has a cat\n"
    assert undone(*(text.replace("\n", end) for text in (now, after, before))) == wanted.replace("\n", end)


def test_the_section_is_named() -> None:
    assert merge.undo(parse(TITLE + "- b\n"), TITLE + "- b\n", TITLE + "- a\n").section == ("Memory", "Work")


@pytest.mark.parametrize(
    ("before", "after", "now", "wanted"),
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
def test_what_came_goes_and_what_went_comes(before: str, after: str, now: str, wanted: str) -> None:
    assert undone(now, after, before) == wanted


@pytest.mark.parametrize(
    ("now", "said"), [("- works at Figma\n- c\n", ("- works at Figma", "- works at Stripe")), ("- c\n", ("", "- works at Stripe"))]
)
def test_what_was_changed_again_is_a_conflict(now: str, said: tuple[str, str]) -> None:
    with pytest.raises(SectionProblem) as failure:
        undone(now, "- works at Linear\n- c\n", "- works at Stripe\n- c\n")
    assert failure.value.code == "revert-conflict"
    assert (failure.value.details["now"], failure.value.details["then"]) == said


def test_only_what_holds_the_words() -> None:
    before, after = "- a\n- x\n- b\n", "- a2\n- x\n- b2\n"
    assert undone(after, after, before, "b2") == "- a2\n- x\n- b\n"


LINES = st.lists(st.sampled_from(["- a\n", "- b\n", "- c\n", "\n", "## H\n", "text\n"]), max_size=8).map("".join)


@given(before=LINES, after=LINES)
def test_at_once_it_gives_the_text_before(before: str, after: str) -> None:
    assert undone(after, after, before) == before


@given(before=LINES, after=LINES, below=LINES)
def test_what_is_added_below_stays(before: str, after: str, below: str) -> None:
    apart = "- one line\n- another line\n"
    assert undone(after + apart + below, after + apart, before + apart) == before + apart + below
