"""A server for agents as a process, spoken to by lines as a host would."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from conftest import TIME_LIMIT
from workspaces import NOW, Desk

PROGRAM = str(Path(sys.executable).with_name("mdmem"))
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "probe", "version": "1"},
}

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": INITIALIZE["clientInfo"],
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""The `_meta` of each request of a client that makes no handshake."""


def line(method: str, number: int | str | None = None, **values: Any) -> str:
    """A request, or a notification, as a line."""
    return json.dumps(
        {"jsonrpc": "2.0", "method": method, "params": values}
        | ({} if number is None else {"id": number})
    )


def call(number: int, tool: str, **arguments: Any) -> str:
    return line("tools/call", number, name=tool, arguments=arguments)


HELLO = (line("initialize", 1, **INITIALIZE), line("notifications/initialized"))


def served(at: Desk, lines: Sequence[str], *options: str) -> dict[Any, Any]:
    """The answers of a server to lines that are its whole input, by their ids."""
    done = at.world.run(
        at.root,
        [PROGRAM, "mcp", *options],
        stdin="\n".join((*lines, "")),
        environment={"MDMEM_NOW": NOW},
    )
    answers = [json.loads(each) for each in done.stdout.splitlines()]
    assert all(each["jsonrpc"] == "2.0" for each in answers)
    return {each["id"]: each for each in answers}


class Server:
    """A server that has greeted its client, and has loaded all that it needs."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        command: Sequence[str] = (PROGRAM, "mcp"),
        first: Sequence[str] = (),
    ) -> None:
        pipe = subprocess.PIPE
        environment = {"MDMEM_NOW": NOW, **environment}
        self.process = subprocess.Popen(
            list(command), cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=pipe
        )
        self._limit = threading.Timer(
            TIME_LIMIT, self.process.kill
        )  # so that no test waits for ever for an answer
        self._limit.start()
        self._answers: dict[Any, Any] = {}
        self._number = 100
        self.say(*HELLO, *first, line("ping", 9))
        assert self.answer(1)["result"]["serverInfo"]["name"] == "mdmem"
        self.answer(9)

    def say(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{each}\n" for each in lines).encode())
        self.process.stdin.flush()

    def answer(self, number: Any) -> Any:
        """The answer to a request, or the notification of that name; others that come first are
        kept.
        """
        assert self.process.stdout is not None
        while number not in self._answers:
            read = self.process.stdout.readline()
            assert read, f"no answer to {number}"
            answer = json.loads(read)
            self._answers[answer.get("id", answer.get("method"))] = answer
        return self._answers.pop(number)

    def has_answered(self, number: Any) -> bool:
        """True where an answer to a request was read while others were waited for."""
        return number in self._answers

    def ask(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """The text of a tool's answer, and True if it is a failure."""
        self._number += 1
        self.say(call(self._number, tool, **arguments))
        result = self.answer(self._number)["result"]
        assert [each["type"] for each in result["content"]] == ["text"]
        return result["content"][0]["text"], result["isError"]

    def text(self, tool: str, **arguments: Any) -> str:
        text, failed = self.ask(tool, **arguments)
        assert not failed, text
        return text

    def failure(self, tool: str, **arguments: Any) -> Any:
        text, failed = self.ask(tool, **arguments)
        assert failed, text
        return json.loads(text)

    def hang_up(self) -> None:
        """Close its input and its output, as the end of its host does."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None and not stream.closed:
                stream.close()

    def wait(self) -> int:
        """Its status, when it has ended."""
        return self.process.wait(TIME_LIMIT)

    def errors(self) -> str:
        """The output of the server on standard error, until it ends."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def close(self) -> None:
        self._limit.cancel()
        self.hang_up()
        try:
            self.process.wait(TIME_LIMIT)
        finally:
            self.process.kill()
            if self.process.stderr is not None:
                self.process.stderr.close()


@contextmanager
def server(
    at: Desk,
    *options: str,
    folder: Path | None = None,
    first: Sequence[str] = (),
    **environment: str,
) -> Iterator[Server]:
    """A server in a workspace, or in another folder; `first` is said after the handshake."""
    running = Server(
        folder or at.root,
        {**at.world.environment, **environment},
        (PROGRAM, "mcp", *options),
        first,
    )
    try:
        yield running
    finally:
        running.close()


def processes_below(process: int) -> list[int]:
    """The children of a process."""
    children: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended since
            children += map(int, (task / "children").read_text().split())
    return children


def own_bytes(process: int) -> int:
    """The memory that is a process's own, without pages of libraries and other files."""
    _, resident, shared, *_ = map(int, Path(f"/proc/{process}/statm").read_text().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
