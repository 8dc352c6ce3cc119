"""The work of git's hooks: check commits, claim those of agents, add trailers to merges.

An agent's commit is claimed because nobody knows who typed what is in it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mdmem import events, repo, secrets
from mdmem.folder import hook_files, layout
from mdmem.merge import again
from mdmem.merge.again import merge_trailers
from mdmem.model import CommitId, FileKind, FilePath, Problem
from mdmem.repo import Repository, branch_commits, git_files
from mdmem.repo.worktree import StagedFile
from mdmem.startup.late import module
from mdmem.startup.records import dataclass, replace
from mdmem.text import check
from mdmem.workspace import (
    Workspace,
    actor_in_shell,
    all_workspaces_of,
    read_committed,
    workspaces_of,
)

_MOVED_BY = frozenset({"a rebase", "a cherry-pick"})
"""Operations of git that make commits again, whoever made them first."""


def staged_problems(folder: Path, environment: Mapping[str, str]) -> tuple[Problem, ...]:
    """Check the staged changes of memory files in every workspace of a repository.

    Paths are from the work tree's root; `environment` may name the index (`GIT_INDEX_FILE`).
    """
    repository = repo.discover(folder)
    problems: list[Problem] = []
    changes = repository.staged(environment.get("GIT_INDEX_FILE"))
    workspaces = all_workspaces_of(
        repository,
        {
            (repository.root / path).parent
            for change in changes
            for path in (change.path, change.renamed_from or change.path)
        },
        environment,
    )
    for change in changes:
        around = workspaces[(repository.root / change.path).parent]
        of_file = dict.fromkeys(
            problem for workspace in around for problem in _problems_in(workspace, change)
        )
        problems += [replace(problem, path=secrets.redact(change.path)) for problem in of_file]
    if git_files.operation_under_way(str(repository.git_dir)) not in _MOVED_BY:
        inner = dict.fromkeys(each for around in workspaces.values() for each in around)
        problems += _not_allowed(repository, inner, environment)
    return tuple(problems)


def _problems_in(workspace: Workspace, change: StagedFile) -> tuple[Problem, ...]:
    path = FilePath(change.path.removeprefix(workspace.repository.prefix))
    old_path = str(change.renamed_from) if change.renamed_from else None
    problems = check.check(
        path,
        before=change.before,
        after=change.after,
        kind=_guarded_kind(workspace, path),
        settings=workspace.settings,
        renamed_from=old_path,
        was_log=layout.log_day(old_path, workspace.daily) if old_path else None,
        is_note=workspace.is_note(path),
    )
    if any(problem.code == "shrink" for problem in problems) and _shrank_on_branch(
        workspace, path, change.after
    ):
        problems = tuple(problem for problem in problems if problem.code != "shrink")
    return tuple(replace(problem, path=change.path) for problem in problems)


def _not_allowed(
    repository: Repository, workspaces: Iterable[Workspace], environment: Mapping[str, str]
) -> Iterator[Problem]:
    """Refuse an agent's changes of what only people may change.

    A merge may bring in what its other side did.
    """
    head = repository.head()
    parents = (*([head] if head else []), *_named_commits(repository, "MERGE_HEAD"))
    for workspace in workspaces:
        names = [environment.get("MDMEM_ACTOR")]
        actor = actor_in_shell(names, workspace.settings.people, environment)
        permission = module("workspace.permission") if workspace.is_agent(actor) else None
        rules = permission.rules_of(workspace) if permission else None
        if permission is None or rules is None:
            continue
        staged = branch_commits.commit_staged(
            repository, parents, environment.get("GIT_INDEX_FILE")
        )
        changes = module("past.people_only").changes_of
        for place in next(changes(workspace.repository, rules, [(staged, parents)]))[1]:
            yield Problem(
                path=secrets.redact(f"{workspace.repository.prefix}{place.path}"),
                line=place.line,
                code="not-allowed",
                level="error",
                message=f"only people may change {place.name}",
                hint=permission.ASK,
            )


def _guarded_kind(workspace: Workspace, path: FilePath) -> FileKind:
    """A file's kind, also inside a workspace on the way: no mark may switch the guard off."""
    kind = workspace.kind_of(path)
    return layout.note_kind(path, workspace.settings.paths) if kind is FileKind.OTHER else kind


def _shrank_on_branch(workspace: Workspace, path: FilePath, after: bytes | None) -> bool:
    """True if a squash removes no more of a file than the branch, whose commits were checked."""
    squashed = workspace.repository.squashed()
    return squashed is not None and not check.shrinks_too_much(
        read_committed(workspace, path, squashed), after
    )


