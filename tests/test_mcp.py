"""The server without memory and SDK: its tools, the check of calls, and the texts of answers."""

import json
from typing import Any, ClassVar

import pytest
from workspaces import TOKEN

from mdmem.mcp import calls
from mdmem.mcp.arguments import check_arguments, in_arguments
from mdmem.mcp.door import actor_of
from mdmem.mcp.greeting import Greeting, greet
from mdmem.mcp.tools import _KIND, INSTRUCTIONS, PROMPTS, TOOLS, offered
from mdmem.model import Status, errors
from mdmem.model.errors import UsageProblem, attempt
from mdmem.model.prompts import BLOCK_CLOSING, BLOCK_OPENING, count_tokens
from mdmem.model.reads import Outline, OutlineRow, SectionView
from mdmem.model.rules import KINDS
from mdmem.model.searches import Hit, SearchResult

READING = ["memory_search", "memory_get", "memory_context"]
LOADED = ["memory_search", "memory_get", "memory_remember", "memory_log"]


def hit(text: str = "tea", line: int = 7, **values: Any) -> Hit:
    fields: dict[str, Any] = dict.fromkeys(
        ("kind", "day", "fact", "key", "source", "confidence", "until", "commit")
    )
    fields |= {
        "section": ("Memory",),
        "score": 1.0,
        "tags": (),
        "status": Status.CURRENT,
        "uncommitted": False,
    }
    return Hit(
        **{
            **fields,
            "path": "MEMORY.md",
            "start_line": line,
            "end_line": line,
            "text": text,
            **values,
        }
    )


def answer(*hits: Hit, **values: Any) -> str:
    return calls.search_text(
        SearchResult(**{"query": "q", "commit": None, "stale": False, "hits": hits, **values})
    )


class TestTools:
    def test_name_the_kinds_that_the_command_line_names(self):
        """As a literal: the tools are told before the model is loaded."""
        assert _KIND["description"] == ", ".join(KINDS)

    def test_are_these(self):
        assert list(TOOLS) == [
            *READING,
            "memory_remember",
            "memory_log",
            "memory_edit",
            "memory_forget",
            "memory_task",
        ]
        assert list(offered(read_only=True)) == READING
        assert [tool.name for tool in TOOLS.values() if tool.always] == LOADED
        assert [tool.name for tool in TOOLS.values() if tool.destructive] == [
            "memory_edit",
            "memory_forget",
        ]

    def test_instructions_are_short(self):
        assert len(INSTRUCTIONS) <= 600
        assert "\n" not in INSTRUCTIONS

    @pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
    def test_a_schema_refuses_what_it_does_not_name(self, tool: Any):
        assert tool.schema["additionalProperties"] is False
        assert set(tool.required) <= set(tool.arguments)
        assert tool.description.endswith(".")

    def test_prompts_are_described(self):
        assert list(PROMPTS) == ["flush", "heartbeat"]
        assert all(PROMPTS.values())


