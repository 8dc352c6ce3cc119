"""A page before it is rendered as HTML: its inputs, its frame, its addresses (on a server or in the
files of an export), and rows that several pages show.
"""

from __future__ import annotations

import hashlib
import os
import time
import unicodedata
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache
from typing import Any, ParamSpec, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

from mdmem import secrets
from mdmem.folder import files, layout
from mdmem.index.snapshot import INDEX_NAME, SEEN_NAME
from mdmem.memory import Memory
from mdmem.model import FactId, SectionPath, Source, Status
from mdmem.model.errors import MdmemError, UsageProblem, failure_json
from mdmem.model.history import ChangeKind, FactChange
from mdmem.model.reads import FileRow, ListFiles
from mdmem.model.searches import FactList, Hit, ListFacts
from mdmem.past.differences import DiffKind, word_difference
from mdmem.startup import late
from mdmem.startup.records import dataclass, field
from mdmem.text.document import join_path
from mdmem.text.facts import key_and_value, shortened
from mdmem.workspace import Workspace

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

    def file(self, path: str, **query: Any) -> str:
        """A file; `from`, `at`."""
        return _address(f"/f/{_quoted(path)}", query)

    def section(self, path: str, section: SectionPath, **query: Any) -> str:
        """A section, or the text before the first heading; `at` is a version or a day."""
        page = "f" if section else "s"
        return _address(f"/{page}/{_quoted(path)}", {"section": join_path(section), **query})

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

    def file(self, path: str, **query: Any) -> str:
        """A file as it is now; `from`."""
        given = _given(query)
        if given.keys() - {"from"}:
            return ""
        name = "-".join((_slug(path), *given.values()))
        return self._page("file", path, f"file/{name}", path=path, **given)

    def section(self, path: str, section: SectionPath, **query: Any) -> str:
        """A section as it is now; `nth` picks one of several with the name, `from` a page."""
        given = _given(query)
        if given.keys() - {"nth", "from"}:
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


