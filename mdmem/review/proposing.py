"""Propose an edit, planned and checked as a write, or a branch; HEAD, index and files stay.

`Memory` asks for the ruling on a write by an agent that is to propose (`Workspace.proposes`) before
each write of memory; no door does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from mdmem import repo
from mdmem.changes import verbs
from mdmem.changes.apply import change_note, plan_diff, write_result
from mdmem.changes.commit_notes import complete_options, with_provenance
from mdmem.changes.file_write import Plan
from mdmem.changes.moves import require_possible
from mdmem.changes.plan import plan_edit
from mdmem.changes.recover import lock_workspace, recover
from mdmem.changes.verbs import FileEdit, target_path, verb_of, writer_of
from mdmem.editors import sameness, whole_file
from mdmem.folder import files, layout
from mdmem.folder.trust import Ruling
from mdmem.lookup import lookup
from mdmem.model import CommitId, FactId, FileKind, FilePath, Op, Provenance, Source
from mdmem.model.errors import (
    MdmemError,
    ProposalProblem,
    RepositoryProblem,
    field,
    number_of,
    verb,
)
from mdmem.model.proposals import (
    MOST_PARTS,
    PartName,
    PartState,
    PartView,
    Propose,
    ProposeBranch,
    ProposedWrite,
)
from mdmem.model.writes import (
    Change,
    CreateFile,
    DigestDay,
    EditSection,
    Forget,
    InsertText,
    Log,
    MovePath,
    Remember,
    ReplaceText,
    UserEdit,
    WholeFileEdit,
    WriteOptions,
    WriteResult,
)
from mdmem.past import fresh_trail
from mdmem.past.messages import CommitNote, compose_message
from mdmem.past.table import Trail
from mdmem.proposals import branches, listings, pieces, rewriting
from mdmem.proposals.branches import DecidedPart, ProposalRef
from mdmem.proposals.listings import Proposal
from mdmem.proposals.parts import Part
from mdmem.proposals.pieces import EMPTY, FileFacts, fact_pieces, section_pieces
from mdmem.proposals.rewriting import OwnFiles
from mdmem.repo import branch_commits
from mdmem.repo.branch_commits import StoredFile
from mdmem.startup.records import replace
from mdmem.text import check
from mdmem.text.document import parse, parse_bytes
from mdmem.text.facts import items
from mdmem.workspace import Say, Workspace

Asked: TypeAlias = Change | WholeFileEdit | MovePath


def rule_on(workspace: Workspace, asked: Asked | None, actor: str | None) -> Ruling:
    """Apply additions to days' logs, propose changes of facts and sections, refuse all else.

    `asked` None is a write that is no such record; texts and facts are those that `actor` sees.
    Raises: PathProblem (`bad-path`), MdmemError as the edit of a whole file.
    """
    match asked:
        case Log():
            kind = FileKind.DAILY
        case EditSection():
            kind = workspace.kind_of(verbs.named_file(workspace, asked.file))
        case Remember():
            return _propose_in(workspace.kind_of(verbs.named_file(workspace, asked.file)))
        case Forget(everywhere=False, file=None):
            return Ruling.PROPOSE
        case Forget(everywhere=False, file=file):
            return _propose_in(workspace.kind_of(layout.parse_path(file or "")))
        case CreateFile() | ReplaceText() | InsertText():
            path = layout.parse_any_path(asked.path)
            kind = workspace.kind_of(path)
            if kind is not FileKind.DAILY:
                seen = rewriting.seen_by(workspace, actor)
                is_memory = kind.is_memory and _changes_parts(seen, path, asked)
                return Ruling.PROPOSE if is_memory else Ruling.REFUSE
        case _:
            return Ruling.REFUSE
    if kind is FileKind.DAILY:
        replaced = asked.options.supersedes
        if replaced is None or not _is_elsewhere(rewriting.seen_by(workspace, actor), replaced):
            return Ruling.APPLY
    return _propose_in(kind)


def _propose_in(kind: FileKind) -> Ruling:
    """A proposal shows changes of memory alone."""
    return Ruling.PROPOSE if kind.is_memory else Ruling.REFUSE


def _is_elsewhere(workspace: Workspace, fact: str) -> bool:
    return any(
        workspace.kind_of(each.path) is not FileKind.DAILY
        for each in lookup.locate_fact(workspace, fact, tuple(FileKind))
    )


def _changes_parts(workspace: Workspace, path: FilePath, edit: WholeFileEdit) -> bool:
    data = lookup.read_file(workspace, path, files.path_on_disk(workspace.root, path))
    document = None if data is None else parse_bytes(data)
    text = whole_file.edit(document, edit, is_log=False).text
    before, after = FileFacts(document or EMPTY), FileFacts(parse(text))
    facts = fact_pieces(before, after)
    return bool(facts or section_pieces(before, after, facts, {}))


_TRIES = 20


def propose(workspace: Workspace, request: Propose, say: Say) -> ProposedWrite:
    """Each actor has one open proposal on a machine; the edit becomes a part of it.

    It is planned on memory as the actor sees it: HEAD's, with its own open parts.
    Raises: MdmemError as the verb itself, ProposalProblem (`already-rejected`,
    `too-many-proposals`, `too-many-parts`, `checked-out`, `nothing-committed`).
    """
    own_work = isinstance(request.edit, DigestDay)
    options = complete_options(workspace, request.edit.options, own_work)
    edit_verb = verb_of(request.edit)
    edit = edit_verb.with_entry(
        workspace, edit_verb.with_iso_day(workspace, replace(request.edit, options=options))
    )
    actor = writer_of(edit)
    with lock_workspace(workspace, say):
        for _ in range(_TRIES):
            head = workspace.repository.head()
            if head is None:
                raise ProposalProblem(
                    "nothing-committed",
                    "a proposal needs a first commit",
                    f"To create one: {verb('save')}",
                )
            own = OwnFiles(workspace, head, actor)
            plan, repeats = _plan(workspace, edit, own)
            if repeats or not (plan.changes or plan.marks):
                unchanged = replace(write_result(plan, None), changed=False)
                name = branches.own_branch(actor)[0] if repeats else None
                return ProposedWrite(unchanged, name, repeats)
            if not request.again and not _is_users_own(workspace, options):
                _refuse_rejected(workspace, plan)
            if options.dry_run:
                result = write_result(plan, None, diff=plan_diff(plan))
                return ProposedWrite(result, own.proposal.ref.id if own.proposal else None)
            if own.proposal is None:
                branches.require_few(branches.open_proposals(workspace))
            else:
                branches.require_movable(workspace.repository, own.proposal.ref)
                _require_room(own, plan)
            ref = _extend(workspace, own, plan, edit, actor)
            if branches.move(workspace, own.proposal.ref if own.proposal else None, ref):
                taken_back = _takes_back_all(workspace, own, plan, actor)
                result = replace(write_result(plan, ref.tip), taken_back=taken_back)
                return ProposedWrite(result, ref.id)
    raise _moved_again()


def propose_as_write(workspace: Workspace, edit: UserEdit | WholeFileEdit, say: Say) -> WriteResult:
    """Propose an agent's edit; files, index and HEAD stay. Raises: MdmemError as `propose`."""
    if isinstance(edit, WholeFileEdit):
        actor = workspace.given_actor(edit.options.actor)
        require_possible(rewriting.seen_by(workspace, actor), edit)
    done = propose(workspace, Propose(edit=edit), say)
    return replace(
        done.result,
        proposed=done.proposal is not None or done.result.changed,
        proposal=done.proposal,
    )


