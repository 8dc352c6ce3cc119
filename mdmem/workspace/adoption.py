"""The workspaces that the user has adopted on this machine: no other one is served to agents.

The list is a file in the user's own state folder. Nothing in a repository, or in git's folder of
one, is evidence by itself, since both may come from somebody else: the id in git's folder has to be
the one in the list, and the folder at the same place or of the same inode. So a workspace that was
moved stays adopted, and neither a copy of it nor another repository at its path is.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mdmem.folder import config, files, layout, trust
from mdmem.model.errors import MdmemError, StorageProblem, WorkspaceProblem, shell_word, verb
from mdmem.repo import Repository, discovery
from mdmem.startup.records import asdict, dataclass
from mdmem.workspace import state

LIST_NAME = "workspaces.json"
_OLD_LIST_NAME = "adopted.json"
"""The list of older versions, without ids: it is taken over while there is no other."""
_LOCK_NAME = "workspaces.lock"
_ID_NAME = "mdmem-id"
"""The file in git's common folder with the id of all workspaces in the repository."""
_ID_BYTES = 16
_LOCK_SECONDS = 10.0
_REMINDED_NAME = "reminded"
"""The file with the last day on which the user was told of memories of theirs."""
_MOST_BYTES = 65_536
_MOST_SHARE = 0.9
"""The share of recent commits that makes their author the one of a memory."""
_MEMORY = (*layout.WORKSPACE_MARKS, *layout.PROFILE_NAMES, "memory")
"""The paths whose last change the user is told of."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """A workspace in the list.

    - `id`: that of the repository; empty in an entry of an older version until its folder is used.
    - `common_dir`, `device`, `inode`: git's common folder, the same for all work trees.
    - `path`: the workspace's path in the work tree, as `Repository.prefix`.
    - `root`: the work tree in which it was adopted.
    """

    id: str
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
            id=_read_id(repository),
            common_dir=common_dir,
            device=status.st_dev,
            inode=status.st_ino,
            path=repository.prefix,
            root=os.path.realpath(repository.root),
        )

    def is_same_workspace(self, here: Adoption) -> bool:
        """True if this entry is for the workspace that is found here."""
        is_inode = (self.device, self.inode) == (here.device, here.inode)
        is_path = self.common_dir == here.common_dir
        is_place = is_inode or is_path if self.id else is_inode and is_path
        return is_place and self.path == here.path and self.id in ("", here.id)


def _read_id(repository: Repository) -> str:
    """The id in git's folder; empty without one."""
    with suppress(MdmemError, OSError, ValueError):
        data = files.read(_id_path(repository), _ID_BYTES * 2) or b""
        return bytes.fromhex(data.decode()).hex() if len(data) == _ID_BYTES * 2 else ""
    return ""


def _id_path(repository: Repository) -> Path:
    return Path(os.path.realpath(repository.common_dir), _ID_NAME)


def _make_id(repository: Repository) -> str:
    """The id in git's folder, made if there is none. Raises OSError."""
    path = _id_path(repository)
    if not (found := _read_id(repository)):
        found, new = os.urandom(_ID_BYTES).hex(), path.with_name(files.temporary_name())
        files.write_durably(new, found.encode())
        state.share(new, repository)
        new.replace(path)
        files.sync(path.parent)
    return found


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
    entries = _entries(environment)
    if not entries:
        return False
    here = Adoption.of(repository)
    same = [entry for entry in entries if entry.is_same_workspace(here)]
    # anybody's `.git` may point to a repository, which names its own work trees
    is_listed = any(here.root == entry.root for entry in same) or bool(
        same and Path(here.root) in discovery.work_trees(Path(here.common_dir))
    )
    if is_listed and not any(_is_at(entry, here) for entry in same):
        with suppress(StorageProblem):  # it counts as it is
            _renew(repository, environment)
    return is_listed


def _is_at(entry: Adoption, here: Adoption) -> bool:
    places = ((each.common_dir, each.device, each.inode) for each in (entry, here))
    return bool(entry.id) and len(set(places)) == 1


def _renew(repository: Repository, environment: Mapping[str, str]) -> None:
    """Write where a listed workspace is now, and the id of one that an older version listed."""
    if awaits_id(repository, environment):
        state.keep(repository, environment)
    adopt(repository, environment)


def awaits_id(repository: Repository, environment: Mapping[str, str]) -> bool:
    """True if an older version listed a workspace, which has not been used since."""
    here = Adoption.of(repository)
    return any(not entry.id and entry.is_same_workspace(here) for entry in _entries(environment))


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
    return changed_by is None or not changed_by <= _user_addresses(repository, environment)


