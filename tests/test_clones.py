"""Clones without all of history: shallow ones, and partial ones, which fetch nothing in passing."""

import os
from pathlib import Path

import pytest
from dated_memory import DatedMemory, change_employers
from workspaces import Desk

from mdmem import cli
from mdmem.index import catching_up
from mdmem.memory import Memory
from mdmem.model import CommitId, FilePath, Status
from mdmem.model.errors import HistoryProblem, RepositoryProblem
from mdmem.model.history import FactHistory, ShowHistory
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import Remember


def clone(dated: DatedMemory, tmp_path: Path, *options: str) -> Desk:
    """A clone of the workspace over git's own protocol, so that no objects are linked or copied as
    files.
    """
    at = dated.at
    at.git("config", "uploadpack.allowFilter", "true")
    at.git("config", "uploadpack.allowAnySHA1InWant", "true")
    at.git("clone", "-q", *options, f"file://{at.root}", tmp_path / "clone")
    cloned = Desk(at.world, tmp_path / "clone")
    for name in ("name", "email"):
        cloned.git("config", f"user.{name}", "bo@example.org")
    return cloned


def texts(at: Desk, history: bool = True) -> list[str]:
    result = Memory.open(at.root, os.environ).search(Search("employer", history=history))
    return sorted(
        hit.text.rpartition(" ")[2] for hit in result.hits if hit.text.startswith("employer")
    )


def test_a_shallow_clone_that_is_deepened(dated: DatedMemory, tmp_path: Path) -> None:
    change_employers(dated)
    at = clone(dated, tmp_path, "--depth=1")
    assert texts(at) == ["Notion"]
    assert (
        "shallow"
        in Memory.open(at.root, os.environ).search(Search("employer", history=True)).notes[0]
    )
    at.git("fetch", "-q", "--deepen=1")
    assert texts(at) == ["Figma", "Notion"]
    at.git("fetch", "-q", "--unshallow")
    assert texts(at) == ["Figma", "Linear", "Notion", "Stripe"]
    assert Memory.open(at.root, os.environ).search(Search("employer", history=True)).notes == ()


@pytest.fixture
def partial(dated: DatedMemory, tmp_path: Path) -> Desk:
    """A partial clone whose remote can be reached."""
    change_employers(dated)
    return clone(dated, tmp_path, "--filter=blob:none")


@pytest.fixture
def cut_off(partial: Desk, tmp_path: Path) -> Desk:
    """A partial clone whose remote is gone."""
    partial.root.with_name("repository").rename(tmp_path / "away")
    return partial


class TestPartialCloneWithoutItsRemote:
    def test_what_stands_is_found_and_that_the_past_is_missing_is_said(self, cut_off: Desk) -> None:
        memory = Memory.open(cut_off.root, os.environ)
        for _ in range(2):
            result = memory.search(Search("employer"))
            assert [hit.text for hit in result.hits] == ["employer: works at Notion"]
            (note,) = result.notes
            assert (
                note
                == "this clone lacks older versions. To get them: git fetch --refetch --no-filter"
            )
        listed = memory.facts(ListFacts(key="employer"))
        assert [fact.text for fact in listed.facts] == ["employer: works at Notion"]
        assert listed.notes == (note,)
        history = memory.history(ShowHistory("employer: works at Notion"))
        assert isinstance(history, FactHistory)
        assert (history.status, history.notes) == (Status.CURRENT, (note,))

    def test_history_goes_on_from_there(self, cut_off: Desk) -> None:
        assert texts(cut_off) == ["Notion"]
        Memory.open(cut_off.root, os.environ).apply(
            Remember("works at Vercel", section="Work", key="employer")
        )
        assert texts(cut_off) == ["Notion", "Vercel"]
        assert texts(cut_off, history=False) == ["Vercel"]

    def test_where_the_state_cannot_be_written(self, cut_off: Desk) -> None:
        (cut_off.root / ".git" / "mdmem").write_text("not a folder")
        assert texts(cut_off) == ["Notion"]

    def test_a_version_that_is_missing_is_named(self, cut_off: Desk) -> None:
        memory = Memory.open(cut_off.root, os.environ)
        older = cut_off.git("rev-parse", "HEAD~1").strip()
        with pytest.raises(RepositoryProblem, match="this clone lacks older versions") as failure:
            cut_off.workspace.repository.read(CommitId(older), [FilePath("MEMORY.md")])
        assert (failure.value.code, failure.value.hint) == ("missing-history", HINT)
        with pytest.raises(HistoryProblem) as problem:
            memory.search(Search("employer", as_of=older))
        assert (problem.value.code, problem.value.hint) == ("commit-not-found", HINT)


HINT = "To get them: git fetch --refetch --no-filter"


class TestPartialClone:
    def test_nothing_is_fetched_in_passing(self, partial: Desk) -> None:
        missing = partial.git("rev-list", "--objects", "--missing=print", "HEAD")
        assert texts(partial) == ["Notion"]
        assert partial.git("rev-list", "--objects", "--missing=print", "HEAD") == missing

    def test_the_past_is_there_once_it_was_fetched(self, partial: Desk) -> None:
        assert texts(partial) == ["Notion"]
        os.utime(partial.workspace.state / "boundary", (0, 0))
        partial.git("fetch", "-q")
        assert texts(partial) == ["Notion"]
        note = Memory.open(partial.root, os.environ).search(Search("employer")).notes
        os.utime(partial.workspace.state / "boundary", (0, 0))
        partial.git("fetch", "-q", "--refetch", "--no-filter")
        assert texts(partial) == ["Figma", "Linear", "Notion", "Stripe"]
        assert (
            len(note),
            Memory.open(partial.root, os.environ).search(Search("employer")).notes,
        ) == (1, ())
        (partial.root / ".git" / "FETCH_HEAD").unlink()
        assert Memory.open(partial.root, os.environ).search(Search("employer")).notes == ()

    def test_it_is_read_again_by_a_full_reindex(self, partial: Desk) -> None:
        assert texts(partial) == ["Notion"]
        partial.git("fetch", "-q", "--refetch", "--no-filter")
        (partial.root / ".git" / "FETCH_HEAD").unlink()
        assert texts(partial) == ["Notion"]
        catching_up.rebuild_index(partial.workspace, True, print)
        assert texts(partial) == ["Figma", "Linear", "Notion", "Stripe"]


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "command",
    [
        *("init", "search employer", "search employer --history", "facts", "history employer"),
        *("context", "status", "proposals"),
    ],
)
def test_a_remote_that_is_a_program_is_not_run(
    dated: DatedMemory,
    tmp_path: Path,
    command: str,
) -> None:
    """Git would run any command that a stranger's settings name to get a missing object."""
    change_employers(dated)
    at, ran = dated.at, tmp_path / "ran"
    blob = at.git("rev-parse", "HEAD~2:MEMORY.md").strip()
    (at.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for name, value in (
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", f"ext::sh -c touch% {ran}"),
        ("protocol.ext.allow", "always"),
    ):
        at.git("config", name, value)
    assert cli.main(["-C", str(at.root), *command.split()]) == 0
    catching_up.catch_up_workspace(at.workspace)
    assert not ran.exists()
    at.git("cat-file", "-e", blob, check=False)
    assert ran.exists()  # without the guard


def test_a_repository_that_lacks_objects_and_is_no_partial_clone_is_broken(
    dated: DatedMemory,
) -> None:
    change_employers(dated)
    blob = dated.at.git("rev-parse", "HEAD~2:MEMORY.md").strip()
    (dated.at.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(Exception, match="missing from the repository"):
        dated.texts("employer")
