"""The list of files: which, in what order, with what numbers."""

import os
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, code_of, desk

from mdmem.memory import Memory
from mdmem.model import FilePath
from mdmem.model.reads import FileRow, ListFiles
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Forget, Log, Remember

ALL = ListFiles()
SEED = "# Memory\n\n- before all\n\n## Work\n\n- works at Stripe\n- has a desk\n\n## Home\n"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository, seed=SEED)


@pytest.fixture
def memory(at: Desk) -> Memory:
    return Memory.open(at.root, os.environ)


def rows(memory: Memory, wanted: ListFiles = ALL) -> list[FileRow]:
    return list(memory.files(wanted).files)


def row_of(memory: Memory, path: str) -> FileRow:
    (row,) = [row for row in rows(memory) if row.path == path]
    return row


def counts(row: FileRow) -> list[tuple[str, int, int]]:
    return [(each.section[-1], each.level, each.facts) for each in row.sections]


def test_sections_with_their_current_facts(memory: Memory) -> None:
    row = row_of(memory, "MEMORY.md")
    assert (row.title, row.facts) == ("Memory", 3)
    assert counts(row) == [("Memory", 1, 1), ("Work", 2, 2), ("Home", 2, 0)]
    memory.apply(Log("rain"))
    memory.apply(Log("wind"))
    memory.apply(Forget("rain"))
    log = row_of(memory, "memory/2026-03-05.md")
    assert (log.title, log.facts) == ("2026-03-05", 1)
    assert log.facts == memory.facts(ListFacts(file=log.path)).total


def test_the_last_changed_comes_first(at: Desk, memory: Memory) -> None:
    at.write("memory/a.md", "- one\n")
    at.git("add", "-A")
    at.git("commit", "-q", "-m", "a", "--date=2026-03-01T10:00:00+00:00")
    memory.apply(Remember("tea", section="Home"))
    assert [row.path for row in rows(memory)][:1] == ["MEMORY.md"]
    at.write("memory/a.md", "- one\n- two, not saved\n")
    first, *_ = rows(memory)
    assert (first.path, first.facts) == ("memory/a.md", 2)
    assert first.changed is not None
    assert first.changed.timestamp() == pytest.approx(
        (at.root / "memory/a.md").stat().st_mtime, abs=1e-3
    )


def test_daily_logs_are_left_out_where_asked(memory: Memory) -> None:
    memory.apply(Log("rain"))
    listed = memory.files(ListFiles(without_logs=True))
    assert ([row.path for row in listed.files], listed.total) == (["MEMORY.md"], 1)
    assert memory.files(ListFiles()).total == 2


def test_one_file_comes_before_those_that_changed_later(at: Desk, memory: Memory) -> None:
    for number in range(3):
        at.write(f"memory/{number}.md", f"- fact {number}\n")
    first = FilePath("MEMORY.md")
    assert first not in [row.path for row in rows(memory, ListFiles(limit=3))]
    assert [row.path for row in rows(memory, ListFiles(limit=1, first=first))] == [first]
    assert len(rows(memory, ListFiles(first=FilePath("memory/none.md")))) == 4


def test_pages(at: Desk, memory: Memory) -> None:
    for number in range(5):
        at.write(f"memory/{number}.md", f"- fact {number}\n")
    at.commit()
    every = rows(memory)
    assert len(every) == 6
    pages = [memory.files(ListFiles(limit=2, offset=offset)) for offset in (0, 2, 4, 6)]
    assert [row for page in pages for row in page.files] == every
    assert {page.total for page in pages} == {6}
    assert code_of(lambda: ListFiles(limit=0)) == code_of(lambda: ListFiles(offset=-1)) == "usage"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: In front\n---\n# Heading\n", "In front"),
        ("---\nTitle: two: colons\n---\n", "two: colons"),
        ("---\ntags: [x]\n---\n# Heading\n", "Heading"),
        ("no heading\n\n## Later one\n", "Later one"),
        ("- a fact\n", ""),
        ("", ""),
    ],
)
def test_titles(at: Desk, memory: Memory, text: str, title: str) -> None:
    at.write("memory/a.md", text)
    assert row_of(memory, "memory/a.md").title == title


def test_sections_of_one_name_each_have_their_own(at: Desk, memory: Memory) -> None:
    at.write("memory/a.md", "## Twice\n\n- one\n\n## Twice\n\n- two\n- three\n")
    assert [each.facts for each in row_of(memory, "memory/a.md").sections] == [1, 2]


def test_a_file_that_is_named_like_another_counts_its_own(at: Desk, memory: Memory) -> None:
    at.write("memory/MEMORY.md", "- of the other\n")
    assert row_of(memory, "MEMORY.md").facts == 3
    assert row_of(memory, "memory/MEMORY.md").facts == 1


def test_a_file_that_cannot_be_read_is_listed(at: Desk, memory: Memory) -> None:
    at.write("memory/a.md", b"\xff\xfe")
    row = row_of(memory, "memory/a.md")
    assert (row.title, row.sections, row.facts) == ("", (), 0)


def test_a_fact_that_expired_is_not_counted(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.apply(Remember("on leave", section="Home", until="2026-03-06"))
    assert row_of(memory, "MEMORY.md").facts == 4
    monkeypatch.setenv("MDMEM_NOW", "2026-03-07T00:00:01")
    assert row_of(memory, "MEMORY.md").facts == 3
