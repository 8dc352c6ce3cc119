"""The trail: what is appended can be read, a cut undoes it, and a damaged file costs no more than a cache."""

import contextlib
import multiprocessing
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdmem.errors import StorageProblem
from mdmem.model import CommitId, FactId, FilePath, Source
from mdmem.model.trail import Commit, Entry, Fate, MainlineCommit, Mark, MarkKind, MergedLine, Occurrence, Origin, Revision, StatedRevert
from mdmem.trail import TRAIL_NAME, TRAIL_VERSION, BrokenTrail, Ending, Step, Trail, verify_trail

ODD = "caf\xe9 \udce9 \ud83d \x00 \U0001f600 [\"']\u2028"
PATHS = [FilePath("MEMORY.md"), FilePath("memory/2026-03-05.md"), FilePath(f"memory/{ODD}.md")]
FACTS = [FactId(digits * 4) for digits in ("aa", "ab", "b0", "c1")]
LINES = ["- one", f"- {ODD}", ""]
SECTIONS = [(), ("Memory",), ("Memory", "Work"), ("Memory", f"# > {ODD}")]


def commit_id(number: int) -> CommitId:
    return CommitId(f"{number:040x}")


def mainline_commit(number: int, time: int | None = None) -> MainlineCommit:
    return MainlineCommit(
        number=number,
        commit=commit_id(number),
        time=1000 + number if time is None else time,
        author=f"Ada {ODD}",
        message=f"Subject {number}\n\nMdmem-Op: log\n",
    )


def entry(text: str = "works at Stripe", path: FilePath = PATHS[0], fact: FactId | None = FACTS[0], **fields: Any) -> Entry:
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
    return Origin(commit=mainline_commit(number).commit, time=1000 + number, source=Source.INFERRED, confidence=0.7)


def occurrence(begun: int, text: str = "works at Stripe", **fields: Any) -> Occurrence:
    return Occurrence(entry=entry(text, **fields), begun=begun, origin=origin(begun))


def revision(begun: int, text: str = "## Work\n\n- works at Stripe\n", lineage: int = 0, **fields: Any) -> Revision:
    usual = Revision(lineage=lineage, begun=begun, path=PATHS[0], section=("Memory", "Work"), nth=1, text=text)
    return replace(usual, **fields)


def mark(kind: MarkKind, begun: int, occurrence: int = 0, other: FactId | None = FACTS[1]) -> Mark:
    """A mark that mainline commit `begun` states."""
    return Mark(kind=kind, commit=commit_id(begun), begun=begun, fact=FACTS[0], other=other, occurrence=occurrence)


def stated_revert(number: int, reverted: int) -> StatedRevert:
    """A revert that mainline commit `number` states."""
    return StatedRevert(commit_id(number), commit_id(reverted))


def merged_line(line: str, number: int, path: FilePath = PATHS[0]) -> MergedLine:
    """A line that a merge has from a side commit."""
    return MergedLine(path, line, Commit(commit_id(number), 900 + number, f"Bo {ODD}", f"Side commit {number}"))


@pytest.fixture
def trail() -> Iterator[Trail]:
    with Trail.in_memory() as empty:
        yield empty


def append_steps(trail: Trail, *steps: Step) -> None:
    """Append steps after the newest commit."""
    newest = trail.newest_commit
    for number, step in enumerate(steps, (newest.number if newest else 0) + 1):
        trail.append(mainline_commit(number), step)


# A simple model of it.


@dataclass
class Model:
    """A model of the trail in plain lists, which appends everything from the start again."""

    history: list[tuple[MainlineCommit, Step]]
    occurrences: list[Occurrence] = field(default_factory=list)
    revisions: list[Revision] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    """The numbers of the commits that added the marks."""

    def __post_init__(self) -> None:
        for commit, step in self.history:
            self._append(commit.number, step)

    def _append(self, number: int, step: Step) -> None:
        for ending in step.ended:
            row = self.occurrences[ending.number - 1]
            last = self.history[number - 2][0].commit
            ended = replace(row, entry=ending.entry, ended=number, fate=ending.fate, successor=ending.successor, last=last)
            self.occurrences[ending.number - 1] = ended
        for index, earlier in enumerate(self.marks):
            if earlier.commit in step.reverted_commits and earlier.ended is None:
                self.marks[index] = replace(earlier, ended=number)
        count = len(self.occurrences)
        self.occurrences += [replace(begun, number=count + position) for position, begun in enumerate(step.begun, 1)]
        for row_number in step.ended_revisions:
            self.revisions[row_number - 1] = replace(self.revisions[row_number - 1], ended=number)
        for begun in step.revisions:
            row_number = len(self.revisions) + 1
            self.revisions.append(replace(begun, number=row_number, lineage=begun.lineage or row_number))
        for new in step.marks:
            self.marks.append(replace(new, occurrence=count - new.occurrence if new.occurrence < 0 else new.occurrence))
            self.added.append(number)

    def last_commit_before(self, time: int, latest: int) -> MainlineCommit | None:
        counted = [(commit, self.counts_from(commit.number, latest)) for commit, _ in self.history]
        if time >= latest:
            return counted[-1][0] if counted else None
        return next((commit for commit, since in reversed(counted) if since is not None and since <= time), None)

    def counts_from(self, number: int, latest: int) -> int | None:
        dates = (commit.time if commit.committed is None else commit.committed for commit, _ in self.history[:number])
        return max((time for time in dates if time <= latest), default=None)

    def live_occurrences(self, path: FilePath) -> list[Occurrence]:
        return [each for each in self.occurrences if each.entry.path == path and each.ended is None]

    def marks_in_force(self) -> list[Mark]:
        return [mark for mark in self.marks if mark.ended is None]

    def newest_revisions(self) -> list[Revision]:
        newest = {revision.lineage: revision for revision in self.revisions}
        return [newest[lineage] for lineage in sorted(newest)]

    def predecessors_of(self, fact: FactId) -> list[Occurrence]:
        marked = {mark.occurrence for mark in self.marks_in_force() if mark.kind is MarkKind.SUPERSEDED and mark.other == fact}
        return [occurrence for occurrence in self.occurrences if occurrence.successor == fact or occurrence.number in marked]

    def paths(self, first: int, last: int) -> set[FilePath]:
        paths = {path for commit, step in self.history if first <= commit.number <= last for path in step.paths}
        for mark, added in zip(self.marks, self.added, strict=True):
            if first <= added <= last or (mark.ended and first <= mark.ended <= last):
                rows = [row for row in self.occurrences if row.ended is None and row.entry.fact in (mark.fact, mark.other)]
                paths |= {row.entry.path for row in ([self.occurrences[mark.occurrence - 1]] if mark.occurrence else rows)}
        changed = {row.entry.fact for row in self.occurrences if self._changed(row, first, last)}
        for mark in self.marks:
            if mark.kind in (MarkKind.CONTRADICTS, MarkKind.RESOLVED) and mark.ended is None:
                opposing = {right for left, right in ((mark.fact, mark.other), (mark.other, mark.fact)) if left in changed}
                paths |= {row.entry.path for row in self.occurrences if row.ended is None and row.entry.fact in opposing}
        return paths

    def _changed(self, row: Occurrence, first: int, last: int) -> bool:
        marks = [(added, mark.ended) for mark, added in zip(self.marks, self.added, strict=True) if mark.occurrence == row.number]
        return any(first <= number <= last for number in (row.begun, row.ended, *(n for mark in marks for n in mark)) if number)


