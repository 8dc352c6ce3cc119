"""Commands that make memory of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mdmem.cli.call import Answer, Call, open_memory
from mdmem.model.digests import FACTS, Digest
from mdmem.show import digests

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import Json


def digest(
    call: Call,
    sessions: Annotated[
        list[str] | None,
        typer.Argument(metavar="SESSION", help="Files, or the beginnings of ids. [default: all that the setting sessions names]"),
    ] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="DATE", help="Leave out what was said before this day.")] = None,
    keep: Annotated[
        str, typer.Option("--keep", metavar="facts|lines", help="What is worth keeping, or every statement that is no noise.")
    ] = FACTS,
    no_model: Annotated[bool, typer.Option("--no-model", help="By rules alone; so far there is no other way.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be written; write nothing.")] = False,
    as_json: Json = False,
) -> Answer:
    """Write what is new in agents' sessions into its days' logs.

    Transcripts of Claude Code, Codex, OpenClaw (pi) and Gemini CLI are read from where the last digest ended. Rules choose what is worth
    keeping; each entry says where it was said. Nothing is written twice.
    """
    request = Digest(sessions=tuple(sessions or ()), since=since, keep=keep, dry_run=dry_run)
    result = open_memory(call).digest(request)
    return Answer(digests.digest_json(result), digests.digest_text(result), status=1 if result.left else 0)
