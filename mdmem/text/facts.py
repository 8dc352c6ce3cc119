"""One fact as one list item; all but the text is optional:

- [kind] key: text (until YYYY-MM-DD) #tag #tag <!-- comment --> ^blockid

And the entries of a document, which are what a search finds. Pure.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import islice, zip_longest
from re import Match
from typing import Any

from mdmem.folder.layout import day_of
from mdmem.model import PATH_SEPARATOR, Fact, FactId, FilePath, SectionPath
from mdmem.model.errors import LabelProblem, TextProblem, field
from mdmem.model.rules import is_minute
from mdmem.model.trail import Entry
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import (
    Document,
    Section,
    clean_input,
    closed_fences,
    fold_space,
    parse,
    split_lines,
    with_line_end,
)
from mdmem.text.scan import COMMENT, COMMENT_OPEN, BlockKind

_ID_DIGITS = 8
DEEPEST = 30
"""Lists in lists below that are text."""
_NAME = 80
_STEM = 5
_CUT = "…"
_WORD = late.pattern(r"\w+")
_CACHED_ITEMS = 20_000
"""Versions of a file share most of their items."""
_MAX_KEY_COLONS = 4
"""A key with more colons holds only where it is asked for by name."""

_NESTED_MARKER = late.pattern(r"\n[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+\S")
MARKER = late.pattern(
    r"^( {0,3})([-+*]|\d{1,9}[.)])( {1,4}(?! )| {1,4}(?=[\r\n]|$)|\t| (?= {4,})|(?=[\r\n]|$))"
)
_TIMED = late.pattern(r"( {0,3}(?:[-+*]|\d{1,9}[.)])[ \t]+)(\d\d:\d\d(?:[ \t]*\n)?[ \t]+(?=\S))")
"""An item that begins with its time, which is no part of its text where the document says so."""
_SIMPLE_ITEM = late.pattern(
    r"[-+*] (?!\[|!\[\[|\*\*|__|[a-z][a-z0-9_.]*: )([^\s^#<%~][^^#<%\r\n]*)\n?\Z"
)
"""A one-line item of plain words, unless they end in a parenthesis."""
_ASCII_WORD = late.pattern("[a-z0-9]+")
_FEWEST_WORDS = 3
_ARTICLES = frozenset(("a", "an", "the", "and", "or"))
_CONTENT_WORD = late.pattern(r"[^\W_]+(?:['’][^\W_]+)*")
_FIRST_UNSPACED = "\u0e00"
_DATED = late.pattern(r"\d{4}-\d{2}-\d{2}\b|\d{1,2}:\d{2}\b")
TASK_BOX = late.pattern(r"\[[ xX]\] ")
OPEN_BOX = "[ ] "
_DONE_BOX = late.pattern(r"\[[xX-]\] ")
KIND_LABEL = late.pattern(r"^\[([^\W\d_]{2,})\](?![(\[:])[ \t]*")
_BLOCK_ID = late.pattern(r"(?:^|\s)\^[A-Za-z0-9-]+$")
_ANY_COMMENT = rf"{COMMENT}|<!--.*\Z"
_COMMENT = late.pattern(rf"(?s){_ANY_COMMENT}")
COMMENT_SPAN = late.pattern(rf"(?s)(?<!\\)(?:\\\\)*(?:{_ANY_COMMENT})")
"""A comment, closed or not, that no backslash escapes."""
_HTML_OPEN = late.pattern(r"(?<!\\)(?:\\\\)*<!--")
_COMMENT_OPEN = late.pattern(rf"(?<!\\)((?:\\\\)*)({COMMENT_OPEN})")
UNTIL = late.pattern(r"(?:^|\s)\(until (\d{4}-\d{2}-\d{2})\)\s*$")
"""An expiry; `split_until` decides whether it counts."""
_COLON = late.pattern(r":(?=\s)")
_IDENTIFIER_KEY = late.pattern(r"^([a-z][a-z0-9_.]*): +(?=\S)")
_BOLD_KEY = late.pattern(
    r"^(?:\*\*([^*\r\n]+?)\*\*:|\*\*([^*\r\n]+?):\*\*|__([^_\r\n]+?)__:|__([^_\r\n]+?):__) +(?=\S)"
)
_QUERY = late.pattern(r"(?:`{3,}|~{3,})[ \t]*(?:dataview|dataviewjs|tasks|query)[ \t]*(?:\n|\Z)")
"""A fence that a vault shows the answer of, instead of its text."""
_EMPTY_FIELD = late.pattern(
    r"(?:\*\*[^*\n]+(?::\*\*|\*\*:)|__[^_\n]+(?::__|__:)|[a-z][a-z0-9_.]*::?)\s*"
    r"(?:([_*]{1,2})\([^()\n]*\)\1)?"
)
"""A field of a template that nobody filled in, maybe with words in parentheses that ask for it."""
_OPENER = late.pattern(r"(?m)(?:#{1,6}(?:[ \t]|$)|```|~~~|[-_*=][-_*= \t]*$)")
_LAST_FENCE = late.pattern(r"(\r\n?|\n)([ \t]*)(?:`{3,}|~{3,})[ \t]*\Z")
_KIND_NAME = late.pattern(r"[^\W\d_]{2,}")
_BLOCK_BENEATH = late.pattern(
    r"\n(?=[ \t]*(?:\n|\Z|(?:[-+*]|1[.)])[ \t]+\S|>|#{1,6}[ \t]|```|~~~))"
)
"""Before the end of the first paragraph: a blank line, list, quote, heading or fence."""


@dataclass(frozen=True, slots=True)
class Item:
    """A fact in its document: lines `start` up to `end` (from 0), which read `raw`; `time` is in
    front of its text, and no part of it.
    """

    fact: Fact
    start: int
    end: int
    raw: str
    time: str = ""

    @property
    def untimed(self) -> str:
        return self.raw.replace(self.time, "", 1)


def split_time(document: Document, line: int, item: str) -> tuple[str, str]:
    """The time that an item begins with, if it is none of its text, and the item without it."""
    timed = document.timed_section
    if timed is None or not timed.body <= line < timed.end:
        return "", item
    match = _TIMED.match(item)
    match = match if match and is_minute(match[2][: len("HH:MM")]) else None
    return (match[2], match[1] + item[match.end() :]) if match else ("", item)


def with_time(item: str, time: str) -> str:
    """An item that begins with a time, as `split_time` splits it."""
    marker = MARKER.match(item)
    at = marker.end() if marker else 0
    return item[:at] + time + item[at:]


def minute_of(entry: Entry) -> str | None:
    """The time of an entry of a log, HH:MM: its heading, or what is in front of its text."""
    if entry.section and is_minute(entry.section[-1]):
        return entry.section[-1]
    match = _TIMED.match(f"{entry.first_line} -")
    minute = match[2][: len("HH:MM")] if match else ""
    return minute if minute and not entry.text.startswith(minute) else None


def is_dated(text: str) -> bool:
    """True for a line of a diary, which begins with a date or a time of day."""
    return bool(_DATED.match(text))


def may_repeat(text: str) -> bool:
    return is_dated(text) or bool(TASK_BOX.match(text))


def is_done_task(entry: Entry) -> bool:
    """True for an item of a list of tasks that is ticked or cancelled."""
    return bool(_DONE_BOX.match(_item_words(entry)))


def is_open_task(entry: Entry) -> bool:
    return _item_words(entry).startswith(OPEN_BOX)


def is_nested(entry: Entry) -> bool:
    """True for an item of a list in another item."""
    return entry.fact is None and MARKER.match(entry.first_line) is not None


def own_words(entry: Entry) -> str:
    """The text of an entry; of an item in another one, without the words of those around it, of a
    row without those of the table's head.
    """
    if not is_nested(entry):
        return entry.first_line if is_row(entry) else entry.text
    head, line_end, rest = entry.text.partition("\n")
    *around, last = head.split(PATH_SEPARATOR)
    for number in range(1, len(around)):  # its own words may hold the separator
        own = PATH_SEPARATOR.join((*around[number:], last))
        if own in entry.first_line:
            return own + line_end + rest
    return last + line_end + rest


def line_id(entry: Entry) -> FactId | None:
    """The id of an item in another one by its own words; none of what is no item."""
    return parse_text(own_words(entry)).id if is_nested(entry) else None


def _item_words(entry: Entry) -> str:
    if entry.fact is not None:
        return entry.text
    marker = MARKER.match(entry.first_line)
    return entry.first_line[marker.end() :] if marker else ""


def may_have_copies(text: str, key: str | None) -> bool:
    """True for facts that are the same everywhere: with a key, or with enough words."""
    if key is not None:
        return True
    words = 0
    for match in _CONTENT_WORD.finditer(text):
        word = match[0].casefold()
        words += max(1, len(word) // 2) if word[0] >= _FIRST_UNSPACED else word not in _ARTICLES
        if words >= _FEWEST_WORDS:
            return True
    return False


def normalise(text: str) -> str:
    """NFC with case and white space folded: equal texts count as the same."""
    return fold_space(text).casefold()


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters, cut at a word."""
    if len(text) <= most:
        return text
    start = text[: most - 1]
    return f"{start.rpartition(' ')[0] or start}…"


