"""An actor's own open parts among the answers to a search."""

from __future__ import annotations

from collections.abc import Iterator

from mdmem.index.indexed import as_label, folded_label, place_labels, tag_labels
from mdmem.index.query import Filter, label_conditions
from mdmem.model import Status
from mdmem.model.proposals import PartOp
from mdmem.model.searches import FactList, Hit, ListFacts, Search, SearchResult
from mdmem.proposals import listings
from mdmem.proposals.parts import Part
from mdmem.proposals.pieces import FactPiece
from mdmem.proposals.rewriting import OwnFiles
from mdmem.queries import search
from mdmem.startup.records import replace
from mdmem.text.document import parse_bytes
from mdmem.text.facts import items, parse_item
from mdmem.text.terms import encodable
from mdmem.workspace import Workspace


def in_search(workspace: Workspace, request: Search, result: SearchResult) -> SearchResult:
    hits = _with_own(workspace, request, result.hits)
    return replace(result, hits=hits[: request.limit or None])


def in_facts(workspace: Workspace, request: ListFacts, listed: FactList) -> FactList:
    """Facts as their actor sees memory; `listed` has all of them."""
    facts = _with_own(workspace, request, listed.facts)
    page = facts[request.offset :][: request.limit or None]
    return replace(listed, facts=page, total=len(facts))


def _with_own(
    workspace: Workspace, request: Search | ListFacts, hits: tuple[Hit, ...]
) -> tuple[Hit, ...]:
    """The actor's open parts, then hits without what these replace.

    A question about another time, session or actor is about memory alone.
    """
    own = workspace.contents
    if not isinstance(own, OwnFiles) or _is_narrower(request):
        return hits
    gone = {
        (part.view.path, part.piece.old.item.fact.id)
        for part in own.parts
        if isinstance(part.piece, FactPiece) and part.piece.old
    }
    found = [hit for part, score in _found(own, request) for hit in _hits(own, part, score)]
    return (
        *(hit for hit in found if _fits(request, hit)),
        *(hit for hit in hits if hit.workspace or (hit.path, hit.fact) not in gone),
    )


def _is_narrower(request: Search | ListFacts) -> bool:
    if isinstance(request, Search):
        is_past = request.history or request.as_of or request.recent_days or request.min_confidence
    else:
        is_past = request.everything or request.expiring
    return bool(is_past or request.actor or request.session or request.since or request.until)


def _found(own: OwnFiles, request: Search | ListFacts) -> list[tuple[Part, float]]:
    if own.proposal is None or isinstance(request, ListFacts) or not request.has_words:
        return [(part, 0.0) for part in own.parts]
    mine = replace(own.proposal, parts=tuple(own.parts))
    scores = {
        id(hit.part): hit.score for hit in listings.find([mine], request.query, len(own.parts))
    }
    found = [(part, scores[id(part.view)]) for part in own.parts if id(part.view) in scores]
    return sorted(found, key=lambda row: -row[1])


def _hits(own: OwnFiles, part: Part, score: float) -> Iterator[Hit]:
    """A part as a hit; a removal, or a statement without a text, is none."""
    view = part.view
    if view.new is None or view.op is PartOp.CONFIRM:
        return
    document = parse_bytes(own.read(view.path) or b"")
    fact = None if view.op is PartOp.SECTION else parse_item(f"- {view.new}")
    places = [
        (item.start, item.end)
        for item in (items(document) if fact else ())
        if fact and item.fact.id == fact.id and document.path_at(item.start) == view.section
    ] or [(s.start, s.end) for s in document.sections if s.path == view.section]
    start, end = places[0] if places else (0, 1)
    yield Hit(
        path=view.path,
        start_line=start + 1,
        end_line=end,
        section=view.section,
        kind=fact.kind if fact else None,
        day=None,
        text=fact.text if fact else view.new,
        score=score,
        fact=fact.id if fact else None,
        key=fact.key if fact else None,
        tags=fact.tags if fact else (),
        source=view.origin.source,
        confidence=view.origin.confidence,
        status=Status.CURRENT,
        until=fact.until if fact else None,
        commit=None,
        uncommitted=False,
        since=view.since,
        proposed=True,
    )


def _fits(request: Search | ListFacts, hit: Hit) -> bool:
    has = {
        *place_labels(hit.path, hit.section).split(" "),
        *tag_labels(hit.tags),
        *([] if hit.kind is None else [as_label("kind", folded_label(hit.kind))]),
    }
    asked = Filter(
        file=request.file,
        section=request.section,
        kind=request.kind,
        tags=request.tags,
        any_tags=request.any_tags if isinstance(request, ListFacts) else (),
    )
    passes = all(
        any(as_label(name, encodable(value)) in has for value in values)
        for name, values in label_conditions(asked)
    )
    if isinstance(request, Search):
        return passes and (request.source is None or request.source == hit.source)
    if not passes:
        return False
    return hit.fact is not None and search.is_listed(request, hit)