def random_step(number: int, model: Model, random: Random) -> Step:
    """A step that could come next: what it ends is live, and what it marks is there."""
    live = [occurrence for occurrence in model.occurrences if occurrence.ended is None]
    live_revisions = [revision for revision in model.revisions if revision.ended is None]
    ended = tuple(
        Ending(
            each.number,
            replace(each.entry, start_line=random.randrange(99), end_line=99, tags=("later",), until=date(2027, 1, 1)),
            random.choice(list(Fate)),
            random.choice([None, *FACTS]),
        )
        for each in random.sample(live, min(len(live), random.randrange(3)))
    )
    begun = tuple(random_occurrence(number, random) for _ in range(random.randrange(4)))
    ended_revisions = random.sample(live_revisions, min(len(live_revisions), random.randrange(3)))
    lineages = [revision.lineage for revision in ended_revisions if random.random() < 0.8]
    revisions = tuple(random_revision(number, lineage, random) for lineage in (*lineages, *([0] * random.randrange(2))))
    rows = [*(-position for position in range(1, len(begun) + 1)), *(occurrence.number for occurrence in model.occurrences[-5:])]
    marks = tuple(random_mark(random.randint(1, number), rows, random) for _ in range(random.randrange(3)))
    reverts = tuple(stated_revert(number, random.choice((1, 1001)) * random.randint(1, number)) for _ in range(random.randrange(3)))
    paths = tuple(random.sample(PATHS, random.randrange(3)))
    merged = random.sample(PATHS, random.randrange(3))
    return Step(
        ended=ended,
        begun=begun,
        ended_revisions=tuple(revision.number for revision in ended_revisions),
        revisions=revisions,
        marks=marks,
        reverts=reverts,
        reverted_commits=tuple(each.reverted for each in reverts[:1]),
        paths=paths,
        merged_lines=tuple(merged_line(random.choice(LINES), number * 1000 + random.randrange(2), path) for path in merged),
    )


