"""Clones whose owners write on the same days, and meet by plain `git pull` and `git push`."""

import os
import signal
import subprocess
import sys
import time
from collections import ChainMap, Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from commandline import MadeOnce
from conftest import World
from pi_sessions import digest, write_session
from workspaces import Desk

from mdmem.memory import Memory
from mdmem.memory.adopting import initialise
from mdmem.model.reads import Initialise
from mdmem.model.searches import Search
from mdmem.model.writes import Action, EditSection, Forget, Log, Remember
from mdmem.text.document import parse
from mdmem.text.facts import items

SEED = "# Memory\n\n## Preferences\n\n- editor: Helix\n- shell: fish\n- drinks green tea\n\n## Work\n\n- employer: Stripe\n- city: Oslo\n"
WEEK = tuple(f"2026-03-{day:02}" for day in range(6, 13))


@dataclass(frozen=True)
class Pair:
    """Two clones of one repository, and the day that it is; git takes it from `dates`."""

    ada: Desk
    bo: Desk
    dates: dict[str, str]
    patch: pytest.MonkeyPatch

    def at(self, day: str, time: str) -> None:
        moment = f"{day}T{time}:00+00:00"
        self.patch.setenv("MDMEM_NOW", moment)
        self.dates.update(GIT_AUTHOR_DATE=moment, GIT_COMMITTER_DATE=moment)

    def meet(self) -> None:
        """Both have everything: one pulls and pushes, then the other, then the first again."""
        for desk in (self.ada, self.bo, self.ada):
            desk.git("pull", "-q", "--no-rebase", "--no-edit")
            desk.git("push", "-q")


@pytest.fixture
def pair(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_once: MadeOnce
) -> Pair:
    dates: dict[str, str] = {}
    world = World(world.home, ChainMap(dates, dict(world.environment)))
    ada, bo = (Desk(world, tmp_path / name) for name in ("ada", "bo"))
    made_once("two clones that merge", lambda: clone(ada, bo))
    for at in (ada, bo):
        at.git("remote", "set-url", "origin", tmp_path / "origin.git")
    return Pair(ada, bo, dates, monkeypatch)


def clone(*clones: Desk) -> None:
    folder = clones[0].root.parent
    clones[0].world.git(folder, "init", "-q", "--bare", "origin.git")
    for at in clones:
        at.world.git(folder, "clone", "-q", folder / "origin.git", at.root)
        at.git("config", "user.name", at.root.name)
        at.git("config", "user.email", f"{at.root.name}@example.org")
        if at is clones[0]:
            at.write("MEMORY.md", SEED)
            at.commit("seed")
            at.git("push", "-q", "origin", "HEAD")
        initialise(Initialise(str(at.root), hooks=False), os.environ)


def memory(at: Desk) -> Memory:
    return Memory.open(at.root, os.environ)


def texts(at: Desk, path: str) -> Counter[str]:
    return Counter(item.fact.text for item in items(parse(at.read(path))))


def texts_with(at: Desk, query: str, as_of: str | None = None) -> set[str]:
    return {
        hit.text
        for hit in memory(at).search(Search(query, limit=100, as_of=as_of)).hits
        if not hit.near
    }


def conflicting_keys(at: Desk) -> set[str | None]:
    return {conflict.key for conflict in memory(at).conflicts().conflicts}