def _plan(workspace: Workspace, edit: FileEdit, own: OwnFiles) -> tuple[Plan, bool]:
    """Plan an edit on the actor's view; True if the actor has already proposed it."""
    waiting = {part.name: part.view for part in own.waiting if part.view.state is PartState.OPEN}
    view = replace(workspace, contents=own)
    try:
        plan = plan_edit(view, edit, target_path(view, edit), proposes=True)
    except MdmemError:
        repeat = _plan_at_head(workspace, edit, own) if waiting else None
        if repeat is None or not _are_in(waiting, repeat):
            raise
        return repeat, True
    if plan.changes or plan.marks:
        in_text = {part.name for part in own.parts if not part.is_stated}
        unseen = {name: view for name, view in waiting.items() if name not in in_text}
        return plan, _are_in(unseen, plan)
    place = plan.path, plan.edit.section
    if plan.fact is not None:
        return plan, plan.fact in waiting
    return plan, any((part.path, part.section) == place for part in waiting.values())


def _are_in(waiting: Mapping[PartName, PartView], plan: Plan) -> bool:
    stays = {*plan.added, *plan.edit.confirms}
    goes = {*([] if plan.added else plan.removed), *plan.retracts, *plan.ended}
    made = {False: set[str](), True: set[str]()}
    for name, view in waiting.items():
        made[view.new is None].add(name)
    return bool(stays or goes) and stays <= made[False] and goes <= made[True]


def _plan_at_head(workspace: Workspace, edit: FileEdit, own: OwnFiles) -> Plan | None:
    files = branch_commits.CommitFiles(own.repository, own.commit)
    at_head = replace(workspace, contents=files)
    try:
        return plan_edit(at_head, edit, target_path(at_head, edit), proposes=True)
    except MdmemError:
        return None


def _statements(plan: Plan) -> tuple[FactId, ...]:
    return (*plan.retracts, *plan.ended, *plan.edit.confirms)


def _moved_again() -> RepositoryProblem:
    return RepositoryProblem("busy", "another program keeps changing the proposal", "Try again.")


