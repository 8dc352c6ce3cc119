"""The table of commands, each with the module that is loaded when it is called.

A command's signature is its definition for Typer: `app` builds the command line from it, and
`parameter_table` is generated from that. `fast_parser` does not evaluate signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from mdmem.cli.call import Answer

# module and function of each, in the order of the help
COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("maintenance", "init"),
    "edit-section": ("writing", "edit_section"),
    "log": ("writing", "log"),
    "remember": ("writing", "remember"),
    "forget": ("writing", "forget"),
    "show": ("reading", "show_"),
    "outline": ("reading", "outline"),
    "search": ("searching", "search"),
    "context": ("contexts", "context"),
    "facts": ("searching", "facts"),
    "recall": ("searching", "recall"),
    "tags": ("searching", "tags"),
    "history": ("history", "history"),
    "blame": ("history", "blame"),
    "when": ("history", "when"),
    "changes": ("fact_changes", "changes"),
    "revert": ("writing", "revert"),
    "contradicts": ("contradictions", "contradicts"),
    "conflicts": ("contradictions", "conflicts"),
    "proposals": ("proposals", "proposals"),
    "accept": ("proposals", "accept"),
    "reject": ("proposals", "reject"),
    "propose": ("proposals", "propose"),
    "task start": ("tasks", "task_start"),
    "task note": ("tasks", "task_note"),
    "task done": ("tasks", "task_done"),
    "task show": ("tasks", "task_show"),
    "sessions": ("pipelines", "sessions"),
    "digest": ("pipelines", "digest"),
    "dream": ("pipelines", "dream"),
    "run": ("pipelines", "run"),
    "schedule": ("pipelines", "schedule"),
    "flush": ("contexts", "flush"),
    "mcp": ("contexts", "mcp"),
    "memory-tool": ("contexts", "memory_tool"),
    "agent-hook": ("contexts", "agent_hook"),
    "plugin": ("maintenance", "plugin"),
    "review": ("tasks", "review"),
    "save": ("writing", "save"),
    "check": ("maintenance", "check_"),
    "redact": ("maintenance", "redact"),
    "status": ("maintenance", "status"),
    "doctor": ("maintenance", "doctor"),
    "stats": ("tasks", "stats"),
    "reindex": ("maintenance", "reindex"),
    "help": ("manual", "help_"),
    "merge-driver": ("maintenance", "merge_driver"),
    "hooks install": ("maintenance", "hooks_install"),
    "hooks uninstall": ("maintenance", "hooks_uninstall"),
    "hooks status": ("maintenance", "hooks_status"),
}

# the help of each group, by its first word
GROUPS = {
    "task": (
        "Keep the notes of a task until it is done.\n\nAn agent that was interrupted goes on from"
        " them."
    ),
    "hooks": (
        "Install, remove and look at git's hooks.\n\nThey check what is committed and keep the"
        " index fresh."
    ),
}


def command(name: str) -> Callable[..., Answer]:
    """The function of a command."""
    module, function = COMMANDS[name]
    loaded: Callable[..., Answer] = getattr(import_module(f"mdmem.cli.{module}"), function)
    return loaded
