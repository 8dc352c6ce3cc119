"""The command line in Typer, made from the signatures of the commands, and its help."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Annotated, Any, cast, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from mdmem import __version__
from mdmem.cli import commands, guesses, options, terminal
from mdmem.cli.commands import COMMANDS, Answer
from mdmem.cli.fast_parser import OPTIONAL_VALUES, Call, texts_last, with_values
from mdmem.cli.parameter_table import TABLE
from mdmem.model.errors import LISTED, UsageProblem, number_of

WIDEST = 100  # columns


def width() -> int:
    return max(20, min(WIDEST, shutil.get_terminal_size().columns) - 1)


class CommandHelp(TyperCommand):
    """A command whose help shows no Python types, and ends in its example."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
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
        words = list(args)
        flags, _ = parameter_names(self)
        rest = super().parse_args(
            ctx, with_values(args) if OPTIONAL_VALUES.keys() & flags else args
        )
        if rest and not ctx.resilient_parsing:
            raise UsageProblem(_unexpected(self, rest), guesses.meant_call(ctx.command_path, words))
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {
            title: [] for title in ("Arguments", "Options", options.FOR_AGENTS)
        }
        parameters: list[Any] = self.get_params(ctx)
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is not None and parameter.param_type_name == "argument":
                sections["Arguments"].append((_argument(parameter), parameter.help or ""))
            elif record is not None:
                sections[parameter.rich_help_panel or "Options"].append(record)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
        with formatter.section("Example"):
            example = COMMANDS[ctx.command_path.partition(" ")[2]].example
            example = f"{' ' * formatter.current_indent}{example}"
            formatter.write(f"{terminal.fitted_to(example, formatter.width)}\n")


def parameter_names(command: Any) -> tuple[Sequence[str], Sequence[str]]:
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
    is_secret = "TEXT" in parameter_names(command)[1] or len(rest) > 1
    number = number_of(len(rest), "unexpected argument")
    return number if is_secret else f"unexpected argument {rest[0]!r}"


def _argument(parameter: Any) -> str:
    name = f"{parameter.metavar}{'…' if parameter.nargs == -1 else ''}"
    return name if parameter.required else f"[{name}]"


class GroupHelp(TyperGroup):
    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", "COMMAND", "…"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """A group alone means its `status`, if it has one."""
        is_alone = all(word[:1] == "-" and word not in ("-h", "--help") for word in args)
        if is_alone and ctx.parent is not None and "status" in self.commands:
            args = [*args, "status"]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Raises UsageProblem for an unknown word; the hint names the command that may be meant."""
        word = args[0]
        if word in self.commands or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        group = "" if ctx.parent is None else str(ctx.info_name)
        raise UsageProblem(f"no such command {word!r}", guesses.meant_command(args, group))

    def _by_heading(self, is_root: bool) -> Mapping[str, Sequence[str]]:
        if not is_root:
            return {"Commands": tuple(self.commands)}
        found: dict[str, list[str]] = {}
        for name, entry in COMMANDS.items():
            if name not in LISTED and entry.heading != commands.PLUMBING:
                found.setdefault(entry.heading, []).append(name.split()[0])
        return {heading: tuple(dict.fromkeys(names)) for heading, names in found.items()}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
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
                " follow the command. What hosts and scripts call: mdmem help plumbing"
            )


_Workspace = Annotated[
    str | None,
    typer.Option(
        "-C",
        metavar="DIR",
        help=(
            "The workspace. [default: MDMEM_WORKSPACE, else the nearest one in this folder or"
            " above]"
        ),
    ),
]
_RetiredTo = Annotated[str | None, typer.Option("--to", metavar="ID", hidden=True, help="Ignored.")]
"""The proposal that a part goes to, in scripts for version 0.2: an actor has one now."""
_Quiet = Annotated[bool, typer.Option("-q", help="Print only the result or the error.")]
# a library's messages about numbers, in plain words
_NUMBERS = {
    "Input should be a valid number, unable to parse string as a number": "it takes a number",
    "Input should be a valid integer, unable to parse string as an integer": (
        "it takes a whole number"
    ),
}


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"mdmem {__version__}")
        raise typer.Exit


