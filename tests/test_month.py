"""A month of one person on two machines, and of an agent on a third: what they ask at its end, each
by one command.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections import ChainMap
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from conftest import World

from mdmem.cli import main

SEED = """\
# Memory

## Facts

- employer: Tidewater
- home: Porto

## Work

- release: 15 May
- standup: Monday 10:00
- billing port: 8080

## Preferences

- editor: Helix
- prefers short answers

## Old notes

- the first prototype was in Perl
"""
AGENT = ("--actor", "agent/claude-code")
CLONES = ("desk", "laptop", "server")


@dataclass
class Month:
    """Three clones of one repository, whose clock and whose git's clock are set together."""

    world: World
    folder: Path
    dates: dict[str, str]
    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    def at(self, day: int, time: str = "09:00") -> None:
        moment = f"2026-03-{day:02}T{time}:00+00:00"
        self.patch.setenv("MDMEM_NOW", moment)
        self.dates.update(GIT_AUTHOR_DATE=moment, GIT_COMMITTER_DATE=moment)
        for name, value in self.dates.items():
            self.patch.setenv(name, value)

    def git(self, clone: str, *words: str) -> str:
        return self.world.git(self.folder / clone, *words).stdout

    def sync(self, *clones: str, rebase: bool = False) -> None:
        """Each pulls and pushes in turn, and those before the last pull again."""
        for clone in clones:
            self.git(
                clone, "pull", "-q", *(["--rebase"] if rebase else ["--no-rebase", "--no-edit"])
            )
            self.git(clone, "push", "-q")
        for clone in clones[:-1]:
            self.git(clone, "pull", "-q", "--no-rebase", "--no-edit")

    def ask(self, clone: str, *words: str) -> tuple[int, str]:
        """One command in this process: its status and what it printed."""
        self.patch.chdir(self.folder / clone)
        self.patch.setattr(sys, "stdin", TextIOWrapper(BytesIO()))
        self.capture.readouterr()
        status = main(list(words))
        printed = self.capture.readouterr()
        return status, printed.out + printed.err

    def do(self, clone: str, *words: str) -> str:
        """One command that has to succeed."""
        status, printed = self.ask(clone, *words)
        assert status == 0, printed
        return printed

    def edit(self, clone: str, old: str, new: str, subject: str) -> None:
        """A person's edit of MEMORY.md, committed by git."""
        path = self.folder / clone / "MEMORY.md"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        self.git(clone, "commit", "-qam", subject)


