"""Memory as it was: the commit that a date or a commit id means, and hits with what was true then."""

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

_FactInSection = tuple[FilePath, SectionPath, FactId | None]


def resolve_as_of(workspace: Workspace, trail: Trail, words: str) -> tuple[MainlineCommit, date, str]:
    """The mainline commit that a date, a moment or a commit id means, the day on which expiry is judged, and `words` as they were understood.

    A day in words was understood as an ISO date.

    Raises:
        UsageProblem: what looks like a date is none.
        HistoryProblem: `before-history`, `commit-not-found`.
    """
    if (span := dates.parse_iso(workspace, words)) is not None:
        return *_at_end_of(workspace, trail, words, span), words
    commit_id = workspace.repository.commit_named(words)
    if commit_id is None and (span := dates.parse_words(workspace, words)) is not None:
        end = span.moment.isoformat() if span.moment else span.last.isoformat()
        return *_at_end_of(workspace, trail, words, span), end
    commit = trail.commit_with_id(commit_id) if commit_id else None
    if commit is None:
        why = "does not lie on the first-parent line of HEAD" if commit_id else "is no date and no commit"
        hint = workspace.shallow_hint() or f"{verb('history')} lists commits."
        raise HistoryProblem("commit-not-found", f"{words[:80]!r} {why}", hint)
    counts_from = trail.counts_from(commit.number, dates.end_of_today(workspace))
    return commit, workspace.local_time(commit.time if counts_from is None else counts_from).date(), words


def _at_end_of(workspace: Workspace, trail: Trail, words: str, span: dates.DateSpan) -> tuple[MainlineCommit, date]:
    """The newest commit that counts up to the end of a span of days, and its last day."""
    seconds, day = dates.end_of_span(workspace, span)
    latest = dates.end_of_today(workspace)
    commit = trail.last_commit_before(seconds, latest)
    if commit is None:
        counted = (trail.counts_from(each.number, latest) for each in trail.commits_after())
        first = next((time for time in counted if time is not None), None)
        since = f"memory begins on {workspace.local_time(first):%Y-%m-%d}" if first is not None else "nothing is committed yet"
        raise HistoryProblem("before-history", f"{words} lies before the first commit: {since}", workspace.shallow_hint())
    return commit, day


def hits_as_of(workspace: Workspace, trail: Trail, commit: MainlineCommit, day: date, matches: Sequence[Match]) -> tuple[Hit, ...]:
    """The hits with their lines as a commit has them, and with what contradicted them then, on that day."""
    paths = list(dict.fromkeys(match.row.entry.path for match in matches))
    contents = workspace.repository.read(commit.commit, paths)
    entries = {path: pages.entries_at_commit(contents, path, workspace.daily) for path in paths}
    contradicting = _contradicting_facts(trail, commit, day, [entry for in_file in entries.values() for entry in in_file])

    def hit_as_of(match: Match) -> Hit:
        indexed, identity = match.row.entry, entry_identity(match.row.entry)
        entry = next((entry for entry in entries[indexed.path] if entry_identity(entry) == identity), indexed)
        facts = tuple(dict.fromkeys(contradicting.get((indexed.path, indexed.section, indexed.fact), ())))
        return replace(match.hit, start_line=entry.start_line, end_line=entry.end_line, contradicts=facts)

    return tuple(hit_as_of(match) for match in matches)


def _contradicting_facts(trail: Trail, commit: MainlineCommit, day: date, entries: Sequence[Entry]) -> dict[_FactInSection, list[FactId]]:
    """The facts that contradicted each fact among these entries, and each that is marked as a contradiction, by file, section and id."""
    marks = trail.pair_marks(commit.number)
    by_key = contradictions.find_conflicts([replace(pages.entry_claim(entry, None), time=0) for entry in entries if entry.fact], (), day)
    facts = {claim.id for conflict in by_key for claim in (conflict.first, conflict.second)}
    facts |= {fact for mark in marks for fact in (mark.fact, mark.other) if fact}
    current = [each for fact in facts for each in trail.occurrences_of(fact) if _was_current(trail, each, commit.number)]
    current.sort(key=lambda occurrence: (occurrence.entry.path, occurrence.entry.start_line, occurrence.number))
    claims = [pages.entry_claim(occurrence.entry, occurrence) for occurrence in current]
    contradicting: dict[_FactInSection, list[FactId]] = defaultdict(list)
    for conflict in contradictions.find_conflicts(claims, marks, day):
        for first, second in ((conflict.first, conflict.second), (conflict.second, conflict.first)):
            contradicting[first.path, first.section, first.id].append(second.id)
    return contradicting


def _was_current(trail: Trail, occurrence: Occurrence, number: int) -> bool:
    """True if an occurrence was live at a mainline commit, and no mark on it was in force."""

    def includes(begun: int, ended: int | None) -> bool:
        return begun <= number and (ended is None or ended > number)

    if not includes(occurrence.begun, occurrence.ended):
        return False
    return not any(includes(mark.begun, mark.ended) for mark in trail.marks_of(occurrence.number, include_ended=True))
