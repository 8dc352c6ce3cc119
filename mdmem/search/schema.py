"""An entry as a document of the index, written and read: the fields, labels and the stored row.

Whoever changes anything here or in `terms` raises `INDEX_VERSION`: an index of another version is rebuilt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tantivy import Document, Index, Schema, SchemaBuilder, TextAnalyzerBuilder, Tokenizer

from mdmem.document import plain_title
from mdmem.model import PATH_SEPARATOR, CommitId, FactId, FileKind, FilePath, SectionPath, Source, Status
from mdmem.model.trail import Entry, Origin
from mdmem.search import ranking
from mdmem.search.cues import asking_sentences, entry_cues
from mdmem.search.entry_words import MAX_NEIGHBOUR_CHARS, HeadingWords, heading_words, own_words, with_about
from mdmem.search.surroundings import Surroundings
from mdmem.search.terms import encodable, grams, split_scripts, terms
from mdmem.startup.records import dataclass, field, replace

INDEX_VERSION = 16

TERMS = "terms"
"""The analyzer of fields with terms, separated by spaces."""
_NUMBERS = ("day", "logged", "time", "until", "begun", "ended", "last", "cues")
FACT_LABEL = "mark:fact"
PAST_LABEL = "mark:past"
"""The label of rows that are no longer current, moved or not."""
MOVED_LABEL = "mark:moved"
NEVER = 2**62
"""The number from which on uncommitted text is live: after every mainline commit."""
_LAST_DAY = date.max.toordinal()

_KINDS = {kind.value: kind for kind in FileKind}
_STATEMENT_LABELS = 2**16
_DIGEST_BYTES = 8
_NOTHING_MORE: tuple[Any, ...] = (None, None, (), None, None)
_KEPT = 4096
_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""One encoder for all rows: `json.dumps` with options makes one for each call, which takes longer than the call."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The time during which an entry is part of memory, and its fate.

    - `begun`: the number of the mainline commit from which on it is live, or counts again; None while uncommitted.
    - `ended`: the number from which on it is no longer current: it was taken out, or a mark says so.
    - `status`: CURRENT, SUPERSEDED or REMOVED; expiry is judged by the search.
    - `weaker`: it contradicts a better founded entry.
    - `is_live`: it is in the file on disk. If not, it counts as removed unless `status` says more.
    - `moved`: it went on elsewhere, or counted again later, as another row: this one is found only for its own time.
    """

    begun: int | None = None
    ended: int | None = None
    status: Status = Status.CURRENT
    superseded_by: FactId | None = None
    contradicts: tuple[FactId, ...] = ()
    weaker: bool = False
    is_live: bool = True
    moved: bool = False

    @property
    def is_current(self) -> bool:
        """True if memory says so now."""
        return self.is_live and self.status is Status.CURRENT and not self.moved


@lru_cache(maxsize=_KEPT)
def live_since(begun: int | None) -> Lifetime:
    """The lifetime of most entries: live since a commit. Cached: one object for all that came in together."""
    return Lifetime(begun=begun)


@dataclass(frozen=True, slots=True)
class IndexRow:
    """An entry with its origin and lifetime, as the index stores it.

    Args:
        entry: if it is no longer live, with path and lines of the last commit that held it.
        origin: the commit that brought it in; None while uncommitted.
        uncommitted: True if (part of) its text is in no commit.
        kind: the kind of its file.
        lifetime: when it is part of memory.
        last: the last commit that held it, if it is no longer live.
        about: of the first entry of a file, the words by which its front matter names the file.
    """

    entry: Entry
    origin: Origin | None
    uncommitted: bool
    kind: FileKind
    lifetime: Lifetime = field(default_factory=Lifetime)
    last: CommitId | None = None
    about: str = ""


