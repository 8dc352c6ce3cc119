import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from mdmem.folder.layout import kind_of
from mdmem.index.indexer import FileEntries, SearchIndex
from mdmem.index.query import Filter, IndexQuery
from mdmem.index.schema import BrokenIndex, Lifetime
from mdmem.index.snapshot import (
    EMPTY_SNAPSHOT,
    INDEX_VERSION,
    NEVER_INDEXED,
    Snapshot,
    SnapshotFile,
)
from mdmem.model import CommitId, FilePath, Source, Status
from mdmem.model.errors import StorageProblem
from mdmem.model.searches import Hit
from mdmem.model.trail import Origin
from mdmem.text.document import parse
from mdmem.text.facts import entries

TODAY = date(2025, 6, 1)
NOON = int(datetime(2025, 5, 10, 12, tzinfo=UTC).timestamp())
USER = Origin(
    commit=CommitId("a" * 40),
    time=NOON,
    source=Source.USER_STATED,
    confidence=0.95,
    author="Ada <a@x.org>",
)
GUESS = Origin(commit=CommitId("b" * 40), time=NOON, source=Source.AUTO, confidence=0.4)


def file(
    path: str,
    markdown: str,
    origin: Origin | None = USER,
    uncommitted: bool = False,
    tags: tuple[str, ...] = (),
) -> FileEntries:
    listed = entries(parse(markdown), FilePath(path), tags)
    return FileEntries(
        FilePath(path), listed, (origin,) * len(listed), (uncommitted,) * len(listed), kind_of(path)
    )


def seen_of(*files: FileEntries, commit: str = "c" * 40) -> Snapshot:
    return Snapshot(
        CommitId(commit),
        {f.path: SnapshotFile("1 2 3 4", f"{len(f.entries)}", False) for f in files},
        "settings",
    )


def index_of(*files: FileEntries) -> SearchIndex:
    index = SearchIndex.in_memory()
    index.update(files, (), seen_of(*files))
    return index


def search(index: SearchIndex, query: str, limit: int = 10, **wanted: Any) -> list[str]:
    return [hit.text for hit in hits(index, query, limit, **wanted)]


def hits(index: SearchIndex, query: str, limit: int = 10, **wanted: Any) -> tuple[Hit, ...]:
    return tuple(
        each.hit for each in index.finder.search(IndexQuery(query, limit, Filter(**wanted), TODAY))
    )


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


MEMORY = file(
    "MEMORY.md",
    """# Memory

Preamble about gardening.

## Work

- [decision] database: postgres_port is 5433 #infra #db
- [fact] employer: Linear (until 2025-12-31)

### CI/CD *pipeline*

- pinned to v2.3 (until 2025-01-31)

## 生活

- 我喜欢喝咖啡
- 家里有一只猫
- ผมชอบกาแฟเย็น
- iPhone手机 在桌上

## Home

- [Preference] drinks green tea #Food
""",
)
DAILY = file(
    "memory/2025-05-20.md",
    "# 2025-05-20\n\n## 10:00\n\n- met Zoe about sailing\n- [lesson] sailing needs wind\n",
    GUESS,
)
OLD = file("memory/2025-01-02-trip.md", "# 2025-01-02\n\n- sailing trip with Adam\n")
TOPIC = file(
    "memory/people/zoe.md",
    "# Zoe\n\n- allergic to walnuts\n",
    None,
    uncommitted=True,
    tags=("friend",),
)
EXTRA = file("CLAUDE.md", "# Rules\n\n- sailing rules\n")


@pytest.fixture(scope="module")
def index() -> SearchIndex:
    return index_of(MEMORY, DAILY, OLD, TOPIC, EXTRA)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("port", "database: postgres_port is 5433"),
        ("POSTGRES", "database: postgres_port is 5433"),
        ("Which databases do we use?", "database: postgres_port is 5433"),
        ("v2.3", "pinned to v2.3 (until 2025-01-31)"),
        ("ci cd", "pinned to v2.3 (until 2025-01-31)"),
        ("pipelines", "pinned to v2.3 (until 2025-01-31)"),
        ("咖啡", "我喜欢喝咖啡"),
        ("猫", "家里有一只猫"),
        ("กาแฟ", "ผมชอบกาแฟเย็น"),
        ("iphone", "iPhone手机 在桌上"),
        ("手机", "iPhone手机 在桌上"),
        ("walnut", "allergic to walnuts"),
        ("trip", "sailing trip with Adam"),
        ("garden", "Preamble about gardening."),
    ],
)
def test_found_first(index: SearchIndex, query: str, first: str) -> None:
    assert search(index, query)[0] == first


