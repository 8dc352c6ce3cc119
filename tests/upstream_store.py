"""LangGraph's own tests of stores, with mdmem's store in place of theirs (`make test-langgraph`).

As a program it takes them from the source packages, which stay out of the repository, and runs them
with itself as a plugin: `InMemoryStore` and `SqliteStore` are then `MdmemStore`, each in a workspace
of its own. Tests of vectors, of times to live and of SQLite alone are skipped.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SOURCES = {"langgraph-checkpoint": "4.3.2", "langgraph-checkpoint-sqlite": "3.1.2"}
VECTORS = ("vector", "embed", "non_ascii", "scores")
OWN = {
    "test_escape_glob_literal",
    "test_list_namespaces_prefix_uses_indexable_condition",
    "test_namespace_match_pattern",
    "test_nonnull_migrations",
    "test_sql_injection_vulnerability",
}
"""Tests of how SQLite is asked."""
SETTINGS = "[user]\nname = Ada\nemail = ada@example.org\n"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        packages = [f"{name}=={version}" for name, version in SOURCES.items()]
        source = ["--no-deps", "--no-binary", ":all:"]
        command = [sys.executable, "-m", "pip", "download", "-q", "-d", folder, *source, *packages]
        subprocess.run(command, check=True)
        statuses = []
        for archive in sorted(Path(folder).glob("*.tar.gz")):
            with tarfile.open(archive) as opened:
                opened.extractall(folder, filter="data")
            root = archive.with_suffix("").with_suffix("")
            shutil.rmtree(root / "langgraph")  # the installed one is meant
            command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "upstream_store"]
            command += ["-p", "no:cacheprovider", "--asyncio-mode=auto", "tests/test_store.py"]
            environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
            statuses.append(
                subprocess.run(command, cwd=root, env=environment, check=False).returncode
            )
        return max(statuses)


def pytest_configure() -> None:
    """Put the store in place of theirs, in a home without the machine's settings."""
    home = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    Path(home, ".gitconfig").write_text(SETTINGS, encoding="utf-8")
    os.environ |= {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home}

    import langgraph.store.memory as in_memory

    import mdmem
    from mdmem.langgraph import MdmemStore

    class Store(MdmemStore):
        def __init__(self, **_: Any) -> None:
            folder = tempfile.mkdtemp(dir=home)
            Path(folder, "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
            for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "seed"]):
                subprocess.run(["git", *words], cwd=folder, check=True)
            super().__init__(mdmem.open(folder))

        @classmethod
        @contextmanager
        def from_conn_string(cls, _: str, **options: Any) -> Iterator["Store"]:
            yield cls(**options)

        def setup(self) -> None:
            """Nothing to do."""

    in_memory.InMemoryStore = Store
    sqlite, base = ModuleType("langgraph.store.sqlite"), ModuleType("langgraph.store.sqlite.base")
    sqlite.SqliteStore = Store
    for name in ("NS_MATCH_FUNCTION", "BaseSqliteStore", "SqliteIndexConfig"):
        setattr(base, name, None)
    base._escape_glob_literal = base._namespace_match_pattern = None
    sys.modules |= {sqlite.__name__: sqlite, base.__name__: base}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what the store does not have."""
    for item in items:
        name = item.name.partition("[")[0]
        if any(word in name for word in VECTORS):
            item.add_marker(pytest.mark.skip(reason="vectors"))
        if name in OWN:
            item.add_marker(pytest.mark.skip(reason="SQLite's own"))


if __name__ == "__main__":
    sys.exit(main())
