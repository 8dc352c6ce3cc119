"""Claude Code with the plugin: asserted is what the model would have been sent, and what became of
memory.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from installs import CLAUDE_CODE, install
from scripted_api import Json, MessagesApi, blocks, texts, tool_names
from trials import BOILER, QUESTION, TODAY, Trial, make_trial

from mdmem.folder import installed
from mdmem.mcp.tools import TOOLS

pytestmark = pytest.mark.clients
SERVER = "mcp__plugin_mdmem_mdmem"
MOST_ALWAYS_ON_TOKENS = 60
ASKED = " ".join(installed.template("compact.md").split())
"""The request for the summary of a compaction."""
WINDOW = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000"}
NEARLY_FULL = 199_000


@pytest.fixture(scope="module")
def programs() -> Path:
    return install(CLAUDE_CODE)


@pytest.fixture
def bare(world: World, repository: Path, programs: Path) -> Trial:
    """Claude Code and a memory that do not know of each other."""
    variables = {
        "ANTHROPIC_API_KEY": "sk-ant-none",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",  # nobody is there
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    return make_trial(world, repository, programs, variables)


@pytest.fixture
def trial(bare: Trial) -> Trial:
    """With the plugin, as a user installs it."""
    folder = bare.run("mdmem", "plugin").strip()
    bare.run("claude", "plugin", "marketplace", "add", folder)
    bare.run("claude", "plugin", "install", "mdmem@mdmem")
    return bare


@dataclass(frozen=True)
class Session:
    """A session as seen from both of its ends."""

    requests: list[Json]
    lines: list[Json]

    @property
    def id(self) -> str:
        return str(self.lines[-1]["session_id"])

    @property
    def triggers(self) -> list[str]:
        """Of its compactions."""
        return [
            each["compact_metadata"]["trigger"]
            for each in self.lines
            if each.get("subtype") == "compact_boundary"
        ]


def talk(trial: Trial, steps: Sequence[Json], *turns: str, resume: str | None = None) -> Session:
    """A session of these turns; each step is one request, and there are no others."""
    with MessagesApi(steps) as api:
        trial.variables["ANTHROPIC_BASE_URL"] = api.address
        command = [
            "claude",
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
        ]
        options = ["--allowedTools", SERVER, *(["--resume", resume] if resume else [])]
        lines = trial.converse([*command, *options], turns)
    session = Session(api.requests, lines)
    assert len(session.requests) == len(steps), "a turn was added, or one is missing"
    return session


def say(words: str, **values: Any) -> Json:
    return {"text": words, **values}


def call(tool: str, **arguments: Any) -> Json:
    return {"tool": f"{SERVER}__{tool}", "input": arguments}


def summary(*lines: str) -> Json:
    """The model's answer to a compaction."""
    items = "".join(f"- {line}\n" for line in lines)
    return say(
        f"<analysis>thought</analysis>\n<summary>\n1. Request: paint.\n\nMemory:\n{items}</summary>"
    )


