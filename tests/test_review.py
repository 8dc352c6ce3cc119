"""The advice of a review; what it calls safe is carried out, one commit each, by its change and by
its command alike.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from conftest import World, examples
from generated_markdown import closed_documents
from hypothesis import given
from workspaces import NOW, Desk, desk

import mdmem
from mdmem.editors.section import edit
from mdmem.model import FactId, FilePath, SectionPath, Source, Status
from mdmem.model.proposals import Advice, AdviceKind
from mdmem.model.searches import ConflictView, Hit
from mdmem.model.writes import Action, EditSection, Forget
from mdmem.review.advice import (
    UNTOUCHED_DAYS,
    Budget,
    CuratedFile,
    FactState,
    find_advice,
    find_removal,
)
from mdmem.text.document import parse
from mdmem.text.facts import entries, items, parse_text

TODAY = date(2026, 3, 5)
MEMORY = FilePath("MEMORY.md")
TOPIC = FilePath("memory/topic.md")
ROOM = Budget(200, 25_000)


def fact(text: str) -> FactId:
    return parse_text(text).id


def curated(
    text: str,
    path: FilePath = MEMORY,
    changed: Mapping[tuple[SectionPath, int], date] | None = None,
    read_only: bool = False,
) -> CuratedFile:
    return CuratedFile(path, parse(text), len(text.encode()), changed or {}, read_only)


def fact_states(
    file: CuratedFile, superseded: Mapping[str, str | None] | None = None
) -> list[FactState]:
    """The facts of a file with their states, as the trail and the calendar have them."""
    successors = {fact(old): fact(new) if new else None for old, new in (superseded or {}).items()}
    states = []
    for entry in entries(file.document, file.path):
        if entry.fact is not None:
            expired = entry.until is not None and entry.until < TODAY
            status = (
                Status.SUPERSEDED
                if entry.fact in successors
                else Status.EXPIRED
                if expired
                else Status.CURRENT
            )
            states.append(FactState(entry, status, successors.get(entry.fact)))
    return states


def contradiction(file: CuratedFile, key: str | None) -> ConflictView:
    """Two facts of a file that contradict each other."""
    first, second = (
        Hit(
            path=entry.path,
            start_line=entry.start_line,
            end_line=entry.end_line,
            section=entry.section,
            kind=None,
            day=None,
            text=entry.text,
            score=0.0,
            fact=entry.fact,
            key=entry.key,
            tags=(),
            source=Source.INFERRED,
            confidence=0.7,
            status=Status.CURRENT,
            until=None,
            commit=None,
            uncommitted=False,
        )
        for entry in entries(file.document, file.path)
    )
    return ConflictView(first, second, key)


def reviewed(
    *files: CuratedFile,
    superseded: Mapping[str, str | None] | None = None,
    conflicts: tuple[ConflictView, ...] = (),
) -> tuple[Advice, ...]:
    facts = [state for file in files for state in fact_states(file, superseded)]
    return find_advice(files, facts, conflicts, ROOM, TODAY)


def summary(advice: tuple[Advice, ...]) -> list[tuple[str, str, int, bool]]:
    return [(each.kind.value, each.path, each.line, each.safe) for each in advice]


# What no longer holds.


def test_what_has_expired_or_was_superseded_goes() -> None:
    text = (
        "# M\n\n## A\n\n- tea (until 2026-03-04)\n- milk (until 2026-03-05)\n- uses vim\n- gone\n"
    )
    expired, old, ended = sorted(
        reviewed(curated(text), superseded={"uses vim": "uses helix", "gone": None}),
        key=lambda each: each.line,
    )
    assert expired == Advice(
        AdviceKind.EXPIRED,
        MEMORY,
        ("M", "A"),
        5,
        (fact("tea"),),
        "'tea (until 2026-03-04)' was valid until 2026-03-04",
        ("mdmem", "forget", fact("tea"), "--file", "MEMORY.md"),
        True,
        Forget(fact("tea"), "MEMORY.md"),
    )
    assert (old.kind, old.message, old.safe) == (
        AdviceKind.SUPERSEDED,
        f"'uses vim' was superseded by {fact('uses helix')}, but is still there",
        True,
    )
    assert ended.message == "'gone' was superseded, but is still there"


def test_a_file_that_is_only_read_is_looked_at() -> None:
    text = "## A\n\n- tea (until 2026-03-04)\n- milk\n- milk\n"
    advice = reviewed(curated(text, TOPIC, {(("A",), 1): date(2020, 1, 1)}, read_only=True))
    assert summary(advice) == [("expired", TOPIC, 3, False), ("duplicate", TOPIC, 5, False)]
    assert {(each.change, each.command) for each in advice} == {
        (None, ("mdmem", "show", TOPIC, "A"))
    }


# What is said twice.


@pytest.mark.parametrize(
    ("text", "expected", "after"),
    [
        ("## A\n\n- tea\n- milk\n- tea\n", [(5, True)], "## A\n\n- tea\n- milk\n"),
        ("## A\n\n- tea\n- TEA\n", [(4, True)], "## A\n\n- tea\n"),
        ("## A\n\n- tea\n- tea\n- tea\n", [(4, True), (5, True)], "## A\n\n- tea\n"),
        (
            "## A\n\n- tea #x\n\n- milk\n\n- tea\n\n## B\n",
            [(7, True)],
            "## A\n\n- tea #x\n\n- milk\n\n## B\n",
        ),
        (
            "## A\r\n\r\n- a\r\n- tea\r\n  more\r\n- tea\r\n  more\r\n- b",
            [(6, True)],
            "## A\r\n\r\n- a\r\n- tea\r\n  more\r\n- b",
        ),
        (
            "## A\n\n- tea\n\n- milk\n\n- TEA\n\n## B\n",
            [(7, True)],
            "## A\n\n- tea\n\n- milk\n\n## B\n",
        ),
        ("- tea\n- tea\n\n# B\n", [(2, True)], "- tea\n\n# B\n"),
        ("## A\n\n- tea\n- tea", [(4, True)], "## A\n\n- tea"),
        (
            "## A\n\n- tea\n\n## A\n\n- x\n- tea\n- tea\n- y\n",
            [(8, False), (9, True)],
            "## A\n\n- tea\n\n## A\n\n- x\n- tea\n- y\n",
        ),
        # What differs in its line ends only does not name the line.
        ("## A\n\ntext\n- tea\n\ntext\r\n- tea\n", [(7, True)], "## A\n\ntext\n- tea\n\ntext\n"),
        # One of the two expired: that one goes, and it is not the later one.
        ("## A\n\n- tea (until 2026-01-01)\n- tea\n", [(3, True)], "## A\n\n- tea\n"),
        # What the later one says besides is not thrown away unasked.
        ("## A\n\n- tea\n- tea #hot\n", [(4, False)], None),
        ("## A\n\n- tea\n- [preference] tea\n", [(4, False)], None),
        ("## A\n\n- tea\n- tea ^id\n", [(4, False)], None),
        ("## A\n\n- tea\n- tea (until 2027-01-01)\n", [(4, False)], None),
        # Under two headings it may be two facts, and so before the first and under one.
        ("- tea\n\n# A\n\n# B\n\n- tea\n", [(7, False)], None),
        ("## Ana\n\n- works_at: OVH\n\n## Ben\n\n- works_at: OVH\n", [(7, False)], None),
    ],
)
def test_duplicates(text: str, expected: list[tuple[int, bool]], after: str | None) -> None:
    advice = reviewed(curated(text))
    assert [(each.line, each.safe) for each in advice] == expected
    assert {each.kind for each in advice} <= {AdviceKind.DUPLICATE, AdviceKind.EXPIRED}
    while safe := [each for each in advice if each.safe]:
        assert isinstance(safe[0].change, EditSection)
        text = edit(parse(text), safe[0].change).text
        advice = reviewed(curated(text))
    assert after is None or text == after


@pytest.mark.parametrize("blank", ["", "\n"])
def test_a_duplicate_in_another_section_is_named_by_its_section(blank: str) -> None:
    text = f"# P\n\n## Ana\n{blank}\n- works_at: OVH\n\n## Ben\n{blank}- works_at: OVH\n"
    (advice,) = reviewed(curated(text))
    assert advice.change == Forget(fact("works_at: OVH"), "MEMORY.md", "P > Ben")
    assert advice.command == (
        "mdmem",
        "forget",
        fact("works_at: OVH"),
        "--file",
        "MEMORY.md",
        "--section",
        "P > Ben",
    )
    assert advice.message == f"'works_at: OVH' is also in MEMORY.md:{5 + len(blank)}"
    (advice,) = reviewed(curated("## A\n\n- tea\n"), curated("## B\n\n- tea\n", TOPIC))
    assert (advice.path, advice.change) == (TOPIC, Forget(fact("tea"), TOPIC))


def removal(text: str, line: int) -> EditSection | Forget | None:
    """The change that takes an item out, by its line."""
    document = parse(text)
    item = next(each for each in items(document) if each.start + 1 == line)
    return find_removal(document, MEMORY, item, document.section_at(item.start))


@pytest.mark.parametrize(
    ("text", "line", "old", "new"),
    [
        ("## A\n\n- a\n- tea X\n- tea X\n", 5, "- tea X\n- tea X", "- tea X"),
        ("## A\n\n- tea\n- b\n- c\n- b\n- tea\n", 7, "- b\n- tea", "- b"),
        (
            "## A\n\n- a\n- b\n- tea\n- a\n- b\n- tea\n- c\n",
            8,
            "- tea\n- a\n- b\n- tea",
            "- tea\n- a\n- b",
        ),
        # There is no line above: one below, and as many more as it takes.
        ("## A\n- tea\n- TEA\n- c\n- d\n", 2, "- tea\n- TEA", "- TEA"),
        ("## A\n- tea\n\ntext\nmore\n\n- TEA\n", 2, "- tea\n\ntext", "\ntext"),
        ("## A\n- tea\n- b\n- c\n- tea\n- b\n- d\n", 2, "- tea\n- b\n- c", "- b\n- c"),
        ("## A\n- tea\n\n## A\n- tea\n", 2, "- tea", ""),
        ("## A\r\n\r\n- tea\r\n- milk\r\n- TEA\r\n", 3, "\r\n- tea", ""),
    ],
)
def test_no_more_is_quoted_than_it_takes(text: str, line: int, old: str, new: str) -> None:
    change = removal(text, line)
    assert isinstance(change, EditSection)
    assert (change.text, change.replacement) == (old, new)


@pytest.mark.parametrize(("between", "lines"), [(28, 30), (29, None)])
def test_thirty_lines_may_be_quoted(between: int, lines: int | None) -> None:
    block = "".join(f"- {number}\n" for number in range(between)) + "- tea\n"
    change = removal("## A\n\n" + block * 2, 2 * between + 4)
    assert (len(change.text.splitlines()) if isinstance(change, EditSection) else None) == lines


@pytest.mark.costly
def test_of_very_many_duplicates_the_first_come_with_their_change() -> None:
    file = curated(
        "# M\n\n## A\n\n" + "".join(f"- tea {number}\n- tea {number}\n" for number in range(200))
    )
    advice = [each for each in reviewed(file) if each.kind is AdviceKind.DUPLICATE]
    assert [each.safe for each in advice] == [True] * 50 + [False] * 150
    assert [each.change is not None for each in advice] == [each.safe for each in advice]
    assert advice[-1].command == ("mdmem", "show", "MEMORY.md", "M > A")


def test_what_only_many_lines_would_name_is_only_shown() -> None:
    last = [
        each
        for each in reviewed(curated("# M\n\n## A\n\n" + "- tea\n" * 100))
        if each.kind is AdviceKind.DUPLICATE
    ][45]
    assert (last.change, last.safe) == (None, False)


@pytest.mark.parametrize(
    "line",
    [
        "[ ] call Ana",
        "[x] water the plants in the kitchen",
        "[X] swim",
        "2026-03-01 swam in the lake",
        "2026-03-01: swam",
        "09:30 swam",
    ],
)
def test_tasks_and_lines_of_a_diary_are_no_duplicates(line: str) -> None:
    near = f"- {line} too\n" if " in the " in line else ""
    text = f"# Log\n\n## Monday\n\n- {line}\n- {line}\n{near}\n## Tuesday\n\n- {line}\n"
    assert reviewed(curated(text)) == ()


def test_a_duplicate_that_cannot_be_cut_out_is_only_shown() -> None:
    # Without `1. tea` the line below it would be a part of the paragraph.
    text = "## A\n\n- tea\n\ntext\n1. tea\n2. milk\n"
    (advice,) = reviewed(curated(text))
    assert (advice.line, advice.safe, advice.change, advice.command) == (
        6,
        False,
        None,
        ("mdmem", "show", "MEMORY.md", "A"),
    )


@pytest.mark.parametrize(
    ("first", "second", "is_near"),
    [
        ("Prefers dark mode in the editor", "Prefers the dark mode in editors", True),
        ("theme: dark mode in the editor", "Theme dark mode in the editor", True),
        ("theme: dark mode in the editor", "colour: dark mode in the editor", False),
        ("theme: dark mode in the editor", "theme: dark mode in editors", False),
        ("theme: dark mode in the editor", "Theme: dark mode in editors", False),
        ("Theme: dark mode in the editor", "theme: dark mode in editors", False),
        ("Server listens on port 8080", "Server listens on port 8081", False),
        ("likes tea", "likes coffee", False),
        ("aa bb cc dd ee", "aa bb cc dd ff", True),  # by four fifths, just near enough
    ],
)
def test_near_duplicates(first: str, second: str, is_near: bool) -> None:
    advice = reviewed(curated(f"## A\n\n- {first}\n- x\n- {second}\n"))
    assert summary(advice) == ([("near-duplicate", MEMORY, 5, False)] if is_near else [])
    if is_near:
        assert advice[0].facts == (fact(second), fact(first))
        assert advice[0].message == f"{second!r} is similar to MEMORY.md:3: {first!r}"


@pytest.mark.parametrize(("key", "is_near"), [("theme", True), ("colour", False)])
def test_what_keys_say_in_two_sections(key: str, is_near: bool) -> None:
    place = "of the old desk by the window"
    text = f"## A\n\n- theme: dark mode in the editor {place}\n\n## B\n\n- {key}: dark mode in editors {place}\n"
    assert summary(reviewed(curated(text))) == (
        [("near-duplicate", MEMORY, 7, False)] if is_near else []
    )


def test_the_nearest_of_several_is_named() -> None:
    lines = (
        "x",
        "Prefers a dark mode in editors",
        "Prefers the dark mode in the editor",
        "Prefers the dark mode in editors",
    )
    advice = reviewed(curated("## A\n\n" + "".join(f"- {line}\n" for line in lines)))
    assert [(each.line, each.message.partition(" is similar to ")[2]) for each in advice] == [
        (5, f"MEMORY.md:4: {lines[1]!r}"),
        (6, f"MEMORY.md:4: {lines[1]!r}"),
    ]


def test_no_advice_removes_a_line_of_a_note() -> None:
    text = "# N\n\n- tea\n- tea\n- milk (until 2026-03-04)\n"
    note = replace(curated(text, TOPIC), keeps_lines=True)
    pair = curated("- likes tea\n- hates tea\n", TOPIC)
    found = reviewed(curated("# M\n\n- tea\n"), note, conflicts=(contradiction(pair, None),))
    assert [(each.command[1], each.forgets, each.safe) for each in found] == [
        ("show", (), False),
        ("show", (), False),
        ("show", (), False),
        ("conflicts", (), False),
    ]


def test_two_notes_with_the_same_words_are_about_two_subjects() -> None:
    def notes(*texts: str) -> list[CuratedFile]:
        names = map(FilePath, ("People/Mei.md", "People/Tom.md"))
        files = (curated(text, path) for text, path in zip(texts, names, strict=True))
        return [replace(each, keeps_lines=True) for each in files]

    assert reviewed(*notes("# Mei\n\n- Kids: none\n", "# Tom\n\n- Kids: none\n")) == ()
    words = "- moved to the old town with the two cats in {}\n"
    assert reviewed(*notes(words.format("March"), words.format("spring"))) == ()
    assert len(reviewed(*notes("- tea\n\n# B\n\n- tea\n", "- milk\n"))) == 1
    assert len(reviewed(curated("- tea\n"), *notes("- tea\n", "- tea\n"))) == 2


def test_no_advice_removes_a_line_that_a_link_names() -> None:
    file = curated("- tea\n- tea ^a1\n- milk (until 2026-03-04) ^b2\n- rum (until 2026-03-04)\n")
    pair = curated("- likes tea\n- hates tea ^a1\n")
    advice = find_advice(
        [file], fact_states(file), [contradiction(pair, None)], ROOM, TODAY, {"^a1", "^b2"}
    )
    assert [(each.line, each.command[1], each.change is None) for each in advice] == [
        (3, "show", True),
        (4, "forget", False),
        (2, "show", True),
        (1, "conflicts", True),
    ]
    assert advice[-1].forgets == (("mdmem", "forget", fact("likes tea")),)


def test_a_file_is_tidied_unless_it_is_read_only() -> None:
    text = "## A\n\n- tea\n- tea\n"
    (advice,) = reviewed(CuratedFile(path=MEMORY, document=parse(text), size=len(text), changed={}))
    assert advice.safe


@pytest.mark.parametrize("length", [60, 61])
def test_long_facts_are_cut_in_messages(length: int) -> None:
    text = "t" * (length - len(" (until 2026-03-04)")) + " (until 2026-03-04)"
    (advice,) = reviewed(curated(f"- {text}\n"))
    expected = text if length == 60 else text[:59] + "…"
    assert advice.message == f"{expected!r} was valid until 2026-03-04"


def test_what_goes_anyway_is_no_near_duplicate() -> None:
    text = "## A\n\n- Prefers dark mode in the editor\n- Prefers the dark mode in editors (until 2026-01-01)\n"
    assert summary(reviewed(curated(text))) == [("expired", MEMORY, 4, True)]


def test_a_contradiction_is_for_others_to_decide() -> None:
    file = curated("## A\n\n- k: a\n- k: b\n")
    (advice,) = reviewed(file, conflicts=(contradiction(file, "k"),))
    pair = fact("k: a"), fact("k: b")
    assert (advice.kind, advice.line, advice.facts, advice.safe, advice.change) == (
        AdviceKind.CONTRADICTION,
        3,
        pair,
        False,
        None,
    )
    assert (advice.path, advice.section, advice.command) == (
        MEMORY,
        ("A",),
        ("mdmem", "conflicts", "--resolve", *pair),
    )
    assert (
        advice.message
        == "'k: a' and 'k: b' contradict each other (k): forget one, or confirm that both are true"
    )


def test_a_contradiction_by_hand_has_no_key() -> None:
    file = curated("## A\n\n- a\n- b\n")
    (advice,) = reviewed(file, conflicts=(contradiction(file, None),))
    assert (
        advice.message
        == "'a' and 'b' contradict each other: forget one, or confirm that both are true"
    )


# What is old, what is long.


def test_sections_that_nobody_touched() -> None:
    text = "Text.\n\n# M\n\n## A\n\n- x\n\n## A\n\n- y\n\n## Empty\n\n<!-- what belongs here -->\n\n## New\n\n- z\n"
    long_ago, lately = (
        TODAY - timedelta(days=UNTOUCHED_DAYS),
        TODAY - timedelta(days=UNTOUCHED_DAYS - 1),
    )
    changed = {
        ((), 1): long_ago,
        (("M", "A"), 1): lately,
        (("M", "A"), 2): long_ago,
        (("M", "Empty"), 1): long_ago,
        (("M",), 1): long_ago,
    }
    preamble, second = reviewed(curated(text, changed=changed))
    assert (preamble.line, preamble.section, preamble.command) == (
        1,
        (),
        ("mdmem", "show", "MEMORY.md", "--preamble"),
    )
    assert (second.line, second.command) == (
        9,
        ("mdmem", "show", "MEMORY.md", "M > A", "--nth", "2"),
    )
    assert (
        second.message == f"M > A was last changed on {long_ago}, 180 days ago: is it still true?"
    )
    assert second.kind is AdviceKind.UNTOUCHED


def test_a_curated_file_over_its_budget() -> None:
    text = (
        "# M\n\n## A\n\n"
        + "".join(f"- {n}a\n" for n in range(150))
        + "\n## B\n\n"
        + "".join(f"- {n}b\n" for n in range(60))
    )
    changed = {(("M", "A"), 1): date(2026, 2, 2), (("M", "B"), 1): date(2026, 1, 1)}
    (advice,) = reviewed(curated(text, changed=changed))
    assert (advice.kind, advice.safe, advice.command) == (
        AdviceKind.OVER_BUDGET,
        False,
        ("mdmem", "outline", "MEMORY.md"),
    )
    assert advice.message == (
        f"217 lines and {len(text):,} bytes; its budget is 200 lines and 25,000 bytes. "
        "The largest sections are M > A (151 lines); M > B (61 lines). The oldest are M > B (2026-01-01); M > A (2026-02-02)"
    )
    assert reviewed(curated(text, TOPIC, changed)) == ()
    assert summary(reviewed(curated("## A\n\n" + "word " * 6000))) == [
        ("over-budget", MEMORY, 1, False)
    ]


def test_conflict_markers_come_first() -> None:
    text = "# M\n\n<<<<<<< a\n- tea\n=======\n- tea\n>>>>>>> b\n"
    first, *duplicates = reviewed(curated(text.replace("<<<", "- tea\n\n<<<", 1)))
    assert (first.kind, first.line, first.command) == (
        AdviceKind.CONFLICT_MARKERS,
        5,
        ("mdmem", "check"),
    )
    assert [each.kind for each in duplicates] == [AdviceKind.DUPLICATE] * 2


def test_the_three_largest_and_oldest_are_named() -> None:
    sections = {"A": 60, "B": 50, "C": 40, "D": 70}
    text = "".join(f"# {name}\n" + "- x\n" * count for name, count in sections.items())
    changed = {((name,), 1): date(2026, 1, day) for day, name in enumerate(sections, 1)}
    (advice,) = [
        each
        for each in reviewed(curated(text, changed=changed))
        if each.kind is AdviceKind.OVER_BUDGET
    ]
    assert (
        "The largest sections are D (71 lines); A (61 lines); B (51 lines). The oldest are A (2026-01-01); B (2026-01-02); C ("
        in advice.message
    )
    assert advice.message.endswith("; C (2026-01-03)")


@pytest.mark.parametrize(
    ("lines", "size", "over"), [(200, 25_000, False), (201, 25_000, True), (200, 25_001, True)]
)
def test_a_budget_may_be_used_up(lines: int, size: int, over: bool) -> None:
    file = CuratedFile(MEMORY, parse("# A\n" + "\n" * (lines - 1)), size, {})
    assert bool(reviewed(file)) is over


def test_nothing_to_tidy() -> None:
    assert reviewed() == ()
    assert reviewed(curated("# M\n\n## A\n\n- tea\n- milk\n"), curated("", TOPIC)) == ()


def test_what_no_longer_stands_where_it_stood_is_left_alone() -> None:
    before = curated("## A\n\n- tea (until 2026-01-01)\n")
    assert (
        find_advice([curated("## A\n\n- x\n- tea\n")], fact_states(before), (), ROOM, TODAY) == ()
    )


@given(closed_documents)
@examples(100)
def test_what_is_safe_takes_one_fact_out_and_leaves_its_double(text: str) -> None:
    document = parse(text)
    for advice in reviewed(curated(text)):
        if isinstance(advice.change, EditSection):
            rest = [
                item.raw.rstrip("\r\n") for item in items(parse(edit(document, advice.change).text))
            ]
            assert rest == [
                item.raw.rstrip("\r\n") for item in items(document) if item.start + 1 != advice.line
            ]


# In a repository.


@pytest.mark.parametrize("by", ["change", "command"])
def test_what_is_safe_is_carried_out(
    world: World, repository: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    text = "# M\n\n## A\n\n- tea (until 2026-03-04)\n- -x\n- uses vim\n- -x\n\n## B\n\n- -x\n"
    at: Desk = desk(world, repository, seed=text)
    commits = len(at.subjects())
    done = 0
    while safe := [
        each
        for each in reviewed(curated(at.read(MEMORY)), superseded={"uses vim": "uses helix"})
        if each.safe
    ]:
        change = safe[0].change
        assert change is not None
        if by == "change":
            assert at.apply(change).changed
        else:
            words = [sys.executable, "-m", "mdmem", "-C", at.root, *safe[0].command[1:]]
            world.run(
                at.root,
                words,
                environment={"MDMEM_NOW": NOW, "PYTHONPATH": str(Path(mdmem.__file__).parents[1])},
            )
        done += 1
        assert len(at.subjects()) == commits + done
    assert done == 3
    assert at.read(MEMORY) == "# M\n\n## A\n\n- -x\n\n## B\n\n- -x\n"


def test_a_change_is_the_edit_of_one_section() -> None:
    (advice,) = reviewed(curated("## A\n\n- x\n- tea\n- tea\n"))
    assert advice.change == EditSection("A", Action.REPLACE, "- tea\n- tea", "- tea", "MEMORY.md")
    assert advice.command == (
        "mdmem",
        "edit-section",
        "A",
        "--file",
        "MEMORY.md",
        "--replace",
        "- tea\n- tea",
        "--with",
        "- tea",
    )
