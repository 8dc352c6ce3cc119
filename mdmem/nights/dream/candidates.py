"""Candidates for curated memory, which are current entries of daily logs, and the facts that it
has; both with their provenance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from mdmem.editors.sameness import StatementIndex
from mdmem.folder import config, files, layout, trust
from mdmem.folder.layout import ListedFile
from mdmem.folder.trust import TextOrigin
from mdmem.model import CommitId, Fact, FactId, FileKind, FilePath, Op, SectionPath, Source
from mdmem.model.errors import PathProblem
from mdmem.model.rules import LASTING_KINDS, is_iso_day
from mdmem.model.trail import EVERY_NUMBER, Occurrence, TrailCommit
from mdmem.model.writes import is_night
from mdmem.nights.dream import due
from mdmem.nights.dream.wording import DECISION, key_of
from mdmem.past import entry_states
from mdmem.past.messages import ParsedNote
from mdmem.past.notes import parse_message
from mdmem.past.table import Trail
from mdmem.repo import first_parent
from mdmem.sessions.plain import subject_to_forget
from mdmem.sessions.sentences import Sentence
from mdmem.sessions.shapes import clauses
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import Document
from mdmem.text.facts import entries, ids_of, items, minute_of, normalise, split_key
from mdmem.text.languages import SAME_KEYS, attribute_named
from mdmem.workspace import Workspace

_FEWEST_WORDS = _MOST_CLAUSES = 2
_STEM = 4
"""Letters that the forms of a word share."""
_KINDS = (FileKind.EVERGREEN, FileKind.PROFILE, FileKind.BOOTSTRAP)


@dataclass(frozen=True, slots=True)
class CuratedFact:
    """A fact in a file that is edited in place.

    - `text`: with its `key`. `attribute`: what it is about, by its commit or its key.
    - `source`: by its commit, claims included; uncommitted text is the person's own.
    - `said`: when it was said, by cited sessions or daily logs, else when it was committed.
    - `line`: from 1. `is_changeable`: dreams may change the file.
    """

    fact: FactId
    text: str
    key: str | None
    attribute: str | None
    kind: str | None
    path: FilePath
    section: SectionPath
    line: int
    source: Source
    said: datetime
    is_changeable: bool

    @property
    def value(self) -> str:
        return split_key(self.text, self.key)[1] if self.key else self.text


@dataclass(frozen=True, slots=True)
class FileExtent:
    """An editable file with its number of facts; `size` in bytes, `lines` of all text."""

    path: FilePath
    size: int
    lines: int
    facts: int


@dataclass(frozen=True, slots=True)
class CuratedMemory:
    """Current facts in editable files by path; new ones go to `curated`."""

    facts: tuple[CuratedFact, ...]
    files: Mapping[FilePath, FileExtent]
    curated: FilePath


@dataclass(frozen=True, slots=True)
class SaidTimes:
    cites: Mapping[str, datetime]
    facts: Mapping[FactId, Sequence[datetime]]


def canonical_attribute(name: str | None) -> str | None:
    folded = normalise(name or "")
    return SAME_KEYS.get(folded, folded) or None


def read_curated(
    workspace: Workspace,
    trail: Trail,
    times: SaidTimes,
    listing: Mapping[FilePath, ListedFile],
) -> CuratedMemory:
    """Read the facts that count today. A file that cannot be read is left out."""
    today, facts = workspace.now().date(), []
    read: dict[FilePath, FileExtent] = {}
    for path, listed in listing.items():
        kind = workspace.kind_of(path)
        if kind not in _KINDS or path == layout.TASKS_PATH:
            continue
        try:
            data = files.read(listed.full_path) or b""
            document = workspace.parse(path, data)
        except PathProblem:
            continue
        of_file = _facts_of(workspace, trail, path, document, times, today)
        facts += of_file
        read[path] = FileExtent(path, size=len(data), lines=len(document.lines), facts=len(of_file))
    return CuratedMemory(tuple(facts), read, workspace.curated)


def _facts_of(
    workspace: Workspace,
    trail: Trail,
    path: FilePath,
    document: Document,
    times: SaidTimes,
    today: date,
) -> list[CuratedFact]:
    is_changeable = workspace.kind_of(path) is FileKind.EVERGREEN and not layout.within(
        path, workspace.settings.extra_paths
    )
    in_file = entries(document, path)
    states, _ = entry_states.match_entries(trail, path, in_file)
    by_line = {item.start + 1: item for item in items(document)}
    facts = []
    for entry, state in zip(in_file, states, strict=True):
        item = by_line.get(entry.start_line)
        if entry.fact is None or item is None or (entry.until is not None and entry.until < today):
            continue
        occurrence = state.occurrence
        facts.append(
            CuratedFact(
                fact=entry.fact,
                text=item.fact.text,
                key=(key := item.fact.key or key_of(item.fact.text)),
                attribute=canonical_attribute(
                    (occurrence.origin.attribute if occurrence else None) or key
                ),
                kind=entry.kind,
                path=path,
                section=entry.section,
                line=entry.start_line,
                source=occurrence.origin.source if occurrence else Source.USER_STATED,
                said=_said(workspace, trail, item.fact, occurrence, times),
                is_changeable=is_changeable,
            )
        )
    return facts


def _said(
    workspace: Workspace, trail: Trail, fact: Fact, occurrence: Occurrence | None, times: SaidTimes
) -> datetime:
    if occurrence is None:
        return workspace.now()
    committed = workspace.local_time(occurrence.origin.time)
    moments = [times.cites[cited] for cited in occurrence.origin.cites if cited in times.cites]
    if not moments and _is_nights(trail, occurrence):
        moments = [
            time for name in ids_of(fact) for time in times.facts.get(name, ()) if time <= committed
        ]
    day = occurrence.entry.section[-1] if occurrence.entry.section else ""
    if not moments and is_iso_day(day):  # as that of an imported fact
        moments = [datetime.fromisoformat(day).replace(tzinfo=committed.tzinfo)]
    return max(moments, default=committed)


def _is_nights(trail: Trail, occurrence: Occurrence) -> bool:
    commit = trail.commit_with_id(occurrence.origin.commit)
    run = parse_message(commit.message).run if commit else None
    return run is not None and is_night(run)


WEEK = timedelta(days=7)
"""An entry that was not taken is judged once more, so long after its day."""


@dataclass(frozen=True, slots=True)
class DreamCandidate:
    """An entry of a daily log that may become curated memory.

    - `begun`: the number of its commit. `said`: when it was said, by its place in the log; entries
      of one minute are microseconds apart, in their order of arrival.
    - `source`: user-stated only where the person's own message is cited, or they committed it; an
      agent's claim of that is inferred.
    - `cites`: the lines in sessions; `sessions`: those sessions, as far as known.
    - `attribute`: what it is about, by a rule or its own key. `sender`: another person who said it.
      `author`: another author than the user, who committed it.
    - `is_claim`: called user-stated without a message or commit of theirs.
    - `corrects`: facts that it replaces or contradicts, by its commit.
    - `is_new`: no earlier night judged it.
    """

    fact: FactId
    text: str
    kind: str | None
    tags: tuple[str, ...]
    path: FilePath
    day: date
    said: datetime
    begun: int
    source: Source
    confidence: float
    cites: tuple[str, ...] = ()
    sessions: frozenset[str] = frozenset()
    attribute: str | None = None
    sender: str | None = None
    author: str | None = None
    is_claim: bool = False
    origin: TextOrigin = TextOrigin.AGENT
    corrects: frozenset[FactId] = frozenset()
    is_new: bool = True

    @property
    def is_own(self) -> bool:
        return self.origin in (TextOrigin.PERSON, TextOrigin.PLAIN_STATEMENT, TextOrigin.MESSAGE)

    @property
    def has_key(self) -> bool:
        """True if its attribute counts for more than proposals."""
        return trust.trust(self.origin).has_key


@dataclass(frozen=True, slots=True)
class Night:
    """The entries to judge: those of `days`, or (without) new ones up to the ended day `day`.

    - `since`: the first day of which all entries count as new.
    - `open_days`: the days with new entries, whenever they were.
    - `seen`: the last night's newest commit, `seen_day` its day; None where unknown.
    """

    day: date
    days: tuple[date, ...] = ()
    since: date | None = None
    open_days: frozenset[date] = frozenset()
    seen: TrailCommit | None = None
    seen_day: date | None = None

    @property
    def run(self) -> str:
        return f"dream/{self.day.isoformat()}"

    def _covers(self, day: date) -> bool:
        """True for the days named, or else for those that have ended since the last night."""
        if self.days or self.seen_day is None:
            return day in (self.days or (self.day,))
        return max(self.seen_day, self.day - due.MOST_DAYS) < day <= self.day

    def _covers_week_after(self, day: date) -> bool:
        return day <= date.max - WEEK and self._covers(day + WEEK)

    def _is_all_new(self, day: date) -> bool:
        return self._covers(day) or (self.since is not None and self.since <= day <= self.day)

    def is_new(self, entry: DreamCandidate) -> bool:
        if self._is_all_new(entry.day):
            return True
        is_known = self.seen is not None and self.seen.reaches(entry.begun)
        return entry.day in self.open_days and not is_known

    def judges_log_of(self, day: date) -> bool:
        """True if the log of a day may have entries to judge."""
        return self._is_all_new(day) or self._covers_week_after(day) or day in self.open_days

    def choose(self, entries: Iterable[DreamCandidate]) -> list[DreamCandidate]:
        """The entries to judge, in the order in which they were said."""
        chosen = [
            replace(entry, is_new=is_new)
            for entry in entries
            if (is_new := self.is_new(entry)) or self._covers_week_after(entry.day)
        ]
        return sorted(chosen, key=lambda entry: (entry.said, entry.begun))


class LogEntries:
    """All current entries of daily logs, up to a day."""

    def __init__(self, entries: Iterable[DreamCandidate]) -> None:
        self.entries = tuple(entries)
        self._statements: StatementIndex | None = None
        self._by_fact: dict[FactId, list[DreamCandidate]] = {}
        for entry in self.entries:
            self._by_fact.setdefault(entry.fact, []).append(entry)

    @property
    def candidates(self) -> Iterator[DreamCandidate]:
        return (entry for entry in self.entries if (entry.kind or "").casefold() in LASTING_KINDS)

    def that_may_be_forgotten(self, request: DreamCandidate) -> Iterator[DreamCandidate]:
        """Facts of the person's with a word of a request: said before it and not again.

        Of several things, none: an entry goes as a whole. One word (`the file`) is too little.
        """
        asked = Sentence.of(subject_to_forget(request.text) or "").content
        if len(asked) < _FEWEST_WORDS:
            return
        stems = {word[:_STEM] for word in asked}
        for entry in self.entries:
            folded = entry.text.casefold()
            if not any(stem in folded for stem in stems):
                continue
            is_theirs = entry.sender is None and entry.kind not in (None, DECISION)
            is_fact = is_theirs and not Sentence.of(entry.text).is_question
            is_one = is_fact and len(clauses(entry.text)) <= _MOST_CLAUSES
            if is_one and all(each.said < request.said for each in self._by_fact[entry.fact]):
                yield entry

    def states_any(self, facts: Iterable[FactId]) -> bool:
        return any(fact in self._by_fact for fact in facts)

    def saying(self, candidate: DreamCandidate) -> list[DreamCandidate]:
        if self._statements is None:
            self._statements = StatementIndex(entry.text for entry in self.entries)
        alike = {number: self.entries[number] for number in self._statements.find(candidate.text)}
        return list(dict.fromkeys([*self._by_fact.get(candidate.fact, ()), *alike.values()]))

    def is_lasting(self, candidate: DreamCandidate, own: bool = False) -> bool:
        """True if said on two days and in two sessions; `own`: by the person alone."""
        alike = [entry for entry in self.saying(candidate) if entry.is_own or not own]
        return (
            len({entry.day for entry in alike}) > 1
            and len({session for entry in alike for session in entry.sessions}) > 1
        )

    def cites(self, candidate: DreamCandidate) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(cited for entry in self.saying(candidate) for cited in entry.cites)
        )

    def times_of_cites(self) -> dict[str, datetime]:
        """When cited session lines were said; the first entry of a line counts."""
        times: dict[str, datetime] = {}
        for entry in self.entries:
            times |= {cited: min(entry.said, times.get(cited, entry.said)) for cited in entry.cites}
        return times

    def times_of_facts(self) -> dict[FactId, list[datetime]]:
        return {fact: [entry.said for entry in entries] for fact, entries in self._by_fact.items()}


def may_have_entries(workspace: Workspace, trail: Trail, night: Night) -> bool:
    """False if no log has an entry for a night; only the logs in question are read."""
    daily = workspace.daily
    paths = {
        path
        for path in trail.touched_by(EVERY_NUMBER)
        if (day := layout.log_day(path, daily)) and night.judges_log_of(day)
    }
    return any(
        (occurrence.entry.kind or "").casefold() in LASTING_KINDS
        for path in sorted(paths)
        for occurrence in trail.live_occurrences(path)
    )


def read_log_entries(workspace: Workspace, trail: Trail, last: date) -> LogEntries:
    """Read current entries of daily logs up to a day. The trail is up to date."""
    today = workspace.now().date()
    kinds: dict[FilePath, FileKind] = {}
    occurrences = []
    for occurrence in reversed(trail.fact_occurrences()):
        entry = occurrence.entry
        if (
            occurrence.ended is not None
            or entry.day is None
            or entry.day > last
            or (entry.until is not None and entry.until < today)
        ):
            continue
        if kinds.setdefault(
            entry.path, workspace.kind_of(entry.path)
        ) is FileKind.DAILY and not trail.marks_of(occurrence.number):
            occurrences.append((entry.day, occurrence))
    notes, zones = _Notes(trail), _Zones(workspace, [occurrence for _, occurrence in occurrences])
    addresses = workspace.user_addresses if occurrences else frozenset()
    agents, stating = workspace.agent_authors, workspace.stating_commits()
    candidates = []
    for day, occurrence in occurrences:
        note = notes.of(occurrence.origin.commit)
        candidate = _candidate(occurrence, day, note, zones.of(occurrence))
        if candidate is None:
            continue
        author = trust.other_author(occurrence.origin.author, addresses) or notes.mover_of(
            occurrence, addresses
        )
        if author is None:
            origin = _origin(candidate, occurrence, note, workspace.is_agent)
            if stating is not None and occurrence.origin.commit not in stating:
                origin = TextOrigin.AGENT
            candidates.append(replace(candidate, origin=origin))
        elif trust.is_agent_author(occurrence.origin.author, *agents):
            candidates.append(replace(candidate, origin=TextOrigin.AGENT, author=author))
        else:
            candidates.append(_of_other_author(candidate, author))
    return LogEntries(_in_order(candidates))


def _of_other_author(candidate: DreamCandidate, author: str) -> DreamCandidate:
    """Another person's entry about its speaker is about that person."""
    is_personal = (
        candidate.attribute is not None and attribute_named(candidate.attribute) is not None
    )
    sender = candidate.sender or (author if is_personal else None)
    origin = TextOrigin.OTHER_SENDER if sender else TextOrigin.OTHER_AUTHOR
    return replace(candidate, origin=origin, sender=sender, author=author, attribute=None)


