"""The cases of a fleet in a folder once more on ClickHouse: by chdb, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import test_fleet as cases
from conftest import World

from mdmem.fleet.settings import Fleet

pytest.importorskip("chdb", reason="chdb is not installed (the extra fleet-test)")
clickhouse_connect = pytest.importorskip(
    "clickhouse_connect", reason="clickhouse-connect is not installed (the extra fleet)"
)
clickhouse = pytest.importorskip("mdmem.fleet.clickhouse")
pytestmark = pytest.mark.costly
NUMBERED = count(1)


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engines")


class Organisation(cases.Organisation):
    """One whose fleets are databases; those of one name are one."""

    def __init__(self, *where: Any, engines: Path) -> None:
        super().__init__(*where)
        self.engines, self.clients = engines, list[Any]()
        self._databases: dict[str, str] = {}

    def client(self, database: str | None = None) -> Any:
        path = str(self.engines)
        made = clickhouse_connect.get_client(interface="chdb", path=path, database=database)
        self.clients.append(made)
        return made

    def fleet(self, at: str = "fleet", **settings: Any) -> Fleet:
        (self.folder / at).mkdir(mode=0o700, exist_ok=True)
        fleet = super().fleet(at, **settings)
        if at not in self._databases:
            self._databases[at] = f"fleet{next(NUMBERED)}"
            self.client().command(f"CREATE DATABASE {self._databases[at]}")
        fleet.engine = clickhouse.ClickHouseEngine(self.client(self._databases[at]))
        return fleet


@pytest.fixture
def organisation(
    world: World, tmp_path: Path, empty_repository: Path, engines: Path
) -> Iterator[Organisation]:
    made = Organisation(world, tmp_path / "org", empty_repository, engines=engines)
    yield made
    for client in made.clients:
        client.close()


class TestIndexing(cases.TestIndexing):
    def test_rows_of_another_form_are_made_again(
        self, organisation: Organisation, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(cases, "folders", clickhouse)
        super().test_rows_of_another_form_are_made_again(organisation, monkeypatch)


class TestRights(cases.TestRights):
    pass


class TestAsking(cases.TestAsking):
    pass
