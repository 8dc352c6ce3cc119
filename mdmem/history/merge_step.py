"""Turn a merge into a step of the trail: only what no side had done already is its own. Pure.

What stands in it goes on as it began, on whichever side; what it has not got ended as a side ended it. The same line brought in on two
sides is one, begun by the earlier. The merge's own doing is what none of its sides has, and what all had that could have it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from mdmem.history.divergences import merge_contradictions
from mdmem.history.entry_matches import EntryMatches, MovedEntry, entry_content, pair_by_key
from mdmem.history.file_changes import ChangedSections, EarlierTrail, FileChange
from mdmem.history.merge_entries import EntryFates, MergeFile, MergeParent, Order, match_entries, same_content
from mdmem.history.merge_revisions import match_revisions
from mdmem.history.replay import step_builder
from mdmem.history.step_builder import CombinedLine, StepBuilder
from mdmem.model import CommitId, FactId, FilePath
from mdmem.model.trail import Entry, Fate, Mark, MarkKind, Occurrence, TrailCommit
from mdmem.startup.records import replace
from mdmem.trail import Ending, Step

Combination = tuple[FilePath, str, tuple[str, str]]
"""A line that merging made: its file, its first line, and those of the two lines that it is made of."""


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
        commit: the next one.
        files: the memory files that several sides touched, and those that it changed itself.
        parents: its sides, in an order that does not depend on who merged.
        trail: of its past.
        order: tells which of two commits is the earlier.
        is_log: tells the logs, which are only appended to.
        brought_by: gives the commits that a merge brought in.
        combinations: merges files once more: the lines that are made of both sides' words.
        replaced: the occurrences that several sides ended or marked.
    """
    revisions = [match_revisions(commit.number, file, parents, trail, order) for file in files]
    fates = [match_entries(file, parents, trail, order, each.sections) for file, each in zip(files, revisions, strict=True)]
    own = [file.path for file, fate in zip(files, fates, strict=True) if fate.new]
    combined = _combined_lines(combinations(own), dict(zip((file.path for file in files), fates, strict=True)), order) if own else {}
    changed = [_own_changes(file, fate) for file, fate in zip(files, fates, strict=True) if fate.new or fate.taken_out]
    builder = step_builder(commit, changed, trail, is_log, brought_by, combined)
    sides = [parent.trail for parent in parents]
    contradictions = list(merge_contradictions(replaced, sides, order, _entries_in_merge(builder, fates)))
    return Step(
        ended=(*builder.ended, *(ending for fate in fates for ending in fate.ended)),
        begun=tuple(builder.begun),
        ended_revisions=tuple(row for each in revisions for row in each.ended),
        revisions=tuple(revision for each in revisions for revision in each.begun),
        marks=_marks(builder, contradictions),
        reverts=builder.reverts.stated,
        reverted_commits=builder.reverts.ended,
        paths=tuple(dict.fromkeys(path for file in files for path in (*file.before, file.path))),
        standing=tuple(row for fate in fates for row in fate.standing),
        standing_revisions=tuple(row for each in revisions for row in each.standing),
        promotions=builder.promotions,
        joined_revisions=tuple(pair for each in revisions for pair in each.joined),
    )


def _entries_in_merge(builder: StepBuilder, fates: Iterable[EntryFates]) -> Callable[[FactId], list[Entry]]:
    """A function that gives the entries of a fact that a merge has."""
    ended = {ending.number for fate in fates for ending in fate.ended}

    def entries(fact: FactId) -> list[Entry]:
        return [each.entry for row, each in builder.marks.live_occurrences(fact) if row not in ended]

    return entries


def _marks(builder: StepBuilder, contradictions: Sequence[Mark]) -> tuple[Mark, ...]:
    """The marks of a merge: what its sides tell of facts is not told by its message once more."""
    pairs = {frozenset((mark.fact, mark.other)) for mark in contradictions}
    stated = (
        mark for mark in builder.marks.marks if mark.kind is not MarkKind.CONTRADICTS or frozenset((mark.fact, mark.other)) not in pairs
    )
    return (*stated, *contradictions)


def _combined_lines(
    combinations: Iterable[Combination], fates: Mapping[FilePath, EntryFates], order: Order
) -> dict[FilePath, dict[str, CombinedLine]]:
    """The new lines of a merge that are made of one of each side: these have the later moment and the weaker source of the two."""
    combined: dict[FilePath, dict[str, CombinedLine]] = {}
    for path, line, parts in combinations:
        fate = fates[path]
        if all(entry.first_line != line for entry in fate.new):
            continue
        made_of = [each for part in parts if (each := _with_first_line(fate.sides, part)) is not None]
        if not made_of:
            continue
        later = max(made_of, key=lambda each: order(each.begun))
        weakest = min((each.origin for each in made_of), key=lambda each: (each.source.strength, each.confidence, each.claimed_by is None))
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
            fate.taken_out = [old for old in fate.taken_out if old.occurrence.number != later.number]
            fate.ended.append(Ending(number=later.number, entry=later.entry, fate=Fate.JOINED, by=later.begun))
    return combined


def _with_first_line(occurrences: Iterable[Occurrence], line: str) -> Occurrence | None:
    return next((each for each in occurrences if each.entry.first_line == line), None)


def _own_changes(file: MergeFile, fate: EntryFates) -> EntryMatches:
    """The changes of a merge itself to the entries of a file."""
    before = next(filter(None, map(file.page_before, range(len(file.before)))), None) if file.same_as is None else None
    change = FileChange(file.path, file.path, before, file.page)
    pairs, old, new = pair_by_key(fate.taken_out, fate.new, same_content, lambda entry: (entry.section, entry_content(entry)))
    return EntryMatches(
        change=change,
        sections=ChangedSections.of(change),
        moved=[
            MovedEntry(before, entry, same_line=before.entry.first_line == entry.first_line, same_section=True) for before, entry in pairs
        ],
        unmatched_old=old,
        unmatched_new=new,
    )
