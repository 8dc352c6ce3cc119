"""The memory as a tool of the Anthropic SDK. The only module that knows the SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

from mdmem.memtool.backend import Backend


class MemoryTool(BetaAbstractMemoryTool):
    """The commands of the model, answered by a backend; failures are marked as errors."""

    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self._backend = backend

    def call(self, input: object) -> str:  # noqa: A002 - the SDK's name
        """Raises ToolError for a failed command; the model reads its text."""
        return self._answer(input)

    def view(self, command: Any) -> str:
        """Answer any command: its fields name it."""
        return self._answer(_fields(command))

    create = str_replace = insert = delete = rename = view

    def _answer(self, command: object) -> str:
        answer = self._backend.answer(command)
        if answer.code is not None:
            raise ToolError(answer.text)
        return answer.text


def _fields(command: Any) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = command.to_dict()
    return fields
