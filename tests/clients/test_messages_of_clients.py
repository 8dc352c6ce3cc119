"""Transcripts that real clients write of scripted sessions: each message of the conversation is
read once, and nothing else.

What was said is held by the API's own log: a turn stands in a request, an answer was given by a
step. Resumed and forked sessions, compactions and helpers are among them. Where a client tells who
typed, only what was typed at its terminal counts as typed.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import World
from installs import CLAUDE_CODE, CODEX, GEMINI, PI, Client, install
from scripted_api import GenerateApi, Json, MessagesApi, ResponsesApi, ScriptedApi, texts
from terminals import type_lines
from trials import Trial

from mdmem.model.sessions import Message, Speaker
from mdmem.sessions.files import find_files, read_file

pytestmark = pytest.mark.clients
Make = Callable[..., Trial]


@pytest.fixture
def make(world: World, repository: Path) -> Make:
    """A client in a home and a folder of its own, without mdmem."""

    def make_trial(client: Client, **variables: str) -> Trial:
        (repository / "config.py").write_text("PORT = 'printed, never said'\n")
        return Trial(world, repository, install(client), variables)

    return make_trial


def say(words: str, used: int = 100) -> Json:
    return {"text": words, "used": used}


def read_messages(trial: Trial, client: str) -> tuple[list[Message], list[str]]:
    """The messages of all transcripts of a client, each once, and the lines that were skipped."""
    messages: dict[str, Message] = {}
    skipped: list[str] = []
    for file in find_files([client], trial.environment):
        transcript = read_file(file.path)
        assert transcript is not None
        assert transcript.client == client
        messages |= {
            message.mark: message for message in transcript.messages if message.mark not in messages
        }
        skipped += [
            f"{Path(file.path).name}:{each.line} {each.reason}" for each in transcript.skipped
        ]
    return list(messages.values()), skipped


def assert_each_is_read_once(
    api_requests: Sequence[Json],
    trial: Trial,
    client: str,
    turns: Sequence[str],
    answers: Sequence[str],
    typed: bool,
) -> None:
    """Compare what was read with what the API was sent and answered."""
    sent = "\n".join(text for request in api_requests for text in texts(request))
    assert [turn for turn in turns if turn not in sent] == [], "the client never sent a turn"
    messages, skipped = read_messages(trial, client)
    assert skipped == [], "the format has changed"
    by_speaker = {
        speaker: Counter(message.text for message in messages if message.speaker is speaker)
        for speaker in Speaker
    }
    assert by_speaker[Speaker.USER] == Counter(turns)
    assert by_speaker[Speaker.AGENT] == Counter(answers)
    assert {message.typed for message in messages if message.speaker is Speaker.USER} == {typed}


class TestClaudeCode:
    def run(
        self,
        trial: Trial,
        requests: list[Json],
        steps: Sequence[Json],
        *turns: str,
        options: Sequence[str] = (),
    ) -> str:
        """A session of these turns; its id."""
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
                *options,
            ]
            lines = trial.converse(command, turns)
        assert len(api.requests) == len(steps), "a turn was added, or one is missing"
        requests += api.requests
        return str(lines[-1]["session_id"])

    def test_each_message_once(self, make: Make):
        trial = make(
            CLAUDE_CODE,
            ANTHROPIC_API_KEY="sk-ant-none",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
        )
        requests: list[Json] = []
        helper = {
            "description": "look",
            "prompt": "helper, look at the attic",
            "subagent_type": "general-purpose",
            "run_in_background": False,
        }
        reading = {"tool": "Read", "input": {"file_path": str(trial.folder / "config.py")}}
        summary = say("<analysis>thought</analysis>\n<summary>\nsummed up\n</summary>")
        begun = self.run(
            trial,
            requests,
            [
                say("answer one"),
                reading,
                say("answer two"),
                {"tool": "Agent", "input": helper},
                say("the helper's words"),
                say("answer three"),
            ],
            *("turn one, we use the blue pump", "turn two, read it", "turn three, ask a helper"),
        )
        self.run(
            trial, requests, [say("answer four")], "turn four, resumed", options=["--resume", begun]
        )
        self.run(
            trial,
            requests,
            [say("answer five")],
            "turn five, forked",
            options=["--resume", begun, "--fork-session"],
        )
        self.run(
            trial,
            requests,
            [summary, say("answer six")],
            "/compact",
            "turn six, after it",
            options=["--resume", begun],
        )
        turns = [
            *("turn one, we use the blue pump", "turn two, read it", "turn three, ask a helper"),
            *("turn four, resumed", "turn five, forked", "turn six, after it"),
        ]
        answers = [f"answer {name}" for name in ("one", "two", "three", "four", "five", "six")]
        assert_each_is_read_once(requests, trial, "claude", turns, answers, typed=False)

    def test_what_a_person_types(self, make: Make):
        key = "sk-ant-none-0123456789abcdefghij"
        trial = make(
            CLAUDE_CODE,
            ANTHROPIC_API_KEY=key,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
            TERM="xterm-256color",
        )
        answered = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        settings = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "projects": {str(trial.folder): answered},
        }
        settings["customApiKeyResponses"] = {"approved": [key[-20:]], "rejected": []}
        (trial.world.home / ".claude.json").write_text(json.dumps(settings))
        turns = ["turn one, we use the blue pump", "turn two, I prefer tea"]
        with MessagesApi([say("answer one"), say("answer two")]) as api:
            trial.variables["ANTHROPIC_BASE_URL"] = api.address
            screen = type_lines(
                ["claude"], trial.folder, trial.environment, turns, lambda: len(api.requests)
            )
        assert len(api.requests) == len(turns), screen[-2000:]
        assert_each_is_read_once(
            api.requests, trial, "claude", turns, ["answer one", "answer two"], typed=True
        )


class TestCodex:
    MOST_TOKENS = 50_000
    SETTINGS = f"""\
