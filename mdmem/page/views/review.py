"""Contradictions, proposals and advice that wait for a decision."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime

from mdmem.errors import PathProblem
from mdmem.model import FactId, SectionPath
from mdmem.model.proposals import Advice, AdviceKind, ProposalView, ReviewResult
from mdmem.model.searches import ConflictView, Hit
from mdmem.page.items import Card, PartRow, ReviewItem, cards, part_row
from mdmem.page.pages import Page, Query, Reader, SourceMark, source_mark
from mdmem.show.hits import conflicts_json
from mdmem.show.maintenance import reviewed_json
from mdmem.show.proposals import proposal_json, proposals_json
from mdmem.startup.records import dataclass, replace
from mdmem.text.facts import key_and_value

_MAX_ITEMS, _MAX_PAIRS, _MAX_ADVICE = 60, 20, 20
"""Maximum numbers on a page; others follow as these are decided."""
_MAX_LISTED = 200


@dataclass(frozen=True, slots=True)
class Side:
    """One of two facts that contradict each other."""

    fact: FactId
    label: str
    key: str | None
    text: str
    path: str
    section: SectionPath
    source: SourceMark | None
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two facts that contradict each other; for parts of a block, the only choice is both."""

    sides: tuple[Side, Side]
    can_keep_one: bool


@dataclass(frozen=True, slots=True)
class AdviceRow:
    """Advice with the command that carries it out."""

    message: str
    path: str
    section: SectionPath
    command: str


@dataclass(frozen=True, slots=True)
class ShownCard:
    """A card with those of its items that are on the page."""

    card: Card
    items: tuple[ReviewItem, ...]


def review(reader: Reader, query: Query) -> Page:
    """Everything that is waiting for the reader."""
    memory = reader.memory
    conflicts, listed = memory.conflicts(), memory.proposals.standing()
    # it compares all curated facts, which takes too long between one decision and the next
    advice = ReviewResult(()) if "done" in query else memory.review()
    shown, left = [], _MAX_ITEMS
    for card in cards(listed):
        if items := card.own[:left]:
            shown.append(ShownCard(card, items))
        left -= len(items)
    other = [each for each in advice.advice if each.kind is not AdviceKind.CONTRADICTION]
    values = {
        "pairs": [_pair(each) for each in conflicts.conflicts[:_MAX_PAIRS]],
        "pair_count": len(conflicts.conflicts),
        "cards": shown,
        "places": _places(reader, shown),
        "item_count": len(listed.numbered.items),
        "advice": [_advice(each) for each in other[:_MAX_ADVICE]],
        "hidden_advice": len(other[_MAX_ADVICE:]),
        "after_form": "done" in query,
        "notes": conflicts.notes,
        "unreadable": listed.unreadable,
    }
    data = {
        "conflicts": conflicts_json(conflicts),
        "proposals": proposals_json(listed, reader.now()),
        "review": reviewed_json(replace(advice, advice=advice.advice[:_MAX_LISTED])),
    }
    return Page(
        template="review",
        title="Review",
        values=values,
        data=data,
        tab="review",
        back=reader.links.review(),
    )


def proposal(reader: Reader, query: Query) -> Page:
    """One proposal: its open items, and the decided ones.

    Raises: ProposalProblem (`proposal-not-found`, `ambiguous`).
    """
    memory, named = reader.memory, query["proposal"]
    listed = memory.proposals.standing()
    view = next((view for view in listed.views if view.id == named), None)
    view = view or memory.proposals.show(named)
    card = next((card for card in cards(listed) if card.proposal == view.id), None)
    shown = card and ShownCard(card, card.items[:_MAX_ITEMS])
    values = {
        "view": view,
        "card": shown,
        "decided": _decided(view),
        "places": _places(reader, [shown] if shown else []),
        "pair_count": len(memory.conflicts().conflicts),
        "item_count": len(listed.numbered.items),
    }
    return Page(
        template="proposal",
        title="Proposal",
        values=values,
        data=proposal_json(view),
        tab="review",
        back=reader.links.review(view.id),
    )


def _places(reader: Reader, shown: Sequence[ShownCard]) -> set[tuple[str, SectionPath]]:
    """The existing sections of the cards' files; a proposal may create its file or section."""
    places: set[tuple[str, SectionPath]] = set()
    for path in {item.values[0].row.path for card in shown for item in card.items}:
        try:
            sections = reader.memory.outline(path).sections
        except PathProblem:
            continue
        places.update((path, each.section) for each in sections)
    return places


def _decided(view: ProposalView) -> list[PartRow]:
    return [part_row(part) for part in view.parts if not part.state.waits][:_MAX_ITEMS]


def _pair(conflict: ConflictView) -> Pair:
    return Pair((_side(conflict.first), _side(conflict.second)), not conflict.is_of_parts)


def _side(hit: Hit) -> Side:
    key, text = key_and_value(hit.text)
    return Side(
        fact=hit.fact or FactId(""),
        label=" ".join(hit.text.split()),
        key=key,
        text=text,
        path=hit.path,
        section=hit.section,
        source=source_mark(hit.source, hit.author) if hit.source else None,
        since=hit.since,
    )


def _advice(advice: Advice) -> AdviceRow:
    return AdviceRow(
        message=advice.message,
        path=advice.path,
        section=advice.section,
        command=shlex.join(advice.command),
    )