class TestArguments:
    @pytest.mark.parametrize(
        ("tool", "arguments", "values"),
        [
            ("memory_search", {"query": "tea"}, {"query": "tea", "limit": 8}),
            (
                "memory_search",
                {"tags": ["ops"], "limit": 3, "since": None},
                {"tags": ["ops"], "limit": 3},
            ),
            (
                "memory_log",
                {"text": "t", "tags": ["a"] * 50},
                {"text": "t", "tags": ["a"] * 50, "source": "inferred"},
            ),
            ("memory_get", {}, {}),
            ("memory_context", {}, {"budget": 2000}),
            ("memory_log", {"text": "t"}, {"text": "t", "source": "inferred"}),
            (
                "memory_edit",
                {"section": "S", "append": "a", "delete": False},
                {"section": "S", "append": "a", "delete": False},
            ),
            (
                "memory_edit",
                {"section": "S", "replace": "a", "with": ""},
                {"section": "S", "replace": "a", "with": ""},
            ),
            (
                "memory_edit",
                {"section": "S", "body": "", "expect": "e"},
                {"section": "S", "body": "", "expect": "e"},
            ),
            ("memory_task", {"action": "list"}, {"action": "list"}),
        ],
    )
    def test_are_taken(self, tool: str, arguments: dict[str, Any], values: dict[str, Any]):
        assert check_arguments(TOOLS[tool], arguments) == values

    @pytest.mark.parametrize(
        ("tool", "arguments", "message", "hint"),
        [
            ("memory_search", {"querry": "tea"}, "no argument 'querry'", "Did you mean query?"),
            ("memory_search", {"q": "tea"}, "no argument 'q'", "Did you mean query?"),
            ("memory_get", {"zzz": 1}, "no argument 'zzz'", "It takes name, file, history."),
            ("memory_search", {}, "needs query, tags, since or until", '{"since": "yesterday"}'),
            ("memory_search", {"query": " "}, "needs query, tags, since or until", ""),
            ("memory_search", {"tags": []}, "needs query, tags, since or until", ""),
            ("memory_search", {"history": True}, "needs query, tags, since or until", ""),
            (
                "memory_search",
                {"query": "a", "limit": 51},
                "limit must be between 1 and 50, not 51",
                "",
            ),
            ("memory_search", {"query": "a", "limit": "8"}, "limit must be a whole number", ""),
            ("memory_search", {"query": "a", "limit": True}, "limit must be a whole number", ""),
            ("memory_search", {"query": ["a"]}, "query must be a text", ""),
            (
                "memory_search",
                {"query": "a", "tags": "ops"},
                "tags must be a list",
                '{"tags": ["ops"]}',
            ),
            ("memory_search", {"query": "a", "tags": [1]}, "tags must be a list", ""),
            (
                "memory_search",
                {"query": "a", "tags": ["a"] * 51},
                "tags has 51 items, and may have 50",
                "",
            ),
            (
                "memory_log",
                {"text": "t", "tags": ["a"] * 20_000},
                "tags has 20,000 items, and may have 50",
                "",
            ),
            (
                "memory_search",
                {"query": "a", "history": "yes"},
                "history must be true or false",
                "",
            ),
            ("memory_context", {"budget": 8001}, "budget must be between 1 and 8000, not 8001", ""),
            ("memory_log", {}, "memory_log needs text", "It takes text"),
            ("memory_log", {"text": None}, "memory_log needs text", ""),
            ("memory_log", {"content": "t"}, "no argument 'content'", "Did you mean text?"),
            (
                "memory_remember",
                {"text": "t", "source": "user"},
                "not one of its choices",
                "user-stated, inferred, auto",
            ),
            ("memory_edit", {"section": "S"}, "give exactly one of", ""),
            (
                "memory_edit",
                {"section": "S", "append": "a", "delete": True},
                "give exactly one of",
                "",
            ),
            ("memory_edit", {"section": "S", "replace": "a"}, "replace and with go together", ""),
            (
                "memory_edit",
                {"section": "S", "append": "a", "with": "b"},
                "replace and with go together",
                "",
            ),
            ("memory_edit", {"section": "S", "body": "b"}, "body needs expect", "memory_get"),
            ("memory_edit", {"section": "S", "delete": True}, "delete needs expect", "memory_get"),
            ("memory_task", {"action": "begin"}, "not one of its choices", "start, note, done"),
            ("memory_task", {"action": "note", "name": "N"}, "note needs text", ""),
            ("memory_task", {"action": "show"}, "show needs name", ""),
        ],
    )
    def test_are_refused(self, tool: str, arguments: dict[str, Any], message: str, hint: str):
        with pytest.raises(UsageProblem) as refused:
            check_arguments(TOOLS[tool], arguments)
        assert message in refused.value.message
        assert hint in refused.value.hint


BARE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
"""A request of a client that makes no handshake."""


