from dataclasses import replace
from datetime import date

import pytest
from conftest import examples
from generated_markdown import closed_documents
from hypothesis import assume, given
from hypothesis import strategies as st

from mdmem.editors import EditResult
from mdmem.editors.fact_difference import fact_difference
from mdmem.editors.facts import forget, items_named, remember, similar_items
from mdmem.model import FactId, Op, Supersession
from mdmem.model.errors import MdmemError
from mdmem.model.writes import Remember, WriteOptions
from mdmem.text.document import parse
from mdmem.text.facts import find_same_item, holds_key, items, parse_item

TODAY = date(2026, 3, 5)


def remembered(text: str, change: Remember) -> tuple[EditResult, FactId]:
    document = parse(text)
    return remember(document, change, TODAY, similar_items(document, change))


def put(text: str, words: str, **options: object) -> str:
    return remembered(text, replace(Remember(words), **options))[0].text


def refused(text: str, words: str, **options: object) -> MdmemError:
    with pytest.raises(MdmemError) as caught:
        put(text, words, **options)
    return caught.value


EDITOR = "# M\n\n## Facts\n\n- editor: vim\n- tea\n"


@pytest.mark.parametrize(
    ("before", "words", "options", "after"),
    [
        # One fact a key.
        (EDITOR, "editor: helix", {}, "# M\n\n## Facts\n\n- editor: helix\n- tea\n"),
        (EDITOR, "helix", {"key": "editor"}, "# M\n\n## Facts\n\n- editor: helix\n- tea\n"),
        (EDITOR, "Editor: helix", {"key": "Editor"}, "# M\n\n## Facts\n\n- editor: helix\n- tea\n"),
        (EDITOR, "EDITOR:  Vim", {"key": "editor"}, EDITOR),
        (EDITOR, "editor: vim", {}, EDITOR),
        (EDITOR, "coffee", {}, "# M\n\n## Facts\n\n- editor: vim\n- tea\n- coffee\n"),
        (EDITOR, "TEA", {}, EDITOR),
        # The spelling of the key, the list's marker, kind and tags stay.
        (
            "## A\n\n* [preference] **Editor:** vim #tools\n* x\n",
            "editor: helix",
            {},
            "## A\n\n* [preference] **Editor:** helix #tools\n* x\n",
        ),
        (
            "## A\n\n1. x\n2. **Home Town**: Graz\n",
            "Wien",
            {"key": "home town"},
            "## A\n\n1. x\n2. **Home Town**: Wien\n",
        ),
        (
            "## A\n\n- [fact] k: a #t\n",
            "k: b",
            {"kind": "lesson", "tags": ("u",)},
            "## A\n\n- [lesson] k: b #u\n",
        ),
        ("## A\n\n- [fact] k: a\n", "[lesson] k: b", {}, "## A\n\n- [lesson] k: b\n"),
        ("## A\n\n- [fact] k: a\n", "[fact] k: b", {}, "## A\n\n- [fact] k: b\n"),
        # What stands behind and beneath the text stays with it.
        (
            "## A\n\n- k: a\n  more\n\n  and more\n- x\n",
            "k: b",
            {},
            "## A\n\n- k: b\n  more\n\n  and more\n- x\n",
        ),
        ("## A\n\n- k: a #t <!-- c --> ^id\n", "k: b", {}, "## A\n\n- k: b #t <!-- c --> ^id\n"),
        (
            "## A\n\n- k: a #t <!-- c --> ^id  \n",
            "k: b",
            {"tags": ("u",)},
            "## A\n\n- k: b #u <!-- c --> ^id\n",
        ),
        (
            "## A\n\n- k: a #t <!-- c --> ^id\n",
            "k: b #u <!-- d -->",
            {},
            "## A\n\n- k: b #u <!-- d --> ^id\n",
        ),
        (
            "## A\n\n- k: a #t <!-- c --> <!-- d --> ^id\n",
            "k: b ^new",
            {},
            "## A\n\n- k: b #t <!-- c --> <!-- d --> ^new\n",
        ),
        ("## A\n\n- k: a (until 2026-04-01) #t ^id\n", "k: b", {}, "## A\n\n- k: b #t ^id\n"),
        (
            "## A\n\n- k: a <!-- c\n  d --> ^id\n- x\n",
            "k: b",
            {},
            "## A\n\n- k: b <!-- c\n  d --> ^id\n- x\n",
        ),
        ("## A\n\n- k: a <!-- c\n  d --> boX\n  more\n", "k: b", {}, "## A\n\n- k: b\n  more\n"),
        (
            "## A\n\n- k: a #t ^id\n  - sub\n\n  ```\n  code\n  ```\n",
            "k: b",
            {},
            "## A\n\n- k: b #t ^id\n  - sub\n\n  ```\n  code\n  ```\n",
        ),
        (
            "## A\n\n- k: a #t ^id\n\t- sub #s\n",
            "k: b",
            {"tags": ("u",), "until": "2026-05-01"},
            "## A\n\n- k: b (until 2026-05-01) #u ^id\n\t- sub\n",
        ),
        (
            "## A\n\n- k: a #t <!-- c -->\n  more #u\n",
            "k: b",
            {},
            "## A\n\n- k: b #t <!-- c -->\n  more #u\n",
        ),
        (
            "## A\n\n- k: a #t <!-- c -->\n  more #u (until 2026-04-01)\n  - x\n",
            "k: b ^new",
            {"tags": ("v",), "until": "2026-05-01"},
            "## A\n\n- k: b <!-- c -->\n  more #u (until 2026-05-01) #v ^new\n  - x\n",
        ),
        (
            "## A\r\n\r\n1. **K:** a ^id\r\n   - x\r\n2. y\r\n",
            "b",
            {"key": "k"},
            "## A\r\n\r\n1. **K:** b ^id\r\n   - x\r\n2. y\r\n",
        ),
        ("## A\n\n- k: a #X\n  more\n", "k: b", {}, "## A\n\n- k: b #X\n  more\n"),
        ("## A\n\n- k: a\n  - x (until 2026-04-01)\n", "k: b", {}, "## A\n\n- k: b\n  - x\n"),
        # Further lines of the new text replace the others, but not the lists.
        ("## A\n\n- k: a\n  boX\n  - x\n", "k: b\nc", {}, "## A\n\n- k: b\n  c\n  - x\n"),
        (
            "## A\n\n- k: a ^id\n  more\n  - x\n\n  and\n",
            "k: b\nc",
            {},
            "## A\n\n- k: b\n  c ^id\n  - x\n\n  and\n",
        ),
        (
            "## A\n\n- k: a\n\n  ```\n  - code\n  ```\n\n  - x\n",
            "k: b\n\nc",
            {"tags": ("t",)},
            "## A\n\n- k: b #t\n\n  c\n  - x\n",
        ),
        ("## A\n\n- k: a\n  - x\n", "k: b\n- y", {}, "## A\n\n- k: b\n  - y\n"),
        # The same again, with more beneath it: nothing to change, or other labels.
        ("## A\n\n- k: a\n  more\n", "k: a", {}, "## A\n\n- k: a\n  more\n"),
        ("## Facts\n\n- tea\n  - green\n", "Tea", {}, "## Facts\n\n- tea\n  - green\n"),
        (
            "## Facts\n\n- tea\n  - green\n",
            "tea",
            {"tags": ("t",)},
            "## Facts\n\n- tea #t\n  - green\n",
        ),
        ("## Facts\n\n- tea\n  leaves\n", "tea", {}, "## Facts\n\n- tea\n  leaves\n- tea\n"),
        # A comment of the fact's own, and what is none.
        ("## Facts\n", "tea <!-- c -->", {}, "## Facts\n\n- tea <!-- c -->\n"),
        ("## Facts\n", "tea <!-- c --> x", {}, "## Facts\n\n- tea \\<!-- c --> x\n"),
        ("## Facts\n", "tea <!-- a\nb -->", {}, "## Facts\n\n- tea \\<!-- a\n  b -->\n"),
        ("## A\n\n-\tk: a\n-\tx\n", "k: b\n\nc", {}, "## A\n\n-\tk: b\n\n    c\n-\tx\n"),
        ("## A\n\n10. k: a\n", "k: b\nc", {}, "## A\n\n10. k: b\n    c\n"),
        ("## A\r\n\r\n- k: a\r\n- x\r\n", "k: b\nc", {}, "## A\r\n\r\n- k: b\r\n  c\r\n- x\r\n"),
        ("## A\n\n- k: a", "k: b", {}, "## A\n\n- k: b"),
        # Restated: new labels are added to the line, and nothing else of it changes.
        (
            "## A\n\n* k:  a <!-- c --> ^id\n",
            "k: a",
            {"tags": ("t",)},
            "## A\n\n* k:  a #t <!-- c --> ^id\n",
        ),
        (
            "## A\n\n1. k: a #t\n",
            "k: A",
            {"kind": "fact", "tags": ("t", "u")},
            "## A\n\n1. [fact] k: a #t #u\n",
        ),
        (
            "## A\n\n- k: a (until 2026-04-01)\n",
            "k: a",
            {"until": "2026-05-01"},
            "## A\n\n- k: a (until 2026-05-01)\n",
        ),
        ("## A\n\n- k: a (until 2026-04-01)\n", "k: a", {}, "## A\n\n- k: a (until 2026-04-01)\n"),
        ("## A\n\n- k: a\n", "k: a #t", {}, "## A\n\n- k: a #t\n"),
        # Several values.
        (
            EDITOR,
            "editor: emacs",
            {"also": True},
            "# M\n\n## Facts\n\n- editor: vim\n- tea\n- editor: emacs\n",
        ),
        (EDITOR, "editor: vim", {"also": True}, EDITOR),
        ("## A\n\n- k: a\n- k: b\n", "k: b", {}, "## A\n\n- k: a\n- k: b\n"),
        (
            "## A\n\n- k: a\n- k: b #t ^id\n  - x\n",
            "k: c",
            {"options": WriteOptions(supersedes="k: b")},
            "## A\n\n- k: a\n- k: c #t ^id\n",
        ),
        (
            "## A\n\n- k: b ^id\n  - x\n",
            "k: c ^own",
            {"options": WriteOptions(supersedes="k: b")},
            "## A\n\n- k: c ^own\n",
        ),
        (
            "## A\n\n- b\n  more ^id\n",
            "c <!-- x -->",
            {"section": "A", "options": WriteOptions(supersedes="b\nmore")},
            "## A\n\n- c <!-- x --> ^id\n",
        ),
        (
            "## A\n\n- k: a\n- k: b\n",
            "k: c",
            {"options": WriteOptions(supersedes="elsewhere")},
            "## A\n\n- k: a\n- k: b\n- k: c\n",
        ),
        # A fact that used to be true is added, and the current one stays.
        (
            EDITOR,
            "editor: nano",
            {"until": "2026-03-04"},
            "# M\n\n## Facts\n\n- editor: vim\n- tea\n- editor: nano (until 2026-03-04)\n",
        ),
        (
            EDITOR,
            "editor: nano (until 2020-01-01)",
            {},
            "# M\n\n## Facts\n\n- editor: vim\n- tea\n- editor: nano (until 2020-01-01)\n",
        ),
        (
            EDITOR,
            "editor: nano",
            {"until": "2026-03-05"},
            "# M\n\n## Facts\n\n- editor: nano (until 2026-03-05)\n- tea\n",
        ),
        # An expired fact is neither replaced nor restated.
        (
            "## A\n\n- k: a (until 2026-03-04)\n",
            "k: b",
            {"section": "A"},
            "## A\n\n- k: a (until 2026-03-04)\n- k: b\n",
        ),
        (
            "## Facts\n\n- tea (until 2026-03-04)\n",
            "tea",
            {},
            "## Facts\n\n- tea (until 2026-03-04)\n- tea\n",
        ),
        # Homes.
        ("# M\n", "tea", {}, "# M\n\n## Facts\n\n- tea\n"),
        ("# M\n", "tea", {"kind": "Preference"}, "# M\n\n## Preferences\n\n- [Preference] tea\n"),
        ("# M\n", "[decision] tea", {}, "# M\n\n## Decisions\n\n- [decision] tea\n"),
        ("# M\n", "[lesson] tea", {}, "# M\n\n## Facts\n\n- [lesson] tea\n"),
        (
            "# M\n\n## Lessons\n",
            "tea",
            {"kind": "lesson"},
            "# M\n\n## Lessons\n\n- [lesson] tea\n",
        ),
        (
            "# M\n\n## preferences\n",
            "tea",
            {"kind": "preference"},
            "# M\n\n## preferences\n\n- [preference] tea\n",
        ),
        ("", "k: v", {}, "## Facts\n\n- k: v\n"),
        ("# M\n", "tea", {"section": "A > B", "create": True}, "# M\n\n## A\n\n### B\n\n- tea\n"),
        (
            "## A\n\n- editor: vim\n\n## Facts\n",
            "editor: helix",
            {},
            "## A\n\n- editor: helix\n\n## Facts\n",
        ),
        (
            "## A\n\n- k: a\n\n## B\n\n- k: b\n",
            "k: c",
            {"section": "B"},
            "## A\n\n- k: a\n\n## B\n\n- k: c\n",
        ),
        # Where the line goes.
        (
            "## Facts\n\ntext\n\n### Sub\n\n- x\n",
            "tea",
            {},
            "## Facts\n\ntext\n\n- tea\n\n### Sub\n\n- x\n",
        ),
        ("## Facts\n\n* x\n", "tea", {}, "## Facts\n\n* x\n- tea\n"),
        (
            "## Facts\n<!-- what belongs here -->\n## B\n",
            "tea",
            {},
            "## Facts\n<!-- what belongs here -->\n\n- tea\n## B\n",
        ),
        ("## Facts\n\n- a\n  - b\n", "tea", {}, "## Facts\n\n- a\n  - b\n- tea\n"),
    ],
)
def test_remember(before: str, words: str, options: dict[str, object], after: str) -> None:
    assert put(before, words, **options) == after
    assert put(after, words, **options) == after


