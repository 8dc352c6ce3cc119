"""Merging two commits without a work tree: memory by section, and no conflict that stops it."""

import sys
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, desk

from mdmem import repo
from mdmem.merge import setup
from mdmem.model.errors import RepositoryProblem
from mdmem.model.pipelines import SetAside
from mdmem.repo import merge_trees
from mdmem.repo.merge_trees import MergedTree


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    at = desk(world, repository)
    at.write("AGENTS.md", "Be brief.\n")
    at.write("memory/pond.md", "# Pond\n\n- a carp\n")
    at.commit("base")
    setup.install(at.workspace, sys.executable)
    return at


def merged(at: Desk, theirs: dict[str, str | None], ours: dict[str, str | None]) -> MergedTree:
    """Merge two sides of HEAD, each a change of files (None: removed)."""
    base, tips = at.head(), []
    for name, side in (("theirs", theirs), ("ours", ours)):
        at.git("checkout", "-q", "-b", name, base)
        for path, text in side.items():
            if text is None:
                at.git("rm", "-q", path)
            else:
                at.write(path, text)
        tips.append(at.commit(name))
    return merge_trees.merge_trees(repo.discover(at.root), *tips, "attic")


def names(at: Desk, tree: MergedTree) -> set[str]:
    return set(at.git("ls-tree", "-r", "--name-only", tree.tree).split())


def text(at: Desk, tree: MergedTree, path: str) -> str:
    return at.git("show", f"{tree.tree}:{path}")


def test_memory_is_merged_by_section(at: Desk):
    tree = merged(
        at,
        {"memory/pond.md": "# Pond\n\n- a carp\n- a tench\n"},
        {"memory/pond.md": "# Pond\n\n- a carp\n- a roach\n"},
    )
    assert tree.kept_files == tree.set_aside == ()
    assert sorted(text(at, tree, "memory/pond.md").split("\n")[2:5]) == [
        "- a carp",
        "- a roach",
        "- a tench",
    ]
    assert at.git("status", "--porcelain") == "", "no file of the work tree is touched"


def test_a_file_that_is_not_merged_by_section_stands_as_at_the_remote(at: Desk):
    tree = merged(at, {"AGENTS.md": "Be terse.\n"}, {"AGENTS.md": "Be kind.\n"})
    assert text(at, tree, "AGENTS.md") == "Be terse.\n"
    ((path, blob),) = [(each.path, each.blob) for each in tree.set_aside]
    assert path == "AGENTS.md"
    assert at.git("cat-file", "blob", blob) == "Be kind.\n"


@pytest.mark.parametrize("removed_here", [True, False])
def test_a_changed_file_stands_where_the_other_side_removed_it(at: Desk, removed_here: bool):
    removed: dict[str, str | None] = {"memory/pond.md": None}
    changed: dict[str, str | None] = {"memory/pond.md": "# Pond\n\n- a tench, and nothing else\n"}
    tree = merged(at, *((changed, removed) if removed_here else (removed, changed)))
    assert tree.kept_files == ("memory/pond.md",)
    assert "a tench" in text(at, tree, "memory/pond.md")


def test_a_file_renamed_twice_stands_under_both_names(at: Desk):
    pond = "# Pond\n\n- a carp\n"
    tree = merged(
        at,
        {"memory/pond.md": None, "memory/lake.md": pond},
        {"memory/pond.md": None, "memory/pool.md": pond},
    )
    assert {"memory/lake.md", "memory/pool.md"} <= names(at, tree)
    assert "memory/pond.md" not in names(at, tree)


def test_a_file_whose_name_is_a_folder_there_gets_another_name(at: Desk):
    tree = merged(at, {"memory/x.md/y.md": "- y\n"}, {"memory/x.md": "- x\n"})
    assert {"memory/x.md/y.md", "memory/x~attic.md"} <= names(at, tree)
    ((path, blob),) = [(each.path, each.blob) for each in tree.set_aside]
    assert tree.set_aside == (SetAside(path, blob),)
    assert path == "memory/x~attic.md"
    assert text(at, tree, path) == "- x\n"


def test_unrelated_commits_are_merged_on_request_only(at: Desk):
    ours = at.head()
    at.git("checkout", "-q", "--orphan", "other")
    at.write("memory/pond.md", "# Pond\n\n- a carp\n- a tench\n")
    theirs = at.commit("other")
    opened = repo.discover(at.root)
    with pytest.raises(RepositoryProblem, match="unrelated"):
        merge_trees.merge_trees(opened, theirs, ours, "attic")
    tree = merge_trees.merge_trees(opened, theirs, ours, "attic", unrelated=True)
    assert text(at, tree, "memory/pond.md").count("a carp") == 1