def test_a_week_of_writing_on_both(pair: Pair):
    """No conflict; each write that was acknowledged stands on both; the keys that were given two
    values are told; each day is as it was.
    """
    acknowledged: dict[str, list[str]] = {}
    values = {"ada": ("Zed", "Bergen"), "bo": ("Emacs", "Trondheim")}
    for number, day in enumerate(WEEK):
        written: list[str] = []
        for turn, name in enumerate(("ada", "bo", "ada", "bo")):
            desk = getattr(pair, name)
            pair.at(day, f"09:{10 + (turn // 2) * 5}")  # the same minutes on both
            entry = f"logged by {name} number {2 * number + turn // 2}"
            memory(desk).apply(Log(entry))
            fact = f"remembered by {name} number {2 * number + turn // 2}"
            memory(desk).apply(Remember(fact, section="Work" if turn % 2 else "Preferences"))
            memory(desk).apply(
                Remember(f"{name} {number}", key=f"mood_{name}", section="Preferences")
            )
            written += [entry, fact]
        for name in ("ada", "bo"):
            desk = getattr(pair, name)
            if number == 2:
                memory(desk).apply(Remember(values[name][0], key="editor"))
            if number == 4:
                memory(desk).apply(Remember(values[name][1], key="city"))
        pair.at(day, "20:00")
        pair.meet()
        acknowledged[day] = written
    assert pair.ada.git("rev-parse", "HEAD") == pair.bo.git("rev-parse", "HEAD")
    so_far: set[str] = set()
    for day in WEEK:
        so_far |= set(acknowledged[day])
        for desk in (pair.ada, pair.bo):
            assert {
                text for text in texts_with(desk, "logged remembered", day) if " number " in text
            } == so_far
            moods = {f"mood_{name}: {name} {WEEK.index(day)}" for name in ("ada", "bo")}
            assert {
                text
                for text in texts_with(desk, "mood_ada mood_bo", day)
                if text.startswith("mood_")
            } == moods
    editors = {
        day: {text for text in texts_with(pair.bo, "editor", day) if text.startswith("editor:")}
        for day in WEEK
    }
    assert (
        list(editors.values()) == [{"editor: Helix"}] * 2 + [{"editor: Zed", "editor: Emacs"}] * 5
    )
    for desk in (pair.ada, pair.bo):
        assert conflicting_keys(desk) == {"editor", "city"}
        for day in WEEK:
            assert set(texts(desk, f"memory/{day}.md").values()) == {1}
            assert desk.read(f"memory/{day}.md").count("## 09:10\n") == 1
        assert set(texts(desk, "MEMORY.md").values()) == {1}
        assert desk.git("status", "--short") == ""
    assert "CONFLICT" not in pair.ada.git("log", "--format=%B")


def test_what_one_takes_out_the_other_does_not_bring_back(pair: Pair):
    memory(pair.ada).apply(Forget("drinks green tea"))
    memory(pair.bo).apply(Remember("Zed", key="editor"))
    pair.meet()
    for desk in (pair.ada, pair.bo):
        assert texts_with(desk, "tea editor") == {"editor: Zed"}


def test_the_same_words_said_on_both_stand_once(pair: Pair):
    pair.at(WEEK[0], "10:00")
    for desk in (pair.ada, pair.bo):
        memory(desk).apply(Log("the heating was mended"))
        memory(desk).apply(Remember("Zed", key="editor"))
        memory(desk).apply(Remember("walks to work"))
    pair.meet()
    assert texts(pair.ada, f"memory/{WEEK[0]}.md") == {"the heating was mended": 1}
    assert texts(pair.bo, "MEMORY.md")["walks to work"] == 1
    assert conflicting_keys(pair.ada) == set()


def test_a_clone_without_mdmem_merges_as_git_does(pair: Pair, tmp_path: Path):
    plain = Desk(pair.ada.world, tmp_path / "plain")
    pair.ada.git("clone", "-q", tmp_path / "origin.git", plain.root)
    initialise(
        Initialise(str(pair.ada.root), hooks=False, shared=True), os.environ
    )  # attributes without a driver: git merges by lines
    pair.ada.git("push", "-q")
    for name in ("name", "email"):
        plain.git("config", f"user.{name}", "cy@example.org")
    plain.git("pull", "-q")
    plain.write("MEMORY.md", plain.read("MEMORY.md").replace("editor: Helix", "editor: Zed"))
    plain.commit("by hand")
    memory(pair.ada).apply(Remember("Emacs", key="editor"))
    pair.ada.git("push", "-q")
    plain.git("pull", "-q", "--no-rebase", "--no-edit", check=False)
    assert plain.read("MEMORY.md").count("<<<<<<<") == 1
    assert plain.git("status", "--short") == "UU MEMORY.md\n"


