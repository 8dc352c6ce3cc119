"""The nouns of mdmem: frozen dataclasses, enumerations and new types. Nothing here touches the world.

What every verb needs is here; the arguments and answers of the verbs are in rooms by what is done: a command loads those it needs.

Paths are POSIX paths relative to the workspace; lines are counted from 1; days are the user's own days.
"""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import NewType

from mdmem.startup.records import dataclass

CommitId = NewType("CommitId", str)
FactId = NewType("FactId", str)
FilePath = NewType("FilePath", str)
SectionPath = tuple[str, ...]
"""The headings from the outermost to the section itself, as written. The empty path is the text before the first heading."""

PATH_SEPARATOR = " > "
SETTINGS_NAME = "mdmem.toml"


class FileKind(StrEnum):
    """What a Markdown file of the workspace is to memory."""

    EVERGREEN = "evergreen"
    DAILY = "daily"
    PROFILE = "profile"
    BOOTSTRAP = "bootstrap"
    OTHER = "other"

    @property
    def is_memory(self) -> bool:
        """Whether files of this kind are indexed and guarded."""
        return self is not FileKind.OTHER


class Source(StrEnum):
    """Where a statement comes from, strongest first."""

    USER_STATED = "user-stated"
    INFERRED = "inferred"
    AUTO = "auto"

    @property
    def confidence(self) -> float:
        """The default confidence of this source, from 0 to 1."""
        return {Source.USER_STATED: 0.95, Source.INFERRED: 0.7, Source.AUTO: 0.4}[self]


class Status(StrEnum):
    """Whether an occurrence of a fact still holds."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    REMOVED = "removed"


class Op(StrEnum):
    """What a commit of mdmem did (`Mdmem-Op`)."""

    REPLACE = "replace"
    APPEND = "append"
    PREPEND = "prepend"
    RENAME = "rename"
    DELETE = "delete"
    CREATE = "create"
    LOG = "log"
    REMEMBER = "remember"
    FORGET = "forget"
    INIT = "init"
    REVERT = "revert"
    SUPERSEDE = "supersede"
    RETRACT = "retract"
    CONTRADICT = "contradict"
    RESOLVE = "resolve"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who says so and how surely; kept in the trailers of the commit that brings a line in."""

    source: Source = Source.INFERRED
    confidence: float = Source.INFERRED.confidence
    actor: str | None = None
    session: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One list item as a statement. `text` holds the key, but no list marker, kind, tags, comment or block id."""

    id: FactId
    text: str
    key: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Supersession:
    """A fact and the one that took its place."""

    old: FactId
    new: FactId


@dataclass(frozen=True, slots=True)
class Problem:
    """Something unacceptable (`error`) or doubtful (`warning`) in a file or in a change to it.

    `line` counts from 1; `kind` is what kind of secret was found.
    """

    path: str
    line: int
    code: str
    level: str
    message: str
    hint: str = ""
    kind: str | None = None
