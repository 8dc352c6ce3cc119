"""A move or a removal of a file or a folder: what it answers and commits, what it refuses, and how
all of it is undone.
"""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import EMAIL, NAME, World
from workspaces import HAND, NOW, SEED, TOKEN, Desk, append, code_of, desk

from mdmem.changes import moves
from mdmem.folder import files, journal
from mdmem.folder.journal import CommitStep, FileStep, Journal, Rename
from mdmem.model import FilePath, Op, Source
from mdmem.model.errors import StorageProblem
from mdmem.model.writes import Action, EditSection, MovePath, WriteOptions, WriteResult
from mdmem.repo import commits

HOUSE, HOUSE_TEXT = "memory/house.md", "# House\n\n- the key is under the mat\n"
GARDEN, YARD = "memory/garden", "memory/a/yard"
ROSES, SHED = f"{GARDEN}/roses.md", f"{GARDEN}/shed.bin"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    at = desk(world, repository)
    at.write(HOUSE, HOUSE_TEXT)
    at.write(ROSES, "# Roses\n\n- red\n")
    at.write(SHED, b"# Shed\n\n- \xff\n")
    at.commit("tree")
    return at


def move(at: Desk, change: MovePath) -> WriteResult:
    return moves.move(at.workspace, change, lambda _: None)


def refused(at: Desk, change: MovePath, code: str) -> None:
    """Assert that a move is refused with `code`, and that nothing at all is changed."""
    before = at.tree_state()
    assert code_of(lambda: move(at, change)) == code
    assert at.tree_state() == before


def journal_of(at: Desk) -> Journal | None:
    return journal.load(at.workspace.state / journal.WRITE_NAME)


def failing(
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
    problem: BaseException,
    before: Callable[[], object] = int,
) -> None:
    """Let a function fail, after something else has been done."""

    def fail(*_: object) -> None:
        before()
        raise problem

    monkeypatch.setattr(owner, name, fail)


def message(at: Desk) -> str:
    return at.git("log", "-1", "--format=%B").partition("Mdmem-")[0]


# Answers and messages.


@pytest.mark.parametrize(("target", "path"), [(None, GARDEN), (YARD, YARD)])
def test_the_answer_names_the_commit_and_where_it_is_now(
    at: Desk, target: str | None, path: str
) -> None:
    result = move(at, MovePath(GARDEN, target, WriteOptions(source=Source.USER_STATED)))
    assert result == WriteResult(
        changed=True,
        path=path,
        section=(),
        etag=None,
        commit=commits.CommitId(at.head()),
        op=Op.MEMORY_TOOL,
    )
    assert journal_of(at) is None
    assert at.subjects()[1:] == ["tree", "seed"]


def test_a_removal_quotes_the_lines_of_all_files(at: Desk) -> None:
    move(at, MovePath(GARDEN, None))
    assert message(at) == f"{GARDEN}: memory-tool\n\n- # Roses\n- red\n- # Shed\n- \ufffd\n\n"


def test_a_move_says_from_where(at: Desk) -> None:
    move(at, MovePath(GARDEN, YARD))
    assert message(at) == f"{YARD}: memory-tool\n\nMoved from {GARDEN}.\n\n"


@pytest.mark.parametrize("target", ["memory/empty", None])
def test_a_folder_without_files_has_no_commit(at: Desk, target: str | None) -> None:
    (at.root / "memory/bare").mkdir()
    assert move(at, MovePath("memory/bare", target)).commit is None
    assert journal_of(at) is None


