"""The SQL of the engine on ClickHouse, spread over two servers of Debian's version on loopback.

This shows that a question is shared out, rights hold, and a missing shard is told. The old version
has no typed parameters, which are written out here, and other names for two settings; its tables
are made without codecs. It says nothing about replicas.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import pytest

pytest.importorskip("clickhouse_connect", reason="clickhouse-connect is not installed (fleet)")

from clickhouse_connect.driver.exceptions import DatabaseError, OperationalError

from mdmem.fleet.clickhouse import ClickHouseEngine
from mdmem.fleet.engine import Change, FleetCandidate, FleetTerm
from mdmem.folder import installed
from mdmem.index.indexer import FileFields
from mdmem.index.query import Filter
from mdmem.index.schema import LANGUAGE, LENGTHS
from mdmem.model import CommitId, FilePath
from mdmem.model.errors import FleetProblem

pytestmark = [
    pytest.mark.costly,
    pytest.mark.skipif(
        shutil.which("clickhouse-server") is None, reason="clickhouse-server is not installed"
    ),
]
TODAY = date(2026, 1, 1)
ONE, TWO = CommitId("1" * 40), CommitId("2" * 40)
FIRST_PORT = 19370

CONFIG = """<yandex>
<logger><level>error</level><log>{0}/log</log><errorlog>{0}/err</errorlog></logger>
<tcp_port>{1}</tcp_port><http_port>{2}</http_port><listen_host>127.0.0.1</listen_host>
<path>{0}/</path><tmp_path>{0}/tmp/</tmp_path><mark_cache_size>100000000</mark_cache_size>
<users_config>{0}/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><remote_servers><main>{3}</main></remote_servers>
</yandex>"""
SHARD = "<shard><replica><host>127.0.0.1</host><port>{}</port></replica></shard>"
USERS = """<yandex><profiles><default/></profiles><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
</users><quotas><default/></quotas></yandex>"""

VIEW = """CREATE MATERIALIZED VIEW IF NOT EXISTS postings_{0} TO postings AS
SELECT concat({1}, word, {2}) AS term, file, place,
    toUInt16(countEqual(splitByChar(' ', {0}), word)) AS times,
    toUInt16(length(splitByChar(' ', {0}))) AS length
FROM incoming ARRAY JOIN arrayDistinct(splitByChar(' ', {0})) AS word"""
"""One for each field, since the old version has no views of several steps."""

# The old version's spelling of what the module says.
SPELLINGS = {"toUnixTimestamp64Micro(now64(6))": "toUnixTimestamp(now()) * 1000000"}
SETTINGS = {
    "distributed_foreground_insert": "insert_distributed_sync",
    "async_insert": None,
    "use_index_for_in_with_subqueries_max_values": None,
}


def written(value: Any, brackets: str = "[]") -> str:
    if isinstance(value, list):
        return brackets[0] + ",".join(map(written, value)) + brackets[1]
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return repr(value)


class OldClient:
    """A client of an old server, with as much as the engine asks of it."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/?"
        self._opener = build_opener(ProxyHandler({}))

    def _send(self, sql: str, settings: Mapping[str, Any], data: str = "") -> str:
        names = {name: SETTINGS.get(name, name) for name in settings}
        asked = {names[name]: value for name, value in settings.items() if names[name]}
        asked["output_format_json_quote_64bit_integers"] = 0
        request = Request(self._url + urlencode(asked), f"{sql}\n{data}".encode())
        try:
            with self._opener.open(request, timeout=20) as answer:
                return str(answer.read().decode())
        except HTTPError as problem:
            words = problem.read().decode()
            raise DatabaseError(words, code=int(words.split("Code: ")[1].split(",")[0])) from None
        except URLError as problem:
            raise OperationalError(str(problem)) from None

    def _bound(self, sql: str, values: Mapping[str, Any]) -> str:
        for new, old in SPELLINGS.items():
            sql = sql.replace(new, old)
        return re.sub(
            r"(IN )?\{(\w+):[^}]*\}",
            lambda match: (
                f"{match[1] or ''}{written(values[match[2]], '()' if match[1] else '[]')}"
            ),
            sql,
        )

    def query(
        self,
        sql: str,
        values: Mapping[str, Any] | None,
        settings: Mapping[str, Any],
        column_formats: Mapping[str, str],
    ) -> SimpleNamespace:
        answer = json.loads(self._send(self._bound(sql, values or {}) + " FORMAT JSON", settings))
        names = [each["name"] for each in answer["meta"]]
        rows = [
            [row[name].encode() if name in column_formats else row[name] for name in names]
            for row in answer["data"]
        ]
        return SimpleNamespace(result_rows=rows)

    def command(
        self, sql: str, values: Mapping[str, Any] | None, settings: Mapping[str, Any]
    ) -> None:
        self._send(self._bound(sql, values or {}), settings)

    def insert(
        self,
        table: str,
        rows: Sequence[Sequence[Any]],
        names: Sequence[str],
        settings: Mapping[str, Any],
    ) -> None:
        records = [dict(zip(names, row, strict=True)) for row in rows]
        lines = [json.dumps(each, default=bytes.decode) for each in records]
        listed = ", ".join(names)
        self._send(f"INSERT INTO {table} ({listed}) FORMAT JSONEachRow", settings, "\n".join(lines))


