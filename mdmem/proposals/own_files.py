"""Memory as an actor sees it whose writes are proposed: with its own open parts applied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from mdmem.folder import files, layout
from mdmem.model import CommitId, FilePath
from mdmem.model.proposals import PartState
from mdmem.proposals import branches, reading, rewriting
from mdmem.proposals.parts import Part
from mdmem.proposals.reading import Proposal
from mdmem.repo.branch_commits import CommitFiles
from mdmem.startup.records import replace
from mdmem.text.document import decode
from mdmem.workspace import Workspace


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
        for part in rewriting.in_order(self.waiting):
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
            text = rewriting.put_part(part, text, kind)
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
            if rewriting.text_at(part, old, kind) != rewriting.text_at(part, new, kind)
        ]

    def for_branch(self, path: FilePath, after: bytes, replaced: Collection[Part]) -> bytes:
        kind, text = self._workspace.kind_of(path), decode(after)
        for part in self._left_out[path]:
            if part not in replaced:
                text = rewriting.put_part(part, text, kind, is_forced=True)
        return text.encode()


def _read_own(workspace: Workspace, actor: str | None) -> Proposal | None:
    ref = branches.own_ref(workspace, actor)
    return reading.read_proposals(workspace, [ref])[0] if ref else None
