"""Commands about facts that contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mdmem.cli.call import Answer, Call, open_memory
from mdmem.cli.write_options import write_answer, write_options
from mdmem.errors import UsageProblem
from mdmem.model.writes import Contradict, Resolve, WriteOptions
from mdmem.show import hits

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import (
        FactArgument,
        Writing,
    )


def contradicts(
    call: Call,
    first: FactArgument,
    second: FactArgument,
    **shared: Writing,
) -> Answer:
    """Mark two facts as contradicting each other.

    Both stay and can be found; each names the other.
    """
    return write_answer(open_memory(call).apply(Contradict(first, second, write_options(shared))))


def conflicts(
    call: Call,
    resolve: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--resolve",
            metavar="FACT FACT",
            help="Mark these two as not, or no longer, contradicting each other.",
        ),
    ] = None,
    **shared: Writing,
) -> Answer:
    """List facts that contradict each other, to settle them.

    These are facts with the same key in one section, unless one was written with --also, and facts
    that were marked. None is hidden.
    """
    options = write_options(shared)
    if resolve is not None:
        return write_answer(open_memory(call).apply(Resolve(*resolve, options)))
    if options != WriteOptions():
        raise UsageProblem("the options of a write go with --resolve")
    listed = open_memory(call).conflicts()
    count = len(listed.conflicts)
    notes, status = hits.answer_notes("conflicts", count, listed), hits.answer_status(count, listed)
    return Answer(hits.conflicts_json(listed), hits.conflicts_text(listed), notes, status)
