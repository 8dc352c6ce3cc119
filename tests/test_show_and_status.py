"""Reading verbs: show, outline, facts, status, check; and which workspace is meant."""

import os
from pathlib import Path

import pytest
from conftest import World
from workspaces import MARK, NOW, SEED, Desk, append, desk

from mdmem.memory import Memory, staged_problems
from mdmem.model.errors import MdmemError, verb
from mdmem.model.reads import Show
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import Log
from mdmem.workspace import find_workspace, used_workspaces

CONFLICT = "<<<<<<< HEAD\n- tea\n=======\n- coffee\n>>>>>>> other\n"


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


@pytest.fixture
def memory(at: Desk) -> Memory:
    return Memory(at.workspace)


class TestShow:
    def test_a_section(self, at: Desk, memory: Memory):
        view = memory.show(Show(section="Work"))
        assert view.section == ("Memory", "Work")
        assert (view.text, view.start_line, view.end_line) == ("\n- works at Stripe\n\n", 3, 6)
        assert (view.level, view.subsections, view.uncommitted) == (2, (), False)
        assert view.commit == at.git("rev-parse", "HEAD").strip()
        rows = {row.section: row for row in memory.outline().sections}
        assert (rows[view.section].etag, rows[view.section].line, rows[view.section].lines) == (
            view.etag,
            3,
            4,
        )

    def test_a_whole_file_and_its_preamble(self, at: Desk, memory: Memory):
        at.write("notes.md", "---\na: 1\n---\nbefore\n\n# One\n\n## Two\n")
        whole, preamble = (
            memory.show(Show("notes.md")),
            memory.show(Show("notes.md", preamble=True)),
        )
        assert whole.text == at.read("notes.md")
        assert whole.subsections == (("One",), ("One", "Two"))
        assert preamble.text == "before\n\n"
        assert (whole.commit, whole.uncommitted) == (None, True)

    def test_edits_that_are_not_committed_are_marked_where_they_are(self, at: Desk, memory: Memory):
        at.write("MEMORY.md", SEED.replace("Oslo", "Rome"))
        assert memory.show(Show(section="Home")).uncommitted
        assert not memory.show(Show(section="Work")).uncommitted

    @pytest.mark.parametrize(
        ("text", "arguments", "uncommitted"),
        [
            ("# M\n\n## A\n\n- one\n\n## B\n\n- one\n", Show(section="A"), True),
            ("# M\n\n## A\n\n- one\n\n## B\n\n- one\n", Show(section="B"), False),
            ("# M\n", Show(), True),
            ("# M\n\n## A\n\n- one\n- two\n\n## B\n\n- one\n", Show(preamble=True), True),
            (
                "before\n\n# M\n\n## A\n\n- one\n- two\n\n## A\n\n- one\n- two\n",
                Show(preamble=True),
                False,
            ),
            (
                "before\n\n# M\n\n## A\n\n- one\n- two\n\n## A\n\n- one\n- two\n",
                Show(section="A", nth=1),
                False,
            ),
            (
                "before\n\n# M\n\n## A\n\n- one\n- two\n\n## A\n\n- one\n- two\n",
                Show(section="A", nth=2),
                True,
            ),
            (
                "before\r\n\r\n# M\r\n\r\n## A\r\n\r\n- one\r\n- two\r\n\r\n## B\r\n\r\n- one\r\n",
                Show(),
                False,
            ),
        ],
    )
    def test_edits_are_those_of_the_very_section(
        self, at: Desk, memory: Memory, text: str, arguments: Show, uncommitted: bool
    ):
        at.write("MEMORY.md", "before\n\n# M\n\n## A\n\n- one\n- two\n\n## B\n\n- one\n")
        at.commit()
        at.write("MEMORY.md", text)
        assert memory.show(arguments).uncommitted is uncommitted

    def test_a_committed_text_that_cannot_be_read_counts_as_another(self, at: Desk, memory: Memory):
        at.write("MEMORY.md", b"\xff")
        at.commit()
        at.write("MEMORY.md", SEED)
        assert memory.show(Show(section="Work")).uncommitted

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            (Show(section="Wrok"), "section-not-found"),
            (Show("memmory.md"), "file-not-found"),
            (Show("../x.md"), "bad-path"),
            (Show("x.txt"), "bad-path"),
            (Show("bad.md"), "unsupported-file"),
            (Show("link.md"), "bad-path"),
        ],
    )
    def test_a_missing_file_or_section(self, at: Desk, memory: Memory, arguments: Show, code: str):
        at.write("bad.md", b"\xff")
        (at.root / "link.md").symlink_to("MEMORY.md")
        before = at.tree_state(), at.state()
        with pytest.raises(MdmemError) as failure:
            memory.show(arguments)
        assert failure.value.code == code
        assert (at.tree_state(), at.state()) == before

    def test_a_name_that_is_nearly_right(self, memory: Memory):
        with pytest.raises(MdmemError) as failure:
            memory.show(Show("MEMRY.md"))
        assert "MEMORY.md" in failure.value.hint

    def test_on_an_unborn_branch(self, world: World, repository: Path):
        at = Desk(world, repository)
        at.write("MEMORY.md", SEED)
        view = Memory(at.workspace).show(Show(section="Work"))
        assert (view.commit, view.uncommitted) == (None, True)

    def test_in_the_midst_of_a_merge_and_on_a_detached_head(self, at: Desk, memory: Memory):
        at.git("checkout", "-q", "--detach")
        (at.root / ".git" / "MERGE_HEAD").write_text(at.git("rev-parse", "HEAD"))
        assert memory.show(Show(section="Work")).commit
        assert memory.search(Search("Stripe")).hits
        assert memory.status().branch is None


