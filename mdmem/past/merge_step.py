"""Turn a merge into a step of the trail: only what no side had done already is its own. Pure.

What it has goes on as it began, on whichever side; what it lacks ended as a side ended it. The
same line brought in on two sides is one, begun by the earlier. Its own doing is what none of its
sides has, and the removal of what all had that could have it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from mdmem.editors.pairs import pair_by_key
from mdmem.editors.sections import SectionParts
from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.model.trail import Entry, Fate, Mark, MarkKind, Occurrence, Origin, Revision, TrailCommit
from mdmem.past.copies import merge_contradictions
from mdmem.past.file_changes import (
    ChangedSections,
    EntryMatches,
    FileChange,
    FileVersion,
    MovedEntry,
    OldEntry,
    entry_content,
    entry_identity,
)
from mdmem.past.replay import CombinedLine, StepBuilder, step_builder
from mdmem.past.steps import Ending, Step
from mdmem.startup.records import dataclass, field, replace
from mdmem.text.document import split_lines
from mdmem.text.facts import line_id

if TYPE_CHECKING:
    from mdmem.past.line import EarlierTrail

Order = Callable[[int], tuple[int, CommitId]]
"""A commit's place among others, by its number: its moment, then its id."""
_Identity = tuple[SectionPath, str, str]


@dataclass(frozen=True, slots=True)
class MergeParent:
    """A side of a merge: its newest commit, and the trail of its past with itself."""

    commit: TrailCommit
    trail: EarlierTrail

    def knows(self, number: int) -> bool:
        return self.commit.reaches(number)


@dataclass(frozen=True, slots=True)
class MergeFile:
    """A memory file of a merge that several sides touched, or that the merge itself changed.

    `before` are its names on the sides. `same_as` is the first side with the very same file;
    without one, `page` is the merge's file. `page_before` reads the file of a side.
    """

    path: FilePath
    before: tuple[FilePath, ...]
    same_as: int | None
    page: FileVersion | None
    page_before: Callable[[int], FileVersion | None]


@dataclass(slots=True)
class EntryFates:
    """The fates of entries in a file of a merge, by rows.

    `restored` a side had ended, `ended` ended on a side or goes on in another row, `taken_out` only
    the merge lacks, `new` only the merge has.
    """

    restored: list[int] = field(default_factory=list)
    ended: list[Ending] = field(default_factory=list)
    taken_out: list[OldEntry] = field(default_factory=list)
    new: list[Entry] = field(default_factory=list)
    sides: list[Occurrence] = field(default_factory=list)
    """All that is live on any side."""


class _KnownFact:
    """The occurrences of a fact: by their numbers, and the first that each commit moved."""

    def __init__(self, occurrences: Iterable[Occurrence]) -> None:
        self.numbered: dict[int, list[Occurrence]] = defaultdict(list)
        self.moved_by: dict[int, Occurrence] = {}
        for each in occurrences:
            self.numbered[each.number].append(each)
            if each.fate is Fate.MOVED and each.ended is not None:
                self.moved_by.setdefault(each.ended, each)


