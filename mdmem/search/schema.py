"""What the index holds of an entry: the fields, and an entry as a document of the index, both ways.

Change anything here or in `words` and raise `VERSION`: an index of another version is built anew.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tantivy import Document, Index, Schema, SchemaBuilder, TextAnalyzerBuilder, Tokenizer

from mdmem.document import plain_title
from mdmem.layout import day_of
from mdmem.model import PATH_SEPARATOR, CommitId, FactId, FileKind, FilePath, SectionPath, Source, Status
from mdmem.model.trail import Entry, Origin
from mdmem.search import ranking
from mdmem.search.cues import asking_sentences, entry_cues
from mdmem.search.terms import encodable, folded, grams, split_scripts, stemmed, terms, text_language
from mdmem.startup.records import dataclass, field

INDEX_VERSION = 8

NEIGHBOURS = 2
"""Entries on each side, in the same file, whose words an entry is found by too; `ranking` says what for."""

_MAX_NEIGHBOUR_CHARS = 1000
"""Of each neighbour: a long one would drown the entry, and cost five times its size."""

_TERMS = "terms"
_NUMBERS = ("day", "time", "until", "begun", "ended", "last", "cues")
FACT_LABEL = "mark:fact"
PAST_LABEL = "mark:past"
"""The label of what is not current any more, moved or not."""
MOVED_LABEL = "mark:moved"
_NEVER = 2**62
"""When uncommitted text began: after every landmark."""
_LAST_DAY = date.max.toordinal()

_DAY_NAME = re.compile(r"^\d{4}-\d{2}-\d{2}-?")
_CURATED_STEM = "memory"
_KINDS = {kind.value: kind for kind in FileKind}
_STATEMENT_LABELS = 2**16
_DIGEST_BYTES = 8
_NOTHING_MORE: tuple[Any, ...] = (None, None, (), None, None)
_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Lifetime:
    """When an entry is part of memory, and what became of it.

    - `begun`: the landmark from which on it stands, or counts again; None while it is uncommitted.
    - `ended`: the landmark from which on it is not current any more, because it went or because a mark says so.
    - `status`: CURRENT, SUPERSEDED or REMOVED; whether it has expired is judged when it is searched for.
    - `weaker`: it contradicts something that is better founded.
    - `standing`: it is in the file on disk. What is not counts as removed, where `status` says no better.
    - `moved`: it went on elsewhere, or counted again later, and that is another row: this one is found by its time only.
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
        """Whether it is what memory says now."""
        return self.is_live and self.status is Status.CURRENT and not self.moved


@lru_cache(maxsize=_KEPT)
def live_since(begun: int | None) -> Lifetime:
    """The life of most: it stands, and nothing became of it. One object for all that came in together."""
    return Lifetime(begun)


@dataclass(frozen=True, slots=True)
class IndexRow:
    """An entry with what is known of it.

    Args:
        entry: what no longer stands has path and lines of the last commit that held it.
        origin: the commit that brought it in; None while there is none.
        uncommitted: whether (part of) its text is in no commit.
        kind: its file's.
        life: when it is part of memory.
        last: of what no longer stands, the last commit that held it.
    """

    entry: Entry
    origin: Origin | None
    uncommitted: bool
    kind: FileKind
    lifetime: Lifetime = field(default_factory=Lifetime)
    last: CommitId | None = None


@cache
def schema() -> Schema:
    """The fields. A label, `NAME:VALUE`, is compared as a whole; days are ordinals, times seconds since 1970; `factor` multiplies the score.

    A document has the label `path`, the file that it belongs to, or `gone`, the commit that ended it; it is replaced together with all
    that have the same.
    """
    builder = SchemaBuilder()
    builder.add_text_field("label", tokenizer_name="raw", index_option="basic")
    for number in _NUMBERS:
        builder.add_integer_field(number, fast=True)
    builder.add_float_field("confidence", fast=True)
    builder.add_float_field("factor", fast=True)
    for name in ("text", "around", "asked", "heading", "grams"):
        builder.add_text_field(name, tokenizer_name=_TERMS, index_option="freq")
    builder.add_bytes_field("row", stored=True)
    return builder.build()


