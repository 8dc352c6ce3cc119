"""Propose an edit, planned and checked as a write, or a branch; HEAD, index and files stay."""

from __future__ import annotations

from collections.abc import Mapping

from mdmem import history, repo
from mdmem.catchup import trails
from mdmem.changes.apply import change_note, plan_diff, write_result
from mdmem.changes.commit_notes import complete_options, with_provenance
from mdmem.changes.file_write import Plan
from mdmem.changes.plan import plan_edit
from mdmem.changes.recover import lock_workspace, recover
from mdmem.editors import sameness
from mdmem.errors import ProposalProblem, RepositoryProblem
from mdmem.model import CommitId, FactId, Op, Provenance, Source
from mdmem.model.proposals import (
    MOST_PARTS,
    PartName,
    PartState,
    Propose,
    ProposeBranch,
    ProposedWrite,
)
from mdmem.model.writes import WriteOptions
from mdmem.proposals import branches, origins, reading
from mdmem.proposals.branches import ProposalRef
from mdmem.proposals.origins import DecidedPart
from mdmem.proposals.reading import Proposal
from mdmem.repo import branch_commits
from mdmem.repo.branch_commits import StoredFile
from mdmem.startup.records import replace
from mdmem.text import check
from mdmem.text.facts import items
from mdmem.trail import Trail
from mdmem.verbs import FileEdit, target_path, verb_of
from mdmem.wording import field, number_of, verb
from mdmem.workspace import Say, Workspace

_TRIES = 20


def propose(workspace: Workspace, request: Propose, say: Say) -> ProposedWrite:
    """Propose an edit on a new branch, or on that of an open proposal.

    Raises: MdmemError as the verb itself, ProposalProblem (`already-rejected`,
    `too-many-proposals`, `too-many-parts`, `proposal-not-found`, `nothing-committed`).
    """
    options = complete_options(workspace, request.edit.options)
    edit_verb = verb_of(request.edit)
    edit = edit_verb.with_entry(
        workspace, edit_verb.with_iso_day(workspace, replace(request.edit, options=options))
    )
    repository = workspace.repository
    with lock_workspace(workspace, say):
        for _ in range(_TRIES):
            ref = _ref(workspace, request)
            tip = ref.tip if ref else repository.head()
            if tip is None:
                raise ProposalProblem(
                    "nothing-committed",
                    "a proposal needs a first commit",
                    f"To create one: {verb('save')}",
                )
            view = replace(workspace, contents=branch_commits.CommitFiles(repository, tip))
            plan = plan_edit(view, edit, target_path(view, edit))
            if not plan.changes and not plan.marks:
                return ProposedWrite(write_result(plan, None), ref.id if ref else None)
            if not request.again and not _is_users_own(workspace, options):
                _refuse_rejected(workspace, plan)
            if options.dry_run:
                return ProposedWrite(
                    write_result(plan, None, diff=plan_diff(plan)), ref.id if ref else None
                )
            decided = origins.decisions(repository, repository.head())
            message = _message(workspace, ref.id if ref else request.own, plan, edit, decided)
            if ref is not None:
                branches.require_movable(repository, ref)
                _require_room(workspace, ref, plan)
            elif request.own is None and (same := branches.find_same(repository, message)):
                unchanged = replace(write_result(plan, None), changed=False)
                return ProposedWrite(unchanged, same.id, repeats=True)
            name = (
                ref.id
                if ref
                else request.own
                or branches.new_id(repository, message, {proposal for proposal, _ in decided})
            )
            message = branches.with_id(message, name)
            actor = options.pipeline.actor if options.pipeline else plan.actor
            commit = _commit(workspace, ref, tip, plan, message, name, actor)
            if commit is not None:
                return ProposedWrite(write_result(plan, commit), name)
    raise _moved_again()


def _ref(workspace: Workspace, request: Propose) -> ProposalRef | None:
    """The open proposal to extend; None to begin one."""
    if request.own is None:
        return (
            branches.find_proposal(workspace.repository, request.to)
            if request.to is not None
            else None
        )
    standing = branches.open_proposals(workspace.repository)
    if request.own not in standing:
        branches.require_few(standing)
    return standing.get(request.own)


def _moved_again() -> RepositoryProblem:
    return RepositoryProblem("busy", "another program keeps changing the proposal", "Try again.")