@pytest.fixture
def month(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Month:
    dates: dict[str, str] = {}
    made = Month(
        World(world.home, ChainMap(dates, dict(world.environment))),
        tmp_path,
        dates,
        monkeypatch,
        capsys,
    )
    made.at(1)
    world.git(tmp_path, "init", "-q", "--bare", "hub.git")
    for clone in CLONES:
        world.git(tmp_path, "clone", "-q", "hub.git", clone)
        made.git(clone, "config", "user.name", "Ada")
        made.git(clone, "config", "user.email", "ada@example.org")
        if clone == "desk":
            (tmp_path / clone / "MEMORY.md").write_text(SEED)
            made.git(clone, "add", ".")
            made.git(clone, "commit", "-qm", "seed")
            made.do(clone, "init")
            made.git(clone, "push", "-qu", "origin", "HEAD")
        else:
            made.do(clone, "init")
    live(made)
    return made


def live(month: Month) -> None:
    """The month, day by day."""
    do, at = month.do, month.at
    at(2)
    do("desk", "log", "kick-off of heron with Priya", "--kind", "fact")
    do(
        "desk",
        "remember",
        "allergic to penicillin",
        "--section",
        "Facts",
        "--source",
        "user-stated",
    )
    at(3)
    do(
        "laptop",
        "log",
        "the staging database is called Larch",
        "--kind",
        "fact",
        "--tag",
        "ops",
        "--source",
        "user-stated",
    )
    do(
        "laptop",
        "log",
        "use SQLite for the desktop app",
        "--kind",
        "decision",
        "--source",
        "user-stated",
    )
    at(5)
    do(
        "server",
        "log",
        "deploys go through the blue pipeline",
        "--kind",
        "fact",
        "--tag",
        "ops",
        *AGENT,
        "--session",
        "s-5",
    )
    do(
        "server",
        "remember",
        "8432",
        "--key",
        "billing port",
        "--section",
        "Work",
        *AGENT,
        "--reason",
        "read in compose.yaml",
    )
    at(6)
    month.sync("desk", "laptop", "server")
    at(9)
    do(
        "laptop",
        "remember",
        "Kite Labs",
        "--key",
        "employer",
        "--source",
        "user-stated",
        "--reason",
        "signed the contract",
    )
    do("laptop", "log", "told Tidewater that I leave", "--kind", "status")
    at(10)
    do("desk", "log", "dentist on Friday at 14:00", "--kind", "task")
    at(11)
    do(
        "server",
        "forget",
        "deploys go through the blue pipeline",
        *AGENT,
        "--reason",
        "the pipeline was retired",
    )
    at(12)
    month.sync("laptop", "server", "desk")
    at(13)
    do(
        "desk",
        "remember",
        "3 June",
        "--key",
        "release",
        "--section",
        "Work",
        "--source",
        "user-stated",
        "--reason",
        "Priya asked",
    )
    at(13, "15:00")
    do(
        "laptop",
        "remember",
        "10 June",
        "--key",
        "release",
        "--section",
        "Work",
        "--source",
        "user-stated",
        "--reason",
        "the vendor is late",
    )
    at(14)
    month.sync("desk", "laptop")
    at(16)
    month.edit("laptop", "- editor: Helix", "- editor: Zed", "new editor")
    at(17)
    month.edit("desk", "## Old notes\n\n- the first prototype was in Perl\n", "", "tidy up")
    do(
        "desk",
        "log",
        "Rui takes over the invoices",
        "--kind",
        "fact",
        "--tag",
        "people",
        "--source",
        "user-stated",
    )
    at(18)
    do("laptop", "log", "guest network is called sparrow", "--kind", "fact")
    at(19)
    do("laptop", "forget", "guest network is called sparrow", "--reason", "it was switched off")
    do(
        "server",
        "remember",
        "Lisbon",
        "--key",
        "office",
        "--section",
        "Work",
        *AGENT,
        "--propose",
        "--reason",
        "mail of the landlord",
    )
    at(20)
    month.sync("laptop", "server", "desk")
    at(21)
    proposals = json.loads(do("server", "proposals", "--json"))["proposals"]
    do("server", "accept", proposals[0]["proposal"])
    at(23)
    do(
        "desk",
        "log",
        "use DuckDB for the desktop app",
        "--kind",
        "decision",
        "--source",
        "user-stated",
        "--supersedes",
        fact_of(month, "desk", "use SQLite for the desktop app"),
        "--reason",
        "SQLite was too slow for the reports",
    )
    at(24)
    month.edit(
        "desk",
        "## Preferences\n",
        "## Old notes\n\n- the first prototype was in Perl\n\n## Preferences\n",
        "bring back the old notes",
    )
    month.sync("desk", "server")
    at(25)
    do(
        "laptop",
        "remember",
        "Wednesday 9:30",
        "--key",
        "standup",
        "--section",
        "Work",
        "--source",
        "user-stated",
        "--reason",
        "Priya is away",
    )
    at(26)
    month.sync("laptop", "desk", "server", rebase=True)
    do(
        "laptop",
        "remember",
        "9001",
        "--key",
        "billing port",
        "--section",
        "Work",
        *AGENT,
        "--reason",
        "guessed",
    )
    at(27)
    do(
        "laptop",
        "revert",
        fact_of(month, "laptop", "billing port: 9001"),
        "--reason",
        "it was a guess",
    )
    at(28)
    do(
        "desk",
        "remember",
        "badge: 4411 until the move",
        "--section",
        "Facts",
        "--until",
        "2026-03-29",
    )
    do("desk", "forget", "release: 10 June", "--reason", "Priya's date holds")
    at(30)
    do("server", "log", "Larch moved to Frankfurt", "--kind", "fact", "--tag", "ops", *AGENT)
    do("desk", "log", "lunch with Rui", "--kind", "status")
    month.sync("desk", "laptop", "server")
    at(31)


def fact_of(month: Month, clone: str, text: str) -> str:
    facts = json.loads(month.do(clone, "facts", "--json", "-n", "0"))["facts"]
    (found,) = [fact["id"] for fact in facts if fact["text"] == text]
    return found


@dataclass(frozen=True)
class Question:
    """A command, what its answer holds (expressions, in this order), and what it does not."""

    command: str
    holds: tuple[str, ...]
    holds_not: tuple[str, ...] = ()


def question(command: str, *holds: str, no: tuple[str, ...] = ()) -> Question:
    return Question(command, holds, no)


QUESTIONS = [
    # What holds now.
    question("search where do I work", r"employer: Kite Labs", no=("employer: Tidewater",)),
    question("search when is the release", r"release: 3 June", no=("10 June", "15 May")),
    question("search billing port", r"billing port: 8432", no=("9001", "8080")),
    question("search desktop app database", r"DuckDB", no=("use SQLite",)),
    question("search which editor", r"editor: Zed", no=("Helix",)),
    question("search when is standup", r"Wednesday 9:30", no=("Monday",)),
    question("search where is the office", r"office: Lisbon"),
    question("search allergies penicillin", r"allergic to penicillin"),
    question("search blue pipeline deploys", no=("blue pipeline",)),
    question("search guest network sparrow", no=("is called sparrow",)),
    question("search badge", no=("4411",)),
    question("facts --key employer", r"Kite Labs", no=("Tidewater",)),
    question("recall --tag ops", r"Frankfurt", no=("blue pipeline",)),
    # Since when, who, why.
    question("history employer", r"Tidewater", r"Kite Labs", r"signed the contract"),
    question("history 'billing port'", r"8080", r"8432", r"compose\.yaml"),
    question("history release", r"15 May", r"3 June", r"Priya asked"),
    question("history 'use DuckDB for the desktop app'", r"SQLite", r"2026-03-23", r"too slow"),
    question(
        "history 'deploys go through the blue pipeline'",
        r"2026-03-05",
        r"2026-03-11",
        r"pipeline was retired",
    ),
    question("when 'Kite Labs'", r"2026-03-09"),
    question("when 'blue pipeline'", r"2026-03-05", r"2026-03-11"),
    question("when sparrow", r"2026-03-18", r"2026-03-19", r"switched off"),
    question("blame Work", r"2026-03-05.*8432|8432.*2026-03-05"),
    question("history Preferences", r"2026-03-16", r"new editor|Zed"),
    question("history 'Old notes'", r"2026-03-24", r"2026-03-17"),
    question("history office", r"Lisbon", r"landlord"),
    # As it was.
    question("search where do I work --as-of 2026-03-08", r"employer: Tidewater", no=("Kite",)),
    question(
        "search where do I work --as-of 2026-03-10", r"employer: Kite Labs", no=("Tidewater\n",)
    ),
    question("search release --as-of 2026-03-12", r"15 May", no=("June",)),
    question("search billing port --as-of 2026-03-26", r"9001", no=("8432",)),
    question("search editor --as-of 2026-03-15", r"Helix", no=("Zed",)),
    question("search guest network --as-of 2026-03-18", r"sparrow"),
    question("search deploys --as-of 2026-03-10", r"blue pipeline"),
    question("show Work --as-of 2026-03-04", r"15 May", r"Monday 10:00", r"8080", no=("8432",)),
    question("show 'Old notes' --as-of 2026-03-18", no=("Perl",)),
    question("search badge --as-of 2026-03-28", r"4411"),
    # By time alone.
    question("show yesterday", r"Frankfurt", r"lunch with Rui|Rui"),
    question("show 2026-03-17", r"Rui takes over", r"Perl"),
    question(
        "changes --since 2026-03-27 --until 2026-03-28", r"10 June", r"9001", no=("Kite Labs",)
    ),
    question("changes --actor agent/claude-code", r"Frankfurt", r"8432", no=("Kite Labs",)),
    question(
        "changes --since 2026-03-09 --until 2026-03-09",
        r"Tidewater|Kite Labs",
        r"told Tidewater|Tidewater",
    ),
    question("search --kind decision --since 2026-03-01", r"DuckDB", no=("use SQLite",)),
    question("search --tag people", r"Rui takes over"),
    question("facts --since 2026-03-29", r"Frankfurt", no=("Kite",)),
    question("history -n 3", r"2026-03-30"),
]


def test_questions_of_a_month(month: Month) -> None:
    asked = zip(QUESTIONS, itertools.cycle(CLONES), strict=False)
    missed = {
        (clone, each.command): fault
        for each, clone in asked
        if (fault := _fault(each, *month.ask(clone, *_words(each.command))))
    }
    assert missed == {}


def _fault(asked: Question, status: int, answer: str) -> str:
    """All that is wrong with an answer, with the answer; nothing where it is right. What is not
    there may be an error.
    """
    lacking = [
        f"lacks {expression}" for expression in asked.holds if not re.search(expression, answer)
    ]
    surplus = [f"holds {text}" for text in asked.holds_not if text in answer]
    return (
        "\n".join([*lacking, *surplus, answer])
        if lacking or surplus or (status and asked.holds)
        else ""
    )


def _words(command: str) -> list[str]:
    """The words of a command; those of a question are one."""
    return [quoted or plain for quoted, plain in re.findall(r"'([^']*)'|(\S+)", command)]
