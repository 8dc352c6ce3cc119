"""The catalogue of tags: which are used and how often, and the facts with most of some tags. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from mdmem.model.searches import Hit, TagCount
from mdmem.search.labels import folded_label

_COUNTED = 3
"""The first tags of a fact that count: those after them are remarks, and would fill the catalogue (design)."""


def count_tags(facts: Iterable[Hit]) -> tuple[TagCount, ...]:
    """The tags of facts, most used first, then by name. Spellings differ in case only; a fact counts once a section."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    facts_once = {(hit.path, hit.section, hit.fact or hit.start_line): hit for hit in facts}
    for hit in facts_once.values():
        for name, tag in {folded_label(tag): tag for tag in reversed(hit.tags[:_COUNTED])}.items():
            spellings[name][tag] += 1
    counts = [
        TagCount(min(spelling_counts, key=lambda tag: (-spelling_counts[tag], tag)), spelling_counts.total())
        for spelling_counts in spellings.values()
    ]
    return tuple(sorted(counts, key=lambda count: (-count.count, folded_label(count.tag))))


def most_tagged(facts: Iterable[Hit], tags: Iterable[str]) -> list[Hit]:
    """Facts by the number of these tags that they have, otherwise in their order."""
    wanted_tags = {folded_label(tag) for tag in tags}
    return sorted(facts, key=lambda hit: -len(wanted_tags & {folded_label(tag) for tag in hit.tags}))
