"""The table of versions: what is appended is read, a cut takes it back, and no state of its file is more than a cache lost."""

import contextlib
import multiprocessing
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdmem import trail
from mdmem.errors import StorageProblem
from mdmem.model import CommitId, FactId, FilePath, Source
from mdmem.model.trail import Commit, Entry, Fate, MainlineCommit, Mark, MarkKind, MergedLine, Occurrence, Origin, Revision
from mdmem.trail import TRAIL_NAME, BrokenTrail, Ending, Step, Trail

ODD = "caf\xe9 \udce9 \ud83d \x00 \U0001f600 [\"']\u2028"
PATHS = [FilePath("MEMORY.md"), FilePath("memory/2026-03-05.md"), FilePath(f"memory/{ODD}.md")]
FACTS = [FactId(digits * 4) for digits in ("aa", "ab", "b0", "c1")]
LINES = ["- one", f"- {ODD}", ""]
SECTIONS = [(), ("Memory",), ("Memory", "Work"), ("Memory", f"# > {ODD}")]


def landmark(number: int, time: int | None = None) -> MainlineCommit:
    when = 1000 + number if time is None else time
    return MainlineCommit(number, CommitId(f"{number:040x}"), when, f"Ada {ODD}", f"Subject {number}\n\nMdmem-Op: log\n")


def entry(text: str = "works at Stripe", path: FilePath = PATHS[0], fact: FactId | None = FACTS[0], **other: Any) -> Entry:
    found = Entry(path, 3, 4, ("Memory", "Work"), None, text, None, None, (), None, fact, f"- {text}")
    return replace(found, **other)


def origin(number: int) -> Origin:
    return Origin(landmark(number).commit, 1000 + number, Source.INFERRED, 0.7)


def occurrence(begun: int, text: str = "works at Stripe", **other: Any) -> Occurrence:
    return Occurrence(entry(text, **other), begun, origin(begun))


def revision(begun: int, text: str = "## Work\n\n- works at Stripe\n", lineage: int = 0, **other: Any) -> Revision:
    return replace(Revision(lineage, begun, PATHS[0], ("Memory", "Work"), 1, text), **other)


def mark(kind: MarkKind, begun: int, occurrence: int = 0, other: FactId | None = FACTS[1]) -> Mark:
    return Mark(kind, begun, FACTS[0], other, occurrence)


def brought(line: str, number: int, path: FilePath = PATHS[0]) -> MergedLine:
    """A line that a merge has from a commit beside the line."""
    return MergedLine(path, line, Commit(CommitId(f"{number:040x}"), 900 + number, f"Bo {ODD}", f"Beside {number}"))


@pytest.fixture
def table() -> Iterator[Trail]:
    with Trail.in_memory() as made:
        yield made


def steps(table: Trail, *listed: Step) -> None:
    """Append steps after the head."""
    head = table.newest_commit
    for number, step in enumerate(listed, (head.number if head else 0) + 1):
        table.append(landmark(number), step)


# A simple model of it.


@dataclass
class Model:
    """The same in plain lists, by appending everything from the start."""

    history: list[tuple[MainlineCommit, Step]]
    occurrences: list[Occurrence] = field(default_factory=list)
    revisions: list[Revision] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    added: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for landmark, step in self.history:
            self._take(landmark, step)

    def _take(self, landmark: MainlineCommit, step: Step) -> None:
        number = landmark.number
        for one in step.ended:
            row = self.occurrences[one.number - 1]
            last = self.history[number - 2][0].commit
            ended = replace(row, entry=one.entry, ended=number, fate=one.fate, successor=one.successor, last=last)
            self.occurrences[one.number - 1] = ended
        for place, old in enumerate(self.marks):
            if old.begun in step.reverted_commits and old.ended is None:
                self.marks[place] = replace(old, ended=number)
        first = len(self.occurrences)
        self.occurrences += [replace(one, number=first + place) for place, one in enumerate(step.begun, 1)]
        for gone in step.ended_revisions:
            self.revisions[gone - 1] = replace(self.revisions[gone - 1], ended=number)
        for begun in step.revisions:
            row_number = len(self.revisions) + 1
            self.revisions.append(replace(begun, number=row_number, lineage=begun.lineage or row_number))
        for new in step.marks:
            self.marks.append(replace(new, occurrence=first - new.occurrence if new.occurrence < 0 else new.occurrence))
            self.added.append(number)

    def latest(self, time: int) -> MainlineCommit | None:
        return next((one for one, _ in reversed(self.history) if one.time <= time), None)

    def in_force(self) -> list[Mark]:
        return [one for one in self.marks if one.ended is None]

    def newest(self) -> list[Revision]:
        last = {one.lineage: one for one in self.revisions}
        return [last[lineage] for lineage in sorted(last)]

    def succeeded_by(self, fact: FactId) -> list[Occurrence]:
        marked = {one.occurrence for one in self.in_force() if one.kind is MarkKind.SUPERSEDED and one.other == fact}
        return [one for one in self.occurrences if one.successor == fact or one.number in marked]

    def paths(self, first: int, last: int) -> set[FilePath]:
        found = {path for one, step in self.history if first <= one.number <= last for path in step.paths}
        for one, added in zip(self.marks, self.added, strict=True):
            if first <= added <= last or (one.ended and first <= one.ended <= last):
                rows = [row for row in self.occurrences if row.ended is None and row.entry.fact in (one.one, one.other)]
                found |= {row.entry.path for row in ([self.occurrences[one.occurrence - 1]] if one.occurrence else rows)}
        changed = {row.entry.fact for row in self.occurrences if self._changed(row, first, last)}
        for one in self.marks:
            if one.kind in (MarkKind.CONTRADICTS, MarkKind.RESOLVED) and one.ended is None:
                others = {b for a, b in ((one.one, one.other), (one.other, one.one)) if a in changed}
                found |= {row.entry.path for row in self.occurrences if row.ended is None and row.entry.fact in others}
        return found

    def _changed(self, row: Occurrence, first: int, last: int) -> bool:
        marks = [(added, one.ended) for one, added in zip(self.marks, self.added, strict=True) if one.occurrence == row.number]
        return any(first <= number <= last for number in (row.begun, row.ended, *(n for mark in marks for n in mark)) if number)


