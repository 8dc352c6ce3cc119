import hashlib
import re
import time
import unicodedata

import pytest
from conftest import examples
from generated_markdown import documents
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mdmem.model import MAX_FILE_BYTES
from mdmem.model.errors import PathProblem, TextProblem
from mdmem.text.document import (
    UNSPACED,
    BlockKind,
    Document,
    blank_line,
    clean_input,
    decode,
    fold_space,
    is_blank,
    lines_without_ends,
    parse,
    parse_bytes,
    plain_title,
    preamble_etag,
    section_etag,
    split_lines,
    tree_etag,
    with_line_end,
)
from mdmem.text.facts import items


def outline(text: str) -> list[tuple[int, str]]:
    return [(s.level, s.title) for s in parse(text).sections]


# The partition.


@given(documents)
@examples(200)
def test_a_document_is_its_text(text: str) -> None:
    document = parse(text)
    assert document.text == text
    assert parse_bytes(text.encode()) == document
    starts = [s.start for s in document.sections]
    assert starts == sorted(set(starts))
    assert [s.end for s in document.sections] == [*starts[1:], len(document.lines)][: len(starts)]
    pieces = [
        document.slice(0, document.preamble_end),
        *(document.slice(s.start, s.end) for s in document.sections),
    ]
    assert document.bom + "".join(pieces) == text


@given(documents)
@examples(150)
def test_trees_nest_and_paths_are_the_headings_above(text: str) -> None:
    document = parse(text)
    for section in document.sections:
        below = [s for s in document.sections if section.start < s.start < section.tree_end]
        assert tuple(below) == document.subsections(section)
        assert all(
            s.level > section.level and s.path[: len(section.path)] == section.path for s in below
        )
        after = [s for s in document.sections if s.start >= section.tree_end]
        assert not after or after[0].level <= section.level
    for line in range(len(document.lines)):
        holder = [s for s in document.sections if s.start <= line < s.end]
        assert document.section_at(line) == (holder[0] if holder else None)
        assert document.path_at(line) == (holder[0].path if holder else ())


@given(documents, st.data())
@examples(100)
def test_blocks_of_a_range_are_those_that_begin_in_it(text: str, data: st.DataObject) -> None:
    document = parse(text)
    start = data.draw(st.integers(0, len(document.lines)))
    end = data.draw(st.integers(0, len(document.lines)))
    assert document.blocks_in(start, end) == tuple(
        b for b in document.blocks if start <= b.start < end
    )


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
        ("---\n# no\n---\n# A\ntext\n# B\n", [(1, "A"), (1, "B")]),
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
        ("---X\na: 1\n---\n", ""),
        ("---\na: 1\n---X\n...X\n", ""),
        ("---\n\n---\n---\n", "---\n\n---\n"),
        ("", ""),
    ],
)
def test_front_matter(text: str, front: str) -> None:
    document = parse(text)
    assert document.slice(0, document.front) == front
    fragment = parse(text, fragment=True)
    assert (fragment.front, fragment.bom, fragment.text) == (0, "", text)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\r\n\rb\n\n", ["a\r\n", "\r", "b\n", "\n"]),
        ("a\u2028b\x85c\x0cd\x1ce", ["a\u2028b\x85c\x0cd\x1ce"]),
    ],
)
def test_lines_end_at_three_ends_only(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("", "\n"),
        ("a\r\nb\r\nc\n", "\r\n"),
        ("a\rb\r", "\r"),
        ("a\nb\r\n", "\n"),
        ("a", "\n"),
        ("a\r\n", "\r\n"),
        ("X\r\nX\r\nX\n", "\r\n"),
    ],
)
def test_new_text_takes_the_most_frequent_line_end(text: str, end: str) -> None:
    assert parse(text).line_end == end


