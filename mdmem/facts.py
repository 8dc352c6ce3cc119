"""One fact <-> one list item.

    - [kind] key: text (until YYYY-MM-DD) #tag #tag <!-- comment --> ^blockid

In this order, everything but the text optional.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from datetime import date
from functools import lru_cache
from itertools import islice

from mdmem.document import BlockKind, Document, Section, clean_input, fold_space, split_lines, with_line_end
from mdmem.errors import FactProblem, LabelProblem, TextProblem
from mdmem.model import Fact, FactId
from mdmem.startup.records import dataclass

_ID_DIGITS = 8
_PREFIX = re.compile(rf"[0-9a-f]{{6,{_ID_DIGITS}}}")
"""Of an id; the whole one too."""
_ITEMS_KEPT = 20_000
"""List items whose facts are remembered: the versions of a file have most of their items in common."""
_KEY_COLONS = 4
"""A key that holds more of them is looked for by name only."""

_MARKER = re.compile(r"^( {0,3})([-+*]|\d{1,9}[.)])( {1,4}(?! )| {1,4}(?=[\r\n]|$)|\t| (?= {4,})|(?=[\r\n]|$))")
_PLAIN = re.compile(r"[-+*] (?!\[|\*\*|__|[a-z][a-z0-9_.]*: )([^\s^#<][^^#<\r\n]*)\n?\Z")
"""A list item of one line that is nothing but words; unless they end in a bracket."""
_ASCII_WORD = re.compile("[a-z0-9]+")
_KIND = re.compile(r"^\[([^\W\d_]{2,})\](?![(\[:])[ \t]*")
_BLOCK_ID = re.compile(r"(?:^|\s)\^[A-Za-z0-9-]+$")
_COMMENT = re.compile(r"(?s)<!--.*?(?:-->|\Z)")
_COMMENT_OPEN = re.compile(r"(?<!\\)(?:\\\\)*<!--")
UNTIL = re.compile(r"(?:^|\s)\(until (\d{4}-\d{2}-\d{2})\)\s*$")
"""What the words of a fact that expires end in; `_split_until` says whether it counts."""
_COLON = re.compile(r":(?=\s)")
_IDENTIFIER_KEY = re.compile(r"^([a-z][a-z0-9_.]*): +(?=\S)")
_BOLD_KEY = re.compile(r"^(?:\*\*([^*\r\n]+?)\*\*:|\*\*([^*\r\n]+?):\*\*|__([^_\r\n]+?)__:|__([^_\r\n]+?):__) +(?=\S)")
_OPENER = re.compile(r"(?m)(?:#{1,6}(?:[ \t]|$)|```|~~~|[-_*=][-_*= \t]*$)")
_KIND_NAME = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Item:
    """A fact where it stands: lines `start` up to `end` (from 0) of its document, `raw` as it is written there."""

    fact: Fact
    start: int
    end: int
    raw: str


def normalise(text: str) -> str:
    """NFC, case and white space folded: what makes two texts the same."""
    return fold_space(text).casefold()


def fact_id(text: str) -> FactId:
    """The first 8 hex digits of the SHA-256 of key and text, normalised. A bold key is its words."""
    return _id(text, *_split_key(text))


def _id(text: str, key: str | None, rest: str) -> FactId:
    said = f"{key}: {rest}" if key else text
    return FactId(hashlib.sha256(normalise(said).encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS])


def _split_key(text: str) -> tuple[str | None, str]:
    match = _BOLD_KEY.match(text)
    if match:
        return next(group for group in match.groups() if group).strip(), text[match.end() :]
    match = _IDENTIFIER_KEY.match(text)
    return (match[1], text[match.end() :]) if match else (None, text)


def item_text(item: str) -> str:
    """The text of a list item without its outermost marker, continuation lines moved left by as much."""
    lines = with_line_end(item, "\n").rstrip("\n").split("\n")
    match = _MARKER.match(lines[0])
    if not match:
        return "\n".join(lines)
    indent = match.end() if lines[0][match.end() :] else match.end(2) + 1
    rest = [line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines[1:]]
    return "\n".join([lines[0][indent:], *rest])


def _without_space(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _before_marks(text: str) -> int:
    """Where the words and tags of an item end and its comments and block id begin."""
    end = _without_space(text, len(text))
    caret = text.rfind("^", 0, end)
    if caret >= 0 and (match := _BLOCK_ID.search(text, max(0, caret - 1), end)):
        end = _without_space(text, match.start())
    while text.endswith("-->", 0, end):
        before = text.rfind("-->", 0, end - 3)
        match = _COMMENT_OPEN.search(text, before + 3 if before >= 0 else 0, end - 3)
        if not match:
            break
        end = _without_space(text, match.end() - len("<!--"))
    return end


def _before_tags(text: str, end: int) -> tuple[int, tuple[str, ...]]:
    """Where the words of `text[:end]` end, and the tags that trail them."""
    tags: list[str] = []
    at = text.rfind("#", 0, end)
    while at >= 0 and (not at or text[at - 1].isspace()) and _is_tag(text[at + 1 : end]):
        tags.append(text[at + 1 : end])
        end = _without_space(text, at)
        at = text.rfind("#", 0, end)
    return end, tuple(reversed(tags))


def _is_tag(name: str) -> bool:
    """Whether a name is a tag's: a letter first, then letters with their marks, digits, `_`, `-` and `/`."""
    return name[:1].isalpha() and all(
        c.isalnum() or c in "_-/" or (not c.isascii() and unicodedata.category(c).startswith("M")) for c in name
    )