def random_step(number: int, now: Model, random: Random) -> Step:
    """A step that could follow: what ends stands, and what is marked is there."""
    standing = [one for one in now.occurrences if one.ended is None]
    there = [one for one in now.revisions if one.ended is None]
    ended = tuple(
        Ending(
            one.number,
            replace(one.entry, start_line=random.randrange(99), end_line=99, tags=("later",), until=date(2027, 1, 1)),
            random.choice(list(Fate)),
            random.choice([None, *FACTS]),
        )
        for one in random.sample(standing, min(len(standing), random.randrange(3)))
    )
    begun = tuple(random_occurrence(number, random) for _ in range(random.randrange(4)))
    gone = random.sample(there, min(len(there), random.randrange(3)))
    lineages = [one.lineage for one in gone if random.random() < 0.8]
    made = tuple(random_revision(number, lineage, random) for lineage in (*lineages, *([0] * random.randrange(2))))
    places = [*(-place for place in range(1, len(begun) + 1)), *(one.number for one in now.occurrences[-5:])]
    marks = tuple(random_mark(random.randint(1, number), places, random) for _ in range(random.randrange(3)))
    cleared = tuple(sorted(random.sample(range(1, number + 1), min(number, random.randrange(2)))))
    paths = tuple(random.sample(PATHS, random.randrange(3)))
    merged = random.sample(PATHS, random.randrange(3))
    lines = tuple(brought(random.choice(LINES), number * 1000 + random.randrange(2), path) for path in merged)
    return Step(ended, begun, tuple(one.number for one in gone), made, marks, cleared, paths, lines)


def random_occurrence(number: int, random: Random) -> Occurrence:
    found = Entry(
        path=random.choice(PATHS),
        start_line=random.randrange(50),
        end_line=50,
        section=random.choice(SECTIONS),
        day=random.choice([None, date(2026, 3, 5)]),
        text=random.choice([ODD, "", "text"]),
        kind=random.choice([None, "fact"]),
        key=random.choice([None, f"key {ODD}"]),
        tags=random.choice([(), ("a", ODD)]),
        until=random.choice([None, date(2026, 4, 1)]),
        fact=random.choice([None, *FACTS]),
        first_line=f"- {ODD}",
    )
    return Occurrence(found, number, replace(origin(number), source=random.choice(list(Source))), random.random() < 0.5)


def random_revision(number: int, lineage: int, random: Random) -> Revision:
    text = "".join(random.choice(["- one\n", f"- {ODD}\n", "- two\n", "x" * 5000]) for _ in range(random.randrange(5)))
    quiet = bool(lineage) and random.random() < 0.3
    return Revision(lineage, number, random.choice(PATHS), random.choice(SECTIONS), random.randint(1, 2), text, quiet)


def random_mark(begun: int, places: list[int], random: Random) -> Mark:
    if places and random.random() < 0.6:
        kind = random.choice([MarkKind.SUPERSEDED, MarkKind.RETRACTED])
        return Mark(kind, begun, random.choice(FACTS), random.choice([None, *FACTS]), random.choice(places))
    return Mark(random.choice([MarkKind.CONTRADICTS, MarkKind.RESOLVED]), begun, random.choice(FACTS), random.choice(FACTS))


