"""Select drawn entries (new ones, not removed by a person, up to a daily maximum), write them into
the logs of their days, and add up the figures of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, tzinfo
from enum import Enum, auto

from mdmem import secrets
from mdmem.changes import apply
from mdmem.changes.commit_notes import complete_options
from mdmem.changes.recover import Transaction, lock_workspace, recover
from mdmem.changes.verbs import digest_day
from mdmem.context.given import drop_given, read_record, restates, text_id
from mdmem.editors.sameness import StatementIndex
from mdmem.folder import files
from mdmem.index.catching_up import FreshIndex, fresh_index
from mdmem.model import CommitId, FactId, Source
from mdmem.model.errors import (
    MdmemError,
    PathProblem,
    ProposalProblem,
    RefusedChange,
    RepositoryProblem,
    SectionProblem,
    TextProblem,
    WorkspaceProblem,
)
from mdmem.model.pipelines import (
    Digest,
    DigestedEntry,
    DigestResult,
)
from mdmem.model.proposals import Propose
from mdmem.model.sessions import Speaker
from mdmem.model.writes import DayEntry, DigestDay, WriteOptions, WriteResult
from mdmem.nights.digest.news import News
from mdmem.queries import cited_sessions, removed_facts
from mdmem.queries.search import nearest_in
from mdmem.review import proposing
from mdmem.sessions.drafts import MODEL_RULE, Draft
from mdmem.startup.records import dataclass, field, replace
from mdmem.text.facts import fact_id, items
from mdmem.workspace import Say, Workspace, permission


@dataclass(frozen=True, slots=True)
class _HeldSession:
    """Drafts of a session (CLIENT/SESSION) to write with others', in order of time.

    `read` is how far the transcript is read with them: CLIENT/SESSION#LINE HASH (None: not all).
    """

    session: str
    drafts: tuple[Draft, ...]
    read: str | None


@dataclass(frozen=True, slots=True)
class DayChange:
    """`holds` are numbers of held sessions with entries in it, `ends` those without later ones."""

    change: DigestDay
    holds: tuple[int, ...]
    ends: tuple[int, ...]


def _day_changes(held: Sequence[_HeldSession], run: str, zone: tzinfo | None) -> list[DayChange]:
    """Group sessions' entries by the day they were said, oldest day first.

    The best founded come first, but never before what they supersede: only logged entries can be
    superseded. `zone` None is the system's.
    """
    groups: _Groups = {}
    for number, session in enumerate(held):
        for draft in session.drafts:
            time = draft.time.astimezone(zone)
            confidence = draft.source.confidence if draft.confidence is None else draft.confidence
            entry = _entry(draft, session.session, f"{time:%H:%M}")
            groups.setdefault((time.date(), draft.source, confidence), []).append((number, entry))
    keys = _in_order(groups)
    last = {number: key for key in keys for number, _ in groups[key]}
    changes = []
    for key in keys:
        day, source, confidence = key
        entries = tuple(entry for _, entry in groups[key])
        change = DigestDay(
            day=day,
            entries=entries,
            run=run,
            options=WriteOptions(source=source, confidence=confidence),
        )
        holds = tuple(dict.fromkeys(number for number, _ in groups[key]))
        changes.append(
            DayChange(change, holds, tuple(number for number in holds if last[number] == key))
        )
    return changes


_GroupKey = tuple[date, Source, float]
_Groups = dict[_GroupKey, list[tuple[int, DayEntry]]]


def _in_order(groups: _Groups) -> list[_GroupKey]:
    left = sorted(groups, key=lambda key: (key[0], -key[1].strength, -key[2]))
    facts = {key: {fact_id(entry.text) for _, entry in entries} for key, entries in groups.items()}
    superseded = {
        key: {entry.supersedes for _, entry in entries} for key, entries in groups.items()
    }
    ordered: list[_GroupKey] = []
    while left:
        of_day = [key for key in left if key[0] == left[0][0]]
        free = (
            key
            for key in of_day
            if all(facts[other].isdisjoint(superseded[key]) for other in of_day if other != key)
        )
        ordered.append(next(free, left[0]))
        left.remove(ordered[-1])
    return ordered


def _entry(draft: Draft, session: str, minute: str) -> DayEntry:
    lines = (
        str(draft.last_line)
        if draft.first_line == draft.last_line
        else f"{draft.first_line}-{draft.last_line}"
    )
    return DayEntry(
        minute=minute,
        text=draft.text,
        kind=draft.kind,
        cites=f"{session}#{lines}",
        time=draft.time,
        by_agent=draft.speaker is Speaker.AGENT,
        key=draft.key,
        supersedes=draft.supersedes,
        contradicts=draft.contradicts,
        by_model=draft.rule == MODEL_RULE,
        sender=draft.sender,
    )


_MOST_OF_SESSION = 40
"""Entries of one session on one day."""
_MOST_OF_DAY = 200
"""Entries that digests write into the log of one day."""


class _Verdict(Enum):
    NEW = auto()
    REPEATED = auto()
    REFUSED = auto()
    SURPLUS = auto()


@dataclass(slots=True)
class _DayLog:
    """`added` counts entries by session, `written` those of digests (None: not counted yet)."""

    data: bytes | None
    facts: set[FactId]
    statements: StatementIndex
    added: Counter[str] = field(default_factory=Counter)
    written: Counter[str] | None = None


class _NewEntries:
    def __init__(self) -> None:
        self._facts: set[FactId] = set()
        self._texts: list[str] = []
        self._statements = StatementIndex()

    def add(self, text: str) -> None:
        self._facts.add(text_id(text))
        self._texts.append(text)
        self._statements.add(text)

    def holds(self, text: str) -> bool:
        return text_id(text) in self._facts or any(
            restates(text, self._texts[at]) for at in self._statements.find(text)
        )


class _EntryJudge:
    """Judges entries of one session after another, in order of time.

    Judgements hold until somebody changes memory: under the lock `is_outdated` tells that, and
    `judge_again` helps. They count as written for later sessions until `discard` or `note_written`.
    """

    def __init__(self, workspace: Workspace, zone: tzinfo | None, say: Say, dry_run: bool) -> None:
        self._workspace = workspace
        self._zone = zone
        self._say = say
        self._dry_run = dry_run
        self._commit: CommitId | None = None
        self._taken_out: removed_facts.TakenOutFacts | None = None
        self._memory: FreshIndex | None = None
        self._new = _NewEntries()
        """The entries of this run, which `_memory` need not know."""
        self._logs: dict[date, _DayLog] = {}
        self._session = ""
        self._given: frozenset[str] = frozenset()
        self._days: set[date] = set()
        """The days judged since the last writing whose logs were as on disk."""

    def begin_session(self, session: str, given: frozenset[str]) -> None:
        """Begin a session, CLIENT/SESSION, which was given entries with these ids."""
        self._session, self._given = session, given

    def note_written(self) -> None:
        for day in () if self._dry_run else self._days:
            if self._logs[day].written is None:
                self._logs[day].added.clear()  # they are committed, and counted when it matters
        self._days = set()

    def discard(self, day: date) -> None:
        """Discard a day's judgements, not written: another session may say the same."""
        self._logs.pop(day, None)
        self._days.discard(day)
        self._memory, self._new = None, _NewEntries()

    def discard_all(self) -> None:
        for day in tuple(self._days):
            self.discard(day)

    def judge(self, draft: Draft) -> _Verdict:
        day, fact = draft.time.astimezone(self._zone).date(), fact_id(draft.text)
        is_own = draft.speaker is Speaker.USER and draft.sender is None
        if self._facts_taken_out().holds(draft.text, fact, draft.time if is_own else None):
            return _Verdict.REFUSED
        log = self._log(day)
        if fact in log.facts:
            return _Verdict.REPEATED
        if not self._has_room(day, log):
            return _Verdict.SURPLUS
        # a correction quotes what it corrects, and so is like it
        corrects = draft.supersedes is not None or bool(draft.contradicts)
        if (not corrects and log.statements.holds_like(draft.text)) or (
            draft.speaker is Speaker.AGENT and self._restates(draft.text)
        ):
            return _Verdict.REPEATED
        log.facts.add(fact)
        log.statements.add(draft.text)
        log.added[self._session] += 1
        self._new.add(draft.text)
        return _Verdict.NEW

    def is_outdated(self, day: date) -> bool:
        """True if somebody committed, or changed the log of a day, since it was judged."""
        return (
            self._workspace.repository.head() != self._commit
            or self._read_log(day) != self._log(day).data
        )

    def judge_again(self, entries: Iterable[DayEntry]) -> Iterator[tuple[DayEntry, _Verdict]]:
        """Judge entries by current memory; those logged by now are left to the write."""
        self._taken_out = self._memory = None
        for entry in entries:
            is_own = not entry.by_agent and entry.sender is None
            if self._facts_taken_out().holds(
                entry.text, fact_id(entry.text), entry.time if is_own else None
            ):
                yield entry, _Verdict.REFUSED
            else:
                yield (
                    entry,
                    (
                        _Verdict.REPEATED
                        if entry.by_agent and self._is_current(entry.text)
                        else _Verdict.NEW
                    ),
                )

    def note_write(self, day: date, result: WriteResult) -> None:
        self._commit = None if result.notes else result.commit
        self._log(day).data = self._read_log(day)

    def _facts_taken_out(self) -> removed_facts.TakenOutFacts:
        if self._taken_out is None:
            self._taken_out = removed_facts.facts_taken_out(self._workspace, self._say)
            self._commit = self._taken_out.commit
        return self._taken_out

    def _restates(self, text: str) -> bool:
        return text_id(text) in self._given or self._new.holds(text) or self._is_current(text)

    def _is_current(self, text: str) -> bool:
        if self._memory is None:
            self._memory = fresh_index(self._workspace, self._say, current=True)
        nearest = nearest_in(self._workspace, self._memory, text, self._say)
        return bool(drop_given([(text, nearest)], ()).dropped)

    def _read_log(self, day: date) -> bytes | None:
        return files.read(files.path_on_disk(self._workspace.root, self._workspace.log_path(day)))

    def _log(self, day: date) -> _DayLog:
        if day not in self._days:
            self._days.add(day)
            data = self._read_log(day)
            if day not in self._logs or self._logs[day].data != data:
                document = self._workspace.parse(self._workspace.log_path(day), data or b"")
                facts = {item.fact.id: item.fact.text for item in items(document)}
                written: Counter[str] | None = Counter() if data is None else None
                self._logs[day] = _DayLog(
                    data=data,
                    facts=set(facts),
                    statements=StatementIndex(facts.values()),
                    written=written,
                )
        return self._logs[day]

    def _has_room(self, day: date, log: _DayLog) -> bool:
        """The maximum is per session and per day."""
        if len(log.facts) < min(_MOST_OF_SESSION, _MOST_OF_DAY):
            return True
        if log.written is None:
            log.written = cited_sessions.count_by_session(
                self._workspace, self._workspace.log_path(day), self._say
            )
        of_session = log.written[self._session] + log.added[self._session]
        return (
            of_session < _MOST_OF_SESSION and log.written.total() + log.added.total() < _MOST_OF_DAY
        )


