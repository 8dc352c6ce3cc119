"""The packaged templates: headings and comments, nothing that a search would find."""

from importlib.resources import files

import pytest

from mdmem.folder import installed
from mdmem.text.document import BlockKind, parse, section_etag
from mdmem.text.facts import items

TITLES = {
    "MEMORY.md": "Memory",
    "USER.md": "User",
    "SOUL.md": "Soul",
    "IDENTITY.md": "Identity",
    "daily.md": "{day}",
}

PROMPTS = ("flush.md", "flush_system.md")
OTHERS = ("compact.md", "agents.md")


def template(name: str) -> str:
    return files("mdmem.templates").joinpath(name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*TITLES, *PROMPTS, *OTHERS])
def test_each_is_found(name: str):
    assert installed.template(name) == template(name)


def test_these_are_all():
    assert {
        path.name for path in files("mdmem.templates").iterdir() if path.name.endswith(".md")
    } == {*TITLES, *PROMPTS, *OTHERS}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_names_day_log_and_silent_word(name: str):
    text = template(name)
    assert "{path}" in text
    assert "{silent}" in text
    assert "mdmem-context" not in text


def test_what_a_compaction_is_told_is_short():
    """Claude Code repeats it to the model after a manual compaction."""
    text = template("compact.md")
    assert len(text) < 400
    assert all(words in text for words in ("`Memory:`", "`- [kind] text`", "`Memory: none`"))


@pytest.mark.parametrize("name", TITLES)
def test_headings_and_comments_only(name: str):
    document = parse(template(name))
    assert {block.kind for block in document.blocks} == {BlockKind.HTML}
    assert all(document.lines[block.start].startswith("<!--") for block in document.blocks)
    assert all(document.lines[block.end - 1].rstrip().endswith("-->") for block in document.blocks)
    assert items(document) == ()


@pytest.mark.parametrize("name", TITLES)
def test_short_and_every_heading_explained(name: str):
    document = parse(template(name))
    assert len(document.lines) < 40
    assert document.text.endswith("-->\n")
    assert document.sections[0].path == (TITLES[name],)
    assert [section.level for section in document.sections[1:]] == [2] * (
        len(document.sections) - 1
    )
    assert all(document.blocks_in(section.body, section.end) for section in document.sections)


def test_memory_has_the_sections_that_facts_go_to():
    titles = {section.title for section in parse(template("MEMORY.md")).sections}
    assert {"Preferences", "Decisions", "Facts"} <= titles


@pytest.mark.parametrize("name", TITLES)
def test_what_is_written_below_a_comment_is_a_fact(name: str):
    document = parse(template(name))
    before = section_etag(document, document.sections[-1])
    written = parse(template(name) + "\n- likes tea\n")
    assert [item.fact.text for item in items(written)] == ["likes tea"]
    assert section_etag(written, written.sections[-1]) != before
