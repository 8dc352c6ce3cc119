from dataclasses import replace

import pytest
from conftest import examples
from generated_markdown import bodies, closed_documents, documents, headings, sections_of, texts
from generated_markdown import closed_blocks as blocks
from hypothesis import assume, given
from hypothesis import strategies as st

from mdmem.editors import EditResult
from mdmem.editors.section import edit
from mdmem.model.errors import MdmemError, SectionProblem, TextProblem, UsageProblem
from mdmem.model.writes import Action, EditSection
from mdmem.text.document import (
    Document,
    Section,
    is_blank,
    matching_sections,
    parse,
    section_etag,
    tree_etag,
    with_line_end,
)

BODY, APPEND, PREPEND, REPLACE, RENAME, DELETE = Action
ADDITIONS = (APPEND, PREPEND)


def apply(
    text: str, action: Action, section: str | None, words: str = "", **options: object
) -> str:
    return edit(
        parse(text), replace(EditSection(section=section, action=action, text=words), **options)
    ).text


def refused(
    text: str, action: Action, section: str | None, words: str = "", **options: object
) -> MdmemError:
    with pytest.raises(MdmemError) as caught:
        apply(text, action, section, words, **options)
    return caught.value


# Results, byte for byte.

LOOSE = "# T\n\n## A\n\nold\n\n## B\n\nb\n"
TIGHT = "## A\nold\n## B\nb\n"


@pytest.mark.parametrize(
    ("before", "body", "after"),
    [
        (LOOSE, "new", "# T\n\n## A\n\nnew\n\n## B\n\nb\n"),
        (LOOSE, "\n\nnew\n\n\n", "# T\n\n## A\n\nnew\n\n## B\n\nb\n"),
        (LOOSE, "", "# T\n\n## A\n\n## B\n\nb\n"),
        (LOOSE, "one\r\ntwo\r", "# T\n\n## A\n\none\ntwo\n\n## B\n\nb\n"),
        (TIGHT, "new", "## A\nnew\n## B\nb\n"),
        (TIGHT, "", "## A\n## B\nb\n"),
        (TIGHT, "- a\n- b", "## A\n- a\n- b\n## B\nb\n"),
        (TIGHT, "    new", "## A\n    new\n## B\nb\n"),
        (TIGHT, "### C\nc", "## A\n### C\nc\n## B\nb\n"),
        ("## A\n\n\n\nold\n\n\n\n## B\n", "new", "## A\n\n\n\nnew\n\n\n\n## B\n"),
        ("## A\n \nold\n\t\n## B\n", "new", "## A\n \nnew\n\t\n## B\n"),
        ("## A\n## B\n", "new", "## A\n\nnew\n\n## B\n"),
        ("## A\n\n## B\n", "new", "## A\n\nnew\n\n## B\n"),
        ("## A\n\n\n## B\n", "new", "## A\n\nnew\n\n## B\n"),
        ("## A", "new", "## A\n\nnew"),
        ("## A\n", "new", "## A\n\nnew\n"),
        ("## A\n\n", "new", "## A\n\nnew\n"),
        ("## A\n  ", "new", "## A\n  \nnew"),
        ("## A\n    ", "- new", "## A\n    \n- new"),
        ("## A\n\nold", "new", "## A\n\nnew"),
        ("## A\n\nold\n\n\n", "new", "## A\n\nnew\n\n\n"),
        ("## A\n\nold", "", "## A\n"),
        ("## A\r\n\r\nold\r\n\r\n## B\r\n", "one\ntwo", "## A\r\n\r\none\r\ntwo\r\n\r\n## B\r\n"),
        ("## A\r\rold\r\r## B\r", "one\ntwo", "## A\r\rone\rtwo\r\r## B\r"),
        ("\ufeff## A\n\nold\n", "\ufeffnew", "\ufeff## A\n\nnew\n"),
        ("---\n## no\n---\n## A\nold\n", "new", "---\n## no\n---\n## A\nnew\n"),
        # What stands tight below is a setext heading, which would take the new paragraph in.
        ("## A\n```\nx\n```\nB\n---\n", "new", "## A\nnew\n\nB\n---\n"),
        ("## A\nB\n---\n", "new", "## A\n\nnew\n\nB\n---\n"),
        ("A\n---\nold\n\nB\n---\n", "new", "A\n---\nnew\n\nB\n---\n"),
        # A body that closes what the file left open.
        ("## A\n\n```\nold\n", "```\nnew\n```", "## A\n\n```\nnew\n```\n"),
        # The section's own heading first is dropped.
        (TIGHT, "## A\n\nnew", "## A\nnew\n## B\nb\n"),
        (TIGHT, "## *A* ##\nnew", "## A\nnew\n## B\nb\n"),
        (TIGHT, "## A", "## A\n## B\nb\n"),
        (TIGHT, "A\n---\nnew", "## A\nnew\n## B\nb\n"),
    ],
)
def test_body(before: str, body: str, after: str) -> None:
    assert apply(before, BODY, "A", body) == after
    assert apply(after, BODY, "A", body) == after


