"""A commit written without git, beside the one that git makes of the same file; and when it is left to git."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import NAME, World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workspaces import Desk, append, desk

from mdmem import hookfiles, repo
from mdmem.model import FilePath
from mdmem.model.writes import Action, EditSection, Log
from mdmem.repo import commits, handwritten, index, plain, worktree
from mdmem.repo import settings as git_settings

LOG = "memory/2026-03-05.md"
DATE = "@1772703000 +0100"


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A workspace that counts as large."""
    monkeypatch.setattr(commits, "_MANY_FILES", 0)
    made = desk(world, repository)
    made.write("memory/topics/deep/one.md", "- one\n")
    made.write(LOG, "# 2026-03-05\n\n## 09:00\n\n- tea\n")
    made.git("add", ".")
    made.git("commit", "-q", "-m", "more")
    return made


def commit(at: Desk, path: str, message: str = "subject\n\nbody\n", seconds: float = 30) -> str:
    """The commit of a file as it is now, of a repository that stood as it was committed before."""
    repository = repo.discover(at.root)
    data = (at.root / path).read_bytes()
    at.git("restore", "--source=HEAD", "--", path)
    found = repository.state(FilePath(path))
    (at.root / path).write_bytes(data)
    return commits.commit(repository, [FilePath(path)], message, DATE, seconds, found=found, no_hooks=hookfiles.step_aside)


