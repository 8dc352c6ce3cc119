"""The only way to a network: clone, fetch and push, which ask nobody anything and end in time."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath

from mdmem.folder.machine import machine_name
from mdmem.model import CommitId
from mdmem.model.errors import RepositoryProblem, SyncProblem, printable, shell_word, verb
from mdmem.repo import branch_commits
from mdmem.repo.runner import GitResult, run, setting
from mdmem.repo.worktree import Repository
from mdmem.startup import late
from mdmem.startup.records import dataclass, field, replace

_NO_ANSWER = "false"
"""The program in place of one that asks for a password: it fails."""
_SETTINGS = (
    "credential.interactive=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=20",
)
_PROTOCOLS = ("file", "git", "http", "https", "ssh")
"""The protocols that need no word of the user."""
_ANY_PROGRAM = "ext"
"""The protocol whose address is a command line."""
_BATCH = ("-oBatchMode=yes", "-oConnectTimeout=10")
"""Options of OpenSSH; they come last, so that the user's own count."""
_OTHER_SSH = late.pattern(r"(?i)(?:tortoise)?plink(?:\.exe)?|putty|simple")
DEVICES = "mdmem/in/"
_PROPOSALS = "mdmem/proposals/"
"""The beginnings of branches at the remote: of devices that cannot merge, and of proposals."""
_AUTH = late.pattern(
    r"(?i)authentication failed|could not read (?:username|password)|terminal prompts disabled"
    r"|permission denied \(|host key verification failed|returned error: 40[13]|access denied"
    r"|invalid (?:username|credentials)|logon failed"
)
_FASTER = late.pattern(
    r"(?i)\[rejected\]|cannot lock ref|failed to (?:update|lock) ref|incorrect old value"
    r"|reference already exists|is at \w+ but expected"
)
_NOT_ALLOWED = late.pattern(r"transport '([^']+)' not allowed")
_SAYS_NOTHING = late.pattern(r"Could not read from remote repository|the remote end hung up")
_MISSING = late.pattern(r"(?i)couldn't find remote ref")
_ABOUT_A_PUSH = late.pattern(
    r"error: failed to push|To |hint:|Enumerating objects:|Delta compression |Total \d+ \(delta"
)
_MOST_SERVER_LINES = 10
_MOST_OBJECTS = 1e12
"""A remote can name any number."""
Progress = Callable[[int, int], None]


