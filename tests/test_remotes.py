"""Fetching and pushing: what is told apart, that nobody is asked, and that it ends in time."""

import ast
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import World
from program_source import PACKAGE, modules, nodes
from remote_servers import asking_server, silent_server
from workspaces import Desk, desk

from mdmem import repo
from mdmem.model.errors import SyncProblem
from mdmem.repo import Repository, remotes
from mdmem.repo.remotes import Progress, Remote


@pytest.fixture
def origin(world: World, tmp_path: Path) -> Path:
    world.git(tmp_path, "init", "-q", "--bare", "-b", "main", tmp_path / "origin.git")
    return tmp_path / "origin.git"


@pytest.fixture
def at(world: World, repository: Path, origin: Path) -> Desk:
    at = desk(world, repository)
    at.git("remote", "add", "origin", origin)
    return at


def opened(at: Desk) -> Repository:
    return repo.discover(at.root)


def remote(at: Desk, seconds: float = 30) -> Remote:
    return remotes.find_remote(opened(at), "main", seconds)


def failure(at: Desk, seconds: float = 30) -> SyncProblem:
    with pytest.raises(SyncProblem) as problem:
        remote(at, seconds).fetch()
    return problem.value


def head(at: Desk, name: str = "HEAD"):
    return opened(at).commit_named(name)


def test_a_branch_is_fetched_and_pushed(at: Desk, origin: Path):
    assert remote(at).fetch() is None, "the remote has no branch yet"
    first = head(at)
    assert remote(at).push(first)
    assert remote(at).push(first), "once more, which changes nothing"
    assert remote(at).fetch() == first
    at.git("tag", "v1")
    newer = at.commit("more")
    at.git("config", "push.followTags", "true")
    assert remote(at).push(head(at))
    assert at.world.git(origin, "for-each-ref", "--format=%(objectname) %(refname)").stdout == (
        f"{newer} refs/heads/main\n"
    ), "no tags"


def test_somebody_who_was_faster_is_no_failure(at: Desk, origin: Path, tmp_path: Path):
    remote(at).push(head(at))
    at.git("clone", "-q", origin, tmp_path / "other")
    other = Desk(at.world, tmp_path / "other")
    for name, value in (("name", "Bo"), ("email", "bo@example.org")):
        other.git("config", f"user.{name}", value)
    other.commit("theirs")
    other.git("push", "-q", "origin", "main")
    at.commit("ours")
    assert not remote(at).push(head(at))
    assert remote(at).fetch() == other.head()


def test_what_a_server_says_when_it_refuses(at: Desk, origin: Path):
    hook = origin / "hooks" / "pre-receive"
    hook.write_text('#!/bin/sh\necho "this branch is protected" >&2\nexit 1\n')
    hook.chmod(0o755)
    with pytest.raises(SyncProblem, match="origin refused the push: this branch") as problem:
        remote(at).push(head(at))
    assert problem.value.code == "remote-refused"


def test_git_s_progress_is_reported_and_no_message_lost(at: Desk, origin: Path, tmp_path: Path):
    numbers: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        numbers.append((done, total))

    there = remote(at)
    there.progress = progress
    for number in range(30):
        at.write(f"memory/{number}.md", f"- {number}\n")
    at.commit()
    assert there.push(head(at))
    assert max(numbers) > (30, 30)
    numbers.clear()
    remotes.clone(origin.as_uri(), tmp_path / "clone", 30, progress)
    objects = int(at.git("rev-list", "--objects", "--count", "HEAD"))
    assert (1, objects) in numbers
    assert (objects, objects) in numbers
    hook = origin / "hooks" / "pre-receive"
    hook.write_text('#!/bin/sh\nprintf "Limit: 9\\nthis branch is protected" >&2\nexit 1\n')
    hook.chmod(0o755)
    at.commit("more")
    with pytest.raises(SyncProblem) as problem:
        there.push(head(at))
    assert problem.value.message == "origin refused the push: Limit: 9 this branch is protected"
    at.git("remote", "set-url", "origin", at.root / "nothing.git")
    with pytest.raises(SyncProblem, match=r"nothing\.git' does not appear to be a git repo"):
        there.fetch()


