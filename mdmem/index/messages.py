"""The index of messages of sessions.

A message is stored once per transcript; copies (forks, synced homes) share a mark, and are found
once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import cache
from typing import Any, NamedTuple

import tantivy
from tantivy import FieldType, Occur, Query

from mdmem import __version__
from mdmem.index import schema
from mdmem.index.engine import (
    TERMS,
    StoredIndex,
    add_documents,
    call_engine,
    call_writer,
    none_if_empty,
)
from mdmem.index.snapshot import INDEX_VERSION, json_bytes, stamps_digest
from mdmem.model.searches import MessageHit
from mdmem.model.sessions import Message, ReadingStart
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

_START_FIELDS = ReadingStart.__match_args__
_TIMES = tuple(_START_FIELDS.index(name) for name in ("started", "time"))

Stamp = list[int]
"""Device, inode, size and time of change (ns) of a file."""


class SeenTranscript(NamedTuple):
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

    files: Mapping[str, SeenTranscript] = field(default_factory=dict)
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


class MessageIndex(StoredIndex[Seen]):
    """The index of messages."""

    version = (3, INDEX_VERSION, __version__)
    """With the version of mdmem, since the rules by which texts are cleaned may change."""
    seen_type, file_type, never_seen = Seen, SeenTranscript, SeenTranscript([0, 0, 0, 0])

    @staticmethod
    def fields() -> tantivy.Schema:
        return _schema()

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
        self._started()
        kept = {path: seen for path, seen in self.seen.files.items() if path not in removed}
        transcripts = none_if_empty(changed)
        if removed or transcripts:
            kept |= self._change(transcripts or (), removed)
        self._remember(Seen(files=kept, settings=settings, purged=purged, commit=commit))

    def _change(
        self, changed: Iterable[TranscriptMessages], removed: Collection[str]
    ) -> dict[str, SeenTranscript]:
        seen: dict[str, SeenTranscript] = {}
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

    def _delete(self, writer: tantivy.IndexWriter, transcript: TranscriptMessages) -> None:
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
