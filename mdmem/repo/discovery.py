"""Find the repository of a folder, create one or copy a commit, and tell who commits there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from mdmem.folder import files
from mdmem.model import CommitId, FilePath, rules
from mdmem.model.errors import RepositoryProblem, shell_word, verb
from mdmem.repo import git_files
from mdmem.repo.runner import READ_SECONDS, literal_pathspecs, parse_paths, run
from mdmem.repo.worktree import Repository, path_below
from mdmem.startup.records import dataclass

_LOG_SECONDS = 2.0
"""The time limit for reading history, since the user waits for one line."""
_MOST_COMMITS = 50


def discover(folder: Path) -> Repository:
    """Raises RepositoryProblem (`not-a-repository`, `broken-repository`, `bare-repository`)."""
    real_path = os.path.realpath(folder)
    if simple := git_files.find_repository(real_path):
        top, git_folder = simple
        return Repository(
            folder=folder,
            root=Path(top),
            git_dir=Path(git_folder),
            common_dir=Path(git_folder),
            prefix=path_below(top, real_path),
            is_simple=True,
            barred_filters=_own_filters(folder, git_folder, git_folder),
        )
    result = run(
        folder,
        ["rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-prefix", "--show-toplevel"],
    )
    if result.status:
        if run(folder, ["rev-parse", "--absolute-git-dir"]).status == 0:
            raise RepositoryProblem(
                "bare-repository",
                f"{folder} is in a repository without a work tree",
                "Clone it and work in the clone.",
            )
        if _exists_above(folder.resolve(), ".git"):
            raise RepositoryProblem(
                "broken-repository",
                f"git cannot read the repository here: {result.error_text}",
                "For details: git fsck",
            )
        raise RepositoryProblem(
            "not-a-repository",
            f"{folder} is not in a git repository",
            f"To create one: {verb('init')} {shell_word(folder)}",
        )
    git_dir, common, prefix, root = (
        result.output.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n", 3)
    )
    common_dir = (folder / common).resolve()
    if _only_points_to(Path(root), common_dir):
        raise RepositoryProblem(
            "broken-repository",
            f"{root} is no work tree of {common_dir.parent}, whose repository its .git names",
            f"If you moved it: git -C {shell_word(common_dir.parent)} worktree repair"
            f" {shell_word(root)}",
        )
    return Repository(
        folder=folder,
        root=Path(root),
        git_dir=Path(git_dir),
        common_dir=common_dir,
        prefix=prefix,
        is_simple=False,
        barred_filters=_own_filters(folder, git_dir, str(common_dir)),
    )


def _only_points_to(root: Path, common_dir: Path) -> bool:
    """True if a folder's `.git` names a repository that has a work tree, and not this one.

    Anybody can write such a file: what is typed there would be committed to that repository.
    """
    trees = work_trees(common_dir)
    has_own = common_dir.parent in trees and os.path.lexists(root / ".git")
    return has_own and Path(os.path.realpath(root)) not in trees


def _own_filters(folder: Path, git_dir: str, common_dir: str) -> tuple[str, ...]:
    """The names of the filters in a repository's own settings, and in what these include."""
    texts = [
        git_files.read_bytes(path) or b""
        for path in (f"{common_dir}/config", f"{git_dir}/config.worktree")
    ]
    if not any(word in text.lower() for text in texts for word in (b"filter", b"include")):
        return ()
    listed = run(
        folder, ["config", "-z", "--show-scope", "--name-only", "--get-regexp", r"^filter\..*\."]
    )
    fields = os.fsdecode(listed.output).split("\0")
    return tuple(
        dict.fromkeys(
            key.removeprefix("filter.").rpartition(".")[0]
            for scope, key in zip(fields[::2], fields[1::2], strict=False)
            if scope in ("local", "worktree")
        )
    )


