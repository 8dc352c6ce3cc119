"""Symmetric three-way merges of single values, sets, lines, list items; front matter by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from mdmem.editors.list_items import BLOCK_ID, ItemParts
from mdmem.editors.merge3.atoms import AtomKind, merge_atoms
from mdmem.editors.merge3.sequences import merge_order
from mdmem.model.errors import TextProblem
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.text.document import split_lines
from mdmem.text.facts import MARKER, TASK_BOX, before_marks, before_tags, normalise, split_until

Value = TypeVar("Value")


def choices(base: Value | None, ours: Value, theirs: Value) -> tuple[Value, ...]:
    """Merge a value (base None: a new one): the changed one, or both where the sides differ."""
    if ours == theirs or theirs == base:
        return (ours,)
    return (theirs,) if ours == base else (ours, theirs)


def merge_sets(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    in_both = {*ours} & {*theirs}
    added = ({*ours} | {*theirs}).difference(base)
    return list(dict.fromkeys((*(item for item in base if item in in_both), *sorted(added))))


class MergedLines(NamedTuple):
    """`pairs`: different lines in one place, each of one side; `kept`: as in `MergedText`."""

    lines: list[str]
    pairs: tuple[tuple[str, str], ...]
    kept: tuple[str, ...]


def merge_lines(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> MergedLines:
    """Lines with both sides' edits; insertions at one place are sorted."""
    merged = merge_atoms((base, ours, theirs), _LINE_KIND)
    atoms = [triple.atoms for triple in merged]
    return MergedLines(
        lines=[line for lines in atoms for line in lines],
        pairs=tuple((lines[0], lines[1]) for lines in atoms if len(lines) == 2),
        kept=tuple(triple.atoms[0] for triple in merged if triple.is_kept),
    )


_LINE_KIND = AtomKind(names=(lambda line: line,), combine=choices, may_move=False)


_COMMENT = late.pattern(r"(?s)\s*<!--.*?-->")


@dataclass(frozen=True, slots=True)
class ItemText:
    """The pieces of a list item; with tags before `comments`, joined, they are the item."""

    marker: str
    kind: str
    box: str
    words: str
    until: str
    tags: str
    comments: str
    block_id: str
    beneath: str

    @classmethod
    def read(cls, item: str) -> ItemText:
        parts = ItemParts.read(item)
        marker = MARKER.match(parts.start)
        start = marker.end() if marker else 0
        head = parts.head
        marks = before_marks(head)
        end, tags = before_tags(head, marks)
        if not tags or not head[:end].strip():
            end = marks
        words = len(split_until(head[:end])[0])
        box = TASK_BOX.match(head[:words])
        block = BLOCK_ID.search(head, marks)
        block_start = block.start() if block else len(head)
        return cls(
            marker=parts.start[:start],
            kind=parts.start[start:],
            box=box[0] if box else "",
            words=head[box.end() if box else 0 : words],
            until=head[words:end],
            tags=head[end:marks],
            comments=head[marks:block_start],
            block_id=head[block_start:],
            beneath=parts.beneath,
        )

    def __str__(self) -> str:
        return "".join(
            (
                self.marker,
                self.kind,
                self.box,
                self.words,
                self.until,
                self.tags,
                self.comments,
                self.block_id,
                self.beneath,
            )
        )


def merge_items(
    base: str | None, ours: str, theirs: str, is_guess: bool = False
) -> tuple[str, ...]:
    """The item with both sides' edits, or both items, sorted, where they disagree.

    Args:
        base: None where both added the same words.
        is_guess: they may be different items, so words are not combined.
    """
    if ours == theirs:
        return (ours,)
    if base is not None and len(sides := choices(base, ours, theirs)) == 1:
        return sides
    both = tuple(sorted((ours, theirs)))
    a, b = ItemText.read(ours), ItemText.read(theirs)
    o = ItemText.read(base) if base is not None else None
    if a.words != b.words and (
        not any(_is_ticked(o, side) for side in (a, b))
        if is_guess and o
        else is_guess or (base is None and normalise(a.words) != normalise(b.words))
    ):
        return both
    marker = choices(o.marker, a.marker, b.marker) if o else (a.marker, b.marker)
    box = choices(o.box, a.box, b.box) if o else (a.box, b.box)
    single = [choices(x, y, z) for x, y, z in _plain_parts(o, a, b)]
    beneath = merge_lines(*((part.beneath if part else "").split("\n") for part in (o, a, b)))
    comments = _merge_comments(o.comments if o else "", a.comments, b.comments)
    if beneath.pairs or comments is None or any(len(part) > 1 for part in single):
        return both
    (words,), (kind,), (until,), (block_id,) = single
    tags = _merge_tags(o.tags if o else "", a.tags, b.tags)
    item = ItemText(
        marker=min(marker),
        kind=kind,
        box=max(box),
        words=words,
        until=until,
        tags=tags,
        comments=comments,
        block_id=block_id,
        beneath="\n".join(beneath.lines),
    )
    return (str(item),)


