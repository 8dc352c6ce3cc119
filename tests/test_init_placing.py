"""Where `init` puts a memory: not into somebody's code, not beside one that is there, unasked."""

import json
from pathlib import Path

import pytest
from commandline import Done, Shell, mdmem, on_terminal
from commandline import shell as shell
from conftest import World

from mdmem.folder.trust import HOST_MARKS


@pytest.fixture(autouse=True)
def user(world: World) -> None:
    world.git(world.home, "config", "--global", "user.name", "Ada")
    world.git(world.home, "config", "--global", "user.email", "ada@example.org")


def repository(shell: Shell, *names: str, tracked: bool = True) -> Path:
    folder = shell.world.home / "src" / "app"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("# x\n")
    shell.world.git(folder, "init", "-q")
    if tracked:
        shell.world.git(folder, "add", "-f", ".")
        shell.world.git(folder, "commit", "-qm", "x")
    shell.patch.chdir(folder)
    return folder


def state(folder: Path) -> tuple[object, ...]:
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return tuple(sorted(files.items()))


def memory_of(done: Done) -> Path:
    return Path(json.loads(done.out)["workspace"])


CODE = [
    ("src/app.py",),
    ("README.md", "a.c", "b.h"),
    ("README.md", "docs/a.md", "pyproject.toml"),
    ("package.json",),
    ("Makefile", "README.md"),
]
NO_CODE = [
    ("README.md",),
    ("README.md", "a.py"),
    ("a.md", "b.md", "c.py"),
    ("MEMORY.md", "Makefile", "a.py"),
    ("mdmem.toml", "a.py", "b.py"),
    (".obsidian/app.json", "plugin.js", "a.ts"),
    ("notes.txt", "photo.jpg"),
]


class TestCode:
    @pytest.mark.parametrize("names", CODE, ids=" ".join)
    def test_memory_is_outside(self, shell: Shell, names: tuple[str, ...]):
        folder = repository(shell, *names)
        before = state(folder)
        done = shell.run("init", "--no-hooks")
        assert (done.status, state(folder)) == (0, before)
        assert f"{folder} is code, so its memory is outside of it" in done.err
        assert str(shell.world.home / ".local/share/mdmem/app") in done.out

    @pytest.mark.parametrize("names", NO_CODE, ids=" ".join)
    def test_what_is_no_code_is_adopted_as_ever(self, shell: Shell, names: tuple[str, ...]):
        folder = repository(shell, *names)
        assert shell.run("init", "--no-hooks").status == 0
        assert not (shell.world.home / ".local/share/mdmem/app").exists()
        assert shell.run("status").out.startswith(f"workspace  {folder}")

    def test_a_build_file_counts_before_it_is_committed(self, shell: Shell):
        repository(shell, "go.mod", tracked=False)
        assert "is code" in shell.run("init", "--no-hooks").err

    def test_a_clone_without_commits_is_none(self, shell: Shell):
        folder = shell.world.home / "empty"
        folder.mkdir()
        shell.world.git(folder, "init", "-q")
        shell.world.git(folder, "remote", "add", "origin", "git@example.org:memory.git")
        shell.patch.chdir(folder)
        assert "created workspace" in shell.run("init", "--no-hooks").out
        assert (folder / "MEMORY.md").exists()

    @pytest.mark.parametrize("words", [("--here",), (".",), ("docs",)], ids=" ".join)
    def test_what_is_said_is_done(self, shell: Shell, words: tuple[str, ...]):
        folder = repository(shell, "a.py")
        assert shell.run("init", "--no-hooks", *words).status == 0
        assert (folder / ("docs" if "docs" in words else ".") / "MEMORY.md").exists()

    def test_so_is_what_c_names(self, shell: Shell, world: World):
        folder = repository(shell, "a.py")
        shell.patch.chdir(world.home)
        assert shell.run("-C", str(folder), "init", "--no-hooks").status == 0
        assert (folder / "MEMORY.md").exists()

    @pytest.mark.parametrize("mark", HOST_MARKS)
    def test_an_agent_is_refused(self, shell: Shell, mark: str):
        folder = repository(shell, "a.py")
        before = state(folder)
        shell.patch.setenv(mark, "1")
        done = shell.run("init")
        assert (done.status, state(folder)) == (1, before)
        assert done.err.endswith("hint: To be typed at a terminal: mdmem init\n")
        assert shell.run("init", "--here", "--no-hooks").status == 0

    @pytest.mark.parametrize(
        ("typed", "status", "inside"),
        [("branch", 0, True), ("outside", 0, False), ("", 0, False), ("yes", 2, False)],
    )
    def test_a_person_is_asked(self, shell: Shell, typed: str, status: int, inside: bool):
        folder = repository(shell, "a.py")
        shell.folder = folder
        done = on_terminal(shell, *mdmem("init", "--no-hooks"), typed=f"{typed}\n".encode())
        assert "Memory outside, or in this branch? [OUTSIDE/branch]: " in done.out
        assert (done.status, (folder / "MEMORY.md").exists()) == (status, inside)
        outside = shell.world.home / ".local/share/mdmem/app/MEMORY.md"
        assert outside.exists() == (not status and not inside)


