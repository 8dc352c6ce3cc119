"""Commands that read files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from mdmem.cli.call import Answer, Call, open_memory, use_colour
from mdmem.errors import UsageProblem
from mdmem.folder.layout import is_markdown
from mdmem.model.reads import ListFiles, SectionView, Show
from mdmem.show import history, reads
from mdmem.show.formatting import VerbatimText
from mdmem.wording import field

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import AsOf, Json, Nth, Preamble


def show_(
    call: Call,
    first: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="A file name that ends in .md; optional. [default: MEMORY.md]"
        ),
    ] = None,
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="SECTION",
            help=(
                "A heading, or several joined by ' > '; or a fact (its text, key or id), a file, or"
                " a day (2026-11-21, yesterday)."
            ),
        ),
    ] = None,
    nth: Nth = None,
    preamble: Preamble = False,
    as_of: AsOf = None,
    as_json: Json = False,
) -> Answer:
    """Read one section, a fact, a day, or a whole file.

    For a day: its log, and what else changed that day.
    """
    if second and is_markdown(second) and not (first and is_markdown(first)):
        first, second = second, first
    file = first if first and is_markdown(first) else None
    sections = [word for word in (first if file is None else None, second) if word is not None]
    if len(sections) + preamble > 1:
        raise UsageProblem(
            "show takes one file, whose name ends in .md, and one section (or --preamble)"
        )
    request = Show(file=file, section=sections[0] if sections else None, nth=nth, preamble=preamble)
    memory = open_memory(call)
    view = memory.show_named(request) if as_of is None else memory.show_as_of(request, as_of)
    if not isinstance(view, SectionView):
        return Answer(
            history.day_json(view),
            VerbatimText(history.day_text(view, sys.stdout.isatty(), use_colour())),
            history.day_notes(view),
        )
    return Answer(
        reads.section_json(view),
        VerbatimText(reads.section_text(view, sys.stdout.isatty())),
        reads.section_notes(view),
    )


def outline(
    call: Call,
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A Markdown file. [default: all files]")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("-n", metavar="N", help="Maximum number of files. [default: 20]"),
    ] = None,
    offset: Annotated[
        int | None, typer.Option("--offset", metavar="N", help="Leave out the first N files.")
    ] = None,
    as_json: Json = False,
) -> Answer:
    """List the sections of a file with their etags, or all files.

    Files are listed with the numbers of their sections and current facts, the last changed first.
    """
    memory = open_memory(call)
    if file is None:
        given: dict[str, Any] = {"limit": limit, "offset": offset}
        request = ListFiles(**{name: n for name, n in given.items() if n is not None})
        listed = memory.files(request)
        return Answer(
            reads.files_json(listed),
            reads.files_text(listed),
            reads.files_notes(listed, request),
        )
    if limit is not None or offset is not None:
        raise UsageProblem(f"{field('limit')} and {field('offset')} count files: leave out {file}")
    result = memory.outline(file)
    return Answer(reads.outline_json(result), reads.outline_text(result))
