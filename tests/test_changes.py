"""Changes at large: the verbs of events, days in words, and what a commit states."""

from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
from conftest import World
from workspaces import MARK, NOW, SEED, Desk, append, code_of, desk, refused

from mdmem.changes.verbs import require_writable
from mdmem.changes.verbs.foundations import edit_and_supersede
from mdmem.cli.commands import COMMANDS
from mdmem.folder import files
from mdmem.model import FilePath, Source
from mdmem.model.errors import MdmemError, PathProblem, UsageProblem
from mdmem.model.writes import (
    Action,
    Change,
    EditSection,
    Forget,
    Log,
    Remember,
    Resolve,
    Revert,
    WriteOptions,
)
from mdmem.text.document import parse
from mdmem.text.facts import fact_id


@pytest.fixture
def at(world: World, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("MDMEM_NOW", NOW)
    return desk(world, repository)


def message(at: Desk) -> str:
    return at.git("log", "-1", "--format=%B")


@pytest.mark.parametrize("kind", get_args(Change))
def test_events_have_the_names_of_the_commands(kind: type[Change]) -> None:
    assert kind.verb in COMMANDS or (kind, kind.verb) == (Resolve, "conflicts-resolve")


class TestDays:
    @pytest.mark.parametrize(
        ("change", "day"),
        [
            (Log("x", day="yesterday"), "2026-03-04"),
            (Log("x", day="2026-03-04"), None),
            (Remember("x", section="Work", until="tomorrow"), "2026-03-06"),
            (Remember("x", section="Work", until="2026-03-06"), None),
            (append(), None),
        ],
    )
    def test_one_in_words_is_in_the_answer(self, at: Desk, change: Change, day: str | None):
        done = at.apply(change)
        assert done.changed
        assert done.day == day

    @pytest.mark.parametrize(
        ("change", "words"),
        [(Log("x", day="soonish"), "day"), (Remember("x", until="soonish"), "until")],
    )
    def test_one_that_is_none_is_refused(self, at: Desk, change: Change, words: str):
        with pytest.raises(UsageProblem, match=rf"^{words}\b"):
            at.apply(change)


def test_a_file_of_another_workspace_is_only_read(at: Desk) -> None:
    at.write("mdmem.toml", 'extra_paths = ["extra"]\n')
    at.write("extra/x.md", "# X\n\n- swims\n")
    at.commit()
    refused(at, append(section="X", file="extra/x.md"), "read-only-path")


@pytest.mark.parametrize("folder", ["a", "a/b"])
def test_a_file_of_another_repository_is_refused(at: Desk, folder: str) -> None:
    require_writable(at.workspace, FilePath("a/b/x.md"))
    at.git("init", "-q", folder)
    assert code_of(lambda: require_writable(at.workspace, FilePath("a/b/x.md"))) == "bad-path"


def test_of_nested_repositories_the_nearest_is_named(at: Desk) -> None:
    for folder in ("a", "a/b"):
        at.git("init", "-q", folder)
    with pytest.raises(PathProblem, match=r"is in another repository, a/b$"):
        require_writable(at.workspace, FilePath("a/b/x.md"))


def test_what_goes_out_for_an_edit_is_named(at: Desk) -> None:
    edit = append("- lives in Paris", "Home", supersedes="lives in Oslo")
    edited = edit_and_supersede(at.workspace, edit, FilePath("MEMORY.md"), parse(SEED))
    assert (edited.superseded, "Oslo" in edited.result.text) == (fact_id("lives in Oslo"), False)


def test_a_fact_of_a_file_that_is_not_there(at: Desk) -> None:
    refused(at, Forget("works at Stripe", file="memory/none.md"), "file-not-found")


def problem_of(at: Desk, change: Change) -> MdmemError:
    with pytest.raises(MdmemError) as failure:
        at.apply(change)
    return failure.value


def test_a_key_that_is_taken_for_a_section_is_told_so_unless_another_section_is_missing(
    at: Desk,
) -> None:
    at.apply(Remember("shell: zsh", section="Work"))
    assert "It is a key" in problem_of(at, append(section="shell")).hint
    problem = problem_of(at, EditSection("shell", Action.APPEND, "x", create=True, after="Nowhere"))
    assert (problem.code, "It is a key" in problem.hint) == ("section-not-found", False)


class TestLog:
    PATH = "memory/2026-03-05.md"

    def test_tags_stand_behind_the_entry(self, at: Desk):
        at.apply(Log("rain", tags=("weather",)))
        assert "- rain #weather\n" in at.read(self.PATH)

    @pytest.mark.parametrize(("until", "again"), [("2026-03-05", False), ("2026-03-04", True)])
    def test_an_entry_is_logged_again_where_it_has_expired(self, at: Desk, until: str, again: bool):
        entry = Log(f"rain (until {until})", more=("wind",))
        at.apply(entry)
        assert at.apply(Log(entry.text)).changed == again
        assert at.read(self.PATH).count("- rain") == 1 + again

    def test_entries_that_stand_already_are_all_confirmed(self, at: Desk):
        facts = at.apply(Log("rain", more=("wind",))).added
        at.apply(Log("rain", more=("wind",), options=WriteOptions(source=Source.USER_STATED)))
        assert [line for line in message(at).splitlines() if "Confirms" in line] == [
            f"Mdmem-Confirms: {fact}" for fact in facts
        ]


def test_a_file_that_is_saved_all_the_time(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("mdmem.changes.apply"), "_TRIES", 3)
    rename, saves = files._rename, 0

    def saved_first(old: Path, new: Path, flags: int) -> bool:
        nonlocal saves
        if new == at.root / "MEMORY.md" and MARK not in new.read_text():
            saves += 1
            at.write("MEMORY.md", f"{SEED}- {saves}\n")
        return rename(old, new, flags)

    monkeypatch.setattr(files, "_rename", saved_first)
    assert code_of(lambda: at.apply(append())) == "busy"
    assert at.read("MEMORY.md") == f"{SEED}- {saves}\n"


class TestStated:
    """What a commit states beside the text that it changes."""

    @pytest.fixture
    def at(self, at: Desk) -> Desk:
        at.write("memory/a.md", "# A\n\n- lives in Rome\n")
        at.commit()
        return at

    def test_a_revert_names_what_it_takes_back(self, at: Desk):
        commit = at.apply(append()).commit
        at.apply(Revert(str(commit)))
        assert f"Mdmem-Reverts: {commit}\n" in message(at)

    def test_a_fact_that_stands_already_is_confirmed_where_another_goes_for_it(self, at: Desk):
        fact = at.apply(Remember("lives in Paris", section="Home")).added[0]
        at.apply(
            Remember(
                "lives in Paris",
                section="Home",
                options=WriteOptions(source=Source.USER_STATED, supersedes="lives in Rome"),
            )
        )
        assert f"Mdmem-Confirms: {fact}\n" in message(at)

    @pytest.mark.parametrize("text", ["- works at Stripe", "prose"])
    def test_a_fact_that_ends_without_a_successor(self, at: Desk, text: str):
        done = at.apply(
            EditSection("Work", Action.BODY, text, options=WriteOptions(supersedes="lives in Rome"))
        )
        assert done.removed
        assert f"Mdmem-Supersedes: {done.removed[-1]} -\n" in message(at)