def random_occurrence(number: int, random: Random) -> Occurrence:
    random_entry = Entry(
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
    random_origin = replace(origin(number), source=random.choice(list(Source)))
    return Occurrence(entry=random_entry, begun=number, origin=random_origin, also=random.random() < 0.5)


def random_revision(number: int, lineage: int, random: Random) -> Revision:
    text = "".join(random.choice(["- one\n", f"- {ODD}\n", "- two\n", "x" * 5000]) for _ in range(random.randrange(5)))
    return Revision(
        lineage=lineage,
        begun=number,
        path=random.choice(PATHS),
        section=random.choice(SECTIONS),
        nth=random.randint(1, 2),
        text=text,
        unchanged_text=bool(lineage) and random.random() < 0.3,
    )


def random_mark(begun: int, rows: list[int], random: Random) -> Mark:
    stated = replace(mark(MarkKind.CONTRADICTS, begun), commit=commit_id(begun * random.choice((1, 1001))), fact=random.choice(FACTS))
    if rows and random.random() < 0.6:
        kind = random.choice([MarkKind.SUPERSEDED, MarkKind.RETRACTED])
        return replace(stated, kind=kind, other=random.choice([None, *FACTS]), occurrence=random.choice(rows))
    return replace(stated, kind=random.choice([MarkKind.CONTRADICTS, MarkKind.RESOLVED]), other=random.choice(FACTS))


def require_equal(trail: Trail, model: Model) -> None:
    """Assert that every call that reads gives what the model gives."""
    _require_equal_commits(trail, model)
    for path in PATHS:
        _require_equal_files(trail, model, path)
    for fact in FACTS:
        assert list(trail.occurrences_of(fact)) == [occurrence for occurrence in model.occurrences if occurrence.entry.fact == fact]
        assert list(trail.predecessors_of(fact)) == model.predecessors_of(fact)
    for prefix in ("", "a", "aa", *FACTS, "d"):
        assert list(trail.ids_with_prefix(prefix)) == sorted(
            {fact for occurrence in model.occurrences if (fact := occurrence.entry.fact) and fact.startswith(prefix)}
        )
    _require_equal_marks(trail, model)
    assert list(trail.newest_revisions()) == model.newest_revisions()
    for lineage in {revision.lineage for revision in model.revisions} | {99}:
        revisions = [revision for revision in reversed(model.revisions) if revision.lineage == lineage]
        assert list(trail.revisions(lineage, include_unchanged=True)) == revisions
        assert list(trail.revisions(lineage, 2)) == [revision for revision in revisions if not revision.unchanged_text][:2]
    for text in ("", "one\n- two", f"- {ODD}\n", "\udce9", "absent"):
        assert list(trail.revisions_containing(text)) == [revision for revision in model.revisions if text in revision.text]


def _require_equal_commits(trail: Trail, model: Model) -> None:
    commits = [commit for commit, _ in model.history]
    assert trail.newest_commit == (commits[-1] if commits else None)
    assert list(trail.commits_after()) == commits
    assert list(trail.commits_after(1, 2)) == commits[1:3]
    for number in range(len(commits) + 2):
        assert trail.commit_numbered(number) == (commits[number - 1] if 1 <= number <= len(commits) else None)
        assert trail.paths_since(number) == model.paths(number + 1, len(commits))
        ended = [each for each in model.occurrences if each.ended and number < each.ended <= number + 2]
        assert list(trail.occurrences_ended(number, number + 2)) == sorted(ended, key=lambda each: (each.ended, each.number))
    for commit_id in (*(commit.commit for commit in commits), CommitId("none")):
        assert trail.commit_with_id(commit_id) == next((commit for commit in commits if commit.commit == commit_id), None)
    for commit, step in model.history:
        for path in PATHS:
            in_file = {line.line: line.commit for line in step.merged_lines if line.path == path}
            assert [trail.side_commit_of_line(commit.number, path, line) for line in LINES] == [in_file.get(line) for line in LINES]
    side_commits = {line.commit.id: line.commit for _, step in model.history for line in step.merged_lines}
    for commit_id in (*side_commits, CommitId("none")):
        assert trail.side_commit(commit_id) == side_commits.get(commit_id)
    times = {0, 2000, *(commit.time + offset for commit in commits for offset in (-1, 0))}
    for latest in sorted(times)[::3]:
        for commit in commits:
            assert trail.counts_from(commit.number, latest) == model.counts_from(commit.number, latest)
        for time in times:
            assert trail.last_commit_before(time, latest) == model.last_commit_before(time, latest)


def _require_equal_files(trail: Trail, model: Model, path: FilePath) -> None:
    live = model.live_occurrences(path)
    assert list(trail.live_occurrences(path)) == live
    live_revisions = [revision for revision in model.revisions if revision.path == path and revision.ended is None]
    assert list(trail.live_revisions(path)) == live_revisions
    assert list(trail.live_revisions(path, SECTIONS[:1])) == [each for each in live_revisions if each.section == SECTIONS[0]]
    begun = {occurrence.begun for occurrence in live}
    assert all(trail.all_began_at(path, number) == (begun <= {number}) for number in range(len(model.history) + 1))
    lineages = {revision.lineage for revision in model.revisions if revision.path == path}
    assert list(trail.newest_revisions(path)) == [each for each in model.newest_revisions() if each.lineage in lineages]
    rows = {occurrence.number for occurrence in live}
    assert list(trail.marks(path)) == [mark for mark in model.marks_in_force() if mark.occurrence in rows]
    assert list(trail.marks(path, include_ended=True)) == [mark for mark in model.marks if mark.occurrence in rows]


def _require_equal_marks(trail: Trail, model: Model) -> None:
    assert list(trail.marks()) == model.marks_in_force()
    for commit in {mark.commit for mark in model.marks}:
        assert list(trail.marks_stated_by(commit)) == [mark for mark in model.marks if mark.commit == commit]
        assert trail.stating_commit(commit) == commit
    for number in range(1, len(model.history) + 1):
        stating = dict.fromkeys(mark.commit for mark in model.marks if mark.begun == number)
        assert list(trail.commits_with_marks_from(number)) == list(stating)
    assert list(trail.reverts()) == [each for _, step in model.history for each in step.reverts]
    pairs = [mark for mark in model.marks if mark.kind in (MarkKind.CONTRADICTS, MarkKind.RESOLVED)]
    assert list(trail.pair_marks()) == [mark for mark in pairs if mark.ended is None]
    for number in range(len(model.history) + 1):
        in_force = [mark for mark in pairs if mark.begun <= number and (mark.ended is None or mark.ended > number)]
        assert list(trail.pair_marks(number)) == in_force
    for row in range(1, len(model.occurrences) + 1):
        assert list(trail.marks_of(row)) == [mark for mark in model.marks_in_force() if mark.occurrence == row]
        assert list(trail.marks_of(row, include_ended=True)) == [mark for mark in model.marks if mark.occurrence == row]


APPENDS = st.tuples(st.just("append"), st.integers(0, 2**32), st.integers(990, 1020))
CUTS = st.tuples(st.just("cut"), st.integers(0, 2**32), st.just(0))


@given(actions=st.lists(APPENDS | APPENDS | APPENDS | CUTS, max_size=12))
def test_it_reads_as_a_simple_model(actions: list[tuple[str, int, int]]):
    history: list[tuple[MainlineCommit, Step]] = []
    with Trail.in_memory() as trail:
        for action, seed, time in actions:
            random = Random(seed)
            if action == "append":
                number = len(history) + 1
                history.append((mainline_commit(number, time), random_step(number, Model(history), random)))
                trail.append(*history[-1])
            else:
                number = random.randint(0, len(history))
                before = Model(history)
                dropped = tuple(
                    (commit.commit, commit.number, tuple(sorted(before.paths(commit.number, commit.number))))
                    for commit, _ in history[number:]
                )
                dropped_before = trail.dropped_commits()
                trail.cut(number)
                del history[number:]
                assert trail.dropped_commits() == (*dropped_before, *dropped)
        require_equal(trail, Model(history))
        with Trail.in_memory() as refilled:
            for commit, step in history:
                refilled.append(commit, step)
            assert trail.dump() == refilled.dump()


@given(seeds=st.lists(st.integers(0, 2**32), min_size=1, max_size=8), number_kept=st.integers(0, 8))
def test_cutting_and_appending_again_gives_the_same_trail(seeds: list[int], number_kept: int):
    history: list[tuple[MainlineCommit, Step]] = []
    with Trail.in_memory() as trail:
        for number, seed in enumerate(seeds, 1):
            history.append((mainline_commit(number), random_step(number, Model(history), Random(seed))))
            trail.append(*history[-1])
        before = trail.dump()
        trail.cut(number_kept)
        for commit, step in history[number_kept:]:
            trail.append(commit, step)
        assert trail.dump() == before


# Single rules.


def test_an_ended_occurrence_tells_how_it_ended(trail: Trail):
    began = occurrence(1, tags=("old",))
    append_steps(
        trail, Step(begun=(began,)), Step(ended=(Ending(1, replace(began.entry, start_line=7, end_line=8), Fate.SUPERSEDED, FACTS[2]),))
    )
    (ended,) = trail.occurrences_of(FACTS[0])
    assert (ended.entry.start_line, ended.entry.end_line) == (7, 8)
    assert (ended.ended, ended.fate, ended.successor, ended.last) == (2, Fate.SUPERSEDED, FACTS[2], mainline_commit(1).commit)
    trail.cut(1)
    assert trail.live_occurrences(PATHS[0]) == (replace(began, number=1),)


def test_a_cut_undoes_endings_marks_and_reverts(trail: Trail):
    append_steps(
        trail,
        Step(begun=(occurrence(1), occurrence(1, "second")), revisions=(revision(1),), marks=(mark(MarkKind.RETRACTED, 1, -2),)),
        Step(
            ended=(Ending(1, entry(), Fate.REMOVED),),
            ended_revisions=(1,),
            revisions=(revision(2, "## Work\n", 1),),
            marks=(mark(MarkKind.CONTRADICTS, 2),),
            reverts=(stated_revert(2, 1),),
            reverted_commits=(commit_id(1),),
            paths=(PATHS[0],),
        ),
    )
    assert [mark.kind for mark in trail.marks()] == [MarkKind.CONTRADICTS]
    assert trail.marks(PATHS[0]) == ()
    trail.cut(1)
    assert [occurrence.number for occurrence in trail.live_occurrences(PATHS[0])] == [1, 2]
    assert trail.live_revisions(PATHS[0]) == (replace(revision(1), number=1, lineage=1),)
    assert trail.marks() == trail.marks_of(2) == (mark(MarkKind.RETRACTED, 1, 2),)
    assert trail.dropped_commits() == ((mainline_commit(2).commit, 2, (PATHS[0],)),)
    trail.forget_dropped()
    assert trail.dropped_commits() == ()


def test_a_mark_that_moved_along_goes_with_the_commit_that_moved_it(trail: Trail):
    """Its `begun` stays that with which it was stated first."""
    append_steps(
        trail,
        Step(begun=(occurrence(1),), marks=(mark(MarkKind.RETRACTED, 1, -1),)),
        Step(ended=(Ending(1, entry(), Fate.MOVED),), begun=(occurrence(2, path=PATHS[1]),), marks=(mark(MarkKind.RETRACTED, 1, -1),)),
    )
    assert trail.marks(PATHS[1]) == (mark(MarkKind.RETRACTED, 1, 2),)
    trail.cut(1)
    assert trail.marks() == (mark(MarkKind.RETRACTED, 1, 1),)


def test_the_paths_that_a_mark_concerns(trail: Trail):
    begun = (occurrence(1), occurrence(1, path=PATHS[1], fact=FACTS[1]), occurrence(1, path=PATHS[2], fact=FACTS[2]))
    append_steps(trail, Step(begun=begun), Step(marks=(mark(MarkKind.SUPERSEDED, 2, 3),)), Step(marks=(mark(MarkKind.CONTRADICTS, 3),)))
    assert trail.paths_since(1) == set(PATHS)
    assert trail.paths_since(2) == {PATHS[0], PATHS[1]}
    append_steps(trail, Step(reverted_commits=(commit_id(2),)))
    assert trail.paths_since(3) == {PATHS[2]}


def test_the_paths_that_the_end_of_a_contradiction_concerns(trail: Trail):
    begun = (occurrence(1), occurrence(1, path=PATHS[1], fact=FACTS[1]), occurrence(1, path=PATHS[2], fact=FACTS[2]))
    append_steps(trail, Step(begun=begun), Step(marks=(mark(MarkKind.CONTRADICTS, 2),)))
    append_steps(trail, Step(ended=(Ending(2, entry(path=PATHS[1]), Fate.REMOVED),)))
    assert trail.paths_since(2) == {PATHS[0]}


@pytest.mark.parametrize("key", ["employer", "a long key of more than 24 bytes", "ключ от лодочного сарая", f"odd {ODD}", "50%_\\"])
@pytest.mark.parametrize("spelling", ["{}: x", "**{}:** x", "**{}**: x", "__{}__: x"])
def test_facts_that_begin_with_a_key(trail: Trail, key: str, spelling: str):
    texts = [spelling.format(key), "works at Stripe", spelling.format(f"other {key}")]
    append_steps(trail, Step(begun=[occurrence(1, text, fact=fact) for text, fact in zip(texts, FACTS, strict=False)]))
    assert [each.entry.text for each in trail.occurrences_with_key(f" {key} ")] == texts[:1]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Größe", "GRÖSSE"),
        ("ölstand", "ÖLSTAND"),
        ("O\u0308lstand", "ölstand"),
        ("Öl  und\tFett", "ÖL UND FETT"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("ключ от лодочного сарая", "КЛЮЧ ОТ ЛОДОЧНОГО САРАЯ"),
        ("**my** car", "My car"),
        ("snake__case", "snakecase"),
    ],
)
@pytest.mark.parametrize("spelling", ["{}: x", "**{}:** x", "__{}__: x"])
def test_facts_that_begin_with_a_key_in_other_letters(trail: Trail, written: str, asked: str, spelling: str):
    texts = [spelling.format(written), spelling.format(f"other {written}")]
    append_steps(trail, Step(begun=[occurrence(1, text, fact=fact) for text, fact in zip(texts, FACTS, strict=False)]))
    assert [each.entry.text for each in trail.occurrences_with_key(asked)] == texts[:1]


