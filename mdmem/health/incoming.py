"""Problems that syncs brought in, for which commits here would have been refused: they are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

from mdmem.folder import files
from mdmem.model import CommitId, FileKind, FilePath, Problem
from mdmem.model.errors import (
    PathProblem,
    RepositoryProblem,
    number_of,
    printable,
    shell_word,
    verb,
)
from mdmem.model.pipelines import Incoming
from mdmem.past import people_only
from mdmem.past.differences import changed_lines
from mdmem.repo import first_parent
from mdmem.repo.branch_commits import BranchCommit, commits_not_in
from mdmem.repo.first_parent import ChangedFile
from mdmem.text import check
from mdmem.text.writers import text_of
from mdmem.workspace import Workspace, permission

CanRevert: TypeAlias = "Callable[[CommitId, FilePath], bool]"
"""Tries whether `revert` takes a commit, and changes a file then."""
_SECRET = "secret-found"
_ADDITIONS = {"conflict-markers": "conflict markers", "not-utf8": "text that is not UTF-8"}
_LOSSES = frozenset({"shrink", "append"})
_SHOWN_SECONDS = 7 * 86_400
_MOST_NAME = 60


def judge(
    workspace: Workspace,
    before: CommitId | None,
    after: CommitId,
    can_revert: CanRevert,
) -> tuple[Incoming, ...]:
    """The problems that files of the workspace have in `after` and had not in `before`."""
    repository = workspace.repository
    changes = first_parent.changed_files(repository, before, after)
    contents = repository.contents(sorted(_blobs(changes)))
    found = [
        (change, problem)
        for change in changes
        for problem in _refusals(
            workspace, change, *(contents.get(blob or "") for blob in (change.before, change.after))
        )
    ]
    if not found:
        return ()
    history, first = _History(workspace, before, after), dict[tuple[str, str], Incoming]()
    for change, problem in found:
        if (change.path, problem.code) not in first:
            told = history.told(change, problem, contents, can_revert)
            first[change.path, problem.code] = told
    return tuple(first.values())


def _blobs(changes: Sequence[ChangedFile]) -> set[str]:
    return {blob for each in changes for blob in (each.before, each.after) if blob}


def _refusals(
    workspace: Workspace, change: ChangedFile, before: bytes | None, after: bytes | None
) -> list[Problem]:
    kind = workspace.kind_of(change.path)
    problems = check.find_errors(
        change.path,
        before,
        after,
        kind if kind.is_memory else FileKind.EVERGREEN,
        renamed_from=change.before_path if change.before_path != change.path else None,
        is_note=not kind.is_memory or workspace.is_note(change.path),
    )
    return [problem for problem in problems if problem.level == "error"]


def _lines(data: bytes | None) -> Counter[bytes]:
    return Counter(line.strip() for line in (data or b"").split(b"\n"))


class _History:
    """The commits between two, which may be to blame."""

    def __init__(self, workspace: Workspace, before: CommitId | None, after: CommitId) -> None:
        self._workspace = workspace
        self._commits: dict[CommitId, BranchCommit] = {}
        self._changes: list[first_parent.CommitChanges] = []
        with suppress(RepositoryProblem):  # this clone lacks some of them
            self._commits = commits_not_in(workspace.repository, [after], before)
            single = [each.id for each in self._commits.values() if len(each.parents) == 1]
            self._changes = first_parent.read_commits(workspace.repository, single)

    def told(
        self,
        change: ChangedFile,
        problem: Problem,
        contents: dict[str, bytes],
        can_revert: CanRevert,
    ) -> Incoming:
        lost = _lines(contents.get(change.before or "")) - _lines(contents.get(change.after or ""))
        commit = self._most(change, problem, lost)
        author = self._commits[commit].author if commit else b""
        name = author.decode("utf-8", "replace").rpartition(" <")[0]
        return Incoming(
            path=change.path,
            code=problem.code,
            message=_message(problem, lost.total()),
            before=change.before,
            commit=commit,
            author=printable(name, keep="")[:_MOST_NAME],
            can_revert=commit is not None and can_revert(commit, change.path),
            time=self._workspace.now().timestamp(),
        )

    def _most(self, change: ChangedFile, problem: Problem, lost: Counter[bytes]) -> CommitId | None:
        """The commit that did most of it; None if there is none but merges."""
        names = {change.path, change.before_path}
        best, most = None, 0
        for each in reversed(self._changes):
            for one in (one for one in each.changes if names & {one.path, one.before_path}):
                contents = self._workspace.repository.contents(sorted(_blobs([one])))
                old, new = contents.get(one.before or ""), contents.get(one.after or "")
                if problem.code in _LOSSES:
                    did = ((_lines(old) - _lines(new)) & lost).total()
                else:
                    refused = _refusals(self._workspace, one, old, new)
                    did = sum(other.code == problem.code for other in refused)
                if did > most:
                    best, most = each.commit.id, did
        return best


def _message(problem: Problem, lost: int) -> str:
    match problem.code:
        case "shrink":
            return f"{number_of(lost, 'line')} removed"
        case "append":
            return f"{number_of(lost, 'earlier line')} removed" if lost else "earlier lines moved"
        case "secret-found":
            return f"{problem.message} added"
    return f"{_ADDITIONS[problem.code]} added"


def current(workspace: Workspace, incoming: Sequence[Incoming]) -> Iterator[Incoming]:
    """Those that are to be shown: for seven days, or until undone; a secret, until it is gone."""
    now = workspace.now().timestamp()
    named = [each.before for each in incoming if each.before]
    contents = dict(zip(named, workspace.repository.blobs(named), strict=True))
    for each in incoming:
        if each.code != _SECRET and now - each.time > _SHOWN_SECONDS:
            continue
        try:
            data = files.read(files.path_on_disk(workspace.root, each.path))
        except PathProblem:
            continue
        change = ChangedFile(each.path, each.path, None, None)
        refused = _refusals(workspace, change, contents.get(each.before or ""), data)
        if any(problem.code == each.code for problem in refused):
            yield each


def agents_changes(workspace: Workspace) -> Iterator[str]:
    """Lines on what agents changed within seven days that only people may change, until undone.

    Landing, merging and git refuse nothing. A commit is judged by the rules before it.
    """
    now = permission.rules_of(workspace)
    repository = workspace.repository
    if now is None or repository.head() is None:
        return
    since = int(workspace.now().timestamp()) - _SHOWN_SECONDS
    named = ("--grep=^Mdmem-Actor: ", "--grep=^Mdmem-Claimed-By: ")
    form = ("log", "-z", "--no-merges", f"--since={since}", *named, "--format=%H %P%n%B")
    agents: dict[CommitId, str] = {}
    commits: list[tuple[CommitId, tuple[CommitId, ...]]] = []
    for row in filter(None, repository.git(*form).decode("utf-8", "replace").split("\0")):
        ids, _, message = row.partition("\n")
        commit, *before = map(CommitId, ids.split())
        if (agent := people_only.agent_of(message, workspace.settings.people)) and before:
            agents[commit] = agent
            commits.append((commit, tuple(before)))
    for (commit, parents), (_, places) in zip(
        commits, people_only.changes_of(repository, now, commits), strict=True
    ):
        then = permission.rules_at(workspace, parents[0]) if places else None
        for place in places if then else ():
            now_there = text_of(_on_disk(workspace, place.path), place.address)
            name = shell_word(commit[:8])
            if then and then.addresses(place.path) and now_there != place.before:
                count = max(map(len, changed_lines(place.before, place.after)))
                yield (
                    f"{printable(agents[commit], keep='')[:_MOST_NAME]} changed"
                    f" {number_of(count, 'line')} in {place.address or place.path} ({name})."
                    f" To undo: {verb('revert')} {name}"
                )


def _on_disk(workspace: Workspace, path: FilePath) -> bytes | None:
    with suppress(PathProblem):
        return files.read(files.path_on_disk(workspace.root, path))
    return None
