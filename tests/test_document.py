import hashlib
import unicodedata

import pytest
from generated_markdown import documents
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mdmem.addresses import find_section, matching_sections
from mdmem.document import (
    BlockKind,
    Document,
    clean_input,
    decode,
    fold_space,
    parse,
    parse_bytes,
    plain_title,
    preamble_etag,
    section_etag,
    split_lines,
    tree_etag,
)
from mdmem.errors import PathProblem, SectionProblem, TextProblem
from mdmem.layout import MAX_FILE_BYTES


def outline(text: str) -> list[tuple[int, str]]:
    return [(s.level, s.title) for s in parse(text).sections]


def paths(text: str, address: str) -> list[str]:
    document = parse(text)
    return [" > ".join(s.path) for s in matching_sections(document, address)]


# The partition.


@given(documents)
@settings(max_examples=200)
def test_a_document_is_its_text(text: str) -> None:
    document = parse(text)
    assert document.text == text
    assert parse_bytes(text.encode()) == document
    starts = [s.start for s in document.sections]
    assert starts == sorted(set(starts))
    assert [s.end for s in document.sections] == [*starts[1:], len(document.lines)][: len(starts)]
    pieces = [document.slice(0, document.preamble_end), *(document.slice(s.start, s.end) for s in document.sections)]
    assert document.bom + "".join(pieces) == text


@given(documents)
@settings(max_examples=150)
def test_trees_nest_and_paths_are_the_headings_above(text: str) -> None:
    document = parse(text)
    for section in document.sections:
        below = [s for s in document.sections if section.start < s.start < section.tree_end]
        assert tuple(below) == document.subsections(section)
        assert all(s.level > section.level and s.path[: len(section.path)] == section.path for s in below)
        after = [s for s in document.sections if s.start >= section.tree_end]
        assert not after or after[0].level <= section.level
    for line in range(len(document.lines)):
        holder = [s for s in document.sections if s.start <= line < s.end]
        assert document.section_at(line) == (holder[0] if holder else None)
        assert document.path_at(line) == (holder[0].path if holder else ())


@given(documents, st.data())
@settings(max_examples=100)
def test_blocks_of_a_range_are_those_that_begin_in_it(text: str, data: st.DataObject) -> None:
    document = parse(text)
    start = data.draw(st.integers(0, len(document.lines)))
    end = data.draw(st.integers(0, len(document.lines)))
    assert document.blocks_in(start, end) == tuple(b for b in document.blocks if start <= b.start < end)


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("", []),
        ("# A", [(1, "A")]),
        ("## A ##\n## B #\n## C\\#\n## D#\n", [(2, "A"), (2, "B"), (2, "C\\#"), (2, "D#")]),
        ("#\n##   \n## ##\n", [(1, ""), (2, ""), (2, "")]),
        ("A\n===\nB\n---\n", [(1, "A"), (2, "B")]),
        ("two\nlines\n---\n", [(2, "two\nlines")]),
        ("##\tA\n   ## B\n    ## no\n#no\n####### no\n##\u00a0no\n", [(2, "A"), (2, "B")]),
        ("```\n# no\n```\n~~~\n# no\n", []),
        ("<!--\n\n# no\n\n-->\n# A\n", [(1, "A")]),
        ("> # no\n\n- # no\n\n1. x\n\n   # no\n\n# A\n", [(1, "A")]),
        ("- x\n---\n# A\n", [(1, "A")]),
        ("---\n# no\n---\n# A\n", [(1, "A")]),
        ("\ufeff---\n# no\n...\n# A\n", [(1, "A")]),
        ("--- \nx: 1\n---\t\n# A\n", [(1, "A")]),
        ("---\nunclosed: 1\n# A\n", [(1, "A")]),
        ("\n---\n# A\n---\n# B\n", [(1, "A"), (1, "B")]),
        ("# A\r# B\r\n# C\n", [(1, "A"), (1, "B"), (1, "C")]),
        ("x\x0c# no\u2028# no\u0085# no\x0b# no\n", []),
        ("\ufeff# A\n", [(1, "A")]),
    ],
)
def test_headings(text: str, headings: list[tuple[int, str]]) -> None:
    assert outline(text) == headings


