import itertools
from collections.abc import Callable
from typing import Any

import pytest
from generated_markdown import closed_documents
from hypothesis import given, settings
from hypothesis import strategies as st
from replays import FACTS, LOG, MEMORY, TOPIC, Told, commit_id, fact, memory, said

from mdmem.entries import entries
from mdmem.history import commit_origin, replay
from mdmem.model import CommitId, FilePath, Op, Source
from mdmem.model.trail import Commit, Entry, Fate, MarkKind, MergedLine, Origin

OLD, NEW = "employer: Stripe", "employer: Linear"
DAY = "# 2026-03-05\n\n## 09:00\n\n- {}\n"


def test_what_stands_goes_on(told: Told) -> None:
    told.write(memory("one", "two"))
    done = told.write("# Memory\n\nA line above.\n\n## Facts\n\n- one\n- two\n- three\n")
    assert [one.entry.text for one in done.begun] == ["A line above.", "three"]
    assert not done.ended
    assert told.one("one").begun == 1
    assert told.one("one").origin.commit == commit_id(1)


def test_only_what_changed_is_looked_at(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    sections = [f"## {number}\n\n- one of {number}\n- two of {number}\n\n" for number in range(20)]
    told.write("# Memory\n\n" + "".join(sections))
    seen: list[int] = []

    def looked_at(*arguments: Any) -> tuple[Entry, ...]:
        found = entries(*arguments)
        seen.append(len(found))
        return found

    monkeypatch.setattr(replay, "entries", looked_at)
    sections[7] = "## 7\n\n- one of 7\n- three of 7\n- two of 7\n\n"
    done = told.write("# Memory\n\n" + "".join(sections))
    assert [one.entry.text for one in done.begun] == ["three of 7"]
    assert seen == [2, 3]


def test_an_entry_s_like_in_another_section_of_that_name_counts(told: Told) -> None:
    told.write("# M\n\n## A\n\n- x\n\n## A\n\n- y\n- z\n")
    done = told.write("# M\n\n## A\n\n- x\n- y\n\n## A\n\n- y\n- z\n")
    assert [one.entry.start_line for one in done.begun] == [10]
    assert not done.ended


def test_of_several_alike_the_last_come_and_go(told: Told) -> None:
    told.write(memory("same"))
    assert len(told.write(memory("same", "other", "same")).begun) == 2
    first, second = told.known.occurrences_of(fact("same"))
    done = told.write(memory("same", "other"))
    assert [(one.number, one.fate, one.entry.start_line) for one in done.ended] == [(second.number, Fate.REMOVED, 7)]
    assert told.known.live_occurrences(MEMORY)[0].number == first.number


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
def test_the_same_fact_in_another_line_is_moved_and_keeps_its_source_and_marks(told: Told, before: str, after: str) -> None:
    told.write(memory(before), said(Op.REMEMBER, source=Source.USER_STATED, also=True))
    told.commit({}, said(Op.SUPERSEDE, (before, "coffee")))
    done = told.write(memory(after), said(Op.REMEMBER, source=Source.AUTO))
    assert [one.fate for one in done.ended] == [Fate.MOVED]
    assert told.one(before).origin == Origin(commit_id(3), 300, Source.USER_STATED, 0.95)
    assert told.one(before).also
    assert [(mark.kind, mark.begun, mark.other) for mark in told.marked(before)] == [(MarkKind.SUPERSEDED, 2, fact("coffee"))]


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
def test_in_a_renamed_section_all_keep_their_origin(told: Told, after: str) -> None:
    told.write(memory("one", "two"), said(Op.REMEMBER, source=Source.AUTO, also=True))
    told.commit({}, said(Op.RETRACT, retracts=["two"]))
    done = told.write(after)
    assert {one.fate for one in done.ended} == {Fate.MOVED}
    assert (told.one("one").origin.source, told.one("one").also, told.one("one").begun) == (Source.AUTO, True, 3)
    assert [mark.kind for mark in told.marked("two")] == [MarkKind.RETRACTED]
    told.require_that_it_is_what_the_files_say()


def test_in_a_renamed_file_all_keep_their_origin(told: Told) -> None:
    told.write(memory("one", "two"), said(Op.REMEMBER, source=Source.AUTO))
    done = told.commit({TOPIC: memory("one", "two #x", "three")}, renamed={TOPIC: MEMORY})
    assert [one.fate for one in done.ended] == [Fate.MOVED, Fate.MOVED]
    assert [told.one(words).origin.source for words in ("one", "two", "three")] == [Source.AUTO, Source.AUTO, Source.USER_STATED]
    assert [told.one(words).origin.commit for words in ("one", "two")] == [commit_id(1), commit_id(2)]
    assert done.paths == (MEMORY, TOPIC)
    told.require_that_it_is_what_the_files_say()


def test_files_may_change_their_names_with_each_other(told: Told) -> None:
    told.commit({MEMORY: memory("one"), TOPIC: memory("two")})
    told.commit({MEMORY: memory("two"), TOPIC: memory("one")}, renamed={MEMORY: TOPIC, TOPIC: MEMORY})
    assert [(one.entry.path, one.origin.commit) for one in told.known.occurrences_of(fact("one"))][-1] == (TOPIC, commit_id(1))
    told.require_that_it_is_what_the_files_say()


def test_what_comes_into_another_section_has_moved(told: Told) -> None:
    told.commit({MEMORY: "# M\n\n## A\n\n- one\n- two\n\n## B\n\n- three\n", TOPIC: "# T\n"}, said(Op.INIT, source=Source.AUTO))
    told.commit({}, said(Op.RETRACT, retracts=["one"]))
    done = told.commit({MEMORY: "# M\n\n## A\n\n- four\n\n## B\n\n- three\n- two #x\n", TOPIC: "# T\n\n- one\n"})
    assert {(one.entry.text, one.fate) for one in done.ended} == {("one", Fate.MOVED), ("two", Fate.MOVED)}
    assert told.one("one").entry.path == TOPIC
    assert told.one("one").origin == told.one("two").origin == Origin(commit_id(3), 300, Source.USER_STATED, 0.95)
    assert [mark.kind for mark in told.marked("one")] == [MarkKind.RETRACTED]


# Who took whose place.


def test_trailers_say_what_took_whose_place(told: Told) -> None:
    told.write(memory("we deploy by hand", "tea"))
    done = told.write(memory("Actions deploy"), said(Op.REPLACE, ("we deploy by hand", "Actions deploy"), ("tea", None)))
    assert [(one.entry.text, one.fate, one.successor) for one in done.ended] == [
        ("we deploy by hand", Fate.SUPERSEDED, fact("Actions deploy")),
        ("tea", Fate.SUPERSEDED, None),
    ]


def test_without_a_trailer_a_fact_of_mdmems_commit_is_removed(told: Told) -> None:
    told.write(memory(OLD))
    assert [one.fate for one in told.write(memory(NEW), said(Op.REVERT)).ended] == [Fate.REMOVED]


def test_of_a_persons_commit_the_difference_says_it(told: Told) -> None:
    told.write(memory(OLD, "tea"))
    done = told.write(memory(NEW))
    assert {(one.entry.text, one.fate, one.successor) for one in done.ended} == {
        (OLD, Fate.SUPERSEDED, fact(NEW)),
        ("tea", Fate.REMOVED, None),
    }


def test_in_a_section_that_a_person_renames_too(told: Told) -> None:
    told.write("# Memory\n\n## Work\n\n- a\n- b\n- c\n- " + OLD + "\n")
    done = told.write("# Memory\n\n## Job\n\n- a\n- b\n- c\n- " + NEW + "\n")
    assert [(one.entry.text, one.successor) for one in done.ended if one.fate is Fate.SUPERSEDED] == [(OLD, fact(NEW))]


def test_the_one_in_the_commits_own_section_ends_as_superseded(told: Told) -> None:
    text = "# Memory\n\n## Facts\n\n- {}\n\n## Past\n\n{}"
    told.write(text.format(OLD, f"- {OLD}\n"))
    first, second = told.known.occurrences_of(fact(OLD))
    done = told.write(text.format(NEW, ""), said(Op.REPLACE, (OLD, NEW), section=("Memory", "Past")))
    assert {one.number: one.fate for one in done.ended} == {first.number: Fate.REMOVED, second.number: Fate.SUPERSEDED}


# Marks.


def test_what_stands_on_is_marked(told: Told) -> None:
    told.write(DAY.format(OLD), path=LOG)
    done = told.write(DAY.format(f"{OLD}\n- {NEW}"), said(Op.LOG, (OLD, NEW), path=LOG, section=("2026-03-05", "09:00")), LOG)
    assert not done.ended
    assert [(mark.kind, mark.one, mark.other) for mark in told.marked(OLD)] == [(MarkKind.SUPERSEDED, fact(OLD), fact(NEW))]


def test_in_the_commits_own_section_before_others_then_the_newest(told: Told) -> None:
    told.write("# Memory\n\n## Facts\n\n- x\n\n## Past\n\n- x\n")
    told.write("# T\n\n- x\n", path=TOPIC)
    own, past, topic = told.known.occurrences_of(fact("x"))
    marked = [told.commit({}, said(Op.SUPERSEDE, ("x", "y"))).marks for _ in range(4)]
    assert [mark.occurrence for marks in marked for mark in marks] == [own.number, past.number, topic.number]
    assert told.commit({}, said(Op.RETRACT, retracts=["x"])).marks == ()


def test_the_same_words_again_replace_the_ones_before(told: Told) -> None:
    told.write(DAY.format("x"), path=LOG)
    done = told.write(DAY.format("x\n- x"), said(Op.LOG, ("x", "x"), path=LOG, section=("2026-03-05", "09:00")), LOG)
    assert [mark.occurrence for mark in done.marks] == [told.known.occurrences_of(fact("x"))[0].number]


def test_a_mark_on_what_moves_in_the_same_commit(told: Told) -> None:
    told.write(memory("x"))
    done = told.write(memory("x #tag", "y"), said(Op.REMEMBER, ("x", "y")))
    assert [mark.occurrence for mark in done.marks] == [-1]
    assert [mark.other for mark in told.marked("x")] == [fact("y")]


def test_pairs_and_retractions(told: Told) -> None:
    told.write(memory("a", "b"))
    done = told.commit({}, said(Op.CONTRADICT, contradicts=[("a", "b")], retracts=["a", "unknown"]))
    assert [(mark.kind, mark.one, mark.other, mark.occurrence) for mark in done.marks] == [
        (MarkKind.RETRACTED, fact("a"), None, told.one("a").number),
        (MarkKind.CONTRADICTS, fact("a"), fact("b"), 0),
    ]


def test_a_revert_takes_marks_back(told: Told) -> None:
    told.write(memory("x", "y"))
    told.commit({}, said(Op.SUPERSEDE, ("x", "y")))
    done = told.commit({}, said(Op.REVERT, reverts=[commit_id(2), CommitId("f" * 40)]))
    assert done.reverted_commits == (2,)
    assert told.marked("x") == ()
    told.commit({}, said(Op.SUPERSEDE, ("x", "y")))
    assert [mark.begun for mark in told.marked("x")] == [4]


def test_a_revert_takes_back_what_went_along_with_a_move(told: Told) -> None:
    told.write(memory("x", "y"))
    told.commit({}, said(Op.SUPERSEDE, ("x", "y")))
    told.write(memory("x #moved", "y"))
    assert told.marked("x")
    told.commit({}, said(Op.REVERT, reverts=[commit_id(2)]))
    assert told.marked("x") == ()


def test_gits_own_revert_takes_marks_back(told: Told) -> None:
    told.write(memory("x", "y"))
    told.commit({}, said(Op.SUPERSEDE, ("x", "y")))
    assert told.commit({}, f'Revert "x"\n\nThis reverts commit {commit_id(2)}.\n').reverted_commits == (2,)


# Merges.


def side(number: int, message: str) -> Commit:
    return Commit(commit_id(1000 + number), number, "Bo", message)


def test_a_merge_says_what_its_side_said(told: Told) -> None:
    told.write(memory("city: Oslo", "tea", "x"))
    commits = [
        side(1, said(Op.REMEMBER, ("city: Oslo", "city: Rome"))),
        side(2, said(Op.REMEMBER, ("city: Rome", "city: Bern"), also=True)),
    ]
    brought = {MEMORY: {"- city: Bern": commit_origin(commits[1]), "- city: Rome": commit_origin(commits[0])}}
    done = told.commit({MEMORY: memory("city: Bern", "coffee")}, "Merge branch", side=commits, brought=brought)
    ended = {one.entry.text: (one.fate, one.successor) for one in done.ended}
    assert ended["city: Oslo"] == (Fate.SUPERSEDED, fact("city: Bern"))
    assert (told.one("city: Bern").origin.commit, told.one("city: Bern").also) == (commits[1].id, True)
    assert (told.one("coffee").origin.commit, told.one("coffee").also) == (commit_id(2), False)
    assert done.merged_lines == (MergedLine(MEMORY, "- city: Bern", commits[1]),)
    assert not done.marks


def test_what_a_side_took_back_was_not_said(told: Told) -> None:
    told.write(memory("city: Oslo"))
    there_and_back = [side(1, said(Op.REMEMBER, ("city: Oslo", "city: Rome"))), side(2, said(Op.REMEMBER, ("city: Rome", "city: Oslo")))]
    assert not told.commit({TOPIC: "# T\n"}, side=there_and_back).marks
    reverted = [side(1, said(Op.SUPERSEDE, ("city: Oslo", "x"))), side(2, said(Op.REVERT, reverts=[commit_id(1001)]))]
    assert not told.commit({TOPIC: "# T\n\nx\n"}, side=reverted).marks


def test_a_side_that_replaced_what_is_gone_here_marks_nothing_elsewhere(told: Told) -> None:
    told.commit({MEMORY: memory("city: Oslo"), LOG: DAY.format("city: Oslo")})
    told.write(memory("city: Rome"))
    done = told.commit({MEMORY: memory("city: Bern")}, side=[side(1, said(Op.REMEMBER, ("city: Oslo", "city: Bern")))])
    assert not done.marks
    assert [(one.entry.text, one.successor) for one in done.ended] == [("city: Rome", fact("city: Bern"))]


def test_marks_that_a_side_set_on_what_it_brought(told: Told) -> None:
    told.write("# 2026-03-05\n", path=LOG)
    section = ("2026-03-05", "09:00")
    commits = [side(1, said(Op.LOG, path=LOG, section=section)), side(2, said(Op.LOG, ("a", "b"), path=LOG, section=section))]
    told.commit({LOG: DAY.format("a\n- b")}, side=commits)
    assert [mark.other for mark in told.marked("a")] == [fact("b")]


# Sections.


def test_a_revision_goes_on_while_its_text_does(told: Told) -> None:
    told.write("intro\n\n# M\n\n## A\n\n- a\n\n## B\n\n- b\n")
    done = told.write("intro\n\n# M\n\n## A\n\n- a\n- c\n\n\n## B\n\n- b\n\n")
    assert [(one.section, one.unchanged_text, one.lineage) for one in done.revisions] == [
        (("M", "A"), False, told.known.newest_revisions(MEMORY)[2].lineage)
    ]
    assert len(done.ended_revisions) == 1
    assert [one.text for one in told.known.revisions(told.section("M", "A").lineage)] == ["## A\n\n- a\n- c", "## A\n\n- a"]


def test_children_of_a_renamed_parent_go_on_quietly(told: Told) -> None:
    told.write("# M\n\n## Work\n\n### Now\n\n- a\n\n### Then\n\n- b\n")
    kept = {one.section[-1]: one.lineage for one in told.known.live_revisions(MEMORY)}
    done = told.write("# M\n\n## Job\n\n### Now\n\n- a\n\n### Then\n\n- another\n")
    assert {one.section[-1]: (one.lineage, one.unchanged_text) for one in done.revisions} == {
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
def test_sections_that_became_others(told: Told, before: str, after: str, pairs: dict[str, str]) -> None:
    told.write(before)
    was = {one.lineage: one for one in told.known.live_revisions(MEMORY)}
    told.write(after)
    became = [(was[one.lineage], one) for one in told.known.live_revisions(MEMORY) if one.lineage in was]
    assert {old.section[-1]: new.section[-1] for old, new in became} == pairs
    if before.count("# A") == 2:
        assert [(old.text, new.text) for old, new in became] == [("# A\n\n- b", "# A\n\n- b")]


def test_a_section_counts_anew_where_one_of_its_name_goes(told: Told) -> None:
    told.write("# A\n\nsame\n\n# B\n\nb\n\n# A\n\nother\n\n# C\n\nc\n\n# A\n\nlast\n")
    done = told.write("# B\n\nb\n\n# A\n\nother\n\n# C\n\nc\n\n# A\n\nlast\n")
    assert [(one.section, one.nth, one.unchanged_text) for one in done.revisions] == [(("A",), 1, True), (("A",), 2, True)]
    told.require_that_it_is_what_the_files_say()


def test_the_revisions_of_a_deleted_file_end(told: Told) -> None:
    told.write(memory("a"))
    done = told.write(None)
    assert (len(done.ended_revisions), len(done.ended), done.revisions, done.begun) == (2, 1, (), ())
    told.write(memory("a"))
    assert len(told.known.newest_revisions(MEMORY)) == 4


# Properties.

WORDS = st.sampled_from(["a", "b", "a #t", "editor: vim", "editor: emacs", "[fact] a", "c (until 2027-01-01)", "x\n  y", "x\n  z"])
TITLES = st.sampled_from(["A", "B", "C"])
small = st.lists(
    st.tuples(st.integers(1, 3), TITLES, st.lists(WORDS, max_size=4)).map(
        lambda one: f"{'#' * one[0]} {one[1]}\n\n" + "".join(f"- {words}\n" for words in one[2]) + "\n"
    ),
    max_size=5,
).map("".join)
texts = st.one_of(small, small, small, closed_documents, st.none())
commits = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([MEMORY, TOPIC, LOG]), texts),
        st.tuples(st.sampled_from([MEMORY, TOPIC, LOG]), texts, st.sampled_from([MEMORY, TOPIC, LOG])),
    ),
    min_size=1,
    max_size=8,
)
messages = st.sampled_from(
    ["by hand", said(Op.REPLACE, ("a", "b")), said(Op.LOG, ("b", None), retracts=["a"]), said(Op.REVERT, reverts=[commit_id(2)])]
)


