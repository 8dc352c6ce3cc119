"""Markdown of memory as HTML, by mistune: it is what strangers wrote, so nothing of it is trusted.

HTML in it is text, a comment nothing. Links go to http, https, mailto and relative addresses;
pictures are named, not loaded; headings stand one level down and have no ids of their own.
"""

from __future__ import annotations

import html as entities
import re
from functools import cache
from typing import Any

import mistune
from mistune.renderers.html import HTMLRenderer

from mdmem.show.proposals import visible

_ADDRESS_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):")
_DROPPED = re.compile(r"[\x00-\x20\x7f-\x9f]")
"""Blanks and controls, which a browser drops before it looks for the scheme."""
_OPEN_SCHEMES = frozenset({"http", "https", "mailto"})
_COMMENT = re.compile(r"(?s)<!--.*?(?:-->|\Z)")
_LOWEST_HEADING = 6


class MemoryRenderer(HTMLRenderer):
    """Writes HTML in which no part of the source can act."""

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

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """A link, or its words where the address may not be followed."""
        if not is_open(url):
            return text
        address = self.escape_attribute(visible(url))
        return f'<a href="{address}" rel="noreferrer noopener">{text}</a>'

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """The name of a picture."""
        return f'<span class="picture">[picture: {mistune.escape(visible(text or url))}]</span>'

    def block_html(self, html: str) -> str:
        return f"<p>{self._without_comments(html).strip()}</p>\n" if html.strip() else ""

    def inline_html(self, html: str) -> str:
        return self._without_comments(html)

    def _without_comments(self, html: str) -> str:
        return mistune.escape(visible(_COMMENT.sub("", html)))


def is_open(url: str) -> bool:
    """True for an address that a reader may follow, judged as a browser reads it."""
    address = _DROPPED.sub("", entities.unescape(url)).casefold().replace("\\", "/")
    scheme = _ADDRESS_SCHEME.match(address)
    return scheme[1] in _OPEN_SCHEMES if scheme else not address.startswith("//")


def html(source: str) -> str:
    """A Markdown text as HTML."""
    return str(_parser()(source))


def inline(source: str) -> str:
    """One line of Markdown as HTML, such as a fact's text; without a paragraph around it."""
    return str(_parser().inline(source, {}))


@cache
def _parser() -> mistune.Markdown:
    return mistune.create_markdown(
        renderer=MemoryRenderer(), plugins=["table", "strikethrough", "task_lists"]
    )
