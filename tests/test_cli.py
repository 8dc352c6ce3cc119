"""The command line as a user meets it: what it prints, how it ends, and what a failure leaves behind, which is nothing."""

import fcntl
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO, TextIOWrapper
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from conftest import EMAIL, NAME, World
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_docs import raised

from mdmem import __version__, events, githooks
from mdmem.cli import main
from mdmem.facts import fact_id

NOW = "2026-03-05T09:30:00+00:00"
LOG = "memory/2026-03-05.md"
MEMORY = """\
# Memory

## Preferences

- [preference] drink: tea
- likes dark rooms

## Work

- editor: Helix, always Helix

### Employer

- works at Stripe

## Pets

- pet: cat
- pet: dog

## Twice

- one

## Twice

- two
"""
FILES = {
    "MEMORY.md": MEMORY,
    LOG: "# 2026-03-05\n\n## 09:00\n\n- [fact] the heating was mended #house\n",
    "memory/rooms.md": "# Rooms\n\n- likes dark rooms\n",
    "memory/open.md": "# Open\n\n```\ncode\n",
    "notes.txt": "no memory\n",
}
ETAG = re.compile(r"[0-9a-f]{12}")
TOKEN = "ghp_" + "Zq3vT8bN1xK6mW9cR4yF" + "7sJ2hD5gL0pA8uEi"


@dataclass
class Place:
    """A workspace with a person's edits, saved, staged and new, that nobody has committed yet."""

    world: World
    folder: Path
    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]
    kept: list[Any] = field(default_factory=list)

    def run(self, *words: str, stdin: bytes = b"") -> "Done":
        """One command in this process."""
        self.patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin)))
        self.capture.readouterr()
        status = main(list(words))
        return Done(status, *self.capture.readouterr())

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def hook(self, name: str, text: str) -> None:
        self.write(f".git/hooks/{name}", f"#!/bin/sh\n{text}\n").chmod(0o755)

    def git(self, *arguments: str) -> str:
        return self.world.git(self.folder, *arguments).stdout

    def snapshot(self) -> Mapping[str, Any]:
        """Every file with its mode, HEAD and the branches, and what git thinks of it all, its index included."""
        status = ("status", "--porcelain=v2", "--branch", "--untracked-files=all")
        said = self.world.git(self.folder, *status, check=False, environment={"GIT_OPTIONAL_LOCKS": "0"})
        own = [path for path in self.folder.rglob("*") if path.relative_to(self.folder).parts[0] != ".git"]
        refs = [self.folder / ".git" / "HEAD", *(self.folder / ".git" / "refs").rglob("*")]
        files = {str(path.relative_to(self.folder)): (path.lstat().st_mode, path.read_bytes()) for path in (*own, *refs) if path.is_file()}
        return {"files": files, "status": (said.stdout, said.stderr)}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def found(self) -> Any:
        """The one JSON object on standard output."""
        assert self.err == ""
        return json.loads(self.out)


