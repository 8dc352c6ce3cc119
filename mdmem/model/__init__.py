"""The nouns of mdmem: frozen dataclasses, enumerations and new types. Nothing here touches the
world.

This module has what every verb needs; the arguments and results of the verbs are in modules of
their own, and a command loads its own.

Paths are POSIX paths relative to the workspace; lines are counted from 1; days are the user's own
days.
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
"""The headings from the outermost to the section itself, as written. The empty path is the text
before the first heading.
"""

PATH_SEPARATOR = " > "
SETTINGS_NAME = "mdmem.toml"
RUNS_NAME = "runs.jsonl"
"""In the state folder, once a step of a pipeline was carried out."""


class FileKind(StrEnum):
    """The kinds of Markdown files in a workspace."""

    EVERGREEN = "evergreen"
    DAILY = "daily"
    PROFILE = "profile"
    BOOTSTRAP = "bootstrap"
    OTHER = "other"

    @property
    def is_memory(self) -> bool:
        """True if files of this kind are indexed and guarded."""
        return self is not FileKind.OTHER


class Source(StrEnum):
    """The sources of a statement, strongest first."""

    USER_STATED = "user-stated"
    INFERRED = "inferred"
    AUTO = "auto"

    @property
    def confidence(self) -> float:
        """The default confidence of this source, from 0 to 1."""
        return {Source.USER_STATED: 0.95, Source.INFERRED: 0.7, Source.AUTO: 0.4}[self]

    @property
    def strength(self) -> int:
        """A number that is greater for a stronger source."""
        return {Source.USER_STATED: 2, Source.INFERRED: 1, Source.AUTO: 0}[self]


class Status(StrEnum):
    """The states of a fact in one place."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    REMOVED = "removed"


class Op(StrEnum):
    """The operations of mdmem's commits (`Mdmem-Op`)."""

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
    CONFIRM = "confirm"
    SAVE = "save"
    DIGEST = "digest"
    PROPOSE = "propose"
    ACCEPT = "accept"
    REJECT = "reject"
    MEMORY_TOOL = "memory-tool"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The provenance of a statement: source, confidence, who made it and why. The commit that
    brings in a line has it in its trailers.
    """

    source: Source = Source.INFERRED
    confidence: float = Source.INFERRED.confidence
    actor: str | None = None
    session: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One list item as a statement. `text` holds the key, but no list marker, kind, tags, comment
    or block id.
    """

    id: FactId
    text: str
    key: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Supersession:
    """A fact and its successor."""

    old: FactId
    new: FactId


@dataclass(frozen=True, slots=True)
class OtherReading:
    """Something else that a word could mean, and the name of that.

    The sorts are a `section` (its path), a `key` (the fact that holds it), a fact by its `id`, the
    `place` of a fact (`FILE:LINE`), a `day`.
    """

    sort: str
    name: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something unacceptable (`error`) or doubtful (`warning`) in a file or in a change to it.

    `line` counts from 1; `kind` is the kind of a secret.
    """

    path: str
    line: int
    code: str
    level: str
    message: str
    hint: str = ""
    kind: str | None = None
