"""The doctor: each check in a real repository, sound and broken, and what `--fix` mends."""

import contextlib
import fcntl
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from conftest import World
from workspaces import Desk, append
from workspaces import desk as make_desk

from mdmem import doctor, events, files, hookfiles, trail, write_ahead
from mdmem.catchup import index
from mdmem.doctor import Finding, Level, exit_status
from mdmem.events import Event, Outcome
from mdmem.model import FilePath
from mdmem.wording import verb

TOKEN = "ghp_" + "Zq3vT8bN1xK6mW9cR4yF" + "7sJ2hD5gL0pA8uEi"
KEY = "AKIA" + "Q3ZT7NXKMW5CR2YF"
SOUND = {
    *("git", "settings", "identity", "repository", "locks", "fsck", "hooks", "state", "record", "temporary"),
    *("versions", "index", "files", "secrets", "history", "agents", "events"),
}
AN_HOUR, TWO_DAYS = 3600, 2 * 86_400


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only /proc tells who has a lock")


@pytest.fixture
def desk(world: World, repository: Path) -> Desk:
    """A workspace in which there is nothing to find. Its hooks step aside, as for a commit of mdmem's own."""
    desk = make_desk(World(world.home, {**world.environment, "MDMEM_COMMIT": "1"}), repository)
    hookfiles.install(desk.workspace.repository.hooks_dir, sys.executable)
    rebuild(desk, False)
    return desk


def rebuild(desk: Desk, full: bool) -> int:
    return index.rebuild_index(desk.workspace, full, lambda _: None).index.count


def examine(desk: Desk, fix: bool = False, history_seconds: float = doctor.HISTORY_SECONDS) -> tuple[Finding, ...]:
    workspace = desk.workspace
    return doctor.examine(workspace, partial(index.index_as_is, workspace), partial(rebuild, desk), fix, history_seconds)


def findings_of(desk: Desk, check: str, fix: bool = False) -> list[Finding]:
    """The findings of one check that are not `ok`."""
    workspace = desk.workspace
    inspection = doctor.Inspection(
        workspace=workspace,
        open_index=partial(index.index_as_is, workspace),
        rebuild_index=partial(rebuild, desk),
        fix=fix,
        history_seconds=doctor.HISTORY_SECONDS,
    )
    return [finding for finding in doctor.run_check(check, inspection) if finding.level is not Level.OK]


def only_finding(desk: Desk, check: str, fix: bool = False) -> Finding:
    (finding,) = findings_of(desk, check, fix)
    return finding


def make_old(path: Path, seconds: float) -> Path:
    time_stamp = time.time() - seconds
    os.utime(path, (time_stamp, time_stamp), follow_symlinks=False)
    return path


@pytest.mark.parametrize("fix", [False, True])
def test_a_sound_workspace(fix: bool, desk: Desk):
    before = desk.tree_state(), sorted(desk.state())
    findings = examine(desk, fix)
    assert [finding for finding in findings if finding.level is not Level.OK] == []
    assert {finding.check for finding in findings} == SOUND
    assert exit_status(findings) == 0
    assert (desk.tree_state(), sorted(desk.state())) == before


@pytest.mark.parametrize(
    ("level", "fixed", "status"),
    [(Level.ERROR, False, 1), (Level.ERROR, True, 0), (Level.WARNING, False, 0), (Level.NOTE, False, 0), (Level.OK, False, 0)],
)
def test_the_exit_status(level: Level, fixed: bool, status: int):
    assert exit_status([Finding(check="a", level=Level.OK, message=""), Finding(check="b", level=level, message="", fixed=fixed)]) == status


def test_a_check_that_cannot_be_made_hides_no_other(desk: Desk):
    (desk.workspace.state / events.OLDER_EVENTS_NAME).mkdir()
    findings = examine(desk)
    assert [finding.check for finding in findings if finding.level is Level.ERROR] == ["events"]
    assert {finding.check for finding in findings} == SOUND


