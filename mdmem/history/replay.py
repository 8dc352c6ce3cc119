"""Turn one commit into a step of the trail: which entries and section texts ended and how, which began, and what marks it sets. Pure.

An entry continues while its file, section, text and first line stay the same; of equal entries in one section the last ones began or
ended. What does not continue was moved (its section or file was renamed, its line was rewritten, or it is elsewhere now), superseded, or
removed. What stays in its section keeps its source and confidence, however its line is rewritten. The commit's trailers state what
superseded what; in a person's commit the difference shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from mdmem import layout
from mdmem.document import lines_without_ends
from mdmem.history.entry_matches import EntryMatches, match_in_file
from mdmem.history.file_changes import ChangedSections, EarlierTrail, FileChange, Page, changed_revisions
from mdmem.history.messages import quoted_line
from mdmem.history.notes import parse_message
from mdmem.history.reverts import read_reverts
from mdmem.history.sources import ChangedText, Statements
from mdmem.history.step_builder import StepBuilder
from mdmem.history.step_marks import CommitClaims, StepMarks
from mdmem.model import CommitId, FactId, FilePath
from mdmem.model.trail import Commit, MainlineCommit, MergedLine, Origin, Revision
from mdmem.trail import Step


def _is_daily(path: FilePath) -> bool:
    return layout.log_day(path) is not None


def _unknown(commit: CommitId, path: FilePath) -> None:
    return None


def _nothing(commit: CommitId) -> tuple[CommitId, ...]:
    return ()


def build_step(
    commit: MainlineCommit,
    changes: Sequence[FileChange],
    trail: EarlierTrail,
    side_commits: Sequence[Commit] = (),
    merged_origins: Mapping[FilePath, Mapping[str, Origin]] = MappingProxyType({}),
    combined_origins: Mapping[FilePath, Mapping[str, Origin]] = MappingProxyType({}),
    is_log: Callable[[FilePath], bool] = _is_daily,
    page_at: Callable[[CommitId, FilePath], Page | None] = _unknown,
    brought_by: Callable[[CommitId], Collection[CommitId]] = _nothing,
) -> Step:
    """Work out what a mainline commit did to occurrences, revisions and marks.

    Args:
        commit: the next one; a merge did what differs from its first parent.
        changes: the memory files that differ, and those of the facts that it confirms.
        trail: up to the commit before.
        side_commits: those that a merge brought in, oldest first.
        merged_origins: by file, the origin of each line (without white space around it) that these brought in.
        combined_origins: the same of each line that the merge made of both sides' lines.
        is_log: tells the logs, which are only appended to.
        page_at: reads a file as a side commit has it; None where that has no such file.
        brought_by: gives the commits that a merge brought in.
    """
    itself = Commit(id=commit.commit, time=commit.time, author=commit.author, message=commit.message, email=commit.email)
    sections = [ChangedSections.of(change) for change in changes]
    revisions = [changed_revisions(commit.number, change, parts, trail) for change, parts in zip(changes, sections, strict=True)]
    files = [match_in_file(change, parts, trail) for change, parts in zip(changes, sections, strict=True)]
    changed_text = cache(lambda: _changed_text(files))
    stated = [Statements(each, changed_text) for each in (*side_commits, itself)]
    claims = [CommitClaims(each.commit, note) for each in stated for note in each.notes]
    reverts = read_reverts(
        {each.commit.id: [reverted for note in each.notes for reverted in note.reverts] for each in stated}, trail, brought_by
    )
    builder = StepBuilder(
        number=commit.number,
        claims=claims,
        trail=trail,
        merged_origins=merged_origins,
        combined_origins=combined_origins,
        statements=stated[-1],
        is_log=is_log,
        reverts=reverts,
        marks=StepMarks(number=commit.number, own_claims=claims[-1], reverts=reverts, trail=trail, is_log=is_log, page_at=page_at),
    )
    builder.drop_reverted()
    builder.begin_entries(files)
    builder.end_entries(files)
    builder.confirm_entries(files)
    builder.set_marks()
    begun_revisions = tuple(revision for _, begun in revisions for revision in begun)
    return Step(
        ended=tuple(builder.ended),
        begun=tuple(builder.begun),
        ended_revisions=tuple(row for ended, _ in revisions for row in ended),
        revisions=begun_revisions,
        marks=tuple(builder.marks.marks),
        reverts=reverts.stated,
        reverted_commits=reverts.ended,
        paths=tuple(dict.fromkeys(path for change in changes for path in (change.before_path, change.path))),
        merged_lines=tuple(_merged_lines(begun_revisions, side_commits, merged_origins)),
    )


def _changed_text(files: Sequence[EntryMatches]) -> ChangedText:
    """All that a commit changed, by which the notes of a squash are judged."""
    old, new = Counter[str](), Counter[str]()
    for file in files:
        for page, lines in ((file.change.before, old), (file.change.after, new)):
            lines.update(map(quoted_line, page.document.lines if page else ()))
    entries = [entry for file in files for entry in (*(old.entry for old in file.unmatched_old), *file.unmatched_new)]
    return ChangedText(frozenset(new - old), frozenset(old - new), frozenset(entry.fact for entry in entries if entry.fact))


def _merged_lines(
    revisions: Sequence[Revision], side_commits: Sequence[Commit], merged_origins: Mapping[FilePath, Mapping[str, Origin]]
) -> Iterator[MergedLine]:
    """The lines of revisions that side commits brought in."""
    commits = {commit.id: commit for commit in side_commits}
    lines = (
        (revision.path, line.strip())
        for revision in revisions
        if revision.path in merged_origins
        for line in lines_without_ends(revision.text)
    )
    for path, line in dict.fromkeys(lines):
        if line in merged_origins[path]:
            yield MergedLine(path, line, commits[merged_origins[path][line].commit])


def confirmed_facts(commits: Sequence[Commit | MainlineCommit], trail: EarlierTrail) -> tuple[FactId, ...]:
    """The facts that commits confirm, or whose confirmation they take back: `build_step` needs their files too."""
    reverted = [
        trail.commit_with_id(commit) for each in commits if "evert" in each.message for commit in parse_message(each.message).reverts
    ]
    stating = (each for each in (*commits, *reverted) if each and "Mdmem-Confirms: " in each.message)
    return tuple(fact for each in stating for fact in parse_message(each.message).confirms)