def tables() -> Iterator[str]:
    """The tables as the old version can make them."""
    sql = installed.template("fleet/tables.sql") + installed.template("fleet/cluster.sql")
    sql = re.sub(r" CODEC\((?:[^()]|\([^()]*\))*\)", "", sql.replace("$", "main"))
    sql = re.sub(r"LowCardinality\((\w+)\)", r"\1", sql)
    sql = re.sub(r"SETTINGS[^;]*(?=;)", "SETTINGS index_granularity = 256", sql)
    statements = filter(str.strip, sql.split(";"))
    yield from (each for each in statements if "postings_incoming" not in each)
    yield VIEW.format("label", "'label '", "''")
    yield from (VIEW.format(name, "''", f"' {name}'") for name in (*LENGTHS, LANGUAGE))


class Shards:
    def __init__(self, folder: Path) -> None:
        ports = [FIRST_PORT, FIRST_PORT + 1]
        self.processes = list[subprocess.Popen[bytes]]()
        self.http = [FIRST_PORT + 10, FIRST_PORT + 11]
        for number, (tcp, http) in enumerate(zip(ports, self.http, strict=True)):
            home = folder / str(number)
            home.mkdir()
            shards = "".join(map(SHARD.format, ports))
            (home / "config.xml").write_text(CONFIG.format(home, tcp, http, shards))
            (home / "users.xml").write_text(USERS)
        self._folder = folder
        self.start(0)
        self.start(1)

    def start(self, number: int) -> None:
        home = self._folder / str(number)
        with (home / "out").open("wb") as out:
            process = subprocess.Popen(
                ["clickhouse-server", f"--config-file={home}/config.xml"],
                cwd=home,
                stdout=out,
                stderr=out,
            )
        self.processes[number:] = [process, *self.processes[number + 1 :]]
        client = OldClient(self.http[number])
        for _ in range(100):
            try:
                client._send("SELECT 1", {})
                return
            except OperationalError:
                time.sleep(0.1)
        pytest.fail((home / "out").read_text() + (home / "err").read_text())

    def stop(self, number: int) -> None:
        self.processes[number].kill()
        self.processes[number].wait()


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shards]:
    servers = Shards(tmp_path_factory.mktemp("shards"))
    for port in servers.http:
        client = OldClient(port)
        for statement in tables():
            client.command(statement, None, {})
    yield servers
    for number in range(2):
        servers.stop(number)


def document(text: str, day: int = 0, labels: str = "") -> dict[str, Any]:
    return {
        "label": f"path:x said:1 {labels}".strip(),
        "day": day,
        "logged": 0,
        "last": date.max.toordinal(),
        "cues": 0,
        "factor": 1.0,
        "passage": 7,
        "row": [f'"{text}"'.encode()],
        "text": text,
        "text_length": len(text.split()),
    }


def changes() -> list[Change]:
    """Twenty repositories of some files, alike but for some words."""
    words = ["cat", "dog", "bird", "fish", "owl", "it's", "back\\slash", "{terms:String}"]
    return [
        Change(
            repository=f"/srv/{number}'s.git",
            before=None,
            commit=ONE,
            files=[
                FileFields(
                    FilePath(f"memory/{file}.md"),
                    [
                        document(
                            " ".join(words[(number * entry + file) % 8] for entry in range(length)),
                            date(2025, 1, 1 + number).toordinal(),
                            "tag:even" if number % 2 == 0 else "mark:past" if file == 4 else "",
                        )
                        for length in range(1, 9)
                    ],
                )
                for file in range(5)
            ],
        )
        for number in range(20)
    ]


WORDS = ("cat", "it's", "back\\slash", "{terms:String}")
ASKED = [
    FleetTerm("text", word, worth) for word, worth in zip(WORDS, (2.5, 1.0, 0.5, 3.25), strict=True)
]


def found(
    engine: ClickHouseEngine,
    passing: Filter | None = None,
    readable: tuple[str, ...] | None = None,
    limit: int = 100,
) -> list[FleetCandidate]:
    passing = passing or Filter(valid_on=TODAY)
    totals = engine.totals(readable)
    return list(engine.candidates(ASKED, totals, (passing, TODAY), readable, limit))


@pytest.fixture(scope="module")
def engine(shards: Shards) -> ClickHouseEngine:
    cluster = ClickHouseEngine(OldClient(shards.http[0]), "main")
    cluster.put(changes())
    return cluster