@pytest.mark.parametrize(
    "query", ["", "  ", "?!", '"', "(((", "***", "茄子", "xyzzy", "\x00", "x" * 50_000]
)
def test_nothing_to_find(index: SearchIndex, query: str) -> None:
    assert search(index, query) == []


@pytest.mark.parametrize(
    "query",
    [
        '"sailing',
        "sailing AND (",
        "text:sailing^2",
        "sail* OR /sail.*/",
        "+sailing -wind",
        "sailing " * 3000,
        "sailing\udcff",
        "[a TO sailing]",
    ],
)
def test_operators_mean_nothing(index: SearchIndex, query: str) -> None:
    assert "sailing needs wind" in search(index, query)


def test_a_query_of_stop_words_only_searches_them(index: SearchIndex) -> None:
    assert search(index, "about")[0] in ("met Zoe about sailing", "Preamble about gardening.")
    assert (
        search(
            index_of(file("MEMORY.md", "- to be or not to be\n- unrelated\n")),
            "To be, or not to be?",
        )[0]
        == "to be or not to be"
    )


def test_neighbours_are_found_after_the_entry_itself() -> None:
    lines = [f"line{number}" for number in range(9)]
    texts = search(index_of(file("MEMORY.md", "".join(f"- {line}\n" for line in lines))), "line4")
    assert texts[0] == "line4"
    assert sorted(texts) == lines[2:7]


def test_a_hit_without_any_of_the_words_says_that_it_is_near_and_comes_last() -> None:
    index = index_of(
        file("MEMORY.md", "# Memory\n\n- allergies: peanuts\n- lives in Porto\n"),
        file("memory/allergies.md", "- pollen in May\n\n## 花粉\n\n- five drops\n"),
        file(
            "memory/2025-05-01.md",
            "- \u8fc7\u654f\u836f\n- bought soap\n"
            + "".join(
                f"- allergies, part {n}, with many more words than the rest\n" for n in range(9)
            ),
        ),
    )
    matches = hits(index, "allergies", 50)
    assert [hit.near for hit in matches] == sorted(hit.near for hit in matches)
    assert {hit.text for hit in matches if hit.near} == {
        "lives in Porto",
        "bought soap",
        "\u8fc7\u654f\u836f",
    }
    assert {hit.text for hit in hits(index, "花粉") if not hit.near} == {"five drops"}


def test_what_front_matter_names_a_file_is_found_by_its_first_entry() -> None:
    page = replace(
        file("memory/rules.md", "# Rules\n\n- two at a time\n- never on Fridays\n"),
        about="kraken cluster / 章鱼集群",
    )
    index = index_of(page, file("memory/other.md", "- squid\n"))
    for query in ("kraken", "章鱼"):
        assert [(hit.text, hit.near) for hit in hits(index, query)] == [("two at a time", False)]


@pytest.mark.parametrize(
    ("query", "about"),
    [
        ("birthday", "birthday: 1990-07-14"),
        ("1990-07-14", "birthday: 1990-07-14"),
        ("who is from 章鱼", "from: 章鱼"),
        ("viola", ""),
    ],
)
def test_a_hit_says_what_of_the_front_matter_is_asked_for(query: str, about: str) -> None:
    values = "Jana / birthday: 1990-07-14 / employer: Bosch / from: 章鱼"
    index = index_of(replace(file("memory/jana.md", "# Jana\n\n- plays the viola\n"), about=values))
    assert [(hit.text, hit.about, hit.near) for hit in hits(index, query)] == [
        ("plays the viola", about, False)
    ]


def test_a_date_is_one_word() -> None:
    index = index_of(
        file(
            "MEMORY.md",
            "- born on 1990-07-14\n\n## Roof\n\n- 14 panels since 07/1990\n\n## Tax\n\n- 14 forms\n",
        )
    )
    assert [hit.text for hit in hits(index, "1990-07-14")] == ["born on 1990-07-14"]
    assert {hit.text for hit in hits(index, "1990")} == {
        "born on 1990-07-14",
        "14 panels since 07/1990",
    }