def require_equal(table: Trail, model: Model) -> None:
    """Every reading call says what the model says."""
    history = [one for one, _ in model.history]
    assert table.newest_commit == (history[-1] if history else None)
    assert list(table.commits_after()) == history
    assert list(table.commits_after(1, 2)) == history[1:3]
    for number in range(len(history) + 2):
        assert table.commit_numbered(number) == (history[number - 1] if 1 <= number <= len(history) else None)
        assert table.paths_since(number) == model.paths(number + 1, len(history))
        ended = [one for one in model.occurrences if one.ended and number < one.ended <= number + 2]
        assert list(table.occurrences_ended(number, number + 2)) == sorted(ended, key=lambda one: (one.ended, one.number))
    for commit in (*(one.commit for one in history), CommitId("none")):
        assert table.commit_with_id(commit) == next((one for one in history if one.commit == commit), None)
    for landmark, step in model.history:
        for path in PATHS:
            of_file = {one.line: one.commit for one in step.merged_lines if one.path == path}
            assert [table.side_commit_of_line(landmark.number, path, line) for line in LINES] == [of_file.get(line) for line in LINES]
    sides = {one.commit.id: one.commit for _, step in model.history for one in step.merged_lines}
    for commit in (*sides, CommitId("none")):
        assert table.side_commit(commit) == sides.get(commit)
    for time in {0, 2000, *(one.time + by for one in history for by in (-1, 0))}:
        assert table.last_commit_before(time) == model.latest(time)
    for path in PATHS:
        assert list(table.live_occurrences(path)) == [one for one in model.occurrences if one.entry.path == path and one.ended is None]
        standing = [one for one in model.revisions if one.path == path and one.ended is None]
        assert list(table.live_revisions(path)) == standing
        assert list(table.live_revisions(path, SECTIONS[:1])) == [one for one in standing if one.section == SECTIONS[0]]
        begun = {one.begun for one in model.occurrences if one.entry.path == path and one.ended is None}
        assert all(table.all_began_at(path, number) == (begun <= {number}) for number in range(len(history) + 1))
        ever = {one.lineage for one in model.revisions if one.path == path}
        assert list(table.newest_revisions(path)) == [one for one in model.newest() if one.lineage in ever]
        rows = {one.number for one in model.occurrences if one.entry.path == path and one.ended is None}
        assert list(table.marks(path)) == [one for one in model.in_force() if one.occurrence in rows]
        assert list(table.marks(path, include_ended=True)) == [one for one in model.marks if one.occurrence in rows]
    for fact in FACTS:
        assert list(table.occurrences_of(fact)) == [one for one in model.occurrences if one.entry.fact == fact]
        assert list(table.predecessors_of(fact)) == model.succeeded_by(fact)
    for prefix in ("", "a", "aa", *FACTS, "d"):
        assert list(table.ids_with_prefix(prefix)) == sorted(
            {fact for one in model.occurrences if (fact := one.entry.fact) and fact.startswith(prefix)}
        )
    assert list(table.marks()) == model.in_force()
    pairs = [one for one in model.marks if one.kind in (MarkKind.CONTRADICTS, MarkKind.RESOLVED)]
    assert list(table.pair_marks()) == [one for one in pairs if one.ended is None]
    for number in range(len(model.history) + 1):
        then = [one for one in pairs if one.begun <= number and (one.ended is None or one.ended > number)]
        assert list(table.pair_marks(number)) == then
    for row in range(1, len(model.occurrences) + 1):
        assert list(table.marks_of(row)) == [one for one in model.in_force() if one.occurrence == row]
        assert list(table.marks_of(row, include_ended=True)) == [one for one in model.marks if one.occurrence == row]
    assert list(table.newest_revisions()) == model.newest()
    for lineage in {one.lineage for one in model.revisions} | {99}:
        every = [one for one in reversed(model.revisions) if one.lineage == lineage]
        assert list(table.revisions(lineage, include_unchanged=True)) == every
        assert list(table.revisions(lineage, 2)) == [one for one in every if not one.unchanged_text][:2]
    for text in ("", "one\n- two", f"- {ODD}\n", "\udce9", "absent"):
        assert list(table.revisions_containing(text)) == [one for one in model.revisions if text in one.text]


APPENDS = st.tuples(st.just("append"), st.integers(0, 2**32), st.integers(990, 1020))
CUTS = st.tuples(st.just("cut"), st.integers(0, 2**32), st.just(0))


