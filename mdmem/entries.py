"""Document -> entries: the pieces of a file that a search finds. Pure; nothing here knows of the index."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mdmem.document import BlockKind, Document
from mdmem.facts import has_words, parse_item, plain_id, plain_words
from mdmem.layout import day_of
from mdmem.model import Fact, FilePath, SectionPath
from mdmem.model.trail import Entry

_COMMENT = re.compile(r"(?s)<!--.*?(?:-->|\Z)")
_SPEAKS = re.compile(r"[^\s!-/:-@\[-`{-~]")
"""Something other than white space and ASCII punctuation."""


def entries(document: Document, path: FilePath, tags: tuple[str, ...] = (), start: int = 0, end: int | None = None) -> tuple[Entry, ...]:
    """The entries of a file in their order; what says nothing (an empty item, a comment, an empty fence) is none.

    Args:
        document: the file as it is on disk.
        path: where it is; a daily log's gives its entries their day.
        tags: the file's own (front matter), which each of its entries carries too.
        start: the first line (from 0) that an entry may begin in.
        end: the line after the last that one may begin in.
    """
    return tuple(_entries(document, path, tuple(dict.fromkeys(tags)), start, len(document.lines) if end is None else end))


def _entries(document: Document, path: FilePath, tags: tuple[str, ...], start: int, end: int) -> Iterator[Entry]:
    lines, day = document.lines, day_of(path)
    section: SectionPath = ()
    section_end = -1
    for kind, first, last in document.spans_in(start, end):
        if first >= section_end:
            section, section_end = _around(document, first)
        raw = lines[first] if last == first + 1 else document.slice(first, last)
        text = plain_words(raw) if kind is BlockKind.ITEM else None
        if text is not None:
            yield Entry(path, first + 1, last, section, day, text, None, None, tags, None, plain_id(text), raw.strip())
        elif kind is not BlockKind.ITEM:
            text = _text(kind, raw)
            if _SPEAKS.search(text):
                yield Entry(path, first + 1, last, section, day, text, None, None, tags, None, None, lines[first].strip())
        else:
            fact = parse_item(raw)
            if _has_words(raw, fact):
                own = tuple(dict.fromkeys((*fact.tags, *tags))) if fact.tags else tags
                said = (fact.text, fact.kind, fact.key, own, fact.until, fact.id)
                yield Entry(path, first + 1, last, section, day, *said, lines[first].strip())


def _around(document: Document, line: int) -> tuple[SectionPath, int]:
    """The path of the section that holds a line, and the line after its own text."""
    section = document.section_at(line)
    return (section.path, section.end) if section else ((), document.preamble_end)


def _has_words(raw: str, fact: Fact) -> bool:
    """Whether a list item says anything; most have nothing that could be taken for a comment or block id."""
    return has_words(raw) if "<!--" in raw or "^" in raw else bool(fact.text)


def _text(kind: BlockKind, raw: str) -> str:
    """The words of a block that is no list item; in code, what looks like a comment is none."""
    return raw.strip() if kind is BlockKind.CODE or "<" not in raw else _COMMENT.sub("", raw).strip()
