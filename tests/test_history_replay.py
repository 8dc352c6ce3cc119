import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import examples
from generated_markdown import closed_documents
from hypothesis import given
from hypothesis import strategies as st
from replays import FACTS, LOG, MEMORY, TOPIC, ReplayedMemory, commit_id, fact, memory, message
from trail_dump import dump

from mdmem.model import CommitId, FilePath, Op, Source
from mdmem.model.trail import Entry, Fate, MarkKind, Origin, StatedRevert
from mdmem.past import file_changes
from mdmem.text.facts import entries

OLD, NEW = "employer: Stripe", "employer: Linear"
DAY = "# 2026-03-05\n\n## 09:00\n\n- {}\n"
NEXT_LOG = FilePath("memory/2026-03-06.md")


def test_unchanged_entries_continue(replayed: ReplayedMemory) -> None:
    replayed.write(memory("one", "two"))
    step = replayed.write("# Memory\n\nA line above.\n\n## Facts\n\n- one\n- two\n- three\n")
    assert [occurrence.entry.text for occurrence in step.begun] == ["A line above.", "three"]
    assert not step.ended
    assert replayed.newest_occurrence("one").begun == 1
    assert replayed.newest_occurrence("one").origin.commit == commit_id(1)


def test_only_changed_sections_are_parsed_into_entries(
    replayed: ReplayedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = [f"## {number}\n\n- one of {number}\n- two of {number}\n\n" for number in range(20)]
    replayed.write("# Memory\n\n" + "".join(sections))
    counts: list[int] = []

    def counted_entries(*arguments: Any, **options: bool) -> tuple[Entry, ...]:
        parsed = entries(*arguments, **options)
        counts.append(len(parsed))
        return parsed

    monkeypatch.setattr(file_changes, "entries", counted_entries)
    sections[7] = "## 7\n\n- one of 7\n- three of 7\n- two of 7\n\n"
    step = replayed.write("# Memory\n\n" + "".join(sections))
    assert [occurrence.entry.text for occurrence in step.begun] == ["three of 7"]
    assert counts == [2, 3]


def test_an_equal_entry_in_another_section_of_that_name_counts(replayed: ReplayedMemory) -> None:
    replayed.write("# M\n\n## A\n\n- x\n\n## A\n\n- y\n- z\n")
    step = replayed.write("# M\n\n## A\n\n- x\n- y\n\n## A\n\n- y\n- z\n")
    assert [occurrence.entry.start_line for occurrence in step.begun] == [10]
    assert not step.ended


def test_of_equal_entries_the_last_begin_and_end(replayed: ReplayedMemory) -> None:
    replayed.write(memory("same"))
    assert len(replayed.write(memory("same", "other", "same")).begun) == 2
    first, second = replayed.trail.occurrences_of(fact("same"))
    step = replayed.write(memory("same", "other"))
    assert [(ending.number, ending.fate, ending.entry.start_line) for ending in step.ended] == [
        (second.number, Fate.REMOVED, 7)
    ]
    assert replayed.trail.live_occurrences(MEMORY)[0].number == first.number


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tea", "tea #drink"),
        ("tea", "[preference] tea"),
        ("tea", "tea (until 2027-01-01)"),
        ("tea", " tea"),
        ("Green tea", "green tea"),
        ("tea\n  with milk", "Tea with milk"),
    ],
)
def test_a_rewritten_line_moves_its_fact_with_source_and_marks(
    replayed: ReplayedMemory, before: str, after: str
) -> None:
    replayed.write(
        memory(before, "coffee"), message(Op.REMEMBER, source=Source.USER_STATED, also=True), LOG
    )
    replayed.commit({}, message(Op.SUPERSEDE, (before, "coffee"), path=LOG))
    step = replayed.write(memory(after, "coffee"), message(Op.REMEMBER, source=Source.AUTO), LOG)
    assert [ending.fate for ending in step.ended] == [Fate.MOVED]
    assert replayed.newest_occurrence(before).origin == Origin(
        commit=commit_id(3), time=300, source=Source.USER_STATED, confidence=0.95, author="Ada <>"
    )
    assert replayed.newest_occurrence(before).also
    assert [(mark.kind, mark.begun, mark.other) for mark in replayed.marks_on(before)] == [
        (MarkKind.SUPERSEDED, 2, fact("coffee"))
    ]