SUBS = "## A\n\nown\n\n### C\n\nc\n\n## B\n"


@pytest.mark.parametrize(
    ("body", "subtree", "after"),
    [
        ("new", False, "## A\n\nnew\n\n### C\n\nc\n\n## B\n"),
        ("", False, "## A\n\n### C\n\nc\n\n## B\n"),
        ("new", True, "## A\n\nnew\n\n## B\n"),
        ("", True, "## A\n\n## B\n"),
        ("new\n\n### D", True, "## A\n\nnew\n\n### D\n\n## B\n"),
        ("own\n\n### C\n\nc", False, SUBS),
        ("## A\n\nown\n\n### C\n\nc\n", False, SUBS),
        ("own\n\n### C\n\nc", True, SUBS),
    ],
)
def test_body_and_subsections(body: str, subtree: bool, after: str) -> None:
    assert apply(SUBS, BODY, "A", body, subtree=subtree) == after


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (LOOSE, "new", "# T\n\n## A\n\nold\n\nnew\n\n## B\n\nb\n"),
        (TIGHT, "new", "## A\nold\n\nnew\n## B\nb\n"),
        ("## A\n- a\n## B\n", "- b", "## A\n- a\n- b\n## B\n"),
        ("## A\n\n- a\n\n## B\n", "- b\n- c\n", "## A\n\n- a\n- b\n- c\n\n## B\n"),
        ("## A\n\n1. a\n", "2. b", "## A\n\n1. a\n2. b\n"),
        ("## A\n\n- a\n  - b\n", "- c", "## A\n\n- a\n  - b\n- c\n"),
        ("## A\n\n- a\n", "text", "## A\n\n- a\n\ntext\n"),
        ("## A\n\ntext\n", "- a", "## A\n\ntext\n\n- a\n"),
        ("## A\n\n- a\n\n***\n", "- b", "## A\n\n- a\n\n***\n\n- b\n"),
        ("## A\n\n- a\n\n[r]: /u\n", "- b", "## A\n\n- a\n\n[r]: /u\n\n- b\n"),
        ("## A\n\n```\nx\n```\n", "```\ny\n```", "## A\n\n```\nx\n```\n\n```\ny\n```\n"),
        ("## A\n\n| a |\n|---|\n", "| b |", "## A\n\n| a |\n|---|\n\n| b |\n"),
        ("## A\n\n<div>\n## B\n", "x", "## A\n\n<div>\n## B\n\nx\n"),
        ("## A\n\n<!-- c -->\n", "- a", "## A\n\n<!-- c -->\n\n- a\n"),
        ("## A\n\n    code\n", "x", "## A\n\n    code\n\nx\n"),
        ("## A\n## B\n", "x", "## A\n\nx\n\n## B\n"),
        ("## A", "x", "## A\n\nx"),
        ("## A\n\nold  ", "x", "## A\n\nold  \n\nx"),
        ("## A\n\nold\n\n\n", "x", "## A\n\nold\n\nx\n\n\n"),
        ("## A\n\nold\n", "### C\n\nc", "## A\n\nold\n\n### C\n\nc\n"),
        ("## A\n\nold\n\n### C\n\n- x\n", "- x", "## A\n\nold\n\n- x\n\n### C\n\n- x\n"),
        ("## A\r\n\r\n- a\r\n", "- b\n- c", "## A\r\n\r\n- a\r\n- b\r\n- c\r\n"),
        ("## A\n- a\r\n", "- b", "## A\n- a\r\n- b\r\n"),
        ("## A\na\r\n", "b", "## A\na\r\n\nb\r\n"),
        ("## A\na\r", "b", "## A\na\r\rb\r"),
        ("## A\r\n\r\na\n\r\n## B\r\n", "b", "## A\r\n\r\na\n\r\nb\n\r\n## B\r\n"),
        ("## A\n```\nc\n```\nB\n---\n", "x", "## A\n```\nc\n```\n\nx\n\nB\n---\n"),
    ],
)
def test_append(before: str, text: str, after: str) -> None:
    assert apply(before, APPEND, "A", text) == after
    assert apply(after, APPEND, "A", text) == after


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (LOOSE, "new", "# T\n\n## A\n\nnew\n\nold\n\n## B\n\nb\n"),
        (TIGHT, "new", "## A\nnew\n\nold\n## B\nb\n"),
        ("## A\n- a\n## B\n", "- b", "## A\n- b\n- a\n## B\n"),
        ("## A\n\ntext\n", "- a", "## A\n\n- a\n\ntext\n"),
        ("## A\n", "x", "## A\n\nx\n"),
        ("## A\n\nold", "x", "## A\n\nx\n\nold"),
        ("## A\n\nold\n", "### C\n\nc", "## A\n\n### C\n\nc\n\nold\n"),
        ("\ufeff## A\r\n- a\r\n", "- b", "\ufeff## A\r\n- b\r\n- a\r\n"),
    ],
)
def test_prepend(before: str, text: str, after: str) -> None:
    assert apply(before, PREPEND, "A", text) == after
    assert apply(after, PREPEND, "A", text) == after


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (LOOSE, "old", "new", "# T\n\n## A\n\nnew\n\n## B\n\nb\n"),
        (LOOSE, "old", "old", LOOSE),
        ("## A\r\none\r\ntwo\r\n", "one\ntwo", "1\n2", "## A\r\n1\r\n2\r\n"),
        ("## A\none\r\ntwo\nx\n", "one\ntwo", "1\n2", "## A\n1\n2\nx\n"),
        ("## A\none\ntwo\n", "e\r\nt", "e t", "## A\none two\n"),
        ("## A\r\none\r\n\r\ntwo\r\n", "\ntwo", "2", "## A\r\none\r\n2\r\n"),
        ("## A\na.b axb\n", "a.b", "\\1", "## A\n\\1 axb\n"),
        ("## A\nx\n## B\nx\n", "x", "", "## A\n\n## B\nx\n"),
    ],
)
def test_replace(before: str, old: str, new: str, after: str) -> None:
    assert apply(before, REPLACE, "A", old, replacement=new) == after


