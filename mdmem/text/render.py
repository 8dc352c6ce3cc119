"""Markdown -> plain text for a terminal, by mistune."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from mdmem.startup import late

if TYPE_CHECKING:
    from mistune import Markdown


_COMMENT = late.pattern(r"(?s)<!--.*?(?:-->|\Z)")
_CONTAINERS = ("list", "list_item", "table", "table_body", "block_quote")
_SEPARATORS = {"table_row": " ", "table_head": " "}


@cache
def _parser() -> Markdown:
    # 12 ms, only for a terminal
    import mistune  # noqa: PLC0415

    return mistune.create_markdown(renderer=None, plugins=["table", "strikethrough"])


def plain(text: str) -> str:
    """The words of a Markdown text without its marks, one line for each block."""
    tokens, _ = _parser().parse(text)
    if isinstance(tokens, str):
        return tokens
    blocks = (_words(token).strip() for token in tokens)
    return "\n".join(block for block in blocks if block)


def _words(token: dict[str, Any]) -> str:
    kind = token["type"]
    if kind in ("linebreak", "softbreak"):
        return " "
    if kind in ("block_html", "inline_html"):
        return _COMMENT.sub("", token["raw"])
    if "children" in token:
        words = (_words(child) for child in token["children"])
        return (
            "\n".join(filter(None, words))
            if kind in _CONTAINERS
            else _SEPARATORS.get(kind, "").join(words)
        )
    import html  # noqa: PLC0415 - 1 ms, only for a terminal

    raw = str(token.get("raw", ""))
    return html.unescape(raw) if kind == "text" else raw
