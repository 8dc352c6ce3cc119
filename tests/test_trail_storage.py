"""The trail on disk: stored, damaged, shared with a process that writes, read-only, full."""

import contextlib
import multiprocessing
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from made_trail import (
    CALLS,
    FACTS,
    ODD,
    PATHS,
    append_steps,
    entry,
    mark,
    occurrence,
    revision,
    trail_commit,
)
from trail_dump import dump
from trail_model import Model, random_step

from mdmem import past
from mdmem.model.errors import StorageProblem
from mdmem.model.trail import Fate, MarkKind, TrailCommit
from mdmem.past.rows import TRAIL_VERSION
from mdmem.past.steps import Ending, Step, verify_trail
from mdmem.past.storage import TRAIL_NAME, BrokenTrail
from mdmem.past.table import Trail


def filled(folder: Path) -> Path:
    with Trail.open(folder, "s") as trail:
        append_steps(
            trail,
            Step(
                begun=(occurrence(1),),
                revisions=(revision(1),),
                marks=(mark(MarkKind.RETRACTED, 1, -1),),
                paths=(PATHS[0],),
            ),
        )
        append_steps(
            trail,
            Step(
                ended=(Ending(1, entry(), Fate.REMOVED),),
                ended_revisions=(1,),
                revisions=(revision(2, "other", 1),),
            ),
        )
    return folder / TRAIL_NAME


def test_it_is_stored(tmp_path: Path):
    filled(tmp_path)
    with Trail.in_memory() as in_memory, Trail.open(tmp_path, "s") as trail:
        append_steps(
            in_memory,
            Step(
                begun=(occurrence(1),),
                revisions=(revision(1),),
                marks=(mark(MarkKind.RETRACTED, 1, -1),),
                paths=(PATHS[0],),
            ),
        )
        append_steps(
            in_memory,
            Step(
                ended=(Ending(1, entry(), Fate.REMOVED),),
                ended_revisions=(1,),
                revisions=(revision(2, "other", 1),),
            ),
        )
        assert dump(trail) == dump(in_memory)
    assert [path.name for path in tmp_path.iterdir()] == [TRAIL_NAME]


