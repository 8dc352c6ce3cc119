"""`run`: what is due, its records, and what of two at once becomes."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commandline import Shell, mdmem
from conftest import World
from pi_sessions import write_session

from mdmem.folder import files
from mdmem.model.errors import RepositoryProblem
from mdmem.nights import steps
from mdmem.nights.steps import in_turn

KEYS = [
    *("time", "run", "step", "ms", "outcome", "bytes", "sessions", "messages", "noise", "by_rule"),
    *("by_model", "entries", "doubled", "redacted", "refused", "proposed", "tokens", "surplus"),
    *("skipped", "left"),
]
TALK = ("We decided to keep the old pump.", "agent: Noted.", "I prefer calls before noon.")


@pytest.fixture
def sessions(shell: Shell) -> Path:
    """The folder of the sessions that the user's own settings name."""
    folder = shell.world.home / "sessions"
    folder.mkdir()
    settings(shell, f'sessions = ["{folder}/*.jsonl"]\nsession_scope = "all"\ndream = "off"\n')
    return folder


def settings(shell: Shell, text: str) -> None:
    path = shell.world.home / ".config" / "mdmem" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def state(shell: Shell) -> Path:
    return shell.folder / ".git" / "mdmem" / "root"


def lines(shell: Shell) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (state(shell) / steps.RUNS_NAME).read_text().splitlines()]


def run_steps(shell: Shell) -> list[dict[str, Any]]:
    answer: dict[str, list[dict[str, Any]]] = json.loads(shell.run("run", "--json").out)
    return answer["steps"]


