"""Dreams: entries of ended days that become curated memory; arguments and results."""

from __future__ import annotations

from datetime import date
from enum import StrEnum

from mdmem.model import CommitId, FactId, FilePath, SectionPath, Source
from mdmem.model.rules import require_possible_day
from mdmem.startup.records import dataclass

TOO_MANY_CHANGES = "too-many-changes"
"""The outcome of a night that would change more than the setting `dream_changes` allows, and proposes all of it."""
STANDS, STANDS_REWORDED = "it is already in memory", "it is already in memory in other words"
WAITS, SAID_BESIDES = "it is already proposed", "another entry says the same"
TOO_MANY_WAIT = "too many open proposals"
DOUBLED = frozenset((STANDS, STANDS_REWORDED, WAITS, SAID_BESIDES))
"""Why an entry is left: its words are there."""
MOST_STANDING_PARTS = 100
"""The most open parts that the proposal of a machine's dreams has."""


class DreamOp(StrEnum):
    """The fates of an entry. NONE leaves it where it is."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NONE = "NONE"


@dataclass(frozen=True, slots=True)
class Dream:
    """Take entries of ended days into curated memory.

    - `days`: ISO dates or past days in words, whose entries are judged whether they were before or not; none means yesterday and what came since
      the last dream.
    - `apply`: True carries out what is sure, False proposes everything; None is as the settings have it.
    - `model`: True asks a model, False does not; None is as the settings have it.
    """

    days: tuple[str, ...] = ()
    apply: bool | None = None
    model: bool | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        """Refuse an impossible day."""
        for day in self.days:
            require_possible_day(day)


@dataclass(frozen=True, slots=True)
class DreamChange:
    """The fate of an entry.

    - `fact`: the one that came in, or would; of a DELETE the one that goes; of a NONE the entry's own. `old`: the one that it replaces.
    - `applied`: it is carried out (or would be), by `commit`. Else it waits in `proposal`; nothing does of a NONE.
    - `why`: in a few words. `cites`: where it was said.
    """

    op: DreamOp
    fact: FactId
    old: FactId | None
    path: FilePath
    section: SectionPath
    text: str
    source: Source
    applied: bool
    why: str
    cites: tuple[str, ...]
    commit: CommitId | None = None
    proposal: str | None = None


@dataclass(frozen=True, slots=True)
class DreamResult:
    """The outcome of a night: its `run` as commits name it, its days, and the fate of each entry.

    - `requests`, `size`: those sent to a model, and their bytes; in a dry run those that would be. `tokens`: what they cost; `refused`: the
      suggestions of the model that code did not take.
    - `outcome`: empty, or the code of what kept some of it back, with `message`.
    """

    run: str
    days: tuple[date, ...]
    changes: tuple[DreamChange, ...]
    requests: int = 0
    size: int = 0
    tokens: int = 0
    refused: int = 0
    outcome: str = ""
    message: str = ""
    dry_run: bool = False

    @property
    def commits(self) -> tuple[CommitId, ...]:
        """The commits on the branch of memory itself."""
        return tuple(change.commit for change in self.changes if change.applied and change.commit is not None)
