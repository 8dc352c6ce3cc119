"""Turn one commit into a step of the trail: which entries and sections began and ended. Pure.

An entry continues while its file, section, text and first line stay the same; of equal entries in
one section the last ones began or ended. What does not continue was moved (its section or file was
renamed, its line was rewritten, or it is elsewhere now), superseded, or removed. What stays in its
section keeps its source and confidence, however its line is rewritten. The commit's trailers state
what superseded what; in a person's commit the difference shows it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

from mdmem.editors import likeness
from mdmem.editors.fact_difference import fact_difference
from mdmem.model import CommitId, FactId, FilePath, Op, SectionPath, Source
from mdmem.model.trail import Entry, Fate, Mark, Occurrence, Origin, TrailCommit
from mdmem.model.writes import is_night
from mdmem.past.copies import (
    CommitClaims,
    StatedSupersession,
    StepMarks,
    StepReverts,
    entry_location,
    read_reverts,
)
from mdmem.past.file_changes import (
    ChangedSections,
    EntryMatches,
    FileChange,
    FileVersion,
    MovedEntry,
    OldEntry,
    changed_revisions,
    entry_content,
    entry_identity,
    line_and_key,
    match_across,
    match_in_file,
    replaced_entries,
)
from mdmem.past.messages import ParsedNote, quoted_line
from mdmem.past.notes import ChangedText, Statements, parse_message, restated, statement_of
from mdmem.past.steps import Ending, Step
from mdmem.startup.records import dataclass, field, replace
from mdmem.text.facts import line_id

if TYPE_CHECKING:
    from mdmem.past.line import EarlierTrail


@dataclass(frozen=True, slots=True)
class CombinedLine:
    """A line that a merge made of one of each side: its origin, and the later one's commit."""

    number: int
    origin: Origin


_NOTHING: Mapping[str, CombinedLine] = MappingProxyType({})
_MIN_LIKENESS = 0.75
_MOST_FOLLOWED = 500_000
"""The most successors that a commit's are followed to: a chain of a thousand has as many."""


