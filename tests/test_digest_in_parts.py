"""A session that is digested as it grows gives the same entries as one that is digested at its end,
whatever its client.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_sessions import Turn, write_session
from pi_sessions import digest
from workspaces import NOW, Desk, desk

from mdmem.model.pipelines import FACTS, LINES, Digest
from mdmem.nights.digest.cursors import Cursor, cursor_of
from mdmem.nights.digest.news import read_news
from mdmem.sessions.clients import CLIENT_NAMES
from mdmem.sessions.drafts import Draft
from mdmem.sessions.files import Scope, stat_file

TOOL = "tool"
NOT_YET = 0
"""The end of a session that goes on."""
PERSON = (
    "We decided to keep the old pump.",
    "Remember that the exam is on 3 December.",
    "Actually the exam is on 4 December.",
    "I prefer calls before noon.",
    "I work at Stripe and live in Oslo.",
    "Actually I work at Linear now.",
    "No, drop it next Monday.",
    "yes",
    "The second one, please.",
    "What is the name of the boat?",
    "Yesterday I bought two red chairs in Bergen for 40 euros.",
    "My sister Ana joined Acme last week because she likes chemistry.",
    "ok thanks",
    "The garden is calm and the old roses bloom.",
    "use the steel pipes instead of the brass ones",
)
AGENT = (
    "Should we keep the MySQL dump?",
    "Which of the three plans do you like best?",
    "Noted.",
    "Root cause: the brass valve in the cellar was closed.",
    "The change is merged and all tests pass.",
    "Let me look at the files first.",
    "When did you buy the chairs?",
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.sampled_from(PERSON)),
        st.tuples(st.just("agent"), st.sampled_from(AGENT)),
        st.tuples(st.just(TOOL), st.just("remember that I prefer tabs")),
    ),
    min_size=2,
    max_size=40,
)


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def lines_of(client: str, turns: Sequence[Turn]) -> list[bytes]:
    start = datetime(2026, 3, 4, 22, 30, tzinfo=UTC)
    data = write_session(client, turns, "5a1e0000", start, timedelta(minutes=4))
    return data.splitlines(keepends=True)


def drawn(at: Desk, path: Path, contents: Sequence[bytes], keep: str) -> list[Draft]:
    """The entries that are drawn from a file that has these contents, one after the other."""
    drafts: list[Draft] = []
    cursor: Cursor | None = None
    marks: dict[str, tuple[str, int]] = {}
    for data in contents:
        path.write_bytes(data)
        file = stat_file(path)
        news = read_news(
            at.workspace,
            Digest(sessions=(str(path),), keep=keep),
            file,
            cursor,
            marks,
            UTC,
            NOT_YET,
            Scope("all", ()),
        )
        if news is not None:
            drafts += news.drafts
            marks |= dict.fromkeys(news.marks, (news.session, 0))
        cursor = cursor_of(file)
        if news is not None:
            cursor = replace(
                cursor,
                read_size=news.transcript.size,
                start=news.transcript.next_start,
                has_entries=news.has_entries,
            )
    return drafts


@pytest.mark.parametrize("client", CLIENT_NAMES)
@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    derandomize=True,
)
@given(steps=STEPS, torn=st.integers(0, 60), keep=st.sampled_from([FACTS, LINES]))
def test_drawn_line_by_line(
    at: Desk, tmp_path: Path, client: str, steps: list[Turn], torn: int, keep: str
):
    lines = lines_of(client, steps)
    parts = [
        b"".join(lines[: number + 1])
        + b"".join(lines[number + 1 : number + 2])[:torn].rstrip(b"\n")
        for number in range(len(lines))
    ]
    path = tmp_path / "session.jsonl"
    assert drawn(at, path, [parts[0], *parts], keep) == drawn(at, path, [b"".join(lines)], keep)


@pytest.mark.every(2)
@pytest.mark.parametrize("client", CLIENT_NAMES)
def test_written_in_parts(at: Desk, tmp_path: Path, client: str):
    steps = [
        ("user" if text in PERSON else "agent", text)
        for pair in zip(PERSON, AGENT * 3, strict=False)
        for text in pair
    ]
    steps[21:21] = [(TOOL, "output")] * 2
    lines = lines_of(client, steps)
    path = tmp_path / "session.jsonl"
    start = at.git("rev-parse", "HEAD").strip()
    logs = []
    for cuts in ([len(lines)], [*range(3, len(lines), 5), len(lines)]):
        at.git("reset", "-q", "--hard", start)
        for file in at.workspace.state.glob("*.json"):
            file.unlink()
        for cut in cuts:
            path.write_bytes(b"".join(lines[:cut]))
            digest(at, path)
        logs.append([(at.root / "memory" / f"2026-03-0{day}.md").read_text() for day in (4, 5)])
    assert logs[0] == logs[1]
    assert logs[0][0].count("\n- ") + logs[0][1].count("\n- ") > 10
