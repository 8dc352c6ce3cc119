"""The index of messages of sessions: on disk, updated, searched. It can be deleted at any time.

As with the index of memory, a crash leaves an index that is behind, never a wrong one: changing
transcripts are removed from `seen.json`, the documents are committed, then the file is written. The
documents of a transcript that it does not name are replaced as a whole.

A message is stored once per transcript; copies (forks, synced homes) share a mark, and are found
once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import tantivy
from tantivy import FieldType, Occur, Query

from mdmem import __version__
from mdmem.folder.files import sync
from mdmem.index import schema
from mdmem.index.engine import BrokenIndex, add_documents, call_engine, call_writer, writing
from mdmem.index.indexer import ADDED_AT_ONCE, none_if_empty
from mdmem.index.snapshot import INDEX_VERSION, json_bytes, stamps_digest
from mdmem.model.searches import MessageHit
from mdmem.model.sessions import Message, ReadingStart
from mdmem.startup.records import dataclass, field, replace
from mdmem.text.terms import as_indexed, grams, lowered, query_terms, split_scripts, stemmed
from mdmem.text.word_forms import ENGLISH, spoken_languages, text_language

SEEN_NAME = "seen.json"
_VERSION = [2, INDEX_VERSION, __version__]
"""With the version of mdmem, since the rules by which texts are cleaned may change."""
_START_FIELDS = ReadingStart.__match_args__
_TIMES = tuple(_START_FIELDS.index(name) for name in ("started", "time"))

Stamp = tuple[int, int, int, int]
"""Device, inode, size and time of change (ns) of a file."""


@dataclass(frozen=True, slots=True)
class SeenTranscript:
    """A transcript as it was read.

    `start_values`: the stored `ReadingStart` (None: the first byte). `counts`: False: out of scope,
    not indexed. `problem`: why it could not be read.
    """

    stamp: Stamp
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

    transcripts: Mapping[str, SeenTranscript] = field(default_factory=dict)
    settings: str = ""
    purged: str = ""
    commit: str = ""
    stamps: str = ""
    unknown: tuple[str, ...] = ()


def seen_of(
    transcripts: Mapping[str, SeenTranscript], settings: str, purged: str, commit: str
) -> Seen:
    return Seen(
        transcripts=transcripts,
        settings=settings,
        purged=purged,
        commit=commit,
        stamps=stamps_digest({path: transcript.stamp for path, transcript in transcripts.items()}),
        unknown=tuple(path for path, transcript in transcripts.items() if transcript.problem),
    )


class _StoredTranscripts(Mapping[str, SeenTranscript]):
    def __init__(self, text: bytes) -> None:
        self._text = text

    @cached_property
    def _transcripts(self) -> dict[str, SeenTranscript]:
        values: dict[str, list[Any]] = json.loads(self._text.decode("utf-8", "surrogatepass"))
        return {
            path: SeenTranscript(tuple(stamp), start, counts, problem)
            for path, (stamp, start, counts, problem) in values.items()
        }

    def __getitem__(self, path: str) -> SeenTranscript:
        return self._transcripts[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._transcripts)

    def __len__(self) -> int:
        return len(self._transcripts)


def read_seen(folder: Path) -> Seen | None:
    """The transcripts in the index of a folder; None if it has none of this version."""
    try:
        with (folder / SEEN_NAME).open("rb") as file:
            header, text = json.loads(file.readline()), file.read()
        if header["version"] != _VERSION or header["check"] != crc32(text):
            return None
        return Seen(
            transcripts=_StoredTranscripts(text),
            settings=header["settings"],
            purged=header["purged"],
            commit=header["commit"],
            stamps=header["stamps"],
            unknown=tuple(header["unknown"]),
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError):  # half written, or another program's
        return None


def write_seen(folder: Path, seen: Seen) -> None:
    """Write them whole or not at all, for its owner alone, and durably."""
    text = json_bytes(
        {
            path: [each.stamp, each.start_values, each.counts, each.problem]
            for path, each in seen.transcripts.items()
        }
    )
    header = {
        "version": _VERSION,
        "settings": seen.settings,
        "purged": seen.purged,
        "commit": seen.commit,
        "stamps": seen.stamps,
        "unknown": seen.unknown,
        "check": crc32(text),
    }
    new = folder / f"{SEEN_NAME}.new"
    with new.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(json_bytes(header) + b"\n" + text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(folder / SEEN_NAME)
    sync(folder)


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
_DOCUMENTS_NAME = "documents"
_FIELDS = ("text", "grams", schema.LANGUAGE)
_FEWEST_CANDIDATES, _CANDIDATES_A_HIT = 50, 4
_SCORE_DIGITS = 4
_LABEL_BYTES = 8
_NO_TIME = 0


@dataclass(frozen=True, slots=True)
class TranscriptMessages:
    """The messages of a transcript from a line on, which replace the indexed ones.

    `session`: CLIENT/SESSION; `started` tells the original of a copied message.
    """

    path: str
    seen: SeenTranscript
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


class MessageIndex:
    """Before an update, open it again while holding the lock."""

    def __init__(
        self, folder: Path | None, index: tantivy.Index | None, seen: Seen, language: str | None
    ) -> None:
        self._folder = folder
        self._index = index
        self._language = language or ENGLISH
        self.seen = seen

    @classmethod
    def open(cls, folder: Path, language: str | None) -> MessageIndex:
        """Open the index in a folder; a broken or old one counts as empty. Raises OSError."""
        seen = read_seen(folder)
        if seen is None:
            return cls.create(folder, language)
        try:
            return cls(
                folder, call_engine(schema.open_documents, folder / _DOCUMENTS_NAME), seen, language
            )
        except BrokenIndex:
            return cls.create(folder, language)

    @classmethod
    def create(cls, folder: Path, language: str | None) -> MessageIndex:
        """An empty index that replaces the contents of the folder at the first update."""
        return cls(folder, None, Seen(), language)

    @classmethod
    def in_memory(cls, language: str | None) -> MessageIndex:
        return cls(None, schema.prepare(tantivy.Index(_schema())), Seen(), language)

    def update(
        self,
        changed: Iterable[TranscriptMessages],
        removed: Collection[str],
        settings: str,
        purged: str = "",
        commit: str = "",
    ) -> None:
        """Update the index to a new state of the transcripts. The caller holds the lock.

        `changed` is iterated once, to save memory. Raises StorageProblem, OSError: the disk is
        full, or another process is writing.
        """
        if self._index is None:
            self._start_anew()
        kept = {path: seen for path, seen in self.seen.transcripts.items() if path not in removed}
        transcripts = none_if_empty(changed)
        if removed or transcripts:
            kept |= self._change(transcripts or (), removed)
        self.seen = seen_of(kept, settings, purged, commit)
        if self._folder is not None:
            write_seen(self._folder, self.seen)

    def _start_anew(self) -> None:
        assert self._folder is not None  # only an index in a folder can be missing
        (self._folder / SEEN_NAME).unlink(missing_ok=True)
        self._index = schema.new_documents(self._folder / _DOCUMENTS_NAME, _schema())

    def _change(
        self, changed: Iterable[TranscriptMessages], removed: Collection[str]
    ) -> dict[str, SeenTranscript]:
        assert self._index is not None
        seen: dict[str, SeenTranscript] = {}
        documents_folder = self._folder and self._folder / _DOCUMENTS_NAME
        with writing(self._index, documents_folder) as writer:

            def new() -> Iterator[tantivy.Document]:
                for transcript in changed:
                    self._delete(writer, transcript)
                    seen[transcript.path] = transcript.seen
                    yield from (
                        _document(transcript, message, self._language)
                        for message in transcript.messages
                    )

            for path in removed:
                call_writer(writer.delete_documents_by_term, "file", _label(path))
            documents = new()
            while batch := list(islice(documents, ADDED_AT_ONCE)):
                add_documents(writer, batch)
            self._forget({*removed, *seen})
            call_writer(writer.commit)
        return seen

    def _delete(self, writer: tantivy.IndexWriter, transcript: TranscriptMessages) -> None:
        label = _label(transcript.path)
        if transcript.from_line == 1 or transcript.path not in self.seen.transcripts:
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

    def _forget(self, paths: Collection[str]) -> None:
        """Remove transcripts from `seen.json` before their documents change."""
        kept = {path: seen for path, seen in self.seen.transcripts.items() if path not in paths}
        if self._folder is not None and len(kept) < len(self.seen.transcripts):
            write_seen(self._folder, replace(self.seen, transcripts=kept, stamps=""))

    def search(self, request: MessageQuery) -> tuple[MessageHit, ...]:
        """The best messages, then the newest; copies are one hit. Raises BrokenIndex."""
        if self._index is None or request.limit <= 0:
            return ()
        searcher = call_engine(self._index.searcher)
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
        builder.add_text_field(name, tokenizer_name=schema.TERMS, index_option="freq")
    builder.add_bytes_field("row", stored=True)
    return builder.build()


def _document(
    transcript: TranscriptMessages, message: Message, usual_language: str
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