@cache
def schema() -> Schema:
    """The fields of a document. Labels (`NAME:VALUE`) match as a whole; days are ordinals, times seconds since 1970.

    Each document has the label `path` (its file) or `gone` (the commit that ended it); all with the same label are replaced together.
    """
    builder = SchemaBuilder()
    builder.add_text_field("label", tokenizer_name="raw", index_option="basic")
    for number in _NUMBERS:
        builder.add_integer_field(number, fast=True)
    builder.add_float_field("confidence", fast=True)
    builder.add_float_field("factor", fast=True)
    for name in ("text", "around", "asked", "heading", "grams", "grams_around"):
        builder.add_text_field(name, tokenizer_name=TERMS, index_option="freq")
    builder.add_bytes_field("row", stored=True)
    return builder.build()


def prepare(index: Index) -> Index:
    """Register the analyzer of the fields, and reload the index on request only (no thread watches its folder)."""
    index.register_tokenizer(TERMS, TextAnalyzerBuilder(Tokenizer.whitespace()).build())
    index.config_reader("manual")
    return index


def as_label(name: str, value: str) -> str:
    """A label as indexed."""
    return f"{name}:{value}"


def file_label(name: str, path: str) -> str:
    """A label with a path as its value; different paths give different labels, also with lone surrogates."""
    return as_label(name, path if path.isascii() else path.encode("utf-8", "backslashreplace").decode())


def address_digest(address: str) -> str:
    """The label value of a section address: case and markup folded."""
    return _digest(_folded(address)).hex()


@lru_cache(maxsize=_KEPT)
def _folded(title: str) -> str:
    return plain_title(title).casefold()


def _digest(text: str) -> bytes:
    """A digest of fixed length, since a heading can have any."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).digest()


def folded_label(text: str) -> str:
    """A kind or tag as indexed: case folded."""
    return encodable(text).casefold()


def _parts(section: SectionPath) -> Iterator[str]:
    """Labels of every contiguous part of a section path."""
    titles = [_folded(title) for title in section]
    count = len(titles)
    parts = [PATH_SEPARATOR.join(titles[start:end]) for start in range(count) for end in range(start + 1, count + 1)]
    return map(_part_label, dict.fromkeys(parts))


@lru_cache(maxsize=_KEPT)
def _part_label(part: str) -> str:
    return as_label("part", _digest(part).hex())


def statement_number(entry: Entry) -> int:
    """A number shared by the occurrences of one statement in one section; of an entry that is no fact, by its text."""
    return (
        fact_number(entry.path, entry.section, entry.fact) if entry.fact else _statement_number(entry.path, entry.section, "", entry.text)
    )


def fact_number(path: FilePath, section: SectionPath, fact: FactId) -> int:
    """The `statement_number` of a fact in a section."""
    return _statement_number(path, section, fact, "")


def _statement_number(path: FilePath, section: SectionPath, *statement: str) -> int:
    return int.from_bytes(_digest("\n".join((path, PATH_SEPARATOR.join(section), *statement))))


def statement_label(number: int) -> str:
    """The label of a statement, shared with a few others: unique ones would take a quarter as much room as the text."""
    return as_label("said", f"{number % _STATEMENT_LABELS:x}")


@lru_cache(maxsize=_KEPT)
def _path_labels(path: str) -> tuple[str, ...]:
    """Labels of a path, of its folders and of the file's name."""
    pure = Path(path)
    labelled_paths = dict.fromkeys((path, *(str(folder) for folder in pure.parents if folder.name), pure.name))
    return tuple(as_label("place", encodable(labelled_path)) for labelled_path in labelled_paths)


@dataclass(frozen=True, slots=True)
class _SectionFields:
    """Fields shared by the entries of a section: words of headings and path, labels, the beginning of the stored row."""

    heading: HeadingWords
    labels: tuple[str, ...]
    dumped: str


@lru_cache(maxsize=_KEPT)
def _section_fields(path: FilePath, day: date | None, section: SectionPath, language: str) -> _SectionFields:
    dumped = _as_json([path, day and day.isoformat(), section])
    return _SectionFields(heading_words(path, section, language), (*_path_labels(path), *_parts(section)), dumped)


@dataclass(frozen=True, slots=True)
class LifetimeFields:
    """Fields shared by rows that came in and ended together: numbers, labels, the second part of the stored row."""

    numbers: Mapping[str, float]
    labels: tuple[str, ...]
    row: bytes


