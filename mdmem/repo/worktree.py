"""A work tree: its files, what is committed and what is staged."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path

from mdmem.folder.layout import is_markdown
from mdmem.model import SETTINGS_NAME, CommitId, FilePath
from mdmem.model.errors import RepositoryProblem, shell_word
from mdmem.repo import git_files
from mdmem.repo.runner import (
    MARKDOWN,
    READ_SECONDS,
    GitResult,
    literal_pathspecs,
    parse_paths,
    run,
    setting,
)
from mdmem.startup import late
from mdmem.startup.records import dataclass, replace

STATING = "Mdmem-", "This reverts commit "
"""Words of messages that may state something of facts, whatever their commits change."""
_FEW_COMMITS = 50
_NAMES_FOLLOW = "\x01"
_SQUASHED = late.pattern(rb"(?m)^commit ([0-9a-f]{40,64})$")
_OBJECT = late.pattern(rb"^[0-9a-f]{40,64} ([a-z]+) (\d+)$")


@dataclass(frozen=True, slots=True)
class Identity:
    """Author and committer of a commit in a repository that has none configured."""

    name: str
    email: str

    def variables(self, role: str) -> dict[str, str]:
        return {f"GIT_{role}_NAME": self.name, f"GIT_{role}_EMAIL": self.email}


FALLBACK_IDENTITY = Identity("mdmem", "mdmem@localhost")
"""Of the commits of somebody whom git does not know."""


@dataclass(frozen=True, slots=True)
class PathState:
    """The state of HEAD and of one path; None: an unborn branch's `commit`, a detached `branch`.

    `tracked`: the file exists and is in git's index. `settled`: HEAD, index and disk hold the same
    of it, and nothing at all is staged or unmerged; False means that this is not known. `bits` tell
    git not to look at the file (see `read_bits`).
    """

    commit: CommitId | None
    branch: str | None
    pending: bool
    ignored: bool
    tracked: bool
    settled: bool = False
    bits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A staged change: a file's bytes in HEAD and in the index, None where it is missing."""

    path: FilePath
    renamed_from: FilePath | None
    before: bytes | None
    after: bytes | None


def path_below(root: str, folder: str) -> str:
    """The path below a root as git writes prefixes: `sub/`, or empty for the root."""
    return f"{folder.removeprefix(root).strip('/')}/".removeprefix("/")


def _unreadable_branch() -> RepositoryProblem:
    hint = "For details: git fsck. The last commit is in git reflog."
    return RepositoryProblem("broken-repository", "the branch that HEAD names cannot be read", hint)


