"""Digests of transcripts, as a user calls them."""

import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from pi_sessions import START, Transcript, digest, texts, write_session
from workspaces import NOW, Desk, desk

from mdmem.memory import Memory
from mdmem.model.errors import PathProblem, RepositoryProblem, WorkspaceProblem
from mdmem.model.pipelines import LINES, Digest, StepFigures
from mdmem.model.writes import Forget, Remember, WriteOptions
from mdmem.nights.digest import news
from mdmem.past.messages import parse_trailers
from mdmem.show.runs import digest_text


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return partial(write_session, tmp_path)


TALK = (
    "We decided to keep the old pump.",
    "agent: Noted.",
    "ok",
    "I prefer calls before noon.",
    "tool: remember that I prefer tabs",
)


def test_what_was_said_stands_under_its_day_and_minute(at: Desk, transcript: Transcript):
    result = digest(at, transcript(*TALK))
    log = at.read("memory/2026-03-04.md")
    assert log[log.index("## ") :] == (
        "## 09:00\n\n- [decision] We decided to keep the old pump.\n\n## 09:03\n\n- [preference] I prefer calls before noon.\n"
    )
    counted = result.figures
    assert (counted.sessions, counted.messages, counted.noise, len(result.commits)) == (1, 4, 2, 1)
    assert [entry.cites for entry in result.entries] == [
        ("openclaw/5a1e0000#2",),
        ("openclaw/5a1e0000#5",),
    ]
    assert result.figures.size == (at.root.parent / "5a1e0000.jsonl").stat().st_size


def test_twice_is_once(at: Desk, transcript: Transcript):
    path = transcript(*TALK)
    digest(at, path)
    head = at.git("rev-parse", "HEAD")
    again = digest(at, path)
    assert (again.entries, again.figures.messages, again.commits) == ([], 0, [])
    assert at.git("rev-parse", "HEAD") == head


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
def test_only_what_is_new_is_read(at: Desk, transcript: Transcript, cut: int):
    path = transcript(*TALK)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: cut + 1]) + lines[cut + 1][:20])  # the last line is torn
    first = digest(at, path)
    path.write_bytes(whole)
    second = digest(at, path)
    assert texts(first) + texts(second) == [
        "We decided to keep the old pump.",
        "I prefer calls before noon.",
    ]
    assert first.figures.messages + second.figures.messages == 4


def test_a_fork_is_not_read_twice(at: Desk, transcript: Transcript):
    digest(at, transcript(*TALK))
    fork = digest(at, transcript(*TALK, "We decided to sell the boat.", session="6b2f0000"))
    assert texts(fork) == ["We decided to sell the boat."]


def test_a_message_that_the_client_writes_once_more_is_none_more(at: Desk, transcript: Transcript):
    path = transcript(*TALK)
    assert digest(at, path).figures.messages == 4
    rows = path.read_text().splitlines()
    again = json.loads(rows[1]) | {"id": "0000000f", "parentId": json.loads(rows[-1])["id"]}
    path.write_text("\n".join([*rows, json.dumps(again)]) + "\n")
    result = digest(at, path)
    assert result.figures == StepFigures(size=result.figures.size)


def test_a_rewritten_file_is_read_from_its_start(at: Desk, transcript: Transcript):
    digest(at, transcript(*TALK))
    other = transcript("We decided to sell the boat.", "and so on", start=START + timedelta(days=1))
    assert texts(digest(at, other)) == ["We decided to sell the boat."]


def test_one_commit_a_day_and_source(at: Desk, transcript: Transcript):
    before = len(at.subjects())
    late = datetime(2026, 3, 4, 23, 58, tzinfo=UTC)
    result = digest(
        at,
        transcript(
            "We decided to keep the pump.",
            "I work at Stripe.",
            "agent: Root cause: the valve.",
            "I prefer tea.",
            start=late,
        ),
    )
    assert [entry.day.isoformat() for entry in result.entries] == [
        "2026-03-04",
        "2026-03-04",
        "2026-03-05",
        "2026-03-05",
    ]
    assert len(at.subjects()) - before == len(result.commits) == 3


