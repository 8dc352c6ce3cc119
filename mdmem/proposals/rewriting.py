"""Parts put into a file's text: for an actor who sees the own open ones applied, or to make a
proposal's branch anew from some of its parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from mdmem.editors.fact_difference import fact_difference
from mdmem.folder import files, layout
from mdmem.model import CommitId, FactId, FileKind, FilePath, Op, Provenance, SectionPath
from mdmem.model.errors import SectionProblem
from mdmem.model.proposals import PartOp, PartState
from mdmem.past.messages import CommitNote, compose_message
from mdmem.proposals import branches, listings, taking
from mdmem.proposals.listings import Proposal
from mdmem.proposals.parts import Part
from mdmem.proposals.pieces import EMPTY, FactPiece, SectionPiece
from mdmem.proposals.taking import PutText
from mdmem.repo import branch_commits
from mdmem.repo.branch_commits import NEW_FILE_MODE, CommitFiles, NewCommit, StoredFile
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
        (theirs,) = listings.read_proposals(other, [proposal.ref])
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


def _put_part(part: Part, text: str, kind: FileKind, *, is_forced: bool = False) -> str:
    """A file's text with a part in it; as it was where the part cannot be put there."""
    try:
        return _with_part(part, text, kind, is_forced=is_forced)
    except SectionProblem:  # other text would change
        return text


def _with_part(part: Part, text: str, kind: FileKind, *, is_forced: bool) -> str:
    put = _put(part, text, kind, is_forced)
    return text if put is None or put.text is None else put.text


def _text_at(part: Part, text: str, kind: FileKind) -> str | None:
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


def seen_by(workspace: Workspace, actor: str | None) -> Workspace:
    """Memory as an actor sees it: with its own open parts, if its writes are proposed.

    This is the one place that decides; each door reads by it.
    """
    repository = workspace.repository
    if not workspace.proposes(actor) or branches.own_ref(workspace, actor) is None:
        return workspace
    head = repository.head()
    own = OwnFiles(workspace, head, actor, on_disk=True) if head else None
    return replace(workspace, contents=own) if own and own.parts else workspace


class OwnFiles(CommitFiles):
    """The files of a commit, or (`on_disk`) the current ones, with an actor's own open parts.

    A part that is overtaken is left out: what is there now counts.
    """

    def __init__(
        self, workspace: Workspace, commit: CommitId, actor: str | None, *, on_disk: bool = False
    ) -> None:
        super().__init__(workspace.repository, commit)
        self._workspace, self._on_disk = workspace, on_disk
        self.proposal = _read_own(workspace, actor)
        self.waiting = (
            [part for part in self.proposal.parts if part.view.state.waits] if self.proposal else []
        )
        self._own: dict[FilePath, list[Part]] = defaultdict(list)
        self._left_out: dict[FilePath, list[Part]] = defaultdict(list)
        self._seen: dict[FilePath, bytes | None] = {}
        self.parts: list[Part] = []
        for part in in_order(self.waiting):
            is_own = part.view.state is PartState.OPEN and part.view.origin.actor == actor
            (self._own if is_own else self._left_out)[part.view.path].append(part)
            self.parts += [part] if is_own else []

    def read(self, path: FilePath) -> bytes | None:
        """The bytes of a file as the actor sees it; None where there is none."""
        if path not in self._seen:
            self._seen[path] = self._read(path)
        return self._seen[path]

    def _read(self, path: FilePath) -> bytes | None:
        if self._on_disk:
            root = self._workspace.root
            is_outside = layout.is_outside(path)
            data = files.read(root / path if is_outside else files.path_on_disk(root, path))
        else:
            data = super().read(path)
        if path not in self._own or self.proposal is None:
            return data
        of_file = [part for part in self.proposal.parts if part.view.path == path]
        base = self.proposal.view.base
        if len(of_file) == len(self._own[path]) and data == self._at(base, path):
            return self._at(self.proposal.ref.tip, path)  # what all of these parts make of it
        kind, text = self._workspace.kind_of(path), decode(data or b"")
        for part in self._own[path]:
            text = _put_part(part, text, kind)
        return text.encode() if text or data is not None else None

    def _at(self, commit: CommitId | None, path: FilePath) -> bytes | None:
        return CommitFiles(self.repository, commit).read(path) if commit else None

    def paths(self) -> list[FilePath]:
        paths = list(self._workspace.memory_files()) if self._on_disk else super().paths()
        return list(dict.fromkeys((*paths, *self._own)))

    def replaced(self, path: FilePath, before: bytes | None, after: bytes) -> list[Part]:
        """The parts that the actor does not see, and whose places an edit has changed."""
        kind = self._workspace.kind_of(path)
        old, new = decode(before or b""), decode(after)
        return [
            part
            for part in self._left_out[path]
            if _text_at(part, old, kind) != _text_at(part, new, kind)
        ]

    def for_branch(self, path: FilePath, after: bytes, replaced: Collection[Part]) -> bytes:
        kind, text = self._workspace.kind_of(path), decode(after)
        for part in self._left_out[path]:
            if part not in replaced:
                text = _put_part(part, text, kind, is_forced=True)
        return text.encode()


def _read_own(workspace: Workspace, actor: str | None) -> Proposal | None:
    ref = branches.own_ref(workspace, actor)
    return listings.read_proposals(workspace, [ref])[0] if ref else None
