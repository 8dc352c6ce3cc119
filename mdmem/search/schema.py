"""What the index holds of an entry: the fields, and an entry as a document of the index, both ways.

Change anything here or in `words` and raise `VERSION`: an index of another version is built anew.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import PurePosixPath

from mdmem.digests import short
from mdmem.document import plain_title
from mdmem.layout import day_of
from mdmem.library import cache, lru_cache
from mdmem.model import PATH_SEPARATOR, CommitId, FactId, FileKind, FilePath, SectionPath, Source, Status
from mdmem.model.trail import Entry, Origin
from mdmem.patterns import pattern
from mdmem.records import dataclass, field
from mdmem.search import ranking
from mdmem.search.cues import cues, questions
from mdmem.search.words import encodable, folded, grams, split, spoken, stemmed, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tantivy import Document, Index, Schema

VERSION = 6

NEIGHBOURS = 2
"""Entries on each side, in the same file, whose words an entry is found by too; `ranking` says what for."""

_MAX_NEIGHBOUR_CHARS = 1000
"""Of each neighbour: a long one would drown the entry, and cost five times its size."""

_TERMS = "terms"
_NUMBERS = ("day", "time", "until", "begun", "ended", "last", "cues")
FACT = "mark:fact"
PAST = "mark:past"
"""The label of what is not current any more, moved or not."""
MOVED = "mark:moved"
_NEVER = 2**62
"""When uncommitted text began: after every landmark."""
_LAST_DAY = date.max.toordinal()

_DAY_NAME = pattern(r"^\d{4}-\d{2}-\d{2}-?")
_CURATED_STEM = "memory"
_KINDS = {kind.value: kind for kind in FileKind}
_STATEMENT_LABELS = 2**16
_DIGEST_BYTES = 8
_NOTHING_MORE: tuple[Any, ...] = (None, None, (), None, None)
_KEPT = 4096
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Life:
    """When an entry is part of memory, and what became of it.

    - `begun`: the landmark from which on it stands; None while it is uncommitted.
    - `ended`: the landmark from which on it is not current any more, because it went or because a mark says so.
    - `status`: CURRENT, SUPERSEDED or REMOVED; whether it has expired is judged when it is searched for.
    - `weaker`: it contradicts something that is better founded.
    - `standing`: it is in the file on disk. What is not counts as removed, where `status` says no better.
    - `moved`: it went on elsewhere, and that is another row: this one is found by its time only.
    """

    begun: int | None = None
    ended: int | None = None
    status: Status = Status.CURRENT
    superseded_by: FactId | None = None
    contradicts: tuple[FactId, ...] = ()
    weaker: bool = False
    standing: bool = True
    moved: bool = False

    @property
    def is_current(self) -> bool:
        """Whether it is what memory says now."""
        return self.standing and self.status is Status.CURRENT and not self.moved


@dataclass(frozen=True, slots=True)
class Row:
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
    life: Life = field(default_factory=Life)
    last: CommitId | None = None


@cache
def schema() -> Schema:
    """The fields. A label, `NAME:VALUE`, is compared as a whole; days are ordinals, times seconds since 1970; `factor` multiplies the score.

    A document has the label `path`, the file that it belongs to, or `gone`, the commit that ended it; it is replaced together with all
    that have the same.
    """
    from tantivy import SchemaBuilder

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
    from tantivy import TextAnalyzerBuilder, Tokenizer

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


def _folded(title: str) -> str:
    return plain_title(title).casefold()


def _digest(text: str) -> bytes:
    """Of a fixed length, since a heading can have any."""
    return short(text.encode("utf-8", "replace"), _DIGEST_BYTES)


def folded_label(text: str) -> str:
    """A kind or tag as it is indexed: in any case."""
    return encodable(text).casefold()


def _parts(section: SectionPath) -> tuple[str, ...]:
    """The labels of every contiguous part of a section path."""
    titles = [_folded(title) for title in section]
    count = len(titles)
    parts = (titles[start:end] for start in range(count) for end in range(start + 1, count + 1))
    return tuple(dict.fromkeys(_digest(PATH_SEPARATOR.join(part)).hex() for part in parts))


def statement_number(entry: Entry) -> int:
    """What the occurrences of one statement in one section have in common; what is no fact is told by its text."""
    said = (entry.fact, "") if entry.fact else ("", entry.text)
    return int.from_bytes(_digest("\n".join((entry.path, PATH_SEPARATOR.join(entry.section), *said))))


def statement_label(number: int) -> str:
    """The label of a statement, which a few others have too: were it nobody else's, labels would take a quarter as much room as the text."""
    return as_label("said", f"{number % _STATEMENT_LABELS:x}")


