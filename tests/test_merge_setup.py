"""git set up to merge memory with mdmem: settings and attributes, put in by `init` and `doctor
--fix`, taken out by `hooks uninstall`.
"""

import os
import sys
from pathlib import Path

import pytest
from conftest import World
from examination import desk as examined_desk
from examination import findings_of, only_finding
from hypothesis import given
from hypothesis import strategies as st
from workspaces import Desk
from workspaces import desk as make_desk

from mdmem.events import EventRecorder
from mdmem.health.doctor import Level
from mdmem.memory.adopting import initialise
from mdmem.memory.hooks import Hooks
from mdmem.merge import setup
from mdmem.merge.setup import with_lines
from mdmem.model import FilePath
from mdmem.model.errors import RepositoryProblem
from mdmem.model.reads import Initialise, InitResult

examined = examined_desk
NAMED = " merge=mdmem diff=markdown\n"
OURS = "# mdmem: memory files in / are merged by section and fact\n" + "".join(
    f"/{pattern}{NAMED}"
    for pattern in ("MEMORY.md", "memory.md", "USER.md", "SOUL.md", "IDENTITY.md", "memory/**/*.md")
)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return make_desk(world, repository)


def init(folder: Path, shared: bool = False) -> InitResult:
    return initialise(Initialise(str(folder), hooks=False, shared=shared), os.environ)


def attributes(at: Desk) -> str:
    path = setup.attributes_file(at.workspace.repository)
    return path.read_text() if path.exists() else ""


def merged_by(at: Desk, *paths: str) -> dict[str, str]:
    """The attribute `merge` of files, as git has it."""
    rows = [
        line.rsplit(": ", 2) for line in at.git("check-attr", "merge", "--", *paths).splitlines()
    ]
    return {path.strip('"'): value for path, _, value in rows}


def state(at: Desk) -> str:
    return setup.inspect(at.workspace).state


