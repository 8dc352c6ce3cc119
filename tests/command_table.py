"""The commands and the records of writes, for tests that cover all of them.

`ROWS` and `RECORDS` are those of `test_write_policy`, `test_own_view` and `test_pool_leaks`, the
others those of `test_edits`, `test_durability` and `test_cli_writes`.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from workspaces import append

from mdmem.model import FilePath
from mdmem.model.writes import (
    Action,
    Contradict,
    CreateFile,
    EditSection,
    Forget,
    InsertText,
    Log,
    MovePath,
    Remember,
    ReplaceText,
    Resolve,
    Revert,
    UserEdit,
    WriteOptions,
)
from mdmem.review.proposing import Asked

AGENT = "mcp/x"
OPTIONS = WriteOptions(actor=AGENT)
TODAY, YESTERDAY = "memory/2026-03-05.md", "memory/2026-03-04.md"
EXPORT = Path(__file__).parent / "data" / "imports" / "mem0.json"
WORD = "zebra"
"""A word in all that an agent has proposed, and in nothing else."""
SECRET = "xylophone"
"""A word of the workspaces that nobody may read."""
WORDS = ("lamp", SECRET)


class Fate(Enum):
    """What becomes of a write by an agent that proposes."""

    PROPOSED = "proposed"
    LOGGED = "logged"
    REFUSED = "not-allowed"
    APPEND_ONLY = "append-only"
    IN_PLACE = "supersede-in-place"
    BAD_PATH = "bad-path"
    EXISTS = "file-exists"
    NO_WRITE = "no write"
    """Nothing of memory is written, by whomever."""
    A_DOOR = "a door"
    """Not carried out: a server or a hook that has a table of its own, or no work on memory."""


PROPOSED, LOGGED, REFUSED = Fate.PROPOSED, Fate.LOGGED, Fate.REFUSED
NO_WRITE, A_DOOR = Fate.NO_WRITE, Fate.A_DOOR
SEEN, UNSEEN = True, False


class Row(NamedTuple):
    """The words after a command, for each of three questions.

    - `fates`: calls by an agent that proposes, and what becomes of the write.
    - `own`: calls by an agent, and whether the answer has what it has proposed. None of a command
      that reads no memory, and of one for the person who decides.
    - `printing`: calls that print lines of memory, or what is like them. None of a command that
      prints only what it was given, and of a door.
    """

    fates: Sequence[tuple[str, Fate]]
    own: Sequence[tuple[str, bool]]
    printing: Sequence[Sequence[str]]


ROWS: Mapping[str, Row] = {
    "setup": Row(
        fates=[("", A_DOOR)],
        own=[],
        printing=[],
    ),
    "init": Row(
        fates=[(".", REFUSED), ("--agents AGENTS.md", REFUSED), ("--shared", REFUSED)],
        own=[],
        printing=[],
    ),
    "import": Row(
        fates=[(f"'{EXPORT}'", REFUSED)],
        own=[],
        printing=[],
    ),
    "status": Row(
        fates=[("", NO_WRITE)],
        own=[("", UNSEEN)],
        printing=[()],
    ),
    "help": Row(
        fates=[("errors", NO_WRITE)],
        own=[],
        printing=[],
    ),
    "log": Row(
        fates=[
            ("'the sun shone'", LOGGED),
            ("'it was warm' --fact --date 2026-03-04", LOGGED),
            ("'it shone' --supersedes 'the key is under the mat'", LOGGED),
            ("'likes coffee' --supersedes 'likes tea'", Fate.IN_PLACE),
            ("'it snowed' --supersedes 'it rained'", Fate.IN_PLACE),
            ("'the sun shone' --propose", PROPOSED),
        ],
        own=[],
        printing=[("a lamp, and another lamp",)],
    ),
    "remember": Row(
        fates=[
            ("'has a cat' --section Facts", PROPOSED),
            ("'Bergen' --key home --section Facts", PROPOSED),
            ("'has a dog' --section Facts --supersedes 'likes tea'", PROPOSED),
            ("--from 'the key is under the mat' --section Facts", PROPOSED),
            ("'has a dog' --section Facts --propose", PROPOSED),
            ("'a roof' --file memory/new.md --create", PROPOSED),
            ("'a roof' --file README.md --create", REFUSED),
            ("'a roof' --file memory/2026-03-05.md", Fate.APPEND_ONLY),
        ],
        own=[],
        printing=[("the deploy lamp of mine is red",)],
    ),
    "edit-section": Row(
        fates=[
            ("Facts --append '- has a cat'", PROPOSED),
            ("Facts --prepend 'All of them.'", PROPOSED),
            ("Facts --body '- has a cat'", PROPOSED),
            ("Facts --replace tea --with coffee", PROPOSED),
            ("Facts --rename Truths", PROPOSED),
            ("Facts --delete", PROPOSED),
            ("Pets --body '- a cat' --create", PROPOSED),
            ("--preamble --append 'Of Ada.'", PROPOSED),
            ("Goals --file README.md --body text --create", REFUSED),
            (f"09:00 --file {YESTERDAY} --append '- it shone'", LOGGED),
            (f"09:00 --file {YESTERDAY} --delete", Fate.APPEND_ONLY),
            (f"09:00 --file {YESTERDAY} --append '- it' --supersedes 'likes tea'", PROPOSED),
        ],
        own=[],
        printing=[],
    ),
    "edit": Row(fates=[("Facts --append '- has a cat'", PROPOSED)], own=[], printing=[]),
    "forget": Row(
        fates=[
            ("'likes tea'", PROPOSED),
            ("'two floors' --file memory/house.md", PROPOSED),
            ("'the key is under the mat'", PROPOSED),
            (f"'the key is under the mat' --file {YESTERDAY}", PROPOSED),
            ("'likes tea' --all", REFUSED),
            ("'likes tea' --purge --yes", REFUSED),
        ],
        own=[],
        printing=[(SECRET,)],
    ),
    "revert": Row(
        fates=[("HEAD", REFUSED)],
        own=[],
        printing=[(SECRET,)],
    ),
    "save": Row(
        fates=[("", REFUSED)],
        own=[],
        printing=[],
    ),
    "task start": Row(
        fates=[("Paint white", PROPOSED)],
        own=[],
        printing=[],
    ),
    "task note": Row(
        fates=[("Move 'half is done'", PROPOSED)],
        own=[],
        printing=[],
    ),
    "task done": Row(
        fates=[("Move moved", REFUSED)],
        own=[],
        printing=[],
    ),
    "task show": Row(
        fates=[("Move", NO_WRITE)],
        own=[(f"'{WORD} house'", SEEN)],
        printing=[("x",)],
    ),
    "search": Row(
        fates=[("tea", NO_WRITE)],
        own=[(WORD, SEEN), ("home", SEEN), (f"{WORD} --history", UNSEEN), ("tea --json", UNSEEN)],
        printing=[
            *[
                (word, *more)
                for word in WORDS
                for more in ((), ("--history",), ("--as-of", "today"))
            ],
            ("--tag", "habits"),
            ("--since", "2026-01-01"),
            ("lamp", "--explain"),
            ("lamp", "--with", "~/team"),
        ],
    ),
    "show": Row(
        fates=[("Facts", NO_WRITE)],
        own=[("Facts", SEEN), ("home", SEEN), ("memory/zoo.md", SEEN), ("MEMORY.md", SEEN)],
        printing=[(), ("today",), (SECRET,), ("MEMORY.md",), ("team",)],
    ),
    "outline": Row(
        fates=[("", NO_WRITE)],
        own=[("memory/tasks.md", SEEN), ("--json", SEEN)],
        printing=[(), ("MEMORY.md",)],
    ),
    "facts": Row(
        fates=[("", NO_WRITE)],
        own=[
            ("", SEEN),
            ("--key home", SEEN),
            ("--section facts", SEEN),
            ("--file ./MEMORY.md", SEEN),
            (f"--tag '#{WORD.upper()}'", SEEN),
            ("--section work", UNSEEN),
            ("--all", UNSEEN),
        ],
        printing=[(), ("--all",), ("-n", "0"), ("--kind", "fact")],
    ),
    "recall": Row(
        fates=[("--tag ops", NO_WRITE)],
        own=[(f"--tag {WORD}", SEEN)],
        printing=[("--tag", "habits")],
    ),
    "tags": Row(
        fates=[("", NO_WRITE)],
        own=[("", UNSEEN)],
        printing=[()],
    ),
    "fleet status": Row(fates=[("--fleet none.toml", NO_WRITE)], own=[], printing=[]),
    "fleet index": Row(fates=[("--fleet none.toml", NO_WRITE)], own=[], printing=[]),
    "fleet search": Row(fates=[("tea --fleet none.toml", NO_WRITE)], own=[], printing=[]),
    "fleet purge": Row(fates=[("--fleet none.toml", NO_WRITE)], own=[], printing=[]),
    "context": Row(
        fates=[("tea", NO_WRITE)],
        own=[("tea", UNSEEN)],
        printing=[
            (),
            ("--budget", "8000"),
            *[("--for", purpose, word) for purpose in ("session", "prompt") for word in WORDS],
        ],
    ),
    "sessions": Row(
        fates=[("", NO_WRITE)],
        own=[],
        printing=[()],
    ),
    "digest": Row(
        fates=[("'{transcript}'", LOGGED)],
        own=[],
        printing=[("--dry-run",)],
    ),
    "dream": Row(
        fates=[("", NO_WRITE), ("--propose", NO_WRITE), ("--apply", REFUSED)],
        own=[],
        printing=[("--dry-run",)],
    ),
    "flush": Row(
        fates=[("--check --tokens 9 --cycle 1 --window 200000", NO_WRITE)],
        own=[],
        printing=[("--window", "1000", "--tokens", "990", "--cycle", "1", "--session", "s")],
    ),
    "mcp": Row(
        fates=[("", A_DOOR)],
        own=[],
        printing=[],
    ),
    "memory-tool": Row(
        fates=[("", A_DOOR)],
        own=[],
        printing=[],
    ),
    "plugin": Row(
        fates=[("", NO_WRITE)],
        own=[],
        printing=[],
    ),
    "agent-hook": Row(
        fates=[("", A_DOOR)],
        own=[],
        printing=[],
    ),
    "review": Row(
        fates=[("", NO_WRITE), ("--apply", REFUSED)],
        own=[],
        printing=[()],
    ),
    "proposals": Row(
        fates=[("", NO_WRITE), ("{proposal}", NO_WRITE)],
        own=[],
        printing=[()],
    ),
    "accept": Row(
        fates=[("{proposal}", REFUSED), ("--all", REFUSED)],
        own=[],
        printing=[],
    ),
    "reject": Row(
        fates=[("{proposal}", REFUSED), ("--section Facts", REFUSED)],
        own=[],
        printing=[],
    ),
    "propose": Row(
        fates=[("feature", PROPOSED)],
        own=[],
        printing=[],
    ),
    "page": Row(
        fates=[("", A_DOOR)],
        own=[],
        printing=[],
    ),
    "history": Row(
        fates=[("Facts", NO_WRITE)],
        own=[("Facts", UNSEEN), ("", UNSEEN)],
        printing=[(), ("MEMORY.md",), (SECRET,)],
    ),
    "changes": Row(
        fates=[("", NO_WRITE)],
        own=[("", UNSEEN)],
        printing=[("--since", "2026-01-01")],
    ),
    "blame": Row(
        fates=[("Facts", NO_WRITE)],
        own=[("Facts", UNSEEN)],
        printing=[("MEMORY.md",)],
    ),
    "when": Row(
        fates=[("tea", NO_WRITE)],
        own=[("tea", UNSEEN)],
        printing=[(SECRET,), ("lamp",)],
    ),
    "conflicts": Row(
        fates=[("", NO_WRITE), ("--resolve 'home: Oslo' 'likes tea'", REFUSED)],
        own=[("", UNSEEN)],
        printing=[()],
    ),
    "contradicts": Row(
        fates=[("'home: Oslo' 'likes tea'", REFUSED)],
        own=[],
        printing=[(SECRET, "lamp")],
    ),
    "check": Row(
        fates=[("", NO_WRITE)],
        own=[("", UNSEEN)],
        printing=[()],
    ),
    "redact": Row(
        fates=[("", NO_WRITE)],
        own=[],
        printing=[(SECRET,)],
    ),
    "sync": Row(
        fates=[("", NO_WRITE), ("--join", REFUSED), ("--purge", REFUSED)],
        own=[],
        printing=[],
    ),
    "doctor": Row(
        fates=[("", NO_WRITE), ("--fix", NO_WRITE)],
        own=[],
        printing=[()],
    ),
    "reindex": Row(
        fates=[("--full", NO_WRITE)],
        own=[],
        printing=[(), ("--full",)],
    ),
    "hooks install": Row(
        fates=[("", NO_WRITE)],
        own=[],
        printing=[],
    ),
    "hooks uninstall": Row(
        fates=[("", NO_WRITE)],
        own=[],
        printing=[],
    ),
    "hooks status": Row(
        fates=[("", NO_WRITE)],
        own=[],
        printing=[()],
    ),
    "server status": Row(
        fates=[("", A_DOOR)],
        own=[],
        printing=[],
    ),
    "server stop": Row(
        fates=[("", A_DOOR)],
        own=[],
        printing=[],
    ),
    "merge-driver": Row(
        fates=[("", A_DOOR)],
        own=[],
        printing=[],
    ),
    "run": Row(
        fates=[("", NO_WRITE)],
        own=[],
        printing=[],
    ),
    "schedule": Row(
        fates=[("", NO_WRITE)],
        own=[],
        printing=[],
    ),
    "stats": Row(
        fates=[("", NO_WRITE)],
        own=[],
        printing=[()],
    ),
    "trends": Row(
        fates=[("", NO_WRITE)],
        own=[("", UNSEEN)],
        printing=[()],
    ),
}

RECORDS: Mapping[type, tuple[Asked, Fate]] = {
    EditSection: (EditSection("Facts", Action.APPEND, "- a cat", options=OPTIONS), PROPOSED),
    Log: (Log("the sun shone", options=OPTIONS), LOGGED),
    Remember: (Remember("has a cat", section="Facts", options=OPTIONS), PROPOSED),
    Forget: (Forget("likes tea", options=OPTIONS), PROPOSED),
    Revert: (Revert("HEAD", options=OPTIONS), REFUSED),
    Contradict: (Contradict("home: Oslo", "likes tea", OPTIONS), REFUSED),
    Resolve: (Resolve("home: Oslo", "likes tea", OPTIONS), REFUSED),
    CreateFile: (CreateFile("memory/cats.md", "# Cats\n\n- Miez\n", OPTIONS), PROPOSED),
    ReplaceText: (ReplaceText("MEMORY.md", "tea", "coffee", OPTIONS), PROPOSED),
    InsertText: (InsertText("MEMORY.md", 5, "- a cat", OPTIONS), PROPOSED),
    MovePath: (MovePath("memory/house.md", None, OPTIONS), REFUSED),
}
"""Records by the agent that proposes, and what becomes of them."""

LOG = FilePath(YESTERDAY)
IN_A_LOG: Sequence[tuple[UserEdit, bool]] = [
    (Log("x", day="2026-03-04"), True),
    (Forget("x", LOG), True),
    (Remember("x", file=LOG), False),
    *(
        (EditSection("09:00", action, "- x", file=LOG), action is Action.APPEND)
        for action in (Action.APPEND, Action.PREPEND, Action.BODY)
    ),
]
"""Edits that name a day's log, and whether it takes them: it takes additions (`Verb.appends`)."""

