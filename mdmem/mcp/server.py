"""The server itself, by the official SDK: what a client asks, and how it is answered."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from mdmem import __version__
from mdmem.mcp import arguments, tools
from mdmem.mcp.door import Door
from mdmem.mcp.greeting import Greeting
from mdmem.memory import hosts
from mdmem.startup.launch import INTERRUPTED, INTERRUPTIONS

_MESSAGES = {
    types.PARSE_ERROR: "Parse error: a message is one line of JSON",
    types.INVALID_REQUEST: "Invalid request: a message is one of JSON-RPC, in whole characters",
}
_LIST_CHANGED = SessionMessage(
    types.JSONRPCNotification(jsonrpc="2.0", method="notifications/tools/list_changed")
)
_LONGEST_WAIT_SECONDS = 120


class _OpenRequests:
    def __init__(self) -> None:
        self._ids: set[types.RequestId] = set()
        self._answered = anyio.Event()

    def begin(self, request: types.RequestId) -> None:
        self._ids.add(request)

    def end(self, request: object) -> None:
        self._ids = {each for each in self._ids if each != request}
        self._answered.set()

    async def drain(self, seconds: float = _LONGEST_WAIT_SECONDS) -> None:
        with anyio.move_on_after(seconds):
            while self._ids:
                self._answered = anyio.Event()
                await self._answered.wait()


class _RequestStream:
    """The client's messages; unreadable lines are answered here. At the end, requests finish."""

    def __init__(
        self,
        source: ReadStream[SessionMessage | Exception],
        sink: WriteStream[SessionMessage],
        requests: _OpenRequests,
        memory_came: Callable[[], Awaitable[bool]],
        lines: Sequence[str] = (),
    ) -> None:
        self._source, self._sink, self._requests = source, sink, requests
        self._memory_came, self._is_greeted = memory_came, False
        self._lines = list(lines)  # read before the SDK was loaded; they come first

    async def receive(self) -> SessionMessage | Exception:
        while True:
            try:
                item = _parsed(self._lines.pop(0)) if self._lines else await self._source.receive()
            except anyio.EndOfStream:
                await self._requests.drain()
                raise
            if not isinstance(item, Exception):
                self._note(item)
                if self._is_greeted and await self._memory_came():
                    await self._sink.send(_LIST_CHANGED)
                return item
            await self._sink.send(_refusal(item))

    def _note(self, item: SessionMessage) -> None:
        match item.message:
            case types.JSONRPCRequest(id=request, method=method):
                self._requests.begin(request)
                # a client without a handshake gets no notifications
                self._is_greeted = self._is_greeted or method == "initialize"
            case types.JSONRPCNotification(method="notifications/cancelled", params=dict(params)):
                self._requests.end(params.get("requestId"))

    async def aclose(self) -> None:
        await self._source.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class _AnswerStream:
    def __init__(
        self,
        sink: WriteStream[SessionMessage],
        requests: _OpenRequests,
        answered: int | str | None = None,
    ) -> None:
        self._sink, self._requests = sink, requests
        self._answered = answered  # a request that was answered before; the SDK's answer is dropped

    async def send(self, item: SessionMessage, /) -> None:
        if not isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            await self._sink.send(item)
            return
        if self._answered is None or item.message.id != self._answered:
            await self._sink.send(item)
        else:
            self._answered = None
        self._requests.end(item.message.id)

    async def aclose(self) -> None:
        await self._sink.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _parsed(line: str) -> SessionMessage | Exception:
    """A line as the SDK's own transport would hand it on."""
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as problem:
        return problem


def _refusal(problem: Exception) -> SessionMessage:
    """The answer to an unreadable line, with its id if it has one: its client stops waiting."""
    errors = problem.errors() if isinstance(problem, ValidationError) else []
    inputs = [
        _read(error["input"]) if error["type"] == "json_invalid" else error["input"]
        for error in errors
    ]
    messages = [each for each in inputs if isinstance(each, dict)]
    request = next((each["id"] for each in messages if type(each.get("id")) in (int, str)), None)
    is_json = bool(messages) or any(error["type"] != "json_invalid" for error in errors)
    code = types.INVALID_REQUEST if is_json else types.PARSE_ERROR
    return SessionMessage(
        types.JSONRPCError(
            jsonrpc="2.0", id=request, error=types.ErrorData(code=code, message=_MESSAGES[code])
        )
    )


