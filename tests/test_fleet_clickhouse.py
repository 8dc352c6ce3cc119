"""The engine on ClickHouse, by chdb: ClickHouse's own engine in this process, on one folder."""

from __future__ import annotations

import ast
import random
import re
import struct
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count
from pathlib import Path
from socket import socket
from typing import Any

import pytest

pytest.importorskip("chdb", reason="chdb is not installed (the extra fleet-test)")
pytest.importorskip("clickhouse_connect", reason="clickhouse-connect is not installed (fleet)")

import clickhouse_connect

from mdmem.fleet import clickhouse
from mdmem.fleet.clickhouse import ClickHouseEngine, setup_sql
from mdmem.fleet.engine import FORM, NUMBERS, Change, FleetCandidate, FleetTerm, Held
from mdmem.fleet.folder import FolderEngine
from mdmem.folder.layout import kind_of
from mdmem.index import ranking
from mdmem.index.indexer import FileEntries, FileFields, file_fields
from mdmem.index.query import Filter
from mdmem.index.schema import parse_row
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import FleetProblem, WorkspaceProblem
from mdmem.text.document import parse
from mdmem.text.facts import entries
from mdmem.text.terms import stem

TODAY = date(2026, 1, 1)
EVERYDAY = Filter(valid_on=TODAY), TODAY
ONE, TWO, THREE = map(CommitId, ("1" * 40, "2" * 40, "3" * 40))


def page(path: str, text: str) -> FileFields:
    listed = entries(parse(text), FilePath(path), nested=True)
    none = (None,) * len(listed)
    kind = kind_of(FilePath(path))
    pages = FileEntries(FilePath(path), listed, none, (False,) * len(listed), kind)
    return file_fields(pages, "english")


def change(
    repository: str,
    files: Mapping[str, str],
    before: CommitId | None = None,
    commit: CommitId = ONE,
    gone: Sequence[str] = (),
    whole: bool = False,
) -> Change:
    return Change(
        repository=repository,
        before=before,
        commit=commit,
        files=[page(path, text) for path, text in files.items()],
        gone=list(map(FilePath, gone)),
        whole=whole,
    )


def search(
    engine: ClickHouseEngine,
    words: str,
    readable: tuple[str, ...] | None = None,
    passing: Filter = EVERYDAY[0],
    limit: int = 100,
) -> Sequence[FleetCandidate]:
    terms = [(name, stem(word)) for word in words.split() for name in ("text", "heading", "label")]
    totals, counts = engine.totals(readable), engine.counts(terms, readable)
    asked = [
        FleetTerm(*term, ranking.rarity(totals.documents, counts[term]))
        for term in terms
        if counts.get(term)
    ]
    return engine.candidates(asked, totals, (passing, TODAY), readable, limit)


def texts(engine: ClickHouseEngine, words: str, *more: Any, **named: Any) -> list[tuple[str, str]]:
    found = engine.shown([each.key for each in search(engine, words, *more, **named)])
    return [(repository, parse_row(row).entry.text) for repository, row in found]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chdb")


NUMBERED = count(1)


@pytest.fixture
def connect(folder: Path) -> Iterator[Callable[[], ClickHouseEngine]]:
    """Engines on a database of the test's own."""
    database = f"case{next(NUMBERED)}"
    with clickhouse_connect.get_client(interface="chdb", path=str(folder)) as client:
        client.command(f"CREATE DATABASE {database}")
        clients = [client]

        def engine() -> ClickHouseEngine:
            clients.append(
                clickhouse_connect.get_client(interface="chdb", path=str(folder), database=database)
            )
            return ClickHouseEngine(clients[-1])

        yield engine
        client.command(f"DROP DATABASE {database}")
        for each in clients[1:]:
            each.close()


@pytest.fixture
def engine(connect: Callable[[], ClickHouseEngine]) -> ClickHouseEngine:
    made = connect()
    made.make()
    return made


def rows_of(engine: ClickHouseEngine, sql: str) -> Sequence[Sequence[Any]]:
    return engine._client.query(sql).result_rows


