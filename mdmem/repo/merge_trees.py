"""Merge two commits without a work tree, and never stop at a conflict.

Memory files are merged by git's driver. Where git reports a conflict all the same, one side's
version is kept whole, and the other remains reachable as a parent's.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import PurePosixPath

from mdmem.model import CommitId, FilePath
from mdmem.model.errors import RepositoryProblem
from mdmem.model.pipelines import SetAside
from mdmem.repo.runner import run
from mdmem.repo.worktree import Repository
from mdmem.startup.records import dataclass, field

_SECONDS = 600.0
_USAGE = 129
"""git's status for an option that it does not know."""


@dataclass(frozen=True, slots=True)
class MergedTree:
    """A merge's tree; paths are from the root.

    `kept_files` were changed on one side and removed on the other. `set_aside` are files of which
    the other side's version is kept; `with_ours` is the tree with this side's. A commit of that
    before one of `tree` shows both versions in the history of the file. `conflicts` are all paths
    where git reported one.
    """

    tree: str
    with_ours: str | None = None
    kept_files: tuple[FilePath, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    conflicts: tuple[FilePath, ...] = ()


@dataclass(slots=True)
class _Conflict:
    """The versions of a path by stage (2: theirs, 3: ours), each a mode and a blob."""

    versions: dict[int, tuple[str, str]] = field(default_factory=dict)


def merge_trees(
    repository: Repository, theirs: CommitId, ours: CommitId, host: str, unrelated: bool = False
) -> MergedTree:
    """Merge two commits; `unrelated` ones with an empty base.

    `host` names this machine's version of a file whose name is taken on the other side.
    Raises RepositoryProblem (`git-too-old`, `git-failed`).
    """
    result = run(
        repository.root,
        [
            # A new file stays in its folder where the other side renamed that.
            "-c",
            "merge.directoryRenames=false",
            "merge-tree",
            "--write-tree",
            "-z",
            "--no-messages",
            *(["--allow-unrelated-histories"] if unrelated else []),
            theirs,
            ours,
        ],
        seconds=_SECONDS,
    )
    if result.status == _USAGE:
        raise RepositoryProblem(
            "git-too-old", "this git cannot merge without a work tree", "Install git 2.38 or newer."
        )
    if result.status not in (0, 1):
        raise result.failure("merge-tree")
    tree, *rows = result.output.split(b"\0")
    if result.status == 0:
        return MergedTree(tree=tree.decode())
    conflicts: dict[bytes, _Conflict] = {}
    for row in filter(None, rows):
        head, _, path = row.partition(b"\t")
        mode, blob, stage = head.decode().split()
        conflicts.setdefault(path, _Conflict()).versions[int(stage)] = mode, blob
    return _without_conflicts(repository, tree.decode(), conflicts, (theirs, ours, host))


def _without_conflicts(
    repository: Repository,
    tree: str,
    conflicts: dict[bytes, _Conflict],
    names: tuple[CommitId, CommitId, str],
) -> MergedTree:
    theirs, ours, host = names
    kept, aside, paths, entries, ours_entries = [], [], [], [], []
    zeros = "0" * len(tree)
    for raw_path, conflict in conflicts.items():
        path, versions = os.fsdecode(raw_path), conflict.versions
        # Of two files with one name, or a file and a folder, git adds the commit to one's name.
        moved_from, _, commit = path.rpartition("~")
        kept_version = versions.get(2) or versions.get(3)
        if commit in (theirs, ours) and kept_version:
            entries.append(f"0 {zeros}\t{path}")
            path = _beside(moved_from, host if commit == ours else "remote")
            aside += [SetAside(FilePath(path), kept_version[1])] if commit == ours else []
        elif 2 in versions and 3 in versions:
            aside.append(SetAside(FilePath(path), versions[3][1]))
            ours_entries.append(f"{' '.join(versions[3])}\t{path}")
        elif 1 in versions and kept_version:
            kept.append(FilePath(path))
        paths.append(FilePath(path))
        mode, blob = kept_version or ("0", zeros)
        entries.append(f"{mode} {blob}\t{path}")
    with tempfile.TemporaryDirectory(prefix="mdmem-") as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        repository.git("read-tree", tree, extra=index)
        trees = []
        for rows in (entries, ours_entries):
            text = os.fsencode("".join(f"{row}\0" for row in rows))
            repository.git("update-index", "-z", "--index-info", text=text, extra=index)
            trees.append(repository.git("write-tree", extra=index).decode().strip())
    return MergedTree(
        tree=trees[0],
        with_ours=trees[1] if ours_entries else None,
        kept_files=tuple(kept),
        set_aside=tuple(aside),
        conflicts=tuple(paths),
    )


def _beside(path: str, name: str) -> str:
    suffix = PurePosixPath(path).suffix
    return f"{path.removesuffix(suffix)}~{name}{suffix}"
