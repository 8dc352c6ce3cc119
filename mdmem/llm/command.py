"""A model behind a program of the user's: the request on its standard input, the answer on its standard output."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

from mdmem import repo
from mdmem.llm.endpoints import ModelAnswer, ModelCommand
from mdmem.llm.failures import DOWN, REFUSED, ModelFailure
from mdmem.llm.requests import ModelRequest
from mdmem.repo.process import TimeUpError, converse

RETRIES = 3
"""After a failure of the program or a time-out."""
BYTES_A_TOKEN = 4
_FIRST_PAUSE = 1.0
"""Seconds before the second try; before each later one twice as many."""
_ENVIRONMENT = {"MDMEM_RUN": "1", "MDMEM_CONTEXT": "off"}
"""Sessions that the program starts are not digested, and get no memory into their prompts."""


class CommandModel:
    """A model that a program stands for. It runs in an empty folder, with `MDMEM_RUN` set."""

    def __init__(self, command: ModelCommand, pause: Callable[[float], None]) -> None:
        self._command = command
        self._pause = pause

    def answer(self, request: ModelRequest, most_tokens: int) -> ModelAnswer:
        """Run the program; again, up to three times, where it failed or took too long.

        Raises:
            ModelFailure: it gave no answer.
        """
        number = 0
        while True:
            try:
                return self._run(request, most_tokens)
            except ModelFailure as failure:
                if failure.outcome == REFUSED or number == RETRIES:
                    raise
            self._pause(_FIRST_PAUSE * 2**number)
            number += 1

    def close(self) -> None:
        """Nothing is open between two requests."""

    def _run(self, request: ModelRequest, most_tokens: int) -> ModelAnswer:
        name = self._command.arguments[0]
        with tempfile.TemporaryDirectory(prefix="mdmem-model-") as folder:
            try:
                status, output, _ = converse(
                    self._command.arguments, repo.environment(_ENVIRONMENT), request.text.encode(), self._command.seconds, folder
                )
            except OSError as problem:
                raise ModelFailure(REFUSED, f"{name} cannot be run: {problem.strerror}") from problem
            except TimeUpError as problem:
                raise ModelFailure(DOWN, f"{name} took longer than {self._command.seconds:g} s") from problem
        if status:
            raise ModelFailure(DOWN, f"{name} exited {status}")
        return ModelAnswer(output[: most_tokens * BYTES_A_TOKEN].decode(errors="replace"))
