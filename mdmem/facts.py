"""One fact <-> one list item.

    - [kind] key: text (until YYYY-MM-DD) #tag #tag <!-- comment --> ^blockid

In this order, everything but the text optional.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from mdmem.document import Block, BlockKind, Document, Section, clean_input, fold, is_blank, split_lines, with_line_end
from mdmem.errors import FactProblem, TextProblem
from mdmem.model import Fact, FactId

_ID_DIGITS = 8
_MIN_PREFIX = 6

_MARKER = re.compile(r"^( {0,3})([-+*]|\d{1,9}[.)])( {1,4}(?! )| {1,4}(?=[\r\n]|$)|\t| (?= {4,})|(?=[\r\n]|$))")
_KIND = re.compile(r"^\[([^\W\d_]{2,})\](?![(\[:])[ \t]*")
_BLOCK_ID = re.compile(r"(?:^|\s)\^[A-Za-z0-9-]+\s*$")
_COMMENT = re.compile(r"\s*<!--(?:(?!-->).)*-->\s*$", re.DOTALL)
_TAG = re.compile(r"(?:^|\s)#([^\W\d_][\w/-]*)\s*$")
_UNTIL = re.compile(r"(?:^|\s)\(until (\d{4}-\d{2}-\d{2})\)\s*$")
_IDENTIFIER_KEY = re.compile(r"^([a-z][a-z0-9_.]*): +(?=\S)")
_BOLD_KEY = re.compile(r"^(?:\*\*([^*\r\n]+?)\*\*:|\*\*([^*\r\n]+?):\*\*|__([^_\r\n]+?)__:|__([^_\r\n]+?):__) +(?=\S)")
_OPENER = re.compile(r"^(?:#{1,6}(?:[ \t]|$)|```|~~~|(?:[-_*=][ \t]*){2,}$|=+$)")
_TAG_NAME = re.compile(r"^[^\W\d_][\w/-]*$")
_KIND_NAME = re.compile(r"^[^\W\d_]{2,}$")


@dataclass(frozen=True, slots=True)
class Item:
    """A fact where it stands: lines `start` up to `end` (from 0) of its document, `raw` as it is written there."""

    fact: Fact
    start: int
    end: int
    raw: str


def normal(text: str) -> str:
    """NFC, case and white space folded: what makes two texts the same."""
    return fold(text).casefold()


def fact_id(text: str) -> FactId:
    """The first 8 hex digits of the SHA-256 of key and text, normalised. A bold key is its words."""
    key, rest = _split_key(text)
    said = f"{key}: {rest}" if key else text
    return FactId(hashlib.sha256(normal(said).encode()).hexdigest()[:_ID_DIGITS])


def _split_key(text: str) -> tuple[str | None, str]:
    match = _BOLD_KEY.match(text)
    if match:
        return next(group for group in match.groups() if group).strip(), text[match.end() :]
    match = _IDENTIFIER_KEY.match(text)
    return (match[1], text[match.end() :]) if match else (None, text)


def content(item: str) -> str:
    """The text of a list item without its outermost marker, continuation lines moved left by as much."""
    lines = with_line_end(item, "\n").rstrip("\n").split("\n")
    match = _MARKER.match(lines[0])
    if not match:
        return "\n".join(lines)
    indent = match.end()
    rest = [line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines[1:]]
    return "\n".join([lines[0][indent:], *rest])


def _strip_tail(text: str) -> tuple[str, tuple[str, ...], date | None]:
    """Text, tags and `until` of an item's words; comments and block id are dropped."""
    text = _BLOCK_ID.sub("", text).rstrip()
    while (shorter := _COMMENT.sub("", text)) != text:
        text = shorter
    tags: list[str] = []
    while match := _TAG.search(text):
        tags.append(match[1])
        text = text[: match.start()].rstrip()
    until = None
    if match := _UNTIL.search(text):
        try:
            until = date.fromisoformat(match[1])
        except ValueError:
            until = None
    return text, tuple(reversed(tags)), until


def parse_item(item: str) -> Fact:
    """The fact that a list item states; `item` is its Markdown, marker included."""
    return parse_text(content(item))


def parse_text(words: str) -> Fact:
    """The fact that the words of a list item state. The `(until …)` stays in the text, but counts neither for key nor id."""
    kind = _KIND.match(words)
    text, tags, until = _strip_tail(words[kind.end() :] if kind else words)
    if not text.strip():
        text, tags, until = words, (), None
    key, _ = _split_key(text)
    said = _UNTIL.sub("", text) if until else text
    return Fact(fact_id(said), text.strip(), key, kind[1] if kind else None, tags, until)


