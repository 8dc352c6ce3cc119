"""An entry as a document of the index: fields, labels and the stored row; and calls of tantivy.

Changes here or in `terms` raise `snapshot.INDEX_VERSION`, which rebuilds the index.

An index can be deleted at any time. A crash leaves one that is behind, never a wrong one: an update
marks changing files as never seen, commits the documents, then writes `seen.json`. Without a
readable one of this version the documents are ignored.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import cache, lru_cache
from itertools import chain, islice
from json.encoder import encode_basestring as _quoted
from pathlib import Path
from typing import Any, Generic, ParamSpec, Self, TypeVar

import tantivy
from tantivy import Document, Schema, SchemaBuilder

from mdmem.folder import files
from mdmem.index import ranking
from mdmem.index.indexed import (
    CONTRADICTED_LABEL,
    COPIED_LABEL,
    MAX_NEIGHBOUR_CHARS,
    MOVED_LABEL,
    PAST_LABEL,
    HeadingWords,
    Surroundings,
    as_label,
    copies_number,
    counted_tags,
    entry_labels,
    fact_label,
    file_label,
    found_text,
    heading_words,
    key_terms,
    origin_labels,
    passage,
    passage_entries,
    passage_key,
    passages,
    place_labels,
    with_about,
    words_of_file,
)
from mdmem.index.ranking import asking_sentences, entry_cues, is_dialogue
from mdmem.index.snapshot import SEEN_NAME, SeenFiles, read_seen, write_seen
from mdmem.model import CommitId, FactId, FileKind, FilePath, SectionPath, Source, Status
from mdmem.model.errors import StorageProblem, verb
from mdmem.model.trail import Entry, Origin, plain_first_line
from mdmem.startup.records import dataclass, field, replace
from mdmem.text.facts import entry_tags, is_field, is_row
from mdmem.text.terms import (
    ENGLISH,
    grams,
    identifier_parts,
    indexed_words,
    most_used,
    split_scripts,
    stemmed,
)

TERMS = "terms"
"""The analyzer of terms that are made here, separated by spaces."""
_DOCUMENTS_NAME = "documents"
_ADDED_AT_ONCE = 256
"""Documents in a batch; waking the idle writer's thread takes longer than making a document."""

HEAP_BYTES = 100_000_000
"""Memory before a writer starts a segment, which costs each search 30 µs. Allocated as needed."""
_MOST_ARENAS = 2
_M_ARENA_MAX = -8
"""Option of mallopt(3), from `malloc.h`."""


@cache
def _libc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None


def _limit_arenas() -> None:
    """Have threads that are started from now on share a few heaps; to be called before they are.

    glibc keeps a heap for each thread: 150 MB after 50 updates, and 40 MB with this and
    `_release_free_memory`.
    """
    if libc := _libc():
        libc.mallopt(_M_ARENA_MAX, _MOST_ARENAS)


def _release_free_memory() -> None:
    """Give the system back what is free; takes half a millisecond."""
    if libc := _libc():
        libc.malloc_trim(0)


P = ParamSpec("P")
T = TypeVar("T")


class BrokenIndex(StorageProblem):
    """The index cannot be read; it can be deleted and rebuilt without loss."""


def engine_failures() -> tuple[type[BaseException], ...]:
    """ValueError, and Rust panics of tantivy, whose class is missing before the first one."""
    return (
        ValueError,
        *(kind for kind in BaseException.__subclasses__() if kind.__name__ == "PanicException"),
    )


def call_engine(action: Callable[P, T], *args: P.args, **keywords: P.kwargs) -> T:
    """Call an action of the engine; raises BrokenIndex where it fails."""
    try:
        return action(*args, **keywords)
    except engine_failures() as problem:
        raise BrokenIndex(
            f"the index could not be read: {problem}", f"To rebuild it: {verb('reindex', 'full')}"
        ) from problem


