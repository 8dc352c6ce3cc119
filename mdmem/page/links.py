"""The addresses of the pages, on a server or in the files of an export."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from mdmem import secrets
from mdmem.model import SectionPath
from mdmem.startup import late
from mdmem.startup.records import dataclass
from mdmem.text.document import join_path

COMMIT = late.pattern(r"[0-9a-f]{7,64}")
_BYTES = "surrogateescape"
"""File names need not be UTF-8."""


class Links:
    """The addresses of a served page. An empty address means that there is no such page."""

    is_served = True
    """False for files of an export, where nothing answers: no search, no forms, no script."""

    def static(self, name: str) -> str:
        return f"/static/{name}"

    def today(self) -> str:
        return "/"

    def days(self, **query: Any) -> str:
        """The timeline; `before`, `who`, `file`, `where`."""
        return _address("/days", query)

    def day(self, day: object) -> str:
        return f"/day/{day}"

    def files(self, **query: Any) -> str:
        """The list of files; `after`."""
        return _address("/files", query)

    def file(self, path: str) -> str:
        return f"/f/{_quoted(path)}"

    def section(self, path: str, section: SectionPath, **query: Any) -> str:
        """A section, or the text before the first heading; `at` is the number of a version."""
        return _address(f"/s/{_quoted(path)}", {"section": join_path(section), **query})

    def fact(self, fact: str) -> str:
        return f"/fact/{quote(fact, safe='')}"

    def search(self, **query: Any) -> str:
        """The search; `q`, `tag`, `kind`, `source`, `since`, `file`, `history`, `at`."""
        return _address("/search", query)

    def review(self, proposal: str = "") -> str:
        return f"/review/{quote(proposal, safe='')}" if proposal else "/review"

    def context(self, **query: Any) -> str:
        """The block of an agent's prompt; `q` is the prompt."""
        return _address("/context", query)

    def trends(self) -> str:
        return "/trends"

    def health(self, **query: Any) -> str:
        """The state of the workspace; `examine` looks at everything."""
        return _address("/health", query)

    def commit(self, commit: str) -> str:
        return f"/commit/{quote(commit, safe='')}"

    def do(self, verb: str) -> str:
        return f"/do/{verb}"


START = "index.html"
_NOT_IN_NAMES = late.pattern(r"[^a-z0-9]+")
_MOST_NAME, _DIGEST = 40, 16


@dataclass(frozen=True, slots=True)
class ExportedPage:
    kind: str
    query: Mapping[str, str]


class ExportLinks(Links):
    """The addresses of an export: file names, relative to the current page.

    `has` tells whether the export has the page of a day, file, section, fact or commit.
    """

    is_served = False

    def __init__(self, has: Callable[[str, Any], bool]) -> None:
        self._has = has
        self._folder = ""
        self.pages: dict[str, ExportedPage] = {START: ExportedPage("today", {})}
        """The pages with a link to them, by the names of their files."""

    def set_current(self, name: str) -> None:
        self._folder = name.rpartition("/")[0]

    def name_of(self, address: str) -> str:
        if address.startswith("../"):
            return address.removeprefix("../")
        return f"{self._folder}/{address}" if self._folder else address

    def static(self, name: str) -> str:
        return self._from_here(name.rpartition("/")[2])

    def today(self) -> str:
        return self._from_here(START)

    def days(self, **query: Any) -> str:
        """The timeline; `before`. It has no filters."""
        return self._list("days", query, "before")

    def day(self, day: object) -> str:
        return self._page("day", str(day), f"day/{day}", day=str(day))

    def files(self, **query: Any) -> str:
        return self._list("files", query, "after")

    def file(self, path: str) -> str:
        return self._page("file", path, f"file/{_slug(path)}", path=path)

    def section(self, path: str, section: SectionPath, **query: Any) -> str:
        """A section as it is now; `nth` picks one of several with the name."""
        given = _given(query)
        if given.keys() - {"nth"}:
            return ""
        values = {"path": path, **_given({"section": join_path(section)}), **given}
        name = f"section/{_slug(' '.join((path, *section)), tuple(values.items()))}"
        return self._page("section", (path, section), name, **values)

    def fact(self, fact: str) -> str:
        return self._page("fact", fact, f"fact/{_slug(fact)}", id=fact)

    def search(self, **query: Any) -> str:
        return ""

    def review(self, proposal: str = "") -> str:
        """No address: proposals are not exported."""
        return ""

    def context(self, **query: Any) -> str:
        return ""

    def trends(self) -> str:
        return self._page("trends", "", "trends")

    def health(self, **query: Any) -> str:
        """No address: it is about the machine."""
        return ""

    def commit(self, commit: str) -> str:
        name = f"commit/{_slug(commit)}"
        return self._page("commit", commit, name, commit=commit)

    def do(self, verb: str) -> str:
        return ""

    def _list(self, kind: str, query: Mapping[str, Any], follows: str) -> str:
        given = _given(query)
        if given.keys() - {follows}:
            return ""
        return self._page(kind, "", "-".join((kind, *given.values())), **given)

    def _page(self, kind: str, what: object, name: str, **query: str) -> str:
        if not self._has(kind, what):
            return ""
        file = f"{name}.html"
        self.pages.setdefault(file, ExportedPage(kind, query))
        return self._from_here(file)

    def _from_here(self, name: str) -> str:
        folder, _, file = name.rpartition("/")
        if folder == self._folder:
            return file
        return f"../{name}" if self._folder else name


def _given(query: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in query.items() if value not in (None, "", False)}


@lru_cache(10_000)
def _slug(words: str, identity: object = None) -> str:
    """A file's name of small letters and digits: words to read, and a digest to tell it apart.

    It is unique without regard to case, and never a name that a system reserves.
    """
    source = repr(words if identity is None else identity)
    digest = hashlib.sha256(source.encode()).hexdigest()[:_DIGEST]
    shown = _NOT_IN_NAMES.sub("-", secrets.redact(words).casefold())[-_MOST_NAME:].strip("-")
    return f"{shown}-{digest}" if shown else digest


def _address(path: str, query: Mapping[str, Any]) -> str:
    values = _given(query)
    return f"{path}?{urlencode(values, errors=_BYTES)}" if values else path


def _quoted(path: str) -> str:
    return quote(path, errors=_BYTES)


def own_path(address: str) -> str:
    """An address given by a form, if it is a path on this page; else the first page.

    A browser takes `//host` and `/\\host` for another site, and drops controls before it looks.
    """
    is_path = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if is_path and not has_controls(address) else "/"


def has_controls(text: str) -> bool:
    return any(unicodedata.category(character) == "Cc" for character in text)