def _split_until(text: str) -> tuple[str, date | None]:
    """The text of a fact (without its kind) before the date on which it expires, and that date; with nothing before it, it is the text."""
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
    return _parse_item(item) if text is None else Fact(plain_id(text), text)


@lru_cache(maxsize=_ITEMS_KEPT)
def _parse_item(item: str) -> Fact:
    return parse_text(item_text(item))


def plain_words(item: str) -> str | None:
    """The text of a list item that has nothing but text: no key, kind, expiry, tags, comment or block id. None where that is not sure."""
    match = _PLAIN.match(item)
    text = match[1].rstrip() if match else ")"
    return None if text.endswith(")") else text


def plain_id(text: str) -> FactId:
    """The id of what `plain_words` gives."""
    said = " ".join(text.split()).lower() if text.isascii() else normalise(text)
    return FactId(hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS])


def split_kind(words: str) -> tuple[str | None, str]:
    """The kind that an item's words begin with, and the rest of them."""
    kind = _KIND.match(words)
    rest = words[kind.end() :].lstrip() if kind else ""
    return (kind[1], rest) if kind and rest else (None, words)


def parse_text(words: str) -> Fact:
    """The fact that the words of a list item state. The `(until …)` stays in the text, but counts neither for key nor id."""
    kind, said = split_kind(words.strip())
    end, tags = _before_tags(said, _before_marks(said))
    text = said[:end] if end else said
    tags, (bare, until) = (tags, _split_until(text)) if end else ((), (text, None))
    key, rest = _split_key(text)
    return Fact(fact_id(bare) if until else _id(text, key, rest), text, key, kind, tags, until)


def items(document: Document, start: int = 0, end: int | None = None) -> tuple[Item, ...]:
    """The facts of a document's lines: every list item at the top level of a section, in file order."""
    return tuple(_items(document, start, len(document.lines) if end is None else end, ""))


def find_same_item(document: Document, item: str) -> Item | None:
    """The first fact of a document that says what a list item does.

    Who says the same says its longest word of ASCII letters and digits, too (NFC and case folding leave these alone), so that only what
    has it is read.
    """
    wanted = parse_item(item)
    word = max(_ASCII_WORD.findall(normalise(UNTIL.sub("", wanted.text))), key=len, default="")
    if word not in document.text.casefold():
        return None
    return next((known for known in _items(document, 0, len(document.lines), word) if known.fact.id == wanted.id), None)


