"""Lines of sessions that entries cite, and which of them cannot be read any more: clients delete their transcripts after a while."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from mdmem.digest.cursors import read_cursors
from mdmem.digest.sources import FEWEST_CHARACTERS, may_be_of, read_heads
from mdmem.model.history import Blame, FactHistory, SectionHistory
from mdmem.startup.records import replace
from mdmem.transcripts import CLIENT_NAMES
from mdmem.transcripts.files import TranscriptFile, find_files
from mdmem.workspace import Workspace

Answer = TypeVar("Answer", bound=SectionHistory | FactHistory | Blame)


def with_gone(workspace: Workspace, answer: Answer) -> Answer:
    """An answer that tells which of the lines that it cites are of transcripts that are not there any more."""
    gone = _gone_sessions(workspace, map(_session, answer.cites))
    return replace(answer, gone=tuple(cited for cited in answer.cites if _session(cited) in gone))


def _session(cited: str) -> str:
    """The CLIENT/SESSION of a cited line."""
    return cited.rpartition("#")[0]


def _gone_sessions(workspace: Workspace, sessions: Iterable[str]) -> set[str]:
    """Those of some sessions that have no transcript.

    A transcript is looked for by its name in the folders of its client. Only where there is none of that name, the first records are read of
    those that the settings name, and of those that were digested.
    """
    by_client: dict[str, set[str]] = {}
    for session in sessions:
        by_client.setdefault(session.partition("/")[0], set()).add(session)
    gone: set[str] = set()
    for client, of_client in by_client.items():
        files = find_files([client], workspace.environment) if client in CLIENT_NAMES else ()
        gone |= of_client - _named_sessions(of_client, files)
    if gone:
        sources = find_files(workspace.settings.sessions, workspace.environment)
        paths = dict.fromkeys((*(file.path for file in sources), *read_cursors(workspace.state)))
        gone -= {transcript.session for transcript in read_heads(map(Path, paths))}
    return gone


def _named_sessions(sessions: Iterable[str], files: Iterable[TranscriptFile]) -> set[str]:
    """Those of some sessions of a client after which one of its files may be named."""
    paths = [Path(file.path) for file in files]
    ids = {session: session.partition("/")[2] for session in sessions}
    return {
        session
        for session, name in ids.items()
        if any(name[:FEWEST_CHARACTERS] in path.stem and may_be_of(path, name) for path in paths)  # the first is quicker than the second
    }
