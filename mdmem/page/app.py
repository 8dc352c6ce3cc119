"""The pages as an ASGI application, without the guard in front of it; started, served and ended."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import socket
import sys
import time
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qsl

import h11
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from mdmem.memory import Memory
from mdmem.model.errors import MdmemError, UsageProblem, as_failure, json_line, outcome_of
from mdmem.page import doing, rendering
from mdmem.page.guard import (
    BAD_REQUEST,
    MAX_HEADER_BYTES,
    MOVED,
    Guard,
    PageKeys,
    is_of_another_user,
    new_keys,
    refused_headers,
    stored_keys,
)
from mdmem.page.pages import (
    Frame,
    Links,
    Page,
    Reader,
    View,
    error_page,
    frame_of,
    stamp_of,
)
from mdmem.page.views import ROUTES
from mdmem.show.values import to_json
from mdmem.startup.launch import INTERRUPTED, INTERRUPTIONS
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Workspace

_JSON = "application/json"
_FAILED, _BUG = 400, 500


def build_app(reader: Reader, ending: asyncio.Event | None = None) -> Starlette:
    """The application; streams end when `ending` is set."""
    pages = [Route(path, _endpoint(reader, view)) for path, view in ROUTES.items()]
    forms = [Route("/do/{verb}", _form(reader), methods=["POST"])] if reader.can_write else []
    return Starlette(
        routes=[
            *pages,
            *forms,
            Route(MOVED, _moved(reader, ending or asyncio.Event())),
            Route("/static/{hash}/{name}", _static),
            Route("/favicon.ico", lambda request: Response(status_code=204)),
        ],
        exception_handlers={HTTPException: _no_page(reader)},
    )


def _endpoint(reader: Reader, view: View) -> Callable[[Request], Awaitable[Response]]:
    def respond(request: Request) -> Response:
        once = replace(reader, looked=[])
        query = {**request.query_params, **request.path_params}
        outcome = outcome_of(lambda: _response(once, request, view(once, query)))
        return outcome if isinstance(outcome, Response) else failure(reader, request, outcome)

    async def answer(request: Request) -> Response:
        # it reads files and an index; Starlette's own threads would load modules for 30 ms first
        return await asyncio.to_thread(respond, request)

    return answer


def _no_page(reader: Reader) -> Callable[[Request, Exception], Response]:
    def answer(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        told = _NO_PAGE.get(problem.status_code, problem.detail)
        response = _failed(reader, request, UsageProblem(told), problem.status_code)
        response.headers.update(problem.headers or {})
        return response

    return answer


_NO_PAGE = {404: "there is no page at this address", 405: "this address cannot be used like this"}


def _moved(reader: Reader, ending: asyncio.Event) -> Callable[[Request], Awaitable[Response]]:
    """A stream with the stamp of memory, once and then whenever it has moved."""

    async def stamps() -> AsyncIterator[str]:
        last = ""
        while not ending.is_set():
            began = time.monotonic()
            # not in a thread: to hand it over costs more than to look
            stamp = stamp_of(reader)
            pause = max(_LOOKING_SECONDS, _PAUSE_PER_LOOK * (time.monotonic() - began))
            if stamp != last:
                last = stamp
                yield f"data: {stamp}\n\n"
            with suppress(TimeoutError):
                await asyncio.wait_for(ending.wait(), pause)
        yield "event: end\ndata:\n\n"

    async def answer(request: Request) -> Response:
        return StreamingResponse(stamps(), media_type="text/event-stream")

    return answer


def _form(reader: Reader) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        body = (await request.body()).decode("utf-8", "replace")
        pairs = parse_qsl(body, keep_blank_values=True)
        fields = dict(pairs)
        if "do" in fields:  # the one field that may be repeated
            fields["do"] = "\n".join(value for name, value in pairs if name == "do")
        return await asyncio.to_thread(_sent, reader, request, fields)

    return answer


def _sent(reader: Reader, request: Request, fields: dict[str, str]) -> Response:
    verb = request.path_params["verb"]
    outcome = outcome_of(lambda: doing.do(reader, verb, fields))
    if isinstance(outcome, str):
        return RedirectResponse(outcome, 303)
    if isinstance(outcome, Page):
        return _response(reader, request, outcome)
    problem = as_failure(outcome)
    status = 409 if doing.is_stale(verb, problem) else status_of(problem)
    return _response(reader, request, doing.refused_page(reader, problem, status, verb, fields))


def _response(reader: Reader, request: Request, page: Page) -> Response:
    if _JSON in request.headers.get("accept", ""):
        return Response(json_line(to_json(page.data)), page.status, media_type=_JSON)
    frame = outcome_of(lambda: frame_of(reader, request.query_params.get("done")))
    if isinstance(frame, Exception):
        if page.status < _FAILED:
            raise frame
        frame = Frame(name="mdmem", now=datetime.now(UTC))  # a failure is told even without memory
    html = rendering.html(reader, page, frame)
    return HTMLResponse(html.encode(errors="replace"), page.status)


def failure(reader: Reader, request: Request, problem: Exception) -> Response:
    known = as_failure(problem)
    if status_of(known) == _BUG:
        with suppress(Exception), reader.memory.record_call("page", None):
            raise problem  # into the record, which has its place and not its words
    return _failed(reader, request, known, status_of(known))


def _failed(reader: Reader, request: Request, problem: MdmemError, status: int) -> Response:
    page = error_page(problem, status, request.query_params.get("q", ""))
    return _response(reader, request, page)


def status_of(problem: MdmemError) -> int:
    """The status of a failure; a missing and a forbidden thing have the same one."""
    if problem.exit_status == 3:
        return _BUG
    if problem.code.endswith("-not-found") or problem.code in _NOT_THERE:
        return 404
    return 409 if problem.code in _MOVED else 400


_NOT_THERE = {"not-allowed", "bad-path", "not-memory", "unsupported-file"}
_MOVED = {"overtaken", "proposals-moved", "cannot-revert", "revert-conflict"}


def _static(request: Request) -> Response:
    found = rendering.find_asset(request.path_params["hash"], request.path_params["name"])
    if found is None:
        return Response("not found", 404, media_type="text/plain")
    content, media_type = found
    headers = {"cache-control": "private, max-age=31536000, immutable"}
    return Response(content, headers=headers, media_type=media_type)


_LOOPBACK = "127.0.0.1"
_FIRST_PORT, _PORTS = 20_000, 12_000  # below the ports that systems assign
_LAST_PORT = 65_535
_CATCHING_UP_SECONDS = 1.5  # for the index, at the end
_IDLE_SECONDS = 2 * 3600.0
_LOOKING_SECONDS = 0.5
_PAUSE_PER_LOOK = 20  # a look that is slow, as git's in a vault, takes a twentieth of the time


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Options of the page; port 0 is the workspace's own, or a free one if that is taken."""

    port: int = 0
    opens_browser: bool = False
    read_only: bool = False
    new_key: bool = False
    as_json: bool = False
    idle_seconds: float = _IDLE_SECONDS


