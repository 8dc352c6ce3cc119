"""The memory files that a commit changed, before and after, and which of their sections differ. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from mdmem.document import Document
from mdmem.entries import entries
from mdmem.history.sections import SectionPart, changed_ranges, match_sections, whole_range
from mdmem.model import CommitId, FactId, FilePath, SectionPath
from mdmem.model.trail import Entry, Mark, Occurrence, Revision, StatedRevert, TrailCommit
from mdmem.startup.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Page:
    """A file as one commit has it; `tags` are the file's own, `daily` the names of daily logs, where the settings give any."""

    document: Document
    path: FilePath
    tags: tuple[str, ...] = ()
    daily: str | None = None

    def entries(self, start: int = 0, end: int | None = None) -> tuple[Entry, ...]:
        """The entries of all lines, or of those from `start` up to `end`, counted from 0."""
        return entries(self.document, self.path, self.tags, start, end, self.daily)

    def entries_of(self, sections: Collection[SectionPath]) -> list[Entry]:
        """The entries of some sections, in the order of the file."""
        own = [section for section in self.document.sections if section.path in sections]
        ranges = [(0, self.document.preamble_end)] if () in sections else []
        ranges += [(section.start, section.end) for section in own]
        return [entry for start, end in ranges for entry in self.entries(start, end) if entry.section in sections]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A memory file before and after a commit; None where the commit has no such file. A renamed file has another `before_path`."""

    path: FilePath
    before_path: FilePath
    before: Page | None
    after: Page | None

    @property
    def is_renamed(self) -> bool:
        """True where the file had another name before."""
        return self.path != self.before_path


class EarlierTrail(Protocol):
    """The part of the trail that replaying a commit needs, of the commits of its past."""

    def live_occurrences(self, path: FilePath, among: Collection[SectionPath] | None = None) -> tuple[Occurrence, ...]:
        """The occurrences in a file that have not ended; all, or those in sections `among` these paths."""
        ...

    def live_numbers(self, path: FilePath, among: Collection[SectionPath]) -> frozenset[int]:
        """The rows of the occurrences in a file that have not ended."""
        ...

    def live_revisions(self, path: FilePath, among: Collection[SectionPath] | None = None) -> tuple[Revision, ...]:
        """The revisions in a file that have not ended; all, or those of sections `among` these paths."""
        ...

    def last_revision(self, path: FilePath, section: SectionPath, nth: int) -> Revision | None:
        """The newest revision under a path of a section that is there no more, under any path."""
        ...

    def occurrences_of(self, fact: FactId) -> tuple[Occurrence, ...]:
        """Every occurrence of a fact, oldest first."""
        ...

    def logged_facts_citing(self, cited: str) -> tuple[FactId, ...]:
        """The facts of logs that were said in some lines of a session."""
        ...

    def occurrences_ended(self, after: int, upto: int) -> tuple[Occurrence, ...]:
        """The occurrences that commits after `after` and up to `upto` ended, in this order."""
        ...

    def order(self, number: int) -> tuple[int, CommitId]:
        """The place of a commit among others: its moment, then its id."""
        ...

    def replaced_after(self, path: FilePath, time: int) -> tuple[Occurrence, ...]:
        """The occurrences in a file that commits later than a time replaced."""
        ...

    def marks(self, path: FilePath) -> tuple[Mark, ...]:
        """The marks in force on the live occurrences in a file."""
        ...

    def overruled_marks(self, path: FilePath) -> tuple[Mark, ...]:
        """The marks that say of live occurrences in a file that they are over, and that the file itself overrules."""
        ...

    def stated_marks_of(self, number: int) -> tuple[Mark, ...]:
        """The marks in force on one occurrence."""
        ...

    def marks_stated_by(self, commit: CommitId) -> tuple[Mark, ...]:
        """The marks that a commit states; ended ones too, oldest first."""
        ...

    def commits_with_marks_from(self, number: int) -> tuple[CommitId, ...]:
        """The commits whose marks began with a commit."""
        ...

    def reverts(self) -> tuple[StatedRevert, ...]:
        """Every revert that a commit states, in the order of history."""
        ...

    def stating_commit(self, digits: str) -> CommitId | None:
        """The commit with marks or reverts whose id begins with these digits, where only one does."""
        ...

    def commit_with_id(self, commit: CommitId) -> TrailCommit | None:
        """The commit with this id, or with an id that begins so where only one does."""
        ...


@dataclass(frozen=True, slots=True)
class ChangedSections:
    """The sections of a file that differ, before and after, with their lines (from 0).

    `continuation` has the section that each old one became, by its position in the old document.
    """

    old: tuple[SectionPart, ...]
    new: tuple[SectionPart, ...]
    continuation: Mapping[int, SectionPart]
    old_lines: tuple[int, int]
    new_lines: tuple[int, int]

    @classmethod
    def of(cls, change: FileChange) -> ChangedSections:
        """Compare the two versions of a file."""
        before = change.before.document if change.before else None
        after = change.after.document if change.after else None
        old, new = (whole_range(before), whole_range(after)) if change.is_renamed else changed_ranges(before, after)
        old_parts, new_parts = old.parts, new.parts
        # An entry may have an equal in another section of the same path, which then has to be compared too.
        if not old.outside().isdisjoint(part.section for part in (*old_parts, *new_parts)):
            old, new = whole_range(before), whole_range(after)
        return cls(
            old=old_parts,
            new=new_parts,
            continuation=match_sections(old_parts, new_parts),
            old_lines=old.lines,
            new_lines=new.lines,
        )

    @property
    def paths(self) -> set[SectionPath]:
        """The paths of the sections that differ, before and after."""
        return {part.section for part in (*self.old, *self.new)}

    @property
    def new_paths(self) -> dict[int, SectionPath]:
        """The paths that old sections have in the new document, by their positions in the old one."""
        return {position: part.section for position, part in self.continuation.items()}

    def renamed(self, before: Document) -> Document:
        """The old document with its sections under the paths that they have in the new one."""
        paths = self.new_paths
        sections = tuple(replace(section, path=paths.get(section.index + 1, section.path)) for section in before.sections)
        return before if sections == before.sections else replace(before, sections=sections)


def changed_revisions(number: int, change: FileChange, sections: ChangedSections, trail: EarlierTrail) -> tuple[list[int], list[Revision]]:
    """The rows of the revisions of a file that commit `number` ended, and the revisions that it began."""
    paths = {part.section for part in sections.old}
    rows = {(row.section, row.nth): row for row in trail.live_revisions(change.before_path, paths)} if paths else {}
    old = {part.position: row for part in sections.old if (row := rows.get((part.section, part.nth)))}
    previous = {part.position: old[position] for position, part in sections.continuation.items() if position in old}
    ended = {row.number for row in old.values()}
    begun = []
    for part in sections.new:
        before = previous.get(part.position) or (part.text and trail.last_revision(change.path, part.section, part.nth)) or None
        if (
            before
            and before.number in ended
            and (before.path, before.section, before.nth, before.text) == (change.path, part.section, part.nth, part.text)
        ):
            ended.discard(before.number)
        elif part.text:
            revision = Revision(
                lineage=before.lineage if before else 0,
                begun=number,
                path=change.path,
                section=part.section,
                nth=part.nth,
                text=part.text,
                unchanged_text=part.position in previous and before is not None and before.text == part.text,
                previous=(before.number,) if before else (),
            )
            begun.append(revision)
    return sorted(ended), begun