def prepare(index: Index) -> Index:
    """`index`, with the analyzer that the fields name, and reloaded only when asked (no thread watches its folder)."""
    index.register_tokenizer(_TERMS, TextAnalyzerBuilder(Tokenizer.whitespace()).build())
    index.config_reader("manual")
    return index


def as_label(name: str, value: str) -> str:
    """A label as it is indexed."""
    return f"{name}:{value}"


def file_label(name: str, path: str) -> str:
    """A label whose value is a path; two paths never have the same, even where they are no Unicode."""
    return as_label(name, path if path.isascii() else path.encode("utf-8", "backslashreplace").decode())


def address_digest(address: str) -> str:
    """What a section is labelled with: case and markup folded."""
    return _digest(_folded(address)).hex()


@lru_cache(maxsize=_KEPT)
def _folded(title: str) -> str:
    return plain_title(title).casefold()


def _digest(text: str) -> bytes:
    """Of a fixed length, since a heading can have any."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).digest()


def folded_label(text: str) -> str:
    """A kind or tag as it is indexed: in any case."""
    return encodable(text).casefold()


def _parts(section: SectionPath) -> Iterator[str]:
    """The labels of every contiguous part of a section path."""
    titles = [_folded(title) for title in section]
    count = len(titles)
    parts = [PATH_SEPARATOR.join(titles[start:end]) for start in range(count) for end in range(start + 1, count + 1)]
    return map(_part_label, dict.fromkeys(parts))


@lru_cache(maxsize=_KEPT)
def _part_label(part: str) -> str:
    return as_label("part", _digest(part).hex())


def statement_number(entry: Entry) -> int:
    """What the occurrences of one statement in one section have in common; what is no fact is told by its text."""
    said = (entry.fact, "") if entry.fact else ("", entry.text)
    return int.from_bytes(_digest("\n".join((entry.path, PATH_SEPARATOR.join(entry.section), *said))))


def statement_label(number: int) -> str:
    """The label of a statement, which a few others have too: were it nobody else's, labels would take a quarter as much room as the text."""
    return as_label("said", f"{number % _STATEMENT_LABELS:x}")


@lru_cache(maxsize=_KEPT)
def _places(path: str) -> tuple[str, ...]:
    """The labels of a path, of the folders it lies in, and of the file's name."""
    pure = Path(path)
    places = dict.fromkeys((path, *(str(folder) for folder in pure.parents if folder.name), pure.name))
    return tuple(as_label("place", encodable(place)) for place in places)


@lru_cache(maxsize=_KEPT)
def _names(path: str) -> str:
    """The words that a path adds to its entries: not the suffix, not a day's digits, not the name that every memory has."""
    whole = Path(path)
    parts = (*whole.parent.parts, whole.stem)
    plain = (_DAY_NAME.sub("", part) if day_of(path) else part for part in parts)
    return " ".join(part for part in plain if part.casefold() != _CURATED_STEM)


def _near(rows: Sequence[IndexRow], at: int) -> Sequence[int]:
    """The places of what stands beside an entry and is about the same, its own too: on one day all is, elsewhere a heading parts subjects."""
    beside = range(max(0, at - NEIGHBOURS), min(len(rows), at + NEIGHBOURS + 1))
    entry = rows[at].entry
    if entry.day is not None:
        return beside
    return [number for number in beside if rows[number].entry.section == entry.section]


@dataclass(frozen=True, slots=True)
class _IndexedWords:
    """The words of an entry: folded, as they are indexed, as much of that as its neighbours take, and what has no spaces."""

    words: list[str]
    indexed: str
    beside: str
    runs: tuple[str, ...]