@pytest.fixture
def place(
    world: World, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> Iterator[Place]:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    monkeypatch.chdir(repository)
    made = Place(world, repository, monkeypatch, capsys)
    for name, text in FILES.items():
        made.write(name, text)
    made.git("add", ".")
    made.git("commit", "-q", "-m", "first")
    made.write("MEMORY.md", MEMORY + "\n## By hand\n\n- not committed yet\n")
    made.write("staged.txt", "staged\n")
    made.git("add", "staged.txt")
    yield made
    for thing in made.kept:
        thing.close()


# What is prepared for a failure.


def settings_file(text: str) -> Callable[[Place], None]:
    return lambda place: place.write("mdmem.toml", text) and None


def file(name: str, text: str | bytes) -> Callable[[Place], None]:
    return lambda place: place.write(name, text) and None


def git(*words: str) -> Callable[[Place], None]:
    return lambda place: place.git(*words) and None


def elsewhere(place: Place) -> None:
    place.patch.chdir(tempfile.mkdtemp(dir=place.world.home))


def no_repository(place: Place) -> None:
    elsewhere(place)
    Path("MEMORY.md").write_text("# Memory\n")


def bare(place: Place) -> None:
    place.git("config", "core.bare", "true")


def link(place: Place) -> None:
    (place.folder / "link.md").symlink_to("MEMORY.md")


def locked(place: Place) -> None:
    place.write("mdmem.toml", "lock_timeout = 0.01\n")
    lock = place.write(".git/mdmem/root/lock", "").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    place.kept.append(lock)


def no_git(place: Place) -> None:
    place.patch.setenv("PATH", str(place.world.home))


def slow_hook(place: Place) -> None:
    place.write("mdmem.toml", "hook_timeout = 0.3\n")
    place.hook("commit-msg", "exec sleep 50")


def refusing_hook(place: Place) -> None:
    """It takes the person's own edits and refuses ours, so that the first of two commits has to go back."""
    place.hook("commit-msg", 'grep -q Mdmem-Op "$1" || exit 0; echo not today >&2; exit 1')


def lost_worktree(place: Place) -> None:
    there = place.world.home / "linked"
    place.git("worktree", "add", "-q", "--detach", str(there))
    shutil.rmtree(there)


def nobody(place: Place) -> None:
    place.git("config", "--unset", "user.name")
    place.git("config", "--unset", "user.email")


def off_the_line(place: Place) -> None:
    """A commit that HEAD does not have, called off."""
    place.git("tag", "off", place.git("commit-tree", "HEAD^{tree}", "-m", "off").strip())


def commits(place: Place, *parents: str) -> str:
    """A commit on HEAD's branch that changes nothing."""
    made = place.git("commit-tree", "HEAD^{tree}", *(word for parent in parents for word in ("-p", parent)), "-m", "made").strip()
    place.git("update-ref", "refs/heads/main", made)
    return made


def merged(place: Place) -> None:
    first = place.git("rev-parse", "HEAD").strip()
    commits(place, first, commits(place, first))


def cut_off(place: Place) -> None:
    place.write(".git/shallow", place.git("rev-parse", "HEAD"))


def twice_changed(place: Place) -> None:
    """A line that was changed by the commit called light, and then again."""
    for name in ("light", "no"):
        place.write("memory/rooms.md", f"# Rooms\n\n- likes {name} rooms\n")
        place.git("commit", "-q", "-m", name, "memory/rooms.md")
        place.git("tag", name)


def twins() -> tuple[str, str]:
    """Two facts whose ids begin alike."""
    seen: dict[str, str] = {}
    for number in count():
        text = f"fact {number}"
        if (other := seen.setdefault(fact_id(text)[:6], text)) != text:
            return other, text
    raise AssertionError


TWINS = twins()


def with_twins(place: Place) -> None:
    place.write("memory/twins.md", "".join(f"- {text}\n" for text in TWINS))
    place.git("add", "memory/twins.md")
    place.git("commit", "-q", "-m", "twins", "memory/twins.md")


@dataclass(frozen=True)
class Failure:
    """A command that must fail. `hints` is a part of the hint."""

    code: str
    words: tuple[str, ...]
    prepare: Callable[[Place], None] | None = None
    hints: str = ""
    stdin: bytes = b""


ROOMS = fact_id("likes dark rooms")[:7]
TWIN = fact_id(TWINS[0])[:6]
APPEND = ("edit-section", "Work", "--append", "- x")
FAILURES = [
    Failure("ambiguous", ("revert", ROOMS), git("tag", ROOMS), "more digits"),
    Failure("append-only", ("edit-section", "09:00", "--file", LOG, "--body", "- x"), hints="Log a new entry"),
    Failure("append-only", ("remember", "x", "--file", LOG)),
    *(Failure("bad-path", ("show", name), hints=".md file") for name in ("../x.md", "/etc/x.md", ".git/x.md", "a\\b.md", "\x1b.md")),
    Failure("bad-path", ("outline", "notes.txt"), hints=".md file"),
    Failure("bad-path", ("edit-section", "Work", "--file", "link.md", "--append", "- x"), link, "points to"),
    Failure("bad-path", ("edit-section", "A", "--create", "--file", "notes.txt/a.md", "--body", "x")),
    Failure("bad-path", ("init", "notes.txt")),
    Failure("bad-settings", APPEND, settings_file("authr = 'x'\n"), "author"),
    Failure("bad-settings", ("status",), settings_file("lock_timeout = true\n")),
    Failure("bad-settings", ("search", "x"), settings_file("a = [\n"), "optional"),
    Failure("bad-settings", ("log", "x"), settings_file("timezone = 'Mars/Base'\n"), "Europe/Berlin"),
    Failure("bad-settings", ("facts",), settings_file("extra_paths = ['../..']\n"), "your own settings"),
    Failure("bad-text", ("log", "x", "--tag", "1 2")),
    Failure("bad-text", ("log", "x", "--kind", "!")),
    Failure("bad-text", ("remember", "x", "--key", "two\nlines")),
    Failure("bad-text", ("edit-section", "Work", "--rename", "two\nlines")),
    Failure("bad-text", ("edit-section", "Work", "--body", "nul \0")),
    Failure("bad-text", ("log", "-"), stdin=b"latin \xe9"),
    Failure("bare-repository", APPEND, bare, "Clone"),
    Failure("before-history", ("search", "rooms", "--as-of", "2020-01-01")),
    Failure("before-history", ("search", "rooms", "--as-of", "2020-01-01"), cut_off, "git fetch --unshallow"),
    Failure("before-history", ("search", "rooms", "--as-of", "2026-03-05T09:29:59+00:00")),
    Failure("body-escapes-section", ("edit-section", "Employer", "--body", "# Higher"), hints="deeper headings"),
    Failure("body-escapes-section", ("edit-section", "Work", "--body", "```\nopen"), hints="Close"),
    Failure("body-escapes-section", ("edit-section", "Work", "--append", "<!-- open"), hints="Close"),
    Failure("broken-repository", APPEND, file(".git/HEAD", "nonsense\n"), "git fsck"),
    Failure("broken-repository", ("show",), file(".git/refs/heads/main", "nonsense\n"), "git fsck"),
    Failure("busy", APPEND, locked, "lock_timeout"),
    Failure("busy", ("save",), locked, "lock_timeout"),
    Failure("bad-text", ("forget", "tea", "--purge", "--yes"), hints="more words"),
    Failure("busy", ("forget", "likes dark rooms", "--purge", "--yes"), locked, "lock_timeout"),
    Failure("busy", ("init",), locked, "lock_timeout"),
    Failure("cannot-purge", ("forget", "likes dark rooms", "--purge", "--yes"), lost_worktree, "git worktree prune"),
    Failure("cannot-purge", ("forget", "likes dark rooms", "--purge", "--dry-run"), lost_worktree, "git worktree prune"),
    Failure("cannot-revert", ("revert", "HEAD"), merged, "one of the commits"),
    Failure("cannot-revert", ("revert", "HEAD"), lambda place: commits(place, "HEAD") and None),
    Failure("cannot-revert", ("revert", "HEAD"), cut_off, "git fetch --unshallow"),
    Failure("cannot-revert", ("revert", "likes dark rooms"), cut_off, "git fetch --unshallow"),
    Failure("commit-failed", APPEND, refusing_hook, "nothing was changed"),
    Failure("commit-failed", ("log", "x"), refusing_hook, "nothing was changed"),
    Failure("commit-failed", ("remember", "x", "--file", "new.md", "--section", "A", "--create"), refusing_hook, "nothing was changed"),
    Failure("commit-failed", ("contradicts", "pet: cat", "pet: dog"), refusing_hook, "nothing was changed"),
    Failure("commit-not-found", ("search", "rooms", "--as-of", "nonsense"), hints="mdmem history"),
    Failure("commit-not-found", ("search", "rooms", "--as-of", "off"), off_the_line),
    Failure("commit-not-found", ("revert", "off"), off_the_line, "mdmem history"),
    Failure("commit-not-found", ("revert", "nothing of the kind"), hints="mdmem facts --all"),
    Failure("commit-not-found", ("revert", "0123456"), hints="mdmem facts --all"),
    Failure("conflict-markers", ("edit-section", "Work", "--body", "<<<<<<< a\n- x\n=======\n- y\n>>>>>>> b"), hints="Resolve"),
    Failure("detached-head", APPEND, git("checkout", "-q", "--detach"), "git switch"),
    Failure("empty-text", ("log", "  ")),
    Failure("empty-text", ("remember", "-"), stdin=b"\n"),
    Failure("empty-text", ("edit-section", "Work", "--append", "")),
    Failure("empty-text", ("when", " ")),
    Failure("fact-ambiguous", ("history", TWIN), with_twins, "more digits"),
    Failure("fact-ambiguous", ("revert", TWIN), with_twins, "more digits"),
    Failure("fact-ambiguous", ("contradicts", TWIN, "pet: cat"), with_twins, "more digits"),
    Failure("fact-ambiguous", ("contradicts", "pet: cat", "likes dark rooms"), hints="MEMORY.md:6; memory/rooms.md:3"),
    Failure("fact-ambiguous", ("forget", "likes dark rooms"), hints="MEMORY.md:6; memory/rooms.md:3"),
    Failure("fact-ambiguous", ("forget", ROOMS, "--purge", "--yes"), file("memory/id.md", f"- {ROOMS}\n"), "Give the id."),
    Failure("fact-not-found", ("forget", "nothing of the kind", "--purge", "--yes"), hints="mdmem facts"),
    Failure("fact-not-found", ("forget", "nothing of the kind", "--purge", "--dry-run"), hints="mdmem facts"),
    Failure("fact-not-found", ("forget", "0123456789"[:8], "--purge", "--yes"), hints="by its words"),
    Failure("fact-not-found", ("forget", "nothing of the kind"), hints="mdmem facts"),
    Failure("fact-not-found", ("history", "0123456"), hints="mdmem facts --all"),
    Failure("fact-not-found", ("contradicts", "pet: cat", "0123456789"), hints="mdmem facts"),
    Failure("fact-not-found", ("conflicts", "--resolve", "pet: cat", "pet: mouse"), hints="mdmem facts"),
    Failure("fact-not-found", ("remember", "x", "--supersedes", "0123456789"), hints="mdmem facts"),
    Failure("file-not-found", ("show", "memory/room.md"), hints="memory/rooms.md"),
    Failure("file-not-found", ("edit-section", "Work", "--file", "nope.md", "--append", "x")),
    Failure("file-not-found", ("check", "memory/room.md"), hints="memory/rooms.md"),
    Failure("file-not-found", ("history", "--file", "memory/room.md"), hints="memory/rooms.md"),
    Failure("file-not-found", ("history", "Rooms", "--file", "memory/room.md"), hints="memory/rooms.md"),
    Failure("file-not-found", ("blame", "Rooms", "--file", "memory/room.md"), hints="memory/rooms.md"),
    Failure("git-failed", APPEND, file(".git/index", b"garbage")),
    Failure("git-missing", APPEND, no_git, "Install git"),
    Failure("has-subsections", ("edit-section", "Work", "--delete"), hints="--subtree"),
    Failure("has-subsections", ("edit-section", "Work", "--body", "### New"), hints="--subtree"),
    Failure("hook-timeout", APPEND, slow_hook, "hook_timeout"),
    Failure("hooks-managed", ("hooks", "install"), git("config", "core.hooksPath", "elsewhere"), "pre-commit"),
    Failure("ignored-path", ("log", "x", "--date", "2026-03-06"), file(".gitignore", "memory/\n")),
    Failure("key-ambiguous", ("remember", "hamster", "--key", "pet"), hints="--supersedes ID"),
    Failure("no-identity", APPEND, nobody, "git config --global user.name"),
    Failure("no-workspace", ("show",), elsewhere, "mdmem init"),
    Failure("no-workspace", ("-C", "/nowhere/at/all", "status"), hints="mdmem init"),
    Failure("no-workspace", ("-C", "memory", "status"), hints="mdmem init"),
    Failure("not-a-repository", ("log", "x"), no_repository, "mdmem init"),
    Failure("open-block", ("log", "x"), file(LOG, "# Day\n\n<!-- open\n"), "Close"),
    Failure("open-block", ("edit-section", "Open", "--file", "memory/open.md", "--append", "x"), hints="Close"),
    Failure("pending-secret", APPEND, file("MEMORY.md", MEMORY + f"\n- the token {TOKEN}\n"), "mdmem: allow secret"),
    Failure("pending-edits", APPEND, settings_file("direct_edits = 'refuse'\n"), "mdmem save"),
    Failure(
        "read-only-path", ("edit-section", "A", "--file", "more/a.md", "--create", "--body", "x"), settings_file("extra_paths = ['more']\n")
    ),
    Failure("repository-busy", APPEND, file(".git/MERGE_HEAD", "0" * 40 + "\n"), "git status"),
    Failure("repository-busy", ("forget", "likes dark rooms", "--purge", "--yes"), file(".git/MERGE_HEAD", "0" * 40 + "\n"), "git status"),
    Failure("repository-busy", ("contradicts", "pet: cat", "pet: dog"), file(".git/MERGE_HEAD", "0" * 40 + "\n"), "git status"),
    Failure("repository-busy", ("save",), lambda place: (place.folder / ".git/rebase-merge").mkdir(), "git status"),
    Failure("revert-conflict", ("revert", "light"), twice_changed, "later change"),
    Failure("same-fact", ("contradicts", "pet: cat", fact_id("pet: cat"))),
    Failure("secret-found", ("contradicts", "pet: cat", "pet: dog", "--reason", TOKEN)),
    *(
        Failure("secret-found", words, hints="--allow secret", stdin=f"it is {TOKEN}".encode())
        for words in (("log", "-"), ("remember", "-"), ("edit-section", "Work", "--append", "-"))
    ),
    Failure("secret-found", ("save",), file("memory/new.md", f"- {TOKEN}\n"), "MDMEM_ALLOW=secret"),
    Failure("section-ambiguous", ("show", "Twice"), hints="line 21"),
    Failure("section-ambiguous", ("edit-section", "Twice", "--body", "x"), hints="--nth"),
    Failure("section-ambiguous", ("history", "Twice"), hints="line 21"),
    Failure("section-ambiguous", ("blame", "Twice"), hints="line 21"),
    Failure("section-changed", ("edit-section", "Work", "--expect", "000000000000", "--body", "x"), hints="mdmem show"),
    Failure("section-changed", ("edit-section", "--preamble", "--expect", "000000000000", "--body", "x"), hints="mdmem show"),
    Failure("section-not-found", ("edit-section", "Wrok", "--append", "x"), hints="Memory > Work"),
    Failure("section-not-found", ("show", "Twice", "--nth", "3")),
    Failure("section-not-found", ("history", "Wrok"), hints="Memory > Work"),
    Failure("section-not-found", ("history", "likes dark rooms", "--file", "memory/rooms.md"), hints="Rooms"),
    Failure("section-not-found", ("blame", "Wrok"), hints="Memory > Work"),
    Failure("section-not-found", ("remember", "x", "--section", "Nowhere"), hints="Its sections are"),
    Failure("storage", APPEND, file(".git/mdmem", "in the way")),
    Failure("task-not-found", ("task", "note", "Move", "x"), hints="mdmem task start"),
    Failure("task-not-found", ("task", "done", "Move", "x"), file("memory/tasks.md", "# Tasks\n\n## Move it\n"), "Move it"),
    Failure("task-not-found", ("task", "show", "Move"), hints="mdmem task start"),
    Failure("bad-text", ("task", "start", "two\nlines", "x")),
    Failure("empty-text", ("task", "start", "Move", " ")),
    Failure("empty-text", ("task", "note", "Move it", "-"), file("memory/tasks.md", "# Tasks\n\n## Move it\n"), stdin=b"\n"),
    Failure("text-ambiguous", ("edit-section", "Work", "--replace", "Helix", "--with", "Vim"), hints="more of the text"),
    Failure("text-not-found", ("edit-section", "Work", "--replace", "Emacs", "--with", "Vim"), hints="mdmem show"),
    Failure("unsupported-file", ("show", "latin.md"), file("latin.md", b"# caf\xe9\n"), "iconv"),
    Failure("unsupported-file", ("edit-section", "N", "--file", "nul.md", "--append", "x"), file("nul.md", b"# N\n\0\n"), "editor"),
    Failure("unsupported-file", ("outline", "large.md"), file("large.md", b"# x\n" * 1_300_000), "Split"),
    Failure("usage", ("frob",), hints="mdmem --help"),
    Failure("usage", ("log",), hints="mdmem log --help"),
    Failure("usage", ("log", "x", "--frob"), hints="mdmem log --help"),
    Failure("usage", ("hooks", "frob"), hints="mdmem hooks --help"),
    Failure("usage", ("edit-section", "Work")),
    Failure("usage", ("edit-section", "Work", "--body", "x", "--append", "y")),
    Failure("usage", ("edit-section", "Work", "--body", "x", "--editor")),
    Failure("usage", ("edit-section", "--body", "x")),
    Failure("usage", ("edit-section", "Work", "--preamble", "--body", "x")),
    Failure("usage", ("edit-section", "Work", "--replace", "x")),
    Failure("usage", ("edit-section", "Work", "--delete", "--create")),
    Failure("usage", ("edit-section", "Work", "--editor", "--create")),
    Failure("usage", ("edit-section", "Work", "--editor", "--subtree")),
    Failure("usage", ("edit-section", "Work", "--replace", "-", "--with", "-"), stdin=b"editor"),
    Failure("usage", ("edit-section", "--preamble", "--delete")),
    Failure("usage", ("edit-section", "Work", "--editor"), hints="--body -"),
    Failure("usage", (*APPEND, "--confidence", "1.5")),
    Failure("usage", (*APPEND, "--confidence", "nan")),
    Failure("usage", (*APPEND, "--source", "hearsay"), hints="--help"),
    Failure("usage", (*APPEND, "--allow", "everything"), hints="append, secret, shrink"),
    Failure("usage", ("log", "x", "--fact", "--kind", "task")),
    Failure("usage", ("log", "x", "--date", "yesterday"), hints="2026-"),
    Failure("usage", ("log", "x", "--time", "9:30"), hints="14:05"),
    Failure("usage", ("log", "x"), lambda place: place.patch.setenv("MDMEM_NOW", "soon"), "2026-"),
    Failure("usage", ("remember", "x", "--until", "2026-02-30"), hints="2026-"),
    Failure("usage", ("forget", "likes dark rooms", "--yes")),
    Failure("usage", ("forget", "likes dark rooms", "--purge"), hints="--yes"),
    *(
        Failure("usage", ("forget", "likes dark rooms", "--purge", "--yes", option, "x"))
        for option in ("--file", "--section", "--supersedes")
    ),
    *(
        Failure("usage", ("forget", "likes dark rooms", "--purge", "--yes", *option))
        for option in (("--source", "auto"), ("--confidence", "0.5"), ("--confidence", "2"), ("--allow", "everything"))
    ),
    Failure("usage", ("show", "one", "two")),
    Failure("usage", ("show", "one", "--preamble")),
    Failure("usage", ("show", "a.md", "b", "c"), hints="mdmem show --help"),
    Failure("usage", ("search",), hints="mdmem search --help"),
    Failure("usage", ("search", "x", "-n", "0")),
    Failure("usage", ("search", "x", "-n", "many"), hints="--help"),
    Failure("usage", ("search", "x", "--since", "no such day"), hints="2026-"),
    Failure("usage", ("search", "x", "--min-confidence", "2")),
    Failure("usage", ("search", "x", "--recent-days", "0")),
    Failure("usage", ("search", "x", "--combined", "--recent-days", "3")),
    Failure("usage", ("search", "x", "--as-of", "2026-13-01"), hints="2026-"),
    Failure("usage", ("search", "x", "--as-of", "2026-03-05", "--history"), hints="--as-of"),
    Failure("usage", ("history", "Work", "-n", "0")),
    Failure("usage", ("blame",), hints="mdmem blame --help"),
    Failure("usage", ("contradicts", "pet: cat"), hints="mdmem contradicts --help"),
    Failure("usage", ("conflicts", "--reason", "x")),
    Failure("usage", ("review", "--reason", "x")),
    Failure("usage", ("recall",), hints="mdmem recall --help"),
    Failure("usage", ("check", "--staged", "MEMORY.md")),
]
NOT_FROM_HERE = {
    "bug": "there is no known one",
    "interrupted": "a signal has to come",
    "git-timeout": "git would have to hang for a minute",
    "append": "our own edits add to a log only",
    "shrink": "our own edits name their section, and may",
    "not-utf8": "a text that is not UTF-8 is refused before, as bad-text",
}


def test_every_code_that_can_be_provoked_is_provoked():
    assert {failure.code for failure in FAILURES} == raised() - set(NOT_FROM_HERE)


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: f"{failure.code} {' '.join(failure.words)[:70]!r}")
def test_failures(place: Place, failure: Failure):
    if failure.prepare:
        failure.prepare(place)
    before = place.snapshot()
    text = place.run(*failure.words, stdin=failure.stdin)
    as_json = place.run(*failure.words, "--json", stdin=failure.stdin)
    assert place.snapshot() == before
    status = 2 if failure.code == "usage" else 1
    assert (text.status, text.out, as_json.status, as_json.out) == (status, "", status, "")
    (line,) = as_json.err.splitlines()
    said = json.loads(line)
    assert list(said)[:3] == ["error", "message", "hint"]
    assert said["error"] == failure.code
    assert failure.hints in said["hint"]
    shown = f"mdmem: {said['message']}\n" + (f"hint: {said['hint']}\n" if said["hint"] else "")
    assert text.err == re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", shown)
    assert "Traceback" not in text.err
    assert TOKEN not in text.err + as_json.err


