"""The guard in front of the pages: allowed clients and requests, and headers of every answer."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote_plus

from mdmem.folder import files
from mdmem.model.errors import json_line
from mdmem.page.pages import has_controls, own_path
from mdmem.startup.records import dataclass

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


MAX_QUERY_CHARACTERS = 1000
MAX_BODY_BYTES = 1024 * 1024
MAX_HEADER_BYTES = 64 * 1024
HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
        b" connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none';"
        b" require-trusted-types-for 'script'; trusted-types mdmem",
    ),
    (b"x-content-type-options", b"nosniff"),
    # `no-referrer` would make browsers send `Origin: null` with the page's own forms
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""On every answer, with `cache-control`."""
_CACHE_CONTROL = b"cache-control"
_NO_STORE = (_CACHE_CONTROL, b"no-store")
_CLOSE = (b"connection", b"close")
_STATIC = "/static/"
MOVED = "/moved"
_BY_ITSELF = b"mdmem-moved"
"""The header with which a page that is open asks for itself."""
_FORM = b"application/x-www-form-urlencoded"
_OWN_SITES = (b"same-origin", b"none")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer of the guard itself. Nothing in it comes from the request."""

    status: int
    message: str
    hint: str = ""

    def body(self, as_json: bool) -> bytes:
        if as_json:
            about = {"error": "refused", "message": self.message, "hint": self.hint}
            return json_line(about).encode()
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{self.message}</title><h1>{self.message}</h1><p>{self.hint}</p></html>"
        ).encode()


_ADDRESS_HINT = "Open the address that mdmem page printed, by typing or pasting it."
BAD_REQUEST = Refusal(400, "This is not a valid request")
NO_KEY = Refusal(401, "This page needs its key", _ADDRESS_HINT)
FOREIGN = Refusal(403, "Another site sent this request", _ADDRESS_HINT)
NO_TOKEN = Refusal(
    403, "This form is not from this page", "Go back, load the page again, and send it again."
)
NOT_FOUND = Refusal(404, "There is no such page")
NO_METHOD = Refusal(405, "This cannot be done here")
READ_ONLY = Refusal(405, "This page is read-only")
TOO_LARGE = Refusal(413, "This form is too large", "It may have up to 1 MiB.")
TOO_LONG = Refusal(414, "This question is too long", "It may have up to 1,000 characters.")
NOT_A_FORM = Refusal(415, "Only forms can be sent")
MISDIRECTED = Refusal(421, "This page has another address", _ADDRESS_HINT)
LARGE_HEADERS = Refusal(431, "The headers of this request are too large")
FAILED = Refusal(500, "This is a bug in mdmem")
BUSY = Refusal(503, "Too many connections", "Close other tabs of this page, and load it again.")

_TO_STRANGERS = (NO_KEY, FOREIGN, MISDIRECTED)
"""Refusals that end the connection: a client without the key may not keep it open."""


class _Refused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Guard:
    """An ASGI application that lets only the user's own browser reach another one.

    `last_request` is the monotonic time of the person's last request with the key, or of the start.
    """

    def __init__(self, app: ASGIApp, port: int, keys: PageKeys, read_only: bool = False) -> None:
        self._app, self._read_only = app, read_only
        hosts = (f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode())
        self._hosts = frozenset(hosts)
        self._origins = frozenset(b"http://" + host for host in hosts)
        self._cookie = f"mdmem-{port}".encode()
        self._key, self._token = keys.key.encode(), keys.token.encode()
        self._single_use_key: bytes | None = None
        self.last_request = time.monotonic()

    def make_single_use_key(self) -> str:
        """A key for one request: other users can read the address on a browser's command line."""
        key = token_urlsafe(16)
        self._single_use_key = key.encode()
        return key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = _Answer(scope, send)
        try:
            self._require_own_browser(scope)
            _require_small_request(scope)
            if location := self._location_without_key(scope):
                await answer.redirect(location, self._new_cookie())
                return
            self._require_cookie(scope)
            if scope["path"] != MOVED and not _values(scope, _BY_ITSELF):
                self.last_request = time.monotonic()
            body = await self._read_form(scope, receive)
            await self._app(scope, _replay(body, receive), answer.send)
        except _Refused as refused:
            await answer.refuse(refused.refusal, self._more_headers(refused.refusal))
        except Exception:  # a bug has an answer with the headers too, and is raised on
            if not answer.has_begun:
                await answer.refuse(FAILED)
            raise

    def _more_headers(self, refusal: Refusal) -> list[tuple[bytes, bytes]]:
        if refusal.status == 405:
            return [(b"allow", b"GET" if self._read_only else b"GET, POST")]
        return [_CLOSE] if refusal in _TO_STRANGERS else []

    async def refuse_busy(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _Answer(scope, send).refuse(BUSY, [_CLOSE])

    def _require_own_browser(self, scope: Scope) -> None:
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise _Refused(MISDIRECTED)
        origins, sites = _values(scope, b"origin"), _values(scope, b"sec-fetch-site")
        if not (self._origins.issuperset(origins) and set(_OWN_SITES).issuperset(sites)):
            raise _Refused(FOREIGN)

    def _location_without_key(self, scope: Scope) -> str:
        """The address without its key, if the key is right; empty if there is no key in it."""
        if scope["method"] != "GET":
            return ""
        query: str = scope["query_string"].decode("latin-1")
        parts = [part.partition("=") for part in query.split("&")]
        named = [unquote_plus(value) for name, _, value in parts if unquote_plus(name) == "key"]
        if not named:
            return ""
        if len(named) > 1 or not self._take_key(named[0].encode()):
            raise _Refused(NO_KEY)
        rest = "&".join("".join(part) for part in parts if unquote_plus(part[0]) != "key")
        path: str = scope["raw_path"].decode("latin-1")
        return own_path(f"{path}?{rest}" if rest else path)

    def _take_key(self, key: bytes) -> bool:
        single, is_single = self._single_use_key, False
        if single is not None and (is_single := compare_digest(key, single)):
            self._single_use_key = None
        return is_single or compare_digest(key, self._key)

    def _new_cookie(self) -> bytes:
        attributes = f"HttpOnly; SameSite=Strict; Path=/; Max-Age={LIFETIME_SECONDS}"
        return b"%s=%s; %s" % (self._cookie, self._key, attributes.encode())

    def _require_cookie(self, scope: Scope) -> None:
        pairs = (
            pair.strip().partition(b"=")
            for header in _values(scope, b"cookie")
            for pair in header.split(b";")
        )
        values = [value for name, _, value in pairs if name == self._cookie]
        if not any(compare_digest(value, self._key) for value in values):
            raise _Refused(NO_KEY)

    async def _read_form(self, scope: Scope, receive: Receive) -> bytes:
        if scope["method"] == "GET":
            return b""
        if scope["method"] != "POST":
            raise _Refused(NO_METHOD)
        if self._read_only:
            raise _Refused(READ_ONLY)
        types = _values(scope, b"content-type")
        if [each.partition(b";")[0].strip().lower() for each in types] != [_FORM]:
            raise _Refused(NOT_A_FORM)
        body = await _read_body(receive)
        fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        tokens = [value.encode() for name, value in fields if name == "token"]
        if len(tokens) != 1 or not compare_digest(tokens[0], self._token):
            raise _Refused(NO_TOKEN)
        return body


def _require_small_request(scope: Scope) -> None:
    """Refuse long headers, which the server only counts while they arrive, and odd addresses."""
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
        raise _Refused(LARGE_HEADERS)
    query = unquote_plus(scope["query_string"].decode("latin-1"))
    if len(query) > MAX_QUERY_CHARACTERS:
        raise _Refused(TOO_LONG)
    path: str = scope["path"]
    if not path.startswith("/") or has_controls(path):
        raise _Refused(NOT_FOUND)


async def _read_body(receive: Receive) -> bytes:
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Refused(BAD_REQUEST)
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY_BYTES:
            raise _Refused(TOO_LARGE)
    return bytes(body)


def _values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for header, value in scope["headers"] if header == name]


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receiver that repeats a body that the guard has read."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


