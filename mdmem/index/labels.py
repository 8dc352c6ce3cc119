"""Labels for filters, each a term (`NAME:VALUE`) of one field. Pure.

They are indexed as one text with spaces between, which is quicker than a list of texts.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from mdmem.model import PATH_SEPARATOR, FactId, FileKind, FilePath, SectionPath, rules
from mdmem.model.searches import Hit, TagCount
from mdmem.model.trail import Entry, Origin
from mdmem.text.document import plain_title
from mdmem.text.facts import may_have_copies
from mdmem.text.terms import encodable

FACT_LABEL = "mark:fact"
PAST_LABEL = "mark:past"
"""Of rows that are no longer current, moved or not."""
MOVED_LABEL = "mark:moved"
CONTRADICTED_LABEL = "mark:contradicted"
COPIED_LABEL = "mark:copied"
"""Of all rows but perhaps one of a fact that is in several lines; of some others too."""

_ESCAPED = str.maketrans({character: f"%{ord(character):02x}" for character in "% \t\n\v\f\r"})
_STATEMENT_LABELS = 2**16
_DIGEST_BYTES = 8
_KEPT = 4096


def as_label(name: str, value: str) -> str:
    """A label as indexed: unique per value, and without white space."""
    return f"{name}:{value.translate(_ESCAPED)}"


def file_label(path: str) -> str:
    """The label of a file; unique even with lone surrogates."""
    return as_label(
        "path", path if path.isascii() else path.encode("utf-8", "backslashreplace").decode()
    )


def address_digest(address: str) -> str:
    return _digest(_folded(address)).hex()


@lru_cache(maxsize=_KEPT)
def _folded(title: str) -> str:
    return plain_title(title).casefold()


def _digest(text: str) -> bytes:
    """A digest of fixed length, since a heading can have any."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).digest()


def folded_label(text: str) -> str:
    return encodable(text).casefold()


@lru_cache(maxsize=_KEPT)
def place_labels(path: FilePath, section: SectionPath) -> str:
    return " ".join((*_path_labels(path), *_section_labels(section)))


def entry_labels(entry: Entry, kind: FileKind, owner: str, place: str) -> str:
    """Instructions in a bootstrap file are no facts."""
    labels = f"{owner} {statement_label(entry)} {place}"
    for tag in entry.tags:
        labels += f" {as_label('tag', folded_label(tag))}"
    if entry.kind is not None:
        labels += f" {as_label('kind', folded_label(entry.kind))}"
    return (
        f"{labels} {FACT_LABEL}"
        if entry.fact is not None and kind is not FileKind.BOOTSTRAP
        else labels
    )


def origin_labels(origin: Origin) -> Iterator[str]:
    yield as_label("source", origin.source)
    yield as_label("actor", actor_label(origin.actor or origin.author.rpartition(" <")[0]))
    cited = [cited.rpartition("#")[0] for cited in origin.cites]
    for session in dict.fromkeys(cited or filter(None, [origin.session])):
        names = (session, session.partition("/")[2])
        yield from (as_label("session", session_label(name)) for name in names if name)


@lru_cache(maxsize=_KEPT)
def actor_label(name: str) -> str:
    return encodable(rules.fold_actor(name))


def session_label(name: str) -> str:
    return encodable(name.strip())


def _section_labels(section: SectionPath) -> Iterator[str]:
    titles = [_folded(title) for title in section]
    count = len(titles)
    parts = [
        PATH_SEPARATOR.join(titles[start:end])
        for start in range(count)
        for end in range(start + 1, count + 1)
    ]
    return map(_part_label, dict.fromkeys(parts))


@lru_cache(maxsize=_KEPT)
def _part_label(part: str) -> str:
    return as_label("part", _digest(part).hex())


def statement_number(entry: Entry) -> int:
    """A number shared by the occurrences of one statement in one section."""
    return _place_number(entry.path, entry.section) ^ _number_in_place(entry)


def fact_number(path: FilePath, section: SectionPath, fact: FactId) -> int:
    return _place_number(path, section) ^ int(fact, 16)


@lru_cache(maxsize=_KEPT)
def _place_number(path: FilePath, section: SectionPath) -> int:
    return int.from_bytes(_digest("\0".join((path, *section))))


def _number_in_place(entry: Entry) -> int:
    return int(entry.fact, 16) if entry.fact else int.from_bytes(_digest(entry.text))


def statement_label(entry: Entry) -> str:
    """The label of a statement in any place. Collisions save a quarter of the text's size."""
    return number_label(_number_in_place(entry))


def fact_label(fact: FactId) -> str:
    return number_label(int(fact, 16))


def number_label(number: int) -> str:
    return f"said:{number % _STATEMENT_LABELS:x}"


def copies_number(entry: Entry) -> int:
    """A number shared by the copies of a fact; 0 for what has none."""
    return (
        int(entry.fact, 16)
        if entry.fact is not None and may_have_copies(entry.text, entry.key)
        else 0
    )


@lru_cache(maxsize=_KEPT)
def _path_labels(path: str) -> tuple[str, ...]:
    pure = Path(path)
    labelled_paths = dict.fromkeys(
        (path, *(str(folder) for folder in pure.parents if folder.name), pure.name)
    )
    return tuple(as_label("place", encodable(labelled_path)) for labelled_path in labelled_paths)


_COUNTED = 3
"""Later tags are remarks, and would fill the catalogue (design)."""


def counted_tags(tags: Sequence[str]) -> list[str]:
    return list({folded_label(tag): encodable(tag) for tag in reversed(tags[:_COUNTED])}.values())


def join_spellings(numbers: Mapping[str, int]) -> tuple[TagCount, ...]:
    """Tags with their numbers of facts, most used first, then by name; case is folded."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for tag, number in numbers.items():
        if number:
            spellings[folded_label(tag)][tag] = number
    counts = [
        TagCount(
            min(spelling_counts, key=lambda tag: (-spelling_counts[tag], tag)),
            spelling_counts.total(),
        )
        for spelling_counts in spellings.values()
    ]
    return tuple(sorted(counts, key=lambda count: (-count.count, folded_label(count.tag))))


def most_tagged(facts: Iterable[Hit], tags: Iterable[str]) -> list[Hit]:
    """Facts by the number of these tags that they have, otherwise in their order."""
    wanted_tags = {folded_label(tag) for tag in tags}
    return sorted(
        facts, key=lambda hit: -len(wanted_tags & {folded_label(tag) for tag in hit.tags})
    )