class TestExtraPaths:
    @pytest.mark.parametrize("folder", ["../docs", "{tmp}/docs"])
    def test_files_of_hits_can_be_shown(self, at: Desk, tmp_path: Path, folder: str):
        (tmp_path / "docs" / "deep").mkdir(parents=True)
        (tmp_path / "docs" / "deep" / "d.md").write_text("# Docs\n\n- tea\n\n## A\n\n## A\n")
        (tmp_path / "docs" / "link.md").symlink_to(tmp_path / "docs" / "deep" / "d.md")
        (tmp_path / "beside.md").write_text("# Beside\n")
        own = at.world.home / ".config" / "mdmem" / "config.toml"
        own.parent.mkdir(parents=True)
        named = folder.format(tmp=tmp_path)
        own.write_text(f'extra_paths = ["{named}"]\n')
        memory = Memory(at.workspace)
        (hit,) = memory.search(Search("tea")).hits
        assert hit.path == f"{named}/deep/d.md"
        view = memory.show(Show(hit.path, "Docs"))
        assert (view.path, view.commit, view.uncommitted) == (hit.path, None, False)
        assert memory.outline(f"{named}/x/../deep/d.md").path == hit.path
        assert [problem.code for problem in memory.check((hit.path,))] == ["duplicate-heading"]
        for path in (
            f"{named}/../beside.md",
            f"{named}/link.md",
            f"{named}/none.md",
            "../beside.md",
        ):
            with pytest.raises(MdmemError) as failure:
                memory.show(Show(path))
            assert failure.value.code == "bad-path"


class TestFacts:
    def test_current_facts_and_all_facts(self, at: Desk, memory: Memory):
        at.apply(Log("a log (until 2026-03-04)", kind="fact", tags=("x",)))
        at.apply(append("- city: Rome (until 2026-03-05)", "Home"))
        texts = [hit.text for hit in memory.facts(ListFacts()).facts]
        assert "works at Stripe" in texts
        assert [hit.key for hit in memory.facts(ListFacts(section="Home")).facts if hit.key] == [
            "city"
        ]
        assert not [text for text in texts if "a log" in text]
        (old,) = memory.facts(ListFacts(tags=("x",), everything=True)).facts
        assert (old.status, old.kind) == ("expired", "fact")

    @pytest.mark.parametrize(
        "arguments",
        [
            Search("x", since="no such day"),
            Search("x", until="2026-02-30"),
        ],
    )
    def test_texts_that_mean_no_day(self, memory: Memory, arguments: Search):
        with pytest.raises(MdmemError) as failure:
            memory.search(arguments)
        assert (failure.value.code, failure.value.exit_status) == ("usage", 2)