def test_facts_of_a_key_in_capitals_or_ended_are_among_them_and_other_text_is_not(trail: Trail):
    begun = [occurrence(1, "Employer: Acme"), occurrence(1, "employer: Acme", fact=None)]
    append_steps(trail, Step(begun=begun), Step(ended=[Ending(1, entry("Employer: Acme"), Fate.REMOVED)]))
    assert [(each.entry.text, each.ended) for each in trail.occurrences_with_key("employer")] == [("Employer: Acme", 2)]


def test_merged_lines_go_with_their_merge(trail: Trail):
    append_steps(
        trail,
        Step(merged_lines=(merged_line("- one", 101), merged_line("- two", 102))),
        Step(merged_lines=(merged_line("- one", 103), merged_line("", 103))),
    )
    trail.cut(1)
    assert trail.side_commit_of_line(2, PATHS[0], "- one") is trail.side_commit(merged_line("", 103).commit.id) is None
    assert (
        trail.side_commit_of_line(1, PATHS[0], "- two") == trail.side_commit(merged_line("", 102).commit.id) == merged_line("", 102).commit
    )
    assert trail.side_commit_of_line(1, PATHS[1], "- two") is trail.side_commit_of_line(1, PATHS[0], "- three") is None


def test_a_commit_counts_from_the_greatest_date_so_far_that_can_be_right(trail: Trail):
    def numbers(latest: int, times: Sequence[int]) -> dict[int, int | None]:
        return {time: commit.number if (commit := trail.last_commit_before(time, latest)) else None for time in times}

    for number, time in enumerate([100, 300, 200, 250, 900, 50, 400], 1):
        trail.append(mainline_commit(number, time), Step())
    assert numbers(1000, (99, 100, 299, 300, 899, 900)) == {99: None, 100: 1, 299: 1, 300: 4, 899: 4, 900: 7}
    assert numbers(500, (99, 100, 299, 300, 399, 400, 900)) == {99: None, 100: 1, 299: 1, 300: 6, 399: 6, 400: 7, 900: 7}
    assert numbers(99, (49, 50, 98, 99)) == {49: None, 50: 7, 98: 7, 99: 7}
    assert [trail.counts_from(number, 99) for number in range(1, 8)] == [None] * 5 + [50, 50]
    trail.append(replace(mainline_commit(8, 950), committed=450), Step())
    assert numbers(1000, (899, 900)) == {899: 4, 900: 8}
    assert numbers(500, (449, 450)) == {449: 7, 450: 8}


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
def test_an_impossible_step_changes_nothing(trail: Trail, step: Step, problem: type[Exception]):
    append_steps(trail, Step(begun=(occurrence(1),), revisions=(revision(1),)))
    before = trail.dump()
    with pytest.raises(problem):
        trail.append(mainline_commit(2), step)
    assert trail.dump() == before
    with pytest.raises(ValueError, match="does not follow"):
        trail.append(mainline_commit(3), Step())


