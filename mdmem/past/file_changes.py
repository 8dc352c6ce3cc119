"""The memory files that a commit changed: sections that differ, entries that continue, and the
chains of facts that replaced each other. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise, zip_longest
from typing import TYPE_CHECKING

from mdmem.editors.fact_difference import successors
from mdmem.editors.pairs import pair_by_key
from mdmem.editors.sections import SectionPart, became, ranges_to_match, under_paths, whole_range
from mdmem.model import PATH_SEPARATOR, Fact, FactId, FilePath, SectionPath, Status
from mdmem.model.trail import (
    CLOSING_MARKS,
    Entry,
    Fate,
    MarkKind,
    Occurrence,
    Origin,
    Revision,
    TrailCommit,
)
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import Document, common_ends
from mdmem.text.facts import (
    Item,
    entries,
    is_field,
    is_nested,
    is_row,
    line_id,
    normalise_key,
    own_words,
    parse_text,
)

if TYPE_CHECKING:
    from mdmem.past.line import EarlierTrail
    from mdmem.past.table import Trail

_Location = tuple[FilePath, SectionPath]
_Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A period in which a fact was in one place, moves included.

    `entry` and `origin` are those of its last line; `also` brought that in on other sides. `end` is
    None for what is still there. Expiry is not judged here: an expired fact is current.
    """

    id: FactId
    entry: Entry
    origin: Origin
    start: TrailCommit
    end: TrailCommit | None
    status: Status
    also: tuple[TrailCommit, ...] = ()


def fact_chain(
    fact: FactId, trail: Trail, among: Collection[int] | None = None, nested: bool = False
) -> tuple[ChainLink, ...]:
    """Follow a fact to what it replaced and what replaced it, and so on; oldest first.

    `among` are the numbers of the occurrences to start from (None: all of the fact). `nested`: of
    an item in another one, by its `line_id`.
    """
    builder = _ChainBuilder(trail, nested)
    waiting = [
        run
        for run in builder.runs(fact)
        if among is None or any(each.number in among for each in run.occurrences)
    ]
    chain: dict[_Key, _OccurrenceRun] = {}
    while waiting:
        run = waiting.pop()
        if run.key not in chain:
            chain[run.key] = run
            waiting += [*builder.successors(run), *builder.predecessors(run)]
    return tuple(builder.link(chain[key]) for key in sorted(chain))


def field_chain(key: str, path: FilePath, trail: Trail) -> tuple[ChainLink, ...]:
    """The values of a field of a note, oldest first."""
    name, builder = normalise_key(key), _ChainBuilder(trail, nested=False)
    own = [
        each
        for each in trail.occurrences_in(path)
        if is_field(each.entry)
        and normalise_key(each.entry.key or "") == name
        and each.fate is not Fate.JOINED
    ]
    links = list(map(builder.link, builder.sorted_runs(own)))
    return tuple(
        replace(link, status=Status.SUPERSEDED) if link.end and after else link
        for link, after in zip_longest(links, links[1:])
    )


@dataclass(frozen=True, slots=True)
class _OccurrenceRun:
    """Occurrences that moved into each other. `begun` and `over` are ranks, `ended` is a commit."""

    occurrences: tuple[Occurrence, ...]
    begun: int
    ended: int | None
    over: int | None
    status: Status
    successor: FactId | None

    @property
    def key(self) -> _Key:
        return self.begun, self.occurrences[0].number

    @property
    def location(self) -> _Location:
        return _location(self.occurrences[-1])