@pytest.mark.parametrize(
    ("before", "words", "options", "code"),
    [
        ("## A\n\n- k: a\n- k: b\n", "k: c", {}, "key-ambiguous"),
        ("## A\n\n- k: a\n\n## B\n\n- k: b\n", "k: c", {}, "section-ambiguous"),
        ("## Facts\n\n## Facts\n", "tea", {}, "section-ambiguous"),
        (EDITOR, "tea", {"section": "Nowhere"}, "section-not-found"),
        (EDITOR, " ", {}, "empty-text"),
        (EDITOR, "x", {"until": "tomorrow"}, "usage"),
        (EDITOR, "x", {"tags": ("a b",)}, "bad-text"),
        (EDITOR, "x", {"kind": "1"}, "bad-text"),
        ("## Facts\n\n```\nopen\n", "tea", {}, "open-block"),
        (
            "## Facts\n\n- tea\n- tea\n",
            "x: y",
            {"options": WriteOptions(supersedes="tea")},
            "fact-ambiguous",
        ),
    ],
)
def test_refusals(before: str, words: str, options: dict[str, object], code: str) -> None:
    assert refused(before, words, **options).code == code


def test_the_result_names_the_replaced_fact() -> None:
    old, new = parse_item("- editor: vim").id, parse_item("- editor: helix").id
    edited, fact = remembered(EDITOR, Remember("helix", key="Editor"))
    assert (edited.op, edited.section, edited.supersedes, fact) == (
        Op.REMEMBER,
        ("M", "Facts"),
        (Supersession(old, new),),
        new,
    )
    edited, fact = remembered(EDITOR, Remember("editor: helix", also=True))
    assert (edited.supersedes, edited.also, fact) == ((), True, new)


