"""A workspace in a sealed world: actions in it, and snapshots of everything in it."""

import hashlib
import os
import struct
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import World
from kept_state import keep_state

from mdmem.memory import carry_out
from mdmem.model.errors import MdmemError
from mdmem.model.writes import Action, Change, EditSection, WriteOptions, WriteResult
from mdmem.purge import history_rewrite
from mdmem.repo import commits, discovery, worktree
from mdmem.workspace import Workspace, open_at

SEED = "# Memory\n\n## Work\n\n- works at Stripe\n\n## Home\n\n- lives in Oslo\n"
MARK, HAND = "- the mark of mdmem", "- a line of Ada's"
NOW = "2026-03-05T10:00:00"
TOKEN = "ghp_" + "Zq3vT8bN1xK6mW9cR4yF" + "7sJ2hD5gL0pA8uEi"
"""A secret, as a rule of `secrets` tells one; in pieces, so that this file holds none."""
STATE = Path(".git", "mdmem", "root")
"""The state folder of a workspace that is the whole work tree, relative to it."""


def _modes_count() -> bool:
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).chmod(0)
        try:
            Path(file.name).read_bytes()
        except PermissionError:
            return True
    return False


where_modes_count = pytest.mark.skipif(
    not _modes_count(), reason="this user may read and write everything"
)


@dataclass(frozen=True)
class TreeState:
    """A snapshot of everything that a refused command must leave as it was."""

    files: Mapping[str, bytes | str]
    index: str
    status: str
    head: str
    commit: str


@dataclass(frozen=True)
class Desk:
    """A workspace and the world that it is in."""

    world: World
    root: Path

    def git(self, *arguments: str | Path, check: bool = True) -> str:
        return self.world.git(self.root, *arguments, check=check).stdout

    def write(self, path: str, text: str | bytes) -> Path:
        full_path = self.root / path
        full_path.parent.mkdir(parents=True, exist_ok=True)
        full_path.write_bytes(text.encode() if isinstance(text, str) else text)
        return full_path

    def read(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    def commit(self, message: str = "by hand", *paths: str) -> str:
        self.git("add", *(paths or ["-A"]))
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head()

    def head(self) -> str:
        """The id of HEAD's commit, read without a process where that is simple."""
        try:
            head = (self.root / ".git" / "HEAD").read_text()
            return (self.root / ".git" / head.removeprefix("ref: ").strip()).read_text().strip()
        except OSError:
            return self.git("rev-parse", "HEAD").strip()

    def hook(self, name: str, text: str) -> Path:
        hook = (
            Path(self.git("rev-parse", "--path-format=absolute", "--git-path", "hooks").strip())
            / name
        )
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\n" + text + "\n")
        hook.chmod(0o755)
        return hook

    @property
    def workspace(self) -> Workspace:
        return open_at(self.root, os.environ)

    def apply(self, change: Change) -> WriteResult:
        return apply(self.workspace, change)

    def subjects(self, path: str = "") -> list[str]:
        """The subjects of the commits, newest first."""
        return self.git("log", "--format=%s", *(["--", path] if path else [])).splitlines()

    def tree_state(self) -> TreeState:
        status = self.git("status", "--porcelain=v2", "--branch", "-uall", check=False)
        return TreeState(
            files=_files(self.root, {".git"}),
            index=self.git("ls-files", "-s", check=False),
            status=status,
            # The status names HEAD's branch and commit; where there is none, they have to be asked
            # for.
            head="" if status else self.git("symbolic-ref", "-q", "HEAD", check=False),
            commit="" if status else self.git("rev-parse", "-q", "--verify", "HEAD", check=False),
        )

    def state(self) -> Mapping[str, bytes | str]:
        """The files in mdmem's own folder."""
        return _files(self.workspace.state.parent, set())


def _files(root: Path, skipped: set[str]) -> dict[str, bytes | str]:
    contents: dict[str, bytes | str] = {}
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in skipped]
        for name in (*names, *files):
            path = Path(folder, name)
            relative = str(path.relative_to(root))
            contents[relative] = (
                f"{path.lstat().st_mode:o}"
                if not path.is_file() or path.is_symlink()
                else path.read_bytes()
            )
    return contents


