"""Every figure in `runs.jsonl`, counted once more: from the transcripts, by a few lines of this
module's own, and from git's commits.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from commandline import Shell
from pi_sessions import START, write_session
from workspaces import TOKEN

from mdmem.memory import Memory
from mdmem.model.writes import Forget
from mdmem.nights.steps import RUNS_NAME
from mdmem.workspace import open_at

SAYS_NOTHING = {"ok", "Noted.", "Thanks a lot!"}
KEPT = re.compile(r"We decided to [^.]*\.")


@dataclass
class Recount:
    """The figures of all that was read so far, by the transcripts themselves."""

    folder: Path
    sizes: dict[str, int] = field(default_factory=dict)
    marks: set[tuple[str, str, str]] = field(default_factory=set)
    logged: set[tuple[str, str]] = field(default_factory=set)
    taken_out: set[str] = field(default_factory=set)

    def next(self, *paths: Path) -> dict[str, int]:
        """The figures of what is new in some transcripts since the last time."""
        figures = dict.fromkeys(
            (
                "sessions",
                "bytes",
                "messages",
                "noise",
                "redacted",
                "skipped",
                "entries",
                "doubled",
                "refused",
            ),
            0,
        )
        for path in paths or sorted(self.folder.glob("*.jsonl")):
            data = path.read_bytes()
            whole = data[: data.rfind(b"\n") + 1]
            new = whole[self.sizes.get(path.name, 0) :]
            self.sizes[path.name] = len(whole)
            figures["bytes"] += len(new)
            before = figures["messages"]
            for line in new.splitlines():
                self._count(line, figures)
            figures["sessions"] += figures["messages"] > before
        return figures

    def _count(self, line: bytes, figures: dict[str, int]) -> None:
        try:
            row = json.loads(line)
        except ValueError:
            figures["skipped"] += 1
            return
        if row["type"] != "message" or row["message"]["role"] == "toolResult":
            return
        text, role, time = (
            row["message"]["content"][0]["text"],
            row["message"]["role"],
            row["timestamp"],
        )
        if (text, role, time) in self.marks:
            return
        self.marks.add((text, role, time))
        figures["messages"] += 1
        figures["redacted"] += TOKEN in text
        figures["noise"] += text in SAYS_NOTHING or text.endswith("?")
        for statement in KEPT.findall(text):
            if statement in self.taken_out:
                figures["refused"] += 1
            elif (time[:10], statement) in self.logged:
                figures["doubled"] += 1
            else:
                self.logged.add((time[:10], statement))
                figures["entries"] += 1


@pytest.fixture
def recount(shell: Shell) -> Recount:
    folder = shell.world.home / "sessions"
    folder.mkdir()
    own = shell.world.home / ".config" / "mdmem" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'sessions = ["{folder}/*.jsonl"]\nsession_scope = "all"\ndream = "off"\n')
    return Recount(folder)


def last_line(shell: Shell) -> dict[str, Any]:
    lines = (shell.folder / ".git" / "mdmem" / "root" / RUNS_NAME).read_text().splitlines()
    line: dict[str, Any] = json.loads(lines[-1])
    return line


def written_by(shell: Shell, run: str) -> int:
    """The entries that the commits of a run brought in, by git."""
    commits = shell.git(
        "log", "--format=%H %(trailers:key=Mdmem-Run,valueonly,separator=%x20)"
    ).splitlines()
    ids = [
        commit for commit, _, name in (row.partition(" ") for row in commits) if name.strip() == run
    ]
    return sum(
        line.startswith("+- ")
        for commit in ids
        for line in shell.git("show", "--format=", "-U0", commit).splitlines()
    )


def agree(shell: Shell, expected: dict[str, int]) -> None:
    """Assert that the last line is what was recounted."""
    line = last_line(shell)
    assert {name: line[name] for name in expected} == expected
    assert line["entries"] == line["by_rule"] + line["by_model"] == written_by(shell, line["run"])
    assert (line["proposed"], line["tokens"], line["surplus"], line["left"]) == (0, 0, 0, 0)
    assert line["outcome"] == ("done" if expected["messages"] else "unchanged")
    assert line["ms"] > 0


def run(shell: Shell) -> None:
    assert shell.run("run", "--quiet").out == ""


def forget(shell: Shell, statement: str) -> None:
    memory = Memory(open_at(shell.folder, shell.world.environment))
    memory.apply(Forget(statement))
    memory.close()


def test_each_figure_is_that_of_a_recount(shell: Shell, recount: Recount):
    first: list[str] = [
        *(
            "We decided to keep the old pump.",
            "agent: Noted.",
            "Why is the cellar wet?",
            "tool: We decided to drown.",
        ),
        *(
            "ok",
            f"The key is {TOKEN} for now. We decided to paint the roof.",
            "agent: Thanks a lot!",
        ),
    ]
    write_session(recount.folder, *first)
    write_session(
        recount.folder,
        "We decided to sell the boat.",
        session="6b2f0000",
        start=START + timedelta(minutes=90),
    )
    run(shell)
    agree(shell, recount.next())
    assert (
        last_line(shell)["entries"],
        last_line(shell)["redacted"],
        last_line(shell)["noise"],
    ) == (3, 1, 4)

    run(shell)
    agree(shell, recount.next())  # nothing is new

    grown = [*first, "We decided to move the fence.", "What now?"]
    write_session(recount.folder, *grown)
    write_session(
        recount.folder, *grown, "We decided to plant two trees.", session="5a1e0001"
    )  # a fork
    run(shell)
    agree(shell, recount.next())
    assert (last_line(shell)["messages"], last_line(shell)["sessions"]) == (3, 2)

    later: datetime = START + timedelta(hours=5)
    again = write_session(
        recount.folder,
        "We decided to sell the boat.",
        "ok",
        "We decided to feed the cat.",
        session="7c3d0000",
        start=later,
    )
    with again.open("a") as file:
        file.write(
            '{"torn": \n{"type": "message", "id": "0'
        )  # a line that is none, and one that is not whole yet
    run(shell)
    agree(shell, recount.next())
    assert (last_line(shell)["doubled"], last_line(shell)["skipped"]) == (1, 1)


def test_what_was_taken_out_and_what_is_digested_by_hand(
    shell: Shell, recount: Recount, tmp_path: Path
):
    shell.write("memory/house.md", "# House\n\n- We decided to keep the old pump.\n")
    shell.git("add", "memory/house.md")
    shell.git("commit", "-q", "-m", "by hand")
    forget(shell, "We decided to keep the old pump.")
    recount.taken_out.add("We decided to keep the old pump.")
    path = write_session(
        tmp_path,
        "We decided to keep the old pump.",
        "We decided to paint the roof.",
        session="8d4e0000",
    )
    assert shell.run("digest", str(path), "--json").status == 0
    agree(shell, recount.next(path))
    assert (last_line(shell)["refused"], last_line(shell)["entries"]) == (1, 1)


def test_a_step_that_has_failed_tells_how_far_it_came(shell: Shell, recount: Recount):
    write_session(recount.folder, "Why is the cellar wet?", "ok", session="5a1e0000")
    expected = recount.next(recount.folder / "5a1e0000.jsonl")
    write_session(recount.folder, "We decided to keep the old pump.", session="6b2f0000")
    merge = shell.folder / ".git" / "MERGE_HEAD"
    merge.write_text(shell.git("rev-parse", "HEAD"))
    assert shell.run("run").status == 1
    line = last_line(shell)
    assert (line["outcome"], line["entries"], line["noise"]) == (
        "repository-busy",
        0,
        expected["noise"],
    )
    merge.unlink()
    run(shell)
    agree(shell, recount.next())
