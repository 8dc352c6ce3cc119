"""The commits that HEAD reaches, where git holds what is unusual."""

from dataclasses import replace
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
    """Merge a branch that has a commit with this message for each of some new files; the ids of
    those.
    """
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
    environment = {
        "GIT_AUTHOR_DATE": "@1770000001 +0530",
        "GIT_COMMITTER_DATE": "@1770000002 +0000",
    }
    at.world.git(at.root, "commit", "-q", "--allow-empty", "-m", "x", environment=environment)
    commit = merge(at)
    assert (commit.commit.time, commit.committed, commit.commit.author) == (
        1770000001,
        1770000002,
        NAME,
    )


def test_offsets_of_authors(at: Desk) -> None:
    for zone in ("+0530", "-0330"):
        at.world.git(
            at.root,
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
            environment={"GIT_AUTHOR_DATE": f"@1770000001 {zone}"},
        )
    repository, names = (
        repo.discover(at.root),
        [CommitId(at.git("rev-parse", name).strip()) for name in ("HEAD~2", "HEAD", "HEAD~1")],
    )
    offsets = first_parent.author_offsets(repository, [names[0], CommitId("1" * 40), *names[1:]])
    assert offsets == dict(
        zip(
            names,
            (timedelta(0), -timedelta(hours=3, minutes=30), timedelta(hours=5, minutes=30)),
            strict=True,
        )
    )
    assert first_parent.author_offsets(repository, []) == {}


def test_a_commit_without_dates_is_of_the_beginning_of_time(at: Desk) -> None:
    text = f"tree {at.git('rev-parse', 'HEAD:').strip()}\nauthor Ada <a@example.org>\ncommitter Ada <a@example.org>\n\nx\n"
    name = at.world.git(
        at.root, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=text
    ).stdout.strip()
    (commit,) = first_parent.read_commits(repo.discover(at.root), [CommitId(name)])
    assert (commit.commit.time, commit.committed) == (0, 0)


def test_a_message_that_is_no_text(at: Desk) -> None:
    change_message(at, LATIN)
    assert merge(at).commit.message == "caf\N{REPLACEMENT CHARACTER}\n"


def test_a_file_that_may_be_executed_is_a_file(at: Desk) -> None:
    at.write("memory/run.md", "- a\n").chmod(0o755)
    at.commit()
    (change,) = merge(at).changes
    assert (change.path, change.before, change.after) == (
        "memory/run.md",
        None,
        at.git("rev-parse", "HEAD:memory/run.md").strip(),
    )
    assert FilePath("memory/run.md") in first_parent.blobs(repo.discover(at.root), head(at))


def test_a_boundary_that_is_not_asked_for_changes_nothing(at: Desk) -> None:
    boundary = head(at)
    at.write("memory/a.md", "- a\n")
    at.commit()
    (commit,) = first_parent.read_history(
        repo.discover(at.root), [(head(at), (boundary,))], boundary
    )
    assert (commit.parents, [change.path for change in commit.changes]) == (
        (boundary,),
        ["memory/a.md"],
    )


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
    changes = {
        change.path: (change.before_path, change.before is None) for change in merge(at).changes
    }
    assert changes == {
        "memory/a.md": ("memory/a.md", False),
        "memory/copy.md": ("memory/copy.md", True),
    }


def test_the_users_settings_for_logs_change_nothing(at: Desk) -> None:
    at.git("mv", "MEMORY.md", "moved.md")
    at.write("a.md", "- a\n")
    at.commit(":1\n\n:2")
    at.write("t.txt", "t")
    at.commit("no Markdown")
    merge_side(at, "memory/a.md")
    repository = repo.discover(at.root)
    commits = first_parent.commits_reached(repository, head(at))
    read = list(first_parent.read_history(repository, commits))
    assert [change.path for change in read[-5].changes] == ["a.md", "moved.md"]
    assert [len(each.changes) for each in read] == [1, 2, 0, 1, 1, 1]
    for name, value in (
        ("log.follow", "true"),
        ("log.showRoot", "false"),
        ("log.diffMerges", "first-parent"),
        ("diff.orderFile", at.write("order", "moved*\n")),
        ("diff.renames", "false"),
        ("color.diff", "always"),
        ("diff.relative", "false"),
    ):
        at.git("config", name, str(value))
    assert list(first_parent.read_history(repository, commits)) == read
    assert first_parent.read_commits(repository, [name for name, _ in commits]) == [
        replace(each, by_parent=()) for each in read
    ]


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


def test_what_a_merge_did_to_each_side(at: Desk) -> None:
    seed = head(at)
    made = merge_side(at, "memory/a.md", "memory/b.md")
    repository = repo.discover(at.root)
    reached = first_parent.commits_reached(repository, head(at))
    assert (reached[0], reached[-1][0], len(reached)) == ((seed, ()), head(at), len(made) + 3)
    position = {name: number for number, (name, _) in enumerate(reached)}
    assert all(position[parent] < position[name] for name, parents in reached for parent in parents)
    *_, merged = first_parent.read_history(repository, reached)
    (ours, theirs) = merged.parents
    sides = dict(zip(merged.parents, merged.by_parent, strict=True))
    assert [change.path for change in sides[ours]] == ["memory/a.md", "memory/b.md"]
    assert theirs == made[-1]
    assert sides[theirs] == tuple(first_parent.changed_files(repository, theirs, head(at)))
    assert first_parent.commits_reached(repository, head(at), [head(at)]) == []
    for old in (seed, *made, ours):
        since = first_parent.commits_since(repository, head(at), old, [old])
        assert since == first_parent.commits_reached(repository, head(at), [old])
    for lost in (made[0], CommitId("0" * 40)):
        assert first_parent.commits_since(repository, ours, lost, [lost]) is None
    assert first_parent.reaches(repository, head(at), seed)
    assert not first_parent.reaches(repository, seed, head(at))
    assert not first_parent.reaches(repository, head(at), CommitId("0" * 40))


def test_a_commit_that_was_missing_is_looked_for_again(at: Desk, tmp_path: Path) -> None:
    at.git("clone", "-q", "--depth=1", f"file://{at.root}", tmp_path / "clone")
    repository, seed = repo.discover(tmp_path / "clone"), head(at)
    at.write("a.md", "- a\n")
    tip = CommitId(at.commit())
    assert not first_parent.reaches(repository, tip, seed)
    at.world.git(tmp_path / "clone", "fetch", "-q", "--depth=1")
    assert not first_parent.reaches(repository, tip, seed)
    at.world.git(tmp_path / "clone", "fetch", "-q", "--unshallow")
    assert first_parent.reaches(repository, tip, seed)


def test_a_repository_with_longer_ids(world: World, tmp_path: Path) -> None:
    world.git(tmp_path, "init", "-q", "--object-format=sha256", "long")
    for name, value in (("user.name", NAME), ("user.email", "ada@example.org")):
        world.git(tmp_path / "long", "config", name, value)
    at = desk(world, tmp_path / "long")
    made = merge_side(at, "memory/a.md")
    repository = repo.discover(at.root)
    read = list(
        first_parent.read_history(repository, first_parent.commits_reached(repository, head(at)))
    )
    assert [
        change.path for each in read if each.commit.id == made[0] for change in each.changes
    ] == ["memory/a.md"]