def apply(
    workspace: Workspace, change: Change, say: Callable[[str], None] = lambda _: None
) -> WriteResult:
    """Carry out a change as `Memory.apply` does, but for the event and the catch-up."""
    return carry_out(workspace, change, say)


def append(
    text: str = MARK, section: str | None = "Work", file: str | None = None, **options: Any
) -> EditSection:
    return EditSection(section, Action.APPEND, text, file=file, options=WriteOptions(**options))


_COMMITTED: dict[str, Mapping[str, bytes | str]] = {}
"""The files that `desk` added to a repository, by all that it was made from: git makes the same of
the same, so that it is asked once.
"""


def desk(world: World, repository: Path, folder: str = "", seed: str = SEED) -> Desk:
    """A workspace in `folder` of the repository, committed."""
    root = repository / folder
    root.mkdir(parents=True, exist_ok=True)
    at = Desk(world, root)
    dates = {name: value for name, value in world.environment.items() if name.endswith("_DATE")}
    before = _files(repository, set())
    made_from = repr((folder, seed, dates, _files(world.home, set()), before))
    if made_from in _COMMITTED:
        _put_committed(repository, _COMMITTED[made_from])
        return at
    at.write("MEMORY.md", seed)
    at.git("add", "-A")
    at.git("commit", "-q", "-m", "seed")
    if ".git/HEAD" in before:
        _COMMITTED[made_from] = {
            name: data
            for name, data in _files(repository, set()).items()
            if before.get(name) != data
        }
    return at


def _put_committed(repository: Path, files: Mapping[str, bytes | str]) -> None:
    """Put what was committed into a repository, the files older than its index."""
    then = time.time_ns() - 10**9
    for name, data in files.items():
        path = repository / name
        if isinstance(data, str):
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(data)
            os.utime(path, ns=(then, then))
    match_index(repository)


def match_index(repository: Path) -> None:
    """Write into the index of a copied repository what the system says of its files, as `git add`
    would where none has changed; its state counts as this user's.
    """
    keep_state(repository)
    index = bytearray((repository / ".git" / "index").read_bytes()[:-20])
    entry = 12
    for _ in range(int.from_bytes(index[8:12], "big")):
        name_end = index.index(0, entry + 62)
        info = (repository / index[entry + 62 : name_end].decode()).lstat()
        times = (
            part
            for time_ns in (info.st_ctime_ns, info.st_mtime_ns)
            for part in divmod(time_ns, 10**9)
        )
        struct.pack_into(">6L", index, entry, *times, info.st_dev % 2**32, info.st_ino % 2**32)
        entry += (name_end - entry + 8) // 8 * 8
    (repository / ".git" / "index").write_bytes(bytes(index) + hashlib.sha1(index).digest())


def without_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on no state can be written: neither the user's list of it, nor a temporary one."""
    for name in ("XDG_STATE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, os.devnull)


def gits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The verbs of the git processes that are started from now on."""
    run, started = commits.run, []

    def counted(folder: Path, arguments: list[str], *rest: Any, **named: Any) -> Any:
        started.append(
            next(word for word in arguments if not word.startswith("-") and "=" not in word)
        )
        return run(folder, arguments, *rest, **named)

    for module in (commits, discovery, history_rewrite, worktree):
        monkeypatch.setattr(module, "run", counted)
    return started


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(MdmemError) as failure:
        action()
    assert failure.value.message
    return failure.value.code


def refused(at: Desk, change: Change, code: str) -> None:
    """Assert that a change is refused with `code`, and that nothing at all is changed."""
    before = at.tree_state()
    assert code_of(lambda: at.apply(change)) == code
    assert at.tree_state() == before


def leave_pending_edit(at: Desk, file: str, way: str) -> None:
    """Leave an edit of a person's in a file, not committed."""
    text = SEED.replace("- works at Stripe\n", f"- works at Stripe\n{HAND}\n")
    match way:
        case "edited":
            at.write(file, text)
        case "staged":
            at.write(file, text)
            at.git("add", file)
        case "staged and edited again":
            at.write(file, text + "\nstaged\n")
            at.git("add", file)
            at.write(file, text)
        case "intended":
            at.git("add", "-N", file)
