"""Symmetric three-way merges: of single values, sets, lines, list items, front matter by key, and
of atoms (rows of a table, sentences, items of a list).

An atom that both sides changed differently remains twice, side by side. Symmetric in the sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from mdmem.editors.list_items import BLOCK_ID, ItemParts
from mdmem.editors.merge3.sequences import (
    matching_items,
    merge_order,
    slid_down,
)
from mdmem.editors.pairs import one_to_one, unmatched_between
from mdmem.model.errors import TextProblem
from mdmem.startup import late
from mdmem.startup.records import dataclass, field, replace
from mdmem.text.document import split_lines
from mdmem.text.facts import MARKER, TASK_BOX, before_marks, before_tags, normalise, split_until

Atom: TypeAlias = Any
"""One value for each sequence: a row, a text."""
Ranked: TypeAlias = tuple[float, int, int]


@dataclass(frozen=True, slots=True)
class AtomKind:
    """A kind of atom, as it is matched and merged.

    Args:
        names: of an atom (None: nameless), the certain ones first. The first is its identity; the
            others count where each version has them once.
        combine: the base's atom (None: new on both sides) and both sides', to one atom, or to two.
        likely: pairs of atoms that a side lacks and new ones that may be the same, the best first,
            each behind its rank.
        is_changed: tells if a side changed an atom that the other removed (None: by identity).
        by_place: different atoms between the same neighbours are the same.
        may_move: equal atoms are the same in any order.
    """

    names: Sequence[Callable[[Atom], Any]]
    combine: Callable[[Atom | None, Atom, Atom], tuple[Atom, ...]]
    likely: Callable[[Sequence[Atom], Sequence[Atom]], Iterable[Ranked]] | None = None
    is_changed: Callable[[Atom, Atom], bool] | None = None
    by_place: bool = True
    may_move: bool = True


@dataclass(slots=True, eq=False)
class AtomTriple:
    """An atom by number, in each version. `is_kept`: one side removed it, the other changed it."""

    base: int | None = None
    sides: list[int | None] = field(default_factory=lambda: [None, None])
    atoms: tuple[Atom, ...] = ()
    is_kept: bool = False

    @property
    def members(self) -> tuple[int | None, int | None, int | None]:
        return self.base, self.sides[0], self.sides[1]


class MergedText(NamedTuple):
    """`pairs`: atoms side by side, each of one side; `kept`: one side removed, one changed them."""

    texts: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    kept: tuple[str, ...] = ()


def merge_atoms(
    versions: tuple[Sequence[Atom], Sequence[Atom], Sequence[Atom]], kind: AtomKind
) -> list[AtomTriple]:
    """The atoms of a base and two sides that remain, in order."""
    base, ours, theirs = versions
    matcher = _AtomMatcher(base, (ours, theirs), kind)
    matcher.match()
    identity = kind.names[0]
    for triple in matcher.triples():
        old = None if triple.base is None else base[triple.base]
        match triple.sides:
            case [int(a), int(b)]:
                atoms = kind.combine(old, ours[a], theirs[b])
                triple.atoms = tuple(sorted(atoms, key=identity))
            case [int(a), None]:
                _keep(triple, old, ours[a], kind)
            case [None, int(b)]:
                _keep(triple, old, theirs[b], kind)
    of_base, of_sides = matcher.of_base, matcher.of_sides

    def key(triple: AtomTriple) -> Any:
        names = [identity(atom) for atom in triple.atoms]
        return names, -1 if triple.base is None else triple.base

    order = merge_order(
        [triple for triple in of_base if triple.atoms],
        (
            [triple for triple in of_sides[0] if triple.atoms],
            [triple for triple in of_sides[1] if triple.atoms],
        ),
        key,
    )
    names = [identity(atom) for triple in order for atom in triple.atoms]
    if len(set(names)) == len(names):
        return order
    counts = [Counter(map(identity, atoms)) for atoms in versions]
    most = counts[1] + counts[2]
    most.subtract(counts[0])
    return list(_without_repeats(order, identity, most | counts[1] | counts[2]))


def _without_repeats(
    triples: Iterable[AtomTriple], identity: Callable[[Atom], Any], most: Counter[Any]
) -> Iterator[AtomTriple]:
    """Remove atoms that are there more often than the sides put them: two triples became one."""
    counts: Counter[Any] = Counter()
    for triple in triples:
        counts.update(map(identity, triple.atoms))
        if any(counts[identity(atom)] > max(1, most[identity(atom)]) for atom in triple.atoms):
            triple.atoms = tuple(
                atom
                for atom in triple.atoms
                if counts[identity(atom)] <= max(1, most[identity(atom)])
            )
            if not triple.atoms:
                continue
        yield triple


def _keep(triple: AtomTriple, old: Atom | None, atom: Atom, kind: AtomKind) -> None:
    identity = kind.names[0]
    is_changed = kind.is_changed or (lambda old, atom: identity(old) != identity(atom))
    if old is None or is_changed(old, atom):
        triple.atoms, triple.is_kept = (atom,), old is not None


def versions_of_sides(
    triples: Iterable[AtomTriple], ours: Sequence[Atom], theirs: Sequence[Atom]
) -> tuple[list[Atom], list[Atom]]:
    """The result twice: where two atoms are side by side, each side's."""
    versions: tuple[list[Atom], list[Atom]] = ([], [])
    for triple in triples:
        for side, atoms in enumerate((ours, theirs)):
            number = triple.sides[side] if len(triple.atoms) == 2 else None
            versions[side].extend(triple.atoms if number is None else (atoms[number],))
    return versions


