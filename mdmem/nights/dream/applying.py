"""Write the changes of a night, as a person's verbs with a pipeline's note: one commit a file."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from mdmem.changes.apply import change_note, write_result
from mdmem.changes.commit_notes import (
    commit_message,
    complete_options,
    joined_note,
    require_marks_permitted,
)
from mdmem.changes.file_write import Plan, WrittenChange, write_plan
from mdmem.changes.plan import plan_edit
from mdmem.changes.recover import Transaction
from mdmem.changes.verbs import FileEdit
from mdmem.editors.sameness import StatementIndex
from mdmem.folder import files
from mdmem.model import CommitId, FactId, FilePath, Source
from mdmem.model.errors import MdmemError
from mdmem.model.pipelines import MOST_STANDING_PARTS, DreamOp
from mdmem.model.proposals import PartOp
from mdmem.model.writes import Forget, PipelineNote, Remember, WriteOptions, WriteResult
from mdmem.nights.dream.cases import Suggestion
from mdmem.nights.dream.wording import DECISION
from mdmem.past.messages import CommitNote, compose_joined
from mdmem.proposals import branches, listings
from mdmem.proposals.parts import Part
from mdmem.repo.branch_commits import CommitFiles
from mdmem.review import deciding
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import join_path
from mdmem.text.facts import normalise_key, parse_item, shortened
from mdmem.text.languages import attribute_named
from mdmem.workspace import Workspace

ACTOR = "dream"


class WaitingParts:
    def __init__(self, workspace: Workspace) -> None:
        proposals, _ = listings.read_open(workspace)
        waiting = [part.view for each in proposals for part in each.parts if part.view.state.waits]
        coming = [
            (parse_item(f"- {view.new}"), view)
            for view in waiting
            if view.new is not None and view.op is not PartOp.SECTION
        ]
        facts = [fact for fact, _ in coming]
        self._sources: dict[str, Source] = {}
        for fact, view in coming:
            if fact.key is not None:
                others = self._sources.get(normalise_key(fact.key), view.origin.source)
                self._sources[normalise_key(fact.key)] = max(
                    view.origin.source, others, key=lambda source: source.strength
                )
        self._facts = {fact.id for fact in facts}
        self._texts = StatementIndex(fact.text for fact in facts)
        self._removals = {FactId(view.name) for view in waiting if view.op is PartOp.DELETE}

    def hold(self, change: Suggestion) -> bool:
        if change.op is DreamOp.DELETE:
            return change.old is not None and change.old.fact in self._removals
        return change.fact in self._facts or self._texts.holds_like(change.statement)

    def hold_better(self, change: Suggestion) -> bool:
        key = change.key if change.op is DreamOp.ADD and not change.also else None
        better = self._sources.get(normalise_key(key)) if key is not None else None
        return better is not None and better.strength > change.source.strength


def surplus_of(changes: Sequence[Suggestion]) -> list[Suggestion]:
    """The changes above the maximum of parts: unsaid ones first, then the oldest."""
    by_weight = sorted(changes, key=lambda change: change.source is not Source.AUTO)
    return by_weight[: max(0, len(changes) - MOST_STANDING_PARTS)]


def drop_surplus(workspace: Workspace) -> int:
    """Withdraw the weakest and oldest parts above the maximum; return their number."""
    ref = branches.own_ref(workspace, ACTOR)
    if ref is None:
        return 0
    (proposal,) = listings.read_proposals(workspace, [ref])
    waiting = [part for part in proposal.parts if part.view.state.waits]
    surplus = sorted(waiting, key=_age)[: max(0, len(waiting) - MOST_STANDING_PARTS)]
    if surplus:
        deciding.withdraw_parts(workspace, proposal, surplus)
    return len(surplus)


def _age(part: Part) -> tuple[bool, str]:
    """Unsaid parts first, then those of older nights."""
    return part.view.origin.source is not Source.AUTO, part.view.origin.run or ""


_SUBJECT_CHARACTERS = 72
_WEIGHTS = {DreamOp.UPDATE: 0, DreamOp.DELETE: 2}


def subject_of(changes: Sequence[Suggestion]) -> str:
    first = min(changes, key=_weight)
    more = f", and {len(changes) - 1} more" if len(changes) > 1 else ""
    room = _SUBJECT_CHARACTERS - len("dream: ") - len(more)
    return f"dream: {shortened(_named(first), room)}{more}"


def _weight(change: Suggestion) -> tuple[int, bool, bool]:
    """A replaced attribute of the user's first, then other replacements, keys, decisions."""
    is_users = change.key is not None and attribute_named(change.key) is not None
    is_named = change.key is not None or change.kind == DECISION
    return _WEIGHTS.get(change.op, 1), not is_users, not is_named


