"""Memory as it was: which state a date or a commit means, and what a search finds as it stood in that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date

from mdmem import contradictions
from mdmem.catchup import pages
from mdmem.catchup.entry_states import entry_identity
from mdmem.errors import HistoryProblem
from mdmem.model import FactId, FilePath, SectionPath
from mdmem.model.searches import Hit
from mdmem.model.trail import Entry, MainlineCommit, Occurrence
from mdmem.queries import dates
from mdmem.search.results import Match
from mdmem.startup.records import replace
from mdmem.trail import Trail
from mdmem.wording import verb
from mdmem.workspace import Workspace


def resolve_as_of(workspace: Workspace, known: Trail, word: str) -> tuple[MainlineCommit, date]:
    """The landmark that a date, a moment or a commit means, and the day on which expiry is judged.

    Raises:
        UsageProblem: what looks like a date is none.
        HistoryProblem: `before-history`, `commit-not-found`.
    """
    if (span := dates.parse_iso(workspace, word)) is not None:
        return _at_end_of(workspace, known, word, span)
    commit = workspace.repository.commit_named(word)
    if commit is None and (span := dates.parse_words(workspace, word)) is not None:
        return _at_end_of(workspace, known, word, span)
    found = known.commit_with_id(commit) if commit else None
    if found is None:
        why = "does not lie on the first-parent line of HEAD" if commit else "is no date and no commit"
        raise HistoryProblem("commit-not-found", f"{word[:80]!r} {why}", workspace.shallow_hint() or f"{verb('history')} lists commits.")
    return found, workspace.local_time(found.time).date()


def _at_end_of(workspace: Workspace, known: Trail, word: str, span: dates.DateSpan) -> tuple[MainlineCommit, date]:
    """The newest landmark of the days up to the end of a span."""
    seconds, day = dates.end_of_span(workspace, span)
    found = known.last_commit_before(seconds)
    if found is None:
        first = min(known.commits_after(), key=lambda one: one.time, default=None)
        since = f"memory begins on {workspace.local_time(first.time):%Y-%m-%d}" if first else "nothing is committed yet"
        raise HistoryProblem("before-history", f"{word} lies before the first commit: {since}", workspace.shallow_hint())
    return found, day


def hits_as_of(workspace: Workspace, known: Trail, landmark: MainlineCommit, day: date, matches: Sequence[Match]) -> tuple[Hit, ...]:
    """The hits with the lines of their files as a landmark has them, and with what contradicted them then, on that day."""
    paths = list(dict.fromkeys(match.row.entry.path for match in matches))
    found = workspace.repository.read(landmark.commit, paths)
    entries = {path: pages.entries_at_commit(found, path) for path in paths}
    against = _against(known, landmark, day, [entry for listed in entries.values() for entry in listed])

    def then(match: Match) -> Hit:
        row, wanted = match.row.entry, entry_identity(match.row.entry)
        same = next((entry for entry in entries[row.path] if entry_identity(entry) == wanted), row)
        others = tuple(dict.fromkeys(against.get((row.path, row.section, row.fact), ())))
        return replace(match.hit, start_line=same.start_line, end_line=same.end_line, contradicts=others)

    return tuple(then(match) for match in matches)


def _against(
    known: Trail, landmark: MainlineCommit, day: date, listed: Sequence[Entry]
) -> dict[tuple[FilePath, SectionPath, FactId | None], list[FactId]]:
    """What contradicted the facts among these entries, and those that are marked so, by file, section and id."""
    marks = known.pair_marks(landmark.number)
    by_key = contradictions.find_conflicts([pages.entry_claim(entry, None) for entry in listed if entry.fact], (), day)
    facts = {one.id for found in by_key for one in (found.one, found.other)}
    facts |= {fact for mark in marks for fact in (mark.one, mark.other) if fact}
    standing = [one for fact in facts for one in known.occurrences_of(fact) if _stood(known, one, landmark.number)]
    claims = [
        pages.entry_claim(one.entry, one) for one in sorted(standing, key=lambda one: (one.entry.path, one.entry.start_line, one.number))
    ]
    against: dict[tuple[FilePath, SectionPath, FactId | None], list[FactId]] = defaultdict(list)
    for found in contradictions.find_conflicts(claims, marks, day):
        for one, other in ((found.one, found.other), (found.other, found.one)):
            against[one.path, one.section, one.id].append(other.id)
    return against


def _stood(known: Trail, one: Occurrence, number: int) -> bool:
    """Whether an occurrence stood at a landmark, and nothing said that it did not count."""
    there = one.begun <= number and (one.ended is None or one.ended > number)
    marks = known.marks_of(one.number, include_ended=True) if there else ()
    return there and not any(mark.begun <= number and (mark.ended is None or mark.ended > number) for mark in marks)
