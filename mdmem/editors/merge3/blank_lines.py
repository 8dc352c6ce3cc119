"""The text of a merge, written of the elements that it plans and the blank lines between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from mdmem.editors.merge3.section_matches import SectionMatches
from mdmem.editors.merge3.sections import MergedSection
from mdmem.editors.merge3.unit_matches import UnitMatches, UnitTriple
from mdmem.editors.merge3.units import MergedUnit
from mdmem.editors.merge3.values import choices
from mdmem.editors.merge3.versions import Version
from mdmem.editors.text_units import Unit, indented
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import BOM, parse, with_line_end
from mdmem.text.scan import BlockKind


@dataclass(frozen=True, slots=True)
class TextForm:
    """Line ends of the merged texts (`read`; empty: mixed) and the result; its byte order mark."""

    read: str
    written: str
    bom: str

    @classmethod
    def of(cls, *texts: str) -> TextForm:
        boms = [BOM if text.startswith(BOM) else "" for text in texts]
        ends = [_line_end(text) for text in texts]
        bom = max(choices(*boms))
        if "" in ends:  # lines of one text end differently: each keeps its own
            most = [parse(text).line_end for text in texts if text]
            return cls("", max(most, key=lambda end: (most.count(end), end)), bom)
        base, *sides = ends
        sides = [end for end in sides if end]
        if not sides:
            return cls("\n", base or "\n", bom)
        written = sides if base is None else choices(base, sides[0], sides[-1])
        return cls("\n", max(end for end in written if end), bom)

    def normal(self, text: str) -> str:
        text = text.removeprefix(BOM)
        return with_line_end(text, self.read) if self.read else text

    @property
    def line_end(self) -> str:
        """The line end for what the merge itself puts in."""
        return self.read or self.written

    def final(self, text: str) -> str:
        return self.bom + (with_line_end(text, self.written) if self.read else text)


def _line_end(text: str) -> str | None:
    """Empty where they differ, None where no line has an end."""
    if "\r" not in text:
        return "\n" if "\n" in text else None
    both, returns, feeds = text.count("\r\n"), text.count("\r"), text.count("\n")
    if both == returns == feeds:
        return "\r\n"
    return "\r" if not feeds else ""


_MAX_LEVEL = 6


@dataclass(frozen=True, slots=True)
class PlannedElement:
    """A heading or unit of the result; `identity` is the same in all versions."""

    identity: Hashable
    text: str
    unit: Unit | None = None

    @property
    def is_heading(self) -> bool:
        return self.unit is None


def arrange(
    sections: Sequence[MergedSection],
    units: Sequence[Sequence[MergedUnit]],
    children: Callable[[int], Sequence[int]],
) -> Iterator[PlannedElement]:
    """`sections` begin with the preamble; `children` gives the sections in one, in order."""
    waiting: list[tuple[int, int] | PlannedElement] = [(0, 0)]
    while waiting:
        step = waiting.pop()
        if isinstance(step, PlannedElement):
            yield step
            continue
        number, level = step
        section = sections[number]
        if number:
            level = min(level + section.steps, _MAX_LEVEL)
            heading, *second = section.headings_at(level)
            yield PlannedElement(section.triple, heading)
            waiting += [PlannedElement((section.triple, "second"), text) for text in second]
        for unit in units[number]:
            yield from (
                PlannedElement(unit.triple, indented(text, unit.indent), unit.unit)
                for text in unit.texts
            )
        waiting += [(child, level) for child in reversed(children(number))]


_INTERRUPTS = late.pattern(r"(?:[-+*]|1[.)])[ \t]")
_SETEXT = late.pattern(r"[\s\S]*[\r\n]")


def identities(
    versions: Sequence[Version], sections: SectionMatches, units: UnitMatches
) -> Iterator[list[Hashable]]:
    triples_of = zip(
        (range(len(sections.triples)), *sections.in_sides),
        (units.in_base, *units.in_sides),
        strict=True,
    )
    for number, (version, (of_section, of_unit)) in enumerate(
        zip(versions, triples_of, strict=True)
    ):
        names: list[Hashable] = []
        for is_heading, n in version.elements:
            if is_heading:
                triple = sections.triples[of_section[n]]
                names.append(triple if triple.members[number][0] == n else (number, n))
            else:
                names.append(of_unit[n])
        yield names


class Gaps:
    """The blank lines between elements: as where two were neighbours, else as usual in the file."""

    def __init__(
        self, versions: Sequence[Version], identities: Sequence[Iterable[Hashable]], line_end: str
    ) -> None:
        self._versions, self._line_end = versions, line_end
        self._by_pair = [
            dict(zip(pairwise(names), version.gaps[1:-1], strict=True))
            for version, names in zip(versions, identities, strict=True)
        ]
        self._first = [version.gaps[0] if version.elements else None for version in versions]
        self._last = [version.gaps[-1] if version.elements else None for version in versions]

    @cached_property
    def _usual(self) -> tuple[dict[tuple[str, str], str], ...]:
        base, *sides = (Version(version.tree) for version in self._versions)
        return _usual_gaps([base]), _usual_gaps(sides)

    def text(self, elements: Sequence[PlannedElement]) -> str:
        if not elements:
            return ""
        pieces = [self.first(), elements[0].text]
        for before, behind in pairwise(elements):
            pieces += [self.between(before, behind), behind.text]
        return "".join([*pieces, self.last()])

    def first(self) -> str:
        return _merged_gap(self._first) or ""

    def last(self) -> str:
        """The gap behind the last element: its line end, if it has one, and blank lines."""
        gap = _merged_gap(self._last)
        return self._line_end if gap is None else gap

    def between(self, before: PlannedElement, behind: PlannedElement) -> str:
        pair = (before.identity, behind.identity)
        gaps = (
            [pairs.get(pair) for pairs in self._by_pair]
            if before.identity != behind.identity
            else [None]
        )
        if any(gap is not None for gap in gaps[1:]):
            return _merged_gap(gaps) or ""
        return self._usual_gap(before, behind)

    def _usual_gap(self, before: PlannedElement, behind: PlannedElement) -> str:
        last, first = self._unit(before, -1), self._unit(behind, 0)
        sorts = (_sort(last), _sort(first))
        blank = self._line_end * 2
        default = self._line_end if sorts == (BlockKind.ITEM, BlockKind.ITEM) else blank
        gap = next((usual[sorts] for usual in self._usual if sorts in usual), default)
        may_touch = _may_touch(last, first, behind.text)
        return gap if may_touch or gap.count("\n") > 1 or gap.count("\r") > 1 else blank

    def _unit(self, element: PlannedElement, position: int) -> Unit | None:
        if element.unit and element.unit.is_whole:
            assert isinstance(element.identity, UnitTriple)
            assert element.identity.base is not None
            base = self._versions[0]
            return base.tree.units(base.section_of[element.identity.base])[position]
        return element.unit


def _usual_gaps(versions: Sequence[Version]) -> dict[tuple[str, str], str]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for version in versions:
        sorts = [
            _sort(None if element.is_heading else version.units[element.number])
            for element in version.elements
        ]
        for pair, gap in zip(pairwise(sorts), version.gaps[1:-1], strict=True):
            counts.setdefault(pair, Counter())[gap] += 1
    return {pair: max(gaps, key=lambda gap: (gaps[gap], gap)) for pair, gaps in counts.items()}


def _merged_gap(gaps: Sequence[str | None]) -> str | None:
    base, *sides = gaps
    sides = [gap for gap in sides if gap is not None]
    if not sides:
        return base
    remaining = sides if base is None else choices(base, sides[0], sides[-1])
    return max(gap for gap in remaining if gap is not None)


def _sort(unit: Unit | None) -> str:
    return "heading" if unit is None else unit.kind or "raw"


def _may_touch(before: Unit | None, behind: Unit | None, text: str) -> bool:
    if before is None:
        return True
    if behind is None:
        return before.kind in (BlockKind.ITEM, BlockKind.PARAGRAPH) and not _SETEXT.match(text)
    is_item = behind.kind is BlockKind.ITEM
    return is_item and (
        before.kind is BlockKind.ITEM
        or (before.kind is BlockKind.PARAGRAPH and bool(_INTERRUPTS.match(text)))
    )
