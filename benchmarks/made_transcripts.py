"""Transcripts for benchmarks, of invented talk and the same at every run: sessions with tools, in
the shapes of two clients.

Talk is 4 to 8 % of a file, a third of it the person's; the rest are results of tools. Most sessions
are small, a few are very large.
"""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from made_memory import Language

Json = dict[str, Any]
FIRST = datetime(2025, 3, 1, 9, 0, tzinfo=UTC)
MEAN_BYTES = 200_000
SESSIONS_A_DAY = 14
SPOKEN = (0.04, 0.08)
RESULT_BYTES = 9_000
PROJECT = "/home/ada/work"
OPENINGS = (
    "We decided to keep {}.", "I prefer {} over {}.", "Please use {} instead of {}.", "why does {} fail after {}?", "ok, go on", "The {} must never {}.",
    "Let's use {} for {}.", "yesterday {} broke again because of {}", "can you look at {} and {}?", "Remember that {} is {}.", "Thanks, that works.",
    "actually, make it {}", "I think {} is slower than {} since last week, {} too.", "no, leave {} as it is", "{} and {} belong together, {} does not.",
)  # fmt: skip
ANSWERS = (
    "Let me look at {} first.", "I'll run the tests of {} now.", "The {} reads {} before {}, which is why {} fails.", "Should I also change {}?",
    "{} now goes through {}, and {} is left as it was.", "{} calls {} twice.", "There are {} and {} in {}.", "Here is {} with {}.", "{} is used by {}.",
    "I changed {} and {}.", "The file {} holds {}.", "It writes {} where {} was.", "{} has no {}.", "Next comes {}.", "I see {} in {}.", "{} looks right.",
)  # fmt: skip
FINDINGS = (
    "Root cause: {} was closed before {}.",
    "All tests pass after {}.",
    "{} turned out to be {}.",
    "{} is merged.",
)
MOST_FINDINGS = 0.04
"""Of an agent's sentences; these become entries."""


class Talk:
    """Words that are said and printed, drawn from one language."""

    def __init__(self, seed: int, openings: tuple[str, ...] = OPENINGS) -> None:
        self.openings = openings
        self.language = Language(seed)
        self.random = self.language.random

    def sentence(self, patterns: tuple[str, ...]) -> str:
        """A sentence by one of these patterns."""
        finds = patterns is ANSWERS and self.random.random() < MOST_FINDINGS
        pattern = self.random.choice(FINDINGS if finds else patterns)
        filled = pattern.format(
            *(
                " ".join(self.language.say(self.random.randint(1, 4)))
                for _ in range(pattern.count("{}"))
            )
        )
        return filled[0].upper() + filled[1:]

    def message(self, patterns: tuple[str, ...]) -> str:
        """One to four sentences."""
        return " ".join(self.sentence(patterns) for _ in range(self.random.randint(1, 4)))

    def output(self) -> str:
        """A tool's output: lines as of a listing or of a program's text."""
        size = int(self.random.expovariate(1 / RESULT_BYTES)) + 200
        lines, length = [], 0
        while length < size:
            lines.append(
                f"{self.random.randint(1, 900):>5}\t"
                + " ".join(self.language.say(self.random.randint(3, 14)))
                + ' = {"type": "user"}'
            )
            length += len(lines[-1]) + 1
        return "\n".join(lines)


def claude(talk: Talk, session: str, begun: datetime, size: int) -> Iterator[bytes]:
    """The lines of one session."""
    yield _line({"type": "mode", "mode": "normal", "sessionId": session})
    common = _common(session)
    parent: str | None = None
    for number, (who, text) in enumerate(_turns(talk, size)):
        call = f"toolu_{number}"
        if who == "user":
            rows: list[Json] = [
                {"type": "user", "message": {"role": "user", "content": text}, **_TYPED}
            ]
        elif who == "agent":
            rows = [
                {
                    "type": "assistant",
                    "message": {
                        "role": "assistant",
                        "content": [{"type": "text", "text": text}],
                        "usage": {},
                    },
                }
            ]
        else:
            use = {
                "type": "tool_use",
                "id": call,
                "name": "Read",
                "input": {"file_path": "config.py"},
            }
            result = {"tool_use_id": call, "type": "tool_result", "content": text}
            rows = [
                {
                    "type": "assistant",
                    "message": {"role": "assistant", "content": [use], "usage": {}},
                },
                {
                    "type": "user",
                    "message": {"role": "user", "content": [result]},
                    "toolUseResult": {"stdout": text[:2000]},
                },
            ]
        for part, row in enumerate(rows):
            uuid = f"{session[:8]}-{number:05}-{part}"
            time = f"{begun + timedelta(seconds=40 * number):%Y-%m-%dT%H:%M:%S.000Z}"
            yield _line({"parentUuid": parent, **common, "uuid": uuid, "timestamp": time, **row})
            parent = uuid