def test_several_values_are_listed() -> None:
    problem = refused("## A\n\n- k: a\n- k: b\n", "k: c")
    assert problem.details["facts"] == [
        {"id": parse_item(f"- k: {v}").id, "text": f"k: {v}"} for v in "ab"
    ]


KEYS = (
    "editor",
    "Home Town",
    "a: b",
    "__init__",
    "# a",
    "**x**",
    "1. a",
    "[k]",
    "[kind] z",
    "日本",
    "<!-- k",
)
VALUES = ("vim", "# z", "```", "日本語", "a: b", "#hash", "z <!-- q", "- l", "---")


@given(
    closed_documents,
    st.sampled_from(KEYS),
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=3),
)
@examples(150)
def test_a_key_keeps_its_last_value_only(text: str, key: str, values: list[str]) -> None:
    count = len(items(parse(text)))
    neighbours = [item.raw.rstrip("\r\n") for item in items(parse(text))]
    assume(not any(holds_key(item.fact, key) for item in items(parse(text))))
    for value in values:
        text = put(text, value, key=key, section="Own", create=True)
        assert put(text, value, key=key, section="Own", create=True) == text
    result = items(parse(text))
    (held,) = [item for item in result if holds_key(item.fact, key)]
    assert held.fact.id == parse_item(items(parse(put("", values[-1], key=key)))[0].raw).id
    assert len(result) == count + 1
    assert [item.raw.rstrip("\r\n") for item in result if item is not held] == neighbours


