"""Facts by their tags, and the tags in use."""

from __future__ import annotations

from mdmem.catchup.index import fresh_index
from mdmem.model.searches import FactList, ListFacts, TagCatalogue
from mdmem.queries import search
from mdmem.search.labels import most_tagged
from mdmem.startup.records import replace
from mdmem.workspace import Progress, Say, Workspace


def recall(
    workspace: Workspace,
    tags: tuple[str, ...],
    limit: int,
    say: Say,
    progress: Progress | None = None,
) -> FactList:
    """Facts with at least one of these tags: most of them first, then newest; `limit` 0: none."""
    request = ListFacts(any_tags=tags, limit=limit)
    listed = search.facts(workspace, replace(request, limit=0), say, progress)
    return replace(listed, facts=tuple(most_tagged(listed.facts, tags)[: limit or None]))


def tag_catalogue(workspace: Workspace, say: Say, progress: Progress | None = None) -> TagCatalogue:
    """The tags of current facts, the most used first."""
    return search.tags(workspace, fresh_index(workspace, say, progress), say, progress)
