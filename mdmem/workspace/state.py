"""State folders: where this user's state of a repository is, and whether their mdmem made it.

State (index, trail, records of crashes) lies in git's folder, and git's folder may have come from
elsewhere, with a state that says what it likes. So each home of state (`mdmem/`, with a folder for
each workspace) holds a random id, and a file in the user's own state folder lists the ids that
their mdmem made. A home that is not listed is emptied before anything in it is read. Where another
user owns git's folder, or it cannot be written, the home is in the user's own state folder.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from mdmem.folder import config, files
from mdmem.model.errors import MdmemError, StorageProblem
from mdmem.repo import Repository

HOME_NAME = "mdmem"
_ID_NAME = "id"
_LIST_NAME = "state-ids"
_LIST_LOCK = "state-ids.lock"
_ELSEWHERE_NAME = "states"
_ID_BYTES = 16
_MARK_DIGITS = 16
_MOST_IDS = 1000
_MOST_LIST_BYTES = 65_536
_LOCK_SECONDS = 10.0
_PREFIX_NAME = "workspace"
"""The file in each workspace's folder with its path in the work tree."""
_PRIVATE_FILE = 0o600
_SHARED_MODES = {"group": 0o660, "true": 0o660, "1": 0o660, "yes": 0o660, "on": 0o660}
_SHARED_MODES |= dict.fromkeys(("all", "world", "everybody", "2"), 0o664)
"""Values of `core.sharedRepository` → mode of a file; git-config(1)."""


def home(
    repository: Repository, environment: Mapping[str, str], is_kept: Callable[[], bool]
) -> Path:
    """The folder with this user's states of a work tree; it may not exist yet.

    What the user's mdmem did not list is removed first, unless it is to be kept and listed.
    """
    return _home(repository.git_dir, environment, is_kept)


def homes(repository: Repository, environment: Mapping[str, str]) -> list[Path]:
    """The folders with this user's states of all work trees."""
    return [_home(each, environment, lambda: False) for each in _git_folders(repository)]


def _git_folders(repository: Repository) -> list[Path]:
    """Git's own folders of all work trees."""
    linked = sorted(repository.common_dir.glob("worktrees/*"))
    return [repository.common_dir, *filter(_is_folder, linked)]


def keep(repository: Repository, environment: Mapping[str, str]) -> None:
    """List the states of a repository's work trees as they are, which an older version made."""
    for folder in _git_folders(repository):
        if _is_folder(folder / HOME_NAME):
            _home(folder, environment, lambda: True)


def make(folder: Path, repository: Repository, environment: Mapping[str, str]) -> None:
    """Make a workspace's state folder, and write into it which workspace it is for.

    Raises OSError, StorageProblem.
    """
    prefix, own_home = folder / _PREFIX_NAME, folder.parent
    while not prefix.exists():
        if own_home == repository.git_dir / HOME_NAME:
            _list(own_home, environment, lambda: False)
            _share(own_home, repository)
        files.make_folders(folder, files.PRIVATE_FOLDER)
        new = folder / files.temporary_name()
        data = repository.prefix.encode("utf-8", "surrogateescape")
        files.write_durably(new, data, _PRIVATE_FILE)
        # A process that tidies up may have removed it as a leftover.
        with suppress(FileNotFoundError):
            new.replace(prefix)


