"""Read new lines of transcripts, and write them to the logs of their days."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from mdmem import repo
from mdmem.digest import known_sessions
from mdmem.digest.work import Work
from mdmem.errors import WorkspaceProblem
from mdmem.llm import endpoints
from mdmem.model.pipelines import Digest, DigestResult
from mdmem.model.rules import is_iso_day
from mdmem.queries import dates
from mdmem.startup.records import replace
from mdmem.steps.run_log import StepRecorder, new_name
from mdmem.steps.turns import BELOW_RUN, in_turn
from mdmem.transcripts.files import (
    TranscriptFile,
    find_files,
    require_sources,
    searched_folders,
    stat_file,
)
from mdmem.workspace import Progress, Say, Workspace


def due_files(workspace: Workspace) -> list[TranscriptFile]:
    """The configured transcripts; none where the settings switch digests off.

    Raises: WorkspaceProblem (`no-sessions`: none configured, or none exist).
    """
    environment = workspace.environment
    if workspace.settings.digest == "off":
        return []
    sources = require_sources(workspace.settings, environment)
    files = list(find_files(sources, environment))
    if not files:
        folders = ", ".join(searched_folders(sources, environment))
        raise WorkspaceProblem(
            "no-sessions",
            f"no transcripts in {folders}",
            "Name other clients, or globs, in the setting sessions.",
        )
    return files


_STEP = "digest"


def digest(
    workspace: Workspace, request: Digest, say: Say, progress: Progress | None = None
) -> DigestResult:
    """Digest new lines of transcripts, one after another.

    An unreadable transcript is only named. Transcripts reported by hooks meanwhile are digested as
    a step of their own.
    Raises: PathProblem (`file-not-found`), TranscriptProblem (`ambiguous`), RepositoryProblem
    (`running`), WorkspaceProblem (`no-model`), PackageProblem (`missing-package`), MdmemError.
    """
    if request.model:
        endpoints.configured(workspace.settings, workspace.environment)
    files = [
        stat_file(known_sessions.named_transcript(workspace, name)) for name in request.sessions
    ]
    if not request.sessions and workspace.settings.digest != "off":
        require_sources(workspace.settings, workspace.environment)
    if request.since is not None and not is_iso_day(request.since):
        request = replace(
            request, since=dates.past_day(workspace, request.since, "since").isoformat()
        )
    workspace.ensure_state()

    def work() -> DigestResult:
        with StepRecorder(workspace.state, _STEP, keep=not request.dry_run) as step:
            return _digest(
                workspace, request, files if request.sessions else None, step, say, progress
            )

    def look_again(transcripts: tuple[str, ...]) -> bool:
        if request.dry_run:
            return False
        with StepRecorder(workspace.state, _STEP) as step:
            digest_reported(transcripts)(workspace, step, say, progress)
        return True

    is_reported = workspace.environment.get(BELOW_RUN) and not request.dry_run
    return in_turn(
        workspace.state, work, look_again, [file.path for file in files] if is_reported else ()
    )


def is_due(workspace: Workspace) -> bool:
    """True if the settings have sessions digested."""
    return bool(workspace.settings.sessions) and workspace.settings.digest != "off"


def digest_due(
    workspace: Workspace, step: StepRecorder, say: Say, progress: Progress | None = None
) -> DigestResult:
    """Digest the configured transcripts, in the turn of the caller.

    Raises: MdmemError: there are none, or the workspace cannot be written.
    """
    return _digest(workspace, Digest(), None, step, say, progress)


def digest_reported(
    transcripts: Sequence[str],
) -> Callable[[Workspace, StepRecorder, Say, Progress | None], DigestResult]:
    """A function that digests transcripts reported by a hook, if they still exist."""
    files = [stat_file(path) for path in transcripts if Path(path).is_file()]

    def digest_them(
        workspace: Workspace, step: StepRecorder, say: Say, progress: Progress | None = None
    ) -> DigestResult:
        return _digest(
            workspace,
            Digest(sessions=tuple(file.path for file in files)),
            files,
            step,
            say,
            progress,
        )

    return digest_them


def _digest(
    workspace: Workspace,
    request: Digest,
    files: Sequence[TranscriptFile] | None,
    step: StepRecorder,
    say: Say,
    progress: Progress | None,
) -> DigestResult:
    """`files` None: the configured ones. The step gets its figures, whatever ends it."""
    step.run = new_name(workspace.state, _STEP)
    work = Work(workspace, request, step.run, say)
    is_whole = False
    try:
        work.digest_files(due_files(workspace) if files is None else files, progress)
        work.ask_model(files)
        is_whole = files is None
    finally:
        step.figures = work.tally.figures()
        work.finish(is_whole)
    step.outcome = work.tally.outcome
    return work.tally.result(step.run)


def figures(result: DigestResult) -> Mapping[str, int]:
    """The figures for the event of a digest."""
    return {
        "sessions": result.sessions,
        "messages": result.messages,
        "bytes": result.size,
        "noise": result.noise,
        "entries": len(result.entries),
        "already": result.repeated,
        "redacted": result.redacted,
        "refused": result.refused,
        "surplus": result.surplus,
    }


_STARTED_NAME = "digest-started"
"""The state folder's folder with a file per transcript, timed by its digest's start."""
_SECONDS = 60.0
"""The minimum between two digests of one session."""
_NAME_DIGITS = 16


def start_digest(workspace: Workspace, transcript: Path, is_last: bool = False) -> bool:
    """Start a detached digest of a configured transcript; return True if started.

    It never fails, and runs at most once a minute, except for an ended session (`is_last`), which
    nothing would digest later.
    """
    settings = workspace.settings
    if settings.digest == "off" or not settings.sessions or not sys.executable:
        return False
    if workspace.environment.get(BELOW_RUN):  # no pipeline digests its own session
        return False
    try:
        workspace.ensure_state()
        started = (
            workspace.state
            / _STARTED_NAME
            / sha256(os.fsencode(transcript)).hexdigest()[:_NAME_DIGITS]
        )
        if (not is_last and _is_recent(started)) or not _is_named(workspace, transcript):
            return False
        _note_start(started)
        # -P: nothing is imported from the folder that the user is in. What mdmem starts is silent
        # towards the host's hooks.
        command = [
            sys.executable,
            "-P",
            "-m",
            "mdmem",
            "-C",
            str(workspace.root),
            "digest",
            "--no-model",
            "--json",
            str(transcript),
        ]
        null = os.devnull
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, null, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, null, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        os.posix_spawn(
            sys.executable,
            command,
            repo.environment({"MDMEM_CONTEXT": "off", BELOW_RUN: "1"}),
            file_actions=streams,
            setsid=True,
        )
    except OSError:
        return False
    return True


def _is_recent(started: Path) -> bool:
    try:
        return 0 <= time.time() - started.stat().st_mtime < _SECONDS
    except OSError:
        return False


def _note_start(started: Path) -> None:
    """Note the start of a digest, and drop old notes."""
    if started.parent.is_file():  # as an earlier version kept it
        started.parent.unlink()
    started.parent.mkdir(mode=0o700, exist_ok=True)
    for path in started.parent.iterdir():
        if not _is_recent(path):
            path.unlink(missing_ok=True)
    started.touch(mode=0o600)


def _is_named(workspace: Workspace, transcript: Path) -> bool:
    """True if the settings name the transcript, by its client or by a glob."""
    path = os.path.realpath(transcript)
    return any(
        file.path == path for file in find_files(workspace.settings.sessions, workspace.environment)
    )