def test_a_failure_names_what_a_program_needs(place: Place):
    changed = json.loads(place.run("edit-section", "Employer", "--expect", "0" * 12, "--body", "x", "--json").err)
    assert changed["text"].strip() == "- works at Stripe"
    assert ETAG.fullmatch(changed["etag"])
    assert place.run("edit-section", "Employer", "--expect", changed["etag"], "--body", "- works at Linear", "--json").found["changed"]
    several = json.loads(place.run("show", "Twice", "--json").err)
    assert several["sections"] == [{"section": "Memory > Twice", "line": 21}, {"section": "Memory > Twice", "line": 25}]
    values = json.loads(place.run("remember", "x", "--key", "pet", "--json").err)
    assert [fact["text"] for fact in values["facts"]] == ["pet: cat", "pet: dog"]
    secret = json.loads(place.run("edit-section", "Employer", "--append", f"- {TOKEN}", "--json").err)
    assert (secret["line"], secret["kind"]) == (15, "github-token")
    place.write("MEMORY.md", f"# Memory\n\n- {TOKEN}\n")
    pending = json.loads(place.run("edit-section", "Memory", "--append", "- x", "--json").err)
    assert (pending["line"], pending["kind"]) == (3, "github-token")


# What succeeds.

WRITE = ["changed", "path", "section", "etag", "commit", "added", "removed", "supersedes"]
FACT = ["id", "text", "key", "kind", "tags", "path", "section", "line", "source", "confidence", "status", "until"]
HIT = [
    *("path", "start_line", "end_line", "section", "kind", "day", "text", "score", "fact", "tags", "source", "confidence", "status"),
    *("superseded_by", "contradicts", "commit", "uncommitted"),
]
SHOWN = ["path", "section", "level", "text", "etag", "tree_etag", "start_line", "end_line", "commit", "uncommitted", "subsections"]
WRITES = [
    (("log", "it rained"), "logged in memory/2026-03-05.md: 2026-03-05 > 09:30 "),
    (("log", "--fact", "it rained", "--time", "23:59", "--date", "2026-03-01"), "logged in memory/2026-03-01.md: 2026-03-01 > 23:59 "),
    (("remember", "coffee", "--key", "drink"), "remembered in MEMORY.md: Memory > Preferences "),
    (("remember", "likes light rooms", "--kind", "preference"), "remembered in MEMORY.md: Memory > Preferences "),
    (("forget", "works at Stripe"), "forgotten from MEMORY.md: Memory > Work > Employer "),
    (("edit-section", "Employer", "--body", "- works at Linear"), "changed MEMORY.md: Memory > Work > Employer "),
    (("edit-section", "Employer", "--append", "- since May"), "appended to MEMORY.md: Memory > Work > Employer "),
    (("edit-section", "Employer", "--prepend", "- since May"), "prepended to MEMORY.md: Memory > Work > Employer "),
    (("edit-section", "Employer", "--replace", "Stripe", "--with", "Linear"), "changed MEMORY.md: Memory > Work > Employer "),
    (("edit-section", "Employer", "--rename", "Company"), "renamed MEMORY.md: Memory > Work > Company "),
    (("edit-section", "Work", "--delete", "--subtree"), "deleted MEMORY.md: Memory > Work "),
    (("edit-section", "Work > Hours", "--body", "- nine to five", "--create"), "made MEMORY.md: Memory > Work > Hours "),
    (("edit-section", "--preamble", "--body", "For people."), "changed MEMORY.md "),
    (("edit-section", "House", "--file", "memory/house.md", "--create", "--body", "- red"), "made memory/house.md: House "),
]


