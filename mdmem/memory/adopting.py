"""`init`: a workspace made, or one adopted with no existing file altered."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mdmem import check, config, files, hookfiles, layout, repo
from mdmem.catchup.background import start_catching_up
from mdmem.config import Settings
from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.events import EventRecorder
from mdmem.memory.guards import require_hooks_free
from mdmem.model import SETTINGS_NAME, CommitId, FilePath, Problem
from mdmem.model.reads import Initialise
from mdmem.repo import Repository, commits
from mdmem.repo.ignored import ignored
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Workspace, is_marked, open_at

_FALLBACK_AUTHOR = "mdmem <mdmem@localhost>"


@dataclass(frozen=True, slots=True)
class InitResult:
    """What `init` did: the files it wrote, the commit that holds them, the hooks, and lines for the user."""

    workspace: Path
    made_repository: bool
    written: tuple[FilePath, ...]
    commit: CommitId | None
    hooks: tuple[str, ...]
    notes: tuple[str, ...]


def initialise(request: Initialise, environment: Mapping[str, str]) -> InitResult:
    """Make or adopt the workspace in a folder.

    Raises:
        MdmemError: the folder cannot hold one, or git cannot take a commit now; no file is left that was not there before.
    """
    folder = Path(request.folder or environment.get("MDMEM_WORKSPACE") or ".").absolute()
    if folder.exists() and not folder.is_dir():
        raise PathProblem("bad-path", f"{folder} is not a folder")
    if ".git" in (part.lower() for part in folder.parts):
        raise PathProblem("bad-path", f"{folder} lies in git's own folder")
    if not is_marked(folder) and (line := next(_unread(folder), None)):
        raise PathProblem("bad-path", line)
    config.load(folder.resolve(), _work_tree(folder), environment)  # refused before anything is made
    files.make_folders(folder)
    repository, made = _repository(folder)
    workspace = open_at(repository.folder, environment)
    workspace.ensure_state()
    with EventRecorder(workspace.state, "init", workspace.actor) as watch:
        with files.lock(workspace.state / files.LOCK_NAME, workspace.settings.lock_timeout):
            written, notes, commit = _adopt(workspace, made)
        hooks, more = _hooks(workspace) if request.hooks else ((), ())
        watch.done(bool(written or commit or hooks), commit=commit)
    start_catching_up(workspace)
    return InitResult(workspace=workspace.root, made_repository=made, written=written, commit=commit, hooks=hooks, notes=(*notes, *more))


def _adopt(workspace: Workspace, made: bool) -> tuple[tuple[FilePath, ...], tuple[str, ...], CommitId | None]:
    """Write what is missing and commit it: the files, lines for the user, the commit. The caller holds the workspace lock."""
    root, repository, settings = workspace.root, workspace.repository, workspace.settings
    due, notes = _missing(root, repository, settings)
    notes += (*_unread(root), *_unkept(workspace, tuple(due)))
    if due and not made:
        repository.require_ready(settings.allow_detached, repository.branch())
    written: list[FilePath] = []
    try:
        for path, text in due.items():
            files.write_durably(root / path, text.encode())
            written.append(path)
        files.sync(root)
        settled = replace(workspace, settings=config.load(root, repository.root, workspace.environment))  # which may just have been written
        commit, left_out = _first_commit(settled, tuple(written), made)
        return tuple(written), (*notes, *left_out), commit
    except BaseException:
        for path in written:
            (root / path).unlink(missing_ok=True)
        raise


def _repository(folder: Path) -> tuple[Repository, bool]:
    try:
        return repo.discover(folder.resolve()), False
    except RepositoryProblem as problem:
        if problem.code != "not-a-repository":
            raise
    return repo.create(folder.resolve()), True


def _work_tree(folder: Path) -> Path | None:
    """The root of the work tree that a folder is in, where there is one yet."""
    try:
        return repo.discover(folder.resolve()).root if folder.exists() else None
    except RepositoryProblem:
        return None


def _missing(root: Path, repository: Repository, settings: Settings) -> tuple[dict[FilePath, str], tuple[str, ...]]:
    """What is to be written: the templates where there is no curated file, an author where nobody is known; and lines for the user."""
    names = {entry.name.casefold() for entry in root.iterdir()}
    due: dict[FilePath, str] = {}
    if not any(os.path.lexists(root / name) for name in layout.CURATED_NAMES):
        absent = [name for name in layout.PROFILE_NAMES if name.casefold() not in names]
        due |= {FilePath(name): files.template(name) for name in (layout.CURATED_NAMES[0], *absent)}
    if repository.identity_known() or settings.author or SETTINGS_NAME in names:
        return due, ()
    due[FilePath(SETTINGS_NAME)] = f'author = "{_FALLBACK_AUTHOR}"\n'
    return due, (f"git does not know who you are: commits are by {_FALLBACK_AUTHOR}, as {SETTINGS_NAME} now says",)


def _unread(root: Path) -> Iterator[str]:
    """A line for the user for each curated file that is there and is none."""
    for name in layout.CURATED_NAMES:
        what = "a symbolic link" if (root / name).is_symlink() else "a folder" if (root / name).is_dir() else None
        if what:
            yield f"{name} is {what}: neither searched nor edited. Put the file in its place."


def _unkept(workspace: Workspace, due: tuple[FilePath, ...]) -> tuple[str, ...]:
    """A line for the user where git does not keep the memory that is there.

    Raises:
        PathProblem: `ignored-path`: it would not keep what is to be written.
    """
    hint = "Take the rule out; memory that git does not keep has no history."
    refused = ignored(workspace.root, due)
    if refused:
        raise PathProblem("ignored-path", f"{', '.join(sorted(refused))} would be ignored by .gitignore; nothing is written", hint)
    listed = [path for path in workspace.memory_files() if not layout.is_outside(path)]
    there = sorted(ignored(workspace.root, listed))
    if not there:
        return ()
    what = there[0] if len(there) == 1 else f"{there[0]} and {len(there) - 1} more memory files"
    return (f"ignored by .gitignore: {what}. {hint}",)


def _first_commit(workspace: Workspace, written: tuple[FilePath, ...], made: bool) -> tuple[CommitId | None, tuple[str, ...]]:
    """Commit what was written; in a repository of our own making every memory file too, but for those with a secret, which are named."""
    pending = set(workspace.repository.pending())
    there = sorted((set(workspace.memory_files()) & pending).difference(written)) if made else []
    secret = _secrets(workspace, there)
    leaking = {problem.path for problem in secret}
    notes = tuple(f"not committed: {found.path}:{found.line}: {found.message}. {found.hint}" for found in secret)
    due = sorted({*written, *there}.difference(leaking) & pending)
    if not due:
        return None, notes
    order = commits.CommitOrder(
        paths=due,
        message="mdmem: init\n\nMdmem-Op: init\nMdmem-Source: user-stated\n",
        date=repo.raw_date(workspace.now()),
        hook_timeout=workspace.settings.hook_timeout,
        identity=workspace.identity(),
    )
    return commits.commit(workspace.repository, order).id, notes


def _secrets(workspace: Workspace, paths: Sequence[FilePath]) -> list[Problem]:
    """The secrets in files that are in no commit yet; none where they are let through."""
    if "secret" in workspace.allowances():
        return []
    return [
        problem
        for path in paths
        for problem in check.added_secrets(path, None, (workspace.root / path).read_bytes(), workspace.kind_of(path))
    ]


def _hooks(workspace: Workspace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Install git's hooks; where someone else manages them, say what to add instead."""
    try:
        require_hooks_free(workspace)
        return hookfiles.install(workspace.repository.hooks_dir, sys.executable), ()
    except RepositoryProblem as problem:
        if problem.code != "hooks-managed":
            raise
        return (), (f"hooks were not installed: {problem.message}", problem.hint)
