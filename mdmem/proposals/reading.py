"""Current proposals with their parts, read by a fixed number of git processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from mdmem.model import CommitId
from mdmem.model.errors import PathProblem
from mdmem.model.proposals import PartName, ProposalView, ProposedHit
from mdmem.model.reads import UnreadableProposal
from mdmem.past import fresh_trail
from mdmem.proposals import branches, origins
from mdmem.proposals.branches import ProposalRef, ProposedBranch, read_branches, read_each
from mdmem.proposals.origins import DecidedPart, ProposedNotes, read_notes
from mdmem.proposals.parts import Part, PartReader, StandingMemory
from mdmem.proposals.pieces import EMPTY, FileFacts
from mdmem.repo.branch_commits import BlobChange
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import join_path, parse_bytes
from mdmem.text.facts import normalise
from mdmem.workspace import Workspace

_WORD = late.pattern(r"\w+")
_LEAST_STEM = 4
_HEADING_SHARE = 0.5


def find(proposals: Iterable[Proposal], query: str, limit: int) -> tuple[ProposedHit, ...]:
    """Open parts that match a query: those with more of its words first, then older ones first."""
    asked = _stems(query)
    hits = []
    for proposal in proposals:
        for part in proposal.parts:
            view = part.view
            if view.state.waits and asked:
                score = _share(asked, view.new or view.old or "") + _HEADING_SHARE * _share(
                    asked, join_path(view.section)
                )
                if score:
                    hits.append(
                        ProposedHit(proposal.ref.id, proposal.view.actor, view, round(score, 4))
                    )
    return tuple(sorted(hits, key=lambda hit: -hit.score)[:limit])


def _share(asked: frozenset[str], text: str) -> float:
    return len(asked & _stems(text)) / len(asked)


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _WORD.findall(normalise(text)))


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word.removesuffix(ending)
    return word


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal with its branch and parts; `problems` are of unreadable memory files."""

    branch: ProposedBranch
    view: ProposalView
    parts: tuple[Part, ...]
    problems: tuple[PathProblem, ...] = ()

    @property
    def ref(self) -> ProposalRef:
        return self.branch.ref


@dataclass(frozen=True, slots=True)
class _ReadBranch:
    branch: ProposedBranch
    notes: ProposedNotes
    texts: _Texts


def read_open(workspace: Workspace) -> tuple[list[Proposal], tuple[UnreadableProposal, ...]]:
    """The open proposals, oldest first, and those whose branches git cannot read."""
    refs = list(branches.open_proposals(workspace).values())
    if not refs:
        return [], ()
    head = workspace.repository.head()
    read, unreadable = read_each(refs, lambda some: _read(workspace, some, head))
    return _judged(workspace, read, head), unreadable


def read_standing(
    workspace: Workspace,
) -> tuple[list[Proposal], tuple[UnreadableProposal, ...]]:
    """Read the proposals to decide here: not those merged, or for other workspaces only."""
    read, unreadable = read_open(workspace)
    return to_decide(read), unreadable


def to_decide(read: Iterable[Proposal]) -> list[Proposal]:
    ahead = (each for each in read if each.branch.is_ahead)
    return [each for each in ahead if each.view.waits or not each.branch.shared_with]


def read_proposals(workspace: Workspace, refs: Sequence[ProposalRef]) -> list[Proposal]:
    """Read proposals in one go, oldest first. Raises: RepositoryProblem."""
    head = workspace.repository.head()
    return _judged(workspace, _read(workspace, refs, head), head)


def _read(
    workspace: Workspace, refs: Sequence[ProposalRef], head: CommitId | None
) -> list[_ReadBranch]:
    read = read_branches(workspace, refs, head)
    notes = read_notes(workspace, read)
    texts = _Texts(workspace, read)
    return [_ReadBranch(*each, texts) for each in zip(read, notes, strict=True)]


def _judged(
    workspace: Workspace,
    read: Sequence[_ReadBranch],
    head: CommitId | None,
) -> list[Proposal]:
    if not read:
        return []
    decided = origins.decisions(workspace.repository, head)
    with fresh_trail(workspace) as trail:
        memory = StandingMemory(workspace, trail)
        proposals = [
            _proposal(
                workspace,
                each,
                origins.decisions_on(decided, each.branch.ref.id, each.branch.ref.name),
                memory,
            )
            for each in read
        ]
    return sorted(proposals, key=lambda proposal: (proposal.view.since, proposal.ref.id))


def waits(workspace: Workspace, ref: ProposalRef) -> bool:
    """True if a part is, or may be, still undecided in a workspace."""
    return any(
        proposal.view.waits or proposal.problems for proposal in read_proposals(workspace, [ref])
    )


# Texts.


class _Texts:
    def __init__(self, workspace: Workspace, waiting: Sequence[ProposedBranch]) -> None:
        names = dict.fromkeys(
            blob
            for branch in waiting
            for _, change in branch.files
            for blob in (change.before, change.after)
            if blob
        )
        self._blobs = workspace.repository.contents(list(names))
        self._bases: dict[str | None, FileFacts] = {None: FileFacts(EMPTY)}

    def base(self, change: BlobChange) -> FileFacts:
        if change.before not in self._bases:
            self._bases[change.before] = self._facts(change.before)
        return self._bases[change.before]

    def tip(self, change: BlobChange) -> FileFacts:
        return self._facts(change.after)

    def _facts(self, blob: str | None) -> FileFacts:
        return FileFacts(parse_bytes(self._blobs[blob]) if blob else EMPTY)


def _proposal(
    workspace: Workspace,
    read: _ReadBranch,
    decided: Mapping[PartName, DecidedPart],
    memory: StandingMemory,
) -> Proposal:
    branch, notes, texts = read.branch, read.notes, read.texts
    reader = PartReader(workspace, notes, branch.base, decided, memory)
    parts: list[Part] = []
    problems, unreadable = [], []
    for path, change in branch.files:
        try:
            memory.file(path)
        except PathProblem as problem:
            problems.append(problem)
        try:
            parts += reader.of_file(memory.versions(path, texts.base(change), texts.tip(change)))
        except PathProblem:
            unreadable.append(os.fsdecode(change.path))
    parts += reader.of_statements([part.name for part in parts])
    parts += reader.of_decisions([part.name for part in parts])
    view = ProposalView(
        id=branch.ref.id,
        actor=notes.actor or branch.ref.actor,
        branch=branch.ref.name.removeprefix("refs/heads/"),
        base=branch.base,
        tip=branch.ref.tip,
        since=workspace.local_time(branch.commits[0].time if branch.commits else 0),
        parts=tuple(part.view for part in parts),
        reason=notes.reason,
        others=(*branch.others, *unreadable),
    )
    return Proposal(branch=branch, view=view, parts=tuple(parts), problems=tuple(problems))
