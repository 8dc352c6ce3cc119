"""Landing a commit: its files put in place by exchange, what is saved meanwhile, and kills."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commandline import MadeOnce
from conftest import World
from workspaces import Desk, desk

from mdmem.changes import pending, placing
from mdmem.folder import files
from mdmem.merge import setup
from mdmem.model.errors import MdmemError
from mdmem.model.writes import Log
from mdmem.repo import commits
from mdmem.sync import landing

BASE = "# Memory\n\n## Facts\n\n- likes tea\n"
THEIRS = "# Memory\n\n## Facts\n\n- likes tea\n- drives a Volvo\n"
MINE = "# Memory\n\n## Facts\n\n- likes tea\n\n## Home\n\n- lives in Oslo\n"
NAMES = ("MEMORY.md", "memory/gone.md", "memory/new/x.md", "memory/pond.md")


@pytest.fixture
def at(world: World, repository: Path, made_once: MadeOnce) -> Desk:
    """A workspace at `main`, with a commit to land at `theirs`."""
    at = Desk(world, repository)
    made_once("a commit to land", lambda: begin(at))
    return at


def begin(at: Desk) -> None:
    desk(at.world, at.root)
    at.write("MEMORY.md", BASE)
    at.write("AGENTS.md", "Be brief.\n")
    at.write("memory/gone.md", "- old\n")
    at.write("memory/pond.md", "- a carp\n")
    at.commit("base")
    setup.install(at.workspace, sys.executable)
    at.git("checkout", "-q", "-b", "theirs")
    at.write("MEMORY.md", THEIRS)
    at.write("memory/pond.md", "- a carp\n- a tench\n")
    at.write("memory/new/x.md", "- new\n")
    at.git("rm", "-q", "memory/gone.md")
    at.commit("theirs\n\nMdmem-Op: save\nMdmem-Source: auto")
    at.git("checkout", "-q", "main")


def land(at: Desk, said: Callable[[str], None] = lambda _: None) -> bool:
    opened = at.workspace.repository
    tips = opened.commit_named("main"), opened.commit_named("theirs")
    assert tips[1]
    try:
        return landing.land(at.workspace, *tips, said)
    finally:
        placing.discard(at.workspace)


def state(at: Desk) -> dict[str, str | None]:
    paths = {name: at.root / name for name in NAMES}
    return {name: path.read_text() if path.exists() else None for name, path in paths.items()}


LANDED = {
    "MEMORY.md": THEIRS,
    "memory/gone.md": None,
    "memory/new/x.md": "- new\n",
    "memory/pond.md": "- a carp\n- a tench\n",
}


def assert_landed(at: Desk) -> None:
    assert state(at) == LANDED
    assert at.git("rev-parse", "main") == at.git("rev-parse", "theirs")
    assert at.git("status", "--porcelain") == ""
    assert_tidy(at)


def assert_tidy(at: Desk) -> None:
    assert not list(at.root.rglob(".mdmem-*"))
    assert not (at.root / ".git/mdmem/landing.json").exists()


def test_files_index_and_branch_are_those_of_the_commit(at: Desk):
    assert land(at)
    assert_landed(at)
    assert "mdmem sync: " in at.git("reflog", "-1", "main")


def test_what_is_prepared_is_used_at_the_next_try(at: Desk, monkeypatch: pytest.MonkeyPatch):
    killed(at, "prepare", 3, "after")
    at.apply(Log("it rained"))
    prepare, prepared = files.prepare, []
    monkeypatch.setattr(files, "prepare", lambda *each: (prepared.append(each), prepare(*each)))
    assert land(at)
    assert prepared == []
    assert state(at) == LANDED
    assert_tidy(at)


def test_what_was_displaced_is_removed_without_the_lock_and_also_after_a_kill(at: Desk):
    opened = at.workspace.repository
    before, after = opened.commit_named("main"), opened.commit_named("theirs")
    assert after
    assert landing.land(at.workspace, before, after, lambda _: None)
    kept = {path.read_text() for path in at.root.rglob(".mdmem-*.tmp")}
    assert kept == {BASE, "- a carp\n"}, "where names can be exchanged"
    at.apply(Log("it rained"))
    placing.discard(at.workspace)
    assert state(at) == LANDED
    assert at.git("status", "--porcelain") == ""
    assert_tidy(at)


def test_without_an_exchange_of_names(at: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "_renameat2", lambda: None)
    assert land(at)
    assert_landed(at)


def test_other_pending_and_staged_files_stay_as_they_are(at: Desk):
    at.write("notes.txt", "not for git\n")
    at.write("memory/other.md", "- staged\n")
    at.git("add", "memory/other.md")
    assert land(at)
    assert at.git("status", "--porcelain") == "A  memory/other.md\n?? notes.txt\n"
    assert state(at) == LANDED


def test_pending_edits_of_its_files_become_a_commit_of_their_own(at: Desk):
    at.write("MEMORY.md", MINE)
    assert not land(at), "HEAD has moved, so there is something to merge first"
    assert at.git("show", "--format=%an", "--name-only").split() == ["Ada", "Example", "MEMORY.md"]
    assert at.read("MEMORY.md") == MINE


@pytest.mark.parametrize("path", ["mdmem.toml", "app.py"])
def test_pending_edits_of_another_file_are_in_the_way(at: Desk, path: str):
    at.git("checkout", "-q", "theirs")
    at.write(path, 'timezone = "Europe/Oslo"\n')
    at.commit("other")
    at.git("checkout", "-q", "main")
    at.write(path, 'timezone = "Europe/Rome"\n')
    before = at.head(), at.git("status", "--porcelain")
    with pytest.raises(MdmemError) as problem:
        land(at)
    assert problem.value.code == "pending-edits"
    assert (at.head(), at.git("status", "--porcelain")) == before


def test_a_link_is_refused(at: Desk):
    at.git("checkout", "-q", "theirs")
    (at.root / "memory/pond.md").unlink()
    (at.root / "memory/pond.md").symlink_to("/etc/passwd")
    at.commit("link")
    at.git("checkout", "-q", "main")
    before = state(at)
    with pytest.raises(MdmemError, match=r"memory/pond.md is a link"):
        land(at)
    assert state(at) == before


@pytest.mark.parametrize("name", ["..", ".git", "GIT~1"])
def test_a_path_that_leads_elsewhere_is_refused(at: Desk, name: str):
    def tree(*rows: str) -> str:
        text = "".join(f"{row}\n" for row in rows)
        return at.world.git(at.root, "mktree", stdin=text).stdout.strip()

    blob = at.git("rev-parse", "HEAD:MEMORY.md").strip()
    inner = tree(f"100644 blob {blob}\tx.md")
    root = tree(f"040000 tree {inner}\t{name}")
    commit = at.git("commit-tree", "-p", "HEAD", "-m", "evil", root).strip()
    at.git("branch", "-f", "theirs", commit)
    with pytest.raises(MdmemError) as problem:
        land(at)
    assert problem.value.code == "bad-path"


def saving_at_the_last_moment(
    at: Desk, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None
) -> None:
    """Have somebody save (or remove) a file just before it is exchanged."""
    path, rename, saved = at.root / name, files._rename, []

    def save_and_rename(old: Path, new: Path, flags: int) -> bool:
        if path in (old, new) and not saved:
            saved.append(True)
            if text is None:
                path.unlink()
            else:
                path.with_name("swap").write_text(text)
                path.with_name("swap").rename(path)
        return rename(old, new, flags)

    monkeypatch.setattr(files, "_rename", save_and_rename)


@pytest.mark.parametrize(
    ("name", "saved", "stands"),
    [
        ("MEMORY.md", MINE, THEIRS + "\n## Home\n\n- lives in Oslo\n"),
        ("MEMORY.md", None, THEIRS),
        ("memory/gone.md", "- old\n- but dear\n", "- old\n- but dear\n"),
        ("memory/gone.md", None, None),
        ("memory/new/x.md", "- mine\n", "- mine\n- new\n"),
        ("memory/pond.md", "- a carp\n- a roach\n", "- a carp\n- a roach\n- a tench\n"),
    ],
)
def test_a_save_of_the_last_moment_is_merged_and_stays_pending(
    at: Desk, monkeypatch: pytest.MonkeyPatch, name: str, saved: str | None, stands: str | None
):
    saving_at_the_last_moment(at, monkeypatch, name, saved)
    assert land(at)
    assert state(at) == LANDED | {name: stands}
    assert at.git("rev-parse", "main") == at.git("rev-parse", "theirs")
    assert bool(at.git("status", "--porcelain")) == (stands != LANDED[name])
    assert_tidy(at)


def test_a_branch_that_moves_meanwhile_is_not_moved_and_the_files_are_as_before(
    at: Desk, monkeypatch: pytest.MonkeyPatch
):
    move_head = commits.move_head

    def commit_first(*arguments: object) -> bool:
        at.git("commit", "-q", "--allow-empty", "-m", "a person's", "--only")
        return move_head(*arguments)

    before = state(at)
    monkeypatch.setattr(commits, "move_head", commit_first)
    assert not land(at)
    assert state(at) == before
    assert at.git("log", "-1", "--format=%s") == "a person's\n"
    assert at.git("status", "--porcelain") == ""
    assert_tidy(at)


KILLED = """
import os, sys
from pathlib import Path
from mdmem.folder import files
from mdmem.repo import commits
from mdmem.sync import landing
from mdmem.workspace import open_at
point, number = sys.argv[1], int(sys.argv[2])
module, name = {
    "rename": (files, "_rename"), "sync": (files, "sync"), "ref": (commits, "move_head"),
    "index": (commits, "set_entries"), "prepare": (files, "prepare"),
}[point]
calls, call = [], getattr(module, name)
def killed(*arguments, **options):
    calls.append(1)
    if len(calls) == number and sys.argv[3] == "before":
        os._exit(9)
    answer = call(*arguments, **options)
    if len(calls) == number:
        os._exit(9)
    return answer
