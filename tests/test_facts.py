import re
import time
from datetime import date
from typing import Any

import pytest
from conftest import examples
from hypothesis import assume, given
from hypothesis import strategies as st

from mdmem.editors.list_items import rewrite_item
from mdmem.model.errors import FactProblem, TextProblem, field
from mdmem.text.document import parse
from mdmem.text.fact_names import id_prefix, items_matching, names_any
from mdmem.text.facts import (
    as_read,
    fact_id,
    find_held_key,
    find_same_item,
    has_words,
    head_fact,
    holds_key,
    item_text,
    items,
    normalise,
    paragraph_end,
    parse_item,
    parse_text,
    plain_words,
    shortened,
    split_key,
    split_kind,
    without_comments,
    without_struck,
    write_item,
)

DAY = date(2026, 3, 5)
_UNTIL = re.compile(r" \(until [-0-9]+\)$")


@pytest.mark.parametrize(
    ("item", "text", "key", "kind", "tags", "until"),
    [
        ("- plain", "plain", None, None, (), None),
        ("* [decision] db: sqlite\n", "db: sqlite", "db", "decision", (), None),
        ("1. [fact] x", "x", None, "fact", (), None),
        ("12) x", "x", None, None, (), None),
        ("   + x", "x", None, None, (), None),
        ("-\t[fact] x", "x", None, "fact", (), None),
        ("- \t[fact] x", "x", None, "fact", (), None),
        ("-     [fact] x", "x", None, "fact", (), None),
        (
            "- editor: vim (until 2026-03-05) #a #b <!-- c --> ^id-1",
            "editor: vim (until 2026-03-05)",
            "editor",
            None,
            ("a", "b"),
            DAY,
        ),
        ("- x <!-- #a --> <!-- b\n  c -->", "x", None, None, (), None),
        ("- x <!-- a -->-->", "x <!-- a -->-->", None, None, (), None),
        ("- x #a %%b%% <!-- c --> ^id", "x", None, None, ("a",), None),
        ("- x %%b%% y", "x %%b%% y", None, None, (), None),
        ("- x %% y", "x %% y", None, None, (), None),
        ("- x <!--> y -->", "x <!--> y -->", None, None, (), None),
        ("- x #a\n  y #b", "x #a\ny", None, None, ("b",), None),
        ("- x\r\n  y\r\n", "x\ny", None, None, (), None),
        ("- x\n\n  y\n", "x\n\ny", None, None, (), None),
        ("- a\n  - b", "a\n- b", None, None, (), None),
        # Kinds.
        ("- [x] done", "[x] done", None, None, (), None),
        ("- [ ] task: open", "[ ] task: open", None, None, (), None),
        ("- [link](u)", "[link](u)", None, None, (), None),
        ("- [link][r]", "[link][r]", None, None, (), None),
        ("- [note]: x", "[note]: x", None, None, (), None),
        ("- [v2] x", "[v2] x", None, None, (), None),
        ("- [决定] 用茶", "用茶", None, "决定", (), None),
        ("- [fact]", "[fact]", None, None, (), None),
        # Keys.
        # Labels stand at the end of the first paragraph, or at the very end.
        (
            "- x (until 2026-03-05) #t <!-- c --> ^id\n  - sub",
            "x (until 2026-03-05)\n- sub",
            None,
            None,
            ("t",),
            DAY,
        ),
        ("- k: x #t\n  more #u\n  1. sub #v", "k: x #t\nmore\n1. sub", "k", None, ("u", "v"), None),
        ("- x #t\n  2. prose", "x #t\n2. prose", None, None, (), None),
        ("- x <!-- a\n  - b --> ^id\n\n  more", "x\n\nmore", None, None, (), None),
        ("- #t\n  - sub #u", "#t\n- sub", None, None, ("u",), None),
        ("- ```\n  a #t\n  ```", "```\na #t\n```", None, None, (), None),
        ("- **Home town:** Graz", "**Home town:** Graz", "Home town", None, (), None),
        ("- **Home town**: Graz", "**Home town**: Graz", "Home town", None, (), None),
        ("- __Home__: Graz", "__Home__: Graz", "Home", None, (), None),
        ("- a.b_c2: x", "a.b_c2: x", "a.b_c2", None, (), None),
        ("- Note: x", "Note: x", None, None, (), None),
        ("- two words: x", "two words: x", None, None, (), None),
        ("- http://example.org", "http://example.org", None, None, (), None),
        ("- key:", "key:", None, None, (), None),
        ("- key:x", "key:x", None, None, (), None),
        ("- 编辑器: vim", "编辑器: vim", None, None, (), None),
        # Tags.
        ("- x #标签 #हिन्दी #a/b-c_1", "x", None, None, ("标签", "हिन्दी", "a/b-c_1"), None),
        ("- issue #12", "issue #12", None, None, (), None),
        ("- C#", "C#", None, None, (), None),
        ("- #only #tags", "#only #tags", None, None, (), None),
        ("- [fact] #only", "#only", None, "fact", (), None),
        ("- #first word", "#first word", None, None, (), None),
        # Until.
        ("- x (until 2026-02-30)", "x (until 2026-02-30)", None, None, (), None),
        ("- x (until 2026-03-05) y", "x (until 2026-03-05) y", None, None, (), None),
        ("- (until 2026-03-05)", "(until 2026-03-05)", None, None, (), None),
        ("- x #a…", "x #a…", None, None, (), None),
        # Comments behind each other, and between words.
        ("- x <!-- a --> y <!-- b -->", "x <!-- a --> y", None, None, (), None),
        ("- x <!-- a --><!-- b -->", "x", None, None, (), None),
        ("- x <!---->", "x", None, None, (), None),
        ("- x <!--->", "x <!--->", None, None, (), None),
        ("- x <!-->", "x <!-->", None, None, (), None),
        # What only looks like a comment.
        ("- x \\<!-- y -->", "x \\<!-- y -->", None, None, (), None),
        ("- x <!-- y --> z", "x <!-- y --> z", None, None, (), None),
        ("- x -->", "x -->", None, None, (), None),
        ("- x ^id y", "x ^id y", None, None, (), None),
        ("- x^2", "x^2", None, None, (), None),
    ],
)
def test_an_item_is_a_fact(
    item: str,
    text: str,
    key: str | None,
    kind: str | None,
    tags: tuple[str, ...],
    until: date | None,
) -> None:
    fact = parse_item(item)
    assert (fact.text, fact.key, fact.tags, fact.until) == (text, key, tags, until)
    assert fact.kind == kind