def _extend(
    workspace: Workspace, own: OwnFiles, plan: Plan, edit: FileEdit, actor: str | None
) -> ProposalRef:
    repository = workspace.repository
    proposal, name = branches.own_branch(actor)
    edited = [each for each in plan.files if each.changes]
    replaced = [
        part for each in edited for part in own.replaced(each.path, each.before, each.after)
    ]
    files = {each.path: own.for_branch(each.path, each.after, replaced) for each in edited}
    taken_back = [part for part in own.parts if _is_taken_back(part, plan)]
    tip = _base_of(workspace, own, [*replaced, *taken_back])
    at_tip = branch_commits.CommitFiles(repository, tip)
    changed: dict[bytes, StoredFile | None] = {
        branch_commits.full_path(repository, path): StoredFile(
            at_tip.mode(path), branch_commits.store(repository, path, data)
        )
        for path, data in files.items()
    }
    names = {*plan.added, *plan.removed, *_statements(plan), *_section_names(plan, files)}
    decided = branches.decisions_on(branches.decisions(repository, own.commit), proposal, name)
    again = tuple(dict.fromkeys(decided[each].commit for each in names if each in decided))
    own_names = {part.name for part in taken_back}
    retracts = tuple(fact for fact in plan.retracts if fact not in own_names)
    message = compose_message(
        replace(change_note(workspace, plan, edit), again=again, retracts=retracts),
        *((each.old.text if each.old else "", each.edit.text) for each in plan.files),
    )
    commit = _own_commit(workspace, proposal, branches.with_id(message, proposal), changed, tip)
    if own.proposal is not None:
        return replace(own.proposal.ref, tip=commit)
    return ProposalRef(id=proposal, actor=branches.safe_actor(actor), name=name, tip=commit)


def _is_taken_back(part: Part, plan: Plan) -> bool:
    """True for a line of a day's log that was proposed: it goes, where one of memory is marked."""
    return part.view.path == plan.path and part.name in plan.retracts and not part.is_stated


def _takes_back_all(workspace: Workspace, own: OwnFiles, plan: Plan, actor: str | None) -> bool:
    """True if a proposed edit removed open parts of its actor, and made no other."""
    names = {*plan.added, *plan.removed, *_statements(plan)}
    if names.isdisjoint(part.name for part in own.parts):
        return False
    after = OwnFiles(workspace, own.commit, actor)
    return names.isdisjoint(part.name for part in after.waiting)


def _base_of(workspace: Workspace, own: OwnFiles, replaced: Collection[Part]) -> CommitId:
    proposal = own.proposal
    if proposal is None:
        return own.commit
    kept = [part for part in own.waiting if part not in replaced]
    if proposal.view.base == own.commit and len(kept) == len(proposal.parts):
        return proposal.ref.tip
    return rewriting.rebuild(workspace, proposal, kept, own.commit) or own.commit


def _section_names(plan: Plan, files: Mapping[FilePath, bytes]) -> set[PartName]:
    names: set[PartName] = set()
    for each in plan.files:
        if each.path in files:
            names |= pieces.section_names(parse_bytes(files[each.path])) ^ pieces.section_names(
                each.old or pieces.EMPTY
            )
    return names


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


def _require_room(own: OwnFiles, plan: Plan) -> None:
    more = len(set(plan.added) - {part.name for part in own.waiting}) or 1
    if len(own.waiting) + more > MOST_PARTS:
        raise _too_many_parts(len(own.waiting) + more)


def _too_many_parts(number: int) -> ProposalProblem:
    message = f"the proposal would have {number_of(number, 'part')}; the maximum is {MOST_PARTS:,}"
    return ProposalProblem("too-many-parts", message, "Propose the rest when these are decided.")


# What a person rejected.


def _is_users_own(workspace: Workspace, options: WriteOptions) -> bool:
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
    rejected = branches.rejected_parts(workspace.repository, workspace.repository.head())
    if not rejected:
        return
    with fresh_trail(workspace) as trail:
        for part in rejected:
            fact = _same(part, texts, gone)
            if fact is not None and not _is_said_anew(trail, part, texts.get(fact)):
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
        (fact for fact, text in texts.items() if branches.says_the_same(part, fact, text)), None
    )


def _is_said_anew(trail: Trail, part: DecidedPart, text: str | None) -> bool:
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
    """The branch itself is unchanged."""
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
        draft = ProposalRef(id="", actor="", name="", tip=tip)
        (proposal,) = listings.read_proposals(workspace, [draft])
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
        note = CommitNote(
            op=Op.PROPOSE, path=waiting[0].view.path, section=(), provenance=Provenance()
        )
        message = compose_message(with_provenance(workspace, note, options))
        content = f"{request.branch}\0{options.actor}\0{request.reason}"
        decided = branches.decisions(repository, repository.head())
        name, branch = branches.new_branch(workspace, actor, content, decided)
        ref = ProposalRef(
            id=name,
            actor=branches.safe_actor(actor),
            name=branch,
            tip=_own_commit(workspace, name, message, {}, tip),
        )
        if not branches.move(workspace, None, ref):
            raise _moved_again()
        ref = branches.open_proposals(workspace).get(name, ref)
        (made,) = listings.read_proposals(workspace, [ref])
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