def work_trees(common_dir: Path) -> frozenset[Path]:
    """The work trees that git's folder lists, as far as their own `.git` leads back there."""
    places = [(common_dir.parent, common_dir)] if common_dir.name == ".git" else []
    settings = git_files.parse_settings(git_files.read_bytes(f"{common_dir}/config") or b"")
    places += [
        (common_dir / os.fsdecode(value), common_dir)
        for section, name, value in settings or ()
        if (section, name) == (b"core", b"worktree") and value
    ]
    for link in (common_dir / "worktrees").glob("*/gitdir"):
        named = os.fsdecode(git_files.read_bytes(str(link)) or b"").rstrip("\n")
        places += [((link.parent / named).parent, link.parent)] if named else []
    return frozenset(
        Path(os.path.realpath(root)) for root, git_dir in places if leads_to(root, git_dir)
    )


def leads_to(root: Path, git_dir: Path) -> bool:
    """True if a folder's own `.git` is git's folder or names it: git's folder may name any."""
    own = root / ".git"
    named = os.fsdecode(git_files.read_bytes(str(own)) or b"").removeprefix("gitdir:").strip()
    return os.path.realpath(root / named if named else own) == os.path.realpath(git_dir)


def create(folder: Path) -> Repository:
    configured = run(folder, ["config", "--get", "init.defaultBranch"])
    branch = [] if configured.status == 0 else ["-b", "main"]
    result = run(folder, ["init", "-q", *branch])
    if result.status:
        raise RepositoryProblem("git-failed", f"git init: {result.error_text}")
    repository = discover(folder)
    # Git does not, and a power cut that loses HEAD leaves no repository.
    files.sync_all(repository.git_dir)
    return repository


def _exists_above(folder: Path, name: str) -> bool:
    return any((parent / name).exists() for parent in (folder, *folder.parents))


def last_author(repository: Repository, paths: Sequence[str]) -> str:
    """The author of the last change of a folder's paths; empty if none, or git cannot tell."""
    names = _log(repository, ["-1", "--format=%an"], paths)
    return rules.author_name(names[0]) if names else ""


def change_addresses(
    repository: Repository, paths: Sequence[str], options: Sequence[str] = ()
) -> frozenset[str] | None:
    """The authors' addresses of the newest changes of paths; None if git cannot tell."""
    addresses = _log(repository, [f"-{_MOST_COMMITS}", "--format=%ae", *options], paths)
    return None if addresses is None else frozenset(map(str.casefold, addresses))


def change_authors(repository: Repository, paths: Sequence[str]) -> list[str]:
    """The authors, `NAME <EMAIL>`, of the newest changes of paths; none if git cannot tell."""
    return _log(repository, [f"-{_MOST_COMMITS}", "--format=%an <%ae>"], paths) or []


def mdmem_addresses(repository: Repository) -> frozenset[str] | None:
    """The authors' addresses of mdmem's newest commits in a folder; None if git cannot tell."""
    of_mdmem = ["--extended-regexp", "--grep=^Mdmem-Op: "]
    return change_addresses(repository, ["."] if repository.prefix else [], of_mdmem)


def _log(repository: Repository, options: Sequence[str], paths: Sequence[str]) -> list[str] | None:
    """The lines of `git log`; None if it fails (an object is missing) or takes too long."""
    if repository.head() is None:
        return []
    try:
        words = ["log", *options, "HEAD", "--", *(f":(literal){path}" for path in paths)]
        result = run(repository.folder, words, seconds=_LOG_SECONDS)
    except RepositoryProblem as problem:
        if problem.code != "git-timeout":
            raise
        return None
    return result.output.decode("utf-8", "replace").splitlines() if result.status == 0 else None


@dataclass(frozen=True, slots=True)
class RemovedFile:
    """A file that is gone, by path from the root of the work tree.

    `commit` removed it, by `author` (None: it is in HEAD or staged). `restoring` is the command of
    git that brings it back, as it can be typed in the current folder.
    """

    path: FilePath
    restoring: str
    commit: CommitId | None = None
    author: str = ""


