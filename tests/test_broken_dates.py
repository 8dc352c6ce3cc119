"""Commits that name no date, or none that there is, as other programs have made them."""

from pathlib import Path

import pytest
from commandline import Shell
from conftest import World
from workspaces import Desk, desk

from mdmem.model import CommitId
from mdmem.repo import branch_commits, commit_seconds

PARTS = """\
Mdmem-Purged: 1 words {hash}
Mdmem-Rejects: 0123abcd 1234abcd
Mdmem-Run: dream/2026-03-04
Mdmem-Dreamt: {hash}
Mdmem-Read: claude-code/aa#12 {hash}
"""
READS = (
    ("status",),
    ("doctor",),
    ("history",),
    ("changes",),
    ("facts",),
    ("search", "rooms"),
    ("search", "rooms", "--history"),
    ("blame", "MEMORY.md"),
    ("outline",),
    ("trends",),
    ("dream", "--dry-run"),
    ("remember", "Pets: a cat", "--propose"),
)


def make_commit(at: Desk | Shell, folder: Path, date: str) -> str:
    parent, tree = at.git("rev-parse", "HEAD", "HEAD^{tree}").split()
    person = f"Ada <a@example.org>{date}"
    text = f"tree {tree}\nparent {parent}\nauthor {person}\ncommitter {person}\n\nx\n\n"
    command = ("hash-object", "-t", "commit", "-w", "--literally", "--stdin")
    stdin = text + PARTS.format(hash=parent)
    return at.world.git(folder, *command, stdin=stdin).stdout.strip()


@pytest.mark.costly
@pytest.mark.parametrize("date", ["", " -5 +0000", f" {'9' * 23} +0000", " 253402300800 +0000"])
def test_every_command_reads_a_commit_with_a_broken_date(shell: Shell, date: str) -> None:
    shell.git("update-ref", "HEAD", make_commit(shell, shell.folder, date))
    for words in READS:
        done = shell.run(*words)
        assert done.status == 0, (words, done.err)


def test_a_commit_without_dates_is_made_again_with_the_first(
    world: World, repository: Path
) -> None:
    at = desk(world, repository)
    made = CommitId(make_commit(at, at.root, ""))
    opened = at.workspace.repository
    commit = branch_commits.commits_not_in(opened, [made], CommitId(at.head()))[made]
    assert (commit.time, commit.author) == (0, b"Ada <a@example.org> 0 +0000")
    assert branch_commits.commit_times(opened, [made]) == {made: 0}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1770000000", 1770000000),
        (b"1770000000", 1770000000),
        ("0", 0),
        ("", 0),
        (b"", 0),
        ("253402127999", 253402127999),
        ("253402300800", 253402128000),
        ("9" * 5000, 253402128000),
    ],
)
def test_the_seconds_of_a_date(text: str | bytes, seconds: int) -> None:
    assert commit_seconds(text) == seconds
