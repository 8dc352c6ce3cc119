"""Events: whole lines from many processes at once, rotation, what a line says and what it never
says.
"""

import json
import multiprocessing
import os
import resource
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem import events
from mdmem.events import Event, EventRecorder, Outcome, Quality
from mdmem.model import CommitId
from mdmem.model.errors import (
    MdmemError,
    RefusedChange,
    RepositoryProblem,
    StorageProblem,
    UsageProblem,
)

WHEN = datetime(2026, 3, 5, 9, 30, 0, 123000, tzinfo=UTC)
PROCESSES, EACH = 8, 200
PLAIN = ("time", "verb", "ms", "outcome", "code", "actor", "session")


def event(number: int = 0, **fields: Any) -> Event:
    defaults: dict[str, Any] = {
        "verb": "log",
        "ms": float(number),
        "outcome": Outcome.DONE,
        "session": f"s-{number}",
        "time": WHEN,
    }
    return Event(**(defaults | fields))


def lines(state: Path) -> list[bytes]:
    return (state / events.EVENTS_NAME).read_bytes().splitlines()


def test_what_a_line_says(tmp_path: Path):
    events.record_event(tmp_path, event(7))
    events.record_event(
        tmp_path,
        event(
            8,
            path="MEMORY.md",
            commit=CommitId("c" * 40),
            warnings=("shrink",),
            code="x",
            actor="a",
        ),
    )
    first, second = (json.loads(line) for line in lines(tmp_path))
    assert first == {
        **{"time": "2026-03-05T09:30:00.123+00:00", "verb": "log", "ms": 7.0, "outcome": "done"},
        **{"code": None, "actor": None, "session": "s-7"},
    }
    assert {name: second[name] for name in ("path", "commit", "warnings")} == {
        "path": "MEMORY.md",
        "commit": "c" * 40,
        "warnings": ["shrink"],
    }
    assert stat.S_IMODE((tmp_path / events.EVENTS_NAME).stat().st_mode) == 0o600


def test_what_a_line_says_of_a_search(tmp_path: Path):
    events.record_event(tmp_path, event(quality=Quality(words=3, hits=0, behind=True)))
    events.record_event(
        tmp_path,
        event(
            quality=Quality(
                words=3,
                hits=8,
                first=7.91,
                last=2.2,
                spread=0.42,
                text=5,
                heading=1,
                beside=2,
                age=12.5,
                query="w" * 1000,
            )
        ),
    )
    nothing, full = (
        {name: value for name, value in json.loads(line).items() if name not in PLAIN}
        for line in lines(tmp_path)
    )
    assert nothing == {"words": 3, "hits": 0, "text": 0, "heading": 0, "beside": 0, "behind": True}
    assert {**full, "query": len(full["query"])} == {
        **{
            "words": 3,
            "hits": 8,
            "first": 7.91,
            "last": 2.2,
            "spread": 0.42,
            "text": 5,
            "heading": 1,
            "beside": 2,
            "age": 12.5,
        },
        "query": 300,
    }
    assert [events.holds_queries(line) for line in lines(tmp_path)] == [False, True]


def test_a_line_stays_small(tmp_path: Path):
    events.record_event(
        tmp_path,
        event(
            verb="search",
            session=None,
            quality=Quality(
                words=12,
                hits=8,
                first=107.91,
                last=12.25,
                spread=0.42,
                text=5,
                heading=1,
                beside=2,
                age=112.5,
            ),
        ),
    )
    assert len(lines(tmp_path)[0]) < 260


def test_the_real_clock_with_its_offset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MDMEM_NOW", "1999-01-01T00:00:00")
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    with EventRecorder(tmp_path, "log"):
        pass
    (recorded,) = events.read_events(tmp_path)
    assert before <= recorded.time <= datetime.now(UTC)
    assert recorded.time.utcoffset() == timedelta(0)


TEXT = st.none() | st.text(max_size=60)
COUNT = st.integers(0, 1000)
MEASURE = st.none() | st.floats(0, 1e4)
QUALITIES = st.builds(
    Quality,
    **dict.fromkeys(("words", "hits", "text", "heading", "beside"), COUNT),
    **dict.fromkeys(("first", "last", "spread", "age"), MEASURE),
    behind=st.booleans(),
    query=TEXT,
)
EVENTS = st.builds(
    Event,
    verb=st.text(max_size=20),
    ms=st.floats(0, 1e6),
    outcome=st.sampled_from(list(Outcome)),
    code=TEXT,
    actor=TEXT,
    session=TEXT,
    path=TEXT.filter(lambda text: text != ""),
    commit=st.none() | st.just(CommitId("c" * 40)),
    warnings=st.lists(st.sampled_from(["shrink", "append"]), max_size=2).map(tuple),
    bug=TEXT.filter(lambda text: text != ""),
    time=st.datetimes(
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])
    ).map(lambda t: t.replace(microsecond=0)),
    quality=st.none() | QUALITIES,
)