def workspace_folder(own_home: Path, prefix: str) -> Path:
    """The state folder of the workspace with a path in the work tree (`Repository.prefix`)."""
    if not prefix:
        return own_home / "root"
    word = "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in prefix).split())[:40]
    digest = hashlib.sha256(prefix.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return own_home / f"{word}-{digest}"


def is_made(folder: Path) -> bool:
    """True if a workspace's state folder has been made."""
    return (folder / _PREFIX_NAME).is_file()


def prefixes(own_home: Path) -> list[str]:
    """The paths in the work tree of the workspaces with a state there."""
    return [
        path.read_text(encoding="utf-8", errors="surrogateescape")
        for path in sorted(own_home.glob(f"*/{_PREFIX_NAME}"))
    ]


def write_lock(folder: Path, repository: Repository) -> Path:
    """The file whose lock orders the writers of a workspace, of all users.

    With `core.sharedRepository` it is beside the state folder, with git's mode. Else it is in the
    folder, where older versions take it too. Raises OSError, StorageProblem.
    """
    own = repository.git_dir / HOME_NAME / folder.name
    if mode := _shared_mode(repository):
        path = own.with_name(f"{own.name}.lock")
        with suppress(FileExistsError):
            own.parent.mkdir()
            _share(own.parent, repository)
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            os.fchmod(descriptor, mode)
            os.close(descriptor)
        return path
    if own.parent.is_dir() and not os.access(own.parent, os.X_OK):
        raise StorageProblem(
            f"another user's mdmem writes in {repository.root}",
            "To share the repository: git config core.sharedRepository group",
        )
    return (own if own.is_dir() else folder) / files.LOCK_NAME


def share(path: Path, repository: Repository) -> None:
    """Give a file in git's folder the mode that `core.sharedRepository` names."""
    if mode := _shared_mode(repository):
        path.chmod(mode)


# Whose it is.


def _home(git_dir: Path, environment: Mapping[str, str], is_kept: Callable[[], bool]) -> Path:
    own = git_dir / HOME_NAME
    status = _status(own)
    owner = status or _status(git_dir)
    if owner is not None and owner.st_uid != os.geteuid():
        return _elsewhere(git_dir, environment)
    if status is None:
        folder = config.user_state_folder(environment)
        return own if folder and _is_writable(folder) else _elsewhere(git_dir, environment)
    try:
        _list(own, environment, is_kept)
    except (OSError, MdmemError):
        return _elsewhere(git_dir, environment)
    return own


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _is_writable(folder: Path) -> bool:
    """True if a folder can be written, or made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _elsewhere(git_dir: Path, environment: Mapping[str, str]) -> Path:
    """The home in the user's own state folder; in a private temporary one if that is read-only.

    It is named by git's folder, its inode included: another repository at its path has another one.
    """
    folder = config.user_state_folder(environment)
    if folder is None or not _is_writable(folder):
        temporary = Path("/tmp", environment.get("TMPDIR", ""), f"mdmem-state-{os.geteuid()}")
        with suppress(OSError):
            temporary.mkdir(files.PRIVATE_FOLDER)
        status = _status(temporary)
        if status and (status.st_uid, status.st_mode) == (os.geteuid(), stat.S_IFDIR | 0o700):
            folder = temporary
    status = _status(git_dir)
    names = f"{os.path.realpath(git_dir)}\0{status.st_ino if status else 0}"
    place = hashlib.sha256(os.fsencode(names)).hexdigest()[:32]
    return (folder or Path(os.devnull)) / _ELSEWHERE_NAME / place


def _list(own_home: Path, environment: Mapping[str, str], is_kept: Callable[[], bool]) -> None:
    """List a home, if it is not; unless it is to be kept, it is emptied first.

    Raises OSError, StorageProblem, RepositoryProblem (`busy`).
    """
    folder = config.user_state_folder(environment)
    if folder is None:
        raise StorageProblem("no home is known for mdmem's state", "Set HOME.")
    list_path = folder / _LIST_NAME
    if _is_listed(own_home, list_path):
        return
    files.make_folders(folder, files.PRIVATE_FOLDER)
    with files.lock(folder / _LIST_LOCK, _LOCK_SECONDS):
        if _is_listed(own_home, list_path):
            return
        if is_kept():
            _make_private(own_home)
        else:
            _empty(own_home)
        new_id = os.urandom(_ID_BYTES).hex()
        files.write_record(own_home / _ID_NAME, new_id)
        lines = (_read(list_path, _MOST_LIST_BYTES) or b"").splitlines()[1 - _MOST_IDS :]
        lines.append(b" ".join(marks(new_id.encode(), own_home)))
        files.write_record(list_path, b"\n".join(lines).decode("ascii", "replace") + "\n")


def _is_listed(own_home: Path, list_path: Path) -> bool:
    # a link leads to a state that was made for another folder
    found = None if own_home.is_symlink() else _read(own_home / _ID_NAME, _ID_BYTES * 2)
    listed = _read(list_path, _MOST_LIST_BYTES) if found else None
    return bool(found and listed and any(mark in listed for mark in marks(found, own_home)))


def marks(state_id: bytes, own_home: Path) -> tuple[bytes, bytes]:
    """Two digests for the list: of an id with the folder's path, and with its inode.

    A copy elsewhere has neither, so that what others did to a copy is not believed.
    """
    status = own_home.stat()
    places = (os.fsencode(os.path.realpath(own_home)), b"%d:%d" % (status.st_dev, status.st_ino))
    path, inode = (
        hashlib.sha256(state_id + b" " + place).hexdigest()[:_MARK_DIGITS].encode()
        for place in places
    )
    return path, inode


def _read(path: Path, most: int) -> bytes | None:
    """The bytes of a small plain file; None where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        is_plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
        data = os.read(descriptor, most + 1) if is_plain else b""
    finally:
        os.close(descriptor)
    return data if is_plain and len(data) <= most else None


# What is in it.


def _empty(own_home: Path) -> None:
    """Remove all but the locks: a process of an older version may hold one. Raises OSError."""
    status = _status(own_home)
    if status is not None and not stat.S_ISDIR(status.st_mode):
        own_home.unlink()
    files.make_folders(own_home, files.PRIVATE_FOLDER)
    own_home.chmod(files.PRIVATE_FOLDER)
    if _is_folder(own_home / _ID_NAME):
        files.remove_tree(own_home / _ID_NAME)
    with ExitStack() as held:
        for folder in _folders(own_home):
            folder.chmod(files.PRIVATE_FOLDER)
            if _is_lock(folder / files.LOCK_NAME):
                held.enter_context(files.lock(folder / files.LOCK_NAME, _LOCK_SECONDS))
        for folder in (own_home, *_folders(own_home)):
            for path in folder.iterdir():
                if _is_folder(path):
                    if folder != own_home:
                        files.remove_tree(path)
                elif not _is_lock(path):
                    path.unlink()


def _folders(own_home: Path) -> Iterator[Path]:
    return (path for path in own_home.iterdir() if _is_folder(path))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_lock(path: Path) -> bool:
    status = _status(path)
    is_named = path.name == files.LOCK_NAME or path.suffix == ".lock"
    return is_named and status is not None and stat.S_ISREG(status.st_mode)


def _make_private(own_home: Path) -> None:
    """Take what an older version made from the eyes of other users."""
    for folder, _, _ in os.walk(own_home):
        Path(folder).chmod(files.PRIVATE_FOLDER)
        files.make_private(Path(folder))


def _shared_mode(repository: Repository) -> int | None:
    """The mode of files in a shared repository; None in any other."""
    value = (repository.setting("core.sharedRepository") or "").casefold()
    if value.startswith("0") and value.isdecimal() and set(value) <= set("01234567"):
        mode = int(value, 8)
        return mode if mode & 0o060 == 0o060 else None
    return _SHARED_MODES.get(value)


def _share(own_home: Path, repository: Repository) -> None:
    """Let the users of a shared repository take the locks in a home."""
    if mode := _shared_mode(repository):
        own_home.chmod(stat.S_ISGID | mode | (mode & 0o444) >> 2)