@given(
    st.sampled_from(
        [
            "x",
            "k: x",
            "x (until 2026-01-01)",
            "[fact] (until 2026-01-01)",
            "[fact]\n(until 2026-01-01)",
            "(until 2026-01-01) #t",
        ]
    ),
    st.sampled_from([None, "fact"]),
    st.lists(st.sampled_from([None, "2026-06-01", "2026-07-01"]), min_size=1, max_size=3),
)
@examples(150)
def test_a_remembered_fact_has_the_id_of_its_line(
    text: str, kind: str | None, dates: list[str | None]
) -> None:
    memory, ids = "## Own\n", set()
    for until in dates:
        edited, fact = remembered(memory, Remember(text, section="Own", kind=kind, until=until))
        memory = edited.text
        ids.add(fact)
        assert fact in {item.fact.id for item in items(parse(memory))}
    assert len(ids) == 1


# Forgetting.


@pytest.mark.parametrize(
    ("before", "name", "after"),
    [
        ("## A\n\n- a\n- b\n- c\n", "b", "## A\n\n- a\n- c\n"),
        ("## A\n\n- a\n\n- b\n\n- c\n", "b", "## A\n\n- a\n\n- c\n"),
        ("## A\n\n- a\n\n## B\n", "a", "## A\n\n## B\n"),
        ("## A\n- a\n## B\n", "a", "## A\n## B\n"),
        ("## A\n\n- a\n  more\n\n  and\n- b", "- a\n  more\n\n  and", "## A\n\n- b"),
        ("## A\n\n- a\n- b", "b", "## A\n\n- a\n"),
        # A list that does not begin with 1 cannot interrupt a paragraph: without the blank line the
        # fact b would be gone.
        ("## A\n\ntext\n1. a\n2. b\n", "a", "## A\n\ntext\n\n2. b\n"),
        ("## A\n\ntext\n- a\nB\n---\n", "a", None),
        ("- a\n\n# B\n", "a", "# B\n"),
        ("## A\n\n- \\# odd\n- x\n", "# odd", "## A\n\n- x\n"),
        ("## A\n\n- k: a #t <!-- c -->\n  - beneath\n\n  and\n- x\n", "k: a", "## A\n\n- x\n"),
    ],
)
def test_forget(before: str, name: str, after: str | None) -> None:
    document = parse(before)
    matches = items_named(document, name)
    if after is None:
        assert matches == ()
        return
    (item,) = matches
    assert forget(document, item).text == after
    assert forget(document, item).op is Op.FORGET


