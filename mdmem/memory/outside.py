"""`init` for a project: a workspace in a repository of its own, which the user's settings name."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path

from mdmem.errors import PathProblem, StorageProblem, WorkspaceProblem, printable
from mdmem.folder import config, files
from mdmem.folder.listing import is_marked
from mdmem.memory import adopting
from mdmem.model.reads import Initialise, InitResult
from mdmem.repo import discover, discovery, remotes
from mdmem.startup import late
from mdmem.startup.records import replace
from mdmem.wording import field
from mdmem.workspace import (
    actor_in_shell,
    existing_folder,
    project_path,
    require_person,
    workspaces_meant_by,
)

_ADDRESS = late.pattern(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/\\:]+:(?!\\)")
"""The beginning of what git takes for an address, where no folder has that name."""
_CLONE_SECONDS = 60.0
_GIT_FOLDERS = (".git", ".bare")
"""Names of git's folder that say nothing about a project; the folder around it does."""


def initialise(request: Initialise, environment: Mapping[str, str]) -> InitResult:
    """Make, take or clone a workspace for a project. Raises MdmemError (nothing is left then)."""
    start = existing_folder(request.project or ".")
    people = config.own_list("people", environment)
    actor = actor_in_shell((environment.get("MDMEM_ACTOR"),), people, environment)
    require_person(actor, people, "change your settings")
    if (settings_path := config.user_settings_path(environment)) is None:
        raise StorageProblem("no home is known for your settings", "Set HOME.")
    path = project_path(start)
    project = path.parent if path.name in _GIT_FOLDERS else path
    named = config.project_workspaces(environment)
    # A folder may have been recorded before it was a repository.
    recorded = next(
        (each for meant in (path, project) for each in named if each.resolve() == meant), None
    )
    known = named[recorded] if recorded else None
    address = request.folder if request.folder and _is_address(request.folder) else None
    given = None if address or not request.folder else Path(request.folder).resolve()
    folder = known or given or _free_folder(path, environment)
    if known and (given not in (None, known.resolve()) or (address and known.exists())):
        raise PathProblem(
            "bad-path",
            f"{known} is already the memory of {recorded}",
            f"To use another: change {_table(recorded or path)} in {settings_path}",
        )
    for tree in (path, *discovery.work_trees(path)):
        if folder.is_relative_to(tree):
            hint = f"Name a folder elsewhere, or none with {field('outside')}."
            raise PathProblem("bad-path", f"{folder} is in {tree}, the project itself", hint)
    for each in (path, folder):
        if not _is_encodable(str(each)):
            message = f"{printable(str(each))} is not UTF-8, so no settings can name it"
            raise PathProblem("bad-path", message)
    with ExitStack() as undo:
        if address:
            _clone(address, folder, undo)
        if recorded is None or recorded.resolve() != path:
            _name_in_settings(path, folder, Path(os.path.realpath(settings_path)), undo)
        own = replace(request, folder=str(folder), project=None)
        done = adopting.initialise(own, environment)
        undo.pop_all()
    notes = [f"recorded in {settings_path}, under {_table(path)}"]
    first = next(workspaces_meant_by((start,), environment))
    if first.resolve() != done.workspace.resolve():
        notes.append(f"{first} has its own memory, which is used first")
    return replace(done, project=project, notes=(*done.notes, *notes))


def _is_encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_address(text: str) -> bool:
    return bool(_ADDRESS.match(text)) and not Path(text).exists()


def _free_folder(project: Path, environment: Mapping[str, str]) -> Path:
    base = config.user_data_folder(environment)
    if base is None:
        raise StorageProblem("no home is known for new memories", "Set HOME, or name a folder.")
    named = project.parent if project.name in _GIT_FOLDERS else project
    name = named.name.removesuffix(".git") or config.BY_PROJECT
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return next(base / each for each in names if not os.path.lexists(base / each)).absolute()


def _clone(address: str, folder: Path, undo: ExitStack) -> None:
    """Clone a workspace, or a repository without commits, into a new folder."""
    if os.path.lexists(folder):
        raise PathProblem("bad-path", f"{folder} exists", "Name it instead of an address.")
    files.make_folders(folder.parent)
    new = folder.with_name(files.temporary_name())
    undo.callback(shutil.rmtree, new, ignore_errors=True)
    remotes.clone(address, new, _CLONE_SECONDS)
    if discover(new).head() is not None and not is_marked(new):
        raise WorkspaceProblem(
            "no-workspace",
            "the repository holds no MEMORY.md and no mdmem.toml",
            "Clone it yourself, and name the workspace's folder in the clone.",
        )
    new.rename(folder)
    undo.callback(shutil.rmtree, folder, ignore_errors=True)


def _name_in_settings(project: Path, folder: Path, settings: Path, undo: ExitStack) -> None:
    """Add a table to the user's settings, of which all else stays as it is."""
    before = files.read(settings)
    text = (before or b"").decode()
    table = f"{_table(project)}\nworkspace = {_quoted(folder)}\n"
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    wanted = tomllib.loads(text)
    wanted.setdefault(config.BY_PROJECT, {})[str(project)] = {"workspace": str(folder)}
    if _parsed(text + gap + table) != wanted:
        raise WorkspaceProblem(
            "bad-settings",
            f"{settings.name} has {config.BY_PROJECT} in a form to which no table can be added",
            f"Write it as tables, such as:\n{table}",
        )
    after = f"{text}{gap}{table}".encode()
    files.make_folders(settings.parent)
    if not files.replace(settings, after, before, files.temporary_name()):
        raise StorageProblem(f"another program changed {settings}", "Try again.")
    undo.callback(_restore, settings, after, before)


def _parsed(text: str) -> dict[str, object] | None:
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(text)
    return None


def _restore(settings: Path, after: bytes, before: bytes | None) -> None:
    if before is not None:
        files.replace(settings, before, after, files.temporary_name())
    elif files.read(settings) == after:
        settings.unlink()


def _table(project: Path) -> str:
    return f"[{config.BY_PROJECT}.{_quoted(project)}]"


def _quoted(path: Path) -> str:
    """A path as TOML writes it."""
    return json.dumps(str(path), ensure_ascii=False).replace("\x7f", "\\u007f")