def test_a_first_index_is_found(engine: ClickHouseEngine):
    engine.put([change("/srv/a.git", {"MEMORY.md": "# Pets\n\n- The cat sleeps\n- A dog\n"})])
    engine.make()  # again
    assert engine.held() == {"/srv/a.git": Held(ONE, FORM)}
    assert engine.totals(None).documents == 2
    assert texts(engine, "cat") == [("/srv/a.git", "The cat sleeps")]
    assert search(engine, "cat")[0].numbers.keys() == set(NUMBERS)
    assert search(engine, "elephant") == []
    assert engine.describe()["answering"] == engine.answering == 1
    assert engine.describe()["bytes"] > 0


def test_nothing_asked_and_nothing_there(engine: ClickHouseEngine):
    assert engine.totals(None).documents == 0
    assert engine.totals(None).average("text") == 0
    assert engine.counts([("text", "cat")], ()) == {("text", "cat"): 0}
    assert engine.candidates([], engine.totals(None), EVERYDAY, None, 10) == []
    assert engine.shown([]) == []


def test_removed_files_and_repositories_are_not_found(engine: ClickHouseEngine):
    files = {
        "MEMORY.md": "- one cat\n",
        "memory/x.md": "- two cat\n",
        "memory/y.md": "- three cat\n",
    }
    engine.put([change("a", files), change("b", files)])
    engine.put([change("a", {}, before=ONE, commit=TWO, gone=["memory/x.md"])])
    assert sorted(texts(engine, "cat", ("a",))) == [("a", "one cat"), ("a", "three cat")]
    engine.put([change("a", {"memory/x.md": "- four cat\n"}, TWO, THREE, whole=True)])
    assert texts(engine, "cat", ("a",)) == [("a", "four cat")]
    engine.drop(["b"])
    assert texts(engine, "cat") == [("a", "four cat")]
    assert list(engine.held()) == ["a"]
    engine.put([change("b", {"MEMORY.md": "- again cat\n"})])
    assert sorted(texts(engine, "cat")) == [("a", "four cat"), ("b", "again cat")]


def test_a_repository_that_another_brought_on_is_left_as_it_is(engine: ClickHouseEngine):
    engine.put([change("a", {"MEMORY.md": "- cat of one\n"})])
    engine.put([change("a", {"MEMORY.md": "- cat of two\n"}, before=ONE, commit=TWO)])
    engine.put([change("a", {"MEMORY.md": "- cat of three\n"}, before=ONE, commit=THREE)])
    engine.put([change("a", {"MEMORY.md": "- cat of none\n"})])
    assert texts(engine, "cat") == [("a", "cat of two")]
    assert engine.held()["a"].commit == TWO


def test_scores_are_bm25(engine: ClickHouseEngine):
    rng = random.Random(7)
    words = ["cat", "dog", "bird", "fish", "owl"]
    listed = [" ".join(rng.choices(words, k=rng.randint(1, 12))) for _ in range(60)]
    engine.put([change("a", {"MEMORY.md": "".join(f"- {each}\n" for each in listed)})])
    documents = page("MEMORY.md", "".join(f"- {each}\n" for each in listed)).documents
    average = sum(each["text_length"] for each in documents) / len(documents)
    asked = [
        FleetTerm("text", "cat", 2.5),
        FleetTerm("text", "owl", 0.75),
        FleetTerm("text", "owl", 0.25),
    ]
    expected = {
        place: score
        for place, each in enumerate(documents)
        if (
            score := sum(
                worth * ranking.saturation(times, each["text_length"], average)
                for _, term, worth in asked
                if (times := each["text"].split().count(term))
            )
        )
    }
    found = engine.candidates(asked, engine.totals(None), EVERYDAY, None, 100)
    assert {each.key[1]: each.score for each in found} == pytest.approx(expected, abs=1e-6)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert engine.candidates(asked, engine.totals(None), EVERYDAY, None, 7) == found[:7]