def _schema(path: Path) -> list[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()


def test_a_large_first_commit_is_indexed_in_the_end(tmp_path: Path):
    first, rest = (
        Step(
            begun=tuple(occurrence(1, f"fact {n}") for n in range(1000)), revisions=(revision(1),)
        ),
        Step(begun=(occurrence(2),)),
    )
    with Trail.open(tmp_path / "one", "s") as one, Trail.open(tmp_path / "two", "s") as two:
        append_steps(one, first, rest)
        append_steps(
            two,
            Step(),
            replace(
                first,
                begun=tuple(replace(each, begun=2) for each in first.begun),
                revisions=(revision(2),),
            ),
        )
        assert len(one.live_occurrences(PATHS[0])) == 1001
        assert len(two.occurrences_of(FACTS[0])) == 1000
    assert _schema(tmp_path / "one" / TRAIL_NAME) == _schema(tmp_path / "two" / TRAIL_NAME)


def test_a_large_first_commit_that_is_refused_changes_nothing(tmp_path: Path):
    filled(tmp_path / "small")
    begun = tuple(occurrence(1, f"fact {n}") for n in range(1000))
    with Trail.open(tmp_path / "large", "s") as trail:
        with pytest.raises(BrokenTrail):
            append_steps(trail, Step(begun=begun, marks=(mark(MarkKind.RETRACTED, 1, 5000),)))
        assert trail.newest_commit is None
        append_steps(trail, Step(begun=begun))
    assert _schema(tmp_path / "large" / TRAIL_NAME) == _schema(tmp_path / "small" / TRAIL_NAME)


def test_nothing_is_created_before_the_first_write(tmp_path: Path):
    folder = tmp_path / "missing"
    with Trail.open(folder, "s") as trail:
        assert trail.newest_commit is None
        assert trail.commits_after() == trail.newest_revisions() == ()
        assert not folder.exists()
        append_steps(trail, Step())
        assert trail.newest_commit == trail_commit(1)
    assert (folder / TRAIL_NAME).is_file()


def _another_version(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {TRAIL_VERSION + 1}")


def _another_program(path: Path) -> None:
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {TRAIL_VERSION}")
        connection.execute("CREATE TABLE about (settings TEXT)")


def _without_a_table(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE about")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("# Memory\n" * 1000),
    "cut short": lambda path: os.truncate(path, 5000),
    "cut very short": lambda path: os.truncate(path, 50),
    "newer": _another_version,
    "foreign": _another_program,
    "half created": _without_a_table,
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "a log that is not its own": lambda path: [
        _another_version(path),
        path.with_name(f"{TRAIL_NAME}-wal").write_bytes(b"x" * 9000),
    ],
}


@pytest.mark.parametrize("name", DAMAGE)
def test_an_unusable_file_counts_as_empty(name: str, tmp_path: Path):
    path = filled(tmp_path)
    DAMAGE[name](path)
    with pytest.raises(BrokenTrail):
        verify_trail(tmp_path)
    with Trail.open(tmp_path, "s") as trail:
        assert trail.newest_commit is None
        append_steps(trail, Step(begun=(occurrence(1, ODD),)))
    with Trail.open(tmp_path, "s") as trail:
        assert [occurrence.entry.text for occurrence in trail.live_occurrences(PATHS[0])] == [ODD]
    assert [path.name for path in tmp_path.iterdir()] == [TRAIL_NAME]


def test_a_trail_is_verified_whatever_its_settings(tmp_path: Path):
    assert verify_trail(tmp_path) is None
    before = filled(tmp_path).read_bytes()
    assert verify_trail(tmp_path) == 2
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(TRAIL_NAME, before)]


def test_other_settings_make_it_empty(tmp_path: Path):
    before = filled(tmp_path).read_bytes()
    with Trail.open(tmp_path, "other") as trail:
        assert trail.newest_commit is None
    assert (tmp_path / TRAIL_NAME).read_bytes() == before
    with Trail.open(tmp_path, "other") as trail:
        append_steps(trail, Step())
    with Trail.open(tmp_path, "s") as old, Trail.open(tmp_path, "other") as new:
        assert (old.newest_commit, new.newest_commit) == (None, trail_commit(1))


def test_create_replaces_what_is_there(tmp_path: Path):
    filled(tmp_path)
    with Trail.create(tmp_path, "s") as trail:
        assert trail.newest_commit is None
        append_steps(trail, Step())
    with Trail.open(tmp_path, "s") as trail:
        assert trail.newest_commit == trail_commit(1)
        assert trail.newest_revisions() == ()


def _read_all(trail: Trail) -> None:
    for call in CALLS.values():
        call(trail)
    trail.revisions_containing("works")
    dump(trail)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("sound")
    random = Random(4)
    history: list[tuple[TrailCommit, Step]] = []
    with Trail.open(folder, "s") as trail, trail.writing():
        for number in range(1, 31):  # the calls ask for commit 30
            history.append((trail_commit(number), random_step(number, Model(history), random)))
            trail.append(*history[-1])
    return (folder / TRAIL_NAME).read_bytes()


@examples(50)
@given(data=st.data())
def test_damage_makes_a_broken_trail_at_worst(
    sound: bytes, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    folder = tmp_path_factory.mktemp("damaged")
    damaged = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(damaged) - 1))
        junk = data.draw(st.binary(min_size=1, max_size=30))
        damaged[start : start + len(junk)] = junk
    (folder / TRAIL_NAME).write_bytes(
        damaged[: data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))]
    )
    try:
        whole = verify_trail(folder) is not None
    except BrokenTrail:
        whole = False
    with (
        Trail.open(folder, "s") as trail,
        contextlib.nullcontext() if whole else contextlib.suppress(BrokenTrail),
    ):
        _read_all(trail)
    with Trail.create(folder, "s") as trail:
        append_steps(trail, Step())
        assert trail.newest_commit == trail_commit(1)


# Other processes.


def test_a_reader_sees_the_last_committed_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mdmem.past.storage._BUSY_SECONDS", 0.05)
    filled(tmp_path)
    with Trail.open(tmp_path, "s") as writer, Trail.open(tmp_path, "s") as reader:
        before = dump(reader)
        with writer.writing():
            append_steps(
                writer,
                *(Step(begun=(occurrence(number, "x" * 10_000),)) for number in range(3, 400)),
            )
            assert dump(reader) == before
            with Trail.open(tmp_path, "s") as second_reader:
                assert dump(second_reader) == before
                with pytest.raises(StorageProblem, match="locked"):
                    append_steps(second_reader, Step())
        assert dump(reader) == dump(writer) != before


_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_trail_table import Ending, Fate, Step, Trail, append_steps, entry, occurrence
with Trail.open(Path(sys.argv[1]), "s") as trail:
    number = trail.newest_commit.number if trail.newest_commit else 0
    print("ready", flush=True)
    while True:
        with trail.writing():
            for _ in range(5):
                number += 1
                ended = [Ending(old.number, old.entry, Fate.MOVED) for old in trail.live_occurrences(entry().path)]
                append_steps(trail, Step(ended=tuple(ended), begun=tuple(occurrence(number) for _ in range(3))))