@dataclass(slots=True)
class Remote:
    """A remote at `url` and the branch there; all calls end by `deadline` together.

    `deadline` is a time of the monotonic clock, `seconds` how long that was from the start.
    `fetched`: the refs of this repository that the last `fetch` left. `progress` gets the numbers
    of objects while they are transferred: those done, and all (0: not known).
    """

    repository: Repository
    name: str
    url: str
    branch: str
    deadline: float
    seconds: float
    fetched: dict[str, CommitId] = field(default_factory=dict)
    progress: Progress | None = None

    @property
    def tracking_ref(self) -> str:
        return f"refs/remotes/{self.name}/{self.branch}"

    def devices(self) -> dict[str, CommitId]:
        """The fetched commits of devices that cannot merge, by their names, in order."""
        return self._below(DEVICES)

    def proposals(self) -> dict[str, CommitId]:
        """The fetched commits of proposals, by the full names of their branches."""
        return {
            f"refs/heads/{_PROPOSALS}{name}": tip for name, tip in self._below(_PROPOSALS).items()
        }

    def _below(self, folder: str) -> dict[str, CommitId]:
        prefix = self._copies(folder)
        found = sorted(each for each in self.fetched.items() if each[0].startswith(prefix))
        return {name.removeprefix(prefix): tip for name, tip in found}

    def _copies(self, folder: str) -> str:
        return f"refs/remotes/{self.name}/{folder}"

    def fetch(self, *options: str) -> CommitId | None:
        """Fetch the branch, with proposals and those of devices; its commit, None without one.

        Raises SyncProblem (`remote-unreachable`, `remote-auth`, `sync-timeout`,
        `protocol-not-allowed`).
        """
        words = (
            "fetch",
            _loudness(self.progress),
            "--no-tags",
            "--prune",
            "--no-recurse-submodules",
            "--refmap=",
            *options,
            "--",
            self.name,
        )
        refspecs = (
            f"+refs/heads/{self.branch}:{self.tracking_ref}",
            *(f"+refs/heads/{each}*:{self._copies(each)}*" for each in (DEVICES, _PROPOSALS)),
        )
        result = self._run(*words, *refspecs)
        is_missing = result.status and _MISSING.search(result.error_text)
        if result.status and not is_missing:
            raise self._failure(result)
        copies = (self.tracking_ref, *map(self._copies, (DEVICES, _PROPOSALS)))
        self.fetched = branch_commits.list_refs(self.repository, *copies)
        return None if is_missing else self.fetched.get(self.tracking_ref)

    def tip(self) -> CommitId | None:
        """Ask for the branch's commit and fetch nothing. Raises SyncProblem (as `fetch`)."""
        return self.tips(f"refs/heads/{self.branch}").get(self.branch)

    def tips(self, pattern: str = "refs/heads/*") -> dict[str, CommitId]:
        """Ask for branches by their names, and fetch nothing. Raises SyncProblem (as `fetch`)."""
        result = self._run("ls-remote", "--quiet", "--", self.name, pattern)
        if result.status:
            raise self._failure(result)
        rows = (line.split("\t") for line in result.output.decode("utf-8", "replace").splitlines())
        return {
            ref.removeprefix("refs/heads/"): CommitId(commit)
            for commit, ref in rows
            if ref.startswith("refs/heads/")
        }

    def push(self, commit: CommitId) -> bool:
        """Push a commit to the branch; False where somebody else was faster. Raises as `update`."""
        return self.update({f"refs/heads/{self.branch}": (commit, None)})

    def update(self, branches: Mapping[str, tuple[CommitId | None, CommitId | None]]) -> bool:
        """Push commits to branches, by full names; False where somebody else was faster.

        With each commit (None: delete the branch) the one that it alone may overwrite (None: none).

        Raises SyncProblem (`remote-refused`, and as `fetch`).
        """
        options = ["--porcelain", "--no-follow-tags", "--recurse-submodules=no"]
        options.append(_loudness(self.progress))
        options += [
            f"--force-with-lease={name}:{old}" for name, (_, old) in branches.items() if old
        ]
        refspecs = [f"{new or ''}:{name}" for name, (new, _) in branches.items()]
        result = self._run("push", *options, "--", self.name, *refspecs)
        if result.status == 0:
            return True
        report = [
            line
            for line in result.output.decode("utf-8", "replace").splitlines()
            if line.startswith("!\t")
        ]
        if any(_FASTER.search(line) for line in report):
            return False
        by_a_hook = "failed to push some refs" in result.error_text
        if not report and not by_a_hook:
            raise self._failure(result)
        words = list(_server_words(result.error_text)) or [
            line.rpartition("\t")[2] for line in report
        ]
        if any(map(_FASTER.search, words)):
            return False
        branch = shell_word(f"HEAD:refs/heads/{DEVICES}{machine_name()}")
        push = self.repository.command_line(f"git push {shell_word(self.name)} {branch}")
        who = f"{self.name} refused the push" if report else "a pre-push hook refused the push"
        raise SyncProblem(
            "remote-refused",
            f"{who}: {' '.join(words[:_MOST_SERVER_LINES])}" if words else who,
            f"To ask for a merge there: {push}",
        )

    def _run(self, *arguments: str) -> GitResult:
        left = max(0.0, self.deadline - time.monotonic())
        ssh = _ssh_command(self.repository.setting)
        overdue = _late(self.name, self.seconds)
        return _run_online(self.repository.root, arguments, ssh, left, overdue, self.progress)

    def _failure(self, result: GitResult) -> SyncProblem:
        fetch = self.repository.command_line(f"git fetch {shell_word(self.name)}")
        return _failure(result, self.name, fetch)


