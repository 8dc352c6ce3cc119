"""The journal of what is under way, as it is kept on disk."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from mdmem.folder import files, journal
from mdmem.folder.journal import BranchStep, CommitStep, FileStep, Journal, Rename


def test_locks_and_journals_are_where_another_version_looks_for_them():
    names = (
        files.LOCK_NAME,
        journal.WRITE_NAME,
        journal.LANDING_NAME,
        files.INDEX_LOCK,
        files.QUEUE_LOCK,
        files.TRAIL_LOCK,
    )
    assert names == (
        *("lock", "write-ahead.json", "landing.json"),
        *("index.lock", "queue.lock", "trail.lock"),
    )


A, B, C = (
    {"path": "a.md", "before": None, "after": "0", "temporary": ".mdmem-0.tmp"},
    {"path": "b.md", "before": "1", "after": "2", "temporary": ".mdmem-1.tmp"},
    {"path": "c.md", "before": "3", "after": None, "temporary": ".mdmem-2.tmp"},
)
MOVE = {"path": "a.md", "target": "b.md", "is_removal": False, "digests": {"": "0"}}
REMOVAL = MOVE | {"target": "x/.mdmem-0.tmp", "is_removal": True}
COMMIT = {"message": "m\N{SNOWMAN}\udcff", "date": "@0 +0000"}
BRANCH = {"branch": "main", "before": "4", "after": "5"}
UNBORN = {"branch": None, "before": None, "after": "5"}
KINDS: dict[str, Any] = {kind.__name__: kind for kind in (FileStep, Rename, CommitStep, BranchStep)}
WRITE = [["FileStep", A], ["CommitStep", COMMIT]]


@pytest.mark.parametrize(
    ("rows", "record"),
    [
        (WRITE, {**A, **COMMIT}),
        ([["FileStep", B], *WRITE], {**B, **COMMIT, "second": A}),
        ([["Rename", MOVE], ["CommitStep", COMMIT]], {**MOVE, **COMMIT}),
        ([["Rename", REMOVAL], ["CommitStep", COMMIT]], {**REMOVAL, **COMMIT}),
        (
            [["FileStep", A], ["FileStep", C], ["BranchStep", BRANCH]],
            {"branch": "main", "from": "4", "to": "5", "files": [A, C]},
        ),
        ([["BranchStep", UNBORN]], {"branch": None, "from": None, "to": "5", "files": []}),
    ],
    ids=["write", "write of two files", "move", "removal", "landing", "landing of nothing"],
)
def test_another_version_finds_it_and_this_one_what_version_0_3_left(
    tmp_path: Path, rows: list[list[Any]], record: object
):
    *steps, then = (KINDS[name](**fields) for name, fields in rows)
    left, path = Journal(tuple(steps), then), tmp_path / journal.WRITE_NAME
    journal.save(path, left)
    assert json.loads(path.read_text()) == rows
    assert journal.load(path) == left
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text(json.dumps(record))
    assert journal.load(path) == left


@pytest.mark.parametrize(
    "rows",
    [
        *(
            [["FileStep", A | {name: value}], WRITE[1]]
            for name in ("path", "before", "after", "temporary", "more")
            for value in (7, [])
        ),
        *([["FileStep", A | {name: None}], WRITE[1]] for name in ("path", "temporary")),
        *([["FileStep", fields], WRITE[1]] for fields in (None, [], {})),
        *(
            [WRITE[0], ["CommitStep", COMMIT | {name: value}]]
            for name in ("message", "date")
            for value in (7, None)
        ),
        *([["BranchStep", BRANCH | {name: 7}]] for name in BRANCH),
        [["BranchStep", BRANCH | {"after": None}]],
        *(
            [["Rename", REMOVAL | {"target": target}], WRITE[1]]
            for target in ("x/b", ".mdmem-0.tmp/b")
        ),
        [["Rename", MOVE | {"digests": {"": 0}}], WRITE[1]],
        [["Commit", COMMIT]],
        [7, WRITE[1]],
        [],
    ],
)
def test_one_that_somebody_wrote_is_none(tmp_path: Path, rows: list[object]):
    (tmp_path / "x").write_text(json.dumps(rows))
    assert journal.load(tmp_path / "x") is None


def test_what_is_dropped_with_it(tmp_path: Path):
    path = tmp_path / journal.WRITE_NAME
    journal.save(path, Journal((), CommitStep("", "")))
    for name in (".mdmem-1.tmp", ".mdmem-2.tmp", "kept.tmp", ".mdmem-kept"):
        (tmp_path / name).touch()
    journal.drop(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mdmem-kept", "kept.tmp"]
    journal.drop(tmp_path / "none" / "x")
    journal.drop(path)


def test_what_another_process_has_dropped_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter([folder / ".mdmem-1.tmp"]))
    journal.drop(tmp_path / "x")
