"""The doctor's checks of the state folder: an interrupted write, leftovers, the table of versions,
the index, the events.
"""

import contextlib
import fcntl
import sqlite3
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import World
from examination import AN_HOUR, TWO_DAYS, examine, findings_of, make_old, only_finding, rebuild
from examination import desk as desk
from examination import holder as holder
from workspaces import TOKEN, Desk, append, without_state
from workspaces import desk as make_desk

from mdmem import events
from mdmem.events import Event, Outcome
from mdmem.folder import files, journal
from mdmem.folder.journal import CommitStep, FileStep, Journal
from mdmem.health import doctor
from mdmem.health.doctor import Level, exit_status
from mdmem.index.snapshot import INDEX_VERSION
from mdmem.model import FilePath
from mdmem.model.errors import verb
from mdmem.past.storage import TRAIL_NAME

# mdmem's own folder and files.


def test_no_state_folder_yet(world: World, repository: Path):
    desk = make_desk(world, repository)
    levels = {finding.check: finding.level for finding in examine(desk)}
    assert [levels[check] for check in ("state", "versions", "index", "events")] == [
        Level.NOTE,
        Level.NOTE,
        Level.NOTE,
        Level.OK,
    ]
    assert not desk.workspace.state.exists()


def test_a_state_folder_that_cannot_be_written(
    world: World, repository: Path, monkeypatch: pytest.MonkeyPatch
):
    desk = make_desk(world, repository)
    without_state(monkeypatch)
    assert only_finding(desk, "state").level is Level.ERROR
    assert exit_status(examine(desk, fix=True)) == 1


def record(desk: Desk, temporary: str = ".mdmem-0a.tmp") -> Path:
    path = desk.workspace.state / journal.WRITE_NAME
    step = FileStep(FilePath("MEMORY.md"), "0", "1", temporary)
    journal.save(path, Journal((step,), CommitStep(TOKEN, "@0 +0000")))
    return path


def test_an_interrupted_write(desk: Desk):
    record_path = record(desk)
    for fix in (False, True):
        finding = only_finding(desk, "record", fix)
        assert (finding.level, finding.fixed) == (Level.WARNING, False)
        assert "MEMORY.md" in finding.message
        assert "next write" in finding.hint
    record_path.write_bytes(record_path.read_bytes()[:40])
    assert "incomplete" in only_finding(desk, "record").message
    desk.apply(append())
    assert findings_of(desk, "record") == []


def test_an_interrupted_write_of_two_files_needs_what_lies_beside_both(desk: Desk):
    steps = (
        FileStep(FilePath("MEMORY.md"), "0", "1", "x"),
        FileStep(FilePath("memory/a.md"), "0", "1", TEMPORARY),
    )
    left = Journal(steps, CommitStep("", "@0 +0000"))
    journal.save(desk.workspace.state / journal.WRITE_NAME, left)
    temporary = make_old(desk.write(f"memory/{TEMPORARY}", "half"), TWO_DAYS)
    assert "MEMORY.md and memory/a.md" in only_finding(desk, "record").message
    assert not only_finding(desk, "temporary", fix=True).fixed
    assert temporary.exists()


def test_a_write_that_is_under_way(desk: Desk, holder: subprocess.Popen[str]):
    record(desk)
    assert only_finding(desk, "record").level is Level.NOTE


TEMPORARY = ".mdmem-0123456789abcdef.tmp"
BACK = files.backup_name(TEMPORARY)


@pytest.mark.parametrize(
    ("path", "age", "is_recorded", "removed"),
    [
        (TEMPORARY, TWO_DAYS, False, True),
        (f"memory/deep/{TEMPORARY}", TWO_DAYS, False, True),
        (TEMPORARY, AN_HOUR, False, False),
        (TEMPORARY, TWO_DAYS, True, False),
        (BACK, TWO_DAYS, False, True),
        (BACK, TWO_DAYS, True, False),
    ],
)
def test_a_temporary_file_left_behind(
    path: str, age: int, is_recorded: bool, removed: bool, desk: Desk
):
    temporary = make_old(desk.write(path, "half"), age)
    if is_recorded:
        record(desk, TEMPORARY)
    assert path in only_finding(desk, "temporary").message
    assert temporary.exists()
    assert only_finding(desk, "temporary", fix=True).fixed is removed
    assert temporary.exists() is not removed


@pytest.mark.parametrize(
    "path", [".mdmem-notes.tmp", "memory/x.tmp", "a.mdmem-0123456789abcdef.tmp"]
)
def test_a_file_that_is_not_mdmems_is_not_its_business(path: str, desk: Desk):
    file = make_old(desk.write(path, "mine"), TWO_DAYS)
    assert findings_of(desk, "temporary", fix=True) == []
    assert file.exists()


# The table of versions.


def break_table(path: Path) -> None:
    path.write_bytes(b"# Memory" * 1000)


def break_page(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * 4096 + data[8192:])


