"""Markdown as a person reads it on a terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.show.hits import plain

CASES = {
    "plain words": "plain words",
    "**bold** *leaning* __both__ ~~gone~~": "bold leaning both ~~gone~~",
    "`a *b* &amp;` and code": "a *b* &amp; and code",
    "[a link](https://x.org 'title') and ![a picture](p.png)": "a link and a picture",
    "<https://x.org> https://y.org": "https://x.org https://y.org",
    "Fish &amp; chips &lt; 3 &eacute;": "Fish & chips < 3 é",
    r"\*not leaning\* \# no heading": "*not leaning* # no heading",
    "soft\nbreak and  \nhard\\\nbreak": "soft break and hard break",
    "one\n\ntwo": "one\ntwo",
    "# Heading\n\ntext": "Heading\ntext",
    "- a\n  - b\n    - c\n  - d\n- e": "a\nb\nc\nd\ne",
    "1. one\n\n   more\n2. two": "one\nmore\ntwo",
    "> quoted\n>\n> twice": "quoted\ntwice",
    "```py\nx = '<!-- no comment -->'\n```": "x = '<!-- no comment -->'",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |": "a b\n1 2\n3 4",
    "a<!-- hidden --> b": "a b",
    "<!-- hidden --> shown": "shown",
    "<!-- never closed": "",
    "<div>kept</div>": "<div>kept</div>",
    "***": "",
    "": "",
}


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_plain(text: str, expected: str):
    assert plain(text) == expected


@given(st.text(st.sampled_from("ab *_`~[]()<>!|&;#>-\n\\1."), max_size=60))
def test_any_text_is_taken(text: str):
    assert plain(text) == plain(text).strip()


@given(
    st.text(st.sampled_from("ab *_[]()!|#>-\n1."), max_size=60).filter(
        lambda text: "    " not in text
    )
)
def test_outside_of_code_no_line_is_empty(text: str):
    assert "" not in plain(text).split("\n")[1:]


@given(st.lists(st.from_regex(re.compile(r"[a-z]{1,8}"), fullmatch=True), min_size=1, max_size=8))
def test_plain_words_stay(words: list[str]):
    assert plain(" ".join(words)) == " ".join(words)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        "*a " * 10_000,
        "> " * 5_000 + "x",
        "- " * 5_000 + "x",
        "`a " * 10_000,
        "<a " * 10_000,
    ],
)
def test_what_is_meant_to_be_slow_or_deep_ends(text: str):
    assert isinstance(plain(text), str)
