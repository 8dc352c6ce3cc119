import subprocess
import sys
from collections.abc import Callable

import pytest
from conftest import examples
from generated_markdown import awkward_documents, documents
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mdmem.editors import section
from mdmem.model.writes import Action, EditSection
from mdmem.text import document as documents_module
from mdmem.text.document import Document, parse, split_lines
from mdmem.text.scan import ScanResult, scan

KINDS = {
    "paragraph_open": "paragraph",
    "fence": "code",
    "code_block": "code",
    "blockquote_open": "quote",
    "html_block": "html",
}
Reading = tuple[list[tuple[int, int, int, str]], list[tuple[str, int, int]]]


def by_markdown_it(lines: list[str]) -> Reading:
    """Headings (first line, line after, level, title) and blocks (kind, first line, line after)."""
    parser = MarkdownIt("commonmark", {"maxNesting": 100_000})
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse(
        "".join(line.rstrip("\r\n") + "\n" for line in lines)
    )  # it fails on some texts without a last line end
    heads = [
        (*token.map, int(token.tag[1]), tokens[number + 1].content)
        for number, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]
    blocks = []
    for token in tokens:
        kind = (
            "item"
            if token.type == "list_item_open" and token.level == 1
            else KINDS.get(token.type)
            if token.level == 0
            else None
        )
        if kind and token.map:
            start, end = token.map
            while end > start + 1 and not lines[end - 1].strip(" \t\r\n"):
                end -= 1
            blocks.append((kind, start, end))
    return heads, blocks


def reading(document: Document) -> Reading:
    """Headings and blocks of a parsed document, its lines counted after the front matter."""
    front = document.front
    heads = [(s.start - front, s.body - front, s.level, s.title) for s in document.sections]
    return heads, [(str(b.kind), b.start - front, b.end - front) for b in document.blocks]


def ends_inside_block(lines: list[str]) -> bool:
    heads, _ = by_markdown_it([*lines, "\n", "\n", "# probe\n"])
    return not heads or heads[-1][0] != len(lines) + 2


@given(st.one_of(documents, awkward_documents, awkward_documents), st.booleans())
@example("- a\nb\n\n  c\n", False)
@example("7. a\nb\n\n    ```\n", False)
@example("-      code\ntext\n", False)
@example("> a\nb\n> c\n", False)
@example("> - a\n>\nb\n", False)
@example("- [a]: /u\nb\n", False)
@example("[a]: /u\n'x\ny'\n# h\n", False)
@example("-\n\n  a\n", False)
@example("123456789.\n    a\n", False)
@example("1. a\n   - b\n   - c\n- d\n", False)
@example("- a\n\n \n  b\nc\n", False)
@example("<b>\n# a\n\n# b\n", False)
@example("a\n<b>\n===\n", False)
@example("- a\n" + "  " + ">" * 120 + "\n- b\n", False)
@example("1. a\n\n   b\n", False)
@example("- a\nb\n  ===\nc\n", False)
@example("> a\n> ===\nb\n", False)
@example("[a]: /u\n'x'\ny\n", False)
@example("- -\n- * *\n- ***\n---\n", False)
@example("- a\n  - b\n   c\n d\n", False)
@example("a\n2. b\n1. c\n", False)
@example("- ```\n  b\nc\n", False)
@example("> - <!--\n>", False)
@example("<!-- a --> b\n- c\n <!-- d -->\n---\n", False)
@example("``` x`y\n\nz\n", False)
@examples(1000)
def test_a_text_reads_as_markdown_it_reads_it(text: str, fragment: bool) -> None:
    document = parse(text, fragment)
    content = list(document.lines[document.front :])
    assert reading(document) == by_markdown_it(content)
    assert (document.open_line is not None) is ends_inside_block(content)
    if document.open_line is not None:
        assert document.open_line == document.blocks[-1].start


def scan_alone(text: str) -> ScanResult:
    """Scan a text that must not need the parser."""

    def refuse(stretch: str) -> ScanResult:
        raise AssertionError(f"handed over: {stretch!r}")

    return scan(text, 0, refuse)


