"""The APIs of three vendors on 127.0.0.1: they answer from a script, and keep what they were sent.
Small; no client needs more.
"""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from mdmem.model.prompts import BLOCK_CLOSING, BLOCK_OPENING

Json = dict[str, Any]
BEYOND = "the script is over"
"""The answer to a request that the script does not foresee."""


class ScriptedApi(ABC):
    """A server that spends one step of its script on each request of the conversation."""

    path: str

    def __init__(self, steps: Sequence[Json]) -> None:
        self.steps = list(steps)
        self.requests: list[Json] = []
        """The bodies of the conversation's requests, in order."""
        self.asides: list[Json] = []
        """Those of what the client asks beside it, such as a title."""
        self._turn = threading.Lock()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def do_HEAD(self) -> None:
                self._send("application/json", b"{}")

            def do_GET(self) -> None:
                self._send("application/json", b'{"data": [], "models": [], "has_more": false}')

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path.partition("?")[0].endswith("/count_tokens"):
                    self._send("application/json", b'{"input_tokens": 1000}')
                elif self.path.partition("?")[0].endswith(api.path):
                    self._send(*api.answer(body))
                else:
                    self._send("application/json", b"{}")

            def _send(self, kind: str, data: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: Json) -> tuple[str, bytes]:
        with self._turn:
            is_aside = not tools(body)
            (self.asides if is_aside else self.requests).append(body)
            number = len(self.requests) + len(self.asides)
            step = (
                {"text": "ok"}
                if is_aside
                else self.steps.pop(0)
                if self.steps
                else {"text": BEYOND}
            )
        if body.get("stream"):
            lines = (
                (f"event: {event['type']}\n" if "type" in event else "")
                + f"data: {json.dumps(event)}\n\n"
                for event in self.events(step, number)
            )
            return "text/event-stream", "".join(lines).encode()
        return "application/json", json.dumps(self.message(step, number)).encode()

    @abstractmethod
    def message(self, step: Json, number: int) -> Json:
        """One answer, whole."""

    @abstractmethod
    def events(self, step: Json, number: int) -> Iterator[Json]:
        """One answer, as the events of a stream."""


class MessagesApi(ScriptedApi):
    """Anthropic's Messages API. A step is `{"text"}` or `{"tool", "input"}`, and `used`, the tokens
    of its input.
    """

    path = "/v1/messages"

    def message(self, step: Json, number: int) -> Json:
        block = (
            {"type": "text", "text": step["text"]} if "text" in step else _tool_use(step, number)
        )
        return {
            **{
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "model": "scripted",
                "content": [block],
            },
            "stop_reason": "end_turn" if "text" in step else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": step.get("used", 100), "output_tokens": 20},
        }

    def events(self, step: Json, number: int) -> Iterator[Json]:
        message = self.message(step, number)
        (block,) = message["content"]
        yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
        if block["type"] == "text":
            start, delta = (
                {"type": "text", "text": ""},
                {"type": "text_delta", "text": block["text"]},
            )
        else:
            start, delta = (
                {**block, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
            )
        yield {"type": "content_block_start", "index": 0, "content_block": start}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": message["usage"],
        }
        yield {"type": "message_stop"}


def _tool_use(step: Json, number: int) -> Json:
    return {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": step["tool"],
        "input": step["input"],
    }


