"""Write docs/commands.md from the command line itself: `make docs`. A test holds that the page is
current.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from mdmem.cli.app import app
from mdmem.cli.commands import COMMANDS, PLUMBING
from mdmem.cli.terminal import command_line
from mdmem.model.errors import LISTED

PAGE = Path(__file__).parents[1] / "commands.md"
HEAD = """\
# Commands

This page is made by `make docs` from the command line itself; `mdmem COMMAND --help` says the same. The words are explained in the
[glossary](glossary.md), errors in [errors](errors.md).

Results go to standard output, everything else to standard error. `--json` prints one object; a failure is then one object on standard
error. The exit status is 0 (done, even without a match), 1 (an expected failure), 2 (wrong usage), 3 (a bug in mdmem) or 130
(interrupted). `-` is standard input in `--body`, `--append`, `--prepend`, `--replace`, `--with` and the TEXT of `log` and `remember`.

On a terminal, lines fit its width, and output longer than the screen goes through `$MDMEM_PAGER`, `$PAGER` or `less` (`cat` or nothing:
none). `NO_COLOR` switches the colours off. A pipe gets plain text.
"""


def page() -> str:
    """The whole page."""
    root = get_command(app)
    return "\n".join(
        [
            HEAD,
            "## Before or after the command",
            "",
            *table(root),
            *(line for part in sections(root) for line in part),
            *other_names(),
        ]
    )


def sections(root: Any) -> Iterator[list[str]]:
    """Each command's part of the page, those of the plumbing last."""
    for is_plumbing in (False, True):
        if is_plumbing:
            about_it = "What hosts, git and scripts call ([plumbing](plumbing.md))."
            yield ["# Plumbing", "", about_it, ""]
        for words, command in commands(root):
            name = words.partition(" ")[2]
            if name not in LISTED and (COMMANDS[name].heading == PLUMBING) == is_plumbing:
                yield about(words, command)


def other_names() -> Iterator[str]:
    """The names that have become options, with the calls that are listed in their place."""
    yield from ("# Other names", "", "They go on working, with their options.", "")
    yield from ("| | |", "|---|---|")
    yield from (f"| `mdmem {name}` | `{command_line(name)}` |" for name in LISTED)
    yield ""


def commands(group: Any, prefix: str = "mdmem") -> Iterator[tuple[str, Any]]:
    """Every command by the words that it is called with, in the order of the help."""
    for name, command in group.commands.items():
        words = f"{prefix} {name}"
        yield from commands(command, words) if hasattr(command, "commands") else [(words, command)]


def about(words: str, command: Any) -> list[str]:
    """One command's part of the page."""
    example = COMMANDS[words.partition(" ")[2]].example
    return [
        f"## {words}",
        "",
        f"    {usage(words, command)}",
        "",
        command.help,
        "",
        f"Example: `{example}`",
        "",
        *table(command),
    ]


def usage(words: str, command: Any) -> str:
    """The line that shows how a command is called."""
    arguments = (p for p in command.params if p.param_type_name == "argument")
    shown = (
        (
            f"{p.metavar}{'…' if p.nargs == -1 else ''}"
            if p.required
            else f"[{p.metavar}{'…' if p.nargs == -1 else ''}]"
        )
        for p in arguments
    )
    return " ".join([words, *shown, "[OPTIONS]"])


def table(command: Any) -> list[str]:
    """The arguments and options of a command."""
    rows: dict[str, list[str]] = {}
    for p in command.params:
        if not p.hidden:
            panel = getattr(p, "rich_help_panel", None) or ""
            rows.setdefault(panel, []).append(f"| `{name(p)}` | {described(p)} |")
    tables = [[f"| {panel} | |", "|---|---|", *rows[panel], ""] for panel in sorted(rows)]
    return [line.replace("|  |", "| |") for each in tables for line in each]


def name(parameter: Any) -> str:
    """A parameter as it is typed."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    return " ".join([*parameter.opts, *([] if parameter.is_flag else [parameter.metavar or "?"])])


def described(parameter: Any) -> str:
    """The purpose of a parameter, and its default where the words do not say it."""
    words = str(parameter.help).replace("|", "\\|")
    default = parameter.default
    if default in (None, False) or "[default" in words:
        return words
    return f"{words} [default: {default}]"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