@pytest.mark.parametrize(
    "after",
    [
        "# Memory\n\n## Knowledge\n\n- one\n- two\n",
        "# Mind\n\n## Facts\n\n- one\n- two\n",
        "# Memory\n\n## Work\n\n### Facts\n\n- one\n- two\n",
        "# Memory\n\n## Knowledge\n\n- one\n- two\n- three\n",
    ],
    ids=["heading", "title", "place", "heading and text"],
)
def test_entries_of_a_renamed_section_keep_their_origin(
    replayed: ReplayedMemory, after: str
) -> None:
    replayed.write(memory("one", "two"), message(Op.REMEMBER, source=Source.AUTO, also=True), LOG)
    replayed.commit({}, message(Op.RETRACT, retracts=["two"]))
    step = replayed.write(after, path=LOG)
    assert {ending.fate for ending in step.ended} == {Fate.MOVED}
    assert (
        replayed.newest_occurrence("one").origin.source,
        replayed.newest_occurrence("one").also,
        replayed.newest_occurrence("one").begun,
    ) == (Source.AUTO, True, 3)
    assert [mark.kind for mark in replayed.marks_on("two")] == [MarkKind.RETRACTED]
    replayed.require_match_with_files()


def test_entries_of_a_renamed_file_keep_their_origin(replayed: ReplayedMemory) -> None:
    replayed.write(memory("one", "two"), message(Op.REMEMBER, source=Source.AUTO))
    step = replayed.commit({TOPIC: memory("one", "two #x", "three")}, renamed={TOPIC: MEMORY})
    assert [ending.fate for ending in step.ended] == [Fate.MOVED, Fate.MOVED]
    assert [
        replayed.newest_occurrence(words).origin.source for words in ("one", "two", "three")
    ] == [
        Source.AUTO,
        Source.AUTO,
        Source.USER_STATED,
    ]
    assert [replayed.newest_occurrence(words).origin.commit for words in ("one", "two")] == [
        commit_id(1),
        commit_id(2),
    ]
    assert step.paths == (MEMORY, TOPIC)
    replayed.require_match_with_files()


def test_two_files_may_swap_names(replayed: ReplayedMemory) -> None:
    replayed.commit({MEMORY: memory("one"), TOPIC: memory("two")})
    replayed.commit(
        {MEMORY: memory("two"), TOPIC: memory("one")}, renamed={MEMORY: TOPIC, TOPIC: MEMORY}
    )
    assert [
        (occurrence.entry.path, occurrence.origin.commit)
        for occurrence in replayed.trail.occurrences_of(fact("one"))
    ][-1] == (
        TOPIC,
        commit_id(1),
    )
    replayed.require_match_with_files()


def test_entries_that_go_to_another_section_have_moved(replayed: ReplayedMemory) -> None:
    replayed.commit(
        {LOG: "# M\n\n## A\n\n- one\n- two\n\n## B\n\n- three\n", NEXT_LOG: "# T\n"},
        message(Op.INIT, source=Source.AUTO),
    )
    replayed.commit({}, message(Op.RETRACT, retracts=["one"]))
    step = replayed.commit(
        {LOG: "# M\n\n## A\n\n- four\n\n## B\n\n- three\n- two #x\n", NEXT_LOG: "# T\n\n- one\n"}
    )
    assert {(ending.entry.text, ending.fate) for ending in step.ended} == {
        ("one", Fate.MOVED),
        ("two", Fate.MOVED),
    }
    assert replayed.newest_occurrence("one").entry.path == NEXT_LOG
    assert (
        replayed.newest_occurrence("one").origin
        == replayed.newest_occurrence("two").origin
        == Origin(
            commit=commit_id(3),
            time=300,
            source=Source.USER_STATED,
            confidence=0.95,
            author="Ada <>",
        )
    )
    assert [mark.kind for mark in replayed.marks_on("one")] == [MarkKind.RETRACTED]


# Supersession.


def test_trailers_state_the_successors(replayed: ReplayedMemory) -> None:
    replayed.write(memory("we deploy by hand", "tea"))
    step = replayed.write(
        memory("Actions deploy"),
        message(Op.REPLACE, ("we deploy by hand", "Actions deploy"), ("tea", None)),
    )
    assert [(ending.entry.text, ending.fate, ending.successor) for ending in step.ended] == [
        ("we deploy by hand", Fate.SUPERSEDED, fact("Actions deploy")),
        ("tea", Fate.SUPERSEDED, None),
    ]


