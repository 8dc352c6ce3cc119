"""An index that takes long to build: its newest days can be searched before the rest is there, and
it is never taken for the whole.
"""

import gc
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
from conftest import World
from workspaces import NOW, Desk, desk

from mdmem.folder import files
from mdmem.index import background, catching_up, indexer, snapshot
from mdmem.index.indexer import SearchIndex
from mdmem.index.pages import files_as_they_are
from mdmem.index.query import Filter
from mdmem.index.snapshot import EMPTY_SNAPSHOT, Snapshot
from mdmem.memory import Memory
from mdmem.model.history import FactHistory, ShowHistory
from mdmem.model.prompts import BuildContext
from mdmem.model.searches import BuildProgress, FactList, ListFacts, Search, SearchResult
from mdmem.model.writes import Log, WriteOptions
from mdmem.show.reads import status_text
from mdmem.workspace import Workspace, open_at


class Killed(Exception):
    pass


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    monkeypatch.setattr(snapshot, "_LONG_BYTES", 0)
    monkeypatch.setattr(indexer, "_PART_DOCUMENTS", 290)
    at = desk(world, repository)
    at.write(
        "memory/2026-03-04.md",
        "# 2026-03-04\n\n## 10:00\n\n"
        + "".join(f"- a new lantern {number}\n" for number in range(300)),
    )
    at.write("memory/2020-01-01.md", "# 2020-01-01\n\n## 10:00\n\n- an old lantern\n")
    at.commit()
    return at


def texts(result: SearchResult) -> set[str]:
    return {hit.text for hit in result.hits}


def rebuild(at: Desk, once_there: Callable[[], None]) -> None:
    """Build the index from nothing, with a call when a part of it can be searched."""
    calls = [once_there]

    def progress(done: int, total: int) -> None:
        if done > 1 and catching_up.index_as_is(at.workspace)[0].seen.is_part and calls:
            calls.pop()()

    catching_up.rebuild_index(at.workspace, full=True, say=lambda _: None, progress=progress)
    assert not calls