def word_stems(text: str) -> frozenset[str]:
    """The words of a text, folded and roughly without endings, by which readers find theirs."""
    return frozenset(word_stem(word) for word in _WORD.findall(text))


def word_stem(word: str) -> str:
    folded = word.casefold()
    return folded[:_STEM] if folded.isascii() else folded


def excerpt(text: str, stems: Collection[str], most: int) -> str:
    """At most so many characters of a text, from where most of some words are nearest together."""
    if len(text) <= most:
        return text
    asked = [(m.start(), stem) for m in _WORD.finditer(text) if (stem := word_stem(m[0])) in stems]
    if missing := set(stems) - {stem for _, stem in asked}:  # within words: identifiers, Chinese
        lowered = text.lower()
        asked += [(at, stem) for stem in missing if (at := lowered.find(stem)) >= 0]
        asked.sort()
    held, first, best, middle = Counter[str](), 0, (0, 0), 0
    for at, stem in asked:
        held[stem] += 1
        while at - asked[first][0] > most // 2 or held[asked[first][1]] > 1:
            held[asked[first][1]] -= 1
            first += 1
        if (found := (len(+held), asked[first][0] - at)) > best:
            best, middle = found, asked[first][0]
    room = most - 2 * len(_CUT)
    start = max(0, min(middle - room // 3, len(text) - room))
    end = start + room
    return f"{_CUT * (start > 0)}{text[start:end].strip()}{_CUT * (end < len(text))}"


def fact_id(text: str) -> FactId:
    """The first 8 hex digits of the SHA-256 of key (without bold) and text, normalised."""
    return _id(text, *key_and_value(text))


def _id(text: str, key: str | None, rest: str) -> FactId:
    return _digest(normalise(f"{key}: {rest}" if key else text))


def _digest(normalised: str) -> FactId:
    return FactId(
        hashlib.sha256(normalised.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]
    )


def key_and_value(text: str) -> tuple[str | None, str]:
    """The key that a text begins with, without bold marks, and the rest; None: it has no key."""
    match = _BOLD_KEY.match(text)
    if match:
        return next(group for group in match.groups() if group).strip(), text[match.end() :]
    match = _IDENTIFIER_KEY.match(text)
    return (match[1], text[match.end() :]) if match else (None, text)


def item_text(item: str) -> str:
    """The text without its outermost marker; other lines are dedented by as much."""
    lines = with_line_end(item, "\n").rstrip("\n").split("\n")
    match = MARKER.match(lines[0])
    if not match:
        return "\n".join(lines)
    indent = match.end() if lines[0][match.end() :] else match.end(2) + 1
    rest = [line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines[1:]]
    return "\n".join([lines[0][indent:], *rest])


def _strip_end(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def before_marks(text: str) -> int:
    """The offset at which the words and tags of an item end and its comments and block id begin."""
    end = _strip_end(text, len(text))
    caret = text.rfind("^", 0, end)
    if caret >= 0 and (match := _BLOCK_ID.search(text, max(0, caret - 1), end)):
        end = _strip_end(text, match.start())
    while (start := _comment_before(text, end)) is not None:
        end = _strip_end(text, start)
    return end


def _comment_before(text: str, end: int) -> int | None:
    """The offset of a comment that ends at `end`."""
    if text.endswith("%%", 0, end):
        start = max(0, text.rfind("%%", 0, end - 2))
        return start if _COMMENT.fullmatch(text, start, end) else None
    if not text.endswith("-->", 0, end):
        return None
    before = text.rfind("-->", 0, end - 3)
    match = _HTML_OPEN.search(text, before + 3 if before >= 0 else 0, end - 3)
    return match.end() - len("<!--") if match else None


def before_tags(text: str, end: int) -> tuple[int, tuple[str, ...]]:
    """The offset at which the words of `text[:end]` end, and the tags behind them."""
    tags: list[str] = []
    hash_at = text.rfind("#", 0, end)
    while (
        hash_at >= 0
        and (not hash_at or text[hash_at - 1].isspace())
        and _is_tag(text[hash_at + 1 : end])
    ):
        tags.append(text[hash_at + 1 : end])
        end = _strip_end(text, hash_at)
        hash_at = text.rfind("#", 0, end)
    return end, tuple(reversed(tags))


def plain_tag(name: str) -> str:
    """A tag as typed (`#x`, `tag:x`) by its name alone."""
    return name.removeprefix("tag:").removeprefix("#")


def _is_tag(name: str) -> bool:
    """A letter, then letters with their marks, digits, `_`, `-` and `/`."""
    return name[:1].isalpha() and all(
        c.isalnum() or c in "_-/" or (not c.isascii() and unicodedata.category(c).startswith("M"))
        for c in name
    )


def split_until(text: str) -> tuple[str, date | None]:
    """Split a text (without kind) from its expiry; a date with nothing before it is text."""
    match = UNTIL.search(text, max(0, text.rfind("(") - 1)) if "(" in text else None
    if not match or not text[: match.start()].strip():
        return text, None
    try:
        return text[: match.start()], date.fromisoformat(match[1])
    except ValueError:
        return text, None


def parse_item(item: str) -> Fact:
    """The fact that a list item states; `item` is its Markdown, marker included."""
    text = plain_words(item)
    return _parse_item(item) if text is None else Fact(id=plain_id(text), text=text)


@lru_cache(maxsize=_CACHED_ITEMS)
def _parse_item(item: str) -> Fact:
    return parse_text(item_text(item))


def plain_words(item: str) -> str | None:
    """The text of a list item that is nothing but words; None where it may have labels."""
    match = _SIMPLE_ITEM.match(item)
    text = match[1].rstrip() if match else ")"
    return None if text.endswith((")", ":")) else text


def plain_id(text: str) -> FactId:
    """The id of the fact whose text is the `plain_words` of an item."""
    return _digest(" ".join(text.split()).lower() if text.isascii() else normalise(text))


def split_kind(words: str) -> tuple[str | None, str]:
    match = KIND_LABEL.match(words)
    rest = words[match.end() :].lstrip() if match else ""
    return (match[1], rest) if match and rest else (None, words)


def parse_text(words: str) -> Fact:
    """The fact of a list item's words. `(until …)` stays in the text, but not in key and id.

    Labels are at the end of the first paragraph, or at the very end.
    """
    kind, content = split_kind(words.strip())
    end, tags = before_tags(content, before_marks(content))
    text = content[:end] if end else content
    tags, (timeless, until) = (tags, split_until(text)) if end else ((), (text, None))
    head_end = paragraph_end(text)
    if head_end < len(text):
        words_end, head_tags = before_tags(text, before_marks(text[:head_end]))
        if words_end:
            head, head_until = split_until(text[:words_end])
            text, timeless = text[:words_end] + text[head_end:], head + timeless[head_end:]
            tags, until = tuple(dict.fromkeys((*head_tags, *tags))), head_until or until
    key, rest = key_and_value(text)
    identity = fact_id(timeless) if until else _id(text, key, rest)
    return Fact(id=identity, text=text, key=key, kind=kind, tags=tags, until=until)


def paragraph_end(text: str) -> int:
    words = text.lstrip()
    if "\n" not in words or words.startswith(("```", "~~~")):
        return len(text)
    start = len(text) - len(words)
    comments = [match.span() for match in COMMENT_SPAN.finditer(text)]
    ends = (match.start() for match in _BLOCK_BENEATH.finditer(text, start))
    return next(
        (end for end in ends if not any(first < end < last for first, last in comments)), len(text)
    )


def head_fact(item: Item) -> Fact | None:
    """The fact of an item's first paragraph alone; None where nothing is beneath it."""
    text = item_text(item.untimed).strip()
    end = paragraph_end(text)
    return parse_text(text[:end]) if end < len(text) else None


def item_inside(text: str) -> Document:
    """The text of an item, without its marker, as a document with the same lines."""
    lines = (line.removeprefix("\t") for line in text.split("\n"))
    return parse("\n".join([*lines, ""]), fragment=True)


@lru_cache(maxsize=_CACHED_ITEMS)
def own_text(text: str) -> str:
    """The text of an item without the items of lists in it."""
    if not _NESTED_MARKER.search(text):
        return text
    lines = text.split("\n")
    for start, end in reversed(_nested_spans(item_inside(text))):
        del lines[start:end]
    return "\n".join(lines).rstrip()


def _nested_spans(document: Document) -> list[tuple[int, int]]:
    """The lines of the items of lists in an item, but for one that begins where it does."""
    blocks = document.without_markers.blocks_in(0, len(document.lines))
    return [(each.start, each.end) for each in blocks if each.kind is BlockKind.ITEM and each.start]


def item_name(item: str) -> str:
    """The words of an item that are before those of the items in it."""
    words = _shown(own_text(parse_item(item).text)).partition("\n\n")[0]
    return shortened(fold_space(words), _NAME).rstrip(":")


@dataclass(frozen=True, slots=True)
class _Nested:
    """An item of a list in another item, whose lines `start` up to `end` (from 0) are its own;
    those up to `last` are it and what is beneath, which reads `raw`.
    """

    fact: Fact
    start: int
    end: int
    last: int
    raw: str
    text: str
    """Its own words behind those of the items around it."""


@lru_cache(maxsize=_CACHED_ITEMS)
def _nested(item: str, above: tuple[str, ...] = ()) -> tuple[_Nested, ...]:
    """The items of lists in an item, at any depth that is read."""
    if len(above) == DEEPEST or not _NESTED_MARKER.search(item):
        return ()
    around, document, found = (*above, item_name(item)), item_inside(item_text(item)), []
    for start, end in _nested_spans(document):
        raw = document.slice(start, end)
        fact, deeper = parse_item(raw), _nested(raw, around)
        if _has_content(raw, fact):
            own = own_text(fact.text) if len(around) < DEEPEST else fact.text
            words = PATH_SEPARATOR.join((*around, _shown(own)))
            own_end = start + deeper[0].start if deeper else end
            found.append(
                _Nested(fact=fact, start=start, end=own_end, last=end, raw=raw, text=words)
            )
        found += [
            replace(each, start=start + each.start, end=start + each.end, last=start + each.last)
            for each in deeper
        ]
    return tuple(found)


def nested_items(item: Item) -> Iterator[tuple[Item, str]]:
    """The items of lists in an item, each with its words behind those of the items around it."""
    for each in _nested(item.untimed):
        start, end = item.start + each.start, item.start + each.last
        yield Item(fact=each.fact, start=start, end=end, raw=each.raw), each.text


def own_fact(nested: Item) -> Fact:
    """The fact of a nested item's own words, by whose id the trail knows it."""
    return parse_text(own_text(nested.fact.text))


def nested_at(item: Item, line: int) -> str | None:
    """The text of the item of a list in an item that has a line of the document (from 1)."""
    inner = (each for each in _nested(item.untimed) if each.start < line - item.start <= each.end)
    return next((each.text for each in inner), None)


def items(document: Document, start: int = 0, end: int | None = None) -> tuple[Item, ...]:
    """The facts in some lines: list items at the top level of a section, in order.

    Conflict markers end an item; what both sides of a conflict replaced is none.
    """
    return tuple(_items(document, start, len(document.lines) if end is None else end, ""))


_STOPS = ".。"
_BEHIND_TAG = ".,;:!?…)]}'\"*_~/-。，、；：！？»”’"


def same_ids(fact: Fact) -> frozenset[FactId]:
    """The ids of what says the same but for a final stop; case and white space are in no id.

    Asked where a verb wonders whether something is there already.
    """
    bare = fact.text.rstrip(f" {_STOPS}")
    return frozenset((fact.id, *(fact_id(bare + end) for end in ("", *_STOPS) if bare)))


def find_same_item(document: Document, item: str) -> Item | None:
    """The first fact of a document that states the same as a list item.

    It has the item's longest ASCII word, which NFC and case folding keep; only such items are read.
    """
    fact = parse_item(item)
    same = same_ids(fact)
    word = max(_ASCII_WORD.findall(normalise(UNTIL.sub("", fact.text))), key=len, default="")
    if word not in document.text.casefold():
        return None
    return next(
        (
            candidate
            for candidate in _items(document, 0, len(document.lines), word)
            if candidate.fact.id in same
        ),
        None,
    )


def _items(document: Document, start: int, end: int, word: str) -> Iterator[Item]:
    for block in document.without_markers.blocks_in(start, end):
        if block.kind is BlockKind.ITEM:
            raw = document.slice(block.start, block.end)
            is_timed = document.timed_section is not None
            time, words = split_time(document, block.start, raw) if is_timed else ("", raw)
            if (word and word not in words.casefold()) or not has_words(words):
                continue
            if "::" not in words or not _is_field_item(words):
                fact = parse_item(words)
                yield Item(fact=fact, start=block.start, end=block.end, raw=raw, time=time)


@lru_cache(maxsize=_CACHED_ITEMS)
def has_words(item: str) -> bool:
    """True if an item has more than kind, comments and block id, is not struck as a whole, and not
    embeds alone; tags alone are words.
    """
    _, words = split_kind(item_text(item).strip())
    words = _COMMENT.sub("", words[: before_marks(words)]).strip()
    if words.startswith("![[") and _EMBEDS.fullmatch(words):
        return False
    if "~~" not in words:
        return bool(words)
    return bool(
        _DONE_BOX.sub("", without_struck(words[: before_tags(words, len(words))[0]])).strip()
    )


def without_struck(text: str) -> str:
    """A text without the words between `~~`, which somebody took back."""
    return _STRUCK.sub(lambda match: match["code"] or "", text) if "~~" in text else text


def section_items(document: Document, section: Section) -> tuple[Item, ...]:
    return items(document, section.body, section.end)


def split_key(text: str, key: str) -> tuple[str, str]:
    """Split a text after `key: ` (folded, bold or not); first part empty for another key."""
    spellings = _spellings(key)
    match = _BOLD_KEY.match(text)
    if match and spellings & _spellings(key_and_value(text)[0] or ""):
        return match[0], text[match.end() :]
    for colon in islice(_COLON.finditer(text), max(each.count(": ") for each in spellings) + 2):
        rest = text[colon.end() :].lstrip()
        if rest and spellings & _spellings(text[: colon.start()]):
            return text[: len(text) - len(rest)], rest
    return "", text


def ids_of(fact: Fact) -> tuple[FactId, ...]:
    """The id of a fact and, if it has a key, the one that its value alone has."""
    return (fact.id, fact_id(split_key(fact.text, fact.key)[1])) if fact.key else (fact.id,)


def _spellings(key: str) -> set[str]:
    """A key with and without bold marks, normalised and without `write_item`'s escapes."""
    written = key.strip().replace("\\<!--", "<!--").replace("\\%%", "%%")
    unescaped = written.removeprefix("\\")
    written = unescaped if _OPENER.match(unescaped) or KIND_LABEL.match(unescaped) else written
    return {normalise(written), normalise(written.replace("**", "").replace("__", ""))}


def normalise_key(text: str) -> str:
    """A key, or a text with one, normalised without bold marks and escapes."""
    return normalise(text.replace("\\", "").replace("**", "").replace("__", ""))


def holds_key(fact: Fact, key: str) -> bool:
    """True if a fact begins with `key: ` (NFC, case and white space folded, bold or not)."""
    return bool(split_key(fact.text, key)[0])


def find_held_key(text: str, keys: Collection[str]) -> str | None:
    """The one of some normalised keys that a text without a key of its own begins with."""
    for colon in islice(_COLON.finditer(text), _MAX_KEY_COLONS):
        held = [spelling for spelling in _spellings(text[: colon.start()]) if spelling in keys]
        if held and text[colon.end() :].strip():
            return held[0]
    return None


def write_item(
    text: str,
    key: str | None = None,
    kind: str | None = None,
    tags: Iterable[str] = (),
    until: date | None = None,
) -> str:
    """The list item of a fact, with LF and no last line end; `parse_item` reads it back.

    Other lines are indented; text that would open a heading, unclosed fence or comment is escaped,
    and so is a key that reads as a kind.

    Raises TextProblem: `empty-text`. LabelProblem: `bad-text`: a malformed kind, key or tag.
    """
    lines = with_line_end(clean_input(text), "\n").strip().split("\n")
    if not any(lines):
        raise TextProblem("empty-text", "the text is empty")
    fenced = closed_fences(lines) if "```" in text or "~~~" in text else ()
    stored = [
        line if number in fenced else _escape_line(line, number)
        for number, line in enumerate(lines)
    ]
    content = _escape_labels(
        "\n".join([stored[0], *(f"  {line}" if line else "" for line in stored[1:])])
    )
    gap = "\n  " if 0 in fenced else " "
    if key is not None:
        content = _add_key(content, key, gap)
    if key is not None or 0 not in fenced:
        content = _escape_opener(content)
    if "::" in content and _is_field_item(content):
        content = content.replace("::", "\\::", 1)
    own_kind, rest = split_kind(content)
    if kind is None:
        label, content = content[: len(content) - len(rest)], rest
    else:
        label, content = (
            f"[{require_kind(kind)}]{gap}",
            rest if normalise(own_kind or "") == normalise(kind) else content,
        )
    marks = before_marks(content[: paragraph_end(content)])
    end, own_tags = before_tags(content, marks)
    words = split_until(content[:end])[0] if until else content[:end]
    return f"- {label}" + add_labels(words, until, (*own_tags, *tags)) + content[marks:]


def _escape_line(line: str, number: int) -> str:
    line = _escape_comments(line.rstrip())
    return _escape_opener(line) if number else line


def _escape_comments(text: str) -> str:
    return _COMMENT_OPEN.sub(r"\1\\\2", text)


def _escape_labels(text: str) -> str:
    """Escape a text whose first paragraph, or value, would read as kind, tags or block id."""
    kind = KIND_LABEL.match(text)
    start = kind.end() if kind else 0
    for last in (start + paragraph_end(text[start:]), len(text)):
        end = start + before_tags(text[start:last], before_marks(text[start:last]))[0]
        if end == start:
            return f"\\{text}"
        if end < last and text.endswith((":", ":**", ":__"), start, end):
            return f"{text[:end]} \\{text[end:].lstrip()}"
    return text


def _escape_opener(line: str) -> str:
    words = line.lstrip()
    return f"{line[: len(line) - len(words)]}\\{words}" if _OPENER.match(words) else line


def _add_key(text: str, key: str, gap: str) -> str:
    name = fold_space(key)
    if not name or len(split_lines(key)) > 1:
        raise LabelProblem(
            "bad-text", f"{key!r} cannot be a key: a key is one line that is not empty"
        )
    if holds_key(parse_text(text), name):
        return text
    line = f"{_escape_comments(name)}:{gap}{text}"
    return line if split_kind(line)[0] is None else f"\\{line}"


def require_kind(kind: str) -> str:
    if not _KIND_NAME.fullmatch(kind):
        raise LabelProblem(
            "bad-text", f"{kind!r} cannot be a kind: a kind is a word of at least two letters"
        )
    return kind


def add_labels(words: str, until: date | None, tags: Iterable[str]) -> str:
    """Add expiry and tags; after a fence on a line of their own."""
    names = list(map(plain_tag, tags))
    for name in names:
        if not _is_tag(name):
            hint = f"Give {field('tags')} once for each tag." if "," in name or " " in name else ""
            raise LabelProblem(
                "bad-text",
                f"{name!r} cannot be a tag: a tag is a letter, then letters, digits, _, - or /",
                hint,
            )
    labels = [
        *([f"(until {until.isoformat()})"] if until else []),
        *(f"#{name}" for name in dict.fromkeys(names)),
    ]
    fence = _LAST_FENCE.search(words) if labels else None
    return "".join(
        [words, fence[1] + fence[2] if fence else " ", " ".join(labels)] if labels else [words]
    )


ABOUT_JOINT = " / "
"""Separates what front matter says of a file, in one text."""
INSTRUCTIONS_BEGIN, INSTRUCTIONS_END = "<!-- mdmem:begin -->", "<!-- mdmem:end -->"
"""Around mdmem's own instructions to agents, which are not memory."""
_CODE = (
    r"\\.|^[ \t]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t]*(?P=fence)|\Z)"
    r"|(?P<ticks>`+)(?!`).{0,4000}?(?<!`)(?P=ticks)(?!`)"
)
"""Code in a line is no longer than that, or looking for its end would take the square of a text."""
_COMMENT_OF_ITEM = late.pattern(
    rf"(?ms)(?P<code>{_CODE}|`+)|^[ \t]*(?:{COMMENT})[ \t]*(?:\n|\Z)"
    rf"|(?<![ \t])[ \t]*(?:{COMMENT})"
)
"""Comments in an item, but not escaped or in code."""
_STRUCK = late.pattern(
    rf"(?ms)(?P<code>{_CODE}|`+)|(?<![~\\])~~(?=[^\s~])(?:(?!~~|\n[ \t]*\n).)*(?<!\s)~~(?!~)"
)
"""Words that are struck, but not in code."""
_READ = late.pattern(
    rf"(?ms)(?P<code>{_CODE}|`+)|^(?P<quote>(?:>[ \t]*)+)\[![\w-]+\][-+]?[ \t]*"
    r"|!?\[\[(?![\s:-])(?P<note>[^\[\]|#\r\n]*)(?:#(?P<part>[^\[\]|\r\n]*))?"
    r"(?:\\?\|(?P<name>[^\[\]\r\n]*))?\]\]"
    r"|(?<![=\w])==(?=[^\s=])(?P<marked>[^=\r\n]*)(?<!\s)==(?![=\w])"
    r"|(?<=\S)\[\^[\w-]+\](?![(:])|(?<=\S)[ \t]+\^[A-Za-z0-9-]+\Z"
)
"""Marks of a vault that readers do not need, but not in code."""
_EMPHASIS = late.pattern(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)|[*`]|(?<!\w)_|_(?!\w)")
_EMBEDS = late.pattern(r"\s*(?:!\[\[[^\[\]\r\n]+\]\]\s*)+")
_HEX_COLOUR = late.pattern(r"[0-9a-fA-F]{3}(?:[0-9a-fA-F]{3})?")
_ID_OF_FIRST_LINE = late.pattern(r"\A(.*\S)[ \t]+\^[A-Za-z0-9-]+[ \t]*\n")
_TEXTS_KEPT = 4096
_TABLE_DELIMITER = late.pattern(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
_CELL_END = late.pattern(r"(?<!\\)\|")
_CONTENT = late.pattern(r"[^\s!-/:-@\[-`{-~]")
"""A character other than white space and ASCII punctuation."""


def entries(
    document: Document,
    path: FilePath,
    tags: tuple[str, ...] = (),
    start: int = 0,
    end: int | None = None,
    daily: str | None = None,
    nested: bool = False,
) -> tuple[Entry, ...]:
    """The entries of a file in order, without empty blocks and mdmem's instructions.

    The `path` of a daily log, or a date in a name, gives entries their day; each has the `tags` of
    the front matter. They begin in lines `start` up to `end`, from 0. Conflict markers are not
    entries; what both sides of a conflict say is. `nested`: items of lists in items are, too.
    """
    end = len(document.lines) if end is None else end
    day, tags = day_of(path, daily), tuple(dict.fromkeys(tags))
    whole = _whole_entries(document.without_markers, path, day, tags, start=start, end=end)
    parts = (
        part
        for entry, kind, raw in whole
        for part in _parts(document.without_markers.lines, entry, kind, raw, nested)
    )
    properties = _properties(document, path, day, tags) if nested and start < document.front else ()
    return (*properties, *parts)


def _properties(
    document: Document, path: FilePath, day: date | None, tags: tuple[str, ...]
) -> Iterator[Entry]:
    front = document.lines[1 : document.front - 1]
    for field_ in late.module("text.fields").properties(front):
        line = field_.line + 2
        yield Entry(
            path=path,
            start_line=line,
            end_line=line,
            section=(),
            day=day,
            text=field_.text,
            kind=None,
            key=field_.key,
            tags=tags,
            until=None,
            fact=None,
            first_line=document.lines[line - 1].strip(),
        )


def _whole_entries(
    document: Document,
    path: FilePath,
    day: date | None,
    file_tags: tuple[str, ...],
    start: int,
    end: int,
) -> Iterator[tuple[Entry, BlockKind, str]]:
    """The entries of blocks, each with the kind and the Markdown of its block."""
    lines = document.lines
    section, section_end = SectionPath(), -1
    instructions = _instructions(lines) if INSTRUCTIONS_BEGIN in document.text else ()
    for kind, first, last in document.spans_in(start, end):
        if first in instructions:
            continue
        if first >= section_end:
            section, section_end = _section_and_end(document, first)
        raw = lines[first] if last == first + 1 else document.slice(first, last)
        if document.timed_section is not None:
            _, raw = split_time(document, first, raw)
        fact_kind, key, tags, until, fact_id = None, None, file_tags, None, None
        if kind is not BlockKind.ITEM:
            text = _block_text(kind, raw)
            if not _CONTENT.search(text) or (kind is BlockKind.CODE and _QUERY.match(text)):
                continue
        # Most entries are plain, and then there is less to look at.
        elif (words := plain_words(raw)) is not None:
            text, fact_id = words, plain_id(words)
        else:
            fact = parse_item(raw)
            if not _has_content(raw, fact):
                continue
            text, fact_kind, key, until, fact_id = (
                fact.text,
                fact.kind,
                fact.key,
                fact.until,
                fact.id,
            )
            if fact.tags:
                tags = tuple(dict.fromkeys((*fact.tags, *file_tags)))
            if "![[" in raw and not has_words(raw):
                fact_id = None
        if "::" in raw and fact_id and _is_field_item(raw):
            fact_id = None
        entry = Entry(
            path=path,
            start_line=first + 1,
            end_line=last,
            section=section,
            day=day,
            text=text,
            kind=fact_kind,
            key=key,
            tags=tags,
            until=until,
            fact=fact_id,
            first_line=lines[first].strip(),
        )
        yield entry, kind, raw


def _parts(
    lines: Sequence[str], entry: Entry, kind: BlockKind, raw: str, nested: bool
) -> Iterator[Entry]:
    """An entry, or the rows of its table with the text above it; behind it the items in it."""
    if table := _read_table(kind, raw):
        head, rows = table
        if head:
            words = _block_text(kind, "\n".join(raw.split("\n")[:head]))
            yield replace(entry, end_line=entry.start_line + head - 1, text=words)
        yield from (_as_row(entry, lines, number, row) for number, row in rows)
        return
    fields = _fields(raw) if nested and kind in (BlockKind.ITEM, BlockKind.PARAGRAPH) else ()
    said = {entry.start_line + each.line for each in fields if each.is_line}
    if len(said) <= entry.end_line - entry.start_line:
        yield entry
    if nested and entry.fact is not None and entry.end_line > entry.start_line:
        own = parse_item(raw).tags
        file_tags = tuple(tag for tag in entry.tags if tag not in own)
        inner = (_as_nested(entry, lines, each, file_tags) for each in _nested(raw))
        yield from (each for each in inner if each.start_line not in said)
    for each in fields:
        yield replace(_as_row(entry, lines, each.line, each.text), key=each.key, fact=None)


def _fields(raw: str) -> tuple[Any, ...]:
    """The fields of a note in a block."""
    return tuple(late.module("text.fields").within(raw)) if "::" in raw else ()


def _is_field_item(item: str) -> bool:
    """True for an item that says nothing but the value of a field."""
    fields = _fields(item)
    return bool(fields) and sum(each.is_line for each in fields) > item.rstrip().count("\n")


def is_field(entry: Entry) -> bool:
    """True for a property or another field of its note, which is no fact."""
    return entry.fact is None and entry.key is not None


def _as_nested(
    around: Entry, lines: Sequence[str], item: _Nested, file_tags: tuple[str, ...]
) -> Entry:
    line = around.start_line + item.start
    return replace(
        around,
        start_line=line,
        end_line=around.start_line + item.end - 1,
        text=item.text,
        kind=item.fact.kind,
        key=None,
        tags=tuple(dict.fromkeys((*item.fact.tags, *file_tags))),
        until=item.fact.until,
        fact=None,
        first_line=lines[line - 1].strip(),
    )


def _as_row(table: Entry, lines: Sequence[str], number: int, text: str) -> Entry:
    line = table.start_line + number
    return replace(
        table, start_line=line, end_line=line, text=text, first_line=lines[line - 1].strip()
    )


def _read_table(kind: BlockKind, raw: str) -> tuple[int, list[tuple[int, str]]] | None:
    """The line (from 0) at which a paragraph's table begins, and its rows that have words, with
    their lines; in each, the words of the head name its cells.
    """
    if kind is not BlockKind.PARAGRAPH or "|" not in raw:
        return None
    lines = raw.split("\n")
    heads = (
        number
        for number, delimiter in enumerate(lines[1:])
        if "-" in delimiter
        and _TABLE_DELIMITER.fullmatch(delimiter.strip())
        and "|" in lines[number]
        and len(_cells(delimiter)) == len(_cells(lines[number]))
    )
    if (head := next(heads, None)) is None:
        return None
    names = _cells(lines[head])
    rows = (
        (number, zip_longest(names, _cells(line), fillvalue=""))
        for number, line in enumerate(lines[head + 2 :], head + 2)
    )
    told = (
        (number, " · ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell))
        for number, cells in rows
    )
    found = [
        (number, without_comments(row).strip()) for number, row in told if _CONTENT.search(row)
    ]
    return (head, found) if found else None


def _cells(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(line.removesuffix("|"))]


def is_row(entry: Entry) -> bool:
    """True for a row of a table, which has no neighbours."""
    return (
        entry.fact is None
        and "|" in entry.first_line
        and not entry.text.startswith(entry.first_line[:1])
    )


def _instructions(lines: Sequence[str]) -> range:
    stripped = [line.strip() for line in lines]
    begin = stripped.index(INSTRUCTIONS_BEGIN) if INSTRUCTIONS_BEGIN in stripped else len(stripped)
    return (
        range(begin, stripped.index(INSTRUCTIONS_END, begin))
        if INSTRUCTIONS_END in stripped[begin:]
        else range(0)
    )


def shown_text(entry: Entry) -> str:
    """The text for readers, without comments and block id within it, which count for its id."""
    text = entry.text
    return (
        _shown(text)
        if entry.fact is not None and (has_comment(text) or ("^" in text and "\n" in text))
        else text
    )


@lru_cache(maxsize=_TEXTS_KEPT)
def _shown(text: str) -> str:
    return _ID_OF_FIRST_LINE.sub(r"\1\n", without_comments(text).rstrip() + "\n").rstrip()


def as_read(text: str) -> str:
    """A text without the marks of a vault: its links as words, no block id, no sign of callouts."""
    if not any(mark in text for mark in ("[[", "==", "[^", "[!", "^")):
        return text
    return _READ.sub(_words_of_mark, text)


def bare_words(text: str) -> str:
    """A text as it is read, normalised and without marks of emphasis, code and links."""
    return normalise(_EMPHASIS.sub(r"\1", as_read(_shown(text))))


def _words_of_mark(mark: Match[str]) -> str:
    if kept := mark["code"] or mark["quote"] or mark["name"] or mark["marked"]:
        return kept
    note, part = mark["note"], mark["part"] or ""
    if note is None:
        return ""
    headings = [] if part.startswith("^") else part.split("#")
    return " > ".join(filter(None, map(str.strip, (note, *headings))))


def entry_tags(entry: Entry) -> tuple[str, ...]:
    """The tags of an entry: its own, those within its sentences, those of its file."""
    if "#" not in entry.text:
        return entry.tags
    words = _COMMENT_OF_ITEM.sub("", entry.text)
    candidates = (word[1:].rstrip(_BEHIND_TAG) for word in words.split() if word[0] == "#")
    within = (name for name in candidates if _is_tag(name) and not _HEX_COLOUR.fullmatch(name))
    return tuple(dict.fromkeys((*entry.tags, *within)))


def without_comments(text: str) -> str:
    """A Markdown text without its comments; code keeps what looks like one."""
    return _COMMENT_OF_ITEM.sub(lambda match: match["code"] or "", text)


def _section_and_end(document: Document, line: int) -> tuple[SectionPath, int]:
    section = document.section_at(line)
    return (section.path, section.end) if section else ((), document.preamble_end)


def _has_content(raw: str, fact: Fact) -> bool:
    if _EMPTY_FIELD.fullmatch(fact.text):
        return False
    return has_words(raw) if has_comment(raw) or "^" in raw or "~~" in raw else bool(fact.text)


def has_comment(text: str) -> bool:
    """True if a text may have a comment."""
    return "<!--" in text or "%%" in text


def _block_text(kind: BlockKind, raw: str) -> str:
    """The words of a block without comments; code keeps what looks like one."""
    if kind is BlockKind.CODE or not has_comment(raw):
        return raw.strip()
    return (without_comments(raw) if "%%" in raw else _COMMENT.sub("", raw)).strip()
