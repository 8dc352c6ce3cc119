"""A second process reads files as the first one would; where it fails, the first one reads them all."""

import io
import os
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, append, desk

from mdmem import listing
from mdmem.catchup import changed_files, index, page_worker, pages, trail_update
from mdmem.catchup.page_worker import FileAnswer, PageWorker
from mdmem.model import FilePath
from mdmem.model.writes import Log
from mdmem.search.indexer import file_fields
from mdmem.search.query import Filter

CURATED = """---
name: Ada
tags: [home]
---
# Memory

## Work

- works at Stripe #job
- [decision] editor: vim (until 2027-01-01)

## 東京

- 東京駅で会う
"""


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    at = desk(world, repository, seed=CURATED)
    at.apply(append("- drinks maté", section=None))
    at.apply(Log("it rained? yes"))
    at.write("memory/bad.md", b"caf\xe9\n")
    at.write("memory/gone.md", "- was here\n")
    at.write("memory/a.md", "- tea\n- coffee\n")
    at.commit()
    at.write("memory/a.md", "- tea\n- water\n")
    at.write("memory/new.md", "- not in any commit\n")
    (at.root / "memory/gone.md").unlink()
    return at


def paths_of(at: Desk) -> list[FilePath]:
    return [FilePath(str(path.relative_to(at.root))) for path in sorted(at.root.rglob("*.md"))]


def read_by_worker(at: Desk, worker: PageWorker, settings: str) -> tuple[list[FileAnswer], deque[list[FilePath]]]:
    """What it answers, and what it leaves to others."""
    with trail_update.fresh_trail(at.workspace) as trail:
        assert trail.newest_commit
        chunks = deque([path] for path in paths_of(at))
        answers = list(worker.read(chunks, trail.newest_commit.commit, settings, len(chunks)))
    return [answer for answer in answers if answer is not None], chunks


def read_here(at: Desk) -> list[FileAnswer]:
    with trail_update.fresh_trail(at.workspace) as trail:
        reader = pages.PageReader(at.workspace, trail, 1)
        answers = []
        for path in paths_of(at):
            snapshot_file, page = reader.read(listing.list_file(at.root, path, (at.root / path).lstat()), None)
            assert page is not None
            answers.append((snapshot_file, file_fields(page, "english")))
    return answers


def test_it_reads_files_as_the_first_process_does(at: Desk):
    settings = trail_update.settings_digest(at.workspace)
    for path in paths_of(at):
        os.utime(at.root / path, (1_700_000_000, 1_700_000_000))
    with page_worker.started(at.workspace) as worker:
        assert worker
        answers, left = read_by_worker(at, worker, settings)
    assert not left
    assert [fields for _, fields in answers] == [fields for _, fields in read_here(at)]
    assert [file.skipped for file, _ in answers] == [file.skipped for file, _ in read_here(at)]


def test_it_reads_nothing_by_other_settings(at: Desk):
    with page_worker.started(at.workspace) as worker:
        assert worker
        answers, left = read_by_worker(at, worker, "others")
    assert not answers
    assert [path for chunk in left for path in chunk] == paths_of(at)


def test_one_that_ends_leaves_the_rest_to_the_first(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "false")
    with page_worker.started(at.workspace) as worker:
        assert worker
        answers, left = read_by_worker(at, worker, trail_update.settings_digest(at.workspace))
    assert not answers
    assert [path for chunk in left for path in chunk] == paths_of(at)


def test_one_that_cannot_be_started_is_none(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with page_worker.started(at.workspace) as worker:
        assert worker is None


def test_it_ends_with_its_pipe(at: Desk):
    with page_worker.started(at.workspace) as worker:
        assert worker
        assert worker._process.stdin
        worker._process.stdin.close()
        assert worker._process.wait(60) == 0


def test_a_file_that_is_gone_is_left_out(at: Desk):
    requests, answers = io.BytesIO(), io.BytesIO()
    with trail_update.fresh_trail(at.workspace) as trail:
        assert trail.newest_commit
        first = (trail.newest_commit.commit, trail_update.settings_digest(at.workspace), 1)
    for value in (first, [FilePath("memory/gone.md"), FilePath("MEMORY.md")]):
        page_worker._send(requests, value)
    requests.seek(0)
    assert page_worker.main(at.root, os.environ, requests, answers) == 0
    answers.seek(0)
    assert [path for path, *_ in page_worker._receive(answers)] == ["MEMORY.md"]


@pytest.mark.parametrize("executable", [sys.executable, "false", "/nowhere/python"])
def test_the_index_of_two_processes_is_that_of_one(at: Desk, monkeypatch: pytest.MonkeyPatch, executable: str):
    monkeypatch.setattr(changed_files, "_MUCH_BYTES", 0)
    monkeypatch.setattr(changed_files, "_CHUNK_BYTES", 1)
    monkeypatch.setattr(sys, "executable", executable)
    rebuilt = index.rebuild_index(at.workspace, full=True, say=lambda _: None)
    alone = index.fresh_index(replace(at.workspace, state=Path(os.devnull, "anew")), lambda _: None)
    assert rebuilt.index.entries(Filter()) == alone.index.entries(Filter())
    assert index.index_as_is(at.workspace)[1]
