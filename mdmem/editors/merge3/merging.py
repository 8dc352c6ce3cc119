"""The merge of three texts of one file, by section and fact, and the text that it becomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from mdmem.editors.merge3.sections import MergedSection, SectionOrder, merge_sections
from mdmem.editors.merge3.unit_matches import UnitMatches, UnitTriple, match_units
from mdmem.editors.merge3.units import MergedUnit, UnitOrder, merge_units
from mdmem.editors.merge3.values import choices, merge_front_matter
from mdmem.editors.merge3.versions import SectionMatches, Version, match_all_sections
from mdmem.editors.sections import SectionParts
from mdmem.editors.text_units import Unit, atoms_of, indented
from mdmem.folder import budget
from mdmem.model import FactId, FileKind, rules
from mdmem.model.errors import PathProblem, TextProblem
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import BOM, Document, decode, parse, with_line_end
from mdmem.text.facts import fact_id, parse_item
from mdmem.text.scan import BlockKind


@dataclass(frozen=True, slots=True)
class _TextForm:
    """Line ends of the merged texts (`read`; empty: mixed) and the result; its byte order mark."""

    read: str
    written: str
    bom: str

    @classmethod
    def of(cls, *texts: str) -> _TextForm:
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
class _PlannedElement:
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
) -> Iterator[_PlannedElement]:
    """`sections` begin with the preamble; `children` gives the sections in one, in order."""
    waiting: list[tuple[int, int] | _PlannedElement] = [(0, 0)]
    while waiting:
        step = waiting.pop()
        if isinstance(step, _PlannedElement):
            yield step
            continue
        number, level = step
        section = sections[number]
        if number:
            level = min(level + section.steps, _MAX_LEVEL)
            heading, *second = section.headings_at(level)
            yield _PlannedElement(section.triple, heading)
            waiting += [_PlannedElement((section.triple, "second"), text) for text in second]
        for unit in units[number]:
            yield from (
                _PlannedElement(unit.triple, indented(text, unit.indent), unit.unit)
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


class _Gaps:
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

    def text(self, elements: Sequence[_PlannedElement]) -> str:
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

    def between(self, before: _PlannedElement, behind: _PlannedElement) -> str:
        pair = (before.identity, behind.identity)
        gaps = (
            [pairs.get(pair) for pairs in self._by_pair]
            if before.identity != behind.identity
            else [None]
        )
        if any(gap is not None for gap in gaps[1:]):
            return _merged_gap(gaps) or ""
        return self._usual_gap(before, behind)

    def _usual_gap(self, before: _PlannedElement, behind: _PlannedElement) -> str:
        last, first = self._unit(before, -1), self._unit(behind, 0)
        sorts = (_sort(last), _sort(first))
        blank = self._line_end * 2
        default = self._line_end if sorts == (BlockKind.ITEM, BlockKind.ITEM) else blank
        gap = next((usual[sorts] for usual in self._usual if sorts in usual), default)
        may_touch = _may_touch(last, first, behind.text)
        return gap if may_touch or gap.count("\n") > 1 or gap.count("\r") > 1 else blank

    def _unit(self, element: _PlannedElement, position: int) -> Unit | None:
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


class Contradiction(NamedTuple):
    """Two facts or atoms side by side: each side's version, or values of a key (`key`).

    An atom of a block (a row, a sentence) has an id by the rule of facts.
    """

    first: FactId
    second: FactId
    key: str | None


@dataclass(frozen=True, slots=True)
class MergeNotes:
    """Events of a merge, independent of which side is ours.

    Args:
        labels: facts kept twice, with each side's kind, until, comment or block id.
        kept: facts that one side removed and the other changed or moved.
        moved: facts that each side moved to another section.
        two_names: pairs of titles given to one section; it has the first.
    """

    contradictions: tuple[Contradiction, ...] = ()
    labels: tuple[FactId, ...] = ()
    kept: tuple[FactId, ...] = ()
    moved: tuple[FactId, ...] = ()
    two_names: tuple[tuple[str, str], ...] = ()


def _collect_notes(units: Iterable[MergedUnit], sections: Iterable[MergedSection]) -> MergeNotes:
    contradictions: list[Contradiction] = []
    labels, kept, moved = list[FactId](), list[FactId](), list[FactId]()
    for unit in units:
        facts = [parse_item(text) for text in unit.texts] if unit.unit.fact else []
        if len(facts) == 2:
            first, second = facts
            if first.id == second.id:
                labels.append(first.id)
            else:
                is_by_key = first.key == second.key and unit.parent is None
                contradictions.append(
                    Contradiction(first.id, second.id, first.key if is_by_key else None)
                )
        contradictions += [
            Contradiction(fact_id(first), fact_id(second), None) for first, second in unit.pairs
        ]
        kept += map(fact_id, unit.kept)
        if unit.is_kept:
            kept.append(facts[0].id if facts else fact_id(unit.unit.words))
        if facts and unit.is_moved_apart:
            moved.append(facts[0].id)
    return MergeNotes(
        contradictions=tuple(contradictions),
        labels=tuple(labels),
        kept=tuple(kept),
        moved=tuple(moved),
        two_names=tuple(
            (section.title, section.second_title)
            for section in sections
            if section.second_title is not None
        ),
    )


class NamedAtom(NamedTuple):
    """A part of a block (a row, a sentence, an item) that notes may name, and its first line."""

    id: FactId
    text: str
    line: int


def named_atoms(document: Document) -> Iterator[NamedAtom]:
    if "\r" in document.text:
        document = parse(with_line_end(document.text, "\n"))
    version = Version(SectionParts(document))
    for unit, start in zip(version.units, version.line_of, strict=True):
        for text, line in atoms_of(unit):
            yield NamedAtom(fact_id(text), text, start + line)


_DAY = late.pattern(r"\d{4}-\d{2}-\d{2}\Z")
_Trees = tuple[SectionParts, SectionParts, SectionParts]


class Combination(NamedTuple):
    """A block that neither side has, made of both sides' texts, which are sorted."""

    text: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class MergeResult:
    """A merged file; `data` is None where git's line merge must do it, for this `reason`."""

    data: bytes | None
    notes: MergeNotes = MergeNotes()
    reason: str = ""
    combinations: tuple[Combination, ...] = ()