def test_equal_scores_have_one_order_after_each_indexing(engine: ClickHouseEngine):
    files = {f"memory/{n}.md": "- the same cat\n- the same cat again\n" for n in range(40)}
    orders = list[list[tuple[str, str, int]]]()
    for _ in range(3):
        engine.put([change(f"r{n}", files, whole=True) for n in random.sample(range(5), 5)])
        found = search(engine, "cat", limit=300)
        places = [parse_row(row).entry for _, row in engine.shown([each.key for each in found])]
        repositories = [repository for repository, _ in engine.shown([e.key for e in found])]
        orders.append(
            [(r, str(e.path), e.start_line) for r, e in zip(repositories, places, strict=True)]
        )
        assert len(orders[-1]) == 300
        engine.drop([f"r{n}" for n in range(5)])
    assert orders[0] == orders[1] == orders[2]


def test_counts_and_finds_as_a_folder_does(engine: ClickHouseEngine, tmp_path: Path):
    rng = random.Random(5)
    words = [f"word{number}" for number in range(60)]
    changes = [
        change(
            f"r{number}",
            {
                f"memory/2025-01-{day:02}.md": "# Log\n\n"
                + "".join(f"- {' '.join(rng.sample(words, rng.randint(2, 9)))}\n" for _ in range(6))
                for day in range(1, 9)
            },
        )
        for number in range(8)
    ]
    folder = FolderEngine(tmp_path / "fleet")
    folder.make()
    first = 0
    for each in (folder, engine):
        each.put(changes)
    for query in range(30):
        readable = (
            None if query % 3 == 0 else tuple(sorted(rng.sample([f"r{n}" for n in range(8)], 4)))
        )
        terms = [(name, stem(word)) for word in rng.sample(words, 3) for name in ("text", "around")]
        totals, counts = engine.totals(readable), engine.counts(terms, readable)
        other = folder.counts(terms, readable)
        assert folder.totals(readable) == totals
        assert {term: counts.get(term, 0) for term in terms} == {
            term: other.get(term, 0) for term in terms
        }
        asked = [
            FleetTerm(*each, ranking.rarity(totals.documents, counts[each])) for each in counts
        ]
        found = [
            each.candidates(asked, totals, EVERYDAY, readable, 1000) for each in (engine, folder)
        ]
        rows = [
            dict(zip(each.shown([one.key for one in listed]), listed, strict=True))
            for each, listed in zip((engine, folder), found, strict=True)
        ]
        assert rows[0].keys() == rows[1].keys()
        for row, one in rows[0].items():
            assert one.numbers == dict(rows[1][row].numbers)
            assert one.score == pytest.approx(rows[1][row].score, rel=0.05)
        first += next(iter(rows[0])) == next(iter(rows[1]))
    assert first >= 27


TABLE = {
    "memory/2025-03-01.md": "# Log\n\n## Trip\n\n- cat in March #travel\n",
    "memory/2025-06-01.md": "# Log\n\n- cat in June (until 2027-07-01)\n",
    "memory/topics/pets.md": "# Pets\n\n## Cats > all\n\n- [decision] cat of topics #travel/far\n",
    "MEMORY.md": "# Pets\n\n## Cats\n\n- cat of memory #home\n",
}


@pytest.mark.parametrize(
    ("passing", "expected"),
    [
        (Filter(), {"March", "June", "topics", "memory"}),
        (Filter(file="memory"), {"March", "June", "topics"}),
        (Filter(file="memory/topics"), {"topics"}),
        (Filter(file="./memory//topics/pets.md"), {"topics"}),
        (Filter(file="pets.md"), {"topics"}),
        (Filter(file="topics/pets.md"), set()),
        (Filter(file="memory/to"), set()),
        (Filter(section="cats"), {"memory"}),
        (Filter(section="Pets"), {"topics", "memory"}),
        (Filter(tags=("travel",)), {"March", "topics"}),
        (Filter(tags=("Travel", "travel/far")), {"topics"}),
        (Filter(any_tags=("home", "travel/far")), {"topics", "memory"}),
        (Filter(since=date(2025, 3, 1)), {"March", "June"}),
        (Filter(since=date(2025, 3, 2)), {"June"}),
        (Filter(until=date(2025, 3, 1)), {"March"}),
        (Filter(log_days_from=date(2025, 4, 1)), {"June", "topics", "memory"}),
        (Filter(kind="Decision"), {"topics"}),
        (Filter(kind="decision", tags=("home",)), set()),
    ],
)
def test_filters(engine: ClickHouseEngine, passing: Filter, expected: set[str]):
    engine.put([change("a", TABLE)])
    found = {text.split()[2] for _, text in texts(engine, "cat", None, passing)}
    assert found == expected


