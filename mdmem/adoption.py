"""The workspaces that the user has adopted on this machine: no other one is served to agents.

The list is a file in the user's own state folder. Nothing in a repository, or in git's folder of
one, is evidence, since both may come from somebody else.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mdmem.errors import StorageProblem, WorkspaceProblem
from mdmem.folder import config, files, layout
from mdmem.repo import Repository, discovery
from mdmem.startup.records import asdict, dataclass
from mdmem.wording import verb

LIST_NAME = "adopted.json"
_LOCK_NAME = "adopted.lock"
_LOCK_SECONDS = 10.0
_REMINDED_NAME = "reminded"
"""The file with the last day on which the user was told of memories of theirs."""
_MOST_BYTES = 65_536
_MEMORY = (*layout.WORKSPACE_MARKS, *layout.PROFILE_NAMES, "memory")
"""The paths whose last change the user is told of."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """A workspace in the list.

    - `common_dir`, `device`, `inode`: git's common folder, the same for all work trees; a copy or a
      restored backup is another folder.
    - `path`: the workspace's path in the work tree, as `Repository.prefix`.
    - `root`: the work tree in which it was adopted.
    """

    common_dir: str
    device: int
    inode: int
    path: str
    root: str

    @classmethod
    def of(cls, repository: Repository) -> Adoption:
        common_dir = os.path.realpath(repository.common_dir)
        status = Path(common_dir).stat()
        return cls(
            common_dir=common_dir,
            device=status.st_dev,
            inode=status.st_ino,
            path=repository.prefix,
            root=os.path.realpath(repository.root),
        )

    def is_same_workspace(self, other: Adoption) -> bool:
        return (self.common_dir, self.device, self.inode, self.path) == (
            other.common_dir,
            other.device,
            other.inode,
            other.path,
        )


def is_adopted(repository: Repository, environment: Mapping[str, str]) -> bool:
    """True if the user has adopted a repository's workspace. Raises WorkspaceProblem."""
    return _is_listed(repository, environment) or is_named(repository.folder, environment)


def is_named(folder: Path, environment: Mapping[str, str]) -> bool:
    """True if the user's settings or MDMEM_ADOPT name a folder. Raises WorkspaceProblem."""
    real_path = os.path.realpath(folder)
    globs = map(_without_links, config.adopted_folders(environment))
    return any(layout.folder_matches(real_path, glob) for glob in globs)


def _without_links(glob: Path) -> str:
    """Resolve a glob's folders before the first wildcard: links among later ones were not named."""
    parts = glob.parts
    fixed = next((n for n, part in enumerate(parts) if any(c in part for c in "*?[")), len(parts))
    return str(Path(os.path.realpath(Path(*parts[:fixed])), *parts[fixed:]))


def _is_listed(repository: Repository, environment: Mapping[str, str]) -> bool:
    path = _list_path(environment)
    entries = _parse(path, files.read(path)) if path else ()
    if not entries:
        return False
    here = Adoption.of(repository)
    same = [entry for entry in entries if entry.is_same_workspace(here)]
    # anybody's `.git` may point to a repository, which names its own work trees
    return any(here.root == entry.root for entry in same) or bool(
        same and Path(here.root) in discovery.work_trees(Path(here.common_dir))
    )


def require_adopted(repository: Repository, environment: Mapping[str, str]) -> None:
    """Refuse an unadopted workspace. Raises WorkspaceProblem (`not-adopted`, with the command)."""
    if not is_adopted(repository, environment):
        raise WorkspaceProblem(
            "not-adopted",
            f"{repository.folder} contains a memory you have not adopted{last_change(repository)}",
            init_command(repository.folder),
        )


def last_author(repository: Repository) -> str:
    """The author of a memory's last change; empty if there is none."""
    return discovery.last_author(repository, _MEMORY)


def last_change(repository: Repository) -> str:
    """The author of a memory's last change, in brackets behind a space; empty if there is none."""
    author = last_author(repository)
    return f" (last change by {author})" if author else ""


def has_commits_of_others(repository: Repository, environment: Mapping[str, str]) -> bool:
    """True if recent commits of a memory have others' addresses, or git cannot read them."""
    changed_by = discovery.change_addresses(repository, _MEMORY)
    own = _user_addresses(repository, environment)
    here = repository.setting("user.email") or ""
    return changed_by is None or not changed_by <= own | {here.strip().casefold()}


def has_mdmem_commits(repository: Repository) -> bool:
    """True if mdmem made commits in a workspace, or git cannot tell."""
    return discovery.mdmem_addresses(repository) != frozenset()