Query: TypeAlias = Mapping[str, str]
"""The parameters of an address, from its path and its query."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a form in one line, and the commits that *Undo* reverts, newest first.

    `address` is the page to go on to if the form's own page is gone.
    """

    line: str
    commit: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """Everything that pages are made with: memory, addresses, and the secret of forms.

    `token` is empty if there are no forms. `done` has the results that no page has shown yet, by
    name; `kept` is what memory said, while nothing moves.
    """

    memory: Memory
    links: Links
    token: str = ""
    done: dict[str, Done] = field(default_factory=dict)
    kept: dict[Hashable, tuple[object, Any]] = field(default_factory=dict)

    @property
    def can_write(self) -> bool:
        return bool(self.token)

    def now(self) -> datetime:
        return self.memory.workspace.now()


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its template, its title, values for the template, and those for programs.

    `back` is its own address, as it is now, for its forms to lead back to. `past` is the day that
    it shows: empty for now, None where there is only now.
    """

    template: str
    title: str
    values: Mapping[str, Any]
    data: object
    tab: str = ""
    back: str = "/"
    status: int = 200
    past: str | None = None


View: TypeAlias = Callable[[Reader, Query], Page]


# Rows of lists, and links of filters.


Piece = tuple[DiffKind, str]
MAX_CHARACTERS = 4_000
"""Maximum length of a text in a list; texts to decide on are never cut."""
_MOST_PLACES = 2
"""Lines that differ in more places are shown as a whole, old and new."""
_MOST_DIGITS = 10
_SIGNS = {ChangeKind.ADDED: "+", ChangeKind.REPLACED: "~", ChangeKind.REMOVED: "−"}
_OVER = {
    Status.SUPERSEDED: "since replaced",
    Status.REMOVED: "removed",
    Status.EXPIRED: "expired",
}
_MOST_LISTED = 1_000
_MARKS = {Source.USER_STATED: "●", Source.INFERRED: "◐", Source.AUTO: "○"}
_SOURCES = {Source.USER_STATED: "stated", Source.INFERRED: "inferred", Source.AUTO: "automatic"}


@dataclass(frozen=True, slots=True)
class SourceMark:
    """The sign and word of a source. `by`: the actor who says that the user stated it."""

    sign: str
    word: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """`tags` say what has become of the fact since."""

    change: FactChange
    sign: str
    key: str | None
    pieces: tuple[Piece, ...]
    source: SourceMark
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilterLink:
    words: str
    address: str
    is_set: bool


def change_rows(reader: Reader, changes: Sequence[FactChange]) -> list[ChangeRow]:
    """Changes for reading, each with what has become of its fact."""
    added = [each.fact for each in changes if each.kind is not ChangeKind.REMOVED]
    listed = facts_now(reader, added).facts
    now = {(hit.path, hit.fact): hit for hit in reversed(listed)}
    return [_change_row(each, now.get((each.path, each.fact))) for each in changes]


def facts_now(reader: Reader, facts: Sequence[FactId], file: str | None = None) -> FactList:
    """Look up facts, current or not, with their copies elsewhere."""
    ids = tuple(dict.fromkeys(facts))
    if not ids:
        return FactList(facts=(), total=0)
    wanted = ListFacts(ids=ids, file=file, everything=True, limit=_MOST_LISTED)
    return kept(reader, reader.memory.facts, wanted)


def tags_now(hit: Hit | None) -> tuple[str, ...]:
    """Words for what is wrong with a fact; none for a current one."""
    if hit is None:
        return ()
    over = "forgotten" if hit.retracted else _OVER.get(hit.status, "")
    signs = ((over, over), ("contradicted", hit.contradicts), ("not saved", hit.uncommitted))
    return tuple(word for word, holds in signs if holds)


def _change_row(change: FactChange, now: Hit | None) -> ChangeRow:
    """A change for reading; a replaced fact is one row, with removed and added words."""
    key, new = key_and_value(shortened(change.text, MAX_CHARACTERS))
    if change.kind is ChangeKind.REMOVED:
        shown: tuple[Piece, ...] = ((DiffKind.OUT, new),)
    elif change.replaced:
        replaced = shortened(change.replaced.text, MAX_CHARACTERS)
        old_key, old = key_and_value(replaced)
        shown = difference(old, new) if old_key == key else difference(replaced, new)
    else:
        shown = ((DiffKind.KEPT, new),)
    return ChangeRow(
        change=change,
        sign=_SIGNS[change.kind],
        key=key,
        pieces=shown,
        source=source_mark(change.made.source, change.made.claimed_by),
        tags=() if change.kind is ChangeKind.REMOVED else tags_now(now),
    )


def number_in(query: Query, name: str) -> int | None:
    """A number of the address. Raises UsageProblem (it is not a whole number from 1 on)."""
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isdecimal() and len(text) < _MOST_DIGITS and int(text)):
        raise UsageProblem(f"{name} must be a number from 1 on, not {text[:80]!r}")
    return int(text)


def source_mark(source: Source, claimed_by: str | None = None) -> SourceMark:
    return SourceMark(_MARKS[source], _SOURCES[source], claimed_by)


def place_of(workspace: Workspace, path: str, section: SectionPath) -> str:
    """The name of a fact's section or file; empty for a daily log, whose sections are times."""
    if layout.log_day(path, workspace.daily):
        return ""
    return section[-1] if section else path


def difference(old: str, new: str) -> tuple[Piece, ...]:
    """Two values by words, or each as a whole if they differ in more than two places."""
    pieces = word_difference(old, new)
    changed = sum(
        kind is not DiffKind.KEPT and (number == 0 or pieces[number - 1][0] is DiffKind.KEPT)
        for number, (kind, _) in enumerate(pieces)
    )
    return pieces if changed <= _MOST_PLACES else ((DiffKind.OUT, old), (DiffKind.IN, new))


# What is kept while nothing moves.