class _ChainBuilder:
    def __init__(self, trail: Trail, nested: bool) -> None:
        self._trail, self._nested = trail, nested
        self._runs: dict[FactId, list[_OccurrenceRun]] = {}
        self._ranks: Mapping[int, int] = {}

    def _rank(self, number: int) -> int:
        if number not in self._ranks:
            self._ranks = {**self._ranks, **self._trail.ranks({number})}
        return self._ranks[number]

    def runs(self, fact: FactId) -> list[_OccurrenceRun]:
        if fact not in self._runs:
            every = self._trail.occurrences_of(fact, self._nested)
            self._runs[fact] = self.sorted_runs(
                each for each in every if each.fate is not Fate.JOINED
            )
        return self._runs[fact]

    def sorted_runs(self, own: Iterable[Occurrence]) -> list[_OccurrenceRun]:
        return sorted(map(self._run, joined_by_moves(own)), key=lambda run: run.key)

    def _run(self, occurrences: Sequence[Occurrence]) -> _OccurrenceRun:
        last = occurrences[-1]
        marks = [mark for each in occurrences for mark in self._trail.marks_of(each.number)]
        closing = [mark for mark in marks if mark.kind in CLOSING_MARKS]
        if closing:
            first = min(closing, key=lambda mark: self._rank(mark.begun))
            status = Status.SUPERSEDED if first.kind is MarkKind.SUPERSEDED else Status.REMOVED
            return self._new_run(occurrences, first.begun, status, first.other)
        if last.ended is None:
            return self._new_run(occurrences, None, Status.CURRENT, None)
        status = Status.SUPERSEDED if last.fate is Fate.SUPERSEDED else Status.REMOVED
        return self._new_run(occurrences, last.ended, status, last.successor)

    def _new_run(
        self,
        occurrences: Sequence[Occurrence],
        ended: int | None,
        status: Status,
        successor: FactId | None,
    ) -> _OccurrenceRun:
        return _OccurrenceRun(
            occurrences=tuple(occurrences),
            begun=self._rank(occurrences[0].begun),
            ended=ended,
            over=None if ended is None else self._rank(ended),
            status=status,
            successor=successor,
        )

    def successors(self, run: _OccurrenceRun) -> list[_OccurrenceRun]:
        """The run that replaced a run: current when that ended, the same section first."""
        if run.successor is None or run.over is None:
            return []
        over, candidates = (
            run.over,
            [each for each in self.runs(run.successor) if each.key != run.key],
        )
        holding = [
            each
            for each in candidates
            if each.begun <= over and (each.over is None or each.over > over)
        ]
        if holding:
            return [
                max(
                    holding,
                    key=lambda each: (
                        each.location == run.location,
                        each.location[0] == run.location[0],
                        each.key,
                    ),
                )
            ]
        return [each for each in candidates if each.begun > over][:1] or candidates[-1:]

    def predecessors(self, run: _OccurrenceRun) -> list[_OccurrenceRun]:
        before = self._trail.predecessors_of(self._id(run.occurrences[0]))
        facts = {self._id(each) for each in before if (each.entry.fact is None) == self._nested}
        candidates = [each for fact in facts for each in self.runs(fact)]
        return [
            each
            for each in candidates
            if any(successor.key == run.key for successor in self.successors(each))
        ]

    def link(self, run: _OccurrenceRun) -> ChainLink:
        last = run.occurrences[-1]
        return ChainLink(
            id=self._id(last),
            entry=last.entry,
            origin=last.origin,
            start=self._commit(run.occurrences[0].begun),
            end=self._commit(run.ended) if run.ended is not None else None,
            status=run.status,
            also=self._other_origins(run),
        )

    def _id(self, occurrence: Occurrence) -> FactId:
        entry = occurrence.entry
        return entry.fact or line_id(entry) or FactId("")

    def _other_origins(self, run: _OccurrenceRun) -> tuple[TrailCommit, ...]:
        """The commits that brought the line in on other sides than its own, earliest first."""
        last = run.occurrences[-1]
        pairs = [
            (self._commit(before.begun), self._commit(after.begun))
            for before, after in pairwise(run.occurrences)
        ]
        confirmed = [before for before, after in pairs if not after.reaches(before.number)]
        begun = {each.begun for each in run.occurrences}
        same = self._trail.occurrences_of(self._id(last), self._nested)
        joined = [
            self._commit(each.begun)
            for each in same
            if each.fate is Fate.JOINED and each.ended in begun and _location(each) == run.location
        ]
        also = {
            each.number: each for each in (*confirmed, *joined) if each.commit != last.origin.commit
        }
        return tuple(sorted(also.values(), key=lambda each: (each.moment, each.commit)))

    def _commit(self, number: int) -> TrailCommit:
        commit = self._trail.commit_numbered(number)
        assert commit is not None  # occurrences and marks begin and end with a commit of the trail
        return commit


