"""Purge a text, and keep digests from restoring it: its transcripts count as read.

The purge's note has their last lines, as a digest's has, so that this works without the state
folder; and a short hash of the words, for transcripts that are rewritten later.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from mdmem.folder import files
from mdmem.llm import asking
from mdmem.model.errors import RepositoryProblem, TranscriptProblem
from mdmem.model.writes import Purge, PurgePlan, PurgeResult
from mdmem.nights.digest import cursors
from mdmem.nights.digest.cursors import ReadEnd, cursor_of
from mdmem.nights.steps import LOCK_NAME
from mdmem.past.notes import purged_trailer, without_meant_days
from mdmem.purge import purging
from mdmem.purge.purging import HeldTranscripts
from mdmem.purge.target import PurgeTarget
from mdmem.queries import cited_sessions
from mdmem.sessions.files import find_files, read_head, stat_file
from mdmem.sessions.reading import line_hash
from mdmem.sessions.records import last_line, parse_object, whole_lines
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import fact_id, normalise
from mdmem.workspace import Say, Workspace

_ASCII_RUN = late.pattern(rb"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class _HeldTranscript:
    path: Path
    session: str
    end: ReadEnd
    size: int


def plan_purge(workspace: Workspace, arguments: Purge) -> PurgePlan:
    """Plan a purge; nothing is changed. Raises: MdmemError as `changes.purge.plan_purge`."""
    return purging.plan_purge(
        workspace, arguments, lambda target: _for_note(target, list(_held(workspace, target)))
    )


def run_purge(workspace: Workspace, arguments: Purge, say: Say) -> PurgeResult:
    """Transcripts that hold the text count as read. Raises as `changes.purge.run_purge`."""
    held: list[_HeldTranscript] = []

    def find(target: PurgeTarget) -> HeldTranscripts:
        held[:] = _held(workspace, target)
        return _for_note(target, held)

    result = purging.run_purge(workspace, arguments, say, find)
    if held:
        # While a long digest runs, the note of the purge keeps the words out.
        with suppress(RepositoryProblem):
            _count_as_read(workspace, held, say)
    return result


def _for_note(target: PurgeTarget, held: list[_HeldTranscript]) -> HeldTranscripts:
    return HeldTranscripts(
        paths=tuple(str(each.path) for each in held),
        reads=tuple(
            dict.fromkeys(f"{each.session}#{each.end.line} {each.end.hash}" for each in held)
        ),
        purged=purged_trailer(target.words),
        kept_state=frozenset(
            (cursors.STATE_NAME, cursors.OLD_MARKS_NAME, asking.LOG_NAME, asking.OLDER_LOG_NAME)
        ),
    )


def _held(workspace: Workspace, target: PurgeTarget) -> Iterator[_HeldTranscript]:
    cited = cited_sessions.sessions_cited(workspace, target.fact or fact_id(target.words))
    named = (file.path for file in find_files(workspace.settings.sessions, workspace.environment))
    read = cursors.read_state(workspace.state).cursors
    paths = dict.fromkeys((*map(os.path.realpath, named), *read))
    for path in map(Path, paths):
        with suppress(OSError, TranscriptProblem):
            head, data = read_head(str(path)), path.read_bytes()
            last = last_line(data)
            if head is None or last is None:
                continue
            session = f"{head.client}/{head.session}"
            if session in cited or _holds(data, target):
                yield _HeldTranscript(
                    path,
                    session,
                    ReadEnd(last.number, line_hash(last.data)),
                    last.offset + len(last.data) + 1,
                )


def _holds(data: bytes, target: PurgeTarget) -> bool:
    """True if a transcript's string has the words, with or without a digest's ISO days."""
    words = normalise(without_meant_days(target.words))
    anchor = max(_ASCII_RUN.findall(words.encode()), key=len, default=b"")
    folded = tuple(dict.fromkeys((words, normalise(target.words))))
    for line in whole_lines(data):
        if anchor in line.data.lower() and (record := parse_object(line.data)) is not None:
            for text in _strings(record):
                normalised = normalise(text)
                if any(each in normalised for each in folded):
                    return True
    return False


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def _count_as_read(workspace: Workspace, held: list[_HeldTranscript], say: Say) -> None:
    """Move cursors to the end, while no digest runs. Raises: RepositoryProblem (`busy`)."""
    with files.lock(workspace.state / LOCK_NAME, workspace.settings.lock_timeout, say):
        read = cursors.read_state(workspace.state)
        for each in held:
            read.due.pop(each.session, None)
            with suppress(OSError):
                cursor = cursor_of(stat_file(each.path))
                read.cursors[str(each.path)] = replace(
                    cursor,
                    changed=0,
                    size=each.size,
                    read_size=each.size,
                    end=each.end,
                    has_entries=True,
                    settled=True,
                )
        read.write(workspace.state)