def _in_order(candidates: Sequence[DreamCandidate]) -> list[DreamCandidate]:
    """Separate the times of entries of one minute: later commits are later."""
    counts: Counter[datetime] = Counter()
    ordered = []
    for candidate in candidates:
        ordered.append(
            replace(
                candidate,
                said=candidate.said + timedelta(microseconds=min(counts[candidate.said], 999_999)),
            )
        )
        counts[candidate.said] += 1
    return ordered


class _Zones:
    """The time zones of entries' minutes: the user's, or that of another zone's commit."""

    def __init__(self, workspace: Workspace, occurrences: Iterable[Occurrence]) -> None:
        self._zone = config.zone(workspace.settings.timezone)
        self._offsets = first_parent.author_offsets(
            workspace.repository, {occurrence.origin.commit for occurrence in occurrences}
        )

    def of(self, occurrence: Occurrence) -> tzinfo | None:
        """None is the system's zone."""
        offset = self._offsets.get(occurrence.origin.commit)
        committed = datetime.fromtimestamp(occurrence.origin.time, UTC).astimezone(self._zone)
        return self._zone if offset is None or offset == committed.utcoffset() else timezone(offset)


class _Notes:
    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self._notes: dict[CommitId, ParsedNote | None] = {}

    def of(self, commit: CommitId) -> ParsedNote | None:
        if commit not in self._notes:
            stating = self._trail.commit_with_id(commit)
            self._notes[commit] = parse_message(stating.message) if stating else None
        return self._notes[commit]

    def mover_of(self, occurrence: Occurrence, addresses: Collection[str]) -> str | None:
        """Another author whose commit put an entry where it is; merges move nothing."""
        commit = self._trail.commit_numbered(occurrence.begun)
        if commit is None or commit.commit == occurrence.origin.commit or len(commit.parents) > 1:
            return None
        return trust.other_author(f"{commit.author} <{commit.email}>", addresses)


