from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.model import CommitId, FactId, FilePath, Source
from mdmem.model.trail import Mark, MarkKind
from mdmem.text.contradictions import Claim, find_conflicts, weaker_claim
from mdmem.text.facts import parse_text

TODAY = date(2026, 3, 5)
MEMORY = FilePath("MEMORY.md")
HOUR = 3600
LOG = FilePath("memory/2026-03-05.md")


def claim(
    text: str,
    line: int = 1,
    section: tuple[str, ...] = ("A",),
    path: FilePath = MEMORY,
    **more: Any,
) -> Claim:
    fact = parse_text(text)
    result = Claim(
        id=fact.id,
        text=fact.text,
        key=fact.key,
        path=path,
        section=section,
        line=line,
        time=100,
        source=Source.INFERRED,
        confidence=0.7,
        until=fact.until,
    )
    return replace(result, **more)


def mark(kind: MarkKind, begun: int, first: str, second: str) -> Mark:
    return Mark(
        kind=kind,
        commit=CommitId(""),
        begun=begun,
        fact=parse_text(first).id,
        other=parse_text(second).id,
    )


def texts(
    claims: list[Claim], marks: list[Mark] | None = None
) -> list[tuple[str, str, str | None, bool]]:
    return [
        (c.first.text, c.second.text, c.key, c.marked)
        for c in find_conflicts(claims, marks or [], TODAY)
    ]


@pytest.mark.parametrize(
    ("claims", "pairs"),
    [
        ([claim("k: a", 1), claim("k: b", 2)], [("k: a", "k: b", "k")]),
        ([claim("k: a", 1), claim("**K:** b", 2)], [("k: a", "**K:** b", "k")]),
        (
            [claim("**Home Town:** Graz", 1), claim("Home town: Wien", 2)],
            [("**Home Town:** Graz", "Home town: Wien", "Home Town")],
        ),
        (
            [claim("k: a", 1), claim("k: b", 2), claim("k: c", 3, time=100 + HOUR)],
            [("k: a", "k: b", "k"), ("k: a", "k: c", "k"), ("k: b", "k: c", "k")],
        ),
        # What one person said after the other, and lines of a diary.
        (
            [
                claim("**Ada**: a", 1),
                claim("**Ada**: b", 2, time=400),
                claim("Ada: c", 3, time=700),
            ],
            [],
        ),
        (
            [
                claim("k: a", 1),
                claim("k: b", 2),
                claim("k: c", 3),
                claim("k: d", 4, time=100 + HOUR),
            ],
            [],
        ),
        ([claim("**2026-03-01**: a", 1), claim("**2026-03-01**: b", 2)], []),
        # A label of many sections, and one before paragraphs, is no attribute.
        (
            [claim(f"Why: {text}", line, (text,)) for line, text in enumerate("abc", 1)]
            + [claim("Why: d", 4, ("a",))],
            [],
        ),
        ([claim(f"fix: {text * 81}", line) for line, text in enumerate("ab", 1)], []),
        (
            [claim(f"home: {text * 81}", line) for line, text in enumerate("ab", 1)],
            [(f"home: {'a' * 81}", f"home: {'b' * 81}", "home")],
        ),
        ([claim('benno: "a ghost"', 1), claim("benno: «a proof»", 2)], []),
        ([claim("**Forum:** a", 1, path=LOG), claim("**Forum:** b", 2, path=LOG)], []),
        (
            [claim(f"seen: {text}", 1, (text[0],), LOG) for text in ("ab", "ac", "b")],
            [],
        ),
        (
            [claim(f"seen: {text}", 1, (text[0],)) for text in ("ab", "ac", "b")],
            [("seen: ab", "seen: ac", "seen")],
        ),
        # When they came is not known.
        (
            [claim(f"k: {text}", 1, time=0) for text in "abc"],
            [("k: a", "k: b", "k"), ("k: a", "k: c", "k"), ("k: b", "k: c", "k")],
        ),
        # Not of one key, section or file.
        ([claim("k: a", 1), claim("j: b", 2)], []),
        ([claim("k: a", 1), claim("k: b", 2, ("A", "B"))], []),
        ([claim("k: a", 1), claim("k: b", 2, path=LOG)], []),
        ([claim("Note: a", 1), claim("Note: b", 2)], []),
        ([claim("a", 1), claim("b", 2)], []),
        # The same twice is no contradiction.
        ([claim("k: a", 1), claim("k:  A", 2)], []),
        # The key has several values.
        ([claim("k: a", 1), claim("k: b", 2, also=True)], []),
        ([claim("k: a", 1, also=True), claim("k: b", 2), claim("k: c", 3)], []),
        # Expired claims contradict nothing.
        ([claim("k: a (until 2026-03-04)", 1), claim("k: b", 2)], []),
        (
            [claim("k: a (until 2026-03-05)", 1), claim("k: b", 2)],
            [("k: a (until 2026-03-05)", "k: b", "k")],
        ),
        ([], []),
    ],
)
def test_by_key(claims: list[Claim], pairs: list[tuple[str, str, str]]) -> None:
    assert texts(claims) == [(first, second, key, False) for first, second, key in pairs]


C, R = MarkKind.CONTRADICTS, MarkKind.RESOLVED


