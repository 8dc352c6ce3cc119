"""The catalogue of labels: which tags memory uses, how often, and which facts bear most of some. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

from mdmem.model.searches import Hit
from mdmem.search.schema import folded_label
from mdmem.startup.records import dataclass

_COUNTED = 3
"""So many tags of a fact are what it is about; those after them are remarks, and would fill the catalogue (design)."""


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag without its `#`, as it is most often written, and the number of facts that bear it."""

    tag: str
    count: int


def count_tags(facts: Iterable[Hit]) -> tuple[TagCount, ...]:
    """The tags of facts, most used first, then by name; a tag is one in any case, and a fact counts once a section."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    once = {(hit.path, hit.section, hit.fact or hit.start_line): hit for hit in facts}
    for hit in once.values():
        for name, tag in {folded_label(tag): tag for tag in reversed(hit.tags[:_COUNTED])}.items():
            spellings[name][tag] += 1
    found = [TagCount(min(said, key=lambda tag: (-said[tag], tag)), said.total()) for said in spellings.values()]
    return tuple(sorted(found, key=lambda one: (-one.count, folded_label(one.tag))))


def most_tagged(facts: Iterable[Hit], tags: Iterable[str]) -> tuple[Hit, ...]:
    """Facts in the order of how many of the tags they bear, then the newest first; what is not committed yet is the newest."""
    wanted = {folded_label(tag) for tag in tags}

    def order(hit: Hit) -> tuple[int, float]:
        return -len(wanted & {folded_label(tag) for tag in hit.tags}), -(hit.since.timestamp() if hit.since else math.inf)

    return tuple(sorted(facts, key=order))