def _read(line: object) -> object:
    """Parse JSON that the SDK rejects, such as a lone surrogate; None if it is not JSON."""
    try:
        return json.loads(line) if isinstance(line, str | bytes) else None
    except (ValueError, RecursionError):
        return None


_MOST_PARALLEL_CALLS = 8  # calls that a client waits for and that run in parallel; more wait
_MOST_THREADS = 2 * _MOST_PARALLEL_CALLS  # calls that run in parallel, cancelled ones included
_FINISHING_SECONDS = 10  # for running calls, after a signal
# for the index, at the end of input; a client kills the server after two seconds
_CATCHING_UP_SECONDS = 1.5

Context = ServerRequestContext[Any, Any]
Answer = tuple[str, bool]
T = TypeVar("T")
# key of a line for the person at the host; hosts do not show `_meta` to a model
_NOTICE = "mdmem/notice"


class Answers:
    """The answers to one client. The memory is opened at the first call."""

    def __init__(
        self,
        folder: str | None,
        environment: Mapping[str, str],
        read_only: bool,
        write_pool: bool = False,
    ) -> None:
        self._folder, self._environment = folder, environment
        self._write_pool = write_pool
        self._offered = tools.offered(read_only, write_pool)
        self.without_memory = False  # at the last list of tools
        self._door: Door | None = None
        self._opening = threading.Lock()
        self._places, self._threads = (
            anyio.CapacityLimiter(_MOST_PARALLEL_CALLS),
            anyio.CapacityLimiter(_MOST_THREADS),
        )
        self._running: set[asyncio.Task[Any]] = set()

    async def list_tools(
        self, context: Context, request: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        self.without_memory = not await anyio.to_thread.run_sync(self._has_memory)
        listed = [tool.listed for tool in self._offered.values()]
        if self.without_memory:
            listed = [dict(tools.STATUS)]
        return types.ListToolsResult(tools=[types.Tool.model_validate(each) for each in listed])

    def _has_memory(self) -> bool:
        return hosts.has_host_workspace(
            self._environment, Path(self._folder) if self._folder else None
        )

    async def memory_came(self) -> bool:
        """True once, as soon as there is the memory that the last list of tools was without."""
        if self.without_memory and await anyio.to_thread.run_sync(self._has_memory):
            self.without_memory = False
            return True
        return False

    async def call_tool(
        self, context: Context, request: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a tool in a thread. Raises MCPError for an unknown tool."""
        name = request.name
        if name not in self._offered and name != tools.STATUS["name"]:
            if name in tools.TOOLS:
                raise MCPError(
                    types.INVALID_PARAMS, f"{name} is switched off: this server only reads"
                )
            meant = arguments.nearest_name(name, self._offered)
            hint = (
                f"did you mean {meant}?" if meant else f"the tools are {', '.join(self._offered)}"
            )
            raise MCPError(types.INVALID_PARAMS, f"no tool {name[:40]!r}; {hint}")
        text, failed = await self._run(
            lambda opened: opened.call_tool(name, request.arguments or {}, _client(context))
        )
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
        if failed and json.loads(text)["error"] == "not-adopted":
            notice = await self._run(lambda opened: opened.notice())
            return types.CallToolResult(content=content, is_error=True, _meta={_NOTICE: notice})
        return types.CallToolResult(content=content, is_error=failed)

    async def list_resources(
        self, context: Context, request: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[types.Resource.model_validate(dict(tools.CONTEXT_RESOURCE))]
        )

    async def list_templates(
        self, context: Context, request: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=f"{tools.FILE_URI}{{+path}}",
            name="file",
            description=(
                "A memory file, by its path in the workspace: MEMORY.md, memory/2026-03-05.md"
            ),
            mime_type="text/markdown",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Context, request: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Raises MCPError if there is no such resource or it cannot be read."""
        uri = str(request.uri)
        text = _required(
            await self._run(lambda opened: opened.read_resource(uri, _client(context)))
        )
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type="text/markdown", text=text)]
        )

    async def list_prompts(
        self, context: Context, request: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(name=name, description=about) for name, about in tools.PROMPTS.items()
            ]
        )

    async def get_prompt(
        self, context: Context, request: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Raises MCPError if there is no such prompt or memory cannot be read."""
        name = request.name
        if name not in tools.PROMPTS:
            raise MCPError(
                types.INVALID_PARAMS,
                f"no prompt {name[:40]!r}; the prompts are {', '.join(tools.PROMPTS)}",
            )
        text = _required(await self._run(lambda opened: opened.prompt_text(name, _client(context))))
        message = types.PromptMessage(
            role="user", content=types.TextContent(type="text", text=text)
        )
        return types.GetPromptResult(description=tools.PROMPTS[name], messages=[message])

    async def _run(self, work: Callable[[Door], T]) -> T:
        """Run in a thread. A cancelled call gives up its place in the queue, but is finished."""

        def with_door() -> T:
            with self._opening:
                if self._door is None:
                    self._door = Door(self._folder, self._environment, self._write_pool)
            return work(self._door)

        async with self._places:
            return await asyncio.shield(await self._begin(with_door))

    async def _begin(self, work: Callable[[], T]) -> asyncio.Task[T]:
        """Start in a thread as soon as one is free; it continues if the caller is cancelled."""
        thread = object()
        await self._threads.acquire_on_behalf_of(thread)
        call: asyncio.Task[T] = asyncio.create_task(anyio.to_thread.run_sync(work))

        def end(_: object) -> None:
            self._threads.release_on_behalf_of(thread)
            self._running.discard(call)

        self._running.add(call)
        call.add_done_callback(end)
        return call

    async def finish(self, seconds: float) -> None:
        """Wait up to a limit until no call is running, cancelled ones included."""
        with anyio.move_on_after(seconds):
            while self._running:
                await asyncio.wait(self._running)

    def close(self) -> None:
        if self._door is not None:
            self._door.close(_CATCHING_UP_SECONDS)


def _required(answer: Answer) -> str:
    text, failed = answer
    if failed:
        failure = json.loads(text)
        raise MCPError(
            types.INVALID_PARAMS, f"{failure['message']}. {failure['hint']}".rstrip(), failure
        )
    return text


def _client(context: Context) -> str:
    params = context.session.client_params
    return params.client_info.name if params is not None else ""


def make_server(answers: Answers) -> Server[Any]:
    return Server(
        "mdmem",
        version=__version__,
        instructions=tools.INSTRUCTIONS,
        on_list_tools=answers.list_tools,
        on_call_tool=answers.call_tool,
        on_list_resources=answers.list_resources,
        on_list_resource_templates=answers.list_templates,
        on_read_resource=answers.read_resource,
        on_list_prompts=answers.list_prompts,
        on_get_prompt=answers.get_prompt,
    )


async def _serve(answers: Answers, greeting: Greeting) -> None:
    """Serve until the input ends, or leave at once: the thread that reads it cannot be woken."""
    server, requests = make_server(answers), _OpenRequests()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_leave_on_signal, answers, requests)
        async with stdio_server() as (source, sink):
            incoming, outgoing = (
                _RequestStream(source, sink, requests, answers.memory_came, greeting.lines),
                _AnswerStream(sink, requests, greeting.answered),
            )
            try:
                options = server.create_initialization_options(
                    NotificationOptions(tools_changed=True)
                )
                await server.run(incoming, outgoing, options)
                await answers.finish(_LONGEST_WAIT_SECONDS)
            except anyio.get_cancelled_exc_class():  # nobody reads the answers any more
                with anyio.CancelScope(shield=True):
                    await answers.finish(_FINISHING_SECONDS)
                os._exit(0)
        tasks.cancel_scope.cancel()


async def _leave_on_signal(answers: Answers, requests: _OpenRequests) -> None:
    with anyio.open_signal_receiver(*INTERRUPTIONS) as signals:
        async for _ in signals:
            await answers.finish(_FINISHING_SECONDS)
            await requests.drain(_FINISHING_SECONDS)
            os._exit(INTERRUPTED)


def run(
    folder: str | None,
    environment: Mapping[str, str],
    read_only: bool,
    write_pool: bool,
    greeting: Greeting,
) -> None:
    answers = Answers(folder, environment, read_only, write_pool)
    answers.without_memory = greeting.without_memory
    try:
        anyio.run(_serve, answers, greeting)
    except* BrokenPipeError:
        pass  # the host is gone
    finally:
        answers.close()
