"""What one commit did: which entries and section texts ended and how, which began, and what it says of facts. Pure.

An entry goes on while its file, section, text and first line stay the same; of several alike in one section the last ones came in or
went out. What does not go on was moved (its section or file has another name, its line is written in another way, or it stands
elsewhere), was superseded, or was removed. What stands on in its section keeps its source and confidence, however its line is
written. The commit's trailers say what took whose place; of a person's commit the difference does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Protocol, TypeVar

from mdmem.document import Document, lines_without_ends
from mdmem.editors.fact_difference import fact_difference
from mdmem.entries import entries
from mdmem.history.differences import common_ends
from mdmem.history.messages import ParsedNote, commit_origin, parse_message, section_name
from mdmem.history.sections import SectionPart, changed_ranges, match_sections, whole_range
from mdmem.model import CommitId, FactId, FilePath, SectionPath
from mdmem.model.trail import Commit, Entry, Fate, MainlineCommit, Mark, MarkKind, MergedLine, Occurrence, Origin, Revision
from mdmem.startup.records import dataclass, field, replace
from mdmem.trail import Ending, Step

One = TypeVar("One")
Other = TypeVar("Other")
_NOTHING: Mapping[str, Origin] = MappingProxyType({})
_CLOSING = (MarkKind.SUPERSEDED, MarkKind.RETRACTED)
_FEW = 16
"""Where fewer entries than one in so many lines of a file changed, the table is asked for these and not for the whole file."""


@dataclass(frozen=True, slots=True)
class Page:
    """A file as one commit holds it; `tags` are the file's own."""

    document: Document
    path: FilePath
    tags: tuple[str, ...] = ()

    def entries(self, start: int = 0, end: int | None = None) -> tuple[Entry, ...]:
        """Its entries, of all lines or of those that changed."""
        return entries(self.document, self.path, self.tags, start, end)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A memory file before and after a commit; None where it is not there. `before_path` is another one where it was renamed."""

    path: FilePath
    before_path: FilePath
    before: Page | None
    after: Page | None


class EarlierTrail(Protocol):
    """What the table of versions says of the landmarks before."""

    def live_occurrences(self, path: FilePath) -> tuple[Occurrence, ...]:
        """What has not ended in a file, in the order in which it began."""
        ...

    def live_revisions(self, path: FilePath, among: Collection[SectionPath] | None = None) -> tuple[Revision, ...]:
        """The revisions of a file that have not ended; all, or those of sections `among` these paths."""
        ...

    def occurrences_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """Every occurrence of a fact, oldest first."""
        ...

    def marks(self, path: FilePath) -> tuple[Mark, ...]:
        """The marks in force on what stands in a file."""
        ...

    def marks_of(self, number: int) -> tuple[Mark, ...]:
        """The marks in force on one occurrence."""
        ...

    def commit_with_id(self, commit: CommitId) -> MainlineCommit | None:
        """The landmark that a commit is."""
        ...


def build_step(
    landmark: MainlineCommit,
    changes: Sequence[FileChange],
    known: EarlierTrail,
    side: Sequence[Commit] = (),
    brought: Mapping[FilePath, Mapping[str, Origin]] = MappingProxyType({}),
) -> Step:
    """What a landmark did to what was `known` before it.

    Args:
        landmark: the commit; what a merge did is its difference to the first parent.
        changes: the memory files that differ.
        known: the table up to the landmark before.
        side: the other commits that a merge brought, oldest first.
        brought: by file, the origin of each line (without white space around it) that these brought.
    """
    itself = Commit(landmark.commit, landmark.time, landmark.author, landmark.message)
    voices = [_CommitClaims(one, parse_message(one.message)) for one in (*side, itself)]
    places = [_ChangedSections.of(change) for change in changes]
    texts = [_texts(landmark.number, change, place, known) for change, place in zip(changes, places, strict=True)]
    files = [_lines(change, place, known) for change, place in zip(changes, places, strict=True)]
    ledger = _StepBuilder(landmark.number, voices, known, brought, commit_origin(itself))
    ledger.clear()
    ledger.move(files)
    ledger.end(files)
    ledger.say()
    revisions = tuple(revision for _, begun in texts for revision in begun)
    return Step(
        ended=tuple(ledger.ended),
        begun=tuple(ledger.begun),
        ended_revisions=tuple(row for gone, _ in texts for row in gone),
        revisions=revisions,
        marks=tuple(ledger.marks),
        reverted_commits=tuple(sorted(ledger.cleared)),
        paths=tuple(dict.fromkeys(path for change in changes for path in (change.before_path, change.path))),
        merged_lines=tuple(_from_side(revisions, side, brought)),
    )


def _in_order(
    old: Iterable[One], new: Iterable[Other], old_key: Callable[[One], Hashable], new_key: Callable[[Other], Hashable]
) -> tuple[list[tuple[One, Other]], list[One], list[Other]]:
    """Those with the same key, one to one and in their order; what is left of both."""
    olds, news = list(old), list(new)
    if not olds or not news:
        return [], olds, news
    waiting: dict[Hashable, deque[tuple[int, Other]]] = {}
    for number, other in enumerate(news):
        waiting.setdefault(new_key(other), deque()).append((number, other))
    pairs: list[tuple[One, Other]] = []
    left: list[One] = []
    taken: set[int] = set()
    for one in olds:
        group = waiting.get(old_key(one))
        if group:
            number, other = group.popleft()
            taken.add(number)
            pairs.append((one, other))
        else:
            left.append(one)
    return pairs, left, [other for number, other in enumerate(news) if number not in taken]


# Sections.


@dataclass(frozen=True, slots=True)
class _ChangedSections:
    """The parts of a file that differ, before and after, what became of them (by place in the old document), and their lines."""

    old: tuple[SectionPart, ...]
    new: tuple[SectionPart, ...]
    partner: Mapping[int, SectionPart]
    old_lines: tuple[int, int]
    new_lines: tuple[int, int]

    @classmethod
    def of(cls, change: FileChange) -> _ChangedSections:
        before = change.before.document if change.before else None
        after = change.after.document if change.after else None
        old, new = (whole_range(before), whole_range(after)) if change.path != change.before_path else changed_ranges(before, after)
        differing = old.parts, new.parts
        # An entry may have its like in another section of the same path, which then has to be looked at too.
        if not old.outside().isdisjoint(part.section for some in differing for part in some):
            old, new = whole_range(before), whole_range(after)
        return cls(*differing, match_sections(*differing), old.lines, new.lines)

    @property
    def paths(self) -> set[SectionPath]:
        """What the sections that differ are called, before and after."""
        return {part.section for part in (*self.old, *self.new)}


def _texts(number: int, change: FileChange, places: _ChangedSections, known: EarlierTrail) -> tuple[list[int], list[Revision]]:
    """The rows of the revisions that ended in a file, and those that began."""
    among = {part.section for part in places.old}
    rows = {(row.section, row.nth): row for row in known.live_revisions(change.before_path, among)} if among else {}
    ended = {one.position: row for one in places.old if (row := rows.get((one.section, one.nth)))}
    was = {part.position: ended[place] for place, part in places.partner.items() if place in ended}
    gone = {row.number for row in ended.values()}
    begun = []
    for part in places.new:
        row = was.get(part.position)
        if row and (row.path, row.section, row.nth, row.text) == (change.path, part.section, part.nth, part.text):
            gone.discard(row.number)
        elif part.text:
            quiet = row is not None and row.text == part.text
            begun.append(Revision(row.lineage if row else 0, number, change.path, part.section, part.nth, part.text, quiet))
    return sorted(gone), begun


def _from_side(
    revisions: Sequence[Revision], side: Sequence[Commit], brought: Mapping[FilePath, Mapping[str, Origin]]
) -> Iterator[MergedLine]:
    """The lines of revisions that the side of a merge brought in."""
    commits = {one.id: one for one in side}
    lines = ((one.path, line.strip()) for one in revisions if one.path in brought for line in lines_without_ends(one.text))
    for path, line in dict.fromkeys(lines):
        if line in brought[path]:
            yield MergedLine(path, line, commits[brought[path][line].commit])


# Entries.


@dataclass(frozen=True, slots=True)
class _OldEntry:
    """An entry that does not go on: its row in the table, and what its section is called now."""

    entry: Entry
    row: Occurrence
    section: SectionPath


@dataclass(frozen=True, slots=True)
class _MovedEntry:
    """An entry that stands on elsewhere or in another way: whether its line, and its section, are what they were but for names."""

    old: _OldEntry
    entry: Entry
    same_line: bool
    same_section: bool


@dataclass(slots=True)
class _EntryMatches:
    """What became of the entries of one file; `left` and `fresh` are those without a counterpart in it."""

    change: FileChange
    places: _ChangedSections
    moved: list[_MovedEntry]
    left: list[_OldEntry]
    fresh: list[Entry]


def _place_in(entry: Entry) -> tuple[SectionPath, str, str]:
    return entry.section, entry.text, entry.first_line


def _content(entry: Entry) -> tuple[FactId | None, str]:
    return entry.fact, "" if entry.fact else entry.text


def _lines(change: FileChange, places: _ChangedSections, known: EarlierTrail) -> _EntryMatches:
    old = change.before.entries(*places.old_lines) if change.before else ()
    new = change.after.entries(*places.new_lines) if change.after else ()
    total = len(change.before.document.lines) if change.before else 0
    renamed = change.path != change.before_path
    if old and new and not renamed:
        start, end = common_ends([_place_in(entry) for entry in old], [_place_in(entry) for entry in new])
        old, new = old[start : len(old) - end], new[start : len(new) - end]
    now = _names(change, places)
    pairs, left, fresh = _in_order(old, new, lambda one: (now(one), one.text, one.first_line), _place_in)
    more, left, fresh = _in_order(left, fresh, _place_in, _place_in)
    kept = [(one, other) for one, other in (*pairs, *more) if renamed or one.section != other.section]
    rewritten, left, fresh = _in_order(left, fresh, lambda one: (now(one), _content(one)), lambda one: (one.section, _content(one)))
    rows = _rows(sorted([*left, *(one for one, _ in (*kept, *rewritten))], key=_line), total, change.before_path, known)
    olds = {line: _OldEntry(entry, row, now(entry)) for line, (entry, row) in rows.items()}
    moved = [_MovedEntry(olds[one.start_line], other, True, True) for one, other in kept if one.start_line in olds]
    moved += [_MovedEntry(olds[one.start_line], other, False, True) for one, other in rewritten if one.start_line in olds]
    return _EntryMatches(change, places, moved, [olds[one.start_line] for one in left if one.start_line in olds], fresh)


def _line(entry: Entry) -> int:
    return entry.start_line


def _names(change: FileChange, places: _ChangedSections) -> Callable[[Entry], SectionPath]:
    """What the section of an entry that was there before is called now."""
    renamed = {place: part.section for place, part in places.partner.items()}

    def now(entry: Entry) -> SectionPath:
        section = change.before.document.section_at(entry.start_line - 1) if change.before else None
        return renamed.get(section.index + 1, entry.section) if section else entry.section

    return now


def _rows(entries: Sequence[Entry], total: int, path: FilePath, known: EarlierTrail) -> dict[int, tuple[Entry, Occurrence]]:
    """The rows of entries (in file order) that do not go on, by line; of several alike those that began last."""
    facts = {entry.fact for entry in entries if entry.fact}
    if len(entries) * _FEW < total and all(entry.fact for entry in entries):
        rows = [row for row in chain.from_iterable(map(known.occurrences_of, facts)) if row.ended is None and row.entry.path == path]
    else:
        rows = list(known.live_occurrences(path)) if entries else []
    alike: dict[Hashable, list[Occurrence]] = {}
    for row in rows:
        alike.setdefault(_place_in(row.entry), []).append(row)
    found = {}
    for entry in reversed(entries):
        group = alike.get(_place_in(entry))
        if group:
            found[entry.start_line] = entry, group.pop()
    return found


# What is said.


@dataclass(frozen=True, slots=True)
class _CommitClaims:
    """A commit and what its message says."""

    commit: Commit
    said: ParsedNote

    def is_about(self, path: FilePath, section: SectionPath) -> bool:
        """Whether its own section is this one."""
        return self.said.path in (None, path) and self.said.section == section_name(section)


@dataclass(frozen=True, slots=True)
class _StatedSupersession:
    """A commit says that one fact took the place of another, or (None) that nothing did."""

    voice: _CommitClaims
    old: FactId
    new: FactId | None


@dataclass(slots=True)
class _StepBuilder:
    """What a step comes to, written down bit by bit. The last of the voices is the landmark's own."""

    number: int
    voices: list[_CommitClaims]
    trail: EarlierTrail
    line_origins: Mapping[FilePath, Mapping[str, Origin]]
    origin: Origin
    """Of what the landmark itself brings in."""
    several: set[CommitId] = field(default_factory=set)
    """The commits that say that a key has several values."""
    ended: list[Ending] = field(default_factory=list)
    begun: list[Occurrence] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    cleared: set[int] = field(default_factory=set)
    superseded_rows: set[int] = field(default_factory=set)
    """The rows of what does not go on."""
    unsettled: list[_StatedSupersession] = field(default_factory=list)
    """Those of facts that stand on."""

    def clear(self) -> None:
        """Take back what is reverted: the marks of landmarks, and what a side commit said that is reverted on its side."""
        reverted = {commit for voice in self.voices for commit in voice.said.reverts}
        self.cleared = {found.number for commit in reverted if (found := self.trail.commit_with_id(commit))}
        self.voices = [*(voice for voice in self.voices[:-1] if voice.commit.id not in reverted), self.voices[-1]]
        self.several = {voice.commit.id for voice in self.voices if voice.said.also}

    # What begins.

    def move(self, files: Sequence[_EntryMatches]) -> None:
        """Begin what is new and, with its marks, what stands on elsewhere."""
        _move_across(files)
        self.superseded_rows = {old.row.number for file in files for old in (*file.left, *(moved.old for moved in file.moved))}
        for file in files:
            comers: list[tuple[Entry, _MovedEntry | None]] = [(moved.entry, moved) for moved in file.moved]
            comers += [(entry, None) for entry in file.fresh]
            for entry, moved in sorted(comers, key=lambda comer: comer[0].start_line):
                self._begin(entry, moved)

    def _begin(self, entry: Entry, moved: _MovedEntry | None) -> None:
        brought = self.line_origins.get(entry.path, _NOTHING).get(entry.first_line) or self.origin
        also = brought.commit in self.several
        if moved is None:
            self.begun.append(Occurrence(entry, self.number, brought, also))
            return
        row = moved.old.row
        self.ended.append(Ending(row.number, moved.old.entry, Fate.MOVED))
        if moved.same_line:
            brought, also = row.origin, False
        elif moved.same_section:
            brought = replace(brought, source=row.origin.source, confidence=row.origin.confidence)
        self.begun.append(Occurrence(entry, self.number, brought, row.also or also))
        place = -len(self.begun)
        self.marks += [replace(mark, occurrence=place) for mark in self._closing(row.number)]

    # What ends.

    def end(self, files: Sequence[_EntryMatches]) -> None:
        """End what does not stand on: by what the commits say, else, of a person's, by the difference."""
        left = {old.row.number: old for file in files for old in file.left}
        by_fact: dict[FactId | None, list[_OldEntry]] = {}
        for old in left.values():
            by_fact.setdefault(old.entry.fact, []).append(old)
        for succession in self._successions():
            found = [old for old in by_fact.get(succession.old, ()) if old.row.number in left]
            if found:
                about = [old for old in found if succession.voice.is_about(old.entry.path, old.section)]
                self._supersede(left, (about or found)[0], succession.new)
            else:
                self.unsettled.append(succession)
        if self.voices[-1].said.op is None:
            for file in files:
                self._end_by_difference(file, left)
        self.ended += [Ending(old.row.number, old.entry, Fate.REMOVED) for old in left.values()]

    def _supersede(self, left: dict[int, _OldEntry], old: _OldEntry, successor: FactId | None) -> None:
        del left[old.row.number]
        self.ended.append(Ending(old.row.number, old.entry, Fate.SUPERSEDED, successor))

    def _end_by_difference(self, file: _EntryMatches, left: dict[int, _OldEntry]) -> None:
        old = [one for one in file.left if one.row.number in left and one.entry.fact]
        if not (old and file.change.after and any(entry.fact for entry in file.fresh)):
            return
        homes = {(entry.section, entry.fact) for entry in file.fresh}
        for pair in fact_difference(_under_new_names(file), file.change.after.document, file.places.paths).supersedes:
            found = [one for one in old if one.entry.fact == pair.old and one.row.number in left]
            at_home = [one for one in found if (one.section, pair.new) in homes]
            if found:
                self._supersede(left, (at_home or found)[0], pair.new)

    def _successions(self) -> Iterator[_StatedSupersession]:
        """Who took whose place, where on a merge's side one followed the other the last of them."""
        every = [_StatedSupersession(voice, old, new) for voice in self.voices for old, new in voice.said.supersedes]
        later: dict[FactId, list[tuple[int, FactId | None]]] = {}
        for at, one in enumerate(every):
            later.setdefault(one.old, []).append((at, one.new))
        for at, one in enumerate(every):
            new, at_next, through = one.new, at, {one.old}
            while new is not None and new not in through and not self._stands(new):
                following = next(((number, heir) for number, heir in later.get(new, ()) if number > at_next), None)
                if following is None:
                    break
                through.add(new)
                at_next, new = following
            if len(through) == 1 or new != one.old:
                yield replace(one, new=new)

    def _stands(self, fact: FactId) -> bool:
        return any(True for _ in self._standing(fact))

    def _standing(self, fact: FactId) -> Iterator[tuple[int, Occurrence]]:
        """The occurrences of a fact that stand after this step, by their rows; a negative one is of those that begin here."""
        yield from (
            (one.number, one) for one in self.trail.occurrences_of(fact) if one.ended is None and one.number not in self.superseded_rows
        )
        yield from ((-place, one) for place, one in enumerate(self.begun, 1) if one.entry.fact == fact)

    # What is said besides.

    def say(self) -> None:
        """Set the marks."""
        for succession in self.unsettled:
            if not self._was_settled(succession):
                self._mark(MarkKind.SUPERSEDED, succession.voice, succession.old, succession.new)
        for voice in self.voices:
            for fact in voice.said.retracts:
                self._mark(MarkKind.RETRACTED, voice, fact, None)
            self.marks += [Mark(MarkKind.CONTRADICTS, self.number, *pair) for pair in voice.said.contradicts]
            self.marks += [Mark(MarkKind.RESOLVED, self.number, *pair) for pair in voice.said.resolves]

    def _was_settled(self, succession: _StatedSupersession) -> bool:
        """Whether what a side commit replaced was gone from its section here before; what stands elsewhere is another matter."""
        voice = succession.voice
        if voice is self.voices[-1]:
            return False
        there = [one for one in self.trail.occurrences_of(succession.old) if voice.is_about(one.entry.path, one.entry.section)]
        return bool(there) and all(one.ended is not None for one in there)

    def _mark(self, kind: MarkKind, voice: _CommitClaims, fact: FactId, other: FactId | None) -> None:
        """Mark the standing occurrence of a fact that is meant: in the commit's own section before others, then the newest."""
        choice = [
            ((voice.is_about(one.entry.path, one.entry.section), one.entry.path == voice.said.path, one.begun, number), number)
            for number, one in self._standing(fact)
            if not self._is_closed(number) and not (fact == other and number < 0)
        ]
        if choice:
            self.marks.append(Mark(kind, self.number, fact, other, max(choice)[1]))

    def _closing(self, number: int) -> list[Mark]:
        """The marks in force by which an occurrence from before is no longer current."""
        return [mark for mark in self.trail.marks_of(number) if mark.kind in _CLOSING and mark.begun not in self.cleared]

    def _is_closed(self, number: int) -> bool:
        here = any(mark.occurrence == number and mark.kind in _CLOSING for mark in self.marks)
        return here or (number > 0 and bool(self._closing(number)))