@pytest.mark.parametrize(
    ("before", "action", "text", "after"),
    [
        ("# A\n", BODY, "x", "x\n\n# A\n"),
        ("old\n\n# A\n", BODY, "new", "new\n\n# A\n"),
        ("old\n\n# A\n", BODY, "", "# A\n"),
        ("\n\nold\n# A\n", APPEND, "x", "\n\nold\n\nx\n# A\n"),
        ("- a\n", APPEND, "- b", "- a\n- b\n"),
        ("- a\n", PREPEND, "- b", "- b\n- a\n"),
        ("", APPEND, "x", "x\n"),
        ("---\na: 1\n---\n# A\n", BODY, "x", "---\na: 1\n---\n\nx\n\n# A\n"),
        ("\ufeffold\n", BODY, "new", "\ufeffnew\n"),
    ],
)
def test_preamble(before: str, action: Action, text: str, after: str) -> None:
    assert apply(before, action, None, text) == after
    assert apply(after, action, None, text, create=True) == after


# Refusals.


@pytest.mark.parametrize(
    ("before", "action", "section", "text", "code"),
    [
        (TIGHT, BODY, "C", "x", "section-not-found"),
        (TIGHT, BODY, " ", "x", "section-not-found"),
        ("# A\n# A\n", BODY, "A", "x", "section-ambiguous"),
        (TIGHT, BODY, "A", "## C", "body-escapes-section"),
        (TIGHT, BODY, "A", "x\n\n# C", "body-escapes-section"),
        (TIGHT, BODY, "A", "C\n---", "body-escapes-section"),
        (TIGHT, BODY, "A", "```\nx", "body-escapes-section"),
        (TIGHT, BODY, "A", "<!-- x", "body-escapes-section"),
        (TIGHT, BODY, "A", "<pre>", "body-escapes-section"),
        ("## A\n\n  ## B\n", BODY, "A", "- x", "body-escapes-section"),
        (TIGHT, APPEND, "A", "## A\nx", "body-escapes-section"),
        (TIGHT, APPEND, "A", "~~~", "body-escapes-section"),
        ("## A\n\n```\nx\n", APPEND, "A", "y", "open-block"),
        (TIGHT, APPEND, "A", " \n", "empty-text"),
        (TIGHT, PREPEND, "A", "", "empty-text"),
        (TIGHT, BODY, "A", "a\0", "bad-text"),
        (TIGHT, BODY, "A", "\udcff", "bad-text"),
        (TIGHT, REPLACE, "A", "b", "text-not-found"),
        ("## A\naaa\n", REPLACE, "A", "aa", "text-ambiguous"),
        ("## A\nx\nx\n", REPLACE, "A", "x", "text-ambiguous"),
        (TIGHT, REPLACE, "A", "", "usage"),
        (TIGHT, RENAME, "A", "", "bad-text"),
        (TIGHT, RENAME, "A", "a\nb", "bad-text"),
        (SUBS, BODY, "A", "x\n\n### D", "has-subsections"),
        (SUBS, APPEND, "A", "### D", "has-subsections"),
        (SUBS, DELETE, "A", "", "has-subsections"),
        ("x\n# A\n", BODY, None, "# New", "body-escapes-section"),
        ("# A\n", APPEND, None, "x\n\n## New", "body-escapes-section"),
        ("# A\n", BODY, None, "---\na: 1\n---", "body-escapes-section"),
        ("# A\n", RENAME, None, "x", "usage"),
        ("# A\n", DELETE, None, "", "usage"),
    ],
)
def test_refusals(before: str, action: Action, section: str | None, text: str, code: str) -> None:
    assert refused(before, action, section, text).code == code


