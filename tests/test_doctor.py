"""The doctor: each check in a real repository, sound and broken, and what `--fix` mends."""

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest
from conftest import World
from examination import AN_HOUR, examine, findings_of, make_old, needs_proc, only_finding, rebuild
from examination import desk as desk
from examination import holder as holder
from workspaces import Desk

from mdmem import events
from mdmem.folder import hook_files
from mdmem.health import doctor
from mdmem.health.doctor import Finding, Level, exit_status
from mdmem.index import catching_up

SOUND = {
    *(
        "git",
        "settings",
        "identity",
        "repository",
        "locks",
        "fsck",
        "hooks",
        "merge-driver",
        "state",
        "record",
        "temporary",
    ),
    *("versions", "index", "files", "secrets", "history", "adoption", "agents", "events"),
}


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
    [
        (Level.ERROR, False, 1),
        (Level.ERROR, True, 0),
        (Level.WARNING, False, 0),
        (Level.NOTE, False, 0),
        (Level.OK, False, 0),
    ],
)
def test_the_exit_status(level: Level, fixed: bool, status: int):
    assert (
        exit_status(
            [
                Finding(check="a", level=Level.OK, message=""),
                Finding(check="b", level=level, message="", fixed=fixed),
            ]
        )
        == status
    )


def test_a_check_that_cannot_be_made_hides_no_other(desk: Desk):
    (desk.workspace.state / events.OLDER_EVENTS_NAME).mkdir()
    findings = examine(desk)
    assert [finding.check for finding in findings if finding.level is Level.ERROR] == ["events"]
    assert {finding.check for finding in findings} == SOUND


# git and the repository.


