"""A text as units, and blocks taken apart: a table into cells, a paragraph or quote into sentences.

A unit is a list item, another block, or a run of lines in no block (a rule, link references).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from mdmem.model import Fact
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import Document, fold_space, is_blank
from mdmem.text.facts import has_words, normalise, normalise_key, parse_item
from mdmem.text.scan import BlockKind

_RULE = late.pattern(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_FRAME = late.pattern(r"([ \t]*\|?)(.*?)((?<!\\)\|[ \t]*|[ \t]*)")
_BAR = late.pattern(r"(?<!\\)\|")
_UNBROKEN = late.pattern(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)|\[[^\]]*\]\([^)\s]*\)|<[^<>\s]+>")
"""Code, links: no sentence ends in them."""
_UNSPACED_END = r"[。！？]+[」』”’）】]*"
_END = late.pattern(rf"(?<![.!?])[.!?]+[\"'”’»)\]*_]*(?=\s+(\S))|{_UNSPACED_END}")
ENDS_UNSPACED = late.pattern(rf"{_UNSPACED_END}\Z")
_HARD_BREAK = late.pattern(r"(?:  |\\)\n")
_QUOTE_LINE = late.pattern(r" {0,3}> ?(.*)")
_CALLOUT = late.pattern(r"\[!([^\]]+)\]([+-]?)[ \t]*(.*)")
_OTHER_BLOCK = late.pattern(r"\s*(?:\Z|>|[-+*#|]|\d{1,9}[.)]|```|~~~|<| {4})")
NUMBERED = late.pattern(r" {0,3}(\d{1,9})[.)]\s")
_LAST_LINE_END = late.pattern(r"(?:\r\n?|\n)\Z")
LONG, BY_LINE, WRAPPED = range(3)


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line of a table: `cells` with the space around them, between `start` and `end`."""

    start: str
    cells: tuple[str, ...]
    end: str

    @classmethod
    def read(cls, line: str) -> TableLine:
        match = _FRAME.fullmatch(line)
        assert match is not None, "it matches any line"
        return cls(match[1], tuple(_BAR.split(match[2])), match[3])

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(cell.strip() for cell in self.cells)

    def __str__(self) -> str:
        return f"{self.start}{'|'.join(self.cells)}{self.end}"


@dataclass(frozen=True, slots=True)
class Table:
    head: TableLine
    rule: TableLine
    rows: tuple[TableLine, ...]

    @classmethod
    def read(cls, text: str) -> Table | None:
        """The table of a block; None where it is none."""
        lines = text.split("\n")
        if len(lines) < 2 or "|" not in lines[0] or "\r" in text or not _RULE.fullmatch(lines[1]):
            return None
        head, rule, *rows = map(TableLine.read, lines)
        return cls(head, rule, tuple(rows)) if len(head.cells) == len(rule.cells) else None

    @property
    def lines(self) -> tuple[TableLine, ...]:
        return (self.head, self.rule, *self.rows)

    @property
    def form(self) -> tuple[bool, str, str, bool]:
        """If cells are padded to the width of their columns, and the frame of a line."""
        widths = {tuple(map(len, line.cells)) for line in self.lines}
        is_spaced = self.head.cells[0].startswith(" ")
        return len(widths) == 1, self.head.start, self.head.end, is_spaced

    def column(self, number: int) -> TableColumn:
        cells = frozenset(
            (row.words[0], row.words[number])
            for row in self.rows
            if number < len(row.cells) and row.words[number]
        )
        return TableColumn(self.head.words[number], cells)


class TableColumn(NamedTuple):
    header: str
    cells: frozenset[tuple[str, str]]


def read_sentences(text: str) -> list[tuple[str, int]]:
    """The sentences of a text, their white space folded, and the end of each."""
    masked = _UNBROKEN.sub(lambda match: "x" * len(match[0]), text)
    sentences, start = list[tuple[str, int]](), 0
    for match in (*_END.finditer(masked), None):
        end = match.end() if match else len(text)
        if match and match[1] and match[1].islower():
            continue
        if sentence := fold_space(text[start:end]):
            sentences.append((sentence, end))
        start = end
    return sentences


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph in sentences; `ends` are theirs in the text."""

    text: str
    sentences: tuple[str, ...]
    ends: tuple[int, ...]

    @classmethod
    def read(cls, text: str) -> Prose | None:
        """Take a paragraph apart; None where its lines are no prose: one without full stops."""
        if "\r" in text or _HARD_BREAK.search(text):
            return None
        read = read_sentences(text)
        if len(read) < 2 and "\n" in text and not _END.search(f"{text} A"):
            return None
        return cls(text, tuple(words for words, _ in read), tuple(end for _, end in read))

    @property
    def form(self) -> int:
        """If it is one line, has a line a sentence, or is wrapped."""
        if "\n" not in self.text:
            return LONG
        is_by_line = self.text.count("\n") == len(self.ends) - 1
        return (
            BY_LINE if is_by_line and all(self.text[n] == "\n" for n in self.ends[:-1]) else WRAPPED
        )

    @property
    def width(self) -> int:
        return max(map(len, self.text.split("\n")))


@dataclass(frozen=True, slots=True)
class Quote:
    """A block quote of one paragraph; a callout's `head` is its kind, fold mark and title."""

    head: tuple[str, str, str] | None
    prose: Prose

    @classmethod
    def read(cls, text: str) -> Quote | None:
        """Take a quote apart; None where it has other blocks, or a line without its mark."""
        matches = [_QUOTE_LINE.fullmatch(line) for line in text.split("\n")]
        lines = [match[1] for match in matches if match]
        callout = _CALLOUT.fullmatch(lines[0]) if lines else None
        body = lines[1:] if callout else lines
        if len(lines) < len(matches) or any(map(_OTHER_BLOCK.match, body)):
            return None
        prose = Prose.read("\n".join(body))
        head = (callout[1], callout[2], callout[3].strip()) if callout else None
        return cls(head, prose) if prose else None