def _location(occurrence: Occurrence) -> _Location:
    return occurrence.entry.path, occurrence.entry.section


def joined_by_moves(occurrences: Iterable[Occurrence]) -> list[list[Occurrence]]:
    """Group the occurrences of one fact: each goes behind the one that moved to become it."""
    every = list(occurrences)
    before: dict[int, Occurrence] = {}
    moved = [each for each in every if each.fate is Fate.MOVED]
    for occurrence in every:
        origins = [
            each for each in moved if each.ended == occurrence.begun and each is not occurrence
        ]
        if origins:
            nearest = max(origins, key=lambda each: _nearness(each, occurrence))
            before[occurrence.number] = nearest
            moved.remove(nearest)
    after = {earlier.number: later for later in every if (earlier := before.get(later.number))}
    groups = []
    for first in (each for each in every if each.number not in before):
        group = [first]
        while (following := after.get(group[-1].number)) is not None:
            group.append(following)
        groups.append(group)
    return groups


def _nearness(first: Occurrence, second: Occurrence) -> int:
    """2 in one section of one file, 1 in one file or in sections of one path, else 0."""
    if _location(first) == _location(second):
        return 2
    return int(first.entry.path == second.entry.path or first.entry.section == second.entry.section)


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A file in one commit; `tags` are the file's own, `daily` names the logs, if settings do."""

    document: Document
    path: FilePath
    tags: tuple[str, ...] = ()
    daily: str | None = None

    def entries(self, start: int = 0, end: int | None = None) -> tuple[Entry, ...]:
        """The entries of all lines, or of those from `start` up to `end`, counted from 0."""
        return entries(self.document, self.path, self.tags, start, end, self.daily, nested=True)

    def entries_of(self, sections: Collection[SectionPath]) -> list[Entry]:
        """The entries of some sections, in the order of the file."""
        own = [section for section in self.document.sections if section.path in sections]
        ranges = [(0, self.document.preamble_end)] if () in sections else []
        ranges += [(section.start, section.end) for section in own]
        return [
            entry
            for start, end in ranges
            for entry in self.entries(start, end)
            if entry.section in sections
        ]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A memory file before and after a commit; None where the commit has no such file."""

    path: FilePath
    before_path: FilePath
    before: FileVersion | None
    after: FileVersion | None

    @property
    def is_renamed(self) -> bool:
        return self.path != self.before_path


@dataclass(frozen=True, slots=True)
class ChangedSections:
    """The sections of a file that differ, before and after, with their lines (from 0).

    `continuation` has the section that each old one became, by its old position.
    """

    old: tuple[SectionPart, ...]
    new: tuple[SectionPart, ...]
    continuation: Mapping[int, SectionPart]
    old_lines: tuple[int, int]
    new_lines: tuple[int, int]

    @classmethod
    def of(cls, change: FileChange) -> ChangedSections:
        before = change.before.document if change.before else None
        after = change.after.document if change.after else None
        old, new = (
            (whole_range(before), whole_range(after))
            if change.is_renamed
            else ranges_to_match(before, after)
        )
        around = old.around() | new.around()
        old_parts, new_parts = old.parts(around), new.parts(around)
        return cls(
            old=tuple(filter(old.holds, old_parts.sections)),
            new=tuple(filter(new.holds, new_parts.sections)),
            continuation={
                old_parts.sections[before].position: new_parts.sections[after]
                for before, after in became(old_parts, new_parts).items()
            },
            old_lines=old.lines,
            new_lines=new.lines,
        )

    @property
    def paths(self) -> set[SectionPath]:
        return {part.path for part in (*self.old, *self.new)}

    @property
    def new_paths(self) -> dict[int, SectionPath]:
        return {position: part.path for position, part in self.continuation.items()}

    def renamed(self, before: Document) -> Document:
        """The old document with its sections under the paths that they have in the new one."""
        return under_paths(before, self.new_paths)


def changed_revisions(
    number: int, change: FileChange, sections: ChangedSections, trail: EarlierTrail
) -> tuple[list[int], list[Revision]]:
    """The rows of a file's revisions that commit `number` ended, and the revisions it began."""
    paths = {part.path for part in sections.old}
    rows = (
        {(row.section, row.nth): row for row in trail.live_revisions(change.before_path, paths)}
        if paths
        else {}
    )
    old = {part.position: row for part in sections.old if (row := rows.get((part.path, part.nth)))}
    previous = {
        part.position: old[position]
        for position, part in sections.continuation.items()
        if position in old
    }
    ended = {row.number for row in old.values()}
    begun = []
    is_first = number == 1  # nothing comes before it; it often has most of memory
    for part in sections.new:
        before = previous.get(part.position)
        if before is None and part.text and not is_first:
            before = trail.last_revision(change.path, part.path, part.nth)
        if (
            before
            and before.number in ended
            and (before.path, before.section, before.nth, before.text)
            == (change.path, part.path, part.nth, part.text)
        ):
            ended.discard(before.number)
        elif part.text:
            revision = Revision(
                lineage=before.lineage if before else 0,
                begun=number,
                path=change.path,
                section=part.path,
                nth=part.nth,
                text=part.text,
                unchanged_text=part.position in previous
                and before is not None
                and before.text == part.text,
                previous=(before.number,) if before else (),
            )
            begun.append(revision)
    return sorted(ended), begun


