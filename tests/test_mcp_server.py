"""The server beside one by the official SDK; as a process, driven by the official client in both of
its modes, and by lines that no client would send.
"""

import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import jsonschema
import pytest
from conftest import TIME_LIMIT, World
from servers import ENVELOPE, HELLO, INITIALIZE, PROGRAM, call, line, served, server
from workspaces import NOW, Desk, desk

from mdmem import __version__
from mdmem.mcp import door, tools
from mdmem.mcp.protocol import ENVELOPE_VERSION, HANDSHAKE_VERSIONS
from mdmem.mcp.server import McpServer
from mdmem.mcp.tools import INSTRUCTIONS, TOOLS
from mdmem.memory import hosts

if TYPE_CHECKING:
    from mcp import StdioServerParameters

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


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client(at: Desk, mode: Any):
    from mcp import Client, MCPError
    from mcp.client.stdio import stdio_client

    async def session() -> None:
        async with Client(stdio_client(parameters(at)), mode=mode) as client:
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


class StubDoor:
    """Answers for the messages around them: what is asked and by whom, or a failure."""

    def call_tool(self, name: str, arguments: Any, client: str) -> tuple[str, bool]:
        failure = json.dumps({"error": "usage", "message": "wrong", "hint": ""})
        return (failure, True) if "wrong" in arguments else (f"{name} {client} 😀\u2028", False)

    def read_resource(self, uri: str, client: str) -> tuple[str, bool]:
        return f"{uri} {client}", False

    prompt_text = read_resource


def server_of_the_sdk() -> Any:
    """A server by the SDK from the same tables, and with the same door."""
    import mcp_types as types
    from mcp.server.lowlevel import Server

    sdk: Any = Server("mdmem", version=__version__, instructions=INSTRUCTIONS)
    stub = StubDoor()

    def serve(method: str, names: str, answer: Callable[[Any, str], Any]) -> None:
        parameters, result = (getattr(types, name) for name in names.split())

        async def handle(context: Any, request: Any) -> Any:
            client = context.session.client_params
            answered = answer(request, client.client_info.name if client else "")
            return result.model_validate(answered)

        sdk.add_request_handler(method, parameters, handle)

    def call(request: Any, client: str) -> Any:
        text, failed = stub.call_tool(request.name, request.arguments or {}, client)
        return {"content": [{"type": "text", "text": text}], "isError": failed}

    def read(request: Any, client: str) -> Any:
        text, _ = stub.read_resource(request.uri, client)
        return {"contents": [{"uri": request.uri, "mimeType": "text/markdown", "text": text}]}

    def prompt(request: Any, client: str) -> Any:
        content = {"type": "text", "text": stub.prompt_text(request.name, client)[0]}
        messages = [{"role": "user", "content": content}]
        return {"description": tools.PROMPTS[request.name], "messages": messages}

    listed = {
        "tools/list": ("Tools", [each.listed for each in tools.offered(read_only=False).values()]),
        "resources/list": ("Resources", [tools.CONTEXT_RESOURCE]),
        "resources/templates/list": ("ResourceTemplates", [tools.FILE_TEMPLATE]),
        "prompts/list": (
            "Prompts",
            [{"name": name, "description": about} for name, about in tools.PROMPTS.items()],
        ),
    }
    for method, (kind, rows) in listed.items():
        values = {f"{kind[0].lower()}{kind[1:]}": rows}
        serve(method, f"PaginatedRequestParams List{kind}Result", lambda *_, values=values: values)
    serve("tools/call", "CallToolRequestParams CallToolResult", call)
    serve("resources/read", "ReadResourceRequestParams ReadResourceResult", read)
    serve("prompts/get", "GetPromptRequestParams GetPromptResult", prompt)
    return sdk


async def answers_of_the_sdk(lines: Sequence[str]) -> list[Any]:
    from mcp.server.lowlevel import NotificationOptions
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    sdk = server_of_the_sdk()
    options = sdk.create_initialization_options(NotificationOptions(tools_changed=True))
    to_server, source = anyio.create_memory_object_stream[Any](len(lines))
    sink, from_server = anyio.create_memory_object_stream[Any](len(lines))
    for each in lines:
        message = jsonrpc_message_adapter.validate_json(each, by_name=False)
        to_server.send_nowait(SessionMessage(message))
    answers = list[Any]()
    async with to_server, from_server, anyio.create_task_group() as tasks:
        tasks.start_soon(sdk.run, source, sink, options)
        for _ in (each for each in lines if "id" in json.loads(each)):
            answer = (await from_server.receive()).message
            answers.append(answer.model_dump(mode="json", by_alias=True, exclude_unset=True))
        tasks.cancel_scope.cancel()
    return answers


def judged(lines: Sequence[str], version: str, patch: pytest.MonkeyPatch) -> None:
    """Hold the answers to lines against those of the SDK, and against its models of a version."""
    from mcp_types import jsonrpc_message_adapter, methods

    patch.setattr(door, "Door", lambda *about: StubDoor())
    patch.setattr(hosts, "has_host_workspace", lambda environment, named: True)
    sent = list[str]()
    own = McpServer(None, {}, sent.append)
    for each in lines:
        own.receive(each.encode())
    own.calls.finish(TIME_LIMIT)
    answers = {answer["id"]: answer for answer in map(json.loads, sent)}
    assert answers == {each["id"]: each for each in anyio.run(answers_of_the_sdk, lines)}
    assert len(answers) == len(sent)
    asked = {each.get("id"): each["method"] for each in map(json.loads, lines)}
    for number, answer in answers.items():
        jsonrpc_message_adapter.validate_python(answer)
        if "result" in answer:
            methods.validate_server_result(asked[number], version, answer["result"])