def _fail_late(trail: Trail) -> None:
    with trail.writing():
        append_steps(trail, Step(ended=(Ending(1, entry(), Fate.REMOVED),)))
        trail.cut(0)
        trail.append(mainline_commit(7), Step())


def test_a_failed_transaction_changes_nothing(tmp_path: Path):
    with Trail.open(tmp_path, "s") as trail:
        append_steps(trail, Step(begun=(occurrence(1),)))
        before = trail.dump()
        with pytest.raises(ValueError, match="does not follow"):
            _fail_late(trail)
        assert trail.dump() == before


def test_revisions_of_a_long_section_cost_what_changes(tmp_path: Path):
    lines = [f"- item {number} of a list that only grows\n" for number in range(2000)]
    with Trail.open(tmp_path, "s") as trail, trail.writing():
        append_steps(trail, Step(revisions=(revision(1, "".join(lines)),)))
        for number in range(2, 202):
            lines.append(f"- item {number}, new\n")
            if number % 2:
                lines[number * 7] = lines.pop()
            append_steps(trail, Step(ended_revisions=(number - 1,), revisions=(revision(number, "".join(lines), 1),)))
    with Trail.open(tmp_path, "s") as trail:
        assert trail.revisions(1, 1)[0].text == "".join(lines)
        assert len({revision.text for revision in trail.revisions(1)}) == 201
    assert (tmp_path / TRAIL_NAME).stat().st_size < 5 * len("".join(lines))


