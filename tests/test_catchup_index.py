"""The index after any history is the one that would be built anew; and what a search says while it
cannot be brought up to date.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from conftest import EMAIL, NAME, World
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from workspaces import NOW, Desk, append, desk, where_modes_count, without_state

from mdmem.folder import files
from mdmem.githooks.hooks import catch_up
from mdmem.index import background, catching_up
from mdmem.index.query import Filter
from mdmem.memory import Memory
from mdmem.model import Source
from mdmem.model.errors import MdmemError
from mdmem.model.searches import Hit, Search
from mdmem.model.writes import Forget, Log, Remember
from mdmem.workspace import Workspace, used_workspaces

NAMES = ("MEMORY.md", "memory/a.md", "memory/b.md", "memory/2026-03-05.md", "notes/n.md")
BRANCHES = ("main", "side", "other")
LINES = (
    "- tea is green\n",
    "- coffee: black\n",
    "water is\n",
    "clear\n",
    "\n## Part\n\n",
    "- milk\n  is white\n",
    "\n",
)
FACTS = ("tea is green", "the sky is blue")
BAD = (b"caf\xe9\n", b"- x\0y\n", b">" * 3000 + b" deep\n", b"- bom and returns\r- two\r")


@pytest.fixture(autouse=True)
def _now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_NOW", NOW)


@pytest.fixture
def at(world: World, repository: Path) -> Desk:
    return desk(world, repository)


def say(_: str) -> None:
    pass


def hits_with(at: Desk, words: str) -> list[Hit]:
    result = Memory(at.workspace).search(Search(words))
    assert not result.stale
    assert result.notes == ()
    return [hit for hit in result.hits if words in hit.text]


def found_texts(at: Desk, words: str) -> list[str]:
    return [hit.text for hit in Memory(at.workspace).search(Search(words)).hits]


def same_as_anew(at: Desk) -> tuple[Hit, ...]:
    """The entries of the index, brought up to date, which are those of one that is built anew."""
    workspace = at.workspace
    caught_up = catching_up.fresh_index(workspace, say)
    anew = catching_up.fresh_index(replace(workspace, state=Path(os.devnull, "anew")), say)
    assert anew.notes == (
        "the index cannot be written (Not a directory); searched a temporary one",
    )
    assert not caught_up.stale
    assert caught_up.notes == ()
    assert caught_up.commit == anew.commit
    entries = caught_up.index.finder.entries(Filter())
    assert entries == anew.index.finder.entries(Filter())
    assert {
        path: (seen.skipped, seen.uncommitted) for path, seen in caught_up.index.seen.files.items()
    } == {path: (seen.skipped, seen.uncommitted) for path, seen in anew.index.seen.files.items()}
    for entry in entries:
        assert entry.uncommitted or entry.commit or entry.path.startswith("/"), (
            f"nobody knows where {entry} is from"
        )
    return entries


class Actions:
    """Actions of a person, git and mdmem on a workspace. `first` and `second` choose the files and
    lines.
    """

    def __init__(self, at: Desk) -> None:
        self.at = at
        self._numbers = count()

    def _try(self, *arguments: str) -> None:
        self.at.git(*arguments, check=False)

    def write(self, first: int, second: int) -> None:
        chosen = "".join(LINES[(first + number) % len(LINES)] for number in range(second % 5 + 1))
        self.at.write(NAMES[first % len(NAMES)], f"# Title\n\n{chosen}")

    def more(self, first: int, second: int) -> None:
        place = self.at.root / NAMES[first % len(NAMES)]
        if place.is_file():
            place.write_bytes(place.read_bytes() + LINES[second % len(LINES)].encode())

    def bad(self, first: int, second: int) -> None:
        self.at.write(NAMES[first % len(NAMES)], BAD[second % len(BAD)])

    def racy(self, first: int, second: int) -> None:
        """Save other bytes of the same size, and put back the old time stamp."""
        place = self.at.root / NAMES[first % len(NAMES)]
        if place.is_file():
            before = place.stat()
            place.write_bytes(place.read_bytes().replace(b"green", b"black"))
            os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))

    def delete(self, first: int, second: int) -> None:
        (self.at.root / NAMES[first % len(NAMES)]).unlink(missing_ok=True)

    def rename(self, first: int, second: int) -> None:
        source, target = (self.at.root / NAMES[number % len(NAMES)] for number in (first, second))
        if source.is_file():
            target.parent.mkdir(exist_ok=True)
            source.rename(target)

    def swap(self, first: int, second: int) -> None:
        source, target = (self.at.root / NAMES[number % len(NAMES)] for number in (first, second))
        if source.is_file() and target.is_file():
            left, right = source.read_bytes(), target.read_bytes()
            source.write_bytes(right)
            target.write_bytes(left)

    def commit(self, first: int, second: int) -> None:
        self.at.commit(f"{next(self._numbers)}")

    def commit_one(self, first: int, second: int) -> None:
        self._try("add", NAMES[first % len(NAMES)])
        self._try("commit", "-qm", f"{next(self._numbers)}", "--", NAMES[first % len(NAMES)])

    def amend(self, first: int, second: int) -> None:
        self._try("commit", "-q", "-a", "--amend", "--allow-empty", "-m", f"{next(self._numbers)}")

    def restore(self, first: int, second: int) -> None:
        self._try("checkout", "-q", "HEAD", "--", NAMES[first % len(NAMES)])

    def switch(self, first: int, second: int) -> None:
        name = BRANCHES[first % len(BRANCHES)]
        self._try("checkout", "-qf", name)
        self._try("checkout", "-qfb", name)

    def orphan(self, first: int, second: int) -> None:
        self._try("checkout", "-q", "--orphan", f"orphan-{next(self._numbers)}")

    def reset(self, first: int, second: int) -> None:
        self._try("reset", "-q", ("--hard", "--soft", "--mixed")[first % 3], "HEAD~")

    def merge(self, first: int, second: int) -> None:
        self._try(
            "merge",
            "-q",
            "-X",
            "theirs",
            "--no-edit",
            "--allow-unrelated-histories",
            BRANCHES[first % len(BRANCHES)],
        )
        self._try("merge", "--abort")

    def rebase(self, first: int, second: int) -> None:
        self._try("rebase", "-q", "-X", "theirs", BRANCHES[first % len(BRANCHES)])
        self._try("rebase", "--abort")

    def mdmem(self, first: int, second: int) -> None:
        text = FACTS[first % len(FACTS)]
        try:
            self.at.apply(
                Log(text, again=True) if second % 2 else append(f"- {text}", section=None)
            )
        except MdmemError:
            return

    def catch_up(self, first: int, second: int) -> None:
        catching_up.fresh_index(self.at.workspace, say)


STEPS = tuple(name for name in vars(Actions) if not name.startswith("_"))
OFTEN = ("write", "commit", "catch_up", "write", "commit", "catch_up")
_numbers = count()


def _step(name: str, first: int = 0, second: int = 0) -> tuple[str, int, int]:
    return name, first, second


_BACK = [
    _step("commit"),
    _step("catch_up"),
    _step("switch", 1),
    _step("delete", 1),
    _step("commit"),
    _step("catch_up"),
    _step("switch", 0),
]


@settings(
    max_examples=int(os.environ.get("MDMEM_TEST_EXAMPLES", "5")),
    derandomize="MDMEM_TEST_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture
    ],  # each example makes a repository of its own
)
@given(
    st.booleans(),
    st.lists(
        st.tuples(st.sampled_from((*STEPS, *OFTEN)), st.integers(0, 20), st.integers(0, 20)),
        min_size=8,
        max_size=25,
    ),
)
@example(False, [_step("write", 1, 3), *_BACK])
@example(True, [_step("write", 1, 3), *_BACK])
def test_it_is_as_if_built_anew(
    world: World, tmp_path: Path, below: bool, steps: list[tuple[str, int, int]]
):
    folder = tmp_path / f"repository {next(_numbers)}"
    folder.mkdir()
    world.git(folder, "init", "-q")
    for name, value in (("user.name", NAME), ("user.email", EMAIL)):
        world.git(folder, "config", name, value)
    at = desk(world, folder, "be low" if below else "")
    at.write("mdmem.toml", 'extra_paths = ["notes"]\n')
    at.commit()
    actions = Actions(at)
    for name, first, second in steps:
        getattr(actions, name)(first, second)
    if (at.root / "mdmem.toml").exists():
        same_as_anew(at)


class TestWhatIsFound:
    def test_an_edit_that_is_not_committed_is_found_and_marked(self, at: Desk):
        at.write("MEMORY.md", at.read("MEMORY.md") + "- drinks maté\n")
        (hit,) = hits_with(at, "maté")
        assert hit.uncommitted
        assert hit.commit is hit.source is hit.confidence is None
        (old,) = hits_with(at, "Oslo")
        assert not old.uncommitted
        assert old.commit == at.git("rev-parse", "HEAD").strip()

    @pytest.mark.parametrize("staged", [False, True])
    def test_so_is_a_new_file(self, at: Desk, staged: bool):
        at.write("memory/new.md", "- drinks maté\n")
        if staged:
            at.git("add", "-A")
        assert hits_with(at, "maté")[0].uncommitted
        commit = at.commit()
        assert [(hit.commit, hit.uncommitted) for hit in hits_with(at, "maté")] == [(commit, False)]

    def test_line_ends_and_odd_line_separators_are_no_edits(self, world: World, repository: Path):
        at = desk(world, repository, seed="\ufeff- one\u2028two\r\n- three\x85\r\n")
        at.write("MEMORY.md", "\ufeff- one\u2028two\n- three\x85\n- four\n")
        assert [hit.uncommitted for hit in same_as_anew(at)] == [False, False, True]

    def test_deleted_text_is_not_found(self, at: Desk):
        assert hits_with(at, "Oslo")
        at.write("MEMORY.md", "# Memory\n")
        assert not hits_with(at, "Oslo")
        (at.root / "MEMORY.md").unlink()
        at.write("mdmem.toml", "")
        assert not same_as_anew(at)

    def test_the_branch_that_is_checked_out_answers(self, at: Desk):
        at.git("checkout", "-qb", "side")
        at.write("MEMORY.md", at.read("MEMORY.md").replace("Oslo", "Rome"))
        at.commit()
        for branch, there, gone in (
            ("side", "Rome", "Oslo"),
            ("main", "Oslo", "Rome"),
            ("side", "Rome", "Oslo"),
        ):
            at.git("checkout", "-q", branch)
            assert hits_with(at, there)
            assert not hits_with(at, gone)
            same_as_anew(at)

    def test_what_is_taken_out_and_put_back_by_hand_keeps_its_commit(self, at: Desk):
        before = same_as_anew(at)
        text = at.read("MEMORY.md")
        at.write("MEMORY.md", "# Memory\n")
        assert not same_as_anew(at)
        at.write("MEMORY.md", text)
        assert same_as_anew(at) == before

    def test_what_is_taken_out_and_put_back_by_commits_has_the_newest(self, at: Desk):
        same_as_anew(at)
        text = at.read("MEMORY.md")
        at.write("MEMORY.md", "# Memory\n")
        at.commit()
        at.write("MEMORY.md", text)
        newest = at.commit()
        assert {hit.commit for hit in same_as_anew(at)} == {newest}

    def test_a_line_of_a_commit_that_is_gone_has_the_earlier_one(self, at: Desk):
        before, text = same_as_anew(at), at.read("MEMORY.md")
        oldest = at.git("rev-parse", "HEAD").strip()
        at.write("MEMORY.md", text + "- works at Stripe\n")
        newest = at.commit()
        assert {hit.commit for hit in same_as_anew(at) if "Stripe" in hit.text} == {oldest, newest}
        at.git("reset", "-q", "--hard", "HEAD~")
        assert same_as_anew(at) == before

    def test_so_has_a_file_that_is_the_same_before_and_after(self, at: Desk):
        before, text = same_as_anew(at), at.read("MEMORY.md")
        at.write("MEMORY.md", "# Memory\n")
        at.commit()
        at.write("MEMORY.md", text)
        at.commit()
        assert same_as_anew(at) != before
        at.git("reset", "-q", "--hard", "HEAD~2")
        assert same_as_anew(at) == before

    def test_a_renamed_file_keeps_the_origins_of_its_lines(self, at: Desk):
        at.write("memory/a.md", "# A\n\n- long enough to be known again\n- tea\n")
        commit = at.commit()
        assert hits_with(at, "tea")
        (at.root / "memory/a.md").rename(at.root / "memory/b.md")
        assert hits_with(at, "tea")[0].uncommitted
        at.commit()
        assert [(hit.path, hit.commit) for hit in hits_with(at, "tea")] == [("memory/b.md", commit)]
        same_as_anew(at)

    def test_what_says_nothing_to_git_diff_still_has_its_commit(self, at: Desk):
        at.write(".gitattributes", "*.md binary\n")
        at.write("memory/a.md", "- tea\n")
        commit = at.commit()
        assert [hit.commit for hit in hits_with(at, "tea")] == [commit]

    def test_a_suffix_in_capitals(self, at: Desk):
        at.write("memory/A.MD", "- tea\n")
        commit = at.commit()
        assert [hit.commit for hit in hits_with(at, "tea")] == [commit]

    def test_mdmems_own_commits_say_whose_word_it_is(self, at: Desk):
        done = at.apply(append("- drinks maté", source=Source.AUTO, confidence=0.3))
        (hit,) = hits_with(at, "maté")
        assert (hit.commit, hit.source, hit.confidence) == (done.commit, Source.AUTO, 0.3)

    @pytest.mark.parametrize(
        "data",
        [b"caf\xe9 tea\n", b"tea\0\n", b"x" * 5_000_001],
        ids=["latin", "nul", "large"],
    )
    def test_what_cannot_be_read_is_named_and_found_again_when_mended(self, at: Desk, data: bytes):
        at.write("memory/a.md", "- tea\n")
        commit = at.commit()
        at.write("memory/a.md", data)
        same_as_anew(at)
        ((path, why),) = Memory(at.workspace).status().skipped
        assert path == "memory/a.md"
        assert why
        at.git("checkout", "-q", "memory/a.md")
        assert [hit.commit for hit in hits_with(at, "tea")] == [commit]
        assert Memory(at.workspace).status().skipped == ()

    @where_modes_count
    def test_so_is_what_may_not_be_read(self, at: Desk):
        at.write("memory/a.md", "- tea\n").chmod(0)
        assert hits_with(at, "Oslo")
        assert Memory(at.workspace).status().skipped[0][0] == "memory/a.md"

    def test_the_same_size_and_the_same_time(self, at: Desk):
        place = at.root / "MEMORY.md"
        assert hits_with(at, "Oslo")
        before = place.stat()
        place.write_bytes(place.read_bytes().replace(b"Oslo", b"Rome"))
        os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert hits_with(at, "Rome")

    def test_a_reindex_of_a_file_just_written_is_up_to_date(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(files, "RACY_NS", 300_000_000)
        at.write("MEMORY.md", "- tea is white\n")
        with closing(Memory(at.workspace)) as memory:
            memory.reindex()
            assert memory.status().current

    def test_a_clone_has_an_index_of_its_own(self, at: Desk, tmp_path: Path):
        before = same_as_anew(at)
        at.git("clone", "-q", at.root, tmp_path / "clone")
        assert same_as_anew(Desk(at.world, tmp_path / "clone")) == before

    def test_a_linked_worktree_too(self, at: Desk, tmp_path: Path):
        at.git("worktree", "add", "-q", "-b", "side", tmp_path / "linked")
        linked = Desk(at.world, tmp_path / "linked")
        linked.write("MEMORY.md", "- Rome\n")
        assert hits_with(linked, "Rome")
        assert not hits_with(at, "Rome")

    def test_extra_paths_inside_and_outside(self, at: Desk, tmp_path: Path):
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "o.md").write_text("- tea from outside\n")
        at.write("notes/deep/n.md", "- tea from a note\n")
        at.write("single.md", "- tea from a file\n")
        at.write("other.md", "- tea from elsewhere\n")
        at.commit()
        own = at.world.home / ".config" / "mdmem" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'extra_paths = ["{outside}"]\n')
        at.write("mdmem.toml", f'extra_paths = ["notes/", "single.md", "{outside}", "missing"]\n')
        assert sorted(hit.path for hit in hits_with(at, "tea")) == sorted(
            ["notes/deep/n.md", "single.md", f"{outside}/o.md"]
        )
        same_as_anew(at)
        at.write("mdmem.toml", "")
        assert [hit.path for hit in hits_with(at, "tea")] == [f"{outside}/o.md"]

    def test_an_extra_path_elsewhere_in_the_work_tree(self, at: Desk):
        (at.root / "docs").mkdir()
        (at.root / "docs" / "d.md").write_text("- tea from the docs\n")
        agent = desk(at.world, at.root, "agent")
        agent.write("mdmem.toml", 'extra_paths = ["../docs"]\n')
        assert [hit.path for hit in hits_with(agent, "tea")] == ["../docs/d.md"]

    @pytest.mark.parametrize("name", ["memory", "notes", "memory/sub"])
    def test_a_link_leads_nowhere(self, at: Desk, tmp_path: Path, name: str):
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "o.md").write_text("- tea from outside\n")
        at.write("mdmem.toml", 'extra_paths = ["notes"]\n')
        (at.root / name).parent.mkdir(exist_ok=True)
        (at.root / name).symlink_to(tmp_path / "outside")
        assert not hits_with(at, "tea")

    def test_a_folder_that_is_very_deep(self, at: Desk):
        at.write("memory/" + "d/" * 800 + "a.md", "- tea\n")
        assert hits_with(at, "tea")

    def test_where_the_environment_names_another_repository(
        self, at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        at.git("init", "-q", tmp_path / "elsewhere")
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE"):
            monkeypatch.setenv(name, str(tmp_path / "elsewhere" / ".git"))
        assert hits_with(at, "Oslo")[0].commit


class TestWhereItCannotBeBroughtUpToDate:
    def test_a_state_folder_that_cannot_be_written(self, at: Desk, monkeypatch: pytest.MonkeyPatch):
        without_state(monkeypatch)
        result = Memory(at.workspace).search(Search("Oslo"))
        assert result.hits[0].text == "lives in Oslo"
        assert not result.stale
        assert result.notes[0].startswith("the index cannot be written (")
        assert result.notes[0].endswith("; searched a temporary one")
        assert Memory(at.workspace).status().current is False

    @where_modes_count
    def test_a_state_folder_without_the_right_to_write(self, at: Desk):
        assert hits_with(at, "Oslo")
        at.write("MEMORY.md", "- Rome\n")
        folders = [at.workspace.state, *at.workspace.state.rglob("*")]
        for folder in reversed(folders):
            folder.chmod(0o555 if folder.is_dir() else 0o444)
        try:
            result = Memory(at.workspace).search(Search("Rome"))
        finally:
            for folder in folders:
                folder.chmod(0o755)
        assert len(result.hits) == 1
        assert "searched a temporary one" in result.notes[0]

    def test_a_file_is_found_by_its_front_matter_however_it_was_indexed(self, at: Desk):
        at.write("memory/rules.md", "---\nname: kraken\non: yes\n---\n\n- two at a time\n")
        assert found_texts(at, "kraken") == ["two at a time", "on: yes"]
        at.commit()
        same_as_anew(at)
        assert found_texts(at, "kraken") == ["two at a time", "on: yes"]
        at.write("memory/rules.md", "---\nname: squid: large\n---\n\n- two at a time\n")
        assert (found_texts(at, "kraken"), found_texts(at, "squid")) == ([], ["two at a time"])
        same_as_anew(at)
        for number in range(60):  # so many that unchanged files are not parsed
            at.write(f"memory/{number}.md", f"---\ntitle: number{number}\n---\n- item\n")
        at.commit()
        shutil.rmtree(at.workspace.state)
        assert found_texts(at, "number7") == ["item"]
        at.write("memory/rules.md", "# Other\n")
        assert found_texts(at, "squid") == []

    def test_another_process_that_is_indexing_is_waited_for(self, at: Desk):
        assert hits_with(at, "Oslo")
        at.write("mdmem.toml", "lock_timeout = 0.05\n")
        at.write("MEMORY.md", at.read("MEMORY.md").replace("Oslo", "Rome"))
        at.commit()
        with files.lock(at.workspace.state / "index.lock", 1):
            result = Memory(at.workspace).search(Search("Oslo Rome"))
        assert result.stale
        assert result.hits[0].text == "lives in Oslo"
        assert "another process" in result.notes[0]
        assert hits_with(at, "Rome")

    @pytest.mark.parametrize("broken", ["seen.json", "documents/meta.json"])
    def test_a_broken_index_is_built_anew_without_asking(self, at: Desk, broken: str):
        before = same_as_anew(at)
        (at.workspace.state / "index" / broken).write_bytes(b"{")
        assert same_as_anew(at) == before

    def test_damaged_documents_too(self, at: Desk):
        before = hits_with(at, "Oslo")
        for place in (at.workspace.state / "index" / "documents").iterdir():
            if place.suffix in (".store", ".term", ".idx"):
                place.write_bytes(b"\0" * place.stat().st_size)
        assert hits_with(at, "Oslo") == before

    def test_one_commit_that_is_gone(self, at: Desk):
        assert hits_with(at, "Oslo")
        at.git("commit", "-q", "--amend", "-m", "anew")
        at.git("reflog", "expire", "--expire=now", "--all")
        at.git("gc", "-q", "--prune=now")
        assert hits_with(at, "Oslo")[0].commit == at.git("rev-parse", "HEAD").strip()


def while_waiting(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Have something done after the first look at the files and before the lock of the index is
    had.
    """
    lock = files.lock

    @contextmanager
    def waited(*arguments: Any) -> Iterator[None]:
        monkeypatch.setattr(files, "lock", lock)
        action()
        with lock(*arguments):
            yield

    monkeypatch.setattr(files, "lock", waited)


