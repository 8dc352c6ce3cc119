"""Read the values of front matter. It is never written: dumping it would lose comments, quoting and order."""

from __future__ import annotations

from typing import Any

import frontmatter
from yaml import YAMLError

from mdmem.document import Document, with_line_end


def values(document: Document) -> dict[str, Any]:
    """The front matter of a document; empty if there is none or it cannot be read, which must never stop an edit or an index."""
    if not document.front:
        return {}
    try:
        # The reader knows neither `...` as the end nor lone carriage returns.
        text = with_line_end("".join(["---\n", *document.lines[1 : document.front - 1], "---\n"]), "\n")
        metadata, _ = frontmatter.parse(text)
    except (YAMLError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return {name: value for name, value in metadata.items() if isinstance(name, str)}


def tags(document: Document) -> tuple[str, ...]:
    """The tags that the front matter gives the whole file: a list, or one text with commas or spaces between."""
    listed = values(document).get("tags")
    if isinstance(listed, str):
        listed = listed.replace(",", " ").split()
    if not isinstance(listed, list):
        return ()
    return tuple(tag.removeprefix("#").strip() for tag in listed if isinstance(tag, str) and tag.strip("# "))