def items(document: Document, start: int = 0, end: int | None = None) -> tuple[Item, ...]:
    """The facts of a document's lines: every list item at the top level of a section, in file order."""
    last = len(document.lines) if end is None else end
    return tuple(
        _item(document, block)
        for block in document.blocks_in(start, last)
        if block.kind is BlockKind.ITEM and _says_something(document, block)
    )


def _says_something(document: Document, block: Block) -> bool:
    return bool(content(document.slice(block.start, block.end)).strip())


def _item(document: Document, block: Block) -> Item:
    raw = document.slice(block.start, block.end)
    return Item(parse_item(raw), block.start, block.end, raw)


def in_section(document: Document, section: Section) -> tuple[Item, ...]:
    """The facts of a section's own text."""
    return items(document, section.body, section.end)


def split_key(text: str, key: str) -> tuple[str, str]:
    """A fact's text cut after `key: ` (NFC, case and white space folded, bold or not); the first part is empty where it has another key."""
    wanted = normal(key)
    match = _BOLD_KEY.match(text)
    if match and normal(_split_key(text)[0] or "") == wanted:
        return match[0], text[match.end() :]
    at = text.find(": ")
    while at >= 0:
        if normal(text[:at].replace("**", "").replace("__", "")) == wanted and text[at + 2 :].strip():
            return text[: at + 2], text[at + 2 :].lstrip()
        at = text.find(": ", at + 1)
    return "", text


def holds_key(fact: Fact, key: str) -> bool:
    """Whether a fact begins with `key: ` (NFC, case and white space folded, bold or not)."""
    return bool(split_key(fact.text, key)[0])


def pick(facts: Iterable[Item], name: str) -> tuple[Item, ...]:
    """The items that a name means: by exact text (normalised, with or without kind, tags and marker), else by id or a prefix of it.

    Raises:
        FactProblem: `fact-ambiguous` where a prefix fits several ids.
    """
    known = tuple(facts)
    wanted = {normal(name), normal(parse_text(name.strip()).text), normal(parse_item(name.strip()).text)}
    exact = tuple(item for item in known if normal(item.fact.text) in wanted or normal(content(item.raw)) in wanted)
    if exact:
        return exact
    prefix = name.strip().casefold()
    if not re.fullmatch(r"[0-9a-f]{6,8}", prefix):
        return ()
    found = tuple(item for item in known if item.fact.id.startswith(prefix))
    if len({item.fact.id for item in found}) > 1:
        ids = sorted({item.fact.id for item in found})
        raise FactProblem("fact-ambiguous", f"{prefix} fits several facts: {', '.join(ids)}", "Give more digits of the id.", facts=ids)
    return found


def write(text: str, key: str | None = None, kind: str | None = None, tags: Iterable[str] = (), until: date | None = None) -> str:
    """The list item that states a fact, with LF and without a last line end; `parse_item` reads it back.

    More lines are indented beneath the first. What would open a heading, a fence or a comment is escaped.

    Raises:
        TextProblem: `empty-text`, or `bad-text` for a kind, key or tag that is none.
    """
    lines = [line.rstrip() for line in with_line_end(clean_input(text), "\n").strip().split("\n")]
    if not any(lines):
        raise TextProblem("empty-text", "the text is empty")
    said = "\n".join([lines[0], *(f"  {line}" if line else "" for line in map(_tame, lines[1:]))])
    said = said.replace("<!--", "\\<!--")
    if key is not None:
        said = _with_key(said, key)
    said = _tame(said)
    if kind is not None:
        if not _KIND_NAME.match(kind):
            raise TextProblem("bad-text", f"{kind!r} is no kind: a word of two letters or more")
        said = f"[{kind}] {said}"
    marks = [f"(until {until.isoformat()})"] if until else []
    for tag in tags:
        name = tag.removeprefix("#")
        if not _TAG_NAME.match(name):
            raise TextProblem("bad-text", f"{tag!r} is no tag: a letter first, then letters, digits, _, - or /")
        marks.append(f"#{name}")
    return "- " + " ".join([said, *marks])


def _with_key(said: str, key: str) -> str:
    name = fold(key)
    if not name or len(split_lines(key)) > 1:
        raise TextProblem("bad-text", f"{key!r} is no key: one line that is not empty")
    return said if holds_key(parse_text(said), name) else f"{name}: {said}"


def _tame(line: str) -> str:
    """A line whose first characters cannot open a heading, a fence or a rule."""
    return f"\\{line}" if _OPENER.match(line) else line


def is_item(line: str) -> bool:
    """Whether a line begins a list item."""
    return not is_blank(line) and _MARKER.match(line) is not None