class TestInit:
    def test_it_sets_git_up_and_commits_nothing(self, at: Desk):
        before = at.tree_state()
        assert init(at.root).merging == ("settings", "attributes")
        assert at.tree_state() == before
        assert attributes(at) == OURS
        assert at.git("config", "--local", "merge.mdmem.driver").split() == [
            *(sys.executable, "-P", "-m", "mdmem", "merge-driver", "%O", "%A", "%B", "%P")
        ]
        assert at.git("config", "--local", "merge.mdmem.name")
        assert state(at) == "installed"

    def test_twice_is_harmless(self, at: Desk):
        init(at.root)
        before = attributes(at), (at.root / ".git/config").read_text()
        assert init(at.root).merging == ()
        assert (attributes(at), (at.root / ".git/config").read_text()) == before

    def test_memory_is_named_and_nothing_else(self, at: Desk):
        at.write("user.md", "# Ada\n")
        init(at.root)
        memory = ["MEMORY.md", "memory/2026-03-05.md", "memory/deep/er/a b.md", "USER.md"]
        other = [
            "README.md",
            "docs/memory.txt",
            "AGENTS.md",
            "docs/MEMORY.md",
            "src/memory/x.md",
            "memory/a.txt",
        ]
        assert merged_by(at, *memory, *other) == dict.fromkeys(memory, "mdmem") | dict.fromkeys(
            other, "unspecified"
        )

    def test_lines_of_others_stay_where_they_are(self, at: Desk):
        theirs = "*.png binary\n# MEMORY.md merge=mdmem diff=markdown\n*.md merge=union"
        path = setup.attributes_file(at.workspace.repository)
        path.parent.mkdir(exist_ok=True)
        path.write_text(theirs)
        init(at.root)
        assert attributes(at) == f"{theirs}\n{OURS}"
        assert merged_by(at, "MEMORY.md", "README.md") == {
            "MEMORY.md": "mdmem",
            "README.md": "union",
        }

    def test_the_paths_of_the_settings(self, at: Desk):
        at.write(
            "mdmem.toml",
            'paths = ["notes", "lists/*", "journal/[0-9]*.md"]\ndaily = "days/%Y/%m-%d.md"\nextra_paths = ["notes/others"]\n',
        )
        init(at.root)
        memory = ["notes/a.md", "notes/b/c.md", "lists/a.md", "journal/1.md", "days/2026/03-05.md"]
        other = [
            "lists/a.txt",
            "lists/b/c.md",
            "journal/x.md",
            "notes/others/a.md",
            "days/2026/x.md",
        ]
        assert merged_by(at, *memory, *other) == dict.fromkeys(memory, "mdmem") | dict.fromkeys(
            other, "unspecified"
        )

    def test_a_setting_that_came_later(self, at: Desk):
        init(at.root)
        at.write("mdmem.toml", 'paths = ["notes"]\n')
        at.write("notes/a.md", "# A\n")
        assert state(at) == "missing"
        assert init(at.root).merging == ("attributes",)
        assert attributes(at) == OURS + f"/notes/**/*.md{NAMED}"

    @pytest.mark.parametrize(
        "folder",
        ["sub", "a b", "[x]*", 'q"uote', "back\\slash", "memory", "ümlaut", "#hash", "!not"],
    )
    def test_a_workspace_below_the_root(self, world: World, repository: Path, folder: str):
        at = make_desk(world, repository, folder)
        init(at.root)
        beside = ["MEMORY.md", "README.md"] if folder == "memory" else ["MEMORY.md"]
        assert set(merged_by(at, *beside, "memory/a.md").values()) == {"mdmem"}
        assert set(merged_by(at, "../MEMORY.md", "../x/MEMORY.md", "../memory2/a.md").values()) == {
            "unspecified"
        }

    def test_several_workspaces_of_one_repository(self, world: World, repository: Path):
        first, second = make_desk(world, repository, "one"), make_desk(world, repository, "two")
        init(first.root)
        assert init(second.root).merging == ("attributes",)
        assert state(first) == state(second) == "installed"
        setup.uninstall(first.workspace)
        assert merged_by(first, "MEMORY.md", "../two/MEMORY.md") == {
            "MEMORY.md": "unspecified",
            "../two/MEMORY.md": "mdmem",
        }
        assert state(second) == "installed"
        setup.uninstall(second.workspace)
        assert "mdmem" not in (repository / ".git/config").read_text()

    def test_a_linked_work_tree_has_what_the_main_one_has(self, at: Desk, tmp_path: Path):
        at.git("worktree", "add", "-q", tmp_path / "linked", "-b", "side")
        linked = Desk(at.world, tmp_path / "linked")
        init(linked.root)
        assert (state(at), state(linked), attributes(at)) == ("installed", "installed", OURS)

    def test_a_submodule_has_its_own(self, at: Desk, world: World, tmp_path: Path):
        world.git(tmp_path, "clone", "-q", at.root, "origin")
        at.git(
            "-c", "protocol.file.allow=always", "submodule", "add", "-q", tmp_path / "origin", "sub"
        )
        sub = Desk(world, at.root / "sub")
        init(sub.root)
        assert (state(sub), state(at)) == ("installed", "missing")

    def test_a_hook_that_points_elsewhere_changes_nothing(
        self, at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        (tmp_path / "other").mkdir()
        at.world.git(tmp_path / "other", "init", "-q")
        monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
        init(at.root)
        monkeypatch.delenv("GIT_DIR")
        assert state(at) == "installed"
        assert "mdmem" not in (tmp_path / "other/.git/config").read_text()

    def test_attributes_that_cannot_be_written_are_said(self, at: Desk, tmp_path: Path):
        path = setup.attributes_file(at.workspace.repository)
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(tmp_path / "elsewhere")
        assert "git merges memory by lines" in init(at.root).notes[0]
        assert not (tmp_path / "elsewhere").exists()


class TestDriver:
    def test_its_command_line(self):
        """A shell reads it, after git has put names in place of what begins with a percent sign."""
        assert (
            setup.command_line("/a 50%/python")
            == "'/a 50%%/python' -P -m mdmem merge-driver %O %A %B %P"
        )

    @pytest.mark.parametrize(
        ("command", "is_running"),
        [
            ('test -z "$(cat)" && grep -q line %O && test %P%% = MEMORY.md% && cp %B %A', True),
            ("printf '\\377' > %A", False),
        ],
    )
    def test_a_trial(self, command: str, is_running: bool):
        assert setup.runs(command) == is_running

    def test_a_trial_that_takes_too_long(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(setup, "_TRIAL_SECONDS", 0.0)
        assert not setup.runs("while :; do echo; done")

    def test_a_trial_without_a_shell(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(RepositoryProblem) as problem:
            setup.runs("true")
        assert problem.value.code == "git-failed"

    def test_attributes_of_no_file_and_of_several(self, at: Desk):
        at.write(".gitattributes", "b*.md merge=union\n")
        repository, paths = (
            at.workspace.repository,
            [FilePath(name) for name in ("a.md", "b.md", "b\udcff.md")],
        )
        assert setup.merge_attributes(repository, []) == {}
        assert setup.merge_attributes(repository, paths) == dict(
            zip(paths, ("unspecified", "union", "union"), strict=True)
        )

    def test_it_goes_once(self, at: Desk):
        repository = at.workspace.repository
        setup.set_driver(repository, "true")
        assert setup.remove_driver(repository)
        assert not setup.remove_driver(repository)


class TestShared:
    def test_it_is_a_commit_of_its_own(self, at: Desk):
        at.write("memory/new.md", "# New\n")
        at.git("add", "memory/new.md")
        done = init(at.root, shared=True)
        assert (done.written, done.merging) == ((".gitattributes",), ("settings",))
        assert at.git("show", "--format=%s", "--name-only", "HEAD").split("\n") == [
            *("mdmem: memory files are merged by section and fact", "", ".gitattributes", "")
        ]
        assert at.read(".gitattributes") == OURS
        assert (attributes(at), state(at)) == ("", "installed")
        assert at.git("status", "--short") == "A  memory/new.md\n"

    def test_what_stood_in_the_own_attributes_goes(self, at: Desk):
        init(at.root)
        init(at.root, shared=True)
        assert (attributes(at), state(at)) == ("", "installed")
        assert init(at.root, shared=True).commit is None
        assert init(at.root).merging == ()

    def test_lines_of_others_stay(self, at: Desk):
        at.write(".gitattributes", "* text=auto\n")
        at.commit()
        init(at.root, shared=True)
        assert at.read(".gitattributes") == "* text=auto\n" + OURS

    def test_below_the_root_it_stands_in_the_workspace(self, world: World, repository: Path):
        at = make_desk(world, repository, "sub")
        init(at.root, shared=True)
        assert at.read(".gitattributes") == OURS
        assert merged_by(at, "MEMORY.md", "../MEMORY.md") == {
            "MEMORY.md": "mdmem",
            "../MEMORY.md": "unspecified",
        }

    @pytest.mark.parametrize("how", ["pending", "ignored", "detached", "a hook refuses"])
    def test_where_git_cannot_commit_it_nothing_changes(self, at: Desk, how: str):
        match how:
            case "pending":
                at.write(".gitattributes", "* text=auto\n")
            case "ignored":
                at.write(".gitignore", ".gitattributes\n")
                at.commit()
            case "detached":
                at.git("checkout", "-q", "--detach")
            case "a hook refuses":
                at.hook("pre-commit", "exit 1")
        before = at.tree_state()
        with pytest.raises(Exception, match=r"commit|ignored|detached"):
            init(at.root, shared=True)
        assert at.tree_state() == before

    def test_a_clone_is_told_that_its_settings_lack_the_driver(
        self, examined: Desk, tmp_path: Path
    ):
        init(examined.root, shared=True)
        examined.git("config", "--local", "--remove-section", "merge.mdmem")
        finding = only_finding(examined, "merge-driver")
        assert (finding.check, finding.level) == ("merge-driver-missing", Level.WARNING)
        assert "attributes name the driver" in finding.message
        assert only_finding(examined, "merge-driver", fix=True).fixed
        assert (findings_of(examined, "merge-driver"), attributes(examined)) == ([], "")


class TestDoctor:
    def test_where_nothing_is_set_up(self, examined: Desk):
        setup.uninstall(examined.workspace)
        finding = only_finding(examined, "merge-driver")
        assert (finding.check, finding.level, finding.fixed) == (
            "merge-driver-missing",
            Level.WARNING,
            False,
        )
        assert only_finding(examined, "merge-driver", fix=True).fixed
        assert findings_of(examined, "merge-driver") == []

    @pytest.mark.parametrize(
        "command",
        ["/gone/python -P -m mdmem merge-driver %O %A %B %P", "false", "true", "kill -9 $$"],
    )
    def test_a_program_that_is_gone_or_fails(self, examined: Desk, command: str):
        examined.git("config", "--unset", "merge.mdmem.driver")
        examined.git("config", "--global", "merge.mdmem.driver", command)
        finding = only_finding(examined, "merge-driver")
        assert (finding.check, command in finding.message) == ("merge-driver-broken", True)
        assert state(examined) == "broken"
        assert only_finding(examined, "merge-driver", fix=True).fixed
        assert (findings_of(examined, "merge-driver"), state(examined)) == ([], "installed")

    def test_a_driver_of_ones_own_that_works_stays(self, examined: Desk, tmp_path: Path):
        own = f"cp {'%'}B {'%'}A # 100%% mine"
        examined.git("config", "--unset", "merge.mdmem.driver")
        examined.git("config", "--global", "merge.mdmem.driver", own)
        assert findings_of(examined, "merge-driver", fix=True) == []
        assert examined.git("config", "merge.mdmem.driver").strip() == own

    @pytest.mark.parametrize(
        "program",
        [
            "touch {ran};",
            "{root}/python",
            "{root}/.git/../python",
            "{root}/link/python",
            "python",
            "'",
        ],
    )
    def test_a_program_of_a_stranger_is_not_run(self, examined: Desk, tmp_path: Path, program: str):
        """The settings of a folder that was unpacked are a stranger's, and so are the programs in
        it.
        """
        ran = tmp_path / "ran"
        script = examined.write("python", f"#!/bin/sh\ntouch '{ran}'\n")
        script.chmod(0o755)
        (examined.root / "link").symlink_to(".")
        named = program.format(ran=ran, root=examined.root)
        command = f"{named} -P -m mdmem merge-driver {'%'}O {'%'}A {'%'}B {'%'}P"
        examined.git("config", "merge.mdmem.driver", command)
        assert state(examined) == "broken"
        assert only_finding(examined, "merge-driver").check == "merge-driver-broken"
        init(examined.root)
        assert not ran.exists()
        assert state(examined) == "installed"

    def test_attributes_that_others_give_are_named(self, examined: Desk):
        path = setup.attributes_file(examined.workspace.repository)
        path.write_text(path.read_text() + "MEMORY.md merge=union\n")
        finding = only_finding(examined, "merge-driver")
        assert (finding.level, "MEMORY.md (union)" in finding.message) == (Level.NOTE, True)

    def test_attributes_of_ones_own_are_enough(self, examined: Desk):
        path = setup.attributes_file(examined.workspace.repository)
        path.write_text("*.md merge=mdmem\n")
        assert findings_of(examined, "merge-driver", fix=True) == []
        assert path.read_text() == "*.md merge=mdmem\n"

    def test_a_python_with_signs_that_a_shell_or_git_reads(self, examined: Desk, tmp_path: Path):
        python = tmp_path / "100% 'mine' $HOME" / "python"
        python.parent.mkdir()
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        setup.set_driver(examined.workspace.repository, setup.command_line(str(python)))
        assert state(examined) == "installed"


class TestUninstall:
    def test_hooks_and_driver_go_together(self, at: Desk):
        hooks = Hooks(at.workspace, lambda verb: _events(at, verb))
        hooks.install()
        assert hooks.merge_driver() == "installed"
        hooks.uninstall()
        assert (hooks.merge_driver(), attributes(at)) == ("missing", "")
        assert "mdmem" not in (at.root / ".git/config").read_text()

    def test_lines_of_others_stay(self, at: Desk):
        path = setup.attributes_file(at.workspace.repository)
        path.parent.mkdir(exist_ok=True)
        path.write_text("*.png binary\n")
        init(at.root)
        path.write_text(path.read_text() + "*.jpg binary\n")
        assert setup.uninstall(at.workspace)
        assert path.read_text() == "*.png binary\n*.jpg binary\n"
        assert not setup.uninstall(at.workspace)


def _events(at: Desk, verb: str) -> EventRecorder:
    at.workspace.ensure_state()
    return EventRecorder(at.workspace.state, verb, None)


@given(
    st.text(alphabet="ab#*\n\r \t/="),
    st.sampled_from(["", "sub/", "a b/"]),
    st.lists(st.sampled_from(["/x", "/y.md"]), max_size=2),
)
def test_lines_come_and_go_without_a_trace(text: str, prefix: str, patterns: list[str]):
    lines = tuple(f"{pattern}{NAMED.rstrip()}" for pattern in patterns)
    other = with_lines(text, "other/", ("/other" + NAMED.rstrip(),))
    full = with_lines(other, prefix, lines)
    assert with_lines(full, prefix, lines) == full
    assert with_lines(full, prefix, ()) in (other, other + "\n")
    assert full.startswith(text)
