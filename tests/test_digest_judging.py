"""Entries of a digest that are not written: what a person took out, what an agent only says again,
what is too much for a day.
"""

import os
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from conftest import World
from pi_sessions import START, Transcript, digest, texts, write_session
from workspaces import NOW, Desk, desk

from mdmem.context import given
from mdmem.memory import Memory
from mdmem.model.writes import Forget, Remember, Revert
from mdmem.nights.digest import writing
from mdmem.workspace import Say, Workspace

KEPT, OTHER = "We decided to keep the old pump.", "I prefer calls before noon."
LESSON = "Root cause: the brass valve in the cellar was closed."


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return partial(write_session, tmp_path)


@pytest.fixture
def before_the_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Have something done once, after the entries were judged and before the first of them is
    committed.
    """

    def plan(work: Callable[[], object]) -> None:
        lock = writing.lock_workspace
        waiting = [work]

        def lock_late(workspace: Workspace, say: Say) -> AbstractContextManager[None]:
            if waiting:
                waiting.pop()()
            return lock(workspace, say)

        monkeypatch.setattr(writing, "lock_workspace", lock_late)

    return plan


def forget(at: Desk, fact: str) -> None:
    with closing(Memory(at.workspace)) as memory:
        memory.apply(Forget(fact))


class TestWhilstItIsRead:
    """A person who changes memory between the reading and the commit wins."""

    def test_a_fact_is_forgotten(
        self,
        at: Desk,
        transcript: Transcript,
        before_the_commit: Callable[[Callable[[], object]], None],
    ):
        at.write("memory/house.md", f"# House\n\n- {KEPT}\n")
        at.commit()
        before_the_commit(lambda: forget(at, KEPT))
        result = digest(at, transcript(KEPT, OTHER))
        assert (texts(result), result.figures.refused) == ([OTHER], 1)

    def test_a_line_of_the_log_is_deleted_and_not_committed(
        self,
        at: Desk,
        transcript: Transcript,
        before_the_commit: Callable[[Callable[[], object]], None],
    ):
        log = "memory/2026-03-04.md"
        path = transcript(KEPT)
        digest(at, path)
        before = at.read(log)
        (at.workspace.state / "transcripts.json").unlink()
        path = transcript(KEPT, OTHER)
        before_the_commit(lambda: at.write(log, before.replace(f"- [decision] {KEPT}\n", "")))
        result = digest(at, path)
        assert texts(result) == [OTHER]
        assert KEPT not in at.read(log)

    def test_an_agent_says_what_was_just_remembered(
        self,
        at: Desk,
        transcript: Transcript,
        before_the_commit: Callable[[Callable[[], object]], None],
    ):
        def remember() -> None:
            with closing(Memory(at.workspace)) as memory:
                memory.apply(Remember(LESSON, section="Home"))

        before_the_commit(remember)
        result = digest(at, transcript(f"agent: {LESSON}"))
        assert (texts(result), result.figures.doubled) == ([], 1)

    def test_the_same_is_logged(
        self,
        at: Desk,
        transcript: Transcript,
        before_the_commit: Callable[[Callable[[], object]], None],
    ):
        def log() -> None:
            at.write("memory/2026-03-04.md", f"# 2026-03-04\n\n## 09:00\n\n- {KEPT}\n")
            at.commit()

        before_the_commit(log)
        result = digest(at, transcript(KEPT, OTHER))
        assert (texts(result), result.figures.doubled) == ([OTHER], 1)


def test_what_was_deleted_by_hand_and_not_committed_stays_away(at: Desk, transcript: Transcript):
    at.write("memory/house.md", f"# House\n\n- {KEPT}\n- the roof is green\n")
    at.commit()
    at.write("memory/house.md", "# House\n\n- the roof is green\n")
    assert texts(digest(at, transcript(KEPT, OTHER))) == [OTHER]


def test_what_was_replaced_by_hand_and_not_committed_was_not_taken_out(
    at: Desk, transcript: Transcript
):
    at.write("memory/house.md", "# House\n\n- **Pump**: the old one of brass\n")
    at.commit()
    at.write("memory/house.md", "# House\n\n- **Pump**: the new one of steel\n")
    assert texts(digest(at, transcript("Remember that the old one of brass is noisy."))) != []


def test_said_again_in_a_later_message_of_the_session(at: Desk, transcript: Transcript):
    digest(at, transcript(KEPT))
    forget(at, KEPT)
    later = datetime.now(UTC) + timedelta(days=1)
    result = digest(at, transcript(KEPT, KEPT, every=later - START))
    assert [(entry.text, entry.day) for entry in result.entries] == [(KEPT, later.date())]


def test_said_in_the_second_in_which_it_was_forgotten(
    at: Desk, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
):
    at.write("memory/house.md", f"# House\n\n- {KEPT}\n")
    at.commit()
    monkeypatch.setenv("MDMEM_NOW", "2026-03-04T09:00:00+00:00")
    forget(at, KEPT)
    path = transcript(KEPT)
    path.write_text(path.read_text().replace("09:00:00.000Z", "09:00:00.700Z"))
    assert texts(digest(at, path)) == []


@pytest.mark.parametrize("take_out", [False, True])
def test_what_a_person_reverted_stays_away(
    at: Desk, transcript: Transcript, tmp_path: Path, take_out: bool
):
    path = transcript(KEPT, OTHER)
    run = digest(at, path).run
    with closing(Memory(at.workspace)) as memory:
        memory.apply(Revert(run, take_out=take_out))
    shutil.rmtree(at.workspace.state)
    copy = tmp_path / "copy.jsonl"
    copy.write_text(path.read_text().replace("5a1e0000", "7c3d0000"))
    result = digest(at, path, copy)
    assert (texts(result), result.figures.refused) == ([], 2)


class TestOfAnAgentsWords:
    """What its session was given, and what memory or the session says, is not written again."""

    def test_given_to_the_session(self, at: Desk, transcript: Transcript):
        at.workspace.ensure_state()
        state = at.workspace.state
        record = (
            given.read_record(state, "5a1e0000")
            .with_given([given.text_id(LESSON)])
            .in_next_cycle()
            .after_summary()
        )
        given.update_record(state, "5a1e0000", lambda _: record)
        result = digest(
            at,
            transcript(
                f"agent: {LESSON}", "agent: Root cause: the wiring of the boiler was loose."
            ),
        )
        assert (texts(result), result.figures.doubled) == (
            ["Root cause: the wiring of the boiler was loose."],
            1,
        )
        assert (
            len(
                digest(
                    at,
                    transcript(
                        f"agent: {LESSON}", session="6b2f0000", start=START + timedelta(hours=1)
                    ),
                ).entries
            )
            == 1
        )

    def test_said_on_the_day_before(self, at: Desk, transcript: Transcript):
        result = digest(
            at, transcript(f"agent: {LESSON}", f"agent: {LESSON}", every=timedelta(days=1))
        )
        assert (len(result.entries), result.figures.doubled) == (1, 1)

    def test_a_person_says_it_again(self, at: Desk, transcript: Transcript):
        result = digest(at, transcript(KEPT, KEPT, every=timedelta(days=1)))
        assert len(result.entries) == 2


class TestLimits:
    """A day takes 40 entries of a session and 200 of all, however often the transcripts
    are read.
    """

    def facts_said(self, first: int, last: int) -> list[str]:
        return [f"We decided to keep pump number {number}." for number in range(first, last)]

    def test_of_a_session(self, at: Desk, transcript: Transcript):
        path = transcript(*self.facts_said(0, 45))
        result = digest(at, path)
        assert (len(result.entries), result.figures.surplus) == (40, 5)

    def test_of_a_session_in_parts_without_state(self, at: Desk, transcript: Transcript):
        for count in (30, 39, 45):
            path = transcript(*self.facts_said(0, count))
            digest(at, path)
            for file in at.workspace.state.glob("*.json"):
                file.unlink()
        assert at.read("memory/2026-03-04.md").count("- [decision]") == 40

    def test_what_stands_already_counts_for_nothing(self, at: Desk, transcript: Transcript):
        digest(at, transcript(*self.facts_said(0, 30)))
        result = digest(
            at,
            transcript(
                *self.facts_said(0, 70), session="6b2f0000", start=START + timedelta(hours=3)
            ),
        )
        assert (len(result.entries), result.figures.doubled, result.figures.surplus) == (40, 30, 0)

    @pytest.mark.parametrize(
        ("before", "now"),
        [
            ("I prefer tea over coffee.", "I prefer coffee over tea."),
            ("We decided to test before the deploy.", "We decided to test after the deploy."),
        ],
    )
    def test_the_opposite_is_no_repetition(
        self, at: Desk, transcript: Transcript, before: str, now: str
    ):
        digest(at, transcript(before))
        later = START + timedelta(hours=3)
        result = digest(at, transcript(now, session="6b2f0000", start=later))
        assert (texts(result), result.figures.doubled) == ([now], 0)

    @pytest.mark.parametrize("dry_run", [False, True])
    def test_of_a_day(self, at: Desk, transcript: Transcript, dry_run: bool):
        paths = [
            transcript(*self.facts_said(number * 35, number * 35 + 35), session=f"{number}a1e0000")
            for number in range(6)
        ]
        result = digest(at, *paths, dry_run=dry_run)
        assert (len(result.entries), result.figures.surplus) == (200, 10)

    def test_a_persons_own_entries_do_not_count(self, at: Desk, transcript: Transcript):
        lines = "".join(f"- the roof has tile {number}\n" for number in range(250))
        at.write("memory/2026-03-04.md", f"# 2026-03-04\n\n## 08:00\n\n{lines}")
        at.commit()
        assert len(digest(at, transcript(*self.facts_said(0, 41))).entries) == 40


def test_a_log_that_takes_no_entries_leaves_the_session_unread(at: Desk, transcript: Transcript):
    at.write("memory/2026-03-04.md", "# 2026-03-04\n\n```\nopen\n")
    at.commit()
    path, other = (
        transcript(KEPT),
        transcript(OTHER, session="6b2f0000", start=START + timedelta(days=1)),
    )
    result = digest(at, path, other)
    assert ([left.why for left in result.left], texts(result), result.figures.messages) == (
        ["open-block"],
        [OTHER],
        1,
    )
    at.write("memory/2026-03-04.md", "# 2026-03-04\n\n```\nopen\n```\n")
    result = digest(at, path, other)
    assert (texts(result), result.figures.messages) == ([KEPT], 1)


def test_a_dry_run_counts_what_a_digest_counts(at: Desk, transcript: Transcript):
    path = transcript(KEPT, "agent: Noted.", OTHER)
    copy = transcript(KEPT, "agent: Noted.", OTHER, "We decided to paint it.", session="6b2f0000")
    tried, done = digest(at, path, copy, dry_run=True), digest(at, path, copy)
    assert (
        (tried.figures.messages, tried.figures.sessions, tried.figures.doubled)
        == (done.figures.messages, done.figures.sessions, done.figures.doubled)
        == (4, 2, 0)
    )
    assert texts(tried) == texts(done)


def test_what_a_session_left_unread_would_have_said_is_written_from_its_fork(
    at: Desk, transcript: Transcript
):
    at.write("memory/2026-03-04.md", "# 2026-03-04\n\n```\nopen\n")
    at.commit()
    path = transcript(KEPT, OTHER, every=timedelta(days=1))
    fork = transcript(OTHER, session="6b2f0000", start=START + timedelta(days=1))
    assert texts(digest(at, path, fork)) == [OTHER]
    at.write("memory/2026-03-04.md", "# 2026-03-04\n\n```\nopen\n```\n")
    assert texts(digest(at, path, fork)) == [KEPT]


def test_the_best_of_a_copy_of_a_session_that_gave_something(at: Desk, transcript: Transcript):
    statements = (KEPT, "Our garden is calm and the old roses bloom.")
    digest(at, transcript(*statements))
    copy = transcript(*statements, session="6b2f0000")
    os.utime(copy, (time.time() - 2 * 24 * 3600,) * 2)
    assert texts(digest(at, copy)) == []


def test_a_fork_that_was_read_with_a_session_left_unread_is_read_again(
    at: Desk, transcript: Transcript
):
    log = "memory/2026-03-04.md"
    at.write(log, "# 2026-03-04\n\n```\nopen\n")
    at.commit()
    path, fork = transcript(KEPT), transcript(KEPT, session="6b2f0000")
    os.utime(path, (0, 0))
    assert [Path(left.session).name for left in digest(at, path, fork).left] == [path.name]
    path.unlink()
    at.write(log, "# 2026-03-04\n\n```\nopen\n```\n")
    assert texts(digest(at, fork)) == [KEPT]


def test_a_session_with_a_secret_for_a_name_is_not_named(at: Desk, transcript: Transcript):
    result = digest(at, transcript(KEPT, session="AKIAIOSFODNN7EXAMPL3"), transcript(OTHER))
    assert (texts(result), result.figures.refused) == ([OTHER], 1)
    assert "AKIA" not in at.git("log", "--format=%B")
