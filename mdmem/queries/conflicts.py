"""Current facts, and parts of blocks, that contradict each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime

from mdmem.catchup import kept, trails
from mdmem.catchup.index import fresh_index
from mdmem.model import FactId, SectionPath, Status
from mdmem.model.searches import ConflictList, ConflictView, Hit, ListFacts
from mdmem.queries import dates, named_parts
from mdmem.queries.named_parts import PartPair
from mdmem.queries.search import facts_in
from mdmem.text.facts import find_held_key, normalise
from mdmem.workspace import Progress, Say, Workspace

_HitLocation = tuple[str, SectionPath]


def conflicts(workspace: Workspace, say: Say, progress: Progress | None = None) -> ConflictList:
    """Current facts that contradict each other, each pair once in a section, in file order.

    Many facts with one key are paired with the next only (`contradictions`): n - 1 pairs. Parts of
    blocks that a merge kept in two versions follow. The answer is kept while nothing moves.
    """
    return kept.answer(
        workspace,
        "conflicts",
        (kept.memory_files, kept.index, kept.user),
        lambda: _conflicts(workspace, say, progress),
        lambda listed: not listed.stale,
    )


def _conflicts(workspace: Workspace, say: Say, progress: Progress | None) -> ConflictList:
    index = fresh_index(workspace, say, progress)
    listed = facts_in(workspace, index, ListFacts(limit=0), say, progress, contradicted=True)
    hits = sorted(listed.facts, key=lambda hit: (hit.path, hit.start_line))
    key_of = _key_reader(hits)
    by_fact: dict[FactId | None, list[Hit]] = defaultdict(list)
    by_location: dict[tuple[_HitLocation, FactId | None], list[Hit]] = defaultdict(list)
    for hit in hits:
        if hit.contradicts:
            by_fact[hit.fact].append(hit)
            by_location[_location(hit), hit.fact].append(hit)
    views: dict[Hashable, ConflictView] = {}
    for hit in hits:
        for fact in hit.contradicts:
            in_section = _first_contradicting(by_location[_location(hit), fact], hit)
            other = in_section or _first_contradicting(by_fact[fact], hit)
            if other is not None:
                pair = frozenset((hit.fact or fact, fact))
                key = key_of(hit) if in_section and key_of(hit) == key_of(other) else None
                views.setdefault(
                    (_location(hit), pair) if in_section else pair, ConflictView(hit, other, key)
                )
    with trails.fresh_trail(workspace, say) as trail:
        moments = trail.moments(dates.end_of_today(workspace))
        parts = [
            _part_view(pair, workspace.local_time(moments.of(pair.mark.begun)))
            for pair in named_parts.open_pairs(workspace, trail)
        ]
    return ConflictList((*views.values(), *parts), listed.stale, listed.notes, listed.building)


def _part_view(pair: PartPair, since: datetime) -> ConflictView:
    """Two parts of blocks as hits, with the commit that named them."""
    first, second = (
        Hit(
            path=part.path,
            start_line=part.line + 1,
            end_line=part.line + 1,
            section=part.document.path_at(part.line),
            kind=None,
            day=None,
            text=part.text,
            score=0.0,
            fact=part.id,
            key=None,
            tags=(),
            source=None,
            confidence=None,
            status=Status.CURRENT,
            until=None,
            commit=pair.mark.commit,
            uncommitted=False,
            contradicts=(other.id,),
            since=since,
        )
        for part, other in ((pair.first, pair.second), (pair.second, pair.first))
    )
    return ConflictView(first, second, None, is_of_parts=True)


def _first_contradicting(hits: Sequence[Hit], hit: Hit) -> Hit | None:
    return next((each for each in hits if hit.fact in each.contradicts), None)


def _key_reader(hits: Sequence[Hit]) -> Callable[[Hit], str | None]:
    """Keys as the first fact of a section writes them; some are marked only by other facts."""
    keys: dict[_HitLocation, dict[str, str]] = defaultdict(dict)
    for hit in hits:
        if hit.key is not None:
            keys[_location(hit)].setdefault(normalise(hit.key), hit.key)

    def key_of(hit: Hit) -> str | None:
        in_section = keys[_location(hit)]
        key = normalise(hit.key) if hit.key is not None else find_held_key(hit.text, in_section)
        return None if key is None else in_section[key]

    return key_of


def _location(hit: Hit) -> _HitLocation:
    return hit.path, hit.section
