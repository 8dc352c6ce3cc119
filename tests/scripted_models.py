"""Models that answer by a script: a server with the interface of OpenAI on this machine, and a
command. As a program: `scripted_models.py FOLDER` reads a request and answers with the first file
of FOLDER that is left (`NUMBER.answer`: what it prints; `NUMBER.exit`: the status; `NUMBER.sleep`:
seconds).
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MODEL = "scripted-1"


@dataclass(frozen=True)
class Reply:
    """An answer of the server. `text` is what the model says; `raw`: the whole body instead."""

    text: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    usage: tuple[int, int] | None = None
    raw: bytes | None = None

    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        if self.status != 200:
            return json.dumps(
                {"error": {"message": self.text or "no", "type": "scripted"}}
            ).encode()
        message = {"role": "assistant", "content": self.text}
        values: dict[str, Any] = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": MODEL,
        }
        values["choices"] = [{"index": 0, "message": message, "finish_reason": "stop"}]
        if self.usage is not None:
            values["usage"] = {
                "prompt_tokens": self.usage[0],
                "completion_tokens": self.usage[1],
                "total_tokens": sum(self.usage),
            }
        return json.dumps(values).encode()


Script = Callable[[dict[str, Any], int], Reply]
"""Makes a reply of the data of a request, and of the number of requests before it."""


class ScriptedServer:
    """A server that is answering, with all that it was asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._lock = threading.Lock()
        self._released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    number = len(outer.bodies)
                    outer.bodies.append(body)
                    outer.headers.append(
                        {name.lower(): value for name, value in self.headers.items()}
                    )
                reply = outer.script(data_of(body["messages"][0]["content"]), number)
                if reply.seconds:
                    outer._released.wait(reply.seconds)
                data = reply.body()
                self.send_response(reply.status)
                for name, value in {
                    "Content-Type": "application/json",
                    "Content-Length": str(len(data)),
                    **reply.headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def handle(self) -> None:
                try:
                    super().handle()
                except OSError:  # a client that did not wait
                    self.close_connection = True

            def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][0]["content"] for body in self.bodies]

    @property
    def data(self) -> list[dict[str, Any]]:
        return [data_of(prompt) for prompt in self.prompts]

    def close(self) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving(script: Script) -> Iterator[ScriptedServer]:
    server = ScriptedServer(script)
    try:
        yield server
    finally:
        server.close()


def in_turn(*replies: Reply) -> Script:
    """One reply after the other; the last again and again."""
    return lambda _, number: replies[min(number, len(replies) - 1)]


def data_of(prompt: str) -> dict[str, Any]:
    """The JSON block of a request."""
    values: dict[str, Any] = next(
        json.loads(line) for line in prompt.splitlines() if line.startswith('{"task"')
    )
    return values


def fact(
    lines: list[int], text: str, quote: str, kind: str = "fact", key: str | None = None
) -> dict[str, Any]:
    return {"lines": lines, "kind": kind, "key": key, "text": text, "quote": quote}


def facts(*each: dict[str, Any]) -> str:
    return json.dumps({"facts": each})


def quoting(data: dict[str, Any], _: int) -> Reply:
    """A model that is right: each line of the user is a fact, word by word."""
    return Reply(
        facts(
            *(
                fact([line["n"]], line["text"][:400], line["text"][:40])
                for line in data["lines"]
                if line["who"] == "user"
            )
        )
    )


def quoting_agents(data: dict[str, Any], _: int) -> Reply:
    """A model that takes each line of an agent for a fact."""
    return Reply(
        facts(*(fact([line["n"]], line["text"][:400], line["text"][:40]) for line in data["lines"]))
    )


def command(folder: Path) -> list[str]:
    """The command of a model that answers by the files of a folder."""
    return [sys.executable, __file__, str(folder)]


def _main(folder: Path) -> None:
    request = sys.stdin.read()
    number = len(list(folder.glob("*.request")))
    (folder / f"{number}.request").write_text(
        json.dumps(
            {
                "text": request,
                "cwd": [path.name for path in Path().iterdir()],
                "run": os.environ.get("MDMEM_RUN"),
            }
        )
    )
    if (sleep := folder / f"{number}.sleep").exists():
        time.sleep(float(sleep.read_text()))
    if (answer := folder / f"{number}.answer").exists():
        print(answer.read_text())
    if (status := folder / f"{number}.exit").exists():
        sys.exit(int(status.read_text()))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
