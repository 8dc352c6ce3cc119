"""Read new lines of transcripts, and write them to the logs of their days."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mdmem.digest import known_sessions
from mdmem.digest.work import Work
from mdmem.errors import WorkspaceProblem
from mdmem.llm import endpoints
from mdmem.model.pipelines import Digest, DigestResult
from mdmem.model.rules import is_iso_day
from mdmem.queries import dates
from mdmem.startup.records import replace
from mdmem.steps import BELOW_RUN, StepRecorder, in_turn, new_name
from mdmem.transcripts.files import (
    TranscriptFile,
    find_files,
    require_sources,
    searched_folders,
    stat_file,
)
from mdmem.workspace import Progress, Say, Workspace

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
        work.digest_files(_due_files(workspace) if files is None else files, progress)
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


def _due_files(workspace: Workspace) -> list[TranscriptFile]:
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
