"""Write the entries that were drawn from a session into the logs of their days."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, tzinfo

from mdmem.changes import apply, digest_day
from mdmem.digest.days import count_by_day, session_days
from mdmem.digest.news import News
from mdmem.digest.tally import Tally
from mdmem.errors import PathProblem, SectionProblem, TextProblem
from mdmem.extract.drafts import Draft
from mdmem.facts import fact_id
from mdmem.given import guard
from mdmem.model.digests import Digest, DigestedEntry
from mdmem.model.sessions import Speaker
from mdmem.model.writes import DayEntry, DigestDay, WriteResult
from mdmem.queries import taken_out
from mdmem.queries.restated import nearest_entries
from mdmem.startup.records import replace
from mdmem.workspace import Say, Workspace


class EntryWriter:
    """Writes the entries of sessions, and adds up what came of them."""

    def __init__(self, workspace: Workspace, request: Digest, run: str, zone: tzinfo | None, tally: Tally, say: Say) -> None:
        self._workspace = workspace
        self._request = request
        self._run = run
        self._zone = zone
        self._tally = tally
        self._say = say
        self._taken_out: tuple[taken_out.TakenOut, ...] | None = None

    def write(self, news: News, counts: Mapping[str, int]) -> dict[str, int]:
        """Write the entries of a session; returns how many each day has of it now.

        Raises:
            MdmemError: the workspace cannot be written.
        """
        transcript = news.transcript
        read_to = f"{news.session}#{transcript.lines} {transcript.line_hash}"
        drafts = tuple(self._allowed(self._since(news.drafts)))
        days = session_days(drafts, news.session, self._run, read_to, self._zone, counts)
        self._tally.surplus += days.surplus
        written: list[date] = []
        for change in days.changes:
            written += [entry.day for entry in self._write_day(change)]
        return count_by_day(counts, written)

    def _since(self, drafts: Iterable[Draft]) -> Iterator[Draft]:
        """The drafts of the days that are asked for."""
        first = None if self._request.since is None else date.fromisoformat(self._request.since)
        return (draft for draft in drafts if first is None or draft.time.astimezone(self._zone).date() >= first)

    def _allowed(self, drafts: Iterable[Draft]) -> Iterator[Draft]:
        """The drafts but for what a person took out, and for what an agent only says again of memory."""
        for draft in drafts:
            if self._taken_out is None:
                self._taken_out = taken_out.facts_taken_out(self._workspace, self._say)
            if taken_out.is_taken_out(draft.text, fact_id(draft.text), draft.time, self._taken_out):
                self._tally.refused += 1
            elif draft.speaker is Speaker.AGENT and self._is_current(draft.text):
                self._tally.repeated += 1
            else:
                yield draft

    def _is_current(self, text: str) -> bool:
        """True if memory says a text already."""
        ((_, nearest),) = nearest_entries(self._workspace, [text], self._say)
        return bool(guard.drop_given([(text, nearest)], ()).dropped)

    def _write_day(self, change: DigestDay) -> list[DigestedEntry]:
        """Carry out one change. One that is refused is tried again entry by entry, so that a single text does not hold the others up."""
        change = replace(change, options=replace(change.options, dry_run=self._request.dry_run))
        try:
            result = apply.apply(self._workspace, change, self._say)
        except (TextProblem, SectionProblem, PathProblem):
            if len(change.entries) == 1:
                self._tally.refused += 1
                return []
            single = [replace(change, entries=(entry,)) for entry in change.entries]
            return [written for each in single for written in self._write_day(each)]
        return self._note_written(change, result)

    def _note_written(self, change: DigestDay, result: WriteResult) -> list[DigestedEntry]:
        entries = [_written_entry(change, entry) for entry in change.entries]
        written = [entry for entry in entries if entry.fact in result.added]
        self._tally.entries += written
        self._tally.repeated += len(entries) - len(written)
        if result.commit is not None:
            self._tally.commits.append(result.commit)
        return written


def _written_entry(change: DigestDay, entry: DayEntry) -> DigestedEntry:
    source = change.options.source
    return DigestedEntry(
        fact=digest_day.entry_fact(entry),
        day=change.day,
        minute=entry.minute,
        kind=entry.kind,
        text=entry.text,
        source=source,
        confidence=source.confidence if change.options.confidence is None else change.options.confidence,
        cites=(entry.cites,),
    )