# Units.


def indented(text: str, spaces: int) -> str:
    if not spaces:
        return text
    before = " " * spaces
    return "\n".join(before + line if line.strip() else line for line in text.split("\n"))


def without_number(text: str) -> str:
    match = NUMBERED.match(text)
    return text[match.end(1) :] if match else text


@dataclass(frozen=True, eq=False)
class Unit:
    """A part of a section's own text, or all of it; kind None: raw lines. No final line end.

    An item in another one has the text without `indent` spaces before each line.
    """

    kind: BlockKind | None
    text: str
    is_whole: bool = False
    indent: int = 0

    @property
    def raw(self) -> str:
        return indented(self.text, self.indent)

    @cached_property
    def fact(self) -> Fact | None:
        """The fact that it states; None for other blocks and items without words."""
        return (
            parse_item(self.text) if self.kind is BlockKind.ITEM and has_words(self.text) else None
        )

    @cached_property
    def key(self) -> str | None:
        return normalise_key(self.fact.key) if self.fact and self.fact.key else None

    @cached_property
    def words_of_fact(self) -> list[str]:
        return normalise(self.fact.text).split() if self.fact else []

    @property
    def unnumbered(self) -> str:
        return without_number(self.text) if self.kind is BlockKind.ITEM else self.text

    @cached_property
    def words(self) -> str:
        return fold_space(self.text)

    @cached_property
    def atoms(self) -> frozenset[str]:
        """The different sentences, lines or cells with words of a block that states no fact."""
        if self.fact:
            return frozenset()
        if self.table:
            return frozenset(word for line in self.table.lines for word in line.words if word)
        lines = [line.strip() for line in self.text.split("\n")]
        if self.kind is BlockKind.QUOTE:
            lines = [line.lstrip("> ") for line in lines]
        if self.kind in (BlockKind.QUOTE, BlockKind.PARAGRAPH):
            sentences = [sentence for sentence, _ in read_sentences("\n".join(lines))]
            lines = sentences if len(sentences) > 1 else lines
        return frozenset(line for line in lines if any(map(str.isalnum, line)))

    @cached_property
    def table(self) -> Table | None:
        return Table.read(self.text) if self.kind is BlockKind.PARAGRAPH else None


def atoms_of(unit: Unit) -> Iterator[tuple[str, int]]:
    """The parts of a unit that a merge may name, and the line of each in it."""
    if unit.fact:
        yield unit.fact.text, 0
        return
    yield unit.words, 0
    if unit.table:
        yield from ((" | ".join(row.words), line) for line, row in enumerate(unit.table.rows, 2))
    else:
        quote = Quote.read(unit.text) if unit.kind is BlockKind.QUOTE else None
        text, line, start = (
            (quote.prose.text, int(quote.head is not None), 0) if quote else (unit.text, 0, 0)
        )
        yield fold_space(text), line
        for sentence, end in read_sentences(text):
            before = text[start:end]
            blank = before[: len(before) - len(before.lstrip())]
            yield sentence, line + text.count("\n", 0, start) + blank.count("\n")
            start = end
        yield from (
            (words, number) for number, words in enumerate(unit.text.split("\n")) if words.strip()
        )
        if quote and quote.head:
            yield quote.head[2], 0


def units_of(document: Document, start: int, end: int) -> tuple[tuple[Unit, int, int], ...]:
    """The units of some lines, each with its first line and the line after it."""
    return tuple(
        (Unit(kind, without_line_end(document.slice(first, last))), first, last)
        for kind, first, last in _spans(document, start, end)
    )


def without_line_end(text: str) -> str:
    line_end = _LAST_LINE_END.search(text)
    return text[: line_end.start()] if line_end else text


def _spans(document: Document, start: int, end: int) -> Iterator[tuple[BlockKind | None, int, int]]:
    line = start
    for kind, first, last in document.spans_in(start, end):
        if first >= line:
            yield from _raw_runs(document, line, first)
            yield kind, first, last
            line = last
    yield from _raw_runs(document, line, end)


def _raw_runs(document: Document, start: int, end: int) -> Iterator[tuple[None, int, int]]:
    first = None
    for line in range(start, end):
        if is_blank(document.lines[line]):
            if first is not None:
                yield None, first, line
            first = None
        elif first is None:
            first = line
    if first is not None:
        yield None, first, end
