"""The table of commands, each with its module, loaded when it is called; what all of them need.

A command's signature is its definition for Typer: `app` builds the command line from it, and
`parameter_table` is generated from that. `fast_parser` does not evaluate signatures.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from mdmem.cli.fast_parser import Call
from mdmem.cli.parameter_table import TABLE
from mdmem.cli.terminal import count, say
from mdmem.folder import trust
from mdmem.memory import Memory
from mdmem.model import MAX_FILE_BYTES
from mdmem.model.errors import TextProblem, UsageProblem, field
from mdmem.model.rules import require_range
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Progress


class CommandEntry(NamedTuple):
    """A command: its module and function, the heading of the help that lists it, an example.

    Those of `LISTED` go on working, but the help lists the call there.
    """

    module: str
    function: str
    heading: str
    example: str


READING = ("Read", "Look back")  # the headings of commands that only read
PLUMBING = "Plumbing"  # the heading of what hosts, git and scripts call: mdmem help plumbing


# in the order of the help
COMMANDS: Mapping[str, CommandEntry] = {
    "setup": CommandEntry("setup", "setup", "Begin", "mdmem setup"),
    "init": CommandEntry("maintenance", "init", "Begin", "mdmem init ~/notes"),
    "import": CommandEntry("pipelines", "import_", "Begin", "mdmem import ~/Downloads/chatgpt.zip"),
    "status": CommandEntry("maintenance", "status", "Begin", "mdmem status"),
    "help": CommandEntry("manual", "help_", "Begin", "mdmem help errors"),
    "log": CommandEntry(
        "writing",
        "log",
        "Write",
        'mdmem log --fact "the staging server moved to Frankfurt" --tag ops',
    ),
    "remember": CommandEntry(
        "writing", "remember", "Write", 'mdmem remember "porridge and coffee" --key breakfast'
    ),
    "edit-section": CommandEntry(
        "writing",
        "edit_section",
        "Write",
        'mdmem edit-section Projects --append "- order the timber"',
    ),
    "edit": CommandEntry(
        "writing", "edit_section", "Write", 'mdmem edit Projects --append "- order the timber"'
    ),
    "forget": CommandEntry("writing", "forget", "Write", 'mdmem forget "likes dark rooms"'),
    "revert": CommandEntry("writing", "revert", "Write", "mdmem revert 682e31f35c --dry-run"),
    "save": CommandEntry("writing", "save", "Write", 'mdmem save -m "where the key is"'),
    "task start": CommandEntry(
        "tasks",
        "task_start",
        "Write",
        'mdmem task start "Move the sessions" "sessions live in Redis"',
    ),
    "task note": CommandEntry(
        "tasks",
        "task_note",
        "Write",
        'mdmem task note "Move the sessions" "the migration is written"',
    ),
    "task done": CommandEntry(
        "tasks",
        "task_done",
        "Write",
        'mdmem task done "Move the sessions" "moved, and twice as fast"',
    ),
    "task show": CommandEntry("tasks", "task_show", "Write", 'mdmem task show "Move the sessions"'),
    "search": CommandEntry(
        "searching",
        "search",
        "Read",
        'mdmem search "where is the staging server" --since "last month"',
    ),
    "show": CommandEntry("reading", "show_", "Read", "mdmem show MEMORY.md Preferences"),
    "outline": CommandEntry("reading", "outline", "Read", "mdmem outline memory/house.md"),
    "facts": CommandEntry("searching", "facts", "Read", "mdmem facts --kind decision"),
    "recall": CommandEntry("searching", "recall", "Read", "mdmem recall --tag ops --tag deploy"),
    "tags": CommandEntry("searching", "tags", "Read", "mdmem tags"),
    "fleet status": CommandEntry("fleets", "fleet_status", PLUMBING, "mdmem fleet"),
    "fleet index": CommandEntry("fleets", "fleet_index", PLUMBING, "mdmem fleet index"),
    "fleet search": CommandEntry(
        "fleets", "fleet_search", PLUMBING, 'mdmem fleet search "who runs the staging server"'
    ),
    "fleet purge": CommandEntry("fleets", "fleet_purge", PLUMBING, "mdmem fleet purge"),
    "context": CommandEntry(
        "hosting", "context", "Brief an agent", 'mdmem context "where is the staging server"'
    ),
    "sessions": CommandEntry(
        "pipelines", "sessions", "Brief an agent", "mdmem sessions claude/5a1e0000#214"
    ),
    "digest": CommandEntry(
        "pipelines",
        "digest",
        "Brief an agent",
        "mdmem digest ~/.claude/projects/-home-ada-notes/5a1e.jsonl",
    ),
    "dream": CommandEntry("pipelines", "dream", "Brief an agent", "mdmem dream --dry-run"),
    "flush": CommandEntry(
        "hosting",
        "flush",
        PLUMBING,
        "mdmem flush --transcript session.jsonl --window 200000",
    ),
    "mcp": CommandEntry("hosting", "mcp", PLUMBING, "mdmem -C ~/notes mcp"),
    "memory-tool": CommandEntry(
        "hosting", "memory_tool", PLUMBING, "mdmem memory-tool < commands.jsonl"
    ),
    "plugin": CommandEntry("maintenance", "plugin", PLUMBING, "mdmem plugin"),
    "agent-hook": CommandEntry("hosting", "agent_hook", PLUMBING, "mdmem agent-hook < event.json"),
    "review": CommandEntry("deciding", "review", "Decide", "mdmem review"),
    "proposals": CommandEntry("deciding", "proposals", "Decide", "mdmem proposals 5f2c0a11"),
    "accept": CommandEntry("deciding", "accept", "Decide", "mdmem accept 1 4-9"),
    "reject": CommandEntry(
        "deciding", "reject", "Decide", 'mdmem reject 1b --reason "only a trial"'
    ),
    "propose": CommandEntry(
        "deciding", "propose", PLUMBING, 'mdmem propose kitchen -m "what the fitter said"'
    ),
    "page": CommandEntry("hosting", "page", "Decide", "mdmem page --open"),
    "history": CommandEntry("reading", "history", "Look back", "mdmem history Preferences -p"),
    "changes": CommandEntry("reading", "changes", "Look back", "mdmem changes --since yesterday"),
    "blame": CommandEntry("reading", "blame", "Look back", "mdmem blame Preferences"),
    "when": CommandEntry("reading", "when", "Look back", 'mdmem when "black tea"'),
    "conflicts": CommandEntry(
        "deciding", "conflicts", "Tidy", "mdmem conflicts --resolve 75d0be72 5ddd57db"
    ),
    "contradicts": CommandEntry(
        "deciding",
        "contradicts",
        PLUMBING,
        'mdmem contradicts 75d0be72 5ddd57db --reason "one of them is out of date"',
    ),
    "check": CommandEntry("maintenance", "check_", "Tidy", "mdmem check MEMORY.md"),
    "redact": CommandEntry("maintenance", "redact", PLUMBING, "mdmem redact < transcript.txt"),
    "sync": CommandEntry("maintenance", "sync", "Maintain", "mdmem sync --dry-run"),
    "doctor": CommandEntry("maintenance", "doctor", "Maintain", "mdmem doctor --fix"),
    "reindex": CommandEntry("maintenance", "reindex", PLUMBING, "mdmem reindex --full"),
    "hooks install": CommandEntry("maintenance", "hooks_install", PLUMBING, "mdmem hooks install"),
    "hooks uninstall": CommandEntry(
        "maintenance", "hooks_uninstall", PLUMBING, "mdmem hooks uninstall"
    ),
    "hooks status": CommandEntry("maintenance", "hooks_status", PLUMBING, "mdmem hooks status"),
    "server status": CommandEntry("hosting", "server_status", PLUMBING, "mdmem server status"),
    "server stop": CommandEntry("hosting", "server_stop", PLUMBING, "mdmem server stop"),
    "merge-driver": CommandEntry(
        "maintenance",
        "merge_driver",
        PLUMBING,
        "mdmem merge-driver base.md ours.md theirs.md MEMORY.md",
    ),
    "run": CommandEntry("pipelines", "run", "Maintain", "mdmem run --quiet"),
    "schedule": CommandEntry(
        "pipelines", "schedule", "Maintain", "mdmem schedule systemd --install"
    ),
    "stats": CommandEntry("tasks", "stats", "Maintain", "mdmem stats search"),
    "trends": CommandEntry("tasks", "trends", "Maintain", "mdmem trends ~/notes --weeks 26"),
}

# the help of each group, by its first word
GROUPS = {
    "task": (
        "Keep notes on an agent's task until it is done.\n\nWith them an agent can continue after"
        " an interruption."
    ),
    "fleet": ("Search all workspaces of an organisation.\n\nAlone, it says what the fleet holds."),
    "hooks": (
        "Install, remove or inspect the git hooks.\n\nThey check what is committed and keep the"
        " index up to date."
    ),
    "server": "Look at the server that speeds up commands, or stop it.",
}


def missing(what: str, name: str) -> UsageProblem:
    """The failure of a call of a command without what it needs.

    An example is for reading alone: pasted, that of another verb would write or decide.
    """
    entry = COMMANDS[name]
    manual = f"mdmem {name} --help"
    is_reading = entry.heading in READING
    hint = f"Example: {entry.example} (see {manual})" if is_reading else f"See {manual}"
    if entry.heading == "Write":
        hint += "; what is there: mdmem facts; what was done: mdmem history"
    return UsageProblem(f"missing {what}", hint)


def ask(call: Call, name: str, *taken: str, **values: Any) -> Answer:
    """Answer as the command `name`, for an option that has taken its place, with its `values`.

    Raises UsageProblem for what the call has besides that the other command does not take.
    """
    defaults = {row[0]: row[3] for row in TABLE[name]}
    given = {
        row[0]: call.values[row[0]]
        for row in TABLE[call.command]
        if call.values[row[0]] != row[3] and row[0] not in taken
    }
    for each in given:
        if each in values or each not in defaults:
            raise UsageProblem(f"{field(taken[0])} and {field(each)} exclude each other")
    asked = replace(call, command=name, values={**defaults, **given, **values})
    return command(name)(asked, **asked.values)


def command(name: str) -> Callable[..., Answer]:
    entry = COMMANDS[name]
    loaded: Callable[..., Answer] = getattr(
        import_module(f"mdmem.cli.{entry.module}"), entry.function
    )
    return loaded


# Answers, and what else commands have in common.


@dataclass(frozen=True, slots=True)
class Answer:
    """An object for programs, text for people, notes for standard error, and the exit status."""

    data: object
    text: str
    notes: Sequence[str] = ()
    status: int = 0


def first_rows(result: Any, name: str, limit: int) -> tuple[Any, tuple[str, ...]]:
    """A result with so many rows of its list `name` (0: all), and a note if there are more."""
    require_range("limit", limit, 0, sys.maxsize)
    rows = getattr(result, name)
    if len(rows) <= (limit or len(rows)):
        return result, ()
    first = replace(result, **{name: rows[:limit]})
    return first, (f"{limit:,} of {len(rows):,} (all: {field('limit')} 0)",)


def open_memory(call: Call, any_settings: bool = False) -> Memory:
    """Open the memory that a call is for; messages while it works are for people only."""
    named = Path(call.workspace) if call.workspace else None
    added, is_alone = call.values.get("added"), call.values.get("alone")
    if added and is_alone:
        raise UsageProblem("--with and --alone exclude each other")
    if trust.host_of(os.environ):
        hosts = import_module("mdmem.memory.hosts")
        hosts.require_adopted_in_shell(named, added or (), os.environ)
    memory = (
        Memory.open(named, os.environ, any_settings=any_settings)
        if call.as_json or call.quiet
        else Memory.open(named, os.environ, say, progress(call), any_settings=any_settings)
    )
    return memory.reading_with(None if is_alone else added) if added or is_alone else memory


def progress(call: Call) -> Progress | None:
    """The counter that shows progress; None where no person looks on."""
    return count if sys.stderr.isatty() and not (call.as_json or call.quiet) else None


def read_argument(text: str) -> str:
    if text != "-":
        return text
    data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise TextProblem(
            "bad-text", f"standard input has more than {MAX_FILE_BYTES:,} bytes", "Split it."
        )
    return data.decode("utf-8", "surrogateescape")


def use_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def use_blocks() -> bool:
    named = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next(filter(None, named), "").casefold().replace("-", "")
    return "utf8" in locale and not os.environ.get("NO_COLOR")
