"""Past memory: the commits that a date or a commit id means, and what was true then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import date

from mdmem.editors.merge3.merging import merge3
from mdmem.index import pages
from mdmem.index.results import Match
from mdmem.lookup import dates, lookup
from mdmem.merge import again
from mdmem.model import CommitId, FactId, FilePath, SectionPath
from mdmem.model.errors import HistoryProblem, PathProblem, field, verb
from mdmem.model.reads import SectionView, Show
from mdmem.model.searches import Hit
from mdmem.model.trail import Entry, Occurrence, Ranges, TrailCommit, complement, intersection
from mdmem.past import fresh_trail, lines
from mdmem.past.entry_states import identity_on_disk
from mdmem.past.table import Trail, was_live
from mdmem.repo.first_parent import merge_bases
from mdmem.startup.records import dataclass, replace
from mdmem.text import contradictions
from mdmem.text.document import Document, parse_bytes
from mdmem.text.facts import items
from mdmem.workspace import Say, Workspace

_FactInSection = tuple[FilePath, SectionPath, FactId | None]


@dataclass(frozen=True, slots=True)
class PastState:
    """Memory as the commits `known` tell it.

    `commits` are the newest of these, the newest last; `is_tree`: one commit's own past. `day`
    judges expiry; `words` are those asked for, a day in words as an ISO date.
    """

    known: Ranges
    commits: tuple[CommitId, ...]
    day: date
    words: str
    is_tree: bool = False

    @property
    def commit(self) -> CommitId:
        return self.commits[-1]


def resolve_as_of(workspace: Workspace, trail: Trail, words: str) -> PastState:
    """The state of memory that a text means; raises UsageProblem, HistoryProblem."""
    if (span := dates.parse_iso(workspace, words, "as_of")) is not None:
        return _at_end_of(workspace, trail, words, span)
    commit = workspace.repository.commit_named(words)
    if commit is None and (span := dates.parse_words(workspace, words, "as_of")) is not None:
        end = span.moment.isoformat() if span.moment else span.last.isoformat()
        return replace(_at_end_of(workspace, trail, words, span), words=end)
    if commit is None or not workspace.repository.is_ancestor(commit):
        why = "is not in the history of HEAD" if commit else "is neither a date nor a commit"
        hint = workspace.shallow_hint() or f"To list commits: {verb('history')}"
        raise HistoryProblem("commit-not-found", f"{field('as_of')}: {words[:80]!r} {why}", hint)
    nearest = lines.nearest_commits(workspace, trail, commit)
    if not nearest and workspace.history_boundary is not None:
        raise HistoryProblem(
            "commit-not-found",
            f"{field('as_of')}: {words[:80]!r} is not in this clone",
            workspace.shallow_hint(),
        )
    moments = trail.moments(dates.end_of_today(workspace))
    day = max(
        (workspace.local_time(moments.of(each.number)).date() for each in nearest),
        default=workspace.now().date(),
    )
    return PastState(known=_past_of(nearest), commits=(commit,), day=day, words=words, is_tree=True)


def _past_of(commits: Sequence[TrailCommit]) -> Ranges:
    last = max((each.number for each in commits), default=0)
    missing = complement((), last)
    for each in commits:
        missing = intersection(
            missing, (*each.missing, *(((each.number + 1, last),) if each.number < last else ()))
        )
    return complement(missing, last)


def _at_end_of(workspace: Workspace, trail: Trail, words: str, span: dates.DateSpan) -> PastState:
    seconds, day = dates.end_of_span(workspace, span)
    moments = trail.moments(dates.end_of_today(workspace))
    known = moments.upto(seconds)
    if not known:
        first = moments.first()
        since = (
            f"memory begins on {workspace.local_time(first):%Y-%m-%d}"
            if first is not None
            else "nothing is committed yet"
        )
        raise HistoryProblem(
            "before-history",
            f"{words} is before the first commit: {since}",
            workspace.shallow_hint(),
        )
    heads = trail.heads_within(known) or tuple(filter(None, [trail.commit_numbered(known[0][0])]))
    return PastState(
        known=known, commits=tuple(each.commit for each in heads), day=day, words=words
    )


def hits_as_of(
    workspace: Workspace, trail: Trail, past: PastState, matches: Sequence[Match]
) -> tuple[Hit, ...]:
    """Hits with lines and contradictions as of then; of one commit only its own entries."""
    paths = list(dict.fromkeys(match.row.entry.path for match in matches))
    entries: dict[FilePath, list[Entry]] = {path: [] for path in paths}
    for commit in reversed(past.commits):
        contents = workspace.repository.read(commit, paths)
        for path in paths:
            entries[path] += pages.entries_at_commit(contents, path, workspace.daily)
    contradicting = _contradicting_facts(
        trail, past, [entry for in_file in entries.values() for entry in in_file]
    )
    hits = []
    for match in matches:
        indexed, identity = match.row.entry, identity_on_disk(match.row.entry)
        entry = next(
            (entry for entry in entries[indexed.path] if identity_on_disk(entry) == identity), None
        )
        if entry is None and past.is_tree:
            continue
        place = entry or indexed
        facts = tuple(
            dict.fromkeys(contradicting.get((indexed.path, indexed.section, indexed.fact), ()))
        )
        hits.append(
            replace(
                match.hit, start_line=place.start_line, end_line=place.end_line, contradicts=facts
            )
        )
    return tuple(hits)


def _contradicting_facts(
    trail: Trail, past: PastState, entries: Sequence[Entry]
) -> dict[_FactInSection, list[FactId]]:
    marks, day = trail.pair_marks(past.known), past.day
    by_key = contradictions.find_conflicts(
        [replace(pages.entry_claim(entry, None), time=0) for entry in entries if entry.fact],
        (),
        day,
    )
    facts = {claim.id for conflict in by_key for claim in (conflict.first, conflict.second)}
    facts |= {fact for mark in marks for fact in (mark.fact, mark.other) if fact}
    current = [
        each
        for fact in facts
        for each in trail.occurrences_of(fact)
        if was_current(trail, each, past.known)
    ]
    current.sort(
        key=lambda occurrence: (
            occurrence.entry.path,
            occurrence.entry.start_line,
            occurrence.number,
        )
    )
    claims = [pages.entry_claim(occurrence.entry, occurrence) for occurrence in current]
    contradicting: dict[_FactInSection, list[FactId]] = defaultdict(list)
    for conflict in contradictions.find_conflicts(claims, marks, day):
        for first, second in ((conflict.first, conflict.second), (conflict.second, conflict.first)):
            contradicting[first.path, first.section, first.id].append(second.id)
    return contradicting


def was_current(trail: Trail, occurrence: Occurrence, known: Ranges) -> bool:
    marks = trail.marks_of(occurrence.number, include_ended=True)
    return was_live(occurrence, known) and not any(was_live(mark, known) for mark in marks)


def show_as_of(workspace: Workspace, request: Show, as_of: str, say: Say) -> SectionView:
    """A section, the preamble or a whole file as it was; names in `request` are those of then."""
    path = lookup.memory_file(workspace, request.file) or workspace.curated
    with fresh_trail(workspace, say) as trail:
        past = resolve_as_of(workspace, trail, as_of)
        data = _file_of(workspace, path, past.commits)
        if data is None:
            message = f"there was no {path} as of {past.words}"
            raise PathProblem("file-not-found", message, f"To see what changed: {verb('changes')}")
        document = parse_bytes(data)
        return _view(trail, past, path, document, request)


def _file_of(workspace: Workspace, path: FilePath, commits: Sequence[CommitId]) -> bytes | None:
    repository = workspace.repository
    versions = {commit: repository.read(commit, [path])[path] for commit in commits}
    if not any(version is not None for version in versions.values()):
        return None
    newest, *others = reversed(commits)
    data = versions[newest] or b""
    for commit in others:
        version = versions[commit] or b""
        base = again.base_text(repository, merge_bases(repository, newest, commit), path)
        merged = None if base is None else merge3(base, data, version, workspace.kind_of(path)).data
        data = data if merged is None else merged  # what then is not in it follows as said by then
    return data


def _view(
    trail: Trail, past: PastState, path: FilePath, document: Document, request: Show
) -> SectionView:
    view, section = lookup.view_of(path, document, request, past.commit)
    view = replace(view, as_of=past.words, commits=past.commits)
    if past.is_tree:
        return view
    wanted = section.path if section else () if request.preamble else None
    ended, said = _differences(trail, past, path, document, wanted)
    lines = (
        range(section.body if section else view.start_line - 1, view.end_line) if view.text else ()
    )
    text = "".join(document.slice(line, line + 1) for line in lines if line not in ended)
    return replace(view, text=text, said=said)


def _differences(
    trail: Trail, past: PastState, path: FilePath, document: Document, section: SectionPath | None
) -> tuple[Collection[int], tuple[str, ...]]:
    """Lines whose facts had ended, and stated facts that the document lacks, as after a rebase."""
    occurrences = [
        each
        for each in trail.occurrences_in(path)
        if each.entry.fact and section in (None, each.entry.section)
    ]
    known = {(each.entry.section, each.entry.fact) for each in occurrences}
    live = {
        (each.entry.section, each.entry.fact) for each in occurrences if was_live(each, past.known)
    }
    places = [(item, (document.path_at(item.start), item.fact.id)) for item in items(document)]
    innermost = {line: place for item, place in places for line in range(item.start, item.end)}
    ended = {line for line, place in innermost.items() if place in known - live}
    there = {place for _, place in places}
    current = [each.entry for each in occurrences if was_current(trail, each, past.known)]
    return ended, tuple(
        entry.first_line for entry in current if (entry.section, entry.fact) not in there
    )
