"""The server as a process, driven by the official client in both of its modes, and by lines that no
client would send.
"""

import json
import os
import signal
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from typing import TYPE_CHECKING, Any

import anyio
import jsonschema
import pytest
from conftest import TIME_LIMIT, World
from servers import HELLO, INITIALIZE, PROGRAM, call, line, served, server
from workspaces import NOW, Desk, desk

from mdmem.cli import main
from mdmem.folder import installed
from mdmem.mcp import serving
from mdmem.mcp.greeting import ENVELOPE_VERSION, VERSIONS
from mdmem.mcp.tools import INSTRUCTIONS, TOOLS

if TYPE_CHECKING:
    from mcp import StdioServerParameters

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": ENVELOPE_VERSION,
    "io.modelcontextprotocol/clientInfo": INITIALIZE["clientInfo"],
    "io.modelcontextprotocol/clientCapabilities": {},
}
MODES = ["legacy", "auto"]
MOST_LISTED_BYTES = 6000


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def parameters(at: Desk, *options: str) -> "StdioServerParameters":
    from mcp import StdioServerParameters  # the SDK takes half a second to load

    return StdioServerParameters(
        command=PROGRAM,
        args=["mcp", *options],
        cwd=at.root,
        env={**at.world.environment, "MDMEM_NOW": NOW},
    )


@pytest.mark.every(3)
@pytest.mark.parametrize("in_process", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_the_official_client(at: Desk, mode: Any, in_process: bool):
    from mcp import Client, MCPError
    from mcp.client.stdio import stdio_client

    from mdmem.mcp.server import Answers, make_server

    answers = Answers(str(at.root), {**os.environ, "MDMEM_NOW": NOW}, read_only=False)
    way = make_server(answers) if in_process else stdio_client(parameters(at))

    async def session() -> None:
        async with Client(way, mode=mode) as client:
            assert client.instructions == INSTRUCTIONS
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == list(TOOLS)
            for tool in listed.tools:
                jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            wire = [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools]
            assert len(json.dumps(wire)) <= MOST_LISTED_BYTES
            assert all(
                tool["annotations"]["openWorldHint"] is False and "outputSchema" not in tool
                for tool in wire
            )
            written = await client.call_tool("memory_log", {"text": "it rained"})
            answer = await client.call_tool("memory_search", {"query": "rain"})
            failed = await client.call_tool("memory_get", {"name": "Nowhere"})
            for result, is_error in ((written, False), (answer, False), (failed, True)):
                assert (result.is_error, len(result.content), result.structured_content) == (
                    is_error,
                    1,
                    None,
                )
            assert "it rained" in answer.content[0].text
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("memory_serch", {})
            assert unknown.value.error.code == -32602
            assert "memory_search" in unknown.value.error.message
            assert [each.uri for each in (await client.list_resources()).resources] == [
                "mdmem://context"
            ]
            assert (
                "works at Stripe"
                in (await client.read_resource("mdmem://file/MEMORY.md")).contents[0].text
            )
            with pytest.raises(MCPError):
                await client.read_resource("mdmem://file/.git/config.md")
            assert all(prompt.description for prompt in (await client.list_prompts()).prompts)
            assert "memory_log" in (await client.get_prompt("flush")).messages[0].content.text

    anyio.run(session)
    answers.close()
    assert "Mdmem-Actor: mcp/" in at.git("log", "-1", "--format=%B")
    assert sorted(each.name for each in at.workspace.state.iterdir() if "tmp" in each.name) == []


def test_lines_that_are_no_messages_are_answered_and_so_are_calls_when_the_input_ends(at: Desk):
    gets = [call(number, "memory_get") for number in range(3, 9)]
    answers = served(
        at, (*HELLO, "no json {", '{"neither": 1}', call(2, "memory_log", text="at the end"), *gets)
    )
    assert answers[None]["error"]["code"] in (-32700, -32600)
    assert json.loads(answers[2]["result"]["content"][0]["text"])["changed"] is True
    assert [answers[number]["result"]["isError"] for number in range(3, 9)] == [False] * 6


LISTS = ["tools/list", "prompts/list", "resources/list"]


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("version", "options"),
    [*((version, ()) for version in VERSIONS), (VERSIONS[-1], ("--read-only",))],
)
def test_what_is_answered_before_the_sdk_is_loaded_is_what_it_would_answer(
    at: Desk, version: str, options: tuple[str, ...]
):
    usual = (
        line("initialize", 1, **INITIALIZE | {"protocolVersion": version}),
        HELLO[1],
        *(line(each, each) for each in LISTS),
    )
    assert served(at, usual, *options) == {
        number: answer
        for number, answer in served(at, ("no json", *usual), *options).items()
        if number is not None
    }


