"""The addresses of the pages: as the server has them, or as files of an export."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from mdmem.model import SectionPath
from mdmem.text.addresses import join_path

SECTION_TOP = "top"
"""The value of `part` for the text before the first heading."""
_BYTES = "surrogateescape"
"""Names of files need not be UTF-8."""


class Links:
    """The addresses of a served page. An empty address is that of a page that is not there."""

    is_served = True
    """False for files of an export, where nothing answers: no search, no forms, no script."""

    def static(self, name: str) -> str:
        """A packaged file."""
        return f"/static/{name}"

    def today(self) -> str:
        """The first page."""
        return "/"

    def days(self, **query: Any) -> str:
        """The timeline; `before`, `who`, `file`, `where`."""
        return _address("/days", query)

    def day(self, day: object) -> str:
        """One day, by its ISO date."""
        return f"/day/{day}"

    def files(self, **query: Any) -> str:
        """The list of files; `after`."""
        return _address("/files", query)

    def file(self, path: str) -> str:
        """A file as it is read."""
        return f"/f/{_quoted(path)}"

    def section(self, path: str, section: SectionPath, **query: Any) -> str:
        """A section, or the text before the first heading; `at` is the number of a version."""
        named = {"section": join_path(section)} if section else {"part": SECTION_TOP}
        return _address(f"/s/{_quoted(path)}", {**named, **query})

    def fact(self, fact: str) -> str:
        """A fact by its id."""
        return f"/fact/{quote(fact, safe='')}"

    def search(self, **query: Any) -> str:
        """The search; `q`, `tag`, `kind`, `source`, `since`, `file`, `history`, `at`."""
        return _address("/search", query)

    def review(self, proposal: str = "") -> str:
        """Everything that is waiting, or one proposal."""
        return f"/review/{quote(proposal, safe='')}" if proposal else "/review"

    def context(self, **query: Any) -> str:
        """The block of an agent's prompt; `q` is the prompt."""
        return _address("/context", query)

    def trends(self) -> str:
        """The figures of history."""
        return "/trends"

    def health(self, **query: Any) -> str:
        """The state of the workspace; `examine` looks at everything."""
        return _address("/health", query)

    def commit(self, commit: str) -> str:
        """One change by its commit."""
        return f"/commit/{quote(commit, safe='')}"

    def do(self, verb: str) -> str:
        """The address that a form is sent to."""
        return f"/do/{verb}"


def _address(path: str, query: Mapping[str, Any]) -> str:
    values = {name: value for name, value in query.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(values, errors=_BYTES)}" if values else path


def _quoted(path: str) -> str:
    return quote(path, errors=_BYTES)


def own_path(address: str) -> str:
    """An address that a form names, if it is a path of the page; else the first page.

    A browser takes `//host` and `/\\host` for another site, and drops controls before it looks.
    """
    is_path = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if is_path and not has_controls(address) else "/"


def has_controls(text: str) -> bool:
    """True if a text has control characters."""
    return any(unicodedata.category(character) == "Cc" for character in text)