def _candidate(
    occurrence: Occurrence, day: date, note: ParsedNote | None, zone: tzinfo | None
) -> DreamCandidate | None:
    entry, origin = occurrence.entry, occurrence.origin
    if entry.fact is None:
        return None
    source, confidence = origin.source, origin.confidence
    if source is Source.USER_STATED and not _is_persons(occurrence, note):
        source, confidence = Source.INFERRED, min(confidence, Source.INFERRED.confidence)
    session = note.provenance.session if note else None
    sessions = {cited.rpartition("#")[0] for cited in origin.cites} or (
        {session} if session else set()
    )
    return DreamCandidate(
        fact=entry.fact,
        text=entry.text,
        kind=entry.kind,
        tags=entry.tags,
        path=entry.path,
        day=day,
        said=_time_of(occurrence, day, zone),
        begun=occurrence.begun,
        source=source,
        confidence=confidence,
        is_claim=source is not origin.source,
        cites=origin.cites,
        sessions=frozenset(sessions),
        attribute=origin.attribute or entry.key,
        sender=note.sender_of(entry.fact) if note else None,
        corrects=_corrected(entry.fact, note),
    )


def _is_persons(occurrence: Occurrence, note: ParsedNote | None) -> bool:
    """True if a digest cites the person's message, or they committed the entry."""
    if note is None or occurrence.origin.claimed_by is not None:
        return False
    return note.op is None or (note.op == Op.DIGEST and bool(occurrence.origin.cites))


