"""Ask a model: what was answered before is taken from what is kept, no more tokens are used on a day than the user allows, and all is logged."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, tzinfo
from pathlib import Path

from mdmem.llm import kept_answers, request_log
from mdmem.llm.answers import AnswerItems, UnreadableAnswerError, read_answer
from mdmem.llm.command import BYTES_A_TOKEN, CommandModel
from mdmem.llm.endpoints import Model, ModelAnswer, ModelCommand, ModelServer
from mdmem.llm.failures import ANSWERED, BAD_ANSWER, BUDGET, CUT, KEPT, ModelFailure
from mdmem.llm.request_log import RequestRecord
from mdmem.llm.requests import ModelRequest
from mdmem.startup.records import dataclass

_MOST_ANSWER_TOKENS, _FEWEST_ANSWER_TOKENS = 4_096, 512
_FEWEST_ASCII_A_TOKEN = 2
"""No server counts more tokens in English words than this gives. Each byte of other letters may be one."""


def open_model(endpoint: ModelServer | ModelCommand) -> Model:
    """The model at an endpoint."""
    if isinstance(endpoint, ModelServer):
        from mdmem.llm.server import ServerModel  # noqa: PLC0415 - 600 ms with the package

        return ServerModel(endpoint, time.sleep)
    return CommandModel(endpoint, time.sleep)


@dataclass(frozen=True, slots=True)
class AskedRun:
    """The run that asks, and the tokens that it may use; `zone`: of the user, whose days count. `is_dry`: nothing is sent."""

    name: str
    tokens_a_day: int
    zone: tzinfo | None
    is_dry: bool = False


class Asker:
    """Asks one model for one run."""

    def __init__(self, state: Path, endpoint: ModelServer | ModelCommand, run: AskedRun, now: Callable[[], datetime]) -> None:
        self._state = state
        self._endpoint = endpoint
        self._run = run
        self._now = now
        self._model: Model | None = None
        self._used: tuple[date, int] | None = None
        self.tokens = 0
        """The tokens that this run used."""
        self.sent = 0
        """The requests that it sent; in a dry run, those that it would."""
        self.sent_bytes = 0
        """Their bytes."""
        if not run.is_dry:
            kept_answers.drop_old_answers(state)

    def ask(self, request: ModelRequest, attempt: int = 0) -> AnswerItems | None:
        """The answer to a request; one that cannot be read is asked for once more, with the words of the parser.

        Args:
            request: to be sent.
            attempt: the number of earlier runs in which the same request got no answer that can be read.

        Returns:
            None in a dry run, where there is no answer that is kept.

        Raises:
            ModelFailure: there is no answer, or no tokens are left for it today.
        """
        try:
            return self._ask_once(request, attempt)
        except UnreadableAnswerError as problem:
            complaint = str(problem)
        try:
            return self._ask_once(request.again(complaint), attempt)
        except UnreadableAnswerError as problem:
            raise ModelFailure(BAD_ANSWER, f"the answer cannot be read: {problem}") from problem

    def close(self) -> None:
        """Let go of the model."""
        if self._model is not None:
            self._model.close()

    def _ask_once(self, request: ModelRequest, attempt: int) -> AnswerItems | None:
        name = kept_answers.request_hash(self._endpoint.name, request)
        if (kept := kept_answers.read_answer(self._state, name, attempt)) is not None:
            self._log(request, name, ModelAnswer(kept, 0, 0), 0.0, KEPT)
            return read_answer(kept, request.list_name)
        if self._run.is_dry:
            self._count_sent(request)
            return None
        most_tokens = self._tokens_for_answer(request)
        if most_tokens < _FEWEST_ANSWER_TOKENS:
            self._log(request, name, ModelAnswer("", 0, 0), 0.0, BUDGET)
            raise ModelFailure(BUDGET, f"the model may use {self._run.tokens_a_day:,} tokens a day")
        started = time.monotonic()
        try:
            self._model = self._model or open_model(self._endpoint)
            self._count_sent(request)
            answer = self._model.answer(request, most_tokens)
        except ModelFailure as failure:
            self._log(request, name, ModelAnswer("", 0, 0), _ms_since(started), failure.outcome)
            raise
        return self._keep(request, name, answer, attempt, _ms_since(started))

    def _keep(self, request: ModelRequest, name: str, answer: ModelAnswer, attempt: int, ms: float) -> AnswerItems:
        """Read an answer, keep it, and log it. The log comes first: what was used counts, whatever happens."""
        try:
            read = read_answer(answer.text, request.list_name)
        except UnreadableAnswerError:
            self._log(request, name, answer, ms, BAD_ANSWER)
            self._write(name, answer.text, attempt)
            raise
        self._log(request, name, answer, ms, CUT if read.is_cut else ANSWERED)
        self._write(name, answer.text, None)
        return read

    def _write(self, name: str, text: str, attempt: int | None) -> None:
        with suppress(OSError):  # a cache
            kept_answers.keep_answer(self._state, name, text, attempt)

    def _count_sent(self, request: ModelRequest) -> None:
        self.sent += 1
        self.sent_bytes += request.size

    def _tokens_for_answer(self, request: ModelRequest) -> int:
        """The tokens that an answer may have, so that no more are used today than may be."""
        left = self._run.tokens_a_day - self._tokens_used() - self._most_tokens(request)
        return min(_MOST_ANSWER_TOKENS, left)

    def _most_tokens(self, request: ModelRequest) -> int:
        """The most tokens that a request may count for."""
        if isinstance(self._endpoint, ModelCommand):
            return -(-request.size // BYTES_A_TOKEN)
        ascii_size = len(request.text.encode("ascii", "ignore"))
        return request.size - ascii_size + -(-ascii_size // _FEWEST_ASCII_A_TOKEN)

    def _tokens_used(self) -> int:
        """The tokens that were used today."""
        today = self._now().astimezone(self._run.zone).date()
        if self._used is None or self._used[0] != today:
            self._used = (today, request_log.tokens_of_day(self._state, today, self._run.zone))
        return self._used[1]

    def _log(self, request: ModelRequest, name: str, answer: ModelAnswer, ms: float, outcome: str) -> None:
        if self._run.is_dry:
            return
        record = RequestRecord(
            time=self._now(),
            run=self._run.name,
            task=request.task,
            request=name,
            size=request.size,
            tokens_in=-(-request.size // BYTES_A_TOKEN) if answer.tokens_in is None else answer.tokens_in,
            tokens_out=-(-len(answer.text.encode()) // BYTES_A_TOKEN) if answer.tokens_out is None else answer.tokens_out,
            ms=ms,
            outcome=outcome,
        )
        self.tokens += record.tokens
        if self._used is not None:
            self._used = (self._used[0], self._used[1] + record.tokens)
        request_log.append_record(self._state, record)


def _ms_since(started: float) -> float:
    return round((time.monotonic() - started) * 1000, 1)
