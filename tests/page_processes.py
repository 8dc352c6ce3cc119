"""Pages as processes, asked by raw requests."""

import http.client
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from conftest import TIME_LIMIT, World
from page_driver import FORM, Response

STAND_IN = """
import os
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

def show(request):
    if wait := request.query_params.get("wait"):
        open(wait).read()
    return PlainTextResponse(f"{request.method} {request.url.path} {bool(reader.token)}")

def build_app(given, ending):
    global reader
    reader = given
    return Starlette(routes=[Route("/{path:path}", show, methods=["GET", "POST"])])

from mdmem.page import app
app.build_app = build_app
from mdmem.__main__ import run
run()
"""
"""The program with a small application, for tests of the process that need no pages."""


class PageProcess:
    """A page that has printed its address."""

    def __init__(
        self,
        world: World,
        folder: Path,
        *options: str,
        command: Sequence[str],
        **environment: str,
    ) -> None:
        self.process = subprocess.Popen(
            [*command, "page", *options],
            cwd=folder,
            env={**world.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._limit = threading.Timer(TIME_LIMIT, self.process.kill)
        self._limit.start()
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline().rstrip("\n")
        parts = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/(?:\?key=([\w-]+))?", self.line)
        assert parts is not None, self.line or self.end()
        self.port, self.key = int(parts[1]), parts[2]
        self.cookie = f"mdmem-{self.port}={self.key}"

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Response:
        """Send a request with the cookie, or with another one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIME_LIMIT)
        try:
            form = {} if body is None else {"content-type": FORM}
            connection.request(method, path, body, {"cookie": self.cookie, **form, **headers})
            answer = connection.getresponse()
            text = answer.read().decode()
            return Response(answer.status, {k.lower(): v for k, v in answer.getheaders()}, text)
        finally:
            connection.close()

    def end(self, number: signal.Signals | None = None) -> tuple[int, str, str]:
        """Wait for its end, after a signal or by itself; the status, and any other output."""
        if number is not None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=TIME_LIMIT)
        self._limit.cancel()
        return self.process.returncode, out, err


@contextmanager
def page_process(
    world: World,
    folder: Path,
    *options: str,
    command: Sequence[str] = (sys.executable, "-c", STAND_IN),
    **environment: str,
) -> Iterator[PageProcess]:
    """A page that ends with the block."""
    page = PageProcess(world, folder, *options, command=command, **environment)
    try:
        yield page
    finally:
        page.end(signal.SIGTERM if page.process.poll() is None else None)
