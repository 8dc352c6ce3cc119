"""Simulate power cuts: work out every state that a cut may leave of a folder, at each moment of
some work in it.

A `Recorder` notes the content of a folder before each system call that changes it, and each fsync.
`Disk` is the model: a name is safe once its folder was synced, bytes once their file was. Until
then a cut may leave the old state, the new one, or half of a file, in any mixture.

Git syncs what it writes only if `core.fsync` says so; another test makes sure of that with git
itself. `git init` never syncs.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from kept_state import keep_state

T = TypeVar("T")
State = Mapping[str, bytes]
"""The files that a cut leaves, by their paths."""
FOLDER = 0
"""The value of a folder's name; that of a file's name is the number of the file."""
COMPONENTS = {"committed", "loose-object", "reference", "index"}
"""The components of `core.fsync` that a commit consists of."""
_CHANGING = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.truncate"}
_STARTING = {"subprocess.Popen": 1, "os.posix_spawn": 1}
"""The events that start a process, and which of their arguments is its command."""


@dataclass(frozen=True)
class Look:
    """A look at the whole folder: the names in each folder, and the bytes of each file."""

    folders: Mapping[str, Mapping[str, int]]
    contents: Mapping[int, bytes]


@dataclass(frozen=True)
class SyncedFolder:
    """The names in a folder are safe."""

    path: str


@dataclass(frozen=True)
class SyncedFile:
    """The bytes of a file are safe; `name` is for the reader."""

    number: int
    name: str


@dataclass(frozen=True)
class Git:
    """Git has run, and left what `look` shows; what it wrote is safe if it was `durable`."""

    command: str
    durable: bool
    look: Look


Step = Look | SyncedFolder | SyncedFile | Git


def is_gits(path: str) -> bool:
    """True if a folder is one of git's own, where git decides what is synced. mdmem's state folder,
    which lies in it, is not.
    """
    _, below, inside = f"/{path}/".partition("/.git/")
    return bool(below) and not inside.startswith("mdmem/")


class Disk:
    """A disk with what may still be lost: the versions of each folder and each file since it was
    last synced, oldest first.
    """

    def __init__(self, first: Look) -> None:
        self._folders = {path: [names] for path, names in first.folders.items()}
        self._contents = {number: [data] for number, data in first.contents.items()}

    def take(self, step: Step) -> None:
        """Carry out one step."""
        match step:
            case Look():
                self._change(step)
            case SyncedFolder(path):
                del self._folders[path][:-1]
            case SyncedFile(number):
                del self._contents[number][:-1]
            case Git(durable=durable, look=look):
                before = {path: versions[-1] for path, versions in self._folders.items()}
                old = {number: versions[-1] for number, versions in self._contents.items()}
                self._change(look)
                if durable:
                    self._settle(look, before, old)

    def _change(self, look: Look) -> None:
        for path, names in look.folders.items():
            _add(self._folders.setdefault(path, [{}]), names)
        for number, data in look.contents.items():
            _add(self._contents.setdefault(number, [b""]), data)

    def _settle(
        self, look: Look, before: Mapping[str, Mapping[str, int]], old: Mapping[int, bytes]
    ) -> None:
        """Make safe what git has just changed, but nothing that was there before and
        still unsafe.
        """
        for path in filter(is_gits, look.folders):
            names = look.folders[path]
            if before.get(path) != names:
                del self._folders[path][:-1]
            for number in names.values():
                if number != FOLDER and old.get(number) != look.contents[number]:
                    del self._contents[number][:-1]

    def survivors(self) -> Iterator[State]:
        """Everything that a cut may leave now.

        Each folder may be as in any of its versions; git's own are all old or all new. Of the files
        that are not safe all have their newest bytes, or half of them, or their oldest.
        """
        unsafe = [path for path, versions in self._folders.items() if len(versions) > 1]
        ours, gits = (
            [path for path in unsafe if not is_gits(path)],
            [path for path in unsafe if is_gits(path)],
        )
        each = product(*(self._folders[path] for path in ours))
        contents = (
            ("newest", "half", "oldest")
            if any(len(versions) > 1 for versions in self._contents.values())
            else ("newest",)
        )
        newest = {path: versions[-1] for path, versions in self._folders.items()}
        for choice, version, content in product(each, (-1, 0) if gits else (-1,), contents):
            chosen = (
                newest
                | dict(zip(ours, choice, strict=True))
                | {path: self._folders[path][version] for path in gits}
            )
            yield self._state(chosen, content)

    def _state(self, folders: Mapping[str, Mapping[str, int]], content: str) -> State:
        state: dict[str, bytes] = {}
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            for name, number in folders.get(folder, {}).items():
                path = f"{folder}/{name}" if folder else name
                if number == FOLDER:
                    waiting.append(path)
                else:
                    state[path] = self._bytes(number, content)
        return state

    def _bytes(self, number: int, content: str) -> bytes:
        versions = self._contents[number]
        if len(versions) == 1 or content == "newest":
            return versions[-1]
        return versions[-1][: len(versions[-1]) // 2] if content == "half" else versions[0]


def _add(versions: list[T], newest: T) -> None:
    if versions[-1] != newest:
        versions.append(newest)


def cuts(first: Look, steps: Sequence[Step]) -> Iterator[tuple[int, State]]:
    """Each state that a power cut may leave, once, with the number of steps after which it may."""
    disk = Disk(first)
    seen: set[frozenset[tuple[str, bytes]]] = set()
    for number, step in enumerate([first, *steps]):
        disk.take(step)
        for state in disk.survivors():
            key = frozenset(state.items())
            if key not in seen:
                seen.add(key)
                yield number, state


def left_at_the_end(first: Look, steps: Sequence[Step]) -> list[State]:
    """The states that a power cut may leave after the last step."""
    disk = Disk(first)
    for step in steps:
        disk.take(step)
    return list(disk.survivors())


# Recording.


@dataclass
class Recorder:
    """A context manager that records the steps of everything that is done below a folder."""

    root: Path
    first: Look = field(init=False)
    steps: list[Step] = field(default_factory=list)
    _last: Look = field(init=False)
    _numbers: dict[int, int] = field(default_factory=dict)
    _folders: dict[int, str] = field(default_factory=dict)
    _count: int = 0
    _busy: bool = False
    _running: tuple[str, bool] | None = None
    _fsync: Callable[[int], None] = os.fsync

    def __enter__(self) -> "Recorder":
        global _active
        assert _active is None
        self.first = self._last = self._look()
        self._fsync = os.fsync
        os.fsync = self._note_sync
        _active = self
        return self

    def __exit__(self, *problem: object) -> None:
        global _active
        _active = None
        os.fsync = self._fsync
        self._note_changes()

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record a look at the folder before a change; Python's audit events come before the system
        call.
        """
        if self._busy:
            return
        if event in _CHANGING or (
            event == "open" and self._is_below(arguments[0]) and _is_writing(arguments[2])
        ):
            self._note_changes()
        elif event in _STARTING:
            self._note_git([os.fsdecode(word) for word in arguments[_STARTING[event]]])

    def _is_below(self, path: object) -> bool:
        return isinstance(path, str | bytes | os.PathLike) and Path(
            os.fsdecode(path)
        ).is_relative_to(self.root)

    def _note_changes(self) -> None:
        look = self._look()
        if self._running:
            self.steps.append(Git(*self._running, look))
            self._running = None
        elif look != self._last:
            self.steps.append(look)
        self._last = look

    def _note_git(self, command: Sequence[str]) -> None:
        verb = _git_verb(command)
        if verb == "log":
            return  # it only reads, perhaps while another command writes
        git = (verb, verb != "init" and _synced_by(command) >= COMPONENTS)
        if Path(command[0]).name == "git" and self._running != git:  # one start may be two events
            self._note_changes()
            self._running = git

    def _note_sync(self, descriptor: int) -> None:
        self._note_changes()
        self._fsync(descriptor)
        number = os.fstat(descriptor).st_ino
        if number in self._folders:
            self.steps.append(SyncedFolder(self._folders[number]))
        elif number in self._numbers:
            names = {
                number: name
                for names in self._last.folders.values()
                for name, number in names.items()
            }
            self.steps.append(SyncedFile(self._numbers[number], names[self._numbers[number]]))

    def _look(self) -> Look:
        self._busy = True
        try:
            return self._looked()
        finally:
            self._busy = False

    def _looked(self) -> Look:
        folders: dict[str, dict[str, int]] = {}
        contents: dict[int, bytes] = {}
        alive: dict[int, int] = {}
        self._folders = {self.root.stat().st_ino: ""}
        for path, entries in _walk(self.root):
            names = folders[path] = {}
            for entry in entries:
                inode = entry.inode()
                if entry.is_dir(follow_symlinks=False):
                    names[entry.name] = FOLDER
                    self._folders[inode] = f"{path}/{entry.name}" if path else entry.name
                elif entry.is_file(follow_symlinks=False) and not entry.name.endswith(".sample"):
                    if inode not in alive:
                        alive[inode] = self._numbers.get(inode) or self._next()
                        contents[alive[inode]] = Path(entry.path).read_bytes()
                    names[entry.name] = alive[inode]
        self._numbers = alive
        return Look(folders, contents)

    def _next(self) -> int:
        self._count += 1
        return self._count