def break_value(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as table, table:
        table.execute("UPDATE occurrences SET section = x'ff'")


def break_revision(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as table, table:
        table.execute("UPDATE revisions SET head = 9")


def break_sort(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as table, table:
        table.execute("PRAGMA writable_schema = ON")
        table.execute(
            "UPDATE sqlite_schema SET sql = 'CREATE INDEX occurrences_fact ON occurrences (path)' WHERE name = 'occurrences_fact'"
        )


@pytest.mark.parametrize(
    "spoil", [break_table, break_page, break_value, break_revision, break_sort]
)
def test_a_damaged_table_of_versions(spoil: Callable[[Path], None], desk: Desk):
    path = desk.workspace.state / TRAIL_NAME
    spoil(path)
    before = only_finding(desk, "versions")
    assert (
        before.level,
        before.fixed,
        before.hint
        == f"To discard it: {verb('doctor', 'fix')}. It is then rebuilt from the commits.",
    ) == (
        Level.WARNING,
        False,
        True,
    )
    assert path.exists()
    assert only_finding(desk, "versions", fix=True).fixed
    assert not path.exists()
    assert only_finding(desk, "versions").level is Level.NOTE
    rebuild(desk, True)
    assert findings_of(desk, "versions") == []


def test_a_table_of_versions_for_other_settings_is_whole(desk: Desk):
    desk.write("mdmem.toml", 'extra_paths = ["notes"]\n')
    assert findings_of(desk, "versions") == []


# The index.


def break_seen(folder: Path) -> None:
    (folder / "seen.json").write_text("{")


def break_version(folder: Path) -> None:
    seen = (folder / "seen.json").read_text()
    (folder / "seen.json").write_text(seen.replace(f"[{INDEX_VERSION},", "[0,"))


def break_documents(folder: Path) -> None:
    for path in folder.rglob("*.store"):
        path.write_bytes(bytes(200) + path.read_bytes()[200:])


def break_meta(folder: Path) -> None:
    (folder / "documents" / "meta.json").write_text("{}")


@pytest.mark.parametrize("spoil", [break_seen, break_version, break_documents, break_meta])
def test_a_broken_index(spoil, desk: Desk):
    spoil(desk.workspace.state / "index")
    assert (only_finding(desk, "index").level, only_finding(desk, "index").fixed) == (
        Level.WARNING,
        False,
    )
    after = only_finding(desk, "index", fix=True)
    assert after.fixed
    assert "2 entries" in after.message
    assert findings_of(desk, "index") == []


def test_an_index_that_is_behind(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "mdmem.folder.files.RACY_NS", 0
    )  # else a file that was just written is read once more
    desk.write("MEMORY.md", "# Memory\n\n- one\n- two\n- three\n")
    assert (only_finding(desk, "index").level, only_finding(desk, "index").fixed) == (
        Level.NOTE,
        False,
    )
    assert "3 entries" in only_finding(desk, "index", fix=True).message
    assert findings_of(desk, "index") == []


def test_an_index_in_many_pieces(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor.contents, "_MANY_SEGMENTS", 0)
    assert "it has 1 segment," in only_finding(desk, "index").message
    assert only_finding(desk, "index", fix=True).fixed


def test_what_the_index_says_of_itself(desk: Desk):
    (finding,) = (each for each in examine(desk) if each.check == "index")
    assert finding.message.startswith("2 entries, 1 segment, ")


# Events.


def test_events_of_the_last_days(desk: Desk):
    now = datetime.now(UTC)
    for days, name, ms, outcome, code, bug in (
        (8, "purge", 9e6, Outcome.BUG, "bug", "KeyError in old:1"),
        (6, "log", 12, Outcome.DONE, None, None),
        (6, "edit-section", 1500, Outcome.REFUSED, "section-not-found", None),
        (5, "edit-section", 10, Outcome.REFUSED, "section-not-found", None),
        (1, "log", 10, Outcome.REFUSED, "busy", None),
        (1, "log", 10, Outcome.REFUSED, "usage", None),
        (1, "log", 10, Outcome.FAILED, "storage", None),
        (0, "search", 10, Outcome.BUG, "bug", "KeyError in mdmem.index.query:7"),
    ):
        events.record_event(
            desk.workspace.state,
            Event(
                verb=name,
                ms=ms,
                outcome=outcome,
                code=code,
                bug=bug,
                time=now - timedelta(days=days),
            ),
        )
    findings = [
        (finding.level, finding.message) for finding in examine(desk) if finding.check == "events"
    ]
    assert findings == [
        (Level.OK, "7 in the last 7 days; the slowest was edit-section, 1,500 ms"),
        (Level.NOTE, "refused: 2 section-not-found, 1 busy"),
        (Level.WARNING, "failed: 1 storage"),
        (Level.WARNING, "a bug in mdmem, in search: KeyError in mdmem.index.query:7 (times: 1)"),
    ]


# Mending waits its turn.


def test_nothing_is_mended_while_another_mdmem_writes(desk: Desk):
    desk.write("mdmem.toml", "lock_timeout = 0.05\n")
    lock = make_old(desk.write(".git/index.lock", ""), AN_HOUR)
    temporary = make_old(desk.write(TEMPORARY, "half"), TWO_DAYS)
    with (desk.workspace.state / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        findings = examine(desk, fix=True)
    assert lock.exists()
    assert temporary.exists()
    assert {finding.check for finding in findings if finding.level is Level.ERROR} == {
        "locks",
        "temporary",
    }


def test_a_table_that_is_being_written_is_not_discarded(desk: Desk):
    desk.write("mdmem.toml", "lock_timeout = 0.05\n")
    path = desk.workspace.state / TRAIL_NAME
    break_table(path)
    with files.lock(desk.workspace.state / files.TRAIL_LOCK, 0):
        assert only_finding(desk, "versions", fix=True).level is Level.ERROR
    assert path.exists()
