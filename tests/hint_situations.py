"""Commands that print hints, each in the workspace that it needs; and hints that none prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import test_cli_failures
from commandline import LOG, MEMORY, TOKEN, Shell, elsewhere
from test_cli_failures import file, git, listed, not_adopted, settings_file

from mdmem.cli import guesses
from mdmem.cli.commands import COMMANDS, GROUPS
from mdmem.text.facts import fact_id

Prepare = Callable[[Shell], object]


@dataclass(frozen=True)
class Situation:
    """A command whose output has hints, in a workspace that `prepare` has made from a shell's."""

    words: tuple[str, ...]
    prepare: Prepare | None = None
    stdin: bytes = b""
    fails: bool = False

    @property
    def name(self) -> str:
        return " ".join(self.words)[:70]


def do(*steps: Prepare | tuple[str, ...]) -> Prepare:
    """Take steps one after the other; words are those of a command."""

    def prepare(shell: Shell) -> None:
        for step in steps:
            if isinstance(step, tuple):
                shell.run(*step)
            else:
                step(shell)

    return prepare


def user_settings(text: str) -> Prepare:
    def prepare(shell: Shell) -> None:
        path = shell.world.home / ".config" / "mdmem" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("HERE", str(shell.folder)))

    return prepare


def environment(name: str, value: str | None) -> Prepare:
    def prepare(shell: Shell) -> None:
        if value is None:
            shell.patch.delenv(name, raising=False)
        else:
            shell.patch.setenv(name, value)

    return prepare


def committed(name: str, text: str) -> Prepare:
    return do(file(name, text), git("add", "-f", name), git("commit", "-qm", "more", name))


def vault(shell: Shell) -> None:
    """Notes with a template, all of which are memory."""
    settings_file('paths = ["**/*.md"]\n')(shell)
    person = "---\naliases: []\n---\n# {{title}}\n\n- employer:: \n- met:: \n"
    committed("Templates/Person.md", person)(shell)
    committed("People/Jana.md", "# Jana\n\n- met: in Oslo, at the fair\n- employer: Acme\n")(shell)
    shell.run("reindex")


def remote(shell: Shell) -> None:
    """A remote beside the workspace, with all that is committed."""
    there = shell.world.home / "remote.git"
    shell.world.git(shell.world.home, "init", "-q", "--bare", str(there))
    shell.git("remote", "add", "origin", str(there))
    shell.git("push", "-q", "-u", "origin", "main")


def in_a_clone(name: str, text: str) -> Prepare:
    """A commit of somebody else at the remote."""

    def prepare(shell: Shell) -> None:
        there = shell.world.home / "theirs"
        if not there.exists():
            shell.world.git(shell.world.home, "clone", "-q", "remote.git", str(there))
        path = there / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        who = ("-c", "user.name=Priya", "-c", "user.email=p@example.org")
        shell.world.git(there, "add", "-A")
        shell.world.git(there, *who, "commit", "-qm", "theirs")
        shell.world.git(there, "push", "-q")

    return prepare


def code(shell: Shell) -> None:
    """A repository of code that contains the current folder."""
    folder = shell.world.home / "src" / "app"
    folder.mkdir(parents=True)
    (folder / "app.py").write_text("print(1)\n")
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"),
    ):
        shell.world.git(folder, *words)
    shell.patch.chdir(folder)


def at_home(shell: Shell) -> None:
    shell.patch.chdir(shell.world.home)


def subfolder(shell: Shell) -> None:
    (shell.folder / "sub").mkdir()
    shell.patch.chdir(shell.folder / "sub")


def removed(name: str) -> Prepare:
    return lambda shell: (shell.folder / name).unlink()


