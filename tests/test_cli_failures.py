"""Every failure as a user meets it: what it says, how it ends, and what it leaves behind, which is
nothing.
"""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest
from commandline import LOG, MEMORY, TOKEN, Shell, commits, elsewhere
from test_docs import raised
from workspaces import STATE, without_state

from mdmem.proposals import branches
from mdmem.text.facts import fact_id

ETAG = re.compile(r"[0-9a-f]{12}")


# What is prepared for a failure.


def settings_file(text: str) -> Callable[[Shell], None]:
    return lambda shell: shell.write("mdmem.toml", text) and None


def file(name: str, text: str | bytes) -> Callable[[Shell], None]:
    return lambda shell: shell.write(name, text) and None


def git(*words: str) -> Callable[[Shell], None]:
    return lambda shell: shell.git(*words) and None


def no_repository(shell: Shell) -> None:
    elsewhere(shell)
    Path("MEMORY.md").write_text("# Memory\n")


def bare(shell: Shell) -> None:
    shell.git("config", "core.bare", "true")


def link(shell: Shell) -> None:
    (shell.folder / "link.md").symlink_to("MEMORY.md")


def locked(shell: Shell) -> None:
    shell.write("mdmem.toml", "lock_timeout = 0.01\n")
    shell.run("reindex")  # a lock in a state that is not this user's is waited for
    lock = shell.write(f"{STATE}/lock", "").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    shell.kept.append(lock)


def no_git(shell: Shell) -> None:
    shell.patch.setenv("PATH", str(shell.world.home))


def broken_crontab(shell: Shell) -> None:
    program = shell.world.home / "bin" / "crontab"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho you may not >&2\nexit 1\n")
    program.chmod(0o755)
    shell.patch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def slow_hook(shell: Shell) -> None:
    shell.write("mdmem.toml", "hook_timeout = 0.3\n")
    shell.hook("commit-msg", "exec sleep 50")  # until the time is up: nobody waits for it


def refusing_hook(shell: Shell) -> None:
    """A hook that accepts the person's own edits and refuses ours, so that the first of two commits
    has to be undone.
    """
    shell.hook("commit-msg", 'grep -q Mdmem-Op "$1" || exit 0; echo not today >&2; exit 1')


def lost_worktree(shell: Shell) -> None:
    there = shell.world.home / "linked"
    shell.git("worktree", "add", "-q", "--detach", str(there))
    shutil.rmtree(there)


def nobody(shell: Shell) -> None:
    shell.git("config", "--unset", "user.name")
    shell.git("config", "--unset", "user.email")


def off_the_line(shell: Shell) -> None:
    """A commit that HEAD does not have, called off."""
    shell.git("tag", "off", shell.git("commit-tree", "HEAD^{tree}", "-m", "off").strip())


def merged(shell: Shell) -> None:
    first = shell.git("rev-parse", "HEAD").strip()
    commits(shell, first, commits(shell, first))


def cut_off(shell: Shell) -> None:
    shell.write(".git/shallow", shell.git("rev-parse", "HEAD"))


def twice_changed(shell: Shell) -> None:
    """A line that was changed by the commit called light, and then again."""
    for name in ("light", "no"):
        shell.write("memory/rooms.md", f"# Rooms\n\n- likes {name} rooms\n")
        shell.git("commit", "-q", "-m", name, "memory/rooms.md")
        shell.git("tag", name)


