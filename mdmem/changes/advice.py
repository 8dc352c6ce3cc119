"""What could be tidied in curated files: for a person or an agent to decide on, each with the command that does it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

from mdmem.addresses import address_of, join_path
from mdmem.document import BlockKind, Document, Section, is_blank, parse
from mdmem.editors import section as section_editor
from mdmem.editors.likeness import candidate_pairs, word_overlap
from mdmem.errors import SectionProblem
from mdmem.facts import Item, find_held_key, item_text, items, normalise
from mdmem.layout import CURATED_NAMES
from mdmem.model import FactId, FilePath, SectionPath, Status
from mdmem.model.reviews import Advice, AdviceKind
from mdmem.model.trail import Claim, Conflict
from mdmem.model.writes import Action, EditSection, Forget
from mdmem.startup.records import dataclass

UNTOUCHED_DAYS = 180
"""A section that was not changed for so long is worth a look."""
_NEAR = 0.8
"""How much two facts resemble each other that may be one (`resemblance`). Of lines of conversation, taken at random, none do by chance."""
_NAMED = 3
_QUOTED = 60


@dataclass(frozen=True, slots=True)
class FactState:
    """A fact that stands in a file, and whether it still holds. `superseded_by` took its place by a mark."""

    claim: Claim
    status: Status
    superseded_by: FactId | None = None


@dataclass(frozen=True, slots=True)
class CuratedFile:
    """A curated file as it is on disk, `size` in bytes; `changed`: on which day the own text of each of its sections last was.

    A section is named by its path and by its number among those of that path, from 1; the text before the first heading by the empty
    path. One that is not in there is not committed yet. A `read_only` file is looked at and not changed.
    """

    path: FilePath
    document: Document
    size: int
    changed: Mapping[tuple[SectionPath, int], date]
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """What a file that stands in an agent's prompt may come to."""

    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _LocatedFact:
    """A fact with the file, the item and the section that it was found in."""

    sheet: CuratedFile
    item: Item
    section: Section | None
    standing: FactState

    @property
    def place(self) -> tuple[FilePath, int]:
        return self.sheet.path, self.section.index if self.section else -1


def find_advice(
    sheets: Sequence[CuratedFile], facts: Iterable[FactState], conflicts: Iterable[Conflict], budget: Budget, today: date
) -> tuple[Advice, ...]:
    """What could be tidied, by kind and place.

    Each piece of advice is worked out on the files as they are now: after one was carried out the rest is to be worked out anew.

    Args:
        sheets: the files to be tidied.
        facts: what stands in them; facts of other files are left alone.
        conflicts: the contradictions in force, of any files.
        budget: what the curated file may come to.
        today: the user's day.
    """
    placed = _placed(sheets, facts)
    going = [advice for one in placed if (advice := _no_longer(one)) is not None]
    gone = {(advice.path, advice.line) for advice in going}
    holding = [one for one in placed if (one.sheet.path, one.item.start + 1) not in gone]
    doubles = list(_duplicates(holding))
    doubled = {(advice.path, advice.line) for advice in doubles}
    single = [one for one in holding if (one.sheet.path, one.item.start + 1) not in doubled]
    files = [advice for sheet in sheets for advice in (*_untouched(sheet, today), *_over_budget(sheet, budget))]
    found = [*going, *doubles, *_near_duplicates(single), *map(_contradiction, conflicts), *files]
    order = list(AdviceKind)
    return tuple(sorted(found, key=lambda advice: (order.index(advice.kind), advice.path, advice.line)))


def _placed(sheets: Iterable[CuratedFile], facts: Iterable[FactState]) -> list[_LocatedFact]:
    """The facts that stand in the sheets where they are said to, in the order of the sheets."""
    said: dict[tuple[FilePath, int], FactState] = {(one.claim.path, one.claim.line - 1): one for one in facts}
    return [
        _LocatedFact(sheet, item, sheet.document.section_at(item.start), standing)
        for sheet in sheets
        for item in items(sheet.document)
        if (standing := said.get((sheet.path, item.start))) is not None and standing.claim.id == item.fact.id
    ]


# What no longer holds.


def _no_longer(one: _LocatedFact) -> Advice | None:
    standing = one.standing
    match standing.status:
        case Status.SUPERSEDED:
            by = f" by {standing.superseded_by}" if standing.superseded_by else ""
            return _taking_out(one, AdviceKind.SUPERSEDED, f"{_quoted(one)} was superseded{by}, and still stands", safe=True)
        case Status.EXPIRED:
            return _taking_out(one, AdviceKind.EXPIRED, f"{_quoted(one)} held until {one.item.fact.until}", safe=True)
        case _:
            return None


def _quoted(one: _LocatedFact) -> str:
    return _quote(one.item.fact.text)


def _quote(text: str) -> str:
    words = " ".join(text.split())
    return repr(words if len(words) <= _QUOTED else words[: _QUOTED - 1] + "…")