REQUESTS: dict[str, list[tuple[str, Any]]] = {}
"""By conversations: methods and parameters, right ones and wrong."""
for row in (Path(__file__).parent / "data/mcp_requests.jsonl").read_text("utf-8").splitlines():
    about = json.loads(row)
    REQUESTS.setdefault(about["in"], []).append((about["method"], about.get("params")))
USUAL = REQUESTS.pop("usual")


def requests(asked: Sequence[tuple[str, Any]]) -> list[str]:
    values = [
        {"method": name} | ({} if params is None else {"params": params}) for name, params in asked
    ]
    return [
        json.dumps({"jsonrpc": "2.0", "id": number} | each) for number, each in enumerate(values)
    ]


@pytest.mark.parametrize("version", [*HANDSHAKE_VERSIONS, "1999-01-01", "2031-01-01"])
def test_it_answers_as_the_sdk_does(version: str, monkeypatch: pytest.MonkeyPatch):
    hello = line("initialize", "hello", **INITIALIZE | {"protocolVersion": version})
    agreed = version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
    judged((hello, HELLO[1], *requests(USUAL)), agreed, monkeypatch)


def test_so_it_does_without_a_handshake(monkeypatch: pytest.MonkeyPatch):
    given = [(method, params or {}) for method, params in USUAL]
    asked = [
        (method, params | {"_meta": ENVELOPE | (params.get("_meta") or {})})
        for method, params in given
        if isinstance(params.get("_meta") or {}, dict)
    ]
    judged(requests(asked), ENVELOPE_VERSION, monkeypatch)


@pytest.mark.parametrize("name", REQUESTS)
def test_so_it_does_for_unusual_beginnings(name: str, monkeypatch: pytest.MonkeyPatch):
    version = ENVELOPE_VERSION if "without a handshake" in name else INITIALIZE["protocolVersion"]
    judged(requests(REQUESTS[name]), version, monkeypatch)


LOADED_AT_EACH_ANSWER = """
import json, os, sys
from mdmem.mcp.server import McpServer
server = McpServer(
    None, dict(os.environ), lambda line: print(json.dumps([json.loads(line), *sys.modules]))
)
for line in sys.stdin.buffer:
    server.receive(line)
server.calls.finish(60)
"""


@pytest.mark.parametrize(
    "first", [HELLO, (line("server/discover", 1, _meta=ENVELOPE),)], ids=["handshake", "none"]
)
def test_the_tools_are_listed_before_memory_is_loaded_and_the_sdk_never_is(
    at: Desk, first: tuple[str, ...]
):
    about = {"_meta": ENVELOPE} if len(first) == 1 else {}
    get = line("tools/call", 3, name="memory_get", arguments={}, **about)
    lines = "\n".join((*first, line("tools/list", 2, **about), get))
    done = at.world.run(at.root, [sys.executable, "-c", LOADED_AT_EACH_ANSWER], stdin=lines)
    _, (listed, *early), (got, *late) = map(json.loads, done.stdout.splitlines())
    assert len(listed["result"]["tools"]) == len(TOOLS)
    assert "mdmem.mcp.door" not in early
    assert got["result"]["isError"] is False
    assert "mdmem.mcp.door" in late
    assert not {"mcp", "mcp_types", "anyio", "pydantic", "asyncio"} & set(late)


def test_a_call_without_a_handshake_is_its_clients(at: Desk):
    asked = (line("server/discover", 0, _meta=ENVELOPE), line("tools/list", 1, _meta=ENVELOPE))
    log = line("tools/call", 2, name="memory_log", arguments={"text": "it rained"}, _meta=ENVELOPE)
    assert served(at, (*asked, log))[2]["result"]["isError"] is False
    assert "Mdmem-Actor: mcp/probe\n" in at.git("log", "-1", "--format=%B")


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
    listed = [tool["name"] for tool in answers[2]["result"]["tools"]]
    assert listed == ["memory_search", "memory_get", "memory_context"]
    assert answers[3]["error"]["code"] == -32602
    assert "Stripe" in answers[4]["result"]["content"][0]["text"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_though_its_input_is_open(at: Desk, number: signal.Signals):
    with server(at) as running:
        running.process.send_signal(number)
        assert running.wait() == 130


def test_a_signal_at_the_first_call_ends_it_without_a_word(at: Desk):
    with server(at) as running:
        running.say(call(2, "memory_get"))
        running.process.send_signal(signal.SIGTERM)
        assert running.wait() == 130
        assert running.errors() == ""


def test_it_ends_when_nobody_reads_its_answers(at: Desk):
    with server(at) as running:
        assert running.process.stdout is not None
        running.process.stdout.close()
        running.say(call(2, "memory_get"))
        assert running.wait() == 0


PRINTING = """
import subprocess
from mdmem.__main__ import run
from mdmem.mcp.server import McpServer
result = McpServer._result
def printing(*about):
    print("by the server", flush=True)
    subprocess.run(["sh", "-c", "cat; echo by a child"])
    return result(*about)
McpServer._result = printing
run()
"""


def test_what_is_printed_meanwhile_is_no_answer_and_what_reads_meanwhile_reads_nothing(at: Desk):
    lines = "\n".join((*HELLO, line("ping", 2), ""))
    done = at.world.run(at.root, [sys.executable, "-c", PRINTING, "mcp"], stdin=lines)
    assert [json.loads(each)["id"] for each in done.stdout.splitlines()] == [1, 2]
    assert done.stderr.split("\n") == ["by the server", "by a child"] * 2 + [""]
