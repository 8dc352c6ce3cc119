"""A fleet in a folder: what is indexed, who may read it, what a kill leaves, what is purged."""

import os
import random
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from commandline import Shell
from conftest import World
from page_readers import read, words
from test_pool import WORDS

from mdmem import memory
from mdmem.fleet import folder as folders
from mdmem.fleet.asking import search_fleet
from mdmem.fleet.engine import FORM
from mdmem.fleet.indexing import FleetIndexed, describe, index_fleet, tidy_clones
from mdmem.fleet.settings import Fleet, FleetSettings, is_remote, open_fleet
from mdmem.folder import files
from mdmem.mcp import arguments, calls, tools
from mdmem.model.errors import FleetProblem, UsageProblem, WorkspaceProblem
from mdmem.model.searches import Search

Memory = dict[str, str | None]


def facts(*texts: str) -> str:
    return "# Memory\n\n## Facts\n\n" + "".join(f"- {text}\n" for text in texts)


class Organisation:
    """Repositories below a folder, and a fleet of them."""

    def __init__(self, world: World, folder: Path, empty_repository: Path) -> None:
        self.world, self.folder, self._empty = world, folder, empty_repository
        (folder / "git").mkdir(parents=True)

    def commit(self, name: str, texts: Memory | str) -> Path:
        """Change files of a repository, and commit all; None: remove one."""
        root = self.folder / "git" / name
        if not root.exists():
            shutil.copytree(self._empty, root)
        texts = {"MEMORY.md": facts(texts)} if isinstance(texts, str) else texts
        for path, text in texts.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                file.unlink()
            else:
                file.write_text(text)
        self.world.git(root, "add", "-A")
        self.world.git(root, "commit", "-q", "-m", "by hand")
        return root

    def address(self, name: str) -> str:
        return str(self.folder / "git" / name)

    def fleet(self, at: str = "fleet", **settings: Any) -> Fleet:
        values = {
            "file": self.folder / "fleet.toml",
            "at": str(self.folder / at),
            "repositories": f"{self.folder}/git/*",
            "readers": "owner",
            "cached": 60.0,
        }
        return Fleet(FleetSettings(**values | settings), dict(os.environ))

    def readers(self, *names: str) -> tuple[str, ...]:
        """A command that lets an asker read these."""
        file = self.folder / "readers"
        file.write_text("".join(f"{self.address(name)}\n" for name in names))
        return "sh", "-c", f"cat '{file}'"


@pytest.fixture
def organisation(world: World, tmp_path: Path, empty_repository: Path) -> Organisation:
    return Organisation(world, tmp_path / "org", empty_repository)


def program(fleet: Fleet, before: str = "") -> list[str]:
    """A process that indexes, after some lines of its own."""
    lines = f"""
import os, sys
from pathlib import Path
from mdmem.fleet import folder
from mdmem.fleet.indexing import index_fleet
from mdmem.fleet.settings import Fleet, FleetSettings
fleet = Fleet(FleetSettings(Path("f"), *sys.argv[1:], "owner", 60.0), os.environ)
{before}
index_fleet(fleet)
"""
    return [sys.executable, "-c", lines, fleet.settings.at, str(fleet.settings.repositories)]


def found(fleet: Fleet, words: str, repositories: str | None = None, **asked: Any) -> list[str]:
    hits = search_fleet(fleet, Search(query=words, **asked), repositories).hits
    return [f"{hit.place} {hit.text}" for hit in hits if not hit.near]


def scores(fleet: Fleet, words: str) -> list[tuple[str, float]]:
    return [
        (hit.place, hit.score) for hit in search_fleet(fleet, Search(query=words, limit=50)).hits
    ]