def test_without_a_trailer_a_fact_that_mdmem_takes_out_is_removed(replayed: ReplayedMemory) -> None:
    replayed.write(memory(OLD))
    assert [ending.fate for ending in replayed.write(memory(NEW), message(Op.REVERT)).ended] == [
        Fate.REMOVED
    ]


def test_the_difference_tells_the_successor_in_a_persons_commit(replayed: ReplayedMemory) -> None:
    replayed.write(memory(OLD, "tea"))
    step = replayed.write(memory(NEW))
    assert {(ending.entry.text, ending.fate, ending.successor) for ending in step.ended} == {
        (OLD, Fate.SUPERSEDED, fact(NEW)),
        ("tea", Fate.REMOVED, None),
    }


def test_the_difference_tells_the_successor_in_a_section_that_a_person_renames(
    replayed: ReplayedMemory,
) -> None:
    replayed.write("# Memory\n\n## Work\n\n- a\n- b\n- c\n- " + OLD + "\n")
    step = replayed.write("# Memory\n\n## Job\n\n- a\n- b\n- c\n- " + NEW + "\n")
    assert [
        (ending.entry.text, ending.successor)
        for ending in step.ended
        if ending.fate is Fate.SUPERSEDED
    ] == [(OLD, fact(NEW))]


def test_the_occurrence_in_the_commits_own_section_is_superseded(replayed: ReplayedMemory) -> None:
    text = "# Memory\n\n## Facts\n\n- {}\n\n## Past\n\n{}"
    replayed.write(text.format(OLD, f"- {OLD}\n"))
    first, second = replayed.trail.occurrences_of(fact(OLD))
    step = replayed.write(
        text.format(NEW, ""), message(Op.REPLACE, (OLD, NEW), section=("Memory", "Past"))
    )
    assert {ending.number: ending.fate for ending in step.ended} == {
        first.number: Fate.REMOVED,
        second.number: Fate.SUPERSEDED,
    }


# Marks.


def test_a_superseded_entry_that_stays_in_its_file_is_marked(replayed: ReplayedMemory) -> None:
    replayed.write(DAY.format(OLD), path=LOG)
    step = replayed.write(
        DAY.format(f"{OLD}\n- {NEW}"),
        message(Op.LOG, (OLD, NEW), path=LOG, section=("2026-03-05", "09:00")),
        LOG,
    )
    assert not step.ended
    assert [(mark.kind, mark.fact, mark.other) for mark in replayed.marks_on(OLD)] == [
        (MarkKind.SUPERSEDED, fact(OLD), fact(NEW))
    ]


def test_marks_go_to_the_commits_own_section_first_then_to_the_newest(
    replayed: ReplayedMemory,
) -> None:
    replayed.write("# Memory\n\n## Facts\n\n- x\n- y\n\n## Past\n\n- x\n", path=LOG)
    replayed.write("# T\n\n- x\n", path=NEXT_LOG)
    own, past, elsewhere = replayed.trail.occurrences_of(fact("x"))
    marked = [
        replayed.commit({}, message(Op.SUPERSEDE, ("x", "y"), path=LOG)).marks for _ in range(4)
    ]
    assert [mark.occurrence for marks in marked for mark in marks] == [
        own.number,
        past.number,
        elsewhere.number,
    ]
    assert replayed.commit({}, message(Op.RETRACT, retracts=["x"])).marks == ()


def test_of_equal_entries_in_one_section_the_earliest_that_was_current_is_marked(
    replayed: ReplayedMemory,
) -> None:
    replayed.write(DAY.format("x\n- x"), path=LOG)
    section = "2026-03-05", "09:00"
    step = replayed.write(
        DAY.format("x\n- x\n- x"), message(Op.LOG, path=LOG, section=section, retracts=["x"]), LOG
    )
    again = replayed.commit({}, message(Op.RETRACT, path=LOG, section=section, retracts=["x"]))
    first, second, third = replayed.trail.occurrences_of(fact("x"))
    assert [mark.occurrence for mark in (*step.marks, *again.marks)] == [
        first.number,
        second.number,
    ]
    assert replayed.trail.marks_of(third.number) == ()


