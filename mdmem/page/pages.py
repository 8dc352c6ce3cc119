"""A page before it is rendered as HTML: its inputs, its frame, its addresses, and rows that several
pages show.
"""

from __future__ import annotations

import hashlib
import os
import time
import unicodedata
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from typing import Any, ParamSpec, TypeAlias, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

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


class Address(str):
    """An address of a page, which is written as it is, even with a secret in it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Links:
    """The addresses of pages.

    `is_served` is False for an export, where nothing answers: no search, no forms, no script.
    """

    is_served: bool = True

    def static(self, name: str) -> Address:
        return Address(f"/static/{name}")

    def today(self) -> Address:
        return Address("/")

    def days(self, **query: Any) -> Address:
        """The timeline; `before`, `who`, `file`, `where`."""
        return _address("/days", query)

    def day(self, day: object) -> Address:
        return Address(f"/day/{day}")

    def files(self, **query: Any) -> Address:
        """The list of files; `after`."""
        return _address("/files", query)

    def file(self, path: str, **query: Any) -> Address:
        """A file; `from`, `at`."""
        return _address(f"/f/{quote(path, errors=_BYTES)}", query)

    def section(self, path: str, section: SectionPath, **query: Any) -> Address:
        """A section, or the text before the first heading; `at` is a version or a day."""
        page = "f" if section else "s"
        return _address(
            f"/{page}/{quote(path, errors=_BYTES)}", {"section": join_path(section), **query}
        )

    def fact(self, fact: str) -> Address:
        return Address(f"/fact/{quote(fact, safe='')}")

    def search(self, **query: Any) -> Address:
        """The search; `q`, `tag`, `kind`, `source`, `since`, `file`, `history`, `at`."""
        return _address("/search", query)

    def review(self, proposal: str = "") -> Address:
        return Address(f"/review/{quote(proposal, safe='')}" if proposal else "/review")

    def context(self, **query: Any) -> Address:
        """The block of an agent's prompt; `q`, `session`, `at`."""
        return _address("/context", query)

    def trends(self) -> Address:
        return Address("/trends")

    def health(self, **query: Any) -> Address:
        """The state of the workspace; `examine` looks at everything."""
        return _address("/health", query)

    def commit(self, commit: str) -> Address:
        return Address(f"/commit/{quote(commit, safe='')}")

    def do(self, verb: str) -> Address:
        return Address(f"/do/{verb}")


def _address(path: str, query: Mapping[str, Any]) -> Address:
    given = {name: str(value) for name, value in query.items() if value not in (None, "", False)}
    return Address(f"{path}?{urlencode(given, errors=_BYTES)}" if given else path)


def address_parts(address: str) -> tuple[str, list[tuple[str, str]]]:
    path, _, query = address.partition("?")
    return path, parse_qsl(query, errors=_BYTES)


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


Looked: TypeAlias = tuple[int, object, list[tuple[int, ...] | None]]
"""When it was looked, in nanoseconds, and what `_look` gave."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Everything that pages are made with: memory, addresses, and the secret of forms.

    `token` is empty if there are no forms. `done` has the results that no page has shown yet, by
    name; `kept` is what memory said, while nothing moves. `looked`, a list for one page, gets its
    look at what answers depend on; None: each question looks.
    """

    memory: Memory
    links: Links
    token: str = ""
    done: dict[str, Done] = field(default_factory=dict)
    kept: dict[Hashable, tuple[object, Any]] = field(default_factory=dict)
    looked: list[Looked] | None = None

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
_OVER = {
    Status.SUPERSEDED: "since replaced",
    Status.REMOVED: "removed",
    Status.EXPIRED: "expired",
}
_MOST_LISTED = 1_000
_SOURCES = {
    Source.USER_STATED: ("●", "stated"),
    Source.INFERRED: ("◐", "inferred"),
    Source.AUTO: ("○", "automatic"),
}


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
    key: str | None
    pieces: tuple[Piece, ...]
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
        key=key,
        pieces=shown,
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
    return SourceMark(*_SOURCES[source], by=claimed_by)


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


def kept(reader: Reader, ask: Callable[P, T], *args: P.args, **keywords: P.kwargs) -> T:
    """The answer of `ask`, or its last one, while HEAD, proposals, files, settings and day stay."""
    question = (ask.__qualname__, args, tuple(keywords.items()))
    workspace = reader.memory.workspace
    looked = reader.looked or [(time.time_ns(), *_look(workspace))]
    if reader.looked == []:
        reader.looked.extend(looked)
    started, look, stamps = looked[0]
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
    wanted = ListFiles(limit=_MOST_FILES, without_logs=True, first=memory.workspace.curated)
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
    return hashlib.sha256(ascii(_look(reader.memory.workspace)).encode()).hexdigest()[:16]


def failure_title(status: int) -> str:
    titles = {409: "It has changed since", 500: "This is a bug in mdmem"}
    return titles.get(status, "This cannot be done")


def error_page(problem: MdmemError, status: int, query: str = "") -> Page:
    message, hint = map(secrets.redact, (problem.message, problem.marked_hint))
    return Page(
        template="error",
        title="Not found" if status == 404 else failure_title(status),
        values={"message": message, "hint": hint, "query": query},
        data=failure_json(problem),
        status=status,
    )
