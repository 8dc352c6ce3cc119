"""A text of a merge taken apart: sections, their units, and the gaps (blank lines) between.

A unit is a list item, another block, or a run of lines in no block (a rule, link references); an
unchanged own text is one unit. Headings and units are elements: these and the gaps, joined, are all
behind the front matter, byte for byte.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from mdmem.editors.merge3.block_parts import Quote, Table, read_sentences
from mdmem.model import Fact
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import Document, fold_space, is_blank, plain_title
from mdmem.text.facts import has_words, normalise, normalise_key, parse_item
from mdmem.text.scan import BlockKind

# List items in list items: which lines of an outermost item belong to each; their numbers.

_NESTED = late.pattern(r"\n +(?:[-+*]|\d{1,9}[.)]) +\S")
_ITEM = late.pattern(r"( *)((?:[-+*]|\d{1,9}[.)]) {1,4})(?! )(?=\S)(.*)")
_LIKE_ITEM = late.pattern(r"(?:[-+*]|\d{1,9}[.)])(?:\s|$)")
_OTHER_BLOCK = late.pattern(r"(?:```|~~~|[>#<|])")
_NUMBER = late.pattern(r" {0,3}(\d{1,9})[.)]\s")
MOST_SPACES = 3
"""More spaces before a marker make it code."""


@dataclass(slots=True)
class _NestedItem:
    """Lines `start` up to `end`, without items beneath; `offset` is the column of the text."""

    start: int
    end: int
    indent: int
    offset: int
    parent: int | None


def _read_nested_items(text: str, lines: Sequence[str]) -> list[_NestedItem]:
    """The items of an outermost one, itself first; its `lines` have their ends.

    Empty where it has none beneath it, or other blocks that could belong to any.
    """
    if not _NESTED.search(text):
        return []
    items: list[_NestedItem] = []
    around: list[int] = []
    with_children = set[int]()
    is_behind_blank = False
    for number, line in enumerate(lines):
        words = line.lstrip(" ")
        indent = len(line) - len(words)
        if not words.strip():
            is_behind_blank = True
            continue
        match = _ITEM.match(line)
        if words[0] == "\t" or _OTHER_BLOCK.match(words) or (not match and _LIKE_ITEM.match(words)):
            return []
        if match:
            while around and indent < items[around[-1]].offset:
                around.pop()
            parent = around[-1] if around else None
            if (parent is None) != (number == 0) or _LIKE_ITEM.match(match[3]):
                return []
            if parent is not None:
                begins = parent not in with_children and not is_behind_blank
                is_first = match[2][0] in "-+*" or match[2].rstrip(" .)") == "1"
                if indent - items[parent].offset > MOST_SPACES or (begins and not is_first):
                    return []
                with_children.add(parent)
                items[-1].end = number
            around.append(len(items))
            items.append(
                _NestedItem(
                    start=number,
                    end=len(lines),
                    indent=indent,
                    offset=len(match[1] + match[2]),
                    parent=parent,
                )
            )
        elif number == 0 or indent < (items[-1].offset if is_behind_blank else items[-1].indent):
            return []
        is_behind_blank = False
    return items


def indented(text: str, spaces: int) -> str:
    if not spaces:
        return text
    before = " " * spaces
    return "\n".join(before + line if line.strip() else line for line in text.split("\n"))


def dedented(text: str, spaces: int) -> str | None:
    """The text that `indented` makes this one; None where there is none."""
    lines = [line[spaces:] if line.strip() else line for line in text.split("\n")]
    inner = "\n".join(lines)
    return inner if indented(inner, spaces) == text else None


def number_of_item(text: str) -> int | None:
    match = _NUMBER.match(text)
    return int(match[1]) if match else None


def without_number(text: str) -> str:
    match = _NUMBER.match(text)
    return text[match.end(1) :] if match else text


def with_number(text: str, number: int) -> str:
    """A numbered item with another number, and lines beneath indented for it."""
    match = _NUMBER.match(text)
    assert match is not None, "it has a number"
    first, *rest = text[match.end(1) :].split("\n")
    wider = len(str(number)) - len(match[1])
    rest = [
        " " * wider + line if line.strip() and wider > 0 else line.removeprefix(" " * -wider)
        for line in rest
    ]
    return "\n".join([f"{text[: match.start(1)]}{number}{first}", *rest])


# Sections and units.

_LAST_LINE_END = late.pattern(r"(?:\r\n?|\n)\Z")


class Element(NamedTuple):
    """A heading (`number` is that of its section) or a unit."""

    is_heading: bool
    number: int


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


@dataclass(frozen=True, slots=True, eq=False)
class VersionSection:
    """A heading as written, without its last line end, and its own text (`body` to `end`).

    Number 0 is the preamble. `parent` is a number; `title` is without markup.
    """

    number: int
    parent: int
    level: int
    title: str
    heading: str
    start: int
    body: int
    end: int
    children: list[int]


class SectionTree:
    """The sections of a document, whose own texts are split into units where that is asked for."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.sections = _read_sections(document)
        self._units: dict[int, tuple[tuple[Unit, int, int], ...]] = {}

    def path(self, number: int) -> tuple[str, ...]:
        titles: list[str] = []
        while number:
            titles.append(self.sections[number].title)
            number = self.sections[number].parent
        return tuple(reversed(titles))

    def name(self, number: int) -> tuple[tuple[str, ...], str, str]:
        """The order of sections of a whole file: path, heading and own text."""
        return self.path(number), self.sections[number].heading, self.own(number)

    def own(self, number: int) -> str:
        section = self.sections[number]
        return self.document.slice(section.body, section.end)

    def units(self, number: int) -> tuple[Unit, ...]:
        return tuple(unit for unit, _, _ in self.units_with_lines(number))

    def units_with_lines(self, number: int) -> tuple[tuple[Unit, int, int], ...]:
        """The units of a section's own text, each with its first line and the line after it."""
        units = self._units.get(number)
        if units is None:
            section = self.sections[number]
            spans = _spans(self.document, section.body, section.end)
            units = self._units[number] = tuple(
                (Unit(kind, self._text(start, end)), start, end) for kind, start, end in spans
            )
        return units

    def whole_with_lines(self, number: int) -> tuple[tuple[Unit, int, int], ...]:
        """A section's own text as one unit, without blank lines around it; none if blank."""
        section = self.sections[number]
        start, end = section.body, section.end
        while start < end and is_blank(self.document.lines[start]):
            start += 1
        while end > start and is_blank(self.document.lines[end - 1]):
            end -= 1
        return ((Unit(None, self._text(start, end), True), start, end),) if start < end else ()

    def _text(self, start: int, end: int) -> str:
        return _without_line_end(self.document.slice(start, end))


