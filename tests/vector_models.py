"""A model of vectors for tests: a table of synonyms, behind a server and behind a command.

Each group of words is a dimension, and every other word is one of many by its hash.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zlib import crc32

GROUPS = (
    ("car", "automobile", "vehicle", "saloon"),
    ("doctor", "physician", "surgery"),
    ("meal", "dinner", "supper", "food"),
    ("flat", "apartment", "lodging"),
    ("salary", "wage", "pay"),
    ("jalopy", "charabanc"),
    ("sawbones", "leech"),
)
DIMENSIONS = 64
Answer = Callable[[list[str]], Any]


def vector(text: str) -> list[float]:
    values = [0.001] * DIMENSIONS
    for word in text.casefold().replace(".", " ").replace("?", " ").split():
        group = next((number for number, words in enumerate(GROUPS) if word in words), None)
        if group is None:
            values[len(GROUPS) + crc32(word.encode()) % (DIMENSIONS - len(GROUPS))] += 0.3
        else:
            values[group] += 2.0
    return values


def answer(texts: list[str]) -> Any:
    data = [{"index": number, "embedding": vector(text)} for number, text in enumerate(texts)]
    return {"data": data, "usage": {"prompt_tokens": 3 * len(texts)}}


class VectorServer:
    """The texts that it was sent, and the address."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[list[str]] = []
        self.headers: list[dict[str, str]] = []
        self.answer: Answer = answer
        self.status = 200
        self.wait = 0.0

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request]


@contextmanager
def vector_server() -> Iterator[VectorServer]:
    serving = VectorServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            serving.requests.append(body["input"])
            serving.headers.append(dict(self.headers))
            time.sleep(serving.wait)
            answered = serving.answer(body["input"])
            data = answered if isinstance(answered, bytes) else json.dumps(answered).encode()
            self.send_response(serving.status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            try:
                self.wfile.write(data)
            except OSError:
                return

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    serving.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield serving
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def vector_command(folder: Path) -> tuple[str, ...]:
    """A program that answers each line, and notes its start."""
    script = folder / "vectors.py"
    script.write_text(
        f"import json, sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        f"from vector_models import vector\nopen({str(folder / 'starts')!r}, 'a').write('x')\n"
        "for line in sys.stdin:\n"
        "    texts = json.loads(line)['texts']\n"
        "    print(json.dumps({'vectors': [vector(text) for text in texts]}), flush=True)\n"
    )
    return (sys.executable, str(script))
