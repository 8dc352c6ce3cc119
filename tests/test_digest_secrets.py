"""Secrets that were said or printed in a session stay there: none reaches an object of git, mdmem's
own folder, or what a command prints.
"""

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from commandline import Shell
from made_sessions import Turn, write_session
from test_secrets import EVERYTHING, KEYS, OTHERS, PASSWORD, RANDOM_WORD, STRICT, TOKENS

from mdmem.sessions.clients import CLIENT_NAMES

START = datetime(2026, 3, 2, 0, 0, tzinfo=UTC)
HALF_AN_HOUR = timedelta(minutes=30)
VALUES = sorted(
    {
        *(token for _, token in TOKENS),
        PASSWORD,
        RANDOM_WORD,
        *(value for _, value in STRICT),
        *(line for key in KEYS for line in key.split("\n")[1:-1]),
    }
)
"""What must not be anywhere: for a key in armour, every line of its body."""
TEXTS = [*(text for _, text in EVERYTHING), *(text.format(value) for text, value in STRICT)]
WITHIN = [text for _, text in OTHERS]


def turns_with(texts: Sequence[str]) -> list[Turn]:
    """Each text as the person's words, the agent's and a tool's, among others that are kept."""
    turns: list[Turn] = [("tool", "done")]
    for number, text in enumerate(texts):
        turns += [
            ("user", f"We decided that {text} opens the shed. I prefer pump number {number}."),
            (
                "agent",
                f"Root cause: {text} was in the file. It was caused by valve number {number}.",
            ),
            ("tool", f"config.ini\n{text}\n"),
            ("user", text),
            ("user", f"Actually, {text}"),
        ]
    return turns


@pytest.fixture
def sessions(shell: Shell) -> list[str]:
    folder = shell.world.home / "sessions"
    folder.mkdir()
    names = []
    for number, client in enumerate(CLIENT_NAMES):
        path = folder / f"5a1e000{number}.jsonl"
        path.write_bytes(
            write_session(
                client,
                turns_with(TEXTS[number :: len(CLIENT_NAMES)]),
                path.stem,
                START,
                HALF_AN_HOUR,
            )
        )
        names.append(str(path))
    settings = shell.world.home / ".config" / "mdmem" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'sessions = ["{folder}/*.jsonl"]\nsession_scope = "all"\n')
    return names


def held(shell: Shell, sessions: Sequence[str], printed: str) -> set[str]:
    """The secrets that stand in objects of git, in any file but the transcripts, or in what was
    printed.
    """
    command = ["git", "cat-file", "--batch-all-objects", "--batch"]
    objects = subprocess.run(
        command,
        cwd=shell.folder,
        env=dict(shell.world.environment),
        capture_output=True,
        check=True,
    ).stdout
    files = [
        path
        for root in (shell.folder, shell.world.home)
        for path in root.rglob("*")
        if path.is_file() and str(path) not in sessions
    ]
    contents = b"\0".join([objects, printed.encode(), *(path.read_bytes() for path in files)])
    return {value for value in (*VALUES, *WITHIN) if value.encode() in contents}


@pytest.mark.parametrize("keep", ["facts", "lines"])
def test_none_is_anywhere(shell: Shell, sessions: list[str], keep: str):
    tried = shell.run("digest", "--keep", keep, "--dry-run", "--json")
    assert held(shell, sessions, tried.out + tried.err) == set()
    done = shell.run("digest", "--keep", keep, "--json")
    entries = [entry["text"] for entry in done.answer["entries"]]
    for number in range(len(TEXTS) // len(CLIENT_NAMES)):
        assert f"I prefer pump number {number}." in entries
    assert not any("REDACTED" in entry for entry in entries)
    assert done.answer["redacted"] >= 4 * len(TEXTS)
    answers = [
        shell.run("search", "--sessions", words, *more)
        for words in ("shed", "opens file config")
        for more in ((), ("--json",))
    ]
    again = shell.run("digest", "--keep", keep)
    status = shell.run("status")
    printed = "".join(each.out + each.err for each in (done, *answers, again, status))
    assert held(shell, sessions, printed) == set()