@pytest.mark.parametrize(("words", "line"), WRITES, ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "")
class TestWrites:
    def test_text_is_one_line_that_ends_in_an_id(self, place: Place, words: tuple[str, ...], line: str):
        done = place.run(*words)
        assert (done.status, done.out.count("\n")) == (0, 1)
        assert re.fullmatch(re.escape(line) + r"([0-9a-f]{8}|[0-9a-f]{10})\n", done.out)
        pending = "mdmem: committed the pending edits of MEMORY.md first, as yours\n"
        assert done.err == (pending if "MEMORY.md" in line else "")
        assert "A  staged.txt\n" in place.git("status", "--porcelain")
        assert "Mdmem-Op: " in place.git("log", "-1", "--format=%B")

    def test_json_and_dry_run(self, place: Place, words: tuple[str, ...], line: str):
        before = place.snapshot()
        dry = place.run(*words, "--dry-run", "--json").found
        assert list(dry) == [*WRITE, "diff"]
        shown = place.run(*words, "--dry-run")
        assert (shown.status, shown.err, shown.out.rstrip("\n")) == (0, "", dry["diff"].rstrip("\n"))
        assert place.snapshot() == before
        done = place.run(*words, "--json").found
        assert list(done) == WRITE
        assert done == {name: value for name, value in dry.items() if name != "diff"} | {"commit": place.git("rev-parse", "HEAD").strip()}
        added = place.git("show", "--format=", "--unified=0", "HEAD").splitlines()
        assert {text for text in added if text[:1] == "+" and text[:3] != "+++"} <= set(dry["diff"].splitlines())