def is_of_user(repository: Repository, environment: Mapping[str, str]) -> bool:
    """True if all recent commits of mdmem in a workspace have addresses of the user's.

    An address can be forged: this may suggest an adoption and never is one.
    """
    made_by = discovery.mdmem_addresses(repository)
    return bool(made_by and made_by <= _user_addresses(repository, environment))


def _user_addresses(repository: Repository, environment: Mapping[str, str]) -> frozenset[str]:
    named = map(str.casefold, config.own_list("me", environment))
    return discovery.global_addresses(repository).union(named)


def init_command(folder: Path) -> str:
    return f"{verb('init')} {shlex.quote(str(folder))}"


def is_first_today(environment: Mapping[str, str]) -> bool:
    """True for the first call on a day, as far as the user's state folder can be written."""
    folder = config.user_state_folder(environment)
    if folder is None:
        return True
    today = config.now(config.Settings(), environment).date().isoformat().encode()
    path = folder / _REMINDED_NAME
    if files.read(path) == today:
        return False
    with suppress(OSError):
        files.make_folders(folder)
        files.write_cache(path, today.decode())
    return True


# Changes of the list.


def require_writable(environment: Mapping[str, str]) -> None:
    """Make sure that the list can be changed. Raises StorageProblem."""
    _change(environment, lambda entries: entries)


def adopt(repository: Repository, environment: Mapping[str, str]) -> None:
    """Put a workspace into the list. Raises StorageProblem (the list is not writable, or full)."""
    new = Adoption.of(repository)

    def with_new(entries: Sequence[Adoption]) -> Sequence[Adoption]:
        return (*(each for each in entries if _key(each) != _key(new)), new)

    _change(environment, with_new)


def leave(repository: Repository, environment: Mapping[str, str]) -> bool:
    """Remove a workspace from the list; False if it was not there. Raises StorageProblem."""
    here = Adoption.of(repository)
    left: list[Adoption] = []

    def without(entries: Sequence[Adoption]) -> Sequence[Adoption]:
        left[:] = [each for each in entries if _key(each) == _key(here)]
        return tuple(each for each in entries if _key(each) != _key(here))

    _change(environment, without)
    return bool(left)


def _key(entry: Adoption) -> tuple[str, str]:
    return entry.common_dir, entry.path


def _change(
    environment: Mapping[str, str],
    change: Callable[[Sequence[Adoption]], Sequence[Adoption]],
) -> None:
    path = _list_path(environment)
    if path is None:
        raise StorageProblem("no home is known for the list of adopted workspaces", "Set HOME.")
    try:
        files.make_folders(path.parent)
        with files.lock(path.with_name(_LOCK_NAME), _LOCK_SECONDS):
            before = files.read(path)
            entries = _parse(path, before)
            if (changed := change(entries)) != entries:
                _write(path, _text(changed), before)
    except OSError as problem:
        hint = "To adopt without it, name the folder: adopt = [...] in config.toml, or MDMEM_ADOPT."
        message = f"cannot write the list of adopted workspaces: {path}: {problem.strerror}"
        raise StorageProblem(message, hint) from problem


def _write(path: Path, data: bytes, before: bytes | None) -> None:
    if len(data) > _MOST_BYTES:
        hint = "Name folders by globs instead: adopt = [...] in config.toml."
        raise StorageProblem(f"the list of adopted workspaces is full: {path}", hint)
    if not files.replace(path, data, before, files.temporary_name()):
        raise StorageProblem(f"another program changed {path}", "Try again.")


# Its form: {"workspaces": [{"common_dir", "device", "inode", "path", "root"}]}.


def _list_path(environment: Mapping[str, str]) -> Path | None:
    folder = config.user_state_folder(environment)
    return Path(os.path.realpath(folder / LIST_NAME)) if folder else None


def _parse(path: Path, data: bytes | None) -> tuple[Adoption, ...]:
    if data is None:
        return ()
    try:
        if len(data) > _MOST_BYTES:
            raise ValueError("it is too large")
        return tuple(_entry(values) for values in json.loads(data)["workspaces"])
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        hint = f"Remove it and adopt again: rm {shlex.quote(str(path))}"
        message = f"{path} is not a list of adopted workspaces"
        raise WorkspaceProblem("bad-settings", message, hint) from problem


def _entry(values: Mapping[str, Any]) -> Adoption:
    texts = {name: _text_value(values[name]) for name in ("common_dir", "path", "root")}
    return Adoption(device=int(values["device"]), inode=int(values["inode"]), **texts)


def _text_value(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _text(entries: Sequence[Adoption]) -> bytes:
    rows = {"workspaces": list(map(asdict, entries))}
    return json.dumps(rows, indent=1).encode() + b"\n"