_MOST_COMPARED = 200
"""Characters of a text that are compared with what may have replaced it."""
_FEW = 16
"""With more lines than this for each changed entry, the trail is asked for these alone."""


@dataclass(frozen=True, slots=True)
class OldEntry:
    """An entry that changed: its live occurrence, and the present path of its section."""

    entry: Entry
    occurrence: Occurrence
    section: SectionPath


@dataclass(frozen=True, slots=True)
class MovedEntry:
    """An entry that continues elsewhere or in other words; the flags tell what is the same."""

    old: OldEntry
    entry: Entry
    same_line: bool
    same_section: bool


@dataclass(slots=True)
class EntryMatches:
    """The entries of one file by their fate; unmatched ones have no counterpart there."""

    change: FileChange
    sections: ChangedSections
    moved: list[MovedEntry]
    unmatched_old: list[OldEntry]
    unmatched_new: list[Entry]
    old: Sequence[Entry] = ()
    new: Sequence[Entry] = ()
    """All entries where the file differs."""


def match_in_file(
    change: FileChange, sections: ChangedSections, trail: EarlierTrail
) -> EntryMatches:
    """Match within one file: by section, text and first line, then by section and fact."""
    old = change.before.entries(*sections.old_lines) if change.before else ()
    new = change.after.entries(*sections.new_lines) if change.after else ()
    if old and new and not change.is_renamed:
        start, end = common_ends(list(map(entry_identity, old)), list(map(entry_identity, new)))
        old, new = old[start : len(old) - end], new[start : len(new) - end]
    section_now = _section_names(change, sections)
    pairs, old_rest, new_rest = pair_by_key(
        old, new, lambda entry: (section_now(entry), entry.text, entry.first_line), entry_identity
    )
    more, old_rest, new_rest = pair_by_key(old_rest, new_rest, entry_identity, entry_identity)
    same_line = [
        (before, after)
        for before, after in (*pairs, *more)
        if change.is_renamed or before.section != after.section
    ]
    rewritten, old_rest, new_rest = pair_by_key(
        old_rest,
        new_rest,
        lambda entry: (section_now(entry), entry_content(entry)),
        lambda entry: (entry.section, entry_content(entry)),
    )
    ended = sorted(
        [*old_rest, *(before for before, _ in (*same_line, *rewritten))],
        key=lambda entry: entry.start_line,
    )
    occurrences = _live_occurrences(ended, change, trail)
    by_line = {
        line: OldEntry(entry, occurrence, section_now(entry))
        for line, (entry, occurrence) in occurrences.items()
    }
    moved = [
        MovedEntry(by_line[line_and_key(before)], after, True, True)
        for before, after in same_line
        if line_and_key(before) in by_line
    ]
    moved += [
        # the line of a nested item is the same below other words
        MovedEntry(
            by_line[line_and_key(before)],
            after,
            before.fact is None and before.first_line == after.first_line,
            True,
        )
        for before, after in rewritten
        if line_and_key(before) in by_line
    ]
    return EntryMatches(
        change=change,
        sections=sections,
        moved=moved,
        unmatched_old=[by_line[at] for each in old_rest if (at := line_and_key(each)) in by_line],
        unmatched_new=new_rest,
        old=old,
        new=new,
    )