@dataclass(slots=True)
class StepBuilder:
    """The occurrences and marks of a step, collected while a commit is replayed.

    Call `note_reverted`, `begin_entries`, `end_entries`, `confirm_entries` and `set_marks` once
    each, in this order. The last of `claims` is the commit's own, those before it are of squashed
    ones, oldest first. `statements` tell whose statement a line is, `combined` which lines a merge
    made of both sides', by file and stripped line.
    """

    number: int
    claims: list[CommitClaims]
    trail: EarlierTrail
    combined: Mapping[FilePath, Mapping[str, CombinedLine]]
    statements: Statements
    is_log: Callable[[FilePath], bool]
    reverts: StepReverts
    marks: StepMarks
    written: int | None
    """The author date, which may precede the past's; None for a wrong clock or a merge."""
    ended: list[Ending] = field(default_factory=list)
    _gone_with_reverted: dict[tuple[FactId | None, str], Occurrence] = field(default_factory=dict)
    """The entries that the reverted commits removed, by fact or text."""
    _overruled: Mapping[int, Mark] = field(default_factory=dict)
    """The overruled marks on occurrences that move, by their rows."""
    _unapplied: list[StatedSupersession] = field(default_factory=list)
    """Supersessions of facts that stay in their files."""
    _relinked: Mapping[tuple[FilePath, tuple[int, str | None]], OldEntry] = field(
        default_factory=dict
    )
    """Where a heading was renamed with the links to it, the entries of before by their lines."""
    _entries: dict[int, dict[tuple[SectionPath, str, str], Entry]] = field(default_factory=dict)
    """The entries of the versions that were asked for one, by `id` and identity."""

    @property
    def begun(self) -> list[Occurrence]:
        return self.marks.begun

    @property
    def logs(self) -> frozenset[FilePath]:
        """The logs among the files of what began."""
        return frozenset(filter(self.is_log, {each.entry.path for each in self.begun}))

    def note_reverted(self) -> None:
        for commit in self.reverts.reverted:
            gone = (
                each
                for each in self.trail.occurrences_ended(commit.number - 1, commit.number)
                if each.fate is not Fate.MOVED
            )
            self._gone_with_reverted |= {entry_content(each.entry): each for each in gone}

    @property
    def promotions(self) -> tuple[tuple[FactId, FactId], ...]:
        return tuple(
            dict.fromkeys(
                pair
                for claims in self.claims
                for pair in claims.note.promotes or self._cited_pairs(claims.note)
            )
        )

    def _cited_pairs(self, note: ParsedNote) -> Iterator[tuple[FactId, FactId]]:
        """Entries that cite the same lines as what a dream took: version 0.2 named no pairs."""
        if note.cites and note.run is not None and is_night(note.run) and note.op is Op.REMEMBER:
            yield from (
                (log, fact)
                for fact, cited in note.cites
                for log in self.trail.logged_facts_citing(cited)
                if log != fact
            )

    # New occurrences.

    def begin_entries(self, files: Sequence[EntryMatches]) -> None:
        match_across(files)
        self.marks.ended_rows |= {
            old.occurrence.number
            for file in files
            for old in (*file.unmatched_old, *(moved.old for moved in file.moved))
        }
        left = {moved.old.occurrence.entry.path for file in files for moved in file.moved}
        self._overruled = {
            mark.occurrence: mark for path in left for mark in self.trail.overruled_marks(path)
        }
        if self.claims[-1].note.op == Op.LINKS:
            self._relinked = {
                (old.entry.path, line_and_key(old.entry)): old
                for file in files
                for old in file.unmatched_old
            }
        for file in files:
            only_origin = self._only_origin(file)
            if only_origin is not None:
                origin, also = only_origin
                self.begun.extend(
                    Occurrence(entry=entry, begun=self.number, origin=origin, also=also)
                    for entry in file.unmatched_new
                )
                continue
            arrivals: list[tuple[Entry, MovedEntry | None]] = [
                (moved.entry, moved) for moved in file.moved
            ]
            arrivals += [(entry, None) for entry in file.unmatched_new]
            for entry, moved in sorted(arrivals, key=lambda arrival: arrival[0].start_line):
                self._begin(entry, moved, file.change.after)

    def _only_origin(self, file: EntryMatches) -> tuple[Origin, bool] | None:
        """The one origin of all entries of a file; None if it differs or has to be asked for."""
        path = file.change.path
        if file.moved or self.reverts.stated or self.combined.get(path) or self._relinked:
            return None
        return self.statements.only_origin

    def _begin(self, entry: Entry, moved: MovedEntry | None, page: FileVersion | None) -> None:
        combined = self.combined.get(entry.path, _NOTHING).get(entry.first_line)
        origin, also = (combined.origin, False) if combined else self._origin(entry, page)
        number = combined.number if combined else self.number
        if moved is None:
            if relinked := self._relinked.get((entry.path, line_and_key(entry))):
                origin, also = relinked.occurrence.origin, relinked.occurrence.also
            gone = self._brought_back(entry) if self.reverts.stated else None
            origin = restated(origin, gone.origin) if gone else origin
            self.begun.append(Occurrence(entry=entry, begun=number, origin=origin, also=also))
            if gone and self.is_log(entry.path):
                self.marks.carry_over(gone.number)
            return
        before = moved.old.occurrence
        self.ended.append(
            Ending(
                number=before.number,
                entry=moved.old.entry,
                fate=Fate.MOVED,
                by=number if combined else None,
            )
        )
        if moved.same_line:
            origin, also = before.origin, False
        elif moved.same_section and not combined:
            origin = restated(origin, before.origin)
        self.begun.append(
            Occurrence(entry=entry, begun=number, origin=origin, also=before.also or also)
        )
        if self.is_log(entry.path):
            self.marks.carry_over(before.number)
        elif before.number in self._overruled:
            self.marks.marks.append(
                replace(self._overruled[before.number], occurrence=-len(self.begun))
            )

    def _origin(self, entry: Entry, page: FileVersion | None) -> tuple[Origin, bool]:
        """The origin of a new entry, and whether it states that its key has several values."""
        lines = page.document.lines[entry.start_line - 1 : entry.end_line] if page else ()
        note = self.statements.note(lines, entry.path, entry.section)
        return self.statements.origin(note, entry.fact), note.also

    def _brought_back(self, entry: Entry) -> Occurrence | None:
        """The occurrence that a revert brings back: ended by the reverted commit, else last."""
        gone = self._gone_with_reverted.get(entry_content(entry))
        if gone or not self.reverts.names_others:
            return gone
        ended = (
            [
                each
                for each in self.trail.occurrences_of(entry.fact)
                if each.fate not in (None, Fate.MOVED)
            ]
            if entry.fact
            else []
        )
        in_section = [each for each in ended if entry_location(each.entry) == entry_location(entry)]
        return next(reversed(in_section or ended), None)

    # Ended occurrences.

    def end_entries(self, files: Sequence[EntryMatches]) -> None:
        """End unmatched entries: superseded as stated or, by hand, as the difference shows.

        Entries that are no facts are superseded as it shows, whoever made the commit.
        """
        remaining = {old.occurrence.number: old for file in files for old in file.unmatched_old}
        by_fact: dict[FactId | None, list[OldEntry]] = {}
        for old in remaining.values():
            by_fact.setdefault(old.entry.fact, []).append(old)
        for supersession in self._supersessions():
            candidates = [
                old
                for old in by_fact.get(supersession.old, ())
                if old.occurrence.number in remaining
            ]
            if candidates:
                in_own_section = [
                    old
                    for old in candidates
                    if supersession.claims.is_about(old.entry.path, old.section)
                ]
                self._supersede(remaining, (in_own_section or candidates)[0], supersession.new)
            else:
                self._unapplied.append(supersession)
        if self.claims[-1].note.is_by_hand:
            for file in files:
                self._end_by_difference(file, remaining)
        for entry in (entry for file in files for entry in file.unmatched_new):
            relinked = self._relinked.get((entry.path, line_and_key(entry)))
            if relinked and relinked.occurrence.number in remaining:
                self._supersede(remaining, relinked, entry.fact)
        is_stated = self.claims[-1].note.op is Op.REMEMBER
        for file in files:
            for old, entry in replaced_entries(file, is_stated):
                if old.occurrence.number in remaining:
                    self._supersede(remaining, old, line_id(entry))
        self.ended += [
            Ending(number=row, entry=old.entry, fate=Fate.REMOVED) for row, old in remaining.items()
        ]

    def _supersede(
        self, remaining: dict[int, OldEntry], old: OldEntry, successor: FactId | None
    ) -> None:
        del remaining[old.occurrence.number]
        self.ended.append(
            Ending(
                number=old.occurrence.number,
                entry=old.entry,
                fate=Fate.SUPERSEDED,
                successor=successor,
            )
        )

    def _end_by_difference(self, file: EntryMatches, remaining: dict[int, OldEntry]) -> None:
        facts = [
            old
            for old in file.unmatched_old
            if old.occurrence.number in remaining and old.entry.fact
        ]
        change = file.change
        if not (
            facts
            and change.before
            and change.after
            and any(entry.fact for entry in file.unmatched_new)
        ):
            return
        new_facts = {(entry.section, entry.fact) for entry in file.unmatched_new}
        before = file.sections.renamed(change.before.document)
        for pair in fact_difference(before, change.after.document, file.sections.paths).supersedes:
            candidates = [
                old
                for old in facts
                if old.entry.fact == pair.old and old.occurrence.number in remaining
            ]
            in_one_section = [old for old in candidates if (old.section, pair.new) in new_facts]
            if candidates:
                self._supersede(remaining, (in_one_section or candidates)[0], pair.new)

    def _supersessions(self) -> Iterator[StatedSupersession]:
        """The stated supersessions; of several by squashed commits the last successor."""
        stated = [
            StatedSupersession(claims, old, new)
            for claims in self.claims
            for old, new in claims.note.supersedes
        ]
        places: dict[FactId, list[int]] = {}
        firsts: dict[int, int] = {}
        for index, supersession in enumerate(stated):
            places.setdefault(supersession.old, []).append(index)
            firsts.setdefault(id(supersession.claims), index)
        is_live, left = cache(self._is_live), _MOST_FOLLOWED
        for supersession in stated:
            new, last, passed = supersession.new, supersession, {supersession.old}
            while left and new is not None and new not in passed and not is_live(new):
                left -= 1
                of_new = places.get(new, [])
                # In one message, the squash of several commits, the newest may come first.
                following = bisect_left(of_new, firsts[id(last.claims)])
                if following == len(of_new):
                    break
                passed.add(new)
                last = stated[of_new[following]]
                new = last.new
            if len(passed) == 1 or new != supersession.old:
                yield replace(supersession, new=new)

    def _is_live(self, fact: FactId) -> bool:
        return any(True for _ in self.marks.live_occurrences(fact))

    def ended_otherwise(self, order: tuple[int, CommitId]) -> Iterator[Ending]:
        """The ends of facts that others had ended, and the commit replaced without knowing it.

        The earlier of the two ends counts, with its successor or else the other's; `order` is the
        place of the commit among others.
        """
        for supersession in self._unapplied:
            if (
                supersession.claims is not self.claims[-1]
                or supersession.new is None
                or not self._is_live(supersession.new)
            ):
                continue
            own = [
                each
                for each in self.trail.occurrences_of(supersession.old)
                if supersession.claims.is_about(each.entry.path, each.entry.section)
            ]
            before = own[-1] if own else None
            if (
                before is None
                or before.ended is None
                or before.fate not in (Fate.REMOVED, Fate.SUPERSEDED)
                or before.successor == supersession.new
            ):
                continue
            is_earlier = self.trail.order(before.begun) <= order < self.trail.order(before.ended)
            if is_earlier or before.fate is Fate.REMOVED:
                by = None if is_earlier else before.ended
                yield Ending(
                    number=before.number,
                    entry=before.entry,
                    fate=Fate.SUPERSEDED,
                    successor=supersession.new,
                    by=by,
                )

    # Confirmed occurrences.

    def confirm_entries(self, files: Sequence[EntryMatches]) -> None:
        """Give unchanged entries the stronger source of a commit that says the same.

        Where such a commit is reverted, they get their earlier source back.
        """
        changes = {file.change.path: file.change for file in files}
        for commit in self.reverts.reverted:
            confirmed = parse_message(commit.message).confirms
            for before in (
                self.trail.occurrences_ended(commit.number - 1, commit.number) if confirmed else ()
            ):
                if before.fate is Fate.MOVED and before.entry.fact in confirmed:
                    self._take_confirmation_back(before, changes)
        for claims in self.claims:
            for fact in claims.note.confirms:
                self._confirm(claims, fact, changes)

    def _take_confirmation_back(
        self, before: Occurrence, changes: Mapping[FilePath, FileChange]
    ) -> None:
        for row, each in list(self.marks.live_occurrences(before.entry.fact or FactId(""))):
            if (
                row > 0
                and each.begun >= (before.ended or 0)
                and entry_location(each.entry) == entry_location(before.entry)
            ):
                origin = replace(restated(each.origin, before.origin), author=before.origin.author)
                self._restate(row, each, origin, changes)

    def _confirm(
        self, claims: CommitClaims, fact: FactId, changes: Mapping[FilePath, FileChange]
    ) -> None:
        meant = self.marks.meant_occurrence(claims, fact, None)
        if meant is None:
            return
        row, _ = meant
        if row < 0:
            begun = self.begun[-row - 1]
            self.begun[-row - 1] = replace(begun, origin=_strengthened(begun.origin, claims, fact))
            return
        occurrence = next(
            each for number, each in self.marks.live_occurrences(fact) if number == row
        )
        self._restate(row, occurrence, _strengthened(occurrence.origin, claims, fact), changes)

    def _restate(
        self,
        row: int,
        occurrence: Occurrence,
        origin: Origin,
        changes: Mapping[FilePath, FileChange],
    ) -> None:
        path = occurrence.entry.path
        change = changes.get(path)
        before = self._same_entry(change.before if change else None, occurrence.entry)
        after = self._same_entry(change.after if change else None, occurrence.entry)
        if before is None or after is None or origin == occurrence.origin:
            return
        self.ended.append(Ending(number=row, entry=before, fate=Fate.MOVED))
        self.marks.ended_rows.add(row)
        self.begun.append(
            Occurrence(entry=after, begun=self.number, origin=origin, also=occurrence.also)
        )
        overruled = (mark for mark in self.trail.overruled_marks(path) if mark.occurrence == row)
        self.marks.marks += [replace(mark, occurrence=-len(self.begun)) for mark in overruled]

    def _same_entry(self, page: FileVersion | None, entry: Entry) -> Entry | None:
        if page is None:
            return None
        if id(page) not in self._entries:
            self._entries[id(page)] = {entry_identity(each): each for each in page.entries()}
        return self._entries[id(page)].get(entry_identity(entry))

    # Marks.

    def set_marks(self, files: Sequence[EntryMatches]) -> None:
        self.marks.restore()
        self.marks.add_superseded(self._unapplied)
        self.marks.add_contradictions((*self._unapplied, *self._written_unknowing(files)))
        for claims in self.claims:
            self.marks.add_other_claims(claims)

    def _written_unknowing(self, files: Sequence[EntryMatches]) -> Iterator[StatedSupersession]:
        """The facts a person put in place of others, replaced before git rebased the commit."""
        claims = self.claims[-1]
        if not claims.note.is_by_hand or self.written is None:
            return
        successors = {ending.successor for ending in self.ended}
        for file in files:
            new = [
                entry for entry in file.unmatched_new if entry.fact and entry.fact not in successors
            ]
            replaced = self.trail.replaced_after(file.change.path, self.written) if new else ()
            for entry in new:
                in_section = [
                    (likeness.likeness(each.entry.text, entry.text), each)
                    for each in replaced
                    if each.entry.section == entry.section
                ]
                alike, old = max(in_section, key=itemgetter(0), default=(0, None))
                if old is not None and old.entry.fact and alike >= _MIN_LIKENESS:
                    yield StatedSupersession(claims, old.entry.fact, entry.fact)


