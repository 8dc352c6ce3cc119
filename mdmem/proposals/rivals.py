"""Group open parts into items: rivals for one place are one item, with all their values. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from mdmem.editors import sameness
from mdmem.model import Fact, FilePath, SectionPath
from mdmem.model.proposals import ListedItem, ListedPart, PartOp
from mdmem.proposals.parts import Part
from mdmem.proposals.pieces import FactPiece
from mdmem.proposals.reading import Proposal
from mdmem.startup.records import dataclass
from mdmem.text.facts import normalise

Token = tuple[str, str]
"""Something that rivals share: a key, or the id of the fact removed or added."""


@dataclass(frozen=True, slots=True)
class OpenPart:
    """An open part with its proposal."""

    proposal: Proposal
    part: Part

    @property
    def listed(self) -> ListedPart:
        """The part as a list shows it."""
        proposal, view = self.proposal.view, self.part.view
        return ListedPart(
            proposal=proposal.id,
            actor=view.origin.actor or proposal.actor,
            since=view.since or proposal.since,
            view=view,
        )

    @property
    def pair(self) -> tuple[str, str]:
        """The proposal and the part, as the trailers of a decision name them."""
        return self.proposal.ref.id, self.part.name


Values = tuple[tuple[OpenPart, ...], ...]


def open_items(proposals: Iterable[Proposal], curated: FilePath) -> list[Values]:
    """The open parts as items, by file (the curated one first) and section, oldest first."""
    candidates = [
        OpenPart(proposal, part)
        for proposal in proposals
        for part in proposal.parts
        if part.view.state.waits
    ]
    sections: dict[tuple[FilePath, SectionPath], list[OpenPart]] = {}
    for each in candidates:
        sections.setdefault((each.part.view.path, each.part.view.section), []).append(each)
    order = sorted(
        sections,
        key=lambda place: (
            place[0] != curated,
            place[0],
            min(map(_section_number, sections[place])),
        ),
    )
    return [values for place in order for values in sorted(_items(sections[place]), key=_oldest)]


def _oldest(values: Values) -> datetime:
    """The time of an item's oldest part: a new rival does not change the numbers."""
    return min(each.listed.since for each in places(values))


def _section_number(candidate: OpenPart) -> int:
    """The number of a part's section in its file; new sections come last."""
    part = candidate.part
    sections = part.source.base.sections if part.source else ()
    paths = [section.path for section in sections]
    return paths.index(part.view.section) if part.view.section in paths else len(paths)


def _items(candidates: Sequence[OpenPart]) -> list[Values]:
    """The items of one section: parts that share a token, directly or through others."""
    keys = Counter(
        (each.proposal.ref.id, key) for each in candidates if (key := _key(each)) is not None
    )
    groups: list[tuple[set[Token], list[OpenPart]]] = []
    for each in candidates:
        tokens, members = _tokens(each, keys), [each]
        for group in [group for group in groups if group[0] & tokens]:
            groups.remove(group)
            tokens, members = tokens | group[0], [*group[1], *members]
        groups.append((tokens, members))
    return [_values(members) for _, members in groups]


def _key(candidate: OpenPart) -> str | None:
    key = candidate.part.view.key
    return normalise(key) if key else None


def _tokens(candidate: OpenPart, keys: Counter[tuple[str, str]]) -> set[Token]:
    """Several values of a key in one proposal are for all of them, not rivals."""
    part, proposal = candidate.part, candidate.proposal.ref.id
    tokens: set[Token] = {("fact", part.name)}
    if isinstance(part.piece, FactPiece) and part.piece.old is not None:
        tokens.add(("fact", part.piece.old.item.fact.id))
    key = _key(candidate)
    if key is not None and keys[proposal, key] == 1:
        tokens.add(("key", key))
    return tokens


def _values(candidates: Iterable[OpenPart]) -> Values:
    """The values of an item, newest first: parts that make the same change are one."""
    newest = sorted(candidates, key=lambda each: each.listed.since, reverse=True)
    values: list[list[OpenPart]] = []
    for each in newest:
        same = next((value for value in values if _make_the_same(value[0], each)), None)
        if same is None:
            values.append([each])
        else:
            same.append(each)
    return tuple(map(tuple, values))


def _make_the_same(one: OpenPart, other: OpenPart) -> bool:
    """True for the same text, or for the same value of a key in other words."""
    if _change(one) == _change(other):
        return True
    a, b = _new_fact(one), _new_fact(other)
    return (
        a is not None
        and b is not None
        and _key(one) is not None
        and (_key(one), a.kind, a.tags, a.until) == (_key(other), b.kind, b.tags, b.until)
        and sameness.resemble(a.text, b.text)
    )


def _new_fact(candidate: OpenPart) -> Fact | None:
    piece = candidate.part.piece
    return piece.new.item.fact if isinstance(piece, FactPiece) and piece.new else None


def _change(candidate: OpenPart) -> tuple[object, ...]:
    view = candidate.part.view
    if view.op is PartOp.SECTION:
        return view.op, view.name, view.old, view.new
    return view.op is PartOp.CONFIRM, view.new


def listed_item(number: int, values: Values) -> ListedItem:
    """An item as a list shows it."""
    return ListedItem(number, tuple(tuple(each.listed for each in value) for value in values))


def places(values: Values) -> list[OpenPart]:
    """All parts of an item."""
    return [each for value in values for each in value]
