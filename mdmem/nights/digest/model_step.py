"""The model step of a digest: checked suggestions on what the rules leave become entries.

It runs once the rules' entries are written: a slow model delays nothing, and no workspace lock is
held meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

from mdmem import secrets
from mdmem.folder import trust
from mdmem.folder.config import Settings
from mdmem.folder.trust import TextOrigin
from mdmem.index.session_messages import purged_texts
from mdmem.llm import asking
from mdmem.llm.asking import AskedRun, Asker
from mdmem.llm.checks import AGENT, OTHER, USER, SuggestedFact, check_facts
from mdmem.llm.requests import (
    BAD_ANSWER,
    BUDGET,
    ExtractData,
    ModelFailure,
    RequestLine,
    configured,
    extract_request,
    last_whole_line,
    pack,
)
from mdmem.model.errors import MdmemError, TranscriptProblem
from mdmem.model.pipelines import LINES, Digest, DigestResult, ModelFigures
from mdmem.model.sessions import Message, Speaker, Transcript
from mdmem.nights.digest import cursors
from mdmem.nights.digest.cursors import MOST_TRIES, DueLines, ReadState
from mdmem.nights.digest.known_sessions import first_time
from mdmem.nights.digest.news import News, was_said
from mdmem.sessions.drafts import MODEL_RULE, Draft, DraftRules, draw, unsettled
from mdmem.sessions.files import read_file
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import fact_id
from mdmem.workspace import Say, Workspace

_IDLE_SECONDS = 15 * 60
_MOST_SECONDS = 5 * 60
"""After so long a run asks nothing more: a timer ends one that takes 15 minutes."""
_MOST_KNOWN = 30
"""The maximum of known entries in a request."""
_CONTEXT_LINES = 40
"""Known entries are from this many lines before a request's first one, or behind it."""


@dataclass(frozen=True, slots=True)
class ModelNews:
    session: str
    session_id: str
    path: str
    drafts: tuple[Draft, ...]
    due: DueLines


class _Asked(NamedTuple):
    requests: tuple[tuple[RequestLine, ...], ...]
    answered: int
    drafts: tuple[Draft, ...]
    failure: ModelFailure | None


def is_wanted(settings: Settings, request: Digest) -> bool:
    return request.since is None and (settings.digest == "model" or request.model is True)


