"""Write drawn entries into the logs of their days, and add up the figures of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, tzinfo

from mdmem import secrets
from mdmem.changes import apply
from mdmem.changes.commit_notes import complete_options
from mdmem.changes.recover import Transaction, lock_workspace, recover
from mdmem.changes.verbs import digest_day
from mdmem.context.given import read_record
from mdmem.model.errors import MdmemError, PathProblem, RefusedChange, SectionProblem, TextProblem
from mdmem.model.pipelines import (
    Digest,
    DigestedEntry,
    DigestResult,
)
from mdmem.model.writes import DayEntry, DigestDay, WriteResult
from mdmem.nights.digest.judging import EntryJudge, HeldSession, Verdict, day_changes
from mdmem.nights.digest.news import News
from mdmem.sessions.drafts import Draft
from mdmem.startup.records import replace
from mdmem.workspace import Say, Workspace


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
        self._judge = EntryJudge(workspace, zone, say, request.dry_run)
        self._held: list[HeldSession] = []

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
        """Judge drafts of CLIENT/SESSION, and hold new ones; `read` as in `HeldSession`."""
        self._held.append(
            HeldSession(session, self._judged(session, session_id, drafts) if drafts else (), read)
        )

    def _judged(self, session: str, session_id: str, drafts: Sequence[Draft]) -> tuple[Draft, ...]:
        if secrets.find(session):  # commits would name it
            self._figures.refused += len(drafts)
            return ()
        self._judge.begin_session(session, read_record(self._workspace.state, session_id).all_given)
        return tuple(
            draft for draft in self._since(drafts) if self._count(self._judge.judge(draft))
        )

    def write(self) -> list[MdmemError | None]:
        """For each held session in order: why a log could not take its entries, or None."""
        held, self._held = self._held, []
        problems: list[MdmemError | None] = [None] * len(held)
        try:
            for each in day_changes(held, self._run, self._zone):
                reads = (held[number].read for number in each.ends if problems[number] is None)
                try:
                    self._write_day(replace(each.change, reads=tuple(filter(None, reads))))
                except (SectionProblem, PathProblem, TextProblem, RefusedChange) as problem:
                    for number in each.holds:
                        problems[number] = problem
                    self._judge.discard(each.change.day)
        except MdmemError:
            self._judge.discard_all()
            raise
        self._judge.note_written()
        return problems

    def _since(self, drafts: Iterable[Draft]) -> Iterator[Draft]:
        first = None if self._request.since is None else date.fromisoformat(self._request.since)
        return (
            draft
            for draft in drafts
            if first is None or draft.time.astimezone(self._zone).date() >= first
        )

    def _count(self, verdict: Verdict) -> bool:
        self._figures.refused += verdict is Verdict.REFUSED
        self._figures.doubled += verdict is Verdict.REPEATED
        self._figures.surplus += verdict is Verdict.SURPLUS
        return verdict is Verdict.NEW

    def _write_day(self, change: DigestDay) -> None:
        options = replace(change.options, dry_run=self._request.dry_run)
        change = replace(change, options=complete_options(self._workspace, options, own_work=True))
        if self._request.dry_run:
            self._apply(change, lambda edit: apply.preview(self._workspace, edit))
            return
        with lock_workspace(self._workspace, self._say), Transaction() as transaction:
            recover(self._workspace, self._say)
            if self._judge.is_outdated(change.day):
                judged = self._judge.judge_again(change.entries)
                change = replace(
                    change,
                    entries=tuple(entry for entry, verdict in judged if self._count(verdict)),
                )
            result = self._apply(
                change, lambda edit: apply.apply_edit(self._workspace, edit, self._say, transaction)
            )
            if result is not None:
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
    return DigestedEntry(
        fact=digest_day.entry_fact(entry),
        day=change.day,
        minute=entry.minute,
        kind=entry.kind,
        text=entry.text,
        source=source,
        confidence=(
            source.confidence if change.options.confidence is None else change.options.confidence
        ),
        cites=(entry.cites,),
    )
