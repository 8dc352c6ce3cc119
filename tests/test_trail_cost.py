"""What calls on the trail cost: what they return or change, whatever else it holds."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from made_trail import (
    CALLS,
    append_steps,
    commit_id,
    entry,
    mark,
    occurrence,
    revision,
    stated_revert,
)

from mdmem.model import FactId, FilePath
from mdmem.model.trail import Fate, Mark, MarkKind
from mdmem.past.steps import Ending, Step
from mdmem.past.storage import TRAIL_NAME
from mdmem.past.table import Trail


def test_revisions_of_a_long_section_cost_what_changes(tmp_path: Path):
    lines = [f"- item {number} of a list that only grows\n" for number in range(2000)]
    with Trail.open(tmp_path, "s") as trail, trail.writing():
        pass
    empty = (tmp_path / TRAIL_NAME).stat().st_size
    with Trail.open(tmp_path, "s") as trail, trail.writing():
        append_steps(trail, Step(revisions=(revision(1, "".join(lines)),)))
        for number in range(2, 202):
            lines.append(f"- item {number}, new\n")
            if number % 2:
                lines[number * 7] = lines.pop()
            append_steps(
                trail,
                Step(
                    ended_revisions=(number - 1,), revisions=(revision(number, "".join(lines), 1),)
                ),
            )
    with Trail.open(tmp_path, "s") as trail:
        assert trail.revisions(1, 1)[0].text == "".join(lines)
        assert len({revision.text for revision in trail.revisions(1)}) == 201
    assert (tmp_path / TRAIL_NAME).stat().st_size - empty < 12_000 + 3 * len("".join(lines))


def _filled(commits: int) -> Trail:
    """A trail of so many commits, each of which replaces one entry and one section of the ten that
    there are, in a file of its own.
    """
    trail = Trail.in_memory()
    with trail.writing():
        for number in range(1, commits + 1):
            path = FilePath(f"memory/{number % 10}.md")
            fact = FactId(f"{number:08x}")
            old = number - 10
            append_steps(
                trail,
                Step(
                    ended=(Ending(old, entry(path=path), Fate.SUPERSEDED, fact),)
                    if old > 0
                    else (),
                    begun=(occurrence(number, fact=fact, path=path),),
                    ended_revisions=(old,) if old > 0 else (),
                    revisions=(
                        revision(
                            number,
                            f"## Work\n\n{number}\n",
                            (old - 1) % 10 + 1 if old > 0 else 0,
                            path=path,
                        ),
                    ),
                    marks=_first_marks(number),
                    reverts=(stated_revert(number, number // 2),),
                    reverted_commits=(commit_id(number // 2),),
                    paths=(path,),
                ),
            )
    return trail


def _first_marks(number: int) -> tuple[Mark, ...]:
    if number > 50:
        return ()
    return (
        mark(MarkKind.RETRACTED, number, -1) if number % 10 else mark(MarkKind.CONTRADICTS, number),
    )


def _instructions(trail: Trail, call: Callable[[Trail], object]) -> int:
    """Count the instructions of SQLite's virtual machine, which are the same on every computer."""
    instructions = 0

    def count() -> int:
        nonlocal instructions
        instructions += 1
        return 0

    trail._store._connection.set_progress_handler(count, 1)
    call(trail)
    trail._store._connection.set_progress_handler(None, 0)
    return instructions


@pytest.fixture(scope="module")
def small_and_large() -> Iterator[tuple[Trail, Trail]]:
    with _filled(100) as small, _filled(1600) as large:
        yield small, large


@pytest.mark.parametrize("name", CALLS)
def test_a_call_costs_what_it_returns_whatever_the_trail_holds(
    name: str, small_and_large: tuple[Trail, Trail]
):
    in_small, in_large = (_instructions(trail, CALLS[name]) for trail in small_and_large)
    assert in_large <= 1.3 * in_small + 10