def call_writer(action: Callable[P, T], *args: P.args, **keywords: P.kwargs) -> T:
    """Call an action of a writer; raises StorageProblem where it fails."""
    try:
        return action(*args, **keywords)
    except engine_failures() as problem:
        hint = (
            "Is the disk full, or another process writing it? If not, rebuild it:"
            f" {verb('reindex', 'full')}"
        )
        raise StorageProblem(f"the index could not be written: {problem}", hint) from problem


@contextmanager
def writing(index: tantivy.Index, folder: Path | None) -> Iterator[tantivy.IndexWriter]:
    """A writer for the caller to commit; afterwards searchers see what it did.

    In `folder` (None: in memory) the files that the engine makes become the user's alone.
    """
    _limit_arenas()
    writer = call_writer(index.writer, HEAP_BYTES, 1)
    try:
        yield writer
    finally:
        # Without this wait, a writer leaves the segments of its merges behind for good.
        call_writer(writer.wait_merging_threads)
        _release_free_memory()
        if folder is not None:
            files.make_private(folder)
    call_writer(index.reload)


def add_documents(writer: tantivy.IndexWriter, documents: Iterable[tantivy.Document]) -> None:
    """Add documents; raises StorageProblem where that fails."""
    rest = iter(documents)
    while batch := list(islice(rest, _ADDED_AT_ONCE)):
        call_writer(_add, writer, batch)


def _add(writer: tantivy.IndexWriter, documents: Iterable[tantivy.Document]) -> None:
    for document in documents:
        writer.add_document(document)


S = TypeVar("S", bound=SeenFiles)


class StoredIndex(Generic[S]):
    """Documents, in a folder or in memory, and what they were made from.

    Open it again under the lock before an update: another process may have indexed since.
    """

    version: Sequence[object]
    """Other indexes are rebuilt."""
    seen_type: type[S]
    file_type: Callable[..., object]
    fields: Callable[[], tantivy.Schema]
    never_seen: object
    """A file unlike any, so that it is indexed again or removed."""

    def __init__(
        self, folder: Path | None, documents: tantivy.Index | None, seen: S, language: str | None
    ) -> None:
        self._folder = folder
        self._documents = documents
        self._language = language or ENGLISH
        self.seen = seen

    @classmethod
    def open(cls, folder: Path, language: str | None = None) -> Self:
        """Open the index in a folder; a broken or old one counts as empty.

        Nothing is created or deleted before `update`. `language` (default: English) is that of
        files whose words do not say; with another one the caller has to rebuild the index. Raises
        OSError: the folder cannot be read.
        """
        seen = read_seen(folder, cls.version, cls.seen_type, cls.file_type)
        if seen is None:
            return cls.create(folder, language)
        try:
            documents = call_engine(tantivy.Index.open, str(folder / _DOCUMENTS_NAME))
            return cls(folder, prepared(documents), seen, language)
        except BrokenIndex:
            return cls.create(folder, language)

    @classmethod
    def create(cls, folder: Path, language: str | None = None) -> Self:
        """An empty index that replaces the contents of the folder at the first update."""
        return cls(folder, None, cls.seen_type(), language)

    @classmethod
    def in_memory(cls, language: str | None = None) -> Self:
        return cls(None, prepared(tantivy.Index(cls.fields())), cls.seen_type(), language)

    def _started(self) -> tantivy.Index:
        """The documents; where there are none, their folder is emptied and begun."""
        if self._documents is None:
            assert self._folder is not None  # only an index in a folder can be missing
            (self._folder / SEEN_NAME).unlink(missing_ok=True)
            folder = self._folder / _DOCUMENTS_NAME
            if folder.exists():
                files.remove_tree(folder)
            files.make_folders(folder, files.PRIVATE_FOLDER)
            self._documents = prepared(call_writer(tantivy.Index, self.fields(), str(folder)))
        return self._documents

    @contextmanager
    def _writing(self, changing: Collection[str]) -> Iterator[tantivy.IndexWriter]:
        """A writer, whose work is committed once the files that are changing count as never seen.

        The caller may add to them. Afterwards searchers see what it did.
        """
        with writing(self._started(), self._folder and self._folder / _DOCUMENTS_NAME) as writer:
            yield writer
            if self._folder is not None and (self._folder / SEEN_NAME).exists():
                never_seen = dict.fromkeys(changing, self.never_seen)
                seen = replace(self.seen, files={**self.seen.files, **never_seen})
                self._remember(seen, durably=True)
            call_writer(writer.commit)

    def _remember(self, seen: S, durably: bool = False) -> None:
        self.seen = seen.summed_up()
        if self._folder is not None:
            write_seen(self._folder, self.version, self.seen, durably)


