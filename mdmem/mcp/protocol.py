"""Messages of the protocol: a client's lines as requests, and answers in the form of its version.

Versions up to 2025-11-25 begin with a handshake, `initialize`. Since 2026-07-28 there is none: the
`_meta` of each request is an envelope with version, client and capabilities. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mdmem import __version__
from mdmem.mcp.tools import INSTRUCTIONS
from mdmem.startup.records import dataclass

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ENVELOPE_VERSION = "2026-07-28"
_VERSION = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_CLIENT = "io.modelcontextprotocol/clientInfo"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, UNSUPPORTED_VERSION = -32602, -32603, -32022

_SELF = {"name": "mdmem", "version": __version__}
_NAMES = {"name": str, "version": str}
_PAGE = {"cursor": str | None}
# by method: the types of its parameters, those of objects nested; in a list: may be missing
_PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "initialize": {"protocolVersion": str, "capabilities": dict, "clientInfo": _NAMES},
    "ping": {},
    "server/discover": {},
    "tools/list": _PAGE,
    "tools/call": {"name": str, "arguments": [dict]},
    "resources/list": _PAGE,
    "resources/templates/list": _PAGE,
    "resources/read": {"uri": str},
    "prompts/list": _PAGE,
    "prompts/get": {"name": str, "arguments": [dict]},
}
_METADATA = {"progressToken": int | str | None}
_ENVELOPE = {_CAPABILITIES: dict, _CLIENT: [_NAMES], **_METADATA}
_ONLY_WITH_HANDSHAKE, _ONLY_IN_ENVELOPE = ("initialize", "ping"), ("server/discover",)
# in an envelope, the answers to all other methods say how long they may be kept: not at all
_NEVER_KEPT = ("tools/call", "prompts/get")

RequestId = int | str


class RequestProblem(Exception):
    """A failure of a request, for its client: an error of JSON-RPC."""

    def __init__(
        self, code: int, message: str, data: object = None, request_id: RequestId | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data
        self.request_id = request_id


@dataclass(frozen=True, slots=True)
class RpcMessage:
    """A client's request, or its notification if there is no id."""

    method: str
    params: Mapping[str, Any]
    request_id: RequestId | None

    @property
    def has_envelope(self) -> bool:
        metadata = self.params.get("_meta")
        return self.method != "initialize" and isinstance(metadata, dict) and _VERSION in metadata


def parse(line: bytes) -> RpcMessage | None:
    """Read a line; None for an answer, since this server asks nothing. Raises RequestProblem."""
    try:
        message = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise RequestProblem(PARSE_ERROR, "Parse error: a message is one line of JSON") from None
    values = message if isinstance(message, dict) else {}
    request_id = values.get("id") if type(values.get("id")) in (int, str) else None
    if values.get("jsonrpc") == "2.0" and (b"\\u" not in line or _has_whole_characters(values)):
        method, params = values.get("method"), values.get("params")
        if isinstance(method, str) and isinstance(params, dict | None):
            return RpcMessage(method, params or {}, request_id)
        if method is None and isinstance(values.get("result", values.get("error")), dict):
            return None
    raise RequestProblem(
        INVALID_REQUEST,
        "Invalid request: a message is one of JSON-RPC, in whole characters",
        request_id=request_id,
    )


def _has_whole_characters(values: Mapping[str, Any]) -> bool:
    """False for half of a surrogate pair, which no file can have."""
    try:
        return bool(json.dumps(values, ensure_ascii=False).encode())
    except UnicodeEncodeError:
        return False


class McpClient:
    """The other end of a connection: its name, and whether its requests have an envelope.

    The first request decides that, except `server/discover`, which a client of any version may ask.
    """

    def __init__(self) -> None:
        self._has_envelopes: bool | None = None
        self._name = ""
        self.has_handshake = False

    def admit(self, request: RpcMessage) -> str:
        """Check a request as its version has it: the name of who asks. Raises RequestProblem."""
        if self._has_envelopes is None and not (
            request.has_envelope and request.method in _ONLY_IN_ENVELOPE
        ):
            self._has_envelopes = request.has_envelope
        if request.has_envelope or self._has_envelopes:
            if self._has_envelopes is False:
                raise RequestProblem(
                    INVALID_REQUEST,
                    "this connection serves the handshake protocol era; requests carrying the"
                    f" {ENVELOPE_VERSION} envelope are not accepted on it",
                )
            _check_version(request)
            _check_types(request, _ONLY_WITH_HANDSHAKE, _ENVELOPE)
            client = request.params["_meta"].get(_CLIENT)
            return str(client["name"]) if client else ""
        _check_types(request, _ONLY_IN_ENVELOPE, _METADATA)
        if request.method == "initialize":
            self._name, self.has_handshake = request.params["clientInfo"]["name"], True
        elif not self.has_handshake and request.method != "ping":
            raise RequestProblem(INVALID_PARAMS, "Invalid request parameters", "")
        return self._name


