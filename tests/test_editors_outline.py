"""Headings renamed, sections deleted and created: every other heading stays as it is."""

import pytest
from conftest import examples
from generated_markdown import bodies, documents, sections_of
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from mdmem.editors.section import create, delete, edit, heading, rename
from mdmem.model import Op
from mdmem.model.errors import MdmemError, SectionProblem, TextProblem
from mdmem.model.writes import Action, EditSection
from mdmem.text.document import Document, Section, find_section, matching_sections, parse


def creation(
    section: str, text: str, after: str | None = None, expect: str | None = None
) -> EditSection:
    return EditSection(
        section=section, action=Action.BODY, text=text, create=True, after=after, expect=expect
    )


@pytest.mark.parametrize(
    ("before", "title", "after"),
    [
        ("## A ##  \nx\n", "New", "## New ##  \nx\n"),
        ("##\tA\t#\r\nx\r\n", "New", "##\tNew\t#\r\nx\r\n"),
        ("   ## A\n", "New", "   ## New\n"),
        ("## A", "New", "## New"),
        ("A\n---\nx\n", "New", "New\n---\nx\n"),
        ("## A\n", "C#", "## C#\n"),
        ("## A\n", "C #", "## C \\#\n"),
        ("## A\n", "  two   words ", "## two words\n"),
        ("## A\n", "*B* `c`", "## *B* `c`\n"),
        ("## A ##\n", "A", "## A ##\n"),
        ("A\n---\n", "1. x", "## 1. x\n"),
        ("A\n===\nx\n", "# x", "# # x\nx\n"),
    ],
)
def test_rename(before: str, title: str, after: str) -> None:
    document = parse(before)
    assert rename(document, find_section(document, "A"), title).text == after


def test_rename_of_several_lines() -> None:
    document = parse("two\nlines\n---\nx\n")
    assert rename(document, document.sections[0], "One").text == "One\n---\nx\n"


@pytest.mark.parametrize(
    ("before", "title", "is_refused"),
    [
        ("## A\n\n## B\n", "B", True),
        ("# T\n\n## A\n\n## B\n", "*b*", True),
        ("# T\n\n## A\n\n# U\n\n## B\n", "B", False),
        ("## A\n\n### B\n", "B", False),
        ("## A\n\n## B\n\n### C\n", "C", False),
        ("# T\n\n### A\n\n## B\n", "B", True),
        ("## A\n", "a", False),
    ],
)
def test_rename_to_the_title_of_a_sibling(before: str, title: str, is_refused: bool) -> None:
    document = parse(before)
    section = find_section(document, "A")
    if not is_refused:
        assert rename(document, section, title).section[-1] == title
        return
    with pytest.raises(SectionProblem) as failure:
        rename(document, section, title)
    assert failure.value.code == "section-exists"


@pytest.mark.parametrize(
    ("before", "subtree", "after"),
    [
        ("# T\n\n## A\n\nold\n\n## B\n\nb\n", False, "# T\n\n## B\n\nb\n"),
        ("## A\nold\n## B\nb\n", False, "## B\nb\n"),
        ("## A\n\nown\n\n### C\n\nc\n\n## B\n", True, "## B\n"),
        ("x\n\n## A", False, "x\n\n"),
        ("\ufeff## A\n", False, "\ufeff"),
    ],
)
def test_delete(before: str, subtree: bool, after: str) -> None:
    document = parse(before)
    assert delete(document, find_section(document, "A"), subtree).text == after


@pytest.mark.parametrize(
    ("before", "section", "after_section", "after"),
    [
        ("", "A", None, "## A\n\nx\n"),
        ("text", "A", None, "text\n\n## A\n\nx"),
        ("# T\n", "A", None, "# T\n\n## A\n\nx\n"),
        ("# T\n\n## B\n\nb\n", "A", None, "# T\n\n## B\n\nb\n\n## A\n\nx\n"),
        ("# T\n\n# U\n", "A", None, "# T\n\n# U\n\n# A\n\nx\n"),
        ("## T\n\n## U\n", "A", None, "## T\n\n## U\n\n## A\n\nx\n"),
        ("# T\n\n## B\n\n## C\n", "B > A", None, "# T\n\n## B\n\n### A\n\nx\n\n## C\n"),
        ("# T\n\n## B\n\n## C\n", "T > A", "B", "# T\n\n## B\n\n## A\n\nx\n\n## C\n"),
        ("# T\n\n## B\n\n### D\n\n## C\n", "A", "B", "# T\n\n## B\n\n### D\n\n## A\n\nx\n\n## C\n"),
        (
            "# T\n\n## B\n\n### D\n\n## C\n",
            "A",
            "D",
            "# T\n\n## B\n\n### D\n\n### A\n\nx\n\n## C\n",
        ),
        ("# T\n", "B > A", None, "# T\n\n## B\n\n### A\n\nx\n"),
        ("# T\n\n## B\n## C\n", "B > A", None, "# T\n\n## B\n\n### A\n\nx\n\n## C\n"),
        ("# T\r\n", "A", None, "# T\r\n\r\n## A\r\n\r\nx\r\n"),
    ],
)
def test_create(before: str, section: str, after_section: str | None, after: str) -> None:
    created = create(parse(before), creation(section, "x", after=after_section))
    assert (created.text, created.op) == (after, Op.CREATE)
    assert created.section in [s.path for s in parse(after).sections]
    assert edit(parse(after), creation(section, "x", after=after_section)).text == after