@pytest.mark.parametrize(
    ("text", "most", "short"),
    [
        ("likes tea", 9, "likes tea"),
        ("likes tea", 8, "likes…"),
        ("likes green tea", 13, "likes green…"),
        ("unbroken", 5, "unbr…"),
    ],
)
def test_a_long_text_is_cut_at_a_word(text: str, most: int, short: str) -> None:
    assert shortened(text, most) == short


def test_the_id_depends_on_key_and_text_only() -> None:
    plain = parse_item("- editor: Vim")
    assert plain.id == "6466f4d0"
    same = [
        "* [fact] EDITOR:   vim #a",
        "1. **editor:** vim (until 2026-01-01)",
        "- **Editor**: vim <!-- c --> ^b",
        "- editor:\n  vim",
    ]
    assert {parse_item(item).id for item in same} == {plain.id}
    assert parse_item("- Cafe\u0301").id == parse_item("- CAFÉ").id == fact_id("café")
    assert parse_item("- editor: vi").id != plain.id
    assert parse_item("- x y").id != parse_item("- xy").id


def test_facts_are_list_items_at_the_top_level_of_a_section() -> None:
    text = "- pre\n\n# A\n\n- a\n  - nested\n\ntext\n\n> - quoted\n\n```\n- code\n```\n\n1. b\n2. c\n\n-\n- <!-- hint -->\n- ^id\n* last"
    facts = items(parse(text))
    assert [(i.fact.text, i.start, i.end) for i in facts] == [
        ("pre", 0, 1),
        ("a\n- nested", 4, 6),
        ("b", 15, 16),
        ("c", 16, 17),
        ("last", 21, 22),
    ]
    assert [i.raw for i in facts][1] == "- a\n  - nested\n"
    assert [i.fact.text for i in items(parse(text), 15, 17)] == ["b", "c"]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("-", False),
        ("- ^id", False),
        ("- [fact] ^id", False),
        ("- [fact] <!-- c -->", False),
        ("- [fact]", True),
        ("- <!-- c --> ^id", False),
        ("- <!-- a --><!-- b -->", False),
        ("- <!-- not closed\n  ^id", False),
        ("- <!-- c -->\n  <!-- not closed", False),
        ("- \\<!-- said", True),
        ("- `<!--`", True),
        ("- #tag", True),
        ("- [fact] #tag ^id", True),
        ("- (until 2026-03-05)", True),
        ("- ✓", True),
    ],
)
def test_an_item_without_words_is_no_fact(item: str, expected: bool) -> None:
    assert has_words(item) == bool(items(parse(item))) == expected


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("- a\n  b\n c\n    d", "a\nb\nc\n  d"),
        ("10. a\n    b", "a\nb"),
        ("-\n  a", "\na"),
        ("no item", "no item"),
        ("-\ta\n\tb", "a\n\tb"),
        ("-   \n     b", "  \n   b"),
        ("-\n   b", "\n b"),
        ("10. a\n  Xb", "a\nXb"),
        ("- MAX\n", "MAX"),
        ("no\nitem\n", "no\nitem"),
    ],
)
def test_content(item: str, words: str) -> None:
    assert item_text(item) == words


