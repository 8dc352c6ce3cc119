"""The command line in Typer, made from the signatures of the commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Annotated, Any, cast, get_args, get_type_hints

import typer
from typer.main import get_command

from mdmem import __version__
from mdmem.cli import command_help, commands, guesses, options
from mdmem.cli.call import Answer, Call
from mdmem.cli.parameter_table import TABLE
from mdmem.cli.parameters import texts_last
from mdmem.errors import UsageProblem

_Workspace = Annotated[
    str | None,
    typer.Option(
        "-C",
        metavar="DIR",
        help="The workspace. [default: the nearest one in this folder or above]",
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
    """A function for Typer that takes the options of a command and returns its call."""

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
        cls=command_help.GroupHelp,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback()(_before)
    groups = {
        name: typer.Typer(
            help=about, rich_markup_mode=None, callback=_between, cls=command_help.GroupHelp
        )
        for name, about in commands.GROUPS.items()
    }
    for name in commands.COMMANDS:
        function = commands.command(name)
        group, _, word = name.rpartition(" ")
        (groups[group] if group else root).command(
            word, help=function.__doc__, cls=command_help.CommandHelp
        )(_parser(name, function))
    for name, typed in groups.items():
        root.add_typer(typed, name=name)
    return root


app = _build()


def parse(words: Sequence[str]) -> Call | None:
    """The call; None if help, the version or completions were printed. Raises UsageProblem."""
    try:
        with get_command(app).make_context(
            "mdmem", texts_last(words, TABLE) or ["--help"], terminal_width=command_help.width()
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
    """The help of a command or a group."""
    command: Any = get_command(app)
    context = command.context_class(
        command, info_name="mdmem", terminal_width=command_help.width(), **command.context_settings
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
    command = next((word for word in words if word in commands.COMMANDS), "")
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
        meant = guesses.meant_option(path, option, *command_help.parameters(context.command))
        hint = meant or hint
    elif message == "Missing command" and context.parent is not None:
        hint = f"Use one of {', '.join(context.command.commands)}. {hint}"
    elif message.startswith("Missing ") and (
        entry := commands.COMMANDS.get(path.partition(" ")[2])
    ):
        hint = f"Example: {entry.example} ({see})"
    return UsageProblem(message[:1].lower() + message[1:], hint)
