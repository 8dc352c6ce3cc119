"""Curated memory on disk: the facts of editable files, with their provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from mdmem.folder import files, layout
from mdmem.folder.layout import ListedFile
from mdmem.model import Fact, FactId, FileKind, FilePath, SectionPath, Source
from mdmem.model.errors import PathProblem
from mdmem.model.trail import Occurrence
from mdmem.model.writes import is_night
from mdmem.nights.dream.wording import key_of
from mdmem.past import entry_states
from mdmem.past.notes import parse_message
from mdmem.past.table import Trail
from mdmem.startup.records import dataclass
from mdmem.text.document import Document, parse_bytes
from mdmem.text.facts import entries, ids_of, items, normalise, split_key
from mdmem.text.languages import SAME_KEYS
from mdmem.workspace import Workspace

_KINDS = (FileKind.EVERGREEN, FileKind.PROFILE, FileKind.BOOTSTRAP)


@dataclass(frozen=True, slots=True)
class CuratedFact:
    """A fact in a file that is edited in place.

    - `text`: with its `key`. `attribute`: what it is about, by its commit or its key.
    - `source`: by its commit, claims included; uncommitted text is the person's own.
    - `said`: when it was said, by cited sessions or daily logs, else when it was committed.
    - `line`: from 1. `is_changeable`: dreams may change the file.
    """

    fact: FactId
    text: str
    key: str | None
    attribute: str | None
    kind: str | None
    path: FilePath
    section: SectionPath
    line: int
    source: Source
    said: datetime
    is_changeable: bool

    @property
    def value(self) -> str:
        return split_key(self.text, self.key)[1] if self.key else self.text


@dataclass(frozen=True, slots=True)
class FileExtent:
    """An editable file with its number of facts; `size` in bytes, `lines` of all text."""

    path: FilePath
    size: int
    lines: int
    facts: int


@dataclass(frozen=True, slots=True)
class CuratedMemory:
    """Current facts in editable files by path; new ones go to `curated`."""

    facts: tuple[CuratedFact, ...]
    files: Mapping[FilePath, FileExtent]
    curated: FilePath


@dataclass(frozen=True, slots=True)
class SaidTimes:
    cites: Mapping[str, datetime]
    facts: Mapping[FactId, Sequence[datetime]]


def canonical_attribute(name: str | None) -> str | None:
    folded = normalise(name or "")
    return SAME_KEYS.get(folded, folded) or None


def read_curated(
    workspace: Workspace,
    trail: Trail,
    times: SaidTimes,
    listing: Mapping[FilePath, ListedFile],
) -> CuratedMemory:
    """Read the facts that count today. A file that cannot be read is left out."""
    today, facts = workspace.now().date(), []
    read: dict[FilePath, FileExtent] = {}
    for path, listed in listing.items():
        kind = workspace.kind_of(path)
        if kind not in _KINDS or path == layout.TASKS_PATH:
            continue
        try:
            data = files.read(listed.full_path) or b""
            document = parse_bytes(data)
        except PathProblem:
            continue
        of_file = _facts_of(workspace, trail, path, document, times, today)
        facts += of_file
        read[path] = FileExtent(path, size=len(data), lines=len(document.lines), facts=len(of_file))
    return CuratedMemory(tuple(facts), read, workspace.curated)


def _facts_of(
    workspace: Workspace,
    trail: Trail,
    path: FilePath,
    document: Document,
    times: SaidTimes,
    today: date,
) -> list[CuratedFact]:
    is_changeable = workspace.kind_of(path) is FileKind.EVERGREEN and not layout.within(
        path, workspace.settings.extra_paths
    )
    in_file = entries(document, path)
    states, _ = entry_states.match_entries(trail, path, in_file)
    by_line = {item.start + 1: item for item in items(document)}
    facts = []
    for entry, state in zip(in_file, states, strict=True):
        item = by_line.get(entry.start_line)
        if entry.fact is None or item is None or (entry.until is not None and entry.until < today):
            continue
        occurrence = state.occurrence
        facts.append(
            CuratedFact(
                fact=entry.fact,
                text=item.fact.text,
                key=(key := item.fact.key or key_of(item.fact.text)),
                attribute=canonical_attribute(
                    (occurrence.origin.attribute if occurrence else None) or key
                ),
                kind=entry.kind,
                path=path,
                section=entry.section,
                line=entry.start_line,
                source=occurrence.origin.source if occurrence else Source.USER_STATED,
                said=_said(workspace, trail, item.fact, occurrence, times),
                is_changeable=is_changeable,
            )
        )
    return facts


def _said(
    workspace: Workspace, trail: Trail, fact: Fact, occurrence: Occurrence | None, times: SaidTimes
) -> datetime:
    if occurrence is None:
        return workspace.now()
    committed = workspace.local_time(occurrence.origin.time)
    moments = [times.cites[cited] for cited in occurrence.origin.cites if cited in times.cites]
    if not moments and _is_nights(trail, occurrence):
        moments = [
            time for name in ids_of(fact) for time in times.facts.get(name, ()) if time <= committed
        ]
    return max(moments, default=committed)


def _is_nights(trail: Trail, occurrence: Occurrence) -> bool:
    commit = trail.commit_with_id(occurrence.origin.commit)
    run = parse_message(commit.message).run if commit else None
    return run is not None and is_night(run)