def _kind_of(change: Suggestion) -> str | None:
    """A replaced line keeps its kind, unless the new one is of a more telling kind."""
    old = change.old
    is_telling = old is not None and old.kind is not None and change.kind != "fact"
    return change.kind if old is None or is_telling else None


def _named(change: Suggestion) -> str:
    """A change in few words: `employer Tidewater → Kite Labs`."""
    old = change.old
    if old is None:
        words = f"{change.key} {change.text}" if change.key else change.text
    elif change.op is DreamOp.DELETE:
        words = f"- {old.text}"
    elif change.key is not None:
        words = f"{change.key} {old.value} → {change.text}"
    else:
        words = f"{old.text} → {change.text}"
    return " ".join(words.split())


def edit_of(
    suggestion: Suggestion, run: str, *, dreamt: CommitId | None = None, dry_run: bool = False
) -> Remember | Forget:
    """The edit that carries out a change other than NONE, of the night `run`.

    `dreamt` is the newest judged commit, for the night's last change.
    """
    candidate, old = suggestion.candidate, suggestion.old
    pipeline = PipelineNote(
        actor=ACTOR,
        run=run,
        cites=suggestion.cites,
        attribute=(candidate.attribute if candidate else None) or suggestion.key,
        sender=candidate.sender if candidate else None,
        dreamt=dreamt,
        promotes=candidate.fact if candidate and suggestion.op is not DreamOp.DELETE else None,
    )
    options = WriteOptions(
        source=suggestion.source,
        confidence=suggestion.confidence,
        reason=suggestion.why,
        supersedes=(
            old.fact
            if old and suggestion.op is DreamOp.UPDATE and not suggestion.is_by_key
            else None
        ),
        dry_run=dry_run,
        pipeline=pipeline,
    )
    section = join_path(old.section) if old and old.section else suggestion.section
    if suggestion.op is DreamOp.DELETE and old is not None:
        return Forget(
            fact=old.fact,
            file=old.path,
            section=section,
            everywhere=candidate is not None,
            options=options,
        )
    return Remember(
        text=suggestion.text,
        file=old.path if old else None,
        section=section,
        create=old is None,
        key=suggestion.key,
        also=suggestion.also,
        kind=_kind_of(suggestion),
        until=suggestion.until.isoformat() if suggestion.until else None,
        tags=candidate.tags if candidate else (),
        options=options,
    )


# Several edits of one file as one commit: each is planned on the text that the last one left.


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
    edit: FileEdit
    plan: Plan | None
    problem: MdmemError | None = None

    @property
    def changes(self) -> bool:
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
    """An edit that is refused stops no other. Raises: MdmemError, other than `refusals`."""
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
    message = compose_joined(subject, blocks)
    if whole.before == whole.after:  # a log's line is retracted, and stays
        for note in notes:
            require_marks_permitted(workspace, note)
        return WrittenChange(commit_message(workspace, message))
    written = write_plan(
        workspace,
        whole,
        message,
        frozenset().union(*(edit.options.allow for edit, _ in done)),
        transaction.begin_write(),
    )
    return written if isinstance(written, WrittenChange) else None


def _by_provenance(
    rows: Iterable[tuple[CommitNote, Plan]],
) -> list[list[tuple[CommitNote, Plan]]]:
    groups: dict[Hashable, list[tuple[CommitNote, Plan]]] = {}
    for note, plan in rows:
        key = (note.op, note.also, note.only, note.provenance)
        groups.setdefault(key, []).append((note, plan))
    return list(groups.values())
