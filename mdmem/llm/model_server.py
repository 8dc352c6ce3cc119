"""A model behind a server with OpenAI's interface. Only this module uses the `openai` package."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

import httpx2
import openai

from mdmem.llm import requests
from mdmem.llm.requests import (
    BAD_ANSWER,
    DOWN,
    REFUSED,
    ModelAnswer,
    ModelFailure,
    ModelRequest,
    ModelServer,
    answer_in_time,
)

_CONNECT_SECONDS = 10.0
_PLAIN = ("", "identity")
_HttpError = httpx2.HTTPError


class _LimitedHttp:
    """The connections of one request at a time, shut down when its time is up.

    `is_late`: the last request timed out. `is_too_long`: its answer had too many bytes.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._left = most_bytes
        self._sockets: list[socket.socket] = []
        self.is_late = self.is_too_long = False

    @property
    def client_options(self) -> Mapping[str, Any]:
        """Limiting options of an `httpx2` client; each request has its own connection."""
        return {
            "event_hooks": {"request": [self._prepare], "response": [self._count]},
            "limits": httpx2.Limits(max_keepalive_connections=0),
        }

    @contextmanager
    def request(self, seconds: float) -> Iterator[httpx2.Timeout]:
        """Limit all requests in the block together; yields the time-outs of single steps."""
        self._left, self._sockets, self.is_late, self.is_too_long = (
            self._most_bytes,
            [],
            False,
            False,
        )
        timer = threading.Timer(seconds, self._shut_down)
        timer.daemon = True
        timer.start()
        try:
            yield httpx2.Timeout(seconds + 1, connect=_CONNECT_SECONDS)
        finally:
            timer.cancel()
            timer.join()

    def _prepare(self, request: httpx2.Request) -> None:
        # report connections, and ask for bytes that can be counted (no compression)
        request.headers["Accept-Encoding"] = "identity"
        request.extensions["trace"] = self._note

    def _note(self, event: str, values: Mapping[str, Any]) -> None:
        # with TLS a second connection is made on top of the first
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
        if response.headers.get("Content-Encoding", "").casefold() not in _PLAIN:
            raise httpx2.DecodingError("the answer is compressed", request=response.request)
        response.stream = _CountedStream(cast("httpx2.SyncByteStream", response.stream), self)

    def take(self, count: int) -> None:
        """Count bytes of the answer. Raises _HttpError if there are too many."""
        self._left -= count
        if self._left < 0:
            self.is_too_long = True
            raise httpx2.ReadError(f"more than {self._most_bytes:,} bytes")


class _CountedStream(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, limits: _LimitedHttp) -> None:
        self._stream, self._limits = stream, limits

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            self._limits.take(len(chunk))
            yield chunk

    def close(self) -> None:
        self._stream.close()


_NO_KEY = "none"
_NO_ANSWER = "the server's answer is not in the format of OpenAI"
_NOT_ACCEPTED = (400, 404, 415, 422, 501)  # from servers that do not know a form of answer


class ServerModel:
    """A model of a server. It remembers which form of answer the server accepts."""

    def __init__(self, server: ModelServer, pause: Callable[[float], None]) -> None:
        self._name, self._seconds = server.name, server.seconds
        self._pause = pause
        self._http = _LimitedHttp(requests.MOST_ANSWER_BYTES)
        # What the package would take from the environment is another account's: none of it is sent.
        absent: Any = {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        self._client = openai.OpenAI(
            base_url=server.url,
            api_key=server.key or _NO_KEY,
            organization="",
            project="",
            max_retries=0,
            default_headers=absent,
            http_client=openai.DefaultHttpxClient(**self._http.client_options),
        )
        # forms that the server may accept, the best first; the last is none
        self._formats = ["json_schema", "json_object", ""]
        self._limit_name = "max_tokens"

    def answer(self, request: ModelRequest, most_tokens: int) -> ModelAnswer:
        """Send a request; retry passing failures while there is time. Raises ModelFailure."""
        return answer_in_time(partial(self._try, request, most_tokens), self._seconds, self._pause)

    def close(self) -> None:
        self._client.close()

    def _try(self, request: ModelRequest, most_tokens: int, seconds: float) -> ModelAnswer:
        # in each form until the server accepts one
        with self._http.request(seconds) as timeout:
            while True:
                try:
                    return _answer_of(
                        self._send(request, most_tokens, timeout), request, most_tokens
                    )
                except openai.APIStatusError as problem:
                    if not self._has_other_form(problem):
                        raise _failure(problem) from problem
                except (openai.OpenAIError, _HttpError) as problem:
                    raise self._read_failure(problem) from problem
                except ValueError as problem:  # what calls itself JSON and is none
                    raise ModelFailure(DOWN, _NO_ANSWER) from problem

    def _read_failure(self, problem: Exception) -> ModelFailure:
        if self._http.is_too_long:
            return ModelFailure(
                BAD_ANSWER, f"the server sent more than {requests.MOST_ANSWER_BYTES:,} bytes"
            )
        if self._http.is_late:
            return ModelFailure(DOWN, f"the server took longer than {self._seconds:g} s")
        return ModelFailure(DOWN, f"the server: {problem}", is_passing=True)

    def _send(self, request: ModelRequest, most_tokens: int, timeout: Any) -> Any:
        options: dict[str, Any] = {self._limit_name: most_tokens}
        if self._formats[0]:
            options["response_format"] = _response_format(self._formats[0], request)
        return self._client.chat.completions.create(
            model=self._name,
            messages=[{"role": "user", "content": request.text}],
            stream=False,
            timeout=timeout,
            **options,
        )

    def _has_other_form(self, problem: openai.APIStatusError) -> bool:
        if problem.status_code not in _NOT_ACCEPTED:
            return False
        if (
            problem.status_code == 400
            and "max_completion_tokens" in str(problem)
            and self._limit_name == "max_tokens"
        ):
            self._limit_name = "max_completion_tokens"
            return True
        if not self._formats[0]:
            return False
        del self._formats[0]
        return True


def _answer_of(completion: Any, request: ModelRequest, most_tokens: int) -> ModelAnswer:
    try:
        choice, usage = completion.choices[0], completion.usage
        text = choice.message.content or ""
    except (AttributeError, IndexError, TypeError) as problem:
        raise ModelFailure(DOWN, _NO_ANSWER) from problem
    text = text if isinstance(text, str) else ""
    return ModelAnswer(
        text=text,
        tokens_in=_count(usage, "prompt_tokens", request.size),
        # A model may think first: those tokens are in no text.
        tokens_out=_count(usage, "completion_tokens", max(most_tokens, len(text.encode()))),
    )


def _count(usage: Any, name: str, most: int) -> int | None:
    # None where the server's figure is missing or incredible: a token has at least a byte
    count = getattr(usage, name, None)
    return count if type(count) is int and 0 < count <= most else None


def _response_format(name: str, request: ModelRequest) -> Mapping[str, Any]:
    if name != "json_schema":
        return {"type": name}
    return {
        "type": name,
        "json_schema": {
            "name": f"mdmem_{request.task}",
            "strict": True,
            "schema": json.loads(request.schema),
        },
    }


def _failure(problem: openai.APIStatusError) -> ModelFailure:
    is_passing = problem.status_code in (408, 409, 429) or problem.status_code >= 500
    wait = _retry_after(problem.response.headers) if is_passing else None
    return ModelFailure(
        DOWN if is_passing else REFUSED,
        f"the server answered {problem.status_code}",
        is_passing=is_passing,
        wait=wait,
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    with suppress(ValueError):
        if (seconds := float(headers.get("Retry-After", ""))) > 0:
            return seconds
    return None
