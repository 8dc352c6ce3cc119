"""Files on disk: safe reading, atomic replacement, locks, packaged templates."""

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

from mdmem.errors import PathProblem, RepositoryProblem
from mdmem.layout import MAX_FILE_BYTES
from mdmem.model import FilePath

_NOTICE_SECONDS = 1.0
LOCK_NAME = "lock"
"""The workspace's own lock, in the state folder."""
INDEX_LOCK, QUEUE_LOCK, TRAIL_LOCK = "index.lock", "queue.lock", "trail.lock"
"""In the state folder too: held to bring the index up to date, to wait for that, and to change the trail."""
RACY_NS = 20_000_000
"""A file that was changed less than this before it was read may change again without its time stamp showing it."""
TEMPORARY_PREFIX = ".mdmem-"
"""The names of temporary files begin so."""
_NEW_FILE_MODE = 0o666
_AT_FDCWD, _RENAME_NOREPLACE, _RENAME_EXCHANGE = -100, 1, 2
"""Of renameat2(2), as Linux defines them."""


def packaged(kind: str, name: str) -> str:
    """The text of a packaged file: of the `hooks` or the `templates`, which a checkout has beside the package and an installation in it."""
    package = Path(__file__).parent
    folder = package / kind
    return ((folder if folder.is_dir() else package.parent / kind) / name).read_text(encoding="utf-8")


def template(name: str) -> str:
    """The text of a packaged template."""
    return packaged("templates", name)


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes, as hex."""
    return hashlib.sha256(data).hexdigest()


def path_on_disk(root: Path, path: FilePath) -> Path:
    """Where a workspace path is on disk; nothing on the way to it is a symbolic link.

    Raises:
        PathProblem: `bad-path`: a symbolic link, a folder, a device, or a folder on the way that is none.
    """
    place = root
    parts = path.split("/")
    for number, part in enumerate(parts):
        place = place / part
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            continue
        except OSError as problem:
            raise PathProblem("bad-path", f"{path}: {problem.strerror}") from problem
        last = number == len(parts) - 1
        if stat.S_ISLNK(mode):
            raise PathProblem("bad-path", f"{path}: {part!r} is a symbolic link", "Name the file that it points to.")
        if not last and not stat.S_ISDIR(mode):
            raise PathProblem("bad-path", f"{path}: {part!r} is not a folder")
        if last and not stat.S_ISREG(mode):
            raise PathProblem("bad-path", f"{path} is not a regular file")
    return place


def read(place: Path) -> bytes | None:
    """The bytes of a regular file, None where there is no such file.

    Raises:
        PathProblem: `bad-path` or `unsupported-file`: not a regular file, not readable, or larger than `MAX_FILE_BYTES`.
    """
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as problem:
        raise PathProblem("unsupported-file", f"{place.name} cannot be read: {problem.strerror}") from problem
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENXIO):  # a symbolic link; a socket
            raise PathProblem("bad-path", f"{place.name} is not a regular file") from problem
        raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise PathProblem("bad-path", f"{place.name} is not a regular file")
        if found.st_size > MAX_FILE_BYTES:
            raise PathProblem(
                "unsupported-file", f"{place.name} has {found.st_size:,} bytes; {MAX_FILE_BYTES:,} is the most that is edited", "Split it."
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def stamp(path: str) -> tuple[int, int, int, int, int] | None:
    """What tells a state of a file (links followed) from another: times of data and inode (ns), size, inode, device; None: not there."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a path object takes longer to make than the answer
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev


def identity(path: str) -> tuple[int, int, int] | None:
    """What tells a file or folder (links not followed) from any other of the same name: inode, device, kind; None: not there."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_dev, stat.S_IFMT(status.st_mode)


def sync(place: Path) -> None:
    """Make durable what is in a file, or the names in a folder."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all(folder: Path) -> None:
    """Make everything durable that another program has put into a new folder: names and bytes, at any depth."""
    for inner, _, names in os.walk(folder):
        for place in (Path(inner) / name for name in names):
            if stat.S_ISREG(place.lstat().st_mode):
                sync(place)
        sync(Path(inner))


