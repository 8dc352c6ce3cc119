"""The trail kept up with git: after rewritten history, on other branches, damaged, interrupted, and
by random actions.
"""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import EMAIL, NAME, World
from dated_memory import DAYS, EMPLOYERS, DatedMemory, change_employers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trail_dump import dump
from workspaces import Desk, append, desk

from mdmem.editors.sections import SectionParts
from mdmem.folder import files
from mdmem.memory import Memory
from mdmem.model import CommitId, Status
from mdmem.model.errors import MdmemError
from mdmem.model.history import ShowHistory
from mdmem.model.searches import ListFacts, Search
from mdmem.model.writes import Action, EditSection, Forget, Log, Remember, Revert, WriteOptions
from mdmem.past import fresh_trail, trail_update
from mdmem.past.storage import TRAIL_NAME
from mdmem.past.table import Trail
from mdmem.text.document import parse


class TestDamagedTrail:
    def _damage(self, dated: DatedMemory, sql: str) -> Path:
        path = dated.at.workspace.state / TRAIL_NAME
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(sql)
        return path

    def test_what_cannot_be_read_is_built_anew_the_next_time(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        request = ShowHistory(ids[3])
        before = dated.on("2026-05-01").history(request)
        self._damage(dated, "UPDATE occurrences SET section = x'ff'")
        with pytest.raises(MdmemError) as failure:
            dated.on("2026-05-01").history(request)
        assert (failure.value.code, failure.value.hint) == (
            "storage",
            "Try again: it is rebuilt from the commits.",
        )
        assert dated.on("2026-05-01").history(request) == before

    def test_one_that_takes_no_more_is_built_anew_at_once(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        dated.on("2026-05-01").history(ShowHistory(ids[3]))
        self._damage(dated, "DELETE FROM revisions")
        path = self._damage(dated, "UPDATE commits SET number = number + 100")
        self._damage(dated, "UPDATE occurrences SET section = x'ff'")
        dated.on("2026-05-01").apply(Remember("works at Acme", section="Work", key="employer"))
        assert (
            len(dated.on("2026-05-02").history(ShowHistory("employer: works at Acme")).chain) == 5
        )
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute(
                "SELECT count(*) FROM commits WHERE number > 100"
            ).fetchone() == (0,)

    def test_what_is_gone_from_history_while_the_lock_is_waited_for_is_not_brought_back(
        self, dated: DatedMemory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "NOTICE_SECONDS", 0.01)
        change_employers(dated)
        workspace = dated.at.workspace
        with contextlib.ExitStack() as purging:
            workspace.ensure_state()
            purging.enter_context(files.lock(workspace.state / files.TRAIL_LOCK, 0))

            def purge_meanwhile(_: str) -> None:
                dated.at.git("reset", "-q", "--hard", "HEAD~1")
                purging.close()

            with fresh_trail(workspace, purge_meanwhile) as trail:
                assert trail.newest_commit is not None
                assert trail.newest_commit.commit == dated.at.git("rev-parse", "HEAD").strip()

    def test_a_replay_that_is_interrupted_leaves_the_file_closed(self, dated: DatedMemory) -> None:
        change_employers(dated)
        shutil.rmtree(dated.at.workspace.state)

        def interrupt(done: int, total: int) -> None:
            raise KeyboardInterrupt

        with (
            pytest.raises(KeyboardInterrupt),
            fresh_trail(dated.at.workspace, progress=interrupt),
        ):
            pass

    def test_a_whole_reindex_builds_it_anew(self, dated: DatedMemory) -> None:
        change_employers(dated)
        before = dated.on("2026-05-01").history(ShowHistory("Work"))
        self._damage(dated, "UPDATE commits SET author = x'41'")
        assert dated.on("2026-05-01").history(ShowHistory("Work")) != before
        dated.on("2026-05-01").reindex(full=True)
        assert dated.on("2026-05-01").history(ShowHistory("Work")) == before


class TestTrailUpdate:
    def require_same_as_rebuilt(self, at: Desk) -> None:
        workspace = at.workspace
        with fresh_trail(workspace) as trail, Trail.in_memory() as rebuilt:
            trail_update.replay_new_commits(workspace, rebuilt, workspace.repository.head())
            assert dump(trail) == dump(rebuilt)

    def test_after_a_rewritten_history(self, dated: DatedMemory) -> None:
        at = dated.at
        change_employers(dated)
        assert dated.texts("works at") == ["employer: works at Notion"]
        at.git("reset", "-q", "--hard", "HEAD~2")
        assert dated.texts("works at") == ["employer: works at Linear"]
        assert sorted(dated.texts("works at", history=True)) == [
            "employer: works at Linear",
            "employer: works at Stripe",
        ]
        self.require_same_as_rebuilt(at)

    def test_all_facts_have_one_order_however_the_index_came_to_be(
        self, dated: DatedMemory
    ) -> None:
        for number, employer in enumerate(EMPLOYERS * 2):
            memory = dated.on("2026-06-01")
            memory.apply(Remember(f"works at {employer} {number}", section="Work", key="employer"))
            listed = memory.facts(ListFacts(everything=True))
        assert [hit.text[-1] for hit in listed.facts if hit.key] == [*"76543210"]
        shutil.rmtree(dated.at.workspace.state)
        assert memory.facts(ListFacts(everything=True)) == listed

    def test_on_another_branch_and_back(self, dated: DatedMemory) -> None:
        at = dated.at
        change_employers(dated)
        at.git("branch", "side", "HEAD~3")
        assert len(dated.search("works at", history=True)) == 4
        at.git("checkout", "-q", "side")
        dated.on("2026-06-01").apply(Remember("works at Apple", section="Work", key="employer"))
        assert sorted(dated.texts("works at", history=True)) == [
            "employer: works at Apple",
            "employer: works at Stripe",
        ]
        at.git("checkout", "-q", "-")
        assert len(dated.search("works at", history=True)) == 4
        self.require_same_as_rebuilt(at)

    def test_what_the_index_on_disk_still_has_to_take_out_is_not_forgotten(
        self, dated: DatedMemory
    ) -> None:
        at = dated.at
        change_employers(dated)
        assert dated.texts("works at") == ["employer: works at Notion"]
        dropped = at.git("rev-parse", "HEAD").strip()
        at.git("reset", "-q", "--hard", "HEAD~")
        index = at.workspace.state / "index"
        index.rename(at.workspace.state / "elsewhere")
        index.write_text("no folder")
        assert dated.texts("works at") == ["employer: works at Figma"]
        with fresh_trail(at.workspace) as trail:
            assert [commit for commit, _, _ in trail.dropped_commits()] == [dropped]
        index.unlink()
        (at.workspace.state / "elsewhere").rename(index)
        assert len(dated.search("works at", history=True)) == 3

    def test_after_a_merge(self, dated: DatedMemory) -> None:
        at = dated.at
        at.git("checkout", "-q", "-b", "side")
        done = dated.on("2026-01-10").apply(
            Log("on the side", kind="fact", options=WriteOptions(confidence=0.9))
        )
        dated.on("2026-01-11").apply(Forget("lives in Oslo"))
        at.git("checkout", "-q", "-")
        dated.on("2026-01-12").apply(append())
        at.git("merge", "-q", "--no-edit", "side")
        (hit,) = dated.search("side")
        assert (hit.commit, hit.confidence) == (done.commit, 0.9)
        assert [hit.status for hit in dated.search("Oslo", history=True)] == [Status.REMOVED]
        self.require_same_as_rebuilt(at)
        at.git("reset", "-q", "--hard", "HEAD~")
        self.require_same_as_rebuilt(at)
        with fresh_trail(at.workspace) as trail:
            assert trail.commit_with_id(done.commit or CommitId("")) is None

    def test_errors(self, dated: DatedMemory) -> None:
        for word, code in (
            ("2020-01-01", "before-history"),
            ("nonsense", "commit-not-found"),
            ("2026-13-01", "usage"),
        ):
            with pytest.raises(MdmemError) as failure:
                dated.search("x", as_of=word)
            assert failure.value.code == code
        with pytest.raises(MdmemError):
            dated.search("x", as_of="2026-01-01", history=True)

    def test_what_arrives_late_is_no_answer_for_the_days_before(self, dated: DatedMemory) -> None:
        dated.on("2026-01-05").apply(Log("penguin"))
        dated.on("2026-01-03").apply(Log("a late penguin"))
        assert dated.texts("penguin", as_of="2026-01-04") == []
        assert sorted(dated.texts("penguin", as_of="2026-01-05")) == ["a late penguin", "penguin"]
        with pytest.raises(MdmemError) as failure:
            dated.search("penguin", as_of="2024-12-31")
        assert (
            failure.value.message
            == "2024-12-31 is before the first commit: memory begins on 2025-01-01"
        )

    def test_a_date_ahead_counts_whenever_one_asks(self, dated: DatedMemory) -> None:
        at = dated.at
        dated.on("2026-01-05").apply(Log("penguin one"))
        at.write("MEMORY.md", "# Memory\n\n## Work\n\n- penguin two\n")
        at.git(
            "commit", "-q", "-am", "by hand", "--date=2026-10-10T12:00:00"
        )  # committed on 2026-03-05
        dated.on("2099-01-01").apply(Log("penguin three"))
        dated.on("2026-05-05").apply(Log("penguin four"))
        held = {
            day: len(dated.texts("penguin", as_of=day))
            for day in ("2026-03-04", "2026-03-05", "2026-05-05", "2098-12-31", "2099-01-01")
        }
        # the last one's clock lies behind what it follows; from today on all is known
        assert held == {
            **{"2026-03-04": 1, "2026-03-05": 2, "2026-05-05": 2},
            **{"2098-12-31": 4, "2099-01-01": 4},
        }

    def test_where_the_state_cannot_be_written(self, dated: DatedMemory) -> None:
        ids = change_employers(dated)
        workspace = replace(dated.at.workspace, state=Path(os.devnull, "none"))
        memory = Memory(workspace)
        assert [hit.fact for hit in memory.search(Search("works at", as_of=DAYS[0])).hits] == ids[
            :1
        ]


WORDS = st.sampled_from(["Stripe", "Linear", "Figma", "tea", "coffee", "a cat"])
KEYS = st.sampled_from(["employer", "drink", "pet"])
ACTIONS = st.one_of(
    st.tuples(st.just("remember"), KEYS, WORDS),
    st.tuples(st.just("append"), st.sampled_from(["Work", "Home"]), WORDS),
    st.tuples(st.just("by hand"), st.integers(0, 20), WORDS),
    st.tuples(st.just("taken out"), st.integers(0, 20)),
    st.tuples(st.just("log"), WORDS),
    st.tuples(st.just("rename"), st.sampled_from(["Home", "House"])),
    st.tuples(st.just("another file"), st.sampled_from(["memory/a.md", "memory/b.md"])),
    st.tuples(st.just("revert"), st.integers(1, 4)),
    st.tuples(st.just("rewrite"), st.integers(1, 2)),
    st.tuples(st.just("search"), WORDS),
)


def act(at: Desk, action: tuple[object, ...]) -> None:
    """Carry out one action of a person or an agent."""
    memory = Memory.open(at.root, os.environ)
    lines = at.read("MEMORY.md").splitlines(keepends=True)
    match action:
        case ("remember", str(key), str(word)):
            memory.apply(Remember(word, section="Work", key=key, create=True))
        case ("append", str(section), str(word)):
            memory.apply(EditSection(section, Action.APPEND, f"- {word}"))
        case ("by hand", int(line), str(word)):
            at.write("MEMORY.md", "".join([*lines[:line], f"- {word}\n", *lines[line:]]))
            at.commit()
        case ("taken out", int(line)):
            at.write("MEMORY.md", "".join([*lines[:line], *lines[line + 1 :]]))
            at.commit()
        case ("log", str(word)):
            memory.apply(Log(word, kind="fact"))
        case ("rename", str(title)):
            memory.apply(EditSection("Home", Action.RENAME, title))
        case ("another file", str(path)):
            existing = [
                name for name in ("memory/a.md", "memory/b.md") if (at.root / name).exists()
            ]
            if existing and existing[0] != path:
                at.git("mv", existing[0], path)
            elif not existing:
                at.write(path, "# Topic\n\n- one\n- two\n\n## Below\n\n- three\n")
            at.commit()
        case ("revert", int(back)):
            memory.apply(Revert(f"HEAD~{back}"))
        case ("rewrite", int(back)):
            at.git("reset", "-q", "--hard", f"HEAD~{back}", check=False)
        case ("search", str(word)):
            memory.search(Search(word, history=True))


# One world serves for all examples: each makes a repository of its own in it.
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTIONS, min_size=3, max_size=10))
def test_whatever_is_done_the_trail_is_what_git_holds(
    world: World, actions: list[tuple[object, ...]], tmp_path_factory: pytest.TempPathFactory
):
    repository = tmp_path_factory.mktemp("trail")
    world.git(repository, "init", "-q", "-b", "main")
    world.git(repository, "config", "user.name", NAME)
    world.git(repository, "config", "user.email", EMAIL)
    at = desk(world, repository)
    for action in actions:
        with contextlib.suppress(MdmemError):
            act(at, action)
    workspace = at.workspace
    with fresh_trail(workspace) as trail, Trail.in_memory() as rebuilt:
        trail_update.replay_new_commits(workspace, rebuilt, workspace.repository.head())
        assert dump(trail) == dump(rebuilt)
        revisions = [
            row
            for newest in trail.newest_revisions()
            for row in trail.revisions(newest.lineage, include_unchanged=True)
        ]
        for commit in trail.commits_after():
            live = [
                revision
                for revision in revisions
                if revision.begun <= commit.number
                and (revision.ended is None or revision.ended > commit.number)
            ]
            texts = sorted(
                (revision.path, revision.section, revision.nth, revision.text) for revision in live
            )
            assert texts == sorted(sections_at(at, commit.commit))


def sections_at(at: Desk, commit: str) -> Iterator[tuple[str, tuple[str, ...], int, str]]:
    """The sections of the memory files of a commit, as the trail keeps them."""
    for path in at.git("ls-tree", "-r", "--name-only", commit).split():
        document = parse(at.git("show", f"{commit}:{path}"))
        for part in SectionParts(document).sections:
            if part.text:
                yield path, part.path, part.nth, part.text
