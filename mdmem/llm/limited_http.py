"""A client for HTTP that limits a request as a whole, in time and in bytes. The only module that knows `httpx2`, the client of `openai`.

`httpx2` itself limits each read alone: a server that sends a byte a second would never be given up.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast

import httpx2

_CONNECT_SECONDS = 10.0
_PLAIN = ("", "identity")
HttpError = httpx2.HTTPError


class _TooLongError(httpx2.ReadError):
    """The answer has more bytes than it may."""


class LimitedHttp:
    """The connections of one request at a time, which are shut down when its time is up.

    - `is_late`: the time of the last request was up. `is_too_long`: its answer had too many bytes.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._left = most_bytes
        self._sockets: list[socket.socket] = []
        self.is_late = self.is_too_long = False

    @property
    def client_options(self) -> Mapping[str, Any]:
        """The options of a client of `httpx2` that keeps to the limits. A connection serves one request, so that it is known here."""
        return {
            "event_hooks": {"request": [self._prepare], "response": [self._count]},
            "limits": httpx2.Limits(max_keepalive_connections=0),
        }

    @contextmanager
    def request(self, seconds: float) -> Iterator[httpx2.Timeout]:
        """Limit the requests that are sent in the block, taken together; gives the time-outs of each step, which come later."""
        self._left, self._sockets, self.is_late, self.is_too_long = self._most_bytes, [], False, False
        timer = threading.Timer(seconds, self._shut_down)
        timer.daemon = True
        timer.start()
        try:
            yield httpx2.Timeout(seconds + 1, connect=_CONNECT_SECONDS)
        finally:
            timer.cancel()
            timer.join()

    def _prepare(self, request: httpx2.Request) -> None:
        """Have a request tell of its connections, and ask for bytes that can be counted."""
        request.headers["Accept-Encoding"] = "identity"
        request.extensions["trace"] = self._note

    def _note(self, event: str, values: Mapping[str, Any]) -> None:
        """Note a connection as soon as it is made; with TLS there is another one on top of it."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._sockets.append(values["return_value"].get_extra_info("socket"))
            if self.is_late:
                self._shut_down()

    def _shut_down(self) -> None:
        self.is_late = True
        for connection in tuple(self._sockets):
            with suppress(OSError):  # closed meanwhile
                connection.shutdown(socket.SHUT_RDWR)

    def _count(self, response: httpx2.Response) -> None:
        """Count what an answer brings, before anything of it is read."""
        if response.headers.get("Content-Encoding", "").casefold() not in _PLAIN:
            raise httpx2.DecodingError("the answer is compressed", request=response.request)
        response.stream = _CountedStream(cast("httpx2.SyncByteStream", response.stream), self)

    def take(self, count: int) -> None:
        """Take some bytes from those that the answer may still have.

        Raises:
            HttpError: there are not so many.
        """
        self._left -= count
        if self._left < 0:
            self.is_too_long = True
            raise _TooLongError(f"more than {self._most_bytes:,} bytes")


class _CountedStream(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, limits: LimitedHttp) -> None:
        self._stream, self._limits = stream, limits

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            self._limits.take(len(chunk))
            yield chunk

    def close(self) -> None:
        self._stream.close()
