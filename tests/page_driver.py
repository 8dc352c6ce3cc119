"""Requests to an ASGI application, in process, as a server would pass them on."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlencode

PORT = 20_777
HOST = f"127.0.0.1:{PORT}"
FORM = "application/x-www-form-urlencoded"
POLICY = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none';"
        " require-trusted-types-for 'script'; trusted-types mdmem"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Response:
    """An answer. Header names are in lower case; repeated headers are joined."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def ask(
    app: Any,
    method: str,
    path: str,
    headers: Mapping[str, str | None] | Iterable[tuple[str, str]] | None = None,
    body: bytes | Mapping[str, str] = b"",
) -> Response:
    """Send one request. `body` may be the fields of a form.

    A mapping of headers is added to `host`, and to the content type of a form; None omits one.
    Pairs of headers are sent as they are. A failure of the application is raised after its answer.
    """
    if isinstance(body, Mapping):
        body, usual = urlencode(body).encode(), {"host": HOST, "content-type": FORM}
    else:
        usual = {"host": HOST}
    if headers is None or isinstance(headers, Mapping):
        named = {**usual, **(headers or {})}
        headers = [(name, value) for name, value in named.items() if value is not None]
    return asyncio.run(_ask(app, method, path, list(headers), body))


async def _ask(
    app: Any, method: str, path: str, headers: list[tuple[str, str]], body: bytes
) -> Response:
    raw, _, query = path.partition("?")
    raw = quote(raw, safe="/%:@!$&'()*+,;=~\\")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "server": ("127.0.0.1", PORT),
        "client": ("127.0.0.1", 50_000),
        "scheme": "http",
        "method": method,
        "root_path": "",
        "path": unquote(raw),
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        "state": {},
    }
    parts = [body[start : start + 65_536] for start in range(0, len(body), 65_536)] or [b""]
    received = iter(
        {"type": "http.request", "body": part, "more_body": number < len(parts)}
        for number, part in enumerate(parts, 1)
    )
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(received, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return _response(sent)


def _response(sent: list[dict[str, Any]]) -> Response:
    start, *rest = sent
    names: dict[str, str] = {}
    for raw_name, raw_value in start["headers"]:
        name, value = raw_name.decode().lower(), raw_value.decode("latin-1")
        names[name] = f"{names[name]}, {value}" if name in names else value
    body = b"".join(part.get("body", b"") for part in rest)
    return Response(start["status"], names, body.decode("utf-8"))


def check_policy(response: Response) -> None:
    """Assert that an answer has the headers of the guard, and none that opens it to other sites."""
    assert {name: response.headers.get(name) for name in POLICY} == POLICY
    assert not any(name.startswith("access-control-") for name in response.headers)