def test_no_number_of_neighbours_keeps_a_match_from_the_first_hits() -> None:
    lines = [f"- {'zebra ' * 9}{n}\n- {'grey ' * 5} {n}\n- {'grey ' * 5} {n}\n" for n in range(60)]
    index = index_of(file("MEMORY.md", "".join(lines) + "- " + "word " * 400 + "zebra\n"))
    assert not any(hit.near for hit in hits(index, "zebra", 20))


def test_where_memory_holds_no_other_word_a_few_stop_words_count() -> None:
    index = index_of(file("MEMORY.md", "- alpha on\n"), file("memory/a.md", "- the cat\n"))
    assert search(index, "on off") == search(index, "on") == ["alpha on"]
    assert search(index, "what is the dog") == []
    assert search(index, "the cat on") == ["the cat"]


def test_neighbours_end_with_the_file() -> None:
    assert search(
        index_of(file("memory/a.md", "- apples\n"), file("memory/b.md", "- pears\n")), "apples"
    ) == ["apples"]


@pytest.mark.parametrize(
    ("path", "texts"), [("MEMORY.md", ["apples"]), ("memory/2026-01-02.md", ["apples", "pears"])]
)
def test_neighbours_end_with_the_section_but_for_a_day(path: str, texts: list[str]) -> None:
    assert (
        search(index_of(file(path, "# T\n\n## A\n\n- apples\n\n## B\n\n- pears\n")), "apples")
        == texts
    )


def test_bootstrap_files_and_weak_sources_rank_lower(index: SearchIndex) -> None:
    assert search(index, "sailing")[-1] == "sailing rules"
    weak, strong = file("memory/a.md", "- likes tea\n", GUESS), file("memory/b.md", "- likes tea\n")
    assert [hit.path for hit in hits(index_of(weak, strong), "tea")] == [
        "memory/b.md",
        "memory/a.md",
    ]


def test_the_weaker_of_a_contradiction_ranks_lower_and_is_found() -> None:
    strong, weak = file("memory/b.md", "- likes tea\n"), file("memory/a.md", "- likes tea\n")
    matches = hits(index_of(replace(weak, lifetimes=(Lifetime(weaker=True),)), strong), "tea")
    assert [hit.path for hit in matches] == ["memory/b.md", "memory/a.md"]
    assert matches[1].score == pytest.approx(0.9 * matches[0].score, rel=1e-3)


def test_a_file_name_that_is_no_unicode_can_be_indexed_replaced_and_taken_out() -> None:
    odd, other = (
        file("memory/\udcff.md", "- green tea\n"),
        file("memory/\udcfe.md", "- black tea\n"),
    )
    index = index_of(odd, other)
    assert sorted((hit.path, hit.text) for hit in hits(index, "tea")) == [
        (other.path, "black tea"),
        (odd.path, "green tea"),
    ]
    index.update([replace(odd, entries=(), origins=(), uncommitted=())], (), seen_of(other))
    assert search(index, "tea") == ["black tea"]
    index.update([], [other.path], seen_of())
    assert index.finder.count == 0


def test_ties_go_to_the_newer_day_then_path_then_line() -> None:
    files = [
        file(path, "- green tea\n")
        for path in ("memory/b.md", "memory/2025-01-01.md", "memory/a.md", "memory/2025-01-02.md")
    ]
    assert [hit.path for hit in hits(index_of(*files), "tea")] == [
        "memory/2025-01-02.md",
        "memory/2025-01-01.md",
        "memory/a.md",
        "memory/b.md",
    ]
    spaced = file("memory/a.md", "# A\n\n- tea\n\n# B\n\n- tea\n")
    assert [hit.start_line for hit in hits(index_of(spaced), "tea")] == [3, 7]


def test_one_fact_twice_in_a_section_is_one_hit_the_first() -> None:
    twice = index_of(
        file("MEMORY.md", "# A\n\n- green tea\n- wind\n- Green  tea\n\n# B\n\n- green tea\n")
    )
    assert [
        (hit.start_line, hit.section) for hit in hits(twice, "green tea") if "tea" in hit.text
    ] == [(3, ("A",)), (9, ("B",))]
    many = index_of(file("MEMORY.md", "- green tea\n" * 700 + "\nprose on tea\n"))
    assert [hit.start_line for hit in hits(many, "tea", limit=2)] in ([1, 702], [702, 1])


def test_the_limit_holds(index: SearchIndex) -> None:
    assert len(search(index, "sailing", limit=2)) == 2
    assert search(index, "sailing", limit=0) == []
    assert len(search(index, "sailing", limit=1_000_000)) >= 4