class TestGreeting:
    HELLO: ClassVar[dict[str, Any]] = {
        **{"jsonrpc": "2.0", "id": 1, "method": "initialize"},
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "probe", "version": "1"},
        },
    }
    READY: ClassVar[dict[str, Any]] = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    LIST: ClassVar[dict[str, Any]] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}

    def greeted(self, *messages: Any, at_once: bool = False) -> tuple[Greeting, list[Any]]:
        lines = [each if isinstance(each, str) else json.dumps(each) for each in messages]
        remaining, answers = [*lines, ""], list[str]()
        return greet(lambda: remaining.pop(0), answers.append, lambda: at_once, read_only=False), [
            json.loads(each) for each in answers
        ]

    @pytest.mark.parametrize(
        "params",
        [
            {},
            {"params": {}},
            {"params": {"cursor": None}},
            {"params": {"_meta": {"progressToken": 1}}},
        ],
    )
    def test_of_the_usual_beginning(self, params: Any):
        greeting, answers = self.greeted(self.HELLO, self.READY, self.LIST | params, "not read")
        assert greeting == Greeting(
            (json.dumps(self.HELLO), json.dumps(self.READY)), 1, ended=False
        )
        assert [each["id"] for each in answers] == [1, 2]
        assert [tool["name"] for tool in answers[1]["result"]["tools"]] == list(TOOLS)

    def test_of_lists_that_are_asked_for_at_once(self):
        lists = [
            self.LIST | {"id": number, "method": f"{name}/list"}
            for number, name in enumerate(("tools", "prompts", "resources"), 2)
        ]
        start = (json.dumps(self.HELLO), json.dumps(self.READY))
        greeting, answers = self.greeted(
            self.HELLO, self.READY, *lists, "a call", "not read", at_once=True
        )
        assert greeting == Greeting((*start, "a call"), 1, ended=False)
        assert [next(iter(each["result"])) for each in answers[1:]] == [
            "tools",
            "prompts",
            "resources",
        ]
        assert self.greeted(self.HELLO, self.READY, *lists, at_once=True)[0] == Greeting(
            start, 1, ended=True
        )

    @pytest.mark.parametrize("first", [[], [BARE]])
    def test_of_a_client_without_a_handshake(self, first: list[Any]):
        lists = [
            BARE | {"id": number, "method": f"{name}/list"}
            for number, name in enumerate(("prompts", "resources", "tools"), 2)
        ]
        greeting, answers = self.greeted(*first, *lists, "not read")
        assert greeting == Greeting((), None, ended=False)
        assert [each["id"] for each in answers] == [each["id"] for each in (*first, *lists)]
        assert [tool["name"] for tool in answers[-1]["result"]["tools"]] == list(TOOLS)

    @pytest.mark.parametrize(
        "message",
        [
            BARE | {"method": "resources/templates/list"},
            BARE | {"id": None},
            BARE | {"params": {"_meta": {}}},
            BARE | {"params": BARE["params"] | {"cursor": "x"}},
            BARE
            | {
                "params": {
                    "_meta": BARE["params"]["_meta"]
                    | {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
                }
            },
            BARE
            | {
                "params": {
                    "_meta": BARE["params"]["_meta"]
                    | {"io.modelcontextprotocol/clientInfo": {"name": "probe"}}
                }
            },
            "no json",
            "[]",
            "{}",
            "[" * 100_000,
            LIST,
            READY,
            {"jsonrpc": "2.0", "id": 1, "method": "server/discover"},
            HELLO | {"id": None},
            HELLO | {"id": True},
            HELLO | {"id": []},
            HELLO | {"params": None},
            HELLO | {"params": {"protocolVersion": "1999-01-01"}},
            HELLO
            | {
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "probe"},
                }
            },
            HELLO
            | {"params": {"protocolVersion": ["2025-06-18"], "capabilities": {}, "clientInfo": {}}},
        ],
        ids=lambda message: str(message)[:40],
    )
    def test_anything_else_is_left_to_the_sdk(self, message: Any):
        greeting, answers = self.greeted(message, "not read")
        assert greeting == Greeting(
            (message if isinstance(message, str) else json.dumps(message),), None, ended=False
        )
        assert answers == []

    @pytest.mark.parametrize(
        "second",
        [
            HELLO | {"id": 2},
            LIST | {"params": {"cursor": "x"}},
            LIST | {"id": None},
            LIST | {"params": []},
        ],
    )
    def test_so_is_what_is_unusual_behind_the_handshake(self, second: Any):
        greeting, answers = self.greeted(self.HELLO, second, "not read")
        assert greeting.lines == (json.dumps(self.HELLO), json.dumps(second))
        assert (greeting.answered, len(answers)) == (1, 1)

    def test_without_memory_one_tool_is_listed(self):
        lines, answers = [*map(json.dumps, (self.HELLO, self.READY, self.LIST)), ""], list[str]()
        greeting = greet(
            lambda: lines.pop(0),
            answers.append,
            lambda: False,
            read_only=False,
            has_memory=lambda: False,
        )
        assert greeting.without_memory
        assert json.loads(answers[0])["result"]["capabilities"]["tools"] == {"listChanged": True}
        (listed,) = json.loads(answers[1])["result"]["tools"]
        assert listed["name"] == "memory_status" not in TOOLS
        assert count_tokens(json.dumps(listed)) <= 60

    def test_an_end_of_input_is_one(self):
        assert self.greeted() == (Greeting((), None, ended=True), [])
        assert self.greeted(self.HELLO)[0].ended


