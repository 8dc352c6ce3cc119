"""What could be tidied: the curated files with what the trail knows of them, and the safe part of the advice carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date

from mdmem import files, layout
from mdmem.catchup import pages, trail_update
from mdmem.catchup.entry_states import match_entries
from mdmem.changes.advice import Budget, CuratedFile, FactState
from mdmem.changes.advice import find_advice as pure_review
from mdmem.document import Document, parse_bytes
from mdmem.editors import frontmatter
from mdmem.entries import entries
from mdmem.errors import PathProblem
from mdmem.model import FactId, FileKind, FilePath, SectionPath, Source, Status
from mdmem.model.reviews import Advice, ReviewResult
from mdmem.model.searches import Hit
from mdmem.model.trail import Claim, Conflict, Entry, Mark, MarkKind
from mdmem.model.writes import Change, WriteOptions, WriteResult
from mdmem.queries import search
from mdmem.startup.records import replace
from mdmem.trail import Trail
from mdmem.workspace import Say, Workspace

_KINDS = (FileKind.EVERGREEN, FileKind.PROFILE)


def gather_advice(workspace: Workspace, say: Say) -> tuple[Advice, ...]:
    """What could be tidied in the curated files as they are."""
    today = workspace.now().date()
    conflicts = [_conflict(found.one, found.other, found.key) for found in search.conflicts(workspace, say)]
    budget = Budget(workspace.settings.budget_lines, workspace.settings.budget_bytes)
    with trail_update.fresh_trail(workspace, say) as known:
        sheets = list(_sheets(workspace, known))
        facts = [fact for sheet in sheets for fact in _standing(known, sheet, today)]
        return pure_review(sheets, facts, conflicts, budget, today)


def apply_safe_advice(workspace: Workspace, options: WriteOptions, apply: Callable[[Change], WriteResult], say: Say) -> ReviewResult:
    """Do what is safe of the advice, one commit each, each worked out on what the one before left; and what is left to decide.

    Raises:
        MdmemError: a change was refused; those before it are done.
    """
    done: list[tuple[Advice, WriteResult]] = []
    left = gather_advice(workspace, say)
    while (chosen := next((one for one in left if one.safe and one.change), None)) is not None and chosen.change is not None:
        if any(chosen == one for one, _ in done):
            break  # what was carried out and is advised still would be so for ever
        done.append((chosen, apply(_with(chosen.change, options))))
        left = gather_advice(workspace, say)
    return ReviewResult(left, tuple(done))


def _with(change: Change, options: WriteOptions) -> Change:
    return replace(change, options=replace(options, supersedes=change.options.supersedes))


# The files.


def _sheets(workspace: Workspace, known: Trail) -> Iterator[CuratedFile]:
    for path, listed in workspace.memory_files().items():
        if workspace.kind_of(path) not in _KINDS:
            continue
        try:
            data = files.read(listed.full_path) or b""
            document = parse_bytes(data)
        except PathProblem:
            continue
        read_only = layout.within(path, workspace.settings.extra_paths)
        yield CuratedFile(path, document, len(data), _changed(workspace, known, path), read_only)


def _changed(workspace: Workspace, known: Trail, path: FilePath) -> Mapping[tuple[SectionPath, int], date]:
    """On which day each section's text was last another one; that it got another place does not count."""
    days: dict[tuple[SectionPath, int], date] = {}
    for one in known.live_revisions(path):
        newest = known.revisions(one.lineage, 1)
        landmark = known.commit_numbered((newest[0] if newest else one).begun)
        if landmark is not None:
            days[one.section, one.nth] = workspace.local_time(landmark.time).date()
    return days


# What stands in them.


def _standing(known: Trail, sheet: CuratedFile, today: date) -> Iterator[FactState]:
    """The facts of a file, each with the occurrence that the trail knows of it."""
    listed = _facts(sheet.document, sheet.path)
    for entry, one in zip(listed, match_entries(known, sheet.path, listed)[0], strict=True):
        claim = pages.entry_claim(entry, one.occurrence if one.committed else None)
        yield FactState(claim, _status(entry, one.mark, today), one.mark.other if one.mark else None)


def _facts(document: Document, path: FilePath) -> list[Entry]:
    return [entry for entry in entries(document, path, frontmatter.tags(document)) if entry.fact is not None]


def _status(entry: Entry, mark: Mark | None, today: date) -> Status:
    if mark is not None:
        return Status.SUPERSEDED if mark.kind is MarkKind.SUPERSEDED else Status.REMOVED
    return Status.EXPIRED if entry.until is not None and entry.until < today else Status.CURRENT


def _conflict(one: Hit, other: Hit, key: str | None) -> Conflict:
    return Conflict(_claim(one), _claim(other), key, key is None, None)


def _claim(hit: Hit) -> Claim:
    source = hit.source or Source.USER_STATED
    confidence = source.confidence if hit.confidence is None else hit.confidence
    when = int(hit.since.timestamp()) if hit.since else 0
    fact = hit.fact or FactId("")
    return Claim(fact, hit.text, hit.key, FilePath(hit.path), hit.section, hit.start_line, when, source, confidence, until=hit.until)