def serve(memory: Memory, options: PageOptions) -> None:
    """Serve the page of a memory until a signal, or until two hours without a request.

    Raises UsageProblem (a port that cannot be used, a browser in an SSH session).
    """
    workspace = memory.workspace
    connection = workspace.environment.get("SSH_CONNECTION", "").split()
    if connection and options.opens_browser:
        raise UsageProblem("--open needs a browser on this machine, and this is an SSH session")
    with closing(memory), _listen(options.port, workspace.root) as listener:
        port = listener.getsockname()[1]
        keys = _keys(workspace, port, options)
        read_only = options.read_only or workspace.actor is not None
        reader = Reader(memory=memory, links=Links(), token="" if read_only else keys.token)
        ending = asyncio.Event()
        guard = Guard(build_app(reader, ending), port, keys, read_only)

        def announce() -> None:
            # an agent is not given the key of a page that a person may have open
            shows_key = workspace.actor is None or not keys.is_kept or sys.stdout.isatty()
            _print_address(port, keys.key if shows_key else "", connection, options.as_json)
            if options.opens_browser:
                url = _address(port, guard.make_single_use_key())
                Thread(target=_open_browser, args=[url], daemon=True).start()

        asyncio.run(_PageServer(guard, options.idle_seconds, announce, ending).serve([listener]))
        memory.await_catch_up(_CATCHING_UP_SECONDS)


def _listen(port: int, root: Path) -> socket.socket:
    if not 0 <= port <= _LAST_PORT:
        raise UsageProblem(f"port {port} cannot be used: no such port")
    try:
        return socket.create_server((_LOOPBACK, port or _usual_port(root)))
    except OSError as problem:
        if port:
            raise UsageProblem(f"port {port} cannot be used: {problem.strerror}") from problem
    return socket.create_server((_LOOPBACK, 0))


def _usual_port(root: Path) -> int:
    """The port of a workspace, by its path, so that an open page outlives a restart."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).digest()
    return _FIRST_PORT + int.from_bytes(digest[:4], "big") % _PORTS


def _keys(workspace: Workspace, port: int, options: PageOptions) -> PageKeys:
    """The keys of a page on its port. On a random port they are for this process only.

    A process that has taken the workspace's own port may have received the cookie with its kept
    key. An agent has a key of its own: its output must not open the page of a person.
    """
    if port not in (options.port, _usual_port(workspace.root)):
        return new_keys()
    workspace.ensure_state()
    name = f"page-{port}.json" if workspace.actor is None else f"page-{port}-actor.json"
    return stored_keys(workspace.state / name, options.new_key)


def _address(port: int, key: str) -> str:
    return f"http://{_LOOPBACK}:{port}/" + (f"?key={key}" if key else "")


def _print_address(port: int, key: str, connection: list[str], as_json: bool) -> None:
    address = _address(port, key)
    host = connection[2] if len(connection) == 4 else "HOST"
    tunnel = f"ssh -L {port}:{_LOOPBACK}:{port} {host}" if connection else ""
    if as_json:
        print(json_line({"url": address, **({"tunnel": tunnel} if tunnel else {})}), flush=True)
        return
    print(address, flush=True)
    if tunnel:
        print(f"Type this at home first: {tunnel}", flush=True)
    if not key:
        print("mdmem: with an actor set, the key is only printed at a terminal", file=sys.stderr)


def _open_browser(url: str) -> None:
    if not webbrowser.open(url):
        print("mdmem: no browser found; open the address above", file=sys.stderr)


# The server itself, by uvicorn: its connections, signals and end.

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
    def __init__(
        self,
        guard: Guard,
        idle_seconds: float,
        announce: Callable[[], None],
        ending: asyncio.Event,
    ) -> None:
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
        self._ending = ending

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
        self._ending.set()
        asyncio.get_running_loop().call_later(_FINISHING_SECONDS, os._exit, INTERRUPTED)