@given(actions=st.lists(APPENDS | APPENDS | APPENDS | CUTS, max_size=12))
def test_it_says_what_a_simple_model_says(actions: list[tuple[str, int, int]]):
    history: list[tuple[MainlineCommit, Step]] = []
    with Trail.in_memory() as table:
        for action, seed, time in actions:
            random = Random(seed)
            if action == "append":
                number = len(history) + 1
                history.append((landmark(number, time), random_step(number, Model(history), random)))
                table.append(*history[-1])
            else:
                number = random.randint(0, len(history))
                before = Model(history)
                gone = tuple((one.commit, one.number, tuple(sorted(before.paths(one.number, one.number)))) for one, _ in history[number:])
                known = table.dropped_commits()
                table.cut(number)
                del history[number:]
                assert table.dropped_commits() == (*known, *gone)
        require_equal(table, Model(history))
        with Trail.in_memory() as anew:
            for landmark_, step in history:
                anew.append(landmark_, step)
            assert table.dump() == anew.dump()


@given(seeds=st.lists(st.integers(0, 2**32), min_size=1, max_size=8), at=st.integers(0, 8))
def test_cut_and_filled_again_is_as_filled_anew(seeds: list[int], at: int):
    history: list[tuple[MainlineCommit, Step]] = []
    with Trail.in_memory() as table:
        for number, seed in enumerate(seeds, 1):
            history.append((landmark(number), random_step(number, Model(history), Random(seed))))
            table.append(*history[-1])
        before = table.dump()
        table.cut(at)
        for one in history[at:]:
            table.append(*one)
        assert table.dump() == before


# Single rules.


def test_what_ends_tells_how(table: Trail):
    began = occurrence(1, tags=("old",))
    steps(table, Step(begun=(began,)), Step(ended=(Ending(1, replace(began.entry, start_line=7, end_line=8), Fate.SUPERSEDED, FACTS[2]),)))
    (found,) = table.occurrences_of(FACTS[0])
    assert (found.entry.start_line, found.entry.end_line) == (7, 8)
    assert (found.ended, found.fate, found.successor, found.last) == (2, Fate.SUPERSEDED, FACTS[2], landmark(1).commit)
    table.cut(1)
    assert table.live_occurrences(PATHS[0]) == (replace(began, number=1),)


def test_a_cut_gives_back_what_was_ended_marked_and_cleared(table: Trail):
    steps(
        table,
        Step(begun=(occurrence(1), occurrence(1, "second")), revisions=(revision(1),), marks=(mark(MarkKind.RETRACTED, 1, -2),)),
        Step(
            ended=(Ending(1, entry(), Fate.REMOVED),),
            ended_revisions=(1,),
            revisions=(revision(2, "## Work\n", 1),),
            marks=(mark(MarkKind.CONTRADICTS, 2),),
            reverted_commits=(1,),
            paths=(PATHS[0],),
        ),
    )
    assert [one.kind for one in table.marks()] == [MarkKind.CONTRADICTS]
    assert table.marks(PATHS[0]) == ()
    table.cut(1)
    assert [one.number for one in table.live_occurrences(PATHS[0])] == [1, 2]
    assert table.live_revisions(PATHS[0]) == (replace(revision(1), number=1, lineage=1),)
    assert table.marks() == table.marks_of(2) == (mark(MarkKind.RETRACTED, 1, 2),)
    assert table.dropped_commits() == ((landmark(2).commit, 2, (PATHS[0],)),)
    table.forget_dropped()
    assert table.dropped_commits() == ()


def test_a_mark_that_went_along_goes_with_the_landmark_that_it_belongs_to(table: Trail):
    """Its `begun` stays that of the commit that said it, which is what a revert names."""
    steps(
        table,
        Step(begun=(occurrence(1),), marks=(mark(MarkKind.RETRACTED, 1, -1),)),
        Step(ended=(Ending(1, entry(), Fate.MOVED),), begun=(occurrence(2, path=PATHS[1]),), marks=(mark(MarkKind.RETRACTED, 1, -1),)),
    )
    assert table.marks(PATHS[1]) == (mark(MarkKind.RETRACTED, 1, 2),)
    table.cut(1)
    assert table.marks() == (mark(MarkKind.RETRACTED, 1, 1),)


def test_the_paths_that_a_mark_concerns(table: Trail):
    begun = (occurrence(1), occurrence(1, path=PATHS[1], fact=FACTS[1]), occurrence(1, path=PATHS[2], fact=FACTS[2]))
    steps(table, Step(begun=begun), Step(marks=(mark(MarkKind.SUPERSEDED, 2, 3),)), Step(marks=(mark(MarkKind.CONTRADICTS, 3),)))
    assert table.paths_since(1) == set(PATHS)
    assert table.paths_since(2) == {PATHS[0], PATHS[1]}
    steps(table, Step(reverted_commits=(2,)))
    assert table.paths_since(3) == {PATHS[2]}


def test_the_paths_that_the_end_of_a_contradiction_concerns(table: Trail):
    begun = (occurrence(1), occurrence(1, path=PATHS[1], fact=FACTS[1]), occurrence(1, path=PATHS[2], fact=FACTS[2]))
    steps(table, Step(begun=begun), Step(marks=(mark(MarkKind.CONTRADICTS, 2),)))
    steps(table, Step(ended=(Ending(2, entry(path=PATHS[1]), Fate.REMOVED),)))
    assert table.paths_since(2) == {PATHS[0]}


