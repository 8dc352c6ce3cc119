"""Match the entries of a merge to those of its sides: which go on, which are one, which the merge itself took out or made. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import zip_longest

from mdmem.history.entry_matches import OldEntry, entry_content
from mdmem.history.file_changes import EarlierTrail, Page
from mdmem.model import CommitId, FilePath, SectionPath, Source
from mdmem.model.trail import Entry, Fate, Occurrence, Origin, TrailCommit
from mdmem.startup.records import dataclass, field
from mdmem.trail import Ending

Order = Callable[[int], tuple[int, CommitId]]
"""Tells the place of a commit among others, by its number: its moment, then its id."""
_Identity = tuple[SectionPath, str, str]


@dataclass(frozen=True, slots=True)
class MergeParent:
    """A side of a merge: its newest commit, and the trail of its past with itself."""

    commit: TrailCommit
    trail: EarlierTrail

    def knows(self, number: int) -> bool:
        """True if a commit is in the past of this side."""
        return self.commit.reaches(number)


@dataclass(frozen=True, slots=True)
class MergeFile:
    """A memory file of a merge that several sides touched, or that the merge itself changed.

    `before` are its names on the sides. `same_as` is the first side that has the very same file (or, like the merge, none); without one,
    `page` is the merge's file, None where it has none. `page_before` reads the file of a side.
    """

    path: FilePath
    before: tuple[FilePath, ...]
    same_as: int | None
    page: Page | None
    page_before: Callable[[int], Page | None]


@dataclass(slots=True)
class EntryFates:
    """The entries of a file of a merge.

    `standing` are rows that a side had ended, `ended` what ended on a side or goes on in another row. `taken_out` is what only the merge
    has not, `new` what only the merge has.
    """

    standing: list[int] = field(default_factory=list)
    ended: list[Ending] = field(default_factory=list)
    taken_out: list[OldEntry] = field(default_factory=list)
    new: list[Entry] = field(default_factory=list)
    sides: list[Occurrence] = field(default_factory=list)
    """All that is live on any side."""


class _Matcher:
    def __init__(
        self, file: MergeFile, parents: Sequence[MergeParent], trail: EarlierTrail, order: Order, among: Collection[SectionPath]
    ) -> None:
        self._parents, self._trail, self._order = parents, trail, order
        live = [parent.trail.live_occurrences(path, among) for parent, path in zip(parents, file.before, strict=True)]
        self._holders: dict[int, set[int]] = defaultdict(set)
        self._occurrences: dict[int, Occurrence] = {}
        for side, occurrences in enumerate(live):
            for each in occurrences:
                self._holders[each.number].add(side)
                self._occurrences[each.number] = each
        names = dict.fromkeys((*file.before, file.path))
        self._live = frozenset[int]().union(*(trail.live_numbers(path, among) for path in names))
        if file.same_as is not None:
            self._entries = [each.entry for each in live[file.same_as]]
        else:
            self._entries = file.page.entries_of(among) if file.page else []
        self.fates = EntryFates(sides=list(self._occurrences.values()))

    def match(self) -> EntryFates:
        """Match the entries, those that read alike at a time."""
        entries: dict[_Identity, list[Entry]] = defaultdict(list)
        rows: dict[_Identity, list[int]] = defaultdict(list)
        for entry in self._entries:
            entries[_identity(entry)].append(entry)
        for row, occurrence in self._occurrences.items():
            rows[_identity(occurrence.entry)].append(row)
        everybody = len(self._parents)
        for identity in (*rows, *(each for each in entries if each not in rows)):
            alike, found = rows.get(identity, ()), entries.get(identity, ())
            if len(alike) == len(found) == 1 and len(self._holders[alike[0]]) == everybody and alike[0] in self._live:
                continue
            self._match_alike(sorted(alike, key=self._age), found)
        return self.fates

    def _age(self, row: int) -> tuple[tuple[int, CommitId], int]:
        return self._order(self._occurrences[row].begun), row

    def _match_alike(self, rows: Sequence[int], entries: Sequence[Entry]) -> None:
        """Match entries that read alike: what all sides have first, then what one has begun, then what one of them had ended."""
        of_all = [row for row in rows if len(self._holders[row]) == len(self._parents)]
        begun = [row for row in rows if row not in of_all and self._is_new(row) and not self._trail.stated_marks_of(row)]
        others = [row for row in rows if row not in of_all and row not in begun]
        if len(entries) >= len(rows):
            lives = [[row] for row in rows]
        else:
            lives = [*([row] for row in of_all), *self._joined(begun, len(entries) - len(of_all)), *([row] for row in others)]
        for life in lives[: len(entries)]:
            self._go_on(life)
        for row in (row for life in lives[len(entries) :] for row in life):
            self._end(row)
        self.fates.new += entries[len(lives) :]

    def _is_new(self, row: int) -> bool:
        """True if no side that has not got an occurrence ever knew it."""
        begun = self._occurrences[row].begun
        return not any(parent.knows(begun) for side, parent in enumerate(self._parents) if side not in self._holders[row])

    def _joined(self, rows: Sequence[int], count: int) -> list[list[int]]:
        """Join occurrences that sides brought in, so that as many lives as `count` are left if that can be."""
        of_side: dict[frozenset[int], list[int]] = defaultdict(list)
        for row in rows:
            of_side[frozenset(self._holders[row])].append(row)
        lives = [[row for row in life if row is not None] for life in zip_longest(*of_side.values())]
        while len(lives) < count and (long := next((life for life in reversed(lives) if len(life) > 1), None)):
            lives.append([long.pop()])
        return [sorted(life, key=self._age) for life in lives]

    def _go_on(self, life: Sequence[int]) -> None:
        """Have one occurrence go on, with those that are joined to it; a better founded one confirms it."""
        first, *others = life
        for other in others:
            before, after = self._occurrences[first], self._occurrences[other]
            if _rank(after.origin) > _rank(before.origin):
                self.fates.ended.append(Ending(number=first, entry=before.entry, fate=Fate.MOVED, by=after.begun))
                first = other
            else:
                self.fates.ended.append(Ending(number=other, entry=after.entry, fate=Fate.JOINED, by=before.begun))
        if first not in self._live:
            self.fates.standing.append(first)
        for row in life:
            self._keep_predecessor(self._occurrences[row])

    def _end(self, row: int) -> None:
        """End an occurrence that the merge has not: as a side ended it, else as the merge's own doing."""
        occurrence = self._occurrences[row]
        if row not in self._live:
            return
        marks = self._trail.stated_marks_of(row)
        if marks:
            self.fates.ended.append(Ending(number=row, entry=occurrence.entry, fate=Fate.REMOVED, by=marks[0].begun))
        elif (end := self._end_elsewhere(occurrence)) is not None:
            self.fates.ended.append(end)
        else:
            self.fates.taken_out.append(OldEntry(occurrence.entry, occurrence, occurrence.entry.section))

    def _end_elsewhere(self, occurrence: Occurrence) -> Ending | None:
        """The end that a side gave to an occurrence, or to what it was on that side."""
        for earlier in (occurrence, self._predecessor(occurrence)):
            if earlier is None:
                continue
            ends = [each for each in self._versions(earlier) if each.ended is not None and each.fate is not Fate.MOVED]
            if ends:
                first = min(ends, key=lambda each: self._order(each.ended or 0))
                assert first.ended is not None
                is_before = self._order(first.ended) < self._order(occurrence.begun)
                fate = Fate.JOINED if is_before or first.fate is None else first.fate
                return Ending(number=occurrence.number, entry=occurrence.entry, fate=fate, successor=first.successor, by=first.ended)
        return None

    def _versions(self, occurrence: Occurrence) -> Iterator[Occurrence]:
        """An occurrence as each side knows it."""
        for parent in self._parents:
            if occurrence.entry.fact is not None and parent.knows(occurrence.begun):
                known = parent.trail.occurrences_of(occurrence.entry.fact)
                yield from (each for each in known if each.number == occurrence.number)

    def _predecessor(self, occurrence: Occurrence) -> Occurrence | None:
        """The occurrence that moved to become another one, on the side that has that."""
        fact, sides = occurrence.entry.fact, self._holders[occurrence.number]
        if fact is None or not self._is_new(occurrence.number):
            return None
        known = (each for side in sides for each in self._parents[side].trail.occurrences_of(fact))
        return next((each for each in known if each.fate is Fate.MOVED and each.ended == occurrence.begun), None)

    def _keep_predecessor(self, occurrence: Occurrence) -> None:
        """Have what became an occurrence end with that, though another side ended it otherwise."""
        before = self._predecessor(occurrence)
        if before is None:
            return
        versions = list(self._versions(before))
        if any(each.ended is not None and each.fate is not Fate.MOVED for each in versions):
            self.fates.ended.append(Ending(number=before.number, entry=before.entry, fate=Fate.MOVED, by=occurrence.begun))


def match_entries(
    file: MergeFile, parents: Sequence[MergeParent], trail: EarlierTrail, order: Order, among: Collection[SectionPath]
) -> EntryFates:
    """Match the entries of a merge's file to what is live on its sides.

    Args:
        file: the file.
        parents: the sides.
        trail: of the past of all of them.
        order: tells which of two commits is the earlier.
        among: the sections that differ between any two of them.
    """
    return _Matcher(file, parents, trail, order, among).match()


def same_content(old: OldEntry) -> tuple[SectionPath, object]:
    """The section and the fact or text of an entry that the merge has not got."""
    return old.section, entry_content(old.entry)


def _identity(entry: Entry) -> _Identity:
    return entry.section, entry.text, entry.first_line


def _rank(origin: Origin) -> tuple[int, float, bool]:
    """The rank of an origin: the better founded is the greater."""
    is_own_word = origin.source is Source.USER_STATED and origin.claimed_by is None
    return origin.source.strength, origin.confidence, is_own_word
