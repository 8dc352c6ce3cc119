"""Read the values of front matter. It is never written: dumping it would lose comments, quoting and order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

from mdmem.document import Document, with_line_end
from mdmem.startup import late
from mdmem.startup.records import dataclass

if TYPE_CHECKING:
    import frontmatter
    import yaml
else:
    frontmatter = late.module("frontmatter")
    yaml = late.module("yaml")


_ABOUT = ("name", "title", "description", "aliases")
"""The fields that name a file and tell what it is about; a search finds it by these."""


def values(document: Document) -> dict[str, Any]:
    """The front matter of a document; empty if there is none or it cannot be read, which must never stop an edit or an index."""
    if not document.front:
        return {}
    try:
        # The reader knows neither `...` as the end nor lone carriage returns.
        text = with_line_end("".join(["---\n", *document.lines[1 : document.front - 1], "---\n"]), "\n")
        metadata, _ = frontmatter.parse(text)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return {name: value for name, value in metadata.items() if isinstance(name, str)}


@dataclass(frozen=True, slots=True)
class FileLabels:
    """The labels that front matter gives a whole file: its tags, and the words of its name, title, description and aliases."""

    tags: tuple[str, ...] = ()
    about: str = ""


NO_LABELS = FileLabels()


def labels(document: Document) -> FileLabels:
    """The labels that the front matter of a document gives the whole file."""
    if not document.front:
        return NO_LABELS
    metadata = values(document)
    fields = {name.casefold(): value for name, value in metadata.items()} if metadata else dict(_plain_lines(document))
    about = dict.fromkeys(word for name in _ABOUT for word in _words(fields.get(name)))
    return FileLabels(_tags(metadata.get("tags")), " / ".join(about))


def _words(value: object) -> Iterator[str]:
    """The texts of a value: it may be a list, and a date or a number too."""
    for part in value if isinstance(value, list) else (value,):
        if isinstance(part, str | int | float | date) and not isinstance(part, bool) and (words := " ".join(str(part).split())):
            yield words


def _plain_lines(document: Document) -> Iterator[tuple[str, str]]:
    """The values of front matter that is no YAML (a title with a colon is enough), as far as they stand on one line."""
    for line in document.lines[1 : document.front - 1]:
        name, colon, value = line.partition(":")
        if colon and name.casefold() in _ABOUT:
            yield name.casefold(), value.strip().strip("'\"[]")


def tags(document: Document) -> tuple[str, ...]:
    """The tags that the front matter gives the whole file: a list, or one text with commas or spaces between.

    Where the word does not occur there are none, and the parser of YAML need not be loaded; a backslash may write its letters otherwise.
    """
    text = document.slice(0, document.front)
    return labels(document).tags if "tags" in text or "\\" in text else ()


def _tags(listed: object) -> tuple[str, ...]:
    if isinstance(listed, str):
        listed = listed.replace(",", " ").split()
    if not isinstance(listed, list):
        return ()
    return tuple(tag.removeprefix("#").strip() for tag in listed if isinstance(tag, str) and tag.strip("# "))
