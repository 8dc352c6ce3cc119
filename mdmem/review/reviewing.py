"""`review`: advice on the curated files by their history, and its safe part carried out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date

from mdmem.folder import files, layout
from mdmem.model import FactId, FileKind, FilePath, SectionPath, Status
from mdmem.model.errors import PathProblem
from mdmem.model.proposals import Advice, ReviewResult
from mdmem.model.trail import Entry, Mark
from mdmem.model.writes import Change, WriteOptions, WriteResult
from mdmem.past import fresh_trail, trail_update
from mdmem.past.entry_states import match_entries
from mdmem.past.table import Trail
from mdmem.proposals import branches
from mdmem.queries.conflicts import conflicts
from mdmem.review.advice import Budget, CuratedFile, FactState, find_advice
from mdmem.startup.records import replace
from mdmem.text.document import parse_bytes
from mdmem.text.facts import entries
from mdmem.workspace import Say, Workspace

_KINDS = (FileKind.EVERGREEN, FileKind.PROFILE)


def review(workspace: Workspace, say: Say) -> ReviewResult:
    """Advise on tidying the curated files; nothing is changed."""
    return ReviewResult(gather_advice(workspace, say), waiting=branches.waiting(workspace))


def gather_advice(workspace: Workspace, say: Say) -> tuple[Advice, ...]:
    today = workspace.now().date()
    listed = conflicts(workspace, say).conflicts
    budget = Budget(workspace.settings.budget_lines, workspace.settings.budget_bytes)
    with fresh_trail(workspace, say) as trail:
        curated = list(_curated_files(workspace, trail))
        again = {each.number for each in trail_update.here_again(workspace, trail)}
        facts = [fact for file in curated for fact in _fact_states(trail, file, again, today)]
        return find_advice(curated, facts, listed, budget, today)


def apply_safe_advice(
    workspace: Workspace, options: WriteOptions, apply: Callable[[Change], WriteResult], say: Say
) -> ReviewResult:
    """One commit each; the advice is worked out again after each."""
    done: list[tuple[Advice, WriteResult]] = []
    remaining = gather_advice(workspace, say)
    while (
        chosen := next((advice for advice in remaining if advice.safe and advice.change), None)
    ) and chosen.change:
        if any(chosen == advice for advice, _ in done):
            break  # advice that stays after it was carried out would come back for ever
        done.append((chosen, apply(replace(chosen.change, options=options))))
        remaining = gather_advice(workspace, say)
    return ReviewResult(remaining, tuple(done), branches.waiting(workspace))


# The files.


def _curated_files(workspace: Workspace, trail: Trail) -> Iterator[CuratedFile]:
    for path, listed in workspace.memory_files().items():
        if workspace.kind_of(path) not in _KINDS:
            continue
        try:
            data = files.read(listed.full_path) or b""
            document = parse_bytes(data)
        except PathProblem:
            continue
        read_only = layout.within(path, workspace.settings.extra_paths)
        changed = _last_changes(workspace, trail, path)
        yield CuratedFile(
            path=path,
            document=document,
            size=len(data),
            changed=changed,
            read_only=read_only,
            keeps_lines=workspace.is_note(path),
        )


def _last_changes(
    workspace: Workspace, trail: Trail, path: FilePath
) -> Mapping[tuple[SectionPath, int], date]:
    """The day each section's text last changed; moving the section does not count."""
    days: dict[tuple[SectionPath, int], date] = {}
    for revision in trail.live_revisions(path):
        (newest,) = trail.revisions(revision.lineage, 1)
        commit = trail.commit_numbered(newest.begun)
        if commit is not None:
            days[revision.section, revision.nth] = workspace.local_time(commit.time).date()
    return days


# The facts in them.


def _fact_states(
    trail: Trail, file: CuratedFile, again: Collection[int], today: date
) -> Iterator[FactState]:
    facts = [entry for entry in entries(file.document, file.path) if entry.fact is not None]
    overruled = {mark.occurrence: mark for mark in trail.overruled_marks(file.path)}
    for entry, state in zip(facts, match_entries(trail, file.path, facts)[0], strict=True):
        mark = overruled.get(state.occurrence.number) if state.occurrence else None
        is_forgotten = state.occurrence is not None and state.occurrence.number in again
        yield FactState(
            entry, _status(entry, mark, today), _current_successor(trail, mark), is_forgotten
        )


def _current_successor(trail: Trail, mark: Mark | None) -> FactId | None:
    if mark is None or mark.other is None:
        return None
    holds = any(
        each.ended is None and not trail.marks_of(each.number)
        for each in trail.occurrences_of(mark.other)
    )
    return mark.other if holds else None


def _status(entry: Entry, mark: Mark | None, today: date) -> Status:
    if mark is not None:
        return Status.SUPERSEDED
    return Status.EXPIRED if entry.until is not None and entry.until < today else Status.CURRENT
