"""A model behind a program of the user's: the request on its standard input, the answer on its standard output."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial

from mdmem import repo
from mdmem.llm import endpoints
from mdmem.llm.endpoints import ModelAnswer, ModelCommand
from mdmem.llm.failures import BAD_ANSWER, DOWN, REFUSED, ModelFailure
from mdmem.llm.requests import ModelRequest
from mdmem.llm.tries import answer_in_time
from mdmem.repo.process import TimeUpError, TooMuchOutputError, converse

BYTES_A_TOKEN = 4
_ENVIRONMENT = {"MDMEM_RUN": "1", "MDMEM_CONTEXT": "off"}
"""Sessions that the program starts are not digested, and get no memory into their prompts."""


class CommandModel:
    """A model that a program stands for. It runs in an empty folder, with `MDMEM_RUN` set."""

    def __init__(self, command: ModelCommand, pause: Callable[[float], None]) -> None:
        self._command = command
        self._pause = pause

    def answer(self, request: ModelRequest, most_tokens: int) -> ModelAnswer:
        """Run the program; again, up to three times and while there is time, where it failed.

        Raises:
            ModelFailure: it gave no answer.
        """
        return answer_in_time(partial(self._run, request, most_tokens), self._command.seconds, self._pause)

    def close(self) -> None:
        """Nothing is open between two requests."""

    def _run(self, request: ModelRequest, most_tokens: int, seconds: float) -> ModelAnswer:
        name, most_bytes = self._command.arguments[0], endpoints.MOST_ANSWER_BYTES
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
                raise ModelFailure(REFUSED, f"{name} cannot be run: {problem.strerror}") from problem
            except TimeUpError as problem:
                raise ModelFailure(DOWN, f"{name} took longer than {self._command.seconds:g} s") from problem
            except TooMuchOutputError as problem:
                raise ModelFailure(BAD_ANSWER, f"{name} printed more than {most_bytes:,} bytes") from problem
        if status:
            raise ModelFailure(DOWN, f"{name} exited {status}", is_passing=True)
        return ModelAnswer(output[: most_tokens * BYTES_A_TOKEN].decode(errors="replace"))
