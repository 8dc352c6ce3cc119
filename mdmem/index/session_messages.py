"""Bring the index of messages up to date with the transcripts, reading only what is new."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from mdmem.folder import files
from mdmem.folder.files import MESSAGES_LOCK
from mdmem.index.messages import (
    MESSAGES_NAME,
    MessageIndex,
    SeenTranscript,
    Stamp,
    TranscriptMessages,
    start_values,
)
from mdmem.index.snapshot import stamps_digest
from mdmem.model.errors import RepositoryProblem, StorageProblem, TranscriptProblem, number_of
from mdmem.model.sessions import Message, Transcript
from mdmem.past import fresh_trail
from mdmem.past.notes import PurgedWords, holds_purged, purged_words
from mdmem.sessions.files import (
    Scope,
    find_files,
    read_file,
    read_head,
    require_sources,
    searched_folders,
)
from mdmem.startup.records import dataclass
from mdmem.workspace import Progress, Say, Workspace, projects_of, session_folders

_DIGEST_DIGITS = 16
_ROOM_BYTES = 64 * 1024 * 1024
"""With less free on the disk, an index that cannot be written is not deleted."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_PART_BYTES = 128 * 1024 * 1024
"""The bytes read before a commit: bounds the loss by an interruption, and the time of the lock."""


@dataclass(frozen=True, slots=True)
class FreshMessages:
    """An index of messages: `stale` if not up to date; `notes` tell why, and what is unreadable."""

    index: MessageIndex
    stale: bool = False
    notes: tuple[str, ...] = ()


class PurgedTexts:
    """The purged texts, which a transcript may still hold; what is read of it does not."""

    def __init__(self, texts: tuple[PurgedWords, ...]) -> None:
        self._texts = texts
        self.digest = hashlib.sha256(
            repr(sorted((text.count, text.hash) for text in texts)).encode()
        ).hexdigest()[:_DIGEST_DIGITS]

    def hold(self, message: Message) -> bool:
        """True if a message holds one that was purged after it was said."""
        return holds_purged(message.text, message.time or _LONG_AGO, self._texts)


def purged_texts(workspace: Workspace, say: Say) -> PurgedTexts:
    with fresh_trail(workspace, say) as trail:
        return PurgedTexts(purged_words(trail, workspace.now()))


def fresh_messages(
    workspace: Workspace, say: Say, progress: Progress | None = None, full: bool = False
) -> FreshMessages:
    """The index of the named sessions' messages, brought up to date, or (`full`) rebuilt.

    Raises WorkspaceProblem (`no-sessions`: the settings name none).
    """
    sources = require_sources(workspace.settings, workspace.environment)
    survey = _Survey(workspace, sources)
    index = _opened(workspace, full)
    if not full and survey.is_of(index):
        return FreshMessages(index, notes=survey.notes(index))
    try:
        workspace.ensure_state()
        return _bring_up_to_date(survey, say, progress, full)
    except RepositoryProblem as problem:
        if problem.code != "busy":
            raise
        note = (
            "the index of messages is behind: another process is still updating it, and the newest"
            " messages may be missing"
        )
        return FreshMessages(index, stale=True, notes=(note,))
    except (OSError, StorageProblem) as problem:
        reason = (
            problem.message
            if isinstance(problem, StorageProblem)
            else problem.strerror or str(problem)
        )
        texts, index = purged_texts(workspace, say), _opened(workspace, full=False)
        if not full and index.seen.files and _is_made_for(index, survey, texts):
            note = (
                f"the index of messages cannot be written ({reason}): the newest messages may be"
                " missing"
            )
            return FreshMessages(index, stale=True, notes=(note, *survey.notes(index)))
        index = MessageIndex.in_memory(workspace.settings.language)
        _Update(survey, index, texts, progress).run(survey.stamps)
        note = f"the index of messages cannot be written ({reason}); searched a temporary one"
        return FreshMessages(index, notes=(note, *survey.notes(index)))


def discard_messages(workspace: Workspace, say: Say) -> None:
    """Delete the index; the next search of sessions builds it again."""
    folder = workspace.state / MESSAGES_NAME
    if folder.exists():
        with files.lock(workspace.state / MESSAGES_LOCK, workspace.settings.lock_timeout, say):
            files.remove_tree(folder)


def _bring_up_to_date(
    survey: _Survey, say: Say, progress: Progress | None, full: bool
) -> FreshMessages:
    workspace = survey.workspace
    while True:
        with files.lock(workspace.state / MESSAGES_LOCK, workspace.settings.lock_timeout, say):
            index = _opened(workspace, full)
            texts = purged_texts(workspace, say)
            if not _is_made_for(index, survey, texts):
                index = _opened(workspace, full=True)
            try:
                is_done = _Update(survey, index, texts, progress).run_part()
            except StorageProblem:  # what is there is damaged, or the disk does not take it
                if not _has_room(workspace.state):
                    raise
                index = _opened(workspace, full=True)
                is_done = _Update(survey, index, texts, progress).run_part()
        if is_done:
            return FreshMessages(index, notes=survey.notes(index))
        full = False


def _is_made_for(index: MessageIndex, survey: _Survey, texts: PurgedTexts) -> bool:
    return (index.seen.settings, index.seen.purged) == (survey.settings, texts.digest)