def _taking_out(one: _LocatedFact, kind: AdviceKind, message: str, safe: bool, beside: tuple[FactId, ...] = ()) -> Advice:
    change = None if one.sheet.read_only else _removal(one)
    command = _command(change) if change else _looking(one.sheet, one.section)
    section = one.section.path if one.section else ()
    facts = (one.item.fact.id, *beside)
    return Advice(kind, one.sheet.path, section, one.item.start + 1, facts, message, command, safe and change is not None, change)


def _removal(one: _LocatedFact) -> Forget | EditSection | None:
    """What takes one item out: by its id, where that names it alone in the file or in its section, else by its words."""
    sheet, item, section = one.sheet, one.item, one.section
    alike = [other for other in items(sheet.document) if other.fact.id == item.fact.id]
    if len(alike) == 1:
        return Forget(item.fact.id, sheet.path)
    address = _address(sheet, section)
    if section is not None and address is not None and address.nth is None:
        beside = [other for other in alike if section.body <= other.start < section.end]
        if len(beside) == 1:
            return Forget(item.fact.id, sheet.path, address.section)
    return _cut(one)


def _cut(one: _LocatedFact) -> EditSection | None:
    """An edit that takes the lines of an item out, named with the line above and as many more as make them stand once.

    None where no words name them, or where something else would come to be read in another way.
    """
    document, item, section = one.sheet.document, one.item, one.section
    address = _address(one.sheet, section)
    if address is None:
        return None
    first, last = (section.body, section.end) if section else (document.front, document.preamble_end)
    own = document.slice(first, last)
    start, end = item.start, item.end
    while start > first and (start == item.start or is_blank(document.lines[start])):
        start -= 1
    while (start == item.start or not _stands_once(document.slice(start, end), own)) and (start, end) != (first, last):
        start, end = (start - 1, end) if start > first else (start, end + 1)
    old = _bare(document.slice(start, end))
    new = _bare(document.slice(start, item.start) + document.slice(item.end, end))
    change = EditSection(address.section, Action.REPLACE, old, new, one.sheet.path, nth=address.nth)
    try:
        result = parse(section_editor.edit(document, change).text)
    except SectionProblem:
        return None
    rest = [_bare(other.raw) for other in items(document) if other.start != item.start]
    return change if [_bare(other.raw) for other in items(result)] == rest else None


def _stands_once(words: str, text: str) -> bool:
    return len(section_editor.find_words(_bare(words), text)) == 1


def _bare(text: str) -> str:
    return text.rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class _Address:
    """How a section is named: its path, and its number where several have it. None: the text before the first heading."""

    section: str | None
    nth: int | None = None


def _address(sheet: CuratedFile, section: Section | None) -> _Address | None:
    """The address of a section, None where it has none of its own (its path, as it is written, means another)."""
    if section is None:
        return _Address(None)
    address = address_of(sheet.document, section)
    return _Address(*address) if address else None


def _looking(sheet: CuratedFile, section: Section | None) -> tuple[str, ...]:
    """The command that shows a section, or the whole file where the section cannot be named."""
    address = _address(sheet, section)
    return ("mdmem", "show", sheet.path, *(_words(address) if address else ()))


def _words(address: _Address) -> tuple[str, ...]:
    return (
        (address.section, *_given("--nth", str(address.nth) if address.nth else None)) if address.section is not None else ("--preamble",)
    )


def _command(change: Forget | EditSection) -> tuple[str, ...]:
    """The command line of a change that takes something out."""
    match change:
        case Forget():
            return ("mdmem", "forget", change.fact, *_given("--file", change.file), *_given("--section", change.section))
        case EditSection():
            address = _words(_Address(change.section, change.nth))
            given = ("--replace", change.text, "--with", change.replacement)
            return ("mdmem", "edit-section", *address, *_given("--file", change.file), *given)


def _given(option: str, value: str | None) -> tuple[str, ...]:
    return (option, value) if value is not None else ()


# What is said twice.


def _duplicates(placed: Sequence[_LocatedFact]) -> Iterator[Advice]:
    """The later ones of facts with one id. In one section that is one fact too many; in two the headings may make them two facts."""
    first: dict[FactId, _LocatedFact] = {}
    beside: dict[tuple[FactId, tuple[FilePath, int]], _LocatedFact] = {}
    for one in placed:
        here = one.item.fact.id, one.place
        if here in beside:
            message = f"{_quoted(one)} stands in line {beside[here].item.start + 1} of the section already"
            yield _taking_out(one, AdviceKind.DUPLICATE, message, _adds_nothing(one.item, beside[here].item))
        elif one.item.fact.id in first:
            message = f"{_quoted(one)} stands in {_where(first[one.item.fact.id])} too"
            yield _taking_out(one, AdviceKind.DUPLICATE, message, safe=False)
        first.setdefault(one.item.fact.id, one)
        beside.setdefault(here, one)