class ModelStep:
    def __init__(
        self,
        workspace: Workspace,
        request: Digest,
        run: str,
        zone: tzinfo | None,
        tally: DigestResult,
        say: Say,
        read: ReadState,
    ) -> None:
        self._workspace = workspace
        self._request = request
        self._run = run
        self._zone = zone
        self._tally = tally
        self.figures = ModelFigures()
        if request.model is not False:
            tally.model = self.figures
        self._say = say
        self._read = read
        self._due = read.due
        self._deadline = time.monotonic() + _MOST_SECONDS
        self._stopped = False
        """True after a failure that the next request would meet too."""

    def add(self, news: News, path: str) -> None:
        due, after_line = self._due.get(news.session), news.transcript.after_line
        is_compacted = (news.transcript.compacted_line or 0) > after_line
        if news.outside or not (news.messages or (due and is_compacted)):
            return
        first = min((message.line for message in news.messages), default=after_line + 1)
        if due is None or (not after_line and due.line >= first):
            due = DueLines(path=path, line=first - 1)
        self._due[news.session] = replace(
            due,
            path=path,
            turns=due.turns
            + sum(message.speaker is Speaker.USER and message.typed for message in news.messages),
            size=due.size
            + sum(len(text.encode()) for _, text in unsettled(news.messages, news.drafts)),
            compacted=due.compacted or is_compacted,
        )
        self._read.has_changed = True

    @property
    def waiting(self) -> int:
        return sum(due.is_pending for due in self._due.values())

    def is_pending(self, session: str) -> bool:
        return session in self._due and self._due[session].is_pending

    def news(self, paths: Collection[str] | None) -> Iterator[ModelNews]:
        """Ask about each due session, or (unless `paths` is None) those in these files."""
        if self._request.model is False:
            return
        try:
            endpoint = configured(self._workspace.settings, self._workspace.environment)
        except MdmemError as problem:
            self.figures.outcome, self.figures.message = problem.code, problem.message
            return
        if self._request.model and paths:
            self._add_named(paths)
        ready = [
            session
            for session, due in self._due.items()
            if (paths is None or due.path in paths) and self._is_ready(due)
        ]
        if not ready:
            return
        run = AskedRun(
            name=self._run,
            tokens_a_day=self._workspace.settings.model_tokens_day,
            zone=self._zone,
            is_dry=self._request.dry_run,
            figures=self.figures,
        )
        asker = Asker(self._workspace.state, endpoint, run, self._workspace.now)
        try:
            for session in ready:
                if self._stopped or self._is_late:
                    break
                news = self._ask_about(session, asker)
                if news is not None:
                    yield news
        finally:
            asker.close()

    @property
    def _is_late(self) -> bool:
        """True if the rest waits for the next run; an explicit request goes on."""
        return self._request.model is not True and time.monotonic() > self._deadline

    def settle(self, news: ModelNews) -> None:
        self._due[news.session] = news.due
        self._read.has_changed = True

    def _add_named(self, paths: Collection[str]) -> None:
        due_paths = {due.path for due in self._due.values()}
        for path in paths:
            transcript = (
                _read(path, self._workspace.settings.owner) if path not in due_paths else None
            )
            if transcript is not None and not transcript.own:
                name = f"{transcript.client}/{transcript.session}"
                self._due.setdefault(name, DueLines(path=path, line=0, size=transcript.size))

    def _is_ready(self, due: DueLines) -> bool:
        try:
            is_idle = Path(due.path).stat().st_mtime < time.time() - _IDLE_SECONDS
        except OSError:
            return False
        return due.is_ready(is_idle or self._request.model is True)

    def _ask_about(self, session: str, asker: Asker) -> ModelNews | None:
        due = self._due[session]
        transcript = _read(due.path, self._workspace.settings.owner)
        if transcript is None or f"{transcript.client}/{transcript.session}" != session:
            del self._due[session]
            self._read.has_changed = True
            return None
        rules = DraftRules(
            zone=self._zone,
            keep_lines=self._request.keep == LINES,
            tools_line=transcript.tools_line,
        )
        drawn = draw(transcript.messages, rules).drafts
        purged = purged_texts(self._workspace, self._say)
        since = first_time(self._workspace)
        new = [
            message
            for message in transcript.messages
            if message.line > due.line
            and self._read.marks.get(message.mark, (session, 0))[0] == session
            and was_said(message, since)
            and not purged.hold(message)
        ]
        asked = self._ask(pack(self._lines(new, drawn)), drawn, new, asker, due.tries)
        if purged_texts(self._workspace, self._say).digest != purged.digest:
            asking.drop_all_answers(self._workspace.state)
        return ModelNews(
            session=session,
            session_id=transcript.session,
            path=due.path,
            drafts=asked.drafts,
            due=self._due_after(due, asked, transcript.lines),
        )

    def _due_after(self, due: DueLines, asked: _Asked, last_line: int) -> DueLines:
        if asked.answered == len(asked.requests):
            return DueLines(path=due.path, line=last_line, given_up=due.given_up)
        line = max(due.line, last_whole_line(asked.requests, asked.answered))
        left = sum(
            len(each.text.encode()) for lines in asked.requests[asked.answered :] for each in lines
        )
        tries = due.tries + (asked.failure is not None and asked.failure.outcome != BUDGET)
        if tries > MOST_TRIES:
            return DueLines(path=due.path, line=last_line, given_up=due.given_up + left)
        return replace(due, line=line, size=max(left, cursors.FEWEST_BYTES), tries=tries)

    def _lines(self, messages: Sequence[Message], drawn: Sequence[Draft]) -> Iterator[RequestLine]:
        for message, text in unsettled(messages, drawn):
            if message.time is not None and not secrets.find(text, strict=True):
                time = message.time.astimezone(self._zone)
                yield RequestLine(
                    number=message.line,
                    who=_role(message),
                    day=time.date(),
                    minute=f"{time:%H:%M}",
                    text=text,
                )

    def _ask(
        self,
        requests: tuple[tuple[RequestLine, ...], ...],
        drawn: Sequence[Draft],
        messages: Sequence[Message],
        asker: Asker,
        tries: int,
    ) -> _Asked:
        drafts: list[Draft] = []
        zone, by_line = (
            self._workspace.settings.timezone or "local",
            {message.line: message for message in messages},
        )
        for number, lines in enumerate(requests):
            if self._is_late:
                return _Asked(requests, number, tuple(drafts), None)
            request = extract_request(ExtractData(zone, lines, _nearby_entries(drawn, lines)))
            try:
                answer = asker.ask(request, tries)
            except ModelFailure as failure:
                self.figures.outcome, self.figures.message = failure.outcome, str(failure)
                self._stopped = failure.outcome != BAD_ANSWER
                return _Asked(requests, number, tuple(drafts), failure)
            if answer is not None:
                checked = check_facts(answer.items, lines)
                self._tally.figures.refused += len(checked.refused)
                self.figures.bad_answers += len(checked.refused)
                drafts.extend(_draft(fact, by_line) for fact in checked.facts)
        return _Asked(requests, len(requests), tuple(drafts), None)


def _read(path: str, owners: Collection[str]) -> Transcript | None:
    with suppress(OSError, TranscriptProblem):
        return read_file(path, None, owners)
    return None


def _role(message: Message) -> str:
    if message.speaker is Speaker.AGENT:
        return AGENT
    return USER if message.sender is None else OTHER


def _nearby_entries(
    drawn: Sequence[Draft], lines: Sequence[RequestLine]
) -> tuple[tuple[str, str], ...]:
    """Drawn entries around some lines: by the transcript alone, so that requests repeat exactly."""
    first, last = lines[0].number - _CONTEXT_LINES, lines[-1].number
    near = [
        draft
        for draft in drawn
        if first <= draft.last_line <= last and not secrets.find(draft.text, strict=True)
    ]
    return tuple((fact_id(draft.text), draft.text) for draft in near[-_MOST_KNOWN:])


def _draft(fact: SuggestedFact, by_line: Mapping[int, Message]) -> Draft:
    cited = [by_line[line] for line in fact.lines]
    spoken = (
        [message for message in cited if message.speaker is Speaker.USER] if fact.by_person else []
    )
    last = (spoken or cited)[-1]
    sender = next((message.sender for message in spoken if message.sender is not None), None)
    if last.time is None:
        raise ValueError(f"the message of line {last.line} has no time")
    origin = (
        TextOrigin.OTHER_SENDER
        if sender
        else TextOrigin.MESSAGE
        if fact.by_person
        else TextOrigin.MODEL
    )
    source = trust.trust(origin).most
    assert source is not None  # each of the three may state something
    return Draft(
        time=last.time,
        text=fact.text if sender is None else f"{sender}: {fact.text}",
        kind=fact.kind,
        source=source,
        speaker=Speaker.USER if fact.by_person else Speaker.AGENT,
        rule=MODEL_RULE,
        first_line=fact.lines[0],
        last_line=fact.lines[-1],
        key=fact.key if sender is None else None,
        sender=sender,
    )