class TestIndexing:
    def test_all_repositories_are_searched_as_one(self, organisation: Organisation):
        organisation.commit("ada", "the kettle is green")
        organisation.commit("bob", "likes tea")
        organisation.commit(
            "ops",
            {"MEMORY.md": "# M\n", "memory/2026-03-05.md": "## 09:00\n\n- the kettle broke\n"},
        )
        fleet = organisation.fleet()
        assert index_fleet(fleet) == FleetIndexed(3, 0, 0, {})
        assert set(found(fleet, "kettle")) == {
            "ada:MEMORY.md:5 the kettle is green",
            "ops:memory/2026-03-05.md:3 the kettle broke",
        }
        assert fleet.engine.totals(None).documents == 3

    def test_only_what_changed_is_read(
        self, organisation: Organisation, monkeypatch: pytest.MonkeyPatch
    ):
        organisation.commit(
            "ada", {"MEMORY.md": facts("red"), "memory/house.md": "# H\n\n- blue\n"}
        )
        organisation.commit("bob", "white")
        fleet, changes = organisation.fleet(), list[Any]()
        index_fleet(fleet)
        organisation.commit("ada", {"memory/house.md": "# H\n\n- yellow\n"})
        put = fleet.engine.put
        monkeypatch.setattr(fleet.engine, "put", lambda new: (changes.extend(new), put(new)))
        assert index_fleet(fleet) == FleetIndexed(1, 1, 0, {})
        assert [[file.path for file in each.files] for each in changes] == [["memory/house.md"]]
        assert found(fleet, "yellow") == ["ada:memory/house.md:3 yellow"]
        assert not found(fleet, "blue")
        assert found(fleet, "red") == ["ada:MEMORY.md:5 red"]
        assert index_fleet(fleet) == FleetIndexed(0, 2, 0, {})
        assert len(changes) == 1

    def test_what_is_gone_is_gone_from_answers(self, organisation: Organisation):
        organisation.commit("ada", {"MEMORY.md": facts("red"), "memory/old.md": "- blue\n"})
        organisation.commit("bob", "white")
        fleet = organisation.fleet()
        index_fleet(fleet)
        organisation.commit("ada", {"memory/old.md": None})
        subprocess.run(["rm", "-r", organisation.address("bob")], check=True)
        index_fleet(fleet)
        assert not found(fleet, "blue")
        assert found(fleet, "white")
        assert describe(fleet).missing == {
            organisation.address("bob"): "no longer named in the settings"
        }
        assert index_fleet(fleet, prune=True).dropped == 1
        assert not found(fleet, "white")
        assert list(fleet.engine.held()) == [organisation.address("ada")]

    def test_a_rewritten_repository_is_read_anew(self, organisation: Organisation, world: World):
        root = organisation.commit("ada", {"MEMORY.md": facts("red"), "memory/a.md": "- blue\n"})
        fleet = organisation.fleet()
        index_fleet(fleet)
        (root / "memory/a.md").unlink()
        world.git(root, "add", "-A")
        world.git(root, "commit", "-q", "--amend", "-m", "anew")
        world.git(root, "reflog", "expire", "--expire=all", "--all")
        world.git(root, "gc", "-q", "--prune=now")
        index_fleet(fleet)
        assert not found(fleet, "blue")
        assert found(fleet, "red")

    def test_rows_of_another_form_are_made_again(
        self, organisation: Organisation, monkeypatch: pytest.MonkeyPatch
    ):
        organisation.commit("ada", "red")
        fleet = organisation.fleet()
        with monkeypatch.context() as patch:
            patch.setattr(folders, "FORM", FORM - 1)
            index_fleet(fleet)
        assert index_fleet(fleet).indexed == 1
        assert index_fleet(fleet).indexed == 0
        assert fleet.engine.totals(None).documents == 1

    def test_workspaces_below_have_their_own_settings(self, organisation: Organisation):
        organisation.commit(
            "app",
            {
                "src/MEMORY.md": "# no\n\n- a note beside code\n",
                "notes/mdmem.toml": 'paths = ["plans/**"]\n',
                "notes/plans/boat.md": "- the boat has two masts\n",
                "notes/other.md": "- the boat is no memory\n",
                "readme.md": "- the boat is documented\n",
            },
        )
        fleet = organisation.fleet()
        index_fleet(fleet)
        assert found(fleet, "boat masts") == ["app:notes/plans/boat.md:1 the boat has two masts"]
        assert found(fleet, "beside") == ["app:src/MEMORY.md:3 a note beside code"]
        organisation.commit("app", {"notes/mdmem.toml": 'paths = ["*"]\n'})
        index_fleet(fleet)
        assert found(fleet, "boat") == ["app:notes/other.md:1 the boat is no memory"]

    def test_what_becomes_memory_with_a_workspace_around_it_is_read(
        self, organisation: Organisation
    ):
        organisation.commit("app", {"MEMORY.md": facts("red"), "notes/memory/a.md": "- blue\n"})
        fleet = organisation.fleet()
        index_fleet(fleet)
        assert not found(fleet, "blue")
        organisation.commit("app", {"notes/MEMORY.md": "# Notes\n"})
        index_fleet(fleet)
        assert found(fleet, "blue") == ["app:notes/memory/a.md:1 blue"]
        organisation.commit("app", {"notes/MEMORY.md": None})
        index_fleet(fleet)
        assert not found(fleet, "blue")
        assert found(fleet, "red")

    def test_settings_that_cannot_be_used_are_named_and_change_nothing(
        self, organisation: Organisation
    ):
        organisation.commit("ada", "red")
        organisation.commit("bob", "white")
        fleet = organisation.fleet()
        index_fleet(fleet)
        organisation.commit("ada", {"mdmem.toml": "timezone = 3\n", "MEMORY.md": facts("blue")})
        organisation.commit("bob", {"mdmem.toml": 'daily = "obsidian"\n'})
        assert list(index_fleet(fleet).failed) == [organisation.address("ada")]
        assert found(fleet, "red")
        assert found(fleet, "white")

    def test_what_grows_too_large_is_no_longer_found(self, organisation: Organisation):
        organisation.commit("ada", {"MEMORY.md": facts("red"), "memory/a.md": "- blue\n"})
        fleet = organisation.fleet()
        index_fleet(fleet)
        organisation.commit("ada", {"memory/a.md": "- blue\n" + "- x\n" * 1_400_000})
        index_fleet(fleet)
        assert not found(fleet, "blue")
        assert found(fleet, "red")

    @pytest.mark.parametrize(
        "content", [b"\0\0\0", b"\xff\xfe- a", b"- x " * 1_400_000, b"", b"'\\{x:String}\n"]
    )
    def test_odd_files_stop_nothing(self, organisation: Organisation, content: bytes, world: World):
        root = organisation.commit("ada", "red")
        (root / "memory").mkdir()
        (root / "memory" / "odd '\\{x}.md").write_bytes(content)
        world.git(root, "add", "-A")
        world.git(root, "commit", "-q", "-m", "odd")
        fleet = organisation.fleet()
        assert index_fleet(fleet).failed == {}
        assert found(fleet, "red")

    def test_one_that_cannot_be_read_is_named(self, organisation: Organisation, tmp_path: Path):
        organisation.commit("ada", "red")
        (organisation.folder / "git" / "broken").mkdir()
        fleet = organisation.fleet()
        done = index_fleet(
            fleet,
            [
                organisation.address("ada"),
                organisation.address("broken"),
                f"file://{tmp_path}/none",
            ],
        )
        assert list(done.failed) == [organisation.address("broken"), f"file://{tmp_path}/none"]
        assert found(fleet, "red")

    def test_repositories_of_every_kind(self, organisation: Organisation, world: World):
        root = organisation.commit("ada", "the lamp is red")
        git = organisation.folder / "git"
        world.git(root, "pack-refs", "--all")
        world.git(git, "clone", "-q", "--bare", root, "bare.git")
        world.git(root, "worktree", "add", "-q", "-b", "other", git / "linked")
        (git / "linked" / "MEMORY.md").write_text(facts("the lamp is green"))
        world.git(git / "linked", "commit", "-q", "-a", "-m", "by hand")
        world.git(git, "init", "-q", "--object-format=sha256", "long")
        (git / "long" / "MEMORY.md").write_text(facts("the lamp is blue"))
        world.git(git / "long", "add", ".")
        by = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        world.git(git / "long", *by, "commit", "-q", "-m", "by hand")
        world.git(git, "init", "-q", "unborn")
        fleet = organisation.fleet()
        assert index_fleet(fleet) == FleetIndexed(4, 1, 0, {})
        assert set(found(fleet, "lamp")) == {
            "ada:MEMORY.md:5 the lamp is red",
            "linked:MEMORY.md:5 the lamp is green",
            "long:MEMORY.md:5 the lamp is blue",
        }
        assert describe(fleet).behind == ()

    def test_a_name_that_is_no_text_is_named(self, organisation: Organisation):
        organisation.commit("ada", "red")
        organisation.commit("b\udcff", "blue")
        fleet = organisation.fleet()
        assert list(index_fleet(fleet).failed) == [organisation.address("b\udcff")]
        assert found(fleet, "red")

    def test_an_address_is_fetched(self, organisation: Organisation, world: World):
        root = organisation.commit("ada", "red")
        fleet = organisation.fleet(repositories=f"file://{root}")
        index_fleet(fleet)
        organisation.commit("ada", "blue")
        assert index_fleet(fleet).indexed == 1
        assert found(fleet, "blue") == ["ada:MEMORY.md:5 blue"]
        assert not found(fleet, "red")
        tidy_clones(fleet)
        (clone,) = fleet.clones.iterdir()
        count = world.git(clone, "count-objects", "-v").stdout
        assert "in-pack: 3\n" in count, "those of one commit"
        fleet.engine.drop(fleet.engine.held())
        tidy_clones(fleet)
        assert list(fleet.clones.iterdir()) == []

    def test_a_repository_of_another_owner_is_refused_by_git(self, organisation: Organisation):
        if os.getuid() != 0:
            pytest.skip("root alone gives files away")
        organisation.commit("ada", "red")
        organisation.commit("bob", "blue")
        subprocess.run(["chown", "-R", "65534", organisation.address("bob")], check=True)
        fleet = organisation.fleet()
        done = index_fleet(fleet)
        assert "dubious ownership" in done.failed[organisation.address("bob")]
        assert found(fleet, "red")
        assert not found(fleet, "blue")

    def test_equal_scores_keep_their_order(self, organisation: Organisation):
        for number in range(9):
            organisation.commit(f"r{number}", f"the same words {number}")
        first = organisation.fleet("one")
        index_fleet(first)
        other = organisation.fleet("other")
        index_fleet(
            other, sorted(map(organisation.address, [f"r{n}" for n in range(9)]), reverse=True)
        )
        order = [place for place, _ in scores(first, "words")]
        assert len(order) == 9
        assert order == [place for place, _ in scores(other, "words")]


