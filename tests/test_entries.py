from datetime import date

import pytest
from generated_markdown import documents
from hypothesis import given
from hypothesis import strategies as st

from mdmem.model import FilePath
from mdmem.model.trail import Entry
from mdmem.text.document import parse
from mdmem.text.facts import entries, fact_id, shown_text

MEMORY = FilePath("MEMORY.md")


def texts(markdown: str) -> list[str]:
    return [entry.text for entry in entries(parse(markdown), MEMORY)]


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("", []),
        ("# Only\n\n## Headings\n", []),
        ("---\ntitle: front matter\n---\n\ntext\n", ["text"]),
        ("- one\n- two\n", ["one", "two"]),
        ("* one\n\n\n* two\n", ["one", "two"]),
        ("1. one\n2) two\n", ["one", "two"]),
        ("- one\n  - nested\n- two\n", ["one\n- nested", "two"]),
        ("- [decision] db: postgres #infra #db <!-- why --> ^b1\n", ["db: postgres"]),
        ("- lives in Oslo (until 2024-05-01)\n", ["lives in Oslo (until 2024-05-01)"]),
        ("- \n- two\n", ["two"]),
        ("- <!-- nothing here -->\n- two\n", ["two"]),
        ("- 👍\n", ["👍"]),
        ("A paragraph\nof two lines.\n\nAnother.\n", ["A paragraph\nof two lines.", "Another."]),
        (
            "| a | b |\n|---|---|\n| 1 | 2 |\n| | |\n| 3\\|4 | `x` | more |\n",
            ["a: 1 · b: 2", "a: 3|4 · b: `x` · more"],
        ),
        ("| a |\n|---|\n| x\u2028y |\n| z |\n", ["a: x\u2028y", "a: z"]),
        ("a | b\n:-: | --\n1 |\n\nwords\n", ["a: 1", "words"]),
        ("| a | b |\n|---|---|\n", ["| a | b |\n|---|---|"]),
        ("a | b\n---\n\n| a |\n|---|---|\n| 1 |\n", ["| a |\n|---|---|\n| 1 |"]),
        ("```sh\nmake all\n```\n", ["```sh\nmake all\n```"]),
        ("```\n<!-- stays in code -->\n```\n", ["```\n<!-- stays in code -->\n```"]),
        ("```\n```\n", []),
        ("> said\n> so\n", ["> said\n> so"]),
        ("<!-- a comment -->\n\ntext\n", ["text"]),
        ("<!-- a comment\n\nthat goes on\n", []),
        ("<div>shown</div>\n", ["<div>shown</div>"]),
        ("<!-- hidden --> <b>shown</b>\n", ["<b>shown</b>"]),
        ("words <!-- hidden --> more\n", ["words  more"]),
        ("%%\n## draft\n\n- hidden\n%%\n\ntext\n", ["text"]),
        ("%% hidden\nas well %% and words\n", ["and words"]),
        ("words %%hidden%% and %% this %% more\n", ["words and more"]),
        ("- tea %%hidden%% #drink\n- %%hidden%%\n", ["tea %%hidden%%"]),
        ("- tea %%hidden%% ^id\n", ["tea"]),
        ("%%\nnever ended\n", ["%%\nnever ended"]),
        ("- `%%i` or 50%% of tea and 5%% of milk\n", ["`%%i` or 50%% of tea and 5%% of milk"]),
        ("for %%i in (*) do echo %%i\n", ["for %%i in (*) do echo %%i"]),
        (
            "```\n%%\nin code\n%%\n```\n\nand `%%x%%`\n",
            ["```\n%%\nin code\n%%\n```", "and `%%x%%`"],
        ),
        ("<!-- %%\n-->\n\n# Title\n\ntext\n\n%% on\n", ["text", "%% on"]),
        (
            "- **Name:** Ada\n- **Pronouns:**\n- **Notes:** _(to be filled in)_\n- met::\n",
            ["**Name:** Ada"],
        ),
        (
            "- **Trips:**\n  - Rome\n- Ideas:\n- _(aside)_\n",
            ["**Trips:**\n- Rome", "Ideas:", "_(aside)_"],
        ),
        ("- ~~tea~~\n- [x] ~~milk~~ #buy\n- ~~tea~~ milk\n", ["~~tea~~ milk"]),
        ("---\n\n***\n", []),
        ("    indented code\n", ["indented code"]),
    ],
)
def test_texts(markdown: str, expected: list[str]) -> None:
    assert texts(markdown) == expected