@pytest.mark.parametrize(
    ("text", "front"),
    [
        ("---\na: 1\n---\nx", "---\na: 1\n---\n"),
        ("\ufeff---\r\na: 1\r\n...\r\nx", "---\r\na: 1\r\n...\r\n"),
        ("---\n---\n", "---\n---\n"),
        ("---\na: 1\n", ""),
        (" ---\na: 1\n---\n", ""),
        ("----\na: 1\n---\n", ""),
        ("", ""),
    ],
)
def test_front_matter(text: str, front: str) -> None:
    document = parse(text)
    assert document.slice(0, document.front) == front
    assert parse(text, fragment=True).front == 0


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", []), ("a", ["a"]), ("a\r\n\rb\n\n", ["a\r\n", "\r", "b\n", "\n"]), ("a\u2028b\x85c\x0cd\x1ce", ["a\u2028b\x85c\x0cd\x1ce"])],
)
def test_lines_end_at_three_ends_only(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


@pytest.mark.parametrize(
    ("text", "end"), [("", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\r", "\r"), ("a\nb\r\n", "\n"), ("a", "\n"), ("a\r\n", "\r\n")]
)
def test_new_text_takes_the_most_frequent_line_end(text: str, end: str) -> None:
    assert parse(text).line_end == end


def test_blocks() -> None:
    text = "# A\n\npara\n\n- a\n  - b\n- c\n\n```\nx\n```\n\n> q\n\n<div>\n\n    code\n\n***\n"
    found = [(b.kind, b.start, b.end) for b in parse(text).blocks]
    assert found == [
        (BlockKind.PARAGRAPH, 2, 3),
        (BlockKind.ITEM, 4, 6),
        (BlockKind.ITEM, 6, 7),
        (BlockKind.CODE, 8, 11),
        (BlockKind.QUOTE, 12, 13),
        (BlockKind.HTML, 14, 15),
        (BlockKind.CODE, 16, 17),
    ]


@pytest.mark.parametrize("nested", ["".join("  " * depth + "- x\n" for depth in range(400)), ">" * 300 + " x\n", "- " * 300 + "x\n"])
def test_deep_nesting_hides_no_heading(nested: str) -> None:
    assert outline(f"# A\n\n{nested}\n# B\n") == [(1, "A"), (1, "B")]


@pytest.mark.parametrize("nested", [">" * 20_000, "- " * 20_000 + "x"])
def test_nesting_that_the_parser_cannot_follow_is_refused(nested: str) -> None:
    with pytest.raises(PathProblem) as caught:
        parse(nested + "\n")
    assert caught.value.code == "unsupported-file"


@pytest.mark.parametrize(
    ("data", "word"),
    [(b"\xff\xfe#\0", "UTF-8"), (b"a\n\nb\0", "line 3"), (b"x" * (MAX_FILE_BYTES + 1), "5,000,000"), (b"\xed\xa0\x80", "UTF-8")],
)
def test_what_cannot_be_edited_is_refused(data: bytes, word: str) -> None:
    with pytest.raises(PathProblem) as caught:
        decode(data)
    assert caught.value.code == "unsupported-file"
    assert word in caught.value.message


def test_the_largest_file_is_taken() -> None:
    assert len(decode(b"x" * MAX_FILE_BYTES)) == MAX_FILE_BYTES


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("# A\n\n- x\n", None),
        ("- ```\n  x\n", None),
        ("<div>\n", None),
        ("# A\n\nx\n\n```\ny\n", 4),
        ("x\n\n<!-- y\n", 2),
        ("# probe\n\n```\n", 2),
        ("# A\n\n<script>\n", 2),
        ("---\na: 1\n---\n~~~\n", 3),
    ],
)
def test_the_block_that_a_document_ends_in(text: str, line: int | None) -> None:
    assert parse(text).open_line == line


# Addresses.

TREE = "# Memory\n\n## Work\n\n### Notes\n\n## Home\n\n### Notes\n\n# Work\n\n## a > b\n\n# a\n\n## b\n\n## **Bold** `code` [link](u)\n"


@pytest.mark.parametrize(
    ("text", "address", "found"),
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
        # A whole path wins over an end of one.
        ("# X\n## A\n### B\n# A\n## B\n", "A > B", ["A > B"]),
        ("# X\n## A\n### B\n# Y\n## A\n### B\n", "A > B", ["X > A > B", "Y > A > B"]),
        # The first rung with a match decides.
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
def test_addresses(text: str, address: str, found: list[str]) -> None:
    assert paths(text, address) == found


@given(documents)
@settings(max_examples=100)
def test_every_whole_path_finds_its_section(text: str) -> None:
    document = parse(text)
    for section in document.sections:
        address = " > ".join(section.path)
        if address.strip(" >"):
            alike = [s for s in document.sections if " > ".join(s.path) == address or s.title == address]
            assert section in matching_sections(document, address) or any(s.title == address for s in alike)


def test_not_found_names_the_nearest() -> None:
    with pytest.raises(SectionProblem) as caught:
        find_section(parse(TREE), "Hoem")
    assert caught.value.code == "section-not-found"
    assert caught.value.hint == "Did you mean: Memory > Home"
    assert caught.value.details["near"] == ["Memory > Home"]
    with pytest.raises(SectionProblem) as caught:
        find_section(parse("text\n"), "A")
    assert "--create" in caught.value.hint


def test_ambiguous_lists_path_and_line_and_a_number_chooses() -> None:
    document = parse(TREE)
    with pytest.raises(SectionProblem) as caught:
        find_section(document, "Notes")
    assert caught.value.code == "section-ambiguous"
    assert caught.value.details["sections"] == [
        {"section": "Memory > Work > Notes", "line": 5},
        {"section": "Memory > Home > Notes", "line": 9},
    ]
    assert caught.value.hint.endswith("Give the whole path or --nth N.")
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
    assert caught.value.hint.endswith(" (line 3). Give --nth N.")


# Titles.


def by_the_inline_parser(title: str) -> str:
    children = MarkdownIt("commonmark").parseInline(title)[0].children or []
    return fold_space("".join(" " if t.type.endswith("break") else "" if t.type == "html_inline" else t.content for t in children))


@given(st.one_of(st.text(max_size=40), st.text("ab \t\n\r\\`*_[]()<>&;!~#:/.@\0\u2028e\u0301", max_size=30)))
@example("a  \nb")
@example("*a* _b_ `c` \\* [d](u) <b>e</b> &amp; \0")
@example("_b_")
@example("`c`")
@example("\\#")
@example("[d](u)")
@example("<b>")
@example("&amp;")
@example("\0")
@example("&amp; <b>x</b> \\* ![i](u) <https://example.org>")
@settings(max_examples=400)
def test_plain_titles_are_what_the_inline_parser_says(title: str) -> None:
    assert plain_title(title) == by_the_inline_parser(title)


def test_an_endless_title_is_compared_as_it_stands() -> None:
    assert plain_title("*a* " * 500) == ("*a* " * 500).strip()


# Etags.


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def test_etags() -> None:
    document = parse("pre\n\n## A\n\nown\n\n\n### B\n\nb\n \n## C")
    a, b, c = document.sections
    assert preamble_etag(document) == sha("pre")
    assert section_etag(document, a) == sha("## A\n\nown")
    assert tree_etag(document, a) == sha("## A\n\nown\n\n\n### B\n\nb")
    assert section_etag(document, b) == tree_etag(document, b) == sha("### B\n\nb")
    assert section_etag(document, c) == sha("## C")


@given(documents, documents)
@settings(max_examples=60)
def test_etags_do_not_depend_on_the_rest_of_the_file(text: str, other: str) -> None:
    alone, together = parse(text, fragment=True), parse(f"# Other\n\n{text}", fragment=True)
    assert [section_etag(alone, s) for s in alone.sections] == [section_etag(together, s) for s in together.sections[1:]]


# What users give.


@pytest.mark.parametrize("text", ["a\0b", "a\udcff"])
def test_input_that_cannot_be_stored(text: str) -> None:
    with pytest.raises(TextProblem) as caught:
        clean_input(text)
    assert caught.value.code == "bad-text"


def test_a_leading_byte_order_mark_is_dropped() -> None:
    assert clean_input("\ufeffa\ufeff") == "a\ufeff"


@given(st.text(max_size=30))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold_space(fold_space(text)) == fold_space(text) == unicodedata.normalize("NFC", fold_space(text))


def test_an_empty_document() -> None:
    assert parse("") == Document("", (), 0, ())