class TestSearch:
    def test_logs_lose_weight_with_age_where_the_settings_say_so(self, at: Desk, memory: Memory):
        at.write("memory/2026-11-20.md", "# 2026-11-20\n\n## 09:00\n\n- went sailing\n")
        at.write(
            "memory/2026-01-10.md", "# 2026-01-10\n\n## 09:00\n\n- went sailing on a sailing boat\n"
        )
        assert (
            next(hit.path for hit in memory.search(Search("sailing boat")).hits)
            == "memory/2026-01-10.md"
        )
        at.write("mdmem.toml", "half_life_days = 30\n")
        aged = Memory.open(at.workspace.root, os.environ)
        assert (
            next(hit.path for hit in aged.search(Search("sailing boat")).hits)
            == "memory/2026-11-20.md"
        )

    def test_ages_are_by_the_real_clock_or_as_of_the_day_that_is_asked_for(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        at.apply(Log("went sailing", day="2026-03-01"))
        at.write("mdmem.toml", "half_life_days = 1000000\n")
        monkeypatch.setenv("MDMEM_NOW", "2999-01-01T12:00:00")
        (hit,) = Memory.open(at.root, os.environ).search(Search("sailing", explain=True)).hits
        assert (
            next(
                factor.value
                for factor in (hit.explanation.factors if hit.explanation else ())
                if factor.name == "age"
            )
            > 0.9
        )
        at.write("mdmem.toml", "half_life_days = 2\n")
        (then,) = (
            Memory.open(at.root, os.environ)
            .search(Search("sailing", explain=True, as_of="2026-03-05"))
            .hits
        )
        assert [
            factor.value
            for factor in (then.explanation.factors if then.explanation else ())
            if factor.name == "age"
        ] == [0.25]


class TestStatus:
    def test_status_changes_nothing(self, at: Desk, memory: Memory):
        at.write("memory/new.md", "x")
        at.write("other.md", "x")
        before = at.tree_state(), at.state()
        status = memory.status()
        assert (at.tree_state(), at.state()) == before
        assert (status.branch, status.commit) == ("main", at.git("rev-parse", "HEAD").strip())
        assert (status.current, status.indexed_commit, status.entries) == (False, None, 0)
        assert status.uncommitted == ("memory/new.md",)
        assert status.files == {"evergreen": 2, "daily": 0, "profile": 0, "bootstrap": 0}

    def test_skipped_files_are_named_as_they_are_now(self, at: Desk, memory: Memory):
        at.write("memory/bad.md", "a\0b")
        assert memory.status().skipped == (
            ("memory/bad.md", "the file has a NUL character in line 1"),
        )
        memory.search(Search("Stripe"))
        assert [path for path, _ in memory.status().skipped] == ["memory/bad.md"]
        at.write("memory/bad.md", "- mended\n")
        assert memory.status().skipped == ()

    def test_two_curated_files(self, at: Desk, memory: Memory):
        assert memory.status().notes == ()
        at.write("memory.md", "# Other\n\n- lower\n")
        if (at.root / "memory.md").samefile(at.root / "MEMORY.md"):
            pytest.skip("case does not count here")
        assert memory.status().notes == (
            "both MEMORY.md and memory.md exist; only the first is used",
        )
        assert "two-curated-files" in [problem.code for problem in memory.check()]
        assert memory.show(Show(section="Work"))
        assert memory.search(Search("lower")).hits

    def test_only_the_lower_one(self, at: Desk, memory: Memory):
        at.git("mv", "MEMORY.md", "memory.md")
        at.commit()
        assert memory.show(Show(section="Work")).path == "memory.md"
        assert at.apply(append()).path == "memory.md"
        assert MARK in at.read("memory.md")


class TestCheck:
    def test_of_files(self, at: Desk, memory: Memory):
        at.write("memory/a.md", "# A\n\n# A\n")
        at.write("memory/b.md", b"\xff")
        assert {(problem.path, problem.level) for problem in memory.check()} >= {
            ("memory/a.md", "warning"),
            ("memory/b.md", "warning"),
        }
        assert {problem.path for problem in memory.check(("memory/a.md",))} == {"memory/a.md"}
        with pytest.raises(MdmemError) as failure:
            memory.check(("memory/c.md",))
        assert failure.value.code == "file-not-found"

    @pytest.mark.parametrize(
        ("name", "operation"),
        [("MERGE_HEAD", "a merge"), ("rebase-merge", "a rebase"), ("BISECT_LOG", "a bisect")],
    )
    def test_what_git_is_in_the_middle_of(
        self, at: Desk, memory: Memory, name: str, operation: str
    ):
        assert memory.check() == ()
        at.write(f".git/{name}", "")
        (problem,) = memory.check()
        expected = ("repository-busy", "warning", f"{operation} is under way in this repository")
        assert (problem.code, problem.level, problem.message) == expected
        assert memory.status().notes == (problem.message,)
        assert memory.check(("MEMORY.md",)) == ()

    def test_staged_changes_of_every_workspace(self, world: World, repository: Path):
        first, second = desk(world, repository, "one"), desk(world, repository, "deep/two")
        for folder in (first.root, second.root, repository, repository / "deep"):
            (folder / "memory").mkdir(exist_ok=True)
            (folder / "memory" / "x.md").write_text(CONFLICT)
        assert staged_problems(repository, os.environ) == ()
        first.git("add", "-A", repository)
        (first.root / "memory" / "x.md").write_text("mended, but not staged\n")
        errors = {
            problem.path
            for problem in staged_problems(repository, os.environ)
            if problem.level == "error"
        }
        assert errors == {"one/memory/x.md", "deep/two/memory/x.md"}
        for folder in (first.root, first.root / "memory"):
            errors = {
                problem.path
                for problem in staged_problems(folder, os.environ)
                if problem.level == "error"
            }
            assert errors == {"memory/x.md", "../deep/two/memory/x.md"}

    @pytest.mark.parametrize("mark", ["MEMORY.md", "memory.md", "mdmem.toml"])
    def test_a_mark_in_a_folder_of_memory_does_not_switch_the_guard_off(self, at: Desk, mark: str):
        at.write(f"memory/projects/{mark}", "")
        at.write("memory/projects/x.md", CONFLICT)
        at.write("memory/projects/deep/y.md", "- an ordinary note\n")
        at.git("add", "-A")
        assert [
            (problem.path, problem.code) for problem in staged_problems(at.root, os.environ)
        ] == [("memory/projects/x.md", "conflict-markers")]

    def test_of_two_workspaces_each_says_its_own_and_both_say_it_once(
        self, world: World, repository: Path
    ):
        desk(world, repository)
        inner = desk(world, repository, "memory", "# Memory\n\n" + "- line\n" * 40)
        inner.write("2026-03-05.md", "# 2026-03-05\n\n- tea\n")
        inner.commit()
        inner.write("MEMORY.md", "# Memory\n")
        inner.write("2026-03-05.md", CONFLICT)
        inner.git("add", "-A")
        codes = sorted(
            (problem.path, problem.code)
            for problem in staged_problems(repository, os.environ)
            if problem.level == "error"
        )
        assert codes == [
            ("memory/2026-03-05.md", "append"),
            ("memory/2026-03-05.md", "conflict-markers"),
            ("memory/MEMORY.md", "shrink"),
        ]

    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize("folder", ["", "a/b"])
    @pytest.mark.parametrize(
        "steps",
        [
            [["rm", "-q", "MEMORY.md"], ["add", "-A"]],
            [["mv", "MEMORY.md", "NOTES.md"], ["add", "-A"]],
            [["add", "-A"], ["rm", "-q", "--cached", "MEMORY.md"]],
            [["add", "-A"], ["ls-files"]],
        ],
    )
    def test_of_a_workspace_whose_mark_is_gone(
        self, world: World, repository: Path, folder: str, steps: list[list[str]], packed: bool
    ):
        at = desk(world, repository, folder)
        if packed:
            at.git("gc", "-q")
        at.write("memory/x.md", CONFLICT)
        for step in steps:
            at.git(*step)
        (at.root / "MEMORY.md").unlink(missing_ok=True)
        (problem,) = staged_problems(repository, os.environ)
        assert (problem.path, problem.code) == (
            str(Path(folder, "memory/x.md")),
            "conflict-markers",
        )

    def test_of_a_workspace_of_which_only_its_state_tells(self, at: Desk):
        at.workspace.ensure_state()
        at.git("rm", "-q", "MEMORY.md")
        at.commit("gone")
        at.write("memory/x.md", CONFLICT)
        at.git("add", "-A")
        assert [problem.code for problem in staged_problems(at.root, os.environ)] == [
            "conflict-markers"
        ]

    def test_of_a_workspace_that_goes_as_a_whole(self, world: World, repository: Path):
        at = desk(world, repository, "a", SEED + "- line\n" * 40)
        at.write("memory/2026-03-05.md", "# 2026-03-05\n\n- tea\n")
        at.commit()
        world.git(repository, "rm", "-rq", "a")
        assert not at.root.exists()
        problems = {
            (problem.path, problem.code, problem.level)
            for problem in staged_problems(repository, os.environ)
        }
        assert problems == {
            ("a/MEMORY.md", "shrink", "error"),
            ("a/memory/2026-03-05.md", "append", "warning"),
        }

    def test_of_the_index_that_is_committed(self, at: Desk, world: World, tmp_path: Path):
        at.write("memory/x.md", CONFLICT)
        index = {"GIT_INDEX_FILE": str(tmp_path / "index")}
        world.git(at.root, "read-tree", "HEAD", environment=index)
        world.git(at.root, "add", "-A", environment=index)
        assert staged_problems(at.root, os.environ) == ()
        assert [problem.code for problem in staged_problems(at.root, index)] == ["conflict-markers"]

    def test_of_the_first_commit(self, world: World, repository: Path):
        at = Desk(world, repository)
        at.write("MEMORY.md", CONFLICT)
        at.git("add", "-A")
        assert [problem.code for problem in staged_problems(at.root, os.environ)] == [
            "conflict-markers"
        ]


class TestWhichWorkspace:
    def test_the_first_from_here_upwards(
        self, world: World, repository: Path, monkeypatch: pytest.MonkeyPatch
    ):
        outer, inner = desk(world, repository), desk(world, repository, "a/b")
        (inner.root / "c").mkdir()
        for folder, expected in (
            (inner.root / "c", inner),
            (inner.root, inner),
            (repository / "a", outer),
            (repository, outer),
        ):
            monkeypatch.chdir(folder)
            assert find_workspace(None, {}) == expected.root

    def test_the_one_named(self, at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "link").symlink_to(at.root)
        (tmp_path / "other").mkdir()
        assert find_workspace(None, {"MDMEM_WORKSPACE": "repository"}) == at.root
        assert find_workspace(Path("link"), {"MDMEM_WORKSPACE": "other"}) == at.root
        for named, environment in (
            (None, {}),
            (None, {"MDMEM_WORKSPACE": "other"}),
            (Path("other"), {}),
            (Path("none"), {}),
        ):
            with pytest.raises(MdmemError) as failure:
                find_workspace(named, environment)
            assert failure.value.code == "no-workspace"
            assert verb("init") in failure.value.marked_hint

    def test_those_that_were_used(self, world: World, repository: Path):
        first, second = desk(world, repository, "ü/a b"), desk(world, repository, "ü/a-b")
        assert used_workspaces(repository, os.environ) == ()
        for at in (first, second):
            at.workspace.ensure_state()
        assert set(used_workspaces(repository, os.environ)) == {first.root, second.root}
        (second.root / "MEMORY.md").unlink()
        assert used_workspaces(second.root, os.environ) == (first.root,)