@pytest.mark.parametrize(
    ("text", "key", "parts"),
    [
        ("Home Town: Graz", "home  town", ("Home Town: ", "Graz")),
        ("**Home town:**  Graz", "Home town", ("**Home town:**  ", "Graz")),
        ("**Home town**: Graz", "**home town**", ("**Home town**: ", "Graz")),
        ("Cafe\u0301: x", "CAFÉ", ("Cafe\u0301: ", "x")),
        ("a: b: c", "a", ("a: ", "b: c")),
        ("a: b: c", "a: b", ("a: b: ", "c")),
        ("__init__: x", "__init__", ("__init__: ", "x")),
        ("my__var: x", "my__var", ("my__var: ", "x")),
        ("\\# a: x", "# a", ("\\# a: ", "x")),
        ("\\<!-- a: x", "<!-- a", ("\\<!-- a: ", "x")),
        ("key:\nvalue", "key", ("key:\n", "value")),
        ("a: b: c: d", "a: b: c", ("a: b: c: ", "d")),
        ("a **b** c: x", "a b c", ("a **b** c: ", "x")),
        ("a __b__ c: x", "a b c", ("a __b__ c: ", "x")),
        ("**Home town**: Graz", "home", ("", "**Home town**: Graz")),
        ("ab: x", "a", ("", "ab: x")),
        ("a:x", "a", ("", "a:x")),
        ("a: ", "a", ("", "a: ")),
        ("text", "a", ("", "text")),
        (": ".join("x" * 50_000), "y", ("", ": ".join("x" * 50_000))),
    ],
)
def test_keys_of_any_words(text: str, key: str, parts: tuple[str, str]) -> None:
    assert split_key(text, key) == parts
    assert holds_key(parse_text(text), key) is bool(parts[0])


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Home Town: Graz", "home town"),
        ("HOME  town:  Graz", "home town"),
        ("a: b: c", "a: b"),
        ("home: Graz", None),
        ("Home Town:Graz", None),
        ("Home Town: ", None),
        ("Graz", None),
        ("x: x: x: x: x: x: home town: Graz", None),
    ],
)
def test_which_key_is_held(text: str, held: str | None) -> None:
    assert find_held_key(text, {"home town", "a: b"}) == held


@pytest.mark.parametrize(("colons", "held"), [(3, True), (4, False)])
def test_a_key_with_many_colons_is_looked_for_by_name_only(colons: int, held: bool) -> None:
    key = ": ".join("a" * (colons + 1))
    assert (find_held_key(f"{key}: x", {key}) == key) is held
    assert split_key(f"{key}: x", key) == (f"{key}: ", "x")


@pytest.mark.parametrize(
    ("word", "prefix"),
    [
        ("6466f4", "6466f4"),
        (" 6466F4D0 ", "6466f4d0"),
        ("6466f", ""),
        ("6466f4d01", ""),
        ("6466g4", ""),
        ("", ""),
    ],
)
def test_what_may_be_an_id(word: str, prefix: str) -> None:
    assert id_prefix(word) == prefix


