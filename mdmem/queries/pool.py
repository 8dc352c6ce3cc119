"""Several workspaces asked at once: this one, and those of its pool."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mdmem.folder import layout
from mdmem.index import background
from mdmem.index.catching_up import FreshIndex, PoolMember, fresh_index
from mdmem.index.indexer import SearchIndex
from mdmem.index.pooled import Indexes, pool_indexes
from mdmem.index.snapshot import EMPTY_SNAPSHOT
from mdmem.model.errors import MdmemError, UsageProblem, WorkspaceProblem
from mdmem.startup.records import dataclass, replace
from mdmem.workspace import Progress, Say, Workspace, open_at, refresh


@dataclass(frozen=True, slots=True)
class Pool:
    """The other workspaces that are read, by name, and why any are missing."""

    workspaces: Mapping[str, Workspace]
    missing: Mapping[str, str]


class _KeptPool:
    def __init__(self) -> None:
        self.workspaces: dict[Path, Workspace] = {}
        self.joined: tuple[Indexes, SearchIndex, Indexes] | None = None


def open_pool(workspace: Workspace) -> Pool:
    """The workspaces of the pool as they are now; a pool of theirs is not followed."""
    kept = workspace.resources.get(_KeptPool)
    workspaces: dict[str, Workspace] = {}
    missing: dict[str, str] = {}
    for folder, name in _named(workspace).items():
        try:
            workspaces[name] = _opened(folder, kept.workspaces.get(folder), workspace)
        except (MdmemError, OSError) as problem:
            missing[name] = _reason(problem)
    kept.workspaces = {each.root: each for each in workspaces.values()}
    return Pool(workspaces, missing)


def names(workspace: Workspace) -> list[str]:
    """The names of the workspaces of the pool, of which none is opened."""
    return list(_named(workspace).values())


def named(workspace: Workspace, name: str) -> Workspace:
    """A workspace of the pool. Raises UsageProblem, WorkspaceProblem (it cannot be read)."""
    pool = open_pool(workspace)
    if name in pool.workspaces:
        return pool.workspaces[name]
    if name in pool.missing:
        raise WorkspaceProblem("no-workspace", f"{name} cannot be read: {pool.missing[name]}")
    names = ", ".join(pool.workspaces)
    hint = f"The pool has {names}." if names else "The pool is empty."
    raise UsageProblem(f"no workspace {name[:40]!r} in the pool", hint)


def described(workspace: Workspace) -> tuple[tuple[str, str, str], ...]:
    missing = open_pool(workspace).missing
    return tuple(
        (name, str(folder), missing.get(name, "")) for folder, name in _named(workspace).items()
    )


def _named(workspace: Workspace) -> dict[Path, str]:
    folders = dict.fromkeys(map(_real, workspace.pool))
    folders.pop(_real(workspace.root), None)
    return _names(list(folders))


def _real(folder: Path) -> Path:
    try:
        return folder.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return folder


def _names(folders: list[Path]) -> dict[Path, str]:
    """Short names: each folder's own, with as many of those above it as tell it from the others."""
    names = {}
    for folder in folders:
        parts = folder.parts
        length = next(
            number
            for number in range(1, len(parts) + 1)
            if all(other == folder or other.parts[-number:] != parts[-number:] for other in folders)
        )
        names[folder] = str(Path(*parts[-length:]))
    return names


def _opened(folder: Path, kept: Workspace | None, asking: Workspace) -> Workspace:
    if not layout.is_marked(folder):
        raise WorkspaceProblem("no-workspace", f"{folder} is not a workspace")
    if kept is not None:
        return refresh(kept)
    return replace(open_at(folder, asking.environment), added=None)


def _reason(problem: Exception) -> str:
    return problem.message if isinstance(problem, MdmemError) else str(problem)


def start_catching_up(workspace: Workspace) -> None:
    """Bring the indexes of the pool up to date in the background."""
    for each in open_pool(workspace).workspaces.values():
        background.start_catching_up(each)


def fresh_indexes(
    workspace: Workspace,
    say: Say,
    progress: Progress | None = None,
    **how: bool,
) -> FreshIndex:
    """One index of the workspace and its pool, up to date; `how` is as of `fresh_index`."""
    pool = open_pool(workspace)
    missing = dict(pool.missing)
    fresh: dict[str | None, FreshIndex] = {}
    for name, each in ((None, workspace), *pool.workspaces.items()):
        try:
            index = fresh_index(each, say, progress, **how)
        except (MdmemError, OSError) as problem:
            if name is None:
                raise
            missing[name] = _reason(problem)
            continue
        if index.behind:
            background.start_catching_up(each)
        if name is not None and index.stale and index.index.seen == EMPTY_SNAPSHOT:
            missing[name] = "its index is not built yet"
            continue
        fresh[name] = index
    joined, members = _joined(workspace, {name: each.index for name, each in fresh.items()})
    opened: dict[str | None, Workspace] = {None: workspace}
    opened.update(pool.workspaces)
    notes = [
        note if name is None else f"{name}: {note}"
        for name, each in fresh.items()
        for note in each.notes
    ]
    notes += (f"{name} is missing from this answer: {why}" for name, why in missing.items())
    return replace(
        fresh[None],
        index=joined,
        stale=any(each.stale for each in fresh.values()),
        notes=tuple(notes),
        behind=False,
        members={name: PoolMember(opened[name], index) for name, index in members.items()},
        missing=tuple(missing),
    )


def _joined(workspace: Workspace, indexes: Indexes) -> tuple[SearchIndex, Indexes]:
    """The indexes joined; those of the call before where none of them has changed."""
    kept = workspace.resources.get(_KeptPool)
    before = kept.joined
    if before is None or list(before[0].items()) != list(indexes.items()):
        before = kept.joined = indexes, *pool_indexes(indexes)
    return before[1:]