def test_what_a_merge_brought_goes_with_it(table: Trail):
    steps(
        table,
        Step(merged_lines=(brought("- one", 101), brought("- two", 102))),
        Step(merged_lines=(brought("- one", 103), brought("", 103))),
    )
    table.cut(1)
    assert table.side_commit_of_line(2, PATHS[0], "- one") is table.side_commit(brought("", 103).commit.id) is None
    assert table.side_commit_of_line(1, PATHS[0], "- two") == table.side_commit(brought("", 102).commit.id) == brought("", 102).commit
    assert table.side_commit_of_line(1, PATHS[1], "- two") is table.side_commit_of_line(1, PATHS[0], "- three") is None


def test_authors_clocks_go_wrong(table: Trail):
    for number, time in enumerate([100, 300, 200, 250, 400, 50], 1):
        table.append(landmark(number, time), Step())
    found = {time: one.number if (one := table.last_commit_before(time)) else None for time in (49, 50, 100, 199, 200, 260, 300, 399, 400)}
    assert found == {49: None, 50: 6, 100: 6, 199: 6, 200: 6, 260: 6, 300: 6, 399: 6, 400: 6}
    table.cut(5)
    found = {time: one.number if (one := table.last_commit_before(time)) else None for time in (49, 100, 199, 200, 260, 300, 399, 400)}
    assert found == {49: None, 100: 1, 199: 1, 200: 3, 260: 4, 300: 4, 399: 4, 400: 5}


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (Step(ended=(Ending(2, entry(), Fate.REMOVED),)), BrokenTrail),
        (Step(ended=(Ending(1, entry(), Fate.REMOVED), Ending(1, entry(), Fate.REMOVED))), BrokenTrail),
        (Step(begun=(occurrence(1),)), ValueError),
        (Step(ended_revisions=(2,)), BrokenTrail),
        (Step(revisions=(revision(1),)), ValueError),
        (Step(revisions=(revision(2, lineage=7),)), BrokenTrail),
        (Step(marks=(mark(MarkKind.RETRACTED, 2, 9),)), BrokenTrail),
        (Step(marks=(mark(MarkKind.RETRACTED, 2, -1),)), IndexError),
    ],
)
def test_a_step_that_cannot_be_changes_nothing(table: Trail, step: Step, problem: type[Exception]):
    steps(table, Step(begun=(occurrence(1),), revisions=(revision(1),)))
    before = table.dump()
    with pytest.raises(problem):
        table.append(landmark(2), step)
    assert table.dump() == before
    with pytest.raises(ValueError, match="does not follow"):
        table.append(landmark(3), Step())


def _fail_late(table: Trail) -> None:
    with table.writing():
        steps(table, Step(ended=(Ending(1, entry(), Fate.REMOVED),)))
        table.cut(0)
        table.append(landmark(7), Step())


def test_what_fails_in_a_transaction_leaves_all_as_it_was(tmp_path: Path):
    with Trail.open(tmp_path, "s") as table:
        steps(table, Step(begun=(occurrence(1),)))
        before = table.dump()
        with pytest.raises(ValueError, match="does not follow"):
            _fail_late(table)
        assert table.dump() == before


def test_a_long_section_costs_what_changes(tmp_path: Path):
    lines = [f"- item {number} of a list that only grows\n" for number in range(2000)]
    with Trail.open(tmp_path, "s") as table, table.writing():
        steps(table, Step(revisions=(revision(1, "".join(lines)),)))
        for number in range(2, 202):
            lines.append(f"- item {number}, new\n")
            if number % 2:
                lines[number * 7] = lines.pop()
            steps(table, Step(ended_revisions=(number - 1,), revisions=(revision(number, "".join(lines), 1),)))
    with Trail.open(tmp_path, "s") as table:
        assert table.revisions(1, 1)[0].text == "".join(lines)
        assert len({one.text for one in table.revisions(1)}) == 201
    assert (tmp_path / TRAIL_NAME).stat().st_size < 5 * len("".join(lines))


# What a call costs.