class TestWritesAsked:
    def test_again_changes_nothing(self, place: Place):
        for words in (("log", "it rained"), ("remember", "coffee", "--key", "drink"), ("edit-section", "Employer", "--append", "- x")):
            assert place.run(*words).status == 0
            before = place.snapshot()
            again = place.run(*words)
            assert again.status == 0
            assert again.out.startswith("unchanged: ")
            found = place.run(*words, "--json").found
            assert (found["changed"], found["commit"]) == (False, None)
            assert place.snapshot() == before

    def test_who_and_why_are_kept(self, place: Place):
        said = ("--source", "user-stated", "--actor", "agent/main", "--session", "s1", "--reason", "asked twice", "--confidence", "0.8")
        assert place.run("remember", "coffee", "--key", "drink", *said).status == 0
        message = place.git("log", "-1", "--format=%B")
        for trailer in ("Source: user-stated", "Actor: agent/main", "Session: s1", "Reason: asked twice", "Confidence: 0.8"):
            assert f"Mdmem-{trailer}\n" in message
        place.patch.setenv("MDMEM_ACTOR", "agent/night")
        assert place.run("log", "x").status == 0
        assert "Mdmem-Actor: agent/night\n" in place.git("log", "-1", "--format=%B")

    def test_a_dash_reads_standard_input(self, place: Place):
        for words in (
            ("log", "-"),
            ("remember", "-"),
            ("edit-section", "Employer", "--body", "-"),
            ("edit-section", "Work", "--append", "-"),
            ("edit-section", "Pets", "--prepend", "-"),
        ):
            assert place.run(*words, stdin="naïve 日本語\n".encode()).status == 0
            assert "naïve 日本語" in place.git("show", "--format=", "HEAD")
        assert place.run("edit-section", "Employer", "--replace", "-", "--with", "plain", stdin="naïve 日本語".encode()).status == 0
        assert place.run("edit-section", "Employer", "--replace", "plain", "--with", "-", stdin=b"fancy").status == 0
        assert place.run("show", "Employer").out == "fancy\n"

    def test_a_title_may_be_a_dash(self, place: Place):
        assert place.run("edit-section", "Employer", "--rename", "-", stdin=b"no title").status == 0
        assert place.run("show", "Memory > Work > -").out == "- works at Stripe\n"

    def test_a_text_may_look_like_an_option(self, place: Place):
        assert place.run("log", "--json", "--", "--json").found["added"]
        assert place.run("log", "--", "--help").out.startswith("logged in ")