class _Matcher:
    """Matches a merge's entries to its sides'; sections `among` these differ between any two."""

    def __init__(
        self,
        file: MergeFile,
        parents: Sequence[MergeParent],
        trail: EarlierTrail,
        order: Order,
        among: Collection[SectionPath],
    ) -> None:
        self._parents, self._trail, self._order = parents, trail, order
        live = [
            parent.trail.live_occurrences(path, among)
            for parent, path in zip(parents, file.before, strict=True)
        ]
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
        self._known: dict[tuple[int, FactId, bool], _KnownFact] = {}
        """A side's occurrences of facts, read once: of equal lines each asks for all."""

    def match(self) -> EntryFates:
        entries: dict[_Identity, list[Entry]] = defaultdict(list)
        rows: dict[_Identity, list[int]] = defaultdict(list)
        for entry in self._entries:
            entries[entry_identity(entry)].append(entry)
        for row, occurrence in self._occurrences.items():
            rows[entry_identity(occurrence.entry)].append(row)
        everybody = len(self._parents)
        for identity in (*rows, *(each for each in entries if each not in rows)):
            alike, found = rows.get(identity, ()), entries.get(identity, ())
            if (
                len(alike) == len(found) == 1
                and len(self._holders[alike[0]]) == everybody
                and alike[0] in self._live
            ):
                continue
            self._match_alike(sorted(alike, key=self._age), found)
        return self.fates

    def _age(self, row: int) -> tuple[tuple[int, CommitId], int]:
        return self._order(self._occurrences[row].begun), row

    def _match_alike(self, rows: Sequence[int], entries: Sequence[Entry]) -> None:
        """Match equal entries: first what all sides have, then what one began, then ended."""
        of_all = [row for row in rows if len(self._holders[row]) == len(self._parents)]
        of_some = [row for row in rows if len(self._holders[row]) != len(self._parents)]
        begun = [
            row for row in of_some if self._is_new(row) and not self._trail.stated_marks_of(row)
        ]
        taken = frozenset(begun)
        others = [row for row in of_some if row not in taken]
        if len(entries) >= len(rows):
            lives = [[row] for row in rows]
        else:
            lives = [
                *([row] for row in of_all),
                *self._joined(begun, len(entries) - len(of_all)),
                *([row] for row in others),
            ]
        for life in lives[: len(entries)]:
            self._continue_life(life)
        for row in (row for life in lives[len(entries) :] for row in life):
            self._end(row)
        self.fates.new += entries[len(lives) :]

    def _is_new(self, row: int) -> bool:
        """True if no side that lacks an occurrence ever knew it."""
        begun = self._occurrences[row].begun
        return not any(
            parent.knows(begun)
            for side, parent in enumerate(self._parents)
            if side not in self._holders[row]
        )

    def _joined(self, rows: Sequence[int], count: int) -> list[list[int]]:
        """Join occurrences that sides brought in, to as many lives as `count` if possible."""
        of_side: dict[frozenset[int], list[int]] = defaultdict(list)
        for row in rows:
            of_side[frozenset(self._holders[row])].append(row)
        lives = [
            [row for row in life if row is not None] for life in zip_longest(*of_side.values())
        ]
        while len(lives) < count and (
            long := next((life for life in reversed(lives) if len(life) > 1), None)
        ):
            lives.append([long.pop()])
        return [sorted(life, key=self._age) for life in lives]

    def _continue_life(self, life: Sequence[int]) -> None:
        """Continue one of the joined occurrences; a better founded one confirms it."""
        first, *others = life
        for other in others:
            before, after = self._occurrences[first], self._occurrences[other]
            if _rank(after.origin) > _rank(before.origin):
                self.fates.ended.append(
                    Ending(number=first, entry=before.entry, fate=Fate.MOVED, by=after.begun)
                )
                first = other
            else:
                self.fates.ended.append(
                    Ending(number=other, entry=after.entry, fate=Fate.JOINED, by=before.begun)
                )
        if first not in self._live:
            self.fates.restored.append(first)
        for row in life:
            self._keep_predecessor(self._occurrences[row])

    def _end(self, row: int) -> None:
        """End what the merge lacks: as a side ended it, else as the merge's own doing."""
        occurrence = self._occurrences[row]
        if row not in self._live:
            return
        marks = self._trail.stated_marks_of(row)
        if marks:
            self.fates.ended.append(
                Ending(number=row, entry=occurrence.entry, fate=Fate.REMOVED, by=marks[0].begun)
            )
        elif (end := self._end_elsewhere(occurrence)) is not None:
            self.fates.ended.append(end)
        else:
            self.fates.taken_out.append(
                OldEntry(occurrence.entry, occurrence, occurrence.entry.section)
            )

    def _end_elsewhere(self, occurrence: Occurrence) -> Ending | None:
        for earlier in (occurrence, self._predecessor(occurrence)):
            if earlier is None:
                continue
            ends = [
                each
                for each in self._versions(earlier)
                if each.ended is not None and each.fate is not Fate.MOVED
            ]
            if ends:
                first = min(ends, key=lambda each: self._order(each.ended or 0))
                assert first.ended is not None
                is_before = self._order(first.ended) < self._order(occurrence.begun)
                fate = Fate.JOINED if is_before or first.fate is None else first.fate
                return Ending(
                    number=occurrence.number,
                    entry=occurrence.entry,
                    fate=fate,
                    successor=first.successor,
                    by=first.ended,
                )
        return None

    def _versions(self, occurrence: Occurrence) -> Iterator[Occurrence]:
        for side, parent in enumerate(self._parents):
            if parent.knows(occurrence.begun) and (known := self._known_of(side, occurrence)):
                yield from known.numbered[occurrence.number]

    def _predecessor(self, occurrence: Occurrence) -> Occurrence | None:
        if not self._is_new(occurrence.number):
            return None
        sides = self._holders[occurrence.number]
        known = filter(None, (self._known_of(side, occurrence) for side in sides))
        moved = (each.moved_by.get(occurrence.begun) for each in known)
        return next(filter(None, moved), None)

    def _known_of(self, side: int, occurrence: Occurrence) -> _KnownFact | None:
        """Look up what a side knows of a fact or a nested item."""
        fact, nested = occurrence.entry.fact, line_id(occurrence.entry)
        name = fact or nested
        if name is None:
            return None
        if (side, name, fact is None) not in self._known:
            self._known[side, name, fact is None] = _KnownFact(
                self._parents[side].trail.occurrences_of(name, fact is None)
            )
        return self._known[side, name, fact is None]

    def _keep_predecessor(self, occurrence: Occurrence) -> None:
        """Have what became an occurrence end with that, though another side ended it otherwise."""
        before = self._predecessor(occurrence)
        if before is None:
            return
        versions = list(self._versions(before))
        if any(each.ended is not None and each.fate is not Fate.MOVED for each in versions):
            self.fates.ended.append(
                Ending(
                    number=before.number, entry=before.entry, fate=Fate.MOVED, by=occurrence.begun
                )
            )