@lru_cache(maxsize=_KEPT)
def _places(path: str) -> tuple[str, ...]:
    """The path, the folders it lies in, and the file's name."""
    pure = PurePosixPath(path)
    return tuple(dict.fromkeys((path, *(str(folder) for folder in pure.parents if folder.name), pure.name)))


@lru_cache(maxsize=_KEPT)
def _names(path: str) -> str:
    """The words that a path adds to its entries: not the suffix, not a day's digits, not the name that every memory has."""
    parts = PurePosixPath(path).with_suffix("").parts
    plain = (_DAY_NAME.sub("", part) if day_of(path) else part for part in parts)
    return " ".join(part for part in plain if part.casefold() != _CURATED_STEM)


def _are_near(row: Row, other: Row) -> bool:
    """Whether what stands beside an entry is about the same: on one day it is, across headings; elsewhere a heading parts subjects."""
    return row.entry.day is not None or row.entry.section == other.entry.section


def last_day(entry: Entry, life: Life) -> int:
    """The ordinal of the last day on which an entry is current; 0 where it is not any more."""
    return (entry.until.toordinal() if entry.until else _LAST_DAY) if life.is_current else 0


@dataclass(frozen=True, slots=True)
class _Said:
    """The words of an entry: folded, as they are indexed, as much of that as its neighbours take, and what has no spaces."""

    words: list[str]
    indexed: str
    beside: str
    runs: tuple[str, ...]


def _said(text: str, language: str) -> _Said:
    said = split(text)
    words = folded(said.spaced)
    indexed = stemmed(words, spoken(said.spaced, words, language))
    beside = indexed if len(said.spaced) <= _MAX_NEIGHBOUR_CHARS else terms(said.spaced[:_MAX_NEIGHBOUR_CHARS], language)
    return _Said(words, indexed, beside, said.runs)


@dataclass(frozen=True, slots=True)
class _Place:
    """What the entries of a section have in common: the words of the headings and of the path, labels, the digest of where it is."""

    heading: str
    runs: tuple[str, ...]
    labels: tuple[str, ...]


@lru_cache(maxsize=_KEPT)
def _place(path: FilePath, section: SectionPath, language: str) -> _Place:
    said = split(" ".join((*section, _names(path))))
    places = (as_label("place", encodable(place)) for place in _places(path))
    parts = (as_label("part", part) for part in _parts(section))
    return _Place(terms(said.spaced, language), said.runs, (*places, *parts))


def _labels(row: Row, owner: str, place: _Place) -> list[str]:
    """What a row is filtered by."""
    entry, life = row.entry, row.life
    found = [owner, statement_label(statement_number(entry)), *place.labels]
    found += [as_label("tag", folded_label(tag)) for tag in entry.tags]
    if entry.kind is not None:
        found.append(as_label("kind", folded_label(entry.kind)))
    if entry.fact is not None:
        found.append(FACT)
    if not life.is_current:
        found.append(PAST)
    if life.moved:
        found.append(MOVED)
    return found


def documents(path: FilePath, rows: Sequence[Row], language: str, gone: CommitId | None = None) -> Iterator[Document]:
    """The documents of rows that stand, or stood, near each other; the arguments are those of `values`."""
    from tantivy import Document

    return (Document.from_dict(found, schema()) for found in values(path, rows, language, gone))