def _is_writing(flags: object) -> bool:
    """True for a file that is opened to be written. One may be read while git is at work, whose
    changes count as one step.
    """
    return not isinstance(flags, int) or bool(
        flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    )


def _walk(root: Path) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    waiting = [("", root)]
    while waiting:
        path, folder = waiting.pop()
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        yield path, entries
        waiting += [
            (f"{path}/{entry.name}" if path else entry.name, Path(entry.path))
            for entry in entries
            if entry.is_dir(follow_symlinks=False)
        ]


def _git_verb(command: Sequence[str]) -> str:
    """The command of git's, its options aside."""
    words = iter(command[1:])
    for word in words:
        if word in ("-C", "-c"):
            next(words)
        elif not word.startswith("-"):
            return word
    return ""


def _synced_by(command: Sequence[str]) -> set[str]:
    """The components that git was told to sync."""
    values = [
        word.removeprefix("core.fsync=") for word in command if word.startswith("core.fsync=")
    ]
    return set(values[-1].split(",")) if values else set()


_active: Recorder | None = None


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _active is not None:
        _active.hear(event, arguments)


sys.addaudithook(_hear)  # there is no way to take one out: it does nothing while nobody records


# For the reader of a failure, and to try it out.


def story(first: Look, steps: Iterable[Step]) -> list[str]:
    """The steps as lines."""
    lines, last = [], first
    for step in steps:
        match step:
            case Look():
                lines += _changes(last, step)
                last = step
            case SyncedFolder(path):
                lines.append(f"synced the folder {path or '.'}")
            case SyncedFile(_, name):
                lines.append(f"synced {name}")
            case Git(command, durable, look):
                lines.append(f"git {command}" + (", durable" if durable else ""))
                lines += [f"  {line}" for line in _changes(last, look)]
                last = look
    return lines


def _changes(before: Look, after: Look) -> Iterator[str]:
    for path, names in after.folders.items():
        old = before.folders.get(path, {})
        for name in sorted({*names, *old}):
            full_path = f"{path}/{name}" if path else name
            number = names.get(name)
            if old.get(name) != number:
                yield (
                    f"{full_path} is gone"
                    if number is None
                    else f"{full_path} is {'new' if name not in old else 'another file'}"
                )
            elif number and before.contents.get(number) != after.contents.get(number):
                yield f"{full_path} has other bytes"


def lay_out(state: State, folder: Path) -> Path:
    """A folder with the files that a cut has left."""
    for path, data in state.items():
        full_path = folder / path
        full_path.parent.mkdir(parents=True, exist_ok=True)
        full_path.write_bytes(data)
    return keep_state(folder)