@pytest.mark.parametrize(
    ("section", "options", "code"),
    [
        ("A > A > A > A > A > A > A", {}, "body-escapes-section"),
        ("B > ", {}, "bad-text"),
        ("New", {"after": "Nowhere"}, "section-not-found"),
        ("B > New", {"after": "T"}, "section-not-found"),
        ("New", {"expect": "0" * 12}, "section-not-found"),
    ],
)
def test_creations_that_are_refused(section: str, options: dict[str, str], code: str) -> None:
    with pytest.raises(MdmemError) as caught:
        edit(parse("# T\n\n## B\n"), creation(section, "x", **options))
    assert caught.value.code == code


@given(sections_of(documents), st.booleans())
@examples(150)
def test_deleting_leaves_the_rest(where: tuple[Document, Section], subtree: bool) -> None:
    document, section = where
    try:
        edited = delete(document, section, subtree)
    except SectionProblem:
        reject()
    assert edited.section == section.path
    assert edited.text == document.bom + document.slice(0, section.start) + document.slice(
        section.tree_end, len(document.lines)
    )
    deleted = {section, *document.subsections(section)}
    assert [s.path for s in parse(edited.text).sections] == [
        s.path for s in document.sections if s not in deleted
    ]


@given(
    sections_of(documents),
    st.one_of(
        st.text(min_size=1, max_size=12), st.sampled_from(["C #", "# x", "a\\", "*b*", "1. x"])
    ),
)
@examples(200)
def test_renaming_changes_the_heading_alone(where: tuple[Document, Section], title: str) -> None:
    document, section = where
    try:
        edited = rename(document, section, title)
    except (SectionProblem, TextProblem):
        reject()
    assert edited.text.startswith(document.bom + document.slice(0, section.start))
    assert edited.text.endswith(document.slice(section.body, len(document.lines)))
    result = parse(edited.text)
    levels = [s.level for s in document.sections]
    assert [s.level for s in result.sections] == levels
    assert result.sections[section.index].path == edited.section


@given(documents, st.sampled_from(["New", "A > New", "B", "Work > x > y"]), bodies)
@examples(150)
def test_creating_only_adds(text: str, address: str, body: str) -> None:
    document = parse(text)
    assume(not matching_sections(document, address))
    try:
        created = create(document, creation(address, body))
    except (SectionProblem, TextProblem):
        reject()
    start = next(
        (i for i, (a, b) in enumerate(zip(text, created.text, strict=False)) if a != b),
        min(len(text), len(created.text)),
    )
    assert created.text.endswith(text[start:])
    paths = [s.path for s in parse(created.text).sections]
    assert created.section in paths
    kept = iter(paths)
    assert all(path in kept for path in [s.path for s in document.sections])


def test_a_heading_is_no_trailer() -> None:
    with pytest.raises(TextProblem) as failure:
        heading(2, " Mdmem-Op: log")
    assert failure.value.code == "bad-text"
    assert heading(2, "The line Mdmem-Op: log") == "## The line Mdmem-Op: log"


@given(st.text(min_size=1, max_size=20))
@examples(200)
def test_a_heading_reads_back(title: str) -> None:
    try:
        line = heading(3, title)
    except TextProblem:
        return
    (section,) = parse(line, fragment=True).sections
    assert section.level == 3
    assert section.body == 1


def test_a_number_chooses_the_section_after_which_one_is_created() -> None:
    document = parse("# T\n\n## A\n\nx\n\n## A\n\ny\n")
    with pytest.raises(SectionProblem) as failure:
        create(document, creation("B", "", after="A"))
    assert failure.value.code == "section-ambiguous"
    change = EditSection(section="B", action=Action.BODY, create=True, after="A", nth=1)
    assert create(document, change).text == "# T\n\n## A\n\nx\n\n## B\n\n## A\n\ny\n"