def values(path: FilePath, rows: Sequence[Row], language: str, gone: CommitId | None = None) -> Iterator[dict[str, Any]]:
    """What the fields of the documents hold of rows that stand, or stood, near each other.

    Args:
        path: their file's.
        rows: in file order.
        language: that words are stemmed in.
        gone: the commit that ended them all; None where they are the file's own.
    """
    owner = as_label("gone", gone) if gone else file_label("path", path)
    said = [_said(row.entry.text, language) for row in rows]
    for at, row in enumerate(rows):
        entry, origin, life = row.entry, row.origin, row.life
        first, last = max(0, at - NEIGHBOURS), at + NEIGHBOURS + 1
        near = [number for number, other in enumerate(rows[first:last], first) if _are_near(row, other)]
        place = _place(path, entry.section, language)
        found: dict[str, Any] = {
            "label": _labels(row, owner, place),
            "last": last_day(entry, life),
            "begun": _NEVER if life.begun is None else life.begun,
            "day": entry.day.toordinal() if entry.day else ranking.NO_DAY,
            "factor": ranking.factor(row.kind, origin.confidence if origin else None, life.weaker),
            "cues": cues(entry, said[at].words),
            "text": said[at].indexed,
            "around": " ".join([said[at].indexed if other == at else said[other].beside for other in near]),
            "heading": place.heading,
            "row": _dump(row),
        }
        if life.ended is not None:
            found["ended"] = life.ended
        if entry.until is not None:
            found["until"] = entry.until.toordinal()
        if origin is not None:
            found["time"], found["confidence"] = origin.time, origin.confidence
        if at - 1 in near and (asked := questions(rows[at - 1].entry.text[-_MAX_NEIGHBOUR_CHARS:])):
            found["asked"] = terms(split(asked).spaced, language)
        if said[at].runs or place.runs:
            found["grams"] = " ".join(grams((*said[at].runs, *place.runs)))
        yield found


def _is_plain(entry: Entry) -> bool:
    """Whether the first line of an entry is told by its text: most are."""
    return entry.first_line == _plain_line(entry.text)


def _plain_line(text: str) -> str:
    return "- " + text.partition("\n")[0]


def _dump(row: Row) -> bytes:
    """A list in three parts. What the entries of a file, and of a section, have in common comes first and is written once."""
    entry = row.entry
    own: list[Any] = [entry.fact, entry.start_line, entry.end_line, entry.text]
    until, first_line = entry.until and entry.until.isoformat(), None if _is_plain(entry) else entry.first_line
    if first_line or entry.kind or entry.key or entry.tags or until:
        own += [entry.kind, entry.key, entry.tags, until, first_line]
    whole = (
        f"[{_dumped_file(row.origin, row.uncommitted, row.kind, row.life, row.last)},{_dumped_place(entry.path, entry.day, entry.section)}"
    )
    return f"{whole},{_encode(own)}]".encode("utf-8", "surrogatepass")


@lru_cache(maxsize=_KEPT)
def _dumped_file(origin: Origin | None, uncommitted: bool, kind: FileKind, life: Life, last: CommitId | None) -> str:
    lived = [life.begun, life.ended, life.status, life.superseded_by, life.contradicts, life.weaker, life.standing, life.moved]
    said = origin and [origin.commit, origin.time, origin.source, origin.confidence]
    return _encode([said, uncommitted, kind, lived[:1] if life == _since(life.begun) else lived, last])


@lru_cache(maxsize=_KEPT)
def _dumped_place(path: FilePath, day: date | None, section: SectionPath) -> str:
    return _encode([path, day and day.isoformat(), section])


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


@lru_cache(maxsize=_KEPT)
def _origin(commit: str, time: int, source: str, confidence: float) -> Origin:
    """One object for all that a commit brought in: what a search shows of a row is made a dozen times for each question."""
    return Origin(CommitId(commit), time, Source(source), confidence)


@lru_cache(maxsize=_KEPT)
def _since(begun: int | None) -> Life:
    """The life of most: it stands, and nothing became of it."""
    return Life(begun)


def _life(begun: int | None, *more: Any) -> Life:
    if not more:
        return _since(begun)
    ended, status, successor, contradicts, *rest = more
    return Life(begun, ended, Status(status), successor, tuple(contradicts), *rest)


def row_of(document: Document) -> Row:
    """The row that a document of the index was made of."""
    stored: bytes = document.get_all("row")[0]
    values, _ = _decode(stored.decode("utf-8", "surrogatepass"))
    (said, uncommitted, file_kind, lived, last), (path, day, section), (fact, start, end, text, *more) = values
    kind, key, tags, until, first_line = more or _NOTHING_MORE
    first_line = _plain_line(text) if first_line is None else first_line
    entry = Entry(FilePath(path), start, end, tuple(section), _day(day), text, kind, key, tuple(tags), _day(until), fact, first_line)
    return Row(entry, _origin(*said) if said else None, uncommitted, _KINDS[file_kind], _life(*lived), last)
