"""Turn one commit into a step of the trail: which entries and section texts ended and how, which began, and what marks it sets. Pure.

An entry continues while its file, section, text and first line stay the same; of equal entries in one section the last ones began or
ended. What does not continue was moved (its section or file was renamed, its line was rewritten, or it is elsewhere now), superseded, or
removed. What stays in its section keeps its source and confidence, however its line is rewritten. The commit's trailers state what
superseded what; in a person's commit the difference shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from mdmem import layout
from mdmem.history.entry_matches import EntryMatches, match_in_file
from mdmem.history.file_changes import ChangedSections, EarlierTrail, FileChange, changed_revisions
from mdmem.history.messages import quoted_line
from mdmem.history.notes import parse_message
from mdmem.history.reverts import read_reverts
from mdmem.history.sources import ChangedText, Statements
from mdmem.history.step_builder import CombinedLine, StepBuilder
from mdmem.history.step_marks import CommitClaims, StepMarks
from mdmem.model import CommitId, FactId, FilePath
from mdmem.model.trail import Commit, TrailCommit
from mdmem.trail import Step


def is_daily_log(path: FilePath) -> bool:
    """True for the log of a day under its usual name."""
    return layout.log_day(path) is not None


def brings_nothing(commit: CommitId) -> tuple[CommitId, ...]:
    """The commits that a merge brought in, where there are no merges."""
    return ()


def build_step(
    commit: TrailCommit,
    changes: Sequence[FileChange],
    trail: EarlierTrail,
    is_log: Callable[[FilePath], bool] = is_daily_log,
    brought_by: Callable[[CommitId], Collection[CommitId]] = brings_nothing,
) -> Step:
    """Work out what a commit with one parent, or none, did to occurrences, revisions and marks.

    Args:
        commit: the next one.
        changes: the memory files that differ from its parent's, and those of the facts that it confirms.
        trail: of its past.
        is_log: tells the logs, which are only appended to.
        brought_by: gives the commits that a merge brought in.
    """
    sections = [ChangedSections.of(change) for change in changes]
    revisions = [changed_revisions(commit.number, change, parts, trail) for change, parts in zip(changes, sections, strict=True)]
    files = [match_in_file(change, parts, trail) for change, parts in zip(changes, sections, strict=True)]
    builder = step_builder(commit, files, trail, is_log, brought_by)
    return Step(
        ended=tuple(builder.ended),
        begun=tuple(builder.begun),
        ended_revisions=tuple(row for ended, _ in revisions for row in ended),
        revisions=tuple(revision for _, begun in revisions for revision in begun),
        marks=tuple(builder.marks.marks),
        reverts=builder.reverts.stated,
        reverted_commits=builder.reverts.ended,
        paths=tuple(dict.fromkeys(path for change in changes for path in (change.before_path, change.path))),
        ended_otherwise=tuple(builder.ended_otherwise((commit.moment, commit.commit))),
        promotions=builder.promotions,
    )


def step_builder(
    commit: TrailCommit,
    files: Sequence[EntryMatches],
    trail: EarlierTrail,
    is_log: Callable[[FilePath], bool],
    brought_by: Callable[[CommitId], Collection[CommitId]],
    combined: Mapping[FilePath, Mapping[str, CombinedLine]] = MappingProxyType({}),
) -> StepBuilder:
    """Collect what a commit did to entries, from those of its files that do not go on as they were."""
    itself = Commit(id=commit.commit, time=commit.time, author=commit.author, message=commit.message, email=commit.email)
    statements = Statements(itself, cache(lambda: _changed_text(files)))
    claims = [CommitClaims(itself, note) for note in statements.notes]
    reverts = read_reverts(commit.commit, [reverted for note in statements.notes for reverted in note.reverts], trail, brought_by)
    builder = StepBuilder(
        number=commit.number,
        claims=claims,
        trail=trail,
        combined=combined,
        statements=statements,
        is_log=is_log,
        reverts=reverts,
        marks=StepMarks(number=commit.number, own_claims=claims[-1], reverts=reverts, trail=trail, is_log=is_log),
        written=None if commit.is_merge or commit.moment != commit.time else commit.time,
    )
    builder.note_reverted()
    builder.begin_entries(files)
    builder.end_entries(files)
    builder.confirm_entries(files)
    builder.set_marks(files)
    return builder


def _changed_text(files: Sequence[EntryMatches]) -> ChangedText:
    """All that a commit changed, by which the notes of a squash are judged."""
    old, new = Counter[str](), Counter[str]()
    for file in files:
        for page, lines in ((file.change.before, old), (file.change.after, new)):
            lines.update(map(quoted_line, page.document.lines if page else ()))
    entries = [entry for file in files for entry in (*(old.entry for old in file.unmatched_old), *file.unmatched_new)]
    return ChangedText(frozenset(new - old), frozenset(old - new), frozenset(entry.fact for entry in entries if entry.fact))


def confirmed_facts(commit: TrailCommit, trail: EarlierTrail) -> tuple[FactId, ...]:
    """The facts that a commit confirms, or whose confirmation it takes back: `build_step` needs their files too."""
    named = parse_message(commit.message).reverts if "evert" in commit.message else ()
    stating = (each for each in (commit, *map(trail.commit_with_id, named)) if each and "Mdmem-Confirms: " in each.message)
    return tuple(fact for each in stating for fact in parse_message(each.message).confirms)