NEW_TEXTS: Sequence[tuple[UserEdit, list[str]]] = [
    (append("x"), ["x"]),
    (EditSection("Work", Action.REPLACE, "old", "new"), ["new"]),
    (Log("x", more=("y",)), ["x", "y"]),
    (Remember("x", key="k"), ["k", "x"]),
    (Remember("x"), ["", "x"]),
    (Forget("x"), []),
]
"""Edits, and the texts that they bring in, which may not come from memory (`Verb.new_texts`)."""

UNDER_POWER_CUTS: Sequence[UserEdit] = [
    Log("the mark"),
    append(),
    Remember("tea", key="drink"),
    Forget("works at Stripe"),
]
"""An edit of each verb, of `workspaces.SEED`, to be carried out while the power goes."""

WRITES: Sequence[tuple[tuple[str, ...], str]] = [
    (("log", "it rained"), "logged to memory/2026-03-05.md: 2026-03-05 > 09:30 "),
    (
        ("log", "--fact", "it rained", "--time", "23:59", "--date", "2026-03-01"),
        "logged to memory/2026-03-01.md: 2026-03-01 > 23:59 ",
    ),
    (
        ("remember", "coffee", "--key", "drink"),
        "replaced in MEMORY.md: Memory > Preferences, was: drink: tea ",
    ),
    (
        ("remember", "plays the cello", "--kind", "preference"),
        "remembered in MEMORY.md: Memory > Preferences ",
    ),
    (("forget", "works at Stripe"), "forgotten: MEMORY.md:14 "),
    (
        ("edit-section", "Employer", "--body", "- works at Linear"),
        "changed MEMORY.md: Memory > Work > Employer ",
    ),
    (
        ("edit-section", "Employer", "--append", "- since May"),
        "appended to MEMORY.md: Memory > Work > Employer ",
    ),
    (
        ("edit-section", "Employer", "--prepend", "- since May"),
        "prepended to MEMORY.md: Memory > Work > Employer ",
    ),
    (
        ("edit-section", "Employer", "--replace", "Stripe", "--with", "Linear"),
        "changed MEMORY.md: Memory > Work > Employer ",
    ),
    (
        ("edit-section", "Employer", "--rename", "Company"),
        "renamed MEMORY.md: Memory > Work > Company ",
    ),
    (("edit-section", "Work", "--delete", "--subtree"), "deleted MEMORY.md: Memory > Work "),
    (
        ("edit-section", "Work > Hours", "--body", "- nine to five", "--create"),
        "created MEMORY.md: Memory > Work > Hours ",
    ),
    (("edit-section", "--preamble", "--body", "For people."), "changed MEMORY.md "),
    (
        (
            "edit-section",
            "--preamble",
            "--file",
            "memory/house.md",
            "--create",
            "--append",
            "- red",
        ),
        "appended to memory/house.md ",
    ),
    (
        ("edit-section", "House", "--file", "memory/house.md", "--create", "--body", "- red"),
        "created memory/house.md: House ",
    ),
]
"""Calls in the workspace of `commandline.Shell`, and how the answer of each begins."""