def prepared(index: tantivy.Index) -> tantivy.Index:
    """Register the analyzer, and reload on request only (no thread watches the folder)."""
    index.register_tokenizer(
        TERMS, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    )
    index.config_reader("manual")
    return index


def none_if_empty(values: Iterable[T]) -> Iterator[T] | None:
    rest = iter(values)
    return next((chain([first], rest) for first in rest), None)


LANGUAGE = "language"
"""The field of the language of an entry that is not in English."""
_FIELDS = ("text", "around", "asked", "heading", "parts", "keys", "grams", "grams_around")
LENGTHS = {name: f"{name}_length" for name in _FIELDS}
"""Fields with the number of terms in each field; absent where there are none."""
_NUMBERS = ("day", "logged", "time", "until", "begun", "ended", "last", "cues", "fact")
NEVER = 2**62
"""Greater than every commit: when uncommitted text is live."""
_LAST_DAY = date.max.toordinal()

_KINDS = {kind.value: kind for kind in FileKind}
_NOTHING_MORE: tuple[Any, ...] = (None, None, (), None, None)
_KEPT = 4096
_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Kept: `json.dumps` with options makes an encoder per call, which takes longer than the call."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The time during which an entry is part of memory.

    - `begun`: the commit from which on it is live, or counts again; None while uncommitted.
    - `ended`: the commit from which on it is no longer current.
    - `status`: CURRENT, SUPERSEDED or REMOVED; the search judges expiry.
    - `weaker`: it contradicts a better founded entry.
    - `is_live`: in the file on disk; if not, it counts as removed unless `status` says more.
    - `moved`: it continues as another row, and is found only for its own time.
    - `promoted`: the curated fact that counts instead.
    """

    begun: int | None = None
    ended: int | None = None
    status: Status = Status.CURRENT
    superseded_by: FactId | None = None
    contradicts: tuple[FactId, ...] = ()
    weaker: bool = False
    is_live: bool = True
    moved: bool = False
    promoted: FactId | None = None

    @property
    def is_current(self) -> bool:
        return self.is_live and self.status is Status.CURRENT and not self.moved


@lru_cache(maxsize=_KEPT)
def live_since(begun: int | None) -> Lifetime:
    """The lifetime of most entries; cached, one object per commit."""
    return Lifetime(begun=begun)


@dataclass(frozen=True, slots=True)
class IndexRow:
    """An entry with its origin and lifetime, as stored.

    `last` is the last commit with an entry that is not live, and path and lines are of that.
    `origin` is None while uncommitted; `uncommitted`: (part of) the text is. `about`, of a file's
    first entry: words of the front matter that name the file. `copied`: other lines may say it too.
    `language`: that of its text; set when it is indexed.
    `workspace`: its name in a pool, not stored; None for the one that asks.
    """

    entry: Entry
    origin: Origin | None
    uncommitted: bool
    kind: FileKind
    lifetime: Lifetime = field(default_factory=Lifetime)
    last: CommitId | None = None
    about: str = ""
    copied: bool = field(default=False, compare=False)
    language: str = field(default=ENGLISH, compare=False)
    workspace: str | None = None


def schema_builder() -> SchemaBuilder:
    """The fields of a document; days are ordinals, times epoch seconds.

    The labels of the origin are a separate field, since they come with the second part of an entry
    (`lifetime_text`). Documents with one label `path`, or `gone` (the ending commit), are replaced
    together.
    """
    builder = SchemaBuilder()
    for labels in ("label", "origin"):
        builder.add_text_field(labels, tokenizer_name=TERMS, index_option="basic")
    for number in (*_NUMBERS, *LENGTHS.values()):
        builder.add_integer_field(number, fast=True)
    builder.add_integer_field("passage", fast=True, indexed=True)
    builder.add_float_field("confidence", fast=True)
    builder.add_float_field("factor", fast=True)
    for name in (*_FIELDS, LANGUAGE):
        builder.add_text_field(name, tokenizer_name=TERMS, index_option="freq")
    builder.add_text_field("tagged", tokenizer_name="raw", index_option="basic", fast=True)
    builder.add_bytes_field("row", stored=True)
    return builder


@cache
def schema() -> Schema:
    return schema_builder().build()


@dataclass(frozen=True, slots=True)
class _SectionFields:
    heading: HeadingWords
    labels: str
    dumped: str


@lru_cache(maxsize=_KEPT)
def _section_fields(
    path: FilePath, day: date | None, section: SectionPath, language: str
) -> _SectionFields:
    quoted_day = _quoted(day.isoformat()) if day else "null"
    titles = f"[{','.join(map(_quoted, section))}]"
    language_value = "" if language == ENGLISH else f',"{language}"'
    dumped = f"[[{_quoted(path)},{quoted_day},{titles}{language_value}]"
    return _SectionFields(
        heading_words(path, section, language), place_labels(path, section), dumped
    )


@dataclass(frozen=True, slots=True)
class LifetimeFields:
    """Fields shared by rows that began and ended together; `origin` is empty if uncommitted."""

    numbers: Mapping[str, float]
    labels: str
    origin: str
    row: bytes


@lru_cache(maxsize=_KEPT)
def lifetime_fields(
    origin: Origin | None,
    uncommitted: bool,
    kind: FileKind,
    life: Lifetime,
    last: CommitId | None,
    copied: bool,
) -> LifetimeFields:
    numbers: dict[str, float] = {
        "begun": NEVER if life.begun is None else life.begun,
        "last": _LAST_DAY if life.is_current else 0,
        "factor": ranking.static_factor(kind, origin.confidence if origin else None, life.weaker),
    }
    if life.ended is not None:
        numbers["ended"] = life.ended
    if origin is not None:
        numbers |= {"time": origin.time, "confidence": origin.confidence}
    labels = ("" if life.is_current else f" {PAST_LABEL}") + (
        f" {MOVED_LABEL}" if life.moved else ""
    )
    if life.promoted is not None:
        labels += f" {fact_label(life.promoted)}"
        numbers["fact"] = int(life.promoted, 16)
    if life.contradicts:
        labels += f" {CONTRADICTED_LABEL}"
    who = [*(origin_labels(origin) if origin else ()), *([COPIED_LABEL] if copied else ())]
    return LifetimeFields(
        numbers, labels, " ".join(who), _dumped_course(origin, uncommitted, kind, life, last)
    )


def in_file_order(rows: Iterable[IndexRow]) -> list[IndexRow]:
    """Rows sorted by path and line."""
    return sorted(rows, key=lambda row: (row.entry.path, row.entry.start_line))


def as_document(fields: dict[str, Any], of: Schema | None = None) -> Document:
    """`of`: a schema with more fields than this one."""
    return Document.from_dict(fields, of or schema())


def document_fields(
    path: FilePath, rows: Sequence[IndexRow], language: str, ended_by: CommitId | None = None
) -> Iterator[dict[str, Any]]:
    """The field values of the documents of rows of one file.

    `rows`: in file order. `ended_by`: the commit that ended them; None: they are in the file.
    """
    if not rows:
        return
    rows = in_passages(rows)
    owner = as_label("gone", ended_by) if ended_by else file_label(path)
    shared: object = None
    for row, fields in zip(rows, _text_fields(path, rows, language, owner), strict=True):
        own = row.origin, row.uncommitted, row.kind, row.lifetime, row.last, row.copied
        if own != shared:
            shared, lifetime = own, lifetime_fields(*own)
        yield _complete(fields, lifetime)


def in_passages(rows: Sequence[IndexRow]) -> Sequence[IndexRow]:
    """Rows with those of `passages` instead of long paragraphs."""
    parts = [(row, list(passages(row.entry))) for row in rows]
    if len(rows) == sum(len(entries) for _, entries in parts):
        return rows
    return [
        replace(row, entry=entry, about="" if number else row.about)
        for row, entries in parts
        for number, entry in enumerate(entries)
    ]


def _complete(fields: dict[str, Any], lifetime: LifetimeFields) -> dict[str, Any]:
    """The `_text_fields` of a document with those of its lifetime; changed in place."""
    fields |= lifetime.numbers
    fields["label"] += lifetime.labels
    fields["origin"] = lifetime.origin
    if "until" in fields:
        fields["last"] = min(fields["last"], fields["until"])
    fields["row"] = [fields["row"] + lifetime.row]
    return fields


def _text_fields(
    path: FilePath, rows: Sequence[IndexRow], usual_language: str, owner: str
) -> Iterator[dict[str, Any]]:
    """Field values from the text of each entry, for `_complete`; `owner` is their first label."""
    entries, kind = [row.entry for row in rows], rows[0].kind
    is_log = kind is FileKind.DAILY
    texts = list(map(found_text, entries))
    words_of_entries = words_of_file(texts, usual_language)
    cues = [
        entry_cues(row.entry, own.words, is_log, _is_agents(row), "".join(own.runs))
        for row, own in zip(rows, words_of_entries, strict=True)
    ]
    places = [
        (f"row {number}",) if is_row(entry) or is_field(entry) else () if is_log else entry.section
        for number, entry in enumerate(entries)
    ]
    around = Surroundings(places, words_of_entries, is_dialogue(cues))
    before, section_fields = None, None
    for position, (entry, own) in enumerate(zip(entries, words_of_entries, strict=True)):
        place = (entry.day, entry.section, own.language)
        if section_fields is None or place != before:
            before, section_fields = place, _section_fields(path, *place)
            day_number = entry.day.toordinal() if entry.day else ranking.NO_DAY
        above = with_about(section_fields.heading, rows[position].about, own.language)
        over = with_about(above, " ".join(entry.tags), own.language)
        tags = entry_tags(entry)
        fields: dict[str, Any] = {
            "label": entry_labels(entry, tags, kind, owner, section_fields.labels),
            "day": day_number,
            "logged": day_number if is_log else ranking.NO_DAY,
            "cues": cues[position],
            "fact": copies_number(entry) if kind is not FileKind.BOOTSTRAP else 0,
            **_field("text", own.indexed),
            **_field("around", f"{around.words(position)} {above.indexed}"),
            **_field("heading", " ".join((over.indexed, *grams(over.runs)))),
            "row": _dump(entry, rows[position].about, section_fields),
            "passage": passage_key(passage(passage_entries(entries, position, is_log))),
        }
        if entry.until is not None:
            fields["until"] = entry.until.toordinal()
        if own.language != ENGLISH:
            fields[LANGUAGE] = own.language
        if tags:
            fields["tagged"] = counted_tags(tags)
        if (
            question := asking_sentences(texts[position - 1][-MAX_NEIGHBOUR_CHARS:])
        ) and around.is_near(position, position - 1):
            words_asked = indexed_words(split_scripts(question).spaced)
            fields |= _field("asked", stemmed(words_asked, words_of_entries[position - 1].language))
        if parts := identifier_parts(texts[position]):
            fields |= _field("parts", stemmed(parts, own.language))
        if keys := key_terms(entry):
            fields |= _field("keys", " ".join(sorted(keys)))
        if own.runs:
            fields |= _field("grams", " ".join(grams(own.runs)))
        if around.has_pairs and (character_pairs := around.character_pairs(position)):
            fields |= _field("grams_around", character_pairs)
        yield fields


def _is_agents(row: IndexRow) -> bool:
    actor = row.origin.actor if row.origin else None
    return actor is not None and actor != "digest"


def _field(name: str, words: str) -> dict[str, Any]:
    return {name: words, LENGTHS[name]: _length(words)}


def _length(words: str) -> int:
    """Nearly always one more than the spaces, which are counted in a tenth of the time."""
    return (
        len(words.split())
        if "  " in words or words[:1] in " " or words[-1] == " "
        else words.count(" ") + 1
    )


def _dump(entry: Entry, about: str, section_fields: _SectionFields) -> bytes:
    """The beginning of the stored row, a JSON list of section, entry and lifetime parts."""
    own = (
        f"{_quoted(entry.fact) if entry.fact else 'null'},{entry.start_line},{entry.end_line},"
        f"{_quoted(entry.text)}"
    )
    until, first_line = entry.until and entry.until.isoformat(), entry.first_line
    plain = first_line == plain_first_line(entry.text)
    if not plain or entry.kind or entry.key or entry.tags or until or about:
        optional = [
            entry.kind,
            entry.key,
            entry.tags,
            until,
            None if plain else first_line,
            *([about] if about else []),
        ]
        own += "," + _as_json(optional)[1:-1]
    return f"{section_fields.dumped},[{own}],".encode("utf-8", "surrogatepass")


def _dumped_course(
    origin: Origin | None, uncommitted: bool, kind: FileKind, life: Lifetime, last: CommitId | None
) -> bytes:
    lifetime_values: list[Any] = [
        life.begun,
        life.ended,
        life.status,
        life.superseded_by,
        life.contradicts,
        life.weaker,
        life.is_live,
    ]
    lifetime_values += [life.moved, life.promoted]
    origin_values = origin and [
        origin.commit,
        origin.time,
        origin.source,
        origin.confidence,
        origin.author,
    ]
    if origin and origin_values and (origin.cites or origin.claimed_by):
        origin_values += ["\n".join(origin.cites), origin.attribute, origin.claimed_by]
    lifetime_values = lifetime_values[:1] if life == live_since(life.begun) else lifetime_values
    return f"{_as_json([origin_values, uncommitted, kind, lifetime_values, last])}]".encode(
        "utf-8", "surrogatepass"
    )


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


@lru_cache(maxsize=_KEPT)
def _origin(
    commit: str,
    time: int,
    source: str,
    confidence: float,
    author: str,
    cites: str = "",
    attribute: str | None = None,
    claimed_by: str | None = None,
) -> Origin:
    """Cached, since each search makes a dozen."""
    origin = Origin(
        commit=CommitId(commit),
        time=time,
        source=Source(source),
        confidence=confidence,
        author=author,
        claimed_by=claimed_by,
    )
    return replace(origin, cites=tuple(cites.split("\n")), attribute=attribute) if cites else origin


def _life(begun: int | None, *rest: Any) -> Lifetime:
    if not rest:
        return live_since(begun)
    stored = dict(zip(Lifetime.__match_args__, (begun, *rest), strict=True))
    return Lifetime(
        **stored | {"status": Status(stored["status"]), "contradicts": tuple(stored["contradicts"])}
    )


def parse_row(data: bytes) -> IndexRow:
    values = json.loads(data.decode("utf-8", "surrogatepass"))
    (
        (path, day, section, *language),
        (fact, start, end, text, *optional),
        (origin_values, uncommitted, file_kind, lifetime_values, last),
    ) = values
    kind, key, tags, until, first_line, *about = optional or _NOTHING_MORE
    first_line = plain_first_line(text) if first_line is None else first_line
    entry = Entry(
        path=FilePath(path),
        start_line=start,
        end_line=end,
        section=tuple(section),
        day=_day(day),
        text=text,
        kind=kind,
        key=key,
        tags=tuple(tags),
        until=_day(until),
        fact=fact,
        first_line=first_line,
    )
    return IndexRow(
        entry=entry,
        origin=_origin(*origin_values) if origin_values else None,
        uncommitted=uncommitted,
        kind=_KINDS[file_kind],
        lifetime=_life(*lifetime_values),
        last=last,
        about=about[0] if about else "",
        language=language[0] if language else ENGLISH,
    )


def main_language(documents: Iterable[dict[str, Any]], usual: str) -> str:
    """The language of most of some documents' fields; `usual` without any."""
    return most_used([str(each.get(LANGUAGE, ENGLISH)) for each in documents], usual)