class TestKilled:
    def test_nothing_of_it_is_there_and_it_is_done_again(self, organisation: Organisation):
        organisation.commit("ada", "red")
        fleet = organisation.fleet()
        index_fleet(fleet)
        organisation.commit("ada", "blue")
        organisation.commit("bob", "white")
        killed = """
folder.call_writer = lambda action, *a: os._exit(9) if action.__name__ == "commit" else action(*a)
"""
        assert subprocess.run(program(fleet, killed), check=False).returncode == 9
        assert found(fleet, "red")
        assert not found(fleet, "blue white")
        assert index_fleet(fleet) == FleetIndexed(2, 0, 0, {})
        assert found(fleet, "blue")
        assert found(fleet, "white")
        assert not found(fleet, "red")

    @pytest.mark.parametrize(
        ("repositories", "commits"), [(5, 3), pytest.param(50, 20, marks=pytest.mark.slow)]
    )
    def test_a_storm_of_indexers_ends_as_one_made_from_nothing(
        self, organisation: Organisation, repositories: int, commits: int
    ):
        rng = random.Random(58)
        started = list[subprocess.Popen[bytes]]()
        fleet = organisation.fleet()
        command = program(fleet)
        for commit in range(commits):
            for number in range(repositories):
                lines = [" ".join(rng.sample(WORDS, 4)) for _ in range(rng.randrange(1, 5))]
                path = f"memory/n{rng.randrange(3)}.md"
                texts: Memory = {path: "".join(f"- {line}\n" for line in lines)}
                organisation.commit(f"r{number}", {"MEMORY.md": facts(str(commit)), **texts})
            started += (subprocess.Popen(command) for _ in range(4 if repositories > 5 else 2))
            for process in started[-4:]:
                if rng.random() < 0.3:
                    process.kill()
        for process in started:
            process.wait()
        index_fleet(fleet)
        anew = organisation.fleet("anew")
        index_fleet(anew)
        assert fleet.engine.held() == anew.engine.held()
        for word in WORDS:
            assert set(found(fleet, word, limit=500)) == set(found(anew, word, limit=500))
        assert fleet.engine.totals(None) == anew.engine.totals(None)

    def test_a_full_disk_leaves_what_was_there(self, organisation: Organisation):
        organisation.commit("ada", "red")
        fleet = organisation.fleet()
        index_fleet(fleet)
        organisation.commit("ada", facts_of(*(f"blue {number}" for number in range(2000))))
        full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))\n"
        done = subprocess.run(program(fleet, full), capture_output=True, text=True, check=False)
        assert "FleetProblem: the index could not be written" in done.stderr
        assert found(fleet, "red")
        index_fleet(fleet)
        assert found(fleet, "blue 7")

    def test_a_damaged_folder_is_told(self, organisation: Organisation):
        organisation.commit("ada", "red")
        fleet = organisation.fleet()
        index_fleet(fleet)
        for file in (Path(fleet.settings.at) / "documents").glob("*.term"):
            file.write_bytes(b"")
        with pytest.raises(FleetProblem, match="could not be read") as raised:
            found(organisation.fleet(), "red")
        assert raised.value.code == "fleet-failed"
        shutil.rmtree(fleet.settings.at)
        index_fleet(fleet)
        assert found(fleet, "red")

    def test_another_one_at_work_is_waited_for(
        self, organisation: Organisation, monkeypatch: pytest.MonkeyPatch
    ):
        organisation.commit("ada", "red")
        fleet = organisation.fleet()
        index_fleet(fleet)
        organisation.commit("ada", "blue")
        monkeypatch.setattr(folders, "_LOCK_SECONDS", 0.05)
        with files.lock(Path(fleet.settings.at) / "lock", 1):
            assert found(fleet, "red")  # readers never wait
            with pytest.raises(FleetProblem, match="has been writing") as raised:
                index_fleet(fleet)
        assert raised.value.code == "fleet-busy"

    def test_one_that_another_brought_on_is_left_as_it_is(
        self, organisation: Organisation, monkeypatch: pytest.MonkeyPatch
    ):
        organisation.commit("ada", "red")
        fleet = organisation.fleet()
        index_fleet(fleet)
        organisation.commit("ada", "blue")
        put = fleet.engine.put

        def after_another(changes: Any) -> None:
            organisation.commit("ada", "white")
            index_fleet(organisation.fleet())
            put(changes)

        monkeypatch.setattr(fleet.engine, "put", after_another)
        index_fleet(fleet)
        assert found(fleet, "white")
        assert not found(fleet, "blue")