_TYPED = {"origin": {"kind": "human"}, "promptSource": "typed"}


def _common(session: str) -> Json:
    return {
        "isSidechain": False,
        "userType": "external",
        "cwd": PROJECT,
        "sessionId": session,
        "version": "2.1.330",
        "gitBranch": "main",
    }


def message_of(session: str, time: datetime, text: str) -> bytes:
    """A line with what the person says at a time in a session of Claude Code."""
    uuid, at = f"{session[:8]}-{time:%H%M%S}", f"{time:%Y-%m-%dT%H:%M:%S.000Z}"
    message = {"role": "user", "content": text}
    row = {"type": "user", "message": message, "uuid": uuid, "timestamp": at}
    return _line({"parentUuid": None, **_common(session), **_TYPED, **row})


def _codex(talk: Talk, session: str, begun: datetime, size: int) -> Iterator[bytes]:
    start = {
        "id": session,
        "timestamp": begun.isoformat(),
        "cwd": PROJECT,
        "source": "cli",
        "cli_version": "0.169.0",
    }
    yield _line({"timestamp": begun.isoformat(), "type": "session_meta", "payload": start})
    person = {
        "internal_chat_message_metadata_passthrough": {
            "content_item_metadata": [{"provenance": {"type": "user"}}]
        }
    }
    for number, (who, text) in enumerate(_turns(talk, size)):
        if who == "user":
            payloads: list[Json] = [
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": text}],
                    **person,
                }
            ]
        elif who == "agent":
            payloads = [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": text}],
                }
            ]
        else:
            call = {
                "type": "function_call",
                "name": "exec_command",
                "arguments": '{"cmd":"cat config.py"}',
                "call_id": f"call_{number}",
            }
            payloads = [
                call,
                {"type": "function_call_output", "call_id": f"call_{number}", "output": text},
            ]
        for payload in payloads:
            time = f"{begun + timedelta(seconds=40 * number):%Y-%m-%dT%H:%M:%S.000Z}"
            yield _line(
                {"timestamp": time, "ordinal": number, "type": "response_item", "payload": payload}
            )


def _turns(talk: Talk, size: int) -> Iterator[tuple[str, str]]:
    """Who says or prints what, until a session has its size."""
    spoken, printed, share = 0, 0, talk.random.uniform(*SPOKEN)
    while spoken + printed < size:
        if spoken <= share * (spoken + printed):
            for who, patterns in (("user", talk.openings), ("agent", ANSWERS), ("agent", ANSWERS)):
                text = talk.message(patterns)
                spoken += len(text)
                yield who, text
        else:
            text = talk.output()
            printed += len(text)
            yield "tool", text


def _line(row: Json) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def make(folder: Path, total: int) -> int:
    """Write sessions of so many bytes into a folder; how many there are."""
    rng, written, count = random.Random(3), 0, 0
    talks = [Talk(seed) for seed in range(11, 15)]
    while written < total:
        size = min(int(rng.lognormvariate(0, 1.2) * MEAN_BYTES / 2.05), 20_000_000)
        begun = FIRST + timedelta(
            days=count // SESSIONS_A_DAY, minutes=37 * (count % SESSIONS_A_DAY)
        )
        session = f"{rng.getrandbits(32):08x}-0000-4000-8000-{count:012}"
        make_session = _codex if rng.random() < 0.3 else claude
        data = b"".join(make_session(talks[count % len(talks)], session, begun, max(size, 3_000)))
        (folder / f"{session}.jsonl").write_bytes(data)
        written += len(data)
        count += 1
    return count
