"""The first-parent line and the side commits of its merges, where git holds what is unusual."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
from conftest import NAME, World
from opened_repository import change_message, head
from workspaces import Desk, desk

from mdmem import repo
from mdmem.model import CommitId, FilePath
from mdmem.repo import first_parent

LATIN = b"caf\xe9\n"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def merge_side(at: Desk, *paths: str, message: bytes = b"side\n") -> list[CommitId]:
    """Merge a branch that has a commit with this message for each of some new files; the ids of those."""
    at.git("switch", "-q", "-c", "side")
    made = []
    for path in paths:
        at.write(path, f"- {path}\n")
        at.commit()
        made.append(change_message(at, message))
    at.git("switch", "-q", "-")
    at.write("memory/here.md", "- here\n")
    at.commit("here")
    at.git("merge", "-q", "--no-edit", "side")
    return made


def merge(at: Desk) -> first_parent.CommitChanges:
    (commit,) = first_parent.read_commits(repo.discover(at.root), [head(at)])
    return commit


def test_times_and_author_of_a_commit(at: Desk) -> None:
    environment = {"GIT_AUTHOR_DATE": "@1770000001 +0530", "GIT_COMMITTER_DATE": "@1770000002 +0000"}
    at.world.git(at.root, "commit", "-q", "--allow-empty", "-m", "x", environment=environment)
    commit = merge(at)
    assert (commit.commit.time, commit.committed, commit.commit.author) == (1770000001, 1770000002, NAME)


def test_offsets_of_authors(at: Desk) -> None:
    for zone in ("+0530", "-0330"):
        at.world.git(at.root, "commit", "-q", "--allow-empty", "-m", "x", environment={"GIT_AUTHOR_DATE": f"@1770000001 {zone}"})
    repository, names = repo.discover(at.root), [CommitId(at.git("rev-parse", name).strip()) for name in ("HEAD~2", "HEAD", "HEAD~1")]
    offsets = first_parent.author_offsets(repository, [names[0], CommitId("1" * 40), *names[1:]])
    assert offsets == dict(zip(names, (timedelta(0), -timedelta(hours=3, minutes=30), timedelta(hours=5, minutes=30)), strict=True))
    assert first_parent.author_offsets(repository, []) == {}


def test_a_commit_without_dates_is_of_the_beginning_of_time(at: Desk) -> None:
    text = f"tree {at.git('rev-parse', 'HEAD:').strip()}\nauthor Ada <a@example.org>\ncommitter Ada <a@example.org>\n\nx\n"
    name = at.world.git(at.root, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=text).stdout.strip()
    (commit,) = first_parent.read_commits(repo.discover(at.root), [CommitId(name)])
    assert (commit.commit.time, commit.committed) == (0, 0)


def test_a_message_that_is_no_text(at: Desk) -> None:
    change_message(at, LATIN)
    assert merge(at).commit.message == "caf\N{REPLACEMENT CHARACTER}\n"


def test_a_file_that_may_be_executed_is_a_file(at: Desk) -> None:
    at.write("memory/run.md", "- a\n").chmod(0o755)
    at.commit()
    (change,) = merge(at).changes
    assert (change.path, change.before, change.after) == ("memory/run.md", None, at.git("rev-parse", "HEAD:memory/run.md").strip())
    assert FilePath("memory/run.md") in first_parent.blobs(repo.discover(at.root), head(at))


def test_a_boundary_that_is_not_asked_for_changes_nothing(at: Desk) -> None:
    boundary = head(at)
    at.write("memory/a.md", "- a\n")
    at.commit()
    (commit,) = first_parent.iterate_commits(repo.discover(at.root), [head(at)], boundary)
    assert (commit.parents, [change.path for change in commit.changes]) == ((boundary,), ["memory/a.md"])


def test_a_merge_brings_its_side_commits_and_itself(at: Desk) -> None:
    first = head(at)
    made = merge_side(at, "memory/a.md", "memory/b.md")
    repository = repo.discover(at.root)
    assert set(first_parent.commits_brought_by(repository, head(at))) == {*made, head(at)}
    assert first_parent.commits_brought_by(repository, made[1]) == [made[1]]
    assert first_parent.commits_brought_by(repository, CommitId("0" * 40)) == []
    assert first_parent.commits_brought_by(repository, first) == []


def test_a_copy_of_a_file_is_a_file_of_its_own(at: Desk) -> None:
    at.git("config", "diff.renames", "copies")
    at.write("memory/a.md", "- a\n" * 20)
    at.commit()
    at.write("memory/a.md", "- a\n" * 20 + "- b\n")
    at.write("memory/copy.md", "- a\n" * 20)
    at.commit()
    changes = {change.path: (change.before_path, change.before is None) for change in merge(at).changes}
    assert changes == {"memory/a.md": ("memory/a.md", False), "memory/copy.md": ("memory/copy.md", True)}


def test_changed_files_of_two_commits_or_of_all_that_one_has(at: Desk) -> None:
    """The empty tree need not be in the repository: nothing is written."""
    repository, seed = repo.discover(at.root), head(at)
    at.write("memory/a.md", "- a\n")
    (at.root / "memory" / "link.md").symlink_to("a.md")
    second = CommitId(at.commit())
    objects = at.git("count-objects")
    (added,) = first_parent.changed_files(repository, seed, second)
    assert (added.path, added.before_path, added.before) == ("memory/a.md", "memory/a.md", None)
    assert added.after == at.git("rev-parse", "HEAD:memory/a.md").strip()
    everything = first_parent.changed_files(repository, None, second)
    assert [(changed.path, changed.before, changed.after is None) for changed in everything] == [
        ("MEMORY.md", None, False),
        ("memory/a.md", None, False),
    ]
    assert first_parent.changed_files(repository, second, second) == []
    assert at.git("count-objects") == objects


def test_merges_that_a_merge_brings(at: Desk) -> None:
    """Those of two parents, on any branch that it brings in; not those that the branch had from here, and no octopus."""
    repository = repo.discover(at.root)
    for name in ("one", "two", "three"):
        at.git("switch", "-q", "-c", name, "main")
        at.write(f"memory/{name}.md", f"- {name}\n")
        at.commit(name)
    sides = [CommitId(at.git("rev-parse", name).strip()) for name in ("one", "two")]
    at.git("switch", "-q", "one")
    at.git("merge", "-q", "--no-edit", "two")
    at.write("memory/more.md", "- more\n")
    before_octopus = CommitId(at.commit("more"))
    at.git("switch", "-q", "-c", "four", "main")
    at.write("memory/four.md", "- four\n")
    at.commit("four")
    at.git("merge", "-q", "--no-edit", "one", "three")
    assert before_octopus in at.git("log", "-1", "--format=%P").split()
    at.git("switch", "-q", "main")
    at.write("MEMORY.md", "# Memory\n")
    at.commit("here")
    at.git("merge", "-q", "--no-edit", "four")
    assert first_parent.merges_brought_by(repository, merge(at)) == [tuple(sides)]


class TestSideCommits:
    def test_each_has_its_own_patches(self, at: Desk) -> None:
        made = merge_side(at, "memory/a.md", "memory/b.md")
        side = list(first_parent.side_commits(repo.discover(at.root), merge(at)))
        assert [(commit.id, [patch.path for patch in patches]) for commit, patches in side] == [
            (made[0], ["memory/a.md"]),
            (made[1], ["memory/b.md"]),
        ]

    def test_a_message_that_is_no_text(self, at: Desk) -> None:
        merge_side(at, "memory/a.md", message=LATIN)
        ((commit, _),) = first_parent.side_commits(repo.discover(at.root), merge(at))
        assert commit.message == "caf\N{REPLACEMENT CHARACTER}\n"

    @pytest.mark.parametrize("variables", [{"GIT_DIR": "gone"}, {"GIT_DIR": "other/.git", "GIT_COMMON_DIR": "other/.git"}])
    def test_in_a_hook_of_another_repository(
        self, at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
    ) -> None:
        """Git names a repository in the environment of its hooks, in which this may run."""
        made = merge_side(at, "memory/a.md")
        at.world.git(tmp_path, "init", "-q", "other")
        commit, repository = merge(at), repo.discover(at.root)
        for name, path in variables.items():
            monkeypatch.setenv(name, os.fspath(tmp_path / path))
        assert [commit.id for commit, _ in first_parent.side_commits(repository, commit)] == made

    def test_in_a_repository_with_longer_ids(self, world: World, tmp_path: Path) -> None:
        world.git(tmp_path, "init", "-q", "--object-format=sha256", "long")
        for name, value in (("user.name", NAME), ("user.email", "ada@example.org")):
            world.git(tmp_path / "long", "config", name, value)
        at = desk(world, tmp_path / "long")
        (made,) = merge_side(at, "memory/a.md")
        ((commit, patches),) = first_parent.side_commits(repo.discover(at.root), merge(at))
        assert len(made) == 64
        assert (commit.id, commit.author, commit.message) == (made, NAME, "side\n")
        assert [(patch.path, patch.added) for patch in patches] == [("memory/a.md", ("- memory/a.md",))]
