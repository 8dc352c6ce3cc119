"""Markdown -> plain text, by mistune: what a person reads on a terminal."""

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mistune import Markdown


@cache
def _parser() -> "Markdown":
    import mistune

    return mistune.create_markdown(renderer=None, plugins=["table", "strikethrough"])


def plain(text: str) -> str:
    """The words of a Markdown text, without its marks, on as many lines as it has blocks."""
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
        return "" if token["raw"].lstrip().startswith("<!--") else str(token["raw"])
    if "children" in token:
        between = "\n" if kind in ("list", "table", "table_body", "block_quote") else " " if kind in ("table_row", "table_head") else ""
        return between.join(_words(child) for child in token["children"])
    return str(token.get("raw", ""))
