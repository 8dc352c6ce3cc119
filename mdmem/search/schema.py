"""What the index holds of an entry: the fields, and an entry as a document of the index, both ways.

Change anything here or in `words` and raise `VERSION`: an index of another version is built anew.
"""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from mdmem.document import plain_title
from mdmem.layout import day_of
from mdmem.model import PATH_SEPARATOR, CommitId, Entry, FactId, FileKind, FilePath, Origin, SectionPath, Source, Status
from mdmem.records import dataclass, field
from mdmem.search import ranking
from mdmem.search.cues import cues, questions
from mdmem.search.words import encodable, folded, grams, split, stemmed, terms

if TYPE_CHECKING:
    from tantivy import Document, Index, Schema

VERSION = 5

NEIGHBOURS = 2
"""Entries on each side, in the same file, whose words an entry is found by too; `ranking` says what for."""

_MAX_NEIGHBOUR_CHARS = 1000
"""Of each neighbour: a long one would drown the entry, and cost five times its size."""

_TERMS = "terms"
_LABELS = ("path", "gone", "place", "part", "kind", "tag", "statement", "mark")
_NUMBERS = ("day", "time", "until", "begun", "ended", "last", "cues")
FACT_MARK = "fact"
PAST_MARK = "past"
"""Of what is not current any more, moved or not."""
MOVED_MARK = "moved"
_NEVER = 2**62
"""When uncommitted text began: after every landmark."""
_LAST_DAY = date.max.toordinal()

_DAY_NAME = re.compile(r"^\d{4}-\d{2}-\d{2}-?")
_CURATED_STEM = "memory"


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
def schema() -> "Schema":
    """The fields. Labels are compared as a whole; days are ordinals, times seconds since 1970; `factor` multiplies the score.

    A document bears `path`, the file that it belongs to, or `gone`, the commit that ended it; it is replaced together with all that bear
    the same. `statement` tells which occurrences say one thing in one place.
    """
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    for label in _LABELS:
        builder.add_text_field(label, tokenizer_name="raw", index_option="basic")
    for number in _NUMBERS:
        builder.add_integer_field(number, fast=True)
    builder.add_float_field("confidence", fast=True)
    builder.add_float_field("factor", fast=True)
    for name in ("text", "around", "asked", "heading", "grams"):
        builder.add_text_field(name, tokenizer_name=_TERMS, index_option="freq")
    builder.add_bytes_field("row", stored=True)
    return builder.build()


def prepare(index: "Index") -> "Index":
    """`index`, with the analyzer that the fields name, and reloaded only when asked (no thread watches its folder)."""
    from tantivy import TextAnalyzerBuilder, Tokenizer

    index.register_tokenizer(_TERMS, TextAnalyzerBuilder(Tokenizer.whitespace()).build())
    index.config_reader("manual")
    return index


def file_label(path: str) -> str:
    """A path as it is indexed; two paths never have the same, even where they are no Unicode."""
    return path if path.isascii() else path.encode("utf-8", "backslashreplace").decode()


def address_label(address: str) -> str:
    """A section address as it is indexed: case and markup folded."""
    return _digest(_folded(address))


def _folded(title: str) -> str:
    return plain_title(title).casefold()


def _digest(address: str) -> str:
    """Of a fixed length, since a heading can have any."""
    return blake2b(address.encode("utf-8", "replace"), digest_size=8).hexdigest()


def label(text: str) -> str:
    """A kind or tag as it is indexed: in any case."""
    return encodable(text).casefold()


@lru_cache(maxsize=4096)
def _parts(section: SectionPath) -> tuple[str, ...]:
    """The labels of every contiguous part of a section path."""
    titles = [_folded(title) for title in section]
    count = len(titles)
    parts = (titles[start:end] for start in range(count) for end in range(start + 1, count + 1))
    return tuple(dict.fromkeys(_digest(PATH_SEPARATOR.join(part)) for part in parts))


def statement_label(entry: Entry) -> str:
    """What the occurrences of one statement in one section have in common; what is no fact is told by its text."""
    said = (entry.fact, "") if entry.fact else ("", entry.text)
    return _digest("\n".join((entry.path, PATH_SEPARATOR.join(entry.section), *said)))


def _places(path: str) -> tuple[str, ...]:
    """The path, the folders it lies in, and the file's name."""
    pure = PurePosixPath(path)
    return tuple(dict.fromkeys((path, *(str(folder) for folder in pure.parents if folder.name), pure.name)))


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