def test_what_is_over_supersedes_nothing(replayed: ReplayedMemory) -> None:
    replayed.write(DAY.format("green\n- red"), path=LOG)
    replayed.commit({}, message(Op.SUPERSEDE, ("green", "red"), path=LOG))
    assert replayed.commit({}, message(Op.SUPERSEDE, ("red", "green"), path=LOG)).marks == ()
    assert replayed.commit({}, message(Op.SUPERSEDE, ("red", "said nowhere"), path=LOG)).marks == ()
    replayed.write(
        DAY.format("green\n- red\n- green"), message(Op.LOG, ("red", "green"), path=LOG), LOG
    )
    assert [mark.other for mark in replayed.marks_on("red")] == [fact("green")]
    assert replayed.marks_on("green") == ()


def test_the_same_words_again_supersede_the_earlier_ones(replayed: ReplayedMemory) -> None:
    replayed.write(DAY.format("x"), path=LOG)
    step = replayed.write(
        DAY.format("x\n- x"),
        message(Op.LOG, ("x", "x"), path=LOG, section=("2026-03-05", "09:00")),
        LOG,
    )
    assert [mark.occurrence for mark in step.marks] == [
        replayed.trail.occurrences_of(fact("x"))[0].number
    ]


def test_a_mark_on_an_occurrence_that_moves_in_the_same_commit(replayed: ReplayedMemory) -> None:
    replayed.write(memory("x"), path=LOG)
    step = replayed.write(memory("x #tag", "y"), message(Op.REMEMBER, ("x", "y"), path=LOG), LOG)
    assert [mark.occurrence for mark in step.marks] == [-1]
    assert [mark.other for mark in replayed.marks_on("x")] == [fact("y")]


def test_pairs_and_retractions(replayed: ReplayedMemory) -> None:
    replayed.write(memory("a", "b"), path=LOG)
    step = replayed.commit(
        {}, message(Op.CONTRADICT, contradicts=[("a", "b")], retracts=["a", "unknown"])
    )
    assert [(mark.kind, mark.fact, mark.other, mark.occurrence) for mark in step.marks] == [
        (MarkKind.RETRACTED, fact("a"), None, replayed.newest_occurrence("a").number),
        (MarkKind.CONTRADICTS, fact("a"), fact("b"), 0),
    ]


def test_a_revert_ends_marks(replayed: ReplayedMemory) -> None:
    replayed.write(memory("x", "y"), path=LOG)
    replayed.commit({}, message(Op.SUPERSEDE, ("x", "y")))
    step = replayed.commit({}, message(Op.REVERT, reverts=[commit_id(2), CommitId("f" * 40)]))
    assert step.reverts == tuple(
        StatedRevert(commit_id(3), each) for each in (commit_id(2), CommitId("f" * 40))
    )
    assert replayed.marks_on("x") == ()
    replayed.commit({}, message(Op.SUPERSEDE, ("x", "y")))
    assert [mark.begun for mark in replayed.marks_on("x")] == [4]


def test_a_revert_ends_marks_that_moved_along(replayed: ReplayedMemory) -> None:
    replayed.write(memory("x", "y"), path=LOG)
    replayed.commit({}, message(Op.SUPERSEDE, ("x", "y")))
    replayed.write(memory("x #moved", "y"), path=LOG)
    assert replayed.marks_on("x")
    replayed.commit({}, message(Op.REVERT, reverts=[commit_id(2)]))
    assert replayed.marks_on("x") == ()


def test_what_stands_in_a_file_that_is_edited_in_place_is_current(replayed: ReplayedMemory) -> None:
    replayed.commit({MEMORY: memory("x", "y"), LOG: DAY.format("over\n- new")})
    replayed.commit({}, message(Op.SUPERSEDE, ("x", "y")))
    replayed.commit({}, message(Op.SUPERSEDE, ("over", "new"), path=LOG))
    assert replayed.marks_on("x") == ()
    assert [
        (mark.kind, mark.fact, mark.other) for mark in replayed.trail.overruled_marks(MEMORY)
    ] == [(MarkKind.OVERRULED, fact("x"), fact("y"))]
    assert replayed.marks_on("over")
    replayed.commit({TOPIC: DAY.format("over\n- new")}, renamed={TOPIC: LOG})
    assert replayed.marks_on("over") == ()
    replayed.write(memory("y"))
    assert replayed.trail.overruled_marks(MEMORY) == ()


def test_gits_own_revert_ends_marks(replayed: ReplayedMemory) -> None:
    replayed.write(memory("x", "y"))
    replayed.commit({}, message(Op.SUPERSEDE, ("x", "y")))
    assert replayed.commit(
        {}, f'Revert "x"\n\nThis reverts commit {commit_id(2)}.\n'
    ).reverted_commits == (commit_id(2),)


