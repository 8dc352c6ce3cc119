"""The nouns of mdmem: frozen dataclasses, enumerations and new types. Nothing here does I/O.

Paths are POSIX paths relative to the workspace; lines count from 1; days are the user's own.
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
"""Headings from the outermost to the section's own; empty: the text before the first heading."""

PATH_SEPARATOR = " > "
SETTINGS_NAME = "mdmem.toml"
RUNS_NAME = "runs.jsonl"
MAX_FILE_BYTES = 5_000_000
"""Larger files are neither edited nor indexed."""


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

    done: str

    def __new__(cls, name: str, done: str = "") -> Op:
        """`done`: the words for it in answers."""
        op = str.__new__(cls, name)
        op._value_, op.done = name, done
        return op

    REPLACE = "replace", "changed"
    APPEND = "append", "appended to"
    PREPEND = "prepend", "prepended to"
    RENAME = "rename", "renamed"
    LINKS = "links", "renamed"
    """A heading, with the links to it."""
    DELETE = "delete", "deleted"
    CREATE = "create", "created"
    LOG = "log", "logged to"
    REMEMBER = "remember", "remembered in"
    FORGET = "forget", "removed a fact from"
    INIT = "init", "set up"
    REVERT = "revert", "reverted changes in"
    SUPERSEDE = "supersede", "marked as superseded in"
    RETRACT = "retract", "marked as forgotten in"
    CONTRADICT = "contradict", "marked as a contradiction in"
    RESOLVE = "resolve", "resolved a contradiction in"
    CONFIRM = "confirm", "confirmed a fact in"
    SAVE = "save", "saved edits in"
    DIGEST = "digest", "added to"
    PROPOSE = "propose", "proposed a change to"
    ACCEPT = "accept", "accepted a change to"
    REJECT = "reject", "rejected a change to"
    MEMORY_TOOL = "memory-tool", "changed"
    SYNC = "sync", "synced"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The source, confidence, author and reason of a statement, kept in its commit's trailers."""

    source: Source = Source.INFERRED
    confidence: float = Source.INFERRED.confidence
    actor: str | None = None
    session: str | None = None
    reason: str | None = None


class SignatureState(StrEnum):
    """The answers about a commit's signature."""

    SIGNED = "signed"
    """Good, by a key that the signers' file or the user's keyring names."""
    UNKNOWN_KEY = "unknown-key"
    """Good, by a key that is not known, has expired or was revoked, or that is missing."""
    UNSIGNED = "unsigned"
    BAD = "bad"
    """The signature is not one of this commit."""
    UNCHECKED = "unchecked"
    """git was not asked yet; counts as unsigned."""


@dataclass(frozen=True, slots=True)
class Signature:
    """`by`: the principal in the signers' file (SSH), else the fingerprint of the key (None: of no
    or a bad signature, or git does not know it).
    """

    state: SignatureState
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One list item. `text` has the key, but no list marker, kind, tags, comment or block id."""

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
    """Another meaning of a word: a section path, key, fact id, place (`FILE:LINE`) or day."""

    sort: str
    name: str


@dataclass(frozen=True, slots=True)
class Problem:
    """An `error` or a `warning` in a file or in a change to it; `kind` is the kind of a secret.

    `is_planned`: no file has the line yet.
    """

    path: str
    line: int
    code: str
    level: str
    message: str
    hint: str = ""
    kind: str | None = None
    is_planned: bool = False