def staged_problems_of_workspace(
    folder: Path, environment: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Like `staged_problems`, with paths from the workspace of `folder`, if it is in one."""
    repository = repo.discover(folder)
    here = repository.root / repository.prefix
    workspace = workspaces_of(repository, {here}, environment).get(here)
    start = workspace.repository.prefix if workspace else ""
    return tuple(
        replace(problem, path=os.path.relpath(problem.path, start or "."))
        for problem in staged_problems(folder, environment)
    )


def record_refusal(
    folder: Path, environment: Mapping[str, str], refused: Sequence[Problem], seconds: float
) -> None:
    """Add a commit's refusal to each workspace's events; `seconds` is how long the check took."""
    repository = repo.discover(folder)
    folders = [(repository.root / problem.path).parent for problem in refused]
    workspaces = workspaces_of(repository, set(folders), environment)
    codes: dict[Path, str] = {}
    for of_file, problem in zip(folders, refused, strict=True):
        if of_file in workspaces:
            codes.setdefault(workspaces[of_file].state, problem.code)
    for state, code in codes.items():
        event = events.Event(
            verb="pre-commit",
            ms=round(seconds * 1000, 1),
            outcome=events.Outcome.REFUSED,
            code=code,
        )
        events.record_event(state, event)


def require_hooks_free(workspace: Workspace) -> None:
    """Refuse other managers' hooks. Raises RepositoryProblem (`hooks-managed`)."""
    hooks_path = workspace.repository.setting("core.hooksPath")
    if hooks_path is not None:
        raise hook_files.managed_hooks_problem(
            f"core.hooksPath is set ({hooks_path}), so hooks are managed elsewhere",
            "Add there",
            sys.executable,
        )


def add_merge_trailers(
    folder: Path, message: str, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Add trailers to the message of a merge or squash, and return them.

    A merge of more than two commits is left alone, and so is a fact that is no longer in what is
    committed: a person may have decided otherwise. `environment` may name the index.
    """
    repository = repo.discover(folder).at_root()
    theirs, ours = _merged_commit(repository), repository.head()
    if theirs is None or ours is None:
        return ()

    def text_of(path: FilePath) -> bytes | None:
        return _staged_text(repository, path, environment)

    of_both = again.files_of_both(repository, ours, theirs.commit, bases=theirs.bases)
    of_files = merge_trailers(repository, of_both, text_of, environment)
    of_moved = again.trailers_of_moved(repository, ours, theirs.commit, text_of, bases=theirs.bases)
    trailers = tuple(dict.fromkeys((*of_files, *of_moved)))
    if trailers:
        write_trailers(repository, folder, message, trailers)
    return trailers


def write_trailers(
    repository: Repository, folder: Path, message: str, trailers: Sequence[str]
) -> None:
    """Add trailers to the message in a file, which is named relative to the folder."""
    path = Path(folder, message)
    text = path.read_bytes()
    # Git would take the trailers for a part of the last line's paragraph.
    if not text.endswith(b"\n"):
        path.write_bytes(text + b"\n")
    options = [word for trailer in trailers for word in ("--trailer", trailer)]
    repository.git(
        "interpret-trailers", "--in-place", "--if-exists", "addIfDifferent", *options, message
    )


@dataclass(frozen=True, slots=True)
class _MergedCommit:
    """A commit that git merges into HEAD, and its bases: None for those of a merge of the two."""

    commit: CommitId
    bases: tuple[CommitId, ...] | None = None


def _merged_commit(repository: Repository) -> _MergedCommit | None:
    """The commit being merged, squashed, picked or rebased; None for none or several."""
    heads = _named_commits(repository, "MERGE_HEAD")
    picked = _named_commits(repository, "CHERRY_PICK_HEAD")
    if len(heads) == 1:
        return _MergedCommit(heads[0])
    if len(picked) == 1 and not heads:
        parents = tuple(
            CommitId(line)
            for line in repository.git("rev-parse", f"{picked[0]}^@").decode().split()
        )
        return _MergedCommit(picked[0], parents) if len(parents) < 2 else None
    squashed = None if heads else repository.squashed()
    return _MergedCommit(squashed) if squashed else None


def _named_commits(repository: Repository, name: str) -> list[CommitId]:
    return [
        CommitId(line.decode())
        for line in (git_files.read_bytes(f"{repository.git_dir}/{name}") or b"").split()
    ]


def _staged_text(
    repository: Repository, path: FilePath, environment: Mapping[str, str]
) -> bytes | None:
    index = environment.get("GIT_INDEX_FILE")
    variables = {"GIT_INDEX_FILE": str(Path(repository.root, index))} if index else {}
    return repository.blobs([f":{path}"], variables)[0]


def add_claim(folder: Path, message: str, environment: Mapping[str, str]) -> str | None:
    """Add `Mdmem-Claimed-By` to a message; the agent, or None where there is nothing to claim."""
    repository = repo.discover(folder).at_root()
    if git_files.operation_under_way(str(repository.git_dir)) in _MOVED_BY:
        return None
    folders = {
        change.path: (repository.root / change.path).parent
        for change in repository.staged(environment.get("GIT_INDEX_FILE"))
    }
    workspaces = workspaces_of(repository, set(folders.values()), environment)
    for path, its_folder in folders.items():
        workspace = workspaces.get(its_folder)
        if workspace is None:
            continue
        own = path.removeprefix(workspace.repository.prefix)
        is_memory = workspace.kind_of(own).is_memory or (
            not layout.is_markdown(own)
            and module("workspace.permission").rules_of(workspace) is not None
        )
        actor = actor_in_shell(
            [environment.get("MDMEM_ACTOR")], workspace.settings.people, environment
        )
        if is_memory and actor is not None and workspace.is_agent(actor):
            agent = " ".join(actor.split())
            write_trailers(repository, folder, message, [f"Mdmem-Claimed-By: {agent}"])
            return agent
    return None
