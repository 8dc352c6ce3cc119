"""`review`: advice on tidying curated files by their history, each piece with the command that
does it; and its safe part carried out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import date

from mdmem.editors import section as section_editor
from mdmem.editors.likeness import candidate_pairs
from mdmem.editors.sameness import word_overlap
from mdmem.folder import files, layout
from mdmem.folder.layout import CURATED_NAMES
from mdmem.model import FactId, FileKind, FilePath, SectionPath, Status
from mdmem.model.errors import PathProblem, SectionProblem, number_of
from mdmem.model.proposals import Advice, AdviceKind, ReviewResult
from mdmem.model.searches import ConflictView
from mdmem.model.trail import Entry, Mark
from mdmem.model.writes import Action, Change, EditSection, Forget, WriteOptions, WriteResult
from mdmem.past import fresh_trail, trail_update
from mdmem.past.entry_states import match_entries
from mdmem.past.table import Trail
from mdmem.proposals import branches
from mdmem.queries.conflicts import conflicts
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import (
    Document,
    Section,
    address_of,
    is_blank,
    join_path,
    parse,
    parse_bytes,
)
from mdmem.text.facts import Item, entries, find_held_key, item_text, items, may_repeat, normalise
from mdmem.text.scan import BlockKind
from mdmem.workspace import Say, Workspace

_MAX_LINES = 30
"""The maximum of lines that a command quotes; nobody reads a longer command."""
UNTOUCHED_DAYS = 180
_NEAR = 0.8
"""The `word_overlap` of likely duplicates; random lines of conversation do not reach it."""
_NAMED = 3
_MAX_REMOVALS = 50
"""The maximum of removals in one review; the next review has the next ones."""
_REMOVALS = frozenset(
    (
        AdviceKind.SUPERSEDED,
        AdviceKind.FORGOTTEN,
        AdviceKind.EXPIRED,
        AdviceKind.DUPLICATE,
        AdviceKind.NEAR_DUPLICATE,
    )
)
_QUOTED = 60
_BLOCK_OF_LINK = late.pattern(r"#(\^[A-Za-z0-9-]+)")


@dataclass(frozen=True, slots=True)
class _Address:
    """The path of a section (None: the text before the first heading), and its number there."""

    section: str | None
    nth: int | None = None


def find_removal(
    document: Document, path: FilePath, item: Item, section: Section | None
) -> Forget | EditSection | None:
    same_id = [each for each in items(document) if each.fact.id == item.fact.id]
    if len(same_id) == 1:
        return Forget(fact=item.fact.id, file=path)
    address = _address(document, section)
    if section is not None and address is not None and address.nth is None:
        in_section = [each for each in same_id if section.body <= each.start < section.end]
        if len(in_section) == 1:
            return Forget(fact=item.fact.id, file=path, section=address.section)
    return _removal_edit(document, path, item, section)


def _removal_edit(
    document: Document, path: FilePath, item: Item, section: Section | None
) -> EditSection | None:
    """None where no words name the lines, or where other text would then be read differently."""
    address = _address(document, section)
    if address is None:
        return None
    first, last = (
        (section.body, section.end) if section else (document.front, document.preamble_end)
    )
    own_text = document.slice(first, last)
    start, end = item.start, item.end
    while start > first and (start == item.start or is_blank(document.lines[start])):
        start -= 1
    while (
        start == item.start
        and end < last
        and (end == item.end or is_blank(document.lines[end - 1]))
    ):
        end += 1  # there is no line above
    while (
        len(section_editor.find_words(_without_line_end(document.slice(start, end)), own_text)) != 1
    ):
        if end - start >= _MAX_LINES:
            return None
        start, end = (start - 1, end) if start > first else (start, end + 1)
    old = _without_line_end(document.slice(start, end))
    new = _without_line_end(document.slice(start, item.start) + document.slice(item.end, end))
    change = EditSection(
        section=address.section,
        action=Action.REPLACE,
        text=old,
        replacement=new,
        file=path,
        nth=address.nth,
    )
    try:
        result = parse(section_editor.edit(document, change).text)
    except SectionProblem:
        return None
    rest = [_without_line_end(each.raw) for each in items(document) if each.start != item.start]
    return change if [_without_line_end(each.raw) for each in items(result)] == rest else None


def _without_line_end(text: str) -> str:
    return text.rstrip("\r\n")


def _address(document: Document, section: Section | None) -> _Address | None:
    """The address of a section; None where its path, as written, means another."""
    if section is None:
        return _Address(None)
    address = address_of(document, section)
    return _Address(*address) if address else None


def _show_command(document: Document, path: FilePath, section: Section | None) -> tuple[str, ...]:
    address = _address(document, section)
    return ("mdmem", "show", path, *(_address_words(address) if address else ()))


def _address_words(address: _Address) -> tuple[str, ...]:
    if address.section is None:
        return ("--preamble",)
    return (address.section, *_option("--nth", str(address.nth) if address.nth else None))


def _removal_command(change: Forget | EditSection) -> tuple[str, ...]:
    match change:
        case Forget():
            return (
                "mdmem",
                "forget",
                change.fact,
                *_option("--file", change.file),
                *_option("--section", change.section),
            )
        case EditSection():
            address = _address_words(_Address(change.section, change.nth))
            replace = ("--replace", change.text, "--with", change.replacement)
            return ("mdmem", "edit-section", *address, *_option("--file", change.file), *replace)


def _option(name: str, value: str | None) -> tuple[str, ...]:
    return (name, value) if value is not None else ()


@dataclass(frozen=True, slots=True)
class FactState:
    """A fact in a file. `is_forgotten`: a merge brought it back after it was forgotten."""

    entry: Entry
    status: Status
    superseded_by: FactId | None = None
    is_forgotten: bool = False


@dataclass(frozen=True, slots=True)
class CuratedFile:
    """A curated file on disk; `changed` has the day when each section's own text changed.

    Sections are named by path and number among those of that path, from 1; uncommitted ones are
    missing. `size` is in bytes. `keeps_lines`: no advice removes a line of it (a person's note).
    """

    path: FilePath
    document: Document
    size: int
    changed: Mapping[tuple[SectionPath, int], date]
    read_only: bool = False
    keeps_lines: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """The maximum size of a file in an agent's prompt."""

    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _LocatedFact:
    file: CuratedFile
    item: Item
    section: Section | None
    state: FactState
    is_kept: bool

    @property
    def line(self) -> int:
        return self.item.start + 1

    @property
    def note(self) -> FilePath | None:
        """Its file, if that is a person's note."""
        return self.file.path if self.file.keeps_lines else None

    @property
    def section_key(self) -> tuple[FilePath, int]:
        return self.file.path, self.section.index if self.section else -1


def find_advice(
    curated: Sequence[CuratedFile],
    facts: Iterable[FactState],
    conflicts: Iterable[ConflictView],
    budget: Budget,
    today: date,
    linked: Set[str] = frozenset(),
) -> tuple[Advice, ...]:
    """Find it anew after each piece that is carried out. `conflicts` may be of any files.

    `linked`: block ids (`^id`) that links name; no advice removes their lines.
    """
    located = _locate(curated, facts, linked)
    ended = [each for each in map(_no_longer_holds, located) if each is not None]
    unique = [fact for fact in _without(located, ended) if not may_repeat(fact.item.fact.text)]
    duplicates = list(_duplicates(unique))
    single = _without(unique, duplicates)
    kept: set[str] = {file.path for file in curated if file.keeps_lines}
    kept |= {_where(fact) for fact in located if fact.is_kept}
    of_files = [
        each
        for file in curated
        for each in (*_in_conflict(file), *_untouched(file, today), *_over_budget(file, budget))
    ]
    advice = [
        *ended,
        *duplicates,
        *_near_duplicates(single),
        *(_contradiction(each, kept) for each in conflicts),
        *of_files,
    ]
    order = list(AdviceKind)
    return tuple(
        _with_removals(
            sorted(advice, key=lambda each: (order.index(each.kind), each.path, each.line)), located
        )
    )


def _with_removals(advice: Iterable[Advice], located: Iterable[_LocatedFact]) -> Iterator[Advice]:
    """Each removal is worked out on a whole file, so only the first ones get theirs."""
    facts = {(fact.file.path, fact.line): fact for fact in located}
    remaining = _MAX_REMOVALS
    for each in advice:
        fact = facts[each.path, each.line] if each.kind in _REMOVALS else None
        if fact is None or fact.file.read_only or fact.is_kept or not remaining:
            yield replace(each, safe=False) if each.safe else each
            continue
        remaining -= 1
        change = find_removal(fact.file.document, fact.file.path, fact.item, fact.section)
        yield replace(
            each,
            safe=each.safe and change is not None,
            change=change,
            command=_removal_command(change) if change else each.command,
        )


def _locate(
    curated: Iterable[CuratedFile], facts: Iterable[FactState], linked: Set[str]
) -> list[_LocatedFact]:
    states: dict[tuple[FilePath, int], FactState] = {
        (state.entry.path, state.entry.start_line - 1): state for state in facts
    }
    return [
        _LocatedFact(
            file=file,
            item=item,
            section=file.document.section_at(item.start),
            state=state,
            is_kept=file.keeps_lines or not linked.isdisjoint(item.raw.split()),
        )
        for file in curated
        for item in items(file.document)
        if (state := states.get((file.path, item.start))) is not None
        and state.entry.fact == item.fact.id
    ]


def _without(located: Iterable[_LocatedFact], advice: Iterable[Advice]) -> list[_LocatedFact]:
    lines = {(each.path, each.line) for each in advice}
    return [fact for fact in located if (fact.file.path, fact.line) not in lines]


# Facts that no longer hold.


def _no_longer_holds(fact: _LocatedFact) -> Advice | None:
    state = fact.state
    match state.status:
        case Status.SUPERSEDED:
            by = f" by {state.superseded_by}" if state.superseded_by else ""
            message = f"{_quoted(fact)} was superseded{by}, but is still there"
            return _removal_advice(
                fact, AdviceKind.SUPERSEDED, message, safe=state.superseded_by is not None
            )
        case Status.EXPIRED:
            return _removal_advice(
                fact,
                AdviceKind.EXPIRED,
                f"{_quoted(fact)} was valid until {fact.item.fact.until}",
                safe=True,
            )
        case _ if state.is_forgotten:
            return _removal_advice(
                fact,
                AdviceKind.FORGOTTEN,
                f"{_quoted(fact)} was forgotten, but is back",
                safe=False,
            )
        case _:
            return None


def _quoted(fact: _LocatedFact) -> str:
    return _quote(fact.item.fact.text)


def _quote(text: str) -> str:
    words = " ".join(text.split())
    return repr(words if len(words) <= _QUOTED else words[: _QUOTED - 1] + "…")


def _removal_advice(
    fact: _LocatedFact, kind: AdviceKind, message: str, safe: bool, related: tuple[FactId, ...] = ()
) -> Advice:
    file, section = fact.file, fact.section
    return Advice(
        kind=kind,
        path=file.path,
        section=section.path if section else (),
        line=fact.line,
        facts=(fact.item.fact.id, *related),
        message=message,
        command=_show_command(file.document, file.path, section),
        safe=safe,
    )


# Duplicates.


def _duplicates(located: Sequence[_LocatedFact]) -> Iterator[Advice]:
    """Facts with the id of an earlier one; in two sections they may be two facts.

    In two notes they are two: each is about its own subject.
    """
    first: dict[tuple[FactId, FilePath | None], _LocatedFact] = {}
    first_in_section: dict[tuple[FactId, tuple[FilePath, int]], _LocatedFact] = {}
    for fact in located:
        fact_id = fact.item.fact.id
        key = fact_id, fact.section_key
        if (earlier := first_in_section.get(key)) is not None:
            message = f"{_quoted(fact)} is already in line {earlier.line} of the section"
            yield _removal_advice(
                fact, AdviceKind.DUPLICATE, message, _adds_nothing(fact.item, earlier.item)
            )
        elif earlier := first.get((fact_id, fact.note)) or first.get((fact_id, None)):
            message = f"{_quoted(fact)} is also in {_where(earlier)}"
            yield _removal_advice(fact, AdviceKind.DUPLICATE, message, safe=False)
        first.setdefault((fact_id, fact.note), fact)
        first_in_section.setdefault(key, fact)


def _where(fact: _LocatedFact) -> str:
    return f"{fact.file.path}:{fact.line}"


def _adds_nothing(later: Item, first: Item) -> bool:
    """True if an item has no kind, tag, expiry, comment or block id that the first lacks."""
    text = normalise(item_text(later.raw))
    return text == normalise(item_text(first.raw)) or (
        text == normalise(later.fact.text) and later.fact.until == first.fact.until
    )


def _near_duplicates(located: Sequence[_LocatedFact]) -> Iterator[Advice]:
    """Facts that say nearly the same. Two values of one key are a contradiction instead."""
    texts = [fact.item.fact.text for fact in located]
    nearest: dict[int, tuple[float, int]] = {}
    for pair in candidate_pairs(texts, texts):
        first, second = sorted(pair)
        notes = {located[first].note, located[second].note} - {None}
        if (
            first == second
            or len(notes) > 1
            or _is_settled_by_keys(located[first], located[second])
        ):
            continue
        overlap = word_overlap(texts[first], texts[second])
        if overlap >= _NEAR:
            nearest[second] = max(nearest.get(second, (0.0, 0)), (overlap, first))
    for second, (_, first) in sorted(nearest.items()):
        later, earlier = located[second], located[first]
        message = f"{_quoted(later)} is similar to {_where(earlier)}: {_quoted(earlier)}"
        yield _removal_advice(
            later, AdviceKind.NEAR_DUPLICATE, message, safe=False, related=(earlier.item.fact.id,)
        )


def _is_settled_by_keys(left: _LocatedFact, right: _LocatedFact) -> bool:
    first, second = left.item.fact, right.item.fact
    if first.key and second.key and normalise(first.key) != normalise(second.key):
        return True
    key = first.key or second.key
    both_hold = key and all(
        fact.key or find_held_key(fact.text, {normalise(key)}) for fact in (first, second)
    )
    return bool(both_hold) and left.section_key == right.section_key


def _contradiction(conflict: ConflictView, kept: Set[str]) -> Advice:
    """Advice on two facts; no command forgets one in a line that is kept."""
    first, second = conflict.first, conflict.second
    hits = [hit for hit in (first, second) if hit.fact is not None]
    facts = tuple(hit.fact for hit in hits if hit.fact is not None)
    own = [
        hit for hit in hits if not conflict.is_of_parts and kept.isdisjoint((hit.path, hit.place))
    ]
    why = f" ({conflict.key})" if conflict.key else ""
    return Advice(
        kind=AdviceKind.CONTRADICTION,
        path=FilePath(first.path),
        section=first.section,
        line=first.start_line,
        facts=facts,
        message=(
            f"{_quote(first.text)} and {_quote(second.text)} contradict each other{why}:"
            f" {'edit' if conflict.is_of_parts else 'forget'} one, or confirm that both are true"
        ),
        command=("mdmem", "conflicts", "--resolve", *facts),
        forgets=tuple(("mdmem", "forget", hit.fact) for hit in own if hit.fact is not None),
        conflict=conflict,
    )


# Files: conflicts, old sections, too many lines.


def _in_conflict(file: CuratedFile) -> Iterator[Advice]:
    for markers in file.document.conflicts:
        yield Advice(
            kind=AdviceKind.CONFLICT_MARKERS,
            path=file.path,
            section=file.document.path_at(markers[0]),
            line=markers[0] + 1,
            facts=(),
            message="unresolved: edit the file until they are gone",
            command=("mdmem", "check"),
        )


@dataclass(frozen=True, slots=True)
class _SectionText:
    """The own text of a section. `has_text`: more than headings and comments."""

    section: Section | None
    start: int
    lines: int
    has_text: bool
    changed: date | None

    @property
    def title(self) -> str:
        return join_path(self.section.path) if self.section else "the text before the first heading"


def _section_texts(file: CuratedFile) -> Iterator[_SectionText]:
    document = file.document
    numbers: dict[SectionPath, int] = defaultdict(int)
    spans = [
        ((), None, document.front, document.preamble_end),
        *((s.path, s, s.start, s.end) for s in document.sections),
    ]
    for path, section, start, end in spans:
        numbers[path] += 1
        blocks = document.blocks_in(section.body if section else start, end)
        yield _SectionText(
            section=section,
            start=start,
            lines=sum(not is_blank(line) for line in document.lines[start:end]),
            has_text=any(block.kind is not BlockKind.HTML for block in blocks),
            changed=file.changed.get((path, numbers[path])),
        )


def _untouched(file: CuratedFile, today: date) -> Iterator[Advice]:
    for text in _section_texts(file):
        if file.read_only or not text.has_text or text.changed is None:
            continue
        age = (today - text.changed).days
        if age >= UNTOUCHED_DAYS:
            yield Advice(
                kind=AdviceKind.UNTOUCHED,
                path=file.path,
                section=text.section.path if text.section else (),
                line=text.start + 1,
                facts=(),
                message=(
                    f"{text.title} was last changed on {text.changed}, {age} days ago: is it still"
                    " true?"
                ),
                command=_show_command(file.document, file.path, text.section),
            )


def _over_budget(file: CuratedFile, budget: Budget) -> Iterator[Advice]:
    lines = len(file.document.lines)
    if file.path not in CURATED_NAMES or (lines <= budget.lines and file.size <= budget.bytes):
        return
    texts = [text for text in _section_texts(file) if text.has_text]
    largest = sorted(texts, key=lambda text: -text.lines)[:_NAMED]
    oldest = sorted(
        (text for text in texts if text.changed), key=lambda text: text.changed or date.max
    )[:_NAMED]
    sentences = [
        (
            f"{lines:,} lines and {file.size:,} bytes; its budget is {budget.lines:,} lines and"
            f" {budget.bytes:,} bytes"
        ),
        *(
            [
                "The largest sections are "
                + "; ".join(f"{text.title} ({number_of(text.lines, 'line')})" for text in largest)
            ]
            if largest
            else []
        ),
        *(
            ["The oldest are " + "; ".join(f"{text.title} ({text.changed})" for text in oldest)]
            if oldest
            else []
        ),
    ]
    yield Advice(
        kind=AdviceKind.OVER_BUDGET,
        path=file.path,
        section=(),
        line=1,
        facts=(),
        message=". ".join(sentences),
        command=("mdmem", "outline", file.path),
    )


_KINDS = (FileKind.EVERGREEN, FileKind.PROFILE)


def review(workspace: Workspace, say: Say) -> ReviewResult:
    """Advise on tidying the curated files; nothing is changed."""
    return ReviewResult(gather_advice(workspace, say), waiting=branches.waiting(workspace))


def gather_advice(workspace: Workspace, say: Say) -> tuple[Advice, ...]:
    today = workspace.now().date()
    listed = conflicts(workspace, say).conflicts
    budget = Budget(workspace.settings.budget_lines, workspace.settings.budget_bytes)
    with fresh_trail(workspace, say) as trail:
        curated = list(_curated_files(workspace, trail))
        again = {each.number for each in trail_update.here_again(workspace, trail)}
        facts = [fact for file in curated for fact in _fact_states(trail, file, again, today)]
        return find_advice(curated, facts, listed, budget, today, _linked(workspace))


def apply_safe_advice(
    workspace: Workspace, options: WriteOptions, apply: Callable[[Change], WriteResult], say: Say
) -> ReviewResult:
    """One commit each; the advice is worked out again after each."""
    done: list[tuple[Advice, WriteResult]] = []
    remaining = gather_advice(workspace, say)
    while (
        chosen := next((advice for advice in remaining if advice.safe and advice.change), None)
    ) and chosen.change:
        if any(chosen == advice for advice, _ in done):
            break  # advice that stays after it was carried out would come back for ever
        done.append((chosen, apply(replace(chosen.change, options=options))))
        remaining = gather_advice(workspace, say)
    return ReviewResult(remaining, tuple(done), branches.waiting(workspace))


# The files.


def _curated_files(workspace: Workspace, trail: Trail) -> Iterator[CuratedFile]:
    for path, listed in workspace.memory_files().items():
        if workspace.kind_of(path) not in _KINDS:
            continue
        try:
            data = files.read(listed.full_path) or b""
            document = parse_bytes(data)
        except PathProblem:
            continue
        read_only = layout.within(path, workspace.settings.extra_paths)
        changed = _last_changes(workspace, trail, path)
        yield CuratedFile(
            path=path,
            document=document,
            size=len(data),
            changed=changed,
            read_only=read_only,
            keeps_lines=workspace.is_note(path),
        )


def _linked(workspace: Workspace) -> frozenset[str]:
    """The block ids that links in memory name."""
    ids: set[str] = set()
    for listed in workspace.memory_files().values():
        with suppress(PathProblem):
            data = files.read(listed.full_path) or b""
            ids.update(_BLOCK_OF_LINK.findall(data.decode("utf-8", "replace")))
    return frozenset(ids)


def _last_changes(
    workspace: Workspace, trail: Trail, path: FilePath
) -> Mapping[tuple[SectionPath, int], date]:
    """The day each section's text last changed; moving the section does not count."""
    days: dict[tuple[SectionPath, int], date] = {}
    for revision in trail.live_revisions(path):
        (newest,) = trail.revisions(revision.lineage, 1)
        commit = trail.commit_numbered(newest.begun)
        if commit is not None:
            days[revision.section, revision.nth] = workspace.local_time(commit.time).date()
    return days


# The facts in them.


def _fact_states(
    trail: Trail, file: CuratedFile, again: Collection[int], today: date
) -> Iterator[FactState]:
    facts = [entry for entry in entries(file.document, file.path) if entry.fact is not None]
    overruled = {mark.occurrence: mark for mark in trail.overruled_marks(file.path)}
    for entry, state in zip(facts, match_entries(trail, file.path, facts)[0], strict=True):
        mark = overruled.get(state.occurrence.number) if state.occurrence else None
        is_forgotten = state.occurrence is not None and state.occurrence.number in again
        yield FactState(
            entry, _status(entry, mark, today), _current_successor(trail, mark), is_forgotten
        )


def _current_successor(trail: Trail, mark: Mark | None) -> FactId | None:
    if mark is None or mark.other is None:
        return None
    holds = any(
        each.ended is None and not trail.marks_of(each.number)
        for each in trail.occurrences_of(mark.other)
    )
    return mark.other if holds else None


def _status(entry: Entry, mark: Mark | None, today: date) -> Status:
    if mark is not None:
        return Status.SUPERSEDED
    return Status.EXPIRED if entry.until is not None and entry.until < today else Status.CURRENT
