"""The server: a client's lines on standard input, answers on standard output.

One thread reads, one writes, and each call has its own; the main thread waits for the end.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from mdmem import fleet
from mdmem.mcp import arguments, protocol, tools
from mdmem.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    McpClient,
    RequestId,
    RequestProblem,
    RpcMessage,
)
from mdmem.memory import hosts
from mdmem.model.errors import outcome_of
from mdmem.startup.launch import INTERRUPTED, INTERRUPTIONS

if TYPE_CHECKING:
    from mdmem.mcp.door import Door

_MOST_PARALLEL_CALLS = 8  # calls that a client waits for and that run in parallel; more wait
_MOST_THREADS = 2 * _MOST_PARALLEL_CALLS  # calls that run in parallel, cancelled ones included
_LONGEST_WAIT_SECONDS = 120  # for running calls, at the end of input
_FINISHING_SECONDS = 10  # for running calls, after a signal or when nobody reads the answers
# for the index, at the end of input; a client kills the server after two seconds
_CATCHING_UP_SECONDS = 1.5
# methods that open the memory; all others are answered at once, in the order of the requests
_CALLS = ("tools/call", "resources/read", "prompts/get")
# why the server ends; the other reasons are numbers of signals
_END_OF_INPUT, _NOT_READ = b"\xff", b"\xfe"
# key of a line for the person at the host; hosts do not show `_meta` to a model
_NOTICE = "mdmem/notice"

T = TypeVar("T")
# a request's id, as a number if it is one; the work that returns the line of the answer
_Call = tuple[RequestId, Callable[[], str]]


class Calls:
    """Calls in threads. A cancelled call is not answered; if it runs already, it is finished."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send
        self._changed = Condition()
        self._awaited: set[_Call] = set()  # neither answered nor cancelled
        self._queue: deque[_Call] = deque()
        self._running: set[_Call] = set()

    def begin(self, request_id: RequestId, work: Callable[[], str]) -> None:
        """Have `work` done as soon as there is a place; it returns the answer's line."""
        call = _as_number(request_id), work
        with self._changed:
            self._awaited.add(call)
            self._queue.append(call)
            self._start()

    def cancel(self, request_id: RequestId) -> None:
        cancelled = _as_number(request_id)
        with self._changed:
            self._awaited = {call for call in self._awaited if call[0] != cancelled}
            self._queue = deque(call for call in self._queue if call in self._awaited)
            self._start()

    def finish(self, seconds: float) -> None:
        """Wait up to a limit until no call is running or queued, cancelled ones included."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running and not self._queue, seconds)

    def _start(self) -> None:
        while (
            self._queue
            and len(self._running) < _MOST_THREADS
            and len(self._running & self._awaited) < _MOST_PARALLEL_CALLS
        ):
            call = self._queue.popleft()
            self._running.add(call)
            Thread(target=self._run, args=(call,), daemon=True).start()

    def _run(self, call: _Call) -> None:
        line = call[1]()
        with self._changed:
            if call in self._awaited:
                self._awaited.remove(call)
                self._send(line)
            self._running.remove(call)
            self._start()
            self._changed.notify_all()


def _as_number(request_id: RequestId) -> RequestId:
    """The number that an id stands for: a client may cancel 7 as "7"."""
    with suppress(ValueError):
        return int(request_id)
    return request_id


class McpServer:
    """The answers to one client. The memory is opened at the first call."""

    def __init__(
        self,
        folder: str | None,
        environment: Mapping[str, str],
        send: Callable[[str], None],
        read_only: bool = False,
        write_pool: bool = False,
    ) -> None:
        self._folder, self._environment, self._send = folder, environment, send
        self._write_pool = write_pool
        self._offered = tools.offered(read_only, write_pool, fleet.is_named(environment))
        self._without_memory = False  # at the last list of tools
        self._client, self.calls = McpClient(), Calls(send)
        self._door: Door | None = None
        self._opening = Lock()

    def receive(self, line: bytes) -> None:
        """Answer a line, or begin the call that answers it."""
        request_id: RequestId | None = None
        try:
            if (message := protocol.parse(line)) is None:
                return
            if self._client.has_handshake and self._without_memory and self._has_memory():
                self._without_memory = False
                self._send(protocol.line({"method": "notifications/tools/list_changed"}))
            request_id = message.request_id
            if request_id is None:
                self._note(message)
                return
            client = self._client.admit(message)
        except RequestProblem as problem:
            known = request_id if problem.request_id is None else problem.request_id
            self._send(protocol.error_line(known, problem))
            return
        if message.method in _CALLS:
            self.calls.begin(request_id, lambda: self._answer(message, client))
        else:
            self._send(self._answer(message, client))

    def _note(self, message: RpcMessage) -> None:
        cancelled = message.params.get("requestId")
        if message.method == "notifications/cancelled" and isinstance(cancelled, int | str):
            self.calls.cancel(cancelled)

    def _answer(self, request: RpcMessage, client: str) -> str:
        """The line that answers a request. A bug's traceback goes to standard error."""
        outcome = outcome_of(lambda: self._result(request, client))
        if isinstance(outcome, RequestProblem):
            return protocol.error_line(request.request_id, outcome)
        if isinstance(outcome, Exception):
            sys.excepthook(type(outcome), outcome, outcome.__traceback__)
            problem = RequestProblem(INTERNAL_ERROR, "Internal server error")
            return protocol.error_line(request.request_id, problem)
        return protocol.result_line(request, outcome)

    def _result(self, request: RpcMessage, client: str) -> dict[str, Any]:
        match request.method:
            case "initialize" | "server/discover":
                return protocol.introduction(request)
            case "tools/list":
                return {"tools": self._list_tools()}
            case "tools/call":
                return self._call_tool(request, client)
            case "resources/list":
                return {"resources": [dict(tools.CONTEXT_RESOURCE)]}
            case "resources/templates/list":
                return {"resourceTemplates": [dict(tools.FILE_TEMPLATE)]}
            case "resources/read":
                return self._read_resource(request, client)
            case "prompts/list":
                listed = tools.PROMPTS.items()
                return {"prompts": [{"name": name, "description": about} for name, about in listed]}
            case "prompts/get":
                return self._get_prompt(request, client)
            case _:  # ping
                return {}

    def _list_tools(self) -> list[dict[str, Any]]:
        self._without_memory = not self._has_memory()
        if self._without_memory:
            return [dict(tools.STATUS)]
        return [tool.listed for tool in self._offered.values()]

    def _has_memory(self) -> bool:
        return hosts.has_host_workspace(
            self._environment, Path(self._folder) if self._folder else None
        )

    def _call_tool(self, request: RpcMessage, client: str) -> dict[str, Any]:
        """Raises RequestProblem for an unknown tool."""
        name = request.params["name"]
        if name not in self._offered and name != tools.STATUS["name"]:
            raise RequestProblem(INVALID_PARAMS, self._unknown_tool(name))
        values = request.params.get("arguments") or {}
        text, failed = self._run(lambda door: door.call_tool(name, values, client))
        result = {"content": [{"type": "text", "text": text}], "isError": failed}
        if failed and json.loads(text)["error"] == "not-adopted":
            return {**result, "_meta": {_NOTICE: self._run(lambda door: door.notice())}}
        return result

    def _unknown_tool(self, name: str) -> str:
        if name in tools.TOOLS:
            return f"{name} is switched off: this server only reads"
        meant = arguments.nearest_name(name, self._offered)
        hint = f"did you mean {meant}?" if meant else f"the tools are {', '.join(self._offered)}"
        return f"no tool {name[:40]!r}; {hint}"

    def _read_resource(self, request: RpcMessage, client: str) -> dict[str, Any]:
        """Raises RequestProblem if there is no such resource or it cannot be read."""
        uri = request.params["uri"]
        text = _required(self._run(lambda door: door.read_resource(uri, client)))
        return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}

    def _get_prompt(self, request: RpcMessage, client: str) -> dict[str, Any]:
        """Raises RequestProblem if there is no such prompt or memory cannot be read."""
        name = request.params["name"]
        if name not in tools.PROMPTS:
            raise RequestProblem(
                INVALID_PARAMS,
                f"no prompt {name[:40]!r}; the prompts are {', '.join(tools.PROMPTS)}",
            )
        text = _required(self._run(lambda door: door.prompt_text(name, client)))
        message = {"role": "user", "content": {"type": "text", "text": text}}
        return {"description": tools.PROMPTS[name], "messages": [message]}

    def _run(self, work: Callable[[Door], T]) -> T:
        with self._opening:
            if self._door is None:
                # 35 ms: the client has its list of tools before that
                from mdmem.mcp.door import Door  # noqa: PLC0415

                self._door = Door(self._folder, self._environment, self._write_pool)
        return work(self._door)

    def close(self) -> None:
        if self._door is not None:
            self._door.close(_CATCHING_UP_SECONDS)


