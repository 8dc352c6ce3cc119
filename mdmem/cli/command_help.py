"""The help of commands: in groups, each with an example, no wider than the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from mdmem.cli import guesses, terminal
from mdmem.cli.commands import COMMANDS
from mdmem.cli.parameters import OPTIONAL_VALUES, with_values
from mdmem.errors import UsageProblem
from mdmem.wording import number_of

WIDEST = 100  # columns


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
            example = COMMANDS[ctx.command_path.partition(" ")[2]].example
            example = f"{' ' * formatter.current_indent}{example}"
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
        return f"{guesses.WORDS_TOO_MANY[command.name]} See {path} --help"
    _, arguments = parameters(command)
    if not arguments:
        return "It takes no arguments"
    return f"It takes {' '.join(arguments)}; quote text that has spaces. See {path} --help"


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
        use = f"Did you mean {meant}?" if meant.startswith("mdmem ") else meant
        raise UsageProblem(
            f"no such command {word!r}", use or f"All commands: {ctx.command_path} --help"
        )

    def _by_heading(self, is_root: bool) -> Mapping[str, Sequence[str]]:
        if not is_root:
            return {"Commands": tuple(self.commands)}
        found: dict[str, list[str]] = {}
        for name, entry in COMMANDS.items():
            found.setdefault(entry.heading, []).append(name.split()[0])
        return {heading: tuple(dict.fromkeys(names)) for heading, names in found.items()}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands, each with the first line of its help."""
        is_root = ctx.parent is None
        for heading, names in self._by_heading(is_root).items():
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