@pytest.mark.parametrize(
    ("name", "is_any"),
    [
        ("tea", True),
        ("- Tea", True),
        ("[fact] tea #t", True),
        (fact_id("tea"), True),
        (f" {fact_id('tea')[:6].upper()} ", True),
        (fact_id("tea")[:5], False),
        (fact_id("tea")[1:], False),
        ("coffee", False),
        ("", False),
    ],
)
def test_names_of_some_facts(name: str, is_any: bool) -> None:
    assert names_any(name, {fact_id("milk"), fact_id("tea")}) is is_any
    assert not names_any(name, set())


@pytest.mark.parametrize(
    ("item", "line"),
    [
        ("* Tea  and CAKE #t", 0),
        ("- 日本語", 2),
        ("- ✓ (until 2026-01-01)", 3),
        ("- cake", None),
        ("- 日本", None),
    ],
)
def test_the_same_said_before(item: str, line: int | None) -> None:
    same = find_same_item(parse("- tea and cake\n- tea and cake\n- [fact] 日本語\n- ✓\n"), item)
    assert (same.start if same else None) == line


def test_an_id_of_what_cannot_be_encoded() -> None:
    assert fact_id("\udcff") == fact_id(" \udcff ") != fact_id("\udcfe")


@pytest.mark.parametrize(
    ("item", "kind", "tags", "until", "expected"),
    [
        ("x", None, ("a",), None, "x #a"),
        ("- [fact]", "note", (), None, "- [note] [fact]"),
        ("- [fact] x", "note", (), None, "- [note] x"),
        ("- [fact] x", None, (), None, "- [fact] x"),
        ("- x  (until 2026-01-01) #b <!-- c -->", None, ("d",), None, "- x #d <!-- c -->"),
        ("- x #b ^id", None, (), DAY, "- x (until 2026-03-05) ^id"),
        ("- #b", None, ("d",), None, "- #b"),
        ("- boX\n  - y", None, ("t",), None, "- boX #t\n  - y"),
        ("- x\n\n  #a", None, ("b",), None, "- x #b"),
        ("- x\n  y\n  z\n  w\n  - dd", None, ("t",), None, "- x\n  y\n  z\n  w #t\n  - dd"),
        ("- #b", "fact", ("d",), DAY, "- [fact] #b (until 2026-03-05) #d"),
        (
            "- x ^id\n  - y #b (until 2026-01-01)",
            None,
            ("d",),
            DAY,
            "- x #d ^id\n  - y #b (until 2026-03-05)",
        ),
        (
            "- x #a (until 2026-01-01)\n  - y #b\n",
            None,
            ("d",),
            DAY,
            "- x #a (until 2026-03-05) #d\n  - y\n",
        ),
    ],
)
def test_rewriting(
    item: str, kind: str | None, tags: tuple[str, ...], until: date | None, expected: str
) -> None:
    assert rewrite_item(item, kind, tags, until) == expected


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("[fact] x", ("fact", "x")),
        ("[fact]x", ("fact", "x")),
        ("[x] y", (None, "[x] y")),
        ("", (None, "")),
    ],
)
def test_kinds_are_cut_off(words: str, parts: tuple[str | None, str]) -> None:
    assert split_kind(words) == parts


