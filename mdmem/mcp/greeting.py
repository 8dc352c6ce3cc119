"""A client's first messages, answered before the SDK is loaded, which takes half a second.

A host may send its model the first request without the tools of a slower server. The answers are
those of the SDK (a test compares them), which gets a handshake later. A client of the newest
protocol sends no handshake; each of its requests says who it is. Anything unusual is left to the
SDK.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Callable
from typing import Any

from mdmem import __version__
from mdmem.mcp import tools
from mdmem.startup.records import dataclass

# protocol versions with a handshake that are greeted here
VERSIONS = ("2025-03-26", "2025-06-18", "2025-11-25")
# without one: each request has an envelope of version, client and capabilities
ENVELOPE_VERSION = "2026-07-28"
_ENVELOPE = "io.modelcontextprotocol/"
_LISTS = ("tools/list", "prompts/list", "resources/list")
_PAUSE_SECONDS = 0.1  # between requests that a client sends together


@dataclass(frozen=True, slots=True)
class Greeting:
    """Input read before the SDK: `lines` for it, the `answered` request, `ended`: no more input.

    `without_memory`: the list of tools had none of memory's.
    """

    lines: tuple[str, ...]
    answered: int | str | None
    ended: bool
    without_memory: bool = False


def greet(
    read_line: Callable[[], str],
    write_line: Callable[[str], None],
    has_line: Callable[[], bool],
    read_only: bool,
    write_pool: bool = False,
    has_memory: Callable[[], bool] = lambda: True,
) -> Greeting:
    """Answer the first messages: up to `tools/list`, and lists requested together with it.

    `read_line` returns an empty text at the end of input; `has_line` hardly waits.
    """
    lines: list[str] = []
    answered: int | str | None = None
    is_listed = without_memory = False
    while line := read_line():
        message = _message(line)
        method, number = message.get("method"), message.get("id")
        if method == "notifications/initialized" and number is None and answered is not None:
            lines.append(line)
        elif method == "initialize" and answered is None and _is_usual(message):
            lines.append(line)
            answered = number
            write_line(
                _answer(
                    number,
                    {
                        **_introduction(has_changes=True),
                        "protocolVersion": message["params"]["protocolVersion"],
                        "serverInfo": _self(),
                    },
                )
            )
        elif method == "server/discover" and answered is None and _has_envelope(message):
            write_line(
                _answer(
                    number,
                    _enveloped(
                        {
                            **_introduction(has_changes=False),
                            "supportedVersions": [ENVELOPE_VERSION],
                        }
                    ),
                )
            )
        elif method in _LISTS and (
            _has_envelope(message) if answered is None else _asks_for_all(message)
        ):
            if method == "tools/list":
                is_listed, without_memory = True, not has_memory()
            listed = _listed(method, read_only, write_pool, without_memory)
            write_line(_answer(number, _enveloped(listed) if answered is None else listed))
        else:
            return Greeting((*lines, line), answered, False, without_memory)
        if is_listed and not has_line():
            return Greeting(tuple(lines), answered, False, without_memory)
    return Greeting(tuple(lines), answered, ended=True)


def _message(line: str) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    is_message = isinstance(message, dict) and message.get("jsonrpc") == "2.0"
    number = message.get("id") if is_message else None
    return (
        message
        if is_message and (number is None or isinstance(number, str) or type(number) is int)
        else {}
    )


def _is_usual(message: dict[str, Any]) -> bool:
    params = message.get("params")
    client = params.get("clientInfo") if isinstance(params, dict) else None
    return (
        message.get("id") is not None
        and isinstance(params, dict)
        and isinstance(client, dict)
        and params.get("protocolVersion") in VERSIONS
        and isinstance(params.get("capabilities"), dict)
        and all(isinstance(client.get(name), str) for name in ("name", "version"))
    )


def _asks_for_all(message: dict[str, Any]) -> bool:
    """True for a plain request for a whole list, after a handshake."""
    params = message.get("params", {})
    about = params.get("_meta", {}) if isinstance(params, dict) else None
    return (
        message.get("id") is not None
        and isinstance(about, dict)
        and params.get("cursor") is None
        and not any(name.startswith(_ENVELOPE) for name in about)
    )


def _has_envelope(message: dict[str, Any]) -> bool:
    params = message.get("params")
    about = params.get("_meta") if isinstance(params, dict) else None
    if message.get("id") is None or params is None or not isinstance(about, dict):
        return False
    client = about.get(f"{_ENVELOPE}clientInfo")
    return (
        set(params) == {"_meta"}
        and about.get(f"{_ENVELOPE}protocolVersion") == ENVELOPE_VERSION
        and isinstance(about.get(f"{_ENVELOPE}clientCapabilities"), dict)
        and isinstance(client, dict)
        and all(isinstance(client.get(name), str) for name in ("name", "version"))
    )


def _introduction(has_changes: bool) -> dict[str, Any]:
    """`has_changes`: a client that made a handshake hears when the list of tools changes."""
    capabilities = {
        "prompts": {"listChanged": False},
        "resources": {"listChanged": False, "subscribe": False},
        "tools": {"listChanged": has_changes},
    }
    return {"capabilities": capabilities, "instructions": tools.INSTRUCTIONS}


def _self() -> dict[str, str]:
    return {"name": "mdmem", "version": __version__}


def _listed(method: str, read_only: bool, write_pool: bool, without_memory: bool) -> dict[str, Any]:
    if method == "tools/list" and without_memory:
        return {"tools": [dict(tools.STATUS)]}
    if method == "tools/list":
        return {"tools": [tool.listed for tool in tools.offered(read_only, write_pool).values()]}
    if method == "prompts/list":
        return {
            "prompts": [
                {"name": name, "description": about} for name, about in tools.PROMPTS.items()
            ]
        }
    return {"resources": [dict(tools.CONTEXT_RESOURCE)]}


def _enveloped(result: dict[str, Any]) -> dict[str, Any]:
    return {
        **result,
        "resultType": "complete",
        "cacheScope": "private",
        "ttlMs": 0,
        "_meta": {f"{_ENVELOPE}serverInfo": _self()},
    }


def _answer(number: int | str | None, result: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}, ensure_ascii=False)


def read_line() -> str:
    """A line of standard input and no byte more: the rest is for the SDK. Empty at the end."""
    line = bytearray()
    while byte := os.read(0, 1):
        line += byte
        if byte == b"\n":
            break
    return line.decode("utf-8", "replace")


def has_line() -> bool:
    return bool(select.select([0], [], [], _PAUSE_SECONDS)[0])


def write_line(text: str) -> None:
    data = f"{text}\n".encode("utf-8", "replace")
    while data:
        data = data[os.write(1, data) :]