def test_conflict_markers_are_not_entries() -> None:
    ours, theirs = "<<<<<<< HEAD\n- tea\n", "=======\n- coffee\n>>>>>>> other\n"
    assert texts(f"- one\n{ours}{theirs}- two\n") == ["one", "tea", "coffee", "two"]
    assert texts(f"{ours}||||||| base\n- milk\n{theirs}") == ["tea", "coffee"]
    assert texts(f"<<<<<<< HEAD\nwords\n{theirs}") == ["words", "coffee"]
    assert texts(f"```\n{ours}{theirs}```\n") == [f"```\n{ours}{theirs}```"]
    lines = [entry.start_line for entry in entries(parse(f"{ours}{theirs}- two\n"), MEMORY)]
    assert lines == [2, 4, 6]


def test_all_of_an_item() -> None:
    markdown = "# Memory\n\n## Work\n\n- [decision] db: postgres (until 2025-03-01) #infra\n  because of JSON\n"
    result = entries(parse(markdown), FilePath("memory/2024-01-02-notes.md"), ("project",))
    item = "db: postgres (until 2025-03-01) #infra\nbecause of JSON"
    assert result == (
        Entry(
            path=FilePath("memory/2024-01-02-notes.md"),
            start_line=5,
            end_line=6,
            section=("Memory", "Work"),
            day=date(2024, 1, 2),
            text=item,
            kind="decision",
            key="db",
            tags=("project",),
            until=None,
            fact=fact_id(item),
            first_line="- [decision] db: postgres (until 2025-03-01) #infra",
        ),
    )


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("- a <!-- x --> b\n", "a b"),
        ("- a <!-- x -->\n  - b <!-- y\n    z -->\n  <!-- w -->\n  - c ^end\n", "a\n- b\n- c"),
        ("- a ^b1\n  - c ^b2\n  - d\n", "a\n- c ^b2\n- d"),
        ("- a <!-- x --> ^b1\n  b\n", "a\nb"),
        ("- write `<!--` first\n  and --> last\n", "write `<!--` first\nand --> last"),
        ("- a\n  ~~~\n  <!-- x -->\n  ~~~\n  b <!-- y -->\n", "a\n~~~\n<!-- x -->\n~~~\nb"),
        ("- a \\<!-- x -->\n", "a \\<!-- x -->"),
        ("- a <!-- open\n", "a <!-- open"),
        ("- 2^10\n  more\n", "2^10\nmore"),
    ],
)
def test_a_reader_sees_no_comments_and_no_block_id(markdown: str, expected: str) -> None:
    (entry,) = entries(parse(markdown), MEMORY)
    assert shown_text(entry) == expected
    assert entry.fact == fact_id(entry.text)


def test_tags_are_the_items_own_and_then_the_files_each_once() -> None:
    (item, paragraph) = entries(parse("- tea #drink #home\n\nprose\n"), MEMORY, ("home", "all"))
    assert item.tags == ("drink", "home", "all")
    assert paragraph.tags == ("home", "all")
    assert paragraph.fact is None
    assert paragraph.kind is None


def test_sections_and_lines() -> None:
    markdown = "before\n\n# A\n\n- one\n\nSetext\n------\n\n- two\n  more\n\n\n- three\n"
    result = [(e.section, e.start_line, e.end_line) for e in entries(parse(markdown), MEMORY)]
    assert result == [
        ((), 1, 1),
        (("A",), 5, 5),
        (("A", "Setext"), 10, 11),
        (("A", "Setext"), 14, 14),
    ]


@given(documents, st.integers(0, 40))
def test_parts_of_a_file_have_the_entries_of_the_whole(text: str, line: int) -> None:
    document = parse(text)
    whole = entries(document, MEMORY, ("tag",))
    assert (
        entries(document, MEMORY, ("tag",), 0, line) + entries(document, MEMORY, ("tag",), line)
        == whole
    )
    assert [entry.section for entry in whole] == [
        document.path_at(entry.start_line - 1) for entry in whole
    ]


def test_first_line_is_as_in_the_file() -> None:
    (entry,) = entries(parse("\ufeff  *  One thing #tag \r\n     and more\r\n"), MEMORY)
    assert entry.first_line == "*  One thing #tag"


def test_cost_grows_with_the_file_not_its_square() -> None:
    markdown = "".join(f"# S{number}\n\n- fact {number}\n\n" for number in range(3000))
    result = entries(parse(markdown), MEMORY)
    assert [entry.section for entry in result] == [(f"S{number}",) for number in range(3000)]
