"""A commit with a thousand million paths in some trees of ten entries: only it is left out."""

import os
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk
from workspaces import desk as make_desk

from mdmem import repo
from mdmem.folder import budget
from mdmem.health import contents
from mdmem.memory import Memory
from mdmem.model import CommitId, FilePath
from mdmem.model.history import SectionHistory, ShowHistory
from mdmem.model.searches import Search
from mdmem.repo import branch_commits, first_parent, tree_diffs


@pytest.fixture
def desk(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    for module in (tree_diffs, contents):
        monkeypatch.setattr(module, "QUICK_SECONDS", 0.3)
    budget._exceeded.__init__()
    return make_desk(world, repository)


def _make_tree(desk: Desk, rows: str) -> str:
    return desk.world.git(desk.root, "mktree", stdin=rows).stdout.strip()


def _commit_bomb(desk: Desk, ending: str, levels: int = 8) -> CommitId:
    """Commit it as a folder of memory, and another commit that takes it out; the first of them."""
    git = desk.world.git
    blob = git(desk.root, "hash-object", "-w", "--stdin", stdin="- x\n").stdout.strip()
    tree = _make_tree(desk, "".join(f"100644 blob {blob}\tf{n}.{ending}\n" for n in range(10)))
    for _ in range(levels):
        tree = _make_tree(desk, "".join(f"040000 tree {tree}\td{n}\n" for n in range(10)))
    before = git(desk.root, "rev-parse", "HEAD^{tree}").stdout.strip()
    listed = git(desk.root, "ls-tree", before).stdout
    planted = _make_tree(desk, f"{listed}040000 tree {tree}\tthings\n")
    first = git(desk.root, "commit-tree", planted, "-p", "HEAD", "-m", "in").stdout.strip()
    last = git(desk.root, "commit-tree", before, "-p", first, "-m", "out").stdout.strip()
    git(desk.root, "update-ref", "HEAD", last)
    return CommitId(first)


def _changing(memory: Memory) -> set[str]:
    history = memory.history(ShowHistory("MEMORY.md"))
    assert isinstance(history, SectionHistory)
    return {each.made.commit for each in history.revisions}


@pytest.mark.parametrize("ending", ["md", "txt"])
def test_the_rest_of_history_is_read(desk: Desk, ending: str) -> None:
    desk.commit("begin")
    bomb = _commit_bomb(desk, ending)
    desk.write("MEMORY.md", "# Memory\n\n## Work\n\n- works at Linear\n")
    desk.commit("after")
    memory = Memory.open(desk.root, os.environ)
    (hit,) = memory.search(Search(query="Linear")).hits
    assert "works at Linear" in hit.text
    assert _changing(memory) > {desk.world.git(desk.root, "rev-parse", "HEAD").stdout.strip()}
    repository = repo.discover(desk.root)
    assert bomb in tree_diffs.left_out_commits(repository)
    (changes,) = first_parent.read_commits(repository, [bomb])
    assert changes.changes == ()
    assert f"{bomb[:10]} has far more paths than files" in "".join(
        finding.message for finding in memory.examine()
    )
    memory.close()


def test_between_two_trees_and_two_commits(desk: Desk) -> None:
    desk.commit("begin")
    bomb = _commit_bomb(desk, "md")
    repository = repo.discover(desk.root)
    trees = branch_commits.trees_of(repository, [CommitId("HEAD"), bomb, CommitId("HEAD~2")])
    desk.write("MEMORY.md", "- Linear\n")
    desk.commit("after")
    trees += branch_commits.trees_of(repository, [CommitId("HEAD")])
    changed = branch_commits.changed_blobs(
        repository, [(trees[0], trees[1]), (trees[1], trees[2]), (trees[2], trees[3])]
    )
    assert [[each.path for each in of] for of in changed] == [[], [], [b"MEMORY.md"]]
    head = CommitId(desk.world.git(desk.root, "rev-parse", "HEAD").stdout.strip())
    assert first_parent.changed_files(repository, bomb, head) == []


def test_a_slow_but_plain_commit_is_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_diffs, "QUICK_SECONDS", 0.0)
    monkeypatch.setattr(tree_diffs, "_FEWEST_PATHS", 0)
    for number in range(30):
        desk.write(f"memory/deep/of/{number}.md", "- the same text\n")
    desk.commit("many")
    repository = repo.discover(desk.root)
    (commit,) = first_parent.read_commits(repository, [repository.head() or CommitId("")])
    assert len(commit.changes) >= 30
    assert tree_diffs.left_out_commits(repository) == []


def test_a_tree_with_one_name_twice_is_not_counted() -> None:
    entry = b"40000 d\0" + bytes(20)
    assert tree_diffs._entries(entry, 20) == {b"d": (True, "00" * 20)}
    assert tree_diffs._entries(entry * 2, 20) is None
    assert tree_diffs._entries(b"40000 d", 20) is None


@pytest.mark.parametrize("means", ["grafts", "replace"])
def test_a_circle_of_commits_is_not_read(desk: Desk, means: str) -> None:
    desk.commit("begin")
    desk.write("MEMORY.md", "- Linear\n")
    desk.commit("after")
    git = desk.world.git
    head, before = git(desk.root, "rev-parse", "HEAD", "HEAD~").stdout.split()
    if means == "grafts":
        desk.write(".git/info/grafts", f"{before} {head}\n")
    else:
        git(desk.root, "replace", "--graft", "--", before, head)
    memory = Memory.open(desk.root, os.environ)
    assert _changing(memory) > {head}
    memory.close()
    repository = repo.discover(desk.root)
    assert first_parent.reaches(repository, CommitId(head), CommitId(before))
    assert not first_parent.reaches(repository, CommitId(before), CommitId(head))
    assert first_parent.newest_commits(repository, FilePath("MEMORY.md"), 1) == [head]