def test_meanwhile_others_learn_how_far_it_is(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(catching_up, "_PROGRESS_SECONDS", 0)
    monkeypatch.setattr(catching_up, "_start_build", lambda workspace: None)
    at.write("mdmem.toml", "lock_timeout = 0.01\n")
    answers: list[SearchResult] = []
    rebuild(at, lambda: answers.append(Memory(at.workspace).search(Search("old"))))
    assert [(answer.hits, answer.building) for answer in answers] == [((), BuildProgress(1, 3))]
    assert Memory(at.workspace).search(Search("old")).building is None
    assert not (at.workspace.state / "index-progress").exists()


def test_the_newest_days_are_found_before_the_rest_is_there(at: Desk):
    answers: list[SearchResult] = []
    rebuild(at, lambda: answers.append(Memory(at.workspace).search(Search("lantern", limit=300))))
    (early,) = answers
    late = Memory(at.workspace).search(Search("lantern", limit=400))
    assert early.stale
    assert "still reading history" in early.notes[0]
    assert "a new lantern 7" in texts(early)
    assert "an old lantern" not in texts(early)
    assert not late.stale
    assert texts(early) | {"an old lantern", "a new lantern 299"} <= texts(late)


def test_a_prompt_gets_them_too(at: Desk):
    notes: list[str] = []
    rebuild(
        at,
        lambda: notes.extend(
            catching_up.fresh_index(at.workspace, lambda _: None, current=True, in_part=True).notes
        ),
    )
    assert "still reading history" in notes[0]


def test_a_first_search_has_another_process_build_what_takes_long(
    at: Desk, monkeypatch: pytest.MonkeyPatch
):
    is_answered = Event()
    building = Thread(target=rebuild, args=(at, lambda: is_answered.wait(60)))

    def start(workspace: Workspace) -> Thread:
        building.start()
        return building

    monkeypatch.setattr(background, "start_catching_up_now", start)
    early = Memory(at.workspace).search(Search("lantern", limit=300))
    is_answered.set()
    building.join()
    late = Memory(at.workspace).search(Search("lantern", limit=400))
    assert early.stale
    assert "a new lantern 7" in texts(early)
    assert not late.stale
    assert "an old lantern" in texts(late)


def test_where_that_process_ends_at_once_the_search_builds_it(
    at: Desk, monkeypatch: pytest.MonkeyPatch
):
    started: list[Workspace] = []

    def start(workspace: Workspace) -> Thread:
        started.append(workspace)
        ended = Thread()
        ended.start()
        return ended

    monkeypatch.setattr(background, "start_catching_up_now", start)
    result = Memory(at.workspace).search(Search("lantern", limit=400))
    assert not result.stale
    assert "an old lantern" in texts(result)
    assert len(started) == 1


def test_no_garbage_is_collected_meanwhile(at: Desk):
    collects: list[bool] = []
    rebuild(at, lambda: collects.append(gc.isenabled()))
    assert collects == [False]
    assert gc.isenabled()


def test_what_a_killed_build_leaves_is_built_from_nothing(at: Desk):
    def kill() -> None:
        raise Killed

    with pytest.raises(Killed):
        rebuild(at, kill)
    part, is_whole = catching_up.index_as_is(at.workspace)
    assert part.finder.count
    assert not is_whole
    assert catching_up._opened(at.workspace).seen == EMPTY_SNAPSHOT
    result = Memory(at.workspace).search(Search("lantern", limit=400))
    assert not result.stale
    assert "an old lantern" in texts(result)
    assert catching_up.index_as_is(at.workspace)[1]


def test_the_whole_is_that_of_an_index_without_parts(at: Desk, monkeypatch: pytest.MonkeyPatch):
    rebuild(at, lambda: None)
    in_parts = catching_up.index_as_is(at.workspace)[0].finder.entries(Filter())
    monkeypatch.setattr(snapshot, "_LONG_BYTES", 10**9)
    whole = catching_up.rebuild_index(at.workspace, full=True, say=lambda _: None)
    assert whole.index.finder.entries(Filter()) == in_parts


@pytest.fixture
def moved(at: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A short memory with a long history, in which a line of a log replaced another."""
    monkeypatch.setattr(snapshot, "_LONG_BYTES", 10**9)
    monkeypatch.setattr(catching_up, "_LONG_HISTORY", 3)
    monkeypatch.setattr(catching_up, "_start_build", lambda workspace: None)
    at.write("MEMORY.md", "# Memory\n\n- the piano tuner is Ada\n")
    at.commit()
    old = at.apply(Log("the piano is in Ghent"))
    at.apply(Log("the piano is in Lyon", options=WriteOptions(supersedes=old.added[0])))
    return at


def test_a_long_history_is_read_after_the_files(moved: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(catching_up, "fresh_trail", _killing)
    with pytest.raises(Killed):
        catching_up.rebuild_index(moved.workspace, full=True, say=lambda _: None)
    with files.lock(moved.workspace.state / files.INDEX_LOCK, 0):
        early = Memory(moved.workspace).search(Search("piano"))
        block = Memory(moved.workspace).context(BuildContext(prompt="where is the piano?"))
        state = status_text(Memory(moved.workspace).status())
    assert early.stale
    assert "replaced lines may be shown" in early.notes[0]
    assert {"the piano is in Ghent", "the piano is in Lyon"} <= texts(early)
    assert "the piano tuner is Ada" in block.text
    assert "piano is in" not in block.text
    assert "a part (history is not read yet" in state


@contextmanager
def _killing(workspace: Workspace) -> Iterator[None]:
    raise Killed
    yield


@pytest.mark.parametrize("ask", ["search", "facts", "history", "context", "reindex"])
def test_killed_before_history_is_read(
    moved: Desk, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(catching_up, "fresh_trail", _killing)
        with pytest.raises(Killed):
            catching_up.rebuild_index(moved.workspace, full=True, say=lambda _: None)
    memory = Memory(moved.workspace)
    if ask == "history":
        history = memory.history(ShowHistory("the piano is in Ghent"))
        assert isinstance(history, FactHistory)
        assert len(history.chain) == 2
    elif ask == "context":
        block = memory.context(BuildContext(prompt="where is the piano?")).text
        assert "Lyon" in block
        assert "Ghent" not in block
    else:
        if ask == "reindex":
            memory.reindex()
        found = memory.facts(ListFacts()) if ask == "facts" else memory.search(Search("piano"))
        shown = {hit.text for hit in (found.facts if isinstance(found, FactList) else found.hits)}
        assert not found.stale
        assert "the piano is in Lyon" in shown
        assert "the piano is in Ghent" not in shown
    memory.search(Search("piano"))
    assert catching_up.index_as_is(moved.workspace)[1]


def test_a_narrowed_search_waits_for_history(moved: Desk, monkeypatch: pytest.MonkeyPatch):
    started: list[Workspace] = []
    monkeypatch.setattr(catching_up, "_start_build", started.append)
    found = Memory(moved.workspace).search(Search("piano", history=True))
    assert not started
    assert {hit.status.value for hit in found.hits} == {"current", "superseded"}
    Memory(moved.workspace).search(Search("piano"))


def test_files_that_are_gone_when_history_is_read_are_not_searched(moved: Desk):
    index = SearchIndex.in_memory()
    index.begin(files_as_they_are(moved.workspace, ["MEMORY.md"]))
    assert index.seen.is_part
    assert index.finder.count
    index.update((), (), Snapshot())
    assert not index.finder.count
    assert index.seen.is_fresh


def test_files_as_they_are_leave_out_what_cannot_be_read(moved: Desk):
    moved.write("memory/odd.md", b"\xff\xfe")
    paths = ["memory/odd.md", "MEMORY.md"]
    assert [each.path for each in files_as_they_are(moved.workspace, paths)] == ["MEMORY.md"]


def test_where_history_was_read_before_the_index_is_built_at_once(
    moved: Desk, monkeypatch: pytest.MonkeyPatch
):
    Memory(moved.workspace).search(Search("piano"))
    shutil.rmtree(moved.workspace.state / "index")
    monkeypatch.setattr(SearchIndex, "begin", None)
    assert not Memory(moved.workspace).search(Search("piano")).stale


def test_only_commits_of_markdown_make_a_history_long(moved: Desk):
    has = moved.workspace.repository.has_commits
    count = len(moved.git("rev-list", "HEAD", "--", "*.md").split())
    moved.write("code.py", "x = 1\n")
    moved.commit()
    assert (has(count), has(count + 1)) == (True, False)


def test_no_history_is_long_before_the_first_commit(world: World, tmp_path: Path):
    world.git(tmp_path, "init", "-q")
    assert not open_at(tmp_path, os.environ).repository.has_commits(1)
