import pytest
from conftest import examples
from generated_markdown import closed_documents, documents
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mdmem.editors.daily import insert, log
from mdmem.model import Op
from mdmem.model.errors import SectionProblem
from mdmem.text.document import parse
from mdmem.text.facts import items, parse_item, write_item


@pytest.mark.parametrize(
    ("before", "entry", "after"),
    [
        ("# D\n", "x", "# D\n\n## 09:00\n\n- x\n"),
        ("# D\n\n## 09:00\n\n- x\n", "y", "# D\n\n## 09:00\n\n- x\n- y\n"),
        ("# D\n\n## 09:00\n\n- x\n", "X", "# D\n\n## 09:00\n\n- x\n"),
        ("# D\n\n- x\n\n## 08:00\n", "x", "# D\n\n- x\n\n## 08:00\n"),
        ("# D\n\n## 08:00\n\n- x\n", "y", "# D\n\n## 08:00\n\n- x\n\n## 09:00\n\n- y\n"),
        (
            "# D\n\n## 09:00\n\n- x\n\n## 10:00\n",
            "y",
            "# D\n\n## 09:00\n\n- x\n\n## 10:00\n\n## 09:00\n\n- y\n",
        ),
        ("# D\n\n## 09:00\n\n### Sub\n", "y", "# D\n\n## 09:00\n\n### Sub\n\n## 09:00\n\n- y\n"),
        ("# D\n\n# 09:00\n", "y", "# D\n\n# 09:00\n\n## 09:00\n\n- y\n"),
        ("# D\n\n## 09:00 \n\ntext\n", "y", "# D\n\n## 09:00 \n\ntext\n\n- y\n"),
        ("# D\n\n## *09:00*\n", "y", "# D\n\n## *09:00*\n\n## 09:00\n\n- y\n"),
        ("# D\n\n## 09:00", "y", "# D\n\n## 09:00\n\n- y"),
        ("# D\n\n## 09:00\n\n- x", "y", "# D\n\n## 09:00\n\n- x\n- y"),
        ("# D\n\n## 09:00\n\n- x\n\n\n", "y", "# D\n\n## 09:00\n\n- x\n\n\n- y\n"),
        ("# D\n\n## 09:00\n\n\n", "y", "# D\n\n## 09:00\n\n\n- y\n"),
        ("# D\r\n\r\n## 09:00\r\n", "a\nb", "# D\r\n\r\n## 09:00\r\n\r\n- a\r\n  b\r\n"),
        ("", "y", "## 09:00\n\n- y\n"),
        ("text", "y", "text\n\n## 09:00\n\n- y"),
        ("\ufeff---\na: 1\n---\n", "y", "\ufeff---\na: 1\n---\n\n## 09:00\n\n- y\n"),
    ],
)
def test_log(before: str, entry: str, after: str) -> None:
    edited = log(parse(before), "09:00", write_item(entry))
    assert (edited.text, edited.op) == (after, Op.LOG)
    assert log(parse(after), "09:30", write_item(entry)).text == after


def test_again_writes_the_same_entry_again() -> None:
    before = "# D\n\n## 09:00\n\n- x\n"
    assert log(parse(before), "09:00", "- x", again=True).text == before + "- x\n"
    assert log(parse(before), "09:01", "- [fact] X #tag").text == before


def test_the_result_names_the_section() -> None:
    document = parse("# D\n\n## 08:00\n\n- x\n")
    assert log(document, "09:00", "- y").section == ("D", "09:00")
    assert log(document, "08:00", "- y").section == ("D", "08:00")
    assert log(document, "09:00", "- x").section == ("D", "08:00")
    assert log(parse("- x\n"), "09:00", "- x").section == ()
    assert log(parse(""), "09:00", "- x").section == ("09:00",)


@pytest.mark.parametrize(
    ("text", "line"),
    [("# D\n\n```\nx\n", 3), ("# D\n\n## 09:00\n\n- x\n\n<!-- y\n", 7), ("~~~\n", 1)],
)
def test_an_open_block_is_not_written_into(text: str, line: int) -> None:
    with pytest.raises(SectionProblem) as caught:
        log(parse(text), "09:00", "- x")
    assert caught.value.code == "open-block"
    assert caught.value.details["line"] == line
    assert f"line {line})" in caught.value.message


ENTRIES = st.lists(
    st.sampled_from(
        [
            "tea",
            "# ",
            "## 09:00",
            "```",
            "<!-- ",
            "---",
            "===",
            "\n",
            "\n\n",
            "- ",
            "Mdmem-Op: log",
            "#t ",
            "k: v",
            "> ",
            "\r",
        ]
    ),
    min_size=1,
    max_size=6,
).map("".join)