def _has_room(folder: Path) -> bool:
    """True if a failure to write there is not for lack of disk space."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize > _ROOM_BYTES and os.access(folder, os.W_OK)


def _opened(workspace: Workspace, full: bool) -> MessageIndex:
    return (MessageIndex.create if full else MessageIndex.open)(
        workspace.state / MESSAGES_NAME, workspace.settings.language
    )


class _Survey:
    def __init__(self, workspace: Workspace, sources: tuple[str, ...]) -> None:
        self.workspace = workspace
        self.stamps: dict[str, Stamp] = {
            file.path: [file.device, file.inode, file.size, file.modified]
            for file in find_files(sources, workspace.environment)
        }
        own = workspace.settings
        projects = tuple(map(str, projects_of(workspace)))
        root = str(workspace.repository.root)
        values = repr((own.language, own.session_scope, own.owner, root, *projects))
        self.settings = hashlib.sha256(values.encode("utf-8", "surrogateescape")).hexdigest()[
            :_DIGEST_DIGITS
        ]

        self.commit = workspace.repository.head() or ""
        self.unreadable: set[str] = set()
        """The transcripts that could not be read; they are not tried twice."""

    def is_of(self, index: MessageIndex) -> bool:
        seen = index.seen
        return (seen.settings, seen.commit, seen.stamps) == (
            self.settings,
            self.commit,
            stamps_digest(self.stamps),
        )

    def notes(self, index: MessageIndex) -> tuple[str, ...]:
        if not self.stamps:
            folders = ", ".join(
                searched_folders(self.workspace.settings.sessions, self.workspace.environment)
            )
            return (f"no transcripts in {folders}",)
        unreadable, unknown = sorted(self.unreadable), index.seen.unknown
        return (
            *(
                [
                    f"{number_of(len(unreadable), 'transcript')} could not be read, such as"
                    f" {unreadable[0]}"
                ]
                if unreadable
                else []
            ),
            *(
                [
                    f"{number_of(len(unknown), 'transcript')} in an unknown format, such as"
                    f" {unknown[0]}"
                ]
                if unknown
                else []
            ),
        )


class _Update:
    def __init__(
        self, survey: _Survey, index: MessageIndex, texts: PurgedTexts, progress: Progress | None
    ) -> None:
        workspace = survey.workspace
        self._survey = survey
        self._index = index
        self._progress = progress
        self._owners = workspace.settings.owner
        self._scope = Scope(workspace.settings.session_scope, session_folders(workspace))
        self._purged = texts

    def run_part(self) -> bool:
        """Read some of what is new; True if nothing is left. Raises StorageProblem, OSError."""
        seen, stamps = self._index.seen.files, self._survey.stamps
        due = [
            path for path, stamp in stamps.items() if path not in seen or seen[path].stamp != stamp
        ]
        due = [path for path in due if path not in self._survey.unreadable]
        size, part = 0, []
        for path in due:
            part.append(path)
            size += stamps[path][2] - (seen[path].stamp[2] if path in seen else 0)
            if size > _PART_BYTES:
                break
        self.run(part, len(stamps) - len(due))
        return len(part) == len(due)

    def run(self, due: Iterable[str], done: int = 0) -> None:
        total = len(self._survey.stamps)

        def changed() -> Iterator[TranscriptMessages]:
            for number, path in enumerate(due, done + 1):
                messages = self._read(path, self._index.seen.files.get(path))
                if messages is not None:
                    yield messages
                if self._progress:
                    self._progress(number, total)

        removed = [path for path in self._index.seen.files if path not in self._survey.stamps]
        self._index.update(
            changed(), removed, self._survey.settings, self._purged.digest, self._survey.commit
        )

    def _read(self, path: str, seen: SeenTranscript | None) -> TranscriptMessages | None:
        """Read the new part of a transcript; None where it cannot be read now."""
        stamp = self._survey.stamps[path]
        is_grown = seen is not None and seen.stamp[:2] == stamp[:2] and seen.stamp[2] <= stamp[2]
        left_out = TranscriptMessages(path=path, seen=SeenTranscript(stamp, counts=False))
        if seen is not None and is_grown and not seen.counts:
            return left_out
        start = seen.start if seen is not None and is_grown else None
        try:
            if start is None and self._is_elsewhere(path):
                return left_out
            transcript = read_file(path, start, self._owners)
        except TranscriptProblem as problem:
            return TranscriptMessages(path=path, seen=SeenTranscript(stamp, problem=problem.code))
        except OSError:
            self._survey.unreadable.add(path)
            return None
        if transcript is None:
            return TranscriptMessages(path=path, seen=SeenTranscript(stamp))
        if transcript.own:
            return left_out
        return self._messages(path, stamp, transcript)

    def _is_elsewhere(self, path: str) -> bool:
        head = None if self._scope.is_all else read_head(path)
        return (
            head is not None and head.project is not None and not self._scope.includes(head.project)
        )

    def _messages(self, path: str, stamp: Stamp, transcript: Transcript) -> TranscriptMessages:
        if not self._scope.includes(transcript.project):
            # A session whose folder is not known yet is read from its first line once it is.
            return TranscriptMessages(
                path=path, seen=SeenTranscript(stamp, counts=transcript.project is None)
            )
        return TranscriptMessages(
            path=path,
            seen=SeenTranscript(stamp, start_values(transcript.next_start)),
            session=f"{transcript.client}/{transcript.session}",
            project=transcript.project,
            started=transcript.started,
            from_line=transcript.from_line,
            messages=[message for message in transcript.messages if not self._purged.hold(message)],
        )