def make_folders(folder: Path) -> tuple[Path, ...]:
    """Make a folder and what is missing above it, durably; those that were made, outermost first."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    made = tuple(reversed(missing))
    for new in made:
        new.mkdir(exist_ok=True)
        sync(new.parent)
    return made


def temporary_name() -> str:
    """A name for a temporary file beside the one that it is to replace."""
    return f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}.tmp"


def backup_name(temporary: str) -> str:
    """The name of the temporary file by which a failed write is undone: another, as it may be cut short while the new bytes stand."""
    return f"{temporary.removesuffix('.tmp')}.back.tmp"


def write_durably(place: Path, data: bytes, mode: int | None = None) -> None:
    """A new file with these bytes, fsynced; `mode` None is what the umask gives. Taken away again where that fails."""
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _NEW_FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            place.unlink()
        raise


def replace(place: Path, data: bytes, expected: bytes | None, temporary: str) -> bool:
    """Put `data` in place of a file, atomically and durably, if the file still holds `expected` (None: is not there).

    Where the system can exchange two names, what was displaced is looked at, so that a save which comes at the last moment is put
    back and not lost. Elsewhere a window stays between the last look and the rename.

    Returns:
        False, with nothing changed, where the file holds something else by now.
    """
    new = place.parent / temporary
    try:
        mode: int | None = stat.S_IMODE(place.lstat().st_mode)
    except FileNotFoundError:
        mode = None
    try:
        write_durably(new, data, mode)
        done = read(place) == expected and (_put(new, place) if expected is None else _exchange(new, place, data, expected))
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise
    if not done:
        new.unlink(missing_ok=True)
        return False
    sync(place.parent)
    return True


def remove(place: Path) -> None:
    """Take a file away, durably."""
    place.unlink()
    sync(place.parent)


def _put(new: Path, place: Path) -> bool:
    """Give a new file its name; False where the name is taken by now."""
    try:
        if not _rename(new, place, _RENAME_NOREPLACE):
            os.link(new, place)
            new.unlink()
    except FileExistsError:
        return False
    return True


def _exchange(new: Path, place: Path, data: bytes, expected: bytes) -> bool:
    """Put `new` in place of a file that is to hold `expected`; False, with the file as it was saved, where it held something else."""
    try:
        if not _rename(new, place, _RENAME_EXCHANGE):
            new.rename(place)
            return True
    except FileNotFoundError:
        return False
    if read(new) == expected:
        new.unlink()
        return True
    _rename(new, place, _RENAME_EXCHANGE)
    if read(new) != data:
        # Saved once more while the first save was put back: the newest stays.
        _rename(new, place, _RENAME_EXCHANGE)
    return False


def _rename(old: Path, new: Path, flags: int) -> bool:
    """renameat2(2); False where the system or the file system has no such thing."""
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
    """The system's call, None where it has none."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return call


@contextmanager
def lock(place: Path, timeout: float, waiting: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock file `place`; wait up to `timeout` seconds for it and say so after a second.

    Raises:
        RepositoryProblem: `busy`: another process kept it for longer.
    """
    descriptor, got = _opened(place, os.O_CREAT)
    try:
        if not got and not _wait_for_lock(descriptor, timeout, waiting):
            raise RepositoryProblem(
                "busy", f"another mdmem has been busy for {timeout:g} seconds", "Try again; lock_timeout sets how long to wait."
            )
        yield
    finally:
        os.close(descriptor)


def _opened(place: Path, flags: int = 0) -> tuple[int, bool]:
    """A lock file opened, and whether its lock could be had at once.

    It is opened for reading, so that whoever only waits keeps no disk from being made read-only. NFS wants it open for writing.
    """
    try:
        return _opened_for(os.O_RDONLY, place, flags)
    except OSError as problem:
        if problem.errno != errno.EBADF:
            raise
        return _opened_for(os.O_RDWR, place, flags)


def _opened_for(way: int, place: Path, flags: int) -> tuple[int, bool]:
    descriptor = os.open(place, way | flags, 0o600)
    try:
        return descriptor, _try_lock(descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def _wait_for_lock(descriptor: int, timeout: float, waiting: Callable[[str], None] | None) -> bool:
    """Queue for a lock, which the system hands on in turn; whether it was got in time.

    flock(2) knows no time limit, so a thread waits, with a descriptor of its own for the same open file: this one may be closed, and
    its number given to another file, before the thread gets to it. One that waits in vain ends with the process, or gets the lock and
    frees it at once.
    """
    if timeout <= 0:
        return False
    got = threading.Event()
    own = os.dup(descriptor)

    def wait() -> None:
        try:
            fcntl.flock(own, fcntl.LOCK_EX)
        finally:
            os.close(own)
        got.set()

    threading.Thread(target=wait, daemon=True).start()
    if got.wait(min(timeout, _NOTICE_SECONDS)):
        return True
    if timeout <= _NOTICE_SECONDS:
        return False
    if waiting:
        waiting("waiting for another mdmem to finish")
    return got.wait(timeout - _NOTICE_SECONDS)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(place: Path) -> bool:
    """Whether some process holds the lock file now."""
    try:
        descriptor, got = _opened(place)
    except FileNotFoundError:
        return False
    os.close(descriptor)
    return not got
