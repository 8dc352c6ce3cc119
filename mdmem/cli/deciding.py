"""Commands by which a person decides: on proposals, advice and contradictions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

from mdmem.cli import review_room, terminal
from mdmem.cli.commands import Answer, ask, first_rows, missing, open_memory
from mdmem.cli.fast_parser import Call
from mdmem.cli.parameter_table import TABLE
from mdmem.cli.terminal import shown
from mdmem.cli.write_options import at_own_terminal, write_answer, write_options
from mdmem.memory import Memory
from mdmem.model.errors import ProposalProblem, UsageProblem, field, shell_word
from mdmem.model.proposals import (
    Decide,
    ItemChoice,
    ListDecision,
    NumberedList,
    ProposalList,
    Propose,
    ProposeBranch,
    Selection,
    is_number,
    parse_age,
    parse_numbers,
)
from mdmem.model.writes import Contradict, Forget, Resolve, UserEdit, WriteOptions
from mdmem.show import hits, maintenance
from mdmem.show import reviews as show
from mdmem.show.reviews import proposed_text
from mdmem.show.values import to_json
from mdmem.startup.records import replace

if TYPE_CHECKING:
    import typer

    from mdmem.cli.options import (
        AcceptAnyway,
        Actor,
        Again,
        Allow,
        Committing,
        Decided,
        DecidedActor,
        DecidedAll,
        DecidedFile,
        DecidedSection,
        EditedFirst,
        ExpectedTip,
        FactArgument,
        Json,
        ListStamp,
        MostRows,
        Older,
        Session,
        Vouch,
        Writing,
    )


def propose_write(memory: Memory, change: UserEdit, is_asked: bool, again: bool) -> Answer:
    """Propose a change. Raises UsageProblem for options of a proposal without --propose."""
    if not is_asked:
        raise UsageProblem("--again needs --propose")
    done = memory.proposals.propose(Propose(edit=change, again=again))
    result = done.result
    fact = next(reversed(result.removed if isinstance(change, Forget) else result.added), None)
    return Answer(done, proposed_text(done, fact), result.notes)


def propose(
    call: Call,
    branch: Annotated[
        str,
        typer.Argument(
            metavar="BRANCH", help="A branch, such as one from another worktree or a forge."
        ),
    ],
    message: Annotated[
        str | None, typer.Option("-m", metavar="WHY", help="The reason, shown with the proposal.")
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
    return Answer(view, show.proposal_text(view))


def proposals(
    call: Call,
    proposal: Annotated[
        str | None, typer.Argument(metavar="ID", help="Show this one, with all of its parts.")
    ] = None,
    limit: MostRows = 0,
    as_json: Json = False,
) -> Answer:
    """List what is proposed, numbered, or show one by its ID.

    Competing values (two values of one key, two changes of one fact) share one number, and the
    newest comes first. Control and invisible characters are shown as code points.
    """
    memory = open_memory(call)
    if proposal is not None:
        view = memory.proposals.show(proposal)
        return Answer(view, show.proposal_text(view))
    listed, now = memory.proposals.standing(), memory.workspace.now()
    numbered, more = first_rows(listed.numbered, "items", limit)
    listed = replace(listed, numbered=numbered)
    return Answer(
        show.proposals_json(listed, now),
        review_room.list_text(listed, now, terminal.size(sys.stdout)[0]),
        more if listed.views else ("no open proposals",),
    )


def accept(
    call: Call,
    items: Decided = None,
    section: DecidedSection = None,
    file: DecidedFile = None,
    from_actor: DecidedActor = None,
    undisputed: DecidedAll = False,
    stamp: ListStamp = None,
    edit: EditedFirst = None,
    vouch: Vouch = False,
    anyway: AcceptAnyway = False,
    expect: ExpectedTip = None,
    **shared: Committing,
) -> Answer:
    """Accept proposed changes into memory, one commit each.

    Select items by number, or by proposal ID: the parts you name, or all that are up to date. If
    several proposals compete for one item, 1 is the newest and 1b the next; accepting one marks the
    others as superseded. A part is outdated if its target has changed. If the list showed it as
    outdated, its number accepts it; otherwise, and if it removes something, name it (by number or
    part) and add --anyway.
    """
    memory = open_memory(call)
    words, edits = items or [], edit or []
    selection = _selection(
        "accept",
        words,
        edits,
        expect,
        section=section,
        file=file,
        actor=from_actor,
        is_all=undisputed,
    )
    edited: dict[tuple[int, int | None], str] = {}
    if selection is None:
        edited = _edited_items(memory, edits, stamp)
    elif selection.proposal is not None:
        parts = _edited_parts(memory, selection.proposal, edits, anyway)
        selection = replace(selection, edited=parts)
    numbers = dict.fromkeys((*parse_numbers([] if selection else words), *edited))
    request = Decide(
        choices=tuple(
            ItemChoice(number=number, value=value, text=edited.get((number, value)))
            for number, value in numbers
        ),
        selection=selection,
        stamp=stamp,
        vouch=vouch,
        anyway=anyway,
        expect=((words[0], expect),) if expect is not None else (),
        options=write_options(shared),
    )
    return _decide(memory, request)


def reject(
    call: Call,
    items: Decided = None,
    section: DecidedSection = None,
    file: DecidedFile = None,
    from_actor: DecidedActor = None,
    undisputed: DecidedAll = False,
    older: Older = None,
    stamp: ListStamp = None,
    expect: ExpectedTip = None,
    **shared: Committing,
) -> Answer:
    """Reject what is proposed, by number or proposal ID.

    If an item has several values, 1 rejects all of them and 1b the second. Rejected text is not
    proposed again, except with --again, or if you state it yourself.
    """
    memory = open_memory(call)
    words = items or []
    selection = _selection(
        "reject",
        words,
        (),
        expect,
        section=section,
        file=file,
        actor=from_actor,
        older=older,
        is_all=undisputed,
    )
    request = Decide(
        choices=tuple(
            ItemChoice(number=number, value=value, accepts=False)
            for number, value in parse_numbers([] if selection else words)
        ),
        selection=selection,
        accepts=False,
        stamp=stamp,
        expect=((words[0], expect),) if expect is not None else (),
        options=write_options(shared),
    )
    return _decide(memory, request)


def _selection(
    command: str,
    words: Sequence[str],
    edits: Sequence[str],
    expect: str | None,
    *,
    section: str | None,
    file: str | None,
    actor: str | None,
    older: str | None = None,
    is_all: bool,
) -> Selection | None:
    selecting = {"--section": section, "--file": file, "--from": actor, "--older": older}
    given = [name for name, value in selecting.items() if value is not None]
    given += ["--all"] if is_all else []
    if given and (words or edits):
        raise UsageProblem(f"do not combine {' and '.join(given)} with item numbers")
    if not (given or words or edits):
        older_too = ", --from or --older" if command == "reject" else " or --from"
        raise missing(f"argument 'ITEM', or --all, --section, --file{older_too}", command)
    if words and not is_number(words[0]):
        return Selection(proposal=words[0], parts=tuple(words[1:]))
    if expect is not None:
        raise UsageProblem("--expect goes with a proposal ID; a list's numbers have --list")
    if not given:
        return None
    return Selection(
        section=section, file=file, actor=actor, older=None if older is None else parse_age(older)
    )


def _decide(memory: Memory, request: Decide) -> Answer:
    decision = memory.proposals.decide(request)
    if decision.moved is not None:
        raise _moved(memory, decision)
    if not decision.proposal:
        text = show.list_decision_text(decision, request.accepts)
        return Answer(decision, text, show.list_decision_notes(decision, request.accepts))
    text = show.accepted_text(decision) if request.accepts else show.rejected_text(decision)
    data = show.decision_json(decision, request.accepts)
    return Answer(data, text, show.decision_notes(decision))


def _moved(memory: Memory, decision: ListDecision) -> ProposalProblem:
    moved = decision.moved or NumberedList()
    text = review_room.list_text(
        ProposalList(numbered=moved), memory.workspace.now(), terminal.size(sys.stdout)[0]
    )
    return ProposalProblem(
        "proposals-moved",
        f"the proposals have changed since list {decision.stamp}; nothing was done",
        f"They are now:\n{text}" if text else "There are no open proposals.",
        **to_json(moved),
    )


def _edited_items(
    memory: Memory, names: Sequence[str], stamp: str | None
) -> dict[tuple[int, int | None], str]:
    edited = {}
    for number, value in parse_numbers(names):
        choice = ItemChoice(number=number, value=value)
        text = memory.proposals.item_text(choice, stamp)
        edited[number, value] = _edited(
            text, choice.name, f"mdmem review --accept {shell_word(choice.name)}"
        )
    return edited


def _edited_parts(
    memory: Memory, proposal: str, names: Sequence[str], anyway: bool
) -> tuple[tuple[str, str], ...]:
    edited = []
    for name in names:
        part, text = memory.proposals.part_text(proposal, name, anyway)
        words = f"{shell_word(proposal)} {shell_word(part)}"
        edited.append((part, _edited(text, part, f"mdmem review --accept {words}")))
    return tuple(edited)


def _edited(text: str, name: str, without: str) -> str:
    changed = terminal.edit_text(f"{text}\n", "--edit", without).strip()
    if not changed:
        raise UsageProblem(
            f"{name} is empty: nothing was changed",
            f"To reject it: {without.replace('accept', 'reject', 1)}",
        )
    return changed


# All that waits, one by one.


def review(
    call: Call,
    items: Decided = None,
    accepts: Annotated[bool, typer.Option("--accept", help="Accept these items.")] = False,
    rejects: Annotated[bool, typer.Option("--reject", help="Reject these items.")] = False,
    proposal_list: Annotated[
        bool,
        typer.Option(
            "--proposals", help="Only list the proposals, numbered; with an ID, its parts."
        ),
    ] = False,
    apply: Annotated[
        bool,
        typer.Option(
            "--apply",
            help=(
                "Apply the suggestions marked (safe), one commit each: remove expired and"
                " superseded facts, and exact copies in one section."
            ),
        ),
    ] = False,
    section: DecidedSection = None,
    file: DecidedFile = None,
    from_actor: DecidedActor = None,
    undisputed: DecidedAll = False,
    older: Older = None,
    stamp: ListStamp = None,
    edit: EditedFirst = None,
    vouch: Vouch = False,
    anyway: AcceptAnyway = False,
    expect: ExpectedTip = None,
    limit: MostRows = 0,
    **shared: Committing,
) -> Answer:
    """Go through proposals and suggested cleanups, and decide.

    On a terminal: one item at a time, with single-key answers, as in git add -p. Without a
    terminal, with an actor, or if CI is set: print the list of expired or superseded facts that are
    still in a file, duplicates, contradictions, sections not changed for months and files over
    their budget, each with a command that fixes it or shows the choices.

    With --accept or --reject: decide items by number, or by proposal ID (the parts you name, or all
    that are up to date). If several proposals compete for one item, 1 is the newest and 1b the
    next: accepting one marks the others as superseded, rejecting 1 rejects all of them. A part is
    outdated if its target has changed. If the list showed it as outdated, its number accepts it;
    otherwise, and if it removes something, name it (by number or part) and add --anyway.
    """
    if accepts or rejects:
        return ask(call, *(("accept", "accepts") if accepts else ("reject", "rejects")))
    if items and is_number(items[0]):
        raise missing("option --accept or --reject", "review")
    if proposal_list or items:
        proposal = " ".join(items) if items else None
        return ask(call, "proposals", "proposal_list", "items", proposal=proposal)
    return _review(call, apply, limit, **shared)


def _review(call: Call, apply: bool, limit: int, **shared: Any) -> Answer:
    ours = {"apply", "limit", "as_json", *(("actor", "session", "reason") if apply else ())}
    for name, _, _, default, _ in TABLE["review"]:
        if name not in ours and call.values[name] != default:
            raise UsageProblem(f"{field(name)} goes with --accept or --reject")
    memory = open_memory(call)
    if apply:
        options = replace(write_options(shared), typed=at_own_terminal())
        result = memory.apply_advice(options)
    else:
        is_open = not call.as_json and not call.quiet and review_room.is_open(memory)
        with nullcontext() if call.as_json or call.quiet else shown("review"):
            result = memory.review()
            numbered = memory.proposals.standing().numbered if is_open else None
        if numbered is not None and (numbered.items or result.advice):
            return review_room.review(memory, numbered, result.advice)
    waits = result.waiting.proposals or result.waiting.unreadable
    result, more = first_rows(result, "advice", limit)
    return Answer(
        result,
        maintenance.reviewed_text(result),
        more if result.advice or waits else ("nothing to tidy",),
    )


# Contradictions.


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
            help="Keep both: mark these two as not contradicting each other.",
        ),
    ] = None,
    limit: MostRows = 0,
    **shared: Writing,
) -> Answer:
    """List facts that contradict each other, to settle them.

    These are facts with the same key in one section, unless one was written with --also, and facts
    that were marked, or changed differently on two branches. Both are current. To settle it, forget
    one (mdmem forget FACT), or keep both with --resolve.
    """
    options = write_options(shared)
    if resolve is not None:
        return write_answer(open_memory(call).apply(Resolve(*resolve, options)))
    if replace(options, typed=False) != WriteOptions():
        raise UsageProblem("the options of a write go with --resolve")
    listed, more = first_rows(open_memory(call).conflicts(), "conflicts", limit)
    count = len(listed.conflicts)
    notes, status = hits.answer_notes("conflicts", count, listed), hits.answer_status(count, listed)
    return Answer(listed, hits.conflicts_text(listed), (*notes, *more), status)