def _tell(told: Told, change: tuple[FilePath, str | None] | tuple[FilePath, str | None, FilePath], message: str) -> None:
    path, text, *old = change
    renamed = bool(old) and old[0] != path and old[0] in told.files and path not in told.files and text is not None
    told.commit({path: text}, message, renamed={path: old[0]} if renamed else None)


@given(commits, st.lists(messages, min_size=8, max_size=8))
@settings(max_examples=150, deadline=None)
def test_what_stands_is_what_the_files_say_at_every_landmark(changes, said_of_them) -> None:
    with Told() as told:
        for change, message in zip(changes, said_of_them, strict=False):
            _tell(told, change, message)
            told.require_that_it_is_what_the_files_say()


@given(commits, st.lists(messages, min_size=8, max_size=8), st.data())
@settings(max_examples=60, deadline=None)
def test_told_in_two_parts_is_told_at_once(changes, said_of_them, data) -> None:
    with Told() as at_once, Told() as again:
        after = []
        for change, message in zip(changes, said_of_them, strict=False):
            _tell(at_once, change, message)
            after.append(dict(at_once.files))
        for change, message in zip(changes, said_of_them, strict=False):
            _tell(again, change, message)
        back = data.draw(st.integers(0, len(changes)))
        again.known.cut(back)
        again.files = dict(after[back - 1]) if back else {}
        for change, message in list(zip(changes, said_of_them, strict=False))[back:]:
            _tell(again, change, message)
        assert again.known.dump() == at_once.known.dump()