def _without_line_end(text: str) -> str:
    line_end = _LAST_LINE_END.search(text)
    return text[: line_end.start()] if line_end else text


def _read_sections(document: Document) -> tuple[VersionSection, ...]:
    preamble = VersionSection(
        number=0,
        parent=0,
        level=0,
        title="",
        heading="",
        start=document.front,
        body=document.front,
        end=document.preamble_end,
        children=[],
    )
    sections = [preamble]
    around = [0]
    for number, head in enumerate(document.sections, 1):
        while sections[around[-1]].level >= head.level:
            around.pop()
        section = VersionSection(
            number=number,
            parent=around[-1],
            level=head.level,
            title=plain_title(head.title),
            heading=_without_line_end(document.slice(head.start, head.body)),
            start=head.start,
            body=head.body,
            end=head.end,
            children=[],
        )
        sections[section.parent].children.append(number)
        sections.append(section)
        around.append(number)
    return tuple(sections)


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


class Version:
    """A text as units and elements.

    Attributes:
        units: of the whole text; `section_of` has their sections, `units_in` the reverse.
        line_of: the first line of each unit.
        parent_of: the unit that each unit, a list item, is in.
        gaps: before each element, and after the last.
    """

    def __init__(
        self, tree: SectionTree, whole: Collection[int] = (), flat: Collection[int] = ()
    ) -> None:
        """Own texts of `whole` sections are one unit; items of `flat` ones hold those beneath."""
        self.tree = tree
        self.sections = tree.sections
        self.front = tree.document.lines[: tree.document.front]
        self.units: list[Unit] = []
        self.section_of: list[int] = []
        self.parent_of: list[int | None] = []
        self.line_of: list[int] = []
        self.units_in: list[list[int]] = []
        self.elements: list[Element] = []
        self.gaps: list[str] = []
        self._gap, self._line = "", tree.document.front
        for section in tree.sections:
            if section.number:
                self._add(
                    Element(True, section.number), section.heading, section.start, section.body
                )
            self.units_in.append([])
            split = tree.whole_with_lines if section.number in whole else tree.units_with_lines
            for unit, start, end in split(section.number):
                if unit.kind is not BlockKind.ITEM or section.number in flat:
                    self._add_unit(unit, section.number, None, start, end)
                else:
                    self._add_item(unit, section.number, start, end)
        self.gaps.append(self._gap + tree.document.slice(self._line, len(tree.document.lines)))

    def _add_unit(self, unit: Unit, section: int, parent: int | None, start: int, end: int) -> None:
        self._add(Element(False, len(self.units)), unit.raw, start, end)
        self.units_in[-1].append(len(self.units))
        self.units.append(unit)
        self.section_of.append(section)
        self.parent_of.append(parent)
        self.line_of.append(start)

    def _add_item(self, unit: Unit, section: int, start: int, end: int) -> None:
        document, first = self.tree.document, len(self.units)
        items = _read_nested_items(unit.text, document.lines[start:end])
        units = list[Unit]()
        for item in items:
            own = document.slice(start + item.start, start + item.end).rstrip()
            text = own if item.parent is None else dedented(own, item.indent)
            if text is not None:
                indent = 0 if item.parent is None else item.indent
                units.append(Unit(unit.kind, text, indent=indent))
        if not items or len(units) < len(items):
            self._add_unit(unit, section, None, start, end)
            return
        for item, own_unit in zip(items, units, strict=True):
            parent = None if item.parent is None else first + item.parent
            self._add_unit(own_unit, section, parent, start + item.start, start + item.end)

    def _add(self, element: Element, text: str, start: int, end: int) -> None:
        document = self.tree.document
        self.elements.append(element)
        self.gaps.append(self._gap + document.slice(self._line, start))
        self._gap, self._line = document.slice(start, end)[len(text) :], end

    def text_of(self, element: Element) -> str:
        return (
            self.sections[element.number].heading
            if element.is_heading
            else self.units[element.number].raw
        )
