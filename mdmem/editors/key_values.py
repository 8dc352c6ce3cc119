"""The values of a key in a section: choose which of them a new one replaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mdmem.errors import FactProblem
from mdmem.facts import Item
from mdmem.model import Source
from mdmem.startup.records import dataclass
from mdmem.wording import field

_QUOTED = 60


@dataclass(frozen=True, slots=True)
class Foundation:
    """The source of a statement, and whether an agent only claims that the user is the source."""

    source: Source
    claimed: bool = False

    @property
    def strength(self) -> int:
        """A number that is greater for a better founded statement; what is claimed counts as inferred."""
        return min(self.source.strength, Source.INFERRED.strength) if self.claimed else self.source.strength

    @property
    def may_be_weaker(self) -> bool:
        """True unless it is the user's own word."""
        return self.strength < Source.USER_STATED.strength

    def is_guarded_against(self, other: Foundation) -> bool:
        """True if a statement is better founded than another one that takes it out; what is claimed may be the user's own."""
        return (Source.USER_STATED.strength if self.claimed else self.source.strength) > other.strength

    def is_confirmed_by(self, other: Foundation) -> bool:
        """True if the same words, said again from another source, are better founded."""
        is_own_word = self.claimed and other.source is Source.USER_STATED and not other.claimed
        return other.source.strength > self.source.strength or is_own_word


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of what becomes of the values that are there.

    Args:
        replaced: the one whose line the new value takes; None where it gets a line of its own.
        taken_out: weaker ones that go out with it.
        contradicted: those that stay beside it.
    """

    replaced: Item | None
    taken_out: tuple[Item, ...] = ()
    contradicted: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Foundations:
    """The foundations of items of a document, by their first lines, and that of a new statement (`own`).

    An item that is missing is founded as well as the new statement. `note` is a line for the user where history could not be read.
    """

    by_line: Mapping[int, Foundation]
    own: Foundation
    note: str | None = None

    def of(self, item: Item) -> Foundation:
        """The foundation of an item."""
        return self.by_line.get(item.start, self.own)

    def is_weaker(self, item: Item) -> bool:
        """True if an item is worse founded than the new statement."""
        return self.of(item).strength < self.own.strength

    def is_better(self, item: Item) -> bool:
        """True if an item is better founded than the new statement that takes it out."""
        return self.of(item).is_guarded_against(self.own)

    def is_confirmed(self, item: Item) -> bool:
        """True if an item is better founded once the new statement says the same."""
        return self.of(item).is_confirmed_by(self.own)

    def choose(self, key: str, values: Sequence[Item]) -> Choice:
        """Choose what a new value of a key does to those that stand in a section.

        An `auto` value takes the place of another such value only. Any other one takes the place of the value that is founded as well as it
        is, else of the best founded one, and every weaker one goes out.

        Raises:
            FactProblem: `key-ambiguous`: several of them, founded equally well, could be meant.
        """
        strengths = {item.start: self.of(item).strength for item in values}
        weaker = [item for item in values if self.is_weaker(item)]
        meant = [item for item in values if strengths[item.start] == self.own.strength]
        if not meant and self.own.source is not Source.AUTO:
            best = max(strengths.values())
            meant = weaker[:1] if best == Source.AUTO.strength else [item for item in values if strengths[item.start] == best]
        if len(meant) > 1:
            raise _ambiguous(key, values)
        return Choice(
            replaced=meant[0] if meant else None,
            taken_out=tuple(item for item in weaker if item not in meant),
            contradicted=tuple(item for item in values if item not in meant and item not in weaker),
        )


def _ambiguous(key: str, values: Sequence[Item]) -> FactProblem:
    listed = [{"id": item.fact.id, "text": item.fact.text} for item in values]
    named = "; ".join(f"{item.fact.id} {item.fact.text[:_QUOTED]}" for item in values)
    hint = f"They are: {named}. Replace one with {field('supersedes')} ID, or add with {field('also')}."
    return FactProblem("key-ambiguous", f"{key!r} has {len(values)} current values", hint, facts=listed)
