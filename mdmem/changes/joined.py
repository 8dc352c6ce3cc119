"""Several edits of one file as one commit: each is planned on the text that the last one left."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from mdmem import history
from mdmem.changes.apply import change_note, write_result
from mdmem.changes.commit_notes import complete_options, joined_note
from mdmem.changes.file_write import Plan, WrittenChange, write_plan
from mdmem.changes.plan import plan_edit
from mdmem.changes.recover import Transaction
from mdmem.errors import MdmemError
from mdmem.folder import files
from mdmem.model import CommitId, FilePath
from mdmem.model.writes import WriteResult
from mdmem.repo.branch_commits import CommitFiles
from mdmem.startup.records import dataclass, replace
from mdmem.verbs import FileEdit
from mdmem.workspace import Workspace


class _EditedFiles(CommitFiles):
    """The files on disk, one of them with the edits planned so far."""

    def __init__(self, workspace: Workspace, head: CommitId, path: FilePath) -> None:
        super().__init__(workspace.repository, head)
        self._workspace = workspace
        self._path = path
        self.text: bytes | None = None

    def read(self, path: FilePath) -> bytes | None:
        if path == self._path and self.text is not None:
            return self.text
        return files.read(files.path_on_disk(self._workspace.root, path))

    def paths(self) -> list[FilePath]:
        return list(self._workspace.memory_files())


@dataclass(frozen=True, slots=True)
class PlannedEdit:
    """An edit with its plan, or why it was refused."""

    edit: FileEdit
    plan: Plan | None
    problem: MdmemError | None = None

    @property
    def changes(self) -> bool:
        """True if there is anything to write or to state."""
        return self.plan is not None and (self.plan.changes or self.plan.marks)

    def result(self, commit: CommitId | None) -> WriteResult | None:
        """Its own outcome, once the commit is made; None where it was refused."""
        if self.plan is None:
            return None
        return write_result(self.plan, commit if self.changes else None)


def plan_edits(
    workspace: Workspace,
    path: FilePath,
    head: CommitId,
    edits: Sequence[FileEdit],
    refusals: tuple[type[MdmemError], ...],
) -> list[PlannedEdit]:
    """Plan edits of a file in turn; one that is refused stops no other.

    Raises: MdmemError, other than `refusals`.
    """
    contents = _EditedFiles(workspace, head, path)
    view = replace(workspace, contents=contents)
    planned = []
    for edit in edits:
        edit = replace(edit, options=complete_options(workspace, edit.options))
        try:
            plan = plan_edit(view, edit, path)
        except refusals as problem:
            planned.append(PlannedEdit(edit, None, problem))
            continue
        contents.text = plan.after
        planned.append(PlannedEdit(edit, plan))
    return planned


def write_edits(
    workspace: Workspace,
    planned: Sequence[PlannedEdit],
    subject: str,
    dreamt: CommitId | None,
    transaction: Transaction,
) -> WrittenChange | None:
    """Commit planned edits of one file at once; None where it changed meanwhile.

    The last note has `dreamt`. The caller holds the lock. Raises: MdmemError.
    """
    done = [(each.edit, each.plan) for each in planned if each.plan is not None and each.changes]
    plans = [plan for _, plan in done]
    notes = [change_note(workspace, plan, edit) for edit, plan in done]
    whole = replace(
        plans[-1],
        before=plans[0].before,
        old=plans[0].old,
        companion=next((plan.companion for plan in plans if plan.companion), None),
    )
    blocks = [
        (
            joined_note([note for note, _ in rows]),
            [(each.old.text if each.old else "", each.edit.text) for _, each in rows],
        )
        for rows in _by_provenance(zip(notes, plans, strict=True))
    ]
    last, texts = blocks[-1]
    blocks[-1] = replace(last, dreamt=dreamt), texts
    written = write_plan(
        workspace,
        whole,
        history.compose_joined(subject, blocks),
        frozenset().union(*(edit.options.allow for edit, _ in done)),
        transaction.begin_write(),
    )
    return written if isinstance(written, WrittenChange) else None


def _by_provenance(
    rows: Iterable[tuple[history.CommitNote, Plan]],
) -> list[list[tuple[history.CommitNote, Plan]]]:
    """Edits in groups that one note can state, with one source and one reason."""
    groups: dict[Hashable, list[tuple[history.CommitNote, Plan]]] = {}
    for note, plan in rows:
        key = (note.op, note.also, note.only, note.provenance)
        groups.setdefault(key, []).append((note, plan))
    return list(groups.values())