LOADED_AT_EACH_LINE = """
import sys
from mdmem.mcp import serving
from mdmem.__main__ import run
write = serving.write_line
serving.write_line = lambda text: (write(text), print(*sys.modules, file=sys.stderr))
run()
"""


@pytest.mark.parametrize(
    "first", [HELLO, (line("server/discover", 1, _meta=ENVELOPE),)], ids=["handshake", "none"]
)
def test_the_tools_are_listed_before_the_sdk_is_loaded(at: Desk, first: tuple[str, ...]):
    about = {"_meta": ENVELOPE} if len(first) == 1 else {}
    lines = "\n".join((*first, *(line(each, each, **about) for each in LISTS), ""))
    done = at.world.run(at.root, [sys.executable, "-c", LOADED_AT_EACH_LINE, "mcp"], stdin=lines)
    greeted, *_, listed = (
        set(modules.split()) for modules in done.stderr.splitlines()[: 1 + len(LISTS)]
    )
    assert len(json.loads(done.stdout.splitlines()[1])["result"]["tools"]) == len(TOOLS)
    assert "mdmem.mcp.greeting" in greeted
    assert not {"mcp", "anyio", "pydantic", "mdmem.mcp.server"} & listed


@pytest.mark.every(2)
@pytest.mark.parametrize("options", [(), ("--read-only",)])
def test_so_it_is_without_a_handshake(at: Desk, options: tuple[str, ...]):
    usual = tuple(line(each, each, _meta=ENVELOPE) for each in ("server/discover", *LISTS))
    early = served(at, usual, *options)
    assert early == {
        number: answer
        for number, answer in served(at, ("no json", *usual), *options).items()
        if number is not None
    }
    assert early["server/discover"]["result"]["supportedVersions"] == [ENVELOPE_VERSION]


def test_a_call_without_a_handshake_is_its_clients(at: Desk):
    asked = (line("server/discover", 0, _meta=ENVELOPE), line("tools/list", 1, _meta=ENVELOPE))
    log = line("tools/call", 2, name="memory_log", arguments={"text": "it rained"}, _meta=ENVELOPE)
    assert served(at, (*asked, log))[2]["result"]["isError"] is False
    assert "Mdmem-Actor: mcp/probe\n" in at.git("log", "-1", "--format=%B")


def test_a_client_that_asks_what_it_is_may_still_begin_with_a_handshake(at: Desk):
    answers = served(
        at, (line("server/discover", 0, _meta=ENVELOPE), *HELLO, call(2, "memory_get"))
    )
    assert answers[1]["result"]["protocolVersion"] == INITIALIZE["protocolVersion"]
    assert answers[2]["result"]["isError"] is False


def test_read_only(at: Desk):
    answers = served(
        at,
        (
            *HELLO,
            line("tools/list", 2),
            call(3, "memory_log", text="x"),
            call(4, "memory_search", query="Stripe"),
        ),
        "--read-only",
    )
    assert [tool["name"] for tool in answers[2]["result"]["tools"]] == [
        "memory_search",
        "memory_get",
        "memory_context",
    ]
    assert answers[3]["error"]["code"] == -32602
    assert "Stripe" in answers[4]["result"]["content"][0]["text"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_though_its_input_is_open(at: Desk, number: signal.Signals):
    with server(at) as running:
        running.process.send_signal(number)
        assert running.wait() == 130


def test_a_signal_while_the_sdk_is_loaded_ends_it_without_a_word(at: Desk):
    server = Popen(
        [PROGRAM, "mcp"],
        cwd=at.root,
        env=at.world.environment,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    for each in (*HELLO, line("ping", 2)):
        server.stdin.write(f"{each}\n".encode())
    server.stdin.flush()
    server.stdout.readline()
    server.send_signal(signal.SIGTERM)
    assert server.communicate(timeout=TIME_LIMIT)[1] == b""
    assert server.returncode == 130


def test_it_ends_when_nobody_reads_its_answers(at: Desk):
    with server(at) as running:
        assert running.process.stdout is not None
        running.process.stdout.close()
        running.say(call(2, "memory_get"))
        assert running.wait() == 0


def test_without_the_extra_a_line_says_what_to_type(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(serving, "_PACKAGES", ("mdmem_has_no_such_package",))
    assert main(["mcp"]) == 1
    assert (
        capsys.readouterr().err
        == f"mdmem: the server needs the MCP SDK: {installed.install_command('mcp')}\n"
    )
