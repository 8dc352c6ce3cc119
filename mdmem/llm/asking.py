"""Ask a model within the user's daily tokens; kept answers are used again, requests are logged."""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime, tzinfo
from hashlib import sha256
from pathlib import Path

from mdmem import events
from mdmem.folder import files
from mdmem.llm.checks import AnswerItems, UnreadableAnswerError, read_answer
from mdmem.llm.requests import (
    ANSWERED,
    BAD_ANSWER,
    BUDGET,
    BYTES_A_TOKEN,
    CUT,
    KEPT,
    CommandModel,
    Model,
    ModelAnswer,
    ModelCommand,
    ModelFailure,
    ModelRequest,
    ModelServer,
)
from mdmem.model.pipelines import ModelFigures
from mdmem.startup.records import asdict, dataclass, field

FOLDER_NAME = "model"
_KEEP_SECONDS = 30 * 24 * 3600


def read_kept_answer(state: Path, name: str, attempt: int) -> str | None:
    """A kept answer; None if there is none that is valid for this attempt."""
    try:
        values = json.loads((state / FOLDER_NAME / f"{name}.json").read_bytes())
        text, only_for = values["answer"], values["attempt"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return text if isinstance(text, str) and only_for in (None, attempt) else None


def keep_answer(state: Path, name: str, text: str, attempt: int | None) -> None:
    """Keep an answer; `attempt`: the only attempt that it is valid for (None: all)."""
    folder = state / FOLDER_NAME
    folder.mkdir(mode=0o700, exist_ok=True)
    files.write_cache(folder / f"{name}.json", json.dumps({"answer": text, "attempt": attempt}))


def drop_all_answers(state: Path) -> None:
    """Drop all answers: they may hold what was purged while one was pending."""
    _drop_answers(state, math.inf)


def _drop_answers(state: Path, before: float) -> None:
    with suppress(OSError):
        for path in (state / FOLDER_NAME).iterdir():
            if path.stat().st_mtime < before:
                path.unlink(missing_ok=True)


LOG_NAME, OLDER_LOG_NAME = "model.jsonl", "model.1.jsonl"
_MAX_BYTES = 1_000_000
_KEYS = ("time", "run", "task", "request", "bytes", "tokens_in", "tokens_out", "ms", "outcome")


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request that was sent, answered from the kept ones, or skipped for want of tokens.

    `request`: hash of model and request. `size`: bytes of its text. Tokens are as the server counts
    them, else one for 4 bytes.
    """

    time: datetime
    run: str
    task: str
    request: str
    size: int
    tokens_in: int
    tokens_out: int
    ms: float
    outcome: str

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


def append_record(state: Path, record: RequestRecord) -> None:
    """Add a request to the log. Raises OSError."""
    values = asdict(record) | {
        "time": record.time.isoformat(timespec="milliseconds"),
        "bytes": record.size,
    }
    line = json.dumps({name: values[name] for name in _KEYS}).encode() + b"\n"
    events.append_line(state / LOG_NAME, state / OLDER_LOG_NAME, line, _MAX_BYTES)


def read_records(state: Path) -> Iterator[RequestRecord]:
    """The logged requests, oldest first, without damaged lines. Raises OSError."""
    for line in events.read_lines(state / LOG_NAME, state / OLDER_LOG_NAME):
        try:
            values = json.loads(line)
            fields = {name: values[name] for name in _KEYS}
            fields |= {"time": datetime.fromisoformat(fields["time"]), "size": fields.pop("bytes")}
            record = RequestRecord(**fields)
            if record.time.tzinfo and record.tokens >= 0:
                yield record
        except (ValueError, TypeError, KeyError, RecursionError):
            continue


def last_record(state: Path) -> RequestRecord | None:
    """The last request; None if there is none, or the log cannot be read."""
    with suppress(OSError):
        return next(iter(deque(read_records(state), maxlen=1)), None)
    return None


def tokens_on(records: Iterable[RequestRecord], day: date, zone: tzinfo | None) -> int:
    return sum(record.tokens for record in records if record.time.astimezone(zone).date() == day)


_MOST_ANSWER_TOKENS, _FEWEST_ANSWER_TOKENS = 4_096, 512
# no server counts more tokens in English words; other bytes may be a token each
_MIN_ASCII_PER_TOKEN = 2


def _open_model(endpoint: ModelServer | ModelCommand) -> Model:
    if isinstance(endpoint, ModelServer):
        # 600 ms with the package
        from mdmem.llm.model_server import ServerModel  # noqa: PLC0415

        return ServerModel(endpoint, time.sleep)
    return CommandModel(endpoint, time.sleep)


@dataclass(frozen=True, slots=True)
class AskedRun:
    """The run that asks, and its tokens. Days are those of `zone`. `is_dry`: nothing is sent.

    Requests are added to `figures`; in a dry run those that would be sent.
    """

    name: str
    tokens_a_day: int
    zone: tzinfo | None
    is_dry: bool = False
    figures: ModelFigures = field(default_factory=ModelFigures)


class Asker:
    def __init__(
        self,
        state: Path,
        endpoint: ModelServer | ModelCommand,
        run: AskedRun,
        now: Callable[[], datetime],
    ) -> None:
        self._state = state
        self._endpoint = endpoint
        self._run = run
        self._now = now
        self._model: Model | None = None
        self._used: tuple[date, int] | None = None
        if not run.is_dry:
            _drop_answers(state, time.time() - _KEEP_SECONDS)

    def ask(self, request: ModelRequest, attempt: int = 0) -> AnswerItems | None:
        """The answer; an unreadable one is requested once more, with the parser's words.

        `attempt` is the number of earlier runs without a readable answer to the same request.
        Returns None in a dry run without a kept answer.
        Raises ModelFailure: there is no answer, or no tokens are left today.
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
        if self._model is not None:
            self._model.close()

    def _ask_once(self, request: ModelRequest, attempt: int) -> AnswerItems | None:
        name = sha256(f"{self._endpoint.name}\0{request.text}".encode()).hexdigest()
        if (kept := read_kept_answer(self._state, name, attempt)) is not None:
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
            self._model = self._model or _open_model(self._endpoint)
            self._count_sent(request)
            answer = self._model.answer(request, most_tokens)
        except ModelFailure as failure:
            self._log(request, name, ModelAnswer("", 0, 0), _ms_since(started), failure.outcome)
            raise
        return self._keep(request, name, answer, attempt, _ms_since(started))

    def _keep(
        self, request: ModelRequest, name: str, answer: ModelAnswer, attempt: int, ms: float
    ) -> AnswerItems:
        # logged before it is read: used tokens count, whatever happens
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
            keep_answer(self._state, name, text, attempt)

    def _count_sent(self, request: ModelRequest) -> None:
        self._run.figures.requests += 1
        self._run.figures.size += request.size

    def _tokens_for_answer(self, request: ModelRequest) -> int:
        # limited to the tokens left today
        left = self._run.tokens_a_day - self._tokens_used() - self._most_tokens(request)
        return min(_MOST_ANSWER_TOKENS, left)

    def _most_tokens(self, request: ModelRequest) -> int:
        if isinstance(self._endpoint, ModelCommand):
            return -(-request.size // BYTES_A_TOKEN)
        ascii_size = len(request.text.encode("ascii", "ignore"))
        return request.size - ascii_size + -(-ascii_size // _MIN_ASCII_PER_TOKEN)

    def _tokens_used(self) -> int:
        today = self._now().astimezone(self._run.zone).date()
        if self._used is None or self._used[0] != today:
            self._used = (today, tokens_on(read_records(self._state), today, self._run.zone))
        return self._used[1]

    def _log(
        self, request: ModelRequest, name: str, answer: ModelAnswer, ms: float, outcome: str
    ) -> None:
        if self._run.is_dry:
            return
        record = RequestRecord(
            time=self._now(),
            run=self._run.name,
            task=request.task,
            request=name,
            size=request.size,
            tokens_in=(
                -(-request.size // BYTES_A_TOKEN) if answer.tokens_in is None else answer.tokens_in
            ),
            tokens_out=(
                -(-len(answer.text.encode()) // BYTES_A_TOKEN)
                if answer.tokens_out is None
                else answer.tokens_out
            ),
            ms=ms,
            outcome=outcome,
        )
        self._run.figures.tokens += record.tokens
        if self._used is not None:
            self._used = (self._used[0], self._used[1] + record.tokens)
        append_record(self._state, record)


def _ms_since(started: float) -> float:
    return round((time.monotonic() - started) * 1000, 1)