# git and the repository.


def test_no_git(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    workspace = desk.workspace
    monkeypatch.setenv("PATH", str(desk.root))
    (finding,) = doctor.examine(workspace, partial(index.index_as_is, workspace), partial(rebuild, desk))
    assert (finding.check, finding.level, finding.hint) == ("git", Level.ERROR, "Install git.")


def test_a_git_that_is_too_old(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = subprocess.run(["sh", "-c", "command -v git"], capture_output=True, text=True, check=True).stdout.strip()
    (tmp_path / "bin").mkdir()
    shim = tmp_path / "bin" / "git"
    shim.write_text(f'#!/bin/sh\ncase "$*" in *--version) echo git version 2.35.9;; *) exec {real} "$@";; esac\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    finding = only_finding(desk, "git")
    assert finding.level is Level.WARNING
    assert "2.35.9" in finding.message


def test_settings(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    desk.write("mdmem.toml", 'extra_paths = ["notes", "memory"]\n')
    desk.write("memory/a.md", "# A\n")
    desk.commit()
    monkeypatch.setenv("MDMEM_NOW", "2026-03-05T10:00:00")
    missing, now = findings_of(desk, "settings")
    assert (missing.level, "notes" in missing.message) == (Level.WARNING, True)
    assert (now.level, "2026-03-05T10:00:00" in now.message) == (Level.NOTE, True)


@pytest.mark.parametrize("where", ["workspace", "user"])
def test_settings_that_have_become_unreadable(where: str, desk: Desk):
    workspace = desk.workspace
    user_settings = desk.world.home / ".config" / "mdmem" / "config.toml"
    user_settings.parent.mkdir(parents=True)
    (desk.root / "mdmem.toml" if where == "workspace" else user_settings).write_text("langage = 'en'\n")
    findings = doctor.examine(workspace, partial(index.index_as_is, workspace), lambda _: 0)
    (finding,) = (each for each in findings if each.check == "settings")
    assert (finding.level, finding.hint) == (Level.ERROR, "Did you mean language?")


def test_nobody_is_known(desk: Desk):
    desk.git("config", "--unset", "user.name")
    assert only_finding(desk, "identity").level is Level.ERROR
    desk.write("mdmem.toml", 'author = "Ada <ada@example.org>"\n')
    assert findings_of(desk, "identity") == []


REPOSITORY = {
    "a merge": (lambda desk: desk.write(".git/MERGE_HEAD", desk.git("rev-parse", "HEAD")), Level.WARNING, "a merge is under way"),
    "detached": (lambda desk: desk.git("checkout", "-q", "--detach"), Level.WARNING, "HEAD is detached"),
    "shallow": (lambda desk: desk.write(".git/shallow", desk.git("rev-parse", "HEAD")), Level.NOTE, "shallow"),
    "unborn": (lambda desk: desk.git("checkout", "-q", "--orphan", "new"), Level.NOTE, "no commit yet"),
}


@pytest.mark.parametrize("name", REPOSITORY)
def test_the_state_of_the_repository(name: str, desk: Desk):
    spoil, level, words = REPOSITORY[name]
    spoil(desk)
    finding = only_finding(desk, "repository")
    assert finding.level is level
    assert words in finding.message


@pytest.mark.parametrize(
    ("author", "committer", "words"),
    [("2099-01-01", "2099-01-01", "dated after today"), ("2026-05-01", "2026-04-01", "dated after they were committed")],
)
def test_dates_that_cannot_be_right(desk: Desk, author: str, committer: str, words: str):
    dates = {"GIT_AUTHOR_DATE": f"{author}T12:00:00", "GIT_COMMITTER_DATE": f"{committer}T12:00:00"}
    desk.world.git(desk.root, "commit", "-q", "--allow-empty", "-m", "of another time", environment=dates)
    finding = only_finding(desk, "repository")
    assert finding.level is Level.NOTE
    assert finding.message.startswith(desk.git("rev-parse", "--short", "HEAD").strip())
    assert words in finding.message


def test_a_detached_head_may_be_allowed(desk: Desk):
    desk.write("mdmem.toml", "allow_detached = true\n")
    desk.git("checkout", "-q", "--detach")
    assert findings_of(desk, "repository") == []


def test_an_empty_repository(world: World, repository: Path):
    desk = Desk(world, repository)
    desk.write("MEMORY.md", "# Memory\n")
    levels = {finding.check: finding.level for finding in examine(desk)}
    assert Level.ERROR not in levels.values()
    assert levels["history"] is Level.OK


def test_a_damaged_repository(desk: Desk):
    blob = desk.git("rev-parse", "HEAD:MEMORY.md").strip()
    (desk.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    finding = only_finding(desk, "fsck")
    assert finding.level is Level.ERROR
    assert blob in finding.message
    assert exit_status(examine(desk)) == 1


@needs_proc
@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock", "packed-refs.lock", "objects/maintenance.lock"])
def test_a_lock_of_a_git_that_is_gone(name: str, desk: Desk):
    lock = make_old(desk.write(f".git/{name}", ""), AN_HOUR)
    before = only_finding(desk, "locks")
    assert (before.level, before.fixed, name in before.message) == (Level.WARNING, False, True)
    assert lock.exists()
    after = only_finding(desk, "locks", fix=True)
    assert (after.fixed, lock.exists()) == (True, False)
    assert findings_of(desk, "locks") == []


def test_a_lock_in_use_stays(desk: Desk):
    lock = desk.write(".git/index.lock", "")
    with lock.open("rb"):
        make_old(lock, AN_HOUR)
        finding = only_finding(desk, "locks", fix=True)
    assert (finding.fixed, lock.exists(), "may be in use" in finding.message) == (False, True, True)
    assert "minutes old" in finding.message


def test_a_lock_that_git_has_just_taken_stays(desk: Desk):
    lock = make_old(desk.write(".git/index.lock", ""), -AN_HOUR)
    finding = only_finding(desk, "locks", fix=True)
    assert (finding.fixed, lock.exists(), "may be in use" in finding.message) == (False, True, True)


@pytest.fixture
def holder(desk: Desk) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds mdmem's lock."""
    code = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(desk.workspace.state / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process


@needs_proc
def test_a_lock_of_mdmem_in_use(desk: Desk, holder: subprocess.Popen[str]):
    finding = only_finding(desk, "locks")
    assert finding.level is Level.NOTE
    assert f"lock of mdmem is held by another process: {holder.pid}, which has run for" in finding.message


# Hooks.


def test_hooks_that_are_missing_or_outdated(desk: Desk):
    folder = desk.workspace.repository.hooks_dir
    (folder / "post-merge").unlink()
    (folder / "pre-commit").chmod(0o644)
    before = only_finding(desk, "hooks")
    assert (before.level, before.message) == (Level.WARNING, "pre-commit is outdated, post-merge is missing")
    assert only_finding(desk, "hooks", fix=True).fixed
    assert findings_of(desk, "hooks") == []


def test_a_hook_that_is_there_is_kept(desk: Desk):
    hookfiles.uninstall(desk.workspace.repository.hooks_dir)
    theirs = desk.hook("pre-commit", "exit 0").read_text()
    assert "pre-commit is foreign" in only_finding(desk, "hooks").message
    assert only_finding(desk, "hooks", fix=True).fixed
    assert (desk.workspace.repository.hooks_dir / "pre-commit.before-mdmem").read_text() == theirs


@pytest.mark.parametrize("how", ["core.hooksPath", "a manager"])
def test_hooks_that_another_manages_are_left_alone(how: str, desk: Desk, tmp_path: Path):
    hookfiles.uninstall(desk.workspace.repository.hooks_dir)
    if how == "core.hooksPath":
        desk.git("config", "core.hooksPath", str(tmp_path / "elsewhere"))
    else:
        desk.hook("pre-commit", "# File generated by pre-commit: https://pre-commit.com")
    before = desk.tree_state().files
    finding = only_finding(desk, "hooks", fix=True)
    assert (finding.level, finding.fixed) == (Level.WARNING, False)
    assert "hooks" in finding.hint
    assert desk.tree_state().files == before
    assert not (tmp_path / "elsewhere").exists()


# mdmem's own folder and files.


def test_no_state_folder_yet(world: World, repository: Path):
    desk = make_desk(world, repository)
    levels = {finding.check: finding.level for finding in examine(desk)}
    assert [levels[check] for check in ("state", "versions", "index", "events")] == [Level.NOTE, Level.NOTE, Level.NOTE, Level.OK]
    assert not desk.workspace.state.exists()


def test_a_state_folder_that_cannot_be_written(world: World, repository: Path):
    desk = make_desk(world, repository)
    desk.write(".git/mdmem", "in the way")
    assert only_finding(desk, "state").level is Level.ERROR
    assert exit_status(examine(desk, fix=True)) == 1


def record(desk: Desk, temporary: str = ".mdmem-0a.tmp") -> Path:
    write_ahead.save_record(
        desk.workspace.state,
        write_ahead.Record(path=FilePath("MEMORY.md"), before="0", after="1", message=TOKEN, date="@0 +0000", temporary=temporary),
    )
    return desk.workspace.state / "write-ahead.json"


def test_an_interrupted_write(desk: Desk):
    record_path = record(desk)
    for fix in (False, True):
        finding = only_finding(desk, "record", fix)
        assert (finding.level, finding.fixed) == (Level.WARNING, False)
        assert "MEMORY.md" in finding.message
        assert "next write" in finding.hint
    record_path.write_bytes(record_path.read_bytes()[:40])
    assert "not whole" in only_finding(desk, "record").message
    desk.apply(append())
    assert findings_of(desk, "record") == []


def test_an_interrupted_write_of_two_files_needs_what_lies_beside_both(desk: Desk):
    second = write_ahead.FileRecord(FilePath("memory/a.md"), "0", "1", TEMPORARY)
    first = write_ahead.Record(path=FilePath("MEMORY.md"), before="0", after="1", message="", date="@0 +0000", temporary="x", second=second)
    write_ahead.save_record(desk.workspace.state, first)
    temporary = make_old(desk.write(f"memory/{TEMPORARY}", "half"), TWO_DAYS)
    assert "MEMORY.md and memory/a.md" in only_finding(desk, "record").message
    assert not only_finding(desk, "temporary", fix=True).fixed
    assert temporary.exists()


def test_a_write_that_is_under_way(desk: Desk, holder: subprocess.Popen[str]):
    record(desk)
    assert only_finding(desk, "record").level is Level.NOTE


TEMPORARY = ".mdmem-0123456789abcdef.tmp"
BACK = files.backup_name(TEMPORARY)


@pytest.mark.parametrize(
    ("path", "age", "is_recorded", "removed"),
    [
        (TEMPORARY, TWO_DAYS, False, True),
        (f"memory/deep/{TEMPORARY}", TWO_DAYS, False, True),
        (TEMPORARY, AN_HOUR, False, False),
        (TEMPORARY, TWO_DAYS, True, False),
        (BACK, TWO_DAYS, False, True),
        (BACK, TWO_DAYS, True, False),
    ],
)
def test_a_temporary_file_left_behind(path: str, age: int, is_recorded: bool, removed: bool, desk: Desk):
    temporary = make_old(desk.write(path, "half"), age)
    if is_recorded:
        record(desk, TEMPORARY)
    assert path in only_finding(desk, "temporary").message
    assert temporary.exists()
    assert only_finding(desk, "temporary", fix=True).fixed is removed
    assert temporary.exists() is not removed


@pytest.mark.parametrize("path", [".mdmem-notes.tmp", "memory/x.tmp", "a.mdmem-0123456789abcdef.tmp"])
def test_a_file_that_is_not_mdmems_is_not_its_business(path: str, desk: Desk):
    file = make_old(desk.write(path, "mine"), TWO_DAYS)
    assert findings_of(desk, "temporary", fix=True) == []
    assert file.exists()


# The table of versions.


def break_table(path: Path) -> None:
    path.write_bytes(b"# Memory" * 1000)


def break_page(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * 4096 + data[8192:])


def break_value(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as table, table:
        table.execute("UPDATE occurrences SET section = x'ff'")


def break_revision(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as table, table:
        table.execute("UPDATE revisions SET head = 9")


def break_sort(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as table, table:
        table.execute("PRAGMA writable_schema = ON")
        table.execute(
            "UPDATE sqlite_schema SET sql = 'CREATE INDEX occurrences_fact ON occurrences (path)' WHERE name = 'occurrences_fact'"
        )


@pytest.mark.parametrize("spoil", [break_table, break_page, break_value, break_revision, break_sort])
def test_a_damaged_table_of_versions(spoil: Callable[[Path], None], desk: Desk):
    path = desk.workspace.state / trail.TRAIL_NAME
    spoil(path)
    before = only_finding(desk, "versions")
    assert (before.level, before.fixed, before.hint == f"{verb('doctor', 'fix')} discards it; it is rebuilt from the commits.") == (
        Level.WARNING,
        False,
        True,
    )
    assert path.exists()
    assert only_finding(desk, "versions", fix=True).fixed
    assert not path.exists()
    assert only_finding(desk, "versions").level is Level.NOTE
    rebuild(desk, True)
    assert findings_of(desk, "versions") == []


def test_a_table_of_versions_for_other_settings_is_whole(desk: Desk):
    desk.write("mdmem.toml", 'extra_paths = ["notes"]\n')
    assert findings_of(desk, "versions") == []


# The index.


def break_seen(folder: Path) -> None:
    (folder / "seen.json").write_text("{")


def break_version(folder: Path) -> None:
    seen = json.loads((folder / "seen.json").read_text())
    (folder / "seen.json").write_text(json.dumps(seen | {"version": -1}, separators=(",", ":")))


def break_documents(folder: Path) -> None:
    for path in folder.rglob("*.store"):
        path.write_bytes(bytes(200) + path.read_bytes()[200:])


def break_meta(folder: Path) -> None:
    (folder / "documents" / "meta.json").write_text("{}")


@pytest.mark.parametrize("spoil", [break_seen, break_version, break_documents, break_meta])
def test_a_broken_index(spoil, desk: Desk):
    spoil(desk.workspace.state / "index")
    assert (only_finding(desk, "index").level, only_finding(desk, "index").fixed) == (Level.WARNING, False)
    after = only_finding(desk, "index", fix=True)
    assert after.fixed
    assert "entries: 2" in after.message
    assert findings_of(desk, "index") == []


def test_an_index_that_is_behind(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mdmem.files.RACY_NS", 0)  # else a file that was just written is read once more
    desk.write("MEMORY.md", "# Memory\n\n- one\n- two\n- three\n")
    assert (only_finding(desk, "index").level, only_finding(desk, "index").fixed) == (Level.NOTE, False)
    assert "entries: 3" in only_finding(desk, "index", fix=True).message
    assert findings_of(desk, "index") == []


def test_an_index_in_many_pieces(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor.state, "_MANY_SEGMENTS", 0)
    assert "(1 segments)" in only_finding(desk, "index").message
    assert only_finding(desk, "index", fix=True).fixed


def test_what_the_index_says_of_itself(desk: Desk):
    (finding,) = (each for each in examine(desk) if each.check == "index")
    assert finding.message.startswith("entries: 2, segments: 1, size: ")


# Memory files.


def test_a_file_that_cannot_be_indexed(desk: Desk):
    desk.write("memory/odd.md", b"\xff\xfe")
    desk.commit()
    rebuild(desk, False)
    assert "memory/odd.md" in only_finding(desk, "index").message
    assert only_finding(desk, "files").hint == verb("check")


def test_doubtful_contents_are_counted(desk: Desk):
    desk.write("memory/twice.md", "# T\n\n## A\n\n## A\n\n- x\n- x\n")
    desk.commit()
    assert only_finding(desk, "files").message.endswith("hold: 2")


def test_both_curated_files(desk: Desk):
    desk.write("memory.md", "# Other\n")
    desk.commit()
    assert "both MEMORY.md and memory.md" in only_finding(desk, "files").message


def test_files_that_git_does_not_keep(desk: Desk):
    desk.write(".gitignore", "private.md\n")
    desk.commit()
    desk.write("memory/private.md", "- x\n")
    desk.write("memory/ne:w é.md", "- x\n")
    new, private = sorted(findings_of(desk, "files"), key=lambda finding: finding.message)
    assert (new.level, new.message) == (Level.NOTE, "memory/ne:w é.md is in no commit yet")
    assert (private.level, private.message) == (Level.WARNING, "memory/private.md is ignored by .gitignore")


def test_a_name_that_means_something_to_git(world: World, tmp_path: Path):
    """In a folder that is called memory every Markdown file is memory."""
    root = tmp_path / "memory"
    root.mkdir()
    world.git(root, "init", "-q")
    desk = Desk(world, root)
    for name in ("MEMORY.md", ":!a.md", "\\b.md"):
        desk.write(name, "- x\n")
    desk.write(".gitignore", ":!a.md\n")
    assert [finding.message.split(" is ")[:2] for finding in findings_of(desk, "files")] == [
        [":!a.md", "ignored by .gitignore"],
        ["MEMORY.md", "in no commit yet"],
        ["\\b.md", "in no commit yet"],
    ]


def test_links_among_memory_files(desk: Desk, tmp_path: Path):
    desk.write("memory/real.md", "- x\n")
    desk.write("README.md", "not memory")
    for link, target in {
        **{"memory/link.md": "real.md", "memory/folder": "..", "USER.md": "nowhere"},
        **{"other.md": "README.md", "memory/link.txt": "real.md"},
    }.items():
        (desk.root / link).symlink_to(target)
    desk.commit()
    assert {finding.message.split(" is a symbolic link")[0] for finding in findings_of(desk, "files")} == {
        "memory/link.md",
        "memory/folder",
        "USER.md",
    }


def test_a_repository_among_memory_files(desk: Desk):
    desk.write("memory/sub/n.md", "- n\n")
    desk.git("init", "-q", "memory/sub")
    assert only_finding(desk, "files").message == "memory/sub is a repository of its own: nothing in it is committed here"


def test_a_memory_folder_that_is_a_link(desk: Desk, tmp_path: Path):
    (desk.root / "memory").symlink_to(tmp_path)
    assert [finding.message.split()[0] for finding in findings_of(desk, "files")] == ["memory"]


@pytest.mark.parametrize("pair", [("memory/Ada.md", "memory/ada.md"), ("memory/caf\u00e9.md", "memory/cafe\u0301.md")])
def test_names_that_are_one_on_other_systems(pair: tuple[str, str], desk: Desk):
    for path in pair:
        desk.write(path, "- x\n")
    desk.commit()
    if len(list((desk.root / "memory").iterdir())) < 2:
        pytest.skip("this system has one file for the two names")
    assert all(path in only_finding(desk, "files").message for path in pair)


# Secrets.


def test_a_secret_in_a_file(desk: Desk):
    desk.write("memory/a.md", f"# A\n\n- the token is {TOKEN}\n")
    findings = examine(desk)
    (finding,) = (each for each in findings if each.check == "secrets")
    assert (finding.level, finding.message) == (Level.ERROR, "github-token in memory/a.md:3")
    assert exit_status(findings) == 1
    assert TOKEN not in str(findings)


def test_an_allowed_line(desk: Desk):
    desk.write("memory/a.md", f"- {TOKEN} <!-- mdmem: allow secret -->\n")
    desk.commit()
    assert findings_of(desk, "secrets") == findings_of(desk, "history") == []


def leak(desk: Desk, path: str, text: str, message: str = "by hand") -> str:
    """Commit a file, and then that it holds nothing; the first commit."""
    desk.write(path, text)
    commit = desk.commit(message)
    desk.write(path, "# Nothing\n")
    desk.commit()
    return commit[:10]


def test_a_secret_in_history(desk: Desk):
    commit = leak(desk, "memory/a.md", f"# A\n\n- x\n\n- {TOKEN}\n")
    findings = examine(desk)
    assert [each for each in findings if each.check == "secrets"] == [
        Finding(check="secrets", level=Level.OK, message="none in the memory files")
    ]
    (finding,) = (each for each in findings if each.check == "history")
    assert (finding.level, finding.message) == (Level.WARNING, f"github-token in commit {commit}, memory/a.md:5")
    assert TOKEN not in str(findings)


def test_a_secret_among_lines_that_take_the_place_of_others(desk: Desk):
    desk.write("memory/a.md", "# A\n\n- one\n- two\n- three\n\n## B\n\n- four")
    desk.commit()
    commit = leak(desk, "memory/a.md", f"# A\n\n- eins\n- {TOKEN}\n\n## B\n\n- {KEY}\n")
    messages = sorted(finding.message for finding in findings_of(desk, "history"))
    assert messages == [f"aws-access-key in commit {commit}, memory/a.md:8", f"github-token in commit {commit}, memory/a.md:4"]


def test_where_a_secret_came_in_first(desk: Desk):
    first = leak(desk, "memory/a.md", f"- {TOKEN}\n")
    leak(desk, "memory/b.md", f"- {TOKEN}\n")
    assert only_finding(desk, "history").message == f"github-token in commit {first}, memory/a.md:1, the first of 2 places"


def test_a_key_over_several_lines_in_history(desk: Desk):
    body = "\n".join(["MIIEowIBAAKCAQEAx3Zq8vT1bN6kW9mR4cY7fJ2hD5gL0pS8uEiQaXoBnVtCyHwK"] * 5)
    commit = leak(desk, "memory/a.md", f"# A\n\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n")
    assert only_finding(desk, "history").message == f"private-key in commit {commit}, memory/a.md:3"


def test_a_secret_in_a_message(desk: Desk):
    desk.write("MEMORY.md", "# Memory\n\n- y\n")
    commit = desk.commit(f"MEMORY.md: append\n\n+ {KEY}\n\nMdmem-Op: append")[:10]
    assert only_finding(desk, "history").message == f"aws-access-key in the message of commit {commit}:3"


def test_a_secret_in_a_mark_that_changes_no_file(desk: Desk):
    commit = desk.commit(f"MEMORY.md: forget\n\nMdmem-Op: forget\nMdmem-Reason: {KEY}")[:10]
    assert only_finding(desk, "history").message == f"aws-access-key in the message of commit {commit}:4"


def test_a_secret_that_came_in_with_a_merge(desk: Desk):
    desk.git("checkout", "-q", "-b", "other")
    desk.write("memory/b.md", "- b\n")
    desk.commit()
    desk.git("checkout", "-q", "main")
    desk.git("merge", "-q", "--no-ff", "--no-commit", "other")
    commit = leak(desk, "memory/a.md", f"- {TOKEN}\n")
    assert only_finding(desk, "history").message == f"github-token in commit {commit}, memory/a.md:1"


def test_a_secret_on_another_branch_and_in_an_odd_file(desk: Desk):
    desk.git("checkout", "-q", "-b", "other")
    commit = leak(desk, "memory/tab\there.MD", f"++ a\n-- b\n@@ -1 +1 @@\n- {TOKEN}\n\\ c")
    desk.git("checkout", "-q", "main")
    assert only_finding(desk, "history").message == f'github-token in commit {commit}, "memory/tab\\there.MD":4'


def test_a_secret_in_the_first_commit_of_a_folder_that_is_a_workspace(world: World, repository: Path):
    desk = make_desk(world, repository, "deep/er", f"# Memory\n\n- {TOKEN}\n")
    (repository / "outside.md").write_text(f"- {KEY}\n")
    desk.world.git(repository, "add", "-A")
    commit = desk.git("rev-parse", "HEAD").strip()[:10]
    desk.commit()
    assert only_finding(desk, "history").message == f"github-token in commit {commit}, MEMORY.md:3"


def test_no_time_for_all_of_history(desk: Desk):
    leak(desk, "memory/a.md", f"- {TOKEN}\n")
    (finding,) = (each for each in examine(desk, history_seconds=0) if each.check == "history")
    assert (finding.level, finding.message) == (
        Level.NOTE,
        "looked at 0 of 3 commits, newest first; there was no time for more",
    )


def test_history_in_pieces(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    leak(desk, "memory/a.md", f"- {TOKEN}\n")
    whole = only_finding(desk, "history")
    monkeypatch.setattr(doctor.contents, "_COMMITS_AT_ONCE", 1)
    assert only_finding(desk, "history") == whole


def test_many_secrets_are_not_all_named(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor.contents, "_MOST_NAMED", 1)
    leak(desk, "memory/a.md", f"- {TOKEN}\n- {KEY}\n")
    first, rest = findings_of(desk, "history")
    assert first.message.startswith("github-token")
    assert rest.message == "secrets that are not listed here: 1"


# Events.


def test_events_of_the_last_days(desk: Desk):
    now = datetime.now(UTC)
    for days, name, ms, outcome, code, bug in (
        (8, "purge", 9e6, Outcome.BUG, "bug", "KeyError in old:1"),
        (6, "log", 12, Outcome.DONE, None, None),
        (6, "edit-section", 1500, Outcome.REFUSED, "section-not-found", None),
        (5, "edit-section", 10, Outcome.REFUSED, "section-not-found", None),
        (1, "log", 10, Outcome.REFUSED, "busy", None),
        (1, "log", 10, Outcome.FAILED, "storage", None),
        (0, "search", 10, Outcome.BUG, "bug", "KeyError in mdmem.search.query:7"),
    ):
        events.record_event(
            desk.workspace.state, Event(verb=name, ms=ms, outcome=outcome, code=code, bug=bug, time=now - timedelta(days=days))
        )
    findings = [(finding.level, finding.message) for finding in examine(desk) if finding.check == "events"]
    assert findings == [
        (Level.OK, "6 in the last 7 days; the slowest was edit-section, 1,500 ms"),
        (Level.NOTE, "refused: 2 section-not-found, 1 busy"),
        (Level.WARNING, "failed: 1 storage"),
        (Level.WARNING, "a bug in mdmem, in search: KeyError in mdmem.search.query:7 (times: 1)"),
    ]


# Mending waits its turn.


def test_nothing_is_mended_while_another_mdmem_writes(desk: Desk):
    desk.write("mdmem.toml", "lock_timeout = 0.05\n")
    lock = make_old(desk.write(".git/index.lock", ""), AN_HOUR)
    temporary = make_old(desk.write(TEMPORARY, "half"), TWO_DAYS)
    with (desk.workspace.state / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        findings = examine(desk, fix=True)
    assert lock.exists()
    assert temporary.exists()
    assert {finding.check for finding in findings if finding.level is Level.ERROR} == {"locks", "temporary"}


def test_a_table_that_is_being_written_is_not_discarded(desk: Desk):
    desk.write("mdmem.toml", "lock_timeout = 0.05\n")
    path = desk.workspace.state / trail.TRAIL_NAME
    break_table(path)
    with files.lock(desk.workspace.state / files.TRAIL_LOCK, 0):
        assert only_finding(desk, "versions", fix=True).level is Level.ERROR
    assert path.exists()