def add_news(tally: DigestResult, news: News) -> None:
    tally.outside += news.outside
    tally.inside += not (news.outside or news.transcript.own)
    figures = tally.figures
    figures.sessions += bool(news.messages)
    figures.messages += len(news.messages)
    figures.size += news.size
    figures.noise += news.noise
    figures.redacted += news.redacted
    figures.skipped += len(news.skipped)


class EntryWriter:
    """Writes the entries of sessions, and counts outcomes.

    Several sessions are held and written together, so that a day's entries of one source and
    confidence share a commit.
    """

    def __init__(
        self,
        workspace: Workspace,
        request: Digest,
        run: str,
        zone: tzinfo | None,
        tally: DigestResult,
        say: Say,
    ) -> None:
        self._workspace = workspace
        self._request = request
        self._run = run
        self._zone = zone
        self._tally = tally
        self._figures = tally.figures
        self._say = say
        self._judge = _EntryJudge(workspace, zone, say, request.dry_run)
        self._held: list[_HeldSession] = []

    @property
    def held(self) -> int:
        return sum(len(session.drafts) for session in self._held)

    def hold(self, news: News) -> None:
        transcript = news.transcript
        read = (
            None
            if self._request.since
            else f"{news.session}#{transcript.lines} {transcript.line_hash}"
        )
        self.hold_drafts(news.session, transcript.session, news.drafts, read)

    def hold_drafts(
        self, session: str, session_id: str, drafts: Sequence[Draft], read: str | None = None
    ) -> None:
        """Judge drafts of CLIENT/SESSION, and hold new ones; `read` as in `_HeldSession`."""
        self._held.append(
            _HeldSession(session, self._judged(session, session_id, drafts) if drafts else (), read)
        )

    def _judged(self, session: str, session_id: str, drafts: Sequence[Draft]) -> tuple[Draft, ...]:
        if secrets.find(session):  # commits would name it
            self._figures.refused += len(drafts)
            return ()
        self._judge.begin_session(session, read_record(self._workspace.state, session_id).all_given)
        return tuple(draft for draft in drafts if self._count(self._judge.judge(draft)))

    def write(self) -> list[MdmemError | None]:
        """For each held session in order: why a log could not take its entries, or None."""
        held, self._held = self._held, []
        problems: list[MdmemError | None] = [None] * len(held)
        try:
            for each in _day_changes(held, self._run, self._zone):
                reads = (held[number].read for number in each.ends if problems[number] is None)
                try:
                    self.write_change(replace(each.change, reads=tuple(filter(None, reads))))
                except (SectionProblem, PathProblem, TextProblem, RefusedChange) as problem:
                    for number in each.holds:
                        problems[number] = problem
                    self._judge.discard(each.change.day)
        except MdmemError:
            self._judge.discard_all()
            raise
        self._judge.note_written()
        return problems

    def _count(self, verdict: _Verdict) -> bool:
        self._figures.refused += verdict is _Verdict.REFUSED
        self._figures.doubled += verdict is _Verdict.REPEATED
        self._figures.surplus += verdict is _Verdict.SURPLUS
        return verdict is _Verdict.NEW

    def write_change(self, change: DigestDay) -> None:
        """Write a day's entries as far as they still hold, or facts of another tool."""
        options = replace(change.options, dry_run=self._request.dry_run)
        change = replace(change, options=complete_options(self._workspace, options, own_work=True))
        try:
            self._write_day(change)
        except (WorkspaceProblem, RepositoryProblem) as problem:
            if not permission.is_refusal(problem):
                raise
            self._propose(change)

    def _propose(self, change: DigestDay) -> None:
        """Propose what only people may write; what a person rejected is refused."""
        try:
            done = proposing.propose(self._workspace, Propose(change), self._say)
        except ProposalProblem as problem:
            self._say(problem.message)
            self._figures.refused += len(change.entries)
        else:
            self._count_written(change, done.result)

    def _write_day(self, change: DigestDay) -> None:
        if self._request.dry_run:
            self._apply(change, lambda edit: apply.preview(self._workspace, edit))
            return
        with lock_workspace(self._workspace, self._say), Transaction() as transaction:
            recover(self._workspace, self._say)
            if change.file is None and self._judge.is_outdated(change.day):
                judged = self._judge.judge_again(change.entries)
                change = replace(
                    change,
                    entries=tuple(entry for entry, verdict in judged if self._count(verdict)),
                )
            result = self._apply(
                change, lambda edit: apply.apply_edit(self._workspace, edit, self._say, transaction)
            )
            if result is not None and change.file is None:
                self._judge.note_write(change.day, result)

    def _apply(
        self, change: DigestDay, carry_out: Callable[[DigestDay], WriteResult]
    ) -> WriteResult | None:
        if not change.entries:
            return None
        try:
            result = carry_out(change)
        except (TextProblem, RefusedChange) as problem:
            writable = tuple(
                entry
                for entry in change.entries
                if self._is_writable(replace(change, entries=(entry,)))
            )
            if not _is_of_entry(problem) or len(writable) == len(change.entries):
                raise
            self._figures.refused += len(change.entries) - len(writable)
            return self._apply(replace(change, entries=writable), carry_out)
        self._count_written(change, result)
        return result

    def _is_writable(self, change: DigestDay) -> bool:
        """True if nothing forbids an entry's text, whatever its log is like."""
        try:
            apply.preview(self._workspace, change)
        except (TextProblem, RefusedChange) as problem:
            return not _is_of_entry(problem)
        return True

    def _count_written(self, change: DigestDay, result: WriteResult) -> None:
        entries = [_written_entry(change, entry) for entry in change.entries]
        written = [entry for entry in entries if entry.fact in result.added]
        suggested = {digest_day.entry_fact(entry) for entry in change.entries if entry.by_model}
        self._tally.entries += written
        by_model = sum(entry.fact in suggested for entry in written)
        self._figures.entries += len(written)
        self._figures.by_model += by_model
        self._figures.by_rule += len(written) - by_model
        if self._tally.model is not None:
            self._tally.model.entries += by_model
        self._figures.doubled += len(entries) - len(written)
        if result.commit is not None:
            self._tally.commits.append(result.commit)


def _is_of_entry(problem: TextProblem | RefusedChange) -> bool:
    return isinstance(problem, TextProblem) or problem.code == "secret-found"


def _written_entry(change: DigestDay, entry: DayEntry) -> DigestedEntry:
    source = change.options.source
    is_imported = change.file is not None
    return DigestedEntry(
        fact=digest_day.entry_fact(entry),
        day=date.fromisoformat(entry.minute) if is_imported else change.day,
        minute="" if is_imported else entry.minute,
        kind=entry.kind,
        text=entry.text,
        source=source,
        confidence=(
            source.confidence if change.options.confidence is None else change.options.confidence
        ),
        cites=(entry.cites,),
    )
