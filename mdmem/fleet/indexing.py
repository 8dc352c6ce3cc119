"""Bring a fleet up to the commits of its repositories."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path

from mdmem.fleet.engine import FORM, Change, Held
from mdmem.fleet.settings import Fleet, is_remote, reason_of
from mdmem.folder import config, files, layout
from mdmem.index.indexer import FileFields
from mdmem.index.pages import fields_of
from mdmem.model import MAX_FILE_BYTES, SETTINGS_NAME, CommitId, FilePath
from mdmem.model.errors import MdmemError, PathProblem, RepositoryProblem
from mdmem.repo import Repository, branch_commits, first_parent, git_files, remotes
from mdmem.repo.runner import run
from mdmem.startup.records import dataclass
from mdmem.text.terms import encodable
from mdmem.workspace import Progress, Workspace

_MOST_ROWS, _MOST_SECONDS = 50_000, 10.0
"""In one `put`: what comes of a kill is done again."""
_FETCH_SECONDS = 60.0
_READ_AT_ONCE = 200
"""Files read by one process of git."""


@dataclass(frozen=True, slots=True)
class FleetIndexed:
    """The outcome of an indexing: numbers of repositories, and those that could not be read, with
    why.
    """

    indexed: int
    unchanged: int
    dropped: int
    failed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FleetState:
    """The contents of a fleet.

    `behind`: repositories with another commit than is indexed. `missing`: those held that the
    settings no longer name, or that cannot be read, with why.
    """

    repositories: int
    rows: int
    bytes: int
    shards: int
    answering: int
    behind: tuple[str, ...]
    missing: Mapping[str, str]


def describe(fleet: Fleet) -> FleetState:
    """The contents of a fleet; no network is used, so addresses are behind only after a fetch."""
    held, named = fleet.engine.held(), fleet.listed()
    behind, missing = list[str](), dict[str, str]()
    for name in dict.fromkeys((*named, *held)):
        if name not in named:
            missing[name] = "no longer named in the settings"
            continue
        try:
            folder = _clone(fleet, name) if is_remote(name) else Path(name)
            if _head(_repository(folder)) != (held[name].commit if name in held else None):
                behind.append(name)
        except (MdmemError, OSError) as problem:
            missing[name] = reason_of(problem)
    return FleetState(
        repositories=len(held),
        rows=fleet.engine.totals(None).documents,
        behind=tuple(behind),
        missing=missing,
        **fleet.engine.describe(),
    )


def index_fleet(
    fleet: Fleet,
    named: Sequence[str] = (),
    progress: Progress | None = None,
    *,
    prune: bool = False,
) -> FleetIndexed:
    """Index what changed in the named repositories, else in all that the settings name.

    `prune`: drop those that the settings no longer name. Raises FleetProblem, StorageProblem.
    """
    fleet.engine.make()
    held = fleet.engine.held()
    own = [each if is_remote(each) else str(Path(each).absolute()) for each in named]
    repositories = list(dict.fromkeys(own or fleet.listed()))
    failed: dict[str, str] = {}
    waiting: list[Change] = []
    indexed, rows, since = 0, 0, time.monotonic()
    for number, name in enumerate(repositories, 1):
        try:
            change = _change(fleet, name, held.get(name))
        except (MdmemError, OSError) as problem:
            failed[name] = reason_of(problem)
            change = None
        if change is not None:
            indexed += 1
            waiting.append(change)
            rows += sum(len(file.documents) for file in change.files)
        if waiting and (rows >= _MOST_ROWS or time.monotonic() - since > _MOST_SECONDS):
            fleet.engine.put(waiting)
            waiting, rows, since = [], 0, time.monotonic()
        if progress:
            progress(number, len(repositories))
    if waiting:
        fleet.engine.put(waiting)
    if gone := set(held).difference(fleet.listed() if own else repositories) if prune else set():
        fleet.engine.drop(gone)
    unchanged = len(repositories) - indexed - len(failed)
    return FleetIndexed(indexed, unchanged, len(gone), failed)


def _change(fleet: Fleet, name: str, held: Held | None) -> Change | None:
    """The change that brings a repository to its HEAD; None where it is there."""
    if encodable(name) != name:
        raise PathProblem("bad-path", "its name is not UTF-8")
    repository = _repository(_fetched(fleet, name) if is_remote(name) else Path(name))
    commit = _head(repository)
    before = held.commit if held else None
    if commit is None or (held and (commit, FORM) == held):
        return None
    blobs, old = first_parent.blobs(repository, commit), dict[FilePath, str]()
    if held and held.form == FORM:
        with suppress(RepositoryProblem):  # rewritten, and no longer there
            old = first_parent.blobs(repository, held.commit)
    if _workspaces_of(old) != _workspaces_of(blobs):  # other files may be memory now
        old = {}
    changed = [path for path, blob in blobs.items() if old.get(path) != blob]
    places = _Places(repository, _workspaces_of(blobs))
    own = [path for path in changed if places.is_memory(path)]
    gone = [path for path in old if path not in blobs]
    return Change(
        repository=name,
        before=before,
        commit=commit,
        files=list(_fields(repository, places, {path: blobs[path] for path in own})),
        gone=gone,
        whole=not old,
    )


def _workspaces_of(blobs: Mapping[FilePath, str]) -> dict[str, str | None]:
    """The folders with a workspace, each with the blob of its settings."""
    named = (path.rpartition("/") for path in blobs)
    roots = {folder for folder, _, name in named if name in layout.WORKSPACE_MARKS}
    return {root: blobs.get(FilePath(f"{_below(root)}{SETTINGS_NAME}")) for root in roots}


class _Places:
    """The workspaces of a commit, by their folders; a file belongs to the nearest one above it."""

    def __init__(self, repository: Repository, roots: Mapping[str, str | None]) -> None:
        contents = repository.contents([blob for blob in roots.values() if blob])
        self._workspaces = {
            root: _workspace(repository, root, contents[blob] if blob else b"")
            for root, blob in roots.items()
        }

    def of(self, path: str) -> tuple[str, Workspace]:
        """The folder of the workspace, as the beginning of the path, and itself."""
        folder = path.rpartition("/")[0]
        while folder and folder not in self._workspaces:
            folder = folder.rpartition("/")[0]
        return _below(folder), self._workspaces[folder]

    def is_memory(self, path: str) -> bool:
        with suppress(KeyError):  # it is in no workspace
            above, workspace = self.of(path)
            own = path.removeprefix(above)
            return layout.is_markdown(path) and workspace.kind_of(own).is_memory
        return False


def _below(folder: str) -> str:
    return f"{folder}/" if folder else ""


def _workspace(repository: Repository, root: str, settings: bytes) -> Workspace:
    """A workspace of a commit. Raises WorkspaceProblem (`bad-settings`)."""
    folder = Path(os.devnull, repository.git_dir.name, root)  # nothing of it is on this disk
    own = config.load(folder, None, {}, [], settings)
    at = repository.at_folder(folder)
    return Workspace(root=folder, repository=at, settings=own, state=folder, environment={})


def _fields(
    repository: Repository, places: _Places, blobs: Mapping[FilePath, str]
) -> Iterator[FileFields]:
    """The documents of files. Those that cannot be read as text, or are too large, have none: what
    is held of them goes.
    """
    rest = iter(blobs.items())
    while some := list(islice(rest, _READ_AT_ONCE)):
        texts = repository.contents([blob for _, blob in some])
        for path, data in ((path, texts[blob]) for path, blob in some):
            above, workspace = places.of(path)
            fields = FileFields(path, [])
            with suppress(PathProblem):
                if len(data) <= MAX_FILE_BYTES:
                    own = FilePath(path.removeprefix(above))
                    fields = fields_of(workspace, own, data, above)
            yield fields


def _repository(folder: Path) -> Repository:
    git_dir = folder / ".git" if (folder / ".git").is_dir() else folder
    if not (git_dir / "HEAD").exists():
        result = run(folder, ["rev-parse", "--absolute-git-dir"])
        if result.status:
            raise result.failure("rev-parse")
        git_dir = Path(os.fsdecode(result.output.removesuffix(b"\n")))
    return branch_commits.bare_repository(git_dir)


def _head(repository: Repository) -> CommitId | None:
    """The commit at HEAD; None where there is none yet."""
    has_own_refs = not (repository.git_dir / "commondir").exists()  # it is of no linked work tree
    if has_own_refs and (read := git_files.read_head(str(repository.git_dir))) is not None:
        return read[1]
    result = repository.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if result.status and result.error_text:
        raise result.failure("rev-parse")
    return CommitId(result.output.decode().strip()) or None


def _clone(fleet: Fleet, url: str) -> Path:
    return fleet.clones / sha256(os.fsencode(url)).hexdigest()[:32]


def _fetched(fleet: Fleet, url: str) -> Path:
    files.make_folders(fleet.clones, files.PRIVATE_FOLDER)
    folder = _clone(fleet, url)
    remotes.fetch_head(url, folder, _FETCH_SECONDS)
    return folder


def tidy_clones(fleet: Fleet) -> None:
    """Remove clones of what is not held, and from the others what HEAD does not reach."""
    held = {_clone(fleet, name) for name in fleet.engine.held()}
    for folder in sorted(fleet.clones.glob("*")):
        if folder in held:
            _repository(folder).git("gc", "--quiet", "--prune=now")
        else:
            files.remove_tree(folder)