@pytest.mark.parametrize(
    ("arguments", "item"),
    [
        ({"text": "x"}, "- x"),
        ({"text": " x \r\n\r\n y  "}, "- x\n\n   y"),
        ({"text": "a\nb"}, "- a\n  b"),
        ({"text": "x", "key": "Home  Town"}, "- Home Town: x"),
        ({"text": "home town: x", "key": "Home Town"}, "- home town: x"),
        ({"text": "**Home Town:** x", "key": "home town"}, "- **Home Town:** x"),
        (
            {"text": "x", "kind": "fact", "tags": ("a", "#b", "a"), "until": DAY},
            "- [fact] x (until 2026-03-05) #a #b",
        ),
        ({"text": "x #own", "tags": ("b",), "until": DAY}, "- x (until 2026-03-05) #own #b"),
        ({"text": "[fact] x (until 2026-01-01)", "until": DAY}, "- [fact] x (until 2026-03-05)"),
        (
            {"text": "[fact] (until 2026-01-01)", "until": DAY},
            "- [fact] (until 2026-01-01) (until 2026-03-05)",
        ),
        (
            {"text": "[fact]\n(until 2026-01-01) #t", "until": DAY},
            "- [fact]\n  (until 2026-01-01) (until 2026-03-05) #t",
        ),
        ({"text": "x ^id", "tags": ("b",)}, "- x #b ^id"),
        ({"text": "[Fact] x", "kind": "fact"}, "- [fact] x"),
        ({"text": "[lesson] x", "kind": "fact"}, "- [fact] [lesson] x"),
        ({"text": "# x"}, "- \\# x"),
        ({"text": "# x", "kind": "fact"}, "- [fact] \\# x"),
        ({"text": "```"}, "- \\```"),
        ({"text": "a\n# b"}, "- a\n  \\# b"),
        ({"text": "a\n  # b"}, "- a\n    \\# b"),
        ({"text": "a\n---"}, "- a\n  \\---"),
        ({"text": "a\n="}, "- a\n  \\="),
        ({"text": "a\n~~~\nb"}, "- a\n  \\~~~\n  b"),
        ({"text": "a:\n```sh\n# b  \n\n<!-- c\n```"}, "- a:\n  ```sh\n  # b  \n\n  <!-- c\n  ```"),
        (
            {"text": "a\n```\nb\n```\n# c\n~~~\n```"},
            "- a\n  ```\n  b\n  ```\n  \\# c\n  \\~~~\n  \\```",
        ),
        ({"text": "a\n~~~\n# b\n~~~"}, "- a\n  ~~~\n  # b\n  ~~~"),
        ({"text": "# a\n```\nb\n```"}, "- \\# a\n  ```\n  b\n  ```"),
        ({"text": "a\n```\nb\n```", "kind": "fact"}, "- [fact] a\n  ```\n  b\n  ```"),
        ({"text": "a\n~~~\n```\n~~~~"}, "- a\n  ~~~\n  ```\n  ~~~~"),
        ({"text": "a\n```\n~~~\n``"}, "- a\n  \\```\n  \\~~~\n  ``"),
        ({"text": "a\n``` b`\n```"}, "- a\n  \\``` b`\n  \\```"),
        ({"text": "- a\n  ```\n  b\n  ```"}, "- - a\n    ```\n    b\n    ```"),
        ({"text": "- a\n  ```\nb\n  ```"}, "- - a\n    \\```\n  b\n    \\```"),
        ({"text": "```\na\n```"}, "- ```\n  a\n  ```"),
        (
            {"text": "```\na\n```", "kind": "fact", "tags": ("b",)},
            "- [fact]\n  ```\n  a\n  ```\n  #b",
        ),
        (
            {"text": "```\na\n```", "key": "k", "until": DAY},
            "- k: (until 2026-03-05)\n  ```\n  a\n  ```",
        ),
        ({"text": "---"}, "- \\---"),
        ({"text": "---\ntea"}, "- \\---\n  tea"),
        ({"text": "a <!-- b -->"}, "- a \\<!-- b -->"),
        ({"text": "a \\<!-- b"}, "- a \\<!-- b"),
        ({"text": "a \\\\<!-- b"}, "- a \\\\\\<!-- b"),
        ({"text": "x", "key": "<!-- k"}, "- \\<!-- k: x"),
        ({"text": "a %%b%%\n%%\nc"}, "- a \\%%b\\%%\n  \\%%\n  c"),
        ({"text": "50%% of it"}, "- 50%% of it"),
        ({"text": "#only", "tags": ("b",)}, "- \\#only #b"),
        ({"text": "#hash", "key": "k"}, "- k: \\#hash"),
        ({"text": "k: #hash #b"}, "- k: \\#hash #b"),
        ({"text": "**K:** ^id"}, "- **K:** \\^id"),
        ({"text": "__K:__ ^id"}, "- __K:__ \\^id"),
        ({"text": "k:"}, "- k:"),
        ({"text": "[fact]"}, "- \\[fact]"),
        ({"text": "#tag is prose"}, "- #tag is prose"),
        ({"text": "\ufeffx"}, "- x"),
    ],
)
def test_writing(arguments: dict[str, Any], item: str) -> None:
    assert write_item(**arguments) == item