def test_what_has_expired_is_not_found(engine: ClickHouseEngine):
    engine.put([change("a", {"MEMORY.md": "- cat A (until 2025-09-09)\n- cat B\n"})])
    entry = page("MEMORY.md", "- cat A (until 2025-09-09)\n").documents[0]
    assert "until" in entry

    def found(passing: Filter) -> int:
        return len(search(engine, "cat", None, passing))

    assert found(Filter(valid_on=date(2025, 9, 9))) == 2
    assert found(Filter(valid_on=date(2025, 9, 10))) == 1
    assert found(Filter()) == 2
    assert found(Filter(expires_by=date(2025, 9, 9))) == 1
    assert found(Filter(expires_by=date(2025, 9, 8))) == 0


DIES = """
import os, sys
sys.path[:0] = [sys.argv[2]]
import test_fleet_clickhouse as cases
import clickhouse_connect
engine = cases.ClickHouseEngine(clickhouse_connect.get_client(interface="chdb", path=sys.argv[1]))
engine.make()
insert, after = engine._insert, sys.argv[3]
def dying(table, rows):
    insert(table, rows)
    if table == after:
        os._exit(9)
engine._insert = dying
old = {"MEMORY.md": "- old cat\\n", "memory/x.md": "- other cat\\n"}
new = [cases.change("a", {"MEMORY.md": "- new cat\\n"}, cases.ONE, cases.TWO, gone=["memory/x.md"])]
if sys.argv[4] == "first":
    engine.put([cases.change("a", old)])
else:
    engine._insert = insert
    if sys.argv[4] == "second":
        engine.put([cases.change("a", old)])
        engine._insert = dying
        engine.put(new)
    print(sorted(engine.held().items()), sorted(cases.texts(engine, "cat")))
    if not engine.held():
        engine.put([cases.change("a", old)])
    engine.put(new)
    print(sorted(cases.texts(engine, "cat")), engine.totals(None).documents)
"""