@lru_cache(maxsize=_KEPT)
def _said(text: str, language: str) -> _IndexedWords:
    said = split_scripts(text)
    words = folded(said.spaced)
    indexed = stemmed(words, text_language(said.spaced, words, language))
    beside = indexed if len(said.spaced) <= _MAX_NEIGHBOUR_CHARS else terms(said.spaced[:_MAX_NEIGHBOUR_CHARS], language)
    return _IndexedWords(words, indexed, beside, said.runs)


@dataclass(frozen=True, slots=True)
class _SectionFields:
    """What the entries of a section have in common: the words of the headings and of the path, labels, the second part of what is stored."""

    heading: str
    runs: tuple[str, ...]
    labels: tuple[str, ...]
    dumped: str


@lru_cache(maxsize=_KEPT)
def _place(path: FilePath, day: date | None, section: SectionPath, language: str) -> _SectionFields:
    said = split_scripts(" ".join((*section, _names(path))))
    dumped = json.dumps([path, day and day.isoformat(), section], ensure_ascii=False, separators=(",", ":"))
    return _SectionFields(terms(said.spaced, language), said.runs, (*_places(path), *_parts(section)), dumped)


@dataclass(frozen=True, slots=True)
class _LifetimeFields:
    """What rows have in common that came in and went together: numbers, labels, the first part of what is stored."""

    numbers: Mapping[str, float]
    labels: tuple[str, ...]
    dumped: str


@lru_cache(maxsize=_KEPT)
def _course(origin: Origin | None, uncommitted: bool, kind: FileKind, life: Lifetime, last: CommitId | None) -> _LifetimeFields:
    numbers: dict[str, float] = {
        "begun": _NEVER if life.begun is None else life.begun,
        "last": _LAST_DAY if life.is_current else 0,
        "factor": ranking.static_factor(kind, origin.confidence if origin else None, life.weaker),
    }
    if life.ended is not None:
        numbers["ended"] = life.ended
    if origin is not None:
        numbers |= {"time": origin.time, "confidence": origin.confidence}
    labels = (*(() if life.is_current else (PAST_LABEL,)), *((MOVED_LABEL,) if life.moved else ()))
    return _LifetimeFields(numbers, labels, _dumped_course(origin, uncommitted, kind, life, last))


def _labels(entry: Entry, owner: str, place: _SectionFields, course: _LifetimeFields) -> list[str]:
    """What a row is filtered by."""
    found = [owner, statement_label(statement_number(entry)), *place.labels]
    if entry.tags:
        found += [as_label("tag", folded_label(tag)) for tag in entry.tags]
    if entry.kind is not None:
        found.append(as_label("kind", folded_label(entry.kind)))
    if entry.fact is not None:
        found.append(FACT_LABEL)
    found += course.labels
    return found


def in_file_order(rows: Iterable[IndexRow]) -> list[IndexRow]:
    """Rows as they stand, or stood, in their files."""
    return sorted(rows, key=lambda row: (row.entry.path, row.entry.start_line))


def documents(path: FilePath, rows: Sequence[IndexRow], language: str, gone: CommitId | None = None) -> Iterator[Document]:
    """The documents of rows that stand, or stood, near each other; the arguments are those of `values`."""
    return (Document.from_dict(found, schema()) for found in document_fields(path, rows, language, gone))