_RULES = 'people_only = ["MEMORY.md"]\n'
OF_BOT = ("--propose", "--actor", "bot")
_RUNS = "r$(touch${IFS}RAN)"
_TASKS = "# Tasks\n\n## Move it\n\n- goal: x\n\n## Move out\n\n- goal: y\n"
_MORE = [
    # after writes
    *(
        Situation((verb, *words), prepare)
        for verb in ("log", "remember")
        for words, prepare in (
            (("met Jana, she moves to Oslo in May",), vault),
            (("employer: Acme in Bergen",), vault),
            (("I no longer work at Stripe",), do(("reindex",))),
            (("works at Stripe in Dublin now",), do(("reindex",))),
            (("the heating was mended again",), do(("reindex",))),
            (("plays the cello", *OF_BOT), None),
            (("likes dark rooms",), None),
        )
    ),
    Situation(
        ("log", "the heating was mended #house"), do(("log", "the heating was mended #house"))
    ),
    Situation(("remember", "tea", "--key", "drink", "--tag", "x"), do(("reindex",))),
    Situation(("remember", "Acme", "--key", "employer"), vault),
    Situation(
        ("remember", "coffee", "--key", "drink", "--source", "inferred"),
        do(("remember", "tea", "--key", "drink", "--source", "user-stated")),
    ),
    Situation(("remember", "coffee", "--key", "drink", "--contradicts", "drink: tea")),
    Situation(("contradicts", "drink: tea", "editor: Helix, always Helix")),
    Situation(("conflicts",), do(("contradicts", "drink: tea", "editor: Helix, always Helix"))),
    Situation(
        ("forget", "x y z"),
        do(
            committed("memory/a.md", "# A\n\n- a\n  - x y z\n"),
            committed("memory/b.md", "# B\n\n- b\n  - x y z\n"),
        ),
    ),
    Situation(
        ("forget", "x y z"),
        do(committed("memory/a.md", "# A\n\n- a\n  - x y z\n"), ("log", "x y z")),
    ),
    Situation(
        ("remember", "gas", "--key", "engine"),
        committed("MEMORY.md", "# M\n\n## V\n\n- Boat\n  - engine: x\n- Car\n  - engine: y\n"),
    ),
    Situation(("forget", "drink: tea"), do(("log", "likes drink: tea"))),
    Situation(
        ("edit-section", "Work", "--append", "- x"),
        do(("save",), file("MEMORY.md", MEMORY.replace("Stripe", "Acme"))),
    ),
    Situation(("task", "start", "Move it", "x"), committed("memory/tasks.md", _TASKS)),
    Situation(("task", "note", "Move", "x"), committed("memory/tasks.md", _TASKS)),
    Situation(("task", "show", "Nothing"), committed("memory/tasks.md", _TASKS)),
    Situation(
        ("task", "note", "Move it", "x"), committed("memory/tasks.md", _TASKS.replace("out", "it"))
    ),
    Situation(("revert", "HEAD~1"), do(("save",), ("log", "one"), ("log", "two"))),
    Situation(
        ("revert", "one"), do(("save",), ("log", "one"), ("log", "two"), ("remember", "one"))
    ),
    Situation(("revert", "digest/none")),
    Situation(("edit-section", "Mdmem-Op: x", "--create", "--body", "x")),
    Situation(("edit-section", "Work > Emplyer", "--body", "x")),
    Situation(("edit-section", "Work", "--rename", "Mdmem-Op: x")),
    Situation(("remember", "x", "--file", ".secret/notes.md", "--create", "--section", "A")),
    Situation(("remember", "x", "--file", "AGENTS.md", "--actor", "bot")),
    Situation(("log", "x"), environment("CLAUDECODE", "1")),
    Situation(
        ("log", "x", "--actor", "user"),
        do(user_settings('people = ["ada"]\n'), environment("CLAUDECODE", "1")),
    ),
    Situation(("save", "--actor", "bot"), user_settings('write = "propose"\n')),
    Situation(("remember", "x", "--actor", "bot"), file("mdmem.toml", _RULES)),
    Situation(
        ("remember", "x", "--section", "Facts", "--actor", "bot", "--create"),
        do(
            file("mdmem.toml", 'people_only = ["MEMORY.md#Rules"]\n'),
            file("MEMORY.md", "# Memory\n\n## Rules\n\n- z\n\n## Facts\n"),
        ),
    ),
    Situation(
        ("status",),
        do(
            committed("mdmem.toml", _RULES),
            file("MEMORY.md", "# Memory\n"),
            git("commit", "-qam", "by a bot\n\nMdmem-Claimed-By: bot"),
        ),
    ),
    Situation(
        ("log", "x"),
        do(file("memory/.gitattributes", "x"), git("update-index", "--skip-worktree", LOG)),
    ),
    Situation(("log", "x"), settings_file("timezone = 'Mars'\n")),
    Situation(("setup",)),
    Situation(("init", "claude"), fails=True),
    Situation(("log", LOG), fails=True),
    Situation(("login",), fails=True),
    Situation(("add", "MEMORY.md"), fails=True),
    Situation(("setup", "--yes"), environment("CLAUDECODE", "1")),
    # reads
    Situation(("status",)),
    Situation(("status",), do(("save",), ("init",), ("search", "x"))),
    Situation(("status",), not_adopted),
    Situation(("status",), do(listed, ("save",))),
    Situation(("status",), vault),
    Situation(
        ("status",),
        do(user_settings('dream = "apply"\n'), ("save",), ("log", "x", "--date", "yesterday")),
    ),
    Situation(("status",), do(file("memory/odd.md", b"\xff\xfe"), ("search", "x"))),
    Situation(("status",), file(".git/MERGE_HEAD", "0" * 40 + "\n")),
    Situation(
        ("status",),
        do(user_settings('sessions = ["claude"]\n'), ("save",), ("init",), ("search", "x")),
    ),
    Situation(
        ("status",), do(("init", "--no-hooks"), git("config", "--unset", "merge.mdmem.driver"))
    ),
    Situation(("search", "zebra")),
    Situation(("search", "heating", "--sessions")),
    Situation(("search", "x", "--sessions", "--section", "Work")),
    Situation(("search", "x", "--scope", "nowhere")),
    Situation(("search", "x", "--pool", "nowhere"), test_cli_failures.in_a_pool),
    Situation(("show", "MEMORY.mdd")),
    Situation(("show", "MEMORY.md")),
    Situation(("show", "dark rooms")),
    Situation(("show", "0123456")),
    Situation(("forget", "MEMORY.md:1"), fails=True),
    Situation(("forget", "harbour"), committed("memory/jana.md", "harbour:: Oslo\n"), fails=True),
    Situation(
        ("show", "2026-03-05"),
        do(
            file("memory/many.md", "".join(f"- thing {number}\n" for number in range(30))),
            git("add", "-A"),
            git("commit", "-qm", "many"),
        ),
    ),
    Situation(("show", fact_id("gone")), do(("log", "gone", "--fact"), ("forget", "gone"))),
    Situation(
        ("history", fact_id("gone")),
        do(
            ("log", "gone", "--fact"),
        ),
    ),
    Situation(("history", "drink")),
    Situation(("history", "rooms.md")),
    Situation(("history", "memory/rooms.md")),
    Situation(("history", "nothing here")),
    Situation(("blame", "drink")),
    Situation(("blame", "Rooms")),
    Situation(
        ("blame", "gone"),
        do(
            ("remember", "x", "--section", "gone", "--create"), ("edit-section", "gone", "--delete")
        ),
    ),
    Situation(("blame", "memory/rooms.md")),
    Situation(("revert", "drink: tae")),
    Situation(("when", "zebra")),
    Situation(("facts", "--key", "nothing")),
    Situation(("facts", "--file", "memory/room.md")),
    Situation(("recall", "--tag", "nothing")),
    Situation(("outline", "memory")),
    Situation(("changes", "--since", "2020-01-01")),
    Situation(("history", "MEMORY.md", "-n", "1"), do(("save",), ("remember", "x"))),
    Situation(("help", "nothing")),
    Situation(("help", "trsut")),
    Situation(("help",)),
    Situation(("tags",), committed("memory/rooms.md", "# Rooms\n")),
    Situation(("context", "--without", "nothing")),
    Situation(
        ("check",), file("memory/rooms.md", f"# R\n\n## A\n\n- x\n- x\n\n## A\n\n- {TOKEN}\n")
    ),
    Situation(
        ("check", "--staged"), do(file("memory/rooms.md", f"# R\n\n- {TOKEN}\n"), git("add", "."))
    ),
    Situation(("check", "--staged"), do(file(LOG, "# 2026-03-05\n"), git("add", "."))),
    Situation(("check",), do(file("MEMORY.md", "# M\n\nsee [[#Gone]]\n"))),
    Situation(
        ("edit-section", "Boiler", "--rename", "Heating"),
        committed("MEMORY.md", "# M\n\n## Boiler\n\n- see [[#Boiler]]\n"),
    ),
    Situation(("check",), do(file("MEMORY.md", "# M\n" + "- x y z\n" * 300))),
    # reviews, proposals
    Situation(
        ("review",),
        do(
            committed(
                "memory/rooms.md",
                "# Rooms\n\n- likes dark rooms\n- likes dark rooms very much\n- works at Stripe (until 2025-01-01)\n",
            ),
            ("save",),
            ("remember", "Vim", "--key", "editor"),
            ("contradicts", "pet: cat", "pet: dog"),
        ),
    ),
    Situation(
        ("review",),
        do(
            file(
                "MEMORY.md",
                MEMORY + "<<<<<<< a\n- x\n=======\n- y\n>>>>>>> b\n" + "- line of text\n" * 300,
            )
        ),
    ),
    Situation(("review",), do(environment("MDMEM_NOW", "2027-03-05T10:00:00"))),
    Situation(
        ("review", "--apply"),
        do(
            committed("MEMORY.md", MEMORY + "\n## By hand\n\n- x (until 2025-01-01)\n"),
            ("reindex",),
        ),
    ),
    Situation(("proposals",), listed),
    Situation(("proposals", "1"), listed),
    Situation(("proposals", "00000000"), listed),
    Situation(("reject", "1", "1b"), listed),
    Situation(("accept", "--all"), listed),
    Situation(("reject", "--older", "1d"), listed),
    Situation(("accept", "1"), do(listed, ("accept", "1"))),
    Situation(
        ("remember", "Vim", "--key", "editor", *OF_BOT),
        do(("remember", "Emacs", "--key", "editor", *OF_BOT)),
    ),
    Situation(("propose", "feature"), do(("save",), git("branch", "feature"))),
    Situation(("dream",), do(("save",), environment("MDMEM_NOW", "2026-03-09T10:00:00"))),
    Situation(("dream", "--day", "2026-03-05")),
    Situation(
        ("dream", "--propose"),
        do(
            committed(
                "memory/2026-03-02.md",
                "# 2026-03-02\n\n## 09:00\n\n- [preference] likes green tea\n",
            ),
            ("save",),
        ),
    ),
    Situation(("digest",), user_settings('sessions = ["nobody"]\n')),
    Situation(("digest", "x#1"), user_settings('sessions = ["claude"]\n')),
    Situation(("sessions",)),
    Situation(("sessions", "nothing"), user_settings('sessions = ["claude"]\n')),
    Situation(("sessions",), user_settings('sessions = ["claude"]\n')),
    Situation(("run",), do(("init",))),
    Situation(("vectors",)),
    Situation(("search", "x", "--vectors")),
    Situation(("stats", "--since", "soon")),
    # upkeep
    Situation(("doctor",)),
    Situation(("doctor",), not_adopted),
    Situation(
        ("doctor",),
        do(
            ("init",),
            file("memory.md", "# Other\n"),
            file(".gitignore", "memory/p.md\n"),
            file("memory/p.md", "- x\n"),
            file("memory/Rooms.md", "- x\n"),
            file("memory/tea.md", "<<<<<<< a\n- x\n=======\n- y\n>>>>>>> b\n"),
        ),
    ),
    Situation(("doctor",), do(committed("memory/key.md", f"- the key {TOKEN}\n"), ("reindex",))),
    Situation(
        ("doctor",),
        do(
            committed("memory/key.md", f"- the key {TOKEN}\n"),
            committed("memory/key.md", "- the key\n"),
        ),
    ),
    Situation(("doctor",), git("config", "core.hooksPath", "elsewhere")),
    Situation(("doctor",), do(("search", "x"), file(".git/mdmem/root/versions.db", b"garbage"))),
    Situation(
        ("doctor",), do(("search", "x"), file(".git/mdmem/root/index/meta.json", b"garbage"))
    ),
    Situation(
        ("doctor",),
        do(
            ("search", "x"),
            file(".git/mdmem/root/write.json", b"{"),
            file("memory/.mdmem-0a1b.tmp", b"x"),
        ),
    ),
    Situation(
        ("doctor",), do(code, ("init", "--outside", "--no-hooks"), ("init", "--here", "--no-hooks"))
    ),
    Situation(
        ("doctor",),
        do(
            settings_file('paths = ["**/*.md"]\n'),
            file("MEMORY 2.md", "- x\n"),
            file(".obsidian/templates.json", "{"),
            file("a.excalidraw.md", ""),
        ),
    ),
    Situation(
        ("log", "x"),
        do(
            settings_file('daily = "obsidian"\n'),
            file(".obsidian/daily-notes.json", '{"format": "ww"}'),
        ),
    ),
    Situation(("doctor",), user_settings('[project."/gone/app"]\nworkspace = "HERE"\n')),
    Situation(("doctor",), do(remote, file(".git/index.lock", ""))),
    Situation(("doctor",), file("AGENTS.md", "<!-- mdmem:begin -->\nold\n<!-- mdmem:end -->\n")),
    Situation(("reindex", "--full")),
    Situation(
        ("search", "x"), do(("search", "x"), file(".git/mdmem/root/index/meta.json", b"garbage"))
    ),
    Situation(("hooks", "status")),
    Situation(
        ("hooks", "install"),
        do(
            ("init",),
            file(".git/hooks/pre-commit", "#!/bin/sh\n"),
            file(".git/hooks/pre-commit.before-mdmem", "#!/bin/sh\n"),
        ),
    ),
    Situation(("schedule",)),
    Situation(("schedule", "cron")),
    Situation(("schedule", "systemd")),
    Situation(("redact", "--list")),
    Situation(("forget", "likes dark rooms", "--purge", "--yes"), do(("save",), remote)),
    Situation(("forget", "likes dark", "--purge", "--yes"), do(("save",))),
    Situation(("plugin",)),
    # where memory is
    Situation(("init",), code),
    Situation(("init", "--dry-run"), code),
    Situation(("init",), do(code, environment("CLAUDECODE", "1"))),
    Situation(("init",), do(code, ("init", "--outside", "--no-hooks"))),
    Situation(("init", "--outside"), do(code, ("init", "--here", "--no-hooks"))),
    Situation(("init", "--outside", "sub"), code),
    Situation(("init", "--outside", "~/other"), do(code, ("init", "--outside", "--no-hooks"))),
    Situation(("-C", "src/app", "status"), do(code, at_home)),
    Situation(("-C", "src/app", "sync"), do(code, ("init", "--outside", "--no-hooks"), at_home)),
    Situation(("status",), do(code, ("init", "--outside", "--no-hooks"), ("save",))),
    Situation(("init",), at_home),
    Situation(("init",), subfolder),
    Situation(("init", "memory/sub", "--here")),
    Situation(("init", "--here"), do(subfolder, file(".gitignore", "*.md\n"))),
    Situation(("init", "--shared"), file(".gitattributes", "x\n")),
    Situation(("init", "--agents=notes.txt")),
    Situation(("init", "--no-agents"), do(("init", "--agents=CLAUDE.md"))),
    Situation(("init", "--found"), not_adopted),
    Situation(("init", "--leave"), user_settings('[project."/x"]\nworkspace = "HERE"\n')),
    Situation(("init",), environment("HOME", "/nowhere")),
    Situation(("init",), do(vault, file("notes/a.md", "# A\n"))),
    Situation(("status",), removed("MEMORY.md")),
    Situation(("status",), do(file("more.md", "# A\n"), elsewhere)),
    Situation(("show",), settings_file("paths = ['/x']\n")),
    Situation(("show",), settings_file("pool = ['x']\n")),
    Situation(("show",), settings_file("write = 'x'\n")),
    Situation(("show",), settings_file("language = 'xx'\n")),
    Situation(("show",), user_settings('workspace = "x"\n')),
    Situation(("show",), user_settings('[project."x"]\nworkspace = "/x"\n')),
    Situation(("show",), user_settings('[project."/x"]\n')),
    Situation(("show",), user_settings("[agents_propose]\nx = 1\n")),
    Situation(("show",), user_settings('[in."x"]\nwrite = "propose"\n')),
    # together with a remote
    Situation(("sync",), remote),
    Situation(("sync", "--dry-run"), do(remote, ("log", "x"))),
    Situation(
        ("sync",),
        do(
            ("save",),
            remote,
            in_a_clone("MEMORY.md", MEMORY.replace("tea", "coffee")),
            file("MEMORY.md", MEMORY.replace("tea", "water")),
            ("save",),
        ),
    ),
    Situation(("sync",), do(("save",), remote, in_a_clone("code.py", "x = 1\n"))),
    Situation(
        ("sync",),
        do(
            ("save",),
            remote,
            file("code.py", "x = 2\n"),
            git("add", "."),
            git("commit", "-qm", "code"),
        ),
    ),
    Situation(("sync",), do(("save",), remote, in_a_clone("memory/rooms.md", f"- {TOKEN}\n"))),
    Situation(("sync",), do(("save",), remote, committed("memory/key.md", f"- the key {TOKEN}\n"))),
    Situation(("sync",), do(("save",), remote, ("forget", "likes dark rooms", "--purge", "--yes"))),
    Situation(
        ("sync",),
        do(
            ("save",),
            remote,
            in_a_clone("x.md", "x\n"),
            git("commit", "--amend", "-qm", "other"),
            git("push", "-qf"),
        ),
    ),
    Situation(
        ("sync",), do(("save",), git("remote", "add", "origin", "https://127.0.0.1:1/x.git"))
    ),
    Situation(("sync",), do(("save",), git("remote", "add", "origin", "ext::true"))),
    Situation(("init",), do(("save",), git("rm", "-q", "MEMORY.md"), git("commit", "-qm", "gone"))),
    Situation(("doctor",), do(("save",), git("config", "user.email", "kit@example.org"))),
    Situation(("check",), file("memory/rooms.md", "---\na: &x 1\nb: *x\n---\n# R\n\n- x\n")),
    # names that a shell would run
    Situation(("blame", f"{_RUNS}/notes.md"), file(f"{_RUNS}/notes.md", "# x\n")),
    Situation(
        ("sync",),
        do(
            ("save",),
            git("config", f"remote.{_RUNS}.url", "./none"),
            git("config", "remote.z.url", "./none"),
        ),
    ),
    Situation(("sync",), do(("save",), git("config", f"remote.{_RUNS}.url", "./none"))),
    Situation(
        ("status",),
        do(("save",), remote, ("sync",), in_a_clone("memory/rooms.md", f"- {TOKEN}\n"), ("sync",)),
    ),
]
_FAILURES = [
    Situation(words=each.words, prepare=each.prepare, stdin=each.stdin, fails=True)
    for each in test_cli_failures.FAILURES
]
_GUESSES = [
    *(
        Situation(words=(word,), fails=True)
        for word in {each: word for word, each in guesses._CALLS.items()}.values()
        if "-" not in word and word not in (*COMMANDS, *GROUPS)
    ),
    *(
        Situation(words=(verb, "one", "two", "three", "four"), fails=True)
        for verb in ("edit-section", "save", "remember", "facts", "recall", "tags")
    ),
    *(
        Situation((*verb.split(), option), fails=True)
        for option, verb in (
            ("--no-color=x", "status"),
            ("--no-pager=x", "status"),
            ("--since=yesterday", "history"),
            ("--until=yesterday", "history"),
            ("--key=x", "forget"),
            ("--list=x", "tags"),
            ("--all=x", "tags"),
            ("--overwrite=x", "remember"),
            ("--content=x", "log"),
            ("--section=x", "show"),
            ("--query=x", "search"),
            ("--file=x", "outline"),
            ("--format=x", "search"),
            ("--date=yesterday", "search"),
            ("--to=yesterday", "changes"),
            ("--type=x", "facts"),
            ("--id=x", "forget"),
            ("--subject=x", "history"),
            ("--author=x", "log"),
            ("--why=x", "forget"),
            ("--supersede=x", "log"),
            ("--old=x", "edit-section"),
            ("--new=x", "edit-section"),
            ("--etag=x", "edit-section"),
            ("--add=x", "edit-section"),
            ("--make=x", "edit-section"),
            ("--diff=x", "history"),
            ("--preview=x", "revert"),
            ("--deep=x", "show"),
            ("--dir=x", "init"),
            ("--quiet=x", "status"),
            ("--asof=2026-03-05", "search tea"),
            ("--past=x", "search"),
            ("--certainty=0.5", "log"),
            ("--origin=x", "log"),
            ("--days=3", "search tea"),
            ("--position=x", "edit-section"),
            ("--force=x", "forget"),
            ("--rebuild=x", "reindex"),
            ("--repair=x", "doctor"),
            ("--state=x", "facts"),
            ("-k=x", "remember"),
            ("--tags=x", "recall"),
            ("--limit=3", "search tea"),
            ("--name=x", "task start"),
        )
    ),
    *(Situation(words=(*name.split(), "--help"), fails=True) for name in COMMANDS),
]
SITUATIONS = [*_GUESSES, *_FAILURES, *_MORE]
NOT_FROM_HERE: dict[str, tuple[str, ...]] = {
    "a fleet has to be there: test_fleet": (
        "cli/fleets.py: to bring it up to date: mdmem fleet index",
        "fleet/clickhouse.py: Ask again.",
        "fleet/folder.py: Is its disk full? If not, remove …, and: mdmem fleet index",
        "fleet/folder.py: Name another one.",
        "fleet/folder.py: Try again.",
        "fleet/folder.py: another mdmem has been writing … for 30 s",
        "fleet/folder.py: mdmem fleet index",
        "fleet/settings.py: It may have ….",
        "fleet/settings.py: Ask as yourself.",
        "fleet/settings.py: Name a command that knows them.",
        'fleet/settings.py: at = "/srv/mdmem-fleet", repositories and readers go there: mdmem help',
        "fleet/settings.py: chmod 700 …",
        "fleet/settings.py: … names it.",
    ),
    "commits have to be signed, or pushed: test_signed_commits, test_pushes": (
        "folder/hook_files.py: input=$(cat); printf '%s\\n' \"$input\""
        " | mdmem check --push || exit 1",
        "folder/hook_files.py: Add there, before it reads what is pushed:\n  …",
        "health/contents.py: To undo it: mdmem revert …",
        'repo/signatures.py: Name a file outside of the repository: … = "~/.ssh/allowed_signers"',
    ),
    "nothing is piped in: test_cli_writes": ("cli/writing.py: To remove the section: --delete",),
    "a disk, a program or a record of mdmem's own has to fail: test_recover, test_doctor_state, test_adoption, test_state, test_reading_budget": (
        "workspace/adoption.py: Name folders by globs instead: adopt = [...] in config.toml.",
        "workspace/adoption.py: Remove it and adopt again: rm …",
        "workspace/adoption.py: Set HOME.",
        "workspace/adoption.py: To adopt without it, name the folder: adopt = [...] in config.toml, or",
        "changes/apply.py: A hook removes the change, or another program keeps saving the file.",
        "changes/apply.py: Close it there and try again.",
        "changes/file_write.py: Have git check it out: git sparse-checkout add, or git update-index --",
        "changes/file_write.py: … … changed meanwhile and … kept unchanged: check ….",
        "changes/recover.py: Free some disk space; the next command repairs it.",
        "changes/recover.py: Remove it by hand.",
        "changes/file_write.py: Use the hook's wording, or have the hook skip memory files.",
        "health/surroundings.py: For details: git fsck. Another clone may have what is missing.",
        "health/surroundings.py: Install git … or newer.",
        "health/surroundings.py: To check without a time limit: git fsck",
        "health/surroundings.py: To remove it: mdmem doctor --fix",
        "health/surroundings.py: To try again: mdmem sync",
        "health/contents.py: It was being removed: move it back, or delete it.",
        "health/contents.py: Nothing can be written until it is a folder that you may write to, wit",
        "health/contents.py: The next write discards it.",
        "health/contents.py: The next write finishes it, or discards it if it had not begun.",
        "model/errors.py: This is a bug in mdmem.",
        "folder/budget.py: Shorten or split it.",
        "folder/files.py: Move git's folder to a disk that has them (git init --separate-git-dir",
        "proposals/branches.py: To see more: git fsck",
        "repo/commits.py: To see the state of the index: git status",
        "repo/commits.py: Try again when that has ended.",
        "purge/history_rewrite.py: Run it again to complete it. For details: git fsck",
        "purge/history_rewrite.py: To see which: git fsck",
        "repo/merge_trees.py: Install git 2.38 or newer.",
        "repo/worktree.py: Resolve them first (git status).",
        "index/schema.py: Is the disk full, or another process writing it? If not, rebuild it: m",
        "index/schema.py: To rebuild it: mdmem reindex --full",
        "workspace/state.py: Set HOME.",
        "workspace/state.py: To share the repository: git config core.sharedRepository group",
        "workspace/state.py: another user's mdmem writes in …",
        "past/storage.py: Is the disk full, or another process writing it?",
    ),
    "a text in a file or a program, which is no advice": (
        "index/background.py: mdmem catch-up",
        "folder/budget.py: mdmem budget",
        "cli/tasks.py: mdmem stats alone, or with …",
        "folder/hook_files.py: # mdmem hook ",
        "repo/first_parent.py: (?:pull|merge|rebase|mdmem sync)\\b|commit \\(merge\\)",
        "health/schedule.py: # Placed by mdmem schedule, which replaces it.",
        "vectors/questions.py: mdmem vectors",
    ),
    "a case of a case, in the tests of its module": (
        "agenthooks.py: … to review: mdmem review",
        "folder/own_settings.py: Add to it, under …:\n…",
        "folder/own_settings.py: Set HOME.",
        "mcp/tools.py: No memory here; the user can type: mdmem setup",
        "memory/first_hour.py: mdmem dream --apply",
        "memory/first_hour.py: mdmem schedule --uninstall",
        "review/deciding.py: Decide them together. To accept all parts: mdmem review --accept …; to",
        "review/deciding.py: To show it again: mdmem review --proposals …",
        "changes/agent_files.py: Name a file that an agent's host reads, such as ….",
        "changes/revert.py: Name the commit by its id, or the fact by its id.",
        "changes/revert.py: …\nTo keep these and undo the rest, use --skip.",
        "changes/revert.py:  (… in mdmem history)",
        "changes/revert.py: To undo … change: ……",
        "changes/tasks.py: Give the task another name.",
        "changes/tasks.py: Rename one of them in ….",
        "cli/app.py: Run it in one of these shells.",
        "queries/blame.py: mdmem history --blame …",
        "show/reads.py: dream      … not consolidated. To do it now: mdmem dream --since …",
        "queries/blame.py: mdmem history --blame … --file …",
        "cli/app.py: For details and an example: mdmem COMMAND --help. -C, -q and --json ma",
        "cli/app.py: Use one of …. …",
        "cli/deciding.py: There are no open proposals.",
        "cli/deciding.py: To reject it: …",
        "cli/maintenance.py: To adopt those in which you are the only author: mdmem init --found --",
        "cli/review_room.py: … …: nothing is open; to close it: mdmem review --accept …",
        "health/contents.py: Move its files.",
        "health/contents.py: Put the file in its place.",
        "editors/facts.py: Name one with --section.",
        "editors/facts.py: Put a blank line around the list.",
        "editors/section.py: Address the subsection.",
        "editors/section.py: To list sections: mdmem outline",
        "editors/whole_file.py: Close it.",
        "editors/whole_file.py: Insert after line …, its last one.",
        "editors/whole_file.py: Text can be inserted at its end.",
        "folder/layout.py: Choose another name, such as …/notes.md.",
        "folder/layout.py: Choose another name. Only a person changes this file.",
        "memory/adopting.py: A person has to adopt this memory at a terminal.",
        "memory/adopting.py: Remove the rule.",
        "memory/outside.py: Clone it yourself, and name the workspace's folder in the clone.",
        "memory/outside.py: Name it instead of an address.",
        "memory/outside.py: Set HOME, or name a folder.",
        "memory/outside.py: Set HOME.",
        "model/proposals.py: Name them by number (1 4-9), or use ….",
        "model/writes.py: Use the run's name from its commits: digest/…",
        "queries/versions.py: To see what changed: mdmem changes",
        "queries/blame.py: Name one with --nth.",
        "lookup/lookup.py: Facts with these words: …",
        "lookup/lookup.py: It is a file. To see its changes: mdmem history …",
        "lookup/lookup.py: It is a key: mdmem facts --key …",
        "lookup/lookup.py: To list files: mdmem outline",
        "queries/pool.py: The pool has ….",
        "queries/pool.py: The pool is empty.",
        "queries/status.py: no merge driver is set here, so git merges memory by lines. To set it:",
        "queries/status.py: … holds text that was purged. To purge it again: mdmem forget --purge ",
        "health/schedule.py: Move it away, or rename it.",
        "health/schedule.py: cron has no such limit.",
        "health/schedule.py: systemd takes it.",
        "show/maintenance.py: To use it: mdmem init …",
        "show/maintenance.py: waiting for review: …\n    mdmem review --proposals",
        "show/reviews.py: left … …. To list them: mdmem review --proposals",
        "show/reads.py: edit what is in conflict until the markers are gone, then mdmem save",
        'show/reads.py: mdmem remember "a fact", mdmem log "what happened"',
        "show/writes.py: A person decides: mdmem review --proposals …",
        "show/writes.py: To settle which one is true: mdmem conflicts",
        "text/check.py: …, then stage the file again.",
        "changes/verbs/__init__.py: To make it a workspace: mdmem init …",
        "review/deciding.py: Write it by hand.",
        "changes/verbs/foundations.py: Change it in its own workspace.",
        "workspace/__init__.py: Leave the actor out to write as ….",
    ),
    "a remote has to be in a state of its own: test_syncing, test_sync_reports, test_remotes": (
        "sync/landing.py: Commit them (mdmem save or git commit) or undo them.",
        "changes/placing.py: Close it there.",
        "changes/placing.py: To take it: …",
        "changes/placing.py: mdmem sync: …..…",
        "model/pipelines.py: To undo: mdmem revert …",
        "repo/remotes.py: To ask for a merge there: …",
        "repo/remotes.py: Try … in a terminal; mdmem uses the credentials that git has.",
        "folder/files.py: Go there for its files.",
        "repo/discovery.py: If you moved it: git -C … worktree repair …",
        "sync/combining.py: To delete it there: git push … --delete …",
        "sync/combining.py: To merge two memories that were created separately: mdmem sync --join",
        "sync/combining.py: To purge it here too: mdmem sync --purge",
        "sync/combining.py: To put it back: …",
        "sync/combining.py: To put it back: …. To remove it here too: …",
        "sync/outgoing.py: To resolve it by hand: …",
        "health/sync_status.py:  (and … more: mdmem status)",
        "sync/syncing.py: Decide by hand: git log --all --oneline",
        "sync/syncing.py: … has a branch …, which shares no commit with …: the two are not merge",
    ),
    "text has to be purged, or moved, under special conditions: test_purge, test_moves": (
        "changes/moves.py: Check it and try again.",
        "changes/moves.py: Create … there first.",
        "changes/moves.py: Remove the rule or the file.",
        "purge/purging.py: Close it there and purge again.",
        "purge/purging.py: Give the id. …",
        "purge/purging.py: Look in remote-tracking refs (git log --remotes), in binary or unreada",
        "purge/purging.py: Remove it there first, or remove the worktree (git worktree remove).",
        "purge/purging.py: To finish it, run mdmem save there.",
        "purge/purging.py: To purge a value that is only in history, give its whole text; to see ",
        "purge/target.py: Give more words, or fewer.",
    ),
    "sessions have to be there: test_digest_starting, test_sessions, test_dream, test_imports": (
        "nights/digest/known_sessions.py: Lines count from 1, the lower number first: SESSION#12-20.",
        "nights/digest/known_sessions.py: Name one of them, with more characters or by its file.",
        "nights/digest/session_views.py: It has ….",
        "nights/digest/session_views.py: The clients are ….",
        "nights/dream/dreaming.py: The next run does the rest.",
        "nights/imports/importing.py: Supported: the exports of ChatGPT and Claude (conversations.json or th",
        "nights/dream/dreaming.py: …. Give one of them another title: a night writes to the section of an",
        "model/pipelines.py: Messages from before that day stay due.",
        "show/runs.py: To review: mdmem review --proposals. To accept everything: mdmem revie",
        "nights/steps.py: It reads what is new; the next run reads anything that arrives meanwhi",
    ),
    "a clock of a machine has to be ahead: test_clocks": (
        "health/surroundings.py: If this clock is right, date it back at a terminal: mdmem doctor"
        " --fix",
        "queries/status.py: …. If that clock was wrong: mdmem doctor --fix",
    ),
    "a host of agents has to be set up: test_doctor_hosts, test_hosts": (
        "health/surroundings.py: \nTo adopt others of yours too: mdmem init --found",
        "health/surroundings.py: Link the program into a folder of the PATH, such as ~/.local/bin.",
        "health/surroundings.py: Remove that folder, or set TMPDIR to a folder of your own.",
        "health/surroundings.py: To create one: …\nOr name another.",
        "health/surroundings.py: To set it up: mdmem init --for …",
        "health/surroundings.py: To update it: mdmem init --for …",
        "health/wiring.py: Move it away.",
        "health/wiring.py: Set HOME.",
        "show/maintenance.py: To take it back: mdmem init --for … --undo",
        'health/surroundings.py: workspace = "…" in … names it, for every host that is not in a workspa',
        "memory/hosts.py: , and others of yours: mdmem init --found",
        'memory/hosts.py: To create one: mdmem init …. To use one elsewhere: workspace = "DIR" i',
    ),
    "settings of a rare form: test_config": (
        "folder/config.py: Give the full path.",
        "folder/config.py: It may begin with ~.",
        "folder/config.py: Remove actor, or move it to ….",
        "folder/config.py: Replace … with a plain file, or remove it.",
        "folder/config.py: Shorten that line of ….",
        "folder/config.py: Shorten ….",
        "folder/config.py: To see all: mdmem help settings",
        'folder/config.py: Write […."/path/of/a/…"].',
        'folder/config.py: Write […."claude-code"], and below it write = "propose".',
    ),
    "another door says it: test_mcp_calls, test_memtool, test_page_doing, test_page_export": (
        'mcp/arguments.py: Example: {"since": "yesterday"}',
        'mcp/arguments.py: Example: {"…": ["ops"]}',
        "mcp/arguments.py: memory_get of the section ends with its etag: give that.",
        "mcp/calls.py: Leave workspace out. The user can start it as mdmem mcp --write-pool.",
        "mcp/calls.py: memory_get without a name lists the sections of MEMORY.md.",
        'memtool/backend.py: One object per line, as in {"command": "view", "path": "/memories"}',
        "memtool/backend.py: Proposed as …: … is unchanged until a person accepts this (mdmem revie",
        "memtool/backend.py: Use one of ….",
        "memtool/backend.py: [1, 20], or [10, -1] from line 10 to the end.",
        "page/doing.py: Look at it again before you decide.",
        "page/doing.py: Look at them again before you decide.",
        "page/export.py: Name an empty folder, a new one, or that of an earlier export.",
        "page/export.py: Name an empty folder.",
        "page/guard.py: Open the address that mdmem page printed, by typing or pasting it.",
        "page/views/timeline.py: Write a day as 2026-03-05.",
    ),
}