def _required(answer: tuple[str, bool]) -> str:
    text, failed = answer
    if failed:
        failure = json.loads(text)
        raise RequestProblem(
            INVALID_PARAMS, f"{failure['message']}. {failure['hint']}".rstrip(), failure
        )
    return text


def serve(
    folder: str | None, environment: Mapping[str, str], read_only: bool, write_pool: bool = False
) -> int:
    """Serve until the input ends; return the exit status.

    After a signal, or when nobody reads the answers, running calls are finished first.
    """
    waiting, waking = os.pipe()
    os.set_blocking(waking, False)
    # a signal may reach any thread; without this it would not wake the main one
    signal.set_wakeup_fd(waking)
    for number in INTERRUPTIONS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)
    source, sink = _take_streams()
    lines: SimpleQueue[str] = SimpleQueue()
    server = McpServer(folder, environment, lines.put, read_only, write_pool)

    def write() -> None:
        try:
            while line := lines.get():
                data = line.encode("utf-8", "replace")
                while data:
                    data = data[os.write(sink, data) :]
        except OSError:  # the host is gone
            os.write(waking, _NOT_READ)

    writer = Thread(target=write, daemon=True)
    writer.start()

    def finish(seconds: float) -> None:
        """Wait up to a limit for running calls, and as long until their answers are written."""
        server.calls.finish(seconds)
        lines.put("")
        writer.join(seconds)

    def read() -> None:
        try:
            with os.fdopen(source, "rb") as stream:
                for line in stream:
                    server.receive(line)
            finish(_LONGEST_WAIT_SECONDS)
        finally:
            os.write(waking, _END_OF_INPUT)

    Thread(target=read, daemon=True).start()
    reason = os.read(waiting, 1)
    if reason != _END_OF_INPUT:
        finish(_FINISHING_SECONDS)
        os._exit(0 if reason == _NOT_READ else INTERRUPTED)
    server.close()
    return 0


def _take_streams() -> tuple[int, int]:
    """Descriptors of the client's streams, which nothing else reads or prints to from now on."""
    source, sink = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    with suppress(OSError):  # without standard error
        os.dup2(2, 1)
    return source, sink