def _check_version(request: RpcMessage) -> None:
    """Raises RequestProblem for a request without an envelope, or one of another version."""
    metadata = request.params.get("_meta")
    if request.method == "initialize":
        raise _unsupported(
            f"connection is serving the {ENVELOPE_VERSION} protocol; the initialize handshake is"
            " not accepted",
            request.params.get("protocolVersion"),
        )
    if not isinstance(metadata, dict):
        raise RequestProblem(
            INVALID_PARAMS,
            f"params._meta must be an object carrying the required {_VERSION!r} and"
            f" {_CAPABILITIES!r} envelope keys",
        )
    if missing := [key for key in (_VERSION, _CAPABILITIES) if key not in metadata]:
        raise RequestProblem(
            INVALID_PARAMS,
            f"params._meta is missing the required envelope key(s): {', '.join(missing)}",
        )
    if not isinstance(metadata[_VERSION], str):
        raise RequestProblem(INVALID_PARAMS, "the protocol-version envelope value must be a string")
    if metadata[_VERSION] != ENVELOPE_VERSION:
        raise _unsupported("Unsupported protocol version", metadata[_VERSION])


def _unsupported(message: str, version: object) -> RequestProblem:
    requested = {"requested": version} if isinstance(version, str) else {}
    return RequestProblem(
        UNSUPPORTED_VERSION, message, {"supported": [ENVELOPE_VERSION], **requested}
    )


def _check_types(
    request: RpcMessage, excluded: tuple[str, ...], metadata_types: Mapping[str, Any]
) -> None:
    """Raises RequestProblem for a method that is not served, or for parameters of other types."""
    method = request.method
    if method not in _PARAMETERS or method in excluded:
        raise RequestProblem(METHOD_NOT_FOUND, "Method not found", method)
    if not _has_type(request.params, {**_PARAMETERS[method], "_meta": [metadata_types]}):
        raise RequestProblem(INVALID_PARAMS, "Invalid request parameters", "")


def _has_type(value: object, expected: Any) -> bool:
    if isinstance(expected, list):
        return value is None or _has_type(value, expected[0])
    if isinstance(expected, Mapping):
        return isinstance(value, dict) and all(
            _has_type(value.get(name), each) for name, each in expected.items()
        )
    return isinstance(value, expected)


def introduction(request: RpcMessage) -> dict[str, Any]:
    """The result of `initialize` or `server/discover`: what is served, in which version."""
    capabilities = {
        "prompts": {"listChanged": False},
        "resources": {"listChanged": False, "subscribe": False},
        "tools": {"listChanged": not request.has_envelope},
    }
    served = {"capabilities": capabilities, "instructions": INSTRUCTIONS}
    if request.has_envelope:
        return {**served, "supportedVersions": [ENVELOPE_VERSION]}
    requested = request.params["protocolVersion"]
    version = requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
    return {**served, "protocolVersion": version, "serverInfo": _SELF}


def result_line(request: RpcMessage, result: Mapping[str, Any]) -> str:
    if request.has_envelope:
        result = {
            **result,
            **({} if request.method in _NEVER_KEPT else {"cacheScope": "private", "ttlMs": 0}),
            "resultType": "complete",
            "_meta": {**result.get("_meta", {}), "io.modelcontextprotocol/serverInfo": _SELF},
        }
    return line({"id": request.request_id, "result": result})


def error_line(request_id: RequestId | None, problem: RequestProblem) -> str:
    data = {} if problem.data is None else {"data": problem.data}
    return line(
        {"id": request_id, "error": {"code": problem.code, "message": problem.message, **data}}
    )


def line(message: Mapping[str, Any]) -> str:
    text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
    return f"{text}\n"
