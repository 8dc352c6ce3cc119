"""A second process prepares and reads files as the first one would; where it fails, the first one
reads them all.
"""

import base64
import io
import json
import marshal
import os
import signal
import subprocess
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from conftest import World
from workspaces import NOW, Desk, append, desk

from mdmem import catchup
from mdmem.catchup import changed_files, index, pages, trail_update
from mdmem.catchup.changed_files import FileAnswer, PageWorker
from mdmem.folder import listing
from mdmem.model import FilePath
from mdmem.model.writes import Forget, Log
from mdmem.repo.worktree import Repository
from mdmem.search.query import Filter
from mdmem.search.snapshot import FileStamp

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


SAID = """---
name: Said "aloud"
---
# Said

- [quote] 東京で "caf\u00e9 \\ au lait"? #a/b
- and\tso on
"""


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    at = desk(world, repository, seed=CURATED)
    at.apply(append("- drinks maté", section=None))
    at.apply(Log("it rained? yes"))
    at.write("memory/bad.md", b"caf\xe9\n")
    at.write("memory/said.md", SAID)
    at.write("memory/gone.md", "- was here\n")
    at.write("memory/a.md", "- tea\n- coffee\n")
    at.commit()
    at.write("memory/a.md", "- tea\n- water\n")
    at.write("memory/new.md", "- not in any commit\n")
    (at.root / "memory/gone.md").unlink()
    return at


def paths_of(at: Desk) -> list[FilePath]:
    return [FilePath(str(path.relative_to(at.root))) for path in sorted(at.root.rglob("*.md"))]


def read_by_worker(
    at: Desk, worker: PageWorker, prepared: int = 0
) -> tuple[list[FileAnswer], deque[list[FilePath]]]:
    """What it answers, and what it leaves to others; so many files are prepared first, in the order
    of their names.
    """
    paths = paths_of(at)
    chunks = deque([path] for path in paths[:prepared])
    worker.prepare(chunks, at.workspace.repository.head())
    chunks.extend([path] for path in paths[prepared:])
    with catchup.fresh_trail(at.workspace) as trail:
        answers = list(worker.read(chunks, trail, len(paths)))
    return [answer for answer in answers if answer is not None], chunks


def read_here(at: Desk) -> list[FileAnswer]:
    with catchup.fresh_trail(at.workspace) as trail:
        reader = pages.PageReader(at.workspace, trail, 1)
        answers = []
        for path in paths_of(at):
            snapshot_file, page = reader.read(
                listing.ListedFile(at.root, path, (at.root / path).lstat()), None
            )
            assert page is not None
            answers.append((snapshot_file, page))
    return answers


def by_path(answers: list[FileAnswer]) -> dict[FilePath, object]:
    """The files by path, each with its documents, whichever form these have."""
    return {
        page.path: (
            replace(file, digest="", stamp=FileStamp(0, 0, 0, 0)),
            list(map(document_values, page.documents)),
        )
        for file, page in answers
    }


def document_values(document: dict[str, Any] | str) -> dict[str, Any]:
    if not isinstance(document, str):
        return document
    values: dict[str, Any] = json.loads(document)
    return values | {"row": [base64.b64decode(values["row"], validate=True)]}


@pytest.mark.parametrize("prepared", [0, 3, 100])
def test_it_reads_files_as_the_first_process_does(at: Desk, prepared: int):
    for path in paths_of(at):
        os.utime(at.root / path, (1_700_000_000, 1_700_000_000))
    with changed_files.started(at.workspace) as worker:
        assert worker
        answers, left = read_by_worker(at, worker, prepared)
    assert not left
    assert len(answers) == len(paths_of(at))
    assert by_path(answers) == by_path(read_here(at))


def prepared_paths(at: Desk) -> set[FilePath]:
    """The files that can be prepared as HEAD has them, and completed by the trail."""
    blobs = changed_files.committed_blobs(at.workspace, at.workspace.repository.head())
    with catchup.fresh_trail(at.workspace) as trail:
        answers = [
            changed_files.prepare_page(at.workspace, path, blobs.get(path), "english")
            for path in paths_of(at)
        ]
        return {
            page.path
            for _, page in filter(None, answers)
            if changed_files.complete(at.workspace, trail, page)
        }