def never_fetched(shell: Shell) -> None:
    """A partial clone without the first version of a file."""
    twice_changed(shell)
    blob = shell.git("rev-parse", "light:memory/rooms.md").strip()
    (shell.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    shell.git("config", "remote.origin.url", "gone")
    shell.git("config", "remote.origin.promisor", "true")


def shortened(shell: Shell) -> None:
    shell.write("memory/rooms.md", "# Rooms\n" + "- a room\n" * 50)
    shell.git("commit", "-q", "-m", "rooms", "memory/rooms.md")
    shell.write("memory/rooms.md", "# Rooms\n")


ENDING, LISTED = "0123abcd", "aaaa"
PROPOSED = sha256(f"bot/{ENDING}".encode()).hexdigest()[:8]
OF_BOT = ("--propose", "--actor", "bot")
OVERTAKEN = "40d63cb5"
"""The id of the fact `k: x`."""


def not_adopted(shell: Shell) -> None:
    shell.patch.delenv("MDMEM_ADOPT")


def proposed(shell: Shell) -> None:
    """A proposal with one fact, whose id is known."""
    shell.run("remember", "plays the cello", "--propose", "--actor", "bot")
    tip = shell.git("for-each-ref", "--format=%(objectname)", "refs/heads/mdmem").strip()
    shell.git("update-ref", f"refs/heads/mdmem/proposals/bot/{ENDING}", tip)


def proposed_twice(shell: Shell) -> None:
    proposed(shell)
    shell.git(
        "update-ref",
        f"refs/heads/mdmem/proposals/bot/{ENDING[:-1]}e",
        f"refs/heads/mdmem/proposals/bot/{ENDING}",
    )


def rejected(shell: Shell) -> None:
    proposed(shell)
    shell.run("reject", PROPOSED)


def proposed_and_overtaken(shell: Shell) -> None:
    shell.run("remember", "x", "--key", "k", "--propose", "--actor", "bot")
    shell.git(
        "branch",
        f"mdmem/proposals/bot/{ENDING}",
        shell.git("for-each-ref", "--format=%(refname)", "refs/heads/mdmem").strip(),
    )
    shell.run("remember", "y", "--key", "k")


def listed(shell: Shell) -> None:
    """A proposal in a list, whose stamp is known."""
    proposed(shell)
    shell.run("remember", "x", "--key", "k", "--section", "Work", "--propose", "--actor", "bot")
    shell.run("proposals")
    (path,) = (shell.folder / STATE / "lists").iterdir()
    path.rename(path.with_name(f"{LISTED}{path.name[4:]}"))


def listed_and_moved(shell: Shell) -> None:
    listed(shell)
    shell.run("remember", "z", "--key", "k", "--section", "Work", "--propose", "--actor", "codex")


def listed_and_overtaken(shell: Shell) -> None:
    listed(shell)
    shell.run("remember", "y", "--key", "k", "--section", "Work")


def in_a_pool(shell: Shell) -> None:
    """A workspace beside this one, which is read together with it."""
    there = shell.world.home / "team"
    shell.world.git(shell.folder, "clone", "-q", str(shell.folder), str(there))
    (there / "MEMORY.md").write_text("# Memory\n\n- the deploy lamp is red\n")
    settings = shell.world.home / ".config" / "mdmem" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('pool = ["~/team"]\n')


def many_proposals(shell: Shell) -> None:
    head = shell.git("rev-parse", "HEAD").strip()
    for number in range(500):
        shell.write(f".git/refs/heads/mdmem/proposals/bot/{number:08x}", f"{head}\n")


def proposed_and_checked_out(shell: Shell) -> None:
    proposed(shell)
    shell.git("worktree", "add", "-q", "../theirs", branches.own_branch("bot")[1][11:])


def many_parts(shell: Shell) -> None:
    shell.git("stash")
    shell.git("switch", "-q", "-c", "many")
    shell.write(
        "memory/many.md", "# Many\n\n" + "".join(f"- fact {number}\n" for number in range(1001))
    )
    shell.git("add", "memory/many.md")
    shell.git("commit", "-q", "-m", "many")
    shell.git("switch", "-q", "-")
    shell.git("branch", branches.own_branch("bot")[1][11:], "many")
    shell.git("stash", "pop")


def unborn(shell: Shell) -> None:
    shell.git("symbolic-ref", "HEAD", "refs/heads/none")


def twins() -> tuple[str, str]:
    """Two facts whose ids begin alike."""
    seen: dict[str, str] = {}
    for number in count():
        text = f"fact {number}"
        if (other := seen.setdefault(fact_id(text)[:6], text)) != text:
            return other, text
    raise AssertionError


TWINS = twins()


def with_twins(shell: Shell) -> None:
    shell.write("memory/twins.md", "".join(f"- {text}\n" for text in TWINS))
    shell.git("add", "memory/twins.md")
    shell.git("commit", "-q", "-m", "twins", "memory/twins.md")


@dataclass(frozen=True)
class Failure:
    """A command that must fail. `hints` is a part of the hint, `label` says that a kind, key or tag
    is none.
    """

    code: str
    words: tuple[str, ...]
    prepare: Callable[[Shell], None] | None = None
    hints: str = ""
    stdin: bytes = b""
    label: bool = False


ROOMS = fact_id("likes dark rooms")[:7]
TWIN = fact_id(TWINS[0])[:6]
APPEND = ("edit-section", "Work", "--append", "- x")
FAILURES = [
    Failure("ambiguous-date", ("search", "x", "--since", "3/4"), hints="2026-11-21"),
    Failure("fact-ambiguous", ("history", "pet"), hints="pet: cat"),
    Failure("ambiguous", ("revert", ROOMS), git("tag", ROOMS), "more digits"),
    Failure(
        "other-workspace",
        ("forget", fact_id("the deploy lamp is red")),
        in_a_pool,
        hints=f"forget {fact_id('the deploy lamp is red')}",
    ),
    Failure(
        "not-a-fact",
        ("forget", "budget: 400"),
        file("memory/trip.md", "---\nbudget: 400\n---\n# Trip\n"),
        hints="Change the line in its file",
    ),
    Failure("append", ("save",), file(LOG, "# 2026-03-05\n"), "--allow append"),
    Failure(
        "append-only",
        ("edit-section", "09:00", "--file", LOG, "--body", "- x"),
        hints="Log a new entry",
    ),
    Failure("append-only", ("remember", "x", "--file", LOG)),
    *(
        Failure("bad-path", ("show", name), hints=".md file")
        for name in ("../x.md", "/etc/x.md", ".git/x.md", "a\\b.md", "\x1b.md")
    ),
    Failure("bad-path", ("outline", "notes.txt"), hints=".md file"),
    Failure(
        "bad-path",
        ("edit-section", "Work", "--file", "link.md", "--append", "- x"),
        link,
        "points to",
    ),
    Failure(
        "bad-path", ("edit-section", "A", "--create", "--file", "notes.txt/a.md", "--body", "x")
    ),
    Failure("bad-path", ("init", "notes.txt")),
    Failure("bad-settings", APPEND, settings_file("authr = 'x'\n"), "author"),
    Failure("bad-settings", ("status",), settings_file("lock_timeout = true\n")),
    Failure("bad-settings", ("search", "x"), settings_file("a = [\n"), "optional"),
    Failure(
        "bad-settings", ("log", "x"), settings_file("timezone = 'Mars/Base'\n"), "Europe/Berlin"
    ),
    Failure(
        "bad-settings", ("facts",), settings_file("extra_paths = ['../..']\n"), "your user settings"
    ),
    Failure("bad-text", ("log", "x", "--tag", "1 2"), label=True),
    Failure("bad-text", ("log", "x", "--kind", "!"), label=True),
    Failure("bad-text", ("remember", "x", "--key", "two\nlines"), label=True),
    Failure("bad-text", ("remember", "x", "--key", ""), label=True),
    Failure("bad-text", ("edit-section", "Work", "--rename", "two\nlines")),
    Failure("bad-text", ("edit-section", "Work", "--body", "nul \0")),
    Failure("bad-text", ("log", "-"), stdin=b"latin \xe9"),
    Failure("bare-repository", APPEND, bare, "Clone"),
    Failure("before-history", ("search", "rooms", "--as-of", "2020-01-01")),
    Failure(
        "before-history",
        ("search", "rooms", "--as-of", "2020-01-01"),
        cut_off,
        "git fetch --unshallow",
    ),
    Failure("before-history", ("search", "rooms", "--as-of", "2026-03-05T09:29:59+00:00")),
    Failure(
        "body-escapes-section",
        ("edit-section", "Employer", "--body", "# Higher"),
        hints="deeper headings",
    ),
    Failure("body-escapes-section", ("edit-section", "Work", "--body", "```\nopen"), hints="Close"),
    Failure(
        "body-escapes-section", ("edit-section", "Work", "--append", "<!-- open"), hints="Close"
    ),
    Failure(
        "broken-delimiters",
        ("init", "--agents"),
        file("AGENTS.md", "# A\n\n<!-- mdmem:begin -->\n"),
        "mdmem:end",
    ),
    Failure("broken-repository", APPEND, file(".git/HEAD", "nonsense\n"), "git fsck"),
    Failure("broken-repository", ("show",), file(".git/refs/heads/main", "nonsense\n"), "git fsck"),
    Failure("busy", APPEND, locked, "lock_timeout"),
    Failure("busy", ("save",), locked, "lock_timeout"),
    Failure("bad-text", ("forget", "tea", "--purge", "--yes"), hints="more words"),
    Failure("busy", ("forget", "likes dark rooms", "--purge", "--yes"), locked, "lock_timeout"),
    Failure("busy", ("init",), locked, "lock_timeout"),
    Failure(
        "cannot-purge",
        ("forget", "likes dark rooms", "--purge", "--yes"),
        lost_worktree,
        "git worktree prune",
    ),
    Failure(
        "cannot-purge",
        ("forget", "likes dark rooms", "--purge", "--dry-run"),
        lost_worktree,
        "git worktree prune",
    ),
    Failure("cannot-revert", ("revert", "HEAD"), merged),
    Failure("cannot-revert", ("revert", "HEAD"), lambda shell: commits(shell, "HEAD") and None),
    Failure("cannot-revert", ("revert", "HEAD"), cut_off, "git fetch --unshallow"),
    Failure("cannot-revert", ("revert", "likes dark rooms"), cut_off, "git fetch --unshallow"),
    Failure("commit-failed", APPEND, refusing_hook, "Nothing was written"),
    Failure("commit-failed", ("log", "x"), refusing_hook, "Nothing was written"),
    Failure(
        "commit-failed",
        ("remember", "x", "--file", "new.md", "--section", "A", "--create"),
        refusing_hook,
        "Nothing was written",
    ),
    Failure(
        "commit-failed",
        ("contradicts", "pet: cat", "pet: dog"),
        refusing_hook,
        "Nothing was written",
    ),
    Failure("commit-not-found", ("search", "rooms", "--as-of", "nonsense"), hints="mdmem history"),
    Failure("commit-not-found", ("search", "rooms", "--as-of", "off"), off_the_line),
    Failure("commit-not-found", ("revert", "off"), off_the_line, "mdmem history"),
    Failure("commit-not-found", ("revert", "nothing of the kind"), hints="mdmem facts --all"),
    Failure("commit-not-found", ("revert", "0123456"), hints="mdmem facts --all"),
    Failure(
        "conflict-markers",
        ("edit-section", "Work", "--body", "<<<<<<< a\n- x\n=======\n- y\n>>>>>>> b"),
        hints="Resolve",
    ),
    Failure(
        "conflict-markers",
        APPEND,
        file("MEMORY.md", MEMORY + "\n<<<<<<< a\n- x\n=======\n- y\n>>>>>>> b\n"),
        "Resolve",
    ),
    Failure("detached-head", APPEND, git("checkout", "-q", "--detach"), "git switch"),
    Failure("empty-text", ("log", "  ")),
    Failure("not-here", ("status",), settings_file("people = ['anna']\n"), "config.toml"),
    Failure(
        "recalled-text",
        ("log", "seen: <mdmem-context> the block of a prompt"),
        hints="in new words",
    ),
    Failure("reserved-actor", ("log", "x", "--actor", "Dream"), hints="a name other than"),
    Failure("empty-text", ("remember", "-"), stdin=b"\n"),
    Failure("empty-text", ("edit-section", "Work", "--append", "")),
    Failure("empty-text", ("when", " ")),
    Failure("fact-ambiguous", ("history", TWIN), with_twins, "more digits"),
    Failure("fact-ambiguous", ("revert", TWIN), with_twins, "more digits"),
    Failure("fact-ambiguous", ("contradicts", TWIN, "pet: cat"), with_twins, "more digits"),
    Failure(
        "fact-ambiguous",
        ("contradicts", "pet: cat", "likes dark rooms"),
        hints="MEMORY.md:6, memory/rooms.md:3",
    ),
    Failure(
        "fact-ambiguous",
        ("contradicts", "pet: cat", "likes dark rooms"),
        hints="To remove the wrong ones: mdmem forget",
    ),
    Failure(
        "fact-ambiguous",
        ("log", "dark rooms no more", "--supersedes", "likes dark rooms"),
        hints="in the section of the fact",
    ),
    Failure(
        "fact-ambiguous",
        ("forget", "likes dark rooms"),
        hints="It is in MEMORY.md:6, memory/rooms.md:3. Give --file or --section.",
    ),
    Failure(
        "fact-ambiguous",
        ("forget", ROOMS, "--purge", "--yes"),
        file("memory/id.md", f"- {ROOMS}\n"),
        "Give the id.",
    ),
    Failure(
        "fact-not-found", ("forget", "nothing of the kind", "--purge", "--yes"), hints="mdmem facts"
    ),
    Failure(
        "fact-not-found",
        ("forget", "nothing of the kind", "--purge", "--dry-run"),
        hints="mdmem facts",
    ),
    Failure(
        "fact-not-found", ("forget", "0123456789"[:8], "--purge", "--yes"), hints="give its words"
    ),
    Failure("fact-not-found", ("forget", "nothing of the kind"), hints="mdmem facts"),
    Failure("fact-not-found", ("history", "0123456"), hints="mdmem facts --all"),
    Failure("fact-not-found", ("contradicts", "pet: cat", "0123456789"), hints="mdmem facts"),
    Failure(
        "fact-not-found", ("conflicts", "--resolve", "pet: cat", "pet: mouse"), hints="mdmem facts"
    ),
    Failure("fact-not-found", ("remember", "x", "--supersedes", "0123456789"), hints="mdmem facts"),
    Failure("file-not-found", ("show", "memory/room.md"), hints="memory/rooms.md"),
    Failure("file-not-found", ("edit-section", "Work", "--file", "nope.md", "--append", "x")),
    Failure(
        "file-not-found",
        ("edit-section", "Work", "--file", "memory.md", "--append", "x"),
        hints="Did you mean MEMORY.md?",
    ),
    Failure("file-not-found", ("check", "memory/room.md"), hints="memory/rooms.md"),
    Failure("file-not-found", ("history", "--file", "memory/room.md"), hints="memory/rooms.md"),
    Failure(
        "file-not-found", ("history", "Rooms", "--file", "memory/room.md"), hints="memory/rooms.md"
    ),
    Failure(
        "file-not-found", ("blame", "Rooms", "--file", "memory/room.md"), hints="memory/rooms.md"
    ),
    Failure("git-failed", APPEND, file(".git/index", b"garbage")),
    Failure("git-missing", APPEND, no_git, "Install git"),
    Failure("has-subsections", ("edit-section", "Work", "--delete"), hints="--subtree"),
    Failure("has-subsections", ("edit-section", "Work", "--body", "### New"), hints="--subtree"),
    Failure("hook-timeout", APPEND, slow_hook, "hook_timeout"),
    Failure("cannot-schedule", ("schedule", "cron", "--install"), broken_crontab, "*/5 * * * *"),
    Failure(
        "hooks-managed",
        ("hooks", "install"),
        git("config", "core.hooksPath", "elsewhere"),
        "pre-commit",
    ),
    Failure("ignored-path", ("log", "x", "--date", "2026-03-06"), file(".gitignore", "memory/\n")),
    Failure("key-ambiguous", ("remember", "hamster", "--key", "pet"), hints="--supersedes ID"),
    Failure("no-identity", APPEND, nobody, "git config --global user.name"),
    Failure("no-model", ("digest", "--model"), hints="model_url"),
    Failure("no-sessions", ("digest",), hints="sessions = "),
    Failure("no-workspace", ("show",), elsewhere, "mdmem init"),
    Failure("no-workspace", ("-C", "/nowhere/at/all", "status"), hints="mdmem init"),
    Failure("no-workspace", ("-C", "memory", "status"), hints="To use that: mdmem -C /"),
    Failure("no-workspace", ("-C", "MEMORY.md", "status"), hints="the folder that it is in"),
    Failure("not-adopted", ("run",), not_adopted, "mdmem init"),
    Failure("still-adopted", ("init", "--leave"), hints="MDMEM_ADOPT"),
    Failure("not-a-repository", ("log", "x"), no_repository, "mdmem init"),
    Failure("not-utf8", ("save",), file("memory/rooms.md", b"# Rooms\n\n- caf\xe9\n"), "iconv"),
    *(
        Failure("not-memory", words, file("NOTES.md", "# Notes\n"), "git log -p -- NOTES.md")
        for words in (
            ("history", "--file", "NOTES.md"),
            ("history", "Notes", "--file", "NOTES.md"),
            ("blame", "Notes", "--file", "NOTES.md"),
        )
    ),
    Failure("open-block", ("log", "x"), file(LOG, "# Day\n\n<!-- open\n"), "Close"),
    Failure(
        "open-block",
        ("edit-section", "Open", "--file", "memory/open.md", "--append", "x"),
        hints="Close",
    ),
    Failure(
        "pending-secret",
        APPEND,
        file("MEMORY.md", MEMORY + f"\n- the token {TOKEN}\n"),
        "mdmem: allow secret",
    ),
    Failure("pending-edits", APPEND, settings_file("direct_edits = 'refuse'\n"), "mdmem save"),
    Failure(
        "read-only-path",
        ("edit-section", "A", "--file", "more/a.md", "--create", "--body", "x"),
        settings_file("extra_paths = ['more']\n"),
    ),
    Failure("repository-busy", APPEND, file(".git/MERGE_HEAD", "0" * 40 + "\n"), "git status"),
    Failure(
        "repository-busy",
        ("forget", "likes dark rooms", "--purge", "--yes"),
        file(".git/MERGE_HEAD", "0" * 40 + "\n"),
        "git status",
    ),
    Failure(
        "repository-busy",
        ("contradicts", "pet: cat", "pet: dog"),
        file(".git/MERGE_HEAD", "0" * 40 + "\n"),
        "git status",
    ),
    Failure(
        "repository-busy",
        ("save",),
        lambda shell: (shell.folder / ".git/rebase-merge").mkdir(),
        "git status",
    ),
    Failure("revert-conflict", ("revert", "light"), twice_changed, "later change"),
    Failure(
        "missing-history", ("revert", "light"), never_fetched, "git fetch --refetch --no-filter"
    ),
    Failure("same-fact", ("contradicts", "pet: cat", fact_id("pet: cat"))),
    Failure("secret-found", ("contradicts", "pet: cat", "pet: dog", "--reason", TOKEN)),
    *(
        Failure(
            "secret-found", words, hints="Nothing was written.", stdin=f"it is {TOKEN}".encode()
        )
        for words in (("log", "-"), ("remember", "-"), ("edit-section", "Work", "--append", "-"))
    ),
    Failure("secret-found", ("save",), file("memory/new.md", f"- {TOKEN}\n"), "--allow secret"),
    Failure("section-ambiguous", ("show", "Twice"), hints="line 21"),
    Failure("section-ambiguous", ("edit-section", "Twice", "--body", "x"), hints="--nth"),
    Failure("section-ambiguous", ("history", "Twice"), hints="line 21"),
    Failure("section-ambiguous", ("blame", "Twice"), hints="line 21"),
    Failure(
        "section-changed",
        ("edit-section", "Work", "--expect", "000000000000", "--body", "x"),
        hints="mdmem show",
    ),
    Failure(
        "section-changed",
        ("edit-section", "--preamble", "--expect", "000000000000", "--body", "x"),
        hints="mdmem show",
    ),
    Failure("section-exists", ("edit-section", "Pets", "--rename", "Work"), hints="another title"),
    Failure("section-not-found", ("edit-section", "Wrok", "--append", "x"), hints="Memory > Work"),
    Failure("section-not-found", ("show", "Twice", "--nth", "3")),
    Failure("section-not-found", ("history", "Wrok"), hints="Memory > Work"),
    Failure(
        "section-not-found", ("history", "drink: tea", "--file", "memory/rooms.md"), hints="Rooms"
    ),
    Failure(
        "section-not-found",
        ("history", "dark", "--file", "memory/rooms.md"),
        hints=fact_id("likes dark rooms"),
    ),
    Failure("section-not-found", ("blame", "Wrok"), hints="Memory > Work"),
    Failure(
        "section-not-found",
        ("remember", "x", "--section", "Nowhere"),
        hints="Sections in MEMORY.md: ",
    ),
    Failure("shrink", ("save",), shortened, "--allow shrink"),
    Failure("storage", APPEND, lambda shell: without_state(shell.patch)),
    Failure(
        "supersede-in-place",
        ("log", "tea no more", "--supersedes", "drink: tea"),
        hints=f"mdmem remember 'tea no more' --section 'Memory > Preferences' --supersedes {fact_id('drink: tea')}",
    ),
    Failure("task-not-found", ("task", "note", "Move", "x"), hints="mdmem task start NAME GOAL"),
    Failure(
        "task-not-found",
        ("task", "done", "Move", "x"),
        file("memory/tasks.md", "# Tasks\n\n## Move it\n"),
        "Move it",
    ),
    Failure("task-not-found", ("task", "show", "Move"), hints="mdmem task start"),
    Failure("bad-text", ("task", "start", "two\nlines", "x")),
    Failure("empty-text", ("task", "start", "Move", " ")),
    Failure(
        "empty-text",
        ("task", "note", "Move it", "-"),
        file("memory/tasks.md", "# Tasks\n\n## Move it\n"),
        stdin=b"\n",
    ),
    Failure(
        "text-ambiguous",
        ("edit-section", "Work", "--replace", "Helix", "--with", "Vim"),
        hints="more of the text",
    ),
    Failure(
        "text-not-found",
        ("edit-section", "Work", "--replace", "Emacs", "--with", "Vim"),
        hints="mdmem show",
    ),
    Failure("unsupported-file", ("show", "latin.md"), file("latin.md", b"# caf\xe9\n"), "iconv"),
    Failure(
        "unsupported-file",
        ("edit-section", "N", "--file", "nul.md", "--append", "x"),
        file("nul.md", b"# N\n\0\n"),
        "editor",
    ),
    Failure(
        "unsupported-file", ("outline", "large.md"), file("large.md", b"# x\n" * 1_300_000), "Split"
    ),
    Failure("usage", ("frob",), hints="mdmem search frob"),
    Failure("usage", ("log",), hints="mdmem log --help"),
    Failure("usage", ("log", "x", "--frob"), hints="mdmem log --help"),
    Failure("usage", ("save", "--allow", "everything")),
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
    Failure("usage", ("edit-section", "Work", "--after", "Pets", "--append", "x")),
    Failure("usage", ("edit-section", "--preamble", "--delete")),
    Failure("usage", ("edit-section", "Work", "--editor"), hints="--body -"),
    Failure("usage", (*APPEND, "--confidence", "1.5")),
    Failure("usage", (*APPEND, "--confidence", "nan")),
    Failure("usage", (*APPEND, "--source", "hearsay"), hints="--help"),
    Failure("usage", (*APPEND, "--allow", "everything")),
    Failure("usage", ("log", "x", "--fact", "--kind", "task")),
    Failure("usage", ("log", "x", "--date", "last week"), hints="one day"),
    Failure("usage", ("log", "x", "--time", "9:30"), hints="09:30"),
    Failure("usage", ("log", "x"), lambda shell: shell.patch.setenv("MDMEM_NOW", "soon"), "2026-"),
    Failure("usage", ("remember", "x", "--until", "2026-02-30"), hints="2026-"),
    Failure("usage", ("forget", "likes dark rooms", "--yes")),
    Failure("usage", ("forget", "likes dark rooms", "--purge"), hints="--yes"),
    *(
        Failure("usage", ("forget", "likes dark rooms", "--purge", "--yes", option, "x"))
        for option in ("--file", "--section", "--supersedes")
    ),
    *(
        Failure("usage", ("forget", "likes dark rooms", "--purge", "--yes", *option))
        for option in (
            ("--source", "auto"),
            ("--confidence", "0.5"),
            ("--confidence", "2"),
            ("--allow", "everything"),
        )
    ),
    Failure("usage", ("show", "one", "two")),
    Failure("usage", ("show", "one", "--preamble")),
    Failure("usage", ("show", "a.md", "b", "c"), hints="mdmem show a.md 'b c'"),
    Failure(
        "usage",
        ("log", "x"),
        lambda shell: shell.patch.setenv("MDMEM_NOW", "1969-12-31T12:00:00"),
        "",
    ),
    Failure("usage", ("log", "-item"), hints="a dash after --"),
    Failure(
        "usage", ("search",), hints='mdmem search "your words", or mdmem search --since yesterday'
    ),
    Failure("usage", ("search", "--history"), hints="mdmem search --since yesterday"),
    Failure(
        "usage",
        ("search", "--sessions", "--since", "yesterday"),
        hints='mdmem search "your words" --sessions',
    ),
    Failure("usage", ("search", "x", "-n", "0")),
    Failure("usage", ("search", "x", "-n", "many"), hints="--help"),
    Failure("usage", ("search", "x", "--since", "no such day"), hints="2026-"),
    Failure("usage", ("search", "x", "--min-confidence", "2")),
    Failure("usage", ("search", "x", "--recent-days", "0")),
    Failure("usage", ("search", "x", "--combined", "--recent-days", "3")),
    Failure("usage", ("search", "x", "--as-of", "2026-13-01"), hints="2026-"),
    Failure("usage", ("search", "x", "--as-of", "2026-03-05", "--history"), hints="--as-of"),
    Failure("usage", ("history", "Work", "-n", "0")),
    Failure("usage", ("when",), hints="mdmem when --help"),
    Failure("usage", ("blame",)),
    Failure("usage", ("blame", "Work", "--preamble")),
    Failure("usage", ("history", "Work", "--preamble")),
    Failure("usage", ("contradicts", "pet: cat"), hints="mdmem contradicts --help"),
    Failure("usage", ("conflicts", "--reason", "x")),
    Failure("usage", ("review", "--reason", "x")),
    Failure("usage", ("recall",), hints="mdmem recall --help"),
    Failure("usage", ("check", "--staged", "MEMORY.md")),
    Failure("usage", ("remember", "x", "--again")),
    Failure("usage", ("forget", "x", "--purge", "--propose", "--yes")),
    Failure("usage", ("search", "x", "--proposed", "--history")),
    Failure("proposal-not-found", ("accept", PROPOSED), hints="mdmem review --proposals"),
    Failure("proposal-not-found", ("reject", PROPOSED), prepare=rejected, hints="git log"),
    Failure(
        "overtaken",
        ("accept", PROPOSED, OVERTAKEN),
        prepare=proposed_and_overtaken,
        hints="--anyway",
    ),
    Failure(
        "overtaken",
        ("accept", PROPOSED, "--edit", OVERTAKEN),
        prepare=proposed_and_overtaken,
        hints="--anyway",
    ),
    Failure(
        "part-not-found",
        ("accept", PROPOSED, "0000000"),
        prepare=proposed,
        hints="mdmem review --proposals",
    ),
    Failure("usage", ("accept", "1", "--all"), prepare=listed),
    Failure("usage", ("accept", "1", PROPOSED), prepare=listed, hints="1b"),
    Failure("usage", ("accept", "1", "1b"), prepare=listed),
    Failure("usage", ("accept", "2-1"), prepare=listed),
    Failure("usage", ("accept",), prepare=listed),
    Failure("usage", ("reject", "--older", "a month"), hints="30d"),
    Failure("list-not-found", ("accept", "1"), prepare=proposed, hints="mdmem review --proposals"),
    Failure(
        "list-not-found",
        ("accept", "--all", "--list", "bbbb"),
        prepare=listed,
        hints="mdmem review --proposals",
    ),
    Failure("part-not-found", ("accept", "7"), prepare=listed, hints="mdmem review --proposals"),
    Failure("part-not-found", ("reject", "1c"), prepare=listed, hints="mdmem review --proposals"),
    Failure(
        "proposals-moved",
        ("accept", "1", "--list", LISTED),
        prepare=listed_and_moved,
        hints="k: z",
    ),
    Failure("overtaken", ("accept", "1"), prepare=listed_and_overtaken, hints="accept 1 --anyway"),
    Failure("not-allowed", ("accept", "1", "--actor", "bot"), prepare=listed, hints="people"),
    Failure("ambiguous", ("proposals", ENDING[:6]), prepare=proposed_twice, hints=PROPOSED),
    Failure(
        "not-allowed", ("accept", PROPOSED, "--actor", "bot"), prepare=proposed, hints="people"
    ),
    Failure(
        "not-allowed", ("reject", PROPOSED, "--actor", "bot"), prepare=proposed, hints="people"
    ),
    Failure(
        "already-rejected",
        ("remember", "plays the cello", "--propose"),
        prepare=rejected,
        hints="--again",
    ),
    Failure("nothing-committed", ("log", "x", "--propose"), prepare=unborn, hints="mdmem save"),
    Failure(
        "too-many-proposals",
        ("log", "x", "--propose"),
        prepare=many_proposals,
        hints="mdmem review --proposals",
    ),
    Failure("proposal-not-found", ("propose", "no-such-branch"), hints="git branch"),
    Failure("nothing-to-propose", ("propose", "HEAD")),
    Failure("no-remote", ("sync",), hints="git remote add origin URL"),
    Failure(
        "remote-unreachable",
        ("sync",),
        prepare=lambda shell: shell.git("remote", "add", "origin", "nothing.git"),
        hints="git fetch origin",
    ),
    Failure(
        "protocol-not-allowed",
        ("sync",),
        prepare=lambda shell: shell.git("remote", "add", "origin", "vault::nothing"),
        hints="git config --global protocol.vault.allow always",
    ),
    Failure("no-fleet", ("fleet",), hints="mdmem help fleet"),
    Failure("too-many-parts", ("propose", "many"), prepare=many_parts),
    Failure("too-many-parts", ("log", "x", *OF_BOT), prepare=many_parts),
    Failure("checked-out", ("log", "x", *OF_BOT), prepare=proposed_and_checked_out),
]
NOT_FROM_HERE = {
    "bug": "there is no known one",
    "interrupted": "a signal has to come",
    "missing-package": "the extras are there where the tests run",
    "git-timeout": "git would have to hang for a minute",
    "running": "another digest would have to be at work",
    "git-too-old": "git would have to be another one",
    **dict.fromkeys(
        (
            "remote-auth",
            "remote-purged",
            "remote-refused",
            "remote-rewound",
            "remote-unrelated",
            "purge-unpushed",
            "sync-busy",
            "sync-conflict",
            "sync-foreign",
            "sync-timeout",
        ),
        "a remote has to be there: test_remotes, test_syncing",
    ),
    **dict.fromkeys(
        (
            "fleet-busy",
            "fleet-failed",
            "fleet-partial",
            "fleet-readers",
            "fleet-refused",
            "fleet-unreachable",
            "fleet-version",
        ),
        "a fleet has to be there: test_fleet, test_fleet_clickhouse",
    ),
    "unknown-format": "a digest goes on with other files",
    **dict.fromkeys(
        ("bad-line", "file-exists", "is-folder"),
        "the memory tool alone takes whole files and folders",
    ),
}


@pytest.mark.costly
def test_every_code_that_can_be_provoked_is_provoked():
    assert {failure.code for failure in FAILURES} == raised() - set(NOT_FROM_HERE)


@pytest.mark.parametrize(
    "failure", FAILURES, ids=lambda failure: f"{failure.code} {' '.join(failure.words)[:70]!r}"
)
def test_failures(shell: Shell, failure: Failure):
    if failure.prepare:
        failure.prepare(shell)
    before = shell.snapshot()
    text = shell.run(*failure.words, stdin=failure.stdin)
    as_json = shell.run(*failure.words, "--json", stdin=failure.stdin)
    assert shell.snapshot() == before
    status = 2 if failure.code in ("usage", "ambiguous-date") or failure.label else 1
    assert (text.status, text.out, as_json.status, as_json.out) == (status, "", status, "")
    (line,) = as_json.err.splitlines()
    printed = json.loads(line)
    assert list(printed)[:3] == ["error", "message", "hint"]
    assert printed["error"] == failure.code
    assert failure.hints in printed["hint"]
    shown = f"mdmem: {printed['message']}\n" + (
        f"hint: {printed['hint']}\n" if printed["hint"] else ""
    )
    assert text.err == re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", shown)
    assert "Traceback" not in text.err
    assert TOKEN not in text.err + as_json.err


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_no_secret_is_shown(shell: Shell, options: tuple[str, ...]):
    for name in ("a", "b"):
        shell.write(f"memory/{name}.md", f"# A\n\n- key: {TOKEN}\n")
    done = shell.run("forget", f"key: {TOKEN}", *options)
    assert done.status == 1
    assert "fact-ambiguous" in done.err or "is in 2 places" in done.err
    assert TOKEN not in done.out + done.err


def test_a_failure_names_what_a_program_needs(shell: Shell):
    changed = json.loads(
        shell.run("edit-section", "Employer", "--expect", "0" * 12, "--body", "x", "--json").err
    )
    assert changed["text"].strip() == "- works at Stripe"
    assert ETAG.fullmatch(changed["etag"])
    assert shell.run(
        "edit-section",
        "Employer",
        "--expect",
        changed["etag"],
        "--body",
        "- works at Linear",
        "--json",
    ).answer["changed"]
    several = json.loads(shell.run("show", "Twice", "--json").err)
    assert several["sections"] == [
        {"section": "Memory > Twice", "line": 21},
        {"section": "Memory > Twice", "line": 25},
    ]
    values = json.loads(shell.run("remember", "x", "--key", "pet", "--json").err)
    assert [fact["text"] for fact in values["facts"]] == ["pet: cat", "pet: dog"]
    secret = json.loads(
        shell.run("edit-section", "Employer", "--append", f"- {TOKEN}", "--json").err
    )
    assert (secret["line"], secret["kind"]) == (15, "github-token")
    shell.write("MEMORY.md", f"# Memory\n\n- {TOKEN}\n")
    pending = json.loads(shell.run("edit-section", "Memory", "--append", "- x", "--json").err)
    assert (pending["line"], pending["kind"]) == (3, "github-token")
