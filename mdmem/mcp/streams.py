"""The streams between client and server, with two things that the SDK leaves out: an answer to a line that cannot be read, and an end that
waits for the answers that are under way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import anyio
import mcp_types as types
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

_MESSAGES = {
    types.PARSE_ERROR: "Parse error: a message is one line of JSON",
    types.INVALID_REQUEST: "Invalid request: a message is one of JSON-RPC, in whole characters",
}
LONGEST_WAIT_SECONDS = 120


class OpenRequests:
    """The requests that are not answered yet."""

    def __init__(self) -> None:
        self._ids: set[types.RequestId] = set()
        self._answered = anyio.Event()

    def begin(self, request: types.RequestId) -> None:
        """A request has come in."""
        self._ids.add(request)

    def end(self, request: object) -> None:
        """It was answered, or its client no longer waits."""
        self._ids = {each for each in self._ids if each != request}
        self._answered.set()

    async def drain(self, seconds: float = LONGEST_WAIT_SECONDS) -> None:
        """Wait until all are answered, but not for ever."""
        with anyio.move_on_after(seconds):
            while self._ids:
                self._answered = anyio.Event()
                await self._answered.wait()


class RequestStream:
    """The messages of the client. Lines that cannot be read are answered here; at the end of input the open requests are waited for."""

    def __init__(
        self,
        source: ReadStream[SessionMessage | Exception],
        sink: WriteStream[SessionMessage],
        requests: OpenRequests,
        lines: Sequence[str] = (),
    ) -> None:
        self._source, self._sink, self._requests = source, sink, requests
        self._lines = list(lines)
        """Lines that were read before, and come first."""

    async def receive(self) -> SessionMessage | Exception:
        """The next message that can be read."""
        while True:
            try:
                item = _parsed(self._lines.pop(0)) if self._lines else await self._source.receive()
            except anyio.EndOfStream:
                await self._requests.drain()
                raise
            if isinstance(item, Exception):
                await self._sink.send(_refusal(item))
                continue
            self._note(item)
            return item

    def _note(self, item: SessionMessage) -> None:
        match item.message:
            case types.JSONRPCRequest(id=request):
                self._requests.begin(request)
            case types.JSONRPCNotification(method="notifications/cancelled", params=dict(params)):
                self._requests.end(params.get("requestId"))

    async def aclose(self) -> None:
        """Close the source."""
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

    async def __aexit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


class AnswerStream:
    """The answers of the server; an answer closes its request."""

    def __init__(self, sink: WriteStream[SessionMessage], requests: OpenRequests, answered: int | str | None = None) -> None:
        self._sink, self._requests = sink, requests
        self._answered = answered
        """A request that was answered before; its answer is dropped."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message."""
        if not isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            await self._sink.send(item)
            return
        if self._answered is None or item.message.id != self._answered:
            await self._sink.send(item)
        else:
            self._answered = None
        self._requests.end(item.message.id)

    async def aclose(self) -> None:
        """Close the sink."""
        await self._sink.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


def _parsed(line: str) -> SessionMessage | Exception:
    """A line as the SDK's own transport would hand it on."""
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as problem:
        return problem


def _refusal(problem: Exception) -> SessionMessage:
    """The answer to a line that is no message; it has the id of the request, where there is one, so that nobody waits for another."""
    errors = problem.errors() if isinstance(problem, ValidationError) else []
    inputs = [_read(error["input"]) if error["type"] == "json_invalid" else error["input"] for error in errors]
    messages = [each for each in inputs if isinstance(each, dict)]
    request = next((each["id"] for each in messages if type(each.get("id")) in (int, str)), None)
    is_json = bool(messages) or any(error["type"] != "json_invalid" for error in errors)
    code = types.INVALID_REQUEST if is_json else types.PARSE_ERROR
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=request, error=types.ErrorData(code=code, message=_MESSAGES[code])))


def _read(line: object) -> object:
    """A line of JSON that the SDK does not take, as one with half of a character (a lone surrogate); None where it is no JSON."""
    try:
        return json.loads(line) if isinstance(line, str | bytes) else None
    except (ValueError, RecursionError):
        return None