def _is_ticked(old: ItemText, item: ItemText) -> bool:
    return replace(item, marker=old.marker, box=old.box) == old


def _plain_parts(o: ItemText | None, a: ItemText, b: ItemText) -> list[tuple[str, str, str]]:
    words = (o.words, a.words, b.words) if o else (max(a.words, b.words), a.words, b.words)
    return [
        words,
        (o.kind if o else "", a.kind, b.kind),
        (o.until if o else "", a.until, b.until),
        (o.block_id if o else "", a.block_id, b.block_id),
    ]


def _merge_tags(base: str, ours: str, theirs: str) -> str:
    sides = choices(base, ours, theirs)
    if len(sides) == 1:
        return sides[0]
    return "".join(
        f" {tag}" for tag in merge_sets(*(text.split() for text in (base, ours, theirs)))
    )


def _merge_comments(base: str, ours: str, theirs: str) -> str | None:
    sides = choices(base, ours, theirs)
    if len(sides) == 1:
        return sides[0]
    if not all(side.strip() for side in sides):
        return None
    return "".join(
        f" {comment}"
        for comment in merge_sets(
            *([c.strip() for c in _COMMENT.findall(text)] for text in (base, ours, theirs))
        )
    )


# Front matter, by key; lists of scalars by item.

OTHER_SIDE = "# other side: "
"""The comment before each line of a value that gave way to the other side's."""
_KEY = late.pattern(r"([^\s#:-][^:]*|\"[^\"]*\"|'[^']*'):(?=\s|$)")
_NUMBER = late.pattern(r"-?\d+(?:\.\d+)?")
_Field = tuple[str, int]
_Fields = dict[_Field, str]


def merge_front_matter(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]
) -> tuple[str, ...]:
    """The lines of the result's front matter, delimiters included.

    Of two new scalars the greater one is kept; the other becomes a comment. Raises TextProblem for
    two new values one of which is no scalar, unless both are lists of scalars.
    """
    sides = choices(tuple(base), tuple(ours), tuple(theirs))
    if len(sides) == 1:
        return sides[0]
    old, new = _fields(base), (_fields(ours), _fields(theirs))
    texts: _Fields = {}
    comments: dict[_Field, str] = {}
    for field in dict.fromkeys((*new[0], *new[1])):
        values = [side.get(field) for side in new]
        remaining = [value for value in choices(old.get(field), *values) if value is not None]
        if len(remaining) == 1:
            texts[field] = remaining[0]
        elif None not in values and (merged := _merge_lists(old.get(field), *remaining)):
            texts[field] = merged
        elif any(not _SCALAR.fullmatch(value.removeprefix(field[0])) for value in remaining):
            raise TextProblem("bad-text", f"both sides changed {field[0]!r} in the front matter")
        elif remaining:
            lesser, texts[field] = sorted(remaining, key=lambda value: _rank(field, value))
            comments[field] = "".join(f"{OTHER_SIDE}{line}" for line in split_lines(lesser))
    order = merge_order(
        [field for field in old if field in texts],
        (
            [field for field in new[0] if field in texts],
            [field for field in new[1] if field in texts],
        ),
        lambda field: (field, texts[field]),
    )
    lines, written = list[str](), {*ours, *theirs}
    for field in order:
        lines += split_lines(texts[field])
        lines += [line for line in split_lines(comments.get(field, "")) if line not in written]
    around = [(v[0], v[-1]) if v else ("", "") for v in (base, ours, theirs)]
    if not lines and not (ours and theirs):
        return ()
    first, last = (max(choices(*ends)) for ends in zip(*around, strict=True))
    return (first or "---\n", *lines, last or "---\n")