def match_across(files: Sequence[EntryMatches]) -> None:
    """Match by text what one section lost with what another got: in each file, then among all."""
    for file in files:
        pairs, file.unmatched_old, file.unmatched_new = pair_by_key(
            file.unmatched_old, file.unmatched_new, _old_content, entry_content
        )
        file.moved += [MovedEntry(old, entry, False, False) for old, entry in pairs]
    pairs, _, _ = pair_by_key(
        [old for file in files for old in file.unmatched_old],
        [entry for file in files for entry in file.unmatched_new],
        _old_content,
        entry_content,
    )
    if not pairs:
        return
    matched = {old.occurrence.number for old, _ in pairs}
    came_from = {(entry.path, line_and_key(entry)): old for old, entry in pairs}
    for file in files:
        file.unmatched_old = [
            old for old in file.unmatched_old if old.occurrence.number not in matched
        ]
        candidates, file.unmatched_new = file.unmatched_new, []
        for entry in candidates:
            old = came_from.get((entry.path, line_and_key(entry)))
            if old:
                file.moved.append(MovedEntry(old, entry, False, False))
            else:
                file.unmatched_new.append(entry)


def replaced_entries(file: EntryMatches, is_stated: bool) -> Iterator[tuple[OldEntry, Entry]]:
    """Entries that are no facts, each with the one that took its place as facts do (`successors`).

    A nested item is replaced in the item around it, or where that has other words now; a row by
    one with its first cell, if any. `is_stated`: what an item became is stated, alike or not.
    """
    olds = {entry_identity(old.entry): old for old in file.unmatched_old if not old.entry.fact}
    news = {entry_identity(entry): entry for entry in file.unmatched_new if not entry.fact}
    if not (olds and news):
        return
    cells = set(map(_first_cell, (old.entry for old in olds.values())))
    cells &= set(map(_first_cell, news.values()))
    sections, section_now = file.sections, _section_names(file.change, file.sections)
    parents = set[str]()
    if any(is_nested(old.entry) for old in olds.values()):
        parents |= _parents(file.change.before, sections.old_lines)
        parents &= _parents(file.change.after, sections.new_lines)
    before = _by_place(file.old, section_now, cells, parents)
    after = _by_place(file.new, lambda entry: entry.section, cells, parents)
    for place, items in before.items():
        for item, successor in successors(items, after.get(place, ()), is_stated):
            old = olds.get(entry_identity(file.old[item.start]))
            new = news.get(entry_identity(file.new[successor.start]))
            if old and new:
                yield old, new


