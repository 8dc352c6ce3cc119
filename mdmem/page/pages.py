"""A page before it is rendered as HTML, and the inputs of every page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from mdmem.memory import Memory
from mdmem.page.links import Links
from mdmem.startup.records import dataclass, field

Query: TypeAlias = Mapping[str, str]
"""The parameters of an address, from its path and its query."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a form in one line, and the commit that *Undo* reverts.

    `address` is the page to go on to if the form's own page is gone.
    """

    line: str
    commit: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """Everything that pages are made with: memory, addresses, and the secret of forms.

    `token` is empty if there are no forms. `done` has the results that no page has shown yet, by
    name.
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
    """A page: its template, its title, values for the template, and JSON for programs.

    `back` is its own address, for its forms to lead back to.
    """

    template: str
    title: str
    values: Mapping[str, Any]
    data: Mapping[str, Any]
    tab: str = ""
    back: str = "/"
    status: int = 200


View: TypeAlias = Callable[[Reader, Query], Page]
