"""What is read of a repository without git, beside what git says of the same one."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workspaces import Desk, desk

from mdmem import repo
from mdmem.model import FilePath
from mdmem.repo import Repository, plain

HERE = FilePath("MEMORY.md")
BLOB = "78981922613b2afb6025042ff6bd878ac1994e85"


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def opened(at: Desk) -> Repository:
    return repo.discover(at.root)


def asked(at: Desk) -> Repository:
    """The same repository, of which git is asked everything."""
    found = opened(at)
    return Repository(found.folder, found.root, found.git_dir, found.common_dir, found.prefix, plain=False)


class TestFind:
    @pytest.mark.parametrize("folder", ["", "sub", "sub/with blank", "ü/ß"])
    def test_as_git_finds_it(self, at: Desk, folder: str):
        place = at.root / folder
        place.mkdir(parents=True, exist_ok=True)
        found = repo.discover(place)
        assert found.plain
        said = at.world.git(place, "rev-parse", "--show-toplevel", "--absolute-git-dir", "--show-prefix").stdout.split("\n")[:3]
        assert [str(found.root), str(found.git_dir), found.prefix] == said

    def test_through_a_link(self, at: Desk, tmp_path: Path):
        (at.root / "sub").mkdir()
        (tmp_path / "link").symlink_to(at.root / "sub")
        found = repo.discover(tmp_path / "link")
        assert (found.plain, found.root, found.prefix) == (True, at.root, "sub/")

    @pytest.mark.parametrize(
        "setting",
        [
            *("core.worktree=..", "include.path=more", "includeIf.onbranch:main.path=more", "core.bare=true"),
            *("extensions.worktreeConfig=true", "core.bare=yes"),
        ],
    )
    def test_settings_that_mean_more_are_for_git(self, at: Desk, setting: str):
        name, _, value = setting.partition("=")
        at.git("config", name, value)
        assert plain.find(str(at.root)) is None

    def test_what_is_no_folder_of_its_own_is_for_git(self, at: Desk, tmp_path: Path):
        at.git("worktree", "add", "-q", "--detach", tmp_path / "linked")
        assert plain.find(str(tmp_path / "linked")) is None
        assert not repo.discover(tmp_path / "linked").plain
        at.world.git(tmp_path, "init", "-q", "--bare", "bare.git")
        for place in (tmp_path, tmp_path / "bare.git", at.root / ".git", at.root / ".git" / "refs", Path("/")):
            assert plain.find(str(place)) is None

    def test_a_repository_below_another_is_found_first(self, at: Desk):
        inner = at.root / "sub" / "inner"
        inner.mkdir(parents=True)
        at.world.git(inner, "init", "-q")
        assert plain.find(str(inner)) == (str(inner), str(inner / ".git"))

    def test_a_ceiling_is_for_git(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        (at.root / "sub").mkdir()
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(at.root))
        assert plain.find(str(at.root / "sub")) is None

    @pytest.mark.parametrize("name", ["HEAD", "config", "objects", "refs"])
    def test_a_broken_one_is_for_git(self, at: Desk, name: str):
        (at.root / ".git" / name).rename(at.root / ".git" / "elsewhere")
        assert plain.find(str(at.root)) is None


class TestHead:
    @pytest.mark.parametrize(
        "make",
        [
            lambda at: None,
            lambda at: at.git("switch", "-q", "-c", "topic/one"),
            lambda at: at.git("switch", "-q", "-c", "größer"),
            lambda at: at.git("switch", "-q", "--orphan", "empty"),
            lambda at: at.git("checkout", "-q", "--detach"),
            lambda at: at.git("pack-refs", "--all"),
            lambda at: (at.git("branch", "mainly"), at.git("tag", "-a", "-m", "x", "v1"), at.git("gc", "-q")),
            lambda at: (at.git("pack-refs", "--all"), at.git("commit", "-q", "--allow-empty", "-m", "x")),
            lambda at: (at.git("pack-refs", "--all"), at.git("switch", "-q", "--orphan", "ain")),
            lambda at: at.git("symbolic-ref", "HEAD", "refs/mine/main"),
        ],
    )
    def test_as_git_says_it(self, at: Desk, make: Callable[[Desk], object]):
        make(at)
        assert (opened(at).head(), opened(at).branch()) == (asked(at).head(), asked(at).branch())

    @pytest.mark.parametrize("text", [b"", b"0" * 40 + b"\n", b"x" * 40 + b"\n", b"1" * 39 + b"\n", b"ref: refs/heads/other\n"])
    def test_a_branch_that_is_not_plainly_written_is_for_git(self, at: Desk, text: bytes):
        (at.root / ".git" / "refs" / "heads" / "main").write_bytes(text)
        assert plain.head(str(at.root / ".git")) is None

    @pytest.mark.parametrize(
        "text", ["ref: refs/heads/../x\n", "ref: refs/heads/\n", "ref: refs/heads/a b\n", "ref: refs/heads/main", "", "x\n"]
    )
    def test_a_head_that_is_not_plainly_written_is_for_git(self, at: Desk, text: str):
        (at.root / ".git" / "HEAD").write_text(text)
        assert plain.head(str(at.root / ".git")) is None


def unmerge(at: Desk) -> None:
    entries = "".join(f"100644 {BLOB} {stage}\tother.md\n" for stage in (1, 2, 3))
    at.world.git(at.root, "hash-object", "-w", "--stdin", stdin="a\n")
    at.world.git(at.root, "update-index", "--index-info", stdin=entries)


STEPS: dict[str, Callable[[Desk], object]] = {
    "edit": lambda at: at.write("MEMORY.md", (at.root / "MEMORY.md").read_text() + "- more\n"),
    "back": lambda at: at.git("checkout", "-q", "HEAD", "--", "MEMORY.md", check=False),
    "commit": lambda at: at.git("commit", "-qam", "x", check=False),
    "only": lambda at: at.git("commit", "-qm", "x", "--only", "--", "MEMORY.md", check=False),
    "stage": lambda at: at.git("add", "MEMORY.md", check=False),
    "other": lambda at: (at.write("other.md", "a\n"), at.git("add", "other.md")),
    "intend": lambda at: (at.write("new.md", "a\n"), at.git("add", "-N", "new.md")),
    "unstage": lambda at: at.git("rm", "-q", "--cached", "MEMORY.md", check=False),
    "unmerge": unmerge,
    "mode": lambda at: (at.root / "MEMORY.md").chmod(0o755),
    "mode back": lambda at: (at.root / "MEMORY.md").chmod(0o644),
    "reset": lambda at: at.git("reset", "-q", "--hard"),
    "backwards": lambda at: at.git("reset", "-q", "--soft", "HEAD~1", check=False),
    "pack": lambda at: at.git("gc", "-q"),
    "switch": lambda at: at.git("switch", "-q", "-C", "side", check=False),
    "skip": lambda at: at.git("update-index", "--skip-worktree", "MEMORY.md", check=False),
    "assume": lambda at: at.git("update-index", "--assume-unchanged", "MEMORY.md", check=False),
    "split": lambda at: at.git("update-index", "--split-index", check=False),
    "version": lambda at: at.git("update-index", "--index-version", "4", check=False),
    "like it": lambda at: (at.write("sub/MEMORY.md", (at.root / "MEMORY.md").read_text()), at.git("add", "sub")),
    "filter": lambda at: at.write(".gitattributes", "*.md text eol=crlf\n"),
}


class TestState:
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=6))
    def test_what_is_settled_is_so_for_git(self, at: Desk, steps: list[str]):
        at.git("reset", "-q", "--hard", at.git("rev-list", "--max-parents=0", "HEAD").strip())
        for name in steps:
            STEPS[name](at)
        said = asked(at)
        for path in (HERE, FilePath("other.md"), FilePath("sub/MEMORY.md")):
            found = opened(at).state(path)
            if found.settled:
                known = said.state(path)
                assert (found.commit, found.branch, found.known) == (known.commit, known.branch, known.known)
                assert (found.pending, found.ignored) == (known.pending, known.ignored) == (False, False)
                assert at.git("diff", "--cached", "--name-only") + at.git("ls-files", "-u") == ""

    @pytest.mark.parametrize(
        ("steps", "settled"),
        [
            ([], True),
            (["edit", "only"], True),
            (["edit", "commit", "switch", "edit", "only"], True),
            (["edit"], False),
            (["unmerge"], False),
            (["other"], False),
            (["intend"], False),
            (["pack"], False),
            (["mode"], False),
            (["skip"], False),
            (["version"], False),
        ],
    )
    def test_when_it_is_settled(self, at: Desk, steps: list[str], settled: bool):
        at.git("commit", "-q", "--amend", "--no-edit")
        for name in steps:
            STEPS[name](at)
        assert opened(at).state(HERE).settled == settled

    def test_in_a_workspace_below_the_root(self, world: World, repository: Path):
        at = desk(world, repository, "sub")
        at.git("commit", "-q", "--amend", "--no-edit")
        assert opened(at).state(HERE).settled


class TestObjects:
    def test_the_blob_of_a_file_in_a_commit(self, at: Desk):
        at.write("memory/deep/er/2026-03-05.md", "- a\n")
        (at.root / "memory" / "run.md").write_text("x")
        (at.root / "memory" / "run.md").chmod(0o755)
        (at.root / "memory" / "link.md").symlink_to("run.md")
        at.git("add", ".")
        at.git("commit", "-qm", "x")
        git_dir, commit = str(at.root / ".git"), opened(at).head()
        assert commit is not None
        for path in ("MEMORY.md", "memory/deep/er/2026-03-05.md", "memory/run.md"):
            assert plain.blob_at(git_dir, commit, os.fsencode(path)) == at.git("rev-parse", f"HEAD:{path}").strip()
        for path in ("none.md", "memory", "memory/none.md", "memory/link.md", "none/MEMORY.md", "MEMORY.md/x"):
            assert plain.blob_at(git_dir, commit, os.fsencode(path)) is None
        at.git("gc", "-q")
        assert plain.blob_at(git_dir, commit, b"MEMORY.md") is None

    @pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-5], lambda data: b"x" + data])
    def test_a_damaged_object_is_for_git(self, at: Desk, damage: Callable[[bytes], bytes]):
        commit = opened(at).head()
        assert commit is not None
        place = at.root / ".git" / "objects" / commit[:2] / commit[2:]
        place.chmod(0o644)
        place.write_bytes(damage(place.read_bytes()))
        assert plain.tree_of(str(at.root / ".git"), commit) is None


class TestPeople:
    @pytest.mark.parametrize(
        ("own", "local", "known"),
        [
            ("[user]\n\tname = Ada\n\temail = ada@example.org\n", "", True),
            ('[user]\nname="Ada"\nemail=a@b ; mine\n[core]\nname = x\n', "", True),
            ("[user]\nname = Ada\n", "[user]\nemail = a@b\n", True),
            ("", "[user]\nemail = a@b\nname = Ada\n", True),
            ("[user]\n\tname = Ada\n", "", False),
            ("[user]\nname = Ada\nemail =\n", "", False),
            ("[user]\nname = Ada\nemail = # none\n", "", False),
            ("[user]\nname = Ada\nemail = a@b\n", "[user]\nname =\n", False),
            ("[core]\nname = Ada\nemail = a@b\n", "", False),
            ("[user]\nname = Ada\nemail = a@b\n[include]\npath = more\n", "", False),
            ("[user]\nname = Ada\nemail = a@b\n[author]\nname =\n", "", False),
            ('[user "x"]\nname = Ada\nemail = a@b\n', "", False),
            ("[user] name = Ada\nemail = a@b\n", "", False),
        ],
    )
    def test_who_commits(self, at: Desk, own: str, local: str, known: bool):
        (at.world.home / ".gitconfig").write_text(own)
        config = at.root / ".git" / "config"
        config.write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n" + local)
        assert plain.names_a_person(str(at.root / ".git")) == known
        if known:
            assert asked(at).identity_known()

    def test_in_the_file_that_the_environment_names(self, at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        at.git("config", "--remove-section", "user")
        (tmp_path / "other").write_text("[user]\nname = Ada\nemail = a@b\n")
        assert not opened(at).identity_known()
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "other"))
        assert plain.names_a_person(str(at.root / ".git"))
        assert asked(at).identity_known()