def _filled(landmarks: int) -> Trail:
    """Each landmark replaces one entry and one section of the ten that there are, in a file of its own."""
    table = Trail.in_memory()
    with table.writing():
        for number in range(1, landmarks + 1):
            path = FilePath(f"memory/{number % 10}.md")
            fact = FactId(f"{number:08x}")
            old = number - 10
            steps(
                table,
                Step(
                    ended=(Ending(old, entry(path=path), Fate.SUPERSEDED, fact),) if old > 0 else (),
                    begun=(occurrence(number, fact=fact, path=path),),
                    ended_revisions=(old,) if old > 0 else (),
                    revisions=(revision(number, f"## Work\n\n{number}\n", (old - 1) % 10 + 1 if old > 0 else 0, path=path),),
                    marks=_some_marks(number),
                    reverted_commits=(number // 2,),
                    paths=(path,),
                    merged_lines=(brought(f"- line {number}", number, path), brought(f"- another {number}", number, path)),
                ),
            )
    return table


def _some_marks(number: int) -> tuple[Mark, ...]:
    if number > 50:
        return ()
    return (mark(MarkKind.RETRACTED, number, -1) if number % 10 else mark(MarkKind.CONTRADICTS, number),)


def _work(table: Trail, call: Callable[[Trail], object]) -> int:
    """How many instructions SQLite's machine needs; the same on every machine."""
    done = 0

    def count() -> int:
        nonlocal done
        done += 1
        return 0

    table._store._connection.set_progress_handler(count, 1)
    call(table)
    table._store._connection.set_progress_handler(None, 0)
    return done


PATH = FilePath("memory/3.md")
CALLS: dict[str, Callable[[Trail], object]] = {
    "head": lambda table: table.newest_commit,
    "landmark": lambda table: table.commit_numbered(30),
    "landmark_of": lambda table: table.commit_with_id(landmark(30).commit),
    "side_of": lambda table: table.side_commit_of_line(30, FilePath("memory/0.md"), "- line 30"),
    "side": lambda table: table.side_commit(CommitId(f"{30:040x}")),
    "latest": lambda table: table.last_commit_before(1030),
    "landmarks": lambda table: table.commits_after(20, 5),
    "standing": lambda table: table.live_occurrences(PATH),
    "sections": lambda table: table.live_revisions(PATH),
    "began_at": lambda table: table.all_began_at(PATH, 3),
    "having": lambda table: table.occurrences_of(FactId(f"{30:08x}")),
    "with_prefix": lambda table: table.ids_with_prefix("0000001"),
    "ended": lambda table: table.occurrences_ended(20, 25),
    "succeeded_by": lambda table: table.predecessors_of(FactId(f"{30:08x}")),
    "marks": lambda table: table.marks(),
    "marks in a file": lambda table: table.marks(PATH),
    "marks_of": lambda table: table.marks_of(30),
    "marks_of ever": lambda table: table.marks_of(30, include_ended=True),
    "pairs": lambda table: table.pair_marks(),
    "pairs then": lambda table: table.pair_marks(30),
    "revisions": lambda table: table.revisions(3, 3),
    "lineages": lambda table: table.newest_revisions(),
    "lineages of a file": lambda table: table.newest_revisions(PATH),
    "paths_since": lambda table: table.paths_since(table.newest_commit.number - 3 if table.newest_commit else 0),
    "dropped": lambda table: table.dropped_commits(),
    "cut": lambda table: table.cut(table.newest_commit.number - 3 if table.newest_commit else 0),
    "append": lambda table: steps(
        table,
        Step(begun=(occurrence(table.newest_commit.number + 1 if table.newest_commit else 1),), merged_lines=(brought("- last", 2**40),)),
    ),
}


@pytest.fixture(scope="module")
def small_and_large() -> Iterator[tuple[Trail, Trail]]:
    with _filled(100) as small, _filled(1600) as large:
        yield small, large


@pytest.mark.parametrize("name", CALLS)
def test_a_call_costs_what_it_returns_and_not_what_the_table_holds(name: str, small_and_large: tuple[Trail, Trail]):
    little, much = (_work(table, CALLS[name]) for table in small_and_large)
    assert much <= 1.3 * little + 10


# The file.


def filled(folder: Path) -> Path:
    with Trail.open(folder, "s") as table:
        steps(table, Step(begun=(occurrence(1),), revisions=(revision(1),), marks=(mark(MarkKind.RETRACTED, 1, -1),), paths=(PATHS[0],)))
        steps(table, Step(ended=(Ending(1, entry(), Fate.REMOVED),), ended_revisions=(1,), revisions=(revision(2, "other", 1),)))
    return folder / TRAIL_NAME


def test_it_is_kept(tmp_path: Path):
    filled(tmp_path)
    with Trail.in_memory() as same, Trail.open(tmp_path, "s") as table:
        steps(same, Step(begun=(occurrence(1),), revisions=(revision(1),), marks=(mark(MarkKind.RETRACTED, 1, -1),), paths=(PATHS[0],)))
        steps(same, Step(ended=(Ending(1, entry(), Fate.REMOVED),), ended_revisions=(1,), revisions=(revision(2, "other", 1),)))
        assert table.dump() == same.dump()
    assert [place.name for place in tmp_path.iterdir()] == [TRAIL_NAME]


def test_nothing_is_made_before_the_first_write(tmp_path: Path):
    folder = tmp_path / "missing"
    with Trail.open(folder, "s") as table:
        assert table.newest_commit is None
        assert table.commits_after() == table.newest_revisions() == ()
        assert not folder.exists()
        steps(table, Step())
        assert table.newest_commit == landmark(1)
    assert (folder / TRAIL_NAME).is_file()


def _another_version(place: Path) -> None:
    with contextlib.closing(sqlite3.connect(place)) as other:
        other.execute(f"PRAGMA user_version = {trail.TRAIL_VERSION + 1}")


def _another_program(place: Path) -> None:
    place.unlink()
    with contextlib.closing(sqlite3.connect(place)) as other, other:
        other.execute(f"PRAGMA user_version = {trail.TRAIL_VERSION}")
        other.execute("CREATE TABLE about (settings TEXT)")


def _without_a_table(place: Path) -> None:
    with contextlib.closing(sqlite3.connect(place)) as other, other:
        other.execute("DROP TABLE about")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda place: place.write_bytes(b""),
    "text": lambda place: place.write_text("# Memory\n" * 1000),
    "cut short": lambda place: os.truncate(place, 5000),
    "cut very short": lambda place: os.truncate(place, 50),
    "newer": _another_version,
    "foreign": _another_program,
    "half made": _without_a_table,
    "zeros": lambda place: place.write_bytes(bytes(place.stat().st_size)),
    "a log that is not its own": lambda place: [_another_version(place), place.with_name(f"{TRAIL_NAME}-wal").write_bytes(b"x" * 9000)],
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_file_that_is_no_good_counts_as_empty(name: str, tmp_path: Path):
    place = filled(tmp_path)
    DAMAGE[name](place)
    with pytest.raises(BrokenTrail):
        trail.verify_trail(tmp_path)
    with Trail.open(tmp_path, "s") as table:
        assert table.newest_commit is None
        steps(table, Step(begun=(occurrence(1, ODD),)))
    with Trail.open(tmp_path, "s") as table:
        assert [one.entry.text for one in table.live_occurrences(PATHS[0])] == [ODD]
    assert [found.name for found in tmp_path.iterdir()] == [TRAIL_NAME]


def test_it_is_read_whole_for_whichever_settings(tmp_path: Path):
    assert trail.verify_trail(tmp_path) is None
    before = filled(tmp_path).read_bytes()
    assert trail.verify_trail(tmp_path) == 2
    assert [(place.name, place.read_bytes()) for place in tmp_path.iterdir()] == [(TRAIL_NAME, before)]


def test_other_settings_make_it_empty(tmp_path: Path):
    before = filled(tmp_path).read_bytes()
    with Trail.open(tmp_path, "other") as table:
        assert table.newest_commit is None
    assert (tmp_path / TRAIL_NAME).read_bytes() == before
    with Trail.open(tmp_path, "other") as table:
        steps(table, Step())
    with Trail.open(tmp_path, "s") as old, Trail.open(tmp_path, "other") as new:
        assert (old.newest_commit, new.newest_commit) == (None, landmark(1))


def test_anew_takes_the_place_of_what_is_there(tmp_path: Path):
    filled(tmp_path)
    with Trail.create(tmp_path, "s") as table:
        assert table.newest_commit is None
        steps(table, Step())
    with Trail.open(tmp_path, "s") as table:
        assert table.newest_commit == landmark(1)
        assert table.newest_revisions() == ()


def _read_all(table: Trail) -> None:
    for call in CALLS.values():
        call(table)
    table.revisions_containing("works")
    table.dump()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("sound")
    random = Random(4)
    history: list[tuple[MainlineCommit, Step]] = []
    with Trail.open(folder, "s") as table, table.writing():
        for number in range(1, 30):
            history.append((landmark(number), random_step(number, Model(history), random)))
            table.append(*history[-1])
    return (folder / TRAIL_NAME).read_bytes()


@settings(max_examples=50)
@given(data=st.data())
def test_no_damage_is_more_than_a_table_that_cannot_be_read(sound: bytes, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("damaged")
    damaged = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        piece = data.draw(st.binary(min_size=1, max_size=30))
        damaged[at : at + len(piece)] = piece
    (folder / TRAIL_NAME).write_bytes(damaged[: data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))])
    try:
        whole = trail.verify_trail(folder) is not None
    except BrokenTrail:
        whole = False
    with Trail.open(folder, "s") as table, contextlib.nullcontext() if whole else contextlib.suppress(BrokenTrail):
        _read_all(table)
    with Trail.create(folder, "s") as table:
        steps(table, Step())
        assert table.newest_commit == landmark(1)