def test_all_of_a_hit(index: SearchIndex) -> None:
    hit = hits(index, "employer")[0]
    assert hit.score > 0
    assert replace(hit, score=0.0) == Hit(
        path="MEMORY.md",
        start_line=8,
        end_line=8,
        section=("Memory", "Work"),
        kind="fact",
        day=None,
        text="employer: Linear (until 2025-12-31)",
        score=0.0,
        fact=MEMORY.entries[2].fact,
        key="employer",
        tags=(),
        source=Source.USER_STATED,
        confidence=0.95,
        status=Status.CURRENT,
        until=date(2025, 12, 31),
        commit=USER.commit,
        uncommitted=False,
        since=datetime.fromtimestamp(USER.time, UTC),
        author="Ada <a@x.org>",
    )


def test_a_hit_without_commit(index: SearchIndex) -> None:
    hit = hits(index, "walnuts")[0]
    assert (hit.commit, hit.source, hit.confidence, hit.uncommitted) == (None, None, None, True)


def test_what_has_expired_says_so(index: SearchIndex) -> None:
    assert hits(index, "pinned")[0].status is Status.EXPIRED


BERLIN_ISH = timezone(timedelta(hours=2))
ALL = (
    len(MEMORY.entries)
    + len(DAILY.entries)
    + len(OLD.entries)
    + len(TOPIC.entries)
    + len(EXTRA.entries)
)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(), ALL),
        (Filter(file="MEMORY.md"), len(MEMORY.entries)),
        (Filter(file="./memory/"), 4),
        (Filter(file="memory/people"), 1),
        (Filter(file="zoe.md"), 1),
        (Filter(file="2025-05-20.md"), 2),
        (Filter(file="."), ALL),
        (Filter(file="memory/peo"), 0),
        (Filter(file="nowhere\udcff.md"), 0),
        (Filter(section="Work"), 3),
        (Filter(section="work"), 3),
        (Filter(section="Memory > Work"), 3),
        (Filter(section="Work > CI/CD pipeline"), 1),
        (Filter(section="CI/CD *pipeline*"), 1),
        (Filter(section="Memory > CI/CD pipeline"), 0),
        (Filter(section="生活"), 4),
        (Filter(section="Wor"), 0),
        (Filter(kind="decision"), 1),
        (Filter(kind="preference"), 1),
        (Filter(tags=("infra",)), 1),
        (Filter(tags=("#infra", "db")), 1),
        (Filter(tags=("infra", "food")), 0),
        (Filter(tags=("food",)), 1),
        (Filter(tags=("friend",)), 1),
        (Filter(any_tags=("infra", "#FOOD")), 2),
        (Filter(any_tags=("infra", "db")), 1),
        (Filter(any_tags=("nothing",)), 0),
        (Filter(any_tags=("infra", "food"), tags=("food",)), 1),
        (Filter(facts_only=True), ALL - 2),  # neither prose nor instructions
        (Filter(source="user-stated"), ALL - 3),
        (Filter(source="auto"), 2),
        (Filter(min_confidence=0.7), ALL - 2),
        (Filter(min_confidence=0.95), ALL - 2),
        (Filter(min_confidence=0.96), 1),
        (Filter(min_confidence=0.0), ALL),
        (Filter(valid_on=date(2025, 1, 31)), ALL),
        (Filter(valid_on=date(2025, 2, 1)), ALL - 1),
        (Filter(valid_on=date(2026, 1, 1)), ALL - 2),
        (Filter(log_days_from=date(2025, 5, 20)), ALL - 1),
        (Filter(log_days_from=date(2025, 5, 21)), ALL - 3),
        (Filter(since=date(2025, 5, 20)), 3),
        (Filter(since=date(2025, 5, 11)), 3),
        (Filter(since=date(2025, 5, 10)), ALL - 1),
        (Filter(until=date(2025, 5, 10)), ALL - 3),
        (Filter(until=date(2025, 5, 9)), 1),
        (Filter(until=TODAY), ALL),
        (Filter(since=TODAY), 1),
        (Filter(since=TODAY + timedelta(days=1)), 0),
        (Filter(since=date(2025, 1, 2), until=date(2025, 1, 2)), 1),
        (Filter(since=date.min, until=date.max), ALL),
        (Filter(since=date.max), 0),
        (Filter(since=date(2025, 5, 10), until=date(2025, 5, 10), zone=BERLIN_ISH), ALL - 4),
        (Filter(kind="lesson", file="memory", since=date(2025, 5, 1)), 1),
    ],
)
def test_filters(index: SearchIndex, wanted: Filter, expected: int) -> None:
    assert len(index.finder.entries(wanted, TODAY)) == expected