def in_a_process(folder: Path, after: str, turn: str) -> subprocess.CompletedProcess[str]:
    here = str(Path(__file__).parent)
    return subprocess.run(
        [sys.executable, "-c", DIES, str(folder), here, after, turn],
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.costly
@pytest.mark.parametrize("turn", ["first", "second"])
@pytest.mark.parametrize("after", ["incoming_all", "files_all"])
def test_killed_anywhere_it_is_done_again(tmp_path: Path, after: str, turn: str):
    assert in_a_process(tmp_path, after, turn).returncode == 9
    again = in_a_process(tmp_path, after, "again")
    assert again.returncode == 0, again.stderr
    had, has = again.stdout.splitlines()
    assert has == "[('a', 'new cat')] 1"
    if after == "incoming_all":  # no mark: nothing of it is found
        old = "[('a', 'old cat'), ('a', 'other cat')]"
        assert had.endswith("[] []" if turn == "first" else old)


def at_once(*works: Callable[[], None]) -> None:
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


def test_four_indexers_each_with_its_repository(
    engine: ClickHouseEngine, connect: Callable[[], ClickHouseEngine]
):
    def index(name: str) -> None:
        own = connect()
        own.put([change(name, {"MEMORY.md": f"- cat of {name}\n- dog\n"})])
        for number in range(3):
            commit, before = CommitId(f"{number + 2}" * 40), CommitId(f"{number + 1}" * 40)
            own.put([change(name, {f"memory/{number}.md": "- more cat\n"}, before, commit)])

    names = [f"r{number}" for number in range(4)]
    at_once(*(partial(index, name) for name in names))
    assert Counter(name for name, _ in texts(engine, "cat")) == dict.fromkeys(names, 4)
    assert {each.commit for each in engine.held().values()} == {CommitId("4" * 40)}


def test_three_indexers_with_the_same_repository(
    engine: ClickHouseEngine, connect: Callable[[], ClickHouseEngine]
):
    engine.put([change("a", {"MEMORY.md": "- old cat\n", "memory/x.md": "- gone cat\n"})])
    new = {"MEMORY.md": "- new cat\n", "memory/y.md": "- another cat\n"}

    def index() -> None:
        connect().put([change("a", new, ONE, TWO, gone=["memory/x.md"])])

    at_once(index, index, index)
    assert sorted(texts(engine, "cat")) == [("a", "another cat"), ("a", "new cat")]
    assert engine.totals(None).documents == 2
    assert engine.held()["a"].commit == TWO


class Killed(Exception):
    pass


@pytest.mark.costly
def test_a_storm_ends_as_one_made_from_nothing(connect: Callable[[], ClickHouseEngine]):
    rng = random.Random(58)
    trees = {f"r{number}": list[dict[str, str]]() for number in range(6)}
    engine = connect()
    engine.make()

    def bring_on(own: ClickHouseEngine, name: str, oldest: int = 0) -> None:
        """Put the difference from the commit held to one that this indexer knows."""
        held = own.held().get(name)
        newest = max(int(held.commit) if held else 1, oldest or len(trees[name]))
        before = trees[name][int(held.commit) - 1] if held else {}
        tree = trees[name][newest - 1]
        files = {path: text for path, text in tree.items() if before.get(path) != text}
        gone = sorted(before.keys() - tree.keys())
        if held is None or int(held.commit) != newest:
            commit = held and held.commit
            own.put([change(name, files, commit, CommitId(str(newest)), gone, whole=not held)])

    def index(seed: int) -> None:
        own, dice = connect(), random.Random(seed)
        insert = own._insert

        def dying(table: str, rows: Sequence[Sequence[Any]]) -> None:
            if dice.random() < 0.1:
                raise Killed
            insert(table, rows)
            if dice.random() < 0.1:
                raise Killed

        own._insert = dying
        for name in dice.sample(sorted(trees), len(trees)):
            with suppress(Killed):
                bring_on(own, name, dice.randint(1, len(trees[name])))

    for commit in range(6):
        for name, versions in trees.items():
            tree = dict(versions[-1]) if versions else {}
            for _ in range(3):
                path = f"memory/{rng.randrange(5)}.md"
                tree[path] = f"- cat {rng.randrange(4)} of {name}\n"  # often as it once was
            tree.pop(f"memory/{rng.randrange(5)}.md", None)
            versions.append(tree)
        at_once(*(partial(index, 4 * commit + number) for number in range(4)))
    for name in trees:
        bring_on(engine, name)
    expected = sorted(
        (name, text[2:-1]) for name, versions in trees.items() for text in versions[-1].values()
    )
    assert sorted(texts(engine, "cat", limit=1000)) == expected
    assert engine.totals(None).documents == len(expected)


def test_nothing_is_found_that_may_not_be_read(engine: ClickHouseEngine):
    names = [f"/srv/{number}.git" for number in range(12)]
    files = {"MEMORY.md": "- cat and dog\n", "memory/2025-01-01.md": "- bird and cat #x\n"}
    engine.put([change(name, files) for name in names])
    rng = random.Random(3)
    for query in range(40):
        readable = tuple(sorted(rng.sample(names, rng.randint(0, 11))))
        passing = rng.choice([Filter(), EVERYDAY[0], Filter(tags=("x",)), Filter(file="MEMORY.md")])
        found = texts(engine, rng.choice(["cat", "dog", "bird cat"]), readable, passing)
        assert {name for name, _ in found} <= set(readable), query
        assert engine.totals(readable).documents == 2 * len(readable)
        counts = engine.counts([("text", "cat")], readable)
        assert counts.get(("text", "cat"), 0) == 2 * len(readable)
    many = tuple(sorted([*(f"/srv/other/{number}" for number in range(2000)), names[3]]))
    assert {name for name, _ in texts(engine, "cat", many)} == {names[3]}


def test_what_others_have_moves_no_score(engine: ClickHouseEngine):
    lines = "- cat and dog\n- the cat\n- bird\n"
    engine.put([change("mine", {"MEMORY.md": lines}), change("theirs", {"MEMORY.md": "- cat\n"})])

    def scores() -> list[tuple[float, int]]:
        return [(each.score, each.tie) for each in search(engine, "cat dog", ("mine",))]

    before = scores()
    assert len(before) == 2
    more = {f"memory/{number}.md": "- cat cat dog with many more words\n" for number in range(50)}
    engine.put([change("theirs", more, ONE, TWO)])
    assert scores() == before
    assert len(search(engine, "cat dog")) == 53


HOSTILE = ["'", '"', "\\", "`", "{x:String}", "{terms:Array(String)}", "\0", "--", "/*", ";", "$$"]
HOSTILE += [
    "\t",
    "\n",
    "%s",
    "%(x)s",
    "🐈",
    "é",
    "\u200b",
    "?",
    "\\'",
    ")) OR 1=1",
    "$cluster",
    " ",
]


def is_plain(path: str) -> bool:
    """Whether a filter can name the path, which is brought to its usual form."""
    return "//" not in path and "/." not in path


@pytest.mark.costly
def test_names_and_words_are_values_alone(engine: ClickHouseEngine):
    rng = random.Random(11)
    names = {"".join(rng.choices(HOSTILE, k=rng.randint(1, 6))) + str(n): n for n in range(1000)}
    documents = [
        {**page("MEMORY.md", "- cat\n").documents[0], "text": name.replace(" ", "_")}
        for name in names
    ]
    changes = [
        Change(
            repository=name,
            before=None,
            commit=ONE,
            files=[FileFields(FilePath(f"memory/{name}.md"), [document])],
        )
        for name, document in zip(names, documents, strict=True)
    ]
    engine.put(changes)
    assert engine.held().keys() == names.keys()
    terms = [("text", word) for each in documents for word in each["text"].split()]
    counts = engine.counts(terms, None)
    assert min(counts.get(term, 0) for term in terms) >= 1
    for name in rng.sample(sorted(names), 100):
        [word, *_] = name.replace(" ", "_").split() or ["cat"]
        passing = Filter(file=f"memory/{name}.md", valid_on=TODAY), TODAY
        totals, asked = engine.totals((name,)), [FleetTerm("text", word, 1.0)]
        found = engine.candidates(asked, totals, passing, (name,), 10)
        assert totals.documents == 1
        assert [repository for repository, _ in engine.shown([each.key for each in found])] == (
            [name] if is_plain(f"memory/{name}.md") else []
        )
        assert engine.beginning(word, None)[0].startswith(word)
        hostile = Filter(section=name, kind=name, tags=(name,), file=name)
        assert engine.candidates(asked, totals, (hostile, TODAY), (name,), 10) == []
    engine.drop(list(names)[:-1])
    assert engine.totals(None).documents == 1
    assert {name for name, *_ in rows_of(engine, "SHOW TABLES")} == {
        *("entries", "entries_incoming", "files", "held", "incoming", "postings"),
        "postings_incoming",
    }


def test_values_do_not_get_into_the_sql():
    """f-strings of SQL hold constants and numbers alone."""
    tree = ast.parse(Path(clickhouse.__file__).read_text(encoding="utf-8"))
    allowed = {"n"}
    sql = 0
    for string in [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]:
        text = "".join(v.value for v in string.values if isinstance(v, ast.Constant))
        if not any(
            word in text for word in ("SELECT", "WHERE", "term ", "repo ", " IN ", ";", "TABLE")
        ):
            continue
        sql += 1
        names = {node.id for node in ast.walk(string) if isinstance(node, ast.Name)}
        constants = {name for name in names if name.lstrip("_").isupper()}
        assert names - constants <= allowed | {"ranking", "alternatives"}, ast.unparse(string)
    assert sql >= 3


def test_beginnings(engine: ClickHouseEngine):
    engine.put(
        [change("a", {"MEMORY.md": "- migration migrants mother\n- under_score percent%\n"})]
    )
    assert engine.beginning("migr", None) == sorted({stem("migration"), stem("migrants")})
    assert engine.beginning("m_", None) == engine.beginning("%", None) == []


SECRET = "hunter2secretword"


def decoded(folder: Path) -> Iterator[bytes]:
    """The bytes of each file in a folder, and of its compressed blocks."""
    for path in [each for each in folder.rglob("*") if each.is_file()]:
        data = path.read_bytes()
        yield data
        position = 0
        while position + 25 <= len(data) and data[position + 16] in (0x02, 0x82, 0x90, 0x91):
            method, size, whole = struct.unpack_from("<BII", data, position + 16)
            yield from unpacked(data[position + 25 : position + 16 + size], method, whole)
            position += 16 + size


def unpacked(block: bytes, method: int, size: int) -> Iterator[bytes]:
    """Of words; what is compressed in two steps (0x91) are numbers."""
    lz4, zstandard = pytest.importorskip("lz4.block"), pytest.importorskip("zstandard")
    if method == 0x82:
        yield lz4.decompress(block, uncompressed_size=size)
    elif method == 0x90:
        yield zstandard.ZstdDecompressor().decompress(block, max_output_size=size)
    elif method == 0x02:
        yield block


@pytest.mark.costly
def test_purged_to_the_byte(
    folder: Path, engine: ClickHouseEngine, connect: Callable[[], ClickHouseEngine]
):
    def numbers() -> int:
        return sum(data.count(SECRET.encode()) for data in decoded(folder))

    kept = {"memory/kept.md": "- kept cat\n", "MEMORY.md": f"- cat {SECRET} #{SECRET}\n"}
    engine.put([change("a", kept), change(f"{SECRET}-repository", {"MEMORY.md": "- cat\n"})])
    engine.put([change("b", {f"memory/{SECRET}.md": "- cat of b\n", "MEMORY.md": "- cat B\n"})])
    assert numbers() > 0
    engine.put([change("a", {"MEMORY.md": "- cat\n"}, ONE, TWO)])
    engine.put([change("b", {}, ONE, TWO, gone=[f"memory/{SECRET}.md"])])
    engine.drop([f"{SECRET}-repository"])
    reader = connect()
    found = search(reader, "cat")
    before = reader.shown([each.key for each in found])
    engine.purge()
    assert numbers() == 0
    assert reader.shown([each.key for each in found]) == before
    assert sorted(texts(engine, "cat")) == [
        *(("a", "cat"), ("a", "kept cat"), ("b", "cat B")),
    ]
    assert engine.held() == {"a": Held(TWO, FORM), "b": Held(TWO, FORM)}
    assert rows_of(engine, "SELECT count() FROM entries") == [(3,)]
    engine.put([change("b", {f"memory/{SECRET}.md": "- once more\n"}, TWO, THREE)])
    assert texts(engine, "once") == [("b", "once more")]


@pytest.mark.costly
def test_rows_that_a_purge_takes_before_their_mark_are_put_again(
    engine: ClickHouseEngine,
    connect: Callable[[], ClickHouseEngine],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(clickhouse, "_SECONDS_OF_OLD_PARTS", 0)
    other, insert, purges = connect(), engine._insert, count()

    def purging(table: str, rows: Sequence[Sequence[Any]]) -> None:
        insert(table, rows)
        if table == "incoming_all" and next(purges) == 0:
            with pytest.raises(FleetProblem, match="old parts"):
                other.purge()

    monkeypatch.setattr(engine, "_insert", purging)
    engine.put([change("a", {"MEMORY.md": "- the cat\n"})])
    assert next(purges) == 2
    assert texts(engine, "cat") == [("a", "the cat")]


def test_rows_that_the_client_sent_twice_are_put_again(
    engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch
):
    insert, times = engine._insert, count()

    def twice(table: str, rows: Sequence[Sequence[Any]]) -> None:
        insert(table, rows)
        if table == "incoming_all" and next(times) == 0:
            insert(table, rows)

    monkeypatch.setattr(engine, "_insert", twice)
    engine.put([change("a", {"MEMORY.md": "- the cat\n"}), change("b", {})])
    assert next(times) == 2
    assert engine.counts([("text", "cat")], None) == {("text", "cat"): 1}
    assert engine.held().keys() == {"a", "b"}


def test_what_was_purged_since_it_was_found(engine: ClickHouseEngine):
    engine.put([change("a", {"MEMORY.md": "- the cat\n"})])
    [found] = search(engine, "cat")
    file, place = found.key
    with pytest.raises(FleetProblem, match="purged") as caught:
        engine.shown([found.key, (file + 1, place)])
    assert caught.value.code == "fleet-failed"


PASSWORD = "pass-word-of-mine"
ENVIRONMENT = {"MDMEM_FLEET_USER": "mdmem_search", "MDMEM_FLEET_PASSWORD": PASSWORD}


class Server(BaseHTTPRequestHandler):
    code, body = 516, "mdmem_search: Authentication failed: password is incorrect"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = f"Code: {self.code}. DB::Exception: {self.body}. (NAME)".encode()
        self.send_response(500)
        self.send_header("X-ClickHouse-Exception-Code", str(self.code))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST  # noqa: N815 - BaseHTTPRequestHandler calls it so

    def log_message(self, *args: Any) -> None: ...


@pytest.fixture(autouse=True)
def _without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


def failure_of(address: str) -> FleetProblem:
    with pytest.raises(FleetProblem) as caught:
        ClickHouseEngine.connect(address, ENVIRONMENT, seconds=1)
    failure = caught.value
    while failure is not None:  # nor in those that led to it
        assert PASSWORD not in repr(failure)
        assert PASSWORD not in str(failure)
        failure = failure.__context__
    return caught.value


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (516, "fleet-refused"),
        (497, "fleet-refused"),
        (279, "fleet-partial"),
        (159, "fleet-unreachable"),
        (243, "fleet-failed"),
    ],
)
def test_what_the_server_says(monkeypatch: pytest.MonkeyPatch, code: int, expected: str):
    monkeypatch.setattr(Server, "code", code)
    with HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        failure = failure_of(f"http://127.0.0.1:{server.server_port}/memory")
        server.shutdown()
    assert failure.code == expected
    assert f"Code: {code}" in failure.message


