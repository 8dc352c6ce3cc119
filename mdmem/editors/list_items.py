"""List items in parts, which a successor inherits, and the values of a key in a section.

Which of these values a new one replaces depends on what each is founded on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date

from mdmem.model import Source
from mdmem.model.errors import FactProblem, field
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import split_lines
from mdmem.text.facts import (
    COMMENT_SPAN,
    KIND_LABEL,
    MARKER,
    Item,
    add_labels,
    before_marks,
    before_tags,
    item_text,
    paragraph_end,
    require_kind,
    split_until,
)

BLOCK_ID = late.pattern(r"\s*\^[A-Za-z0-9-]+\s*\Z")
_LIST = late.pattern(r"[ \t]+(?:[-+*]|\d{1,9}[.)])[ \t]+\S")
_FENCE = late.pattern(r"[ \t]*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text in parts: `words`, until and tags, then comments and block id (`marks`).

    Tags with nothing before them are words, and can have no tags behind them.
    """

    words: str
    until: date | None
    tags: tuple[str, ...]
    marks: str

    @classmethod
    def read(cls, text: str) -> LabelledText:
        marks = before_marks(text)
        end, tags = before_tags(text, marks)
        if not text[:end].strip():
            return cls(text[:marks], None, (), text[marks:])
        words, until = split_until(text[:end])
        return cls(words.rstrip() if until else words, until, tags, text[marks:])

    def __str__(self) -> str:
        holds_tags = self.until is not None or before_tags(self.words, len(self.words))[0] > 0
        return add_labels(self.words, self.until, self.tags if holds_tags else ()) + self.marks


@dataclass(frozen=True, slots=True)
class ItemParts:
    """A list item in parts: marker and kind (`start`), first paragraph (`head`), `beneath`."""

    start: str
    head: str
    beneath: str

    @classmethod
    def read(cls, item: str) -> ItemParts:
        """Take a list item apart; labels alone beneath it belong to the paragraph."""
        marker = MARKER.match(item)
        start = marker.end() if marker else 0
        label = KIND_LABEL.match(item[start:])
        marks = before_marks(item)
        text = item_text(item)
        if label and start + label.end() < marks:
            start += label.end()
            text = text[label.end() :]
        lines = split_lines(item)
        last = text.count("\n", 0, paragraph_end(text))
        end = len("".join(lines[:last])) + len(lines[last].rstrip("\r\n"))
        if before_tags(item, marks)[0] <= end:
            end = len(item)
        return cls(item[:start], item[start:end], item[end:])


def rewrite_item(item: str, kind: str | None, tags: Iterable[str], until: date | None) -> str:
    """A list item with other tags, `until` and, unless None, kind.

    The rest is kept, except white space before and between labels: it becomes one space. Tags are
    dropped where the item is nothing but tags.
    """
    parts = ItemParts.read(item)
    head, beneath = LabelledText.read(parts.head), LabelledText.read(parts.beneath)
    ends_beneath = beneath.until is not None
    head = replace(head, tags=tuple(tags), until=None if ends_beneath else until)
    beneath = replace(beneath, tags=(), until=until if ends_beneath else None)
    marker = MARKER.match(item)
    start = f"{marker[0] if marker else ''}[{require_kind(kind)}] " if kind else parts.start
    return f"{start}{head}{beneath}"


def inherit(item: str, successor: str) -> tuple[str, tuple[str, ...]]:
    """A new item with the old one's text after and beneath its words, and a list of that.

    Its own tags, comments and block id replace theirs; its own lines those beneath except lists,
    and its own list those too. `successor` has the same line ends and indentation, and no final
    line end.
    """
    old, new = ItemParts.read(item.rstrip()), ItemParts.read(successor)
    own = LabelledText.read(new.head)
    first_line = old.head[: _first_line_end(old.head)]
    behind = LabelledText.read(first_line)
    tags = () if own.tags else behind.tags
    marks = _other_marks(behind.marks, own.marks)
    more, beneath = old.head[len(first_line) :], old.beneath
    if len(split_lines(successor)) > 1:
        more, beneath = "", "" if _lists(new.head + new.beneath) else _lists(more + beneath)
    beneath = _for_successor(beneath, own.tags, None)
    if more:
        head = f"{LabelledText(own.words, None, tags, marks)}{_for_successor(more, own.tags, own)}"
    else:
        head = str(replace(own, tags=own.tags or tags, marks=_ordered_marks(marks, own.marks)))
    lines = [line.strip() for line in split_lines(more + beneath)]
    kept = [
        *(f"#{tag}" for tag in tags),
        *filter(None, map(str.strip, _split_marks(marks))),
        *filter(None, lines),
    ]
    return f"{new.start}{head}{new.beneath}{beneath}", tuple(kept)