def _items(document: Document, start: int, end: int, word: str) -> Iterator[Item]:
    """The facts of some lines that have a word (case folded)."""
    for block in document.blocks_in(start, end):
        if block.kind is BlockKind.ITEM:
            raw = document.slice(block.start, block.end)
            if (not word or word in raw.casefold()) and has_words(raw):
                yield Item(parse_item(raw), block.start, block.end, raw)


@lru_cache(maxsize=_ITEMS_KEPT)
def has_words(item: str) -> bool:
    """Whether a list item says anything beside its kind, comments (one that is not closed too) and block id; tags alone are words."""
    _, said = split_kind(item_text(item).strip())
    return bool(_COMMENT.sub("", said[: _before_marks(said)]).strip())


def section_items(document: Document, section: Section) -> tuple[Item, ...]:
    """The facts of a section's own text."""
    return items(document, section.body, section.end)


def split_key(text: str, key: str) -> tuple[str, str]:
    """A fact's text cut after `key: ` (NFC, case and white space folded, bold or not); the first part is empty where it has another key."""
    wanted = _spellings(key)
    match = _BOLD_KEY.match(text)
    if match and wanted & _spellings(_split_key(text)[0] or ""):
        return match[0], text[match.end() :]
    for colon in islice(_COLON.finditer(text), max(map(_colons, wanted)) + 2):
        rest = text[colon.end() :].lstrip()
        if rest and wanted & _spellings(text[: colon.start()]):
            return text[: len(text) - len(rest)], rest
    return "", text


def _spellings(key: str) -> set[str]:
    """A key as written and without bold marks, each normalised and without the escapes that `write` puts in."""
    said = key.strip().replace("\\<!--", "<!--")
    bare = said.removeprefix("\\")
    said = bare if _OPENER.match(bare) or _KIND.match(bare) else said
    return {normalise(said), normalise(said.replace("**", "").replace("__", ""))}


def _colons(key: str) -> int:
    return key.count(": ")


def holds_key(fact: Fact, key: str) -> bool:
    """Whether a fact begins with `key: ` (NFC, case and white space folded, bold or not)."""
    return bool(split_key(fact.text, key)[0])


def find_held_key(text: str, keys: Collection[str]) -> str | None:
    """Which of some keys (`normal`) the text of a fact that names none begins with, as in `holds_key`."""
    for colon in islice(_COLON.finditer(text), _KEY_COLONS):
        held = [spelling for spelling in _spellings(text[: colon.start()]) if spelling in keys]
        if held and text[colon.end() :].strip():
            return held[0]
    return None


def items_matching(facts: Iterable[Item], name: str) -> tuple[Item, ...]:
    """The items that a name means: by exact text (normalised, with or without kind, tags, expiry and marker), else by id or a prefix of it.

    Raises:
        FactProblem: `fact-ambiguous` where a prefix fits several ids.
    """
    known = tuple(facts)
    said = name.strip()
    wanted = {parse_text(said).id, parse_item(said).id, *([parse_item(write_item(said)).id] if said else [])}
    exact = tuple(item for item in known if item.fact.id in wanted or normalise(item_text(item.raw)) == normalise(name))
    if exact:
        return exact
    prefix = id_prefix(said)
    found = tuple(item for item in known if prefix and item.fact.id.startswith(prefix))
    require_unique_id(prefix, {item.fact.id for item in found})
    return found


def id_prefix(word: str) -> str:
    """The id, or the beginning of one, that a word has the form of; empty for any other word."""
    prefix = word.strip().casefold()
    return prefix if _PREFIX.fullmatch(prefix) else ""


def require_unique_id(prefix: str, ids: Collection[FactId]) -> None:
    """Refuse the beginning of an id that several have.

    Raises:
        FactProblem: `fact-ambiguous`.
    """
    if len(ids) > 1:
        named = sorted(ids)
        raise FactProblem("fact-ambiguous", f"{prefix} fits several facts: {', '.join(named)}", "Give more digits of the id.", facts=named)