_PLAIN = r"[^\s\[\]{},#&*!|>%@`\"'?:-](?:[^\[\]{},#:\n]|(?<=\S)#|:(?=\S))*|-?\d[\d.:-]*"
_QUOTED = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\n]|'')*'"
_ITEM = rf"(?>{_QUOTED}|{_PLAIN})"
_FLOW = late.pattern(
    rf"[ \t]*\[[ \t]*(?:({_ITEM}[ \t]*(?:,[ \t]*{_ITEM}[ \t]*)*),?[ \t]*)?\][ \t]*\r?\n?"
)
_BLOCK = late.pattern(rf"[ \t]*\r?\n((?:[ \t]*-[ \t]+{_ITEM}[ \t]*\r?\n)*)")
_BLOCK_ITEM = late.pattern(rf"([ \t]*-[ \t]+)({_ITEM})[ \t]*")
_ITEMS = late.pattern(_ITEM)
_SCALAR = late.pattern(r"[: \t]*+(?![\[{&*!|>])[^\n]*\n?")


@dataclass(frozen=True, slots=True)
class _List:
    """A list of scalars: `key` with its colon; `marker` of a block's items, None in flow."""

    key: str
    marker: str | None
    items: tuple[str, ...]

    @classmethod
    def read(cls, field: str) -> _List | None:
        """A field's list, empty where it has no value; None for another value."""
        match = _KEY.match(field)
        if match is None:
            return None
        key, value = match[0], field[match.end() :]
        if flow := _FLOW.fullmatch(value):
            return cls(key, None, tuple(item.strip() for item in _ITEMS.findall(flow[1] or "")))
        if block := _BLOCK.fullmatch(value):
            items = _BLOCK_ITEM.findall(block[1])
            return cls(
                key, items[0][0] if items else "- ", tuple(item.strip() for _, item in items)
            )
        return None

    def text(self, line_end: str) -> str:
        if self.marker is None:
            return f"{self.key} [{', '.join(self.items)}]{line_end}"
        return line_end.join([self.key, *(f"{self.marker}{item}" for item in self.items), ""])


def _merge_lists(base: str | None, ours: str, theirs: str) -> str | None:
    """A list with both sides' edits, in the greater form; None unless all are lists of scalars."""
    lists = [_List.read(field) for field in (ours, theirs)]
    a, b = lists
    o = _List.read(base) if base is not None else _List("", "", ())
    if o is None or a is None or b is None:
        return None
    items = {
        _value(item): item
        for triple in merge_atoms((o.items, a.items, b.items), _ITEM_KIND)
        for item in triple.atoms
    }
    forms = [(side.key, side.marker or "") for side in (a, b)]
    key, marker = max(choices((o.key, o.marker or ""), *forms))
    return _List(key, marker or None, tuple(items.values())).text(
        "\r\n" if "\r\n" in ours else "\n"
    )


def _value(item: str) -> str:
    return item[1:-1] if item[0] in "\"'" else item


def _merge_item(base: str | None, ours: str, theirs: str) -> tuple[str, ...]:
    return (max((ours, theirs) if base is None else choices(base, ours, theirs)),)


_ITEM_KIND = AtomKind(names=(_value,), combine=_merge_item, by_place=False)


def _rank(field: _Field, value: str) -> tuple[float, str]:
    """Numbers by value, others by text; so the later of two dates is the greater."""
    text = value.removeprefix(field[0]).lstrip(": ").strip().strip("\"'")
    return (float(text) if _NUMBER.fullmatch(text) else 0.0, value)


def _fields(lines: Sequence[str]) -> _Fields:
    fields: _Fields = {}
    seen: dict[str, int] = {}
    for key, text in _runs(lines[1:-1]):
        seen[key] = seen.get(key, 0) + 1
        fields[key, seen[key]] = text
    return fields


def _runs(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    key, run = "", list[str]()
    for line in lines:
        match = _KEY.match(line)
        if match or line.startswith("#") or (key.startswith("#") and line.strip()):
            if run:
                yield key, "".join(run)
            key, run = (match[1] if match else line.rstrip("\r\n")), []
        run.append(line)
    if run:
        yield key, "".join(run)
