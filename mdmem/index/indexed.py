"""The indexed form of an entry: its words (of its text, headings, file name, front matter), and
labels for filters, each a term (`NAME:VALUE`) of one field. Pure.

Labels are indexed as one text with spaces between, which is quicker than a list of texts. The last
functions make the text of an entry that a model of vectors gets.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, chain, zip_longest
from operator import eq
from pathlib import Path

from mdmem.folder.layout import day_of
from mdmem.index import ranking
from mdmem.model import PATH_SEPARATOR, FactId, FileKind, FilePath, SectionPath, rules
from mdmem.model.searches import Hit, TagCount
from mdmem.model.trail import Entry, Origin
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import plain_title
from mdmem.text.facts import (
    ABOUT_JOINT,
    is_done_task,
    is_field,
    is_nested,
    is_open_task,
    may_have_copies,
    own_text,
    plain_tag,
    shown_text,
    without_struck,
)
from mdmem.text.terms import (
    ENGLISH,
    SplitText,
    as_indexed,
    encodable,
    folded,
    grams,
    identifier_parts,
    indexed_words,
    languages_of_file,
    lowered,
    pairs,
    split_scripts,
    stem,
    stemmed,
    terms,
)

FACT_LABEL = "mark:fact"
NESTED_LABEL = "mark:nested"
FIELD_LABEL = "mark:field"
"""Of properties, and of other fields of a note."""
PAST_LABEL = "mark:past"
"""Of rows that are no longer current, moved or not."""
MOVED_LABEL = "mark:moved"
CONTRADICTED_LABEL = "mark:contradicted"
DONE_LABEL, OPEN_LABEL = "mark:done", "mark:open"
"""Of tasks."""
COPIED_LABEL = "mark:copied"
"""Of all rows but perhaps one of a fact that is in several lines; of some others too."""

_LONGEST_KEY = 32
_KEY_LANGUAGES = (ENGLISH, "german", "french", "spanish")
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


def entry_labels(entry: Entry, tags: Sequence[str], kind: FileKind, owner: str, place: str) -> str:
    """Instructions in a bootstrap file are no facts."""
    labels = f"{owner} {statement_label(entry)} {place}"
    if tags:
        labels += "".join(f" {label}" for label in tag_labels(tags))
    is_open = is_open_task(entry)
    if kind_name := entry.kind or ("task" if is_open else None):
        labels += f" {as_label('kind', folded_label(kind_name))}"
    if is_open or is_done_task(entry):
        labels += f" {OPEN_LABEL if is_open else DONE_LABEL}"
    if is_field(entry):
        labels += f" {FIELD_LABEL}"
    if kind is FileKind.BOOTSTRAP or not (entry.fact or is_nested(entry)):
        return labels
    return f"{labels} {FACT_LABEL if entry.fact else NESTED_LABEL}"


def tag_labels(tags: Iterable[str]) -> Iterator[str]:
    """The labels of tags, and of the tags above nested ones."""
    return (as_label("tag", folded_label(tag)) for tag in _with_parents(tags))


def _with_parents(tags: Iterable[str]) -> list[str]:
    named = (accumulate(tag.split("/"), "{}/{}".format) for tag in tags)
    return list(dict.fromkeys(chain.from_iterable(named)))


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
    counted = reversed(_with_parents(tags[:_COUNTED]))
    return list({folded_label(tag): encodable(tag) for tag in counted}.values())


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
    wanted_tags = {folded_label(plain_tag(tag)) for tag in tags}
    return sorted(
        facts,
        key=lambda hit: -len(wanted_tags & {folded_label(tag) for tag in _with_parents(hit.tags)}),
    )


MAX_NEIGHBOUR_CHARS = 1000
"""A long neighbour would drown the entry, and cost five times its size."""

_DAY_NAME = late.pattern(r"^\d{4}-\d{2}-\d{2}-?")
_FILES_KEPT = 64
_MAX_OWN_CHARS = 4 * MAX_NEIGHBOUR_CHARS
"""Maximum characters of extra copies: a long entry outweighs its neighbours by itself."""


@dataclass(frozen=True, slots=True)
class OwnWords:
    """`beside`: the words as added to neighbours; `runs`: those in scripts without spaces."""

    words: list[str]
    indexed: str
    beside: str
    runs: tuple[str, ...]
    language: str


@dataclass(frozen=True, slots=True)
class HeadingWords:
    indexed: str
    runs: tuple[str, ...]


def found_text(entry: Entry) -> str:
    """The text by which an entry is found: without comments, struck words and nested items."""
    text = shown_text(entry)
    return without_struck(own_text(text) if entry.fact is not None and "\n" in text else text)


_LONG = 600
"""Characters of a paragraph above which its sentences are found in passages."""
_NO_PROSE = late.pattern(r"[>|<]|```|~~~|[-+*][ \t]|\d{1,9}[.)][ \t]")


def passages(entry: Entry) -> Iterator[Entry]:
    """An entry; instead of a long paragraph, runs of whole sentences with their lines.

    All end in the paragraph's last line, by which they are known as parts of it.
    """
    if entry.fact is not None or len(entry.text) <= _LONG or _NO_PROSE.match(entry.first_line):
        yield entry
        return
    start, last = 0, len(entry.text)
    ends = [end for _, end in late.module("editors.text_units").read_sentences(entry.text)]
    for end, following in zip_longest(ends, ends[1:], fillvalue=last):
        is_last = end == ends[-1]
        if not is_last and following - start <= _LONG:
            continue
        text = entry.text[start : last if is_last else end]
        line = entry.start_line + entry.text.count("\n", 0, start + len(text) - len(text.lstrip()))
        first_line = text.strip().partition("\n")[0]
        yield replace(entry, start_line=line, text=text.strip(), first_line=first_line)
        start = end


@lru_cache(maxsize=_KEPT)
def _key_terms(name: str) -> frozenset[str]:
    words = folded(" ".join(late.module("text.languages").words_for_key(name)))
    return frozenset(stem(word, each) for word in words for each in _KEY_LANGUAGES)


def key_terms(entry: Entry) -> frozenset[str]:
    """The terms of the words that questions say instead of the key of a fact."""
    name, colon, _ = entry.text[:_LONGEST_KEY].partition(":")
    return _key_terms(name.replace("*", "")) if colon and entry.fact else frozenset()


def words_of_file(found_texts: Iterable[str], usual_language: str) -> list[OwnWords]:
    texts = list(map(split_scripts, found_texts))
    words = [lowered(text.spaced) for text in texts]
    languages = languages_of_file(words, usual_language)
    return list(map(_own_words, texts, words, languages))


def words_of_text(text: str, language: str) -> OwnWords:
    scripts = split_scripts(text)
    return _own_words(scripts, lowered(scripts.spaced), language)


def _own_words(text: SplitText, lowered_words: Sequence[str], language: str) -> OwnWords:
    spaced = text.spaced
    words = as_indexed(spaced, lowered_words)
    indexed = stemmed(words, language)
    beside = (
        indexed
        if len(spaced) <= MAX_NEIGHBOUR_CHARS
        else stemmed(indexed_words(spaced[:MAX_NEIGHBOUR_CHARS]), language)
    )
    return OwnWords(words=words, indexed=indexed, beside=beside, runs=text.runs, language=language)


_kept_words_of_text = lru_cache(maxsize=_KEPT)(words_of_text)
"""Cached, since the hits of a search are often those of the search before."""


@lru_cache(maxsize=_KEPT)
def heading_words(path: FilePath, section: SectionPath, language: str) -> HeadingWords:
    scripts = split_scripts(" ".join((*section, _names(path))))
    return HeadingWords(terms(scripts.spaced, language), scripts.runs)


def with_about(above: HeadingWords, about: str, language: str) -> HeadingWords:
    if not about:
        return above
    scripts = split_scripts(about)
    return HeadingWords(
        f"{above.indexed} {terms(scripts.spaced, language)}", (*above.runs, *scripts.runs)
    )


@lru_cache(maxsize=_FILES_KEPT)
def _names(path: str) -> str:
    whole = Path(path)
    parts = (*whole.parent.parts, whole.stem)
    plain = (_DAY_NAME.sub("", part) if day_of(path) else part for part in parts)
    return " ".join(part for part in plain if part.casefold() != "memory")


def words_held(
    entry: Entry, about: str, terms_of_fields: Mapping[str, Mapping[str, str]], language: str
) -> tuple[AbstractSet[str], AbstractSet[str]]:
    """The words of `query.own_terms` in an entry's text; without any, those in its headings, file
    name, tags or front matter.
    """
    own = _kept_words_of_text(found_text(entry), language)
    pairs = terms_of_fields["grams"]
    in_text = _behind(terms_of_fields["text"], own.indexed.split()) | (
        _behind(pairs, grams(own.runs)) if pairs else set()
    )
    if parts := terms_of_fields["parts"]:
        in_text |= _behind(parts, stemmed(identifier_parts(found_text(entry)), language).split())
    if not in_text and (keys := terms_of_fields["keys"]):
        in_text = _behind(keys, key_terms(entry))
    if in_text:
        return in_text, set()
    words = " ".join(filter(None, (about, *entry.tags)))
    above = with_about(heading_words(entry.path, entry.section, language), words, language)
    return in_text, _behind_heading(terms_of_fields["heading"], above)


def about_held(about: str, heading_terms: Mapping[str, str], language: str) -> str:
    parts = about.split(ABOUT_JOINT)
    return ABOUT_JOINT.join(
        part
        for part in parts
        if _behind_heading(heading_terms, with_about(HeadingWords("", ()), part, language))
    )


def _behind_heading(query_words: Mapping[str, str], above: HeadingWords) -> set[str]:
    return _behind(query_words, [*above.indexed.split(), *grams(above.runs)])


def _behind(query_words: Mapping[str, str], held: Iterable[str]) -> set[str]:
    return {query_words[term] for term in query_words.keys() & held}


class Surroundings:
    """The words around each entry of a file, in its order, that is in the same place."""

    def __init__(
        self,
        places: Sequence[SectionPath],
        own: Sequence[OwnWords],
        is_dialogue: bool,
    ) -> None:
        self._places = places
        self._own = own
        self._beside = [words.beside for words in own]
        least = ranking.DIALOGUE_COPIES if is_dialogue else ranking.LEAST_COPIES
        self._usual_copies = {
            place: max(least, round(size / ranking.ENTRIES_A_COPY))
            for place, size in Counter(self._places).items()
            if size <= ranking.LONGEST_PLACE
        }
        if self._usual_copies and not is_dialogue and not _are_related(self._places, own):
            self._usual_copies.clear()
        self.has_pairs = any(words.runs for words in own)

    def words(self, position: int) -> str:
        own, beside = self._own[position].indexed, self._beside
        return " ".join(
            [own] * self._copies(position, len(own))
            + [beside[near] for near in self._near(position)]
        )

    def character_pairs(self, position: int) -> str:
        """The same in scripts without spaces; empty where there are none."""
        own = _pairs_of(self._own[position].runs)
        neighbours = [
            _pairs_of(self._own[near].runs)[:MAX_NEIGHBOUR_CHARS] for near in self._near(position)
        ]
        return " ".join(
            " ".join(part) for part in [own] * self._copies(position, len(own)) + neighbours if part
        )

    def is_near(self, position: int, other: int) -> bool:
        return (
            0 <= other < len(self._places)
            and abs(other - position) <= ranking.REACH
            and self._places[other] == self._places[position]
        )

    def _near(self, position: int) -> list[int]:
        places, place = self._places, self._places[position]
        if place not in self._usual_copies:
            return []
        first = max(0, position - ranking.REACH)
        return [
            other
            for other, at in enumerate(places[first : position + ranking.REACH + 1], first)
            if at == place and other != position
        ]

    def _copies(self, position: int, length: int) -> int:
        copies = self._usual_copies.get(self._places[position], ranking.ALONE_COPIES)
        return (
            copies
            if copies * length <= _MAX_OWN_CHARS
            else max(ranking.DIALOGUE_COPIES, _MAX_OWN_CHARS // length)
        )


def _are_related(places: Sequence[SectionPath], own: Sequence[OwnWords]) -> bool:
    """False if entries beside each other share no more rare words than any two of a file.

    Rare words are those that exactly two entries hold.
    """
    count = len(places)
    if count < ranking.FEWEST_JUDGED:
        return True
    words_of_each = [{*words.words, *_pairs_of(words.runs)} for words in own]
    numbers = Counter(chain.from_iterable(words_of_each))
    rare = {word for word, number in numbers.items() if number == 2}
    holders = defaultdict[str, list[int]](list)
    for position, words in enumerate(words_of_each):
        for word in words & rare:
            holders[word].append(position)
    sharing = {(first, second) for first, second in holders.values()}
    beside = sum(
        other - one <= ranking.REACH and places[one] == places[other] for one, other in sharing
    )
    near = sum(sum(map(eq, places, places[step:])) for step in range(1, ranking.REACH + 1))
    by_chance = len(sharing) * near / (count * (count - 1) / 2)
    return beside >= by_chance + ranking.CERTAINTY * math.sqrt(by_chance + 1)


@lru_cache(maxsize=64)
def _pairs_of(runs: tuple[str, ...]) -> list[str]:
    return [pair for run in runs for pair in pairs(run)]


# Passages.

_HEADING_CHARS = 240
_MOST_CHARS = 2000
_SHORT_CHARS = 80
"""A log entry below this is often an answer, and says little without the entry before it."""
_KEY_BYTES = 8


def passage_entries(entries: Sequence[Entry], position: int, is_log: bool) -> Sequence[Entry]:
    """The entries whose text is in a passage: one of a file's, and the one before it, if needed."""
    needs_other = is_log and position > 0 and len(entries[position].text) < _SHORT_CHARS
    return entries[position - needs_other : position + 1]


def passage(entries: Sequence[Entry], clean: Callable[[str], str] = str) -> str:
    """The text of `passage_entries`, below the headings of the last one.

    `clean` takes out what is not to be sent, before a cut can hide it.
    """
    headings = clean(" > ".join(entries[-1].section))[:_HEADING_CHARS]
    texts = filter(None, (headings, *map(shown_text, entries)))
    return clean("\n".join(texts))[:_MOST_CHARS]


def passage_key(text: str) -> int:
    """A hash of 63 bits of a passage, as a number above 0."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()
    return int.from_bytes(digest, "big") >> 1 or 1