def write_item(text: str, key: str | None = None, kind: str | None = None, tags: Iterable[str] = (), until: date | None = None) -> str:
    """The list item that states a fact, with LF and without a last line end; `parse_item` reads it back.

    More lines are indented beneath the first. What would open a heading, a fence or a comment is escaped, and so is a key that would be
    read as a kind.

    Raises:
        TextProblem: `empty-text`. LabelProblem: a kind, key or tag that is none.
    """
    lines = [line.rstrip() for line in with_line_end(clean_input(text), "\n").strip().split("\n")]
    if not any(lines):
        raise TextProblem("empty-text", "the text is empty")
    said = "\n".join([lines[0], *(f"  {line}" if line else "" for line in map(_tame, lines[1:]))])
    said = _guarded(_without_comments(said))
    if key is not None:
        said = _without_comments(_with_key(said, key))
    said = _tame(said)
    own_kind, rest = split_kind(said)
    if kind is None:
        named, said = said[: len(said) - len(rest)], rest
    else:
        named, said = f"[{_kind_name(kind)}] ", rest if normalise(own_kind or "") == normalise(kind) else said
    marks = _before_marks(said)
    end, own_tags = _before_tags(said, marks)
    words = _split_until(said[:end])[0] if until else said[:end]
    return f"- {named}" + " ".join([words, *_marks(until, (*own_tags, *tags))]) + said[marks:]


def _without_comments(said: str) -> str:
    return _COMMENT_OPEN.sub(lambda match: match[0].replace("<", "\\<"), said)


def _guarded(said: str) -> str:
    """What is said, escaped where all of it, or all after its key, would be read as kind, tags or block id."""
    kind = _KIND.match(said)
    first = kind.end() if kind else 0
    end = first + _before_tags(said[first:], _before_marks(said[first:]))[0]
    if end == first:
        return f"\\{said}"
    if end < len(said) and said.endswith((":", ":**", ":__"), first, end):
        return f"{said[:end]} \\{said[end:].lstrip()}"
    return said


def _kind_name(kind: str) -> str:
    if not _KIND_NAME.fullmatch(kind):
        raise LabelProblem("bad-text", f"{kind!r} is no kind: a word of two letters or more")
    return kind


def _marks(until: date | None, tags: Iterable[str]) -> list[str]:
    names = [tag.removeprefix("#") for tag in tags]
    for name in names:
        if not _is_tag(name):
            raise LabelProblem("bad-text", f"{name!r} is no tag: a letter first, then letters, digits, _, - or /")
    return [*([f"(until {until.isoformat()})"] if until else []), *(f"#{name}" for name in dict.fromkeys(names))]


def rewrite_item(item: str, kind: str | None, tags: Iterable[str], until: date | None) -> str:
    """A list item with these tags and this `until` instead of its own, and this kind if there is one; every other byte of it is kept."""
    end = _before_marks(item)
    marker = _MARKER.match(item)
    start = marker.end() if marker else 0
    head = _KIND.match(item[start:])
    first = start + head.end() if head and start + head.end() < end else start
    words = item[first : _before_tags(item, end)[0]] or item[first:end]
    words, expired = _split_until(words)
    words = words.rstrip() if expired else words
    named = f"[{_kind_name(kind)}] " if kind else item[start:first]
    return item[:start] + named + " ".join([words, *_marks(until, tags)]) + item[end:]


def _with_key(said: str, key: str) -> str:
    name = fold_space(key)
    if not name or len(split_lines(key)) > 1:
        raise LabelProblem("bad-text", f"{key!r} is no key: one line that is not empty")
    if holds_key(parse_text(said), name):
        return said
    line = f"{name}: {said}"
    return line if split_kind(line)[0] is None else f"\\{line}"


def _tame(line: str) -> str:
    """A line whose first characters cannot open a heading, a fence or a rule."""
    words = line.lstrip()
    return f"{line[: len(line) - len(words)]}\\{words}" if _OPENER.match(words) else line