def documents(path: FilePath, rows: Sequence[Row], gone: CommitId | None = None) -> "Iterator[Document]":
    """The documents of rows that stand, or stood, near each other.

    Args:
        path: their file's.
        rows: in file order.
        gone: the commit that ended them all; None where they are the file's own.
    """
    from tantivy import Document

    names, places = _names(path), _places(path)
    texts = [split(row.entry.text) for row in rows]
    words = [folded(text.spaced) for text in texts]
    own = [stemmed(said) for said in words]
    cut = [
        own[at] if len(text.spaced) <= _MAX_NEIGHBOUR_CHARS else terms(text.spaced[:_MAX_NEIGHBOUR_CHARS]) for at, text in enumerate(texts)
    ]
    for at, row in enumerate(rows):
        entry, origin, life = row.entry, row.origin, row.life
        document = Document()
        document.add_text("gone", gone) if gone else document.add_text("path", file_label(path))
        document.add_text("statement", statement_label(entry))
        for place in places:
            document.add_text("place", encodable(place))
        for part in _parts(entry.section):
            document.add_text("part", part)
        for tag in entry.tags:
            document.add_text("tag", label(tag))
        if entry.kind is not None:
            document.add_text("kind", label(entry.kind))
        if entry.fact is not None:
            document.add_text("mark", FACT_MARK)
        if not life.is_current:
            document.add_text("mark", PAST_MARK)
        if life.moved:
            document.add_text("mark", MOVED_MARK)
        document.add_integer("last", last_day(entry, life))
        document.add_integer("begun", _NEVER if life.begun is None else life.begun)
        if life.ended is not None:
            document.add_integer("ended", life.ended)
        if entry.day is not None:
            document.add_integer("day", entry.day.toordinal())
        if entry.until is not None:
            document.add_integer("until", entry.until.toordinal())
        if origin is not None:
            document.add_integer("time", origin.time)
            document.add_float("confidence", origin.confidence)
        document.add_float("factor", ranking.factor(row.kind, origin.confidence if origin else None, life.weaker))
        heading = split(" ".join((*entry.section, names)))
        near = [other for other in range(max(0, at - NEIGHBOURS), min(len(rows), at + NEIGHBOURS + 1)) if _are_near(row, rows[other])]
        document.add_text("text", own[at])
        document.add_text("around", " ".join(own[at] if other == at else cut[other] for other in near))
        if at - 1 in near:
            document.add_text("asked", terms(split(questions(rows[at - 1].entry.text[-_MAX_NEIGHBOUR_CHARS:])).spaced))
        document.add_text("heading", terms(heading.spaced))
        document.add_integer("cues", cues(entry, words[at]))
        if texts[at].runs or heading.runs:
            document.add_text("grams", " ".join(grams((*texts[at].runs, *heading.runs))))
        document.add_bytes("row", _dump(row))
        yield document


def _is_plain(entry: Entry) -> bool:
    """Whether the first line of an entry is told by its text: most are."""
    return entry.first_line == _plain_line(entry.text)


def _plain_line(text: str) -> str:
    return "- " + text.partition("\n")[0]


def _dump(row: Row) -> bytes:
    entry, origin, life = row.entry, row.origin, row.life
    values = [
        [entry.path, entry.start_line, entry.end_line, entry.section, entry.day and entry.day.isoformat(), entry.text, entry.kind],
        [entry.key, entry.tags, entry.until and entry.until.isoformat(), entry.fact, None if _is_plain(entry) else entry.first_line],
        origin and [origin.commit, origin.time, origin.source, origin.confidence],
        row.uncommitted,
        row.kind,
        [life.begun, life.ended, life.status, life.superseded_by, life.contradicts, life.weaker, life.standing, life.moved],
        row.last,
    ]
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


def row_of(document: "Document") -> Row:
    """The row that a document of the index was made of."""
    stored: bytes = document.get_all("row")[0]
    values = json.loads(stored.decode("utf-8", "surrogatepass"))
    (path, start, end, section, day, text, kind), more, said, uncommitted, file_kind, lived, last = values
    key, tags, until, fact, first_line = more
    known = FactId(fact) if fact else None
    first_line = _plain_line(text) if first_line is None else first_line
    entry = Entry(FilePath(path), start, end, tuple(section), _day(day), text, kind, key, tuple(tags), _day(until), known, first_line)
    origin = Origin(CommitId(said[0]), said[1], Source(said[2]), said[3]) if said else None
    begun, ended, status, successor, contradicts, *rest = lived
    life = Life(begun, ended, Status(status), successor, tuple(contradicts), *rest)
    return Row(entry, origin, uncommitted, FileKind(file_kind), life, last)