@given(listed=st.lists(EVENTS, max_size=5))
def test_what_is_recorded_is_read(listed: list[Event], tmp_path_factory: pytest.TempPathFactory):
    state = tmp_path_factory.mktemp("state")
    for recorded in listed:
        events.record_event(state, recorded)
    assert events.read_log(state) == events.EventLog(tuple(listed), 0)
    assert not (state / events.EVENTS_NAME).exists() or len(lines(state)) == len(listed)


def test_texts_are_bounded(tmp_path: Path):
    events.record_event(tmp_path, event(actor="a" * 100_000))
    assert len(lines(tmp_path)[0]) < 1000


# Never a reason to fail.


def a_file(path: Path) -> None:
    path.write_text("")


def a_missing_folder(path: Path) -> None:
    pass


def with_a_folder_for_a_file(path: Path) -> None:
    (path / events.EVENTS_NAME).mkdir(parents=True)


def with_a_link_for_a_file(path: Path) -> None:
    path.mkdir()
    (path / events.EVENTS_NAME).symlink_to(path.parent / "elsewhere")


@pytest.mark.parametrize(
    "make", [a_file, a_missing_folder, with_a_folder_for_a_file, with_a_link_for_a_file]
)
def test_where_nothing_can_be_written(make, tmp_path: Path):
    state = tmp_path / "state"
    make(state)
    before = sorted(tmp_path.rglob("*"))
    with EventRecorder(state, "log") as recorder:
        recorder.done()
    assert sorted(tmp_path.rglob("*")) == before