def test_a_text_that_is_the_id_of_another_is_ambiguous() -> None:
    other = parse_item("- tea").id
    listed = items(parse(f"- tea\n- {other}\n"))
    with pytest.raises(FactProblem) as caught:
        items_matching(listed, other)
    assert (caught.value.code, caught.value.details["facts"]) == (
        "fact-ambiguous",
        [listed[1].fact.id, other],
    )
    assert items_matching(listed[1:], other) == listed[1:]
    assert items_matching(listed, "tea") == listed[:1]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"text": " \n\t"}, "empty-text"),
        ({"text": "a\0"}, "bad-text"),
        ({"text": "a", "kind": "x"}, "bad-text"),
        ({"text": "a", "kind": "two words"}, "bad-text"),
        ({"text": "a", "kind": "fact\n"}, "bad-text"),
        ({"text": "a", "kind": "v2"}, "bad-text"),
        ({"text": "a", "key": " "}, "bad-text"),
        ({"text": "a", "key": "b\nc"}, "bad-text"),
        ({"text": "a", "tags": ("1a",)}, "bad-text"),
        ({"text": "a", "tags": ("a b",)}, "bad-text"),
        ({"text": "a", "tags": ("a\n",)}, "bad-text"),
        ({"text": "a", "tags": ("",)}, "bad-text"),
    ],
)
def test_refusals_of_write_item(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(TextProblem) as caught:
        write_item(**arguments)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("tag", "is_several"), [("a,b", True), ("a b", True), ("1a", False), ("", False)]
)
def test_tags_in_one_word_are_told_how(tag: str, is_several: bool) -> None:
    with pytest.raises(TextProblem) as caught:
        write_item("a", tags=[tag])
    assert caught.value.marked_hint == (
        f"Give {field('tags')} once for each tag." if is_several else ""
    )


def test_the_first_paragraph_of_an_item() -> None:
    (plain,), (around,) = items(parse("- x #a\n")), items(parse("- x #a\n  - y\n"))
    assert head_fact(plain) is None
    head = head_fact(around)
    assert head is not None
    assert (head.text, head.tags) == ("x", ("a",))
    for fence in ("~~~", "```"):
        text = f"{fence}\na\n\nb\n{fence}\n\nc"
        assert paragraph_end(text) == len(text)


PIECES = (
    "tea",
    "vim",
    "# ",
    "```",
    "~~~",
    "---",
    "===",
    "=",
    "<!-- ",
    " -->",
    "\n",
    "\n\n",
    "\r\n",
    "- ",
    "1. ",
    "> ",
    " ",
    "\t",
    "日本語",
    "k: ",
    "**b**: ",
    "\\",
    "^id",
    "#t",
    "[fact] ",
    "(until 2026-01-01)",
    "\u2028",
    "<div>",
    "</script>",
    "<script>",
    "`",
    "Mdmem-Op: x",
    "e\u0301",
    "İ",
)
statements = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)
plain = st.lists(
    st.sampled_from(["tea", "Größe", "日本語", "vim 9", "it's", "a-b"]), min_size=1, max_size=4
).map(" ".join)
names = st.sampled_from(["a", "Größe", "标签", "a/b", "x_1"])
keys = st.one_of(
    st.sampled_from(
        [
            "editor",
            "Home Town",
            "a: b",
            "__init__",
            "**x**",
            "# a",
            "```",
            "<!-- k",
            "- a",
            "1. a",
            "[k]",
            "日本",
        ]
    ),
    plain,
)
kinds = st.one_of(st.none(), st.sampled_from(["fact", "decision", "决定"]))


def test_a_fence_takes_no_labels_into_its_last_line() -> None:
    item = write_item("how:\n```\nx\n```", None, "fact", ["a"])
    assert (parse_item(item).tags, parse_item(item).text) == (("a",), "how:\n```\nx\n```")
    assert (
        rewrite_item("- how:\r\n  ```\r\n  ```\r\n", None, ["b"], None)
        == "- how: #b\r\n  ```\r\n  ```\r\n"
    )


@given(
    plain,
    kinds,
    st.lists(names, max_size=3, unique=True),
    st.one_of(st.none(), st.dates(min_value=date(1000, 1, 1))),
)
@examples(150)
def test_a_written_item_reads_back(
    text: str, kind: str | None, tags: list[str], until: date | None
) -> None:
    fact = parse_item(write_item(text, None, kind, tags, until))
    suffix = f" (until {until.isoformat()})" if until else ""
    assert (fact.text, fact.kind, fact.tags, fact.until) == (
        text + suffix,
        kind,
        tuple(tags),
        until,
    )
    assert fact.id == fact_id(text)


