"""The memory as a tool of the Anthropic SDK: its own runner against a scripted Messages API on this
machine.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from conftest import World
from record_memory_tool import DATA, create, delete, put, record, view
from workspaces import NOW, Desk, desk

import mdmem.memtool as memtool
from mdmem.memory import Memory
from mdmem.model.errors import PackageProblem

PAGE = Path(__file__).parents[1] / "docs/clients/anthropic-sdk.md"


@pytest.fixture(scope="module")
def anthropic() -> Any:
    """The SDK, which takes seconds to load."""
    return pytest.importorskip("anthropic", reason="the SDK is not installed")


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


class MessagesApi:
    """A Messages API whose model calls the memory tool with one command a turn, and then ends its
    turn.
    """

    def __init__(self, commands: Sequence[object]) -> None:
        self.received: list[dict[str, Any]] = []
        turns = iter([*commands, None])
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                command = next(turns)
                block = {"type": "text", "text": "done"}
                if command is not None:
                    block = {
                        "type": "tool_use",
                        "id": f"toolu_{len(received)}",
                        "name": "memory",
                        "input": command,
                    }
                message = {
                    "id": f"msg_{len(received)}",
                    "type": "message",
                    "role": "assistant",
                    "model": "scripted",
                    "content": [block],
                    "stop_reason": "end_turn" if command is None else "tool_use",
                    "stop_sequence": None,
                    "usage": {"input_tokens": 1, "output_tokens": 1},
                }
                data = json.dumps(message).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> "MessagesApi":
        self._thread = Thread(target=self.server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()

    @property
    def results(self) -> Iterator[tuple[str, bool]]:
        """The text that the model got for each call, and True if it got it as an error."""
        for block in (
            block
            for request in self.received
            for block in request["messages"][-1]["content"]
            if isinstance(block, dict)
        ):
            content = block["content"]
            text = (
                content if isinstance(content, str) else "".join(part["text"] for part in content)
            )
            yield text, block.get("is_error", False)


def test_the_runner(at: Desk, anthropic: Any):
    commands = [
        view("/memories"),
        create("/memories/coffee.md", "# Coffee\n\n- black\n"),
        put("/memories/coffee.md", "black", "with milk"),
        {**view("/memories/coffee.md"), "view_range": [3, 3]},
        put("/memories/coffee.md", "tea", "x"),
        {"command": "fly"},
        delete("/memories/coffee.md"),
    ]
    memory = Memory.open(at.root, os.environ)
    with (
        MessagesApi(commands) as api,
        anthropic.Anthropic(base_url=api.address, api_key="none", max_retries=0) as client,
    ):
        runner = client.beta.messages.tool_runner(
            model="scripted",
            max_tokens=100,
            messages=[{"role": "user", "content": "I take milk"}],
            tools=[memtool.tool(memory)],
        )
        assert runner.until_done().stop_reason == "end_turn"
    memory.close()
    assert api.received[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    results = list(api.results)
    assert results[0][0].startswith(
        "Here're the files and directories up to 2 levels deep in /memories"
    )
    assert results[1:] == [
        ("File created successfully at: /memories/coffee.md", False),
        (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            "     1\t# Coffee\n     2\t\n     3\t- with milk\n     4\t",
            False,
        ),
        (
            "Here's the content of /memories/coffee.md with line numbers:\n     3\t- with milk",
            False,
        ),
        (
            "No replacement was performed, old_str `tea` did not appear verbatim in /memories/coffee.md.",
            True,
        ),
        ("Unknown command: fly", True),
        ("Successfully deleted /memories/coffee.md", False),
    ]
    assert at.subjects() == [*["memory/coffee.md: memory-tool"] * 3, "seed"]


@pytest.mark.usefixtures("anthropic")
def test_the_page_for_users(at: Desk, monkeypatch: pytest.MonkeyPatch):
    blocks = dict.fromkeys(
        re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
    )
    (_, with_sdk), (_, without_sdk), (_, session) = blocks
    with MessagesApi([create("/memories/coffee.md", "# Coffee\n\n- with milk\n")]) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.address)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        monkeypatch.chdir(at.root)
        names: dict[str, Any] = {}
        exec(with_sdk, names)
        names["client"].close()
    assert at.subjects()[0] == "memory/coffee.md: memory-tool"
    exec(without_sdk, names)
    at.git("rm", "-q", "memory/coffee.md")
    at.git("commit", "-qm", "as before")
    before, typed = session.split("$ mdmem memory-tool < commands.jsonl\n")
    lines = before.partition("\n")[2]
    assert (
        at.world.run(
            at.root, [Path(sys.executable).with_name("mdmem"), "memory-tool"], stdin=lines
        ).stdout
        == typed
    )


def test_its_methods_take_the_types_of_the_sdk(at: Desk, anthropic: Any):
    tool = memtool.tool(Memory.open(at.root, os.environ))
    command = anthropic.types.beta.BetaMemoryTool20250818CreateCommand(
        **create("/memories/a.md", "a\n")
    )
    assert tool.name == "memory"
    assert tool.create(command) == "File created successfully at: /memories/a.md"
    with pytest.raises(anthropic.lib.tools.ToolError, match="already exists"):
        tool.execute(command)


@pytest.mark.costly
@pytest.mark.usefixtures("anthropic")
def test_the_recorded_vectors_are_those_of_this_sdk():
    assert json.loads(DATA.read_text(encoding="utf-8"))["vectors"] == record()


def test_without_the_sdk(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "mdmem.folder.installed.find_spec", lambda name: None if name == "anthropic" else name
    )
    with pytest.raises(PackageProblem, match=r"pip install '.+\[anthropic\]'") as failure:
        memtool.tool(Memory.open(at.root, os.environ))
    assert failure.value.code == "missing-package"
    assert "\n" not in str(failure.value)


def test_the_backend_does_not_load_it(at: Desk):
    code = (
        "import os, sys\nfrom mdmem.memory import Memory\nfrom mdmem.memtool import Backend\n"
        "print(Backend(Memory.open(None, os.environ)).call({'command': 'view', 'path': '/memories'}))\nassert 'anthropic' not in sys.modules"
    )
    assert "/memories/MEMORY.md" in at.world.run(at.root, [sys.executable, "-c", code]).stdout