def _write_within(state: str, size: int) -> None:
    """Record events where no file may grow beyond a size, as on a full disk: a write may be cut
    short.
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    for number in range(3):
        events.record_event(Path(state), event(number))


@pytest.mark.costly
def test_a_full_disk(tmp_path: Path):
    room = 200
    worker = multiprocessing.get_context("spawn").Process(
        target=_write_within, args=(str(tmp_path), room)
    )
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    assert (tmp_path / events.EVENTS_NAME).stat().st_size == room
    events.record_event(tmp_path, event(9))
    assert [recorded.session for recorded in events.read_events(tmp_path)] == ["s-0", "s-9"]


def test_no_folder_has_no_events(tmp_path: Path):
    assert list(events.read_events(tmp_path)) == []
    assert list(events.read_events(tmp_path / "missing")) == []
    a_file(tmp_path / "file")
    assert list(events.read_events(tmp_path / "file")) == []


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
@pytest.mark.parametrize("name", [events.EVENTS_NAME, events.OLDER_EVENTS_NAME])
def test_what_is_no_file_is_named(make: Callable[[Path], object], name: str, tmp_path: Path):
    make(tmp_path / name)
    with pytest.raises(OSError, match="not a regular file") as refused:
        list(events.read_events(tmp_path))
    assert refused.value.filename == str(tmp_path / name)
    events.record_event(tmp_path, event(1))


# Lines that are not whole.

SEARCH = b'{"time":"2026-03-05T09:30:00+00:00","verb":"search","ms":1,"outcome":"done","code":null,"actor":null,"session":null,%s}'


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"7",
        b"\xff\xfe",
        b"{}",
        b'{"time":"2026-03-05T09:30:00+00:00","verb":"log","ms":1,"outcome":"odd","code":null,"actor":null,"session":null}',
        b'{"time":"2026-03-05T09:30:00","verb":"log","ms":1,"outcome":"done","code":null,"actor":null,"session":null}',
        b'{"time":"2026-03-05T09:30:00+00:00","verb":1,"ms":1,"outcome":"done","code":null,"actor":null,"session":null}',
        b'{"time":"2026-03-05T09:30:00+00:00","verb":"log","ms":1,"outcome":"done","code":null,"actor":null}',
        b'{"time":7,"verb":"log","ms":1,"outcome":"done","code":null,"actor":null,"session":null}',
        b'{"time":"2026-03-05T09:30:00+00:00","verb":"log","ms":NaN,"outcome":"done","code":null,"actor":null,"session":null}',
        b'{"time":"2026-03-05T09:30:00+00:00","verb":"log","ms":1e999,"outcome":"done","code":null,"actor":null,"session":null}',
        b'{"time":"2026-03-05T09:30:00+00:00","verb":"log","ms":1%s,"outcome":"done","code":null,"actor":null,"session":null}'
        % (b"0" * 400),
        SEARCH % b'"hits":"many"',
        SEARCH % b'"hits":3',
        SEARCH % b'"hits":3,"words":1,"text":1,"heading":1,"beside":1,"first":NaN',
        SEARCH % b'"hits":3,"words":1,"text":1,"heading":1,"beside":1,"query":7',
        b"[" * 100_000,
    ],
)
def test_lines_that_are_no_events_are_passed_over(bad: bytes, tmp_path: Path):
    events.record_event(tmp_path, event(1))
    with (tmp_path / events.EVENTS_NAME).open("ab") as file:
        file.write(bad + b"\n")
    events.record_event(tmp_path, event(2))
    log = events.read_log(tmp_path)
    assert [recorded.session for recorded in log.events] == ["s-1", "s-2"]
    assert log.damaged == (1 if bad else 0)


@given(cut=st.integers(1, 120))
def test_a_line_cut_short_costs_no_other(cut: int, tmp_path_factory: pytest.TempPathFactory):
    state = tmp_path_factory.mktemp("state")
    for number in range(2):
        events.record_event(state, event(number))
    path = state / events.EVENTS_NAME
    whole = lines(state)[-1]
    os.truncate(path, path.stat().st_size - min(cut, len(whole)))
    events.record_event(state, event(2))
    sessions = [recorded.session for recorded in events.read_events(state)]
    assert sessions[0] == "s-0"
    assert sessions[-1] == "s-2"


# Rotation.


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(events, "MAX_BYTES", 20_000)
    return 20_000


def test_rotation_keeps_one_older_file(tmp_path: Path, small: int):
    for number in range(1000):
        events.record_event(tmp_path, event(number))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        events.OLDER_EVENTS_NAME,
        events.EVENTS_NAME,
    ]
    assert all(path.stat().st_size <= small for path in tmp_path.iterdir())
    numbers = [int(recorded.ms) for recorded in events.read_events(tmp_path)]
    assert numbers == list(range(numbers[0], 1000))
    assert (tmp_path / events.OLDER_EVENTS_NAME).stat().st_size > small * 0.9


def test_the_size_at_which_it_rotates(tmp_path: Path):
    assert events.MAX_BYTES == 1_000_000
    (tmp_path / events.EVENTS_NAME).write_bytes(b"\n" * (events.MAX_BYTES - 50))
    events.record_event(tmp_path, event(1))
    assert (tmp_path / events.OLDER_EVENTS_NAME).stat().st_size == events.MAX_BYTES - 50
    assert len(lines(tmp_path)) == 1


def test_a_file_that_another_process_is_moving_is_left_to_it(tmp_path: Path, small: int):
    import fcntl

    (tmp_path / events.EVENTS_NAME).write_bytes(b"\n" * small)
    with (tmp_path / events.EVENTS_NAME).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        events.record_event(tmp_path, event(1))
    assert [path.name for path in tmp_path.iterdir()] == [events.EVENTS_NAME]
    assert [recorded.session for recorded in events.read_events(tmp_path)] == ["s-1"]


def test_who_comes_late_does_not_move_the_new_file_over_the_older(tmp_path: Path, small: int):
    events.record_event(tmp_path, event(1))
    first, late = (
        events._open_to_append(tmp_path / events.EVENTS_NAME),
        events._open_to_append(tmp_path / events.EVENTS_NAME),
    )
    events._rotate(tmp_path / events.EVENTS_NAME, tmp_path / events.OLDER_EVENTS_NAME, first)
    os.close(first)
    events.record_event(tmp_path, event(2))
    events._rotate(tmp_path / events.EVENTS_NAME, tmp_path / events.OLDER_EVENTS_NAME, late)
    os.close(late)
    assert [recorded.session for recorded in events.read_events(tmp_path)] == ["s-1", "s-2"]


_WRITER = """
import sys
from pathlib import Path
from typing import Any
from mdmem import events
state, actor, each, limit = sys.argv[1:]
events.MAX_BYTES = int(limit)
sys.stdin.readline()
for number in range(int(each)):
    events.record_event(Path(state), events.Event("log", number, events.Outcome.DONE, None, actor))
