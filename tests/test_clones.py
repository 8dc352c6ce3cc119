"""Clones without all of history: shallow ones, deepened ones, and partial ones whose remote is out of reach."""

import os
from pathlib import Path

import pytest
from dated_memory import DatedMemory, change_employers
from workspaces import Desk

from mdmem.catchup import index
from mdmem.memory import Memory
from mdmem.model import Status
from mdmem.model.history import FactHistory, ShowHistory
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import Remember


def clone(dated: DatedMemory, tmp_path: Path, *options: str) -> Desk:
    """A clone of the workspace over git's own protocol, so that no objects are linked or copied as files."""
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
    return sorted(hit.text.rpartition(" ")[2] for hit in result.hits if hit.text.startswith("employer"))


def test_a_shallow_clone_that_is_deepened(dated: DatedMemory, tmp_path: Path) -> None:
    change_employers(dated)
    at = clone(dated, tmp_path, "--depth=1")
    assert texts(at) == ["Notion"]
    assert "shallow" in Memory.open(at.root, os.environ).search(Search("employer", history=True)).notes[0]
    at.git("fetch", "-q", "--deepen=1")
    assert texts(at) == ["Figma", "Notion"]
    at.git("fetch", "-q", "--unshallow")
    assert texts(at) == ["Figma", "Linear", "Notion", "Stripe"]
    assert Memory.open(at.root, os.environ).search(Search("employer", history=True)).notes == ()


@pytest.fixture
def cut_off(dated: DatedMemory, tmp_path: Path) -> Desk:
    """A partial clone whose remote is gone."""
    change_employers(dated)
    at = clone(dated, tmp_path, "--filter=blob:none")
    dated.at.root.rename(tmp_path / "away")
    return at


class TestPartialCloneWithoutItsRemote:
    def test_what_stands_is_found_and_that_the_past_is_missing_is_said(self, cut_off: Desk) -> None:
        memory = Memory.open(cut_off.root, os.environ)
        for _ in range(2):
            result = memory.search(Search("employer"))
            assert [hit.text for hit in result.hits] == ["employer: works at Notion"]
            (note,) = result.notes
            assert "the past is missing" in note
        listed = memory.facts(ListFacts(key="employer"))
        assert [fact.text for fact in listed.facts] == ["employer: works at Notion"]
        assert listed.notes == (note,)
        history = memory.history(ShowHistory("employer: works at Notion"))
        assert isinstance(history, FactHistory)
        assert (history.status, history.notes) == (Status.CURRENT, (note,))

    def test_history_goes_on_from_there(self, cut_off: Desk) -> None:
        assert texts(cut_off) == ["Notion"]
        Memory.open(cut_off.root, os.environ).apply(Remember("works at Vercel", section="Work", key="employer"))
        assert texts(cut_off) == ["Notion", "Vercel"]
        assert texts(cut_off, history=False) == ["Vercel"]

    def test_where_the_state_cannot_be_written(self, cut_off: Desk) -> None:
        (cut_off.root / ".git" / "mdmem").write_text("not a folder")
        assert texts(cut_off) == ["Notion"]

    @pytest.mark.parametrize("way", ["fetch", "reindex"])
    def test_the_past_comes_back_with_the_remote(self, cut_off: Desk, tmp_path: Path, way: str) -> None:
        assert texts(cut_off) == ["Notion"]
        (tmp_path / "away").rename(cut_off.root.parent / "repository")
        if way == "fetch":
            boundary = cut_off.workspace.state / "boundary"
            os.utime(boundary, (0, 0))
            cut_off.git("fetch", "-q")
            cut_off.commit("by hand")
        else:
            index.rebuild_index(cut_off.workspace, True, print)
        assert texts(cut_off) == ["Figma", "Linear", "Notion", "Stripe"]
        assert Memory.open(cut_off.root, os.environ).search(Search("employer")).notes == ()


def test_a_repository_that_lacks_objects_and_is_no_partial_clone_is_broken(dated: DatedMemory) -> None:
    change_employers(dated)
    blob = dated.at.git("rev-parse", "HEAD~2:MEMORY.md").strip()
    (dated.at.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(Exception, match="missing from the repository"):
        dated.texts("employer")