@pytest.mark.parametrize(
    "driver", ["/gone/python -P -m mdmem merge-driver %O %A %B %P", "kill -9 $$ %O %A %B %P"]
)
def test_a_driver_that_is_gone_or_dies_loses_nothing(pair: Pair, driver: str):
    pair.at(WEEK[0], "10:00")
    for name in ("ada", "bo"):
        memory(getattr(pair, name)).apply(Log(f"said by {name}"))
    pair.ada.git("push", "-q")
    pair.bo.git("config", "merge.mdmem.driver", driver)
    before = pair.bo.read(f"memory/{WEEK[0]}.md")
    pair.bo.git("pull", "-q", "--no-rebase", "--no-edit", check=False)
    pair.bo.git("merge", "--abort", check=False)
    assert pair.bo.read(f"memory/{WEEK[0]}.md") == before
    initialise(Initialise(str(pair.bo.root), hooks=False), os.environ)
    pair.bo.git("pull", "-q", "--no-rebase", "--no-edit")
    assert texts(pair.bo, f"memory/{WEEK[0]}.md") == {"said by ada": 1, "said by bo": 1}


@pytest.mark.parametrize("milliseconds", [0, 5, 15, 30, 45, 60, 80])
def test_a_driver_that_is_killed_leaves_ours_or_the_merge(
    tmp_path: Path, world: World, milliseconds: int
):
    versions = ["- a\n", "- a\n- ours\n", "- a\n- theirs\n"]
    for name, text in zip("OAB", versions, strict=True):
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-P", "-m", "mdmem", "merge-driver", "O", "A", "B", "MEMORY.md"]
    with subprocess.Popen(command, cwd=tmp_path, env=dict(world.environment)) as process:
        time.sleep(milliseconds / 1000)  # when it dies does not matter
        process.send_signal(signal.SIGKILL)
    assert (tmp_path / "A").read_text() in (versions[1], "- a\n- ours\n- theirs\n")


def test_a_file_that_one_renames_takes_the_others_lines_along(pair: Pair):
    pair.ada.write("memory/boat.md", "# Boat\n\n- berth: 14\n- hull: steel\n- has two masts\n")
    pair.ada.commit("boat")
    pair.meet()
    pair.ada.git("mv", "memory/boat.md", "memory/ship.md")
    pair.ada.commit("a better name")
    memory(pair.ada).apply(Remember("15", file="memory/ship.md", key="berth"))
    memory(pair.bo).apply(
        EditSection("Boat", Action.APPEND, "- leaks a little", file="memory/boat.md")
    )
    pair.meet()
    assert (
        pair.bo.read("memory/ship.md")
        == "# Boat\n\n- berth: 15\n- hull: steel\n- has two masts\n- leaks a little\n"
    )
    assert not (pair.bo.root / "memory/boat.md").exists()


@pytest.mark.parametrize("rounds", [2])
def test_branches_that_are_merged_crosswise(pair: Pair, rounds: int):
    """Both merge before either pushes, so that the next merge has two bases."""
    pair.at(WEEK[0], "10:00")
    written: list[str] = []
    for number in range(rounds):
        tips = []
        for name in ("ada", "bo"):
            desk = getattr(pair, name)
            for text in (f"{name} writes {number}", f"{name} adds {number}"):
                memory(desk).apply(Log(text))
                written.append(text)
            tips.append(desk.git("rev-parse", "HEAD").strip())
        pair.ada.git("fetch", "-q", pair.bo.root, "HEAD")
        pair.bo.git("fetch", "-q", pair.ada.root, tips[0])
        for desk, tip in zip((pair.ada, pair.bo), reversed(tips), strict=True):
            desk.git("merge", "-q", "--no-edit", tip)
    pair.ada.git("fetch", "-q", pair.bo.root, "HEAD")
    assert len(pair.ada.git("merge-base", "--all", "HEAD", "FETCH_HEAD").split()) == 2
    pair.ada.git("merge", "-q", "--no-edit", "FETCH_HEAD")
    assert texts(pair.ada, f"memory/{WEEK[0]}.md") == dict.fromkeys(written, 1)
    assert pair.ada.read(f"memory/{WEEK[0]}.md").count("## 10:00") == 1