class TestReads:
    def test_show(self, place: Place):
        assert place.run("show", "Employer").out == "- works at Stripe\n"
        assert place.run("show", "memory/rooms.md", "Rooms").out == "- likes dark rooms\n"
        assert place.run("show", "memory/rooms.md").out == FILES["memory/rooms.md"]
        assert place.run("show", "Twice", "--nth", "2").out == "- two\n"
        found = place.run("show", "Work", "--json").found
        assert list(found) == SHOWN
        assert (found["section"], found["level"], found["subsections"]) == ("Memory > Work", 2, ["Memory > Work > Employer"])
        assert found["commit"] == place.git("rev-parse", "HEAD").strip()
        assert not found["uncommitted"]
        assert place.run("show", "By hand", "--json").found["uncommitted"]

    def test_outline(self, place: Place):
        lines = place.run("outline").out.splitlines()
        assert re.fullmatch(r"Memory  \(line 1\) [0-9a-f]{12}", lines[0])
        assert re.fullmatch(r"    Employer  \(line 12\) [0-9a-f]{12}", lines[3])
        found = place.run("outline", "--json").found
        assert list(found) == ["path", "sections"]
        assert [list(row) for row in found["sections"]] == [["section", "level", "line", "etag", "lines"]] * len(lines)
        assert place.run("outline", "memory/rooms.md").out.startswith("Rooms  (line 1) ")

    def test_search(self, place: Place):
        assert place.run("search", "stripe").out.splitlines()[0].startswith("MEMORY.md:14 Memory > Work > Employer [")
        assert "(uncommitted)" in place.run("search", "committed", "yet").out
        found = place.run("search", "stripe", "-n", "1", "--json").found
        assert list(found) == ["query", "as_of", "commit", "stale", "hits"]
        assert [list(hit) for hit in found["hits"]] == [HIT]
        only = place.run("search", "rooms", "--file", "memory", "--json").found
        assert [hit["path"] for hit in only["hits"]] == ["memory/rooms.md"]

    def test_no_match_is_done(self, place: Place):
        done = place.run("search", "zebra")
        assert (done.status, done.out, done.err) == (0, "", "mdmem: no match\n")
        assert place.run("search", "zebra", "--json").found["hits"] == []
        assert place.run("facts", "--tag", "zebra").err == "mdmem: no facts\n"
        assert place.run("facts", "--tag", "zebra", "--json").found == {"facts": []}

    def test_facts(self, place: Place):
        assert re.search(
            r"^[0-9a-f]{8}  \[fact\] the heating was mended #house  memory/2026-03-05.md:5$", place.run("facts").out, re.MULTILINE
        )
        found = place.run("facts", "--kind", "preference", "--json").found
        assert [list(fact) for fact in found["facts"]] == [FACT]
        assert found["facts"][0] | {"id": ""} == {
            **{"id": "", "text": "drink: tea", "key": "drink", "kind": "preference", "tags": [], "path": "MEMORY.md", "line": 5},
            **{"section": "Memory > Preferences", "source": "user-stated", "confidence": 0.95, "status": "current", "until": None},
        }

    def test_check(self, place: Place):
        clean = place.run("check", "memory/rooms.md")
        assert (clean.status, clean.out, clean.err) == (0, "", "mdmem: no problems\n")
        done = place.run("check")
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith("MEMORY.md:25: warning: the heading 'Twice' stands in line 21 already")
        (problem,) = place.run("check", "--json").found["problems"]
        assert list(problem) == ["path", "line", "code", "level", "message"]

    def test_check_staged(self, place: Place):
        place.write(LOG, "# 2026-03-05\n")
        place.git("add", LOG)
        done = place.run("check", "--staged")
        assert (done.status, done.err) == (1, "")
        assert done.out.startswith(f"{LOG}:1: error: an earlier entry of the daily log is lost or changed")
        place.patch.setenv("MDMEM_ALLOW", "append")
        assert place.run("check", "--staged", "--json").status == 0

    def test_status(self, place: Place):
        place.write("memory/latin.md", b"caf\xe9\n")
        assert place.run("reindex").status == 0
        out = place.run("status").out
        for said in ("branch     main at ", "uncommitted  MEMORY.md\n", "skipped    memory/latin.md: the file is not UTF-8"):
            assert said in out
        found = place.run("status", "--json").found
        assert list(found) == ["workspace", "branch", "commit", "files", "uncommitted", "skipped", "index", "hooks"]

    def test_reindex(self, place: Place):
        assert re.fullmatch(r"[1-9]\d* entries indexed\n", place.run("reindex").out)
        assert list(place.run("reindex", "--full", "--json").found) == ["entries"]


class TestOthers:
    def test_init(self, place: Place):
        done = place.run("init", str(place.world.home / "new"))
        assert re.fullmatch(r"workspace in \S+/new, wrote MEMORY.md, USER.md, SOUL.md, IDENTITY.md, mdmem.toml [0-9a-f]{10}\n", done.out)
        assert "mdmem <mdmem@localhost>" in done.err
        again = place.run("init", str(place.world.home / "new"), "--json").found
        assert list(again) == ["workspace", "made_repository", "written", "commit", "hooks", "notes"]
        assert (again["made_repository"], again["written"], again["commit"], again["hooks"]) == (False, [], None, [])

    def test_init_adopts_and_alters_nothing(self, place: Place):
        before = place.snapshot()
        assert place.run("init").status == 0
        assert place.snapshot() == before

    def test_save(self, place: Place):
        place.write("memory/new.md", "- new\n")
        assert re.fullmatch(r"saved MEMORY.md, memory/new.md [0-9a-f]{10}\n", place.run("save", "-m", "by hand").out)
        assert place.git("log", "-1", "--format=%an <%ae> %s").strip() == f"{NAME} <{EMAIL}> by hand"
        assert place.run("save").out == "nothing to save\n"
        assert place.run("save", "--json").found == {"changed": False, "commit": None, "paths": []}

    def test_hooks(self, place: Place):
        assert "pre-commit: missing" in place.run("hooks", "status").out
        assert place.run("hooks", "install").out.startswith("installed pre-commit, ")
        assert place.run("hooks", "install").out == "all hooks are there\n"
        assert set(place.run("hooks", "status", "--json").found["hooks"].values()) == {"installed"}
        assert place.run("hooks", "uninstall").out.startswith("removed pre-commit, ")
        assert place.run("hooks", "uninstall", "--json").found == {"removed": []}

    def test_help_and_version(self, place: Place):
        assert place.run("--version").out == f"mdmem {__version__}\n"
        everything = place.run("--help")
        assert (everything.status, everything.err) == (0, "")
        assert place.run().out == everything.out
        assert place.run("-h").out == everything.out
        assert "..." not in everything.out.split("Commands:")[1]
        assert place.run("edit-section", "-h").out.startswith("Usage: mdmem edit-section ")

    def test_a_workspace_can_be_named(self, place: Place):
        elsewhere(place)
        assert place.run("-C", str(place.folder), "show", "Employer").out == "- works at Stripe\n"
        place.patch.setenv("MDMEM_WORKSPACE", str(place.folder))
        assert place.run("show", "Employer").out == "- works at Stripe\n"


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec=None), max_size=30))
@example("\0")
@example("\ud800")
@example("caf\udce9")
@example("HEAD")
def test_no_text_is_a_bug_or_reaches_a_terminal_raw(place: Place, text: str):
    for words in (
        ("search", "--", text),
        ("show", "--", text),
        ("outline", "--", text),
        ("log", "--dry-run", "--", text),
        ("remember", "--dry-run", f"--key={text}", "--", text),
        ("edit-section", "Work", "--dry-run", f"--body={text}"),
        ("forget", "--dry-run", "--", text),
        ("forget", "--purge", "--dry-run", "--", text),
        ("facts", f"--section={text}"),
        ("recall", f"--tag={text}"),
        ("search", "--history", "--", text),
        ("search", "x", f"--as-of={text}"),
        ("history", "-p", "--", text),
        ("blame", "--", text),
        ("when", "--", text),
        ("revert", "--dry-run", "--", text),
        ("contradicts", "--dry-run", "--", "pet: cat", text),
        ("task", "start", "--dry-run", "--", text, text),
        ("task", "note", "--dry-run", "--", "x", text),
    ):
        done = place.run(*words)
        assert done.status in (0, 1, 2), words
        assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.out + done.err) is None


# Forgetting for real.

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
        place.write(".git/mdmem/root/write-ahead.json", json.dumps({**record, "temporary": ".mdmem-0.tmp"}))
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


