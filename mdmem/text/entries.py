"""The entries of a document: what a search finds. Pure; independent of the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache

from mdmem.folder.layout import day_of
from mdmem.model import Fact, FilePath, SectionPath
from mdmem.model.trail import Entry
from mdmem.startup import late
from mdmem.text.document import Document
from mdmem.text.facts import has_words, parse_item, plain_id, plain_words
from mdmem.text.scan import BlockKind

ABOUT_JOINT = " / "
"""Separates what front matter says of a file, in one text."""
INSTRUCTIONS_BEGIN, INSTRUCTIONS_END = "<!-- mdmem:begin -->", "<!-- mdmem:end -->"
"""Around mdmem's own instructions to agents, which are not memory."""
_COMMENT = late.pattern(r"(?s)<!--.*?(?:-->|\Z)")
_CODE = (
    r"\\.|^[ \t]*(?P<fence>`{3,}|~{3,}).*?(?:^["
    r" \t]*(?P=fence)|\Z)|(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
)
_COMMENT_OF_ITEM = late.pattern(
    rf"(?ms)(?P<code>{_CODE}|`+)|^[ \t]*<!--.*?-->[ \t]*(?:\n|\Z)|[ \t]*<!--.*?-->"
)
"""Comments in an item, but not escaped or in code."""
_ID_OF_FIRST_LINE = late.pattern(r"\A(.*\S)[ \t]+\^[A-Za-z0-9-]+[ \t]*\n")
_TEXTS_KEPT = 4096
_CONTENT = late.pattern(r"[^\s!-/:-@\[-`{-~]")
"""A character other than white space and ASCII punctuation."""


def entries(
    document: Document,
    path: FilePath,
    tags: tuple[str, ...] = (),
    start: int = 0,
    end: int | None = None,
    daily: str | None = None,
) -> tuple[Entry, ...]:
    """The entries of a file in order, without empty blocks and mdmem's instructions.

    The `path` of a daily log, or a date in a name, gives entries their day; each has the `tags` of
    the front matter. They begin in lines `start` up to `end`, from 0. Conflict markers are not
    entries; what both sides of a conflict say is.
    """
    end = len(document.lines) if end is None else end
    return tuple(
        _entries(
            document.without_markers,
            path,
            day_of(path, daily),
            tuple(dict.fromkeys(tags)),
            start,
            end,
        )
    )


def _entries(
    document: Document,
    path: FilePath,
    day: date | None,
    file_tags: tuple[str, ...],
    start: int,
    end: int,
) -> Iterator[Entry]:
    lines = document.lines
    section: SectionPath = ()
    section_end = -1
    instructions = _instructions(lines) if INSTRUCTIONS_BEGIN in document.text else ()
    for kind, first, last in document.spans_in(start, end):
        if first in instructions:
            continue
        if first >= section_end:
            section, section_end = _section_and_end(document, first)
        raw = lines[first] if last == first + 1 else document.slice(first, last)
        fact_kind, key, tags, until, fact_id = None, None, file_tags, None, None
        if kind is not BlockKind.ITEM:
            text = _block_text(kind, raw)
            if not _CONTENT.search(text):
                continue
        # Most entries are plain, and then there is less to look at.
        elif (words := plain_words(raw)) is not None:
            text, fact_id = words, plain_id(words)
        else:
            fact = parse_item(raw)
            if not _has_content(raw, fact):
                continue
            text, fact_kind, key, until, fact_id = (
                fact.text,
                fact.kind,
                fact.key,
                fact.until,
                fact.id,
            )
            if fact.tags:
                tags = tuple(dict.fromkeys((*fact.tags, *file_tags)))
        yield Entry(
            path=path,
            start_line=first + 1,
            end_line=last,
            section=section,
            day=day,
            text=text,
            kind=fact_kind,
            key=key,
            tags=tags,
            until=until,
            fact=fact_id,
            first_line=lines[first].strip(),
        )


def _instructions(lines: Sequence[str]) -> range:
    stripped = [line.strip() for line in lines]
    begin = stripped.index(INSTRUCTIONS_BEGIN) if INSTRUCTIONS_BEGIN in stripped else len(stripped)
    return (
        range(begin, stripped.index(INSTRUCTIONS_END, begin))
        if INSTRUCTIONS_END in stripped[begin:]
        else range(0)
    )


def shown_text(entry: Entry) -> str:
    """The text for readers, without comments and block id within it, which count for its id."""
    text = entry.text
    return (
        _without_comments(text)
        if entry.fact is not None and ("<!--" in text or ("^" in text and "\n" in text))
        else text
    )


@lru_cache(maxsize=_TEXTS_KEPT)
def _without_comments(text: str) -> str:
    return _ID_OF_FIRST_LINE.sub(
        r"\1\n", _COMMENT_OF_ITEM.sub(lambda match: match["code"] or "", text).rstrip() + "\n"
    ).rstrip()


def _section_and_end(document: Document, line: int) -> tuple[SectionPath, int]:
    section = document.section_at(line)
    return (section.path, section.end) if section else ((), document.preamble_end)


def _has_content(raw: str, fact: Fact) -> bool:
    return has_words(raw) if "<!--" in raw or "^" in raw else bool(fact.text)


def _block_text(kind: BlockKind, raw: str) -> str:
    """The words of a block without comments; code keeps what looks like one."""
    return (
        raw.strip() if kind is BlockKind.CODE or "<" not in raw else _COMMENT.sub("", raw).strip()
    )
