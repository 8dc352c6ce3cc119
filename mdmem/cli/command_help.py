"""The help of commands: in groups, each with an example, no wider than the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from mdmem.cli import guesses, terminal
from mdmem.cli.parameters import OPTIONAL_VALUES, with_values
from mdmem.errors import UsageProblem
from mdmem.wording import number_of

WIDEST = 100  # columns

HEADINGS: Mapping[str, Sequence[str]] = {
    "Begin": ("init", "status", "help"),
    "Write": ("log", "remember", "edit-section", "forget", "revert", "save", "task"),
    "Read": ("search", "show", "outline", "facts", "recall", "tags"),
    "Brief an agent": (
        "context",
        "sessions",
        "digest",
        "dream",
        "flush",
        "mcp",
        "memory-tool",
        "plugin",
        "agent-hook",
    ),
    "Decide": ("proposals", "accept", "reject", "propose"),
    "Look back": ("history", "changes", "blame", "when"),
    "Tidy": ("review", "conflicts", "contradicts", "check", "redact"),
    "Look after": ("doctor", "reindex", "hooks", "merge-driver", "run", "schedule", "stats"),
}

EXAMPLES: Mapping[str, str] = {
    "init": "mdmem init ~/notes",
    "edit-section": 'mdmem edit-section Projects --append "- order the timber"',
    "log": 'mdmem log --fact "the staging server moved to Frankfurt" --tag ops',
    "remember": 'mdmem remember "porridge and coffee" --key breakfast',
    "forget": 'mdmem forget "likes dark rooms"',
    "show": "mdmem show MEMORY.md Preferences",
    "outline": "mdmem outline memory/house.md",
    "search": 'mdmem search "where is the staging server" --since "last month"',
    "context": 'mdmem context "where is the staging server"',
    "facts": "mdmem facts --kind decision",
    "recall": "mdmem recall --tag ops --tag deploy",
    "tags": "mdmem tags",
    "history": "mdmem history Preferences -p",
    "blame": "mdmem blame Preferences",
    "when": 'mdmem when "black tea"',
    "changes": "mdmem changes --since yesterday",
    "revert": "mdmem revert 682e31f35c --dry-run",
    "contradicts": 'mdmem contradicts 75d0be72 5ddd57db --reason "one of them is out of date"',
    "conflicts": "mdmem conflicts --resolve 75d0be72 5ddd57db",
    "proposals": "mdmem proposals 5f2c0a11",
    "accept": "mdmem accept 5f2c0a11 75d0be72",
    "propose": 'mdmem propose kitchen -m "what the fitter said"',
    "reject": 'mdmem reject 5f2c0a11 75d0be72 --reason "only a trial"',
    "task start": 'mdmem task start "Move the sessions" "sessions live in Redis"',
    "task note": 'mdmem task note "Move the sessions" "the migration is written"',
    "task done": 'mdmem task done "Move the sessions" "moved, and twice as fast"',
    "task show": 'mdmem task show "Move the sessions"',
    "sessions": "mdmem sessions claude/5a1e0000#214",
    "dream": "mdmem dream --dry-run",
    "digest": "mdmem digest ~/.claude/projects/-home-ada-notes/5a1e.jsonl",
    "run": "mdmem run --quiet",
    "schedule": "mdmem schedule systemd --install",
    "flush": "mdmem flush --transcript session.jsonl --window 200000",
    "mcp": "mdmem -C ~/notes mcp",
    "memory-tool": "mdmem memory-tool < commands.jsonl",
    "agent-hook": "mdmem agent-hook < event.json",
    "plugin": "mdmem plugin",
    "review": "mdmem review --apply",
    "save": 'mdmem save -m "where the key is"',
    "check": "mdmem check MEMORY.md",
    "redact": "mdmem redact < transcript.txt",
    "status": "mdmem status",
    "doctor": "mdmem doctor --fix",
    "stats": "mdmem stats search",
    "reindex": "mdmem reindex --full",
    "help": "mdmem help errors",
    "merge-driver": "mdmem merge-driver base.md ours.md theirs.md MEMORY.md",
    "hooks install": "mdmem hooks install",
    "hooks uninstall": "mdmem hooks uninstall",
    "hooks status": "mdmem hooks status",
}


def width() -> int:
    """The columns that help may take."""
    return max(20, min(WIDEST, shutil.get_terminal_size().columns) - 1)


class CommandHelp(TyperCommand):
    """A command whose help shows no Python types, and ends in its example."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The arguments, then the options, as they are typed."""
        return [
            *(
                _argument(parameter)
                for parameter in self.params
                if parameter.param_type_name == "argument"
            ),
            "[OPTIONS]",
        ]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises UsageProblem for too many words; it quotes none behind a text (maybe a secret)."""
        ctx.allow_extra_args = True
        flags, _ = parameters(self)
        rest = super().parse_args(
            ctx, with_values(args) if OPTIONAL_VALUES.keys() & flags else args
        )
        if rest and not ctx.resilient_parsing:
            raise UsageProblem(_unexpected(self, rest), _argument_hint(self, ctx.command_path))
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments by their names, options, the example."""
        records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        parameters: list[Any] = self.get_params(ctx)
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                records[parameter.param_type_name].append(
                    (_argument(parameter), parameter.help or "") if is_argument else record
                )
        for title, rows in (("Arguments", records["argument"]), ("Options", records["option"])):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
        with formatter.section("Example"):
            example = (
                f"{' ' * formatter.current_indent}{EXAMPLES[ctx.command_path.partition(' ')[2]]}"
            )
            formatter.write(f"{terminal.fitted(example, formatter.width)}\n")


