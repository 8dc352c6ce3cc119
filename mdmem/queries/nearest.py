"""The entries of memory that are nearest to each of some texts."""

from __future__ import annotations

from collections.abc import Iterable

from mdmem.catchup.index import FreshIndex, fresh_index
from mdmem.model.searches import Search
from mdmem.queries import search
from mdmem.workspace import Say, Workspace

_NEAREST = 8


def nearest_entries(
    workspace: Workspace, texts: Iterable[str], say: Say
) -> list[tuple[str, tuple[str, ...]]]:
    """Each text with the texts of the current entries that are nearest to it."""
    index = fresh_index(workspace, say, current=True)
    return [(text, nearest_in(workspace, index, text, say)) for text in texts]


def nearest_in(workspace: Workspace, index: FreshIndex, text: str, say: Say) -> tuple[str, ...]:
    """The texts of the entries in an index that are nearest to a text."""
    return tuple(
        hit.text
        for hit in search.search_in(workspace, index, Search(query=text, limit=_NEAREST), say).hits
    )
