"""Checks of what mdmem keeps for itself: the state folder, the write-ahead record, temporary files, versions, the index, the events."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mdmem import events, files, trail, write_ahead
from mdmem.doctor.inspection import DAY_SECONDS, Finding, Inspection, Level
from mdmem.events import Outcome
from mdmem.repo.runner import TEMPORARIES
from mdmem.search.indexer import INDEX_NAME, SearchIndex
from mdmem.search.query import Filter
from mdmem.search.searcher import BrokenIndex
from mdmem.search.snapshot import EMPTY_SNAPSHOT
from mdmem.trail import BrokenTrail
from mdmem.wording import verb

_EVENT_DAYS = 7
_MANY_SEGMENTS = 20
_TEMPORARY = re.compile(r"\.mdmem-[0-9a-f]+(?:\.back)?\.tmp")


def check_state(case: Inspection) -> Iterator[Finding]:
    """Whether the state folder can be written."""
    state = case.workspace.state
    probe = state / files.temporary_name()
    try:
        files.write_durably(probe, b"mdmem doctor\n", 0o600)
        probe.unlink()
    except FileNotFoundError:
        yield Finding(check="state", level=Level.NOTE, message=f"{state} is not there yet; the first command that needs it makes it")
    except OSError as problem:
        hint = "Nothing can be written until it is a folder that you may write to, with room on its disk."
        yield Finding(check="state", level=Level.ERROR, message=f"{state} cannot be written: {problem.strerror}", hint=hint)
    else:
        yield Finding(check="state", level=Level.OK, message=f"{state} can be written")


def check_record(case: Inspection) -> Iterator[Finding]:
    """Whether a write was interrupted."""
    state = case.workspace.state
    if not (state / write_ahead.RECORD_NAME).exists():
        yield Finding(check="record", level=Level.OK, message="no write was interrupted")
        return
    record = write_ahead.load_record(state)
    if files.is_locked(state / files.LOCK_NAME):
        yield Finding(check="record", level=Level.NOTE, message=f"a write{f' of {record.path}' if record else ''} is under way")
    elif record is None:
        yield Finding(
            check="record", level=Level.WARNING, message="the record of an interrupted write is not whole", hint="The next write drops it."
        )
    else:
        message = f"a write of {record.path} was interrupted"
        yield Finding(
            check="record", level=Level.WARNING, message=message, hint="The next write finishes it, or drops it where it had not begun."
        )


def check_temporary(case: Inspection) -> Iterator[Finding]:
    """Files that an interrupted write left behind."""
    listed = case.repository.git("ls-files", "--others", "-z", "--", TEMPORARIES).split(b"\0")
    left = [path for path in map(os.fsdecode, listed) if _TEMPORARY.fullmatch(path.rpartition("/")[2])]
    removed = _removed_temporaries(case, left) if case.fix and left else set()
    for path in left:
        if path in removed:
            yield Finding(check="temporary", level=Level.NOTE, message=f"{path}, left by an interrupted write, is removed", fixed=True)
        else:
            hint = f"{verb('doctor', 'fix')} removes it once it is a day old and no interrupted write needs it."
            yield Finding(
                check="temporary", level=Level.NOTE, message=f"{path} was left by a write that was interrupted, or is under way", hint=hint
            )
    if not left:
        yield Finding(check="temporary", level=Level.OK, message="no write left a file behind")


def _removed_temporaries(case: Inspection, left: Sequence[str]) -> set[str]:
    """Remove those that are older than a day and that no record names."""
    removed = set()
    with case.locked():
        record = write_ahead.load_record(case.workspace.state)
        for path in left:
            place = case.workspace.root / path
            if record and place.name in (record.temporary, files.backup_name(record.temporary)):
                continue
            if time.time() - place.lstat().st_mtime > DAY_SECONDS:
                place.unlink()
                removed.add(path)
    return removed


def check_versions(case: Inspection) -> Iterator[Finding]:
    """Whether the table of versions is whole. It is made from the commits: nothing is lost with it."""
    state = case.workspace.state
    try:
        count = trail.verify_trail(state)
    except BrokenTrail as problem:
        if case.fix:
            with files.lock(state / files.TRAIL_LOCK, case.workspace.settings.lock_timeout):
                trail.discard(state)
            yield Finding(
                check="versions",
                level=Level.WARNING,
                message=f"{problem.message}; it is discarded, and made anew where it is needed",
                fixed=True,
            )
        else:
            hint = f"{verb('doctor', 'fix')} discards it; it is made anew from the commits."
            yield Finding(check="versions", level=Level.WARNING, message=problem.message, hint=hint)
        return
    if count is None:
        yield Finding(check="versions", level=Level.NOTE, message="there is no table of versions yet; the first search makes it")
    else:
        yield Finding(check="versions", level=Level.OK, message=f"the table of versions is whole; commits: {count}")


def check_index(case: Inspection) -> Iterator[Finding]:
    """Whether the index is whole and has seen everything."""
    folder = case.workspace.state / INDEX_NAME
    if not folder.exists():
        yield Finding(check="index", level=Level.NOTE, message="there is none yet; the first search builds it")
        return
    index, current = case.open_index()
    wrong = _wrong_with(index, current, folder)
    if wrong and case.fix:
        count = case.rebuild_index(wrong != _BEHIND)
        yield Finding(check="index", level=Level.WARNING, message=f"{wrong}; mended, entries: {count}", fixed=True)
    elif wrong:
        yield Finding(
            check="index",
            level=Level.WARNING if wrong != _BEHIND else Level.NOTE,
            message=wrong,
            hint=_INDEX_HINTS.get(wrong, verb("reindex", "full")),
        )
    else:
        size = sum(place.stat().st_size for place in folder.rglob("*") if place.is_file())
        yield Finding(
            check="index", level=Level.OK, message=f"entries: {index.count}, segments: {_segments(folder)}, size: {size / 1024:,.0f} KiB"
        )
    for path, seen in sorted(index.seen.files.items()):
        if seen.skipped:
            yield Finding(check="index", level=Level.WARNING, message=f"{path} is not found by any search: {seen.skipped}")


_UNUSABLE, _BEHIND = "it is broken or of another version", "it is behind"
_INDEX_HINTS = {_UNUSABLE: "The next search builds it anew.", _BEHIND: "The next search brings it up to date."}


def _wrong_with(index: SearchIndex, current: bool, folder: Path) -> str:
    if index.seen == EMPTY_SNAPSHOT and any(folder.iterdir()):
        return _UNUSABLE
    try:
        index.entries(Filter())
    except BrokenIndex:
        return _UNUSABLE
    if not current:
        return _BEHIND
    return f"it is in many pieces ({_segments(folder)} segments), which makes it slow" if _segments(folder) > _MANY_SEGMENTS else ""


def _segments(folder: Path) -> int:
    return len(list(folder.rglob("*.store")))


# Events.


def check_events(case: Inspection) -> Iterator[Finding]:
    """What failed in the last days."""
    since = datetime.now(UTC) - timedelta(days=_EVENT_DAYS)
    recent = [event for event in events.read_events(case.workspace.state) if event.time >= since]
    if not recent:
        yield Finding(check="events", level=Level.OK, message=f"none in the last {_EVENT_DAYS} days")
        return
    slowest = max(recent, key=lambda event: event.ms)
    yield Finding(
        check="events",
        level=Level.OK,
        message=f"{len(recent)} in the last {_EVENT_DAYS} days; the slowest was {slowest.verb}, {slowest.ms:,.0f} ms",
    )
    for outcome, level in ((Outcome.REFUSED, Level.NOTE), (Outcome.FAILED, Level.WARNING)):
        codes = Counter(str(event.code) for event in recent if event.outcome is outcome)
        if codes:
            listed = ", ".join(f"{count} {code}" for code, count in codes.most_common())
            yield Finding(check="events", level=level, message=f"{outcome.value}: {listed}")
    for (name, bug), count in Counter((event.verb, event.bug) for event in recent if event.outcome is Outcome.BUG).most_common():
        yield Finding(check="events", level=Level.WARNING, message=f"a bug in mdmem, in {name}: {bug} (times: {count})")
