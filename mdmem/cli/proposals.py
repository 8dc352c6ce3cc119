"""Commands of proposals: changes by others that a person decides on."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

from mdmem.cli import editor
from mdmem.cli.call import Answer, Call, open_memory
from mdmem.cli.write_options import write_options
from mdmem.errors import UsageProblem
from mdmem.memory import Memory
from mdmem.model.proposals import Accept, Propose, ProposeBranch, Reject
from mdmem.model.writes import EditSection, Forget, Log, Remember
from mdmem.show import proposals as show
from mdmem.show.proposals import proposed_json, proposed_text

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import (
        Actor,
        Again,
        Allow,
        Committing,
        Json,
        Parts,
        ProposalArgument,
        Session,
    )


def propose_write(
    memory: Memory,
    change: EditSection | Log | Remember | Forget,
    is_asked: bool,
    to: str | None,
    again: bool,
) -> Answer:
    """Propose a change. Raises UsageProblem for options of a proposal without --propose."""
    if not is_asked:
        raise UsageProblem("--to and --again need --propose" if to else "--again needs --propose")
    done = memory.proposals.propose(Propose(edit=change, to=to, again=again))
    result = done.result
    fact = next(reversed(result.removed if isinstance(change, Forget) else result.added), None)
    return Answer(proposed_json(done), proposed_text(done, fact), result.notes)


def propose(
    call: Call,
    branch: Annotated[
        str,
        typer.Argument(
            metavar="BRANCH", help="A branch, such as one from another work tree or a forge."
        ),
    ],
    message: Annotated[
        str | None, typer.Option("-m", metavar="WHY", help="Why; shown with the proposal.")
    ] = None,
    actor: Actor = None,
    session: Session = None,
    again: Again = False,
    allow: Allow = None,
    as_json: Json = False,
) -> Answer:
    """Make a proposal from the changes on a branch.

    The branch itself stays. None of its changes count as memory until you accept them, part by
    part.
    """
    request = ProposeBranch(
        branch=branch,
        reason=message,
        actor=actor,
        session=session,
        again=again,
        allow=frozenset(allow or ()),
    )
    view = open_memory(call).proposals.propose_branch(request)
    return Answer(show.proposal_json(view), show.proposal_text(view))


def proposals(
    call: Call,
    proposal: Annotated[
        str | None, typer.Argument(metavar="ID", help="Show this one, with all of its parts.")
    ] = None,
    as_json: Json = False,
) -> Answer:
    """List open proposals, or show one.

    Control and invisible characters are shown as code points.
    """
    memory = open_memory(call)
    if proposal is not None:
        view = memory.proposals.show(proposal)
        return Answer(show.proposal_json(view), show.proposal_text(view))
    listed, now = memory.proposals.standing(), memory.workspace.now()
    return Answer(
        show.proposals_json(listed, now),
        show.proposals_text(listed, now),
        () if listed.views else ("no open proposals",),
    )


def accept(
    call: Call,
    proposal: ProposalArgument,
    parts: Parts = None,
    edit: Annotated[
        list[str] | None,
        typer.Option(
            "--edit",
            metavar="PART",
            help="Edit this part in $EDITOR first; it then counts as yours.",
        ),
    ] = None,
    vouch: Annotated[
        bool, typer.Option("--vouch", help="State it yourself: it counts as user-stated.")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Accept the named parts even if they are outdated.")
    ] = False,
    **shared: Committing,
) -> Answer:
    """Accept parts of a proposal into memory, one commit each.

    Without PART: all parts that are up to date. A part whose target has changed is outdated: name
    it and add --anyway.
    """
    memory = open_memory(call)
    edited = []
    for name in edit or ():
        part, text = memory.proposals.part_text(proposal, name, anyway)
        changed = editor.edit_text(
            f"{text}\n", "--edit", f"mdmem accept {proposal} {shlex.quote(part)}"
        ).strip()
        if not changed:
            raise UsageProblem(
                f"{part} is empty: nothing was changed",
                f"To reject it: mdmem reject {proposal} {shlex.quote(part)}",
            )
        edited.append((part, changed))
    request = Accept(
        proposal=proposal,
        parts=tuple(parts or ()),
        edited=tuple(edited),
        vouch=vouch,
        anyway=anyway,
        options=write_options(shared),
    )
    decision = memory.proposals.accept(request)
    return Answer(
        show.accepted_json(decision), show.accepted_text(decision), show.decision_notes(decision)
    )


def reject(
    call: Call,
    proposal: ProposalArgument,
    parts: Parts = None,
    **shared: Committing,
) -> Answer:
    """Reject parts of a proposal, or all its open parts.

    Rejected text is not proposed again, unless you use --again or state it yourself.
    """
    decision = open_memory(call).proposals.reject(
        Reject(proposal, tuple(parts or ()), write_options(shared))
    )
    return Answer(
        show.rejected_json(decision), show.rejected_text(decision), show.decision_notes(decision)
    )
