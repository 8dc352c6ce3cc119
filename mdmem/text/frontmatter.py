"""Read front matter. It is never written, which would lose comments, quoting and order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from mdmem.startup.records import dataclass
from mdmem.text.document import Document, with_line_end
from mdmem.text.facts import ABOUT_JOINT

ABOUT = ("name", "title", "description", "aliases")
"""A search finds a file by these values; other ones are entries of their own (`text/fields`)."""
_TAGS = "tags"
_MAX_BYTES = 65_536
_MAX_NODES = 1_000
_FEW_CHARACTERS = _MAX_NODES // 2
"""Fewer cannot hold too many nodes: of `- - -` and `{a,b}`, each character has one at most."""


def values(document: Document) -> dict[str, Any]:
    """The front matter, empty if unreadable, which must not stop an edit or an index."""
    return {} if exceeded_limit(document) else _values(document)


def exceeded_limit(document: Document) -> str | None:
    """The limit that front matter exceeds, for which it counts as empty; None within all limits.

    An alias may unfold a few hundred bytes into more than any memory holds.
    """
    if not document.front:
        return None
    text = _yaml_text(document)
    if len(text.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        return "is larger than 64 KB"
    if len(text) < _FEW_CHARACTERS and "*" not in text:
        return None
    # as in `_values`: only where a file has front matter
    import yaml  # noqa: PLC0415

    nodes = 0
    try:
        for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.AliasEvent):
                return "has an alias (*)"
            nodes += isinstance(event, yaml.NodeEvent)
            if nodes > _MAX_NODES:
                return f"has more than {_MAX_NODES:,} values"
    except (yaml.YAMLError, ValueError):
        return None  # no YAML
    return None


def _yaml_text(document: Document) -> str:
    """The front matter as YAML's reader takes it, which knows no lone carriage returns."""
    return with_line_end("".join(document.lines[1 : document.front - 1]), "\n")


def _values(document: Document) -> dict[str, Any]:
    if not document.front:
        return {}
    # 40 ms with the parser of YAML, for the few files that have front matter
    import frontmatter  # noqa: PLC0415

    # as above
    import yaml  # noqa: PLC0415

    try:
        # The reader knows no `...` as the end.
        metadata, _ = frontmatter.parse(f"---\n{_yaml_text(document)}---\n")
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return {}
    return {name: value for name, value in metadata.items() if isinstance(name, str)}


@dataclass(frozen=True, slots=True)
class FileLabels:
    """The labels of a whole file: its tags, and the words that name it."""

    tags: tuple[str, ...] = ()
    about: str = ""


def labels(document: Document) -> FileLabels:
    if not document.front or exceeded_limit(document):
        return FileLabels()
    metadata = _values(document)
    fields = metadata or dict(_plain_lines(document))
    by_name = {name.casefold(): value for name, value in fields.items()}
    about = [word for name in ABOUT for word in _words(by_name.get(name))]
    return FileLabels(_tags(metadata.get(_TAGS)), ABOUT_JOINT.join(dict.fromkeys(about)))


def title(document: Document) -> str:
    """The title of a file: its front matter's, else its first heading's, else empty."""
    fields = _fields(document) if document.front and not exceeded_limit(document) else {}
    named = (value for name, value in fields.items() if name.casefold() == "title")
    in_front = next((word for value in named for word in _words(value)), "")
    return in_front or next((section.title for section in document.sections), "")


def _fields(document: Document) -> dict[str, Any]:
    return _values(document) or dict(_plain_lines(document))


def _words(value: object) -> Iterator[str]:
    for part in value if isinstance(value, list) else (value,):
        if not isinstance(part, str | int | float | date):
            continue
        try:
            text = str(part).casefold() if isinstance(part, bool) else str(part)
        except ValueError:  # a number of thousands of digits
            continue
        if words := " ".join(text.split()):
            yield words


def _plain_lines(document: Document) -> Iterator[tuple[str, str]]:
    """One-line values of front matter that is no YAML (a title with a colon is enough)."""
    for line in document.lines[1 : document.front - 1]:
        name, colon, value = line.partition(":")
        if colon and name[:1].isalnum():
            yield name.rstrip(), value.strip().strip("'\"[]")


def tags(document: Document) -> tuple[str, ...]:
    """The tags of the whole file: a list, or one text with commas or spaces.

    Without the word, YAML's parser is not loaded; a backslash may hide it.
    """
    text = document.slice(0, document.front)
    return labels(document).tags if "tags" in text or "\\" in text else ()


def _tags(listed: object) -> tuple[str, ...]:
    if isinstance(listed, str):
        listed = listed.replace(",", " ").split()
    if not isinstance(listed, list):
        return ()
    return tuple(
        tag.removeprefix("#").strip() for tag in listed if isinstance(tag, str) and tag.strip("# ")
    )
