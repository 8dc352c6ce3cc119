"""Render Markdown of memory as HTML, with mistune. Nothing in it is trusted.

HTML in it becomes text, and comments are dropped. Links lead to http, https and mailto addresses,
and to the memory files that a relative address or a `[[name]]` refers to. Pictures and embeds are
named, not loaded. Headings are one level lower, and have no ids.
"""

from __future__ import annotations

import html as entities
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import unquote

import mistune
from mistune.core import BlockState, InlineState
from mistune.renderers.html import HTMLRenderer

from mdmem.show.reviews import visible
from mdmem.startup import late
from mdmem.text.facts import split_kind

Token: TypeAlias = dict[str, Any]
"""A piece of a text as mistune parses it: `text` before its inline markup is read."""
AddressOf: TypeAlias = Callable[[str, str], str]
"""Finds the address for the name or path and the heading of a link; empty if there is none."""

MAX_CHARACTERS = 200_000
MAX_ELEMENTS = 1_500
"""Maximum length and elements of a text that is shown whole; a page has up to 2,000."""
_ADDRESS_SCHEME = late.pattern(r"([a-z][a-z0-9+.-]*):")
_DROPPED = late.pattern(r"[\x00-\x20\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Blanks, controls and hidden characters; browsers drop some before they read the scheme."""
_OPEN_SCHEMES = frozenset({"http", "https", "mailto"})
_COMMENT = late.pattern(r"(?s)<!--.*?(?:-->|\Z)")
_WIKILINK = r"!?\[\[[^\[\]\r\n]{1,400}\]\]"
_BLOCK_ID = late.pattern(r"(?:^|\s)\^[A-Za-z0-9-]+\Z")
_CALLOUT = late.pattern(r"\[![^\]\r\n]{1,40}\][+-]?[ \t]*([^\r\n]*)\r?\n?")
_LINK = late.pattern(r"</?a\b[^<>]*>")
_TAG = late.pattern(r"<[^<>]*>")
_ELEMENT = late.pattern(r"<[a-z]")
_LOWEST_HEADING = 6
_SHRINK = 0.9
_TASKS = {True: ("☑", "done"), False: ("☐", "to do")}


class MemoryRenderer(HTMLRenderer):
    """Writes HTML in which nothing of the source is active."""

    def __init__(self) -> None:
        super().__init__(escape=True)

    def text(self, text: str) -> str:
        return super().text(visible(text))

    def codespan(self, text: str) -> str:
        return super().codespan(visible(text))

    def block_code(self, code: str, info: str | None = None) -> str:
        return f"<pre><code>{mistune.escape(visible(code))}</code></pre>\n"

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        """One level down: the page has its own first heading."""
        tag = f"h{min(level + 1, _LOWEST_HEADING)}"
        return f"<{tag}>{text}</{tag}>\n"

    def render_token(self, token: Token, state: BlockState) -> str:
        """A token as HTML; a relative address becomes that of a memory file."""
        if token["type"] == "link" and _scheme(url := token["attrs"]["url"]) is None:
            path, _, heading = unquote(entities.unescape(url)).partition("#")
            attrs = {"url": _place(state.env, path, heading), "is_relative": True}
            token = {**token, "attrs": attrs}
        return super().render_token(token, state)

    def link(self, text: str, url: str, title: str | None = None, is_relative: bool = False) -> str:
        """A link, or its text if the address is not allowed or leads nowhere."""
        words = _LINK.sub("", text)
        if is_relative:
            return self._link_to(url, words)
        if not is_open(url):
            return words
        address = self.escape_attribute(visible(url))
        return f'<a href="{address}" rel="noreferrer noopener">{words}</a>'

    def place(self, text: str, url: str) -> str:
        return self._link_to(url, self.text(text))

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return _named("picture", _TAG.sub("", text) or mistune.escape(visible(url)))

    def embed(self, text: str) -> str:
        return _named("embedded", self.text(text))

    def block_html(self, html: str) -> str:
        words = self._without_comments(html).strip()
        return f"<p>{words}</p>\n" if words else ""

    def inline_html(self, html: str) -> str:
        return self._without_comments(html)

    def block_error(self, text: str) -> str:
        return f"<pre>{mistune.escape(visible(text))}</pre>\n"

    def table_cell(self, text: str, align: str | None = None, head: bool = False) -> str:
        """A cell without a style for its alignment."""
        return f"<th>{text}</th>\n" if head else f"<td>{text}</td>\n"

    def task_list_item(self, text: str, checked: bool = False) -> str:
        sign, word = _TASKS[checked]
        box = f'<span aria-hidden="true">{sign}</span><span class="words">{word}:</span>'
        return f'<li class="task">{box} {text}</li>\n'

    def _link_to(self, address: str, words: str) -> str:
        return f'<a href="{self.escape_attribute(address)}">{words}</a>' if address else words

    def _without_comments(self, html: str) -> str:
        return mistune.escape(visible(_COMMENT.sub("", html)))


def _named(kind: str, shown: str) -> str:
    return f'<span class="picture">[{kind}: {shown}]</span>'


def is_open(url: str) -> bool:
    """True for an address of the web or of mail, judged as a browser reads it."""
    return _scheme(url) in _OPEN_SCHEMES


def _scheme(url: str) -> str | None:
    address = _DROPPED.sub("", entities.unescape(url)).casefold()
    match = _ADDRESS_SCHEME.match(address)
    return match[1] if match else None


def html(source: str, address_of: AddressOf | None = None) -> str:
    state = BlockState()
    state.env["address_of"] = address_of
    return str(_parser().parse(source, state)[0])


def html_in_part(source: str, address_of: AddressOf | None = None) -> tuple[str, bool]:
    """The HTML of as much of a text as fits on a page, and whether that is all of it."""
    shown = _first(source, MAX_CHARACTERS)
    while True:
        written = html(shown, address_of)
        elements = len(_ELEMENT.findall(written))
        if elements <= MAX_ELEMENTS:
            return written, len(shown) == len(source)
        shown = _first(shown, int(len(shown) * _SHRINK * MAX_ELEMENTS / elements))


def _first(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    start = text[:most]
    return start[: start.rfind("\n") + 1] or start


@cache
def _parser() -> mistune.Markdown:
    return mistune.create_markdown(
        renderer=MemoryRenderer(),
        plugins=["table", "strikethrough", "task_lists", _memory_markup],
    )


def _memory_markup(md: mistune.Markdown) -> None:
    md.inline.register("place", _WIKILINK, _parse_wikilink, before="link", start_chars=("!", "["))
    md.before_render_hooks.insert(0, _drop_marks)


def _parse_wikilink(inline: mistune.InlineParser, match: re.Match[str], state: InlineState) -> int:
    target, _, words = match[0].lstrip("!").strip("[]").partition("|")
    name, _, heading = target.partition("#")
    shown = (words or " > ".join(filter(None, (name.strip(), heading.strip())))).strip()
    if match[0].startswith("!"):
        state.append_token({"type": "embed", "raw": target.strip()})
    else:
        attrs = {"url": _place(state.env, name.strip(), heading.strip())}
        state.append_token({"type": "place", "raw": shown, "attrs": attrs})
    return match.end()


def _place(env: Mapping[str, Any], name: str, heading: str) -> str:
    address_of: AddressOf | None = env.get("address_of")
    return address_of(name, heading) if address_of else ""


def _drop_marks(parser: mistune.Markdown, state: BlockState) -> None:
    """Drop marks that are not for readers, and let no heading skip a level."""
    deepest = 0
    for token in _walk(state.tokens):
        kind = token["type"]
        if kind == "heading":
            deepest = token["attrs"]["level"] = min(token["attrs"]["level"], deepest + 1)
        elif kind == "list_item" and (first := _first_text(token)):
            first["text"] = split_kind(first["text"])[1]
        elif kind == "block_quote" and (first := _first_text(token)):
            token["children"] = [*_without_callout(first), *token["children"][1:]]
        if "text" in token:
            token["text"] = _BLOCK_ID.sub("", token["text"].rstrip())
            if kind == "paragraph" and not token["text"]:
                del token["text"]
                token["type"] = "blank_line"


def _without_callout(first: Token) -> list[Token]:
    """The first paragraph of a quote; the title of a callout is a paragraph, without its type."""
    match = _CALLOUT.match(first["text"])
    if not match:
        return [first]
    parts = (match[1].strip(), first["text"][match.end() :])
    return [{"type": "paragraph", "text": part} for part in parts if part]


def _walk(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _walk(token.get("children", []))


def _first_text(token: Token) -> Token | None:
    first: Token | None = next(iter(token["children"]), None)
    return first if first and "text" in first else None