class _Answer:
    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self._as_json = any(b"application/json" in each for each in _values(scope, b"accept"))
        self._is_static = scope["path"].startswith(_STATIC)
        self.has_begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            may_keep = self._is_static and message["status"] == 200
            message = {**message, "headers": _guarded(message.get("headers", ()), may_keep)}
        await self._send(message)

    async def refuse(self, refusal: Refusal, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
        body = refusal.body(self._as_json)
        await self._give(refusal.status, [*_about(body, self._as_json), *more], body)

    async def redirect(self, location: str, cookie: bytes) -> None:
        headers = [(b"location", location.encode("latin-1")), (b"set-cookie", cookie)]
        await self._give(303, [*headers, (b"content-length", b"0")], b"")

    async def _give(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def refused_headers(body: bytes) -> list[tuple[bytes, bytes]]:
    return _guarded(_about(body, as_json=False), may_keep=False)


def _about(body: bytes, as_json: bool) -> list[tuple[bytes, bytes]]:
    media_type = b"application/json" if as_json else b"text/html; charset=utf-8"
    return [(b"content-type", media_type), (b"content-length", str(len(body)).encode())]


def _guarded(headers: Iterable[tuple[bytes, bytes]], may_keep: bool) -> list[tuple[bytes, bytes]]:
    owned = {name for name, _ in HEADERS} | (set() if may_keep else {_CACHE_CONTROL})
    own = [(name, value) for name, value in headers if name.lower() not in owned]
    caching = () if may_keep and any(name == _CACHE_CONTROL for name, _ in own) else (_NO_STORE,)
    return [*own, *HEADERS, *caching]


# The secrets of a page.


LIFETIME_SECONDS = 30 * 24 * 3600
_BYTES = 16


@dataclass(frozen=True, slots=True)
class PageKeys:
    """The secrets of a page; `is_kept` is True if an earlier start has printed this key."""

    key: str
    token: str
    is_kept: bool = False


def new_keys() -> PageKeys:
    return PageKeys(token_urlsafe(_BYTES), token_urlsafe(_BYTES))


def stored_keys(path: Path, renew: bool = False) -> PageKeys:
    """The secrets in a file, or new ones written to it.

    `renew` replaces them; so do 30 days, a file that is damaged, and one that others can read.
    """
    keys = None if renew else _read(path)
    if keys is None:
        keys = new_keys()
        record = {"key": keys.key, "token": keys.token, "made": int(time.time())}
        files.write_record(path, json.dumps(record))
    return keys


def _read(path: Path) -> PageKeys | None:
    data = files.read(path)
    if data is None or path.stat().st_mode & 0o077:
        return None
    try:
        record = json.loads(data)
    except ValueError:
        return None
    match record:
        case {"key": str(key), "token": str(token), "made": int(made)} if key and token:
            is_current = 0 <= time.time() - made < LIFETIME_SECONDS
            return PageKeys(key, token, is_kept=True) if is_current else None
    return None


# The user at the other end of a connection, on systems that tell: Linux does.


_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""The second one has clients that connect over IPv6 to an IPv4 address."""
_ROOT = 0


def is_of_another_user(connection: socket.socket) -> bool:
    """True if the system says that neither this user nor root is at the client's end.

    Other users can read the single-use key on a browser's command line, and have received the
    cookie if they listened on the same port before, or on another one.
    """
    user = _user_of(connection)
    return user is not None and user not in (os.getuid(), _ROOT)


def _user_of(connection: socket.socket) -> int | None:
    try:
        ends = [_as_listed(end) for end in (connection.getpeername(), connection.getsockname())]
    except OSError:  # it is closed
        return None
    for table in _TABLES:
        with suppress(OSError):  # another system
            for row in table.read_text(encoding="ascii").splitlines()[1:]:
                fields = row.split()
                if [field[-len(ends[0]) :] for field in fields[1:3]] == ends:
                    return int(fields[7])
    return None


def _as_listed(end: tuple[str, int]) -> str:
    address = int.from_bytes(socket.inet_aton(end[0]), sys.byteorder)
    return f"{address:08X}:{end[1]:04X}"
