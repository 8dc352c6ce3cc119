"""The command that goes through what waits for a person."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

from mdmem.cli import review_room
from mdmem.cli.call import Answer, Call, open_memory
from mdmem.cli.messages import shown
from mdmem.errors import UsageProblem
from mdmem.model.writes import WriteOptions
from mdmem.show import maintenance

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import Actor, Json, Reason, Session


def review(
    call: Call,
    apply: Annotated[
        bool, typer.Option("--apply", help="Apply what is safe, one commit each.")
    ] = False,
    actor: Actor = None,
    session: Session = None,
    reason: Reason = None,
    as_json: Json = False,
) -> Answer:
    """Go through proposals and suggested cleanups.

    On a terminal: one item at a time, with single-key answers, as in git add -p. Without a
    terminal, with an actor, or if CI is set: print the list of expired or superseded facts that are
    still in a file, duplicates, contradictions, sections not changed for months and files over
    their budget, each with the command that fixes it, or that shows what to decide.
    """
    if not apply and (actor or session or reason):
        raise UsageProblem("--actor, --session and --reason go with --apply")
    memory = open_memory(call)
    if apply:
        options = WriteOptions(actor=actor, session=session, reason=reason)
        result = memory.apply_advice(options)
    else:
        is_open = not call.as_json and not call.quiet and review_room.is_open(memory)
        with nullcontext() if call.as_json or call.quiet else shown("review"):
            result = memory.review()
            numbered = memory.proposals.standing().numbered if is_open else None
        if numbered is not None and (numbered.items or result.advice):
            return review_room.review(memory, numbered, result.advice)
    waits = result.waiting.proposals or result.waiting.unreadable
    return Answer(
        maintenance.reviewed_json(result),
        maintenance.reviewed_text(result),
        () if result.advice or waits else ("nothing to tidy",),
    )