def _message(
    workspace: Workspace,
    proposal: str | None,
    plan: Plan,
    edit: FileEdit,
    decided: Mapping[tuple[str, PartName], DecidedPart],
) -> str:
    """The verb's own message; what this proposal decided before is proposed again."""
    note = change_note(workspace, plan, edit)
    if proposal is not None:
        names = dict.fromkeys(
            (*plan.added, *plan.removed, *plan.retracts, *plan.ended, *plan.edit.confirms)
        )
        again = (decided[proposal, name].commit for name in names if (proposal, name) in decided)
        note = replace(note, again=tuple(dict.fromkeys(again)))
    return history.compose_message(
        note, *((each.old.text if each.old else "", each.edit.text) for each in plan.files)
    )


def _commit(
    workspace: Workspace,
    ref: ProposalRef | None,
    tip: CommitId,
    plan: Plan,
    message: str,
    name: str,
    actor: str | None,
) -> CommitId | None:
    """Return None where the proposal's branch moved meanwhile."""
    repository, before = workspace.repository, branch_commits.CommitFiles(workspace.repository, tip)
    changed: dict[bytes, StoredFile | None] = {}
    for each in plan.files:
        if each.changes:
            blob = branch_commits.store(repository, each.path, each.after)
            changed[branch_commits.full_path(repository, each.path)] = StoredFile(
                before.mode(each.path), blob
            )
    commit = _own_commit(workspace, name, message, changed, tip)
    new = ProposalRef(
        id=name,
        actor=branches.safe_actor(actor),
        name=branches.branch_name(actor, name),
        tip=commit,
    )
    return (
        commit if branches.move(repository, ref, replace(ref, tip=commit) if ref else new) else None
    )


def _own_commit(
    workspace: Workspace,
    name: str,
    message: str,
    changed: Mapping[bytes, StoredFile | None],
    parent: CommitId,
) -> CommitId:
    date, identity = repo.raw_date(workspace.now()), workspace.identity()
    return branch_commits.make_own_commit(
        workspace.repository, name, message, changed, parent=parent, date=date, identity=identity
    )


def _require_room(workspace: Workspace, ref: ProposalRef, plan: Plan) -> None:
    (proposal,) = reading.read_proposals(workspace, [ref])
    more = len(set(plan.added) - {part.name for part in proposal.parts}) or 1
    number = sum(part.view.state.waits for part in proposal.parts)
    if number + more > MOST_PARTS:
        raise _too_many_parts(number + more)


def _too_many_parts(number: int) -> ProposalProblem:
    message = f"the proposal would have {number_of(number, 'part')}; the maximum is {MOST_PARTS:,}"
    return ProposalProblem("too-many-parts", message, "Propose the rest when these are decided.")


# What a person rejected.


def _is_users_own(workspace: Workspace, options: WriteOptions) -> bool:
    """True where the user says it, and no agent for them."""
    return (
        options.pipeline is None
        and options.source is Source.USER_STATED
        and not workspace.is_agent(options.actor)
    )


def _refuse_rejected(workspace: Workspace, plan: Plan) -> None:
    """Rejected parts are proposed again only if the user stated them since."""
    texts = {item.fact.id: item.fact.text for item in items(plan.new) if item.fact.id in plan.added}
    gone = frozenset(plan.removed) | frozenset(plan.retracts)
    _refuse_parts(workspace, texts, gone if not texts else frozenset())


def _refuse_parts(workspace: Workspace, texts: dict[FactId, str], gone: frozenset[FactId]) -> None:
    rejected = origins.rejected_parts(workspace.repository, workspace.repository.head())
    if not rejected:
        return
    with trails.fresh_trail(workspace) as trail:
        for part in rejected:
            fact = _same(part, texts, gone)
            if fact is not None and not is_said_anew(trail, part, texts.get(fact)):
                when = workspace.local_time(int(part.time.timestamp())).date()
                message = f"{fact} was rejected on {when} in {part.proposal}"
                raise ProposalProblem(
                    "already-rejected",
                    message,
                    f"To propose it again, use {field('again')}.",
                    fact=fact,
                )