P = ParamSpec("P")
T = TypeVar("T")
_MOST_KEPT = 32
_Looked: TypeAlias = tuple[int, object, list[tuple[int, ...] | None]]
"""When it was looked, in nanoseconds, and what `_look` gave."""


_LOOKED: ContextVar[list[_Looked] | None] = ContextVar("looked", default=None)


@contextmanager
def one_look() -> Iterator[None]:
    """Have `kept` look once at what answers depend on: at the first of a page's questions."""
    token = _LOOKED.set([])
    try:
        yield
    finally:
        _LOOKED.reset(token)


def kept(reader: Reader, ask: Callable[P, T], *args: P.args, **keywords: P.kwargs) -> T:
    """The answer of `ask`, or its last one, while HEAD, proposals, files, settings and day stay."""
    question = (ask.__qualname__, args, tuple(keywords.items()))
    workspace, looked = reader.memory.workspace, _LOOKED.get()
    started, look, stamps = looked[0] if looked else (time.time_ns(), *_look(workspace))
    if looked == []:
        looked.append((started, look, stamps))
    before = reader.kept.get(question)
    if before and before[0] == (look, stamps):
        said: T = before[1]
        return said
    answer = ask(*args, **keywords)
    newest = max(moment for each in stamps if each for moment in each[:2])
    if workspace.repository.is_simple and newest < started - files.RACY_NS:
        if len(reader.kept) == _MOST_KEPT:
            reader.kept.clear()
        reader.kept[question] = (look, stamps), answer
    return answer


def _look(workspace: Workspace) -> tuple[object, list[tuple[int, ...] | None]]:
    """All that answers depend on, and the stamps of the files among it."""
    git_dir = workspace.repository.git_dir
    saved = workspace.memory_paths(files.stamp_of)
    refs = [
        f"{folder}/{name}"
        for top in ("refs/heads/mdmem", "refs/mdmem")
        for folder, _, names in os.walk(git_dir / top)
        for name in names
    ]
    others = [
        f"{workspace.state}/{INDEX_NAME}/{SEEN_NAME}",
        *(f"{git_dir}/{name}" for name in ("config", "index", "packed-refs")),
        *refs,
    ]
    now = workspace.settings, workspace.actor, workspace.now().date(), workspace.repository.head()
    return (now, [*saved, *others]), [*saved.values(), *map(files.stamp, others)]


# The frame of every page.


_MOST_FILES = 12


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of a page.

    `waiting` is the number of things waiting for the reader, `now` the time from which the page
    tells moments, `stamp` the state of memory that a served page shows.
    """

    name: str
    now: datetime
    stamp: str = ""
    waiting: int = 0
    files: tuple[FileRow, ...] = ()
    done: Done | None = None


def frame_of(reader: Reader, done: str | None = None) -> Frame:
    """The frame of a page; `done` names the result of a form, which is shown once."""
    memory = reader.memory
    curated = memory.workspace.curated
    wanted = ListFiles(limit=_MOST_FILES, without_logs=True, first=curated)
    conflicts, standing = kept(reader, memory.conflicts), kept(reader, memory.proposals.standing)
    return Frame(
        name=memory.workspace.root.name,
        now=reader.now(),
        waiting=len(conflicts.conflicts) + len(standing.numbered.items),
        files=kept(reader, memory.files, wanted).files,
        done=reader.done.pop(done, None) if done else None,
        stamp=stamp_of(reader) if reader.links.is_served else "",
    )


def stamp_of(reader: Reader) -> str:
    """A digest of all that pages depend on: HEAD, proposals, files, settings and the day."""
    look = repr(_look(reader.memory.workspace))
    return hashlib.sha256(look.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def error_page(problem: MdmemError, status: int, query: str = "") -> Page:
    message, hint = map(secrets.redact, (problem.message, problem.hint))
    titles = {404: "Not found", 409: "It has changed since", 500: "This is a bug in mdmem"}
    return Page(
        template="error",
        title=titles.get(status, "This cannot be done"),
        values={"message": message, "hint": hint, "query": query},
        data=failure_json(problem),
        status=status,
    )
