"""Collect what one commit did to occurrences and marks, from the matched entries and from what the commits state. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from mdmem.editors.fact_difference import fact_difference
from mdmem.history.entry_matches import EntryMatches, MovedEntry, OldEntry, entry_content, match_across
from mdmem.history.file_changes import EarlierTrail, FileChange, Page
from mdmem.history.messages import ParsedNote, section_name
from mdmem.history.notes import parse_message
from mdmem.history.sources import Statements, restated
from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.model.trail import Commit, Entry, Fate, MainlineCommit, Mark, MarkKind, Occurrence, Origin
from mdmem.startup.records import dataclass, field, replace
from mdmem.trail import Ending

_NO_ORIGINS: Mapping[str, Origin] = MappingProxyType({})
_CLOSING = (MarkKind.SUPERSEDED, MarkKind.RETRACTED)
"""The marks by which a fact is no longer current."""


@dataclass(frozen=True, slots=True)
class CommitClaims:
    """A commit with what its message states."""

    commit: Commit
    note: ParsedNote

    def is_about(self, path: FilePath, section: SectionPath) -> bool:
        """True if the commit names this section as its own."""
        return self.note.path in (None, path) and self.note.section == section_name(section)


@dataclass(frozen=True, slots=True)
class StatedSupersession:
    """A commit states that one fact has another as its successor, or (None) that it has none."""

    claims: CommitClaims
    old: FactId
    new: FactId | None


@dataclass(slots=True)
class StepBuilder:
    """The occurrences and marks of a step, collected while a commit is replayed.

    Call `drop_reverted`, `begin_entries`, `end_entries`, `confirm_entries` and `set_marks` once each, in this order. The last of `claims`
    is the mainline commit's own, those before it are of side commits and of commits squashed into one, oldest first. `statements` tell whose
    statement a line is that the commit itself brings in, `merged_origins` are those of lines from side commits, by file and stripped line.

    In a log the text stays, and a mark says what of it is over. In a file that is edited in place the text is right: what stands there is
    current, whatever a commit says of it.
    """

    number: int
    claims: list[CommitClaims]
    trail: EarlierTrail
    merged_origins: Mapping[FilePath, Mapping[str, Origin]]
    statements: Statements
    is_log: Callable[[FilePath], bool]
    """Tells the logs, which are only appended to, from the files that are edited in place."""
    page_at: Callable[[CommitId, FilePath], Page | None]
    """Reads a file as a side commit has it."""
    ended: list[Ending] = field(default_factory=list)
    begun: list[Occurrence] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    reverted_commits: set[int] = field(default_factory=set)
    """Numbers of mainline commits whose marks end."""
    _multi_value_commits: set[CommitId] = field(default_factory=set)
    """The commits that state that a key has several values."""
    _reverting_commits: set[CommitId] = field(default_factory=set)
    """The commits that take others back."""
    _reverted: Sequence[MainlineCommit] = ()
    _reverts_side_commits: bool = False
    """True if some of the reverted commits are not on the mainline."""
    _gone_with_reverted: dict[tuple[FactId | None, str], Occurrence] = field(default_factory=dict)
    """The entries that the reverted commits took out, by fact or text."""
    _ended_rows: set[int] = field(default_factory=set)
    """The rows of all occurrences that end."""
    _overruled: Mapping[int, Mark] = field(default_factory=dict)
    """The overruled marks on occurrences that move, by their rows."""
    _unapplied: list[StatedSupersession] = field(default_factory=list)
    """Supersessions of facts that stay in their files."""

    def drop_reverted(self) -> None:
        """Note the mainline commits that are reverted, and drop the claims of side commits that were reverted on their side."""
        reverted = {commit for claims in self.claims for commit in claims.note.reverts}
        self._reverted = [earlier for commit in sorted(reverted) if (earlier := self.trail.commit_with_id(commit))]
        self.reverted_commits = {earlier.number for earlier in self._reverted}
        self.claims = [*(claims for claims in self.claims[:-1] if not claims.commit.id.startswith(tuple(reverted))), self.claims[-1]]
        self._multi_value_commits = {claims.commit.id for claims in self.claims if claims.note.also}
        self._reverting_commits = {claims.commit.id for claims in self.claims if claims.note.reverts}
        self._reverts_side_commits = len(self.reverted_commits) < len(reverted)
        for number in sorted(self.reverted_commits):
            gone = (each for each in self.trail.occurrences_ended(number - 1, number) if each.fate is not Fate.MOVED)
            self._gone_with_reverted |= {entry_content(each.entry): each for each in gone}

    # New occurrences.

    def begin_entries(self, files: Sequence[EntryMatches]) -> None:
        """Begin the occurrences of new entries and, with their marks, of those that moved."""
        match_across(files)
        self._ended_rows = {old.occurrence.number for file in files for old in (*file.unmatched_old, *(moved.old for moved in file.moved))}
        left = {moved.old.occurrence.entry.path for file in files for moved in file.moved}
        self._overruled = {mark.occurrence: mark for path in left for mark in self.trail.overruled_marks(path)}
        for file in files:
            arrivals: list[tuple[Entry, MovedEntry | None]] = [(moved.entry, moved) for moved in file.moved]
            arrivals += [(entry, None) for entry in file.unmatched_new]
            for entry, moved in sorted(arrivals, key=lambda arrival: arrival[0].start_line):
                self._begin(entry, moved, file.change.after)

    def _begin(self, entry: Entry, moved: MovedEntry | None, page: Page | None) -> None:
        origin, also = self._origin(entry, page)
        if moved is None:
            if origin.commit in self._reverting_commits and (gone := self._brought_back(entry)):
                origin = restated(origin, gone.origin)
            self.begun.append(Occurrence(entry=entry, begun=self.number, origin=origin, also=also))
            return
        before = moved.old.occurrence
        self.ended.append(Ending(before.number, moved.old.entry, Fate.MOVED))
        if moved.same_line:
            origin, also = before.origin, False
        elif moved.same_section:
            origin = restated(origin, before.origin)
        self.begun.append(Occurrence(entry=entry, begun=self.number, origin=origin, also=before.also or also))
        row = -len(self.begun)
        if self.is_log(entry.path):
            self.marks += [replace(mark, occurrence=row) for mark in self._closing_marks(before.number)]
        elif before.number in self._overruled:
            self.marks.append(replace(self._overruled[before.number], occurrence=row))

    def _origin(self, entry: Entry, page: Page | None) -> tuple[Origin, bool]:
        """The origin of an entry that a commit brought in, and whether that states that its key has several values."""
        if merged := self.merged_origins.get(entry.path, _NO_ORIGINS).get(entry.first_line):
            return merged, merged.commit in self._multi_value_commits
        lines = page.document.lines[entry.start_line - 1 : entry.end_line] if page else ()
        note = self.statements.note(lines, entry.path, entry.section)
        return self.statements.origin(note), note.also

    def _brought_back(self, entry: Entry) -> Occurrence | None:
        """The occurrence that a revert brings back: one that the reverted commit ended; where that is a side commit, the last that ended."""
        gone = self._gone_with_reverted.get(entry_content(entry))
        if gone or not self._reverts_side_commits:
            return gone
        ended = [each for each in self.trail.occurrences_of(entry.fact) if each.fate not in (None, Fate.MOVED)] if entry.fact else []
        in_section = [each for each in ended if _location(each.entry) == _location(entry)]
        return next(reversed(in_section or ended), None)

    # Ended occurrences.

    def end_entries(self, files: Sequence[EntryMatches]) -> None:
        """End what has no counterpart: superseded as the commits state or, of edits by hand, as the difference shows; else removed."""
        remaining = {old.occurrence.number: old for file in files for old in file.unmatched_old}
        by_fact: dict[FactId | None, list[OldEntry]] = {}
        for old in remaining.values():
            by_fact.setdefault(old.entry.fact, []).append(old)
        for supersession in self._supersessions():
            candidates = [old for old in by_fact.get(supersession.old, ()) if old.occurrence.number in remaining]
            if candidates:
                in_own_section = [old for old in candidates if supersession.claims.is_about(old.entry.path, old.section)]
                self._supersede(remaining, (in_own_section or candidates)[0], supersession.new)
            else:
                self._unapplied.append(supersession)
        if self.claims[-1].note.is_by_hand:
            for file in files:
                self._end_by_difference(file, remaining)
        self.ended += [Ending(row, old.entry, Fate.REMOVED) for row, old in remaining.items()]

    def _supersede(self, remaining: dict[int, OldEntry], old: OldEntry, successor: FactId | None) -> None:
        del remaining[old.occurrence.number]
        self.ended.append(Ending(old.occurrence.number, old.entry, Fate.SUPERSEDED, successor))

    def _end_by_difference(self, file: EntryMatches, remaining: dict[int, OldEntry]) -> None:
        """End the facts of a file for which the difference shows a successor."""
        facts = [old for old in file.unmatched_old if old.occurrence.number in remaining and old.entry.fact]
        change = file.change
        if not (facts and change.before and change.after and any(entry.fact for entry in file.unmatched_new)):
            return
        new_facts = {(entry.section, entry.fact) for entry in file.unmatched_new}
        before = file.sections.renamed(change.before.document)
        for pair in fact_difference(before, change.after.document, file.sections.paths).supersedes:
            candidates = [old for old in facts if old.entry.fact == pair.old and old.occurrence.number in remaining]
            in_one_section = [old for old in candidates if (old.section, pair.new) in new_facts]
            if candidates:
                self._supersede(remaining, (in_one_section or candidates)[0], pair.new)

    def _supersessions(self) -> Iterator[StatedSupersession]:
        """The supersessions that the commits state; where side commits replaced a fact several times, with the last successor."""
        stated = [StatedSupersession(claims, old, new) for claims in self.claims for old, new in claims.note.supersedes]
        successors: dict[FactId, list[tuple[int, FactId | None]]] = {}
        for index, supersession in enumerate(stated):
            successors.setdefault(supersession.old, []).append((index, supersession.new))
        for index, supersession in enumerate(stated):
            new, last_index, passed = supersession.new, index, {supersession.old}
            while new is not None and new not in passed and not self._is_live(new):
                candidates = successors.get(new, ())
                # In one message, the squash of several commits, the newest may come first.
                following = next(
                    (
                        (later, fact)
                        for later, fact in candidates
                        if later > last_index or stated[later].claims is stated[last_index].claims
                    ),
                    None,
                )
                if following is None:
                    break
                passed.add(new)
                last_index, new = following
            if len(passed) == 1 or new != supersession.old:
                yield replace(supersession, new=new)

    def _is_live(self, fact: FactId) -> bool:
        return any(True for _ in self._live_occurrences(fact))

    def _live_occurrences(self, fact: FactId) -> Iterator[tuple[int, Occurrence]]:
        """The occurrences of a fact that are live after this step, with their rows; rows of those that begin here are negative."""
        for occurrence in self.trail.occurrences_of(fact):
            if occurrence.ended is None and occurrence.number not in self._ended_rows:
                yield occurrence.number, occurrence
        for number, occurrence in enumerate(self.begun, 1):
            if occurrence.entry.fact == fact:
                yield -number, occurrence

    # Confirmed occurrences.

    def confirm_entries(self, files: Sequence[EntryMatches]) -> None:
        """Give unchanged entries the source of a commit that says the same from a stronger one; each goes on as a new occurrence.

        Where such a commit is reverted, they get their earlier source back.
        """
        changes = {file.change.path: file.change for file in files}
        for commit in self._reverted:
            confirmed = parse_message(commit.message).confirms
            for before in self.trail.occurrences_ended(commit.number - 1, commit.number) if confirmed else ():
                if before.fate is Fate.MOVED and before.entry.fact in confirmed:
                    self._take_confirmation_back(before, changes)
        for claims in self.claims:
            for fact in claims.note.confirms:
                self._confirm(claims, fact, changes)

    def _take_confirmation_back(self, before: Occurrence, changes: Mapping[FilePath, FileChange]) -> None:
        for row, each in list(self._live_occurrences(before.entry.fact or FactId(""))):
            if row > 0 and each.begun >= (before.ended or 0) and _location(each.entry) == _location(before.entry):
                self._restate(row, each, restated(each.origin, before.origin), changes)

    def _confirm(self, claims: CommitClaims, fact: FactId, changes: Mapping[FilePath, FileChange]) -> None:
        meant = self._meant_occurrence(claims, fact, None)
        if meant is None:
            return
        row, _ = meant
        if row < 0:
            begun = self.begun[-row - 1]
            self.begun[-row - 1] = replace(begun, origin=_strengthened(begun.origin, claims.note))
            return
        occurrence = next(each for number, each in self._live_occurrences(fact) if number == row)
        self._restate(row, occurrence, _strengthened(occurrence.origin, claims.note), changes)

    def _restate(self, row: int, occurrence: Occurrence, origin: Origin, changes: Mapping[FilePath, FileChange]) -> None:
        """Have a live occurrence go on as a new one with another origin."""
        path = occurrence.entry.path
        change = changes.get(path)
        before = _same_entry(change.before if change else None, occurrence.entry)
        after = _same_entry(change.after if change else None, occurrence.entry)
        if before is None or after is None or origin == occurrence.origin:
            return
        self.ended.append(Ending(row, before, Fate.MOVED))
        self._ended_rows.add(row)
        self.begun.append(Occurrence(entry=after, begun=self.number, origin=origin, also=occurrence.also))
        overruled = (mark for mark in self.trail.overruled_marks(path) if mark.occurrence == row)
        self.marks += [replace(mark, occurrence=-len(self.begun)) for mark in overruled]

    # Marks.

    def set_marks(self) -> None:
        """Set the marks that the commits state."""
        for supersession in self._unapplied:
            if not self._had_ended_before(supersession):
                self._mark(MarkKind.SUPERSEDED, supersession.claims, supersession.old, supersession.new)
        for claims in self.claims:
            for fact in claims.note.retracts:
                self._mark(MarkKind.RETRACTED, claims, fact, None)
            self.marks += [Mark(kind=MarkKind.CONTRADICTS, begun=self.number, fact=a, other=b) for a, b in claims.note.contradicts]
            self.marks += [Mark(kind=MarkKind.RESOLVED, begun=self.number, fact=a, other=b) for a, b in claims.note.resolves]

    def _had_ended_before(self, supersession: StatedSupersession) -> bool:
        """True if a fact that a side commit replaced had already ended here in that commit's section; other sections do not count."""
        claims = supersession.claims
        if claims is self.claims[-1]:
            return False
        occurrences = self.trail.occurrences_of(supersession.old)
        in_section = [each for each in occurrences if claims.is_about(each.entry.path, each.entry.section)]
        return bool(in_section) and all(each.ended is not None for each in in_section)

    def _mark(self, kind: MarkKind, claims: CommitClaims, fact: FactId, other: FactId | None) -> None:
        """Mark the live occurrence of a fact that a commit speaks of, unless its successor is no longer current itself."""
        occurrence = self._meant_occurrence(claims, fact, other)
        if occurrence is None:
            return
        row, path = occurrence
        if not self.is_log(path):
            self._overrule(claims, fact, other, row, path)
        elif other is None or self._is_current(other, besides=row):
            self.marks.append(Mark(kind=kind, begun=self.number, fact=fact, other=other, occurrence=row))

    def _meant_occurrence(self, claims: CommitClaims, fact: FactId, other: FactId | None) -> tuple[int, FilePath] | None:
        """The row and file of the current occurrence that a commit speaks of: in its own section before others, then in the newest.

        Of equal ones in one section it is the earliest: a commit speaks of what was there before it.
        """
        current = [
            (row, each) for row, each in self._live_occurrences(fact) if not self._is_closed(row) and not (fact == other and row < 0)
        ]
        if not current:
            return None

        def nearness(numbered: tuple[int, Occurrence]) -> tuple[bool, bool, int, int]:
            row, each = numbered
            return claims.is_about(each.entry.path, each.entry.section), each.entry.path == claims.note.path, each.begun, abs(row)

        nearest = max(current, key=nearness)[1].entry
        equal = (row for row, each in self._live_occurrences(fact) if _location(each.entry) == _location(nearest))
        rows = sorted(equal, key=lambda row: (row < 0, abs(row)))
        open_rows = [row for row in rows[: self._count_at(claims, nearest, len(rows))] if row in dict(current)]
        return (open_rows[0], nearest.path) if open_rows else None

    def _count_at(self, claims: CommitClaims, entry: Entry, count: int) -> int:
        """Count those of `count` equal entries of a section that a commit knew of: a side commit knows none that came in here since."""
        if count < 2 or claims.commit.id == self.claims[-1].commit.id:
            return count
        page = self.page_at(claims.commit.id, entry.path)
        return sum((each.section, each.fact) == (entry.section, entry.fact) for each in page.entries()) if page else count

    def _overrule(self, claims: CommitClaims, fact: FactId, other: FactId | None, row: int, path: FilePath) -> None:
        """Note that a commit says of an occurrence that it is over, though its file keeps it. What a merge keeps, the merge decides."""
        if claims is self.claims[-1] or claims.note.path != path:
            self.marks.append(Mark(kind=MarkKind.OVERRULED, begun=self.number, fact=fact, other=other, occurrence=row))

    def _is_current(self, fact: FactId, besides: int) -> bool:
        """True if a fact has a current occurrence after this step, besides the one in a row: what is over supersedes nothing."""
        return any(row != besides and not self._is_closed(row) for row, _ in self._live_occurrences(fact))

    def _closing_marks(self, row: int) -> list[Mark]:
        """The marks in force by which an earlier occurrence is no longer current."""
        return [mark for mark in self.trail.marks_of(row) if mark.kind in _CLOSING and mark.begun not in self.reverted_commits]

    def _is_closed(self, row: int) -> bool:
        in_this_step = any(mark.occurrence == row and mark.kind in _CLOSING for mark in self.marks)
        return in_this_step or (row > 0 and bool(self._closing_marks(row)))


def _strengthened(origin: Origin, note: ParsedNote) -> Origin:
    """An origin with the statement of a note that says the same words, where that is the stronger one; the user's own word ends a claim."""
    source = note.provenance.source
    is_own_word = source is origin.source is Source.USER_STATED and origin.claimed_by is not None and note.claimed_by is None
    if source.strength <= origin.source.strength and not is_own_word:
        return origin
    return replace(origin, source=source, confidence=note.provenance.confidence, claimed_by=note.claimed_by)


def _same_entry(page: Page | None, entry: Entry) -> Entry | None:
    """The last entry of a file that reads as one of an earlier commit does."""
    entries = page.entries() if page else ()
    identity = (entry.section, entry.text, entry.first_line)
    return next((each for each in reversed(entries) if (each.section, each.text, each.first_line) == identity), None)


def _location(entry: Entry) -> tuple[FilePath, SectionPath]:
    return entry.path, entry.section