def test_a_number_that_is_none_is_no_failure():
    numbers: list[tuple[int, int]] = []
    heed, reported = remotes._reporting(lambda *both: numbers.append(both))
    line = f"Receiving objects:   1% (1/{'9' * 5000})"
    for each in ("\x1b[2J", "remote: Step 1: 5 things", line, "Receiving objects: 7\ufffd"):
        heed(each)
    assert numbers == [(1, 10**12), (7, 0)]
    assert reported == {line, "Receiving objects: 7\ufffd"}


def test_a_hook_before_the_push_runs_and_may_refuse(at: Desk, origin: Path):
    at.hook("pre-push", "echo not on Sundays >&2; exit 1")
    with pytest.raises(SyncProblem, match="a pre-push hook refused the push: not on Sundays"):
        remote(at).push(head(at))


def test_a_remote_that_is_not_there(at: Desk):
    at.git("remote", "set-url", "origin", at.root / "nothing.git")
    problem = failure(at)
    assert problem.code == "remote-unreachable"
    assert "nothing.git" in problem.message


def test_why_a_remote_cannot_be_reached_is_what_the_program_says(at: Desk, tmp_path: Path):
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\necho 'ssh: connect to host x: Connection refused' >&2\nexit 255\n")
    ssh.chmod(0o755)
    at.git("config", "core.sshCommand", ssh)
    at.git("remote", "set-url", "origin", "ada@x:memory.git")
    message = failure(at).message
    assert message == "origin cannot be reached: ssh: connect to host x: Connection refused"
    at.git("remote", "set-url", "origin", "git://127.0.0.1:1/memory.git")
    message = failure(at).message
    assert message.startswith("origin cannot be reached: unable to connect to 127.0.0.1: ")
    assert message.endswith("Connection refused")


def test_a_server_s_words_have_no_control_characters(at: Desk, origin: Path):
    hook = origin / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nprintf 'no \\033[31mred\\007 \\342\\200\\256here' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(SyncProblem) as problem:
        remote(at).push(head(at))
    assert problem.value.message == "origin refused the push: no \ufffd[31mred\ufffd \ufffdhere"


def test_the_upstream_names_the_remote_and_its_branch(at: Desk, origin: Path):
    at.git("remote", "add", "other", origin)
    with pytest.raises(SyncProblem, match="main has no upstream, and there are 2 remotes"):
        remote(at)
    at.git("config", "branch.main.remote", "other")
    at.git("config", "branch.main.merge", "refs/heads/notes")
    assert (remote(at).name, remote(at).branch) == ("other", "notes")
    chosen = remotes.find_remote(opened(at), "main", 30, "origin")
    assert (chosen.name, chosen.branch) == ("origin", "main")
    with pytest.raises(SyncProblem, match="no remote attic"):
        remotes.find_remote(opened(at), "main", 30, "attic")
    at.git("remote", "remove", "other")
    at.git("remote", "remove", "origin")
    with pytest.raises(SyncProblem, match="this repository has no remote"):
        remote(at)


def test_no_other_module_starts_what_talks_to_a_network():
    verbs = {"clone", "fetch", "fetch-pack", "ls-remote", "pull", "push", "send-pack"}
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in modules()
        if path.name != "parameter_table.py"  # an option of `check`
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in verbs
    }
    assert found == {"repo/remotes.py"}


def helper_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of the user's for addresses `vault::PATH`, which git then reads as files."""
    program = tmp_path / "bin" / "git-remote-vault"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nexec git remote-ext "$1" "git %s $2"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