def test_replacement_may_not_reach_beyond() -> None:
    assert (
        refused("## A\nold\n\n## B\n", REPLACE, "A", "\n\n", replacement=" ").code
        == "body-escapes-section"
    )
    assert refused(TIGHT, REPLACE, "A", "old", replacement="# x").code == "body-escapes-section"


def test_expect() -> None:
    document = parse(SUBS)
    section = document.sections[0]
    own, tree = section_etag(document, section), tree_etag(document, section)
    assert "new" in apply(SUBS, BODY, "A", "new", expect=own)
    assert "new" in apply(SUBS, BODY, "A", "new", expect=tree, subtree=True)
    problem = refused(SUBS, BODY, "A", "new", expect=tree)
    assert (problem.code, problem.details) == (
        "section-changed",
        {"etag": own, "text": "\nown\n\n"},
    )
    problem = refused(SUBS, BODY, "A", "new", expect=own, subtree=True)
    assert problem.details == {"etag": tree, "text": "\nown\n\n### C\n\nc\n\n"}
    assert refused("x\n", BODY, None, "y", expect=own).code == "section-changed"


def test_a_number_chooses_among_several() -> None:
    assert apply("# A\na\n# A\nb\n", BODY, "A", "new", nth=2) == "# A\na\n# A\nnew\n"


# Properties.


def attempt(
    document: Document, section: Section, action: Action, text: str, subtree: bool = False
) -> EditResult | None:
    """The edit of exactly this section, or None if it is refused."""
    address = " > ".join(section.path)
    change = EditSection(section=address, action=action, text=text, subtree=subtree)
    try:
        return edit(document, change)
    except (SectionProblem, TextProblem):
        return None


def outline(document: Document) -> list[tuple[int, str]]:
    return [(s.level, s.title) for s in document.sections]


def only_blank_lines(text: str) -> bool:
    return all(is_blank(line) for line in text.splitlines())