@dataclass(frozen=True, slots=True)
class Repository:
    """One work tree seen from the workspace `folder`; `prefix` leads there (`sub/` or empty).

    Where `is_simple`, git's own files are read without starting git (`git_files`).
    `barred_filters` are those of the repository's own settings: they may come from a stranger, so
    git starts none of them, until somebody who may decides that it does (`trusted`).
    """

    folder: Path
    root: Path
    git_dir: Path
    common_dir: Path
    prefix: str
    is_simple: bool
    barred_filters: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    """Where git keeps objects that are not let in yet: added to its environment."""

    def trusted(self) -> Repository:
        """The same repository, whose own filters git starts: adopted, or a person writes here."""
        return replace(self, barred_filters=()) if self.barred_filters else self

    def at_folder(self, folder: Path) -> Repository:
        """The same work tree, seen from another folder in it; the folder need not exist."""
        return replace(self, folder=folder, prefix=path_below(str(self.root), str(folder)))

    def at_root(self) -> Repository:
        return self.at_folder(self.root)

    def command_line(self, command: str) -> str:
        """A command of git for this repository, as it can be typed in the current folder."""
        path = self.root
        with suppress(FileNotFoundError):  # the current folder is gone
            here = Path.cwd()
            around = (each for each in (here, *here.parents) if (each / ".git").exists())
            if next(around, None) == path:
                return command
            path = path.relative_to(here) if here in path.parents else path
        return command.replace("git", f"git -C {shell_word(path)}", 1)

    @property
    def hooks_dir(self) -> Path:
        return (
            self.folder
            / os.fsdecode(self.git("rev-parse", "--git-path", "hooks").removesuffix(b"\n"))
        ).resolve()

    @property
    def known_hooks_dir(self) -> Path | None:
        """The folder where git looks for hooks; None where only git can tell."""
        settings = self._settings()
        return (
            self.git_dir / "hooks" if settings and not settings.has(b"core", b"hookspath") else None
        )

    def run(self, *arguments: str) -> GitResult:
        extra = dict(self.variables)
        return run(self.folder, arguments, extra=extra, without_filters=self.barred_filters)

    def git(
        self,
        *arguments: str,
        text: bytes = b"",
        extra: Mapping[str, str] | None = None,
        seconds: float = READ_SECONDS,
    ) -> bytes:
        """Run git. Raises RepositoryProblem (`git-failed`, `git-timeout`, `missing-history`)."""
        barred, extra = self.barred_filters, dict(self.variables) | dict(extra or {})
        result = run(self.folder, arguments, text, extra, seconds, without_filters=barred)
        if result.status or result.lacks_objects:
            raise result.failure(arguments[0])
        return result.output

    # Settings, HEAD, and the state of files.

    def setting(self, name: str) -> str | None:
        """The value of one of git's settings; None where it is not set."""
        settings, key = self._settings(), git_files.setting_key(name)
        value = settings.values.get(key, b"") if settings else None
        if settings is None or value is None:
            return setting(self.folder, name)
        return value.decode("utf-8", "replace") if settings.has(*key) else None

    def _settings(self) -> git_files.GitSettings | None:
        return git_files.read_settings(str(self.git_dir)) if self.is_simple else None

    def person(self, role: str) -> bytes | None:
        """The AUTHOR, or the COMMITTER, as `NAME <EMAIL>`; None where git has to be asked."""
        settings = self._settings()
        return settings.person(role) if settings else None

    def identity_known(self) -> bool:
        """True if author and committer are configured; git's guess by host does not count."""
        settings = self._settings()
        if settings and settings.person("AUTHOR") and settings.person("COMMITTER"):
            return True
        result = run(
            self.folder,
            [
                "config",
                "-z",
                "--get-regexp",
                r"^((user|author|committer)\.(name|email)|user\.useconfigonly)$",
            ],
        )
        pairs = (entry.partition(b"\n") for entry in result.output.split(b"\0"))
        values = {
            name.decode().lower(): value.strip() if equals else None
            for name, equals, value in pairs
        }
        may_use_email = git_files.is_off(values.get("user.useconfigonly", b""))

        def is_set(role: str, part: str) -> bool:
            variables = (
                f"GIT_{role.upper()}_{part.upper()}",
                *(("EMAIL",) if part == "email" and may_use_email else ()),
            )
            return any(
                (
                    *map(os.environ.get, variables),
                    values.get(f"{role}.{part}"),
                    values.get(f"user.{part}"),
                )
            )

        return all(
            is_set(role, part) for role in ("author", "committer") for part in ("name", "email")
        )

    def user_addresses(self) -> frozenset[str]:
        """The user's case-folded e-mail addresses, by git.

        The repository's own settings, which may come from elsewhere, count only without others.
        """
        return self.machine_addresses() or self.committing_addresses() | {FALLBACK_IDENTITY.email}

    def machine_addresses(self) -> frozenset[str]:
        """The case-folded e-mail addresses in git's environment and settings for all repositories.

        Settings of the user's that git includes for this repository are among them.
        """
        settings = git_files.read_settings(None)
        configured = settings.addresses() if settings else None
        if configured is None:
            configured = self._configured_addresses()
        return _folded([*configured, *map(os.fsencode, git_files.address_variables())])

    def _configured_addresses(self) -> list[bytes]:
        pattern = r"^(user|author|committer)\.email$"
        words = run(self.folder, ["config", "-z", "--show-scope", "--get-regexp", pattern]).output
        *fields, _ = words.split(b"\0")
        pairs = zip(fields[::2], fields[1::2], strict=False)
        return [
            value.partition(b"\n")[2]
            for scope, value in pairs
            if scope not in (b"local", b"worktree")
        ]

    def committing_addresses(self) -> frozenset[str]:
        """The case-folded e-mail addresses of author and committer of a commit made here."""
        settings = self._settings()
        people = [settings and settings.person(role) for role in ("AUTHOR", "COMMITTER")]
        if not all(people):
            idents = (
                run(self.folder, ["var", f"GIT_{role}_IDENT"]) for role in ("AUTHOR", "COMMITTER")
            )
            people = [ident.output for ident in idents if ident.status == 0]
        return _folded(person.rpartition(b"<")[2].partition(b">")[0] for person in people if person)

    def head(self) -> CommitId | None:
        """The commit that HEAD names; None on an unborn branch."""
        if head := self._head():
            return head[1]
        result = self.run("rev-parse", "-q", "--verify", "HEAD^{commit}")
        return CommitId(result.output.decode().strip()) if result.status == 0 else None

    def _head(self) -> tuple[str | None, CommitId | None] | None:
        return git_files.read_head(str(self.git_dir)) if self.is_simple else None

    def branch(self) -> str | None:
        """HEAD's branch; None: detached. Raises RepositoryProblem (`broken-repository`)."""
        if head := self._head():
            return head[0]
        result = run(self.folder, ["symbolic-ref", "-q", "HEAD"])
        if result.status not in (0, 1):
            raise _unreadable_branch()
        return (
            result.output.decode("utf-8", "replace").strip().removeprefix("refs/heads/")
            if result.status == 0
            else None
        )

    def state(self, path: FilePath) -> PathState:
        """The state of HEAD and of one path. Raises RepositoryProblem (`broken-repository`)."""
        return self._settled_state(path) or self._status_state(path)

    def _settled_state(self, path: FilePath) -> PathState | None:
        head = self._head()
        if (
            head is None
            or head[1] is None
            or (tree := git_files.tree_of(str(self.git_dir), head[1])) is None
        ):
            return None
        root_path = f"{self.prefix}{path}"
        full_path = self.root / root_path
        try:
            mode = full_path.lstat().st_mode
            if not stat.S_ISREG(mode) or os.path.realpath(full_path) != str(full_path):
                return None
            data = full_path.read_bytes()
        except OSError:
            return None
        git_dir, name = str(self.git_dir), os.fsencode(root_path)
        if git_files.may_be_converted(git_dir, str(self.root), name, data):
            return None
        blob = git_files.object_id(b"blob", data)
        if not git_files.is_clean(git_dir, tree, name, blob, bool(mode & stat.S_IXUSR)):
            return None
        return PathState(
            commit=head[1], branch=head[0], pending=False, ignored=False, tracked=True, settled=True
        )

    def _status_state(self, path: FilePath) -> PathState:
        output = self.git(
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--ignored=matching",
            "--no-renames",
            "--ignore-submodules=all",
            "--",
            *literal_pathspecs([path]),
        )
        commit: CommitId | None = None
        branch: str | None = None
        kinds = set()
        differs_twice = False
        for line in output.split(b"\0"):
            if line.startswith(b"# branch.oid "):
                oid = line[13:].decode()
                commit = None if oid == "(initial)" else CommitId(oid)
            elif line.startswith(b"# branch.head "):
                name = line[14:].decode("utf-8", "replace")
                if name == "(unknown)":
                    raise _unreadable_branch()
                branch = None if name == "(detached)" else name
            else:
                kinds.add(line[:1])
                differs_twice |= line[:1] == b"1" and (b"." not in line[2:4] or line[2:4] == b"D.")
        pending = bool(kinds & {b"1", b"u", b"?"})
        if differs_twice:
            # After a commit whose index did not fit on the disk, the index alone differs, from HEAD
            # and from the file.
            pending = not self._is_as_committed(path)
        tracked = not kinds & {b"?", b"!"} and os.path.lexists(self.folder / path)
        bits: tuple[str, ...] = ()
        if git_files.may_be_overlooked(str(self.git_dir), os.fsencode(f"{self.prefix}{path}")):
            bits = read_bits(self.folder, [path]).get(path, ())
            pending = pending or (bool(bits) and not self._is_as_committed(path))
        return PathState(
            commit=commit,
            branch=branch,
            pending=pending,
            ignored=b"!" in kinds,
            tracked=tracked,
            bits=bits,
        )

    def _is_as_committed(self, path: FilePath) -> bool:
        stored = self.run("hash-object", "--", path)
        committed = self.run("rev-parse", "-q", "--verify", f"HEAD:{self.prefix}{path}")
        return stored.status == committed.status == 0 and stored.output == committed.output

    def under_way(self) -> str | None:
        operation = git_files.operation_under_way(str(self.git_dir))
        return f"{operation} is under way in this repository" if operation else None

    def require_ready(
        self, allow_detached: bool, branch: str | None, settled: bool = False
    ) -> None:
        """Refuse a commit during a merge or the like; `settled`: no file is unmerged.

        Raises RepositoryProblem (`repository-busy` or `detached-head`).
        """
        if under_way := self.under_way():
            raise RepositoryProblem(
                "repository-busy", under_way, "Finish or abort it first (git status)."
            )
        if not settled and self.git("ls-files", "-u", "-z"):
            raise RepositoryProblem(
                "repository-busy",
                "the repository has unmerged files",
                "Resolve them first (git status).",
            )
        if branch is None and not allow_detached:
            raise RepositoryProblem(
                "detached-head",
                "HEAD is detached: a commit would be on no branch",
                "git switch BRANCH first.",
            )

    def pending(self) -> list[FilePath]:
        """The paths of the workspace that differ from HEAD, new ones included, deleted ones too."""
        output = self.git(
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=all",
            "--",
            ".",
        )
        return [FilePath(line[3:].removeprefix(self.prefix)) for line in parse_paths(output)]

    def tracked(self, paths: Sequence[FilePath] = ()) -> set[FilePath]:
        """The tracked paths of the workspace, or those of `paths`."""
        return set(parse_paths(self.git("ls-files", "-z", "--", *literal_pathspecs(paths))))

    def read(self, commit: CommitId, paths: Sequence[FilePath]) -> dict[FilePath, bytes | None]:
        """The bytes of files in a commit; None where a file is not in it."""
        return dict(
            zip(paths, self.blobs([f"{commit}:{self.prefix}{path}" for path in paths]), strict=True)
        )

    def blobs(
        self,
        names: Sequence[str],
        extra: Mapping[str, str] | None = None,
        kind: bytes = b"blob",
    ) -> list[bytes | None]:
        """The bytes of blobs by any name that git takes (`COMMIT:PATH`, an id); None if missing.

        `kind`: of objects of another type.
        """
        if not names:
            return []
        text = os.fsencode("".join(f"{name}\n" for name in names if "\n" not in name))
        output = self.git("cat-file", "--batch", text=text, extra=extra)
        blobs: list[bytes | None] = []
        offset = 0
        for name in names:
            if "\n" in name:
                blobs.append(None)
                continue
            end = output.index(b"\n", offset)
            head = _OBJECT.match(output[offset:end])
            offset = end + 1
            if head is None:
                blobs.append(None)
                continue
            size = int(head[2])
            blobs.append(output[offset : offset + size] if head[1] == kind else None)
            offset += size + 1
        return blobs

    def contents(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Blobs by id. Raises RepositoryProblem (`broken-repository`: one is missing)."""
        contents: dict[str, bytes] = {}
        for name, data in zip(ids, self.blobs(ids), strict=True):
            if data is None:
                raise RepositoryProblem(
                    "broken-repository",
                    f"the object {name} is missing from the repository",
                    "For details: git fsck",
                )
            contents[name] = data
        return contents

    def last_commit(self, path: FilePath) -> CommitId | None:
        """The newest commit that touched a file; None where there is none."""
        result = run(self.folder, ["rev-list", "-1", "HEAD", "--", *literal_pathspecs([path])])
        return (
            CommitId(result.output.decode().strip())
            if result.status == 0 and result.output.strip()
            else None
        )

    def staged(self, index_file: str | None) -> list[StagedFile]:
        """The work tree's staged changes of Markdown, settings and attributes, by any name.

        `index_file`: the index that a hook names (`GIT_INDEX_FILE`).
        """
        extra = _index_variables(index_file)
        base = self.head() or self.git("hash-object", "-t", "tree", "--stdin").decode().strip()
        output = self.git(
            "diff-index",
            "--cached",
            "-z",
            "-M",
            "--name-status",
            "--no-ext-diff",
            base,
            extra=extra,
        )
        fields = iter(parse_paths(output))
        # In the commit and in the index; it may be in one of them alone.
        paths: list[tuple[FilePath, FilePath]] = []
        for status in fields:
            old = next(fields)
            paths.append((old, next(fields) if status.startswith("R") else old))
        paths = [
            (old, new)
            for old, new in paths
            if is_markdown(new)
            or is_markdown(old)
            or new.rpartition("/")[2] in (SETTINGS_NAME, ".gitattributes")
        ]
        blobs = self.blobs(
            [*(f"{base}:{old}" for old, _ in paths), *(f":{new}" for _, new in paths)], extra
        )
        before, after = blobs[: len(paths)], blobs[len(paths) :]
        return [
            StagedFile(new, old if old != new else None, *data)
            for (old, new), *data in zip(paths, before, after, strict=True)
        ]

    def known_to_git(self, paths: Sequence[FilePath], index_file: str | None) -> set[FilePath]:
        """The given paths, from the root, that HEAD or the index (as for `staged`) holds."""
        lookups = [(path, name) for path in paths for name in (f":{path}", f"HEAD:{path}")]
        blobs = self.blobs([name for _, name in lookups], _index_variables(index_file))
        return {path for (path, _), data in zip(lookups, blobs, strict=True) if data is not None}

    # History.

    def has(self, commit: CommitId) -> bool:
        return run(self.folder, ["cat-file", "-e", f"{commit}^{{commit}}"]).status == 0

    def squashed(self) -> CommitId | None:
        """The newest commit that `git merge --squash` has merged into the next commit, if any."""
        message = git_files.read_bytes(f"{self.git_dir}/SQUASH_MSG") or b""
        match = _SQUASHED.search(message)
        commit = CommitId(match[1].decode()) if match else None
        return commit if commit and self.has(commit) else None

    def is_shallow(self) -> bool:
        return (self.common_dir / "shallow").exists()

    def shallow_commits(self) -> frozenset[CommitId]:
        return (
            frozenset(
                CommitId(name) for name in (self.common_dir / "shallow").read_text("ascii").split()
            )
            if self.is_shallow()
            else frozenset()
        )

    def is_ancestor(self, commit: CommitId) -> bool:
        """True if a commit is in the history of HEAD."""
        return run(self.folder, ["merge-base", "--is-ancestor", commit, "HEAD"]).status == 0

    def has_commits(self, number: int) -> bool:
        """True if HEAD reaches so many commits that changed Markdown, or git cannot tell soon."""
        command = ("rev-list", "--count", f"-n{number}", "HEAD", "--", MARKDOWN)
        try:
            return int(self.git(*command, seconds=0.5)) >= number
        except RepositoryProblem as problem:
            return problem.code == "git-timeout"

    def concerns_memory(self, old: CommitId, new: CommitId) -> bool:
        """True if a commit that only one of two reaches changed Markdown, or may state something.

        True too where there are many, or git cannot tell soon.
        """
        command = ("log", f"-n{_FEW_COMMITS + 1}", "-m", "--no-renames", "--name-only", "-z")
        try:
            output = self.git(*command, f"--format={_NAMES_FOLLOW}%B", f"{old}...{new}", seconds=1)
        except RepositoryProblem:
            return True
        return (
            output.count(_NAMES_FOLLOW.encode()) > _FEW_COMMITS
            or any(words.encode() in output for words in STATING)
            or any(is_markdown(os.fsdecode(name)) for name in output.split(b"\0"))
        )

    def commit_named(self, reference: str) -> CommitId | None:
        """The commit that git knows by this name; None where there is none.

        What may be the beginning of an id is one, if a commit has it: for git a tag of that name,
        which anybody who may push can make, goes first.
        """
        # No name has control characters, and no process takes NUL or half a surrogate pair.
        if not reference.isprintable():
            return None
        digits = _BEGINNING_OF_ID.match(reference)
        if digits and len(digits[0]) not in _WHOLE_IDS:
            listed = run(self.folder, ["rev-parse", f"--disambiguate={digits[0]}"])
            objects = map(CommitId, listed.output.decode().split())
            commits = [each for each in islice(objects, _MOST_ALIKE) if self.has(each)]
            if len(commits) == 1:
                reference = commits[0] + reference[digits.end() :]
        result = run(
            self.folder,
            ["rev-parse", "-q", "--verify", "--end-of-options", f"{reference}^{{commit}}"],
        )
        return CommitId(result.output.decode().strip()) if result.status == 0 else None


_BEGINNING_OF_ID = late.pattern(r"[0-9a-f]{4,64}(?=[~^]|\Z)")
_WHOLE_IDS = (40, 64)
"""The digits of an id by SHA-1 and by SHA-256, which for git goes before any name."""
_MOST_ALIKE = 20
"""The objects of one beginning that are looked at; eight digits are one object's in practice."""
_LAST_DATE = 253_402_128_000
"""Two days before the year 10000, the first without a `date`, so that all zones have this one."""
_MOST_DIGITS = 12


def _index_variables(index_file: str | None) -> dict[str, str]:
    return {"GIT_INDEX_FILE": str(Path(index_file).absolute())} if index_file else {}


def raw_date(time: datetime) -> str:
    """A time in git's raw form: seconds since 1970 and the offset of its zone."""
    return f"@{int(time.timestamp())} {time.strftime('%z')[:5]}"


def _folded(addresses: Iterable[bytes]) -> frozenset[str]:
    folded = (address.decode("utf-8", "replace").strip().casefold() for address in addresses)
    return frozenset(address for address in folded if address)


def commit_seconds(text: str | bytes) -> int:
    """A commit's time in seconds since 1970, as git prints it; at most `_LAST_DATE`.

    Git prints whatever a commit has: nothing for a broken date, which is 0, and numbers of any
    length.
    """
    return min(int(text or 0), _LAST_DATE) if len(text) <= _MOST_DIGITS else _LAST_DATE


# Files that git passes over: ignored ones, and those it was told not to look at, for which the
# index has a bit each (`update-index --assume-unchanged`, `--skip-worktree`).

ASSUME_UNCHANGED, SKIP_WORKTREE = "assume-unchanged", "skip-worktree"


def ignored(folder: Path, paths: Iterable[FilePath]) -> set[FilePath]:
    """The given paths that git ignores and does not track. Raises RepositoryProblem."""
    # With `./` in front, because a name that begins with a colon would be a pathspec.
    text = "".join(f"./{path}\0" for path in paths)
    result = run(folder, ["check-ignore", "-z", "--stdin"], os.fsencode(text))
    if result.status not in (0, 1):
        raise result.failure("check-ignore")
    return {
        FilePath(os.fsdecode(path).removeprefix("./"))
        for path in result.output.split(b"\0")
        if path
    }


def ignored_paths(folder: Path) -> set[str]:
    """All that git ignores below a folder; folders with a slash. Raises RepositoryProblem."""
    return _list_files(folder, "--others", "--ignored", "--directory")


def markdown_not_ignored(folder: Path) -> set[str]:
    """The Markdown files below a folder that git would track. Raises RepositoryProblem."""
    return {path for path in _list_files(folder, "--cached", "--others") if is_markdown(path)}


def _list_files(folder: Path, *which: str) -> set[str]:
    result = run(folder, ["ls-files", "-z", "--exclude-standard", *which])
    if result.status != 0:
        raise result.failure("ls-files")
    return set(filter(None, os.fsdecode(result.output).split("\0")))


def read_bits(folder: Path, paths: Sequence[FilePath] = ()) -> Mapping[FilePath, tuple[str, ...]]:
    """The index bits of the files below a folder, or of `paths` only; none without bits."""
    listed = run(folder, ["ls-files", "-v", "-z", "--", *(literal_pathspecs(paths) or ["."])])
    lines = (line.partition(b" ") for line in listed.output.split(b"\0") if line)
    bits = {FilePath(os.fsdecode(path)): _bits_of(tag.decode()) for tag, _, path in lines}
    return {path: names for path, names in bits.items() if names}


def _bits_of(tag: str) -> tuple[str, ...]:
    return (
        *([ASSUME_UNCHANGED] if tag.islower() else []),
        *([SKIP_WORKTREE] if tag.upper() == "S" else []),
    )