"""


@pytest.mark.costly
def test_a_reader_next_to_a_process_that_writes_and_is_killed(tmp_path: Path):
    with Trail.open(tmp_path, "s") as trail:
        append_steps(
            trail, Step(begun=(occurrence(1), occurrence(1), occurrence(1))), *[Step()] * 4
        )
    command = [sys.executable, "-c", _WRITER, str(tmp_path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == b"ready\n"
        with Trail.open(tmp_path, "s") as reader:
            numbers = {5}
            while len(numbers) < 10:
                live = reader.live_occurrences(PATHS[0])
                assert len(live) == 3
                assert len({occurrence.begun for occurrence in live}) == 1
                numbers.add(live[0].begun // 5 * 5)
                assert live[0].begun == 1 or live[0].begun % 5 == 0
        writer.kill()
    with Trail.open(tmp_path, "s") as trail:
        assert trail.newest_commit
        assert trail.newest_commit.number >= max(numbers)
        assert trail.newest_commit.number % 5 == 0
        append_steps(trail, Step())
        trail.cut(5)
        assert len(trail.live_occurrences(PATHS[0])) == 3


def _as_nobody(folder: str, answer: str) -> None:
    """Read and write the trail as a user who may only read it."""
    with Path(answer).open("w") as output:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        with Trail.open(Path(folder), "s") as trail:
            print(
                trail.newest_commit == trail_commit(2),
                len(trail.occurrences_of(FACTS[0])),
                file=output,
            )
            for write in (
                lambda: append_steps(trail, Step()),
                trail.forget_dropped,
                lambda: trail.cut(0),
            ):
                with pytest.raises(StorageProblem):
                    write()
            print(trail.newest_commit == trail_commit(2), file=output)
        with Trail.open(Path(folder), "other") as trail:
            with pytest.raises(StorageProblem, match="cannot be written"):
                append_steps(trail, Step())
            print(trail.newest_commit, file=output)


def test_a_read_only_folder(tmp_path: Path):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = filled(folder)
        before = path.read_bytes()
        path.chmod(0o444)
        folder.chmod(0o555)
        worker = multiprocessing.get_context("fork").Process(
            target=_as_nobody, args=(name, str(tmp_path / "answer"))
        )
        worker.start()
        worker.join()
        folder.chmod(0o755)
        assert worker.exitcode == 0
        assert (tmp_path / "answer").read_text() == "True 1\nTrue\nNone\n"
        assert path.read_bytes() == before
        assert [path.name for path in folder.iterdir()] == [TRAIL_NAME]


def _write_much(trail: Trail) -> None:
    with trail.writing():
        for number in range(len(trail.commits_after()) + 1, 200):
            append_steps(trail, Step(begun=(occurrence(number, "x" * 50_000),)))


def _write_within(folder: str, size: int) -> None:
    """Write the trail where no file may grow beyond a size, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    with Trail.open(Path(folder), "s") as trail:
        before = dump(trail)
        assert len(before[0]) == (2 if Path(folder).exists() else 0)
        with pytest.raises(StorageProblem):
            _write_much(trail)
        assert dump(trail) == before


@pytest.mark.costly
@pytest.mark.parametrize("size", [0, 10_000, 300_000])
@pytest.mark.parametrize("existing", [False, True])
def test_a_full_disk(size: int, existing: bool, tmp_path: Path):
    if existing:
        filled(tmp_path / "state")
    worker = multiprocessing.get_context("fork").Process(
        target=_write_within, args=(str(tmp_path / "state"), size)
    )
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    with Trail.open(tmp_path / "state", "s") as trail:
        newest = trail.newest_commit
        assert newest == (trail_commit(2) if existing else None)
        append_steps(trail, Step(begun=(occurrence(3 if existing else 1),)))
        assert len(trail.live_occurrences(PATHS[0])) == 1


def test_a_folder_in_the_way(tmp_path: Path):
    (tmp_path / TRAIL_NAME).mkdir()
    with Trail.open(tmp_path, "s") as trail:
        assert trail.newest_commit is None
        with pytest.raises(StorageProblem, match="cannot be written"):
            append_steps(trail, Step())


def test_no_statement_numbers_its_placeholders():
    """`?1` with values in a sequence: early versions of Python 3.12 warn of it, others do not."""
    for path in Path(past.__file__).parent.glob("*.py"):
        assert not re.search(r"\?\d", path.read_text(encoding="utf-8")), path.name