@pytest.mark.parametrize("protocol", ["ext", "vault"])
def test_a_repository_allows_no_protocol(
    at: Desk, origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
):
    helper_on_the_path(tmp_path, monkeypatch)
    at.git("config", "protocol.allow", "always")
    at.git("config", f"protocol.{protocol}.allow", "always")
    at.git("remote", "set-url", "origin", f"{protocol}::git %s {origin}")
    problem = failure(at)
    assert problem.code == "protocol-not-allowed"
    assert problem.message == (
        f"origin is reached by {protocol}, which your git settings do not allow"
    )
    line = f"git config --global protocol.{protocol}.allow always"
    assert (line in problem.hint) == (protocol == "vault"), "an `ext` address is a command line"


def test_the_user_allows_protocols(
    at: Desk, origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    helper_on_the_path(tmp_path, monkeypatch)
    remote(at).push(head(at))
    at.git("remote", "set-url", "origin", f"vault::{origin}")
    at.git("config", "--global", "protocol.vault.allow", "user")
    assert remote(at).fetch() == head(at)
    at.git("config", "--global", "protocol.vault.allow", "never")
    assert failure(at).code == "protocol-not-allowed"
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "vault:ext")
    assert remote(at).fetch() == head(at)
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ssh")
    assert failure(at).code == "protocol-not-allowed"


def test_a_server_that_wants_a_password_gets_none(at: Desk):
    with asking_server() as port:
        at.git("remote", "set-url", "origin", f"http://127.0.0.1:{port}/x.git")
        problem = failure(at)
    assert problem.code == "remote-auth"
    assert "could not read Username" in problem.message


@pytest.mark.parametrize("progress", [None, lambda done, total: None])
def test_a_clone_asks_nobody_and_ends_in_time(
    world: World, at: Desk, tmp_path: Path, progress: Progress | None
):
    remotes.clone(f"file://{tmp_path}/origin.git", tmp_path / "empty", 30, progress)
    assert repo.discover(tmp_path / "empty").head() is None
    with asking_server() as port, pytest.raises(SyncProblem) as refused:
        remotes.clone(f"http://127.0.0.1:{port}/x.git", tmp_path / "new", 30, progress)
    assert (refused.value.code, str(port) in refused.value.hint) == (
        "remote-auth",
        False,
    )
    with silent_server() as port, pytest.raises(SyncProblem) as late:
        remotes.clone(f"http://127.0.0.1:{port}/x.git", tmp_path / "new", 1, progress)
    assert late.value.message == "the remote did not answer within 1 seconds"
    assert not (tmp_path / "new").exists()


def test_ssh_is_the_users_own_and_asks_nothing(at: Desk, tmp_path: Path):
    ssh = tmp_path / "my-ssh"
    ssh.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/log\necho "Permission denied (publickey)." >&2\nexit 255\n'
    )
    ssh.chmod(0o755)
    at.git("config", "core.sshCommand", f"{ssh} -i mykey")
    at.git("remote", "set-url", "origin", "git@example.test:x.git")
    assert failure(at).code == "remote-auth"
    called = (tmp_path / "log").read_text()
    assert "-i mykey -oBatchMode=yes -oConnectTimeout=10" in called


def test_a_remote_that_hangs_is_left_in_time_with_all_its_processes(at: Desk):
    with silent_server() as port:
        at.git("remote", "set-url", "origin", f"http://127.0.0.1:{port}/x.git")
        began = time.monotonic()
        problem = failure(at, seconds=1)
        assert time.monotonic() - began < 30
    assert problem.code == "sync-timeout"
    assert problem.message == "origin did not answer within 1 seconds"
    wait_until(lambda: not holding(f"127.0.0.1:{port}/"))


def holding(word: str) -> list[bytes]:
    """The command lines of processes that name something."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            lines.append(path.read_bytes())
    return [line for line in lines if word.encode() in line]


def wait_until(is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not is_done():
        assert time.monotonic() < end
        time.sleep(0.05)
