"""Choose what a block shows: parts with shares of a budget, and within each part the entries that fit. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from mdmem.model import FactId
from mdmem.model.contexts import ContextPart, Purpose, count_tokens
from mdmem.queries.context.text import FRAME_TOKENS, Paragraph, cited_line, heading_line
from mdmem.startup.records import dataclass, replace

SHARES: Mapping[Purpose, Mapping[ContextPart, float]] = {
    Purpose.SESSION: {
        ContextPart.PROFILE: 0.15,
        ContextPart.PINNED: 0.28,
        ContextPart.TASKS: 0.08,
        ContextPart.DAYS: 0.20,
        ContextPart.FOUND: 0.25,
        ContextPart.TAGS: 0.02,
        ContextPart.NOTES: 0.02,
    },
    Purpose.PROMPT: {ContextPart.FOUND: 1.0},
}
"""The share of the budget that each part may take. What it leaves goes to `found`, `days` and `pinned`, in this order."""

_YOU = "you"
"""The name of the user behind entries by other people."""
_HEIRS = (ContextPart.DAYS, ContextPart.PINNED)
COST_EXPONENT = 0.1
"""Entries are chosen by their worth over this power of their tokens: of those that match nearly alike the shorter one, so that more fit.
An answer is in a block of 500 tokens for 89.7 instead of 89.1 percent of questions, of 1,000 for 93.3 instead of 93.0, of 375 as often (LoCoMo,
public half; `benchmarks/blocks.py`). From 0.3 on the gain is gone."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that a part could show: `text` as it is printed, `heading` of its file, `id` of its content.

    `position` orders what is printed; `worth` says what is chosen first where the part goes by it.
    `author` is the person by whose commit it came, where that is not the user.
    """

    path: str
    heading: str
    line: int
    text: str
    id: FactId
    fact: FactId | None
    position: tuple[float, int]
    key: str | None = None
    worth: float = 0.0
    score: float | None = None
    cut: bool = False
    contradicts: tuple[FactId, ...] = ()
    author: str | None = None

    @property
    def tokens(self) -> int:
        """The tokens of its line, at most: names are printed where they change, or in the heading."""
        names = f"({_YOU}) ({self.author}) " if self.author else ""
        return count_tokens(cited_line(self.line, names + self.text)) + bool(names)


@dataclass(frozen=True, slots=True)
class Offer:
    """The entries that a part could show, best first. `by_worth`: they are chosen by worth and cost, else in this order.

    `rest`: the name that shows what is left out; None where the heading is not to say so. `beyond`: how many entries there are behind these,
    which no budget could hold.
    """

    candidates: tuple[Candidate, ...] = ()
    by_worth: bool = False
    rest: Callable[[Sequence[Candidate]], str] | None = None
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class Filling:
    """The entries that a part shows, in the order of print, their tokens with headings, and how many are left out."""

    part: ContextPart
    shown: tuple[Candidate, ...] = ()
    tokens: int = 0
    left_out: int = 0
    rest: str = ""

    def paragraphs(self) -> tuple[Paragraph, ...]:
        """The part as it is printed: one heading a file, the first of which says what is left out."""
        headings = dict.fromkeys(candidate.heading for candidate in self.shown)
        paragraphs = (_paragraph(heading, [each for each in self.shown if each.heading == heading]) for heading in headings)
        return tuple(
            replace(paragraph, heading=f"{paragraph.heading} {self.rest}") if self.rest and not number else paragraph
            for number, paragraph in enumerate(paragraphs)
        )


def _paragraph(heading: str, shown: Sequence[Candidate]) -> Paragraph:
    """Entries of one file below their heading.

    Entries by other people have their name where it changes; where most are theirs, the heading
    says so.
    """
    authors = [each.author for each in shown]
    if 2 * sum(author is not None for author in authors) > len(authors):
        people = set(authors)
        by = f"{len(people)} people" if len(people) > 1 else authors[0]
        return Paragraph(f"{heading}, by {by}", tuple(cited_line(each.line, each.text) for each in shown))
    lines = (
        cited_line(each.line, each.text if each.author == before else f"({each.author or _YOU}) {each.text}")
        for each, before in zip(shown, (None, *authors), strict=False)
    )
    return Paragraph(heading, tuple(lines))


Likeness = Callable[[Candidate, Candidate], bool]


def allot(offers: Mapping[ContextPart, Offer], purpose: Purpose, budget: int, alike: Likeness, kept: int = 0) -> tuple[list[Filling], int]:
    """Choose what the parts with entries show; and say how many tokens are left for those without.

    Args:
        offers: what each part could show.
        purpose: whose shares count.
        budget: the most tokens of the finished text.
        alike: True for two candidates of which `found` shows one.
        kept: tokens for the parts without entries.
    """
    shares = SHARES[purpose]
    room = budget - FRAME_TOKENS
    if offers.get(ContextPart.FOUND, Offer()).candidates and ContextPart.FOUND in shares:
        reserved = int(budget * shares[ContextPart.FOUND])
    else:
        reserved = 0
    fillings: dict[ContextPart, Filling] = {}
    shown: set[FactId] = set()
    promptless: list[ContextPart] = [part for part in offers if part is not ContextPart.FOUND and part in shares]
    for part in promptless:
        fillings[part] = fill(part, offers[part], min(room - kept - reserved, int(budget * shares[part])), shown)
        shown.update(candidate.id for candidate in fillings[part].shown)
        room -= fillings[part].tokens
    if ContextPart.FOUND in offers and ContextPart.FOUND in shares:
        others = [candidate for filling in fillings.values() for candidate in filling.shown]
        answer = fill(ContextPart.FOUND, offers[ContextPart.FOUND], room - kept, shown, alike, others)
        fillings[ContextPart.FOUND] = answer
        shown.update(candidate.id for candidate in answer.shown)
        room -= answer.tokens
    for part in _HEIRS:
        filling = fillings.get(part)
        if filling is not None and filling.left_out:
            elsewhere = shown.difference(candidate.id for candidate in filling.shown)
            fillings[part] = fill(part, offers[part], filling.tokens + room - kept, elsewhere)
            shown.update(candidate.id for candidate in fillings[part].shown)
            room += filling.tokens - fillings[part].tokens
    return [fillings[part] for part in ContextPart if part in fillings], room


def fill(
    part: ContextPart,
    offer: Offer,
    room: int,
    elsewhere: Iterable[FactId] = (),
    alike: Likeness | None = None,
    others: Sequence[Candidate] = (),
) -> Filling:
    """The entries of a part that fit into so many tokens; one that does not fit is skipped, and smaller ones behind it are tried.

    Args:
        part: whose entries they are.
        offer: what it could show.
        room: in tokens, headings included.
        elsewhere: ids of what other parts show.
        alike: True for two candidates of which one is enough.
        others: what other parts show, compared by `alike`.
    """
    candidates = _each_once(offer.candidates, elsewhere)
    choice = _choose(candidates, offer.by_worth, room, alike, others)
    total = len(candidates) + offer.beyond
    if offer.rest is not None and len(choice.chosen) + len(choice.alike) < total:
        most = len(f" ({_counted(total, total, _longest_rest(offer, candidates))})".encode())
        choice = _choose(candidates, offer.by_worth, room - -(-most // 4), alike, others)
    seen = {candidate.id for candidate in (*choice.chosen, *choice.alike)}
    left_out = [candidate for candidate in candidates if candidate.id not in seen]
    shown = tuple(sorted(choice.chosen, key=lambda candidate: candidate.position))
    filling = Filling(part=part, shown=shown, tokens=choice.tokens, left_out=len(left_out) + offer.beyond)
    if shown and filling.left_out and offer.rest is not None:
        filling = replace(filling, rest=f"({_counted(len(shown), total, offer.rest(left_out or candidates))})")
    elif all(each.author is None for each in shown):
        return filling
    return replace(filling, tokens=_tokens(filling.paragraphs()))


def _counted(shown: int, total: int, rest: str) -> str:
    return f"{shown} of {total}; the rest: {rest}"


def _longest_rest(offer: Offer, candidates: Sequence[Candidate]) -> str:
    """The longest name that the rest of a part could have, in bytes."""
    assert offer.rest is not None
    names = {offer.rest(candidates), *(offer.rest([candidate]) for candidate in candidates)}
    return max(names, key=lambda name: (len(name.encode()), name))


def _each_once(candidates: Iterable[Candidate], elsewhere: Iterable[FactId]) -> list[Candidate]:
    """The candidates that no other part shows, the first of each id."""
    hidden = set(elsewhere)
    first: dict[FactId, Candidate] = {}
    for candidate in candidates:
        if candidate.id not in hidden:
            first.setdefault(candidate.id, candidate)
    return list(first.values())


@dataclass(frozen=True, slots=True)
class _Choice:
    """The entries chosen, in the order in which they were; those that say the same as one of them; the tokens with headings."""

    chosen: list[Candidate]
    alike: list[Candidate]
    tokens: int


class _Purse:
    """The tokens of a part that are left, and the headings that are paid for."""

    def __init__(self, room: int, candidates: Iterable[Candidate]) -> None:
        self.room = room
        self.spent = 0
        self._headings = {candidate.heading: count_tokens(heading_line(candidate.heading)) for candidate in candidates}

    def cost(self, candidate: Candidate) -> int:
        """The tokens of an entry, with its heading if that is not there yet."""
        return candidate.tokens + self._headings[candidate.heading]

    def affords(self, candidate: Candidate) -> bool:
        """True if an entry still fits."""
        return self.spent + self.cost(candidate) <= self.room

    def pay(self, candidate: Candidate) -> None:
        """Take an entry."""
        self.spent += self.cost(candidate)
        self._headings[candidate.heading] = 0


def _choose(candidates: Sequence[Candidate], by_worth: bool, room: int, alike: Likeness | None, others: Sequence[Candidate]) -> _Choice:
    """Take entries as long as any fits."""
    purse = _Purse(room, candidates)
    choice = _Choice([], [], 0)
    waiting = list(candidates)
    while waiting:
        if by_worth:
            waiting = [candidate for candidate in waiting if purse.affords(candidate)]
            if not waiting:
                break
            waiting.sort(key=lambda candidate: candidate.worth / purse.cost(candidate) ** COST_EXPONENT)
        candidate = waiting.pop() if by_worth else waiting.pop(0)
        if not purse.affords(candidate):
            continue
        if alike is not None and any(alike(candidate, other) for other in (*others, *choice.chosen)):
            choice.alike.append(candidate)
            continue
        purse.pay(candidate)
        choice.chosen.append(candidate)
    return replace(choice, tokens=purse.spent)


def _tokens(paragraphs: Iterable[Paragraph]) -> int:
    return sum(count_tokens(line) for paragraph in paragraphs for line in (heading_line(paragraph.heading), *paragraph.lines))
