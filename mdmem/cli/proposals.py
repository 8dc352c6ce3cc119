"""Commands of proposals: what others would change, and a person decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mdmem.cli import editor
from mdmem.cli.call import Answer, Call, open_memory, use_colour
from mdmem.cli.write_options import write_options
from mdmem.errors import UsageProblem
from mdmem.model.proposals import Accept, ProposeBranch, Reject
from mdmem.show import proposals as show

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import Actor, Again, Allow, Committing, Json, Parts, ProposalArgument, Session


def propose(
    call: Call,
    branch: Annotated[str, typer.Argument(metavar="BRANCH", help="A branch: of another work tree, of a forge.")],
    message: Annotated[str | None, typer.Option("-m", metavar="WHY", help="Why; shown with the proposal.")] = None,
    actor: Actor = None,
    session: Session = None,
    again: Again = False,
    allow: Allow = None,
    as_json: Json = False,
) -> Answer:
    """Make a proposal of what stands on a branch.

    The branch itself stays. Nothing of it counts as memory until you accept it, part by part.
    """
    request = ProposeBranch(branch=branch, reason=message, actor=actor, session=session, again=again, allow=frozenset(allow or ()))
    view = open_memory(call).proposals.propose_branch(request)
    return Answer(show.proposal_json(view), show.proposal_text(view, use_colour()))


def proposals(
    call: Call,
    proposal: Annotated[str | None, typer.Argument(metavar="ID", help="Show this one, with all of its parts.")] = None,
    as_json: Json = False,
) -> Answer:
    """List what waits for you, or show one proposal.

    Control characters, and such as show nothing, are shown by their numbers.
    """
    memory = open_memory(call)
    if proposal is not None:
        view = memory.proposals.show(proposal)
        return Answer(show.proposal_json(view), show.proposal_text(view, use_colour()))
    listed, now = memory.proposals.standing(), memory.workspace.now()
    notes = () if listed.views else ("nothing waits",)
    return Answer(show.proposals_json(listed, now), show.proposals_text(listed, now), notes)


def accept(
    call: Call,
    proposal: ProposalArgument,
    parts: Parts = None,
    edit: Annotated[
        list[str] | None, typer.Option("--edit", metavar="PART", help="Open this part in $EDITOR first; then it is your own.")
    ] = None,
    vouch: Annotated[bool, typer.Option("--vouch", help="You say it yourself: it counts as user-stated.")] = False,
    anyway: Annotated[bool, typer.Option("--anyway", help="Take the named parts even if they are overtaken.")] = False,
    **shared: Committing,
) -> Answer:
    """Take parts of a proposal onto memory, a commit a part.

    Without PART all that are fresh. A part whose place was changed since is taken only by its name and with --anyway.
    """
    memory = open_memory(call)
    edited = []
    for name in edit or ():
        part, text = memory.proposals.part_text(proposal, name, anyway)
        changed = editor.edit_text(f"{text}\n", "--edit", "mdmem accept takes it as it is").strip()
        if not changed:
            raise UsageProblem(f"{part} is empty: nothing is changed", "mdmem reject takes a part out.")
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
    return Answer(show.accepted_json(decision), show.accepted_text(decision), show.decision_notes(decision))


def reject(
    call: Call,
    proposal: ProposalArgument,
    parts: Parts = None,
    **shared: Committing,
) -> Answer:
    """Reject parts of a proposal, or all that waits of it.

    A rejected text is not proposed again, unless --again is given or you say it yourself.
    """
    decision = open_memory(call).proposals.reject(Reject(proposal, tuple(parts or ()), write_options(shared)))
    return Answer(show.rejected_json(decision), show.rejected_text(decision), show.decision_notes(decision))
