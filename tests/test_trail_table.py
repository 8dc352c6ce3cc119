"""The table of the trail: what is appended can be read, and a cut undoes it."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_trail import (
    FACTS,
    ODD,
    PATHS,
    append_steps,
    commit_id,
    entry,
    mark,
    occurrence,
    origin,
    revision,
    stated_revert,
    trail_commit,
)
from made_trail import trail as trail
from trail_dump import dump
from trail_model import Model, random_step, require_equal

from mdmem.model.trail import Fate, MarkKind, TrailCommit
from mdmem.past.line import past_of, side_of
from mdmem.past.steps import Ending, Step, with_past
from mdmem.past.storage import BrokenTrail
from mdmem.past.table import Trail

APPENDS = st.tuples(st.just("append"), st.integers(0, 2**32), st.integers(990, 1020))
CUTS = st.tuples(st.just("cut"), st.integers(0, 2**32), st.just(0))


@given(actions=st.lists(APPENDS | APPENDS | APPENDS | CUTS, max_size=12))
def test_it_reads_as_a_simple_model(actions: list[tuple[str, int, int]]):
    history: list[tuple[TrailCommit, Step]] = []
    with Trail.in_memory() as trail:
        for action, seed, time in actions:
            random = Random(seed)
            if action == "append":
                number = len(history) + 1
                history.append(
                    (trail_commit(number, time), random_step(number, Model(history), random))
                )
                trail.append(*history[-1])
            else:
                number = random.randint(0, len(history))
                before = Model(history)
                dropped = tuple(
                    (
                        commit.commit,
                        commit.number,
                        tuple(sorted(before.paths(commit.number, commit.number))),
                    )
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
            assert dump(trail) == dump(refilled)


@given(seeds=st.lists(st.integers(0, 2**32), min_size=1, max_size=8), number_kept=st.integers(0, 8))
def test_cutting_and_appending_again_gives_the_same_trail(seeds: list[int], number_kept: int):
    history: list[tuple[TrailCommit, Step]] = []
    with Trail.in_memory() as trail:
        for number, seed in enumerate(seeds, 1):
            history.append(
                (trail_commit(number), random_step(number, Model(history), Random(seed)))
            )
            trail.append(*history[-1])
        before = dump(trail)
        trail.cut(number_kept)
        for commit, step in history[number_kept:]:
            trail.append(commit, step)
        assert dump(trail) == before


# Single rules.


def test_an_ended_occurrence_tells_how_it_ended(trail: Trail):
    began = occurrence(1, tags=("old",))
    append_steps(
        trail,
        Step(begun=(began,)),
        Step(
            ended=(
                Ending(
                    1, replace(began.entry, start_line=7, end_line=8), Fate.SUPERSEDED, FACTS[2]
                ),
            )
        ),
    )
    (ended,) = trail.occurrences_of(FACTS[0])
    assert (ended.entry.start_line, ended.entry.end_line) == (7, 8)
    assert (ended.ended, ended.fate, ended.successor, ended.last) == (
        2,
        Fate.SUPERSEDED,
        FACTS[2],
        trail_commit(1).commit,
    )
    trail.cut(1)
    assert trail.live_occurrences(PATHS[0]) == (replace(began, number=1),)


def test_a_cut_undoes_endings_marks_and_reverts(trail: Trail):
    append_steps(
        trail,
        Step(
            begun=(occurrence(1), occurrence(1, "second")),
            revisions=(revision(1),),
            marks=(mark(MarkKind.RETRACTED, 1, -2),),
        ),
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
    assert trail.dropped_commits() == ((trail_commit(2).commit, 2, (PATHS[0],)),)
    trail.forget_dropped()
    assert trail.dropped_commits() == ()


def test_a_mark_that_moved_along_goes_with_the_commit_that_moved_it(trail: Trail):
    """Its `begun` stays that with which it was stated first."""
    append_steps(
        trail,
        Step(begun=(occurrence(1),), marks=(mark(MarkKind.RETRACTED, 1, -1),)),
        Step(
            ended=(Ending(1, entry(), Fate.MOVED),),
            begun=(occurrence(2, path=PATHS[1]),),
            marks=(mark(MarkKind.RETRACTED, 1, -1),),
        ),
    )
    assert trail.marks(PATHS[1]) == (mark(MarkKind.RETRACTED, 1, 2),)
    trail.cut(1)
    assert trail.marks() == (mark(MarkKind.RETRACTED, 1, 1),)


def test_the_paths_that_a_mark_concerns(trail: Trail):
    begun = (
        occurrence(1),
        occurrence(1, path=PATHS[1], fact=FACTS[1]),
        occurrence(1, path=PATHS[2], fact=FACTS[2]),
    )
    append_steps(
        trail,
        Step(begun=begun),
        Step(marks=(mark(MarkKind.SUPERSEDED, 2, 3),)),
        Step(marks=(mark(MarkKind.CONTRADICTS, 3),)),
    )
    assert trail.paths_since(1) == set(PATHS)
    assert trail.paths_since(2) == {PATHS[0], PATHS[1]}
    append_steps(trail, Step(reverted_commits=(commit_id(2),)))
    assert trail.paths_since(3) == {PATHS[2]}


def test_the_paths_that_the_end_of_a_contradiction_concerns(trail: Trail):
    begun = (
        occurrence(1),
        occurrence(1, path=PATHS[1], fact=FACTS[1]),
        occurrence(1, path=PATHS[2], fact=FACTS[2]),
    )
    append_steps(trail, Step(begun=begun), Step(marks=(mark(MarkKind.CONTRADICTS, 2),)))
    append_steps(trail, Step(ended=(Ending(2, entry(path=PATHS[1]), Fate.REMOVED),)))
    assert trail.paths_since(2) == {PATHS[0]}


@pytest.mark.parametrize(
    "key",
    [
        "employer",
        "a long key of more than 24 bytes",
        "ключ от лодочного сарая",
        f"odd {ODD}",
        "50%_\\",
    ],
)
@pytest.mark.parametrize("spelling", ["{}: x", "**{}:** x", "**{}**: x", "__{}__: x"])
def test_facts_that_begin_with_a_key(trail: Trail, key: str, spelling: str):
    texts = [spelling.format(key), "works at Stripe", spelling.format(f"other {key}")]
    append_steps(
        trail,
        Step(
            begun=[occurrence(1, text, fact=fact) for text, fact in zip(texts, FACTS, strict=False)]
        ),
    )
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
def test_facts_that_begin_with_a_key_in_other_letters(
    trail: Trail, written: str, asked: str, spelling: str
):
    texts = [spelling.format(written), spelling.format(f"other {written}")]
    append_steps(
        trail,
        Step(
            begun=[occurrence(1, text, fact=fact) for text, fact in zip(texts, FACTS, strict=False)]
        ),
    )
    assert [each.entry.text for each in trail.occurrences_with_key(asked)] == texts[:1]


def test_facts_of_a_key_in_capitals_or_ended_are_among_them_and_other_text_is_not(trail: Trail):
    text = occurrence(1, "employer: Acme", fact=None, first_line="employer: Acme")
    begun = [occurrence(1, "Employer: Acme"), text]
    append_steps(
        trail, Step(begun=begun), Step(ended=[Ending(1, entry("Employer: Acme"), Fate.REMOVED)])
    )
    assert [(each.entry.text, each.ended) for each in trail.occurrences_with_key("employer")] == [
        ("Employer: Acme", 2)
    ]


def test_an_entry_of_a_digest_keeps_where_it_was_said_and_its_key(trail: Trail):
    cited = replace(origin(1), cites=(f"claude/{ODD}#7-9", "pi/b#1"), attribute=f"home {ODD}")
    first, second = occurrence(1), occurrence(1, "lives in Oslo", fact=FACTS[1])
    append_steps(trail, Step(begun=(replace(first, origin=cited), second)))
    assert [each.origin for each in trail.live_occurrences(PATHS[0])] == [cited, second.origin]


def test_what_a_first_commit_began_is_taken_as_it_is_read(trail: Trail):
    append_steps(trail, Step(begun=(occurrence(1), occurrence(1, ODD, fact=FACTS[1]))))
    read = trail.live_occurrences(PATHS[0])
    assert [trail.take_live_occurrences(PATHS[0]) for _ in range(2)] == [read, read]


@pytest.mark.parametrize("later", ["append", "cut"])
def test_what_a_first_commit_began_is_read_again_after_others(trail: Trail, later: str):
    append_steps(trail, Step(begun=(occurrence(1),)))
    if later == "append":
        entry = occurrence(1).entry
        append_steps(trail, Step(ended=(Ending(number=1, entry=entry, fate=Fate.REMOVED),)))
    else:
        trail.cut(0)
    assert trail.take_live_occurrences(PATHS[0]) == ()


def test_a_clock_that_was_wrong_has_the_moment_of_what_came_before(trail: Trail):
    day = 24 * 60 * 60
    before = None
    for number, (time, committed) in enumerate(
        [
            (day, day),
            (9 * day, 2 * day),
            (2 * day - 9, 2 * day - 9),
            (90, 90),
            (5, 3 * day),
            (40 * day, 40 * day),
            (4 * day, 4 * day),
        ],
        1,
    ):
        commit = TrailCommit(number, commit_id(number), time, "Ada", "", committed=committed)
        commit = with_past(commit, [before] if before else [])
        trail.append(commit, Step())
        before = commit
    assert [trail.moments.of(number) for number in range(1, 8)] == [
        *(day, 2 * day, 2 * day - 9, 2 * day - 9, 5),
        *(40 * day, 40 * day),
    ]
    assert [trail.moments.upto(time) for time in (4, 5, day, 4 * day, 40 * day)] == [
        (),
        ((5, 5),),
        ((1, 1), (5, 5)),
        ((1, 5),),
        ((1, 7),),
    ]


def lines_of(*parents: tuple[int, ...]) -> list[TrailCommit]:
    """Commits with these parents, oldest first, with their pasts."""
    commits: list[TrailCommit] = []
    for number, of_one in enumerate(parents, 1):
        commits.append(
            with_past(
                replace(trail_commit(number), parents=()), [commits[each - 1] for each in of_one]
            )
        )
    return commits


def test_a_commit_knows_what_it_does_not_reach():
    commits = lines_of((), (1,), (2,), (1,), (4,), (3, 5), (5,), (6, 7))
    assert [each.missing for each in commits] == [
        (),
        (),
        (),
        ((2, 3),),
        ((2, 3),),
        (),
        ((2, 3), (6, 6)),
        (),
    ]
    for commit in commits:
        past, waiting = set(), [commit.number]
        while waiting:
            past.add(number := waiting.pop())
            waiting += commits[number - 1].parents
        assert {number for number in range(1, 9) if commit.reaches(number)} == past


def test_each_line_has_its_own_trail_and_a_merge_decides(trail: Trail):
    seed, ours, theirs, merge = lines_of((), (1,), (1,), (2, 3))
    trail.append(seed, Step(begun=(occurrence(1),)))
    (first,) = trail.occurrences_of(FACTS[0])
    trail.append(ours, Step(ended=(Ending(1, first.entry, Fate.SUPERSEDED, FACTS[1]),)))
    assert trail.live_occurrences(PATHS[0]) == ()
    assert [each.number for each in past_of(trail, theirs).live_occurrences(PATHS[0])] == [1]
    trail.append(theirs, Step(ended=(Ending(1, first.entry, Fate.REMOVED),)))
    (outcome,) = trail.occurrences_of(FACTS[0])
    assert (outcome.ended, outcome.fate, outcome.successor) == (2, Fate.SUPERSEDED, FACTS[1])
    (there,) = side_of(trail, merge, theirs).occurrences_of(FACTS[0])
    assert (there.ended, there.fate, there.successor) == (3, Fate.REMOVED, None)
    trail.append(merge, Step(restored=(1,)))
    assert [each.number for each in trail.live_occurrences(PATHS[0])] == [1]
    trail.cut(3)
    assert trail.occurrences_of(FACTS[0]) == (outcome,)
    trail.cut(2)
    assert [(each.ended, each.fate) for each in trail.occurrences_of(FACTS[0])] == [
        (2, Fate.SUPERSEDED)
    ]
    trail.cut(1)
    assert trail.occurrences_of(FACTS[0]) == (first,)


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (Step(ended=(Ending(2, entry(), Fate.REMOVED),)), BrokenTrail),
        (
            Step(ended=(Ending(1, entry(), Fate.REMOVED), Ending(1, entry(), Fate.REMOVED))),
            BrokenTrail,
        ),
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
    before = dump(trail)
    with pytest.raises(problem):
        trail.append(trail_commit(2), step)
    assert dump(trail) == before
    with pytest.raises(ValueError, match="does not follow"):
        trail.append(trail_commit(3), Step())


def _fail_late(trail: Trail) -> None:
    with trail.writing():
        append_steps(trail, Step(ended=(Ending(1, entry(), Fate.REMOVED),)))
        trail.cut(0)
        trail.append(trail_commit(7), Step())


def test_a_failed_transaction_changes_nothing(tmp_path: Path):
    with Trail.open(tmp_path, "s") as trail:
        append_steps(trail, Step(begun=(occurrence(1),)))
        before = dump(trail)
        with pytest.raises(ValueError, match="does not follow"):
            _fail_late(trail)
        assert dump(trail) == before
