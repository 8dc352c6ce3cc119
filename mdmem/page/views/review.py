"""Contradictions, proposals and advice that wait for a decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from mdmem.model import CommitId, FactId, SectionPath
from mdmem.model.errors import PathProblem
from mdmem.model.history import FactHistory, ShowHistory
from mdmem.model.proposals import (
    AdviceKind,
    ListedPart,
    PartOp,
    PartState,
    PartView,
    ProposalList,
    ProposalView,
    ReviewResult,
)
from mdmem.model.searches import Hit
from mdmem.page.pages import Page, Piece, Query, Reader, difference, kept
from mdmem.past.differences import DiffKind
from mdmem.proposals.listings import digest
from mdmem.show.reviews import proposals_json
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import before_marks, key_and_value, split_kind

_MAX_ITEMS, _MAX_PAIRS, _MAX_ADVICE = 60, 20, 20
"""Maximum numbers on a page; others follow as these are decided."""
_MAX_LISTED = 200


def review(reader: Reader, query: Query) -> Page:
    memory = reader.memory
    conflicts, listed = kept(reader, memory.conflicts), kept(reader, memory.proposals.standing)
    # it compares all curated facts, which takes too long between one decision and the next
    advice = ReviewResult(()) if "done" in query else kept(reader, memory.review)
    shown, left = [], _MAX_ITEMS
    for card in cards(listed):
        if items := card.own[:left]:
            shown.append((card, items))
        left -= len(items)
    other = [each for each in advice.advice if each.kind is not AdviceKind.CONTRADICTION]
    pairs = conflicts.conflicts[:_MAX_PAIRS]
    return Page(
        template="review",
        title="Review",
        values={
            "pairs": pairs,
            "reasons": _reasons(
                reader, [each for pair in pairs for each in (pair.first, pair.second)]
            ),
            "pair_count": len(conflicts.conflicts),
            "cards": shown,
            "places": _places(reader, [item for _, items in shown for item in items]),
            "item_count": len(listed.numbered.items),
            "advice": other[:_MAX_ADVICE],
            "hidden_advice": len(other[_MAX_ADVICE:]),
            "after_form": "done" in query,
            "notes": conflicts.notes,
            "unreadable": listed.unreadable,
        },
        data={
            "conflicts": conflicts,
            "proposals": proposals_json(listed, reader.now()),
            "review": replace(advice, advice=advice.advice[:_MAX_LISTED]),
        },
        tab="review",
        back=reader.links.review(),
    )


def proposal(reader: Reader, query: Query) -> Page:
    """One proposal: its open items, and the decided ones. Raises ProposalProblem."""
    memory, named = reader.memory, query["proposal"]
    listed = kept(reader, memory.proposals.standing)
    view = next((view for view in listed.views if view.id == named), None)
    view = view or memory.proposals.show(named)
    card = next((card for card in cards(listed) if card.view.id == view.id), None)
    items = card.items[:_MAX_ITEMS] if card else ()
    return Page(
        template="proposal",
        title="Proposal",
        values={
            "view": view,
            "card": card,
            "items": items,
            "decided": [part_row(each) for each in view.parts if not each.state.waits][:_MAX_ITEMS],
            "places": _places(reader, items),
            "pair_count": len(kept(reader, memory.conflicts).conflicts),
            "item_count": len(listed.numbered.items),
        },
        data=view,
        tab="review",
        back=reader.links.review(view.id),
    )


def _reasons(reader: Reader, hits: Sequence[Hit]) -> Mapping[FactId, str]:
    """Why some facts were written, as far as somebody said it."""

    def reasons(facts: tuple[FactId, ...]) -> dict[FactId, str]:
        asked = (ShowHistory(target=fact, by_id=True, limit=1) for fact in facts)
        told = (each for each in map(reader.memory.history, asked) if isinstance(each, FactHistory))
        return {each.fact: each.chain[-1].made.reason or "" for each in told if each.chain}

    facts = dict.fromkeys(hit.fact for hit in hits if hit.fact and not hit.uncommitted)
    return defaultdict(str, kept(reader, reasons, tuple(facts)))


def _places(reader: Reader, items: Sequence[ReviewItem]) -> set[tuple[str, SectionPath]]:
    """The existing sections of the items' files; a proposal may create its file or section."""
    places: set[tuple[str, SectionPath]] = set()
    for path in {item.values[0].row.part.path for item in items}:
        try:
            sections = reader.memory.outline(path).sections
        except PathProblem:
            continue
        places.update((path, each.section) for each in sections)
    return places