def test_a_server_that_is_away_or_mute():
    with socket() as mute:
        mute.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{mute.getsockname()[1]}"
        assert failure_of(address).code == "fleet-unreachable"
        mute.listen()
        assert failure_of(address).code == "fleet-unreachable"


class Old:
    server_version = "23.12.1.5"


def test_an_old_server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clickhouse, "get_client", lambda **_: Old())
    assert failure_of("https://ch.example:8443/memory").code == "fleet-version"
    monkeypatch.setattr(Old, "server_version", "24.8.1.1")
    assert ClickHouseEngine.connect("https://ch.example/memory?cluster=main", ENVIRONMENT)


@pytest.mark.parametrize("cluster", ["a'b", "a b", "%27%3B", "{x}", "$"])
def test_a_cluster_that_cannot_be_one(cluster: str):
    with pytest.raises(WorkspaceProblem) as caught:
        ClickHouseEngine.connect(f"https://ch.example/memory?cluster={cluster}", ENVIRONMENT)
    assert caught.value.code == "bad-settings"


@pytest.mark.parametrize("at", ["https://h/memory", "https://h:8443/memory?cluster=main"])
def test_the_setup_is_sql(engine: ClickHouseEngine, at: str):
    sql = setup_sql(at)
    statements = list(filter(str.strip, sql.split(";")))
    for statement in statements:
        written = {"sql": statement.strip()}
        [[read]] = engine._client.query("SELECT formatQuery({sql:String})", written).result_rows
        is_shared = re.match("CREATE|GRANT", read) is not None and "cluster=" in at
        assert ("ON CLUSTER main" in read) == is_shared, read
    assert ("Replicated" in sql) == ("cluster=" in at)
    assert "memory.* TO mdmem_search" in sql
    assert not re.search(r"\$|DATABASE", sql)


def test_tables_that_are_there_are_not_made_again(
    engine: ClickHouseEngine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine, "_run", pytest.fail)  # whoever indexes may not make tables
    engine.make()


def test_a_path_that_is_not_text(engine: ClickHouseEngine):
    path, other = b"memory/\xff.md".decode(errors="surrogateescape"), "memory/\\udcff.md"
    engine.put([change("a", {path: "- cat of bytes\n", other: "- cat of text\n"})])
    assert sorted(texts(engine, "cat")) == [("a", "cat of bytes"), ("a", "cat of text")]
    engine.put([change("a", {}, ONE, TWO, gone=[path])])
    assert texts(engine, "cat") == [("a", "cat of text")]
