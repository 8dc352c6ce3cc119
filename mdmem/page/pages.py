"""A page before it is written as HTML, and what all pages are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from mdmem.memory import Memory
from mdmem.page.links import Links
from mdmem.startup.records import dataclass, field

Query: TypeAlias = Mapping[str, str]
"""The parameters of an address: those of its path, and those behind the question mark."""


@dataclass(frozen=True, slots=True)
class Done:
    """A line that says what was done, and the commit that undoing it reverts.

    `address` is where to go on if the form's own page is no longer there.
    """

    line: str
    commit: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """The one who reads, and with what: memory, addresses of pages, the secret of forms.

    `token` is empty where nothing can be done. `done` are the lines that were not shown yet, by
    their names.
    """

    memory: Memory
    links: Links
    token: str = ""
    done: dict[str, Done] = field(default_factory=dict)

    @property
    def can_write(self) -> bool:
        """True if the pages have forms."""
        return bool(self.token)

    def now(self) -> datetime:
        """The time in the zone of the settings."""
        return self.memory.workspace.now()


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its template, title, values for the template, and the same as JSON for programs.

    `back` is its own address, to which a form on it leads back.
    """

    template: str
    title: str
    values: Mapping[str, Any]
    data: Mapping[str, Any]
    tab: str = ""
    back: str = "/"
    status: int = 200


View: TypeAlias = Callable[[Reader, Query], Page]
