"""A month of one person on two machines, and of an agent on a third (`data/weeks/month.jsonl`): what
they ask at its end, each by one command.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import sys
from collections import ChainMap
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from conftest import World
from week_script import Row, read_rows, text_of

from mdmem.cli import main

ROWS = read_rows("month")
CLONES = ("desk", "laptop", "server")


@dataclass
class Month:
    """Three clones of one repository, whose clock and whose git's clock are set together."""

    world: World
    folder: Path
    dates: dict[str, str]
    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    def at(self, time: str) -> None:
        """Set the clocks to a time such as `2 09:00`: the day of the month and the minute."""
        day, minute = time.split()
        moment = f"2026-03-{int(day):02}T{minute}:00+00:00"
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

    def live(self, row: Row) -> None:
        """What is done at a time: a command, an edit, or a sync."""
        match row:
            case {"clone": clone, "do": words}:
                self.do(clone, *(self.id_of(clone, word) for word in words))
            case {"clone": clone, "edit": (old, new), "message": subject}:
                self.edit(clone, old, new, subject)
            case {"sync": clones}:
                self.sync(*clones, rebase="rebase" in row)
            case _:
                pytest.fail(f"nothing is done by {row}")

    def id_of(self, clone: str, word: str) -> str:
        """The id that stands for `{fact: TEXT}` or `{proposal}`; another word as it is."""
        if word == "{proposal}":
            return json.loads(self.do(clone, "proposals", "--json"))["proposals"][0]["proposal"]
        if match := re.fullmatch(r"{fact: (.*)}", word):
            facts = json.loads(self.do(clone, "facts", "--json", "-n", "0"))["facts"]
            (found,) = [fact["id"] for fact in facts if fact["text"] == match[1]]
            return found
        return word


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
    made.at("1 09:00")
    world.git(tmp_path, "init", "-q", "--bare", "hub.git")
    for clone in CLONES:
        world.git(tmp_path, "clone", "-q", "hub.git", clone)
        made.git(clone, "config", "user.name", "Ada")
        made.git(clone, "config", "user.email", "ada@example.org")
        if clone == "desk":
            (tmp_path / clone / "MEMORY.md").write_text(text_of(ROWS, "seed"))
            made.git(clone, "add", ".")
            made.git(clone, "commit", "-qm", "seed")
            made.do(clone, "init")
            made.git(clone, "push", "-qu", "origin", "HEAD")
        else:
            made.do(clone, "init")
    for row in ROWS:
        if "at" in row:
            made.at(row["at"])
            made.live(row)
    made.at("31 09:00")
    return made


def fault(asked: Row, status: int, answer: str) -> str:
    """All that is wrong with an answer, with the answer; nothing where it is right. What is not
    there may be an error.
    """
    holds, holds_not = asked.get("holds", ()), asked.get("holds_not", ())
    lacking = [f"lacks {expression}" for expression in holds if not re.search(expression, answer)]
    surplus = [f"holds {text}" for text in holds_not if text in answer]
    return (
        "\n".join([*lacking, *surplus, answer]) if lacking or surplus or (status and holds) else ""
    )


def test_questions_of_a_month(month: Month) -> None:
    """The answer to each question holds these expressions, and not those texts."""
    asked = zip([row for row in ROWS if "ask" in row], itertools.cycle(CLONES), strict=False)
    missed = {
        (clone, row["ask"]): wrong
        for row, clone in asked
        if (wrong := fault(row, *month.ask(clone, *shlex.split(row["ask"]))))
    }
    assert missed == {}