def merge3(
    base: bytes, ours: bytes, theirs: bytes, kind: FileKind = FileKind.EVERGREEN
) -> MergeResult:
    """Merge two versions of a memory file by section and fact; symmetric in the sides.

    Nothing that a side wrote is lost, doubled or moved elsewhere; where both changed the same part
    of a line, both lines stay, and the notes name them. The rules are those of docs/merging.md.
    `base` is empty where each side made the file. A renamed day's log is recognised by its text,
    whatever `kind` its path gives it.
    """
    sides = choices(base, ours, theirs)
    if len(sides) == 1:
        return MergeResult(sides[0])
    if kind is FileKind.BOOTSTRAP:
        return _left("the file holds instructions to agents")
    try:
        with budget.reading(b"\0".join((base, ours, theirs))):
            return _merged(base, ours, theirs, kind)
    except PathProblem as problem:  # whoever may push can write what takes hours to pair
        return _left(problem.message)


def _merged(base: bytes, ours: bytes, theirs: bytes, kind: FileKind) -> MergeResult:
    try:
        texts = [decode(data) for data in (base, ours, theirs)]
        form = _TextForm.of(*texts)
        documents = [parse(form.normal(text)) for text in texts]
    except PathProblem as problem:
        return _left(str(problem))
    if any(document.open_line is not None for document in documents):
        return _left("a version ends inside an open fence or comment")
    trees = (SectionParts(documents[0]), SectionParts(documents[1]), SectionParts(documents[2]))
    try:
        plan = _plan(trees, kind is FileKind.DAILY, form.line_end)
    except TextProblem as problem:
        return _left(problem.message)
    if not _reads_as_planned(plan):
        return _left("the merged text would not read as planned")
    return MergeResult(form.final(plan.text).encode(), plan.notes, combinations=plan.combinations)