@given(closed_documents, st.data())
@examples(200)
def test_forgetting_removes_one_fact_only(text: str, data: st.DataObject) -> None:
    document = parse(text)
    candidates = items(document)
    assume(candidates)
    item = data.draw(st.sampled_from(candidates))
    edited = forget(document, item)
    result = parse(edited.text)
    assert [i.raw for i in items(result)] == [i.raw for i in candidates if i is not item]
    assert [s.path for s in result.sections] == [s.path for s in document.sections]
    assert edited.text.startswith(document.bom + document.slice(0, item.start))
    assert edited.text.endswith(document.slice(item.end, len(document.lines)).lstrip(" \t\r\n"))


def test_names_may_be_limited_to_a_section() -> None:
    document = parse("## A\n\n- x\n\n## B\n\n- x\n")
    assert [item.start for item in items_named(document, "x")] == [2, 6]
    assert [item.start for item in items_named(document, "x", "B")] == [6]
    assert items_named(document, "y") == ()


# Facts that an edit removed and added.


@pytest.mark.parametrize(
    ("before", "after", "removed", "added", "pairs"),
    [
        ("## A\n- k: a\n- x\n", "## A\n- x\n- k: b\n", ["k: a"], ["k: b"], [("k: a", "k: b")]),
        ("## A\n- x\n## B\n", "## A\n## B\n- x\n", ["x"], ["x"], []),
        ("## A\n- x\n- x\n", "## A\n- x\n", ["x"], [], []),
        ("## A\n- x\n", "## A\n- X #t\n", [], [], []),
        ("## A\n- k: a\n- k: b\n", "## A\n- k: c\n", ["k: a", "k: b"], ["k: c"], []),
        ("## A\n- **K:** a\n", "## A\n- k: b\n", ["**K:** a"], ["k: b"], [("**K:** a", "k: b")]),
        ("## A\n- k: a\n", "## A\n- j: a\n", ["k: a"], ["j: a"], []),
        ("## A\n- k: a\n## B\n", "## A\n## B\n- k: b\n", ["k: a"], ["k: b"], []),
    ],
)
def test_difference(
    before: str, after: str, removed: list[str], added: list[str], pairs: list[tuple[str, str]]
) -> None:
    difference = fact_difference(parse(before), parse(after))
    assert ([i.fact.text for i in difference.removed], [i.fact.text for i in difference.added]) == (
        removed,
        added,
    )
    assert difference.supersedes == tuple(
        Supersession(parse_item(f"- {a}").id, parse_item(f"- {b}").id) for a, b in pairs
    )


