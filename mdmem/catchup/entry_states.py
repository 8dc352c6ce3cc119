"""What stands in a file on disk, joined to the occurrences that the trail knows of it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence

from mdmem.document import with_line_end
from mdmem.model import FilePath
from mdmem.model.trail import Entry, Mark, Occurrence
from mdmem.startup.records import dataclass
from mdmem.trail import Trail


@dataclass(frozen=True, slots=True)
class EntryState:
    """What is known of one entry: its occurrence (None: no commit has it), and what commits say of that, or said and took back.

    `committed`: word for word.
    """

    occurrence: Occurrence | None = None
    marks: tuple[Mark, ...] = ()
    committed: bool = False

    @property
    def mark(self) -> Mark | None:
        """The one in force."""
        return next((mark for mark in self.marks if mark.ended is None), None)


def entry_identity(entry: Entry) -> Hashable:
    """What makes an entry of a file on disk the same as one of a commit."""
    return entry.section, with_line_end(entry.text, "\n"), entry.first_line


def marks_by_occurrence(known: Trail, path: FilePath) -> dict[int, tuple[Mark, ...]]:
    """What commits say, or said, of the occurrences that stand in a file, by their rows."""
    found: dict[int, tuple[Mark, ...]] = defaultdict(tuple)
    for mark in known.marks(path, include_ended=True):
        found[mark.occurrence] += (mark,)
    return found


def _fact(entry: Entry) -> Hashable:
    return (entry.section, entry.fact) if entry.fact else None


def match_entries(known: Trail, path: FilePath, listed: Sequence[Entry]) -> tuple[tuple[EntryState, ...], tuple[EntryState, ...]]:
    """What is known of each entry of a file, and of what a commit has there and the file has not.

    An entry is the occurrence with the same words in the same place, else one of the same fact in the same section, of which somebody
    has changed tags or spacing and has not committed it: a mark goes along with it. Of several alike each is taken once, in order.
    """
    marks = marks_by_occurrence(known, path)
    left = {one.number: one for one in known.live_occurrences(path)}
    found: dict[int, EntryState] = {}
    for key, committed in ((entry_identity, True), (_fact, False)):
        for place, one in _matched(key, listed, found, left):
            del left[one.number]
            found[place] = EntryState(one, marks[one.number], committed)
    gone = tuple(EntryState(one, marks[one.number]) for one in left.values())
    return tuple(found.get(place, EntryState()) for place in range(len(listed))), gone


def _matched(
    key: Callable[[Entry], Hashable], listed: Sequence[Entry], found: dict[int, EntryState], left: dict[int, Occurrence]
) -> list[tuple[int, Occurrence]]:
    waiting: dict[Hashable, deque[Occurrence]] = defaultdict(deque)
    for one in left.values():
        waiting[key(one.entry)].append(one)
    pairs = []
    for place, entry in enumerate(listed):
        same = key(entry) if place not in found else None
        if same is not None and waiting[same]:
            pairs.append((place, waiting[same].popleft()))
    return pairs