# Squashes, and reverts of marks.


@pytest.mark.parametrize("newest_first", [False, True])
def test_in_one_message_a_chain_is_followed_in_either_order(
    replayed: ReplayedMemory, newest_first: bool
) -> None:
    replayed.write(memory("city: Oslo"))
    pairs = [("city: Oslo", "city: Rome"), ("city: Rome", "city: Bern")]
    step = replayed.write(
        memory("city: Bern"), message(Op.REMEMBER, *(pairs[::-1] if newest_first else pairs))
    )
    assert [ending.successor for ending in step.ended] == [fact("city: Bern")]


def _reverting(*commits: CommitId) -> str:
    return "".join(f"Revert\n\nThis reverts commit {commit}.\n" for commit in commits)


def _with_marks(replayed: ReplayedMemory) -> tuple[CommitId, CommitId]:
    """Two commits, the second and the third, of which each retracts a line of a log."""
    replayed.write(DAY.format("a\n- b"), path=LOG)
    for text in "ab":
        replayed.commit({}, message(Op.RETRACT, path=LOG, retracts=[text]))
    assert [(mark.commit, mark.begun) for text in "ab" for mark in replayed.marks_on(text)] == [
        (commit_id(2), 2),
        (commit_id(3), 3),
    ]
    return commit_id(2), commit_id(3)


def _marked(replayed: ReplayedMemory) -> str:
    return "".join(text for text in "ab" if replayed.marks_on(text))


@pytest.mark.parametrize("digits", [40, 12])
def test_a_revert_ends_the_marks_of_its_commit_alone(replayed: ReplayedMemory, digits: int) -> None:
    first, _ = _with_marks(replayed)
    step = replayed.commit({}, _reverting(CommitId(first[:digits])))
    assert step.reverted_commits == (first,)
    assert _marked(replayed) == "b"


def test_a_revert_of_a_revert_sets_the_marks_again(replayed: ReplayedMemory) -> None:
    first, _ = _with_marks(replayed)
    replayed.commit({}, _reverting(first))
    replayed.commit({}, _reverting(commit_id(4)))
    assert _marked(replayed) == "ab"
    assert [(mark.commit, mark.begun) for mark in replayed.marks_on("a")] == [(first, 5)]
    replayed.commit({}, _reverting(commit_id(5)))
    assert _marked(replayed) == "b"
    replayed.commit({}, _reverting(commit_id(6)))
    assert _marked(replayed) == "ab"


def test_what_two_commits_took_back_holds_again_only_where_both_are_taken_back(
    replayed: ReplayedMemory,
) -> None:
    first, _ = _with_marks(replayed)
    for _ in range(2):
        replayed.commit({}, _reverting(first))
    for number, marked in ((4, "b"), (5, "ab")):
        replayed.commit({}, _reverting(commit_id(number)))
        assert _marked(replayed) == marked


def test_a_line_that_a_revert_brings_back_has_the_marks_that_it_had(
    replayed: ReplayedMemory,
) -> None:
    replayed.write(DAY.format("a\n- b"), path=LOG)
    replayed.commit({}, message(Op.RETRACT, path=LOG, retracts=["a"]))
    replayed.write(DAY.format("b"), path=LOG)
    replayed.write(DAY.format("a\n- b"), _reverting(commit_id(3)), path=LOG)
    assert _marked(replayed) == "a"
    replayed.commit({}, _reverting(commit_id(2)))
    assert _marked(replayed) == ""


def test_of_two_statements_about_a_line_each_is_taken_back_by_itself(
    replayed: ReplayedMemory,
) -> None:
    replayed.write(DAY.format("a\n- b"), path=LOG)
    replayed.commit({}, message(Op.RETRACT, path=LOG, retracts=["a"]))
    replayed.commit({}, _reverting(commit_id(2)))
    replayed.commit({}, message(Op.SUPERSEDE, ("a", "b"), path=LOG))
    replayed.commit({}, _reverting(commit_id(3)))
    replayed.commit({}, _reverting(commit_id(4)))
    assert [(mark.kind, mark.begun) for mark in replayed.marks_on("a")] == [(MarkKind.RETRACTED, 5)]
    replayed.commit({}, _reverting(commit_id(5)))
    assert _marked(replayed) == ""


