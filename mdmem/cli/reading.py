"""Commands that read files, and their past."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from mdmem.cli.commands import Answer, ask, first_rows, missing, open_memory, use_colour
from mdmem.cli.fast_parser import Call
from mdmem.folder.layout import is_markdown
from mdmem.model.errors import UsageProblem, field, shell_word
from mdmem.model.history import ShowBlame, ShowChanges, ShowHistory
from mdmem.model.reads import ListFiles, SectionView, Show
from mdmem.show import reads
from mdmem.show.formatting import VerbatimText, also_notes
from mdmem.show.past import (
    blame_text,
    changes_notes,
    changes_text,
    day_notes,
    day_text,
    history_text,
    presences_text,
)

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import (
        AsOf,
        ByActor,
        File,
        FileOrFolder,
        Json,
        MostRows,
        Nth,
        Preamble,
        Since,
        Until,
        WhenText,
    )


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
                "A heading, or several joined by ' > '; or a fact (its text, key or id, or its"
                " PATH:LINE), a file (also by an alias), or a day (2026-11-21, yesterday)."
            ),
        ),
    ] = None,
    nth: Nth = None,
    preamble: Preamble = False,
    as_of: AsOf = None,
    as_json: Json = False,
) -> Answer:
    """Read one section, a fact, a day, or a whole file.

    For a day: its log, and the newest of what else changed that day.
    """
    if second and is_markdown(second) and not (first and is_markdown(first)):
        first, second = second, first
    file = first if first and is_markdown(first) else None
    sections = [word for word in (first if file is None else None, second) if word is not None]
    if len(sections) > 1:
        quoted = shell_word(" ".join(sections))
        hint = f"Quote words that belong together: mdmem show {quoted}"
        raise UsageProblem("show takes one section, fact, key or day, and one file (*.md)", hint)
    if sections and preamble:
        raise UsageProblem("show takes a section or --preamble, not both")
    request = Show(file=file, section=sections[0] if sections else None, nth=nth, preamble=preamble)
    memory = open_memory(call)
    view = memory.show_named(request) if as_of is None else memory.show_as_of(request, as_of)
    if not isinstance(view, SectionView):
        return Answer(
            view,
            VerbatimText(day_text(view, sys.stdout.isatty(), use_colour())),
            day_notes(view),
        )
    return Answer(
        view,
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
        typer.Option(
            "-n", metavar="N", help="Maximum number of files, or sections. [default: 20 files]"
        ),
    ] = None,
    offset: Annotated[
        int | None, typer.Option("--offset", metavar="N", help="Leave out the first N files.")
    ] = None,
    as_json: Json = False,
) -> Answer:
    """List the sections of a file with their etags, or all files.

    Files are listed with the number of sections and of current facts, most recently changed first.
    """
    memory = open_memory(call)
    if file is None:
        given: dict[str, Any] = {"limit": limit, "offset": offset}
        request = ListFiles(**{name: n for name, n in given.items() if n is not None})
        listed = memory.files(request)
        return Answer(
            listed,
            reads.files_text(listed),
            reads.files_notes(listed, request),
        )
    if offset is not None:
        raise UsageProblem(f"{field('offset')} counts files: leave out {file}")
    result, more = first_rows(memory.outline(file), "sections", limit or 0)
    return Answer(result, reads.outline_text(result), more)


# Their past.


def history(
    call: Call,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="SECTION|FACT|KEY",
            help=(
                "A section, a file, a run (dream/DAY, 'last night'), or a fact: its exact text, key"
                " or id, the first six or more characters of its id, or its PATH:LINE."
            ),
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help=(
                "A Markdown file, relative to the workspace. [default: MEMORY.md for a section,"
                " else all]"
            ),
        ),
    ] = None,
    nth: Nth = None,
    preamble: Preamble = False,
    limit: Annotated[int, typer.Option("-n", metavar="N", help="Maximum number of changes.")] = 20,
    words: Annotated[
        bool,
        typer.Option("-p", help="Show what each change did, section by section and word by word."),
    ] = False,
    by_line: Annotated[
        bool, typer.Option("--blame", help="Show which commit added each line it has now.")
    ] = False,
    when: WhenText = None,
    as_json: Json = False,
) -> Answer:
    """Show how a section or a fact changed.

    For a section: every change, newest first. For a fact: what it replaced and what replaced it,
    oldest first. Without either: the newest commits to the file, or to all memory. Forgetting a log
    entry changes no file, so it is only in mdmem changes.
    """
    if by_line:
        return ask(call, "blame", "by_line", "target", section=target)
    if when is not None:
        return ask(call, "when", "when", text=when)
    by_commit = not (words or call.as_json)
    request = ShowHistory(
        target=target, file=file, nth=nth, limit=limit, preamble=preamble, by_commit=by_commit
    )
    result = open_memory(call).history(request)
    if call.as_json:
        return Answer(result, "")
    text = history_text(result, words, use_colour())
    notes = (*result.notes, *also_notes(result.also))
    return Answer({}, text, notes if text else (*notes, "nothing is committed yet"))


def blame(
    call: Call,
    section: Annotated[
        str | None,
        typer.Argument(
            metavar="SECTION",
            help=(
                "A heading, or several joined by ' > '; or a fact (its text, key or id), or a file."
            ),
        ),
    ] = None,
    file: File = None,
    nth: Nth = None,
    preamble: Preamble = False,
    as_json: Json = False,
) -> Answer:
    """Show which commit added each line.

    Works for a section, a fact or a file.
    """
    if section is None and file is None and not preamble:
        raise missing("argument 'SECTION', or --preamble", call.command)
    result = open_memory(call).blame(
        ShowBlame(section=section, file=file, nth=nth, preamble=preamble)
    )
    return Answer(result, blame_text(result, use_colour()), result.notes)


def when(
    call: Call,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words exactly as a file has them.")],
    limit: MostRows = 0,
    as_json: Json = False,
) -> Answer:
    """Show when text was added to memory, and when it was removed."""
    result, more = first_rows(open_memory(call).when(text), "stays", limit)
    return Answer(
        result,
        presences_text(result),
        (*result.notes, *more) if result.stays else (*result.notes, "not found in any commit"),
    )


def changes(
    call: Call,
    since: Since = None,
    until: Until = None,
    actor: ByActor = None,
    file: FileOrFolder = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="logs|curated",
            help="Only changes in daily logs, or only in other files.",
        ),
    ] = None,
    commit: Annotated[
        str | None, typer.Option("--commit", metavar="COMMIT", help="Only what this commit did.")
    ] = None,
    limit: Annotated[
        int, typer.Option("-n", metavar="N", help="Maximum number of changes; 0 for all.")
    ] = 20,
    as_json: Json = False,
) -> Answer:
    """List which facts were added, replaced and removed.

    They are listed by day, newest first, each with its commit, who made it and why.
    """
    result = open_memory(call).changes(
        ShowChanges(
            since=since,
            until=until,
            actor=actor,
            file=file,
            where=where,
            commit=commit,
            limit=limit,
        )
    )
    return Answer(
        result,
        changes_text(result.changes, use_colour()),
        changes_notes(result),
    )
