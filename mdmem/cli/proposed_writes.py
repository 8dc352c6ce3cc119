"""Writing commands with --propose, which leave their edit to a person."""

from __future__ import annotations

from mdmem.cli.call import Answer
from mdmem.errors import UsageProblem
from mdmem.memory import Memory
from mdmem.model.proposals import Propose
from mdmem.model.writes import EditSection, Forget, Log, Remember
from mdmem.show.proposals import proposed_json, proposed_text


def propose(memory: Memory, change: EditSection | Log | Remember | Forget, is_asked: bool, to: str | None, again: bool) -> Answer:
    """Propose a change.

    Raises:
        UsageProblem: the options of a proposal stand there without --propose.
    """
    if not is_asked:
        raise UsageProblem("--to and --again need --propose" if to else "--again needs --propose")
    done = memory.proposals.propose(Propose(edit=change, to=to, again=again))
    result = done.result
    fact = next(reversed(result.removed if isinstance(change, Forget) else result.added), None)
    return Answer(proposed_json(done), proposed_text(done, fact), result.notes)
