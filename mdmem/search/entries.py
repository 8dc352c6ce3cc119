"""Document -> entries: the pieces of a file that a search finds. Pure; nothing here knows of the index."""

import re
from datetime import date

from mdmem.document import Block, BlockKind, Document
from mdmem.facts import has_words, parse_item
from mdmem.layout import day_of
from mdmem.model import Entry, Fact, FilePath, SectionPath

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SPEAKS = re.compile(r"[^\s!-/:-@\[-`{-~]")
"""Something other than white space and ASCII punctuation."""


def entries(document: Document, path: FilePath, tags: tuple[str, ...] = ()) -> tuple[Entry, ...]:
    """The entries of a file in their order; what says nothing (an empty item, a comment, an empty fence) is none.

    Args:
        document: the file as it is on disk.
        path: where it is; a daily log's gives its entries their day.
        tags: the file's own (front matter), which each of its entries carries too.
    """
    day = day_of(path)
    found = (_entry(document, block, path, document.path_at(block.start), day, tags) for block in document.blocks)
    return tuple(entry for entry in found if entry is not None)


def _entry(
    document: Document, block: Block, path: FilePath, section: SectionPath, day: date | None, file_tags: tuple[str, ...]
) -> Entry | None:
    raw = document.slice(block.start, block.end)
    fact = parse_item(raw) if block.kind is BlockKind.ITEM else None
    text = fact.text if fact else _text(block.kind, raw)
    if not (_has_words(raw, fact) if fact else _SPEAKS.search(text)):
        return None
    return Entry(
        path=path,
        start_line=block.start + 1,
        end_line=block.end,
        section=section,
        day=day,
        text=text,
        kind=fact.kind if fact else None,
        key=fact.key if fact else None,
        tags=tuple(dict.fromkeys((*(fact.tags if fact else ()), *file_tags))),
        until=fact.until if fact else None,
        fact=fact.id if fact else None,
        first_line=document.lines[block.start].strip(),
    )


def _has_words(raw: str, fact: Fact) -> bool:
    """Whether a list item says anything; most have nothing that could be taken for a comment or block id."""
    return has_words(raw) if "<!--" in raw or "^" in raw else bool(fact.text)


def _text(kind: BlockKind, raw: str) -> str:
    """The words of a block that is no list item; in code, what looks like a comment is none."""
    return raw.strip() if kind is BlockKind.CODE else _COMMENT.sub("", raw).strip()
