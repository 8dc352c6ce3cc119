"""A folder of ordinary notes as memory: the settings `paths` and `daily`."""

import os
import shutil
from datetime import date
from pathlib import Path

import pytest
from conftest import World
from workspaces import NOW, Desk, desk

from mdmem.memory import Memory, initialise, staged_problems
from mdmem.model import FileKind
from mdmem.model.errors import MdmemError
from mdmem.model.history import ShowHistory
from mdmem.model.reads import Initialise
from mdmem.model.searches import Hit, Search
from mdmem.model.writes import EditSection, Log, Remember, Save
from mdmem.text.check import refusals

LONG = "# Long\n\n" + "".join(f"- line {number}\n" for number in range(60))


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    made = desk(world, repository)
    made.write("Solar roof.md", "# Solar roof\n\n- 12 panels\n")
    made.write("notes/Trip 2025-07-01.md", "# Trip\n\n- a ferry to panels island\n")
    made.write("notes/deep/AGENTS.md", "- panels are instructions\n")
    made.write(".obsidian/panels.md", "- hidden panels\n")
    made.write("drafts/panels.md", "- ignored panels\n")
    made.write("other/MEMORY.md", "- panels of another workspace\n")
    made.write("other/x.md", "- panels of another workspace\n")
    made.write(".gitignore", "drafts/\n")
    made.commit()
    nested = made.root / "nested"
    nested.mkdir()
    world.git(nested, "init", "-q")
    world.git(
        nested,
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.test",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "first",
    )
    made.write("nested/panels.md", "- panels of another repository\n")
    return made


def configure(at: Desk, text: str) -> None:
    at.write("mdmem.toml", text + "\n")


def hits(at: Desk, words: str, **options: object) -> tuple[Hit, ...]:
    return Memory(at.workspace).search(Search(words, **options)).hits


def paths(at: Desk, words: str = "panels", **options: object) -> set[str]:
    return {hit.path for hit in hits(at, words, **options)}


