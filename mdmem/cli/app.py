"""The command line in Typer: its definition of commands and options is made from the signatures of the commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.main import get_command

from mdmem import __version__
from mdmem.cli import commands, options
from mdmem.cli.call import Answer, Call
from mdmem.errors import UsageProblem
from mdmem.model import Source


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"mdmem {__version__}")
        raise typer.Exit


def _before(
    context: typer.Context,
    workspace: Annotated[
        str | None, typer.Option("-C", metavar="DIR", help="The workspace. [default: the first from here upwards]")
    ] = None,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Take the options before the command."""
    context.obj = workspace


def _parser(name: str, function: Callable[..., Answer]) -> Callable[..., Call]:
    """A function for Typer: it takes the options of a command and returns its call, which is not carried out yet."""

    def parsed(context: typer.Context, **values: Any) -> Call:
        return Call(name, context.obj, {name: _value(value) for name, value in values.items()})

    types = get_type_hints(function, {**vars(options), **function.__globals__, "typer": typer}, include_extras=True)
    call, *parameters = inspect.signature(function).parameters.values()
    context = call.replace(name="context", annotation=typer.Context)
    taken = [own for parameter in parameters for own in _options(parameter, types[parameter.name])]
    # `inspect`, and so Typer, prefers this signature to the one in the source; mypy knows no such attribute.
    parsed.__signature__ = inspect.Signature([context, *taken])  # type: ignore[attr-defined]
    return parsed


def _value(value: Any) -> Any:
    """A value of Typer in the type that commands take."""
    return Source(value.value) if isinstance(value, options.Choice) else value


def _options(parameter: inspect.Parameter, annotation: Any) -> Iterable[inspect.Parameter]:
    """The parameters of the command line for a parameter of a command: itself, or (`**shared`) all that it stands for."""
    if parameter.kind is not parameter.VAR_KEYWORD:
        return [parameter.replace(annotation=annotation)]
    _, shared = get_args(annotation)
    return inspect.signature(shared).parameters.values()


def _build() -> typer.Typer:
    root = typer.Typer(
        name="mdmem",
        help="An agent's long-term memory in Markdown files, with git as its history.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    root.callback()(_before)
    groups = {name: typer.Typer(help=about, rich_markup_mode=None) for name, about in commands.GROUPS.items()}
    for name in commands.COMMANDS:
        function = commands.command(name)
        group, _, word = name.rpartition(" ")
        (groups[group] if group else root).command(word, help=function.__doc__)(_parser(name, function))
    for name, typed in groups.items():
        root.add_typer(typed, name=name)
    return root


app = _build()


def parse(words: Sequence[str]) -> Call | None:
    """Parse the words of a command line into a call; None if help or the version was printed.

    Raises:
        UsageProblem: they are no valid call.
    """
    try:
        with get_command(app).make_context("mdmem", list(words) or ["--help"]) as context:
            call: Call = context.command.invoke(context)
            return call
    except typer.Exit:
        return None
    except typer.TyperException as problem:
        raise _usage_problem(problem) from problem


def _usage_problem(problem: typer.TyperException) -> UsageProblem:
    """A wrong call as a failure of ours, with the help that fits."""
    message = problem.format_message().removesuffix(".").replace("Value error, ", "")
    context = getattr(problem, "ctx", None)
    hint = f"{context.command_path if context else app.info.name} --help"
    if " " in getattr(problem, "option_name", ""):
        hint += "; a text that begins with a dash goes behind --, or comes from standard input"
    return UsageProblem(message[:1].lower() + message[1:], hint)