class ResponsesApi(ScriptedApi):
    """OpenAI's Responses API, with the same steps, and `{"find"}`: look for tools. `namespace` is
    that of a tool.
    """

    path = "/responses"

    def message(self, step: Json, number: int) -> Json:
        usage = {
            "input_tokens": step.get("used", 100),
            "output_tokens": 20,
            "total_tokens": step.get("used", 100) + 20,
        }
        details = {
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        item = (
            _message_item(step, number)
            if "text" in step
            else _function_call(step, number)
            if "tool" in step
            else _tool_search(step, number)
        )
        return {
            "id": f"resp_{number}",
            "object": "response",
            "status": "completed",
            "output": [item],
            "usage": usage | details,
        }

    def events(self, step: Json, number: int) -> Iterator[Json]:
        response = self.message(step, number)
        yield {
            "type": "response.created",
            "response": {**response, "status": "in_progress", "output": []},
        }
        for kind in ("response.output_item.added", "response.output_item.done"):
            yield {"type": kind, "output_index": 0, "item": response["output"][0]}
        yield {"type": "response.completed", "response": response}


def _message_item(step: Json, number: int) -> Json:
    content = [{"type": "output_text", "text": step["text"], "annotations": []}]
    return {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def _function_call(step: Json, number: int) -> Json:
    item = {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "status": "completed",
    }
    named = {"name": step["tool"], "arguments": json.dumps(step["input"])}
    return item | named | ({"namespace": step["namespace"]} if "namespace" in step else {})


def _tool_search(step: Json, number: int) -> Json:
    call = {"execution": "client", "arguments": {"query": step["find"]}}
    return {
        "type": "tool_search_call",
        "id": f"ts_{number}",
        "call_id": f"call_{number}",
        "status": "completed",
        **call,
    }


class ChatApi(ScriptedApi):
    """OpenAI's Chat Completions API, with the steps of the Messages API."""

    path = "/chat/completions"

    def message(self, step: Json, number: int) -> Json:
        used = step.get("used", 100)
        return {
            "id": f"chat_{number}",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", **_chat_content(step, number)},
                    "finish_reason": "stop" if "text" in step else "tool_calls",
                }
            ],
            "usage": {
                "prompt_tokens": used,
                "completion_tokens": 20,
                "total_tokens": used + 20,
            },
        }

    def events(self, step: Json, number: int) -> Iterator[Json]:
        message = self.message(step, number)
        (choice,) = message["choices"]
        chunk = {**message, "object": "chat.completion.chunk", "usage": None}
        for delta, reason in ((choice["message"], None), ({}, choice["finish_reason"])):
            yield {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        yield {**chunk, "choices": [], "usage": message["usage"]}


def _chat_content(step: Json, number: int) -> Json:
    if "text" in step:
        return {"content": step["text"]}
    function = {"name": step["tool"], "arguments": json.dumps(step["input"])}
    call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
    return {"content": None, "tool_calls": [call]}


class GenerateApi(ScriptedApi):
    """Google's Gemini API, with the same steps. Only what is streamed belongs to the
    conversation.
    """

    path = ":streamGenerateContent"

    def answer(self, body: Json) -> tuple[str, bytes]:
        kind, data = super().answer(body)
        return (
            ("text/event-stream", b"data: " + data + b"\n\n")
            if kind == "application/json"
            else (kind, data)
        )

    def message(self, step: Json, number: int) -> Json:
        part = (
            {"text": step["text"]}
            if "text" in step
            else {"functionCall": {"name": step["tool"], "args": step["input"]}}
        )
        candidate = {
            "content": {"role": "model", "parts": [part]},
            "finishReason": "STOP",
            "index": 0,
        }
        used = step.get("used", 100)
        usage = {"promptTokenCount": used, "candidatesTokenCount": 20, "totalTokenCount": used + 20}
        return {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": "scripted",
            "responseId": f"resp_{number}",
        }

    def events(self, step: Json, number: int) -> Iterator[Json]:
        yield self.message(step, number)


def texts(body: Json) -> list[str]:
    """Every text that a model would have read in a request, in order: instructions, messages,
    results of tools.
    """
    return [
        *_texts(body.get("system") or body.get("instructions") or []),
        *_texts(body.get("messages") or body.get("input") or body.get("contents") or []),
    ]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name in ("text", "content", "output", "parts", "functionResponse", "response"):
            yield from _texts(value.get(name))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def blocks(body: Json) -> list[str]:
    """The blocks of memory in a request, in order, repeated and escaped ones too."""
    parts = unescape("\n".join(texts(body))).split(BLOCK_OPENING)[1:]
    return [part.partition(BLOCK_CLOSING)[0].strip() for part in parts]


def tools(body: Json) -> list[Json]:
    """The tools of a request. For its newest models Codex has them in the first item of
    the input.
    """
    items = body.get("input")
    added = items[0].get("tools") if isinstance(items, list) and items else None
    return list(body.get("tools") or added or [])


def tool_names(body: Json) -> list[str]:
    """The names of the tools of a request; those of a namespace follow it, behind a dot."""
    names: list[str] = []
    for tool in tools(body):
        named = tool.get("function") or tool
        name = named.get("name") or named.get("type")
        inner = tool.get("tools") or tool.get("functionDeclarations") or []
        names += [".".join(filter(None, (name, each["name"]))) for each in inner] or [name]
    return names
