"""Digests whose state was lost: how far transcripts are read is told by commits, and by what stands
in the logs.
"""

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from conftest import World
from pi_sessions import START, Transcript, digest, texts, write_session
from workspaces import NOW, Desk, desk

from mdmem.nights.digest import cursors

SAID = (
    "We decided to keep the old pump.",
    "agent: Noted.",
    "I prefer calls before noon.",
    "We decided to sell the boat.",
)
KEPT = [text for text in SAID if not text.startswith("agent: ")]


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return partial(write_session, tmp_path)


def lose(at: Desk, damage: str | None = None) -> None:
    path = at.workspace.state / cursors.STATE_NAME
    path.unlink(missing_ok=True) if damage is None else path.write_text(damage)


@pytest.mark.parametrize(
    "damage",
    [None, "", "{", '{"version": 3, "values": {"x": 3}}', '{"version": 99, "values": {}}', "[]"],
)
def test_what_was_read_through_is_not_read_again(
    at: Desk, transcript: Transcript, damage: str | None
):
    path = transcript(*SAID)
    digest(at, path)
    lose(at, damage)
    head = at.git("rev-parse", "HEAD")
    again = digest(at, path)
    assert (
        again.figures.messages,
        again.figures.size,
        again.entries,
        again.figures.doubled,
        at.git("rev-parse", "HEAD"),
    ) == (0, 0, [], 0, head)


def test_only_what_came_since_is_new(at: Desk, transcript: Transcript):
    digest(at, transcript(*SAID[:2]))
    lose(at)
    path = transcript(*SAID)
    result = digest(at, path)
    assert (texts(result), result.figures.messages) == (KEPT[1:], 2)
    assert digest(at, path).figures.messages == 0


def test_what_came_after_the_cursor_was_made_again_is_new(at: Desk, transcript: Transcript):
    digest(at, transcript(*SAID[:3]))
    lose(at)
    digest(at, transcript(*SAID[:3]))
    result = digest(at, transcript(*SAID))
    assert (texts(result), result.figures.messages) == (KEPT[2:], 1)


def test_a_correction_finds_what_it_corrects_before_the_cursor(at: Desk, transcript: Transcript):
    texts = ("The exam is on 3 December.", "Remember that the boat is sold.")
    first = digest(at, transcript("Remember that the exam is on 3 December.", texts[1]))
    lose(at)
    digest(
        at,
        transcript(
            "Remember that the exam is on 3 December.",
            texts[1],
            "Actually the exam is on 4 December.",
        ),
    )
    supersedes = at.git("log", "-1", "--format=%(trailers:key=Mdmem-Supersedes,valueonly)").split()
    assert supersedes[0] == first.entries[0].fact


def test_a_transcript_that_was_rewritten_is_read_again(at: Desk, transcript: Transcript):
    digest(at, transcript(*SAID))
    lose(at)
    result = digest(
        at, transcript(*SAID, "We decided to paint the roof.", every=timedelta(minutes=2))
    )
    assert (texts(result), result.figures.messages, result.figures.doubled) == (
        ["We decided to paint the roof."],
        5,
        3,
    )


def test_a_transcript_that_gave_nothing_is_read_again(at: Desk, transcript: Transcript):
    path = transcript("ok", "agent: Noted.")
    digest(at, path)
    lose(at)
    assert digest(at, path).figures.messages == 2


def test_each_file_finds_its_cursor_however_they_are_named(at: Desk, transcript: Transcript):
    paths = [
        transcript(*SAID, session=f"{number}a1e0000", start=START.replace(day=number + 1))
        for number in range(3)
    ]
    digest(at, *paths)
    lose(at)
    assert [digest(at, path).figures.messages for path in paths] == [0, 0, 0]


def test_commits_that_were_merged_tell_it_too(at: Desk, transcript: Transcript):
    path = transcript(*SAID)
    at.git("checkout", "-qb", "other")
    digest(at, path)
    at.git("checkout", "-q", "-")
    at.write("memory/house.md", "# House\n\n- the roof is green\n")
    at.commit()
    at.git("merge", "-q", "--no-edit", "other")
    lose(at)
    assert digest(at, path).figures.messages == 0


def test_since_a_day_says_nothing_of_the_rest(at: Desk, transcript: Transcript):
    path = transcript(*SAID, start=START.replace(hour=23, minute=58))
    assert texts(digest(at, path, since="2026-03-05")) == KEPT[1:]
    lose(at)
    assert texts(digest(at, path)) == KEPT[:1]


def test_a_fork_of_a_session_that_was_read_through(at: Desk, transcript: Transcript):
    path = transcript(*SAID)
    digest(at, path)
    lose(at)
    digest(at, path)
    fork = digest(at, transcript(*SAID, "We decided to paint the roof.", session="6b2f0000"))
    assert (texts(fork), fork.figures.doubled) == (["We decided to paint the roof."], 3)


def test_progress_is_kept_when_a_later_transcript_fails(
    at: Desk, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
):
    digest(at, transcript(*SAID))
    at.git("checkout", "-q", "--detach")
    grown, later = (
        transcript(*SAID, "ok"),
        transcript(*SAID, session="6b2f0000", start=START.replace(day=6)),
    )
    with pytest.raises(Exception, match="HEAD"):
        digest(at, grown, later)
    at.git("checkout", "-q", "-")
    assert digest(at, grown).figures.messages == 0
    assert len(digest(at, later).entries) == 3