def clone(url: str, folder: Path, seconds: float, progress: Progress | None) -> None:
    """Clone a repository into a new folder, of which nothing is left after a failure.

    `progress`: as of `Remote`.

    Raises SyncProblem (`remote-unreachable`, `remote-auth`, `sync-timeout`,
    `protocol-not-allowed`).
    """
    words = ("clone", _loudness(progress), "--no-recurse-submodules", "--", url, str(folder))
    name = "the remote"  # its address may hold a password
    ssh = _ssh_command(partial(setting, folder.parent))
    result = _run_online(folder.parent, words, ssh, seconds, _late(name, seconds), progress)
    if result.status:
        raise _failure(result, name, "git clone")


def fetch_head(url: str, folder: Path, seconds: float) -> None:
    """Bring the commit at the HEAD of a repository to that of a bare one of our own, without its
    past. Raises SyncProblem as `clone`.
    """
    if not (folder / "HEAD").exists():
        run(folder.parent, ("init", "--quiet", "--bare", "--initial-branch=main", str(folder)))
    words = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--")
    name, ssh = "the repository", _ssh_command(partial(setting, folder))
    refspec = "+HEAD:refs/heads/main"
    result = _run_online(folder, (*words, url, refspec), ssh, seconds, _late(name, seconds), None)
    if result.status:
        raise _failure(result, name, "git fetch")


def _late(name: str, seconds: float) -> SyncProblem:
    return SyncProblem("sync-timeout", f"{name} did not answer within {seconds:g} seconds")


def _loudness(progress: Progress | None) -> str:
    return "--quiet" if progress is None else "--progress"


def _run_online(
    folder: Path,
    arguments: Sequence[str],
    ssh: str,
    seconds: float,
    overdue: SyncProblem,
    progress: Progress | None,
) -> GitResult:
    variables = {
        "LC_ALL": "C",
        "GIT_ASKPASS": _NO_ANSWER,
        "SSH_ASKPASS": _NO_ANSWER,
        "SSH_ASKPASS_REQUIRE": "never",
        "GCM_INTERACTIVE": "never",
        "GIT_SSH_COMMAND": ssh,
        "GIT_ALLOW_PROTOCOL": _allowed_protocols(folder),
    }
    settings = [word for each in _SETTINGS for word in ("-c", each)]
    heed_line, reported = _reporting(progress) if progress else (None, set[str]())
    try:
        result = run(
            folder,
            [*settings, *arguments],
            extra=variables,
            seconds=seconds,
            is_online=True,
            heed_line=heed_line,
        )
    except RepositoryProblem as problem:
        raise (overdue if problem.code == "git-timeout" else problem) from problem
    lines = (line for line in result.error_text.splitlines() if line.rstrip() not in reported)
    return replace(result, error_text="\n".join(printable(line, keep="") for line in lines))


def _reporting(progress: Progress) -> tuple[Callable[[str], None], set[str]]:
    """A reader of git's lines that reports their progress, and the lines that told of it alone."""
    # 45 ms and a process of git, where a person waits for a transfer
    from git import RemoteProgress  # noqa: PLC0415

    reported = set[str]()

    class Reporting(RemoteProgress):
        def update(
            self,
            op_code: int,
            cur_count: str | float,
            max_count: str | float | None = None,
            message: str = "",
        ) -> None:
            reported.add(self._cur_line or "")
            numbers = (min(float(count or 0), _MOST_OBJECTS) for count in (cur_count, max_count))
            progress(*map(int, numbers))

    return Reporting().new_message_handler(), reported


def _allowed_protocols(folder: Path) -> str:
    """The protocols that git may use, which is never a repository's business."""
    if (named := os.environ.get("GIT_ALLOW_PROTOCOL")) is not None:
        return named
    words = ["config", "-z", "--show-scope", "--get-regexp", r"^protocol\..+\.allow$"]
    fields = os.fsdecode(run(folder, words).output).split("\0")
    policies = dict.fromkeys(_PROTOCOLS, "always")
    for scope, row in zip(fields[::2], fields[1::2], strict=False):
        if scope in ("system", "global"):
            key, _, policy = row.partition("\n")
            policies[key.removeprefix("protocol.").removesuffix(".allow")] = policy
    return ":".join(name for name, policy in policies.items() if policy != "never")