def test_both_digest_one_transcript(pair: Pair, tmp_path: Path):
    """One has read the beginning, the other all of it, and both wrote something else that day: each
    entry stands once.
    """
    sayings = (
        "We decided to keep the old pump.",
        "agent: Noted.",
        "I prefer calls before noon.",
        "We decided to sell the boat.",
    )
    pair.at(WEEK[0], "10:00")
    path = write_session(tmp_path, *sayings[:2])
    digest(pair.ada, path)
    memory(pair.ada).apply(Log("ada was there", day="2026-03-04"))
    path = write_session(tmp_path, *sayings)
    digest(pair.bo, path)
    memory(pair.bo).apply(Log("bo was there", day="2026-03-04"))
    pair.meet()
    written = [
        *(text for text in sayings if not text.startswith("agent: ")),
        "ada was there",
        "bo was there",
    ]
    for desk in (pair.ada, pair.bo):
        assert texts(desk, "memory/2026-03-04.md") == dict.fromkeys(written, 1)
        assert not digest(desk, path).entries


@pytest.mark.parametrize(
    "how", ["rebase", "cherry-pick", "stash pop", "revert", "linked work tree"]
)
def test_whatever_merges_in_git_asks_the_driver(pair: Pair, tmp_path: Path, how: str):
    """An entry each in one minute, which git by itself takes for a conflict."""
    at, log = pair.ada, f"memory/{WEEK[0]}.md"
    pair.at(WEEK[0], "10:00")
    memory(at).apply(Log("said first"))
    at.git("switch", "-qc", "side")
    memory(at).apply(Log("said on the side"))
    at.git("switch", "-q", "main")
    memory(at).apply(Log("said on main"))
    match how:
        case "rebase":
            at.git("rebase", "-q", "side")
        case "cherry-pick":
            at.git("cherry-pick", "side")
        case "stash pop":
            at.git("restore", "--source", "side", log)
            at.git("stash", "-q")
            at.write(log, at.read(log).replace("- said on the side\n", "") + "- said by hand\n")
            at.commit("by hand")
            at.git("stash", "pop", "-q")
            assert texts(at, log) == {"said first": 1, "said on the side": 1, "said by hand": 1}
            return
        case "revert":
            at.git("revert", "--no-edit", "HEAD")
            at.git("merge", "-q", "--no-edit", "side")
            assert texts(at, log) == {"said first": 1, "said on the side": 1}
            return
        case _:
            at.git("worktree", "add", "-q", tmp_path / "linked", "side")
            at = Desk(at.world, tmp_path / "linked")
            at.git("merge", "-q", "--no-edit", "main")
    assert texts(at, log) == {"said first": 1, "said on the side": 1, "said on main": 1}
    assert at.git("status", "--short") == ""


def test_attributes_of_ones_home_do_not_take_memory_away(pair: Pair, world: World):
    (world.home / "attributes").write_text("*.md merge=binary\n")
    world.git(pair.ada.root, "config", "--global", "core.attributesFile", world.home / "attributes")
    for desk, text in ((pair.ada, "Zed"), (pair.bo, "Emacs")):
        memory(desk).apply(Remember(text, key="editor"))
    pair.meet()
    assert conflicting_keys(pair.bo) == {"editor"}