class TestPaths:
    @pytest.mark.parametrize(
        ("globs", "taken"),
        [
            ('"*.md"', {"Solar roof.md"}),
            ('"**/*.md"', {"Solar roof.md", "notes/Trip 2025-07-01.md", "notes/deep/AGENTS.md"}),
            ('"notes/*.md"', {"notes/Trip 2025-07-01.md"}),
            (
                '"notes", "S*.md"',
                {"Solar roof.md", "notes/Trip 2025-07-01.md", "notes/deep/AGENTS.md"},
            ),
            ('"other/*.md", "nested/*.md", ".obsidian/*.md", "drafts/*.md", "memory/*.md"', set()),
        ],
    )
    def test_what_they_take_in(self, at: Desk, globs: str, taken: set[str]):
        assert paths(at) == set()
        configure(at, f"paths = [{globs}]")
        assert paths(at) == taken
        memory = Memory(at.workspace)
        for _ in range(4):  # in a process that stays
            assert {hit.path for hit in memory.search(Search("panels")).hits} == taken
        at.write("nested/more.md", "- panels\n")
        at.write("drafts/more.md", "- panels\n")
        at.write(".obsidian/more.md", "- panels\n")
        assert {hit.path for hit in memory.search(Search("panels")).hits} == taken

    def test_names_keep_their_kind(self, at: Desk):
        configure(at, 'paths = ["**/*.md"]')
        kinds = {
            path: at.workspace.kind_of(path)
            for path in (
                "notes/deep/AGENTS.md",
                "Solar roof.md",
                "memory/2026-03-05.md",
                "other/x.md",
            )
        }
        assert [*kinds.values()] == [
            FileKind.BOOTSTRAP,
            FileKind.EVERGREEN,
            FileKind.DAILY,
            FileKind.OTHER,
        ]

    def test_a_date_in_the_name_is_the_day_and_no_more(self, at: Desk):
        configure(at, 'paths = ["**/*.md"]\nhalf_life_days = 1.0')
        (hit,) = hits(at, "ferry")
        assert hit.day == date(2025, 7, 1)
        assert paths(at, "panels", since="2025-06-30", until="2025-07-02") == {
            "notes/Trip 2025-07-01.md"
        }
        assert "notes/Trip 2025-07-01.md" in paths(at, "panels", recent_days=7)
        explained = hits(at, "ferry", explain=True)[0].explanation
        assert explained is not None
        assert "age" not in [factor.name for factor in explained.factors]

    def test_they_are_edited_and_have_a_history(self, at: Desk):
        configure(at, 'paths = ["**/*.md"]')
        memory = Memory(at.workspace)
        trip = "notes/Trip 2025-07-01.md"
        memory.apply(EditSection.of("Trip", file=trip, append="- a bus back"))
        memory.apply(EditSection.of("Trip", file=trip, body="- a train"))
        memory.apply(Remember("13 panels", file="Solar roof.md", section="Solar roof", key="roof"))
        revisions = memory.history(ShowHistory("Trip", file=trip)).revisions
        assert [revision.made.op for revision in revisions] == ["replace", "append", None]
        at.write("notes/new.md", "# New\n")
        saved = memory.save(Save())[1]
        assert "notes/new.md" in saved
        assert not any(path.startswith(("nested/", "other/", "drafts/")) for path in saved)

    def test_their_owner_may_take_out_what_they_like(self, at: Desk):
        configure(at, 'paths = ["**/*.md"]\ndaily = "journal/%Y-%m-%d.md"')
        for path in (
            "notes/long.md",
            "journal/2026-03-04.md",
            "memory/long.md",
            "memory/2026-03-04.md",
        ):
            at.write(path, LONG)
        at.commit()
        for path in (
            "notes/long.md",
            "journal/2026-03-04.md",
            "memory/long.md",
            "memory/2026-03-04.md",
        ):
            at.write(path, "# Short\n")
        at.git("add", "-A")
        problems = staged_problems(at.root, os.environ)
        assert {(problem.path, problem.code, problem.level) for problem in problems} == {
            ("notes/long.md", "shrink", "warning"),
            ("journal/2026-03-04.md", "append", "warning"),
            ("memory/long.md", "shrink", "error"),
            ("memory/2026-03-04.md", "append", "error"),
        }
        at.git("restore", "--staged", "--worktree", "memory")
        assert not refusals(staged_problems(at.root, os.environ), ())
        assert Memory(at.workspace).save(Save())[0] is not None

    def test_a_secret_is_refused_there_too(self, at: Desk):
        configure(at, 'paths = ["*.md"]')
        at.write("Solar roof.md", "- token: ghp_" + "a1B2" * 9 + "\n")
        assert {
            problem.code
            for problem in Memory(at.workspace).check(())
            if problem.path == "Solar roof.md"
        } == {"secret-found"}

    def test_a_secret_is_refused_behind_a_mark_in_a_folder_too(self, at: Desk):
        configure(at, 'paths = ["**/*.md"]')
        at.write("clients/MEMORY.md", "")
        at.write("clients/x.md", "- token: ghp_" + "a1B2" * 9 + "\n")
        at.git("add", "-A")
        assert {
            (problem.path, problem.code) for problem in staged_problems(at.root, os.environ)
        } == {("clients/x.md", "secret-found")}

    def test_what_is_left_out_is_counted(self, at: Desk):
        memory = Memory(at.workspace)
        status = memory.status()
        assert (status.paths, status.other_markdown) == ({}, 3)
        names = "Solar roof.md, notes/Trip 2025-07-01.md, notes/deep/AGENTS.md"
        note = f'3 other Markdown files are not searched ({names}). To include them: paths = ["**/*.md"] in mdmem.toml'
        assert memory.empty_answer_notes() == (note,)
        configure(at, 'paths = ["*.md"]')
        memory = Memory(at.workspace)
        assert (memory.status().paths, memory.status().other_markdown) == ({"*.md": 1}, 2)
        configure(at, 'paths = ["**/*.md"]')
        assert Memory(at.workspace).empty_answer_notes() == ()

    def test_where_the_daily_notes_are_is_said_too(self, at: Desk):
        for path in (
            "Daily/2026-03-01.md",
            "Daily/2026-03-02.md",
            "2026-03-03.md",
            "Daily/2026-03-03 trip.md",
        ):
            at.write(path, "- rain\n")
        shutil.rmtree(at.root / ".obsidian")
        (note,) = initialise(Initialise(str(at.root), False), os.environ).notes
        assert note.endswith('in mdmem.toml; to have log write there: daily = "Daily/%Y-%m-%d.md"')
        configure(at, 'daily = "Daily/%Y-%m-%d.md"')
        (note,) = initialise(Initialise(str(at.root), False), os.environ).notes
        assert note.endswith("in mdmem.toml")

    def test_a_new_file_that_is_left_out_is_said(self, at: Desk):
        done = at.apply(Remember("panels", file="ideas.md", create=True))
        assert (done.changed, done.warnings) == (True, ("not-memory",))
        assert "ideas.md is not searched" in done.notes[0]
        again = at.apply(Remember("more panels", file="ideas.md"))
        assert (again.warnings, again.notes) == (done.warnings, done.notes)
        assert at.apply(Remember("more panels", file="ideas.md")).warnings == ()
        assert at.apply(Remember("panels", file="memory/ideas.md", create=True)).warnings == ()

    def test_an_index_by_other_settings_is_built_anew(self, at: Desk):
        configure(at, 'paths = ["*.md"]')
        assert paths(at) == {"Solar roof.md"}
        (at.root / "mdmem.toml").unlink()
        assert paths(at) == set()

    @pytest.mark.parametrize("value", ['["../x/*.md"]', '["/x/*.md"]', '["~/x"]', '"*.md"', "[3]"])
    def test_what_they_may_not_name(self, at: Desk, value: str):
        configure(at, f"paths = {value}")
        with pytest.raises(MdmemError, match="paths"):
            _ = at.workspace