def _failure(result: GitResult, name: str, command: str) -> SyncProblem:
    lines = [line for line in map(str.strip, result.error_text.splitlines()) if line]
    if refused := _NOT_ALLOWED.search(result.error_text):
        protocol = refused[1]
        return SyncProblem(
            "protocol-not-allowed",
            f"{name} is reached by {protocol}, which your git settings do not allow",
            f"To allow it: git config --global {shell_word(f'protocol.{protocol}.allow')} always"
            if protocol != _ANY_PROGRAM
            else "Its address runs a command of the repository's choice.",
        )
    asked = next(filter(_AUTH.search, lines), None)
    failures = (line for word in ("fatal: ", "error: ") for line in lines if line.startswith(word))
    line = asked or next(failures, (lines or ["git does not say why"])[0])
    if _SAYS_NOTHING.search(line):  # a program such as ssh has said why
        line = lines[0]
    following = lines[lines.index(line) + 1 :] if line.endswith(":") else []
    line = " ".join([line, *following[:1]]).removeprefix("fatal: ")
    if asked:
        return SyncProblem(
            "remote-auth",
            f"authentication with {name} failed: {line}",
            f"Try {command} in a terminal; mdmem uses the credentials that git has.",
        )
    return SyncProblem(
        "remote-unreachable",
        f"{name} cannot be reached: {line}",
        f"Check the network and the remote's address, and try {command} in a terminal.",
    )


def find_remote(
    repository: Repository, branch: str, seconds: float, named: str | None = None
) -> Remote:
    """The remote of a branch: the named one, else its upstream's, else the only one.

    The branch there is the upstream's, else of the same name. Raises SyncProblem (`no-remote`).
    """
    urls = _urls(repository)
    names = list(urls)
    upstream = repository.setting(f"branch.{branch}.remote")
    only = names[0] if len(names) == 1 else None
    name = named or (upstream if upstream in names else only)
    if name is None or name not in names:
        message, hint = f"{branch} has no upstream, and there are {len(names)} remotes", ""
        if name:
            message, hint = (
                f"no remote {name}",
                repository.command_line(f"git remote add {shell_word(name)} URL"),
            )
        elif names:
            words = f"{shell_word(names[0])} {shell_word(branch)}"
            hint = repository.command_line(f"git push -u {words}")
        else:
            message = "this repository has no remote"
            hint = f"{repository.command_line('git remote add origin URL')}\n{verb('sync')}"
        raise SyncProblem("no-remote", message, hint)
    if name == upstream:
        there = repository.setting(f"branch.{branch}.merge") or ""
        branch = there.removeprefix("refs/heads/") or branch
    return Remote(
        repository=repository,
        name=name,
        url=urls[name],
        branch=branch,
        deadline=time.monotonic() + seconds,
        seconds=seconds,
    )


def _urls(repository: Repository) -> dict[str, str]:
    """The addresses that are fetched from, by the remotes' names; a name where it has none."""
    urls: dict[str, str] = {}
    for line in filter(None, os.fsdecode(repository.git("remote", "-v")).split("\n")):
        name, _, address = line.partition("\t")
        urls.setdefault(name, address.rpartition(" (")[0] or name)
    return urls


def _ssh_command(setting_of: Callable[[str], str | None]) -> str:
    command = (
        os.environ.get("GIT_SSH_COMMAND")
        or setting_of("core.sshCommand")
        or shlex.quote(os.environ.get("GIT_SSH") or "ssh")
    )
    variant = os.environ.get("GIT_SSH_VARIANT") or setting_of("ssh.variant")
    program = variant if variant and variant != "auto" else PurePath(_first_word(command)).name
    return command if _OTHER_SSH.fullmatch(program) else " ".join((command, *_BATCH))


def _first_word(command: str) -> str:
    try:
        return next(iter(shlex.split(command)), "ssh")
    except ValueError:
        return "ssh"


def _server_words(error_text: str) -> Iterator[str]:
    """The lines that a server, or a hook, wrote; not what git says about them."""
    for line in error_text.splitlines():
        words = line.removeprefix("remote:").strip()
        if words and not _ABOUT_A_PUSH.match(words):
            yield words
