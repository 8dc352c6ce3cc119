"""The hooks of an agent's host: what each event is answered with, what a compaction leaves in
memory, and that nothing stops a session.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
import session_files
from commandline import LOG, NOW, TOKEN, Shell
from commandline import shell as shell
from conftest import World
from workspaces import STATE

from mdmem import agenthooks, events
from mdmem.context.given import read_record
from mdmem.folder import files, installed
from mdmem.model.prompts import BLOCK_CLOSING, BLOCK_OPENING

PROGRAM = str(Path(sys.executable).with_name("mdmem"))
QUESTION = "when was the heating mended?"
SUMMARY = """\
1. Request: ship it.

Memory:
- [decision] ship the beta on Fridays, since the audit asks for it
- [lesson] the broker is never restarted by hand
- the heating was mended
"""
Hook = Callable[..., str]


@pytest.fixture
def hook(shell: Shell) -> Hook:
    """One event in this process: what is printed."""

    def run(name: str, **values: Any) -> str:
        data = {
            "hook_event_name": name,
            "session_id": "s1",
            "cwd": str(shell.folder),
            "transcript_path": "/nowhere",
            "later": 1,
            **values,
        }
        return raw(shell, json.dumps(data).encode())

    shell.git("checkout", "-q", "MEMORY.md")
    return run


def raw(shell: Shell, data: bytes) -> str:
    printed = BytesIO()
    out = TextIOWrapper(printed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(data)))
        patch.setattr(sys, "stdout", out)
        assert agenthooks.main() == 0
    return printed.getvalue().decode()


def block_in(text: str, name: str) -> str:
    """The block in an answer."""
    answer = json.loads(text)
    assert list(answer) == ["hookSpecificOutput"]
    assert list(answer["hookSpecificOutput"]) == ["hookEventName", "additionalContext"]
    assert answer["hookSpecificOutput"]["hookEventName"] == name
    block = answer["hookSpecificOutput"]["additionalContext"]
    assert block.startswith(BLOCK_OPENING)
    assert block.rstrip().endswith(BLOCK_CLOSING)
    return str(block)


def hook_events(shell: Shell) -> list[tuple[str, str | None, str | None]]:
    kept = [
        event for event in events.read_events(shell.folder / STATE) if event.verb == "agent-hook"
    ]
    return [
        (str((event.figures or {})["hook"]), event.outcome.value, event.session) for event in kept
    ]


class TestSessionStart:
    def test_the_user_is_told_how_much_waits(self, hook: Hook, shell: Shell):
        assert "systemMessage" not in hook("SessionStart")
        shell.run("remember", "drink: water", "--propose", "--actor", "bot")
        line = json.loads(hook("SessionStart"))["systemMessage"]
        assert line == "mdmem: 1 proposal to review: mdmem review"

    @pytest.mark.parametrize(
        "source", ["startup", "clear", "fork", "compact", "resume", "later", None]
    )
    def test_a_session_gets_its_block(self, hook: Hook, source: str | None):
        block = block_in(hook("SessionStart", source=source), "SessionStart")
        assert "the heating was mended" in block
        assert len(block) <= 9500

    def test_a_resumed_session_gets_it_again_only_if_it_differs(self, hook: Hook, shell: Shell):
        assert hook("SessionStart", source="startup")
        assert hook("SessionStart", source="resume") == ""
        shell.run("log", "--fact", "the cellar is dry")
        assert "the cellar is dry" in block_in(
            hook("SessionStart", source="resume"), "SessionStart"
        )
        assert hook("SessionStart", source="resume") == ""
        assert hook("SessionStart", source="resume", session_id="s2")

    def test_a_compaction_begins_a_new_cycle(self, hook: Hook, shell: Shell):
        assert hook("UserPromptSubmit", prompt=QUESTION)
        hook("SessionStart", source="compact")
        record = read_record(shell.folder / STATE, "s1")
        assert record.cycle == 1
        assert record.before

    def test_it_is_cut_where_a_host_would_cut_it(self, hook: Hook, shell: Shell):
        lines = "".join(f"- the {'wide ' * 30}shelf number {number}\n" for number in range(900))
        shell.write("MEMORY.md", f"# Memory\n\n{lines}")
        assert len(block_in(hook("SessionStart"), "SessionStart")) <= 9500


class TestPrompt:
    def test_what_memory_knows_is_given_once(self, hook: Hook):
        assert "the heating was mended" in block_in(
            hook("UserPromptSubmit", prompt=QUESTION), "UserPromptSubmit"
        )
        assert hook("UserPromptSubmit", prompt=QUESTION) == ""
        assert hook("UserPromptSubmit", prompt=QUESTION, session_id="s2")

    @pytest.mark.parametrize(
        "prompt",
        [
            *(
                "thanks, go on",
                "/compact now",
                "",
                "   ",
                None,
                7,
                ["when was the heating mended?"],
            ),
            *(
                f"<task-notification>{QUESTION}",
                f"Stop hook feedback: {QUESTION}",
                f"<local-command-stdout>{QUESTION}",
            ),
        ],
    )
    def test_what_needs_no_memory_or_was_typed_by_nobody_gets_none(self, hook: Hook, prompt: Any):
        assert hook("UserPromptSubmit", prompt=prompt) == ""

    @pytest.mark.parametrize("client", session_files.WRITERS)
    @pytest.mark.parametrize("is_written_first", [False, True])
    def test_a_follow_up_is_asked_with_the_message_before(
        self, hook: Hook, tmp_path: Path, client: str, is_written_first: bool
    ):
        prompt = "and who did it?"
        assert hook("UserPromptSubmit", prompt=prompt) == ""
        said = [QUESTION, "agent: I do not know.", *([prompt] if is_written_first else [])]
        transcript = session_files.WRITERS[client](tmp_path, *said)
        block = hook("UserPromptSubmit", prompt=prompt, transcript_path=str(transcript))
        assert "the heating was mended" in block_in(block, "UserPromptSubmit")

    @pytest.mark.parametrize("prompt", ["thanks", "yes", "ok, perfect"])
    def test_an_answer_to_the_agent_is_not(self, hook: Hook, tmp_path: Path, prompt: str):
        transcript = session_files.claude(tmp_path, QUESTION, "agent: Yesterday.")
        assert hook("UserPromptSubmit", prompt=prompt, transcript_path=str(transcript)) == ""

    @pytest.mark.parametrize("text", ["", "no JSON\n" * 30, None])
    def test_a_transcript_that_cannot_be_read(self, hook: Hook, tmp_path: Path, text: str | None):
        path = tmp_path / "session.jsonl"
        if text is None:
            os.mkfifo(path)
        else:
            path.write_text(text)
        assert hook("UserPromptSubmit", prompt="mended heating", transcript_path=str(path))
        assert hook("UserPromptSubmit", prompt="and who?", transcript_path=str(path)) == ""

    def test_a_prompt_is_not_stored(self, hook: Hook, shell: Shell):
        before = shell.snapshot()
        hook("UserPromptSubmit", prompt=f"remember zebra: {QUESTION}")
        assert shell.snapshot() == before
        assert all(
            "zebra" not in path.read_text(errors="replace")
            for path in (shell.folder / STATE).glob("*.jsonl")
        )

    def test_a_long_prompt(self, hook: Hook):
        assert hook("UserPromptSubmit", prompt=f"{QUESTION} {'x ' * 500_000}") is not None

    def test_a_secret_is_not_shown(self, hook: Hook, shell: Shell):
        shell.write(LOG, f"# 2026-03-05\n\n## 09:00\n\n- the token of the heating is {TOKEN}\n")
        block = block_in(
            hook("UserPromptSubmit", prompt="what is the token of the heating?"), "UserPromptSubmit"
        )
        assert "[REDACTED:" in block
        assert TOKEN not in block

    def test_nor_in_the_line_on_a_failure(self, hook: Hook, shell: Shell):
        shell.write("mdmem.toml", f'log_queries = "{TOKEN}"\n')
        line = json.loads(hook("SessionStart"))["systemMessage"]
        assert "log_queries" in line
        assert TOKEN not in line


class TestCompaction:
    def test_before_it_the_host_is_asked_for_a_list(self, hook: Hook, shell: Shell):
        text = hook("PreCompact", trigger="manual", custom_instructions="")
        assert text == installed.template("compact.md")
        assert (
            read_record(shell.folder / STATE, "s1").head == shell.git("rev-parse", "HEAD").strip()
        )

    def test_what_the_summary_lists_is_one_change(self, hook: Hook, shell: Shell):
        count = int(shell.git("rev-list", "--count", "HEAD"))
        assert hook("PostCompact", trigger="auto", compact_summary=SUMMARY) == ""
        assert int(shell.git("rev-list", "--count", "HEAD")) == count + 1
        log = (shell.folder / LOG).read_text()
        assert log.endswith(
            "## 09:30\n\n- [decision] ship the beta on Fridays, since the audit asks for it\n- [lesson] the broker is never restarted by hand\n"
        )
        assert log.count("the heating was mended") == 1
        message = shell.git("log", "-1", "--format=%B")
        for trailer in ("Op: log", "Source: auto", "Actor: agent-hook", "Session: s1"):
            assert f"Mdmem-{trailer}\n" in message

    def test_each_line_is_a_fact_of_source_auto(self, hook: Hook, shell: Shell):
        hook("PostCompact", compact_summary=SUMMARY)
        facts = shell.run("facts", "--json").answer["facts"]
        facts = [fact for fact in facts if fact["source"] == "auto"]
        assert sorted(fact["kind"] for fact in facts) == ["decision", "lesson"]

    def test_the_same_summary_again_changes_nothing(self, hook: Hook, shell: Shell):
        hook("PostCompact", compact_summary=SUMMARY)
        before = shell.snapshot()
        hook("PostCompact", compact_summary=SUMMARY)
        hook("PostCompact", compact_summary=SUMMARY, session_id="s2")
        assert shell.snapshot() == before

    def test_three_in_a_row(self, hook: Hook, shell: Shell):
        texts = [f"the {name} is painted green" for name in ("fence", "gate", "shed")]
        for number, text in enumerate(texts):
            block = block_in(
                hook("SessionStart", source="compact" if number else "startup"), "SessionStart"
            )
            hook("PreCompact", trigger="auto")
            hook(
                "PostCompact",
                compact_summary=f"Given was:\n{block}\n\nMemory:\n- the heating was mended\n- [fact] {text}\n",
            )
        log = (shell.folder / LOG).read_text()
        assert [log.count(text) for text in texts] == [1, 1, 1]
        assert log.count("the heating was mended") == 1
        assert "mdmem-context" not in log
        assert read_record(shell.folder / STATE, "s1").cycle == 2

    def test_what_the_session_was_given_is_no_news(self, hook: Hook, shell: Shell):
        hook("SessionStart")
        before = shell.snapshot()
        hook(
            "PostCompact",
            compact_summary=f"Memory:\n{BLOCK_OPENING}\n- invented\n{BLOCK_CLOSING}\n- the heating was mended\n",
        )
        hook("PostCompact", compact_summary=f"Memory:\n{BLOCK_OPENING}\n- invented\n")
        assert shell.snapshot() == before

    def test_a_line_with_a_secret_is_left_out(self, hook: Hook, shell: Shell):
        hook(
            "PostCompact",
            compact_summary=f"Memory:\n- the token of the relay is {TOKEN}\n- the heating was mended\n",
        )
        log = (shell.folder / LOG).read_text()
        assert "the heating was mended" in log
        assert "relay" not in log

    @pytest.mark.parametrize("summary", [None, 7, "", "no list", "Memory: none"])
    def test_nothing_to_keep(self, hook: Hook, shell: Shell, summary: Any):
        before = shell.snapshot()
        assert hook("PostCompact", compact_summary=summary) == ""
        assert shell.snapshot() == before


class TestSilence:
    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"no json",
            b"[]",
            b'{"hook_event_name": 7}',
            b"{}",
            b'{"hook_event_name": "Stop"}',
            b"\xff" * 9,
            b"[" * 100_000,
            b'{"hook_event_name": "UserPromptSubmit", "prompt": "%s"}' % (b"x" * 20_000_000),
        ],
    )
    def test_what_is_no_event_of_ours(self, shell: Shell, data: bytes):
        assert raw(shell, data) == ""
        assert hook_events(shell) == [("unknown", "done", None)]

    def test_an_event_of_a_subagent(self, shell: Shell):
        assert raw(shell, b'{"hook_event_name": "SessionStart", "agent_id": "a1"}') == ""
        assert hook_events(shell) == []

    def test_what_is_no_event_of_ours_where_there_is_no_memory(self, shell: Shell, tmp_path: Path):
        shell.patch.chdir(tmp_path)
        assert raw(shell, b"no json") == ""

    def test_switched_off_for_a_session(self, hook: Hook, shell: Shell):
        shell.patch.setenv("MDMEM_CONTEXT", "off")
        for name in ("SessionStart", "UserPromptSubmit", "PreCompact", "PostCompact"):
            assert hook(name, prompt=QUESTION, compact_summary=SUMMARY) == ""
        assert hook_events(shell) == []

    def test_switched_off_in_the_settings(self, hook: Hook, shell: Shell):
        shell.write("mdmem.toml", 'context = "off"\n')
        assert [
            hook(name, prompt=QUESTION)
            for name in ("SessionStart", "UserPromptSubmit", "PreCompact")
        ] == ["", "", ""]

    def test_no_workspace(self, hook: Hook, shell: Shell, tmp_path: Path):
        shell.patch.chdir(tmp_path)
        assert hook("SessionStart", cwd=str(tmp_path)) == ""

    def test_each_hook_is_an_event(self, hook: Hook, shell: Shell):
        hook("SessionStart")
        hook("UserPromptSubmit", prompt="thanks")
        assert hook_events(shell) == [
            ("SessionStart", "done", "s1"),
            ("UserPromptSubmit", "done", "s1"),
        ]


class TestWorkspace:
    @pytest.fixture
    def bare(self, shell: Shell, tmp_path: Path) -> Path:
        """A folder in no workspace, where the process is."""
        folder = tmp_path / "bare"
        folder.mkdir()
        shell.patch.chdir(folder)
        return folder

    def test_the_one_that_is_named(self, hook: Hook, shell: Shell, bare: Path):
        shell.patch.setenv("MDMEM_WORKSPACE", str(shell.folder))
        assert hook("SessionStart", cwd=str(bare))

    def test_that_of_the_project_and_below(self, hook: Hook, shell: Shell, bare: Path):
        shell.patch.setenv("CLAUDE_PROJECT_DIR", str(shell.folder / "memory"))
        assert hook("SessionStart", cwd=str(bare))

    def test_a_variable_that_was_not_filled_in_is_none(self, hook: Hook, shell: Shell, bare: Path):
        shell.patch.setenv("MDMEM_WORKSPACE", "${CLAUDE_PROJECT_DIR}")
        assert hook("SessionStart", cwd=str(shell.folder))
        assert hook("SessionStart", cwd=str(bare)) == ""

    def test_the_users_own(self, hook: Hook, shell: Shell, bare: Path):
        own = shell.world.home / ".config" / "mdmem" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'workspace = "{shell.folder}"\n')
        assert hook("SessionStart", cwd=str(bare))
        assert "the heating" in shell.run("search", "heating").out

    def test_one_that_is_none_is_told_at_the_start_alone(
        self, hook: Hook, shell: Shell, bare: Path
    ):
        shell.patch.setenv("MDMEM_WORKSPACE", str(bare))
        answer = json.loads(hook("SessionStart"))
        assert list(answer) == ["systemMessage"]
        assert "is not a workspace" in answer["systemMessage"]
        assert "\n" not in answer["systemMessage"]
        assert hook("UserPromptSubmit", prompt=QUESTION) == ""


class TestFailures:
    def test_broken_settings(self, hook: Hook, shell: Shell):
        shell.write("mdmem.toml", "contex = 1\n")
        assert "Did you mean context?" in json.loads(hook("SessionStart"))["systemMessage"]
        assert [
            hook(name, prompt=QUESTION, compact_summary=SUMMARY)
            for name in ("UserPromptSubmit", "PreCompact", "PostCompact")
        ] == [""] * 3

    def test_a_bug(self, hook: Hook, shell: Shell):
        def fail(*_: Any) -> None:
            raise ZeroDivisionError

        hook("SessionStart")
        shell.patch.setattr("mdmem.memory.contexts.give_context", fail)
        assert "ZeroDivisionError" in json.loads(hook("SessionStart"))["systemMessage"]
        assert hook("UserPromptSubmit", prompt=QUESTION) == ""
        assert [outcome for _, outcome, _ in hook_events(shell)[1:]] == ["bug", "bug"]

    def test_a_deadline(self, hook: Hook, shell: Shell):
        def wait(*_: Any) -> None:
            threading.Event().wait(60)

        hook("SessionStart")
        shell.patch.setattr("mdmem.memory.contexts.give_context", wait)
        shell.patch.setattr(
            agenthooks, "_TIME_LIMITS", {"SessionStart": 0.05, "UserPromptSubmit": 0.05}
        )
        assert "not ready" in json.loads(hook("SessionStart"))["systemMessage"]
        assert hook("UserPromptSubmit", prompt=QUESTION) == ""
        assert [outcome for _, outcome, _ in hook_events(shell)[1:]] == ["failed", "failed"]

    def test_a_lock_that_is_held(self, hook: Hook, shell: Shell):
        shell.patch.setattr(agenthooks, "_TIME_LIMITS", {"UserPromptSubmit": 0.3})
        state = shell.folder / STATE
        hook("SessionStart")
        with files.lock(state / files.LOCK_NAME, 1), files.lock(state / files.INDEX_LOCK, 1):
            assert "the heating" in block_in(
                hook("UserPromptSubmit", prompt=QUESTION, session_id="s2"), "UserPromptSubmit"
            )

    def test_a_log_that_cannot_be_written(self, hook: Hook, shell: Shell):
        shell.write(LOG, "# 2026-03-05\n\n```\nopen\n")
        assert hook("PostCompact", compact_summary=SUMMARY) == ""
        assert hook_events(shell)[-1][1] == "refused"


class TestProcess:
    @pytest.mark.parametrize("words", [(), ("--later",), ("more", "words")])
    def test_whatever_stands_behind_it(self, world: World, shell: Shell, words: tuple[str, ...]):
        event = json.dumps({"hook_event_name": "PreCompact", "cwd": str(shell.folder)})
        done = world.run(
            shell.folder,
            [PROGRAM, "agent-hook", *words],
            stdin=event,
            environment={"MDMEM_NOW": NOW},
        )
        assert done.stdout == installed.template("compact.md")
        assert done.stderr == ""

    @pytest.mark.parametrize("sink", ["> /dev/full", ">&-", "| true"])
    def test_an_answer_that_nobody_takes(self, world: World, shell: Shell, sink: str):
        script = f'{{ "$0" agent-hook; echo $? > status; }} {sink}'
        done = world.run(
            shell.folder,
            ["sh", "-c", script, PROGRAM],
            stdin=json.dumps({"hook_event_name": "PreCompact"}),
        )
        assert done.stderr == ""
        assert (shell.folder / "status").read_text() == "0\n"

    def test_help(self, world: World, shell: Shell):
        assert (
            "MDMEM_CONTEXT=off" in world.run(shell.folder, [PROGRAM, "agent-hook", "--help"]).stdout
        )


def test_what_git_starts_is_silent(hook: Hook, shell: Shell):
    shell.hook("post-commit", 'echo "$MDMEM_CONTEXT" > heard')
    hook("PostCompact", compact_summary=SUMMARY)
    assert (shell.folder / "heard").read_text() == "off\n"
