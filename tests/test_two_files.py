"""A write of two files: a fact is put into one, and the one that it supersedes goes out of another,
by one commit or not at all.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from killed_write import killed_at_every_step
from workspaces import HAND, NOW, SEED, Desk, append, apply, code_of, desk, refused

from mdmem.folder import files, journal
from mdmem.folder.journal import CommitStep, FileStep, Journal
from mdmem.memory import Memory
from mdmem.model import FilePath
from mdmem.model.history import ShowHistory
from mdmem.model.searches import ListFacts
from mdmem.model.writes import Action, EditSection, Log, Remember, WriteOptions
from mdmem.repo import commits
from mdmem.repo.runner import GitResult

OTHER, OLD_OTHER = "memory/a.md", "# A\n\n- lives in Rome\n- plays chess\n"
NEW, NEW_OTHER = (
    SEED.replace("- lives in Oslo\n", "- lives in Oslo\n- lives in Paris\n"),
    "# A\n\n- plays chess\n",
)
CHANGE = Remember(
    "lives in Paris", section="Home", options=WriteOptions(supersedes="lives in Rome")
)


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    at = desk(world, repository)
    at.write(OTHER, OLD_OTHER)
    at.commit("other")
    return at


def contents(at: Desk, other: str = OTHER) -> tuple[str, str]:
    return at.read("MEMORY.md"), at.read(other)


def is_clean(at: Desk) -> bool:
    left = [
        path
        for path in at.root.rglob("*")
        if path.suffix == ".tmp" or path.name == journal.WRITE_NAME
    ]
    return not left and at.git("status", "--porcelain") == ""


class TestTogether:
    def test_one_commit_of_both(self, at: Desk):
        at.write("draft.md", "- mine\n")
        at.git("add", "draft.md")
        done = at.apply(CHANGE)
        assert contents(at) == (NEW, NEW_OTHER)
        assert at.git("show", "--format=", "--name-only", "HEAD").split() == ["MEMORY.md", OTHER]
        assert at.subjects() == ["MEMORY.md: remember Home", "other", "seed"]
        assert at.git("status", "--porcelain") == "A  draft.md\n"
        message = at.git("log", "-1", "--format=%B")
        assert message.partition("\n\n")[2].startswith(
            "+ lives in Paris\n- lives in Rome\n\nMdmem-Op"
        )
        (pair,) = done.supersedes
        assert (done.added, done.removed) == ((pair.new,), (pair.old,))
        assert f"Mdmem-Supersedes: {pair.old} {pair.new}\n" in message
        assert "\n- lives in Rome\n" in message
        assert "\n+ lives in Paris\n" in message

    def test_what_it_took_the_place_of_is_over(self, at: Desk):
        memory = Memory(at.workspace)
        done = memory.apply(CHANGE)
        facts = str(memory.facts(ListFacts()))
        assert "lives in Paris" in facts
        assert "lives in Rome" not in facts
        assert not at.apply(CHANGE).changed
        assert done.commit

    def test_by_another_verb_and_out_of_the_curated_file(self, at: Desk):
        change = EditSection(
            "A",
            Action.APPEND,
            "- lives in Bern",
            file=OTHER,
            options=WriteOptions(supersedes="lives in Oslo"),
        )
        at.apply(change)
        assert contents(at) == (
            SEED.replace("- lives in Oslo\n", ""),
            OLD_OTHER + "- lives in Bern\n",
        )
        assert is_clean(at)

    def test_into_a_file_that_is_new(self, at: Desk):
        change = Remember(
            "lives in Bern",
            file="memory/deep/b.md",
            section="B",
            create=True,
            options=WriteOptions(supersedes="lives in Rome"),
        )
        before = at.tree_state()
        at.hook("pre-commit", "exit 1").rename(at.root / ".git" / "refuses")
        at.apply(change)
        assert contents(at, "memory/deep/b.md")[1].endswith("- lives in Bern\n")
        assert at.read(OTHER) == NEW_OTHER
        assert is_clean(at)
        at.git("reset", "-q", "--hard", "HEAD~")
        (at.root / ".git" / "refuses").rename(at.root / ".git" / "hooks" / "pre-commit")
        refused(at, change, "commit-failed")
        assert at.tree_state() == before

    def test_where_the_new_one_stands_already_the_old_one_goes_all_the_same(self, at: Desk):
        at.apply(Remember("lives in Paris", section="Home"))
        done = at.apply(CHANGE)
        assert done.changed
        assert contents(at) == (NEW, NEW_OTHER)
        assert at.git("show", "--format=", "--name-only", "HEAD").split() == [OTHER]
        assert f"Mdmem-Supersedes: {done.supersedes[0].old} {done.supersedes[0].new}\n" in at.git(
            "log", "-1", "--format=%B"
        )
        assert is_clean(at)

    def test_a_dry_run_shows_both(self, at: Desk):
        before = at.tree_state()
        done = at.apply(
            Remember(
                "lives in Paris",
                section="Home",
                options=WriteOptions(supersedes="lives in Rome", dry_run=True),
            )
        )
        assert "+- lives in Paris\n" in (done.diff or "")
        assert f"+++ b/{OTHER}\n" in (done.diff or "")
        assert "-- lives in Rome\n" in (done.diff or "")
        assert at.tree_state() == before

    def test_a_log_is_told_how(self, at: Desk):
        refused(
            at,
            Log("lives in Paris", options=WriteOptions(supersedes="lives in Rome")),
            "supersede-in-place",
        )

    def test_read_only_files_stay(self, at: Desk):
        at.write("mdmem.toml", 'extra_paths = ["extra"]\n')
        at.write("extra/x.md", "# X\n\n- swims\n")
        at.commit("extra")
        refused(
            at,
            Remember("runs", section="Home", options=WriteOptions(supersedes="swims")),
            "read-only-path",
        )

    @pytest.mark.parametrize("path", ["MEMORY.md", OTHER])
    def test_pending_edits_of_each_are_committed_first(self, at: Desk, path: str):
        for each in ("MEMORY.md", OTHER):
            at.write(each, at.read(each).replace("\n\n", f"\n\n{HAND}\n\n", 1))
        done = at.apply(CHANGE)
        assert done.notes[:2] == tuple(
            f"committed the pending edits of {each} first, as yours"
            for each in ("MEMORY.md", OTHER)
        )
        assert at.subjects()[:3] == [
            "MEMORY.md: remember Home",
            f"{OTHER}: edited by hand",
            "MEMORY.md: edited by hand",
        ]
        assert HAND in at.git("show", f"HEAD~2:{path}") or path == OTHER
        assert is_clean(at)

    def test_a_refusal_leaves_both_as_they_were(self, at: Desk):
        for each in ("MEMORY.md", OTHER):
            at.write(each, at.read(each).replace("\n\n", f"\n\n{HAND}\n\n", 1))
        at.hook("commit-msg", "! grep -q Mdmem-Op $1")
        refused(at, CHANGE, "commit-failed")
        assert not list(at.root.rglob("*.tmp"))

    def test_files_that_git_does_not_look_at(self, at: Desk):
        at.git("update-index", "--assume-unchanged", "MEMORY.md", OTHER)
        at.write(OTHER, OLD_OTHER + f"{HAND}\n")
        bits = at.git("ls-files", "-v")
        at.apply(CHANGE)
        assert contents(at) == (NEW, NEW_OTHER + f"{HAND}\n")
        assert at.git("ls-files", "-v") == bits


class TestOvertaken:
    @pytest.mark.parametrize("path", ["MEMORY.md", OTHER])
    def test_a_save_before_it_is_put_in_place(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, path: str
    ):
        rename, saves = files._rename, [f"\n{HAND}\n"]

        def saved_first(old: Path, new: Path, flags: int) -> bool:
            if new == at.root / path and saves:
                at.write(path, at.read(path) + saves.pop())
            return rename(old, new, flags)

        monkeypatch.setattr(files, "_rename", saved_first)
        done = at.apply(CHANGE)
        assert HAND in at.read(path)
        assert "lives in Paris" in at.read("MEMORY.md")
        assert "lives in Rome" not in at.read(OTHER)
        assert at.subjects()[:2] == ["MEMORY.md: remember Home", f"{path}: edited by hand"]
        assert done.commit == at.git("rev-parse", "HEAD").strip()
        assert is_clean(at)

    @pytest.mark.parametrize("saved", ["on top", "over"])
    @pytest.mark.parametrize("path", ["MEMORY.md", OTHER])
    def test_a_save_before_git_reads_it(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch, path: str, saved: str
    ):
        run, old, saves = commits.run, at.read(path), [f"{HAND}\n"]

        def overtaken(
            folder: Path, arguments: Sequence[str], *rest: Any, **options: Any
        ) -> GitResult:
            if "commit" in arguments and "lives in Paris" in at.read("MEMORY.md") and saves:
                at.write(path, (at.read(path) if saved == "on top" else old) + saves.pop())
            return run(folder, arguments, *rest, **options)

        monkeypatch.setattr(commits, "run", overtaken)
        at.apply(CHANGE)
        assert (
            at.read("MEMORY.md").count("lives in Paris"),
            at.read(OTHER).count("lives in Rome"),
        ) == (1, 0)
        assert at.read(path).count(HAND) == 1
        ours = at.git("log", "--format=%H", "--grep=^Mdmem-Op").split()
        assert len(ours) == 1
        assert HAND not in at.git("show", "--format=", "-U0", ours[0])
        assert is_clean(at)

    def test_an_interruption_leaves_both_as_they_were(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        rename, before, calls = files._rename, at.tree_state(), 0

        def interrupted(old: Path, new: Path, flags: int) -> bool:
            nonlocal calls
            calls += 1
            done = rename(old, new, flags)
            if calls == 2:
                raise KeyboardInterrupt
            return done

        monkeypatch.setattr(files, "_rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            at.apply(CHANGE)
        assert at.tree_state() == before
        assert is_clean(at)


def test_killed_at_every_step_it_is_done_in_both_or_in_neither(at: Desk, tmp_path: Path):
    outcomes = set()
    for copy, killed in killed_at_every_step(at, tmp_path / "killed", CHANGE, NOW):
        copy.apply(append("- the next", "Work"))
        done = "lives in Paris" in copy.read("MEMORY.md")
        assert ("lives in Rome" not in copy.read(OTHER)) == done
        assert copy.subjects() == [
            "MEMORY.md: append Work",
            *["MEMORY.md: remember Home"] * done,
            "other",
            "seed",
        ]
        assert is_clean(copy)
        outcomes.add((killed, done))
    assert outcomes == {(True, False), (True, True), (False, True)}


TEMPORARIES = (".mdmem-0123456789abcdef.tmp", ".mdmem-fedcba9876543210.tmp")


def leave(at: Desk, *others: FileStep) -> None:
    """The journal of a write of both, and of others, in the state folder."""
    digests = [files.digest(text.encode()) for text in (SEED, NEW, OLD_OTHER, NEW_OTHER)]
    left = Journal(
        (
            FileStep(FilePath("MEMORY.md"), *digests[:2], TEMPORARIES[0]),
            FileStep(FilePath(OTHER), *digests[2:], TEMPORARIES[1]),
            *others,
        ),
        CommitStep("MEMORY.md: remember Home\n\nMdmem-Op: remember\n", "@1770000000 +0100"),
    )
    at.workspace.ensure_state()
    journal.save(at.workspace.state / journal.WRITE_NAME, left)


def settle(at: Desk) -> list[str]:
    heard: list[str] = []
    apply(at.workspace, append("- works at Stripe", "Work"), heard.append)
    return heard


class TestLeft:
    def test_the_first_alone_is_followed_by_the_second(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", NEW)
        at.write(f"memory/{TEMPORARIES[1]}", NEW_OTHER)
        assert settle(at) == [f"finished an interrupted write of MEMORY.md and {OTHER}"]
        assert contents(at) == (NEW, NEW_OTHER)
        assert at.subjects() == ["MEMORY.md: remember Home", "other", "seed"]
        assert is_clean(at)

    @pytest.mark.parametrize("is_ready", [True, False])
    def test_a_third_is_in_place_too_or_none_is(self, at: Desk, is_ready: bool):
        third, temporary = "memory/new.md", ".mdmem-00112233aabbccdd.tmp"
        step = FileStep(FilePath(third), None, files.digest(b"# New\n"), temporary)
        leave(at, step)
        at.write("MEMORY.md", NEW)
        at.write(f"memory/{TEMPORARIES[1]}", NEW_OTHER)
        at.write(f"memory/{temporary}", "# New\n" if is_ready else "half a fi")
        said = [f"finished an interrupted write of MEMORY.md and {OTHER} and {third}"]
        assert settle(at) == (said if is_ready else [])
        assert contents(at) == ((NEW, NEW_OTHER) if is_ready else (SEED, OLD_OTHER))
        assert (at.root / third).exists() == is_ready
        assert is_clean(at)

    def test_the_first_alone_goes_back_where_the_second_is_not_ready(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", NEW)
        at.write(f"memory/{TEMPORARIES[1]}", "half a fi")
        assert settle(at) == []
        assert contents(at) == (SEED, OLD_OTHER)
        assert at.subjects() == ["other", "seed"]
        assert is_clean(at)

    @pytest.mark.parametrize("first", [True, False])
    def test_where_one_was_changed_since_the_other_goes_back(self, at: Desk, first: bool):
        leave(at)
        mine = (SEED if first else OLD_OTHER) + f"\n\n{HAND}\n"
        at.write("MEMORY.md", mine if first else NEW)
        at.write(OTHER, NEW_OTHER if first else mine)
        changed = "MEMORY.md" if first else OTHER
        assert settle(at) == [
            f"{changed} was changed after an interrupted write; it is kept unchanged"
        ]
        assert contents(at) == ((mine, OLD_OTHER) if first else (SEED, mine))

    def test_where_both_were_changed_both_stay(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", f"{SEED}\n{HAND}\n")
        at.write(OTHER, f"{OLD_OTHER}\n{HAND}\n")
        assert settle(at) == [
            f"MEMORY.md and {OTHER} were changed after an interrupted write; they are kept "
            f"unchanged"
        ]
        assert contents(at) == (f"{SEED}\n{HAND}\n", f"{OLD_OTHER}\n{HAND}\n")

    def test_a_save_that_was_displaced_by_the_second_is_put_back(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", NEW)
        at.write(OTHER, NEW_OTHER)
        at.write(f"memory/{TEMPORARIES[1]}", OLD_OTHER + f"{HAND}\n")
        assert settle(at) == [
            f"{OTHER} was changed after an interrupted write; it is kept unchanged"
        ]
        assert contents(at) == (SEED, OLD_OTHER + f"{HAND}\n")

    def test_both_are_committed_where_both_are_in_place(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", NEW)
        at.write(OTHER, NEW_OTHER)
        assert settle(at) == [f"finished an interrupted write of MEMORY.md and {OTHER}"]
        assert at.git("show", "--format=", "--name-only", "HEAD").split() == ["MEMORY.md", OTHER]
        assert is_clean(at)

    def test_what_is_saved_to_both_before_git_reads_them_is_left_out(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        leave(at)
        at.write("MEMORY.md", NEW)
        at.write(OTHER, NEW_OTHER)
        run, saves = commits.run, {"MEMORY.md": f"{NEW}{HAND}\n", OTHER: f"{NEW_OTHER}{HAND}\n"}

        def overtaken(
            folder: Path, arguments: Sequence[str], *rest: Any, **options: Any
        ) -> GitResult:
            while "commit" in arguments and saves:
                at.write(*saves.popitem())
            return run(folder, arguments, *rest, **options)

        monkeypatch.setattr(commits, "run", overtaken)
        assert settle(at) == [f"finished an interrupted write of MEMORY.md and {OTHER}"]
        assert (at.git("show", "HEAD:MEMORY.md"), at.git("show", f"HEAD:{OTHER}")) == (
            NEW,
            NEW_OTHER,
        )
        assert at.git("status", "--porcelain") == f" M MEMORY.md\n M {OTHER}\n"

    def test_what_is_committed_is_not_taken_back(self, at: Desk):
        leave(at)
        at.write("MEMORY.md", NEW)
        at.write(OTHER, NEW_OTHER)
        at.commit("done")
        at.write(OTHER, NEW_OTHER + f"{HAND}\n")
        assert settle(at) == []
        assert contents(at) == (NEW, NEW_OTHER + f"{HAND}\n")

    def test_neither_in_place_is_dropped(self, at: Desk):
        leave(at)
        for path in (TEMPORARIES[0], f"memory/{TEMPORARIES[1]}"):
            at.write(path, "half a fi")
        assert settle(at) == []
        assert is_clean(at)


def test_a_history_that_goes_on_in_another_file(at: Desk):
    memory = Memory(at.workspace)
    pair = memory.apply(CHANGE).supersedes[0]
    assert pair.new in str(memory.history(ShowHistory(pair.old)))


def test_a_name_that_two_files_have(at: Desk):
    at.write("memory/b.md", "# B\n\n- lives in Rome\n")
    at.commit("b")
    assert code_of(lambda: at.apply(CHANGE)) == "fact-ambiguous"