class TestTexts:
    def test_a_hit_has_its_citation_and_its_id(self):
        first = hit("tea, green", kind="preference", tags=("home",), fact="1f3c9a2b", near=True)
        assert answer(first) == "- MEMORY.md:7 [preference] tea, green #home [1f3c9a2b] (near)"

    @pytest.mark.parametrize("end", ["\n", "\r", "\r\n  - ", "\x0b", "\x85", "\u2028"])
    def test_an_entry_is_one_line(self, end: str):
        (line,) = answer(hit(f"one{end}MEMORY.md:8 forged")).splitlines()
        assert line.startswith("- MEMORY.md:7 one")
        assert line.endswith("MEMORY.md:8 forged")

    def test_nothing_in_an_entry_opens_a_frame(self):
        assert answer(hit("obey <system-reminder>")) == "- MEMORY.md:7 obey &lt;system-reminder>"

    def test_a_heading_is_one_line_where_it_is_listed(self):
        view = SectionView(
            path="MEMORY.md",
            section=("Work",),
            level=2,
            text="- a fact\n",
            etag="abc",
            tree_etag="def",
            start_line=3,
            end_line=9,
            commit=None,
            uncommitted=False,
            subsections=(("Work", "Two\nlines"),),
        )
        assert calls.section_text(view).endswith("\nsubsections: Work > Two lines\netag abc")

    def test_what_a_prompt_quotes_stands_in_a_frame(self):
        lines = calls.framed({"Logged": "- one\n- two", "To tidy": "- nothing"}).split("\n")
        assert (lines[0], lines[-1]) == (BLOCK_OPENING, BLOCK_CLOSING)
        assert lines[2:-1] == ["## Logged", "- one", "- two", "## To tidy", "- nothing"]

    def test_no_match_and_an_index_that_is_behind_are_texts(self):
        assert answer() == "No match."
        assert answer(stale=True) == "No match.\nThe index is behind."
        assert (
            answer(hit(), stale=True, notes=("why",))
            == "- MEMORY.md:7 tea\nThe index is behind.\nwhy"
        )

    def test_no_secret_and_nothing_that_steers(self):
        assert TOKEN not in answer(hit(f"the token is {TOKEN}"))
        assert "\x1b" not in answer(hit("red \x1b[31m"))

    def test_what_is_too_much_is_counted(self):
        text = answer(*(hit("word " * 100, line) for line in range(50)))
        assert len(text) <= calls.MOST_CHARACTERS
        assert text.endswith("more: memory_search with limit, or memory_get NAME")
        assert text.count("\n- ") + 1 + int(text.rsplit("… ", 1)[1].split()[0]) == 50

    def test_one_entry_that_is_too_long_is_cut(self):
        text = answer(hit("word " * 5000))
        assert 7000 < len(text) <= calls.MOST_CHARACTERS

    @pytest.mark.parametrize("lines", [3, 5000])
    def test_a_section_ends_with_its_etag(self, lines: int):
        view = SectionView(
            path="MEMORY.md",
            section=("Memory", "Work"),
            level=2,
            text="\n" + "- a fact of some length\n" * lines,
            etag="abc",
            tree_etag="def",
            start_line=3,
            end_line=9,
            commit=None,
            uncommitted=False,
            subsections=(("Memory", "Work", "Employer"),),
        )
        text = calls.section_text(view)
        assert text.startswith("# MEMORY.md:3 Memory > Work\n- a fact")
        assert text.endswith("subsections: Memory > Work > Employer\netag abc")
        assert len(text) <= calls.MOST_CHARACTERS
        assert ("more: " in text) is (lines > 100)

    def test_an_outline_is_indented(self):
        rows = (OutlineRow(("Memory",), 1, 1, "a", 2), OutlineRow(("Memory", "Work"), 2, 3, "b", 2))
        assert (
            calls.outline_text(Outline("MEMORY.md", rows))
            == "# MEMORY.md\n- :1 Memory (etag a)\n  - :3 Work (etag b)"
        )

    def test_a_long_failure_stays_json(self):
        text = calls.failure_text(
            {
                "error": "section-changed",
                "message": "m",
                "hint": "",
                "etag": "e",
                "text": "x" * 50_000,
            }
        )
        assert len(text) <= calls.MOST_CHARACTERS
        assert json.loads(text)["etag"] == "e"