def has_mdmem_commits(repository: Repository) -> bool:
    """True if mdmem made commits in a workspace, or git cannot tell."""
    return discovery.mdmem_addresses(repository) != frozenset()


def is_of_user(repository: Repository, environment: Mapping[str, str]) -> bool:
    """True if all recent commits of mdmem in a workspace have addresses of the user's.

    An address can be forged: this may suggest an adoption and never is one.
    """
    made_by = discovery.mdmem_addresses(repository)
    return bool(made_by and made_by <= _user_addresses(repository, environment))


def main_author(repository: Repository, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Name and address of the author of nine of ten recent commits of a memory.

    None if that is nobody, the user, or an agent that their settings name.
    """
    changes = discovery.change_authors(repository, _MEMORY)
    addresses = [change.rpartition("<")[2].removesuffix(">").casefold() for change in changes]
    address, count = next(iter(Counter(addresses).most_common(1)), ("", 0))
    if count < _MOST_SHARE * len(changes) or not address or not address.isprintable():
        return None
    author = changes[addresses.index(address)]
    users = repository.user_addresses() | _user_addresses(repository, environment)
    name = trust.other_author(author, users)
    is_agent = trust.is_agent_author(author, config.own_list("agents", environment), users)
    return None if name is None or is_agent else (name, address)


def _user_addresses(repository: Repository, environment: Mapping[str, str]) -> frozenset[str]:
    named = map(str.casefold, config.own_list("me", environment))
    return repository.machine_addresses().union(named)


def init_command(folder: Path) -> str:
    return f"{verb('init')} {shell_word(folder)}"


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

    def with_new(entries: Sequence[Adoption]) -> Sequence[Adoption]:
        _make_id(repository)
        new = Adoption.of(repository)
        return (*(each for each in entries if not _is_replaced(each, new)), new)

    _change(environment, with_new)


def _is_replaced(entry: Adoption, new: Adoption) -> bool:
    is_path = (entry.common_dir, entry.path) == (new.common_dir, new.path)
    return is_path or entry.is_same_workspace(new)


def leave(repository: Repository, environment: Mapping[str, str]) -> bool:
    """Remove a workspace from the list; False if it was not there. Raises StorageProblem."""
    here = Adoption.of(repository)
    left: list[Adoption] = []

    def without(entries: Sequence[Adoption]) -> Sequence[Adoption]:
        left[:] = [each for each in entries if _is_replaced(each, here)]
        return tuple(each for each in entries if not _is_replaced(each, here))

    _change(environment, without)
    return bool(left)


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
            entries = _entries(environment)
            if (changed := change(entries)) != entries:
                _write(path, _text(changed), before)
    except OSError as problem:
        hint = "To adopt without it, name the folder: adopt = [...] in config.toml, or MDMEM_ADOPT."
        place = problem.filename or path
        message = f"cannot write the list of adopted workspaces: {place}: {problem.strerror}"
        raise StorageProblem(message, hint) from problem


def _write(path: Path, data: bytes, before: bytes | None) -> None:
    if len(data) > _MOST_BYTES:
        hint = "Name folders by globs instead: adopt = [...] in config.toml."
        raise StorageProblem(f"the list of adopted workspaces is full: {path}", hint)
    if not files.replace(path, data, before, files.temporary_name()):
        raise StorageProblem(f"another program changed {path}", "Try again.")


# Its form: {"workspaces": [{"id", "common_dir", "device", "inode", "path", "root"}]}.


def _entries(environment: Mapping[str, str]) -> tuple[Adoption, ...]:
    """The list; that of an older version while there is none. Raises WorkspaceProblem."""
    path = _list_path(environment)
    if path is None:
        return ()
    data = files.read(path)
    if data is None and (data := files.read(old := path.with_name(_OLD_LIST_NAME))) is not None:
        path = old
    return _parse(path, data)


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
        hint = f"Remove it and adopt again: rm {shell_word(path)}"
        message = f"{path} is not a list of adopted workspaces"
        raise WorkspaceProblem("bad-settings", message, hint) from problem


def _entry(values: Mapping[str, Any]) -> Adoption:
    texts = {name: _text_value(values[name]) for name in ("common_dir", "path", "root")}
    return Adoption(
        id=_text_value(values.get("id", "")),
        device=int(values["device"]),
        inode=int(values["inode"]),
        **texts,
    )


def _text_value(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _text(entries: Sequence[Adoption]) -> bytes:
    rows = {"workspaces": list(map(asdict, entries))}
    return json.dumps(rows, indent=1).encode() + b"\n"
