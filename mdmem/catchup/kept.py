"""Answers that a process keeps while nothing has moved that they depend on.

Values and stamps of files tell what has moved, so a look costs no git process. Nothing is kept
where only git can tell, nor while a stamp is so new that another change might leave it as it is.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import datetime
from typing import TypeAlias, TypeVar

from mdmem.catchup.watcher import WorkspaceFiles
from mdmem.folder import config, files, layout
from mdmem.folder.machine import user_key_path
from mdmem.repo import git_files, git_settings
from mdmem.search.snapshot import INDEX_NAME, SNAPSHOT_NAME
from mdmem.startup.records import dataclass, field, replace
from mdmem.workspace import Workspace, used_workspaces

T = TypeVar("T")
Stamp: TypeAlias = "tuple[int, ...]"
_MOST_KEPT = 50
_PROPOSALS = ("refs/heads/mdmem/proposals", "refs/mdmem/made")
_BRANCHES = ("refs/heads", "refs/remotes")


@dataclass(frozen=True, slots=True)
class Look:
    """A view of a part of the workspace: equal while nothing of it has moved.

    `files` are the stamps of memory files (`stamp_text`), of which `values` has a digest.
    """

    values: tuple[object, ...]
    stamps: tuple[Stamp | None, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict, compare=False)

    def is_settled(self, now: int) -> bool:
        """True if any change from now on (ns since 1970) would show in a stamp."""
        times = [number for stamp in self.stamps if stamp for number in stamp[:2]]
        times += [int(number) for text in self.files.values() for number in text.split(" ", 2)[:2]]
        return max(times, default=0) < now - files.RACY_NS


Part: TypeAlias = "Callable[[Workspace], Look | None]"
"""A part of what an answer may depend on, looked at; None: only git can tell if it has moved."""


class _KeptAnswers:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[Hashable, tuple[tuple[Look, ...], object]] = {}

    def get(self, question: Hashable) -> tuple[tuple[Look, ...], object] | None:
        with self._lock:
            return self._answers.get(question)

    def keep(self, question: Hashable, seen: tuple[Look, ...], answer: object) -> None:
        with self._lock:
            self._answers.pop(question, None)
            self._answers[question] = seen, answer
            if len(self._answers) > _MOST_KEPT:
                del self._answers[next(iter(self._answers))]


def answer(
    workspace: Workspace,
    question: Hashable,
    parts: tuple[Part, ...],
    make: Callable[[], T],
    is_lasting: Callable[[T], bool] = lambda _: True,
) -> T:
    """The answer that `make` gives, or gave when all was as it is now.

    It depends on the `parts`, HEAD, the settings, the actor and the day, and is shared: nobody may
    change it. One that is not `is_lasting`, also later on, is made again.
    """
    if workspace.contents is not None:
        return make()
    kept, started = workspace.resources.get(_KeptAnswers), time.time_ns()
    seen = _look(workspace, parts)
    if seen is None:
        return make()
    before = kept.get(question)
    if before is not None and before[0] == seen:
        old: T = before[1]  # type: ignore[assignment]  # the same question has the same type
        if is_lasting(old):
            return old
    new = make()
    is_settled = all(each.is_settled(started) for each in seen)
    if is_settled and is_lasting(new) and _look(workspace, parts) == seen:
        kept.keep(question, seen, new)
    return new


def _look(workspace: Workspace, parts: tuple[Part, ...]) -> tuple[Look, ...] | None:
    looks = []
    for part in (_head, *parts):
        look = part(workspace) if workspace.repository.is_simple else None
        if look is None:
            return None
        looks.append(look)
    return tuple(looks)


def _head(workspace: Workspace) -> Look | None:
    git_dir = str(workspace.repository.git_dir)
    head = git_files.read_head(git_dir)
    if head is None:
        return None
    zone, now = config.zone(workspace.settings.timezone), workspace.now()
    names = ("HEAD", *([] if head[0] is None else [f"refs/heads/{head[0]}"]), "packed-refs")
    return Look(
        values=(
            *(workspace.root, workspace.settings, workspace.actor, workspace.pool),
            *(now.date(), now.utcoffset(), datetime.now(zone).date()),
            *(head, workspace.history_borders()),
        ),
        stamps=tuple(files.stamp(f"{git_dir}/{name}") for name in names),
    )


def memory_files(workspace: Workspace) -> Look:
    stamps, digest = workspace.resources.get(WorkspaceFiles).survey(workspace)
    return Look(values=(digest,), files=stamps)


def proposals(workspace: Workspace) -> Look:
    """The branches of proposals, and the workspaces that they may be for."""
    values, stamps = _refs(workspace, _PROPOSALS)
    key = user_key_path(workspace.environment)
    stamps += (files.stamp(str(key)),) if key else ()
    return Look((values, used_workspaces(workspace.root, workspace.environment)), stamps)


def branches(workspace: Workspace) -> Look:
    return Look(*_refs(workspace, _BRANCHES))


def _refs(
    workspace: Workspace, folders: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[Stamp | None, ...]]:
    """The files of refs below some folders, and their stamps; `_head` has the packed ones."""
    git_dir = workspace.repository.git_dir
    names = tuple(
        f"{folder}/{name}"
        for top in folders
        for folder, _, names in sorted(os.walk(git_dir / top))
        for name in sorted(names)
    )
    return names, tuple(map(files.stamp, names))


def index(workspace: Workspace) -> Look:
    """The index on disk, which each update replaces."""
    return Look((), (files.stamp(f"{workspace.state}/{INDEX_NAME}/{SNAPSHOT_NAME}"),))


def user(workspace: Workspace) -> Look | None:
    """Git's settings, by which the user's own commits are told from those of others."""
    settings = git_settings.read_settings(str(workspace.repository.git_dir))
    if settings is None:
        return None
    return Look((settings, *git_settings.identity_variables()))


def unsaved(workspace: Workspace) -> Look | None:
    """All that git compares: memory files, its index, the rules for ignored and converted files."""
    git_dir = str(workspace.repository.git_dir)
    settings = git_settings.read_settings(git_dir)
    if settings is None:
        return None
    of_user = (
        settings.user_file(b"excludesfile", "ignore"),
        settings.user_file(b"attributesfile", "attributes"),
    )
    if not all(path.startswith("/") for path in of_user):
        return None
    seen = memory_files(workspace)
    names = (
        *(f"{git_dir}/{name}" for name in ("index", "info/exclude", "info/attributes")),
        *of_user,
        *(
            f"{folder}/{name}"
            for folder in sorted(_folders(workspace, seen.files))
            for name in (".gitignore", ".gitattributes")
        ),
    )
    return replace(
        seen,
        values=(*seen.values, settings),
        stamps=tuple(map(files.stamp, names)),
    )


def _folders(workspace: Workspace, paths: Iterable[str]) -> set[str]:
    top, prefix = str(workspace.repository.root), workspace.repository.prefix
    within = {prefix + path.rpartition("/")[0] for path in paths if not layout.is_outside(path)}
    parts = (folder.strip("/").split("/") for folder in {prefix, *within})
    return {"/".join((top, *each[:count])) for each in parts for count in range(len(each) + 1)}
