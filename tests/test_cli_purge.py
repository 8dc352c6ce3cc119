"""Forgetting for real, as a user meets it."""

import hashlib
import json
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from commandline import LOG, Place, mdmem, on_terminal
from workspaces import STATE

WORDS = "the heating was mended"
PLAN = ["files", "commits", "messages", "tags", "refs", "signatures", "loose"]


def holders(place: Place, words: str) -> list[str]:
    """Where the words stand still: objects, files, what mdmem keeps in its own folder."""
    objects = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch"],
        cwd=place.folder,
        env=dict(place.world.environment),
        capture_output=True,
        check=True,
    ).stdout
    files = [path for path in place.folder.rglob("*") if path.is_file() and path.relative_to(place.folder).parts[:2] != (".git", "objects")]
    found = ["an object"] if words.encode() in objects else []
    return found + [str(path.relative_to(place.folder)) for path in files if words.encode() in path.read_bytes()]


class TestPurge:
    def by_text(self, place: Place) -> str:
        return WORDS

    def by_id(self, place: Place) -> str:
        found = place.run("facts", "--kind", "fact", "--json").found["facts"]
        return str(next(fact["id"] for fact in found if fact["text"] == WORDS))[:7]

    def as_it_stands(self, place: Place) -> str:
        return f"- [fact] {WORDS} #house"

    def from_history(self, place: Place) -> str:
        place.write(LOG, "# 2026-03-05\n")
        place.git("commit", "-q", "-m", "cleared by hand", LOG)
        return WORDS

    @pytest.mark.parametrize("name", [by_text, by_id, as_it_stands, from_history])
    def test_the_words_are_gone_and_the_rest_is_there(self, place: Place, name: Callable[[Any, Place], str]):
        place.git("tag", "-a", "-m", f"when {WORDS}", "v1")
        place.git("branch", "other")
        assert place.run("log", f"told Ada that {WORDS}").status == 0
        assert WORDS in place.run("search", "heating").out
        named = name(self, place)
        assert "an object" in holders(place, WORDS)
        before = place.git("log", "--format=%an %ad %s", "--reverse").splitlines()
        mine, staged = place.folder.joinpath("MEMORY.md").read_bytes(), place.git("diff", "--cached", "--name-only")
        done = place.run("forget", "--purge", "--yes", "--reason", "asked to", "--", named)
        assert re.fullmatch(r"purged [0-9a-f]{10}\n", done.out), done.err
        assert holders(place, WORDS) == []
        assert "heating" not in place.run("search", "heating").out
        after = place.git("log", "--format=%an %ad %s", "--reverse").splitlines()
        assert after[:-1] == [line.replace(WORDS, "[PURGED]") for line in before]
        assert place.git("log", "-1", "--format=%b") == "Mdmem-Op: purge\nMdmem-Reason: asked to\n\n"
        assert (place.folder.joinpath("MEMORY.md").read_bytes(), place.git("diff", "--cached", "--name-only")) == (mine, staged)
        assert place.git("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main", "refs/heads/other", "refs/tags/v1"]
        assert place.git("reflog", "--all") == ""
        assert "nothing can be brought back" in done.err
        assert "nothing is left to purge" in place.run("forget", WORDS, "--purge", "--yes").out

    def test_as_json(self, place: Place):
        before = place.snapshot()
        plan = place.run("forget", WORDS, "--purge", "--dry-run", "--json").found
        assert list(plan) == ["changed", "commit", "plan", "notices"]
        assert (plan["changed"], plan["commit"], list(plan["plan"])) == (False, None, PLAN)
        assert plan["plan"] == {"files": 1, "commits": 1, "messages": 0, "tags": 0, "refs": 1, "signatures": 0, "loose": 0}
        assert place.snapshot() == before
        assert WORDS not in json.dumps(plan)
        done = place.run("forget", WORDS, "--purge", "--yes", "--json").found
        assert done == {"changed": True, "commit": place.git("rev-parse", "HEAD").strip(), "plan": plan["plan"], "notices": plan["notices"]}
        again = place.run("forget", WORDS, "--purge", "--yes", "--json").found
        assert (again["changed"], again["commit"]) == (False, done["commit"])

    def test_a_dry_run_shows_the_plan_and_changes_nothing(self, place: Place):
        before = place.snapshot()
        done = place.run("forget", WORDS, "--purge", "--dry-run")
        assert done.out.startswith("to purge: 1 files, 1 commits, 0 messages, 0 tags, 1 refs\n  ")
        assert (done.err, place.snapshot()) == ("", before)
        assert WORDS not in done.out

    def test_what_a_killed_write_left_is_finished_first(self, place: Place):
        """The record names the fact: the write has to be finished before it can be purged."""
        place.run("log", "the last one")
        digest = hashlib.sha256(place.write("memory/new.md", f"- {WORDS}\n").read_bytes()).hexdigest()
        record = {"path": "memory/new.md", "before": None, "after": digest, "message": f"say {WORDS}\n", "date": "@1780000000 +0000"}
        place.write(f"{STATE}/write-ahead.json", json.dumps({**record, "temporary": ".mdmem-0.tmp"}))
        assert place.run("forget", WORDS, "--purge", "--yes").out.startswith("purged ")
        assert holders(place, WORDS) == []
        assert "say [PURGED]" in place.git("log", "--format=%s").splitlines()

    @pytest.mark.parametrize(
        ("typed", "status", "said"), [(b"n\n", 0, "nothing is changed"), (b"\n", 0, "nothing is changed"), (b"\x04", 130, "")]
    )
    def test_a_terminal_is_asked_and_says_no(self, place: Place, typed: bytes, status: int, said: str):
        before = place.snapshot()
        done = on_terminal(place, *mdmem("forget", WORDS, "--purge"), typed=typed)
        assert (done.status, place.snapshot()) == (status, before)
        assert "to purge: 1 files" in done.out
        assert "Purge it for good? [y/N]: " in done.out
        assert said in done.out
        assert "Traceback" not in done.out

    def test_a_terminal_is_asked_and_says_yes(self, place: Place):
        done = on_terminal(place, *mdmem("forget", WORDS, "--purge"), typed=b"y\n")
        assert re.search(r"\[y/N\]: purged [0-9a-f]{10}$", done.out, re.MULTILINE)
        assert holders(place, WORDS) == []

    def test_json_does_not_ask(self, place: Place):
        done = on_terminal(place, *mdmem("forget", WORDS, "--purge", "--json"))
        assert (done.status, json.loads(done.out)["error"]) == (2, "usage")