@given(documents, ENTRIES, st.sampled_from(["09:00", "10:00"]))
@example("## 09:00\nx\r\n", "tea", "09:00")
@example("## 09:00\n- x\r", "tea", "09:00")
@examples(400)
def test_a_log_only_grows(text: str, entry: str, minute: str) -> None:
    document = parse(text)
    assume(entry.strip() and document.open_line is None)
    item = write_item(entry)
    edited = log(document, minute, item, again=True)
    assert edited.text.startswith(text)
    assert len(edited.text) > len(text)
    result = parse(edited.text)
    before = [(s.level, s.title) for s in document.sections]
    after = [(s.level, s.title) for s in result.sections]
    assert after in (before, [*before, (2, minute)])
    assert after == before or before[-1:] != [(2, minute)]
    last = items(result)[-1]
    assert last.fact.id == parse_item(item).id
    assert result.section_at(last.start) == result.sections[-1]
    assert result.sections[-1].path == edited.section
    assert log(result, "23:59", item).text == edited.text


@given(closed_documents, ENTRIES)
@examples(150)
def test_entries_that_stand_are_not_changed(text: str, entry: str) -> None:
    document = parse(text)
    assume(entry.strip())
    edited = log(document, "09:00", write_item(entry), again=True)
    assert [i.fact for i in items(parse(edited.text))][:-1] == [i.fact for i in items(document)]


MINUTES = ["00:00", "08:59", "09:00", "09:01", "10:00", "23:59"]
logs = st.lists(
    st.sampled_from(
        [*(f"## {minute}" for minute in MINUTES), "- x", "", "text", "# D", "### Sub", "## Plans"]
    ),
    min_size=1,
    max_size=12,
).map(lambda lines: "\n".join(lines) + "\n")


class TestInsert:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("# D\n", "# D\n\n## 09:00\n\n- y\n"),
            ("", "## 09:00\n\n- y\n"),
            (
                "# D\n\n## 09:00\n\n- x\n\n## 10:00\n\n- z\n",
                "# D\n\n## 09:00\n\n- x\n- y\n\n## 10:00\n\n- z\n",
            ),
            (
                "# D\n\n## 08:00\n\n- x\n\n## 10:00\n\n- z\n",
                "# D\n\n## 08:00\n\n- x\n\n## 09:00\n\n- y\n\n## 10:00\n\n- z\n",
            ),
            ("# D\n\n## 10:00\n\n- z\n", "# D\n\n## 09:00\n\n- y\n\n## 10:00\n\n- z\n"),
            (
                "# D\n\n## 12:00\n\n- z\n\n## 08:00\n\n- x\n",
                "# D\n\n## 12:00\n\n- z\n\n## 08:00\n\n- x\n\n## 09:00\n\n- y\n",
            ),
            (
                "# D\n\n## 09:00\n\n- x\n\n## 09:00\n\n- z\n",
                "# D\n\n## 09:00\n\n- x\n\n## 09:00\n\n- z\n- y\n",
            ),
            ("# D\n\n## Plans\n\n- z\n", "# D\n\n## Plans\n\n- z\n\n## 09:00\n\n- y\n"),
            (
                "# D\n\n## 08:00\n\n### More\n\n- x\n\n## 10:00\n",
                "# D\n\n## 08:00\n\n### More\n\n- x\n\n## 09:00\n\n- y\n\n## 10:00\n",
            ),
            (
                "# D\r\n\r\n## 10:00\r\n\r\n- z",
                "# D\r\n\r\n## 09:00\r\n\r\n- y\r\n\r\n## 10:00\r\n\r\n- z",
            ),
        ],
    )
    def test_where_a_minute_belongs(self, before: str, after: str):
        edited = insert(parse(before), {"09:00": ["- y"]})
        assert (edited.text, edited.op, edited.section[-1]) == (after, Op.DIGEST, "09:00")

    @pytest.mark.parametrize("text", ["# D\n\n```\nx\n", "# D\n\n## 08:00\n\n<!-- y\n"])
    def test_not_behind_an_open_block(self, text: str):
        with pytest.raises(SectionProblem) as problem:
            insert(parse(text), {"09:00": ["- y"]})
        assert problem.value.code == "open-block"

    @given(closed_documents, st.sampled_from(["00:00", "09:00", "23:59"]))
    def test_every_line_stays_in_its_order(self, text: str, minute: str):
        document = parse(text)
        try:
            after = insert(document, {minute: ["- y"]}).text
        except SectionProblem:
            assume(False)
        lines = iter(parse(after).lines)
        assert all(
            any(line.rstrip("\r\n") == each.rstrip("\r\n") for each in lines)
            for line in document.lines
        )

    @given(
        closed_documents | logs,
        st.dictionaries(
            st.sampled_from(MINUTES),
            st.lists(st.sampled_from(["- y", "- z"]), min_size=1, max_size=3),
            min_size=1,
        ),
    )
    @examples(300)
    def test_many_at_once_stand_where_they_would_stand_alone(
        self, text: str, entries: dict[str, list[str]]
    ):
        document = parse(text)
        try:
            edited = insert(document, entries)
        except SectionProblem:
            assume(False)
        one_by_one = text
        for minute, entries_of_minute in entries.items():
            for entry in entries_of_minute:
                one_by_one = insert(parse(one_by_one), {minute: [entry]}).text
        assert edited.text == one_by_one
        assert [path[-1] for path in (edited.section, *edited.more_sections)] == list(entries)