def _origin(
    candidate: DreamCandidate,
    occurrence: Occurrence,
    note: ParsedNote | None,
    is_agent: Callable[[str | None], bool],
) -> TextOrigin:
    """Of messages, a digest calls only plain statements `user-stated`."""
    if note is None or occurrence.origin.claimed_by is not None:
        return TextOrigin.AGENT
    if candidate.sender is not None:
        return TextOrigin.OTHER_SENDER
    if note.op != Op.DIGEST:
        is_person = note.op is None or not is_agent(note.provenance.actor)
        return TextOrigin.PERSON if is_person else TextOrigin.AGENT
    if not candidate.cites or candidate.source is Source.AUTO:
        return TextOrigin.AGENT
    return (
        TextOrigin.PLAIN_STATEMENT if candidate.source is Source.USER_STATED else TextOrigin.MESSAGE
    )


def _corrected(fact: FactId, note: ParsedNote | None) -> frozenset[FactId]:
    if note is None:
        return frozenset()
    pairs = (pair for pair in note.contradicts if fact in pair)
    return frozenset(
        (
            *(old for old, new in note.supersedes if new == fact),
            *(each for pair in pairs for each in pair if each != fact),
        )
    )


def _time_of(occurrence: Occurrence, day: date, zone: tzinfo | None) -> datetime:
    if said := minute_of(occurrence.entry):
        minute = time.fromisoformat(said)
    else:
        committed = datetime.fromtimestamp(occurrence.origin.time).astimezone(zone)
        minute = committed.time() if committed.date() == day else time()
    moment = datetime.combine(day, minute)
    try:
        return moment.replace(tzinfo=zone) if zone else moment.astimezone()
    # The first day that a log can be named after, or the last, in a zone that is behind or ahead.
    except (OverflowError, ValueError):
        return moment.replace(tzinfo=UTC)
