"""Find words in proposed text, which no index holds."""

from __future__ import annotations

from collections.abc import Iterable

from mdmem.addresses import join_path
from mdmem.facts import normalise
from mdmem.model.proposals import ProposedHit
from mdmem.proposals.reading import Proposal
from mdmem.startup import late

_WORD = late.pattern(r"\w+")
_LEAST_STEM = 4
_HEADING_SHARE = 0.5


def find(proposals: Iterable[Proposal], query: str, limit: int) -> tuple[ProposedHit, ...]:
    """The parts that wait and hold words of a query: those with more of its words first, older proposals before newer ones."""
    asked = _stems(query)
    hits = []
    for proposal in proposals:
        for part in proposal.parts:
            view = part.view
            if view.state.waits and asked:
                score = _share(asked, view.new or view.old or "") + _HEADING_SHARE * _share(asked, join_path(view.section))
                if score:
                    hits.append(ProposedHit(proposal.ref.id, proposal.view.actor, view, round(score, 4)))
    return tuple(sorted(hits, key=lambda hit: -hit.score)[:limit])


def _share(asked: frozenset[str], text: str) -> float:
    return len(asked & _stems(text)) / len(asked)


def _stems(text: str) -> frozenset[str]:
    """The words of a text, without what English puts at their ends."""
    return frozenset(_stem(word) for word in _WORD.findall(normalise(text)))


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word.removesuffix(ending)
    return word