def _rank(origin: Origin) -> tuple[int, float, bool]:
    """The better founded is the greater."""
    is_own_word = origin.source is Source.USER_STATED and origin.claimed_by is None
    return origin.source.strength, origin.confidence, is_own_word


_Place = tuple[SectionPath, int]


@dataclass(slots=True)
class RevisionFates:
    """The fates of section texts in a file of a merge.

    Rows that a side had ended and the merge has, rows that it ended, rows that go on in others
    (with the commits of these), and new texts.
    """

    restored: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    joined: list[tuple[int, int]] = field(default_factory=list)
    begun: list[Revision] = field(default_factory=list)
    sections: set[SectionPath] = field(default_factory=set)
    """The sections that not all sides have as the merge has them, from the same commit."""


def match_revisions(
    number: int, file: MergeFile, parents: Sequence[MergeParent], trail: EarlierTrail, order: Order
) -> RevisionFates:
    """Match the sections of a merge, commit `number`, to its sides' by path and text."""
    of_sides = [
        parent.trail.live_revisions(path) for parent, path in zip(parents, file.before, strict=True)
    ]
    rows_of_sides = [{each.number for each in revisions} for revisions in of_sides]
    by_place: dict[_Place, dict[int, Revision]] = defaultdict(dict)
    for revisions in of_sides:
        for each in revisions:
            by_place[each.section, each.nth][each.number] = each
    if file.same_as is not None:
        texts = {(each.section, each.nth): each.text for each in of_sides[file.same_as]}
    else:
        parts = SectionParts(file.page.document).sections if file.page else ()
        texts = {(part.path, part.nth): part.text for part in parts if part.text}
    live = {
        each.number
        for path in dict.fromkeys((*file.before, file.path))
        for each in trail.live_revisions(path)
    }
    fates = RevisionFates()
    for place, text in texts.items():
        candidates = sorted(
            by_place.pop(place, {}).values(), key=lambda each: (order(each.begun), each.number)
        )
        of_all = len(candidates) == 1 and all(
            candidates[0].number in rows for rows in rows_of_sides
        )
        if (
            of_all
            and candidates[0].text == text
            and candidates[0].number in live
            and candidates[0].path == file.path
        ):
            continue
        fates.sections.add(place[0])
        alike = [each for each in candidates if each.text == text and each.path == file.path]
        dropped = [
            each.number
            for each in candidates
            if alike and each.number in live and _is_dropped(each, alike[0], parents)
        ]
        if alike and not dropped:
            _continue_revision(alike[0], candidates, live, fates)
            continue
        fates.ended += [each.number for each in candidates if each.number in live]
        fates.begun.append(
            _new_revision(
                number, file.path, place, text, candidates, trail, has_dropped=bool(dropped)
            )
        )
    fates.sections |= {section for section, _ in by_place}
    fates.ended += [row for rows in by_place.values() for row in rows if row in live]
    return fates


