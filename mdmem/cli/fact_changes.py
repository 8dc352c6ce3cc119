"""The command that lists changes by fact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mdmem.cli.call import Answer, Call, open_memory, use_colour
from mdmem.model.history import ShowChanges
from mdmem.show import history

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import ByActor, Json, Since, Until


def changes(
    call: Call,
    since: Since = None,
    until: Until = None,
    actor: ByActor = None,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="FILE", help="Only this file, or files below this folder."),
    ] = None,
    limit: Annotated[
        int, typer.Option("-n", metavar="N", help="Maximum number of changes; 0 for all.")
    ] = 20,
    as_json: Json = False,
) -> Answer:
    """List which facts were added, replaced and removed.

    By day, newest first, each with its commit, who made it and why.
    """
    result = open_memory(call).changes(
        ShowChanges(since=since, until=until, actor=actor, file=file, limit=limit)
    )
    return Answer(
        history.changes_json(result),
        history.changes_text(result.changes, use_colour()),
        history.changes_notes(result),
    )
