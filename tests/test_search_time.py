"""Default search, history and as-of, compared with a plain filter over the rows."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from mdmem.folder.layout import kind_of
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.query import Filter, IndexQuery
from mdmem.index.results import Match, make_hit, rank_key
from mdmem.index.schema import IndexRow, Lifetime
from mdmem.index.snapshot import EMPTY_SNAPSHOT, Snapshot
from mdmem.model import CommitId, FactId, FilePath, Source, Status
from mdmem.model.trail import Entry, Origin, Ranges, of_numbers
from mdmem.text.facts import fact_id

TODAY = date(2025, 6, 1)
YESTERDAY = date(2025, 5, 31)
PATH = FilePath("MEMORY.md")
HEAD = CommitId("e" * 40)


def commit(number: int) -> CommitId:
    return CommitId(f"{number:040x}")


def row(
    text: str,
    life: Lifetime,
    line: int = 3,
    path: str = PATH,
    section: tuple[str, ...] = ("Work",),
    until: date | None = None,
    prose: bool = False,
) -> IndexRow:
    fact = None if prose else fact_id(text)
    entry = Entry(
        FilePath(path), line, line, section, None, text, None, None, (), until, fact, f"- {text}"
    )
    begun = life.begun
    origin = (
        None
        if begun is None
        else Origin(
            commit=commit(begun), time=1_700_000_000 + begun, source=Source.INFERRED, confidence=0.7
        )
    )
    last = None if life.is_live else commit(life.ended - 1) if life.ended else HEAD
    return IndexRow(entry, origin, begun is None, kind_of(entry.path), life, last)


def gone(
    begun: int, ended: int, status: Status = Status.REMOVED, successor: str | None = None
) -> Lifetime:
    return Lifetime(begun, ended, status, fact_id(successor) if successor else None, is_live=False)


def pages(rows: Iterable[IndexRow]) -> list[FileEntries]:
    """The files that hold these rows, and those without an end as what an edit took out."""
    listed_files = []
    for path, together in groupby(
        sorted(rows, key=lambda each: (each.entry.path, each.entry.start_line)),
        key=lambda each: each.entry.path,
    ):
        listed = list(together)
        standing, unseen = (
            [each for each in listed if each.lifetime.is_live],
            [each for each in listed if not each.lifetime.is_live],
        )
        listed_files.append(
            FileEntries(
                path,
                tuple(each.entry for each in standing),
                tuple(each.origin for each in standing),
                tuple(each.uncommitted for each in standing),
                kind_of(path),
                tuple(each.lifetime for each in standing),
                tuple(unseen),
            )
        )
    return listed_files


def is_past(index_row: IndexRow) -> bool:
    return not index_row.lifetime.is_live and index_row.lifetime.ended is not None


def ends(rows: Iterable[IndexRow]) -> list[tuple[CommitId, tuple[IndexRow, ...]]]:
    past = sorted(filter(is_past, rows), key=lambda each: each.lifetime.ended or 0)
    return [
        (commit(number or 0), tuple(together))
        for number, together in groupby(past, key=lambda each: each.lifetime.ended)
    ]


def index_of(*rows: IndexRow) -> SearchIndex:
    index = SearchIndex.in_memory()
    index.update(
        pages(each for each in rows if not is_past(each)), (), EMPTY_SNAPSHOT, past=ends(rows)
    )
    return index


def upto(number: int) -> Ranges:
    """The commits of one line up to a number."""
    return of_numbers(range(1, number + 1))


def search(
    index: SearchIndex, limit: int = 1000, query: str = "tea", **wanted: Any
) -> tuple[Match, ...]:
    if isinstance(wanted.get("as_of"), int):
        wanted["as_of"] = upto(wanted["as_of"])
    return index.finder.search(
        IndexQuery(query, limit, Filter(**({"valid_on": TODAY} | wanted)), TODAY)
    )


def statuses(index: SearchIndex, **wanted: object) -> dict[str, Status]:
    return {match.hit.text: match.hit.status for match in search(index, **wanted)}


STRIPE, LINEAR = (
    row("tea at Stripe", gone(1, 4, Status.SUPERSEDED, "tea at Linear")),
    row("tea at Linear", Lifetime(4)),
)


def test_default_search_skips_what_history_adds_and_as_of_remembers() -> None:
    index = index_of(
        STRIPE, LINEAR, row("tea forgotten", gone(2, 3)), row("tea just typed", Lifetime(), line=9)
    )
    assert statuses(index) == {"tea at Linear": Status.CURRENT, "tea just typed": Status.CURRENT}
    assert statuses(index, history=True) == statuses(index) | {
        "tea at Stripe": Status.SUPERSEDED,
        "tea forgotten": Status.REMOVED,
    }
    assert [set(statuses(index, as_of=number)) for number in range(6)] == [
        set(),
        {"tea at Stripe"},
        {"tea at Stripe", "tea forgotten"},
        {"tea at Stripe"},
        {"tea at Linear"},
        {"tea at Linear"},
    ]


def test_of_what_is_equally_good_the_current_comes_first_and_then_the_newest() -> None:
    passing = Filter(history=True)
    rows = [
        row("old", gone(1, 2, Status.SUPERSEDED)),
        row("typed", Lifetime()),
        row("older", gone(0, 1)),
        row("newer", gone(2, 3, Status.SUPERSEDED)),
    ]
    matches = [Match(make_hit(each, 1.0, passing, TODAY), each) for each in rows]
    better = Match(make_hit(rows[0], 1.5, passing, TODAY), rows[0])
    shown = [match.row.entry.text for match in sorted([*matches, better], key=rank_key)]
    assert shown == ["old", "typed", "newer", "old", "older"]


def test_what_is_past_names_its_successor_and_the_last_commit_that_held_it() -> None:
    index = index_of(STRIPE, LINEAR)
    (hit,) = (
        match.hit
        for match in search(index, query="Stripe", history=True)
        if "Stripe" in match.hit.text
    )
    assert (hit.superseded_by, hit.commit) == (fact_id("tea at Linear"), commit(3))
    assert (STRIPE.entry.path, STRIPE.entry.start_line) == (hit.path, hit.start_line)


def test_as_of_knows_nothing_of_what_came_later() -> None:
    other = FactId("aaaaaaaa")
    index = index_of(
        STRIPE, replace(LINEAR, lifetime=Lifetime(4, contradicts=(other,), weaker=True))
    )
    (then,) = search(index, as_of=2)
    assert (then.hit.status, then.hit.superseded_by, then.hit.commit, then.row) == (
        Status.CURRENT,
        None,
        commit(1),
        STRIPE,
    )
    assert [match.hit.contradicts for match in search(index, as_of=4)] == [()]
    assert [match.hit.contradicts for match in search(index)] == [(other,)]


def test_what_a_mark_ended_is_skipped_though_it_stands_in_its_log() -> None:
    log = "memory/2025-05-01.md"
    marked = row(
        "tea at Stripe", Lifetime(1, 3, Status.SUPERSEDED, fact_id("tea at Linear")), path=log
    )
    retracted = row("tea at ten", Lifetime(1, 3, Status.REMOVED), path=log, line=4)
    index = index_of(marked, retracted)
    assert statuses(index) == {}
    assert index.finder.count == 0
    assert statuses(index, history=True) == {
        "tea at Stripe": Status.SUPERSEDED,
        "tea at ten": Status.REMOVED,
    }
    assert {match.hit.commit for match in search(index, history=True)} == {commit(1)}
    assert set(statuses(index, as_of=2)) == {"tea at Stripe", "tea at ten"}
    assert statuses(index, as_of=3) == {}


def test_what_an_uncommitted_edit_took_out_is_removed_now_and_was_there() -> None:
    index = index_of(
        row("tea at Stripe", Lifetime(1, is_live=False)), row("tea at Linear", Lifetime())
    )
    assert statuses(index) == {"tea at Linear": Status.CURRENT}
    assert statuses(index, history=True) == {
        "tea at Linear": Status.CURRENT,
        "tea at Stripe": Status.REMOVED,
    }
    assert [
        match.hit.commit for match in search(index, history=True, query="Stripe") if match.row.last
    ] == [HEAD]
    assert statuses(index, as_of=1) == {"tea at Stripe": Status.CURRENT}
    index.update(pages([row("tea at Stripe", Lifetime(1))]), (), EMPTY_SNAPSHOT)
    assert statuses(index, history=True) == {"tea at Stripe": Status.CURRENT}


def test_what_moved_is_found_where_it_was_then_and_in_history_where_it_is() -> None:
    before = row("tea", replace(gone(1, 3), moved=True), section=("Old",))
    index = index_of(before, row("tea", Lifetime(3), section=("New",)))
    assert [match.hit.section for match in search(index)] == [("New",)]
    assert [match.hit.section for match in search(index, history=True)] == [("New",)]
    assert [[match.hit.section for match in search(index, as_of=n)] for n in (2, 3)] == [
        [("Old",)],
        [("New",)],
    ]


def test_expiry_is_judged_on_the_day_that_is_asked_about() -> None:
    index = index_of(row("tea", Lifetime(1), until=YESTERDAY))
    assert statuses(index) == {}
    assert statuses(index, history=True) == {"tea": Status.EXPIRED}
    assert statuses(index, as_of=1, valid_on=YESTERDAY) == {"tea": Status.CURRENT}
    assert statuses(index, as_of=1) == {}


def test_a_statement_that_came_back_is_current_and_was_there_before() -> None:
    rows = [row("tea", gone(n, n + 1), line=n) for n in range(1, 9, 2)]
    again = [row("Tea", Lifetime(9), line=30), row("tea", Lifetime(9), line=31)]
    texts = search(index_of(*rows, *again), history=True)
    assert [(match.hit.status, match.hit.start_line) for match in texts] == [
        (Status.CURRENT, 30),
        *((Status.REMOVED, line) for line in (1, 3, 5, 7)),
    ]


def test_the_current_one_is_shown_even_if_another_ranks_far_above_it() -> None:
    beside = [row("tea tea tea", replace(gone(1, 2), moved=True), line=n) for n in (2, 4)]
    crowd = [row(f"tea {n}", Lifetime(2), line=n) for n in range(10, 400)]
    dull = [
        row(f"{n} " + "words that say nothing of it " * 9, Lifetime(2), line=n)
        for n in (500, 501, 503, 504)
    ]
    index = index_of(
        row("tea", gone(1, 2)),
        row("tea", Lifetime(3, weaker=True), line=502),
        *beside,
        *crowd,
        *dull,
    )
    assert "tea" not in [match.hit.text for match in search(index, limit=150)]
    best, *_ = search(index, limit=1, history=True)
    assert (best.hit.text, best.hit.status, best.hit.start_line) == ("tea", Status.CURRENT, 502)


def test_prose_is_relevant_cues_its_text() -> None:
    first, second = (
        row("prose on tea", gone(1, 2), prose=True),
        row("better prose on tea", gone(2, 3), prose=True),
    )
    index = index_of(first, second, row("prose on tea", Lifetime(3), prose=True))
    assert statuses(index) == {"prose on tea": Status.CURRENT}
    states = {(match.hit.text, match.hit.status) for match in search(index, history=True)}
    assert states == {
        ("prose on tea", Status.CURRENT),
        ("prose on tea", Status.REMOVED),
        ("better prose on tea", Status.REMOVED),
    }


def test_what_went_together_is_found_by_its_neighbours() -> None:
    index = index_of(
        row("tea", gone(1, 2), line=3),
        row("at four", gone(1, 2), line=4),
        row("at five", gone(1, 3), line=5),
    )
    assert set(statuses(index, history=True)) == {"tea", "at four"}


def test_files_are_replaced_without_their_past_and_the_past_without_its_files() -> None:
    index = index_of(STRIPE, LINEAR)
    index.update((), [PATH], EMPTY_SNAPSHOT)
    assert statuses(index, history=True) == {"tea at Stripe": Status.SUPERSEDED}
    assert statuses(index, history=True, file=PATH) == statuses(index, history=True)
    index.update(pages([LINEAR]), (), EMPTY_SNAPSHOT, dropped=[commit(4)])
    assert statuses(index, history=True) == {"tea at Linear": Status.CURRENT}


def test_a_commits_past_is_replaced_by_doing_it_again() -> None:
    index = index_of(STRIPE, row("tea forgotten", gone(1, 4)))
    index.update((), (), EMPTY_SNAPSHOT, past=[(commit(4), (STRIPE,))])
    assert statuses(index, history=True) == {"tea at Stripe": Status.SUPERSEDED}
    index.update((), (), EMPTY_SNAPSHOT, past=[(commit(4), (STRIPE,))], dropped=[commit(4)])
    assert statuses(index, history=True) == {"tea at Stripe": Status.SUPERSEDED}
    index.update((), (), EMPTY_SNAPSHOT, past=[(commit(4), ())])
    assert statuses(index, history=True) == {}


def test_the_past_is_kept_on_disk(tmp_path: Path) -> None:
    index = SearchIndex.open(tmp_path)
    index.update(pages([LINEAR]), (), Snapshot(HEAD), past=ends([STRIPE]))
    again = SearchIndex.open(tmp_path)
    assert search(again, history=True) == search(index, history=True)
    assert {match.row for match in search(again, history=True)} == {STRIPE, LINEAR}
    assert (again.finder.count, again.seen.commit) == (1, HEAD)


def test_a_commit_whose_rows_cannot_be_made_leaves_the_index_as_it_was() -> None:
    index = index_of(STRIPE, LINEAR)

    def past() -> Iterable[tuple[CommitId, tuple[IndexRow, ...]]]:
        yield commit(4), ()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.update((), [PATH], EMPTY_SNAPSHOT, past=past())
    assert set(statuses(index, history=True)) == {"tea at Stripe", "tea at Linear"}


LIVES = st.one_of(
    st.builds(Lifetime, st.none() | st.integers(1, 6), weaker=st.booleans()),
    st.builds(
        lambda begun, lasted, status: Lifetime(begun, begun + lasted, status),
        *(st.integers(1, 5),) * 2,
        st.sampled_from(["superseded", "removed"]).map(Status),
    ),
    st.builds(lambda begun: Lifetime(begun, is_live=False), st.integers(1, 6)),
    st.builds(
        lambda begun, lasted, status, moved: Lifetime(
            begun, begun + lasted, status, is_live=False, moved=moved
        ),
        *(st.integers(1, 5),) * 2,
        st.sampled_from(["superseded", "removed"]).map(Status),
        st.booleans(),
    ),
)
ROWS = st.lists(
    st.builds(
        row,
        st.sampled_from(["tea", "green tea", "Green  Tea", "tea 茶", "black tea"]),
        LIVES,
        path=st.sampled_from([PATH, "memory/a.md", "memory/2025-05-01.md"]),
        section=st.sampled_from([("Work",), ("Home",)]),
        until=st.sampled_from([None, None, None, YESTERDAY, TODAY]),
        prose=st.booleans(),
    ),
    max_size=14,
).map(
    lambda rows: [
        replace(each, entry=replace(each.entry, start_line=n, end_line=n))
        for n, each in enumerate(rows, 3)
    ]
)
"""Every row on a line of its own, so that it can be told by it."""


def status_of(index_row: IndexRow) -> Status:
    if index_row.lifetime.status is not Status.CURRENT:
        return index_row.lifetime.status
    if not index_row.lifetime.is_live:
        return Status.REMOVED
    return Status.EXPIRED if index_row.entry.until == YESTERDAY else Status.CURRENT


def chosen(rows: list[IndexRow], history: bool) -> list[IndexRow]:
    """The rows that a search should find: of the current ones one for each statement, and with
    `history` all others.
    """
    best: dict[object, IndexRow] = {}
    over = [each for each in rows if history and status_of(each) is not Status.CURRENT]
    for each in sorted(rows, key=lambda each: each.entry.start_line):
        if each not in over:
            best.setdefault(
                (
                    each.entry.path,
                    each.entry.section,
                    each.entry.fact,
                    None if each.entry.fact else each.entry.text,
                ),
                each,
            )
    return [*best.values(), *over]


def current(rows: list[IndexRow]) -> list[IndexRow]:
    return [each for each in rows if each.lifetime.is_live and status_of(each) is Status.CURRENT]


def first_of_each(rows: list[IndexRow]) -> list[IndexRow]:
    best: dict[object, IndexRow] = {}
    for each in sorted(rows, key=lambda each: each.entry.start_line):
        best.setdefault(
            (each.entry.path, each.entry.section, each.entry.fact or each.entry.start_line), each
        )
    return list(best.values())


def at(rows: list[IndexRow], number: int) -> list[IndexRow]:
    return [
        each
        for each in rows
        if each.lifetime.begun is not None
        and each.lifetime.begun <= number
        and (each.lifetime.ended is None or each.lifetime.ended > number)
        and each.entry.until != YESTERDAY
    ]


@examples(60)
@given(ROWS, st.integers(0, 11))
def test_what_is_found_is_what_a_plain_filter_gives(rows: list[IndexRow], number: int) -> None:
    index = index_of(*rows)
    unmoved = [each for each in rows if not each.lifetime.moved]
    for wanted, expected in (
        ({}, first_of_each(current(rows))),
        ({"history": True}, chosen(unmoved, True)),
        ({"as_of": upto(number)}, chosen(at(rows, number), False)),
    ):
        texts = search(index, **wanted)
        assert sorted((match.row for match in texts), key=repr) == sorted(expected, key=repr)
        assert [match.hit.status for match in texts] == [
            Status.CURRENT if "as_of" in wanted else status_of(match.row) for match in texts
        ]
        listed = index.finder.entries(Filter(valid_on=TODAY, **wanted))
        lines = [
            (each.entry.path, each.entry.start_line)
            for each in (expected if wanted else current(rows))
        ]
        assert [(hit.path, hit.start_line) for hit in listed] == sorted(lines)
        found, total = index.finder.newest(Filter(valid_on=TODAY, **wanted), TODAY)
        newest = [match.hit for match in found]
        assert (sorted(newest, key=repr), total) == (sorted(listed, key=repr), len(listed))
        assert [hit.since is not None for hit in newest if not hit.day] == sorted(
            hit.since is not None for hit in newest if not hit.day
        )
        for limit in (1, 3):
            assert index.finder.newest(Filter(valid_on=TODAY, **wanted), TODAY, limit) == (
                found[:limit],
                total,
            )


@examples(20)
@given(ROWS, ROWS)
def test_an_index_brought_up_to_date_equals_a_fresh_one(
    before: list[IndexRow], after: list[IndexRow]
) -> None:
    index = index_of(*before)
    old, new = dict(ends(before)), dict(ends(after))
    standing = pages(each for each in after if not is_past(each))
    removed = {each.entry.path for each in before} - {file.path for file in standing}
    for _ in range(2):
        index.update(
            standing, removed, EMPTY_SNAPSHOT, past=new.items(), dropped=old.keys() - new.keys()
        )
    fresh = index_of(*after)
    for wanted in ({}, {"history": True}, {"as_of": 3}):
        assert {match.row for match in search(index, **wanted)} == {
            match.row for match in search(fresh, **wanted)
        }
    assert index.finder.count == fresh.finder.count
