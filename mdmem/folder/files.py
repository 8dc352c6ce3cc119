"""Files on disk: safe reading, atomic replacement, locks."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from zlib import crc32

from mdmem.model import MAX_FILE_BYTES, FilePath
from mdmem.model.errors import PathProblem, RepositoryProblem, StorageProblem

NOTICE_SECONDS = 1.0
NOTICE = "waiting for another mdmem to finish"
LOCK_NAME = "lock"
INDEX_LOCK, QUEUE_LOCK, TRAIL_LOCK, MESSAGES_LOCK = (
    "index.lock",
    "queue.lock",
    "trail.lock",
    "messages.lock",
)
"""Held to update the index, to wait for that, and to change the trail or the messages."""
SYNC_QUEUE_LOCK = "sync-queue.lock"
"""Held by the process that waits for a quiet moment to sync."""
SYNC_STATE = "sync.json"
SYNC_NEWS = "sync-news"
"""Exists while a sync has brought in what the user was not told of at the start of a session."""
VECTORS_LOCK = "vectors.lock"
SIGNATURES_LOCK = "signatures.lock"
_MOST_CHECKED_BYTES = 1_000_000_000
RACY_NS = 20_000_000
"""A file changed less than this before it was read may change again without another stamp."""
TEMPORARY_PREFIX = ".mdmem-"
PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS)
_LOCKS_HINT = (
    "Move git's folder to a disk that has them (git init --separate-git-dir DIR), or mount this one"
    " with them (NFS: local_lock=flock)."
)
_AT_FDCWD, _RENAME_NOREPLACE, _RENAME_EXCHANGE = -100, 1, 2


def wait_for_lock(descriptor: int, timeout: float, waiting: Callable[[str], None] | None) -> bool:
    """Queue for a lock, which the system hands on in turn; True if acquired in time.

    flock(2) has no time limit, so a thread waits, with a descriptor of its own for the same open
    file: this one may be closed, and its number reused, before the thread runs. A thread that waits
    in vain ends with the process, or gets the lock and releases it at once.
    """
    if timeout <= 0:
        return False
    acquired = threading.Event()
    duplicate = os.dup(descriptor)

    def wait() -> None:
        try:
            fcntl.flock(duplicate, fcntl.LOCK_EX)
        finally:
            os.close(duplicate)
        acquired.set()

    threading.Thread(target=wait, daemon=True).start()
    if acquired.wait(min(timeout, NOTICE_SECONDS)):
        return True
    if timeout <= NOTICE_SECONDS:
        return False
    if waiting:
        waiting(NOTICE)
    return acquired.wait(timeout - NOTICE_SECONDS)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def path_on_disk(root: Path, path: FilePath, may_be_folder: bool = False) -> Path:
    """A workspace path on disk, existing or not, without a symbolic link.

    Raises PathProblem (`bad-path`: a symbolic link, a folder (unless it may be one), a device, or a
    part above it that is no folder, or another repository).
    """
    full_path = root
    parts = path.split("/")
    for number, part in enumerate(parts):
        full_path = full_path / part
        try:
            mode = full_path.lstat().st_mode
        except FileNotFoundError:
            continue
        except OSError as problem:
            raise PathProblem("bad-path", f"{path}: {problem.strerror}") from problem
        last = number == len(parts) - 1
        if stat.S_ISLNK(mode):
            raise PathProblem(
                "bad-path",
                f"{path}: {part!r} is a symbolic link",
                "Name the file that it points to.",
            )
        if not last and not stat.S_ISDIR(mode):
            raise PathProblem("bad-path", f"{path}: {part!r} is not a folder")
        if not last and (full_path / ".git").exists():
            raise PathProblem(
                "bad-path",
                f"{path}: {part!r} is a repository of its own",
                "Go there for its files.",
            )
        if last and not stat.S_ISREG(mode) and not (may_be_folder and stat.S_ISDIR(mode)):
            raise PathProblem("bad-path", f"{path} is not a regular file")
    return full_path


def read(path: Path, most: int = MAX_FILE_BYTES) -> bytes | None:
    """The bytes of a regular file, None where there is no such file.

    Raises PathProblem (`bad-path` or `unsupported-file`: not regular, readable, or small enough).
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as problem:
        raise PathProblem(
            "unsupported-file", f"{path.name} cannot be read: {problem.strerror}"
        ) from problem
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENXIO):  # a symbolic link; a socket
            raise PathProblem("bad-path", f"{path.name} is not a regular file") from problem
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PathProblem("bad-path", f"{path.name} is not a regular file")
        if status.st_size > most:
            raise PathProblem(
                "unsupported-file",
                f"{path.name} has {status.st_size:,} bytes; the maximum is {most:,}",
                "Split it.",
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def fingerprint(path: Path) -> str | None:
    """A file's SHA-256 as hex; empty where it is not regular or readable, None where missing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def stamp(path: str) -> tuple[int, int, int, int, int] | None:
    """A file's times of data and inode (ns), size, inode, device, links followed; None: missing."""
    try:
        # A path object takes longer to make than the answer.
        return stamp_of(os.stat(path))  # noqa: PTH116
    except (OSError, ValueError):
        return None


def stamp_of(status: os.stat_result) -> tuple[int, int, int, int, int]:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev


def identity(path: str) -> tuple[int, int, int] | None:
    """Inode, device and kind of a name, links not followed; None where there is none."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_dev, stat.S_IFMT(status.st_mode)


def sync(path: Path) -> None:
    """Make the content of a file durable, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all(folder: Path) -> None:
    for inner, _, names in os.walk(folder):
        for path in (Path(inner) / name for name in names):
            if stat.S_ISREG(path.lstat().st_mode):
                sync(path)
        sync(Path(inner))


def make_folders(folder: Path, mode: int = 0o777) -> tuple[Path, ...]:
    """Create a folder and those above it, durably; return the created ones, outermost first.

    Git's own folder is never made: the repository has been moved or removed. Raises
    FileNotFoundError for that.
    """
    missing = []
    while not folder.exists():
        if folder.name == ".git":
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
        missing.append(folder)
        folder = folder.parent
    created = tuple(reversed(missing))
    for new in created:
        new.mkdir(mode, exist_ok=True)
        sync(new.parent)
    return created


def make_private(folder: Path) -> None:
    """Take the files in a folder from the eyes of other users."""
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
                Path(entry).chmod(_PRIVATE_FILE)


def temporary_name() -> str:
    return f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}.tmp"


