"""Proposals for review: a card for each, and a row for each of its items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256

from mdmem.history.differences import DiffKind
from mdmem.model import CommitId, FilePath, SectionPath
from mdmem.model.proposals import (
    ListedItem,
    ListedPart,
    PartOp,
    PartState,
    PartView,
    PlaceChange,
    ProposalList,
    ProposalView,
)
from mdmem.page.pages import Piece, SourceMark, difference, source_mark
from mdmem.startup.records import dataclass
from mdmem.text.facts import before_marks, key_and_value, split_kind

_DIGITS = 16
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

    kind: str
    label: str
    key: str | None
    pieces: tuple[Piece, ...]
    state: PartState
    now: str | None
    changed: PlaceChange | None
    source: SourceMark
    reason: str | None
    cites: tuple[str, ...]
    duplicate_of: str | None
    contradicts: str | None
    path: FilePath
    section: SectionPath

    @property
    def is_fresh(self) -> bool:
        """True if nothing has changed in its place."""
        return self.state is PartState.OPEN


@dataclass(frozen=True, slots=True)
class ReviewValue:
    """One value of an item, with the part to accept. `voices`: other actors who propose it."""

    row: PartRow
    proposal: str
    tip: CommitId
    part: str
    actor: str
    since: datetime
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
        """True if one of several values is to be chosen."""
        return len(self.values) > 1

    @property
    def is_plain(self) -> bool:
        """True if *Accept all* of its proposal accepts it."""
        return not self.is_rival and self.values[0].row.is_fresh


@dataclass(frozen=True, slots=True)
class Card:
    """An open proposal with the items that have a part of it."""

    proposal: str
    actor: str
    tip: CommitId
    since: datetime
    reason: str | None
    total: int
    items: tuple[ReviewItem, ...]
    shown: str

    @property
    def plain(self) -> tuple[ReviewItem, ...]:
        """The items that *Accept all* accepts."""
        return tuple(item for item in self.items if item.is_plain)

    @property
    def own(self) -> tuple[ReviewItem, ...]:
        """The items whose newest value is its own, so that a page of all cards has each once."""
        return tuple(item for item in self.items if item.values[0].proposal == self.proposal)


def cards(listed: ProposalList) -> tuple[Card, ...]:
    """The open proposals, oldest first."""
    tips = {view.id: view.tip for view in listed.views}
    items = [_item(item, tips) for item in listed.numbered.items]
    return tuple(
        _card(view, tuple(item for item in items if view.id in item.proposals))
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
    is_overtaken = view.state is PartState.OVERTAKEN
    return PartRow(
        kind="another value" if view.op is PartOp.UPDATE and key else _KINDS[view.op],
        label=" ".join(shown.split()),
        key=key,
        pieces=pieces,
        state=view.state,
        now=_words(view.standing or "nothing") if is_overtaken else None,
        changed=view.changed if is_overtaken else None,
        source=source_mark(view.origin.source),
        reason=view.origin.reason,
        cites=view.origin.cites,
        duplicate_of=view.duplicate_of,
        contradicts=view.contradicts,
        path=view.path,
        section=view.section,
    )


def _words(text: str) -> str:
    words = split_kind(text.strip())[1]
    return words[: before_marks(words)].rstrip() or words


def _item(item: ListedItem, tips: Mapping[str, CommitId]) -> ReviewItem:
    parts = [part for value in item.values for part in value]
    return ReviewItem(
        number=item.number,
        values=tuple(_value(value, tips) for value in item.values),
        proposals=frozenset(part.proposal for part in parts),
        shown=_digest(
            (part.proposal, part.view.name, part.view.new, part.view.state, _standing(part.view))
            for part in parts
        ),
    )


def _standing(view: PartView) -> str | None:
    return view.standing if view.state is PartState.OVERTAKEN else None


def _value(value: tuple[ListedPart, ...], tips: Mapping[str, CommitId]) -> ReviewValue:
    part = next((each for each in value if each.view.state is PartState.OPEN), value[0])
    return ReviewValue(
        row=part_row(part.view),
        proposal=part.proposal,
        tip=tips[part.proposal],
        part=part.view.name,
        actor=part.actor,
        since=part.since,
        voices=tuple(dict.fromkeys(each.actor for each in value if each is not part)),
    )


def _card(view: ProposalView, items: tuple[ReviewItem, ...]) -> Card:
    return Card(
        proposal=view.id,
        actor=view.actor,
        tip=view.tip,
        since=view.since,
        reason=view.reason,
        total=len(view.parts),
        items=items,
        shown=_digest((item.shown,) for item in items),
    )


def _digest(rows: Iterable[tuple[str | None, ...]]) -> str:
    text = json.dumps(list(rows))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