def test_a_commits_day_is_the_users() -> None:
    late = replace(USER, time=int(datetime(2025, 5, 10, 23, tzinfo=UTC).timestamp()))
    index = index_of(file("MEMORY.md", "- tea\n", late))
    day = date(2025, 5, 10)
    assert search(index, "tea", since=day, until=day, zone=UTC) == ["tea"]
    assert search(index, "tea", since=day, until=day, zone=BERLIN_ISH) == []


def test_filters_hold_in_a_search_and_leave_its_scores(index: SearchIndex) -> None:
    matches = hits(index, "sailing", file="memory", valid_on=TODAY)
    assert {hit.path for hit in matches} == {"memory/2025-05-20.md", "memory/2025-01-02-trip.md"}
    assert {hit.start_line: hit.score for hit in hits(index, "sailing") if hit in matches} == {
        hit.start_line: hit.score for hit in matches
    }


def test_a_filter_is_applied_before_the_best_are_taken() -> None:
    crowd = file("memory/crowd.md", "".join(f"- tea tea tea {number}\n" for number in range(400)))
    index = index_of(crowd, file("memory/rare.md", "- a word on tea that is longer #rare\n"))
    assert search(index, "tea", limit=1, tags=("rare",)) == ["a word on tea that is longer"]


def test_entries_come_by_path_and_line(index: SearchIndex) -> None:
    places = [(hit.path, hit.start_line) for hit in index.finder.entries(Filter())]
    assert places == sorted(places)
    assert index.finder.count == ALL == len(places)
    assert {hit.score for hit in index.finder.entries(Filter())} == {0.0}


def test_entries_without_a_day_to_judge_by_are_current(index: SearchIndex) -> None:
    assert {hit.status for hit in index.finder.entries(Filter())} == {Status.CURRENT}
    assert [
        hit.until for hit in index.finder.entries(Filter(), TODAY) if hit.status is Status.EXPIRED
    ] == [date(2025, 1, 31)]


def test_a_new_index_is_empty_and_makes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    index = SearchIndex.open(folder)
    assert index.seen == EMPTY_SNAPSHOT
    assert index.finder.count == 0
    assert search(index, "tea") == []
    assert index.finder.entries(Filter()) == ()
    assert not folder.exists()


def test_what_was_indexed_is_there_when_opened_again(tmp_path: Path) -> None:
    index = SearchIndex.open(tmp_path)
    done: list[int] = []
    index.update([MEMORY, DAILY], (), seen_of(MEMORY, DAILY), done.append)
    assert done == [1, 2]
    again = SearchIndex.open(tmp_path)
    assert again.seen == index.seen == seen_of(MEMORY, DAILY)
    assert again.finder.entries(Filter()) == index.finder.entries(Filter())
    assert hits(again, "sailing") == hits(index, "sailing")
    again.update([file("memory/new.md", "- sailing boats\n")], [DAILY.path], seen_of(MEMORY))
    assert search(SearchIndex.open(tmp_path), "sailing") == ["sailing boats"]


def test_more_entries_than_are_added_at_once(tmp_path: Path) -> None:
    before, after = (
        file("memory/a.md", "".join(f"- {word}{number}\n" for number in range(600)))
        for word in ("old", "new")
    )
    other = file("memory/b.md", "- old other\n")
    index = SearchIndex.open(tmp_path)
    index.update([before, other], (), seen_of(before, other))
    assert index.finder.count == 601
    index.update([after], (), seen_of(after, other))
    assert [hit.text for hit in SearchIndex.open(tmp_path).finder.entries(Filter())] == [
        *(f"new{number}" for number in range(600)),
        "old other",
    ]


def test_a_workspace_without_entries_is_seen_too(tmp_path: Path) -> None:
    SearchIndex.open(tmp_path).update([], [], seen_of(commit="d" * 40))
    assert SearchIndex.open(tmp_path).seen == seen_of(commit="d" * 40)