def test_sessions_share_the_commit_of_a_day(at: Desk, transcript: Transcript):
    first, second = (
        transcript("We decided to keep the old pump."),
        transcript(
            "We decided to paint the roof.", session="6b2f0000", start=START + timedelta(hours=1)
        ),
    )
    result = digest(at, second, first)
    trailers = parse_trailers(at.git("log", "-1", "--format=%B"))
    assert len(result.commits) == 1
    assert sorted(trailers["Session"]) == ["openclaw/5a1e0000", "openclaw/6b2f0000"]
    assert sorted(read.partition("#")[0] for read in trailers["Read"]) == sorted(
        trailers["Session"]
    )
    assert {cited.split()[1] for cited in trailers["Cites"]} == {
        "openclaw/5a1e0000#2",
        "openclaw/6b2f0000#2",
    }


def test_the_last_commit_says_how_far_the_transcript_is_read(at: Desk, transcript: Transcript):
    result = digest(at, transcript("We decided to keep the pump.", "agent: Root cause: the valve."))
    reads = [
        at.git("log", "-1", "--format=%(trailers:key=Mdmem-Read,valueonly)", commit).strip()
        for commit in result.commits
    ]
    assert reads[0] == ""
    assert reads[1].startswith("openclaw/5a1e0000#3 ")


def test_no_secret_is_written(at: Desk, transcript: Transcript):
    key = "AKIA" + "ZQ3DN7MOLK2PXWTV"
    result = digest(
        at, transcript(f"We decided that the key is {key} for now.", "We decided to keep the pump.")
    )
    assert (texts(result), result.figures.redacted) == (["We decided to keep the pump."], 1)
    assert key not in at.git("log", "-p", "--all")


def test_every_statement_on_request(at: Desk, transcript: Transcript):
    path = transcript("Such a calm garden, with old roses along the wall.")
    assert texts(digest(at, path, dry_run=True)) == []
    assert texts(digest(at, path, keep=LINES)) == [
        "Such a calm garden, with old roses along the wall."
    ]


def test_a_dry_run_leaves_all_as_it_was(at: Desk, transcript: Transcript):
    path, before = transcript(*TALK), at.tree_state()
    assert len(digest(at, path, dry_run=True).entries) == 2
    assert at.tree_state() == before
    assert len(digest(at, path).entries) == 2


def test_since_a_day(at: Desk, transcript: Transcript):
    path = transcript(
        "We decided to keep the pump.",
        "I prefer tea.",
        start=datetime(2026, 3, 3, 23, 59, tzinfo=UTC),
    )
    assert texts(digest(at, path, since="2026-03-04")) == ["I prefer tea."]
    assert texts(digest(at, path)) == ["We decided to keep the pump."]


def test_what_could_not_be_written_is_read_again(at: Desk, transcript: Transcript):
    path = transcript(*TALK)
    (at.root / ".git" / "MERGE_HEAD").write_text(at.git("rev-parse", "HEAD"))
    with pytest.raises(RepositoryProblem):
        digest(at, path)
    (at.root / ".git" / "MERGE_HEAD").unlink()
    assert len(digest(at, path).entries) == 2


def test_a_file_that_vanishes_while_it_is_read_is_read_later(
    at: Desk, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
):
    path, read = (
        transcript("ok", "We see our calm garden and the old roses bloom."),
        news.draw_permissively,
    )
    os.utime(path, (time.time() - 2 * 24 * 3600,) * 2)

    def gone(*arguments: Any) -> Any:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(news, "draw_permissively", gone)
    assert len(digest(at, path, transcript(*TALK, session="6b2f0000")).left) == 1
    monkeypatch.setattr(news, "draw_permissively", read)
    assert len(digest(at, path).entries) == 1


def test_the_best_of_a_session_that_has_ended(at: Desk, transcript: Transcript):
    path = transcript("ok", "We see our calm garden and the old roses bloom.")
    assert texts(digest(at, path)) == []
    yesterday = time.time() - 2 * 24 * 3600
    os.utime(path, (yesterday, yesterday))
    assert [(entry.text, entry.confidence) for entry in digest(at, path).entries] == [
        ("We see our calm garden and the old roses bloom.", 0.3)
    ]
    assert digest(at, path).figures.messages == 0


