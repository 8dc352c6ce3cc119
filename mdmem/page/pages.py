"""A page before it is rendered as HTML: its inputs, its frame, and rows that several pages show."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime
from typing import Any, ParamSpec, TypeAlias, TypeVar

from mdmem import secrets
from mdmem.folder import files, layout
from mdmem.index.snapshot import INDEX_NAME, SEEN_NAME
from mdmem.memory import Memory
from mdmem.model import SectionPath, Source
from mdmem.model.errors import MdmemError, UsageProblem, failure_json
from mdmem.model.history import ChangeKind, FactChange
from mdmem.model.reads import FileRow, ListFiles
from mdmem.page.links import Links
from mdmem.past.differences import DiffKind, word_difference
from mdmem.startup.records import dataclass, field
from mdmem.text.facts import key_and_value, shortened
from mdmem.workspace import Workspace

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

    `back` is its own address, for its forms to lead back to.
    """

    template: str
    title: str
    values: Mapping[str, Any]
    data: object
    tab: str = ""
    back: str = "/"
    status: int = 200


View: TypeAlias = Callable[[Reader, Query], Page]


# Rows of lists, and links of filters.


Piece = tuple[DiffKind, str]
MAX_CHARACTERS = 4_000
"""Maximum length of a text in a list; texts to decide on are never cut."""
_MOST_PLACES = 2
"""Lines that differ in more places are shown as a whole, old and new."""
_MOST_DIGITS = 10
_SIGNS = {ChangeKind.ADDED: "+", ChangeKind.REPLACED: "~", ChangeKind.REMOVED: "−"}
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
    change: FactChange
    sign: str
    key: str | None
    pieces: tuple[Piece, ...]
    source: SourceMark


@dataclass(frozen=True, slots=True)
class FilterLink:
    words: str
    address: str
    is_set: bool


def change_row(change: FactChange) -> ChangeRow:
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
_MOST_KEPT = 20


def kept(reader: Reader, ask: Callable[P, T], *args: P.args, **keywords: P.kwargs) -> T:
    """The answer of `ask`, or its last one, while HEAD, proposals, files, settings and day stay."""
    question, started = (ask.__qualname__, args, tuple(keywords.items())), time.time_ns()
    workspace = reader.memory.workspace
    look, stamps = _look(workspace)
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
    tells moments.
    """

    name: str
    now: datetime
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
    )


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
