"""The command line. `fast_parser` reads simple calls; Typer reads all others."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mdmem.cli import fast_parser, terminal
from mdmem.cli.commands import command
from mdmem.cli.parameter_table import TABLE
from mdmem.cli.terminal import fitted, in_flags, say, shown
from mdmem.model.errors import json_line, report

if TYPE_CHECKING:
    from io import TextIOWrapper

    from mdmem.cli.fast_parser import Call


_COMPLETION = "_MDMEM_COMPLETE"  # set by a shell that asks for completions; the name is Typer's

# commands that may be slow and never prompt; `init` commits, and git may ask to sign
_SLOW_COMMANDS = frozenset(
    {
        "init",
        "show",
        "outline",
        "search",
        "facts",
        "recall",
        "tags",
        "history",
        "blame",
        "when",
        "changes",
        "conflicts",
        "review",
        "check",
        "status",
        "doctor",
        "stats",
        "trends",
        "reindex",
        "digest",
        "run",
    }
)


def main(arguments: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else list(arguments)
    _open_streams()
    return report(lambda: _run(words), _wants_json(words), in_flags, fitted)


def _run(words: Sequence[str]) -> int:
    call = None if _COMPLETION in os.environ else fast_parser.parse(words, TABLE)
    if call is None:
        # 150 ms with Typer: for help, completion and calls that are not simple
        from mdmem.cli import app  # noqa: PLC0415

        if _COMPLETION in os.environ:
            return app.complete()
        if (call := app.parse(words)) is None:
            return 0
    with _progress(call):
        answer = command(call.command)(call, **call.values)
    if call.as_json and answer.data:
        # answers in text need no table of fields
        from mdmem.show.values import to_json  # noqa: PLC0415

        print(json_line(to_json(answer.data)))
        return answer.status
    if answer.text and sys.stdout.isatty():
        terminal.show(answer.text)
    elif answer.text:
        print(answer.text, flush=True)
    for note in () if call.quiet else answer.notes:
        say(note)
    return answer.status


def _progress(call: Call) -> AbstractContextManager[object]:
    """Show progress where a command may be slow and nothing else uses the terminal meanwhile."""
    commits = call.values.get("resolve") or call.values.get("apply")
    if call.as_json or call.quiet or commits or call.command not in _SLOW_COMMANDS:
        return nullcontext()
    if call.values.get("found") or call.command == "review":  # they ask, and show it before that
        return nullcontext()
    return shown(call.command, None) if call.command == "init" else shown(call.command)


def _wants_json(words: Sequence[str]) -> bool:
    return "--json" in words[: words.index("--") if "--" in words else len(words)]


def _open_streams() -> None:
    """Set the standard streams to UTF-8; those that the caller closed lead nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # open for the whole process
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # They are text files, which can be reconfigured; typeshed only knows that they can be
        # written to.
        cast("TextIOWrapper", stream).reconfigure(encoding="utf-8", errors="backslashreplace")