# Cards, items and rows of proposals.


_KINDS = {
    PartOp.ADD: "new",
    PartOp.UPDATE: "changed",
    PartOp.DELETE: "removed",
    PartOp.RETRACT: "no longer current",
    PartOp.CONFIRM: "said again",
    PartOp.SECTION: "text",
}


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part for reading. `label` is its text; `now` is the text now in its place."""

    part: PartView
    kind: str
    label: str
    key: str | None
    pieces: tuple[Piece, ...]
    now: str | None

    @property
    def is_fresh(self) -> bool:
        return self.part.state is PartState.OPEN


@dataclass(frozen=True, slots=True)
class ReviewValue:
    """One value of an item, with the part to accept and the tip of its proposal.

    `voices`: other actors who propose it.
    """

    row: PartRow
    listed: ListedPart
    tip: CommitId
    voices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """An item of the numbered list; `shown` is a digest of all that a decision depends on."""

    number: int
    values: tuple[ReviewValue, ...]
    proposals: frozenset[str]
    shown: str

    @property
    def is_rival(self) -> bool:
        return len(self.values) > 1

    @property
    def is_plain(self) -> bool:
        """True if *Accept all* of its proposal accepts it."""
        return not self.is_rival and self.values[0].row.is_fresh


@dataclass(frozen=True, slots=True)
class Card:
    """An open proposal with the items that have a part of it."""

    view: ProposalView
    items: tuple[ReviewItem, ...]

    @property
    def shown(self) -> str:
        return digest(*(item.shown for item in self.items))

    @property
    def plain(self) -> tuple[ReviewItem, ...]:
        return tuple(item for item in self.items if item.is_plain)

    @property
    def own(self) -> tuple[ReviewItem, ...]:
        """The items whose newest value is its own, so that a page of all cards has each once."""
        return tuple(item for item in self.items if item.values[0].listed.proposal == self.view.id)


def cards(listed: ProposalList) -> tuple[Card, ...]:
    """The open proposals, oldest first."""
    tips = {view.id: view.tip for view in listed.views}
    items = [
        ReviewItem(
            number=item.number,
            values=tuple(_review_value(value, tips) for value in item.values),
            proposals=frozenset(part.proposal for value in item.values for part in value),
            shown=item.shown,
        )
        for item in listed.numbered.items
    ]
    return tuple(
        Card(view, tuple(item for item in items if view.id in item.proposals))
        for view in listed.views
    )


def part_row(view: PartView) -> PartRow:
    """A part for reading, without list marks, kinds and comments; the key is separate."""
    old, new = (None if text is None else _words(text) for text in (view.old, view.new))
    shown = new if new is not None else old or ""
    key, value = key_and_value(shown)
    if new is None:
        pieces: tuple[Piece, ...] = ((DiffKind.OUT, value),)
    elif old is None:
        pieces = ((DiffKind.IN, value),)
    else:
        old_key, old_value = key_and_value(old)
        pieces = difference(old_value, value) if old_key == key else difference(old, shown)
        key = key if old_key == key else None
    return PartRow(
        part=view,
        kind="another value" if view.op is PartOp.UPDATE and key else _KINDS[view.op],
        label=" ".join(shown.split()),
        key=key,
        pieces=pieces,
        now=_words(view.standing or "nothing") if view.state is PartState.OVERTAKEN else None,
    )


def _words(text: str) -> str:
    words = split_kind(text.strip())[1]
    return words[: before_marks(words)].rstrip() or words


def _review_value(value: tuple[ListedPart, ...], tips: Mapping[str, CommitId]) -> ReviewValue:
    part = next((each for each in value if each.view.state is PartState.OPEN), value[0])
    return ReviewValue(
        row=part_row(part.view),
        listed=part,
        tip=tips[part.proposal],
        voices=tuple(dict.fromkeys(each.actor for each in value if each is not part)),
    )
