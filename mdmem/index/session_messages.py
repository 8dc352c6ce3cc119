"""The index of messages of sessions, brought up to date with the transcripts by reading only what
is new.

A message is stored once per transcript; copies (forks, synced homes) share a mark, and are found
once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import tantivy
from tantivy import FieldType, Occur, Query

from mdmem import __version__
from mdmem.folder import files
from mdmem.folder.files import MESSAGES_LOCK
from mdmem.index import schema
from mdmem.index.schema import (
    TERMS,
    StoredIndex,
    add_documents,
    call_engine,
    call_writer,
    none_if_empty,
)
from mdmem.index.snapshot import INDEX_VERSION, json_bytes, stamps_digest
from mdmem.model.errors import RepositoryProblem, StorageProblem, TranscriptProblem, number_of
from mdmem.model.searches import MessageHit
from mdmem.model.sessions import Message, ReadingStart, Transcript
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
from mdmem.startup.records import dataclass, field, replace
from mdmem.text.terms import (
    ENGLISH,
    as_indexed,
    grams,
    lowered,
    query_terms,
    split_scripts,
    spoken_languages,
    stemmed,
    text_language,
)
from mdmem.workspace import Progress, Say, Workspace, projects_of, session_folders

_START_FIELDS = ReadingStart.__match_args__
_TIMES = tuple(_START_FIELDS.index(name) for name in ("started", "time"))

_Stamp = list[int]
"""Device, inode, size and time of change (ns) of a file."""


class _SeenTranscript(NamedTuple):
    """A transcript as it was read.

    `start_values`: the stored `ReadingStart` (None: the first byte). `counts`: False: out of scope,
    not indexed. `problem`: why it could not be read.
    """

    stamp: _Stamp
    start_values: list[Any] | None = None
    counts: bool = True
    problem: str | None = None

    @property
    def start(self) -> ReadingStart | None:
        return _parsed_start(self.start_values)


@dataclass(frozen=True, slots=True)
class Seen:
    """The transcripts as they were read.

    `settings`, `purged`: digests of other inputs. `commit`: where `purged` is from. `stamps`: a
    digest of all stamps. `unknown`: paths in an unknown format.
    """

    files: Mapping[str, _SeenTranscript] = field(default_factory=dict)
    settings: str = ""
    purged: str = ""
    commit: str = ""
    stamps: str = ""
    unknown: Sequence[str] = ()

    def summed_up(self) -> Seen:
        stamps = {path: transcript.stamp for path, transcript in self.files.items()}
        unknown = [path for path, transcript in self.files.items() if transcript.problem]
        return replace(self, stamps=stamps_digest(stamps), unknown=unknown)


def start_values(start: ReadingStart | None) -> list[Any] | None:
    if start is None:
        return None
    values = [getattr(start, name) for name in _START_FIELDS]
    return [value.isoformat() if isinstance(value, datetime) else value for value in values]


def _parsed_start(values: list[Any] | None) -> ReadingStart | None:
    if values is None:
        return None
    times = {
        position: datetime.fromisoformat(values[position])
        for position in _TIMES
        if values[position] is not None
    }
    return ReadingStart(
        **dict(
            zip(
                _START_FIELDS,
                [times.get(position, value) for position, value in enumerate(values)],
                strict=True,
            )
        )
    )


MESSAGES_NAME = "messages"
_FIELDS = ("text", "grams", schema.LANGUAGE)
_FEWEST_CANDIDATES, _CANDIDATES_A_HIT = 50, 4
_SCORE_DIGITS = 4
_LABEL_BYTES = 8
_NO_TIME = 0


@dataclass(frozen=True, slots=True)
class _TranscriptMessages:
    """The messages of a transcript from a line on, which replace the indexed ones.

    `session`: CLIENT/SESSION; `started` tells the original of a copied message.
    """

    path: str
    seen: _SeenTranscript
    session: str = ""
    project: str | None = None
    started: datetime | None = None
    from_line: int = 1
    messages: Sequence[Message] = ()


@dataclass(frozen=True, slots=True)
class MessageQuery:
    """A query; `since` (inclusive) and `until` (exclusive) in epoch seconds, times in `zone`."""

    query: str
    limit: int
    since: int | None = None
    until: int | None = None
    zone: tzinfo | None = None


class MessageIndex(StoredIndex[Seen]):
    """The index of messages."""

    version = (3, INDEX_VERSION, __version__)
    """With the version of mdmem, since the rules by which texts are cleaned may change."""
    seen_type, file_type, never_seen = Seen, _SeenTranscript, _SeenTranscript([0, 0, 0, 0])

    @staticmethod
    def fields() -> tantivy.Schema:
        return _schema()

    def update(
        self,
        changed: Iterable[_TranscriptMessages],
        removed: Collection[str],
        settings: str,
        purged: str = "",
        commit: str = "",
    ) -> None:
        """Update the index to a new state of the transcripts. The caller holds the lock.

        `changed` is iterated once, to save memory. Raises StorageProblem, OSError: the disk is
        full, or another process is writing.
        """
        self._started()
        kept = {path: seen for path, seen in self.seen.files.items() if path not in removed}
        transcripts = none_if_empty(changed)
        if removed or transcripts:
            kept |= self._change(transcripts or (), removed)
        self._remember(Seen(files=kept, settings=settings, purged=purged, commit=commit))

    def _change(
        self, changed: Iterable[_TranscriptMessages], removed: Collection[str]
    ) -> dict[str, _SeenTranscript]:
        seen: dict[str, _SeenTranscript] = {}
        touched = set(removed)
        with self._writing(touched) as writer:

            def new() -> Iterator[tantivy.Document]:
                for transcript in changed:
                    self._delete(writer, transcript)
                    touched.add(transcript.path)
                    seen[transcript.path] = transcript.seen
                    for message in transcript.messages:
                        yield _document(transcript, message, self._language)

            for path in removed:
                call_writer(writer.delete_documents_by_term, "file", _label(path))
            add_documents(writer, new())
        return seen

    def _delete(self, writer: tantivy.IndexWriter, transcript: _TranscriptMessages) -> None:
        label = _label(transcript.path)
        if transcript.from_line == 1 or transcript.path not in self.seen.files:
            call_writer(writer.delete_documents_by_term, "file", label)
            return
        lines = Query.range_query(
            _schema(), "line", FieldType.Integer, lower_bound=transcript.from_line
        )
        of_file = Query.term_query(_schema(), "file", label, index_option="basic")
        call_writer(
            writer.delete_documents_by_query,
            Query.boolean_query([(Occur.Must, of_file), (Occur.Must, lines)]),
        )

    def search(self, request: MessageQuery) -> tuple[MessageHit, ...]:
        """The best messages, then the newest; copies are one hit. Raises BrokenIndex."""
        if self._documents is None or request.limit <= 0:
            return ()
        searcher = call_engine(self._documents.searcher)
        asked = _query(request, _languages(searcher))
        if asked is None:
            return ()
        limit = max(_FEWEST_CANDIDATES, _CANDIDATES_A_HIT * request.limit)
        while True:
            scored = call_engine(searcher.search, asked, limit, count=False).hits
            best = _best(searcher, scored, request.zone)
            if len(best) > request.limit or len(scored) < limit:
                return tuple(best[: request.limit])
            limit *= _CANDIDATES_A_HIT


def _best(
    searcher: tantivy.Searcher, scored: Iterable[tuple[float, Any]], zone: tzinfo | None
) -> list[MessageHit]:
    """The hits of documents; of copies the one in the session that began first."""
    first: dict[str, tuple[str, MessageHit]] = {}
    for score, address in scored:
        mark, started, hit = call_engine(
            _parsed, call_engine(searcher.doc, address), round(score, _SCORE_DIGITS), zone
        )
        if mark not in first or (started, hit.session, hit.line) < (
            first[mark][0],
            first[mark][1].session,
            first[mark][1].line,
        ):
            first[mark] = started, hit
    return sorted((hit for _, hit in first.values()), key=_rank_key)


def _rank_key(hit: MessageHit) -> tuple[float, float, str, int]:
    return -hit.score, -hit.time.timestamp() if hit.time else 0.0, hit.session, hit.line


def _languages(searcher: tantivy.Searcher) -> tuple[str, ...]:
    def count(language: str) -> int:
        if not call_engine(searcher.doc_freq, schema.LANGUAGE, language):
            return 0
        # The frequency counts messages that were removed, too.
        held = Query.term_query(_schema(), schema.LANGUAGE, language, index_option="freq")
        result: Any = call_engine(searcher.search, held, 1)  # its stub does not know the count
        return int(result.count)

    return spoken_languages(count, searcher.num_docs)


def _query(request: MessageQuery, languages: Sequence[str]) -> Query | None:
    asked = query_terms(request.query, languages)
    words = dict.fromkeys(
        (
            *asked.words,
            *(variant for _, variant in asked.also),
            *(joined for _, joined in asked.joined),
        )
    )
    clauses = [Query.term_query(_schema(), "text", word, index_option="freq") for word in words]
    clauses += [
        Query.term_query(_schema(), "grams", gram, index_option="freq") for gram in asked.grams
    ]
    if not clauses:
        return None
    query = Query.boolean_query([(Occur.Should, clause) for clause in clauses])
    if request.since is None and request.until is None:
        return query
    times = Query.range_query(
        _schema(),
        "time",
        FieldType.Integer,
        lower_bound=request.since,
        upper_bound=request.until,
        include_upper=request.until is None,
    )
    return Query.boolean_query(
        [(Occur.Must, query), (Occur.Must, Query.const_score_query(times, 0.0))]
    )


@cache
def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("file", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("line", fast=True)
    builder.add_integer_field("time", fast=True)
    for name in _FIELDS:
        builder.add_text_field(name, tokenizer_name=TERMS, index_option="freq")
    builder.add_bytes_field("row", stored=True)
    return builder.build()


def _document(
    transcript: _TranscriptMessages, message: Message, usual_language: str
) -> tantivy.Document:
    scripts = split_scripts(message.text)
    words = lowered(scripts.spaced)
    language = text_language(words, usual_language)
    row = [
        transcript.path,
        message.line,
        transcript.session,
        transcript.project,
        message.speaker.value,
        message.sender,
        message.time.isoformat() if message.time else None,
        message.text,
        message.mark,
        transcript.started.isoformat() if transcript.started else "",
    ]
    fields: dict[str, Any] = {
        "file": _label(transcript.path),
        "line": message.line,
        "time": int(message.time.timestamp()) if message.time else _NO_TIME,
        "text": stemmed(as_indexed(scripts.spaced, words), language),
        "row": json_bytes(row),
    }
    if language != ENGLISH:
        fields[schema.LANGUAGE] = language
    if scripts.runs:
        fields["grams"] = " ".join(grams(scripts.runs))
    return tantivy.Document.from_dict(fields, _schema())


def _parsed(
    document: tantivy.Document, score: float, zone: tzinfo | None
) -> tuple[str, str, MessageHit]:
    """The mark of a message, the start of its session, and its hit."""
    stored: bytes = document.get_all("row")[0]
    path, line, session, project, speaker, sender, time, text, mark, started = json.loads(
        stored.decode("utf-8", "surrogatepass")
    )
    hit = MessageHit(
        path=path,
        line=line,
        session=session,
        project=project,
        speaker=speaker,
        sender=sender,
        time=datetime.fromisoformat(time).astimezone(zone) if time else None,
        text=text,
        score=score,
    )
    return mark, started, hit


def _label(path: str) -> str:
    return hashlib.blake2b(
        path.encode("utf-8", "surrogateescape"), digest_size=_LABEL_BYTES
    ).hexdigest()


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
        self.stamps: dict[str, _Stamp] = {
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

        def changed() -> Iterator[_TranscriptMessages]:
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

    def _read(self, path: str, seen: _SeenTranscript | None) -> _TranscriptMessages | None:
        """Read the new part of a transcript; None where it cannot be read now."""
        stamp = self._survey.stamps[path]
        is_grown = seen is not None and seen.stamp[:2] == stamp[:2] and seen.stamp[2] <= stamp[2]
        left_out = _TranscriptMessages(path=path, seen=_SeenTranscript(stamp, counts=False))
        if seen is not None and is_grown and not seen.counts:
            return left_out
        start = seen.start if seen is not None and is_grown else None
        try:
            if start is None and self._is_elsewhere(path):
                return left_out
            transcript = read_file(path, start, self._owners)
        except TranscriptProblem as problem:
            return _TranscriptMessages(path=path, seen=_SeenTranscript(stamp, problem=problem.code))
        except OSError:
            self._survey.unreadable.add(path)
            return None
        if transcript is None:
            return _TranscriptMessages(path=path, seen=_SeenTranscript(stamp))
        if transcript.own:
            return left_out
        return self._messages(path, stamp, transcript)

    def _is_elsewhere(self, path: str) -> bool:
        head = None if self._scope.is_all else read_head(path)
        return (
            head is not None and head.project is not None and not self._scope.includes(head.project)
        )

    def _messages(self, path: str, stamp: _Stamp, transcript: Transcript) -> _TranscriptMessages:
        if not self._scope.includes(transcript.project):
            # A session whose folder is not known yet is read from its first line once it is.
            return _TranscriptMessages(
                path=path, seen=_SeenTranscript(stamp, counts=transcript.project is None)
            )
        return _TranscriptMessages(
            path=path,
            seen=_SeenTranscript(stamp, start_values(transcript.next_start)),
            session=f"{transcript.client}/{transcript.session}",
            project=transcript.project,
            started=transcript.started,
            from_line=transcript.from_line,
            messages=[message for message in transcript.messages if not self._purged.hold(message)],
        )
