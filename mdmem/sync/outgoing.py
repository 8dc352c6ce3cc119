"""Refuse what may not travel: commits that change other files than memory, and secrets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from mdmem import secrets
from mdmem.folder import layout
from mdmem.model import SETTINGS_NAME, CommitId, FilePath
from mdmem.model.errors import RefusedChange, SyncProblem, number_of, verb
from mdmem.repo import Repository, first_parent
from mdmem.startup import late
from mdmem.sync.landing import is_safe
from mdmem.workspace import Workspace, open_at

_SHOWN = 3
_OWN_FILES = frozenset({SETTINGS_NAME, ".gitattributes", ".gitignore"})
"""The files of a workspace that are no memory and travel with it."""
_MARK = b"\x01"
_STATEMENT = late.pattern(
    r"(?m)^Mdmem-(?:Supersedes|Retracts|Confirms|Contradicts|Resolves|Rejects|Closes|Arrived): .+$"
)
_QUOTES = ("+ ", "- ", "    + ", "    - ")
"""The starts of lines in a message that quote files, where secrets may be allowed."""


def require_memory_alone(
    workspace: Workspace, theirs: CommitId | None, ours: CommitId | None
) -> None:
    """Refuse (SyncProblem, `sync-foreign`) commits of one side that change more than memory."""
    repository = workspace.repository.at_root()
    if ours == theirs:
        return
    roots = _Roots(workspace, repository, [tip for tip in (theirs, ours) if tip])
    for tip, other, which in ((ours, theirs, "unpushed"), (theirs, ours, "new")):
        foreign = [
            [path for path in paths if not roots.is_memory(path)]
            for paths in _touched(repository, tip, other)
        ]
        if count := sum(map(bool, foreign)):
            names = sorted({path for paths in foreign for path in paths})
            change = "changes" if count == 1 else "change"
            raise SyncProblem(
                "sync-foreign",
                f"{number_of(count, f'{which} commit')} {change} non-memory files: {_some(names)}",
                f"To sync the whole repository: {verb('sync', 'all_files')} (always:"
                ' sync_files = "all" in your config.toml)',
                paths=names,
            )


def require_no_conflict(
    workspace: Workspace, tips: Iterable[CommitId], paths: Iterable[FilePath]
) -> None:
    """Refuse conflicts outside memory, which a person resolves. Raises SyncProblem."""
    roots = _Roots(workspace, workspace.repository.at_root(), tips)
    if names := sorted(path for path in paths if not roots.is_memory(path)):
        raise SyncProblem(
            "sync-conflict",
            f"both sides changed {_some(names)}, and git cannot merge that",
            f"To resolve it by hand: {workspace.repository.command_line('git pull')}",
            paths=names,
        )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def foreign_paths(workspace: Workspace, tip: CommitId, other: CommitId | None) -> list[str]:
    """The paths, other than memory, that commits change which `tip` has and `other` lacks."""
    repository = workspace.repository.at_root()
    roots = _Roots(workspace, repository, [tip])
    touched = _touched(repository, tip, other)
    return sorted({path for paths in touched for path in paths if not roots.is_memory(path)})


class _Roots:
    """The workspaces of a repository as some commits have them: each folder with a mark."""

    def __init__(
        self, workspace: Workspace, repository: Repository, tips: Iterable[CommitId]
    ) -> None:
        self._repository = repository
        self._environment = workspace.environment
        self._workspaces: dict[str, Workspace | None] = {workspace.repository.prefix: workspace}
        self._prefixes = {workspace.repository.prefix}
        for tip in tips:
            listed = repository.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", tip)
            for name in map(os.fsdecode, listed.split(b"\0")):
                folder, _, file = name.rpartition("/")
                if file in layout.WORKSPACE_MARKS:
                    self._prefixes.add(f"{folder}/".removeprefix("/"))

    def is_memory(self, path: str) -> bool:
        prefix = max(filter(path.startswith, self._prefixes), key=len, default=None)
        if prefix is None or not is_safe(path):
            return False
        inner, workspace = path.removeprefix(prefix), self._workspace(prefix)
        if inner in _OWN_FILES:
            return True
        if workspace is None:  # one that is new here
            return layout.kind_of(inner, prefix.rstrip("/").rpartition("/")[2]).is_memory
        return workspace.kind_of(inner).is_memory

    def _workspace(self, prefix: str) -> Workspace | None:
        if prefix not in self._workspaces:
            root = self._repository.root / prefix
            self._workspaces[prefix] = (
                open_at(root, self._environment) if layout.is_marked(root) else None
            )
        return self._workspaces[prefix]


def _touched(
    repository: Repository, tip: CommitId | None, other: CommitId | None
) -> Iterator[list[str]]:
    """The paths that each commit changed that one side has and the other lacks.

    Of a merge those that differ from all of its parents.
    """
    if tip is None or tip == other:
        return
    options = ("-z", "-c", "--no-renames", "--name-only", f"--format={_MARK.decode()}%H")
    command = ("log", *options, "--end-of-options", tip, *([f"^{other}"] if other else []))
    for block in repository.git(*command).split(_MARK)[1:]:
        paths = (path.removeprefix(b"\n") for path in block.split(b"\0")[1:])
        yield [os.fsdecode(path) for path in paths if path]


def is_said(repository: Repository, theirs: CommitId, ours: CommitId) -> bool:
    """True if the other line has all that a commit has: its text, and what is said without any."""
    trees = repository.git("rev-parse", f"{theirs}^{{tree}}", f"{ours}^{{tree}}").split()
    form = ("log", "--no-merges", "--name-only", f"--format={_MARK.decode()}%B%x02")
    output = repository.git(*form, ours, f"^{theirs}").decode("utf-8", "replace")
    blocks = (block.partition("\2") for block in output.split(_MARK.decode())[1:])
    stated = {
        line
        for message, _, names in blocks
        if not names.strip()
        for line in _STATEMENT.findall(message)
    }
    found = ("log", "-1", "--format=%h", "--fixed-strings")
    return trees[0] == trees[1] and all(
        repository.git(*found, f"--grep={line}", theirs) for line in stated
    )


def require_no_secrets(workspace: Workspace, theirs: CommitId | None, ours: CommitId) -> None:
    """Refuse to send a line with a secret that the remote lacks (RefusedChange, `secret-found`)."""
    if "secret" in workspace.allowances():
        return
    repository = workspace.repository.at_root()
    for commit, path, text in _outgoing(repository, ours, theirs):
        if (found := secrets.find(text)) and not (
            path and _is_there(repository, theirs, path, text)
        ):
            place, hint = (
                (path, f"Remove it from history: {verb('forget', 'purge')} FACT.")
                if path
                else ("the message", "Reword it: git commit --amend, or git rebase -i.")
            )
            raise RefusedChange(
                "secret-found",
                f"{place}: possible secret ({found[0].kind}) in the unpushed commit {commit[:10]}",
                f"{hint} False alarm? Set MDMEM_ALLOW=secret.",
                kind=found[0].kind,
            )


def _outgoing(
    repository: Repository, ours: CommitId, theirs: CommitId | None
) -> Iterator[tuple[CommitId, FilePath | None, str]]:
    """Texts that unpushed commits add, with the file (None: their message, without quotes)."""
    reached = first_parent.commits_reached(repository, ours, [theirs] if theirs else [])
    for commit, patches in first_parent.added_lines(repository, reached):
        yield from ((commit.id, patch.path, text) for patch in patches for text in patch.added)
        lines = [line for line in commit.message.split("\n") if not line.startswith(_QUOTES)]
        yield commit.id, None, "\n".join(lines)
    yield from first_parent.lines_of_merges(repository, reached)


def _is_there(repository: Repository, theirs: CommitId | None, path: FilePath, text: str) -> bool:
    data = repository.read(theirs, [path])[path] if theirs else None
    lines = set((data or b"").decode("utf-8", "replace").split("\n"))
    return set(text.split("\n")) <= lines | {""}
