"""Sessions as hosts tell their hooks of them: every field as it came in, with texts of our own.
`make test-clients` tries the hosts themselves.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from commandline import LOG, Shell
from commandline import shell as shell
from test_agenthooks import raw
from workspaces import STATE

from mdmem import agenthooks
from mdmem.context.given import read_record

SESSIONS: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("data").joinpath("agent_hooks.json").read_text()
)
CLAUDE_CODE, CODEX = SESSIONS


def kind(text: str) -> str:
    """The kind of an answer."""
    if not text:
        return "nothing"
    if "`Memory:`" in text.splitlines()[0]:
        return "request"
    answer = json.loads(text)
    assert list(answer) == ["hookSpecificOutput"], answer
    assert answer["hookSpecificOutput"]["additionalContext"].startswith("<mdmem-context>")
    return "block"


def replay(shell: Shell, name: str) -> list[tuple[str, str]]:
    """Tell the hook of each event of a session; the events, with the kind of each answer."""
    shell.git("checkout", "-q", "MEMORY.md")
    answers = []
    for event in SESSIONS[name]:
        data = (
            json.dumps(event["input"])
            .replace("FOLDER", str(shell.folder))
            .replace("HOME", str(shell.world.home))
        )
        answers.append((event["input"]["hook_event_name"], kind(raw(shell, data.encode()))))
    return answers


@pytest.mark.parametrize("name", SESSIONS)
def test_each_event_has_its_answer(shell: Shell, name: str):
    assert replay(shell, name) == [
        (event["input"]["hook_event_name"], event["answer"]) for event in SESSIONS[name]
    ]


def test_every_hook_is_among_them():
    names = {event["input"]["hook_event_name"] for events in SESSIONS.values() for event in events}
    assert set(agenthooks._HANDLERS) < names


def test_what_summaries_list_is_kept_once(shell: Shell):
    replay(shell, CLAUDE_CODE)
    log = (shell.folder / LOG).read_text()
    for text in (
        "- [decision] the wall is painted green\n",
        "- [lesson] two coats need a day between them\n",
        "the heating was mended",
    ):
        assert log.count(text) == 1
    assert "- the wall\n" not in log
    record = read_record(shell.folder / STATE, SESSIONS[CLAUDE_CODE][0]["input"]["session_id"])
    assert (record.cycle, record.before) == (2, ())


def test_a_host_that_tells_of_no_summary_has_nothing_stored(shell: Shell):
    before = shell.git("rev-parse", "HEAD")
    replay(shell, CODEX)
    assert shell.git("rev-parse", "HEAD") == before
    assert read_record(shell.folder / STATE, SESSIONS[CODEX][0]["input"]["session_id"]).cycle == 1
