"""The three-way merge of a list item, part by part. Symmetric in the two sides."""

from __future__ import annotations

from mdmem.document import BlockKind
from mdmem.editors.item_labels import ItemParts
from mdmem.editors.merge3.values import choices, merge_blocks, merge_lines, merge_sets
from mdmem.facts import MARKER, before_marks, before_tags, normalise, split_until
from mdmem.startup import late
from mdmem.startup.records import dataclass

_COMMENT = late.pattern(r"(?s)\s*<!--.*?-->")
_BLOCK_ID = late.pattern(r"\s*\^[A-Za-z0-9-]+\s*\Z")


@dataclass(frozen=True, slots=True)
class ItemText:
    """A list item as the pieces of its text: joined, with the tags between `until` and `comments`, they are the item."""

    marker: str
    kind: str
    words: str
    until: str
    tags: str
    comments: str
    block_id: str
    beneath: str

    @classmethod
    def read(cls, item: str) -> ItemText:
        """Take a list item apart."""
        parts = ItemParts.read(item)
        marker = MARKER.match(parts.start)
        start = marker.end() if marker else 0
        head = parts.head
        marks = before_marks(head)
        end, tags = before_tags(head, marks)
        if not tags or not head[:end].strip():
            end = marks
        words = len(split_until(head[:end])[0])
        block = _BLOCK_ID.search(head, marks)
        block_start = block.start() if block else len(head)
        return cls(
            marker=parts.start[:start],
            kind=parts.start[start:],
            words=head[:words],
            until=head[words:end],
            tags=head[end:marks],
            comments=head[marks:block_start],
            block_id=head[block_start:],
            beneath=parts.beneath,
        )

    def __str__(self) -> str:
        """The item."""
        return "".join((self.marker, self.kind, self.words, self.until, self.tags, self.comments, self.block_id, self.beneath))


def merge_items(base: str | None, ours: str, theirs: str, is_guess: bool = False) -> tuple[str, ...]:
    """The list item that holds what both sides made of it; both items, in the order of their bytes, where they disagree.

    Args:
        base: the item that both began with; None where both brought in the same words.
        ours: one side's item.
        theirs: the other side's.
        is_guess: they may be different items. Then the words of one take no part of the other.
    """
    if ours == theirs:
        return (ours,)
    if base is not None and len(sides := choices(base, ours, theirs)) == 1:
        return sides
    both = tuple(sorted((ours, theirs)))
    a, b = ItemText.read(ours), ItemText.read(theirs)
    if a.words != b.words and (is_guess or (base is None and normalise(a.words) != normalise(b.words))):
        return both
    o = ItemText.read(base) if base is not None else None
    marker = choices(o.marker if o else a.marker, a.marker, b.marker)
    single = [choices(x, y, z) for x, y, z in _plain_parts(o, a, b)]
    beneath = merge_lines(*((part.beneath if part else "").split("\n") for part in (o, a, b)))
    comments = _merge_comments(o.comments if o else "", a.comments, b.comments)
    if beneath is None or comments is None or any(len(part) > 1 for part in single):
        return both
    (words,), (kind,), (until,), (block_id,) = single
    tags = _merge_tags(o.tags if o else "", a.tags, b.tags)
    item = ItemText(
        marker=min(marker),
        kind=kind,
        words=words,
        until=until,
        tags=tags,
        comments=comments,
        block_id=block_id,
        beneath="\n".join(beneath),
    )
    return (str(item),)


def _plain_parts(o: ItemText | None, a: ItemText, b: ItemText) -> list[tuple[str, str, str]]:
    """Words, kind, until and block id of the three. Without a base, the words are the same but for their case and spaces."""
    words = (o.words, a.words, b.words) if o else (max(a.words, b.words), a.words, b.words)
    return [
        words,
        (o.kind if o else "", a.kind, b.kind),
        (o.until if o else "", a.until, b.until),
        (o.block_id if o else "", a.block_id, b.block_id),
    ]


def _merge_tags(base: str, ours: str, theirs: str) -> str:
    """Tags as they stand between words and comments: those of the base that no side took out, then the added ones."""
    sides = choices(base, ours, theirs)
    if len(sides) == 1:
        return sides[0]
    return "".join(f" {tag}" for tag in merge_sets(*(text.split() for text in (base, ours, theirs))))


def _merge_comments(base: str, ours: str, theirs: str) -> str | None:
    """Comments as they stand behind the tags; None where one side took out what the other changed."""
    sides = choices(base, ours, theirs)
    if len(sides) == 1:
        return sides[0]
    if not all(side.strip() for side in sides):
        return None
    return "".join(f" {comment}" for comment in merge_sets(*([c.strip() for c in _COMMENT.findall(text)] for text in (base, ours, theirs))))


def merge_unit(kind: BlockKind | None, base: str | None, ours: str, theirs: str, is_guess: bool) -> tuple[str, ...]:
    """The texts that stand of a unit that both sides have."""
    if kind is BlockKind.ITEM:
        return merge_items(base, ours, theirs, is_guess)
    return merge_blocks(base, ours, theirs)
