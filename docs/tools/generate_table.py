"""Write mdmem/cli/parameter_table.py, what the short way in knows of the commands, from the command
line itself: `make docs`. A test holds that it is current.
"""

from collections import Counter
from pathlib import Path
from typing import Any, get_args, get_origin

from typer.main import get_command

from mdmem.cli import fast_parser
from mdmem.cli.app import app
from mdmem.cli.commands import COMMANDS
from mdmem.model import Source

MODULE = Path(fast_parser.__file__).with_name("parameter_table.py")
HEAD = '''\
"""The commands of one word and what they take, in the order of the help. Made by `make docs`."""

from mdmem.cli.fast_parser import ParameterTable
from mdmem.model import Source

# fmt: off
'''


def module() -> str:
    """The whole module; what commands of two names take is there once."""
    root: Any = get_command(app)
    commands = {
        name: command for name, command in root.commands.items() if not hasattr(command, "commands")
    }
    functions = {name: (COMMANDS[name].module, COMMANDS[name].function) for name in commands}
    times = Counter(functions.values())
    shared = {functions[name]: f"_{name.replace('-', '_').upper()}" for name in reversed(commands)}
    tables, lines = {}, []
    for name, command in commands.items():
        function = functions[name]
        if times[function] > 1:
            tables[shared[function]] = rows(command)
            lines.append(f'    "{name}": {shared[function]},')
        else:
            lines += [f'    "{name}": (', *(f"    {each}" for each in rows(command)), "    ),"]
    hoisted = (line for name, each in tables.items() for line in (f"{name} = (", *each, ")"))
    return HEAD + "\n".join([*hoisted, "TABLE: ParameterTable = {", *lines, "}", ""])


def rows(command: Any) -> list[str]:
    """The parameters of a command, one to a line."""
    return [f"    {row(parameter)}," for parameter in command.params if not parameter.hidden]


def row(parameter: Any) -> str:
    """A parameter as the short way knows it.

    Raises:
        ValueError: it is of a sort that the short way would have to learn first.
    """
    annotation, default = parameter.type_descriptor.annotation, parameter.default
    takes = get_origin(annotation) or annotation
    several = {list: (str,), tuple: (str, str)}
    is_known = (
        get_args(annotation) == several[takes]
        if takes in several
        else takes in (bool, str, int, float) or takes is Source
    )
    strange = [
        name
        for name in ("envvar", "callback", "secondary_opts", "prompt", "count")
        if getattr(parameter, name, None)
    ]
    if not is_known or strange or parameter.type_descriptor.is_ranged:
        raise ValueError(
            f"the short way does not know a parameter like {parameter.name}: {annotation} {strange}"
        )
    flags = (
        "".join(f'"{flag}", ' for flag in parameter.opts)
        if parameter.param_type_name == "option"
        else ""
    )
    if takes is float and default is not None:
        default = float(default)  # as Typer makes it
    default_value = (
        f"{takes.__name__}.{default.name}" if isinstance(default, Source) else repr(default)
    )
    return (
        f'("{parameter.name}", ({flags.rstrip()}), {takes.__name__},'
        f" {None if parameter.required else default_value}, {parameter.required})"
    )


if __name__ == "__main__":
    MODULE.write_text(module(), encoding="utf-8")