@pytest.mark.parametrize(
    ("text", "end", "expected"),
    [
        ("a\nb\n", "\r\n", "a\r\nb\r\n"),
        ("a\r\nb\rc\n", "\n", "a\nb\nc\n"),
        ("a\n", "\n", "a\n"),
        ("a\n\r\nb", "\r", "a\r\rb"),
    ],
)
def test_line_ends_are_exchanged(text: str, end: str, expected: str) -> None:
    assert with_line_end(text, end) == expected


@pytest.mark.parametrize(
    ("line", "blank"),
    [("", True), (" \t\r\n", True), ("X\n", False), ("\x0c\n", False), ("\u00a0", False)],
)
def test_a_blank_line(line: str, blank: bool) -> None:
    assert is_blank(line) is blank


@pytest.mark.parametrize(
    ("before", "end", "expected"),
    [("a\r", "\n", "\r"), ("a\n", "\n", "\n"), ("a\r", "\r\n", "\r\n"), ("X", "\n", "\n")],
)
def test_a_blank_line_is_one_line(before: str, end: str, expected: str) -> None:
    assert blank_line(before, end) == expected


def test_lines_without_their_ends() -> None:
    assert lines_without_ends("\ufeffa\r\n\rX\nb") == ["a", "", "X", "b"]
    assert lines_without_ends("\ufeff") == []


def test_blocks() -> None:
    text = "# A\n\npara\n\n- a\n  - b\n- c\n\n```\nx\n```\n\n> q\n\n<div>\n\n    code\n\n***\n"
    blocks = [(b.kind, b.start, b.end) for b in parse(text).blocks]
    assert blocks == [
        (BlockKind.PARAGRAPH, 2, 3),
        (BlockKind.ITEM, 4, 6),
        (BlockKind.ITEM, 6, 7),
        (BlockKind.CODE, 8, 11),
        (BlockKind.QUOTE, 12, 13),
        (BlockKind.HTML, 14, 15),
        (BlockKind.CODE, 16, 17),
    ]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (
            "    code\n```\nx\n```\n> q\n> - r\n- i\n  - nested\n1. j\n# A\n",
            ["code", "code", "quote", "item", "item"],
        ),
        ("```\nx\n```\npara\n<div>\n", ["code", "paragraph", "html"]),
    ],
)
def test_blocks_that_the_scanner_leaves_to_the_parser(text: str, kinds: list[str]) -> None:
    """The title of a link reference may go on in the next line, or not; then it is up to the
    parser.
    """
    text = f"[a]: /u\n'x\ny'\n{text}"
    assert [str(block.kind) for block in parse(text).blocks] == kinds
    assert outline(text) == ([(1, "A")] if "# A" in text else [])


@pytest.mark.parametrize(
    "nested",
    [
        "".join("  " * depth + "- x\n" for depth in range(400)),
        ">" * 300 + " x\n",
        "- " * 300 + "x\n",
        "".join("  " * depth + "- x\n" for depth in range(30))
        + "goes on at the margin\n",  # which the scanner leaves to the parser
    ],
)
def test_deep_nesting_hides_no_heading(nested: str) -> None:
    assert outline(f"# A\n\n{nested}\n# B\n") == [(1, "A"), (1, "B")]


@pytest.mark.costly
@pytest.mark.parametrize(
    "nested",
    [
        ">" * 100_000 + "a\n",
        "- " * 100_000 + "a\n",
        "".join(">" * depth + " a\n" for depth in range(500)),
        "".join("  " * depth + "- a\n" for depth in range(500)),
        (">" * 500 + "a\n" + "b\n" * 500) * 50,
        (">" * 500 + "- a\n" + "b\n" * 500) * 50,
        ("- " * 500 + "a\nb\n\n") * 200,
        ("> - 1. " * 300 + "a\n\tb\n" + "c\n") * 50,
        ("\t" * 300 + "- a\nb\n") * 100,
    ],
)
def test_deep_nesting_takes_no_time_and_hides_no_heading(nested: str) -> None:
    text = f"# A\n\n- tea\n\ntext\n\n{nested}\n# B\n\n- milk\n"
    start = time.process_time()
    document = parse(text)
    assert time.process_time() - start < 1
    assert [section.title for section in document.sections] == ["A", "B"]
    assert document.text == text
    listed = [item.fact.text for item in items(document)]
    assert (listed[0], listed[-1]) == ("tea", "milk")


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\xff\xfe#\0", "UTF-8"),
        (b"a\n\nb\0", "line 3"),
        (b"x" * (MAX_FILE_BYTES + 1), "5,000,000"),
        (b"\xed\xa0\x80", "UTF-8"),
    ],
)
def test_unsupported_files_are_refused(data: bytes, word: str) -> None:
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


