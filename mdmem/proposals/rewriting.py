"""Parts put into a file's text; and a proposal's branch made anew from some of its parts."""

from __future__ import annotations

from collections.abc import Sequence

from mdmem.editors.fact_difference import fact_difference
from mdmem.model import CommitId, FactId, FileKind, Op, Provenance, SectionPath
from mdmem.model.errors import SectionProblem
from mdmem.model.proposals import PartOp, PartState
from mdmem.past.messages import CommitNote, compose_message
from mdmem.proposals import branches, reading, taking
from mdmem.proposals.parts import Part
from mdmem.proposals.pieces import EMPTY, FactPiece, SectionPiece
from mdmem.proposals.reading import Proposal
from mdmem.proposals.taking import PutText
from mdmem.repo import branch_commits
from mdmem.repo.branch_commits import NEW_FILE_MODE, NewCommit, StoredFile
from mdmem.startup.records import replace
from mdmem.text.document import decode, parse
from mdmem.workspace import Workspace, open_at

_OPS = {
    PartOp.ADD: Op.REMEMBER,
    PartOp.UPDATE: Op.REMEMBER,
    PartOp.DELETE: Op.FORGET,
    PartOp.SECTION: Op.REPLACE,
}


def rebuild(
    workspace: Workspace, proposal: Proposal, parts: Sequence[Part], onto: CommitId | None
) -> CommitId | None:
    """Commit parts on top of a commit, one each, moving no branch; None where nothing is left.

    Each keeps its author and time. A part that is overtaken stays so.
    Raises: SectionProblem (`body-escapes-section`, `open-block`): a part would change other text.
    """
    commits = _commits(workspace, proposal, parts, onto)
    for folder in proposal.branch.shared_with:
        other = open_at(folder, workspace.environment)
        (theirs,) = reading.read_proposals(other, [proposal.ref])
        waiting = [part for part in theirs.parts if part.view.state.waits]
        commits += _commits(other, theirs, waiting, onto)
    if not commits:
        return None
    first = replace(commits[0], parent=onto)
    return branch_commits.make_commits(workspace.repository, proposal.ref.id, [first, *commits[1:]])


def _commits(
    workspace: Workspace, proposal: Proposal, parts: Sequence[Part], onto: CommitId | None
) -> list[NewCommit]:
    repository, changes = workspace.repository, proposal.branch.commit_changes
    modes = {change.path: change.mode for row in changes for change in row}
    paths = list(dict.fromkeys(part.view.path for part in parts))
    stored = branch_commits.CommitFiles(repository, onto).read_all(paths) if onto else {}
    texts = {path: decode(data or b"") for path, data in stored.items()}
    commits = []
    for part in in_order(parts):
        path = part.view.path
        before = texts.get(path, "")
        after = _with_part(part, before, workspace.kind_of(path), is_forced=True)
        if after != before or part.is_stated:
            texts[path] = after
            name = branch_commits.full_path(repository, path)
            file = StoredFile(modes.get(name, NEW_FILE_MODE), after.encode())
            commit = part.proposed.commit if part.proposed else proposal.branch.commits[-1]
            message = branches.with_id(_message(part, before, after), proposal.ref.id)
            commits.append(
                NewCommit(
                    message=message.encode("utf-8", "replace"),
                    author=commit.author,
                    committer=commit.committer,
                    files={name: file} if after != before else {},
                )
            )
    return commits


def put_part(part: Part, text: str, kind: FileKind, *, is_forced: bool = False) -> str:
    """A file's text with a part in it; as it was where the part cannot be put there."""
    try:
        return _with_part(part, text, kind, is_forced=is_forced)
    except SectionProblem:  # other text would change
        return text


def _with_part(part: Part, text: str, kind: FileKind, *, is_forced: bool) -> str:
    put = _put(part, text, kind, is_forced)
    return text if put is None or put.text is None else put.text


def text_at(part: Part, text: str, kind: FileKind) -> str | None:
    try:
        put = _put(part, text, kind, is_forced=True)
    except SectionProblem:  # other text would change
        return None
    return put.judgement.standing if put else None


def _put(part: Part, text: str, kind: FileKind, is_forced: bool) -> PutText | None:
    if part.source is None:
        return None
    now = parse(text) if text else EMPTY
    match part.piece:
        case FactPiece():
            return taking.put_fact(part.piece, part.source, now, kind, is_forced=is_forced)
        case SectionPiece():
            return taking.put_section(part.piece, part.source, now, is_forced=is_forced)
    return None


def _message(part: Part, before: str, after: str) -> str:
    origin, note = part.view.origin, part.proposed.note if part.proposed else None
    provenance = Provenance(
        source=origin.source,
        confidence=origin.confidence,
        actor=origin.actor,
        session=origin.session,
        reason=origin.reason,
    )
    replaced = fact_difference(parse(before), parse(after)).supersedes
    return compose_message(
        CommitNote(
            op=_OPS.get(part.view.op, Op.RETRACT if part.retracts or part.ended else Op.CONFIRM),
            path=part.view.path,
            section=part.view.section,
            provenance=provenance,
            only=part.view.op is PartOp.DELETE and not part.forgets,
            supersedes=tuple(dict.fromkeys((*part.supersedes, *replaced))),
            ended=part.ended,
            retracts=part.retracts,
            confirms=part.confirms,
            contradicts=part.contradicts,
            promotes=tuple((log, FactId(part.name)) for log in part.promotes),
            cites=tuple((FactId(part.name), cited) for cited in origin.cites),
            keys=part.keys,
            run=origin.run,
            dreamt=note.dreamt if note else None,
            again=note.again if note else (),
            overtaken=part.view.state is PartState.OVERTAKEN,
        ),
        (before, after),
    )


def order(part: Part) -> int:
    """Headings that others may need first, then facts, then texts and removals."""
    piece = part.piece
    if not isinstance(piece, SectionPiece):
        return 1
    section: tuple[SectionPath | None, SectionPath | None] = (piece.old, piece.new)
    return 2 if piece.target is not None else 3 if section[1] is None else 0


def in_order(parts: Sequence[Part]) -> list[Part]:
    """Parts in the order in which they can be applied."""
    return sorted(parts, key=order)