class TestDoctor:
    def test_a_sound_workspace(self, place: Place):
        place.run("hooks", "install")
        place.run("save")
        place.run("reindex")
        done = place.run("doctor")
        assert (done.status, done.err) == (0, "")
        # Notes: MDMEM_NOW is set; two headings are called Twice; and the index may be catching up in the background.
        assert re.search(r"\nerrors: 0, warnings: 0, notes: [23]\n$", done.out), done.out
        found = place.run("doctor", "--json").found
        assert list(found) == ["findings", "sound"]
        assert [list(row) for row in found["findings"]] == [["check", "level", "message", "fixed", "hint"]] * len(found["findings"])
        assert found["sound"]

    def test_an_error_is_the_exit_status(self, place: Place):
        place.write("memory/keys.md", f"- {TOKEN}\n")
        before = place.snapshot()
        done = place.run("doctor")
        assert (done.status, done.err) == (1, "")
        assert "error   secrets: github-token in memory/keys.md:1\n        Take it out" in done.out
        as_json = place.run("doctor", "--json")
        assert (as_json.status, as_json.found["sound"]) == (1, False)
        assert TOKEN not in done.out + as_json.out
        assert place.snapshot() == before

    def test_fix(self, place: Place):
        assert "warning hooks: pre-commit is missing" in place.run("doctor").out
        assert "fixed   hooks: installed" in place.run("doctor", "--fix").out
        assert "ok      hooks: all are installed" in place.run("doctor").out


class TestRedact:
    @pytest.mark.parametrize(
        ("given", "printed"),
        [
            (f"a\n- {TOKEN} #x\nb".encode(), b"a\n- [REDACTED:github-token] #x\nb"),
            (f"\r\n{TOKEN}\r\n\r\n".encode(), b"\r\n[REDACTED:github-token]\r\n\r\n"),
            (b"caf\xe9 \xff\x00 " + TOKEN.encode() + b"\xe9\n", b"caf\xe9 \xff\x00 [REDACTED:github-token]\xe9\n"),
            (b"", b""),
            (b"nothing to hide", b"nothing to hide"),
        ],
        ids=["text", "CRLF", "not UTF-8", "empty", "nothing"],
    )
    def test_bytes_in_bytes_out(self, world: World, tmp_path: Path, given: bytes, printed: bytes):
        done = subprocess.run(mdmem("redact"), cwd=tmp_path, env=dict(world.environment), input=given, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, printed, b"")

    def test_json(self, place: Place):
        found = place.run("redact", "--json", stdin=f"a\n{TOKEN}\n".encode()).found
        assert found == {"text": "a\n[REDACTED:github-token]\n", "secrets": [{"kind": "github-token", "line": 2}]}
        assert place.run("redact", "--json", stdin=b"").found == {"text": "", "secrets": []}
        assert place.run("redact", "--json", stdin=b"\xe9").found["text"] == "\udce9"

    def test_too_much(self, place: Place):
        done = place.run("redact", stdin=b"x" * 6_000_000)
        assert (done.status, done.out) == (1, "")
        assert "standard input has more than 5,000,000 bytes" in done.err

    def test_a_terminal_is_not_steered(self, place: Place):
        done = on_terminal(place, "sh", "-c", f"printf 'a\\033[31m {TOKEN}\\r\\n' | '{sys.executable}' -m mdmem redact")
        assert (done.status, done.out) == (0, "a\ufffd[31m [REDACTED:github-token]\n")


# Events.

EVENTS = [
    (("init", "--no-hooks"), ("init", "unchanged", None)),
    (("hooks", "install"), ("hooks-install", "done", None)),
    (("hooks", "install"), ("hooks-install", "unchanged", None)),
    (("log", "zebra one", "--actor", "agent/a", "--session", "s1"), ("log", "done", None)),
    (("log", "zebra one"), ("log", "unchanged", None)),
    (("log", "zebra two", "--dry-run"), ("log", "unchanged", None)),
    (("log", f"zebra {TOKEN}"), ("log", "refused", "secret-found")),
    (("remember", "zebra three", "--reason", "zebra reason"), ("remember", "done", None)),
    (("edit-section", "Employer", "--append", "- zebra four"), ("edit-section", "done", None)),
    (("edit-section", "zebra five", "--append", "- x"), ("edit-section", "refused", "section-not-found")),
    (("forget", "zebra six"), ("forget", "refused", "fact-not-found")),
    (("forget", "zebra three"), ("forget", "done", None)),
    (("contradicts", "pet: cat", "pet: dog", "--reason", "zebra"), ("contradicts", "done", None)),
    (("conflicts", "--resolve", "pet: cat", "pet: dog"), ("conflicts-resolve", "done", None)),
    (("revert", "HEAD~2"), ("revert", "done", None)),
    (("history", "zebra three"), ("history", "done", None)),
    (("history", "zebra"), ("history", "refused", "section-not-found")),
    (("blame", "Employer"), ("blame", "done", None)),
    (("when", "zebra four"), ("when", "done", None)),
    (("review",), ("review", "done", None)),
    (("review", "--apply"), ("review-apply", "unchanged", None)),
    (("search", "zebra seven"), ("search", "done", None)),
    (("search", "zebra", "--since", "zebra"), ("search", "refused", "usage")),
    (("save",), ("save", "done", None)),
    (("reindex",), ("reindex", "done", None)),
    (("doctor",), ("doctor", "unchanged", None)),
    (("forget", "zebra one", "--purge", "--dry-run"), ("plan-purge", "unchanged", None)),
    (("forget", "zebra one", "--purge", "--yes"), ("purge", "done", None)),
    (("forget", "zebra one", "--purge", "--yes", "--reason", "zebra"), ("purge", "unchanged", None)),
    (("hooks", "uninstall"), ("hooks-uninstall", "done", None)),
]


def test_every_verb_leaves_an_event_and_no_text(place: Place):
    place.write("memory/new.md", "- new\n")
    for words, expected in EVENTS:
        place.run(*words)
        *_, last = events.read(place.folder / ".git/mdmem/root")
        assert (last.verb, last.outcome, last.code) == expected, words
        assert last.ms >= 0
    written = list(events.read(place.folder / ".git/mdmem/root"))
    assert [event.verb for event in written] == [expected[0] for _, expected in EVENTS]
    assert [(event.actor, event.session) for event in written if event.session] == [("agent/a", "s1")]
    kept = b"".join(path.read_bytes() for path in (place.folder / ".git/mdmem/root").glob("events*.jsonl"))
    assert b"zebra" not in kept
    assert TOKEN.encode() not in kept


def test_a_refused_commit_is_an_event_and_one_that_passes_is_none(place: Place):
    place.run("reindex")
    state = place.folder / ".git/mdmem/root"
    before = len(list(events.read(state)))
    place.write("memory/keys.md", f"- {TOKEN}\n")
    place.write("outside.md", "# no memory\n")
    place.git("add", "outside.md")
    assert githooks.main(["pre-commit"]) == 0
    assert len(list(events.read(state))) == before
    place.git("add", "memory/keys.md")
    assert githooks.main(["pre-commit"]) == 1
    *_, last = events.read(state)
    assert (last.verb, last.outcome, last.code, last.path) == ("pre-commit", "refused", "secret-found", None)
    assert len(list(events.read(state))) == before + 1
    assert TOKEN not in (state / events.NAME).read_text()


# As a program of its own.


def mdmem(*words: str) -> list[str]:
    return [sys.executable, "-m", "mdmem", *words]


HEAVY = {"mdmem.doctor", "mdmem.purge", "mdmem.memory.purging", "mdmem.repo.rewriting"}


