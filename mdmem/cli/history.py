"""The commands that look back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mdmem.cli.call import Answer, Call, open_memory, use_colour
from mdmem.model.history import ShowBlame, ShowHistory
from mdmem.show.history import blame_json, blame_text, history_json, history_text, presences_json, presences_text

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import File, Json, Nth, Preamble


def history(
    call: Call,
    target: Annotated[
        str | None, typer.Argument(metavar="SECTION|FACT", help="A section, or a fact: its exact text, its id, or six digits of it.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file", metavar="FILE", help="A Markdown file, relative to the workspace. [default: MEMORY.md for a section, else all]"
        ),
    ] = None,
    nth: Nth = None,
    preamble: Preamble = False,
    limit: Annotated[int, typer.Option("-n", metavar="N", help="The most changes to tell.")] = 20,
    words: Annotated[bool, typer.Option("-p", help="Show what each change did, word by word.")] = False,
    as_json: Json = False,
) -> Answer:
    """Tell what a section or a fact said before.

    Of a section every change, newest first. Of a fact what it replaced and what replaced it, oldest first. Without either the newest
    changes of the file, or of all memory.
    """
    request = ShowHistory(target=target, file=file, nth=nth, limit=limit, preamble=preamble)
    found = open_memory(call).history(request)
    if call.as_json:
        return Answer(history_json(found), "")
    text = history_text(found, words, use_colour())
    return Answer({}, text, found.notes if text else (*found.notes, "nothing is committed yet"))


def blame(
    call: Call,
    section: Annotated[str | None, typer.Argument(metavar="SECTION", help="A heading, or several joined by ' > '.")] = None,
    file: File = None,
    nth: Nth = None,
    preamble: Preamble = False,
    as_json: Json = False,
) -> Answer:
    """Tell which commit brought in each line of a section."""
    found = open_memory(call).blame(ShowBlame(section=section, file=file, nth=nth, preamble=preamble))
    return Answer(blame_json(found), blame_text(found, use_colour()), found.notes)


def when(
    call: Call,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words as they stand in a file.")],
    as_json: Json = False,
) -> Answer:
    """Tell when a text came into memory, and when it went."""
    found = open_memory(call).when(text)
    return Answer(presences_json(found), presences_text(found), found.notes if found.stays else (*found.notes, "no commit has it"))
