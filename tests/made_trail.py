"""Trails made for tests: their commits, entries, occurrences, revisions and marks; and every call
on one.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from mdmem.model import CommitId, FactId, FilePath, Source
from mdmem.model.trail import (
    Entry,
    Mark,
    MarkKind,
    Occurrence,
    Origin,
    Revision,
    StatedRevert,
    TrailCommit,
)
from mdmem.past.steps import Step
from mdmem.past.table import Trail

ODD = "caf\xe9 \udce9 \ud83d \x00 \U0001f600 [\"']\u2028"
PATHS = [FilePath("MEMORY.md"), FilePath("memory/2026-03-05.md"), FilePath(f"memory/{ODD}.md")]
FACTS = [FactId(digits * 4) for digits in ("aa", "ab", "b0", "c1")]


def commit_id(number: int) -> CommitId:
    return CommitId(f"{number:040x}")


def trail_commit(number: int, time: int | None = None) -> TrailCommit:
    """A commit of one line."""
    time = 1000 + number if time is None else time
    return TrailCommit(
        number=number,
        commit=commit_id(number),
        time=time,
        author=f"Ada {ODD}",
        message=f"Subject {number}\n\nMdmem-Op: log\n",
        committed=time,
        moment=time,
        parents=(number - 1,) if number > 1 else (),
    )


def entry(
    text: str = "works at Stripe",
    path: FilePath = PATHS[0],
    fact: FactId | None = FACTS[0],
    **fields: Any,
) -> Entry:
    usual = Entry(
        path=path,
        start_line=3,
        end_line=4,
        section=("Memory", "Work"),
        day=None,
        text=text,
        kind=None,
        key=None,
        tags=(),
        until=None,
        fact=fact,
        first_line=f"- {text}",
    )
    return replace(usual, **fields)


def origin(number: int) -> Origin:
    return Origin(
        commit=trail_commit(number).commit,
        time=1000 + number,
        source=Source.INFERRED,
        confidence=0.7,
    )


def occurrence(begun: int, text: str = "works at Stripe", **fields: Any) -> Occurrence:
    return Occurrence(entry=entry(text, **fields), begun=begun, origin=origin(begun))


def revision(
    begun: int, text: str = "## Work\n\n- works at Stripe\n", lineage: int = 0, **fields: Any
) -> Revision:
    usual = Revision(
        lineage=lineage, begun=begun, path=PATHS[0], section=("Memory", "Work"), nth=1, text=text
    )
    return replace(usual, **fields)


def mark(kind: MarkKind, begun: int, occurrence: int = 0, other: FactId | None = FACTS[1]) -> Mark:
    """A mark that commit `begun` states."""
    return Mark(
        kind=kind,
        commit=commit_id(begun),
        begun=begun,
        fact=FACTS[0],
        other=other,
        occurrence=occurrence,
    )


def stated_revert(number: int, reverted: int) -> StatedRevert:
    """A revert that commit `number` states."""
    return StatedRevert(commit_id(number), commit_id(reverted))


@pytest.fixture
def trail() -> Iterator[Trail]:
    with Trail.in_memory() as empty:
        yield empty


def append_steps(trail: Trail, *steps: Step) -> None:
    """Append steps after the newest commit."""
    newest = trail.newest_commit
    for number, step in enumerate(steps, (newest.number if newest else 0) + 1):
        trail.append(trail_commit(number), step)


PATH = FilePath("memory/3.md")
CALLS: dict[str, Callable[[Trail], object]] = {
    "newest_commit": lambda trail: trail.newest_commit,
    "commit_numbered": lambda trail: trail.commit_numbered(30),
    "commit_with_id": lambda trail: trail.commit_with_id(trail_commit(30).commit),
    "order": lambda trail: trail.order(30),
    "last_commit_upto": lambda trail: trail.last_commit_upto(1030),
    "moments": lambda trail: trail.moments.of(30),
    "live_occurrences": lambda trail: trail.live_occurrences(PATH),
    "live_revisions": lambda trail: trail.live_revisions(PATH),
    "contested_in": lambda trail: trail.contested_in(PATH),
    "all_began_at": lambda trail: trail.all_began_at(PATH, 3),
    "occurrences_of": lambda trail: trail.occurrences_of(FactId(f"{30:08x}")),
    "occurrences_with_key": lambda trail: trail.occurrences_with_key("employer"),
    "ids_with_prefix": lambda trail: trail.ids_with_prefix("0000001"),
    "occurrences_ended": lambda trail: trail.occurrences_ended(20, 25),
    "change_states": lambda trail: trail.change_states(
        trail.newest_commit.number - 3 if trail.newest_commit else 0, 2**40
    ),
    "predecessors_of": lambda trail: trail.predecessors_of(FactId(f"{30:08x}")),
    "merge_of on one line": lambda trail: trail.merge_of(30, 0),
    "promotions_of": lambda trail: trail.promotions_of(FactId(f"{30:08x}")),
    "promoted_to": lambda trail: trail.promoted_to(FactId(f"{30:08x}")),
    "promoted_in": lambda trail: trail.promoted_in(PATH),
    "reverts_of": lambda trail: trail.reverts_of(commit_id(30)),
    "facts_with_copies": lambda trail: trail.facts_with_copies(
        trail.newest_commit.number - 3 if trail.newest_commit else 0
    ),
    "replaced_by_several": lambda trail: trail.replaced_by_several([((20, 22),), ((23, 25),)]),
    "marks": lambda trail: trail.marks(),
    "marks in a file": lambda trail: trail.marks(PATH),
    "marks_of": lambda trail: trail.marks_of(30),
    "stated_marks_of": lambda trail: trail.stated_marks_of(30),
    "marks_of with ended ones": lambda trail: trail.marks_of(30, include_ended=True),
    "marks_stated_by": lambda trail: trail.marks_stated_by(commit_id(30)),
    "commits_with_marks_from": lambda trail: trail.commits_with_marks_from(30),
    "stating_commit": lambda trail: trail.stating_commit(f"{30:040x}"[:39]),
    "pair_marks": lambda trail: trail.pair_marks(),
    "pair_marks of a past": lambda trail: trail.pair_marks(((1, 30),)),
    "revisions": lambda trail: trail.revisions(3, 3),
    "newest_revisions": lambda trail: trail.newest_revisions(),
    "newest_revisions of a file": lambda trail: trail.newest_revisions(PATH),
    "paths_since": lambda trail: trail.paths_since(
        trail.newest_commit.number - 3 if trail.newest_commit else 0
    ),
    "dropped_commits": lambda trail: trail.dropped_commits(),
    "cut": lambda trail: trail.cut(trail.newest_commit.number - 3 if trail.newest_commit else 0),
    "append": lambda trail: append_steps(
        trail,
        Step(begun=(occurrence(trail.newest_commit.number + 1 if trail.newest_commit else 1),)),
    ),
}