def _move_across(files: Sequence[_EntryMatches]) -> None:
    """Pair what went out of one section with what came into another with the same text: within a file first, then among all."""
    for file in files:
        pairs, file.left, file.fresh = _in_order(file.left, file.fresh, lambda old: _content(old.entry), _content)
        file.moved += [_MovedEntry(old, entry, False, False) for old, entry in pairs]
    pairs, _, _ = _in_order(
        [old for file in files for old in file.left],
        [entry for file in files for entry in file.fresh],
        lambda old: _content(old.entry),
        _content,
    )
    if not pairs:
        return
    gone = {old.row.number for old, _ in pairs}
    arrived = {(entry.path, entry.start_line): old for old, entry in pairs}
    for file in files:
        file.left = [old for old in file.left if old.row.number not in gone]
        fresh, file.fresh = file.fresh, []
        for entry in fresh:
            old = arrived.get((entry.path, entry.start_line))
            if old:
                file.moved.append(_MovedEntry(old, entry, False, False))
            else:
                file.fresh.append(entry)


def _under_new_names(file: _EntryMatches) -> Document | None:
    """The document before, its sections under the paths that they have now."""
    if file.change.before is None:
        return None
    document = file.change.before.document
    now = {place: part.section for place, part in file.places.partner.items()}
    sections = tuple(replace(section, path=now.get(section.index + 1, section.path)) for section in document.sections)
    return document if sections == document.sections else replace(document, sections=sections)