@pytest.mark.parametrize(
    ("claims", "marks", "pairs"),
    [
        ([claim("x", 1), claim("y", 2)], [mark(C, 1, "y", "x")], [("x", "y", None, True)]),
        (
            [claim("x", 1), claim("y", 2, ("B",), LOG)],
            [mark(C, 1, "x", "y")],
            [("x", "y", None, True)],
        ),
        ([claim("x", 1), claim("y", 2)], [mark(C, 1, "x", "y"), mark(R, 2, "y", "x")], []),
        (
            [claim("x", 1), claim("y", 2)],
            [mark(C, 1, "x", "y"), mark(R, 2, "y", "x"), mark(C, 3, "x", "y")],
            [("x", "y", None, True)],
        ),
        ([claim("x", 1), claim("y", 2)], [mark(R, 2, "y", "x"), mark(C, 1, "x", "y")], []),
        # A resolution ends a contradiction by key too, until somebody marks it again.
        ([claim("k: a", 1), claim("k: b", 2)], [mark(R, 1, "k: a", "k: b")], []),
        (
            [claim("k: a", 1), claim("k: b", 2)],
            [mark(R, 1, "k: a", "k: b"), mark(C, 2, "k: b", "k: a")],
            [("k: a", "k: b", "k", True)],
        ),
        (
            [claim("k: a", 1), claim("k: b", 2)],
            [mark(C, 2, "k: b", "k: a")],
            [("k: a", "k: b", "k", True)],
        ),
        (
            [claim("k: a", 1, also=True), claim("k: b", 2)],
            [mark(C, 2, "k: b", "k: a")],
            [("k: a", "k: b", None, True)],
        ),
        # One of them was removed, or has expired.
        ([claim("x", 1)], [mark(C, 1, "x", "y")], []),
        (
            [claim("x", 1), claim("y (until 2020-01-01)", 2)],
            [mark(C, 1, "x", "y (until 2020-01-01)")],
            [],
        ),
        # Other marks say nothing of a pair.
        (
            [claim("x", 1), claim("y", 2)],
            [mark(MarkKind.SUPERSEDED, 1, "x", "y"), mark(MarkKind.RETRACTED, 1, "y", "x")],
            [],
        ),
    ],
)
def test_marked_pairs(
    claims: list[Claim], marks: list[Mark], pairs: list[tuple[str, str, str | None, bool]]
) -> None:
    assert texts(claims, marks) == pairs


def test_of_facts_in_several_sections_the_nearest_are_meant() -> None:
    claims = [claim("x", 1, ("B",)), claim("y", 9, path=LOG), claim("x", 2), claim("y", 3)]
    (conflict,) = find_conflicts(claims, [mark(C, 1, "x", "y")], TODAY)
    assert (conflict.first.line, conflict.second.line) == (2, 3)
    (conflict,) = find_conflicts(
        [claim("x", 1), claim("y", 9, path=LOG), claim("y", 3, ("B",))],
        [mark(C, 1, "x", "y")],
        TODAY,
    )
    assert (conflict.first.line, conflict.second.line) == (1, 3)


@pytest.mark.parametrize(
    ("first", "second", "weak"),
    [
        ({"confidence": 0.4}, {"confidence": 0.7}, 0),
        ({"confidence": 0.95, "time": 1}, {"confidence": 0.7, "time": 2}, 1),
        ({"source": Source.AUTO}, {"source": Source.USER_STATED, "time": 1}, 0),
        ({"time": 2}, {"time": 1}, 1),
        ({}, {}, None),
    ],
)
def test_weaker_claim(first: dict[str, Any], second: dict[str, Any], weak: int | None) -> None:
    claims = [claim("k: a", 1, **first), claim("k: b", 2, **second)]
    expected = None if weak is None else claims[weak]
    assert weaker_claim(*claims) == expected
    assert [c.weaker for c in find_conflicts(claims, [], TODAY)] == [expected]


def test_a_long_list_names_each_fact_and_not_every_pair() -> None:
    claims = [claim(f"todo: {number}", number, time=number * HOUR) for number in range(1, 1001)]
    conflicts = find_conflicts(claims, [], TODAY)
    assert len(conflicts) == 999
    assert {c for conflict in conflicts for c in (conflict.first, conflict.second)} == set(claims)


CLAIMS = st.lists(
    st.tuples(
        st.sampled_from(["k: a", "k: b", "k: c", "j: a", "x", "y"]),
        st.sampled_from(["A", "B"]),
        st.booleans(),
    ),
    max_size=8,
).map(
    lambda rows: [
        claim(text, line, (section,), also=also)
        for line, (text, section, also) in enumerate(rows, 1)
    ]
)
MARKS = st.lists(
    st.tuples(
        st.sampled_from([C, R]),
        st.sampled_from(["k: a", "k: b", "x", "y"]),
        st.sampled_from(["k: a", "k: c", "x", "y"]),
    ),
    max_size=5,
).map(
    lambda rows: [
        mark(kind, begun, subject, other) for begun, (kind, subject, other) in enumerate(rows, 1)
    ]
)


@given(CLAIMS, MARKS)
def test_conflicts_agree_with_keys_and_marks(claims: list[Claim], marks: list[Mark]) -> None:
    conflicts = find_conflicts(claims, marks, TODAY)
    last: dict[frozenset[FactId | None], MarkKind] = {
        frozenset((m.fact, m.other)): m.kind for m in marks
    }
    assert len({(c.first, c.second) for c in conflicts}) == len(conflicts)
    for conflict in conflicts:
        first, second = conflict.first, conflict.second
        mark_kind = last.get(frozenset((first.id, second.id)))
        assert first.line < second.line
        assert first.id != second.id
        assert mark_kind is not R
        assert conflict.marked is (mark_kind is C)
        assert conflict.marked or (
            first.key == second.key == conflict.key and first.section == second.section
        )
    named = {frozenset((c.first.id, c.second.id)) for c in conflicts}
    ids = {c.id for c in claims}
    assert all(
        pair in named for pair, kind in last.items() if kind is C and len(pair) == 2 and pair <= ids
    )
