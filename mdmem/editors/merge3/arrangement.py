"""The elements of a merged text: headings and units, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

from mdmem.editors.merge3.merged_sections import MergedSection
from mdmem.editors.merge3.merged_units import MergedUnit
from mdmem.editors.merge3.versions import Unit
from mdmem.startup.records import dataclass

_MAX_LEVEL = 6


@dataclass(frozen=True, slots=True)
class PlannedElement:
    """A heading or unit of the result. `identity` names it in all versions; `unit` is a unit as one side has it, None for a heading."""

    identity: Hashable
    text: str
    unit: Unit | None = None

    @property
    def is_heading(self) -> bool:
        """True for a heading."""
        return self.unit is None


def arrange(
    sections: Sequence[MergedSection], units: Sequence[Sequence[MergedUnit]], children: Callable[[int], Sequence[int]]
) -> Iterator[PlannedElement]:
    """The headings and units of the result.

    Args:
        sections: the merged sections; the first one is the text before the first heading.
        units: for each of them the units that stand in it, in their order.
        children: gives the sections that stand in one, in their order.
    """
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
            yield from (PlannedElement(unit.triple, text, unit.unit) for text in unit.texts)
        waiting += [(child, level) for child in reversed(children(number))]