@pytest.mark.parametrize(
    "text",
    [
        "# A\n\n## B ##\n\nTwo\nlines\n---\n\nTitle\n===\n#tag\n",
        "- a\n- **b**: c #tag <!-- d -->\n* e\n+ f\n\n- g\n\n  h\n    - i\n\n      j\n",
        "1. a\n2. b\n   - c\n10. d\n    e\n\n    f\n",
        "- [ ] a\n- [x] b\n- [c](d): e\n- ```\n  # no\n  ```\n- <!-- f -->\n- > g\n",
        "-\n- a\n-\n\n- b\n-   c\n     d\n -  e\n",
        "- a\nlazy\n\n  b\n- c\nlazy\n# A\n",
        "> a\n> - b\n\n> c\nlazy\n\n>\ntext\n",
        "```\n# no\n```\n~~~~ x\n~~~\n~~~~\n```\nopen\n",
        "    code\n\n\tcode\ntext\n    text\n",
        "<!--\n\n# no\n-->\n<div>\n# no\n\n<b c='d'>\n\n<!-- open\n",
        "[a]: /u\n[b]: https://example.org/x?y=1 'z'\n\n[c] d [e]\n[f](g)\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n***\n\n- - -\n___\n",
    ],
)
def test_frequent_blocks_need_no_parser(text: str) -> None:
    result = scan_alone(text)
    heads, _ = by_markdown_it(split_lines(text))
    assert result.heads == heads
    assert reading(parse(text)) == by_markdown_it(split_lines(text))


@pytest.mark.parametrize(
    ("text", "stretches"),
    [
        ("# A\n\n- x\n  y\nlazy\n- z\n", ["- x\n  y\nlazy\n"]),
        (
            "- x\n  ```\nno\n\n# A\n\n- y\n  y\nlazy\n\n# B\n\n# C\n",
            ["- x\n  ```\nno\n\n", "- y\n  y\nlazy\n\n# B\n\n"],
        ),
        ("[a\nb]: /u\n\ntext\n", ["[a\nb]: /u\n\n"]),
        ("> # x\ntext\n\ntext\n", ["> # x\ntext\n\n"]),
    ],
)
def test_only_uncertain_stretches_go_to_the_parser(
    text: str, stretches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stretches_parsed: list[str] = []
    parse_with_markdown_it = documents_module._parse_with_markdown_it

    def record(stretch: str) -> ScanResult:
        stretches_parsed.append(stretch.removesuffix("# probe\n"))
        return parse_with_markdown_it(stretch)

    monkeypatch.setattr(documents_module, "_parse_with_markdown_it", record)
    document = parse(text, fragment=True)
    assert stretches_parsed == stretches
    assert reading(document) == by_markdown_it(split_lines(text))


def test_a_stretch_goes_on_until_a_fresh_point_is_proven() -> None:
    text = "- x\n  y\nlazy\n```\n\n# no\n\n- no\n```\n\n# A\n"
    assert reading(parse(text)) == by_markdown_it(split_lines(text))


def test_a_memory_file_is_read_without_loading_the_parser() -> None:
    program = """
import sys
from mdmem.text.document import find_section
from mdmem.text.document import parse
document = parse("---\\na: 1\\n---\\n# Memory\\n\\n## Work\\n\\n- employer: **Linear** #job\\n\\nText.\\n\\n```\\n# no\\n```\\n")
assert find_section(document, "Work") and len(document.blocks) == 3
print(*(name for name in ("markdown_it", "mdurl") if name in sys.modules))
"""
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == []


@pytest.mark.parametrize("action", [Action.APPEND, Action.PREPEND])
def test_an_edit_scans_the_text_that_it_makes_once(
    action: Action, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = parse(
        "# Memory\n\n## Facts\n\n" + "".join(f"- fact {number}\n" for number in range(1000))
    )
    lengths: list[int] = []

    def scan_and_count(source: str, first: int, parser: Callable[[str], ScanResult]) -> ScanResult:
        lengths.append(len(source))
        return scan(source, first, parser)

    monkeypatch.setattr(documents_module, "scan", scan_and_count)
    edited = section.edit(document, EditSection(section="Facts", action=action, text="- one more"))
    assert parse(edited.text) is parse("".join(list(edited.text)))
    assert len(document.text) < sum(lengths) < len(document.text) + 200