def backup_name(temporary: str) -> str:
    """The second temporary file, which undoes a failed write; maybe incomplete after success."""
    return f"{temporary.removesuffix('.tmp')}.back.tmp"


def write_durably(path: Path, data: bytes, mode: int | None = None) -> None:
    """Create a file, fsynced, or nothing; with `mode` None the umask decides."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


def write_record(path: Path, text: str) -> None:
    """Write a file that a later process must find: atomically, durably, for its owner alone."""
    new = path.with_name(temporary_name())
    write_durably(new, text.encode(), 0o600)
    new.rename(path)
    sync(path.parent)


def write_checked(path: Path, text: str) -> None:
    """`write_cache` with a checksum, for `read_checked`; `text` is ASCII."""
    write_cache(path, f"{crc32(text.encode())}\n{text}")


def read_checked(path: Path) -> str | None:
    """The text that `write_checked` wrote; None where it is not there, or no longer whole."""
    try:
        checksum, _, text = (read(path, _MOST_CHECKED_BYTES) or b"").partition(b"\n")
    except (OSError, PathProblem):
        return None
    return text.decode() if checksum == str(crc32(text)).encode() else None


def write_cache(path: Path, text: str) -> None:
    """Write a file on which nothing depends: atomically, not fsynced, for its owner alone."""
    new = path.with_name(temporary_name())
    try:
        new.write_text(text, encoding="utf-8")
        new.chmod(0o600)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def prepare(path: Path, data: bytes, temporary: str) -> None:
    """Write the temporary file for a later `replace`, with the mode of its target."""
    try:
        mode: int | None = stat.S_IMODE(path.lstat().st_mode)
    except FileNotFoundError:
        mode = None
    write_durably(path.parent / temporary, data, mode)


def replace(
    path: Path,
    data: bytes,
    expected: bytes | None,
    temporary: str,
    is_prepared: bool = False,
    syncs: bool = True,
) -> bool:
    """Replace a file's bytes, durably; False if it does not hold `expected` (None: missing).

    Without `syncs` the caller makes the names in the folder durable.

    If the system can exchange two names, the displaced file is read again: a save of the last
    moment is put back, not lost, whatever ends this. Otherwise there is a window between the last
    read and the rename.
    """
    new = path.parent / temporary
    try:
        if not is_prepared:
            prepare(path, data, temporary)
        done = read(path, max(MAX_FILE_BYTES, len(expected or b""))) == expected and (
            _put_new(new, path) if expected is None else _exchange(new, path, data, expected)
        )
    except BaseException:
        with suppress(OSError):
            # Anything else is a save that could not be put back.
            if fingerprint(new) in (digest(data), digest(expected or b"")):
                new.unlink()
        raise
    if not done:
        new.unlink(missing_ok=True)
        return False
    if syncs:
        sync(path.parent)
    return True


def move(path: Path, target: Path) -> bool:
    """Rename a file or a folder, durably; False where the name is taken."""
    try:
        if not _rename(path, target, _RENAME_NOREPLACE):
            if identity(str(target)):
                return False
            path.rename(target)
    except FileExistsError:
        return False
    for folder in dict.fromkeys((target.parent, path.parent)):
        sync(folder)
    return True


def remove(path: Path) -> None:
    path.unlink()
    sync(path.parent)


def remove_tree(folder: Path) -> None:
    import shutil  # noqa: PLC0415 - 3 ms

    shutil.rmtree(folder)


def _put_new(new: Path, path: Path) -> bool:
    try:
        if not _rename(new, path, _RENAME_NOREPLACE):
            os.link(new, path)
            new.unlink()
    except FileExistsError:
        return False
    return True


def exchange(path: Path, data: bytes, expected: bytes | None, temporary: str) -> bool:
    """Give a prepared file its name; what had it, `expected` (None: nothing), gets the other one.

    False, with nothing changed, where that had other bytes, or the system cannot exchange names.
    The caller makes the names durable.
    """
    new = path.parent / temporary
    return _put_new(new, path) if expected is None else bool(_swap(new, path, data, expected))


def _exchange(new: Path, path: Path, data: bytes, expected: bytes) -> bool:
    """Exchange `new` (`data`) with a file; False, with the file as saved, if not `expected`."""
    is_done = _swap(new, path, data, expected)
    if is_done is None:
        new.rename(path)
    elif is_done:
        new.unlink()
    return is_done is not False


def _swap(new: Path, path: Path, data: bytes, expected: bytes) -> bool | None:
    """Exchange the names of `new` and a file; None: the system cannot, False: it was given back."""
    ours = identity(str(new))
    try:
        if not _rename(new, path, _RENAME_EXCHANGE):
            return None
        if _holds(new, expected):
            return True
        give_back(new, path, ours, digest(data))
    except FileNotFoundError:
        return False
    except BaseException:
        # An interruption, or a failing disk, after the exchange perhaps.
        if identity(str(new)) not in (None, ours) and not _holds(new, expected):
            give_back(new, path, ours, digest(data))
        raise
    return False


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read(path, len(data)) == data
    except (PathProblem, OSError):
        return False


def give_back(displaced: Path, path: Path, ours: tuple[int, int, int] | None, content: str) -> None:
    """Give a displaced file, link or folder its name back, in place of mdmem's file.

    `ours` and `content` are that file's identity and digest: if it was saved again meanwhile, in
    place or as another file, the newest stays.
    """
    if not _rename(displaced, path, _RENAME_EXCHANGE):
        displaced.rename(path)
    elif identity(str(displaced)) != ours or fingerprint(displaced) != content:
        _rename(displaced, path, _RENAME_EXCHANGE)


def exchange_folders(one: Path, other: Path) -> None:
    """Exchange the names of two folders beside each other, durably."""
    if not _rename(one, other, _RENAME_EXCHANGE):
        between = one.with_name(temporary_name())
        other.rename(between)
        one.rename(other)
        between.rename(one)
    sync(one.parent)


def _rename(old: Path, new: Path, flags: int) -> bool:
    """Call renameat2(2); False where the system or the file system does not have it."""
    call = _renameat2()
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(new))


@cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    call = (
        getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        if sys.platform == "linux"
        else None
    )
    if call is not None:
        call.argtypes = (
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_uint,
        )
    return call


@contextmanager
def lock(
    path: Path, timeout: float, waiting: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold a lock file; wait up to `timeout` seconds, and say so after one.

    Raises:
        RepositoryProblem: `busy`: another process held it for longer.
        StorageProblem: the file system has no locks.
    """
    descriptor, is_ours = _open_lock(path, os.O_CREAT)
    try:
        if not is_ours and not wait_for_lock(descriptor, timeout, waiting):
            raise RepositoryProblem(
                "busy",
                f"gave up after {timeout:g} s: another mdmem is writing",
                "Try again. lock_timeout sets how long to wait.",
            )
        yield
    finally:
        os.close(descriptor)


def _open_lock(path: Path, flags: int = 0) -> tuple[int, bool]:
    """Open and try to lock a file: for reading, as disks may be read-only; for NFS writing."""
    try:
        return _open_and_try(os.O_RDONLY, path, flags)
    except OSError as problem:
        if problem.errno in _NO_LOCKS:
            raise StorageProblem(
                f"the file system has no locks: {path}: {problem.strerror}", _LOCKS_HINT
            ) from problem
        if problem.errno != errno.EBADF:
            raise
        return _open_and_try(os.O_RDWR, path, flags)


def _open_and_try(access: int, path: Path, flags: int) -> tuple[int, bool]:
    descriptor = os.open(path, access | flags | os.O_NOFOLLOW, 0o600)
    try:
        return descriptor, _try_lock(descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(path: Path) -> bool:
    try:
        descriptor, is_ours = _open_lock(path)
    except FileNotFoundError:
        return False
    os.close(descriptor)
    return not is_ours
