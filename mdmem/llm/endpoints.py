"""The model that the user's own settings name: a server, or a command."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from mdmem import repo
from mdmem.folder import installed
from mdmem.folder.config import Settings
from mdmem.llm.requests import ModelRequest
from mdmem.model.errors import PackageProblem, WorkspaceProblem
from mdmem.repo.runner import TimeUpError, TooMuchOutputError, converse
from mdmem.startup.records import dataclass

ANSWERED, KEPT = "answered", "kept"  # outcomes: answered now, or before
CUT = "cut"  # the answer ended in the middle; its whole items count
# unreadable answer; no tokens left today; no answer, temporarily; request not accepted
BAD_ANSWER, BUDGET, DOWN, REFUSED = "bad-answer", "model-budget", "model-down", "model-refused"


class ModelFailure(Exception):
    """A model gave no answer.

    `outcome`: one of those above. `is_passing`: a retry may succeed, after `wait` seconds where the
    server names a time.
    """

    def __init__(
        self, outcome: str, message: str, *, is_passing: bool = False, wait: float | None = None
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.is_passing = is_passing
        self.wait = wait


T = TypeVar("T")
_RETRIES = 3
FIRST_PAUSE = 1.0  # seconds before the second try unless the failure names others; then doubled


def answer_in_time(send: Callable[[float], T], seconds: float, pause: Callable[[float], None]) -> T:
    """Send a request, and up to `_RETRIES` times again, for at most so many seconds with pauses.

    `send` takes the seconds left. Raises the last ModelFailure, or the first permanent one.
    """
    end = time.monotonic() + seconds
    number = 0
    while True:
        try:
            return send(end - time.monotonic())
        except ModelFailure as failure:
            wait = FIRST_PAUSE * 2**number if failure.wait is None else failure.wait
            if not failure.is_passing or number == _RETRIES or time.monotonic() + wait >= end:
                raise
        pause(wait)
        number += 1


SECONDS = 120.0  # for one request: all tries, and an answer that comes byte by byte
MOST_ANSWER_BYTES = 1_000_000  # of a server's response, or a command's output


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """An answer, and the tokens of request and answer; None where nobody counted them."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server with OpenAI's interface. `key`: for its header, or empty."""

    url: str
    name: str
    key: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ModelCommand:
    """A program that reads a request on standard input and writes the answer to its output."""

    arguments: tuple[str, ...]
    name: str
    seconds: float


class Model(Protocol):
    def answer(self, request: ModelRequest, most_tokens: int) -> ModelAnswer:
        """Wait for an answer of at most so many tokens. Raises ModelFailure."""
        ...

    def close(self) -> None: ...


def configured(settings: Settings, environment: Mapping[str, str]) -> ModelServer | ModelCommand:
    """Raises WorkspaceProblem (`no-model`: the settings name none, or not all that it needs),
    PackageProblem (`missing-package`).
    """
    if settings.model_command and settings.model_url:
        raise _no_model("your settings name a model_url and a model_command", "Remove one of them.")
    if settings.model_command:
        return ModelCommand(
            settings.model_command, settings.model_name or " ".join(settings.model_command), SECONDS
        )
    if not settings.model_url:
        raise _no_model(
            "your settings do not name a model",
            "Set model_url and model_name, or model_command, in your user settings.",
        )
    parts = urlsplit(settings.model_url)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.username
        or parts.password
    ):
        raise _no_model(
            "model_url is not a server address",
            'Write it as "http://127.0.0.1:11434/v1"; a key goes into a variable.',
        )
    if not settings.model_name:
        raise _no_model(
            "your settings do not name the server's model",
            'Set model_name, as in model_name = "qwen3:8b".',
        )
    key = ""
    if settings.model_key_env:
        key = environment.get(settings.model_key_env, "").strip()
        if not key:
            raise _no_model(
                f"the variable {settings.model_key_env} is not set",
                "model_key_env names the variable with the key.",
            )
    if find_spec("openai") is None:
        raise PackageProblem(
            "missing-package",
            f"a model's server needs the openai package: {installed.install_command('model')}",
        )
    return ModelServer(settings.model_url, settings.model_name, key, SECONDS)


def _no_model(message: str, hint: str) -> WorkspaceProblem:
    return WorkspaceProblem("no-model", message, hint)


BYTES_A_TOKEN = 4
# sessions started by the program are not digested, and get no memory into their prompts
_ENVIRONMENT = {"MDMEM_RUN": "1", "MDMEM_CONTEXT": "off"}


class CommandModel:
    """A model that a program runs, in an empty folder with `MDMEM_RUN` set."""

    def __init__(self, command: ModelCommand, pause: Callable[[float], None]) -> None:
        self._command = command
        self._pause = pause

    def answer(self, request: ModelRequest, most_tokens: int) -> ModelAnswer:
        """Run the program; retry passing failures while there is time. Raises ModelFailure."""
        return answer_in_time(
            partial(self._run, request, most_tokens), self._command.seconds, self._pause
        )

    def close(self) -> None:
        """Do nothing: nothing is open between requests."""

    def _run(self, request: ModelRequest, most_tokens: int, seconds: float) -> ModelAnswer:
        name, most_bytes = self._command.arguments[0], MOST_ANSWER_BYTES
        with tempfile.TemporaryDirectory(prefix="mdmem-model-") as folder:
            try:
                status, output, _ = converse(
                    self._command.arguments,
                    repo.environment(_ENVIRONMENT),
                    request.text.encode(),
                    seconds,
                    folder,
                    most_bytes=most_bytes,
                )
            except OSError as problem:
                raise ModelFailure(
                    REFUSED, f"{name} cannot be run: {problem.strerror}"
                ) from problem
            except TimeUpError as problem:
                raise ModelFailure(
                    DOWN, f"{name} took longer than {self._command.seconds:g} s"
                ) from problem
            except TooMuchOutputError as problem:
                raise ModelFailure(
                    BAD_ANSWER, f"{name} printed more than {most_bytes:,} bytes"
                ) from problem
        if status:
            raise ModelFailure(DOWN, f"{name} exited {status}", is_passing=True)
        return ModelAnswer(output[: most_tokens * BYTES_A_TOKEN].decode(errors="replace"))