model = "gpt-5"
model_provider = "scripted"
model_auto_compact_token_limit = {MOST_TOKENS}

[model_providers.scripted]
name = "scripted"
base_url = "ADDRESS"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""

    def test_each_message_once(self, make: Make):
        trial = make(CODEX, SCRIPTED_KEY="none")
        settings = trial.world.home / ".codex" / "config.toml"
        settings.parent.mkdir()
        shell = {"tool": "exec_command", "input": {"cmd": "cat config.py"}}
        steps = [
            say("answer one"),
            shell,
            say("answer two", used=self.MOST_TOKENS + 1),
            say("answer three"),
        ]
        turns = [
            "turn one, we use the blue pump",
            "turn two, read it",
            "turn three, after a compaction",
        ]
        with ResponsesApi(steps) as api:
            settings.write_text(self.SETTINGS.replace("ADDRESS", api.address))
            for number, turn in enumerate(turns):
                trial.run(
                    "codex",
                    "exec",
                    *(["resume", "--last"] if number else []),
                    "--skip-git-repo-check",
                    turn,
                )
        assert len(api.asides) == 1, "no compaction"
        assert_each_is_read_once(
            api.requests,
            trial,
            "codex",
            turns,
            ["answer one", "answer two", "answer three"],
            typed=False,
        )


class TestPi:
    def test_each_message_once(self, make: Make):
        trial = make(PI, PI_OFFLINE="1", PI_SKIP_VERSION_CHECK="1")
        reading = {"tool": "read", "input": {"path": "config.py"}}
        steps = [say("answer one"), reading, say("answer two"), say("answer three")]
        turns = ["turn one, we use the blue pump", "turn two, read it", "turn three, forked"]
        models = trial.world.home / ".pi" / "agent" / "models.json"
        models.parent.mkdir(parents=True)
        with MessagesApi(steps) as api:
            provider = {
                "baseUrl": api.address,
                "apiKey": "none",
                "api": "anthropic-messages",
                "models": [{"id": "scripted"}],
            }
            models.write_text(json.dumps({"providers": {"scripted": provider}}))
            command = ["pi", "-p", "--provider", "scripted", "--model", "scripted"]
            trial.run(*command, turns[0])
            trial.run(*command, "--continue", turns[1])
            (file,) = find_files(["openclaw"], trial.environment)
            trial.run(*command, "--fork", file.path, turns[2])
        assert_each_is_read_once(
            api.requests,
            trial,
            "openclaw",
            turns,
            ["answer one", "answer two", "answer three"],
            typed=True,
        )


class TestGemini:
    def run(self, trial: Trial, api: ScriptedApi, *words: str) -> None:
        trial.variables["GOOGLE_GEMINI_BASE_URL"] = api.address
        trial.run("gemini", "--skip-trust", "-m", "gemini-2.5-flash", "-y", *words)

    def test_each_message_once(self, make: Make):
        trial = make(GEMINI, GEMINI_API_KEY="none", GEMINI_CLI_NO_RELAUNCH="true", NO_BROWSER="1")
        settings = trial.world.home / ".gemini" / "settings.json"
        settings.parent.mkdir()
        settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
        reading = {"tool": "read_file", "input": {"file_path": "config.py"}}
        turns = ["turn one, we use the blue pump", "turn two, read it", "turn three, resumed"]
        with GenerateApi(
            [say("answer one"), reading, say("answer two"), say("answer three")]
        ) as api:
            self.run(trial, api, "-p", turns[0])
            self.run(trial, api, "-r", "latest", "-p", turns[1])
            self.run(trial, api, "-r", "latest", "-p", turns[2])
        assert_each_is_read_once(
            api.requests,
            trial,
            "gemini",
            turns,
            ["answer one", "answer two", "answer three"],
            typed=True,
        )
