"""Document -> entries: the pieces of a file that a search finds. Pure; nothing here knows of the index."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from datetime import date

from mdmem.document import Block, BlockKind, Document
from mdmem.facts import content, parse_item
from mdmem.layout import day_of
from mdmem.model import FactId, FilePath, SectionPath

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SPEAKS = re.compile(r"[^\s!-/:-@\[-`{-~]")
"""Something other than white space and ASCII punctuation."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One list item, paragraph, code block, table, quote or HTML block, at the top level of its section.

    Lines count from 1 and are inclusive. `text` is the Markdown without outermost list marker, kind, trailing tags, comments and
    block id. `tags` are the entry's own and then the file's. `fact` is set for list items only. `first_line` is the first line as it
    stands in the file without white space around it: what the origin of an entry is looked up by.
    """

    path: FilePath
    start_line: int
    end_line: int
    section: SectionPath
    day: date | None
    text: str
    kind: str | None
    key: str | None
    tags: tuple[str, ...]
    until: date | None
    fact: FactId | None
    first_line: str


def entries(document: Document, path: FilePath, tags: tuple[str, ...] = ()) -> tuple[Entry, ...]:
    """The entries of a file in their order; what says nothing (an empty item, a comment, an empty fence) is none.

    Args:
        document: the file as it is on disk.
        path: where it is; a daily log's gives its entries their day.
        tags: the file's own (front matter), which each of its entries carries too.
    """
    starts = [section.start for section in document.sections]
    day = day_of(path)

    def section_of(line: int) -> SectionPath:
        index = bisect_right(starts, line)
        return document.sections[index - 1].path if index else ()

    found = (_entry(document, block, path, section_of(block.start), day, tags) for block in document.blocks)
    return tuple(entry for entry in found if entry is not None)


def _entry(
    document: Document, block: Block, path: FilePath, section: SectionPath, day: date | None, file_tags: tuple[str, ...]
) -> Entry | None:
    raw = document.slice(block.start, block.end)
    fact = parse_item(raw) if block.kind is BlockKind.ITEM else None
    text = fact.text if fact else _text(block.kind, raw)
    if not (_COMMENT.sub("", content(raw)).strip() if fact else _SPEAKS.search(text)):
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


def _text(kind: BlockKind, raw: str) -> str:
    """The words of a block that is no list item; in code, what looks like a comment is none."""
    return raw.strip() if kind is BlockKind.CODE else _COMMENT.sub("", raw).strip()