class _AtomMatcher:
    def __init__(
        self,
        base: Sequence[Atom],
        sides: tuple[Sequence[Atom], Sequence[Atom]],
        kind: AtomKind,
    ) -> None:
        self._base, self._sides, self._kind = base, sides, kind
        self.of_base = [AtomTriple(base=number) for number in range(len(base))]
        self.of_sides = (
            [AtomTriple(sides=[number, None]) for number in range(len(sides[0]))],
            [AtomTriple(sides=[None, number]) for number in range(len(sides[1]))],
        )

    def triples(self) -> Iterable[AtomTriple]:
        return dict.fromkeys((*self.of_base, *self.of_sides[0], *self.of_sides[1]))

    def match(self) -> None:
        """Match equal atoms, then those new on both sides, then each side's."""
        identity = self._kind.names[0]
        names = [identity(atom) for atom in self._base]
        for side in (0, 1):
            for old, new in self._equal(names, [identity(atom) for atom in self._sides[side]]):
                self._link(self.of_base[old], self.of_sides[side][new])
        for a, b in self._new_on_both():
            self._link(self.of_sides[0][a], self.of_sides[1][b])
        for rule in self._rules():
            self._match_both(rule)
            for side in (0, 1):
                self._link_pairs(side, self._pairs(rule, side, is_in_both=False))

    def _new_on_both(self) -> list[tuple[int, int]]:
        """Equal atoms that both sides added; unless they may move, at places that may be one."""
        identity, may_move = self._kind.names[0], self._kind.may_move
        numbers = [
            [
                n
                for n, triple in enumerate(of_side)
                if triple.base is None or not self._kind.may_move
            ]
            for of_side in self.of_sides
        ]
        ours, theirs = (
            [identity(atoms[n]) for n in places]
            for atoms, places in zip(self._sides, numbers, strict=True)
        )
        if ours <= theirs:  # whichever is ours
            equal = list(self._equal(ours, theirs))
        else:
            equal = [(a, b) for b, a in self._equal(theirs, ours)]
        pairs = [(numbers[0][a], numbers[1][b]) for a, b in equal]
        if may_move:
            return pairs
        gaps = [
            {n: gap for gap, run in self._new_runs(side).items() for n in run} for side in (0, 1)
        ]
        return [
            (a, b)
            for a, b in pairs
            if a in gaps[0] and b in gaps[1] and _may_be_one(gaps[0][a], gaps[1][b])
        ]

    def _new_runs(self, side: int) -> dict[tuple[int, int], list[int]]:
        bases = {n: triple.base for n, triple in enumerate(self.of_sides[side])}
        known = {n: base for n, base in bases.items() if base is not None}
        return unmatched_between(range(len(bases)), known)

    def _match_both(self, rule: _Rule) -> None:
        identity = self._kind.names[0]
        found = [(side, self._pairs(rule, side, is_in_both=True)) for side in (0, 1)]

        def key(pairs: tuple[int, list[tuple[int, int]]]) -> Any:
            side, numbers = pairs
            return sorted((old, identity(self._sides[side][n])) for old, n in numbers)

        self._link_pairs(*min(found, key=key))

    def _pairs(self, rule: _Rule, side: int, is_in_both: bool) -> list[tuple[int, int]]:
        gone = [
            n
            for n, triple in enumerate(self.of_base)
            if triple.sides[side] is None
            and not (is_in_both and triple.sides[1 - side] is not None)
        ]
        new = [
            n
            for n, triple in enumerate(self.of_sides[side])
            if triple.base is None and (triple.sides[1 - side] is not None) == is_in_both
        ]
        return list(rule(self, side, gone, new)) if gone and new else []

    def _link_pairs(self, side: int, pairs: Iterable[tuple[int, int]]) -> None:
        for old, number in pairs:
            self._link(self.of_base[old], self.of_sides[side][number])

    def _link(self, into: AtomTriple, other: AtomTriple) -> None:
        for side, number in enumerate(other.sides):
            if number is not None:
                into.sides[side] = number
                self.of_sides[side][number] = into

    def _equal(self, olds: Sequence[Any], news: Sequence[Any]) -> Iterator[tuple[int, int]]:
        pairs = matching_items(olds, news)
        if not self._kind.may_move:
            pairs = slid_down(pairs, olds, news)
        yield from pairs
        if not self._kind.may_move or len(pairs) == min(len(olds), len(news)):
            return
        matched_old, matched_new = {a for a, _ in pairs}, {b for _, b in pairs}
        waiting: dict[Any, list[int]] = {}
        for number in reversed(range(len(news))):
            if number not in matched_new:
                waiting.setdefault(news[number], []).append(number)
        for number, name in enumerate(olds):
            if number not in matched_old and waiting.get(name):
                yield number, waiting[name].pop()

    def _rules(self) -> Iterator[_Rule]:
        for name in self._kind.names[1:]:
            yield lambda matcher, *at, name=name: matcher.by_name(name, *at)
        if self._kind.likely is not None:
            yield _AtomMatcher.by_likeness
        if self._kind.by_place:
            yield _AtomMatcher.by_place

    def by_name(
        self, name: Callable[[Atom], Hashable], side: int, gone: list[int], new: list[int]
    ) -> Iterator[tuple[int, int]]:
        counts = [Counter(map(name, atoms)) for atoms in (self._base, self._sides[side])]
        numbers = {name(self._sides[side][n]): n for n in new}
        for old in gone:
            named = name(self._base[old])
            if named is not None and all(count[named] == 1 for count in counts):
                number = numbers.get(named)
                if number is not None:
                    yield old, number

    def by_likeness(self, side: int, gone: list[int], new: list[int]) -> Iterator[tuple[int, int]]:
        assert self._kind.likely is not None
        atoms = [self._base[n] for n in gone], [self._sides[side][n] for n in new]
        for _, a, b in one_to_one(self._kind.likely(*atoms)):
            yield gone[a], new[b]

    def by_place(self, side: int, gone: list[int], new: list[int]) -> Iterator[tuple[int, int]]:
        old_runs = unmatched_between(
            range(len(self._base)),
            {n: n for n, triple in enumerate(self.of_base) if triple.sides[side] is not None},
        )
        new_runs = self._new_runs(side)
        wanted, free = set(gone), set(new)
        for neighbours, run in old_runs.items():
            others = [n for n in new_runs.get(neighbours, ()) if n in free]
            yield from zip([n for n in run if n in wanted], others, strict=False)