@pytest.mark.costly
@given(
    sections_of(documents),
    st.sampled_from([BODY, *ADDITIONS]),
    texts(blocks, headings(3), most=4),
    st.booleans(),
)
@examples(400)
def test_nothing_outside_the_section_changes(
    where: tuple[Document, Section], action: Action, text: str, subtree: bool
) -> None:
    document, section = where
    edited = attempt(document, section, action, text, subtree)
    assume(edited is not None)
    assert edited is not None
    if (
        edited.section != section.path
        or [s.path for s in document.sections].count(section.path) > 1
    ):
        return
    end = section.tree_end if subtree else section.end
    before, after = (
        document.bom + document.slice(0, section.body),
        document.slice(end, len(document.lines)),
    )
    assert edited.text.startswith(before)
    assert edited.text.endswith(after)
    result = parse(edited.text)
    above = [s for s in document.sections if s.start < section.body]
    below = [s for s in document.sections if s.start >= end]
    assert outline(result)[: len(above)] == outline(document)[: len(above)]
    assert (
        outline(result)[len(result.sections) - len(below) :]
        == outline(document)[len(document.sections) - len(below) :]
    )
    assert [s.path for s in result.sections[len(result.sections) - len(below) :]] == [
        s.path for s in below
    ]
    if action is not BODY and edited.text != document.text:
        own = document.slice(section.body, end).strip(" \t\r\n")
        assert own in edited.text[len(before) :]


@pytest.mark.costly
@given(
    sections_of(documents),
    st.sampled_from([BODY, *ADDITIONS]),
    texts(blocks, headings(3), most=4),
    st.booleans(),
)
@examples(300)
def test_twice_is_once(
    where: tuple[Document, Section], action: Action, text: str, subtree: bool
) -> None:
    document, section = where
    edited = attempt(document, section, action, text, subtree)
    assume(edited is not None)
    assert edited is not None
    assume(len(matching_sections(parse(edited.text), " > ".join(section.path))) == 1)
    again = attempt(parse(edited.text), section, action, text, subtree)
    assert again is not None
    assert again.text == edited.text


@given(sections_of(closed_documents), bodies)
@examples(200)
def test_a_closed_body_fits_into_any_section(where: tuple[Document, Section], text: str) -> None:
    document, section = where
    assume([s for s in document.sections if s.path == section.path] == [section])
    assume(not parse(text, fragment=True).sections)
    below = document.sections[section.index + 1 :]
    assume(not below or document.lines[below[0].start].startswith("#"))
    edited = attempt(document, section, BODY, text)
    assume(edited is not None and edited.section == section.path)
    assert edited is not None
    result = parse(edited.text)
    now = result.sections[section.index]
    assert with_line_end(result.slice(now.body, now.end), "\n").strip("\n \t") == with_line_end(
        text.removeprefix("\ufeff"), "\n"
    ).strip("\n \t")


@pytest.mark.parametrize(
    ("before", "action", "text", "after"),
    [
        ("## A" + " " * 20_000 + "x\n", RENAME, "New", "## New\n"),
        ("## A " + "# " * 10_000 + "x ##\n", RENAME, "New", "## New ##\n"),
        (
            "## A\n" + "\n" * 100_000 + "x\n",
            BODY,
            "\n" * 100_000 + "y" + "\n" * 100_000,
            "## A\n" + "\n" * 100_000 + "y\n",
        ),
    ],
    ids=["spaces", "hashes", "blank lines"],
)
def test_long_runs_are_taken_in_linear_time(
    before: str, action: Action, text: str, after: str
) -> None:
    document = parse(before)
    assert (
        edit(
            document, EditSection(section=document.sections[0].title, action=action, text=text)
        ).text
        == after
    )


def test_a_section_that_is_there_already_stands_after_the_one_that_is_named() -> None:
    text = "# T\n\n## A\n\n### Sub\n\n## B\n\nx\n"
    assert apply(text, Action.APPEND, "B", "x", create=True, after="A") == text
    for section, after in (("A", "B"), ("A", "A"), ("Sub", "A"), ("B", "T")):
        with pytest.raises(UsageProblem):
            apply(text, Action.APPEND, section, "x", create=True, after=after)
    with pytest.raises(SectionProblem) as caught:
        apply(text, Action.APPEND, "B", "x", create=True, after="Nowhere")
    assert caught.value.code == "section-not-found"


def test_options_that_do_not_fit_the_preamble() -> None:
    for options in ({"subtree": True}, {"create": True, "after": "A"}):
        with pytest.raises(UsageProblem):
            apply("x\n", BODY, None, "y", **options)