@lru_cache(maxsize=_KEPT)
def lifetime_fields(origin: Origin | None, uncommitted: bool, kind: FileKind, life: Lifetime, last: CommitId | None) -> LifetimeFields:
    """The fields of a row with this origin and lifetime; the arguments are those of `IndexRow`."""
    numbers: dict[str, float] = {
        "begun": NEVER if life.begun is None else life.begun,
        "last": _LAST_DAY if life.is_current else 0,
        "factor": ranking.static_factor(kind, origin.confidence if origin else None, life.weaker),
    }
    if life.ended is not None:
        numbers["ended"] = life.ended
    if origin is not None:
        numbers |= {"time": origin.time, "confidence": origin.confidence}
    labels = (*(() if life.is_current else (PAST_LABEL,)), *((MOVED_LABEL,) if life.moved else ()))
    return LifetimeFields(numbers, labels, _dumped_course(origin, uncommitted, kind, life, last))


def _labels(row: IndexRow, owner: str, section_fields: _SectionFields) -> list[str]:
    """The labels that a row is filtered by, without those of its lifetime. Instructions in a bootstrap file are no facts."""
    entry = row.entry
    labels = [owner, statement_label(statement_number(entry)), *section_fields.labels]
    if entry.tags:
        labels += [as_label("tag", folded_label(tag)) for tag in entry.tags]
    if entry.kind is not None:
        labels.append(as_label("kind", folded_label(entry.kind)))
    if entry.fact is not None and row.kind is not FileKind.BOOTSTRAP:
        labels.append(FACT_LABEL)
    return labels


def in_file_order(rows: Iterable[IndexRow]) -> list[IndexRow]:
    """Rows sorted by path and line."""
    return sorted(rows, key=lambda row: (row.entry.path, row.entry.start_line))


def as_document(fields: dict[str, Any]) -> Document:
    """A document of the index with these field values."""
    return Document.from_dict(fields, schema())


def document_fields(path: FilePath, rows: Sequence[IndexRow], language: str, ended_by: CommitId | None = None) -> Iterator[dict[str, Any]]:
    """The field values of the documents of rows of one file.

    Args:
        path: the file.
        rows: its rows, in file order.
        language: the language to stem words in.
        ended_by: the commit that ended all of them; None for the rows of the file as it is.
    """
    owner = as_label("gone", ended_by) if ended_by else file_label("path", path)
    shared, lifetime = None, None
    for row, fields in zip(rows, text_fields(path, rows, language, owner), strict=True):
        if lifetime is None or shared != (row.origin, row.uncommitted, row.kind, row.lifetime, row.last):
            shared = row.origin, row.uncommitted, row.kind, row.lifetime, row.last
            lifetime = lifetime_fields(*shared)
        yield complete(fields, lifetime)


def complete(fields: dict[str, Any], lifetime: LifetimeFields) -> dict[str, Any]:
    """The `text_fields` of a document with those of its lifetime; changed in place."""
    fields |= lifetime.numbers
    fields["label"] += lifetime.labels
    if "until" in fields:
        fields["last"] = min(fields["last"], fields["until"])
    fields["row"].append(lifetime.row)
    return fields