def _by_hand(told: Told, values: list[str], at: int) -> None:
    told.write(memory("before", f"editor: {values[at]}", "after"))


def _by_mdmem(told: Told, values: list[str], at: int) -> None:
    pairs = [(f"editor: {values[at - 1]}", f"editor: {values[at]}")] if at else []
    told.write(memory("before", f"editor: {values[at]}", "after"), said(Op.REMEMBER, *pairs))


def _logged(told: Told, values: list[str], at: int) -> None:
    pairs = [(f"editor: {values[at - 1]}", f"editor: {values[at]}")] if at else []
    told.write(DAY.format("\n- ".join(f"editor: {value}" for value in values[: at + 1])), said(Op.LOG, *pairs, path=LOG), LOG)


@pytest.mark.parametrize("tell", [_by_hand, _by_mdmem, _logged])
@given(
    values=st.lists(st.sampled_from(["vim", "emacs", "ed", "nano", "vi"]), min_size=1, max_size=7).filter(
        lambda values: all(one != other for one, other in itertools.pairwise(values))
    )
)
@settings(max_examples=25, deadline=None)
def test_after_updates_of_one_key_the_newest_alone_is_unmarked(tell: Callable[[Told, list[str], int], None], values: list[str]) -> None:
    with Told() as told:
        for at in range(len(values)):
            tell(told, values, at)
        every = sorted(
            (one for value in set(values) for one in told.known.occurrences_of(fact(f"editor: {value}"))),
            key=lambda one: (one.begun, one.number),
        )
        assert [one.entry.text for one in every] == [f"editor: {value}" for value in values]
        current = [one for one in every if one.ended is None and not told.known.marks_of(one.number)]
        assert [one.number for one in current] == [every[-1].number]
        for one, heir in itertools.pairwise(every):
            marks = told.known.marks_of(one.number)
            assert (one.successor or marks[0].other) == heir.entry.fact
            assert (one.ended or marks[0].begun) == heir.begun


def test_facts_of_other_sections_are_not_touched(told: Told) -> None:
    told.write(f"# Memory\n\n## Facts\n\n- {OLD}\n\n## Other\n\n- {OLD}\n")
    told.write(f"# Memory\n\n## Facts\n\n- {NEW}\n\n## Other\n\n- {OLD}\n", said(Op.REMEMBER, (OLD, NEW), section=FACTS))
    assert [(one.entry.section[-1], one.successor) for one in told.known.occurrences_of(fact(OLD))] == [
        ("Facts", fact(NEW)),
        ("Other", None),
    ]
    assert told.known.marks() == ()
