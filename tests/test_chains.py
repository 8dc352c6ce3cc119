import itertools

import pytest
from generated_markdown import documents
from hypothesis import given, settings
from hypothesis import strategies as st
from replays import LOG, MEMORY, TOPIC, Told, commit_id, fact, memory, said

from mdmem.history.chains import DiffKind, TextPresence, blame_lines, fact_chain, line_difference, text_presences, word_difference
from mdmem.model import FactId, FilePath, Op, Source, Status
from mdmem.model.trail import Revision


def links(told: Told, words: str) -> list[tuple[str, int, int | None, Status]]:
    found = fact_chain(fact(words), told.known)
    return [(link.text, link.start.number, link.end.number if link.end else None, link.status) for link in found]


# Chains.


def test_a_chain_is_the_same_from_each_of_its_links(told: Told) -> None:
    told.write(memory("editor: vim"))
    told.write(memory("editor: emacs"), said(Op.REMEMBER, ("editor: vim", "editor: emacs"), source=Source.AUTO))
    told.write(memory("editor: ed"))
    expected = [
        ("editor: vim", 1, 2, Status.SUPERSEDED),
        ("editor: emacs", 2, 3, Status.SUPERSEDED),
        ("editor: ed", 3, None, Status.CURRENT),
    ]
    assert all(links(told, words) == expected for words in ("editor: vim", "editor: emacs", "editor: ed"))
    link = fact_chain(fact("editor: ed"), told.known)[1]
    assert (link.id, link.source, link.confidence, link.commit) == (fact("editor: emacs"), Source.AUTO, 0.4, commit_id(2))
    assert (link.path, link.section, link.start.time) == (MEMORY, ("Memory", "Facts"), 200)


def test_a_moved_fact_is_one_link_and_keeps_its_source(told: Told) -> None:
    told.write(memory("vim"), said(Op.REMEMBER, source=Source.AUTO))
    told.write(memory("vim #tool"))
    told.write("# Memory\n\n## Tools\n\n- vim #tool\n")
    told.commit({TOPIC: "# Memory\n\n## Tools\n\n- vim #tool\n"}, renamed={TOPIC: MEMORY})
    (link,) = fact_chain(fact("vim"), told.known)
    assert (link.start.number, link.end, link.status) == (1, None, Status.CURRENT)
    assert (link.source, link.confidence, link.commit) == (Source.AUTO, 0.4, commit_id(2))
    assert (link.path, link.section) == (TOPIC, ("Memory", "Tools"))


def test_a_fact_that_came_back_is_a_link_of_its_own(told: Told) -> None:
    for value in ("vim", "emacs", "vim", "emacs"):
        told.write(memory(f"editor: {value}"))
    expected = [
        ("editor: vim", 1, 2, Status.SUPERSEDED),
        ("editor: emacs", 2, 3, Status.SUPERSEDED),
        ("editor: vim", 3, 4, Status.SUPERSEDED),
        ("editor: emacs", 4, None, Status.CURRENT),
    ]
    assert links(told, "editor: vim") == links(told, "editor: emacs") == expected


def test_what_was_removed_and_said_again(told: Told) -> None:
    for text in (memory("vim"), memory(), memory("vim")):
        told.write(text)
    assert links(told, "vim") == [("vim", 1, 2, Status.REMOVED), ("vim", 3, None, Status.CURRENT)]


def test_marks_end_a_link_while_the_text_stands(told: Told) -> None:
    told.write("# D\n\n- a\n- b\n", path=LOG)
    told.write("# D\n\n- a\n- b\n- c\n", said(Op.LOG, ("a", "c"), path=LOG, retracts=["b"]), LOG)
    told.write("# D\n\n- c\n", path=LOG)
    assert links(told, "c") == [("a", 1, 2, Status.SUPERSEDED), ("c", 2, None, Status.CURRENT)]
    assert links(told, "b") == [("b", 1, 2, Status.REMOVED)]


def test_two_that_are_marked_as_each_others_successor(told: Told) -> None:
    told.write(memory("a", "b"))
    told.commit({}, said(Op.SUPERSEDE, ("a", "b")))
    told.commit({}, said(Op.SUPERSEDE, ("b", "a")))
    assert links(told, "a") == [("a", 1, 2, Status.SUPERSEDED), ("b", 1, 3, Status.SUPERSEDED)]


def test_other_sections_are_other_links(told: Told) -> None:
    text = "# M\n\n## A\n\n- {}\n\n## B\n\n- k: 2\n- k: 1\n"
    told.write(text.format("k: 1"))
    told.write(text.format("k: 2"))
    first, second = told.known.occurrences_of(fact("k: 1"))
    assert [link.section[-1] for link in fact_chain(fact("k: 1"), told.known, {second.number})] == ["B"]
    found = fact_chain(fact("k: 1"), told.known, {first.number})
    assert [(link.text, link.section[-1]) for link in found] == [("k: 1", "A"), ("k: 2", "A")]
    assert fact_chain(FactId("00000000"), told.known) == ()


# Lines.


def revision(number: int, text: str, lineage: int = 1, ended: int | None = None, begun: int | None = None) -> Revision:
    return Revision(lineage, begun or number, MEMORY, ("A",), 1, text, ended=ended, number=number)


