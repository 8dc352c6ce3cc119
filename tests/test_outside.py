"""Memory of a project in a repository of its own: made, found from everywhere, nothing touched."""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import pytest
import session_files
from commandline import MadeOnce
from conftest import World
from workspaces import NOW, Desk, code_of

from mdmem import agenthooks
from mdmem.cli import main
from mdmem.folder import config
from mdmem.health.doctor import Level
from mdmem.mcp.door import Door
from mdmem.memory import Memory, initialise, leave
from mdmem.model.errors import MdmemError
from mdmem.model.pipelines import Digest
from mdmem.model.reads import Initialise, InitResult
from mdmem.model.searches import Search
from mdmem.model.writes import Log

SETTINGS = "# mine\nbudget_lines = 100  # lines\n"
BRANCHES = ("main", "feature", "fix")


@dataclass
class Project:
    """A repository of code with three branches and a second work tree, and the user's home."""

    world: World
    root: Path
    tree: Path
    patch: pytest.MonkeyPatch

    @property
    def settings(self) -> Path:
        return self.world.home / ".config" / "mdmem" / "config.toml"

    @property
    def data(self) -> Path:
        return self.world.home / ".local" / "share" / "mdmem"

    @property
    def memory(self) -> Path:
        return self.data / "app"

    def git(self, *words: str | Path) -> str:
        return self.world.git(self.root, *words).stdout

    def state(self) -> tuple[object, ...]:
        """All that is in the project: commits, refs, files and what git says of them."""
        folders = [folder for folder in (self.root, self.tree) if folder.exists()]
        return (
            self.git("for-each-ref"),
            self.git("rev-list", "--all"),
            *(self.world.git(folder, "status", "--porcelain").stdout for folder in folders),
            {
                path: path.read_bytes()
                for folder in folders
                for path in sorted(folder.rglob("*"))
                if path.is_file() and path.name not in ("index", "HEAD", "logs")
            },
        )

    def outside(self, folder: str | None = None, project: Path | None = None) -> InitResult:
        request = Initialise(folder, hooks=False, project=str(project or self.root))
        return initialise(request, os.environ)


@pytest.fixture
def project(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_once: MadeOnce
) -> Iterator[Project]:
    monkeypatch.delenv("MDMEM_ADOPT")
    monkeypatch.setenv("MDMEM_NOW", NOW)
    made = Project(world, tmp_path / "src" / "app", tmp_path / "app-fix", monkeypatch)
    made_once("a project with two work trees", lambda: make(made))
    name_tree(made)
    with chdir(made.root):
        yield made


def make(project: Project) -> None:
    world = project.world
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        world.git(world.home, "config", "--global", name, value)
    world.git(world.home, "config", "--global", "init.defaultBranch", "main")
    (project.root / "lib").mkdir(parents=True)
    (project.root / "lib" / "app.py").write_text("print(1)\n")
    project.git("init", "-q")
    project.git("add", ".")
    project.git("commit", "-qm", "code")
    project.git("branch", "feature")
    project.git("worktree", "add", "-qb", "fix", project.tree)
    project.settings.parent.mkdir(parents=True)
    project.settings.write_text(SETTINGS)


def name_tree(project: Project) -> None:
    """Have repository and work tree, which may be copied, name each other's folder."""
    own = project.root / ".git" / "worktrees" / project.tree.name
    (own / "gitdir").write_text(f"{project.tree}/.git\n")
    (project.tree / ".git").write_text(f"gitdir: {own}\n")


def stored_files(project: Project) -> set[Path]:
    """The files of memory, but for the inside of state folders, where an index may still catch up."""
    paths = (path.relative_to(project.data) for path in project.data.rglob("*"))
    return {path for path in paths if "mdmem" not in path.parent.parts}


def refused(project: Project, code: str, folder: str | None = None) -> MdmemError:
    """A call that fails and leaves nothing behind."""
    before, files = (project.settings.read_bytes(), project.state()), stored_files(project)
    with pytest.raises(MdmemError) as failure:
        project.outside(folder)
    assert failure.value.code == code
    assert stored_files(project) ^ files == set()
    assert (project.settings.read_bytes(), project.state()) == before
    return failure.value


