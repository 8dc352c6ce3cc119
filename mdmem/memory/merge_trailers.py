"""The trailers of what git merges: a merge, a squash, a rebase or a cherry-pick.

They name the facts that contradict each other by it, and those that it kept though a side removed them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mdmem import layout, merges, repo
from mdmem.document import parse_bytes
from mdmem.editors.merge3.merging import merge3
from mdmem.errors import PathProblem
from mdmem.facts import items
from mdmem.memory.guards import workspaces_of
from mdmem.merges import MergedFile
from mdmem.model import CommitId, FactId, FileKind, FilePath
from mdmem.repo import Repository, git_files
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace


def add_merge_trailers(folder: Path, message: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Add trailers to the message of the merge that git is about to commit, or of what it merged into one commit, and return them.

    A merge of more than two commits is left alone, and so is a fact that does not stand any more in what is committed: a person may have
    decided otherwise.

    Args:
        folder: any folder of the work tree.
        message: the file with the message, relative to the folder.
        environment: the variables of the hook; `GIT_INDEX_FILE` names what is committed.
    """
    repository = repo.discover(folder)
    repository = repository.at_folder(repository.root)
    theirs, ours = _merged_commit(repository), repository.head()
    if theirs is None or ours is None:
        return ()
    trailers = tuple(dict.fromkeys(_trailers(repository, ours, theirs, environment)))
    if trailers:
        write_trailers(repository, folder, message, trailers)
    return trailers


def write_trailers(repository: Repository, folder: Path, message: str, trailers: Sequence[str]) -> None:
    """Add trailers to the message in a file, which is named relative to the folder."""
    path = Path(folder, message)
    text = path.read_bytes()
    if not text.endswith(b"\n"):  # git would take the trailers for a part of the last line's paragraph
        path.write_bytes(text + b"\n")
    options = [word for trailer in trailers for word in ("--trailer", trailer)]
    repository.git("interpret-trailers", "--in-place", "--if-exists", "addIfDifferent", *options, message)


@dataclass(frozen=True, slots=True)
class _MergedCommit:
    """A commit that git merges into HEAD, and its bases: None for those of a merge of the two."""

    commit: CommitId
    bases: tuple[CommitId, ...] | None = None


def _merged_commit(repository: Repository) -> _MergedCommit | None:
    """The commit that is being merged, squashed, picked or rebased; None where there is none, or several."""
    heads = _named_commits(repository, "MERGE_HEAD")
    picked = _named_commits(repository, "CHERRY_PICK_HEAD")
    if len(heads) == 1:
        return _MergedCommit(heads[0])
    if len(picked) == 1 and not heads:
        parents = tuple(CommitId(line) for line in repository.git("rev-parse", f"{picked[0]}^@").decode().split())
        return _MergedCommit(picked[0], parents) if len(parents) < 2 else None
    squashed = None if heads else repository.squashed()
    return _MergedCommit(squashed) if squashed else None


def _named_commits(repository: Repository, name: str) -> list[CommitId]:
    """The commits that a file in git's folder names."""
    return [CommitId(line.decode()) for line in (git_files.read_bytes(f"{repository.git_dir}/{name}") or b"").split()]


def _trailers(repository: Repository, ours: CommitId, theirs: _MergedCommit, environment: Mapping[str, str]) -> Iterator[str]:
    files = list(merges.files_of_both(repository, ours, theirs.commit, bases=theirs.bases))
    workspaces = workspaces_of(repository, {(repository.root / file.path).parent for file in files}, environment)
    for file in files:
        workspace = workspaces.get((repository.root / file.path).parent)
        kind = _kind(workspace, file.path) if workspace else None
        if kind is not None:
            yield from _trailers_of_file(file, kind, _staged_facts(repository, file.path, environment))


def _kind(workspace: Workspace, path: FilePath) -> FileKind | None:
    """The kind of a memory file by its path in the work tree; None for a file that is not merged by section and fact."""
    inner = FilePath(path.removeprefix(workspace.repository.prefix))
    kind = workspace.kind_of(inner)
    is_merged = kind.is_memory and kind is not FileKind.BOOTSTRAP and not layout.within(inner, workspace.settings.extra_paths)
    return kind if is_merged else None


def _trailers_of_file(file: MergedFile, kind: FileKind, standing: frozenset[FactId]) -> Iterator[str]:
    """The trailers for one file. Values of one key are a contradiction by themselves, and need none."""
    notes = merge3(file.base, file.ours, file.theirs, kind).notes
    for first, second, key in notes.contradictions:
        if key is None and {first, second} <= standing:
            yield f"Mdmem-Contradicts: {first} {second}"
    for fact in notes.kept:
        if fact in standing:
            yield f"Mdmem-Kept: {fact}"


def _staged_facts(repository: Repository, path: FilePath, environment: Mapping[str, str]) -> frozenset[FactId]:
    """The facts of a file as it is committed."""
    index = environment.get("GIT_INDEX_FILE")
    variables = {"GIT_INDEX_FILE": str(Path(repository.root, index))} if index else {}
    data = repository.blobs([f":{path}"], variables)[0]
    try:
        return frozenset(item.fact.id for item in items(parse_bytes(data or b"")))
    except PathProblem:
        return frozenset()
