"""Parts of a proposal: chosen by name, applied with their provenance or rejected, and the branch
afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby

from mdmem.changes.commit_notes import commit_note, with_provenance
from mdmem.changes.recover import Transaction
from mdmem.changes.verbs import EditedText, Verb
from mdmem.editors import EditResult
from mdmem.editors.fact_difference import fact_difference
from mdmem.folder import files
from mdmem.lookup import lookup
from mdmem.model import (
    CommitId,
    FactId,
    FileKind,
    FilePath,
    Op,
    Provenance,
    SectionPath,
    Source,
    Supersession,
)
from mdmem.model.errors import MdmemError, ProposalProblem, field, shell_word, verb
from mdmem.model.proposals import Decide, PartName, PartOp, PartState, PartView, Selection
from mdmem.model.writes import WriteOptions, WriteResult, is_night
from mdmem.past.messages import CommitNote
from mdmem.proposals import branches, listings, rewriting, taking
from mdmem.proposals.listings import OpenPart, Proposal
from mdmem.proposals.parts import Part
from mdmem.proposals.pieces import EMPTY, FactPiece, FileFacts, FileSource, SectionPiece
from mdmem.repo import branch_commits, commits
from mdmem.repo.branch_commits import NewCommit
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import Document, join_path, parse, parse_bytes
from mdmem.text.facts import parse_item
from mdmem.workspace import Workspace, open_at


@dataclass(frozen=True, slots=True)
class PartTaking:
    """A part to accept, in a person's own `text` if any, or `anyway`, despite later changes.

    `keeps`: beside what it would replace. `voices` are parts that propose the same, `closes` its
    rivals: pairs of a proposal and a part.
    """

    proposal: str
    part: Part
    text: str | None = None
    anyway: bool = False
    keeps: bool = False
    voices: tuple[tuple[str, str], ...] = ()
    closes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AcceptEdit:
    verb = "accept"
    home = "review.deciding"

    taking: PartTaking
    options: WriteOptions


def edit(change: PartTaking, document: Document | None, kind: FileKind) -> EditedText:
    """Raises: ProposalProblem (`overtaken`, unless `anyway`), SectionProblem."""
    now, part = document or EMPTY, change.part
    if part.view.state is PartState.OVERTAKEN and not change.anyway:
        raise overtaken(change, part.view.standing)
    match part.piece, part.source:
        case FactPiece() as piece, FileSource() as source:
            return _edit_fact(change, piece, source, now, kind)
        case SectionPiece() as piece, FileSource() as source:
            return _edit_section(change, piece, source, now)
    result = EditResult(
        text=now.text, op=Op.ACCEPT, section=part.view.section, confirms=part.confirms
    )
    return EditedText(result=result, retracts=(*part.retracts, *part.ended))


def _edit_fact(
    change: PartTaking, piece: FactPiece, source: FileSource, now: Document, kind: FileKind
) -> EditedText:
    put = taking.put_fact(
        piece,
        source,
        now,
        kind,
        wording=change.text,
        is_forced=change.anyway,
        keeps=change.keeps,
    )
    if put.text is None:
        raise overtaken(change, put.judgement.standing)
    new, after = _new_fact(change), parse(put.text)
    if put.merged:
        new = next((item.fact.id for item in fact_difference(now, after).added), None)
    elif new is not None and not FileFacts(after).holders(new, None):
        raise ProposalProblem(
            "overtaken",
            f"{change.part.name} would have another meaning in its place",
            "Write it by hand.",
        )
    supersedes = _supersedes(
        change, new, {item.fact.id for item in put.judgement.goes}, kind is FileKind.DAILY
    )
    return EditedText(
        result=EditResult(
            text=put.text,
            op=Op.ACCEPT,
            section=put.section,
            supersedes=supersedes,
            also=change.keeps,
        )
    )


def _new_fact(change: PartTaking) -> FactId | None:
    piece = change.part.piece
    if not isinstance(piece, FactPiece) or piece.new is None:
        return None
    return piece.fact if change.text is None else parse_item(taking.written(change.text)).id


def _supersedes(
    change: PartTaking, new: FactId | None, went: set[FactId], is_log: bool
) -> tuple[Supersession, ...]:
    if new is None:
        return ()
    stated = [pair.old for pair in change.part.supersedes if pair.old in went or is_log]
    return tuple(
        Supersession(old, new) for old in dict.fromkeys((*sorted(went), *stated)) if old != new
    )


def _edit_section(
    change: PartTaking, piece: SectionPiece, source: FileSource, now: Document
) -> EditedText:
    put = taking.put_section(piece, source, now, wording=change.text, is_forced=change.anyway)
    if put.text is None:
        raise overtaken(change, put.judgement.standing)
    return EditedText(result=EditResult(text=put.text, op=Op.ACCEPT, section=put.section))


def overtaken(change: PartTaking, standing: str | None) -> ProposalProblem:
    view = change.part.view
    now, proposed = standing or "nothing", view.new or "to remove it"
    message = f"{view.name} is outdated: its target has changed since it was proposed"
    words = " ".join(map(shell_word, (change.proposal, view.name)))
    command = f"{verb('accept')} {words} {field('anyway')}"
    hint = f"Now there: {now}\nProposed: {proposed}\nTo accept it anyway: {command}"
    return ProposalProblem(
        "overtaken", message, hint, part=view.name, standing=standing, proposed=view.new
    )


def _complete_note(note: CommitNote, edit: AcceptEdit, added: tuple[FactId, ...]) -> CommitNote:
    change, part = edit.taking, edit.taking.part
    fact = _new_fact(change) or FactId(part.name)
    return replace(
        note,
        proposal=change.proposal,
        proposed_by=part.view.origin.actor,
        accepts=((change.proposal, part.name), *change.voices),
        closes=change.closes,
        cites=tuple((fact, cited) for cited in part.view.origin.cites),
        contradicts=part.contradicts if change.text is None else (),
        keys=part.keys if change.text is None else (),
        promotes=tuple((log, fact) for log in part.promotes),
        only=part.view.op is PartOp.DELETE and not part.forgets,
    )


VERB = Verb(
    file=lambda workspace, edit: edit.taking.part.view.path,
    edit=lambda workspace, change, path, document: edit(
        change.taking, document, workspace.kind_of(path)
    ),
    new_texts=lambda edit: tuple(
        text for text in (edit.taking.text, edit.taking.part.view.new) if text
    ),
    appends=lambda edit: edit.taking.part.view.op in (PartOp.ADD, PartOp.RETRACT, PartOp.CONFIRM),
    decides=lambda edit: not edit.taking.anyway,
    complete_note=_complete_note,
)


_PARTS_A_COMMIT = 20
"""The maximum of parts in a rejecting commit: as many lines as a message quotes."""
_LEAST_DIGITS = 6


def choose_parts(
    workspace: Workspace, named: str, selection: Selection, request: Decide
) -> tuple[Proposal, list[PartTaking]]:
    """The proposal that a selection names, and the parts to decide: as named, or all that wait.

    Of all, only fresh parts are accepted; those that then conflict are marked as overtaken.
    """
    proposal = _find(workspace, named)
    for _, tip in request.expect:
        require_tip(proposal.ref.id, proposal.ref.tip, tip)
    edited = {part.name: text for name, text in selection.edited for part in _named(proposal, name)}
    names = {part.name for name in selection.parts for part in _named(proposal, name)} | {*edited}
    takes_fresh = request.accepts and not names
    if takes_fresh:
        proposal = _with_conflicts_marked(workspace, proposal)
    chosen = [
        part
        for part in proposal.parts
        if part.view.state.waits
        and (not names or part.name in names)
        and (not takes_fresh or _is_fresh(part, proposal))
    ]
    _require_readable(proposal, chosen)
    return proposal, [
        PartTaking(
            proposal=proposal.ref.id,
            part=part,
            text=edited.get(part.name),
            anyway=request.anyway,
        )
        for part in chosen
    ]


def require_tip(proposal: str, tip: CommitId | None, expect: str | None) -> None:
    if expect is not None and tip != expect:
        raise ProposalProblem(
            "proposals-moved",
            f"proposal {proposal} has changed since it was shown",
            f"To show it again: {verb('proposals')} {shell_word(proposal)}",
        )


def part_edit(taking: PartTaking, vouch: bool, options: WriteOptions) -> AcceptEdit:
    """The source is the part's own, or the person's where they vouch for it or edit it."""
    origin = taking.part.view.origin
    is_persons = vouch or taking.text is not None
    source = Source.USER_STATED if is_persons else origin.source
    its_options = replace(
        options,
        source=source,
        confidence=source.confidence if is_persons else origin.confidence,
        session=options.session or origin.session,
        reason=options.reason or origin.reason,
    )
    return AcceptEdit(taking, its_options)


def _find(workspace: Workspace, named: str) -> Proposal:
    named = lookup.run_meant(workspace, named)
    if is_night(named):
        return _of_night(workspace, named)
    ref = branches.find_proposal(workspace, named)
    (proposal,) = listings.read_proposals(workspace, [ref])
    return proposal


def _of_night(workspace: Workspace, night: str) -> Proposal:
    proposals = []
    for proposal in listings.read_open(workspace)[0]:
        parts = tuple(part for part in proposal.parts if part.view.origin.run == night)
        if any(part.view.state.waits for part in parts):
            proposals.append(replace(proposal, parts=parts))
    if not proposals:
        raise ProposalProblem(
            "proposal-not-found",
            f"no part proposed by {night} is pending",
            f"To list open proposals: {verb('proposals')}",
        )
    if len(proposals) > 1:
        names = ", ".join(proposal.ref.id for proposal in proposals)
        raise ProposalProblem(
            "ambiguous",
            f"{night} has parts in {len(proposals)} proposals, of several machines",
            f"They are {names}.",
        )
    return proposals[0]


def part_to_edit(workspace: Workspace, named: str, name: str, anyway: bool) -> PartView:
    """The part that a name means.

    Raises: ProposalProblem (`proposal-not-found`, `part-not-found`, `ambiguous`, `overtaken`).
    """
    proposal = _find(workspace, named)
    part = _named(proposal, name)[0]
    if part.view.state is PartState.OVERTAKEN and not anyway:
        raise overtaken(PartTaking(proposal=proposal.ref.id, part=part), part.view.standing)
    return part.view


def _with_conflicts_marked(workspace: Workspace, proposal: Proposal) -> Proposal:
    """Mark fresh parts as overtaken if only merging one after the other shows a conflict."""
    fresh = rewriting.in_order(
        [part for part in proposal.parts if part.view.state is PartState.OPEN]
    )
    takings = [PartTaking(proposal=proposal.ref.id, part=part) for part in fresh]
    met = [fresh[number] for number in find_conflicts(workspace, takings)]
    parts = (
        replace(part, view=replace(part.view, state=PartState.OVERTAKEN)) if part in met else part
        for part in proposal.parts
    )
    return replace(proposal, parts=tuple(parts))


def find_conflicts(workspace: Workspace, takings: Iterable[PartTaking]) -> list[int]:
    """The numbers, from 0, of those that would be overtaken by the ones before them."""
    texts: dict[FilePath, Document | None] = {}
    met = []
    for number, each in enumerate(takings):
        path = each.part.view.path
        if path not in texts:
            data = files.read(files.path_on_disk(workspace.root, path))
            texts[path] = None if data is None else parse_bytes(data)
        try:
            taken = edit(each, texts[path], workspace.kind_of(path))
        except ProposalProblem:
            met.append(number)
        except MdmemError:
            pass  # reported when it is carried out
        else:
            texts[path] = parse(taken.result.text)
    return met


def _named(proposal: Proposal, name: str) -> list[Part]:
    word = name.strip()
    exact = [part for part in proposal.parts if part.name == word]
    parts = exact or [part for part in proposal.parts if _fits(part.name, word)]
    _require_readable(proposal, parts)
    if not parts:
        raise ProposalProblem(
            "part-not-found",
            f"{proposal.ref.id} has no part {name[:80]!r}",
            f"To list them: {verb('proposals')} {shell_word(proposal.ref.id)}",
        )
    if len({part.name for part in parts}) > 1:
        names = ", ".join(sorted({part.name for part in parts}))
        raise ProposalProblem(
            "ambiguous", f"{name[:80]!r} matches several parts", f"They are {names}."
        )
    require_single(proposal, parts)
    return parts


def _is_fresh(part: Part, proposal: Proposal) -> bool:
    """A decision covers all parts of its name, so none of these may be overtaken."""
    is_overtaken = any(
        other.name == part.name and other.view.state is PartState.OVERTAKEN
        for other in proposal.parts
    )
    return part.view.state is PartState.OPEN and not is_overtaken


def require_single(proposal: Proposal, parts: Sequence[Part]) -> None:
    """Refuse one of several parts with one name: the decision would cover all of them."""
    waiting = [part.view for part in parts if part.view.state.waits]
    if len(waiting) > 1:
        places = ", ".join(
            f"{join_path((view.path, *view.section))} ({view.op.value})" for view in waiting
        )
        message = (
            f"{len(waiting)} parts of {proposal.ref.id} have the name {waiting[0].name}: {places}"
        )
        name = shell_word(proposal.ref.id)
        hint = (
            f"Decide them together. To accept all parts: {verb('accept')} {name}; to reject them:"
            f" {verb('reject')} {name}"
        )
        raise ProposalProblem("ambiguous", message, hint)


def _require_readable(proposal: Proposal, parts: Sequence[Part]) -> None:
    """An unreadable memory file may have open parts, so nothing can be decided unnamed."""
    if not parts and proposal.problems:
        raise proposal.problems[0]


def _fits(part: PartName, word: str) -> bool:
    section, at, etag = part.rpartition("@")
    if at:
        return word in (section, etag, section.rpartition(" > ")[2])
    return len(word) >= _LEAST_DIGITS and part.startswith(word.casefold())


# Rejecting.


def reject_parts(
    workspace: Workspace, parts: Sequence[OpenPart], options: WriteOptions, transaction: Transaction
) -> dict[tuple[str, PartName], CommitId]:
    """Reject parts as a part of a transaction; the commit of each. The caller holds the lock."""
    made: dict[tuple[str, PartName], CommitId] = {}
    for group in _groups(parts):
        parent = workspace.repository.head()
        commit = commit_note(workspace, _rejection(workspace, group, options), _texts(group))
        transaction.begin_write().add(partial(_withdraw, workspace, commit, parent))
        made |= {each.pair: commit for each in group}
    return made


def _withdraw(
    workspace: Workspace, commit: CommitId, parent: CommitId | None, _: BaseException
) -> bool:
    return commits.withdraw(workspace.repository, commit, parent)


def rejected(view: PartView, commit: CommitId | None) -> WriteResult:
    return WriteResult(
        changed=True, path=view.path, section=view.section, etag=None, commit=commit, op=Op.REJECT
    )


def _groups(parts: Sequence[OpenPart]) -> Iterator[list[OpenPart]]:
    def place(each: OpenPart) -> tuple[FilePath, SectionPath, str]:
        view = each.part.view
        return view.path, view.section, view.origin.actor or ""

    for _, same in groupby(sorted(parts, key=place), key=place):
        group = list(same)
        yield from (
            group[start : start + _PARTS_A_COMMIT]
            for start in range(0, len(group), _PARTS_A_COMMIT)
        )


def _texts(group: Sequence[OpenPart]) -> tuple[str, str]:
    pieces = [each.part.piece for each in group if isinstance(each.part.piece, FactPiece)]
    return (
        "".join(f"{piece.new.item.raw.rstrip()}\n" for piece in pieces if piece.new),
        "".join(f"{piece.old.item.raw.rstrip()}\n" for piece in pieces if piece.old),
    )


def _rejection(
    workspace: Workspace, group: Sequence[OpenPart], options: WriteOptions
) -> CommitNote:
    view = group[0].part.view
    note = CommitNote(
        op=Op.REJECT,
        path=view.path,
        section=view.section,
        provenance=Provenance(),
        proposed_by=view.origin.actor,
        rejects=tuple(dict.fromkeys(each.pair for each in group)),
    )
    return with_provenance(workspace, note, options)


# The branch afterwards.


def settle(workspace: Workspace, proposals: Sequence[Proposal]) -> tuple[str, ...]:
    """Remove decided parts, and branches without open ones; return the ids of these.

    This completes what a killed process began. A branch checked out in a work tree is unchanged.
    """
    repository = workspace.repository
    refs = [
        each.ref
        for each in proposals
        if not branch_commits.checked_out_in(repository, each.ref.name)
    ]
    settled = listings.read_proposals(workspace, refs) if refs else []
    branches.drop_old(workspace)
    return tuple(after.ref.id for after in settled if _settle(workspace, after))


def _settle(workspace: Workspace, after: Proposal) -> bool:
    ref = after.ref
    if is_decided(workspace, after):
        return branches.close(workspace, ref, _closing_commit(workspace, ref.id, ref.tip))
    if after.problems or not after.view.waits:
        return False
    gone = [
        part
        for part in after.parts
        if part.view.state in (PartState.REJECTED, PartState.SUPERSEDED)
        and (part.piece is not None or part.is_stated)
    ]
    return bool(gone) and withdraw_parts(workspace, after, gone)


def is_decided(workspace: Workspace, proposal: Proposal) -> bool:
    """True if nothing of a proposal waits, in any workspace."""
    return not (proposal.problems or proposal.view.waits) and not any(
        listings.waits(open_at(folder, workspace.environment), proposal.ref)
        for folder in proposal.branch.shared_with
    )


def withdraw_parts(workspace: Workspace, proposal: Proposal, parts: Sequence[Part]) -> bool:
    """Return True where the branch is gone. One that is checked out in a work tree is unchanged."""
    repository, before = workspace.repository, proposal.ref
    if branch_commits.checked_out_in(repository, before.name):
        return False
    names = {part.name for part in parts}
    kept = [part for part in proposal.parts if part.name not in names]
    tip = rewriting.rebuild(workspace, proposal, kept, proposal.view.base)
    if tip is None:
        return branches.close(workspace, before, _closing_commit(workspace, before.id, before.tip))
    branches.move(workspace, before, replace(before, tip=tip))
    return False


def _closing_commit(workspace: Workspace, proposal: str, tip: CommitId) -> CommitId:
    """Commit on top of a closed proposal: the commit's date says how long it is kept."""
    repository = workspace.repository
    author, committer = branch_commits.identity_lines(
        repository, f"@{int(time.time())} +0000", workspace.identity()
    )
    message = f"mdmem: closed proposal {proposal}\n".encode()
    new = NewCommit(message=message, author=author, committer=committer, files={}, parent=tip)
    return branch_commits.make_commits(repository, proposal, [new])