@given(
    st.sampled_from(["- ", "- ", "* ", "+ ", "-", "1. ", "-  "]),
    statements,
    st.sampled_from(["", "\n", "\r\n"]),
)
@examples(400)
def test_the_fast_path_reads_as_the_slow_one(marker: str, text: str, end: str) -> None:
    assert parse_item(marker + text + end) == parse_text(item_text(marker + text + end))


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ("- Drinks green tea.\n", "Drinks green tea."),
        ("+ uses `uv`, not pip: it is *fast* ", "uses `uv`, not pip: it is *fast*"),
        ("- trip (to Oslo) was\xa0good", "trip (to Oslo) was\xa0good"),
        ("- trip (until 2026-01-01)", None),
        ("- editor: vim", None),
        ("- **Editor**: vim", None),
        ("- [fact] tea", None),
        ("- tea #drink", None),
        ("- tea ^b1", None),
        ("- tea <!-- why -->", None),
        ("- tea\n  with milk", None),
        ("- tea\r\n", None),
        ("1. tea", None),
        ("-     tea", None),
        ("- ", None),
    ],
)
def test_plain_words(item: str, text: str | None) -> None:
    assert plain_words(item) == text


@given(statements, kinds, st.lists(names, max_size=2), st.one_of(st.none(), st.just(DAY)))
@examples(400)
def test_any_text_stays_one_item(
    text: str, kind: str | None, tags: list[str], until: date | None
) -> None:
    assume(text.strip())
    item = write_item(text, None, kind, tags, until)
    document = parse(f"# A\n\n- before\n{item}\n- after\n\n## B\n", fragment=True)
    assert [(s.level, s.title) for s in document.sections] == [(1, "A"), (2, "B")]
    first, own, last = items(document)
    assert (first.fact.text, last.fact.text) == ("before", "after")
    assert own.raw.rstrip("\n") == item.rstrip()
    assert own.fact.id == parse_item(item).id
    assert own.fact.id == parse_item(write_item(text)).id or (
        kind and split_kind(text.strip())[0] not in (None, kind)
    )
    assert set(tags) <= set(own.fact.tags)
    if until:
        assert own.fact.until == until


@pytest.mark.parametrize(
    "item",
    [
        "- [fact] x (until 2026-01-01)",
        "- x (until 2026-01-01) (until 2026-02-02)",
        "- (until 2026-01-01)",
        "- [fact] (until 2026-01-01)",
        "- [fact]\n  (until 2026-01-01)",
        "- [fact]\xa0 (until 2026-01-01) #t",
    ],
)
def test_another_expiry_is_the_same_fact(item: str) -> None:
    fact, changed = parse_item(item), parse_item(rewrite_item(item, None, (), DAY))
    assert (changed.id, changed.until) == (fact.id, DAY)


SPACES = st.sampled_from(["", " ", "\xa0", "\n"])
EXPIRING = st.tuples(
    st.sampled_from(["", "[fact]", "[note]"]),
    SPACES,
    st.sampled_from(["", "tea", "k:", "k: vim"]),
    SPACES,
    st.sampled_from(
        ["", "(until 2026-01-01)", "(until 2026-02-31)", "(until 2026-01-01) (until 2026-02-01)"]
    ),
    st.sampled_from(["", " #t", " ^id"]),
).map("".join)
"""A text that may end in a date on which it expires, or be nothing else."""


@given(EXPIRING, kinds, st.one_of(st.none(), st.just(DAY)), st.dates(min_value=date(1000, 1, 1)))
@examples(400)
def test_no_expiry_changes_an_id(
    text: str, kind: str | None, until: date | None, later: date
) -> None:
    assume(text.strip())
    fact = parse_item(write_item(text, None, kind))
    item = write_item(text, None, kind, (), until)
    assert parse_item(item).id == fact.id
    assert parse_item(item).until == until or fact.until
    changed = parse_item(rewrite_item(item, None, (), later))
    assert (changed.id, changed.until) == (fact.id, later)


@given(keys, statements)
@examples(300)
def test_a_key_is_held(key: str, text: str) -> None:
    assume(text.strip())
    item = write_item(text, key)
    document = parse(f"{item}\n\n# B\n", fragment=True)
    (own,) = items(document)
    assert holds_key(own.fact, key)
    assert holds_key(own.fact, f"  {key.upper()} ")
    assert len(document.sections) == 1
    assert write_item(own.fact.text, key) == item or "\n" in item or "#" in item or "^" in item


