"""What a moved file or folder holds, and a move that a killed process left, in every state that the
disk may have kept of it.
"""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest
from conftest import World
from workspaces import Desk, code_of, desk

from mdmem.changes import recover
from mdmem.folder import files
from mdmem.folder.journal import CommitStep, Rename
from mdmem.model import FilePath
from mdmem.model.errors import PathProblem

OLD, NEW, ASIDE = FilePath("memory/a"), FilePath("memory/b"), FilePath("memory/.mdmem-0.tmp")
FINISHED = "finished an interrupted write of memory/a"
KEPT = "memory/a was changed in an interrupted move; it is kept unchanged"


def put(path: Path, text: str | None) -> None:
    """Make a folder with two files, one of them below another folder."""
    if text is not None:
        (path / "c").mkdir(parents=True)
        (path / "one.md").write_text(text)
        (path / "c/two.md").write_text("two\n")


class TestContents:
    def test_of_a_folder_and_of_a_file(self, tmp_path: Path):
        put(tmp_path / OLD, "one\n")
        assert recover.read_contents(tmp_path, OLD) == {"c/two.md": b"two\n", "one.md": b"one\n"}
        assert list(recover.read_contents(tmp_path, OLD)) == ["c/two.md", "one.md"]
        assert recover.read_contents(tmp_path, FilePath(f"{OLD}/one.md")) == {"": b"one\n"}

    @pytest.mark.parametrize("name", [".git", "c/.git", "link", "pipe"])
    def test_of_what_is_no_file_of_this_repository(self, tmp_path: Path, name: str):
        put(tmp_path / OLD, "one\n")
        inner = tmp_path / OLD / name
        {"link": lambda: inner.symlink_to("one.md"), "pipe": lambda: os.mkfifo(inner)}.get(
            name, inner.mkdir
        )()
        with pytest.raises(PathProblem, match=f"{OLD}/{name} is neither") as failure:
            recover.read_contents(tmp_path, OLD)
        assert failure.value.code == "bad-path"
        assert recover.holds(tmp_path, OLD, {}) is False

    def test_of_what_cannot_be_listed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        def unreadable(path: object) -> NoReturn:
            raise PermissionError(13, "Permission denied", str(path))

        put(tmp_path / OLD, "one\n")
        monkeypatch.setattr(os, "scandir", unreadable)
        assert code_of(lambda: recover.read_contents(tmp_path, OLD)) == "unsupported-file"

    def test_what_is_not_there_holds_nothing(self, tmp_path: Path):
        assert recover.holds(tmp_path, OLD, {}) is False


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    at = desk(world, repository)
    put(at.root / OLD, "one\n")
    at.commit("folder")
    return at


def rename(at: Desk, target: FilePath) -> Rename:
    digests = {
        name: files.digest(data.encode())
        for name, data in {"c/two.md": "two\n", "one.md": "one\n"}.items()
    }
    return Rename(path=OLD, target=target, is_removal=target == ASIDE, digests=digests)


def settle(at: Desk, left: Rename) -> str | None:
    return recover.settle_move(at.workspace, left, CommitStep("moved", "@1770000000 +0000"))


def clear(at: Desk) -> None:
    shutil.rmtree(at.root / OLD)


def first_file(at: Desk, path: FilePath) -> str | None:
    inner = at.root / path / "one.md"
    return inner.read_text() if inner.exists() else None


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that are synced."""
    folders: list[Path] = []
    sync = files.sync
    monkeypatch.setattr(files, "sync", lambda folder: (sync(folder), folders.append(folder)))
    return folders


@pytest.mark.parametrize(
    ("target", "old", "new", "left", "said"),
    [
        (NEW, "one\n", None, ("one\n", None), None),
        (NEW, None, "one\n", (None, "one\n"), FINISHED),
        (NEW, None, "saved\n", (None, "saved\n"), KEPT),
        (NEW, "one\n", "one\n", ("one\n", None), None),
        (NEW, "saved\n", "one\n", ("saved\n", "one\n"), None),
        (NEW, "one\n", "saved\n", ("one\n", "saved\n"), None),
        (NEW, None, None, ("one\n", None), None),
        (ASIDE, "one\n", None, ("one\n", None), None),
        (ASIDE, None, "one\n", (None, None), FINISHED),
        (ASIDE, None, "saved\n", ("saved\n", None), KEPT),
        (ASIDE, "saved\n", "one\n", ("saved\n", None), None),
        (ASIDE, "one\n", "saved\n", ("one\n", "saved\n"), None),
        (ASIDE, None, None, ("one\n", None), None),
    ],
)
@pytest.mark.parametrize("is_committed", [False, True])
def test_a_move_that_was_left(
    at: Desk,
    synced: list[Path],
    target: FilePath,
    old: str | None,
    new: str | None,
    left: tuple[str | None, str | None],
    said: str | None,
    is_committed: bool,
):
    clear(at)
    put(at.root / target, new)
    if is_committed:
        at.git("rm", "-rq", "--cached", OLD)
        if target == NEW and new is not None:
            at.git("add", NEW)
        at.git("commit", "-qm", "moved by the git of the killed process")
        # The index is as it was before, as git leaves it where it is killed.
        at.git("read-tree", "HEAD~")
        said = FINISHED if old is None and new is not None else None
        left = (old, None if target == ASIDE and (new == "one\n") else new)
        if target == ASIDE and old is None and new == "saved\n":
            left = ("saved\n", None)
    put(at.root / OLD, old)
    head = at.head()
    assert settle(at, rename(at, target)) == said
    assert (first_file(at, OLD), first_file(at, target)) == left
    assert (at.root / OLD / "c/two.md").exists() is (left[0] is not None)
    assert (at.head() != head) is (said == FINISHED and not is_committed)
    if new != left[1]:
        assert at.root / "memory" in synced
    if old is None and new is None and left[0]:
        assert {at.root / OLD, at.root / OLD / "c"} <= set(synced)
    if said == FINISHED and new == "one\n":
        assert at.git("status", "--porcelain", "--untracked-files=no") == ""


def test_one_that_a_hook_refuses_stays_to_be_settled(at: Desk):
    (at.root / OLD).rename(at.root / NEW)
    at.hook("pre-commit", "exit 1")
    assert code_of(lambda: settle(at, rename(at, NEW))) == "commit-failed"


def test_the_author_of_the_settings_commits_it_where_git_has_none(at: Desk):
    at.write("mdmem.toml", 'author = "Bo <bo@example.com>"\n')
    at.git("config", "--remove-section", "user")
    (at.root / OLD).rename(at.root / NEW)
    assert settle(at, rename(at, NEW)) == FINISHED
    assert at.git("log", "-1", "--format=%an <%ae> %s") == "Bo <bo@example.com> moved\n"


def test_one_of_a_file_that_was_not_deleted_yet_is(at: Desk):
    path = FilePath(f"{OLD}/one.md")
    at.write(ASIDE, "one\n")
    at.write(path, "saved\n")
    digests = {"": files.digest(b"one\n")}
    assert settle(at, Rename(path, ASIDE, is_removal=True, digests=digests)) is None
    assert (at.read(path), (at.root / ASIDE).exists()) == ("saved\n", False)


def test_of_a_file_that_neither_name_has_the_one_of_head_comes_back(at: Desk):
    path = FilePath(f"{OLD}/INDEX")
    at.write(path, "index\n")
    at.commit("index")
    clear(at)
    digests = {"": files.digest(b"index\n")}
    assert settle(at, Rename(path, NEW, is_removal=False, digests=digests)) is None
    assert at.read(path) == "index\n"