class TestHome:
    def test_it_is_refused(self, shell: Shell, world: World):
        shell.patch.chdir(world.home)
        before = state(world.home)
        for words in ((), (".",), ("-C", "."), (str(world.home),)):
            done = shell.run(*(words if "-C" in words else ()), "init", *(set(words) - {"-C"}))
            assert done.status == 1
            assert "is your home folder" in done.err
        assert state(world.home) == before

    def test_here_is_an_answer(self, shell: Shell, world: World):
        shell.patch.chdir(world.home)
        assert shell.run("init", "--here", "--no-hooks").status == 0
        assert shell.run("init", "--no-hooks").status == 0

    def test_dotfiles_with_memory_are_adopted(self, shell: Shell, world: World):
        (world.home / "MEMORY.md").write_text("# Memory\n")
        world.git(world.home, "init", "-q")
        shell.patch.chdir(world.home)
        assert shell.run("init", "--no-hooks").status == 0


class TestServed:
    @pytest.mark.parametrize("words", [(), (".",), ("lib",)], ids=str)
    def test_a_project_keeps_its_memory(self, shell: Shell, words: tuple[str, ...]):
        folder = repository(shell, "lib/a.py")
        made = memory_of(shell.run("init", "--no-hooks", "--json"))
        before = state(folder), state(made)
        done = shell.run("init", *words)
        assert (done.status, done.out) == (0, f"workspace is ready: {made}\n")
        assert "so nothing was changed; to make another one there, add --here" in done.err
        assert (state(folder), state(made)) == before

    @pytest.mark.parametrize("words", [(), ("sub",), ("sub/new",)], ids=str)
    def test_so_does_a_folder_of_a_workspace(self, shell: Shell, words: tuple[str, ...]):
        (shell.folder / "sub").mkdir()
        shell.patch.chdir(shell.folder / ("." if words else "sub"))
        before = shell.snapshot()
        done = shell.run("init", *words)
        assert (done.status, done.out) == (0, f"workspace is ready: {shell.folder}\n")
        assert shell.snapshot() == before

    def test_another_is_made_where_that_is_said(self, shell: Shell):
        assert shell.run("init", "sub", "--here", "--no-hooks").status == 0
        assert (shell.folder / "sub" / "MEMORY.md").exists()

    def test_a_repository_in_a_workspace_is_none_of_it(self, shell: Shell):
        shell.world.git(shell.folder, "init", "-q", "vendor")
        assert shell.run("init", "vendor", "--no-hooks").status == 0
        assert (shell.folder / "vendor" / "MEMORY.md").exists()

    def test_c_follows_the_project(self, shell: Shell, world: World):
        folder = repository(shell, "lib/a.py")
        made = memory_of(shell.run("init", "--no-hooks", "--json"))
        shell.patch.chdir(world.home)
        for named in (folder, folder / "lib"):
            assert shell.run("-C", str(named), "status", "--json").answer["workspace"] == str(made)

    def test_c_does_not_follow_the_users_own(self, shell: Shell, world: World):
        folder = repository(shell, "a.py")
        settings = world.home / ".config" / "mdmem" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'workspace = "{shell.folder}"\n')
        assert shell.run("status").status == 0
        done = shell.run("-C", str(folder), "status")
        assert (done.status, done.err.splitlines()[-1]) == (
            1,
            f"hint: To create a workspace there: mdmem init {folder}",
        )


class TestDryRun:
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            ((), "would create workspace {home}/.local/share/mdmem/app (MEMORY.md, USER.md,"),
            (("--here",), "would create workspace {folder} (MEMORY.md, USER.md,"),
            (("new", "--agents"), "would create workspace {folder}/new (MEMORY.md, USER.md,"),
            (("--outside", "file:///m.git"), "would use workspace {home}/.local/share/mdmem/app"),
        ],
        ids=str,
    )
    def test_nothing_is_written(self, shell: Shell, words: tuple[str, ...], expected: str):
        folder, home = repository(shell, "a.py"), shell.world.home
        before = state(home)
        done = shell.run("init", "--dry-run", *words)
        assert done.status == 0
        assert done.out.startswith(expected.format(home=home, folder=folder))
        assert done.err.endswith("mdmem: a dry run: nothing was written\n")
        assert shell.run("init", "--dry-run", "--json", *words).answer["dry_run"] is True
        assert state(home) == before

    def test_without_a_repository(self, shell: Shell, world: World):
        shell.patch.delenv("MDMEM_ADOPT")
        (world.home / "new").mkdir()
        shell.patch.chdir(world.home / "new")
        before = state(world.home)
        done = shell.run("init", "--dry-run")
        assert "a git repository would be made of the folder" in done.err
        assert state(world.home) == before

    def test_adopting(self, shell: Shell):
        shell.patch.delenv("MDMEM_ADOPT")
        assert shell.run("init", "--dry-run").out == f"would adopt workspace {shell.folder}\n"
        assert "not adopted" in shell.run("status").out

    def test_what_would_fail_fails(self, shell: Shell):
        shell.write("sub/.gitignore", "MEMORY.md\n")
        assert shell.run("init", "sub", "--here", "--dry-run").status == 1


def test_here_and_outside_exclude_each_other(shell: Shell):
    assert shell.run("init", "--here", "--outside").status == 2
    assert [path.name for path in shell.world.home.iterdir()] == [".gitconfig"]