def inherit_labels(
    item: str, successor: str, without: Collection[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """A new item with the superseded one's tags, comments and block id, and a list of these.

    Its own replace those of the same sort. `without` are block ids that others have.
    """
    head, new = ItemParts.read(item.rstrip()).head, ItemParts.read(successor)
    own = LabelledText.read(new.head)
    texts = [LabelledText.read(text) for text in (head, head[: _first_line_end(head)])]
    tags = () if own.tags else next(filter(None, (text.tags for text in texts)), ())
    comments, block_id = (
        next(filter(None, marks), "")
        for marks in zip(*(_split_marks(text.marks) for text in texts), strict=True)
    )
    if block_id.strip() in without:
        block_id = ""
    marks = _other_marks(comments + block_id, own.marks)
    kept = (*(f"#{tag}" for tag in tags), *filter(None, map(str.strip, _split_marks(marks))))
    if not kept:
        return successor, ()
    labelled = replace(own, tags=own.tags or tags, marks=_ordered_marks(marks, own.marks))
    return f"{new.start}{labelled}{new.beneath}", kept


def block_id_of(item: str) -> str:
    """The block id of a list item, with its caret; empty if it has none."""
    return _split_marks(LabelledText.read(ItemParts.read(item.rstrip()).head).marks)[1].strip()


def _first_line_end(head: str) -> int:
    end = len(split_lines(head)[0].rstrip("\r\n"))
    for comment in COMMENT_SPAN.finditer(head):
        if comment.start() < end < comment.end():
            end = comment.end() + len(split_lines(head[comment.end() :] + "\n")[0].rstrip("\r\n"))
    return end


def _for_successor(lines: str, own_tags: tuple[str, ...], own: LabelledText | None) -> str:
    text = LabelledText.read(lines)
    tags = () if own_tags else text.tags
    if own is None:
        return str(replace(text, tags=tags, until=None))
    marks = _ordered_marks(_other_marks(text.marks, own.marks), own.marks)
    return str(replace(text, tags=own.tags or tags, until=own.until, marks=marks))


def _split_marks(marks: str) -> tuple[str, str]:
    match = BLOCK_ID.search(marks)
    return (marks[: match.start()], match[0].rstrip()) if match else (marks.rstrip(), "")


def _other_marks(marks: str, own: str) -> str:
    return "".join(
        "" if theirs else mark
        for mark, theirs in zip(_split_marks(marks), _split_marks(own), strict=True)
    )


def _ordered_marks(marks: str, own: str) -> str:
    return "".join(
        mark + theirs for mark, theirs in zip(_split_marks(marks), _split_marks(own), strict=True)
    )


def _lists(lines: str) -> str:
    in_fence, offset, previous = False, 0, ""
    for line in split_lines(lines):
        in_fence ^= bool(_FENCE.match(line))
        if offset and not in_fence and _LIST.match(line):
            return lines[offset - len(previous) + len(previous.rstrip("\r\n")) :]
        offset, previous = offset + len(line), line
    return ""


_QUOTED = 60


@dataclass(frozen=True, slots=True)
class Foundation:
    """The source of a statement, and whether an agent only claims that the user is the source.

    `also`: it says that its key has several values.
    """

    source: Source
    claimed: bool = False
    also: bool = False

    @property
    def strength(self) -> int:
        """Greater for a better founded statement; claimed counts as inferred."""
        return (
            min(self.source.strength, Source.INFERRED.strength)
            if self.claimed
            else self.source.strength
        )

    @property
    def may_be_weaker(self) -> bool:
        """True unless it is the user's own word."""
        return self.strength < Source.USER_STATED.strength

    def is_guarded_against(self, other: Foundation) -> bool:
        """True if better founded than one that removes it; a claim may be the user's own."""
        return (
            Source.USER_STATED.strength if self.claimed else self.source.strength
        ) > other.strength

    def is_confirmed_by(self, other: Foundation) -> bool:
        is_own_word = self.claimed and other.source is Source.USER_STATED and not other.claimed
        return other.source.strength > self.source.strength or is_own_word


@dataclass(frozen=True, slots=True)
class Choice:
    """The fate of existing values: `replaced` loses its line, weaker ones are `taken_out`."""

    replaced: Item | None
    taken_out: tuple[Item, ...] = ()
    contradicted: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Foundations:
    """`by_line`: by an item's first line; one that is missing is founded like the new statement.

    `note`: history could not be read.
    """

    by_line: Mapping[int, Foundation]
    own: Foundation
    note: str | None = None

    def of(self, item: Item) -> Foundation:
        return self.by_line.get(item.start, self.own)

    def is_weaker(self, item: Item) -> bool:
        return self.of(item).strength < self.own.strength

    def is_better(self, item: Item) -> bool:
        return self.of(item).is_guarded_against(self.own)

    def is_confirmed(self, item: Item) -> bool:
        return self.of(item).is_confirmed_by(self.own)

    def choose(self, key: str, values: Sequence[Item]) -> Choice:
        """Choose what a new value of a key does to those in a section.

        An `auto` value replaces only such values. Any other replaces the one founded as well, else
        the best founded one, and every weaker one is removed.

        Raises FactProblem: `key-ambiguous`: several, founded equally well, could be meant.
        """
        strengths = {item.start: self.of(item).strength for item in values}
        weaker = [item for item in values if self.is_weaker(item)]
        meant = [item for item in values if strengths[item.start] == self.own.strength]
        if not meant and self.own.source is not Source.AUTO:
            best = max(strengths.values())
            meant = (
                weaker[:1]
                if best == Source.AUTO.strength
                else [item for item in values if strengths[item.start] == best]
            )
        if len(meant) > 1:
            raise _ambiguous(key, values)
        others = tuple(item for item in values if item not in meant and item not in weaker)
        return Choice(
            replaced=meant[0] if meant else None,
            taken_out=tuple(item for item in weaker if item not in meant),
            contradicted=() if any(self.of(item).also for item in others) else others,
        )


def _ambiguous(key: str, values: Sequence[Item]) -> FactProblem:
    listed = [{"id": item.fact.id, "text": item.fact.text} for item in values]
    named = "; ".join(f"{item.fact.id} {item.fact.text[:_QUOTED]}" for item in values)
    hint = (
        f"They are: {named}. Replace one with {field('supersedes')} ID, or add with"
        f" {field('also')}."
    )
    return FactProblem(
        "key-ambiguous", f"{key!r} has {len(values)} current values", hint, facts=listed
    )