def test_nothing_to_do_writes_only_what_was_seen(tmp_path: Path) -> None:
    index = SearchIndex.open(tmp_path)
    index.update([MEMORY], (), seen_of(MEMORY))
    before = (tmp_path / "documents" / "meta.json").stat()
    index.update([], (), seen_of(MEMORY, commit="d" * 40))
    assert (tmp_path / "documents" / "meta.json").stat() == before
    assert SearchIndex.open(tmp_path).seen.commit == "d" * 40


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _replace(path: Path, old: bytes, new: bytes) -> None:
    text = path.read_bytes()
    assert old in text
    path.write_bytes(text.replace(old, new))


BREAKAGES = {
    "no seen": lambda folder: (folder / "seen.json").unlink(),
    "half of seen": lambda folder: _truncate(folder / "seen.json"),
    "empty seen": lambda folder: (folder / "seen.json").write_bytes(b""),
    "another's seen": lambda folder: (folder / "seen.json").write_text(
        f'[{INDEX_VERSION}]\n{{"commit":null,"settings":""}}\n{{}}'
    ),
    "seen of another version": lambda folder: _replace(
        folder / "seen.json", b"[%d," % INDEX_VERSION, b"[0,"
    ),
    "a file of another digest": lambda folder: _replace(folder / "seen.json", b'"2"', b'"3"'),
    "no documents": lambda folder: shutil.rmtree(folder / "documents"),
    "no meta": lambda folder: (folder / "documents" / "meta.json").unlink(),
    "half of meta": lambda folder: _truncate(folder / "documents" / "meta.json"),
    "no segment": lambda folder: next((folder / "documents").glob("*.store")).unlink(),
    "half a segment": lambda folder: _truncate(next((folder / "documents").glob("*.term"))),
}


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_broken_index_is_thrown_away(tmp_path: Path, name: str) -> None:
    SearchIndex.open(tmp_path).update([MEMORY, DAILY], (), seen_of(MEMORY, DAILY))
    BREAKAGES[name](tmp_path)
    index = SearchIndex.open(tmp_path)
    assert index.seen == EMPTY_SNAPSHOT
    assert search(index, "tea") == []
    index.update([DAILY], (), seen_of(DAILY))
    assert search(SearchIndex.open(tmp_path), "sailing") == search(index_of(DAILY), "sailing")
    assert SearchIndex.open(tmp_path).finder.count == len(DAILY.entries)


def test_damage_met_while_searching_is_told_and_mended(tmp_path: Path) -> None:
    SearchIndex.open(tmp_path).update([MEMORY], (), seen_of(MEMORY))
    store = next((tmp_path / "documents").glob("*.store"))
    data = store.read_bytes()
    store.write_bytes(bytes(200) + data[200:])
    index = SearchIndex.open(tmp_path)
    with pytest.raises(BrokenIndex, match="could not be read"):
        search(index, "tea")
    anew = SearchIndex.create(tmp_path)
    assert anew.seen == EMPTY_SNAPSHOT
    anew.update([MEMORY], (), seen_of(MEMORY))
    assert search(SearchIndex.open(tmp_path), "tea")[0] == "drinks green tea"


def test_a_crash_before_the_seen_state_is_written_leaves_the_index_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = SearchIndex.open(tmp_path)
    first, gone = file("memory/a.md", "- old tea\n"), file("memory/gone.md", "- gone tea\n")
    untouched = file("memory/same.md", "- same tea\n")
    index.update([first, gone, untouched], (), seen_of(first, gone, untouched))
    new, added = file("memory/a.md", "- new tea\n"), file("memory/b.md", "- more tea\n")
    crashed = tmp_path / "crashed"

    def changes() -> Iterator[FileEntries]:
        yield new
        yield added

    written: list[bytes] = []
    original = index._remember

    def watch(seen: Snapshot, durably: bool = False) -> None:
        original(seen, durably)
        written.append((tmp_path / "seen.json").read_bytes())

    monkeypatch.setattr(index, "_remember", watch)
    index.update(changes(), [gone.path], seen_of(new, added, untouched))
    marked, _ = written
    shutil.copytree(tmp_path, crashed)
    (crashed / "seen.json").write_bytes(marked)
    behind = SearchIndex.open(crashed)
    assert behind.seen.files == {
        **seen_of(untouched).files,
        new.path: NEVER_INDEXED,
        added.path: NEVER_INDEXED,
        gone.path: NEVER_INDEXED,
    }
    # The disk may hold anything by now, the old state too.
    behind.update([first, gone], [added.path], seen_of(first, gone, untouched))
    assert sorted(hit.text for hit in SearchIndex.open(crashed).finder.entries(Filter())) == [
        "gone tea",
        "old tea",
        "same tea",
    ]