def _left(reason: str) -> MergeResult:
    return MergeResult(None, reason=reason)


@dataclass(frozen=True, slots=True)
class _Plan:
    text: str
    front: str
    elements: list[_PlannedElement]
    notes: MergeNotes
    combinations: tuple[Combination, ...]
    is_flat: Callable[[str], bool]


def _plan(trees: _Trees, is_daily: bool, line_end: str) -> _Plan:
    base, *sides = trees
    is_log = is_daily or _is_log(trees)

    def is_minute(title: str) -> bool:
        return is_log and rules.is_minute(title)

    section_matches = match_all_sections(base, (sides[0], sides[1]), is_minute)
    sections = merge_sections(base, (sides[0], sides[1]), section_matches)
    are_minutes = [is_minute(section.title) for section in sections]
    versions = _split(trees, section_matches, is_minute)
    unit_matches = match_units(versions[0], versions[1:], section_matches, are_minutes)
    merged = merge_units(versions, section_matches, unit_matches)
    unit_order = UnitOrder(versions, section_matches, unit_matches, merged)
    units = [unit_order.in_section(number, is_set) for number, is_set in enumerate(are_minutes)]
    elements = list(
        arrange(
            sections,
            units,
            SectionOrder(trees, section_matches, sections, units, are_minutes).children,
        )
    )
    front = "".join(merge_front_matter(*(version.front for version in versions)))
    gaps = _Gaps(versions, list(identities(versions, section_matches, unit_matches)), line_end)
    return _Plan(
        text=front + gaps.text(elements),
        front=front,
        elements=elements,
        notes=_collect_notes([unit for unit in merged.values() if unit], sections),
        combinations=tuple(
            Combination(text, *unit.made_of)
            for unit in merged.values()
            if unit and unit.made_of
            for text in unit.texts
            if text not in unit.made_of
        ),
        is_flat=is_minute,
    )


def _split(
    trees: _Trees, matches: SectionMatches, is_flat: Callable[[str], bool]
) -> tuple[Version, Version, Version]:
    whole: tuple[set[int], set[int], set[int]] = (set(), set(), set())
    for triple in matches.triples:
        ours, theirs = triple.sides
        if triple.base is not None and len(ours) == len(theirs) == 1:
            numbers = (triple.base, ours[0], theirs[0])
            own = [tree.sections[number].own for tree, number in zip(trees, numbers, strict=True)]
            if own[0] == own[1] == own[2]:
                for members, number in zip(whole, numbers, strict=True):
                    members.add(number)
    flat = [_flat_sections(tree, is_flat) for tree in trees]
    return (
        Version(trees[0], whole[0], flat[0]),
        Version(trees[1], whole[1], flat[1]),
        Version(trees[2], whole[2], flat[2]),
    )


def _flat_sections(tree: SectionParts, is_flat: Callable[[str], bool]) -> set[int]:
    return {section.number for section in tree.sections if is_flat(section.title)}


def _is_log(trees: _Trees) -> bool:
    written = [tree.sections[1:] for tree in trees if len(tree.sections) > 1]
    return bool(written) and all(
        _DAY.match(sections[0].title)
        and all(rules.is_minute(section.title) for section in sections[1:])
        for sections in written
    )


def _reads_as_planned(plan: _Plan) -> bool:
    try:
        document = parse(plan.text)
    except PathProblem:
        return False
    if document.open_line is not None or document.bom:
        return False
    whole, section = set[int](), 0
    for element in plan.elements:
        section += element.is_heading
        if element.unit and element.unit.is_whole:
            whole.add(section)
    tree = SectionParts(document)
    version = Version(tree, whole, _flat_sections(tree, plan.is_flat))
    read = [(element.is_heading, version.text_of(element)) for element in version.elements]
    return "".join(version.front) == plan.front and read == [
        (element.is_heading, element.text) for element in plan.elements
    ]
