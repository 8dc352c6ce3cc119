"""The texts of a merge taken apart: their sections, matched with each other, their units, and the
gaps (blank lines) between.

A unit is a list item, another block, or a run of lines in no block (a rule, link references); an
unchanged own text is one unit. Headings and units are elements: these and the gaps, joined, are all
behind the front matter, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from mdmem.editors.sections import SectionPart, SectionParts, became
from mdmem.editors.text_units import NUMBERED, Unit, indented, without_line_end
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import is_blank
from mdmem.text.scan import BlockKind


@dataclass(slots=True, eq=False)
class SectionTriple:
    """A section in the base and in both sides, by number.

    A side's second one is a new section with this one's new name; its content belongs here.
    """

    base: int | None
    sides: tuple[list[int], list[int]]

    @property
    def members(self) -> tuple[list[int], list[int], list[int]]:
        return [] if self.base is None else [self.base], *self.sides

    def main(self, side: int) -> int | None:
        """The number of the section in a side; None where that side lacks it."""
        return self.sides[side][0] if self.sides[side] else None


@dataclass(slots=True)
class SectionMatches:
    """Each section once; `in_sides` gives the triple of a side's section."""

    triples: list[SectionTriple]
    in_sides: tuple[list[int], list[int]]


def match_all_sections(
    base: SectionParts, sides: tuple[SectionParts, SectionParts], folds: Callable[[str], bool]
) -> SectionMatches:
    """Match the sections of three versions; of titles that fold, one section is under a parent."""
    triples = [SectionTriple(section.number, ([], [])) for section in base.sections]
    in_sides = ([-1] * len(sides[0].sections), [-1] * len(sides[1].sections))
    for side, version in enumerate(sides):
        for old, new in became(base, version).items():
            triples[old].sides[side].append(new)
            in_sides[side][new] = old
    matches = SectionMatches(triples, in_sides)
    _NewSections(matches, base, sides, folds).match()
    return matches


_Name = tuple[int, str]


class _NewSections:
    def __init__(
        self,
        matches: SectionMatches,
        base: SectionParts,
        sides: tuple[SectionParts, SectionParts],
        folds: Callable[[str], bool],
    ) -> None:
        self._matches, self._base, self._sides, self._folds = matches, base, sides, folds
        self._renamed = (self._renamed_by(0), self._renamed_by(1))

    def match(self) -> None:
        triples = self._matches.triples
        for parent, triple in enumerate(triples):  # which grows meanwhile
            titles: dict[str, tuple[list[int], list[int]]] = {}
            for side, version in enumerate(self._sides):
                for child in (
                    child
                    for member in triple.sides[side]
                    for child in version.sections[member].children
                ):
                    titles.setdefault(version.sections[child].title, ([], []))[side].append(child)
            for title, groups in titles.items():
                self._match_group((parent, title), groups)

    def _match_group(self, name: _Name, groups: tuple[list[int], list[int]]) -> None:
        folds = self._folds(name[1])
        new: list[list[int]] = [[], []]
        for side, group in enumerate(groups):
            of = self._matches.in_sides[side]
            matched = [of[section] for section in group if of[section] >= 0]
            new[side] = [section for section in group if of[section] < 0]
            renamed = self._renamed[1 - side].get(name)
            if folds and matched:
                self._add(matched[-1], side, new[side])
                new[side] = []
            elif renamed is not None:
                self._add(renamed, side, new[side][:1])
                del new[side][:1]
        rows = (
            [new]
            if folds
            else [[new[0][n : n + 1], new[1][n : n + 1]] for n in range(max(map(len, new)))]
        )
        for row in rows:
            if any(row):
                self._matches.triples.append(SectionTriple(None, ([], [])))
                for side, sections in enumerate(row):
                    self._add(len(self._matches.triples) - 1, side, sections)

    def _add(self, triple: int, side: int, sections: Iterable[int]) -> None:
        for section in sections:
            self._matches.triples[triple].sides[side].append(section)
            self._matches.in_sides[side][section] = triple

    def _renamed_by(self, side: int) -> dict[_Name, int]:
        names: dict[_Name, int] = {}
        for number, triple in enumerate(self._matches.triples):
            name = self._name(side, triple.main(side))
            old = self._base.sections[number]
            other = self._name(1 - side, triple.main(1 - side))
            if (
                number
                and name
                and name != (old.parent, old.title)
                and other in (None, (old.parent, old.title))
            ):
                names.setdefault(name, number)
        return names

    def _name(self, side: int, number: int | None) -> _Name | None:
        if number is None:
            return None
        section = self._sides[side].sections[number]
        return (self._matches.in_sides[side][section.parent], section.title)