def test_a_statement_that_holds_again_closes_no_circle(replayed: ReplayedMemory) -> None:
    replayed.write(DAY.format("a\n- b"), path=LOG)
    replayed.commit({}, message(Op.SUPERSEDE, ("a", "b"), path=LOG))
    replayed.commit({}, _reverting(commit_id(2)))
    replayed.commit({}, message(Op.SUPERSEDE, ("b", "a"), path=LOG))
    replayed.commit({}, _reverting(commit_id(3)))
    assert _marked(replayed) == "b"


def test_a_statement_holds_again_though_its_successor_is_over(replayed: ReplayedMemory) -> None:
    replayed.write(DAY.format("a\n- b"), path=LOG)
    replayed.commit({}, message(Op.SUPERSEDE, ("a", "b"), path=LOG))
    replayed.commit({}, message(Op.RETRACT, path=LOG, retracts=["b"]))
    replayed.commit({}, _reverting(commit_id(2)))
    assert _marked(replayed) == "b"
    replayed.commit({}, _reverting(commit_id(4)))
    assert _marked(replayed) == "ab"


# Sections.


def test_a_revision_lasts_as_long_as_its_text(replayed: ReplayedMemory) -> None:
    replayed.write("intro\n\n# M\n\n## A\n\n- a\n\n## B\n\n- b\n")
    step = replayed.write("intro\n\n# M\n\n## A\n\n- a\n- c\n\n\n## B\n\n- b\n\n")
    assert [
        (revision.section, revision.unchanged_text, revision.lineage) for revision in step.revisions
    ] == [(("M", "A"), False, replayed.trail.newest_revisions(MEMORY)[2].lineage)]
    assert len(step.ended_revisions) == 1
    assert [
        revision.text for revision in replayed.trail.revisions(replayed.section("M", "A").lineage)
    ] == [
        "## A\n\n- a\n- c",
        "## A\n\n- a",
    ]


def test_subsections_of_a_renamed_section_have_revisions_with_unchanged_text(
    replayed: ReplayedMemory,
) -> None:
    replayed.write("# M\n\n## Work\n\n### Now\n\n- a\n\n### Then\n\n- b\n")
    kept = {
        revision.section[-1]: revision.lineage for revision in replayed.trail.live_revisions(MEMORY)
    }
    step = replayed.write("# M\n\n## Job\n\n### Now\n\n- a\n\n### Then\n\n- another\n")
    assert {
        revision.section[-1]: (revision.lineage, revision.unchanged_text)
        for revision in step.revisions
    } == {
        "Job": (kept["Work"], False),
        "Now": (kept["Now"], True),
        "Then": (kept["Then"], False),
    }


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        ("# A\n\n- a\n", "# B\n\n- a\n", {"A": "B"}),
        ("# A\n\n- a\n- b\n", "# B\n\n- a\n- c\n", {"A": "B"}),
        ("# A\n\n- a\n- b\n- c\n", "# B\n\n- a\n- d\n- e\n", {}),
        ("# A\n\n# B\n", "# C\n\n# D\n", {"A": "C", "B": "D"}),
        ("# A\n\n- a\n\n# B\n\n- b\n", "# C\n\n- b\n\n# D\n\n- a\n", {"A": "D", "B": "C"}),
        ("# T\n\n## A\n\n## B\n", "# U\n\n## A\n\n## B\n", {"A": "A", "B": "B", "T": "U"}),
        ("# A\n\n# B\n\n- b\n", "# B\n\n- b\n", {"B": "B"}),
        ("# A\n\n- a\n\n# A\n\n- b\n", "# A\n\n- b\n", {"A": "A"}),
        ("# A\n\n- a\n", "# B\n", {}),
    ],
)
def test_sections_that_continue_under_other_names(
    replayed: ReplayedMemory, before: str, after: str, pairs: dict[str, str]
) -> None:
    replayed.write(before)
    was = {revision.lineage: revision for revision in replayed.trail.live_revisions(MEMORY)}
    replayed.write(after)
    became = [
        (was[revision.lineage], revision)
        for revision in replayed.trail.live_revisions(MEMORY)
        if revision.lineage in was
    ]
    assert {old.section[-1]: new.section[-1] for old, new in became} == pairs
    if before.count("# A") == 2:
        assert [(old.text, new.text) for old, new in became] == [("# A\n\n- b", "# A\n\n- b")]