def _first_cell(entry: Entry) -> str:
    return entry.first_line.strip("| \t").partition("|")[0].strip() if is_row(entry) else ""


def _words_around(entry: Entry) -> str:
    return entry.text.removesuffix(own_words(entry))


def _parents(version: FileVersion | None, lines: tuple[int, int]) -> set[str]:
    """The words of the items around nested ones."""
    return set(map(_words_around, filter(is_nested, version.entries(*lines) if version else ())))


def _by_place(
    entries: Sequence[Entry],
    section_of: Callable[[Entry], SectionPath],
    cells: Collection[str],
    parents: Collection[str],
) -> dict[Hashable, list[Item]]:
    """The entries that are no facts, by what is around them, as items with their positions.

    The words around an item count where both versions have them (`parents`).
    """
    places: dict[Hashable, list[Item]] = {}
    for position, entry in enumerate(entries):
        if entry.fact is not None:
            continue
        own, cell = own_words(entry), _first_cell(entry)
        around, fact = "", Fact(id=FactId(own), text=own[:_MOST_COMPARED])
        if is_nested(entry):
            words, fact = _words_around(entry), parse_text(own)
            around = words if words in parents else PATH_SEPARATOR
        elif cell:
            around = "|"
            if cell in cells:
                text = f"{cell}: {own.strip('| ').removeprefix(cell)}"
                fact = Fact(id=FactId(own), text=text, key=cell)
        item = Item(fact=fact, start=position, end=position + 1, raw=own)
        places.setdefault((section_of(entry), around), []).append(item)
    return places


def entry_identity(entry: Entry) -> tuple[SectionPath, str, str]:
    """The parts by which an entry of a file is the same in two commits."""
    return entry.section, entry.text, entry.first_line


def line_and_key(entry: Entry) -> tuple[int, str | None]:
    """The place of an entry in its file, also of a field in the line of another one."""
    return entry.start_line, entry.key if is_field(entry) else None


def entry_content(entry: Entry) -> tuple[FactId | None, str]:
    """The key by which an entry is found again elsewhere: its fact, else its own text."""
    return entry.fact, "" if entry.fact else own_words(entry)


def _old_content(old: OldEntry) -> tuple[FactId | None, str]:
    return entry_content(old.entry)


def _section_names(change: FileChange, sections: ChangedSections) -> Callable[[Entry], SectionPath]:
    new_paths = sections.new_paths

    def section_now(entry: Entry) -> SectionPath:
        section = change.before.document.section_at(entry.start_line - 1) if change.before else None
        return new_paths.get(section.index + 1, entry.section) if section else entry.section

    return section_now


def _live_occurrences(
    entries: Sequence[Entry], change: FileChange, trail: EarlierTrail
) -> dict[tuple[int, str | None], tuple[Entry, Occurrence]]:
    occurrences = _candidates(
        entries,
        change.before_path,
        len(change.before.document.lines) if change.before else 0,
        trail,
    )
    equal: dict[Hashable, list[Occurrence]] = {}
    for occurrence in occurrences:
        equal.setdefault(entry_identity(occurrence.entry), []).append(occurrence)
    by_line = {}
    for entry in reversed(entries):
        group = equal.get(entry_identity(entry))
        if group:
            by_line[line_and_key(entry)] = entry, group.pop()
    return by_line


def _candidates(
    entries: Sequence[Entry], path: FilePath, lines: int, trail: EarlierTrail
) -> Iterable[Occurrence]:
    """The live occurrences in a file; only of the entries' facts where few changed."""
    if len(entries) * _FEW < lines and all(entry.fact for entry in entries):
        facts = {entry.fact for entry in entries if entry.fact}
        every = chain.from_iterable(map(trail.occurrences_of, facts))
        return [
            occurrence
            for occurrence in every
            if occurrence.ended is None and occurrence.entry.path == path
        ]
    return trail.live_occurrences(path) if entries else ()