def test_what_cannot_be_read_is_named_and_the_rest_is_done(
    at: Desk, transcript: Transcript, tmp_path: Path
):
    strange = tmp_path / "strange.jsonl"
    strange.write_text('{"what": "is this"}\n')
    result = digest(at, strange, transcript(*TALK))
    assert ([left.why for left in result.left], len(result.entries)) == (["unknown-format"], 2)


def test_a_file_without_a_record_is_named(at: Desk, tmp_path: Path):
    notes = tmp_path / "notes.txt"
    notes.write_text("the pump is old\n")
    assert [left.why for left in digest(at, notes).left] == ["unknown-format"]


def test_a_file_that_is_not_there(at: Desk, tmp_path: Path):
    with pytest.raises(PathProblem) as problem:
        digest(at, tmp_path / "none.jsonl")
    assert problem.value.code == "file-not-found"


class TestSettings:
    """The user's own settings say whose sessions are read."""

    @pytest.fixture
    def own(self, at: Desk) -> Callable[[str], None]:
        def write(text: str) -> None:
            path = at.world.home / ".config" / "mdmem" / "config.toml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

        return write

    def test_nothing_is_read_until_a_client_is_named(self, at: Desk):
        with pytest.raises(WorkspaceProblem) as problem:
            digest(at)
        assert problem.value.code == "no-sessions"
        assert 'sessions = ["claude"]' in (problem.value.hint or "")

    @pytest.mark.parametrize(
        ("project", "scope", "count"),
        [("here", "project", 2), ("elsewhere", "project", 0), ("elsewhere", "all", 2)],
    )
    def test_sessions_of_this_work_tree_or_all(
        self,
        at: Desk,
        own: Callable[[str], None],
        transcript: Transcript,
        project: str,
        scope: str,
        count: int,
    ):
        path = transcript(*TALK)
        path.write_text(
            path.read_text().replace(
                "/home/ada", str(at.root) if project == "here" else "/home/ada"
            )
        )
        own(f'sessions = ["{path.parent}/5a1e*.jsonl"]\nsession_scope = "{scope}"\n')
        outside = int(count == 0)
        result = digest(at)
        assert (len(result.entries), result.outside) == (count, outside)
        again = digest(at)
        assert (again.figures.messages, again.outside) == (0, outside)
        assert ("other folders left out" in digest_text(again)) is bool(outside)

    def test_what_was_said_before_a_day_is_never_read(
        self, at: Desk, own: Callable[[str], None], transcript: Transcript
    ):
        path = transcript(*TALK, start=datetime(2026, 3, 3, 23, 59, tzinfo=UTC))
        own(f'sessions = ["{path}"]\nsession_scope = "all"\nsessions_since = "2026-03-04"\n')
        first = digest(at)
        assert (len(first.entries), first.figures.messages) == (1, 3)
        own(f'sessions = ["{path}"]\nsession_scope = "all"\n')
        assert digest(at).entries == []

    def test_a_transcript_that_ended_before_a_day_is_not_opened(
        self, at: Desk, own: Callable[[str], None], transcript: Transcript
    ):
        path = transcript(*TALK)
        own(f'sessions = ["{path}"]\nsession_scope = "all"\nsessions_since = "2026-03-04"\n')
        os.utime(path, (1_772_500_000, 1_772_500_000))  # 2026-03-03
        result = digest(at)
        assert (result.inside, result.outside, result.figures.size) == (0, 0, 0)
        with closing(Memory(at.workspace)) as memory:
            pipelines = memory.status().pipelines
        assert pipelines is not None
        assert pipelines.unread == 0

    def test_off_reads_only_what_is_named(
        self, at: Desk, own: Callable[[str], None], transcript: Transcript
    ):
        path = transcript(*TALK)
        own(f'digest = "off"\nsessions = ["{path}"]\n')
        assert (digest(at).figures.messages, digest(at, path).figures.messages) == (0, 4)

    def test_none_are_there(self, at: Desk, own: Callable[[str], None]):
        own('sessions = ["claude"]\n')
        with pytest.raises(WorkspaceProblem) as problem:
            digest(at)
        assert problem.value.code == "no-sessions"
        assert str(at.world.home / ".claude") in str(problem.value)

    def test_a_session_by_the_beginning_of_its_id(
        self, at: Desk, own: Callable[[str], None], transcript: Transcript
    ):
        path = transcript(*TALK)
        own(f'sessions = ["{path.parent}/*.jsonl"]\n')
        with closing(Memory(at.workspace)) as memory:
            assert len(memory.pipelines.digest(Digest(sessions=("5a1e00",))).entries) == 2
            with pytest.raises(PathProblem):
                memory.pipelines.digest(Digest(sessions=("5a1e",)))


