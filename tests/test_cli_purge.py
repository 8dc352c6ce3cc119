"""Forgetting for real, as a user meets it."""

import hashlib
import json
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from commandline import LOG, Shell, mdmem, on_terminal
from workspaces import STATE

from mdmem.folder import journal
from mdmem.folder.journal import CommitStep, FileStep, Journal
from mdmem.model import FilePath
from mdmem.past.notes import purged_trailer

WORDS = "the heating was mended"
PLAN = ["files", "commits", "messages", "tags", "refs", "signatures", "loose"]


def holders(shell: Shell, words: str) -> list[str]:
    """The places that still hold the words: objects, files, mdmem's own folder."""
    objects = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch"],
        cwd=shell.folder,
        env=dict(shell.world.environment),
        capture_output=True,
        check=True,
    ).stdout
    files = [
        path
        for path in shell.folder.rglob("*")
        if path.is_file() and path.relative_to(shell.folder).parts[:2] != (".git", "objects")
    ]
    holders = ["an object"] if words.encode() in objects else []
    return holders + [
        str(path.relative_to(shell.folder)) for path in files if words.encode() in path.read_bytes()
    ]


class TestPurge:
    def by_text(self, shell: Shell) -> str:
        return WORDS

    def by_id(self, shell: Shell) -> str:
        answer = shell.run("facts", "--kind", "fact", "--json").answer["facts"]
        return str(next(fact["id"] for fact in answer if fact["text"] == WORDS))[:7]

    def as_it_stands(self, shell: Shell) -> str:
        return f"- [fact] {WORDS} #house"

    def from_history(self, shell: Shell) -> str:
        shell.write(LOG, "# 2026-03-05\n")
        shell.git("commit", "-q", "-m", "cleared by hand", LOG)
        return WORDS

    @pytest.mark.parametrize("name", [by_text, by_id, as_it_stands, from_history])
    def test_the_words_are_gone_and_the_rest_is_there(
        self, shell: Shell, name: Callable[[Any, Shell], str]
    ):
        shell.git("tag", "-a", "-m", f"when {WORDS}", "v1")
        shell.git("branch", "other")
        assert shell.run("log", f"told Ada that {WORDS}").status == 0
        assert WORDS in shell.run("search", "heating").out
        named = name(self, shell)
        assert "an object" in holders(shell, WORDS)
        before = shell.git("log", "--format=%an %ad %s", "--reverse").splitlines()
        mine, staged = (
            shell.folder.joinpath("MEMORY.md").read_bytes(),
            shell.git("diff", "--cached", "--name-only"),
        )
        done = shell.run("forget", "--purge", "--yes", "--reason", "asked to", "--", named)
        assert re.fullmatch(r"purged the text from .* \(commit [0-9a-f]{10}\)\n", done.out), (
            done.err
        )
        assert holders(shell, WORDS) == []
        assert "heating" not in shell.run("search", "heating").out
        after = shell.git("log", "--format=%an %ad %s", "--reverse").splitlines()
        assert after[:-1] == [line.replace(WORDS, "[PURGED]") for line in before]
        assert (
            shell.git("log", "-1", "--format=%b")
            == f"Mdmem-Op: purge\nMdmem-Reason: asked to\nMdmem-Purged: {purged_trailer(WORDS)}\n\n"
        )
        assert (
            shell.folder.joinpath("MEMORY.md").read_bytes(),
            shell.git("diff", "--cached", "--name-only"),
        ) == (mine, staged)
        assert shell.git("for-each-ref", "--format=%(refname)").split() == [
            "refs/heads/main",
            "refs/heads/other",
            "refs/tags/v1",
        ]
        assert shell.git("reflog", "--all") == ""
        assert "nothing can be restored" in done.err
        assert "nothing to purge" in shell.run("forget", WORDS, "--purge", "--yes").out

    def test_as_json(self, shell: Shell):
        before = shell.snapshot()
        plan = shell.run("forget", WORDS, "--purge", "--dry-run", "--json").answer
        assert list(plan) == ["changed", "commit", "plan", "notices"]
        assert (plan["changed"], plan["commit"], list(plan["plan"])) == (False, None, PLAN)
        assert plan["plan"] == {
            "files": 1,
            "commits": 1,
            "messages": 0,
            "tags": 0,
            "refs": 1,
            "signatures": 0,
            "loose": 0,
        }
        assert shell.snapshot() == before
        assert WORDS not in json.dumps(plan)
        done = shell.run("forget", WORDS, "--purge", "--yes", "--json").answer
        assert done == {
            "changed": True,
            "commit": shell.git("rev-parse", "HEAD").strip(),
            "plan": plan["plan"],
            "notices": plan["notices"],
        }
        again = shell.run("forget", WORDS, "--purge", "--yes", "--json").answer
        assert (again["changed"], again["commit"]) == (False, done["commit"])

    def test_a_dry_run_shows_the_plan_and_changes_nothing(self, shell: Shell):
        before = shell.snapshot()
        done = shell.run("forget", WORDS, "--purge", "--dry-run")
        assert done.out.startswith("to purge: 1 file, 1 commit, 0 messages, 0 tags, 1 ref\n  ")
        assert (done.err, shell.snapshot()) == ("", before)
        assert WORDS not in done.out

    def test_what_a_killed_write_left_is_finished_first(self, shell: Shell):
        """The record names the fact: the write has to be finished before it can be purged."""
        shell.run("log", "the last one")
        digest = hashlib.sha256(
            shell.write("memory/new.md", f"- {WORDS}\n").read_bytes()
        ).hexdigest()
        step = FileStep(FilePath("memory/new.md"), None, digest, ".mdmem-0.tmp")
        then = CommitStep(f"say {WORDS}\n", "@1780000000 +0000")
        journal.save(shell.folder / STATE / journal.WRITE_NAME, Journal((step,), then))
        assert shell.run("forget", WORDS, "--purge", "--yes").out.startswith("purged ")
        assert holders(shell, WORDS) == []
        assert "say [PURGED]" in shell.git("log", "--format=%s").splitlines()

    @pytest.mark.parametrize(
        ("typed", "status", "printed"),
        [(b"n\n", 0, "nothing was changed"), (b"\n", 0, "nothing was changed"), (b"\x04", 130, "")],
    )
    def test_a_terminal_is_asked_and_says_no(
        self, shell: Shell, typed: bytes, status: int, printed: str
    ):
        before = shell.snapshot()
        done = on_terminal(shell, *mdmem("forget", WORDS, "--purge"), typed=typed)
        assert (done.status, shell.snapshot()) == (status, before)
        assert "to purge: 1 file," in done.out
        assert "Purge it for good? [y/N]: " in done.out
        assert printed in done.out
        assert "Traceback" not in done.out

    def test_a_terminal_is_asked_and_says_yes(self, shell: Shell):
        done = on_terminal(shell, *mdmem("forget", WORDS, "--purge"), typed=b"y\n")
        assert re.search(
            r"\[y/N\]: purged the text from .* \(commit [0-9a-f]{10}\)$", done.out, re.MULTILINE
        )
        assert holders(shell, WORDS) == []

    def test_json_does_not_ask(self, shell: Shell):
        done = on_terminal(shell, *mdmem("forget", WORDS, "--purge", "--json"))
        assert (done.status, json.loads(done.out)["error"]) == (2, "usage")
