"""Commands that look back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mdmem.cli.call import Answer, Call, open_memory, use_colour
from mdmem.model.history import ShowBlame, ShowChanges, ShowHistory
from mdmem.show.formatting import also_notes
from mdmem.show.history import (
    blame_json,
    blame_text,
    changes_json,
    changes_notes,
    changes_text,
    history_json,
    history_text,
    presences_json,
    presences_text,
)

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import (
        ByActor,
        File,
        FileOrFolder,
        Json,
        Nth,
        Preamble,
        Since,
        Until,
    )


def history(
    call: Call,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="SECTION|FACT|KEY",
            help=(
                "A section, a file, or a fact: its exact text, key or id, or the first six or more"
                " characters of its id."
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
        bool, typer.Option("-p", help="Show what each change did, word by word.")
    ] = False,
    as_json: Json = False,
) -> Answer:
    """Show the past of a section or a fact.

    For a section: every change, newest first. For a fact: what it replaced and what replaced it,
    oldest first. Without either: the newest edits to the file, or to all memory, a row for each
    commit (with -p or --json, for each section that it changed). Forgotten log entries are listed
    by mdmem changes.
    """
    by_commit = not (words or call.as_json)
    request = ShowHistory(
        target=target, file=file, nth=nth, limit=limit, preamble=preamble, by_commit=by_commit
    )
    result = open_memory(call).history(request)
    if call.as_json:
        return Answer(history_json(result), "")
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
    result = open_memory(call).blame(
        ShowBlame(section=section, file=file, nth=nth, preamble=preamble)
    )
    return Answer(blame_json(result), blame_text(result, use_colour()), result.notes)


def when(
    call: Call,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words exactly as a file has them.")],
    as_json: Json = False,
) -> Answer:
    """Show when text was added to memory, and when it was removed."""
    result = open_memory(call).when(text)
    return Answer(
        presences_json(result),
        presences_text(result),
        result.notes if result.stays else (*result.notes, "not found in any commit"),
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
            metavar="FILES",
            help="Only changes in daily logs (logs), or only in other files (curated).",
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
        changes_json(result),
        changes_text(result.changes, use_colour()),
        changes_notes(result),
    )