def test_rows_of_a_repository_are_on_one_shard(engine: ClickHouseEngine, shards: Shards):
    repositories = [
        {repository for [repository] in client.query(sql, None, {}, {}).result_rows}
        for client in map(OldClient, shards.http)
        for sql in ("SELECT DISTINCT repo FROM entries", "SELECT DISTINCT repo FROM files")
    ]
    assert repositories[0] == repositories[1]
    assert repositories[2] == repositories[3]
    assert repositories[0]
    assert repositories[2]
    assert not repositories[0] & repositories[2]
    assert len(engine.held()) == len(repositories[0] | repositories[2]) == 20
    assert engine.totals(None).documents == 800


def test_equal_to_the_engine_in_this_process(engine: ClickHouseEngine, tmp_path: Path):
    pytest.importorskip("chdb", reason="chdb is not installed (the extra fleet-test)")
    script = tmp_path / "whole.py"
    script.write_text(
        "import sys, json\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import clickhouse_connect\n"
        "import test_fleet_shards as cases\n"
        "client = clickhouse_connect.get_client(interface='chdb', path=sys.argv[2])\n"
        "engine = cases.ClickHouseEngine(client)\n"
        "engine.make()\n"
        "engine.put(cases.changes())\n"
        "print(json.dumps(cases.account(engine)))\n"
    )
    whole = subprocess.run(
        [sys.executable, script, Path(__file__).parent, tmp_path / "chdb"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert whole.returncode == 0, whole.stderr
    expected, here = json.loads(whole.stdout), account(engine)
    assert here["counts"] == expected["counts"]
    assert here["totals"] == expected["totals"]
    for name, answer in expected["found"].items():
        assert len(answer) == len(here["found"][name]) > 0, name
        for (score, tie, row), (own_score, own_tie, own_row) in zip(
            answer, here["found"][name], strict=True
        ):
            assert abs(score - own_score) < 1e-6
            assert (tie, row) == (own_tie, own_row)


def account(engine: ClickHouseEngine) -> dict[str, Any]:
    some = tuple(sorted(each.repository for each in changes()[3:9]))
    cases = {
        "all": found(engine),
        "some": found(engine, readable=some),
        "tagged": found(engine, Filter(tags=("even",))),
        "days": found(engine, Filter(since=date(2025, 1, 5), until=date(2025, 1, 7))),
        "file": found(engine, Filter(file="memory/3.md")),
    }
    terms = [("text", word) for word in WORDS]
    return {
        "counts": sorted([*term, n] for term, n in engine.counts(terms, None).items()),
        "totals": list(engine.totals(some)),
        "found": {
            name: [
                [each.score, each.tie, [repository, row.decode()]]
                for each, (repository, row) in zip(
                    listed, engine.shown([each.key for each in listed]), strict=True
                )
            ]
            for name, listed in cases.items()
        },
    }


def test_rights(engine: ClickHouseEngine):
    names = sorted(each.repository for each in changes())
    for number in range(0, 20, 3):
        readable = tuple(names[number : number + 2])
        shown = engine.shown([each.key for each in found(engine, readable=readable)])
        assert {repository for repository, _ in shown} == set(readable)
        assert engine.totals(readable).documents == 40 * len(readable)
    assert found(engine, readable=()) == []


def test_changes_and_removals(engine: ClickHouseEngine):
    [first, *_] = changes()
    before = found(engine)
    own = (first.repository,)
    engine.put(
        [
            Change(
                repository=first.repository,
                before=ONE,
                commit=TWO,
                files=[FileFields(FilePath("memory/0.md"), [document("cat of now")])],
                gone=[FilePath("memory/1.md")],
            )
        ]
    )
    assert engine.totals(own).documents == 25
    assert any(
        row == b'"cat of now"'
        for _, row in engine.shown([c.key for c in found(engine, readable=own)])
    )
    engine.drop(own)
    assert found(engine, readable=own) == []
    assert len(engine.held()) == 19
    engine.put([first])
    assert [(each.score, each.tie) for each in found(engine)] == [
        (each.score, each.tie) for each in before
    ]


def test_a_shard_that_is_down_is_told(engine: ClickHouseEngine, shards: Shards):
    assert engine.answering == 2
    every = found(engine, limit=1000)
    shards.stop(1)
    try:
        for ask in (
            found,
            ClickHouseEngine.held,
            lambda cluster: cluster.counts([("text", "cat")], None),
        ):
            with pytest.raises(FleetProblem) as caught:
                ask(engine)
            assert caught.value.code == "fleet-partial"
            assert "279" in caught.value.message
        partial = ClickHouseEngine(OldClient(shards.http[0]), "main", partial=True)
        some = found(partial, limit=1000)
        assert partial.answering == 1
        assert 0 < len(some) < len(every)
    finally:
        shards.start(1)
    assert len(found(engine, limit=1000)) == len(every)
    assert engine.answering == 2
