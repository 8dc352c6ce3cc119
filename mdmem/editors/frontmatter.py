"""Front matter, read where its values are needed. It is never written: dumping it would lose comments, quoting and order."""

from __future__ import annotations

from typing import Any

import frontmatter
from yaml import YAMLError

from mdmem.document import Document, with_line_end


def values(document: Document) -> dict[str, Any]:
    """The front matter of a document; empty where there is none or it cannot be read, which must never stop an edit or an index."""
    if not document.front:
        return {}
    try:
        # The reader knows neither `...` as the end nor lone carriage returns.
        found, _ = frontmatter.parse(with_line_end("".join(["---\n", *document.lines[1 : document.front - 1], "---\n"]), "\n"))
    except (YAMLError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return {name: value for name, value in found.items() if isinstance(name, str)}


def tags(document: Document) -> tuple[str, ...]:
    """The tags that the front matter gives the whole file: a list, or one text with commas or spaces between."""
    found = values(document).get("tags")
    if isinstance(found, str):
        found = found.replace(",", " ").split()
    if not isinstance(found, list):
        return ()
    return tuple(tag.removeprefix("#").strip() for tag in found if isinstance(tag, str) and tag.strip("# "))