def find_removed(repository: Repository, paths: Sequence[FilePath]) -> RemovedFile | None:
    """The first of these paths (from the root, none on disk) that git has, else had last.

    None if git has no such file, or takes too long. Raises RepositoryProblem.
    """
    at_root = repository.at_root()
    head, staged = at_root.head(), at_root.tracked(paths)
    committed = at_root.read(head, paths) if head else {}
    for path in paths:
        if path in staged:
            return RemovedFile(path, _restoring(at_root, path))
        if committed.get(path) is not None:
            return RemovedFile(path, _restoring(at_root, path, "--staged", "--worktree"))
    try:
        removal = find_removal(at_root, head, paths, _LOG_SECONDS) if head else None
    except RepositoryProblem as problem:
        if problem.code != "git-timeout":
            raise
        removal = None
    if removal is None:
        return None
    commit, (path, *_) = removal
    author = at_root.git("show", "-s", "--format=%an", commit).decode("utf-8", "replace")
    return RemovedFile(
        path=path,
        restoring=_restoring(at_root, path, f"--source={commit[:8]}^"),
        commit=commit,
        author=rules.author_name(author),
    )


def find_removal(
    repository: Repository, tip: CommitId, paths: Sequence[FilePath], seconds: float = READ_SECONDS
) -> tuple[CommitId, tuple[FilePath, ...]] | None:
    """The last commit before `tip` that removed one of these paths, and those it did not rename.

    None where there is none, or it renamed them. `repository` is at its root.
    """
    words = ("log", "-1", "--no-renames", "--diff-filter=D", "--format=%H", "--end-of-options", tip)
    listed = run(repository.folder, [*words, "--", *literal_pathspecs(paths)], seconds=seconds)
    commit = CommitId(listed.output.decode().strip())
    if not commit:
        return None
    options = ("--no-commit-id", "-r", "-z", "-M", "--diff-filter=D", "--name-only")
    gone = set(parse_paths(repository.git("diff-tree", *options, commit)))
    removed = tuple(path for path in paths if path in gone)
    return (commit, removed) if removed else None


def _restoring(repository: Repository, path: FilePath, *options: str) -> str:
    line = repository.command_line("git restore")
    is_here = line == "git restore"
    place = os.path.relpath(repository.root / path) if is_here else path
    return " ".join((line, *options, shell_word(place)))


_CHECKED_OUT = ("*.[mM][dD]", ".gitattributes", ".gitignore")
_COPIED_SETTINGS = ("user.name", "user.email", "core.autocrlf", "core.eol")
_COPY_SECONDS = 600.0


def create_snapshot(source: Repository, commit: CommitId, folder: Path) -> Repository:
    """Create a repository in `folder` with a commit and its past, and none of the rest.

    It has no other branch, no remote and no hook. Markdown alone is on disk, as committed. It lasts
    as long as the objects of `source`.
    """
    kind = source.git("rev-parse", "--show-object-format").decode().strip()
    _git(folder.parent, "init", "-q", "--template=", f"--object-format={kind}", str(folder))
    git_dir = folder / ".git"
    for name in ("objects/info", "info"):
        (git_dir / name).mkdir(exist_ok=True)
    (git_dir / "objects/info/alternates").write_bytes(bytes(source.common_dir / "objects") + b"\n")
    shallow = source.common_dir / "shallow"
    if shallow.exists():
        (git_dir / "shallow").write_bytes(shallow.read_bytes())
    for name in _COPIED_SETTINGS:
        if (value := source.setting(name)) is not None:
            _git(folder, "config", name, value)
    (git_dir / "info/sparse-checkout").write_text("\n".join(_CHECKED_OUT) + "\n", encoding="utf-8")
    _git(folder, "update-ref", "HEAD", commit)
    _git(folder, "-c", "core.sparseCheckout=true", "read-tree", "-mu", "HEAD")
    return discover(folder)


def _git(folder: Path, *arguments: str) -> None:
    result = run(folder, arguments, seconds=_COPY_SECONDS)
    if result.status:
        raise RepositoryProblem("git-failed", f"git {arguments[0]}: {result.error_text}")
