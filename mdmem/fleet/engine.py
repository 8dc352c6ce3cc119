"""Ten calls of the engine that keeps the rows of a fleet. Words, rights and ranking are mdmem's;
storing, counting and scoring the engine's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple, Protocol

from mdmem.index.indexer import FileFields
from mdmem.index.query import Filter
from mdmem.index.snapshot import INDEX_VERSION
from mdmem.model import CommitId, FilePath
from mdmem.startup.records import dataclass

FORM = INDEX_VERSION
"""Of the rows; a repository with another one is indexed again, whole."""

Readable = tuple[str, ...] | None
"""The repositories that the asker may read, sorted; None: all that there are."""

Term = tuple[str, str]
"""Field and term."""


class Held(NamedTuple):
    """A repository as the engine has it."""

    commit: CommitId
    form: int


@dataclass(frozen=True, slots=True)
class Change:
    """A repository brought from the commit `before` (None: it was not there) to `commit`.

    `files` replace those of their paths, `gone` are taken out; `whole`: nothing else stays.
    """

    repository: str
    before: CommitId | None
    commit: CommitId
    files: Sequence[FileFields] = ()
    gone: Sequence[FilePath] = ()
    whole: bool = False


class Totals(NamedTuple):
    """The number of entries, and of the terms in each field."""

    documents: int
    tokens: Mapping[str, float]

    def average(self, field: str) -> float:
        return self.tokens.get(field, 0) / max(1, self.documents)


class FleetTerm(NamedTuple):
    """A term with its part of the score before saturation: weight times rarity."""

    field: str
    term: str
    worth: float


class FleetCandidate(NamedTuple):
    """An entry by its BM25 score; `numbers` by the names of the schema, `key` for `shown`.

    `tie`: orders equal scores, by repository, path and line, the same after each indexing.
    """

    score: float
    tie: int
    numbers: Mapping[str, Any]
    key: Any


NUMBERS = ("day", "logged", "last", "cues", "factor", "passage")


class Engine(Protocol):
    """Every call raises FleetProblem where the engine cannot answer, and writes nothing then.

    `answering`: the shards that the last `candidates` are from.
    """

    answering: int

    def make(self) -> None:
        """Make what is missing of the folder or the tables."""

    def held(self) -> Mapping[str, Held]: ...

    def put(self, changes: Sequence[Change]) -> None:
        """Bring repositories to their commits, each as a whole or not at all.

        A repository that is no longer at `before` is left as it is.
        """

    def drop(self, repositories: Collection[str]) -> None: ...

    def totals(self, readable: Readable) -> Totals: ...

    def counts(self, terms: Collection[Term], readable: Readable) -> Mapping[Term, int]:
        """The number of readable entries with each term."""

    def beginning(self, start: str, readable: Readable) -> Sequence[str]:
        """Some words of texts that begin so, which only `counts` says to be readable."""

    def candidates(
        self,
        asked: Sequence[FleetTerm],
        totals: Totals,
        passing: tuple[Filter, date],
        readable: Readable,
        limit: int,
    ) -> Sequence[FleetCandidate]:
        """The best readable entries by BM25 that pass a filter on a day, best first.

        `totals` give the average lengths.
        """

    def shown(self, keys: Sequence[Any]) -> Sequence[tuple[str, bytes]]:
        """Repository and stored row of each candidate."""

    def purge(self) -> None:
        """Take from the disks what no commit names any more."""

    def describe(self) -> Mapping[str, int]:
        """Its `bytes`, `shards`, and how many of these are `answering`."""
