"""Servers that a fetch gets nothing from."""

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Unauthorised(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def asking_server() -> Iterator[int]:
    """A port where a password is asked for."""
    with http.server.HTTPServer(("127.0.0.1", 0), _Unauthorised) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@contextmanager
def silent_server() -> Iterator[int]:
    """A port where connections are taken and nothing is ever said."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(9)
        yield listening.getsockname()[1]