def _is_dropped(revision: Revision, kept: Revision, parents: Sequence[MergeParent]) -> bool:
    """True if a side had replaced one text by the other one, which the merge has."""
    knew = any(parent.knows(revision.begun) and parent.knows(kept.begun) for parent in parents)
    return knew and revision.text != kept.text


def _continue_revision(
    kept: Revision, candidates: Sequence[Revision], live: set[int], fates: RevisionFates
) -> None:
    if kept.number not in live:
        fates.restored.append(kept.number)
    others = (each for each in candidates if each.number != kept.number and each.number in live)
    fates.joined += [(each.number, kept.begun) for each in others]


def _new_revision(
    number: int,
    path: FilePath,
    place: _Place,
    text: str,
    before: Sequence[Revision],
    trail: EarlierTrail,
    *,
    has_dropped: bool,
) -> Revision:
    """A text that no side has; only combined unless the merge itself added or removed a line."""
    earlier = before or tuple(filter(None, [trail.last_revision(path, *place)]))
    lines = [Counter(map(str.strip, split_lines(each.text))) for each in before]
    now = Counter(map(str.strip, split_lines(text)))
    has_own = any(
        count > max((each[line] for each in lines), default=0) for line, count in now.items()
    )
    lost = any(count > now[line] and line for line, count in _common(lines).items())
    return Revision(
        lineage=earlier[0].lineage if earlier else 0,
        begun=number,
        path=path,
        section=place[0],
        nth=place[1],
        text=text,
        unchanged_text=len(before) > 1 and not has_own and not lost and not has_dropped,
        previous=tuple(each.number for each in earlier),
    )


def _common(lines: Sequence[Counter[str]]) -> Counter[str]:
    common = Counter(lines[0]) if lines else Counter[str]()
    for each in lines[1:]:
        common &= each
    return common


Combination = tuple[FilePath, str, tuple[str, str]]
"""A line made by merging: its file, its first line, and those of the two it is made of."""


def build_merge_step(
    commit: TrailCommit,
    files: Sequence[MergeFile],
    parents: Sequence[MergeParent],
    trail: EarlierTrail,
    order: Order,
    is_log: Callable[[FilePath], bool],
    brought_by: Callable[[CommitId], Collection[CommitId]],
    combinations: Callable[[Collection[FilePath]], Iterable[Combination]],
    replaced: Iterable[Occurrence] = (),
) -> Step:
    """Work out what a merge did besides what its sides did.

    Args:
        files: those that several sides touched, and those that it changed itself.
        parents: its sides, in an order that does not depend on who merged.
        brought_by: gives the commits that a merge brought in.
        combinations: merges files once more: the lines made of both sides' words.
        replaced: the occurrences that several sides ended or marked.
    """
    revisions = [match_revisions(commit.number, file, parents, trail, order) for file in files]
    fates = [
        _Matcher(file, parents, trail, order, each.sections).match()
        for file, each in zip(files, revisions, strict=True)
    ]
    combined = _combined_lines(
        combinations, dict(zip((file.path for file in files), fates, strict=True)), order
    )
    changed = [
        _own_changes(file, fate)
        for file, fate in zip(files, fates, strict=True)
        if fate.new or fate.taken_out
    ]
    builder = step_builder(commit, changed, trail, is_log, brought_by, combined)
    sides = [parent.trail for parent in parents]
    contradictions = list(
        merge_contradictions(replaced, sides, order, _entries_in_merge(builder, fates))
    )
    return Step(
        ended=(*builder.ended, *(ending for fate in fates for ending in fate.ended)),
        begun=tuple(builder.begun),
        ended_revisions=tuple(row for each in revisions for row in each.ended),
        revisions=tuple(revision for each in revisions for revision in each.begun),
        marks=_marks(builder, contradictions),
        reverts=builder.reverts.stated,
        reverted_commits=builder.reverts.ended,
        paths=tuple(dict.fromkeys(path for file in files for path in (*file.before, file.path))),
        restored=tuple(row for fate in fates for row in fate.restored),
        restored_revisions=tuple(row for each in revisions for row in each.restored),
        promotions=builder.promotions,
        logs=builder.logs,
        joined_revisions=tuple(pair for each in revisions for pair in each.joined),
    )