def test_sections_of_one_name_are_renumbered_when_one_is_removed(replayed: ReplayedMemory) -> None:
    replayed.write("# A\n\nsame\n\n# B\n\nb\n\n# A\n\nother\n\n# C\n\nc\n\n# A\n\nlast\n")
    step = replayed.write("# B\n\nb\n\n# A\n\nother\n\n# C\n\nc\n\n# A\n\nlast\n")
    assert [
        (revision.section, revision.nth, revision.unchanged_text) for revision in step.revisions
    ] == [
        (("A",), 1, True),
        (("A",), 2, True),
    ]
    replayed.require_match_with_files()


def test_the_revisions_of_a_deleted_file_end(replayed: ReplayedMemory) -> None:
    replayed.write(memory("a"))
    step = replayed.write(None)
    assert (len(step.ended_revisions), len(step.ended), step.revisions, step.begun) == (
        2,
        1,
        (),
        (),
    )
    replayed.write(memory("a"))
    assert [(each.begun, each.previous) for each in replayed.trail.newest_revisions(MEMORY)] == [
        (3, (1,)),
        (3, (2,)),
    ]


# Properties.

WORDS = st.sampled_from(
    [
        "a",
        "b",
        "a #t",
        "editor: vim",
        "editor: emacs",
        "[fact] a",
        "c (until 2027-01-01)",
        "x\n  y",
        "x\n  z",
    ]
)
TITLES = st.sampled_from(["A", "B", "C"])
small = st.lists(
    st.tuples(st.integers(1, 3), TITLES, st.lists(WORDS, max_size=4)).map(
        lambda section: (
            f"{'#' * section[0]} {section[1]}\n\n"
            + "".join(f"- {words}\n" for words in section[2])
            + "\n"
        )
    ),
    max_size=5,
).map("".join)
texts = st.one_of(small, small, small, closed_documents, st.none())
commits = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([MEMORY, TOPIC, LOG]), texts),
        st.tuples(
            st.sampled_from([MEMORY, TOPIC, LOG]), texts, st.sampled_from([MEMORY, TOPIC, LOG])
        ),
    ),
    min_size=1,
    max_size=8,
)
messages = st.sampled_from(
    [
        "by hand",
        message(Op.REPLACE, ("a", "b")),
        message(Op.LOG, ("b", None), retracts=["a"]),
        message(Op.REVERT, reverts=[commit_id(2)]),
    ]
)


def _replay_change(
    replayed: ReplayedMemory,
    change: tuple[FilePath, str | None] | tuple[FilePath, str | None, FilePath],
    commit_message: str,
) -> None:
    path, text, *old_path = change
    renamed = (
        bool(old_path)
        and old_path[0] != path
        and old_path[0] in replayed.files
        and path not in replayed.files
        and text is not None
    )
    replayed.commit({path: text}, commit_message, renamed={path: old_path[0]} if renamed else None)


@given(commits, st.lists(messages, min_size=8, max_size=8))
@examples(150)
def test_the_live_trail_matches_the_files_at_every_commit(changes, commit_messages) -> None:
    with ReplayedMemory() as replayed:
        for change, commit_message in zip(changes, commit_messages, strict=False):
            _replay_change(replayed, change, commit_message)
            replayed.require_match_with_files()


@given(commits, st.lists(messages, min_size=8, max_size=8), st.data())
@examples(60)
def test_cutting_back_and_replaying_again_gives_the_same_trail(
    changes, commit_messages, data
) -> None:
    with ReplayedMemory() as at_once, ReplayedMemory() as again:
        after = []
        for change, commit_message in zip(changes, commit_messages, strict=False):
            _replay_change(at_once, change, commit_message)
            after.append(dict(at_once.files))
        for change, commit_message in zip(changes, commit_messages, strict=False):
            _replay_change(again, change, commit_message)
        back = data.draw(st.integers(0, len(changes)))
        again.trail.cut(back)
        again.files = dict(after[back - 1]) if back else {}
        for change, commit_message in list(zip(changes, commit_messages, strict=False))[back:]:
            _replay_change(again, change, commit_message)
        assert dump(again.trail) == dump(at_once.trail)


def _edited_by_a_person(replayed: ReplayedMemory, values: list[str], index: int) -> None:
    replayed.write(memory("before", f"editor: {values[index]}", "after"))