def test_no_git(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    workspace = desk.workspace
    monkeypatch.setenv("PATH", str(desk.root))
    (finding,) = doctor.examine(
        workspace, partial(catching_up.index_as_is, workspace), partial(rebuild, desk)
    )
    assert (finding.check, finding.level, finding.hint) == ("git", Level.ERROR, "Install git.")


def test_a_git_that_is_too_old(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = subprocess.run(
        ["sh", "-c", "command -v git"], capture_output=True, text=True, check=True
    ).stdout.strip()
    (tmp_path / "bin").mkdir()
    shim = tmp_path / "bin" / "git"
    shim.write_text(
        f'#!/bin/sh\ncase "$*" in *--version) echo git version 2.35.9;; *) exec {real} "$@";; esac\n'
    )
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
    (desk.root / "mdmem.toml" if where == "workspace" else user_settings).write_text(
        "langage = 'en'\n"
    )
    findings = doctor.examine(workspace, partial(catching_up.index_as_is, workspace), lambda _: 0)
    (finding,) = (each for each in findings if each.check == "settings")
    assert (finding.level, finding.hint) == (Level.ERROR, "Did you mean language?")


def test_nobody_is_known(desk: Desk):
    desk.git("config", "--unset", "user.name")
    assert only_finding(desk, "identity").level is Level.ERROR
    desk.write("mdmem.toml", 'author = "Ada <ada@example.org>"\n')
    assert findings_of(desk, "identity") == []
    workspace = desk.workspace
    desk.write("mdmem.toml", 'author = "Ada <ada@example.org>"\nx = "not closed\n')
    findings = doctor.examine(workspace, partial(catching_up.index_as_is, workspace), lambda _: 0)
    (finding,) = (each for each in findings if each.check == "identity")
    assert finding.level is Level.NOTE


def test_commits_of_somebody_unknown(desk: Desk):
    desk.git("config", "--global", "user.email", "ada@home.example")
    hint = 'me = ["ada@example.org"] (you), or agents = ["ada@example.org"]'
    finding = only_finding(desk, "identity")
    assert (finding.level, hint in finding.hint) == (Level.NOTE, True)
    assert finding.message.startswith("most commits of this memory are by Ada Example <ada@e")
    desk.git("-c", "user.email=ada@home.example", "commit", "-q", "--allow-empty", "-m", "x")
    for number in range(3):
        desk.write("MEMORY.md", f"- fact {number}\n")
        desk.git("-c", "user.email=ada@home.example", "commit", "-qam", "x")
    assert only_finding(desk, "identity").message.startswith("git commits here as ada@example.org")
    desk.git("config", "--unset", "user.email")
    assert findings_of(desk, "identity") == []


REPOSITORY = {
    "a merge": (
        lambda desk: desk.write(".git/MERGE_HEAD", desk.git("rev-parse", "HEAD")),
        Level.WARNING,
        "a merge is under way",
    ),
    "detached": (
        lambda desk: desk.git("checkout", "-q", "--detach"),
        Level.WARNING,
        "HEAD is detached",
    ),
    "shallow": (
        lambda desk: desk.write(".git/shallow", desk.git("rev-parse", "HEAD")),
        Level.NOTE,
        "shallow",
    ),
    "unborn": (
        lambda desk: desk.git("checkout", "-q", "--orphan", "new"),
        Level.NOTE,
        "no commits yet",
    ),
}


@pytest.mark.parametrize("name", REPOSITORY)
def test_the_state_of_the_repository(name: str, desk: Desk):
    spoil, level, words = REPOSITORY[name]
    spoil(desk)
    finding = only_finding(desk, "repository")
    assert finding.level is level
    assert words in finding.message


@pytest.mark.parametrize(
    ("author", "committer", "words", "level"),
    [
        ("2099-01-01", "2099-01-01", "ahead of this machine's clock", Level.WARNING),
        ("2026-05-01", "2026-04-01", "dated after they were committed", Level.NOTE),
    ],
)
def test_dates_that_cannot_be_right(
    desk: Desk, author: str, committer: str, words: str, level: Level
):
    dates = {"GIT_AUTHOR_DATE": f"{author}T12:00:00", "GIT_COMMITTER_DATE": f"{committer}T12:00:00"}
    desk.world.git(
        desk.root, "commit", "-q", "--allow-empty", "-m", "of another time", environment=dates
    )
    finding = only_finding(desk, "repository")
    assert finding.level is level
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
@pytest.mark.parametrize(
    "name", ["index.lock", "refs/heads/main.lock", "packed-refs.lock", "objects/maintenance.lock"]
)
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


@needs_proc
def test_a_lock_of_mdmem_in_use(desk: Desk, holder: subprocess.Popen[str]):
    finding = only_finding(desk, "locks")
    assert finding.level is Level.NOTE
    assert finding.message.startswith(f"mdmem is at work: process {holder.pid}, for ")


# Hooks.


def test_hooks_that_are_missing_or_outdated(desk: Desk):
    folder = desk.workspace.repository.hooks_dir
    (folder / "post-merge").unlink()
    (folder / "pre-commit").chmod(0o644)
    before = only_finding(desk, "hooks")
    assert (before.level, before.message) == (
        Level.WARNING,
        "pre-commit is outdated, post-merge is missing",
    )
    assert only_finding(desk, "hooks", fix=True).fixed
    assert findings_of(desk, "hooks") == []


def test_a_hook_that_is_there_is_kept(desk: Desk):
    hook_files.uninstall(desk.workspace.repository.hooks_dir)
    theirs = desk.hook("pre-commit", "exit 0").read_text()
    assert "pre-commit is foreign" in only_finding(desk, "hooks").message
    assert only_finding(desk, "hooks", fix=True).fixed
    assert (desk.workspace.repository.hooks_dir / "pre-commit.before-mdmem").read_text() == theirs


@pytest.mark.parametrize("how", ["core.hooksPath", "a manager"])
def test_hooks_that_another_manages_are_left_alone(how: str, desk: Desk, tmp_path: Path):
    hook_files.uninstall(desk.workspace.repository.hooks_dir)
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
