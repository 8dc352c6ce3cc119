"""Run the git binary: with an environment built on purpose, fixed settings and a time limit for the whole process group."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.model import FilePath
from mdmem.repo.process import TimeUpError, converse
from mdmem.startup.records import dataclass

_KEPT = {
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_TEMPLATE_DIR"),
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS"),  # for the user's hooks
    *("GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL_FROM_USER"),  # likewise
}
_FIXED = {
    "LANGUAGE": "en",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "MDMEM_CONTEXT": "off",  # a hook of git may start an agent, whose session is not the user's
}
_NO_LAZY_FETCH = {"GIT_NO_LAZY_FETCH": "1"}
"""For every git process: it fetches no missing object in passing.

A repository from elsewhere can name any program as the remote that has its missing objects.
"""
_OFFLINE = _NO_LAZY_FETCH | {"GIT_ALLOW_PROTOCOL": ""}
"""For every git process but `git commit`: no transport at all, for a git that does not know the
variable above (before 2.39.4)."""
_SETTINGS = (
    *("-c", "maintenance.auto=false", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"),
    *("-c", "log.showSignature=false", "-c", "color.ui=false"),
    *("-c", "i18n.commitEncoding=UTF-8", "-c", "i18n.logOutputEncoding=UTF-8"),
    *("-c", "core.fsync=committed,loose-object,reference,index"),
)
"""The settings for every command.

The last one makes everything that git writes survive a power cut, also what precedes a commit (a new file in the index)."""
MARKDOWN, TEMPORARIES = ":(icase,glob)**/*.md", ":(glob)**/.mdmem-*.tmp"
"""Pathspecs: of Markdown files, and of the temporary files that a killed write leaves next to them (they may hold the old bytes)."""
READ_SECONDS = 60.0
LACKS_VERSIONS = "this clone lacks older versions"
FETCH_VERSIONS = "To get them: git fetch --refetch --no-filter"
_LACKING = ("lazy fetching disabled", "from promisor remote")
"""The words of git on an object that it would have fetched; before 2.39.4 the second alone."""


@dataclass(frozen=True, slots=True)
class GitResult:
    """Status, output and error text of one git process."""

    status: int
    output: bytes
    error_text: str

    @property
    def lacks_objects(self) -> bool:
        """True if git needed an object that a partial clone has not fetched."""
        return any(words in self.error_text for words in _LACKING)

    def failure(self, command: str) -> RepositoryProblem:
        """The failure of a command: `missing-history`, or `git-failed` with what git said."""
        if self.lacks_objects:
            return RepositoryProblem("missing-history", LACKS_VERSIONS, FETCH_VERSIONS)
        return RepositoryProblem("git-failed", f"git {command}: {self.error_text}")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment that git runs in: no variable of a hook points it to another repository, and nothing waits for a person."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return kept | _FIXED | dict(extra or {})


def run(
    folder: Path,
    arguments: Sequence[str],
    text: bytes = b"",
    extra: Mapping[str, str] | None = None,
    seconds: float = READ_SECONDS,
    meanwhile: Callable[[], None] | None = None,
    *,
    is_commit: bool = False,
) -> GitResult:
    """Run git once, in `folder`, with `text` on its standard input; its whole process group has `seconds`.

    `meanwhile` is called while git works (see `process.converse`). `is_commit`: git runs the user's
    own hooks, filters and signing, which may use the network; no other git process can.

    Raises:
        RepositoryProblem: `git-missing`, or `git-timeout` where it took too long.
    """
    command = ["git", "-C", os.fspath(folder), "--no-pager", *_SETTINGS, *arguments]
    variables = environment(extra) | (_NO_LAZY_FETCH if is_commit else _OFFLINE)
    try:
        status, output, errors = converse(command, variables, text, seconds, meanwhile=meanwhile)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as problem:
        raise RepositoryProblem("git-missing", "git is not installed", "Install git.") from problem
    except TimeUpError as problem:
        raise RepositoryProblem("git-timeout", f"git {arguments[0]} took longer than {seconds:g} s") from problem
    if status and not folder.is_dir():
        raise PathProblem("bad-path", f"{folder} does not exist")
    return GitResult(status, output, errors.decode("utf-8", "replace").strip())


def literal_pathspecs(paths: Sequence[FilePath]) -> list[str]:
    """Pathspecs that match these paths and nothing else. (git's setting for that would reach the user's hooks and break their own patterns.)"""
    return [f":(literal){path}" for path in paths]


def parse_paths(output: bytes) -> list[FilePath]:
    """The paths in git's output with `-z`."""
    return [FilePath(os.fsdecode(path)) for path in output.split(b"\0") if path]