def document_fields(path: FilePath, rows: Sequence[IndexRow], language: str, gone: CommitId | None = None) -> Iterator[dict[str, Any]]:
    """What the fields of the documents hold of rows that stand, or stood, near each other.

    Args:
        path: their file's.
        rows: in file order.
        language: that words are stemmed in.
        gone: the commit that ended them all; None where they are the file's own.
    """
    owner = as_label("gone", gone) if gone else file_label("path", path)
    said = [_said(row.entry.text, language) for row in rows]
    beside = [one.beside for one in said]
    known, course = None, None
    for at, row in enumerate(rows):
        entry, own = row.entry, said[at]
        if course is None or known != (row.origin, row.uncommitted, row.kind, row.lifetime, row.last):
            known = row.origin, row.uncommitted, row.kind, row.lifetime, row.last
            course = _course(*known)
        near = _near(rows, at)
        place = _place(path, entry.day, entry.section, language)
        found: dict[str, Any] = {
            **course.numbers,
            "label": _labels(entry, owner, place, course),
            "day": entry.day.toordinal() if entry.day else ranking.NO_DAY,
            "cues": entry_cues(entry, own.words),
            "text": own.indexed,
            "around": " ".join([own.indexed if other == at else beside[other] for other in near]),
            "heading": place.heading,
            "row": _dump(entry, course, place),
        }
        if entry.until is not None:
            found["until"] = entry.until.toordinal()
            found["last"] = min(found["last"], found["until"])
        if at - 1 in near and (asked := asking_sentences(rows[at - 1].entry.text[-_MAX_NEIGHBOUR_CHARS:])):
            found["asked"] = terms(split_scripts(asked).spaced, language)
        if own.runs or place.runs:
            found["grams"] = " ".join(grams((*own.runs, *place.runs)))
        yield found


def _plain_line(text: str) -> str:
    """The first line of most entries is told by their text."""
    return "- " + text.partition("\n")[0]


def _dump(entry: Entry, course: _LifetimeFields, place: _SectionFields) -> bytes:
    """A list in three parts. What the entries of a file, and of a section, have in common comes first and is written once."""
    fact = "null" if entry.fact is None else json.dumps(entry.fact, ensure_ascii=False)
    text = json.dumps(entry.text, ensure_ascii=False)
    own = f"{fact},{entry.start_line},{entry.end_line},{text}"
    until, first_line = entry.until and entry.until.isoformat(), entry.first_line
    plain = first_line == _plain_line(entry.text)
    if not plain or entry.kind or entry.key or entry.tags or until:
        own += (
            ","
            + json.dumps(
                [entry.kind, entry.key, entry.tags, until, None if plain else first_line], ensure_ascii=False, separators=(",", ":")
            )[1:-1]
        )
    return f"[{course.dumped},{place.dumped},[{own}]]".encode("utf-8", "surrogatepass")


def _dumped_course(origin: Origin | None, uncommitted: bool, kind: FileKind, life: Lifetime, last: CommitId | None) -> str:
    lived = [life.begun, life.ended, life.status, life.superseded_by, life.contradicts, life.weaker, life.is_live, life.moved]
    said = origin and [origin.commit, origin.time, origin.source, origin.confidence]
    return json.dumps(
        [said, uncommitted, kind, lived[:1] if life == live_since(life.begun) else lived, last],
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


@lru_cache(maxsize=_KEPT)
def _origin(commit: str, time: int, source: str, confidence: float) -> Origin:
    """One object for all that a commit brought in: what a search shows of a row is made a dozen times for each question."""
    return Origin(CommitId(commit), time, Source(source), confidence)


def _life(begun: int | None, *more: Any) -> Lifetime:
    if not more:
        return live_since(begun)
    ended, status, successor, contradicts, *rest = more
    return Lifetime(begun, ended, Status(status), successor, tuple(contradicts), *rest)


def row_from_document(document: Document) -> IndexRow:
    """The row that a document of the index was made of."""
    stored: bytes = document.get_all("row")[0]
    values = json.loads(stored.decode("utf-8", "surrogatepass"))
    (said, uncommitted, file_kind, lived, last), (path, day, section), (fact, start, end, text, *more) = values
    kind, key, tags, until, first_line = more or _NOTHING_MORE
    first_line = _plain_line(text) if first_line is None else first_line
    entry = Entry(FilePath(path), start, end, tuple(section), _day(day), text, kind, key, tuple(tags), _day(until), fact, first_line)
    return IndexRow(entry, _origin(*said) if said else None, uncommitted, _KINDS[file_kind], _life(*lived), last)