def _strengthened(origin: Origin, claims: CommitClaims, fact: FactId) -> Origin:
    """An origin with a commit's stronger statement of the same words; the user's ends a claim.

    Its author is who vouches for them: another person's word is not that of who wrote the line.
    """
    note = claims.note
    source = note.provenance.source
    is_own_word = (
        source is origin.source is Source.USER_STATED
        and origin.claimed_by is not None
        and note.claimed_by is None
    )
    if source.strength <= origin.source.strength and not is_own_word:
        return origin
    return replace(
        origin,
        source=source,
        confidence=note.provenance.confidence,
        author=f"{claims.commit.author} <{claims.commit.email}>",
        claimed_by=note.claimed_by,
        cites=note.cites_of(fact),
        attribute=note.attribute_of(fact),
    )


def build_step(
    commit: TrailCommit,
    changes: Sequence[FileChange],
    trail: EarlierTrail,
    is_log: Callable[[FilePath], bool],
    brought_by: Callable[[CommitId], Collection[CommitId]],
) -> Step:
    """Work out what a commit with one parent, or none, did to occurrences, revisions and marks.

    `changes`: the memory files that differ, and those of the facts that it confirms. `brought_by`
    gives the commits that a merge brought in.
    """
    sections = [ChangedSections.of(change) for change in changes]
    revisions = [
        changed_revisions(commit.number, change, parts, trail)
        for change, parts in zip(changes, sections, strict=True)
    ]
    files = [
        match_in_file(change, parts, trail) for change, parts in zip(changes, sections, strict=True)
    ]
    builder = step_builder(commit, files, trail, is_log, brought_by)
    return Step(
        ended=tuple(builder.ended),
        begun=tuple(builder.begun),
        ended_revisions=tuple(row for ended, _ in revisions for row in ended),
        revisions=tuple(revision for _, begun in revisions for revision in begun),
        marks=tuple(builder.marks.marks),
        reverts=builder.reverts.stated,
        reverted_commits=builder.reverts.ended,
        paths=tuple(
            dict.fromkeys(path for change in changes for path in (change.before_path, change.path))
        ),
        ended_otherwise=tuple(builder.ended_otherwise((commit.moment, commit.commit))),
        promotions=builder.promotions,
        logs=builder.logs,
    )


