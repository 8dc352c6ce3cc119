"""The pipelines' state for `status`: last step, unread and skipped parts, silent steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mdmem.llm import asking
from mdmem.model.pipelines import StepRecord
from mdmem.model.reads import ModelStatus, PipelineStatus, SilentStep, SkippedPart
from mdmem.nights import steps
from mdmem.nights.digest.cursors import Cursors, ReadState, read_state
from mdmem.nights.digest.known_sessions import configured_files
from mdmem.sessions.files import TranscriptFile
from mdmem.workspace import Workspace

_UNREAD_AGE = timedelta(days=20)
"""Claude Code deletes a transcript 30 days after the last word in it."""
_SILENT_AGE = timedelta(days=3)


def pipeline_status(workspace: Workspace) -> PipelineStatus:
    """By cursors, step records and files; no transcript is read. Raises: OSError."""
    records, read, now = (
        steps.read_steps(workspace.state),
        read_state(workspace.state),
        datetime.now(UTC),
    )
    last = records[-1] if records else None
    files = configured_files(workspace) if workspace.settings.digest != "off" else ()
    unread = _unread(files, read.cursors, now)
    oldest = min(unread, key=lambda file: file.modified, default=None)
    return PipelineStatus(
        last_step=last.step if last else None,
        last_run=last.run if last else None,
        last_time=last.time if last else None,
        last_outcome=last.outcome if last else None,
        unread=len(unread),
        oldest_unread=oldest.path if oldest else None,
        oldest_time=_time(oldest) if oldest else None,
        silent=tuple(_silent(records, now)),
        skipped=tuple(_skipped(read.cursors)),
        model=_model_status(workspace, read) if workspace.settings.digest == "model" else None,
    )


def _model_status(workspace: Workspace, read: ReadState) -> ModelStatus:
    today, due = workspace.now(), read.due.values()
    records = list(asking.read_records(workspace.state))
    last = records[-1] if records else None
    return ModelStatus(
        tokens_used=asking.tokens_on(records, today.date(), today.tzinfo),
        tokens_a_day=workspace.settings.model_tokens_day,
        waiting=sum(each.is_pending for each in due),
        given_up=sum(each.given_up > 0 for each in due),
        last_outcome=last.outcome if last else None,
        last_time=last.time if last else None,
    )


def _unread(files: Iterable[TranscriptFile], kept: Cursors, now: datetime) -> list[TranscriptFile]:
    return [
        file
        for file in files
        if file.size and _time(file) < now - _UNREAD_AGE and not kept.has_stamp(file)
    ]


def _time(file: TranscriptFile) -> datetime:
    return datetime.fromtimestamp(file.modified / 1e9, UTC)


def _silent(records: Sequence[StepRecord], now: datetime) -> Iterator[SilentStep]:
    """Steps that found nothing for three days or more, while there was something to read."""
    for step in dict.fromkeys(record.step for record in records):
        since, size = None, 0
        for record in reversed([record for record in records if record.step == step]):
            if record.figures.entries or record.figures.doubled:
                break
            since, size = record.time, size + record.figures.size
        if since is not None and size and now - since >= _SILENT_AGE:
            yield SilentStep(step, since, size)


def _skipped(kept: Cursors) -> Iterator[SkippedPart]:
    for path, skipped in kept.with_skipped_lines():
        if Path(path).exists():
            yield SkippedPart(path, skipped.count, skipped.first, skipped.reason)
