"""A work tree: what is in it now, what is committed, what is staged, how it came about."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mdmem import files
from mdmem.errors import RepositoryProblem
from mdmem.model import CommitId, FilePath
from mdmem.repo import git_files, git_settings
from mdmem.repo.runner import GitResult, run
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace
from mdmem.wording import verb

if TYPE_CHECKING:
    from mdmem.repo import staged_changes
else:
    staged_changes = late.module("mdmem.repo.staged_changes")


_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisect",
}
_OBJECT = re.compile(rb"^[0-9a-f]{40,64} ([a-z]+) (\d+)$")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who commits, where git itself does not know."""

    name: str
    email: str

    def variables(self, role: str) -> dict[str, str]:
        """What tells git that this is the AUTHOR, or the COMMITTER."""
        return {f"GIT_{role}_NAME": self.name, f"GIT_{role}_EMAIL": self.email}


@dataclass(frozen=True, slots=True)
class PathState:
    """How the repository stands to one path. `commit` is None on an unborn branch, `branch` None where HEAD is detached.

    `known` says that the file is there and in git's index. `settled` says that HEAD, index and disk hold the same of it, and that nothing
    at all is staged or unmerged; where it is False that is not known.
    """

    commit: CommitId | None
    branch: str | None
    pending: bool
    ignored: bool
    tracked: bool
    settled: bool = False


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A staged change of one file, as bytes before (HEAD) and after (staged); None where it is not there."""

    path: FilePath
    renamed_from: FilePath | None
    before: bytes | None
    after: bytes | None


def _above(folder: Path, name: str) -> bool:
    return any((place / name).exists() for place in (folder, *folder.parents))


def discover(folder: Path) -> Repository:
    """The repository whose work tree holds `folder`.

    Raises:
        RepositoryProblem: `not-a-repository`, `broken-repository`, `bare-repository`.
    """
    here = os.path.realpath(folder)
    if plainly := git_files.find_repository(here):
        top, git_folder = plainly
        return Repository(folder, Path(top), Path(git_folder), Path(git_folder), _prefix(top, here), is_simple=True)
    found = run(folder, ["rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-prefix", "--show-toplevel"])
    if found.status:
        if run(folder, ["rev-parse", "--absolute-git-dir"]).status == 0:
            raise RepositoryProblem(
                "bare-repository", f"{folder} is in a repository without a work tree", "Clone it and work in the clone."
            )
        if _above(folder.resolve(), ".git"):
            raise RepositoryProblem("broken-repository", f"git cannot read the repository here: {found.words}", "git fsck says more.")
        raise RepositoryProblem("not-a-repository", f"{folder} is not in a git repository", f"{verb('init')} makes one.")
    git_dir, common, prefix, root = found.output.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n", 3)
    return Repository(folder, Path(root), Path(git_dir), (folder / common).resolve(), prefix, is_simple=False)


def _prefix(root: str, folder: str) -> str:
    """The way from a root to a folder below it, as git says it."""
    return f"{folder.removeprefix(root).strip('/')}/".removeprefix("/")


def create(folder: Path) -> Repository:
    """A new repository in `folder`, on the branch that the user's settings name, else `main`."""
    named = run(folder, ["config", "--get", "init.defaultBranch"])
    branch = [] if named.status == 0 else ["-b", "main"]
    made = run(folder, ["init", "-q", *branch])
    if made.status:
        raise RepositoryProblem("git-failed", f"git init: {made.words}")
    repository = discover(folder)
    files.sync_all(repository.git_dir)  # git leaves that to the system, and where its HEAD is lost there is no repository
    return repository


def _unreadable_branch() -> RepositoryProblem:
    hint = "git fsck says more; git reflog has the last commit."
    return RepositoryProblem("broken-repository", "the branch that HEAD names cannot be read", hint)


def literal_pathspecs(paths: Sequence[FilePath]) -> list[str]:
    """Paths as pathspecs that mean just them. (The setting for it would reach the user's hooks, whose own patterns would then fail.)"""
    return [f":(literal){path}" for path in paths]


def parse_paths(output: bytes) -> list[FilePath]:
    """The paths that git names with `-z`."""
    return [FilePath(os.fsdecode(path)) for path in output.split(b"\0") if path]