def _remembered(replayed: ReplayedMemory, values: list[str], index: int) -> None:
    pairs = [(f"editor: {values[index - 1]}", f"editor: {values[index]}")] if index else []
    replayed.write(
        memory("before", f"editor: {values[index]}", "after"), message(Op.REMEMBER, *pairs)
    )


def _logged(replayed: ReplayedMemory, values: list[str], index: int) -> None:
    pairs = [(f"editor: {values[index - 1]}", f"editor: {values[index]}")] if index else []
    replayed.write(
        DAY.format("\n- ".join(f"editor: {value}" for value in values[: index + 1])),
        message(Op.LOG, *pairs, path=LOG),
        LOG,
    )


@pytest.mark.parametrize("replay_update", [_edited_by_a_person, _remembered, _logged])
@given(
    values=st.lists(
        st.sampled_from(["vim", "emacs", "ed", "nano", "vi"]), min_size=1, max_size=7
    ).filter(
        lambda values: all(value != following for value, following in itertools.pairwise(values))
    )
)
@examples(25)
def test_after_updates_of_one_key_only_the_newest_is_live_and_unmarked(
    replay_update: Callable[[ReplayedMemory, list[str], int], None], values: list[str]
) -> None:
    with ReplayedMemory() as replayed:
        for index in range(len(values)):
            replay_update(replayed, values, index)
        occurrences = sorted(
            (
                occurrence
                for value in set(values)
                for occurrence in replayed.trail.occurrences_of(fact(f"editor: {value}"))
            ),
            key=lambda occurrence: (occurrence.begun, occurrence.number),
        )
        assert [occurrence.entry.text for occurrence in occurrences] == [
            f"editor: {value}" for value in values
        ]
        live = [
            each
            for each in occurrences
            if each.ended is None and not replayed.trail.marks_of(each.number)
        ]
        assert [each.number for each in live] == [occurrences[-1].number]
        for occurrence, successor in itertools.pairwise(occurrences):
            marks = replayed.trail.marks_of(occurrence.number)
            assert (occurrence.successor or marks[0].other) == successor.entry.fact
            assert (occurrence.ended or marks[0].begun) == successor.begun


def test_equal_facts_in_other_sections_are_not_touched(replayed: ReplayedMemory) -> None:
    replayed.write(f"# Memory\n\n## Facts\n\n- {OLD}\n\n## Other\n\n- {OLD}\n")
    replayed.write(
        f"# Memory\n\n## Facts\n\n- {NEW}\n\n## Other\n\n- {OLD}\n",
        message(Op.REMEMBER, (OLD, NEW), section=FACTS),
    )
    assert [
        (occurrence.entry.section[-1], occurrence.successor)
        for occurrence in replayed.trail.occurrences_of(fact(OLD))
    ] == [
        ("Facts", fact(NEW)),
        ("Other", None),
    ]
    assert replayed.trail.marks() == ()


def _log(*words: str) -> str:
    return "# 2026-03-05\n\n## 09:30\n\n" + "".join(f"- [fact] {each}\n" for each in words)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["Supersedes", "Retracts", "Confirms"])
def test_a_note_costs_what_its_bytes_cost(replayed: ReplayedMemory, name: str) -> None:
    words = [f"thing {number} is red" for number in range(2000)]
    replayed.write(_log(*words), path=LOG)
    names = [fact(each) for each in words]
    values = (
        f"{old} {new}" if name == "Supersedes" else old for old, new in itertools.pairwise(names)
    )
    trailers = "".join(f"Mdmem-{name}: {value}\n" for value in values)
    before = time.process_time()
    replayed.write(_log(*words, "tea"), f"x\n\nMdmem-Op: log\n{trailers}", LOG)
    assert time.process_time() - before < 5


@pytest.mark.costly
def test_a_chain_of_successors_in_one_note_is_followed_to_a_bound(
    replayed: ReplayedMemory,
) -> None:
    replayed.write(memory(OLD))
    pairs = [fact(OLD), *(f"{number:08x}" for number in range(1, 15_000)), fact(NEW)]
    chain = "".join(f"Mdmem-Supersedes: {old} {new}\n" for old, new in itertools.pairwise(pairs))
    before = time.process_time()
    step = replayed.write(memory(NEW), f"x\n\nMdmem-Op: log\n{chain}")
    assert time.process_time() - before < 5
    assert [(ending.fate, ending.successor) for ending in step.ended] == [
        (Fate.SUPERSEDED, fact(NEW))
    ]
