"""The stamps of a workspace's files in a process that stays, and which may have changed.

Where the kernel reports changes (inotify(7)), a call first empties the kernel's queue and looks
only at the files that are named there. An event is queued before the system call that causes it
returns, so that whatever was saved before a call is in the queue. All files are looked at where the
events do not suffice: the queue overflowed, a folder came, went or was moved, something was
mounted, the file system is a network's, there are no watches left, or the package is not installed.
Files whose changes may cause no event are looked at each time: those with more than one name, and
those that a process has open, which may be writing to them through a map of its memory.
"""

from __future__ import annotations

import os
import select
import stat
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from mdmem.folder import files, layout
from mdmem.search.snapshot import stamp_text, stamps_digest
from mdmem.startup.records import dataclass
from mdmem.workspace import Workspace

_UNWATCHED_CALLS = 2
"""A command that asks only once or twice needs no watches."""
_LONGEST_SECONDS = 10.0
"""After so long all files are looked at, for changes without an event (a second name)."""
_MOUNTS = "/proc/self/mountinfo"
_WATCHED_FILE_SYSTEMS = frozenset(
    {
        "bcachefs",
        "btrfs",
        "exfat",
        "ext2",
        "ext3",
        "ext4",
        "f2fs",
        "jfs",
        "nilfs2",
        "overlay",
        "ramfs",
        "reiserfs",
        "tmpfs",
        "vfat",
    }
    | {"xfs", "zfs"}
)
"""File systems that only this kernel changes: elsewhere another machine's save is no event."""


class WorkspaceFiles:
    """The memory files of a workspace, looked at in each call; the same for all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stamps: Mapping[str, str] = {}
        self._digest: tuple[Mapping[str, str], str] | None = None
        self._calls = 0
        self._watcher: FileWatcher | None = None
        self._retry_at = 0.0

    def survey(self, workspace: Workspace) -> tuple[Mapping[str, str], str]:
        """The files' stamps by path (the same object if none has changed), and their digest."""
        with self._lock:
            stamps = self._looked_at(workspace)
            if self._digest is None or self._digest[0] is not stamps:
                self._digest = stamps, stamps_digest(stamps)
            return self._digest

    def _looked_at(self, workspace: Workspace) -> Mapping[str, str]:
        self._calls += 1
        stamps = self._watched(workspace) if self._calls > _UNWATCHED_CALLS else None
        if stamps is None:
            stamps = workspace.memory_paths(stamp_text)
        if stamps is not self._stamps and stamps != self._stamps:
            self._stamps = stamps
        return self._stamps

    def _watched(self, workspace: Workspace) -> Mapping[str, str] | None:
        """The stamps by what the kernel tells; None where it cannot be asked."""
        if self._watcher is None and time.monotonic() < self._retry_at:
            return None
        try:
            if self._watcher is None or not self._watcher.is_for(workspace):
                self._watcher = FileWatcher(workspace)
            return self._watcher.stamps(workspace)
        # Not installed; no watches or descriptors left; no /proc; not a file system to rely on.
        except (ImportError, OSError):
            self._watcher, self._retry_at = None, time.monotonic() + _LONGEST_SECONDS
            return None


def _inotify() -> ModuleType:
    # only for a process that stays
    import inotify_simple  # noqa: PLC0415

    module: ModuleType = inotify_simple
    return module