# What a call costs.


def _filled(commits: int) -> Trail:
    """A trail of so many commits, each of which replaces one entry and one section of the ten that there are, in a file of its own."""
    trail = Trail.in_memory()
    with trail.writing():
        for number in range(1, commits + 1):
            path = FilePath(f"memory/{number % 10}.md")
            fact = FactId(f"{number:08x}")
            old = number - 10
            append_steps(
                trail,
                Step(
                    ended=(Ending(old, entry(path=path), Fate.SUPERSEDED, fact),) if old > 0 else (),
                    begun=(occurrence(number, fact=fact, path=path),),
                    ended_revisions=(old,) if old > 0 else (),
                    revisions=(revision(number, f"## Work\n\n{number}\n", (old - 1) % 10 + 1 if old > 0 else 0, path=path),),
                    marks=_first_marks(number),
                    reverted_commits=(commit_id(number // 2),),
                    paths=(path,),
                    merged_lines=(merged_line(f"- line {number}", number, path), merged_line(f"- another {number}", number, path)),
                ),
            )
    return trail


def _first_marks(number: int) -> tuple[Mark, ...]:
    if number > 50:
        return ()
    return (mark(MarkKind.RETRACTED, number, -1) if number % 10 else mark(MarkKind.CONTRADICTS, number),)


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


PATH = FilePath("memory/3.md")
CALLS: dict[str, Callable[[Trail], object]] = {
    "newest_commit": lambda trail: trail.newest_commit,
    "commit_numbered": lambda trail: trail.commit_numbered(30),
    "commit_with_id": lambda trail: trail.commit_with_id(mainline_commit(30).commit),
    "side_commit_of_line": lambda trail: trail.side_commit_of_line(30, FilePath("memory/0.md"), "- line 30"),
    "side_commit": lambda trail: trail.side_commit(commit_id(30)),
    "last_commit_before": lambda trail: trail.last_commit_before(1030, 2**40),
    "counts_from": lambda trail: trail.counts_from(30, 2**40),
    "commits_after": lambda trail: trail.commits_after(20, 5),
    "live_occurrences": lambda trail: trail.live_occurrences(PATH),
    "live_revisions": lambda trail: trail.live_revisions(PATH),
    "all_began_at": lambda trail: trail.all_began_at(PATH, 3),
    "occurrences_of": lambda trail: trail.occurrences_of(FactId(f"{30:08x}")),
    "occurrences_with_key": lambda trail: trail.occurrences_with_key("employer"),
    "ids_with_prefix": lambda trail: trail.ids_with_prefix("0000001"),
    "occurrences_ended": lambda trail: trail.occurrences_ended(20, 25),
    "predecessors_of": lambda trail: trail.predecessors_of(FactId(f"{30:08x}")),
    "marks": lambda trail: trail.marks(),
    "marks in a file": lambda trail: trail.marks(PATH),
    "marks_of": lambda trail: trail.marks_of(30),
    "marks_of with ended ones": lambda trail: trail.marks_of(30, include_ended=True),
    "marks_stated_by": lambda trail: trail.marks_stated_by(commit_id(30)),
    "commits_with_marks_from": lambda trail: trail.commits_with_marks_from(30),
    "stating_commit": lambda trail: trail.stating_commit(f"{30:040x}"[:39]),
    "pair_marks": lambda trail: trail.pair_marks(),
    "pair_marks at a commit": lambda trail: trail.pair_marks(30),
    "revisions": lambda trail: trail.revisions(3, 3),
    "newest_revisions": lambda trail: trail.newest_revisions(),
    "newest_revisions of a file": lambda trail: trail.newest_revisions(PATH),
    "paths_since": lambda trail: trail.paths_since(trail.newest_commit.number - 3 if trail.newest_commit else 0),
    "dropped_commits": lambda trail: trail.dropped_commits(),
    "cut": lambda trail: trail.cut(trail.newest_commit.number - 3 if trail.newest_commit else 0),
    "append": lambda trail: append_steps(
        trail,
        Step(
            begun=(occurrence(trail.newest_commit.number + 1 if trail.newest_commit else 1),), merged_lines=(merged_line("- last", 2**40),)
        ),
    ),
}


@pytest.fixture(scope="module")
def small_and_large() -> Iterator[tuple[Trail, Trail]]:
    with _filled(100) as small, _filled(1600) as large:
        yield small, large


@pytest.mark.parametrize("name", CALLS)
def test_a_call_costs_what_it_returns_whatever_the_trail_holds(name: str, small_and_large: tuple[Trail, Trail]):
    in_small, in_large = (_instructions(trail, CALLS[name]) for trail in small_and_large)
    assert in_large <= 1.3 * in_small + 10


# The file.


def filled(folder: Path) -> Path:
    with Trail.open(folder, "s") as trail:
        append_steps(
            trail, Step(begun=(occurrence(1),), revisions=(revision(1),), marks=(mark(MarkKind.RETRACTED, 1, -1),), paths=(PATHS[0],))
        )
        append_steps(trail, Step(ended=(Ending(1, entry(), Fate.REMOVED),), ended_revisions=(1,), revisions=(revision(2, "other", 1),)))
    return folder / TRAIL_NAME


def test_it_is_stored(tmp_path: Path):
    filled(tmp_path)
    with Trail.in_memory() as in_memory, Trail.open(tmp_path, "s") as trail:
        append_steps(
            in_memory, Step(begun=(occurrence(1),), revisions=(revision(1),), marks=(mark(MarkKind.RETRACTED, 1, -1),), paths=(PATHS[0],))
        )
        append_steps(in_memory, Step(ended=(Ending(1, entry(), Fate.REMOVED),), ended_revisions=(1,), revisions=(revision(2, "other", 1),)))
        assert trail.dump() == in_memory.dump()
    assert [path.name for path in tmp_path.iterdir()] == [TRAIL_NAME]


def test_nothing_is_created_before_the_first_write(tmp_path: Path):
    folder = tmp_path / "missing"
    with Trail.open(folder, "s") as trail:
        assert trail.newest_commit is None
        assert trail.commits_after() == trail.newest_revisions() == ()
        assert not folder.exists()
        append_steps(trail, Step())
        assert trail.newest_commit == mainline_commit(1)
    assert (folder / TRAIL_NAME).is_file()


def _another_version(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {TRAIL_VERSION + 1}")


def _another_program(path: Path) -> None:
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {TRAIL_VERSION}")
        connection.execute("CREATE TABLE about (settings TEXT)")


def _without_a_table(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE about")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("# Memory\n" * 1000),
    "cut short": lambda path: os.truncate(path, 5000),
    "cut very short": lambda path: os.truncate(path, 50),
    "newer": _another_version,
    "foreign": _another_program,
    "half created": _without_a_table,
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "a log that is not its own": lambda path: [_another_version(path), path.with_name(f"{TRAIL_NAME}-wal").write_bytes(b"x" * 9000)],
}


@pytest.mark.parametrize("name", DAMAGE)
def test_an_unusable_file_counts_as_empty(name: str, tmp_path: Path):
    path = filled(tmp_path)
    DAMAGE[name](path)
    with pytest.raises(BrokenTrail):
        verify_trail(tmp_path)
    with Trail.open(tmp_path, "s") as trail:
        assert trail.newest_commit is None
        append_steps(trail, Step(begun=(occurrence(1, ODD),)))
    with Trail.open(tmp_path, "s") as trail:
        assert [occurrence.entry.text for occurrence in trail.live_occurrences(PATHS[0])] == [ODD]
    assert [path.name for path in tmp_path.iterdir()] == [TRAIL_NAME]


def test_a_trail_is_verified_whatever_its_settings(tmp_path: Path):
    assert verify_trail(tmp_path) is None
    before = filled(tmp_path).read_bytes()
    assert verify_trail(tmp_path) == 2
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(TRAIL_NAME, before)]


def test_other_settings_make_it_empty(tmp_path: Path):
    before = filled(tmp_path).read_bytes()
    with Trail.open(tmp_path, "other") as trail:
        assert trail.newest_commit is None
    assert (tmp_path / TRAIL_NAME).read_bytes() == before
    with Trail.open(tmp_path, "other") as trail:
        append_steps(trail, Step())
    with Trail.open(tmp_path, "s") as old, Trail.open(tmp_path, "other") as new:
        assert (old.newest_commit, new.newest_commit) == (None, mainline_commit(1))


def test_create_replaces_what_is_there(tmp_path: Path):
    filled(tmp_path)
    with Trail.create(tmp_path, "s") as trail:
        assert trail.newest_commit is None
        append_steps(trail, Step())
    with Trail.open(tmp_path, "s") as trail:
        assert trail.newest_commit == mainline_commit(1)
        assert trail.newest_revisions() == ()


def _read_all(trail: Trail) -> None:
    for call in CALLS.values():
        call(trail)
    trail.revisions_containing("works")
    trail.dump()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("sound")
    random = Random(4)
    history: list[tuple[MainlineCommit, Step]] = []
    with Trail.open(folder, "s") as trail, trail.writing():
        for number in range(1, 30):
            history.append((mainline_commit(number), random_step(number, Model(history), random)))
            trail.append(*history[-1])
    return (folder / TRAIL_NAME).read_bytes()


@settings(max_examples=50)
@given(data=st.data())
def test_damage_makes_a_broken_trail_at_worst(sound: bytes, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("damaged")
    damaged = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(damaged) - 1))
        junk = data.draw(st.binary(min_size=1, max_size=30))
        damaged[start : start + len(junk)] = junk
    (folder / TRAIL_NAME).write_bytes(damaged[: data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))])
    try:
        whole = verify_trail(folder) is not None
    except BrokenTrail:
        whole = False
    with Trail.open(folder, "s") as trail, contextlib.nullcontext() if whole else contextlib.suppress(BrokenTrail):
        _read_all(trail)
    with Trail.create(folder, "s") as trail:
        append_steps(trail, Step())
        assert trail.newest_commit == mainline_commit(1)