setattr(module, name, killed)
workspace = open_at(Path.cwd(), os.environ)
tips = [workspace.repository.commit_named(name) for name in ("main", "theirs")]
landing.land(workspace, *tips, print)
"""
POINTS = [
    *((point, number) for point in ("rename", "prepare") for number in (1, 2, 3)),
    ("rename", 4),
    *(("sync", number) for number in range(1, 9)),
    ("ref", 1),
    ("index", 1),
]


def killed(at: Desk, point: str, number: int, when: str) -> None:
    command = [sys.executable, "-c", KILLED, point, str(number), when]
    done = subprocess.run(command, cwd=at.root, env=os.environ, capture_output=True, check=False)
    assert done.returncode == 9, done.stderr.decode()


@pytest.mark.every(3)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("point", "number"), POINTS)
def test_the_next_write_finishes_what_a_kill_interrupted(
    at: Desk, point: str, number: int, when: str
):
    killed(at, point, number, when)
    was_begun = (at.root / ".git/mdmem/landing.json").exists()
    at.apply(Log("it rained"))
    if not was_begun and point != "index":
        assert state(at) == state_at(at, "main")
        assert land(at)
        assert_tidy(at)
        return
    assert state(at) == LANDED
    assert at.git("rev-parse", "main~1") == at.git("rev-parse", "theirs")
    assert at.git("status", "--porcelain") == ""
    assert_tidy(at)


def test_a_landing_that_version_0_3_left_is_finished(at: Desk):
    killed(at, "ref", 1, "before")
    path = at.root / ".git/mdmem/landing.json"
    *steps, (_, then) = json.loads(path.read_text())
    record = {"branch": then["branch"], "from": then["before"], "to": then["after"]}
    path.write_text(json.dumps(record | {"files": [fields for _, fields in steps]}))
    at.apply(Log("it rained"))
    assert state(at) == LANDED
    assert at.git("rev-parse", "main~1") == at.git("rev-parse", "theirs")
    assert_tidy(at)


def state_at(at: Desk, name: str) -> dict[str, str | None]:
    texts = {path: at.world.git(at.root, "show", f"{name}:{path}", check=False) for path in NAMES}
    return {path: each.stdout if each.returncode == 0 else None for path, each in texts.items()}


@pytest.mark.parametrize("name", ["MEMORY.md", "memory/pond.md", "memory/new/x.md"])
def test_what_a_person_saved_after_a_kill_is_merged(at: Desk, name: str):
    killed(at, "ref", 1, "before")
    text = {"MEMORY.md": MINE}.get(name, (at.root / name).read_text() + "- a roach\n")
    at.write(name, text)
    at.apply(Log("it rained"))
    line = "- lives in Oslo" if name == "MEMORY.md" else "- a roach"
    assert line in at.read(name)
    assert LANDED[name] is not None
    assert set(LANDED[name].splitlines()) <= set(at.read(name).splitlines())
    assert at.git("status", "--porcelain") == f" M {name}\n"


def test_another_branch_checked_out_after_a_kill_gets_none_of_it(at: Desk):
    before = state(at)
    killed(at, "ref", 1, "before")
    at.git("symbolic-ref", "HEAD", "refs/heads/side")
    at.git("update-ref", "HEAD", at.git("rev-parse", "main").strip())
    at.apply(Log("it rained"))
    assert state(at) == before
    assert at.git("status", "--porcelain") == ""
    assert_tidy(at)


def test_a_commit_by_hand_after_a_kill_keeps_what_had_landed(at: Desk):
    killed(at, "index", 1, "before")
    at.git("commit", "-q", "--allow-empty", "--only", "-m", "by hand")
    at.apply(Log("it rained"))
    assert state(at) == LANDED
    assert at.git("status", "--porcelain") == ""
    assert_tidy(at)


def test_an_old_text_saved_over_a_landing_is_merged_with_it(
    at: Desk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T10:00:00")
    assert land(at)
    at.write("MEMORY.md", MINE)
    notes: list[str] = []
    pending.save(at.workspace, None, notes.append)
    assert notes == ["MEMORY.md: kept 1 line pulled at 10:00 that your save would have removed"]
    assert {"- drives a Volvo", "- lives in Oslo"} <= set(at.read("MEMORY.md").splitlines())
    at.write("MEMORY.md", MINE)
    pending.save(at.workspace, None, notes.append)
    assert at.read("MEMORY.md") == MINE, "once more, and it is intended"