@dataclass(frozen=True, slots=True)
class Repository:
    """One work tree, seen from the workspace `folder` in it; `prefix` is the way from its root to the workspace (`sub/` or empty).

    Of one that is `plain`, what its files say is read without asking git.
    """

    folder: Path
    root: Path
    git_dir: Path
    common_dir: Path
    prefix: str
    is_simple: bool

    def at_folder(self, folder: Path) -> Repository:
        """The same, seen from another folder of the work tree, which may be gone there."""
        return replace(self, folder=folder, prefix=_prefix(str(self.root), str(folder)))

    @property
    def hooks_dir(self) -> Path:
        """Where git looks for hooks."""
        return (self.folder / os.fsdecode(self.git("rev-parse", "--git-path", "hooks").removesuffix(b"\n"))).resolve()

    @property
    def known_hooks_dir(self) -> Path | None:
        """The same, where that is known without asking git."""
        plainly = git_settings.read_settings(str(self.git_dir)) if self.is_simple else None
        return self.git_dir / "hooks" if plainly and not plainly.has(b"core", b"hookspath") else None

    def run(self, *arguments: str) -> GitResult:
        """How a git command ends that may fail."""
        return run(self.folder, arguments)

    def git(self, *arguments: str, text: bytes = b"", extra: Mapping[str, str] | None = None) -> bytes:
        """The output of a git command that must succeed."""
        done = run(self.folder, arguments, text, extra)
        if done.status:
            raise RepositoryProblem("git-failed", f"git {arguments[0]}: {done.words}")
        return done.output

    # What is now.

    def setting(self, name: str) -> str | None:
        """A value of git's own settings."""
        found = run(self.folder, ["config", "--get", name])
        return found.output.decode("utf-8", "replace").rstrip("\n") if found.status == 0 else None

    def identity_known(self) -> bool:
        """Whether git knows who commits, by its settings or the environment; a guess from the host's name does not count."""
        plainly = git_settings.read_settings(str(self.git_dir)) if self.is_simple else None
        if plainly and plainly.person("AUTHOR") and plainly.person("COMMITTER"):
            return True
        listed = run(self.folder, ["config", "-z", "--get-regexp", r"^((user|author|committer)\.(name|email)|user\.useconfigonly)$"])
        pairs = (one.partition(b"\n") for one in listed.output.split(b"\0"))
        said = {name.decode().lower(): value.strip() if equals else None for name, equals, value in pairs}
        guessing = git_settings.is_off(said.get("user.useconfigonly", b""))

        def has(role: str, part: str) -> bool:
            named = f"GIT_{role.upper()}_{part.upper()}", *(("EMAIL",) if part == "email" and guessing else ())
            return any((*map(os.environ.get, named), said.get(f"{role}.{part}"), said.get(f"user.{part}")))

        return all(has(role, part) for role in ("author", "committer") for part in ("name", "email"))

    def head(self) -> CommitId | None:
        """The commit that HEAD names; None on an unborn branch."""
        if found := self._head():
            return found[1]
        asked = run(self.folder, ["rev-parse", "-q", "--verify", "HEAD^{commit}"])
        return CommitId(asked.output.decode().strip()) if asked.status == 0 else None

    def _head(self) -> tuple[str | None, CommitId | None] | None:
        """HEAD's branch and commit, where they are plainly written."""
        return git_files.read_head(str(self.git_dir)) if self.is_simple else None

    def branch(self) -> str | None:
        """The branch that HEAD is on; None where it is detached.

        Raises:
            RepositoryProblem: `broken-repository`: what HEAD names cannot be read.
        """
        if found := self._head():
            return found[0]
        asked = run(self.folder, ["symbolic-ref", "-q", "HEAD"])
        if asked.status not in (0, 1):
            raise _unreadable_branch()
        return asked.output.decode("utf-8", "replace").strip().removeprefix("refs/heads/") if asked.status == 0 else None

    def state(self, path: FilePath) -> PathState:
        """How HEAD and one path stand.

        Raises:
            RepositoryProblem: `broken-repository`: HEAD's branch cannot be read.
        """
        return self._settled_state(path) or self._asked_state(path)

    def _settled_state(self, path: FilePath) -> PathState | None:
        """The state where the index is as HEAD, and the file as both: nothing is to be asked."""
        found = self._head()
        if found is None or found[1] is None or (tree := git_files.tree_of(str(self.git_dir), found[1])) is None:
            return None
        whole = f"{self.prefix}{path}"
        place = self.root / whole
        try:
            mode = place.lstat().st_mode
            if not stat.S_ISREG(mode) or os.path.realpath(place) != str(place):
                return None
            data = place.read_bytes()
        except OSError:
            return None
        git_dir, name = str(self.git_dir), os.fsencode(whole)
        if git_files.may_be_converted(git_dir, str(self.root), name, data):
            return None
        blob = git_files.object_id(b"blob", data)
        if not git_files.is_clean(git_dir, tree, name, blob, bool(mode & stat.S_IXUSR)):
            return None
        return PathState(found[1], found[0], pending=False, ignored=False, tracked=True, settled=True)

    def _asked_state(self, path: FilePath) -> PathState:
        output = self.git(
            *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignored=matching"),
            *("--no-renames", "--ignore-submodules=all", "--", *literal_pathspecs([path])),
        )
        commit: CommitId | None = None
        branch: str | None = None
        marks = set()
        doubly = False
        for line in output.split(b"\0"):
            if line.startswith(b"# branch.oid "):
                oid = line[13:].decode()
                commit = None if oid == "(initial)" else CommitId(oid)
            elif line.startswith(b"# branch.head "):
                name = line[14:].decode("utf-8", "replace")
                if name == "(unknown)":
                    raise _unreadable_branch()
                branch = None if name == "(detached)" else name
            elif line and not line.startswith(b"#"):
                marks.add(line[:1])
                doubly |= line[:1] == b"1" and (b"." not in line[2:4] or line[2:4] == b"D.")
        pending = bool(marks & {b"1", b"2", b"u", b"?"})
        if doubly:
            # Where a commit was made but the disk was too full for the index, the index alone differs, from both sides.
            pending = not self._is_as_committed(path)
        known = not marks & {b"?", b"!"} and os.path.lexists(self.folder / path)
        return PathState(commit, branch, pending, b"!" in marks, known)

    def _is_as_committed(self, path: FilePath) -> bool:
        """Whether a file on disk, as git would store it, is what HEAD holds."""
        stored = run(self.folder, ["hash-object", "--", path])
        committed = run(self.folder, ["rev-parse", "-q", "--verify", f"HEAD:{self.prefix}{path}"])
        return stored.status == committed.status == 0 and stored.output == committed.output

    def require_ready(self, allow_detached: bool, branch: str | None, settled: bool = False) -> None:
        """Refuse where a commit would come at the wrong moment. `settled` says that nothing is unmerged, which is looked for else.

        Raises:
            RepositoryProblem: `repository-busy` or `detached-head`.
        """
        for name, what in _UNDER_WAY.items():
            if (self.git_dir / name).exists():
                raise RepositoryProblem(
                    "repository-busy", f"{what} is under way in this repository", "Finish or abort it first (git status)."
                )
        if not settled and self.git("ls-files", "-u", "-z"):
            raise RepositoryProblem("repository-busy", "the repository has unmerged files", "Resolve them first (git status).")
        if branch is None and not allow_detached:
            raise RepositoryProblem("detached-head", "HEAD is detached: a commit would be on no branch", "git switch BRANCH first.")

    def pending(self) -> list[FilePath]:
        """The paths of the workspace that differ from HEAD, new ones included, deleted ones too."""
        output = self.git(
            *("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all", "--", ".")
        )
        prefix = self.prefix.encode("utf-8", "surrogateescape")
        return [FilePath(os.fsdecode(line[3:].removeprefix(prefix))) for line in output.split(b"\0") if line]

    def tracked(self) -> set[FilePath]:
        """The paths of the workspace that git knows."""
        return set(parse_paths(self.git("ls-files", "-z")))

    def read(self, commit: CommitId, paths: Sequence[FilePath]) -> dict[FilePath, bytes | None]:
        """The bytes of files in a commit; None where a file is not in it."""
        return dict(zip(paths, self.blobs([f"{commit}:{self.prefix}{path}" for path in paths]), strict=True))

    def blobs(self, names: Sequence[str], extra: Mapping[str, str] | None = None) -> list[bytes | None]:
        """The bytes of objects named in git's way (`COMMIT:PATH`, an id); None where there is no such blob."""
        if not names:
            return []
        asked = "".join(f"{name}\n" for name in names if "\n" not in name).encode("utf-8", "surrogateescape")
        output = self.git("cat-file", "--batch", text=asked, extra=extra)
        blobs: list[bytes | None] = []
        at = 0
        for name in names:
            if "\n" in name:
                blobs.append(None)
                continue
            end = output.index(b"\n", at)
            head = _OBJECT.match(output[at:end])
            at = end + 1
            size = int(head[2]) if head else 0
            blobs.append(output[at : at + size] if head and head[1] == b"blob" else None)
            at += size + 1 if head else 0
        return blobs

    def contents(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The bytes of blobs that must be there, by their ids.

        Raises:
            RepositoryProblem: `broken-repository`: one is missing.
        """
        found: dict[str, bytes] = {}
        for name, data in zip(ids, self.blobs(ids), strict=True):
            if data is None:
                raise RepositoryProblem("broken-repository", f"the object {name} is missing from the repository", "git fsck says more.")
            found[name] = data
        return found

    def last_commit(self, path: FilePath) -> CommitId | None:
        """The newest commit that touched a file; None where there is none."""
        found = run(self.folder, ["rev-list", "-1", "HEAD", "--", *literal_pathspecs([path])])
        return CommitId(found.output.decode().strip()) if found.status == 0 and found.output.strip() else None

    def staged(self, index_file: str | None) -> list[StagedFile]:
        """The staged changes of Markdown files in the whole work tree, paths from its root.

        Args:
            index_file: git's `GIT_INDEX_FILE` as a hook has it: `git commit -- PATH` stages in an index of its own.
        """
        place = self._index(index_file)
        commit = self.head()
        if self.is_simple and commit and (found := staged_changes.staged_changes(str(self.git_dir), place, commit)) is not None:
            return [StagedFile(FilePath(os.fsdecode(path)), None, before, after) for path, before, after in found]
        extra = {"GIT_INDEX_FILE": place} if index_file else None
        against = commit or self.git("hash-object", "-t", "tree", "--stdin").decode().strip()
        done = run(self.root, ["diff-index", "--cached", "-z", "-M", "--name-status", "--no-ext-diff", against], extra=extra)
        if done.status:
            raise RepositoryProblem("git-failed", f"git diff-index: {done.words}")
        fields = iter(parse_paths(done.output))
        changes: list[tuple[FilePath | None, FilePath | None]] = []
        for status in fields:
            path = next(fields)
            if status[:1] in "RC":
                target = next(fields)
                changes.append((path if status[0] == "R" else None, target))
            else:
                changes.append((path if status[0] != "A" else None, path if status[0] != "D" else None))
        wanted = [(old, new) for old, new in changes if (new or old or "").casefold().endswith(".md")]
        old_names = [f"{against}:{old}" for old, _ in wanted if old]
        blobs = self.blobs([*old_names, *(f":{new}" for _, new in wanted if new)], extra)
        olds, news = iter(blobs[: len(old_names)]), iter(blobs[len(old_names) :])
        return [
            StagedFile(
                new or old or FilePath(""),
                old if old and new and old != new else None,
                next(olds) if old else None,
                next(news) if new else None,
            )
            for old, new in wanted
        ]

    def known_to_git(self, paths: Sequence[FilePath], index_file: str | None) -> set[FilePath]:
        """Those of some paths (from the root of the work tree) that HEAD or the index holds.

        Args:
            paths: which.
            index_file: as for `staged`.
        """
        place = self._index(index_file)
        commit = self.head()
        names = [os.fsencode(path) for path in paths]
        if self.is_simple and commit and (found := staged_changes.known_paths(str(self.git_dir), place, commit, names)) is not None:
            return {FilePath(os.fsdecode(path)) for path in found}
        asked = [(path, name) for path in paths for name in (f":{path}", *([f"{commit}:{path}"] if commit else []))]
        blobs = self.blobs([name for _, name in asked], {"GIT_INDEX_FILE": place} if index_file else None)
        return {path for (path, _), data in zip(asked, blobs, strict=True) if data is not None}

    def _index(self, named: str | None) -> str:
        return str(Path(named).absolute()) if named else f"{self.git_dir}/index"

    # History.

    def has(self, commit: CommitId) -> bool:
        """Whether a commit is in the repository (it may have been pruned)."""
        return run(self.folder, ["cat-file", "-e", f"{commit}^{{commit}}"]).status == 0

    def is_shallow(self) -> bool:
        """Whether the history that is here was cut off."""
        return (self.common_dir / "shallow").exists()

    def shallow_commits(self) -> frozenset[CommitId]:
        """The commits at which a shallow history was cut off."""
        return frozenset(CommitId(name) for name in (self.common_dir / "shallow").read_text().split()) if self.is_shallow() else frozenset()

    def is_ancestor(self, commit: CommitId) -> bool:
        """Whether a commit is in the history of HEAD."""
        return run(self.folder, ["merge-base", "--is-ancestor", commit, "HEAD"]).status == 0

    def commit_named(self, word: str) -> CommitId | None:
        """The commit that a word names in git's way; None where there is none."""
        if not word.isprintable():  # no name holds control characters, and no process takes NUL or a half of a surrogate pair
            return None
        found = run(self.folder, ["rev-parse", "-q", "--verify", "--end-of-options", f"{word}^{{commit}}"])
        return CommitId(found.output.decode().strip()) if found.status == 0 else None


def raw_date(moment: datetime) -> str:
    """A moment in git's raw form: seconds since 1970 and the offset of its zone."""
    return f"@{int(moment.timestamp())} {moment.strftime('%z')[:5]}"