def gits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The verbs of the gits that are started from now on."""
    run, started = commits.run, []

    def counted(folder: Path, arguments: list[str], *rest: object, **named: object) -> object:
        started.append(next(word for word in arguments if not word.startswith("-") and "=" not in word))
        return run(folder, arguments, *rest, **named)

    for room in (commits, worktree):
        monkeypatch.setattr(room, "run", counted)
    return started


def told(listed: str) -> list[str]:
    """What the index says of files, without what differs as they were written anew."""
    return [line for line in listed.splitlines() if "time:" not in line and "ino:" not in line]


@pytest.mark.parametrize("path", ["MEMORY.md", LOG, "memory/topics/deep/one.md"])
@pytest.mark.parametrize("message", ["subject\n\nbody\n", "größer,  no\tline end ", "\n\n  odd\n\n", ""])
def test_it_is_the_commit_that_git_makes(at: Desk, monkeypatch: pytest.MonkeyPatch, path: str, message: str):
    at.git("branch", "before")
    at.write(path, "# Other\n\n- text\n")
    started = gits(monkeypatch)
    ours = commit(at, path, message)
    assert started == []
    assert at.git("status", "--porcelain") == ""
    assert at.git("rev-parse", "HEAD").strip() == ours
    listed = at.git("ls-files", "-s", "--debug")
    logged = [at.git("reflog", "show", "-1", name).split(" ", 1)[1].split(": ", 1)[1] for name in ("HEAD", "main")]
    at.git("fsck", "--strict", "--no-dangling")
    at.git("reset", "-q", "--soft", "before")
    at.git("reset", "-q")
    monkeypatch.setattr(commits, "_MANY_FILES", 10**9)
    assert commit(at, path, message) == ours
    assert started[-1] == "commit"
    theirs = at.git("ls-files", "-s", "--debug")
    assert told(listed) == told(theirs)
    assert logged == [at.git("reflog", "show", "-1", name).split(" ", 1)[1].split(": ", 1)[1] for name in ("HEAD", "main")]


@pytest.mark.parametrize("path", ["memory/z.md", "memory/100644 z.md", "z"])
def test_of_alike_files_of_alike_names_it_is_the_one(at: Desk, monkeypatch: pytest.MonkeyPatch, path: str):
    for name in ("memory/z.md", "memory/copy z.md", "memory/100644 z.md", "memory/x 100644 z.md", "z", "y z"):
        at.write(name, "the same\n")
    at.git("add", ".")
    at.git("commit", "-qm", "x")
    at.write(path, "another\n")
    started = gits(monkeypatch)
    commit(at, path)
    assert started == []
    assert at.git("diff", "--name-only", "HEAD~1").splitlines() == [path]
    assert at.git("status", "--porcelain") == ""


def test_one_after_the_other(at: Desk, monkeypatch: pytest.MonkeyPatch):
    started = gits(monkeypatch)
    for number in range(5):
        at.apply(append(f"- number {number}"))
        at.apply(Log(f"entry {number}", day="2026-03-05"))
    assert started == []
    assert at.git("rev-list", "--count", "HEAD").strip() == "12"
    assert at.git("status", "--porcelain") == ""
    at.git("fsck", "--strict", "--no-dangling")
    assert at.git("log", "-1", "--format=%an <%ae> %cn").strip() == f"{NAME} <ada@example.org> {NAME}"


WAYS: dict[str, Callable[[Desk], object]] = {
    "signed": lambda at: at.git("config", "commit.gpgSign", "true"),
    "filters": lambda at: (at.write(".gitattributes", "*.md filter=x\n"), at.git("add", "."), at.git("commit", "-qm", "x")),
    "attributes of a folder": lambda at: (
        at.write("memory/.gitattributes", "*.md text\n"),
        at.git("add", "."),
        at.git("commit", "-qm", "x"),
    ),
    "attributes of a person": lambda at: (
        (at.world.home / ".config/git").mkdir(parents=True) or (at.world.home / ".config/git/attributes").write_text("*.md -text\n")
    ),
    "line ends": lambda at: at.git("config", "core.autocrlf", "input"),
    "a setting that nobody knows": lambda at: at.git("config", "core.sharedRepository", "group"),
    "other settings": lambda at: at.git("config", "include.path", "other"),
    "a hook": lambda at: hook(at, "commit-msg", "exit 0"),
    "a hook that ours runs": lambda at: hook(at, "pre-commit.before-mdmem", "exit 0"),
    "a hook that was ours": lambda at: hook(at, "post-commit", "# mdmem hook 1\ntouch ran"),
    "packed": lambda at: at.git("gc", "-q"),
    "staged": lambda at: (at.write("other.md", "x"), at.git("add", "other.md")),
    "a person of odd signs": lambda at: at.git("config", "user.name", "Ada <ada>"),
    "untracked cache": lambda at: at.git("update-index", "--untracked-cache"),
}


def hook(at: Desk, name: str, text: str) -> None:
    hookfiles.install(at.root / ".git" / "hooks", "python3")
    place = at.root / ".git" / "hooks" / name
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_out_of_the_ordinary_is_for_git(at: Desk, monkeypatch: pytest.MonkeyPatch, way: str):
    WAYS[way](at)
    if way == "signed":
        at.git("config", "gpg.program", "false")
    elif way == "other settings":
        (at.root / ".git" / "other").write_text("[core]\n\tautocrlf = false\n")
    started = gits(monkeypatch)
    if way == "signed":
        with pytest.raises(repo.worktree.RepositoryProblem):
            at.apply(append())
    elif way == "attributes of a folder":
        at.apply(Log("rain", day="2026-03-05"))
    else:
        at.apply(append())
    assert "commit" in started


def test_a_lock_of_another_git_is_waited_for_by_git(at: Desk, monkeypatch: pytest.MonkeyPatch):
    started = gits(monkeypatch)
    lock = at.root / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    at.apply(append())
    assert "commit" in started
    assert not lock.exists()


def test_our_own_hooks_step_aside(at: Desk, monkeypatch: pytest.MonkeyPatch):
    hookfiles.install(at.root / ".git" / "hooks", "python3")
    assert hookfiles.step_aside(at.root / ".git" / "hooks")
    started = gits(monkeypatch)
    at.apply(append())
    assert started == []


def test_the_branch_is_moved_by_compare_and_swap(at: Desk):
    """Another git commits between the look at the repository and ours."""
    repository = repo.discover(at.root)
    found = repository.state(FilePath("MEMORY.md"))
    at.git("commit", "-q", "--allow-empty", "-m", "theirs")
    at.write("MEMORY.md", "# Memory\n\n- ours\n")
    commits.commit(repository, [FilePath("MEMORY.md")], "ours\n", DATE, 30, found=found, no_hooks=hookfiles.step_aside)
    assert at.git("log", "--format=%s").split() == ["ours", "theirs", "more", "seed"]
    assert at.git("status", "--porcelain") == ""


STAGES = ("objects", "index.lock", "main.lock", "logs", "rename")


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("problem", [OSError(28, "no room"), KeyboardInterrupt()], ids=["full", "interrupted"])
def test_what_fails_on_the_way_leaves_all_as_it_was(at: Desk, monkeypatch: pytest.MonkeyPatch, stage: str, problem: BaseException):
    before = at.standing()
    seen = (at.root / ".git" / "index").read_bytes()
    rename, open_, text_open = os.rename, os.open, open

    def failing(name: str) -> bool:
        return {"objects": "tmp_obj" in name, "logs": "/logs/" in name}.get(stage, name.endswith(stage))

    def opened(path: object, *rest: object, **named: object) -> int:
        if failing(str(path)):
            raise problem
        return open_(path, *rest, **named)

    def text_opened(path: object, *rest: object, **named: object) -> object:
        if stage == "logs" and failing(str(path)):
            raise problem
        return text_open(path, *rest, **named)

    def renamed(source: object, target: object, **named: object) -> None:
        if stage == "rename" and str(source).endswith("main.lock"):
            raise problem
        rename(source, target, **named)

    monkeypatch.setattr(handwritten.os, "open", opened)
    monkeypatch.setattr("builtins.open", text_opened)
    monkeypatch.setattr(handwritten.os, "rename", renamed)
    monkeypatch.setattr(commits, "_retried", lambda *given, **named: pytest.fail("git was asked"))
    with pytest.raises(pytest.fail.Exception if isinstance(problem, OSError) else KeyboardInterrupt):
        at.apply(append())
    monkeypatch.undo()
    assert (at.root / ".git" / "index").read_bytes() == seen
    assert not list((at.root / ".git").rglob("*.lock"))
    assert not list((at.root / ".git" / "objects").rglob("tmp_obj*"))
    assert at.standing() == before


def test_an_interruption_between_branch_and_index_leaves_all_as_it_was(at: Desk, monkeypatch: pytest.MonkeyPatch):
    before, rename = at.standing(), os.rename

    def renamed(source: object, target: object, **named: object) -> None:
        if str(source).endswith("index.lock"):
            monkeypatch.undo()
            raise KeyboardInterrupt
        rename(source, target, **named)

    monkeypatch.setattr(handwritten.os, "rename", renamed)
    with pytest.raises(KeyboardInterrupt):
        at.apply(append())
    assert at.standing() == before
    assert at.git("reflog", "--format=%gs").splitlines()[0] == "mdmem: taken back"


def test_an_index_that_cannot_be_put_in_place_is_renewed(at: Desk, monkeypatch: pytest.MonkeyPatch):
    rename = os.rename

    def renamed(source: object, target: object, **named: object) -> None:
        if str(source).endswith("index.lock"):
            raise OSError(5, "no luck")
        rename(source, target, **named)

    monkeypatch.setattr(handwritten.os, "rename", renamed)
    done = at.apply(append())
    assert done.commit == at.git("rev-parse", "HEAD").strip()
    assert at.git("status", "--porcelain") == ""


def plainly(at: Desk, path: bytes = b"MEMORY.md") -> index.Index | None:
    blob = at.git("rev-parse", "HEAD:MEMORY.md").strip()
    return index.plain((at.root / ".git" / "index").read_bytes(), path, blob)


def test_the_index_as_git_writes_it(at: Desk):
    found = plainly(at)
    assert found is not None
    for folder in ("", "memory", "memory/topics", "memory/topics/deep"):
        assert found.tree(folder.encode()) == at.git("rev-parse", f"HEAD:{folder}").strip()
    for path in (b"none.md", b"memory", LOG.encode(), b"EMORY.md", b"MEMORY.m", b""):
        assert plainly(at, path) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("update-index", "--index-version", "4"),
        ("update-index", "--split-index"),
        ("update-index", "--untracked-cache"),
        ("update-index", "--assume-unchanged", "MEMORY.md"),
        ("update-index", "--skip-worktree", "MEMORY.md"),
        ("rm", "-q", "--cached", "MEMORY.md"),
    ],
)
def test_an_index_that_is_not_plain_is_for_git(at: Desk, arguments: tuple[str, ...]):
    at.git(*arguments)
    assert plainly(at) is None


def test_a_change_without_a_trace_is_still_seen(at: Desk):
    """Another file is staged, and saved again in the same tick, with as many bytes: its time stamp, beside the index's, tells git to look."""
    place = at.write("other.md", "one\n")
    at.git("add", "other.md")
    at.git("commit", "-qm", "other")
    status = place.stat()
    place.write_text("two\n")
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))
    at.git("config", "core.trustctime", "false")
    os.utime(at.root / ".git" / "index", ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert at.git("status", "--porcelain") == " M other.md\n"
    assert at.apply(append()).commit
    assert at.git("status", "--porcelain") == " M other.md\n"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_index_is_for_git(at: Desk, data: st.DataObject):
    whole = bytearray((at.root / ".git" / "index").read_bytes())
    blob = at.git("rev-parse", "HEAD:MEMORY.md").strip()
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    assert index.plain(bytes(whole[: data.draw(st.integers(0, len(whole)))]), b"MEMORY.md", blob) is None


class TestSettings:
    @pytest.mark.parametrize(
        ("text", "plainly"),
        [
            ("[user]\n\tname = Ada Example\n\temail = ada@example.org\n", True),
            ('[core]\n\tautocrlf = false\n[remote "o"]\n\turl = x\n[alias]\n\tst = status\n[filter "lfs"]\n\trequired = true\n', True),
            ("# a\n; b\n\n[commit]\n\tverbose = true # always\n", True),
            ("[commit]\n\tverbose\n", None),
            ("[core]\n\tautocrlf = true\n", False),
            ("[core]\n\tautocrlf\n", None),
            ("[core]\n\tautocrlf = false # no\n", True),
            ("[core]\n\tautocrlf = true ; yes\n", False),
            ("[core]\n\thooksPath = /x\n", False),
            ("[core]\n\tattributesFile = /x\n", False),
            ("[commit]\n\tgpgSign = true\n", False),
            ("[index]\n\tversion = 4\n", False),
            ("[feature]\n\tmanyFiles = true\n", False),
            ("[include]\n\tpath = x\n", None),
            ('[includeIf "gitdir:x"]\n\tpath = x\n', None),
            ("[user] name = Ada\n", None),
            ("[user]\n\tname = Ada \\\n\tExample\n", None),
            ('[user]\n\tname = "a" b\n', True),
            ('[core]\n\tautocrlf = "fal"se\n', False),
            ('[user]\n\tname = "a b\n', None),
            ("name = Ada\n", None),
        ],
    )
    def test_of_a_person(self, at: Desk, text: str, plainly: bool | None):
        (at.world.home / ".gitconfig").write_text(text)
        found = git_settings.read(str(at.root / ".git"))
        assert (found.leave_commits_plain() if found else None) == plainly

    @pytest.mark.parametrize("name", ["Ada", "Ada Ä. Example", "a.b", "x y"])
    def test_who_commits(self, at: Desk, name: str):
        at.git("config", "user.name", name)
        found = git_settings.read(str(at.root / ".git"))
        said = at.git("var", "GIT_AUTHOR_IDENT").rsplit(" ", 2)[0]
        assert found is not None
        assert (found.person("AUTHOR") or b"").decode() == said

    @pytest.mark.parametrize("name", ["Ada.", ".Ada", "A<da", "", "'Ada'", "A\\da"])
    def test_who_is_for_git(self, at: Desk, name: str):
        at.git("config", "user.name", name)
        found = git_settings.read(str(at.root / ".git"))
        assert found is None or found.person("AUTHOR") is None

    def test_the_environment_comes_first(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("GIT_AUTHOR_NAME", "Bo")
        found = git_settings.read(str(at.root / ".git"))
        assert found is not None
        assert (found.person("AUTHOR"), found.person("COMMITTER")) == (b"Bo <ada@example.org>", f"{NAME} <ada@example.org>".encode())
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(at.world.home / "none"))
        assert git_settings.read(str(at.root / ".git")) is not None
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "maybe")
        assert git_settings.read(str(at.root / ".git")) is None


def test_a_mode_stays(at: Desk, monkeypatch: pytest.MonkeyPatch):
    (at.root / "MEMORY.md").chmod(0o755)
    at.git("commit", "-qam", "mode")
    started = gits(monkeypatch)
    at.apply(append())
    assert started == []
    assert at.git("ls-files", "-s", "MEMORY.md").startswith("100755")
    assert stat.S_IMODE((at.root / "MEMORY.md").stat().st_mode) == 0o755
    assert at.git("status", "--porcelain") == ""


def test_a_small_repository_is_for_git(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(commits, "_MANY_FILES", 4)
    started = gits(monkeypatch)
    at.apply(EditSection("Work", Action.APPEND, "- more"))
    assert started == ["commit"]


def test_what_it_writes_is_known_to_the_plain_reading(at: Desk):
    done = at.apply(append())
    assert done.commit is not None
    assert plain.head(str(at.root / ".git")) == ("main", done.commit)
    assert repo.discover(at.root).state(FilePath("MEMORY.md")).settled