class FileWatcher:
    """Watches the folders of a workspace, and knows the stamps of the files in them.

    Raises ImportError (no package), OSError (the system does not let it watch).
    """

    def __init__(self, workspace: Workspace) -> None:
        self._descriptors: list[int] = []
        self._root = str(workspace.root)
        self._folders = _watched_folders(workspace)
        self._paths = workspace.settings.paths
        self._masks = _EventMasks.load()
        self._inotify = _inotify().INotify(closefd=False)
        self._descriptors.append(self._inotify.fileno())
        mounts = os.open(_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
        self._descriptors.append(mounts)
        self._mounts = select.poll()
        self._mounts.register(mounts, select.POLLPRI)
        self._watches: dict[int, set[tuple[str, str, bool]]] = {}
        """By the watch's number: its folder, its paths' prefix, and if subfolders are watched."""
        self._anchors = _anchors(self._root, self._folders)
        self._identities: list[tuple[int, int, int] | None] | None = None
        self._always = {
            path.rstrip("/") for path in self._folders if layout.is_markdown(path.rstrip("/"))
        }
        self._linked: set[str] = set()
        self._open: dict[str, int] = {}
        self._listed_at = 0.0
        self._stamps: dict[str, str] = {}

    def __del__(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)

    def is_for(self, workspace: Workspace) -> bool:
        return (self._root, self._folders, self._paths) == (
            str(workspace.root),
            _watched_folders(workspace),
            workspace.settings.paths,
        )

    def stamps(self, workspace: Workspace) -> Mapping[str, str]:
        """The files' stamps by path, the same object if none has changed. Raises OSError."""
        named = self._drain()
        if named is None or self._may_miss_events():
            return self._list_all(workspace)
        changes: dict[str, str | None] = {}
        for path in named.union(self._always, self._linked, self._open):
            stamp = self._stamp(path)
            if stamp != self._stamps.get(path) and (
                path in self._stamps or workspace.is_memory_path(path)
            ):
                changes[path] = stamp
        if changes.keys() - self._stamps.keys():
            return self._list_all(workspace)  # a new file may be in a folder that is not listed
        if changes:
            self._stamps = {
                path: stamp
                for path, stamp in {**self._stamps, **changes}.items()
                if stamp is not None
            }
        return self._stamps

    def _may_miss_events(self) -> bool:
        """True if a top folder was exchanged, something mounted, or the last full look is old."""
        return (
            bool(self._mounts.poll(0))
            or self._identities != list(map(files.identity, self._anchors))
            or time.monotonic() - self._listed_at > _LONGEST_SECONDS
        )

    def _drain(self) -> set[str] | None:
        """The Markdown files that events name; None where others may have changed."""
        paths: set[str] = set()
        complete = True
        for number, mask, _, name in self._inotify.read(timeout=0):
            if mask & self._masks.overflow:
                complete = False
                self._open.clear()
            for _, start, deep in self._watches.get(number, ()):
                is_folder = mask & self._masks.folder
                if (
                    mask & self._masks.ended
                    or name == ".git"
                    or (is_folder and mask & self._masks.names and (deep or not name))
                ):
                    complete = False
                elif not is_folder and layout.is_markdown(name):
                    paths.add(start + name)
                    self._count_open(start + name, mask)
        return paths if complete else None

    def _count_open(self, path: str, mask: int) -> None:
        """Count how often a file is open. (A map of its memory keeps it open.)"""
        if mask & self._masks.opened:
            self._open[path] = self._open.get(path, 0) + 1
        elif mask & self._masks.closed and path in self._open:
            self._open[path] -= 1
            if self._open[path] <= 0:
                del self._open[path]

    def _stamp(self, path: str) -> str | None:
        try:
            # A path object takes longer to make than the answer.
            status = os.lstat(os.path.join(self._root, path))  # noqa: PTH118
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_nlink > 1:
            self._linked.add(path)
        return stamp_text(status)

    # Everything.

    def _list_all(self, workspace: Workspace) -> Mapping[str, str]:
        """Watch every folder, and look at every file after that."""
        self._inotify.read(timeout=0)
        if not _is_watchable(self._root, self._folders):
            raise OSError("a file system that other machines may change")
        self._identities = list(map(files.identity, self._anchors))
        before, self._watches = self._watches, {}
        listed_at = time.monotonic()
        statuses = workspace.memory_paths(
            lambda status: (stamp_text(status), status.st_nlink), self._watch_folder
        )
        for number in before.keys() - self._watches.keys():
            with suppress(OSError):  # it went with its folder
                self._inotify.rm_watch(number)
        self._linked = {path for path, (_, links) in statuses.items() if links > 1}
        stamps = {path: stamp for path, (stamp, _) in statuses.items()}
        self._open = {path: count for path, count in self._open.items() if path in stamps}
        if stamps != self._stamps:
            self._stamps = stamps
        self._listed_at = listed_at
        return self._stamps

    def _watch_folder(self, folder: str, start: str, deep: bool) -> None:
        try:
            number = self._inotify.add_watch(folder, self._masks.all)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return  # it cannot be listed either; the folder above has an event when that changes
        self._watches.setdefault(number, set()).add((folder, start, deep))


def _watched_folders(workspace: Workspace) -> tuple[str, ...]:
    """The folders below which there may be memory; the root is watched in any case."""
    return (*workspace.memory_folders, *(folder for folder, _ in workspace.note_folders if folder))


@dataclass(frozen=True, slots=True)
class _EventMasks:
    names: int
    opened: int
    closed: int
    ended: int
    overflow: int
    folder: int
    all: int

    @classmethod
    def load(cls) -> _EventMasks:
        flags = _inotify().flags
        names = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO | flags.ATTRIB
        closed = flags.CLOSE_WRITE | flags.CLOSE_NOWRITE
        of_itself = flags.DELETE_SELF | flags.MOVE_SELF
        return cls(
            names=names,
            opened=int(flags.OPEN),
            closed=closed,
            ended=of_itself | flags.IGNORED | flags.UNMOUNT,
            overflow=int(flags.Q_OVERFLOW),
            folder=int(flags.ISDIR),
            all=names | flags.MODIFY | flags.OPEN | closed | of_itself | flags.ONLYDIR,
        )


def _anchors(root: str, folders: tuple[str, ...]) -> list[str]:
    """The paths to the listed folders: while all are the same, no folder was exchanged unseen."""
    anchors = [root, f"{root}/."]
    for folder in folders:
        if layout.is_outside(folder):
            anchors.append(f"{Path(root, folder)}/.")  # a link on the way is followed
        else:
            parts = [part for part in folder.split("/") if part not in ("", ".")]
            anchors += [f"{root}/{'/'.join(parts[:count])}" for count in range(1, len(parts) + 1)]
    return anchors


def _is_watchable(root: str, folders: tuple[str, ...]) -> bool:
    with Path(_MOUNTS).open(encoding="utf-8", errors="surrogateescape") as file:
        mounts = dict(_parse_mount(line) for line in file)
    for folder in ("", *folders):
        top = os.path.realpath(Path(root, folder))  # folders may be absolute
        above = max(
            (point for point in mounts if point == "/" or f"{top}/".startswith(f"{point}/")),
            key=len,
            default=None,
        )
        below = (
            [kind for point, kind in mounts.items() if point.startswith(f"{top}/")]
            if folder
            else []
        )
        if above is None or not {mounts[above], *below} <= _WATCHED_FILE_SYSTEMS:
            return False
    return True


def _parse_mount(line: str) -> tuple[str, str]:
    """Mount point and file system of a line of proc_pid_mountinfo(5); later lines win."""
    fields, _, source = line.partition(" - ")
    point = fields.split(" ")[4]
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(code, character)
    return point, source.split(" ")[0]
