"""Checks of mdmem's own files: state folder, journal, trail, index, events."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mdmem import events
from mdmem.events import Outcome
from mdmem.folder import files, journal
from mdmem.health.inspection import DAY_SECONDS, Finding, Inspection, Level
from mdmem.index.indexer import SearchIndex
from mdmem.index.query import Filter
from mdmem.index.schema import BrokenIndex
from mdmem.index.snapshot import EMPTY_SNAPSHOT, INDEX_NAME
from mdmem.model.errors import number_of, verb
from mdmem.past.steps import verify_trail
from mdmem.past.storage import BrokenTrail, discard
from mdmem.repo.runner import TEMPORARIES
from mdmem.startup import late

_EVENT_DAYS = 7
_OWN_SLIPS = ("usage", "ambiguous-date")
"""The codes of calls that were wrong themselves: the message has said it all."""
_MANY_SEGMENTS = 20
_TEMPORARY = late.pattern(r"\.mdmem-[0-9a-f]+(?:\.back)?\.tmp")


def check_state(inspection: Inspection) -> Iterator[Finding]:
    state = inspection.workspace.state
    probe = state / files.temporary_name()
    try:
        files.write_durably(probe, b"mdmem doctor\n", 0o600)
        probe.unlink()
    except FileNotFoundError:
        yield Finding(
            check="state",
            level=Level.NOTE,
            message=f"{state} does not exist yet; the first command that needs it creates it",
        )
    except OSError as problem:
        yield Finding(
            check="state",
            level=Level.ERROR,
            message=f"{state} is not writable: {problem.strerror}",
            hint=(
                "Nothing can be written until it is a folder that you may write to, with room on"
                " its disk."
            ),
        )
    else:
        yield Finding(check="state", level=Level.OK, message=f"{state} is writable")


def check_record(inspection: Inspection) -> Iterator[Finding]:
    path = inspection.workspace.state / journal.WRITE_NAME
    if not path.exists():
        yield Finding(check="record", level=Level.OK, message="no interrupted writes")
        return
    left = journal.load(path)
    if files.is_locked(inspection.workspace.write_lock()):
        yield Finding(
            check="record",
            level=Level.NOTE,
            message=f"a write{f' of {left.steps[0].path}' if left else ''} is under way",
        )
    elif left is None:
        yield Finding(
            check="record",
            level=Level.WARNING,
            message="the record of an interrupted write is incomplete",
            hint="The next write discards it.",
        )
    else:
        yield Finding(
            check="record",
            level=Level.WARNING,
            message=f"a write of {' and '.join(step.path for step in left.steps)} was interrupted",
            hint="The next write finishes it, or discards it if it had not begun.",
        )


def check_temporary(inspection: Inspection) -> Iterator[Finding]:
    listed = inspection.repository.git(
        "ls-files", "--others", "-z", "--", TEMPORARIES, f"{TEMPORARIES}/**"
    ).split(b"\0")
    leftovers = list(
        dict.fromkeys(filter(None, (_temporary_in(os.fsdecode(path)) for path in listed)))
    )
    removed = _remove_temporaries(inspection, leftovers) if inspection.fix and leftovers else set()
    for path in leftovers:
        if path in removed:
            yield Finding(
                check="temporary",
                level=Level.NOTE,
                message=f"{path}, left by an interrupted write, is removed",
                fixed=True,
            )
        else:
            is_folder = (inspection.workspace.root / path).is_dir()
            yield Finding(
                check="temporary",
                level=Level.NOTE,
                message=f"{path} was left by a write that was interrupted, or is under way",
                hint=(
                    "It was being removed: move it back, or delete it."
                    if is_folder
                    else (
                        f"{verb('doctor', 'fix')} removes it when it is a day old and no"
                        " interrupted write needs it."
                    )
                ),
            )
    if not leftovers:
        yield Finding(check="temporary", level=Level.OK, message="no leftover temporary files")


def _temporary_in(path: str) -> str | None:
    parts = path.split("/")
    ends = (number for number, part in enumerate(parts, 1) if _TEMPORARY.fullmatch(part))
    return "/".join(parts[:end]) if (end := next(ends, 0)) else None


def _remove_temporaries(inspection: Inspection, leftovers: Sequence[str]) -> set[str]:
    """Remove those older than a day that no journal names; return their paths."""
    removed = set()
    with inspection.locked():
        left = journal.load(inspection.workspace.state / journal.WRITE_NAME)
        needed = (
            [
                name
                for step in left.steps
                for name in (step.temporary, files.backup_name(step.temporary))
            ]
            if left
            else []
        )
        for path in leftovers:
            full_path = inspection.workspace.root / path
            if full_path.name in needed or full_path.is_dir():
                continue
            if time.time() - full_path.lstat().st_mtime > DAY_SECONDS:
                full_path.unlink()
                removed.add(path)
    return removed


def check_versions(inspection: Inspection) -> Iterator[Finding]:
    """A damaged trail. It is built from the commits, so nothing is lost with it."""
    state = inspection.workspace.state
    try:
        count = verify_trail(state)
    except BrokenTrail as problem:
        if inspection.fix:
            with files.lock(state / files.TRAIL_LOCK, inspection.workspace.settings.lock_timeout):
                discard(state)
            yield Finding(
                check="versions",
                level=Level.WARNING,
                message=f"{problem.message}; it is discarded, and rebuilt where it is needed",
                fixed=True,
            )
        else:
            yield Finding(
                check="versions",
                level=Level.WARNING,
                message=problem.message,
                hint=(
                    f"To discard it: {verb('doctor', 'fix')}. It is then rebuilt from the commits."
                ),
            )
        return
    if count is None:
        yield Finding(
            check="versions", level=Level.NOTE, message="not built yet (the first search builds it)"
        )
    else:
        yield Finding(
            check="versions",
            level=Level.OK,
            message=f"the table of versions is complete ({number_of(count, 'commit')})",
        )


def check_index(inspection: Inspection) -> Iterator[Finding]:
    folder = inspection.workspace.state / INDEX_NAME
    if not folder.exists():
        yield Finding(
            check="index", level=Level.NOTE, message="not built yet (the first search builds it)"
        )
        return
    index, is_current = inspection.open_index()
    problem = _index_problem(index, is_current, folder)
    if problem and inspection.fix:
        count = inspection.rebuild_index(problem != _IS_BEHIND)
        yield Finding(
            check="index",
            level=Level.WARNING,
            message=f"{problem}; fixed, {number_of(count, 'entry', 'entries')}",
            fixed=True,
        )
    elif problem:
        yield Finding(
            check="index",
            level=Level.WARNING if problem != _IS_BEHIND else Level.NOTE,
            message=problem,
            hint=_INDEX_HINTS.get(problem, verb("reindex", "full")),
        )
    else:
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        yield Finding(
            check="index",
            level=Level.OK,
            message=(
                f"{number_of(index.finder.count, 'entry', 'entries')},"
                f" {number_of(_segments(folder), 'segment')}, {size / 1024:,.0f} KiB"
            ),
        )
    for path, file in sorted(index.seen.files.items()):
        if file.skipped:
            yield Finding(
                check="index",
                level=Level.WARNING,
                message=f"{path} cannot be searched: {file.skipped}",
            )


_IS_UNUSABLE, _IS_BEHIND = "it is broken or of another version", "it is behind"
_INDEX_HINTS = {
    _IS_UNUSABLE: "The next search rebuilds it.",
    _IS_BEHIND: "The next search brings it up to date.",
}


def _index_problem(index: SearchIndex, is_current: bool, folder: Path) -> str:
    if index.seen == EMPTY_SNAPSHOT and any(folder.iterdir()):
        return _IS_UNUSABLE
    try:
        index.finder.entries(Filter())
    except BrokenIndex:
        return _IS_UNUSABLE
    if not is_current:
        return _IS_BEHIND
    return (
        f"it has {number_of(_segments(folder), 'segment')}, which makes it slow"
        if _segments(folder) > _MANY_SEGMENTS
        else ""
    )


def _segments(folder: Path) -> int:
    return len(list(folder.rglob("*.store")))


# Events.


def check_events(inspection: Inspection) -> Iterator[Finding]:
    since = datetime.now(UTC) - timedelta(days=_EVENT_DAYS)
    recent = [
        event for event in events.read_events(inspection.workspace.state) if event.time >= since
    ]
    if not recent:
        yield Finding(
            check="events", level=Level.OK, message=f"none in the last {_EVENT_DAYS} days"
        )
        return
    slowest = max(recent, key=lambda event: event.ms)
    yield Finding(
        check="events",
        level=Level.OK,
        message=(
            f"{len(recent)} in the last {_EVENT_DAYS} days; the slowest was {slowest.verb},"
            f" {slowest.ms:,.0f} ms"
        ),
    )
    for outcome, level in ((Outcome.REFUSED, Level.NOTE), (Outcome.FAILED, Level.WARNING)):
        codes = Counter(str(event.code) for event in recent if event.outcome is outcome)
        for code in _OWN_SLIPS:
            del codes[code]
        if codes:
            listed = ", ".join(f"{count} {code}" for code, count in codes.most_common())
            yield Finding(check="events", level=level, message=f"{outcome.value}: {listed}")
    for (name, bug), count in Counter(
        (event.verb, event.bug) for event in recent if event.outcome is Outcome.BUG
    ).most_common():
        yield Finding(
            check="events",
            level=Level.WARNING,
            message=f"a bug in mdmem, in {name}: {bug} (times: {count})",
        )
