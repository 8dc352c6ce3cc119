"""What each host sends to its hooks, and in which form it reads the answer."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from commandline import Shell
from commandline import shell as shell
from conftest import World
from test_agenthooks import PROGRAM, QUESTION, hook_events, raw
from workspaces import STATE

from mdmem import hook_shapes
from mdmem.context.given import read_record
from mdmem.hook_shapes import CLAUDE, HookEvent, parse_event

START, PROMPT, END = "SessionStart", "UserPromptSubmit", "SessionEnd"
TIME = "2026-03-05T09:30:00.000Z"

CURSOR = {"cursor_version": "3.1", "conversation_id": "s1", "workspace_roots": ["FOLDER", "/x"]}
CLINE = {"clineVersion": "3", "taskId": "s1", "workspaceRoots": ["FOLDER"], "timestamp": TIME}
COPILOT = {"timestamp": TIME, "cwd": "FOLDER"}
GEMINI = {"session_id": "s1", "transcript_path": "/x", "cwd": "FOLDER", "timestamp": TIME}
VSCODE = {"sessionId": "s1", "transcript_path": "/x", "cwd": "FOLDER", "timestamp": TIME}
QWEN = {"session_id": "s1", "transcript_path": "/x", "cwd": "FOLDER", "timestamp": TIME}
GOOSE = {"session_id": "s1", "working_dir": "FOLDER"}
WINDSURF = {"trajectory_id": "s1", "timestamp": TIME}
KIRO = {"cwd": "FOLDER"}

EVENTS: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "claude start": ({"hook_event_name": START, "session_id": "s1", "cwd": "FOLDER"}, START, None),
    "claude prompt": ({"hook_event_name": PROMPT, "cwd": "FOLDER", "prompt": QUESTION}, PROMPT, QUESTION),
    "codex": ({"hook_event_name": PROMPT, "session_id": "s1", "transcript_path": "/x", "cwd": "FOLDER", "prompt": QUESTION}, PROMPT, QUESTION),
    "qwen": ({**QWEN, "hook_event_name": PROMPT, "prompt": QUESTION}, PROMPT, QUESTION),
    "gemini start": ({**GEMINI, "hook_event_name": START, "source": "startup"}, START, None),
    "gemini prompt": ({**GEMINI, "hook_event_name": "BeforeAgent", "prompt": QUESTION}, PROMPT, QUESTION),
    "vscode": ({**VSCODE, "hookEventName": PROMPT, "prompt": QUESTION}, PROMPT, QUESTION),
    "copilot start": ({**COPILOT, "hook_event_name": START, "session_id": "s1", "source": "new"}, START, None),
    "copilot prompt": ({**COPILOT, "hook_event_name": PROMPT, "session_id": "s1", "prompt": QUESTION}, PROMPT, QUESTION),
    "copilot's own names": ({**COPILOT, "hook_event_name": "userPromptSubmitted", "sessionId": "s1", "prompt": QUESTION}, PROMPT, QUESTION),
    "cursor start": ({**CURSOR, "hook_event_name": "sessionStart"}, START, None),
    "cursor prompt": ({**CURSOR, "hook_event_name": "beforeSubmitPrompt", "prompt": QUESTION}, PROMPT, QUESTION),
    "cursor end": ({**CURSOR, "hook_event_name": "sessionEnd"}, END, None),
    "cline start": ({**CLINE, "hookName": "TaskStart"}, START, None),
    "cline again": ({**CLINE, "hookName": "TaskResume"}, START, None),
    "cline prompt": ({**CLINE, "hookName": PROMPT, "userPromptSubmit": {"prompt": QUESTION}}, PROMPT, QUESTION),
    "cline end": ({**CLINE, "hookName": "TaskComplete"}, END, None),
    "cline cancelled": ({**CLINE, "hookName": "TaskCancel"}, END, None),
    "kiro start": ({**KIRO, "hook_event_name": "agentSpawn"}, START, None),
    "kiro prompt": ({**KIRO, "hook_event_name": "userPromptSubmit", "prompt": QUESTION}, PROMPT, QUESTION),
    "windsurf": ({**WINDSURF, "agent_action_name": "pre_user_prompt", "tool_info": {"user_prompt": QUESTION}}, PROMPT, QUESTION),
    "goose start": ({**GOOSE, "event": START}, START, None),
    "goose prompt": ({**GOOSE, "event": PROMPT, "message": QUESTION}, PROMPT, QUESTION),
    "goose end": ({**GOOSE, "event": END}, END, None),
}  # fmt: skip


def parsed(values: dict[str, Any], argument: str | None = None) -> HookEvent:
    event = parse_event(json.dumps(values).encode(), argument)
    assert event is not None
    return event


def ask(shell: Shell, values: dict[str, Any]) -> str:
    shell.patch.chdir(shell.folder)
    return raw(shell, json.dumps(values).replace("FOLDER", str(shell.folder)).encode()).rstrip("\n")


@pytest.fixture
def at(shell: Shell) -> Shell:
    shell.git("checkout", "-q", "MEMORY.md")
    return shell


@pytest.mark.parametrize("case", EVENTS)
def test_an_event_is_read_whoever_sends_it(case: str):
    values, name, prompt = EVENTS[case]
    event = parsed(values)
    assert (event.name, event.prompt) == (name, prompt)
    has_session = any(field in values for field in hook_shapes._SESSION_FIELDS)
    assert event.session == ("s1" if has_session else None)
    assert event.folder == (None if "windsurf" in case else "FOLDER")


BLOCK = "<mdmem-context>…"
NAMED = {"hookEventName": "%", "additionalContext": BLOCK}
ANSWERS: dict[str, Any] = {
    "claude prompt": {"hookSpecificOutput": NAMED | {"hookEventName": PROMPT}},
    "gemini prompt": {"hookSpecificOutput": NAMED | {"hookEventName": "BeforeAgent"}},
    "vscode": {"hookSpecificOutput": NAMED | {"hookEventName": PROMPT}},
    "qwen": {"hookSpecificOutput": NAMED | {"hookEventName": PROMPT}},
    "copilot start": {"additionalContext": BLOCK},
    "copilot prompt": {"additionalContext": BLOCK},
    "cursor start": {"additional_context": BLOCK},
    "cline start": {"cancel": False, "contextModification": BLOCK},
    "cline prompt": {"cancel": False, "contextModification": BLOCK},
}


@pytest.mark.parametrize("case", ANSWERS)
def test_the_form_of_an_answer_has_no_key_too_many(case: str):
    assert json.loads(parsed(EVENTS[case][0]).shaped(BLOCK)) == ANSWERS[case]
    assert parsed(EVENTS[case][0]).shaped("") == ""


@pytest.mark.parametrize("case", ["kiro start", "kiro prompt"])
def test_the_form_of_kiro_is_the_text(case: str):
    assert parsed(EVENTS[case][0]).shaped(BLOCK) == BLOCK


@pytest.mark.parametrize("case", EVENTS)
def test_each_host_gets_the_block_where_it_reads_one(at: Shell, case: str):
    answer = ask(at, EVENTS[case][0])
    reads = not case.startswith(("goose", "windsurf")) and case != "cursor prompt"
    assert ("the heating was mended" in answer) == (
        reads and "end" not in case.split()[1:] and "cancelled" not in case
    )
    assert reads or answer == ""


@pytest.mark.parametrize("case", ["cursor prompt", "goose prompt", "windsurf", "goose start"])
def test_what_a_host_would_not_read_does_not_count_as_given(at: Shell, case: str):
    ask(at, EVENTS[case][0])
    assert read_record(at.folder / STATE, "s1").given == ()
    assert [name for name, _, _ in hook_events(at)] == [EVENTS[case][1]]


class TestName:
    @pytest.mark.parametrize("argument", ["sessionStart", "SessionStart", "session-start"])
    def test_is_that_of_the_argument_where_the_input_has_none(self, argument: str):
        event = parsed({"timestamp": TIME, "source": "new", "cwd": "/x"}, argument)
        assert (event.name, event.source) == (START, "startup")

    def test_of_the_input_comes_first(self):
        assert parsed({"hook_event_name": "PreCompact"}, "sessionStart").name == "PreCompact"

    @pytest.mark.parametrize("name", ["Stop", "PreCompress", "preToolUse", "x", ""])
    def test_of_no_event_of_ours(self, name: str):
        assert parsed({"hook_event_name": name}, "--later").name == ""


class TestFields:
    @pytest.mark.parametrize("roots", [[], [7], "", None, {"a": 1}])
    def test_a_folder_of_the_wrong_type_is_none(self, roots: Any):
        assert (
            parsed(CURSOR | {"hook_event_name": "sessionStart", "workspace_roots": roots}).folder
            is None
        )

    @pytest.mark.parametrize("session", ["a" * 201, "two\nlines", 7, None, " "])
    def test_a_session_that_is_no_name_is_none(self, session: Any):
        assert parsed({"hook_event_name": START, "session_id": session}).session is None

    @pytest.mark.parametrize("info", [None, "text", {"user_prompt": 7}, []])
    def test_a_prompt_of_the_wrong_type_is_none(self, info: Any):
        assert parsed({"agent_action_name": "pre_user_prompt", "tool_info": info}).prompt is None

    def test_events_of_subagents_are_none_of_ours(self):
        assert parse_event(b'{"hook_event_name": "SessionStart", "agent_id": "a1"}') is None

    def test_an_event_made_by_hand_is_in_claudes_shape(self):
        assert HookEvent(name=START).host is CLAUDE


class TestTraps:
    GIVEN = "<hook_context>&lt;mdmem-context&gt;\n- the heating was mended\n&lt;/mdmem-context&gt;</hook_context>"

    def test_gemini_tells_the_start_block_as_part_of_the_prompt(self, at: Shell):
        values = GEMINI | {"hook_event_name": "BeforeAgent"}
        assert parsed(values | {"prompt": f"{self.GIVEN}\n\n{QUESTION}"}).prompt == QUESTION
        assert parsed(values | {"prompt": self.GIVEN}).prompt is None
        assert ask(at, values | {"prompt": f"{self.GIVEN}\n\nthanks"}) == ""

    def test_gemini_compresses_every_turn(self, at: Shell):
        given = ask(at, GEMINI | {"hook_event_name": "BeforeAgent", "prompt": QUESTION})
        assert given
        assert ask(at, GEMINI | {"hook_event_name": "PreCompress", "trigger": "auto"}) == ""
        assert read_record(at.folder / STATE, "s1").cycle == 0
        assert ask(at, GEMINI | {"hook_event_name": "BeforeAgent", "prompt": QUESTION}) == ""

    @pytest.mark.parametrize("values", [COPILOT, GEMINI, QWEN])
    def test_some_do_not_keep_the_start_block(self, at: Shell, values: dict[str, Any]):
        values = values | {"hook_event_name": START, "session_id": "s1"}
        first = ask(at, values | {"source": "new"})
        assert "the heating was mended" in first
        assert ask(at, values | {"source": "resume"}) == first

    def test_goose_only_observes(self, at: Shell):
        for event in (START, PROMPT, "PreCompact", END):
            assert ask(at, GOOSE | {"event": event, "message": QUESTION}) == ""

    def test_windsurf_reads_no_answer(self, at: Shell):
        for action in ("pre_user_prompt", "post_cascade_response"):
            values = {"agent_action_name": action, "tool_info": {"user_prompt": QUESTION}}
            assert ask(at, WINDSURF | values) == ""

    @pytest.mark.parametrize("values", [COPILOT, CURSOR, CLINE])
    def test_a_compaction_is_noted_where_nothing_can_be_asked(
        self, at: Shell, values: dict[str, Any]
    ):
        assert ask(at, {"session_id": "s1", **values, "hook_event_name": "preCompact"}) == ""
        assert read_record(at.folder / STATE, "s1").head == at.git("rev-parse", "HEAD").strip()

    @pytest.mark.parametrize("values", [COPILOT, CURSOR, CLINE, KIRO])
    def test_a_notice_is_for_hosts_that_show_one(
        self, at: Shell, values: dict[str, Any], tmp_path: Path
    ):
        at.patch.setenv("MDMEM_WORKSPACE", str(tmp_path))
        name = "agentSpawn" if values is KIRO else "sessionStart"
        assert ask(at, values | {"hook_event_name": name}) == ""
        assert "systemMessage" in ask(at, GEMINI | {"hook_event_name": START})


class TestBare:
    """`mdmem` alone, by a host that lost the argument."""

    def bare(self, world: World, folder: Path, stdin: str) -> str:
        return world.run(folder, [PROGRAM], stdin=stdin).stdout

    def test_an_event_is_answered(self, world: World, at: Shell):
        event = {"hook_event_name": PROMPT, "cwd": str(at.folder), "prompt": QUESTION}
        assert "the heating was mended" in self.bare(world, at.folder, json.dumps(event))

    @pytest.mark.parametrize("name", ["Stop", "SessionStart"])
    def test_an_event_is_never_answered_by_help(self, world: World, at: Shell, name: str):
        event = {"hook_event_name": name, "agent_id": "a1" if name == START else ""}
        assert self.bare(world, at.folder, json.dumps(event)) == ""

    @pytest.mark.parametrize("stdin", ["", "text", "{}", "[1]", '{"a": 1}'])
    def test_anything_else_is_help(self, world: World, at: Shell, stdin: str):
        assert "Usage" in self.bare(world, at.folder, stdin)

    def test_an_input_that_never_ends_is_waited_for_but_shortly(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        read, write = os.pipe()
        kept = os.dup(0)
        monkeypatch.setattr(hook_shapes, "_LOST_SECONDS", 0.01)
        try:
            os.dup2(read, 0)
            assert hook_shapes.lost_input() == b""
            os.write(write, b'{"hook_event_name": "Stop"}')
            assert hook_shapes.lost_input() == b'{"hook_event_name": "Stop"}'
        finally:
            os.dup2(kept, 0)
            for number in (read, write, kept):
                os.close(number)
