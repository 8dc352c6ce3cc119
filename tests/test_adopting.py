"""`init`: a workspace made, or one adopted with no file altered."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commandline import TOKEN
from conftest import NAME, World
from workspaces import NOW, SEED, Desk, append, desk

from mdmem.folder import hook_files, installed
from mdmem.memory import adopting, commit_hooks, initialise
from mdmem.model.errors import MdmemError, PathProblem
from mdmem.model.reads import Initialise, InitResult
from mdmem.workspace import find_workspace, open_at

FALLBACK = "mdmem <mdmem@localhost>"
TEMPLATES = ("MEMORY.md", "USER.md", "SOUL.md", "IDENTITY.md")


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@pytest.fixture
def global_identity(world: World) -> None:
    world.git(world.home, "config", "--global", "user.name", NAME)
    world.git(world.home, "config", "--global", "user.email", "ada@example.org")


def init(folder: Path, hooks: bool = False) -> InitResult:
    return initialise(Initialise(str(folder), hooks, here=True), os.environ)


def refused(at: Desk, folder: Path, code: str) -> None:
    before = at.tree_state()
    with pytest.raises(MdmemError) as failure:
        init(folder)
    assert failure.value.code == code
    assert at.tree_state() == before


@pytest.mark.usefixtures("global_identity")
class TestAnew:
    def test_a_folder_that_is_not_there(self, world: World, tmp_path: Path):
        done = init(tmp_path / "a" / "b", hooks=True)
        at = Desk(world, tmp_path / "a" / "b")
        assert done.workspace == at.root
        assert done.made_repository
        assert sorted(done.written) == sorted(TEMPLATES)
        assert done.hooks == hook_files.HOOKS
        assert done.notes == ()
        assert at.git("log", "--format=%H %s %an") == f"{done.commit} mdmem: init {NAME}\n"
        assert at.git("status", "--porcelain") == ""
        assert all(at.read(name) == installed.template(name) for name in TEMPLATES)
        assert "Mdmem-Op: init" in at.git("log", "-1", "--format=%B")

    def test_the_folder_that_the_environment_names(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("MDMEM_WORKSPACE", str(tmp_path / "named"))
        assert initialise(Initialise(hooks=False), os.environ).workspace == tmp_path / "named"
        assert init(tmp_path / "given").workspace == tmp_path / "given"

    def test_settings_that_name_a_folder_of_the_work_tree(self, at: Desk):
        at.write("sub/mdmem.toml", 'extra_paths = ["../docs"]\n')
        assert init(at.root / "sub").workspace == at.root / "sub"

    def test_a_folder_of_the_memory_of_another(self, at: Desk):
        for name in ("memory", "memory/sub"):
            refused(at, at.root / name, "bad-path")
        assert init(at.root / "notes").workspace == at.root / "notes"

    def test_twice_is_harmless(self, world: World, tmp_path: Path):
        at = Desk(world, tmp_path / "new")
        init(at.root, hooks=True)
        before = at.tree_state()
        done = init(at.root, hooks=True)
        assert (done.made_repository, done.written, done.commit, done.hooks) == (
            False,
            (),
            None,
            (),
        )
        assert at.tree_state() == before

    def test_files_that_are_there_are_adopted_byte_for_byte(self, world: World, tmp_path: Path):
        at = Desk(world, tmp_path / "old")
        contents = {
            "memory.md": b"\xef\xbb\xbf# Mine\r\n",
            "user.md": b"x",
            "memory/2026-03-01.md": b"- a\n",
            "README.md": b"r",
            "a.txt": b"\0",
        }
        for name, data in contents.items():
            at.write(name, data)
        done = init(at.root)
        assert done.written == ()
        assert {name: (at.root / name).read_bytes() for name in contents} == contents
        assert sorted(at.git("ls-files").split()) == [
            "memory.md",
            "memory/2026-03-01.md",
            "user.md",
        ]
        assert at.git("status", "--porcelain") == "?? README.md\n?? a.txt\n"

    def test_the_notes_of_a_vault_are_memory(self, world: World, tmp_path: Path):
        (tmp_path / "vault/.obsidian").mkdir(parents=True)
        (tmp_path / "vault/Boat.md").write_text("# Boat\n\n- lies in Bergen\n")
        made = init(tmp_path / "vault")
        assert made.written == ("mdmem.toml", "MEMORY.md")
        assert (tmp_path / "vault/mdmem.toml").read_text() == (
            'paths = ["**/*.md"]\ndaily = "obsidian"\n'
        )
        assert made.notes[-1] == 'mdmem.toml says: paths = ["**/*.md"] and daily = "obsidian"'
        assert world.git(tmp_path / "vault", "ls-files").stdout.split() == [
            *("Boat.md", "MEMORY.md", "mdmem.toml"),
        ]

    def test_profiles_that_are_there_stay(self, world: World, tmp_path: Path):
        at = Desk(world, tmp_path / "old")
        at.write("soul.md", "mine")
        assert sorted(init(at.root).written) == ["IDENTITY.md", "MEMORY.md", "USER.md"]
        assert at.read("soul.md") == "mine"

    def test_a_name_that_only_looks_like_the_curated_file_s(self, world: World, tmp_path: Path):
        at = Desk(world, tmp_path / "old")
        at.write("Memory.md", "mine")
        assert "MEMORY.md" in init(at.root).written
        assert at.read("Memory.md") == "mine"
        assert find_workspace(at.root, os.environ) == at.root

    def test_a_link_in_the_place_of_the_curated_file_is_named(self, world: World, tmp_path: Path):
        at = Desk(world, tmp_path / "old")
        at.write("notes.md", "mine")
        (at.root / "MEMORY.md").symlink_to("notes.md")
        done = init(at.root)
        assert (done.written, done.commit) == ((), None)
        assert done.notes == (
            "MEMORY.md is a symbolic link: neither searched nor edited. Put the file in its place.",
            '1 other Markdown file is not searched (notes.md). To include it: paths = ["*.md"] in mdmem.toml',
        )

    @pytest.mark.parametrize(
        "place",
        [lambda path: path.mkdir(), lambda path: path.symlink_to("nowhere.md")],
        ids=["folder", "dead link"],
    )
    def test_what_is_no_workspace_afterwards_is_not_made(
        self, world: World, tmp_path: Path, place: Callable[[Path], object]
    ):
        place(tmp_path / "MEMORY.md")
        with pytest.raises(MdmemError) as failure:
            init(tmp_path)
        assert failure.value.code == "bad-path"
        assert [path.name for path in tmp_path.iterdir() if path != world.home] == ["MEMORY.md"]

    def test_what_holds_a_secret_is_left_out_and_named(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        at = Desk(world, tmp_path / "old")
        at.write("memory/keys.md", f"# Keys\n\n- {TOKEN}\n")
        at.write("memory/tea.md", "- tea\n")
        done = init(at.root)
        (note,) = done.notes
        assert note.startswith("not committed: memory/keys.md:3: possible secret (")
        assert at.git("log", "--format=%(trailers:key=Mdmem-Source)", "--name-only").split() == [
            *("Mdmem-Source:", "auto", *sorted(TEMPLATES)),
            *("Mdmem-Source:", "user-stated", "memory/tea.md"),
        ]
        assert at.git("status", "--porcelain") == "?? memory/keys.md\n"
        monkeypatch.setenv("MDMEM_ALLOW", "secret")
        let_through = Desk(world, tmp_path / "other")
        let_through.write("MEMORY.md", f"- {TOKEN}\n")
        assert init(let_through.root).notes == ()
        assert let_through.git("ls-files") == "MEMORY.md\n"

    def test_a_file_with_a_secret_in_its_name_is_left_out_too(self, world: World, tmp_path: Path):
        at = Desk(world, tmp_path / "old")
        at.write(f"memory/{TOKEN}.md", "# Keys\n")
        done = init(at.root)
        (note,) = done.notes
        assert note.startswith(
            "not committed: memory/[REDACTED:github-token].md:1: possible secret"
        )
        assert at.git("show", "--format=", "--name-only").split() == sorted(TEMPLATES)

    def test_below_an_existing_repository_only_what_it_wrote_is_committed(self, at: Desk):
        at.write("sub/memory/old.md", "# Old\n")
        at.write("staged.txt", "x")
        at.git("add", "staged.txt")
        done = init(at.root / "sub")
        assert not done.made_repository
        assert at.git("show", "--format=", "--name-only").split() == sorted(
            f"sub/{name}" for name in TEMPLATES
        )
        assert at.git("status", "--porcelain") == "A  staged.txt\n?? sub/memory/\n"
        assert open_at(at.root / "sub", os.environ).repository.prefix == "sub/"

    def test_a_folder_below_it_that_is_not_there(self, at: Desk):
        done = init(at.root / "new" / "sub")
        assert not done.made_repository
        assert done.adopted
        assert open_at(at.root / "new" / "sub", os.environ).repository.prefix == "new/sub/"


@pytest.mark.usefixtures("global_identity")
class TestByAnAgent:
    def trailers(self, at: Desk) -> set[str]:
        return set(at.git("log", "-1", "--format=%(trailers)").split("\n"))

    def test_existing_files_are_its_claim(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("MDMEM_ACTOR", "agent/main")
        at = Desk(world, tmp_path / "old")
        at.write("MEMORY.md", "- tea\n")
        init(at.root)
        assert {
            "Mdmem-Op: init",
            "Mdmem-Source: inferred",
            "Mdmem-Claimed-By: agent/main",
        } <= self.trailers(at)

    def test_templates_claim_nothing(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("MDMEM_ACTOR", "agent/main")
        at = Desk(world, tmp_path / "new")
        init(at.root)
        assert self.trailers(at) == {"Mdmem-Op: init", "Mdmem-Source: auto", ""}


class TestIgnored:
    @pytest.mark.parametrize(
        ("rule", "named"),
        [
            ("MEMORY.md", "MEMORY.md would"),
            ("*.md", "IDENTITY.md, MEMORY.md, SOUL.md, USER.md would"),
        ],
    )
    def test_what_git_would_not_keep_is_not_written(self, at: Desk, rule: str, named: str):
        at.write(".gitignore", f"/sub/{rule}\n")
        at.commit("rule")
        (at.root / "sub").mkdir()
        before = at.tree_state()
        with pytest.raises(PathProblem, match=named) as refused:
            init(at.root / "sub")
        assert refused.value.code == "ignored-path"
        assert at.tree_state() == before

    @pytest.mark.usefixtures("global_identity")
    def test_by_the_users_own_rules(self, world: World, tmp_path: Path):
        (world.home / "ignored").write_text("*.md\n")
        world.git(world.home, "config", "--global", "core.excludesFile", world.home / "ignored")
        with pytest.raises(PathProblem) as refused:
            init(tmp_path / "new")
        assert refused.value.code == "ignored-path"
        assert not (tmp_path / "new").exists()

    def test_what_is_there_is_adopted_and_named(self, at: Desk):
        at.write(".gitignore", "memory/\n")
        at.commit("rule")
        assert init(at.root).notes == ()
        at.write("memory/a.md", "# A\n")
        assert init(at.root).notes == (
            "ignored by .gitignore: memory/a.md. Remove the rule; memory outside git has no history.",
        )
        at.write("memory/b.md", "# B\n")
        assert (
            init(at.root)
            .notes[0]
            .startswith("ignored by .gitignore: memory/a.md and 1 more memory files. ")
        )


class TestWhoCommits:
    def test_nobody_is_known(self, world: World, tmp_path: Path):
        at = Desk(world, tmp_path / "new")
        done = init(at.root)
        assert at.read("mdmem.toml") == 'author = "mdmem <mdmem@localhost>"\n'
        assert "mdmem.toml" in done.notes[0]
        assert (
            at.git("log", "--format=%an <%ae> %cn <%ce>")
            == "mdmem <mdmem@localhost> mdmem <mdmem@localhost>\n"
        )
        assert at.git("status", "--porcelain") == ""
        assert at.apply(append(section=None)).commit
        assert at.git("log", "-1", "--format=%an") == "mdmem\n"

    def test_whoever_the_users_own_settings_name(self, world: World, tmp_path: Path):
        own = world.home / ".config" / "mdmem" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text('author = "Own <own@example.org>"\n')
        done = init(tmp_path / "new")
        assert "mdmem.toml" not in done.written
        assert Desk(world, tmp_path / "new").git("log", "--format=%an") == "Own\n"

    def test_settings_with_another_author_are_not_altered(self, world: World, at: Desk):
        at.git("config", "--unset", "user.name")
        at.write("sub/mdmem.toml", 'author = "nobody"\n')
        refused(at, at.root / "sub", "no-identity")

    def test_settings_that_are_there_get_the_author(self, world: World, tmp_path: Path):
        at = Desk(world, tmp_path / "vault")
        at.write("a.md", "- port: 80\n")
        at.write("mdmem.toml", 'paths = ["**/*.md"]\n')
        init(at.root)
        assert at.read("mdmem.toml") == f'author = "{FALLBACK}"\npaths = ["**/*.md"]\n'
        assert at.git("status", "--porcelain") == ""
        assert at.apply(append(section=None)).commit

    def test_in_an_old_repository_they_are_left_for_the_user_to_commit(self, at: Desk):
        at.git("config", "--unset", "user.name")
        at.write("sub/mdmem.toml", "log_queries = true\n")
        init(at.root / "sub")
        assert at.read("sub/mdmem.toml") == f'author = "{FALLBACK}"\nlog_queries = true\n'
        assert at.git("status", "--porcelain") == "?? sub/mdmem.toml\n"

    def test_a_refusal_puts_them_back(self, at: Desk):
        at.git("config", "--unset", "user.name")
        at.write("sub/mdmem.toml", "log_queries = true\n")
        (at.root / ".git" / "hooks").mkdir(exist_ok=True)
        hook = at.root / ".git" / "hooks" / "pre-commit"
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
        refused(at, at.root / "sub", "commit-failed")


@pytest.mark.usefixtures("global_identity")
class TestRefused:
    def test_a_file(self, at: Desk):
        refused(at, at.root / "MEMORY.md", "bad-path")

    @pytest.mark.parametrize("name", [".git", ".git/sub", ".GIT/sub"])
    def test_gits_own_folder(self, at: Desk, name: str):
        refused(at, at.root / name, "bad-path")

    def test_a_bare_repository(self, at: Desk, tmp_path: Path):
        at.git("clone", "-q", "--bare", at.root, tmp_path / "bare")
        before = sorted(tmp_path.rglob("bare/*"))
        refused(at, tmp_path / "bare", "bare-repository")
        assert sorted(tmp_path.rglob("bare/*")) == before

    def test_a_broken_repository_is_not_made_anew(self, at: Desk):
        (at.root / ".git" / "HEAD").write_text("nonsense\n")
        refused(at, at.root, "broken-repository")

    @pytest.mark.parametrize(
        ("name", "code"), [("MERGE_HEAD", "repository-busy"), ("BISECT_LOG", "repository-busy")]
    )
    def test_while_something_is_under_way(self, at: Desk, name: str, code: str):
        (at.root / "sub").mkdir()
        (at.root / ".git" / name).write_text(at.git("rev-parse", "HEAD"))
        refused(at, at.root / "sub", code)

    def test_on_a_detached_head(self, at: Desk):
        at.git("checkout", "-q", "--detach")
        (at.root / "sub").mkdir()
        refused(at, at.root / "sub", "detached-head")
        assert init(at.root).commit is None

    def test_settings_that_cannot_be_read(self, at: Desk, tmp_path: Path):
        at.write("sub/mdmem.toml", "nonsense = 1\n")
        refused(at, at.root / "sub", "bad-settings")
        (tmp_path / "none").mkdir()
        (tmp_path / "none" / "mdmem.toml").write_text("= 1\n")
        refused(at, tmp_path / "none", "bad-settings")
        assert [place.name for place in (tmp_path / "none").iterdir()] == ["mdmem.toml"]

    def test_a_hook_that_refuses_leaves_no_template(self, at: Desk):
        (at.root / "sub").mkdir()
        at.write("sub/USER.md", "mine\n")
        at.hook("pre-commit", "exit 1")
        refused(at, at.root / "sub", "commit-failed")


class TestHooks:
    def test_managed_elsewhere_they_are_left_and_it_says_what_to_add(
        self, at: Desk, tmp_path: Path
    ):
        at.git("config", "core.hooksPath", tmp_path / "hooks")
        done = init(at.root, hooks=True)
        assert done.hooks == ()
        assert "core.hooksPath" in done.notes[0]
        assert "githooks" in done.notes[1]
        assert not (tmp_path / "hooks").exists()

    def test_managed_elsewhere_the_lines_are_told_apart(self, at: Desk):
        at.git("config", "core.hooksPath", "elsewhere")
        with pytest.raises(MdmemError) as refused:
            commit_hooks.require_hooks_free(at.workspace)
        assert refused.value.details["lines"] == hook_files.lines_to_add(sys.executable)

    def test_not_wanted(self, at: Desk):
        init(at.root)
        assert hook_files.hook_states(at.root / ".git" / "hooks")["pre-commit"] == "missing"

    def test_a_person_who_is_known_writes_no_settings(self, at: Desk):
        init(at.root)
        assert not (at.root / "mdmem.toml").exists()


def test_the_state_says_which_workspace_it_is_for(at: Desk):
    adopting.initialise(Initialise(str(at.root), False), os.environ)
    assert (at.workspace.state / "workspace").read_text() == ""
    assert at.read("MEMORY.md") == SEED