def parameters(command: Any) -> tuple[Sequence[str], Sequence[str]]:
    """The flags of a command, and the names of its arguments."""
    flags = [
        flag
        for parameter in command.params
        if parameter.param_type_name == "option"
        for flag in parameter.opts
    ]
    return flags, [
        str(parameter.metavar)
        for parameter in command.params
        if parameter.param_type_name == "argument"
    ]


def _unexpected(command: Any, rest: Sequence[str]) -> str:
    _, arguments = parameters(command)
    if "TEXT" in arguments or len(rest) > 1:
        return number_of(len(rest), "unexpected argument")
    return f"unexpected argument {rest[0]!r}"


def _argument_hint(command: Any, path: str) -> str:
    if command.name in guesses.WORDS_TOO_MANY:
        return f"{guesses.WORDS_TOO_MANY[command.name]} {path} --help"
    _, arguments = parameters(command)
    if not arguments:
        return "It takes no arguments"
    return f"It takes {' '.join(arguments)}; quote text that has spaces. {path} --help"


def _argument(parameter: Any) -> str:
    name = f"{parameter.metavar}{'…' if parameter.nargs == -1 else ''}"
    return name if parameter.required else f"[{name}]"


class GroupHelp(TyperGroup):
    """A group of commands, under headings where there are many."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """A command, and its own words."""
        return ["[OPTIONS]", "COMMAND", "…"]

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Raises UsageProblem for an unknown word; the hint names the command that may be meant."""
        word = args[0]
        if word in self.commands or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        group = "" if ctx.parent is None else str(ctx.info_name)
        meant = guesses.meant_command(word, self.commands, group)
        use = f"Use: {meant}" if meant.startswith("mdmem ") else meant
        raise UsageProblem(
            f"no such command {word!r}", use or f"All commands: {ctx.command_path} --help"
        )

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands, each with the first line of its help."""
        is_root = ctx.parent is None
        for heading, names in (HEADINGS if is_root else {"Commands": tuple(self.commands)}).items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(name, str(self.commands[name].help).splitlines()[0]) for name in names],
                    col_max=14,
                )
        if is_root:
            formatter.write_paragraph()
            formatter.write_text(
                "For details and an example: mdmem COMMAND --help. -C, -q and --json may also"
                " follow the command."
            )