class TestDaily:
    def test_log_writes_where_it_says(self, at: Desk):
        configure(at, 'daily = "journal/%Y/%m/%d.md"')
        assert Memory(at.workspace).apply(Log("a new panel")).path == "journal/2026/03/05.md"
        (hit,) = hits(at, "panel")
        assert (hit.path, hit.day) == ("journal/2026/03/05.md", date(2026, 3, 5))
        with pytest.raises(MdmemError) as caught:
            Memory(at.workspace).apply(
                EditSection.of("2026-03-05", file="journal/2026/03/05.md", body="x")
            )
        assert caught.value.code == "append-only"
        shutil.rmtree(at.workspace.state)
        assert [each.day for each in hits(at, "panel")] == [date(2026, 3, 5)]
        assert hits(at, "panel", as_of="HEAD")[0].day == date(2026, 3, 5)

    def test_a_day_whose_log_stands_is_written_on_there(self, at: Desk):
        assert Memory(at.workspace).apply(Log("before")).path == "memory/2026-03-05.md"
        configure(at, 'daily = "journal/%Y-%m-%d.md"')
        assert Memory(at.workspace).apply(Log("after")).path == "memory/2026-03-05.md"
        assert (
            Memory(at.workspace).apply(Log("the day before", day="2026-03-04")).path
            == "journal/2026-03-04.md"
        )

    def test_a_folder_called_memory_has_its_logs_beside_the_curated_file(
        self, world: World, repository: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("MDMEM_NOW", NOW)
        world.git(repository, "commit", "-q", "--allow-empty", "-m", "first")
        at = Desk(world, repository / "memory")
        at.write("MEMORY.md", "# Memory\n")
        at.write("user_role.md", "- role: gardener\n")
        assert Memory(at.workspace).apply(Log("planted a tree")).path == "2026-03-05.md"
        assert [(hit.path, hit.day) for hit in hits(at, "tree")] == [
            ("2026-03-05.md", date(2026, 3, 5))
        ]
        assert paths(at, "gardener") == {"user_role.md"}
        assert at.workspace.kind_of("2026-03-05.md") is FileKind.DAILY

    @pytest.mark.parametrize("value", ["log.md", "../%Y-%m-%d.md", "%Y/%m/%d/AGENTS.md"])
    def test_what_it_may_not_be(self, at: Desk, value: str):
        configure(at, f'daily = "{value}"')
        with pytest.raises(MdmemError, match="daily must be"):
            _ = at.workspace
