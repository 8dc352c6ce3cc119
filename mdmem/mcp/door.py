"""One memory, opened at the first call that needs it, and the calls of a client on it. May be used by several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mdmem import adoption, secrets
from mdmem.errors import UsageProblem, attempt
from mdmem.mcp import arguments, calls, resources, texts, tools
from mdmem.mcp.phrases import in_arguments
from mdmem.memory import Memory, hosts
from mdmem.wording import typed

_MOST_NAME = 40


class Door:
    """The way from a server to a memory. An answer is a text, and True if it is a failure: then it is one JSON object."""

    def __init__(self, folder: str | None, environment: Mapping[str, str]) -> None:
        self._folder = Path(folder) if folder else None
        self._environment = hosts.expanded(environment)
        self._lock = threading.Lock()
        self._memory: Memory | None = None

    def call_tool(self, name: str, call_arguments: Mapping[str, Any], client: str) -> tuple[str, bool]:
        """The answer of a tool."""
        actor, session = actor_of(client), self._environment.get("MDMEM_SESSION") or None

        def work() -> str:
            try:
                values = arguments.check_arguments(tools.TOOLS[name], call_arguments)
            except UsageProblem:
                if self._memory is not None:
                    with self._memory.record_call(name, actor, session):
                        raise
                raise
            return calls.answer(self._open(client), calls.ToolCall(tool=name, values=values, actor=actor, session=session))

        return _attempt(work)

    def read_resource(self, uri: str, client: str) -> tuple[str, bool]:
        """The text of a resource."""
        return _attempt(lambda: resources.read_resource(self._open(client), uri))

    def prompt_text(self, name: str, client: str) -> tuple[str, bool]:
        """The text of a prompt."""
        return _attempt(lambda: resources.prompt_text(self._open(client), name))

    def notice(self) -> str:
        """The line for the person at the host about a workspace that is not adopted."""
        found = hosts.find_host_workspace(self._environment, named=self._folder)
        return typed(hosts.notice(found, self._environment))

    def _open(self, client: str) -> Memory:
        """The memory, opened at the first call. The client is the actor of calls that name none.

        Raises:
            MdmemError: there is no workspace yet, it is not adopted, or it cannot be used. The next
                call tries again.
        """
        with self._lock:
            if self._memory is not None and not _is_adopted(self._memory):
                self._memory.close()
                self._memory = None
            if self._memory is None:
                repository = hosts.require_host_workspace(self._environment, self._folder)
                environment = {**self._environment, "MDMEM_ACTOR": actor_of(client)}
                self._memory = Memory.open_in(repository, environment)
            return self._memory

    def close(self, seconds: float) -> None:
        """Let go of everything; wait for a while until the index has caught up with what was written."""
        with self._lock:
            if self._memory is not None:
                self._memory.await_catch_up(seconds)
                self._memory.close()


def _attempt(work: Callable[[], str]) -> tuple[str, bool]:
    answer = attempt(work, in_arguments)
    return (answer, False) if isinstance(answer, str) else (texts.failure_text(answer), True)


def _is_adopted(memory: Memory) -> bool:
    workspace = memory.workspace
    return adoption.is_adopted(workspace.repository, workspace.environment)


def actor_of(client: str) -> str:
    """The actor that a client is, by the name that it gives itself."""
    word = "-".join("".join(c if c.isalnum() or c in "._-" else " " for c in secrets.redact(client)).split())
    return f"mcp/{word[:_MOST_NAME] or 'client'}"
