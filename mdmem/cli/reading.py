"""Commands that read files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from mdmem.cli.call import Answer, Call, open_memory
from mdmem.errors import UsageProblem
from mdmem.layout import is_markdown
from mdmem.model.reads import Show
from mdmem.show import reads
from mdmem.show.formatting import VerbatimText

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import Json, Nth, Preamble


def show_(
    call: Call,
    first: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A word that ends in .md; may be left out. [default: MEMORY.md]")
    ] = None,
    second: Annotated[str | None, typer.Argument(metavar="SECTION", help="A heading, or several joined by ' > '.")] = None,
    nth: Nth = None,
    preamble: Preamble = False,
    as_json: Json = False,
) -> Answer:
    """Read one section, or a whole file."""
    if second and is_markdown(second) and not (first and is_markdown(first)):
        first, second = second, first
    file = first if first and is_markdown(first) else None
    sections = [word for word in (first if file is None else None, second) if word is not None]
    if len(sections) + preamble > 1:
        raise UsageProblem("show takes one file, whose name ends in .md, and one section (or --preamble)")
    view = open_memory(call).show(Show(file=file, section=sections[0] if sections else None, nth=nth, preamble=preamble))
    text = reads.section_text(view, sys.stdout.isatty())
    return Answer(reads.section_json(view), VerbatimText(text))


def outline(
    call: Call,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="A Markdown file. [default: MEMORY.md]")] = None,
    as_json: Json = False,
) -> Answer:
    """List the sections of a file with their etags."""
    result = open_memory(call).outline(file)
    return Answer(reads.outline_json(result), reads.outline_text(result))