def test_an_update_that_is_interrupted_changes_nothing(tmp_path: Path) -> None:
    index = SearchIndex.open(tmp_path)
    index.update([MEMORY], (), seen_of(MEMORY))

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.update([DAILY], [MEMORY.path], seen_of(DAILY), stop)
    for opened in (index, SearchIndex.open(tmp_path)):
        assert opened.seen == seen_of(MEMORY)
        assert opened.finder.count == len(MEMORY.entries)
    index.update([DAILY], [MEMORY.path], seen_of(DAILY))
    assert SearchIndex.open(tmp_path).finder.count == len(DAILY.entries)


def test_a_second_writer_is_a_storage_problem(tmp_path: Path) -> None:
    index = SearchIndex.open(tmp_path)
    index.update([MEMORY], (), seen_of(MEMORY))

    def changes() -> Iterator[FileEntries]:
        yield DAILY
        SearchIndex.open(tmp_path).update([OLD], (), seen_of(OLD))

    with pytest.raises(StorageProblem, match="could not be written"):
        index.update(changes(), (), seen_of(MEMORY, DAILY))


def test_a_folder_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    index = SearchIndex.open(tmp_path / "file" / "index")
    assert index.seen == EMPTY_SNAPSHOT
    with pytest.raises(OSError, match="Not a directory"):
        index.update([MEMORY], (), seen_of(MEMORY))


def test_a_reader_is_not_disturbed_by_an_update(tmp_path: Path) -> None:
    SearchIndex.open(tmp_path).update([MEMORY], (), seen_of(MEMORY))
    reader = SearchIndex.open(tmp_path)
    SearchIndex.open(tmp_path).update([DAILY], [MEMORY.path], seen_of(DAILY))
    assert search(reader, "tea")[0] == "drinks green tea"


@pytest.mark.costly
def test_many_small_updates_leave_a_small_index(tmp_path: Path) -> None:
    index = SearchIndex.open(tmp_path / "many")
    files = {
        f"memory/t{n}.md": file(f"memory/t{n}.md", "".join(f"- item {n} {k}\n" for k in range(40)))
        for n in range(10)
    }
    index.update(files.values(), (), seen_of(*files.values()))
    for turn in range(50):
        path = f"memory/t{turn % 10}.md"
        files[path] = file(path, "".join(f"- item {turn} {k}\n" for k in range(40)))
        index.update([files[path]], (), seen_of(*files.values()))
    fresh = SearchIndex.open(tmp_path / "fresh")
    fresh.update(files.values(), (), seen_of(*files.values()))
    assert size(tmp_path / "many") <= 2.5 * size(tmp_path / "fresh")
    assert len(list((tmp_path / "many" / "documents").glob("*.store"))) <= 10
    assert index.finder.entries(Filter()) == fresh.finder.entries(Filter())


PATHS = ("MEMORY.md", "memory/a.md", "memory/2025-01-01.md")
LINES = st.lists(
    st.sampled_from(
        [
            "- tea",
            "- [fact] key: tea #t",
            "# Work",
            "prose on tea",
            "- 喝茶",
            "- old (until 2025-01-01)",
        ]
    ),
    max_size=5,
)
STEPS = st.lists(
    st.dictionaries(st.sampled_from(PATHS), st.none() | LINES, min_size=1), min_size=1, max_size=4
)


@examples(12)
@given(STEPS)
def test_incremental_equals_fresh(steps: list[dict[str, list[str] | None]]) -> None:
    index = SearchIndex.in_memory()
    now: dict[str, FileEntries] = {}
    for step in steps:
        changed = [
            file(path, "\n\n".join(lines)) for path, lines in step.items() if lines is not None
        ]
        removed = [path for path, lines in step.items() if lines is None]
        now.update({f.path: f for f in changed})
        for path in removed:
            now.pop(path, None)
        index.update(changed, removed, seen_of(*now.values()))
    fresh = index_of(*now.values())
    assert index.seen == fresh.seen
    assert index.finder.entries(Filter()) == fresh.finder.entries(Filter())
    for query in ("tea", "key fact", "喝茶", "work"):
        ranges = {(hit.path, hit.start_line) for hit in hits(index, query)}
        assert ranges == {(hit.path, hit.start_line) for hit in hits(fresh, query)}