class TestInit:
    def test_a_new_workspace_and_its_line(self, project: Project):
        before = project.state()
        done = project.outside()
        assert (done.workspace, done.project, done.made_repository, done.adopted) == (
            project.memory,
            project.root,
            True,
            True,
        )
        assert project.settings.read_text() == (
            f'{SETTINGS}\n[project."{project.root}/.git"]\nworkspace = "{project.memory}"\n'
        )
        assert project.state() == before

    def test_twice_is_harmless_from_wherever(self, project: Project):
        project.outside()
        before = project.settings.read_bytes()
        for folder in (project.root, project.root / "lib", project.tree):
            done = project.outside(project=folder)
            assert (done.workspace, done.written, done.commit) == (project.memory, (), None)
        assert project.outside(str(project.memory)).workspace == project.memory
        assert project.settings.read_bytes() == before
        assert "is already the memory of" in refused(project, "bad-path", "~/other").message

    def test_another_project_of_that_name(self, project: Project, tmp_path: Path):
        project.outside()
        (tmp_path / "other" / "app").mkdir(parents=True)
        done = project.outside(project=tmp_path / "other" / "app")
        assert done.workspace == project.data / "app-2"
        named = tomllib.loads(project.settings.read_text())["project"]
        assert named[str(tmp_path / "other" / "app")] == {"workspace": str(done.workspace)}

    def test_it_is_left_in_the_settings(self, project: Project):
        project.outside()
        for folder in (project.root / "lib", project.tree, project.memory):
            with pytest.raises(MdmemError) as failure:
                leave(folder, os.environ)
            assert failure.value.code == "still-adopted"
            assert f'[project."{project.root}/.git"] from {project.settings}' in failure.value.hint
        project.settings.write_text(SETTINGS)
        assert not leave(project.memory, os.environ)

    def test_a_folder_is_made_or_taken(self, project: Project, tmp_path: Path):
        with chdir(tmp_path):
            assert project.outside("notes").workspace == tmp_path / "notes"
        (tmp_path / "second").mkdir()
        with chdir(tmp_path / "second"):
            done = project.outside("../notes", project=Path())
        assert (done.workspace, done.made_repository, done.written) == (
            tmp_path / "notes",
            False,
            (),
        )

    def test_no_settings_yet(self, project: Project):
        project.settings.unlink()
        project.outside()
        assert project.settings.read_text().startswith("[project.")

    def test_settings_behind_a_link(self, project: Project, tmp_path: Path):
        (tmp_path / "dotfiles.toml").write_text(SETTINGS.rstrip("\n"))
        project.settings.unlink()
        project.settings.symlink_to(tmp_path / "dotfiles.toml")
        project.outside()
        assert project.settings.is_symlink()
        assert (tmp_path / "dotfiles.toml").read_text().startswith(f"{SETTINGS}\n[project.")

    @pytest.mark.parametrize("line", ["project = {}\n", '[project]\n"/x" = 1\n', "project = 1\n"])
    def test_settings_that_cannot_have_the_table(self, project: Project, line: str):
        project.settings.write_text(line)
        assert refused(project, "bad-settings")

    def test_a_failure_takes_the_line_back(self, project: Project, tmp_path: Path):
        (tmp_path / "bad" / "MEMORY.md").mkdir(parents=True)
        refused(project, "bad-path", str(tmp_path / "bad"))
        project.settings.unlink()
        with pytest.raises(MdmemError):
            project.outside(str(tmp_path / "bad"))
        assert not project.settings.exists()

    @pytest.mark.parametrize("folder", [".", "memory", ".git/x", "../../app-fix/memory"])
    def test_not_in_the_project(self, project: Project, folder: str):
        assert "the project itself" in refused(project, "bad-path", folder).message

    @pytest.mark.parametrize("mark", ["MDMEM_ACTOR", "CLAUDECODE"])
    def test_no_agent_changes_settings(self, project: Project, mark: str):
        project.patch.setenv(mark, "agent/x")
        refused(project, "not-allowed")

    def test_names_in_any_script(self, project: Project, tmp_path: Path):
        folder = tmp_path / 'a"b\\ü ]#'
        folder.mkdir()
        done = project.outside(project=folder)
        with chdir(folder):
            assert Memory.open(None, os.environ).workspace.root == done.workspace

    def test_a_folder_that_becomes_a_repository_keeps_its_memory(
        self, project: Project, tmp_path: Path
    ):
        folder = tmp_path / "notes"
        folder.mkdir()
        first = project.outside(project=folder)
        project.world.git(folder, "init", "-q")
        later = project.outside(project=folder)
        assert (later.workspace, later.project) == (first.workspace, folder)
        assert list(config.project_workspaces(os.environ)) == [folder, folder / ".git"]
        assert [path.name for path in project.data.iterdir()] == ["notes"]

    def test_a_memory_in_the_branch_comes_first(self, project: Project):
        (project.root / "MEMORY.md").write_text("# Memory\n")
        note = project.outside().notes[-1]
        assert note == f"{project.root} has its own memory, which is used first"

    def test_a_hint_is_for_the_memory_and_not_for_the_project(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ):
        project.outside()
        assert main(["sync"]) == 1
        assert f"hint: git -C {project.memory} remote add origin URL\n" in capsys.readouterr().err
        with chdir(project.memory):
            assert main(["sync"]) == 1
        assert "hint: git remote add origin URL\n" in capsys.readouterr().err
        with chdir(project.memory.parent):
            assert main(["-C", "app", "sync"]) == 1
        assert "hint: git -C app remote add origin URL\n" in capsys.readouterr().err

    def test_typed(self, project: Project, capsys: pytest.CaptureFixture[str]):
        assert main(["init", "--outside", "--no-hooks"]) == 0
        printed = capsys.readouterr()
        assert printed.out.startswith(f"created workspace {project.memory} (")
        assert f" for {project.root}" in printed.out
        assert main(["-C", str(project.tree), "init", "--outside", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["workspace"], answer["project"]) == (
            str(project.memory),
            str(project.root),
        )
        assert main(["init", "--outside", "--found"]) == 2


class TestAround:
    """The messages of `doctor` and `init`."""

    def findings(self, project: Project) -> list[tuple[Level, str]]:
        memory = Memory.open(project.memory, os.environ)
        return [(each.level, each.message) for each in memory.examine() if each.check == "projects"]

    def test_the_doctor_names_a_project_that_is_gone(self, project: Project, tmp_path: Path):
        project.outside()
        assert self.findings(project) == [(Level.OK, f"the memory of {project.root}/.git")]
        project.root.rename(tmp_path / "moved")
        assert self.findings(project) == [
            (Level.WARNING, f"the project {project.root}/.git is gone")
        ]

    def test_no_projects(self, project: Project):
        initialise(Initialise(str(project.memory), hooks=False), os.environ)
        assert self.findings(project) == []

    def test_the_doctor_names_a_memory_that_hides_another(self, project: Project):
        project.outside()
        initialise(Initialise(str(project.root), hooks=False, here=True), os.environ)
        line = f"commands in {project.root} use the memory there, which hides {project.memory}"
        assert (Level.WARNING, line) in self.findings(project)
        for folder in (project.root, project.root / "lib"):
            initialise(Initialise(str(folder), hooks=False, here=True), os.environ)
            found = Memory.open(folder, os.environ).examine()
            hidden = [each.message.partition(", which hides ")[2] for each in found]
            assert str(project.memory) in hidden
            assert (str(project.root) in hidden) == (folder != project.root)


class TestClone:
    @pytest.fixture
    def origin(self, project: Project, tmp_path: Path) -> str:
        """The address of an empty repository."""
        project.world.git(tmp_path, "init", "-q", "--bare", "memory.git")
        return f"file://{tmp_path}/memory.git"

    def filled(self, project: Project, tmp_path: Path, name: str) -> None:
        at = tmp_path / "other"
        project.world.git(tmp_path, "clone", "-q", "memory.git", at)
        (at / name).write_text("# Memory\n\n- of the team\n")
        project.world.git(at, "add", ".")
        project.world.git(at, "commit", "-qm", "x")
        project.world.git(at, "push", "-q", "origin", "HEAD")

    def test_one_with_memory(self, project: Project, origin: str, tmp_path: Path):
        self.filled(project, tmp_path, "MEMORY.md")
        done = project.outside(origin)
        assert (done.workspace, done.made_repository, done.adopted) == (
            project.memory,
            False,
            True,
        )
        with chdir(project.tree):
            memory = Memory.open(None, os.environ)
        assert [hit.text for hit in memory.search(Search("team")).hits] == ["of the team"]
        assert (
            project.world.git(project.memory, "remote", "get-url", "origin").stdout.strip()
            == origin
        )

    def test_an_empty_one(self, project: Project, origin: str):
        done = project.outside(origin)
        assert done.commit
        assert "MEMORY.md" in done.written

    def test_one_of_code(self, project: Project, origin: str, tmp_path: Path):
        self.filled(project, tmp_path, "README.md")
        refused(project, "no-workspace", origin)

    def test_one_that_is_not_there(self, project: Project, tmp_path: Path):
        failure = refused(project, "remote-unreachable", f"file://{tmp_path}/none.git")
        assert str(tmp_path) not in failure.message.partition(":")[0]

    def test_a_clone_that_was_named_and_is_gone(self, project: Project, origin: str):
        project.outside()
        assert refused(project, "bad-path", origin)
        project.memory.rename(project.data / "gone")
        assert project.outside(origin).workspace == project.memory


def by_hook(folder: Path, environment: Mapping[str, str]) -> str:
    event = agenthooks.HookEvent(name="SessionStart", session="s", folder=str(folder))
    return agenthooks.answer(event, environment)


def by_server(folder: Path, environment: Mapping[str, str]) -> str:
    with chdir(folder):
        return Door(None, environment).call_tool("memory_search", {"since": "2020-01-01"}, "probe")[
            0
        ]


def by_command(folder: Path, environment: Mapping[str, str]) -> str:
    with chdir(folder):
        try:
            facts = Memory.open(None, environment).search(Search("", since="2020-01-01"))
        except MdmemError as problem:
            return problem.code
    return " ".join(hit.text for hit in facts.hits)


def log(folder: Path, text: str, environment: Mapping[str, str] = os.environ) -> None:
    with chdir(folder):
        Memory.open(None, environment).apply(Log(text))


Ask = Callable[[Path, Mapping[str, str]], str]
DOORS = {"hook": by_hook, "server": by_server, "command": by_command}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
class TestWhichIsFound:
    """From which folder which memory is found, by each door."""

    @pytest.fixture(autouse=True)
    def _made(self, project: Project) -> None:
        project.outside()
        log(project.root, "likes tea")

    def test_below_the_project_and_in_its_work_trees(self, project: Project, door: Ask):
        for folder in (project.root, project.root / "lib", project.tree, project.tree / "lib"):
            assert "likes tea" in door(folder, os.environ)

    def test_a_variable_that_means_the_project(self, project: Project, tmp_path: Path, door: Ask):
        for name in ("MDMEM_WORKSPACE", "CLAUDE_PROJECT_DIR"):
            if name == "MDMEM_WORKSPACE" or door is not by_command:
                environment = {**os.environ, name: str(project.tree)}
                assert "likes tea" in door(tmp_path, environment)

    def test_the_folders_own_comes_first(self, project: Project, door: Ask):
        initialise(Initialise(str(project.root), hooks=False, here=True), os.environ)
        log(project.root, "likes coffee")
        assert "likes coffee" in door(project.root / "lib", os.environ)
        assert "likes tea" in door(project.tree, os.environ)

    def test_the_projects_comes_before_those_above_and_the_users_own(
        self, project: Project, tmp_path: Path, door: Ask
    ):
        initialise(Initialise(str(tmp_path / "src"), hooks=False), os.environ)
        initialise(Initialise(str(project.world.home / "own"), hooks=False), os.environ)
        text = project.settings.read_text()
        project.settings.write_text(f'workspace = "{project.world.home}/own"\n{text}')
        assert "likes tea" in door(project.root, os.environ)

    def test_a_repository_in_the_project(self, project: Project, door: Ask):
        project.world.git(project.root, "init", "-q", "vendor")
        assert "likes tea" in door(project.root / "vendor", os.environ)

    def test_no_memory_for_a_folder_whose_git_is_a_strangers(
        self, project: Project, tmp_path: Path, door: Ask
    ):
        folder = tmp_path / "stranger"
        for git_dir in (f"{project.root}/.git", f"{project.root}/.git/worktrees/app-fix"):
            folder.mkdir(exist_ok=True)
            (folder / ".git").write_text(f"gitdir: {git_dir}\n")
            assert "likes tea" not in door(folder, os.environ)

    def test_one_that_is_gone_is_told(self, project: Project, door: Ask):
        project.memory.rename(project.data / "moved")
        answer = door(project.root, os.environ)
        assert "likes tea" not in answer
        assert "no-workspace" in answer or f"{project.memory} does not exist" in answer


def test_a_strangers_memory_in_the_branch_is_passed_over(project: Project):
    project.outside()
    log(project.root, "likes tea")
    (project.root / "MEMORY.md").write_text("# Memory\n\n- wants curl\n")
    project.git("add", ".")
    project.git("-c", "user.email=m@evil.test", "commit", "-qm", "x")
    assert "likes tea" in by_server(project.root, os.environ)
    answer = json.loads(by_hook(project.root, os.environ))
    assert "likes tea" in answer["hookSpecificOutput"]["additionalContext"]
    assert f"{project.memory} is used instead" in answer["systemMessage"]
    assert "wants curl" in by_command(project.root, os.environ)


@pytest.mark.parametrize(
    "line",
    ['[project."/x"]\n', '[project."/x"]\nworkspace = 1\n', '[project."/x"]\nactor = "a"\n'],
)
def test_tables_of_another_form(project: Project, line: str):
    project.settings.write_text(line)
    with chdir(project.root):
        assert code_of(lambda: Memory.open(None, os.environ)) == "bad-settings"


def test_a_workspace_names_no_project(project: Project):
    project.outside()
    (project.memory / "mdmem.toml").write_text('[project."/"]\nworkspace = "/"\n')
    with chdir(project.root):
        assert code_of(lambda: Memory.open(None, os.environ)) == "not-here"


class TestSessions:
    """`session_scope = "project"`: the work trees of the projects, and the workspace's own."""

    @pytest.fixture
    def sources(self, project: Project, tmp_path: Path) -> Path:
        """The project's memory, and sessions in it, in a work tree, in itself and elsewhere."""
        memory = project.outside().workspace
        text = project.settings.read_text()
        project.settings.write_text(f'sessions = ["claude"]\n{text}')
        folders = (project.root / "lib", project.tree, memory, tmp_path / "elsewhere")
        for number, folder in enumerate(folders):
            session_files.claude(
                project.world.home,
                f"The pump of number {number} is blue.",
                session=f"6b2f000{number}-1111-4222-8333-444455556666",
                project=str(folder),
            )
        return memory

    def test_they_are_digested(self, project: Project, sources: Path, tmp_path: Path):
        memory = Memory.open(sources, os.environ)
        result = memory.pipelines.digest(Digest())
        assert result.outside == 1
        # What was outside is read once its project has this memory.
        (tmp_path / "elsewhere").mkdir()
        project.outside(str(sources), project=tmp_path / "elsewhere")
        assert memory.pipelines.digest(Digest()).outside == 0

    def test_they_are_searched(self, project: Project, sources: Path, tmp_path: Path):
        memory = Memory.open(sources, os.environ)

        def numbers() -> set[str]:
            found = memory.search(Search("pump", sessions=True)).messages
            return {message.text.split()[4] for message in found}

        assert numbers() == {"0", "1", "2"}
        (tmp_path / "elsewhere").mkdir()
        project.outside(str(sources), project=tmp_path / "elsewhere")
        assert numbers() == {"0", "1", "2", "3"}


def plugin_variables(folder: Path) -> dict[str, str]:
    """The variables that Claude Code sets for the plugin's hooks and server in a project."""
    manifest = Path(agenthooks.__file__).parents[1] / "templates/plugin/mdmem/.mcp.json"
    server = json.loads(manifest.read_text())["mcpServers"]["mdmem"]
    filled = {
        name: value.replace("${CLAUDE_PROJECT_DIR}", str(folder))
        for name, value in server["env"].items()
    }
    return {**os.environ, **filled, "CLAUDE_PROJECT_DIR": str(folder)}


def test_one_memory_for_all_branches_and_work_trees(
    project: Project, capsys: pytest.CaptureFixture[str]
):
    """By the plugin's hooks and server, `context` and typed commands, on three branches in two
    work trees.
    """
    project.outside()
    before = project.git("rev-list", "--all"), project.git("for-each-ref", "refs")
    places = [
        (branch, folder) for branch in BRANCHES[:2] for folder in (project.root, project.tree)
    ]
    written = []
    for number, (branch, folder) in enumerate(places):
        project.git("checkout", "-q", branch)
        texts = [f"{door} number {number}" for door in ("typed", "tool", "summary")]
        with chdir(folder):
            assert main(["log", texts[0]]) == 0
            door = Door(None, plugin_variables(folder))
            assert not door.call_tool("memory_log", {"text": texts[1]}, "probe")[1]
        summary = f"We did it.\n\nMemory:\n- {texts[2]}"
        event = agenthooks.HookEvent("PostCompact", folder=str(folder), summary=summary)
        assert agenthooks.answer(event, plugin_variables(folder)) == ""
        written += texts
    for branch, folder in places:
        project.git("checkout", "-q", branch)
        capsys.readouterr()
        with chdir(folder):
            assert main(["context"]) == 0
        block = capsys.readouterr().out
        started = by_hook(folder, plugin_variables(folder))
        searched = by_server(folder, plugin_variables(folder))
        assert all(text in block and text in started for text in written)
        assert written[-1] in searched
    assert (project.git("rev-list", "--all"), project.git("for-each-ref", "refs")) == before
    for folder in (project.root, project.tree):
        assert project.world.git(folder, "status", "--porcelain").stdout == ""
    assert not list(project.root.glob(".git/**/mdmem*"))
    at = Desk(project.world, project.memory)
    assert at.git("status", "--porcelain") == ""
    assert at.git("rev-list", "--count", "HEAD").strip() == str(1 + len(written))