@given(
    statements, kinds, st.lists(names, max_size=2, unique=True), st.one_of(st.none(), st.just(DAY))
)
@examples(200)
def test_amending_keeps_the_words(
    text: str, kind: str | None, tags: list[str], until: date | None
) -> None:
    assume(text.strip())
    item = write_item(text, None, "lesson", ["old"]) + " <!-- c --> ^keep\n"
    before = parse_item(item)
    until = until or before.until
    changed = rewrite_item(item, kind, tags, until)
    after = parse_item(changed)
    assert changed.endswith(" <!-- c --> ^keep\n")
    assert after.tags == tuple(tags)
    assert after.until == until
    assert after.id == before.id
    if "\n" not in changed.strip():
        assert _UNTIL.sub("", normalise(after.text)) == _UNTIL.sub("", normalise(before.text))
    assert after.kind == (kind or before.kind)
    assert rewrite_item(changed, kind, tags, until) == changed


LIST = "- [fact] editor: vim #a\n- tea\n- Tea\n- \\# odd\n- beef\n"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("editor: VIM", [0]),
        ("- [fact] editor: vim #a", [0]),
        ("[fact] editor: vim #a", [0]),
        ("tea", [1, 2]),
        ("te", []),
        ("\\# odd", [3]),
        ("# odd", [3]),
        ("6466f4d0", [0]),
        ("6466F4", [0]),
        ("6466f", []),
        ("6466f4d0f", []),
        ("", []),
    ],
)
def test_picking(name: str, lines: list[int]) -> None:
    assert [item.start for item in items_matching(items(parse(LIST)), name)] == lines


def test_a_prefix_of_several_ids_is_ambiguous() -> None:
    many = [parse_item(f"- n{i}") for i in range(9000)]
    by_prefix: dict[str, str] = {}
    pair = next(
        (by_prefix[f.id[:6]], f.text)
        for f in many
        if by_prefix.setdefault(f.id[:6], f.text) != f.text
    )
    candidates = items(parse("".join(f"- {text}\n" for text in pair)))
    with pytest.raises(FactProblem) as caught:
        items_matching(candidates, candidates[0].fact.id[:6])
    assert caught.value.code == "fact-ambiguous"
    assert caught.value.details["facts"] == sorted(item.fact.id for item in candidates)
    assert items_matching(candidates, candidates[0].fact.id) == candidates[:1]


@pytest.mark.costly
@pytest.mark.parametrize(
    "item",
    [
        "- " + "<!-- " * 50_000,
        "- x" + " #t" * 50_000,
        "- " + "a: " * 50_000,
        "- x" + " ^a" * 50_000,
        "- x" + " " * 100_000 + "y",
        "- " + "\\" * 50_000 + "<!--",
    ],
)
def test_long_runs_are_read_in_linear_time(item: str) -> None:
    assert parse_item(item).text
    assert not holds_key(parse_item(item), "other")
    assert write_item(item)


def test_runs_of_ticks_are_read_in_linear_time() -> None:
    def seconds(ticks: int) -> float:
        runs = "x ".join("`" * number for number in range(1, int((2 * ticks) ** 0.5)))
        start = time.process_time()
        assert without_comments(f"{runs} <!-- c -->") == runs
        assert without_struck(f"{runs} ~~c~~") == f"{runs} "
        assert as_read(f"{runs} [[c]]") == f"{runs} c"
        return time.process_time() - start

    short = min(seconds(100_000) for _ in range(3))
    assert min(seconds(400_000) for _ in range(3)) < 8 * short


def test_conflict_markers_end_a_fact_and_what_both_sides_replaced_is_none() -> None:
    text = "<<<<<<< HEAD\n- k: a\n||||||| base\n- k: b\n=======\n- k: c\n>>>>>>> other\n- d\n"
    found = [(item.start, item.end, item.raw) for item in items(parse(text))]
    assert found == [(1, 2, "- k: a\n"), (5, 6, "- k: c\n"), (7, 8, "- d\n")]
    assert [item.raw for item in items(parse(f"```\n{text}```\n"))] == []