"""


def _from_many_processes(state: Path, limit: int) -> list[Event]:
    """The events that remain after many processes have written at once."""
    commands = [
        [sys.executable, "-c", _WRITER, str(state), f"w-{who}", str(EACH), str(limit)]
        for who in range(PROCESSES)
    ]
    writers = [subprocess.Popen(command, stdin=subprocess.PIPE) for command in commands]
    for writer in writers:
        assert writer.stdin
        writer.stdin.write(b"now\n")
        writer.stdin.close()
    assert [writer.wait() for writer in writers] == [0] * PROCESSES
    for path in state.iterdir():
        for line in path.read_bytes().split(b"\n"):
            assert not line or json.loads(line), "a torn line"
    return list(events.read_events(state))


@pytest.mark.costly
def test_many_processes_lose_nothing_in_one_rotation(tmp_path: Path):
    """All events of 8 processes fit into two files: with one rotation between, none may be missing,
    doubled or torn.
    """
    limit = PROCESSES * EACH * 130 * 3 // 4
    log = _from_many_processes(tmp_path, limit)
    assert (tmp_path / events.OLDER_EVENTS_NAME).exists()
    assert Counter(recorded.actor for recorded in log) == {
        f"w-{who}": EACH for who in range(PROCESSES)
    }
    assert {(recorded.actor, int(recorded.ms)) for recorded in log} == {
        (f"w-{who}", number) for who in range(PROCESSES) for number in range(EACH)
    }


@pytest.mark.costly
def test_many_processes_and_many_rotations(tmp_path: Path):
    """Rotation drops the oldest events; the rest is whole."""
    log = _from_many_processes(tmp_path, 20_000)
    assert len(log) * 130 > 20_000 * 0.9, "a full file was moved away before its time"
    assert len({(recorded.actor, recorded.ms) for recorded in log}) == len(log)


# Watching a verb.


def test_a_search_that_is_watched(tmp_path: Path):
    with EventRecorder(tmp_path, "search") as recorder:
        recorder.searched(Quality(words=1, hits=2))
    (recorded,) = events.read_events(tmp_path)
    assert (recorded.verb, recorded.outcome, recorded.quality) == (
        "search",
        Outcome.DONE,
        Quality(words=1, hits=2),
    )


PROBLEMS = [
    (MdmemError("section-not-found", "secret words"), Outcome.REFUSED, "section-not-found"),
    (UsageProblem("secret words"), Outcome.REFUSED, "usage"),
    (RefusedChange("shrink", "secret words"), Outcome.REFUSED, "shrink"),
    (RepositoryProblem("busy", "secret words"), Outcome.REFUSED, "busy"),
    (StorageProblem("secret words"), Outcome.FAILED, "storage"),
    (OSError(28, "secret words", "secret words"), Outcome.FAILED, "storage"),
    (KeyboardInterrupt("secret words"), Outcome.FAILED, "interrupted"),
    (ValueError("secret words"), Outcome.BUG, "bug"),
]


@pytest.mark.parametrize(
    ("problem", "outcome", "code"), PROBLEMS, ids=lambda value: type(value).__name__
)
def test_a_verb_that_raises(problem: BaseException, outcome: Outcome, code: str, tmp_path: Path):
    with (
        pytest.raises(type(problem)) as raised,
        EventRecorder(tmp_path, "log", "agent/main", "s-1"),
    ):
        raise problem
    assert raised.value is problem
    (recorded,) = events.read_events(tmp_path)
    assert (recorded.verb, recorded.outcome, recorded.code, recorded.actor, recorded.session) == (
        "log",
        outcome,
        code,
        "agent/main",
        "s-1",
    )
    assert (recorded.bug is not None) == (outcome is Outcome.BUG)
    assert b"secret words" not in lines(tmp_path)[0]


def test_a_bug_is_named_with_its_place(tmp_path: Path):
    with pytest.raises(KeyError), EventRecorder(tmp_path, "log"):
        _ = {}["secret words"]
    (recorded,) = events.read_events(tmp_path)
    assert (recorded.bug or "").startswith(f"KeyError in {__name__}:")


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [(None, Outcome.DONE), (True, Outcome.DONE), (False, Outcome.UNCHANGED)],
    ids=["unsaid", "done", "unchanged"],
)
def test_a_verb_that_returns(changed: bool | None, outcome: Outcome, tmp_path: Path):
    with EventRecorder(tmp_path, "log") as recorder:
        if changed is not None:
            recorder.done(changed, "MEMORY.md", CommitId("c" * 40), ("shrink",))
    (recorded,) = events.read_events(tmp_path)
    assert (recorded.outcome, recorded.code) == (outcome, None)
    assert recorded.ms >= 0
    assert (recorded.path, recorded.commit, recorded.warnings) == (
        (None, None, ()) if changed is None else ("MEMORY.md", "c" * 40, ("shrink",))
    )