def _same(part: DecidedPart, texts: dict[FactId, str], gone: frozenset[FactId]) -> FactId | None:
    if part.is_removal:
        return next((fact for fact in gone if fact == part.name), None)
    return next(
        (fact for fact, text in texts.items() if origins.says_the_same(part, fact, text)), None
    )


def is_said_anew(trail: Trail, part: DecidedPart, text: str | None) -> bool:
    """True if the user stated a rejected part since; `text` None is a removal."""
    commit = trail.commit_with_id(part.commit)
    facts = {FactId(part.name)} | {
        each.entry.fact
        for each in trail.fact_occurrences()
        if each.entry.fact and text and sameness.resemble(text, each.entry.text)
    }
    for fact in facts:
        for occurrence in trail.occurrences_of(fact):
            is_later = (
                occurrence.begun > commit.number
                if commit
                else occurrence.origin.time > part.time.timestamp()
            )
            if (
                is_later
                and occurrence.origin.source is Source.USER_STATED
                and occurrence.origin.claimed_by is None
            ):
                return True
    return False


# Branches.


def propose_branch(workspace: Workspace, request: ProposeBranch, say: Say) -> Proposal:
    """Make a proposal of a branch, which stays.

    Raises: RefusedChange, ProposalProblem (`proposal-not-found`, `nothing-to-propose`,
    `already-rejected`, `too-many-parts`).
    """
    repository = workspace.repository
    options = complete_options(
        workspace, WriteOptions(actor=request.actor, session=request.session, reason=request.reason)
    )
    with lock_workspace(workspace, say):
        recover(workspace, say)
        tip = repository.commit_named(f"refs/heads/{request.branch}") or repository.commit_named(
            request.branch
        )
        if tip is None:
            raise ProposalProblem(
                "proposal-not-found",
                f"no branch {request.branch[:80]!r}",
                "To list branches: git branch -a",
            )
        decided = {proposal for proposal, _ in origins.decisions(repository, repository.head())}
        name = branches.new_id(
            repository, f"{request.branch}\0{options.actor}\0{request.reason}", decided
        )
        draft = ProposalRef(
            id=name,
            actor=branches.safe_actor(options.actor),
            name=branches.branch_name(options.actor, name),
            tip=tip,
        )
        (proposal,) = reading.read_proposals(workspace, [draft])
        waiting = [part for part in proposal.parts if part.view.state.waits]
        if not waiting:
            raise ProposalProblem(
                "nothing-to-propose", f"{request.branch} changes nothing in memory"
            )
        if len(waiting) > MOST_PARTS:
            raise _too_many_parts(len(waiting))
        _check_branch(workspace, proposal, options, request.allow)
        if not request.again:
            brought = {
                FactId(part.name): part.view.new for part in waiting if part.view.new is not None
            }
            gone = frozenset(FactId(part.name) for part in waiting if part.view.new is None)
            _refuse_parts(workspace, brought, gone)
        actor = options.actor or proposal.view.actor
        note = history.CommitNote(
            op=Op.PROPOSE, path=waiting[0].view.path, section=(), provenance=Provenance()
        )
        message = history.compose_message(with_provenance(workspace, note, options))
        commit = _own_commit(workspace, name, message, {}, tip)
        ref = ProposalRef(
            id=name,
            actor=branches.safe_actor(actor),
            name=branches.branch_name(actor, name),
            tip=commit,
            is_own=True,
        )
        if not branches.move(repository, None, ref):
            raise _moved_again()
        (made,) = reading.read_proposals(workspace, [ref])
        return made


def _check_branch(
    workspace: Workspace, proposal: Proposal, options: WriteOptions, allow: frozenset[str]
) -> None:
    repository = workspace.repository
    paths = list(
        dict.fromkeys(
            part.view.path for part in proposal.parts if part.view.state is not PartState.REJECTED
        )
    )
    base = proposal.view.base
    old = branch_commits.CommitFiles(repository, base).read_all(paths) if base else {}
    problems = [*check.secrets_in_options(options)]
    for path, after in (
        branch_commits.CommitFiles(repository, proposal.ref.tip).read_all(paths).items()
    ):
        if after is not None:
            before = old.get(path)
            check.refuse_recalled([after.decode("utf-8", "replace")], before)
            problems += check.find_errors(path, before, after, workspace.kind_of(path))
    check.refuse_errors(problems, allow | {"shrink", "append"})
