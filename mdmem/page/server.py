"""The server itself, by uvicorn: its connections, signals and end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import h11
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from mdmem.page.guard import (
    BAD_REQUEST,
    MAX_HEADER_BYTES,
    Guard,
    is_of_another_user,
    refused_headers,
)
from mdmem.startup.launch import INTERRUPTED, INTERRUPTIONS

_MAX_CONNECTIONS = 32
_FINISHING_SECONDS = 8  # for running requests, after a signal
_FIRST_REQUEST_SECONDS = 10  # for a connection, until its first request is there


class _Connection(H11Protocol):
    """A connection whose errors have the guard's headers; one too many is answered as busy.

    A silent connection is closed, so that strangers cannot use up the maximum; that of another
    user is closed at once.
    """

    # narrower than asyncio's own, as in uvicorn
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if is_of_another_user(transport.get_extra_info("socket")):
            transport.abort()
            return
        guard = self.config.app
        if isinstance(guard, Guard) and len(self.connections) > _MAX_CONNECTIONS:
            self.app = guard.refuse_busy
        self.loop.call_later(_FIRST_REQUEST_SECONDS, self._close_if_silent)

    def _close_if_silent(self) -> None:
        # uvicorn leaves it None until there is a request, and does not say so in its type
        if self.cycle is None:
            self.timeout_keep_alive_handler()  # type: ignore[unreachable]

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = BAD_REQUEST.body(as_json=False)
            headers = [*refused_headers(body), (b"connection", b"close")]
            for event in (
                h11.Response(status_code=BAD_REQUEST.status, headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class _PageServer(Server):
    def __init__(self, guard: Guard, idle_seconds: float, announce: Callable[[], None]) -> None:
        super().__init__(
            Config(
                guard,
                http=_Connection,
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                h11_max_incomplete_event_size=MAX_HEADER_BYTES,
            )
        )
        self._guard, self._idle_seconds, self._announce = guard, idle_seconds, announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()

    async def on_tick(self, counter: int) -> bool:
        if time.monotonic() - self._guard.last_request > self._idle_seconds:
            self._end()
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in INTERRUPTIONS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._end_on_signal)
        yield

    def _end_on_signal(self) -> None:
        if self.should_exit:  # a second signal: do not wait
            os._exit(INTERRUPTED)
        self._end()

    def _end(self) -> None:
        self.should_exit = True
        asyncio.get_running_loop().call_later(_FINISHING_SECONDS, os._exit, INTERRUPTED)


def run(
    guard: Guard, listener: socket.socket, idle_seconds: float, announce: Callable[[], None]
) -> None:
    asyncio.run(_PageServer(guard, idle_seconds, announce).serve([listener]))
