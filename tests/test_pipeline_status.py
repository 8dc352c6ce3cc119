"""`status` and `stats` of digests: what they warn of, and what they sum up."""

import json
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from commandline import Shell
from pi_sessions import write_session

from mdmem.health.stats import run_figures
from mdmem.model.pipelines import StepFigures, StepRecord
from mdmem.nights import steps
from mdmem.workspace import open_at

DAY = 24 * 3600


@pytest.fixture
def sessions(shell: Shell) -> Path:
    folder = shell.world.home / "sessions"
    folder.mkdir()
    own = shell.world.home / ".config" / "mdmem" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'sessions = ["{folder}/*.jsonl"]\nsession_scope = "all"\ndream = "off"\n')
    return folder


def status(shell: Shell) -> Any:
    return shell.run("status", "--json").answer["pipelines"]


def aged(path: Path, days: int) -> Path:
    os.utime(path, (time.time() - days * DAY,) * 2)
    return path


def record(days: float, **figures: Any) -> StepRecord:
    """A step that was carried out so many days ago."""
    return StepRecord(
        step="digest",
        outcome="done",
        ms=1.0,
        time=datetime.now(UTC) - timedelta(days=days),
        figures=StepFigures(**figures),
    )


def recorded(shell: Shell, *records: StepRecord) -> None:
    workspace = open_at(shell.folder, os.environ)
    workspace.ensure_state()
    (workspace.state / steps.RUNS_NAME).write_text(
        "".join(json.dumps(steps.record_json(each)) + "\n" for each in records)
    )


class TestStatus:
    def test_without_sessions_nothing_is_looked_at(self, shell: Shell):
        sys.modules.pop("mdmem.nights.digest.overview", None)
        assert status(shell) is None
        assert "mdmem.nights.digest.overview" not in sys.modules
        assert "last run" not in shell.run("status").out

    def test_before_the_first_run(self, shell: Shell, sessions: Path):
        write_session(sessions, "We decided to keep the pump.")
        assert status(shell) == {
            "last": None,
            "unread": {"count": 0, "oldest": None},
            "silent": [],
            "dreamt": None,
            "open_days": [],
            "model": None,
            "skipped": [],
        }
        out = shell.run("status").out
        assert "last run   none\n" in out
        assert "next       mdmem run" in out

    def test_the_last_run(self, shell: Shell, sessions: Path):
        write_session(sessions, "We decided to keep the pump.")
        shell.run("run")
        last = status(shell)["last"]
        assert (last["step"], last["outcome"]) == ("digest", "done")
        assert f"last run   digest done, {datetime.now():%Y-%m-%d}" in shell.run("status").out

    def test_sessions_that_are_unread_for_long(self, shell: Shell, sessions: Path):
        oldest = aged(
            write_session(sessions, "We decided to keep the pump.", session="5a1e0000"), 28
        )
        aged(write_session(sessions, "We decided to keep the boat.", session="5a1e0001"), 25)
        aged(write_session(sessions, "We decided to keep the car.", session="5a1e0002"), 19)
        unread = status(shell)["unread"]
        assert (unread["count"], unread["oldest"]["path"]) == (2, str(oldest))
        assert "unread     2 sessions for more than 20 days" in shell.run("status").out
        shell.run("run")
        assert status(shell)["unread"] == {"count": 0, "oldest": None}

    def test_lines_that_were_skipped(self, shell: Shell, sessions: Path):
        path = write_session(sessions, "We decided to keep the pump.")
        with path.open("a") as file:
            file.write('{"torn\n')
        shell.run("run")
        (skipped,) = status(shell)["skipped"]
        assert (skipped["path"], skipped["lines"], skipped["first"]) == (str(path), 1, 3)
        with path.open("a") as file:
            file.write("not json\nnor this\n")
        shell.run("run")
        (skipped,) = status(shell)["skipped"]
        assert (skipped["lines"], skipped["first"]) == (3, 3)
        assert f"skipped    {path}: 3 lines, the first is line 3 (" in shell.run("status").out
        state = shell.folder / ".git" / "mdmem" / "root"
        assert [each.figures.skipped for each in steps.read_steps(state)] == [1, 2]
        path.unlink()
        assert status(shell)["skipped"] == []

    @pytest.mark.parametrize(
        ("records", "silent"),
        [
            (
                (
                    record(5, size=1000, entries=1),
                    record(3.5, size=300),
                    record(1, size=700),
                    record(0),
                ),
                1000,
            ),
            ((record(3.5, size=300), record(1, size=700, entries=1)), None),
            ((record(3.5, size=300), record(1, size=700, doubled=1)), None),
            ((record(2.9, size=300), record(1, size=700)), None),
            ((record(9), record(3.5), record(1)), None),
        ],
    )
    def test_a_step_that_finds_nothing(
        self, shell: Shell, records: tuple[StepRecord, ...], silent: int | None
    ):
        recorded(shell, *records)
        assert [each["bytes"] for each in status(shell)["silent"]] == ([silent] if silent else [])
        assert ("digest has found nothing since" in shell.run("status").out) is bool(silent)


class TestStats:
    def test_sums_by_week(self):
        monday = datetime(2026, 3, 2, 12, tzinfo=UTC)
        of_steps = [
            StepRecord(
                step="digest",
                outcome=outcome,
                ms=1.0,
                time=monday + timedelta(days=days),
                figures=StepFigures(messages=10, noise=4, entries=2, doubled=1),
            )
            for days, outcome in ((0, "done"), (6, "busy"), (7, "unchanged"))
        ]
        first, second = run_figures(of_steps, (monday + timedelta(days=8)).date(), UTC, 12).weeks
        assert (first.week, first.steps, first.failed) == ("2026-W10", 2, 1)
        assert first.figures == StepFigures(messages=20, noise=8, entries=4, doubled=2)
        assert (second.week, second.steps, second.failed) == ("2026-W11", 1, 0)
        assert second.figures.doubled == 1

    def test_as_a_table(self, shell: Shell, sessions: Path):
        write_session(sessions, "We decided to keep the pump.", "ok")
        shell.run("run")
        out = shell.run("stats", "runs").out
        assert [line.split()[:8] for line in out.splitlines()][1][1:] == [
            "1",
            "-",
            "1",
            "2",
            "50%",
            "1",
            "-",
        ]
        (week,) = shell.run("stats", "runs", "--json").answer["weeks"]
        assert (week["steps"], week["failed"], week["messages"], week["entries"]) == (1, 0, 2, 1)

    def test_without_a_run(self, shell: Shell):
        done = shell.run("stats", "runs")
        assert (done.out, done.err) == ("", "mdmem: no runs in these weeks\n")
