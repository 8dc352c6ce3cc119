"""The words of an entry as they are indexed: its own, and those of its headings, of its file's name and of its front matter. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from pathlib import Path

from mdmem.entries import ABOUT_JOINT, shown_text
from mdmem.layout import day_of
from mdmem.model import FilePath, SectionPath
from mdmem.model.trail import Entry
from mdmem.search.terms import grams, indexed_words, split_scripts, stemmed, terms, text_language
from mdmem.startup import late
from mdmem.startup.records import dataclass

MAX_NEIGHBOUR_CHARS = 1000
"""The most characters taken of each neighbour: a long one would drown the entry, and cost five times its size."""

_DAY_NAME = late.pattern(r"^\d{4}-\d{2}-\d{2}-?")
_CURATED_STEM = "memory"
_KEPT = 4096
_FILES_KEPT = 64


@dataclass(frozen=True, slots=True)
class OwnWords:
    """The words of an entry's text: folded, as indexed, as added to its neighbours, and its runs in scripts without spaces."""

    words: list[str]
    indexed: str
    beside: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeadingWords:
    """The words of a section path and of a file's name: as indexed, and their runs in scripts without spaces."""

    indexed: str
    runs: tuple[str, ...]


def own_words(entry: Entry, language: str) -> OwnWords:
    """The words of an entry's text, in a memory of a language."""
    return words_of_text(shown_text(entry), language)


def words_of_text(text: str, language: str) -> OwnWords:
    """The words of a text, in a memory of a language."""
    scripts = None if text.isascii() else split_scripts(text)
    spaced, runs = (scripts.spaced, scripts.runs) if scripts else (text, ())
    words = indexed_words(spaced)
    indexed = stemmed(words, text_language(spaced, words, language))
    beside = indexed if len(spaced) <= MAX_NEIGHBOUR_CHARS else terms(spaced[:MAX_NEIGHBOUR_CHARS], language)
    return OwnWords(words, indexed, beside, runs)


_kept_words_of_text = lru_cache(maxsize=_KEPT)(words_of_text)
"""The same, kept: a search looks at the words of its hits, which are often those of the search before."""


@lru_cache(maxsize=_KEPT)
def heading_words(path: FilePath, section: SectionPath, language: str) -> HeadingWords:
    """The words above the entries of a section of a file."""
    scripts = split_scripts(" ".join((*section, _names(path))))
    return HeadingWords(terms(scripts.spaced, language), scripts.runs)


def with_about(above: HeadingWords, about: str, language: str) -> HeadingWords:
    """The words above the first entry of a file whose front matter says what it is `about`."""
    if not about:
        return above
    scripts = split_scripts(about)
    return HeadingWords(f"{above.indexed} {terms(scripts.spaced, language)}", (*above.runs, *scripts.runs))


@lru_cache(maxsize=_FILES_KEPT)
def _names(path: str) -> str:
    """The words that a path adds to its entries, without the suffix, the digits of a day and the name `memory`."""
    whole = Path(path)
    parts = (*whole.parent.parts, whole.stem)
    plain = (_DAY_NAME.sub("", part) if day_of(path) else part for part in parts)
    return " ".join(part for part in plain if part.casefold() != _CURATED_STEM)


def words_held(
    entry: Entry, about: str, terms_of_fields: Mapping[str, Mapping[str, str]], language: str
) -> tuple[AbstractSet[str], AbstractSet[str]]:
    """The words of a query that an entry holds: in its text, and in its headings, the name of its file or its front matter.

    Args:
        entry: the entry.
        about: see `schema.IndexRow`.
        terms_of_fields: the terms of the query and the words behind them (`query.own_terms`).
        language: that of the memory.
    """
    own = _kept_words_of_text(shown_text(entry), language)
    above = with_about(heading_words(entry.path, entry.section, language), about, language)
    pairs = terms_of_fields["grams"]
    in_text = _behind(terms_of_fields["text"], own.indexed.split()) | (_behind(pairs, grams(own.runs)) if pairs else set())
    return in_text, _behind_heading(terms_of_fields["heading"], above)


def about_held(about: str, heading_terms: Mapping[str, str], language: str) -> str:
    """The parts of front matter that hold words of a query, by its terms of headings."""
    parts = about.split(ABOUT_JOINT)
    return ABOUT_JOINT.join(part for part in parts if _behind_heading(heading_terms, with_about(HeadingWords("", ()), part, language)))


def _behind_heading(query_words: Mapping[str, str], above: HeadingWords) -> set[str]:
    return _behind(query_words, [*above.indexed.split(), *grams(above.runs)])


def _behind(query_words: Mapping[str, str], held: Iterable[str]) -> set[str]:
    return {query_words[term] for term in query_words.keys() & held}