def test_what_has_marks_keys_or_an_end_is_not_prepared(at: Desk):
    at.write("memory/together.md", "# T\n\n- one\n- two\n")
    at.write("memory/empty.md", "")
    at.write("memory/keyed.md", "- editor: vim\n")
    at.write("memory/until.md", "- on leave (until 2026-04-01)\n")
    at.write("2026-01-02.md", "- not memory\n")
    at.write("memory/2026-01-02.md", "# 2026-01-02\n\n- it snowed\n")
    at.write("memory/later.md", "- one\n")
    at.commit()
    at.write("memory/later.md", "- one\n- two\n")
    at.commit()
    at.apply(Forget("it snowed"))
    at.write("memory/new.md", "- not in any commit\n- for now\n")
    assert prepared_paths(at) >= {
        f"memory/{name}.md" for name in ("together", "empty", "said", "later")
    }
    others = ("keyed", "until", "2026-01-02", "bad", "gone", "new")
    assert prepared_paths(at).isdisjoint(f"memory/{name}.md" for name in others)


def test_prepared_entries_have_the_commits_that_brought_them_in(at: Desk):
    at.write("memory/later.md", "# L\n\n- one\n- twice\n\ntext\n")
    at.commit()
    at.apply(append("- twice", section="L", file="memory/later.md"))
    at.write(
        "memory/later.md",
        "# L\n\n- before\n- one\n- twice\n- twice\n\nother \U0001f600 text\n\n- [kind] `a` **b** \\ #tag\n  below\n",
    )
    at.commit()
    blob = changed_files.committed_blobs(at.workspace, at.workspace.repository.head())[
        "memory/later.md"
    ]
    prepared = changed_files.prepare_page(
        at.workspace, FilePath("memory/later.md"), blob, "english"
    )
    with catchup.fresh_trail(at.workspace) as trail:
        assert prepared
        completed = changed_files.complete(at.workspace, trail, prepared[1])
        begun = sorted({each.begun for each in trail.live_occurrences(FilePath("memory/later.md"))})
    assert completed
    read = next(page.documents for _, page in read_here(at) if page.path == "memory/later.md")
    assert list(map(document_values, completed.documents)) == read
    assert sorted({each["begun"] for each in read}) == begun
    assert len(begun) == 3


def test_pages_of_another_commit_are_read_again(at: Desk):
    before = at.workspace.repository.head()
    at.write("memory/b.md", "- tea\n")
    at.commit()
    with changed_files.started(at.workspace) as worker, catchup.fresh_trail(at.workspace) as trail:
        assert worker
        chunks = deque([path] for path in paths_of(at))
        worker.prepare(chunks, before)
        answers = [answer for answer in worker.read(chunks, trail, len(paths_of(at))) if answer]
    assert by_path(answers) == by_path(read_here(at))


@pytest.mark.parametrize("when", ["before", "prepared", "read"])
def test_one_that_is_killed_leaves_the_rest_to_the_first(at: Desk, when: str):
    chunks = deque([path] for path in paths_of(at))
    with changed_files.started(at.workspace) as worker, catchup.fresh_trail(at.workspace) as trail:
        assert worker
        if when == "before":
            os.kill(worker._process.pid, signal.SIGKILL)
            worker._process.wait()
        worker.prepare(chunks, at.workspace.repository.head() if when != "read" else None)
        if when == "prepared":
            os.kill(worker._process.pid, signal.SIGKILL)
        answers: list[FileAnswer] = []
        for answer in worker.read(chunks, trail, len(paths_of(at))):
            if answer is not None:
                answers.append(answer)
                os.kill(worker._process.pid, signal.SIGKILL)
    assert {fields.path for _, fields in answers}.isdisjoint(
        path for chunk in chunks for path in chunk
    )
    assert {fields.path for _, fields in answers} | {
        path for chunk in chunks for path in chunk
    } == set(paths_of(at))