class TestTakenOut:
    """What a person took out comes back only when the person says it again."""

    KEPT = "We decided to keep the old pump."

    def forget(self, at: Desk, fact: str, actor: str | None = None) -> None:
        with closing(Memory(at.workspace)) as memory:
            memory.apply(Forget(fact, options=WriteOptions(actor=actor)))

    @pytest.mark.parametrize(("actor", "comes_back"), [(None, False), ("agent/main", True)])
    @pytest.mark.parametrize("where", ["memory/house.md", "memory/2026-03-01.md"])
    def test_by_forget(
        self, at: Desk, transcript: Transcript, actor: str | None, comes_back: bool, where: str
    ):
        at.write(where, f"# House\n\n## 08:00\n\n- {self.KEPT}\n")
        at.commit()
        self.forget(at, self.KEPT, actor)
        result = digest(at, transcript(self.KEPT))
        expected = ([self.KEPT], 0) if comes_back else ([], 1)
        assert (texts(result), result.figures.refused) == expected

    def test_by_hand_and_in_nearly_the_same_words(self, at: Desk, transcript: Transcript):
        at.write(
            "memory/house.md",
            "# House\n\n- We decided to keep the old pump, really.\n- the roof is green\n",
        )
        at.commit()
        at.write("memory/house.md", "# House\n\n- the roof is green\n")
        at.commit()
        assert texts(digest(at, transcript(self.KEPT, "I prefer tea."))) == ["I prefer tea."]

    def test_said_again_later(self, at: Desk, transcript: Transcript):
        at.write("memory/house.md", f"# House\n\n- {self.KEPT}\n")
        at.commit()
        self.forget(at, self.KEPT)
        later = datetime.now(UTC) + timedelta(days=1)
        assert texts(digest(at, transcript(self.KEPT, start=later))) == [self.KEPT]

    def test_said_again_later_by_an_agent(self, at: Desk, transcript: Transcript):
        lesson = "Root cause: the brass valve in the cellar was closed."
        at.write("memory/house.md", f"# House\n\n- {lesson}\n")
        at.commit()
        self.forget(at, lesson)
        result = digest(
            at,
            transcript(
                "Look at it.", f"agent: {lesson}", start=datetime.now(UTC) + timedelta(days=1)
            ),
        )
        assert (texts(result), result.figures.refused) == ([], 1)

    def test_what_was_superseded_was_not_taken_out(self, at: Desk, transcript: Transcript):
        at.write("memory/house.md", f"# House\n\n- {self.KEPT}\n")
        at.commit()
        with closing(Memory(at.workspace)) as memory:
            memory.apply(
                Remember(
                    "We decided to sell it.",
                    file="memory/house.md",
                    section="House",
                    options=WriteOptions(supersedes=self.KEPT),
                )
            )
        assert texts(digest(at, transcript(self.KEPT))) == [self.KEPT]


def test_an_agent_says_nothing_again_that_memory_knows(at: Desk, transcript: Transcript):
    lesson = "Root cause: the brass valve in the cellar was closed."
    at.write("memory/house.md", f"# House\n\n- {lesson}\n")
    at.commit()
    result = digest(
        at, transcript(f"agent: {lesson}", "agent: Root cause: the wiring of the boiler was loose.")
    )
    assert (texts(result), result.figures.doubled) == (
        ["Root cause: the wiring of the boiler was loose."],
        1,
    )