def step_builder(
    commit: TrailCommit,
    files: Sequence[EntryMatches],
    trail: EarlierTrail,
    is_log: Callable[[FilePath], bool],
    brought_by: Callable[[CommitId], Collection[CommitId]],
    combined: Mapping[FilePath, Mapping[str, CombinedLine]] = MappingProxyType({}),
) -> StepBuilder:
    """Collect what a commit did to the entries that do not go on as they were."""
    itself = statement_of(commit)
    statements = Statements(itself, cache(lambda: _changed_text(files)))
    claims = [CommitClaims(itself, note) for note in statements.notes]
    reverts = read_reverts(
        commit.commit,
        [reverted for note in statements.notes for reverted in note.reverts],
        trail,
        brought_by,
    )
    builder = StepBuilder(
        number=commit.number,
        claims=claims,
        trail=trail,
        combined=combined,
        statements=statements,
        is_log=is_log,
        reverts=reverts,
        marks=StepMarks(
            number=commit.number, own_claims=claims[-1], reverts=reverts, trail=trail, is_log=is_log
        ),
        written=None if commit.is_merge or commit.moment != commit.time else commit.time,
    )
    builder.note_reverted()
    builder.begin_entries(files)
    builder.end_entries(files)
    builder.confirm_entries(files)
    builder.set_marks(files)
    return builder


def _changed_text(files: Sequence[EntryMatches]) -> ChangedText:
    old, new = Counter[str](), Counter[str]()
    for file in files:
        for page, lines in ((file.change.before, old), (file.change.after, new)):
            lines.update(map(quoted_line, page.document.lines if page else ()))
    entries = [
        entry
        for file in files
        for entry in (*(old.entry for old in file.unmatched_old), *file.unmatched_new)
    ]
    return ChangedText(
        frozenset(new - old),
        frozenset(old - new),
        frozenset(entry.fact for entry in entries if entry.fact),
    )


def confirmed_facts(commit: TrailCommit, trail: EarlierTrail) -> tuple[FactId, ...]:
    """The facts that a commit confirms, or stops confirming: `build_step` needs their files."""
    named = parse_message(commit.message).reverts if "evert" in commit.message else ()
    stating = (
        each
        for each in (commit, *map(trail.commit_with_id, named))
        if each and "Mdmem-Confirms: " in each.message
    )
    return tuple(fact for each in stating for fact in parse_message(each.message).confirms)