class TestRun:
    @pytest.mark.parametrize("text", ["", 'sessions = ["claude"]\ndigest = "off"\ndream = "off"\n'])
    def test_nothing_is_to_be_done_until_a_client_is_named(self, shell: Shell, text: str):
        settings(shell, text)
        done = shell.run("run", "--json")
        assert (
            done.status,
            [(step["step"], step["outcome"]) for step in done.answer["steps"]],
        ) == (0, [("digest", "nothing-to-do")])
        assert not (state(shell) / steps.RUNS_NAME).exists()

    def test_below_another_run_nothing_is_to_be_done(self, shell: Shell, sessions: Path):
        write_session(sessions, *TALK)
        shell.patch.setenv("MDMEM_RUN", "1")
        assert [step["outcome"] for step in run_steps(shell)] == ["nothing-to-do"]

    def test_what_is_new_is_digested(self, shell: Shell, sessions: Path):
        write_session(sessions, *TALK)
        first, second = run_steps(shell), run_steps(shell)
        assert [
            (step["outcome"], step["entries"], step["messages"]) for step in (*first, *second)
        ] == [("done", 2, 3), ("unchanged", 0, 0)]
        assert first[0]["run"] in shell.git("log", "--format=%(trailers:key=Mdmem-Run,valueonly)")
        assert [list(line) for line in lines(shell)] == [KEYS, KEYS]
        assert lines(shell)[0] == {
            name: len(value) if name == "left" else value
            for name, value in first[0].items()
            if name in KEYS
        }

    def test_words_for_people(self, shell: Shell, sessions: Path):
        write_session(sessions, *TALK)
        done = shell.run("run")
        assert (
            done.status,
            done.out.startswith("digest: 2 entries of 1 session, 3 messages (digest/"),
        ) == (0, True)
        assert shell.run("run").out == "digest: nothing new\n"
        assert shell.run("run", "--quiet").out == ""

    def test_a_step_that_fails(self, shell: Shell, sessions: Path):
        write_session(sessions, *TALK)
        merge = shell.folder / ".git" / "MERGE_HEAD"
        merge.write_text(shell.git("rev-parse", "HEAD"))
        done = shell.run("run", "--quiet")
        assert (done.status, done.out.startswith("digest: repository-busy: ")) == (1, True)
        merge.unlink()
        assert [step["outcome"] for step in run_steps(shell)] == ["done"]
        assert [line["outcome"] for line in lines(shell)] == ["repository-busy", "done"]

    def test_a_transcript_that_cannot_be_read_fails_it_and_the_others_are_done(
        self, shell: Shell, sessions: Path
    ):
        write_session(sessions, *TALK)
        (sessions / "strange.jsonl").write_text('{"what": "is this"}\n')
        done = shell.run("run", "--quiet", "--json")
        (step,) = json.loads(done.out)["steps"]
        assert (done.status, step["outcome"], step["entries"]) == (1, "unknown-format", 2)
        assert step["left"] == [{"session": f"{sessions}/strange.jsonl", "why": "unknown-format"}]

    def test_no_transcripts(self, shell: Shell, sessions: Path):
        done = shell.run("run", "--json")
        (step,) = json.loads(done.out)["steps"]
        assert (done.status, step["outcome"]) == (1, "no-sessions")
        assert str(sessions) in step["message"]

    def test_a_digest_by_hand_is_recorded_too(self, shell: Shell, tmp_path: Path):
        path = write_session(tmp_path, *TALK)
        tried = shell.run("digest", str(path), "--dry-run")
        assert tried.err == "mdmem: a dry run: nothing was written\n"
        assert not (state(shell) / steps.RUNS_NAME).exists()
        shell.run("digest", str(path))
        assert [(line["step"], line["entries"]) for line in lines(shell)] == [("digest", 2)]

    def test_records_have_a_bound(
        self, shell: Shell, sessions: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(steps, "MAX_BYTES", 1_000)
        write_session(sessions, *TALK)
        for _ in range(8):
            run_steps(shell)
        assert (state(shell) / steps.RUNS_NAME).stat().st_size <= 1_000
        assert 2 <= len(steps.read_steps(state(shell))) <= 6

    def test_a_damaged_record_is_left_out(self, shell: Shell, sessions: Path):
        write_session(sessions, *TALK)
        run_steps(shell)
        with (state(shell) / steps.RUNS_NAME).open("a") as file:
            file.write('{"time": 3}\n[]\n{"half')
        run_steps(shell)
        assert [record.outcome for record in steps.read_steps(state(shell))] == [
            "done",
            "unchanged",
        ]


def test_each_run_has_a_name_of_its_own(tmp_path: Path):
    names = []
    for _ in range(5):  # in one second
        with steps.StepRecorder(tmp_path, "digest") as step:
            step.run = steps.new_name(tmp_path, "digest")
            names.append(step.run)
    assert len(set(names)) == 5
    assert names == sorted(names)


class TestTurns:
    """Of two at once one works, and it looks at what hooks report meanwhile."""

    def test_a_second_one_is_told(self, shell: Shell, sessions: Path):
        write_session(sessions, *TALK)
        state(shell).mkdir(parents=True)
        with files.lock(state(shell) / "run.lock", 0):
            done = shell.run("run", "--json")
        assert (done.status, json.loads(done.err)["error"]) == (1, "running")
        assert [step["entries"] for step in run_steps(shell)] == [2]

    def test_eight_at_once(self, world: World, shell: Shell, sessions: Path):
        for number in range(6):
            write_session(
                sessions,
                *(f"We decided to keep pump number {number}{each}." for each in range(4)),
                session=f"5a1e000{number}",
            )
        environment = {**world.environment, "MDMEM_NOW": "2026-03-05T09:30:00+00:00"}
        started = [
            subprocess.Popen(
                mdmem("run", "--json"),
                cwd=shell.folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for _ in range(8)
        ]
        outputs = [(process.communicate(timeout=60), process.returncode) for process in started]
        codes = [json.loads(errors)["error"] for (_, errors), status in outputs if status]
        assert set(codes) <= {"running"}
        assert (
            sum(
                step["entries"]
                for (output, _), status in outputs
                if not status
                for step in json.loads(output)["steps"]
            )
            == 24
        )
        log = (shell.folder / "memory" / "2026-03-04.md").read_text()
        assert [
            log.count(f"pump number {number}{each}.") for number in range(6) for each in range(4)
        ] == [1] * 24

    def test_what_a_hook_reports_meanwhile_is_looked_at(self, tmp_path: Path):
        seen: list[tuple[str, ...]] = []
        in_turn(tmp_path, lambda: report(tmp_path, "/a b\n\udcff", "/c"), noting(seen))
        assert seen == [("/a b\n\udcff", "/c")]
        assert in_turn(tmp_path, lambda: 3, noting(seen)) == 3
        assert len(seen) == 1

    def test_what_is_reported_during_the_last_look(self, tmp_path: Path):
        seen: list[tuple[str, ...]] = []

        def look(transcripts: tuple[str, ...]) -> bool:
            seen.append(transcripts)
            if len(seen) < 3:
                report(tmp_path, f"/{len(seen)}")
            return True

        in_turn(tmp_path, lambda: report(tmp_path, "/0"), look)
        assert seen == [("/0",), ("/1",), ("/2",)]

    def test_what_is_reported_between_the_last_look_and_the_end(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        seen: list[tuple[str, ...]] = []
        rest: list[Callable[[], None]] = [lambda: report(tmp_path, "/late")]
        close = os.close

        def close_late(descriptor: int) -> None:
            if rest and Path(f"/proc/self/fd/{descriptor}").readlink().name == "run.lock":
                rest.pop()()
            close(descriptor)

        monkeypatch.setattr(files.os, "close", close_late)
        in_turn(tmp_path, lambda: None, noting(seen))
        assert seen == [("/late",)]

    def test_what_was_reported_stays_until_it_was_looked_at(self, tmp_path: Path):
        seen: list[tuple[str, ...]] = []
        in_turn(tmp_path, lambda: report(tmp_path, "/a"), lambda transcripts: False)
        with pytest.raises(KeyboardInterrupt):
            in_turn(tmp_path, lambda: None, interrupted)
        in_turn(tmp_path, lambda: None, noting(seen))
        assert seen == [("/a",)]

    def test_the_digest_of_a_hook_is_done_by_the_run_at_work(self, shell: Shell, sessions: Path):
        first, second = write_session(sessions, *TALK), sessions / "6b2f0000.jsonl"

        def talk_on(state_folder: Path) -> None:
            write_session(sessions, "We decided to sell the boat.", session="6b2f0000")
            shell.patch.setenv("MDMEM_RUN", "1")
            assert shell.run("digest", "--no-model", "--json", str(second)).status == 1
            shell.patch.delenv("MDMEM_RUN")

        in_turn(
            state_folder := made(state(shell)),
            lambda: talk_on(state_folder),
            lambda transcripts: False,
        )
        step, again = run_steps(shell)
        assert (step["entries"], again["entries"], again["messages"]) == (3, 0, 0)
        assert [line["step"] for line in lines(shell)] == ["digest", "digest"]
        assert first.exists()


def made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def interrupted(transcripts: tuple[str, ...]) -> bool:
    raise KeyboardInterrupt


def noting(seen: list[tuple[str, ...]]) -> Callable[[tuple[str, ...]], bool]:
    def look(transcripts: tuple[str, ...]) -> bool:
        seen.append(transcripts)
        return True

    return look


def report(folder: Path, *transcripts: str) -> None:
    """Report transcripts as a hook does that finds another one at work."""
    with pytest.raises(RepositoryProblem) as problem:
        in_turn(folder, lambda: None, lambda transcripts: True, transcripts)
    assert problem.value.code == "running"
