"""The engine on a current ClickHouse: a cluster, or one server, that MDMEM_TEST_CLICKHOUSE names.

The address holds name and password of an account that may make databases and users, and the
cluster: `http://default:secret@127.0.0.1:8123/default?cluster=main` (compose.yaml makes one).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from datetime import date
from urllib.parse import urlsplit, urlunsplit

import pytest
from test_fleet_shards import ASKED, account, changes, found

from mdmem.fleet.clickhouse import ClickHouseEngine, setup_sql
from mdmem.fleet.engine import Change, FleetTerm
from mdmem.index.query import Filter
from mdmem.model import CommitId
from mdmem.model.errors import FleetProblem

ADDRESS = os.environ.get("MDMEM_TEST_CLICKHOUSE", "")
if not ADDRESS:
    pytest.skip("MDMEM_TEST_CLICKHOUSE names no ClickHouse", allow_module_level=True)


def connected(name: str, password: str, database: str, seconds: int = 60) -> ClickHouseEngine:
    url = urlsplit(ADDRESS)
    host = url.netloc.rpartition("@")[2]
    at = urlunsplit((url.scheme, host, f"/{database}", url.query, ""))
    environment = {"MDMEM_FLEET_USER": name, "MDMEM_FLEET_PASSWORD": password}
    return ClickHouseEngine.connect(at, environment, seconds)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A database of the test's own on all machines, with the tables and users of the setup."""
    url = urlsplit(ADDRESS)
    name = f"mdmem_test_{secrets.token_hex(4)}"
    admin = connected(url.username or "default", url.password or "", "default")
    on = " ON CLUSTER '$'" if "cluster=" in ADDRESS else ""
    admin._run(f"CREATE DATABASE {name}{on}".replace("$", admin._cluster))
    own = connected(url.username or "default", url.password or "", name)
    sql = setup_sql(urlunsplit((url.scheme, "host", f"/{name}", url.query, "")))
    for user in ("mdmem_index", "mdmem_search"):
        sql = sql.replace(user, f"{name}_{user}")
    for statement in filter(str.strip, sql.replace("PASSWORD", name).split(";")):
        own._client.command(statement)
    yield name
    for user in ("mdmem_index", "mdmem_search"):
        for kind in ("USER", "SETTINGS PROFILE"):
            admin._run(f"DROP {kind} {name}_{user}{on}".replace("$", admin._cluster))
    admin._run(f"DROP DATABASE {name}{on} SYNC".replace("$", admin._cluster))


@pytest.fixture(scope="module")
def indexer(database: str) -> ClickHouseEngine:
    engine = connected(f"{database}_mdmem_index", database, database)
    engine.make()
    engine.put(changes())
    return engine


def test_a_searcher_finds_what_the_indexer_put(indexer: ClickHouseEngine, database: str):
    searcher = connected(f"{database}_mdmem_search", database, database)
    assert account(searcher) == account(indexer)
    assert len(found(searcher)) == 100
    assert searcher.answering == searcher.describe()["shards"] == searcher.describe()["answering"]


def test_a_searcher_changes_nothing_and_raises_no_limit(indexer: ClickHouseEngine, database: str):
    searcher = connected(f"{database}_mdmem_search", database, database)
    for change in (searcher.purge, lambda: searcher.drop(["x"]), lambda: searcher.put(changes())):
        with pytest.raises(FleetProblem):
            change()
    for setting in ("max_execution_time", "max_memory_usage", "max_rows_to_read"):
        with pytest.raises(FleetProblem):
            searcher._ask("SELECT 1", None, **{setting: 10**12})
    with pytest.raises(FleetProblem) as caught:
        connected(f"{database}_mdmem_search", "wrong", database)
    assert caught.value.code == "fleet-refused"


def test_thousands_of_repositories_and_long_questions(indexer: ClickHouseEngine):
    many = tuple(
        sorted([*(f"/srv/{n}/" + "x" * 80 for n in range(10_000)), changes()[0].repository])
    )
    assert indexer.totals(many).documents == 40
    asked = [*ASKED, *(FleetTerm("text", f"word{number}", 1.0) for number in range(2000))]
    day = date(2026, 1, 1)
    passing = Filter(valid_on=day), day
    assert indexer.candidates(asked, indexer.totals(many), passing, many, 10)


def test_purge_leaves_no_old_part_on_any_replica(indexer: ClickHouseEngine):
    name = changes()[1].repository
    before = indexer.held()[name].commit
    indexer.put([Change(repository=name, before=before, commit=CommitId("9" * 40), whole=True)])
    indexer.purge()
    assert indexer.totals((name,)).documents == 0
    assert len(found(indexer)) == 100
