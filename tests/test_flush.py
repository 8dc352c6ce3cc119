"""`flush`: the rule, once a cycle, the prompts."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from commandline import LOG, Shell
from commandline import shell as shell
from session_files import named
from workspaces import STATE, where_modes_count

from mdmem.memory import Memory
from mdmem.model.prompts import Flush

FAR = ("--window", "200000", "--tokens", "176000", "--cycle", "0")


@pytest.mark.parametrize(
    ("request_", "flushed", "due"),
    [
        (Flush(window=200_000, tokens=175_999, cycle=0), None, False),
        (Flush(window=200_000, tokens=176_000, cycle=0), None, True),
        (Flush(window=200_000, tokens=176_000, cycle=0), 0, False),
        (Flush(window=200_000, tokens=176_000, cycle=1), 0, True),
        (Flush(window=200_000, tokens=170_000, cycle=0, reserve=26_000), None, True),
        (Flush(window=200_000, tokens=180_000, cycle=0, soft=0), None, True),
        (Flush(window=24_000, tokens=24_000, cycle=0), None, False),
        (Flush(window=10_000, tokens=10_000, cycle=0), None, False),
    ],
)
def test_the_rule(request_: Flush, flushed: int | None, due: bool):
    assert request_.is_due(request_.tokens or 0, request_.cycle or 0, flushed) is due


class TestCommand:
    def test_due_once_a_cycle(self, shell: Shell):
        answer = shell.run("flush", *FAR, "--json").answer
        assert list(answer) == ["system", "user", "day", "path"]
        assert (answer["day"], answer["path"]) == ("2026-03-05", LOG)
        assert LOG in answer["user"]
        assert "mdmem log" in answer["user"]
        assert "memory_log" in answer["user"]
        assert "NO_REPLY" in answer["user"]
        assert shell.run("flush", *FAR).out == ""
        assert shell.run("flush", *FAR, "--json").answer == {
            "due": False,
            "tokens": 176000,
            "threshold": 176000,
            "cycle": 0,
            "flushed": 0,
        }
        assert "day's log" in shell.run("flush", *FAR[:-1], "1").out

    def test_check_marks_nothing(self, shell: Shell):
        for _ in range(2):
            answer = shell.run("flush", *FAR, "--check", "--json").answer
            assert answer == {
                "due": True,
                "tokens": 176000,
                "threshold": 176000,
                "cycle": 0,
                "flushed": None,
            }
        assert (
            shell.run("flush", *FAR, "--check").out
            == "due: 176000 tokens of 176000, cycle 0, never flushed\n"
        )

    def test_sessions_do_not_meet(self, shell: Shell):
        assert shell.run("flush", *FAR, "--session", "a").out
        assert shell.run("flush", *FAR, "--session", "b").out
        assert not shell.run("flush", *FAR, "--session", "a").out

    def test_settings_and_silent_word(self, shell: Shell):
        prompt = 'flush_prompt = """Write to {path} on {day}.\nElse say {silent}."""'
        named(shell.world.home, prompt, 'flush_system = "Hurry."')
        assert (
            shell.run("flush", *FAR, "--silent", "PASS").out
            == f"Hurry.\n\nWrite to {LOG} on 2026-03-05.\nElse say PASS.\n"
        )

    def test_a_transcript_tells_both_figures(self, shell: Shell):
        usage = {
            "input_tokens": 5,
            "cache_read_input_tokens": 180_000,
            "cache_creation_input_tokens": 0,
            "output_tokens": 1,
        }
        lines = [
            {"type": "user", "sessionId": "5a", "message": {"role": "user", "content": "hello"}},
            {"type": "system", "subtype": "compact_boundary", "sessionId": "5a"},
            {
                "type": "assistant",
                "sessionId": "5a",
                "message": {"role": "assistant", "usage": usage},
            },
        ]
        path = shell.write("session.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        answer = shell.run(
            "flush", "--transcript", str(path), "--window", "200000", "--check", "--json"
        ).answer
        assert answer == {
            "due": True,
            "tokens": 180_006,
            "threshold": 176_000,
            "cycle": 1,
            "flushed": None,
        }
        assert shell.run("flush", "--transcript", str(path), "--window", "200000").out
        assert not shell.run("flush", "--transcript", str(path), "--window", "200000").out

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (("--window", "9"), "usage"),
            (("--window", "9", "--tokens", "9"), "usage"),
            (("--window", "9", "--cycle", "9"), "usage"),
            (("--window", "0", "--tokens", "9", "--cycle", "9"), "usage"),
            (("--window", "9", "--tokens", "-1", "--cycle", "9"), "usage"),
            ((*FAR, "--transcript", "x"), "usage"),
            (("--window", "9", "--transcript", "nowhere.jsonl"), "file-not-found"),
            ((*FAR, "--silent", ""), "usage"),
        ],
    )
    def test_refused(self, shell: Shell, words: tuple[str, ...], code: str):
        done = shell.run("flush", *words, "--json")
        assert json.loads(done.err)["error"] == code


def test_of_several_callers_one_gets_it(shell: Shell):
    opened = Memory.open(shell.folder, os.environ)
    request = Flush(window=200_000, tokens=190_000, cycle=3)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: opened.flush(request), range(16)))
    assert sum(result.prompts is not None for result in results) == 1
    opened.close()


@where_modes_count
@pytest.mark.parametrize("path", [LOG, "memory", str(STATE)])
def test_never_due_where_nothing_can_be_written(shell: Shell, path: str):
    shell.run("reindex")
    (shell.folder / path).chmod(0o500)
    try:
        assert shell.run("flush", *FAR).out == ""
    finally:
        (shell.folder / path).chmod(0o700)
