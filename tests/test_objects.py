"""Git's objects, read in bulk and written as packs."""

import zlib
from pathlib import Path

import pytest
from conftest import World
from workspaces import gits

from mdmem.model.errors import RepositoryProblem
from mdmem.purge import history_rewrite
from mdmem.purge.history_rewrite import Objects

LONG = bytes(number % 251 for number in range(5000))
"""As long as needs three bytes for its length in a pack."""


def ids_of_all(world: World, folder: Path) -> list[str]:
    return world.git(
        folder, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"
    ).stdout.split()


def test_what_is_added_is_read_again(world: World, repository: Path) -> None:
    added = Objects(repository, keep=True)
    names = [added.add(b"blob", data) for data in (b"", LONG, LONG)]
    assert ids_of_all(world, repository) == []
    added.flush()
    added.flush()
    assert ids_of_all(world, repository) == sorted(set(names))
    described = added.describe(names)
    assert described == [(names[0], b"blob", 0), *[(names[1], b"blob", len(LONG))] * 2]
    assert [data for _, _, data in added.read(described)] == [b"", LONG, LONG]
    assert (sorted(added.describe_all()), added.describe([])) == (sorted(set(described)), [])
    (pack,) = (repository / ".git" / "objects" / "pack").glob("*.pack")
    assert pack.read_bytes()[:12] == b"PACK" + bytes((0, 0, 0, 2, 0, 0, 0, 2)), (
        "version 2 is what git writes itself"
    )


def test_what_is_not_kept_is_not_written(world: World, repository: Path) -> None:
    added = Objects(repository, keep=False)
    name = added.add(b"blob", LONG)
    added.flush()
    assert ids_of_all(world, repository) == []
    with pytest.raises(RepositoryProblem) as problem:
        added.describe([name])
    assert problem.value.code == "broken-repository"


def test_much_is_written_a_part_at_a_time(
    world: World, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part may be as long as two of these objects, each with two bytes for its length."""
    monkeypatch.setattr(history_rewrite, "_CHUNK_BYTES", 2 * (2 + len(zlib.compress(b"1" * 20, 1))))
    added, written = Objects(repository, keep=True), []
    for number in range(6):
        added.add(b"blob", str(number).encode() * 20)
        written.append(len(ids_of_all(world, repository)))
    assert written == [0, 0, 3, 3, 3, 6]


def test_much_is_read_a_part_at_a_time(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Objects(repository, keep=True)
    names = [kept.add(b"blob", b"x" * size) for size in (4, 6, 1, 9, 20, 3)]
    kept.flush()
    described = kept.describe(names)
    started = gits(monkeypatch)
    monkeypatch.setattr(history_rewrite, "_CHUNK_BYTES", 10)
    assert [(len(data), len(started)) for _, _, data in kept.read(described)] == [
        (4, 1),
        (6, 1),
        (1, 2),
        (9, 2),
        (20, 3),
        (3, 4),
    ]
