"""Syncs of whole repositories: all commits move, and a conflict outside memory is a person's."""

import os
from pathlib import Path

import pytest
from commandline import MadeOnce, Shell
from commandline import shell as shell
from test_syncing import LOG, Pair, fact, failure, name_remote, sync
from test_syncing import pair as pair
from workspaces import Desk

from mdmem.model.writes import Log

CODE = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def code(pair: Pair, made_once: MadeOnce) -> Pair:
    """Two clones of a memory with code beside it."""
    made_once("two clones with code", lambda: add_code(pair))
    name_remote(pair)
    return pair


def add_code(pair: Pair) -> None:
    pair.ada.write("app.py", CODE)
    pair.ada.write("bin/run", "#!/bin/sh\n").chmod(0o755)
    pair.ada.commit("app")
    assert sync(pair.ada, all_files=True).pushed == 1
    assert sync(pair.bo, all_files=True).pulled == 1


def change(at: Desk, path: str, text: str | bytes) -> str:
    at.write(path, text)
    return at.commit(f"change {path}")


def test_all_that_a_commit_changes_moves(code: Pair):
    assert code.bo.read("app.py") == CODE
    assert os.access(code.bo.root / "bin" / "run", os.X_OK)
    assert code.bo.git("status", "--porcelain") == ""


def test_both_sides_of_a_file_are_merged_by_git(code: Pair):
    change(code.ada, "app.py", CODE.replace("one", "1"))
    change(code.bo, "app.py", CODE.replace("five", "5"))
    for at, word in ((code.ada, "amber"), (code.bo, "basalt")):
        at.apply(Log(f"{word} was seen"))
    sync(code.ada, all_files=True)
    assert sync(code.bo, all_files=True).set_aside == ()
    assert code.text("app.py") == code.bo.read("app.py") == "1\ntwo\nthree\nfour\n5\n"
    assert {"amber", "basalt"} <= set(code.text(LOG).split())


@pytest.mark.parametrize(
    ("path", "ours", "theirs"),
    [
        ("app.py", CODE.replace("one", "1"), CODE.replace("one", "I")),
        ("picture.png", b"\x89PNG\0ours", b"\x89PNG\0theirs"),
        ("bin/run", None, "#!/bin/sh\nexit\n"),
        ("bin", "a file, no folder\n", None),
    ],
)
def test_a_conflict_outside_memory_changes_nothing(
    code: Pair, path: str, ours: str | bytes | None, theirs: str | bytes | None
):
    for at, text in ((code.ada, theirs), (code.bo, ours)):
        at.apply(fact(f"{at.root.name} is here"))
        if text is None:
            at.write("bin/other", "more\n") if path == "bin" else at.git("rm", "-q", path)
            at.commit("other")
            continue
        if path == "bin":
            at.git("rm", "-q", "-r", "bin")
        change(at, path, text)
    sync(code.ada, all_files=True)
    tip = code.tip()
    for _ in range(2):
        problem = failure(code.bo, all_files=True)
        assert problem.code == "sync-conflict"
        assert problem.message.startswith(f"both sides changed {path}")
        assert problem.hint == f"To resolve it by hand: git -C {code.bo.root} pull"
    assert code.tip() == tip
    assert not (code.bo.root / ".git" / "MERGE_HEAD").exists()


def test_a_conflict_in_memory_is_none(code: Pair):
    for at, word in ((code.ada, "terse"), (code.bo, "kind")):
        change(at, "AGENTS.md", f"Be {word}.\n")
    sync(code.ada, all_files=True)
    (aside,) = sync(code.bo, all_files=True).set_aside
    assert aside.path == "AGENTS.md"


def test_unsaved_code_stays_and_stops_it_where_it_changes(code: Pair):
    change(code.ada, "app.py", CODE.replace("one", "1"))
    change(code.ada, "new.py", "new\n")
    sync(code.ada, all_files=True)
    code.bo.write("bin/run", "#!/bin/sh\nexit 1\n")
    for path in ("app.py", "new.py"):
        code.bo.write(path, "half done\n")
        problem = failure(code.bo, all_files=True)
        assert (problem.code, code.bo.read(path)) == ("pending-edits", "half done\n")
        (code.bo.root / path).unlink()
        code.bo.git("checkout", "-q", "--", "app.py")
    sync(code.bo, all_files=True)
    assert code.bo.read("new.py") == "new\n"
    assert code.bo.git("status", "--porcelain") == " M bin/run\n"


def test_a_large_file_that_is_no_memory(code: Pair):
    for size in (6_000_000, 6_500_000):
        change(code.ada, "film.bin", os.urandom(1000) * (size // 1000))
        sync(code.ada, all_files=True)
        sync(code.bo, all_files=True)
        assert (code.bo.root / "film.bin").stat().st_size == size
    code.ada.git("rm", "-q", "film.bin")
    code.ada.commit("gone")
    sync(code.ada, all_files=True)
    sync(code.bo, all_files=True)
    assert code.bo.git("status", "--porcelain") == ""


def test_a_link_is_left_to_git(code: Pair):
    (code.ada.root / "link").symlink_to("app.py")
    code.ada.commit("link")
    sync(code.ada, all_files=True)
    problem = failure(code.bo, all_files=True)
    assert (problem.code, problem.hint) == (
        "bad-path",
        f"To take it: git -C {code.bo.root} pull",
    )


class TestWhoSaysSo:
    def test_an_agent_may_not(self, code: Pair, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("MDMEM_ACTOR", "agent/x")
        assert failure(code.ada, all_files=True).code == "not-allowed"

    def test_the_users_own_settings(self, code: Pair, monkeypatch: pytest.MonkeyPatch):
        change(code.ada, "app.py", "more\n")
        problem = failure(code.ada)
        assert problem.code == "sync-foreign"
        assert "sync_files" in problem.hint
        own = code.ada.world.home / ".config" / "mdmem" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text('sync_files = "all"\n')
        monkeypatch.setenv("MDMEM_ACTOR", "agent/x")
        assert sync(code.ada).pushed == 1

    def test_the_command(self, code: Pair, shell: Shell, tmp_path: Path):
        change(code.ada, "app.py", "more\n")
        words = ("-C", str(code.ada.root), "sync")
        done = shell.run(*words)
        assert done.status == 1
        assert "To sync the whole repository: mdmem sync --all (always: " in done.err
        assert shell.run(*words, "--all").out == "synced with origin: 0 pulled, 1 pushed\n"