def results(body: Json) -> list[str]:
    """The results of tools in a request."""
    outputs = []
    for message in body["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else []:
            if part["type"] == "tool_result":
                content = part["content"]
                outputs.append(
                    content
                    if isinstance(content, str)
                    else "\n".join(each["text"] for each in content)
                )
    return outputs


class TestPlugin:
    def test_it_is_valid(self, bare: Trial):
        folder = bare.run("mdmem", "plugin").strip()
        for each in (folder, f"{folder}/mdmem"):
            assert "Validation passed" in bare.run("claude", "plugin", "validate", "--strict", each)

    def test_it_meets_the_directory(self, bare: Trial):
        if "--profile" not in bare.run("claude", "plugin", "validate", "--help"):
            pytest.skip("this version has no --profile")
        folder = bare.run("mdmem", "plugin").strip()
        assert "Validation passed" in bare.run(
            "claude", "plugin", "validate", "--profile", "directory", f"{folder}/mdmem"
        )

    def test_what_it_costs_always(self, trial: Trial):
        details = trial.run("claude", "plugin", "details", "mdmem")
        tokens = re.search(r"Always-on:\s+~(\d+) tok", details)
        assert tokens is not None, details
        assert int(tokens[1]) <= MOST_ALWAYS_ON_TOKENS
        assert re.search(r"Hooks \(\d+\).*PostCompact.*\n\s*MCP servers \(1\)", details)


def test_a_project_with_memory_outside(trial: Trial, tmp_path: Path):
    """One memory on two branches in two work trees, and nothing of the project is touched."""
    first, second = tmp_path / "app", tmp_path / "app-fix"
    for words in (
        ("init", "-q", first),
        ("-C", first, "commit", "-q", "--allow-empty", "-m", "code"),
        ("-C", first, "worktree", "add", "-q", "-b", "fix", second),
    ):
        trial.run("git", "-c", "user.name=Ada", "-c", "user.email=a@b.test", *map(str, words))
    trial.run("mdmem", "-C", str(first), "init", "--outside")
    for folder, text in ((first, "the pump is blue"), (second, "the gate is red")):
        here = replace(trial, folder=folder)
        talk(here, [call("memory_log", text=text), say("done")], "remember it")
    for folder in (first, second):
        session = talk(replace(trial, folder=folder), [say("hello")], "hello")
        (block,) = blocks(session.requests[0])
        assert "the pump is blue" in block
        assert "the gate is red" in block
        assert "porridge" not in block
        assert trial.run("git", "-C", str(folder), "status", "--porcelain") == ""
    assert len(trial.run("git", "-C", str(first), "log", "--all", "--oneline").splitlines()) == 1


class TestSession:
    def test_start_and_prompts(self, trial: Trial):
        session = talk(
            trial,
            [say("hello"), say("Nansen"), say("fine"), say("yes")],
            "hello",
            QUESTION,
            "thanks, go on",
            QUESTION,
        )
        start, block = blocks(session.requests[-1])
        assert "breakfast: porridge and coffee" in start
        assert "the heating was mended" in start
        assert BOILER not in start
        assert BOILER in block
        assert [blocks(request) for request in session.requests] == [
            [start],
            [start, block],
            [start, block],
            [start, block],
        ]

    def test_tools_that_are_used_at_once_are_there_in_the_first_request(self, trial: Trial):
        session = talk(trial, [say("hello")], "hello")
        names = set(tool_names(session.requests[0]))
        assert {f"{SERVER}__{name}" for name, tool in TOOLS.items() if tool.always} <= names
        if "ToolSearch" in names:  # by which the others are found
            assert (
                not {f"{SERVER}__{name}" for name, tool in TOOLS.items() if not tool.always} & names
            )

    def test_search_and_write_by_tool(self, trial: Trial):
        log = call("memory_log", text="the roof was swept", kind="fact", tags=["house"])
        session = talk(
            trial, [call("memory_search", query="boiler serviced"), log, say("done")], "look it up"
        )
        searched, logged = results(session.requests[-1])
        assert f"- memory/2025-11-11.md:5 [fact] {BOILER}" in searched
        assert '"changed": true' in logged
        assert "- [fact] the roof was swept #house\n" in trial.read(TODAY)
        message = trial.git("log", "-1", "--format=%B")
        assert "Mdmem-Op: log\n" in message
        assert "Mdmem-Actor: mcp/claude-code\n" in message

    def test_a_resumed_one_gets_its_block_again_only_if_it_differs(self, trial: Trial):
        first = talk(trial, [say("hello")], "hello")
        (start,) = blocks(first.requests[0])
        second = talk(trial, [say("again")], "again", resume=first.id)
        assert blocks(second.requests[0]) == [start]
        trial.run("mdmem", "log", "--fact", "the cellar is dry")
        third = talk(trial, [say("and again")], "and again", resume=first.id)
        assert blocks(third.requests[0])[0] == start
        assert ["the cellar is dry" in block for block in blocks(third.requests[0])] == [
            False,
            True,
        ]

    def test_helpers_of_the_client_get_none(self, trial: Trial):
        helper = {
            "description": "look",
            "prompt": QUESTION,
            "subagent_type": "general-purpose",
            "run_in_background": False,
        }
        session = talk(
            trial, [{"tool": "Agent", "input": helper}, say("looked"), say("done")], "ask a helper"
        )
        assert QUESTION in "\n".join(texts(session.requests[1]))
        assert [len(blocks(request)) for request in session.requests] == [1, 0, 1]


class TestCompaction:
    def test_three_in_a_row(self, trial: Trial):
        kept = [
            "[decision] the beta ships on Fridays",
            "[lesson] the broker is restarted by nobody",
            "[preference] tea after four",
        ]
        steps = [
            *(
                say("hello"),
                say("painted", used=NEARLY_FULL),
                summary(kept[0], "the heating was mended"),
            ),
            *(
                say("mixed"),
                say("dried", used=NEARLY_FULL),
                summary(kept[0], kept[1], "breakfast: porridge and coffee"),
            ),
            *(say("opened"), summary(*kept)),
            say("done"),
        ]
        trial.variables |= WINDOW
        session = talk(
            trial,
            steps,
            "hello",
            "go on",
            "yes please",
            "ok, go on",
            "sounds good",
            "/compact",
            "and now?",
        )
        assert session.triggers == ["auto", "auto", "manual"]
        log = trial.read(TODAY)
        assert [log.count(f"- {line}\n") for line in kept] == [1, 1, 1]
        assert "the heating" not in log
        assert "porridge" not in log
        assert "mdmem-context" not in log
        messages = trial.git("log", "-3", "--format=%B%x00").split("\0")[:3]
        for message in messages:
            for trailer in (
                "Op: log",
                "Source: auto",
                "Actor: agent/claude-code",
                f"Session: {session.id}",
            ):
                assert f"Mdmem-{trailer}\n" in message
        for request in (session.requests[number] for number in (2, 5, 7)):
            assert ASKED in " ".join(" ".join(texts(request)).split())
        assert [len(blocks(request)) for request in session.requests] == [1] * 9
        assert trial.git("status", "--porcelain") == ""

    def test_the_block_after_it_holds_what_came_in_since(self, trial: Trial):
        steps = [
            say("hello"),
            say("Nansen"),
            summary("[fact] the wall is dry"),
            say("yes"),
            say("again"),
            say("more"),
        ]
        session = talk(trial, steps, "hello", QUESTION, "/compact", "and now?", QUESTION, "thanks")
        start, block = blocks(session.requests[-1])
        assert "the heating was mended" in start
        assert BOILER in block


class TestSilence:
    def test_switched_off(self, trial: Trial):
        trial.variables["MDMEM_CONTEXT"] = "off"
        before = trial.git("rev-parse", "HEAD")
        session = talk(
            trial,
            [say("hello"), say("Nansen"), summary("[fact] the wall is dry"), say("yes")],
            "hello",
            QUESTION,
            "/compact",
            "go",
        )
        assert [blocks(request) for request in session.requests] == [[], [], [], []]
        assert ASKED not in " ".join("\n".join(texts(session.requests[2])).split())
        assert trial.git("rev-parse", "HEAD") == before

    def test_no_workspace(self, trial: Trial, tmp_path: Path):
        trial.folder = tmp_path / "elsewhere"
        trial.folder.mkdir()
        session = talk(trial, [call("memory_status"), say("none")], "hello")
        assert blocks(session.requests[1]) == []
        assert '"error": "no-workspace"' in results(session.requests[1])[0]

    def test_broken_settings_are_told_once_and_stop_nothing(self, trial: Trial):
        (trial.folder / "mdmem.toml").write_text("contex = 1\n")
        steps = [say("hello"), say("Nansen"), summary("[fact] the wall is dry"), say("yes")]
        session = talk(trial, steps, "hello", QUESTION, "/compact", "go on")
        assert [blocks(request) for request in session.requests] == [[], [], [], []]
        assert session.lines[-1]["is_error"] is False

    @pytest.mark.parametrize("program", ["exit 1", "echo '{'; exit 0", "kill -9 $$"])
    def test_a_broken_program(self, trial: Trial, program: str, tmp_path: Path):
        broken = tmp_path / "broken" / "mdmem"
        broken.parent.mkdir()
        broken.write_text(f"#!/bin/sh\n{program}\n")
        broken.chmod(0o755)
        trial.variables["PATH"] = f"{broken.parent}:{trial.environment['PATH']}"
        session = talk(trial, [say("hello"), say("Nansen")], "hello", QUESTION)
        assert session.lines[-1]["result"] == "Nansen"
