"""A simple model of the trail, random steps for both, and a comparison of what they tell."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from random import Random

import made_trail
from made_trail import FACTS, ODD, PATHS, commit_id, origin, stated_revert

from mdmem.model import CommitId, FactId, FilePath, Source
from mdmem.model.trail import (
    Entry,
    Fate,
    Mark,
    MarkKind,
    Occurrence,
    Revision,
    TrailCommit,
    of_numbers,
)
from mdmem.past.steps import Ending, Step
from mdmem.past.table import Trail

LOG = PATHS[0]
SECTIONS = [(), ("Memory",), ("Memory", "Work"), ("Memory", f"# > {ODD}")]


@dataclass
class Model:
    """A model of the trail in plain lists, which appends everything from the start again."""

    history: list[tuple[TrailCommit, Step]]
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
            ended = replace(
                row,
                entry=ending.entry,
                ended=number,
                fate=ending.fate,
                successor=ending.successor,
                last=last,
            )
            self.occurrences[ending.number - 1] = ended
        for index, earlier in enumerate(self.marks):
            if earlier.commit in step.reverted_commits and earlier.ended is None:
                self.marks[index] = replace(earlier, ended=number)
        count = len(self.occurrences)
        self.occurrences += [
            replace(begun, number=count + position) for position, begun in enumerate(step.begun, 1)
        ]
        for row_number in step.ended_revisions:
            self.revisions[row_number - 1] = replace(self.revisions[row_number - 1], ended=number)
        for begun in step.revisions:
            row_number = len(self.revisions) + 1
            self.revisions.append(
                replace(begun, number=row_number, lineage=begun.lineage or row_number)
            )
        for new in step.marks:
            self.marks.append(
                replace(
                    new, occurrence=count - new.occurrence if new.occurrence < 0 else new.occurrence
                )
            )
            self.added.append(number)

    def live_occurrences(self, path: FilePath) -> list[Occurrence]:
        return [each for each in self.occurrences if each.entry.path == path and each.ended is None]

    def marks_in_force(self) -> list[Mark]:
        return [mark for mark in self.marks if mark.ended is None]

    def newest_revisions(self) -> list[Revision]:
        newest = {revision.lineage: revision for revision in self.revisions}
        return [newest[lineage] for lineage in sorted(newest)]

    def predecessors_of(self, fact: FactId) -> list[Occurrence]:
        marked = {
            mark.occurrence
            for mark in self.marks_in_force()
            if mark.kind is MarkKind.SUPERSEDED and mark.other == fact
        }
        return [
            occurrence
            for occurrence in self.occurrences
            if occurrence.successor == fact or occurrence.number in marked
        ]

    def paths(self, first: int, last: int) -> set[FilePath]:
        paths = {
            path
            for commit, step in self.history
            if first <= commit.number <= last
            for path in step.paths
        }
        for mark, added in zip(self.marks, self.added, strict=True):
            if first <= added <= last or (mark.ended and first <= mark.ended <= last):
                rows = [
                    row
                    for row in self.occurrences
                    if row.ended is None and row.entry.fact in (mark.fact, mark.other)
                ]
                paths |= {
                    row.entry.path
                    for row in (
                        [self.occurrences[mark.occurrence - 1]] if mark.occurrence else rows
                    )
                }
        changed = {row.entry.fact for row in self.occurrences if self._changed(row, first, last)}
        for mark in self.marks:
            if mark.kind in (MarkKind.CONTRADICTS, MarkKind.RESOLVED) and mark.ended is None:
                opposing = {
                    right
                    for left, right in ((mark.fact, mark.other), (mark.other, mark.fact))
                    if left in changed
                }
                paths |= {
                    row.entry.path
                    for row in self.occurrences
                    if row.ended is None and row.entry.fact in opposing
                }
        return paths

    def _changed(self, row: Occurrence, first: int, last: int) -> bool:
        marks = [
            (added, mark.ended)
            for mark, added in zip(self.marks, self.added, strict=True)
            if mark.occurrence == row.number
        ]
        return any(
            first <= number <= last
            for number in (row.begun, row.ended, *(n for mark in marks for n in mark))
            if number
        )


def random_step(number: int, model: Model, random: Random) -> Step:
    """A step that could come next: what it ends is live, and what it marks is there."""
    live = [occurrence for occurrence in model.occurrences if occurrence.ended is None]
    live_revisions = [revision for revision in model.revisions if revision.ended is None]
    ended = tuple(
        Ending(
            each.number,
            replace(
                each.entry,
                start_line=random.randrange(99),
                end_line=99,
                tags=("later",),
                until=random.choice([None, date(2027, 1, 1)]),
            ),
            random.choice(list(Fate)),
            random.choice([None, *FACTS]),
        )
        for each in random.sample(live, min(len(live), random.randrange(3)))
    )
    begun = tuple(random_occurrence(number, random) for _ in range(random.randrange(4)))
    ended_revisions = random.sample(live_revisions, min(len(live_revisions), random.randrange(3)))
    lineages = [revision.lineage for revision in ended_revisions if random.random() < 0.8]
    revisions = tuple(
        random_revision(number, lineage, random)
        for lineage in (*lineages, *([0] * random.randrange(2)))
    )
    rows = [
        *(-position for position in range(1, len(begun) + 1)),
        *(occurrence.number for occurrence in model.occurrences[-5:]),
    ]
    marks = tuple(
        random_mark(random.randint(1, number), rows, random) for _ in range(random.randrange(3))
    )
    reverts = tuple(
        stated_revert(number, random.choice((1, 1001)) * random.randint(1, number))
        for _ in range(random.randrange(3))
    )
    paths = tuple(random.sample(PATHS, random.randrange(3)))
    return Step(
        ended=ended,
        begun=begun,
        ended_revisions=tuple(revision.number for revision in ended_revisions),
        revisions=revisions,
        marks=marks,
        reverts=reverts,
        reverted_commits=tuple(each.reverted for each in reverts[:1]),
        paths=paths,
        logs=frozenset(each.entry.path for each in begun if each.entry.path == LOG),
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
        fact=random.choice([None, *FACTS, FactId(f"{random.getrandbits(32):08x}")]),
        first_line=f"- {ODD}",
    )
    random_origin = replace(origin(number), source=random.choice(list(Source)))
    return Occurrence(
        entry=random_entry, begun=number, origin=random_origin, also=random.random() < 0.5
    )


def random_revision(number: int, lineage: int, random: Random) -> Revision:
    text = "".join(
        random.choice(["- one\n", f"- {ODD}\n", "- two\n", "x" * 5000])
        for _ in range(random.randrange(5))
    )
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
    stated = replace(
        made_trail.mark(MarkKind.CONTRADICTS, begun),
        commit=commit_id(begun * random.choice((1, 1001))),
        fact=random.choice(FACTS),
    )
    if rows and random.random() < 0.6:
        kind = random.choice([MarkKind.SUPERSEDED, MarkKind.RETRACTED])
        return replace(
            stated, kind=kind, other=random.choice([None, *FACTS]), occurrence=random.choice(rows)
        )
    return replace(
        stated,
        kind=random.choice([MarkKind.CONTRADICTS, MarkKind.RESOLVED]),
        other=random.choice(FACTS),
    )


def require_equal(trail: Trail, model: Model) -> None:
    """Assert that every call that reads gives what the model gives."""
    _require_equal_commits(trail, model)
    for path in PATHS:
        _require_equal_files(trail, model, path)
    for fact in FACTS:
        assert list(trail.occurrences_of(fact)) == [
            occurrence for occurrence in model.occurrences if occurrence.entry.fact == fact
        ]
        assert list(trail.predecessors_of(fact)) == model.predecessors_of(fact)
    for prefix in ("", "a", "aa", *FACTS, "d"):
        assert list(trail.ids_with_prefix(prefix)) == sorted(
            {
                fact
                for occurrence in model.occurrences
                if (fact := occurrence.entry.fact) and fact.startswith(prefix)
            }
        )
    _require_equal_counts(trail, model)
    _require_equal_marks(trail, model)
    assert list(trail.newest_revisions()) == model.newest_revisions()
    for lineage in {revision.lineage for revision in model.revisions} | {99}:
        revisions = [
            revision for revision in reversed(model.revisions) if revision.lineage == lineage
        ]
        assert list(trail.revisions(lineage, include_unchanged=True)) == revisions
        assert (
            list(trail.revisions(lineage, 2))
            == [revision for revision in revisions if not revision.unchanged_text][:2]
        )
    for text in ("", "one\n- two", f"- {ODD}\n", "\udce9", "absent"):
        assert list(trail.revisions_containing(text)) == [
            revision for revision in model.revisions if text in revision.text
        ]


def _require_equal_counts(trail: Trail, model: Model) -> None:
    looked_at = {span.fact for span in trail.fact_spans()}
    rows = [each for each in model.occurrences if each.entry.fact]
    closed = {
        mark.occurrence
        for mark in model.marks_in_force()
        if mark.kind in (MarkKind.SUPERSEDED, MarkKind.RETRACTED, MarkKind.PROMOTED)
    }
    assert looked_at >= {
        each.entry.fact for each in rows if each.entry.until or each.number in closed
    }
    assert looked_at >= {
        fact for fact, count in Counter(each.entry.fact for each in rows).items() if count > 1
    }
    counted: Counter[object] = Counter()
    for each in trail.fact_counts(LOG.__eq__):
        counted[each.path, each.kind, each.source, each.begun, each.ended] += each.facts
    moment = {commit.number: commit.moment for commit, _ in model.history}
    middle = sorted(moment.values())[len(moment) // 2] if moment else 0
    since = [each for each in trail.fact_counts(LOG.__eq__, middle) if each.ended]
    assert all(each.ended and moment[each.ended] >= middle for each in since)
    ended = [each for each in rows if each.ended and each.entry.fact not in looked_at]
    assert sum(each.facts for each in since) + sum(
        count for _, _, count in trail.ended_lives(middle)
    ) == len(ended)
    assert Counter(
        (path, hours) for path, hours, count in trail.ended_lives(middle) for _ in range(count)
    ) == Counter(
        (each.entry.path, max(0, moment[each.ended] - moment[each.begun]) // 3600)
        for each in ended
        if each.ended and moment[each.ended] < middle
    )
    assert counted == Counter(
        (
            None if each.entry.path == LOG else each.entry.path,
            each.entry.kind or "",
            each.origin.source,
            each.begun,
            each.ended,
        )
        for each in rows
        if each.entry.fact not in looked_at
    )


def _require_equal_commits(trail: Trail, model: Model) -> None:
    commits = [commit for commit, _ in model.history]
    assert trail.newest_commit == (commits[-1] if commits else None)
    assert list(trail.commits_after()) == commits
    assert list(trail.commits_after(1)) == commits[1:]
    for number in range(len(commits) + 2):
        assert trail.commit_numbered(number) == (
            commits[number - 1] if 1 <= number <= len(commits) else None
        )
        assert trail.paths_since(number) == model.paths(number + 1, len(commits))
        ended = [
            each for each in model.occurrences if each.ended and number < each.ended <= number + 2
        ]
        assert list(trail.occurrences_ended(number, number + 2)) == sorted(
            ended, key=lambda each: (each.ended, each.number)
        )
    for name in (*(commit.commit for commit in commits), CommitId("none")):
        assert trail.commit_with_id(name) == next(
            (commit for commit in commits if commit.commit == name), None
        )
    times = {0, 2000, *(commit.time + offset for commit in commits for offset in (-1, 0))}
    moments = trail.moments
    for time in times:
        assert moments.upto(time) == of_numbers(
            commit.number for commit in commits if commit.moment <= time
        )
    assert [moments.of(commit.number) for commit in commits] == [
        commit.moment for commit in commits
    ]
    assert [trail.order(commit.number) for commit in commits] == [
        (commit.moment, commit.commit) for commit in commits
    ]


def _require_equal_files(trail: Trail, model: Model, path: FilePath) -> None:
    live = model.live_occurrences(path)
    assert list(trail.live_occurrences(path)) == live
    live_revisions = [
        revision for revision in model.revisions if revision.path == path and revision.ended is None
    ]
    assert list(trail.live_revisions(path)) == live_revisions
    assert list(trail.live_revisions(path, SECTIONS[:1])) == [
        each for each in live_revisions if each.section == SECTIONS[0]
    ]
    begun = {occurrence.begun for occurrence in live}
    assert all(
        trail.all_began_at(path, number) == (begun <= {number})
        for number in range(len(model.history) + 1)
    )
    lineages = {revision.lineage for revision in model.revisions if revision.path == path}
    assert list(trail.newest_revisions(path)) == [
        each for each in model.newest_revisions() if each.lineage in lineages
    ]
    rows = {occurrence.number for occurrence in live}
    assert list(trail.marks(path)) == _by_begin(
        mark for mark in model.marks_in_force() if mark.occurrence in rows
    )
    assert list(trail.marks(path, include_ended=True)) == _by_begin(
        mark for mark in model.marks if mark.occurrence in rows
    )


def _require_equal_marks(trail: Trail, model: Model) -> None:
    assert list(trail.marks()) == model.marks_in_force()
    for commit in {mark.commit for mark in model.marks}:
        assert list(trail.marks_stated_by(commit)) == [
            mark for mark in model.marks if mark.commit == commit
        ]
        assert trail.stating_commit(commit) == commit
    for number in range(1, len(model.history) + 1):
        stating = dict.fromkeys(mark.commit for mark in model.marks if mark.begun == number)
        assert list(trail.commits_with_marks_from(number)) == list(stating)
    assert list(trail.reverts()) == [each for _, step in model.history for each in step.reverts]
    pairs = _by_begin(
        mark for mark in model.marks if mark.kind in (MarkKind.CONTRADICTS, MarkKind.RESOLVED)
    )
    assert list(trail.pair_marks()) == [mark for mark in pairs if mark.ended is None]
    for number in range(len(model.history) + 1):
        in_force = [
            mark
            for mark in pairs
            if mark.begun <= number and (mark.ended is None or mark.ended > number)
        ]
        assert list(trail.pair_marks(((1, number),) if number else ())) == in_force
    for row in range(1, len(model.occurrences) + 1):
        assert list(trail.marks_of(row)) == _by_begin(
            mark for mark in model.marks_in_force() if mark.occurrence == row
        )
        assert list(trail.marks_of(row, include_ended=True)) == _by_begin(
            mark for mark in model.marks if mark.occurrence == row
        )


def _by_begin(marks: Iterable[Mark]) -> list[Mark]:
    """Marks in the order in which they began; those of one commit as they were added."""
    return sorted(marks, key=lambda mark: mark.begun)