@pytest.mark.parametrize(
    ("words", "loaded"),
    [
        (("mdmem", "log", "x"), "mdmem.memory.writing"),
        (("mdmem", "search", "x"), "mdmem.search.indexer"),
        (("mdmem.githooks", "pre-commit"), "mdmem.memory.guarding"),
        (("mdmem", "forget", "likes dark rooms", "--purge", "--dry-run"), "mdmem.repo.rewriting"),
    ],
    ids=" ".join,
)
def test_everyday_commands_do_not_load_what_they_do_not_need(place: Place, words: tuple[str, ...], loaded: str):
    said = place.world.run(place.folder, [sys.executable, "-X", "importtime", "-m", *words]).stderr
    names = {line.rpartition("|")[2].strip() for line in said.splitlines() if line.startswith("import time:")}
    assert loaded in names
    assert names & HEAVY == (HEAVY - {"mdmem.doctor"} if loaded in HEAVY else set())


class TestProcess:
    @pytest.mark.parametrize("words", [("facts",), ("facts", "--json"), ("--help",)], ids=" ".join)
    def test_a_broken_pipe_is_done(self, place: Place, words: tuple[str, ...]):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = subprocess.run(mdmem(*words), stdout=writing, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
        finally:
            os.close(writing)
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr
        assert b"Exception" not in done.stderr

    @pytest.mark.parametrize(("closed", "words", "status"), [(">&-", "facts", 0), ("2>&-", "search zebra", 0), ("<&-", "log -", 1)])
    def test_closed_streams(self, place: Place, closed: str, words: str, status: int):
        done = place.world.run(place.folder, ["sh", "-c", f"'{sys.executable}' -m mdmem {words} {closed}"], check=False)
        assert done.returncode == status
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("locale", ["C", "POSIX"])
    def test_locales(self, place: Place, locale: str):
        speaks = {"LC_ALL": locale, "LANG": "", "MDMEM_NOW": NOW}
        place.world.run(place.folder, mdmem("remember", "naïve 日本語"), environment=speaks)
        assert "naïve 日本語\n" in place.world.run(place.folder, mdmem("search", "日本"), environment=speaks).stdout
        assert "naïve 日本語" in place.git("show", "--format=", "HEAD")

    def test_what_is_printed_is_utf8_whatever_the_locale(self, place: Place):
        place.write("MEMORY.md", "# Memory\n\nnaïve 日本語\n")
        speaks = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        assert place.world.run(place.folder, mdmem("show", "Memory"), environment=speaks).stdout == "naïve 日本語\n"

    def test_an_empty_environment(self, place: Place, tmp_path: Path):
        git = str(Path(shutil.which("git") or "").parent)
        bare = ["env", "-i", f"PATH={git}:/usr/bin:/bin", f"HOME={place.world.home}"]
        place.world.run(tmp_path, [*bare, *mdmem("init", "new")])
        assert place.world.run(tmp_path / "new", [*bare, *mdmem("log", "x")]).stdout.startswith("logged in memory/")

    def test_interrupted(self, place: Place):
        """The editor interrupts the command that waits for it."""
        before = place.snapshot()
        stop = place.world.home / "stop"
        stop.write_text("#!/bin/sh\nkill -INT $PPID\nexec sleep 50\n")
        stop.chmod(0o755)
        done = on_terminal(place, *mdmem("edit-section", "Work", "--editor"), EDITOR=str(stop))
        assert done.status == 130
        assert "Traceback" not in done.out
        assert place.snapshot() == before


# On a terminal.


def on_terminal(place: Place, *command: str, typed: bytes = b"", **environment: str) -> Done:
    """A command with a terminal for all of its streams; what it printed there, and what was typed, with plain line ends."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=place.folder,
        env={**place.world.environment, "MDMEM_NOW": NOW, "TERM": "xterm", **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, typed)
    printed = b""
    try:
        while chunk := _read(ours):
            printed += chunk
        return Done(process.wait(60), printed.decode().replace("\r\n", "\n"), "")
    finally:
        os.close(ours)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # the other side is closed
        return b""


EVIL = "- evil \x1b[31mred\x9b2J \u202eback \x07 word\n"


class TestTerminal:
    def test_colours(self, place: Place):
        shown = on_terminal(place, *mdmem("search", "stripe")).out
        assert "works at \x1b[1mStripe\x1b[0m" in shown
        assert "\x1b[2mMEMORY.md:14 " in shown

    @pytest.mark.parametrize("words", [("search", "stripe"), ("show", "Nowhere")], ids=" ".join)
    def test_no_color(self, place: Place, words: tuple[str, ...]):
        shown = on_terminal(place, *mdmem(*words), NO_COLOR="1").out
        assert shown
        assert "\x1b" not in shown

    def test_a_pipe_is_plain(self, place: Place):
        assert "\x1b" not in place.world.run(place.folder, mdmem("search", "stripe")).stdout

    @pytest.mark.parametrize(
        "words",
        [
            ("show", "Evil"),
            ("search", "evil"),
            ("search", "evil", "--json"),
            ("facts",),
        ],
        ids=" ".join,
    )
    def test_control_characters_do_not_reach_it(self, place: Place, words: tuple[str, ...]):
        place.write("MEMORY.md", f"# Memory\n\n## Evil\n\n{EVIL}{EVIL}\n## \x1b]0;title\x07\n")
        shown = on_terminal(place, *mdmem(*words), NO_COLOR="1").out
        assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown) is None
        assert "evil" in shown.casefold()

    def test_a_file_is_what_it_is_where_it_is_read_by_a_program(self, place: Place):
        place.write("MEMORY.md", f"# Memory\n\n{EVIL}")
        assert EVIL in place.world.run(place.folder, mdmem("show")).stdout
        assert json.loads(place.world.run(place.folder, mdmem("show", "--json")).stdout)["text"].endswith(EVIL)

    def test_progress_of_a_long_rebuild(self, place: Place):
        for number in range(220):
            place.write(f"memory/topics/{number}.md", f"- topic {number}\n")
        place.write("memory/last.md", "- last\n")
        assert "indexing" in (first := on_terminal(place, *mdmem("search", "topic")).out)
        assert "100%" in first
        assert "indexing" not in on_terminal(place, *mdmem("search", "topic")).out
        quiet = place.world.run(place.folder, mdmem("reindex", "--full"))
        assert (re.fullmatch(r"\d+ entries indexed\n", quiet.stdout) is not None, quiet.stderr) == (True, "")
        assert "indexing" not in on_terminal(place, *mdmem("reindex", "--full", "--json")).out

    def test_an_editor(self, place: Place):
        editor = place.world.home / "my editor"
        editor.write_text('#!/bin/sh\necho "- by the editor" >>"$1"\n')
        editor.chmod(0o755)
        done = on_terminal(place, *mdmem("edit-section", "Employer", "--editor"), EDITOR=f"'{editor}'")
        assert "changed MEMORY.md: Memory > Work > Employer " in done.out
        assert place.run("show", "Employer").out == "- works at Stripe\n- by the editor\n"
        unchanged = on_terminal(place, *mdmem("edit-section", "Employer", "--editor"), EDITOR="true")
        assert (unchanged.status, unchanged.out.startswith("unchanged: ")) == (0, True)
        before = place.snapshot()
        assert on_terminal(place, *mdmem("edit-section", "Employer", "--editor"), EDITOR="false").status == 2
        assert place.snapshot() == before