def _where(one: _LocatedFact) -> str:
    return f"{one.sheet.path}:{one.item.start + 1}"


def _adds_nothing(one: Item, first: Item) -> bool:
    """Whether an item says no more than the first one of its id: neither kind nor tag, expiry, comment or block id of its own."""
    said = normalise(item_text(one.raw))
    return said == normalise(item_text(first.raw)) or (said == normalise(one.fact.text) and one.fact.until == first.fact.until)


def _near_duplicates(placed: Sequence[_LocatedFact]) -> Iterator[Advice]:
    """The later ones of facts that nearly say the same. Two values of one key are a contradiction, of two keys two facts."""
    texts = [one.item.fact.text for one in placed]
    near: dict[int, tuple[float, int]] = {}
    for later, earlier in candidate_pairs(texts, texts):
        first, second = sorted((earlier, later))
        if first == second or _of_keys(placed[first], placed[second]):
            continue
        alike = word_overlap(texts[first], texts[second])
        if alike >= _NEAR:
            near[second] = max(near.get(second, (0.0, 0)), (alike, first))
    for second, (_, first) in sorted(near.items()):
        one, other = placed[second], placed[first]
        message = f"{_quoted(one)} says nearly what {_where(other)} says: {_quoted(other)}"
        yield _taking_out(one, AdviceKind.NEAR_DUPLICATE, message, safe=False, beside=(other.item.fact.id,))


def _of_keys(one: _LocatedFact, other: _LocatedFact) -> bool:
    """Whether keys say of two facts what they are to each other."""
    a, b = one.item.fact, other.item.fact
    if a.id == b.id or (a.key and b.key and normalise(a.key) != normalise(b.key)):
        return True
    key = a.key or b.key
    held = key and all(fact.key or find_held_key(fact.text, {normalise(key)}) for fact in (a, b))
    return bool(held) and one.place == other.place


def _contradiction(conflict: Conflict) -> Advice:
    one, other = conflict.one, conflict.other
    why = f" ({conflict.key})" if conflict.key else ""
    message = f"{_quote(one.text)} and {_quote(other.text)} contradict each other{why}: forget one, or say that both hold"
    command = ("mdmem", "conflicts", "--resolve", one.id, other.id)
    return Advice(AdviceKind.CONTRADICTION, one.path, one.section, one.line, (one.id, other.id), message, command)


# What is old, what is long.


@dataclass(frozen=True, slots=True)
class _SectionText:
    """The own text of a section, or (None) what stands before the first heading."""

    section: Section | None
    start: int
    lines: int
    speaks: bool
    changed: date | None


def _parts(sheet: CuratedFile) -> Iterator[_SectionText]:
    document = sheet.document
    numbers: dict[SectionPath, int] = defaultdict(int)
    spans = [((), None, document.front, document.preamble_end), *((s.path, s, s.start, s.end) for s in document.sections)]
    for path, section, start, end in spans:
        numbers[path] += 1
        speaks = any(block.kind is not BlockKind.HTML for block in document.blocks_in(section.body if section else start, end))
        lines = sum(not is_blank(line) for line in document.lines[start:end])
        yield _SectionText(section, start, lines, speaks, sheet.changed.get((path, numbers[path])))


def _untouched(sheet: CuratedFile, today: date) -> Iterator[Advice]:
    for part in _parts(sheet):
        if sheet.read_only or not part.speaks or part.changed is None:
            continue
        age = (today - part.changed).days
        if age >= UNTOUCHED_DAYS:
            message = f"{_title(part)} was last changed on {part.changed}, {age} days ago: does it still hold?"
            section = part.section.path if part.section else ()
            yield Advice(AdviceKind.UNTOUCHED, sheet.path, section, part.start + 1, (), message, _looking(sheet, part.section))


def _title(part: _SectionText) -> str:
    return join_path(part.section.path) if part.section else "the text before the first heading"


def _over_budget(sheet: CuratedFile, budget: Budget) -> Iterator[Advice]:
    lines = len(sheet.document.lines)
    if sheet.path not in CURATED_NAMES or (lines <= budget.lines and sheet.size <= budget.bytes):
        return
    speaking = [part for part in _parts(sheet) if part.speaks]
    largest = sorted(speaking, key=lambda part: -part.lines)[:_NAMED]
    oldest = sorted((part for part in speaking if part.changed), key=lambda part: part.changed or date.max)[:_NAMED]
    said = [
        f"{lines:,} lines and {sheet.size:,} bytes; its budget is {budget.lines:,} lines and {budget.bytes:,} bytes",
        *(["The largest sections are " + "; ".join(f"{_title(part)} ({part.lines} lines)" for part in largest)] if largest else []),
        *(["The oldest are " + "; ".join(f"{_title(part)} ({part.changed})" for part in oldest)] if oldest else []),
    ]
    yield Advice(AdviceKind.OVER_BUDGET, sheet.path, (), 1, (), ". ".join(said), ("mdmem", "outline", sheet.path))