def test_what_lies_in_the_workspace_folder_itself_is_removed_there(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.write("user.md", "# User\n")
    at.commit("user")
    commit, left = commits.commit, []
    monkeypatch.setattr(
        commits, "commit", lambda *arguments: (left.append(journal_of(at)), commit(*arguments))[1]
    )
    move(at, MovePath("user.md", None))
    ((rename,),) = (each.steps for each in left)
    assert isinstance(rename, Rename)
    assert journal.is_temporary(rename.target)


def test_the_author_of_the_settings_commits_where_git_has_none(at: Desk) -> None:
    at.write("mdmem.toml", f'author = "{NAME} <{EMAIL}>"\n')
    at.git("config", "--unset", "user.name")
    at.git("config", "--unset", "user.email")
    at.git("config", "user.useConfigOnly", "true")
    move(at, MovePath(HOUSE, "memory/home.md"))
    assert at.git("log", "-1", "--format=%an <%ae>").strip() == f"{NAME} <{EMAIL}>"


@pytest.mark.parametrize(
    ("path", "target", "source", "warnings"),
    [
        (HOUSE, None, Source.INFERRED, ("weaker-source",)),
        (GARDEN, None, Source.INFERRED, ("weaker-source",)),
        (HOUSE, None, Source.USER_STATED, ()),
        (HOUSE, "memory/home.md", Source.INFERRED, ()),
        ("memory/list.txt", None, Source.INFERRED, ()),
        ("memory/helpers.md", None, Source.INFERRED, ()),
        (SHED, None, Source.INFERRED, ()),
    ],
)
def test_better_founded_facts_that_go_are_noted(
    at: Desk, path: str, target: str | None, source: Source, warnings: tuple[str, ...]
) -> None:
    at.write("memory/list.txt", "- Ada's\n")
    at.commit("list")
    at.apply(
        EditSection("Own", Action.BODY, "- the agent's", file="memory/helpers.md", create=True)
    )
    assert move(at, MovePath(path, target, WriteOptions(source=source))).warnings == warnings


# Refusals.


@pytest.mark.parametrize(
    ("path", "target", "code"),
    [
        (HOUSE, ROSES, "file-exists"),
        ("memory/nowhere.md", ROSES, "file-exists"),
        ("memory/nowhere.md", "memory/new.md", "file-not-found"),
        ("memory/link", None, "bad-path"),
        (HOUSE, "memory/link/house.md", "bad-path"),
        ("shared/a.md", None, "read-only-path"),
        (HOUSE, "shared/b.md", "read-only-path"),
        ("memory/2026-03-04.md", None, "append-only"),
        (HOUSE, "memory/2026-03-05.md", "append-only"),
        ("MEMORY.md", None, None),
        ("memory/x.log", None, "ignored-path"),
        (HOUSE, f"memory/{TOKEN}.md", "secret-found"),
    ],
)
def test_refusals(at: Desk, path: str, target: str | None, code: str | None) -> None:
    at.write("mdmem.toml", 'extra_paths = ["shared"]\n')
    at.write("shared/a.md", "# A\n")
    at.write("memory/2026-03-04.md", "# 2026-03-04\n")
    at.write(".gitignore", "*.log\n")
    at.write("memory/x.log", "x")
    (at.root / "memory/link").symlink_to("/etc")
    at.commit("all")
    at.write(HOUSE, HOUSE_TEXT + HAND)
    log = (at.root / ".git/logs/HEAD").read_bytes()
    if code is None:
        assert move(at, MovePath(path, target)).changed
    else:
        refused(at, MovePath(path, target), code)
        assert (at.root / ".git/logs/HEAD").read_bytes() == log, (
            "nothing was committed and taken back"
        )


def test_what_makes_the_folder_a_workspace_stays(at: Desk) -> None:
    refused(at, MovePath("MEMORY.md", None), "bad-path")


def test_a_name_with_a_secret_may_be_allowed(at: Desk) -> None:
    target = f"memory/{TOKEN}.md"
    assert (
        move(at, MovePath(HOUSE, target, WriteOptions(allow=frozenset({"secret"})))).path == target
    )


def test_a_reason_with_a_secret_is_refused(at: Desk) -> None:
    refused(at, MovePath(HOUSE, None, WriteOptions(reason=TOKEN)), "secret-found")


# Recovery and undoing.


def test_what_a_killed_process_left_comes_first(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    at.workspace.ensure_state()
    after = SEED + HAND + "\n"
    step = FileStep(
        path=FilePath("MEMORY.md"),
        before=files.digest(SEED.encode()),
        after=files.digest(after.encode()),
        temporary=files.temporary_name(),
    )
    left = Journal((step,), CommitStep("left", "@1770000000 +0000"))
    journal.save(at.workspace.state / journal.WRITE_NAME, left)
    at.write("MEMORY.md", after)
    move(at, MovePath(HOUSE, None))
    assert at.subjects()[:2] == [f"{HOUSE}: memory-tool", "left"]


@pytest.mark.parametrize("target", [None, YARD])
def test_a_refused_move_leaves_everything_as_it_was(at: Desk, target: str | None) -> None:
    at.git("update-index", "--assume-unchanged", ROSES, SHED)
    at.write(ROSES, "# Roses\n\n- yellow\n")
    at.write(f"{GARDEN}/new.txt", "by hand\n")
    at.hook("commit-msg", "! grep -q memory-tool $1")
    bits = at.git("ls-files", "-v")
    refused(at, MovePath(GARDEN, target), "commit-failed")
    assert at.git("ls-files", "-v") == bits
    assert journal_of(at) is None


def test_a_target_that_appears_at_the_last_moment(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = files.move

    def overtaken(source: Path, target: Path) -> bool:
        at.write("memory/home.md", "theirs\n")
        return rename(source, target)

    monkeypatch.setattr(files, "move", overtaken)
    assert code_of(lambda: move(at, MovePath(HOUSE, "memory/home.md"))) == "file-exists"
    assert (at.read(HOUSE), at.read("memory/home.md"), journal_of(at)) == (
        HOUSE_TEXT,
        "theirs\n",
        None,
    )
    assert at.subjects() == ["tree", "seed"]


@pytest.mark.parametrize(
    ("meddle", "left"),
    [
        (lambda at: None, {GARDEN}),
        (lambda at: at.write("memory/a/theirs.md", "theirs\n"), {GARDEN, "memory/a"}),
        (lambda at: (at.root / YARD).rename(at.root / "memory/elsewhere"), {"memory/elsewhere"}),
        (lambda at: at.write(ROSES, "theirs\n"), {GARDEN, "memory/a"}),
    ],
)
def test_what_somebody_does_meanwhile_is_left_alone(
    at: Desk, monkeypatch: pytest.MonkeyPatch, meddle: Callable[[Desk], Any], left: set[str]
) -> None:
    with monkeypatch.context() as patch:
        failing(patch, commits, "commit", KeyboardInterrupt(), lambda: meddle(at))
        with pytest.raises(KeyboardInterrupt):
            move(at, MovePath(GARDEN, YARD))
    folders = {
        path.relative_to(at.root).as_posix()
        for path in (at.root / "memory").iterdir()
        if path.is_dir()
    }
    assert (folders, journal_of(at)) == (left, None)


def test_a_disk_that_does_not_take_it_back(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        full = OSError(errno.ENOSPC, "No space left on device")
        failing(patch, commits, "commit", full, lambda: failing(patch, files, "move", full))
        with pytest.raises(
            StorageProblem,
            match=rf"No space left on device; and {HOUSE} could not be put back: No space left",
        ):
            move(at, MovePath(HOUSE, "memory/home.md"))
    assert journal_of(at) is not None
    assert at.apply(append()).changed
    assert at.subjects()[1:] == ["memory/home.md: memory-tool", "tree", "seed"]


def test_a_removal_that_is_interrupted_after_its_commit_is_finished_later(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        failing(patch, moves, "discard", KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            move(at, MovePath(HOUSE, None))
    assert at.subjects()[0] == f"{HOUSE}: memory-tool"
    assert at.apply(append()).changed
    assert not (at.root / HOUSE).exists()
    assert not list(at.root.rglob("*.tmp"))
    assert not at.git("status", "--porcelain")


def test_an_index_that_git_could_not_write_is_brought_up_by_the_next_command(
    at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = commits.commit
    with monkeypatch.context() as patch:
        patch.setattr(
            moves.commits,
            "commit",
            lambda *arguments: commits.Committed(commit(*arguments).id, is_indexed=False),
        )
        move(at, MovePath(HOUSE, None))
    assert journal_of(at) is not None
    at.apply(append())
    assert (journal_of(at), at.git("status", "--porcelain")) == (None, "")