def _before(
    context: typer.Context,
    workspace: _Workspace = None,
    quiet: _Quiet = False,
    as_json: options.Json = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    context.obj = (workspace, quiet, as_json)


def _between(
    context: typer.Context,
    workspace: _Workspace = None,
    quiet: _Quiet = False,
    as_json: options.Json = False,
) -> None:
    context.obj = _merged(context.obj, workspace, quiet, as_json)


def _merged(
    before: tuple[str | None, bool, bool], workspace: str | None, quiet: bool, as_json: bool
) -> tuple[str | None, bool, bool]:
    """The common options from two positions; of two workspaces the later one."""
    return before[0] if workspace is None else workspace, before[1] or quiet, before[2] or as_json


def _parser(name: str, function: Callable[..., Answer]) -> Callable[..., Call]:
    def parsed(
        context: typer.Context,
        workspace: str | None,
        quiet: bool,
        to: str | None = None,
        **values: Any,
    ) -> Call:
        workspace, quiet, as_json = _merged(context.obj, workspace, quiet, values["as_json"])
        return Call(
            command=name, workspace=workspace, quiet=quiet, values={**values, "as_json": as_json}
        )

    types = get_type_hints(
        function, {**vars(options), **function.__globals__, "typer": typer}, include_extras=True
    )
    call, *parameters = inspect.signature(function).parameters.values()
    context = call.replace(name="context", annotation=typer.Context)
    taken = [own for parameter in parameters for own in _options(parameter, types[parameter.name])]
    if {"propose", "again"} <= types.keys():
        taken.append(
            inspect.Parameter("to", call.KEYWORD_ONLY, default=None, annotation=_RetiredTo)
        )
    # `inspect`, and so Typer, prefers this signature to the one in the source; mypy knows no such
    # attribute.
    cast("Any", parsed).__signature__ = inspect.Signature([context, *taken, *_common_parameters()])
    return parsed


def _common_parameters() -> Iterable[inspect.Parameter]:
    """The common options that every command takes too; its help leaves them out."""
    for parameter in list(inspect.signature(_between).parameters.values())[1:3]:
        annotation = get_type_hints(_between, include_extras=True)[parameter.name]
        kind, option = get_args(annotation)
        hidden = copy(option)
        hidden.hidden = True
        yield parameter.replace(annotation=Annotated[kind, hidden], kind=parameter.KEYWORD_ONLY)


def _options(parameter: inspect.Parameter, annotation: Any) -> Iterable[inspect.Parameter]:
    """The parameter itself, or those that `**shared` is short for."""
    if parameter.kind is not parameter.VAR_KEYWORD:
        return [parameter.replace(annotation=annotation)]
    _, shared = get_args(annotation)
    return [
        own
        for each in inspect.signature(shared).parameters.values()
        for own in _options(each, each.annotation)
    ]


def _build() -> typer.Typer:
    root = typer.Typer(
        name="mdmem",
        help="An agent's long-term memory in Markdown files, with git as its history.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        cls=GroupHelp,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback()(_before)
    groups = {
        name: typer.Typer(help=about, rich_markup_mode=None, callback=_between, cls=GroupHelp)
        for name, about in commands.GROUPS.items()
    }
    for name in COMMANDS:
        function = commands.command(name)
        group, _, word = name.rpartition(" ")
        (groups[group] if group else root).command(
            word, help=function.__doc__, cls=CommandHelp, hidden=name in LISTED
        )(_parser(name, function))
    for name, typed in groups.items():
        root.add_typer(typed, name=name)
    return root


app = _build()


def parse(words: Sequence[str]) -> Call | None:
    """The call; None if help, the version or completions were printed. Raises UsageProblem."""
    try:
        with get_command(app).make_context(
            "mdmem", texts_last(words, TABLE) or ["--help"], terminal_width=width()
        ) as context:
            call: Call = context.command.invoke(context)
            return call
    except SystemExit:  # of Typer, when it has printed or installed completion
        return None
    except typer.Exit as end:
        if end.exit_code:
            raise UsageProblem(
                "completion supports bash, zsh and fish", "Run it in one of these shells."
            ) from end
        return None
    except typer.TyperException as problem:
        raise _usage_problem(problem, words) from problem


def help_text(words: Sequence[str]) -> str:
    command: Any = get_command(app)
    context = command.context_class(
        command, info_name="mdmem", terminal_width=width(), **command.context_settings
    )
    for word in words:
        command = command.commands[word]
        context = command.context_class(command, info_name=word, parent=context)
    return str(command.get_help(context))


def complete() -> int:
    """Answer a shell that asks for completions; the words are in the environment."""
    try:
        get_command(app).main([], prog_name="mdmem")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _usage_problem(problem: typer.TyperException, words: Sequence[str]) -> UsageProblem:
    message = problem.format_message().removesuffix(".").replace("Value error, ", "")
    for technical, plain in _NUMBERS.items():
        message = message.replace(technical, plain)
    context: Any = getattr(problem, "ctx", None)
    command = next((word for word in words if word in COMMANDS), "")
    path = context.command_path if context else f"{app.info.name} {command}".rstrip()
    see = f"see {path} --help"
    hint = f"S{see[1:]}"
    option = getattr(problem, "option_name", "")
    if option and (
        " " in option
        or any(word.startswith(option) and len(word) > 2 for word in words if word[1:2] != "-")
    ):
        hint += "; put a text that begins with a dash after --, or on standard input"
    elif hasattr(problem, "possibilities"):  # no such option
        message = problem.message
        rest = [word for word in words if word != command] if command else words
        typed = f"mdmem {command}" if command else path
        hint = guesses.ELSEWHERE.get(option) or guesses.meant_call(typed, rest)
    elif message == "Missing command" and context.parent is not None:
        hint = f"Use one of {', '.join(context.command.commands)}. {hint}"
    elif message.startswith("Missing ") and (name := path.partition(" ")[2]) in COMMANDS:
        return commands.missing(message.removeprefix("Missing "), name)
    return UsageProblem(message[:1].lower() + message[1:], hint)