# Titles.


def by_the_inline_parser(title: str) -> str:
    children = MarkdownIt("commonmark").parseInline(title)[0].children or []
    return fold_space(
        "".join(
            " " if t.type.endswith("break") else "" if t.type == "html_inline" else t.content
            for t in children
        )
    )


@given(
    st.one_of(
        st.text(max_size=40), st.text("ab \t\n\r\\`*_[]()<>&;!~#:/.@\0\u2028e\u0301", max_size=30)
    )
)
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
@examples(400)
def test_plain_titles_agree_with_the_inline_parser(title: str) -> None:
    assert plain_title(title) == by_the_inline_parser(title)


def test_an_endless_title_is_compared_as_it_stands() -> None:
    assert plain_title("*a* " * 500) == ("*a* " * 500).strip()
    assert plain_title("*" + "a" * 998 + "*") == "a" * 998
    assert plain_title("*" + "a" * 999 + "*") == "*" + "a" * 999 + "*"


@pytest.mark.parametrize(
    "run",
    [
        "ภาษาไทย",
        "ລາວ",
        "မြန်မာ",
        "ខ្មែរ",
        "々〆〇ひらがなカタカナー",
        "漢字㐂豈",
        "\U00020000\U0003ffff",
        "한국어",
    ],
)
def test_what_is_written_without_spaces(run: str) -> None:
    assert re.findall(UNSPACED, f"a{run}b {run}") == [run, run]


@pytest.mark.parametrize("text", ["word", "слово", "λόγος", "हिन्दी", "、。", "・"])
def test_what_is_not(text: str) -> None:
    assert not re.search(UNSPACED, text)


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
    assert preamble_etag(parse("")) == preamble_etag(parse("\n \n# A\n")) == sha("")
    assert section_etag(parse("# X\r\n"), parse("# X\r\n").sections[0]) == sha("# X")


@given(documents)
@examples(60)
def test_etags_do_not_depend_on_the_rest_of_the_file(text: str) -> None:
    alone, together = parse(text, fragment=True), parse(f"# Other\n\n{text}", fragment=True)
    assert [section_etag(alone, s) for s in alone.sections] == [
        section_etag(together, s) for s in together.sections[1:]
    ]


# Input of users.


@pytest.mark.parametrize("text", ["a\0b", "a\udcff"])
def test_input_that_cannot_be_stored(text: str) -> None:
    with pytest.raises(TextProblem) as caught:
        clean_input(text)
    assert caught.value.code == "bad-text"


def test_a_leading_byte_order_mark_is_dropped() -> None:
    assert clean_input("\ufeffa\ufeff") == "a\ufeff"


@pytest.mark.parametrize("text", ["a\0b", "a\udcff"])
def test_what_it_was_is_named(text: str) -> None:
    with pytest.raises(TextProblem, match=r"^the reason "):
        clean_input(text, "reason")
    with pytest.raises(TextProblem, match=r"^the text "):
        clean_input(text)


def test_a_nul_is_read_as_markdown_reads_it() -> None:
    assert outline("# a\0b\n") == [(1, "a\ufffdb")]
    assert parse("# a\0b\n").text == "# a\0b\n"


@given(st.text(max_size=30))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert (
        fold_space(fold_space(text))
        == fold_space(text)
        == unicodedata.normalize("NFC", fold_space(text))
    )


def test_an_empty_document() -> None:
    assert parse("") == Document(bom="", lines=(), front=0, sections=())
