"""Strategies for the property tests: Markdown as people and programs write it, and worse."""

from hypothesis import strategies as st

from mdmem.text.document import Document, Section, parse

WORDS = (
    "tea",
    "editor: vim",
    "Größe",
    "日本語",
    "a > b",
    "**bold**",
    "`code`",
    "x\u2028y",
    "x\u0085y",
    "x\x0cy",
    "\ufeff",
    "#tag",
    "<b>",
    "- ",
)
TITLES = (
    "A",
    "B",
    "Work",
    "work",
    "*Work*",
    "A > B",
    "Größe",
    "Gro\u0308ße",
    "x #",
    "probe",
    "[l](u)",
    "1. n",
    "09:00",
)
ENDS = ("\n", "\n", "\n", "\r\n", "\r")

words = st.sampled_from(WORDS)
titles = st.sampled_from(TITLES)


def _lines(*lines: st.SearchStrategy[str] | str) -> st.SearchStrategy[list[str]]:
    return st.tuples(*(st.just(line) if isinstance(line, str) else line for line in lines)).map(
        list
    )


def _atx(levels: st.SearchStrategy[int]) -> st.SearchStrategy[list[str]]:
    def heading(level: int, indent: str, title: str, closing: str) -> list[str]:
        return [f"{indent}{'#' * level} {title}{closing}"]

    return st.builds(
        heading,
        levels,
        st.sampled_from(["", "", "  "]),
        titles,
        st.sampled_from(["", "", " ##", "  "]),
    )


def headings(lowest: int = 1) -> st.SearchStrategy[list[str]]:
    """ATX headings from a level downwards, and setext ones where that level allows them."""
    atx = _atx(st.integers(lowest, 6) if lowest > 1 else st.sampled_from([1, 2, 2, 2, 3, 3, 4, 6]))
    setext = _lines(titles, st.sampled_from(["===", "---", "-"]))
    several = _lines("two", "lines", "===")
    return (
        st.one_of(atx, atx, atx, setext, several, st.just(["#" * lowest])) if lowest == 1 else atx
    )


closed_blocks = st.one_of(
    _lines(words),
    _lines(words, words),
    _lines(words.map("- {}".format), words.map("- {}".format)),
    _lines(words.map("* {}".format), words.map("  {}".format), "", words.map("  {}".format)),
    _lines("1. one", "2. two"),
    _lines("- a", "  - b", "    - c"),
    _lines("```", "# no", words, "```"),
    _lines("~~~ text", "```", "~~~"),
    _lines("<!--", "# no", "", "-->"),
    _lines("<div>", "# no", "</div>"),
    _lines("| a | b |", "|---|---|", "| 1 | 2 |"),
    _lines("> # no", "> - x"),
    _lines("    indented"),
    _lines("[ref]: https://example.org"),
    _lines("***"),
    _lines("- ```", "  # no"),
)
open_blocks = st.sampled_from(
    [["```", "# no"], ["<!--", "# no"], ["<script>", "x"], ["~~~~", "~~~"]]
)
blanks = st.sampled_from([[], [""], [""], ["", ""], ["  "], ["", "\t", ""]])


def _text(parts: list[list[str]], ends: list[str], bare: bool) -> str:
    lines = [line for part in parts for line in part]
    text = "".join(line + ends[number % len(ends)] for number, line in enumerate(lines))
    return text.rstrip("\r\n") if bare else text


def texts(*parts: st.SearchStrategy[list[str]], most: int = 14) -> st.SearchStrategy[str]:
    """Texts made of these parts, with blank lines of all kinds between them and line ends of one
    kind or mixed.
    """
    whole = st.lists(st.one_of(*parts, blanks), max_size=most)
    ends = st.one_of(
        st.sampled_from(ENDS).map(lambda end: [end]),
        st.lists(st.sampled_from(ENDS), min_size=2, max_size=5),
    )
    return st.builds(_text, whole, ends, st.booleans())


_front = st.sampled_from(
    [
        "",
        "",
        "",
        "\ufeff",
        "---\ntags: [a]\n---\n",
        "\ufeff---\r\n# no\r\n...\r\n",
        "---\nunclosed: 1\n",
    ]
)
documents = st.builds(
    "{}{}".format, _front, texts(headings(), headings(), closed_blocks, closed_blocks, open_blocks)
)
closed_documents = st.builds(
    "{}{}".format, _front, texts(headings(), headings(), closed_blocks, closed_blocks)
)
bodies = texts(closed_blocks, most=4)


def sections_of(texts: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[Document, Section]]:
    """Documents, each with one of its sections."""
    parsed = texts.map(parse).filter(lambda document: document.sections)
    return parsed.flatmap(
        lambda document: st.tuples(st.just(document), st.sampled_from(document.sections))
    )


_MARGINS = (
    "",
    "",
    "",
    "",
    " ",
    "  ",
    "   ",
    "    ",
    "      ",
    "\t",
    " \t",
    "  \t",
    "     ",
    "        ",
)
_PIECES = tuple(
    """
    - |* |+ |-|*|-  |-     |-\t|1. |2. |10. |1) |1.|1.\t|0001. |0. |123456789. |1234567890. |> |>|>\t|>> |> - |- > |- - |# |## |#|#tag|- # h|
    ```|~~~|````|``` x`y|```py|- ```|<!--|-->|- <!--|<div>|</div>|<DIV|- <div>|<b>|</b>|<b> x|<br/>|<b c='d' e>|<script>|</script>|<pre|<?|?>|
    <!X|<![CDATA[|]]>|<ſcript>|<lin\u212a>| <p>|<http://a>|[a]: /u|[a]: /u 'x'|[a]: http://u "x|[ ]: /u|[a|[a]|[a](b)|[a]: <u>|- [a]: /u|- [ ] |x'|(x|
    ===|=|---|--|***|* * *|- - -|-\t-\t-|___|- ***|+ + +|- +|-      code|text|**b**|*i* x|`c`|1.5|-x|\\# x|title ##|# t #|## #|x\x0c|\xa0|\u2028|\0|日本
    """.replace("\n    ", "").split("|")
)
_COMMON = ("text", "text", "- ", "* ", "1. ", "> ", "a", " ")
_awkward_line = st.builds(
    "{}{}".format,
    st.sampled_from(_MARGINS),
    st.lists(st.sampled_from((*_PIECES, *_COMMON * 4)), min_size=1, max_size=3).map("".join),
)
_blank_line = st.sampled_from(["", "", " ", "   ", "\t"])
_awkward = st.lists(
    st.one_of(_awkward_line, _awkward_line, _awkward_line, _blank_line).map(lambda line: [line]),
    max_size=12,
)
_ends = st.one_of(
    st.sampled_from(ENDS).map(lambda end: [end]),
    st.lists(st.sampled_from((*ENDS, "  \n")), min_size=2, max_size=5),
)
awkward_documents = st.builds(
    "{}{}".format, _front, st.builds(_text, _awkward, _ends, st.booleans())
)
"""Lines that open, close, continue or only resemble a block, at every margin, whether or not that
makes sense.
"""