class TestLooks:
    @pytest.fixture
    def looks(self, monkeypatch: pytest.MonkeyPatch) -> list[Workspace]:
        """A list that grows by one each time the files are listed; new files count as settled."""
        monkeypatch.setattr(files, "RACY_NS", 0)
        seen: list[Workspace] = []
        listed = Workspace.memory_paths
        monkeypatch.setattr(
            Workspace,
            "memory_paths",
            lambda workspace, *how, **named: (
                seen.append(workspace) or listed(workspace, *how, **named)
            ),
        )
        return seen

    def test_a_search_that_finds_all_as_it_was_looks_once_and_at_no_file_that_was_seen(
        self, at: Desk, looks: list[Workspace]
    ):
        catching_up.fresh_index(at.workspace, say)
        looks.clear()
        again = catching_up.fresh_index(at.workspace, say)
        assert len(looks) == 1
        assert "_files" not in vars(again.index.seen.files)
        assert set(again.index.seen.files) == {"MEMORY.md"}

    def test_what_was_looked_at_before_the_lock_was_had_is_not_looked_at_again(
        self, at: Desk, looks: list[Workspace]
    ):
        catching_up.fresh_index(at.workspace, say)
        looks.clear()
        at.write("memory/new.md", "- new tea\n")
        catching_up.fresh_index(at.workspace, say)
        assert len(looks) == 1
        assert hits_with(at, "new tea")

    def test_unless_another_process_has_seen_more_meanwhile(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        catching_up.fresh_index(at.workspace, say)
        at.write("memory/new.md", "- new tea\n")

        def by_another() -> None:
            at.write("memory/newer.md", "- newer tea\n")
            catching_up.fresh_index(at.workspace, say)

        while_waiting(monkeypatch, by_another)
        entries = catching_up.fresh_index(at.workspace, say).index.finder.entries(Filter())
        assert {entry.path for entry in entries} == {
            "MEMORY.md",
            "memory/new.md",
            "memory/newer.md",
        }

    def test_a_file_that_goes_meanwhile_is_out_the_next_time(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        catching_up.fresh_index(at.workspace, say)
        place = at.write("memory/new.md", "- new tea\n")
        while_waiting(monkeypatch, place.unlink)
        assert {
            entry.path
            for entry in catching_up.fresh_index(at.workspace, say).index.finder.entries(Filter())
        } == {"MEMORY.md"}
        assert not hits_with(at, "tea")
        catching_up.fresh_index(at.workspace, say)
        assert catching_up.index_as_is(at.workspace)[1]

    def test_commits_without_markdown_change_nothing(self, at: Desk):
        at.apply(Log("green tea"))
        catching_up.fresh_index(at.workspace, say)
        seen = catching_up.index_as_is(at.workspace)[0].seen

        def updates() -> bool:
            """True if a search brings the index up to date."""
            result = Memory(at.workspace).search(Search("tea"))
            assert not result.stale
            assert result.commit == at.git("rev-parse", "HEAD").strip()
            index, is_fresh = catching_up.index_as_is(at.workspace)
            assert is_fresh
            return index.seen != seen

        for number in range(3):
            at.write("src/a.py", f"x = {number}\n")
            at.commit("code")
            assert not updates()
        at.git("commit", "-q", "--amend", "-m", "other words")
        assert not updates()
        at.git("checkout", "-q", "-b", "other")
        at.write("memory/new.md", "- black tea\n")
        at.commit("memory")
        at.git("rm", "-q", "memory/new.md")
        at.commit("and back")
        at.git("checkout", "-q", "-")
        assert not updates()
        at.git("merge", "-q", "--no-ff", "--no-edit", "other")
        assert updates()
        assert "black tea" in {
            hit.text for hit in Memory(at.workspace).search(Search("tea", history=True)).hits
        }

    def test_a_commit_that_states_something_and_changes_nothing_counts(self, at: Desk):
        at.apply(Log("the harbour is closed"))
        at.apply(Forget("the harbour is closed"))
        assert not hits_with(at, "harbour")
        undone = at.git("rev-parse", "HEAD").strip()
        at.git("commit", "-q", "--allow-empty", "-m", f"undo\n\nThis reverts commit {undone}.")
        assert hits_with(at, "harbour")

    def test_any_change_of_a_stamp_is_seen(self, at: Desk):
        place = at.write("memory/a.md", "- green tea\n")
        catching_up.fresh_index(at.workspace, say)
        before = place.stat()
        place.write_text("- black tea\n".replace("black", "white"))
        os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert hits_with(at, "white tea")
        assert not hits_with(at, "green tea")


class TestInTheBackground:
    def test_one_catches_up_and_leaves_nothing_to_do(self, at: Desk):
        at.apply(Log("tea"))
        catching_up.catch_up_workspace(at.workspace)
        assert (
            catching_up.index_as_is(at.workspace)[0].seen.commit
            == at.git("rev-parse", "HEAD").strip()
        )

    def test_git_maintains_after_one_commit_in_sixteen(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        maintained: list[str] = []
        monkeypatch.setattr(background, "wait_until_quiet", lambda folder: None)
        monkeypatch.setattr(
            catching_up.commits, "maintain", lambda repository: maintained.append(repository.head())
        )
        at.apply(Log("tea"))
        head = at.git("rev-parse", "HEAD").strip()
        for digit in "0123456789abcdef":
            monkeypatch.setattr(catching_up, "_MAINTAINED", digit)
            catching_up.catch_up_workspace(at.workspace)
        assert maintained == [head]

    def test_a_write_starts_it_and_what_changes_nothing_does_not(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        started: list[object] = []
        monkeypatch.setattr(background, "start_catching_up", started.append)
        for _ in range(2):
            Memory(at.workspace).apply(Remember("likes tea", section="Home"))
        assert len(started) == 1

    def test_no_second_one_where_one_waits(self, at: Desk):
        at.workspace.ensure_state()
        with files.lock(at.workspace.state / "queue.lock", 1):
            catching_up.catch_up_workspace(at.workspace)
        assert not (at.workspace.state / "index").exists()

    def test_every_workspace_that_was_used(self, world: World, repository: Path):
        first, second, unused = (desk(world, repository, name) for name in ("one", "two", "unused"))
        for at in (first, second):
            at.workspace.ensure_state()
        catch_up(used_workspaces(repository, os.environ))
        assert all((at.workspace.state / "index" / "seen.json").exists() for at in (first, second))
        assert not unused.workspace.state.exists()

    def test_one_with_bad_settings_does_not_keep_the_others_waiting(
        self, world: World, repository: Path
    ):
        first, second = (desk(world, repository, name) for name in ("one", "two"))
        for at in (first, second):
            at.workspace.ensure_state()
        state = second.workspace.state
        first.write("mdmem.toml", "timezone = 3\n")
        with pytest.raises(MdmemError) as failure:
            catch_up(used_workspaces(repository, os.environ))
        assert failure.value.code == "bad-settings"
        assert (state / "index" / "seen.json").exists()

    @pytest.mark.background
    def test_a_lock_that_cannot_be_looked_at_makes_no_write_fail(self, at: Desk):
        at.workspace.ensure_state()
        (at.workspace.state / files.QUEUE_LOCK).symlink_to(files.QUEUE_LOCK)
        assert background.start_catching_up(at.workspace) is None
        assert Memory(at.workspace).apply(Log("tea")).commit == at.git("rev-parse", "HEAD").strip()

    @pytest.mark.background
    def test_it_imports_nothing_from_where_the_user_is(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        """The write does not wait for the process: its traces in the folder are looked for once it
        holds no lock any more.
        """
        for name in ("mdmem", "json"):
            at.write(f"{name}.py", "open('ran', 'w')\n")
        monkeypatch.chdir(at.root)
        at.workspace.ensure_state()
        started = background.start_catching_up(at.workspace)
        assert started is not None
        started.join(60)
        assert not (at.root / "ran").exists()
        assert (at.workspace.state / "index" / "seen.json").exists()

    @pytest.mark.background
    def test_a_program_that_lives_on_keeps_no_dead_child(
        self, at: Desk, monkeypatch: pytest.MonkeyPatch
    ):
        waiting = []
        start = background.start_catching_up
        monkeypatch.setattr(
            background, "start_catching_up", lambda workspace: waiting.append(start(workspace))
        )
        memory = Memory(at.workspace)
        while _dead_child():  # of earlier tests
            pass
        for number in range(3):
            memory.apply(Log(f"entry {number}"))
            if waiting[-1]:
                waiting[-1].join(60)
        assert any(waiting)
        assert not _dead_child()
        assert not any(thread.is_alive() for thread in waiting if thread)


def _dead_child() -> int:
    """The process id of a child that has ended, no longer waiting to be asked for; 0: none."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return 0


def test_a_file_saved_while_the_index_is_made_is_read_again(
    at: Desk, monkeypatch: pytest.MonkeyPatch
):
    """The line is in the file when that is read, but was not there when git listed what is not
    committed.
    """
    at.write("MEMORY.md", "# Memory\n\n- one\n")
    at.git("add", "-A")
    at.git("commit", "-qm", "one")
    read = catching_up.files.read

    def saved_then_read(place: Path) -> bytes | None:
        monkeypatch.setattr(catching_up.files, "read", read)
        at.write("MEMORY.md", "# Memory\n\n- one\n- two\n")
        return read(place)

    monkeypatch.setattr(catching_up.files, "read", saved_then_read)
    catching_up.rebuild_index(at.workspace, full=True, say=lambda _: None)
    searchable = catching_up.fresh_index(at.workspace, lambda _: None).index
    assert [(hit.text, hit.uncommitted) for hit in searchable.finder.entries(Filter())] == [
        ("one", False),
        ("two", True),
    ]