# List items in list items: which lines of an outermost item belong to each; their numbers.

_NESTED = late.pattern(r"\n +(?:[-+*]|\d{1,9}[.)]) +\S")
_ITEM = late.pattern(r"( *)((?:[-+*]|\d{1,9}[.)]) {1,4})(?! )(?=\S)(.*)")
_LIKE_ITEM = late.pattern(r"(?:[-+*]|\d{1,9}[.)])(?:\s|$)")
_OTHER_BLOCK = late.pattern(r"(?:```|~~~|[>#<|])")
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


def dedented(text: str, spaces: int) -> str | None:
    """The text that `indented` makes this one; None where there is none."""
    lines = [line[spaces:] if line.strip() else line for line in text.split("\n")]
    inner = "\n".join(lines)
    return inner if indented(inner, spaces) == text else None


def number_of_item(text: str) -> int | None:
    match = NUMBERED.match(text)
    return int(match[1]) if match else None


def with_number(text: str, number: int) -> str:
    """A numbered item with another number, and lines beneath indented for it."""
    match = NUMBERED.match(text)
    assert match is not None, "it has a number"
    first, *rest = text[match.end(1) :].split("\n")
    wider = len(str(number)) - len(match[1])
    rest = [
        " " * wider + line if line.strip() and wider > 0 else line.removeprefix(" " * -wider)
        for line in rest
    ]
    return "\n".join([f"{text[: match.start(1)]}{number}{first}", *rest])


# Headings and units.


class Element(NamedTuple):
    """A heading (`number` is that of its section) or a unit."""

    is_heading: bool
    number: int


class Version:
    """A text as units and elements.

    Attributes:
        units: of the whole text; `section_of` has their sections, `units_in` the reverse.
        line_of: the first line of each unit.
        parent_of: the unit that each unit, a list item, is in.
        gaps: before each element, and after the last.
    """

    def __init__(
        self, tree: SectionParts, whole: Collection[int] = (), flat: Collection[int] = ()
    ) -> None:
        """Own texts of `whole` sections are one unit; items of `flat` ones hold those beneath."""
        self.tree = tree
        self.sections = tree.sections
        self.document = document = tree.sections[0].document
        self.front = document.lines[: document.front]
        self.units: list[Unit] = []
        self.section_of: list[int] = []
        self.parent_of: list[int | None] = []
        self.line_of: list[int] = []
        self.units_in: list[list[int]] = []
        self.elements: list[Element] = []
        self.gaps: list[str] = []
        self._gap, self._line = "", document.front
        for section in tree.sections:
            if section.number:
                self._add(
                    Element(True, section.number), section.heading, section.start, section.body
                )
            self.units_in.append([])
            is_whole = section.number in whole
            for unit, start, end in (
                _whole(section) if is_whole else tree.units_with_lines(section.number)
            ):
                if unit.kind is not BlockKind.ITEM or section.number in flat:
                    self._add_unit(unit, section.number, None, start, end)
                else:
                    self._add_item(unit, section.number, start, end)
        self.gaps.append(self._gap + document.slice(self._line, len(document.lines)))

    def _add_unit(self, unit: Unit, section: int, parent: int | None, start: int, end: int) -> None:
        self._add(Element(False, len(self.units)), unit.raw, start, end)
        self.units_in[-1].append(len(self.units))
        self.units.append(unit)
        self.section_of.append(section)
        self.parent_of.append(parent)
        self.line_of.append(start)

    def _add_item(self, unit: Unit, section: int, start: int, end: int) -> None:
        document, first = self.document, len(self.units)
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
        document = self.document
        self.elements.append(element)
        self.gaps.append(self._gap + document.slice(self._line, start))
        self._gap, self._line = document.slice(start, end)[len(text) :], end

    def text_of(self, element: Element) -> str:
        return (
            self.sections[element.number].heading
            if element.is_heading
            else self.units[element.number].raw
        )


def _whole(part: SectionPart) -> tuple[tuple[Unit, int, int], ...]:
    """A section's own text as one unit, without blank lines around it; none if blank."""
    lines, start, end = part.document.lines, part.body, part.end
    while start < end and is_blank(lines[start]):
        start += 1
    while end > start and is_blank(lines[end - 1]):
        end -= 1
    text = without_line_end(part.document.slice(start, end))
    return ((Unit(None, text, True), start, end),) if start < end else ()
