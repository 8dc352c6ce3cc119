"""Memory as it was: the commits that a date or a commit id means, and hits with what was true then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from mdmem import contradictions
from mdmem.catchup import lines, pages
from mdmem.catchup.entry_states import entry_identity
from mdmem.errors import HistoryProblem
from mdmem.model import CommitId, FactId, FilePath, SectionPath
from mdmem.model.ranges import Ranges, complement, holds, intersection
from mdmem.model.searches import Hit
from mdmem.model.trail import Entry, Mark, Occurrence, TrailCommit
from mdmem.queries import dates
from mdmem.search.results import Match
from mdmem.startup.records import dataclass, replace
from mdmem.wording import verb
from mdmem.workspace import Workspace

if TYPE_CHECKING:
    from mdmem.trail import Trail

_FactInSection = tuple[FilePath, SectionPath, FactId | None]


@dataclass(frozen=True, slots=True)
class PastState:
    """Memory as the commits `known` tell it.

    - `commits`: the newest commits whose whole past is known, the newest last. `is_tree`: it is one commit's own past, and its files tell.
    - `day`: the day on which expiry is judged. `words`: what was asked for, a day in words as an ISO date.
    """

    known: Ranges
    commits: tuple[CommitId, ...]
    day: date
    words: str
    is_tree: bool = False

    @property
    def commit(self) -> CommitId:
        """The newest of the commits."""
        return self.commits[-1]


def resolve_as_of(workspace: Workspace, trail: Trail, words: str) -> PastState:
    """Find the state of memory that a date, a moment or a commit id means.

    Raises:
        UsageProblem: what looks like a date is none.
        HistoryProblem: `before-history`, `commit-not-found`.
    """
    if (span := dates.parse_iso(workspace, words)) is not None:
        return _at_end_of(workspace, trail, words, span)
    commit = workspace.repository.commit_named(words)
    if commit is None and (span := dates.parse_words(workspace, words)) is not None:
        end = span.moment.isoformat() if span.moment else span.last.isoformat()
        return replace(_at_end_of(workspace, trail, words, span), words=end)
    if commit is None or not workspace.repository.is_ancestor(commit):
        why = "is not in the history of HEAD" if commit else "is neither a date nor a commit"
        hint = workspace.shallow_hint() or f"To list commits: {verb('history')}"
        raise HistoryProblem("commit-not-found", f"{words[:80]!r} {why}", hint)
    nearest = lines.nearest_commits(workspace.repository, trail, commit)
    if not nearest and workspace.history_boundary is not None:
        raise HistoryProblem("commit-not-found", f"{words[:80]!r} is not in this clone", workspace.shallow_hint())
    moments = trail.moments(dates.end_of_today(workspace))
    day = max((workspace.local_time(moments.of(each.number)).date() for each in nearest), default=workspace.now().date())
    return PastState(known=_past_of(nearest), commits=(commit,), day=day, words=words, is_tree=True)


def _past_of(commits: Sequence[TrailCommit]) -> Ranges:
    """The commits that some reach."""
    last = max((each.number for each in commits), default=0)
    missing = complement((), last)
    for each in commits:
        missing = intersection(missing, (*each.missing, *(((each.number + 1, last),) if each.number < last else ())))
    return complement(missing, last)


def _at_end_of(workspace: Workspace, trail: Trail, words: str, span: dates.DateSpan) -> PastState:
    """The state of memory at the end of a span of days: all that had been said by then."""
    seconds, day = dates.end_of_span(workspace, span)
    moments = trail.moments(dates.end_of_today(workspace))
    known = moments.upto(seconds)
    if not known:
        first = moments.first()
        since = f"memory begins on {workspace.local_time(first):%Y-%m-%d}" if first is not None else "nothing is committed yet"
        raise HistoryProblem("before-history", f"{words} is before the first commit: {since}", workspace.shallow_hint())
    heads = trail.heads_within(known) or tuple(filter(None, [trail.commit_numbered(known[0][0])]))
    return PastState(known=known, commits=tuple(each.commit for each in heads), day=day, words=words)


def hits_as_of(workspace: Workspace, trail: Trail, past: PastState, matches: Sequence[Match]) -> tuple[Hit, ...]:
    """The hits with their lines as the commits have them, and with what contradicted them then; of one commit only those that it has."""
    paths = list(dict.fromkeys(match.row.entry.path for match in matches))
    entries: dict[FilePath, list[Entry]] = {path: [] for path in paths}
    for commit in reversed(past.commits):
        contents = workspace.repository.read(commit, paths)
        for path in paths:
            entries[path] += pages.entries_at_commit(contents, path, workspace.daily)
    contradicting = _contradicting_facts(trail, past, [entry for in_file in entries.values() for entry in in_file])
    hits = []
    for match in matches:
        indexed, identity = match.row.entry, entry_identity(match.row.entry)
        entry = next((entry for entry in entries[indexed.path] if entry_identity(entry) == identity), None)
        if entry is None and past.is_tree:
            continue
        place = entry or indexed
        facts = tuple(dict.fromkeys(contradicting.get((indexed.path, indexed.section, indexed.fact), ())))
        hits.append(replace(match.hit, start_line=place.start_line, end_line=place.end_line, contradicts=facts))
    return tuple(hits)


def _contradicting_facts(trail: Trail, past: PastState, entries: Sequence[Entry]) -> dict[_FactInSection, list[FactId]]:
    """The facts that contradicted each fact among these entries, and each that is marked as a contradiction, by file, section and id."""
    marks, day = trail.pair_marks(past.known), past.day
    by_key = contradictions.find_conflicts([replace(pages.entry_claim(entry, None), time=0) for entry in entries if entry.fact], (), day)
    facts = {claim.id for conflict in by_key for claim in (conflict.first, conflict.second)}
    facts |= {fact for mark in marks for fact in (mark.fact, mark.other) if fact}
    current = [each for fact in facts for each in trail.occurrences_of(fact) if was_current(trail, each, past.known)]
    current.sort(key=lambda occurrence: (occurrence.entry.path, occurrence.entry.start_line, occurrence.number))
    claims = [pages.entry_claim(occurrence.entry, occurrence) for occurrence in current]
    contradicting: dict[_FactInSection, list[FactId]] = defaultdict(list)
    for conflict in contradictions.find_conflicts(claims, marks, day):
        for first, second in ((conflict.first, conflict.second), (conflict.second, conflict.first)):
            contradicting[first.path, first.section, first.id].append(second.id)
    return contradicting


def was_live(each: Occurrence | Mark, known: Ranges) -> bool:
    """True if an occurrence or a mark had begun and not ended where only some commits are known."""
    return holds(known, each.begun) and (each.ended is None or not holds(known, each.ended))


def was_current(trail: Trail, occurrence: Occurrence, known: Ranges) -> bool:
    """True if an occurrence was live where only some commits are known, and no mark on it was in force."""
    marks = trail.marks_of(occurrence.number, include_ended=True)
    return was_live(occurrence, known) and not any(was_live(mark, known) for mark in marks)