def test_each_line_and_who_brought_it() -> None:
    texts = ["# A\n\n- a\n- b", "# A\r\n\r\n- b\r\n- c\r\n- a", "# A\n\n- b\n- c\n- b\n- a\n- d"]
    revisions = [revision(number, text) for number, text in enumerate(texts, 1)]
    found = blame_lines(revisions)
    assert [(line.line, line.text, line.landmark) for line in found] == [
        (1, "# A", 1),
        (2, "", 1),
        (3, "- b", 1),
        (4, "- c", 2),
        (5, "- b", 3),
        (6, "- a", 1),
        (7, "- d", 3),
    ]
    assert blame_lines(reversed(revisions)) == found
    assert [line.landmark for line in blame_lines(revisions, texts[2] + "\n- mine\n\n \n")] == [1, 1, 1, 2, 3, 1, 3, None]
    assert blame_lines(()) == ()


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=8), min_size=1, max_size=6))
@settings(max_examples=200)
def test_a_line_comes_from_a_text_that_has_it_and_all_since_have_it(texts: list[list[str]]) -> None:
    found = blame_lines(revision(number, "\n".join(["#", *lines, "."])) for number, lines in enumerate(texts, 1))
    assert [line.text for line in found] == ["#", *texts[-1], "."]
    for line in found:
        assert line.landmark is not None
        assert all(line.text in ["#", *lines, "."] for lines in texts[line.landmark - 1 :])


def test_line_differences_are_hunks() -> None:
    assert (
        line_difference("# A\n\n- a\n- b\n", "# A\n\n- a\n- c")
        == "@@ -1,4 +1,4 @@\n # A\n \n - a\n-- b\n+- c\n\\ No newline at end of file\n"
    )
    assert line_difference("", "# A\n") == "@@ -0,0 +1 @@\n+# A\n"
    assert line_difference("# A\n", "# A\r\n") == "@@ -1 +1 @@\n-# A\n+# A\r\n"
    assert line_difference("# A\n", "# A\n") == ""


# Words.


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("", "", []),
        ("a\n", "a\n", [("kept", "a\n")]),
        ("", "a\n", [("in", "a\n")]),
        ("- works at Stripe\n", "- works at Linear\n", [("kept", "- works at "), ("out", "Stripe"), ("in", "Linear"), ("kept", "\n")]),
        ("- lives in Oslo\n", "- drinks tea\n", [("out", "- lives in Oslo\n"), ("in", "- drinks tea\n")]),
        (
            "- a\n- works at Stripe\n- b\n",
            "- a\n- new\n- works at Linear\n- b\n",
            [("kept", "- a\n"), ("in", "- new\n"), ("kept", "- works at "), ("out", "Stripe"), ("in", "Linear"), ("kept", "\n- b\n")],
        ),
        ("- 他住在北京\n", "- 他住在上海\n", [("kept", "- 他住在"), ("out", "北京"), ("in", "上海"), ("kept", "\n")]),
    ],
)
def test_differences_by_words(before: str, after: str, pieces: list[tuple[str, str]]) -> None:
    assert [(piece.value, text) for piece, text in word_difference(before, after)] == pieces


@given(documents, documents)
@settings(max_examples=200, deadline=None)
def test_a_difference_holds_both_texts(before: str, after: str) -> None:
    found = word_difference(before, after)
    assert "".join(text for piece, text in found if piece is not DiffKind.IN) == before
    assert "".join(text for piece, text in found if piece is not DiffKind.OUT) == after
    assert all(text for _, text in found)
    assert all(one[0] is not other[0] for one, other in itertools.pairwise(found))


def test_what_is_too_long_to_compare_by_words_is_compared_by_lines() -> None:
    long, longer = ("w " * 3000 + end for end in ("a\n", "b\n"))
    assert [piece for piece, _ in word_difference(long, longer)] == [DiffKind.OUT, DiffKind.IN]
    many, more = ("".join(f"line {number} {end}\n" for number in range(30)) for end in ("a", "b"))
    assert [piece for piece, _ in word_difference(many, more)] == [DiffKind.OUT, DiffKind.IN]


# When.


def test_a_text_stays_under_other_names_and_beside_other_texts(told: Told) -> None:
    told.write("# M\n\n## A\n\n- tea\n")
    told.write("# M\n\n## A\n\n- tea\n- milk\n")
    told.write("# M\n\n## B\n\n- tea\n- milk\n")
    told.commit({TOPIC: "# M\n\n## B\n\n- tea\n- milk\n"}, renamed={TOPIC: MEMORY})
    told.write("# M\n\n## B\n\n- milk\n", path=TOPIC)
    told.write("# M\n\n## B\n\n- milk\n- green tea\n", path=TOPIC)
    told.write("# X\n\n- tea\n", path=FilePath("memory/x.md"))
    assert text_presences(told.known, "tea") == (
        TextPresence(1, 5, TOPIC, ("M", "B")),
        TextPresence(6, None, TOPIC, ("M", "B")),
        TextPresence(7, None, FilePath("memory/x.md"), ("X",)),
    )
    assert text_presences(told.known, "coffee") == ()


@given(st.lists(st.lists(st.sampled_from(["tea", "milk", "bread"]), max_size=3), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_at_each_landmark_a_text_stood_or_not(contents: list[list[str]]) -> None:
    with Told() as told:
        for items in contents:
            told.write(memory(*items))
        found = text_presences(told.known, "tea")
        for number, items in enumerate(contents, 1):
            assert any(stay.came <= number and (stay.went is None or stay.went > number) for stay in found) is ("tea" in items)
        assert all(one.went is not None and one.went < other.came for one, other in itertools.pairwise(found))
