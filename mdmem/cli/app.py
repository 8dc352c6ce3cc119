"""The command line as Typer knows it: the one definition of commands and options, made of the signatures of the commands."""

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


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mdmem {__version__}")
        raise typer.Exit


def _before(
    context: typer.Context,
    workspace: Annotated[
        str | None, typer.Option("-C", metavar="DIR", help="The workspace. [default: the first from here upwards]")
    ] = None,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Take the options that come before the command."""
    context.obj = workspace


def _parsed(name: str, function: Callable[..., Answer]) -> Callable[..., Call]:
    """A function that Typer can call: it takes what the command takes, and gives the call, which is not carried out yet."""

    def parsed(context: typer.Context, **values: Any) -> Call:
        return Call(name, context.obj, {name: _value(value) for name, value in values.items()})

    types = get_type_hints(function, {**vars(options), **function.__globals__, "typer": typer}, include_extras=True)
    first, *others = inspect.signature(function).parameters.values()
    context = first.replace(name="context", annotation=typer.Context)
    taken = [own for parameter in others for own in _taken(parameter, types[parameter.name])]
    # A signature that is given wins over the one that is written, for inspect and so for Typer; mypy has no word for that.
    parsed.__signature__ = inspect.Signature([context, *taken])  # type: ignore[attr-defined]
    return parsed


def _value(value: Any) -> Any:
    """A value as the commands take it."""
    return Source(value.value) if isinstance(value, options.Choice) else value


def _taken(parameter: inspect.Parameter, annotation: Any) -> Iterable[inspect.Parameter]:
    """What a parameter of a command takes from the command line: itself, or (`**shared`) all that it stands for."""
    if parameter.kind is not parameter.VAR_KEYWORD:
        return [parameter.replace(annotation=annotation)]
    _, shared = get_args(annotation)
    return inspect.signature(shared).parameters.values()


def _made() -> typer.Typer:
    made = typer.Typer(
        name="mdmem",
        help="An agent's long-term memory in Markdown files, with git as its history.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    made.callback()(_before)
    groups = {name: typer.Typer(help=about, rich_markup_mode=None) for name, about in commands.GROUPS.items()}
    for name in commands.COMMANDS:
        function = commands.command(name)
        group, _, word = name.rpartition(" ")
        (groups[group] if group else made).command(word, help=function.__doc__)(_parsed(name, function))
    for name, typed in groups.items():
        made.add_typer(typed, name=name)
    return made


app = _made()


def parse(words: Sequence[str]) -> Call | None:
    """The call that the words make; None where all is said already: help, the version.

    Raises:
        UsageProblem: they make none.
    """
    try:
        with get_command(app).make_context("mdmem", list(words) or ["--help"]) as context:
            call: Call = context.command.invoke(context)
            return call
    except typer.Exit:
        return None
    except typer.TyperException as problem:
        raise _worded(problem) from problem


def _worded(problem: typer.TyperException) -> UsageProblem:
    """A wrong call in our own manner, with the help that fits."""
    said = problem.format_message().removesuffix(".").replace("Value error, ", "")
    context = getattr(problem, "ctx", None)
    hint = f"{context.command_path if context else app.info.name} --help"
    if " " in getattr(problem, "option_name", ""):
        hint += "; a text that begins with a dash goes behind --, or comes from standard input"
    return UsageProblem(said[:1].lower() + said[1:], hint)