class TestRights:
    @pytest.fixture
    def two(self, organisation: Organisation) -> Organisation:
        rng = random.Random(7)
        for name in ("a1", "a2", "b1", "b2"):
            lines = [" ".join(rng.sample(WORDS, 3)) + f" {name}" for _ in range(12)]
            organisation.commit(name, {"MEMORY.md": facts(*lines)})
        return organisation

    def test_nothing_else_is_found_and_scores_are_those_of_ones_own(self, two: Organisation):
        mine = two.fleet(readers=two.readers("a1", "a2"))
        index_fleet(mine)
        alone = two.fleet("alone")
        index_fleet(alone, [two.address("a1"), two.address("a2")])
        rng = random.Random(3)
        for _ in range(40):
            words = " ".join(rng.sample(WORDS, 2))
            ours, theirs = dict(scores(mine, words)), dict(scores(alone, words))
            assert ours.keys() == theirs.keys()
            assert all(place.startswith("a") for place in ours)
            assert all(ours[each] == pytest.approx(theirs[each], rel=0.02) for each in ours)

    def test_what_others_write_counts_for_nothing(self, two: Organisation):
        mine = two.fleet(readers=two.readers("a1", "a2"))
        index_fleet(mine)
        terms, readable = [("text", "tea"), ("text", "zither")], mine.readable()
        before, counts = scores(mine, "tea garden"), mine.engine.counts(terms, readable)
        rng = random.Random(9)
        for number in range(20):
            lines = [" ".join((*rng.sample(WORDS, 3), "zither")) for _ in range(12)]
            two.commit(f"b{number}", {"MEMORY.md": facts(*lines)})
        index_fleet(mine)
        assert mine.engine.counts(terms, readable) == counts
        assert counts["text", "zither"] == 0
        assert dict(scores(mine, "tea garden")) == pytest.approx(dict(before), rel=0.02)
        assert not found(mine, "zither")
        assert not found(mine, "zither", "b1")

    def test_a_beginning_names_no_word_of_others(self, two: Organisation):
        mine = two.fleet(readers=two.readers("a1"))
        two.commit("b1", {"MEMORY.md": facts("zithers")})
        index_fleet(mine)
        assert mine.engine.beginning("zith", mine.readable()) == []
        assert mine.engine.beginning("zith", None) != []

    def test_nobody_without_repositories_finds_anything(self, two: Organisation):
        fleet = two.fleet(readers=("true",))
        index_fleet(fleet)
        assert fleet.readable() == ()
        assert found(fleet, "tea") == []

    @pytest.mark.parametrize(
        "command",
        [
            ("false",),
            ("sh", "-c", "echo /; exit 3"),
            ("/nowhere/readers",),
            ("sh", "-c", "sleep 9"),
            ("sh", "-c", "yes"),
        ],
    )
    def test_readers_that_fail_or_are_late_refuse(
        self, two: Organisation, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("mdmem.fleet.settings._COMMAND_SECONDS", 0.3)
        fleet = two.fleet(readers=command)
        index_fleet(fleet)
        with pytest.raises(FleetProblem) as raised:
            found(fleet, "tea")
        assert raised.value.code == "fleet-readers"

    def test_their_answer_holds_as_long_as_the_settings_say(
        self, two: Organisation, monkeypatch: pytest.MonkeyPatch
    ):
        fleet, now = two.fleet(readers=two.readers("a1")), [100.0]
        monkeypatch.setattr("mdmem.fleet.settings.time.monotonic", lambda: now[0])
        first = fleet.readable()
        two.readers("a2")
        assert fleet.readable() == first
        now[0] += 61
        assert fleet.readable() == (two.address("a2"),)
        two.readers()
        now[0] += 61
        assert fleet.readable() == ()

    def test_the_asker_is_who_the_system_says(self, two: Organisation):
        fleet = two.fleet(readers=("sh", "-c", 'echo "$0"'))
        index_fleet(fleet)
        own = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout
        assert fleet.readable() == (own.strip(),)
        assert fleet.readable("zoe") == ("zoe",)
        Path(fleet.settings.at).chmod(0o755)
        with pytest.raises(FleetProblem, match="own account"):
            fleet.readable("zoe")

    def test_an_owner_speaks_for_nobody_else(self, two: Organisation):
        fleet = two.fleet()
        index_fleet(fleet)
        assert fleet.readable() is None
        with pytest.raises(FleetProblem, match="says nothing of others"):
            fleet.readable("zoe")

    def test_an_account_without_a_name_is_refused(
        self, two: Organisation, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
        fleet = two.fleet(readers=("true",))
        with pytest.raises(FleetProblem, match="no name"):
            fleet.readable()

    def test_a_folder_that_others_open_is_nobodys_own(self, two: Organisation):
        fleet = two.fleet()
        index_fleet(fleet)
        assert Path(fleet.settings.at).stat().st_mode & 0o777 == 0o700
        Path(fleet.settings.at).chmod(0o755)
        with pytest.raises(FleetProblem, match="nobody else can open"):
            found(fleet, "tea")

    def test_hostile_names_and_words_are_only_text(self, two: Organisation):
        rng = random.Random(1000)
        pieces = ["'", '"', "\\", "{x:String}", "\0", "\n", *"-;%*[]~:()", " OR ", "1=1", "\u202e"]
        pieces += ["é", "a1", "tea", "repo:", "\ud800"]
        fleet = two.fleet()
        index_fleet(fleet)
        for _ in range(1000):
            words = "".join(rng.choices(pieces, k=6))
            hostile = ("".join(rng.choices(pieces[:-1], k=5)), two.address("a1"))
            word = words.encode("utf-8", "replace").decode()
            counted = fleet.engine.counts([("text", word)], tuple(sorted(hostile)))
            assert counted["text", word] == 0
            if words.strip():
                result = search_fleet(
                    fleet, Search(query=words), "".join(rng.choices(pieces[:9], k=3))
                )
                assert result.hits == ()


class TestPurge:
    def test_a_word_leaves_the_disk(self, organisation: Organisation, world: World):
        root = organisation.commit("ada", facts_of("the xylophonist paid in gold", "red"))
        fleet = organisation.fleet()
        index_fleet(fleet)
        reader = organisation.fleet()
        assert found(reader, "xylophonist")
        (root / "MEMORY.md").write_text(facts("red"))
        world.git(root, "add", "-A")
        world.git(root, "commit", "-q", "--amend", "-m", "purged")
        before = fleet.engine._now()
        index_fleet(fleet)
        assert not found(fleet, "xylophonist")
        state, kept = scores(fleet, "red"), fleet.engine.totals(None)
        fleet.engine.purge()
        assert before.searcher.num_docs == 3  # what a reader has open stays readable
        assert fleet.engine.held() == reader.engine.held()
        assert scores(fleet, "red") == state
        assert fleet.engine.totals(None) == kept
        decoded = files_of_engine(Path(fleet.settings.at))
        assert decoded
        assert b"xylophonist" not in decoded
        assert not any("xylophon" in row for row in rows_of(fleet))

    def test_one_that_is_killed_leaves_the_index_as_it_was(self, organisation: Organisation):
        organisation.commit("ada", "red")
        fleet = organisation.fleet()
        index_fleet(fleet)
        killed = "folder.files.exchange_folders = lambda *_: os._exit(9)\nfleet.engine.purge()\n"
        assert subprocess.run(program(fleet, killed), check=False).returncode == 9
        assert found(fleet, "red")
        fleet.engine.purge()
        assert found(fleet, "red")
        assert sorted(path.name for path in Path(fleet.settings.at).iterdir()) == [
            "documents",
            "lock",
        ]


def facts_of(*texts: str) -> Memory:
    return {"MEMORY.md": facts(*texts)}


def files_of_engine(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def rows_of(fleet: Fleet) -> list[str]:
    """Every row of the engine, decoded."""
    state = fleet.engine._now()
    every = folders._addresses(state.searcher, folders.Query.all_query())
    return [bytes(state.searcher.doc(address)["row"][0]).decode() for address in every]


class TestAsking:
    def test_filters_are_those_of_a_search(self, organisation: Organisation):
        organisation.commit(
            "ada",
            {
                "MEMORY.md": "## House\n\n- the lamp is red #home\n\n## Work\n\n- a lamp at work\n",
                "memory/2026-03-05.md": "## 09:00\n\n- decision: buy a lamp\n",
                "memory/2026-01-02.md": "## 09:00\n\n- the lamp was dark\n",
            },
        )
        fleet = organisation.fleet()
        index_fleet(fleet)
        assert len(found(fleet, "lamp")) == 4
        for asked, text in {
            ("section", "House"): "the lamp is red",
            ("tags", ("home",)): "the lamp is red",
            ("file", "memory/2026-01-02.md"): "the lamp was dark",
            ("until", "2026-02-01"): "the lamp was dark",
        }.items():
            hits = found(fleet, "lamp", **dict([asked]))
            assert any(text in hit for hit in hits), asked
            assert len(hits) < 4

    def test_phrases_and_what_is_left_out(self, organisation: Organisation):
        organisation.commit("ada", facts_of("green tea in the morning", "tea that is green"))
        fleet = organisation.fleet()
        index_fleet(fleet)
        assert found(fleet, '"green tea"') == ["ada:MEMORY.md:5 green tea in the morning"]
        assert found(fleet, "tea -morning") == ["ada:MEMORY.md:6 tea that is green"]

    @pytest.mark.parametrize(
        "asked",
        [
            {"history": True},
            {"source": "inferred"},
            {"actor": "a"},
            {"as_of": "2026-01-01"},
            {"explain": True},
        ],
    )
    def test_what_rows_do_not_know_is_refused(
        self, organisation: Organisation, asked: dict[str, Any]
    ):
        organisation.commit("ada", "red")
        fleet = organisation.fleet()
        index_fleet(fleet)
        with pytest.raises(UsageProblem, match="asked of a repository itself"):
            found(fleet, "red", **asked)

    def test_a_glob_chooses_repositories(self, organisation: Organisation):
        for name in ("ops-a", "ops-b", "web"):
            organisation.commit(name, f"tea of {name}")
        fleet = organisation.fleet()
        index_fleet(fleet)
        assert {hit.partition(":")[0] for hit in found(fleet, "tea", "ops-*")} == {"ops-a", "ops-b"}
        assert found(fleet, "tea", "none") == []

    def test_a_fact_of_many_is_found_once(self, organisation: Organisation):
        for name in ("a", "b", "c"):
            log = {"memory/2026-03-05.md": "## 09:00\n\n- the lamp in the hall was broken again\n"}
            organisation.commit(name, {"MEMORY.md": facts("the hall has a lamp"), **log})
        fleet = organisation.fleet()
        index_fleet(fleet)
        assert [hit.partition(" ")[2] for hit in found(fleet, "hall lamp")] == [
            "the hall has a lamp",
            "the lamp in the hall was broken again",
        ]

    def test_names_that_two_have_are_whole(self, organisation: Organisation):
        organisation.commit("one/notes", "one tea")
        organisation.commit("two/notes", "two teas")
        fleet = organisation.fleet(repositories=f"{organisation.folder}/git/*/*")
        index_fleet(fleet)
        assert {hit.partition(":")[0] for hit in found(fleet, "tea")} == {
            organisation.address("one/notes"),
            organisation.address("two/notes"),
        }


class TestSettings:
    def test_addresses_are_told_from_folders(self):
        for address in (
            "https://example.org/a.git",
            "file:///srv/a",
            "ssh://git@host/a",
            "git@example.org:team/a.git",
            "host:a",
        ):
            assert is_remote(address)
        for folder in ("/srv/git/a", "/srv/a:b", "../a", "a.git"):
            assert not is_remote(folder)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('at = "relative"', "at must be"),
            ('at = "http://example.org/x"', "at must be"),
            ('at = "ftp://example.org/x"', "at must be"),
            ("at = 3", "at must be"),
            ('at = "https://me:secret@example.org/x"', "without a password"),
            ("repositories = 3", "repositories must be"),
            ("repositories = []", "repositories must be"),
            ('readers = "all"', "readers must be"),
            ("readers = [3]", "readers must be"),
            ('cached = "a while"', "cached must be"),
            ('reader = "owner"', "unknown setting 'reader'"),
            ("= 3", "fleet.toml"),
        ],
    )
    def test_wrong_ones_are_named(self, tmp_path: Path, line: str, message: str):
        values = {"at": '"/srv/f"', "repositories": '"/srv/*"', "readers": '"owner"'}
        values.pop(line.partition(" ")[0], None)
        file = tmp_path / "fleet.toml"
        file.write_text("\n".join([line, *(f"{name} = {value}" for name, value in values.items())]))
        with pytest.raises(WorkspaceProblem, match=message) as raised:
            open_fleet({}, file)
        assert raised.value.code == "bad-settings"
        assert "secret" not in str(raised.value)

    def test_readers_have_no_default(self, tmp_path: Path):
        file = tmp_path / "fleet.toml"
        file.write_text('at = "/srv/f"\nrepositories = "/srv/*"\n')
        with pytest.raises(WorkspaceProblem, match="readers must be"):
            open_fleet({}, file)

    def test_none_is_told(self, tmp_path: Path):
        with pytest.raises(FleetProblem) as raised:
            open_fleet({"HOME": str(tmp_path)})
        assert raised.value.code == "no-fleet"

    def test_a_folder_of_others_is_not_taken(self, organisation: Organisation):
        organisation.commit("ada", "red")
        (organisation.folder / "full").mkdir()
        (organisation.folder / "full" / "thesis.txt").write_text("mine")
        with pytest.raises(WorkspaceProblem, match="is not empty"):
            index_fleet(organisation.fleet("full"))

    def test_repositories_come_from_a_command(self, organisation: Organisation):
        organisation.commit("ada", "red")
        organisation.commit("bob", "red")
        address = organisation.address("ada")
        fleet = organisation.fleet(repositories=("sh", "-c", f"echo '{address}'"))
        assert index_fleet(fleet).indexed == 1
        broken = organisation.fleet(repositories=("false",))
        with pytest.raises(FleetProblem) as raised:
            index_fleet(broken)
        assert raised.value.code == "fleet-failed"

    def test_the_password_reaches_no_command(self, organisation: Organisation):
        command = ("sh", "-c", 'echo "[$MDMEM_FLEET_PASSWORD]"')
        settings = organisation.fleet().settings
        fleet = Fleet(
            FleetSettings(settings.file, settings.at, command, "owner", 60.0),
            {**os.environ, "MDMEM_FLEET_PASSWORD": "sesame"},
        )
        assert fleet.listed() == ["[]"]


class TestDoors:
    @pytest.fixture
    def named(self, world: World, organisation: Organisation) -> None:
        """The user's settings name the fleet."""
        settings = world.home / ".config" / "mdmem" / "fleet.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(
            f'at = "{organisation.folder}/fleet"\n'
            f'repositories = "{organisation.folder}/git/*"\nreaders = "owner"\n'
        )

    def test_by_command(self, named: None, shell: Shell, organisation: Organisation):
        for number in range(20):
            organisation.commit(f"r{number}", f"the lamp of room {number}")
        assert shell.run("fleet", "index", "--json").answer["indexed"] == 20
        assert "r7:MEMORY.md:5" in shell.run("fleet", "search", "lamp", "room", "7", "-n", "3").out
        assert shell.run("fleet").out.startswith("20 repositories, 20 rows, ")
        organisation.commit("r7", "changed")
        assert f"behind   {organisation.address('r7')}" in shell.run("fleet").out
        assert shell.run("fleet", "purge").out == "what no commit names is gone from the fleet\n"

    def test_beside_ones_own(self, named: None, shell: Shell, organisation: Organisation):
        root = str(organisation.commit("mine", "the lamp is red"))
        organisation.commit("other", "the lamp is blue")
        shell.run("fleet", "index")
        answer = shell.run("-C", root, "search", "lamp", "--fleet")
        assert answer.out.count("the lamp is red") == 1
        assert "other:MEMORY.md:5" in answer.out
        assert "of the fleet, and so of others: the last 1 hit" in answer.err
        assert "other:" not in shell.run("-C", root, "search", "lamp").out

    def test_own_hits_come_without_a_fleet(self, shell: Shell, organisation: Organisation):
        root = str(organisation.commit("mine", "the lamp is red"))
        answer = shell.run("-C", root, "search", "lamp", "--fleet")
        assert "the lamp is red" in answer.out
        assert "the fleet is missing: no " in answer.err

    def test_by_a_tool(self, named: None, organisation: Organisation, shell: Shell):
        organisation.commit("other", "the lamp is blue")
        shell.run("fleet", "index")
        tool = tools.offered(read_only=True, has_fleet=True)["memory_search"]
        values = arguments.check_arguments(tool, {"query": "lamp", "scope": "fleet"})
        with closing(memory.Memory.open(shell.folder, os.environ)) as own:
            answer = calls.answer(own, calls.ToolCall("memory_search", values, "agent", None))
        assert "- other:MEMORY.md:5 the lamp is blue" in answer
        assert "of the fleet, and so of others: the last 1 hit" in answer
        assert "scope" not in tools.offered(read_only=True)["memory_search"].arguments

    def test_by_the_page(self, named: None, organisation: Organisation, shell: Shell):
        organisation.commit("other", "the lamp is blue")
        shell.run("fleet", "index")
        with closing(memory.Memory.open(shell.folder, os.environ)) as own:
            page = words(read(own, "/search?q=lamp&fleet=1"))
            assert "the lamp is blue" in page
            assert "from other" in page
            assert "the lamp is blue" not in words(read(own, "/search?q=lamp"))
