"""An upgrade: what an earlier version left is found, and nothing of it is read twice."""

import json
import os
import re
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from commandline import Shell
from conftest import World
from kept_state import keep_state
from timers import program
from upgrades import ARCHIVES, unpack

from mdmem import agenthooks

FACTS = {
    "employer": "75d0be72",
    "Oslo": "6d7f86c3",
    "Vim": "0cfc3795",
    "Albatros": "6d22e9e9",
    "Frankfurt": "635ec723",
}
"""Facts that are current in each archive, by a word of theirs."""
ACTORS = ("codex", "dream")
STRIPE, TUESDAY, THURSDAY = "a2d8b034", "e60d1fab", "590a2e12"
SESSIONS = 'sessions = ["claude"]\nsession_scope = "all"\n'
with_nights = pytest.mark.parametrize("left_by", ["0.2-nights", "0.3", "0.3.0"])


@pytest.fixture(params=ARCHIVES)
def left_by(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def upgraded(
    left_by: str,
    world: World,
    commands_built_once: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Shell:
    """A workspace of an earlier version, at the first command of today's."""
    folder = unpack(left_by, world, monkeypatch)
    monkeypatch.chdir(folder)
    return Shell(world, folder, monkeypatch, capsys)


@pytest.fixture
def adopted(upgraded: Shell, left_by: str) -> Shell:
    """The same, adopted by one command where that version asked for none."""
    if not left_by.startswith("0.3"):
        assert upgraded.run("init", "--found", "--yes").status == 0
    return upgraded


def test_a_trail_with_commits_twice_is_rebuilt_before_the_first_answer(
    world: World,
    commands_built_once: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A clock of this machine had gone back to 2001, and git's list of new commits held old ones."""
    folder = keep_state(unpack("0.3-clock", world, monkeypatch))
    monkeypatch.chdir(folder)
    at, [table] = Shell(world, folder, monkeypatch, capsys), folder.rglob("versions.db")

    def counts() -> tuple[int, int]:
        rows = "SELECT count(*), count(DISTINCT id) FROM commits"
        with closing(sqlite3.connect(table)) as connection:
            all_rows, ids = connection.execute(rows).fetchone()
        return all_rows, ids

    assert counts() == (19, 15)
    said = at.run("doctor").out
    assert "table of versions cannot be read" in said
    assert at.run("history", "the vault code is blue").status == 0
    assert counts() == (15, 15)
    facts = json.loads(at.run("facts", "--all", "-n", "0", "--json").out)["facts"]
    assert len(facts) == 12
    for fact in facts:
        assert at.run("history", fact["id"]).status == 0


def session_start(at: Shell) -> Any:
    """What an agent's host is given at the start of a session."""
    event = agenthooks.HookEvent(
        name="SessionStart", session="s", source="startup", folder=str(at.folder), prompt=""
    )
    return json.loads(agenthooks.answer(event, os.environ))


def memory(at: Shell) -> dict[str, str]:
    return {path.name: path.read_text() for path in at.folder.rglob("*.md")}


class TestReading:
    """What a person types is answered, with or without an adoption."""

    def test_each_fact_is_found(self, upgraded: Shell):
        for word, fact in FACTS.items():
            hits = upgraded.run("search", word, "--json").answer["hits"]
            assert {hit["fact"]: hit["status"] for hit in hits}[fact] == "current"
        assert "Stripe" not in upgraded.run("search", "employer Stripe").out
        status = upgraded.run("status", "--json").answer
        assert status["index"]["current"]
        assert status["index"]["commit"] == upgraded.git("rev-parse", "HEAD").strip()
        assert (status["uncommitted"], status["skipped"]) == ([], [])

    def test_history_of_a_superseded_fact(self, upgraded: Shell):
        answer = upgraded.run("history", STRIPE, "--json").answer
        assert answer["status"] == "superseded"
        lives = [(fact["id"], fact["from"], fact["to"]) for fact in answer["chain"]]
        assert lives == [
            (STRIPE, "2026-03-02T09:00:00+00:00", "2026-03-03T10:00:00+00:00"),
            (FACTS["employer"], "2026-03-03T10:00:00+00:00", None),
        ]

    def test_a_contradiction(self, upgraded: Shell):
        (conflict,) = upgraded.run("conflicts", "--json").answer["conflicts"]
        assert {conflict["one"]["fact"], conflict["other"]["fact"]} == {TUESDAY, THURSDAY}

    def test_sources(self, upgraded: Shell):
        facts = upgraded.run("facts", "--json").answer["facts"]
        sources = {fact["id"]: fact["source"] for fact in facts}
        named = (FACTS["employer"], FACTS["Albatros"], THURSDAY, FACTS["Vim"], FACTS["Frankfurt"])
        assert [sources[fact] for fact in named] == [
            *("user-stated", "user-stated", "user-stated"),
            *("inferred", "auto"),
        ]

    def test_changes_nothing(self, upgraded: Shell):
        before = upgraded.snapshot()["files"]
        for words in (["search", "employer"], ["history", STRIPE], ["status"], ["doctor"]):
            assert upgraded.run(*words).status == 0
        assert upgraded.snapshot()["files"] == before

    def test_no_state_is_needed(self, adopted: Shell):
        shutil.rmtree(adopted.folder / ".git" / "mdmem")
        self.test_history_of_a_superseded_fact(adopted)
        self.test_each_fact_is_found(adopted)


class TestAdoption:
    @pytest.mark.parametrize("left_by", ["0.3", "0.3.0"])
    def test_stays(self, upgraded: Shell):
        answer = session_start(upgraded)
        assert "works at Linear" in answer["hookSpecificOutput"]["additionalContext"]
        assert answer["systemMessage"] == "mdmem: 2 proposals to review: mdmem review"
        assert upgraded.run("status", "--json").answer["adopted"]

    @pytest.mark.parametrize("left_by", ["0.2.0", "0.2-nights"])
    def test_takes_one_command(self, upgraded: Shell):
        answer = session_start(upgraded)
        assert answer["systemMessage"].endswith("mdmem init --found")
        assert "hookSpecificOutput" not in answer
        done = upgraded.run("init", "--found", "--yes")
        assert (done.status, done.out) == (0, f"adopted {upgraded.folder}\n")
        answer = session_start(upgraded)
        assert "works at Linear" in answer["hookSpecificOutput"]["additionalContext"]
        assert upgraded.run("init", "--found", "--json").answer["found"] == []


class TestDigest:
    @with_nights
    @pytest.mark.parametrize("keeps_state", [True, False])
    def test_writes_nothing_twice(self, adopted: Shell, keeps_state: bool):
        if not keeps_state:
            shutil.rmtree(adopted.folder / ".git" / "mdmem")
        before, head = memory(adopted), adopted.git("rev-parse", "HEAD")
        assert "Maria Sand" in before["2026-03-03.md"]
        done = adopted.run("digest", "--json").answer
        assert (done["entries"], done["commits"]) == ([], [])
        done = adopted.run("dream", "--json").answer
        assert {change["op"] for change in done["changes"]} <= {"NONE"}
        assert (memory(adopted), adopted.git("rev-parse", "HEAD")) == (before, head)

    @pytest.mark.parametrize("left_by", ["0.2.0"])
    def test_begins_after_a_version_that_had_none(self, adopted: Shell):
        settings = adopted.world.home / ".config/mdmem/config.toml"
        settings.write_text(settings.read_text() + SESSIONS)
        done = adopted.run("digest", "--json").answer
        assert len(done["entries"]) == 6
        assert adopted.run("digest", "--json").answer["entries"] == []


class TestProposals:
    @with_nights
    def test_are_open(self, adopted: Shell):
        listed = adopted.run("proposals").out
        assert "home: lives in Oslo -> lives in Bergen" in listed
        assert "prefer trains over planes" in listed
        assert "3 parts in 2 proposals" in listed
        assert adopted.run("accept", "1").status == 0
        assert "trains over planes" in memory(adopted)["MEMORY.md"]

    @pytest.mark.parametrize("left_by", ["0.3", "0.3.0"])
    def test_stay_the_users_own(self, adopted: Shell):
        listed = adopted.run("proposals").out
        assert "codex, 4 Mar" in listed
        assert "dream, yesterday" in listed


class TestWriting:
    def test_goes_on(self, adopted: Shell):
        done = adopted.run("remember", "works at Figma", "--key", "employer").status
        assert done == 0
        chain = adopted.run("history", STRIPE, "--json").answer["chain"]
        assert [fact["text"] for fact in chain][-2:] == [
            "employer: works at Linear",
            "employer: works at Figma",
        ]


def test_hooks_go_on_until_they_are_renewed(upgraded: Shell):
    own = upgraded.folder / ".git" / "own-hook"  # what a hook of the person's writes, in 0.3.0
    ran = own.read_text() if own.exists() else ""
    assert "outdated" in upgraded.run("hooks", "status").out
    upgraded.write("MEMORY.md", memory(upgraded)["MEMORY.md"] + "- the hull is blue\n")
    upgraded.git("commit", "-q", "-a", "-m", "by hand")
    assert "the hull is blue" in upgraded.run("search", "hull").out
    markers = "<<<<<<< ours\n- a\n=======\n- b\n>>>>>>> theirs\n"
    upgraded.write("MEMORY.md", memory(upgraded)["MEMORY.md"] + markers)
    refused = upgraded.world.git(upgraded.folder, "commit", "-a", "-m", "no", check=False)
    assert refused.returncode == 1
    assert "unresolved conflict markers" in refused.stderr
    upgraded.git("checkout", "-q", "MEMORY.md")
    assert upgraded.run("hooks", "install").status == 0
    assert "outdated" not in upgraded.run("hooks", "status").out
    upgraded.git("commit", "-q", "--allow-empty", "-m", "by hand")
    assert not own.exists() or own.read_text() == ran + "ran\n" * 3


@pytest.mark.parametrize("left_by", ["0.3.0"])
class TestConnections:
    """Hosts, hooks and timers of 0.3.0 go on, and mdmem names those to be renewed."""

    def test_settings_and_a_pool(self, upgraded: Shell):
        programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        upgraded.patch.setenv("PATH", programs)  # where the plugin looks for mdmem
        assert "ten countries" in upgraded.run("search", "Danube").out
        assert "code:MEMORY.md" in upgraded.run("search", "release").out
        findings = upgraded.run("doctor", "--json").answer["findings"]
        bad = {each["check"] for each in findings if each["level"] not in ("ok", "note")}
        assert bad == {"hooks"}

    def test_memory_of_a_project(self, upgraded: Shell):
        hits = upgraded.run("-C", "../code", "search", "release", "--json").answer["hits"]
        assert [hit["text"] for hit in hits] == ["the release is on Friday"]
        assert upgraded.run("-C", "../code", "log", "the tests are slow").status == 0

    def test_a_remote(self, upgraded: Shell):
        assert upgraded.run("sync").out == "synced with origin: 0 pulled, 0 pushed\n"
        assert upgraded.run("log", "the anchor is new").status == 0
        assert upgraded.run("sync").out == "synced with origin: 0 pulled, 1 pushed\n"
        listed = upgraded.git("ls-remote", "origin", "refs/heads/mdmem/proposals/*").split()
        assert listed[1::2] == [f"refs/heads/mdmem/proposals/{of}/49be417a" for of in ACTORS]

    def test_a_host(self, upgraded: Shell):
        (hooks,) = upgraded.world.home.rglob("0.3.0/hooks/hooks.json")
        (start,) = json.loads(hooks.read_text())["hooks"]["SessionStart"][0]["hooks"]
        assert [start["command"], *start["args"]] == ["mdmem", "agent-hook"]
        before = (upgraded.folder / "AGENTS.md").read_bytes()
        assert upgraded.run("init", "--agents").status == 0
        assert (upgraded.folder / "AGENTS.md").read_bytes() == before

    def test_a_timer(self, upgraded: Shell):
        units = upgraded.world.home / ".config" / "systemd" / "user"
        (line,) = re.findall("ExecStart=:(.+)", (units / "mdmem-run@.service").read_text())
        words = line.replace("%f", str(upgraded.folder)).split()
        before = memory(upgraded)
        assert upgraded.run(*words[words.index("mdmem") + 1 :]).status == 0
        assert memory(upgraded) == before
        links = sorted((units / "timers.target.wants").iterdir())
        program(upgraded.world, "systemctl", "exit 0")
        upgraded.patch.setenv("PATH", f"{upgraded.world.home}/bin:{os.environ['PATH']}")
        text = (units / "mdmem-run@.service").read_text()
        assert upgraded.run("schedule", "systemd", "--install").status == 0
        assert (units / "mdmem-run@.service").read_text() == text
        assert sorted((units / "timers.target.wants").iterdir()) == links
