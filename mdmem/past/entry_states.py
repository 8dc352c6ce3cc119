"""Match the entries of a file on disk to the occurrences that the trail has of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from mdmem.editors.pairs import pair_by_key
from mdmem.model import FactId, FilePath
from mdmem.model.trail import Entry, Mark, Occurrence
from mdmem.startup.records import dataclass
from mdmem.text.document import with_line_end

if TYPE_CHECKING:
    from mdmem.past.table import Trail


@dataclass(frozen=True, slots=True)
class EntryState:
    """The occurrence of an entry (None: in no commit), and the marks on it, ended ones too.

    `committed`: a commit has it word for word. `promoted`: the curated fact that replaces it.
    """

    occurrence: Occurrence | None = None
    marks: tuple[Mark, ...] = ()
    committed: bool = False
    promoted: FactId | None = None

    @property
    def mark(self) -> Mark | None:
        return next((mark for mark in self.marks if mark.ended is None), None)


def identity_on_disk(entry: Entry) -> Hashable:
    """The part of an entry that is the same on disk and in a commit."""
    return entry.section, with_line_end(entry.text, "\n"), entry.first_line


def marks_by_occurrence(trail: Trail, path: FilePath) -> dict[int, tuple[Mark, ...]]:
    """The marks on live occurrences in a file, ended ones too, by the occurrences' rows."""
    marks: dict[int, tuple[Mark, ...]] = defaultdict(tuple)
    for mark in trail.marks(path, include_ended=True):
        marks[mark.occurrence] += (mark,)
    return marks


def match_entries(
    trail: Trail, path: FilePath, entries: Sequence[Entry]
) -> tuple[tuple[EntryState, ...], tuple[EntryState, ...]]:
    """The state of each entry of a file, and the states of what only HEAD has there.

    An entry matches the occurrence with the same words in the same place, else one of the same fact
    in the same section: a pending edit of its tags or spacing keeps its marks. Of several equal
    ones each is matched once, in order.
    """
    marks, promoted = marks_by_occurrence(trail, path), trail.promoted_in(path)
    exact, rest, unmatched = pair_by_key(
        enumerate(entries),
        trail.live_occurrences(path),
        lambda entry: identity_on_disk(entry[1]),
        lambda occurrence: identity_on_disk(occurrence.entry),
    )
    of_fact, _, removed = pair_by_key(
        rest,
        unmatched,
        lambda entry: _fact_in_section(entry[1]),
        lambda occurrence: _fact_in_section(occurrence.entry),
    )
    states = {
        index: EntryState(
            occurrence, marks[occurrence.number], committed, promoted.get(occurrence.number)
        )
        for committed, pairs in ((True, exact), (False, of_fact))
        for (index, _), occurrence in pairs
    }
    return (
        tuple(states.get(index, EntryState()) for index in range(len(entries))),
        tuple(EntryState(occurrence, marks[occurrence.number]) for occurrence in removed),
    )


def _fact_in_section(entry: Entry) -> Hashable:
    return (entry.section, entry.fact) if entry.fact else object()  # like no other