def _entries_in_merge(
    builder: StepBuilder, fates: Iterable[EntryFates]
) -> Callable[[FactId], list[Entry]]:
    ended = {ending.number for fate in fates for ending in fate.ended}

    def entries(fact: FactId) -> list[Entry]:
        return [
            each.entry for row, each in builder.marks.live_occurrences(fact) if row not in ended
        ]

    return entries


def _marks(builder: StepBuilder, contradictions: Sequence[Mark]) -> tuple[Mark, ...]:
    """The marks of a merge: what its sides state is not stated again by its message."""
    pairs = {frozenset((mark.fact, mark.other)) for mark in contradictions}
    stated = (
        mark
        for mark in builder.marks.marks
        if mark.kind is not MarkKind.CONTRADICTS or frozenset((mark.fact, mark.other)) not in pairs
    )
    return (*stated, *contradictions)


def _combined_lines(
    combinations: Callable[[Collection[FilePath]], Iterable[Combination]],
    fates: Mapping[FilePath, EntryFates],
    order: Order,
) -> dict[FilePath, dict[str, CombinedLine]]:
    """The lines made of one of each side: with the later moment and the weaker source."""
    combined: dict[FilePath, dict[str, CombinedLine]] = {}
    own = [path for path, fate in fates.items() if fate.new]
    for path, line, parts in combinations(own) if own else ():
        fate = fates[path]
        if all(entry.first_line != line for entry in fate.new):
            continue
        made_of = [
            each for part in parts if (each := _with_first_line(fate.sides, part)) is not None
        ]
        if not made_of:
            continue
        later = max(made_of, key=lambda each: order(each.begun))
        weakest = min(
            (each.origin for each in made_of),
            key=lambda each: (each.source.strength, each.confidence, each.claimed_by is None),
        )
        origin = replace(
            weakest,
            commit=later.origin.commit,
            time=later.origin.time,
            author=later.origin.author,
            actor=later.origin.actor,
            session=later.origin.session,
        )
        combined.setdefault(path, {})[line] = CombinedLine(later.begun, origin)
        if len(made_of) > 1:
            fate.taken_out = [
                old for old in fate.taken_out if old.occurrence.number != later.number
            ]
            fate.ended.append(
                Ending(number=later.number, entry=later.entry, fate=Fate.JOINED, by=later.begun)
            )
    return combined


def _with_first_line(occurrences: Iterable[Occurrence], line: str) -> Occurrence | None:
    return next((each for each in occurrences if each.entry.first_line == line), None)


def _own_changes(file: MergeFile, fate: EntryFates) -> EntryMatches:
    before = (
        next(filter(None, map(file.page_before, range(len(file.before)))), None)
        if file.same_as is None
        else None
    )
    change = FileChange(file.path, file.path, before, file.page)
    pairs, old, new = pair_by_key(
        fate.taken_out,
        fate.new,
        lambda old: (old.section, entry_content(old.entry)),
        lambda entry: (entry.section, entry_content(entry)),
    )
    return EntryMatches(
        change=change,
        sections=ChangedSections.of(change),
        moved=[
            MovedEntry(
                before,
                entry,
                same_line=before.entry.first_line == entry.first_line,
                same_section=True,
            )
            for before, entry in pairs
        ],
        unmatched_old=old,
        unmatched_new=new,
    )
