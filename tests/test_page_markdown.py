"""Untrusted Markdown as HTML: nothing in it is active, and the markup of memory is rendered."""

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.page import rendering
from mdmem.text.document import parse

NOTES = {"people": "/f/memory/people.md", "people.md": "/f/memory/people.md"}
ELEMENTS = {
    *[
        "p",
        "em",
        "strong",
        "a",
        "code",
        "pre",
        "br",
        "hr",
        "ul",
        "ol",
        "li",
        "blockquote",
        "span",
        "del",
    ],
    *["h2", "h3", "h4", "h5", "h6", "div", "table", "thead", "tbody", "tr", "th", "td"],
}
ATTRIBUTES = {("a", "href"), ("a", "rel"), ("span", "class"), ("li", "class"), ("ol", "start")}
ATTRIBUTES |= {("span", "aria-hidden")}
ATTRIBUTES |= {("div", name) for name in ("class", "tabindex", "role", "aria-label")}


def address_of(name: str, heading: str) -> str:
    address = NOTES.get(name, "")
    return f"{address}?section={heading}" if address and heading else address


def shown(source: str) -> str:
    return rendering.markdown_html(source, address_of)


class Reading(HTMLParser):
    """The elements, addresses and words of some HTML, as a browser reads it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.strange: list[str] = []
        self.addresses: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ELEMENTS:
            self.strange.append(tag)
        for name, value in attrs:
            if (tag, name) not in ATTRIBUTES:
                self.strange.append(f"{tag} {name}")
            if name == "href":
                self.addresses.append(value or "")

    def handle_data(self, data: str) -> None:
        self.words += data

    def handle_comment(self, data: str) -> None:
        self.strange.append("comment")

    handle_decl = unknown_decl = handle_pi = handle_comment

    @property
    def acts(self) -> list[str]:
        """Unexpected elements and attributes, and addresses of other schemes."""
        leaving = [
            address
            for address in self.addresses
            if not re.match(r"(?:https?://|mailto:|/f/)[^\x00-\x20]", address)
        ]
        return self.strange + leaving


SCHEMES = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "java\u200bscript:alert(1)",
    "\u202ejavascript:alert(1)",
    "\ufeffjavascript:alert(1)",
    "java\u00adscript:alert(1)",
    "\x01\x1fjavascript:alert(1)",
    "\x85javascript:alert(1)",
    "&#106;avascript:alert(1)",
    "&#x0000000000006A;avascript:alert(1)",
    "javascript&colon;alert(1)",
    "javascript&#x3a;alert(1)",
    "java&NewLine;script&colon;alert(1)",
    "javascript%3Aalert(1)",
    "&amp;#106;avascript:alert(1)",
    "data:text/html;base64,PHNjcmlwdD4=",
    "vbscript:x",
    "tel:112",
    "ftp://evil.test/",
    "blob:https://x/1",
    "view-source:https://x/",
    "//evil.test/x",
    "/\\evil.test/x",
    "\\\\evil.test\\x",
    "\t//evil.test",
    "&sol;&sol;evil.test",
    "/%09/evil.test",
    "/do/undo",
    "/?key=x",
    "?done=x",
    "../../etc/passwd",
    "#people",
    "",
]


class TestAddresses:
    @pytest.mark.parametrize("address", SCHEMES)
    def test_no_other_address_is_a_link(self, address: str) -> None:
        for source in (
            f"[words]({address})",
            f"[words](<{address}>)",
            f"![words]({address})",
            f"[words][ref] ![words][ref]\n\n[ref]: <{address}>",
            f"<{address}>",
            f"[[{address}]] [[{address}|words]]",
            f'[words](<{address}> "title")',
        ):
            reading = Reading(shown(source))
            assert (reading.addresses, reading.strange) == ([], [])

    @pytest.mark.parametrize(
        "address",
        ["https://a.test/x?y=1&z=2", "http://a.test", "HTTPS://a.test/", "mailto:ada@a.test"],
    )
    def test_the_web_and_mail_are(self, address: str) -> None:
        text = shown(f"[words]({address}) <{address}>")
        assert Reading(text).addresses == [address, address]
        assert text.count('rel="noreferrer noopener"') == 2

    def test_a_title_or_a_word_cannot_leave_its_attribute(self) -> None:
        quote = '" onmouseover="alert(1)" x="'
        for source in (
            f"[words](https://a.test '{quote}')",
            f"[{quote}](https://a.test/{quote})",
            f"[[people|{quote}]] [[people#{quote}]]",
            f"![{quote}](https://a.test/{quote})",
            f"```{quote}\ncode\n```",
            f"# {quote} {{#id onclick=alert(1)}}",
            f"| {quote} |\n|:-:|\n| {quote} |",
            f"1. {quote}\n   - [x] {quote}",
        ):
            assert Reading(shown(source)).acts == []

    def test_what_turns_or_hides_text_is_shown_by_its_number(self) -> None:
        for source in (
            "a\u202eb",
            "`a\u202eb`",
            "```\na\u202eb\n```",
            "<i>a\u202eb</i>",
            "[[a\u202eb]]",
            "![a\u202eb](x)",
            "![[a\u202eb]]",
        ):
            assert "\u202e" not in shown(source)
            assert "<U+202E>" in Reading(shown(source)).words
        assert "\u202e" not in shown("[a](https://a.test/\u202e)")


class TestAsWritten:
    @pytest.mark.parametrize(
        "text",
        [
            *(
                "never \u26a0\ufe0f on \u2764\ufe0f",
                "1\ufe0f\u20e3 of #\ufe0f\u20e3",
                "\u2139\ufe0f",
                "\u00a9\ufe0e",
            ),
            *("\U0001f469\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f\u200d\U0001f525"),
            *("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0915\u094d\u200d\u0937"),
        ],
    )
    def test_what_belongs_to_its_neighbours(self, text: str) -> None:
        assert rendering.readable(text) == text
        assert text in shown(f"- {text}\n")
        assert "".join(rendering.readable_parts(list(text))) == text

    @pytest.mark.parametrize(
        ("text", "number"),
        [
            *(("a\ufe0fb", "FE0F"), ("a\u200db", "200D"), ("\ufe0f", "FE0F"), ("x\u200c", "200C")),
            *(("\u26a0\ufe0f\ufe0f", "FE0F"), ("\u0645\u200c\u200c\u062e", "200C")),
            *(("\u0645\u200cx", "200C"), ("\u26a0\u200dx", "200D"), ("\u26a0\ufe01", "FE01")),
            *(
                ("\u0645\u200c\u0915", "200C"),
                ("\U0001f3f4\U000e0067", "E0067"),
                ("\u202e\u26a0", "202E"),
            ),
        ],
    )
    def test_what_hides_something(self, text: str, number: str) -> None:
        assert f"<U+{number}>" in rendering.readable(text)


class TestHtml:
    @pytest.mark.parametrize(
        "source",
        [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "words <b onclick=alert(1)>bold</b>",
            "<div>\n\n**bold**\n\n</div>",
            "<!--><script>alert(1)</script>-->",
            "<!-- a --!> <img src=x onerror=alert(1)>",
            "<![CDATA[<script>alert(1)</script>]]>",
            "<?php <script>alert(1)</script> ?>",
            "</div></main><script>alert(1)</script>",
            "&lt;script&gt;alert(1)&lt;/script&gt;",
            "**<script>**alert(1)</script>",
            "[<img src=x onerror=alert(1)>](https://a.test)",
            "![<img src=x onerror=alert(1)>](https://a.test/x.png)",
            "[[<img src=x onerror=alert(1)>|<svg onload=alert(1)>]]",
            "> [!<b>x</b>] <img src=x onerror=alert(1)>\n> words",
            "- [<b>] <img src=x onerror=alert(1)>",
        ],
    )
    def test_is_text(self, source: str) -> None:
        assert Reading(shown(source)).acts == []

    def test_a_comment_is_nothing(self) -> None:
        for source in ("<!-- a -->", "a <!-- b\nc --> d", "<!-- open", "a <!-- open"):
            text = shown(source)
            assert "<!--" not in html.unescape(text).replace("a <!-- open", "")
            assert "b" not in Reading(text).words
        assert shown("<!-- a -->") == ""

    def test_headings_have_no_names_and_none_is_too_deep(self) -> None:
        assert shown("# One\n\n### Three\n\n###### Six\n\n# One") == (
            "<h2>One</h2>\n<h3>Three</h3>\n<h4>Six</h4>\n<h2>One</h2>\n"
        )

    def test_a_table_has_no_style(self) -> None:
        assert "<th>a</th>" in (text := shown("| a |\n|:-:|\n| b |"))
        assert "style" not in text

    @given(st.text(st.sampled_from("[]()<>!|#*_`~-:/\\&;\"' \nax\u202e\t=^{}$@.1"), max_size=60))
    def test_any_text(self, source: str) -> None:
        assert Reading(shown(source)).acts == []


class TestMemory:
    def test_a_wikilink_leads_to_its_note_or_is_its_words(self) -> None:
        assert shown("[[people]], [[people#Ada|who]], [[nobody]], [[nobody|no]]") == (
            '<p><a href="/f/memory/people.md">people</a>,'
            ' <a href="/f/memory/people.md?section=Ada">who</a>, nobody, no</p>\n'
        )
        assert Reading(shown("[[people#Ada]]")).words.strip() == "people > Ada"

    def test_a_relative_address_leads_to_its_note_or_is_its_words(self) -> None:
        assert shown("[a](people.md) [b](plan.pdf) [c](people.md#Ada)") == (
            '<p><a href="/f/memory/people.md">a</a> b'
            ' <a href="/f/memory/people.md?section=Ada">c</a></p>\n'
        )
        assert "<a" not in rendering.markdown_html("[a](people.md) [[people]]")

    def test_no_link_is_in_another(self) -> None:
        text = shown("[before [[people]] after](https://a.test)")
        assert Reading(text).addresses == ["https://a.test"]

    def test_pictures_and_embeds_are_named(self) -> None:
        words = Reading(shown("![a *plan*](plan.png) ![](b.png) ![[c.png]]")).words
        assert words.strip() == "[picture: a plan] [picture: b.png] [embedded: c.png]"

    def test_code_is_left_alone(self) -> None:
        assert "[[people]] ^id" in shown("`[[people]] ^id`")

    def test_marks_that_no_reader_needs(self) -> None:
        assert shown("- [fact] tea #drink <!-- c --> ^tea\n- [x] done\n- [ ] to do") == (
            "<ul>\n<li>tea #drink </li>\n"
            '<li class="task"><span aria-hidden="true">☑</span>'
            '<span class="words">done:</span> done</li>\n'
            '<li class="task"><span aria-hidden="true">☐</span>'
            '<span class="words">to do:</span> to do</li>\n</ul>\n'
        )
        assert shown("words ^id\n\n^table") == "<p>words</p>\n"
        assert "2^16" in shown("2^16 and x ^2 b")

    def test_a_callout_is_a_quote(self) -> None:
        expected = "<blockquote>\n<p>Winter</p>\n<p>Let it drip.</p>\n</blockquote>\n"
        assert shown("> [!warning]- Winter\n> Let it drip.") == expected
        assert shown("> [!note]\n> Words.") == "<blockquote>\n<p>Words.</p>\n</blockquote>\n"


class TestLongTexts:
    @staticmethod
    def first_page(source: str) -> tuple[str, bool]:
        document = parse(source)
        page = rendering.text_page(document, 0, len(document.lines), lambda entries: {})
        return page.html, page.next_line is None and not page.is_cut

    @pytest.mark.costly
    def test_are_shown_in_part(self) -> None:
        line = "- *one* **two** `three`\n"
        text, is_whole = self.first_page(line * 1_000)
        assert not is_whole
        assert (
            0.5 * rendering.MAX_ELEMENTS < len(re.findall("<[a-z]", text)) <= rendering.MAX_ELEMENTS
        )
        assert self.first_page(line * 10)[1]
        text, is_whole = self.first_page("word " * 50_000)
        assert (is_whole, len(text) < 201_000) == (False, True)
        assert not self.first_page("*a* " * 5_000)[1]

    @pytest.mark.costly
    @pytest.mark.parametrize(
        "part", ["[", "[[", "![[a", "*", "`a``", "<!--", "[a](", "<a ", "> ", "|a"]
    )
    def test_nothing_takes_long(self, part: str) -> None:
        assert Reading(self.first_page(part * 3_000)[0]).acts == []