# Others at the same time.


def test_a_reader_sees_the_last_committed_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mdmem.trail.storage._BUSY_SECONDS", 0.05)
    filled(tmp_path)
    with Trail.open(tmp_path, "s") as writer, Trail.open(tmp_path, "s") as reader:
        before = reader.dump()
        with writer.writing():
            steps(writer, *(Step(begun=(occurrence(number, "x" * 10_000),)) for number in range(3, 400)))
            assert reader.dump() == before
            with Trail.open(tmp_path, "s") as late:
                assert late.dump() == before
                with pytest.raises(StorageProblem, match="locked"):
                    steps(late, Step())
        assert reader.dump() == writer.dump() != before


_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_trail_table import Ending, Fate, Step, Trail, entry, occurrence, steps
with Trail.open(Path(sys.argv[1]), "s") as table:
    number = table.newest_commit.number if table.newest_commit else 0
    print("ready", flush=True)
    while True:
        with table.writing():
            for _ in range(5):
                number += 1
                old = [Ending(one.number, one.entry, Fate.MOVED) for one in table.live_occurrences(entry().path)]
                steps(table, Step(tuple(old), tuple(occurrence(number) for _ in range(3))))
"""


def test_a_reader_beside_a_process_that_writes_and_is_killed(tmp_path: Path):
    with Trail.open(tmp_path, "s") as table:
        steps(table, Step(begun=(occurrence(1), occurrence(1), occurrence(1))), *[Step()] * 4)
    command = [sys.executable, "-c", _WRITER, str(tmp_path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == b"ready\n"
        with Trail.open(tmp_path, "s") as reader:
            seen = {5}
            while len(seen) < 10:
                standing = reader.live_occurrences(PATHS[0])
                assert len(standing) == 3
                assert len({one.begun for one in standing}) == 1
                seen.add(standing[0].begun // 5 * 5)
                assert standing[0].begun == 1 or standing[0].begun % 5 == 0
        writer.kill()
    with Trail.open(tmp_path, "s") as table:
        assert table.newest_commit
        assert table.newest_commit.number >= max(seen)
        assert table.newest_commit.number % 5 == 0
        steps(table, Step())
        table.cut(5)
        assert len(table.live_occurrences(PATHS[0])) == 3


def _as_nobody(folder: str, answer: str) -> None:
    """Read and write as a user who may only read here."""
    with Path(answer).open("w") as told:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        with Trail.open(Path(folder), "s") as table:
            print(table.newest_commit == landmark(2), len(table.occurrences_of(FACTS[0])), file=told)
            for write in (lambda: steps(table, Step()), table.forget_dropped, lambda: table.cut(0)):
                with pytest.raises(StorageProblem):
                    write()
            print(table.newest_commit == landmark(2), file=told)
        with Trail.open(Path(folder), "other") as table:
            with pytest.raises(StorageProblem, match="cannot be written"):
                steps(table, Step())
            print(table.newest_commit, file=told)


def test_a_folder_that_may_only_be_read(tmp_path: Path):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = filled(folder)
        before = place.read_bytes()
        place.chmod(0o444)
        folder.chmod(0o555)
        worker = multiprocessing.get_context("fork").Process(target=_as_nobody, args=(name, str(tmp_path / "answer")))
        worker.start()
        worker.join()
        folder.chmod(0o755)
        assert worker.exitcode == 0
        assert (tmp_path / "answer").read_text() == "True 1\nTrue\nNone\n"
        assert place.read_bytes() == before
        assert [found.name for found in folder.iterdir()] == [TRAIL_NAME]


def _write_much(table: Trail) -> None:
    with table.writing():
        for number in range(len(table.commits_after()) + 1, 200):
            steps(table, Step(begun=(occurrence(number, "x" * 50_000),)))


def _write_within(folder: str, size: int) -> None:
    """Write where no file may grow beyond a size: what a full disk does."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    with Trail.open(Path(folder), "s") as table:
        before = table.dump()
        assert len(before[0]) == (2 if Path(folder).exists() else 0)
        with pytest.raises(StorageProblem):
            _write_much(table)
        assert table.dump() == before


@pytest.mark.parametrize("size", [0, 10_000, 300_000])
@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk(size: int, there: bool, tmp_path: Path):
    if there:
        filled(tmp_path / "state")
    worker = multiprocessing.get_context("fork").Process(target=_write_within, args=(str(tmp_path / "state"), size))
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    with Trail.open(tmp_path / "state", "s") as table:
        head = table.newest_commit
        assert head == (landmark(2) if there else None)
        steps(table, Step(begun=(occurrence(3 if there else 1),)))
        assert len(table.live_occurrences(PATHS[0])) == 1


def test_a_folder_in_the_way(tmp_path: Path):
    (tmp_path / TRAIL_NAME).mkdir()
    with Trail.open(tmp_path, "s") as table:
        assert table.newest_commit is None
        with pytest.raises(StorageProblem, match="cannot be written"):
            steps(table, Step())