# Other processes.


def test_a_reader_sees_the_last_committed_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mdmem.trail.storage._BUSY_SECONDS", 0.05)
    filled(tmp_path)
    with Trail.open(tmp_path, "s") as writer, Trail.open(tmp_path, "s") as reader:
        before = reader.dump()
        with writer.writing():
            append_steps(writer, *(Step(begun=(occurrence(number, "x" * 10_000),)) for number in range(3, 400)))
            assert reader.dump() == before
            with Trail.open(tmp_path, "s") as second_reader:
                assert second_reader.dump() == before
                with pytest.raises(StorageProblem, match="locked"):
                    append_steps(second_reader, Step())
        assert reader.dump() == writer.dump() != before


_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_trail_table import Ending, Fate, Step, Trail, append_steps, entry, occurrence
with Trail.open(Path(sys.argv[1]), "s") as trail:
    number = trail.newest_commit.number if trail.newest_commit else 0
    print("ready", flush=True)
    while True:
        with trail.writing():
            for _ in range(5):
                number += 1
                ended = [Ending(old.number, old.entry, Fate.MOVED) for old in trail.live_occurrences(entry().path)]
                append_steps(trail, Step(ended=tuple(ended), begun=tuple(occurrence(number) for _ in range(3))))
"""


def test_a_reader_next_to_a_process_that_writes_and_is_killed(tmp_path: Path):
    with Trail.open(tmp_path, "s") as trail:
        append_steps(trail, Step(begun=(occurrence(1), occurrence(1), occurrence(1))), *[Step()] * 4)
    command = [sys.executable, "-c", _WRITER, str(tmp_path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == b"ready\n"
        with Trail.open(tmp_path, "s") as reader:
            numbers = {5}
            while len(numbers) < 10:
                live = reader.live_occurrences(PATHS[0])
                assert len(live) == 3
                assert len({occurrence.begun for occurrence in live}) == 1
                numbers.add(live[0].begun // 5 * 5)
                assert live[0].begun == 1 or live[0].begun % 5 == 0
        writer.kill()
    with Trail.open(tmp_path, "s") as trail:
        assert trail.newest_commit
        assert trail.newest_commit.number >= max(numbers)
        assert trail.newest_commit.number % 5 == 0
        append_steps(trail, Step())
        trail.cut(5)
        assert len(trail.live_occurrences(PATHS[0])) == 3


def _as_nobody(folder: str, answer: str) -> None:
    """Read and write the trail as a user who may only read it."""
    with Path(answer).open("w") as output:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        with Trail.open(Path(folder), "s") as trail:
            print(trail.newest_commit == mainline_commit(2), len(trail.occurrences_of(FACTS[0])), file=output)
            for write in (lambda: append_steps(trail, Step()), trail.forget_dropped, lambda: trail.cut(0)):
                with pytest.raises(StorageProblem):
                    write()
            print(trail.newest_commit == mainline_commit(2), file=output)
        with Trail.open(Path(folder), "other") as trail:
            with pytest.raises(StorageProblem, match="cannot be written"):
                append_steps(trail, Step())
            print(trail.newest_commit, file=output)


def test_a_read_only_folder(tmp_path: Path):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = filled(folder)
        before = path.read_bytes()
        path.chmod(0o444)
        folder.chmod(0o555)
        worker = multiprocessing.get_context("fork").Process(target=_as_nobody, args=(name, str(tmp_path / "answer")))
        worker.start()
        worker.join()
        folder.chmod(0o755)
        assert worker.exitcode == 0
        assert (tmp_path / "answer").read_text() == "True 1\nTrue\nNone\n"
        assert path.read_bytes() == before
        assert [path.name for path in folder.iterdir()] == [TRAIL_NAME]


def _write_much(trail: Trail) -> None:
    with trail.writing():
        for number in range(len(trail.commits_after()) + 1, 200):
            append_steps(trail, Step(begun=(occurrence(number, "x" * 50_000),)))


def _write_within(folder: str, size: int) -> None:
    """Write the trail where no file may grow beyond a size, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    with Trail.open(Path(folder), "s") as trail:
        before = trail.dump()
        assert len(before[0]) == (2 if Path(folder).exists() else 0)
        with pytest.raises(StorageProblem):
            _write_much(trail)
        assert trail.dump() == before


@pytest.mark.parametrize("size", [0, 10_000, 300_000])
@pytest.mark.parametrize("existing", [False, True])
def test_a_full_disk(size: int, existing: bool, tmp_path: Path):
    if existing:
        filled(tmp_path / "state")
    worker = multiprocessing.get_context("fork").Process(target=_write_within, args=(str(tmp_path / "state"), size))
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    with Trail.open(tmp_path / "state", "s") as trail:
        newest = trail.newest_commit
        assert newest == (mainline_commit(2) if existing else None)
        append_steps(trail, Step(begun=(occurrence(3 if existing else 1),)))
        assert len(trail.live_occurrences(PATHS[0])) == 1


def test_a_folder_in_the_way(tmp_path: Path):
    (tmp_path / TRAIL_NAME).mkdir()
    with Trail.open(tmp_path, "s") as trail:
        assert trail.newest_commit is None
        with pytest.raises(StorageProblem, match="cannot be written"):
            append_steps(trail, Step())