def text_fields(path: FilePath, rows: Sequence[IndexRow], language: str, owner: str) -> Iterator[dict[str, Any]]:
    """The field values that come from entry, kind and `about` of each row, for `complete`; `owner` is their first label."""
    words_of_rows = [own_words(row.entry, language) for row in rows]
    around = Surroundings([row.entry.section for row in rows], words_of_rows, is_log=bool(rows) and rows[0].kind is FileKind.DAILY)
    above_entry, section_fields = None, None
    for position, row in enumerate(rows):
        entry, own, is_log = row.entry, words_of_rows[position], row.kind is FileKind.DAILY
        if section_fields is None or above_entry != (entry.day, entry.section):
            above_entry = entry.day, entry.section
            section_fields = _section_fields(path, *above_entry, language)
            day = entry.day.toordinal() if entry.day else ranking.NO_DAY
        above = with_about(section_fields.heading, row.about, language) if row.about else section_fields.heading
        fields: dict[str, Any] = {
            "label": _labels(row, owner, section_fields),
            "day": day,
            "logged": day if is_log else ranking.NO_DAY,
            "cues": entry_cues(entry, own.words, is_log),
            "text": own.indexed,
            "around": f"{around.words(position)} {above.indexed}",
            "heading": " ".join((above.indexed, *grams(above.runs))) if above.runs else above.indexed,
            "row": [_dump(row, section_fields)],
        }
        if entry.until is not None:
            fields["until"] = entry.until.toordinal()
        if (question := asking_sentences(rows[position - 1].entry.text[-MAX_NEIGHBOUR_CHARS:])) and around.is_near(position, position - 1):
            fields["asked"] = terms(split_scripts(question).spaced, language)
        if own.runs:
            fields["grams"] = " ".join(grams(own.runs))
        if around.has_pairs and (character_pairs := around.character_pairs(position)):
            fields["grams_around"] = character_pairs
        yield fields


def _plain_line(text: str) -> str:
    """The first line that most entries with this text have; only others are stored."""
    return "- " + text.partition("\n")[0]


def _dump(row: IndexRow, section_fields: _SectionFields) -> bytes:
    """The first part of the stored row: two JSON lists, one that a section shares and its own. The second one is of its lifetime."""
    entry = row.entry
    own = f"{_as_json(entry.fact)},{entry.start_line},{entry.end_line},{_as_json(entry.text)}"
    until, first_line = entry.until and entry.until.isoformat(), entry.first_line
    plain = first_line == _plain_line(entry.text)
    if not plain or entry.kind or entry.key or entry.tags or until or row.about:
        optional = [entry.kind, entry.key, entry.tags, until, None if plain else first_line, *([row.about] if row.about else [])]
        own += "," + _as_json(optional)[1:-1]
    return f"{section_fields.dumped},[{own}]".encode("utf-8", "surrogatepass")


def _dumped_course(origin: Origin | None, uncommitted: bool, kind: FileKind, life: Lifetime, last: CommitId | None) -> bytes:
    lifetime_values = [life.begun, life.ended, life.status, life.superseded_by, life.contradicts, life.weaker, life.is_live, life.moved]
    origin_values = origin and [origin.commit, origin.time, origin.source, origin.confidence]
    if origin and origin_values and origin.cites:
        origin_values += ["\n".join(origin.cites), origin.attribute]
    lifetime_values = lifetime_values[:1] if life == live_since(life.begun) else lifetime_values
    return _as_json([origin_values, uncommitted, kind, lifetime_values, last]).encode("utf-8", "surrogatepass")


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


@lru_cache(maxsize=_KEPT)
def _origin(commit: str, time: int, source: str, confidence: float, cites: str = "", attribute: str | None = None) -> Origin:
    """The origin, cached: one object for all that a commit brought in, since each search makes a dozen."""
    origin = Origin(commit=CommitId(commit), time=time, source=Source(source), confidence=confidence)
    return replace(origin, cites=tuple(cites.split("\n")), attribute=attribute) if cites else origin


def _life(begun: int | None, *rest: Any) -> Lifetime:
    if not rest:
        return live_since(begun)
    names = ("ended", "status", "superseded_by", "contradicts", "weaker", "is_live", "moved")
    fields = dict(zip(names, rest, strict=False))
    return Lifetime(begun=begun, **fields | {"status": Status(fields["status"]), "contradicts": tuple(fields["contradicts"])})


def row_from_parts(parts: Sequence[bytes]) -> IndexRow:
    """The row that a document of the index stores, from the two values of its field."""
    values = json.loads((b"[%b,%b]" % tuple(parts)).decode("utf-8", "surrogatepass"))
    (path, day, section), (fact, start, end, text, *optional), (origin_values, uncommitted, file_kind, lifetime_values, last) = values
    kind, key, tags, until, first_line, *about = optional or _NOTHING_MORE
    first_line = _plain_line(text) if first_line is None else first_line
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
    )