def test_it_reads_nothing_by_other_settings(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(changed_files, "_language", lambda workspace: "french")
    with changed_files.started(at.workspace) as worker:
        assert worker
        answers, left = read_by_worker(at, worker)
    assert not answers
    assert [path for chunk in left for path in chunk] == paths_of(at)


def test_one_that_ends_leaves_the_rest_to_the_first(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "false")
    with changed_files.started(at.workspace) as worker:
        assert worker
        answers, left = read_by_worker(at, worker, prepared=3)
    assert not answers
    assert [path for chunk in left for path in chunk] == paths_of(at)


def test_one_that_cannot_be_started_is_none(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with changed_files.started(at.workspace) as worker:
        assert worker is None


def test_it_ends_with_its_pipe(at: Desk):
    with changed_files.started(at.workspace) as worker:
        assert worker
        assert worker._process.stdin
        worker._process.stdin.close()
        assert worker._process.wait(60) == 0


def test_it_ends_when_nobody_reads_its_answers(at: Desk):
    at.write(
        "memory/long.md",
        "".join(f"- a line about {number} things that nobody reads\n" for number in range(5000)),
    )
    at.commit()
    with changed_files.started(at.workspace) as worker:
        assert worker
        worker.prepare(deque([[FilePath("memory/long.md")]] * 50), at.workspace.repository.head())
        assert worker._process.stdout
        worker._process.stdout.read(1)
        worker._process.stdout.close()
        assert worker._process.wait(60) == 0


def test_answers_wait_until_there_is_room(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(changed_files, "_MOST_WAITING_BYTES", 1)
    reading, writing = os.pipe()
    with (
        os.fdopen(reading, "rb", 0) as read,
        os.fdopen(writing, "wb", 0) as write,
        changed_files._Answers(write) as answers,
    ):
        adding = Thread(
            target=lambda: [answers.add([number, "x" * 100_000]) for number in range(3)]
        )
        adding.start()
        assert [changed_files._receive(read)[0] for _ in range(3)] == [0, 1, 2]
        adding.join()
        answers.add(["x" * 1_000_000])
        read.close()
        with pytest.raises(BrokenPipeError):
            answers.add(["y"])


def test_a_file_that_is_gone_is_left_out(at: Desk):
    requests, answers = io.BytesIO(), io.BytesIO()
    with catchup.fresh_trail(at.workspace) as trail:
        assert trail.newest_commit
        commit, settings = trail.newest_commit.commit, trail_update.settings_digest(at.workspace)
    paths = [FilePath("memory/gone.md"), FilePath("MEMORY.md"), FilePath(f"memory/{NOW[:10]}.md")]
    for value in ((commit, settings, "english"), paths, (commit, settings, 1), paths):
        changed_files._send(requests, marshal.dumps(value))
    requests.seek(0)
    assert changed_files.main(at.root, os.environ, requests, answers) == 0
    answers.seek(0)
    assert [path for path, *_ in changed_files._receive(answers)] == paths[2:]
    assert [path for path, *_ in changed_files._receive(answers)] == paths[1:]


@pytest.mark.parametrize("executable", [sys.executable, "false", "/nowhere/python"])
def test_the_index_of_two_processes_is_that_of_one(
    at: Desk, monkeypatch: pytest.MonkeyPatch, executable: str
):
    monkeypatch.setattr(changed_files, "_MUCH_BYTES", 0)
    monkeypatch.setattr(changed_files, "_CHUNK_BYTES", 1)
    monkeypatch.setattr(sys, "executable", executable)
    rebuilt = index.rebuild_index(at.workspace, full=True, say=lambda _: None)
    alone = index.fresh_index(replace(at.workspace, state=Path(os.devnull, "anew")), lambda _: None)
    assert rebuilt.index.entries(Filter()) == alone.index.entries(Filter())
    assert index.index_as_is(at.workspace)[1]


def test_where_all_is_prepared_the_first_process_asks_git_about_no_file(
    at: Desk, monkeypatch: pytest.MonkeyPatch
):
    for path in paths_of(at):
        (at.root / path).unlink()
    at.write("memory/one.md", "# One\n\n- one\n")
    at.write("memory/two.md", "# Two\n\n- two\n")
    at.commit()
    for path in paths_of(at):
        os.utime(at.root / path, (1_700_000_000, 1_700_000_000))
    monkeypatch.setattr("mdmem.folder.files.RACY_NS", 0)
    monkeypatch.setattr(changed_files, "_MUCH_BYTES", 0)
    asked: list[object] = []
    pending = Repository.pending
    monkeypatch.setattr(Repository, "pending", lambda self: asked.append(self) or pending(self))
    rebuilt = index.rebuild_index(at.workspace, full=True, say=lambda _: None)
    assert {hit.text for hit in rebuilt.index.entries(Filter())} == {"one", "two"}
    assert not asked


def test_requests_ahead_wait_for_nobody(at: Desk):
    """As many tiny files as there may be: what is sent before anything is read fits
    into the pipe.
    """
    names = [f"memory/{number:06}-{'x' * 200}.md" for number in range(20_000)]
    chunks = changed_files.in_chunks(at.workspace, names, dict.fromkeys(names, "0 0 0 0"))
    assert max(map(len, chunks)) <= 512
    asleep = subprocess.Popen(
        ["sleep", "600"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        pipesize=changed_files._PIPE_BYTES,
    )
    worker = PageWorker(asleep, at.workspace)
    try:
        worker.prepare(chunks, None)
        assert worker._asked
        assert chunks
    finally:
        worker.close()
