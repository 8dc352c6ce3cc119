"""The model that the user's own settings name: a server, or a command."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Protocol
from urllib.parse import urlsplit

from mdmem import extras
from mdmem.config import Settings
from mdmem.errors import PackageProblem, WorkspaceProblem
from mdmem.llm.requests import ModelRequest
from mdmem.startup.records import dataclass

SECONDS = 120.0
"""The time for one request as a whole: all tries, and an answer that comes byte by byte."""
MOST_ANSWER_BYTES = 1_000_000
"""The most bytes of what a server sends for one try, or of the output of a command."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The answer of a model, and the tokens of request and answer; None where nobody counted them."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server with the interface of OpenAI. `key`: for its header (empty: none is needed)."""

    url: str
    name: str
    key: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ModelCommand:
    """A program that reads a request on its standard input and writes the answer to its standard output."""

    arguments: tuple[str, ...]
    name: str
    seconds: float


class Model(Protocol):
    """Answers requests."""

    def answer(self, request: ModelRequest, most_tokens: int) -> ModelAnswer:
        """Wait for an answer of so many tokens at most.

        Raises:
            ModelFailure: there is none.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


def configured(settings: Settings, environment: Mapping[str, str]) -> ModelServer | ModelCommand:
    """The model that the settings name.

    Raises:
        WorkspaceProblem: `no-model`: they name none, or not all that is needed.
        PackageProblem: `missing-package`: a server is named, and the package for it is not installed.
    """
    if settings.model_command and settings.model_url:
        raise _unset("your settings name a model_url and a model_command", "Remove one of them.")
    if settings.model_command:
        return ModelCommand(settings.model_command, settings.model_name or " ".join(settings.model_command), SECONDS)
    if not settings.model_url:
        raise _unset("your settings do not name a model", "Set model_url and model_name, or model_command, in your own settings.")
    parts = urlsplit(settings.model_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise _unset("model_url is not a server address", 'Write it as "http://127.0.0.1:11434/v1"; a key goes into a variable.')
    if not settings.model_name:
        raise _unset("your settings do not name the server's model", 'Set model_name, as in model_name = "qwen3:8b".')
    key = ""
    if settings.model_key_env:
        key = environment.get(settings.model_key_env, "").strip()
        if not key:
            raise _unset(f"the variable {settings.model_key_env} is not set", "model_key_env names the variable with the key.")
    if find_spec("openai") is None:
        raise PackageProblem("missing-package", f"a model's server needs the openai package: {extras.install_command('model')}")
    return ModelServer(settings.model_url, settings.model_name, key, SECONDS)


def _unset(message: str, hint: str) -> WorkspaceProblem:
    return WorkspaceProblem("no-model", message, hint)