def test_a_new_file_adds_all_its_facts() -> None:
    difference = fact_difference(None, parse("- a\n# B\n- b\n"))
    assert ([i.fact.text for i in difference.removed], [i.fact.text for i in difference.added]) == (
        [],
        ["a", "b"],
    )


_ITEM = st.sampled_from(
    [
        "- tea",
        "- Tea",
        "- **drink**: tea",
        "- [fact] tea #hot",
        "* caf\u00e9",
        "- cafe\u0301 au lait",
        "- tea (until 2026-01-01)",
        "- \u212a2",
        "- K2",
        "- k2 <!-- tea -->",
    ]
)
_LINE = st.one_of(
    _ITEM,
    _ITEM,
    st.sampled_from(["", "# A", "## B", "## B", "# C", "prose", "  more", "```", "<!--", "-->"]),
)
_NOTES = st.lists(_LINE, max_size=10).map(lambda lines: "".join(f"{line}\n" for line in lines))


@given(before=_NOTES, after=_NOTES)
def test_sections_whose_text_is_the_same_make_no_difference(before: str, after: str) -> None:
    old, new = parse(before), parse(after)
    everything = {(), *(section.path for section in (*old.sections, *new.sections))}
    assert fact_difference(old, new) == fact_difference(old, new, everything)


@given(text=_NOTES, item=_ITEM)
def test_find_same_item_finds_what_reading_all_items_finds(text: str, item: str) -> None:
    document = parse(text)
    assert find_same_item(document, item) == next(
        (candidate for candidate in items(document) if candidate.fact.id == parse_item(item).id),
        None,
    )
