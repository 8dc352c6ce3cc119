"""Proposals: what others would change, and a person decides."""

from __future__ import annotations

from collections.abc import Callable

from mdmem.events import EventRecorder
from mdmem.lookup import lookup
from mdmem.model.errors import ProposalProblem
from mdmem.model.proposals import (
    Decide,
    ItemChoice,
    ListDecision,
    ProposalList,
    ProposalView,
    Propose,
    ProposeBranch,
    ProposedHit,
    ProposedWrite,
)
from mdmem.model.writes import WriteOptions
from mdmem.proposals import branches, listings
from mdmem.review import deciding, list_decisions, proposing
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Say, Workspace


@dataclass(frozen=True, slots=True)
class Proposals:
    """The proposals of a workspace."""

    workspace: Workspace
    say: Say
    record_event: Callable[[str, WriteOptions | None], EventRecorder]
    catch_up: Callable[[Workspace], None]

    def propose(self, request: Propose) -> ProposedWrite:
        """Propose an edit, committed on its own branch. Raises MdmemError (nothing is changed)."""
        edit = lookup.as_meant(self.workspace, request.edit)
        request, options = replace(request, edit=edit), edit.options
        with self.record_event(f"propose-{request.edit.verb}", options) as event:
            done = proposing.propose(self.workspace, request, self.say)
            event.done(
                done.result.changed and not options.dry_run, done.result.path, done.result.commit
            )
        return done

    def propose_branch(self, request: ProposeBranch) -> ProposalView:
        """Make a proposal from a branch.

        Raises RefusedChange, ProposalProblem (`proposal-not-found`, `nothing-to-propose`,
        `already-rejected`, `too-many-parts`).
        """
        with self.record_event(
            "propose", WriteOptions(actor=request.actor, session=request.session)
        ) as event:
            proposal = proposing.propose_branch(self.workspace, request, self.say)
            event.done(True, commit=proposal.ref.tip)
        return proposal.view

    def standing(self) -> ProposalList:
        """The proposals that HEAD has not taken in, and their open parts as a numbered list."""
        with self.record_event("proposals", None):
            standing, unreadable = listings.read_standing(self.workspace)
            return ProposalList(
                tuple(each.view for each in standing),
                unreadable,
                listings.number_items(self.workspace, standing),
            )

    def show(self, named: str) -> ProposalView:
        """One proposal with all of its parts.

        Raises ProposalProblem (`proposal-not-found`, `ambiguous`).
        """
        with self.record_event("proposals", None):
            ref = branches.find_proposal(self.workspace, named)
            (proposal,) = listings.read_proposals(self.workspace, [ref])
        return proposal.view

    def part_text(self, named: str, part: str, anyway: bool = False) -> tuple[str, str]:
        """A part's name and text to edit.

        Raises ProposalProblem (`proposal-not-found`, `part-not-found`, `ambiguous`, `overtaken`).
        """
        view = deciding.part_to_edit(self.workspace, named, part, anyway)
        if view.new is None:
            raise ProposalProblem("part-not-found", f"{view.name} has no text to edit", "")
        return view.name, view.new

    def item_text(self, choice: ItemChoice, stamp: str | None) -> str:
        """The text of an item of a numbered list, to edit.

        Raises ProposalProblem (`list-not-found`, `part-not-found`, `proposals-moved`).
        """
        return list_decisions.item_text(self.workspace, choice, stamp)

    def search(self, query: str, limit: int) -> tuple[ProposedHit, ...]:
        """The open parts with words of a query, best first."""
        with self.record_event("search-proposed", None):
            read, unreadable = listings.read_open(self.workspace)
            for each in unreadable:
                self.say(f"proposal {each.id} was not searched: {each.reason}")
            return listings.find(read, query, limit)

    def decide(self, request: Decide) -> ListDecision:
        """Decide on items of a numbered list, or on parts of a proposal: all or nothing.

        Raises WorkspaceProblem (`not-allowed`), ProposalProblem (`list-not-found`,
        `proposal-not-found`, `proposals-moved`, `part-not-found`, `overtaken`), MdmemError as any
        write.
        """
        with self.record_event("accept" if request.accepts else "reject", request.options) as event:
            decision = list_decisions.decide(self.workspace, request, self.say)
            event.done(bool(decision.commits), commit=next(reversed(decision.commits), None))
        if decision.commits:
            self.catch_up(self.workspace)
        return decision