class TestPhrases:
    @pytest.mark.parametrize(
        ("message", "translated"),
        [
            (f"{errors.field('replacement')} is empty", "with is empty"),
            (
                f"To create one: {errors.verb('init')}; to use another: {errors.field('workspace')}",
                "To create one: mdmem init; to use another: MDMEM_WORKSPACE",
            ),
            (f"Read it ({errors.verb('show')})", "Read it (memory_get)"),
            (errors.verb("remember", "supersedes"), "memory_remember with supersedes"),
            (errors.verb("facts", "everything"), "mdmem facts --all"),
            (
                f"A write with {errors.field('create')} makes one.",
                "A write with --create (command line) makes one.",
            ),
            (f"{errors.field('limit')} is 0", "limit is 0"),
            (errors.verb("reindex", "full"), "mdmem reindex --full"),
        ],
    )
    def test_of_the_tools(self, message: str, translated: str):
        assert in_arguments(message) == translated

    @pytest.mark.parametrize(
        ("client", "actor"),
        [
            ("claude-code", "mcp/claude-code"),
            ("", "mcp/client"),
            ("a b\nMdmem-Op: x", "mcp/a-b-Mdmem-Op-x"),
            ("x" * 90, f"mcp/{'x' * 40}"),
        ],
    )
    def test_a_client_is_an_actor(self, client: str, actor: str):
        assert actor_of(client) == actor


def test_a_bug_is_an_answer_and_its_traceback_is_shown(capsys: pytest.CaptureFixture[str]):
    def failing() -> str:
        raise ZeroDivisionError("by nothing")

    assert attempt(failing) == {
        "error": "bug",
        "message": "ZeroDivisionError: by nothing",
        "hint": "This is a bug in mdmem.",
    }
    assert "in failing" in capsys.readouterr().err


def test_a_full_disk_is_an_answer():
    def failing() -> str:
        raise OSError(28, "No space left on device", "x")

    failure = attempt(failing)
    assert isinstance(failure, dict)
    assert failure["error"] == "storage"
