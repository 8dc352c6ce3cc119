"""A purge and the transcripts that still hold its words: they are named, and no digest brings the
words back.
"""

import json
import shutil
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from conftest import World
from pi_sessions import START, Transcript, digest, texts, write_session
from workspaces import NOW, Desk, desk

from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.model.writes import Purge, PurgePlan, PurgeResult
from mdmem.nights.digest.cursors import DueLines, read_state

PRIVATE, OTHER = "We decided to sell the boat to Zoë.", "I prefer calls before noon."


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return partial(write_session, tmp_path)


def purge(at: Desk, fact: str) -> PurgeResult:
    with closing(Memory(at.workspace)) as memory:
        return memory.purge(Purge(fact))


def plan(at: Desk, fact: str) -> PurgePlan:
    with closing(Memory(at.workspace)) as memory:
        return memory.plan_purge(Purge(fact))


def lose_state(at: Desk) -> None:
    shutil.rmtree(at.workspace.state)


def is_named(path: Path, notices: tuple[str, ...]) -> bool:
    return any(str(path) in notice for notice in notices)


def test_each_transcript_that_holds_it_is_named(at: Desk, transcript: Transcript):
    path, other = transcript(PRIVATE, OTHER), transcript(OTHER, session="6b2f0000")
    digest(at, path, other)
    assert [is_named(each, plan(at, PRIVATE).notices) for each in (path, other)] == [True, False]
    assert [is_named(each, purge(at, PRIVATE).notices) for each in (path, other)] == [True, False]


def test_while_a_digest_is_at_work_its_cursors_are_left_to_it(at: Desk, transcript: Transcript):
    at.write("mdmem.toml", "lock_timeout = 0.05\n")
    at.commit()
    path = transcript(PRIVATE, OTHER)
    digest(at, path)
    cursors = (at.workspace.state / "transcripts.json").read_bytes()
    with files.lock(at.workspace.state / "run.lock", 0):
        assert is_named(path, purge(at, PRIVATE).notices)
    assert (at.workspace.state / "transcripts.json").read_bytes() == cursors
    lose_state(at)
    assert texts(digest(at, path)) == []


def test_no_model_reads_its_lines(at: Desk, transcript: Transcript):
    digest(at, transcript(PRIVATE, OTHER))
    read = read_state(at.workspace.state)
    read.due = {f"openclaw/{name}": DueLines(str(at.root), 1) for name in ("5a1e0000", "other")}
    read.write(at.workspace.state)
    purge(at, PRIVATE)
    assert list(read_state(at.workspace.state).due) == ["openclaw/other"]


def test_a_digest_does_not_bring_it_back(at: Desk, transcript: Transcript):
    path = transcript(PRIVATE, OTHER)
    digest(at, path)
    purge(at, PRIVATE)
    assert digest(at, path).figures.messages == 0
    lose_state(at)
    result = digest(at, path)
    assert (result.figures.messages, texts(result)) == (0, [])
    assert PRIVATE not in at.git("log", "-p", "--all")


def test_it_is_read_to_its_end(at: Desk, transcript: Transcript):
    digest(at, transcript(PRIVATE))
    grown = transcript(PRIVATE, OTHER)
    purge(at, PRIVATE)
    assert digest(at, grown).figures.messages == 0
    lose_state(at)
    assert digest(at, grown).figures.messages == 0
    assert texts(digest(at, transcript(PRIVATE, OTHER, "We decided to paint the roof."))) == [
        "We decided to paint the roof."
    ]


@pytest.mark.parametrize("loses", [False, True])
def test_a_transcript_that_is_rewritten_later_does_not_bring_it_back(
    at: Desk, transcript: Transcript, loses: bool
):
    digest(at, transcript(PRIVATE))
    purge(at, PRIVATE)
    if loses:
        lose_state(at)
    result = digest(
        at, transcript(PRIVATE, "We decided to paint the roof.", start=START + timedelta(minutes=7))
    )
    assert (texts(result), result.figures.refused) == (["We decided to paint the roof."], 1)
    longer = f"Remember that {PRIVATE[0].lower()}{PRIVATE[1:]}"
    assert (
        texts(
            digest(at, transcript(longer, session="6b2f0000", start=START + timedelta(minutes=9)))
        )
        == []
    )


def test_said_again_after_the_purge(at: Desk, transcript: Transcript):
    digest(at, transcript(PRIVATE))
    purge(at, PRIVATE)
    later = transcript(PRIVATE, session="6b2f0000", start=datetime.now(UTC) + timedelta(days=1))
    assert texts(digest(at, later)) == [PRIVATE]


def test_words_that_the_client_escapes(at: Desk, transcript: Transcript, tmp_path: Path):
    text = 'Remember that "Zoë" has the key\tunder the mat.'
    path = transcript(text)
    digest(at, path)
    assert is_named(path, purge(at, 'that "Zoë" has').notices)
    assert r"\"Zo\u00eb\" has" in path.read_text()


def test_a_day_that_the_digest_added(at: Desk, transcript: Transcript):
    path = transcript("Remember that we sold the boat yesterday.", OTHER)
    (entry, _) = digest(at, path).entries
    assert "(2026-03-03)" in entry.text
    copy = path.with_name("copy.jsonl")
    copy.write_text(path.read_text().replace("5a1e0000", "7c3d0000"))
    digest(at, copy)
    result = purge(at, entry.text)
    assert [is_named(each, result.notices) for each in (path, copy)] == [True, True]


def test_others_are_not_read_again(at: Desk, transcript: Transcript):
    path, other = transcript(PRIVATE), transcript("ok", session="6b2f0000")
    digest(at, path, other)
    purge(at, PRIVATE)
    assert digest(at, path, other).figures.messages == 0


def test_the_note_tells_nothing_but_a_hash(at: Desk, transcript: Transcript):
    digest(at, transcript(PRIVATE))
    result = purge(at, PRIVATE)
    message = at.git("log", "-1", "--format=%B", str(result.commit))
    assert "Mdmem-Read: openclaw/5a1e0000#2 " in message
    assert [line for line in message.splitlines() if line.startswith("Mdmem-Purged: 8 ")]
    assert json.dumps(PRIVATE) not in "".join(
        path.read_text() for path in at.workspace.state.glob("*.json")
    )


def test_without_sessions_the_hash_is_left_too(at: Desk):
    at.write("memory/house.md", f"# House\n\n- {PRIVATE}\n")
    at.commit()
    result = purge(at, PRIVATE)
    assert "Mdmem-Purged: 8 " in at.git("log", "-1", "--format=%B", str(result.commit))
    assert [notice for notice in result.notices if "short hash of the text" in notice]