def _may_be_one(gap: tuple[int, int], other: tuple[int, int]) -> bool:
    return all(end < 0 or start < end for start, end in ((gap[0], other[1]), (other[0], gap[1])))


_Rule = Callable[[_AtomMatcher, int, list[int], list[int]], Iterable[tuple[int, int]]]


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
    for name in dict.fromkeys((*new[0], *new[1])):
        values = [side.get(name) for side in new]
        remaining = [value for value in choices(old.get(name), *values) if value is not None]
        if len(remaining) == 1:
            texts[name] = remaining[0]
        elif None not in values and (merged := _merge_lists(old.get(name), *remaining)):
            texts[name] = merged
        elif any(not _SCALAR.fullmatch(value.removeprefix(name[0])) for value in remaining):
            raise TextProblem("bad-text", f"both sides changed {name[0]!r} in the front matter")
        elif remaining:
            lesser, texts[name] = sorted(remaining, key=lambda value: _rank(name, value))
            comments[name] = "".join(f"{OTHER_SIDE}{line}" for line in split_lines(lesser))
    order = merge_order(
        [name for name in old if name in texts],
        (
            [name for name in new[0] if name in texts],
            [name for name in new[1] if name in texts],
        ),
        lambda name: (name, texts[name]),
    )
    lines, written = list[str](), {*ours, *theirs}
    for name in order:
        lines += split_lines(texts[name])
        lines += [line for line in split_lines(comments.get(name, "")) if line not in written]
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
