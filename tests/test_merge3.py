"""The merge of three versions of a file: small examples of each rule, tried with the sides both
ways round, and properties of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from call_counts import count_calls
from conftest import examples
from edited_markdown import edited_texts
from hypothesis import given
from hypothesis import strategies as st

from mdmem.editors.merge3.merging import Contradiction, MergeNotes, merge3
from mdmem.model import FileKind
from mdmem.text.facts import fact_id

HEAD = "# Memory\n\n## Work\n\n"
TAIL = "\n## Home\n\n- cat: Mia\n"


def merged(base: str, ours: str, theirs: str, kind: FileKind = FileKind.EVERGREEN) -> str:
    o, a, b = (text.encode() for text in (base, ours, theirs))
    result = merge3(o, a, b, kind)
    assert result == merge3(o, b, a, kind)
    assert result.data is not None, result.reason
    return result.data.decode()


def merged_again(base: str, ours: str, theirs: str, kind: FileKind = FileKind.EVERGREEN) -> str:
    """The merge, which does not change where it is merged again with a side, against
    the old base.
    """
    result = merged(base, ours, theirs, kind)
    assert merged(base, result, ours, kind) == merged(base, theirs, result, kind) == result
    return result


def notes(base: str, ours: str, theirs: str) -> MergeNotes:
    result = merge3(base.encode(), ours.encode(), theirs.encode())
    assert result.notes == merge3(base.encode(), theirs.encode(), ours.encode()).notes
    return result.notes


def work(*facts: str) -> str:
    return HEAD + "".join(f"- {fact}\n" for fact in facts) + TAIL


# The facts of a section.


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param(["a b", "c d"], ["a b"], ["a b", "c d", "e f"], ["a b", "e f"], id="gone on one side"),
        pytest.param(["a b", "c d"], ["c d"], ["c d"], ["c d"], id="gone on both"),
        pytest.param(["editor: vim"], [], ["editor: helix"], ["editor: helix"], id="gone and changed: it stays"),
        pytest.param(["editor: vim"], ["editor: helix"], ["editor: vim #new"], ["editor: helix #new"], id="a value here, a tag there"),
        pytest.param(["pay rent ^p1"], ["call Ana about it ^p1"], ["pay rent #due ^p1"], ["call Ana about it #due ^p1"], id="known by its block id"),
        pytest.param(["shell: bash"], ["shell: zsh"], ["shell: fish"], ["shell: fish", "shell: zsh"], id="one key, two values"),
        pytest.param([], ["shell: zsh"], ["shell: fish"], ["shell: fish", "shell: zsh"], id="a new key, two values"),
        pytest.param(["k k"], ["k k", "n1", "os: bsd"], ["k k", "os: mac", "n2"], ["k k", "n1", "os: bsd", "os: mac", "n2"], id="side by side goes before in one piece"),
        pytest.param(["k k"], ["k k", "new one"], ["k k", "new one"], ["k k", "new one"], id="new on both: once"),
        pytest.param(["k k"], ["k k", "New one #a"], ["k k", "New one #b"], ["k k", "New one #a #b"], id="new on both with other tags"),
        pytest.param(["k k", "l l"], ["k k", "z1", "z2", "l l"], ["k k", "a1", "l l"], ["k k", "a1", "z1", "z2", "l l"], id="two pieces at one place"),
        pytest.param(["a a", "b b", "c c"], ["b b", "a a", "c c"], ["a a", "b b", "n n", "c c"], ["b b", "n n", "a a", "c c"], id="order of the side that changed it"),
        pytest.param(["Ana works at Stripe in Dublin"], ["Ana works at Linear in Dublin"], ["Ana works at Stripe in Dublin"], ["Ana works at Linear in Dublin"], id="reworded here"),
        pytest.param(["one two three four five"], ["one two three four six"], ["one two three four seven"], ["one two three four seven", "one two three four six"], id="reworded on both: both lines"),
    ],
)  # fmt: skip
def test_facts_of_a_section(
    base: list[str], ours: list[str], theirs: list[str], expected: list[str]
) -> None:
    assert merged_again(work(*base), work(*ours), work(*theirs)) == work(*expected)


# Facts and sections that moved.

PLAN = "# M\n\n## A\n\n- a a\n\n## B\n\n- b b\n\n## C\n\n- c c\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        pytest.param(
            PLAN.replace("- a a\n\n", "").replace("- b b\n", "- b b\n- a a\n"),
            PLAN.replace("- a a", "- a a #t"),
            "# M\n\n## A\n\n## B\n\n- b b\n- a a #t\n\n## C\n\n- c c\n",
            id="a fact moved here, changed there",
        ),
        pytest.param(
            PLAN.replace("- a a\n\n", "").replace("- b b\n", "- b b\n- a a\n"),
            PLAN.replace("- a a\n\n", "").replace("- c c\n", "- c c\n- a a\n"),
            "# M\n\n## A\n\n## B\n\n- b b\n- a a\n\n## C\n\n- c c\n",
            id="a fact moved to two sections: the one whose path sorts first",
        ),
        pytest.param(
            PLAN.replace("- a a\n\n", "").replace("- b b\n", "- b b\n- a a\n"),
            PLAN.replace("- a a\n\n", ""),
            "# M\n\n## A\n\n## B\n\n- b b\n- a a\n\n## C\n\n- c c\n",
            id="a fact moved here, gone there",
        ),
        pytest.param(PLAN.replace("## B", "## Z"), PLAN.replace("- b b", "- b b\n- n n"), PLAN.replace("## B\n\n- b b", "## Z\n\n- b b\n- n n"), id="renamed here, edited there"),
        pytest.param(PLAN.replace("## B", "## Z"), PLAN.replace("## B", "## Y"), PLAN.replace("## B\n\n- b b\n", "## Y\n\n- b b\n\n## Z\n"), id="renamed on both: the other heading after it, empty"),
        pytest.param(PLAN.replace("## B\n\n- b b\n\n", ""), PLAN.replace("- b b", "- b b\n- n n"), PLAN.replace("- b b", "- n n"), id="a section gone here, a fact added there"),
        pytest.param(PLAN.replace("## B\n\n- b b\n\n", ""), PLAN.replace("- c c", "- c d"), PLAN.replace("## B\n\n- b b\n\n", "").replace("- c c", "- c d"), id="a section gone here, untouched there"),
        pytest.param(
            "# M\n\n## A\n\n- a a\n\n### B\n\n- b b\n\n## C\n\n- c c\n",
            PLAN.replace("- b b", "- b b\n- n n"),
            "# M\n\n## A\n\n- a a\n\n### B\n\n- b b\n- n n\n\n## C\n\n- c c\n",
            id="moved to another parent here, edited there",
        ),
        pytest.param(
            "# M\n\n## A\n\n- a a\n\n### B\n\n- b b\n\n## C\n\n- c c\n",
            "# M\n\n## B\n\n- b b\n\n### A\n\n- a a\n\n## C\n\n- c c\n",
            PLAN,
            id="moved into each other: where they were",
        ),
        pytest.param(PLAN + "\n## D\n\n- d d\n", PLAN + "\n## D\n\n- e e\n", PLAN + "\n## D\n\n- d d\n- e e\n", id="one new title on both"),
    ],
)  # fmt: skip
def test_sections(ours: str, theirs: str, expected: str) -> None:
    assert merged(PLAN, ours, theirs) == expected


def test_a_twin_section_that_is_moved_under_its_twin() -> None:
    base = "# M\n\n## N\n\n- a a\n\n## X\n\n- x x\n\n## N\n\n- b b\n"
    ours = "# M\n\n## N\n\n- a a\n\n### N\n\n- b b\n\n## X\n\n- x x\n"
    assert merged(base, ours, base.replace("- b b", "- b b\n- n n")) == ours.replace(
        "- b b", "- b b\n- n n"
    )


def test_a_key_that_stands_elsewhere_with_another_value_takes_no_label_of_the_old_one() -> None:
    base = PLAN.replace("- a a", "- k: one")
    ours, theirs = (
        PLAN.replace("- a a\n\n", "").replace("- c c", "- c c\n- k: other thing"),
        base.replace("k: one", "k: one #t"),
    )
    assert "- k: one #t\n- k: other thing\n" in merged(base, ours, theirs), (
        "it may be another fact: nothing that a side wrote goes"
    )
    assert "- c c\n- k: one #t\n" in merged(base, ours.replace("other thing", "one"), theirs)


def test_what_replaced_a_moved_line_goes_with_it_only_if_it_begins_alike() -> None:
    base = PLAN.replace("- a a", "- Saffron tests basket meadow compass wicker")
    ours = PLAN.replace("- a a\n\n", "").replace(
        "- c c", "- c c\n- Saffron tests basket meadow compass wicker"
    )
    other, alike = (
        "- Wicker deploys meadow lantern compass",
        "- Saffron sends meadow lantern compass",
    )
    assert f"## A\n\n{other}\n" in merged(base, ours, PLAN.replace("- a a", other))
    assert f"- c c\n{alike}\n" in merged(base, ours, PLAN.replace("- a a", alike))


def test_two_values_move_together() -> None:
    ours, theirs = (
        PLAN.replace("- a a\n\n", "").replace("- b b", "- b b\n- k: v"),
        PLAN.replace("- a a", "- a a\n- k: w"),
    )
    assert merged(PLAN.replace("- a a", "- a a\n- k: o"), ours, theirs).count("- k: ") == 2


# Blocks, line ends, front matter.


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param("one\ntwo\n", "one\nTWO\n", "ONE\ntwo\n", "ONE\nTWO\n", id="other lines of a paragraph"),
        pytest.param("one\ntwo\n", "one\n2\n", "one\nII\n", "one\n2\n\none\nII\n", id="the same line: both blocks"),
        pytest.param("```\na\nb\n```\n", "```\na\nb\nc\n```\n", "```\nA\nb\n```\n", "```\nA\nb\nc\n```\n", id="code"),
        pytest.param("<!-- a\nb\nc -->\n", "<!-- a\nb\nC -->\n", "<!-- A\nb\nc -->\n", "<!-- A\nb\nC -->\n", id="a comment of several lines"),
        pytest.param("* a a\n* b b\n", "* a a\n* b b\n* c c\n", "* b b\n", "* b b\n* c c\n", id="another marker"),
        pytest.param("- a a\n- b b\n", "* a a\n* b b\n", "- a a\n- b b #t\n", "* a a\n* b b #t\n", id="the marker changed here"),
        pytest.param("1. a a\n2. b b\n", "1. a a\n2. b b\n3. c c\n", "1. a a\n2. b b #t\n", "1. a a\n2. b b #t\n3. c c\n", id="numbers"),
        pytest.param("A\n=\n\n- a a\n\nB\n-\n\n- b b\n", "A\n=\n\n- a a #t\n\nB\n-\n\n- b b\n", "A\n=\n\n- a a\n\nC\n-\n\n- b b\n", "A\n=\n\n- a a #t\n\nC\n-\n\n- b b\n", id="setext headings"),
        pytest.param("- a a\n", "- a a\r\n", "- a a\n- b b\n", "- a a\r\n- b b\r\n", id="line ends changed here"),
        pytest.param("- a a\r\n", "- a a\r\n- c c\r\n", "- a a\r\n- b b\r\n", "- a a\r\n- b b\r\n- c c\r\n", id="line ends of all three"),
        pytest.param("- a a\n", "\ufeff- a a\n", "- a a\n- b b\n", "\ufeff- a a\n- b b\n", id="byte order mark added here"),
        pytest.param("\ufeff- a a\n", "- a a\n", "\ufeff- a a\n- b b\n", "- a a\n- b b\n", id="byte order mark taken out here"),
        pytest.param("- a a\n", "- a a", "- a a\n- b b\n", "- a a\n- b b", id="last line end taken out here"),
        pytest.param("- a a", "- a a\n- c c", "- a a\n- b b", "- a a\n- b b\n- c c", id="no last line end anywhere"),
        pytest.param("", "- a a\n", "- b b\n", "- a a\n- b b\n", id="no base"),
        pytest.param("- a a\n", "", "- a a #t\n", "- a a #t\n", id="emptied here, changed there"),
    ],
)  # fmt: skip
def test_blocks_and_line_ends(base: str, ours: str, theirs: str, expected: str) -> None:
    assert merged(base, ours, theirs) == expected


FRONT = "---\ntitle: x\nowner: ada\n---\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        pytest.param("title: y\nowner: ada\n", "title: x\nowner: ben\n", "title: y\nowner: ben\n", id="two keys"),
        pytest.param("title: y\nowner: ada\n", "title: z\nowner: ada\n", "title: z\n# other side: title: y\nowner: ada\n", id="one key, two values"),
        pytest.param("title: 9\nowner: ada\n", "title: 10\nowner: ada\n", "title: 10\n# other side: title: 9\nowner: ada\n", id="numbers"),
        pytest.param("title: 2026-01-02\nowner: ada\n", "title: 2026-01-10\nowner: ada\n", "title: 2026-01-10\n# other side: title: 2026-01-02\nowner: ada\n", id="dates: the later"),
        pytest.param("owner: ada\n", "title: x\nowner: ada\nnew: 1\n", "owner: ada\nnew: 1\n", id="gone, and added"),
        pytest.param("title: x\nowner: ada\ntags:\n  - a\n", "title: x\nowner: ben\n", "title: x\nowner: ben\ntags:\n  - a\n", id="a list"),
    ],
)  # fmt: skip
def test_front_matter(ours: str, theirs: str, expected: str) -> None:
    ours, theirs = f"---\n{ours}---\n", f"---\n{theirs}---\n"
    assert (
        merged_again(FRONT + "- a a\n", ours + "- a a\n", theirs + "- a a\n- b b\n")
        == f"---\n{expected}---\n- a a\n- b b\n"
    )


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param("[a, b]", "[a, b, x]", "[a, y, b]", "[a, y, b, x]", id="an item by each"),
        pytest.param("[a]", "[a, x]", "[a, w]", "[a, w, x]", id="at one place: sorted"),
        pytest.param("[a, b]", "[b]", "[a, b, x]", "[b, x]", id="one out, one added"),
        pytest.param("[a]", "[a, x]", "[a, x]", "[a, x]", id="the same item"),
        pytest.param("[a, b]", "[a, 'b', x]", "[a, b, y]", "[a, 'b', x, y]", id="quoted here"),
        pytest.param("[a]", "\n  - a", "[a, 'x: y']", "\n  - a\n  - 'x: y'", id="in block form here"),
        pytest.param("\n- a", "\n- a\n- c", "\n- a\n- b", "\n- a\n- b\n- c", id="in block form"),
        pytest.param("", "[a]", "[b]", "[a, b]", id="empty before"),
        pytest.param("[a]", "[]", "[a, b]", "[b]", id="emptied here"),
        pytest.param("[a, b]", "[c, b]", "[d, b]", "[c, d, b]", id="another for the same: both"),
    ],
)  # fmt: skip
def test_lists_in_front_matter(base: str, ours: str, theirs: str, expected: str) -> None:
    base, ours, theirs, expected = (
        f"---\ntags:{' ' * value.startswith('[')}{value}\n---\n"
        for value in (base, ours, theirs, expected)
    )
    assert merged_again(base, ours, theirs) == expected


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        pytest.param("tags: [x, y]", "tags: z", id="a list and a scalar"),
        pytest.param("tags: {x: 1}", "tags: [y]", id="a map and a list"),
        pytest.param("tags: &t [x]", "tags: [y]", id="an anchor"),
        pytest.param("tags: |\n  x", "tags: z", id="block text"),
        pytest.param("tags:\n  x: 1", "tags:\n  x: 2", id="two maps"),
    ],
)
def test_values_that_are_no_scalars_are_left_to_git(ours: str, theirs: str) -> None:
    base, a, b = (f"---\n{text}\n---\n".encode() for text in ("tags: [x]", ours, theirs))
    assert "'tags'" in merge3(base, a, b).reason
    assert merge3(base, a, b).data is merge3(base, b, a).data is None
    assert merge3(base, a, base).data == a


@given(*[st.lists(st.sampled_from("abcdefgh"), unique=True)] * 3, st.booleans())
def test_a_list_in_front_matter_has_each_item_once_and_none_that_a_side_removed(
    base: list[str], ours: list[str], theirs: list[str], in_block: bool
) -> None:
    def front(items: list[str]) -> str:
        rest = "".join(f"\n- {item}" for item in items) if in_block else f" [{', '.join(items)}]"
        return f"---\ntags:{rest}\n---\n"

    texts = [front(items) for items in (base, ours, theirs)]
    result = merged_again(*texts)
    added = ({*ours} | {*theirs}) - {*base}
    assert result == front(re.findall(r"\b[a-h]\b", result))
    assert sorted(re.findall(r"\b[a-h]\b", result)) == sorted({*ours} & {*theirs} | added)


def test_front_matter_of_one_side() -> None:
    assert merged("- a a\n", FRONT + "- a a\n", "- a a\n- b b\n") == FRONT + "- a a\n- b b\n"
    assert merged(FRONT + "- a a\n", "- a a\n", FRONT + "- a a\n- b b\n") == "- a a\n- b b\n"


# Days' logs.

LOG = "# 2026-11-10\n\n## 10:00\n\n- a a\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        pytest.param([("10:00", "a")], [("10:00", "a"), ("11:00", "b")], [("10:00", "a"), ("10:30", "c")], [("10:00", "a"), ("10:30", "c"), ("11:00", "b")], id="by time"),
        pytest.param([], [("10:00", "a")], [("10:00", "b")], [("10:00", "a", "b")], id="one minute is one heading"),
        pytest.param([("10:00", "a")], [("10:00", "a", "c")], [("10:00", "a", "b")], [("10:00", "a", "b", "c")], id="entries of a minute"),
        pytest.param([("10:00", "a", "b")], [("10:00", "b")], [("10:00", "a", "b", "c")], [("10:00", "b", "c")], id="an entry taken out"),
        pytest.param([("10:00", "a"), ("11:00", "b")], [("11:00", "b")], [("10:00", "a"), ("11:00", "b", "c")], [("11:00", "b", "c")], id="a minute taken out"),
        pytest.param([("10:00", "a")], [("10:00", "a"), ("12:00", "b"), ("09:00", "c")], [("10:00", "a"), ("11:00", "d")], [("10:00", "a"), ("11:00", "d"), ("12:00", "b"), ("09:00", "c")], id="a late minute stays behind the one it came after"),
        pytest.param([("10:00", "a"), ("10:00", "b")], [("10:00", "a"), ("10:00", "b", "c")], [("10:00", "a"), ("10:00", "b", "d")], [("10:00", "a"), ("10:00", "b", "c", "d")], id="a minute that the base has twice"),
        pytest.param([("10:00", "a")], [], [("10:00", "a"), ("11:00", "b")], [("11:00", "b")], id="all taken out"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [FileKind.DAILY, FileKind.EVERGREEN])
def test_logs(
    base: list[tuple[str, ...]],
    ours: list[tuple[str, ...]],
    theirs: list[tuple[str, ...]],
    expected: list[tuple[str, ...]],
    kind: FileKind,
) -> None:
    texts = [
        "# 2026-11-10\n"
        + "".join(
            f"\n## {minute}\n\n" + "".join(f"- entry {e}\n" for e in entries)
            for minute, *entries in log
        )
        for log in (base, ours, theirs, expected)
    ]
    assert merged_again(*texts[:3], kind) == texts[3]


# Notes, and what is left to git.


def test_notes_name_contradictions_and_what_was_kept() -> None:
    base = work("shell: bash", "one two three four five", "editor: vim", "[task] pay")
    ours = work("shell: zsh", "one two three four six", "[todo] pay")
    theirs = work("shell: fish", "one two three four seven", "editor: helix", "[work] pay")
    assert notes(base, ours, theirs) == MergeNotes(
        contradictions=(
            Contradiction(fact_id("shell: fish"), fact_id("shell: zsh"), "shell"),
            Contradiction(
                fact_id("one two three four seven"), fact_id("one two three four six"), None
            ),
        ),
        labels=(fact_id("pay"),),
        kept=(fact_id("editor: helix"),),
    )


def test_notes_name_what_each_side_put_elsewhere() -> None:
    ours = (
        PLAN.replace("- a a\n\n", "").replace("- b b\n", "- b b\n- a a\n").replace("## C", "## Y")
    )
    theirs = (
        PLAN.replace("- a a\n\n", "").replace("- c c\n", "- c c\n- a a\n").replace("## C", "## X")
    )
    assert notes(PLAN, ours, theirs) == MergeNotes(moved=(fact_id("a a"),), two_names=(("X", "Y"),))


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "kind", "reason"),
    [
        pytest.param(
            "a\n", "b\n", "c\n", FileKind.BOOTSTRAP, "instructions", id="instructions to agents"
        ),
        pytest.param(
            "a\n", "b\n", "```\nc\n", FileKind.EVERGREEN, "open fence", id="an open fence"
        ),
        pytest.param("a\n", "b\n", "<!-- c\n", FileKind.EVERGREEN, "comment", id="an open comment"),
        pytest.param("a\n", "b\n", "c\0\n", FileKind.EVERGREEN, "NUL", id="a NUL"),
        pytest.param("a\n", "b\n", "c\udcff\n", FileKind.EVERGREEN, "UTF-8", id="not UTF-8"),
        pytest.param(
            "a\n", "b\n", "c" * 5_000_001, FileKind.EVERGREEN, "5,000,000", id="too large"
        ),
    ],
)
def test_left_to_git(base: str, ours: str, theirs: str, kind: FileKind, reason: str) -> None:
    o, a, b = (text.encode(errors="surrogateescape") for text in (base, ours, theirs))
    for sides in ((a, b), (b, a)):
        result = merge3(o, *sides, kind)
        assert result.data is None
        assert reason in result.reason
    assert (
        merge3(o, b, b, kind).data == merge3(o, b, o, kind).data == merge3(o, o, b, kind).data == b
    ), "what one side left alone is the other"


# Large files.


@pytest.mark.every(2)
@pytest.mark.costly
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(lambda n: f"## Title {n // 2}\n\n- fact {n}\n\n", id="each title twice"),
        pytest.param(lambda n: f"## Title\n\n- fact {n}\n\n", id="one title"),
        pytest.param(lambda _: "## Title\n\n- fact\n\n", id="one title and one text"),
        pytest.param(lambda n: f"- fact {n} of many\n", id="one section"),
        pytest.param(lambda n: f"#{n % 6 * '#'} Deep {n}\n", id="all levels"),
    ],
)
def test_what_many_sections_and_facts_cost_grows_with_their_number(
    shape: Callable[[int], str],
) -> None:
    def calls(size: int) -> int:
        parts = [shape(n) for n in range(size)]
        texts = (
            "".join(parts),
            "".join([*parts[7:], "- left\n"]),
            "".join(["- right\n", *parts[:-7]]),
        )
        base, ours, theirs = (text.encode() for text in texts)
        merged: list[bytes | None] = []
        count = count_calls(lambda: merged.append(merge3(base, ours, theirs).data))
        assert merged != [None]
        return count

    calls(10)
    assert calls(600) < 20 * calls(60), "ten times as many: far from a hundred times the work"


# All texts.


def words_of(data: bytes) -> set[str]:
    return set(re.findall(r"\w+", data.decode()))


@given(edited_texts())
@examples(400)
def test_any_texts_are_merged_alike_both_ways_and_no_new_word_is_lost(
    texts: tuple[str, str, str],
) -> None:
    base, ours, theirs = (text.encode() for text in texts)
    for kind in (FileKind.EVERGREEN, FileKind.DAILY):
        result = merge3(base, ours, theirs, kind)
        assert result == merge3(base, theirs, ours, kind)
        assert merge3(base, ours, base, kind).data == merge3(base, ours, ours, kind).data == ours
        if result.data is not None:
            assert words_of(result.data) <= words_of(ours) | words_of(theirs)
            assert words_of(result.data) >= (words_of(ours) | words_of(theirs)) - words_of(base)
